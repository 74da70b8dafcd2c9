// How the parts of an SM work together.
//
//   dual_A_B     two kinds of instructions in turn, independent: cycles of the SM for a pair; as long as the slower
//                of the two alone when they have pipes of their own, the sum when they share one. 32 warps;
//                cycles per pair = out / (2 x 128 x 32).
//   bank_*       FFMA whose three sources lie in register banks of choice: quadruples of registers that are loaded
//                and stored together begin at a register divisible by four. cycles = out / (2 x 128 x 32).
//   warps_ffma   dependent FFMAs, with as many warps as the block has: latency is hidden when out / 256 grows.
//   order        when each warp of a block is done with the same work that keeps its pipe busy: who goes first.
//                out[warp]: cycles from the block's first start to the warp's end.
//   queue_*      when a warp gets to issue each of 32 slow shared-memory (or global) accesses: how many wait in line.
#include "micro.h"

#define FFMA(r) "fma.rn.f32 %" #r ", %" #r ", %12, %13;\n\t"
#define FADD(r) "add.rn.f32 %" #r ", %" #r ", %12;\n\t"
#define MUFU(r) "ex2.approx.ftz.f32 %" #r ", %" #r ";\n\t"
#define IADD(r) "add.s32 %" #r ", %" #r ", %14;\n\tadd.s32 %" #r ", %" #r ", %15;\n\t"
#define LOP3(r) "lop3.b32 %" #r ", %" #r ", %14, %15, 0xe6;\n\t"
#define LOP3B(r) "lop3.b32 %" #r ", %" #r ", %16, %17, 0x6d;\n\t"
#define IMAD(r) "mad.lo.s32 %" #r ", %" #r ", %14, %15;\n\t"
#define SHFL(r) "shfl.sync.bfly.b32 %" #r ", %" #r ", 1, 31, -1;\n\t"
#define POPC(r) "popc.b32 %" #r ", %" #r ";\n\t"
#define HFMA(r) "fma.rn.bf16x2 %" #r ", %" #r ", %14, %15;\n\t"
#define DFMA(r) "fma.rn.f64 %" #r ", %" #r ", %18, %19;\n\t"
#define LDS(r) "ld.shared.u32 %" #r ", [%" #r "];\n\t" // finds its own address
// Floats are %0-%3, integers %4-%7, doubles %8-%11.
#define DUAL(name, A, B, a0, a1, a2, a3, b0, b1, b2, b3)                                                     \
    KERNEL dual_##name(u64 *out, u32 *in) {                                                                  \
        __shared__ u32 words[1024];                                                                          \
        int t = threadIdx.x;                                                                                 \
        float *f = (float *)in, f0 = f[t], f1 = f[t + 1], f2 = f[t + 2], f3 = f[t + 3];                      \
        float p = f[t + 1024], q = f[t + 1025];                                                              \
        u32 y = in[t + 1024], z = in[t + 1025], y2 = in[t + 1026], z2 = in[t + 1027];                        \
        double d0 = f0, d1 = f1, d2 = f2, d3 = f3, g = p, h = q;                                             \
        u32 at = (u32)__cvta_generic_to_shared(&words[t]);                                                   \
        words[t] = at + in[t + 1024];                                                                        \
        u32 i0 = words[t], i1 = i0, i2 = i0, i3 = i0;                                                        \
        TIMED(asm volatile(R32(A(a0) B(b0) A(a1) B(b1) A(a2) B(b2) A(a3) B(b3))                              \
                           : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3), "+r"(i0), "+r"(i1), "+r"(i2), "+r"(i3), \
                             "+d"(d0), "+d"(d1), "+d"(d2), "+d"(d3)                                          \
                           : "f"(p), "f"(q), "r"(y), "r"(z), "r"(y2), "r"(z2), "d"(g), "d"(h)))              \
        u32 all = i0 + i1 + i2 + i3 + (u32)(f0 + f1 + f2 + f3) + (u32)(d0 + d1 + d2 + d3);                   \
        if (all == 1234567) in[t] = all;                                                                     \
    }
#define FI(name, A, B) DUAL(name, A, B, 0, 1, 2, 3, 4, 5, 6, 7) // a float one and an integer one
FI(ffma_iadd3, FFMA, IADD)
FI(ffma_lop3, FFMA, LOP3)
FI(ffma_imad, FFMA, IMAD)
FI(ffma_hfma2, FFMA, HFMA)
FI(ffma_shfl, FFMA, SHFL)
FI(ffma_popc, FFMA, POPC)
FI(ffma_lds, FFMA, LDS)
FI(mufu_lop3, MUFU, LOP3)
FI(mufu_popc, MUFU, POPC)
FI(mufu_shfl, MUFU, SHFL)
FI(mufu_lds, MUFU, LDS)
DUAL(ffma_mufu, FFMA, MUFU, 0, 1, 0, 1, 2, 3, 2, 3)
DUAL(ffma_fadd, FFMA, FADD, 0, 1, 0, 1, 2, 3, 2, 3)
DUAL(ffma_dfma, FFMA, DFMA, 0, 1, 2, 3, 8, 9, 10, 11)
DUAL(lop3_dfma, LOP3, DFMA, 4, 5, 6, 7, 8, 9, 10, 11)
DUAL(imad_dfma, IMAD, DFMA, 4, 5, 6, 7, 8, 9, 10, 11)
DUAL(lop3_imad, LOP3, IMAD, 4, 5, 4, 5, 6, 7, 6, 7)
DUAL(lop3_shfl, LOP3, SHFL, 4, 5, 4, 5, 6, 7, 6, 7)
DUAL(lop3_hfma2, LOP3, HFMA, 4, 5, 4, 5, 6, 7, 6, 7)
DUAL(imad_hfma2, IMAD, HFMA, 4, 5, 4, 5, 6, 7, 6, 7)
DUAL(shfl_lds, SHFL, LDS, 4, 5, 4, 5, 6, 7, 6, 7)

// ---- register banks: banks.py gives the instructions their registers
#define BANK(name)                                                                                           \
    KERNEL bank_##name(u64 *out, float4 *in) {                                                               \
        int t = threadIdx.x;                                                                                 \
        float4 c = in[t], a = in[t + 1024], b = in[t + 2048];                                                \
        TIMED(asm volatile(R32("fma.rn.f32 %0, %4, %8, %0;\n\tfma.rn.f32 %1, %5, %9, %1;\n\t"                \
                               "fma.rn.f32 %2, %6, %10, %2;\n\tfma.rn.f32 %3, %7, %11, %3;\n\t")            \
                           : "+f"(c.x), "+f"(c.y), "+f"(c.z), "+f"(c.w), "+f"(a.x), "+f"(a.y), "+f"(a.z),    \
                             "+f"(a.w), "+f"(b.x), "+f"(b.y), "+f"(b.z), "+f"(b.w)))                         \
        in[t] = c;                                                                                           \
        in[t + 1024] = a;                                                                                    \
        in[t + 2048] = b;                                                                                    \
    }
BANK(one)
BANK(two_same)
BANK(two_other)
BANK(three_same)
BANK(three_other)
BANK(three_turn)
BANK(three_mod4)
BANK(reuse_one)
BANK(reuse_two)

KERNEL warps_ffma(u64 *out, float *in) {
    int t = threadIdx.x;
    float x = in[t], a = in[t + 1024], b = in[t + 2048];
    TIMED(asm volatile(R128("fma.rn.f32 %0, %0, %1, %2;\n\t") : "+f"(x) : "f"(a), "f"(b)))
    if (x == 1234567.0f) in[t] = x;
}

KERNEL order(u64 *out, float *in, int n) {
    __shared__ u64 first;
    int t = threadIdx.x;
    float x0 = in[t], x1 = in[t + 1], x2 = in[t + 2], x3 = in[t + 3], a = in[t + 1024], b = in[t + 2048];
    u64 end = 0;
#pragma unroll 1
    for (int round = 0; round < 2; round++) {
        if (t == 0) first = ~0ull;
        __syncthreads();
        u64 start = now();
#pragma unroll 1
        for (int k = 0; k < n; k++)
            asm volatile(R16("fma.rn.f32 %0, %0, %4, %5;\n\tfma.rn.f32 %1, %1, %4, %5;\n\t"
                             "fma.rn.f32 %2, %2, %4, %5;\n\tfma.rn.f32 %3, %3, %4, %5;\n\t")
                         : "+f"(x0), "+f"(x1), "+f"(x2), "+f"(x3)
                         : "f"(a), "f"(b));
        end = now();
        __syncthreads();
        atomicMin(&first, start);
        __syncthreads();
    }
    if (x0 + x1 + x2 + x3 == 1234567.0f) in[t] = x0;
    if (t % 32 == 0) out[t / 32] = end - first;
}

// The clock is read after each access; what it returns is not waited for.
#define STEP(k)                                                                                              \
    asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(at), "r"(t) : "memory");                           \
    when[k] = now();
#define STEP4(k) STEP(k) STEP(k + 1) STEP(k + 2) STEP(k + 3)
KERNEL queue_shared(u64 *out, int stride) {
    extern __shared__ u32 words[];
    u32 t = threadIdx.x;
    u32 at = (u32)__cvta_generic_to_shared(words) + (t % 32) * 4 * stride;
    u64 when[32], start = 0;
#pragma unroll 1
    for (int round = 0; round < 2; round++) {
        __syncthreads();
        start = now();
        STEP4(0) STEP4(4) STEP4(8) STEP4(12) STEP4(16) STEP4(20) STEP4(24) STEP4(28)
    }
    if (t % 32 == 0)
        for (int k = 0; k < 32; k++) out[t + k] = when[k] - start;
}
