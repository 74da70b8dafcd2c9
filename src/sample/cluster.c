// Hierarchical clustering with complete linkage, cut at a distance.
//
// The distance of two clusters is the largest between their points, so the threshold is what TBPoint says it
// is: the maximum distance between any two points of a cluster. Clusters are merged nearest first, as long as
// the nearest are not further apart than the threshold.
//
// Launches come in tens of thousands, many of them equal. Equal points are one from the start; what is left
// is worked off by the nearest-neighbour chain (F. Murtagh, "A survey of recent advances in hierarchical
// clustering algorithms", 1983): follow nearest neighbours until two are each other's, merge them, go on from
// what is left of the chain. That takes time proportional to n^2 and gives the same tree as searching for the
// globally nearest pair. With more than MANY different points the table of distances would be too large:
// points in one cell of a fine grid are taken as one first, and their spread is added to every distance, so
// that the threshold still holds. Where even that leaves too many, they are clustered MANY at a time,
// neighbours in the first coordinate together.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample/sample.h"

#define MANY 6000 // different points: 72 MB of distances
#define DIMS 8

typedef struct spot { // points taken as one
    size_t first;     // its first point: where it is
    double radius;    // the furthest of the others
    uint32_t cell;    // hash chain
} spot;

typedef struct field {
    const double *points;
    size_t n;
    int dims;
    ORR_VEC(spot) spots;
    uint32_t *spot_of; // [n]
} field;

static double distance(const field *f, size_t a, size_t b) {
    double d = 0;
    for (int k = 0; k < f->dims; k++) {
        double x = f->points[a * (size_t)f->dims + (size_t)k] - f->points[b * (size_t)f->dims + (size_t)k];
        d += x * x;
    }
    return sqrt(d);
}

// Points of one cell of a grid (side 0: equal points) are one spot.
static void make_spots(field *f, double side) {
    size_t buckets = 1024;
    while (buckets < f->n * 2) buckets *= 2;
    uint32_t *bucket = orr_calloc(buckets, sizeof *bucket); // spot + 1
    ORR_VEC(int64_t) cells = {0};                           // [spot][dims]
    f->spots.n = 0;
    for (size_t i = 0; i < f->n; i++) {
        int64_t cell[DIMS] = {0};
        for (int k = 0; k < f->dims; k++) {
            double x = f->points[i * (size_t)f->dims + (size_t)k];
            if (side > 0)
                cell[k] = (int64_t)floor(fmin(fmax(x / side, -1e18), 1e18));
            else
                memcpy(&cell[k], &x, sizeof x);
        }
        uint64_t h = orr_hash64(cell, (size_t)f->dims * sizeof *cell, 1) & (buckets - 1);
        uint32_t s = bucket[h];
        while (s && cells.at &&
               memcmp(&cells.at[(s - 1) * (size_t)f->dims], cell, (size_t)f->dims * sizeof *cell) != 0)
            s = f->spots.at[s - 1].cell;
        if (!s) {
            *ORR_PUSH(&f->spots) = (spot){.first = i, .cell = bucket[h]};
            s = bucket[h] = (uint32_t)f->spots.n;
            for (int k = 0; k < f->dims; k++) *ORR_PUSH(&cells) = cell[k];
        }
        if (!f->spots.at) break; // cannot be: one was just made
        double d = distance(f, f->spots.at[s - 1].first, i);
        if (d > f->spots.at[s - 1].radius) f->spots.at[s - 1].radius = d;
        f->spot_of[i] = s - 1;
    }
    free(cells.at);
    free(bucket);
}

// Distances of i > j at i (i - 1) / 2 + j.
static float *at(float *d, size_t i, size_t j) {
    return i > j ? &d[i * (i - 1) / 2 + j] : &d[j * (j - 1) / 2 + i];
}

static void fill(const field *f, const uint32_t *which, size_t n, float *d) {
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            const spot *a = &f->spots.at[which[i]], *b = &f->spots.at[which[j]];
            *at(d, i, j) = (float)(distance(f, a->first, b->first) + a->radius + b->radius);
        }
}

typedef struct chained { // the spots of one table, by place in it
    float *d;
    uint32_t *live, *place, *chain; // clusters left, where each is in `live`, and the chain
    size_t left, len;
} chained;

static void take_out(chained *c, uint32_t which) {
    uint32_t last = c->live[--c->left];
    c->live[c->place[which]] = last;
    c->place[last] = c->place[which];
}

// The nearest of those left; of several the one the chain came from, so that it ends.
static uint32_t nearest(const chained *c, uint32_t from, float *how_far) {
    uint32_t best = c->len > 1 ? c->chain[c->len - 2] : UINT32_MAX;
    *how_far = best == UINT32_MAX ? INFINITY : *at(c->d, from, best);
    for (size_t k = 0; k < c->left; k++) {
        if (c->live[k] == from) continue;
        float x = *at(c->d, from, c->live[k]);
        if (x >= *how_far) continue;
        *how_far = x;
        best = c->live[k];
    }
    return best;
}

// Merges n spots; to[spot] says into which other one each went, -1: it stands for its cluster.
static void merge(const field *f, const uint32_t *which, size_t n, double threshold, int64_t *to) {
    chained c = {.left = n};
    c.d = orr_malloc((n * (n - 1) / 2 + 1) * sizeof *c.d);
    c.live = orr_malloc((n + 1) * sizeof *c.live);
    c.place = orr_malloc((n + 1) * sizeof *c.place);
    c.chain = orr_malloc((n + 1) * sizeof *c.chain);
    fill(f, which, n, c.d);
    for (size_t i = 0; i < n; i++) {
        c.live[i] = c.place[i] = (uint32_t)i;
        to[which[i]] = -1;
    }
    float most = (float)(threshold * (1 + 1e-6) + 1e-12); // single precision: a hair more is the threshold
    while (c.left > 0) {
        if (!c.len) c.chain[c.len++] = c.live[0];
        float how_far;
        uint32_t from = c.chain[c.len - 1], best = nearest(&c, from, &how_far);
        if (best == UINT32_MAX || how_far > most) { // and no merge of others brings them nearer
            take_out(&c, from);
            c.len--;
        } else if (c.len > 1 && best == c.chain[c.len - 2]) {
            for (size_t k = 0; k < c.left; k++) {
                if (c.live[k] == best || c.live[k] == from) continue;
                float *x = at(c.d, best, c.live[k]), y = *at(c.d, from, c.live[k]);
                if (y > *x) *x = y;
            }
            to[which[from]] = which[best];
            take_out(&c, from);
            c.len -= 2;
        } else {
            c.chain[c.len++] = best;
        }
    }
    free(c.chain);
    free(c.place);
    free(c.live);
    free(c.d);
}

typedef struct placed {
    double x;
    uint32_t spot;
} placed;
static int by_place(const void *a, const void *b) {
    const placed *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return p->spot < q->spot ? -1 : p->spot > q->spot;
}

static void merge_all(const field *f, double threshold, int64_t *to) {
    size_t n = f->spots.n;
    placed *order = orr_malloc(n * sizeof *order);
    uint32_t *which = orr_malloc(n * sizeof *which);
    for (size_t s = 0; s < n; s++)
        order[s] = (placed){f->points[f->spots.at[s].first * (size_t)f->dims], (uint32_t)s};
    if (n > MANY) qsort(order, n, sizeof *order, by_place);
    for (size_t s = 0; s < n; s++) which[s] = order[s].spot;
    for (size_t s = 0; s < n; s += MANY) merge(f, which + s, n - s < MANY ? n - s : MANY, threshold, to);
    free(which);
    free(order);
}

uint32_t orr_cluster(const double *points, size_t n, int dims, double threshold, uint32_t *cluster) {
    field f = {.points = points, .n = n, .dims = dims > DIMS ? DIMS : dims};
    if (!n) return 0;
    f.spot_of = orr_malloc(n * sizeof *f.spot_of);
    make_spots(&f, 0);
    double most = threshold / 2 / sqrt(f.dims); // the side of a cell that is nowhere wider than half of it
    for (int part = 32; part >= 1 && f.spots.n > MANY && most > 0; part /= 2) make_spots(&f, most / part);
    int64_t *to = orr_malloc(f.spots.n * sizeof *to);
    merge_all(&f, threshold, to);
    uint32_t *number = orr_malloc(f.spots.n * sizeof *number), next = 0;
    for (size_t s = 0; s < f.spots.n; s++) number[s] = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        size_t s = f.spot_of[i];
        while (to[s] >= 0) s = (size_t)to[s];
        if (number[s] == UINT32_MAX) number[s] = next++;
        cluster[i] = number[s];
    }
    free(number);
    free(to);
    free(f.spots.at);
    free(f.spot_of);
    return next;
}
