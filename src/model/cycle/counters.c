// From what the cycle model counted to the named counters (counters.def).
//
// Two steps, so that launches can be added up: orr_cycle_counters fills the counts of one launch;
// orr_cycle_rates makes of the counts in an array, of one launch or of many together, everything that is not
// a count: averages, percentages, rates. A percentage is of what the description says there is.
#include "model/cycle/raw.h"
#include "model/model.h"
#include "model/pipes.h"
#include "program/program.h"

#include <math.h>
#include <string.h>

// ---- instructions -------------------------------------------------------------------------------
// Which of the profiler's pipes an instruction counts for (isa/sass.def). Since Hopper f16 has none of its
// own.
static int pipe_of(const orr_gpu *g, const orr_program *p, const orr_tinst *i) {
    const orr_kernel *k = p->kernel;
    enum orr_pipe pipe = orr_sass_pipe((enum orr_sass)i->sass, i->name < p->nnames ? p->names[i->name] : NULL,
                                       k && i->inst < k->ninsts ? &k->insts[i->inst] : NULL);
    return orr_pipe_counter(pipe == ORR_PIPE_FP16 && g->cc_major >= 9 ? ORR_PIPE_FMA : pipe);
}

static int flop_of(uint16_t sass) {
    switch (sass) {
    case ORR_SASS_FFMA:
    case ORR_SASS_FFMA32I: return ORR_C_FFMA;
    case ORR_SASS_FADD:
    case ORR_SASS_FADD32I: return ORR_C_FADD;
    case ORR_SASS_FMUL:
    case ORR_SASS_FMUL32I: return ORR_C_FMUL;
    case ORR_SASS_DFMA: return ORR_C_DFMA;
    case ORR_SASS_DADD: return ORR_C_DADD;
    case ORR_SASS_DMUL: return ORR_C_DMUL;
    case ORR_SASS_HFMA2:
    case ORR_SASS_HFMA2_32I: return ORR_C_HFMA;
    case ORR_SASS_HADD2:
    case ORR_SASS_HADD2_32I: return ORR_C_HADD;
    case ORR_SASS_HMUL2:
    case ORR_SASS_HMUL2_32I: return ORR_C_HMUL;
    default: return -1;
    }
}

// A counter that kernels have which do such things; others do not show it.
static void add_to(double *counter, double n) {
    if (n > 0) *counter = isnan(*counter) ? n : *counter + n;
}

// As an H200 counts them (micro/hopper, steps: 22 a round, of them 12 loads and 4 stores and reductions; the
// others are ends of groups and prefetches of maps).
static void count_tma(const orr_tinst *i, double runs, double *c) {
    switch (i->sass) {
    case ORR_SASS_UTMALDG: add_to(&c[ORR_C_TMA_LD], runs); break;
    case ORR_SASS_UBLKCP: add_to(&c[i->bytes == ORR_BULK_STORE ? ORR_C_TMA_ST : ORR_C_TMA_LD], runs); break;
    case ORR_SASS_UTMASTG:
    case ORR_SASS_UTMAREDG:
    case ORR_SASS_UBLKRED: add_to(&c[ORR_C_TMA_ST], runs); break;
    case ORR_SASS_UTMAPF:
    case ORR_SASS_UBLKPF:
    case ORR_SASS_UTMACMDFLUSH:
    case ORR_SASS_UTMACCTL: break;
    default: return;
    }
    add_to(&c[ORR_C_TMA], runs);
}

// What the program and how often its instructions were issued tell. *reductions: the share of global atomics
// that return nothing, of which L1 keeps no separate count.
static void count_program(const orr_gpu *g, const orr_timing *t, double *c, double *reductions) {
    static const int counted[] = {
        ORR_C_PIPE_ALU,    ORR_C_PIPE_FMA,   ORR_C_PIPE_FP16, ORR_C_PIPE_FP64,  ORR_C_PIPE_XU,
        ORR_C_PIPE_TENSOR, ORR_C_PIPE_LSU,   ORR_C_PIPE_ADU,  ORR_C_PIPE_CBU,   ORR_C_PIPE_UNIFORM,
        ORR_C_FFMA,        ORR_C_FADD,       ORR_C_FMUL,      ORR_C_DFMA,       ORR_C_DADD,
        ORR_C_DMUL,        ORR_C_HFMA,       ORR_C_HADD,      ORR_C_HMUL,       ORR_C_BRANCH,
        ORR_C_BARRIERS,    ORR_C_WARP_SYNCS, ORR_C_FENCES,    ORR_C_CALLS,      ORR_C_LDGSTS,
        ORR_C_CONST_LD,    ORR_C_SHARED_LD,  ORR_C_SHARED_ST, ORR_C_SHARED_ATOM};
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) c[counted[i]] = 0;
    double atom = 0, red = 0;
    for (uint32_t n = 0; n < t->ninsts; n++) {
        const orr_tinst *i = &t->program->insts[n];
        double runs = (double)t->issued[n];
        int pipe = pipe_of(g, t->program, i);
        if (pipe >= 0) c[pipe] += runs;
        int flop = flop_of(i->sass);
        if (flop >= 0) c[flop] += (double)t->threads[n];
        if (orr_sass_branches((enum orr_sass)i->sass)) c[ORR_C_BRANCH] += runs;
        bool cluster = i->sass == ORR_SASS_UCGABAR_ARV || i->sass == ORR_SASS_UCGABAR_WAIT;
        if (i->kind == ORR_TK_BARRIER && !cluster) c[ORR_C_BARRIERS] += runs;
        if (i->kind == ORR_TK_PRODUCT) add_to(&c[ORR_C_GMMA], runs);
        count_tma(i, runs, c);
        if (i->kind == ORR_TK_FENCE) c[ORR_C_FENCES] += runs;
        if (i->sass == ORR_SASS_WARPSYNC) c[ORR_C_WARP_SYNCS] += runs;
        if (i->sass == ORR_SASS_CALL || i->sass == ORR_SASS_CAL || i->sass == ORR_SASS_JCAL)
            c[ORR_C_CALLS] += runs;
        if (i->sass == ORR_SASS_LDGSTS) c[ORR_C_LDGSTS] += runs;
        if (i->sass == ORR_SASS_LDS) c[ORR_C_SHARED_LD] += runs; // also where no lane is on
        if (i->sass == ORR_SASS_STS) c[ORR_C_SHARED_ST] += runs;
        if (i->sass == ORR_SASS_ATOMS) c[ORR_C_SHARED_ATOM] += runs;
        if (i->tclass == ORR_TC_CONST) c[ORR_C_CONST_LD] += runs;
        // A load of constants from a fixed place asks for one word (H200: saxpy has four, and four requests a
        // warp).
        if (i->sass == ORR_SASS_LDC && i->kind == ORR_TK_ALU) add_to(&c[ORR_C_CONST_REQ], runs);
        if (i->flags & ORR_TF_ATOMIC && i->space != ORR_SPACE_SHARED)
            *(i->flags & ORR_TF_LOAD ? &atom : &red) += runs;
    }
    *reductions = atom + red > 0 ? red / (atom + red) : 0;
}

// Of how many halves the unit is (unit.NAME.half): 1 or 2.
static int halves(const orr_gpu *g, const char *name) {
    for (int u = 0; u < g->nunits; u++)
        if (!strcmp(g->units[u].name, name)) return *g->units[u].half ? 2 : 1;
    return 1;
}

static void count_units(const orr_gpu *g, const orr_timing *t, double *c) {
    static const struct {
        const char *unit;
        int counter;
    } units[] = {{"alu", ORR_C_ALU_BUSY},       {"fma", ORR_C_FMA_BUSY},   {"fmaheavy", ORR_C_FMAHEAVY_BUSY},
                 {"fp16", ORR_C_FP16_BUSY},     {"fp64", ORR_C_FP64_BUSY}, {"xu", ORR_C_XU_BUSY},
                 {"tensor", ORR_C_TENSOR_BUSY}, {"lsu", ORR_C_LSU_BUSY}};
    for (int u = 0; u < g->nunits; u++)
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
            if (!strcmp(g->units[u].name, units[i].unit)) c[units[i].counter] = (double)t->unit_busy[u];
    // A profiler adds up the two halves of the fp32 unit, each of which is busy for twice as long.
    if (halves(g, "fma") == 2) c[ORR_C_FMA_BUSY] = 2 * c[ORR_C_FMA_BUSY] + c[ORR_C_FMAHEAVY_BUSY];
    // What the tensor pipe does besides (HFMA2.MMA).
    const orr_program *p = t->program;
    for (uint32_t n = 0; p && t->issued && n < t->ninsts; n++) {
        const orr_gpu_unit *unit = &g->units[p->insts[n].unit];
        if (!t->issued[n] || pipe_of(g, p, &p->insts[n]) != ORR_C_PIPE_TENSOR ||
            !strcmp(unit->name, "tensor"))
            continue;
        add_to(&c[ORR_C_TENSOR_BUSY], (double)t->issued[n] * 32 / unit->lanes);
    }
}

// ---- memory -------------------------------------------------------------------------------------
static uint64_t sum(const uint64_t *v, int n) {
    uint64_t all = 0;
    for (int i = 0; i < n; i++) all += v[i];
    return all;
}

void orr_l1_counters(const orr_sm_counts *s, double c[ORR_COUNTERS]) {
    static const int requests[2][2] = {{ORR_C_GLOBAL_LD_REQ, ORR_C_GLOBAL_ST_REQ},
                                       {ORR_C_LOCAL_LD_REQ, ORR_C_LOCAL_ST_REQ}};
    static const int sectors[2][2] = {{ORR_C_GLOBAL_LD_SECT, ORR_C_GLOBAL_ST_SECT},
                                      {ORR_C_LOCAL_LD_SECT, ORR_C_LOCAL_ST_SECT}};
    static const int hit[2][2] = {{ORR_C_GLOBAL_LD_HIT, ORR_C_GLOBAL_ST_HIT},
                                  {ORR_C_LOCAL_LD_HIT, ORR_C_LOCAL_ST_HIT}};
    static const int miss[2][2] = {{ORR_C_GLOBAL_LD_MISS, ORR_C_GLOBAL_ST_MISS},
                                   {ORR_C_LOCAL_LD_MISS, ORR_C_LOCAL_ST_MISS}};
    for (int space = 0; space < 2; space++)
        for (int kind = ORR_L1_LOAD; kind <= ORR_L1_STORE; kind++) {
            c[requests[space][kind]] = (double)s->l1.requests[space][kind];
            c[sectors[space][kind]] = (double)s->l1.sectors[space][kind];
            c[hit[space][kind]] = (double)(s->l1.hits[space][kind] + s->l1.pending[space][kind]);
            c[miss[space][kind]] = (double)s->l1.misses[space][kind];
        }
    c[ORR_C_SHARED_LD_PASS] = (double)s->shared.passes[ORR_L1_LOAD];
    c[ORR_C_SHARED_ST_PASS] = (double)s->shared.passes[ORR_L1_STORE];
    c[ORR_C_SHARED_PASS] = (double)sum(s->shared.passes, ORR_L1_KINDS);
}

static void count_l1(const orr_sm_counts *s, double reductions, double *c) {
    orr_l1_counters(s, c);
    double atomic_requests = (double)(s->l1.requests[0][ORR_L1_ATOMIC] + s->l1.requests[1][ORR_L1_ATOMIC]);
    double atomic_sectors = (double)(s->l1.sectors[0][ORR_L1_ATOMIC] + s->l1.sectors[1][ORR_L1_ATOMIC]);
    c[ORR_C_GLOBAL_RED_REQ] = round(atomic_requests * reductions);
    c[ORR_C_GLOBAL_ATOM_REQ] = atomic_requests - c[ORR_C_GLOBAL_RED_REQ];
    c[ORR_C_GLOBAL_RED_SECT] = round(atomic_sectors * reductions);
    c[ORR_C_GLOBAL_ATOM_SECT] = atomic_sectors - c[ORR_C_GLOBAL_RED_SECT];
    c[ORR_C_L1_SECTORS] = (double)sum(s->l1.sectors[0], 2 * ORR_L1_KINDS);
    c[ORR_C_L1_PENDING] = (double)sum(s->l1.pending[0], 2 * ORR_L1_KINDS);
    c[ORR_C_L1_HIT] = (double)sum(s->l1.hits[0], 2 * ORR_L1_KINDS) + c[ORR_C_L1_PENDING];
    c[ORR_C_L1_MISS] = (double)sum(s->l1.misses[0], 2 * ORR_L1_KINDS);
    c[ORR_C_GLOBAL_LD_IDEAL] = (double)s->global[ORR_L1_LOAD].ideal;
    c[ORR_C_GLOBAL_ST_IDEAL] = (double)s->global[ORR_L1_STORE].ideal;
    c[ORR_C_L1_TAGS] = (double)s->l1.tags;
    c[ORR_C_L1_WAVEFRONTS] = (double)(s->l1.busy + s->shared.busy);
    c[ORR_C_L1_CONFLICTS] = (double)s->l1.conflicts;
    c[ORR_C_L1_FULL] = (double)s->l1.full;
    c[ORR_C_L1_EVICTED] = (double)s->l1.evicted;
    c[ORR_C_LOADS] = (double)s->l1.loads;
    c[ORR_C_LOAD_CYCLES] = (double)s->l1.load_latency;
}

// What goes down the load/store pipe and is no access of L1 takes a pass of shared memory: shuffles, reads of
// a thread's special registers, accesses without a lane that takes part (H200: exact where no lane is off).
static double other_passes(const orr_sm_counts *s, double lsu) {
    double accesses =
        (double)(sum(s->l1.requests[0], 2 * ORR_L1_KINDS) + sum(s->shared.requests, ORR_L1_KINDS));
    return lsu > accesses ? lsu - accesses : 0; // not known: NAN
}

static void count_shared(const orr_gpu *g, const orr_sm_counts *s, double *c) {
    c[ORR_C_SHARED_PASS] += other_passes(s, c[ORR_C_PIPE_LSU]);
    c[ORR_C_SHARED_LD_CONF] = (double)s->shared.conflicts[ORR_L1_LOAD];
    c[ORR_C_SHARED_ST_CONF] = (double)s->shared.conflicts[ORR_L1_STORE];
    c[ORR_C_SHARED_ATOM_CONF] = (double)s->shared.conflicts[ORR_L1_ATOMIC];
    c[ORR_C_SHARED_CONF] = (double)sum(s->shared.conflicts, ORR_L1_KINDS);
    add_to(&c[ORR_C_CONST_REQ], (double)s->constants.requests);
    c[ORR_C_CONST_MISS] = (double)s->constants.misses;
    c[ORR_C_CONST_MISS2] = (double)s->constants.second_misses;
    c[ORR_C_FETCHES] = (double)s->fetch.fetches;
    c[ORR_C_ICC_REQ] = (double)(g->icache_l0 ? s->fetch.l0_misses : s->fetch.fetches);
    c[ORR_C_ICC_MISS] = (double)s->fetch.l1_misses;
    c[ORR_C_XBAR_SENT] = (double)s->port.sent_bytes;
    c[ORR_C_XBAR_RECEIVED] = (double)s->port.received_bytes;
}

// What L2 is asked for besides by the SMs' own accesses. A launch makes each GPC read the kernel's code, by
// 256 bytes, and constants; half of it is kept in either half of L2, which reads the rest from the other.
// When it ends, an SM sends a barrier to every slice that it has asked for something, which for lines of the
// other half is two more there (H200: 32 lines of one 4 KB, on eight slices, 8 barriers where the SM is near
// and 24 where it is far); and halves tell each other of stores. And a launch reads and writes something
// itself.
typedef struct overhead_traffic {
    double code, far_code, barriers, notices, reads, writes;
    double memory; // of code and the launch, from DRAM
} overhead_traffic;

static overhead_traffic count_overhead(const orr_gpu *g, const orr_raw *raw, const orr_kernel *k) {
    const orr_memsys_stats *m = &raw->mem;
    overhead_traffic u = {0};
    if (g->launch_code > 0) {
        // Half of an SM's cache at most comes by itself; of lines behind that an average SM tells.
        double bytes = (double)k->ninsts * 16, most = (double)g->icache_l1 / 2, sms = (double)raw->sm.blocks;
        double code = 8 * ceil((bytes > most ? most : bytes) / 256);
        if (sms > g->sm_count) sms = g->sm_count;
        if (sms > 0) code += round((double)raw->sm.fetch.cold / sms) * g->icache_line / 32;
        u.far_code = (double)g->launch_code + code;
        if (g->l2_flush) u.memory = (double)g->launch_memory + code;
        u.code = u.far_code * (double)g->gpc_count;
        if (!g->l2_replicate) u.far_code = 0;
    }
    if (g->launch_barriers > 0)
        u.barriers = (double)g->launch_barriers + (double)m->clients[0] + (double)m->clients[1] * 3;
    u.notices = (double)m->notified;
    u.reads = (double)g->launch_reads;
    u.writes = (double)g->launch_writes;
    return u;
}

static void count_l2(const orr_gpu *g, const orr_raw *raw, const orr_kernel *k, double *c) {
    const orr_memsys_stats *m = &raw->mem;
    // What belongs to the other half of L2 was looked up there, too.
    uint64_t reads = sum(m->read, ORR_FROMS) + m->far.read, writes = sum(m->write, ORR_FROMS) + m->far.write,
             atomics = m->atomics.n + m->far.atomic;
    uint64_t read_hits = sum(m->read_hit, ORR_FROMS) + sum(m->read_pending, ORR_FROMS) + m->far.read_hit,
             write_hits = sum(m->write_hit, ORR_FROMS) + m->far.write,
             atomic_hits = m->atomics.hit + m->far.atomic_hit;
    overhead_traffic u = count_overhead(g, raw, k);
    double others = (u.code + u.far_code) / 4 + u.barriers + u.notices + u.reads + u.writes;
    c[ORR_C_L2_REQUESTS] = (double)m->requests + others;
    if (m->slices) { // what nobody asked for is on all of them
        c[ORR_C_L2_FULLEST] = (double)m->busiest_slice + others / (double)m->slices;
        c[ORR_C_L2_EMPTIEST] = (double)m->idlest_slice + others / (double)m->slices;
    }
    double looked_up = (double)(reads + writes + atomics) + u.code + u.far_code + u.reads + u.writes;
    c[ORR_C_L2_SECTORS] = looked_up + u.barriers + u.notices;
    // What is fetched with a sector that missed counts as missed, though nobody looked it up (H200: of pairs
    // whose one sector was asked for, and then the other, 2 missed and 1 hit). Barriers and notices count as
    // hits (H200, workloads: hits exceed those of reads, writes and atomics by as many).
    double found = (double)(read_hits + write_hits + atomic_hits) + u.code + u.writes;
    c[ORR_C_L2_HIT] = found + u.barriers + u.notices;
    c[ORR_C_L2_MISS] = looked_up - found + (double)sum(m->read_widened, ORR_FROMS);
    c[ORR_C_L2_READ] = (double)reads + u.code + u.far_code + u.reads;
    c[ORR_C_L2_WRITE] = (double)writes + u.writes;
    c[ORR_C_L2_RED] = (double)m->atomics.reduced[0];
    c[ORR_C_L2_ATOM] = (double)atomics - c[ORR_C_L2_RED];
    c[ORR_C_L2_READ_HIT] = (double)read_hits + u.code;
    c[ORR_C_L2_WRITE_HIT] = (double)write_hits + u.writes;
    c[ORR_C_L2_RED_HIT] = (double)m->atomics.reduced[1];
    c[ORR_C_L2_ATOM_HIT] = (double)atomic_hits - c[ORR_C_L2_RED_HIT];
    c[ORR_C_L2_READ_MISS] = c[ORR_C_L2_READ] - c[ORR_C_L2_READ_HIT] + (double)sum(m->read_widened, ORR_FROMS);
    c[ORR_C_L2_WRITE_MISS] = c[ORR_C_L2_WRITE] - c[ORR_C_L2_WRITE_HIT];
    c[ORR_C_L2_RED_MISS] = c[ORR_C_L2_RED] - c[ORR_C_L2_RED_HIT];
    c[ORR_C_L2_ATOM_MISS] = c[ORR_C_L2_ATOM] - c[ORR_C_L2_ATOM_HIT];
    const int tex = ORR_FROM_LOCAL + 1; // global and local come through L1
    c[ORR_C_L2_TEX_READ] = (double)sum(m->read, tex);
    c[ORR_C_L2_TEX_READ_HIT] = (double)(sum(m->read_hit, tex) + sum(m->read_pending, tex));
    c[ORR_C_L2_TEX_READ_MISS] =
        c[ORR_C_L2_TEX_READ] - c[ORR_C_L2_TEX_READ_HIT] + (double)sum(m->read_widened, tex);
    c[ORR_C_L2_TEX_WRITE] = (double)sum(m->write, tex);
    c[ORR_C_L2_TEX_WRITE_HIT] = (double)sum(m->write_hit, tex);
    c[ORR_C_L2_TEX_WRITE_MISS] = c[ORR_C_L2_TEX_WRITE] - c[ORR_C_L2_TEX_WRITE_HIT];
    c[ORR_C_L2_BUSY] = (double)m->slice_busy / (double)ORR_TICKS;
    c[ORR_C_L2_EVICTED] = (double)m->evicted;
    c[ORR_C_L2_WRITTEN_BACK] = (double)m->written_back;
    c[ORR_C_L2_FETCHED] = (double)m->fetched_for_write;
    c[ORR_C_L2_FULL] = (double)sum(m->failed[0], 2 * ORR_FAILS);
    c[ORR_C_DRAM_READ] = (double)m->dram_read + u.memory;
    c[ORR_C_DRAM_WRITE] = (double)m->dram_write;
    c[ORR_C_DRAM_BUSY] = (double)m->dram_busy / (double)ORR_TICKS;
    c[ORR_C_ROW_HIT] = (double)m->row_hit;
    c[ORR_C_ROW_MISS] = (double)m->row_miss;
}

// ---- all of it ----------------------------------------------------------------------------------
void orr_cycle_counters(const orr_gpu *g, const orr_launch_result *l, double c[ORR_COUNTERS]) {
    for (int i = 0; i < ORR_COUNTERS; i++) c[i] = NAN;
    const orr_timing *t = l->timing;
    if (!t) return;
    c[ORR_C_CYCLES] = (double)t->cycles;
    c[ORR_C_TIME] = l->time_ns;
    c[ORR_C_SM_ELAPSED] = (double)t->cycles * g->sm_count;
    c[ORR_C_SM_ACTIVE] = (double)t->sm_active;
    c[ORR_C_SMSP_ACTIVE] = (double)t->issue_slots;
    c[ORR_C_WARPS] = (double)t->warp_cycles;
    c[ORR_C_INST] = c[ORR_C_ISSUED] = (double)l->warp_insts;
    c[ORR_C_THREAD_INST] = (double)l->thread_insts;
    c[ORR_C_REG_CONFLICTS] = (double)t->register_conflicts;
    for (int s = 0; s < ORR_STALLS; s++) c[ORR_C_STALLED_ISSUED + s] = (double)t->stalls[s];
    // Nsight Compute has waits for products of groups of warps among those at barriers (H200,
    // attention_forward: 42,173 there and 451 of gmma).
    c[ORR_C_STALLED_BARRIER] += c[ORR_C_STALLED_GMMA];
    c[ORR_C_STALLED_GMMA] = 0;
    double reductions = 0;
    if (t->program && t->issued) count_program(g, t, c, &reductions);
    count_units(g, t, c);
    if (t->raw) {
        const orr_sm_counts *s = &t->raw->sm;
        c[ORR_C_BLOCKS] = (double)s->blocks;
        c[ORR_C_WARPS_LAUNCHED] = (double)s->warps;
        c[ORR_C_DUAL] = (double)s->dual;
        c[ORR_C_ISSUE_ACTIVE] = (double)(s->issued - s->dual);
        count_l1(s, reductions, c);
        count_shared(g, s, c);
        count_l2(g, t->raw, l->kernel, c);
        add_to(&c[ORR_C_TEX], (double)s->texture.reads);
        add_to(&c[ORR_C_TEX_REQUESTS], (double)s->texture.requests);
        add_to(&c[ORR_C_TEX_SECTORS], (double)s->texture.sectors);
        add_to(&c[ORR_C_TMA_SECTORS], (double)s->tma.sectors);
        add_to(&c[ORR_C_TMA_BYTES], (double)s->tma.bytes);
        add_to(&c[ORR_C_TMA_LD_BYTES], 32 * (double)s->tma.kind[TMA_LOAD]);
        add_to(&c[ORR_C_TMA_ST_BYTES], 32 * (double)s->tma.kind[TMA_STORE]);
        add_to(&c[ORR_C_TMA_RED_BYTES], 32 * (double)s->tma.kind[TMA_REDUCE]);
        add_to(&c[ORR_C_CLUSTER_ACCESS], (double)s->cluster_accesses);
    }
    orr_cycle_rates(g, c);
}

static double ratio(double a, double b) { return b > 0 ? a / b : (double)NAN; }
static double percent(double a, double b) { return b > 0 ? 100 * a / b : (double)NAN; }
static double larger(double a, double b) { return isnan(a) || b > a ? b : a; } // NAN: not known

static int unit_count(const orr_gpu *g, const char *name) {
    for (int u = 0; u < g->nunits; u++)
        if (!strcmp(g->units[u].name, name)) return g->units[u].count;
    return 0;
}

void orr_cycle_rates(const orr_gpu *g, double c[ORR_COUNTERS]) {
    const double sector = 32, seconds = c[ORR_C_TIME] * 1e-9, active = c[ORR_C_SM_ACTIVE],
                 elapsed = c[ORR_C_SM_ELAPSED];
    c[ORR_C_SM_ACTIVE_AVG] = active / g->sm_count;
    c[ORR_C_WARPS_AVG] = ratio(c[ORR_C_WARPS], active);
    c[ORR_C_OCCUPANCY] = percent(c[ORR_C_WARPS], active * g->limit_sm_warps);
    c[ORR_C_ISSUE_PCT] = percent(c[ORR_C_ISSUE_ACTIVE] * g->core_issue_interval, c[ORR_C_SMSP_ACTIVE]);
    c[ORR_C_IPC] = ratio(c[ORR_C_INST], active);
    c[ORR_C_IPC_ELAPSED] = ratio(c[ORR_C_INST], elapsed);
    c[ORR_C_LANES] = ratio(c[ORR_C_THREAD_INST], c[ORR_C_INST]);
    c[ORR_C_WARP_LATENCY] = ratio(c[ORR_C_WARPS], c[ORR_C_ISSUED]);
    for (int s = 0; s < ORR_STALLS; s++)
        c[ORR_C_PER_ISSUE_ISSUED + s] = ratio(c[ORR_C_STALLED_ISSUED + s], c[ORR_C_ISSUE_ACTIVE]);

    // pipes, and the busiest of them and of issue
    double slots = elapsed * g->core_schedulers / g->core_issue_interval;
    double busiest = percent(c[ORR_C_ISSUE_ACTIVE], slots);
    static const char *const unit[] = {"alu", "fma", "fmaheavy", "fp16", "fp64", "xu", "tensor", "lsu"};
    for (int u = 0; u <= ORR_C_LSU_BUSY - ORR_C_ALU_BUSY; u++) {
        double busy = c[ORR_C_ALU_BUSY + u];
        int count = unit_count(g, unit[u]) * halves(g, unit[u]);
        c[ORR_C_ALU_PCT + u] = percent(busy, active * count);
        busiest = larger(busiest, percent(busy, elapsed * count));
    }
    c[ORR_C_SM_PCT] = busiest;

    // L1 and shared memory
    c[ORR_C_L1_HIT_RATE] = percent(c[ORR_C_L1_HIT], c[ORR_C_L1_HIT] + c[ORR_C_L1_MISS]);
    c[ORR_C_GLOBAL_LD_HIT_RATE] =
        percent(c[ORR_C_GLOBAL_LD_HIT], c[ORR_C_GLOBAL_LD_HIT] + c[ORR_C_GLOBAL_LD_MISS]);
    c[ORR_C_L1_BYTES] = c[ORR_C_L1_SECTORS] * sector;
    c[ORR_C_L1_RATE] = ratio(c[ORR_C_L1_BYTES], seconds);
    c[ORR_C_L1_PCT] = percent(c[ORR_C_L1_WAVEFRONTS], elapsed);
    c[ORR_C_LOAD_LATENCY] = ratio(c[ORR_C_LOAD_CYCLES], c[ORR_C_LOADS]);

    // L2
    double l2_hz = (g->clock_l2 > 0 ? g->clock_l2 : g->clock_sm) * 1e6;
    c[ORR_C_L2_HIT_RATE] = percent(c[ORR_C_L2_HIT], c[ORR_C_L2_SECTORS]);
    c[ORR_C_L2_READ_HIT_RATE] = percent(c[ORR_C_L2_TEX_READ_HIT], c[ORR_C_L2_TEX_READ]);
    c[ORR_C_L2_WRITE_HIT_RATE] = percent(c[ORR_C_L2_TEX_WRITE_HIT], c[ORR_C_L2_TEX_WRITE]);
    c[ORR_C_L2_BYTES] = c[ORR_C_L2_SECTORS] * sector;
    c[ORR_C_L2_RATE] = ratio(c[ORR_C_L2_BYTES], seconds);
    c[ORR_C_L2_PCT] = larger(percent(c[ORR_C_L2_BYTES], g->l2_bandwidth * l2_hz * seconds),
                             percent(c[ORR_C_L2_BUSY], c[ORR_C_CYCLES] * g->l2_slices));

    // memory
    c[ORR_C_DRAM_READ_BYTES] = c[ORR_C_DRAM_READ] * sector;
    c[ORR_C_DRAM_WRITE_BYTES] = c[ORR_C_DRAM_WRITE] * sector;
    c[ORR_C_DRAM_BYTES] = c[ORR_C_DRAM_READ_BYTES] + c[ORR_C_DRAM_WRITE_BYTES];
    c[ORR_C_DRAM_READ_RATE] = ratio(c[ORR_C_DRAM_READ_BYTES], seconds);
    c[ORR_C_DRAM_WRITE_RATE] = ratio(c[ORR_C_DRAM_WRITE_BYTES], seconds);
    c[ORR_C_DRAM_RATE] = ratio(c[ORR_C_DRAM_BYTES], seconds);
    c[ORR_C_DRAM_PCT] = percent(c[ORR_C_DRAM_BYTES], g->dram_bandwidth * 1e9 * seconds);
    c[ORR_C_MEMORY_PCT] = larger(larger(c[ORR_C_L1_PCT], c[ORR_C_L2_PCT]), c[ORR_C_DRAM_PCT]);
}
