// Arrays of structures of 32 bytes: every thread has one, and loads and stores it a word at a time.
//
//   store_1 ... store_6   store so many of its words
//   struct_update         loads six of them, adds, and stores them
// In every round another structure. To be timed from outside.
#include "micro.h"

__device__ u32 *mine(u32 r, u32 *p) {
    return p + 8 * ((u64)(r * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x);
}

#define STORE(words)                                                                                         \
    KERNEL store_##words(u32 rounds, u32 *p) {                                                               \
        for (u32 r = 0; r < rounds; r++) {                                                                   \
            u32 *at = mine(r, p);                                                                            \
            _Pragma("unroll") for (u32 k = 0; k < words; k++) at[k] = r + k;                                 \
        }                                                                                                    \
    }
STORE(1)
STORE(2) STORE(3) STORE(4) STORE(5) STORE(6)

    KERNEL struct_update(u32 rounds, u32 *p) {
    for (u32 r = 0; r < rounds; r++) {
        u32 *at = mine(r, p), v[6], sum = 0;
#pragma unroll
        for (u32 k = 0; k < 6; k++) sum += v[k] = at[k];
#pragma unroll
        for (u32 k = 0; k < 6; k++) at[k] = v[k] + sum;
    }
}
