// SPDX-License-Identifier: Apache-2.0
// C = A B^T, bf16 in, f32 out, by stream-K: all steps along k of all tiles are one long row, cut into as many pieces of one
// length as there are blocks. A block whose piece begins inside a tile leaves its sums in memory and raises a flag; the block
// that began the tile waits for those behind it and adds them up. One warp loads, four multiply.
#include "../../../workloads/hopper/hopper.cuh"

enum { ROWS = 64, COLS = 64, DEPTH = 64, STAGES = 3, A = ROWS * DEPTH * 2, STAGE = A + COLS * DEPTH * 2 };

DEVICE unsigned look(const unsigned *p) {
    unsigned v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
extern "C" __global__ void __launch_bounds__(160)
    streamk(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b, float *c, float *parts,
            unsigned *flags, int m, int n, int k) {
    extern __shared__ __align__(1024) uint8_t tiles[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int t = threadIdx.x, steps = k / DEPTH, across = n / COLS, all = across * (m / ROWS) * steps;
    int share = (all + gridDim.x - 1) / gridDim.x, first = blockIdx.x * share, last = min(first + share, all);
    if (t == 0) {
        for (int i = 0; i < STAGES; i++) bar_init(shared_at(&full[i]), 1), bar_init(shared_at(&empty[i]), 1);
        fence_async();
    }
    __syncthreads();
    if (t >= 128) {
        for (int s = first; s < last && t == 128; s++) {
            int i = s - first, at = i % STAGES, tile = s / steps;
            uint32_t bar = shared_at(&full[at]), to = shared_at(tiles) + at * STAGE;
            bar_wait(shared_at(&empty[at]), (i / STAGES + 1) & 1);
            bar_expect(bar, STAGE);
            load_tile(to, &map_a, bar, s % steps * DEPTH, tile / across * ROWS);
            load_tile(to + A, &map_b, bar, s % steps * DEPTH, tile % across * COLS);
        }
        return;
    }
    for (int s = first; s < last;) {
        int tile = s / steps, begin = s, end = min(last, (tile + 1) * steps);
        float d[32];
        for (; s < end; s++) {
            int i = s - first, at = i % STAGES;
            uint32_t from = shared_at(tiles) + at * STAGE;
            bar_wait(shared_at(&full[at]), i / STAGES & 1);
            mma_begin();
#pragma unroll
            for (int j = 0; j < DEPTH / 16; j++) mma_bf16_64(d, matrix(from) + j * 2, matrix(from + A) + j * 2, s > begin || j > 0);
            mma_commit();
            mma_wait<0>();
            if (t == 0) bar_arrive(shared_at(&empty[at]));
        }
        mma_hold(d);
        if (begin % steps) { // somebody else's tile
            float *to = parts + (size_t)blockIdx.x * ROWS * COLS + t;
#pragma unroll
            for (int i = 0; i < 32; i++) to[i * 128] = d[i];
            __threadfence();
            named_sync(1, 128);
            if (t == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flags + blockIdx.x) : "memory");
            continue;
        }
        for (int peer = blockIdx.x + 1, done = end; done < (tile + 1) * steps; peer++, done += share) {
            if (t == 0) while (!look(flags + peer)) __nanosleep(40);
            named_sync(1, 128);
            const float *from = parts + (size_t)peer * ROWS * COLS + t;
#pragma unroll
            for (int i = 0; i < 32; i++) d[i] += from[i * 128];
        }
        int row = tile / across * ROWS + t / 32 * 16 + t % 32 / 4, col = tile % across * COLS + t % 4 * 2;
#pragma unroll
        for (int i = 0; i < 32; i += 2)
            *(float2 *)(c + (size_t)(row + (i & 2) * 4) * n + col + i / 4 * 8) = make_float2(d[i], d[i + 1]);
    }
}
