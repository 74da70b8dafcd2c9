#include "../reference.h"

#include <stdlib.h>

void ref_sgemm_tiled(orr_ref *r) {
    INT(n);
    FLOAT(alpha);
    FLOAT(beta);
    BUF(float, a);
    BUF(float, b);
    BUF(float, c);
    double *row = SCRATCH(double, n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) row[j] = 0;
        for (int64_t k = 0; k < n; k++)
            for (int64_t j = 0; j < n; j++) row[j] += (double)a[i * n + k] * b[k * n + j];
        for (int64_t j = 0; j < n; j++) c[i * n + j] = (float)(alpha * row[j] + beta * c[i * n + j]);
    }
    free(row);
}
