// Thread block clusters: distributed shared memory, the cluster's barrier, remote arrivals, multicast.
#include <cooperative_groups.h>
#include <cstdint>
namespace cg = cooperative_groups;
__device__ uint32_t sa(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ uint32_t map_to(uint32_t a, uint32_t rank) {
    uint32_t r;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(rank));
    return r;
}
__device__ void wait_for(uint64_t *bar, uint32_t parity) {
    uint32_t done = 0;
    while (!done)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(sa(bar)), "r"(parity) : "memory");
}

// Where each block is: 2 x 2 clusters of a 4 x 4 grid.
extern "C" __global__ void __cluster_dims__(2, 2, 1) places(uint32_t *out) {
    uint32_t v[10], n = 0;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(v[n++]));
    asm("mov.u32 %0, %%clusterid.y;" : "=r"(v[n++]));
    asm("mov.u32 %0, %%nclusterid.x;" : "=r"(v[n++]));
    asm("mov.u32 %0, %%nclusterid.y;" : "=r"(v[n++]));
    asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(v[n++]));
    asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(v[n++]));
    asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(v[n++]));
    asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(v[n++]));
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(v[n++]));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(v[n++]));
    if (threadIdx.x < 10) out[(blockIdx.y * gridDim.x + blockIdx.x) * 10 + threadIdx.x] = v[threadIdx.x];
}

// Each block reads what the next of its cluster has put into shared memory.
extern "C" __global__ void __cluster_dims__(4, 1, 1) ring(uint32_t *out) {
    __shared__ uint32_t own[128];
    cg::cluster_group c = cg::this_cluster();
    own[threadIdx.x] = blockIdx.x * 1000 + threadIdx.x;
    c.sync();
    uint32_t *next = c.map_shared_rank(own, (c.block_rank() + 1) % 4);
    out[blockIdx.x * 128 + threadIdx.x] = next[127 - threadIdx.x];
    c.sync();
}

// All blocks count in the first one's shared memory.
extern "C" __global__ void __cluster_dims__(8, 1, 1) count(const uint32_t *in, uint32_t *out) {
    __shared__ uint32_t bins[16];
    cg::cluster_group c = cg::this_cluster();
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    c.sync();
    uint32_t *all = c.map_shared_rank(bins, 0);
    atomicAdd(&all[in[blockIdx.x * blockDim.x + threadIdx.x] % 16], 1);
    c.sync();
    if (c.block_rank() == 0 && threadIdx.x < 16) out[blockIdx.x / 8 * 16 + threadIdx.x] = bins[threadIdx.x];
}

// Values go to the other block of a pair with st.async, which counts bytes at its mbarrier; sums with red.async.
extern "C" __global__ void __cluster_dims__(2, 1, 1) exchange(const uint32_t *in, uint32_t *out) {
    __shared__ __align__(16) uint32_t got[128];
    __shared__ uint32_t sum;
    __shared__ uint64_t bar;
    cg::cluster_group c = cg::this_cluster();
    uint32_t t = threadIdx.x, other = c.block_rank() ^ 1;
    if (t == 0) {
        sum = 0;
        asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(sa(&bar)) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(sa(&bar)), "r"(128 * 8) : "memory");
    }
    c.sync();
    uint32_t v = in[blockIdx.x * 128 + t];
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(map_to(sa(&got[127 - t]), other)), "r"(v), "r"(map_to(sa(&bar), other)) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(map_to(sa(&sum), other)), "r"(v), "r"(map_to(sa(&bar), other)) : "memory");
    wait_for(&bar, 0);
    out[blockIdx.x * 129 + t] = got[t];
    if (t == 0) out[blockIdx.x * 129 + 128] = sum;
    c.sync();
}

// The first block of each cluster loads for all of it; a second phase is counted by remote arrivals.
extern "C" __global__ void __cluster_dims__(4, 1, 1) multicast(const uint32_t *in, uint32_t *out) {
    __shared__ __align__(128) uint32_t got[256];
    __shared__ uint64_t bar, all;
    cg::cluster_group c = cg::this_cluster();
    uint32_t t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(sa(&bar)) : "memory");
        asm volatile("mbarrier.init.shared.b64 [%0], 4;\nfence.mbarrier_init.release.cluster;" ::"r"(sa(&all)) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(sa(&bar)), "r"(1024) : "memory");
    }
    c.sync();
    if (t == 0 && c.block_rank() == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 1024, [%2], %3;" ::"r"(sa(got)), "l"(in + blockIdx.x / 4 * 256), "r"(sa(&bar)), "h"((uint16_t)15) : "memory");
    wait_for(&bar, 0);
    uint32_t v = got[t] + got[t + 128];
    if (t < 4) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(map_to(sa(&all), t)) : "memory");
    wait_for(&all, 0);
    out[blockIdx.x * 128 + t] = v * (c.block_rank() + 1);
    c.sync();
}

// Of a generic address of a block's shared memory in the cluster: is it the thread block's own (bit 0), the cluster's
// (bit 1)? And of one of global memory (bits 2, 3).
extern "C" __global__ void __cluster_dims__(4, 1, 1) spaces(uint32_t *out) {
    __shared__ uint32_t here;
    cg::cluster_group c = cg::this_cluster();
    here = threadIdx.x;
    c.sync();
    uint32_t found = 0, bit;
    const void *at[] = {c.map_shared_rank(&here, threadIdx.x % 4), out};
    for (int n = 0; n < 2; n++) {
        asm volatile("{ .reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(bit) : "l"(at[n]));
        found |= bit << 2 * n;
        asm volatile("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 2, 0, p; }" : "=r"(bit) : "l"(at[n]));
        found |= bit << 2 * n;
    }
    out[blockIdx.x * 32 + threadIdx.x] = found;
    c.sync();
}
