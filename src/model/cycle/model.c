// The cycle model behind the interface of all models (model.h): a launch in, a result with its timing out.
// What outlives a launch, caches and programs, is kept in the result's state.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "isa/observable.h"
#include "model/cycle/raw.h"
#include "model/cycle/engine.h"
#include "model/cycle/step.h"

typedef struct state {
    cycle *machine;
    ORR_VEC(orr_program *) programs; // of the kernels seen so far
} state;

static void state_free(void *arg) {
    state *st = arg;
    for (size_t n = 0; n < st->programs.n; n++) orr_program_free(st->programs.at[n]);
    free(st->programs.at);
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

static orr_program *program_of(state *st, const orr_kernel *k, const orr_gpu *gpu, orr_err *e) {
    for (size_t n = 0; n < st->programs.n; n++)
        if (st->programs.at[n]->kernel == k) return st->programs.at[n];
    orr_program *p = orr_program_new(k, gpu, e);
    if (p) *ORR_PUSH(&st->programs) = p;
    return p;
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

static orr_timing *timing_of(cycle *c, const run *x, const orr_occupancy_result *occ, orr_result *r) {
    orr_timing *t = orr_arena_alloc(&r->arena, sizeof *t);
    orr_raw *raw = orr_arena_alloc(&r->arena, sizeof *raw);
    const orr_program *p = c->program;
    t->program = p;
    t->ninsts = p->ninsts;
    t->raw = raw;
    t->cycles = x->cycles;
    t->overhead = (uint64_t)c->gpu->launch_overhead;
    t->resident = occ->blocks;
    t->limiter = occ->limiter;
    t->by_inst = orr_arena_alloc(&r->arena, (p->ninsts + 1) * sizeof *t->by_inst);
    t->issued = orr_arena_alloc(&r->arena, (p->ninsts + 1) * sizeof *t->issued);
    t->threads = orr_arena_alloc(&r->arena, (p->ninsts + 1) * sizeof *t->threads);
    t->traffic = orr_arena_alloc(&r->arena, (p->ninsts + 1) * sizeof *t->traffic);
    for (int n = 0; n < c->nworkers; n++) {
        const worker *k = &c->workers[n];
        uint32_t m = k->ninsts < p->ninsts ? k->ninsts : p->ninsts;
        sum((uint64_t *)(void *)t->by_inst, k->by_inst, m * sizeof *t->by_inst);
        sum(t->issued, k->issued, m * sizeof *t->issued);
        sum(t->threads, k->threads, m * sizeof *t->threads);
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
    uint32_t seen = l && !w->sampler && !w->pieces && !c->foreign ? orr_kernel_observable(l->kernel) : 0;
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
    c->program = program_of(st, w->info.kernel, gpu, e);
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
    bool ok = cyc_run(c, source, &occ, threads, w->progress, &x, e);
    if (w->launch) source->close(source);
    cyc_step_finish(c);
    orr_step_free(live, &counts);
    r->host.model_seconds += orr_seconds() - start;
    if (ok) {
        for (; w->pieces && units < w->pieces->unit.n; units++)
            w->pieces->unit.at[units].launch = (uint32_t)r->launches.n;
        orr_launch_result *l = orr_result_add(r, gpu, w);
        l->timing = timing_of(c, &x, &occ, r);
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

static bool copy(const orr_gpu *gpu, uint64_t addr, uint64_t bytes, orr_result *r, orr_err *e) {
    state *st = state_of(gpu, r, e);
    if (!st) return false;
    orr_memsys_copy(st->machine->mem, addr, bytes);
    return true;
}

bool orr_cycle_warm(const orr_gpu *gpu, orr_result *r, int sm, const orr_touched *t, orr_err *e) {
    state *st = state_of(gpu, r, e);
    if (!st) return false;
    if (!st->machine->perfect) orr_memsys_warm(st->machine->mem, sm, t);
    return true;
}

const orr_model orr_model_cycle = {"cycle",
                                   "simulates SMs, caches, L2 and memory in time: cycles, stalls, bandwidths",
                                   run_model, copy, true};
