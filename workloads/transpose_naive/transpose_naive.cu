// SPDX-License-Identifier: Apache-2.0
// out = in^T, straight: reads are coalesced, writes are a column apart. (CUDA samples: transpose)

extern "C" __global__ void transpose_naive(int width, int height, const float *in, float *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[x * height + y] = in[y * width + x];
}
