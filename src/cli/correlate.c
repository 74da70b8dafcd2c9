// orrery correlate: simulates what was measured and says how near the predictions are.
//
// The measurements name scripts and sizes; each is run once through the model, with L2 emptied before every
// kernel where the profiler had done so. A script that fails costs its own points their prediction, and the
// command its exit status, not the comparison.
#include "cli/compare.h"
#include "cli/input.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct correlator {
    const cli_options *run; // the options after --
    const orr_model *model;
    orr_gpu *gpu; // for the group that is simulated
    const orr_group *group;
    orr_comparison *c;
    orr_result result;
    orr_progress progress;
} correlator;

// ---- one script -------------------------------------------------------------------------------
static bool on_launch(void *arg, orr_launch *l, const orr_call *call, orr_err *e) {
    correlator *x = arg;
    (void)call;
    if (!cli_prepare(x->run, x->gpu, l, e)) return false;
    l->print = stderr; // stdout is for the result
    if (x->run->kernels && fnmatch(x->run->kernels, l->kernel->name, 0) != 0)
        return orr_exec_run(l, x->run->threads, false, NULL, NULL, NULL, e);
    orr_work w = {.info = orr_info_of(l), .launch = l, .threads = x->run->threads, .progress = &x->progress};
    x->c->source = l->kernel->machine ? "machine code" : "PTX";
    if (!x->model->run(x->gpu, &w, &x->result, e)) return false;
    orr_compare_launch(x->c, x->group, x->gpu, &x->result.launches.at[x->result.launches.n - 1]);
    return true;
}

static bool simulate(correlator *x, const cli_sets *sets, orr_err *e) {
    cli_options o = *x->run;
    if (*x->group->size) o.size = x->group->size;
    orr_script *s = cli_open_script(&o, sets, x->group->script, cli_sm(x->gpu), e);
    if (!s) return false;
    x->result = (orr_result){.gpu = x->gpu ? x->gpu->name : NULL,
                             .model = x->model->name,
                             .source = "ptx",
                             .input = x->group->script,
                             .size = orr_script_size(s)};
    orr_cpu *cpu = orr_cpu_new(on_launch, x, e);
    orr_script_stats stats = {0};
    bool ok = false;
    if (cpu) {
        orr_backend b = orr_cpu_backend(cpu);
        ok = orr_script_run(s, &b, !o.no_check, &stats, e);
        orr_cpu_delete(cpu);
    }
    orr_result_free(&x->result);
    orr_script_free(s);
    return ok;
}

// The GPU with its caches as they were when it was measured; what the user sets goes before.
static bool load_gpu(correlator *x, const cli_sets *sets, bool flushed, orr_err *e) {
    cli_sets mine = {orr_calloc((size_t)sets->ngpu + 1, sizeof *mine.gpu), NULL, 0, 0};
    mine.gpu[mine.ngpu++] = flushed ? "l2.flush=yes" : "l2.flush=no";
    for (int k = 0; k < sets->ngpu; k++) mine.gpu[mine.ngpu++] = sets->gpu[k];
    orr_gpu_free(x->gpu);
    x->gpu = NULL;
    bool ok = cli_load_gpu(x->run, &mine, &x->gpu, e);
    free(mine.gpu);
    return ok;
}

static bool simulate_all(correlator *x, const cli_sets *sets, orr_err *e) {
    int failed = 0;
    double start = orr_seconds();
    orr_err first = {0};
    const char *caches = "";
    for (size_t k = 0; k < x->c->groups.n; k++) {
        x->group = &x->c->groups.at[k];
        if (strcmp(caches, x->group->cache) != 0) {
            caches = x->group->cache;
            if (!load_gpu(x, sets, !strcmp(caches, "flushed"), e)) return false;
        }
        orr_err why = {0};
        if (!simulate(x, sets, &why)) {
            orr_compare_missing(x->c, x->group, why.text);
            if (!failed++) first = why;
        }
        orr_compare_missing(x->c, x->group, "the simulation makes fewer launches");
        orr_progress_step(&x->progress, k + 1);
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
static bool named(const cli_options *run, const char *script) {
    for (int k = 0; k < run->ninputs; k++)
        if (!strcmp(run->inputs[k], script)) return true;
    return run->ninputs == 0;
}

// Scripts, --size and --kernels after the -- choose.
static bool choose(orr_hardware *h, const cli_options *run, orr_err *e) {
    size_t kept = 0, all = h->rows.n;
    for (size_t k = 0; k < all; k++) {
        const orr_measured *m = &h->rows.at[k];
        if (!named(run, m->script) || (run->size && strcmp(run->size, m->size) != 0) ||
            (run->kernels && fnmatch(run->kernels, m->kernel, 0) != 0))
            continue;
        h->rows.at[kept++] = *m;
    }
    h->rows.n = kept;
    if (!kept && all)
        return orr_fail(e, ORR_BAD_INPUT,
                        "correlate: none of the %zu measurements is of what was asked for after --", all);
    for (int i = 0; i < run->ninputs; i++) {
        bool found = false;
        for (size_t k = 0; k < kept && !found; k++) found = !strcmp(h->rows.at[k].script, run->inputs[i]);
        if (!found) return orr_fail(e, ORR_BAD_INPUT, "correlate: %s was not measured", run->inputs[i]);
    }
    return true;
}

static bool check_options(const cli_options *run, orr_err *e) {
    if (run->json || run->output || run->timeline || run->stats || run->lines || run->counts_only ||
        run->launches || run->kernel || run->grid || run->block || run->shared || run->nargs)
        return orr_fail(
            e, ORR_BAD_INPUT,
            "correlate: after -- it takes --gpu, --model, --set, --threads, --size, --kernels, --max-insts, "
            "--no-check, --quiet and names of scripts");
    for (int k = 0; k < run->nsets; k++)
        if (!memchr(run->sets[k], '.', strcspn(run->sets[k], "=")))
            return orr_fail(e, ORR_BAD_INPUT,
                            "correlate: --set %s would change a script; what was measured had its own sizes",
                            run->sets[k]);
    return true;
}

// The options after --, as `orrery run` has them.
static bool parse_rest(const cli_options *o, cli_options *run, orr_err *e) {
    char **argv = orr_calloc((size_t)o->nrest + 2, sizeof *argv);
    char name[] = "run";
    bool model = false;
    argv[0] = name;
    for (int k = 0; k < o->nrest; k++) {
        argv[k + 1] = o->rest[k];
        model |= !strncmp(o->rest[k], "--model", 7);
    }
    bool ok = cli_parse("run", o->nrest + 1, argv, run, e);
    free(argv);
    if (!model) run->model = "cycle";
    if (o->quiet) run->quiet = true;
    return ok && check_options(run, e);
}

// ---- the command ----------------------------------------------------------------------------
static bool write_file(const char *path, void (*say)(const orr_comparison *c, orr_text *t),
                       const orr_comparison *c, orr_err *e) {
    orr_text t = {0};
    if (!path) return true;
    say(c, &t);
    bool ok = cli_write_file(path, &t, e);
    free(t.s);
    return ok;
}

static bool report(const cli_options *o, const orr_comparison *c, orr_err *e) {
    orr_text t = {0};
    if (!write_file(o->html, orr_compare_html, c, e) || !write_file(o->csv, orr_compare_csv, c, e))
        return false;
    if (o->json)
        orr_compare_json(c, &t);
    else
        orr_compare_text(c, &t);
    bool ok = cli_write(o, &t, e);
    free(t.s);
    return ok;
}

static bool check_files(const cli_options *o, orr_err *e) {
    const char *const out[] = {o->output, o->html, o->csv};
    if (!o->ninputs)
        return orr_fail(e, ORR_BAD_INPUT,
                        "correlate: name a file of measurements, as hardware/h200/workloads.csv; `orrery hw "
                        "profile` makes one");
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < a; b++)
            if (out[a] && out[b] && !strcmp(out[a], out[b]))
                return orr_fail(e, ORR_BAD_INPUT, "correlate: %s is named for two outputs", out[a]);
        cli_options one = {.output = out[a]};
        for (int k = 0; k < o->ninputs; k++)
            if (!cli_check_output(&one, o->inputs[k], e)) return false;
    }
    return true;
}

// Measured on one GPU and simulated on another: possible, and rarely meant.
static void compare_names(const correlator *x) {
    const char *hw = x->c->hw_gpu;
    if (!x->gpu || !*hw || x->run->quiet) return;
    for (const char *p = hw; *p; p++)
        if (!strncasecmp(p, x->gpu->name, strlen(x->gpu->name))) return;
    fprintf(stderr, "orrery: measured on %s, simulated on %s\n", hw, x->gpu->name);
}

bool cli_compare(const cli_options *run, orr_hardware *h, orr_comparison *c, orr_err *e) {
    cli_sets sets = {0};
    correlator x = {.run = run, .c = c};
    cli_split_sets(run, &sets);
    bool ok = choose(h, run, e) && orr_compare_start(c, h, e) && (x.model = orr_model_find(run->model, e));
    ok = ok && load_gpu(&x, &sets, true, e);
    if (ok && x.model->needs_gpu && !x.gpu)
        ok = orr_fail(e, ORR_BAD_INPUT,
                      "correlate: --model %s needs a GPU's description; name one with -- --gpu",
                      x.model->name);
    if (ok) {
        c->gpu = orr_arena_strdup(&c->arena, x.gpu ? x.gpu->name : "");
        c->model = x.model->name;
        c->source = "PTX";
        compare_names(&x);
        if (!run->quiet) orr_progress_start(&x.progress, "correlate", "scripts", "blocks", c->groups.n);
        ok = simulate_all(&x, &sets, e);
        orr_progress_end(&x.progress);
    }
    if (ok) orr_compare_end(c);
    orr_gpu_free(x.gpu);
    cli_free_sets(&sets);
    return ok;
}

int cli_correlate(cli_options *o, orr_err *e) {
    cli_options run = {0};
    orr_hardware h = {0};
    orr_comparison c = {.files = (const char *const *)o->inputs, .nfiles = (size_t)o->ninputs};
    bool ok = check_files(o, e) && parse_rest(o, &run, e);
    for (int k = 0; ok && k < o->ninputs; k++) ok = orr_hardware_read(&h, o->inputs[k], e);
    if (ok && cli_compare(&run, &h, &c, e)) {
        orr_err failed = {0}; // a failed script is told at the end; what cannot be written is told instead
        if (!report(o, &c, &failed)) *e = failed;
    }
    orr_compare_free(&c);
    orr_hardware_free(&h);
    cli_free(&run);
    return e->status;
}
