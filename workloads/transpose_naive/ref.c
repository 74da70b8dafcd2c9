#include "../reference.h"

void ref_transpose_naive(orr_ref *r) {
    INT(width);
    INT(height);
    BUF(float, in);
    BUF(float, out);
    for (int64_t x = 0; x < width; x++)
        for (int64_t y = 0; y < height; y++) out[x * height + y] = in[y * width + x];
}
