// SPDX-License-Identifier: Apache-2.0
// Ways to put n queens on a board: a thread a placement of the first three, the rest by backtracking with a
// stack in local memory. Threads of a warp go different ways for very different times. (GPU tree search;
// ISPASS: NQU)

extern "C" __global__ void nqueens(int n, unsigned long long *solutions) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n * n * n) return;
    unsigned all = (1u << n) - 1, cols = 0, left = 0, right = 0; // columns and diagonals under attack
    int place[3] = {t % n, t / n % n, t / n / n};
    for (int k = 0; k < 3; k++) {
        unsigned bit = 1u << place[k];
        if (bit & (cols | left | right)) return;
        cols |= bit;
        left = (left | bit) << 1;
        right = (right | bit) >> 1;
    }
    unsigned free_[20], c[20], l[20], r[20];
    int depth = 3;
    unsigned long long found = 0;
    c[depth] = cols;
    l[depth] = left;
    r[depth] = right;
    free_[depth] = all & ~(cols | left | right);
    while (depth >= 3) {
        unsigned options = free_[depth];
        if (!options) {
            depth--;
            continue;
        }
        unsigned bit = options & -options;
        free_[depth] = options ^ bit;
        if (depth == n - 1) {
            found++;
            continue;
        }
        unsigned nc = c[depth] | bit, nl = (l[depth] | bit) << 1, nr = (r[depth] | bit) >> 1;
        depth++;
        c[depth] = nc;
        l[depth] = nl;
        r[depth] = nr;
        free_[depth] = all & ~(nc | nl | nr);
    }
    if (found) atomicAdd(solutions, found);
}
