// The cycle model behind the interface of all models (model.h): a launch in, a result with its timing out.
// What outlives a launch, caches and programs, is kept in the result's state.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "isa/observable.h"
#include "model/cycle/grids.h"
#include "model/cycle/raw.h"
#include "model/cycle/step.h"

typedef struct state {
    cycle *machine;
    orr_programs programs; // of the kernels seen so far
} state;

static void state_free(void *arg) {
    state *st = arg;
    orr_programs_free(&st->programs);
    cyc_free(st->machine);
    free(st);
}

static state *state_of(const orr_gpu *gpu, orr_result *r, orr_err *e) {
    if (!r->state) {
        state *st = orr_calloc(1, sizeof *st);
        r->state = st;
        r->state_free = state_free;
    }
    state *st = r->state;
    if (!st->machine) st->machine = cyc_new(gpu, e);
    return st->machine ? st : NULL;
}

static void sum(uint64_t *to, const void *from, size_t bytes) {
    const uint64_t *f = from;
    for (size_t n = 0; n < bytes / sizeof *to; n++) to[n] += f[n];
}

// Accesses to global memory: by kind, and the instruction that wastes most.
static void sum_traffic(orr_timing *t, orr_sm_counts *n) {
    for (uint32_t i = 0; i < t->ninsts; i++) {
        const orr_traffic *x = &t->traffic[i];
        if (!x->requests) continue;
        orr_traffic *to = &n->global[l1_kind(&t->program->insts[i])];
        to->requests += x->requests;
        to->sectors += x->sectors;
        to->ideal += x->ideal;
        if (x->sectors - x->ideal > t->waste.n) t->waste = (orr_blame){x->sectors - x->ideal, i};
    }
}

// Blocks that fit at first go out at another pace than those that replace one (launch.block_interval).
static uint64_t refilling(const cycle *c, const run *x, const orr_occupancy_result *occ) {
    uint64_t fit = (uint64_t)occ->blocks * c->nsms;
    if (c->grids || x->sampler || x->cut || x->blocks <= fit) return 0;
    return (uint64_t)((double)(x->blocks - fit) * c->gpu->launch_block_interval);
}

orr_timing *cyc_timing_of_threads(const cycle *c, const orr_occupancy_result *occ, orr_raw *raw,
                                  orr_arena *a) {
    orr_timing *t = orr_arena_alloc(a, sizeof *t);
    const orr_program *p = c->program;
    t->program = p;
    t->ninsts = p->ninsts;
    t->raw = raw;
    t->overhead = (uint64_t)c->gpu->launch_overhead;
    t->resident = occ->blocks;
    t->limiter = occ->limiter;
    t->by_inst = orr_arena_alloc(a, (p->ninsts + 1) * sizeof *t->by_inst);
    t->issued = orr_arena_alloc(a, (p->ninsts + 1) * sizeof *t->issued);
    t->threads = orr_arena_alloc(a, (p->ninsts + 1) * sizeof *t->threads);
    for (int n = 0; n < c->host.n; n++) {
        const worker *k = &c->host.workers[n];
        uint32_t m = k->ninsts < p->ninsts ? k->ninsts : p->ninsts;
        sum((uint64_t *)(void *)t->by_inst, k->by_inst, m * sizeof *t->by_inst);
        sum(t->issued, k->issued, m * sizeof *t->issued);
        sum(t->threads, k->threads, m * sizeof *t->threads);
    }
    return t;
}

static orr_timing *timing_of(cycle *c, const run *x, const orr_occupancy_result *occ, orr_result *r) {
    orr_raw *raw = orr_arena_alloc(&r->arena, sizeof *raw);
    orr_timing *t = cyc_timing_of_threads(c, occ, raw, &r->arena);
    t->cycles = x->cycles;
    t->traffic = orr_arena_alloc(&r->arena, (t->ninsts + 1) * sizeof *t->traffic);
    for (int n = 0; n < c->host.n; n++) {
        const worker *k = &c->host.workers[n];
        uint32_t m = k->ninsts < t->ninsts ? k->ninsts : t->ninsts;
        sum((uint64_t *)(void *)t->traffic, k->traffic, m * sizeof *t->traffic);
    }
    for (uint32_t n = 0; n < c->nsms; n++) {
        const sm *s = &c->sms[n];
        sum(t->stalls, s->stalls, sizeof t->stalls);
        sum(t->unit_busy, s->units.busy, sizeof t->unit_busy);
        orr_sm_counts counts = cyc_sm_counts(s);
        sum((uint64_t *)(void *)&raw->sm, &counts, sizeof counts);
        t->sm_active += s->tb.active_cycles;
        t->register_conflicts += cyc_sm_operand_cycles(s);
        t->nspans += s->tb.spans.n;
        t->spans_left_out += s->tb.spans_left_out;
    }
    sum_traffic(t, &raw->sm);
    t->tail = x->tail;
    for (int k = 0; k < ORR_STALLS; k++) t->warp_cycles += t->stalls[k];
    t->issue_slots = t->sm_active * c->nsched;
    t->refilling = refilling(c, x, occ);
    t->spans = orr_arena_alloc(&r->arena, (t->nspans + 1) * sizeof *t->spans);
    for (uint32_t n = 0, at = 0; n < c->nsms; at += (uint32_t)c->sms[n++].tb.spans.n)
        if (c->sms[n].tb.spans.n)
            memcpy(t->spans + at, c->sms[n].tb.spans.at, c->sms[n].tb.spans.n * sizeof *t->spans);
    for (uint32_t n = 0; n < c->nsms; n++) t->nclocks += c->sms[n].tb.clocks.n;
    t->clocks = orr_arena_alloc(&r->arena, (t->nclocks + 1) * sizeof *t->clocks);
    for (uint32_t n = 0, at = 0; n < c->nsms; at += (uint32_t)c->sms[n++].tb.clocks.n)
        if (c->sms[n].tb.clocks.n)
            memcpy(t->clocks + at, c->sms[n].tb.clocks.at, c->sms[n].tb.clocks.n * sizeof *t->clocks);
    t->samples = orr_arena_alloc(&r->arena, (x->nsamples + 1) * sizeof *t->samples);
    memcpy(t->samples, x->samples, x->nsamples * sizeof *t->samples);
    t->nsamples = x->nsamples;
    t->sample_cycles = x->sample_cycles;
    if (!c->perfect) orr_memsys_stats_sum(c->mem, &raw->mem);
    raw->seconds = (double)t->cycles / (c->gpu->clock_sm * 1e6);
    return t;
}

// How a launch is executed as it is timed (exec/step.h): ORR_STEP_*, or -1 where it is not. That is done with
// kernels whose threads see each other, all of their thread blocks: machine code in the memory that serves
// its accesses, where L1 passes on what is stored; else at issue.
static int step_mode(const cycle *c, const orr_work *w) {
    const char *why;
    const orr_launch *l = w->launch;
    if (!l || w->sampler || w->pieces || c->foreign) return -1;
    uint32_t seen = orr_launch_observable(l);
    int shared = seen & ORR_OBS_SHARED ? ORR_STEP_SHARED : 0;
    if (!seen) return -1;
    if (!c->perfect && c->gpu->l1_write != ORR_WRITE_BACK && orr_step_can(l, shared, &why)) return shared;
    return orr_step_can(l, ORR_STEP_AT_ISSUE, &why) ? ORR_STEP_AT_ISSUE : -1;
}

static bool run_model(const orr_gpu *gpu, const orr_work *w, orr_result *r, orr_err *e) {
    state *st = state_of(gpu, r, e);
    if (!st) return false;
    cycle *c = st->machine;
    orr_work own;
    int how = step_mode(c, w);
    if (how < 0) w = orr_work_rewritten(w, &own, r);
    c->kernel = w->info.kernel;
    c->program = orr_programs_get(&st->programs, w->info.kernel, gpu, e);
    orr_occupancy_result occ = {0};
    if (!c->program || !orr_program_fits(gpu, c->program, &w->info, &occ, e)) return false;
    c->timeline = w->timeline;
    c->cluster = orr_work_cluster(w);
    uint64_t blocks = (uint64_t)w->info.grid[0] * w->info.grid[1] * w->info.grid[2];
    if (w->progress) orr_progress_parts(w->progress, blocks);
    double start = orr_seconds();
    orr_step *live = NULL;
    orr_exec_counts counts = {0};
    if (how >= 0) {
        live = orr_step_new(w->launch, c->nsms, 1e3 / gpu->clock_sm, how, e);
        if (!live) return false;
    }
    orr_source *source = live ? orr_step_source(live) : orr_work_open(w, NULL, e);
    cyc_step_begin(c, live);
    if (!source) return false;
    run x = {.sampler = w->sampler, .pieces = w->pieces, .blocks = blocks};
    if (x.sampler)
        x.sampler->begin(x.sampler, (uint64_t)occ.blocks * c->nsms, (uint64_t)gpu->launch_overhead);
    size_t units = w->pieces ? w->pieces->unit.n : 0;
    int threads = how >= 0 && how & ORR_STEP_AT_ISSUE ? 1 : w->threads;
    bool ok = cyc_run(c, source, &occ, (run_host){threads, w->progress}, &x, e);
    if (w->launch) source->close(source);
    cyc_step_finish(c);
    orr_step_free(live, &counts);
    r->host.model_seconds += orr_seconds() - start;
    if (ok || x.cut) { // what a launch did until it was stopped is told, too
        for (; w->pieces && units < w->pieces->unit.n; units++)
            w->pieces->unit.at[units].launch = (uint32_t)r->launches.n;
        orr_launch_result *l = orr_result_add(r, gpu, w);
        l->timing = timing_of(c, &x, &occ, r);
        l->cut = x.cut;
        l->done = x.done;
        if (how >= 0) l->events = ORR_EVENTS_IN_TIME;
        l->occupancy = occ.percent / 100;
        l->cycles = (double)l->timing->cycles;
        l->time_ns = l->cycles * 1e3 / gpu->clock_sm;
        l->warp_insts = l->timing->raw->sm.issued;
        l->thread_insts = l->timing->raw->sm.thread_insts;
        l->counters = orr_arena_alloc(&r->arena, ORR_COUNTERS * sizeof *l->counters);
        orr_cycle_counters(gpu, l, l->counters);
    }
    free(x.samples);
    return ok;
}

// ---- several launches at a time (grids.h) -----------------------------------------------------------------
// May others run beside it? Not beside kernels whose threads poll what others write or which pass registers
// on, nor beside clusters: what the machine keeps of those is of one kernel.
static bool shares(const orr_work *w, const orr_program *p) {
    const orr_kernel *k = w->info.kernel;
    bool passes_on = false;
    for (uint32_t n = 0; n < p->ninsts; n++) passes_on |= p->insts[n].sass == ORR_SASS_USETMAXREG;
    return !k->grows && orr_work_cluster(w) == 1 && !orr_kernel_orders(k) && !passes_on && !w->sampler &&
           !w->pieces;
}

// Local memory is laid out in frames of one size: of two kernels that have some both must have the same.
static bool same_local(const orr_kernel *a, const orr_kernel *b) {
    return !orr_kernel_local(a) || !orr_kernel_local(b) || orr_local_frame(a) == orr_local_frame(b);
}

typedef struct joined { // what runs side by side
    ORR_VEC(const orr_program *) programs;
    orr_program_part *parts;
    orr_occupancy_result most; // block slots of an SM, and the warps of the largest block
    const orr_kernel *local;   // a kernel that has local memory
} joined;

static uint32_t part_of(joined *j, const orr_program *p) {
    uint32_t n = 0;
    while (n < j->programs.n && j->programs.at[n] != p) n++;
    if (n == j->programs.n) *ORR_PUSH(&j->programs) = p;
    return n;
}

static void set_need(grid *g, const orr_gpu *gpu, const orr_occupancy_result *o) {
    int64_t registers = o->registers_per_block, most = o->limit[ORR_LIMIT_REGISTERS];
    // Whole warps in each partition of the register file: what is left over counts as used.
    if (most > 0 && most < ORR_UNLIMITED && gpu->limit_sm_registers / most > registers)
        registers = gpu->limit_sm_registers / most;
    g->need = (sm_use){.warps = (uint32_t)o->warps_per_block,
                       .registers = registers,
                       .shared = o->shared_per_block,
                       .carveout = o->shared_carveout};
    g->least = o->shared_least;
}

// Adds the members that can run beside the first. False: an error, or the first runs alone.
static bool join(state *st, orr_launch_group *group, grids *all, joined *j, orr_result *r, orr_err *e) {
    cycle *c = st->machine;
    const orr_gpu *gpu = c->gpu;
    for (uint32_t n = 0; n < group->n; n++) {
        orr_member *m = &group->at[n];
        orr_work own;
        const orr_work *w = orr_work_rewritten(&m->work, &own, r);
        const orr_program *p = orr_programs_get(&st->programs, w->info.kernel, gpu, e);
        orr_occupancy_result o = {0};
        if (!p || !orr_program_fits(gpu, p, &w->info, &o, e)) return false;
        bool with = shares(w, p) && (!n || orr_program_joins(j->programs.at[0], p)) &&
                    (!j->local || same_local(j->local, w->info.kernel));
        if (m->after && !cyc_grids_has(all, m->after)) with = false; // it comes behind one that is not here
        if (!with && !n) return false;
        if (!with) continue;
        if (orr_kernel_local(w->info.kernel)) j->local = w->info.kernel;
        grid *g = cyc_grids_add(c, all, m);
        g->code.first_block = part_of(j, p); // which part; where that is is known when all are
        g->source = w->source;
        set_need(g, gpu, &o);
        if (!n) j->most = o;
        if (o.warps_per_block > j->most.warps_per_block) j->most.warps_per_block = o.warps_per_block;
    }
    j->most.blocks = gpu->limit_sm_blocks;
    return true;
}

// Instructions are counted by kernel: of a kernel that was launched more than once, each launch has its
// blocks' share. What SMs, L2 and memory count is of all launches together and nobody's own.
static void add_result(orr_member *m, const cycle *c, const grid *g, orr_result *r) {
    orr_launch_result *l = orr_result_add(r, c->gpu, &m->work);
    uint64_t warps = 0, threads = 0, blocks = 0;
    m->result = r->launches.n - 1;
    l->time_ns = m->end - m->from;
    l->cycles = floor(l->time_ns * c->gpu->clock_sm / 1e3 + 0.5);
    for (int n = 0; n < c->host.n; n++)
        for (uint32_t i = g->code.first_inst; i < g->code.first_inst + g->code.ninsts; i++) {
            warps += c->host.workers[n].issued[i];
            threads += c->host.workers[n].threads[i];
        }
    for (uint32_t n = 0; n < c->grids->n; n++)
        if (c->grids->at[n].code.first_inst == g->code.first_inst) blocks += c->grids->at[n].done;
    double share = blocks ? (double)g->blocks / (double)blocks : 0;
    l->warp_insts = (uint64_t)llround((double)warps * share);
    l->thread_insts = (uint64_t)llround((double)threads * share);
    l->estimated = blocks > g->blocks;
}

static bool run_alone(const orr_gpu *gpu, orr_launch_group *group, orr_result *r, orr_err *e) {
    orr_member *m = &group->at[0];
    if (!run_model(gpu, &m->work, r, e)) return false;
    m->ran = true;
    m->result = r->launches.n - 1;
    m->from = 0;
    m->end = r->launches.at[m->result].time_ns;
    if (group->ended) group->ended(group, m);
    return true;
}

static bool run_joined(state *st, joined *j, grids *all, orr_result *r, orr_err *e) {
    cycle *c = st->machine;
    int threads = all->group->at[0].work.threads;
    double start = orr_seconds();
    run x = {0};
    j->parts = orr_calloc(j->programs.n, sizeof *j->parts);
    c->program = orr_program_join(j->programs.at, (uint32_t)j->programs.n, j->parts);
    c->kernel = j->local ? j->local : j->programs.at[0]->kernel;
    for (uint32_t n = 0; n < all->n; n++) {
        all->at[n].code = j->parts[all->at[n].code.first_block];
        x.blocks += all->at[n].blocks;
    }
    c->cluster = 1;
    c->timeline = false;
    c->grids = all;
    cyc_step_begin(c, NULL);
    bool ok = cyc_run(c, NULL, &j->most, (run_host){threads, all->group->at[0].work.progress}, &x, e);
    for (uint32_t n = 0; n < all->n && ok; n++)
        if (all->at[n].member->ran) add_result(all->at[n].member, c, &all->at[n], r);
    cyc_step_finish(c);
    c->grids = NULL;
    orr_program_free(c->program);
    c->program = NULL;
    free(x.samples);
    free(j->parts);
    r->host.model_seconds += orr_seconds() - start;
    return ok;
}

static bool run_group(const orr_gpu *gpu, orr_launch_group *group, orr_result *r, orr_err *e) {
    state *st = state_of(gpu, r, e);
    if (!st) return false;
    if (group->n == 1) return run_alone(gpu, group, r, e);
    grids *all = cyc_grids_new(group, group->n);
    joined j = {0};
    bool ok = join(st, group, all, &j, r, e), alone = all->n < 2 && !e->status;
    if (!alone) ok = ok && run_joined(st, &j, all, r, e);
    free(j.programs.at);
    cyc_grids_free(all);
    return alone ? run_alone(gpu, group, r, e) : ok;
}

static bool copy(const orr_gpu *gpu, uint64_t addr, uint64_t bytes, orr_result *r, orr_err *e) {
    state *st = state_of(gpu, r, e);
    if (!st) return false;
    orr_memsys_copy(st->machine->mem, addr, bytes);
    return true;
}

static bool warm(const orr_gpu *gpu, orr_result *r, int sm, const orr_touched *t, orr_err *e) {
    state *st = state_of(gpu, r, e);
    if (!st) return false;
    if (!st->machine->perfect) orr_memsys_warm(st->machine->mem, sm, t);
    return true;
}

const orr_model orr_model_cycle = {
    "cycle",   "simulates SMs, caches, L2 and memory in time: cycles, stalls, bandwidths",
    run_model, copy,
    true,      run_group,
    warm};
