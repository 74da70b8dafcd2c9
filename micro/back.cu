// Decoupled look-back: each thread block adds up a tile, publishes its sum, and looks at the tiles before its own until it finds one that knows the
// sum of all up to it; then it publishes that.
//
//   back_clear   nobody has published anything
//   back_warp    a warp looks at 32 tiles at a time, one word of 64 bits each, as scans of libraries do
//   back_each    256 sums at once: each thread walks back by itself, a tile at a time, as sorts of libraries do
// All are timed from outside.
#include "micro.h"

#define PART 1u // the tile's own sum
#define ALL  2u // of all tiles up to it

__device__ __forceinline__ void put(u64 *p, u32 what, u32 sum) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"((u64)what << 32 | sum) : "memory");
}

__device__ __forceinline__ u64 get(const u64 *p) {
    u64 v;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}

KERNEL back_clear(u64 *state, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) state[i] = 0;
}

__device__ __forceinline__ u32 warp_sum(u32 v) {
    for (int far = 16; far; far /= 2) v += __shfl_xor_sync(~0u, v, far);
    return v;
}

// The sum of the tiles before this one, by one warp.
__device__ u32 walk_back(u64 *state, u32 lane) {
    u32 sum = 0;
    for (int tile = (int)blockIdx.x - 1 - (int)lane;; tile -= 32) {
        u64 v;
        do v = tile >= 0 ? get(state + tile) : (u64)ALL << 32;
        while (__any_sync(~0u, v >> 32 == 0));
        u32 all = __ballot_sync(~0u, v >> 32 == ALL);
        u32 first = all ? __ffs(all) - 1 : 31;
        sum += warp_sum(lane <= first ? (u32)v : 0);
        if (all) return sum;
    }
}

KERNEL back_warp(u64 *state, u32 *out, const u32 *in, u32 items) {
    __shared__ u32 part[32], before;
    u32 t = threadIdx.x, lane = t % 32, sum = 0;
    const u32 *p = in + (u64)blockIdx.x * blockDim.x * items + t;
    for (u32 k = 0; k < items; k++) sum += p[k * blockDim.x];
    u32 w = warp_sum(sum);
    if (lane == 0) part[t / 32] = w;
    __syncthreads();
    if (t < 32) {
        u32 mine = warp_sum(lane < blockDim.x / 32 ? part[lane] : 0);
        if (lane == 0) put(state + blockIdx.x, blockIdx.x ? PART : ALL, mine);
        if (blockIdx.x) {
            u32 b = walk_back(state, lane);
            if (lane == 0) put(state + blockIdx.x, ALL, b + mine);
            if (lane == 0) before = b;
        } else if (lane == 0) {
            before = 0;
        }
    }
    __syncthreads();
    u32 *q = out + (u64)blockIdx.x * blockDim.x * items + t;
    for (u32 k = 0; k < items; k++) q[k * blockDim.x] = before + sum + k;
}

// State: 256 words a tile; two bits say what it is.
KERNEL back_each(u32 *state, u32 *out, const u32 *in, u32 items) {
    __shared__ u32 bins[256];
    u32 t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    const u32 *p = in + (u64)blockIdx.x * 256 * items + t;
    for (u32 k = 0; k < items; k++) atomicAdd(&bins[(p[k * 256] + t + k) % 256], 1);
    __syncthreads();
    u32 mine = bins[t], sum = 0;
    volatile u32 *s = state + t;
    s[blockIdx.x * 256] = (blockIdx.x ? PART : ALL) << 30 | mine;
    for (int tile = (int)blockIdx.x - 1; tile >= 0; tile--) {
        u32 v;
        do v = s[tile * 256];
        while (v == 0);
        sum += v & 0x3fffffff;
        if (v >> 30 == ALL) break;
    }
    if (blockIdx.x) s[blockIdx.x * 256] = ALL << 30 | (sum + mine);
    out[blockIdx.x * 256 + t] = sum;
}
