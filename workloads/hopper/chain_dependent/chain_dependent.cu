// SPDX-License-Identifier: Apache-2.0
// A chain of short kernels as a decoder has between its products: rows are normalised by the root of their mean square, then
// gated and added to what there was. Each kernel says that the next may be started (griddepcontrol.launch_dependents), loads
// its weights, and waits for the kernel before it (griddepcontrol.wait) just ahead of the first value it needs from there.

#include <cstdint>

static __device__ __forceinline__ void next_may_start() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
static __device__ __forceinline__ void wait_for_previous() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

enum { THREADS = 256 };

// y = x / sqrt(mean of x^2 + small) * weight, a block a row
extern "C" __global__ void __launch_bounds__(THREADS) chain_norm(const float *x, const float *weight, float *y, int n) {
    __shared__ float part[THREADS / 32];
    int t = threadIdx.x;
    next_may_start();
    float w[4], v[4], sum = 0; // n is at most 4 x THREADS
#pragma unroll
    for (int i = 0; i < 4; i++) w[i] = t + i * THREADS < n ? weight[t + i * THREADS] : 0;
    wait_for_previous();
    const float *row = x + (size_t)blockIdx.x * n;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        v[i] = t + i * THREADS < n ? row[t + i * THREADS] : 0;
        sum += v[i] * v[i];
    }
    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
    if (t % 32 == 0) part[t / 32] = sum;
    __syncthreads();
    sum = 0;
#pragma unroll
    for (int i = 0; i < THREADS / 32; i++) sum += part[i];
    float scale = rsqrtf(sum / n + 1e-5f);
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (t + i * THREADS < n) y[(size_t)blockIdx.x * n + t + i * THREADS] = v[i] * scale * w[i];
}

// x += y * gate / (1 + exp(-y * gate))
extern "C" __global__ void __launch_bounds__(THREADS) chain_gate(const float *y, const float *gate, float *x, int n) {
    int col = threadIdx.x + blockIdx.y * THREADS;
    size_t at = (size_t)blockIdx.x * n + col;
    next_may_start();
    float g = col < n ? gate[col] : 0;
    wait_for_previous();
    if (col >= n) return;
    float v = y[at] * g;
    x[at] += v / (1 + __expf(-v));
}
