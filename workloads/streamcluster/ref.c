#include "../reference.h"

static int64_t distance(int64_t n, int64_t dims, const float *point, int64_t i, int64_t j) {
    int64_t sum = 0;
    for (int64_t k = 0; k < dims; k++) {
        int64_t x = (int64_t)point[k * n + i] - (int64_t)point[k * n + j];
        sum += x * x;
    }
    return sum;
}

void ref_streamcluster(orr_ref *r) {
    INT(n);
    INT(dims);
    INT(candidates);
    INT(price);
    BUF(float, point);
    BUF(float, cost);
    BUF(int32_t, assigned);
    for (int64_t k = 0; k < candidates; k++) {
        int64_t c = k * 7919 % n, saved = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t d = distance(n, dims, point, i, c);
            if (d < (int64_t)cost[i]) saved += (int64_t)cost[i] - d;
        }
        if (saved <= price) continue;
        for (int64_t i = 0; i < n; i++) {
            int64_t d = distance(n, dims, point, i, c);
            if (d < (int64_t)cost[i]) {
                cost[i] = (float)d;
                assigned[i] = (int32_t)c;
            }
        }
    }
}
