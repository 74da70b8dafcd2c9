// Half-precision pairs: HFMA2.MMA runs on the tensor unit, HFMA2 beside FFMA and IMAD, and ptxas deals them
// out in turn. 32 warps, FMAs whose kind and registers are chosen by banks.py (in the cubin only: half_* of
// other GPUs are what ptxas makes of them). cycles = out / (2 x 128 x 32).
#include "micro.h"

#define HALF(name)                                                                                           \
    KERNEL half_##name(u64 *out, uint4 *in) {                                                                \
        int t = threadIdx.x;                                                                                 \
        uint4 c = in[t], a = in[t + 1024], b = in[t + 2048];                                                 \
        TIMED(asm volatile(R32("fma.rn.f16x2 %0, %4, %8, %0;\n\tfma.rn.f16x2 %1, %5, %9, %1;\n\t"            \
                               "fma.rn.f16x2 %2, %6, %10, %2;\n\tfma.rn.f16x2 %3, %7, %11, %3;\n\t")         \
                           : "+r"(c.x), "+r"(c.y), "+r"(c.z), "+r"(c.w), "+r"(a.x), "+r"(a.y), "+r"(a.z),    \
                             "+r"(a.w), "+r"(b.x), "+r"(b.y), "+r"(b.z), "+r"(b.w)))                         \
        in[t] = c;                                                                                           \
        in[t + 1024] = a;                                                                                    \
        in[t + 2048] = b;                                                                                    \
    }
HALF(mma)       // HFMA2.MMA, one register three times
HALF(fma)       // HFMA2
HALF(turn)      // both in turn
HALF(turn_odd)  // of the other bank
HALF(pairs)     // two of each in turn
HALF(mma_two)   // HFMA2.MMA with two even registers
HALF(fma_two)   // HFMA2
HALF(turn_two)  // both in turn, an even and an odd register
HALF(turn_same) // two even registers
HALF(mma_kept)  // two even registers, one kept
HALF(turn_kept) // in turn
HALF(mma_ffma)  // with FFMA in turn
HALF(fma_ffma)  // HFMA2 and FFMA
