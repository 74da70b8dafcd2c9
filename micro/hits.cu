// Loads that L1 or shared memory has, between multiply-adds: does what comes back hold up what is issued?
//
//   load_N     16 loads, each of its own line of the warp, then N multiply-adds of what they found, over and over, 32
//              warps. `lane`, `apart`: bytes between the addresses of lanes and of warps; `step`: from one sixteen
//              to the next, 0, so that the compiler has to load them again. cycles of the SM for a load =
//              out / (2 x 32 x 32).
//   shared_N   the same from shared memory.
#include "micro.h"

#define LOADS(how)                                                                                           \
    how " %0, [%20];\n\t" how " %1, [%20+128];\n\t" how " %2, [%20+256];\n\t" how " %3, [%20+384];\n\t"      \
    how " %4, [%20+512];\n\t" how " %5, [%20+640];\n\t" how " %6, [%20+768];\n\t" how " %7, [%20+896];\n\t"  \
    how " %8, [%20+1024];\n\t" how " %9, [%20+1152];\n\t" how " %10, [%20+1280];\n\t"                        \
    how " %11, [%20+1408];\n\t" how " %12, [%20+1536];\n\t" how " %13, [%20+1664];\n\t"                      \
    how " %14, [%20+1792];\n\t" how " %15, [%20+1920];\n\t"
#define FMA(s, a, b) "fma.rn.f32 %" #s ", %" #a ", %" #b ", %" #s ";\n\t"
#define FMAS_8                                                                                               \
    FMA(16, 0, 1) FMA(17, 2, 3) FMA(18, 4, 5) FMA(19, 6, 7) FMA(16, 8, 9) FMA(17, 10, 11) FMA(18, 12, 13)    \
    FMA(19, 14, 15)
#define FMAS_16 FMAS_8 FMAS_8
#define FMAS_32 FMAS_16 FMAS_16
#define FMAS_64 FMAS_32 FMAS_32

#define HITS(name, how, type, width, constraint, from, n)                                                           \
    KERNEL name(u64 *out, float *in, u32 lane, u32 apart, u32 step) {                                                  \
        __shared__ float words[8192];                                                                        \
        u32 t = threadIdx.x;                                                                                 \
        for (u32 k = t; k < 8192; k += 1024) words[k] = in[k];                                               \
        __syncthreads();                                                                                     \
        type at = (type)(from) + t % 32 * lane + t / 32 * apart;                                             \
        float a[16], s0 = 0, s1 = 1, s2 = 2, s3 = 3;                                                         \
        TIMED(asm volatile(R2(LOADS(how) FMAS_##n "add." width " %20, %20, %21;\n\t")                                                                  \
                           : "=f"(a[0]), "=f"(a[1]), "=f"(a[2]), "=f"(a[3]), "=f"(a[4]), "=f"(a[5]),         \
                             "=f"(a[6]), "=f"(a[7]), "=f"(a[8]), "=f"(a[9]), "=f"(a[10]), "=f"(a[11]),       \
                             "=f"(a[12]), "=f"(a[13]), "=f"(a[14]), "=f"(a[15]), "+f"(s0), "+f"(s1),         \
                             "+f"(s2), "+f"(s3), "+" constraint(at)                                           \
                           : constraint((type)step)                                                          \
                           : "memory"))                                                                      \
        float all = s0 + s1 + s2 + s3 + a[0] + a[7] + a[15];                                                 \
        if (all == 1234567.0f) in[t] = words[t];                                                             \
    }
#define BOTH(n)                                                                                              \
    HITS(load_##n, "ld.global.f32", u64, "u64", "l", in, n)                                                         \
    HITS(shared_##n, "ld.shared.f32", u32, "u32", "r", __cvta_generic_to_shared(words), n)
BOTH(8)
BOTH(16)
BOTH(32)
BOTH(64)
