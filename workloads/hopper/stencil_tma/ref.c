#include "../../reference.h"

#include <stdlib.h>

void ref_stencil_tma(orr_ref *r) {
    INT(n);
    INT(steps);
    BUF(float, a);
    float *from = SCRATCH(float, n *n);
    for (int64_t s = 0; s < steps; s++) {
        for (int64_t i = 0; i < n * n; i++) from[i] = a[i];
        for (int64_t y = 0; y < n; y++)
            for (int64_t x = 0; x < n; x++) {
                double sum = 0;
                if (x > 0) sum += from[y * n + x - 1];
                if (x < n - 1) sum += from[y * n + x + 1];
                if (y > 0) sum += from[(y - 1) * n + x];
                if (y < n - 1) sum += from[(y + 1) * n + x];
                a[y * n + x] = (float)(sum / 4);
            }
    }
    free(from);
}
