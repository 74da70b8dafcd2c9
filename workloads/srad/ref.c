#include "../reference.h"

#include <stdlib.h>

void ref_srad(orr_ref *r) {
    INT(rows);
    INT(cols);
    INT(pairs);
    FLOAT(lambda);
    BUF(float, image);
    BUF(float, c);
    BUF(float, q0);
    int64_t n = rows * cols;
    double *v = SCRATCH(double, n), *k = SCRATCH(double, n), *div = SCRATCH(double, n), q = 0;
    for (int64_t i = 0; i < n; i++) v[i] = image[i];
    for (int64_t it = 0; it < 2 * pairs; it++) {
        double sum = 0, sum2 = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += v[i];
            sum2 += v[i] * v[i];
        }
        double mean = sum / n;
        q = (sum2 / n - mean * mean) / (mean * mean);
        for (int64_t y = 0; y < rows; y++)
            for (int64_t x = 0; x < cols; x++) {
                int64_t at = y * cols + x;
                double dn = y > 0 ? v[at - cols] - v[at] : 0, ds = y < rows - 1 ? v[at + cols] - v[at] : 0;
                double dw = x > 0 ? v[at - 1] - v[at] : 0, de = x < cols - 1 ? v[at + 1] - v[at] : 0;
                double g2 = (dn * dn + ds * ds + dw * dw + de * de) / (v[at] * v[at]);
                double l = (dn + ds + dw + de) / v[at];
                double den = 1 + 0.25 * l, qsqr = (0.5 * g2 - l * l / 16) / (den * den);
                double f = 1 / (1 + (qsqr - q) / (q * (1 + q)));
                k[at] = f < 0 ? 0 : f > 1 ? 1 : f;
            }
        for (int64_t y = 0; y < rows; y++)
            for (int64_t x = 0; x < cols; x++) {
                int64_t at = y * cols + x;
                div[at] = 0;
                if (y > 0) div[at] += k[at] * (v[at - cols] - v[at]);
                if (x > 0) div[at] += k[at] * (v[at - 1] - v[at]);
                if (y < rows - 1) div[at] += k[at + cols] * (v[at + cols] - v[at]);
                if (x < cols - 1) div[at] += k[at + 1] * (v[at + 1] - v[at]);
            }
        for (int64_t i = 0; i < n; i++) v[i] += 0.25 * lambda * div[i];
    }
    for (int64_t i = 0; i < n; i++) {
        image[i] = (float)v[i];
        c[i] = (float)k[i];
    }
    q0[0] = (float)q;
    free(v);
    free(k);
    free(div);
}
