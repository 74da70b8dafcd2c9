#include "../../reference.h"

#include <math.h>

void ref_chain_dependent(orr_ref *r) {
    INT(rows);
    INT(n);
    INT(rounds);
    BUF(float, x);
    BUF(float, weight);
    BUF(float, gate);
    for (int64_t round = 0; round < rounds; round++)
        for (int64_t y = 0; y < rows; y++) {
            float *row = x + y * n;
            double sum = 0;
            for (int64_t i = 0; i < n; i++) sum += (double)row[i] * row[i];
            double scale = 1 / sqrt(sum / (double)n + 1e-5);
            for (int64_t i = 0; i < n; i++) {
                double v = row[i] * scale * weight[i] * gate[i];
                row[i] = (float)(row[i] + v / (1 + exp(-v)));
            }
        }
}
