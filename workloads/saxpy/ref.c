#include "../reference.h"

#include <math.h>

void ref_saxpy(orr_ref *r) {
    INT(n);
    FLOAT(a);
    BUF(float, x);
    BUF(float, y);
    for (int64_t i = 0; i < n; i++) y[i] = fmaf((float)a, x[i], y[i]);
}
