// SPDX-License-Identifier: Apache-2.0
// y = a x + y in half precision, two elements a register, eight a load; then y clipped at 0. (BLAS level 1
// and ReLU, as in inference)

#include <cuda_fp16.h>

extern "C" __global__ void haxpy(int eights, float a, const uint4 *x, uint4 *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= eights) return;
    __half2 a2 = __float2half2_rn(a), zero = __float2half2_rn(0.0f);
    uint4 vx = x[i], vy = y[i];
    __half2 *hx = (__half2 *)&vx, *hy = (__half2 *)&vy;
#pragma unroll
    for (int k = 0; k < 4; k++) hy[k] = __hmax2(__hfma2(a2, hx[k], hy[k]), zero);
    y[i] = vy;
}
