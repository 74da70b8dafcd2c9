// SPDX-License-Identifier: Apache-2.0
// y = A^T (A x): a row a thread (every load a row apart), then a column a thread (coalesced). (PolyBench/GPU:
// atax)

extern "C" __global__ void atax_rows(int nx, int ny, const float *a, const float *x, float *tmp) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nx) return;
    float sum = 0;
    for (int j = 0; j < ny; j++) sum += a[i * ny + j] * x[j];
    tmp[i] = sum;
}

extern "C" __global__ void atax_columns(int nx, int ny, const float *a, const float *tmp, float *y) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= ny) return;
    float sum = 0;
    for (int i = 0; i < nx; i++) sum += a[i * ny + j] * tmp[i];
    y[j] = sum;
}
