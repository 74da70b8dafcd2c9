// SPDX-License-Identifier: Apache-2.0
// y = A x, A of bf16 by rows, x and y f32. Four rows a block; their next 512 columns come by bulk copies of 1 KB, five stages
// deep, which L2 need not keep; x by one bulk copy. A warp has a row. (single-token layers)
#include "../../../workloads/hopper/hopper.cuh"
#include <cuda_bf16.h>

enum { ROWS = 4, COLS = 512, STAGES = 5, BYTES = COLS * 2, STAGE = ROWS * BYTES };

extern "C" __global__ void __launch_bounds__(160) gemv_bulk(const __nv_bfloat16 *a, const float *x, float *y, int m, int k) {
    extern __shared__ __align__(128) uint8_t bytes[]; // the ring, then x
    __shared__ uint64_t full[STAGES], empty[STAGES], x_full;
    int t = threadIdx.x, warp = t / 32, lane = t % 32, steps = k / COLS;
    const float *xs = (const float *)(bytes + STAGES * STAGE);
    if (t == 0) {
        for (int i = 0; i < STAGES; i++) bar_init(shared_at(&full[i]), 1), bar_init(shared_at(&empty[i]), ROWS);
        bar_init(shared_at(&x_full), 1);
        fence_async();
    }
    __syncthreads();
    if (warp == ROWS) {
        if (lane) return;
        uint64_t policy;
        asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
        bar_expect(shared_at(&x_full), k * 4);
        load_bytes(shared_at(xs), x, k * 4, shared_at(&x_full));
        for (int i = 0; i < steps; i++) {
            int at = i % STAGES;
            uint32_t bar = shared_at(&full[at]);
            bar_wait(shared_at(&empty[at]), (i / STAGES + 1) & 1);
            bar_expect(bar, STAGE);
            for (int r = 0; r < ROWS; r++)
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
                             ::"r"(shared_at(bytes) + at * STAGE + r * BYTES), "l"(a + (size_t)(blockIdx.x * ROWS + r) * k + i * COLS), "r"(BYTES), "r"(bar), "l"(policy) : "memory");
        }
        return;
    }
    float sum = 0;
    bar_wait(shared_at(&x_full), 0);
    for (int i = 0; i < steps; i++) {
        int at = i % STAGES;
        bar_wait(shared_at(&full[at]), i / STAGES & 1);
        const uint4 *row = (const uint4 *)(bytes + at * STAGE + warp * BYTES);
#pragma unroll
        for (int j = 0; j < COLS / 256; j++) {
            uint4 v = row[j * 32 + lane];
            const __nv_bfloat162 *p = (const __nv_bfloat162 *)&v;
            const float4 *f = (const float4 *)(xs + i * COLS + (j * 32 + lane) * 8);
            float4 lo = f[0], hi = f[1];
            float2 q0 = __bfloat1622float2(p[0]), q1 = __bfloat1622float2(p[1]), q2 = __bfloat1622float2(p[2]), q3 = __bfloat1622float2(p[3]);
            sum += q0.x * lo.x + q0.y * lo.y + q1.x * lo.z + q1.y * lo.w + q2.x * hi.x + q2.y * hi.y + q3.x * hi.z + q3.y * hi.w;
        }
        __syncwarp();
        if (lane == 0) bar_arrive(shared_at(&empty[at]));
    }
    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
    if (lane == 0) y[blockIdx.x * ROWS + warp] = sum;
}
