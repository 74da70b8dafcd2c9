#include "../reference.h"

#include <stdlib.h>

static int by_key(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint32_t find(uint32_t *up, uint32_t v) {
    while (up[v] != v) v = up[v] = up[up[v]];
    return v;
}

// Kruskal: edges by weight, then by number; take those that join two trees.
void ref_mst(orr_ref *r) {
    INT(n);
    INT(edges);
    BUF(uint32_t, source);
    BUF(uint32_t, target);
    BUF(uint32_t, weight);
    BUF(uint8_t, chosen);
    uint64_t *key = SCRATCH(uint64_t, edges);
    uint32_t *up = SCRATCH(uint32_t, n);
    for (int64_t e = 0; e < edges; e++) key[e] = (uint64_t)weight[e] << 32 | (uint64_t)e;
    for (int64_t v = 0; v < n; v++) up[v] = (uint32_t)v;
    qsort(key, (size_t)edges, sizeof *key, by_key);
    for (int64_t k = 0; k < edges; k++) {
        uint32_t e = (uint32_t)key[k], a = find(up, source[e]), b = find(up, target[e]);
        if (a == b) continue;
        up[a] = b;
        chosen[e] = 1;
    }
    free(key);
    free(up);
}
