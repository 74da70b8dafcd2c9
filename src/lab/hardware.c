// Measurements of real GPUs, as tidy CSV: one row for each launch and repeat. The columns that say what was
// measured have names of their own; any other column whose name holds "__" is a metric. Columns that are
// neither are passed over, so that a file may say more than this program knows.
#include "lab/lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES   ((size_t)256 << 20) // of a file
#define MOST_METRICS 1024
#define MOST_MEMORY  ((size_t)4 << 30) // of all rows

enum column {
    SCRIPT,
    SIZE,
    CACHE,
    LAUNCH,
    REPEAT,
    KERNEL,
    GRID,
    BLOCK,
    REGS,
    SHARED,
    GPU,
    DRIVER,
    DATE,
    COLUMNS
};
static const char *const column_name[COLUMNS] = {"script", "size",   "cache", "launch",    "repeat",
                                                 "kernel", "grid",   "block", "registers", "shared",
                                                 "gpu",    "driver", "date"};
static const bool needed[COLUMNS] = {[SCRIPT] = true, [LAUNCH] = true, [KERNEL] = true};

size_t orr_hardware_metric(orr_hardware *h, const char *name) {
    uintptr_t at = (uintptr_t)orr_map_get(&h->index, name);
    if (at) return at - 1;
    *ORR_PUSH(&h->metrics) = orr_arena_strdup(&h->arena, name);
    orr_map_put(&h->index, name, (void *)(uintptr_t)h->metrics.n);
    return h->metrics.n - 1;
}

orr_measured *orr_hardware_add(orr_hardware *h) {
    orr_measured *m = ORR_PUSH(&h->rows);
    *m = (orr_measured){.script = "",
                        .size = "",
                        .cache = "flushed",
                        .kernel = "",
                        .gpu = "",
                        .driver = "",
                        .date = "",
                        .grid = {1, 1, 1},
                        .block = {1, 1, 1},
                        .metrics = orr_arena_alloc(&h->arena, (h->metrics.n + 1) * sizeof(double)),
                        .nmetrics = h->metrics.n};
    for (size_t k = 0; k < m->nmetrics; k++) m->metrics[k] = NAN;
    return m;
}

double orr_hardware_get(const orr_hardware *h, const orr_measured *m, const char *metric) {
    uintptr_t at = (uintptr_t)orr_map_get(&h->index, metric);
    return at && at - 1 < m->nmetrics ? m->metrics[at - 1] : (double)NAN;
}

void orr_hardware_free(orr_hardware *h) {
    free(h->metrics.at);
    free(h->rows.at);
    orr_map_free(&h->index);
    orr_arena_free(&h->arena);
    *h = (orr_hardware){0};
}

// ---- reading --------------------------------------------------------------------------------
typedef struct heading { // of a file: where its columns go
    int *column;         // [cells] enum column, or -1
    size_t *metric;      // [cells] place in the list, or SIZE_MAX
    size_t cells;
} heading;

static bool read_heading(orr_hardware *h, orr_csv *c, heading *head, orr_err *e) {
    bool seen[COLUMNS] = {0};
    size_t n = c->cells.n;
    *head = (heading){orr_calloc(n + 1, sizeof *head->column), orr_calloc(n + 1, sizeof *head->metric), n};
    for (size_t i = 0; i < n; i++) {
        const char *name = c->cells.at[i];
        head->column[i] = -1;
        head->metric[i] = SIZE_MAX;
        for (int k = 0; k < COLUMNS; k++) {
            if (strcmp(name, column_name[k]) != 0) continue;
            if (seen[k])
                return orr_fail(e, ORR_BAD_INPUT, "%s:%d: there are two columns %s", c->path, c->line, name);
            seen[k] = true;
            head->column[i] = k;
        }
        if (head->column[i] >= 0 || !strstr(name, "__")) continue;
        if (h->metrics.n >= MOST_METRICS)
            return orr_fail(e, ORR_BAD_INPUT, "%s:%d: more than %d metrics", c->path, c->line, MOST_METRICS);
        head->metric[i] = orr_hardware_metric(h, name);
        for (size_t k = 0; k < i; k++)
            if (head->metric[k] == head->metric[i])
                return orr_fail(e, ORR_BAD_INPUT, "%s:%d: there are two columns %s", c->path, c->line, name);
    }
    for (int k = 0; k < COLUMNS; k++)
        if (needed[k] && !seen[k])
            return orr_fail(e, ORR_BAD_INPUT,
                            "%s:%d: there is no column %s; measurements are made by `orrery hw profile`",
                            c->path, c->line, column_name[k]);
    return true;
}

// Scripts, kernels and GPUs are few: one copy of each text.
static const char *once(orr_hardware *h, orr_map *texts, const char *s) {
    const char *old = orr_map_get(texts, s);
    if (old) return old;
    char *copy = orr_arena_strdup(&h->arena, s);
    orr_map_put(texts, s, copy);
    return copy;
}

// The i-th cell of a row, which is in the known column `column`.
static bool read_cell(orr_hardware *h, orr_map *texts, const orr_csv *c, size_t i, int column, orr_err *e) {
    orr_measured *m = &h->rows.at[h->rows.n - 1];
    const char *cell = c->cells.at[i];
    bool ok = true;
    switch (column) {
    case SCRIPT:
        m->script = once(h, texts, cell);
        ok = *cell != 0;
        break;
    case SIZE: m->size = once(h, texts, cell); break;
    case CACHE:
        m->cache = !strcmp(cell, "warm") ? "warm" : "flushed";
        ok = !strcmp(cell, m->cache);
        break;
    case LAUNCH: ok = orr_csv_uint(cell, &m->launch); break;
    case REPEAT: ok = orr_csv_uint(cell, &m->repeat); break;
    case KERNEL:
        m->kernel = once(h, texts, cell);
        ok = *cell != 0;
        break;
    case GRID: ok = orr_csv_shape(cell, m->grid); break;
    case BLOCK: ok = orr_csv_shape(cell, m->block); break;
    case REGS: ok = !*cell || orr_csv_uint(cell, &m->regs); break;
    case SHARED: ok = !*cell || orr_csv_uint(cell, &m->shared); break;
    case GPU: m->gpu = once(h, texts, cell); break;
    case DRIVER: m->driver = once(h, texts, cell); break;
    case DATE: m->date = once(h, texts, cell); break;
    }
    if (ok) return true;
    return orr_fail(e, ORR_BAD_INPUT, "%s:%d: \"%.60s\" in column %s is not %s", c->path, c->line, cell,
                    column_name[column],
                    column == CACHE                        ? "flushed or warm"
                    : column == GRID || column == BLOCK    ? "a shape, as 16x16x1"
                    : column == SCRIPT || column == KERNEL ? "a name"
                                                           : "a number");
}

static bool read_rows(orr_hardware *h, orr_csv *c, const heading *head, orr_map *texts, orr_err *e) {
    while (orr_csv_row(c, e)) {
        if (c->cells.n != head->cells)
            return orr_fail(e, ORR_BAD_INPUT, "%s:%d: the row has %zu cells, the first one has %zu", c->path,
                            c->line, c->cells.n, head->cells);
        if (h->arena.total > MOST_MEMORY)
            return orr_fail(e, ORR_BAD_INPUT, "%s:%d: too many measurements for one comparison", c->path,
                            c->line);
        orr_measured *m = orr_hardware_add(h);
        for (size_t i = 0; i < head->cells; i++) {
            const char *cell = c->cells.at[i];
            if (head->column[i] >= 0) {
                if (!read_cell(h, texts, c, i, head->column[i], e)) return false;
            } else if (head->metric[i] != SIZE_MAX && *cell) {
                if (!orr_csv_number(cell, &m->metrics[head->metric[i]]))
                    return orr_fail(e, ORR_BAD_INPUT, "%s:%d: \"%.60s\" in column %s is not a number",
                                    c->path, c->line, cell, h->metrics.at[head->metric[i]]);
            }
        }
    }
    return !e->status;
}

bool orr_hardware_parse(orr_hardware *h, const char *path, char *text, size_t n, orr_err *e) {
    orr_csv c;
    heading head = {0};
    orr_map texts = {0};
    orr_csv_open(&c, path, text, n);
    bool ok = orr_csv_row(&c, e);
    if (!ok && !e->status)
        orr_fail(e, ORR_BAD_INPUT, "%s: is empty; measurements are made by `orrery hw profile`", path);
    ok = ok && read_heading(h, &c, &head, e) && read_rows(h, &c, &head, &texts, e);
    free(head.column);
    free(head.metric);
    orr_map_free(&texts);
    orr_csv_close(&c);
    return ok;
}

bool orr_hardware_read(orr_hardware *h, const char *path, orr_err *e) {
    size_t n;
    char *text = orr_read_file(path, MOST_BYTES, &n, e);
    if (!text) return false;
    bool ok = orr_hardware_parse(h, path, text, n, e);
    free(text);
    return ok;
}

// ---- writing --------------------------------------------------------------------------------
static void add_shape(orr_text *t, const uint32_t d[3]) { orr_text_add(t, "%ux%ux%u", d[0], d[1], d[2]); }

void orr_hardware_write(const orr_hardware *h, orr_text *out) {
    for (int k = 0; k < COLUMNS; k++) orr_text_add(out, "%s%s", k ? "," : "", column_name[k]);
    for (size_t k = 0; k < h->metrics.n; k++) {
        orr_text_add(out, ",");
        orr_csv_add(out, h->metrics.at[k]);
    }
    orr_text_add(out, "\n");
    for (size_t r = 0; r < h->rows.n; r++) {
        const orr_measured *m = &h->rows.at[r];
        orr_csv_add(out, m->script);
        orr_text_add(out, ",");
        orr_csv_add(out, m->size);
        orr_text_add(out, ",%s,%u,%u,", m->cache, m->launch, m->repeat);
        orr_csv_add(out, m->kernel);
        orr_text_add(out, ",");
        add_shape(out, m->grid);
        orr_text_add(out, ",");
        add_shape(out, m->block);
        orr_text_add(out, ",%u,%u,", m->regs, m->shared);
        orr_csv_add(out, m->gpu);
        orr_text_add(out, ",");
        orr_csv_add(out, m->driver);
        orr_text_add(out, ",");
        orr_csv_add(out, m->date);
        for (size_t k = 0; k < h->metrics.n; k++) {
            orr_text_add(out, ",");
            if (k < m->nmetrics) orr_csv_add_number(out, m->metrics[k]);
        }
        orr_text_add(out, "\n");
    }
}
