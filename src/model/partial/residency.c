// What L2 holds when one SM asks: other SMs and earlier blocks have asked before.
//
// Only one SM is simulated, but L2 belongs to all. What the others ask for is known without executing their
// blocks: in most kernels an address is that of a block in the middle of the grid plus so much for each step
// in x, y and z. The steps are read off that block and its neighbours; the grid's first and last blocks in
// each direction show what blocks at a side leave out, and what only they do. Then the blocks that are on the
// GPU together ask for their lines, wave by wave, in tags of L2's size (waves.c): first as many waves as fill
// L2, then one that is counted. This gives for each instruction how many of the sectors that a block asks for
// first come from memory, how many of those it stores are evicted again, and how many SMs share a line. The
// work is bounded, whatever the grid.
//
// Addresses that do not follow such a rule (they come out of memory) are taken as spread evenly over the
// range seen: of T sectors asked for in R, R (1 - exp(-T / R)) are new; of a range larger than L2 the rest is
// found as often as L2 is part of it.
//
// What a launch leaves in L2 for the next is kept as ranges of addresses, if all of it fits.
#include "model/partial/residency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory/space.h"

#define ENTRIES (1u << 22)
#define NEAR    0.03f

// ---- ranges in L2 ---------------------------------------------------------------------------------
void warm_add(warmth *w, uint64_t from, uint64_t to, uint64_t bytes, uint64_t room) {
    int n = 0;
    for (int i = 0; i < w->n; i++) // what is part of the new one goes into it
        if (w->at[i].from < from || w->at[i].to > to) w->at[n++] = w->at[i];
    w->n = n;
    if (bytes > room) {
        w->n = 0;
        return;
    }
    uint64_t sum = bytes;
    for (int i = 0; i < w->n; i++) sum += w->at[i].bytes;
    while (w->n && (sum > room || w->n == WARM_MAX)) { // the oldest first
        sum -= w->at[0].bytes;
        memmove(&w->at[0], &w->at[1], (size_t)--w->n * sizeof w->at[0]);
    }
    w->at[w->n].from = from;
    w->at[w->n].to = to;
    w->at[w->n++].bytes = bytes;
}

bool warm_has(const warmth *w, uint64_t addr) {
    for (int i = 0; i < w->n; i++)
        if (addr >= w->at[i].from && addr < w->at[i].to) return true;
    return false;
}

// ---- the block in the middle -------------------------------------------------------------------------
static uint64_t number(const uint32_t grid[3], const uint64_t at[3]) {
    return at[0] + at[1] * grid[0] + at[2] * grid[0] * grid[1];
}

// The block in the middle, or beside it in direction d: -1 the one before, 0 the grid's first, 1 its last.
static bool probe(const uint32_t grid[3], int d, int which, uint64_t *block) {
    uint64_t at[3] = {grid[0] / 2, grid[1] / 2, grid[2] / 2};
    if (grid[d] < 2) return false;
    at[d] = which < 0 ? at[d] - 1 : which ? grid[d] - 1 : 0;
    *block = number(grid, at);
    return true;
}

int residency_probes(const uint32_t grid[3], uint64_t list[REACH_PROBES]) {
    int n = 0;
    list[n++] = number(grid, (const uint64_t[3]){grid[0] / 2, grid[1] / 2, grid[2] / 2});
    for (int d = 0; d < 3; d++)
        for (int which = -1; which < 2; which++) n += probe(grid, d, which, &list[n]);
    return n;
}

// Sectors of the line that the block has not asked for before; of stores: that it has not stored to.
static uint8_t first_time(look *l, uint64_t line, uint8_t sectors, bool write) {
    if (l->nseen * 2 >= l->seen_cap) {
        size_t n = l->seen_cap;
        uint64_t *old = l->seen;
        uint8_t *old_sectors = l->seen_sectors;
        l->seen_cap = n ? n * 2 : 4096;
        l->seen = orr_calloc(l->seen_cap, sizeof *l->seen);
        l->seen_sectors = orr_calloc(l->seen_cap, 1);
        for (size_t i = 0; i < n; i++) {
            if (!old[i]) continue;
            size_t at = orr_cache_mix(old[i] - 1) & (l->seen_cap - 1);
            while (l->seen[at]) at = (at + 1) & (l->seen_cap - 1);
            l->seen[at] = old[i];
            l->seen_sectors[at] = old_sectors[i];
        }
        free(old);
        free(old_sectors);
    }
    size_t at = orr_cache_mix(line) & (l->seen_cap - 1);
    while (l->seen[at] && l->seen[at] != line + 1) at = (at + 1) & (l->seen_cap - 1);
    l->nseen += !l->seen[at];
    l->seen[at] = line + 1;
    uint8_t had = l->seen_sectors[at]; // four bits of loads, four of stores
    l->seen_sectors[at] |= (uint8_t)(sectors | (write ? sectors << 4 : 0));
    return sectors & (uint8_t) ~(write ? had >> 4 : had);
}

// By how much one block's access lies beside another's; false: not by the same for all lanes that both have.
static bool step_of(const orr_access *a, const orr_access *b, int64_t *step) {
    uint32_t both = a->mask & b->mask;
    if (!both) return false;
    int first = orr_ffs(both);
    *step = (int64_t)(a->addr[first] - b->addr[first]);
    for (uint32_t m = both; m; m &= m - 1) {
        int i = orr_ffs(m);
        if ((int64_t)(a->addr[i] - b->addr[i]) != *step) return false;
    }
    return true;
}

static void widen(inst_sum *s, uint64_t low, uint64_t high) {
    if (!s->high || low < s->low) s->low = low;
    if (high > s->high) s->high = high;
}

// An access: its sectors are entries like `e`. `regular`: other blocks make it e->step further for each
// block.
static void add_access(look *l, const orr_access *a, const entry *e, bool regular) {
    uint32_t inst = e->inst;
    const int64_t *step = e->step;
    const orr_inst *i = &l->k->insts[inst];
    uint16_t flags = orr_ops[i->op].flags;
    inst_sum *s = &l->sum[inst];
    orr_coalesced c;
    if (i->op == ORR_OP_TEX)
        orr_coalesce_texture(a, &c);
    else if (orr_inst_lands(i))
        orr_coalesce_copy(a, &c);
    else
        orr_coalesce(a, (uint32_t)i->width * (i->vec ? i->vec : 1u), ORR_WHOLE_WARP, &c);
    bool write = flags & ORR_F_STORE && !(flags & ORR_F_ATOMIC);
    s->write |= write;
    s->read |= !write;
    for (uint32_t n = 0; n < c.lines; n++) {
        uint8_t fresh = first_time(l, c.line[n].line, c.line[n].sectors, write);
        if (!fresh) continue;
        int lo = orr_ffs(fresh), hi = 31 - __builtin_clz(fresh);
        uint64_t addr = c.line[n].line * ORR_LINE + (uint64_t)lo * ORR_SECTOR;
        uint16_t bytes = (uint16_t)((hi - lo + 1) * ORR_SECTOR);
        uint32_t sectors = (uint32_t)orr_popc(fresh);
        s->sectors += sectors;
        if (!regular || l->entries.n >= ENTRIES) {
            s->loose += sectors;
            widen(s, addr, addr + bytes);
            continue;
        }
        int64_t below = 0, above = 0; // the same in the first and last blocks
        for (int d = 0; d < 3; d++) {
            int64_t first = -(int64_t)l->base[d] * step[d],
                    last = (int64_t)(l->w->info.grid[d] - 1 - l->base[d]) * step[d];
            below += first < last ? first : last;
            above += first < last ? last : first;
        }
        widen(s, addr + (uint64_t)below, addr + (uint64_t)above + bytes);
        entry *made = ORR_PUSH(&l->entries);
        *made = *e;
        made->addr = addr;
        made->bytes = bytes;
        made->write = write;
    }
}

// A neighbour's warp, by instruction: where its first, second ... access is in the trace. The blocks need not
// have taken the same way (one may be at the grid's edge), as long as they come by the same instructions.
typedef struct where {
    uint32_t *first; // [ninsts + 1] in `at`
    orr_trace *at;
} where;

static bool index_warp(where *x, const orr_kernel *k, orr_warp_trace w) {
    x->first = orr_calloc(k->ninsts + 2, sizeof *x->first);
    x->at = NULL;
    uint32_t *used = orr_calloc(k->ninsts + 1, sizeof *used);
    int r = 0;
    for (int pass = 0; pass < 2 && r == 0; pass++) { // count, then fill
        orr_trace t = orr_trace_open(w);
        uint32_t block, mask;
        while ((r = orr_trace_block(&t, k->nblocks, &block, &mask)) > 0) {
            const orr_block *b = &k->blocks[block];
            for (uint32_t i = b->first; i < b->first + b->count; i++) {
                if (!orr_inst_traced(&k->insts[i])) continue;
                if (pass)
                    x->at[x->first[i] + used[i]++] = t;
                else
                    x->first[i + 1]++;
                if (!orr_trace_skip(&t)) r = -1;
            }
            if (r < 0) break;
        }
        if (pass || r < 0) break;
        for (uint32_t i = 0; i < k->ninsts; i++) x->first[i + 1] += x->first[i];
        x->at = orr_calloc((size_t)x->first[k->ninsts] + 1, sizeof *x->at);
    }
    free(used);
    return r == 0;
}

static bool is_barrier(const orr_inst *i) {
    return i->sass ? i->tkind == ORR_TK_BARRIER : i->op == ORR_OP_BAR;
}

static bool is_global(const orr_inst *i, const orr_access *a) {
    if (!a->mask || (i->space != ORR_SPACE_GLOBAL && i->space != ORR_SPACE_GENERIC)) return false;
    return i->space == ORR_SPACE_GLOBAL || orr_space_at(a->addr[orr_ffs(a->mask)]) == ORR_SPACE_GLOBAL;
}

// One warp of the base block, beside the same warp of its neighbours and of the grid's first and last blocks
// (NULL: none in that direction).
static bool look_warp(look *l, uint32_t w, const kept_block *base, const kept_block *const near[3],
                      const kept_block *const edge[6]) {
    const orr_kernel *k = l->k;
    orr_trace t = orr_trace_open(base->warps[w]);
    where n[3] = {{0}}, ends[6] = {{0}};
    bool ok = true;
    for (int d = 0; d < 3; d++)
        if (near[d] && w < near[d]->nwarps) ok &= index_warp(&n[d], k, near[d]->warps[w]);
    for (int d = 0; d < 6; d++)
        if (edge[d] && w < edge[d]->nwarps) ok &= index_warp(&ends[d], k, edge[d]->warps[w]);
    uint32_t *seen = orr_calloc(k->ninsts + 1, sizeof *seen); // accesses of each instruction so far
    uint32_t block, mask, order = 0; // blocks of code since a barrier; barriers in the upper half
    uint32_t at = 0;                 // instructions so far
    int64_t usual[3] = {0};          // step of the last access that had one
    int r = 0;
    while (ok && (r = orr_trace_block(&t, k->nblocks, &block, &mask)) > 0) {
        const orr_block *b = &k->blocks[block];
        l->insts += b->count;
        at = at > UINT32_MAX - b->count ? UINT32_MAX : at + b->count;
        for (uint32_t i = b->first; ok && i < b->first + b->count; i++) {
            if (is_barrier(&k->insts[i])) order = (order | 0xffff) + 1;
            if (!orr_inst_traced(&k->insts[i])) continue;
            orr_access a, by;
            uint32_t turn = seen[i]++;
            ok = orr_trace_access(&t, &a);
            l->usual[i] = true;
            if (!ok || !is_global(&k->insts[i], &a)) continue;
            int64_t step[3] = {0};
            bool regular = true;
            for (int d = 0; d < 3; d++) {
                if (!near[d]) continue;
                bool has = n[d].at && turn < n[d].first[i + 1] - n[d].first[i];
                step[d] = usual[d]; // the neighbour does not do it: it is at the edge
                orr_trace at = has ? n[d].at[n[d].first[i] + turn] : t;
                if (has && orr_trace_access(&at, &by) && by.mask & a.mask)
                    regular &= step_of(&a, &by, &step[d]);
            }
            if (regular) memcpy(usual, step, sizeof usual);
            if (regular) memcpy(l->step, step, sizeof l->step);
            uint8_t lacks = 0;
            for (int d = 0; d < 6; d++)
                if (ends[d].at && turn >= ends[d].first[i + 1] - ends[d].first[i]) lacks |= (uint8_t)(1 << d);
            entry like = {.inst = i, .order = order, .at = at, .lacks = lacks};
            memcpy(like.step, step, sizeof like.step);
            add_access(l, &a, &like, regular);
        }
        if ((order & 0xffff) < 0xffff) order++;
    }
    if (at > l->longest) l->longest = at;
    for (int d = 0; d < 3; d++) {
        free(n[d].first);
        free(n[d].at);
    }
    for (int d = 0; d < 6; d++) {
        free(ends[d].first);
        free(ends[d].at);
    }
    free(seen);
    return ok && r == 0;
}

// One warp of the grid's first or last block in a direction: what only such blocks do, as if the base block
// did it.
static bool look_edge(look *l, uint32_t w, const kept_block *b, int which) {
    const orr_kernel *k = l->k;
    orr_trace t = orr_trace_open(b->warps[w]);
    uint64_t here = which & 1 ? l->w->info.grid[which / 2] - 1 : 0;
    uint64_t away = (here - l->base[which / 2]) * (uint64_t)l->step[which / 2];
    uint32_t block, mask, order = 0, at = 0;
    int r;
    while ((r = orr_trace_block(&t, k->nblocks, &block, &mask)) > 0) {
        const orr_block *code = &k->blocks[block];
        at = at > UINT32_MAX - code->count ? UINT32_MAX : at + code->count;
        for (uint32_t i = code->first; i < code->first + code->count; i++) {
            if (is_barrier(&k->insts[i])) order = (order | 0xffff) + 1;
            if (!orr_inst_traced(&k->insts[i])) continue;
            orr_access a;
            if (!orr_trace_access(&t, &a)) return false;
            if (l->usual[i] || !is_global(&k->insts[i], &a)) continue;
            for (uint32_t m = a.mask; m; m &= m - 1) a.addr[orr_ffs(m)] -= away;
            entry like = {.inst = i, .order = order, .at = at, .only = (uint8_t)(1 << which)};
            memcpy(like.step, l->step, sizeof like.step);
            add_access(l, &a, &like, true);
        }
        if ((order & 0xffff) < 0xffff) order++;
    }
    return r == 0;
}

static int by_order(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    if (x->inst != y->inst) return x->inst < y->inst ? -1 : 1;
    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

// ---- what follows --------------------------------------------------------------------------------------
static float loose_far(const look *l, const inst_sum *s, const warmth *was) {
    double range = (double)(s->high - s->low), size = (double)l->g->l2_size;
    double r = range / ORR_SECTOR, t = (double)l->p->total * (double)s->loose;
    if (r < 1 || t < 1) return 1;
    double cold = range <= size && warm_has(was, s->low) ? 0 : r * (1 - exp(-t / r)) / t;
    double spill = range > size ? 1 - size / range : 0;
    return (float)(cold > spill ? cold : spill);
}

static void leave(look *l, warmth *l2) {
    uint64_t room = (uint64_t)l->g->l2_size, all = 0;
    struct {
        uint64_t from, to, bytes;
    } range[WARM_MAX];
    int n = 0;
    for (uint32_t i = 0; i < l->k->ninsts; i++) {
        const inst_sum *s = &l->sum[i];
        if (!s->high) continue;
        double share = s->lines ? (double)s->distinct / (double)s->lines : 1;
        double bytes = (double)l->p->total * (double)s->sectors * ORR_SECTOR * share;
        uint64_t from = s->low, to = s->high, most = to - from;
        uint64_t b = bytes < (double)most ? (uint64_t)bytes : most;
        for (int k = 0; k < n; k++) { // ranges that overlap are one
            if (range[k].to < from || range[k].from > to) continue;
            if (range[k].from < from) from = range[k].from;
            if (range[k].to > to) to = range[k].to;
            if (range[k].bytes > b) b = range[k].bytes;
            range[k] = range[--n];
            k = -1;
        }
        if (n == WARM_MAX) return;
        range[n].from = from;
        range[n].to = to;
        range[n++].bytes = b;
    }
    for (int k = 0; k < n; k++) all += range[k].bytes;
    if (all > room) l2->n = 0;
    for (int k = 0; k < n && all <= room; k++) warm_add(l2, range[k].from, range[k].to, range[k].bytes, room);
}

static void conclude(residency *x, look *l, const tags *t, const warmth *was) {
    const plan *p = l->p;
    float usual = t->asked ? (float)((double)t->missed / (double)t->asked) : 1;
    for (uint32_t i = 0; i < l->k->ninsts; i++) {
        const inst_sum *s = &l->sum[i];
        double rule = s->asked ? (double)s->missed / (double)s->asked : usual;
        double part = s->sectors ? (double)s->loose / (double)s->sectors : 0;
        x->far[i] = (float)(part > 0 ? part * loose_far(l, s, was) + (1 - part) * rule : rule);
        x->late[i] = s->asked ? (float)((double)s->late / (double)s->asked * (1 - part)) : 0;
        double same = s->distinct ? (double)s->lines / (double)s->distinct : 1; // blocks of a wave
        double sms = t->wave > 0 ? same * (double)p->active / t->wave : 1;
        x->sharers[i] = (float)(part > 0.5 ? (double)p->active : sms < 1 ? 1 : sms);
    }
    x->written = t->stored ? (float)((double)t->evicted / (double)t->stored) : 0;
    if (x->written > 1) x->written = 1;
    double own = 1 / (double)p->active;
    if (t->distinct) own *= (double)t->lines / (double)t->distinct;
    x->own = (float)(own < 1 ? own : 1);
    x->insts = l->insts;
    x->shared = t->lines > t->distinct;
}

bool residency_find(residency *x, const residency_of *of, warmth *l2, orr_err *e) {
    const orr_gpu *g = of->gpu;
    const plan *p = of->plan;
    const kept *k = of->blocks;
    const orr_work *w = of->work;
    const orr_kernel *kernel = w->info.kernel;
    const uint32_t *grid = w->info.grid;
    look l = {.g = g, .p = p, .k = kernel, .w = w, .pace = of->pace};
    for (int d = 0; d < 3; d++) l.base[d] = grid[d] / 2;
    uint64_t base = number(grid, l.base), at;
    const kept_block *b = kept_find(k, base), *near[3] = {NULL}, *edge[6] = {NULL};
    for (int d = 0; d < 3; d++) {
        if (probe(grid, d, -1, &at)) near[d] = kept_find(k, at);
        if (probe(grid, d, 0, &at)) edge[2 * d] = kept_find(k, at);
        if (probe(grid, d, 1, &at)) edge[2 * d + 1] = kept_find(k, at);
    }
    memset(x, 0, sizeof *x);
    x->far = orr_calloc(kernel->ninsts + 1, sizeof *x->far);
    x->late = orr_calloc(kernel->ninsts + 1, sizeof *x->late);
    x->sharers = orr_calloc(kernel->ninsts + 1, sizeof *x->sharers);
    l.sum = orr_calloc(kernel->ninsts + 1, sizeof *l.sum);
    l.usual = orr_calloc(kernel->ninsts + 1, sizeof *l.usual);
    bool ok = true;
    for (uint32_t n = 0; b && ok && n < b->nwarps; n++) ok = look_warp(&l, n, b, near, edge);
    for (int d = 0; d < 6 && b; d++)
        for (uint32_t n = 0; edge[d] && ok && n < edge[d]->nwarps; n++) ok = look_edge(&l, n, edge[d], d);
    if (!ok)
        orr_fail(e, ORR_BAD_INPUT, "%s: the stream of thread block %llu is damaged; record it again",
                 kernel->name, (unsigned long long)base);
    if (ok) {
        if (g->l2_flush) l2->n = 0;
        if (l.entries.n) qsort(l.entries.at, l.entries.n, sizeof *l.entries.at, by_order);
        for (size_t n = 1; n < l.entries.n; n++) // some warps take longer ways: the block has come so far
            if (l.entries.at[n].at < l.entries.at[n - 1].at) l.entries.at[n].at = l.entries.at[n - 1].at;
        tags t = {.was = l2};
        orr_cache_init(&t.l2, (uint64_t)g->l2_size, ORR_LINE, (uint32_t)g->l2_ways, true, false);
        t.since = orr_calloc((size_t)t.l2.sets * t.l2.ways, sizeof *t.since);
        run_waves(&l, &t, &x->lookups);
        free(t.since);
        conclude(x, &l, &t, l2);
        x->rate = dram_rate(g, t.traffic.at, t.traffic.n);
        memcpy(&x->traffic, &t.traffic, sizeof x->traffic);
        orr_cache_free(&t.l2);
        uint64_t threads = (uint64_t)w->info.block[0] * w->info.block[1] * w->info.block[2];
        double local = (double)kernel->stack_bytes * (double)threads * (double)p->active *
                       (double)(p->n < p->most ? p->n : p->most);
        x->local_far = local > (double)g->l2_size ? 1 : 0;
        leave(&l, l2);
    }
    free(l.entries.at);
    free(l.sum);
    free(l.usual);
    free(l.seen);
    free(l.seen_sectors);
    return ok;
}

bool residency_near(const residency *a, const residency *b, uint32_t ninsts) {
    for (uint32_t i = 0; i < ninsts; i++)
        if (fabsf(a->far[i] - b->far[i]) > NEAR || fabsf(a->late[i] - b->late[i]) > NEAR) return false;
    return fabsf(a->written - b->written) <= NEAR;
}

void residency_mix(residency *x, const residency *with, uint32_t ninsts) {
    for (uint32_t i = 0; i < ninsts; i++) {
        x->far[i] = (x->far[i] + with->far[i]) / 2;
        x->late[i] = (x->late[i] + with->late[i]) / 2;
    }
    x->written = (x->written + with->written) / 2;
}

void residency_free(residency *x) {
    free(x->traffic.at);
    free(x->far);
    free(x->late);
    free(x->sharers);
    memset(x, 0, sizeof *x);
}
