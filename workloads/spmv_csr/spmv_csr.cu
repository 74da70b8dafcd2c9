// SPDX-License-Identifier: Apache-2.0
// y = A x, A sparse in compressed rows, with a thread a row (scalar) and with a warp a row (vector, shuffles
// at the end). (SHOC, Parboil: spmv; Bell and Garland's two CSR kernels)

extern "C" __global__ void spmv_scalar(int rows, const unsigned *row, const unsigned *col, const float *val,
                                       const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float sum = 0;
    for (unsigned e = row[i]; e < row[i + 1]; e++) sum += val[e] * x[col[e]];
    y[i] = sum;
}

extern "C" __global__ void spmv_vector(int rows, const unsigned *row, const unsigned *col, const float *val,
                                       const float *x, float *y) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (i >= rows) return;
    float sum = 0;
    for (unsigned e = row[i] + lane; e < row[i + 1]; e += 32) sum += val[e] * x[col[e]];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0) y[i] = sum;
}
