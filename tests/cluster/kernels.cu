// Kernels for program.c. kernels.ptx is made of this by
//   nvcc -ptx -arch=compute_80 kernels.cu -o kernels.ptx
extern "C" __global__ void sweep(int n, int rows, const double *a, double *b) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y + 1;
    if (j > 0 && j < n - 1 && i <= rows)
        b[i * n + j] = 0.25 * (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]);
}

extern "C" __global__ void product(int n, const float *a, const float *b, float *c) { // c += a b, n x n
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (j >= n) return;
    float sum = c[i * n + j];
    for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
    c[i * n + j] = sum;
}

extern "C" __global__ void gradient(int n, float target, const float *w, float *g) { // of (w - target)^2 / 2
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) g[i] = w[i] - target;
}

extern "C" __global__ void step(int n, float rate, const float *g, float *w) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) w[i] -= rate * g[i];
}
