// SPDX-License-Identifier: Apache-2.0
// C = alpha A B + beta C in single precision: 16x16 tiles of A and B through shared memory, one element of C
// a thread. n is a multiple of 16. (CUDA samples: matrixMul; Parboil: sgemm; PPT-GPU: SGEMM)

#define TILE 16

extern "C" __global__ void sgemm_tiled(int n, float alpha, float beta, const float *a, const float *b,
                                       float *c) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        as[ty][tx] = a[row * n + k + tx];
        bs[ty][tx] = b[(k + ty) * n + col];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++) sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    c[row * n + col] = alpha * sum + beta * c[row * n + col];
}
