// The cycle model's global and local memory, from the load/store unit to DRAM: each figure is worked out in
// the comment above it.
//
// How to count: on the bench's GPU a load that is issued in cycle t can be used in t + 20 (shared memory), t
// + 30 (L1), t + 200 (L2), t + 400 (memory, row closed). `+0` in a kernel means that all lanes are at one
// address: one sector.
#include "cycle.h"

#include "exec/exec.h"

// ---- global memory: sectors -----------------------------------------------------------------------------
// 32 words that are s words apart: min(32, 4 s) sectors of min(32, s) lines. L1 serves one sector of each of
// 4 banks (the sector's place in its line) a cycle: up to s = 8 all banks work, beyond that only some of
// them.
static void test_sectors_by_stride(void **state) {
    (void)state;
    for (uint64_t s = 1; s <= 32; s *= 2) {
        uint64_t sectors = 4 * s < 32 ? 4 * s : 32;
        kern *k = kern_new(1, 32);
        more(k, "LDG R1 <- R2 @0 +%d\nFFMA R3 <- R1\nEXIT", (int)(4 * s));
        ran x = run_on(GPU(), k);
        assert_int_equal(x.sm->l1.requests[0][ORR_L1_LOAD], 1);
        assert_int_equal(x.sm->l1.sectors[0][ORR_L1_LOAD], sectors);
        assert_int_equal(x.sm->l1.misses[0][ORR_L1_LOAD], sectors);
        assert_int_equal(x.sm->l1.tags, s);
        assert_int_equal(x.sm->l1.busy, s); // s = 8: 32 sectors, 8 a bank; s = 32: 32 sectors of bank 0
        assert_int_equal(x.mem->requests, s);
        assert_int_equal(x.mem->read[ORR_FROM_GLOBAL], sectors);
        assert_int_equal(x.mem->dram_read, sectors);
        ran_free(&x);
        kern_free(k);
        // When all is in L1: one begins every s cycles, and the last of ten has its data with its last
        // sector.
        k = kern_new(1, 32);
        for (int n = 0; n < 10; n++) more(k, "LDG R%d <- R2 @0 +%d", 10 + n, (int)(4 * s));
        more(k, "FFMA R3 <- R19\nEXIT");
        assert_int_equal(cycles_of(GPU("memory=perfect"), k), 10 * s - 1 + 30 + 2);
    }
}

// 16 bytes a lane are 16 sectors, 4 of each bank: 4 cycles, and 512 bytes to the registers, 128 a cycle: 4 as
// well. With 64 a cycle 8.
static void test_wide_loads(void **state) {
    (void)state;
    assert_int_equal(cycles_of(GPU("memory=perfect"), use_of("LDG.128 R1 <- R2 @0 +16")), 30 + 3 + 2);
    assert_int_equal(cycles_of(GPU("memory=perfect", "l1.bandwidth=64"), use_of("LDG.128 R1 <- R2 @0 +16")),
                     30 + 7 + 2);
}

// Banks of words (l1.word_banks): lanes w words apart need p passes over them, for lines that are looked up
// four a cycle. With l1.replay = 2 each further pass is two cycles, and each further lookup one: what an H200
// takes for these (micro/walk, lag).
static void test_conflicts_take_longer(void **state) {
    (void)state;
    static const struct {
        int words;
        uint64_t later; // 2 (p - 1) + lines / 4 - 1
    } cases[] = {{0, 0}, {1, 0}, {2, 2}, {4, 6}, {8, 14 + 1}, {16, 30 + 3}, {32, 62 + 7}, {33, 7}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        kern *k = kern_new(1, 32);
        more(k, "LDG R1 <- R2 @0 +%d\nFFMA R3 <- R1\nEXIT", 4 * cases[n].words);
        assert_int_equal(
            cycles_of(GPU("memory=perfect", "l1.word_banks=yes", "l1.banks=4", "l1.replay=2"), k),
            30 + cases[n].later + 2);
    }
}

// Lines that a load waits for are read out when they have come, those together that were looked up together
// (l1.tag_hash). Lines 0 to 3 have tags in four banks, 4 to 7 too: all words on one bank
// that is 4 + 4 passes, on different ones 1 + 1. The tags of lines 0 and 5 are in one bank: 1 + 1. Two loads
// that wait for the same lines are read out one after the other.
static void test_read_out_later(void **state) {
    (void)state;
    static const struct {
        const char *access;
        uint64_t passes;
    } cases[] = {{"@0 +128 m0xff", 8}, {"@0 +132 m0xff", 2}, {"@0 +132 m3", 1}, {"@0 +644 m3", 2}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        for (uint64_t loads = 1; loads <= 2; loads++) {
            uint64_t took[2];
            for (int folded = 0; folded < 2; folded++) {
                kern *k = kern_new(1, 32);
                for (uint64_t l = 0; l < loads; l++)
                    more(k, "LDG R%d <- R2 %s\n", (int)(4 + l), cases[n].access);
                more(k, "FFMA R3 <- R4 R%d\nEXIT", (int)(3 + loads));
                took[folded] = cycles_warm(GPU("l1.word_banks=yes", "l1.banks=4",
                                               folded ? "l1.tag_hash=752309, 972250" : "l1.tag_hash="),
                                           k, 2048);
            }
            assert_int_equal(took[1], took[0] + loads * cases[n].passes - 1);
        }
    }
}

// A load behind a store to 32 words of one bank begins 64 cycles after it; where the tags of the lines are on
// few banks (11 of the 32 on one, 3,072 bytes apart) it waits until they have left, 2 cycles each: 64 more.
static void test_lines_leave(void **state) {
    (void)state;
    static const struct {
        int apart;
        const char *leave;
        uint64_t later;
    } cases[] = {{8192, "l1.store_drain=2", 64},
                 {3072, "l1.store_drain=0", 64},
                 {3072, "l1.store_drain=2", 64 + 64},
                 {3076, "l1.store_drain=2", 11}}; // on different banks: L1 is busy with the tags
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        kern *k = kern_new(1, 32);
        more(k, "STG <- R2 R4 @0 +%d\nLDG R1 <- R2 @1048576\nFFMA R3 <- R1\nEXIT", cases[n].apart);
        assert_int_equal(cycles_of(GPU("memory=perfect", "l1.word_banks=yes", "l1.banks=4",
                                       "l1.tag_hash=752309, 972250", "lsu.replay=2", cases[n].leave),
                                   k),
                         cases[n].later + 30 + 2);
    }
}

// An access with conflicts takes its warp lsu.replay cycles for each pass: one of 32 passes has its last word
// 2 x 31 cycles after the first, and the warp's next one begins 64 after it.
static void test_way_to_the_banks(void **state) {
    (void)state;
    assert_int_equal(cycles_of(GPU("lsu.replay=2"), use_of("LDS R1 <- R2 @0 +128")), 20 + 62 + 2);
    assert_int_equal(cycles_of(GPU("lsu.replay=2"), use_of("LDS R1 <- R2 @0")), 20 + 2);
    static const char *const first[] = {"LDS R4 <- R2 @0 +128", "STS R2 R4 @0 +128"};
    for (int n = 0; n < 2; n++) {
        kern *k = kern_new(1, 32);
        more(k, "%s\nLDS R1 <- R2 @0 +128\nFFMA R3 <- R1\nEXIT", first[n]);
        assert_int_equal(cycles_of(GPU("lsu.replay=2"), k), 64 + 20 + 62 + 2);
    }
    // A load of 16 lines on one bank that hits, and one behind it.
    kern *k = kern_new(1, 32);
    more(k, "LDG R4 <- R2 @0 +128 m0xffff\nLDG R1 <- R2 @0 +128 m0xffff\nFFMA R3 <- R1\nEXIT");
    assert_int_equal(
        cycles_of(GPU("memory=perfect", "l1.word_banks=yes", "l1.banks=4", "l1.replay=2", "lsu.replay=2"), k),
        32 + 30 + 30 + 3 + 2);
}

// Lanes are merged into sectors together, or eight by eight: all in one sector, that is 1 sector or 4, in 1
// line or 4.
static void test_coalescing(void **state) {
    (void)state;
    for (uint64_t groups = 1; groups <= 4; groups += 3) {
        kern *k = use_of("LDG R1 <- R2 @0 +0");
        ran x = run_on(GPU(groups == 1 ? "l1.coalesce=32" : "l1.coalesce=8"), k);
        assert_int_equal(x.sm->l1.sectors[0][ORR_L1_LOAD], groups);
        assert_int_equal(x.sm->l1.tags, groups);
        assert_int_equal(x.mem->requests, 1); // the others find it on its way
        assert_int_equal(x.sm->l1.pending[0][ORR_L1_LOAD], groups - 1);
        ran_free(&x);
        kern_free(k);
    }
    // No lane takes part: nothing is asked for.
    kern *k = use_of("LDG R1 <- R2 @0 m0");
    ran x = run_on(GPU(), k);
    assert_int_equal(x.mem->requests, 0);
    assert_int_equal(x.sm->l1.sectors[0][ORR_L1_LOAD], 0);
    ran_free(&x);
    kern_free(k);
}

// ---- latencies ---------------------------------------------------------------------------------
static void test_latency(void **state) {
    (void)state;
    assert_int_equal(cycles_of(GPU(), use_of("LDG R1 <- R2 @0 +0")), 400 + 2);
    assert_int_equal(cycles_warm(GPU(), use_of("LDG R1 <- R2 @0 +0"), 128), 200 + 2);
    assert_int_equal(cycles_of(GPU("memory=perfect"), use_of("LDG R1 <- R2 @0 +0")), 30 + 2);
    // Other figures, also odd ones: l2.latency is what a hit takes, dram.latency what a miss takes.
    assert_int_equal(cycles_warm(GPU("l1.latency=33", "l2.latency=280"), use_of("LDG R1 <- R2 @0 +0"), 128),
                     280 + 2);
    assert_int_equal(
        cycles_of(GPU("l1.latency=33", "l2.latency=281", "dram.latency=625"), use_of("LDG R1 <- R2 @0 +0")),
        625 + 2);
    // A hit in L1: the line was asked for before. LDG 0, FFMA 400, LDG 401, FFMA 431, EXIT 432.
    kern *k = kern_of(1, 32, "LDG R1 <- R2 @0 +0\nFFMA R3 <- R1\nLDG R4 <- R2 @0 +0\nFFMA R5 <- R4\nEXIT");
    ran x = run_on(GPU(), k);
    assert_int_equal(x.cycles, 433);
    assert_int_equal(x.sm->l1.hits[0][ORR_L1_LOAD], 1);
    assert_int_equal(stalled(&x, ORR_STALL_LONG), 399 + 29);
    assert_int_equal(x.sm->l1.loads, 2);
    assert_int_equal(x.sm->l1.load_latency, 400 + 30);
    ran_free(&x);
    kern_free(k);
    // .CG does not look in L1: the second takes L2's time.
    assert_int_equal(
        cycles_of(
            GPU(),
            kern_of(1, 32, "LDG R1 <- R2 @0 +0\nFFMA R3 <- R1\nLDG.CG R4 <- R2 @0 +0\nFFMA R5 <- R4\nEXIT")),
        401 + 200 + 2);
    // A whole line from L2: three more sectors through the slice's port, 32 bytes a cycle, and through the
    // SM's port, as wide.
    assert_int_equal(cycles_warm(GPU("xbar.reply=32"), use_of("LDG R1 <- R2 @0 +4"), 128), 200 + 3 + 3 + 2);
    // A slice on the other side: l2.far_latency more. Slice 1 has the second 256 bytes; the one SM is on side
    // 0.
    assert_int_equal(
        cycles_warm(GPU("l2.partitions=2", "l2.far_latency=50"), use_of("LDG R1 <- R2 @0 +0"), 512), 200 + 2);
    assert_int_equal(
        cycles_warm(GPU("l2.partitions=2", "l2.far_latency=50"), use_of("LDG R1 <- R2 @256 +0"), 512),
        250 + 2);
}

// ---- L1: what is on its way --------------------------------------------------------------------
static void test_pending(void **state) {
    (void)state;
    // Two warps, one sector: the second waits for the first one's answer. LDGs at 0 and 1, FFMAs at 400 and
    // 401, EXITs at 402 and 403 (in turn). L2 sees one request.
    kern *k = kern_of(1, 64, "LDG R1 <- R2 @0 +0\nFFMA R3 <- R1\nEXIT");
    ran x = run_on(GPU(), k);
    assert_int_equal(x.cycles, 404);
    assert_int_equal(x.sm->l1.pending[0][ORR_L1_LOAD], 1);
    assert_int_equal(x.sm->l1.misses[0][ORR_L1_LOAD], 1);
    assert_int_equal(x.mem->requests, 1);
    ran_free(&x);
    kern_free(k);
    // Another sector of the line: asked for by itself. It is asked for at 1; its row is being opened for the
    // first, and its data follow the first's on the bus: 401.
    k = kern_of(1, 32, "LDG R1 <- R2 @0 +0\nLDG R4 <- R2 @32 +0\nFFMA R3 <- R1 R4\nEXIT");
    x = run_on(GPU(), k);
    assert_int_equal(x.cycles, 401 + 2);
    assert_int_equal(x.sm->l1.pending[0][ORR_L1_LOAD], 0);
    assert_int_equal(x.mem->requests, 2);
    assert_int_equal(x.mem->read[ORR_FROM_GLOBAL], 2);
    ran_free(&x);
    kern_free(k);
    // A line that is fetched whole: one request for four sectors, and the second sector is on its way.
    k = kern_of(1, 32, "LDG R1 <- R2 @0 +0\nLDG R4 <- R2 @32 +0\nFFMA R3 <- R1 R4\nEXIT");
    x = run_on(GPU("l1.sector=128"), k);
    assert_int_equal(x.mem->requests, 1);
    assert_int_equal(x.mem->read[ORR_FROM_GLOBAL], 4);
    ran_free(&x);
    kern_free(k);
    // Only one may wait for an answer (l1.mshr_merges): the second has to look again when it has come, at
    // 400, and hits: 430.
    assert_int_equal(cycles_of(GPU("l1.mshr_merges=1"),
                               kern_of(1, 32, "LDG R1 <- R2 @0 +0\nLDG R4 <- R2 @0 +0\nFFMA R3 <- R4\nEXIT")),
                     430 + 2);
    // Sectors that were waited for go to the registers one after the other (l1.fill_interval): the second of
    // three loads 10 cycles behind the first, the third 10 behind that.
    assert_int_equal(cycles_of(GPU("l1.fill_interval=10"),
                               kern_of(1, 32,
                                       "LDG R1 <- R2 @0 +0\nLDG R4 <- R2 @0 +0\nLDG R5 <- R2 @0 +0\n"
                                       "FFMA R3 <- R5\nEXIT")),
                     420 + 2);
}

// l1.mshrs = m lines on their way, each 200 cycles (all are in L2). Eight loads of eight lines: m at a time.
// m = 1: the n-th goes out when the one before has come, at 200 n. m = 2: pairs, the second of a pair one
// cycle behind.
static void test_misses(void **state) {
    (void)state;
    static const struct {
        const char *misses;
        uint64_t last; // when the last is there
    } cases[] = {{"l1.mshrs=1", 1600}, {"l1.mshrs=2", 801}, {"l1.mshrs=4", 403}, {"l1.mshrs=8", 207}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        kern *k = kern_new(1, 32);
        for (int i = 0; i < 8; i++) more(k, "LDG R%d <- R2 @%d +0", 10 + i, 4096 * i);
        more(k, "FFMA R3 <- R17\nEXIT");
        ran x = run_warm(GPU(cases[n].misses), k, 32768);
        assert_int_equal(x.cycles, cases[n].last + 2);
        assert_int_equal(x.sm->l1.misses[0][ORR_L1_LOAD], 8);
        if (n == 0)
            assert_int_equal(x.sm->l1.full,
                             1399); // from 1, when the second finds no room, until the last goes out
        ran_free(&x);
        kern_free(k);
    }
}

// L1 is full, and a warp whose last instruction is a store behind it has to stay until the store has left the
// queue; its block's place is free for the next one only then. One miss at a time, from L2. Block 0 (one
// warp): two loads, the second waits for the first, 200. Block 1: a store behind them, issued at 2 (warps
// take turns), EXIT at 4. The store leaves at 201, one after the second load, and the block ends in the cycle
// after. Block 2 takes its place.
static void test_store_behind_full_l1(void **state) {
    (void)state;
    kern *k = kern_of(3, 32,
                      "block tb 0\nLDG R1 <- R2 @0 +0\nLDG R3 <- R2 @4096 +0\nEXIT\n"
                      "block tb 1\nFFMA R4 <- R2\nSTG <- R2 R3 @8192\nEXIT\nblock tb 2\nEXIT");
    ran x = run_warm(GPU("l1.mshrs=1", "limit.sm_blocks=2"), k, 16384);
    for (uint64_t n = 0; n < x.t->nspans; n++) {
        const orr_span *s = &x.t->spans[n];
        if (s->block == 0) assert_int_equal(s->end, 400);
        if (s->block == 1) assert_int_equal(s->end, 202);
        if (s->block == 2) assert_int_equal(s->start, 202);
    }
    ran_free(&x);
    kern_free(k);
}

// ---- L1: what stays -----------------------------------------------------------------------------
// Least recently used first out: a set that fits is there the second time, one line more and nothing is.
static void test_capacity(void **state) {
    (void)state;
    for (int lines = 512; lines <= 513; lines++) { // 64 KB are 512
        kern *k = kern_new(1, 32);
        more(k,
             "block x%d\nLDG R1 <- R2 @0 +0 i128\nblock\nFFMA R3 <- R1\nblock x%d\nLDG R1 <- R2 @0 +0 "
             "i128\nblock\nEXIT",
             lines, lines);
        ran x = run_on(GPU(), k);
        assert_int_equal(x.sm->l1.hits[0][ORR_L1_LOAD] + x.sm->l1.pending[0][ORR_L1_LOAD],
                         lines == 512 ? 512 : 0);
        assert_int_equal(x.sm->l1.evicted, lines == 512 ? 0 : 2 * 513 - 512);
        ran_free(&x);
        kern_free(k);
    }
}

// Shared memory takes its part of the storage: 128 KB for both, carve-outs of 0, 32 and 64 KB. A block reads
// 96 KB (768 lines) twice. Without shared memory L1 has 128 KB: all hits. With 20 KB for each of the two
// blocks that an SM holds shared memory takes 64 KB and L1 has 64: none, as the lines go round. Once more
// with 10 KB, two blocks: 32 KB, and L1 has 96: hits.
static void test_carveout(void **state) {
    (void)state;
    static const struct {
        uint32_t shared;
        uint64_t hits;
    } cases[] = {{0, 768}, {20 * 1024, 0}, {10 * 1024, 768}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        kern *k = kern_of(1, 32,
                          "block x768\nLDG R1 <- R2 @0 +0 i128\nblock\nFFMA R3 <- R1\n"
                          "block x768\nLDG R1 <- R2 @0 +0 i128\nblock\nEXIT");
        k->dynamic_shared = cases[n].shared;
        ran x = run_on(GPU("l1.size=128 KB", "shared.carveouts=0, 32, 64 KB", "limit.sm_blocks=2"), k);
        assert_int_equal(x.sm->l1.hits[0][ORR_L1_LOAD] + x.sm->l1.pending[0][ORR_L1_LOAD], cases[n].hits);
        ran_free(&x);
        kern_free(k);
    }
    // Nothing is left for L1: loads still work.
    kern *k = use_of("LDG R1 <- R2 @0 +0");
    k->dynamic_shared = 64 * 1024;
    assert_int_equal(cycles_of(GPU("shared.carveouts=0, 64 KB"), k), 400 + 2);
}

// ---- L1: stores --------------------------------------------------------------------------------
typedef struct stores {
    const char *policy, *allocate, *miss;
    const char *text;
    uint64_t written, read;              // sectors of L2, of global memory
    uint64_t store_hit, hit, on_the_way; // sectors in L1: of stores, of loads
} stores;

static void check_stores(const stores *c, int space) {
    kern *k = kern_of(1, 32, c->text);
    ran x = run_on(GPU(c->policy, c->allocate, c->miss, "l1.size=1 KB"), k);
    assert_int_equal(x.mem->write[space], c->written);
    assert_int_equal(x.mem->read[space], c->read);
    assert_int_equal(x.sm->l1.hits[space == ORR_FROM_LOCAL][ORR_L1_STORE], c->store_hit);
    assert_int_equal(x.sm->l1.hits[space == ORR_FROM_LOCAL][ORR_L1_LOAD], c->hit);
    assert_int_equal(x.sm->l1.pending[space == ORR_FROM_LOCAL][ORR_L1_LOAD], c->on_the_way);
    ran_free(&x);
    kern_free(k);
}

#define ALLOCATE    "l1.write_allocate=yes"
#define NO_ALLOCATE "l1.write_allocate=no"
#define VALIDATE    "l1.write_miss=validate"
#define FETCH       "l1.write_miss=fetch"
#define LAZY        "l1.write_miss=lazy"
static void test_write_policies(void **state) {
    (void)state;
    const char *store_load = "STG <- R2 R3 @0\nLDG R1 <- R2 @0\nFFMA R4 <- R1\nEXIT";      // a whole line
    const char *word_load = "STG <- R2 R3 @0 m1\nLDG R1 <- R2 @0 m1\nFFMA R4 <- R1\nEXIT"; // 4 bytes
    const char *more_load = "STG <- R2 R3 @0 m1\nLDG R1 <- R2 @0 m3\nFFMA R4 <- R1\nEXIT"; // 8 of them
    const char *load_store_load =
        "LDG R1 <- R2 @0\nFFMA R4 <- R1\nSTG <- R2 R3 @0\nLDG R5 <- R2 @0\nFFMA R4 <- R5\nEXIT";
    const char *two_stores = "STG <- R2 R3 @0 m1\nSTG <- R2 R3 @64 m1\nEXIT"; // two sectors of a line
    // a store, then eight other lines through the eight of L1
    const char *store_evict =
        "block\nSTG <- R2 R3 @0\nblock x8\nLDG R1 <- R2 @4096 i128\nFFMA R4 <- R1\nblock\nEXIT";
    const stores global[] = {
        // Through: every store goes to L2. What it leaves whole can be read.
        {"l1.write=through", ALLOCATE, VALIDATE, store_load, 4, 0, 0, 4, 0},
        {"l1.write=through", NO_ALLOCATE, VALIDATE, store_load, 4, 4, 0, 0, 0},
        // A part of a sector: a load of no more finds it, one of more has to ask; or the store has asked for
        // it, and it is on its way.
        {"l1.write=through", ALLOCATE, VALIDATE, word_load, 1, 0, 0, 1, 0},
        {"l1.write=through", ALLOCATE, VALIDATE, more_load, 1, 1, 0, 0, 0},
        {"l1.write=through", ALLOCATE, FETCH, word_load, 1, 1, 0, 0, 1},
        // Lazy: a load finds what stores have written whole, and asks for a sector of which there is a part.
        {"l1.write=through", ALLOCATE, LAZY, store_load, 4, 0, 0, 4, 0},
        {"l1.write=through", ALLOCATE, LAZY, word_load, 1, 1, 0, 0, 0},
        {"l1.write=through", NO_ALLOCATE, VALIDATE, load_store_load, 4, 4, 4, 4, 0},
        // Back: it stays until the line is needed for another.
        {"l1.write=back", ALLOCATE, VALIDATE, store_load, 0, 0, 0, 4, 0},
        {"l1.write=back", ALLOCATE, VALIDATE, store_evict, 4, 32, 0, 0, 0},
        {"l1.write=back", ALLOCATE, VALIDATE, load_store_load, 0, 4, 4, 4, 0},
        // A store hits where its line is, if only another sector of it.
        {"l1.write=through", ALLOCATE, VALIDATE, two_stores, 2, 0, 1, 0, 0},
        {"l1.write=through", NO_ALLOCATE, VALIDATE, two_stores, 2, 0, 0, 0, 0},
        // Evict, and what is called local for global memory: through, and L1 does not keep the line.
        {"l1.write=evict", ALLOCATE, VALIDATE, store_load, 4, 4, 0, 0, 0},
        {"l1.write=evict", ALLOCATE, VALIDATE, load_store_load, 4, 8, 4, 0, 0},
        {"l1.write=local", ALLOCATE, VALIDATE, load_store_load, 4, 8, 4, 0, 0},
    };
    for (size_t n = 0; n < sizeof global / sizeof *global; n++) check_stores(&global[n], ORR_FROM_GLOBAL);
    const char *local_text =
        "STL <- R2 R3 @0 +0\nLDL R1 <- R2 @0 +0\nFFMA R4 <- R1\nEXIT"; // a word of each thread: a line
    const char *local_lane = "STL <- R2 R3 @0 +0 m1\nLDL R1 <- R2 @0 +0 m1\nFFMA R4 <- R1\nEXIT"; // of one
    const stores local[] = {
        {"l1.write=through", ALLOCATE, VALIDATE, local_text, 4, 0, 0, 4, 0},
        {"l1.write=through", ALLOCATE, LAZY, local_text, 4, 0, 0, 4, 0},
        {"l1.write=through", ALLOCATE, VALIDATE, local_lane, 1, 0, 0, 1, 0},
        {"l1.write=through", ALLOCATE, LAZY, local_lane, 1, 1, 0, 0, 0},
        {"l1.write=local", NO_ALLOCATE, VALIDATE, local_text, 0, 0, 0, 4, 0},
        {"l1.write=evict", ALLOCATE, VALIDATE, local_text, 4, 4, 0, 0, 0},
    };
    for (size_t n = 0; n < sizeof local / sizeof *local; n++) check_stores(&local[n], ORR_FROM_LOCAL);
}

// ---- local memory -------------------------------------------------------------------------------
// Word w of a warp's 32 threads is one line. All threads at one offset: 1 line, 4 sectors. Each at its
// own (thread t at word t): 32 lines, a sector of each. 16 bytes a thread: 4 lines, 16 sectors. Warps
// have lines of their own.
static void test_local(void **state) {
    (void)state;
    static const struct {
        const char *load;
        uint64_t lines, sectors;
    } cases[] = {
        {"LDL R1 <- R2 @0 +0", 1, 4}, {"LDL R1 <- R2 @0 +4", 32, 32}, {"LDL.128 R1 <- R2 @0 +0", 4, 16}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        kern *k = kern_new(1, 64); // two warps
        more(k, "%s\nFFMA R3 <- R1\nEXIT", cases[n].load);
        ran x = run_on(GPU(), k);
        assert_int_equal(x.sm->l1.requests[1][ORR_L1_LOAD], 2);
        assert_int_equal(x.sm->l1.tags, 2 * cases[n].lines);
        assert_int_equal(x.sm->l1.sectors[1][ORR_L1_LOAD], 2 * cases[n].sectors);
        assert_int_equal(x.sm->l1.misses[1][ORR_L1_LOAD], 2 * cases[n].sectors);
        assert_int_equal(x.mem->read[ORR_FROM_LOCAL], 2 * cases[n].sectors);
        assert_int_equal(x.mem->read[ORR_FROM_GLOBAL], 0);
        ran_free(&x);
        kern_free(k);
    }
}

// ---- generic addresses -------------------------------------------------------------------------
static void test_generic(void **state) {
    (void)state;
    kern *k = kern_new(1, 32);
    more(k, "LD R1 <- R2 @%llu\nFFMA R3 <- R1\nEXIT", (unsigned long long)ORR_SHARED_WINDOW);
    assert_int_equal(cycles_of(GPU(), k), 20 + 2);
    k = kern_new(1, 32);
    more(k, "LD R1 <- R2 @%llu +0\nFFMA R3 <- R1\nEXIT", (unsigned long long)ORR_LOCAL_WINDOW + 64);
    ran x = run_on(GPU(), k);
    assert_int_equal(x.sm->l1.sectors[1][ORR_L1_LOAD], 4);
    ran_free(&x);
    kern_free(k);
    assert_int_equal(cycles_of(GPU(), use_of("LD R1 <- R2 @4096 +0")), 400 + 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sectors_by_stride),
        cmocka_unit_test(test_wide_loads),
        cmocka_unit_test(test_conflicts_take_longer),
        cmocka_unit_test(test_read_out_later),
        cmocka_unit_test(test_lines_leave),
        cmocka_unit_test(test_way_to_the_banks),
        cmocka_unit_test(test_coalescing),
        cmocka_unit_test(test_latency),
        cmocka_unit_test(test_pending),
        cmocka_unit_test(test_misses),
        cmocka_unit_test(test_store_behind_full_l1),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_carveout),
        cmocka_unit_test(test_write_policies),
        cmocka_unit_test(test_local),
        cmocka_unit_test(test_generic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
