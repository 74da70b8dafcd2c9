// How much the IPC of a homogeneous interval varies (TBPoint, section IV-A, eq. 3 and figure 5).
//
// Each of N warps of an SM is runnable or stalled. A runnable one stalls with probability p at each
// instruction, a stalled one becomes runnable with probability 1 / M. The SM issues one instruction a cycle
// unless all warps are stalled: IPC = 1 - R0, R0 the probability of that in the long run.
//
// The chain of all warps together has 2^N states, and its transition matrix is the product of the warps' own,
// as eq. 3 has it. Because they are independent, the stationary distribution is the product of theirs too: a
// warp is stalled for p / (p + 1 / M) of the time, and R0 is the product of those. Nothing is left out by
// that, so it serves for any number of warps; where the chain can be computed, both agree
// (tests/test_sample.c).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample/sample.h"

// One step: the matrix is the Kronecker product of the warps' 2 x 2 matrices, so it is applied warp by warp.
static void step(double *v, double p, const double *m, int n) {
    size_t states = (size_t)1 << n;
    for (int x = 0; x < n; x++) {
        size_t bit = (size_t)1 << x;
        double wake = 1 / m[x];
        for (size_t s = 0; s < states; s++) {
            if (s & bit) continue;
            double stalled = v[s], runs = v[s | bit];
            v[s] = stalled * (1 - wake) + runs * p;
            v[s | bit] = stalled * wake + runs * (1 - p);
        }
    }
}

double orr_markov_chain(double p, const double *m, int n) {
    if (n < 1 || n > ORR_MARKOV_CHAIN_MAX) return NAN;
    size_t states = (size_t)1 << n;
    double *v = orr_calloc(states, sizeof *v), *old = orr_malloc(states * sizeof *old);
    v[states - 1] = 1; // all runnable
    double change = 1;
    for (int k = 0; k < 1000000 && change > 1e-15; k++) {
        memcpy(old, v, states * sizeof *v);
        step(v, p, m, n);
        change = 0;
        for (size_t s = 0; s < states; s++) change = fmax(change, fabs(v[s] - old[s]));
    }
    double ipc = 1 - v[0];
    free(v);
    free(old);
    return ipc;
}

double orr_markov_product(double p, const double *m, int n) {
    double r0 = 1;
    for (int x = 0; x < n; x++) r0 *= p / (p + 1 / m[x]);
    return 1 - r0;
}

static double normal(uint64_t *seed) { // Box and Muller
    double u = 1 - orr_random_unit(seed), v = orr_random_unit(seed);
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void orr_markov_draw(orr_markov_study *s, int draws, uint64_t seed) {
    double *ipc = orr_malloc((size_t)draws * sizeof *ipc), *m = orr_malloc((size_t)s->n * sizeof *m);
    double sigma = 0.1 * s->mean / 1.96; // 95 % of the draws are within 10 % of the mean
    s->ipc = 0;
    for (int d = 0; d < draws; d++) {
        for (int x = 0; x < s->n; x++) m[x] = fmax(s->mean + sigma * normal(&seed), 1);
        ipc[d] = orr_markov_product(s->p, m, s->n);
        s->ipc += ipc[d] / draws;
    }
    for (int d = 0; d < draws; d++) ipc[d] = fabs(ipc[d] / s->ipc - 1);
    qsort(ipc, (size_t)draws, sizeof *ipc, by_value);
    s->spread = ipc[(int)(0.95 * draws)];
    s->within = 0;
    memset(s->cdf, 0, sizeof s->cdf);
    for (int d = 0; d < draws; d++) {
        s->within += (ipc[d] <= 0.1) / (double)draws;
        for (int k = 0; k < 41; k++) s->cdf[k] += (ipc[d] <= k / 200.0) / (double)draws;
    }
    free(ipc);
    free(m);
}
