// SPDX-License-Identifier: Apache-2.0
// D = (alpha A B) C + beta D, two products one after the other, rectangular. (PolyBench/GPU: 2mm)

extern "C" __global__ void mm2_first(int ni, int nj, int nk, float alpha, const float *a, const float *b,
                                     float *tmp) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= ni || j >= nj) return;
    float sum = 0;
    for (int k = 0; k < nk; k++) sum += alpha * a[i * nk + k] * b[k * nj + j];
    tmp[i * nj + j] = sum;
}

extern "C" __global__ void mm2_second(int ni, int nj, int nl, float beta, const float *tmp, const float *c,
                                      float *d) {
    int l = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= ni || l >= nl) return;
    float sum = beta * d[i * nl + l];
    for (int j = 0; j < nj; j++) sum += tmp[i * nj + j] * c[j * nl + l];
    d[i * nl + l] = sum;
}
