// A filter of 48 taps in constant memory; the window of a block in shared memory.
__constant__ float taps[48];

extern "C" __global__ void fir(int n, const float *x, float *y) {
    __shared__ float s[256 + 47];
    int base = blockIdx.x * 256;
    for (int i = threadIdx.x; i < 256 + 47; i += 256) s[i] = base + i < n + 47 ? x[base + i] : 0;
    __syncthreads();
    float v = 0;
#pragma unroll
    for (int k = 0; k < 48; k++) v += taps[k] * s[threadIdx.x + k];
    if (base + threadIdx.x < n) y[base + threadIdx.x] = v;
}
