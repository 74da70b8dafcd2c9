// Local memory that is stored to again and loaded: what L1 still has of it.
//
//   again_first    two stores of a word a lane to the same rows, but other words of them, `d` steps of some 28 cycles apart, and `e` steps later a
//                  load of what the first one has stored
//   again_second   of what the second one has stored
//   again_old      of words that were stored long ago
//   again_one      only one store, and a load of words of its rows that were stored long ago
// Lane l has row (l + 3 round) % rows. Between two rounds are `f` steps. To be timed from outside.
#include "micro.h"

#define STL(i, v) asm volatile("st.local.u32 [%0], %1;" ::"r"(m + (i) * 4), "r"(v) : "memory")
#define LDL(d, i) asm volatile("ld.local.u32 %0, [%1];" : "=r"(d) : "r"(m + (i) * 4) : "memory")

__device__ __forceinline__ void steps(u32 d, float &x) {
#pragma unroll 1
    for (u32 k = 0; k < d; k++) asm volatile("fma.rn.f32 %0, %0, %0, %0;\n\t" : "+f"(x)::"memory");
}

// x is never 0.5, which ptxas does not know: what is behind the steps stays there.
#define AGAIN(NAME, WHICH, TWO)                                                                              \
    KERNEL NAME(u32 rows, u32 d, u32 e, u32 f, u32 n, u32 *out) {                                            \
        u32 v[64];                                                                                           \
        u32 m = (u32)__cvta_generic_to_local(v), sum = 0, w;                                                 \
        float x = 1;                                                                                         \
        for (u32 k = 0; k < 32; k++) STL(k, 0);                                                              \
        steps(100, x);                                                                                       \
        _Pragma("unroll 1") for (u32 j = 0; j < n; j++) {                                                    \
            u32 at = (threadIdx.x % 32 + j * 3) & (rows - 1), b = (at + 1) & (rows - 1);                     \
            u32 c = (at + rows / 2) & (rows - 1);                                                            \
            STL(at + (x == 0.5f), j);                                                                        \
            __syncwarp();                                                                                    \
            steps(d, x);                                                                                     \
            if (TWO) {                                                                                       \
                STL(b + (x == 0.5f), j);                                                                     \
                __syncwarp();                                                                                \
            }                                                                                                \
            steps(e, x);                                                                                     \
            LDL(w, (WHICH == 0 ? at : WHICH == 1 ? b : c) + (x == 0.5f));                                    \
            sum += w;                                                                                        \
            steps(f + (sum >> 31), x);                                                                       \
        }                                                                                                    \
        if (sum == 12345) out[0] = sum + (u32)x;                                                             \
    }
AGAIN(again_first, 0, 1)
AGAIN(again_second, 1, 1)
AGAIN(again_old, 2, 1)
AGAIN(again_one, 2, 0)
