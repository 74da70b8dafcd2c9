#include "../../reference.h"

void ref_reduce_cluster(orr_ref *r) {
    INT(rows);
    INT(n);
    BUF(uint32_t, in);
    BUF(uint32_t, sums);
    BUF(uint32_t, most);
    for (int64_t y = 0; y < rows; y++) {
        uint32_t sum = 0, top = 0;
        for (int64_t x = 0; x < n; x++) {
            uint32_t v = in[y * n + x];
            sum += v;
            if (v > top) top = v;
        }
        sums[y] = sum;
        most[y] = top;
    }
}
