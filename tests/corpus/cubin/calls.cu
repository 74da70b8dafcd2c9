// Compiled to be linked, and linked, so that calls and addresses are relocations in the code:
//   nvcc -rdc=true -cubin -arch=sm_90 -o calls.o calls.cu; nvlink -arch=sm_90 -o calls.cubin calls.o
__device__ int total = 40;
__device__ int other[3];

__device__ __noinline__ int twice(int x) { return 2 * x + total; }
__device__ __noinline__ int thrice(int x) { return 3 * x; }
__device__ int (*chosen)(int) = thrice;

extern "C" __global__ void calls(int *p) {
    p[threadIdx.x] = twice(threadIdx.x) + chosen(threadIdx.x);
    other[2] = 1;
}
