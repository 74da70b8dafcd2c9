// SPDX-License-Identifier: Apache-2.0
// The record nearest to a place: distances of all records, then the least of each block with its index, by
// shuffles. (Rodinia: nn)

extern "C" __global__ void nn_distance(int n, float lat, float lng, const float2 *record, float *distance) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 p = record[i];
    distance[i] = sqrtf((lat - p.x) * (lat - p.x) + (lng - p.y) * (lng - p.y));
}

extern "C" __global__ void nn_least(int n, const float *distance, int *nearest) {
    __shared__ float s_least[8];
    __shared__ int s_where[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x, where = i;
    float least = i < n ? distance[i] : 3.4e38f;
    for (int d = 16; d > 0; d /= 2) {
        float other = __shfl_down_sync(0xffffffff, least, d);
        int at = __shfl_down_sync(0xffffffff, where, d);
        if (other < least) {
            least = other;
            where = at;
        }
    }
    if (threadIdx.x % 32 == 0) {
        s_least[threadIdx.x / 32] = least;
        s_where[threadIdx.x / 32] = where;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; w++)
            if (s_least[w] < least) {
                least = s_least[w];
                where = s_where[w];
            }
        nearest[blockIdx.x] = where;
    }
}
