#include "../reference.h"

void ref_gesummv(orr_ref *r) {
    INT(n);
    FLOAT(alpha);
    FLOAT(beta);
    BUF(float, a);
    BUF(float, b);
    BUF(float, x);
    BUF(float, y);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) sum += (alpha * a[i * n + j] + beta * b[i * n + j]) * x[j];
        y[i] = (float)sum;
    }
}
