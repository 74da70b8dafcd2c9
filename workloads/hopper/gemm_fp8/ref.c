#include "../../reference.h"

#include <math.h>
#include <stdlib.h>

// Normal numbers of e4m3, whose exponents have a bias of 7.
static float e4m3(uint8_t x) {
    float v = ldexpf((float)(8 + (x & 7)), (x >> 3 & 15) - 10);
    return x & 0x80 ? -v : v;
}

void ref_gemm_fp8(orr_ref *r) {
    INT(m);
    INT(n);
    INT(k);
    BUF(uint8_t, a);
    BUF(uint8_t, b);
    BUF(float, scale);
    BUF(uint16_t, c);
    float *fa = SCRATCH(float, m *k), *fb = SCRATCH(float, n *k), *fc = SCRATCH(float, m *n);
    for (int64_t i = 0; i < m * k; i++) fa[i] = e4m3(a[i]) * scale[i % k / 128 * m + i / k];
    for (int64_t i = 0; i < n * k; i++) fb[i] = e4m3(b[i]);
    ref_gemm_turned(m, n, k, fa, fb, fc);
    for (int64_t i = 0; i < m * n; i++) c[i] = ref_to_bf16(fc[i]);
    free(fa);
    free(fb);
    free(fc);
}
