#include "../reference.h"

void ref_conv3d(orr_ref *r) {
    INT(nx);
    INT(ny);
    INT(nz);
    BUF(float, in);
    BUF(float, out);
    for (int64_t z = 1; z < nz - 1; z++)
        for (int64_t y = 1; y < ny - 1; y++)
            for (int64_t x = 1; x < nx - 1; x++) {
                double sum = 0;
                for (int k = -1; k <= 1; k++)
                    for (int j = -1; j <= 1; j++)
                        for (int i = -1; i <= 1; i++)
                            sum += (0.5 + i / 4.0 - j / 8.0 + k / 16.0) *
                                   in[((z + k) * ny + y + j) * nx + x + i];
                out[(z * ny + y) * nx + x] = (float)sum;
            }
}
