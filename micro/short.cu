// Short blocks: a few instructions a thread, as in a first program. Timed from outside (`orrery hw profile`).
//
//   add_N     blocks of N threads, an element each, c = a + b. Loads are at i & mask: with a mask the words are in L2 after the
//             first blocks, without one they come from memory. Stores always go to new lines.
//   saxpy_N   y = a x + y, from memory and in place
//   fill_N    a store, nothing else
#include "micro.h"

#define SHORT(N)                                                                                             \
    KERNEL add_##N(u32 n, u32 mask, const float *a, const float *b, float *c) {                              \
        u32 i = blockIdx.x * blockDim.x + threadIdx.x;                                                       \
        if (i < n) c[i] = a[i & mask] + b[i & mask];                                                         \
    }                                                                                                        \
    KERNEL saxpy_##N(u32 n, float a, const float *x, float *y) {                                             \
        u32 i = blockIdx.x * blockDim.x + threadIdx.x;                                                       \
        if (i < n) y[i] = a * x[i] + y[i];                                                                   \
    }                                                                                                        \
    KERNEL fill_##N(u32 n, float a, float *y) {                                                              \
        u32 i = blockIdx.x * blockDim.x + threadIdx.x;                                                       \
        if (i < n) y[i] = a;                                                                                 \
    }
SHORT(128)
SHORT(256)
SHORT(512)
SHORT(1024)
