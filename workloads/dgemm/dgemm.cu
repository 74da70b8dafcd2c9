// SPDX-License-Identifier: Apache-2.0
// C = A B + C in double precision, 16x16 tiles in shared memory, two rows of C a thread; any n.
// (SHOC: GEMM; PolyBench/GPU in double)

#define TILE 16

extern "C" __global__ void dgemm(int n, const double *a, const double *b, double *c) {
    __shared__ double as[TILE][TILE + 1], bs[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y; // 16 x 8 threads
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    double s0 = 0, s1 = 0;
    for (int k = 0; k < n; k += TILE) {
        as[ty][tx] = row < n && k + tx < n ? a[row * n + k + tx] : 0.0;
        as[ty + 8][tx] = row + 8 < n && k + tx < n ? a[(row + 8) * n + k + tx] : 0.0;
        bs[ty][tx] = k + ty < n && col < n ? b[(k + ty) * n + col] : 0.0;
        bs[ty + 8][tx] = k + ty + 8 < n && col < n ? b[(k + ty + 8) * n + col] : 0.0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++) {
            s0 += as[ty][i] * bs[i][tx];
            s1 += as[ty + 8][i] * bs[i][tx];
        }
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] += s0;
    if (row + 8 < n && col < n) c[(row + 8) * n + col] += s1;
}
