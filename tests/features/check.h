// For the kernels of this folder. A kernel leaves for each of its threads 0, or the line of the first
// check that failed; its script expects 0 everywhere.
#pragma once
#include <stdint.h>

#define KERNEL extern "C" __global__ void
#define CHECK(c)                                                                                             \
    do {                                                                                                     \
        if (!(c) && !bad) bad = __LINE__;                                                                    \
    } while (0)

typedef unsigned long long ull;
typedef long long ll;

// The value, in a way that the compiler cannot see through.
__device__ inline int hide(int x) {
    asm volatile("" : "+r"(x));
    return x;
}
__device__ inline unsigned hide(unsigned x) {
    asm volatile("" : "+r"(x));
    return x;
}
__device__ inline ull hide(ull x) {
    asm volatile("" : "+l"(x));
    return x;
}
__device__ inline ll hide(ll x) {
    asm volatile("" : "+l"(x));
    return x;
}
__device__ inline float hide(float x) {
    asm volatile("" : "+f"(x));
    return x;
}
__device__ inline double hide(double x) {
    asm volatile("" : "+d"(x));
    return x;
}
__device__ inline unsigned mix(unsigned x) { // a hash
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}
__device__ inline int thread_index() {
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    return block * (blockDim.x * blockDim.y * blockDim.z) +
           (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
