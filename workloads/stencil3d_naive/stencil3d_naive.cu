// SPDX-License-Identifier: Apache-2.0
// 7-point Jacobi sweeps over an n x n x n grid, one cell a thread, everything from global memory.
// (Parboil: stencil's base version; PPT-GPU: STENCIL)

extern "C" __global__ void stencil3d_naive(int n, float c0, float c1, const float *in, float *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int z = blockIdx.z * blockDim.z + threadIdx.z + 1;
    if (x >= n - 1 || y >= n - 1 || z >= n - 1) return;
    int plane = n * n, at = (z * n + y) * n + x;
    out[at] = c1 * (in[at - 1] + in[at + 1] + in[at - n] + in[at + n] + in[at - plane] + in[at + plane]) -
              c0 * in[at];
}
