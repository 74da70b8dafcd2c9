// Lanes with a line each, other accesses in between, and conflicts of one warp.
//
//   bank_ld, bank_two, bank_st   shared memory, lanes `stride` words apart: a chain of loads; of two loads at a time; of a store and a load of the same words.
//   pair      the same in L1: two loads at a time that hit, by the warps in `who` (a bit for each warp of the block).
//   fresh     a chain of loads of 32 lanes that all miss: lanes `pitch` lines apart, at word l % w of sector l / w % s. Its wavefronts are those of
//             lines that were looked up together.
//   rows_16   out[thread] = sum of n words from a + thread x stride on, 16 loads in flight. rows_x: and before each load one of a word that is the
//             same for all lanes. rows_dot: the same as a compiler makes it, eight pairs of loads ahead.
// All are timed from outside.
#include "micro.h"

#define LD(d, p) asm volatile("ld.global.u32 %0, [%1];" : "=r"(d) : "l"(p) : "memory")
#define LDF(d, p) asm volatile("ld.global.f32 %0, [%1];" : "=f"(d) : "l"(p) : "memory")

// MODE 0: a load, 1: two, 2: a store and a load. `off` is 0, which ptxas does not know.
#define BANK(NAME, MODE)                                                                                     \
    KERNEL NAME(u32 *out, u32 stride, u32 n, u32 off) {                                                      \
        __shared__ u32 m[32 * 32 + 256];                                                                     \
        for (u32 k = threadIdx.x; k < 32 * 32 + 256; k += blockDim.x) m[k] = 0;                              \
        __syncthreads();                                                                                     \
        u32 at = (u32)__cvta_generic_to_shared(m) + threadIdx.x % 32 * stride * 4, v = 0, z = 0;             \
        _Pragma("unroll 1") for (u32 j = 0; j < n; j += 8) _Pragma("unroll") for (int k = 0; k < 8; k++) {   \
            if (MODE == 2) asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(v) : "memory");             \
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at + off) : "memory");                    \
            if (MODE == 1) asm volatile("ld.shared.u32 %0, [%1+4];" : "=r"(z) : "r"(at) : "memory");         \
            at += v + z;                                                                                     \
        }                                                                                                    \
        if (at == 12345) out[0] = v;                                                                         \
    }
BANK(bank_ld, 0)
BANK(bank_two, 1)
BANK(bank_st, 2)

KERNEL pair(u32 *out, const u32 *a, u32 stride, u32 who, u32 n) {
    if (!(who >> threadIdx.x / 32 & 1)) return;
    u32 k = 0, v, w;
    const u32 *p = a + threadIdx.x % 32 * stride;
#pragma unroll 1
    for (u32 j = 0; j < n; j++) {
        LD(v, p + k);
        LD(w, p + k + 1);
        k += (v >> 31) + (w >> 31);
    }
    if (k == 12345) out[0] = k;
}

KERNEL fresh(u32 *out, const u32 *a, u32 pitch, u32 w, u32 s, u32 n) {
    u32 l = threadIdx.x, k = 0, v;
    const u32 *p = a + (u64)l * pitch * 32 + l / w % s * 8 + l % w;
#pragma unroll 1
    for (u32 j = 0; j < n; j++) {
        LD(v, p + k);
        k += v >> 31;
        p += 32;
    }
    if (k == 12345) out[0] = k;
}

#define ROWS(NAME, X)                                                                                        \
    KERNEL NAME(float *out, const float *a, const float *x, u32 stride, u32 n) {                             \
        u32 i = blockIdx.x * blockDim.x + threadIdx.x;                                                       \
        const float *p = a + (u64)i * stride;                                                                \
        float sum = 0;                                                                                       \
        _Pragma("unroll 1") for (u32 j = 0; j < n; j += 16) {                                                \
            float v[16], w[16];                                                                              \
            _Pragma("unroll") for (int k = 0; k < 16; k++) {                                                 \
                w[k] = 1;                                                                                    \
                if (X) LDF(w[k], x + j + k);                                                                 \
                LDF(v[k], p + j + k);                                                                        \
            }                                                                                                \
            _Pragma("unroll") for (int k = 0; k < 16; k++) sum += v[k] * w[k];                               \
        }                                                                                                    \
        out[i] = sum;                                                                                        \
    }
ROWS(rows_16, 0)
ROWS(rows_x, 1)

KERNEL rows_dot(float *out, const float *a, const float *x, u32 stride, u32 n) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int j = 0; j < (int)n; j++) sum += a[i * stride + j] * x[j];
    out[i] = sum;
}
