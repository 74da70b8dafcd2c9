// How many rows a second memory opens: random pieces of 64 and of 128 bytes of a table that L2 cannot hold.
//
//   chunk_64, chunk_128   each warp has 4 KB of such pieces on their way, past L1, `rounds` times.
// Pieces of 128 bytes are limited by bandwidth, those of 64 by how soon a channel opens one row after
// another. The table has 256 MB: with a gigabyte and more than 16 warps an SM addresses are no longer
// translated fast enough. To be timed from outside.
#include "micro.h"

#define LOADS 8 // of 16 bytes a lane

// `log`: of a piece's size in units of 16 bytes; `mask`: the number of pieces - 1.
__device__ __forceinline__ void chunks(const uint4 *p, u32 log, u32 mask, u32 rounds, u32 *out) {
    u32 lane = threadIdx.x % 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, sum = 0;
    for (u32 r = 0; r < rounds; r++) {
        u32 first = (r * gridDim.x * 32 + warp) * 64;
        uint4 v[LOADS];
#pragma unroll
        for (u32 k = 0; k < LOADS; k++) {
            u32 unit = k * 32 + lane, piece = mixed(first + (unit >> log)) & mask;
            v[k] = __ldcg(p + ((size_t)piece << log) + (unit & ((1u << log) - 1)));
        }
#pragma unroll
        for (u32 k = 0; k < LOADS; k++) sum += v[k].x + v[k].w;
    }
    if (sum == 0x1234567) out[0] = sum;
}
KERNEL chunk_64(const uint4 *p, u32 pieces, u32 rounds, u32 *out) { chunks(p, 2, pieces - 1, rounds, out); }
KERNEL chunk_128(const uint4 *p, u32 pieces, u32 rounds, u32 *out) { chunks(p, 3, pieces - 1, rounds, out); }
