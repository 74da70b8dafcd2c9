// Arrays of a thread that are indexed by what only it knows: they lie in local memory, where word w of all lanes of
// a warp makes a row. Lanes with the same index share a row, others have a row each, but each its own bank.
//
//   local_read, local_written   lane l takes word (l * step + k) % words of its 32, for k = 0, 1, 2 ...
//   local_swapped               reads one and writes its neighbour
// To be timed from outside.
#include "micro.h"

#define LOCAL(name, what)                                                                                    \
    KERNEL name(u32 step, u32 words, u32 rounds, u32 *out) {                                                 \
        volatile u32 v[32];                                                                                  \
        u32 first = threadIdx.x * step, sum = 0;                                                             \
        for (u32 k = 0; k < 32; k++) v[k] = k;                                                               \
        for (u32 r = 0; r < rounds; r++) {                                                                   \
            _Pragma("unroll 4") for (u32 k = 0; k < 32; k++) {                                               \
                u32 at = (first + k) & (words - 1);                                                          \
                what;                                                                                        \
            }                                                                                                \
        }                                                                                                    \
        if (sum == 12345678) out[0] = v[sum % 32];                                                           \
    }
LOCAL(local_read, sum += v[at])
LOCAL(local_written, v[at] = k)
LOCAL(local_swapped, sum += v[at]; v[at ^ 1] = sum)
