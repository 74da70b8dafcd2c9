#include "../reference.h"

void ref_spmv_csr(orr_ref *r) {
    INT(n);
    BUF(uint32_t, row);
    BUF(uint32_t, col);
    BUF(float, val);
    BUF(float, x);
    BUF(float, y);
    BUF(float, z);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (uint32_t e = row[i]; e < row[i + 1]; e++) sum += (double)val[e] * x[col[e]];
        y[i] = z[i] = (float)sum;
    }
}
