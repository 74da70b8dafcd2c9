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

// A cluster's launches, in order: `each` or fewer at a time, equally many, are represented by one of them.
static uint32_t parts(size_t n, size_t each) { return (uint32_t)((n + each - 1) / each); }

static void cut(orr_plan *plan, const double *v, const uint32_t *member, const uint32_t *of, size_t n,
                uint32_t cluster) {
    uint32_t np = parts(n, ORR_SP_MANY);
    for (uint32_t k = 0; k < np; k++) {
        size_t from = n * k / np, to = n * (k + 1) / np;
        uint32_t by = representative(v, of + from, to - from);
        for (size_t i = from; i < to; i++)
            plan->launches[member[of[i]]] = (orr_plan_launch){cluster, member[by], false};
        plan->nsimulated++;
    }
    uint32_t more = np > 1 ? parts(n, ORR_SP_SOME) : 0;
    for (uint32_t k = 0; k < more; k++) {
        size_t from = n * k / more, to = n * (k + 1) / more;
        plan->launches[member[representative(v, of + from, to - from)]].perhaps = true;
    }
}

static void plan_kernel(const orr_sampling_profile *p, uint32_t kernel, double threshold, orr_plan *plan) {
    size_t all = p->launches.n, n = 0;
    uint32_t *member = orr_malloc((all + 1) * sizeof *member), *of = orr_malloc((all + 1) * sizeof *of),
             *cluster = orr_malloc((all + 1) * sizeof *cluster);
    double average[3] = {0};
    for (size_t i = 0; i < all; i++) {
        const orr_sp_launch *l = &p->launches.at[i];
        if (l->kernel != kernel) continue;
        member[n++] = (uint32_t)i;
        average[0] += (double)l->thread_insts;
        average[1] += (double)l->warp_insts;
        average[2] += (double)l->requests;
    }
    for (int k = 0; k < 3 && n; k++) average[k] /= (double)n;
    double *v = orr_malloc((n + 1) * FEATURES * sizeof *v);
    for (size_t i = 0; i < n; i++) vector_of(&p->launches.at[member[i]], average, v + i * FEATURES);
    uint32_t clusters = orr_cluster(v, n, FEATURES, threshold, cluster);
    // Members cluster by cluster, in order.
    uint32_t *first = orr_calloc(clusters + 1, sizeof *first), *next = orr_calloc(clusters + 1, sizeof *next);
    for (size_t i = 0; i < n; i++) first[cluster[i] + 1]++;
    for (uint32_t c = 0; c < clusters; c++) first[c + 1] += first[c];
    memcpy(next, first, clusters * sizeof *next);
    for (size_t i = 0; i < n; i++) of[next[cluster[i]]++] = (uint32_t)i;
    for (uint32_t c = 0; c < clusters; c++)
        cut(plan, v, member, of + first[c], first[c + 1] - first[c], plan->nclusters + c);
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
    for (uint32_t k = 0; k < p->kernels.n; k++) plan_kernel(p, k, threshold, &plan);
    return plan;
}

void orr_plan_free(orr_plan *p) {
    free(p->launches);
    *p = (orr_plan){0};
}
