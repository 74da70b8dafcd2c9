// SPDX-License-Identifier: Apache-2.0
// C = alpha A B + beta C in single precision, straight from global memory, one element of C a thread.
// (PolyBench/GPU: gemm)

extern "C" __global__ void sgemm_naive(int n, float alpha, float beta, const float *a, const float *b,
                                       float *c) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || col >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = alpha * sum + beta * c[row * n + col];
}
