// SPDX-License-Identifier: Apache-2.0
// The bundled stencils' sweep, many cells a thread: a block goes through `chunk` planes, has the plane in the middle in
// shared memory and the ones around it in registers, and there are blocks enough for all SMs. Built as workloads/build does.
#define BX 32
#define BY 8

extern "C" __global__ void stencil3d_tile(int n, int chunk, float c0, float c1, const float *in, float *out) {
    __shared__ float mid[2][BY + 2][BX + 2];
    int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * BX, y0 = blockIdx.y * BY;
    int x = x0 + tx + 1, y = y0 + ty + 1, first = blockIdx.z * chunk + 1, last = min(first + chunk, n - 1);
    bool inside = x < n - 1 && y < n - 1;
    int cx = min(x, n - 1), plane = n * n, at = min(y, n - 1) * n + cx;
    // Four warps load one cell more each: the rows above and below the tile, the columns beside it.
    int edge = -1, ex = tx + 1, ey = ty == 0 ? 0 : BY + 1;
    if (ty < 2) edge = min(y0 + ey, n - 1) * n + cx;
    if ((ty == 2 || ty == 3) && tx < BY) {
        ex = ty == 2 ? 0 : BX + 1;
        ey = tx + 1;
        edge = min(y0 + ey, n - 1) * n + min(x0 + ex, n - 1);
    }
    float below = in[(first - 1) * plane + at], here = in[first * plane + at];
    float side = edge >= 0 ? in[first * plane + edge] : 0;
    for (int z = first, b = 0; z < last; z++, b ^= 1) { // two tiles: one barrier is enough
        float above = in[(z + 1) * plane + at], next = edge >= 0 ? in[(z + 1) * plane + edge] : 0;
        mid[b][ty + 1][tx + 1] = here;
        if (edge >= 0) mid[b][ey][ex] = side;
        __syncthreads();
        if (inside)
            out[z * plane + at] = c1 * (mid[b][ty + 1][tx] + mid[b][ty + 1][tx + 2] + mid[b][ty][tx + 1] +
                                        mid[b][ty + 2][tx + 1] + below + above) -
                                  c0 * here;
        below = here;
        here = above;
        side = next;
    }
}
