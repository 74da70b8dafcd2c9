// The five nearest of a set of points in six dimensions, a thread a query, points through shared memory.

extern "C" __global__ void __launch_bounds__(128)
    knn(int n, int queries, const int *point, const int *query, int *out) {
    __shared__ int s[64][6];
    int t = blockIdx.x * 128 + threadIdx.x, q[6];
    for (int d = 0; d < 6; d++) q[d] = t < queries ? query[d * queries + t] : 0;
    int best[5], who[5];
    for (int k = 0; k < 5; k++) best[k] = 2147483647, who[k] = -1;
    for (int base = 0; base < n; base += 64) {
        __syncthreads();
        for (int i = threadIdx.x; i < 384; i += 128) s[i / 6][i % 6] = point[base * 6 + i];
        __syncthreads();
        for (int j = 0; j < 64; j++) {
            int r = 0;
            for (int d = 0; d < 6; d++) r += (s[j][d] - q[d]) * (s[j][d] - q[d]);
            if (r >= best[4]) continue;
            best[4] = r;
            who[4] = base + j;
#pragma unroll
            for (int k = 4; k > 0; k--)
                if (best[k] < best[k - 1]) {
                    int x = best[k];
                    best[k] = best[k - 1];
                    best[k - 1] = x;
                    x = who[k];
                    who[k] = who[k - 1];
                    who[k - 1] = x;
                }
        }
    }
    if (t < queries)
        for (int k = 0; k < 5; k++) out[k * queries + t] = who[k];
}
