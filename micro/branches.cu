// What it takes to part and to meet again: the instructions around an `if`, with nothing much inside.
//
//   skip      each of four conditions of a round is false for all lanes: they jump over what is inside
//   enter     true for all lanes: nobody jumps
//   split     true for every other lane: both ways, one after the other
//   nest      true for all, one inside the other
// The conditions are loaded, so that a compiler has to allow for lanes that part (BSSY, BRA, BSYNC). To be timed from outside.
#include "micro.h"

// Too long for a compiler to predicate it.
__device__ __forceinline__ float inside(float y, float a) {
#pragma unroll
    for (int k = 0; k < 16; k++) y = y * a + a;
    return y;
}

__device__ __forceinline__ void rounds(const float *p, float *out, float a, float least, u32 n) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    float x = p[threadIdx.x], y = x, z = x;
#pragma unroll 1
    for (u32 j = 0; j < n; j++) {
        if (x < least) y = inside(y, a);
        z = z * a + y;
        if (x < least + 1) y = inside(y, a);
        z = z * a + y;
        if (x < least + 2) y = inside(y, a);
        z = z * a + y;
        if (x < least + 3) y = inside(y, a);
        x = x + 0 * z;
    }
    out[t] = y + z;
}

KERNEL skip(const float *p, float *out, float a, float least, u32 n) { rounds(p, out, a, least, n); }
KERNEL enter(const float *p, float *out, float a, float least, u32 n) { rounds(p, out, a, least, n); }
KERNEL split(const float *p, float *out, float a, float least, u32 n) { rounds(p, out, a, least, n); }

KERNEL nest(const float *p, float *out, float a, float least, u32 n) {
    float x = p[threadIdx.x], y = x, z = x;
#pragma unroll 1
    for (u32 j = 0; j < n; j++) {
        if (x < least) {
            y = inside(y, a);
            if (x < y + least) {
                z = inside(z, a);
                if (x < z + least) y = inside(y, a);
                z = z * a + y;
            }
            y = y * a + z;
        }
        x = x + 0 * z;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = y + z;
}
