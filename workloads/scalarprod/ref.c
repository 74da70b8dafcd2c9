#include "../reference.h"

void ref_scalarprod(orr_ref *r) {
    INT(vectors);
    INT(length);
    BUF(float, a);
    BUF(float, b);
    BUF(float, c);
    for (int64_t v = 0; v < vectors; v++) {
        double sum = 0;
        for (int64_t i = v * length; i < (v + 1) * length; i++) sum += (double)a[i] * b[i];
        c[v] = (float)sum;
    }
}
