// The cycle model's SM, mechanism by mechanism: each figure is worked out in the comment above it.
//
// How to count: a warp's first instruction is issued in cycle 0; an instruction that needs the result of one
// issued in cycle t can issue in t + latency; the next one of the warp in t + 1 at the earliest; a block that
// issues its last instruction in cycle t ends in t + 1, and the launch is as long as that.
#include "cycle.h"

// ---- one warp ------------------------------------------------------------------------------------
// Issued at 0, 10, ... 190: a result takes 10 cycles. EXIT needs none: at 191. The launch takes 192.
static void test_chain(void **state) {
    (void)state;
    kern *k = kern_new(1, 32);
    for (int n = 0; n < 20; n++) more(k, "FFMA R1 <- R1 R2 R3");
    more(k, "EXIT");
    ran x = run_on(GPU(), k);
    assert_int_equal(x.cycles, 19 * 10 + 2);
    assert_int_equal(stalled(&x, ORR_STALL_ISSUED), 21);
    assert_int_equal(stalled(&x, ORR_STALL_WAIT), 19 * 9); // between two of them
    assert_int_equal(x.t->by_inst[1][ORR_STALL_WAIT], 9);
    assert_int_equal(x.t->by_inst[20][ORR_STALL_WAIT], 0);
    ran_free(&x);
    kern_free(k);
}

// The latency of each class: one instruction, one that needs it, EXIT: latency + 2. A name the description
// has for itself (op.fadd) counts more than its class.
static void test_latency_by_class(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int latency;
    } ops[] = {{"FFMA", 10}, {"IADD3", 6}, {"MUFU", 25}, {"NOP", 1}, {"BSSY", 5}, {"FADD", 17}};
    for (size_t n = 0; n < sizeof ops / sizeof *ops; n++) {
        kern *k = kern_new(1, 32);
        more(k, "%s R1 <- R2\nFFMA R3 <- R1\nEXIT", ops[n].name);
        assert_int_equal(cycles_of(GPU("op.fadd.unit=fma", "op.fadd.latency=17"), k), ops[n].latency + 2);
    }
}

// Independent instructions: one a cycle, at 0 .. 99, EXIT at 100.
static void test_independent(void **state) {
    (void)state;
    kern *k = kern_new(1, 32);
    for (int n = 0; n < 100; n++) more(k, "FFMA R%d <- R1 R2 R3", 4 + n);
    more(k, "EXIT");
    ran x = run_on(GPU(), k);
    assert_int_equal(x.cycles, 101);
    assert_int_equal(stalled(&x, ORR_STALL_ISSUED), 101);
    assert_int_equal(x.t->warp_cycles, 101); // no other reason
    ran_free(&x);
    kern_free(k);
}

// A unit of 16 lanes takes a warp every 32 / 16 = 2 cycles, one of 4 lanes every 8. n instructions: the last
// at (n - 1) * interval, EXIT in the cycle after, the end in the one after that.
static void test_interval(void **state) {
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        int interval = slow ? 8 : 2;
        kern *k = kern_new(1, 32);
        for (int n = 0; n < 50; n++) more(k, "%s R%d <- R1", slow ? "MUFU" : "IADD3", 4 + n);
        more(k, "EXIT");
        ran x = run_on(GPU(), k);
        assert_int_equal(x.cycles, 49 * interval + 2);
        // The warp is alone: what it waits for is the unit, never another warp.
        assert_int_equal(stalled(&x, ORR_STALL_MATH), 49 * (interval - 1));
        assert_int_equal(stalled(&x, ORR_STALL_SELECTED), 0);
        ran_free(&x);
        kern_free(k);
    }
}

// Two units that are busy for two cycles each take turns: one a cycle all the same.
static void test_two_kinds_of_units(void **state) {
    (void)state;
    kern *k = kern_new(1, 32);
    for (int n = 0; n < 20; n++) more(k, "IADD3 R%d <- R1\nFFMA R%d <- R1", 4 + n, 50 + n);
    more(k, "EXIT");
    assert_int_equal(cycles_of(GPU("unit.fma.lanes=16"), k), 41);
}

// A result written before an older one to the same register has come: the second waits for the first, 25
// cycles (WAW). Its own reader waits for the second: 25 + 10. EXIT one later.
static void test_waw(void **state) {
    (void)state;
    kern *k = kern_of(1, 32, "MUFU R1 <- R2\nFFMA R1 <- R3\nFFMA R4 <- R1\nEXIT");
    ran x = run_on(GPU(), k);
    assert_int_equal(x.cycles, 25 + 10 + 2);
    assert_int_equal(stalled(&x, ORR_STALL_SHORT), 24); // for the MUFU: cycles 1 to 24
    assert_int_equal(stalled(&x, ORR_STALL_WAIT), 9);
    ran_free(&x);
    kern_free(k);
}

// Predicates are registers of their own: P1 is not R1.
static void test_predicates(void **state) {
    (void)state;
    // 0: writes P1. 1: needs R1, which nobody writes. 6: needs P1. 7: EXIT.
    assert_int_equal(
        cycles_of(GPU(), kern_of(1, 32, "ISETP P1 <- R2\nFFMA R3 <- R1\nFFMA R4 <- R2 P1\nEXIT")), 8);
}

// After a branch the warp issues nothing for core.branch_wait cycles, or for the latency of a branch. Ten
// rounds: FFMA, BRA; a round is 1 + wait cycles. EXIT behind the last BRA.
static void test_branch(void **state) {
    (void)state;
    const char *text = "block x10\nFFMA R1 <- R2\nBRA\nblock\nEXIT";
    assert_int_equal(cycles_of(GPU("op.fp32.latency=1"), kern_of(1, 32, text)), 10 * (1 + 5) + 1);
    kern *k = kern_of(1, 32, text);
    ran x = run_on(GPU("op.fp32.latency=1", "core.branch_wait=9"), k);
    assert_int_equal(x.cycles, 10 * (1 + 9) + 1);
    assert_int_equal(stalled(&x, ORR_STALL_BRANCH), 10 * 8);
    assert_int_equal(x.sm->branches, 10);
    ran_free(&x);
    kern_free(k);
    // Nine of them go back, which costs 4 more; the last goes on to the next instruction.
    assert_int_equal(cycles_of(GPU("op.fp32.latency=1", "core.branch_taken=4"), kern_of(1, 32, text)),
                     10 * (1 + 5) + 9 * 4 + 1);
}

// ---- several warps ---------------------------------------------------------------------------------
static kern *warps_of(int warps, const char *name, int n) {
    kern *k = kern_new(1, 32 * (uint32_t)warps);
    for (int i = 0; i < n; i++) more(k, "%s R%d <- R1", name, 4 + i);
    more(k, "EXIT");
    return k;
}

// One scheduler issues one instruction a cycle, whoever's: 4 warps of 26. Two schedulers (with their own
// units) two.
static void test_issue_rate(void **state) {
    (void)state;
    assert_int_equal(cycles_of(GPU(), warps_of(4, "FFMA", 25)), 4 * 26);
    assert_int_equal(
        cycles_of(GPU("core.schedulers=2", "core.subcores=2", "unit.fma.count=2", "unit.control.count=2"),
                  warps_of(4, "FFMA", 25)),
        2 * 26);
    // A scheduler that issues every other cycle: at 0, 2, ... 2 * 103.
    assert_int_equal(cycles_of(GPU("core.issue_interval=2"), warps_of(4, "FFMA", 25)), 2 * 103 + 1);
}

// With enough warps the latency is hidden: 10 warps of chains of 20, latency 10: every cycle one issues. All
// chains end with the round at 190 .. 199, each followed by its EXIT; the last EXIT makes 10 * 21
// instructions in 210 cycles.
static void test_latency_hidden(void **state) {
    (void)state;
    kern *k = kern_new(1, 320);
    for (int n = 0; n < 20; n++) more(k, "FFMA R1 <- R1");
    more(k, "EXIT");
    assert_int_equal(cycles_of(GPU(), k), 210);
}

// Two warps on two schedulers. One unit for both, 2 cycles each: 2 * 25 instructions, the last at 2 * 49,
// EXIT, end: 100. Two units, shared or one for each sub-core: each warp as if alone, the last at 2 * 24: 50.
static void test_units_shared(void **state) {
    (void)state;
    kern *k = warps_of(2, "IADD3", 25);
    ran x = run_on(GPU("core.schedulers=2"), k);
    assert_int_equal(x.cycles, 100);
    assert_int_equal(x.t->unit_busy[1], 100); // of the ALU: 50 instructions of 2 cycles
    ran_free(&x);
    kern_free(k);
    assert_int_equal(cycles_of(GPU("core.schedulers=2", "unit.alu.count=2", "unit.control.count=2"),
                               warps_of(2, "IADD3", 25)),
                     50);
    assert_int_equal(
        cycles_of(GPU("core.schedulers=2", "core.subcores=2", "unit.alu.count=2", "unit.control.count=2"),
                  warps_of(2, "IADD3", 25)),
        50);
    // One unit for two sub-cores serves both, as the one shared by two schedulers does. Where nothing is said
    // each has its own.
    assert_int_equal(
        cycles_of(GPU("core.schedulers=2", "core.subcores=2", "unit.alu.count=1", "unit.control.count=1"),
                  warps_of(2, "IADD3", 25)),
        100);
    assert_int_equal(cycles_of(GPU("core.schedulers=2", "core.subcores=2"), warps_of(2, "IADD3", 25)), 50);
}

// Two warps and one unit of 8 cycles: while one of them waits for its turn, the unit is busy, or free and
// given to the other. 20 instructions: at 0, 8, ... 152. All reasons together are the time both are there.
static void test_unit_contended(void **state) {
    (void)state;
    kern *k = warps_of(2, "MUFU", 10);
    ran x = run_on(GPU(), k);
    assert_int_equal(x.cycles, 19 * 8 + 2);
    // Both are ready all the time. The first: nothing at 0, then it waits 15 cycles for each of its 9 other
    // turns: in one of them the unit is given to the other, in 14 it is busy. The second waits 8 cycles for
    // its first turn, of which one is the other's, and 15 for the others.
    assert_int_equal(stalled(&x, ORR_STALL_SELECTED), 9 + 1 + 9);
    assert_int_equal(stalled(&x, ORR_STALL_MATH), 9 * 14 + 7 + 9 * 14);
    ran_free(&x);
    kern_free(k);
}

// ---- dual issue --------------------------------------------------------------------------------------
static void test_dual(void **state) {
    (void)state;
    // Pairs for different units: one pair a cycle, 0 .. 19, EXIT at 20.
    kern *k = kern_new(1, 32);
    for (int n = 0; n < 20; n++) more(k, "FFMA R%d <- R1\nIADD3 R%d <- R1", 4 + n, 50 + n);
    more(k, "EXIT");
    ran x = run_on(GPU("core.issue=2", "unit.alu.lanes=32"), k);
    assert_int_equal(x.cycles, 21);
    assert_int_equal(x.sm->dual, 20);
    ran_free(&x);
    kern_free(k);
    // For the same unit: one a cycle, even if there are two; only the last goes with EXIT, at 19.
    assert_int_equal(cycles_of(GPU("core.issue=2", "unit.fma.count=2"), warps_of(1, "FFMA", 20)), 20);
    // Unless the description allows it: 10 pairs, EXIT at 10. One unit alone does not become two by that.
    assert_int_equal(
        cycles_of(GPU("core.issue=2", "unit.fma.count=2", "core.dual_units=no"), warps_of(1, "FFMA", 20)),
        11);
    assert_int_equal(cycles_of(GPU("core.issue=2", "core.dual_units=no"), warps_of(1, "FFMA", 20)), 20);
    // The second needs the first's result: not together. FFMA 0, IADD3 10 with the next round's FFMA, which
    // needs nothing. 5 rounds: the last IADD3 at 50, with EXIT.
    k = kern_new(1, 32);
    for (int n = 0; n < 5; n++) more(k, "FFMA R%d <- R1\nIADD3 R%d <- R%d", 10 + n, 20 + n, 10 + n);
    more(k, "EXIT");
    assert_int_equal(cycles_of(GPU("core.issue=2", "unit.alu.lanes=32"), k), 51);
    // Both instructions are of one warp: two warps of 20 pairs take turns, 40 pairs and two EXITs.
    k = kern_new(1, 64);
    for (int n = 0; n < 20; n++) more(k, "FFMA R%d <- R1\nIADD3 R%d <- R1", 4 + n, 50 + n);
    more(k, "EXIT");
    assert_int_equal(cycles_of(GPU("core.issue=2", "unit.alu.lanes=32"), k), 42);
}

// ---- who goes first --------------------------------------------------------------------------------------
// Blocks of one warp, so that the span of block b says when warp b (the b-th oldest) ended.
static void check_ends(const char *policy, const char *active, kern *k, const uint64_t *end) {
    char one[64], two[64];
    snprintf(one, sizeof one, "core.policy=%s", policy);
    snprintf(two, sizeof two, "core.active=%s", active);
    ran x = run_on(GPU(one, two), k);
    assert_int_equal(x.t->nspans, k->grid);
    for (uint64_t n = 0; n < x.t->nspans; n++)
        if (x.t->spans[n].end != end[x.t->spans[n].block])
            fail_msg("%s: warp %d ended in %d, not in %d", policy, (int)x.t->spans[n].block,
                     (int)x.t->spans[n].end, (int)end[x.t->spans[n].block]);
    ran_free(&x);
    kern_free(k);
}

static kern *blocks_of(uint32_t blocks, int n) {
    kern *k = kern_new(blocks, 32);
    for (int i = 0; i < n; i++) more(k, "FFMA R%d <- R1", 4 + i);
    more(k, "EXIT");
    return k;
}

// Four warps of 20 instructions that are always ready.
static void test_policies(void **state) {
    (void)state;
    // Round robin: warp w issues at w, w + 4, ... w + 76.
    check_ends("lrr", "8", blocks_of(4, 19), (uint64_t[]){77, 78, 79, 80});
    // Greedy: one after the other, the oldest or the youngest first.
    check_ends("gto", "8", blocks_of(4, 19), (uint64_t[]){20, 40, 60, 80});
    check_ends("gty", "8", blocks_of(4, 19), (uint64_t[]){80, 60, 40, 20});
    check_ends("oldest", "8", blocks_of(4, 19), (uint64_t[]){20, 40, 60, 80});
    // Two levels, two active: 0 and 1 in turn until they end, then 2 and 3.
    check_ends("two-level", "2", blocks_of(4, 19), (uint64_t[]){39, 40, 79, 80});
}

// Greedy and oldest part when an older warp becomes ready again. Warp 0: two FFMAs, the second needs the
// first, EXIT. Warp 1: 20 independent ones, EXIT.
static void test_greedy_or_oldest(void **state) {
    (void)state;
    kern *k[3];
    for (int n = 0; n < 3; n++) {
        k[n] = kern_of(2, 32, "block tb 0\nFFMA R1 <- R1\nFFMA R1 <- R1\nEXIT\nblock tb 1");
        for (int i = 0; i < 20; i++) more(k[n], "FFMA R%d <- R1", 4 + i);
        more(k[n], "EXIT");
    }
    // Warp 0 at 0. Warp 1 from 1 to 21, though warp 0 is ready at 10: that one at 22, 23.
    check_ends("gto", "8", k[0], (uint64_t[]){24, 22});
    // Warp 0 at 0, 10, 11; warp 1's 21 at 1 .. 9 and 12 .. 23.
    check_ends("oldest", "8", k[1], (uint64_t[]){12, 24});
    // The youngest first: warp 1 from 0 to 20, warp 0 at 21, 31, 32.
    check_ends("gty", "8", k[2], (uint64_t[]){33, 21});
}

// A greedy scheduler's warp that ends gives way to the oldest, not to the new warp that takes its place. Two
// resident blocks of 10 instructions, three in all: 0 runs 0 .. 9; then 1, which is older than 2, 10 .. 19;
// then 2.
static void test_greedy_after_end(void **state) {
    (void)state;
    kern *k = blocks_of(3, 9);
    ran x = run_on(GPU("core.policy=gto", "limit.sm_blocks=2"), k);
    for (uint64_t n = 0; n < x.t->nspans; n++)
        assert_int_equal(x.t->spans[n].end, 10 * (x.t->spans[n].block + 1));
    ran_free(&x);
    kern_free(k);
}

// Two levels, one active. Warp 0 loads (400 cycles from memory) and leaves its place to warp 1, which keeps
// it for its 501 instructions (1 .. 501); then warp 0 goes on at 502, 503. Round robin lets warp 0 in when
// its data come, at 400 and 401.
static void test_two_level_long_wait(void **state) {
    (void)state;
    for (int lrr = 0; lrr < 2; lrr++) {
        kern *k = kern_of(2, 32, "block tb 0\nLDG R1 <- R2 @0x10000 +0\nFFMA R3 <- R1\nEXIT\nblock tb 1");
        for (int i = 0; i < 500; i++) more(k, "FFMA R%d <- R1", 4 + i % 200);
        more(k, "EXIT");
        if (lrr) // warp 1: 1 .. 399, then two cycles are warp 0's (in turn: 400, 402), 501 + 2 in all
            check_ends("lrr", "1", k, (uint64_t[]){403, 504});
        else
            check_ends("two-level", "1", k, (uint64_t[]){504, 502});
    }
}

// ---- control bits -------------------------------------------------------------------------------
// The code says how long to wait, not the registers: a chain with stall 2 issues every 2 cycles, latency
// 10 or not.
static void test_stall_counts(void **state) {
    (void)state;
    kern *k = kern_new(1, 32);
    for (int n = 0; n < 20; n++) more(k, "FFMA R1 <- R1 | stall 2");
    more(k, "EXIT");
    assert_int_equal(cycles_of(GPU(), k), 41);
    k = kern_new(1, 32);
    for (int n = 0; n < 20; n++) more(k, "FFMA R1 <- R1 | stall 10");
    more(k, "EXIT");
    assert_int_equal(cycles_of(GPU(), k), 201);
    // stall 1: the unit's own interval still counts
    k = kern_new(1, 32);
    for (int n = 0; n < 20; n++) more(k, "IADD3 R1 <- R1 | stall 1");
    more(k, "EXIT");
    assert_int_equal(cycles_of(GPU(), k), 40);
}

// A stall count passes before anything else counts, whatever the next instruction waits for besides: a branch
// that costs 4 cycles behind a stall count of 5, ten rounds of which the last does not jump; a MUFU of 25
// cycles, of which 9 are its stall count.
static void test_stall_counts_come_first(void **state) {
    (void)state;
    kern *k = kern_of(1, 32, "block x10\nFFMA R1 <- R2 | stall 1\nBRA | stall 5\nblock\nEXIT | stall 1");
    ran x = run_on(GPU("core.branch_taken=4"), k);
    assert_int_equal(stalled(&x, ORR_STALL_WAIT), 10 * 4);
    assert_int_equal(stalled(&x, ORR_STALL_BRANCH), 9 * 4);
    ran_free(&x);
    kern_free(k);
    k = kern_of(1, 32, "MUFU R1 <- R2 | wbar 1 stall 10\nFFMA R4 <- R1 | wait 2\nEXIT | stall 1");
    x = run_on(GPU(), k);
    assert_int_equal(x.t->by_inst[1][ORR_STALL_WAIT], 9);
    assert_int_equal(x.t->by_inst[1][ORR_STALL_SHORT], 25 - 10);
    ran_free(&x);
    kern_free(k);
}

// A write barrier is open until the result has come, and whoever has it in its wait mask waits; the others do
// not.
static void test_write_barriers(void **state) {
    (void)state;
    // MUFU 0 (25 cycles, barrier 1); FFMA 1 waits for nothing; FFMA 25; EXIT 26.
    kern *k = kern_of(1, 32, "MUFU R1 <- R2 | wbar 1\nFFMA R3 <- R1 | stall 1\nFFMA R4 <- R1 | wait 2\nEXIT");
    ran x = run_on(GPU(), k);
    assert_int_equal(x.cycles, 27);
    assert_int_equal(stalled(&x, ORR_STALL_SHORT), 23); // cycles 2 to 24
    ran_free(&x);
    kern_free(k);
    // LDS 0 and 1 (20 cycles each) on one barrier: both must have come, at 21. EXIT 22.
    assert_int_equal(cycles_of(GPU(), kern_of(1, 32,
                                              "LDS R1 <- R2 @0 | wbar 0\nLDS R3 <- R2 @128 | wbar 0\n"
                                              "FFMA R4 <- R1 R3 | wait 1\nEXIT")),
                     23);
    // On two barriers: a wait for the first only, at 20, then for the second, at 21.
    assert_int_equal(cycles_of(GPU(), kern_of(1, 32,
                                              "LDS R1 <- R2 @0 | wbar 0\nLDS R3 <- R2 @128 | wbar 5\n"
                                              "FFMA R4 <- R1 | wait 1\nFFMA R4 <- R3 | wait 32\nEXIT")),
                     23);
    // From memory: 400 cycles. A wait for both barriers.
    assert_int_equal(
        cycles_of(GPU(), kern_of(1, 32,
                                 "LDG R1 <- R2 @0x10000 +0 | wbar 0\nLDS R3 <- R2 @128 | wbar 1\n"
                                 "FFMA R4 <- R1 R3 | wait 3\nEXIT")),
        402);
}

// DEPBAR.LE SB, 0 (its immediate: scoreboard << 8 | count) waits as a wait mask does.
static void test_depbar(void **state) {
    (void)state;
    assert_int_equal(cycles_of(GPU(), kern_of(1, 32, "MUFU R1 <- R2 | wbar 3\nDEPBAR 0x300 | stall 1\nEXIT")),
                     27);
    assert_int_equal(cycles_of(GPU(), kern_of(1, 32, "MUFU R1 <- R2 | wbar 3\nDEPBAR 0x200 | stall 1\nEXIT")),
                     3);
}

// A read barrier is open until the operands have been read: a store's, when it leaves the queue of the
// load/store unit. Four stores of 32 passes each (all lanes on one bank) start at 0, 32, 64, 96. Who
// overwrites the last one's register waits.
static void test_read_barriers(void **state) {
    (void)state;
    kern *k = kern_new(1, 32);
    for (int n = 0; n < 4; n++) more(k, "STS <- R1 R%d @0 +128 | rbar 2", 4 + n);
    more(k, "FFMA R7 <- R1 | wait 4\nEXIT");
    assert_int_equal(cycles_of(GPU(), k), 96 + 3); // read in the cycle it starts, free in the next; EXIT; end
}

// yield: the scheduler prefers another warp next. Two warps of 10, greedy: with yield on each instruction
// they take turns.
static void test_yield(void **state) {
    (void)state;
    for (int yields = 0; yields < 2; yields++) {
        kern *k = kern_new(2, 32);
        for (int n = 0; n < 9; n++) more(k, "FFMA R%d <- R1 | stall 1%s", 4 + n, yields ? " yield" : "");
        more(k, "EXIT");
        if (yields)
            check_ends("gto", "8", k, (uint64_t[]){19, 20});
        else
            check_ends("gto", "8", k, (uint64_t[]){10, 20});
    }
}

// ---- registers: the modern core -----------------------------------------------------------------
// Two banks (even, odd), one read a cycle each, and three cycles for an instruction to read in. 20
// instructions that read n registers of a bank each: 20 n reads, the last of which must be done three
// cycles after the last instruction got in. So that is at 20 n - 3, or at 19 when nobody waits; EXIT is
// one later. What they waited is the difference.
static void test_register_banks(void **state) {
    (void)state;
    static const struct {
        const char *operands;
        uint64_t n; // reads of the busier bank
    } cases[] = {
        {"R2 R3", 1},    // one of each
        {"R2 R4", 2},    // both even
        {"R2 R3 R4", 2}, // two even
        {"R2 R4 R6", 3}, // three even
        {"R2 R2 R2", 1}, // read once
        {"R2 R3 P2", 1}, // predicates are elsewhere
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        kern *k = kern_new(1, 32);
        for (int i = 0; i < 20; i++) more(k, "FFMA R%d <- %s", 20 + i, cases[n].operands);
        more(k, "EXIT");
        ran x = run_on(GPU("regs.ports=1"), k);
        uint64_t last = cases[n].n == 1 ? 19 : 20 * cases[n].n - 3;
        assert_int_equal(x.cycles, last + 2);
        assert_int_equal(x.t->register_conflicts, last - 19);
        ran_free(&x);
        kern_free(k);
        // FFMA, one that needs it, EXIT: the first finds its banks free
        k = kern_new(1, 32);
        more(k, "FFMA R20 <- %s\nFFMA R21 <- R20\nEXIT", cases[n].operands);
        assert_int_equal(cycles_of(GPU("regs.ports=1"), k), 10 + 2);
    }
    // Two even and one odd, then the other way round: 30 reads of each bank, the last at 27.
    kern *k = kern_new(1, 32);
    for (int i = 0; i < 10; i++) more(k, "FFMA R20 <- R2 R4 R3\nFFMA R21 <- R5 R7 R6");
    more(k, "EXIT");
    assert_int_equal(cycles_of(GPU("regs.ports=1", "op.fp32.latency=1"), k), 27 + 2);
    // Four banks: R2 and R6 meet, R4 does not. A window of one cycle: each waits for the two reads
    // of the one before, the last gets in at 38.
    for (int window = 0; window < 2; window++) {
        k = kern_new(1, 32);
        for (int i = 0; i < 20; i++) more(k, "FFMA R%d <- R2 R4 R6", 20 + i);
        more(k, "EXIT");
        if (window)
            assert_int_equal(cycles_of(GPU("regs.ports=1", "regs.banks=4", "regs.window=1"), k), 38 + 2);
        else
            assert_int_equal(cycles_of(GPU("regs.ports=1", "regs.banks=4"), k), 37 + 2);
    }
}

// An operand that is marked for reuse is not read again in its place until another one of its bank is. 20
// instructions whose three operands are even: 60 reads, 3 + 19 x 2 when R2 is kept, 3 + 19 when R2, R4 are.
static void test_register_reuse(void **state) {
    (void)state;
    static const uint64_t last[] = {60 - 3, 41 - 3, 22 - 3};
    for (int kept = 0; kept < 3; kept++)
        for (int cache = 0; cache < 3; cache++) {
            kern *k = kern_new(1, 32);
            for (int i = 0; i < 20; i++)
                more(k, "FFMA R%d <- R2 R4 R%d | reuse %d", 20 + i, 40 + 2 * i, (1 << kept) - 1);
            more(k, "EXIT");
            if (!cache) // the marks do nothing
                assert_int_equal(cycles_of(GPU("regs.ports=1"), k), 57 + 2);
            else if (cache == 1)
                assert_int_equal(cycles_of(GPU("regs.ports=1", "regs.reuse=yes"), k), last[kept] + 2);
            else // each begins when the bank is free: the second at 3, the others 3, 2 or 1 apart
                assert_int_equal(cycles_of(GPU("regs.ports=1", "regs.reuse=yes", "regs.window=1"), k),
                                 3 + 18 * (3 - kept) + 2);
        }
    // Ten times R2 R4 R6, R2 kept, and another instruction in between. If that reads R3, R2 stays: 3 + 9 x 2
    // even reads, nobody waits, EXIT at 20. If it reads R8 in R2's place, R2 is gone: 30 + 10 reads, the last
    // at 37.
    for (int other = 0; other < 2; other++) {
        kern *k = kern_new(1, 32);
        for (int i = 0; i < 10; i++)
            more(k, "FFMA R20 <- R2 R4 R6 | reuse 1\nFFMA R21 <- %s | stall 1", other ? "R8" : "R3");
        more(k, "EXIT");
        assert_int_equal(cycles_of(GPU("regs.ports=1", "regs.reuse=yes"), k), other ? 37 + 2 : 19 + 2);
    }
    // Kept in the first place, wanted in the second: read; and still there for the first. The first
    // instruction reads R2 and R4, then only R4, the second R2 and R6: 2 + 9 + 20 even reads, the last at 28.
    kern *k = kern_new(1, 32);
    for (int i = 0; i < 10; i++) more(k, "FFMA R20 <- R2 R3 R4 | reuse 1\nFFMA R21 <- R3 R2 R6 | stall 1");
    more(k, "EXIT");
    assert_int_equal(cycles_of(GPU("regs.ports=1", "regs.reuse=yes"), k), 28 + 2);
}

// Results that are read late (regs.late): an FFMA reads two registers of one bank that were made d and 4
// cycles before. With d = 5 and 6 it waits until the older one has been there for 8 cycles, and is issued at
// 8; with 7 it does not, nor where they are in different banks, or without regs.late: it is issued at d. EXIT
// a cycle later.
static void test_late_results(void **state) {
    (void)state;
    for (int d = 5; d < 9; d++)
        for (int how = 0; how < 3; how++) { // as it is; different banks; without regs.late
            kern *k = kern_new(1, 32);
            more(k,
                 "FFMA R4 <- R21 | stall %d\nFFMA R%d <- R21 | stall 4\nFFMA R8 <- R4 R%d | stall 1\n"
                 "EXIT | stall 1",
                 d - 4, how == 1 ? 7 : 6, how == 1 ? 7 : 6);
            int at = how || d >= 7 ? d : 8;
            assert_int_equal(
                cycles_of(GPU("regs.ports=1", "op.fp32.result=4", how == 2 ? "regs.late=0" : "regs.late=8"),
                          k),
                at + 2);
        }
}

// ---- on the way to the units --------------------------------------------------------------------
// A unit with a queue: three MUFUs (8 cycles each) are issued at 0, 1, 2 and begin at 0, 8, 16; the
// third's result is there at 16 + 25. A fourth finds room at 8.
static void test_queue(void **state) {
    (void)state;
    const char *three = "MUFU R2 <- R1\nMUFU R3 <- R1\nMUFU R4 <- R1\n";
    char text[200];
    snprintf(text, sizeof text, "%sFFMA R5 <- R1\nEXIT", three);
    assert_int_equal(cycles_of(GPU(), kern_of(1, 32, text)), 19); // 0, 8, 16, 17, 18
    assert_int_equal(cycles_of(GPU("unit.xu.queue=2"), kern_of(1, 32, text)), 5);
    snprintf(text, sizeof text, "%sFFMA R5 <- R4\nEXIT", three);
    assert_int_equal(cycles_of(GPU("unit.xu.queue=2"), kern_of(1, 32, text)), 41 + 2);
    snprintf(text, sizeof text, "%sMUFU R5 <- R1\nEXIT", three);
    assert_int_equal(cycles_of(GPU("unit.xu.queue=2"), kern_of(1, 32, text)), 8 + 2);
}

// An instruction after which its warp waits 3 cycles longer: five at 0, 4, 8, 12, 16, EXIT at 20. A second
// warp of the scheduler is a cycle behind. The result comes as much later: 13 after it.
static void test_hold(void **state) {
    (void)state;
    for (int warps = 1; warps <= 2; warps++) {
        kern *k = kern_new(1, 32 * warps);
        for (int n = 0; n < 5; n++) more(k, "FFMA R%d <- R1", 4 + n);
        more(k, "EXIT");
        assert_int_equal(cycles_of(GPU("core.subcores=1", "core.schedulers=1", "op.fp32.hold=3"), k),
                         20 + warps);
    }
    assert_int_equal(cycles_of(GPU("op.fp32.hold=3"), kern_of(1, 32, "FFMA R2 <- R1\nIADD3 R3 <- R2\nEXIT")),
                     13 + 2);
}

// An instruction that takes 2 cycles more to leave: nobody issues meanwhile. Five at 0, 3, 6, 9, 12, EXIT at
// 15; those of a second warp of the scheduler from 16 on.
static void test_dispatch(void **state) {
    (void)state;
    for (int warps = 1; warps <= 2; warps++) {
        kern *k = kern_new(1, 32 * warps);
        for (int n = 0; n < 5; n++) more(k, "FFMA R%d <- R1", 4 + n);
        more(k, "EXIT");
        assert_int_equal(cycles_of(GPU("core.subcores=1", "core.schedulers=1", "op.fp32.dispatch=2"), k),
                         16 * warps);
    }
}

// What stands still is the scheduler, while the unit is busy with the instruction, here for 4 cycles: a stall
// count of 6 has waited for both cycles already, one of 5 for one of them. EXIT is issued at that cycle.
static void test_dispatch_stalls(void **state) {
    (void)state;
    static const int exits[] = {[1] = 3, [2] = 4, [3] = 5, [4] = 6, [5] = 6, [6] = 6, [7] = 7};
    for (int stall = 1; stall <= 7; stall++) {
        kern *k = kern_new(1, 32);
        more(k, "FFMA R4 <- R1 | stall %d", stall);
        more(k, "EXIT | stall 1");
        assert_int_equal(cycles_of(GPU("op.fp32.dispatch=2", "op.fp32.interval=4"), k), exits[stall] + 1);
    }
}

// IADD3 could have FFMA's result after 10 cycles; where it must be 14 old IADD3 waits 4 and EXIT with it. An
// old register costs nothing.
static void test_settled(void **state) {
    (void)state;
    for (int young = 0; young <= 1; young++)
        assert_int_equal(cycles_of(GPU("op.fp32.result=4", "regs.late=8", "op.int.settled=14"),
                                   kern_of(1, 32,
                                           young ? "FFMA R2 <- R1\nIADD3 R3 <- R2\nEXIT"
                                                 : "FFMA R2 <- R1\nIADD3 R3 <- R1\nEXIT")),
                         young ? 10 + 4 + 2 : 3);
}

// ---- operand collectors: the older core -------------------------------------------------------------
// An instruction is in a collector for a cycle to get in, one for each operand that has to be read, and one
// to hand on. One operand a cycle enters it, and a bank has one port for reads and writes. With 256 banks no
// two registers of a warp are in the same one.
#define FEW_BANKS  "core.kind=collector", "regs.ports=1", "regs.banks=2"
#define COLLECTORS "core.kind=collector", "regs.ports=1", "regs.banks=256"

static kern *operands_of(uint32_t threads, const char *operands, int n) {
    kern *k = kern_new(1, threads);
    for (int i = 0; i < n; i++) more(k, "FFMA R%d <- %s", 20 + i % 200, operands);
    more(k, "EXIT");
    return k;
}

static void test_collectors(void **state) {
    (void)state;
    // One collector: an instruction with two operands every 1 + 2 + 1 = 4 cycles; 10 of them, EXIT at 40.
    // With one operand every 3, with none every 2.
    assert_int_equal(cycles_of(GPU(COLLECTORS, "regs.collectors=1"), operands_of(32, "R2 R3", 10)), 41);
    assert_int_equal(cycles_of(GPU(COLLECTORS, "regs.collectors=1"), operands_of(32, "R2", 10)), 31);
    assert_int_equal(cycles_of(GPU(COLLECTORS, "regs.collectors=1"), operands_of(32, "", 10)), 21);
    // Two collectors: two every 4 cycles: 0, 1, 4, 5, ... 17; EXIT at 20.
    assert_int_equal(cycles_of(GPU(COLLECTORS, "regs.collectors=2"), operands_of(32, "R2 R3", 10)), 21);
    // Four: one every cycle, as R2 and R3 are in different banks and each is read once a cycle. EXIT at 10.
    assert_int_equal(cycles_of(GPU(COLLECTORS, "regs.collectors=4"), operands_of(32, "R2 R3", 10)), 11);
    // What waits for a collector says so.
    kern *k = operands_of(32, "R2 R3", 10);
    ran x = run_on(GPU(COLLECTORS, "regs.collectors=1"), k);
    assert_int_equal(stalled(&x, ORR_STALL_COLLECTOR), 10 * 3);
    assert_int_equal(stalled(&x, ORR_STALL_SELECTED), 0);
    ran_free(&x);
    kern_free(k);
    // Reading is in front of the unit. core.collect has one cycle of it, and the second operand takes
    // another; where it is 0 all of that is in the latency. core.collect and core.writeback add to the
    // latency.
    const char *pair = "FFMA R20 <- R2 R3\nFFMA R21 <- R20\nEXIT";
    assert_int_equal(cycles_of(GPU(COLLECTORS, "regs.collectors=4"), kern_of(1, 32, pair)), 10 + 2);
    assert_int_equal(cycles_of(GPU(COLLECTORS, "regs.collectors=4", "core.collect=3", "core.writeback=5"),
                               kern_of(1, 32, pair)),
                     10 + 1 + 3 + 5 + 2);
}

// Two banks with one port each. Both operands in bank 0, results in both by turns: of two instructions bank 0
// serves four reads and a write, so n more instructions take 2.5 n more cycles as soon as the collectors are
// full. With an operand in each bank both serve two reads and a write of two instructions: 1.5 n. A register
// file at half the clock takes twice as long. Registers that are all in banks of their own: n, without a
// conflict.
static void test_collector_banks(void **state) {
    (void)state;
    const struct {
        const char *operands;
        orr_gpu *gpu[2];
        uint64_t more;
    } cases[] = {
        {"R2 R4", {GPU(FEW_BANKS, "regs.collectors=8"), GPU(FEW_BANKS, "regs.collectors=8")}, 250},
        {"R2 R3", {GPU(FEW_BANKS, "regs.collectors=8"), GPU(FEW_BANKS, "regs.collectors=8")}, 150},
        {"R2 R3",
         {GPU(FEW_BANKS, "regs.collectors=16", "regs.interval=2"),
          GPU(FEW_BANKS, "regs.collectors=16", "regs.interval=2")},
         300},
        {"R2 R3", {GPU(COLLECTORS, "regs.collectors=8"), GPU(COLLECTORS, "regs.collectors=8")}, 100},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        uint64_t one = cycles_of(cases[n].gpu[0], operands_of(32, cases[n].operands, 100));
        uint64_t two = cycles_of(cases[n].gpu[1], operands_of(32, cases[n].operands, 200));
        assert_in_range(two - one, cases[n].more - 3, cases[n].more + 3);
    }
    kern *k = operands_of(32, "R2 R3", 100);
    ran x = run_on(GPU(COLLECTORS, "regs.collectors=8"), k);
    assert_int_equal(x.t->register_conflicts, 0);
    ran_free(&x);
    kern_free(k);
    // Two warps are shifted by a bank against each other: warp 0 reads R2 in bank 2, warp 1 in bank 3, so one
    // operand each never meets, though both read every cycle.
    assert_int_equal(cycles_of(GPU(COLLECTORS, "regs.collectors=8", "core.schedulers=2", "unit.fma.count=2",
                                   "unit.control.count=2"),
                               operands_of(64, "R2", 100)),
                     101);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_latency_by_class),
        cmocka_unit_test(test_independent),
        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_two_kinds_of_units),
        cmocka_unit_test(test_waw),
        cmocka_unit_test(test_predicates),
        cmocka_unit_test(test_branch),
        cmocka_unit_test(test_issue_rate),
        cmocka_unit_test(test_latency_hidden),
        cmocka_unit_test(test_units_shared),
        cmocka_unit_test(test_unit_contended),
        cmocka_unit_test(test_dual),
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_greedy_or_oldest),
        cmocka_unit_test(test_greedy_after_end),
        cmocka_unit_test(test_two_level_long_wait),
        cmocka_unit_test(test_stall_counts),
        cmocka_unit_test(test_stall_counts_come_first),
        cmocka_unit_test(test_write_barriers),
        cmocka_unit_test(test_depbar),
        cmocka_unit_test(test_read_barriers),
        cmocka_unit_test(test_yield),
        cmocka_unit_test(test_register_banks),
        cmocka_unit_test(test_register_reuse),
        cmocka_unit_test(test_late_results),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_hold),
        cmocka_unit_test(test_dispatch),
        cmocka_unit_test(test_dispatch_stalls),
        cmocka_unit_test(test_settled),
        cmocka_unit_test(test_collectors),
        cmocka_unit_test(test_collector_banks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
