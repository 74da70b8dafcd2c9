// SPDX-License-Identifier: Apache-2.0
// Products of groups of rows, each with weights of its own (experts): a block makes a tensor map for its group on the GPU, of
// one that the host made, by replacing address and number of rows, and publishes it with a fence before it loads by it. f16 in,
// f32 out; a group's rows need not fill its last tile. (CUTLASS's grouped GEMM)
#include "../../../workloads/hopper/hopper.cuh"

enum { TILE = 64, DEPTH = 64, STAGES = 3, HALF = TILE * DEPTH * 2, STAGE = 2 * HALF };

extern "C" __global__ void __launch_bounds__(160)
    grouped(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b, tensor_map *maps,
            const uint8_t *a, const int *begin, float *c, int n, int k) {
    extern __shared__ __align__(1024) uint8_t tiles[];
    __shared__ __align__(128) tensor_map own;
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int t = threadIdx.x, group = blockIdx.y, steps = k / DEPTH, first = begin[group], rows = begin[group + 1] - first;
    tensor_map *mine = maps + (group * gridDim.x + blockIdx.x);
    if (t < 32) {
        ((uint32_t *)&own)[t] = ((const uint32_t *)&map_a)[t];
        __syncwarp();
        if (t == 0) {
            asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(shared_at(&own)), "l"(a + (size_t)first * k * 2) : "memory");
            asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(shared_at(&own)), "r"(rows) : "memory");
        }
        __syncwarp();
        asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(mine), "r"(shared_at(&own)) : "memory");
    }
    if (t == 0) {
        for (int i = 0; i < STAGES; i++) bar_init(shared_at(&full[i]), 1), bar_init(shared_at(&empty[i]), 1);
        fence_async();
    }
    __syncthreads();
    if (t >= 128) {
        if (t != 128) return;
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(mine) : "memory");
        for (int row0 = 0, i = 0; row0 < rows; row0 += TILE)
            for (int s = 0; s < steps; s++, i++) {
                int at = i % STAGES;
                uint32_t bar = shared_at(&full[at]), to = shared_at(tiles) + at * STAGE;
                bar_wait(shared_at(&empty[at]), (i / STAGES + 1) & 1);
                bar_expect(bar, STAGE);
                load_tile(to, mine, bar, s * DEPTH, row0);
                load_tile(to + HALF, &map_b, bar, s * DEPTH, group * n + blockIdx.x * TILE);
            }
        return;
    }
    for (int row0 = 0, i = 0; row0 < rows; row0 += TILE) {
        float d[32];
        for (int s = 0; s < steps; s++, i++) {
            int at = i % STAGES;
            uint32_t from = shared_at(tiles) + at * STAGE;
            bar_wait(shared_at(&full[at]), i / STAGES & 1);
            mma_begin();
#pragma unroll
            for (int j = 0; j < DEPTH / 16; j++) mma_f16_64(d, matrix(from) + j * 2, matrix(from + HALF) + j * 2, s + j > 0);
            mma_commit();
            mma_wait<0>();
            if (t == 0) bar_arrive(shared_at(&empty[at]));
        }
        mma_hold(d);
        int row = row0 + t / 32 * 16 + t % 32 / 4, col = blockIdx.x * TILE + t % 4 * 2;
#pragma unroll
        for (int j = 0; j < 32; j += 2)
            if (row + (j & 2) * 4 < rows)
                *(float2 *)(c + (size_t)(first + row + (j & 2) * 4) * n + col + j / 4 * 8) = make_float2(d[j], d[j + 1]);
    }
}
