// SPDX-License-Identifier: Apache-2.0
// Online clustering: for one candidate centre after the other, how much would be saved if it were opened; the
// host opens it when that is more than it costs, and the points that gain are moved. Coordinates are whole
// numbers, so all sums are exact. (Rodinia, PARSEC: streamcluster's pgain)

// Coordinate k of point i is at k*n + i.
extern "C" __global__ void sc_gain(int n, int dims, int candidate, const float *point, const float *cost,
                                   float *to, unsigned long long *saved) {
    extern __shared__ float centre[];
    for (int k = threadIdx.x; k < dims; k += blockDim.x) centre[k] = point[k * n + candidate];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned gain = 0;
    if (i < n) {
        float d = 0;
        for (int k = 0; k < dims; k++) {
            float x = point[k * n + i] - centre[k];
            d += x * x;
        }
        to[i] = d;
        if (d < cost[i]) gain = (unsigned)(cost[i] - d);
    }
    gain = __reduce_add_sync(0xffffffff, gain);
    if (threadIdx.x % 32 == 0 && gain > 0) atomicAdd(saved, (unsigned long long)gain);
}

extern "C" __global__ void sc_open(int n, int candidate, const float *to, float *cost, int *assigned) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && to[i] < cost[i]) {
        cost[i] = to[i];
        assigned[i] = candidate;
    }
}
