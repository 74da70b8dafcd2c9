// The streams of a launch with some accesses made ideal (explain.h).
//
// A thread block is read twice. The first reading collects, for each group of instructions that are put in
// order, the addresses of all the block's warps, a window of ROUNDS executions of an instruction at a time;
// they are sorted, and packed where that is asked for. The second reading writes every warp again: what is
// put in order takes the next addresses of its window, as many as it has lanes. What has been asked for
// before is known from a set of addresses that is emptied for each block.
//
// Invariants: blocks of code, active masks and the number of accesses of a block stay as they are; an access
// never has lanes that it did not have. Accesses that say what they found (versions) are not touched.
#include "explain/explain.h"
#include "explain/seen.h"
#include "memory/space.h"
#include "stream/trace.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS 32 // executions of an instruction by a warp whose addresses are put in order together

typedef ORR_VEC(uint64_t) addresses;
typedef struct window {
    addresses at;  // of all warps
    size_t next;   // to be handed out
    uint32_t step; // bytes from one to the next, packed; 0: as they are
} window;

struct orr_ideal_stream {
    orr_source base;
    orr_source *from;
    const orr_ideal_kernel *ideal;
    orr_map names; // of windows: index + 1
    ORR_VEC(window) windows;
    seen seen;
    uint32_t *count; // [ninsts] executions by this warp
    uint32_t counts;
    orr_trace_out *out; // [nwarps]
    orr_warp_trace *warps;
    uint32_t room;
    bool orders; // some accesses are put in order
    orr_tb tb;
};

// ---- windows --------------------------------------------------------------------------------------
static window *window_of(orr_ideal_stream *s, uint32_t inst) {
    const uint32_t key[2] = {s->ideal->group[inst], s->count[inst] / ROUNDS};
    size_t n = (size_t)orr_map_getn(&s->names, (const char *)key, sizeof key);
    if (n) return &s->windows.at[n - 1];
    *ORR_PUSH(&s->windows) = (window){0};
    orr_map_putn(&s->names, (const char *)key, sizeof key, (void *)s->windows.n);
    return &s->windows.at[s->windows.n - 1];
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// Equal addresses stay equal.
static void put_in_order(window *w) {
    uint64_t *at = w->at.at, to, last;
    if (!w->at.n) return;
    qsort(at, w->at.n, sizeof *at, ascending);
    if (!w->step) return;
    last = at[0];
    to = last & ~(uint64_t)127;
    for (size_t k = 0; k < w->at.n; k++) {
        if (at[k] != last) to += w->step;
        last = at[k];
        at[k] = to;
    }
}

static void forget(orr_ideal_stream *s) {
    for (size_t k = 0; k < s->windows.n; k++) free(s->windows.at[k].at.at);
    s->windows.n = 0;
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

static enum orr_ideal_access how(const orr_ideal_stream *s, uint32_t inst, const orr_access *a) {
    const orr_ideal_kernel *k = s->ideal;
    enum orr_ideal_access h = inst < k->ninsts ? k->how[inst] : ORR_ACCESS_AS_IS;
    if (h == ORR_ACCESS_AS_IS || !a->mask || a->versioned) return ORR_ACCESS_AS_IS;
    const orr_inst *i = &k->kernel->insts[inst];
    bool global = h == ORR_ACCESS_IN_ORDER || h == ORR_ACCESS_PACKED || h == ORR_ACCESS_NEAR;
    return global && !all_global(i, a) ? ORR_ACCESS_AS_IS : h;
}

static void collect(orr_ideal_stream *s, uint32_t inst, const orr_access *a) {
    enum orr_ideal_access h = how(s, inst, a);
    if (h != ORR_ACCESS_IN_ORDER && h != ORR_ACCESS_PACKED) return;
    window *w = window_of(s, inst);
    uint32_t bytes = bytes_of(&s->ideal->kernel->insts[inst]);
    if (h == ORR_ACCESS_PACKED && bytes > w->step) w->step = bytes;
    for (uint32_t m = a->mask; m; m &= m - 1) *ORR_PUSH(&w->at) = a->addr[orr_ffs(m)];
}

static void take_in_order(window *w, orr_access *a) {
    for (uint32_t m = a->mask; m; m &= m - 1)
        if (w->next < w->at.n) a->addr[orr_ffs(m)] = w->at.at[w->next++];
}

// A line that the access has just touched stays in L1: what comes from there costs what shared memory would.
static void bring_near(orr_ideal_stream *s, orr_access *a) {
    uint64_t line = a->addr[orr_ffs(a->mask)] & ~(uint64_t)127;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t *addr = &a->addr[orr_ffs(m)];
        if (seen_before(&s->seen, *addr)) *addr = line | (*addr & 127);
    }
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
    case ORR_ACCESS_PACKED: take_in_order(window_of(s, inst), a); break;
    case ORR_ACCESS_NEAR: bring_near(s, a); break;
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
            if (i < s->counts) s->count[i]++;
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
    for (uint32_t w = 0; s->orders && ok && w < s->tb.nwarps; w++) ok = read_warp(s, s->tb.warps[w], NULL);
    for (size_t k = 0; k < s->windows.n; k++) put_in_order(&s->windows.at[k]);
    for (uint32_t w = 0; ok && w < s->tb.nwarps; w++) {
        s->out[w].n = 0;
        s->out[w].mask = 0;
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
    for (uint32_t n = 0; n < k->ninsts; n++)
        s->orders |= k->how[n] == ORR_ACCESS_IN_ORDER || k->how[n] == ORR_ACCESS_PACKED;
    if (k->ninsts > s->counts) {
        s->count = orr_realloc(s->count, k->ninsts * sizeof *s->count);
        s->counts = k->ninsts;
    }
    return &s->base;
}

void orr_ideal_stream_free(orr_ideal_stream *s) {
    if (!s) return;
    forget(s);
    for (uint32_t w = 0; w < s->room; w++) free(s->out[w].bytes);
    free(s->windows.at);
    free(s->seen.at);
    free(s->count);
    free(s->out);
    free(s->warps);
    free(s);
}
