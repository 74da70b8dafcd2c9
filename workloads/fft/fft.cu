// SPDX-License-Identifier: Apache-2.0
// Many transforms of 1024 complex points, a block each: Stockham's radix-2 passes through shared memory,
// twiddles from a table made by the first kernel. (SHOC: FFT; Parboil: fft)

#define N 1024

extern "C" __global__ void fft_twiddles(float2 *w) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= N / 2) return;
    float s, c;
    sincospif(-2.0f * k / N, &s, &c);
    w[k] = make_float2(c, s);
}

// 512 threads, one butterfly each a pass.
extern "C" __global__ void __launch_bounds__(512) fft(const float2 *w, const float2 *in, float2 *out) {
    __shared__ float2 buffer[2][N];
    int t = threadIdx.x, side = 0;
    const float2 *from = in + blockIdx.x * N;
    buffer[0][t] = from[t];
    buffer[0][t + N / 2] = from[t + N / 2];
    for (int span = 1; span < N; span *= 2) {
        __syncthreads();
        float2 a = buffer[side][t], b = buffer[side][t + N / 2], v = w[(t & -span)];
        int to = ((t & -span) << 1) + (t & (span - 1));
        float2 d = make_float2(a.x - b.x, a.y - b.y);
        buffer[side ^ 1][to] = make_float2(a.x + b.x, a.y + b.y);
        buffer[side ^ 1][to + span] = make_float2(d.x * v.x - d.y * v.y, d.x * v.y + d.y * v.x);
        side ^= 1;
    }
    __syncthreads();
    out[blockIdx.x * N + t] = buffer[side][t];
    out[blockIdx.x * N + t + N / 2] = buffer[side][t + N / 2];
}
