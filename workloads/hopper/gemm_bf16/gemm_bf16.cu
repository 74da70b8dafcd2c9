// SPDX-License-Identifier: Apache-2.0
// C = A B^T with products of groups of warps: bf16 in, f32 out. A block makes a 128x128 tile of C: one warp asks for boxes
// of A and B, 64 columns of k each, in four stages (TMA, swizzle of 128 bytes), two groups of warps multiply 64 rows each.
// m and n are multiples of 128, k of 64. (CUTLASS's warp-specialised GEMM for Hopper)

#include "../hopper.cuh"

enum { TILE = 128, DEPTH = 64, STAGES = 4, HALF = TILE * DEPTH * 2, STAGE = 2 * HALF };

extern "C" __global__ void __launch_bounds__(384)
    gemm_bf16(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b, float *c, int n, int k) {
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
    float d[64];
    for (int i = 0; i < steps; i++) {
        int at = i % STAGES;
        uint32_t from = shared_at(tiles) + at * STAGE;
        bar_wait(shared_at(&full[at]), i / STAGES & 1);
        uint64_t a = matrix(from + group * (HALF / 2)), b = matrix(from + HALF);
        mma_begin();
#pragma unroll
        for (int j = 0; j < DEPTH / 16; j++) mma_bf16_128(d, a + j * 2, b + j * 2, i + j > 0);
        mma_commit();
        mma_wait<0>();
        if (t == 0) bar_arrive(shared_at(&empty[at]));
    }
    mma_hold(d);
    int row = row0 + group * 64 + t / 32 * 16 + t % 32 / 4, col = col0 + t % 4 * 2;
#pragma unroll
    for (int i = 0; i < 64; i += 2)
        *(float2 *)(c + (size_t)(row + (i & 2) * 4) * n + col + i / 4 * 8) = make_float2(d[i], d[i + 1]);
}
