// Tridiagonal systems: one a thread (Thomas, systems interleaved), and one a block (parallel cyclic reduction
// in shared memory).

extern "C" __global__ void thomas(int systems, int n, const float *a, const float *b, const float *c,
                                  float *d, float *w) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= systems) return;
    float ratio = c[t] / b[t], x = d[t] / b[t];
    w[t] = ratio;
    d[t] = x;
    for (int i = 1; i < n; i++) {
        int at = i * systems + t;
        float m = 1.0f / (b[at] - a[at] * ratio);
        ratio = c[at] * m;
        x = (d[at] - a[at] * x) * m;
        w[at] = ratio;
        d[at] = x;
    }
    for (int i = n - 2; i >= 0; i--) {
        x = d[i * systems + t] - w[i * systems + t] * x;
        d[i * systems + t] = x;
    }
}

extern "C" __global__ void __launch_bounds__(128)
    cyclic_reduction(const float *a, const float *b, const float *c, const float *d, float *x) {
    __shared__ float sa[128], sb[128], sc[128], sd[128];
    int t = threadIdx.x, g = blockIdx.x * 128 + t;
    sa[t] = t == 0 ? 0 : a[g];
    sb[t] = b[g];
    sc[t] = t == 127 ? 0 : c[g];
    sd[t] = d[g];
    __syncthreads();
    for (int s = 1; s < 128; s *= 2) {
        int l = t - s, r = t + s;
        float k1 = l >= 0 ? sa[t] / sb[l] : 0, k2 = r < 128 ? sc[t] / sb[r] : 0;
        float na = l >= 0 ? -sa[l] * k1 : 0, nc = r < 128 ? -sc[r] * k2 : 0;
        float nb = sb[t] - (l >= 0 ? sc[l] * k1 : 0) - (r < 128 ? sa[r] * k2 : 0);
        float nd = sd[t] - (l >= 0 ? sd[l] * k1 : 0) - (r < 128 ? sd[r] * k2 : 0);
        __syncthreads();
        sa[t] = na;
        sb[t] = nb;
        sc[t] = nc;
        sd[t] = nd;
        __syncthreads();
    }
    x[g] = sd[t] / sb[t];
}
