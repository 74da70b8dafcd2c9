// orr_gpu_*: the descriptions, the keys there are, occupancy, and an import from GPGPU-Sim.
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

static int by_capability(const void *a, const void *b) {
    const orr_gpu *x = *(orr_gpu *const *)a, *y = *(orr_gpu *const *)b;
    if (x->cc_major != y->cc_major) return x->cc_major - y->cc_major;
    if (x->cc_minor != y->cc_minor) return x->cc_minor - y->cc_minor;
    return strcmp(x->name, y->name);
}

// A description that cannot be read is reported, the others are listed all the same.
orr_report *orr_gpus(const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    int n, good = 0;
    char **names = orr_gpu_list(&n);
    orr_gpu **gpus = orr_calloc((size_t)n + 1, sizeof *gpus);
    for (int i = 0; i < n; i++) {
        gpus[good] = orr_gpu_load(names[i], o->sets.at, (int)o->sets.n, e);
        if (gpus[good]) good++;
    }
    qsort(gpus, (size_t)good, sizeof *gpus, by_capability);
    orr_text text = {0}, json = {0};
    orr_text_addn(&text, "", 0);
    orr_text_addn(&json, "", 0);
    if (good) orr_gpu_json_list(gpus, good, &json);
    if (good) orr_gpu_print_list(gpus, good, &text);
    for (int i = 0; i < good; i++) orr_gpu_free(gpus[i]);
    free(gpus);
    orr_gpu_list_free(names, n);
    if (n == 0)
        orr_fail(e, ORR_BAD_INPUT,
                 "no GPU descriptions found; set ORRERY_DATA to the folder that holds gpus/");
    return orr_report_of(text, json);
}

orr_report *orr_gpu_keys(orr_err *e) {
    if (e->status) return NULL;
    orr_text text = {0}, json = {0};
    orr_gpu_print_keys(&text);
    orr_gpu_json_keys(&json);
    return orr_report_of(text, json);
}

typedef void printer(const orr_gpu *g, orr_text *out);

static orr_report *report_gpu(const char *gpu, const orr_options *o, printer *text_of, printer *json_of,
                              orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    orr_gpu *g = orr_gpu_load(gpu, o->sets.at, (int)o->sets.n, e);
    if (!g) return NULL;
    orr_note_gpu(&o->notes, g);
    orr_text text = {0}, json = {0};
    text_of(g, &text);
    json_of(g, &json);
    orr_gpu_free(g);
    return orr_report_of(text, json);
}

orr_report *orr_gpu_describe(const char *gpu, const orr_options *o, orr_err *e) {
    return report_gpu(gpu, o, orr_gpu_print, orr_gpu_json, e);
}

// Mechanisms were looked for on an H200. What it has is compared with SMs of its kind; there is nothing to
// say of older ones.
orr_report *orr_gpu_evidence(const char *gpu, const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    orr_err none = {0};
    orr_gpu *g = orr_gpu_load(gpu, o->sets.at, (int)o->sets.n, e);
    if (!g) return NULL;
    orr_gpu *seen = g->cc_major >= 7 ? orr_gpu_load("h200", NULL, 0, &none) : NULL;
    orr_note_gpu(&o->notes, g);
    orr_text text = {0}, json = {0};
    orr_gpu_print_evidence(g, seen, &text);
    orr_gpu_json_evidence(g, seen, &json);
    orr_gpu_free(seen);
    orr_gpu_free(g);
    return orr_report_of(text, json);
}

// ---- occupancy ------------------------------------------------------------------------------------
// Digits, an optional K or KB, and nothing else.
static bool bytes_of(const char *s, int64_t *out) {
    char *end;
    if (*s < '0' || *s > '9' || strlen(s) > 12) return false;
    *out = strtoll(s, &end, 10);
    if (strcmp(end, "K") == 0 || strcmp(end, "KB") == 0)
        *out *= 1024;
    else if (*end)
        return false;
    return true;
}

// --block X[,Y[,Z]]: the threads of a block, whatever their shape.
static bool threads_of(const char *s, int *out) {
    int64_t product = 1;
    for (int i = 0; i < 3; i++) {
        char *end;
        if (*s < '0' || *s > '9') return false;
        long v = strtol(s, &end, 10);
        if (v < 1 || v > 65536) return false;
        product *= v;
        if (product > 65536) return false;
        *out = (int)product;
        if (*end == 0) return true;
        if (*end != ',' && *end != 'x') return false;
        s = end + 1;
    }
    return false;
}

orr_report *orr_gpu_occupancy(const char *gpu, const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    const orr_direct *d = &o->in.direct;
    int threads = 256;
    int64_t shared = 0;
    orr_occupancy_result fit;
    orr_report *r = NULL;
    orr_gpu *g = orr_gpu_load(gpu, o->sets.at, (int)o->sets.n, e);
    if (g && d->block && !threads_of(d->block, &threads))
        orr_fail(e, ORR_BAD_INPUT, "--block %.40s: expected 1 to 65536 threads, as 256 or 16,16", d->block);
    else if (g && d->shared && !bytes_of(d->shared, &shared))
        orr_fail(e, ORR_BAD_INPUT, "--shared %.40s: expected bytes, as 16384 or 16K", d->shared);
    else if (g && !orr_occupancy(g, threads, o->regs, shared, o->barriers, &fit))
        orr_fail(e, ORR_BAD_INPUT, "--regs and --barriers cannot be that large, nor negative");
    if (!e->status) {
        orr_text text = {0}, json = {0};
        orr_occupancy_json(&fit, &json);
        orr_occupancy_print(g, &fit, &text);
        r = orr_report_of(text, json);
    }
    orr_gpu_free(g);
    return r;
}

// ---- import ---------------------------------------------------------------------------------------
orr_report *orr_gpu_import(const char *gpgpusim, const char *trace, const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    orr_text conf = {0}, notes = {0};
    bool ok = orr_accel_import(gpgpusim, trace, &conf, &notes, e);
    for (char *at = notes.s, *line; ok && at && (line = strsep(&at, "\n"));)
        if (*line) orr_note(&o->notes, "%s", line);
    free(notes.s);
    if (ok) return orr_report_of(conf, (orr_text){0});
    free(conf.s);
    return NULL;
}
