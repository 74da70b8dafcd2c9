// SPDX-License-Identifier: Apache-2.0
// C = alpha A A^T + beta C, one element of C a thread: two rows of A walked side by side, one of them
// uncoalesced. (PolyBench/GPU: syrk)

extern "C" __global__ void syrk(int n, int m, float alpha, float beta, const float *a, float *c) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float sum = 0;
    for (int k = 0; k < m; k++) sum += a[i * m + k] * a[j * m + k];
    c[i * n + j] = alpha * sum + beta * c[i * n + j];
}
