// SPDX-License-Identifier: Apache-2.0
// out = in^T through 32x32 tiles in shared memory, padded against bank conflicts; reads and writes are both
// coalesced. (CUDA samples: transpose)

#define TILE 32
#define ROWS 8

extern "C" __global__ void transpose_tiled(int width, int height, const float *in, float *out) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}
