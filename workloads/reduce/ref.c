#include "../reference.h"

#include <stdlib.h>

// Element i belongs to block (i / 256) % blocks.
void ref_reduce(orr_ref *r) {
    INT(n);
    INT(blocks);
    BUF(float, x);
    BUF(float, partial);
    BUF(float, total);
    double all = 0, *sum = SCRATCH(double, blocks);
    for (int64_t i = 0; i < n; i++) {
        sum[i / 256 % blocks] += x[i];
        all += x[i];
    }
    for (int64_t b = 0; b < blocks; b++) partial[b] = (float)sum[b];
    total[0] = (float)all;
    free(sum);
}
