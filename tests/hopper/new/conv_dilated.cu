// SPDX-License-Identifier: Apache-2.0
// A 3x3 convolution that looks at every second pixel (dilation 2) and makes every second one (stride 2), with a border of two
// zeros: f16 in, f32 out, channels last, 32 of them, so rows of 64 bytes and their swizzle. A block makes 64 pixels of 64
// filters, by im2col tensor copies through five stages.
#include "../../../workloads/hopper/hopper.cuh"

enum { TILE = 64, DEPTH = 32, STAGES = 5, HALF = TILE * DEPTH * 2, STAGE = 2 * HALF };

DEVICE uint64_t matrix64(uint32_t at) { return 2ull << 62 | 32ull << 32 | 1ull << 16 | (at & 0x3ffff) >> 4; } // rows of 64 bytes

extern "C" __global__ void __launch_bounds__(160)
    conv_dilated(const __grid_constant__ tensor_map map_in, const __grid_constant__ tensor_map map_filters, float *out,
                 int height, int width, int channels, int filters) { // of the result
    extern __shared__ __align__(1024) uint8_t tiles[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int t = threadIdx.x, deep = channels / DEPTH, steps = 9 * deep, pixel0 = blockIdx.y * TILE, filter0 = blockIdx.x * TILE;
    if (t == 0) {
        for (int i = 0; i < STAGES; i++) bar_init(shared_at(&full[i]), 1), bar_init(shared_at(&empty[i]), 1);
        fence_async();
    }
    __syncthreads();
    if (t >= 128) {
        int x = pixel0 % width * 2 - 2, y = pixel0 / width % height * 2 - 2, image = pixel0 / width / height;
        for (int i = 0; i < steps && t == 128; i++) {
            int at = i % STAGES, place = i / deep, c = i % deep * DEPTH;
            uint32_t bar = shared_at(&full[at]), to = shared_at(tiles) + at * STAGE;
            bar_wait(shared_at(&empty[at]), (i / STAGES + 1) & 1);
            bar_expect(bar, STAGE);
            load_pixels(to, &map_in, bar, c, x, y, image, place % 3 * 2, place / 3 * 2);
            load_tile(to + HALF, &map_filters, bar, place * channels + c, filter0);
        }
        return;
    }
    float d[32];
    for (int i = 0; i < steps; i++) {
        int at = i % STAGES;
        uint32_t from = shared_at(tiles) + at * STAGE;
        bar_wait(shared_at(&full[at]), i / STAGES & 1);
        mma_begin();
#pragma unroll
        for (int j = 0; j < DEPTH / 16; j++) mma_f16_64(d, matrix64(from) + j * 2, matrix64(from + HALF) + j * 2, i + j > 0);
        mma_commit();
        mma_wait<0>();
        if (t == 0) bar_arrive(shared_at(&empty[at]));
    }
    mma_hold(d);
    int row = pixel0 + t / 32 * 16 + t % 32 / 4, col = filter0 + t % 4 * 2;
#pragma unroll
    for (int i = 0; i < 32; i += 2)
        *(float2 *)(out + (size_t)(row + (i & 2) * 4) * filters + col + i / 4 * 8) = make_float2(d[i], d[i + 1]);
}
