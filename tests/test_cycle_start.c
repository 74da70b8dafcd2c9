// The cycle model where a kernel begins and ends: SMs of a GPC that ask for the same code and parameters at
// once, what waits in line behind a load of constants, the cycles until a warp has gone, and the barriers
// that SMs send to L2 when all have. Figures are worked out in the comments, as in test_cycle_issue.c.
#include "cycle.h"

#define FETCH                                                                                                \
    "icache.perfect=no", "icache.l0=12 KB", "icache.l1_latency=30", "icache.prefetch=0",                     \
        "profiler.warm_code=yes"

// EXIT at 0, gone at 1.
static void test_exit(void **state) {
    (void)state;
    assert_int_equal(cycles_of(GPU("core.issue=1"), kern_of(1, 32, "EXIT")), 1);
}

// Code is there after 30 cycles; where all SMs of a GPC have it together, 10 cycles later for each other one:
// two GPCs of two SMs, 40. Two blocks are on an SM of each GPC, and neither waits for the other.
static void test_gpc_together(void **state) {
    (void)state;
    for (uint32_t blocks = 2; blocks <= 4; blocks += 2) {
        kern *k = kern_of(blocks, 32, "EXIT");
        ran x = run_on(GPU(FETCH, "sm.count=4", "tpc.count=4", "gpc.count=2", "limit.sm_blocks=1",
                           "launch.order=gpc", "launch.block_interval=0", "launch.gpc_code=10"),
                       k);
        for (uint64_t b = 0; b < blocks; b++) assert_int_equal(x.t->spans[b].end, blocks == 4 ? 41 : 31);
        ran_free(&x);
        kern_free(k);
    }
}

// LDC names a parameter. It is asked for at 30 and comes 89 - 27 = 62 cycles later, at 92. S2R, issued at
// 31, is behind it in line, so that its 20 cycles begin at 92: FFMA has it at 112, and EXIT is at 113. With
// the parameter there S2R begins when it is issued, at 31. When there is room for one in line, LDC itself,
// S2R is not issued before 92, and all that is behind it comes when it would have come anyway.
static uint64_t behind(orr_gpu *g, bool cold, uint64_t *mio) {
    kern *k = kern_of(1, 32, "MOV R1\nS2R R2\nFFMA R3 <- R2\nEXIT");
    k->insts.at[0].tclass = ORR_TC_CONST; // LDC of a place that the code names
    if (cold) k->insts.at[0].encoding.constant = 8 + 1;
    ran x = run_on(g, k);
    uint64_t cycles = x.cycles;
    *mio = stalled(&x, ORR_STALL_MIO);
    ran_free(&x);
    kern_free(k);
    return cycles;
}

static void test_behind(void **state) {
    (void)state;
#define COLD                                                                                                 \
    FETCH, "const.cold=yes", "op.s2r.unit=control", "op.s2r.latency=20", "op.mov.unit=lsu", "op.mov.latency=1"
    uint64_t mio;
    assert_int_equal(behind(GPU(COLD), false, &mio), 31 + 20 + 1 + 1);
    assert_int_equal(mio, 0);
    assert_int_equal(behind(GPU(COLD), true, &mio), 92 + 20 + 1 + 1);
    assert_int_equal(behind(GPU(COLD, "launch.gpc_constants=10"), true, &mio),
                     92 + 20 + 1 + 1); // nobody else asks
    assert_int_equal(mio, 0);
    assert_int_equal(behind(GPU(COLD, "lsu.queue=1"), true, &mio), 92 + 20 + 1 + 1);
    assert_int_equal(mio, 92 - 31);
}

// Cycles of a kernel whose blocks, each on an SM of its own, all load the line at `at`.
static uint64_t loaded(orr_gpu *g, uint32_t blocks, int at) {
    kern *k = kern_new(blocks, 32);
    more(k, "LDG R1 <- R2 @%d w0\nFFMA R3 <- R1\nEXIT", at);
    return cycles_of(g, k);
}

// When a kernel ends each SM sends a barrier to the slice it has asked, which is back after 100 cycles. The
// slice takes 10 for each: one SM 110 cycles, three of them 130, since all come at once. One of the other
// half is 100 away (half of l2.far_latency, which is there and back). A kernel that has asked for nothing
// sends none.
static void test_end(void **state) {
    (void)state;
#define HALVES                                                                                               \
    "sm.count=4", "tpc.count=4", "gpc.count=2", "limit.sm_blocks=1", "launch.order=gpc", "l2.partitions=2",  \
        "l2.replicate=yes", "l2.far_latency=200", "l2.fence_interval=10"
    bool near = false, far = false;
    for (int at = 0; at < 4096; at += 128) {
        uint64_t is = loaded(GPU(HALVES, "launch.drain=100"), 1, at), was = loaded(GPU(HALVES), 1, at);
        assert_true(is - was == 100 + 10 || is - was == 100 + 100);
        near |= is - was == 100 + 10;
        far |= is - was == 100 + 100;
    }
    assert_true(near && far);
#define ONE "sm.count=4", "tpc.count=4", "limit.sm_blocks=1", "l2.fence_interval=10"
    for (uint32_t n = 1; n <= 3; n += 2)
        assert_int_equal(loaded(GPU(ONE, "launch.drain=100"), n, 0), loaded(GPU(ONE), n, 0) + 100 + 10 * n);
    assert_int_equal(cycles_of(GPU(ONE, "launch.drain=100"), kern_of(1, 32, "EXIT")), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit),
        cmocka_unit_test(test_gpc_together),
        cmocka_unit_test(test_behind),
        cmocka_unit_test(test_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
