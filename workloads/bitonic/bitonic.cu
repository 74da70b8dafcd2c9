// SPDX-License-Identifier: Apache-2.0
// Bitonic sort of 2^k keys: everything that stays inside 512 elements in shared memory, the rest a launch a
// stride. (CUDA samples: sortingNetworks)

#define HALF 256

static __device__ void order(unsigned &a, unsigned &b, bool up) {
    if (a > b == up) {
        unsigned t = a;
        a = b;
        b = t;
    }
}

// All stages up to 512 elements.
extern "C" __global__ void bitonic_block(unsigned *key) {
    __shared__ unsigned s[2 * HALF];
    unsigned t = threadIdx.x, base = blockIdx.x * 2 * HALF;
    s[t] = key[base + t];
    s[t + HALF] = key[base + t + HALF];
    for (unsigned size = 2; size <= 2 * HALF; size *= 2)
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            unsigned i = 2 * t - (t & (stride - 1));
            order(s[i], s[i + stride], ((base + i) & size) == 0);
        }
    __syncthreads();
    key[base + t] = s[t];
    key[base + t + HALF] = s[t + HALF];
}

// One stride of a stage, over the whole array.
extern "C" __global__ void bitonic_step(unsigned size, unsigned stride, unsigned *key) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, i = 2 * t - (t & (stride - 1));
    unsigned a = key[i], b = key[i + stride];
    order(a, b, (i & size) == 0);
    key[i] = a;
    key[i + stride] = b;
}

// The strides of a stage below 512.
extern "C" __global__ void bitonic_finish(unsigned size, unsigned *key) {
    __shared__ unsigned s[2 * HALF];
    unsigned t = threadIdx.x, base = blockIdx.x * 2 * HALF;
    s[t] = key[base + t];
    s[t + HALF] = key[base + t + HALF];
    for (unsigned stride = HALF; stride > 0; stride /= 2) {
        __syncthreads();
        unsigned i = 2 * t - (t & (stride - 1));
        order(s[i], s[i + stride], (base & size) == 0);
    }
    __syncthreads();
    key[base + t] = s[t];
    key[base + t + HALF] = s[t + HALF];
}
