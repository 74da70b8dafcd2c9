// orr_micro: the microbenchmarks (micro/*.launch) on the GPU of this machine. They time themselves with
// the SM's clock; a script's `measure` says what a number means. Each script is run `repeat` times from the
// start, and a row of the CSV is a reading with the median and the ends of its repeats.
#include "api/api.h"
#include "hw/hw.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

// What the driver knows by itself (CUdevice_attribute, cuda.h).
static const struct {
    int attribute;
    const char *metric, *unit;
} attributes[] = {
    {1, "block_threads", "threads"},
    {8, "shared_per_block", "B"},
    {10, "warp", "threads"},
    {12, "block_registers", "registers"},
    {13, "clock", "kHz"},
    {16, "sms", "SMs"},
    {36, "memory_clock", "kHz"},
    {37, "memory_bus", "bits"},
    {38, "l2_size", "B"},
    {39, "sm_threads", "threads"},
    {75, "cc_major", ""},
    {76, "cc_minor", ""},
    {81, "shared_per_sm", "B"},
    {82, "sm_registers", "registers"},
    {97, "shared_per_block_optin", "B"},
    {106, "sm_blocks", "blocks"},
    {111, "shared_reserved", "B"},
};

typedef struct reader { // where a script's readings go
    orr_findings *r;
    const char *benchmark, *size;
} reader;

// The GPU as a backend, with an ear for `measure`: it has the one `self`.
typedef struct ear {
    orr_backend gpu;
    reader to;
} ear;
static bool ear_load(void *s, int k, orr_module *m, orr_err *e) {
    return ((ear *)s)->gpu.load(((ear *)s)->gpu.self, k, m, e);
}
static uint64_t ear_alloc(void *s, const char *name, uint64_t n, orr_err *e) {
    return ((ear *)s)->gpu.alloc(((ear *)s)->gpu.self, name, n, e);
}
static bool ear_write(void *s, uint64_t a, const void *d, uint64_t n, orr_err *e) {
    return ((ear *)s)->gpu.write(((ear *)s)->gpu.self, a, d, n, e);
}
static bool ear_read(void *s, uint64_t a, void *d, uint64_t n, orr_err *e) {
    return ((ear *)s)->gpu.read(((ear *)s)->gpu.self, a, d, n, e);
}
static bool ear_symbol(void *s, int k, const char *name, uint64_t *a, uint64_t *n, orr_err *e) {
    return ((ear *)s)->gpu.symbol(((ear *)s)->gpu.self, k, name, a, n, e);
}
static bool ear_launch(void *s, const orr_call *c, orr_err *e) {
    return ((ear *)s)->gpu.launch(((ear *)s)->gpu.self, c, e);
}
static void ear_measure(void *s, const orr_reading *m) {
    reader *to = &((ear *)s)->to;
    orr_finding like = {
        .benchmark = to->benchmark, .size = to->size, .metric = m->name, .unit = m->unit, .point = m->point};
    orr_findings_add(to->r, &like, m->value);
}

static void device_rows(const orr_hw *h, orr_findings *r) {
    for (size_t k = 0; k < sizeof attributes / sizeof *attributes; k++) {
        int v;
        if (!orr_hw_attribute(h, attributes[k].attribute, &v) || v < 0) continue;
        orr_finding like = {.benchmark = "device",
                            .size = "",
                            .metric = orr_arena_printf(&r->arena, "device.%s", attributes[k].metric),
                            .unit = attributes[k].unit,
                            .point = ""};
        orr_findings_add(r, &like, v);
    }
    orr_finding like = {
        .benchmark = "device", .size = "", .metric = "device.memory", .unit = "B", .point = ""};
    if (orr_hw_memory(h)) orr_findings_add(r, &like, (double)orr_hw_memory(h));
}

static const char *name_of(orr_arena *a, const char *input) {
    const char *slash = strrchr(input, '/');
    const char *base = slash ? slash + 1 : input;
    size_t n = strlen(base);
    return n > 7 && !strcmp(base + n - 7, ".launch") ? orr_arena_strndup(a, base, n - 7)
                                                     : orr_arena_strdup(a, base);
}

// All rounds of a script, in its size `full` unless another is asked for.
static bool one_script(orr_hw *h, const orr_options *o, const char *input, orr_findings *r, bool *broken,
                       orr_err *e) {
    const orr_hw_info *info = orr_hw_get_info(h);
    unsigned sm = (unsigned)(info->major * 10 + info->minor);
    orr_input_options full = o->in;
    if (!full.size) full.size = "full";
    orr_script *s = orr_input_script(&full, input, sm, e);
    if (!s) return false;
    ear x = {.gpu = orr_hw_backend(h),
             .to = {.r = r,
                    .benchmark = name_of(&r->arena, input),
                    .size = orr_arena_strdup(&r->arena, orr_script_size(s))}};
    orr_backend b = {.self = &x,
                     .load = ear_load,
                     .alloc = ear_alloc,
                     .write = ear_write,
                     .read = ear_read,
                     .symbol = ear_symbol,
                     .launch = ear_launch,
                     .measure = ear_measure};
    bool ok = true;
    for (int k = 0; ok && k < o->lab.repeat; k++) {
        ok = orr_script_run(s, &b, !o->in.no_check, NULL, e);
        if (!orr_hw_reset(h)) *broken = true;
        ok = ok && !*broken;
    }
    orr_script_free(s);
    return ok;
}

static void say_date(orr_findings *r) {
    time_t now = time(NULL);
    struct tm t;
    gmtime_r(&now, &t);
    r->date = orr_arena_printf(&r->arena, "%04d-%02d-%02d", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
}

static void say_gpu(orr_findings *r, const orr_hw *h) {
    const orr_hw_info *i = orr_hw_get_info(h);
    r->gpu = orr_arena_strdup(&r->arena, i->name);
    r->driver = orr_arena_printf(&r->arena, "%d.%d", i->driver / 1000, i->driver % 1000 / 10);
    say_date(r);
    device_rows(h, r);
}

static void rows_json(const orr_findings *r, orr_text *t) {
    orr_text_add(t, "{\"gpu\": ");
    orr_text_json(t, r->gpu);
    orr_text_add(t, ", \"driver\": \"%s\", \"date\": \"%s\", \"findings\": [", r->driver, r->date);
    for (size_t k = 0; k < r->rows.n; k++) {
        const orr_finding *x = &r->rows.at[k];
        orr_text_add(t, "%s\n  {\"benchmark\": ", k ? "," : "");
        orr_text_json(t, x->benchmark);
        orr_text_add(t, ", \"metric\": ");
        orr_text_json(t, x->metric);
        orr_text_add(t, ", \"point\": ");
        orr_text_json(t, x->point);
        orr_text_add(t, ", \"value\": %.6g, \"unit\": ", x->value);
        orr_text_json(t, x->unit);
        orr_text_add(t, "}");
    }
    orr_text_add(t, "]}\n");
}

// A script that fails is named, and the others are run.
orr_report *orr_micro(const char *const *inputs, int n, const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    orr_findings r = {0};
    orr_progress progress = {0};
    orr_report *report = NULL;
    int failed = 0;
    bool broken = false;
    if (!n) inputs = orr_list_micro(&r.arena, &n);
    orr_hw *h = orr_hw_open(e);
    if (h && !n)
        orr_fail(e, ORR_BAD_INPUT, "hw micro: there is no folder micro with benchmarks; name launch scripts");
    if (h && n) {
        say_gpu(&r, h);
        orr_progress_start(&progress, o->watcher, "hw micro", "scripts", "", (uint64_t)n);
    }
    orr_err first = {0};
    for (int k = 0; !e->status && !broken && k < n && orr_progress_go(&progress, e); k++) {
        orr_err why = {0};
        if (!one_script(h, o, inputs[k], &r, &broken, &why)) {
            orr_note(&o->notes, "hw micro: %s", why.text);
            if (!why.status) why.status = ORR_PROGRAM_FAILED;
            if (!failed++) first = why;
            first.status = why.status;
        }
        orr_progress_step(&progress, (uint64_t)k + 1);
    }
    orr_progress_end(&progress);
    if (broken) orr_note(&o->notes, "hw micro: after that fault the driver takes no more work");
    orr_hw_close(h);
    if (!e->status || (e->status == ORR_STOPPED && r.rows.n)) { // stopped: what was found
        orr_text csv = {0}, json = {0};
        orr_findings_end(&r);
        orr_findings_write(&r, &csv);
        rows_json(&r, &json);
        report = orr_report_of((orr_text){0}, json);
        orr_report_add(report, ORR_CSV, csv);
    }
    if (failed)
        orr_fail(e, first.status, "hw micro: %d of %d scripts failed; the first: %s", failed, n, first.text);
    orr_findings_free(&r);
    return report;
}
