#include "../reference.h"

#include <stdlib.h>

void ref_hgemm_tensor(orr_ref *r) {
    INT(n);
    BUF(uint16_t, a);
    BUF(uint16_t, b);
    BUF(float, c);
    float *fa = SCRATCH(float, n *n), *fb = SCRATCH(float, n *n);
    for (int64_t i = 0; i < n * n; i++) {
        fa[i] = ref_from_half(a[i]);
        fb[i] = ref_from_half(b[i]);
    }
    ref_gemm(n, n, n, 1, fa, fb, 0, c);
    free(fa);
    free(fb);
}
