#include "../reference.h"

void ref_haxpy(orr_ref *r) {
    INT(n);
    FLOAT(a);
    BUF(uint16_t, x);
    BUF(uint16_t, y);
    for (int64_t i = 0; i < n; i++) {
        // 0.75 has two bits: product and sum are exact in double, so that only ref_to_half() rounds.
        double v = a * ref_from_half(x[i]) + ref_from_half(y[i]);
        y[i] = v > 0 ? ref_to_half(v) : 0;
    }
}
