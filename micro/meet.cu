// What L2 is asked for, counted by the profiler: `orrery hw profile micro/meet --metrics lts__t_sectors...` (docs/reference/counters.md).
//
//   lines_read, lines_store, lines_reduce   each block has n lines of its own, a warp a line; sectors_store: a sector of each.
//   lines_fence     one warp stores n lines and fences, `rounds` times.
//   store_parts     all warps store `per` neighbouring words to each of 32 / per lines with an instruction, `passes` times to
//                   other words of them: what sectors cost that are stored to in part.
//   meet            all blocks load the same n lines, twice, one line after the other, 1,500 cycles apart. Block b begins
//                   b % 16 times `skew` times 90 cycles later: do loads of SMs meet that are so far apart?
//   meet_sectors    the same, every second block a sector of the line only. meet_copy: with asynchronous copies.
#include "micro.h"

#define MINE ((u64)blockIdx.x * n + i) * 32
#define LINES                                                                                                \
    u32 lane = threadIdx.x % 32;                                                                             \
    _Pragma("unroll 1") for (u32 i = threadIdx.x / 32; i < n; i += blockDim.x / 32)

KERNEL lines_read(u64 *out, const u32 *p, u32 n) {
    u32 sum = 0;
    LINES sum += p[MINE + lane];
    if (sum == 123456789) out[0] = sum;
}
KERNEL lines_store(u64 *out, u32 *p, u32 n) { LINES p[MINE + lane] = i; }
KERNEL sectors_store(u64 *out, u32 *p, u32 n) {
    LINES if (lane < 8) p[MINE + lane] = i;
}
KERNEL lines_reduce(u64 *out, u32 *p, u32 n) { LINES atomicAdd(&p[MINE + lane], 1); }
KERNEL lines_fence(u64 *out, u32 *p, u32 n, u32 rounds) {
#pragma unroll 1
    for (u32 r = 0; r < rounds; r++) {
        LINES p[MINE + lane] = i + r;
        __threadfence();
    }
}

KERNEL store_parts(u64 *out, u32 *p, u32 lines, u32 per, u32 passes) {
    u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, each = 32 / per;
    u32 warps = gridDim.x * blockDim.x / 32;
#pragma unroll 1
    for (u32 k = 0; k < passes; k++)
#pragma unroll 1
        for (u32 i = warp; i < lines / each; i += warps)
            p[((u64)i * each + lane / per) * 32 + (lane % per + k * per) % 32] = k;
}

#define MEET(name, piece)                                                                                    \
    KERNEL name(u64 *out, const u32 *p, u32 n, u32 skew) {                                                   \
        __shared__ __align__(16) u32 words[32];                                                              \
        u32 lane = threadIdx.x, sum = 0;                                                                     \
        linger(blockIdx.x % 16 * skew);                                                                      \
        _Pragma("unroll 1") for (u32 i = 0; i < 2 * n; i++) {                                                \
            const u32 *at = p + i % n * 32 + lane;                                                           \
            piece;                                                                                           \
            linger(16);                                                                                      \
        }                                                                                                    \
        if (sum + words[lane] == 123456789) out[0] = sum;                                                    \
    }
MEET(meet, sum += *(volatile const u32 *)at)
MEET(meet_sectors, if (blockIdx.x % 2 == 0 || lane < 8) sum += *(volatile const u32 *)at)
MEET(meet_copy, {
    u32 to = (u32)__cvta_generic_to_shared(words + lane);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n\tcp.async.wait_all;" ::"r"(to), "l"(at) : "memory");
})
