// An assertion that holds for all threads but one.
#include <assert.h>

extern "C" __global__ void asserts(const int *in, int *out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    assert(in[t] < 100);
    out[t] = in[t] + 1;
}
