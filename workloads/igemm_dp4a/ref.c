#include "../reference.h"

void ref_igemm_dp4a(orr_ref *r) {
    INT(n);
    BUF(int8_t, a);
    BUF(int8_t, b);
    BUF(int32_t, c);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            int32_t sum = 0;
            for (int64_t k = 0; k < n; k++) sum += a[i * n + k] * b[j * n + k];
            c[i * n + j] = sum;
        }
}
