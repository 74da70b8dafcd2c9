// Which launches are simulated: those of a kernel that look alike are represented by one (TBPoint, section
// III).
//
// A launch is a vector of four: its thread instructions, warp instructions and memory requests, each as a
// share of the kernel's average, and the coefficient of variation of its thread blocks' sizes (eq. 2).
// Different kernels are never put together, whatever their vectors.
//
// TBPoint simulates one launch of each cluster. Two things are added (`between` = 0 leaves them out):
//
// Launches of a cluster have the same totals, and still the work may wander through the grid, as the frontier
// of bfs does, and time with it. Where blocks of a launch differ, one launch stands for ORR_SP_MANY at most:
// the cluster is cut in time, and a launch goes by the simulated ones before and after it. Launches that are
// equal block by block are one, however many, and in those whose blocks are alike no work can wander.
//
// Where the size of a launch changes from one to the next, as in eliminations and searches, there are
// clusters without end, in a row. One that is between two others, no further from the straight line between
// their representatives than the threshold, is not simulated: a launch in it takes what it would on that
// line. Time is very nearly a linear function of such a launch's work; CPI is not, because of what a launch
// costs without any. For the same reason launches of a cluster differ in size by half at most.
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
// neither the first launch's cold caches nor is it the last. Where time may wander (`cut`) it is one of the
// middle half in order of time: the first would stand for a slope by its foot.
static uint32_t representative(const double *v, const uint32_t *members, size_t n, bool cut) {
    double centre[FEATURES] = {0}, best = INFINITY;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < FEATURES; k++) centre[k] += v[members[i] * FEATURES + k] / (double)n;
    if (cut) {
        members += n / 4;
        n -= 2 * (n / 4);
    }
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

typedef struct group {  // a cluster
    uint32_t first, n;  // its launches: places in kernel.of
    uint32_t parts;     // each has a representative, in kernel.rep from `first` on
    uint32_t middle;    // the one of them in the middle
    uint32_t low, high; // groups that it is between; itself: it is simulated
} group;

typedef struct kernel { // the launches of one
    const orr_sampling_profile *p;
    size_t n;
    uint32_t *member; // launch of the profile
    double *v;        // vectors
    uint32_t *of;     // places in member and v, group by group, in order of time
    uint32_t *rep;
    group *groups;
    uint32_t ngroups;
} kernel;

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// How many of a group's launches differ in any of their blocks.
static uint32_t different(const kernel *k, const group *g) {
    uint64_t *hash = orr_malloc((g->n + 1) * sizeof *hash);
    for (uint32_t i = 0; i < g->n; i++) {
        const orr_sp_launch *l = &k->p->launches.at[k->member[k->of[g->first + i]]];
        hash[i] = l->nruns ? orr_hash64(l->runs, l->nruns * sizeof *l->runs, 0) : 0;
    }
    qsort(hash, g->n, sizeof *hash, by_value);
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->n; i++) count += !i || hash[i] != hash[i - 1];
    free(hash);
    return count;
}

static void find_representatives(kernel *k, group *g, bool cut) {
    const uint32_t *of = k->of + g->first;
    double cov = 0;
    for (uint32_t i = 0; i < g->n; i++) cov += k->v[of[i] * FEATURES + 3] / g->n;
    cut = cut && cov > ORR_SP_WANDER;
    g->parts = cut ? (different(k, g) + ORR_SP_MANY - 1) / ORR_SP_MANY : 1;
    for (uint32_t part = 0; part < g->parts; part++) {
        size_t from = (size_t)g->n * part / g->parts, to = (size_t)g->n * (part + 1) / g->parts;
        k->rep[g->first + part] = representative(k->v, of + from, to - from, cut);
    }
    g->middle = k->rep[g->first + g->parts / 2];
}

static double distance(const double *a, const double *b) {
    double d = 0;
    for (int k = 0; k < FEATURES; k++) d += pow(a[k] - b[k], 2);
    return sqrt(d);
}

// Where on the way from a to b is nearest to x, 0 to 1, and how far that is.
static double along(const double *x, const double *a, const double *b, double *apart) {
    double dot = 0, len = 0, t, spot[FEATURES];
    for (int k = 0; k < FEATURES; k++) {
        dot += (x[k] - a[k]) * (b[k] - a[k]);
        len += (b[k] - a[k]) * (b[k] - a[k]);
    }
    t = len > 0 ? fmin(fmax(dot / len, 0), 1) : 0;
    for (int k = 0; k < FEATURES; k++) spot[k] = a[k] + t * (b[k] - a[k]);
    *apart = distance(x, spot);
    return t;
}

typedef struct sized {
    double size;
    uint32_t group;
} sized;
static int by_size(const void *a, const void *b) {
    const sized *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return x->group < y->group ? -1 : x->group > y->group;
}

static const double *vector_in(const kernel *k, const sized *s) {
    return k->v + (size_t)k->groups[s->group].middle * FEATURES;
}

// Are all groups between the first and the last of these near the line between them?
static bool all_between(const kernel *k, const sized *s, uint32_t n, double threshold) {
    for (uint32_t i = 1; i + 1 < n; i++) {
        double apart;
        along(vector_in(k, &s[i]), vector_in(k, &s[0]), vector_in(k, &s[n - 1]), &apart);
        if (apart > threshold || k->groups[s[i].group].parts > 1) return false;
    }
    return true;
}

// Groups by their size in warp instructions; from each as far as those in between are near the line.
#define AHEAD 64 // groups that are looked at, so that time does not grow with the square of their number
static void find_lines(kernel *k, double threshold, double between) {
    uint32_t n = k->ngroups;
    sized *s = orr_malloc((n + 1) * sizeof *s);
    for (uint32_t g = 0; g < n; g++) s[g] = (sized){k->v[(size_t)k->groups[g].middle * FEATURES + 1], g};
    qsort(s, n, sizeof *s, by_size);
    for (uint32_t i = 0; i + 1 < n;) {
        uint32_t best = i + 1;
        for (uint32_t j = i + 2; j < n && j - i <= AHEAD && s[j].size - s[i].size <= between; j++)
            if (distance(vector_in(k, &s[i]), vector_in(k, &s[j])) <= between &&
                all_between(k, s + i, j - i + 1, threshold))
                best = j;
        for (uint32_t j = i + 1; j < best; j++) {
            k->groups[s[j].group].low = s[i].group;
            k->groups[s[j].group].high = s[best].group;
        }
        i = best;
    }
    free(s);
}

// The launches of a group that goes by two others.
static void go_between(const kernel *k, const group *g, uint32_t cluster, orr_plan *plan) {
    uint32_t low = k->groups[g->low].middle, high = k->groups[g->high].middle;
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t one = k->of[g->first + i];
        double apart, t = along(k->v + (size_t)one * FEATURES, k->v + (size_t)low * FEATURES,
                                k->v + (size_t)high * FEATURES, &apart);
        plan->launches[k->member[one]] = (orr_plan_launch){cluster, k->member[low], k->member[high], t};
    }
}

// Those of one that is simulated: by the representatives before and after each in time.
static void go_by_own(const kernel *k, const group *g, uint32_t cluster, orr_plan *plan) {
    uint32_t next = 0;
    const uint32_t *rep = k->rep + g->first;
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t l = k->member[k->of[g->first + i]];
        while (next < g->parts && k->member[rep[next]] < l) next++;
        uint32_t after = k->member[rep[next < g->parts ? next : g->parts - 1]];
        uint32_t before = next && after > l ? k->member[rep[next - 1]] : after;
        double t = after > before ? (double)(l - before) / (double)(after - before) : 0;
        plan->launches[l] = (orr_plan_launch){cluster, before, after, t};
    }
    plan->nsimulated += g->parts;
}

typedef struct place {
    uint32_t cluster, step, launch; // step: sizes from a power of ORR_SP_RATIO times the cluster's least on
} place;
static int by_step(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->cluster != y->cluster) return x->cluster < y->cluster ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

// Beside launches of a million instructions those of a hundred and of a thousand look alike, and yet the time
// of neither is that of the other times ten: clusters are cut by size.
static uint32_t cut_by_size(const kernel *k, uint32_t *cluster, uint32_t n) {
    double *least = orr_malloc((n + 1) * sizeof *least);
    place *p = orr_malloc((k->n + 1) * sizeof *p);
    for (uint32_t c = 0; c < n; c++) least[c] = INFINITY;
    for (size_t i = 0; i < k->n; i++) {
        double size = (double)k->p->launches.at[k->member[i]].warp_insts;
        if (size > 0) least[cluster[i]] = fmin(least[cluster[i]], size);
    }
    for (size_t i = 0; i < k->n; i++) {
        double size = (double)k->p->launches.at[k->member[i]].warp_insts;
        double steps = size > 0 ? log(size / least[cluster[i]]) / log(ORR_SP_RATIO) : 0;
        p[i] = (place){cluster[i], (uint32_t)steps, (uint32_t)i};
    }
    qsort(p, k->n, sizeof *p, by_step);
    uint32_t next = 0;
    for (size_t i = 0; i < k->n; i++) {
        if (i && by_step(&p[i - 1], &p[i]) != 0) next++;
        cluster[p[i].launch] = next;
    }
    free(p);
    free(least);
    return k->n ? next + 1 : 0;
}

static void plan_kernel(kernel *k, double threshold, double between, orr_plan *plan) {
    const orr_sampling_profile *p = k->p;
    uint32_t *cluster = orr_malloc((k->n + 1) * sizeof *cluster);
    double average[3] = {0};
    for (size_t i = 0; i < k->n; i++) {
        const orr_sp_launch *l = &p->launches.at[k->member[i]];
        average[0] += (double)l->thread_insts / (double)k->n;
        average[1] += (double)l->warp_insts / (double)k->n;
        average[2] += (double)l->requests / (double)k->n;
    }
    for (size_t i = 0; i < k->n; i++) vector_of(&p->launches.at[k->member[i]], average, k->v + i * FEATURES);
    k->ngroups = orr_cluster(k->v, k->n, FEATURES, threshold, cluster);
    if (between > 0) k->ngroups = cut_by_size(k, cluster, k->ngroups);
    k->groups = orr_calloc(k->ngroups + 1, sizeof *k->groups);
    for (size_t i = 0; i < k->n; i++) k->groups[cluster[i]].n++;
    for (uint32_t g = 1; g < k->ngroups; g++)
        k->groups[g].first = k->groups[g - 1].first + k->groups[g - 1].n;
    uint32_t *next = orr_malloc((k->ngroups + 1) * sizeof *next);
    for (uint32_t g = 0; g < k->ngroups; g++) next[g] = k->groups[g].first;
    for (size_t i = 0; i < k->n; i++) k->of[next[cluster[i]]++] = (uint32_t)i;
    for (uint32_t g = 0; g < k->ngroups; g++) {
        k->groups[g].low = k->groups[g].high = g;
        find_representatives(k, &k->groups[g], between > 0);
    }
    if (between > 0) find_lines(k, threshold, between);
    for (uint32_t g = 0; g < k->ngroups; g++)
        if (k->groups[g].low == g)
            go_by_own(k, &k->groups[g], plan->nclusters + g, plan);
        else
            go_between(k, &k->groups[g], plan->nclusters + g, plan);
    plan->nclusters += k->ngroups;
    free(next);
    free(k->groups);
    free(cluster);
}

orr_plan orr_plan_make(const orr_sampling_profile *p, double threshold, double between) {
    size_t all = p->launches.n;
    orr_plan plan = {.launches = orr_calloc(all + 1, sizeof *plan.launches)};
    kernel k = {.p = p};
    k.member = orr_malloc((all + 1) * sizeof *k.member);
    k.of = orr_malloc((all + 1) * sizeof *k.of);
    k.rep = orr_malloc((all + 1) * sizeof *k.rep);
    k.v = orr_malloc((all + 1) * FEATURES * sizeof *k.v);
    for (uint32_t which = 0; which < p->kernels.n; which++) {
        k.n = 0;
        for (size_t l = 0; l < all; l++)
            if (p->launches.at[l].kernel == which) k.member[k.n++] = (uint32_t)l;
        plan_kernel(&k, threshold, between, &plan);
    }
    free(k.v);
    free(k.rep);
    free(k.of);
    free(k.member);
    return plan;
}

void orr_plan_free(orr_plan *p) {
    free(p->launches);
    *p = (orr_plan){0};
}
