// SPDX-License-Identifier: Apache-2.0
// Needleman-Wunsch alignment: a score matrix filled along its diagonals, a block of 16 threads a 16x16 tile,
// a launch a diagonal of tiles. Little parallelism, many barriers, many launches. n is a multiple of 16.
// (Rodinia: nw)

#define T 16

// score is (n+1) x (n+1); tile (bx, d-bx) of diagonal d, bx from `first` on.
extern "C" __global__ void nw(int n, int d, int first, int penalty, const signed char *table,
                              const unsigned char *s, const unsigned char *q, int *score) {
    __shared__ int m[T + 1][T + 1];
    int t = threadIdx.x, bx = first + blockIdx.x, by = d - bx, w = n + 1;
    int *corner = score + by * T * w + bx * T; // the cell above and left of the tile
    if (t == 0) m[0][0] = corner[0];
    m[0][t + 1] = corner[t + 1];
    m[t + 1][0] = corner[(t + 1) * w];
    int letter = s[bx * T + t];
    __syncthreads();
    for (int k = 0; k < 2 * T - 1; k++) { // thread t has column t, at row k - t
        int y = k - t;
        if (y >= 0 && y < T) {
            int match = m[y][t] + table[q[by * T + y] * 24 + letter];
            m[y + 1][t + 1] = max(match, max(m[y][t + 1], m[y + 1][t]) - penalty);
        }
        __syncthreads();
    }
    for (int y = 0; y < T; y++) corner[(y + 1) * w + t + 1] = m[y + 1][t + 1];
}
