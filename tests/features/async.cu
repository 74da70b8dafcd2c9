// Asynchronous copies to shared memory: cp.async of every size and with zero fill, groups, pipelines,
// memcpy_async of cooperative groups, completion on an mbarrier.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

#include "check.h"

namespace cg = cooperative_groups;

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// in is 0, 1, 2, ... as bytes modulo 251.
template <int N> __device__ int copies(const uint8_t *in) {
    __shared__ __align__(16) uint8_t to[64 * N];
    int t = threadIdx.x, bad = 0;
    unsigned at = shared_address(to + t * N);
    if (N == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(in + (63 - t) * N) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(in + (63 - t) * N), "n"(N) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (int e = 0; e < N; e++) CHECK(to[(63 - t) * N + e] == (t * N + e) % 251);
    __syncthreads();
    // Only `size` bytes are read, the rest is zero.
    for (int e = 0; e < N; e++) to[t * N + e] = 0xee;
    int size = t % (N + 1);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(in + t * N), "n"(N), "r"(size) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int e = 0; e < N; e++) CHECK(to[t * N + e] == (e < size ? (t * N + e) % 251 : 0));
    __syncthreads();
    return bad;
}

KERNEL cp_async(int *out, const uint8_t *in) {
    int bad = copies<4>(in);
    if (!bad) bad = copies<8>(in);
    if (!bad) bad = copies<16>(in);
    // ignore-src and cache hints
    __shared__ __align__(16) uint4 x[64], y[64];
    int t = threadIdx.x;
    x[t] = make_uint4(1, 2, 3, 4);
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, p; }" ::"r"(shared_address(&x[t])), "l"(in + t * 16), "r"(t & 1)
                 : "memory");
    asm volatile("{ .reg .b64 pol; createpolicy.fractional.L2::evict_first.b64 pol, 1.0; cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, pol; }" ::"r"(
                     shared_address(&y[t])),
                 "l"(in + t * 16)
                 : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    uint4 want = *(const uint4 *)(in + t * 16);
    CHECK(y[t].x == want.x && y[t].y == want.y && y[t].z == want.z && y[t].w == want.w);
    if (t & 1) want = make_uint4(0, 0, 0, 0);
    CHECK(x[t].x == want.x && x[t].y == want.y && x[t].z == want.z && x[t].w == want.w);
    out[t] = bad;
}

// Four stages in flight, in the order of their groups.
KERNEL stages(int *out, const int *in) { // in[i] = 3 i + 1
    __shared__ int ring[4][64];
    int t = threadIdx.x, bad = 0, sum = 0;
    auto start = [&](int s) {
        if (s < 16) __pipeline_memcpy_async(&ring[s % 4][t], in + s * 64 + t, 4);
        __pipeline_commit();
    };
    for (int s = 0; s < 3; s++) start(s);
    for (int s = 0; s < 16; s++) {
        start(s + 3);
        __pipeline_wait_prior(3);
        __syncthreads();
        int v = ring[s % 4][63 - t];
        CHECK(v == 3 * (s * 64 + 63 - t) + 1);
        sum += v;
        __syncthreads();
    }
    CHECK(sum == 16 * (3 * (63 - t) + 1) + 3 * 64 * 120);
    out[t] = bad;
}

KERNEL group_copy(int *out, const int *in) {
    __shared__ int all[200];
    __shared__ __align__(16) int parts[4][32];
    cg::thread_block block = cg::this_thread_block();
    int t = threadIdx.x, bad = 0;
    cg::memcpy_async(block, all, in, sizeof all);
    cg::wait(block);
    for (int i = t; i < 200; i += blockDim.x) CHECK(all[i] == 3 * i + 1);
    auto tile = cg::tiled_partition<16>(block); // each tile for itself, 16 bytes at a time
    int w = t / 16;
    cg::memcpy_async(tile, parts[w], in + 32 * w, cuda::aligned_size_t<16>(128));
    cg::wait(tile);
    CHECK(parts[w][t % 16] == 3 * (32 * w + t % 16) + 1 && parts[w][31 - t % 16] == 3 * (32 * w + 31 - t % 16) + 1);
    out[t] = bad;
}

KERNEL pipeline(int *out, const int *in) { // two stages of a block-wide pipeline
    __shared__ int ring[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int t = threadIdx.x, bad = 0;
    for (int s = 0; s < 2; s++) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, ring[s], in + s * 64, sizeof ring[s], pipe);
        pipe.producer_commit();
    }
    for (int s = 0; s < 8; s++) {
        pipe.consumer_wait();
        CHECK(ring[s % 2][63 - t] == 3 * (s * 64 + 63 - t) + 1);
        block.sync();
        pipe.consumer_release();
        pipe.producer_acquire();
        if (s + 2 < 8) cuda::memcpy_async(block, ring[s % 2], in + (s + 2) * 64, sizeof ring[0], pipe);
        pipe.producer_commit();
    }
    // One of a single thread.
    auto mine = cuda::make_pipeline();
    mine.producer_acquire();
    cuda::memcpy_async(&ring[0][t], in + 1000 - t, 4, mine);
    mine.producer_commit();
    mine.consumer_wait();
    CHECK(ring[0][t] == 3 * (1000 - t) + 1);
    mine.consumer_release();
    out[t] = bad;
}

// Two warps produce, two consume.
KERNEL roles(int *out, const int *in) {
    __shared__ int ring[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    int t = threadIdx.x, bad = 0;
    bool produces = t < 64;
    auto pipe = cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    for (int s = 0; s < 8; s++)
        if (produces) {
            pipe.producer_acquire();
            cuda::memcpy_async(&ring[s % 2][t], in + s * 64 + t, 4, pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            CHECK(ring[s % 2][127 - t] == 3 * (s * 64 + 127 - t) + 1);
            pipe.consumer_release();
        }
    out[t] = bad;
}

KERNEL on_barrier(int *out, const int *in) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int data[64];
    __shared__ ull raw;
    auto block = cg::this_thread_block();
    int t = threadIdx.x, bad = 0;
    if (t == 0) {
        init(&bar, blockDim.x);
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(&raw)), "r"(64) : "memory");
    }
    block.sync();
    cuda::memcpy_async(block, data, in + 64, sizeof data, bar);
    bar.arrive_and_wait();
    CHECK(data[63 - t] == 3 * (64 + 63 - t) + 1);
    block.sync();
    // cp.async.mbarrier.arrive.noinc: the copy's arrival is one of the 64.
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(&data[t])), "l"(in + t) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(&raw)) : "memory");
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(shared_address(&raw)) : "memory");
    CHECK(data[63 - t] == 3 * (63 - t) + 1);
    out[t] = bad;
}
