// orr_correlate: simulates what was measured and says how near the predictions are.
//
// The measurements name scripts and sizes; each is run once through the model, with L2 emptied before every
// kernel where the profiler had done so. A script that fails costs its own points their prediction and is
// told of as an error; the others are compared all the same.
#include "api/api.h"
#include "capture/capture.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct correlator {
    const orr_options *o;
    const orr_model *model;
    orr_gpu *gpu; // for the group that is simulated
    const orr_group *group;
    orr_comparison *c;
    orr_result result;
    orr_progress progress;
} correlator;

// ---- one script -------------------------------------------------------------------------------
static bool on_work(void *arg, orr_work *w, orr_err *e) {
    correlator *x = arg;
    x->c->source = w->info.kernel->machine ? "machine code" : "PTX";
    if (!x->model->run(x->gpu, w, &x->result, e)) return false;
    orr_compare_launch(x->c, x->group, x->gpu, &x->result.launches.at[x->result.launches.n - 1]);
    return true;
}

// A captured launch without memory (capture --sample): what is predicted of the one like it.
static void on_alike(void *arg, const orr_launch_info *info, uint32_t like) {
    correlator *x = arg;
    const orr_launch_result *l = orr_result_like(&x->result, info, like);
    if (l) orr_compare_launch(x->c, x->group, x->gpu, l);
}

static bool simulate(correlator *x, orr_err *e) {
    orr_input_options o = x->o->in;
    if (*x->group->size) o.size = x->group->size;
    x->result =
        (orr_result){.gpu = x->gpu ? x->gpu->name : NULL, .model = x->model->name, .input = x->group->script};
    orr_input in = {.name = x->group->script,
                    .o = &o,
                    .gpu = x->gpu,
                    .check = !o.no_check,
                    .only_script = !orr_capture_probe(x->group->script),
                    .progress = &x->progress,
                    .notes = &x->o->notes,
                    .work = on_work,
                    .alike = on_alike,
                    .arg = x};
    bool ok = orr_input_run(&in, e);
    orr_result_free(&x->result);
    orr_input_close(&in);
    return ok;
}

// The GPU with its caches as they were when it was measured; what the user sets goes before.
static bool load_gpu(correlator *x, bool flushed, orr_err *e) {
    orr_gpu_free(x->gpu);
    x->gpu = orr_asked_gpu_with(x->o, flushed ? "l2.flush=yes" : "l2.flush=no", e);
    return x->gpu != NULL;
}

static bool simulate_all(correlator *x, orr_err *e) {
    int failed = 0;
    double start = orr_seconds();
    orr_err first = {0};
    const char *caches = "";
    for (size_t k = 0; k < x->c->groups.n; k++) {
        x->group = &x->c->groups.at[k];
        if (strcmp(caches, x->group->cache) != 0) {
            caches = x->group->cache;
            if (!load_gpu(x, !strcmp(caches, "flushed"), e)) return false;
        }
        orr_err why = {0};
        if (!simulate(x, &why)) {
            orr_compare_missing(x->c, x->group, why.text);
            if (!failed++) first = why;
        }
        orr_compare_missing(x->c, x->group, "the simulation makes fewer launches");
        orr_progress_step(&x->progress, k + 1);
        if (orr_progress_go(&x->progress, e)) continue;
        while (++k < x->c->groups.n) orr_compare_missing(x->c, &x->c->groups.at[k], "stopped");
        x->c->seconds = orr_seconds() - start;
        return false;
    }
    x->c->seconds = orr_seconds() - start;
    if (failed == 1)
        orr_fail(e, ORR_PROGRAM_FAILED, "correlate: one script has no prediction: %s", first.text);
    if (failed > 1)
        orr_fail(e, ORR_PROGRAM_FAILED, "correlate: %d scripts have no prediction; the first: %s", failed,
                 first.text);
    return true; // what is known is reported all the same
}

// ---- what was measured --------------------------------------------------------------------------
static bool named(const orr_options *o, const char *script) {
    const orr_words *only = &o->lab.scripts;
    for (size_t k = 0; k < only->n; k++)
        if (!strcmp(only->at[k], script)) return true;
    return only->n == 0;
}

// `script`, `size` and `kernels` choose.
static bool choose(orr_hardware *h, const orr_options *o, orr_err *e) {
    size_t kept = 0, all = h->rows.n;
    for (size_t k = 0; k < all; k++) {
        const orr_measured *m = &h->rows.at[k];
        if (!named(o, m->script) || (o->in.size && strcmp(o->in.size, m->size) != 0) ||
            (o->in.kernels && !orr_name_matches(o->in.kernels, m->kernel)))
            continue;
        h->rows.at[kept++] = *m;
    }
    h->rows.n = kept;
    if (!kept && all)
        return orr_fail(e, ORR_BAD_INPUT,
                        "correlate: none of the %zu measurements is of what was asked for after --", all);
    for (size_t i = 0; i < o->lab.scripts.n; i++) {
        const char *script = o->lab.scripts.at[i];
        bool found = false;
        for (size_t k = 0; k < kept && !found; k++) found = !strcmp(h->rows.at[k].script, script);
        if (!found) return orr_fail(e, ORR_BAD_INPUT, "correlate: %s was not measured", script);
    }
    return true;
}

static bool check_options(const orr_options *o, orr_err *e) {
    const orr_direct *d = &o->in.direct;
    if (o->run.timeline || o->run.lines || o->run.counts_only || o->in.launches || d->kernel || d->grid ||
        d->block || d->shared || d->nargs)
        return orr_fail(
            e, ORR_BAD_INPUT,
            "correlate: after -- it takes --gpu, --model, --set, --threads, --size, --kernels, --max-insts, "
            "--no-check, --quiet and names of scripts");
    if (o->in.nsets)
        return orr_fail(e, ORR_BAD_INPUT,
                        "correlate: --set %s would change a script; what was measured had its own sizes",
                        o->in.sets[0]);
    return orr_input_check(&o->in, e);
}

// Measured on one GPU and simulated on another: possible, and rarely meant.
static void compare_names(const correlator *x) {
    const char *hw = x->c->hw_gpu;
    if (!*hw) return;
    for (const char *p = hw; *p; p++)
        if (!strncasecmp(p, x->gpu->name, strlen(x->gpu->name))) return;
    orr_note(&x->o->notes, "measured on %s, simulated on %s", hw, x->gpu->name);
}

bool orr_correlate_rows(const orr_options *o, orr_hardware *h, orr_comparison *c, orr_err *e) {
    correlator x = {.o = o, .c = c};
    bool ok = choose(h, o, e) && orr_compare_start(c, h, e) &&
              (x.model = orr_model_find(o->model.model ? o->model.model : "cycle", e));
    ok = ok && load_gpu(&x, true, e);
    if (ok) {
        c->gpu = orr_arena_strdup(&c->arena, x.gpu->name);
        c->model = x.model->name;
        c->source = "PTX";
        compare_names(&x);
        orr_progress_start(&x.progress, o->watcher, "correlate", "scripts", "blocks", c->groups.n);
        ok = simulate_all(&x, e);
        orr_progress_end(&x.progress);
    }
    if (ok || e->status == ORR_STOPPED) orr_compare_end(c);
    orr_gpu_free(x.gpu);
    return ok;
}

// ---- the job ------------------------------------------------------------------------------------
typedef struct correlation {
    orr_hardware h; // names in the comparison are its
    orr_comparison c;
    orr_words files;
    orr_arena arena;
} correlation;

static bool make(void *self, enum orr_format format, orr_text *out) {
    const orr_comparison *c = &((correlation *)self)->c;
    static void (*const say[ORR_FORMATS])(const orr_comparison *c,
                                          orr_text *out) = {[ORR_TEXT] = orr_compare_text,
                                                            [ORR_JSON] = orr_compare_json,
                                                            [ORR_CSV] = orr_compare_csv,
                                                            [ORR_HTML] = orr_compare_html};
    if (say[format]) say[format](c, out);
    return say[format] != NULL;
}

static void free_correlation(void *self) {
    correlation *x = self;
    orr_compare_free(&x->c);
    orr_hardware_free(&x->h);
    free(x->files.at);
    orr_arena_free(&x->arena);
    free(x);
}

// A capture's measurements are of its own launches: what is simulated is the folder, wherever it lies now.
static bool read_capture(correlation *x, const char *folder, orr_err *e) {
    size_t before = x->h.rows.n;
    if (!orr_hardware_read(&x->h, orr_arena_printf(&x->arena, "%s/measured.csv", folder), e))
        return orr_fail(e, ORR_BAD_INPUT,
                        "%s: has no measurements that can be read; capture it with --measure where "
                        "Nsight Compute is",
                        folder);
    for (size_t k = before; k < x->h.rows.n; k++) {
        x->h.rows.at[k].script = orr_arena_strdup(&x->arena, folder);
        x->h.rows.at[k].size = "";
    }
    return true;
}

orr_report *orr_correlate(const char *const *files, int n, const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    if (!check_options(o, e)) return NULL;
    correlation *x = orr_calloc(1, sizeof *x);
    bool ok = true;
    for (int k = 0; k < n; k++) *ORR_PUSH(&x->files) = orr_arena_strdup(&x->arena, files[k]);
    x->c.files = x->files.at;
    x->c.nfiles = x->files.n;
    for (int k = 0; ok && k < n; k++)
        ok = orr_capture_probe(files[k]) ? read_capture(x, files[k], e)
                                         : orr_hardware_read(&x->h, files[k], e);
    if (ok && (orr_correlate_rows(o, &x->h, &x->c, e) || e->status == ORR_STOPPED))
        return orr_report_new(x, make, free_correlation); // stopped: the scripts that are done
    free_correlation(x);
    return NULL;
}
