// Threads that wait for each other: last block, locks within a warp and between blocks, handing data from
// block to block, fences, clocks, sleep, cache hints.
#include <cuda/atomic>

#include "check.h"

// ---- the last block sums up -------------------------------------------------------------------
__device__ unsigned arrived;
KERNEL last_block(int *out, const int *in, volatile int *partial) {
    __shared__ int s[64];
    __shared__ bool last;
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 64 + t];
    __syncthreads();
    for (int d = 32; d; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1; // back to 0 for the next launch
    }
    __syncthreads();
    if (!last) return;
    int sum = 0;
    for (unsigned i = t; i < gridDim.x; i += 64) sum += partial[i];
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (t % 32 == 0) atomicAdd(out, sum);
}

// ---- locks ------------------------------------------------------------------------------------
__device__ int mutex, guarded[4];
KERNEL lock_spin(int *out) { // every lane of every warp of every block: needs progress for each lane
    int t = thread_index();
    while (atomicCAS(&mutex, 0, 1) != 0) {}
    __threadfence();
    ((volatile int *)guarded)[0] += 1;
    ((volatile int *)guarded)[1] += t;
    __threadfence();
    atomicExch(&mutex, 0);
    out[t] = 0;
}
KERNEL lock_loop(int *out) { // the form that works without it too
    int t = thread_index();
    for (bool done = false; !done;)
        if (atomicCAS(&mutex, 0, 1) == 0) {
            __threadfence();
            ((volatile int *)guarded)[2] += 2;
            __threadfence();
            atomicExch(&mutex, 0);
            done = true;
        }
    out[t] = 0;
}
__device__ unsigned ticket, serving;
KERNEL lock_ticket(int *out) { // in the order of the tickets; other blocks sleep
    int t = thread_index(), bad = 0;
    unsigned mine = atomicAdd(&ticket, 1);
    while (((volatile unsigned *)&serving)[0] != mine) __nanosleep(50);
    __threadfence();
    unsigned n = ((volatile int *)guarded)[3];
    CHECK(n == mine);
    ((volatile int *)guarded)[3] = n + 1;
    __threadfence();
    atomicAdd(&serving, 1);
    out[t] = bad;
}
KERNEL lock_check(int *out, int n) {
    int bad = 0;
    CHECK(mutex == 0 && guarded[0] == n && guarded[1] == n * (n - 1) / 2);
    CHECK(guarded[2] == 2 * n && guarded[3] == n && ticket == (unsigned)n && serving == ticket);
    out[0] = bad;
}

// Lanes of one warp wait for each other in the order of their numbers.
KERNEL lane_order(int *out) {
    __shared__ volatile int turn;
    int t = threadIdx.x;
    if (t == 0) turn = 31;
    __syncwarp();
    while (turn != t) {}
    turn = t - 1;
    __syncwarp();
    out[t] = turn == -1 ? 0 : __LINE__;
}
// Lane 0 produces for the others of its warp, which are in another loop.
KERNEL lane_producer(int *out) {
    __shared__ volatile int box[32];
    int t = threadIdx.x, bad = 0;
    box[t] = 0;
    __syncwarp();
    if (t == 0) {
        for (int i = 1; i < 32; i++) {
            box[i] = i * i;
            while (box[i] != -i) {} // taken
        }
    } else {
        int v;
        while ((v = box[t]) == 0) {}
        CHECK(v == t * t);
        box[t] = -t;
    }
    out[t] = bad;
}

// One lane waits long for another warp, the rest run ahead into a function where all must meet.
__device__ __noinline__ int share(int v) { return __shfl_sync(0xffffffffu, v, 0); }
__device__ __noinline__ int share_sum(int v, int depth) {
    int s = share(v);
    if (depth) s += share_sum(v + 1, depth - 1);
    return s + __reduce_add_sync(0xffffffffu, 1);
}
KERNEL lane_ahead(int *out) {
    __shared__ volatile int flag;
    int t = threadIdx.x, bad = 0, v = 0;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t < 32) {
        if (t == 0) {
            while (flag != 3) {}
            v = 5;
        }
        CHECK(share_sum(v, 2) == 5 + 6 + 7 + 96);
    } else {
        for (int i = 1; i <= 3; i++) {
#pragma unroll 1
            for (int k = 0; k < 300; k++) __nanosleep(20);
            __syncwarp();
            flag = i;
        }
    }
    out[t] = bad;
}

// ---- from block to block ----------------------------------------------------------------------
__device__ int chain[65]; // chain[b + 1] = chain[b] + sum of block b, handed on as soon as it is known
KERNEL chained(int *out, const int *in) {
    __shared__ int before, sum;
    int t = threadIdx.x, bad = 0;
    if (t == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[blockIdx.x * 64 + t]);
    __syncthreads();
    if (t == 0) {
        int v = 1;
        if (blockIdx.x)
            do asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(&chain[blockIdx.x]) : "memory");
            while (v == 0);
        before = v;
        asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(&chain[blockIdx.x + 1]), "r"(v + sum) : "memory");
    }
    __syncthreads();
    int want = 1;
    for (unsigned i = 0; i < blockIdx.x * 64; i++) want += in[i];
    CHECK(before == want);
    out[blockIdx.x * 64 + t] = bad;
}

// Even blocks produce for odd ones, forwards and backwards: block 1 waits for block 0, block 2 for block 3.
__device__ int flags[8], boxes[8][32];
KERNEL pairs(int *out) {
    int t = threadIdx.x, b = blockIdx.x, other = b ^ 1, bad = 0;
    bool first = b % 4 == 0 || b % 4 == 3;
    for (int i = 1; i <= 3; i++) {
        if (!first && t == 0)
            while (atomicAdd(&flags[other], 0) < i) {}
        __syncthreads();
        if (!first) CHECK(((volatile int *)boxes[other])[31 - t] == i * 100 + 31 - t);
        ((volatile int *)boxes[b])[t] = i * 100 + t;
        __threadfence();
        __syncthreads();
        if (t == 0) atomicAdd(&flags[b], 1);
        if (first && t == 0)
            while (atomicAdd(&flags[other], 0) < i) {}
        __syncthreads();
        if (first) CHECK(((volatile int *)boxes[other])[31 - t] == i * 100 + 31 - t);
    }
    out[b * 32 + t] = bad;
}

// A barrier over the grid, made by hand; the blocks are few enough to be there together.
__device__ unsigned grid_count, grid_phase;
__device__ void grid_sync() {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        unsigned phase = *(volatile unsigned *)&grid_phase;
        if (atomicAdd(&grid_count, 1) == gridDim.x - 1) {
            grid_count = 0;
            __threadfence();
            atomicAdd(&grid_phase, 1);
        } else {
            while (*(volatile unsigned *)&grid_phase == phase) __nanosleep(20);
        }
        __threadfence();
    }
    __syncthreads();
}
KERNEL grid_wide(int *out, int *a, int *b) {
    int t = thread_index(), n = gridDim.x * blockDim.x, bad = 0;
    a[t] = t;
    grid_sync();
    for (int i = 0; i < 5; i++) { // rotate by 17 each time
        b[(t + 17) % n] = ((volatile int *)a)[t];
        grid_sync();
        a[(t + 17) % n] = ((volatile int *)b)[t];
        grid_sync();
    }
    CHECK(((volatile int *)a)[t] == (t + n - 170 % n) % n);
    out[t] = bad;
}

// ---- libcu++ atomics --------------------------------------------------------------------------
__device__ cuda::atomic<int, cuda::thread_scope_device> counter;
__device__ cuda::atomic<ull, cuda::thread_scope_system> wide;
KERNEL std_atomics(int *out, int *plain, float *real) {
    int t = thread_index();
    counter.fetch_add(2, cuda::memory_order_relaxed);
    wide.fetch_max((ull)t << 40);
    cuda::atomic_ref<int, cuda::thread_scope_device> r(*plain);
    r.fetch_sub(1);
    int v = r.load();
    while (!r.compare_exchange_weak(v, v + 3)) {}
    cuda::atomic_ref<float, cuda::thread_scope_device> f(*real);
    f.fetch_add(0.5f);
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
    out[t] = 0;
}
KERNEL std_check(int *out, const int *plain, const float *real, int n) {
    int bad = 0;
    CHECK(counter.load() == 2 * n && wide.load() == (ull)(n - 1) << 40 && *plain == 2 * n && *real == 0.5f * n);
    out[0] = bad;
}

// ---- time and caches --------------------------------------------------------------------------
KERNEL hints(int *out, int *in, int *to) { // in[i] = 7 i
    int t = thread_index(), bad = 0;
    long long c0 = clock64();
    unsigned c = clock();
    ull g0, g1;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g0)::"memory");
    CHECK(__ldg(in + t) == 7 * t && __ldcg(in + t) == 7 * t && __ldca(in + t) == 7 * t && __ldcs(in + t) == 7 * t && __ldlu(in + t) == 7 * t && __ldcv(in + t) == 7 * t);
    int4 v = __ldg((const int4 *)in + t / 4);
    CHECK(v.x == 7 * (t / 4 * 4) && v.w == 7 * (t / 4 * 4 + 3));
    __stwb(to + t, t), __stcg(to + t, t + 1), __stcs(to + t, t + 2), __stwt(to + t, t + 3);
    CHECK(to[t] == t + 3);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(in + t));
    asm volatile("prefetch.global.L1 [%0];" ::"l"(in));
    asm volatile("prefetchu.L1 [%0];" ::"l"(in));
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(to + 1024) : "memory");
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(in) : "memory");
    int x;
    asm volatile("{ .reg .b64 p; createpolicy.fractional.L2::evict_last.b64 p, 0.5; ld.global.L1::no_allocate.L2::cache_hint.L2::256B.s32 %0, [%1], p; }" : "=r"(x) : "l"(in + t));
    CHECK(x == 7 * t);
    asm volatile("ld.weak.global.s32 %0, [%1];" : "=r"(x) : "l"(in + t) : "memory");
    CHECK(x == 7 * t);
    asm volatile("ld.relaxed.sys.global.s32 %0, [%1];" : "=r"(x) : "l"(in + t) : "memory");
    CHECK(x == 7 * t);
    asm volatile("ld.volatile.global.s32 %0, [%1];" : "=r"(x) : "l"(in + t) : "memory");
    CHECK(x == 7 * t);
    __threadfence_block();
    __threadfence();
    __threadfence_system();
    asm volatile("fence.acq_rel.cluster; fence.sc.gpu; membar.sys; fence.proxy.alias;" ::: "memory");
    __nanosleep(100);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g1)::"memory");
    CHECK(clock64() > c0 && clock() != c && g1 >= g0);
    out[t] = bad;
}
