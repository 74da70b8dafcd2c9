// Kernels for program.c. kernels.fatbin is made of this by
//   nvcc -fatbin -gencode arch=compute_90,code=[sm_90,compute_90] kernels.cu -o kernels.fatbin
#include <cstdio>
#include <cassert>

__device__ int counter;
__constant__ float factors[4];

extern "C" __global__ void axpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void count(int step) { atomicAdd(&counter, step); }
extern "C" __global__ void scale(float *x) { x[threadIdx.x] *= factors[threadIdx.x & 3]; }
extern "C" __global__ void reverse(int *x) { // n = blockDim.x, dynamic shared memory of n ints
    extern __shared__ int s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void greet(int who) {
    if (threadIdx.x == 0) printf("hello from kernel %d\n", who);
}
extern "C" __global__ void wild(int *x, long at) { x[at] = 1; }
extern "C" __global__ void spin(int *x) {
    while (*(volatile int *)x == 0) {}
}
