// Layer norm, a block a row, four values a load; and RMS norm, a warp a row.

static __device__ float warp_sum(float v) {
    for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

extern "C" __global__ void __launch_bounds__(192)
    layernorm(const float4 *x, const float4 *gain, const float4 *bias, float4 *y) {
    __shared__ float sums[6], squares[6];
    float4 v = x[blockIdx.x * 192 + threadIdx.x];
    float s = warp_sum(v.x + v.y + v.z + v.w), q = warp_sum(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = s, squares[threadIdx.x / 32] = q;
    __syncthreads();
    s = q = 0;
    for (int i = 0; i < 6; i++) s += sums[i], q += squares[i];
    float mean = s / 768, scale = rsqrtf(q / 768 - mean * mean + 1e-5f);
    float4 g = gain[threadIdx.x], b = bias[threadIdx.x];
    y[blockIdx.x * 192 + threadIdx.x] =
        make_float4((v.x - mean) * scale * g.x + b.x, (v.y - mean) * scale * g.y + b.y,
                    (v.z - mean) * scale * g.z + b.z, (v.w - mean) * scale * g.w + b.w);
}

extern "C" __global__ void rmsnorm(int rows, int cols, const float *x, const float *gain, float *y) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float q = 0;
    for (int i = lane; i < cols; i += 32) q += x[row * cols + i] * x[row * cols + i];
    float scale = rsqrtf(warp_sum(q) / cols + 1e-6f);
    for (int i = lane; i < cols; i += 32) y[row * cols + i] = x[row * cols + i] * scale * gain[i];
}
