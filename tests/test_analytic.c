// The analytic model: each figure is worked out in the comment above it, for the GPU with round numbers of
// cycle.h, by the rules of docs/how/cycle.md (an instruction is issued in a cycle; one that needs its result
// `latency` later; the next one of the warp a cycle later; the launch ends the cycle after the last issue).
#include "cycle.h"

#include <math.h>

#include "model/analytic/analytic.h"

// ---- the bench: cycle.h's streams through the other model -------------------------------------------
typedef struct estimate {
    orr_gpu *g;
    orr_result r;
    const orr_launch_result *l;
} estimate;

static estimate estimate_on(orr_gpu *g, kern *k) {
    estimate x = {.g = g};
    orr_err e = {0};
    stream s = {.k = k, .nwarps = (k->threads + 31) / 32};
    s.base.info.kernel = kern_kernel(k);
    for (int d = 0; d < 3; d++) s.base.info.grid[d] = s.base.info.block[d] = 1;
    s.base.info.grid[0] = k->grid;
    s.base.info.block[0] = k->threads;
    s.base.next = stream_next;
    s.base.close = stream_close;
    s.warp = calloc(s.nwarps, sizeof *s.warp);
    s.view = calloc(s.nwarps, sizeof *s.view);
    k->k.grows = true; // as a trace: which blocks follow each other is seen in the streams
    orr_work w = {.info = s.base.info, .source = &s.base, .threads = 1};
    if (!orr_model_analytic.run(g, &w, &x.r, &e)) fail_msg("%s", e.text);
    x.l = &x.r.launches.at[0];
    for (uint32_t n = 0; n < s.nwarps; n++) free(s.warp[n].bytes);
    free(s.warp);
    free(s.view);
    return x;
}

static void estimate_free(estimate *x) {
    orr_result_free(&x->r);
    orr_gpu_free(x->g);
}

static double cycles_by(orr_gpu *g, kern *k) {
    estimate x = estimate_on(g, k);
    double cycles = x.l->cycles;
    estimate_free(&x);
    kern_free(k);
    return cycles;
}

static void between(double low, double v, double high) {
    if (!(v >= low && v <= high)) fail_msg("%g is not from %g to %g", v, low, high);
}

// ---- the longest path of a warp by itself -----------------------------------------------------------
// Issued at 0, 10, ... 190, EXIT at 191.
static void test_chain(void **state) {
    (void)state;
    kern *k = kern_new(1, 32);
    for (int n = 0; n < 20; n++) more(k, "FFMA R1 <- R1 R2 R3");
    more(k, "EXIT");
    estimate x = estimate_on(GPU(), k);
    assert_true(x.l->cycles == 19 * 10 + 2);
    assert_int_equal(x.l->warp_insts, 21);
    assert_int_equal(x.l->thread_insts, 21 * 32);
    assert_string_equal(x.l->limits->limit, "latency");
    estimate_free(&x);
    kern_free(k);
}

// The same as a loop: what one round leaves behind the next one waits for. 0, 10, ... 90; EXIT at 91.
static void test_loop(void **state) {
    (void)state;
    kern *k = kern_new(1, 32);
    more(k, "block x10\nFFMA R1 <- R1\nblock\nEXIT");
    assert_true(cycles_by(GPU(), k) == 92);
}

// Code: 64 instructions of 16 bytes are 8 lines of 128. Ten rounds of a loop that the cache does not hold
// fetch them again nine times, from L2, 20 + 200 cycles each: 9 * 8 * 220 more than with a cache that holds
// them. Two loops of 4 lines, one behind the other, fit into a cache of 4 lines, each by itself.
static void test_code_of_loops(void **state) {
    (void)state;
    kern *one[2], *two[2];
    for (int n = 0; n < 2; n++) {
        one[n] = kern_new(1, 32);
        more(one[n], "block x10");
        for (int i = 0; i < 64; i++) more(one[n], "FFMA R%d <- R1", 2 + i);
        more(one[n], "block\nEXIT");
        two[n] = kern_new(1, 32);
        for (int i = 0; i < 64; i++) {
            if (i % 32 == 0) more(two[n], "block x10");
            more(two[n], "FFMA R%d <- R1", 2 + i);
        }
        more(two[n], "block\nEXIT");
    }
#define CODE(size)                                                                                           \
    GPU("icache.perfect=no", "icache.l0=0", "icache.l1=" size, "icache.l1_latency=20", "icache.prefetch=0",  \
        "l2.latency=200")
    double held = cycles_by(CODE("4096"), one[0]), lost = cycles_by(CODE("512"), one[1]);
    between(9 * 8 * 220 - 90, lost - held, 9 * 8 * 220 + 90); // paths are whole cycles
    held = cycles_by(CODE("4096"), two[0]);
    lost = cycles_by(CODE("512"), two[1]);
    assert_true(held == lost);
#undef CODE
}

// A unit of 4 lanes takes a warp every 8 cycles: 0, 8, ... 32, EXIT at 33. Independent ones for 32 lanes: one
// a cycle.
static void test_units(void **state) {
    (void)state;
    kern *k = kern_new(1, 32);
    for (int n = 0; n < 5; n++) more(k, "MUFU R%d <- R1", 2 + n);
    more(k, "EXIT");
    between(34, cycles_by(GPU(), k), 34);
    k = kern_new(1, 32);
    for (int n = 0; n < 100; n++) more(k, "FFMA R%d <- R1", 2 + n);
    more(k, "EXIT");
    assert_true(cycles_by(GPU(), k) == 101);
}

// A load that nobody has asked for before comes from memory, 400 cycles: the one that needs it at 400, EXIT
// at 401. Twice: the second finds it in L1, 30 cycles. 0, 400, 401, 431, EXIT at 432. All L2 and L1 latencies
// perfect: 30.
static void test_loads(void **state) {
    (void)state;
    kern *k = kern_new(1, 32);
    more(k, "LDG R1 <- R2 @0x1000\nFFMA R3 <- R1\nEXIT");
    assert_true(cycles_by(GPU(), k) == 402);
    k = kern_new(1, 32);
    more(k, "block x2\nLDG R1 <- R2 @0x1000\nFFMA R3 <- R1\nblock\nEXIT");
    between(433, cycles_by(GPU(), k), 433);
    // the same where L1 fetches lines whole
    k = kern_new(1, 32);
    more(k, "block x2\nLDG R1 <- R2 @0x1000\nFFMA R3 <- R1\nblock\nEXIT");
    between(433, cycles_by(GPU("l1.sector=128"), k), 433);
    k = kern_new(1, 32);
    more(k, "LDG R1 <- R2 @0x1000\nFFMA R3 <- R1\nEXIT");
    assert_true(cycles_by(GPU("memory=perfect"), k) == 32);
    // 32 lanes in 32 lines: the four banks of L1 take 8 cycles each, so the last sector is 7 cycles later
    k = kern_new(1, 32);
    more(k, "LDG R1 <- R2 @0x1000 +160\nFFMA R3 <- R1\nEXIT");
    assert_true(cycles_by(GPU("memory=perfect"), k) == 32 + 7);
}

// One warp comes to the barrier at 191, the other at 0: both go on 7 cycles after the last, EXIT at 198.
static void test_barrier(void **state) {
    (void)state;
    kern *k = kern_new(1, 64);
    more(k, "block warp 0\n");
    for (int n = 0; n < 20; n++) more(k, "FFMA R1 <- R1 R2 R3");
    more(k, "block\nBAR.SYNC 0\nblock\nEXIT");
    between(199, cycles_by(GPU(), k), 200);
}

// ---- several warps ----------------------------------------------------------------------------------
// 64 warps of 101 instructions, one a cycle: 6464 cycles of issue. Perfect packing is the lower bound; what
// the model adds for waiting is less than one instruction of each warp.
static void test_issue_bound(void **state) {
    (void)state;
    kern *k = kern_new(2, 1024);
    for (int n = 0; n < 100; n++) more(k, "FFMA R%d <- R1", 2 + n % 20);
    more(k, "EXIT");
    estimate x = estimate_on(GPU("limit.register_unit=1"), k);
    assert_string_equal(x.l->limits->limit, "issue");
    assert_true(x.l->limits->optimistic == 64 * 101);
    between(64 * 101, x.l->cycles, 64 * 101 * 1.02);
    estimate_free(&x);
    kern_free(k);
}

// Half of the instructions keep their unit for two cycles. In the order a a b b the warp by itself takes five
// cycles for four of them; so does a scheduler that comes to one kind or the other at random: two of four
// slots are for b, half of the times another b follows and waits a cycle. 2.5 cycles a pair, and not the 2
// that the larger of both uses would be.
static void test_unit_and_issue(void **state) {
    (void)state;
    kern *k = kern_new(2, 1024);
    for (int n = 0; n < 25; n++)
        more(k, "FFMA R%d <- R1\nFFMA R%d <- R1\nIADD3 R%d <- R1\nIADD3 R%d <- R1", 2 + n, 30 + n, 60 + n,
             90 + n);
    more(k, "block\nEXIT");
    double cycles = cycles_by(GPU("limit.register_unit=1"), k);
    between(64 * 50 * 2.5, cycles, 64 * 50 * 2.6);
}

// Two warps that each issue one instruction in ten cycles hardly meet: 192 and a little.
static void test_few_warps(void **state) {
    (void)state;
    kern *k = kern_new(1, 64);
    for (int n = 0; n < 20; n++) more(k, "FFMA R1 <- R1 R2 R3");
    more(k, "EXIT");
    between(192, cycles_by(GPU(), k), 196);
}

// Five blocks, two at a time: three rounds of 192.
static void test_rounds(void **state) {
    (void)state;
    kern *k = kern_new(5, 32);
    for (int n = 0; n < 20; n++) more(k, "FFMA R1 <- R1 R2 R3");
    more(k, "EXIT");
    between(3 * 192, cycles_by(GPU("limit.sm_blocks=2"), k), 3 * 192 * 1.03);
    // and on five SMs: one
    k = kern_new(5, 32);
    for (int n = 0; n < 20; n++) more(k, "FFMA R1 <- R1 R2 R3");
    more(k, "EXIT");
    assert_true(cycles_by(GPU("sm.count=5"), k) == 192);
}

// Blocks of a warp that takes 1000 cycles by itself and issues in half of them. Two are slowed down by s = 1
// + 0.5 (0.5 / s) / (2 (1 - 0.5 / s)), so s = (3 + sqrt 3) / 4, and do 2 / s of one's work together. Of
// three, two at a time: in turn, two take 1000 s, and the third, alone, 1000 more. Oldest first, the first
// takes 1000, in which the second does p = 2 / s - 1 of its path and then the rest, 1 - p, at full speed; in
// that time the third does p (1 - p), and the rest of it alone. Youngest first, the second and then the third
// take 1000 each, and the first has long ended.
static void test_who_goes_first(void **state) {
    (void)state;
    const char *policy[] = {"core.policy=lrr", "core.policy=gto", "core.policy=gty"};
    double s = (3 + sqrt(3)) / 4, p = 2 / s - 1, cycles[] = {1000 * s + 1000, 0, 2000};
    cycles[1] = 1000 * (1 + (1 - p) + (1 - p * (1 - p)));
    for (int n = 0; n < 3; n++) {
        orr_gpu *g = GPU(policy[n], "launch.turnaround=0");
        uint64_t path[] = {1000, 1000, 1000};
        an_tally t = {.nbins = 3, .per = 1, .longest = path, .sum = path, .ntbs = 3, .nwarps = 3};
        an_demand d = {.path = 3000, .use = {[RES_ISSUE] = 1500}, .scale = 1};
        an_machine m;
        an_time out;
        an_machine_of(g, &m);
        an_schedule(g, &m, &d, &t, 2, &out);
        between(cycles[n] - 0.1, out.cycles, cycles[n] + 0.1);
        assert_true(an_latency(g, &m, &d, &t, 2) == 2000);
        orr_gpu_free(g);
    }
}

// 64 warps each load 104 lines that nobody else touches, eight at a time: 64 x 104 x 128 bytes at 32 B a
// cycle from memory, 26,624 cycles. A warp by itself would take 13 times 400 and a few.
static void test_memory_bound(void **state) {
    (void)state;
    kern *k = kern_new(2, 1024);
    more(k, "block x13");
    for (int n = 0; n < 8; n++) more(k, "LDG R%d <- R2 @%d w13312 i1024", 10 + n, 0x100000 + 128 * n);
    more(k, "FFMA R3 <- R17\nblock\nEXIT");
    estimate x = estimate_on(GPU("limit.register_unit=1", "dram.bandwidth=32 GB/s"), k);
    assert_string_equal(x.l->limits->limit, "dram");
    between(26624 * 0.99, x.l->limits->optimistic, 26624 * 1.01); // of the lines some are followed
    between(13 * 400, x.l->limits->latency, 13 * 420);
    between(26624 * 0.99, x.l->cycles, 26624 * 1.1);
    estimate_free(&x);
    kern_free(k);
}

// Stores to one line are one after the other at its slice, however many slices there are: 64 warps store 104
// times to it, ten cycles each.
static void test_one_line(void **state) {
    (void)state;
    kern *k = kern_new(2, 1024);
    more(k, "block x13");
    for (int n = 0; n < 8; n++) more(k, "STG <- R2 R3 @0x100000 +0 m1");
    more(k, "block\nEXIT");
    estimate x = estimate_on(GPU("l2.same_line_store=10", "l2.slices=8"), k);
    assert_string_equal(x.l->limits->limit, "l2.stores");
    between(66560 * 0.99, x.l->limits->optimistic, 66560 * 1.01);
    estimate_free(&x);
    kern_free(k);
}

// ---- the paper's IV-B -------------------------------------------------------------------------------
// Two accesses to two banks meet half the time. Three to three banks: 3 less the banks that are hit, 3 (1 -
// (2/3)^3): 8/9. One bank with two ports, three accesses: one too many. Two that each read every other cycle:
// both do in a quarter, and meet in half of those.
static void test_bank_conflicts(void **state) {
    (void)state;
    assert_true(fabs(an_bank_conflicts(2, 2, 2, 1) - 0.5) < 1e-12);
    assert_true(fabs(an_bank_conflicts(3, 3, 3, 1) - 8.0 / 9) < 1e-12);
    assert_true(fabs(an_bank_conflicts(3, 3, 1, 2) - 1) < 1e-12);
    assert_true(fabs(an_bank_conflicts(1, 2, 2, 1) - 0.125) < 1e-12);
    assert_true(an_bank_conflicts(0, 4, 16, 1) == 0);
    assert_true(an_bank_conflicts(1, 1, 16, 1) == 0);
}

// The same by throwing: a million cycles, four that read with probability 1.3 / 4 each, from 16 banks. The
// standard error of the mean is about 0.0002.
static void test_bank_conflicts_thrown(void **state) {
    (void)state;
    uint64_t seed = 42, conflicts = 0;
    const int rounds = 1000000;
    for (int n = 0; n < rounds; n++) {
        int on[16] = {0};
        for (int k = 0; k < 4; k++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            if ((double)(seed >> 11) / 9007199254740992.0 >= 1.3 / 4) continue;
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            conflicts += on[seed >> 60]++ > 0;
        }
    }
    assert_true(fabs(an_bank_conflicts(1.3, 4, 16, 1) - (double)conflicts / rounds) < 0.001);
}

// On a core with collectors, what comes out is a fixed point: with the cycles that it says, the conflicts are
// those that it says. 32 warps of 100 instructions with three operands and a result; one scheduler, so three
// can be reading at a time and one can be writing. n of them that make m accesses a cycle to b banks have
// b (m/b - 1 + (1 - m/(n b))^n) conflicts; a single one that writes has none with itself.
static void test_fixed_point(void **state) {
    (void)state;
    kern *k = kern_new(1, 1024);
    for (int n = 0; n < 100; n++) more(k, "FFMA R%d <- R1 R2 R3", 4 + n % 20);
    more(k, "EXIT");
    estimate x =
        estimate_on(GPU("core.kind=collector", "regs.collectors=8", "regs.banks=4", "regs.ports=1"), k);
    double t = x.l->cycles, m = 32 * 100 * 4 / t, b = 4;
    assert_true(x.l->limits->register_reads == 32 * 100 * 3);
    double expected = t * b * (m / b - 1 + pow(1 - m / (4 * b), 4));
    between(expected * 0.998, x.l->limits->register_conflicts, expected * 1.002);
    assert_true(x.l->counters[ORR_C_REG_CONFLICTS] == x.l->limits->register_conflicts);
    estimate_free(&x);
    kern_free(k);
}

// The fewer banks, the longer: 32 warps of instructions that make four accesses each. Two banks serve two a
// cycle, so 100 instructions of 32 warps take 6,400 cycles at least. Without the probabilistic part time is
// the bound, which is never more than with it.
static void test_banks_cost(void **state) {
    (void)state;
    double before = INFINITY;
    const char *banks[] = {"regs.banks=2", "regs.banks=4", "regs.banks=64"};
    for (int n = 0; n < 3; n++) {
        kern *k = kern_new(1, 1024);
        for (int i = 0; i < 100; i++) more(k, "FFMA R%d <- R1 R2 R3", 4 + i % 20);
        more(k, "EXIT");
        estimate with =
            estimate_on(GPU("core.kind=collector", "regs.collectors=8", "regs.ports=1", banks[n]), k);
        estimate without = estimate_on(GPU("core.kind=collector", "regs.collectors=8", "regs.ports=1",
                                           banks[n], "analytic.probabilistic=no"),
                                       k);
        assert_true(with.l->cycles < before);
        before = with.l->cycles;
        if (n == 0) assert_true(with.l->limits->optimistic >= 6400);
        assert_true(without.l->cycles <= with.l->cycles);
        between(with.l->limits->optimistic - 1, without.l->cycles, with.l->limits->optimistic + 1);
        estimate_free(&with);
        estimate_free(&without);
        kern_free(k);
    }
}

// ---- input that is not as it should be --------------------------------------------------------------
static void test_damaged(void **state) {
    (void)state;
    kern *k = kern_new(1, 32);
    more(k, "LDG R1 <- R2 @0x1000\nEXIT");
    k->cut = 3;
    orr_gpu *g = GPU();
    stream s = {.k = k, .nwarps = 1};
    s.base.info.kernel = kern_kernel(k);
    for (int d = 0; d < 3; d++) s.base.info.grid[d] = s.base.info.block[d] = 1;
    s.base.info.block[0] = 32;
    s.base.next = stream_next;
    s.base.close = stream_close;
    s.warp = calloc(1, sizeof *s.warp);
    s.view = calloc(1, sizeof *s.view);
    orr_work w = {.info = s.base.info, .source = &s.base, .threads = 1};
    orr_result r = {0};
    orr_err e = {0};
    assert_false(orr_model_analytic.run(g, &w, &r, &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
    assert_non_null(strstr(e.text, "damaged"));
    free(s.warp->bytes);
    free(s.warp);
    free(s.view);
    orr_result_free(&r);
    orr_gpu_free(g);
    kern_free(k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_code_of_loops),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_loads),
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_issue_bound),
        cmocka_unit_test(test_unit_and_issue),
        cmocka_unit_test(test_few_warps),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_who_goes_first),
        cmocka_unit_test(test_memory_bound),
        cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_bank_conflicts),
        cmocka_unit_test(test_bank_conflicts_thrown),
        cmocka_unit_test(test_fixed_point),
        cmocka_unit_test(test_banks_cost),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
