// Private to exec/: where the lanes of a load or store are, found in as few steps as can be.
//
// Most accesses are regular: all lanes at one place, side by side, or in two rows of 16 as 2-D thread blocks
// make them. That is seen from the rows of 32-bit words that addresses are made of, without making pointers
// (shape_of), and is checked against the allocation that the same instruction touched last by its ends. A few
// active lanes are looked at one by one. What is left goes the long way (orr_addresses), which also says what
// is wrong when something is.
//
// `bytes` is a constant wherever these functions are used, so they must be inlined to be of any use.
#ifndef ORR_PLACE_H
#define ORR_PLACE_H

#include "exec/block.h"

enum {
    PLACE_FAULT,    // none of these
    PLACE_LANES,    // active lanes, at `at` + words[lane]
    PLACE_SAME,     // all lanes, at `at`
    PLACE_ADJACENT, // all lanes, side by side from `at` on
    PLACE_ROWS,     // all lanes, two rows of 16, `down` apart; in a row side by side, or at one place: step 0
    PLACE_OFFSETS,  // all lanes, at `at` + words[lane]
    PLACE_SAME_SOME,
    PLACE_ADJACENT_SOME, // active lanes; the others' places are there, too
};
#define INLINE static inline __attribute__((always_inline))
#define FEW    10 // active lanes up to which they are looked at one by one

typedef struct place {
    uint8_t *at;
    const uint32_t *words;
    uint32_t step;
    int64_t down;
} place;

// ---- the shape of a row ---------------------------------------------------------------------
// Is there no carry out of the low word in n steps?
static inline bool steps_fit(uint32_t first, uint32_t step, int n) {
    int64_t last = (int64_t)first + (int64_t)n * (int32_t)step;
    return last >= 0 && last <= UINT32_MAX;
}

static inline void find_extent(const uint32_t *lo, row_shape *s) {
    uint32_t least = FULL, most = 0, low = 0, first = s->first;
    for (int i = 0; i < ORR_WARP; i++) {
        least = lo[i] < least ? lo[i] : least;
        most = lo[i] > most ? lo[i] : most;
        low |= lo[i] ^ first;
    }
    s->least = least;
    s->most = most;
    s->low = low;
}

// Do high words differ (bit 0), and do low words go on from lane 0 and from lane 16 in other steps than these
// (bit 1)? One loop, which becomes vector code.
static inline int differ(const uint32_t *lo, const uint32_t *hi, uint32_t step) {
    uint32_t far = 0, off = 0, first = lo[0], second = lo[16], h = hi ? hi[0] : 0;
    for (uint32_t i = 0; i < 16; i++) {
        off |= (lo[i] ^ (first + i * step)) | (lo[i + 16] ^ (second + i * step));
        if (hi) far |= (hi[i] ^ h) | (hi[i + 16] ^ h);
    }
    return (far != 0) | (off != 0) << 1;
}

static inline void find_shape(const uint32_t *lo, const uint32_t *hi, row_shape *s) {
    uint32_t first = lo[0], second = lo[16], step = lo[1] - first;
    int differs = hi ? differ(lo, hi, step) : differ(lo, NULL, step);
    s->first = first;
    s->step = step;
    s->high = hi ? (uint64_t)hi[0] << 32 : 0;
    s->kind = SHAPE_FAR;
    if (differs & 1) return;
    if (!differs && second == first + 16 * step && steps_fit(first, step, 31)) {
        uint32_t last = lo[ORR_WARP - 1];
        s->kind = SHAPE_REGULAR;
        s->least = first < last ? first : last;
        s->most = first < last ? last : first;
        s->low = step;
        return;
    }
    s->kind = differs || !steps_fit(first, step, 15) || !steps_fit(second, step, 15) ? SHAPE_ANY : SHAPE_ROWS;
    s->down = (int64_t)second - first;
    if (s->kind == SHAPE_ANY) {
        find_extent(lo, s);
        return;
    }
    uint32_t last = lo[15], end = lo[ORR_WARP - 1]; // of the rows
    uint32_t low = first < last ? first : last, high = first < last ? last : first;
    uint32_t low2 = second < end ? second : end, high2 = second < end ? end : second;
    s->least = low < low2 ? low : low2;
    s->most = high > high2 ? high : high2;
    s->low = step | (second - first);
}

// Displacements with which words `least` to `most` lie in [lo, lo + size); `base` is added to the words.
static inline void set_bounds(row_shape *s, uint64_t base, uint64_t lo, uint64_t size) {
    s->from = (int64_t)(lo - (base + s->least));
    s->to = size ? (int64_t)(lo + size - (base + s->most)) : INT64_MIN;
}

// The rows of u are looked at.
static __attribute__((noinline)) void look(warp *w, const uop *u, row_shape *s) {
    find_shape(SRC_A(w, u, uint32_t), u->pair ? SRC_N(w, u, u->nsrc - 1, uint32_t) : NULL, s);
    if (u->shape < SHAPES) w->shapes.found |= 1u << u->shape;
    if (u->way == WAY_SHARED) {
        const tblock *tb = w->tb;
        s->at = (uintptr_t)tb->shared - tb->tag;
        set_bounds(s, 0, tb->tag, tb->prog->shared_bytes);
        return;
    }
    s->at = w->worker->memory + (uintptr_t)s->high;
    s->to = INT64_MIN;
    if (s->kind != SHAPE_FAR)
        set_bounds(s, s->high, w->worker->range[u->mem].lo, w->worker->range[u->mem].size);
}

// Does u lead to another allocation than those with the same rows before it?
static __attribute__((noinline)) bool elsewhere(warp *w, const uop *u, row_shape *s, uint32_t bytes) {
    if (u->way == WAY_SHARED || s->kind == SHAPE_FAR) return false;
    set_bounds(s, s->high, w->worker->range[u->mem].lo, w->worker->range[u->mem].size);
    return u->disp >= s->from && (int64_t)u->disp + bytes <= s->to;
}

// ---- streams --------------------------------------------------------------------------------
static inline bool one_run(uint32_t mask) { // of ones
    uint32_t up = mask + (mask & -mask);
    return !(up & mask);
}

// Addresses of the active lanes; `base` is added to what the rows hold.
static __attribute__((noinline)) void note_lanes_of(warp *w, const uop *u, uint64_t base) {
    uint64_t addr[ORR_WARP];
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int i = orr_ffs(m);
        addr[i] = base + (u->a.cls == ORR_D ? SRC_A(w, u, uint64_t)[i] : SRC_A(w, u, uint32_t)[i]);
    }
    orr_trace_put_access(w->trace, w->exec, addr);
}

// False: addresses of a cluster, which are told as its blocks number them.
static __attribute__((noinline)) bool note_shape(warp *w, const uop *u, const row_shape *s) {
    uint32_t mask = w->exec;
    bool shared = u->way == WAY_SHARED;
    if (shared && mask != FULL && w->tb->cluster) return false;
    uint64_t base = shared ? 0 : s->high; // of machine code the rank in the cluster is in the words
    base += (uint64_t)(int64_t)u->disp;
    if (s->kind == SHAPE_REGULAR && one_run(mask)) {
        uint64_t step = mask & (mask - 1) ? (uint64_t)(int64_t)(int32_t)s->step : 0;
        uint64_t to_first = (uint64_t)orr_ffs(mask) * (uint64_t)(int64_t)(int32_t)s->step;
        orr_trace_put_regular(w->trace, mask, base + s->first + to_first, step);
    } else if (s->kind == SHAPE_ROWS && mask == FULL) {
        orr_trace_put_rows(w->trace, mask, base + s->first, 4, (int32_t)s->step, s->down);
    } else {
        note_lanes_of(w, u, base);
    }
    return true;
}

// ---- rows of words --------------------------------------------------------------------------
// How all lanes lie whose shape is s; `at` is where word 0 would be.
INLINE int lay_out(warp *w, const uop *u, const row_shape *s, uint32_t bytes, uintptr_t at, place *p) {
    bool full = w->exec == FULL, plain = s->step == 0 || s->step == bytes;
    p->words = SRC_A(w, u, uint32_t);
    p->step = s->step;
    p->down = s->down;
    p->at = (uint8_t *)at;
    if (s->kind == SHAPE_ANY || !plain || (s->kind == SHAPE_ROWS && !full))
        return full ? PLACE_OFFSETS : PLACE_LANES;
    p->at = (uint8_t *)(at + s->first);
    if (s->kind == SHAPE_ROWS) return PLACE_ROWS;
    if (full) return s->step ? PLACE_ADJACENT : PLACE_SAME;
    return s->step ? PLACE_ADJACENT_SOME : PLACE_SAME_SOME;
}

// May a bulk copy be under way where an access of shared memory goes? The long way is exact about it.
static __attribute__((noinline)) bool near_copy(const warp *w, const row_shape *s, int64_t disp,
                                                uint32_t bytes) {
    int64_t from = (int64_t)s->least + disp - w->tb->tag, end = (int64_t)s->most + disp - w->tb->tag + bytes;
    return orr_copy_over(w->tb, (uint32_t)from, (uint32_t)end) != NULL;
}

static inline bool shape_found(const warp *w, const uop *u) {
    return u->shape < SHAPES && w->shapes.found >> u->shape & 1;
}

INLINE int locate_words(warp *w, const uop *u, uint32_t bytes, place *p) {
    row_shape *s = &w->shapes.at[u->shape];
    if (!shape_found(w, u)) {
        if (w->exec != FULL && orr_popc(w->exec) <= FEW) return PLACE_FAULT;
        look(w, u, s);
    }
    int64_t d = u->disp;
    if ((d < s->from || d + bytes > s->to) && !elsewhere(w, u, s, bytes)) return PLACE_FAULT;
    if (((s->first + (uint32_t)d) | s->low) & (bytes - 1)) return PLACE_FAULT;
    if (u->way == WAY_SHARED && w->tb->flights.n && near_copy(w, s, d, bytes)) return PLACE_FAULT;
    if (w->trace && u->traced && !note_shape(w, u, s)) return PLACE_FAULT;
    return lay_out(w, u, s, bytes, s->at + (uintptr_t)d, p);
}

// ---- rows of doublewords: PTX's -------------------------------------------------------------
INLINE bool same64(const uint64_t *b) {
    uint64_t off = 0, b0 = b[0];
    for (int i = 0; i < ORR_WARP; i++) off |= b[i] ^ b0;
    return !off;
}

INLINE bool adjacent64(const uint64_t *b, uint64_t bytes) {
    uint64_t off = 0, b0 = b[0];
    for (uint64_t i = 0; i < ORR_WARP; i++) off |= b[i] ^ (b0 + i * bytes);
    return !off;
}

INLINE int locate_wide(warp *w, const uop *u, uint32_t bytes, place *p) {
    const uint64_t *b = SRC_A(w, u, uint64_t);
    uint64_t step = b[1] - b[0];
    if (!(step == 0 ? same64(b) : step == bytes && adjacent64(b, bytes))) return PLACE_FAULT;
    uint64_t at = b[0] + (uint64_t)(int64_t)u->disp, size = step * (ORR_WARP - 1) + bytes;
    range r = w->worker->range[u->mem];
    if (at - r.lo >= r.size || size > r.size - (at - r.lo) || (at & (bytes - 1))) return PLACE_FAULT;
    p->at = (uint8_t *)(w->worker->memory + (uintptr_t)at);
    if (w->trace && u->traced) orr_trace_put_regular(w->trace, FULL, at, step);
    return step ? PLACE_ADJACENT : PLACE_SAME;
}

// ---- lane by lane ---------------------------------------------------------------------------
// A few lanes against one range of addresses; their addresses are `words` (or, `wide`, doublewords), with
// high words if there are any.
INLINE bool locate_in(warp *w, const uop *u, uint32_t bytes, range r, uintptr_t to, const uint32_t *words,
                      const uint32_t *high, const uint64_t *wide, uint8_t *host[ORR_WARP]) {
    uint64_t disp = (uint64_t)(int64_t)u->disp, bad = 0, limit = r.size - bytes;
    if (r.size < bytes) return false;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int i = orr_ffs(m);
        uint64_t at = wide   ? wide[i] + disp
                      : high ? ((uint64_t)high[i] << 32 | words[i]) + disp
                             : (uint32_t)(words[i] + disp);
        bad |= (at - r.lo > limit ? 1u : 0u) | (at & (bytes - 1));
        host[i] = (uint8_t *)(to + (uintptr_t)at);
    }
    return !bad;
}

static __attribute__((noinline)) void note_hosts(warp *w, uint8_t *const host[ORR_WARP], uintptr_t to) {
    uint64_t addr[ORR_WARP];
    for (uint32_t m = w->exec; m; m &= m - 1) addr[orr_ffs(m)] = (uint64_t)((uintptr_t)host[orr_ffs(m)] - to);
    orr_trace_put_access(w->trace, w->exec, addr);
}

static __attribute__((noinline)) bool locate_few(warp *w, const uop *u, uint32_t bytes, bool shared,
                                                 uint8_t *host[ORR_WARP]) {
    range r = shared ? (range){w->tb->tag, w->tb->prog->shared_bytes} : w->worker->range[u->mem];
    uintptr_t to = shared ? (uintptr_t)w->tb->shared - w->tb->tag : w->worker->memory;
    if (shared && w->tb->flights.n) return false;
    const uint32_t *words = SRC_A(w, u, uint32_t);
    bool ok;
    if (shared)
        ok = locate_in(w, u, bytes, r, to, words, NULL, NULL, host);
    else if (u->pair)
        ok = locate_in(w, u, bytes, r, to, words, SRC_N(w, u, u->nsrc - 1, uint32_t), NULL, host);
    else
        ok = locate_in(w, u, bytes, r, to, NULL, NULL, SRC_A(w, u, uint64_t), host);
    if (ok && w->trace && u->traced) note_hosts(w, host, to);
    return ok;
}

static bool long_way(warp *w, const uop *u, uint32_t bytes, uint8_t *host[ORR_WARP]); // ldst.c

// ---- all together ---------------------------------------------------------------------------
// Which way is tried first, decided when a launch begins (run/shapes.c).
INLINE int locate(warp *w, const uop *u, uint32_t bytes, place *p) {
    // run/step.c is to know where each lane is, run/races.c in global memory.
    if (w->step && !(w->step->watched && u->way == WAY_SHARED)) return PLACE_FAULT;
    if (u->way == WAY_LONG) return PLACE_FAULT;
    if (u->way != WAY_WIDE) return locate_words(w, u, bytes, p);
    return w->exec == FULL ? locate_wide(w, u, bytes, p) : PLACE_FAULT;
}

// Where each active lane is, when locate does not say.
INLINE bool locate_each(warp *w, const uop *u, uint32_t bytes, uint8_t *host[ORR_WARP]) {
    bool shared = u->way == WAY_SHARED, own = shared && w->trace && w->tb->cluster;
    if (!w->step && u->way != WAY_LONG && w->exec != FULL && !own && locate_few(w, u, bytes, shared, host))
        return true;
    return long_way(w, u, bytes, host);
}

#endif
