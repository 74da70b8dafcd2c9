#include "../reference.h"

#include <stdlib.h>

// Gaussian elimination without pivoting, in double.
void ref_lud(orr_ref *r) {
    INT(n);
    BUF(float, m);
    double *a = SCRATCH(double, n *n);
    for (int64_t i = 0; i < n * n; i++) a[i] = m[i];
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = k + 1; i < n; i++) {
            double f = a[i * n + k] /= a[k * n + k];
            for (int64_t j = k + 1; j < n; j++) a[i * n + j] -= f * a[k * n + j];
        }
    for (int64_t i = 0; i < n * n; i++) m[i] = (float)a[i];
    free(a);
}
