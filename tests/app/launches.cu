// A kernel that launches others: its threads add to p[0..n), and the tail, which comes last, sums them up.
// The device runtime has the right names and does nothing: the executor takes its place, and NVIDIA's is
// large.
//   nvcc -arch=sm_90 -rdc=true -cubin launches.cu -o launches.o
//   nvcc -arch=sm_90 -rdc=true -DRUNTIME -cubin launches.cu -o runtime.o
//   nvcc -arch=sm_90 -dlink -cudadevrt none -cubin launches.o runtime.o -o launches.cubin
#ifdef RUNTIME
#undef __cudaCDP2GetParameterBufferV2
#undef __cudaCDP2LaunchDeviceV2
extern "C" __device__ void *__cudaCDP2GetParameterBufferV2(void *, dim3, dim3, unsigned) { return 0; }
extern "C" __device__ cudaError_t __cudaCDP2LaunchDeviceV2(void *, cudaStream_t) { return cudaErrorUnknown; }
#else
extern "C" __global__ void child(int *p, int n, int v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += v + i;
}
extern "C" __global__ void tail(int *p, int n) {
    p[n] = 0;
    for (int i = 0; i < n; i++) p[n] += p[i];
}
extern "C" __global__ void parent(int *p, int n) {
    if (threadIdx.x == 0) tail<<<1, 1, 0, cudaStreamTailLaunch>>>(p, n);
    if (threadIdx.x < 3) child<<<(n + 63) / 64, 64>>>(p, n, 10 * threadIdx.x);
}
#endif
