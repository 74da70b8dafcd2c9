// Occupancy against values computed by hand from the rules of NVIDIA's occupancy calculator, one
// generation after the other, and against what the CUDA driver answered on an H200 when that file is
// there. Each case's comment is its calculation:
//
//   registers: a warp's, rounded up to the unit / what fits one partition x partitions / warps a block
//   shared:    (bytes + reserved) rounded up to the unit / what an SM has
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static orr_gpu *load(const char *name, const char *const *sets, int nsets) {
    orr_err e = {0};
    orr_gpu *g = orr_gpu_load(name, sets, nsets, &e);
    if (!g) fail_msg("%s", e.text);
    return g;
}

enum {
    WARPS = ORR_LIMIT_WARPS,
    BLOCKS = ORR_LIMIT_BLOCKS,
    REGS = ORR_LIMIT_REGISTERS,
    SHARED = ORR_LIMIT_SHARED,
    BARS = ORR_LIMIT_BARRIERS
};

typedef struct sample {
    const char *gpu;
    int threads, regs;
    int64_t shared;
    int barriers;
    int blocks, warps, limiter;
} sample;

// clang-format off
static const sample samples[] = {
    // Fermi 2.0: 48 warps, 8 blocks, 32768 registers in 2 partitions of 16384, unit 64, 48 KB in 128 B
    {"gtx480", 192, 20, 0, 1,      8, 48, WARPS},  // 640 -> 25 x 2 = 50 / 6 = 8; 48 / 6 = 8
    {"gtx480", 256, 20, 0, 1,      6, 48, WARPS},  // 50 / 8 = 6; 48 / 8 = 6
    {"gtx480", 256, 21, 0, 1,      5, 40, REGS},   // 672 -> 768 (21 has unit 128): 21 x 2 = 42 / 8 = 5
    {"gtx480", 544, 29, 0, 1,      1, 17, REGS},   // 928 -> 1024 (29 has unit 128): 16 x 2 = 32 / 17 = 1; by 64 it would be 2
    {"gtx480", 544, 28, 0, 1,      2, 34, WARPS},  // 896: 18 x 2 = 36 / 17 = 2; 48 / 17 = 2
    {"gtx480", 512, 32, 0, 1,      2, 32, REGS},   // 1024: 16 x 2 = 32 / 16 = 2; 48 / 16 = 3
    {"gtx480", 128, 16, 0, 1,      8, 32, BLOCKS}, // 512: 32 x 2 = 64 / 4 = 16; 48 / 4 = 12; 8 blocks
    {"gtx480", 128, 16, 12289, 1,  3, 12, SHARED}, // 12416; 49152 / 12416 = 3.96
    {"gtx480", 1024, 63, 0, 1,     0, 0, REGS},    // 2016 -> 2048 x 32 warps = 65536 > 32768
    {"gtx480", 32, 64, 0, 1,       0, 0, REGS},    // 63 per thread
    {"m2090", 256, 63, 0, 1,       2, 16, REGS},   // 2048: 8 x 2 = 16 / 8 = 2
    {"m2090", 256, 20, 49152, 1,   1, 8, SHARED},  // 49152 / 49152
    {"m2090", 256, 20, 49153, 1,   0, 0, SHARED},  // 49280 > 48 KB

    // Kepler 3.5: 64 warps, 16 blocks, 65536 registers in 4 partitions of 16384, unit 256, 48 KB in 256 B
    {"k40", 256, 32, 0, 1,         8, 64, WARPS},  // 1024: 16 x 4 = 64 / 8 = 8; 64 / 8 = 8
    {"k40", 256, 33, 0, 1,         6, 48, REGS},   // 1056 -> 1280: 12 x 4 = 48 / 8 = 6
    {"k40", 160, 40, 0, 1,         9, 45, REGS},   // 1280: 48 / 5 = 9 (not 65536 / 1280 = 51 / 5 = 10)
    {"k40", 64, 20, 0, 1,         16, 32, BLOCKS}, // 640 -> 768: 21 x 4 = 84 / 2 = 42; 64 / 2 = 32; 16 blocks
    {"k40", 256, 32, 8193, 1,      5, 40, SHARED}, // 8448; 49152 / 8448 = 5.8
    {"k40", 1024, 64, 0, 1,        1, 32, REGS},   // 2048: 8 x 4 = 32 / 32 = 1
    {"k40", 1024, 65, 0, 1,        0, 0, REGS},    // 2080 -> 2304 x 32 = 73728 > 65536
    {"k6000", 192, 63, 0, 1,       5, 30, REGS},   // 2016 -> 2048: 32 / 6 = 5
    {"k6000", 1025, 16, 0, 1,      0, 0, WARPS},   // 1024 threads a block

    // Pascal 6.1: 64 warps, 32 blocks, as Kepler; 96 KB, 48 KB a block, in 256 B
    {"titanx", 64, 32, 0, 1,      32, 64, WARPS},  // 64 / 2 = 32 by all three
    {"titanx", 32, 32, 0, 1,      32, 32, BLOCKS}, // 64 / 1 = 64; 32 blocks
    {"titanx", 256, 32, 24576, 1,  4, 32, SHARED}, // 98304 / 24576 = 4
    {"titanx", 256, 32, 49153, 1,  0, 0, SHARED},  // 49408 > 48 KB: nothing to opt in to
    {"titanx", 512, 48, 0, 1,      2, 32, REGS},   // 1536: 10 x 4 = 40 / 16 = 2

    // Volta 7.0: 64 warps, 32 blocks, 96 KB also for one block that asks, in 256 B
    {"v100", 1024, 32, 0, 1,       2, 64, WARPS},  // 64 / 32 = 2
    {"v100", 256, 64, 0, 1,        4, 32, REGS},   // 2048: 32 / 8 = 4
    {"v100", 256, 255, 0, 1,       1, 8, REGS},    // 8160 -> 8192: 2 x 4 = 8 / 8 = 1
    {"v100", 256, 32, 98304, 1,    1, 8, SHARED},  // 98304 / 98304
    {"v100", 256, 32, 98305, 1,    0, 0, SHARED},  // 98560 > 96 KB
    {"v100", 128, 72, 16384, 1,    6, 24, SHARED}, // 98304 / 16384 = 6; 2304: 7 x 4 = 28 / 4 = 7

    // Turing 7.5: 32 warps, 16 blocks, 64 KB in 256 B
    {"rtx2060", 256, 64, 0, 1,     4, 32, WARPS},  // 32 / 8 = 4; 2048: 32 / 8 = 4
    {"rtx2060", 32, 32, 0, 1,     16, 16, BLOCKS}, // 32 / 1; 16 blocks
    {"rtx2060", 128, 64, 20000, 1, 3, 12, SHARED}, // 20224; 65536 / 20224 = 3.2
    {"rtx2060", 1024, 64, 0, 1,    1, 32, WARPS},  // 32 / 32; 2048: 32 / 32 = 1
    {"rtx2060", 1024, 72, 0, 1,    0, 0, REGS},    // 2304 x 32 = 73728 > 65536

    // Ampere 8.6: 48 warps, 16 blocks, 100 KB, 1 KB of each block reserved, in 128 B
    {"rtx3070", 256, 40, 0, 1,     6, 48, WARPS},  // 48 / 8 = 6; 1280: 48 / 8 = 6
    {"rtx3070", 1024, 32, 0, 1,    1, 32, WARPS},  // 48 / 32 = 1
    {"rtx3070", 128, 32, 0, 1,    12, 48, WARPS},  // 48 / 4 = 12; shared 102400 / 1024 = 100
    {"rtx3070", 256, 32, 49152, 1, 2, 16, SHARED}, // 50176; 102400 / 50176 = 2.04
    {"rtx3070", 64, 32, 5400, 1,  15, 30, SHARED}, // 6424 -> 6528; 102400 / 6528 = 15.7; 16 blocks
    {"rtx3070", 256, 32, 101376, 1, 1, 8, SHARED}, // 99 KB + 1 KB = 102400
    {"rtx3070", 256, 32, 101377, 1, 0, 0, SHARED}, // 102401 -> 102528 > 102400
    {"rtx3070", 256, 32, 0, 16,    6, 48, WARPS},  // barriers are not counted before 9.0

    // Ampere 8.0: 64 warps, 32 blocks, 164 KB, 1 KB reserved, in 128 B
    {"a100", 256, 32, 16384, 1,    8, 64, WARPS},  // 17408; 167936 / 17408 = 9.6; 64 / 8 = 8
    {"a100", 256, 32, 20480, 1,    7, 56, SHARED}, // 21504; 167936 / 21504 = 7.8
    {"a100", 512, 128, 0, 1,       1, 16, REGS},   // 4096: 4 x 4 = 16 / 16 = 1
    {"a100", 1024, 32, 166912, 1,  1, 32, SHARED}, // 163 KB + 1 KB = 167936
    {"a100", 384, 168, 0, 1,       1, 12, REGS},   // 5376: 3 x 4 = 12 / 12 = 1

    // Ada 8.9: 48 warps, 24 blocks, as 8.6
    {"rtx4090", 64, 32, 0, 1,     24, 48, WARPS},  // 48 / 2 = 24; 24 blocks
    {"rtx4090", 32, 32, 0, 1,     24, 24, BLOCKS}, // 48 / 1; 24 blocks
    {"rtx4090", 256, 96, 0, 1,     2, 16, REGS},   // 3072: 5 x 4 = 20 / 8 = 2

    // Hopper 9.0: 64 warps, 32 blocks, 228 KB, 1 KB reserved, in 128 B, 64 barriers
    {"h200", 256, 64, 16384, 1,    4, 32, REGS},   // 2048: 32 / 8 = 4; 17408: 233472 / 17408 = 13
    {"h200", 384, 168, 232448, 1,  1, 12, REGS},   // 5376: 12 / 12 = 1; 227 KB + 1 KB = 233472: 1
    {"h200", 384, 160, 232448, 1,  1, 12, REGS},   // 5120: 3 x 4 = 12 / 12 = 1
    {"h200", 128, 160, 232448, 1,  1, 4, SHARED},  // 12 / 4 = 3; shared 1
    {"h200", 128, 32, 232449, 1,   0, 0, SHARED},  // 233473 -> 233600 > 233472
    {"h200", 256, 32, 0, 16,       4, 32, BARS},   // 64 / 16 = 4
    {"h200", 128, 32, 0, 5,       12, 48, BARS},   // 64 / 5 = 12; 64 / 4 = 16
    {"h200", 256, 32, 0, 17,       0, 0, BARS},    // 16 a block
    {"h100", 64, 255, 0, 1,        4, 8, REGS},    // 8192: 8 / 2 = 4
    {"h100", 1024, 64, 0, 1,       1, 32, REGS},   // 2048: 32 / 32 = 1
    {"h100", 1024, 32, 0, 1,       2, 64, WARPS},  // 64 / 32 = 2

    // Blackwell 10.0 as 9.0; 12.0: 48 warps, 24 blocks, 100 KB, 24 barriers
    {"b200", 256, 64, 114688, 1,   2, 16, SHARED}, // 115712; 233472 / 115712 = 2.02
    {"rtx5090", 128, 40, 0, 2,    12, 48, WARPS},  // 48 / 4 = 12; 1280: 48 / 4 = 12; 24 / 2 = 12
    {"rtx5090", 128, 40, 0, 3,     8, 32, BARS},   // 24 / 3 = 8
};
// clang-format on

static void by_hand(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const sample *s = &samples[i];
        orr_gpu *g = load(s->gpu, NULL, 0);
        orr_occupancy_result r;
        assert_true(orr_occupancy(g, s->threads, s->regs, s->shared, s->barriers, &r));
        if (r.blocks != s->blocks || r.warps != s->warps || r.limiter != s->limiter)
            fail_msg("%s, %d threads, %d registers, %lld bytes, %d barriers: %d blocks, %d warps by %s; "
                     "expected %d, %d by %s",
                     s->gpu, s->threads, s->regs, (long long)s->shared, s->barriers, r.blocks, r.warps,
                     orr_limiter_name[r.limiter], s->blocks, s->warps, orr_limiter_name[s->limiter]);
        int slots = g->limit_sm_warps;
        assert_true(r.percent == 100.0 * s->warps / slots);
        orr_gpu_free(g);
    }
}

// A P100 (6.0) is like 6.1 with two partitions: 160 threads of 40 registers, 1280 a warp,
// 32768 / 1280 = 25 x 2 = 50 / 5 = 10 blocks, where four partitions hold 9.
static void two_partitions(void **state) {
    (void)state;
    const char *sets[] = {"limit.warp_unit=2"};
    orr_gpu *g = load("titanx", sets, 1);
    orr_occupancy_result r;
    assert_true(orr_occupancy(g, 160, 40, 0, 1, &r));
    assert_int_equal(r.blocks, 10);
    orr_gpu_free(g);
}

// The carve-outs that an H200's driver takes, as the profiler says them: for twice as many blocks as have
// room for their warps, four times as many without shared memory, up to 132 KB; for those that fit, at least.
// 256 threads: 8 blocks of 1 KB, room for 32; of 5 KB, 16 are 80 KB; of 17 KB, 8 are 136 KB. 1024 threads: 2
// blocks.
static void ample_carveouts(void **state) {
    (void)state;
    static const struct {
        int threads, regs;
        int64_t shared, kb;
    } cases[] = {{256, 16, 0, 32},      {256, 16, 4096, 100},   {256, 16, 8192, 132}, {256, 16, 16384, 164},
                 {1024, 16, 0, 8},      {1024, 16, 32768, 100}, {512, 16, 0, 16},     {128, 16, 16384, 228},
                 {640, 16, 16384, 132}, {128, 134, 0, 32},      {32, 16, 0, 32},      {768, 16, 2048, 16}};
    orr_gpu *g = load("h200", NULL, 0);
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        orr_occupancy_result r;
        assert_true(orr_occupancy(g, cases[n].threads, cases[n].regs, cases[n].shared, 1, &r));
        assert_int_equal(r.shared_carveout / 1024, cases[n].kb);
    }
    orr_gpu_free(g);
}

// GT200 (1.3) allocated registers to blocks: 16384 in units of 512, warps in pairs, 32 warps, 8 blocks.
static void registers_to_blocks(void **state) {
    (void)state;
    const char *sets[] = {
        "limit.register_granularity=block", "limit.register_unit=512", "limit.warp_unit=2",
        "limit.sm_registers=16384",         "limit.sm_warps=32",       "limit.sm_threads=1024"};
    orr_gpu *g = load("gtx480", sets, 6);
    orr_occupancy_result r;
    assert_true(orr_occupancy(g, 256, 10, 0, 1, &r)); // 2560 = 5 x 512; 16384 / 2560 = 6; 32 / 8 = 4
    assert_int_equal(r.blocks, 4);
    assert_int_equal(r.limit[ORR_LIMIT_REGISTERS], 6);
    assert_true(orr_occupancy(g, 256, 17, 0, 1, &r)); // 4352 -> 4608; 16384 / 4608 = 3
    assert_int_equal(r.blocks, 3);
    assert_int_equal(r.registers_per_block, 4608);
    assert_true(orr_occupancy(g, 96, 10, 0, 1, &r)); // 3 warps taken as 4: 1280 -> 1536; 32 / 4 = 8
    assert_int_equal(r.registers_per_block, 1536);
    assert_int_equal(r.limit[ORR_LIMIT_WARPS], 8);
    orr_gpu_free(g);
}

// V100, blocks of 20000 -> 20224 bytes: 98304 / 20224 = 4. When the kernel prefers half, that is 48 KB,
// next carve-out 64 KB: 65536 / 20224 = 3. When it prefers none, the smallest that holds one: 32 KB, 1.
static void carveouts(void **state) {
    (void)state;
    static const struct {
        const char *set;
        int blocks;
        int64_t carveout;
    } want[] = {
        {"shared.prefer=-1", 4, 98304}, {"shared.prefer=50", 3, 65536}, {"shared.prefer=0", 1, 32768}};
    orr_occupancy_result r;
    for (int i = 0; i < 3; i++) {
        const char *sets[] = {want[i].set};
        orr_gpu *g = load("v100", sets, 1);
        assert_true(orr_occupancy(g, 256, 32, 20000, 1, &r));
        assert_int_equal(r.blocks, want[i].blocks);
        assert_int_equal(r.shared_carveout, want[i].carveout);
        assert_int_equal(r.l1_bytes, 131072 - want[i].carveout);
        orr_gpu_free(g);
    }
    // H100 as it would be without shared.carveout_spare: four blocks of 17408 bytes are 68 KB; the next
    // carve-out is 100 KB; 256 - 100 for L1.
    const char *strict[] = {"shared.carveout_spare=0"};
    orr_gpu *g = load("h100", strict, 1);
    assert_true(orr_occupancy(g, 256, 64, 16384, 1, &r));
    assert_int_equal(r.shared_carveout, 100 * 1024);
    assert_int_equal(r.l1_bytes, 156 * 1024);
    orr_gpu_free(g);
    // GTX 480: 48 KB shared and 16 KB L1 unless asked otherwise. TITAN X: nothing is shared.
    g = load("gtx480", NULL, 0);
    assert_true(orr_occupancy(g, 256, 20, 0, 1, &r));
    assert_int_equal(r.l1_bytes, 16 * 1024);
    orr_gpu_free(g);
    g = load("titanx", NULL, 0);
    assert_true(orr_occupancy(g, 256, 20, 0, 1, &r));
    assert_int_equal(r.l1_bytes, 48 * 1024);
    orr_gpu_free(g);
}

static void nonsense(void **state) {
    (void)state;
    orr_gpu *g = load("h200", NULL, 0);
    orr_occupancy_result r;
    assert_false(orr_occupancy(g, 0, 32, 0, 1, &r));
    assert_int_equal(r.blocks, 0);
    assert_false(orr_occupancy(g, 256, -1, 0, 1, &r));
    assert_false(orr_occupancy(g, 256, 32, -1, 1, &r));
    assert_false(orr_occupancy(g, 256, 32, 0, -1, &r));
    assert_false(orr_occupancy(g, INT32_MAX, INT32_MAX, INT64_MAX, 1, &r));
    assert_true(orr_occupancy(g, 1 << 20, 1 << 16, (int64_t)1 << 40, INT32_MAX, &r)); // large, and cannot run
    assert_int_equal(r.blocks, 0);
    assert_true(orr_occupancy(g, 256, 0, 0, 0, &r)); // an empty kernel needs no registers
    assert_int_equal(r.limit[ORR_LIMIT_REGISTERS], ORR_UNLIMITED);
    assert_int_equal(r.limit[ORR_LIMIT_BARRIERS], ORR_UNLIMITED);
    assert_int_equal(r.blocks, 8);
    orr_gpu_free(g);
}

// More registers, threads or shared memory never fit better, on any GPU.
static void never_better(void **state) {
    (void)state;
    int n;
    char **names = orr_gpu_list(&n);
    for (int i = 0; i < n; i++) {
        orr_gpu *g = load(names[i], NULL, 0);
        orr_occupancy_result a, b;
        for (int threads = 32; threads <= 1024; threads += 96)
            for (int regs = 0; regs <= 64; regs += 4)
                for (int64_t shared = 0; shared < 60000; shared += 7001) {
                    orr_occupancy(g, threads, regs, shared, 1, &a);
                    orr_occupancy(g, threads, regs + 8, shared, 1, &b);
                    assert_true(b.blocks <= a.blocks);
                    orr_occupancy(g, threads, regs, shared + 1000, 1, &b);
                    assert_true(b.blocks <= a.blocks);
                    orr_occupancy(g, threads + 32, regs, shared, 1, &b);
                    assert_true(b.blocks <= a.blocks);
                    assert_true(a.warps <= g->limit_sm_warps &&
                                a.blocks * a.shared_per_block <= g->shared_per_sm);
                    assert_true(a.blocks * a.registers_per_block <= g->limit_sm_registers);
                }
        orr_gpu_free(g);
    }
    orr_gpu_list_free(names, n);
}

// threads,regs,static_smem,dyn_smem,barriers,blocks as the CUDA runtime gave them on an H200
// (tests/h200/occupancy.cu). Lines that do not start with a digit are comments or the header.
static void as_measured(void **state) {
    (void)state;
    FILE *f = fopen(ORRERY_SOURCE_DIR "/hardware/h200/occupancy.csv", "r");
    if (!f) skip();
    orr_gpu *g = load("h200", NULL, 0);
    char line[200];
    int n = 0, bad = 0;
    while (fgets(line, sizeof line, f)) {
        int threads, regs, fixed, dynamic, barriers, blocks;
        if (line[0] < '0' || line[0] > '9') continue;
        if (sscanf(line, "%d,%d,%d,%d,%d,%d", &threads, &regs, &fixed, &dynamic, &barriers, &blocks) != 6)
            fail_msg("occupancy.csv: cannot read: %s", line);
        orr_occupancy_result r;
        assert_true(orr_occupancy(g, threads, regs, (int64_t)fixed + dynamic, barriers, &r));
        n++;
        if (r.blocks != blocks && bad++ < 10)
            print_error("%d threads, %d registers, %d + %d bytes, %d barriers: %d blocks, the H200 says %d\n",
                        threads, regs, fixed, dynamic, barriers, r.blocks, blocks);
    }
    fclose(f);
    orr_gpu_free(g);
    assert_true(n > 0);
    if (bad) fail_msg("%d of %d differ", bad, n);
}

// Blocks of two kernels on one SM: hardware/h200/pairs_carveout.csv. The second one's go beside the first
// one's where the first one's carve-out would do for as many of the second one's as warps allow, and what
// they need is left.
static void beside_as_measured(void **state) {
    (void)state;
    FILE *f = fopen(ORRERY_SOURCE_DIR "/hardware/h200/pairs_carveout.csv", "r");
    assert_non_null(f);
    orr_gpu *g = load("h200", NULL, 0);
    char line[256];
    int n = 0, bad = 0;
    while (fgets(line, sizeof line, f)) {
        int grid[2], threads[2], shared[2], beside;
        double end, start;
        if (sscanf(line, "%d,%d,%d,%d,%d,%d,%lf,%lf,%d", &grid[0], &threads[0], &shared[0], &grid[1],
                   &threads[1], &shared[1], &end, &start, &beside) != 9)
            continue;
        orr_occupancy_result a, b;
        assert_true(orr_occupancy(g, threads[0], 16, shared[0], 1, &a));
        assert_true(orr_occupancy(g, threads[1], 16, shared[1], 1, &b));
        int64_t used =
            a.shared_per_block * (grid[0] / g->sm_count) + b.shared_per_block * (grid[1] / g->sm_count);
        bool fits = a.shared_carveout >= b.shared_least && used <= a.shared_carveout;
        bad += fits != (beside != 0);
        n++;
    }
    fclose(f);
    orr_gpu_free(g);
    assert_int_equal(n, 198);
    assert_int_equal(bad, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(two_partitions),
        cmocka_unit_test(registers_to_blocks),
        cmocka_unit_test(carveouts),
        cmocka_unit_test(ample_carveouts),
        cmocka_unit_test(nonsense),
        cmocka_unit_test(never_better),
        cmocka_unit_test(as_measured),
        cmocka_unit_test(beside_as_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
