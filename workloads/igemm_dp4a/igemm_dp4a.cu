// SPDX-License-Identifier: Apache-2.0
// C = A B^T of signed bytes with 32-bit sums: four products an instruction (dp4a), tiles in shared memory.
// n is a multiple of 64. (Quantised inference, as in gemmlowp and cuDNN before tensor cores)

#define TILE 16

extern "C" __global__ void igemm_dp4a(int n, const int *a, const int *b, int *c) {
    __shared__ int as[TILE][TILE + 1], bs[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y, words = n / 4;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx, sum = 0;
    for (int k = 0; k < words; k += TILE) {
        as[ty][tx] = a[row * words + k + tx];
        bs[ty][tx] = b[(blockIdx.x * TILE + ty) * words + k + tx];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++) sum = __dp4a(as[ty][i], bs[tx][i], sum);
        __syncthreads();
    }
    c[row * n + col] = sum;
}
