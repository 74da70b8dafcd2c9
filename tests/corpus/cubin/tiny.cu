__constant__ float table[4] = {1, 2, 3, 4};
__device__ int count;

extern "C" __global__ void __launch_bounds__(128) mix(float *p, int n, short s, double d) {
    __shared__ float a[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[threadIdx.x & 63] = p[i];
    __syncthreads();
    if (i < n) p[i] = a[threadIdx.x * 7 & 63] * table[i & 3] + s + (float)d;
    atomicAdd(&count, 1);
}

extern "C" __global__ void divide(float *p, float x) { p[threadIdx.x] = p[threadIdx.x] / x; }
