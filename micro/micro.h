// What the microbenchmarks have in common: they time themselves with the SM's clock.
//
// A timed piece is run in four rounds, the last two of them three times as long as the first two. The first one
// warms instruction caches; what counts is the difference of the last and the second,
// so that what a round costs besides the piece (barrier, clock reads, the last result on its way) drops out. A
// round's time is that of the block, from its first warp's start to its last warp's end.
#ifndef MICRO_H
#define MICRO_H

#define KERNEL extern "C" __global__ void __launch_bounds__(1024)
typedef unsigned long long u64;
typedef unsigned u32;

// Text, repeated.
#define R2(s)   s s
#define R4(s)   R2(s) R2(s)
#define R8(s)   R4(s) R4(s)
#define R16(s)  R8(s) R8(s)
#define R32(s)  R16(s) R16(s)
#define R64(s)  R32(s) R32(s)
#define R128(s) R64(s) R64(s)
#define R256(s) R128(s) R128(s)

// A number that has nothing to do with its neighbours.
__device__ __forceinline__ u32 mixed(u32 x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

__device__ __forceinline__ u64 now() {
    u64 t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
    return t;
}

// Some time: `n` times 16 multiply-adds, each of which needs the one before, some 90 cycles. A loop that looks at the clock would not
// have the same instructions every time, nor in a simulation.
__device__ __forceinline__ void linger(u32 n) {
    float x = 1;
#pragma unroll 1
    for (u32 k = 0; k < n; k++) asm volatile(R16("fma.rn.f32 %0, %0, %0, %0;\n\t") : "+f"(x)::"memory");
    if (x == 0.5f) asm volatile("trap;");
}

__device__ __forceinline__ u32 smid() {
    u32 s;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(s));
    return s;
}

// When each warp of the block began and ended. A loop of compare and swap for the first and the last of them would take as long as chance
// has it, so the first warp finds them.
__device__ __forceinline__ void note(uint2 *spans, u64 t0, u64 t1) {
    if (threadIdx.x % 32 == 0) spans[threadIdx.x / 32] = make_uint2((u32)t0, (u32)t1);
}
__device__ __forceinline__ u32 span_of(const uint2 *spans) { // all of the first warp ask, after a barrier
    u32 warps = (blockDim.x + 31) / 32;
    uint2 mine = spans[threadIdx.x < warps ? threadIdx.x : 0];
    u32 base = spans[0].x;
    return (u32)(__reduce_max_sync(~0u, (int)(mine.y - base)) - __reduce_min_sync(~0u, (int)(mine.x - base)));
}

// out[block] = cycles of two more repetitions of the piece.
#define TIMED(piece)                                                                                         \
    __shared__ uint2 span_[4][32];                                                                           \
    _Pragma("unroll 1") for (int round_ = 0; round_ < 4; round_++) {                                         \
        int reps_ = round_ < 2 ? 1 : 3;                                                                      \
        __syncthreads();                                                                                     \
        u64 t0_ = now();                                                                                     \
        _Pragma("unroll 1") for (int rep_ = 0; rep_ < reps_; rep_++) { piece; }                              \
        u64 t1_ = now();                                                                                     \
        __syncthreads(); /* nobody is disturbed by what follows */                                           \
        note(span_[round_], t0_, t1_);                                                                       \
    }                                                                                                        \
    __syncthreads();                                                                                         \
    if (threadIdx.x < 32) {                                                                                  \
        u32 long_ = span_of(span_[3]), short_ = span_of(span_[1]);                                           \
        if (threadIdx.x == 0) out[blockIdx.x] = (u64)long_ - short_;                                         \
    }

// The same, timed in one go after a round to warm caches: out[block] = cycles of the second round. For what many SMs
// do to each other, where the difference of two rounds would be one of two accidents.
#define TIMED_ONCE(piece)                                                                                    \
    __shared__ uint2 span_[32];                                                                              \
    _Pragma("unroll 1") for (int round_ = 0; round_ < 2; round_++) {                                         \
        __syncthreads();                                                                                     \
        u64 t0_ = now();                                                                                     \
        piece;                                                                                               \
        __threadfence();                                                                                     \
        u64 t1_ = now();                                                                                     \
        __syncthreads();                                                                                     \
        note(span_, t0_, t1_);                                                                               \
    }                                                                                                        \
    __syncthreads();                                                                                         \
    if (threadIdx.x < 32) {                                                                                  \
        u32 all_ = span_of(span_);                                                                           \
        if (threadIdx.x == 0) out[blockIdx.x] = all_;                                                        \
    }

#endif
