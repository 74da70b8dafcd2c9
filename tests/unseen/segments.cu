// Sums of segments of a sorted list of (segment, value): a segmented prefix sum in each warp, one atomic
// where a segment ends.

extern "C" __global__ void segment_sums(int n, const int *segment, const int *value, int *sum) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int g = i < n ? segment[i] : -1, v = i < n ? value[i] : 0;
    for (int d = 1; d < 32; d *= 2) {
        int ov = __shfl_up_sync(~0u, v, d), og = __shfl_up_sync(~0u, g, d);
        if (lane >= d && og == g) v += ov;
    }
    int next = __shfl_down_sync(~0u, g, 1);
    if (g >= 0 && (lane == 31 || next != g)) atomicAdd(&sum[g], v);
}

extern "C" __global__ void segment_largest(int segments, const int *start, const int *value, int *largest) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= segments) return;
    int top = -1;
    for (int i = start[s]; i < start[s + 1]; i++) top = max(top, value[i]);
    largest[s] = top;
}

extern "C" __global__ void segment_mark(int segments, const int *start, int *segment) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= segments) return;
    for (int i = start[s]; i < start[s + 1]; i++) segment[i] = s;
}
