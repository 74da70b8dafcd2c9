// SPDX-License-Identifier: Apache-2.0
// Sum and largest of rows, a cluster of eight blocks to a row: a block adds up its part with shuffles and sends what it has
// to the first block's shared memory with stores that complete a transaction of its mbarrier (st.async).

#include "../hopper.cuh"

enum { BLOCKS = 8, THREADS = 256 };

DEVICE void send(uint32_t to, uint32_t bar, unsigned v) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(to), "r"(v), "r"(bar)
                 : "memory");
}

extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(THREADS)
    reduce_cluster(const uint4 *in, int quads, unsigned *sums, unsigned *most) {
    __shared__ unsigned warp_sums[THREADS / 32], warp_most[THREADS / 32];
    __shared__ unsigned got[2][BLOCKS];
    __shared__ uint64_t full;
    int t = threadIdx.x, row = blockIdx.x / BLOCKS;
    uint32_t me = cluster_rank();
    if (t == 0) {
        bar_init(shared_at(&full), 1);
        fence_bar_init();
        if (me == 0) bar_expect(shared_at(&full), 2 * BLOCKS * 4);
    }
    cluster_sync();
    unsigned sum = 0, top = 0;
    for (int i = me * THREADS + t; i < quads; i += BLOCKS * THREADS) {
        uint4 v = in[(size_t)row * quads + i];
        sum += v.x + v.y + v.z + v.w;
        top = max(max(top, max(v.x, v.y)), max(v.z, v.w));
    }
    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
    top = __reduce_max_sync(~0u, top);
    if (t % 32 == 0) {
        warp_sums[t / 32] = sum;
        warp_most[t / 32] = top;
    }
    __syncthreads();
    if (t == 0) {
        for (int i = 1; i < THREADS / 32; i++) {
            sum += warp_sums[i];
            top = max(top, warp_most[i]);
        }
        uint32_t bar = map_to(shared_at(&full), 0);
        send(map_to(shared_at(&got[0][me]), 0), bar, sum);
        send(map_to(shared_at(&got[1][me]), 0), bar, top);
    }
    if (me == 0 && t < 32) {
        bar_wait(shared_at(&full), 0);
        sum = __reduce_add_sync(~0u, t < BLOCKS ? got[0][t] : 0);
        top = __reduce_max_sync(~0u, t < BLOCKS ? got[1][t] : 0);
        if (t == 0) {
            sums[row] = sum;
            most[row] = top;
        }
    }
    cluster_sync(); // the first block's shared memory is there until all have sent
}
