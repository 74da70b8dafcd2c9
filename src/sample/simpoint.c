// What sampling is compared with: pieces of a full simulation chosen at random, and SimPoint.
//
// SimPoint (T. Sherwood, E. Perelman, G. Hamerly, B. Calder, "Automatically Characterizing Large Scale
// Program Behavior", ASPLOS 2002) describes a piece by its basic-block vector, how many of its instructions
// are of each basic block (eq. 1 of TBPoint), projects the vectors at random to 15 dimensions, clusters them
// by k-means for each k, takes the smallest k whose Bayesian information criterion reaches 90 % of the range
// that was seen, and simulates of each cluster the piece nearest to its centre. "Ideal" because here the
// pieces come from a full simulation: what a piece of a GPU's work holds depends on how the warps are
// scheduled.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample/sample.h"

enum { PROJECTED = 15, ROUNDS = 100, TRIES = 5 };

orr_estimate orr_random_estimate(const orr_pieces *p, double share, uint64_t seed) {
    size_t n = p->unit.n;
    orr_estimate r = {.of = (uint32_t)n};
    if (!n) return r;
    size_t want = (size_t)(share * (double)n + 0.5);
    if (want < 1) want = 1;
    size_t *which = orr_malloc(n * sizeof *which);
    for (size_t i = 0; i < n; i++) which[i] = i;
    uint64_t all = 0, insts = 0, cycles = 0;
    for (size_t i = 0; i < n; i++) all += p->unit.at[i].insts;
    for (size_t i = 0; i < want; i++) { // the first of a shuffle
        size_t k = i + (size_t)(orr_random_unit(&seed) * (double)(n - i)), t = which[i];
        which[i] = which[k];
        which[k] = t;
        insts += p->unit.at[which[i]].insts;
        cycles += p->unit.at[which[i]].cycles;
    }
    free(which);
    r.points = (uint32_t)want;
    r.sample = (double)insts / (double)all;
    r.cycles = (double)cycles / (double)insts * (double)all;
    return r;
}

// ---- k-means ------------------------------------------------------------------------------------
typedef struct points { // n rows of d
    const double *rows;
    size_t n;
    int d;
} points;

static double square(const double *a, const double *b, int d) {
    double s = 0;
    for (int k = 0; k < d; k++) s += (a[k] - b[k]) * (a[k] - b[k]);
    return s;
}

// Centres far from each other to begin with: each next one with a probability that grows with its distance
// (k-means++).
static void choose(points p, uint32_t k, uint64_t *seed, double *centres, double *far) {
    const double *rows = p.rows;
    size_t n = p.n;
    int d = p.d;
    size_t first = (size_t)(orr_random_unit(seed) * (double)n);
    memcpy(centres, rows + first * (size_t)d, (size_t)d * sizeof *rows);
    for (size_t i = 0; i < n; i++) far[i] = INFINITY;
    for (uint32_t c = 1; c < k; c++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            far[i] = fmin(far[i], square(rows + i * (size_t)d, centres + (c - 1) * (size_t)d, d));
            sum += far[i];
        }
        double at = orr_random_unit(seed) * sum;
        size_t i = 0;
        while (i + 1 < n && (at -= far[i]) > 0) i++;
        memcpy(centres + c * (size_t)d, rows + i * (size_t)d, (size_t)d * sizeof *rows);
    }
}

static double assign(points p, uint32_t k, const double *centres, uint32_t *cluster) {
    const double *rows = p.rows;
    size_t n = p.n;
    int d = p.d;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double best = INFINITY;
        for (uint32_t c = 0; c < k; c++) {
            double s = square(rows + i * (size_t)d, centres + c * (size_t)d, d);
            if (s < best) {
                best = s;
                cluster[i] = c;
            }
        }
        sum += best;
    }
    return sum;
}

static double once(points p, uint32_t k, uint64_t *seed, uint32_t *cluster, double *centres, double *far) {
    const double *rows = p.rows;
    size_t n = p.n;
    int d = p.d;
    choose(p, k, seed, centres, far);
    double sum = assign(p, k, centres, cluster);
    uint64_t *count = orr_malloc(k * sizeof *count);
    for (int round = 0; round < ROUNDS; round++) {
        memset(centres, 0, k * (size_t)d * sizeof *centres);
        memset(count, 0, k * sizeof *count);
        for (size_t i = 0; i < n; i++) {
            count[cluster[i]]++;
            for (int x = 0; x < d; x++)
                centres[cluster[i] * (size_t)d + (size_t)x] += rows[i * (size_t)d + (size_t)x];
        }
        for (uint32_t c = 0; c < k; c++)
            for (int x = 0; x < d && count[c]; x++) centres[c * (size_t)d + (size_t)x] /= (double)count[c];
        double next = assign(p, k, centres, cluster);
        if (next >= sum * (1 - 1e-12)) break;
        sum = next;
    }
    free(count);
    return sum;
}

// The Bayesian information criterion as D. Pelleg and A. Moore give it ("X-means", ICML 2000).
static double bic(size_t n, int d, uint32_t k, const uint32_t *cluster, double sum) {
    double *count = orr_calloc(k, sizeof *count), r = (double)n, like = 0;
    for (size_t i = 0; i < n; i++) count[cluster[i]]++;
    double variance = n > k ? sum / (r - k) / d : 0;
    if (variance < 1e-12) variance = 1e-12; // all in their centres
    for (uint32_t c = 0; c < k; c++)
        if (count[c] > 0)
            like += count[c] * log(count[c] / r) -
                    count[c] * d / 2 * log(2 * 3.14159265358979323846 * variance) - (count[c] - 1) * d / 2;
    free(count);
    return like - (k - 1 + (double)d * k + 1) / 2 * log(r);
}

static double kmeans(points p, uint32_t k, uint64_t seed, uint32_t *cluster, double *centres) {
    size_t n = p.n;
    int d = p.d;
    uint32_t *try = orr_malloc(n * sizeof *try);
    double *at = orr_malloc(k * (size_t)d * sizeof *at), *far = orr_malloc(n * sizeof *far), best = INFINITY;
    for (int t = 0; t < TRIES; t++) {
        double sum = once(p, k, &seed, try, at, far);
        if (sum >= best) continue;
        best = sum;
        memcpy(cluster, try, n * sizeof *try);
        memcpy(centres, at, k * (size_t)d * sizeof *at);
    }
    free(far);
    free(at);
    free(try);
    return bic(n, d, k, cluster, best);
}

// ---- SimPoint -----------------------------------------------------------------------------------
static double *project(const orr_pieces *p, const uint32_t *kernel_of, const uint32_t *first_dim,
                       uint32_t dims) {
    double *matrix = orr_malloc(((size_t)dims + 1) * PROJECTED * sizeof *matrix);
    double *rows = orr_calloc(p->unit.n * PROJECTED + 1, sizeof *rows);
    uint64_t seed = 493575226; // any
    for (size_t i = 0; i < (size_t)dims * PROJECTED; i++) matrix[i] = orr_random_unit(&seed) * 2 - 1;
    for (size_t i = 0; i < p->unit.n; i++) {
        const orr_piece *u = &p->unit.at[i];
        for (uint32_t b = 0; b < u->nblocks; b++) {
            double share = u->insts ? (double)p->insts.at[u->first + b] / (double)u->insts : 0;
            size_t dim = (size_t)first_dim[kernel_of[u->launch]] + b;
            for (int k = 0; k < PROJECTED && dim < dims && share > 0; k++)
                rows[i * PROJECTED + (size_t)k] += share * matrix[dim * PROJECTED + (size_t)k];
        }
    }
    free(matrix);
    return rows;
}

// The piece nearest to its cluster's centre stands for the cluster, by its instructions.
static orr_estimate predict(const orr_pieces *p, const double *rows, uint32_t k, const uint32_t *cluster,
                            const double *centres) {
    orr_estimate r = {.of = (uint32_t)p->unit.n};
    uint64_t all = 0, simulated = 0;
    for (uint32_t c = 0; c < k; c++) {
        uint64_t insts = 0;
        double best = INFINITY;
        const orr_piece *chosen = NULL;
        for (size_t i = 0; i < p->unit.n; i++) {
            if (cluster[i] != c) continue;
            insts += p->unit.at[i].insts;
            double d = square(rows + i * PROJECTED, centres + (size_t)c * PROJECTED, PROJECTED);
            if (d >= best) continue;
            best = d;
            chosen = &p->unit.at[i];
        }
        if (!chosen) continue;
        r.points++;
        all += insts;
        simulated += chosen->insts;
        r.cycles += (double)chosen->cycles / (double)chosen->insts * (double)insts;
    }
    r.sample = all ? (double)simulated / (double)all : 0;
    return r;
}

orr_estimate orr_simpoint_estimate(const orr_pieces *p, const uint32_t *kernel_of, const uint32_t *first_dim,
                                   uint32_t dims, uint32_t max_k, uint64_t seed) {
    size_t n = p->unit.n;
    if (!n) return (orr_estimate){0};
    if (max_k > n) max_k = (uint32_t)n;
    double *rows = project(p, kernel_of, first_dim, dims);
    double *centres = orr_malloc((size_t)max_k * PROJECTED * sizeof *centres),
           *score = orr_malloc(max_k * sizeof *score);
    uint32_t *cluster = orr_malloc(n * sizeof *cluster), chosen = 1;
    points all = {rows, n, PROJECTED};
    double lo = INFINITY, hi = -INFINITY;
    for (uint32_t k = 1; k <= max_k; k++) {
        score[k - 1] = kmeans(all, k, seed, cluster, centres);
        lo = fmin(lo, score[k - 1]);
        hi = fmax(hi, score[k - 1]);
    }
    while (chosen < max_k && score[chosen - 1] < lo + 0.9 * (hi - lo)) chosen++;
    kmeans(all, chosen, seed, cluster, centres);
    orr_estimate r = predict(p, rows, chosen, cluster, centres);
    free(cluster);
    free(score);
    free(centres);
    free(rows);
    return r;
}
