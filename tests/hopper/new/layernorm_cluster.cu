// SPDX-License-Identifier: Apache-2.0
// Layer normalisation of long rows, a cluster of four blocks a row: each block keeps a quarter in registers and sends its sums
// to all four with st.async, first for the mean, then for the variance.
#include "../../../workloads/hopper/hopper.cuh"

enum { BLOCKS = 4, THREADS = 256, EACH = 8 };

DEVICE float over_cluster(float x, float *inner, float *slots, uint64_t *bar, uint32_t phase) { // of all threads of all blocks
    int t = threadIdx.x;
    for (int o = 16; o > 0; o /= 2) x += __shfl_xor_sync(~0u, x, o);
    if (t % 32 == 0) inner[t / 32] = x;
    __syncthreads();
    if (t < BLOCKS) {
        x = 0;
        for (int i = 0; i < THREADS / 32; i++) x += inner[i];
        uint32_t to = map_to(shared_at(slots + cluster_rank()), t), at = map_to(shared_at(bar), t);
        if (t == 0) bar_expect(shared_at(bar), BLOCKS * 4);
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to), "r"(__float_as_uint(x)), "r"(at) : "memory");
    }
    bar_wait(shared_at(bar), phase);
    return slots[0] + slots[1] + slots[2] + slots[3];
}
extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(THREADS)
    layernorm_cluster(const float *x, const float *gain, const float *shift, float *y, int n) {
    __shared__ float inner[THREADS / 32], slots[2][BLOCKS];
    __shared__ uint64_t bars[2];
    int t = threadIdx.x, col = cluster_rank() * (n / BLOCKS) + t;
    size_t row = (size_t)(blockIdx.x / BLOCKS) * n;
    float v[EACH], sum = 0, squares = 0; // n is at most 4 x 256 x 8
    if (t == 0) {
        bar_init(shared_at(&bars[0]), 1), bar_init(shared_at(&bars[1]), 1);
        fence_bar_init();
    }
    cluster_sync();
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        v[i] = t + i * THREADS < n / BLOCKS ? x[row + col + i * THREADS] : 0;
        sum += v[i];
    }
    float mean = over_cluster(sum, inner, slots[0], &bars[0], 0) / n;
#pragma unroll
    for (int i = 0; i < EACH; i++)
        if (t + i * THREADS < n / BLOCKS) squares += (v[i] - mean) * (v[i] - mean);
    float scale = rsqrtf(over_cluster(squares, inner, slots[1], &bars[1], 0) / n + 1e-5f);
#pragma unroll
    for (int i = 0; i < EACH; i++)
        if (t + i * THREADS < n / BLOCKS) y[row + col + i * THREADS] = (v[i] - mean) * scale * gain[col + i * THREADS] + shift[col + i * THREADS];
    cluster_sync(); // nobody leaves while others send to it
}
