// A kernel that says how often a graph's loop goes round: it counts p[0] down and adds 3 to p[1]. The device
// runtime has the right name and does nothing: the executor takes its place.
//   nvcc -arch=sm_90 -rdc=true -cubin rounds.cu -o rounds.o
//   nvcc -arch=sm_90 -rdc=true -DRUNTIME -cubin rounds.cu -o runtime.o
//   nvcc -arch=sm_90 -dlink -cudadevrt none -cubin rounds.o runtime.o -o rounds.cubin
#ifdef RUNTIME
#undef cudaGraphSetConditional
extern "C" __device__ void cudaGraphSetConditional(cudaGraphConditionalHandle, unsigned) {}
#else
extern "C" __global__ void rounds(cudaGraphConditionalHandle h, int *p) {
    p[1] += 3;
    cudaGraphSetConditional(h, --p[0] > 0);
}
#endif
