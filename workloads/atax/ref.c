#include "../reference.h"

#include <stdlib.h>

void ref_atax(orr_ref *r) {
    INT(nx);
    INT(ny);
    BUF(float, a);
    BUF(float, x);
    BUF(float, tmp);
    BUF(float, y);
    double *sum = SCRATCH(double, ny);
    for (int64_t i = 0; i < nx; i++) {
        double t = 0;
        for (int64_t j = 0; j < ny; j++) t += (double)a[i * ny + j] * x[j];
        tmp[i] = (float)t;
        for (int64_t j = 0; j < ny; j++) sum[j] += a[i * ny + j] * t;
    }
    for (int64_t j = 0; j < ny; j++) y[j] = (float)sum[j];
    free(sum);
}
