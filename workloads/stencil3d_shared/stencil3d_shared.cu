// SPDX-License-Identifier: Apache-2.0
// 7-point Jacobi sweeps over an n x n x n grid, marching along z: the plane in the middle is in shared
// memory, the ones above and below in registers. The outermost cells do not change. (Parboil: stencil;
// PPT-GPU: OPT_STENCIL)

#define BX 32
#define BY 8

extern "C" __global__ void stencil3d_shared(int n, float c0, float c1, const float *in, float *out) {
    __shared__ float mid[BY + 2][BX + 2];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * BX + tx + 1, y = blockIdx.y * BY + ty + 1;
    bool inside = x < n - 1 && y < n - 1;
    int cx = min(x, n - 1), cy = min(y, n - 1); // threads beyond the edge load something that exists
    int plane = n * n, at = cy * n + cx;
    float below = in[at], here = in[at + plane];
    for (int z = 1; z < n - 1; z++) {
        float above = in[(z + 1) * plane + at];
        mid[ty + 1][tx + 1] = here;
        if (tx == 0) mid[ty + 1][0] = in[z * plane + cy * n + x - 1];
        if (tx == BX - 1) mid[ty + 1][BX + 1] = in[z * plane + cy * n + min(x + 1, n - 1)];
        if (ty == 0) mid[0][tx + 1] = in[z * plane + (y - 1) * n + cx];
        if (ty == BY - 1) mid[BY + 1][tx + 1] = in[z * plane + min(y + 1, n - 1) * n + cx];
        __syncthreads();
        if (inside)
            out[z * plane + at] = c1 * (mid[ty + 1][tx] + mid[ty + 1][tx + 2] + mid[ty][tx + 1] +
                                        mid[ty + 2][tx + 1] + below + above) -
                                  c0 * here;
        __syncthreads();
        below = here;
        here = above;
    }
}
