// SPDX-License-Identifier: Apache-2.0
// The cheapest way down a grid of weights, row by row: each cell adds the least of its three neighbours
// above. A block does several rows on a strip that shrinks by a cell on each side at each. (Rodinia:
// pathfinder)

#define T 256

extern "C" __global__ void pathfinder(int cols, int first, int steps, const int *weight, const int *in,
                                      int *out) {
    __shared__ int now[T], next[T];
    int t = threadIdx.x, x = (int)blockIdx.x * (T - 2 * steps) - steps + t;
    bool there = x >= 0 && x < cols, valid = false;
    if (there) now[t] = in[x];
    int w = x > 0 ? t - 1 : t, e = x < cols - 1 ? t + 1 : t;
    for (int k = 1; k <= steps; k++) {
        __syncthreads();
        valid = there && t >= k && t < T - k;
        if (valid) next[t] = weight[(first + k) * cols + x] + min(now[t], min(now[w], now[e]));
        __syncthreads();
        if (valid) now[t] = next[t];
    }
    if (valid) out[x] = now[t];
}
