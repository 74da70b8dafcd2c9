// The three applications of Chapuis, Eidenbenz, Santhi, "GPU Performance Prediction Through Parallel Discrete Event
// Simulation and Common Sense", section 4.1, written anew after what Parboil (Stratton et al., 2012) does in its
// programs sgemm and stencil: the same blocks and threads, the same use of shared memory and registers.
//
// sgemm: C = alpha A B + beta C, A and C column by column, B row by row. A block of 16 x 8 threads makes 128 rows of
// 16 columns; a thread one row of them in 16 registers; eight rows of B at a time in shared memory.
extern "C" __global__ void sgemm(const float *A, const float *B, float *C, int n, float alpha, float beta) {
    __shared__ float b[8][16];
    float c[16];
    int row = blockIdx.x * 128 + threadIdx.y * 16 + threadIdx.x, column = blockIdx.y * 16;
#pragma unroll
    for (int i = 0; i < 16; i++) c[i] = 0;
    for (int k = 0; k < n; k += 8) {
        b[threadIdx.y][threadIdx.x] = B[(size_t)(k + threadIdx.y) * n + column + threadIdx.x];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 8; j++) {
            float a = A[(size_t)(k + j) * n + row];
#pragma unroll
            for (int i = 0; i < 16; i++) c[i] += a * b[j][i];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 16; i++) {
        size_t at = (size_t)(column + i) * n + row;
        C[at] = beta * C[at] + alpha * c[i];
    }
}

#define AT(i, j, k) ((size_t)(k)*n * n + (size_t)(j)*n + (i))

// stencil: a thread for each point, a block for each line of x; everything from global memory.
extern "C" __global__ void stencil(const float *in, float *out, int n, float c0, float c1) {
    int i = threadIdx.x, j = blockIdx.x + 1, k = blockIdx.y + 1;
    if (i == 0 || i >= n - 1) return;
    out[AT(i, j, k)] = c1 * (in[AT(i, j, k + 1)] + in[AT(i, j, k - 1)] + in[AT(i, j + 1, k)] + in[AT(i, j - 1, k)] +
                             in[AT(i + 1, j, k)] + in[AT(i - 1, j, k)]) -
                       c0 * in[AT(i, j, k)];
}

// opt_stencil: a block of 32 x 4 threads goes up through all planes with 64 x 4 points: the plane in shared memory,
// the points below and above in registers, two points of a line for each thread. Neighbours outside the tile come from
// global memory.
#define TX 32
#define TY 4
extern "C" __global__ void opt_stencil(const float *in, float *out, int n, float c0, float c1) {
    __shared__ float plane[TY][2 * TX];
    int x[2] = {(int)(blockIdx.x * 2 * TX + threadIdx.x), (int)(blockIdx.x * 2 * TX + threadIdx.x + TX)};
    int j = blockIdx.y * TY + threadIdx.y;
    float below[2] = {0, 0}, here[2] = {0, 0}, above[2] = {0, 0};
#pragma unroll
    for (int p = 0; p < 2; p++)
        if (x[p] < n && j < n) {
            below[p] = in[AT(x[p], j, 0)];
            here[p] = in[AT(x[p], j, 1)];
        }
    for (int k = 1; k < n - 1; k++) {
#pragma unroll
        for (int p = 0; p < 2; p++) plane[threadIdx.y][threadIdx.x + p * TX] = here[p];
        __syncthreads();
#pragma unroll
        for (int p = 0; p < 2; p++) {
            int i = x[p], t = threadIdx.x + p * TX;
            if (i < n && j < n) above[p] = in[AT(i, j, k + 1)];
            if (i > 0 && i < n - 1 && j > 0 && j < n - 1) {
                float left = t > 0 ? plane[threadIdx.y][t - 1] : in[AT(i - 1, j, k)];
                float right = t < 2 * TX - 1 ? plane[threadIdx.y][t + 1] : in[AT(i + 1, j, k)];
                float up = threadIdx.y > 0 ? plane[threadIdx.y - 1][t] : in[AT(i, j - 1, k)];
                float down = threadIdx.y < TY - 1 ? plane[threadIdx.y + 1][t] : in[AT(i, j + 1, k)];
                out[AT(i, j, k)] = c1 * (above[p] + below[p] + down + up + right + left) - c0 * here[p];
            }
        }
        __syncthreads();
#pragma unroll
        for (int p = 0; p < 2; p++) {
            below[p] = here[p];
            here[p] = above[p];
        }
    }
}
