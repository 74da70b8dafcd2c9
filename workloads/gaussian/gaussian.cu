// SPDX-License-Identifier: Apache-2.0
// Gaussian elimination of A | b, two small launches a column: the multipliers, then the rows below. Many
// launches, each smaller than the one before. (Rodinia: gaussian's Fan1 and Fan2)

extern "C" __global__ void gaussian_fan1(int n, int k, const float *a, float *m) {
    int i = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) m[i * n + k] = a[i * n + k] / a[k * n + k];
}

extern "C" __global__ void gaussian_fan2(int n, int k, const float *m, float *a, float *b) {
    int j = k + blockIdx.x * blockDim.x + threadIdx.x, i = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float f = m[i * n + k];
    a[i * n + j] -= f * a[k * n + j];
    if (j == k) b[i] -= f * b[k];
}
