// Words that all threads of a grid raise, or add to, by compare and swap: how often do they try?
//
//   raise_one    each thread has a number, and raises word t % words to it if it is larger
//   raise_block  each thread block finds the largest of its threads' numbers first
//   add_one      each thread adds one to word t % words by compare and swap, until it has
// To be timed from outside. (With one word for all threads of raise_one, the time is that of chance: how large the number is that comes first.)
#include "micro.h"

__device__ __forceinline__ float number(u32 t) { return (float)(mixed(t + 1) >> 8) + 1; }

__device__ __forceinline__ void raise(float *word, float x) {
    int *p = (int *)word, old = *p, was;
    while (__int_as_float(old) < x) {
        was = old;
        old = atomicCAS(p, was, __float_as_int(x));
        if (old == was) break;
    }
}

KERNEL raise_one(float *word, u32 words) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    raise(word + t % words, number(t));
}
KERNEL raise_block(float *word) {
    __shared__ float best[32];
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    float x = number(t);
    for (u32 d = 16; d; d /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, d));
    if (lane == 0) best[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32) {
        x = lane < blockDim.x / 32 ? best[lane] : 0;
        for (u32 d = 16; d; d /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, d));
        if (lane == 0) raise(word, x);
    }
}
KERNEL add_one(float *word, u32 words) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    int *p = (int *)(word + t % words), old = *p, was;
    do {
        was = old;
        old = atomicCAS(p, was, __float_as_int(__int_as_float(was) + 1));
    } while (old != was);
}
