#include "../reference.h"

void ref_mm2(orr_ref *r) {
    INT(ni);
    INT(nj);
    INT(nk);
    INT(nl);
    FLOAT(alpha);
    FLOAT(beta);
    BUF(float, a);
    BUF(float, b);
    BUF(float, c);
    BUF(float, d);
    BUF(float, tmp);
    ref_gemm(ni, nj, nk, alpha, a, b, 0, tmp);
    ref_gemm(ni, nl, nj, 1, tmp, c, beta, d);
}
