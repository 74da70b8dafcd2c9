// SPDX-License-Identifier: Apache-2.0
// C += A B^T, bf16 in, f32 out, for a long k: the blocks along z have a part of k each and add their tile to C by tensor copies
// with reduction. Two groups of warps multiply 64 rows each of a 128x128 tile, the first thread loads two stages.
// m and n are multiples of 128, each part of k of 64. (CUTLASS's split-K GEMM)

#include "../hopper.cuh"

enum { TILE = 128, DEPTH = 64, STAGES = 3, HALF = TILE * DEPTH * 2, STAGE = 2 * HALF };

extern "C" __global__ void __launch_bounds__(256)
    gemm_splitk(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
                const __grid_constant__ tensor_map map_c, int part) {
    extern __shared__ __align__(1024) uint8_t tiles[];
    __shared__ uint64_t full[STAGES];
    int t = threadIdx.x % 128, group = threadIdx.x / 128, steps = part / DEPTH;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE, k0 = blockIdx.z * part;
    auto fetch = [&](int i) {
        uint32_t bar = shared_at(&full[i % STAGES]), to = shared_at(tiles) + i % STAGES * STAGE;
        bar_expect(bar, STAGE);
        load_tile(to, &map_a, bar, k0 + i * DEPTH, row0);
        load_tile(to + HALF, &map_b, bar, k0 + i * DEPTH, col0);
    };
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) bar_init(shared_at(&full[i]), 1);
        fence_async();
        for (int i = 0; i < STAGES - 1 && i < steps; i++) fetch(i);
    }
    __syncthreads();
    float d[64];
    for (int i = 0; i < steps; i++) {
        uint32_t from = shared_at(tiles) + i % STAGES * STAGE;
        bar_wait(shared_at(&full[i % STAGES]), i / STAGES & 1);
        uint64_t a = matrix(from + group * (HALF / 2)), b = matrix(from + HALF);
        mma_begin();
#pragma unroll
        for (int j = 0; j < DEPTH / 16; j++) mma_bf16_128(d, a + j * 2, b + j * 2, i + j > 0);
        mma_commit();
        mma_wait<1>();
        __syncthreads();
        if (threadIdx.x == 0 && i + STAGES - 1 < steps) fetch(i + STAGES - 1);
    }
    mma_wait<0>();
    mma_hold(d);
    __syncthreads(); // all products have been made: the stages are free
    // Four boxes of 32 columns and 128 rows of 128 bytes, swizzled.
    int row = group * 64 + t / 32 * 16 + t % 32 / 4;
#pragma unroll
    for (int i = 0; i < 64; i += 2) {
        int r = row + (i & 2) * 4, col = t % 4 * 2 + i / 4 * 8, x = col % 32;
        *(float2 *)(tiles + col / 32 * (TILE * 128) + r * 128 + ((x / 4 ^ r % 8) * 16 | x % 4 * 4)) = make_float2(d[i], d[i + 1]);
    }
    fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < TILE / 32; i++) add_tile(&map_c, shared_at(tiles) + i * TILE * 128, col0 + i * 32, row0);
        store_commit();
        store_wait<0>();
    }
}
