// SPDX-License-Identifier: Apache-2.0
// C = alpha A B + beta C in single precision: 64x64 tiles of C a block, 4x4 of it in each thread's registers,
// 16-deep tiles of A (turned) and B in shared memory, four elements a load. n is a multiple of 64. (Volkov
// and Demmel's register blocking, as in MAGMA and CUTLASS)

#define TILE  64
#define DEPTH 16

extern "C" __global__ void __launch_bounds__(256)
    sgemm_regblock(int n, float alpha, float beta, const float *a, const float *b, float *c) {
    __shared__ __align__(16) float as[DEPTH][TILE + 4], bs[DEPTH][TILE];
    int t = threadIdx.x, tx = t % 16, ty = t / 16;
    const float *a_from = a + (blockIdx.y * TILE + t / 4) * n + t % 4 * 4;
    const float *b_from = b + ty * n + blockIdx.x * TILE + tx * 4;
    float acc[4][4] = {};
    for (int k = 0; k < n; k += DEPTH) {
        float4 va = *(const float4 *)(a_from + k);
        float4 vb = *(const float4 *)(b_from + k * n);
        as[t % 4 * 4 + 0][t / 4] = va.x;
        as[t % 4 * 4 + 1][t / 4] = va.y;
        as[t % 4 * 4 + 2][t / 4] = va.z;
        as[t % 4 * 4 + 3][t / 4] = va.w;
        *(float4 *)&bs[ty][tx * 4] = vb;
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
            float4 x = *(const float4 *)&as[d][ty * 4], y = *(const float4 *)&bs[d][tx * 4];
            float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) acc[i][j] += xs[i] * ys[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float4 *to = (float4 *)(c + (blockIdx.y * TILE + ty * 4 + i) * n + blockIdx.x * TILE + tx * 4);
        float4 v = *to;
        v.x = alpha * acc[i][0] + beta * v.x;
        v.y = alpha * acc[i][1] + beta * v.y;
        v.z = alpha * acc[i][2] + beta * v.z;
        v.w = alpha * acc[i][3] + beta * v.w;
        *to = v;
    }
}
