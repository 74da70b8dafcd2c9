// orrery compare: every model that predicts time on the same INPUTs, and what a real GPU measured beside
// them.
//
// A script is executed plainly first, which says what execution costs and whether its results are right; then
// each model runs it as `orrery run` would, so that the seconds are those a user waits. What was measured
// comes from CSVs of `orrery hw profile`, joined by script, size, launch, kernel and shape.
#include "cli/feed.h"
#include "lab/lab.h"
#include "lab/models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct comparer {
    const cli_options *o;
    const cli_sets *sets;
    orr_sides sides;
    orr_hardware hardware;
    orr_progress progress;
    // of the INPUT that is looked at:
    size_t input;            // in sides.inputs
    orr_hardware of_input;   // its rows (names and values belong to `hardware`)
    orr_comparison measured; // and their medians by launch
    orr_gpu *gpu;
    int model;         // -1: plain execution
    uint32_t launches; // that the INPUT makes
    orr_result result;
} comparer;

// ---- what was measured ------------------------------------------------------------------------------
static bool read_hardware(comparer *x, orr_err *e) {
    if (x->o->hardware) return orr_hardware_read(&x->hardware, x->o->hardware, e);
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

// The INPUT's measurements with one state of the caches, joined by launch. None is no error.
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
    if (w->launch && !orr_exec_run(w->launch, w->threads, false, NULL, NULL, NULL, e)) return false;
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
    w->latencies = x->o->latencies;
    w->part = x->launches <= 1; // a later launch may need what this one leaves in memory
    return x->model < 0 ? execute(x, w, e) : predict(x, w, e);
}

static bool on_copy(void *arg, uint64_t addr, uint64_t bytes, orr_err *e) {
    comparer *x = arg;
    const orr_model *m = x->model < 0 ? NULL : x->sides.models[x->model];
    return !m || !m->copy || m->copy(x->gpu, addr, bytes, &x->result, e);
}

// ---- one INPUT ----------------------------------------------------------------------------------------
// Once through the INPUT with the model of the moment.
static bool pass(comparer *x, const char *input, orr_err *e) {
    orr_side_input *in = &x->sides.inputs.at[x->input];
    cli_feed f = {.o = x->o,
                  .sets = x->sets,
                  .gpu = x->gpu,
                  .input = input,
                  .threads = x->o->threads,
                  .check = x->model < 0, // the models are asked for time, and partial leaves blocks out
                  .work = on_work,
                  .copy = on_copy,
                  .arg = x,
                  .progress = &x->progress};
    x->result =
        (orr_result){.gpu = x->sides.gpu, .model = x->model < 0 ? "" : x->sides.models[x->model]->name};
    bool ok = cli_feed_run(&f, e);
    if (x->model < 0) {
        in->size = orr_arena_strdup(&x->sides.arena, f.size);
        in->source = !strcmp(f.source, "sass")    ? "sass"
                     : !strcmp(f.source, "trace") ? "trace"
                     : !strcmp(f.source, "tasks") ? "tasks"
                                                  : "ptx";
    }
    orr_result_free(&x->result);
    cli_feed_close(&f);
    return ok;
}

// The GPU with its caches as they were when it was measured; what the user sets goes before.
static bool load_gpu(comparer *x, const char *cache, orr_err *e) {
    cli_sets mine = {orr_calloc((size_t)x->sets->ngpu + 1, sizeof *mine.gpu), NULL, 0, 0};
    if (*cache) mine.gpu[mine.ngpu++] = !strcmp(cache, "flushed") ? "l2.flush=yes" : "l2.flush=no";
    for (int k = 0; k < x->sets->ngpu; k++) mine.gpu[mine.ngpu++] = x->sets->gpu[k];
    orr_gpu_free(x->gpu);
    x->gpu = orr_gpu_load(x->o->gpu ? x->o->gpu : "h200", mine.gpu, mine.ngpu, e);
    free(mine.gpu);
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
    *ORR_PUSH(&x->sides.inputs) = (orr_side_input){.input = input, .size = "", .source = "ptx", .cache = ""};
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
    ok = ok && join(x, x->o->warm ? "warm" : "flushed", e);
    if (ok && !*in->cache && !x->o->warm) ok = join(x, "warm", e);
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

// ---- the command --------------------------------------------------------------------------------------
// All models that predict time; the cycle model first, because the others are compared with it. --model
// chooses.
static bool choose_models(comparer *x, orr_err *e) {
    orr_sides *s = &x->sides;
    s->cycle = -1;
    if (!x->o->model) {
        s->models[s->nmodels++] = &orr_model_cycle;
        for (int k = 0; orr_models[k] && s->nmodels < ORR_SIDE_MODELS; k++)
            if (orr_models[k]->needs_gpu && orr_models[k] != &orr_model_cycle)
                s->models[s->nmodels++] = orr_models[k];
    }
    for (const char *p = x->o->model; p && *p;) {
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

static bool report(const comparer *x, orr_err *e) {
    orr_text t = {0};
    bool ok = true;
    if (x->o->csv) {
        orr_sides_csv(&x->sides, &t);
        ok = cli_write_file(x->o->csv, &t, e);
        t.n = 0;
    }
    if (x->o->json)
        orr_sides_json(&x->sides, &t);
    else
        orr_sides_text(&x->sides, &t);
    ok = ok && cli_write(x->o, &t, e);
    free(t.s);
    return ok;
}

static bool check_command(const cli_options *o, orr_err *e) {
    if (!o->ninputs && !o->all)
        return orr_fail(e, ORR_BAD_INPUT, "compare: name an INPUT, or --all bundled workloads");
    if (o->ninputs && o->all)
        return orr_fail(e, ORR_BAD_INPUT, "compare: name INPUTs or say --all, not both");
    if (o->csv && o->output && !strcmp(o->csv, o->output))
        return orr_fail(e, ORR_BAD_INPUT, "compare: %s is named for two outputs", o->csv);
    const char *const out[] = {o->csv, o->output};
    for (int a = 0; a < 2; a++)
        for (int k = 0; k < o->ninputs; k++) {
            cli_options one = {.output = out[a]};
            if (!cli_check_output(&one, o->inputs[k], e)) return false;
        }
    return cli_check_launches(o, e);
}

static bool compare_all(comparer *x, int *failed, orr_err *first, orr_err *e) {
    int n = x->o->ninputs;
    const char *const *names = (const char *const *)x->o->inputs;
    if (x->o->all) names = orr_list_workloads(&x->sides.arena, &n);
    if (!n) return orr_fail(e, ORR_BAD_INPUT, "compare: no workloads are found");
    if (!choose_models(x, e) || !load_gpu(x, "", e)) return false;
    x->sides.gpu = orr_arena_strdup(&x->sides.arena, x->gpu->name);
    if (!read_hardware(x, e)) return false;
    if (!x->o->quiet) orr_progress_start(&x->progress, "compare", "inputs", "blocks", (uint64_t)n);
    bool ok = true;
    for (int k = 0; ok && k < n; k++) {
        ok = compare_input(x, names[k], failed, first, e);
        orr_progress_step(&x->progress, (uint64_t)k + 1);
    }
    orr_progress_end(&x->progress);
    return ok;
}

int cli_models(cli_options *o, orr_err *e) {
    if (!check_command(o, e)) return e->status;
    cli_sets sets;
    cli_split_sets(o, &sets);
    comparer x = {.o = o, .sets = &sets, .sides = {.hw_gpu = "", .threads = o->threads}};
    int failed = 0;
    orr_err first = {0};
    if (compare_all(&x, &failed, &first, e) && report(&x, e) && failed)
        orr_fail(e, o->ninputs == 1 && x.sides.inputs.at[0].failure ? first.status : ORR_PROGRAM_FAILED,
                 "compare: %s%s", failed > 1 ? "several failed; the first: " : "", first.text);
    orr_gpu_free(x.gpu);
    orr_hardware_free(&x.hardware);
    orr_sides_free(&x.sides);
    cli_free_sets(&sets);
    return e->status;
}
