#include "../reference.h"

void ref_backprop(orr_ref *r) {
    INT(n);
    BUF(float, input);
    BUF(float, w);
    BUF(float, old);
    BUF(float, delta);
    BUF(float, partial);
    for (int64_t b = 0; b < n / 16; b++)
        for (int64_t j = 1; j <= 16; j++) {
            double sum = 0;
            for (int64_t i = 16 * b + 1; i <= 16 * b + 16; i++) sum += (double)input[i] * w[i * 17 + j];
            partial[b * 16 + j - 1] = (float)sum;
        }
    for (int64_t i = 0; i <= n; i++)
        for (int64_t j = 1; j <= 16; j++) {
            double change = 0.3 * delta[j] * (i == 0 ? 1.0 : input[i]) + 0.3 * old[i * 17 + j];
            w[i * 17 + j] = (float)(w[i * 17 + j] + change);
            old[i * 17 + j] = (float)change;
        }
}
