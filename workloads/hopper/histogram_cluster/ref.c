#include "../../reference.h"

void ref_histogram_cluster(orr_ref *r) {
    INT(n);
    INT(bins);
    BUF(uint32_t, in);
    BUF(uint32_t, out);
    for (int64_t i = 0; i < bins; i++) out[i] = 0;
    for (int64_t i = 0; i < n; i++) out[in[i]]++;
}
