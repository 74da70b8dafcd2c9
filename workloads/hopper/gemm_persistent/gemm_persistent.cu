// SPDX-License-Identifier: Apache-2.0
// C = A B^T, bf16 in and out, by blocks that stay: clusters of two take one pair of tiles of C after the other, one tile above
// the other. Both blocks need the same tile of B; each asks for half of it and has it sent to both (multicast). A producer warp
// runs ahead over the tiles' borders, two groups of warps multiply, and each group stores its 64 rows with stmatrix and a
// tensor copy while the producer loads for the next tile. m is a multiple of 256, n of 128, k of 64. (CUTLASS's persistent
// cooperative GEMM)

#include "../hopper.cuh"
#include <cuda_bf16.h>

enum { TILE = 128, DEPTH = 64, STAGES = 4, HALF = TILE * DEPTH * 2, STAGE = 2 * HALF, OUT = 64 * TILE * 2 };

DEVICE void store_matrices(uint32_t to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
}
DEVICE uint32_t pack(float x, float y) {
    __nv_bfloat162 v = __floats2bfloat162_rn(x, y);
    return *(uint32_t *)&v;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384)
    gemm_persistent(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,
                    const __grid_constant__ tensor_map map_c, int m, int n, int k) {
    extern __shared__ __align__(1024) uint8_t tiles[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int t = threadIdx.x % 128, group = threadIdx.x / 128 - 1, steps = k / DEPTH;
    int across = n / TILE, pairs = across * (m / TILE / 2), clusters = gridDim.x / 2, first = blockIdx.x / 2;
    uint32_t me = cluster_rank();
    if (threadIdx.x == 0) {
        prefetch_map(&map_a);
        prefetch_map(&map_b);
        for (int i = 0; i < STAGES; i++) {
            bar_init(shared_at(&full[i]), 1);
            bar_init(shared_at(&empty[i]), 4); // two groups of each block
        }
        fence_bar_init();
    }
    cluster_sync();
    if (group < 0) {
        registers_down<40>();
        if (t == 0) {
            int at = 0, phase = 1;
            for (int p = first; p < pairs; p += clusters) {
                int row0 = (p / across * 2 + me) * TILE, col0 = p % across * TILE;
                for (int i = 0; i < steps; i++) {
                    uint32_t bar = shared_at(&full[at]), to = shared_at(tiles) + at * STAGE;
                    bar_wait(shared_at(&empty[at]), phase);
                    bar_expect(bar, STAGE);
                    load_tile(to, &map_a, bar, i * DEPTH, row0);
                    load_tile_to(to + HALF + me * (HALF / 2), &map_b, bar, i * DEPTH, col0 + me * (TILE / 2), 3);
                    if (++at == STAGES) at = 0, phase ^= 1;
                }
            }
        }
    } else {
        registers_up<232>();
        uint32_t out = shared_at(tiles) + STAGES * STAGE + group * OUT;
        int at = 0, phase = 0;
        for (int p = first; p < pairs; p += clusters) {
            float d[64];
            for (int i = 0; i < steps; i++) {
                uint32_t from = shared_at(tiles) + at * STAGE;
                bar_wait(shared_at(&full[at]), phase);
                uint64_t a = matrix(from + group * (HALF / 2)), b = matrix(from + HALF);
                mma_begin();
#pragma unroll
                for (int j = 0; j < DEPTH / 16; j++) mma_bf16_128(d, a + j * 2, b + j * 2, i + j > 0);
                mma_commit();
                mma_wait<0>();
                if (t < 2) bar_arrive_at(shared_at(&empty[at]), t);
                if (++at == STAGES) at = 0, phase ^= 1;
            }
            mma_hold(d);
            if (t == 0) store_wait_read<0>(); // the tile before has left shared memory
            named_sync(1 + group, 128);
            // Two boxes of 64 columns. A lane says where row `lane % 16` of a 16x16 piece is, left or right half.
            int row = t / 32 * 16 + t % 16, side = t / 16 % 2;
#pragma unroll
            for (int j = 0; j < TILE / 16; j++) {
                uint32_t chunk = j % 4 * 2 + side;
                store_matrices(out + j / 4 * (OUT / 2) + row * 128 + (chunk ^ row % 8) * 16, pack(d[j * 8], d[j * 8 + 1]),
                               pack(d[j * 8 + 2], d[j * 8 + 3]), pack(d[j * 8 + 4], d[j * 8 + 5]),
                               pack(d[j * 8 + 6], d[j * 8 + 7]));
            }
            fence_async_shared();
            named_sync(1 + group, 128);
            if (t == 0) {
                int row0 = (p / across * 2 + me) * TILE + group * 64, col0 = p % across * TILE;
                store_tile(&map_c, out, col0, row0);
                store_tile(&map_c, out + OUT / 2, col0 + 64, row0);
                store_commit();
            }
        }
        if (t == 0) store_wait<0>();
    }
    cluster_sync(); // neither block may end while the other sends to it
}
