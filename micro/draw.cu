// Work drawn from a counter. Each draw is one addition that returns; what is drawn is a chain of dependent
// multiply-adds, all of one length or of two (every 16th piece is 20 times as long). Who is done first draws next.
#include "micro.h"

static __device__ __forceinline__ float work(float x, int steps) {
#pragma unroll 1
    for (int i = 0; i < steps; i++) x = x * 0.999f + 1.0f;
    return x;
}

static __device__ __forceinline__ int length(int piece, int steps, int uneven) {
    return uneven && piece % 16 == 0 ? 20 * steps : steps;
}

// Thread blocks: the first thread draws for all.
KERNEL draw_block(int *next, int pieces, int steps, int uneven, float *out) {
    __shared__ int piece;
    float x = (float)threadIdx.x;
    for (;;) {
        if (threadIdx.x == 0) piece = atomicAdd(next, 1);
        __syncthreads();
        int mine = piece;
        __syncthreads();
        if (mine >= pieces) break;
        x = work(x, length(mine, steps, uneven));
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// Warps: the first lane draws.
KERNEL draw_warp(int *next, int pieces, int steps, int uneven, float *out) {
    float x = (float)threadIdx.x;
    for (;;) {
        int mine = 0;
        if (threadIdx.x % 32 == 0) mine = atomicAdd(next, 1);
        mine = __shfl_sync(0xffffffff, mine, 0);
        if (mine >= pieces) break;
        x = work(x, length(mine, steps, uneven));
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// Threads, each for itself.
KERNEL draw_thread(int *next, int pieces, int steps, int uneven, float *out) {
    float x = (float)threadIdx.x;
    for (int mine; (mine = atomicAdd(next, 1)) < pieces;) x = work(x, length(mine, steps, uneven));
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// Warps of a block draw from its share, a counter in shared memory.
KERNEL draw_shared(int pieces, int steps, int uneven, float *out) {
    __shared__ int next;
    if (threadIdx.x == 0) next = 0;
    __syncthreads();
    float x = (float)threadIdx.x;
    for (;;) {
        int mine = 0;
        if (threadIdx.x % 32 == 0) mine = atomicAdd(&next, 1);
        mine = __shfl_sync(0xffffffff, mine, 0);
        if (mine >= pieces) break;
        x = work(x, length(mine, steps, uneven));
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
