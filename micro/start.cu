// How a kernel begins: what the first instructions of every kernel cost while the whole GPU executes them.
//
//   nothing     the LDC and EXIT that every kernel has.
//   param       one constant operand. sreg_N: N special registers, of which a thread's own come by S2R, a block's by S2UR.
//   line, lines   what nearly every kernel begins with: the thread's index, and a load, a store, or two loads and a store.
//   starts      out[warp] = the clock when each warp of a block begins, after its first instruction.
// All but the last are to be timed from outside, with the profiler's stalls.
#include "micro.h"

#define SREG(name, from) u32 name; asm volatile("mov.u32 %0, %%" #from ";" : "=r"(name));

KERNEL nothing() {}
KERNEL param(u32 a, u32 *out) {
    if (a == 12345) out[0] = a;
}
KERNEL sreg_1(u32 a, u32 *out) {
    SREG(x, tid.x)
    if (x == a) out[0] = x;
}
KERNEL sreg_2(u32 a, u32 *out) {
    SREG(x, tid.x) SREG(y, ctaid.x)
    if (x + y == a) out[0] = x;
}
KERNEL sreg_4(u32 a, u32 *out) {
    SREG(x, tid.x) SREG(y, ctaid.x) SREG(z, tid.y) SREG(w, ctaid.y)
    if (x + y + z + w == a) out[0] = x;
}
KERNEL sreg_8(u32 a, u32 *out) {
    SREG(x, tid.x) SREG(y, ctaid.x) SREG(z, tid.y) SREG(w, ctaid.y)
    SREG(i, tid.z) SREG(j, ctaid.z) SREG(k, laneid) SREG(l, smid)
    if (x + y + z + w + i + j + k + l == a) out[0] = x;
}
KERNEL lines(u32 n, float a, const float *x, float *y) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
KERNEL line_st(u32 n, float *y) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = i;
}
KERNEL line_ld(u32 n, float *y) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && y[i] == 1.5f) y[0] = i;
}
KERNEL starts(u64 *out) {
    u64 t = now();
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = t;
}
