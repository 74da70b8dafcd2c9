// SPDX-License-Identifier: Apache-2.0
// 256 bins over bytes: a histogram per block in shared memory with atomics, then added to the global one.
// Bytes are read four at a time. (CUDA samples: histogram256; Parboil: histo)

extern "C" __global__ void histogram(int words, const unsigned *data, unsigned *bins) {
    __shared__ unsigned local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
        unsigned w = data[i];
        atomicAdd(&local[w & 255], 1);
        atomicAdd(&local[w >> 8 & 255], 1);
        atomicAdd(&local[w >> 16 & 255], 1);
        atomicAdd(&local[w >> 24], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (local[i]) atomicAdd(&bins[i], local[i]);
}
