#include "../reference.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Values are 0, 1, 2 ..., so that ordering by key, then value is the stable order.
void ref_mergesort(orr_ref *r) {
    INT(n);
    BUF(uint32_t, key);
    BUF(uint32_t, value);
    uint64_t *both = SCRATCH(uint64_t, n);
    for (int64_t i = 0; i < n; i++) both[i] = (uint64_t)key[i] << 32 | value[i];
    qsort(both, (size_t)n, sizeof *both, ascending);
    for (int64_t i = 0; i < n; i++) {
        key[i] = (uint32_t)(both[i] >> 32);
        value[i] = (uint32_t)both[i];
    }
    free(both);
}
