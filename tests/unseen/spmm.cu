// Sparse (ELLPACK, 12 a row, padded with -1) times 32 dense columns, a warp a row; and a Jacobi step with the
// same matrix by columns.

extern "C" __global__ void spmm_ell(int rows, const int *col, const float *val, const float *b, float *c) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float s = 0;
    for (int i = 0; i < 12; i++) {
        int k = col[i * rows + row];
        if (k >= 0) s += val[i * rows + row] * b[k * 32 + threadIdx.x];
    }
    c[row * 32 + threadIdx.x] = s;
}

extern "C" __global__ void sparse_jacobi(int rows, const int *col, const float *val, const float *rhs,
                                         const float *x, float *y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float s = rhs[row];
    for (int i = 0; i < 12; i++) {
        int k = col[i * rows + row];
        if (k >= 0) s -= val[i * rows + row] * x[k];
    }
    y[row] = s * 0.125f;
}
