// y = A x in double precision, a warp a row.

extern "C" __global__ void dgemv(int rows, int cols, const double *a, const double *x, double *y) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    double s = 0;
    for (int i = lane; i < cols; i += 32) s = fma(a[(size_t)row * cols + i], x[i], s);
    for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(~0u, s, d);
    if (lane == 0) y[row] = s;
}
