// Which launches are simulated: those of a kernel that look alike are represented by one (TBPoint, section
// III).
//
// A launch is a vector of four: its thread instructions, warp instructions and memory requests, each as a
// share of the kernel's average, and the coefficient of variation of its thread blocks' sizes (eq. 2).
// Different kernels are never put together, whatever their vectors.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample/sample.h"

enum { FEATURES = 4 };

static void vector_of(const orr_sp_launch *l, const double average[3], double v[FEATURES]) {
    v[0] = average[0] > 0 ? (double)l->thread_insts / average[0] : 0;
    v[1] = average[1] > 0 ? (double)l->warp_insts / average[1] : 0;
    v[2] = average[2] > 0 ? (double)l->requests / average[2] : 0;
    v[3] = l->cov;
}

// The member nearest the centre of its cluster; of several equally near the one in the middle, which has
// neither the first launch's cold caches nor is it the last.
static uint32_t representative(const double *v, const uint32_t *members, size_t n) {
    double centre[FEATURES] = {0}, best = INFINITY;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < FEATURES; k++) centre[k] += v[members[i] * FEATURES + k] / (double)n;
    uint32_t *near = orr_malloc(n * sizeof *near), nnear = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n; i++) {
            double d = 0;
            for (int k = 0; k < FEATURES; k++) d += pow(v[members[i] * FEATURES + k] - centre[k], 2);
            if (!pass && d < best) best = d;
            if (pass && d <= best * (1 + 1e-9) + 1e-18) near[nnear++] = members[i];
        }
    uint32_t chosen = near[nnear / 2];
    free(near);
    return chosen;
}

// Which kernel ran before launch i. What is rare, less than a fifth of its kernel's launches, is counted as
// what is most common: as the first launch of a loop.
typedef struct context {
    uint32_t kernels;
    uint64_t *times;  // [kernel][the one before]
    uint32_t *common; // [kernel]
} context;

static uint32_t previous(const orr_sampling_profile *p, size_t i) {
    return p->launches.at[i ? i - 1 : p->launches.n - 1].kernel;
}

static uint32_t before(const orr_sampling_profile *p, const context *c, size_t i) {
    uint32_t k = p->launches.at[i].kernel, was = previous(p, i);
    uint64_t all = 0;
    for (uint32_t n = 0; n < c->kernels; n++) all += c->times[k * (size_t)c->kernels + n];
    return c->times[k * (size_t)c->kernels + was] * 5 < all ? c->common[k] : was;
}

static context find_context(const orr_sampling_profile *p) {
    size_t n = p->kernels.n;
    context c = {(uint32_t)n, orr_calloc(n * n + 1, sizeof *c.times), orr_calloc(n + 1, sizeof *c.common)};
    for (size_t i = 0; i < p->launches.n; i++) c.times[p->launches.at[i].kernel * n + previous(p, i)]++;
    for (size_t k = 0; k < n; k++)
        for (size_t m = 0; m < n; m++)
            if (c.times[k * n + m] > c.times[k * n + c.common[k]]) c.common[k] = (uint32_t)m;
    return c;
}

static void plan_kernel(const orr_sampling_profile *p, const context *x, uint32_t kernel, uint32_t after,
                        double threshold, orr_plan *plan) {
    size_t all = p->launches.n, n = 0;
    uint32_t *member = orr_malloc((all + 1) * sizeof *member), *of = orr_malloc((all + 1) * sizeof *of),
             *cluster = orr_malloc((all + 1) * sizeof *cluster);
    double average[3] = {0};
    size_t launches = 0; // of the kernel: its average is over all of them
    for (size_t i = 0; i < all; i++) {
        const orr_sp_launch *l = &p->launches.at[i];
        if (l->kernel != kernel) continue;
        launches++;
        if (before(p, x, i) == after) member[n++] = (uint32_t)i;
        average[0] += (double)l->thread_insts;
        average[1] += (double)l->warp_insts;
        average[2] += (double)l->requests;
    }
    for (int k = 0; k < 3 && launches; k++) average[k] /= (double)launches;
    double *v = orr_malloc((n + 1) * FEATURES * sizeof *v);
    for (size_t i = 0; i < n; i++) vector_of(&p->launches.at[member[i]], average, v + i * FEATURES);
    uint32_t clusters = orr_cluster(v, n, FEATURES, threshold, cluster);
    // Members cluster by cluster, in order.
    uint32_t *first = orr_calloc(clusters + 1, sizeof *first), *next = orr_calloc(clusters + 1, sizeof *next);
    for (size_t i = 0; i < n; i++) first[cluster[i] + 1]++;
    for (uint32_t c = 0; c < clusters; c++) first[c + 1] += first[c];
    memcpy(next, first, clusters * sizeof *next);
    for (size_t i = 0; i < n; i++) of[next[cluster[i]]++] = (uint32_t)i;
    for (uint32_t c = 0; c < clusters; c++) {
        uint32_t by = representative(v, of + first[c], first[c + 1] - first[c]);
        for (uint32_t i = first[c]; i < first[c + 1]; i++)
            plan->launches[member[of[i]]] = (orr_plan_launch){plan->nclusters + c, member[by]};
        plan->nsimulated++;
    }
    plan->nclusters += clusters;
    free(next);
    free(first);
    free(v);
    free(cluster);
    free(of);
    free(member);
}

orr_plan orr_plan_make(const orr_sampling_profile *p, double threshold) {
    orr_plan plan = {.launches = orr_calloc(p->launches.n + 1, sizeof *plan.launches)};
    context c = find_context(p);
    for (uint32_t k = 0; k < c.kernels; k++)
        for (uint32_t after = 0; after < c.kernels; after++)
            if (c.times[k * (size_t)c.kernels + after]) plan_kernel(p, &c, k, after, threshold, &plan);
    free(c.times);
    free(c.common);
    return plan;
}

void orr_plan_free(orr_plan *p) {
    free(p->launches);
    *p = (orr_plan){0};
}
