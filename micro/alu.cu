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
