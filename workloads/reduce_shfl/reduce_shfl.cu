// SPDX-License-Identifier: Apache-2.0
// Sum, minimum and maximum of integers: shuffles and redux inside a warp, one atomic a block at the end.
// (CUDA samples: reduction, warp-level variants)

extern "C" __global__ void reduce_shfl(int n, const int *in, unsigned long long *sum, int *low, int *high) {
    __shared__ long long s_sum[32];
    __shared__ int s_low[32], s_high[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    long long sum_ = 0;
    int low_ = 0x7fffffff, high_ = -0x7fffffff - 1;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int v = in[i];
        sum_ += v;
        low_ = min(low_, v);
        high_ = max(high_, v);
    }
    for (int d = 16; d > 0; d /= 2) sum_ += __shfl_xor_sync(0xffffffff, sum_, d);
    low_ = __reduce_min_sync(0xffffffff, low_);
    high_ = __reduce_max_sync(0xffffffff, high_);
    if (lane == 0) {
        s_sum[warp] = sum_;
        s_low[warp] = low_;
        s_high[warp] = high_;
    }
    __syncthreads();
    if (warp == 0) {
        bool there = lane < blockDim.x / 32;
        sum_ = there ? s_sum[lane] : 0;
        low_ = __reduce_min_sync(0xffffffff, there ? s_low[lane] : 0x7fffffff);
        high_ = __reduce_max_sync(0xffffffff, there ? s_high[lane] : -0x7fffffff - 1);
        for (int d = 16; d > 0; d /= 2) sum_ += __shfl_xor_sync(0xffffffff, sum_, d);
        if (lane == 0) {
            atomicAdd(sum, (unsigned long long)sum_);
            atomicMin(low, low_);
            atomicMax(high, high_);
        }
    }
}
