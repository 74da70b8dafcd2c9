// SPDX-License-Identifier: Apache-2.0
// The discrete cosine transform of every 8x8 tile of an image and its quantisation, as JPEG has it: the
// matrix of cosines in constant memory, tiles in shared memory. Sides are multiples of 8. (CUDA samples:
// dct8x8)

__constant__ float cosines[64] = { // row u: c(u) cos((2 x + 1) u pi / 16) / 2
    0.35355339f,  0.35355339f,  0.35355339f,  0.35355339f,  0.35355339f,  0.35355339f,  0.35355339f,
    0.35355339f,  0.49039264f,  0.41573481f,  0.27778512f,  0.09754516f,  -0.09754516f, -0.27778512f,
    -0.41573481f, -0.49039264f, 0.46193977f,  0.19134172f,  -0.19134172f, -0.46193977f, -0.46193977f,
    -0.19134172f, 0.19134172f,  0.46193977f,  0.41573481f,  -0.09754516f, -0.49039264f, -0.27778512f,
    0.27778512f,  0.49039264f,  0.09754516f,  -0.41573481f, 0.35355339f,  -0.35355339f, -0.35355339f,
    0.35355339f,  0.35355339f,  -0.35355339f, -0.35355339f, 0.35355339f,  0.27778512f,  -0.49039264f,
    0.09754516f,  0.41573481f,  -0.41573481f, -0.09754516f, 0.49039264f,  -0.27778512f, 0.19134172f,
    -0.46193977f, 0.46193977f,  -0.19134172f, -0.19134172f, 0.46193977f,  -0.46193977f, 0.19134172f,
    0.09754516f,  -0.27778512f, 0.41573481f,  -0.49039264f, 0.49039264f,  -0.41573481f, 0.27778512f,
    -0.09754516f};

// 8x8 threads a tile, 4 tiles side by side in a block.
extern "C" __global__ void dct8x8(int width, const unsigned char *image, float *out) {
    __shared__ float s[8][33], r[8][33];
    int tx = threadIdx.x, ty = threadIdx.y, u = tx % 8, tile = tx & ~7;
    int at = (blockIdx.y * 8 + ty) * width + blockIdx.x * 32 + tx;
    bool there = blockIdx.x * 32 + tx < width;
    s[ty][tx] = there ? (float)image[at] - 128.0f : 0.0f;
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) sum += s[ty][tile + k] * cosines[u * 8 + k];
    r[ty][tx] = sum;
    __syncthreads();
    sum = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) sum += r[k][tx] * cosines[ty * 8 + k];
    if (there) out[at] = sum;
}

// In units of 3 + 4 (u + v), to the nearest integer: coarser for higher frequencies.
extern "C" __global__ void dct_quantise(int width, int height, const float *in, short *level) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    level[y * width + x] = (short)__float2int_rn(in[y * width + x] / (float)(3 + 4 * (x % 8 + y % 8)));
}
