// SPDX-License-Identifier: Apache-2.0
// A 3x3x3 convolution of a volume, one launch a plane: many equal launches. (PolyBench/GPU: 3DConvolution)

extern "C" __global__ void conv3d(int nx, int ny, int z, const float *in, float *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || x >= nx - 1 || y < 1 || y >= ny - 1) return;
    float sum = 0;
#pragma unroll
    for (int k = -1; k <= 1; k++)
#pragma unroll
        for (int j = -1; j <= 1; j++)
#pragma unroll
            for (int i = -1; i <= 1; i++)
                sum +=
                    (0.5f + 0.25f * i - 0.125f * j + 0.0625f * k) * in[((z + k) * ny + y + j) * nx + x + i];
    out[(z * ny + y) * nx + x] = sum;
}
