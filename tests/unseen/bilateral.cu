// A bilateral filter, 5 x 5, edges clamped.

extern "C" __global__ void bilateral(int w, int h, float near, float like, const float *in, float *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float me = in[y * w + x], sum = 0, weight = 0;
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) {
            int u = min(max(x + dx, 0), w - 1), v = min(max(y + dy, 0), h - 1);
            float p = in[v * w + u], d = p - me, f = __expf(-(dx * dx + dy * dy) * near - d * d * like);
            sum += f * p;
            weight += f;
        }
    out[y * w + x] = sum / weight;
}
