// The partial model (docs/how/partial.md). How long a launch takes is found by simulating portions of its
// grid on all SMs (portions.c), where it goes by simulating one SM at instruction level with as many blocks
// as it holds. Where there are no portions (task lists, very long blocks, old GPUs) the grid's time follows
// from when that SM's blocks end.
//
// The SM is the cycle model's (schedulers, dependences, dual issue, units, load/store unit, L1); what is
// behind it is its share of L2 and memory (memory_share.c), and what the other SMs have brought into L2 is
// worked out from a few blocks (residency.c). Which blocks, and from their ends to the launch's time: plan.c.
// Where blocks share lines, what they find in L2 depends on how far they are apart, and that on what they
// find: it is simulated again with what follows from the last simulation, until it stays (settle). What it
// costs does not depend on the grid.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/cluster.h"
#include "model/partial/partial.h"

#define LONG_WORKLOAD 6000000 // warp instructions: the way in and out of it does not matter, one is enough

#define ROUNDS 3 // at most so many times once more, for blocks that are not side by side

typedef struct state {
    orr_programs programs;
    warmth l2;
    abt_state *gpu; // all SMs (portions.c); NULL: not used so far
} state;

static void state_free(void *arg) {
    state *st = arg;
    orr_programs_free(&st->programs);
    abt_state_free(st->gpu);
    free(st);
}

static state *state_of(orr_result *r) {
    if (!r->state) {
        r->state = orr_calloc(1, sizeof(state));
        r->state_free = state_free;
    }
    return r->state;
}

// Do its blocks wait for each other? Then none can be left out when it is executed.
static bool waits(const orr_kernel *k) {
    for (uint32_t n = 0; n < k->ninsts; n++)
        if (orr_inst_order(&k->insts[n]) & ORR_ORDER_WAITS) return true;
    return false;
}

// The description with one SM. Blocks go to it as far apart as they would with the others between them.
static orr_gpu one_sm(const orr_gpu *g, const plan *p) {
    orr_gpu one = *g;
    one.sm_count = one.tpc_count = one.gpc_count = 1;
    one.l2_slices = one.dram_channels = one.l2_partitions = 1; // one partition: memory_share.c stands for it
    one.l2_size = 1 << 20;
    one.launch_block_interval *= (double)p->active;
    return one;
}

// ---- the blocks -------------------------------------------------------------------------------------
static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// Of two plans, of which the second may be NULL.
enum { PULL_PROBES = 1, PULL_WHOLE = 2 };
static bool pull_plan(kept *k, const orr_work *w, const plan *p, const plan *q, int what, orr_err *e) {
    uint64_t *list = orr_malloc((p->m + (q ? q->m : 0) + REACH_PROBES) * sizeof *list), n = 0;
    if (what & PULL_PROBES) n = (uint64_t)residency_probes(w->info.grid, list);
    for (uint64_t i = 0; i < p->m; i++) list[n++] = plan_block(p, i, p->m);
    for (uint64_t i = 0; q && i < q->m; i++) list[n++] = plan_block(q, i, q->m);
    qsort(list, n, sizeof *list, by_number);
    bool ok = kept_pull(k, w, list, n, what & PULL_WHOLE, e);
    free(list);
    return ok;
}

typedef struct job {
    const orr_gpu *gpu;
    const orr_work *asked, *w; // as it came; as its PTX is timed (orr_work_rewritten)
    orr_result *r;
    orr_program *program;
    orr_occupancy_result occ;
    plan p;
    kept blocks;
    residency residency;
    pace pace;              // of the last simulation
    found found;            // by portions of the grid; cycles 0: the SM's blocks have to tell
    orr_launch_result *out; // NULL until there is one
} job;

// ---- the result ----------------------------------------------------------------------------------------
static void scale(void *at, size_t bytes, double by) {
    uint64_t *v = at;
    for (size_t n = 0; n < bytes / sizeof *v; n++) v[n] = (uint64_t)((double)v[n] * by + 0.5);
}

// Blocks at the beginning and the end of a kernel take longer than those between, of which only some are
// simulated; no more warps than fit are resident in the time of all.
static void fit_residence(orr_timing *t, double most) {
    double issued = (double)t->stalls[ORR_STALL_ISSUED], all = (double)t->warp_cycles;
    if (all <= most || all <= issued) return;
    double by = most > issued ? (most - issued) / (all - issued) : 0;
    memset(t->stalls, 0, sizeof t->stalls);
    t->warp_cycles = 0;
    for (uint32_t n = 0; n < t->ninsts; n++)
        for (int k = 0; k < ORR_STALLS; k++) {
            if (k != ORR_STALL_ISSUED) t->by_inst[n][k] = (uint64_t)((double)t->by_inst[n][k] * by);
            t->stalls[k] += t->by_inst[n][k];
            t->warp_cycles += t->by_inst[n][k];
        }
}

// Cycles that memory needs at least for what all blocks read and write.
static double memory_needs(const orr_gpu *g, const memory_share *s, const plan *p) {
    double sectors = (double)(s->n.dram_read + s->n.dram_write) * (double)p->total / (double)p->m;
    return g->dram_window ? 0 : sectors * ORR_SECTOR * g->clock_sm / (g->dram_bandwidth * 1e3);
}

// How often the grid has what the SM's blocks did: by their number, or by their instructions where the grid's
// are known.
static double times(const job *j) {
    double sum = 0;
    for (uint64_t i = 0; i < j->p.m && j->found.insts > 0; i++)
        sum += kept_insts(j->w->info.kernel, kept_find(&j->blocks, plan_block(&j->p, i, j->p.m)));
    double total = (double)j->p.total;
    return sum > 0 ? total * j->found.insts / sum : total / (double)j->p.m;
}

// What the SM did, as many times as the grid has of its blocks.
static orr_timing *timing_of(const job *j, const cycle *c, const memory_share *s, double cycles) {
    const plan *p = &j->p;
    const orr_occupancy_result *occ = &j->occ;
    orr_result *r = j->r;
    orr_raw *raw = orr_arena_alloc(&r->arena, sizeof *raw);
    orr_timing *t = cyc_timing_of_threads(c, occ, raw, &r->arena);
    const orr_program *prog = c->program;
    const sm *m = &c->sms[0];
    double by = times(j);
    t->cycles = (uint64_t)(cycles + 0.5);
    scale(t->by_inst, prog->ninsts * sizeof *t->by_inst, by);
    scale(t->issued, prog->ninsts * sizeof *t->issued, by);
    scale(t->threads, prog->ninsts * sizeof *t->threads, by);
    for (uint32_t n = 0; n < prog->ninsts; n++)
        for (int k = 0; k < ORR_STALLS; k++) t->stalls[k] += t->by_inst[n][k];
    for (int k = 0; k < ORR_STALLS; k++) t->warp_cycles += t->stalls[k];
    memcpy(t->unit_busy, m->units.busy, sizeof t->unit_busy);
    scale(t->unit_busy, sizeof t->unit_busy, by);
    raw->sm = cyc_sm_counts(m);
    scale(&raw->sm, sizeof raw->sm, by);
    raw->mem = s->n;
    scale(&raw->mem, sizeof raw->mem, by);
    raw->sm.issued = raw->sm.thread_insts = 0;
    for (uint32_t n = 0; n < prog->ninsts; n++) {
        raw->sm.issued += t->issued[n];
        raw->sm.thread_insts += t->threads[n];
    }
    t->register_conflicts = (uint64_t)((double)cyc_sm_operand_cycles(m) * by + 0.5);
    double active = (cycles - (double)t->overhead) * (double)p->active;
    t->sm_active = active > 0 ? (uint64_t)active : 0;
    t->issue_slots = t->sm_active * c->nsched;
    fit_residence(t, (double)t->sm_active * c->gpu->limit_sm_warps * occ->percent / 100);
    t->spans = orr_arena_alloc(&r->arena, (m->tb.spans.n + 1) * sizeof *t->spans);
    if (m->tb.spans.n) memcpy(t->spans, m->tb.spans.at, m->tb.spans.n * sizeof *t->spans);
    t->nspans = m->tb.spans.n;
    raw->seconds = cycles / (c->gpu->clock_sm * 1e6);
    return t;
}

// ---- a launch --------------------------------------------------------------------------------------------
static int by_start(const void *a, const void *b) {
    const orr_span *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

static void keep_pace(job *j, sm *m) {
    pace *p = &j->pace;
    qsort(m->tb.spans.at, m->tb.spans.n, sizeof *m->tb.spans.at, by_start);
    p->n = m->tb.spans.n;
    p->start = orr_realloc(p->start, (p->n + 1) * sizeof *p->start);
    p->end = orr_realloc(p->end, (p->n + 1) * sizeof *p->end);
    double all = 0;
    for (uint64_t i = 0; i < p->n; i++) {
        p->start[i] = (double)m->tb.spans.at[i].start;
        p->end[i] = (double)m->tb.spans.at[i].end;
        all += p->end[i] - p->start[i];
    }
    p->usual = all / (double)p->n;
}

// `of` of the plan's blocks on the one SM. Returns the cycles until memory is done too; below 0: an error.
// `last`: the launch's result is made from it, `fewer` being what the other simulation took.
static double simulate(job *j, uint64_t of, bool last, double fewer, orr_err *e) {
    orr_gpu one = one_sm(j->gpu, &j->p);
    cycle *c = cyc_new(&one, e);
    if (!c) return -1;
    c->kernel = j->w->info.kernel;
    c->program = j->program;
    c->timeline = true;
    memory_share s;
    memory_share_init(&s, j->gpu, c, &j->residency, &j->pace, j->p.turn);
    c->foreign = &s.door;
    orr_source *source = kept_source(&j->blocks, &j->p, of, &j->w->info);
    run x = {0};
    bool ok = cyc_run(c, source, &j->occ, (run_host){.threads = j->w->threads}, &x, e);
    source->close(source);
    sm *m = &c->sms[0];
    if (ok && m->n.blocks < of)
        ok = orr_fail(e, ORR_BAD_INPUT, "%s: of %llu thread blocks only %llu are there", c->kernel->name,
                      (unsigned long long)of, (unsigned long long)m->n.blocks);
    double cycles = (double)x.cycles;
    // The launch is not over before the SM has the acknowledgement of its last store.
    uint64_t acknowledged = (s.n.last + c->core.port.reply_ticks + ORR_TICKS - 1) / ORR_TICKS;
    if (s.n.requests && acknowledged > x.cycles) cycles = (double)acknowledged;
    // What memory still has to write does not hold up the end, but the workloads between.
    double written = (double)(s.dram_free + s.to_write) / (double)ORR_TICKS;
    if (written < cycles) written = cycles;
    if (ok && m->tb.spans.n) keep_pace(j, m);
    j->pace.rate = (double)(s.n.dram_read + s.n.dram_write) * j->p.turn / cycles;
    if (ok && last) {
        double all = floor(plan_cycles(&j->p, cycles, written, fewer, one.launch_overhead) + 0.5);
        double least = floor(memory_needs(j->gpu, &s, &j->p) + one.launch_overhead + 1);
        if (all < least) all = least;
        if (j->found.cycles > 0) all = j->found.cycles;
        if (!j->out) j->out = orr_result_add(j->r, j->gpu, j->w);
        orr_launch_result *l = j->out;
        l->timing = timing_of(j, c, &s, all);
        l->occupancy = j->occ.percent / 100;
        l->estimated = j->p.m < j->p.total;
        l->cycles = all;
        l->time_ns = all * 1e3 / j->gpu->clock_sm;
        l->warp_insts = l->timing->raw->sm.issued;
        l->thread_insts = l->timing->raw->sm.thread_insts;
        l->counters = orr_arena_alloc(&j->r->arena, ORR_COUNTERS * sizeof *l->counters);
        orr_cycle_counters(j->gpu, l, l->counters);
    }
    free(x.samples);
    memory_share_free(&s);
    cyc_free(c);
    return ok ? written : -1;
}

// Simulates, and looks again at what L2 has for blocks that are as fast as that, until it is the same.
// Returns as simulate().
static double settle(job *j, const warmth *l2, orr_err *e) {
    uint64_t of = j->p.less ? j->p.less : j->p.m;
    for (int round = 0;; round++) {
        double took = simulate(j, of, !j->p.less, 0, e);
        if (took < 0 || j->w->far || !j->residency.shared || round == ROUNDS || !j->pace.n) return took;
        warmth was = *l2;
        residency next;
        j->pace.far = j->residency.far;
        j->pace.waits = orr_realloc(j->pace.waits, (j->residency.traffic.n + 1) * sizeof *j->pace.waits);
        j->pace.nwaits =
            dram_waits(j->gpu, j->residency.traffic.at, j->residency.traffic.n, j->pace.rate, j->pace.waits);
        residency_of of_pace = {j->gpu, &j->p, &j->blocks, j->w, &j->pace};
        bool ok = residency_find(&next, &of_pace, &was, e);
        bool same = ok && residency_near(&j->residency, &next, j->w->info.kernel->ninsts);
        if (!ok || same) {
            residency_free(&next);
            return ok ? took : -1;
        }
        // How many SMs an atomic's line has is a matter of addresses, not of who is how far.
        memcpy(next.sharers, j->residency.sharers, j->w->info.kernel->ninsts * sizeof *next.sharers);
        // it would swing: blocks that find less are slower, and then they find more
        if (round) residency_mix(&next, &j->residency, j->w->info.kernel->ninsts);
        residency_free(&j->residency);
        j->residency = next;
    }
}

// Task lists have no addresses, a trace's kernel is not known before it is read, memory by windows
// (dram.window) is one SM's, and the abstract model is too slow by a third where all schedulers of an SM
// share its units (Kepler).
static bool by_portions(const job *j) {
    return !j->w->far && !j->w->info.kernel->grows && !j->gpu->dram_window && j->gpu->core_subcores > 1;
}

// Blocks that see each other's accesses, all of which are executed anyway: they wait for each other, or the
// whole grid is simulated. (So it is where blocks are in clusters, of which none can be left out.)
static bool in_time(const job *j) {
    return j->w->launch && abt_in_time(j->w) &&
           (waits(j->w->info.kernel) || portions_whole(j->p.total, (uint64_t)j->gpu->sm_count * j->p.most));
}

static bool run_in_time(job *j, state *st, orr_err *e) {
    if (!abt_launch(st->gpu, j->gpu, j->asked, j->r, e)) return false;
    j->blocks.executed = j->p.total;
    return true;
}

static bool run_job(job *j, state *st, orr_err *e) {
    const orr_work *w = j->w;
    const orr_kernel *k = w->info.kernel;
    uint64_t total = (uint64_t)w->info.grid[0] * w->info.grid[1] * w->info.grid[2];
    int whole = !w->part || (w->launch && waits(k)) ? PULL_WHOLE : 0;
    // A trace shows its kernel only when it is read, and how many registers it has at once.
    if (!k->grows) j->program = orr_programs_get(&st->programs, k, j->gpu, e);
    if (k->grows) {
        uint64_t probes[REACH_PROBES];
        int n = residency_probes(w->info.grid, probes);
        orr_occupancy_result o = {0}; // as many as the registers that the trace names leave room for
        orr_program like = {.registers = k->regs};
        if (!orr_program_fits(j->gpu, &like, &w->info, &o, e)) return false;
        j->p = plan_make(total, (uint64_t)j->gpu->sm_count, (uint64_t)o.blocks, false);
        plan_inside(&j->p, w->info.grid);
        if (!pull_plan(&j->blocks, w, &j->p, NULL, whole | (n > 0 ? PULL_PROBES : 0), e)) return false;
        j->program = orr_programs_get(&st->programs, k, j->gpu, e);
        if (j->program) orr_program_grow(j->program);
    }
    if (!j->program || !orr_program_fits(j->gpu, j->program, &w->info, &j->occ, e)) return false;
    uint64_t sms = (uint64_t)j->gpu->sm_count, most = (uint64_t)j->occ.blocks;
    j->p = plan_make(total, sms, most, false);
    plan_inside(&j->p, w->info.grid);
    if (by_portions(j) && (in_time(j) || orr_work_cluster(w) > 1)) return run_in_time(j, st, e);
    // Executing: first the blocks that show the others' addresses; whether one workload is enough depends on
    // them. What can be executed or read but once is pulled for both.
    bool twice = w->launch ? !whole : w->source->seek != NULL;
    if (by_portions(j)) {
        if (!twice && !kept_pull_all(&j->blocks, w, e)) return false;
        portions_of of = {.gpu = j->gpu, .work = w, .blocks = &j->blocks, .wave = sms * most};
        if (!portions_run(st->gpu, &of, &j->found, e)) return false;
    }
    plan none = {.m = 0}, single = plan_make(total, sms, most, true);
    plan_inside(&single, w->info.grid);
    if (!pull_plan(&j->blocks, w, twice ? &none : &j->p, twice ? NULL : &single, whole | PULL_PROBES, e))
        return false;
    warmth l2 = st->l2; // as it is before this launch
    residency_of of = {.gpu = j->gpu, .plan = &j->p, .blocks = &j->blocks, .work = w};
    if (!residency_find(&j->residency, &of, &st->l2, e)) return false;
    if (w->far && j->residency.far && j->residency.late) {
        for (uint32_t i = 0; i < k->ninsts; i++) {
            if (w->far[i] < 0) continue; // as addresses say
            j->residency.far[i] = w->far[i];
            j->residency.late[i] = 0;
        }
    }
    if (j->found.cycles > 0 || j->residency.insts > LONG_WORKLOAD / (most ? most : 1)) j->p = single;
    if (twice && !pull_plan(&j->blocks, w, &j->p, NULL, whole, e)) return false;
    if (j->found.cycles > 0) return simulate(j, j->p.m, true, 0, e) >= 0;
    double took = settle(j, &l2, e);
    return took >= 0 && (!j->p.less || simulate(j, j->p.m, true, took, e) >= 0);
}

static bool run_model(const orr_gpu *gpu, const orr_work *w, orr_result *r, orr_err *e) {
    orr_work own;
    const orr_work *asked = w;
    w = orr_work_rewritten(w, &own, r);
    job j = {.gpu = gpu, .asked = asked, .w = w, .r = r};
    double start = orr_seconds();
    uint64_t total = (uint64_t)w->info.grid[0] * w->info.grid[1] * w->info.grid[2];
    if (w->progress) orr_progress_parts(w->progress, 1);
    state *st = state_of(r);
    if (by_portions(&j) && !st->gpu && !(st->gpu = abt_state_new(gpu, e))) return false;
    bool ok = run_job(&j, st, e);
    if (!ok && w->launch && e->status == ORR_PROGRAM_FAILED && j.blocks.executed < total) {
        orr_err was = *e;
        memset(e, 0, sizeof *e);
        orr_fail(e, was.status, "%s (the partial model leaves thread blocks out; --check executes all)",
                 was.text);
    }
    if (w->progress) orr_progress_part(w->progress, 1);
    r->host.model_seconds += orr_seconds() - start;
    if (w->launch) {
        r->blocks_executed += j.blocks.executed;
        r->blocks_in_all += total;
    }
    kept_free(&j.blocks);
    residency_free(&j.residency);
    free(j.pace.start);
    free(j.pace.end);
    free(j.pace.waits);
    return ok;
}

static bool copy(const orr_gpu *gpu, uint64_t addr, uint64_t bytes, orr_result *r, orr_err *e) {
    state *st = state_of(r);
    warm_add(&st->l2, addr, addr + bytes, bytes, (uint64_t)gpu->l2_size);
    if (gpu->core_subcores > 1 && !st->gpu && !(st->gpu = abt_state_new(gpu, e))) return false;
    if (st->gpu) abt_copy(st->gpu, addr, bytes);
    return true;
}

const orr_model orr_model_partial = {
    "partial", "simulates one SM's blocks; the grid's time follows from them, whatever its size",
    run_model, copy,
    true,      NULL,
    NULL};
