// SPDX-License-Identifier: Apache-2.0
// The two products of a BiCG step: q = A p with a warp a row, and s = A^T r with a column a thread.
// (PolyBench/GPU: bicg)

extern "C" __global__ void bicg_q(int nx, int ny, const float *a, const float *p, float *q) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (i >= nx) return;
    float sum = 0;
    for (int j = lane; j < ny; j += 32) sum += a[i * ny + j] * p[j];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (lane == 0) q[i] = sum;
}

extern "C" __global__ void bicg_s(int nx, int ny, const float *a, const float *r, float *s) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= ny) return;
    float sum = 0;
    for (int i = 0; i < nx; i++) sum += a[i * ny + j] * r[i];
    s[j] = sum;
}
