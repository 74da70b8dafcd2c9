// What microbenchmarks found: a row for each reading (docs/guides/micro.md). Written by `orrery hw micro`,
// read by `orrery tune`. Values of repeats are kept apart until the file is written, which has their median
// and ends.
#include "lab/lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const columns[] = {"benchmark", "size", "metric",  "point", "unit",   "value",
                                      "low",       "high", "repeats", "gpu",   "driver", "date"};
enum {
    C_BENCHMARK,
    C_SIZE,
    C_METRIC,
    C_POINT,
    C_UNIT,
    C_VALUE,
    C_LOW,
    C_HIGH,
    C_REPEATS,
    C_GPU,
    C_DRIVER,
    C_DATE,
    COLUMNS
};

orr_finding *orr_findings_add(orr_findings *r, const orr_finding *like, double value) {
    orr_text key = {0};
    orr_text_add(&key, "%s\n%s\n%s\n%s", like->benchmark, like->size, like->metric, like->point);
    size_t at = (size_t)(uintptr_t)orr_map_get(&r->index, key.s);
    if (!at) {
        orr_finding *x = ORR_PUSH(&r->rows);
        at = r->rows.n;
        *x = (orr_finding){.benchmark = orr_arena_strdup(&r->arena, like->benchmark),
                           .size = orr_arena_strdup(&r->arena, like->size),
                           .metric = orr_arena_strdup(&r->arena, like->metric),
                           .point = orr_arena_strdup(&r->arena, like->point),
                           .unit = orr_arena_strdup(&r->arena, like->unit)};
        orr_map_put(&r->index, orr_arena_strdup(&r->arena, key.s), (void *)(uintptr_t)at);
    }
    free(key.s);
    orr_finding *x = &r->rows.at[at - 1];
    *ORR_PUSH(&x->values) = value;
    return x;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void orr_findings_end(orr_findings *r) {
    for (size_t k = 0; k < r->rows.n; k++) {
        orr_finding *x = &r->rows.at[k];
        size_t n = x->values.n;
        if (!n) continue;
        qsort(x->values.at, n, sizeof *x->values.at, ascending);
        x->value = n % 2 ? x->values.at[n / 2] : (x->values.at[n / 2 - 1] + x->values.at[n / 2]) / 2;
        x->low = x->values.at[0];
        x->high = x->values.at[n - 1];
        x->repeats = (uint32_t)n;
    }
}

void orr_findings_write(const orr_findings *r, orr_text *t) {
    for (int k = 0; k < COLUMNS; k++) orr_text_add(t, "%s%s", k ? "," : "", columns[k]);
    orr_text_add(t, "\n");
    for (size_t k = 0; k < r->rows.n; k++) {
        const orr_finding *x = &r->rows.at[k];
        const char *first[] = {x->benchmark, x->size, x->metric, x->point, x->unit};
        for (size_t c = 0; c < sizeof first / sizeof *first; c++) {
            orr_csv_add(t, first[c]);
            orr_text_add(t, ",");
        }
        orr_csv_add_number(t, x->value);
        orr_text_add(t, ",");
        orr_csv_add_number(t, x->low);
        orr_text_add(t, ",");
        orr_csv_add_number(t, x->high);
        orr_text_add(t, ",%u,", x->repeats);
        orr_csv_add(t, r->gpu ? r->gpu : "");
        orr_text_add(t, ",");
        orr_csv_add(t, r->driver ? r->driver : "");
        orr_text_add(t, ",");
        orr_csv_add(t, r->date ? r->date : "");
        orr_text_add(t, "\n");
    }
}

// ---- reading ----------------------------------------------------------------------------------
static const char *cell(const orr_csv *c, const int *at, int column) {
    return at[column] >= 0 && (size_t)at[column] < c->cells.n ? c->cells.at[at[column]] : "";
}

static bool read_row(orr_findings *r, const orr_csv *c, const int *at, orr_err *e) {
    orr_finding like = {.benchmark = cell(c, at, C_BENCHMARK),
                        .size = cell(c, at, C_SIZE),
                        .metric = cell(c, at, C_METRIC),
                        .point = cell(c, at, C_POINT),
                        .unit = cell(c, at, C_UNIT)};
    double v, low, high;
    if (!*like.metric) return orr_fail(e, ORR_BAD_INPUT, "%s:%d: the metric has no name", c->path, c->line);
    if (!orr_csv_number(cell(c, at, C_VALUE), &v))
        return orr_fail(e, ORR_BAD_INPUT, "%s:%d: the value of %.60s is not a number", c->path, c->line,
                        like.metric);
    orr_finding *x = orr_findings_add(r, &like, v);
    x->value = v;
    x->low = orr_csv_number(cell(c, at, C_LOW), &low) ? low : v;
    x->high = orr_csv_number(cell(c, at, C_HIGH), &high) ? high : v;
    if (!orr_csv_uint(cell(c, at, C_REPEATS), &x->repeats)) x->repeats = 1;
    if (!r->gpu) {
        r->gpu = orr_arena_strdup(&r->arena, cell(c, at, C_GPU));
        r->driver = orr_arena_strdup(&r->arena, cell(c, at, C_DRIVER));
        r->date = orr_arena_strdup(&r->arena, cell(c, at, C_DATE));
    }
    return true;
}

bool orr_findings_parse(orr_findings *r, const char *path, char *text, size_t n, orr_err *e) {
    orr_csv c;
    int at[COLUMNS];
    orr_csv_open(&c, path, text, n);
    bool ok = orr_csv_row(&c, e);
    if (!ok && !e->status) orr_fail(e, ORR_BAD_INPUT, "%s: there is nothing in it", path);
    for (int k = 0; ok && k < COLUMNS; k++) at[k] = orr_csv_find(&c, columns[k]);
    if (ok && (at[C_METRIC] < 0 || at[C_VALUE] < 0))
        ok = orr_fail(e, ORR_BAD_INPUT, "%s:%d: there is no column %s: is it of `orrery hw micro`?", path,
                      c.line, at[C_METRIC] < 0 ? "metric" : "value");
    while (ok && orr_csv_row(&c, e)) ok = read_row(r, &c, at, e);
    orr_csv_close(&c);
    return ok && !e->status;
}

#define MOST_BYTES ((size_t)64 << 20)
bool orr_findings_read(orr_findings *r, const char *path, orr_err *e) {
    size_t n;
    char *text = orr_read_file(path, MOST_BYTES, &n, e);
    if (!text) return false;
    bool ok = orr_findings_parse(r, path, text, n, e);
    free(text);
    return ok;
}

void orr_findings_free(orr_findings *r) {
    for (size_t k = 0; k < r->rows.n; k++) free(r->rows.at[k].values.at);
    free(r->rows.at);
    orr_map_free(&r->index);
    orr_arena_free(&r->arena);
    *r = (orr_findings){0};
}

// ---- looking at them --------------------------------------------------------------------------
double orr_finding_value(const orr_findings *r, const char *metric, const char *point) {
    for (size_t k = 0; k < r->rows.n; k++) {
        const orr_finding *x = &r->rows.at[k];
        if (!strcmp(x->metric, metric) && (!point || !strcmp(x->point, point))) return x->value;
    }
    return NAN;
}

double orr_finding_at(const orr_finding *x, const char *variable) {
    size_t n = strlen(variable);
    for (const char *s = x->point; s && *s; s = strchr(s, ' ') ? strchr(s, ' ') + 1 : NULL) {
        if (!strncmp(s, variable, n) && s[n] == '=') return strtod(s + n + 1, NULL);
    }
    return NAN;
}
