// When a memory instruction has read its operands: 16 stores in a row with a fence for the block behind each,
// whose last instruction waits for the read barriers of all before it. (ptxas gives what overwrites an
// operand another register, so that a plain write would not wait.) One warp: cycles = out / 32. The fence
// alone takes nine (micro/sync), so that more is the store's.
//
//   read_stg_N, read_sts_N, read_stl_N   stores of N bits a lane to global, shared and local memory;
//   read_red: a reduction
#include "micro.h"

#define STORE(name, text)                                                                                    \
    KERNEL read_##name(u64 *out, u32 *p) {                                                                   \
        __shared__ uint4 words[1024];                                                                        \
        u64 g = (u64)(p + 4 * threadIdx.x);                                                                  \
        u32 s = (u32)__cvta_generic_to_shared(&words[threadIdx.x]), x = threadIdx.x, y = x, z = x, w = x;    \
        TIMED(asm volatile(R16(text "\n\tfence.acq_rel.cta;\n\t")::"r"(x), "r"(y), "r"(z), "r"(w), "l"(g),   \
                           "r"(s)                                                                            \
                           : "memory"))                                                                      \
        if (p == nullptr) out[0] = words[x].x;                                                               \
    }
STORE(stg_32, "st.global.u32 [%4], %0;")
STORE(stg_64, "st.global.v2.u32 [%4], {%0, %1};")
STORE(stg_128, "st.global.v4.u32 [%4], {%0, %1, %2, %3};")
STORE(sts_32, "st.shared.u32 [%5], %0;")
STORE(sts_64, "st.shared.v2.u32 [%5], {%0, %1};")
STORE(sts_128, "st.shared.v4.u32 [%5], {%0, %1, %2, %3};")
STORE(red, "red.global.add.u32 [%4], %0;")

KERNEL read_stl_32(u64 *out, u32 at) {
    u32 words[64];
#pragma unroll 1
    for (int k = 0; k < 64; k++) words[k] = k + at;
    volatile u32 *w = words + at;
    TIMED({
        _Pragma("unroll") for (int k = 0; k < 16; k++) {
            w[k] = at;
            asm volatile("fence.acq_rel.cta;" ::: "memory");
        }
    })
    if (words[at + 3] == 123456789) out[0] = 1;
}
