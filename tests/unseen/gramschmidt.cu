// Polybench gramschmidt, three launches a column: its length by one block, its direction, and the others made
// orthogonal to it.

extern "C" __global__ void gram_norm(int m, int n, int k, const float *a, float *r) {
    __shared__ float part[256];
    float s = 0;
    for (int i = threadIdx.x; i < m; i += 256) s += a[i * n + k] * a[i * n + k];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) r[k * n + k] = sqrtf(part[0]);
}

extern "C" __global__ void gram_scale(int m, int n, int k, const float *a, const float *r, float *q) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) q[i * n + k] = a[i * n + k] / r[k * n + k];
}

extern "C" __global__ void gram_project(int m, int n, int k, const float *q, float *a, float *r) {
    int j = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= n) return;
    float s = 0;
    for (int i = 0; i < m; i++) s += q[i * n + k] * a[i * n + j];
    r[k * n + j] = s;
    for (int i = 0; i < m; i++) a[i * n + j] -= q[i * n + k] * s;
}
