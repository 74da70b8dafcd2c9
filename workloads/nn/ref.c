#include "../reference.h"

#include <math.h>

void ref_nn(orr_ref *r) {
    INT(n);
    FLOAT(lat);
    FLOAT(lng);
    BUF(float, record);
    BUF(float, distance);
    BUF(int32_t, nearest);
    double least = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = hypot(lat - record[2 * i], lng - record[2 * i + 1]);
        distance[i] = (float)d;
        if (i % 256 == 0 || d < least) {
            least = d;
            nearest[i / 256] = (int32_t)i;
        }
    }
}
