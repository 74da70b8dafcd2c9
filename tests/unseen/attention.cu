// Attention in one pass over keys (running maximum and sum): a thread a query, tiles of keys and values in
// shared memory.
#define D    32
#define TILE 32

extern "C" __global__ void __launch_bounds__(64)
    attention(int n, const float *q, const float *k, const float *v, float *out) {
    __shared__ float keys[TILE][D], values[TILE][D];
    size_t head = (size_t)blockIdx.y * n * D;
    int row = blockIdx.x * 64 + threadIdx.x;
    float mine[D], sum[D], top = -1e30f, total = 0;
    for (int d = 0; d < D; d++) mine[d] = q[head + row * D + d] * 0.17677669f, sum[d] = 0;
    for (int base = 0; base < n; base += TILE) {
        __syncthreads();
        for (int i = threadIdx.x; i < TILE * D; i += 64) {
            keys[i / D][i % D] = k[head + base * D + i];
            values[i / D][i % D] = v[head + base * D + i];
        }
        __syncthreads();
        for (int j = 0; j < TILE; j++) {
            float s = 0;
#pragma unroll
            for (int d = 0; d < D; d++) s += mine[d] * keys[j][d];
            float higher = fmaxf(top, s), old = __expf(top - higher), e = __expf(s - higher);
            top = higher;
            total = total * old + e;
#pragma unroll
            for (int d = 0; d < D; d++) sum[d] = sum[d] * old + e * values[j][d];
        }
    }
    for (int d = 0; d < D; d++) out[head + row * D + d] = sum[d] / total;
}
