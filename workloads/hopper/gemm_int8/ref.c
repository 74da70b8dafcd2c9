#include "../../reference.h"

void ref_gemm_int8(orr_ref *r) {
    INT(m);
    INT(n);
    INT(k);
    BUF(int8_t, a);
    BUF(int8_t, b);
    BUF(int32_t, c);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            int32_t sum = 0;
            for (int64_t l = 0; l < k; l++) sum += a[i * k + l] * b[j * k + l];
            c[i * n + j] = sum;
        }
}
