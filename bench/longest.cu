// SPDX-License-Identifier: Apache-2.0
// How long equal thread blocks of a histogram take, 1,056 of them on 132 SMs: the median, and the longest ones, which a kernel waits
// for. On a GPU and under Orrery alike:
//
//   nvcc -arch=sm_90 -cudart shared -o longest bench/longest.cu && ./longest 16 12
//   orrery app --gpu h200 ./longest 16 1
//
// hardware/h200/longest.csv has what an H200 printed; docs/archive/h200/atomics.md, Equal blocks, compares.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void histogram(int words, const unsigned *data, unsigned *bins, long long *took) {
    __shared__ unsigned local[256];
    long long began = clock64();
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
    __syncthreads();
    if (threadIdx.x == 0) took[blockIdx.x] = clock64() - began;
}

int main(int argc, char **argv) {
    const int blocks = 1056;
    int rounds = argc > 1 ? atoi(argv[1]) : 16, launches = argc > 2 ? atoi(argv[2]) : 1;
    size_t words = (size_t)blocks * 256 * rounds, bytes = words * 4, cold = 256 << 20;
    std::vector<unsigned char> bytes_of(bytes);
    for (size_t i = 0; i < bytes; i++)
        bytes_of[i] = (unsigned char)((((i * 2654435761ull) >> 16) & 15) * (((i * 40503ull) >> 7) & 15));
    unsigned *data, *bins;
    long long *took;
    char *flush;
    cudaMalloc(&data, bytes);
    cudaMalloc(&bins, 1024);
    cudaMalloc(&took, blocks * 8);
    cudaMalloc(&flush, cold);
    cudaMemcpy(data, bytes_of.data(), bytes, cudaMemcpyHostToDevice);
    printf("rounds,median,p90,p99,third,second,longest\n");
    for (int n = 0; n < launches; n++) {
        cudaMemset(bins, 0, 1024);
        cudaMemset(flush, n, cold); // L2 has none of it
        histogram<<<blocks, 256>>>((int)words, data, bins, took);
        std::vector<long long> t(blocks);
        cudaMemcpy(t.data(), took, blocks * 8, cudaMemcpyDeviceToHost);
        std::sort(t.begin(), t.end());
        printf("%d,%lld,%lld,%lld,%lld,%lld,%lld\n", rounds, t[blocks / 2], t[blocks * 9 / 10], t[blocks * 99 / 100],
               t[blocks - 3], t[blocks - 2], t[blocks - 1]);
    }
    return cudaDeviceSynchronize() != cudaSuccess;
}
