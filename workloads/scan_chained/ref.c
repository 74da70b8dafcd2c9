#include "../reference.h"

void ref_scan_chained(orr_ref *r) {
    INT(n);
    BUF(uint32_t, x);
    BUF(uint32_t, y);
    uint32_t sum = 0;
    for (int64_t i = 0; i < n; i++) y[i] = sum += x[i];
}
