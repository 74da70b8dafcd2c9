// Histogram equalisation of a dark picture: counts (four pixels a load, shared atomics), the curve by one
// block, and the mapping.

extern "C" __global__ void eq_count(int quads, const uchar4 *in, unsigned *count) {
    __shared__ unsigned s[256];
    s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < quads; i += gridDim.x * 256) {
        uchar4 p = in[i];
        atomicAdd(&s[p.x], 1);
        atomicAdd(&s[p.y], 1);
        atomicAdd(&s[p.z], 1);
        atomicAdd(&s[p.w], 1);
    }
    __syncthreads();
    if (s[threadIdx.x]) atomicAdd(&count[threadIdx.x], s[threadIdx.x]);
}

extern "C" __global__ void eq_curve(int pixels, const unsigned *count, unsigned char *curve) {
    __shared__ unsigned s[2][256];
    int t = threadIdx.x, now = 0;
    s[0][t] = count[t];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2, now ^= 1) {
        s[now ^ 1][t] = s[now][t] + (t >= d ? s[now][t - d] : 0);
        __syncthreads();
    }
    curve[t] = (unsigned long long)s[now][t] * 255 / pixels;
}

extern "C" __global__ void eq_map(int quads, const uchar4 *in, const unsigned char *curve, uchar4 *out) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= quads) return;
    uchar4 p = in[i];
    out[i] = make_uchar4(curve[p.x], curve[p.y], curve[p.z], curve[p.w]);
}
