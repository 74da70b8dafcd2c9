// The abstract model behind the interface of all models (model.h), and for the partial model (launch.h).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/abstract/abstract.h"
#include "model/abstract/latencies.h"

typedef struct abt_state state;
struct abt_state {
    machine *machine;
    ORR_VEC(orr_program *) programs; // of the kernels seen so far
    ORR_VEC(acode *) codes;          // of those
    orr_latencies *latencies;        // the file's; NULL: there is none
};

void abt_state_free(void *arg) {
    state *st = arg;
    if (!st) return;
    for (size_t n = 0; n < st->programs.n; n++) {
        abt_code_free(st->codes.at[n]);
        orr_program_free(st->programs.at[n]);
    }
    free(st->programs.at);
    free(st->codes.at);
    abt_machine_free(st->machine);
    orr_latencies_free(st->latencies);
    free(st);
}

state *abt_state_new(const orr_gpu *gpu, orr_err *e) {
    state *st = orr_calloc(1, sizeof *st);
    st->machine = abt_machine_new(gpu, e);
    if (st->machine) return st;
    abt_state_free(st);
    return NULL;
}

static state *state_of(const orr_gpu *gpu, orr_result *r, orr_err *e) {
    if (!r->state) {
        r->state = abt_state_new(gpu, e);
        r->state_free = abt_state_free;
    }
    return r->state;
}

// Pre-characterised: from the file, or now, and then into the file.
static bool characterise(state *st, acode *code, const orr_work *w, orr_err *e) {
    if (!w->latencies || w->info.kernel->grows) return abt_code_grow(code, st->machine, e);
    if (!st->latencies && !(st->latencies = orr_latencies_read(w->latencies, e))) return false;
    if (abt_code_from(code, st->machine, st->latencies)) return abt_code_grow(code, st->machine, e);
    return abt_code_grow(code, st->machine, e) && abt_code_into(code, st->machine, st->latencies) &&
           orr_latencies_write(st->latencies, w->latencies, e);
}

static acode *code_of(state *st, const orr_work *w, const orr_gpu *gpu, orr_err *e) {
    for (size_t n = 0; n < st->programs.n; n++)
        if (st->programs.at[n]->kernel == w->info.kernel) return st->codes.at[n];
    orr_program *p = orr_program_new(w->info.kernel, gpu, e);
    if (!p) return NULL;
    acode *c = abt_code_new(p);
    *ORR_PUSH(&st->programs) = p;
    *ORR_PUSH(&st->codes) = c;
    return characterise(st, c, w, e) ? c : NULL;
}

// What this model counts, by its own name; the rest is not known.
static void counters(const machine *m, const orr_launch_result *l, const arun *x, double *c) {
    for (int k = 0; k < ORR_COUNTERS; k++) c[k] = NAN;
    const orr_sm_counts *n = &x->n;
    double active = (double)x->sm_active, slots = active * m->nsched;
    c[ORR_C_CYCLES] = l->cycles;
    c[ORR_C_TIME] = l->time_ns;
    c[ORR_C_SM_ELAPSED] = l->cycles * m->ncores;
    c[ORR_C_SM_ACTIVE] = active;
    c[ORR_C_SM_ACTIVE_AVG] = active / m->ncores;
    c[ORR_C_SMSP_ACTIVE] = slots;
    c[ORR_C_BLOCKS] = (double)n->blocks;
    c[ORR_C_WARPS_LAUNCHED] = (double)n->warps;
    c[ORR_C_ISSUED] = c[ORR_C_INST] = (double)n->issued;
    c[ORR_C_ISSUE_ACTIVE] = (double)(n->issued - n->dual);
    c[ORR_C_THREAD_INST] = (double)n->thread_insts;
    orr_l1_counters(n, c);
    double all = 0, hit = 0;
    for (int local = 0; local < 2; local++)
        for (int k = 0; k < ORR_L1_KINDS; k++) {
            all += (double)n->l1.sectors[local][k];
            hit += (double)(n->l1.hits[local][k] + n->l1.pending[local][k]);
        }
    c[ORR_C_L1_SECTORS] = all;
    c[ORR_C_L1_HIT] = hit;
    c[ORR_C_L1_MISS] = all - hit;
    c[ORR_C_L1_TAGS] = (double)n->l1.tags;
    c[ORR_C_CONST_REQ] = (double)n->constants.requests;
    c[ORR_C_CONST_MISS] = (double)n->constants.misses;
    c[ORR_C_CONST_MISS2] = (double)n->constants.second_misses;
    c[ORR_C_FETCHES] = (double)n->fetch.fetches;
    c[ORR_C_TMA_SECTORS] = (double)n->tma.sectors;
    c[ORR_C_TMA_BYTES] = (double)n->tma.bytes;
    c[ORR_C_TMA_LD_BYTES] = 32 * (double)n->tma.kind[TMA_LOAD];
    c[ORR_C_TMA_ST_BYTES] = 32 * (double)n->tma.kind[TMA_STORE];
    c[ORR_C_TMA_RED_BYTES] = 32 * (double)n->tma.kind[TMA_REDUCE];
    if (m->perfect) {
        orr_cycle_rates(m->gpu, c);
        return;
    }
    const orr_memsys_stats *s = orr_fast_stats(m->memory);
    double read = 0, written = 0;
    for (int k = 0; k < ORR_FROMS; k++) {
        read += (double)s->read[k];
        written += (double)s->write[k];
    }
    c[ORR_C_XBAR_SENT] = (double)n->port.sent_bytes;
    c[ORR_C_XBAR_RECEIVED] = (double)n->port.received_bytes;
    c[ORR_C_L2_REQUESTS] = (double)s->requests;
    c[ORR_C_L2_SECTORS] = read + written + (double)s->atomics.n;
    c[ORR_C_L2_READ] = read;
    c[ORR_C_L2_WRITE] = written;
    c[ORR_C_DRAM_READ] = (double)s->dram_read;
    c[ORR_C_DRAM_WRITE] = (double)s->dram_write;
    // What L2 does not have is read from memory, with the sectors that come along.
    c[ORR_C_L2_MISS] = (double)s->dram_read;
    c[ORR_C_L2_HIT] = c[ORR_C_L2_SECTORS] > c[ORR_C_L2_MISS] ? c[ORR_C_L2_SECTORS] - c[ORR_C_L2_MISS] : 0;
    orr_cycle_rates(m->gpu, c);
}

bool abt_in_time(const orr_work *w) { return abt_step_wants(w); }

// The launch's kernel into the machine, and how many of its blocks an SM holds.
static bool load(state *st, const orr_gpu *gpu, const orr_work *w, orr_occupancy_result *occ, orr_err *e) {
    machine *m = st->machine;
    m->kernel = w->info.kernel;
    m->local_frame = orr_local_frame(m->kernel);
    m->code = code_of(st, w, gpu, e);
    m->cluster = orr_work_cluster(w);
    return m->code && orr_program_fits(gpu, m->code->program, &w->info, occ, e);
}

bool abt_some_blocks(state *st, const orr_gpu *gpu, const orr_work *w, orr_source *source,
                     const abt_watch *watch, orr_err *e) {
    orr_occupancy_result occ = {0};
    if (!load(st, gpu, w, &occ, e)) return false;
    st->machine->cluster = 1;
    arun x = {.watch = watch};
    return abt_run(st->machine, source, &occ, (run_host){.threads = 1}, &x, e) &&
           watch->done(watch->arg, x.cycles);
}

bool abt_launch(state *st, const orr_gpu *gpu, const orr_work *w, orr_result *r, orr_err *e) {
    double start = orr_seconds();
    machine *m = st->machine;
    orr_work own;
    bool in_time = abt_step_wants(w);
    if (!in_time) w = orr_work_rewritten(w, &own, r);
    orr_occupancy_result occ = {0};
    if (!load(st, gpu, w, &occ, e)) return false;
    if (w->progress)
        orr_progress_parts(w->progress, (uint64_t)w->info.grid[0] * w->info.grid[1] * w->info.grid[2]);
    double open = orr_seconds();
    m->stepped.step =
        in_time ? orr_step_new(w->launch, m->ncores, 1e3 / gpu->clock_sm, ORR_STEP_AT_ISSUE, e) : NULL;
    if (in_time && !m->stepped.step) return false;
    orr_source *source = m->stepped.step ? orr_step_source(m->stepped.step) : orr_work_open(w, NULL, e);
    if (!source) return false;
    double opened = orr_seconds() - open;
    arun x = {.sampler = w->sampler};
    if (x.sampler)
        x.sampler->begin(x.sampler, (uint64_t)occ.blocks * m->ncores, (uint64_t)gpu->launch_overhead);
    bool ok = abt_run(m, source, &occ, (run_host){w->threads, w->progress}, &x, e);
    if (w->launch) source->close(source);
    orr_step_free(m->stepped.step, NULL);
    m->stepped.step = NULL;
    opened += x.execute_seconds;
    r->host.execute_seconds += opened;
    r->host.model_seconds += orr_seconds() - start - opened;
    if (!ok) return false;
    orr_launch_result *l = orr_result_add(r, gpu, w);
    l->occupancy = occ.percent / 100;
    if (in_time) l->events = ORR_EVENTS_IN_TIME;
    l->cycles = (double)x.cycles;
    l->time_ns = l->cycles * 1e3 / gpu->clock_sm;
    l->warp_insts = x.n.issued;
    l->thread_insts = x.n.thread_insts;
    l->counters = orr_arena_alloc(&r->arena, ORR_COUNTERS * sizeof *l->counters);
    counters(m, l, &x, l->counters);
    r->l2_roomy = m->perfect || orr_fast_roomy(m->memory);
    return true;
}

void abt_copy(state *st, uint64_t addr, uint64_t bytes) { orr_fast_copy(st->machine->memory, addr, bytes); }

static bool run_model(const orr_gpu *gpu, const orr_work *w, orr_result *r, orr_err *e) {
    if (w->timeline)
        return orr_fail(e, ORR_BAD_INPUT,
                        "the abstract model keeps no timeline; --model cycle does (or leave out --timeline)");
    state *st = state_of(gpu, r, e);
    return st && abt_launch(st, gpu, w, r, e);
}

static bool copy(const orr_gpu *gpu, uint64_t addr, uint64_t bytes, orr_result *r, orr_err *e) {
    state *st = state_of(gpu, r, e);
    if (!st) return false;
    abt_copy(st, addr, bytes);
    return true;
}

static bool warm(const orr_gpu *gpu, orr_result *r, int sm, const orr_touched *t, orr_err *e) {
    const state *st = state_of(gpu, r, e);
    if (!st) return false;
    if (!st->machine->perfect) orr_fast_warm(st->machine->memory, sm < 0 ? 0 : (uint32_t)sm, t);
    return true;
}

const orr_model orr_model_abstract = {
    "abstract", "issue and memory in time, with latencies found once for each kernel: cycles, fast",
    run_model,  copy,
    true,       NULL,
    warm};
