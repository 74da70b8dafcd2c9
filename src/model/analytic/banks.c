// The probabilistic model of register banks: Gerum, Rosenstiel, Bringmann, section IV-B.
//
// Accesses go to the b banks uniformly and independently of each other. Of m in a cycle, the number that goes
// to one bank is binomial, P[Y = n] = C(m, n) (1/b)^n (1 - 1/b)^(m - n). "The number of conflicts is one less
// than the number of accesses to the register bank", where there is one: a bank with none has no conflict, so
// the sum runs over n >= 1 of (n - 1) P[Y = n], which is
//
//     E[Y] - 1 + P[Y = 0] = m/b - 1 + (1 - 1/b)^m        for one bank, b times that for all
//
// (E[Y] - 1 as printed there would be negative for m < b.) With p ports a bank, p accesses are served: the
// sum is of (n - p) P[Y = n] over n > p.
//
// The paper rounds m, the accesses of a kernel by its cycles, down. Here a fraction stays one: between two
// whole numbers the conflicts are interpolated, as a cycle has one number or the other.
#include "model/analytic/analytic.h"

#include <math.h>

static double of_whole(int m, int b, int p) {
    double q = 1.0 / b, expected = 0, term = pow(1 - q, m); // P[Y = 0]
    if (b == 1) return m > p ? m - p : 0;
    for (int n = 0; n <= m; n++) {
        if (n > p) expected += (n - p) * term;
        term *= (double)(m - n) / (n + 1) * q / (1 - q);
    }
    return b * expected;
}

double an_bank_conflicts(double m, int banks, int ports) {
    if (!(m > 0) || banks < 1 || ports < 1) return 0;
    if (m > 4096) m = 4096;
    int lo = (int)m;
    double part = m - lo, a = of_whole(lo, banks, ports);
    return part > 0 ? a + part * (of_whole(lo + 1, banks, ports) - a) : a;
}
