// Bandwidth of L1, L2 and memory, what a warp's pattern of addresses costs, and atomics.
//
//   read_N, write_N, copy, mix_*   a grid that fills the GPU once goes round `n` pieces of 16 (8, 4) bytes, four a thread and
//                 step, `iters` steps a pass; out[block] = cycles of the last pass for that block. Bytes per cycle of the
//                 GPU = bytes of a pass / mean of out. One pass is cold; in the second L2 has what fits.
//   l1_N          one block reads the same 16 KB again and again; cycles of the SM per access = out / (2 x 128 x warps).
//   pattern       every warp reads, 64 times, at offsets[lane]; cycles per access = out / (2 x 64 x warps).
//   red, atom, cas   `same` lanes of a warp at one word; words `word` bytes apart; warps of a block `warp` bytes apart, blocks
//                 `block` bytes: out[block] = cycles of 16 n instructions of each warp, until all is done.
#include "micro.h"

// Four pieces a thread in flight, loads first; round and round over n pieces.
#define STREAM(name, T, stores, load, use)                                                                         \
    extern "C" __global__ void __launch_bounds__(1024, 2)                                                    \
        name(u64 *out, T *p, T *q, u32 n, u32 iters, u32 passes) {                                           \
        __shared__ uint2 spans[32];                                                                          \
        u32 step = gridDim.x * blockDim.x % n, first = (blockIdx.x * blockDim.x + threadIdx.x) % n, sum = 0; \
        _Pragma("unroll 1") for (u32 pass = 0; pass < passes; pass++) {                                      \
            u32 i = first;                                                                                   \
            __syncthreads();                                                                                 \
            u64 t0 = now();                                                                                  \
            _Pragma("unroll 1") for (u32 j = 0; j < iters; j++) {                                            \
                T v[4];                                                                                      \
                u32 at[4];                                                                                   \
                _Pragma("unroll") for (int k = 0; k < 4; k++) {                                              \
                    at[k] = i;                                                                               \
                    i += step;                                                                               \
                    if (i >= n) i -= n;                                                                      \
                }                                                                                            \
                _Pragma("unroll") for (int k = 0; k < 4; k++) load;                                          \
                _Pragma("unroll") for (int k = 0; k < 4; k++) use;                                           \
            }                                                                                                \
            asm volatile("{.reg .pred p, q;\n\tsetp.eq.u32 q, %1, 0;\n\tsetp.eq.and.u32 p, %0, 77, q;\n\t"   \
                         "@p trap;}" ::"r"(sum), "r"(n)                                                      \
                         : "memory"); /* n is never 0 */                                                     \
            if (stores) __threadfence(); /* the last loads have come, the last stores are there */           \
            u64 t1 = now();                                                                                  \
            __syncthreads();                                                                                 \
            note(spans, t0, t1);                                                                             \
            __syncthreads();                                                                                 \
        }                                                                                                    \
        if (threadIdx.x < 32) {                                                                              \
            u32 all = span_of(spans);                                                                        \
            if (threadIdx.x == 0) out[blockIdx.x] = all, out[blockIdx.x + 512] = smid();                     \
        }                                                                                                    \
        if (sum == 12345) out[0] = sum;                                                                      \
    }
#define SUM4 sum += v[k].x ^ v[k].y ^ v[k].z ^ v[k].w
STREAM(read_128, uint4, false, v[k] = __ldcg(p + at[k]), SUM4)
STREAM(read_64, uint2, false, v[k] = __ldcg(p + at[k]), sum += v[k].x ^ v[k].y)
STREAM(read_32, u32, false, v[k] = __ldcg(p + at[k]), sum += v[k])
STREAM(read_ca, uint4, false, v[k] = p[at[k]], SUM4)
STREAM(write_128, uint4, true, v[k] = make_uint4(i, pass, k, 7), p[at[k]] = v[k])
STREAM(write_32, u32, true, v[k] = i + pass + k, p[at[k]] = v[k])
STREAM(copy, uint4, true, v[k] = __ldcg(p + at[k]), q[at[k]] = v[k])
STREAM(mix_2r1w, uint4, true, v[k] = __ldcg(p + at[k]), if (k & 1) q[at[k]] = v[k]; else SUM4)
STREAM(mix_3r1w, uint4, true, v[k] = __ldcg(p + at[k]), if (k == 3) q[at[k]] = v[k]; else SUM4)
STREAM(mix_1r2w, uint4, true, v[k] = k & 1 ? v[k - 1] : __ldcg(p + at[k]), q[at[k]] = v[k])

// Every SM reads one and the same few words, past L1: 128 loads of each warp. A slice of L2 by itself when they are one sector.
KERNEL hot(u64 *out, u32 *p, u32 words) {
    u32 sum = 0, *a = p + threadIdx.x % words;
    TIMED_ONCE(_Pragma("unroll 1") for (int j = 0; j < 8; j++) asm volatile(
        "{.reg .b32 x;\n\t" R16("ld.relaxed.gpu.global.u32 x, [%1];\n\txor.b32 %0, %0, x;\n\t") "}"
        : "+r"(sum)
        : "l"(a)
        : "memory"))
    if (sum == 12345) out[0] = sum;
}

// ---- L1 -------------------------------------------------------------------------------------------
#define GO(o) "ld.global.u32 x, [%1 + " #o "];\n\txor.b32 %0, %0, x;\n\t"
#define ALL16(G) G(0) G(4096) G(8192) G(12288) G(16384) G(20480) G(24576) G(28672) G(32768) G(36864)         \
    G(40960) G(45056) G(49152) G(53248) G(57344) G(61440)
KERNEL pattern(u64 *out, char *p, u32 *offsets) {
    u32 sum = 0;
    char *a = p + offsets[threadIdx.x % 32];
    TIMED(_Pragma("unroll 1") for (int j = 0; j < 4; j++) {
        asm volatile("{.reg .b32 x;\n\t" ALL16(GO) "}" : "+r"(sum) : "l"(a) : "memory");
        a += sum == 12345;
    })
    if (sum == 12345) out[0] = sum;
}
#define GP(o) "st.global.u32 [%0 + " #o "], %1;\n\t"
KERNEL pattern_st(u64 *out, char *p, u32 *offsets) {
    u32 x = threadIdx.x;
    char *a = p + offsets[threadIdx.x % 32];
    TIMED(_Pragma("unroll 1") for (int j = 0; j < 4; j++) asm volatile(ALL16(GP) ::"l"(a), "r"(x) : "memory"))
}
#define W2(o) "ld.global.v2.u32 {x, y}, [%1 + " #o "];\n\txor.b32 %0, %0, x;\n\txor.b32 %0, %0, y;\n\t"
#define W4(o)                                                                                                \
    "ld.global.v4.u32 {x, y, z, w}, [%1 + " #o "];\n\txor.b32 x, x, y;\n\txor.b32 z, z, w;\n\txor.b32 x, x, z;\n\t" \
    "xor.b32 %0, %0, x;\n\t"
// Neighbouring lanes, neighbouring words of 4, 8 or 16 bytes: 64 KB in all, which L1 holds.
#define WIDTH(name, G, bytes)                                                                                \
    KERNEL l1_##name(u64 *out, char *p) {                                                                    \
        u32 sum = 0;                                                                                         \
        char *a = p + threadIdx.x * bytes % 4096;                                                            \
        TIMED(_Pragma("unroll 1") for (int j = 0; j < 4; j++) {                                              \
            asm volatile("{.reg .b32 x, y, z, w;\n\t" ALL16(G) "}" : "+r"(sum) : "l"(a) : "memory");         \
            a += sum == 12345;                                                                               \
        })                                                                                                   \
        if (sum == 12345) out[0] = sum;                                                                      \
    }
WIDTH(32, GO, 4)
WIDTH(64, W2, 8)
WIDTH(128, W4, 16)

// ---- atomics --------------------------------------------------------------------------------------
#define ATOMIC(name, text)                                                                                   \
    KERNEL name(u64 *out, char *p, u32 same, u32 word, u32 warp, u32 block, u32 n) {                         \
        u32 t = threadIdx.x, x = 1;                                                                          \
        char *a = p + (u64)(t % 32 / same) * word + (u64)(t / 32) * warp + (u64)blockIdx.x * block;          \
        TIMED_ONCE(_Pragma("unroll 1") for (u32 j = 0; j < n; j++) asm volatile(R16(text) : "+r"(x)          \
                                                                                : "l"(a), "r"(t)             \
                                                                                : "memory"))                 \
        if (x == 123456789) out[0] = x;                                                                      \
    }
ATOMIC(red, "red.global.add.u32 [%1], %2;\n\t")
ATOMIC(atom, "atom.global.add.u32 %0, [%1], %0;\n\t")
ATOMIC(atom_many, "{.reg .b32 y;\n\tatom.global.add.u32 y, [%1], %2;\n\txor.b32 %0, %0, y;}\n\t")
ATOMIC(cas, "atom.global.cas.b32 %0, [%1], %0, %2;\n\t")
ATOMIC(red_f32, "red.global.add.f32 [%1], 0f3F800000;\n\t")
ATOMIC(red_f64, "red.global.add.f64 [%1], 0d3FF0000000000000;\n\t")
