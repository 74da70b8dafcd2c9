// Edit distance of pairs of strings of 64 letters: a block a pair, a thread a letter, one antidiagonal after
// the other.

extern "C" __global__ void __launch_bounds__(64)
    levenshtein(const unsigned char *a, const unsigned char *b, int *distance) {
    __shared__ unsigned char sb[64];
    __shared__ int row[3][65];
    int t = threadIdx.x, mine = a[blockIdx.x * 64 + t];
    sb[t] = b[blockIdx.x * 64 + t];
    if (t == 0) row[0][0] = 0, row[1][0] = 1;
    int value = 0;
    __syncthreads();
    for (int step = 0; step < 127; step++) { // the diagonal of cells (t + 1, j + 1) with t + j = step
        int *old = row[step % 3], *last = row[(step + 1) % 3], *now = row[(step + 2) % 3], j = step - t;
        if (t == 0) now[0] = step + 2;
        if (j >= 0 && j < 64) {
            int diagonal = t == 0   ? j
                           : j == 0 ? t
                                    : old[t],
                left = j == 0 ? t + 1 : value, up = t == 0 ? j + 1 : last[t];
            value = min(min(left, up) + 1, diagonal + (mine != sb[j]));
            now[t + 1] = value;
        }
        __syncthreads();
    }
    if (t == 63) distance[blockIdx.x] = value;
}
