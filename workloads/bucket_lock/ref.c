#include "../reference.h"

void ref_bucket_lock(orr_ref *r) {
    INT(n);
    INT(buckets);
    BUF(uint32_t, key);
    BUF(uint32_t, count);
    BUF(uint32_t, sum);
    BUF(uint32_t, largest);
    for (int64_t i = 0; i < n; i++) {
        int64_t b = key[i] % buckets;
        count[b]++;
        sum[b] += key[i];
        if (key[i] > largest[b]) largest[b] = key[i];
    }
}
