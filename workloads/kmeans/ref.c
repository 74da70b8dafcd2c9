#include "../reference.h"

#include <math.h>
#include <stdlib.h>

// Single precision with one rounding a multiply-add: which centre is nearest may hang on the last bit.
void ref_kmeans(orr_ref *r) {
    INT(n);
    INT(features);
    INT(k);
    BUF(float, point);
    BUF(float, centre);
    BUF(int32_t, member);
    int64_t moved;
    do {
        moved = 0;
        for (int64_t i = 0; i < n; i++) {
            int32_t best = 0;
            float least = INFINITY;
            for (int64_t c = 0; c < k; c++) {
                float d = 0;
                for (int64_t f = 0; f < features; f++) {
                    float x = point[f * n + i] - centre[c * features + f];
                    d = fmaf(x, x, d);
                }
                if (d < least) {
                    least = d;
                    best = (int32_t)c;
                }
            }
            moved += member[i] != best;
            member[i] = best;
        }
        uint64_t *sum = SCRATCH(uint64_t, k * features), *count = SCRATCH(uint64_t, k);
        for (int64_t i = 0; i < n; i++) {
            count[member[i]]++;
            for (int64_t f = 0; f < features; f++)
                sum[member[i] * features + f] += (uint64_t)point[f * n + i];
        }
        for (int64_t j = 0; j < k * features; j++)
            if (count[j / features]) centre[j] = (float)sum[j] / (float)count[j / features];
        free(sum);
        free(count);
    } while (moved * 20 >= n);
}
