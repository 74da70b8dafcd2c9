// SPDX-License-Identifier: Apache-2.0
// y = alpha A x + beta B x, a row a thread: two matrices read a row apart by the lanes of a warp.
// (PolyBench/GPU: gesummv)

extern "C" __global__ void gesummv(int n, float alpha, float beta, const float *a, const float *b,
                                   const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float p = 0, q = 0;
    for (int j = 0; j < n; j++) {
        p += a[i * n + j] * x[j];
        q += b[i * n + j] * x[j];
    }
    y[i] = alpha * p + beta * q;
}
