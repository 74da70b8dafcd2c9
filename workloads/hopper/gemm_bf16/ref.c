#include "../../reference.h"

#include <stdlib.h>

void ref_gemm_bf16(orr_ref *r) {
    INT(m);
    INT(n);
    INT(k);
    BUF(uint16_t, a);
    BUF(uint16_t, b);
    BUF(float, c);
    float *fa = SCRATCH(float, m *k), *fb = SCRATCH(float, n *k), *fc = SCRATCH(float, m *n);
    for (int64_t i = 0; i < m * k; i++) fa[i] = ref_from_bf16(a[i]);
    for (int64_t i = 0; i < n * k; i++) fb[i] = ref_from_bf16(b[i]);
    ref_gemm_turned(m, n, k, fa, fb, fc);
    for (int64_t i = 0; i < m * n; i++) c[i] = fc[i];
    free(fa);
    free(fb);
    free(fc);
}
