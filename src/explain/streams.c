// The streams of a launch with some accesses made ideal (explain.h).
//
// A thread block is read twice. The first reading collects, for each group of instructions that are put in
// order, the addresses of all the block's warps, a window of some executions of an instruction at a time;
// they are sorted, and packed where that is asked for. The second reading writes every warp again: what is
// put in order takes the next addresses of its window, as many as it has lanes. What has been asked for
// before is known from a set of addresses that is emptied for each block.
//
// A window that is staged is a tile in shared memory, without the instructions for it: the block's warps load
// equal parts of it, and then none goes on before all of it is there. So a warp that is ahead waits for the
// others to load their parts, as it would at the tile's barriers.
//
// Invariants: blocks of code, active masks and the number of accesses of a block stay as they are; an access
// never has lanes that it did not have. Accesses that say what they found (versions) are not touched.
#include "explain/explain.h"
#include "explain/seen.h"
#include "memory/space.h"
#include "stream/trace.h"

#include <stdlib.h>
#include <string.h>

// Executions of an instruction by a warp whose addresses are put in order together; and accesses of a line by
// a warp that a tile serves, however the compiler has unrolled the loop: 16 steps with two operands each, as
// deep as tiles in shared memory are (the CUDA samples' matrixMul, Parboil's sgemm).
#define ROUNDS        32
#define TILE_ACCESSES 32
#define LINES_AT_ONCE 4 // of a tile that an access waits for

typedef struct turn {       // an access of a window
    uint32_t round, number; // of the instruction's executions by its warp, in a tile of the warp's accesses;
                            // of all accesses, in reading order
    size_t first, lanes;    // of the window's addresses
} turn;

typedef struct window {
    ORR_VEC(uint64_t) at;    // of all warps
    ORR_VEC(turn) turns;     // in reading order
    size_t next;             // turn
    uint32_t step;           // bytes from one to the next, packed; 0: as they are
    bool staged;             // each address once
    ORR_VEC(uint64_t) lines; // staged: an address in each line
    uint32_t reader;         // the warp that reads it, + 1,
    size_t accesses, waited; //   its accesses so far, and the lines that it has waited for
} window;

struct orr_ideal_stream {
    orr_source base;
    orr_source *from;
    const orr_ideal_kernel *ideal;
    orr_map names; // of windows: index + 1
    ORR_VEC(window) windows;
    seen seen;
    uint32_t *count;   // [ninsts] executions by this warp
    uint32_t *line;    // [ninsts] the first instruction of its group,
    uint32_t *of_line; // [ninsts] accesses of that group by this warp
    uint32_t counts;
    uint32_t warp;      // that is read, + 1
    uint32_t turns;     // of the block so far
    uint64_t near;      // the last line of the window that was staged last
    orr_trace_out *out; // [nwarps]
    orr_warp_trace *warps;
    uint32_t room;
    bool orders; // some accesses are put in order
    orr_tb tb;
};

// ---- windows --------------------------------------------------------------------------------------
static window *window_of(orr_ideal_stream *s, uint32_t inst) {
    bool staged = s->ideal->how[inst] == ORR_ACCESS_STAGED;
    const uint32_t key[2] = {s->ideal->group[inst],
                             staged ? s->of_line[s->line[inst]] / TILE_ACCESSES : s->count[inst] / ROUNDS};
    size_t n = (size_t)orr_map_getn(&s->names, (const char *)key, sizeof key);
    if (n) return &s->windows.at[n - 1];
    *ORR_PUSH(&s->windows) = (window){0};
    orr_map_putn(&s->names, (const char *)key, sizeof key, (void *)s->windows.n);
    return &s->windows.at[s->windows.n - 1];
}

// The window as the warp that is read has it.
static void visit(const orr_ideal_stream *s, window *w) {
    if (w->reader == s->warp) return;
    w->reader = s->warp;
    w->accesses = w->waited = 0;
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int by_round(const void *a, const void *b) {
    const turn *x = a, *y = b;
    if (x->round != y->round) return x->round < y->round ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}
static int by_number(const void *a, const void *b) {
    const turn *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

// Addresses are handed out in the order of time: all warps' first executions, then all warps' second.
static void deal(window *w) {
    size_t first = 0;
    qsort(w->turns.at, w->turns.n, sizeof *w->turns.at, by_round);
    for (size_t k = 0; k < w->turns.n; k++) {
        w->turns.at[k].first = first;
        first += w->turns.at[k].lanes;
    }
    qsort(w->turns.at, w->turns.n, sizeof *w->turns.at, by_number);
}

// Equal addresses stay equal.
static void pack(window *w) {
    uint64_t *at = w->at.at, last = at[0], to = last & ~(uint64_t)127;
    for (size_t k = 0; k < w->at.n; k++) {
        if (at[k] != last) to += w->step;
        last = at[k];
        at[k] = to;
    }
}

// What the block has loaded in a window before is there already.
static void stage(window *w, seen *s) {
    size_t n = 0;
    for (size_t k = 0; k < w->at.n; k++)
        if (!seen_before(s, w->at.at[k])) w->at.at[n++] = w->at.at[k];
    w->at.n = n;
    for (size_t k = 0; k < n; k++)
        if (k + 1 == n || w->at.at[k] / 128 != w->at.at[k + 1] / 128) *ORR_PUSH(&w->lines) = w->at.at[k];
    w->reader = 0;
}

static void put_in_order(orr_ideal_stream *s, window *w) {
    if (!w->at.n) return;
    qsort(w->at.at, w->at.n, sizeof *w->at.at, ascending);
    if (w->step) pack(w);
    if (w->staged) stage(w, &s->seen);
    deal(w);
}

static void forget(orr_ideal_stream *s) {
    for (size_t k = 0; k < s->windows.n; k++) {
        free(s->windows.at[k].at.at);
        free(s->windows.at[k].turns.at);
        free(s->windows.at[k].lines.at);
    }
    s->windows.n = 0;
    s->turns = 0;
    s->near = 0;
    orr_map_free(&s->names);
    s->names = (orr_map){0};
    seen_forget(&s->seen);
}

// ---- accesses ---------------------------------------------------------------------------------------
static uint32_t bytes_of(const orr_inst *i) { return (uint32_t)i->width * (i->vec ? i->vec : 1); }

// Lanes of a generic access that go elsewhere stay as they are, and so do all others then.
static bool all_global(const orr_inst *i, const orr_access *a) {
    if (i->space == ORR_SPACE_GLOBAL) return true;
    if (i->space != ORR_SPACE_GENERIC) return false;
    for (uint32_t m = a->mask; m; m &= m - 1)
        if (orr_space_at(a->addr[orr_ffs(m)]) != ORR_SPACE_GLOBAL) return false;
    return true;
}

static bool ordered(enum orr_ideal_access h) {
    return h == ORR_ACCESS_IN_ORDER || h == ORR_ACCESS_PACKED || h == ORR_ACCESS_STAGED;
}

static enum orr_ideal_access how(const orr_ideal_stream *s, uint32_t inst, const orr_access *a) {
    const orr_ideal_kernel *k = s->ideal;
    enum orr_ideal_access h = inst < k->ninsts ? k->how[inst] : ORR_ACCESS_AS_IS;
    if (h == ORR_ACCESS_AS_IS || !a->mask || a->versioned) return ORR_ACCESS_AS_IS;
    const orr_inst *i = &k->kernel->insts[inst];
    return ordered(h) && !all_global(i, a) ? ORR_ACCESS_AS_IS : h;
}

static void collect(orr_ideal_stream *s, uint32_t inst, const orr_access *a) {
    enum orr_ideal_access h = how(s, inst, a);
    if (!ordered(h)) return;
    window *w = window_of(s, inst);
    uint32_t bytes = bytes_of(&s->ideal->kernel->insts[inst]);
    if (h == ORR_ACCESS_PACKED && bytes > w->step) w->step = bytes;
    w->staged |= h == ORR_ACCESS_STAGED;
    visit(s, w);
    uint32_t round = w->staged ? (uint32_t)w->accesses++ : s->count[inst];
    *ORR_PUSH(&w->turns) = (turn){.round = round, .number = s->turns++, .lanes = (size_t)orr_popc(a->mask)};
    for (uint32_t m = a->mask; m; m &= m - 1) *ORR_PUSH(&w->at) = a->addr[orr_ffs(m)];
}

// Lanes for which no address is left, because each is asked for once, read what the window has loaded: first
// from each of its lines, so that the warp waits for all of them, as it would at a barrier, then from the
// last one, which costs what shared memory would.
static void take_in_order(orr_ideal_stream *s, window *w, orr_access *a) {
    size_t next = w->next < w->turns.n ? w->turns.at[w->next++].first : w->at.n;
    visit(s, w);
    bool waits = next >= w->at.n && w->waited < w->lines.n;
    size_t lane = 0, left = waits ? w->lines.n - w->waited : 0,
           some = left < LINES_AT_ONCE ? left : LINES_AT_ONCE;
    if (w->at.n) s->near = w->at.at[w->at.n - 1] & ~(uint64_t)127;
    for (uint32_t m = a->mask; m; m &= m - 1, next++, lane++) {
        uint64_t *addr = &a->addr[orr_ffs(m)];
        *addr = waits            ? w->lines.at[w->waited + lane % some]
                : next < w->at.n ? w->at.at[next]
                                 : s->near | (*addr & 127);
    }
    w->waited += some;
}

static void drop_repeated(orr_ideal_stream *s, orr_access *a) {
    for (uint32_t m = a->mask; m; m &= m - 1) {
        int lane = orr_ffs(m);
        if (seen_before(&s->seen, a->addr[lane])) a->mask &= ~(1u << lane);
    }
}

static void spread(uint32_t bytes, orr_access *a) {
    uint64_t to = a->addr[orr_ffs(a->mask)] & ~(uint64_t)127;
    for (uint32_t m = a->mask; m; m &= m - 1, to += bytes < 4 ? 4 : bytes) a->addr[orr_ffs(m)] = to;
}

static void make_ideal(orr_ideal_stream *s, uint32_t inst, orr_access *a) {
    switch (how(s, inst, a)) {
    case ORR_ACCESS_IN_ORDER:
    case ORR_ACCESS_PACKED:
    case ORR_ACCESS_STAGED: take_in_order(s, window_of(s, inst), a); break;
    case ORR_ACCESS_ONCE: drop_repeated(s, a); break;
    case ORR_ACCESS_BANKS: spread(bytes_of(&s->ideal->kernel->insts[inst]), a); break;
    case ORR_ACCESS_QUARTER:
        if (s->count[inst] % 4) a->mask = 0;
        break;
    case ORR_ACCESS_AS_IS:
    case ORR_ACCESSES: break;
    }
}

// ---- thread blocks ------------------------------------------------------------------------------------
// A warp, block of code by block of code. `to` NULL: the first reading.
static bool read_warp(orr_ideal_stream *s, orr_warp_trace from, orr_trace_out *to) {
    const orr_kernel *k = s->ideal->kernel;
    orr_trace t = orr_trace_open(from);
    uint32_t block, mask;
    int more;
    memset(s->count, 0, s->counts * sizeof *s->count);
    memset(s->of_line, 0, s->counts * sizeof *s->of_line);
    while ((more = orr_trace_block(&t, k->nblocks, &block, &mask)) > 0) {
        const orr_block *b = &k->blocks[block];
        if (to) orr_trace_put_block(to, block, mask);
        for (uint32_t i = b->first, left = b->nmem; left; i++) {
            if (!orr_inst_traced(&k->insts[i])) continue;
            orr_access a;
            left--;
            if (!orr_trace_access(&t, &a)) return false;
            if (!to) collect(s, i, &a);
            if (to) {
                make_ideal(s, i, &a);
                orr_trace_put_as_read(to, a.mask, &a);
            }
            if (i >= s->ideal->ninsts) continue;
            s->count[i]++;
            s->of_line[s->line[i]]++;
        }
    }
    return more == 0;
}

static void make_room(orr_ideal_stream *s, uint32_t nwarps) {
    if (nwarps <= s->room) return;
    s->out = orr_realloc(s->out, nwarps * sizeof *s->out);
    s->warps = orr_realloc(s->warps, nwarps * sizeof *s->warps);
    memset(&s->out[s->room], 0, (nwarps - s->room) * sizeof *s->out);
    s->room = nwarps;
}

static int next(orr_source *base, orr_tb *tb, orr_err *e) {
    orr_ideal_stream *s = (orr_ideal_stream *)base;
    int more = s->from->next(s->from, &s->tb, e);
    if (more <= 0) return more;
    bool ok = true;
    forget(s);
    make_room(s, s->tb.nwarps);
    for (uint32_t w = 0; s->orders && ok && w < s->tb.nwarps; w++) {
        s->warp = w + 1;
        ok = read_warp(s, s->tb.warps[w], NULL);
    }
    for (size_t k = 0; k < s->windows.n; k++) put_in_order(s, &s->windows.at[k]);
    for (uint32_t w = 0; ok && w < s->tb.nwarps; w++) {
        s->out[w].n = 0;
        s->out[w].mask = 0;
        s->warp = w + 1;
        ok = read_warp(s, s->tb.warps[w], &s->out[w]);
        s->warps[w] = (orr_warp_trace){s->out[w].bytes, s->out[w].n};
    }
    if (!ok)
        return orr_fail(e, ORR_BAD_INPUT, "thread block %llu of %s: its stream is damaged",
                        (unsigned long long)s->tb.index, s->ideal->kernel->name),
               -1;
    *tb = (orr_tb){s->tb.index, s->tb.nwarps, s->warps};
    return 1;
}

static bool skip(orr_source *base, uint64_t to, orr_err *e) {
    orr_ideal_stream *s = (orr_ideal_stream *)base;
    return s->from->skip(s->from, to, e);
}

static void keep(orr_source *base) { (void)base; } // orr_ideal_stream_free

orr_ideal_stream *orr_ideal_stream_new(void) { return orr_calloc(1, sizeof(orr_ideal_stream)); }

orr_source *orr_ideal_stream_open(orr_ideal_stream *s, orr_source *from, const orr_ideal_kernel *k) {
    s->base = (orr_source){.info = from->info, .next = next, .close = keep, .skip = from->skip ? skip : NULL};
    s->from = from;
    s->ideal = k;
    s->orders = false;
    for (uint32_t n = 0; n < k->ninsts; n++) s->orders |= ordered(k->how[n]);
    if (k->ninsts > s->counts) {
        s->count = orr_realloc(s->count, k->ninsts * sizeof *s->count);
        s->line = orr_realloc(s->line, k->ninsts * sizeof *s->line);
        s->of_line = orr_realloc(s->of_line, k->ninsts * sizeof *s->of_line);
        s->counts = k->ninsts;
    }
    orr_map first = {0}; // of a group: index + 1
    for (uint32_t n = 0; n < k->ninsts; n++) {
        size_t at = (size_t)orr_map_getn(&first, (const char *)&k->group[n], sizeof k->group[n]);
        if (!at)
            orr_map_putn(&first, (const char *)&k->group[n], sizeof k->group[n], (void *)(size_t)(n + 1));
        s->line[n] = at ? (uint32_t)at - 1 : n;
    }
    orr_map_free(&first);
    return &s->base;
}

void orr_ideal_stream_free(orr_ideal_stream *s) {
    if (!s) return;
    forget(s);
    for (uint32_t w = 0; w < s->room; w++) free(s->out[w].bytes);
    free(s->windows.at);
    free(s->seen.at);
    free(s->count);
    free(s->line);
    free(s->of_line);
    free(s->out);
    free(s->warps);
    free(s);
}
