// SPDX-License-Identifier: Apache-2.0
// Exclusive prefix sums: blocks of 512 elements by Blelloch's up and down sweep in shared memory (with its
// bank conflicts), then the blocks' sums in the same way, then added back. (SHOC: Scan; CUDA samples: scan)

#define HALF 256

extern "C" __global__ void scan_block(int n, const unsigned *in, unsigned *out, unsigned *sums) {
    __shared__ unsigned s[2 * HALF];
    int t = threadIdx.x, base = blockIdx.x * 2 * HALF;
    s[t] = base + t < n ? in[base + t] : 0;
    s[t + HALF] = base + t + HALF < n ? in[base + t + HALF] : 0;
    int step = 1;
    for (int d = HALF; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
        step *= 2;
    }
    __syncthreads();
    if (t == 0) {
        sums[blockIdx.x] = s[2 * HALF - 1];
        s[2 * HALF - 1] = 0;
    }
    for (int d = 1; d <= HALF; d *= 2) {
        step >>= 1;
        __syncthreads();
        if (t < d) {
            int i = step * (2 * t + 1) - 1, j = step * (2 * t + 2) - 1;
            unsigned v = s[i];
            s[i] = s[j];
            s[j] += v;
        }
    }
    __syncthreads();
    if (base + t < n) out[base + t] = s[t];
    if (base + t + HALF < n) out[base + t + HALF] = s[t + HALF];
}

extern "C" __global__ void scan_add(int n, unsigned *data, const unsigned *sums) {
    int t = threadIdx.x, base = blockIdx.x * 2 * HALF;
    unsigned add = sums[blockIdx.x];
    if (base + t < n) data[base + t] += add;
    if (base + t + HALF < n) data[base + t + HALF] += add;
}
