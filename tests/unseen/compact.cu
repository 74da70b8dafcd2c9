// Keep what is above a limit: in order (counts, offsets of blocks by one block, ballots), and in any order
// with one atomic a warp.

extern "C" __global__ void compact_count(int n, int limit, const int *x, int *count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int c = __syncthreads_count(i < n && x[i] > limit);
    if (threadIdx.x == 0) count[blockIdx.x] = c;
}

extern "C" __global__ void compact_offsets(int blocks,
                                           int *count) { // one block of 1024, a Hillis-Steele scan a chunk
    __shared__ int s[1024];
    int carry = 0;
    for (int base = 0; base < blocks; base += 1024) {
        int i = base + threadIdx.x, v = i < blocks ? count[i] : 0;
        s[threadIdx.x] = v;
        __syncthreads();
        for (int d = 1; d < 1024; d *= 2) {
            int o = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
            __syncthreads();
            s[threadIdx.x] += o;
            __syncthreads();
        }
        if (i < blocks) count[i] = carry + s[threadIdx.x] - v;
        carry += s[1023];
        __syncthreads();
    }
}

extern "C" __global__ void compact_keep(int n, int limit, const int *x, const int *offset, int *out) {
    __shared__ int warp[8];
    int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32, w = threadIdx.x / 32;
    int v = i < n ? x[i] : limit;
    unsigned kept = __ballot_sync(~0u, v > limit);
    if (lane == 0) warp[w] = __popc(kept);
    __syncthreads();
    int at = offset[blockIdx.x] + __popc(kept & ((1u << lane) - 1));
    for (int k = 0; k < w; k++) at += warp[k];
    if (v > limit) out[at] = v;
}

extern "C" __global__ void compact_any(int n, int limit, const int *x, int *fill, int *out) {
    int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32;
    int v = i < n ? x[i] : limit, at = 0;
    unsigned kept = __ballot_sync(~0u, v > limit);
    if (kept && lane == __ffs(kept) - 1) at = atomicAdd(fill, __popc(kept));
    at = __shfl_sync(~0u, at, __ffs(kept) - 1);
    if (v > limit) out[at + __popc(kept & ((1u << lane) - 1))] = v;
}
