#include "../../reference.h"

#include <math.h>
#include <stdlib.h>

enum { HEAD = 64 };

void ref_attention_forward(orr_ref *r) {
    INT(heads);
    INT(seq);
    BUF(uint16_t, q);
    BUF(uint16_t, k);
    BUF(uint16_t, v);
    BUF(uint16_t, o);
    BUF(float, lse);
    int64_t all = heads * seq * HEAD;
    float *fq = SCRATCH(float, all), *fk = SCRATCH(float, all), *fv = SCRATCH(float, all);
    double *s = SCRATCH(double, seq);
    for (int64_t i = 0; i < all; i++) {
        fq[i] = ref_from_half(q[i]);
        fk[i] = ref_from_half(k[i]);
        fv[i] = ref_from_half(v[i]);
    }
    for (int64_t row = 0; row < heads * seq; row++) {
        const float *keys = fk + row / seq * seq * HEAD, *values = fv + row / seq * seq * HEAD;
        double most = -INFINITY, sum = 0, out[HEAD] = {0};
        for (int64_t j = 0; j < seq; j++) {
            s[j] = 0;
            for (int c = 0; c < HEAD; c++) s[j] += (double)fq[row * HEAD + c] * keys[j * HEAD + c] / 8;
            if (s[j] > most) most = s[j];
        }
        for (int64_t j = 0; j < seq; j++) {
            double p = exp(s[j] - most);
            sum += p;
            for (int c = 0; c < HEAD; c++) out[c] += p * values[j * HEAD + c];
        }
        for (int c = 0; c < HEAD; c++) o[row * HEAD + c] = ref_to_half(out[c] / sum);
        lse[row] = (float)(most + log(sum));
    }
    free(fq);
    free(fk);
    free(fv);
    free(s);
}
