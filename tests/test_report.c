// The report of a model of time, from timings made by hand: sums, counters, verdicts, the timeline.
//
// The GPU has round numbers: 10 SMs at 1 GHz, so that 10,000 cycles are 10 us and 100,000 SM cycles. Expected
// values are worked out from them in the comments.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <math.h>
#include <cmocka.h>
#include "json.h"
#include "report/report.h"
#include "program/program.h"

enum { SMS = 10, RUNNING = 10000, OVERHEAD = 1000, INSTS = 4 };
#define SM_CYCLES ((uint64_t)SMS * RUNNING)
#define HOSTILE   "k\"\\\n\t\x01\x1b[31m\xc3\xa9</script>"

typedef struct bench { // a kernel of four instructions, and launches of it
    orr_gpu *gpu;
    orr_module module;
    orr_kernel kernel;
    orr_inst code[INSTS];
    orr_program program;
    orr_tinst insts[INSTS];
    const char *names[INSTS], *files[1];
    orr_result result;
    orr_raw raw[3];
    orr_timing timing[3];
    uint64_t by_inst[3][INSTS][ORR_STALLS], issued[3][INSTS], threads[3][INSTS];
    double counters[3][ORR_COUNTERS];
} bench;

static int unit(const orr_gpu *g, const char *name) {
    for (int u = 0; u < g->nunits; u++)
        if (!strcmp(g->units[u].name, name)) return u;
    fail_msg("no unit %s", name);
    return 0;
}

static bench *bench_new(void) {
    static const char *const sets[] = {
        "sm.count=10",         "clock.sm=1000",     "clock.l2=1000",       "clock.dram=1000",
        "dram.bandwidth=1000", "dram.channels=10",  "dram.banks=16",       "dram.trrd=4",
        "dram.trc=40",         "l2.bandwidth=2000", "l2.slices=20",        "l1.bandwidth=128",
        "xbar.request=32",     "xbar.reply=64",     "core.schedulers=4",   "core.issue=1",
        "limit.sm_warps=64",   "shared.banks=32",   "shared.bank_bytes=4", "dram.latency=600",
        "launch.code=0",       "launch.barriers=0", "launch.reads=0",      "launch.writes=0"};
    bench *b = calloc(1, sizeof *b);
    orr_err e = {0};
    b->gpu = orr_gpu_load(ORRERY_SOURCE_DIR "/gpus/h200.conf", sets, sizeof sets / sizeof sets[0], &e);
    if (!b->gpu) fail_msg("%s", e.text);
    b->files[0] = "/nowhere/k.cu";
    b->module = (orr_module){.path = "/nowhere/k.ptx", .files = b->files, .nfiles = 1};
    b->kernel = (orr_kernel){
        .name = HOSTILE, .module = &b->module, .insts = b->code, .ninsts = INSTS, .shared_bytes = 64};
    static const struct {
        const char *name, *unit;
        uint16_t sass;
        uint8_t tclass, kind;
        uint32_t line;
    } code[INSTS] = {{"LDG.E", "lsu", ORR_SASS_LDG, ORR_TC_MEM, ORR_TK_MEM, 7},
                     {"FFMA", "fma", ORR_SASS_FFMA, ORR_TC_FP32, ORR_TK_ALU, 8},
                     {"FFMA", "fma", ORR_SASS_FFMA, ORR_TC_FP32, ORR_TK_ALU, 8},
                     {"EXIT", "branch", ORR_SASS_EXIT, ORR_TC_BRANCH, ORR_TK_EXIT, 0}};
    for (uint32_t i = 0; i < INSTS; i++) {
        b->code[i] = (orr_inst){.source = {1, code[i].line}, .line = 100 + i};
        b->names[i] = code[i].name;
        b->insts[i] = (orr_tinst){.sass = code[i].sass,
                                  .tclass = code[i].tclass,
                                  .kind = code[i].kind,
                                  .unit = (uint8_t)unit(b->gpu, code[i].unit),
                                  .space = ORR_SPACE_GLOBAL,
                                  .flags = i ? 0 : ORR_TF_LOAD,
                                  .inst = i,
                                  .pc = 16 * i,
                                  .name = i};
    }
    b->program = (orr_program){.kernel = &b->kernel,
                               .gpu = b->gpu,
                               .insts = b->insts,
                               .names = b->names,
                               .ninsts = INSTS,
                               .nnames = INSTS,
                               .registers = 20};
    b->result = (orr_result){.gpu = "h200", .model = "cycle", .source = "ptx", .input = HOSTILE};
    return b;
}

static void bench_free(bench *b) {
    orr_result_free(&b->result);
    orr_gpu_free(b->gpu);
    free(b);
}

// A launch that ran on all SMs all the time and did nothing with it: 16 warps an SM, all waiting for memory
// but for the 1000 cycles in which they issue.
static orr_launch_result *add_launch(bench *b) {
    size_t n = b->result.launches.n;
    orr_launch_result *l = ORR_PUSH(&b->result.launches);
    orr_timing *t = &b->timing[n];
    *l = (orr_launch_result){.kernel = &b->kernel,
                             .index = (uint32_t)n,
                             .grid = {80, 1, 1},
                             .block = {128, 1, 1},
                             .blocks = 80,
                             .warp_insts = 1000,
                             .thread_insts = 16000,
                             .occupancy = 0.5,
                             .cycles = RUNNING + OVERHEAD,
                             .time_ns = RUNNING + OVERHEAD,
                             .timing = t,
                             .counters = b->counters[n]};
    *t = (orr_timing){.program = &b->program,
                      .ninsts = INSTS,
                      .cycles = RUNNING + OVERHEAD,
                      .overhead = OVERHEAD,
                      .sm_active = SM_CYCLES,
                      .warp_cycles = 16 * SM_CYCLES,
                      .by_inst = b->by_inst[n],
                      .issued = b->issued[n],
                      .threads = b->threads[n],
                      .issue_slots = 4 * SM_CYCLES,
                      .resident = 8,
                      .limiter = ORR_LIMIT_REGISTERS,
                      .raw = &b->raw[n]};
    t->stalls[ORR_STALL_ISSUED] = 1000;
    t->stalls[ORR_STALL_LONG] = 16 * SM_CYCLES - 1000;
    b->raw[n] = (orr_raw){.sm = {.issued = 1000, .thread_insts = 16000, .blocks = 80, .warps = 320}};
    for (int i = 0; i < INSTS; i++) {
        b->issued[n][i] = 250;
        b->threads[n][i] = 4000;
        b->by_inst[n][i][ORR_STALL_ISSUED] = 250;
    }
    b->by_inst[n][1][ORR_STALL_LONG] = 16 * SM_CYCLES - 1000;
    return l;
}

// ---- counters -----------------------------------------------------------------------------------
static void near(double a, double b) {
    if (!(fabs(a - b) <= 1e-9 * (fabs(b) + 1))) fail_msg("%.15g is not %.15g", a, b);
}

static void counters(void **state) {
    (void)state;
    bench *b = bench_new();
    orr_launch_result *l = add_launch(b);
    orr_raw *raw = &b->raw[0];
    raw->sm.l1.requests[0][ORR_L1_LOAD] = 250;
    raw->sm.l1.sectors[0][ORR_L1_LOAD] = 1000;
    raw->sm.l1.hits[0][ORR_L1_LOAD] = 500;
    raw->sm.l1.pending[0][ORR_L1_LOAD] = 100;
    raw->sm.l1.misses[0][ORR_L1_LOAD] = 400;
    raw->sm.l1.busy = 300;
    raw->sm.shared.busy = 250;
    raw->sm.l1.loads = 250;
    raw->sm.l1.load_latency = 50000;
    raw->mem.read[ORR_FROM_GLOBAL] = 400;
    raw->mem.read_hit[ORR_FROM_GLOBAL] = 90;
    raw->mem.read_pending[ORR_FROM_GLOBAL] = 10;
    raw->mem.read_widened[ORR_FROM_GLOBAL] = 40;
    raw->mem.write[ORR_FROM_GLOBAL] = 100;
    raw->mem.write_hit[ORR_FROM_GLOBAL] = 100;
    raw->mem.dram_read = 300;
    raw->mem.dram_write = 100;
    b->timing[0].unit_busy[unit(b->gpu, "fma")] = 500;
    double *c = l->counters;
    orr_cycle_counters(b->gpu, l, c);
    near(c[ORR_C_CYCLES], 11000);
    near(c[ORR_C_TIME], 11000);
    near(c[ORR_C_SM_ELAPSED], 110000);
    near(c[ORR_C_SM_ACTIVE_AVG], 10000);
    near(c[ORR_C_INST], 1000);
    near(c[ORR_C_PIPE_FMA], 500); // two of the four instructions
    near(c[ORR_C_PIPE_LSU], 250);
    near(c[ORR_C_PIPE_CBU], 250);
    near(c[ORR_C_FFMA], 8000);
    near(c[ORR_C_IPC], 0.01);
    near(c[ORR_C_OCCUPANCY], 25);   // 16 of 64
    near(c[ORR_C_ISSUE_PCT], 0.25); // 1000 of 400,000 slots
    near(c[ORR_C_LANES], 16);
    near(c[ORR_C_WARP_LATENCY], 1600);
    near(c[ORR_C_FMA_PCT], 0.125); // 500 of four units x 100,000
    near(c[ORR_C_GLOBAL_LD_HIT], 600);
    near(c[ORR_C_GLOBAL_LD_MISS], 400);
    near(c[ORR_C_L1_HIT_RATE], 60);
    near(c[ORR_C_L1_BYTES], 32000);
    near(c[ORR_C_L1_RATE], 32000 / 11e-6);
    near(c[ORR_C_L1_PCT], 0.5); // 550 of 110,000
    near(c[ORR_C_LOAD_LATENCY], 200);
    near(c[ORR_C_L2_SECTORS], 500);
    near(c[ORR_C_L2_HIT_RATE], 40); // 90 + 10 + 100
    near(c[ORR_C_L2_READ_HIT_RATE], 25);
    near(c[ORR_C_L2_MISS], 340); // 400 - 90 - 10, and 40 fetched with them
    near(c[ORR_C_L2_TEX_READ_MISS], 340);
    near(c[ORR_C_DRAM_BYTES], 12800);
    near(c[ORR_C_DRAM_PCT], 100 * 12800 / (1e12 * 11e-6));
    near(c[ORR_C_STALLED_LONG], 16 * SM_CYCLES - 1000);
    // Code: 8 GPCs read 40 sectors and 8 for its 64 bytes, 48 of them from the other half, all found;
    // barriers, 100 and one to each of 10 slices for lines of their half and three for each of 20; 5 read and
    // 7 written for the launch itself, and 11 of which a half tells the other.
    double written = c[ORR_C_L2_WRITE];
    b->gpu->launch_code = 40;
    b->gpu->launch_barriers = 100;
    b->gpu->launch_reads = 5;
    b->gpu->launch_writes = 7;
    raw->mem.clients[0] = 10;
    raw->mem.clients[1] = 20;
    raw->mem.notified = 11;
    double from_memory = c[ORR_C_DRAM_READ];
    orr_cycle_counters(b->gpu, l, c);
    near(c[ORR_C_DRAM_READ], from_memory); // code is still in L2
    near(c[ORR_C_L2_READ], 400 + 8 * 48 + 48 + 5);
    near(c[ORR_C_L2_WRITE], written + 7);
    near(c[ORR_C_L2_SECTORS], 500 + 8 * 48 + 48 + 100 + 10 + 3 * 20 + 5 + 7 + 11);
    b->gpu->l2_flush = true; // it is not: read once, with 30 for the launch
    b->gpu->launch_memory = 30;
    orr_cycle_counters(b->gpu, l, c);
    near(c[ORR_C_DRAM_READ], from_memory + 30 + 8);
    near(c[ORR_C_PER_ISSUE_LONG], (16.0 * SM_CYCLES - 1000) / 1000);
    near(c[ORR_C_PER_ISSUE_ISSUED], 1);
    assert_true(isnan(c[ORR_C_BRANCHES_DIVERGENT])); // a model of time does not look for it

    // Twice the counts: averages and percentages stay.
    double twice[ORR_COUNTERS];
    for (int i = 0; i < ORR_COUNTERS; i++) twice[i] = 2 * c[i];
    orr_cycle_rates(b->gpu, twice);
    for (int i = 0; i < ORR_COUNTERS; i++) {
        const char *name = orr_counters[i].name, *end = name + strlen(name);
        bool sum = !strcmp(end - 4, ".sum") || i == ORR_C_CYCLES;
        bool rate = i == ORR_C_SM_ACTIVE_AVG; // of an SM, not of a cycle
        if (!isnan(c[i])) near(twice[i], (sum || rate ? 2 : 1) * c[i]);
    }
    bench_free(b);
}

// ---- verdicts -----------------------------------------------------------------------------------
// One launch with something changed; the verdict must be as said, at so many percent of the resource.
typedef void change(bench *b, orr_launch_result *l, orr_timing *t, orr_raw *r);

static void judge(change *f, enum orr_bound bound, const char *resource, double percent) {
    bench *b = bench_new();
    orr_launch_result *l = add_launch(b);
    f(b, l, &b->timing[0], &b->raw[0]);
    orr_verdict v;
    assert_true(orr_judge(b->gpu, l, &v));
    if (v.bound != bound)
        fail_msg("%s instead of %s: %s", orr_bound_name[v.bound], orr_bound_name[bound], v.text);
    if (resource) {
        assert_string_equal(v.resource, resource);
        near(v.percent, percent);
    }
    assert_true(strlen(v.text) > 10);
    bench_free(b);
}

#define CHANGE(name) static void name(bench *b, orr_launch_result *l, orr_timing *t, orr_raw *r)
#define UNUSED       ((void)b, (void)l, (void)t, (void)r)

CHANGE(as_it_is) { UNUSED; }
CHANGE(fma_busy) { UNUSED, t->unit_busy[unit(b->gpu, "fma")] = 75 * 4 * SM_CYCLES / 100; }
CHANGE(fma_not_quite) { UNUSED, t->unit_busy[unit(b->gpu, "fma")] = 59 * 4 * SM_CYCLES / 100; }
CHANGE(issue_busy) { UNUSED, l->warp_insts = r->sm.issued = 80 * 4 * SM_CYCLES / 100; }
CHANGE(dram_busy) { UNUSED, r->mem.dram_read = 7000000 / 32; }                  // of 10^7 bytes in 10 us
CHANGE(dram_rows) { UNUSED, r->mem.dram_read = r->mem.row_miss = 20000; }       // x 4 clocks, of 100,000
CHANGE(dram_banks) { b->gpu->dram_trc = 128, UNUSED, r->mem.row_miss = 10000; } // x 128, of 1,600,000
CHANGE(l2_busy) { UNUSED, r->mem.read[ORR_FROM_GLOBAL] = 13000000 / 32; }       // of 2 x 10^7 bytes
CHANGE(l2_slices) { UNUSED, r->mem.slice_busy = 65 * 20 * RUNNING / 100 * ORR_TICKS; } // by atomics, say
CHANGE(l2_slice) { // one is busy for 70 %, all together are for 7 %
    UNUSED, r->mem.slice_busy = 7 * 20 * RUNNING / 100 * ORR_TICKS;
    r->mem.slice_busiest = 70 * RUNNING / 100 * ORR_TICKS;
}
CHANGE(l2_atomics) { // one of the units; its slice for less; SMs have long ended
    UNUSED, r->mem.slice_busy = r->mem.slice_busiest = 80 * RUNNING / 100 * ORR_TICKS;
    r->mem.atomics.busy = r->mem.atomics.busiest = 95 * RUNNING / 100 * ORR_TICKS;
    t->sm_active = SM_CYCLES / 3;
    t->stalls[ORR_STALL_DRAIN] = 17 * SM_CYCLES;
}
CHANGE(crossbar_busy) { UNUSED, r->sm.port.received_bytes = 64 * SM_CYCLES * 70 / 100; }
CHANGE(crossbar_out) { UNUSED, r->sm.port.sent_bytes = 32 * SM_CYCLES * 70 / 100; }
CHANGE(l1_busy) { UNUSED, r->sm.l1.busy = SM_CYCLES * 65 / 100; }
CHANGE(shared_busy) { UNUSED, r->sm.shared.busy = SM_CYCLES * 65 / 100; }
CHANGE(lsu_shared) {
    UNUSED, t->unit_busy[unit(b->gpu, "lsu")] = SM_CYCLES * 90 / 100;
    r->sm.shared.requests[ORR_L1_LOAD] = 2;
    r->sm.l1.requests[0][ORR_L1_LOAD] = 1;
}
CHANGE(lsu_global) {
    UNUSED, t->unit_busy[unit(b->gpu, "lsu")] = SM_CYCLES * 90 / 100;
    r->sm.l1.requests[0][ORR_L1_LOAD] = 1;
}
CHANGE(at_barriers) {
    UNUSED, t->stalls[ORR_STALL_LONG] = 5 * SM_CYCLES;
    t->stalls[ORR_STALL_BARRIER] = 11 * SM_CYCLES - 1000;
}
CHANGE(one_block) { UNUSED, t->sm_active = RUNNING, l->blocks = 1, t->warp_cycles = 4 * RUNNING; }
CHANGE(tail) { UNUSED, t->sm_active = SM_CYCLES / 2, l->blocks = 81; }
CHANGE(all_launch) { UNUSED, t->overhead = 6000, r->mem.dram_read = 10000000 / 32; }
CHANGE(busier_one) { // DRAM at 70 %, fma at 75 %
    fma_busy(b, l, t, r);
    dram_busy(b, l, t, r);
}
CHANGE(nothing) { UNUSED, l->warp_insts = 0, t->cycles = 0, t->overhead = 0; }

static void verdicts(void **state) {
    (void)state;
    judge(as_it_is, ORR_BOUND_LATENCY, NULL, 0);
    judge(fma_busy, ORR_BOUND_COMPUTE, "fma", 75);
    judge(fma_not_quite, ORR_BOUND_LATENCY, "fma", 59);
    judge(issue_busy, ORR_BOUND_COMPUTE, "issue", 80);
    judge(dram_busy, ORR_BOUND_DRAM, "DRAM", 70);
    judge(dram_rows, ORR_BOUND_DRAM, "DRAM rows", 80);
    judge(dram_banks, ORR_BOUND_DRAM, "DRAM rows", 80);
    judge(l2_busy, ORR_BOUND_L2, "L2", 65);
    judge(l2_slices, ORR_BOUND_L2, "L2", 65);
    judge(l2_slice, ORR_BOUND_L2, "L2 slice", 70);
    judge(l2_atomics, ORR_BOUND_ATOMICS, "L2 atomics", 95);
    judge(crossbar_busy, ORR_BOUND_CROSSBAR, "crossbar", 70);
    judge(crossbar_out, ORR_BOUND_CROSSBAR, "crossbar", 70);
    judge(l1_busy, ORR_BOUND_L1, "L1", 65);
    judge(shared_busy, ORR_BOUND_SHARED, "shared", 65);
    judge(lsu_shared, ORR_BOUND_SHARED, "lsu", 90);
    judge(lsu_global, ORR_BOUND_L1, "lsu", 90);
    judge(at_barriers, ORR_BOUND_BARRIER, NULL, 0);
    judge(one_block, ORR_BOUND_PARALLELISM, NULL, 0);
    judge(tail, ORR_BOUND_PARALLELISM, NULL, 0);
    judge(all_launch, ORR_BOUND_LAUNCH, NULL, 0);
    judge(busier_one, ORR_BOUND_COMPUTE, "fma", 75);
    judge(nothing, ORR_BOUND_NONE, NULL, 0);
    orr_launch_result functional = {0};
    orr_verdict v;
    assert_false(orr_judge(NULL, &functional, &v));
}

static void text_of(change *f, char *to, size_t n) {
    bench *b = bench_new();
    orr_launch_result *l = add_launch(b);
    f(b, l, &b->timing[0], &b->raw[0]);
    orr_verdict v;
    orr_judge(b->gpu, l, &v);
    snprintf(to, n, "%s", v.text);
    bench_free(b);
}

CHANGE(spread_loads) { // 8 sectors a request where 4 would do
    UNUSED, r->sm.global[ORR_L1_LOAD] = (orr_traffic){.requests = 100, .sectors = 800, .ideal = 400};
}
CHANGE(few_blocks_fetch) { // one SM works, and its warps wait for instructions
    one_block(b, l, t, r);
    memset(t->stalls, 0, sizeof t->stalls);
    t->stalls[ORR_STALL_FETCH] = 3 * RUNNING, t->stalls[ORR_STALL_LONG] = RUNNING;
}
CHANGE(few_blocks_fma) { // one SM works, and its fma pipes do all the time
    one_block(b, l, t, r);
    t->unit_busy[unit(b->gpu, "fma")] = 90 * 4 * RUNNING / 100;
}

// Sentences behind the first: what an SM that has work is bound by, and how well sectors are used.
static void more_sentences(void **state) {
    (void)state;
    char text[900];
    text_of(spread_loads, text, sizeof text);
    assert_non_null(strstr(text, "8.0 sectors a request where 4.0 would do, 50 % of each used"));
    text_of(as_it_is, text, sizeof text);
    assert_null(strstr(text, "sectors a request"));
    text_of(few_blocks_fetch, text, sizeof text);
    assert_non_null(strstr(text, "1 block for"));
    assert_non_null(strstr(text, "On an SM that has work warps wait for instructions to be fetched 75 %"));
    text_of(few_blocks_fma, text, sizeof text);
    assert_non_null(strstr(text, "An SM that has work is bound by its fma, at 90 % of the peak"));
}

// An RTX 5090's L2 and an Orin's memory are not known: who is bound by them is told. What an H200 does has
// been measured.
static void rests_on(void **state) {
    (void)state;
    orr_err e = {0};
    orr_gpu *g = orr_gpu_load("rtx5090", NULL, 0, &e), *h200 = orr_gpu_load("h200", NULL, 0, &e);
    orr_gpu *h100 = orr_gpu_load("h100", NULL, 0, &e), *orin = orr_gpu_load("orin", NULL, 0, &e);
    assert_non_null(g);
    assert_non_null(h200);
    assert_non_null(h100);
    assert_non_null(orin);
    char text[300];
    orr_rests_on(g, "L2", 0, text, sizeof text);
    assert_non_null(strstr(text, "l2.bandwidth (assumed)"));
    orr_rests_on(g, "L2 atomics", 0, text, sizeof text);
    assert_non_null(strstr(text, "l2.atomic_words (assumed)"));
    orr_rests_on(h100, "L2 atomics", 0, text, sizeof text);
    assert_non_null(strstr(text, "l2.atomic_words (inherited from h200)"));
    orr_rests_on(h200, "L2 atomics", 0, text, sizeof text);
    assert_string_equal(text, "");
    orr_rests_on(orin, NULL, ORR_STALL_LONG, text, sizeof text);
    assert_non_null(strstr(text, "dram.latency (assumed)"));
    orr_gpu_free(g);
    orr_gpu_free(h200);
    orr_gpu_free(h100);
    orr_gpu_free(orin);
}

// What it says of latency: 16 warps an SM are 4 a scheduler, of 16; each issues every 1600 cycles.
static void latency_text(void **state) {
    (void)state;
    bench *b = bench_new();
    orr_launch_result *l = add_launch(b);
    b->raw[0].sm.l1.loads = 10;
    b->raw[0].sm.l1.load_latency = 13000;
    orr_verdict v;
    orr_judge(b->gpu, l, &v);
    assert_string_equal(
        v.text, "latency: warps wait for data from L1, L2 or memory 100 % of the time (a load takes 1300 "
                "cycles; from DRAM at rest it would be 600). A warp issues every 1600.0 cycles; a "
                "scheduler has 4.0 warps (16 fit); occupancy is limited by registers");
    l->blocks = 79; // 10 SMs hold 80
    orr_judge(b->gpu, l, &v);
    assert_non_null(strstr(v.text, "the grid has 79 blocks, 80 would fit"));
    bench_free(b);
}

// ---- JSON -----------------------------------------------------------------------------------------
static const json *parse(json_doc *d, const orr_text *t) {
    const json *v = json_parse(d, t->s, t->n);
    if (!v) fail_msg("not JSON at byte %zu: %.60s", (size_t)(d->at - t->s), d->at);
    return v;
}

static void some_samples(orr_timing *t, orr_sample *samples) {
    t->samples = samples;
    t->nsamples = 2;
    t->sample_cycles = 8192;
    for (int s = 0; s < ORR_STALLS; s++) {
        samples[0].stalls[s] = t->stalls[s] / 3;
        samples[1].stalls[s] = t->stalls[s] - t->stalls[s] / 3;
        samples[0].warps += samples[0].stalls[s];
        samples[1].warps += samples[1].stalls[s];
    }
    samples[0].insts = 819;
    samples[1].insts = 181;
    samples[0].dram_sectors = 1024; // 32 KiB in 8.192 us: 4 GB/s
}

static void json_sums(void **state) {
    (void)state;
    bench *b = bench_new();
    for (int i = 0; i < 3; i++) add_launch(b);
    for (int i = 0; i < 3; i++) orr_cycle_counters(b->gpu, &b->result.launches.at[i], b->counters[i]);
    orr_sample samples[2] = {0};
    some_samples(&b->timing[1], samples);
    orr_text t = {0};
    orr_result_json(&b->result, &(orr_report_options){.lines = true}, &t);
    json_doc d;
    const json *all = parse(&d, &t), *launches = json_get(all, "launches"),
               *kernels = json_get(all, "kernels");
    assert_int_equal(launches->n, 3);
    assert_int_equal(kernels->n, 1);
    const uint64_t cycles = 16 * SM_CYCLES;
    for (size_t i = 0; i < 3; i++) {
        const json *l = json_at(launches, i);
        assert_string_equal(json_get(l, "kernel")->text, HOSTILE);
        assert_int_equal(json_u64(json_get(l, "warp_cycles")), cycles);
        assert_int_equal(json_sum(json_get(l, "stalls")), cycles);
        assert_int_equal(json_get(l, "stalls")->n, ORR_STALLS);
        assert_string_equal(json_get(l, "bound")->text, "latency");
        assert_int_equal(json_u64(json_get(l, "cycles")), 11000);
        near(json_double(json_get(l, "occupancy_achieved")), 0.25);
        assert_string_equal(json_get(l, "occupancy_limiter")->text, "registers");
        near(json_double(json_get(json_get(json_get(l, "resources"), "issue"), "percent")), 0.25);
    }
    const json *over = json_get(json_at(launches, 1), "timeline");
    assert_int_equal(json_sum(json_get(over, "warp_insts")), 1000);
    assert_int_equal(json_sum(json_get(over, "warp_cycles")), cycles);
    uint64_t sum = 0;
    for (const json *m = json_get(over, "stalls")->first; m; m = m->next) sum += json_sum(m);
    assert_int_equal(sum, cycles);
    near(json_double(json_at(json_get(over, "ipc"), 0)), 0.009998);
    near(json_double(json_at(json_get(over, "dram_gbs"), 0)), 4);

    const json *k = json_at(kernels, 0);
    assert_int_equal(json_u64(json_get(k, "launches")), 3);
    assert_int_equal(json_u64(json_get(k, "cycles")), 33000);
    assert_int_equal(json_sum(json_get(k, "stalls")), 3 * cycles);
    const char *const places[] = {"instructions", "lines"};
    for (int p = 0; p < 2; p++) {
        const json *v = json_get(k, places[p]);
        assert_int_equal(v->n, p ? 3 : 4); // two instructions share line 8
        assert_int_equal(json_sum_of(v, "warp_cycles"), 3 * cycles);
        assert_int_equal(json_sum_of(v, "warp_insts"), 3000);
        assert_int_equal(json_sum_of(v, "thread_insts"), 48000);
        uint64_t each = 0;
        for (const json *m = v->first; m; m = m->next) each += json_sum(json_get(m, "stalls"));
        assert_int_equal(each, 3 * cycles);
    }
    const json *top = json_at(json_get(k, "instructions"), 0);
    assert_string_equal(json_get(top, "instruction")->text, "FFMA");
    assert_int_equal(json_u64(json_get(top, "address")), 16);
    assert_int_equal(json_u64(json_get(json_at(json_get(k, "lines"), 0), "line")), 8);
    assert_string_equal(json_get(top, "file")->text, "/nowhere/k.cu");

    const json *totals = json_get(all, "totals");
    assert_int_equal(json_u64(json_get(totals, "cycles")), 33000);
    assert_int_equal(json_sum(json_get(totals, "stalls")), 3 * cycles);
    const json *c = json_get(totals, "counters");
    assert_int_equal(json_u64(json_get(c, "gpc__cycles_elapsed.max")), 33000);
    near(json_double(json_get(c, "sm__warps_active.avg.pct_of_peak_sustained_active")), 25); // not 75
    const json *kc = json_get(k, "counters");
    near(json_double(json_get(kc, "sm__inst_executed.avg.per_cycle_active")), 0.01);
    orr_arena_free(&d.arena);
    free(t.s);

    // Without --lines nothing of it.
    t = (orr_text){0};
    orr_result_json(&b->result, &(orr_report_options){0}, &t);
    all = parse(&d, &t);
    assert_null(json_get(json_at(json_get(all, "kernels"), 0), "instructions"));
    orr_arena_free(&d.arena);
    free(t.s);
    bench_free(b);
}

// Launches of a trace: kernels of their own with one name are one kernel; programs may differ in length.
static void one_name(void **state) {
    (void)state;
    bench *b = bench_new();
    add_launch(b);
    add_launch(b);
    orr_kernel other = b->kernel;
    b->kernel.machine = other.machine = true;
    b->result.launches.at[1].kernel = &other;
    b->timing[0].ninsts = 2;
    orr_costs all;
    orr_costs_make(&b->result, true, &all);
    assert_int_equal(all.n, 1);
    assert_int_equal(all.at[0]->launches, 2);
    assert_int_equal(all.at[0]->ninsts, 4);
    assert_int_equal(all.at[0]->timing.warp_cycles, 32 * SM_CYCLES);
    orr_costs_free(&all);
    b->kernel.machine = other.machine = false; // two kernels of a program that happen to have one name
    orr_costs_make(&b->result, false, &all);
    assert_int_equal(all.n, 2);
    orr_costs_free(&all);
    bench_free(b);
}

// ---- text -----------------------------------------------------------------------------------------
static void text(void **state) {
    (void)state;
    bench *b = bench_new();
    add_launch(b);
    dram_busy(b, &b->result.launches.at[0], &b->timing[0], &b->raw[0]);
    b->result.host.seconds = 0.5;
    b->result.input = "k.launch";
    orr_text t = {0};
    orr_result_text(&b->result, &(orr_report_options){.lines = true, .host = true}, &t);
    static const char *const says[] = {
        "bound by memory bandwidth: DRAM at 70 % of its peak, 700 of 1000 GB/s",
        "11,000 cycles at 1000 MHz, 1,000 of them before the first block",
        "11.00 us",
        "16.0 of 64 warps an SM; at most 50.0 %, 8 blocks an SM, limited by registers",
        "100.0 %   of SM cycles with a block; 1.00 waves of blocks",
        "long_scoreboard           1,599,000   99.9",
        "all                       1,600,000  100.0",
        "2.00 k warp instructions and 22.0 k cycles a second",
        "k.cu:8",
        "FFMA",
    };
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++)
        if (!strstr(t.s, says[i])) fail_msg("does not say \"%s\":\n%s", says[i], t.s);
    for (size_t i = 0; i < t.n; i++) assert_true((unsigned char)t.s[i] >= 32 || t.s[i] == '\n');
    free(t.s);
    t = (orr_text){0};
    orr_result_text(&b->result, &(orr_report_options){.colour = true}, &t);
    assert_non_null(strstr(t.s, "\033[1mbound by\033[0m"));
    free(t.s);
    bench_free(b);
}

// ---- timeline -------------------------------------------------------------------------------------
static uint64_t picoseconds(const json *v) { // "12.345678" us
    assert_non_null(v);
    const char *point = strchr(v->text, '.');
    assert_non_null(point);
    assert_int_equal(strlen(point + 1), 6);
    return strtoull(v->text, NULL, 10) * 1000000 + strtoull(point + 1, NULL, 10);
}

static void timeline(void **state) {
    (void)state;
    bench *b = bench_new();
    b->gpu->clock_sm = 1755; // a cycle is no round time
    add_launch(b);
    add_launch(b);
    orr_span spans[40];
    for (uint32_t i = 0; i < 40; i++) // on each of 10 SMs two places, two blocks one right after the other
        spans[i] = (orr_span){.block = i,
                              .sm = i % 10,
                              .slot = i / 10 % 2,
                              .start = 1000 + i / 20 * 333,
                              .end = 1333 + i / 20 * 777};
    orr_sample samples[2] = {0};
    for (int i = 0; i < 2; i++) {
        b->timing[i].spans = spans;
        b->timing[i].nspans = 40;
    }
    b->timing[1].spans_left_out = 7;
    some_samples(&b->timing[0], samples);
    char path[64];
    snprintf(path, sizeof path, "/tmp/orrery-test-timeline-%ld.json", (long)getpid());
    orr_err e = {0};
    assert_true(orr_result_timeline(&b->result, path, &e));
    orr_text t = {0};
    t.s = orr_read_file(path, 1 << 20, &t.n, &e);
    unlink(path);
    assert_non_null(t.s);
    json_doc d;
    const json *all = parse(&d, &t);
    assert_int_equal(json_u64(json_get(json_get(all, "otherData"), "blocks_left_out")), 7);
    uint64_t end[1000] = {0};
    int blocks = 0, launches = 0, names = 0, counts = 0, labels = 0;
    for (const json *ev = json_get(all, "traceEvents")->first; ev; ev = ev->next) {
        const char *ph = json_get(ev, "ph")->text;
        uint64_t tid = json_u64(json_get(ev, "tid"));
        if (*ph == 'X') { // events of one thread come in order and do not overlap
            uint64_t from = picoseconds(json_get(ev, "ts"));
            assert_true(tid < 1000 && from >= end[tid]);
            end[tid] = from + picoseconds(json_get(ev, "dur"));
            assert_string_equal(json_get(ev, "name")->text, HOSTILE);
            if (tid == 1)
                launches++;
            else
                blocks++;
        } else if (*ph == 'M') {
            names += !strcmp(json_get(ev, "name")->text, "thread_name");
            labels += !strcmp(json_get(ev, "name")->text, "process_labels");
        } else {
            assert_string_equal(ph, "C");
            picoseconds(json_get(ev, "ts"));
            counts += !strcmp(json_get(ev, "name")->text, "IPC per SM");
        }
    }
    assert_int_equal(launches, 2);
    assert_int_equal(blocks, 80);
    assert_int_equal(names, 21); // the launches, and twenty places
    assert_int_equal(labels, 1);
    assert_int_equal(counts, 3); // two samples and the end
    // The first launch ends after 11,000 cycles, the second starts then and takes as long.
    assert_int_equal(end[1], 2 * (uint64_t)(11000 * 1e6 / 1755));
    orr_arena_free(&d.arena);
    free(t.s);
    bench_free(b);
}

static void no_timeline(void **state) {
    (void)state;
    orr_result r = {.input = "x"};
    orr_err e = {0};
    assert_false(orr_result_timeline(&r, "/tmp/orrery-test-none.json", &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
    assert_int_not_equal(access("/tmp/orrery-test-none.json", F_OK), 0);
    bench *b = bench_new();
    add_launch(b);
    memset(&e, 0, sizeof e);
    assert_false(orr_result_timeline(&b->result, "/nonexistent/folder/x.json", &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
    bench_free(b);
}

// docs/reference/report.md names every reason with its meaning, and every bound.
static void documented(void **state) {
    (void)state;
    orr_err e = {0};
    size_t n;
    char row[300], *doc = orr_read_file(ORRERY_SOURCE_DIR "/docs/reference/report.md", 1 << 20, &n, &e);
    assert_non_null(doc);
    for (int s = 0; s < ORR_STALLS; s++) {
        snprintf(row, sizeof row, "| `%s` | %s |\n", orr_stalls[s].name, orr_stalls[s].meaning);
        if (!strstr(doc, row)) fail_msg("docs/reference/report.md lacks: %s", row);
    }
    for (int b = ORR_BOUND_NONE + 1; b < ORR_BOUNDS; b++) {
        snprintf(row, sizeof row, "`%s`", orr_bound_name[b]);
        if (!strstr(doc, row)) fail_msg("docs/reference/report.md lacks: %s", row);
    }
    free(doc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documented),     cmocka_unit_test(counters),    cmocka_unit_test(verdicts),
        cmocka_unit_test(more_sentences), cmocka_unit_test(rests_on),    cmocka_unit_test(latency_text),
        cmocka_unit_test(json_sums),      cmocka_unit_test(one_name),    cmocka_unit_test(text),
        cmocka_unit_test(timeline),       cmocka_unit_test(no_timeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
