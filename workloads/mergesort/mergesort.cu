// SPDX-License-Identifier: Apache-2.0
// Stable merge sort of keys with values: runs of 512 in shared memory, then passes that double the runs, each
// element finding its place by binary search in the other run. Data-dependent addresses, equal trip counts.
// (CUDA samples: mergeSort)

#define RUN 512

// How many of the n sorted keys come before `key`: those below it and, when `equal`, those equal to it.
static __device__ unsigned rank(const unsigned *sorted, unsigned n, unsigned key, bool equal) {
    unsigned lo = 0, hi = n;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        if (sorted[mid] < key || (equal && sorted[mid] == key))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

extern "C" __global__ void mergesort_runs(const unsigned *key_in, const unsigned *value_in, unsigned *key,
                                          unsigned *value) {
    __shared__ unsigned k[RUN], v[RUN];
    unsigned t = threadIdx.x, at = blockIdx.x * RUN + t;
    k[t] = key_in[at];
    v[t] = value_in[at];
    for (unsigned width = 1; width < RUN; width *= 2) {
        __syncthreads();
        unsigned mine = t / width * width, other = mine ^ width, me = k[t], my = v[t];
        unsigned to = (mine & ~width) + (t - mine) + rank(k + other, width, me, mine > other);
        __syncthreads();
        k[to] = me;
        v[to] = my;
    }
    __syncthreads();
    key[at] = k[t];
    value[at] = v[t];
}

extern "C" __global__ void mergesort_pass(unsigned width, const unsigned *key_in, const unsigned *value_in,
                                          unsigned *key, unsigned *value) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, mine = t / width * width, other = mine ^ width;
    unsigned me = key_in[t];
    unsigned to = (mine & ~width) + (t - mine) + rank(key_in + other, width, me, mine > other);
    key[to] = me;
    value[to] = value_in[t];
}
