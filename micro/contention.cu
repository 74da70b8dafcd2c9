// Threads that want the same words of memory: loops of compare and swap, locks, and atomics on one slice of L2.
//
//   swap_add      every lane adds one to a word by compare and swap, `n` times, until it has: a swap succeeds only if nobody else's did since
//                 the value was read, so successes on a word are at least the way to L2 and back apart.
//   lock_warp     the first lane of every warp takes a lock, adds one to a word, and gives the lock back, `n` times.
//   lock_lanes    every lane does, in the loop that is usual for it: who has the lock goes on while the others of the warp wait.
//   chain         one lane, an atomic after the other, each on another line: out[i] = cycles until the result of line i.
//   OP_many       as atom_many of memory.cu.
//
// out[block] = cycles of the block from its first warp's start to its last warp's end. How often a loop goes round depends on chance; the sum
// of what was added does not.
#include "micro.h"

#define SPAN(...)                                                                                            \
    __shared__ uint2 span_[32];                                                                              \
    __syncthreads();                                                                                         \
    u64 t0_ = now();                                                                                         \
    __VA_ARGS__;                                                                                                \
    __threadfence();                                                                                         \
    u64 t1_ = now();                                                                                         \
    __syncthreads();                                                                                         \
    note(span_, t0_, t1_);                                                                                   \
    __syncthreads();                                                                                         \
    if (threadIdx.x < 32) {                                                                                  \
        u32 all_ = span_of(span_);                                                                           \
        if (threadIdx.x == 0) out[blockIdx.x] = all_;                                                        \
    }

KERNEL swap_add(u64 *out, u32 *p, u32 same, u32 block, u32 n) {
    u32 *a = p + threadIdx.x % 32 / same + blockIdx.x * block;
    SPAN(_Pragma("unroll 1") for (u32 j = 0; j < n; j++) {
        u32 old = *(volatile u32 *)a, was;
        do {
            was = old;
            old = atomicCAS(a, was, was + 1);
        } while (old != was);
    })
}

KERNEL lock_warp(u64 *out, u32 *p, u32 n) {
    volatile u32 *data = p + 64;
    SPAN(if (threadIdx.x % 32 == 0) _Pragma("unroll 1") for (u32 j = 0; j < n; j++) {
        while (atomicCAS(p, 0, 1) != 0) {
        }
        __threadfence();
        *data = *data + 1;
        __threadfence();
        atomicExch(p, 0);
    })
}

KERNEL lock_lanes(u64 *out, u32 *p, u32 locks, u32 n) {
    u32 *lock = p + threadIdx.x % locks;
    volatile u32 *data = p + 64 + threadIdx.x % locks;
    SPAN(_Pragma("unroll 1") for (u32 j = 0; j < n; j++) {
        bool done = false;
        while (!done) {
            if (atomicCAS(lock, 0, 1) == 0) {
                *data = *data + 1;
                __threadfence();
                atomicExch(lock, 0);
                done = true;
            }
        }
    })
}

KERNEL chain(u64 *out, u32 *p, u32 step, u32 n) {
    u32 x = 0;
    for (int round = 0; round < 2; round++)
        for (u32 i = 0; i < n; i++) {
            u64 t0 = now();
            x = atomicAdd(p + i * step + (x >> 31), 1);
            if (x == 0x7fffffff) asm volatile("trap;");
            u64 t1 = now();
            out[i] = t1 - t0;
        }
}

#define ATOMIC(name, text)                                                                                   \
    KERNEL name(u64 *out, char *p, u32 same, u32 word, u32 warp, u32 block, u32 n) {                         \
        u32 t = threadIdx.x, x = 1;                                                                          \
        char *a = p + (u64)(t % 32 / same) * word + (u64)(t / 32) * warp + (u64)blockIdx.x * block;          \
        TIMED_ONCE(_Pragma("unroll 1") for (u32 j = 0; j < n; j++) asm volatile(R16(text) : "+r"(x)          \
                                                                                : "l"(a), "r"(t)             \
                                                                                : "memory"))                 \
        if (x == 123456789) out[0] = x;                                                                      \
    }
ATOMIC(add_red, "red.global.add.u32 [%1], %2;\n\t")
ATOMIC(add_many, "{.reg .b32 y;\n\tatom.global.add.u32 y, [%1], %2;\n\txor.b32 %0, %0, y;}\n\t")
ATOMIC(f32_red, "red.global.add.f32 [%1], 0f3F800000;\n\t")
ATOMIC(f64_red, "red.global.add.f64 [%1], 0d3FF0000000000000;\n\t")
ATOMIC(u64_red, "red.global.add.u64 [%1], 1;\n\t")
ATOMIC(min_red, "red.global.min.u32 [%1], %2;\n\t")
ATOMIC(min64_red, "red.global.min.u64 [%1], 1;\n\t")
ATOMIC(exch_many, "{.reg .b32 y;\n\tatom.global.exch.b32 y, [%1], %2;\n\txor.b32 %0, %0, y;}\n\t")
ATOMIC(cas_many, "{.reg .b32 y;\n\tatom.global.cas.b32 y, [%1], %2, 1;\n\txor.b32 %0, %0, y;}\n\t")
