// SPDX-License-Identifier: Apache-2.0
// Scalar products of many pairs of vectors, a block a pair: accumulators in shared memory, folded in a tree.
// (CUDA samples: scalarProd)

#define ACCUMULATORS 1024

extern "C" __global__ void scalarprod(int vectors, int length, const float *a, const float *b, float *c) {
    __shared__ float sum[ACCUMULATORS];
    for (int v = blockIdx.x; v < vectors; v += gridDim.x) {
        const float *x = a + v * length, *y = b + v * length;
        for (int k = threadIdx.x; k < ACCUMULATORS; k += blockDim.x) {
            float s = 0;
            for (int i = k; i < length; i += ACCUMULATORS) s += x[i] * y[i];
            sum[k] = s;
        }
        for (int half = ACCUMULATORS / 2; half > 0; half >>= 1) {
            __syncthreads();
            for (int k = threadIdx.x; k < half; k += blockDim.x) sum[k] += sum[half + k];
        }
        __syncthreads();
        if (threadIdx.x == 0) c[v] = sum[0];
        __syncthreads();
    }
}
