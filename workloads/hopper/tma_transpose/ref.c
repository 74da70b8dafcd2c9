#include "../../reference.h"

void ref_tma_transpose(orr_ref *r) {
    INT(w);
    INT(h);
    BUF(float, in);
    BUF(float, out);
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++) out[x * h + y] = in[y * w + x];
}
