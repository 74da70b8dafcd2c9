// Which launches are simulated: those of a kernel that look alike are represented by one (TBPoint, section
// III).
//
// A launch is a vector: its thread instructions, warp instructions and memory requests, each as a share of
// the kernel's average, and the coefficient of variation of its thread blocks' sizes (eq. 2). Different
// kernels are never put together, whatever their vectors. TBPoint simulates one launch of each cluster, and
// takes its CPI for that of the others; that is what a target of 0 does.
//
// Where the size of a launch changes from one to the next, as in eliminations and searches, nearly every
// launch is a cluster of its own. Time is then a smooth function of the features, and only as many clusters
// are simulated as it takes to know it (krige.c). For this there are four more features: where in the grid
// the work is, because when it is in the last blocks the GPU runs empty for longer; how large the largest
// block is, because the launch takes at least as long; and which share of its requests is for lines that no
// launch before has touched, because these come from memory however large L2 is; and whether it is the first
// of its kernel, whose code comes from memory too.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample/sample.h"

enum { FEATURES = ORR_SP_FEATURES };

#define UNEQUAL 0.01 // coefficient of variation of blocks' sizes
#define MANY    400 // clusters of a kernel among which those to simulate are chosen: time grows with the square

// What a launch weighs besides its warp instructions: about as many as a GPU executes in the microseconds
// that even an empty launch takes (5 us of 50 SMs with a third of an instruction a cycle).
#define LAUNCHING 1e5

// Warp instructions times the place of their block in the grid, 0 to 1.
static double place_of(const orr_sp_launch *l) {
    double sum = 0, at = 0;
    for (uint32_t r = 0; r < l->nruns; r++) {
        double n = (double)l->runs[r].count;
        sum += n * (double)l->runs[r].insts * (at + n / 2);
        at += n;
    }
    return l->blocks ? sum / (double)l->blocks : 0;
}

static double largest_of(const orr_sp_launch *l) {
    uint64_t most = 0;
    for (uint32_t r = 0; r < l->nruns; r++)
        if (l->runs[r].insts > most) most = l->runs[r].insts;
    return (double)most;
}

#define LARGEST 1e6 // of a feature: squares of it must not lose all others
static double ratio(double a, double b) { return b > 0 ? fmin(a / b, LARGEST) : 0; }

// Its averages over the launches of a kernel are those of `sum` over n.
static void vector_of(const orr_sp_launch *l, const double sum[4], size_t n, bool all, double v[FEATURES]) {
    v[0] = ratio((double)l->thread_insts * (double)n, sum[0]);
    v[1] = ratio((double)l->warp_insts * (double)n, sum[1]);
    v[2] = ratio((double)l->requests * (double)n, sum[2]);
    v[3] = fmin(fmax(l->cov, 0), LARGEST);
    v[4] = all ? ratio(place_of(l) * (double)n, sum[1]) : 0;
    v[5] = all ? ratio(largest_of(l) * (double)n, sum[3]) : 0;
    v[6] = all ? fmin(ratio((double)l->first, (double)l->requests), 1) : 0;
}

typedef struct kernel { // the launches of one
    const orr_sampling_profile *p;
    size_t n;
    uint32_t *member; // launch of the profile
    double *v;        // vectors
    uint32_t *cluster;
    uint32_t nclusters;
    uint32_t *rep; // by cluster: place in member and v
    double *count; // by cluster: launches
    double *rep_v; // by cluster: vector of rep
    double weight; // warp instructions of all, and what their launching weighs
    orr_krige field;
} kernel;

// The member nearest the centre of each cluster; of several equally near the one in the middle, which has
// neither the first launch's cold caches nor is it the last.
static void find_representatives(kernel *k) {
    uint32_t *near = orr_calloc(k->nclusters + 1, sizeof *near);
    double *centre = orr_calloc((size_t)k->nclusters * FEATURES + 1, sizeof *centre);
    double *best = orr_malloc((k->nclusters + 1) * sizeof *best),
           *apart = orr_malloc((k->n + 1) * sizeof *apart);
    k->rep = orr_calloc(k->nclusters + 1, sizeof *k->rep);
    k->count = orr_calloc(k->nclusters + 1, sizeof *k->count);
    k->rep_v = orr_malloc(((size_t)k->nclusters * FEATURES + 1) * sizeof *k->rep_v);
    for (size_t i = 0; i < k->n; i++) k->count[k->cluster[i]]++;
    for (size_t i = 0; i < k->n * FEATURES; i++) {
        uint32_t c = k->cluster[i / FEATURES];
        centre[c * FEATURES + i % FEATURES] += k->v[i] / k->count[c];
    }
    for (uint32_t c = 0; c < k->nclusters; c++) best[c] = INFINITY;
    for (size_t i = 0; i < k->n; i++) {
        uint32_t c = k->cluster[i];
        apart[i] = 0;
        for (int f = 0; f < FEATURES; f++)
            apart[i] += pow(k->v[i * FEATURES + f] - centre[c * FEATURES + f], 2);
        best[c] = fmin(best[c], apart[i]);
    }
    for (uint32_t c = 0; c < k->nclusters; c++) best[c] = best[c] * (1 + 1e-9) + 1e-18;
    for (size_t i = 0; i < k->n; i++) near[k->cluster[i]] += apart[i] <= best[k->cluster[i]];
    for (uint32_t c = 0; c < k->nclusters; c++) near[c] = near[c] / 2 + 1; // the how manieth is taken
    for (size_t i = 0; i < k->n; i++)
        if (apart[i] <= best[k->cluster[i]] && near[k->cluster[i]] && !--near[k->cluster[i]])
            k->rep[k->cluster[i]] = (uint32_t)i;
    for (uint32_t c = 0; c < k->nclusters; c++)
        memcpy(k->rep_v + (size_t)c * FEATURES, k->v + (size_t)k->rep[c] * FEATURES, FEATURES * sizeof *k->v);
    free(apart);
    free(best);
    free(centre);
    free(near);
}

static void find_clusters(kernel *k, double threshold, bool few) {
    const orr_sampling_profile *p = k->p;
    double sum[4] = {0};
    for (size_t i = 0; i < k->n; i++) {
        const orr_sp_launch *l = &p->launches.at[k->member[i]];
        sum[0] += (double)l->thread_insts;
        sum[1] += (double)l->warp_insts;
        sum[2] += (double)l->requests;
        sum[3] += largest_of(l);
    }
    k->weight = sum[1] + (double)k->n * LAUNCHING;
    k->v = orr_malloc((k->n + 1) * FEATURES * sizeof *k->v);
    k->cluster = orr_malloc((k->n + 1) * sizeof *k->cluster);
    for (size_t i = 0; i < k->n; i++) {
        vector_of(&p->launches.at[k->member[i]], sum, k->n, few, k->v + i * FEATURES);
        k->v[i * FEATURES + FEATURES - 1] = few && i == 0;
    }
    do {
        k->nclusters = orr_cluster(k->v, k->n, FEATURES, threshold, k->cluster);
        threshold *= 2;
    } while (few && k->nclusters > MANY);
}

static bool all_equal(const kernel *k) {
    for (size_t i = 1; i < k->n; i++) {
        const orr_sp_launch *a = &k->p->launches.at[k->member[0]], *b = &k->p->launches.at[k->member[i]];
        if (a->nruns != b->nruns || (a->nruns && memcmp(a->runs, b->runs, a->nruns * sizeof *a->runs) != 0))
            return false;
    }
    return true;
}

// Where the blocks of a launch are unequal its time depends on which of them meet on an SM; not where the
// same ones meet in every launch.
static double noise_of(const kernel *k) {
    double cov = 0;
    for (size_t i = 0; i < k->n; i++) cov += k->p->launches.at[k->member[i]].cov / (double)k->n;
    return cov > UNEQUAL && !all_equal(k) ? ORR_SP_UNEVEN : ORR_SP_ALIKE;
}

static orr_plan_part *parts_of(orr_plan *plan, uint32_t launch, uint32_t cluster, uint32_t n) {
    orr_plan_launch *l = &plan->launches[launch];
    *l = (orr_plan_launch){cluster, launch, n, orr_arena_alloc(&plan->arena, n * sizeof *l->parts)};
    return l->parts;
}

// One launch of each cluster, by its CPI.
static void go_by_clusters(const kernel *k, orr_plan *plan) {
    for (size_t i = 0; i < k->n; i++) {
        uint32_t by = k->member[k->rep[k->cluster[i]]], l = k->member[i];
        double insts = (double)k->p->launches.at[by].warp_insts;
        orr_plan_part *part = parts_of(plan, l, plan->nclusters + k->cluster[i], 1);
        *part = (orr_plan_part){by, insts > 0 ? (double)k->p->launches.at[l].warp_insts / insts : 1};
        plan->launches[l].by = by;
    }
    plan->nsimulated += k->nclusters;
}

// Of those simulated a weighted sum; `by` is the one that weighs most.
static void go_by_krige(kernel *k, orr_plan *plan) {
    const orr_krige *f = &k->field;
    double *w = orr_malloc((f->nchosen + 1) * sizeof *w);
    for (size_t i = 0; i < k->n; i++) {
        uint32_t l = k->member[i], most = 0;
        orr_plan_part *part = parts_of(plan, l, plan->nclusters + k->cluster[i], f->nchosen);
        orr_krige_weights(f, k->v + i * FEATURES, w);
        for (uint32_t j = 0; j < f->nchosen; j++) {
            part[j] = (orr_plan_part){k->member[k->rep[f->chosen[j]]], w[j]};
            if (fabs(w[j]) > fabs(w[most])) most = j;
        }
        plan->launches[l].by = part[most].launch;
    }
    for (uint32_t j = 0; j < f->nchosen; j++) { // those simulated are what they are
        uint32_t l = k->member[k->rep[f->chosen[j]]];
        plan->launches[l].parts[0] = (orr_plan_part){l, 1};
        plan->launches[l].nparts = 1;
        plan->launches[l].by = l;
    }
    plan->nsimulated += f->nchosen;
    free(w);
}

orr_plan orr_plan_make(const orr_sampling_profile *p, double threshold, double target) {
    size_t all = p->launches.n;
    uint32_t nkernels = (uint32_t)p->kernels.n;
    orr_plan plan = {.launches = orr_calloc(all + 1, sizeof *plan.launches)};
    kernel *kernels = orr_calloc(nkernels + 1, sizeof *kernels);
    orr_krige *fields = orr_calloc(nkernels + 1, sizeof *fields);
    double all_weight = 0;
    plan.kernels = orr_arena_alloc(&plan.arena, (nkernels + 1) * sizeof *plan.kernels);
    for (uint32_t n = 0; n < nkernels; n++) {
        kernel *k = &kernels[n];
        k->p = p;
        k->member = orr_malloc((all + 1) * sizeof *k->member);
        for (size_t l = 0; l < all; l++)
            if (p->launches.at[l].kernel == n) k->member[k->n++] = (uint32_t)l;
        find_clusters(k, threshold, target > 0);
        all_weight += k->weight;
    }
    for (uint32_t n = 0; n < nkernels; n++) {
        kernel *k = &kernels[n];
        double weight = k->weight / all_weight;
        find_representatives(k);
        if (target > 0) orr_krige_begin(&fields[n], k->rep_v, k->count, k->nclusters, weight);
        fields[n].noise = noise_of(k);
    }
    if (target > 0) orr_krige_choose(fields, nkernels, target);
    for (uint32_t n = 0; n < nkernels; n++) {
        kernel *k = &kernels[n];
        k->field = fields[n];
        plan.variance += fields[n].variance;
        plan.kernels[n] = fields[n].variance * pow(all_weight / k->weight, 2);
        if (target > 0) {
            orr_krige_end(&k->field);
            go_by_krige(k, &plan);
            orr_krige_free(&k->field);
        } else {
            go_by_clusters(k, &plan);
        }
        plan.nclusters += k->nclusters;
        free(k->member);
        free(k->v);
        free(k->cluster);
        free(k->rep);
        free(k->count);
        free(k->rep_v);
    }
    free(fields);
    free(kernels);
    return plan;
}

void orr_plan_free(orr_plan *p) {
    free(p->launches);
    orr_arena_free(&p->arena);
    *p = (orr_plan){0};
}
