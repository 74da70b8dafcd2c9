#include "../reference.h"

void ref_fdtd2d(orr_ref *r) {
    INT(nx);
    INT(ny);
    INT(steps);
    BUF(float, source);
    BUF(float, ex);
    BUF(float, ey);
    BUF(float, hz);
    for (int64_t t = 0; t < steps; t++) {
        for (int64_t j = 0; j < ny; j++) ey[j] = source[t];
        for (int64_t k = ny; k < nx * ny; k++) ey[k] = (float)(ey[k] - 0.5 * ((double)hz[k] - hz[k - ny]));
        for (int64_t k = 0; k < nx * ny; k++)
            if (k % ny > 0) ex[k] = (float)(ex[k] - 0.5 * ((double)hz[k] - hz[k - 1]));
        for (int64_t k = 0; k < (nx - 1) * ny; k++)
            if (k % ny < ny - 1)
                hz[k] = (float)(hz[k] - 0.7 * ((double)ex[k + 1] - ex[k] + ey[k + ny] - ey[k]));
    }
}
