// SPDX-License-Identifier: Apache-2.0
// C = A B^T, bf16 in, f32 out, clusters of 2x2 blocks: a block loads half of its rows of A for itself and its neighbour beside
// it, and half of its rows of B for itself and the one below. Three stages of 32 KB.
#include "../../../workloads/hopper/hopper.cuh"

enum { TILE = 128, DEPTH = 64, STAGES = 3, HALF = TILE * DEPTH * 2, STAGE = 2 * HALF };

extern "C" __global__ void __cluster_dims__(2, 2, 1) __launch_bounds__(384)
    cast22(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b, float *c, int m, int n, int k) {
    extern __shared__ __align__(1024) uint8_t tiles[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int t = threadIdx.x % 128, group = threadIdx.x / 128 - 1, steps = k / DEPTH;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    uint32_t me = cluster_rank(), x = me % 2, y = me / 2;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) bar_init(shared_at(&full[i]), 1), bar_init(shared_at(&empty[i]), 6); // two groups of three blocks
        fence_bar_init();
    }
    cluster_sync();
    if (group < 0) {
        registers_down<40>();
        for (int i = 0; i < steps && t == 0; i++) {
            int at = i % STAGES;
            uint32_t bar = shared_at(&full[at]), to = shared_at(tiles) + at * STAGE;
            bar_wait(shared_at(&empty[at]), (i / STAGES + 1) & 1);
            bar_expect(bar, STAGE);
            load_tile_to(to + x * (HALF / 2), &map_a, bar, i * DEPTH, row0 + x * (TILE / 2), 3 << 2 * y);
            load_tile_to(to + HALF + y * (HALF / 2), &map_b, bar, i * DEPTH, col0 + y * (TILE / 2), 5 << x);
        }
    } else {
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
            if (t < 3) bar_arrive_at(shared_at(&empty[at]), me ^ t);
        }
        mma_hold(d);
        int row = row0 + group * 64 + t / 32 * 16 + t % 32 / 4, col = col0 + t % 4 * 2;
#pragma unroll
        for (int i = 0; i < 64; i += 2)
            *(float2 *)(c + (size_t)(row + (i & 2) * 4) * n + col + i / 4 * 8) = make_float2(d[i], d[i + 1]);
    }
    cluster_sync();
}
