#include "../../reference.h"

void ref_scan_cluster(orr_ref *r) {
    INT(rows);
    BUF(uint32_t, in);
    BUF(uint32_t, out);
    for (int64_t i = 0; i < rows * 16384; i++) out[i] = in[i] + (i % 16384 ? out[i - 1] : 0);
}
