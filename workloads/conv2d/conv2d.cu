// SPDX-License-Identifier: Apache-2.0
// A 3x3 convolution of an image, one pixel a thread, from global memory. (PolyBench/GPU: 2DConvolution)

extern "C" __global__ void conv2d(int height, int width, const float *in, float *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || x >= width - 1 || y < 1 || y >= height - 1) return;
    const float *p = in + y * width + x;
    out[y * width + x] = 0.2f * p[-width - 1] - 0.3f * p[-width] + 0.4f * p[-width + 1] + 0.5f * p[-1] +
                         0.6f * p[0] + 0.7f * p[1] - 0.8f * p[width - 1] - 0.9f * p[width] +
                         0.1f * p[width + 1];
}
