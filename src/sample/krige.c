// The cycles of a kernel's launches from those of a few: kriging.
//
// Cycles are taken for a random function of a launch's features, known beforehand only as far as
//
//   covariance(a, b) = 1 + a . b + BEND^2 exp(-|a - b|^2 / 2)
//
// says, in units of the kernel's average launch: a sum of a constant and of what each feature costs, none
// known better than its own size, and on top of it something smooth that is not linear. Given the cycles of
// some launches the best estimate of another's is a weighted sum of theirs; the weights, and how much the sum
// over all launches may be off, follow from the features alone, before anything is simulated. So the launches
// to simulate are chosen one by one: each time the one that makes the sum over all kernels most certain,
// until its standard deviation is below the target.
//
// The method is geostatistics' (G. Matheron, "Principles of Geostatistics", Economic Geology 58, 1963), or
// Gaussian process regression. Besides, launches of equal features differ by chance (`noise`). BEND and the
// noise were chosen on workloads other than those that results are reported of (docs/how/sampling.md).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample/sample.h"

#define BEND 0.3 // what is not linear, of an average launch
#define MOST 128 // simulated launches of a kernel

static double covariance(const double *a, const double *b) {
    double dot = 1, apart = 0;
    for (int k = 0; k < ORR_SP_FEATURES; k++) {
        dot += a[k] * b[k];
        apart += (a[k] - b[k]) * (a[k] - b[k]);
    }
    return dot + BEND * BEND * exp(-apart / 2);
}

void orr_krige_begin(orr_krige *f, const double *x, const double *count, uint32_t n, double weight) {
    *f = (orr_krige){.n = n, .x = x, .noise = ORR_SP_ALIKE};
    f->c = orr_malloc(((size_t)n * n + 1) * sizeof *f->c);
    f->with_sum = orr_calloc(n + 1, sizeof *f->with_sum);
    f->chosen = orr_malloc((n + 1) * sizeof *f->chosen);
    f->taken = orr_calloc(n + 1, sizeof *f->taken);
    double all = 0;
    for (uint32_t i = 0; i < n; i++) all += count[i];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            double c = f->c[(size_t)i * n + j] = covariance(x + i * ORR_SP_FEATURES, x + j * ORR_SP_FEATURES);
            f->with_sum[i] += c * weight * count[j] / all;
            f->variance += c * weight * weight * count[i] / all * count[j] / all;
        }
}

// The variance of what a simulation of point i would say; what is left of its own is never negative but for
// rounding.
static double own(const orr_krige *f, uint32_t i) {
    return fmax(f->c[(size_t)i * f->n + i], 0) + f->noise * f->noise;
}

// By how much the variance of the sum shrinks when point i is simulated.
static double gain(const orr_krige *f, uint32_t i) { return f->with_sum[i] * f->with_sum[i] / own(f, i); }

static void simulate(orr_krige *f, uint32_t i) {
    size_t n = f->n;
    double d = own(f, i), sum = f->with_sum[i];
    double *row = orr_malloc((n + 1) * sizeof *row);
    memcpy(row, f->c + i * n, n * sizeof *row);
    f->variance = fmax(f->variance - sum * sum / d, 0);
    for (size_t a = 0; a < n; a++) {
        f->with_sum[a] -= row[a] * sum / d;
        for (size_t b = 0; b < n; b++) f->c[a * n + b] -= row[a] * row[b] / d;
    }
    free(row);
    f->taken[i] = true;
    f->chosen[f->nchosen++] = i;
}

// There are fewer than there must be, of those there are.
static bool lacking(const orr_krige *f) { return !f->nchosen && f->n; }

void orr_krige_choose(orr_krige *fields, uint32_t n, double target) {
    for (;;) {
        double variance = 0, most = -1;
        orr_krige *best = NULL;
        uint32_t which = 0;
        bool missing = false; // a kernel of which too little is simulated yet
        for (uint32_t k = 0; k < n; k++) {
            variance += fields[k].variance;
            missing |= lacking(&fields[k]);
        }
        if (!missing && variance <= target * target) return;
        for (uint32_t k = 0; k < n; k++) {
            orr_krige *f = &fields[k];
            if ((missing && !lacking(f)) || f->nchosen == MOST) continue;
            for (uint32_t i = 0; i < f->n; i++)
                if (!f->taken[i] && gain(f, i) > most) {
                    most = gain(f, i);
                    best = f;
                    which = i;
                }
        }
        if (!best) return;
        simulate(best, which);
    }
}

// The covariances of the chosen as a product of a triangle and its transpose (Cholesky).
void orr_krige_end(orr_krige *f) {
    uint32_t n = f->nchosen;
    free(f->c);
    f->c = orr_calloc((size_t)n * n + 1, sizeof *f->c);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j <= i; j++) {
            double sum = covariance(f->x + (size_t)f->chosen[i] * ORR_SP_FEATURES,
                                    f->x + (size_t)f->chosen[j] * ORR_SP_FEATURES);
            if (i == j) sum += f->noise * f->noise;
            for (uint32_t k = 0; k < j; k++) sum -= f->c[(size_t)i * n + k] * f->c[(size_t)j * n + k];
            f->c[(size_t)i * n + j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / f->c[(size_t)j * n + j];
        }
}

void orr_krige_weights(const orr_krige *f, const double *x, double *w) {
    uint32_t n = f->nchosen;
    for (uint32_t i = 0; i < n; i++) {
        double sum = covariance(x, f->x + (size_t)f->chosen[i] * ORR_SP_FEATURES);
        for (uint32_t k = 0; k < i; k++) sum -= f->c[(size_t)i * n + k] * w[k];
        w[i] = sum / f->c[(size_t)i * n + i];
    }
    for (uint32_t i = n; i-- > 0;) {
        double sum = w[i];
        for (uint32_t k = i + 1; k < n; k++) sum -= f->c[(size_t)k * n + i] * w[k];
        w[i] = sum / f->c[(size_t)i * n + i];
    }
}

void orr_krige_free(orr_krige *f) {
    free(f->c);
    free(f->with_sum);
    free(f->chosen);
    free(f->taken);
    *f = (orr_krige){0};
}
