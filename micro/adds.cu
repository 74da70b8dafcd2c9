// Which unit adds a constant (VIADD)? Each of these has eight such additions from one value a round, four logic
// instructions that put them together (ALU), and
//
//   adds        nothing else
//   adds_ffma   eight FFMAs
//   adds_imad   eight IMADs
// ptxas makes some of the additions IADD3, so that both units have as much to do. To be timed from outside.
#include "micro.h"

#define EACH(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7)
#define ADDED(n) u32 y##n = x + 11 * (n) + 3;
#define TOGETHER s ^= y0 ^ y1, s ^= y2 ^ y3, s ^= y4 ^ y5, s ^= y6 ^ y7;
#define FFMA(n)  f[n] = f[n] * g + h;
#define IMAD(n)  i[n] = i[n] * p + q;

#define ADDS(name, more)                                                                                     \
    KERNEL name(u32 *out, u32 rounds, u32 p, u32 q, float g, float h) {                                      \
        u32 x = threadIdx.x, s = 0, i[8], sum = 0;                                                           \
        float f[8], all = 0;                                                                                 \
        for (int k = 0; k < 8; k++) i[k] = x + k, f[k] = (float)i[k];                                        \
        _Pragma("unroll 1") for (u32 k = 0; k < rounds; k++) {                                               \
            _Pragma("unroll") for (int r = 0; r < 4; r++) {                                                  \
                EACH(ADDED) TOGETHER more x ^= s + r * 1000;                                                 \
            }                                                                                                \
        }                                                                                                    \
        for (int k = 0; k < 8; k++) sum += i[k], all += f[k];                                                \
        if (s + sum == 12345678 && all == 3.f) out[0] = s;                                                   \
    }
ADDS(adds, )
ADDS(adds_ffma, EACH(FFMA))
ADDS(adds_imad, EACH(IMAD))
