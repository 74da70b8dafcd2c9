#include "../../reference.h"

#include <math.h>
#include <stdlib.h>

enum { HEAD = 64 };

static float *floats(const uint16_t *from, int64_t n) {
    float *to = SCRATCH(float, n);
    for (int64_t i = 0; i < n; i++) to[i] = ref_from_half(from[i]);
    return to;
}

void ref_attention_backward(orr_ref *r) {
    INT(heads);
    INT(seq);
    BUF(uint16_t, q);
    BUF(uint16_t, k);
    BUF(uint16_t, v);
    BUF(uint16_t, o);
    BUF(uint16_t, dout);
    BUF(float, lse);
    BUF(float, delta);
    BUF(float, dq);
    BUF(uint16_t, dk);
    BUF(uint16_t, dv);
    int64_t rows = heads * seq, all = rows * HEAD;
    float *fq = floats(q, all), *fk = floats(k, all), *fv = floats(v, all), *fo = floats(o, all);
    float *g = floats(dout, all);
    double *sums_k = SCRATCH(double, all), *sums_v = SCRATCH(double, all);
    for (int64_t i = 0; i < rows; i++) {
        double sum_q[HEAD] = {0}, own = 0;
        for (int c = 0; c < HEAD; c++) own += (double)fo[i * HEAD + c] * g[i * HEAD + c];
        delta[i] = (float)own;
        for (int64_t j = i / seq * seq; j < (i / seq + 1) * seq; j++) {
            double s = 0, dp = 0;
            for (int c = 0; c < HEAD; c++) {
                s += (double)fq[i * HEAD + c] * fk[j * HEAD + c] / 8;
                dp += (double)g[i * HEAD + c] * fv[j * HEAD + c];
            }
            double p = exp(s - lse[i]), ds = p * (dp - own) / 8;
            for (int c = 0; c < HEAD; c++) {
                sums_v[j * HEAD + c] += p * g[i * HEAD + c];
                sums_k[j * HEAD + c] += ds * fq[i * HEAD + c];
                sum_q[c] += ds * fk[j * HEAD + c];
            }
        }
        for (int c = 0; c < HEAD; c++) dq[i * HEAD + c] = (float)sum_q[c];
    }
    for (int64_t i = 0; i < all; i++) {
        dk[i] = ref_to_half(sums_k[i]);
        dv[i] = ref_to_half(sums_v[i]);
    }
    free(fq);
    free(fk);
    free(fv);
    free(fo);
    free(g);
    free(sums_k);
    free(sums_v);
}
