// Shared memory: what a warp's access costs the SM, by how its lanes' words lie.
//
// Each of 32 warps does 128 independent accesses (and two times 128 more): cycles of the SM for one
// access = out / (2 x 128 x 32) with 32 warps. `stride` in words between lanes; broadcast: all lanes the same word.
#include "micro.h"

#define LOADS(name, v, regs, con)                                                                            \
    KERNEL ld_##name(u64 *out, u32 stride, u32 mask) {                                                       \
        extern __shared__ u32 words[];                                                                       \
        u32 t = threadIdx.x, at = (u32)__cvta_generic_to_shared(words) + ((t % 32 * stride) & mask) * 4;     \
        u32 a0 = 0, a1 = 0, a2 = 0, a3 = 0;                                                                  \
        TIMED(for (int k = 0; k < 8; k++) asm volatile(                                                      \
                  "{.reg .b32 p, q, r, s;\n\t" R16("ld.volatile.shared." v " " regs ", [%4];\n\t"            \
                                                   "xor.b32 %0, %0, p;\n\t") "}"                             \
                  : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3)                                                   \
                  : "r"(at)                                                                                  \
                  : "memory"))                                                                               \
        if (a0 + a1 + a2 + a3 == 12345) out[0] = 1;                                                          \
    }
LOADS(32, "u32", "p", )
LOADS(64, "v2.u32", "{p, q}", )
LOADS(128, "v4.u32", "{p, q, r, s}", )

#define STORES(name, v, regs)                                                                                \
    KERNEL st_##name(u64 *out, u32 stride, u32 mask) {                                                       \
        extern __shared__ u32 words[];                                                                       \
        u32 t = threadIdx.x, at = (u32)__cvta_generic_to_shared(words) + ((t % 32 * stride) & mask) * 4;     \
        TIMED(for (int k = 0; k < 8; k++) asm volatile(R16("st.volatile.shared." v " [%0], " regs ";\n\t")   \
                                                       ::"r"(at),                                            \
                                                       "r"(t)                                                \
                                                       : "memory"))                                          \
    }
STORES(32, "u32", "%1")
STORES(64, "v2.u32", "{%1, %1}")
STORES(128, "v4.u32", "{%1, %1, %1, %1}")

// Atomics, without a result and with it; 1, 2, ... lanes on one word: word = lane / same.
KERNEL red_add(u64 *out, u32 same) {
    extern __shared__ u32 words[];
    u32 t = threadIdx.x, at = (u32)__cvta_generic_to_shared(words) + t % 32 / same * 4;
    TIMED(for (int k = 0; k < 2; k++) asm volatile(R16("red.shared.add.u32 [%0], %1;\n\t")::"r"(at), "r"(t)
                                                   : "memory"))
}
KERNEL atom_add(u64 *out, u32 same) {
    extern __shared__ u32 words[];
    u32 t = threadIdx.x, at = (u32)__cvta_generic_to_shared(words) + t % 32 / same * 4, x = t;
    TIMED(for (int k = 0; k < 2; k++) asm volatile(R16("atom.shared.add.u32 %0, [%1], %0;\n\t")
                                                   : "+r"(x)
                                                   : "r"(at)
                                                   : "memory"))
    if (x == 999999999) out[0] = 1;
}
KERNEL atom_cas(u64 *out, u32 same) {
    extern __shared__ u32 words[];
    u32 t = threadIdx.x, at = (u32)__cvta_generic_to_shared(words) + t % 32 / same * 4, x = t;
    TIMED(for (int k = 0; k < 2; k++) asm volatile(
        R16("atom.shared.cas.b32 %0, [%1], %0, %2;\n\t") : "+r"(x) : "r"(at), "r"(t) : "memory"))
    if (x == 999999) out[0] = 1;
}

// Matrices for the tensor cores: 16 loads of 512 bytes, from 512 bytes on each.
#define MATRIX(o)                                                                                            \
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {p, q, r, s}, [%1 + " #o "];\n\txor.b32 %0, %0, p;\n\t"       \
    "xor.b32 %0, %0, s;\n\t"
KERNEL ldmatrix(u64 *out, u32 row) {
    extern __shared__ u32 words[];
    u32 t = threadIdx.x, at = (u32)__cvta_generic_to_shared(words) + t % 32 * row, a0 = 0;
    TIMED(_Pragma("unroll 1") for (int k = 0; k < 4; k++) {
        asm volatile("{.reg .b32 p, q, r, s;\n\t" MATRIX(0) MATRIX(512) MATRIX(1024) MATRIX(1536) MATRIX(2048)
                         MATRIX(2560) MATRIX(3072) MATRIX(3584) MATRIX(4096) MATRIX(4608) MATRIX(5120)
                             MATRIX(5632) MATRIX(6144) MATRIX(6656) MATRIX(7168) MATRIX(7680) "}"
                     : "+r"(a0)
                     : "r"(at)
                     : "memory");
        at += a0 == 12345;
    })
    if (a0 == 12345) out[0] = 1;
}
