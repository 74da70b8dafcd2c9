// Products by tiles and without, where blocks of several SMs load the same rows (docs/archive/h200/l2.md).
//
//   tile_dot, tile_mul   blocks of 16 by 16 threads: a tile of 16 x 16 words of a and of b into shared memory, barrier, 16 steps of
//                        it, barrier, `rounds` times. dot: b by rows (dp4a); mul: b by columns (f32).
//   tile_load            the same loads, stores and barriers, nothing computed.
//   tile_work            the same computation and barriers, nothing loaded from global memory.
//   column               each thread a row of a and a column of b, straight from global memory.
#include "micro.h"

#define TILE 16
KERNEL tile_dot(int *c, const int *a, const int *b, u32 words, u32 rounds) {
    __shared__ int as[TILE][TILE + 1], bs[TILE][TILE + 1];
    u32 tx = threadIdx.x, ty = threadIdx.y;
    const int *pa = a + (blockIdx.y * TILE + ty) * words + tx, *pb = b + (blockIdx.x * TILE + ty) * words + tx;
    int sum = 0;
#pragma unroll 1
    for (u32 k = 0; k < rounds; k++, pa += TILE, pb += TILE) {
        as[ty][tx] = *pa;
        bs[ty][tx] = *pb;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++) sum = __dp4a(as[ty][i], bs[tx][i], sum);
        __syncthreads();
    }
    c[(blockIdx.y * TILE + ty) * gridDim.x * TILE + blockIdx.x * TILE + tx] = sum;
}
KERNEL tile_mul(float *c, const float *a, const float *b, u32 words, u32 rounds) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    u32 tx = threadIdx.x, ty = threadIdx.y;
    const float *pa = a + (blockIdx.y * TILE + ty) * words + tx, *pb = b + ty * words + blockIdx.x * TILE + tx;
    float sum = 0;
#pragma unroll 1
    for (u32 k = 0; k < rounds; k++, pa += TILE, pb += TILE * words) {
        as[ty][tx] = *pa;
        bs[ty][tx] = *pb;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++) sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    c[(blockIdx.y * TILE + ty) * gridDim.x * TILE + blockIdx.x * TILE + tx] = sum;
}
KERNEL tile_load(int *c, const int *a, const int *b, u32 words, u32 rounds) {
    __shared__ int as[TILE][TILE + 1], bs[TILE][TILE + 1];
    u32 tx = threadIdx.x, ty = threadIdx.y;
    const int *pa = a + (blockIdx.y * TILE + ty) * words + tx, *pb = b + (blockIdx.x * TILE + ty) * words + tx;
    int sum = 0;
#pragma unroll 1
    for (u32 k = 0; k < rounds; k++, pa += TILE, pb += TILE) {
        as[ty][tx] = *pa;
        bs[ty][tx] = *pb;
        __syncthreads();
        sum += as[ty][0] + bs[tx][0];
        __syncthreads();
    }
    c[(blockIdx.y * TILE + ty) * gridDim.x * TILE + blockIdx.x * TILE + tx] = sum;
}
KERNEL tile_work(int *c, const int *a, const int *b, u32 words, u32 rounds) {
    __shared__ int as[TILE][TILE + 1], bs[TILE][TILE + 1];
    u32 tx = threadIdx.x, ty = threadIdx.y;
    int sum = words;
#pragma unroll 1
    for (u32 k = 0; k < rounds; k++) {
        as[ty][tx] = sum;
        bs[ty][tx] = k;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++) sum = __dp4a(as[ty][i], bs[tx][i], sum);
        __syncthreads();
    }
    c[(blockIdx.y * TILE + ty) * gridDim.x * TILE + blockIdx.x * TILE + tx] = sum;
}
KERNEL column(float *c, const float *a, const float *b, u32 n, u32 steps) {
    u32 col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    const float *pa = a + row * n, *pb = b + col;
#pragma unroll 1
    for (u32 k = 0; k < steps; k += 8, pa += 8, pb += 8 * n) {
#pragma unroll
        for (u32 i = 0; i < 8; i++) sum += pa[i] * pb[i * n];
        }
    c[row * gridDim.x * blockDim.x + col] = sum;
}

