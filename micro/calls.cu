// What is not straight code: calls, jumps through tables, lanes that part in them; lanes that compare their
// values; local memory; warps that end.
//
//   call, pointer   16 calls in a row of a function that adds one; pointer: through a pointer that each lane
//   picks
//                   among `ways` functions. cycles = out / 32.
//   recurse         calls of a function that calls itself `depth` times: what is kept in local memory, and
//   BMOV
//                   around the lanes that part.
//   table           16 jumps through a table of eight ways (BRX), of which the lanes take `ways`. cycles =
//   out / 32. match_any, match_all   16 in a row, each of which needs the one before, lanes hold `values`
//   different values.
//                   cycles = out / 32, for one warp and for 32 (out / 1024).
//   local_chase     loads from local memory, each of which needs the one before; local_load, local_store:
//   independent
//                   ones; 16 in a row. cycles = out / 32.
//   leave           a warp that ends after `n` stores, for the profiler: how long are warps kept (drain).
#include "micro.h"

__device__ __noinline__ u32 leaf(u32 x) {
    asm volatile("add.u32 %0, %0, 1;" : "+r"(x));
    return x;
}

KERNEL call(u64 *out) {
    u32 x = threadIdx.x;
    TIMED(_Pragma("unroll") for (int k = 0; k < 16; k++) x = leaf(x))
    if (x == 123456789) out[0] = x;
}

#define WAY(n)                                                                                               \
    __device__ __noinline__ u32 way##n(u32 x) {                                                              \
        asm volatile("mad.lo.u32 %0, %0, 3, " #n ";" : "+r"(x));                                             \
        return x;                                                                                            \
    }
WAY(1)
WAY(2)
WAY(3)
WAY(4)
WAY(5)
WAY(6)
WAY(7)
WAY(8)
typedef u32 (*function)(u32);
__device__ function functions[8] = {way1, way2, way3, way4, way5, way6, way7, way8};

KERNEL pointer(u64 *out, u32 ways) {
    u32 x = threadIdx.x;
    function f = functions[threadIdx.x % ways];
    TIMED(_Pragma("unroll") for (int k = 0; k < 16; k++) x = f(x))
    if (x == 123456789) out[0] = x;
}

__device__ __noinline__ u32 down(u32 depth, u32 x) {
    if (depth == 0) return x;
    u32 y = down(depth - 1, x + depth);
    asm volatile("add.u32 %0, %0, %1;" : "+r"(y) : "r"(x));
    return y;
}

// Lanes go down by `depth`, and one less where they are odd and `parted` is 1.
KERNEL recurse(u64 *out, u32 depth, u32 parted) {
    u32 x = threadIdx.x, d = depth - (threadIdx.x & parted);
    TIMED(_Pragma("unroll 1") for (int k = 0; k < 8; k++) x = down(d, x))
    if (x == 123456789) out[0] = x;
}

KERNEL table(u64 *out, u32 ways) {
    u32 x = threadIdx.x, lane = threadIdx.x % ways;
    TIMED(_Pragma("unroll 1") for (u32 k = 0; k < 16; k++) {
        asm volatile("{\n\t"
                     "targets: .branchtargets one, two, three, four, five, six, seven, eight;\n\t"
                     "brx.idx %1, targets;\n\t"
                     "one: add.u32 %0, %0, %2;\n\tbra end;\n\t"
                     "two: sub.u32 %0, %0, %2;\n\tbra end;\n\t"
                     "three: mul.lo.u32 %0, %0, %2;\n\tbra end;\n\t"
                     "four: xor.b32 %0, %0, %2;\n\tbra end;\n\t"
                     "five: and.b32 %0, %0, %2;\n\tbra end;\n\t"
                     "six: or.b32 %0, %0, %2;\n\tbra end;\n\t"
                     "seven: min.u32 %0, %0, %2;\n\tbra end;\n\t"
                     "eight: max.u32 %0, %0, %2;\n\t"
                     "end: }"
                     : "+r"(x)
                     : "r"((lane + k) & 7), "r"(ways));
    })
    if (x == 123456789) out[0] = x;
}

// The mask goes into the next one's value, times nothing.
KERNEL match_any(u64 *out, u32 values, u32 nothing) {
    u32 x = threadIdx.x % values, m = 0;
    TIMED(asm volatile(R16("match.any.sync.b32 %0, %1, -1;\n\tmad.lo.u32 %1, %0, %2, %1;\n\t")
                       : "+r"(m), "+r"(x)
                       : "r"(nothing)))
    if (x == 123456789) out[0] = m;
}
KERNEL match_all(u64 *out, u32 values, u32 nothing) {
    u32 x = threadIdx.x % values, m = 0;
    TIMED(asm volatile(
        "{.reg .pred p;\n\t" R16("match.all.sync.b32 %0|p, %1, -1;\n\tmad.lo.u32 %1, %0, %2, %1;\n\t") "}"
        : "+r"(m), "+r"(x)
        : "r"(nothing)))
    if (x == 123456789) out[0] = m;
}

#define LOCAL_WORDS 64
KERNEL local_chase(u64 *out, u32 step) {
    u32 ring[LOCAL_WORDS];
#pragma unroll 1
    for (u32 k = 0; k < LOCAL_WORDS; k++) ring[k] = (k + step) % LOCAL_WORDS;
    u32 x = 0;
    TIMED(_Pragma("unroll") for (int k = 0; k < 16; k++) x = ring[x])
    if (x == 123456789) out[0] = x;
}
KERNEL local_load(u64 *out, u32 step) {
    u32 words[LOCAL_WORDS], sum = 0, at = step % 16;
#pragma unroll 1
    for (u32 k = 0; k < LOCAL_WORDS; k++) words[k] = k * step;
    TIMED({
        volatile u32 *w = words + at;
        _Pragma("unroll") for (int k = 0; k < 16; k++) sum += w[k];
    })
    if (sum == 123456789) out[0] = sum;
}
KERNEL local_store(u64 *out, u32 step) {
    u32 words[LOCAL_WORDS], at = step % 16;
#pragma unroll 1
    for (u32 k = 0; k < LOCAL_WORDS; k++) words[k] = k * step;
    TIMED({
        volatile u32 *w = words + at;
        _Pragma("unroll") for (int k = 0; k < 16; k++) w[k] = at + k;
    })
    if (words[step % 7] == 123456789) out[0] = words[1];
}

KERNEL leave(u32 *p, u32 n) {
    p += blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (u32 k = 0; k < n; k++) p[k * 1024] = k;
}
