// SPDX-License-Identifier: Apache-2.0
// The bundled histogram without private copies: every count is an atomic of global memory. Built as workloads/build does.
extern "C" __global__ void histogram_global(int words, const unsigned *data, unsigned *bins) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
        unsigned w = data[i];
        atomicAdd(&bins[w & 255], 1);
        atomicAdd(&bins[w >> 8 & 255], 1);
        atomicAdd(&bins[w >> 16 & 255], 1);
        atomicAdd(&bins[w >> 24], 1);
    }
}
