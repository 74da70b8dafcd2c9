// SPDX-License-Identifier: Apache-2.0
// Jacobi's method on a square: each point becomes the mean of its four neighbours, zero outside. A block goes down a column of
// tiles of 64x16 points; tensor copies bring the next tile with its border (72x18 points: a box begins at a multiple of 16
// bytes) while threads work on this one, and fill in zeros beyond the square's edges. n is a multiple of 64.

#include "../hopper.cuh"

enum { WIDE = 64, HIGH = 16, PITCH = WIDE + 8, ROWS = HIGH + 2, BOX = PITCH * ROWS * 4, STAGE = 6144 };

extern "C" __global__ void __launch_bounds__(256)
    stencil_tma(const __grid_constant__ tensor_map map, float *out, int n, int tiles) {
    __shared__ __align__(1024) uint8_t stages[2][STAGE];
    __shared__ uint64_t full[2];
    int t = threadIdx.x, x0 = blockIdx.x * WIDE, y0 = blockIdx.y * tiles * HIGH;
    auto fetch = [&](int i) {
        bar_expect(shared_at(&full[i % 2]), BOX);
        load_tile(shared_at(stages[i % 2]), &map, shared_at(&full[i % 2]), x0 - 4, y0 + i * HIGH - 1);
    };
    if (t == 0) {
        bar_init(shared_at(&full[0]), 1);
        bar_init(shared_at(&full[1]), 1);
        fence_async();
        fetch(0);
    }
    __syncthreads();
    for (int i = 0; i < tiles; i++) {
        if (t == 0 && i + 1 < tiles) fetch(i + 1);
        bar_wait(shared_at(&full[i % 2]), i / 2 & 1);
        const float *at = (const float *)stages[i % 2] + 4 + t % WIDE;
#pragma unroll
        for (int r = t / WIDE + 1; r <= HIGH; r += 256 / WIDE) {
            const float *p = at + r * PITCH;
            out[(size_t)(y0 + i * HIGH + r - 1) * n + x0 + t % WIDE] = 0.25f * (p[-1] + p[1] + p[-PITCH] + p[PITCH]);
        }
        __syncthreads(); // the tile has been read: it may be overwritten
    }
}
