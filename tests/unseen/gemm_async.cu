// C = A B in 64 x 64 tiles, the next tiles copied asynchronously while these are multiplied; 4 x 4 values a
// thread.
#include <cuda_pipeline.h>
#define K 16

extern "C" __global__ void __launch_bounds__(256)
    gemm_async(int m, int n, int k, const float *a, const float *b, float *c) {
    __shared__ __align__(16) float as[2][64][K + 4], bs[2][K][64];
    int t = threadIdx.x, row = blockIdx.y * 64, col = blockIdx.x * 64;
    int ar = t / 4, ac = t % 4 * 4, br = t / 16, bc = t % 16 * 4, y = t / 16 * 4, x = t % 16 * 4;
    float s[4][4] = {};
    __pipeline_memcpy_async(&as[0][ar][ac], &a[(row + ar) * k + ac], 16);
    __pipeline_memcpy_async(&bs[0][br][bc], &b[br * n + col + bc], 16);
    __pipeline_commit();
    for (int base = 0, now = 0; base < k; base += K, now ^= 1) {
        if (base + K < k) {
            __pipeline_memcpy_async(&as[now ^ 1][ar][ac], &a[(row + ar) * k + base + K + ac], 16);
            __pipeline_memcpy_async(&bs[now ^ 1][br][bc], &b[(base + K + br) * n + col + bc], 16);
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < K; i++) {
            float4 v = *(const float4 *)&bs[now][i][x];
#pragma unroll
            for (int r = 0; r < 4; r++) {
                float u = as[now][y + r][i];
                s[r][0] += u * v.x;
                s[r][1] += u * v.y;
                s[r][2] += u * v.z;
                s[r][3] += u * v.w;
            }
        }
        __syncthreads();
    }
    for (int r = 0; r < 4; r++)
        *(float4 *)&c[(row + y + r) * n + col + x] = make_float4(s[r][0], s[r][1], s[r][2], s[r][3]);
}
