// The cycle model's whole GPU: barriers, thread blocks over SMs, launches, instruction caches; and that a run
// is the same whoever runs it. Each figure is worked out in the comment above it.
#include "cycle.h"

static const orr_span *span_of(const ran *x, uint64_t block) {
    for (uint64_t n = 0; n < x->t->nspans; n++)
        if (x->t->spans[n].block == block) return &x->t->spans[n];
    fail_msg("block %d did not run", (int)block);
    return NULL;
}

// ---- barriers --------------------------------------------------------------------------------------
static void test_barrier(void **state) {
    (void)state;
    // One warp: it is released 7 cycles after it came. EXIT at 7.
    assert_int_equal(cycles_of(GPU(), kern_of(1, 32, "BAR 0\nEXIT")), 8);
    // Two warps, the second has 100 instructions to do first: warp 0 comes at 0, warp 1 works from 1 to 100
    // and comes at 101. Both go on at 108; EXITs at 108 and 109.
    kern *k = kern_new(1, 64);
    more(k, "block warp 1");
    for (int n = 0; n < 100; n++) more(k, "FFMA R%d <- R1", 4 + n);
    more(k, "block\nBAR 0\nEXIT");
    ran x = run_on(GPU(), k);
    assert_int_equal(x.cycles, 110);
    assert_int_equal(stalled(&x, ORR_STALL_BARRIER), 107 + 6); // 1 to 107, 102 to 107
    assert_int_equal(stalled(&x, ORR_STALL_SELECTED), 1 + 1);  // warp 1 at 0, then at 108
    assert_int_equal(x.sm->barriers, 2);
    ran_free(&x);
    kern_free(k);
    // A unit that takes a barrier every two cycles: four warps come at 0, 2, 4, 6, go on at 13; EXITs to 16.
    assert_int_equal(
        cycles_of(GPU("unit.adu.lanes=16", "op.barrier.unit=adu"), kern_of(1, 128, "BAR 0\nEXIT")), 17);
    // Ten rounds, two warps: both come one after the other, at t and t + 1, and go on at t + 8.
    assert_int_equal(cycles_of(GPU(), kern_of(1, 64, "block x10\nBAR 0\nblock\nEXIT")), 10 * 8 + 2);
}

// A barrier of two warps (number 1; from bit 8 on the warps) does not wait for the third, which works for
// 1000 cycles: they come at 0 and 1 and are released at 8, having waited 7 and 6 cycles. A barrier of all
// warps waits for it.
static void test_named_barrier(void **state) {
    (void)state;
    for (int all = 0; all < 2; all++) {
        kern *k = kern_new(1, 96);
        more(k, "block warp 2");
        for (int n = 0; n < 1000; n++) more(k, "FFMA R%d <- R1", 4 + n % 200);
        if (all)
            more(k, "block\nBAR 0\nEXIT");
        else
            more(k, "block warp 0\nBAR 0x201\nblock warp 1\nBAR 0x201\nblock\nEXIT");
        ran x = run_on(GPU(), k);
        if (all) // warps 0, 1 come at 0, 1; warp 2 works from 2 to 1001, comes at 1002; all go on at 1009
            assert_int_equal(stalled(&x, ORR_STALL_BARRIER), 1008 + 1007 + 6);
        else
            assert_int_equal(stalled(&x, ORR_STALL_BARRIER), 7 + 6);
        ran_free(&x);
        kern_free(k);
    }
    // Who only arrives does not wait. Warp 0 arrives at 0 and goes on; warp 1 comes at 1 and is released 7
    // later, by itself.
    kern *k = kern_of(1, 96, "block warp 0\nBAR.ARV 0x201\nblock warp 1\nBAR 0x201\nblock\nEXIT");
    ran x = run_on(GPU(), k);
    assert_int_equal(stalled(&x, ORR_STALL_BARRIER), 6); // 2 to 7
    ran_free(&x);
    kern_free(k);
}

// A warp that has ended is not waited for: warp 0 comes at 0; warp 1 ends with its EXIT at 1; warp 0 goes on
// at 1 + 7.
static void test_barrier_and_exit(void **state) {
    (void)state;
    assert_int_equal(cycles_of(GPU(), kern_of(1, 64, "block warp 1\nEXIT\nblock warp 0\nBAR 0\nEXIT")), 9);
}

// ---- what fits -----------------------------------------------------------------------------------------
// How many blocks are on the SM at once: the most that overlap.
static uint64_t most_at_once(const ran *x) {
    uint64_t most = 0;
    for (uint64_t n = 0; n < x->t->nspans; n++) {
        uint64_t at = x->t->spans[n].start, now = 0;
        for (uint64_t m = 0; m < x->t->nspans; m++)
            now += x->t->spans[m].start <= at && at < x->t->spans[m].end;
        if (now > most) most = now;
    }
    return most;
}

static void test_occupancy(void **state) {
    (void)state;
    static const struct {
        uint32_t threads, regs, shared;
        int blocks, limiter;
    } cases[] = {
        {256, 16, 0, 8, ORR_LIMIT_WARPS},         // 64 warps / 8
        {32, 16, 0, 32, ORR_LIMIT_BLOCKS},        // 32 places
        {256, 128, 0, 2, ORR_LIMIT_REGISTERS},    // 65536 / (128 x 256)
        {32, 16, 20 * 1024, 3, ORR_LIMIT_SHARED}, // 64 KB / 20 KB
        {1024, 64, 0, 1, ORR_LIMIT_REGISTERS},    // 65536 / (64 x 1024)
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        kern *k = kern_of(64, cases[n].threads, "LDG R1 <- R2 @0 +0 w128\nFFMA R3 <- R1\nEXIT");
        k->k.regs = cases[n].regs;
        k->dynamic_shared = cases[n].shared;
        ran x = run_on(GPU(), k);
        assert_int_equal(x.t->resident, cases[n].blocks);
        assert_int_equal(x.t->limiter, cases[n].limiter);
        assert_int_equal(most_at_once(&x), cases[n].blocks);
        assert_int_equal(x.sm->blocks, 64);
        assert_int_equal(x.sm->warps, 64 * ((cases[n].threads + 31) / 32));
        ran_free(&x);
        kern_free(k);
    }
    // One that does not fit at all is refused.
    kern *k = kern_of(1, 1024, "EXIT");
    k->k.regs = 255;
    orr_gpu *g = GPU();
    orr_result r = {0};
    orr_err e = {0};
    assert_false(stream_run(g, k, 1, &r, &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
    assert_non_null(strstr(e.text, "does not fit"));
    orr_result_free(&r);
    orr_gpu_free(g);
    kern_free(k);
}

// ---- blocks over SMs ---------------------------------------------------------------------------
static kern *chains(uint32_t blocks) { // of 20: 192 cycles a block (test_cycle_issue.c)
    kern *k = kern_new(blocks, 32);
    for (int n = 0; n < 20; n++) more(k, "FFMA R1 <- R1");
    more(k, "EXIT");
    return k;
}

// Four SMs with one block each: rounds of four. One block more than fits is another round.
static void test_tail(void **state) {
    (void)state;
    static const struct {
        uint32_t blocks;
        uint64_t rounds;
    } cases[] = {{1, 1}, {4, 1}, {5, 2}, {8, 2}, {9, 3}, {40, 10}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        kern *k = chains(cases[n].blocks);
        ran x = run_on(GPU("sm.count=4", "limit.sm_blocks=1"), k);
        assert_int_equal(x.cycles, 192 * cases[n].rounds);
        assert_int_equal(x.t->sm_active, 192 * cases[n].blocks);
        ran_free(&x);
        kern_free(k);
    }
}

// Blocks that are much shorter than anything else: 1000 blocks of one instruction, one at a time: one a
// cycle. On two SMs two.
static void test_short_blocks(void **state) {
    (void)state;
    assert_int_equal(cycles_of(GPU("limit.sm_blocks=1"), kern_of(1000, 32, "EXIT")), 1000);
    assert_int_equal(cycles_of(GPU("limit.sm_blocks=1", "sm.count=2"), kern_of(1000, 32, "EXIT")), 500);
}

// Blocks are sent out one after the other, to an SM and to all of them, and need time before they begin.
static void test_dispatch(void **state) {
    (void)state;
    // 8 SMs, a block every 10 cycles: the last starts at 70.
    kern *k = chains(8);
    ran x = run_on(GPU("sm.count=8", "limit.sm_blocks=1", "launch.block_interval=10"), k);
    for (uint64_t n = 0; n < 8; n++) assert_int_equal(span_of(&x, n)->start, 10 * n);
    assert_int_equal(x.cycles, 70 + 192);
    ran_free(&x);
    kern_free(k);
    // One SM that takes a block every 25 cycles.
    k = chains(4);
    x = run_on(GPU("launch.sm_interval=25"), k);
    for (uint64_t n = 0; n < 4; n++) assert_int_equal(span_of(&x, n)->start, 25 * n);
    ran_free(&x);
    kern_free(k);
    // 30 cycles from a block's start to its first instruction, each time.
    assert_int_equal(cycles_of(GPU("launch.block_latency=30", "limit.sm_blocks=1"), chains(3)),
                     3 * (30 + 192));
    // 1000 cycles before the first.
    k = chains(1);
    x = run_on(GPU("launch.overhead=1000"), k);
    assert_int_equal(x.cycles, 1192);
    assert_int_equal(x.t->overhead, 1000);
    assert_int_equal(x.t->sm_active, 192);
    assert_true(x.r.launches.at[0].time_ns == 1192.0); // at 1 GHz
    ran_free(&x);
    kern_free(k);
    // Two TPCs of two SMs: the first SM of each, then the second of each.
    k = chains(4);
    x = run_on(GPU("sm.count=4", "tpc.count=2"), k);
    static const uint32_t sm[] = {0, 2, 1, 3};
    for (uint64_t n = 0; n < 4; n++) assert_int_equal(span_of(&x, n)->sm, sm[n]);
    ran_free(&x);
    kern_free(k);
    // Or both SMs of the first, then those of the second.
    k = chains(4);
    x = run_on(GPU("sm.count=4", "tpc.count=2", "launch.order=tpc"), k);
    for (uint64_t n = 0; n < 4; n++) assert_int_equal(span_of(&x, n)->sm, n);
    ran_free(&x);
    kern_free(k);
    // 40 cycles from the end of a block until another takes its place.
    assert_int_equal(cycles_of(GPU("launch.turnaround=40", "limit.sm_blocks=1"), chains(3)),
                     3 * 192 + 2 * 40);
    // The four warps of a block begin at 0, 5, 10, 15.
    assert_int_equal(cycles_of(GPU("launch.warp_interval=5"), kern_of(1, 128, "EXIT")), 16);
    // A block every 3 cycles from the GPU, though two SMs could take one each cycle: the last of 1000 at
    // 2997, or later by a turn for each of the 15 windows of 200 cycles.
    uint64_t all = cycles_of(GPU("limit.sm_blocks=1", "sm.count=2", "launch.block_interval=3"),
                             kern_of(1000, 32, "EXIT"));
    assert_in_range(all, 2998, 2998 + 15 * 3);
    // More blocks than SMs: one each first, and an SM that is free gets the next. Block 0 is short (EXIT, at
    // 1), so block 4 takes its place while the others work.
    k = kern_new(5, 32);
    for (int b = 1; b < 5; b++) {
        more(k, "block tb %d", b);
        for (int n = 0; n < 20; n++) more(k, "FFMA R1 <- R1");
    }
    more(k, "block\nEXIT");
    x = run_on(GPU("sm.count=4", "limit.sm_blocks=1"), k);
    assert_int_equal(span_of(&x, 4)->sm, span_of(&x, 0)->sm);
    assert_int_equal(span_of(&x, 4)->start, 1);
    assert_int_equal(x.cycles, 193);
    ran_free(&x);
    kern_free(k);
}

// An SM of 12 warps has three blocks of four, of which all warps but the first end at once: those of blocks 0
// and 2 work for 20 instructions, block 1's for ten, the others' for five. When block 1 ends two warps are
// left. If what the others had is free then, blocks 3 and 4 begin side by side; else 4 comes when 3 has
// ended.
static void test_warp_room(void **state) {
    (void)state;
    for (int room = 0; room < 2; room++) {
        kern *k = kern_new(5, 128);
        for (int b = 0; b < 5; b++) {
            more(k, "block tb %d warp 0", b);
            for (int n = 0; n < (b == 1 ? 10 : b > 2 ? 5 : 20); n++) more(k, "FFMA R1 <- R1");
        }
        more(k, "block\nEXIT");
        ran x = run_on(GPU("limit.sm_warps=12", room ? "launch.warp_room=yes" : "launch.warp_room=no"), k);
        assert_int_equal(span_of(&x, 3)->start, span_of(&x, 1)->end);
        assert_int_equal(span_of(&x, 4)->start, room ? span_of(&x, 1)->end : span_of(&x, 3)->end);
        assert_true(span_of(&x, 4)->start < span_of(&x, 0)->end);
        ran_free(&x);
        kern_free(k);
    }
}

// Warps of a block go to the schedulers in turn: 8 warps on 4 of them, 2 each. 25 + 1 instructions a warp.
static void test_warps_to_schedulers(void **state) {
    (void)state;
    kern *k = kern_new(1, 256);
    for (int n = 0; n < 25; n++) more(k, "FFMA R%d <- R1", 4 + n);
    more(k, "EXIT");
    assert_int_equal(
        cycles_of(GPU("core.schedulers=4", "core.subcores=4", "unit.fma.count=4", "unit.control.count=4"), k),
        52);
}

// ---- instruction caches -------------------------------------------------------------------------
// 16 bytes an instruction, lines of 128 bytes: 8 instructions. A line that is in no cache is there after
// 200 (L2) + 30 (from the SM's cache to the scheduler's); one that the SM's cache has after 30. The fetch
// of a line begins when the last instruction of the line before is issued.
static kern *code_of(int lines, int rounds) { // all the same length; the last instruction of all is EXIT
    kern *k = kern_new(1, 32);
    if (rounds > 1) more(k, "block x%d", rounds - 1);
    for (int n = 0; rounds > 1 && n < 8 * lines; n++) more(k, "FFMA R%d <- R1", 4 + n);
    more(k, "block");
    for (int n = 0; n < 8 * lines - 1; n++) more(k, "FFMA R%d <- R1", 4 + n);
    more(k, "EXIT");
    for (uint32_t n = 0; n < k->insts.n; n++) // the last round is the same code
        k->insts.at[n].line = n % (8u * (uint32_t)lines) * 16;
    return k;
}

#define FETCH "icache.perfect=no", "icache.l0=12 KB", "icache.l1_latency=30", "icache.prefetch=0"
static void test_fetch(void **state) {
    (void)state;
    // Ten lines. The first begins at 230; each takes 7 cycles to its last instruction and the next 230 more
    // to come. The tenth begins at 230 + 9 x 237, its EXIT is 7 later.
    kern *k = code_of(10, 1);
    ran x = run_on(GPU(FETCH), k);
    assert_int_equal(x.cycles, 230 + 9 * 237 + 7 + 1);
    assert_int_equal(stalled(&x, ORR_STALL_FETCH), 230 + 9 * 229);
    assert_int_equal(x.sm->fetch.fetches, 10);
    assert_int_equal(x.sm->fetch.l0_misses, 10);
    assert_int_equal(x.sm->fetch.l1_misses, 10);
    ran_free(&x);
    kern_free(k);
    // Four lines, three rounds: the second and third find them: 32 cycles each.
    assert_int_equal(cycles_of(GPU(FETCH), code_of(4, 3)), 230 + 3 * 237 + 8 + 2 * 32);
    // The scheduler's cache has two lines only: in the other rounds each line comes from the SM's, 7 + 30
    // cycles a line.
    assert_int_equal(cycles_of(GPU(FETCH, "icache.l0=256 B"), code_of(4, 3)), 230 + 3 * 237 + 8 * 37 + 8);
    // The SM's too: each line comes from L2 each time.
    assert_int_equal(cycles_of(GPU(FETCH, "icache.l0=256 B", "icache.l1=256 B"), code_of(4, 3)),
                     230 + 11 * 237 + 8);
    // Without a cache of the scheduler's a hit in the SM's costs nothing.
    assert_int_equal(cycles_of(GPU(FETCH, "icache.l0=0 B"), code_of(4, 3)), 230 + 3 * 237 + 8 + 2 * 32);
    // Another warp of the scheduler finds what the first has fetched, and the SM's other scheduler what the
    // SM has. Two warps on one scheduler, one line: both wait until 230, then 16 instructions.
    k = code_of(1, 1);
    k->threads = 64;
    x = run_on(GPU(FETCH), k);
    assert_int_equal(x.cycles, 230 + 16);
    assert_int_equal(x.sm->fetch.l0_misses, 1);
    ran_free(&x);
    kern_free(k);
}

// Code that ran before is in the SM's cache, as far as it fits into half of it: 30 cycles a line, and 7 to
// its last instruction. Of ten lines that are eight where the cache has 16; the other two come from L2.
static void test_warm_code(void **state) {
    (void)state;
    assert_int_equal(cycles_of(GPU(FETCH, "profiler.warm_code=yes"), code_of(10, 1)), 30 + 9 * 37 + 7 + 1);
    assert_int_equal(cycles_of(GPU(FETCH, "profiler.warm_code=yes", "icache.l1=2 KB"), code_of(10, 1)),
                     30 + 7 * 37 + 2 * 237 + 7 + 1);
    kern *k = code_of(1, 1);
    more(k, "block tb 1");
    for (int n = 0; n < 72; n++) more(k, "FFMA R1 <- R2");
    assert_int_equal(cycles_of(GPU(FETCH, "profiler.warm_code=yes", "icache.l1=2 KB"), k), 30 + 7 + 1);
    // From L2 100 cycles later than from there.
    assert_int_equal(cycles_of(GPU(FETCH, "icache.l2_latency=100"), code_of(10, 1)), 130 + 9 * 137 + 7 + 1);
}

// When a kernel starts its warm code is in the SM's cache after 20 cycles, and a scheduler has the first line
// 30 later; each of nine others takes 37.
static void test_code_comes(void **state) {
    (void)state;
    assert_int_equal(
        cycles_of(GPU(FETCH, "profiler.warm_code=yes", "launch.code_latency=20"), code_of(10, 1)),
        50 + 9 * 37 + 7 + 1);
}

// Ten lines, 37 cycles each where they are warm. Two SMs of a GPC: each line comes 5 cycles later to both,
// and fetched ahead they are 2 x 5 cycles apart, which eight instructions a line do not hide: 35 + 9 x 10
// + 8.
static void test_code_of_gpc(void **state) {
    (void)state;
#define SHARED                                                                                               \
    FETCH, "profiler.warm_code=yes", "sm.count=4", "tpc.count=4", "gpc.count=2", "icache.gpc_interval=5"
    for (uint32_t blocks = 1; blocks <= 4; blocks += 3) {
        kern *k = code_of(10, 1);
        k->grid = blocks;
        uint64_t more = blocks == 4 ? 5 : 0;
        assert_int_equal(cycles_of(GPU(SHARED), k), 30 + more + 9 * (37 + more) + 7 + 1);
        k = code_of(10, 1);
        k->grid = blocks;
        assert_int_equal(cycles_of(GPU(SHARED, "icache.prefetch=9"), k),
                         30 + more + (blocks == 4 ? 9 * 10 : 9 * 8) + 7 + 1);
    }
}

// Eight instructions, at 30 .. 37. The fourth and the sixth name a parameter: asked for when it is its turn,
// at 33, it comes 89 - 27 = 62 cycles later; the second time it is there. A constant of another bank comes
// from L2, 200 - 27 = 173 cycles later, unless its 256 bytes have been asked for; from memory (400) when L2
// is flushed.
static uint64_t naming(orr_gpu *g, uint32_t fourth, uint32_t sixth) {
    kern *k = code_of(1, 1);
    k->insts.at[3].encoding.constant = fourth;
    k->insts.at[5].encoding.constant = sixth;
    ran x = run_on(g, k);
    uint64_t cycles = x.cycles;
    assert_int_equal(stalled(&x, ORR_STALL_CONSTANT), cycles - 38);
    ran_free(&x);
    kern_free(k);
    return cycles;
}

static void test_named_constants(void **state) {
    (void)state;
#define NAMED FETCH, "profiler.warm_code=yes", "const.cold=yes"
    const uint32_t parameter = 8 + 1, variable = (3u << 16 | 4) + 1, next = variable + 1,
                   other = variable + 4;
    assert_int_equal(naming(GPU(NAMED, "const.cold=no"), parameter, variable), 38);
    assert_int_equal(naming(GPU(NAMED), parameter, parameter), 38 + 62);
    assert_int_equal(naming(GPU(NAMED), variable, variable), 38 + 173);
    assert_int_equal(naming(GPU(NAMED), variable, next), 38 + 173 + 62);
    assert_int_equal(naming(GPU(NAMED), variable, other), 38 + 2 * 173);
    assert_int_equal(naming(GPU(NAMED, "l2.flush=yes"), variable, variable), 38 + 373);
}

// Prefetching 4 lines: lines 0 to 4 are asked for at 0 and come at 230; line n + 4 is asked for when line n
// is entered, which is looked up at the issue before. Lines 1 to 4 are entered without waiting, looked up at
// 237, 245, 253, 261; so 5 to 8 come at 467, 475, 483, 491. Line 5 is looked up at 269 and waits until 467,
// and 9, asked for then, comes at 499. From 467 on each line is there when it is needed: 475, 483, 491, 499.
// The EXIT of line 9 is at 506.
static void test_prefetch(void **state) {
    (void)state;
    assert_int_equal(cycles_of(GPU(FETCH, "icache.prefetch=4"), code_of(10, 1)), 507);
    // Lines come 18 cycles apart: 0 to 4 at 230, 248, 266, 284, 302; 5 to 9, asked for when 1 to 5 are
    // entered, looked up at 237, 255, 273, 291, 309, come at 467, 485, 503, 521, 539. EXIT is 7 later.
    assert_int_equal(cycles_of(GPU(FETCH, "icache.prefetch=4", "icache.l1_interval=18"), code_of(10, 1)),
                     547);
    // The same between L2 and the SM's cache.
    assert_int_equal(cycles_of(GPU(FETCH, "icache.prefetch=4", "icache.l2_interval=18"), code_of(10, 1)),
                     547);
}

// ---- whoever runs it ----------------------------------------------------------------------------
// A bit of everything on all SMs of a V100, an H200 and a GTX 480: barriers, shared memory, atomics,
// stores, local memory, lanes switched off, blocks of different length. run_on runs it on one, two and
// three host threads and compares.
static kern *mixture(void) {
    kern *k = kern_of(333, 192,
                      "LDG R1 <- R2 @0 +8 w256\n"
                      "IADD3 R3 <- R1\n"
                      "STS <- R3 R1 @0 +8 v256\n"
                      "BAR 0\n"
                      "block x5 warp 1\n"
                      "LDS R4 <- R3 @0 +36 i4\n"
                      "FFMA R5 <- R4 R5\n"
                      "MUFU R6 <- R5\n"
                      "block tb 7\n"
                      "ATOMG R7 <- R6 @0x800000 +0\n"
                      "block x3 lanes 0x0f0f\n"
                      "STL <- R3 R7 @0 +0 i4\n"
                      "LDL R8 <- R3 @0 +4\n"
                      "RED <- R3 R8 @0x900000 +4 b64\n"
                      "block\n"
                      "BAR 0\n"
                      "LDG.128 R9 <- R8 @0x1000000 +16 w4096\n"
                      "MEMBAR 2\n"
                      "STG <- R9 R8 @0x2000000 +4 w128\n"
                      "EXIT");
    k->dynamic_shared = 2048;
    return k;
}

static void test_threads(void **state) {
    (void)state;
    static const char *const names[] = {"v100", "h200", "gtx480"};
    for (int n = 0; n < 3; n++) {
        kern *k = mixture();
        ran x = run_on(gpu_named(names[n], NULL), k);
        assert_int_equal(x.sm->blocks, 333);
        // Once more on the same machine, with nothing kept: the same again.
        ran_free(&x);
        x = (ran){.g = gpu_named(names[n], "l2.flush=yes")};
        launch(&x, k, 2);
        const orr_timing *first = x.t;
        launch(&x, k, 1);
        check_same(first, x.t);
        ran_free(&x);
        kern_free(k);
    }
}

// Traces that end in the middle of an access are refused, whatever the number of threads, and the machine can
// go on.
static void test_damaged(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        orr_gpu *g = GPU("sm.count=4");
        orr_result r = {0};
        orr_err e = {0};
        kern *bad = kern_of(50, 64, "LDG R1 <- R2 @0 +4 w128\nLDG R3 <- R1 @4096 +4\nEXIT"),
             *good = chains(4);
        bad->cut = 3;
        assert_false(stream_run(g, bad, threads, &r, &e));
        assert_int_equal(e.status, ORR_BAD_INPUT);
        assert_non_null(strstr(e.text, "damaged"));
        e = (orr_err){0};
        assert_true(stream_run(g, good, threads, &r, &e));
        assert_int_equal(r.launches.at[r.launches.n - 1].timing->cycles, 192);
        orr_result_free(&r);
        orr_gpu_free(g);
        kern_free(bad);
        kern_free(good);
    }
}

// What the model cannot do is said: more schedulers or warps than it has room for.
static void test_refused(void **state) {
    (void)state;
    kern *k = chains(1);
    orr_gpu *g = GPU("limit.sm_warps=128", "limit.sm_threads=4096");
    orr_result r = {0};
    orr_err e = {0};
    assert_false(stream_run(g, k, 1, &r, &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
    orr_result_free(&r);
    orr_gpu_free(g);
    kern_free(k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_named_barrier),
        cmocka_unit_test(test_warp_room),
        cmocka_unit_test(test_barrier_and_exit),
        cmocka_unit_test(test_occupancy),
        cmocka_unit_test(test_tail),
        cmocka_unit_test(test_short_blocks),
        cmocka_unit_test(test_dispatch),
        cmocka_unit_test(test_warps_to_schedulers),
        cmocka_unit_test(test_fetch),
        cmocka_unit_test(test_warm_code),
        cmocka_unit_test(test_code_comes),
        cmocka_unit_test(test_code_of_gpc),
        cmocka_unit_test(test_named_constants),
        cmocka_unit_test(test_prefetch),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
