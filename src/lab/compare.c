// Predicted against measured: rows of measurements become points, a model's results are put beside them, and
// the figures are made.
//
// A launch is one point however often it was measured: the median counts, the ends are kept. All launches of
// a kernel in one script and size are one point too, and the figures that are said first are over those:
// otherwise a script that launches one kernel four hundred times would outvote sixty others. A point is never
// left out of a figure that can be made for it; one without a prediction is counted and named.
#include "lab/lab.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOTHING ((double)NAN)

// ---- from rows to launches --------------------------------------------------------------------
static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static orr_value of_repeats(double *v, size_t n) {
    orr_value x = {NOTHING, NOTHING, NOTHING, NOTHING};
    if (!n) return x;
    qsort(v, n, sizeof *v, by_value);
    x.measured = n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
    x.low = v[0];
    x.high = v[n - 1];
    return x;
}

// Numbers for texts, in order of first use.
static size_t number_of(orr_map *m, size_t *n, const char *key) {
    uintptr_t at = (uintptr_t)orr_map_get(m, key);
    if (at) return at - 1;
    orr_map_put(m, key, (void *)(uintptr_t)++ * n);
    return *n - 1;
}

typedef struct place { // of a row: its group and its launch, both numbered in order of first appearance
    size_t group, launch, row;
} place;

static int by_place(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->launch != y->launch) return x->launch < y->launch ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static place *place_rows(const orr_hardware *h) {
    orr_map groups = {0}, launches = {0};
    size_t n = h->rows.n, ngroups = 0, nlaunches = 0;
    place *places = orr_calloc(n, sizeof *places);
    orr_text key = {0};
    for (size_t r = 0; r < n; r++) {
        const orr_measured *m = &h->rows.at[r];
        key.n = 0;
        orr_text_add(&key, "%s\n%s\n%s", m->script, m->size, m->cache);
        places[r].row = r;
        places[r].group = number_of(&groups, &ngroups, key.s);
        orr_text_add(&key, "\n%u\n%s\n%u %u %u %u %u %u", m->launch, m->kernel, m->grid[0], m->grid[1],
                     m->grid[2], m->block[0], m->block[1], m->block[2]);
        places[r].launch = number_of(&launches, &nlaunches, key.s);
    }
    free(key.s);
    orr_map_free(&groups);
    orr_map_free(&launches);
    qsort(places, n, sizeof *places, by_place);
    return places;
}

static void add_launch(orr_comparison *c, const orr_hardware *h, const place *rows, size_t n,
                       double *scratch) {
    const orr_measured *m = &h->rows.at[rows[0].row];
    orr_point *p = ORR_PUSH(&c->launches);
    *p = (orr_point){.script = m->script,
                     .size = m->size,
                     .cache = m->cache,
                     .kernel = m->kernel,
                     .launch = m->launch,
                     .launches = 1,
                     .repeats = (uint32_t)n,
                     .regs = m->regs,
                     .values = orr_arena_alloc(&c->arena, (c->ncounters + 1) * sizeof(orr_value)),
                     .failure = "not simulated"};
    memcpy(p->grid, m->grid, sizeof p->grid);
    memcpy(p->block, m->block, sizeof p->block);
    for (size_t k = 0; k < c->ncounters; k++) {
        size_t got = 0;
        for (size_t r = 0; r < n; r++) {
            double v = orr_hardware_get(h, &h->rows.at[rows[r].row], orr_counters[c->counters[k]].name);
            if (!isnan(v)) scratch[got++] = v;
        }
        p->values[k] = of_repeats(scratch, got);
    }
}

bool orr_compare_start(orr_comparison *c, const orr_hardware *h, orr_err *e) {
    *c = (orr_comparison){.hw_gpu = "", .hw_driver = "", .hw_date = ""};
    size_t n = h->rows.n;
    if (!n) return orr_fail(e, ORR_BAD_INPUT, "correlate: there are no measurements to compare with");
    const char *cycles = orr_counters[ORR_C_CYCLES].name;
    if (!orr_map_get(&h->index, cycles))
        return orr_fail(e, ORR_BAD_INPUT,
                        "correlate: %s was not measured; there is nothing to compare cycles with", cycles);
    c->hw_gpu = h->rows.at[0].gpu;
    c->hw_driver = h->rows.at[0].driver;
    c->hw_date = h->rows.at[0].date;
    c->counters[c->ncounters++] = ORR_C_CYCLES;
    for (int k = 0; k < ORR_COUNTERS; k++)
        if (k != ORR_C_CYCLES && orr_map_get(&h->index, orr_counters[k].name))
            c->counters[c->ncounters++] = k;
    place *at = place_rows(h);
    double *scratch = orr_calloc(n, sizeof *scratch);
    for (size_t r = 0, end; r < n; r = end) {
        for (end = r; end < n && at[end].launch == at[r].launch; end++) {}
        if (r == 0 || at[r].group != at[r - 1].group) {
            const orr_measured *m = &h->rows.at[at[r].row];
            *ORR_PUSH(&c->groups) = (orr_group){m->script, m->size, m->cache, c->launches.n, 0};
        }
        add_launch(c, h, &at[r], end - r, scratch);
        c->groups.at[c->groups.n - 1].n++;
    }
    free(at);
    free(scratch);
    return true;
}

void orr_compare_free(orr_comparison *c) {
    free(c->launches.at);
    free(c->kernels.at);
    free(c->groups.at);
    orr_arena_free(&c->arena);
    *c = (orr_comparison){0};
}

// ---- a model's results --------------------------------------------------------------------------
static bool same_launch(const orr_point *p, const orr_launch_result *l) {
    return !strcmp(p->kernel, l->kernel->name) && !memcmp(p->grid, l->grid, sizeof p->grid) &&
           !memcmp(p->block, l->block, sizeof p->block);
}

// A kernel may be at the same place of a loop with another shape, or another kernel be there, when the number
// of rounds depends on a race: then there are several points with that number, and at most one is this
// launch.
bool orr_compare_launch(orr_comparison *c, const orr_group *g, const orr_gpu *gpu,
                        const orr_launch_result *l) {
    bool wanted = false;
    for (size_t k = 0; k < g->n; k++) {
        orr_point *p = &c->launches.at[g->first + k];
        if (p->launch != l->index) continue;
        wanted = true;
        if (!same_launch(p, l)) {
            p->failure = orr_arena_printf(&c->arena, "in the simulation launch %u is %.60s, grid %u,%u,%u",
                                          l->index, l->kernel->name, l->grid[0], l->grid[1], l->grid[2]);
            continue;
        }
        orr_verdict v;
        p->failure = NULL;
        p->predicted_regs = l->kernel->regs;
        p->regular = l->kernel->effects.regular;
        if (l->timing) {
            p->stalls = orr_arena_alloc(&c->arena, ORR_STALLS * sizeof *p->stalls);
            for (int s = 0; s < ORR_STALLS; s++) p->stalls[s] = (double)l->timing->stalls[s];
        }
        if (gpu && orr_judge(gpu, l, &v)) p->bound = orr_bound_name[v.bound];
        for (size_t j = 0; j < c->ncounters; j++) {
            int id = c->counters[j];
            p->values[j].predicted = id == ORR_C_CYCLES ? l->cycles : l->counters ? l->counters[id] : NOTHING;
        }
        return true;
    }
    return !wanted;
}

void orr_compare_missing(orr_comparison *c, const orr_group *g, const char *why) {
    const char *copy = orr_arena_strdup(&c->arena, why);
    for (size_t k = 0; k < g->n; k++) {
        orr_point *p = &c->launches.at[g->first + k];
        if (p->failure && !strcmp(p->failure, "not simulated")) p->failure = copy;
    }
}

// ---- from launches to kernels ---------------------------------------------------------------------
// "gpc__cycles_elapsed.max" adds up; "sm__cycles_active.avg" does, being cycles; "...avg.per_second", ".pct",
// ".ratio" do not.
static bool adds_up(const char *metric) {
    const char *dot = strchr(metric, '.');
    return dot && (!strcmp(dot, ".sum") || !strcmp(dot, ".max") || !strcmp(dot, ".avg"));
}

static void sum_counter(const orr_comparison *c, size_t k, const orr_point *const *launches, size_t n,
                        orr_value *out) {
    bool adds = adds_up(orr_counters[c->counters[k]].name);
    double weight = 0, predicted_weight = 0;
    orr_value sum = {0, 0, 0, 0};
    size_t got = 0;
    for (size_t i = 0; i < n; i++) {
        const orr_value *v = &launches[i]->values[k], *cycles = &launches[i]->values[0];
        if (isnan(v->measured)) continue;
        double w = adds ? 1 : cycles->measured, pw = adds || isnan(cycles->predicted) ? 1 : cycles->predicted;
        if (isnan(w)) w = 1;
        sum.measured += w * v->measured;
        sum.low += w * v->low;
        sum.high += w * v->high;
        sum.predicted += pw * v->predicted; // NAN stays NAN
        weight += w;
        predicted_weight += pw;
        got++;
    }
    *out = (orr_value){NOTHING, NOTHING, NOTHING, NOTHING};
    if (!got) return;
    *out = sum;
    if (adds) return;
    out->measured = weight ? sum.measured / weight : 0;
    out->low = weight ? sum.low / weight : 0;
    out->high = weight ? sum.high / weight : 0;
    out->predicted = predicted_weight ? sum.predicted / predicted_weight : 0;
}

// Launches that have a prediction make the point; when none has, all of them, without one.
static void sum_kernel(orr_comparison *c, orr_point *kernel, const orr_point **launches, size_t n) {
    size_t good = 0;
    const orr_point *longest = launches[0];
    for (size_t i = 0; i < n; i++) {
        kernel->missing += launches[i]->failure != NULL;
        if (launches[i]->repeats > kernel->repeats) kernel->repeats = launches[i]->repeats;
        if (launches[i]->values[0].measured > longest->values[0].measured) longest = launches[i];
    }
    kernel->launches = (uint32_t)n;
    kernel->launch = longest->launch;
    kernel->regs = longest->regs;
    memcpy(kernel->grid, longest->grid, sizeof kernel->grid);
    memcpy(kernel->block, longest->block, sizeof kernel->block);
    kernel->failure = kernel->missing == n ? launches[0]->failure : NULL;
    if (!kernel->failure) {
        for (size_t i = 0; i < n; i++)
            if (!launches[i]->failure) launches[good++] = launches[i];
        n = good;
        longest = launches[0];
        for (size_t i = 0; i < n; i++)
            if (launches[i]->values[0].measured > longest->values[0].measured) longest = launches[i];
    }
    kernel->predicted_regs = longest->predicted_regs;
    kernel->regular = longest->regular;
    kernel->bound = longest->bound;
    for (size_t k = 0; k < c->ncounters; k++) sum_counter(c, k, launches, n, &kernel->values[k]);
    for (size_t i = 0; i < n; i++) {
        if (!launches[i]->stalls) continue;
        if (!kernel->stalls) kernel->stalls = orr_arena_alloc(&c->arena, ORR_STALLS * sizeof *kernel->stalls);
        for (int s = 0; s < ORR_STALLS; s++) kernel->stalls[s] += launches[i]->stalls[s];
    }
}

static void make_kernels(orr_comparison *c) {
    orr_map seen = {0};
    orr_text key = {0};
    size_t nkernels = 0;
    for (size_t i = 0; i < c->launches.n; i++) {
        orr_point *p = &c->launches.at[i];
        key.n = 0;
        orr_text_add(&key, "%s\n%s\n%s\n%s", p->script, p->size, p->cache, p->kernel);
        p->kernel_index = number_of(&seen, &nkernels, key.s);
        if (p->kernel_index < c->kernels.n) continue;
        *ORR_PUSH(&c->kernels) =
            (orr_point){.script = p->script,
                        .size = p->size,
                        .cache = p->cache,
                        .kernel = p->kernel,
                        .kernel_index = p->kernel_index,
                        .values = orr_arena_alloc(&c->arena, (c->ncounters + 1) * sizeof(orr_value))};
    }
    free(key.s);
    orr_map_free(&seen);
    // The launches of each kernel, by counting.
    size_t *start = orr_calloc(nkernels + 2, sizeof *start);
    const orr_point **sorted = orr_calloc(c->launches.n + 1, sizeof *sorted);
    for (size_t i = 0; i < c->launches.n; i++) start[c->launches.at[i].kernel_index + 2]++;
    for (size_t k = 2; k < nkernels + 2; k++) start[k] += start[k - 1];
    for (size_t i = 0; i < c->launches.n; i++)
        sorted[start[c->launches.at[i].kernel_index + 1]++] = &c->launches.at[i];
    for (size_t k = 0; k < nkernels; k++)
        sum_kernel(c, &c->kernels.at[k], &sorted[start[k]], start[k + 1] - start[k]);
    free(start);
    free(sorted);
}

// ---- figures --------------------------------------------------------------------------------
double orr_error_percent(const orr_value *v) {
    if (isnan(v->measured) || isnan(v->predicted)) return NOTHING;
    if (v->measured == 0) return v->predicted == 0 ? 0 : NOTHING;
    return 100 * (v->predicted - v->measured) / v->measured;
}

typedef struct moments { // of two variables
    double n, x, y, xx, yy, xy;
} moments;
static void moment(moments *m, double x, double y) {
    m->n++;
    m->x += x;
    m->y += y;
    m->xx += x * x;
    m->yy += y * y;
    m->xy += x * y;
}
static double correlation(const moments *m) {
    if (m->n < 2) return NOTHING;
    double sx = m->xx - m->x * m->x / m->n, sy = m->yy - m->y * m->y / m->n, sxy = m->xy - m->x * m->y / m->n;
    // Equal values leave rounding errors instead of 0.
    if (sx <= 1e-12 * m->xx || sy <= 1e-12 * m->yy) return NOTHING;
    return sxy / sqrt(sx * sy);
}

static void keep_worst(orr_nearness *f, const orr_point *points, size_t k, size_t i) {
    double mine = fabs(orr_error_percent(&points[i].values[k]));
    size_t at = f->nworst;
    while (at && fabs(orr_error_percent(&points[f->worst[at - 1]].values[k])) < mine) at--;
    if (at >= ORR_WORST) return;
    if (f->nworst < ORR_WORST) f->nworst++;
    for (size_t j = f->nworst - 1; j > at; j--) f->worst[j] = f->worst[j - 1];
    f->worst[at] = i;
}

static void figures(const orr_point *points, size_t n, size_t k, bool regular, orr_nearness *f) {
    double absolute = 0, signed_sum = 0, difference = 0, squares = 0, measured = 0, spread = 0;
    size_t errors = 0, near = 0, nearer = 0, spreads = 0;
    moments values = {0}, logs = {0};
    *f = (orr_nearness){0};
    for (size_t i = 0; i < n; i++) {
        const orr_value *v = &points[i].values[k];
        if (isnan(v->measured) || (regular && !points[i].regular)) continue;
        if (isnan(v->predicted) || points[i].failure) {
            f->missing++;
            continue;
        }
        double d = v->predicted - v->measured, percent = orr_error_percent(v);
        f->points++;
        difference += fabs(d);
        squares += d * d;
        measured += fabs(v->measured);
        moment(&values, v->measured, v->predicted);
        if (v->measured > 0 && v->predicted > 0) moment(&logs, log(v->measured), log(v->predicted));
        if (points[i].repeats > 1 && v->measured > 0 && v->high > v->low)
            spread += 100 * (v->high - v->low) / v->measured;
        spreads += points[i].repeats > 1;
        if (v->measured == 0) {
            f->zero += v->predicted == 0;
            f->undefined += v->predicted != 0;
            continue;
        }
        errors++;
        absolute += fabs(percent);
        signed_sum += percent;
        near += fabs(percent) < 10;
        nearer += fabs(percent) < 5;
        keep_worst(f, points, k, i);
    }
    double count = (double)f->points;
    f->mape = errors ? absolute / (double)errors : NOTHING;
    f->bias = errors ? signed_sum / (double)errors : NOTHING;
    f->wmape = measured > 0 ? 100 * difference / measured : NOTHING;
    f->nrmse = measured > 0 ? sqrt(squares / count) / (measured / count) : NOTHING;
    f->within_10 = f->points > f->zero ? 100 * (double)near / (double)(f->points - f->zero) : NOTHING;
    f->within_5 = f->points > f->zero ? 100 * (double)nearer / (double)(f->points - f->zero) : NOTHING;
    f->spread = spreads ? spread / (double)spreads : NOTHING;
    f->pearson = correlation(&values);
    f->pearson_log = correlation(&logs);
}

void orr_compare_end(orr_comparison *c) {
    orr_map scripts = {0};
    make_kernels(c);
    for (size_t k = 0; k < c->groups.n; k++) number_of(&scripts, &c->scripts, c->groups.at[k].script);
    orr_map_free(&scripts);
    for (size_t k = 0; k < c->ncounters; k++) {
        figures(c->launches.at, c->launches.n, k, false, &c->by_launch[k]);
        figures(c->kernels.at, c->kernels.n, k, false, &c->by_kernel[k]);
        figures(c->kernels.at, c->kernels.n, k, true, &c->regular[k]);
    }
    for (size_t i = 0; i < c->kernels.n; i++) c->nregular += c->kernels.at[i].regular;
}
