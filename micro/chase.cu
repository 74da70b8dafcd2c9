// Latency by following pointers: each load's address is what the load before has found. One thread, so that
// nothing else is going on.
//
//   link        makes the ring: `count` places `stride` bytes apart, each points `jump` places further.
//   chase_ca    through L1 (a plain load). A round over `warm` links first; then out[0] = cycles of `n` links.
//   chase_cg    the same past L1 (ld.cg): L2, memory, translation.
//   each_cg     the latency of every place by itself, after a round to warm it: out[i]. Where an address lives
//               (which L2 slice, which partition) shows in it.
//   probe       what is in the caches after something: out[0] = cycles of one load at p + d after `first`
//               was done at p: 0 nothing, 1 a load, 2 a store, 3 a load then a store (all waited for); `cg` 1: the load
//               is past L1. One of `places` far apart for each try; out[k] for the k-th.
//   const_chase the same through constant memory, with a table of offsets.
//   shared_chase  and through shared memory: latency = out / 256.
#include "micro.h"

// The clock is read when the last load has come: a trap that depends on it goes before (no pointer is 77).
#define COME(at) asm volatile("{.reg .pred p;\n\tsetp.eq.u64 p, %0, 77;\n\t@p trap;}" ::"l"(at) : "memory")

KERNEL link(u64 *p, u32 stride, u32 count, u32 jump) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        u64 next = (u64)i + jump;
        if (next >= count) next -= count;
        *(u64 *)((char *)p + (u64)i * stride) = (u64)p + next * stride;
    }
}

#define FOLLOW(how)                                                                                          \
    {                                                                                                        \
        u64 at = (u64)p;                                                                                     \
        _Pragma("unroll 1") for (u32 k = 0; k < warm; k++) asm volatile("ld.global" how ".u64 %0, [%0];"    \
                                                                        : "+l"(at)::"memory");               \
        u64 t0 = now();                                                                                      \
        _Pragma("unroll 1") for (u32 k = 0; k < n; k += 16) asm volatile(                                    \
            R16("ld.global" how ".u64 %0, [%0];\n\t") : "+l"(at)::"memory");                                \
        COME(at);                                                                                            \
        u64 t1 = now();                                                                                      \
        out[0] = t1 - t0;                                                                                    \
        out[1] = at;                                                                                         \
    }
KERNEL chase_ca(u64 *out, u64 *p, u32 warm, u32 n) FOLLOW("")
KERNEL chase_cg(u64 *out, u64 *p, u32 warm, u32 n) FOLLOW(".cg")

KERNEL each_cg(u64 *out, u64 *p, u32 count) {
    u64 at = (u64)p;
    if (threadIdx.x || blockIdx.x) return;
#pragma unroll 1
    for (u32 k = 0; k < count; k++) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at)::"memory");
    COME(at); // it is a ring: at is p again
#pragma unroll 1
    for (u32 k = 0; k < count; k++) {
        u64 t0 = now();
        asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at)::"memory");
        COME(at);
        u64 t1 = now();
        out[k] = t1 - t0;
    }
}

// The same ring from every SM, one thread on each: out[smid] = cycles of a round.
KERNEL each_sm(u64 *out, u64 *p, u32 count) {
    u64 at = (u64)p;
#pragma unroll 1
    for (u32 k = 0; k < count; k++) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at)::"memory");
    u64 t0 = now();
#pragma unroll 1
    for (u32 k = 0; k < count; k++) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at)::"memory");
    COME(at);
    u64 t1 = now();
    out[smid()] = t1 - t0;
}

KERNEL probe(u64 *out, char *p, u32 places, u32 apart, int first, u32 d, int cg) {
    u32 sum = 0;
#pragma unroll 1
    for (u32 k = 0; k < places; k++) {
        u32 *a = (u32 *)(p + (u64)k * apart), *b = (u32 *)(p + (u64)k * apart + d), x = 0, y;
        if (first & 1) asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(a) : "memory");
        sum += x;
        if (first & 2) asm volatile("st.global.u32 [%0], %1;" ::"l"(a), "r"(sum) : "memory");
        COME((u64)x);
        linger(30);
        u64 t0 = now();
        if (cg)
            asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(y) : "l"(b) : "memory");
        else
            asm volatile("ld.global.u32 %0, [%1];" : "=r"(y) : "l"(b) : "memory");
        COME((u64)y);
        u64 t1 = now();
        sum += y;
        out[k] = t1 - t0;
    }
    if (sum == 12345) out[0] = sum;
}

__constant__ u32 table[16384];
KERNEL const_chase(u64 *out, u32 warm, u32 n) {
    u32 at = (u32)out[2]; // 0, which the compiler does not know: not a uniform load
#pragma unroll 1
    for (u32 k = 0; k < warm; k++) at = *(const u32 *)((const char *)table + at);
    u64 t0 = now();
#pragma unroll 1
    for (u32 k = 0; k < n; k += 16) {
#pragma unroll
        for (int j = 0; j < 16; j++) at = *(const u32 *)((const char *)table + at);
    }
    u64 t1 = now() + (at == 99999);
    out[0] = t1 - t0;
    out[1] = at;
}

KERNEL shared_chase(u64 *out) {
    __shared__ u32 ring[32];
    u32 at = (u32)__cvta_generic_to_shared(&ring[threadIdx.x]);
    ring[threadIdx.x] = at;
    TIMED(asm volatile(R128("ld.shared.u32 %0, [%0];\n\t") : "+r"(at)::"memory"))
    if (at == 1) out[0] = 0;
}
