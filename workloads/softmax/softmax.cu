// SPDX-License-Identifier: Apache-2.0
// Softmax of every row of a matrix, a block a row: largest, sum of exponentials, division; shuffles and
// shared memory. (Attention and classifier layers)

static __device__ float block_all(float v, bool largest, float *s) {
    for (int d = 16; d > 0; d /= 2) {
        float o = __shfl_xor_sync(0xffffffff, v, d);
        v = largest ? fmaxf(v, o) : v + o;
    }
    __syncthreads(); // s may still be in use
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    v = s[0];
    for (int w = 1; w < blockDim.x / 32; w++) v = largest ? fmaxf(v, s[w]) : v + s[w];
    return v;
}

extern "C" __global__ void softmax(int cols, const float *in, float *out) {
    __shared__ float s[32];
    const float *row = in + (size_t)blockIdx.x * cols;
    float top = -3.4e38f, sum = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) top = fmaxf(top, row[i]);
    top = block_all(top, true, s);
    for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(row[i] - top);
    sum = block_all(sum, false, s);
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        out[(size_t)blockIdx.x * cols + i] = expf(row[i] - top) / sum;
}
