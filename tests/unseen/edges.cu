// Pictures of bytes: Sobel's edges, and the median of 3 x 3.

extern "C" __global__ void sobel(int w, int h, const unsigned char *in, unsigned char *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
    const unsigned char *p = in + y * w + x;
    int gx = p[1 - w] + 2 * p[1] + p[1 + w] - p[-1 - w] - 2 * p[-1] - p[-1 + w];
    int gy = p[w - 1] + 2 * p[w] + p[w + 1] - p[-w - 1] - 2 * p[-w] - p[-w + 1];
    int g = (abs(gx) + abs(gy)) / 4;
    out[y * w + x] = min(g, 255);
}

static __device__ void order(int &a, int &b) {
    int t = min(a, b);
    b = max(a, b);
    a = t;
}

extern "C" __global__ void median3(int w, int h, const unsigned char *in, unsigned char *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
    int v[9];
#pragma unroll
    for (int i = 0; i < 9; i++) v[i] = in[(y + i / 3 - 1) * w + x + i % 3 - 1];
#pragma unroll
    for (int i = 0; i < 5; i++) // the five lowest by selection; the compiler drops the rest
#pragma unroll
        for (int j = i + 1; j < 9; j++) order(v[i], v[j]);
    out[y * w + x] = v[4];
}
