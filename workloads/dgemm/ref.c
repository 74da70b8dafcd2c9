#include "../reference.h"

void ref_dgemm(orr_ref *r) {
    INT(n);
    BUF(double, a);
    BUF(double, b);
    BUF(double, c);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++)
            for (int64_t j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
}
