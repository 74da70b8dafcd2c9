// SPDX-License-Identifier: Apache-2.0
// C = A B^T of 8-bit floats (e4m3) with a scale for each row of A and each block of 128 along k, bf16 out. Tensor cores keep
// few bits of such sums, so what 128 columns of k make is added up in f32 registers. One warp loads, two groups of
// warps multiply 64 rows each of a 128x128 tile. m, n and k are multiples of 128. (DeepSeek's fp8 GEMM)

#include "../hopper.cuh"
#include <cuda_bf16.h>

enum { TILE = 128, DEPTH = 128, STAGES = 4, HALF = TILE * DEPTH, STAGE = 2 * HALF };

extern "C" __global__ void __launch_bounds__(384)
    gemm_fp8(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b, const float *scale,
             __nv_bfloat16 *c, int m, int n, int k) {
    extern __shared__ __align__(1024) uint8_t tiles[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int t = threadIdx.x % 128, group = threadIdx.x / 128 - 1, steps = k / DEPTH;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            bar_init(shared_at(&full[i]), 1);
            bar_init(shared_at(&empty[i]), 2);
        }
        fence_async();
    }
    __syncthreads();
    if (group < 0) {
        registers_down<40>();
        if (t != 0) return;
        for (int i = 0; i < steps; i++) {
            int at = i % STAGES;
            uint32_t bar = shared_at(&full[at]), to = shared_at(tiles) + at * STAGE;
            if (i >= STAGES) bar_wait(shared_at(&empty[at]), (i / STAGES + 1) & 1);
            bar_expect(bar, STAGE);
            load_tile(to, &map_a, bar, i * DEPTH, row0);
            load_tile(to + HALF, &map_b, bar, i * DEPTH, col0);
        }
        return;
    }
    registers_up<232>();
    int row = row0 + group * 64 + t / 32 * 16 + t % 32 / 4, col = col0 + t % 4 * 2;
    float d[64], sum[64];
#pragma unroll
    for (int i = 0; i < 64; i++) sum[i] = 0;
    for (int i = 0; i < steps; i++) {
        int at = i % STAGES;
        uint32_t from = shared_at(tiles) + at * STAGE;
        float upper = scale[i * m + row], lower = scale[i * m + row + 8];
        bar_wait(shared_at(&full[at]), i / STAGES & 1);
        uint64_t a = matrix(from + group * (HALF / 2)), b = matrix(from + HALF);
        mma_begin();
#pragma unroll
        for (int j = 0; j < DEPTH / 32; j++) mma_e4m3_128(d, a + j * 2, b + j * 2, j > 0);
        mma_commit();
        mma_wait<0>();
        mma_hold(d);
        if (t == 0) bar_arrive(shared_at(&empty[at]));
#pragma unroll
        for (int j = 0; j < 64; j++) sum[j] += d[j] * (j & 2 ? lower : upper);
    }
#pragma unroll
    for (int i = 0; i < 64; i += 2)
        *(__nv_bfloat162 *)(c + (size_t)(row + (i & 2) * 4) * n + col + i / 4 * 8) = __floats2bfloat162_rn(sum[i], sum[i + 1]);
}
