// SPDX-License-Identifier: Apache-2.0
// C = A B^T of signed bytes, s32 out, one group of warps to a 64x128 tile of C, four stages; the tile goes out through shared
// memory with a tensor copy. m is a multiple of 64, n and k of 128. (quantised inference)

#include "../hopper.cuh"

enum { ROWS = 64, COLS = 128, DEPTH = 128, STAGES = 4, A_BYTES = ROWS * DEPTH, STAGE = (ROWS + COLS) * DEPTH };

extern "C" __global__ void __launch_bounds__(160)
    gemm_int8(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
              const __grid_constant__ tensor_map map_c, int k) {
    extern __shared__ __align__(1024) uint8_t tiles[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int t = threadIdx.x, steps = k / DEPTH, row0 = blockIdx.y * ROWS, col0 = blockIdx.x * COLS;
    if (t == 0) {
        for (int i = 0; i < STAGES; i++) {
            bar_init(shared_at(&full[i]), 1);
            bar_init(shared_at(&empty[i]), 4);
        }
        fence_async();
    }
    __syncthreads();
    if (t >= 128) { // the fifth warp loads
        if (t != 128) return;
        for (int i = 0; i < steps; i++) {
            int at = i % STAGES;
            uint32_t bar = shared_at(&full[at]), to = shared_at(tiles) + at * STAGE;
            if (i >= STAGES) bar_wait(shared_at(&empty[at]), (i / STAGES + 1) & 1);
            bar_expect(bar, STAGE);
            load_tile(to, &map_a, bar, i * DEPTH, row0);
            load_tile(to + A_BYTES, &map_b, bar, i * DEPTH, col0);
        }
        return;
    }
    int d[64];
    for (int i = 0; i < steps; i++) {
        int at = i % STAGES;
        uint32_t from = shared_at(tiles) + at * STAGE;
        bar_wait(shared_at(&full[at]), i / STAGES & 1);
        uint64_t a = matrix(from), b = matrix(from + A_BYTES);
        mma_begin();
#pragma unroll
        for (int j = 0; j < DEPTH / 32; j++) mma_s8_128(d, a + j * 2, b + j * 2, i + j > 0);
        mma_commit();
        mma_wait<1>(); // the step before
        if (t % 32 == 0 && i > 0) bar_arrive(shared_at(&empty[(i - 1) % STAGES]));
    }
    mma_wait<0>();
#pragma unroll
    for (int i = 0; i < 64; i++) asm volatile("" : "+r"(d[i])::"memory");
    // Four boxes of 32 columns, rows of 128 bytes, chunks of 16 changing places as the swizzle has it.
    named_sync(1, 128);
    uint8_t *out = tiles;
    int row = t / 32 * 16 + t % 32 / 4;
#pragma unroll
    for (int i = 0; i < 64; i += 2) {
        int r = row + (i & 2) * 4, col = t % 4 * 2 + i / 4 * 8, x = col % 32;
        *(int2 *)(out + col / 32 * (ROWS * 128) + r * 128 + ((x / 4 ^ r % 8) * 16 | x % 4 * 4)) = make_int2(d[i], d[i + 1]);
    }
    fence_async_shared();
    named_sync(1, 128);
    if (t == 0) {
        for (int i = 0; i < COLS / 32; i++) store_tile(&map_c, shared_at(out) + i * ROWS * 128, col0 + i * 32, row0);
        store_commit();
        store_wait_read<0>();
    }
}
