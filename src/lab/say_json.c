// A comparison as one JSON object (docs/guides/lab.md). Errors are in percent; what cannot be said is null.
#include "lab/lab.h"

#include <math.h>

static void number(orr_text *t, double v) {
    if (!isfinite(v))
        orr_text_add(t, "null");
    else if (v == floor(v) && fabs(v) < 9e15)
        orr_text_add(t, "%.0f", v);
    else
        orr_text_add(t, "%.9g", v);
}

static void field(orr_text *t, const char *name, double v) {
    orr_text_add(t, ", \"%s\": ", name);
    number(t, v);
}

static void string(orr_text *t, const char *name, const char *s) {
    orr_text_add(t, "\"%s\": ", name);
    if (s)
        orr_text_json(t, s);
    else
        orr_text_add(t, "null");
}

static void nearness(orr_text *t, const orr_nearness *f, const orr_point *points, size_t k) {
    orr_text_add(t, "{\"points\": %zu, \"missing\": %zu, \"zero\": %zu, \"undefined\": %zu", f->points,
                 f->missing, f->zero, f->undefined);
    field(t, "mape", f->mape);
    field(t, "wmape", f->wmape);
    field(t, "bias", f->bias);
    field(t, "pearson", f->pearson);
    field(t, "pearson_log", f->pearson_log);
    field(t, "nrmse", f->nrmse);
    field(t, "within_5", f->within_5);
    field(t, "within_10", f->within_10);
    field(t, "spread", f->spread);
    orr_text_add(t, ", \"worst\": [");
    for (size_t i = 0; i < f->nworst; i++) {
        const orr_point *p = &points[f->worst[i]];
        orr_text_add(t, "%s{", i ? ", " : "");
        string(t, "script", p->script);
        orr_text_add(t, ", ");
        string(t, "size", p->size);
        orr_text_add(t, ", ");
        string(t, "kernel", p->kernel);
        field(t, "error", orr_error_percent(&p->values[k]));
        orr_text_add(t, "}");
    }
    orr_text_add(t, "]}");
}

static void all_figures(const orr_comparison *c, const orr_nearness *f, const orr_point *points,
                        const char *indent, orr_text *t) {
    orr_text_add(t, "\"cycles\": ");
    nearness(t, &f[0], points, 0);
    orr_text_add(t, ",\n%s\"counters\": {", indent);
    for (size_t k = 0; k < c->ncounters; k++) {
        orr_text_add(t, "%s\n%s  \"%s\": ", k ? "," : "", indent, orr_counters[c->counters[k]].name);
        nearness(t, &f[k], points, k);
    }
    orr_text_add(t, "}");
}

static void shape(orr_text *t, const char *name, const uint32_t d[3]) {
    orr_text_add(t, ", \"%s\": [%u, %u, %u]", name, d[0], d[1], d[2]);
}

static void value(orr_text *t, const orr_value *v) {
    orr_text_add(t, "{\"measured\": ");
    number(t, v->measured);
    if (v->high > v->low) {
        field(t, "low", v->low);
        field(t, "high", v->high);
    }
    field(t, "predicted", v->predicted);
    field(t, "error", orr_error_percent(v));
    orr_text_add(t, "}");
}

static void point(const orr_comparison *c, const orr_point *p, bool kernel, orr_text *t) {
    orr_text_add(t, "{");
    string(t, "script", p->script);
    orr_text_add(t, ", ");
    string(t, "size", p->size);
    orr_text_add(t, ", ");
    string(t, "cache", p->cache);
    orr_text_add(t, ", ");
    string(t, "kernel", p->kernel);
    if (kernel)
        orr_text_add(t, ", \"launches\": %u, \"missing\": %u, \"longest\": %u", p->launches, p->missing,
                     p->launch);
    else
        orr_text_add(t, ", \"launch\": %u", p->launch);
    shape(t, "grid", p->grid);
    shape(t, "block", p->block);
    orr_text_add(t, ", \"repeats\": %u, \"registers\": [%u, %u], ", p->repeats, p->regs, p->predicted_regs);
    string(t, "bound", p->bound);
    orr_text_add(t, ", \"regular\": %s, ", p->regular ? "true" : "false");
    string(t, "failure", p->failure);
    orr_text_add(t, ",\n   \"cycles\": ");
    value(t, &p->values[0]);
    orr_text_add(t, ", \"counters\": {");
    bool first = true;
    for (size_t k = 1; k < c->ncounters; k++) {
        if (isnan(p->values[k].measured)) continue;
        orr_text_add(t, "%s\"%s\": ", first ? "" : ", ", orr_counters[c->counters[k]].name);
        value(t, &p->values[k]);
        first = false;
    }
    orr_text_add(t, "}");
    if (p->stalls) {
        orr_text_add(t, ", \"stalls\": {");
        for (int k = 0; k < ORR_STALLS; k++) {
            orr_text_add(t, "%s\"%s\": ", k ? ", " : "", orr_stalls[k].name);
            number(t, p->stalls[k]);
        }
        orr_text_add(t, "}");
    }
    orr_text_add(t, "}");
}

void orr_compare_json(const orr_comparison *c, orr_text *t) {
    orr_text_add(t, "{");
    string(t, "gpu", c->gpu);
    orr_text_add(t, ", ");
    string(t, "model", c->model);
    orr_text_add(t, ", ");
    string(t, "source", c->source);
    orr_text_add(t, ",\n \"hardware\": {");
    string(t, "gpu", c->hw_gpu);
    orr_text_add(t, ", ");
    string(t, "driver", c->hw_driver);
    orr_text_add(t, ", ");
    string(t, "date", c->hw_date);
    orr_text_add(t, ", \"files\": [");
    for (size_t k = 0; k < c->nfiles; k++) {
        orr_text_add(t, k ? ", " : "");
        orr_text_json(t, c->files[k]);
    }
    orr_text_add(t, "]},\n \"scripts\": %zu, \"host\": {\"seconds\": %.3f},\n ", c->scripts, c->seconds);
    all_figures(c, c->by_kernel, c->kernels.at, " ", t);
    orr_text_add(t, ",\n \"by_launch\": {");
    all_figures(c, c->by_launch, c->launches.at, "  ", t);
    orr_text_add(t, "},\n \"regular\": {");
    all_figures(c, c->regular, c->kernels.at, "  ", t);
    orr_text_add(t, "},\n \"kernels\": [");
    for (size_t i = 0; i < c->kernels.n; i++) {
        orr_text_add(t, "%s\n  ", i ? "," : "");
        point(c, &c->kernels.at[i], true, t);
    }
    orr_text_add(t, "],\n \"launches\": [");
    for (size_t i = 0; i < c->launches.n; i++) {
        orr_text_add(t, "%s\n  ", i ? "," : "");
        point(c, &c->launches.at[i], false, t);
    }
    orr_text_add(t, "]}\n");
}
