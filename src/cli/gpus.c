// --gpu NAME,NAME,...: the same on several GPUs, in one table: a row for each kernel (of `compare`, and
// model), a column for each GPU.
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- names ----------------------------------------------------------------------------------------
bool cli_gpus_split(const char *text, cli_gpus *g, orr_err *e) {
    *g = (cli_gpus){.n = 0};
    for (const char *p = text; p && *p;) {
        size_t n = strcspn(p, ",");
        if (g->n == CLI_GPUS) return orr_fail(e, ORR_BAD_INPUT, "--gpu: more than %d of them", CLI_GPUS);
        if (!n || n >= sizeof g->name[0])
            return orr_fail(e, ORR_BAD_INPUT, "--gpu %.100s: expected names between commas, as k40,v100,h200",
                            text);
        memcpy(g->name[g->n], p, n);
        g->name[g->n++][n] = 0;
        p += n + (p[n] == ',');
        if (p > text && p[-1] == ',' && !*p)
            return orr_fail(e, ORR_BAD_INPUT, "--gpu %.100s: a name is missing behind the last comma", text);
    }
    return true;
}

// ---- the table --------------------------------------------------------------------------------------
static cli_row *row_of(cli_table *t, const char *input, const char *kernel, const char *model) {
    for (size_t i = 0; i < t->rows.n; i++) {
        cli_row *r = &t->rows.at[i];
        if (!strcmp(r->input, input) && !strcmp(r->kernel, kernel) && !strcmp(r->model, model)) return r;
    }
    cli_row *r = ORR_PUSH(&t->rows);
    *r = (cli_row){.input = orr_arena_strdup(&t->arena, input),
                   .kernel = orr_arena_strdup(&t->arena, kernel),
                   .model = orr_arena_strdup(&t->arena, model)};
    for (int g = 0; g < CLI_GPUS; g++) r->cell[g] = (cli_cell){.ns = NAN, .bound = ""};
    return r;
}

static void add_time(cli_table *t, cli_row *r, int gpu, double ns, const char *bound) {
    cli_cell *c = &r->cell[gpu];
    if (isnan(ns)) return;
    bool first = isnan(c->ns);
    if (bound && (first || ns > c->longest)) { // of several launches the longest one's
        c->bound = orr_arena_strdup(&t->arena, bound);
        c->longest = ns;
    }
    c->ns = first ? ns : c->ns + ns;
}

void cli_table_run(cli_table *t, const char *input, int gpu, orr_report *r) {
    int64_t n = orr_report_count(r, "/launches");
    char place[80];
    for (int64_t k = 0; k < n; k++) {
        snprintf(place, sizeof place, "/launches/%lld/kernel", (long long)k);
        const char *kernel = orr_report_string(r, place);
        cli_row *row = row_of(t, input, kernel ? kernel : "?", "");
        snprintf(place, sizeof place, "/launches/%lld/time_ns", (long long)k);
        double ns = orr_report_number(r, place);
        snprintf(place, sizeof place, "/launches/%lld/bound", (long long)k);
        add_time(t, row, gpu, ns, orr_report_string(r, place));
        row->launches += gpu == 0;
    }
}

void cli_table_compare(cli_table *t, int gpu, orr_report *r) {
    char place[120];
    for (int64_t i = 0; i < orr_report_count(r, "/inputs"); i++) {
        snprintf(place, sizeof place, "/inputs/%lld/input", (long long)i);
        const char *input = orr_arena_strdup(&t->arena, orr_report_string(r, place));
        snprintf(place, sizeof place, "/inputs/%lld/kernels", (long long)i);
        for (int64_t k = 0, n = orr_report_count(r, place); k < n; k++) {
            snprintf(place, sizeof place, "/inputs/%lld/kernels/%lld/kernel", (long long)i, (long long)k);
            const char *kernel = orr_arena_strdup(&t->arena, orr_report_string(r, place));
            snprintf(place, sizeof place, "/inputs/%lld/kernels/%lld/models", (long long)i, (long long)k);
            for (int64_t m = 0, models = orr_report_count(r, place); m < models; m++) {
                size_t at = strlen(place);
                snprintf(place + at, sizeof place - at, "/%lld/model", (long long)m);
                const char *model = orr_report_string(r, place);
                cli_row *row = row_of(t, input, kernel, model ? model : "");
                snprintf(place + at, sizeof place - at, "/%lld/time_ns", (long long)m);
                add_time(t, row, gpu, orr_report_number(r, place), NULL);
                place[at] = 0;
            }
        }
    }
}

// ---- as text ----------------------------------------------------------------------------------------
static void add_cell(orr_text *out, const cli_cell *c, double best, int width) {
    char text[80], ns[40];
    if (isnan(c->ns)) {
        orr_text_add(out, "  %18s%*s", "-", width - 18, "");
        return;
    }
    double us = c->ns / 1e3;
    snprintf(ns, sizeof ns,
             us < 1e3   ? "%.2f us"
             : us < 1e6 ? "%.2f ms"
                        : "%.2f s",
             us < 1e3   ? us
             : us < 1e6 ? us / 1e3
                        : us / 1e6);
    int bound = width - 18; // what is left behind the time; 0: nobody says what bounds it
    snprintf(text, sizeof text, "%10s %6.2fx%s%-*.*s", ns, c->ns / best, bound > 0 ? " " : "",
             bound > 0 ? bound - 1 : 0, bound > 0 ? bound - 1 : 0, c->bound);
    orr_text_add(out, "  %*s", width, text);
}

static void add_row(orr_text *out, const cli_table *t, const cli_row *r, int name, int width) {
    double best = INFINITY;
    for (int g = 0; g < t->gpus->n; g++)
        if (r->cell[g].ns < best) best = r->cell[g].ns;
    orr_text_add(out, "%-*.*s", name, name, r->kernel);
    if (*r->model) orr_text_add(out, "  %-9s", r->model);
    for (int g = 0; g < t->gpus->n; g++) add_cell(out, &r->cell[g], best, width);
    orr_text_add(out, "\n");
}

// All kernels of an input together, where every GPU has a time for each.
static void add_sum(orr_text *out, const cli_table *t, const char *input, const char *model, int name,
                    int width) {
    cli_row all = {.input = input, .kernel = "all kernels", .model = model};
    int rows = 0;
    for (int g = 0; g < CLI_GPUS; g++) all.cell[g] = (cli_cell){.bound = ""};
    for (size_t i = 0; i < t->rows.n; i++) {
        const cli_row *r = &t->rows.at[i];
        if (strcmp(r->input, input) != 0 || strcmp(r->model, model) != 0) continue;
        for (int g = 0; g < t->gpus->n; g++) all.cell[g].ns += r->cell[g].ns;
        rows++;
    }
    if (rows > 1) add_row(out, t, &all, name, width);
}

void cli_table_text(const cli_table *t, const char *model, orr_text *out) {
    int name = 11, width = 31;
    bool models = false;
    for (size_t i = 0; i < t->rows.n; i++) {
        int n = (int)strlen(t->rows.at[i].kernel);
        if (n > name) name = n > 48 ? 48 : n;
        models |= *t->rows.at[i].model != 0;
    }
    if (models) width = 18;
    for (size_t i = 0; i < t->rows.n; i++) {
        const cli_row *r = &t->rows.at[i];
        bool first = !i || strcmp(r->input, t->rows.at[i - 1].input) != 0;
        if (first) {
            orr_text_add(out, "%s%s%s%s\n%-*s", i ? "\n" : "", r->input, models ? "" : ", model ",
                         models ? "" : model, name, "kernel");
            if (models) orr_text_add(out, "  %-9s", "model");
            for (int g = 0; g < t->gpus->n; g++)
                orr_text_add(out, "  %18.18s%*s", t->gpus->name[g], width - 18, "");
            orr_text_add(out, "\n");
        }
        add_row(out, t, r, name, width);
        bool last = i + 1 == t->rows.n || strcmp(r->input, t->rows.at[i + 1].input) != 0;
        if (last && !models) add_sum(out, t, r->input, "", name, width);
    }
    orr_text_add(out, "\ntimes of all launches of a kernel; x: times the fastest GPU's%s\n",
                 models ? "" : "; what bounds the longest launch");
}

void cli_table_free(cli_table *t) {
    free(t->rows.at);
    orr_arena_free(&t->arena);
}
