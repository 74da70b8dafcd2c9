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
// and no less than the load u of any resource by all warps, so none is ever overdrawn.
//
// Thread blocks go to the SMs in grid order and to whoever is free first. Together the n warps of an SM do
// the work of n / s(n) that have it for themselves. How they share that depends on the scheduler
// (core.policy). Where all get a turn, each goes on at 1 / s(n). Where the oldest warp goes first, younger
// ones do not slow it down: the j oldest do what j would do without the others, j / s_l(j) of the SM's own
// resources, and the next one gets what is left (the youngest first: the other way round). L2 and DRAM serve
// in the order in which they are asked, so of those all wait alike. While blocks follow each other that
// changes no sum, but at the end of a grid the last ones are left alone: they run as slowly as a few warps
// do.
//
// A block counts for as many warps as it has on average under way: the sum of its warps' paths by its own
// longest path.
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
    [RES_PARTS] = "l1.partial_stores",
    [RES_REQUEST] = "request",
    [RES_REPLY] = "reply",
    [RES_L2] = "l2",
    [RES_ATOMICS] = "l2.atomics",
    [RES_STORES] = "l2.stores",
    [RES_DRAM] = "dram",
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
    m->cycles[RES_PARTS] = g->xbar_partial_stores ? 1.0 / (double)g->xbar_partial_stores : 0;
    m->cycles[RES_REQUEST] = l2_cycle / g->xbar_request;
    m->cycles[RES_REPLY] = l2_cycle / g->xbar_reply;
    m->count[RES_L2] = m->count[RES_CROSS] = m->count[RES_ATOMICS] = m->count[RES_STORES] = 0;
    m->count[RES_DRAM] = m->count[RES_BULK] = 0;
    m->cycles[RES_BULK] = 1.0 / g->tma_bytes / g->sm_count;
    m->cycles[RES_L2] = m->cycles[RES_CROSS] = m->cycles[RES_STORES] = 1.0 / g->l2_slices;
    m->cycles[RES_ATOMICS] = l2_cycle / g->l2_atomic / g->l2_slices;
    m->cycles[RES_DRAM] = 1.0 / g->dram_channels;
    for (int u = 0; u < g->nunits; u++)
        if (g->units[u].count >= g->core_subcores) m->count[RES_UNITS + u] = subs;
}

// ---- how much slower a warp is among n --------------------------------------------------------------
typedef struct load {
    double k;           // of a warp's time
    double all, others; // of all warps', of all but one; at full speed
} load;

static int loads(const an_machine *m, const an_demand *d, double n, double active, load out[RES_MAX]) {
    int at = 0;
    for (int r = 0; r < RES_MAX; r++) {
        double k = d->path > 0 ? d->use[r] * m->cycles[r] / d->path : 0;
        if (!(k > 0) || (!(m->count[r] > 0) && !(active > 0))) continue;
        double sharing = m->count[r] > 0 ? n / m->count[r] : n * active;
        if (sharing < 1) sharing = 1;
        out[at++] = (load){k, k * sharing, k * (sharing - 1)};
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
    // What is waited for falls ever less steeply as s grows, so Newton's steps from below never pass the
    // solution.
    double s = low;
    for (int round = 0; round < 40 && s < high; round++) {
        double wait = 1, slope = 1;
        for (int r = 0; r < count; r++) {
            double part = l[r].k * l[r].others / (2 * (s - l[r].others));
            wait += part;
            slope += part / (s - l[r].others);
        }
        double step = (wait - s) / slope;
        if (!(step > s * 1e-13)) break;
        s += step;
    }
    return s < high ? s : high;
}

// ---- thread blocks over SMs -------------------------------------------------------------------------
static double later_of(double a, double b) { return a > b ? a : b; }

#define TABLE    4  // places of a table of slowdowns for each warp
#define RESIDENT 64 // blocks of an SM

typedef struct resident {
    double left;  // of its path
    double warps; // that it counts for
    double speed; // of its path in a cycle
} resident;

typedef struct core {
    double time, warps; // until when it has been looked at; all blocks'
    double next;        // when its first block ends
    int n;
    resident block[RESIDENT]; // the oldest first
} core;

typedef struct deal {
    core *cores;
    int ncores, slots;
    double *slow,
        *done; // by warps: slowdown by all resources, and what they do if only the SM's own slow them
    int entries;
    const an_machine *m;
    const an_demand *d;
    double active;
    int first; // the scheduler's choice: 1 the oldest, -1 the youngest, 0 all in turn
    bool waits;
} deal;

static int first_of(const orr_gpu *g) {
    switch (g->core_policy) {
    case ORR_SCHED_GTO:
    case ORR_SCHED_GTB:
    case ORR_SCHED_OLDEST: return 1;
    case ORR_SCHED_GTY: return -1;
    default: return 0;
    }
}

static int entry(const deal *x, int at) { return at < 1 ? 1 : at >= x->entries ? x->entries - 1 : at; }

static double slow(const deal *x, double n) {
    int at = entry(x, (int)(n * TABLE + 0.5));
    if (x->slow[at] == 0) x->slow[at] = an_slowdown(x->m, x->d, (double)at / TABLE, x->active);
    return x->slow[at];
}

static double done_at(const deal *x, int at) {
    double n = (double)at / TABLE;
    if (at < 1 || at >= x->entries) // more than the table has
        return n / an_slowdown(x->m, x->d, (double)entry(x, at) / TABLE, 0);
    if (x->done[at] == 0) x->done[at] = n / an_slowdown(x->m, x->d, n, 0);
    return x->done[at];
}

// What n warps do in a cycle, if only the SM's own resources are waited for.
static double done_by(const deal *x, double n) {
    int at = (int)(n * TABLE);
    double less = at ? done_at(x, at) : 0, more = done_at(x, at + 1);
    return less + (more - less) * (n * TABLE - at);
}

static void advance(core *c, double to) {
    if (to <= c->time) return;
    for (int k = 0; k < c->n; k++) c->block[k].left -= (to - c->time) * c->block[k].speed;
    c->time = to;
}

// When the first of a core's blocks ends.
static void look_ahead(core *c) {
    c->next = INFINITY;
    for (int i = 0; i < c->n; i++) {
        const resident *b = &c->block[i];
        double end = c->time + (b->left > 0 ? b->left / b->speed : 0);
        if (end < c->next) c->next = end;
    }
}

static void share_out(const deal *x, core *c) {
    double s = x->waits ? slow(x, c->warps) : 1, served = 0, had = 0;
    bool ranked = x->waits && x->first && c->n > 1;
    double scale = ranked ? c->warps / s / done_by(x, c->warps) : 1;
    for (int i = 0; i < c->n; i++) {
        resident *b = &c->block[x->first < 0 ? c->n - 1 - i : i];
        b->speed = 1 / s;
        if (!ranked) continue;
        double done = done_by(x, served += b->warps);
        b->speed = scale * (done - had) / b->warps;
        if (!(b->speed > 1e-6)) b->speed = 1e-6; // it waits for others to end
        had = done;
    }
}

// `empty`: cycles that the block's place has nobody, whatever the others do meanwhile.
static void begin(const deal *x, core *c, double when, double empty, resident b) {
    advance(c, when);
    resident *at = &c->block[c->n++];
    *at = b;
    c->warps += b.warps;
    share_out(x, c);
    if (empty > 0) at->left += empty * at->speed;
    look_ahead(c);
}

static void finish(const deal *x, core *c) { // the first to end
    advance(c, c->next);
    int first = 0;
    for (int k = 1; k < c->n; k++)
        if (c->block[k].left < c->block[first].left) first = k;
    c->warps -= c->block[first].warps;
    c->n--;
    memmove(&c->block[first], &c->block[first + 1], (size_t)(c->n - first) * sizeof c->block[0]);
    if (c->n == 0) c->warps = 0;
    share_out(x, c);
    look_ahead(c);
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
            if (path > 0) share *= path / (path + x->d->cold);
            begin(x, c, when, 0, (resident){path + x->d->cold, share, 0});
        } else {
            if (!made)
                for (int k = n / 2; k >= 0; k--) sift(heap, n, k, x->cores);
            made = true;
            c = &x->cores[heap[0]];
            double now = c->next;
            finish(x, c);
            begin(x, c, later_of(now + g->launch_sm_interval, when), g->launch_turnaround,
                  (resident){path, share, 0});
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

static deal deal_of(const orr_gpu *g, const an_machine *m, const an_demand *d, const an_tally *t,
                    int resident) {
    deal x = {.ncores = g->sm_count, .slots = resident < RESIDENT ? resident : RESIDENT, .m = m, .d = d};
    x.first = first_of(g);
    if ((uint64_t)x.ncores > t->ntbs) x.ncores = (int)t->ntbs;
    x.active = x.ncores;
    x.cores = orr_calloc((size_t)x.ncores, sizeof *x.cores);
    return x;
}

void an_schedule(const orr_gpu *g, const an_machine *m, const an_demand *d, const an_tally *t, int resident,
                 an_time *out) {
    deal x = deal_of(g, m, d, t, resident);
    x.waits = true;
    x.entries = (g->limit_sm_warps + 2) * TABLE;
    x.slow = orr_calloc((size_t)x.entries, sizeof *x.slow);
    x.done = orr_calloc((size_t)x.entries, sizeof *x.done);
    out->active = x.active;
    out->cycles = run(&x, g, t, d->scale, &out->warps);
    free(x.cores);
    free(x.slow);
    free(x.done);
}

double an_latency(const orr_gpu *g, const an_machine *m, const an_demand *d, const an_tally *t,
                  int resident) {
    deal x = deal_of(g, m, d, t, resident);
    double warps, cycles = run(&x, g, t, d->scale, &warps);
    free(x.cores);
    return cycles;
}
