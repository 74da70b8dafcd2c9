// SPDX-License-Identifier: Apache-2.0
// C = A B^T, f16, two groups of warps that take tiles of 64x128 in turn: while one stores its tile the other multiplies. One
// producer warp fills a ring of five stages for both. Blocks stay; a tile leaves by a tensor copy. (CUTLASS's pingpong kernel)
#include "../../../workloads/hopper/hopper.cuh"
#include <cuda_fp16.h>

enum { ROWS = 64, COLS = 128, DEPTH = 64, STAGES = 5, A = ROWS * DEPTH * 2, STAGE = A + COLS * DEPTH * 2, OUT = ROWS * COLS * 2, TURN = 1, STORE = 3 };

extern "C" __global__ void __launch_bounds__(384)
    pingpong(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
             const __grid_constant__ tensor_map map_c, int m, int n, int k) {
    extern __shared__ __align__(1024) uint8_t tiles[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int t = threadIdx.x % 128, group = threadIdx.x / 128 - 1, steps = k / DEPTH, across = n / COLS;
    int all = across * (m / ROWS), mine = (all - (int)blockIdx.x + (int)gridDim.x - 1) / (int)gridDim.x;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) bar_init(shared_at(&full[i]), 1), bar_init(shared_at(&empty[i]), 1);
        fence_async();
    }
    __syncthreads();
    if (group < 0) {
        registers_down<40>();
        if (t != 0) return;
        for (int q = 0, c = 0; q < mine; q++) {
            int tile = blockIdx.x + q * gridDim.x;
            for (int i = 0; i < steps; i++, c++) {
                int at = c % STAGES;
                uint32_t bar = shared_at(&full[at]), to = shared_at(tiles) + at * STAGE;
                bar_wait(shared_at(&empty[at]), (c / STAGES + 1) & 1);
                bar_expect(bar, STAGE);
                load_tile(to, &map_a, bar, i * DEPTH, tile / across * ROWS);
                load_tile(to + A, &map_b, bar, i * DEPTH, tile % across * COLS);
            }
        }
        return;
    }
    registers_up<232>();
    uint32_t out = shared_at(tiles) + STAGES * STAGE + group * OUT;
    if (group == 1) named_arrive(TURN, 256); // the first turn is the first group's
    for (int q = group; q < mine; q += 2) {
        int tile = blockIdx.x + q * gridDim.x;
        float d[64];
        named_sync(TURN + group, 256);
        for (int i = 0; i < steps; i++) {
            int c = q * steps + i, at = c % STAGES;
            uint32_t from = shared_at(tiles) + at * STAGE;
            bar_wait(shared_at(&full[at]), c / STAGES & 1);
            mma_begin();
#pragma unroll
            for (int j = 0; j < DEPTH / 16; j++) mma_f16_128(d, matrix(from) + j * 2, matrix(from + A) + j * 2, i + j > 0);
            mma_commit();
            mma_wait<0>();
            if (t == 0) bar_arrive(shared_at(&empty[at]));
        }
        if (q + 1 < mine) named_arrive(TURN + 1 - group, 256);
        mma_hold(d);
        if (t == 0) store_wait_read<0>();
        named_sync(STORE + group, 128);
        uint32_t row = out + (t / 32 * 16 + t % 32 / 4) * COLS * 2 + t % 4 * 4;
#pragma unroll
        for (int i = 0; i < 64; i += 2) {
            __half2 v = __floats2half2_rn(d[i], d[i + 1]);
            asm volatile("st.shared.b32 [%0], %1;" ::"r"(row + (i & 2) * 4 * COLS * 2 + i / 4 * 16), "r"(*(uint32_t *)&v) : "memory");
        }
        fence_async_shared();
        named_sync(STORE + group, 128);
        if (t == 0) {
            store_tile(&map_c, out, tile % across * COLS, tile / across * ROWS);
            store_commit();
        }
    }
    if (t == 0) store_wait<0>();
}
