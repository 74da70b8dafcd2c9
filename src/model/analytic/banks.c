// The probabilistic model of register banks: Gerum, Rosenstiel, Bringmann, section IV-B.
//
// Accesses go to the b banks uniformly and independently of each other. Of m in a cycle, the number that goes
// to one bank is binomial, P[Y = k] = C(m, k) (1/b)^k (1 - 1/b)^(m - k). "The number of conflicts is one less
// than the number of accesses to the register bank", where there is one: a bank with none has no conflict, so
// the sum runs over k >= 1 of (k - 1) P[Y = k] (E[Y] - 1 as it is printed there would be negative for m < b),
// and b times that for all banks. With p ports a bank, p accesses are served: the sum is of (k - p) P[Y = k]
// over k > p.
//
// The paper takes m, the accesses of a kernel by its cycles, rounded down, for the number in every cycle. A
// core that issues one instruction a cycle has m between one and two, so that would be no conflicts at all.
// But the number is different from cycle to cycle: n instructions can be reading at a time, each is with
// probability m/n. Then Y is binomial too, of n with probability m / (n b); with n = m it is the paper's.
#include "model/analytic/analytic.h"

#include <math.h>

double an_bank_conflicts(double m, int n, int banks, int ports) {
    if (!(m > 0) || banks < 1 || ports < 1) return 0;
    if (m > 4096) m = 4096;
    if (n < m) n = (int)ceil(m);
    double q = m / n / banks, expected = 0;
    if (q >= 1) return banks * (n > ports ? n - ports : 0.0); // one bank, all read
    double chance = pow(1 - q, n);                            // P[Y = 0]
    for (int k = 0; k <= n; k++) {
        if (k > ports) expected += (k - ports) * chance;
        chance *= (double)(n - k) / (k + 1) * q / (1 - q);
    }
    return banks * expected;
}

// How many instructions can be at the banks at a time that have so many accesses one after the other: each
// scheduler's of the last intervals.
int an_bank_users(const orr_gpu *g, int accesses) {
    int schedulers = g->core_schedulers / g->core_subcores;
    int cycles = (accesses + g->regs_ports - 1) / g->regs_ports * g->regs_interval;
    if (schedulers < 1) schedulers = 1;
    return schedulers * g->core_issue * ((cycles + g->core_issue_interval - 1) / g->core_issue_interval);
}
