#include "../reference.h"

void ref_vecadd(orr_ref *r) {
    INT(n);
    BUF(float, a);
    BUF(float, b);
    BUF(float, c);
    for (int64_t i = 0; i < n; i++) c[i] = a[i] + b[i];
}
