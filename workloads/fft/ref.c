#include "../reference.h"

#include <complex.h>
#include <math.h>

// By the recursive definition: even and odd halves.
static void transform(int n, int step, const double complex *x, double complex *y) {
    if (n == 1) {
        y[0] = x[0];
        return;
    }
    transform(n / 2, 2 * step, x, y);
    transform(n / 2, 2 * step, x + step, y + n / 2);
    for (int k = 0; k < n / 2; k++) {
        double complex even = y[k], odd = y[k + n / 2] * cexp(-2 * I * acos(-1) * k / n);
        y[k] = even + odd;
        y[k + n / 2] = even - odd;
    }
}

void ref_fft(orr_ref *r) {
    INT(batch);
    BUF(float, x);
    BUF(float, y);
    for (int64_t b = 0; b < batch; b++) {
        double complex in[1024], out[1024];
        for (int i = 0; i < 1024; i++) in[i] = x[2048 * b + 2 * i] + I * x[2048 * b + 2 * i + 1];
        transform(1024, 1, in, out);
        for (int i = 0; i < 1024; i++) {
            y[2048 * b + 2 * i] = (float)creal(out[i]);
            y[2048 * b + 2 * i + 1] = (float)cimag(out[i]);
        }
    }
}
