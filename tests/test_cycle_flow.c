// The cycle model's SM, where code does not just go on: branches to where a register says, lanes that wait
// for others, registers that memory instructions read late, warps and blocks that end. Figures are worked out
// in the comments, as in test_cycle_issue.c.
#include "cycle.h"

#include "sass/sass.h"

// Ten rounds of FFMA and a branch, which takes 5 cycles: 6 each. Nine of them jump, which costs 4 more. Where
// a register says where to, it costs 20 on top, and the last one, which goes on behind it, is not known
// earlier: 24 for each.
static void test_indirect(void **state) {
    (void)state;
    static const struct {
        const char *branch;
        uint64_t more;
    } cases[] = {{"BRA", 9 * 4},
                 {"CALL", 9 * 4},
                 {"BRX <- R4", 10 * 24},
                 {"RET <- R4", 10 * 24},
                 {"CALL <- R4", 10 * 24}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        kern *k = kern_new(1, 32);
        more(k, "block x10\nFFMA R1 <- R2\n%s\nblock\nEXIT", cases[n].branch);
        ran x = run_on(GPU("op.fp32.latency=1", "core.branch_taken=4", "core.branch_indirect=20"), k);
        assert_int_equal(x.cycles, 10 * 6 + cases[n].more + 1);
        assert_int_equal(stalled(&x, ORR_STALL_BRANCH), 10 * 4 + cases[n].more);
        ran_free(&x);
        kern_free(k);
    }
}

// Lanes meet: FFMA, BSYNC and 4 cycles more, twice. After the first BSYNC the warp goes on elsewhere, with
// other lanes: 7 more.
static void test_switch(void **state) {
    (void)state;
    const char *text = "block x2\nFFMA R1 <- R2\nBSYNC\nblock\nEXIT";
    assert_int_equal(cycles_of(GPU("op.fp32.latency=1", "core.branch_taken=4"), kern_of(1, 32, text)),
                     2 * (1 + 5 + 4) + 1);
    assert_int_equal(cycles_of(GPU("op.fp32.latency=1", "core.branch_taken=4", "core.reconverge_switch=7"),
                               kern_of(1, 32, text)),
                     2 * (1 + 5 + 4) + 7 + 1);
    // After the second one all lanes go on together, which may take longer than a jump, too.
    assert_int_equal(
        cycles_of(GPU("op.fp32.latency=1", "core.branch_taken=4", "core.reconverge=3"), kern_of(1, 32, text)),
        2 * (1 + 5 + 4) + 3 + 1);
}

// BSSY is in its unit for 8 cycles, and BSYNC waits for it, in front of the unit, or in its queue, in which
// case what follows it waits as well: BSSY at 0, BSYNC at 8 in any case, EXIT 5 + 4 later. A branch waits as
// well, and EXIT for it: 0, 8, 16. A branch that has a unit of its own does not: 0, 1, and EXIT at 8.
static void test_behind_bssy(void **state) {
    (void)state;
    const char *meet = "block\nBSSY\nBSYNC\nblock\nEXIT", *go_on = "block\nBSSY\nBRA\nblock\nEXIT";
    static const char *queue[] = {"unit.control.queue=0", "unit.control.queue=1", "unit.control.queue=4"};
    for (size_t n = 0; n < sizeof queue / sizeof *queue; n++)
        assert_int_equal(
            cycles_of(GPU("op.branch.interval=8", "core.branch_taken=4", queue[n]), kern_of(1, 32, meet)),
            8 + 5 + 4 + 1);
    assert_int_equal(cycles_of(GPU("op.branch.interval=8"), kern_of(1, 32, go_on)), 16 + 1);
    assert_int_equal(
        cycles_of(GPU("op.branch.interval=8", "op.bra.unit=fma", "op.bra.latency=5"), kern_of(1, 32, go_on)),
        8 + 1);
}

// FFMA at 0, YIELD at 1 and, with core.yield, nothing until 51, whoever goes on. A WARPSYNC right behind it
// is that of lanes which look whether all are there: until 91. One behind something else is like a branch
// without a jump.
static void test_yield(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t without, with;
    } cases[] = {{"block\nFFMA R1 <- R2\nYIELD\nblock\nEXIT", 3, 52},
                 {"block\nFFMA R1 <- R2\nYIELD\nblock\nWARPSYNC\nblock\nEXIT", 4, 92},
                 {"block\nFFMA R1 <- R2\nWARPSYNC\nblock\nEXIT", 3, 3}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        assert_int_equal(cycles_of(GPU("op.fp32.latency=1"), kern_of(1, 32, cases[n].text)),
                         cases[n].without);
        assert_int_equal(cycles_of(GPU("op.fp32.latency=1", "core.yield=50", "core.warpsync_poll=40"),
                                   kern_of(1, 32, cases[n].text)),
                         cases[n].with);
    }
}

// A lane comes to a WARPSYNC in cycle 0, and in the next one the others go on, or 19 cycles later
// (core.warpsync_wait); EXIT takes one. Where the same lanes go on nothing changes.
static void test_leaves_to_others(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t without, with;
    } cases[] = {{"block lanes 1\nWARPSYNC\nblock lanes 0xfffffffe\nEXIT", 2, 2 + 19},
                 {"block lanes 1\nWARPSYNC\nblock lanes 1\nEXIT", 2, 2},
                 {"block lanes 1\nWARPSYNC.COLLECTIVE\nblock lanes 0xfffffffe\nEXIT", 2, 2 + 78}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        assert_int_equal(cycles_of(GPU(), kern_of(1, 32, cases[n].text)), cases[n].without);
        assert_int_equal(cycles_of(GPU("core.warpsync_wait=19", "core.warpsync_collective=78"),
                                   kern_of(1, 32, cases[n].text)),
                         cases[n].with);
    }
}

// A register is free when a memory instruction has read it: a load 6 cycles after it began, a store 9. Who
// writes it waits; then EXIT and the end.
static void test_reads_late(void **state) {
    (void)state;
    static const struct {
        const char *inst;
        uint64_t read;
        bool shared;
    } cases[] = {{"LDG R1 <- R2 @0", 6, false},
                 {"STG <- R2 R3 @0", 9, false},
                 {"STL <- R2 R3 @0", 9, false},
                 {"STS <- R2 R3 @0", 9, true}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        kern *k = kern_new(1, 32);
        more(k, "%s | rbar 0\nFFMA R2 <- R5 | wait 1\nEXIT", cases[n].inst);
        ran x = run_on(GPU("lsu.read_load=6", "lsu.read_store=9"), k);
        uint64_t waited = cases[n].read - 1; // from the cycle after its issue on
        assert_int_equal(x.t->by_inst[1][ORR_STALL_SHORT], cases[n].shared ? waited : 0);
        assert_int_equal(x.t->by_inst[1][ORR_STALL_LONG], cases[n].shared ? 0 : waited);
        ran_free(&x);
        kern_free(k);
    }
}

// A store at 0, EXIT at 1. Its register has been read at 9, and 8 later the warp is gone. A fence for the
// block (20 cycles) does not wait for that.
static void test_drain(void **state) {
    (void)state;
    kern *k = kern_of(1, 32, "STG <- R2 R3 @0\nEXIT");
    ran x = run_on(GPU("lsu.read_store=9", "lsu.drain=8"), k);
    assert_int_equal(x.t->spans[0].end, 17);
    assert_int_equal(stalled(&x, ORR_STALL_DRAIN), 15);
    ran_free(&x);
    kern_free(k);
    k = kern_of(1, 32, "STG <- R2 R3 @0\nMEMBAR 0\nEXIT");
    x = run_on(GPU("lsu.read_store=9", "lsu.drain=8"), k);
    assert_int_equal(x.t->spans[0].end, 1 + 20 + 1);
    ran_free(&x);
    kern_free(k);
}

// Constants by index: two words take 2 cycles more of the port, and 11 until the second is there; 32 words 31
// times that. An atomic in shared memory takes 3 cycles more than a load's 20.
static void test_latencies(void **state) {
    (void)state;
    const char *text = "%s\nFFMA R3 <- R1\nEXIT";
    static const struct {
        const char *inst;
        uint64_t cycles;
    } cases[] = {{"LDC R1 <- R2 @0 +0", 27},
                 {"LDC R1 <- R2 @0 +4 m3", 27 + 11},
                 {"LDC R1 <- R2 @0 +4", 27 + 31 * 11},
                 {"LDS R1 <- R2 @0", 20},
                 {"ATOMS R1 <- R2 @0", 23}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        kern *k = kern_new(1, 32);
        more(k, text, cases[n].inst);
        assert_int_equal(cycles_of(GPU("const.interval=2", "const.word_latency=11", "shared.atomic=3"), k),
                         cases[n].cycles + 2);
    }
    // A constant that comes from L2 takes 50 cycles more; a load of the same line after it finds it.
    const char *cold = "LDC R1 <- R2 @0 +0\nLDC R1 <- R1 @4 +0\nFFMA R3 <- R1\nEXIT";
    uint64_t without = cycles_of(GPU("icache.perfect=no"), kern_of(1, 32, cold));
    assert_int_equal(cycles_of(GPU("icache.perfect=no", "const.l2_extra=50"), kern_of(1, 32, cold)),
                     without + 50);
}

// A unit of which another is half: ALU and FMA's other half are busy for two cycles with an FFMA. IADD3 goes
// to ALU at 0, FFMAs at 1 to the other half and at 2 to ALU, so the next IADD3 waits until 4; EXIT at 5.
static void test_half(void **state) {
    (void)state;
    const char *code = "IADD3 R4 <- R1\nFFMA R5 <- R1\nFFMA R6 <- R1\nIADD3 R7 <- R1\nEXIT";
    assert_int_equal(cycles_of(GPU("unit.fma.half=alu"), kern_of(1, 32, code)), 5 + 1);
    assert_int_equal(cycles_of(GPU(), kern_of(1, 32, code)), 4 + 1);
}

// A result a cycle: that of IADD3 at 0 comes at 6, that of an FFMA after 4, so the one at 2 waits for a cycle
// and EXIT issues at 4, not at 3. One at 1 or 3 is in nobody's way; nor is one that only writes a predicate.
static void test_result(void **state) {
    (void)state;
    static const struct {
        const char *code;
        uint64_t cycles;
    } cases[] = {{"IADD3 R4 <- R1\nFFMA R5 <- R1\nFFMA R6 <- R1\nEXIT", 4 + 1},
                 {"IADD3 R4 <- R1\nFFMA R5 <- R1\nEXIT", 2 + 1},
                 {"IADD3 R4 <- R1\nFFMA P1 <- R1\nFFMA P2 <- R1\nFFMA R6 <- R1\nEXIT", 4 + 1}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        assert_int_equal(cycles_of(GPU("op.int.result=6", "op.fp32.result=4"), kern_of(1, 32, cases[n].code)),
                         cases[n].cycles);
}

// What stores leave in L1 is known byte by byte: a load of lanes whose words have been stored finds its
// sector, one of a lane more does not, unless stores have filled the sector, eight words.
static void test_partly_written(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t hit;
    } cases[] = {{"STG <- R2 R3 @0 m1\nLDG R1 <- R2 @0 m1\nEXIT", 1},
                 {"STG <- R2 R3 @0 m1\nLDG R1 <- R2 @0 m3\nEXIT", 0},
                 {"STG <- R2 R3 @0 m1\nSTG <- R2 R3 @0 m2\nLDG R1 <- R2 @0 m3\nEXIT", 1},
                 {"STG <- R2 R3 @0 m15\nSTG <- R2 R3 @0 m240\nLDG R1 <- R2 @0 m255\nEXIT", 1},
                 {"STG <- R2 R3 @0 m15\nSTG <- R2 R3 @0 m112\nLDG R1 <- R2 @0 m255\nEXIT", 0},
                 {"STG <- R2 R3 @32 m1\nLDG R1 <- R2 @0 m1\nEXIT", 0}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        kern *k = kern_of(1, 32, cases[n].text);
        ran x = run_on(GPU(), k);
        assert_int_equal(x.sm->l1.sectors[0][ORR_L1_LOAD], 1);
        assert_int_equal(x.sm->l1.hits[0][ORR_L1_LOAD], cases[n].hit);
        ran_free(&x);
        kern_free(k);
    }
}

// SMs are filled with a block every 2 cycles: eight of them start at 0 to 14 and end a cycle later. What
// takes 10 cycles for each is noticing their ends: from 1 on, the kernel has ended at 81. Blocks that end far
// apart are noticed as they come: the last of them 10 cycles after its end.
static void test_fill(void **state) {
    (void)state;
    kern *k = kern_of(8, 32, "EXIT");
    ran x = run_on(
        GPU("sm.count=8", "limit.sm_blocks=1", "launch.block_interval=10", "launch.fill_interval=2"), k);
    for (uint64_t n = 0; n < 8; n++) assert_int_equal(x.t->spans[n].start, 2 * x.t->spans[n].block);
    assert_int_equal(x.cycles, 1 + 8 * 10);
    ran_free(&x);
    kern_free(k);
    k = kern_new(2, 32);
    more(k, "block tb 1\n");
    for (int n = 0; n < 20; n++) more(k, "FFMA R1 <- R1");
    more(k, "block\nEXIT");
    x = run_on(GPU("sm.count=2", "limit.sm_blocks=1", "launch.block_interval=10", "launch.fill_interval=2"),
               k);
    // Block 1 starts at 2 and takes 20 results of 10 cycles each, of which EXIT waits for none: 192.
    assert_int_equal(x.cycles, 2 + 192 + 10);
    ran_free(&x);
    kern_free(k);
}

// Four blocks of four warps, of which the first executes 100 instructions, and all of them EXIT: on four
// schedulers 400 and 4 cycles where the first warps of all blocks are on the same one, 100 and 4 where each
// block begins with the next. With five warps a block they are on different ones in any case: of 20 warps
// five are on each scheduler.
static void test_turn(void **state) {
    (void)state;
    static const struct {
        const char *turn;
        unsigned warps;
        uint64_t cycles;
    } cases[] = {{"launch.rotate_schedulers=no", 4, 404},
                 {"launch.rotate_schedulers=yes", 4, 104},
                 {"launch.rotate_schedulers=no", 5, 105},
                 {"launch.rotate_schedulers=yes", 5, 105}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        kern *k = kern_new(4, 32 * cases[n].warps);
        more(k, "block warp 0 x10");
        for (int i = 0; i < 10; i++) more(k, "FFMA R1 <- R2");
        more(k, "block\nEXIT");
        assert_int_equal(cycles_of(GPU("core.subcores=4", "core.schedulers=4", "unit.fma.count=4",
                                       "unit.control.count=4", "op.fp32.latency=1", cases[n].turn),
                                   k),
                         cases[n].cycles);
    }
}

// mbarriers. An operation takes its unit two cycles, a wait four; results are there 29 and 38 cycles later. A
// wait that comes before the last arrival has its result shared.latency, 20 cycles, after that began. EXIT
// reads the result.
#define MBARRIERS                                                                                            \
    "unit.syncs.lanes=16", "op.syncs.unit=syncs", "op.syncs.latency=29", "op.syncs.phasechk.unit=syncs",     \
        "op.syncs.phasechk.latency=38", "op.syncs.phasechk.interval=4", "op.arrives.unit=syncs",             \
        "op.arrives.latency=29"
#define WAIT "SYNCS.PHASECHK.TRANS64.TRYWAIT P1 <- R9 @64 +0 "

static void test_mbarrier(void **state) {
    (void)state;
    // The wait 0, ten FFMAs 1, 11, ... 91, the arrival 101, EXIT 121. A wait that needs no arrivals, or of a
    // stream that does not say how many, has its result at 38: the other warp's EXIT is the last, at 102.
    static const struct {
        const char *need;
        uint64_t cycles;
    } cases[] = {{"k32", 101 + 20 + 1}, {"k0", 103}, {"", 103}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        kern *k = kern_new(1, 64);
        more(k, "block warp 0\n" WAIT "%s\nEXIT <- P1\nblock warp 1", cases[n].need);
        for (int i = 0; i < 10; i++) more(k, "FFMA R1 <- R1");
        more(k, "SYNCS.ARRIVE.TRANS64.A1T0 <- R1 @64 +0\nEXIT");
        ran x = run_on(GPU(MBARRIERS), k);
        assert_int_equal(x.cycles, cases[n].cycles);
        assert_int_equal(x.t->by_inst[1][ORR_STALL_LONG], (n ? 38 : 101 + 20) - 1);
        ran_free(&x);
        kern_free(k);
    }
    // The arrival 0, the wait, for which the unit is free then, 2: 40 and EXIT.
    assert_int_equal(
        cycles_of(GPU(MBARRIERS),
                  kern_of(1, 32, "SYNCS.ARRIVE.TRANS64.A1T0 <- R8 @64 +0\n" WAIT "k32\nEXIT <- P1")),
        2 + 38 + 1);
    // An arrival at another mbarrier is none; the result of an arrival: 29 cycles, then EXIT.
    assert_int_equal(
        cycles_of(GPU(MBARRIERS),
                  kern_of(1, 64,
                          "block warp 0\n" WAIT
                          "k32\nEXIT <- P1\nblock warp 1\nSYNCS.ARRIVE.TRANS64.A1T0 R3 <- R8 @72 +0\n"
                          "SYNCS.ARRIVE.TRANS64.A1T0 <- R3 @64 +0\nEXIT")),
        4 + 29 + 20 + 1); // the unit is free for the first one at 4
}

// Three warps wait, at 0, 4 and 8, for 48 arrivals: 32 lanes of the fourth at 12, its 16 others at 14 + 10 n.
static void test_mbarrier_of_many(void **state) {
    (void)state;
    for (int n = 6; n < 9; n++) {
        kern *k = kern_new(1, 128);
        for (int w = 0; w < 3; w++) more(k, "block warp %d\n" WAIT "k48\nEXIT <- P1", w);
        more(k, "block warp 3\nSYNCS.ARRIVE.TRANS64.A1T0 R1 <- R8 @64 +0");
        for (int i = 0; i < n; i++) more(k, "FFMA R1 <- R1");
        more(k, "SYNCS.ARRIVE.TRANS64.A1T0 <- R1 @64 +0 m0xffff\nEXIT");
        // 12 + 29, the FFMAs, then 20 and an EXIT of each of the three
        assert_int_equal(cycles_of(GPU(MBARRIERS), k), 12 + 29 + 10 * (uint64_t)n + 20 + 3);
    }
}

// Copies arrive when they are there: from memory 400, EXIT 420. One that was issued behind does not count: it
// comes from memory as well, a cycle or more later, and the warp stays for it.
static void test_mbarrier_of_copies(void **state) {
    (void)state;
    const char *text = "block warp 0\nLDGSTS <- R1 R2 @0 +0\nARRIVES.LDGSTSBAR.64 @64 +0\nEXIT\n"
                       "block warp 1\n" WAIT "k32\nEXIT <- P1";
    assert_int_equal(cycles_of(GPU(MBARRIERS), kern_of(1, 64, text)), 400 + 20 + 1);
    kern *k = kern_new(1, 64);
    more(k, "block warp 0\nLDGSTS <- R1 R2 @0 +0\nARRIVES.LDGSTSBAR.64 @64 +0");
    for (int i = 0; i < 50; i++) more(k, "FFMA R1 <- R1");
    more(k, "LDGSTS <- R1 R2 @4096 +0\nARRIVES.LDGSTSBAR.64 @72 +0\nEXIT\n"
            "block warp 1\n" WAIT "k32\nFFMA R3 <- P1\nEXIT");
    ran x = run_on(GPU(MBARRIERS), k);
    assert_int_equal(x.t->by_inst[56][ORR_STALL_LONG], 400 + 20 - 2); // the FFMA, from 2 on
    assert_true(x.cycles > 900);
    ran_free(&x);
    kern_free(k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_indirect),
        cmocka_unit_test(test_switch),
        cmocka_unit_test(test_behind_bssy),
        cmocka_unit_test(test_reads_late),
        cmocka_unit_test(test_leaves_to_others),
        cmocka_unit_test(test_yield),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_latencies),
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_turn),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_result),
        cmocka_unit_test(test_partly_written),
        cmocka_unit_test(test_mbarrier),
        cmocka_unit_test(test_mbarrier_of_many),
        cmocka_unit_test(test_mbarrier_of_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
