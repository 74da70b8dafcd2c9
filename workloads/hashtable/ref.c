#include "../reference.h"

#include <stdlib.h>

// Keys are at most 2n: a plain array will do.
void ref_hashtable(orr_ref *r) {
    INT(n);
    BUF(uint32_t, key);
    BUF(uint32_t, value);
    BUF(uint32_t, query);
    BUF(uint32_t, answer);
    uint32_t *best = SCRATCH(uint32_t, 2 * n + 1);
    for (int64_t i = 0; i < n; i++)
        if (value[i] > best[key[i]]) best[key[i]] = value[i];
    for (int64_t i = 0; i < n; i++) answer[i] = best[query[i]];
    free(best);
}
