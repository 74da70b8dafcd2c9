#include "../reference.h"

void ref_scan(orr_ref *r) {
    INT(n);
    BUF(uint32_t, x);
    BUF(uint32_t, y);
    BUF(uint32_t, total);
    uint32_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        y[i] = sum;
        sum += x[i];
    }
    total[0] = sum;
}
