// Blocks and kernels: where and when they start, what barriers, fences and branches cost, how many an SM holds.
//
//   empty       does nothing: the cost of a launch, by blocks and threads (to be timed from outside).
//   where       out[4 b ..] = SM, clock at the start, clock at the end, global timer of block b, which stays for
//               `stay` loads from L2, each of which needs the one before, some 280 cycles. Arithmetic would not
//               do: five warps keep a scheduler busy with it, and blocks that come later are not issued
//               until others have ended, so that their starts say nothing about the launching of blocks.
//   resident    counts the blocks that are on an SM at the same time: out[0] = the most on any.
//   clocks      out[0] = SM cycles, out[1] = nanoseconds between two moments.
//   bar, bar_red   64 in a row: cycles = out / 128. fence_*, stfence_* (with a store before each): 16.
#include "micro.h"

KERNEL empty() {}

KERNEL empty_regs(u64 *out) { // the same with much to set up: shared memory
    extern __shared__ u32 words[];
    if (out) out[0] = words[threadIdx.x];
}

__device__ __forceinline__ u64 timer() {
    u64 t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
    return t;
}

KERNEL where(u64 *out, u32 stay) {
    u64 t0 = now(), g = timer();
    u64 *o = out + 4ull * blockIdx.x;
    if (threadIdx.x == 0) {
        u64 zero = 0; // in fact: no SM has the number ~0
#pragma unroll 1
        for (u32 k = 0; k < stay; k++) {
            u64 x;
            asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(x) : "l"(o + zero) : "memory");
            zero = x == ~0ull;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        o[0] = smid();
        o[1] = t0;
        o[3] = g;
        o[2] = now();
    }
}

// What a counter of its SM says when the block has come; with stay large enough all that fit have come.
KERNEL resident(u64 *out, u32 *here, u32 stay) {
    extern __shared__ u32 words[];
    if (threadIdx.x == 0) {
        u32 s = smid(), n = atomicAdd(&here[s], 1) + 1;
        linger(stay);
        atomicMax(out, (u64)n);
        atomicSub(&here[s], 1);
    }
    __syncthreads();
    if (stay == 0) out[1] = words[threadIdx.x];
}

KERNEL clocks(u64 *out, u32 stay) {
    u64 g0 = timer(), t0 = now();
    linger(stay);
    u64 t1 = now(), g1 = timer();
    out[0] = t1 - t0;
    out[1] = g1 - g0;
}

KERNEL bar(u64 *out) { TIMED(asm volatile(R64("bar.sync 0;\n\t")::: "memory")) }
KERNEL bar_red(u64 *out) {
    u32 x = threadIdx.x;
    TIMED(asm volatile("{.reg .pred p, q;\n\tsetp.eq.u32 p, %0, 5;\n\t" R64(
                           "bar.red.popc.u32 %0, 0, p;\n\t") "}"
                       : "+r"(x)::"memory"))
    if (x == 123456) out[0] = x;
}
#define FENCE(name, text)                                                                                    \
    KERNEL fence_##name(u64 *out) { TIMED(asm volatile(R16(text ";\n\t")::: "memory")) }
FENCE(cta, "fence.acq_rel.cta")
FENCE(gpu, "fence.acq_rel.gpu")
FENCE(sys, "fence.acq_rel.sys")
FENCE(sc_cta, "fence.sc.cta")
FENCE(sc_gpu, "fence.sc.gpu")
#define STFENCE(name, text)                                                                                  \
    KERNEL stfence_##name(u64 *out, u32 *p) {                                                                \
        u32 *a = p + threadIdx.x, x = 1;                                                                     \
        TIMED(asm volatile(R16("st.global.u32 [%0], %1;\n\t" text ";\n\t")::"l"(a), "r"(x) : "memory"))      \
    }
STFENCE(cta, "fence.acq_rel.cta")
STFENCE(gpu, "fence.acq_rel.gpu")

// A loop of almost nothing: what a taken branch costs. out / (2 x 256).
KERNEL branch(u64 *out, u32 n) {
    u32 x = 0;
    TIMED(_Pragma("unroll 1") for (u32 k = 0; k < n; k++) asm volatile("add.u32 %0, %0, %1;" : "+r"(x) : "r"(n)))
    if (x == 123456789) out[0] = x;
}
// The same, and half of the lanes take another way, 16 multiply-adds each. out / (2 x 64).
KERNEL diverge(u64 *out, u32 n, u32 lanes) {
    float x = (float)n, y = x;
    TIMED(_Pragma("unroll 1") for (u32 k = 0; k < n; k++) {
        if (threadIdx.x % 32 < lanes)
            asm volatile(R16("fma.rn.f32 %0, %0, %1, %1;\n\t") : "+f"(x) : "f"(y));
        else
            asm volatile(R16("fma.rn.f32 %0, %1, %0, %0;\n\t") : "+f"(x) : "f"(y));
    })
    if (x == 123456789.0f) out[0] = (u64)x;
}
