#include "../reference.h"

void ref_reduce_shfl(orr_ref *r) {
    INT(n);
    BUF(int32_t, x);
    BUF(int64_t, sum);
    BUF(int32_t, low);
    BUF(int32_t, high);
    for (int64_t i = 0; i < n; i++) {
        sum[0] += x[i];
        if (x[i] < low[0]) low[0] = x[i];
        if (x[i] > high[0]) high[0] = x[i];
    }
}
