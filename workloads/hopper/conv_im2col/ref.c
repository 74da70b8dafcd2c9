#include "../../reference.h"

#include <stdlib.h>

void ref_conv_im2col(orr_ref *r) {
    INT(images);
    INT(height);
    INT(width);
    INT(channels);
    INT(filters);
    BUF(uint16_t, x);
    BUF(uint16_t, f);
    BUF(float, y);
    // filters last, so that they are the inner loop
    float *by_filter = SCRATCH(float, filters * 9 * channels);
    double *sum = SCRATCH(double, filters);
    for (int64_t i = 0; i < filters; i++)
        for (int64_t j = 0; j < 9 * channels; j++)
            by_filter[j * filters + i] = ref_from_half(f[i * 9 * channels + j]);
    for (int64_t at = 0; at < images * height * width; at++) {
        for (int64_t i = 0; i < filters; i++) sum[i] = 0;
        for (int64_t place = 0; place < 9; place++) {
            int64_t row = at / width % height + place / 3 - 1, col = at % width + place % 3 - 1;
            if (row < 0 || row >= height || col < 0 || col >= width) continue;
            const uint16_t *pixel = x + ((at / width / height * height + row) * width + col) * channels;
            for (int64_t c = 0; c < channels; c++) {
                double v = ref_from_half(pixel[c]);
                const float *w = by_filter + (place * channels + c) * filters;
                for (int64_t i = 0; i < filters; i++) sum[i] += v * w[i];
            }
        }
        for (int64_t i = 0; i < filters; i++) y[at * filters + i] = (float)sum[i];
    }
    free(by_filter);
    free(sum);
}
