// The analytic model behind the interface of all models (model.h).
//
// 1. The kernel's graph: weights for every way into a block of code (graph.c), with memory as far as it is
// known.
// 2. The launch is executed and counted (tally.c).
// 3. The sampled streams say what its memory instructions cost (memory.c); paths are worked out again with
// that.
// 4. Time (bound.c), from that the register banks' conflicts (banks.c), from those longer paths and more use
// of
//    the collectors, from that time; until it stays (the paper's figure 6).
#include "isa/observable.h"
#include "model/abstract/launch.h"
#include "model/analytic/analytic.h"
#include "model/cluster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROUNDS   20
#define SAMPLED_ALL  8 // launches of a kernel of which memory is sampled; then every so many
#define SAMPLED_THEN 4
#define LOOK_SHARE   64   // executed warp instructions for each access that is looked at,
#define LOOK_LEAST   1024 // but of a launch that is looked at at least so many accesses
#define SETTLED      1e-4

// ---- what is kept from launch to launch -------------------------------------------------------------
typedef struct code {
    orr_program *program;
    an_graph graph;
    an_traffic traffic; // of the last launch that was sampled
    uint32_t launches;
} code;
typedef struct state {
    ORR_VEC(code *) codes;
    an_memory *memory;
    abt_state *in_time;     // for kernels whose threads wait for each other; NULL: there was none
    uint64_t insts, looked; // so far: warp instructions executed, accesses looked at
} state;

static void state_free(void *arg) {
    state *st = arg;
    for (size_t n = 0; n < st->codes.n; n++) {
        an_graph_free(&st->codes.at[n]->graph);
        orr_program_free(st->codes.at[n]->program);
        free(st->codes.at[n]);
    }
    free(st->codes.at);
    an_memory_free(st->memory);
    if (st->in_time) abt_state_free(st->in_time);
    free(st);
}

static state *state_of(const orr_gpu *gpu, orr_result *r) {
    if (!r->state) {
        state *st = orr_calloc(1, sizeof *st);
        st->memory = an_memory_new(gpu);
        r->state = st;
        r->state_free = state_free;
    }
    return r->state;
}

static code *code_of(state *st, const orr_kernel *k, const orr_gpu *gpu, orr_err *e) {
    for (size_t n = 0; n < st->codes.n; n++)
        if (st->codes.at[n]->program->kernel == k) return st->codes.at[n];
    orr_program *p = orr_program_new(k, gpu, e);
    if (!p) return NULL;
    code *c = *ORR_PUSH(&st->codes) = orr_calloc(1, sizeof *c);
    c->program = p;
    an_graph_init(&c->graph, gpu, p);
    return c;
}

// ---- sums over the blocks of code -------------------------------------------------------------------
static double paths(an_graph *g, const an_tally *t) {
    double sum = 0;
    an_graph_flow(g);
    for (uint32_t b = 0; b < t->nblocks; b++)
        for (int way = 0; way <= ORR_TALLY_FROM; way++) {
            uint64_t runs = t->counts[b].runs[way];
            uint32_t from = way < ORR_TALLY_FROM ? t->plan[b].from[way] : UINT32_MAX;
            if (runs) sum += (double)runs * an_graph_path(g, from, b);
        }
    return sum;
}

// Issue slots and a unit together. A scheduler that has chosen an instruction for a unit which is still busy
// loses slots: it goes on with other instructions for as long as those it comes to are for other units. With
// a share q of all instructions for the unit, the next one comes n + 1 slots of t cycles later with
// probability (1 - q)^n q, so one that keeps the unit for i cycles costs, beside its own slot, the sum over n
// of (1 - q)^n q (i - (n + 1) t)+ cycles. Where the unit is seldom used that is nothing, where it is all that
// is used i - t: the sum lies between issue and unit and is never less than either.
static double lost_slots(double q, double interval, double slot) {
    double lost = 0, chance = q;
    double left = interval - slot;
    while (left > 0 && chance > 1e-9) {
        lost += chance * left;
        left -= slot;
        chance *= 1 - q;
    }
    return lost;
}

static void couple(const an_graph *g, const an_tally *t, an_demand *d) {
    const orr_gpu *gpu = g->gpu;
    const orr_program *p = g->program;
    double n[ORR_GPU_UNITS_MAX] = {0}, lost[ORR_GPU_UNITS_MAX] = {0};
    double slot = (double)gpu->core_issue_interval / gpu->core_issue;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t b = 0; b < t->nblocks; b++) {
            double runs = (double)(an_runs(&t->counts[b]) + t->predicated_off[b]);
            if (runs == 0) continue;
            for (uint32_t k = p->blocks[b].first; k < p->blocks[b].first + p->blocks[b].count; k++) {
                const orr_tinst *i = &p->insts[k];
                double share =
                    (double)(g->shared_unit[i->unit] ? (uint32_t)gpu->core_schedulers : g->sched_per_sub) /
                    g->pools[i->unit];
                if (!pass)
                    n[i->unit] += runs;
                else
                    lost[i->unit] += runs * lost_slots(n[i->unit] / d->insts, i->interval * share, slot);
            }
        }
    double most = 0;
    for (int u = 0; u < gpu->nunits; u++)
        if (lost[u] > most) most = lost[u];
    d->use[RES_ISSUE] += most; // the unit that costs the most: while one is waited for, others are free
}

static void demands(an_graph *g, const an_tally *t, an_demand *d) {
    memset(d, 0, sizeof *d);
    double weights = 0;
    for (uint32_t b = 0; b < t->nblocks; b++) {
        for (int way = 0; way <= ORR_TALLY_FROM; way++)
            weights += (double)t->counts[b].runs[way] * t->plan[b].weight[way];
        for (int off = 0; off < 2; off++) {
            double runs = (double)(off ? t->predicated_off[b] : an_runs(&t->counts[b])), reads = 0,
                   writes = 0;
            if (runs == 0) continue;
            double use[RES_MAX] = {0};
            an_graph_usage(g, b, off, use, &reads, &writes);
            for (int r = 0; r < RES_MAX; r++) d->use[r] += runs * use[r];
            d->reads += runs * reads;
            d->writes += runs * writes;
            d->insts += runs * g->program->blocks[b].count;
        }
    }
    d->bulk = g->bulk;
    d->tail = g->tail;
    d->path = paths(g, t);
    for (int r = 0; r < RES_MAX; r++) // what a warp uses by itself is part of its path, but for banks
        if ((r <= RES_LSU || r >= RES_UNITS) && r != RES_BANKS && d->use[r] > d->path) d->use[r] = d->path;
    d->scale = weights > 0 ? d->path / weights : 1;
}

// ---- code that is not there yet ----------------------------------------------------------------------
// The first blocks of an SM find its instruction caches empty: every line they come to is a way to L2, and
// while `icache.prefetch` lines are asked for ahead of the warp it waits for what executing those before did
// not hide. All warps wait for the same lines at the same time. Loops that a cache does not hold wait again
// each time, for the next one's latency.
static double line_wait(double latency, double interval, double ahead, double execute) {
    double wait = ahead >= 1 ? latency / ahead : latency + execute;
    if (wait < interval) wait = interval;
    return wait > execute ? wait - execute : 0;
}

// How often a line of code has to be fetched again, of all the times that a warp comes to a line: each round
// of a loop whose lines a cache does not hold (least recently used first out: none of them) fetches all of
// them. Loops that lie one behind the other and fit each by itself do not count. A line belongs to the
// innermost loop that is too large.
static double refetched(const an_graph *g, const an_tally *t, const uint8_t *seen, uint64_t bytes,
                        uint64_t nlines, int64_t cache) {
    const orr_program *p = g->program;
    double *rounds = orr_calloc(nlines, sizeof *rounds), again = 0, entered = 0;
    uint64_t *size = orr_calloc(nlines, sizeof *size); // of the loop that the rounds are of
    for (uint32_t b = 0; b < t->nblocks; b++) {
        const orr_tblock *x = &p->blocks[b];
        double runs = (double)(an_runs(&t->counts[b]) + t->predicated_off[b]);
        if (!(runs > 0) || !x->count) continue;
        uint64_t from = p->insts[x->first].pc / bytes;
        uint64_t last = p->insts[x->first + x->count - 1].pc / bytes;
        entered += runs * (double)(last - from + 1);
        for (int way = 0; way < ORR_TALLY_FROM; way++) { // backwards: a loop from here to where it came from
            uint32_t f = t->plan[b].from[way];
            if (f >= t->nblocks || f < b || !t->counts[b].runs[way] || !p->blocks[f].count) continue;
            uint64_t to = p->insts[p->blocks[f].first + p->blocks[f].count - 1].pc / bytes, lines = 0;
            for (uint64_t n = from; n <= to && n < nlines; n++) lines += seen[n];
            if (lines * bytes <= (uint64_t)cache) continue;
            for (uint64_t n = from; n <= to && n < nlines; n++)
                if (seen[n] && (!size[n] || lines < size[n])) {
                    size[n] = lines;
                    rounds[n] = (double)t->counts[b].runs[way];
                }
        }
    }
    for (uint64_t n = 0; n < nlines; n++) again += rounds[n];
    free(rounds);
    free(size);
    return entered > 0 && again < entered ? again / entered : entered > 0 ? 1 : 0;
}

static void fetches(const orr_gpu *gpu, an_graph *g, const an_tally *t, an_demand *d) {
    const orr_program *p = g->program;
    d->cold = 0;
    if (gpu->icache_perfect || !p->ninsts || !(d->insts > 0)) return;
    uint64_t bytes = (uint64_t)gpu->icache_line, most = 0, lines = 0;
    for (uint32_t n = 0; n < p->ninsts; n++)
        if (p->insts[n].pc > most) most = p->insts[n].pc;
    uint8_t *seen = orr_calloc((size_t)(most / bytes) + 1, 1);
    for (uint32_t b = 0; b < t->nblocks; b++) {
        if (!(an_runs(&t->counts[b]) + t->predicated_off[b])) continue;
        for (uint32_t n = p->blocks[b].first; n < p->blocks[b].first + p->blocks[b].count; n++) {
            uint64_t line = p->insts[n].pc / bytes;
            lines += !seen[line];
            seen[line] = 1;
        }
    }
    double each = (double)bytes / (gpu->cc_major >= 7 ? 16 : 8); // instructions of a line
    double execute = d->path / d->insts * each, ahead = gpu->icache_prefetch;
    double near = gpu->icache_l1_latency, far = near + gpu->l2_latency;
    if (lines)
        d->cold = far + gpu->launch_code_latency +
                  (double)(lines - 1) * line_wait(far, gpu->icache_l2_interval, ahead, execute);
    uint64_t nlines = most / bytes + 1;
    double from_l2 = 0, from_l1 = 0;
    if (lines * bytes > (uint64_t)gpu->icache_l1)
        from_l2 = refetched(g, t, seen, bytes, nlines, gpu->icache_l1);
    if (gpu->icache_l0 && lines * bytes > (uint64_t)gpu->icache_l0)
        from_l1 = refetched(g, t, seen, bytes, nlines, gpu->icache_l0) - from_l2;
    if (from_l2 > 0) g->fetch = from_l2 * line_wait(far, gpu->icache_l2_interval, ahead, execute);
    if (from_l1 > 0) g->fetch += from_l1 * line_wait(near, gpu->icache_l1_interval, ahead, execute);
    free(seen);
}

// ---- the fixed point --------------------------------------------------------------------------------
typedef struct answer {
    an_time time;
    an_demand bound; // if everybody fits between everybody else: the optimistic bound
    an_demand demand;
    double latency;   // of the bound
    double conflicts; // of reads, with reads and with writes
    int rounds;
} answer;

// From time to conflicts, from those to more use of the collectors and longer paths, from that to time (the
// paper's figure 6). Reads and writes share the banks' ports; what writes make each other wait for holds up
// no collector.
static void collide(const orr_gpu *gpu, an_graph *g, const an_tally *t, int resident, const an_machine *m,
                    answer *a) {
    const an_demand base = a->demand;
    double subs = gpu->core_subcores, interval = gpu->regs_interval;
    int banks = (int)(gpu->regs_banks / subs), readers = an_bank_users(gpu, 3),
        writers = an_bank_users(gpu, 1);
    g->conflict = 1;
    double slope = paths(g, t) - base.path;
    g->conflict = 0;
    for (a->rounds = 0; a->rounds < MAX_ROUNDS; a->rounds++) {
        double accesses = a->time.cycles * a->time.active * subs / interval; // of a port
        double was = a->time.cycles;
        double all = (base.reads + base.writes) / accesses, writes = base.writes / accesses;
        all = an_bank_conflicts(all, readers + writers, banks, gpu->regs_ports);
        writes = an_bank_conflicts(writes, writers, banks, gpu->regs_ports);
        a->conflicts = (all - writes) * accesses;
        double each = base.insts > 0 ? a->conflicts * interval / base.insts : 0;
        a->demand.path = base.path + slope * each;
        a->demand.scale = base.scale * (base.path > 0 ? a->demand.path / base.path : 1);
        a->demand.use[RES_COLLECT] = base.use[RES_COLLECT] + a->conflicts * interval / g->collectors;
        an_schedule(gpu, m, &a->demand, t, resident, &a->time);
        if (fabs(a->time.cycles - was) <= SETTLED * was) break;
    }
}

static void settle(const orr_gpu *gpu, an_graph *g, const an_tally *t, int resident, const an_machine *m,
                   answer *a) {
    an_demand base;
    g->conflict = g->fetch = 0;
    demands(g, t, &base);
    fetches(gpu, g, t, &base);
    if (g->fetch > 0) {
        double cold = base.cold;
        demands(g, t, &base);
        base.cold = cold;
    }
    a->bound = base;
    a->latency = an_latency(gpu, m, &base, t, resident);
    couple(g, t, &base);
    if (base.use[RES_ISSUE] > base.path) base.use[RES_ISSUE] = base.path;
    a->demand = base;
    an_schedule(gpu, m, &base, t, resident, &a->time);
    if (g->collectors) collide(gpu, g, t, resident, m, a);
    g->conflict = g->fetch = 0;
}

// ---- the result -------------------------------------------------------------------------------------
static orr_limits *limits_of(const orr_gpu *gpu, const an_machine *m, const answer *a, double overhead,
                             orr_result *r) {
    orr_limits *b = orr_arena_alloc(&r->arena, sizeof *b);
    b->latency = a->latency + overhead;
    b->optimistic = b->latency;
    b->limit = "latency";
    b->warps = a->time.warps;
    b->register_reads = a->demand.reads;
    b->register_conflicts = a->conflicts;
    for (int k = 0; k < RES_MAX && b->nparts < ORR_LIMIT_PARTS; k++) {
        double share = m->count[k] > 0 ? m->count[k] * a->time.active : 1;
        double cycles = a->bound.use[k] * m->cycles[k] / share;
        if (!(cycles > 0)) continue;
        b->part[b->nparts].name = an_res_name(gpu, k);
        b->part[b->nparts++].cycles = cycles;
        if (cycles + overhead > b->optimistic) {
            b->optimistic = cycles + overhead;
            b->limit = an_res_name(gpu, k);
        }
    }
    return b;
}

static void counters(const orr_gpu *gpu, const an_traffic *x, const an_tally *t, const answer *a,
                     orr_launch_result *l, orr_result *r) {
    double *c = l->counters = orr_arena_alloc(&r->arena, ORR_COUNTERS * sizeof *c);
    for (int n = 0; n < ORR_COUNTERS; n++) c[n] = NAN;
    (void)x;
    (void)t;
    c[ORR_C_INST] = (double)l->warp_insts;
    c[ORR_C_THREAD_INST] = (double)l->thread_insts;
    c[ORR_C_CYCLES] = l->cycles;
    c[ORR_C_TIME] = l->time_ns;
    c[ORR_C_SM_ELAPSED] = l->cycles * gpu->sm_count;
    c[ORR_C_BLOCKS] = (double)l->blocks;
    c[ORR_C_WARPS_LAUNCHED] = (double)t->nwarps;
    c[ORR_C_ISSUED] = (double)l->warp_insts;
    if (gpu->core_kind == ORR_CORE_COLLECTOR) c[ORR_C_REG_CONFLICTS] = a->conflicts;
}

// Threads that wait for what others write: how often they look depends on time, so there is nothing to count.
// The abstract model's machine executes such a kernel as it is timed. *done: it was one.
static bool run_in_time(state *st, const orr_gpu *gpu, const orr_work *w, orr_result *r, bool *done,
                        orr_err *e) {
    *done = w->launch && orr_kernel_orders(w->info.kernel) && abt_in_time(w);
    if (!*done) return true;
    if (!st->in_time && !(st->in_time = abt_state_new(gpu, e))) return false;
    return abt_launch(st->in_time, gpu, w, r, e);
}

static bool run_model(const orr_gpu *gpu, const orr_work *w, orr_result *r, orr_err *e) {
    orr_work own;
    state *st = state_of(gpu, r);
    bool done;
    if (!run_in_time(st, gpu, w, r, &done, e)) return false;
    if (done) return true;
    w = orr_work_rewritten(w, &own, r);
    code *c = code_of(st, w->info.kernel, gpu, e);
    orr_occupancy_result occ = {0};
    if (!c || !orr_program_fits(gpu, c->program, &w->info, &occ, e)) return false;
    an_tally t = {.cluster = orr_work_cluster(w)};
    double start = orr_seconds();
    // A kernel that is launched again and again is looked at now and then.
    bool look = !c->launches || ((c->launches < SAMPLED_ALL || c->launches % SAMPLED_THEN == 0) &&
                                 st->looked * LOOK_SHARE <= st->insts);
    c->launches++;
    uint32_t cluster = (uint32_t)occ.blocks < 4 ? (uint32_t)occ.blocks : 4;
    bool ok = an_tally_run(&t, &c->graph, c->program, w, look ? cluster : 0, e);
    r->host.execute_seconds += orr_seconds() - start;
    start = orr_seconds();
    uint64_t budget = t.warp_insts / LOOK_SHARE > LOOK_LEAST ? t.warp_insts / LOOK_SHARE : LOOK_LEAST;
    st->insts += t.warp_insts;
    an_sampling how = {.occ = &occ, .allocated = w->info.memory, .budget = budget};
    if (ok && look && !an_memory_sample(st->memory, &c->graph, &t, &how, &c->traffic))
        ok = orr_fail(e, ORR_BAD_INPUT, "launch %u of %s: its stream is damaged; record it again",
                      w->info.index, w->info.kernel->name);
    if (look) st->looked += c->traffic.looked;
    if (ok) {
        an_machine m;
        answer a = {0};
        an_machine_of(gpu, &m);
        settle(gpu, &c->graph, &t, occ.blocks, &m, &a);
        orr_launch_result *l = orr_result_add(r, gpu, w);
        l->occupancy = occ.percent / 100;
        double end = 0; // the last store's way to L2, and when it is certain that all are there
        if (gpu->memory != ORR_MEMORY_PERFECT && c->traffic.stores > 0)
            end = (gpu->l1_latency + gpu->l2_latency) / 2;
        if (gpu->memory != ORR_MEMORY_PERFECT && gpu->launch_drain > 0 && c->traffic.l2_sectors > 0)
            end = an_memory_drain(st->memory, a.time.active);
        l->limits = limits_of(gpu, &m, &a, gpu->launch_overhead, r);
        if (!gpu->analytic_probabilistic) a.time.cycles = l->limits->optimistic - gpu->launch_overhead;
        l->cycles = floor(a.time.cycles + end + gpu->launch_overhead + 0.5);
        l->time_ns = l->cycles * 1e3 / gpu->clock_sm;
        l->warp_insts = t.warp_insts;
        l->thread_insts = t.thread_insts;
        counters(gpu, &c->traffic, &t, &a, l, r);
    }
    an_tally_free(&t);
    r->host.model_seconds += orr_seconds() - start;
    return ok;
}

static bool copy(const orr_gpu *gpu, uint64_t addr, uint64_t bytes, orr_result *r, orr_err *e) {
    (void)e;
    state *st = state_of(gpu, r);
    an_memory_copy(st->memory, addr, bytes);
    if (st->in_time) abt_copy(st->in_time, addr, bytes);
    return true;
}

static bool warm(const orr_gpu *gpu, orr_result *r, int sm, const orr_touched *t, orr_err *e) {
    (void)sm;
    (void)e;
    an_memory_copy(state_of(gpu, r)->memory, t->line * ORR_LINE, ORR_LINE);
    return true;
}

const orr_model orr_model_analytic = {"analytic",
                                      "counts blocks of code, bounds time by their longest paths and what "
                                      "they use: costs hardly more than executing",
                                      run_model,
                                      copy,
                                      true,
                                      NULL,
                                      warm};
