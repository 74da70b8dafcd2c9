// SPDX-License-Identifier: Apache-2.0
// C = A B^T, e4m3 by e5m2, with a scale for each row of A and 128 of k, and for each 64 columns and 128 of k of B. One group of
// warps without a producer: its first thread asks for two stages ahead, itself.
#include "../../../workloads/hopper/hopper.cuh"

enum { TILE = 64, DEPTH = 128, STAGES = 3, HALF = TILE * DEPTH, STAGE = 2 * HALF };
MMA_SS(mma_fp8_64, "m64n64k32.f32.e4m3.e5m2", float, "f", 32, "%32", "%33", "%34", ", 1, 1")

extern "C" __global__ void __launch_bounds__(128)
    fp8_block(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b, const float *scale_a,
              const float *scale_b, float *c, int m, int n, int k) {
    extern __shared__ __align__(1024) uint8_t tiles[];
    __shared__ uint64_t full[STAGES];
    int t = threadIdx.x, steps = k / DEPTH, row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    if (t == 0) {
        for (int i = 0; i < STAGES; i++) bar_init(shared_at(&full[i]), 1);
        fence_async();
    }
    __syncthreads();
    auto ask = [&](int i) {
        uint32_t bar = shared_at(&full[i % STAGES]), to = shared_at(tiles) + i % STAGES * STAGE;
        bar_expect(bar, STAGE);
        load_tile(to, &map_a, bar, i * DEPTH, row0);
        load_tile(to + HALF, &map_b, bar, i * DEPTH, col0);
    };
    if (t == 0)
        for (int i = 0; i < STAGES - 1 && i < steps; i++) ask(i);
    int row = row0 + t / 32 * 16 + t % 32 / 4;
    float sum[32] = {0}, d[32];
    for (int i = 0; i < steps; i++) {
        uint32_t from = shared_at(tiles) + i % STAGES * STAGE;
        float b = scale_b[i * (n / TILE) + blockIdx.x], upper = scale_a[i * m + row] * b, lower = scale_a[i * m + row + 8] * b;
        bar_wait(shared_at(&full[i % STAGES]), i / STAGES & 1);
        mma_begin();
#pragma unroll
        for (int j = 0; j < DEPTH / 32; j++) mma_fp8_64(d, matrix(from) + j * 2, matrix(from + HALF) + j * 2, j > 0);
        mma_commit();
        mma_wait<0>();
        mma_hold(d);
        __syncthreads(); // all have read the stage before
        if (t == 0 && i + STAGES - 1 < steps) ask(i + STAGES - 1);
#pragma unroll
        for (int j = 0; j < 32; j++) sum[j] += d[j] * (j & 2 ? lower : upper);
    }
    int col = col0 + t % 4 * 2;
#pragma unroll
    for (int i = 0; i < 32; i += 2)
        *(float2 *)(c + (size_t)(row + (i & 2) * 4) * n + col + i / 4 * 8) = make_float2(sum[i], sum[i + 1]);
}
