// SMs that store to the same word, as kernels do that say with a flag that something has changed: what a
// store costs there, and what others wait for it.
//
//   flag_store     every warp stores `n` times to a word of its own choice among `lines` (each on a line of
//   its own, 4 KB apart). flag_load      between two stores each lane loads a word of its own from a table,
//   and needs it before it goes on. flag_none      the same without the stores. flag_lanes     as flag_load,
//   but each lane that found an odd word stores: a warp's stores have half of its lanes.
#include "micro.h"

#define PUT(p, v) asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory")

#define WARP ((blockIdx.x * blockDim.x + threadIdx.x) / 32)

KERNEL flag_store(u64 *out, u32 *flag, u32 lines, u32 n) {
    u32 *mine = flag + (u64)(WARP % lines) * 1024;
    TIMED_ONCE(_Pragma("unroll 1") for (u32 i = 0; i < n; i++) PUT(mine, i))
}

#define LOADS(name, store)                                                                                   \
    KERNEL name(u64 *out, u32 *flag, const u32 *table, u32 words, u32 n) {                                   \
        u32 at = blockIdx.x * blockDim.x + threadIdx.x;                                                      \
        TIMED_ONCE(_Pragma("unroll 1") for (u32 i = 0; i < n; i++) {                                         \
            u32 x = __ldcg(table + (mixed(at + i * 0x9e3779b9u) & words - 1));                               \
            at += x;                                                                                         \
            store;                                                                                           \
        })                                                                                                   \
        if (at == 0xffffffffu) out[0] = at;                                                                  \
    }
LOADS(flag_load, if (x < 1000) PUT(flag, 1))
LOADS(flag_none, if (x == 1000) PUT(flag, 1))
LOADS(flag_lanes, if (mixed(at + i) & 1) PUT(flag, 1))
