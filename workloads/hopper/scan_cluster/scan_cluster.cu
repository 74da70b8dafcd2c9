// SPDX-License-Identifier: Apache-2.0
// Prefix sums of rows, a cluster of eight blocks to a row of 8 x 2,048 elements: a block scans its part, writes its total into
// the shared memory of every block behind it, and after the cluster's barrier adds what those in front had. A second kernel
// does not run: rows are independent.

#include "../hopper.cuh"

enum { BLOCKS = 8, THREADS = 512, EACH = 4 };

DEVICE unsigned scan_warp(unsigned v) {
#pragma unroll
    for (int o = 1; o < 32; o *= 2) {
        unsigned u = __shfl_up_sync(~0u, v, o);
        if (threadIdx.x % 32 >= o) v += u;
    }
    return v;
}

extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(THREADS) scan_cluster(const uint4 *in, uint4 *out) {
    __shared__ unsigned warp_totals[THREADS / 32], before[BLOCKS];
    int t = threadIdx.x, warp = t / 32;
    uint32_t me = cluster_rank();
    size_t at = (size_t)blockIdx.x * THREADS + t;
    uint4 v = in[at];
    v.y += v.x;
    v.z += v.y;
    v.w += v.z;
    unsigned sum = scan_warp(v.w), mine = sum - v.w;
    if (t % 32 == 31) warp_totals[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        unsigned w = t < THREADS / 32 ? warp_totals[t] : 0, s = scan_warp(w);
        if (t < THREADS / 32) warp_totals[t] = s - w;
        unsigned total = __shfl_sync(~0u, s, THREADS / 32 - 1);
        if (t > me && t < BLOCKS)
            asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(map_to(shared_at(&before[me]), t)), "r"(total) : "memory");
    }
    cluster_sync();
    mine += warp_totals[warp];
    for (uint32_t i = 0; i < me; i++) mine += before[i];
    out[at] = make_uint4(v.x + mine, v.y + mine, v.z + mine, v.w + mine);
}
