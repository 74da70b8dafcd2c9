// SPDX-License-Identifier: Apache-2.0
// A 3x3 convolution with a border of zeros as a product of matrices (implicit GEMM): f16 in, f32 out, channels last. A block
// makes 128 pixels of 128 filters; for each of the nine places of the filter and each 64 channels a producer warp asks for
// 128 pixels with an im2col tensor copy, which finds the pixels and fills in the border. Two groups of warps multiply.
// Pixels and filters are multiples of 128, channels of 64. (cuDNN's implicit GEMM)

#include "../hopper.cuh"

enum { TILE = 128, DEPTH = 64, STAGES = 4, HALF = TILE * DEPTH * 2, STAGE = 2 * HALF };

extern "C" __global__ void __launch_bounds__(384)
    conv_im2col(const __grid_constant__ tensor_map map_in, const __grid_constant__ tensor_map map_filters, float *out,
                int height, int width, int channels, int filters) {
    extern __shared__ __align__(1024) uint8_t tiles[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int t = threadIdx.x % 128, group = threadIdx.x / 128 - 1, deep = channels / DEPTH, steps = 9 * deep;
    int pixel0 = blockIdx.y * TILE, filter0 = blockIdx.x * TILE;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            bar_init(shared_at(&full[i]), 1);
            bar_init(shared_at(&empty[i]), 2);
        }
        fence_async();
    }
    __syncthreads();
    if (group < 0) {
        registers_down<40>();
        if (t != 0) return;
        int x = pixel0 % width - 1, y = pixel0 / width % height - 1, image = pixel0 / width / height, i = 0;
        for (int place = 0; place < 9; place++)
            for (int c = 0; c < channels; c += DEPTH, i++) {
                int at = i % STAGES;
                uint32_t bar = shared_at(&full[at]), to = shared_at(tiles) + at * STAGE;
                if (i >= STAGES) bar_wait(shared_at(&empty[at]), (i / STAGES + 1) & 1);
                bar_expect(bar, STAGE);
                load_pixels(to, &map_in, bar, c, x, y, image, place % 3, place / 3);
                load_tile(to + HALF, &map_filters, bar, place * channels + c, filter0);
            }
        return;
    }
    registers_up<232>();
    float d[64];
    for (int i = 0; i < steps; i++) {
        int at = i % STAGES;
        uint32_t from = shared_at(tiles) + at * STAGE;
        bar_wait(shared_at(&full[at]), i / STAGES & 1);
        uint64_t a = matrix(from + group * (HALF / 2)), b = matrix(from + HALF);
        mma_begin();
#pragma unroll
        for (int j = 0; j < DEPTH / 16; j++) mma_f16_128(d, a + j * 2, b + j * 2, i + j > 0);
        mma_commit();
        mma_wait<0>();
        if (t == 0) bar_arrive(shared_at(&empty[at]));
    }
    mma_hold(d);
    int row = pixel0 + group * 64 + t / 32 * 16 + t % 32 / 4, col = filter0 + t % 4 * 2;
#pragma unroll
    for (int i = 0; i < 64; i += 2)
        *(float2 *)(out + (size_t)(row + (i & 2) * 4) * filters + col + i / 4 * 8) = make_float2(d[i], d[i + 1]);
}
