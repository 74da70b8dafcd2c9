// mbarrier: phases, states, parity, dropping, transactions; cuda::barrier and its like.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>

#include "check.h"

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void mbar_init(ull *b, unsigned n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(n) : "memory"); }
__device__ ull arrive(ull *b) {
    ull s;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(s) : "r"(shared_address(b)) : "memory");
    return s;
}
__device__ ull arrive(ull *b, unsigned n) {
    ull s;
    asm volatile("mbarrier.arrive.release.cta.shared.b64 %0, [%1], %2;" : "=l"(s) : "r"(shared_address(b)), "r"(n) : "memory");
    return s;
}
__device__ ull arrive_drop(ull *b) {
    ull s;
    asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(s) : "r"(shared_address(b)) : "memory");
    return s;
}
__device__ bool test(ull *b, ull state) {
    unsigned r;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(r) : "r"(shared_address(b)), "l"(state) : "memory");
    return r;
}
__device__ bool test_parity(ull *b, unsigned parity) {
    unsigned r;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(r) : "r"(shared_address(b)), "r"(parity) : "memory");
    return r;
}
__device__ bool try_parity(ull *b, unsigned parity) {
    unsigned r;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cta.shared.b64 p, [%1], %2, 1000; selp.u32 %0, 1, 0, p; }" : "=r"(r) : "r"(shared_address(b)), "r"(parity) : "memory");
    return r;
}
__device__ unsigned pending(ull state) {
    unsigned r;
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(r) : "l"(state));
    return r;
}

// One thread plays all parts.
KERNEL phases(int *out) {
    __shared__ ull b;
    int bad = 0;
    mbar_init(&b, 3);
    CHECK(!test_parity(&b, 0) && test_parity(&b, 1)); // in the first phase; the one "before" is over
    ull s = arrive(&b);
    CHECK(pending(s) == 3 && !test(&b, s)); // the count before the arrival
    ull s2 = arrive(&b);
    CHECK(pending(s2) == 2 && !test(&b, s2));
    ull s3 = arrive(&b);
    CHECK(pending(s3) == 1);
    CHECK(test(&b, s) && test(&b, s2) && test(&b, s3)); // over
    CHECK(test_parity(&b, 0) && !test_parity(&b, 1));
    s = arrive(&b, 2);
    CHECK(!test(&b, s) && pending(s) == 3);
    arrive_drop(&b); // the phase ends; from now on two are expected
    CHECK(test(&b, s) && test_parity(&b, 1));
    s = arrive(&b);
    CHECK(pending(s) == 2 && !test(&b, s));
    arrive(&b);
    CHECK(test(&b, s) && test_parity(&b, 0) && try_parity(&b, 0));
    // transactions hold a phase back
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 100;" ::"r"(shared_address(&b)) : "memory");
    s = arrive(&b, 2);
    CHECK(!test(&b, s));
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 60;" ::"r"(shared_address(&b)) : "memory");
    CHECK(!test(&b, s));
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 40;" ::"r"(shared_address(&b)) : "memory");
    CHECK(test(&b, s));
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %0, [%1], 8;" : "=l"(s) : "r"(shared_address(&b)) : "memory");
    arrive(&b);
    CHECK(!test(&b, s));
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 8;" ::"r"(shared_address(&b)) : "memory");
    CHECK(test(&b, s));
    // arriving without a state, and the object's end
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(&b)) : "memory");
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(shared_address(&b)) : "memory");
    mbar_init(&b, 1);
    CHECK(!test_parity(&b, 0));
    arrive(&b);
    CHECK(test_parity(&b, 0));
    out[0] = bad;
}

// A ring between a producer warp and consumer warps, by parity.
KERNEL ring(int *out) {
    __shared__ ull full[4], empty[4];
    __shared__ int data[4][32];
    int t = threadIdx.x, lane = t % 32, bad = 0;
    if (t < 4) mbar_init(&full[t], 32), mbar_init(&empty[t], 64);
    __syncthreads();
    for (int i = 0; i < 24; i++) {
        int slot = i % 4, parity = i / 4 & 1;
        if (t < 32) {
            while (!try_parity(&empty[slot], parity ^ 1)) {}
            data[slot][lane] = 100 * i + lane;
            arrive(&full[slot]);
        } else {
            while (!try_parity(&full[slot], parity)) {}
            CHECK(data[slot][31 - lane] == 100 * i + 31 - lane);
            arrive(&empty[slot]);
        }
    }
    out[t] = bad;
}

typedef cuda::barrier<cuda::thread_scope_block> barrier;

KERNEL barriers(int *out) {
    __shared__ barrier bar, half;
    __shared__ int data[128], sum;
    int t = threadIdx.x, bad = 0;
    if (t == 0) init(&bar, 128), init(&half, 128), sum = 0;
    __syncthreads();
    for (int i = 0; i < 5; i++) {
        data[t] = t * 7 + i;
        barrier::arrival_token token = bar.arrive();
        atomicAdd(&sum, 1); // work between arriving and waiting
        bar.wait(std::move(token));
        CHECK(data[127 - t] == (127 - t) * 7 + i);
        bar.arrive_and_wait();
        CHECK(sum == 128 * (i + 1));
        bar.arrive_and_wait();
    }
    // half of the threads drop out
    data[t] = -t;
    __syncthreads();
    if (t % 2) {
        half.arrive_and_drop();
    } else {
        half.arrive_and_wait();
        data[t] = 1000 + t;
        half.arrive_and_wait(); // 64 are left
        CHECK(data[126 - t] == 1000 + 126 - t);
        half.wait_parity(true);
    }
    __syncthreads();
    CHECK(data[t] == (t % 2 ? -t : 1000 + t));
    out[t] = bad;
}

// With a completion function, which one thread runs at the end of each phase; between blocks too.
struct Count {
    int *n;
    __device__ void operator()() { *n += 1; }
};
__device__ alignas(64) char grid_storage[256];
__device__ int grid_data[64];

KERNEL completion(int *out) {
    typedef cuda::barrier<cuda::thread_scope_block, Count> counted;
    __shared__ alignas(16) char storage[sizeof(counted)];
    __shared__ int n;
    counted *bar = (counted *)storage;
    int t = threadIdx.x, bad = 0;
    if (t == 0) {
        n = 0;
        init(bar, blockDim.x, Count{&n});
    }
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        bar->arrive_and_wait();
        CHECK(n == i + 1);
        bar->arrive_and_wait();
        bar->arrive_and_wait();
        i += 2;
    }
    out[t] = bad;
}

KERNEL grid_init() { init((cuda::barrier<cuda::thread_scope_device> *)grid_storage, 64); }
KERNEL grid_barrier(int *out) { // four blocks of sixteen
    auto *bar = (cuda::barrier<cuda::thread_scope_device> *)grid_storage;
    int t = blockIdx.x * blockDim.x + threadIdx.x, bad = 0;
    for (int i = 0; i < 3; i++) {
        ((volatile int *)grid_data)[t] = t + 64 * i;
        bar->arrive_and_wait();
        CHECK(((volatile int *)grid_data)[63 - t] == 63 - t + 64 * i);
        bar->arrive_and_wait();
    }
    out[t] = bad;
}

KERNEL latch_semaphore(int *out) {
    __shared__ alignas(64) char ls[sizeof(cuda::latch<cuda::thread_scope_block>)];
    __shared__ alignas(64) char ss[sizeof(cuda::counting_semaphore<cuda::thread_scope_block, 4>)];
    __shared__ int inside, most, data[64];
    auto *l = (cuda::latch<cuda::thread_scope_block> *)ls;
    auto *s = (cuda::counting_semaphore<cuda::thread_scope_block, 4> *)ss;
    int t = threadIdx.x, bad = 0;
    if (t == 0) {
        new (l) cuda::latch<cuda::thread_scope_block>(64);
        new (s) cuda::counting_semaphore<cuda::thread_scope_block, 4>(4);
        inside = most = 0;
    }
    __syncthreads();
    data[t] = t * t;
    l->count_down();
    l->wait();
    CHECK(data[63 - t] == (63 - t) * (63 - t));
    s->acquire(); // at most four at a time
    int n = atomicAdd(&inside, 1) + 1;
    atomicMax(&most, n);
    CHECK(n >= 1 && n <= 4);
    __nanosleep(20);
    atomicSub(&inside, 1);
    s->release();
    __syncthreads();
    CHECK(inside == 0 && most >= 1 && most <= 4);
    out[t] = bad;
}
