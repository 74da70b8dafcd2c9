#include "../reference.h"

static void sweep(int64_t n, double c0, double c1, const float *in, float *out) {
    for (int64_t z = 1; z < n - 1; z++)
        for (int64_t y = 1; y < n - 1; y++)
            for (int64_t x = 1; x < n - 1; x++) {
                const float *p = in + (z * n + y) * n + x;
                double around = (double)p[-1] + p[1] + p[-n] + p[n] + p[-n * n] + p[n * n];
                out[p - in] = (float)(c1 * around - c0 * p[0]);
            }
}

void ref_stencil3d_naive(orr_ref *r) {
    INT(n);
    INT(pairs);
    FLOAT(c0);
    FLOAT(c1);
    BUF(float, u);
    BUF(float, v);
    for (int64_t k = 0; k < pairs; k++) {
        sweep(n, c0, c1, u, v);
        sweep(n, c0, c1, v, u);
    }
}
