#include "../reference.h"

void ref_syrk(orr_ref *r) {
    INT(n);
    INT(m);
    FLOAT(alpha);
    FLOAT(beta);
    BUF(float, a);
    BUF(float, c);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t k = 0; k < m; k++) sum += (double)a[i * m + k] * a[j * m + k];
            c[i * n + j] = (float)(alpha * sum + beta * c[i * n + j]);
        }
}
