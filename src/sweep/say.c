// A sweep's results as text, CSV and JSON: a row a point, in the order of the grid.
#include "sweep/sweep.h"

#include "lab/lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 200 // in the terminal; the rest is in the files

// ---- figures --------------------------------------------------------------------------------------
double orr_sweep_measure(const orr_sweep_summary *sum, const orr_swept_point *p) {
    if (p->state != ORR_POINT_DONE) return NAN;
    return sum->by_time ? p->total.time_ns : p->total.cycles;
}

void orr_sweep_sum_up(const orr_sweep_job *s, orr_sweep_summary *sum) {
    *sum = (orr_sweep_summary){.best = SIZE_MAX, .worst = SIZE_MAX};
    for (int k = 0; k < s->grid->naxes; k++)
        if (!strncmp(s->grid->axes[k].key, "clock.", 6)) sum->by_time = true;
    for (size_t k = 0; k < s->grid->npoints; k++) {
        const orr_swept_point *p = &s->points[k];
        sum->kept += p->kept;
        sum->same += p->same;
        if (p->state == ORR_POINT_TO_DO) sum->to_do++;
        if (p->state == ORR_POINT_FAILED) sum->failed++;
        if (p->state == ORR_POINT_DONE) sum->done++;
        double v = orr_sweep_measure(sum, p);
        if (isnan(v)) continue;
        if (sum->best == SIZE_MAX || v < orr_sweep_measure(sum, &s->points[sum->best])) sum->best = k;
        if (sum->worst == SIZE_MAX || v > orr_sweep_measure(sum, &s->points[sum->worst])) sum->worst = k;
    }
}

static const char *value(const orr_sweep_job *s, size_t point, int axis) {
    return s->grid->axes[axis].values[orr_grid_at(s->grid, point, axis)];
}

static void add_settings(const orr_sweep_job *s, size_t point, orr_text *out) {
    for (int k = 0; k < s->grid->naxes; k++)
        orr_text_add(out, "%s%s = %s", k ? ", " : "", s->grid->axes[k].key, value(s, point, k));
}

// ---- text -----------------------------------------------------------------------------------------
static void add_time(orr_text *t, double ns) {
    if (isnan(ns))
        orr_text_add(t, "%12s", "-");
    else
        orr_text_add(t, "%9.2f us", ns / 1e3);
}

static void add_row(const orr_sweep_job *s, const orr_sweep_summary *sum, const int *width, size_t k,
                    orr_text *out) {
    const orr_swept_point *p = &s->points[k];
    char buf[32];
    for (int a = 0; a < s->grid->naxes; a++)
        orr_text_add(out, "%s%*s", a ? "  " : "", width[a], value(s, k, a));
    if (p->state == ORR_POINT_FAILED) {
        orr_text_add(out, "  failed: %s\n", p->message ? p->message : "");
        return;
    }
    if (p->state == ORR_POINT_TO_DO) {
        orr_text_add(out, "  not done\n");
        return;
    }
    double v = orr_sweep_measure(sum, p);
    double best = sum->best == SIZE_MAX ? NAN : orr_sweep_measure(sum, &s->points[sum->best]);
    if (isnan(p->total.cycles)) { // a model that predicts no time
        orr_text_add(out, "  %15s\n", orr_commas(buf, p->total.warp_insts));
        return;
    }
    orr_text_add(out, "  %15s  ", orr_commas(buf, (uint64_t)llround(p->total.cycles)));
    add_time(out, p->total.time_ns);
    orr_text_add(out, "  %8.3f", v / best);
    const double ipc = p->total.columns[ORR_COL_IPC], dram = p->total.columns[ORR_COL_DRAM_PCT];
    if (isnan(ipc))
        orr_text_add(out, "  %6s", "-");
    else
        orr_text_add(out, "  %6.2f", ipc);
    if (isnan(dram))
        orr_text_add(out, "  %7s\n", "-");
    else
        orr_text_add(out, "  %5.1f %%\n", dram);
}

static void add_extreme(const orr_sweep_job *s, const orr_sweep_summary *sum, const char *what, size_t k,
                        orr_text *out) {
    char buf[32];
    const orr_swept_point *p = &s->points[k];
    orr_text_add(out, "%-9s ", what);
    add_settings(s, k, out);
    bool ms = p->total.time_ns >= 1e6;
    orr_text_add(out, ": %s cycles, %.2f %s", orr_commas(buf, (uint64_t)llround(p->total.cycles)),
                 p->total.time_ns / (ms ? 1e6 : 1e3), ms ? "ms" : "us");
    if (k == sum->worst && sum->best != sum->worst)
        orr_text_add(out, ", %.2f times the best",
                     orr_sweep_measure(sum, p) / orr_sweep_measure(sum, &s->points[sum->best]));
    orr_text_add(out, "\n");
}

static const char *with_unit(const orr_axis *x, int i, char buf[80]) {
    bool bare = x->numeric && !*x->unit && *orr_axis_unit(x);
    snprintf(buf, 80, "%.50s%s%.20s", x->values[i], bare ? " " : "", bare ? orr_axis_unit(x) : "");
    return buf;
}

static void add_effects(const orr_sweep_job *s, const orr_sweep_summary *sum, orr_text *out) {
    char buf[80];
    orr_arena a = {0};
    for (int k = 0; k < s->grid->naxes; k++) {
        const orr_axis *x = &s->grid->axes[k];
        orr_axis_effect f = orr_sweep_effect(s, sum, k, &a);
        if (x->n < 2 || isnan(f.spread)) continue;
        orr_text_add(out, "%-9s %s: %.2f times from its best value to its worst, others held; best at %s",
                     k ? "" : "by key", x->key, f.spread, with_unit(x, f.best, buf));
        if (f.knee >= 0) orr_text_add(out, "; knee at %s, within 5 %% of that", with_unit(x, f.knee, buf));
        orr_text_add(out, "\n");
    }
    orr_arena_free(&a);
}

#define MOST_OF_FRONT 12
static void add_front(const orr_sweep_job *s, const orr_sweep_summary *sum, orr_text *out) {
    char buf[32];
    bool *on = orr_calloc(s->grid->npoints + 1, sizeof *on);
    size_t n = orr_sweep_front(s, sum, on), shown = 0;
    if (n) orr_text_add(out, "front     %zu points that none with as little hardware beats\n", n);
    for (size_t k = 0; k < s->grid->npoints && shown < MOST_OF_FRONT; k++) {
        if (!on[k]) continue;
        orr_text_add(out, "          ");
        add_settings(s, k, out);
        orr_text_add(out, ": %s cycles, %.2f us\n",
                     orr_commas(buf, (uint64_t)llround(s->points[k].total.cycles)),
                     s->points[k].total.time_ns / 1e3);
        shown++;
    }
    if (n > shown) orr_text_add(out, "          ... and %zu more (\"front\" in --json)\n", n - shown);
    free(on);
}

void orr_sweep_text(const orr_sweep_job *s, orr_text *out) {
    orr_sweep_summary sum;
    int width[ORR_AXES_MAX];
    orr_sweep_sum_up(s, &sum);
    bool timed = sum.best != SIZE_MAX;
    orr_text_add(out, "%s%s%s on %s, model %s, %s: %zu points\n\n", s->input, *s->size ? ", " : "", s->size,
                 s->gpu, s->model->name, s->source, s->grid->npoints);
    for (int a = 0; a < s->grid->naxes; a++) {
        const orr_axis *x = &s->grid->axes[a];
        width[a] = (int)strlen(x->key);
        for (int k = 0; k < x->n; k++)
            if ((int)strlen(x->values[k]) > width[a]) width[a] = (int)strlen(x->values[k]);
        orr_text_add(out, "%s%*s", a ? "  " : "", width[a], x->key);
    }
    if (timed)
        orr_text_add(out, "  %15s  %12s  %8s  %6s  %7s\n", "cycles", "time", "to best", "IPC", "DRAM");
    else
        orr_text_add(out, "  %15s\n", "warp insts");
    for (size_t k = 0; k < s->grid->npoints && k < MOST_ROWS; k++) add_row(s, &sum, width, k, out);
    if (s->grid->npoints > MOST_ROWS)
        orr_text_add(out, "... and %zu more, in the files\n", s->grid->npoints - MOST_ROWS);
    orr_text_add(out, "\n");
    if (timed) {
        add_extreme(s, &sum, "best", sum.best, out);
        add_extreme(s, &sum, "worst", sum.worst, out);
        add_effects(s, &sum, out);
        add_front(s, &sum, out);
    }
    orr_text_add(out, "points    %zu done", sum.done);
    if (sum.kept) orr_text_add(out, " (%zu of the points were in the file)", sum.kept);
    if (sum.same)
        orr_text_add(out, " (%zu are as those with a smaller L2, which was large enough)", sum.same);
    if (sum.failed) orr_text_add(out, ", %zu failed", sum.failed);
    if (sum.to_do) orr_text_add(out, ", %zu not done", sum.to_do);
    orr_text_add(out, "\nhost      %.2f s, of them %.2f s executing; streams %.1f MB\n", s->seconds,
                 s->execute_seconds, (double)s->tape_bytes / 1048576);
}

// ---- CSV ------------------------------------------------------------------------------------------
static const char *const state_name[] = {"to do", "done", "failed"};

void orr_sweep_csv(const orr_sweep_job *s, orr_text *out) {
    orr_text_add(out, "number");
    for (int a = 0; a < s->grid->naxes; a++) {
        orr_text_add(out, ",");
        orr_csv_add(out, s->grid->axes[a].key);
    }
    orr_text_add(out, ",state,cycles,time_ns,warp_insts,thread_insts");
    for (int c = 0; c < ORR_COLUMNS; c++) orr_text_add(out, ",%s", orr_columns[c].name);
    orr_text_add(out, ",seconds,message\n");
    for (size_t k = 0; k < s->grid->npoints; k++) {
        const orr_swept_point *p = &s->points[k];
        bool done = p->state == ORR_POINT_DONE;
        orr_text_add(out, "%zu", k);
        for (int a = 0; a < s->grid->naxes; a++) {
            orr_text_add(out, ",");
            orr_csv_add(out, value(s, k, a));
        }
        orr_text_add(out, ",%s,", state_name[p->state]);
        orr_csv_add_number(out, done ? p->total.cycles : (double)NAN);
        orr_text_add(out, ",");
        orr_csv_add_number(out, done ? p->total.time_ns : (double)NAN);
        if (done)
            orr_text_add(out, ",%llu,%llu", (unsigned long long)p->total.warp_insts,
                         (unsigned long long)p->total.thread_insts);
        else
            orr_text_add(out, ",,");
        for (int c = 0; c < ORR_COLUMNS; c++) {
            orr_text_add(out, ",");
            orr_csv_add_number(out, done ? p->total.columns[c] : (double)NAN);
        }
        orr_text_add(out, ",%.6f,", p->seconds);
        orr_csv_add(out, p->message ? p->message : "");
        orr_text_add(out, "\n");
    }
}

// ---- JSON -----------------------------------------------------------------------------------------
static void add_number(orr_text *t, double v) {
    if (isnan(v) || isinf(v))
        orr_text_add(t, "null");
    else
        orr_text_add(t, "%.15g", v);
}

static void add_string(orr_text *t, const char *key, const char *v) {
    orr_text_add(t, "\"%s\": ", key);
    orr_text_json(t, v);
}

static void json_effects(const orr_sweep_job *s, const orr_sweep_summary *sum, orr_text *out) {
    orr_arena a = {0};
    orr_text_add(out, "  \"keys\": [");
    for (int k = 0; k < s->grid->naxes; k++) {
        const orr_axis *x = &s->grid->axes[k];
        orr_axis_effect f = orr_sweep_effect(s, sum, k, &a);
        orr_text_add(out, "%s\n    {", k ? "," : "");
        add_string(out, "key", x->key);
        orr_text_add(out, ", ");
        add_string(out, "unit", orr_axis_unit(x));
        orr_text_add(out, ", \"spread\": ");
        add_number(out, f.spread);
        orr_text_add(out, ", ");
        add_string(out, "best", f.best >= 0 ? x->values[f.best] : "");
        orr_text_add(out, ", ");
        add_string(out, "knee", f.knee >= 0 ? x->values[f.knee] : "");
        orr_text_add(out, "}");
    }
    orr_text_add(out, "\n  ],\n");
    orr_arena_free(&a);
}

static void json_point(const orr_sweep_job *s, size_t k, bool front, orr_text *out) {
    const orr_swept_point *p = &s->points[k];
    orr_text_add(out, "    {\"number\": %zu, \"set\": {", k);
    for (int a = 0; a < s->grid->naxes; a++) {
        const orr_axis *x = &s->grid->axes[a];
        orr_text_add(out, a ? ", " : "");
        orr_text_json(out, x->key);
        orr_text_add(out, ": ");
        if (x->numeric && !*x->unit)
            add_number(out, x->numbers[orr_grid_at(s->grid, k, a)]);
        else
            orr_text_json(out, value(s, k, a));
    }
    orr_text_add(out, "}, \"state\": \"%s\", \"kept\": %s%s", state_name[p->state],
                 p->kept ? "true" : "false", p->same ? ", \"same\": true" : "");
    if (front) orr_text_add(out, ", \"front\": true");
    if (p->state == ORR_POINT_DONE) {
        orr_text_add(out, ", \"cycles\": ");
        add_number(out, p->total.cycles);
        orr_text_add(out, ", \"time_ns\": ");
        add_number(out, p->total.time_ns);
        orr_text_add(out, ", \"warp_insts\": %llu, \"thread_insts\": %llu",
                     (unsigned long long)p->total.warp_insts, (unsigned long long)p->total.thread_insts);
        for (int c = 0; c < ORR_COLUMNS; c++) {
            orr_text_add(out, ", \"%s\": ", orr_columns[c].name);
            add_number(out, p->total.columns[c]);
        }
    }
    if (p->message) {
        orr_text_add(out, ", ");
        add_string(out, "message", p->message);
    }
    orr_text_add(out, ", \"seconds\": ");
    add_number(out, p->seconds);
    orr_text_add(out, "}");
}

void orr_sweep_json(const orr_sweep_job *s, orr_text *out) {
    orr_sweep_summary sum;
    orr_sweep_sum_up(s, &sum);
    const char *const keys[] = {"input", "size", "gpu", "model", "source", "version", "command"};
    const char *const texts[] = {s->input,  s->size,    s->gpu,    s->model->name,
                                 s->source, s->version, s->command};
    orr_text_add(out, "{\n");
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        orr_text_add(out, "  ");
        add_string(out, keys[k], texts[k]);
        orr_text_add(out, ",\n");
    }
    json_effects(s, &sum, out);
    bool *front = orr_calloc(s->grid->npoints + 1, sizeof *front);
    orr_sweep_front(s, &sum, front);
    orr_text_add(out, "  \"points\": [\n");
    for (size_t k = 0; k < s->grid->npoints; k++) {
        json_point(s, k, front[k], out);
        orr_text_add(out, "%s\n", k + 1 < s->grid->npoints ? "," : "");
    }
    free(front);
    orr_text_add(out, "  ],\n  \"best\": ");
    add_number(out, sum.best == SIZE_MAX ? (double)NAN : (double)sum.best);
    orr_text_add(out, ",\n  \"worst\": ");
    add_number(out, sum.worst == SIZE_MAX ? (double)NAN : (double)sum.worst);
    orr_text_add(
        out,
        ",\n  \"done\": %zu, \"failed\": %zu, \"kept\": %zu, \"same\": %zu,\n  \"host\": {\"seconds\": %.6f, "
        "\"execute_seconds\": %.6f, \"stream_bytes\": %llu}\n}\n",
        sum.done, sum.failed, sum.kept, sum.same, s->seconds, s->execute_seconds,
        (unsigned long long)s->tape_bytes);
}
