// Lanes with a line each: what a load takes that hits in L1, and rows that every lane walks by itself.
//
//   lag       one warp, lanes `stride` words apart, each load waits for the one before; all hit. out[0] = cycles of 2 x 64 loads more.
//   walk_U    out[thread] = sum of n words from a + thread x stride on, U loads in flight: the first of a sector misses, those behind it
//             find the sector on its way, or there when a load has to wait in between. Timed from outside.
#include "micro.h"

KERNEL lag(u64 *out, const u32 *a, u32 stride) {
    const u32 *p = a + threadIdx.x * stride;
    u32 x = 0;
    TIMED(_Pragma("unroll 1") for (int j = 0; j < 4; j++)
              asm volatile("{.reg .b64 q;\n\t.reg .b32 y;\n\t" R16("mul.wide.u32 q, %0, 4;\n\tadd.s64 q, q, %1;\n\tld.global.u32 y, [q];\n\tadd.u32 %0, %0, y;\n\t") "}"
                           : "+r"(x)
                           : "l"(p)
                           : "memory"))
    if (x == 12345) out[0] = x;
}

#define WALK(U)                                                                                              \
    KERNEL walk_##U(float *out, const float *a, u32 stride, u32 n) {                                         \
        u32 i = blockIdx.x * blockDim.x + threadIdx.x;                                                       \
        const float *p = a + (u64)i * stride;                                                                \
        float sum = 0;                                                                                       \
        _Pragma("unroll 1") for (u32 j = 0; j < n; j += U) {                                                 \
            float v[U];                                                                                      \
            _Pragma("unroll") for (int k = 0; k < U; k++)                                                    \
                asm volatile("ld.global.f32 %0, [%1];" : "=f"(v[k]) : "l"(p + j + k));                       \
            _Pragma("unroll") for (int k = 0; k < U; k++) sum += v[k];                                       \
        }                                                                                                    \
        out[i] = sum;                                                                                        \
    }
WALK(1)
WALK(4)
WALK(8)
WALK(16)
