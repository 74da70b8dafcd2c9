// Warps of which not all lanes come to an operation that names them all: what a GPU does, case by case.
//
//   nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o collective collective.cu
//   for i in $(seq 0 63); do timeout 20 ./collective $i || break; done > collective.txt
//
// A run is one case: its name, how many lanes come, "done" or "hangs" (after a second), and what each lane has left.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <cuda_runtime.h>
#include <cstdint>
typedef uint32_t u32;
// Lanes below `n` come to what is meant for all; the others go round it.
extern "C" __global__ void part_shfl(u32 *out, u32 n) {
    u32 x = threadIdx.x * 3;
    if (threadIdx.x < n) { x = __shfl_xor_sync(~0u, x, 1); out[64 + threadIdx.x] = x; }
    __syncwarp();
    out[threadIdx.x] = x;
}
extern "C" __global__ void part_vote(u32 *out, u32 n) {
    u32 x = 0;
    if (threadIdx.x < n) { x = __ballot_sync(~0u, threadIdx.x & 1); out[64 + threadIdx.x] = x; }
    __syncwarp();
    out[threadIdx.x] = x;
}
extern "C" __global__ void part_sync(u32 *out, u32 n) {
    if (threadIdx.x < n) { out[64 + threadIdx.x] = 5; __syncwarp(~0u); out[96 + threadIdx.x] = 6; }
    __syncwarp();
    out[threadIdx.x] = 7;
}
extern "C" __global__ void part_mask(u32 *out, u32 n, u32 mask) {
    if (threadIdx.x < n) { out[64 + threadIdx.x] = 5; __syncwarp(mask); out[96 + threadIdx.x] = 6; }
    out[threadIdx.x] = 7;
}
extern "C" __global__ void part_elect(u32 *out, u32 n) {
    u32 p = 0;
    if (threadIdx.x < n) {
        asm volatile("{.reg .pred q; elect.sync _|q, 0xffffffff; selp.u32 %0, 1, 0, q;}" : "=r"(p));
        out[64 + threadIdx.x] = p;
    }
    __syncwarp();
    out[threadIdx.x] = p;
}
extern "C" __global__ void part_match(u32 *out, u32 n) {
    u32 x = 0;
    if (threadIdx.x < n) { x = __match_any_sync(~0u, threadIdx.x / 4); out[64 + threadIdx.x] = x; }
    out[threadIdx.x] = x;
}
extern "C" __global__ void part_redux(u32 *out, u32 n) {
    u32 x = 0;
    if (threadIdx.x < n) { x = __reduce_add_sync(~0u, threadIdx.x); out[64 + threadIdx.x] = x; }
    out[threadIdx.x] = x;
}
extern "C" __global__ void part_loop(u32 *out, const u32 *count, u32 n) {
    u32 x = threadIdx.x, k = count[threadIdx.x];
    for (u32 i = 0; i < k; i++) x += __shfl_xor_sync(~0u, x, 1);
    out[threadIdx.x] = x;
}
extern "C" __global__ void part_func(u32 *out, const u32 *count, u32 mask) {
    u32 x = threadIdx.x, k = count[threadIdx.x];
    if (k & 1) x += __shfl_xor_sync(mask, x, 1); else x += __shfl_xor_sync(mask, x, 2) * 5;
    out[threadIdx.x] = x;
}

// Others go on in a loop of their own and look for what the first ones write, or sleep; one that has ended.
extern "C" __global__ void part_spin(u32 *out, u32 n) {
    volatile u32 *flag = out + 160;
    if (threadIdx.x < n) { u32 x = __shfl_xor_sync(~0u, threadIdx.x, 1); out[64 + threadIdx.x] = x; __threadfence(); *flag = 1; }
    else while (!*flag) {}
    out[threadIdx.x] = 9;
}
extern "C" __global__ void part_exit(u32 *out, u32 n) {
    if (threadIdx.x >= n) return;
    u32 x = __shfl_xor_sync(~0u, threadIdx.x, 1);
    __syncwarp();
    out[threadIdx.x] = x;
}
extern "C" __global__ void part_block(u32 *out, u32 n) { // the others wait at the block's barrier
    if (threadIdx.x < n) { u32 x = __shfl_xor_sync(~0u, threadIdx.x, 1); out[64 + threadIdx.x] = x; }
    __syncthreads();
    out[threadIdx.x] = 3;
}
extern "C" __global__ void part_two(u32 *out, u32 n) { // both sides name all lanes
    u32 x = threadIdx.x;
    if (threadIdx.x < n) { x = __shfl_xor_sync(~0u, x, 1) + 100; out[64 + threadIdx.x] = x; }
    else { x = __shfl_xor_sync(~0u, x, 2) + 200; out[64 + threadIdx.x] = x; }
    out[threadIdx.x] = x;
}
#define KERNEL(k, ...) if (which == at++) { name = #k; lanes = n; k<<<1, 32>>>(__VA_ARGS__); ran = true; }
int main(int argc, char **argv) {
    int which = argc > 1 ? atoi(argv[1]) : 0, at = 0, lanes = 0;
    const char *name = "";
    bool ran = false;
    u32 *out, h[192], *count, c[32];
    cudaMalloc(&out, sizeof h), cudaMemset(out, 0xee, sizeof h), cudaMemset(out + 160, 0, 4);
    cudaMalloc(&count, sizeof c);
    for (u32 n : {1u, 16u, 31u}) {
        KERNEL(part_shfl, out, n) KERNEL(part_vote, out, n) KERNEL(part_sync, out, n) KERNEL(part_elect, out, n) KERNEL(part_match, out, n)
        KERNEL(part_redux, out, n) KERNEL(part_mask, out, n, ~0u) KERNEL(part_spin, out, n) KERNEL(part_exit, out, n) KERNEL(part_block, out, n) KERNEL(part_two, out, n)
    }
    for (u32 n : {0u, 1u, 2u}) { // how often each lane comes: 3 or 5 by halves; by twos; one more often than the others
        for (u32 i = 0; i < 32; i++) c[i] = n == 0 ? (i < 16 ? 3 : 5) : n == 1 ? 2 + i % 2 : i == 7 ? 6 : 1;
        cudaMemcpy(count, c, sizeof c, cudaMemcpyHostToDevice);
        KERNEL(part_loop, out, count, 0) KERNEL(part_func, out, count, ~0u)
    }
    if (!ran) return 1;
    for (int i = 0; i < 1000 && cudaStreamQuery(0) == cudaErrorNotReady; i++) usleep(1000);
    cudaError_t e = cudaStreamQuery(0);
    if (e == cudaErrorNotReady) { printf("%s %d hangs\n", name, lanes); fflush(stdout); _Exit(0); }
    printf("%s %d %s", name, lanes, e == cudaSuccess ? "done" : cudaGetErrorString(e));
    if (e == cudaSuccess && cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost) == cudaSuccess) for (int i = 0; i < 128; i++) printf(" %x", h[i]);
    printf("\n");
    return 0;
}
