// orr_compare: every model that predicts time on the same inputs, and what a real GPU measured beside them.
//
// A script is executed plainly first, which says what execution costs and whether its results are right; then
// each model runs it as `orrery run` would, so that the seconds are those a user waits. What was measured
// comes from CSVs of `orrery hw profile`, joined by script, size, launch, kernel and shape.
#include "api/api.h"
#include "report/html.h"
#include "lab/models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct comparer {
    const orr_options *o;
    orr_sides sides;
    orr_hardware hardware;
    orr_progress progress;
    // of the input that is looked at:
    size_t input;            // in sides.inputs
    orr_hardware of_input;   // its rows (names and values belong to `hardware`)
    orr_comparison measured; // and their medians by launch
    orr_gpu *gpu;
    bool warm;         // measurements with warm caches are taken
    int model;         // -1: plain execution
    uint32_t launches; // that the input makes
    orr_result result;
} comparer;

// ---- what was measured ------------------------------------------------------------------------------
static bool read_hardware(comparer *x, orr_err *e) {
    if (x->o->lab.hardware) return orr_hardware_read(&x->hardware, x->o->lab.hardware, e);
    int n;
    const char *const *files = orr_list_hardware(&x->sides.arena, x->sides.gpu, &n);
    for (int k = 0; k < n; k++)
        if (!orr_hardware_read(&x->hardware, files[k], e)) return false;
    return true;
}

// "workloads/saxpy/saxpy.launch" was measured as "saxpy".
static bool same_script(const char *script, const char *input) {
    if (!strcmp(script, input)) return true;
    const char *slash = strrchr(input, '/'), *name = slash ? slash + 1 : input;
    size_t n = strlen(name);
    return n > 7 && !strcmp(name + n - 7, ".launch") && strlen(script) == n - 7 &&
           !memcmp(script, name, n - 7);
}

// The input's measurements with one state of the caches, joined by launch. None is no error.
static bool join(comparer *x, const char *cache, orr_err *e) {
    orr_side_input *in = &x->sides.inputs.at[x->input];
    x->of_input = (orr_hardware){.index = x->hardware.index};
    for (size_t k = 0; k < x->hardware.rows.n; k++) {
        const orr_measured *m = &x->hardware.rows.at[k];
        if (same_script(m->script, in->input) && !strcmp(m->size, in->size) && !strcmp(m->cache, cache))
            *ORR_PUSH(&x->of_input.rows) = *m;
    }
    if (!x->of_input.rows.n) return true;
    in->cache = !strcmp(cache, "warm") ? "warm" : "flushed";
    if (!*x->sides.hw_gpu) x->sides.hw_gpu = x->of_input.rows.at[0].gpu;
    return orr_compare_start(&x->measured, &x->of_input, e);
}

static double measured_cycles(const comparer *x, const orr_work *w) {
    for (size_t k = 0; k < x->measured.launches.n; k++) {
        const orr_point *p = &x->measured.launches.at[k];
        if (p->launch == w->info.index && !strcmp(p->kernel, w->info.kernel->name) &&
            !memcmp(p->grid, w->info.grid, sizeof p->grid) &&
            !memcmp(p->block, w->info.block, sizeof p->block))
            return p->values[0].measured;
    }
    return NAN;
}

// ---- one launch ---------------------------------------------------------------------------------------
static orr_side_kernel *kernel_of(comparer *x, const char *name) {
    orr_side_input *in = &x->sides.inputs.at[x->input];
    for (size_t k = 0; k < in->kernels.n; k++)
        if (!strcmp(in->kernels.at[k].name, name)) return &in->kernels.at[k];
    orr_side_kernel *k = ORR_PUSH(&in->kernels);
    k->name = orr_arena_strdup(&x->sides.arena, name);
    k->hardware = k->execute = NAN;
    for (int m = 0; m < ORR_SIDE_MODELS; m++)
        k->models[m] =
            (orr_side){.cycles = NAN, .time_ns = NAN, .measured = NAN, .failure = "was not launched"};
    return k;
}

static double plus(double sum, double v) { return isnan(sum) ? v : sum + v; }

// Plain execution: which kernels there are, and what executing them costs.
static bool execute(comparer *x, const orr_work *w, orr_err *e) {
    double start = orr_seconds();
    if (w->launch && !orr_exec_run(w->launch, w->threads, NULL, NULL, e)) return false;
    orr_side_kernel *k = kernel_of(x, w->info.kernel->name);
    k->launches++;
    x->launches++;
    if (w->launch) k->execute = plus(k->execute, orr_seconds() - start);
    return true;
}

static bool predict(comparer *x, const orr_work *w, orr_err *e) {
    const orr_model *m = x->sides.models[x->model];
    double start = orr_seconds();
    if (!m->run(x->gpu, w, &x->result, e)) return false;
    const orr_launch_result *l = &x->result.launches.at[x->result.launches.n - 1];
    orr_side_kernel *k = kernel_of(x, w->info.kernel->name);
    orr_side *side = &k->models[x->model];
    double hardware = measured_cycles(x, w);
    side->failure = NULL;
    side->launches++;
    side->seconds += orr_seconds() - start;
    side->cycles = plus(side->cycles, l->cycles);
    side->time_ns = plus(side->time_ns, l->time_ns);
    if (isnan(hardware)) return true;
    side->measured = plus(side->measured, l->cycles);
    if (x->model) return true; // once is enough
    k->hardware = plus(k->hardware, hardware);
    k->measured_launches++;
    return true;
}

static bool on_work(void *arg, orr_work *w, orr_err *e) {
    comparer *x = arg;
    w->latencies = x->o->model.latencies;
    w->part = x->launches <= 1; // a later launch may need what this one leaves in memory
    return x->model < 0 ? execute(x, w, e) : predict(x, w, e);
}

static bool on_copy(void *arg, uint64_t addr, uint64_t bytes, orr_err *e) {
    comparer *x = arg;
    const orr_model *m = x->model < 0 ? NULL : x->sides.models[x->model];
    return !m || !m->copy || m->copy(x->gpu, addr, bytes, &x->result, e);
}

// ---- one input ----------------------------------------------------------------------------------------
// Once through the input with the model of the moment.
static bool pass(comparer *x, const char *input, orr_err *e) {
    orr_side_input *in = &x->sides.inputs.at[x->input];
    orr_input f = {.name = input,
                   .o = &x->o->in,
                   .gpu = x->gpu,
                   .check = x->model < 0, // the models are asked for time, and partial leaves blocks out
                   .progress = &x->progress,
                   .notes = &x->o->notes,
                   .work = on_work,
                   .copy = on_copy,
                   .arg = x};
    x->result =
        (orr_result){.gpu = x->sides.gpu, .model = x->model < 0 ? "" : x->sides.models[x->model]->name};
    bool ok = orr_input_run(&f, e);
    if (ok && !f.seen) ok = orr_fail(e, ORR_BAD_INPUT, "%s: launches nothing", input);
    if (x->model < 0) {
        in->size = orr_arena_strdup(&x->sides.arena, f.size);
        in->source = orr_arena_strdup(&x->sides.arena, f.source);
    }
    orr_result_free(&x->result);
    orr_input_close(&f);
    return ok;
}

// The GPU with its caches as they were when it was measured; what the user sets goes before.
static bool load_gpu(comparer *x, const char *cache, orr_err *e) {
    const char *flush = !*cache ? NULL : !strcmp(cache, "flushed") ? "l2.flush=yes" : "l2.flush=no";
    orr_gpu_free(x->gpu);
    x->gpu = orr_asked_gpu_with(x->o, flush, e);
    return x->gpu != NULL;
}

static void note_failure(comparer *x, const char *why) {
    orr_side_input *in = &x->sides.inputs.at[x->input];
    const char *text = orr_arena_strdup(&x->sides.arena, why);
    for (size_t k = 0; k < in->kernels.n; k++) {
        orr_side *side = &in->kernels.at[k].models[x->model];
        if (!side->failure && side->launches == in->kernels.at[k].launches) continue; // had finished
        side->failure = text;
        side->cycles = side->time_ns = side->measured = NAN;
    }
}

static bool compare_input(comparer *x, const char *input, int *failed, orr_err *first, orr_err *e) {
    orr_err why = {0};
    x->input = x->sides.inputs.n;
    *ORR_PUSH(&x->sides.inputs) = (orr_side_input){
        .input = orr_arena_strdup(&x->sides.arena, input), .size = "", .source = "ptx", .cache = ""};
    x->measured = (orr_comparison){0};
    x->of_input = (orr_hardware){0};
    x->model = -1;
    x->launches = 0;
    bool ok = load_gpu(x, "", e);
    if (ok && !pass(x, input, &why)) {
        x->sides.inputs.at[x->input].failure = orr_arena_strdup(&x->sides.arena, why.text);
        if (!(*failed)++) *first = why;
        return true;
    }
    orr_side_input *in = &x->sides.inputs.at[x->input];
    ok = ok && join(x, x->warm ? "warm" : "flushed", e);
    if (ok && !*in->cache && !x->warm) ok = join(x, "warm", e);
    ok = ok && load_gpu(x, in->cache, e);
    for (x->model = 0; ok && x->model < x->sides.nmodels; x->model++) {
        why = (orr_err){0};
        if (pass(x, input, &why)) continue;
        note_failure(x, why.text);
        if (!(*failed)++) *first = why;
    }
    orr_compare_free(&x->measured);
    free(x->of_input.rows.at);
    return ok;
}

// ---- the job --------------------------------------------------------------------------------------------
// All models that predict time; the cycle model first, because the others are compared with it. --model
// chooses.
static bool choose_models(comparer *x, orr_err *e) {
    orr_sides *s = &x->sides;
    s->cycle = -1;
    if (!x->o->model.model) {
        s->models[s->nmodels++] = &orr_model_cycle;
        for (int k = 0; orr_models[k] && s->nmodels < ORR_SIDE_MODELS; k++)
            if (orr_models[k]->needs_gpu && orr_models[k] != &orr_model_cycle)
                s->models[s->nmodels++] = orr_models[k];
    }
    for (const char *p = x->o->model.model; p && *p;) {
        char name[64];
        size_t n = strcspn(p, ",");
        snprintf(name, sizeof name, "%.*s", n > 60 ? 60 : (int)n, p);
        const orr_model *m = orr_model_find(name, e);
        if (!m) return false;
        for (int k = 0; k < s->nmodels; k++)
            if (s->models[k] == m) return orr_fail(e, ORR_BAD_INPUT, "compare: --model names %s twice", name);
        if (!m->needs_gpu) return orr_fail(e, ORR_BAD_INPUT, "compare: the model %s predicts no time", name);
        if (s->nmodels == ORR_SIDE_MODELS)
            return orr_fail(e, ORR_BAD_INPUT, "compare: more than %d models", ORR_SIDE_MODELS);
        s->models[s->nmodels++] = m;
        p += n + (p[n] == ',');
    }
    if (!s->nmodels) return orr_fail(e, ORR_BAD_INPUT, "compare: --model names no model");
    for (int k = 0; k < s->nmodels; k++)
        if (s->models[k] == &orr_model_cycle) s->cycle = k;
    return true;
}

static bool compare_all(comparer *x, const char *const *inputs, int n, int *failed, orr_err *first,
                        orr_err *e) {
    if (!n) inputs = orr_list_workloads(&x->sides.arena, &n);
    if (!n) return orr_fail(e, ORR_BAD_INPUT, "compare: no workloads are found");
    if (!choose_models(x, e) || !load_gpu(x, "", e)) return false;
    x->sides.gpu = orr_arena_strdup(&x->sides.arena, x->gpu->name);
    if (!read_hardware(x, e)) return false;
    orr_progress_start(&x->progress, x->o->watcher, "compare", "inputs", "blocks", (uint64_t)n);
    bool ok = true;
    for (int k = 0; ok && k < n; k++) {
        ok = compare_input(x, inputs[k], failed, first, e) && orr_progress_go(&x->progress, e);
        orr_progress_step(&x->progress, (uint64_t)k + 1);
    }
    orr_progress_end(&x->progress);
    return ok;
}

static void make_page(const orr_sides *s, orr_text *out) {
    orr_text json = {0};
    orr_sides_json(s, &json);
    orr_html_job("compare", json.s, out);
    free(json.s);
}

static bool make(void *self, enum orr_format format, orr_text *out) {
    const orr_sides *s = self;
    if (format == ORR_TEXT)
        orr_sides_text(s, out);
    else if (format == ORR_JSON)
        orr_sides_json(s, out);
    else if (format == ORR_CSV)
        orr_sides_csv(s, out);
    else if (format == ORR_HTML)
        make_page(s, out);
    else
        return false;
    return true;
}

static void free_sides(void *self) {
    orr_sides_free(self);
    free(self);
}

orr_report *orr_compare(const char *const *inputs, int n, const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    if (!orr_input_check(&o->in, e)) return NULL;
    comparer x = {.o = o, .sides = {.hw_gpu = "", .threads = o->in.threads}};
    x.warm = o->sampling.warm && strcmp(o->sampling.warm, "no") != 0;
    int failed = 0;
    orr_err first = {0};
    orr_report *r = NULL;
    bool ok = compare_all(&x, inputs, n, &failed, &first, e);
    if (ok || (e->status == ORR_STOPPED && x.sides.inputs.n)) { // stopped: what is done
        if (ok && failed)
            orr_fail(e, n == 1 && x.sides.inputs.at[0].failure ? first.status : ORR_PROGRAM_FAILED,
                     "compare: %s%s", failed > 1 ? "several failed; the first: " : "", first.text);
        if (*x.sides.hw_gpu) x.sides.hw_gpu = orr_arena_strdup(&x.sides.arena, x.sides.hw_gpu);
        orr_sides *kept = orr_calloc(1, sizeof *kept);
        *kept = x.sides;
        r = orr_report_new(kept, make, free_sides);
    } else {
        orr_sides_free(&x.sides);
    }
    orr_gpu_free(x.gpu);
    orr_hardware_free(&x.hardware);
    return r;
}
