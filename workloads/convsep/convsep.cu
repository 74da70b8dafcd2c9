// SPDX-License-Identifier: Apache-2.0
// A separable convolution with 17 taps from constant memory: rows, then columns, each through shared memory
// with a halo. Outside the image is 0. width is a multiple of 128, height of 64. (CUDA samples:
// convolutionSeparable)

#define RADIUS 8

__constant__ float taps[2 * RADIUS + 1];

// 16x4 threads; 8 pixels a thread in x and a halo of 16 on each side.
extern "C" __global__ void convsep_rows(int width, const float *in, float *out) {
    __shared__ float s[4][16 * 10];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = (int)(blockIdx.x * 8) * 16 - 16 + tx, y = blockIdx.y * 4 + ty;
    const float *p = in + y * width;
#pragma unroll
    for (int k = 0; k < 10; k++) {
        int at = x + k * 16;
        s[ty][tx + k * 16] = at >= 0 && at < width ? p[at] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 1; k < 9; k++) {
        float sum = 0;
#pragma unroll
        for (int j = -RADIUS; j <= RADIUS; j++) sum += taps[RADIUS - j] * s[ty][tx + k * 16 + j];
        out[y * width + x + k * 16] = sum;
    }
}

// 16x8 threads; 8 pixels a thread in y and a halo of 8 above and below.
extern "C" __global__ void convsep_columns(int width, int height, const float *in, float *out) {
    __shared__ float s[16][8 * 10 + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * 16 + tx, y = (int)(blockIdx.y * 8) * 8 - 8 + ty;
#pragma unroll
    for (int k = 0; k < 10; k++) {
        int at = y + k * 8;
        s[tx][ty + k * 8] = at >= 0 && at < height ? in[at * width + x] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 1; k < 9; k++) {
        float sum = 0;
#pragma unroll
        for (int j = -RADIUS; j <= RADIUS; j++) sum += taps[RADIUS - j] * s[tx][ty + k * 8 + j];
        out[(y + k * 8) * width + x] = sum;
    }
}
