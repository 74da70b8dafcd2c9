#include "../reference.h"

#include <math.h>

void ref_triad(orr_ref *r) {
    INT(n);
    FLOAT(s);
    BUF(double, a);
    BUF(double, b);
    BUF(double, c);
    for (int64_t i = 0; i < n; i++) a[i] = fma(s, c[i], b[i]);
}
