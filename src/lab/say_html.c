// A comparison as one page that a browser opens without any other file and without a network: page.html, with
// the points in it as JSON. Numbers are in the browser's hands from there; the script in the page draws them.
#include "lab/lab.h"
#include "lab/page.h"
#include "orrery.h"
#include "report/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void number(orr_text *t, double v) {
    if (!isfinite(v))
        orr_text_add(t, "null");
    else if (v == floor(v) && fabs(v) < 9e15)
        orr_text_add(t, "%.0f", v);
    else
        orr_text_add(t, "%.6g", v);
}

static void string(orr_text *t, const char *name, const char *s) {
    orr_text_add(t, "\"%s\":", name);
    if (s)
        orr_text_json(t, s);
    else
        orr_text_add(t, "null");
}

// [measured, predicted], and where repeats differ the ends.
static void value(orr_text *t, const orr_value *v) {
    if (isnan(v->measured)) {
        orr_text_add(t, "null");
        return;
    }
    orr_text_add(t, "[");
    number(t, v->measured);
    orr_text_add(t, ",");
    number(t, v->predicted);
    if (v->high > v->low) {
        orr_text_add(t, ",");
        number(t, v->low);
        orr_text_add(t, ",");
        number(t, v->high);
    }
    orr_text_add(t, "]");
}

static void values(orr_text *t, const orr_comparison *c, const orr_point *p) {
    orr_text_add(t, ",\"v\":[");
    for (size_t k = 0; k < c->ncounters; k++) {
        if (k) orr_text_add(t, ",");
        value(t, &p->values[k]);
    }
    orr_text_add(t, "]");
}

static void shape(orr_text *t, const char *name, const uint32_t d[3]) {
    orr_text_add(t, ",\"%s\":[%u,%u,%u]", name, d[0], d[1], d[2]);
}

// Reasons as measured: the counters that count them, when the most frequent ones are there.
static size_t place_of(const orr_comparison *c, int counter) {
    for (size_t k = 0; k < c->ncounters; k++)
        if (c->counters[k] == counter) return k;
    return SIZE_MAX;
}

static void stalls(orr_text *t, const orr_comparison *c, const orr_point *p) {
    if (p->stalls) {
        orr_text_add(t, ",\"stalls\":[");
        for (int s = 0; s < ORR_STALLS; s++) {
            if (s) orr_text_add(t, ",");
            number(t, p->stalls[s]);
        }
        orr_text_add(t, "]");
    }
    size_t always = place_of(c, ORR_C_STALLED_ISSUED);
    if (always == SIZE_MAX || isnan(p->values[always].measured)) return;
    orr_text_add(t, ",\"hw_stalls\":[");
    for (int s = 0; s < ORR_STALLS; s++) {
        size_t k = place_of(c, ORR_C_STALLED_ISSUED + s);
        if (s) orr_text_add(t, ",");
        number(t, k == SIZE_MAX ? (double)NAN : p->values[k].measured);
    }
    orr_text_add(t, "]");
}

static void kernel(orr_text *t, const orr_comparison *c, const orr_point *p) {
    orr_text_add(t, "{");
    string(t, "script", p->script);
    orr_text_add(t, ",");
    string(t, "size", p->size);
    orr_text_add(t, ",");
    string(t, "cache", p->cache);
    orr_text_add(t, ",");
    string(t, "kernel", p->kernel);
    orr_text_add(t, ",\"launches\":%u,\"missing\":%u,\"repeats\":%u,\"regs\":%u,\"predicted_regs\":%u,",
                 p->launches, p->missing, p->repeats, p->regs, p->predicted_regs);
    string(t, "bound", p->bound);
    orr_text_add(t, ",");
    string(t, "failure", p->failure);
    shape(t, "grid", p->grid);
    shape(t, "block", p->block);
    values(t, c, p);
    stalls(t, c, p);
    orr_text_add(t, "}");
}

static void launch(orr_text *t, const orr_comparison *c, const orr_point *p) {
    orr_text_add(t, "{\"k\":%zu,\"n\":%u,\"repeats\":%u,", p->kernel_index, p->launch, p->repeats);
    string(t, "failure", p->failure);
    shape(t, "grid", p->grid);
    values(t, c, p);
    orr_text_add(t, "}");
}

static void data(const orr_comparison *c, orr_text *t) {
    orr_text_add(t, "{");
    string(t, "gpu", c->gpu);
    orr_text_add(t, ",");
    string(t, "model", c->model);
    orr_text_add(t, ",");
    string(t, "source", c->source);
    orr_text_add(t, ",");
    string(t, "hw_gpu", c->hw_gpu);
    orr_text_add(t, ",");
    string(t, "hw_driver", c->hw_driver);
    orr_text_add(t, ",");
    string(t, "hw_date", c->hw_date);
    orr_text_add(t, ",");
    string(t, "version", ORR_VERSION);
    orr_text_add(t, ",\"seconds\":%.1f,\"files\":[", c->seconds);
    for (size_t k = 0; k < c->nfiles; k++) {
        if (k) orr_text_add(t, ",");
        orr_text_json(t, c->files[k]);
    }
    orr_text_add(t, "],\n\"counters\":[");
    for (size_t k = 0; k < c->ncounters; k++) {
        const orr_counter_info *info = &orr_counters[c->counters[k]];
        orr_text_add(t, "%s{", k ? "," : "");
        string(t, "name", info->name);
        orr_text_add(t, ",");
        string(t, "unit", info->unit);
        orr_text_add(t, ",");
        string(t, "meaning", info->meaning);
        orr_text_add(t, "}");
    }
    orr_text_add(t, "],\n\"stalls\":[");
    for (int s = 0; s < ORR_STALLS; s++) {
        orr_text_add(t, "%s{", s ? "," : "");
        string(t, "name", orr_stalls[s].name);
        orr_text_add(t, ",");
        string(t, "meaning", orr_stalls[s].meaning);
        orr_text_add(t, "}");
    }
    orr_text_add(t, "],\n\"kernels\":[");
    for (size_t i = 0; i < c->kernels.n; i++) {
        orr_text_add(t, i ? ",\n" : "\n");
        kernel(t, c, &c->kernels.at[i]);
    }
    orr_text_add(t, "],\n\"launches\":[");
    for (size_t i = 0; i < c->launches.n; i++) {
        orr_text_add(t, i ? ",\n" : "\n");
        launch(t, c, &c->launches.at[i]);
    }
    orr_text_add(t, "]}");
}

void orr_compare_html(const orr_comparison *c, orr_text *t) {
    orr_text json = {0};
    data(c, &json);
    orr_html_fill(lab_page, json.s, t);
    free(json.s);
}
