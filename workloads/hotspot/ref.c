#include "../reference.h"

#include <stdlib.h>
#include <string.h>

void ref_hotspot(orr_ref *r) {
    INT(rows);
    INT(cols);
    INT(steps);
    INT(pairs);
    FLOAT(cap);
    FLOAT(rx);
    FLOAT(ry);
    FLOAT(rz);
    FLOAT(ambient);
    BUF(float, power);
    BUF(float, temp);
    float *next = SCRATCH(float, rows *cols);
    for (int64_t k = 0; k < 2 * pairs * steps; k++) {
        for (int64_t y = 0; y < rows; y++)
            for (int64_t x = 0; x < cols; x++) {
                double t = temp[y * cols + x];
                double n = y > 0 ? temp[(y - 1) * cols + x] : t,
                       s = y < rows - 1 ? temp[(y + 1) * cols + x] : t;
                double w = x > 0 ? temp[y * cols + x - 1] : t, e = x < cols - 1 ? temp[y * cols + x + 1] : t;
                next[y * cols + x] = (float)(t + cap * (power[y * cols + x] + (n + s - 2 * t) * ry +
                                                        (w + e - 2 * t) * rx + (ambient - t) * rz));
            }
        memcpy(temp, next, (size_t)(rows * cols) * sizeof *temp);
    }
    free(next);
}
