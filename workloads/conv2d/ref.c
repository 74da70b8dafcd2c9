#include "../reference.h"

void ref_conv2d(orr_ref *r) {
    static const double weight[3][3] = {{0.2, -0.3, 0.4}, {0.5, 0.6, 0.7}, {-0.8, -0.9, 0.1}};
    INT(height);
    INT(width);
    BUF(float, in);
    BUF(float, out);
    for (int64_t y = 1; y < height - 1; y++)
        for (int64_t x = 1; x < width - 1; x++) {
            double sum = 0;
            for (int64_t j = 0; j < 3; j++)
                for (int64_t i = 0; i < 3; i++) sum += weight[j][i] * in[(y + j - 1) * width + x + i - 1];
            out[y * width + x] = (float)sum;
        }
}
