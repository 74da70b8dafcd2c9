// The largest of each row and where (a block a row), and the four largest (a warp a row).

extern "C" __global__ void argmax(int cols, const int *x, int *where) {
    __shared__ int best[4], at[4];
    int b = -2147483647 - 1, w = 0;
    for (int i = threadIdx.x; i < cols; i += 128) {
        int v = x[blockIdx.x * cols + i];
        if (v > b) b = v, w = i;
    }
    for (int d = 16; d > 0; d /= 2) {
        int ob = __shfl_down_sync(~0u, b, d), ow = __shfl_down_sync(~0u, w, d);
        if (ob > b || (ob == b && ow < w)) b = ob, w = ow;
    }
    if (threadIdx.x % 32 == 0) best[threadIdx.x / 32] = b, at[threadIdx.x / 32] = w;
    __syncthreads();
    if (threadIdx.x) return;
    for (int i = 1; i < 4; i++)
        if (best[i] > b || (best[i] == b && at[i] < w)) b = best[i], w = at[i];
    where[blockIdx.x] = w;
}

static __device__ void insert(int (&t)[4], int v) {
    if (v <= t[3]) return;
    t[3] = v;
    for (int k = 3; k > 0; k--)
        if (t[k] > t[k - 1]) {
            int s = t[k];
            t[k] = t[k - 1];
            t[k - 1] = s;
        }
}

extern "C" __global__ void top4(int rows, int cols, const int *x, int *out) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    int t[4] = {-1, -1, -1, -1};
    for (int i = lane; i < cols; i += 32) insert(t, x[row * cols + i]);
    for (int d = 16; d > 0; d /= 2) {
        int o[4];
        for (int k = 0; k < 4; k++) o[k] = __shfl_xor_sync(~0u, t[k], d);
        for (int k = 0; k < 4; k++) insert(t, o[k]);
    }
    if (lane < 4) out[row * 4 + lane] = lane == 0 ? t[0] : lane == 1 ? t[1] : lane == 2 ? t[2] : t[3];
}
