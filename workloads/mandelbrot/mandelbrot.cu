// SPDX-License-Identifier: Apache-2.0
// Iterations of z = z^2 + c until it escapes, a point a thread: pure arithmetic with trip counts from 1 to
// the limit side by side. Every rounding is spelled out, for the count depends on all of them. (CUDA samples:
// Mandelbrot)

extern "C" __global__ void mandelbrot(int width, int height, int limit, float x0, float y0, float step,
                                      unsigned short *count) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    float cx = __fmaf_rn((float)px, step, x0), cy = __fmaf_rn((float)py, step, y0), x = 0, y = 0;
    int n = 0;
    while (n < limit) {
        float xx = __fmul_rn(x, x), yy = __fmul_rn(y, y);
        if (__fadd_rn(xx, yy) > 4.0f) break;
        y = __fmaf_rn(__fadd_rn(x, x), y, cy);
        x = __fadd_rn(__fsub_rn(xx, yy), cx);
        n++;
    }
    count[py * width + px] = n;
}
