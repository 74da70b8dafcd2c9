// How many lines an SM keeps open for stores that may still be merged: the lanes of a warp store the four words of a
// sector's half, one after the other, each lane `stride` bytes from the one before, so that a store has stride / 4
// lines. Where these stay open until the next store comes, a sector reaches L2 once, else four times.
#include "micro.h"

KERNEL stores_merge(u32 stride, char *p) {
    char *a = p + threadIdx.x * stride;
    _Pragma("unroll 1") for (u32 k = 0; k < 64; k++, a += 32 * stride) {
        asm volatile("st.global.u32 [%0], %1;\n\tst.global.u32 [%0+4], %1;\n\t"
                     "st.global.u32 [%0+8], %1;\n\tst.global.u32 [%0+12], %1;" ::"l"(a),
                     "r"(k)
                     : "memory");
    }
}
