// SPDX-License-Identifier: Apache-2.0
// Tracking a disc through noisy frames with a particle filter: make the frame, move the particles and weigh
// them by the pixels around them, prefix sums of the weights in one block, systematic resampling by binary
// search. In whole numbers, so that every GPU draws the same particles. (Rodinia: particlefilter)

static __device__ unsigned mix(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

extern "C" __global__ void pf_frame(int size, int frame, unsigned char *image) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= size || y >= size) return;
    int dx = x - (size / 4 + 2 * frame), dy = y - (size / 3 + frame);
    int noise = mix((frame * size + y) * size + x) % 60;
    image[y * size + x] = dx * dx + dy * dy <= 36 ? 228 - noise : 100 + noise;
}

extern "C" __global__ void pf_weigh(int n, int size, int frame, const unsigned char *image, int *px, int *py,
                                    unsigned *weight) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned u = mix(frame * n + i + 12345);
    int x = px[i] + 2 + (int)(u % 7) - 3, y = py[i] + 1 + (int)(u / 7 % 7) - 3;
    px[i] = x;
    py[i] = y;
    int sum = 0;
    for (int dy = -6; dy <= 6; dy++)
        for (int dx = -6; dx <= 6; dx++) {
            if (dx * dx + dy * dy > 36) continue;
            int at = min(max(y + dy, 0), size - 1) * size + min(max(x + dx, 0), size - 1), v = image[at];
            sum += ((v - 100) * (v - 100) - (v - 228) * (v - 228)) / 50;
        }
    int likely = max(sum / 64, 0);
    weight[i] = 1 + likely * likely;
}

// One block: each of 1024 threads has a piece of the particles.
extern "C" __global__ void pf_sum(int n, const unsigned *weight, unsigned long long *upto) {
    __shared__ unsigned long long s[1024];
    int t = threadIdx.x, piece = (n + 1023) / 1024, from = min(t * piece, n), to = min(from + piece, n);
    unsigned long long sum = 0;
    for (int i = from; i < to; i++) sum += weight[i];
    s[t] = sum;
    for (int d = 1; d < 1024; d *= 2) {
        __syncthreads();
        unsigned long long v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
    }
    sum = s[t] - sum;
    for (int i = from; i < to; i++) upto[i] = sum += weight[i];
}

extern "C" __global__ void pf_resample(int n, int frame, const unsigned long long *upto, const int *px,
                                       const int *py, int *nx, int *ny) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long total = upto[n - 1], at = (total * i + mix(frame) % total) / n;
    int lo = 0, hi = n - 1; // the first particle whose sum is over `at`
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (upto[mid] > at)
            hi = mid;
        else
            lo = mid + 1;
    }
    nx[i] = px[lo];
    ny[i] = py[lo];
}
