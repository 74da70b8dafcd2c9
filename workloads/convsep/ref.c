#include "../reference.h"

#include <stdlib.h>

void ref_convsep(orr_ref *r) {
    INT(width);
    INT(height);
    BUF(float, image);
    BUF(float, middle);
    BUF(float, result);
    double taps[17];
    for (int i = 0; i < 17; i++) taps[i] = (9 - abs(i - 8)) / 81.0 + i / 1024.0;
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            double sum = 0;
            for (int64_t j = -8; j <= 8; j++)
                if (x + j >= 0 && x + j < width) sum += taps[8 - j] * image[y * width + x + j];
            middle[y * width + x] = (float)sum;
        }
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            double sum = 0;
            for (int64_t j = -8; j <= 8; j++)
                if (y + j >= 0 && y + j < height) sum += taps[8 - j] * middle[(y + j) * width + x];
            result[y * width + x] = (float)sum;
        }
}
