#include "../reference.h"

#include <stdlib.h>

void ref_bicg(orr_ref *ref) {
    int64_t nx = orr_ref_int(ref, "nx"), ny = orr_ref_int(ref, "ny");
    const float *a = ref_buffer(ref, "a"), *p = ref_buffer(ref, "p"), *r = ref_buffer(ref, "r");
    float *q = ref_buffer(ref, "q"), *s = ref_buffer(ref, "s");
    double *sum = SCRATCH(double, ny);
    for (int64_t i = 0; i < nx; i++) {
        double t = 0;
        for (int64_t j = 0; j < ny; j++) {
            t += (double)a[i * ny + j] * p[j];
            sum[j] += (double)a[i * ny + j] * r[i];
        }
        q[i] = (float)t;
    }
    for (int64_t j = 0; j < ny; j++) s[j] = (float)sum[j];
    free(sum);
}
