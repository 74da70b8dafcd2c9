// SPDX-License-Identifier: Apache-2.0
// Maxwell's equations in two dimensions by finite differences in time: three launches a step. (PolyBench/GPU:
// fdtd2d)

extern "C" __global__ void fdtd_ey(int nx, int ny, int t, const float *source, float *ey, const float *hz) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    if (i == 0)
        ey[j] = source[t];
    else
        ey[i * ny + j] -= 0.5f * (hz[i * ny + j] - hz[(i - 1) * ny + j]);
}

extern "C" __global__ void fdtd_ex(int nx, int ny, float *ex, const float *hz) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < nx && j > 0 && j < ny) ex[i * ny + j] -= 0.5f * (hz[i * ny + j] - hz[i * ny + j - 1]);
}

extern "C" __global__ void fdtd_hz(int nx, int ny, const float *ex, const float *ey, float *hz) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < nx - 1 && j < ny - 1)
        hz[i * ny + j] -=
            0.7f * (ex[i * ny + j + 1] - ex[i * ny + j] + ey[(i + 1) * ny + j] - ey[i * ny + j]);
}
