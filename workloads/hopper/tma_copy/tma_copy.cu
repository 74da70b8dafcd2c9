// SPDX-License-Identifier: Apache-2.0
// out = in by tensor copies alone: a block of one warp moves boxes of 64x32 floats through four stages of shared memory, and
// its one busy thread never touches a value. Blocks take boxes in turn.

#include "../hopper.cuh"

enum { WIDE = 64, HIGH = 32, STAGES = 4, BOX = WIDE * HIGH * 4 };

extern "C" __global__ void __launch_bounds__(32)
    tma_copy(const __grid_constant__ tensor_map from, const __grid_constant__ tensor_map to, int across, int boxes) {
    extern __shared__ __align__(1024) uint8_t stages[];
    __shared__ uint64_t full[STAGES];
    if (threadIdx.x != 0) return;
    for (int i = 0; i < STAGES; i++) bar_init(shared_at(&full[i]), 1);
    fence_async();
    int mine = (boxes - blockIdx.x + gridDim.x - 1) / gridDim.x;
    auto fetch = [&](int i) {
        int box = blockIdx.x + i * gridDim.x;
        uint32_t bar = shared_at(&full[i % STAGES]);
        bar_expect(bar, BOX);
        load_tile(shared_at(stages) + i % STAGES * BOX, &from, bar, box % across * WIDE, box / across * HIGH);
    };
    for (int i = 0; i < STAGES - 1 && i < mine; i++) fetch(i);
    for (int i = 0; i < mine; i++) {
        int box = blockIdx.x + i * gridDim.x;
        bar_wait(shared_at(&full[i % STAGES]), i / STAGES & 1);
        store_tile(&to, shared_at(stages) + i % STAGES * BOX, box % across * WIDE, box / across * HIGH);
        store_commit();
        store_wait_read<1>(); // the store before has left its stage
        if (i + STAGES - 1 < mine) fetch(i + STAGES - 1);
    }
    store_wait<0>();
}
