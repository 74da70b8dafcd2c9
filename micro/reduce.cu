// Reductions of all SMs that meet in a few lines, as histograms and sums by group end.
//
//   reduce_lines    every warp adds to whole lines, `lines` of them in turn
//   reduce_words    every lane adds to a word of its own choice among `words`, integers
//   reduce_floats   the same, floats
// To be timed from outside: a kernel is done when its reductions are.
#include "micro.h"

KERNEL reduce_lines(u32 lines, u32 rounds, u32 *p) {
    u32 warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    for (u32 r = 0; r < rounds; r++) atomicAdd(&p[(warp + r) % lines * 32 + threadIdx.x % 32], r);
}

#define SPREAD(name, T)                                                                                      \
    KERNEL name(u32 words, u32 rounds, T *p) {                                                               \
        u32 h = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u;                                       \
        for (u32 r = 0; r < rounds; r++) {                                                                   \
            h = h * 1664525u + 1013904223u;                                                                  \
            atomicAdd(&p[(u32)((u64)h * words >> 32)], (T)r);                                                \
        }                                                                                                    \
    }
SPREAD(reduce_words, u32)
SPREAD(reduce_floats, float)
