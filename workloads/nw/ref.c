#include "../reference.h"

void ref_nw(orr_ref *r) {
    INT(n);
    INT(penalty);
    BUF(int8_t, table);
    BUF(uint8_t, s);
    BUF(uint8_t, q);
    BUF(int32_t, score);
    for (int64_t y = 1; y <= n; y++)
        for (int64_t x = 1; x <= n; x++) {
            int32_t *p = score + y * (n + 1) + x;
            int32_t best = p[-n - 2] + table[q[y - 1] * 24 + s[x - 1]];
            if (p[-1] - penalty > best) best = p[-1] - (int32_t)penalty;
            if (p[-n - 1] - penalty > best) best = p[-n - 1] - (int32_t)penalty;
            *p = best;
        }
}
