// Barriers of a thread block: __syncthreads and its reductions, named barriers, barriers for a part of the
// block, arrivals without waiting, from divergent code and with threads that have left.
#include "check.h"

KERNEL reductions(int *out) { // 100 threads: a ragged last warp
    int t = threadIdx.x, bad = 0;
    for (int i = 1; i < 12; i++) {
        CHECK(__syncthreads_count(t % i == 0) == (100 + i - 1) / i);
        CHECK(!!__syncthreads_and(t < 100) && !__syncthreads_and(t < 99));
        CHECK(!!__syncthreads_or(t == 99) && !__syncthreads_or(t >= 100));
    }
    // the reductions of named barriers
    unsigned n, all, any;
    asm volatile("{ .reg .pred p, q, r; setp.lt.s32 p, %3, 30; barrier.red.popc.u32 %0, 3, p; barrier.red.and.pred q, 4, p; barrier.cta.red.or.pred r, 5, !p; "
                 "selp.u32 %1, 1, 0, q; selp.u32 %2, 1, 0, r; }"
                 : "=r"(n), "=r"(all), "=r"(any)
                 : "r"(t)
                 : "memory");
    CHECK(n == 30 && all == 0 && any == 1);
    out[t] = bad;
}

// Each pair of warps has a barrier of its own, numbered at run time.
KERNEL named(int *out) {
    __shared__ int data[256];
    int t = threadIdx.x, pair = t / 64, bad = 0;
    for (int i = 0; i < 4; i++) {
        data[t] = t * 4 + i;
        asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
        CHECK(data[t ^ 63] == (t ^ 63) * 4 + i);
        asm volatile("barrier.sync %0, %1;" ::"r"(pair + 1), "r"(64) : "memory");
        if (pair == 2 && i == 1) break; // that pair leaves early
    }
    __syncthreads();
    out[t] = bad;
}

// One warp fills, three empty: arrivals do not wait.
KERNEL arrive(int *out) {
    __shared__ int data[2][32], sum;
    int t = threadIdx.x, lane = t % 32, bad = 0;
    if (t == 0) sum = 0;
    __syncthreads();
    for (int i = 0; i < 6; i++) {
        int b = i & 1;
        if (t < 32) {
            if (i >= 2) asm volatile("bar.sync %0, 128;" ::"r"(3 + b) : "memory"); // emptied
            data[b][lane] = 10 * i + lane;
            asm volatile("bar.arrive %0, 128;" ::"r"(1 + b) : "memory"); // full
        } else {
            asm volatile("bar.sync %0, 128;" ::"r"(1 + b) : "memory");
            CHECK(data[b][31 - lane] == 10 * i + 31 - lane);
            atomicAdd(&sum, 1);
            if (i < 4) asm volatile("barrier.arrive %0, 128;" ::"r"(3 + b) : "memory");
        }
    }
    __syncthreads();
    CHECK(sum == 6 * 96);
    out[t] = bad;
}

// barrier (without .aligned) may be executed by lanes of a warp at different places.
KERNEL divergent(int *out) {
    __shared__ int data[64];
    int t = threadIdx.x, bad = 0;
    data[t] = t + 7;
    if (t % 2) {
        asm volatile("barrier.sync 0;" ::: "memory");
        CHECK(data[(t + 1) % 64] == (t + 1) % 64 + 7);
    } else {
        for (int i = 0; i < t; i++) bad += i < 0;
        asm volatile("barrier.sync 0;" ::: "memory");
        CHECK(data[(t + 33) % 64] == (t + 33) % 64 + 7);
    }
    asm volatile("barrier.sync 0;" ::: "memory");
    data[t] = -t;
    switch (t % 4) { // four places, one barrier
    case 0: asm volatile("barrier.sync 1;" ::: "memory"); break;
    case 1: asm volatile("barrier.sync 1;" ::: "memory"); bad |= 0; break;
    case 2: asm volatile("barrier.sync 1;" ::: "memory"); break;
    default: asm volatile("barrier.sync 1;" ::: "memory");
    }
    CHECK(data[63 - t] == t - 63);
    out[t] = bad;
}

// Threads that have left do not hold a barrier up: whole warps, and lanes of a warp.
KERNEL gone(int *out) {
    __shared__ int data[128];
    int t = threadIdx.x, bad = 0;
    out[t] = 0;
    data[t] = t;
    __syncthreads();
    if (t / 32 == 1) return;
    data[t] = t * 2;
    __syncthreads();
    CHECK(data[127 - t] == ((127 - t) / 32 == 1 ? 127 - t : (127 - t) * 2));
    __syncthreads();
    if (t % 4 == 3) {
        out[t] = bad;
        return;
    }
    data[t] = t * 3;
    __syncthreads();
    if ((127 - t) / 32 != 1) CHECK(data[127 - t] == ((127 - t) % 4 == 3 ? (127 - t) * 2 : (127 - t) * 3));
    __syncthreads();
    out[t] = bad;
}

// A tree over shared memory, and a loop with barriers whose length depends on the block.
KERNEL tree(int *out) {
    __shared__ int s[256];
    int t = threadIdx.x, bad = 0;
    for (int round = 0; round <= (int)blockIdx.x; round++) {
        s[t] = t + round;
        __syncthreads();
        for (int d = 128; d; d /= 2) {
            if (t < d) s[t] += s[t + d];
            __syncthreads();
        }
        CHECK(s[0] == 255 * 128 + 256 * round);
        __syncthreads();
    }
    out[blockIdx.x * 256 + t] = bad;
}
