#include "../../reference.h"

#include <stdlib.h>
#include <string.h>

// What a product in tf32 looks at: sign, exponent and ten bits.
static float tf32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits &= 0xffffe000;
    memcpy(&x, &bits, 4);
    return x;
}

void ref_gemm_tf32(orr_ref *r) {
    INT(m);
    INT(n);
    INT(k);
    BUF(float, a);
    BUF(float, b);
    BUF(float, c);
    float *fa = SCRATCH(float, m *k), *fb = SCRATCH(float, n *k);
    for (int64_t i = 0; i < m * k; i++) fa[i] = tf32(a[i]);
    for (int64_t i = 0; i < n * k; i++) fb[i] = tf32(b[i]);
    ref_gemm_turned(m, n, k, fa, fb, c);
    free(fa);
    free(fb);
}
