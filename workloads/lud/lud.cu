// SPDX-License-Identifier: Apache-2.0
// LU decomposition in place, without pivoting, in 16x16 tiles: for each step the tile on the diagonal, then
// the tiles right of it and below it, then everything else. Launches shrink from many blocks to one. n is a
// multiple of 16. (Rodinia: lud)

#define T 16

// The tile at (at, at), by 16 threads.
extern "C" __global__ void lud_diagonal(int n, int at, float *m) {
    __shared__ float d[T][T];
    int t = threadIdx.x;
    for (int i = 0; i < T; i++) d[i][t] = m[(at + i) * n + at + t];
    __syncthreads();
    for (int k = 0; k < T - 1; k++) {
        if (t > k) d[t][k] /= d[k][k];
        __syncthreads();
        if (t > k)
            for (int j = k + 1; j < T; j++) d[t][j] -= d[t][k] * d[k][j];
        __syncthreads();
    }
    for (int i = 0; i < T; i++) m[(at + i) * n + at + t] = d[i][t];
}

// One tile of the row (threads 0..15) and one of the column (threads 16..31) of the diagonal tile.
extern "C" __global__ void lud_perimeter(int n, int at, float *m) {
    __shared__ float d[T][T], row[T][T], col[T][T];
    int t = threadIdx.x % T, other = at + (blockIdx.x + 1) * T;
    bool upper = threadIdx.x < T;
    if (upper)
        for (int i = 0; i < T; i++) {
            d[i][t] = m[(at + i) * n + at + t];
            row[i][t] = m[(at + i) * n + other + t];
        }
    else
        for (int i = 0; i < T; i++) col[i][t] = m[(other + i) * n + at + t];
    __syncthreads();
    if (upper) // column t of the row tile: forward substitution with the unit lower triangle
        for (int i = 1; i < T; i++)
            for (int k = 0; k < i; k++) row[i][t] -= d[i][k] * row[k][t];
    else // row t of the column tile: against the upper triangle
        for (int j = 0; j < T; j++) {
            for (int k = 0; k < j; k++) col[t][j] -= col[t][k] * d[k][j];
            col[t][j] /= d[j][j];
        }
    __syncthreads();
    if (upper)
        for (int i = 0; i < T; i++) m[(at + i) * n + other + t] = row[i][t];
    else
        for (int i = 0; i < T; i++) m[(other + i) * n + at + t] = col[i][t];
}

extern "C" __global__ void lud_internal(int n, int at, float *m) {
    __shared__ float row[T][T], col[T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = at + (blockIdx.x + 1) * T + tx, y = at + (blockIdx.y + 1) * T + ty;
    row[ty][tx] = m[(at + ty) * n + x];
    col[ty][tx] = m[y * n + at + tx];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = 0; k < T; k++) sum += col[ty][k] * row[k][tx];
    m[y * n + x] -= sum;
}
