// A program of two files with kernels, which is this file compiled twice (tests/test_app_nvcc.sh): each has a
// variable and a function of its own under the same names, and uses one of the other's.
#include <cstdio>

__global__ void in_second(float *p, int *q);
#ifdef SECOND
static __device__ int own = 7;
static __device__ __noinline__ int helper(int x) { return x * 100; }
__device__ int calls = 10;
__device__ float scale(float x) { return x * 2.5f; }
__global__ void in_second(float *p, int *q) {
    p[threadIdx.x] += own;
    q[threadIdx.x] = helper(threadIdx.x);
    atomicAdd(&calls, 1);
}
#else
static __device__ int own = 3;
static __device__ __noinline__ int helper(int x) { return x + own; }
extern __device__ int calls;
extern __device__ float scale(float x);
__global__ void in_first(float *p, int *q) {
    p[threadIdx.x] = scale(threadIdx.x);
    q[threadIdx.x] = helper(threadIdx.x);
    atomicAdd(&calls, 1);
}

int main() {
    float *p;
    int *q, wrong = 0, n = 0;
    cudaMallocManaged(&p, 32 * sizeof *p);
    cudaMallocManaged(&q, 32 * sizeof *q);
    in_first<<<1, 32>>>(p, q);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (int i = 0; i < 32; i++) wrong += p[i] != i * 2.5f || q[i] != i + 3;
    in_second<<<1, 32>>>(p, q);
    cudaDeviceSynchronize();
    for (int i = 0; i < 32; i++) wrong += p[i] != i * 2.5f + 7 || q[i] != i * 100;
    cudaMemcpyFromSymbol(&n, calls, sizeof n);
    printf("parts, wrong: %d, calls: %d\n", wrong, n);
    return wrong || n != 10 + 64;
}
#endif
