// Many small matrices: products of 8 x 8 (a warp does four, two columns a thread), LU of 16 x 16 (half a warp
// each, shared memory), and Cholesky of 6 x 6 (a thread each, matrices interleaved).

extern "C" __global__ void batched_gemm8(const float *a, const float *b, float *c) {
    __shared__ float s[8][128];
    int w = threadIdx.x / 32, lane = threadIdx.x % 32;
    size_t base = ((size_t)blockIdx.x * 4 + w) * 128;
    for (int i = lane; i < 128; i += 32) s[w][i] = a[base + i], s[w + 4][i] = b[base + i];
    __syncwarp();
    int m = lane / 16 * 64, r = lane % 16 / 2, q = lane % 2 * 4;
    float x[4] = {};
    for (int k = 0; k < 8; k++)
        for (int j = 0; j < 4; j++) x[j] += s[w][m + r * 8 + k] * s[w + 4][m + k * 8 + q + j];
    for (int j = 0; j < 4; j++) c[base + m + r * 8 + q + j] = x[j];
}

extern "C" __global__ void batched_lu16(float *a) {
    __shared__ float s[8][16][17];
    int which = threadIdx.x / 16, j = threadIdx.x % 16;
    float *mine = a + ((size_t)blockIdx.x * 8 + which) * 256;
    for (int i = 0; i < 16; i++) s[which][i][j] = mine[i * 16 + j];
    __syncwarp();
    for (int k = 0; k < 15; k++) {
        if (j > k) s[which][j][k] /= s[which][k][k];
        __syncwarp();
        if (j > k)
            for (int i = k + 1; i < 16; i++) s[which][i][j] -= s[which][i][k] * s[which][k][j];
        __syncwarp();
    }
    for (int i = 0; i < 16; i++) mine[i * 16 + j] = s[which][i][j];
}

extern "C" __global__ void batched_cholesky6(int count, float *a) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    float m[6][6];
#pragma unroll
    for (int i = 0; i < 6; i++)
#pragma unroll
        for (int j = 0; j <= i; j++) m[i][j] = a[(i * 6 + j) * count + t];
#pragma unroll
    for (int j = 0; j < 6; j++) {
#pragma unroll
        for (int k = 0; k < j; k++) m[j][j] -= m[j][k] * m[j][k];
        m[j][j] = sqrtf(m[j][j]);
#pragma unroll
        for (int i = j + 1; i < 6; i++) {
#pragma unroll
            for (int k = 0; k < j; k++) m[i][j] -= m[i][k] * m[j][k];
            m[i][j] /= m[j][j];
        }
    }
#pragma unroll
    for (int i = 0; i < 6; i++)
#pragma unroll
        for (int j = 0; j <= i; j++) a[(i * 6 + j) * count + t] = m[i][j];
}
