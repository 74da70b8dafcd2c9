// The abstract model by pencil and paper, on the bench of the cycle model's tests (cycle.h), and the file
// that keeps what was pre-characterised.
//
// How to count is in test_cycle_issue.c: the first instruction is issued in cycle 0, a result can be used a
// latency later, the launch ends in the cycle after the last instruction.
#include "cycle.h"

#include <unistd.h>

#include "model/abstract/latencies.h"
#include "model/cycle/precharacterise.h"

static orr_launch_result launch_on(const orr_gpu *g, kern *k, int threads, const char *file, orr_result *r) {
    stream s = {.k = k, .nwarps = (k->threads + 31) / 32};
    s.base.info.kernel = kern_kernel(k);
    for (int d = 0; d < 3; d++) s.base.info.grid[d] = s.base.info.block[d] = 1;
    s.base.info.grid[0] = k->grid;
    s.base.info.block[0] = k->threads;
    s.base.next = stream_next;
    s.base.close = stream_close;
    s.warp = calloc(s.nwarps, sizeof *s.warp);
    s.view = calloc(s.nwarps, sizeof *s.view);
    orr_work w = {.info = s.base.info, .source = &s.base, .threads = threads, .latencies = file};
    orr_err e = {0};
    if (!orr_model_abstract.run(g, &w, r, &e)) fail_msg("%s", e.text);
    for (uint32_t n = 0; n < s.nwarps; n++) free(s.warp[n].bytes);
    free(s.warp);
    free(s.view);
    return r->launches.at[r->launches.n - 1];
}

// Cycles of one launch; with two host threads they must be the same.
static uint64_t takes_with(orr_gpu *g, kern *k, const char *file) {
    orr_result one = {0}, two = {0};
    orr_launch_result a = launch_on(g, k, 1, file, &one), b = launch_on(g, k, 2, file, &two);
    assert_true(a.cycles == b.cycles);
    assert_int_equal(a.warp_insts, b.warp_insts);
    orr_result_free(&one);
    orr_result_free(&two);
    orr_gpu_free(g);
    kern_free(k);
    return (uint64_t)a.cycles;
}
static uint64_t takes(orr_gpu *g, kern *k) { return takes_with(g, k, NULL); }

static kern *chain(uint32_t grid, uint32_t threads) { // 20 that need each other
    kern *k = kern_new(grid, threads);
    for (int n = 0; n < 20; n++) more(k, "FFMA R1 <- R1 R2 R3");
    more(k, "EXIT");
    return k;
}

// ---- issue --------------------------------------------------------------------------------------
// At 0, 10 ... 190, EXIT at 191.
static void test_chain(void **state) {
    (void)state;
    assert_int_equal(takes(GPU(), chain(1, 32)), 192);
}

// Ten warps fill the ten cycles of a latency: 200 instructions at 0 .. 199, ten EXIT at 200 .. 209. With
// twenty warps it is the issue slots that count: 400 + 20. Two schedulers with ten each: 210 again. Warps
// that do the same are batches of eight, and those that follow are booked by the segment, not by the
// instruction: chains that would fill each other's gaps exactly do not, and take up to half as long again.
static void about(uint64_t cycles, uint64_t want) { assert_in_range(cycles, want, want + want * 6 / 10); }

static void test_slots(void **state) {
    (void)state;
    about(takes(GPU(), chain(1, 320)), 210);
    about(takes(GPU(), chain(1, 640)), 420);
    about(takes(GPU("core.schedulers=2", "unit.fma.count=2", "unit.control.count=2"), chain(1, 640)), 210);
    // With one unit for EXIT, which takes one a cycle: 20 of them at 200 .. 219.
    about(takes(GPU("core.schedulers=2", "unit.fma.count=2"), chain(1, 640)), 220);
    // an instruction every second cycle: 210 slots, the last at 418
    about(takes(GPU("core.issue_interval=2"), chain(1, 320)), 419);
}

// A batch: what each of its warps does is counted, and each has lines of its own. Eight loads of a line of
// four sectors; L1 takes four cycles for each (32 bytes a cycle and bank), one after the other, and memory a
// sector a cycle; so the last is there 7 * 4 later than one alone at least. As fast as eight of which each
// does something else first, within what that takes.
static void test_batch(void **state) {
    (void)state;
    orr_gpu *g = GPU();
    kern *k = kern_new(1, 256);
    more(k, "LDG R1 <- R9 @0x10000 w128\nFFMA R2 <- R1\nEXIT");
    orr_result r = {0};
    orr_launch_result l = launch_on(g, k, 1, NULL, &r);
    assert_int_equal(l.warp_insts, 8 * 3);
    assert_int_equal(l.thread_insts, 32 * 8 * 3);
    assert_true(l.counters[ORR_C_L1_SECTORS] == 8 * 4);
    assert_true(l.counters[ORR_C_L1_MISS] == 8 * 4);
    assert_true(l.counters[ORR_C_DRAM_READ] == 8 * 4);
    assert_true(l.counters[ORR_C_L1_TAGS] == 8);
    kern *each = kern_new(1, 256);
    for (int n = 0; n < 8; n++) more(each, "block warp %d\nFFMA R3 <- R4", n);
    more(each, "block\nLDG R1 <- R9 @0x10000 w128\nFFMA R2 <- R1\nEXIT");
    uint64_t alone = takes(GPU(), each);
    assert_in_range((uint64_t)l.cycles, alone - alone / 20, alone + alone / 20);
    orr_result_free(&r);
    orr_gpu_free(g);
    kern_free(k);
}

// Warps that wait for each other at a barrier as one: the last of them counts. Seven FFMA of each of eight
// warps, 56 slots, BAR for each at 56 .. 63 at the earliest and at 71 for a chain of seven; 7 later EXIT.
static void test_batch_barrier(void **state) {
    (void)state;
    kern *k = kern_new(1, 256);
    for (int n = 0; n < 7; n++) more(k, "FFMA R1 <- R1");
    more(k, "BAR\nEXIT");
    assert_in_range(takes(GPU(), k), 61 + 7, 71 + 7 + 8 + 8);
}

// SMs that do the same are simulated as one, four of them: eight SMs that hold one block each take six blocks
// one after the other, 6 * 192. On six SMs, of which one of four has no fourth: 48 / 6 of them. One block
// takes 200 cycles more: by 6 * 192 seven SMs have done 42, the one that had it is at its fifth, and the 48th
// begins.
static void test_peers(void **state) {
    (void)state;
    assert_int_equal(takes(GPU("sm.count=8", "limit.sm_blocks=1"), chain(48, 32)), 6 * 192);
    assert_int_equal(takes(GPU("sm.count=6", "limit.sm_blocks=1"), chain(48, 32)), 8 * 192);
    kern *k = kern_new(48, 32);
    more(k, "block tb 17");
    for (int n = 0; n < 20; n++) more(k, "FFMA R1 <- R1 R2 R3");
    more(k, "block");
    for (int n = 0; n < 20; n++) more(k, "FFMA R1 <- R1 R2 R3");
    more(k, "EXIT");
    assert_int_equal(takes(GPU("sm.count=8", "limit.sm_blocks=1"), k), 7 * 192);
}

// And each has lines of its own: 48 blocks of four warps, a line of four sectors for each warp, all of them
// from memory; those that load one and the same line load it once from memory. What all of them do is
// counted.
static void test_twins_memory(void **state) {
    (void)state;
    for (int same = 0; same < 2; same++) {
        orr_gpu *g = GPU("sm.count=8", "limit.sm_blocks=1");
        kern *k = kern_new(48, 128);
        more(k, same ? "LDG R1 <- R9 @0x10000\nFFMA R2 <- R1\nEXIT"
                     : "LDG R1 <- R9 @0x10000 w128\nFFMA R2 <- R1\nEXIT");
        orr_result r = {0};
        orr_launch_result l = launch_on(g, k, 1, NULL, &r);
        assert_int_equal(l.blocks, 48);
        assert_int_equal(l.warp_insts, 48 * 4 * 3);
        assert_int_equal(l.thread_insts, 48 * 4 * 3 * 32);
        assert_true(l.counters[ORR_C_WARPS_LAUNCHED] == 48 * 4);
        assert_true(l.counters[ORR_C_L1_SECTORS] == 48 * 4 * 4);
        assert_true(l.counters[ORR_C_L1_TAGS] == 48 * 4);
        assert_true(l.counters[ORR_C_DRAM_READ] == (same ? 4 : 48 * 4 * 4));
        orr_result_free(&r);
        orr_gpu_free(g);
        kern_free(k);
    }
}

// 50 that are independent: a unit of 4 lanes takes one every 8 cycles.
static void test_units(void **state) {
    (void)state;
    kern *k = kern_new(1, 32);
    for (int n = 0; n < 50; n++) more(k, "MUFU R%d <- R1", 4 + n);
    more(k, "EXIT");
    assert_int_equal(takes(GPU(), k), 49 * 8 + 2);
}

// Three blocks on an SM that holds one: one after the other.
static void test_blocks(void **state) {
    (void)state;
    assert_int_equal(takes(GPU("limit.sm_blocks=1"), chain(3, 32)), 3 * 192);
    assert_int_equal(takes(GPU("limit.sm_blocks=1", "sm.count=3", "tpc.count=3"), chain(3, 32)), 192);
}

// SMs that have room get the next block. Nine blocks of 192 cycles on three SMs: three
// waves. When block 4 has ten more FFMA, its SM has 100 cycles more: 292 after the 192 of block 1, free at
// 484; the others are until 576 with blocks 6 and 7, so block 8 comes to it and ends at 676.
static void test_queue(void **state) {
    (void)state;
#define THREE "memory=perfect", "limit.sm_blocks=1", "sm.count=3", "tpc.count=3"
    assert_int_equal(takes(GPU(THREE), chain(9, 32)), 3 * 192);
    kern *k = kern_new(9, 32);
    more(k, "block tb 4");
    for (int n = 0; n < 10; n++) more(k, "FFMA R1 <- R1 R2 R3");
    more(k, "block");
    for (int n = 0; n < 20; n++) more(k, "FFMA R1 <- R1 R2 R3");
    more(k, "EXIT");
    orr_gpu *g = GPU(THREE);
    orr_result r = {0};
    orr_launch_result l = launch_on(g, k, 1, NULL, &r);
    assert_true(l.cycles == 676);
    assert_int_equal(l.warp_insts, 9 * 21 + 10);
    assert_int_equal(l.thread_insts, 32 * (9 * 21 + 10));
    orr_result_free(&r);
    orr_gpu_free(g);
    kern_free(k);
}

// Warp 0 comes to the barrier at 91: ten FFMA at 0 .. 90, and BAR needs none of them. Warp 1 has come before.
// Both go on 7 later: EXIT at 98 and 99.
static void test_barrier(void **state) {
    (void)state;
    kern *k = kern_new(1, 64);
    more(k, "block warp 0");
    for (int n = 0; n < 10; n++) more(k, "FFMA R1 <- R1");
    more(k, "block\nBAR\nEXIT");
    assert_int_equal(takes(GPU(), k), 100);
}

// Control bits: 0, 5 (stall 5), 6; MUFU sets barrier 1 and is there at 6 + 25; EXIT waits for it.
static void test_control(void **state) {
    (void)state;
    kern *k = kern_new(1, 32);
    more(k, "FFMA R1 <- R2 | stall 5\nFFMA R3 <- R4 | stall 1\nMUFU R5 <- R6 | wbar 1\nEXIT | wait 2");
    assert_int_equal(takes(GPU(), k), 6 + 25 + 1);
}

// ---- memory -------------------------------------------------------------------------------------
// A load, one that needs it, EXIT.
static uint64_t load(orr_gpu *g, const char *what) {
    kern *k = kern_new(1, 32);
    more(k, "%s\nFFMA R2 <- R1\nEXIT", what);
    return takes(g, k);
}

// L1: 30. 32 lines share one of four banks: the last sector 31 cycles later. Shared memory: 20, or 31 passes
// more.
static void test_perfect(void **state) {
    (void)state;
    assert_int_equal(load(GPU("memory=perfect"), "LDG R1 <- R9 @0x10000"), 30 + 2);
    assert_int_equal(load(GPU("memory=perfect"), "LDG R1 <- R9 @0x10000 +128"), 30 + 31 + 2);
    assert_int_equal(load(GPU("memory=perfect"), "LDS R1 <- R9 @0"), 20 + 2);
    assert_int_equal(load(GPU("memory=perfect"), "LDS R1 <- R9 @0 +128"), 20 + 31 + 2);
}

// Nothing is in any cache: 400, the last of four sectors of a line three later (a sector a cycle from a
// channel). The second of two that ask for the same line finds it on its way.
static void test_memory(void **state) {
    (void)state;
    assert_int_equal(load(GPU(), "LDG R1 <- R9 @0x10000 +0"), 400 + 2);
    uint64_t line = load(GPU(), "LDG R1 <- R9 @0x10000");
    assert_in_range(line, 400 + 2, 400 + 8 + 2);
    assert_int_equal(load(GPU(), "LDG R3 <- R9 @0x10000 +0\nLDG R1 <- R9 @0x10000 +0"), 400 + 2);
}

// Lines that L1 does not have keep it busy one after the other: the last of 32 is asked for 31 * 64 later,
// and finds its row open (12 cycles less).
static void test_misses(void **state) {
    (void)state;
    uint64_t last = load(GPU("l1.miss_interval=64"), "LDG R1 <- R9 @0x10000 +128");
    assert_in_range(last, 31 * 64 + 400 - 12 + 2, 31 * 64 + 400 + 40);
}

// Banks of words, four cycles for each of 32 words on one bank: a warp's next access begins 128 cycles after
// one with such, whether that is a load of what L1 has or a store. Behind a store to lines whose tags are on
// one bank loads wait two cycles for each of the 32 lines besides.
static uint64_t then_load(orr_gpu *g, const char *what) {
    kern *k = kern_new(1, 32);
    more(k, "LDG R1 <- R9 @0x10000 +128\nFFMA R2 <- R1\n%s\nLDG R4 <- R2 @0x10000 +0", what);
    for (int n = 0; n < 40; n++) more(k, "FFMA R4 <- R4"); // until what it stores is in L2
    more(k, "EXIT");
    return takes(g, k);
}
static void test_conflicts(void **state) {
    (void)state;
#define WORDS "l1.word_banks=yes", "lsu.replay=4", "l1.replay=4"
    uint64_t next = then_load(GPU(WORDS), "FFMA R6 <- R7") + 128;
    assert_in_range(then_load(GPU(WORDS), "LDG R3 <- R2 @0x10000 +128"), next, next + 2);
    assert_in_range(then_load(GPU(WORDS), "STG <- R2 R3 @0x40000 +128"), next, next + 2);
    uint64_t left = then_load(GPU(WORDS, "l1.store_drain=2", "l1.tag_hash=0"), "STG <- R2 R3 @0x40000 +128");
    assert_in_range(left, next + 64, next + 64 + 2);
}

// What was copied from the host is in L2: 200. After that it is in L1: 30 more and the one that waits for it.
static void test_l2(void **state) {
    (void)state;
    orr_gpu *g = GPU();
    orr_result r = {0};
    orr_err e = {0};
    assert_true(orr_model_abstract.copy(g, 0x10000, 128, &r, &e));
    kern *k = kern_new(1, 32);
    more(k, "LDG R1 <- R9 @0x10000 +0\nFFMA R2 <- R1\nLDG R1 <- R2 @0x10000 +0\nFFMA R2 <- R1\nEXIT");
    // FFMA at 200, the load needs it: 210; FFMA 30 later
    assert_true(launch_on(g, k, 1, NULL, &r).cycles == 200 + 10 + 30 + 2);
    orr_result_free(&r);
    orr_gpu_free(g);
    kern_free(k);
}

// ---- pre-characterisation ----------------------------------------------------------------------
static void test_alone(void **state) {
    (void)state;
    kern *k = kern_new(1, 32);
    more(k, "FFMA R1 <- R2\nIADD3 R3 <- R1\nblock x9\nMUFU R4 <- R3\nLDG R5 <- R4 @0x10000\nEXIT");
    orr_gpu *g = GPU();
    orr_err e = {0};
    orr_program *p = orr_program_new(kern_kernel(k), g, &e);
    uint32_t latency[5];
    assert_non_null(p);
    assert_true(orr_precharacterise(p, g, 0, latency, &e));
    assert_int_equal(latency[0], 10);
    assert_int_equal(latency[1], 6);
    assert_int_equal(latency[2], 25);
    assert_int_equal(latency[3], 0); // memory's
    orr_program_free(p);
    orr_gpu_free(g);
    kern_free(k);
}

static char *contents(const char *path) {
    orr_err e = {0};
    size_t n;
    char *s = orr_read_file(path, 1 << 20, &n, &e);
    if (!s) fail_msg("%s", e.text);
    return s;
}

static int kernels_in(const char *path) {
    char *s = contents(path);
    int n = 0;
    for (const char *at = s; (at = strstr(at, "kernel ")); at++) n++;
    free(s);
    return n;
}

// What a file says is believed for the code and the pipeline it names: with 12 cycles in it for each FFMA the
// chain takes 19 * 12 + 2. Other SMs, schedulers, policies and caches use it again; another latency of the
// unit does not.
static void test_file(void **state) {
    (void)state;
    char path[] = "/tmp/orrery-latencies-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(takes_with(GPU(), chain(1, 32), path), 192);
    char *s = contents(path);
    for (char *at = s; (at = strstr(at, ":10")); at++) memcpy(at, ":12", 3);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(s, f);
    fclose(f);
    assert_int_equal(takes_with(GPU(), chain(1, 32), path), 19 * 12 + 2);
    assert_int_equal(takes_with(GPU("sm.count=2", "core.policy=gto", "l1.size=32 KB"), chain(1, 32), path),
                     230);
    char *same = contents(path);
    assert_string_equal(s, same);
    assert_int_equal(kernels_in(path), 1);
    assert_int_equal(takes_with(GPU("op.fp32.latency=11"), chain(1, 32), path), 19 * 11 + 2);
    assert_int_equal(kernels_in(path), 2);
    free(s);
    free(same);
    unlink(path);
}

// What was written is read back as it was; what is damaged is refused with its line.
static void test_format(void **state) {
    (void)state;
    orr_latencies *l = calloc(1, sizeof *l);
    orr_latencies_kernel *k = orr_latencies_add(l, 0x0123456789abcdefu, "a kernel (float*)", 35);
    k->registers = 20;
    k->shared = 4096;
    for (uint32_t n = 0; n < 35; n++) k->inst[n] = (orr_latency){n * 3, (uint8_t)(n % 4)};
    orr_latencies_add(l, 1, "none", 0);
    orr_text one = {0}, two = {0};
    orr_latencies_print(l, &one);
    orr_err e = {0};
    orr_latencies *again = orr_latencies_parse(one.s, one.n, "f", &e);
    assert_non_null(again);
    orr_latencies_print(again, &two);
    assert_string_equal(one.s, two.s);
    assert_non_null(orr_latencies_find(again, 0x0123456789abcdefu, 35));
    assert_null(orr_latencies_find(again, 0x0123456789abcdefu, 34));
    static const char *const wrong[] = {
        "", "orrery latencies 2\n", "orrery latencies 1\nkernel 12",
        "orrery latencies 1\nkernel 0123456789abcdef insts 4000000 registers 1 shared 0 x\n1:2\n",
        "orrery latencies 1\nkernel 0123456789abcdef insts 2 registers 1 shared 0 x\n1:2\n1:2\n"};
    for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
        orr_err bad = {0};
        assert_null(orr_latencies_parse(wrong[n], strlen(wrong[n]), "f", &bad));
        assert_int_equal(bad.status, ORR_BAD_INPUT);
        assert_non_null(strstr(bad.text, "f:"));
    }
    free(one.s);
    free(two.s);
    orr_latencies_free(l);
    orr_latencies_free(again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_control),
        cmocka_unit_test(test_perfect),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_misses),
        cmocka_unit_test(test_conflicts),
        cmocka_unit_test(test_l2),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_peers),
        cmocka_unit_test(test_twins_memory),
        cmocka_unit_test(test_batch_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
