#include "../reference.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void ref_bitonic(orr_ref *r) {
    INT(n);
    BUF(uint32_t, key);
    qsort(key, (size_t)n, sizeof *key, ascending);
}
