// Latency and throughput of instructions (ops.def): how many cycles until an instruction that needs the result
// can issue, and how many cycles of an SM a warp's instruction takes when there are many.
//
// Method: lat_NAME: 128 of them in a row, all dependent, one warp: latency = out / 256. thr_NAME: four chains of
// 64 each, 32 warps (8 for each scheduler): cycles of the SM for a warp's instruction = out / (2 x 256 x 32).
// Where a text of ops.def has two instructions, both count.
#include "micro.h"

#define BODY(name, T, con, times)                                                                            \
    T x0 = in[t], x1 = in[t + 1024], x2 = in[t + 2048], x3 = in[t + 3072];                                   \
    TIMED(asm volatile(times : "+" con(x0), "+" con(x1), "+" con(x2), "+" con(x3)                            \
                       : con(a), con(b), con(c), con(e)))                                                    \
    T all = x0 + x1 + x2 + x3;                                                                               \
    if (all == (T)1234567) in[t] = all;
#define KERNELS(name, T, con, parameters, operands)                                                          \
    KERNEL lat_##name(u64 *out, T *in parameters) {                                                          \
        int t = threadIdx.x;                                                                                 \
        operands BODY(name, T, con, R128(T_##name("%0")))                                                    \
    }                                                                                                        \
    KERNEL thr_##name(u64 *out, T *in parameters) {                                                          \
        int t = threadIdx.x;                                                                                 \
        operands BODY(name, T, con, R64(T_##name("%0") T_##name("%1") T_##name("%2") T_##name("%3")))        \
    }
#define COMMA ,
#define OP(name, T, con)                                                                                     \
    KERNELS(name, T, con, , T a = in[t + 4096]; T b = in[t + 5120]; T c = in[t + 6144]; T e = in[t + 7168];)
#define OPC(name, T, con) KERNELS(name, T, con, COMMA T a COMMA T b COMMA T c COMMA T e, )
#include "ops.def"

// A uniform operand and two registers that differ: d = %5 (of the thread) x a (the kernel's) + d.
#define MIXED(name, T, con, text)                                                                            \
    KERNEL thr_##name(u64 *out, T *in, T a) {                                                                \
        int t = threadIdx.x;                                                                                 \
        T b = in[t + 4096], c = in[t + 5120], e = b;                                                         \
        BODY(name, T, con, R64(text("%0") text("%1") text("%2") text("%3")))                                 \
    }
#define FFMA_UNIFORM(d) "fma.rn.f32 " d ", %5, %4, " d ";\n\t"
#define FFMA_ADD_UNIFORM(d) "fma.rn.f32 " d ", " d ", %5, %4;\n\t"
#define IMAD_UNIFORM(d) "mad.lo.s32 " d ", %5, %4, " d ";\n\t"
#define DFMA_UNIFORM(d) "fma.rn.f64 " d ", %5, %4, " d ";\n\t"
MIXED(ffma_uniform, float, "f", FFMA_UNIFORM)
MIXED(ffma_add_uniform, float, "f", FFMA_ADD_UNIFORM)
MIXED(imad_uniform, int, "r", IMAD_UNIFORM)
MIXED(dfma_uniform, double, "d", DFMA_UNIFORM)
