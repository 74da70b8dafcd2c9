// SPDX-License-Identifier: Apache-2.0
// Rows of bf16 are added to the rows of a table that an index names, by bulk reductions: each warp has three rows of shared
// memory, loads the next rows while the one before is added. (gradients of an embedding)
#include "../../../workloads/hopper/hopper.cuh"

enum { COLS = 256, BYTES = COLS * 2, WARPS = 4, STAGES = 3 };

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    scatter_add(const uint16_t *rows, const int *index, uint16_t *table, int count) {
    __shared__ __align__(128) uint8_t ring[WARPS][STAGES][BYTES];
    __shared__ uint64_t full[WARPS][STAGES];
    int warp = threadIdx.x / 32, stride = gridDim.x * WARPS, first = blockIdx.x * WARPS + warp;
    uint32_t chosen;
    asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(chosen));
    if (!chosen) return;
    for (int i = 0; i < STAGES; i++) bar_init(shared_at(&full[warp][i]), 1);
    fence_async();
    for (int r = first, i = 0; r < count + 2 * stride; r += stride, i++) {
        if (r < count) {
            int at = i % STAGES;
            uint32_t bar = shared_at(&full[warp][at]);
            store_wait_read<0>(); // what was in this stage has been read
            bar_expect(bar, BYTES);
            load_bytes(shared_at(ring[warp][at]), rows + (size_t)r * COLS, BYTES, bar);
        }
        if (i >= 2 && r - 2 * stride < count) {
            int at = (i - 2) % STAGES;
            bar_wait(shared_at(&full[warp][at]), (i - 2) / STAGES & 1);
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%0], [%1], %2;"
                         ::"l"(table + (size_t)index[r - 2 * stride] * COLS), "r"(shared_at(ring[warp][at])), "r"(BYTES) : "memory");
            store_commit();
        }
    }
    store_wait<0>();
}
