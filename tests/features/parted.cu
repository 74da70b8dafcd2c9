// Matrix instructions that only a part of a warp executes, and traps: each must be a fault.
#include "check.h"

KERNEL mma(int *out) {
    if (threadIdx.x == 5) return;
    float d[4] = {0};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4}, {%4}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(0));
    out[threadIdx.x] = (int)d[0];
}
KERNEL ldmatrix(int *out) {
    __shared__ __align__(16) int mem[32];
    if (threadIdx.x < 8) {
        unsigned v;
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v) : "r"((unsigned)__cvta_generic_to_shared(mem)));
        out[threadIdx.x] = (int)v;
    }
}
KERNEL stmatrix(int *out) { // a block of 16 threads
    __shared__ __align__(16) int mem[64];
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"((unsigned)__cvta_generic_to_shared(mem) + threadIdx.x % 8 * 16), "r"(1) : "memory");
    out[threadIdx.x] = mem[threadIdx.x];
}
KERNEL movmatrix(int *out) {
    unsigned v = threadIdx.x;
    if (v != 31) asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(v));
    out[threadIdx.x] = (int)v;
}
KERNEL traps(int *out) {
    if (threadIdx.x == 7) __trap();
    out[threadIdx.x] = 1;
}
