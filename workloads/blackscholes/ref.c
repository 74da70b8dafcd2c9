#include "../reference.h"

#include <math.h>

// The normal distribution by the error function: the kernel's polynomial is within 7.5e-8 of it.
static double cnd(double d) { return 0.5 * erfc(-d / sqrt(2.0)); }

void ref_blackscholes(orr_ref *r) {
    INT(n);
    FLOAT(rate);
    FLOAT(volatility);
    BUF(float, price);
    BUF(float, strike);
    BUF(float, years);
    BUF(float, calls);
    BUF(float, puts);
    for (int64_t i = 0; i < n; i++) {
        double s = price[i], x = strike[i], t = years[i], v = volatility * sqrt(t);
        double d1 = (log(s / x) + (rate + volatility * volatility / 2) * t) / v, d2 = d1 - v;
        calls[i] = (float)(s * cnd(d1) - x * exp(-rate * t) * cnd(d2));
        puts[i] = (float)(x * exp(-rate * t) * cnd(-d2) - s * cnd(-d1));
    }
}
