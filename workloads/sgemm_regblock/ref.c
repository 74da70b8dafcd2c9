#include "../reference.h"

void ref_sgemm_regblock(orr_ref *r) {
    INT(n);
    FLOAT(alpha);
    FLOAT(beta);
    BUF(float, a);
    BUF(float, b);
    BUF(float, c);
    ref_gemm(n, n, n, alpha, a, b, beta, c);
}
