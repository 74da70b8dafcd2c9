#include "../reference.h"

#include <math.h>

void ref_mandelbrot(orr_ref *r) {
    INT(width);
    INT(height);
    INT(limit);
    BUF(uint16_t, count);
    float x0 = (float)orr_ref_float(r, "x0"), y0 = (float)orr_ref_float(r, "y0");
    float delta = (float)orr_ref_float(r, "delta");
    for (int64_t j = 0; j < height; j++)
        for (int64_t i = 0; i < width; i++) {
            float cx = fmaf((float)i, delta, x0), cy = fmaf((float)j, delta, y0), x = 0, y = 0;
            int64_t n = 0;
            while (n < limit && x * x + y * y <= 4) {
                float xx = x * x - y * y;
                y = fmaf(x + x, y, cy);
                x = xx + cx;
                n++;
            }
            count[j * width + i] = (uint16_t)n;
        }
}
