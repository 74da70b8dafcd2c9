// Barriers in shared memory (mbarrier): threads arrive, and wait until all have.
//
//   arrive_wait   each thread arrives and waits, `rounds` times
//   arrive_one    the same, but one lane of each warp arrives, and lanes of a warp wait for it at the barrier
//   arrive_late   the first warp does something for `n` times 90 cycles before it arrives; the others wait for it
//   arrive_pass   two barriers: the first warp fills a place and arrives at one, the others wait there, take what it holds and arrive at the
//                 other, for which the first waits before it fills the place again
// A wait that is not over is not given up before some time has passed, so that all of them succeed at once. To be timed from outside.
#include "micro.h"

__device__ __forceinline__ u32 at_of(u64 *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void init(u64 *bar, u32 count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at_of(bar)), "r"(count) : "memory");
}
__device__ __forceinline__ u64 arrive(u64 *bar) {
    u64 state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at_of(bar)) : "memory");
    return state;
}
__device__ __forceinline__ void wait(u64 *bar, u64 state) {
    u32 done;
    do
        asm volatile("{.reg .pred p;\n\tmbarrier.try_wait.shared.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(at_of(bar)), "l"(state) : "memory");
    while (!done);
}
__device__ __forceinline__ void wait_phase(u64 *bar, u32 parity) {
    u32 done;
    do
        asm volatile("{.reg .pred p;\n\tmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(at_of(bar)), "r"(parity) : "memory");
    while (!done);
}

KERNEL arrive_wait(u64 *out, u32 rounds) {
    __shared__ u64 bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
#pragma unroll 1
    for (u32 k = 0; k < rounds; k++) wait(&bar, arrive(&bar));
    if (threadIdx.x == 0) out[blockIdx.x] = rounds;
}

KERNEL arrive_one(u64 *out, u32 rounds) {
    __shared__ u64 bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x / 32);
    __syncthreads();
#pragma unroll 1
    for (u32 k = 0; k < rounds; k++) {
        if (threadIdx.x % 32 == 0) arrive(&bar);
        wait_phase(&bar, k & 1);
    }
    if (threadIdx.x == 0) out[blockIdx.x] = rounds;
}

KERNEL arrive_late(u64 *out, u32 rounds, u32 n) {
    __shared__ u64 bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
#pragma unroll 1
    for (u32 k = 0; k < rounds; k++) {
        if (threadIdx.x < 32) linger(n);
        wait(&bar, arrive(&bar));
    }
    if (threadIdx.x == 0) out[blockIdx.x] = rounds;
}

KERNEL arrive_pass(u64 *out, u32 rounds) {
    __shared__ u64 full, empty;
    __shared__ u32 place[32];
    u32 sum = 0;
    if (threadIdx.x == 0) {
        init(&full, 32);
        init(&empty, blockDim.x - 32);
    }
    __syncthreads();
#pragma unroll 1
    for (u32 k = 0; k < rounds; k++)
        if (threadIdx.x < 32) {
            if (k) wait_phase(&empty, ~k & 1);
            place[threadIdx.x] = k;
            arrive(&full);
        } else {
            wait_phase(&full, k & 1);
            sum += place[threadIdx.x % 32];
            arrive(&empty);
        }
    if (threadIdx.x == 63) out[blockIdx.x] = sum;
}
