// Tensor cores, mma.sync: latency of a chain through the accumulator, and how often an SM takes one.
//
// Method: lat_NAME: 64 in a row on one warp, each adds to the one before: latency = out / 128. thr_NAME: four
// accumulators, 16 each, 16 warps (4 for each scheduler): cycles of the SM per warp instruction = out / (2 x 64 x 16).
#include "micro.h"

#define F4(a) "{" a "}"
// Accumulators of four 32-bit registers: %0-%3, %4-%7, %8-%11, %12-%15; operands from %16 on.
#define ACC(c0, c1, c2, c3) "{" c0 "," c1 "," c2 "," c3 "}"
#define ACC0 ACC("%0", "%1", "%2", "%3")
#define ACC1 ACC("%4", "%5", "%6", "%7")
#define ACC2 ACC("%8", "%9", "%10", "%11")
#define ACC3 ACC("%12", "%13", "%14", "%15")
#define A4 "{%16,%17,%18,%19}"
#define A2 "{%16,%17}"
#define B2 "{%20,%21}"
#define B1 "{%20}"
#define T_hmma_16816_f32(c) "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " c ", " A4 ", " B2 ", " c ";\n\t"
#define T_hmma_1688_f32(c) "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " c ", " A2 ", " B1 ", " c ";\n\t"
#define T_bmma_16816_f32(c) "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " c ", " A4 ", " B2 ", " c ";\n\t"
#define T_tf32_1688_f32(c) "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 " c ", " A4 ", " B2 ", " c ";\n\t"
#define T_imma_16832_s8(c) "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 " c ", " A4 ", " B2 ", " c ";\n\t"
#define T_imma_16816_s8(c) "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 " c ", " A2 ", " B1 ", " c ";\n\t"

#define MMA(name, T, con, times)                                                                             \
    int t = threadIdx.x;                                                                                     \
    T x[16];                                                                                                 \
    u32 a[6];                                                                                                \
    for (int k = 0; k < 16; k++) x[k] = ((T *)in)[t + 1024 * k];                                             \
    for (int k = 0; k < 6; k++) a[k] = in[t + 1024 * k + 512];                                               \
    TIMED(asm volatile(times                                                                                 \
                       : "+" con(x[0]), "+" con(x[1]), "+" con(x[2]), "+" con(x[3]), "+" con(x[4]),          \
                         "+" con(x[5]), "+" con(x[6]), "+" con(x[7]), "+" con(x[8]), "+" con(x[9]),          \
                         "+" con(x[10]), "+" con(x[11]), "+" con(x[12]), "+" con(x[13]), "+" con(x[14]),     \
                         "+" con(x[15])                                                                      \
                       : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5])))                  \
    T all = 0;                                                                                               \
    for (int k = 0; k < 16; k++) all += x[k];                                                                \
    if (all == (T)1234567) in[t] = (u32)all;
#define KERNELS(name, T, con)                                                                                \
    KERNEL lat_##name(u64 *out, u32 *in) { MMA(name, T, con, R64(T_##name(ACC0))) }                          \
    KERNEL thr_##name(u64 *out, u32 *in) {                                                                   \
        MMA(name, T, con, R16(T_##name(ACC0) T_##name(ACC1) T_##name(ACC2) T_##name(ACC3)))                  \
    }
KERNELS(hmma_16816_f32, float, "f")
KERNELS(hmma_1688_f32, float, "f")
KERNELS(bmma_16816_f32, float, "f")
KERNELS(tf32_1688_f32, float, "f")
KERNELS(imma_16832_s8, int, "r")
KERNELS(imma_16816_s8, int, "r")

// Half accumulators: two registers.
#define T_hmma_16816_f16(c) "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 " c ", {%8,%9,%10,%11}, {%12,%13}, " c ";\n\t"
// Doubles: two accumulators of 64 bits, one operand each.
#define T_dmma_884(c) "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 " c ", {%8}, {%9}, " c ";\n\t"
#define MMA2(name, T, con, times, ...)                                                                       \
    int t = threadIdx.x;                                                                                     \
    T x[8], a[6];                                                                                            \
    for (int k = 0; k < 8; k++) x[k] = in[t + 1024 * k];                                                     \
    for (int k = 0; k < 6; k++) a[k] = in[t + 1024 * k + 512];                                               \
    TIMED(asm volatile(times                                                                                 \
                       : "+" con(x[0]), "+" con(x[1]), "+" con(x[2]), "+" con(x[3]), "+" con(x[4]),          \
                         "+" con(x[5]), "+" con(x[6]), "+" con(x[7])                                         \
                       : con(a[0]), con(a[1]), con(a[2]), con(a[3]), con(a[4]), con(a[5])))                  \
    T all = 0;                                                                                               \
    for (int k = 0; k < 8; k++) all += x[k];                                                                 \
    if (all == (T)1234567) in[t] = all;
#define KERNELS2(name, T, con)                                                                               \
    KERNEL lat_##name(u64 *out, T *in) { MMA2(name, T, con, R64(T_##name("{%0,%1}"))) }                      \
    KERNEL thr_##name(u64 *out, T *in) {                                                                     \
        MMA2(name, T, con,                                                                                   \
             R16(T_##name("{%0,%1}") T_##name("{%2,%3}") T_##name("{%4,%5}") T_##name("{%6,%7}")))           \
    }
KERNELS2(hmma_16816_f16, u32, "r")
KERNELS2(dmma_884, double, "d")
