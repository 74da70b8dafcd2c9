// SPDX-License-Identifier: Apache-2.0
// c = a + b: the smallest streaming kernel there is, one element a thread. (CUDA samples: vectorAdd)

extern "C" __global__ void vecadd(int n, const float *a, const float *b, float *c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
