#include "../reference.h"

#include <stdlib.h>

void ref_gaussian(orr_ref *r) {
    INT(n);
    BUF(float, a);
    BUF(float, b);
    BUF(float, m);
    double *da = SCRATCH(double, n *n), *db = SCRATCH(double, n);
    for (int64_t i = 0; i < n * n; i++) da[i] = a[i];
    for (int64_t i = 0; i < n; i++) db[i] = b[i];
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = k + 1; i < n; i++) {
            double f = da[i * n + k] / da[k * n + k];
            m[i * n + k] = (float)f;
            for (int64_t j = k; j < n; j++) da[i * n + j] -= f * da[k * n + j];
            db[i] -= f * db[k];
        }
    for (int64_t i = 0; i < n * n; i++) a[i] = (float)da[i];
    for (int64_t i = 0; i < n; i++) b[i] = (float)db[i];
    free(da);
    free(db);
}
