// SPDX-License-Identifier: Apache-2.0
// Speckle-reducing anisotropic diffusion: the statistics of a region, the diffusion coefficient of every
// pixel, the update. (Rodinia: srad_v2, with the region's statistics on the GPU)

extern "C" __global__ void srad_sums(int n, const float *image, float *sums) {
    __shared__ float s[256], s2[256];
    int t = threadIdx.x;
    float a = 0, b = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        float v = image[i];
        a += v;
        b += v * v;
    }
    s[t] = a;
    s2[t] = b;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) {
            s[t] += s[t + half];
            s2[t] += s2[t + half];
        }
    }
    if (t == 0) {
        sums[2 * blockIdx.x] = s[0];
        sums[2 * blockIdx.x + 1] = s2[0];
    }
}

extern "C" __global__ void srad_q0(int n, int blocks, const float *sums, float *q0) {
    float a = 0, b = 0; // one warp
    for (int i = threadIdx.x; i < blocks; i += 32) {
        a += sums[2 * i];
        b += sums[2 * i + 1];
    }
    for (int d = 16; d > 0; d /= 2) {
        a += __shfl_down_sync(0xffffffff, a, d);
        b += __shfl_down_sync(0xffffffff, b, d);
    }
    if (threadIdx.x == 0) {
        float mean = a / n, var = b / n - mean * mean;
        *q0 = var / (mean * mean);
    }
}

extern "C" __global__ void srad_coefficient(int rows, int cols, const float *q0_, const float *image,
                                            float *c) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= cols || y >= rows) return;
    int at = y * cols + x;
    float v = image[at], q0 = *q0_;
    float n = (y > 0 ? image[at - cols] : v) - v, s = (y < rows - 1 ? image[at + cols] : v) - v;
    float w = (x > 0 ? image[at - 1] : v) - v, e = (x < cols - 1 ? image[at + 1] : v) - v;
    float g2 = (n * n + s * s + w * w + e * e) / (v * v), l = (n + s + w + e) / v;
    float d = 1.0f + 0.25f * l, q = (0.5f * g2 - l * l / 16.0f) / (d * d);
    float k = 1.0f / (1.0f + (q - q0) / (q0 * (1.0f + q0)));
    c[at] = fminf(fmaxf(k, 0.0f), 1.0f);
}

extern "C" __global__ void srad_update(int rows, int cols, float lambda, const float *c, const float *image,
                                       float *next) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= cols || y >= rows) return;
    int at = y * cols + x;
    float v = image[at], here = c[at];
    float south = y < rows - 1 ? c[at + cols] : here, east = x < cols - 1 ? c[at + 1] : here;
    float n = (y > 0 ? image[at - cols] : v) - v, s = (y < rows - 1 ? image[at + cols] : v) - v;
    float w = (x > 0 ? image[at - 1] : v) - v, e = (x < cols - 1 ? image[at + 1] : v) - v;
    next[at] = v + 0.25f * lambda * (here * n + south * s + here * w + east * e);
}
