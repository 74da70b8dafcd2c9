// One pass of a radix sort by four bits, stable: counts of each block, their prefix sums by one block, and
// the scatter, with ranks within a warp found by matching.

extern "C" __global__ void radix_count(int n, int shift, const unsigned *key, unsigned *count) {
    __shared__ unsigned bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) atomicAdd(&bins[key[i] >> shift & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) count[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(1024) radix_scan(int n, unsigned *count) {
    __shared__ unsigned warp[32];
    int lane = threadIdx.x % 32, w = threadIdx.x / 32;
    unsigned carry = 0;
    for (int base = 0; base < n; base += 1024) {
        int i = base + threadIdx.x;
        unsigned v = i < n ? count[i] : 0, s = v;
        for (int d = 1; d < 32; d *= 2) {
            unsigned o = __shfl_up_sync(~0u, s, d);
            if (lane >= d) s += o;
        }
        if (lane == 31) warp[w] = s;
        __syncthreads();
        if (w == 0) {
            unsigned t = warp[lane];
            for (int d = 1; d < 32; d *= 2) {
                unsigned o = __shfl_up_sync(~0u, t, d);
                if (lane >= d) t += o;
            }
            warp[lane] = t;
        }
        __syncthreads();
        if (i < n) count[i] = carry + (w ? warp[w - 1] : 0) + s - v;
        carry += warp[31];
        __syncthreads();
    }
}

extern "C" __global__ void radix_scatter(int n, int shift, const unsigned *key, const unsigned *start,
                                         unsigned *out) {
    __shared__ unsigned before[8][16];
    int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32, w = threadIdx.x / 32;
    if (threadIdx.x < 128) before[threadIdx.x / 16][threadIdx.x % 16] = 0;
    __syncthreads();
    unsigned k = i < n ? key[i] : 0, digit = i < n ? k >> shift & 15 : 16;
    unsigned same = __match_any_sync(~0u, digit), rank = __popc(same & ((1u << lane) - 1));
    if (rank == 0 && i < n) before[w][digit] = __popc(same);
    __syncthreads();
    if (i >= n) return;
    unsigned at = start[digit * gridDim.x + blockIdx.x] + rank;
    for (int v = 0; v < w; v++) at += before[v][digit];
    out[at] = k;
}
