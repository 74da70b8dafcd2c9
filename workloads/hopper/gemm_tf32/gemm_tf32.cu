// SPDX-License-Identifier: Apache-2.0
// C = A B^T in tf32, f32 out. One group of warps makes a 64x128 tile of C and does everything: its first thread asks for
// boxes 32 columns of k deep, two steps ahead in three stages; the product of a step is under way while the next is issued.
// m is a multiple of 64, n of 128, k of 32.

#include "../hopper.cuh"

enum { ROWS = 64, COLS = 128, DEPTH = 32, STAGES = 3, A_BYTES = ROWS * DEPTH * 4, STAGE = (ROWS + COLS) * DEPTH * 4 };

extern "C" __global__ void __launch_bounds__(128)
    gemm_tf32(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b, float *c, int n, int k) {
    extern __shared__ __align__(1024) uint8_t tiles[];
    __shared__ uint64_t full[STAGES];
    int t = threadIdx.x, steps = k / DEPTH, row0 = blockIdx.y * ROWS, col0 = blockIdx.x * COLS;
    auto fetch = [&](int i) {
        uint32_t bar = shared_at(&full[i % STAGES]), to = shared_at(tiles) + i % STAGES * STAGE;
        bar_expect(bar, STAGE);
        load_tile(to, &map_a, bar, i * DEPTH, row0);
        load_tile(to + A_BYTES, &map_b, bar, i * DEPTH, col0);
    };
    if (t == 0) {
        for (int i = 0; i < STAGES; i++) bar_init(shared_at(&full[i]), 1);
        fence_async();
        for (int i = 0; i < STAGES - 1 && i < steps; i++) fetch(i);
    }
    __syncthreads();
    float d[64];
    for (int i = 0; i < steps; i++) {
        uint32_t from = shared_at(tiles) + i % STAGES * STAGE;
        bar_wait(shared_at(&full[i % STAGES]), i / STAGES & 1);
        uint64_t a = matrix(from), b = matrix(from + A_BYTES);
        mma_begin();
#pragma unroll
        for (int j = 0; j < DEPTH / 8; j++) mma_tf32_128(d, a + j * 2, b + j * 2, i + j > 0);
        mma_commit();
        mma_wait<1>(); // the step before has been read: its stage is free when all warps are here
        __syncthreads();
        if (t == 0 && i + STAGES - 1 < steps) fetch(i + STAGES - 1);
    }
    mma_wait<0>();
    mma_hold(d);
    int row = row0 + t / 32 * 16 + t % 32 / 4, col = col0 + t % 4 * 2;
#pragma unroll
    for (int i = 0; i < 64; i += 2)
        *(float2 *)(c + (size_t)(row + (i & 2) * 4) * n + col + i / 4 * 8) = make_float2(d[i], d[i + 1]);
}
