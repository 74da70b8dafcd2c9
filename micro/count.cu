// Lanes that count in words of shared memory: `same` of them in each, words `apart` bytes from each other.
//
//   count_one   atomicAdd(word, 1), which has an instruction of its own: lanes that meet are counted together
//   count_two   atomicAdd(word, 2), which has not: lanes that meet take turns
// To be timed from outside.
#include "micro.h"

#define COUNT(name, by)                                                                                      \
    KERNEL name(u32 same, u32 apart, u32 rounds, u32 *out) {                                                 \
        extern __shared__ u32 words[];                                                                       \
        u32 *mine = words + threadIdx.x % 32 / same * apart / 4;                                             \
        for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) words[i] = 0;                                   \
        __syncthreads();                                                                                     \
        for (u32 r = 0; r < rounds; r++) {                                                                   \
            _Pragma("unroll") for (int k = 0; k < 16; k++) atomicAdd(mine, by);                              \
        }                                                                                                    \
        __syncthreads();                                                                                     \
        if (*mine == 12345678) out[0] = 1;                                                                   \
    }
COUNT(count_one, 1)
COUNT(count_two, 2)
