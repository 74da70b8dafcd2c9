// From paths and usages to time.
//
// Let a warp by itself take `path` cycles and use a resource for `use` of them. Of n warps that share an
// instance of it, each finds the others there. The paper's optimistic bound is the larger of path and the sum
// of all uses, which is what happens when everybody fits between everybody else. What a warp waits otherwise
// is the paper's second question, asked there for register banks and here for every resource: with the
// others' load u_o, the wait for a server with a fixed time of service is u_o / (2 (1 - u_o)) services
// (Pollaczek and Khinchine, M/D/1): warps are few and each comes again, and one that comes finds what is
// there without it (the arrival theorem: Sevcik and Mitrani, JACM 1981; Reiser and Lavenberg, JACM 1980). All
// loads fall as the warp is slowed down, so the slowdown s is the solution of
//
//     s = 1 + sum over resources of  k (u_o / s) / (2 (1 - u_o / s)),     k = use / path of one warp
//
// and no less than the load u of any resource by all warps, so none is ever overdrawn. (Warps that a barrier
// has let go come together: then k is that of all of them, and the load before the fraction's bar that of all
// others.)
//
// Thread blocks go to the SMs in grid order and to whoever is free first. On an SM all resident warps make
// progress at the speed 1 / s(n); how many there are changes as blocks come and go, so ends of grids and
// blocks that take longer than others are as long as they are. A block counts for as many warps as it has on
// average under way: the sum of its warps' paths by its own longest path.
#include "model/analytic/analytic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [RES_ISSUE] = "issue",
    [RES_COLLECT] = "collectors",
    [RES_WRITE] = "write-back",
    [RES_BANKS] = "registers",
    [RES_LSU] = "l1",
    [RES_MISSES] = "l1.misses",
    [RES_REQUEST] = "request",
    [RES_REPLY] = "reply",
    [RES_L2] = "l2",
    [RES_ATOMICS] = "l2.atomics",
    [RES_DRAM] = "dram",
    [RES_DATA] = "l2.data",
    [RES_CROSS] = "l2.halves",
    [RES_BULK] = "tma",
    [RES_NETWORK] = "cluster",
};

const char *an_res_name(const orr_gpu *g, int r) {
    return r < RES_UNITS ? names[r] : r - RES_UNITS < g->nunits ? g->units[r - RES_UNITS].name : "";
}

void an_machine_of(const orr_gpu *g, an_machine *m) {
    double subs = g->core_subcores, l2_cycle = g->clock_l2 > 0 ? g->clock_sm / g->clock_l2 : 1;
    for (int r = 0; r < RES_MAX; r++) {
        m->count[r] = 1;
        m->cycles[r] = 1;
    }
    m->count[RES_ISSUE] = g->core_schedulers;
    m->count[RES_COLLECT] = m->count[RES_BANKS] = m->count[RES_WRITE] = subs;
    m->cycles[RES_MISSES] = 1.0 / g->l1_mshrs;
    m->cycles[RES_REQUEST] = l2_cycle / g->xbar_request;
    m->cycles[RES_REPLY] = l2_cycle / g->xbar_reply;
    m->count[RES_L2] = m->count[RES_DATA] = m->count[RES_CROSS] = m->count[RES_ATOMICS] = 0;
    m->count[RES_DRAM] = m->count[RES_BULK] = 0;
    m->cycles[RES_BULK] = 1.0 / g->tma_bytes / g->sm_count;
    m->cycles[RES_L2] = m->cycles[RES_DATA] = m->cycles[RES_CROSS] = 1.0 / g->l2_slices;
    m->cycles[RES_ATOMICS] = l2_cycle / g->l2_atomic / g->l2_slices;
    m->cycles[RES_DRAM] = 1.0 / g->dram_channels;
    for (int u = 0; u < g->nunits; u++)
        if (g->units[u].count >= g->core_subcores) m->count[RES_UNITS + u] = subs;
}

// ---- how much slower a warp is among n --------------------------------------------------------------
typedef struct load {
    double k;                 // of a warp's time, and of those that come with it
    double all, others, seen; // of all warps', of those that come apart, of all but one; at full speed
} load;

static int loads(const an_machine *m, const an_demand *d, double n, double active, load out[RES_MAX]) {
    int at = 0;
    for (int r = 0; r < RES_MAX; r++) {
        double k = d->path > 0 ? d->use[r] * m->cycles[r] / d->path : 0;
        if (!(k > 0)) continue;
        double sharing = m->count[r] > 0 ? n / m->count[r] : n * active;
        if (sharing < 1) sharing = 1;
        double own = m->count[r] > 0 ? d->batch / m->count[r] : d->batch;
        if (own < 1) own = 1;
        if (own > sharing) own = sharing;
        out[at++] = (load){k * own, k * sharing, k * (sharing - own), k * (sharing - 1)};
    }
    return at;
}

double an_slowdown(const an_machine *m, const an_demand *d, double n, double active) {
    load l[RES_MAX];
    int count = loads(m, d, n, active, l);
    double low = 1, high;
    for (int r = 0; r < count; r++)
        if (l[r].all > low) low = l[r].all;
    high = low * 4 + 4;
    for (int round = 0; round < 40; round++) {
        double s = (low + high) / 2, wait = 1;
        for (int r = 0; r < count; r++) {
            double free = 1 - l[r].seen / s;
            wait += free > 1e-12 ? l[r].k * (l[r].others / s) / (2 * free) : 1e12;
        }
        if (wait > s)
            low = s;
        else
            high = s;
    }
    return high;
}

// ---- thread blocks over SMs -------------------------------------------------------------------------
static double later_of(double a, double b) { return a > b ? a : b; }

#define TABLE 4 // places of the table of slowdowns for each warp

typedef struct core {
    double time, progress, warps; // until `time`
    double next;                  // when its first block ends
    int n;
    double end[64], share[64]; // progress at which a block ends; warps it counts for
} core;

typedef struct deal {
    core *cores;
    int ncores, slots;
    double *table; // slowdown by warps
    int entries;
    const an_machine *m;
    const an_demand *d;
    double active;
    bool waits;
} deal;

static double slow(deal *x, double n) {
    if (!x->waits) return 1;
    int at = (int)(n * TABLE + 0.5);
    if (at < 1) at = 1;
    if (at >= x->entries) at = x->entries - 1;
    if (x->table[at] == 0) x->table[at] = an_slowdown(x->m, x->d, (double)at / TABLE, x->active);
    return x->table[at];
}

static void advance(deal *x, core *c, double to) {
    if (to <= c->time) return;
    if (c->n) c->progress += (to - c->time) / slow(x, c->warps);
    c->time = to;
}

static void look(deal *x, core *c) {
    c->next = INFINITY;
    if (!c->n) return;
    double first = INFINITY;
    for (int k = 0; k < c->n; k++)
        if (c->end[k] < first) first = c->end[k];
    c->next = c->time + (first > c->progress ? (first - c->progress) * slow(x, c->warps) : 0);
}

static void begin(deal *x, core *c, double when, double path, double share) {
    advance(x, c, when);
    c->end[c->n] = c->progress + path;
    c->share[c->n++] = share;
    c->warps += share;
    look(x, c);
}

static void finish(deal *x, core *c) { // the first to end
    advance(x, c, c->next);
    int first = 0;
    for (int k = 1; k < c->n; k++)
        if (c->end[k] < c->end[first]) first = k;
    c->warps -= c->share[first];
    if (--c->n == 0) c->warps = 0;
    c->end[first] = c->end[c->n];
    c->share[first] = c->share[c->n];
    look(x, c);
}

// A heap of cores by `next`.
static void sift(int *heap, int n, int at, const core *c) {
    for (;;) {
        int best = at, l = 2 * at + 1, r = l + 1;
        if (l < n && c[heap[l]].next < c[heap[best]].next) best = l;
        if (r < n && c[heap[r]].next < c[heap[best]].next) best = r;
        if (best == at) return;
        int x = heap[at];
        heap[at] = heap[best];
        heap[best] = x;
        at = best;
    }
}

static double run(deal *x, const orr_gpu *g, const an_tally *t, double scale, double *warps) {
    int n = x->ncores, *heap = orr_calloc((size_t)n, sizeof *heap);
    uint64_t given = 0, full = (uint64_t)n * (uint64_t)x->slots;
    double end = 0, held = 0;
    for (int k = 0; k < n; k++) {
        x->cores[k] = (core){.next = INFINITY};
        heap[k] = k;
    }
    bool made = false;
    while (given < t->ntbs) {
        uint64_t bin = given / t->per, in = t->per;
        if (bin == t->nbins - 1) in = t->ntbs - bin * t->per;
        double path = (double)t->longest[bin] / (double)in, sum = (double)t->sum[bin] / (double)in;
        double share = path > 0 ? sum / path : 1, when = (double)given * g->launch_block_interval;
        held += sum * scale;
        path = path * scale + g->launch_block_latency + x->d->bulk;
        core *c;
        if (path > 0) share *= path / (path + x->d->tail);
        path += x->d->tail;
        if (given < full) {
            c = &x->cores[given % (uint64_t)n];
            begin(x, c, when, path + x->d->cold, path > 0 ? share * path / (path + x->d->cold) : share);
        } else {
            if (!made)
                for (int k = n / 2; k >= 0; k--) sift(heap, n, k, x->cores);
            made = true;
            c = &x->cores[heap[0]];
            double now = c->next;
            finish(x, c);
            // Its place is empty for launch.turnaround cycles, whatever the others do meanwhile.
            double empty = g->launch_turnaround / slow(x, c->warps + share);
            begin(x, c, later_of(now + g->launch_sm_interval, when), path + empty,
                  path > 0 ? share * path / (path + empty) : share);
            sift(heap, n, 0, x->cores);
        }
        given++;
    }
    double busy = 0;
    for (int k = 0; k < n; k++) {
        core *c = &x->cores[k];
        while (c->n) {
            double now = c->next;
            if (now > end) end = now;
            finish(x, c);
        }
        busy += c->time;
    }
    *warps = busy > 0 ? held / busy : 0;
    free(heap);
    return end;
}

void an_schedule(const orr_gpu *g, const an_machine *m, const an_demand *d, const an_tally *t, int resident,
                 an_time *out) {
    deal x = {.ncores = g->sm_count, .slots = resident < 64 ? resident : 64, .m = m, .d = d, .waits = true};
    if ((uint64_t)x.ncores > t->ntbs) x.ncores = (int)t->ntbs;
    x.active = x.ncores;
    x.entries = (g->limit_sm_warps + 2) * TABLE;
    x.cores = orr_calloc((size_t)x.ncores, sizeof *x.cores);
    x.table = orr_calloc((size_t)x.entries, sizeof *x.table);
    out->active = x.active;
    out->cycles = run(&x, g, t, d->scale, &out->warps);
    x.waits = false;
    double warps;
    out->latency = run(&x, g, t, d->scale, &warps);
    free(x.cores);
    free(x.table);
}
