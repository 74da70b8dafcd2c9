// Instruction caches: how fast a warp runs straight through code of growing length, again and again.
//
// 64 pieces of 256 FFMAs (4 KB each), four chains, so that one warp could issue one a cycle. `pieces` says how many of them are
// run; out[0] = cycles of two more rounds. Cycles per instruction = out / (2 x 256 x pieces).
#include "micro.h"

#define PIECE(k)                                                                                             \
    asm volatile(R64("fma.rn.f32 %0,%0,%4,%5;\n"                                                             \
                     "fma.rn.f32 %1,%1,%4,%5;\n"                                                             \
                     "fma.rn.f32 %2,%2,%4,%5;\n"                                                             \
                     "fma.rn.f32 %3,%3,%4,%5;\n")                                                            \
                 : "+f"(x0), "+f"(x1), "+f"(x2), "+f"(x3)                                                    \
                 : "f"(a), "f"(b));                                                                          \
    if (pieces == k) continue;
#define PIECES4(k) PIECE(k) PIECE(k + 1) PIECE(k + 2) PIECE(k + 3)
#define PIECES16(k) PIECES4(k) PIECES4(k + 4) PIECES4(k + 8) PIECES4(k + 12)
KERNEL straight(u64 *out, float *in, int pieces) {
    int t = threadIdx.x;
    float x0 = in[t], x1 = in[t + 1], x2 = in[t + 2], x3 = in[t + 3], a = in[t + 1024], b = in[t + 2048];
    TIMED(PIECES16(1) PIECES16(17) PIECES16(33) PIECES16(49))
    if (x0 + x1 + x2 + x3 == 1234567.0f) in[t] = x0;
}
