// SPDX-License-Identifier: Apache-2.0
// The sum of an array in two launches of one kernel: each thread adds elements a grid apart, each block adds
// its threads in a tree in shared memory. (CUDA samples: reduction; SHOC: Reduction)

extern "C" __global__ void reduce(int n, const float *in, float *out) {
    __shared__ float part[256];
    unsigned t = threadIdx.x, stride = gridDim.x * blockDim.x;
    float sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + t; i < n; i += stride) sum += in[i];
    part[t] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}
