// What a sweep's grid shows: how much each key matters, where more of it stops to help, and which points are
// worth their hardware.
#include "sweep/sweep.h"

#include "gpu/keys.h"

#include <math.h>
#include <string.h>

#define KNEE       1.05 // of the best
#define MOST_FRONT 20000

const char *orr_axis_unit(const orr_axis *x) {
    return *x->unit || x->script || !x->numeric ? x->unit : orr_gpu_key_unit(x->key);
}

// Of times less is dearer: a latency is bought.
static bool less_is_dearer(const orr_axis *x) {
    static const char *const times[] = {"cycles", "clocks", "us", "ns", "ms"};
    const char *unit = orr_axis_unit(x);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (strcmp(unit, times[i]) == 0) return true;
    return false;
}

// ---- one key ----------------------------------------------------------------------------------------
// The points of one combination of all other keys are `stride` apart.
static size_t stride_of(const orr_grid *g, int axis) {
    size_t n = 1;
    for (int k = axis + 1; k < g->naxes; k++) n *= (size_t)g->axes[k].n;
    return n;
}

// Does point k begin a row along the axis?
static bool begins(const orr_grid *g, size_t k, int axis) { return orr_grid_at(g, k, axis) == 0; }

static int find_knee(const orr_axis *x, const double *mean) {
    if (!x->numeric || x->n < 3) return -1;
    int found = -1;
    for (int i = 0; i < x->n; i++) {
        if (!(mean[i] <= KNEE)) continue;
        bool cheaper = found < 0 || (less_is_dearer(x) ? x->numbers[i] > x->numbers[found]
                                                       : x->numbers[i] < x->numbers[found]);
        if (cheaper) found = i;
    }
    return found;
}

orr_axis_effect orr_sweep_effect(const orr_sweep_job *s, const orr_sweep_summary *sum, int axis,
                                 orr_arena *a) {
    const orr_grid *g = s->grid;
    const orr_axis *x = &g->axes[axis];
    size_t stride = stride_of(g, axis), rows = 0;
    double *logs = orr_arena_alloc(a, (size_t)x->n * sizeof *logs), spread = 0;
    orr_axis_effect r = {.spread = NAN, .best = -1, .knee = -1, .mean = logs};
    for (size_t k = 0; k < g->npoints; k++) {
        if (!begins(g, k, axis)) continue;
        double low = INFINITY, high = 0;
        bool whole = true;
        for (int i = 0; i < x->n; i++) {
            double v = orr_sweep_measure(sum, &s->points[k + (size_t)i * stride]);
            whole &= v > 0;
            low = v < low ? v : low;
            high = v > high ? v : high;
        }
        if (!whole) continue; // a point failed: the rows that are whole tell
        for (int i = 0; i < x->n; i++)
            logs[i] += log(orr_sweep_measure(sum, &s->points[k + (size_t)i * stride]));
        spread += log(high / low);
        rows++;
    }
    if (!rows) {
        for (int i = 0; i < x->n; i++) logs[i] = NAN;
        return r;
    }
    r.spread = exp(spread / (double)rows);
    r.best = 0;
    for (int i = 1; i < x->n; i++)
        if (logs[i] < logs[r.best]) r.best = i;
    double best = logs[r.best];
    for (int i = 0; i < x->n; i++) logs[i] = exp((logs[i] - best) / (double)rows);
    r.knee = find_knee(x, logs);
    return r;
}

// ---- all of them ------------------------------------------------------------------------------------
// Is point b at most as dear as a, in every key, and of the same problem? *less: and less dear in some.
static bool as_cheap(const orr_sweep_job *s, size_t b, size_t a, bool *less) {
    const orr_grid *g = s->grid;
    *less = false;
    for (int k = 0; k < g->naxes; k++) {
        const orr_axis *x = &g->axes[k];
        int i = orr_grid_at(g, b, k), j = orr_grid_at(g, a, k);
        if (x->script && i != j) return false;
        if (x->script || !x->numeric || i == j) continue;
        bool dearer = less_is_dearer(x) ? x->numbers[i] < x->numbers[j] : x->numbers[i] > x->numbers[j];
        if (dearer) return false;
        *less = true;
    }
    return true;
}

size_t orr_sweep_front(const orr_sweep_job *s, const orr_sweep_summary *sum, bool *on) {
    const orr_grid *g = s->grid;
    bool costs = false;
    size_t n = 0;
    memset(on, 0, g->npoints * sizeof *on);
    for (int k = 0; k < g->naxes; k++) costs |= g->axes[k].numeric && !g->axes[k].script;
    if (!costs || g->npoints > MOST_FRONT) return 0;
    for (size_t a = 0; a < g->npoints; a++) {
        double mine = orr_sweep_measure(sum, &s->points[a]);
        bool beaten = isnan(mine);
        for (size_t b = 0; b < g->npoints && !beaten; b++) {
            bool less;
            double theirs = orr_sweep_measure(sum, &s->points[b]);
            if (b == a || isnan(theirs) || theirs > mine || !as_cheap(s, b, a, &less)) continue;
            beaten = theirs < mine || less;
        }
        n += on[a] = !beaten;
    }
    return n;
}
