// SPDX-License-Identifier: Apache-2.0
// y = a x + y: streaming with one multiply-add an element. (BLAS level 1)

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
