#include "../reference.h"

#include <math.h>

// By the definition. A coefficient half way between two levels may be rounded either way.
void ref_dct8x8(orr_ref *r) {
    INT(width);
    INT(height);
    BUF(uint8_t, image);
    BUF(float, dct);
    BUF(int16_t, level);
    double c[8][8], rows[8][8];
    for (int u = 0; u < 8; u++)
        for (int x = 0; x < 8; x++) c[u][x] = (u ? 0.5 : sqrt(0.125)) * cos((2 * x + 1) * u * acos(-1) / 16);
    for (int64_t ty = 0; ty < height; ty += 8)
        for (int64_t tx = 0; tx < width; tx += 8) {
            for (int y = 0; y < 8; y++)
                for (int u = 0; u < 8; u++) {
                    rows[y][u] = 0;
                    for (int x = 0; x < 8; x++)
                        rows[y][u] += c[u][x] * (image[(ty + y) * width + tx + x] - 128);
                }
            for (int v = 0; v < 8; v++)
                for (int u = 0; u < 8; u++) {
                    double sum = 0;
                    for (int y = 0; y < 8; y++) sum += c[v][y] * rows[y][u];
                    dct[(ty + v) * width + tx + u] = (float)sum;
                    level[(ty + v) * width + tx + u] = (int16_t)rint(sum / (3 + 4 * (u + v)));
                }
        }
}
