// SPDX-License-Identifier: Apache-2.0
// out = in^T in boxes of 32x32 floats: tensor copies bring a box and take it away, threads turn it in shared memory. Rows of a
// box are 128 bytes, swizzled by the copies, so that a column is spread over eight banks' groups. A block turns four
// boxes of a row of boxes, all asked for at once.

#include "../hopper.cuh"

enum { SIDE = 32, BOX = SIDE * SIDE * 4, BOXES = 4 };

DEVICE int place(int row, int col) { return row * SIDE + (((col / 4) ^ (row % 8)) * 4 | col % 4); }

extern "C" __global__ void __launch_bounds__(256)
    tma_transpose(const __grid_constant__ tensor_map map_in, const __grid_constant__ tensor_map map_out) {
    __shared__ __align__(1024) float in[BOXES][SIDE * SIDE], out[BOXES][SIDE * SIDE];
    __shared__ uint64_t full[BOXES];
    int t = threadIdx.x, x0 = blockIdx.x * BOXES * SIDE, y0 = blockIdx.y * SIDE;
    if (t == 0) {
        for (int i = 0; i < BOXES; i++) bar_init(shared_at(&full[i]), 1);
        fence_async();
        for (int i = 0; i < BOXES; i++) {
            bar_expect(shared_at(&full[i]), BOX);
            load_tile(shared_at(in[i]), &map_in, shared_at(&full[i]), x0 + i * SIDE, y0);
        }
    }
    __syncthreads();
    for (int i = 0; i < BOXES; i++) {
        bar_wait(shared_at(&full[i]), 0);
        for (int row = t / 32; row < SIDE; row += 8) out[i][place(row, t % 32)] = in[i][place(t % 32, row)];
        fence_async_shared();
        __syncthreads();
        if (t == 0) {
            store_tile(&map_out, shared_at(out[i]), y0, x0 + i * SIDE);
            store_commit();
        }
    }
    if (t == 0) store_wait<0>();
}
