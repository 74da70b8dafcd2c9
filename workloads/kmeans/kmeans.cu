// SPDX-License-Identifier: Apache-2.0
// k-means: a point a thread finds the nearest centre, the sums of each cluster are added up with integer
// atomics (features are whole numbers, so that the order does not matter), then new centres. The host repeats
// until few points move. (Rodinia: kmeans)

// Feature f of point i is at f*n + i. The multiply-adds are spelled out: a result depends on every rounding.
extern "C" __global__ void kmeans_assign(int n, int features, int k, const float *point, const float *centre,
                                         int *member, int *moved) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int best = 0;
    float least = 3.4e38f;
    for (int c = 0; c < k; c++) {
        float d = 0;
        for (int f = 0; f < features; f++) {
            float x = point[f * n + i] - centre[c * features + f];
            d = __fmaf_rn(x, x, d);
        }
        if (d < least) {
            least = d;
            best = c;
        }
    }
    if (member[i] != best) {
        member[i] = best;
        atomicAdd(moved, 1);
    }
}

extern "C" __global__ void kmeans_sum(int n, int features, const float *point, const int *member,
                                      unsigned *sum, unsigned *count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int c = member[i];
    atomicAdd(&count[c], 1);
    for (int f = 0; f < features; f++) atomicAdd(&sum[c * features + f], (unsigned)point[f * n + i]);
}

// New centres; clears the sums for the next round.
extern "C" __global__ void kmeans_centre(int features, int k, unsigned *sum, unsigned *count, float *centre) {
    int c = blockIdx.x, f = threadIdx.x;
    unsigned s = sum[c * features + f], m = count[c];
    if (m > 0) centre[c * features + f] = (float)s / (float)m;
    sum[c * features + f] = 0;
    __syncthreads();
    if (f == 0) count[c] = 0;
}
