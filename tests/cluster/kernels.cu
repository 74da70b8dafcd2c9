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

// Fourier transforms of n values that are `stride` apart, one for each column; w[k] = exp(-2 pi i k / n).
extern "C" __global__ void dft(int n, int stride, const double2 *w, const double2 *in, double2 *out) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y, at = 0;
    size_t base = (size_t)(column / stride) * stride * n + column % stride;
    double re = 0, im = 0;
    for (int j = 0; j < n; j++) {
        double2 x = in[base + (size_t)j * stride], u = w[at];
        re += x.x * u.x - x.y * u.y;
        im += x.x * u.y + x.y * u.x;
        at += k;
        if (at >= n) at -= n;
    }
    out[base + (size_t)k * stride] = make_double2(re, im);
}

// [z][y][x] to [rank of y][z][y in it][x], each rank having nb of n.
extern "C" __global__ void pack(int n, int nb, const double2 *in, double2 *out) {
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    out[(((size_t)(y / nb) * nb + z) * nb + y % nb) * n + x] = in[((size_t)z * n + y) * n + x];
}
