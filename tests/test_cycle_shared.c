// The cycle model's shared memory, constants, fences and asynchronous copies: each figure is worked out in
// the comment above it.
//
// How to count: on the bench's GPU a load that is issued in cycle t can be used in t + 20 (shared memory), t
// + 30 (L1), t + 200 (L2), t + 400 (memory, row closed). `+0` in a kernel means that all lanes are at one
// address: one sector.
#include "cycle.h"

#include "exec/exec.h"

// ---- shared memory -----------------------------------------------------------------------------------
// Lanes d words apart meet on a bank gcd(d, 32) at a time: as many passes, one a cycle. The data are there
// with the last.
static void test_shared_conflicts(void **state) {
    (void)state;
    static const struct {
        int words;
        uint64_t passes;
    } cases[] = {{0, 1}, {1, 1}, {2, 2}, {4, 4}, {8, 8}, {16, 16}, {32, 32}, {3, 1}, {6, 2}, {33, 1}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        uint64_t d = cases[n].passes;
        kern *k = kern_new(1, 32);
        more(k, "LDS R1 <- R2 @0 +%d\nFFMA R3 <- R1\nEXIT", 4 * cases[n].words);
        assert_int_equal(cycles_of(GPU(), k), 20 + d - 1 + 2);
        // Ten of them: one begins every d cycles; the last is there at 9 d + d - 1 + 20.
        k = kern_new(1, 32);
        for (int i = 0; i < 10; i++) more(k, "LDS R%d <- R2 @0 +%d", 10 + i, 4 * cases[n].words);
        more(k, "FFMA R3 <- R19\nEXIT");
        ran x = run_on(GPU(), k);
        assert_int_equal(x.cycles, 10 * d - 1 + 20 + 2);
        assert_int_equal(x.sm->shared.requests[ORR_L1_LOAD], 10);
        assert_int_equal(x.sm->shared.passes[ORR_L1_LOAD], 10 * d);
        assert_int_equal(x.sm->shared.conflicts[ORR_L1_LOAD], 10 * (d - 1));
        assert_int_equal(x.sm->shared.busy, 10 * d);
        ran_free(&x);
        kern_free(k);
    }
}

// 8 bytes a lane take two passes, 16 four, without a conflict: 32 banks of 4 bytes deliver 128 a cycle.
static void test_shared_wide(void **state) {
    (void)state;
    assert_int_equal(cycles_of(GPU(), use_of("LDS.64 R1 <- R2 @0 +8")), 20 + 1 + 2);
    assert_int_equal(cycles_of(GPU(), use_of("LDS.128 R1 <- R2 @0 +16")), 20 + 3 + 2);
    kern *k = use_of("LDS.128 R1 <- R2 @0 +16");
    ran x = run_on(GPU(), k);
    assert_int_equal(x.sm->shared.conflicts[ORR_L1_LOAD], 0);
    ran_free(&x);
    kern_free(k);
    // Stores are not waited for by instructions; they are in the way of the next: 32 passes, then the load.
    assert_int_equal(cycles_of(GPU(), use_of("STS <- R2 R3 @0 +128\nLDS R1 <- R2 @0")), 32 + 20 + 2);
    // Atomics of all lanes on one word are done one after the other; a load of one word by all is a
    // broadcast.
    assert_int_equal(cycles_of(GPU(), use_of("ATOMS R1 <- R2 @0 +0")), 20 + 31 + 2);
    // Those that count are done together where they meet, and after each other on words of one bank.
    assert_int_equal(cycles_of(GPU(), use_of("ATOMS.POPC.INC R1 <- R2 @0 +0")), 20 + 2);
    assert_int_equal(cycles_of(GPU(), use_of("ATOMS.POPC.INC R1 <- R2 @0 +128")), 20 + 31 + 2);
}

// Banks that deliver 2 bytes a cycle take two cycles for a pass. Without a conflict a load takes
// shared.latency all the same; with two passes two cycles more. Ten loads begin every two cycles.
static void test_slow_banks(void **state) {
    (void)state;
    assert_int_equal(cycles_of(GPU("shared.bank_bytes=2"), use_of("LDS R1 <- R2 @0")), 20 + 2);
    assert_int_equal(cycles_of(GPU("shared.bank_bytes=2"), use_of("LDS R1 <- R2 @0 +8")), 20 + 2 + 2);
    kern *k = kern_new(1, 32);
    for (int i = 0; i < 10; i++) more(k, "LDS R%d <- R2 @0", 10 + i);
    more(k, "FFMA R3 <- R19\nEXIT");
    assert_int_equal(cycles_of(GPU("shared.bank_bytes=2"), k), 9 * 2 + 20 + 2);
}

// A queue of two in front of shared memory: an instruction is in it from its issue until it begins. Ten loads
// of 32 passes begin at 0, 32, ... 288. The first three can be issued at 0, 1, 2 (one has begun, two wait),
// the n-th (from 0) when the one two before it begins, at 32 (n - 2). Until then it says "mio throttle".
static void test_queue_full(void **state) {
    (void)state;
    kern *k = kern_new(1, 32);
    for (int n = 0; n < 10; n++) more(k, "LDS R%d <- R2 @0 +128", 10 + n);
    more(k, "EXIT");
    ran x = run_on(GPU("lsu.queue=2"), k);
    // The fourth is ready at 3 and issued at 32; the six after it are ready in the cycle after the one
    // before.
    assert_int_equal(stalled(&x, ORR_STALL_MIO), 29 + 6 * 31);
    assert_int_equal(stalled(&x, ORR_STALL_LG), 0);
    // EXIT at 225; the warp is there until its last load has come: 288 + 31 + 20.
    assert_int_equal(x.cycles, 339);
    assert_int_equal(stalled(&x, ORR_STALL_DRAIN), 339 - 226);
    ran_free(&x);
    kern_free(k);
    // The same with L1: ten loads of 32 lines in one bank. What they wait for is "lg throttle".
    k = kern_new(1, 32);
    for (int n = 0; n < 10; n++) more(k, "LDG R%d <- R2 @0 +128", 10 + n);
    more(k, "EXIT");
    x = run_on(GPU("lsu.queue=2", "memory=perfect"), k);
    assert_int_equal(stalled(&x, ORR_STALL_LG), 29 + 6 * 31);
    assert_int_equal(stalled(&x, ORR_STALL_MIO), 0);
    ran_free(&x);
    kern_free(k);
    // A load from global memory behind nine from shared memory waits for those: no "lg throttle".
    k = kern_new(1, 32);
    for (int n = 0; n < 9; n++) more(k, "LDS R%d <- R2 @0 +128", 10 + n);
    more(k, "LDG R20 <- R2 @0\nEXIT");
    x = run_on(GPU("lsu.queue=2", "memory=perfect"), k);
    assert_int_equal(stalled(&x, ORR_STALL_MIO), 29 + 6 * 31);
    assert_int_equal(stalled(&x, ORR_STALL_LG), 0);
    ran_free(&x);
    kern_free(k);
}

// A sub-core hands over lsu.width bytes a cycle: 32 addresses of 4 bytes, 4 a cycle, take as long as 32
// passes, and so do 32 of 8 bytes, 8 a cycle, or data of 16 bytes, 16 a cycle. The queue is as full as above,
// but L1 and shared memory are free: the last load is issued at 224. From shared memory the first is there
// after 20 cycles, and each of the others 32 after the one before.
static void test_width(void **state) {
    (void)state;
    static const struct {
        const char *load, *width;
        enum orr_stall why;
    } cases[] = {
        {"LDS R%d <- R2 @0 +4", "lsu.width=4", ORR_STALL_MIO},
        {"LDG R%d <- R2 @0 +4", "lsu.width=8", ORR_STALL_LG},
        {"LDS.128 R%d <- R2 @0 +0", "lsu.width=16", ORR_STALL_MIO},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        kern *k = kern_new(1, 32);
        for (int n = 0; n < 10; n++) more(k, cases[c].load, 10 + n);
        more(k, "EXIT");
        ran x = run_on(GPU("lsu.queue=2", "memory=perfect", cases[c].width), k);
        assert_int_equal(stalled(&x, cases[c].why), 29 + 6 * 31);
        if (!c) assert_int_equal(x.cycles, 20 + 9 * 32);
        ran_free(&x);
        kern_free(k);
    }
}

// And what a sub-core loads from shared memory comes to it as fast: 512 bytes, 16 a cycle, behind as many.
static void test_gives(void **state) {
    (void)state;
    uint64_t cycles[2];
    for (int n = 0; n < 2; n++) {
        kern *k = kern_new(1, 32);
        more(k, "LDS.128 R10 <- R2 @0 +16");
        if (n) more(k, "LDS.128 R20 <- R2 @0 +16");
        more(k, "FFMA R3 <- R%d\nEXIT", n ? 20 : 10);
        ran x = run_on(GPU("memory=perfect", "lsu.width=16"), k);
        cycles[n] = x.cycles;
        ran_free(&x);
        kern_free(k);
    }
    assert_int_equal(cycles[1] - cycles[0], 512 / 16);
}

// What a load's width takes more than one pass comes later by lsu.wide_replay for each further one: 16 bytes
// a lane, side by side, have four, a word one and so no more.
static void test_wide(void **state) {
    (void)state;
    static const char *const loads[] = {"LDS R10 <- R2 @0 +4", "LDS.64 R10 <- R2 @0 +8",
                                        "LDS.128 R10 <- R2 @0 +16"};
    static const uint64_t more_passes[] = {0, 1, 3};
    for (int c = 0; c < 3; c++) {
        uint64_t cycles[2];
        for (int n = 0; n < 2; n++) {
            kern *k = kern_new(1, 32);
            more(k, "%s", loads[c]);
            more(k, "FFMA R3 <- R10\nEXIT");
            ran x = run_on(GPU("memory=perfect", n ? "lsu.wide_replay=5" : "lsu.wide_replay=0"), k);
            cycles[n] = x.cycles;
            ran_free(&x);
            kern_free(k);
        }
        assert_int_equal(cycles[1] - cycles[0], 5 * more_passes[c]);
    }
}

// ---- constants ---------------------------------------------------------------------------------
// Two caches: 128 B (2 lines of 64 bytes; 27 cycles) and 256 B (one line, of four of those; 89 cycles), then
// L2 (200). LDCs that each wait for the one before; code costs the same in all cases, so what counts is what
// one load more takes.
static void test_constants(void **state) {
    (void)state;
    static const struct {
        const char *addresses; // 64-byte lines, in order
        uint64_t misses, misses2, cycles;
    } cases[] = {
        {"0", 1, 1, 200},
        {"00", 1, 1, 200 + 27},
        {"010", 2, 1, 200 + 89 + 27},
        {"0120", 4, 1, 200 + 3 * 89},             // line 0 went when 2 came
        {"012340", 6, 3, 200 + 3 * 89 + 2 * 200}, // and from the second cache when 4 came
    };
    uint64_t none = 0;
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        kern *k = kern_new(1, 32);
        if (!n) { // the kernel without a load
            more(k, "FFMA R3 <- R1\nEXIT");
            none = cycles_of(GPU("icache.perfect=no"), k);
            k = kern_new(1, 32);
        }
        for (const char *a = cases[n].addresses; *a; a++) more(k, "LDC R1 <- R1 @%d +0", 64 * (*a - '0'));
        more(k, "FFMA R3 <- R1\nEXIT");
        ran x = run_on(GPU("icache.perfect=no", "const.size=128 B", "const.l15_size=256 B"), k);
        assert_int_equal(x.cycles - none, cases[n].cycles);
        assert_int_equal(x.sm->constants.requests, strlen(cases[n].addresses));
        assert_int_equal(x.sm->constants.misses, cases[n].misses);
        assert_int_equal(x.sm->constants.second_misses, cases[n].misses2);
        assert_int_equal(stalled(&x, ORR_STALL_SHORT) > 0, 1);
        ran_free(&x);
        kern_free(k);
    }
}

// The lanes' different words are loaded one after the other, const.interval cycles each: 27 for one, 2 more
// for two, 62 more for 32. Ten loads of a word each begin two cycles apart; the last at 18.
static void test_constants_by_index(void **state) {
    (void)state;
    assert_int_equal(cycles_of(GPU("const.interval=2"), use_of("LDC R1 <- R2 @0 +0")), 27 + 2);
    assert_int_equal(cycles_of(GPU("const.interval=2"), use_of("LDC R1 <- R2 @0 +4 m3")), 27 + 2 + 2);
    kern *k = use_of("LDC R1 <- R2 @0 +4");
    ran x = run_on(GPU("const.interval=2"), k);
    assert_int_equal(x.cycles, 27 + 62 + 2);
    assert_int_equal(x.sm->constants.requests, 32);
    ran_free(&x);
    kern_free(k);
    k = kern_new(1, 32);
    for (int i = 0; i < 10; i++) more(k, "LDC R%d <- R2 @%d +0", 10 + i, 4 * i);
    more(k, "FFMA R3 <- R19\nEXIT");
    assert_int_equal(cycles_of(GPU("const.interval=2"), k), 18 + 27 + 2);
}

// Two lanes 2 KB apart meet in a set of one line (2 KB of one way): each load misses
// both lines, and the second of them comes const.miss_interval later.
static void test_constants_that_miss(void **state) {
    (void)state;
    long cycles[2];
    for (int n = 0; n < 2; n++) {
        kern *k = kern_new(1, 32);
        for (int i = 0; i < 4; i++) more(k, "LDC R1 <- R1 @0 +2048 m3");
        more(k, "FFMA R3 <- R1\nEXIT");
        ran x = run_on(GPU("icache.perfect=no", "const.interval=2", "const.size=2 KB", "const.ways=1",
                           n ? "const.miss_interval=11" : "const.miss_interval=0"),
                       k);
        assert_int_equal(x.sm->constants.misses, 8);
        cycles[n] = (long)x.cycles;
        ran_free(&x);
        kern_free(k);
    }
    assert_int_equal(cycles[1] - cycles[0], 4 * 11);
}

// ---- fences and asynchronous copies ------------------------------------------------------------
static void test_fences(void **state) {
    (void)state;
    // With nothing to wait for: 20 cycles for the block, 100 for the GPU, 500 for the system. Then EXIT.
    assert_int_equal(cycles_of(GPU(), kern_of(1, 32, "MEMBAR 0\nEXIT")), 20 + 1);
    assert_int_equal(cycles_of(GPU("core.fence_gpu=100"), kern_of(1, 32, "MEMBAR 2\nEXIT")), 100 + 1);
    kern *k = kern_of(1, 32, "MEMBAR 3\nEXIT");
    ran x = run_on(GPU("core.fence_system=500"), k);
    assert_int_equal(x.cycles, 500 + 1);
    assert_int_equal(stalled(&x, ORR_STALL_MEMBAR), 499);
    ran_free(&x);
    kern_free(k);
    // Loads under way come first: from memory 400, from shared memory 20.
    assert_int_equal(cycles_of(GPU(), kern_of(1, 32, "LDG R1 <- R2 @0 +0\nMEMBAR 0\nEXIT")), 400 + 20 + 1);
    assert_int_equal(cycles_of(GPU(), kern_of(1, 32, "LDS R1 <- R2 @0 +0\nMEMBAR 0\nEXIT")), 20 + 20 + 1);
    // A store has to be in L2 before a fence for the GPU is over, and the SM has to hear of it: 30 to leave
    // L1, 85 there, 85 back. For the block L1 is enough.
    assert_int_equal(cycles_of(GPU("core.fence_gpu=100"), kern_of(1, 32, "STG <- R2 R3 @0\nMEMBAR 2\nEXIT")),
                     200 + 1);
    assert_int_equal(cycles_of(GPU("core.fence_gpu=100", "core.fence_merge=31"),
                               kern_of(1, 32, "STG <- R2 R3 @0\nMEMBAR 2\nEXIT")),
                     200 + 1);
    k = kern_of(1, 32, "STG <- R2 R3 @0\nMEMBAR 0\nEXIT");
    x = run_on(GPU(), k);
    assert_int_equal(x.t->spans[0].end, 1 + 20 + 1);
    assert_int_equal(x.cycles, 200); // the kernel has ended when its last store has arrived
    ran_free(&x);
    kern_free(k);
}

// What L1 has of global memory is gone behind CCTL.IVALL, one line or more than it can note; local memory and
// what other instructions of that name do leave it there. 3 x 4 sectors, of which the first four miss.
static void test_drops(void **state) {
    (void)state;
    static const struct {
        const char *between, *space;
        bool local;
        uint64_t hits;
    } cases[] = {{"CCTL.IVALL", "LDG", false, 0},
                 {"CCTL.E.PF2", "LDG", false, 8},
                 {"MEMBAR 2", "LDG", false, 8},
                 {"CCTL.IVALL", "LDL", true, 8}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        kern *k = kern_of(1, 32, "");
        for (int times = 0; times < 3; times++) {
            more(k, "%s R1 <- R2 @0%s\nFFMA R3 <- R1\n%s", cases[n].space, cases[n].local ? " +0" : "",
                 cases[n].between);
        }
        more(k, "EXIT");
        ran x = run_on(GPU("core.fence_gpu=100"), k);
        assert_int_equal(x.sm->l1.hits[cases[n].local][ORR_L1_LOAD], cases[n].hits);
        assert_int_equal(x.sm->l1.misses[cases[n].local][ORR_L1_LOAD], 12 - cases[n].hits);
        ran_free(&x);
        kern_free(k);
    }
    // 4,000 lines, more than L1 can note, and the last one again.
    for (int drops = 0; drops < 2; drops++) {
        kern *k = kern_of(1, 32, "block x4000\nLDG R1 <- R2 @0 i128\nblock\nFFMA R3 <- R1");
        if (drops) more(k, "CCTL.IVALL");
        more(k, "LDG R1 <- R2 @511872\nEXIT"); // line 3,999
        ran x = run_on(GPU(), k);
        assert_int_equal(x.sm->l1.hits[0][ORR_L1_LOAD], drops ? 0 : 4);
        ran_free(&x);
        kern_free(k);
    }
}

static void test_copies(void **state) {
    (void)state;
    // LDGSTS 0 (from memory: 400), LDGDEPBAR 1, DEPBAR 400, EXIT 401.
    kern *k = kern_of(1, 32, "LDGSTS <- R1 R2 @0 +0\nLDGDEPBAR\nDEPBAR 0\nEXIT");
    ran x = run_on(GPU(), k);
    assert_int_equal(x.cycles, 402);
    assert_int_equal(stalled(&x, ORR_STALL_GROUP), 398);
    ran_free(&x);
    kern_free(k);
    // Two groups: the first (a hit in L2) at 200, the second (issued at 2, from memory) at 402. DEPBAR 1
    // waits for all but the newest, at 200; DEPBAR 0 at 402; EXIT 403. Without the first wait the same.
    const char *two =
        "LDGSTS <- R1 R2 @0 +0\nLDGDEPBAR\nLDGSTS <- R1 R2 @4096 +0\nLDGDEPBAR\nDEPBAR 1\nDEPBAR 0\nEXIT";
    k = kern_of(1, 32, two);
    x = run_warm(GPU(), k, 128);
    assert_int_equal(x.cycles, 404);
    assert_int_equal(x.t->by_inst[4][ORR_STALL_GROUP], 196); // 4 to 199
    assert_int_equal(x.t->by_inst[5][ORR_STALL_GROUP], 201); // 201 to 401
    ran_free(&x);
    kern_free(k);
    // DEPBAR 2 of two groups: nothing to wait for; the warp stays until the copies are done.
    assert_int_equal(
        cycles_warm(GPU(), kern_of(1, 32, "LDGSTS <- R1 R2 @0 +0\nLDGDEPBAR\nDEPBAR 1\nEXIT"), 128), 200);
    // A hit in L1 takes L1's time and the cycle in which the words go into shared memory. LDG 0, FFMA 400,
    // LDGSTS 401, LDGDEPBAR 402, DEPBAR 401 + 1 + 30, EXIT.
    assert_int_equal(
        cycles_of(
            GPU(),
            kern_of(1, 32,
                    "LDG R1 <- R2 @0 +0\nFFMA R3 <- R1\nLDGSTS <- R1 R2 @0 +0\nLDGDEPBAR\nDEPBAR 0\nEXIT")),
        401 + 31 + 2);
    // More groups than anybody keeps open: none is lost. 40 copies of one sector of L2 each, at 0, 2, ... 78.
    k = kern_new(1, 32);
    for (int n = 0; n < 40; n++) more(k, "LDGSTS <- R1 R2 @%d +0\nLDGDEPBAR", 4096 * n);
    more(k, "DEPBAR 0\nEXIT");
    assert_int_equal(cycles_warm(GPU(), k, 40 * 4096), 78 + 200 + 2);
}

// Copies where banks are those of words, as on an H200.
static void test_copies_of_words(void **state) {
    (void)state;
    // In shared memory when a load would be done: from memory 400, DEPBAR 400, EXIT 401.
    assert_int_equal(cycles_of(GPU("l1.word_banks=yes"),
                               kern_of(1, 32, "LDGSTS <- R1 R2 @0 +0\nLDGDEPBAR\nDEPBAR 0\nEXIT")),
                     402);
    // 32 lines, then a load of shared memory, issued in the next cycle, which waits until L1 is free. Past L1
    // lines that are not there take half a cycle each: 16. Through L1 a pass each, two for the way to shared
    // memory and one since they are not there: 35. The FFMA behind the load, in cycle 2, waits for it.
    for (int through = 0; through < 2; through++) {
        kern *k = kern_of(1, 32, "LDGSTS.128 <- R1 R2 @0 +128\nLDS R3 <- R2 @0 +0\nFFMA R4 <- R3\nEXIT");
        ran x = run_on(GPU("l1.word_banks=yes", "l1.banks=4", "l1.miss_interval=1",
                           through ? "l1.global=yes" : "l1.global=no"),
                       k);
        assert_int_equal(x.t->by_inst[2][ORR_STALL_SHORT], (through ? 35 : 16) + 20 - 2);
        ran_free(&x);
        kern_free(k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_conflicts),
        cmocka_unit_test(test_shared_wide),
        cmocka_unit_test(test_slow_banks),
        cmocka_unit_test(test_queue_full),
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_gives),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_constants_by_index),
        cmocka_unit_test(test_constants_that_miss),
        cmocka_unit_test(test_fences),
        cmocka_unit_test(test_drops),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_copies_of_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
