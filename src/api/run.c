// orr_run: an input's launches through a model.
//
// `kernels` and `launches` choose what the model sees. With `sample`, a profile is made first, or read, and
// says which launches are simulated. The report keeps the kernels, because everything that is said of a
// launch refers to them.
#include "api/api.h"
#include "api/budget.h"
#include "report/html.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct runner {
    const orr_options *o;
    orr_gpu *own;       // the GPU, when it is ours
    const orr_gpu *gpu; // NULL: none is known
    const orr_model *model;
    orr_result result;
    orr_input in;
    orr_sampled *sampling; // NULL: everything is simulated
    bool profiling;        // for its profile only
    orr_pieces *pieces;
    orr_progress progress;
    bool lines; // of the report
} runner;

// ---- launches -----------------------------------------------------------------------------------
static bool run_launch(runner *r, const orr_work *w, orr_err *e) {
    if (r->o->run.counts_only) return orr_launch_count(w, r->gpu, &r->result, e);
    if (r->sampling && !r->profiling)
        return orr_sampled_launch(r->sampling, r->model, r->gpu, w, &r->result, e);
    return r->model->run(r->gpu, w, &r->result, e);
}

// A task list repeats what is modelled once: the time of the application around it.
static void add_repeats(runner *r, const orr_task_step *s) {
    orr_app *app = &r->result.app;
    double times = (double)s->times;
    app->launches += s->times;
    app->kernel_ns += r->result.launches.at[r->result.launches.n - 1].time_ns * times;
    app->gap_ns += (r->gpu ? r->gpu->launch_latency * 1e3 : 0) * times;
}

static bool on_work(void *arg, orr_work *w, orr_err *e) {
    runner *r = arg;
    w->timeline = r->o->run.timeline != NULL;
    w->latencies = r->in.step ? NULL : r->o->model.latencies;
    w->part = w->launch && r->in.script && !r->o->run.check && !orr_script_decides(r->in.script);
    w->pieces = r->in.step ? NULL : r->pieces;
    bool ok = run_launch(r, w, e);
    if (ok && r->in.step) add_repeats(r, r->in.step);
    if (w->launch && r->in.script && r->result.blocks_executed < r->result.blocks_in_all)
        orr_script_unchecked(r->in.script);
    orr_progress_step(&r->progress, r->result.launches.n);
    return ok;
}

static bool on_copy(void *arg, uint64_t addr, uint64_t bytes, orr_err *e) {
    runner *r = arg;
    return !r->model->copy || r->model->copy(r->gpu, addr, bytes, &r->result, e);
}

static void on_moved(void *arg, const orr_task_step *s) {
    runner *r = arg;
    orr_app *app = &r->result.app;
    double each = r->gpu && r->gpu->host_bandwidth > 0 ? (double)s->bytes / r->gpu->host_bandwidth : 0;
    app->copies += s->times;
    app->copy_bytes += s->bytes * s->times;
    app->copy_ns += each * (double)s->times;
}

// A launch that another stands for: the same times and counts, at its own place.
static void on_alike(void *arg, const orr_launch_info *info, uint32_t like) {
    orr_result_like(&((runner *)arg)->result, info, like);
}

// Only these models execute a kernel that reads the clock as they time it; elsewhere a reading means nothing.
static bool reads_clock(const runner *r) {
    return (r->model == &orr_model_cycle || r->model == &orr_model_abstract) && !r->o->run.counts_only;
}

// A microbenchmark's reading, by the simulated GPU's clock.
static void on_measure(void *arg, const orr_reading *m) {
    orr_result *x = &((runner *)arg)->result;
    *ORR_PUSH(&x->readings) = (orr_reading){.name = orr_arena_strdup(&x->arena, m->name),
                                            .unit = orr_arena_strdup(&x->arena, m->unit),
                                            .point = orr_arena_strdup(&x->arena, m->point),
                                            .value = m->value,
                                            .line = m->line};
}

// ---- the whole input ------------------------------------------------------------------------------
static bool run_input(runner *r, const char *input, orr_err *e) {
    const orr_options *o = r->o;
    orr_result *x = &r->result;
    orr_text digests = {0};
    *x = (orr_result){.gpu = r->gpu ? r->gpu->name : NULL, .model = r->model->name};
    x->input = orr_arena_strdup(&x->arena, input);
    if (r->profiling) x->state = r->sampling;
    r->in = (orr_input){.name = x->input,
                        .o = &o->in,
                        .gpu = r->gpu,
                        .check = !o->in.no_check,
                        .executes = o->run.counts_only,
                        .digests = o->run.digests ? &digests : NULL,
                        .progress = &r->progress,
                        .notes = &o->notes,
                        .work = on_work,
                        .copy = on_copy,
                        .moved = on_moved,
                        .alike = on_alike,
                        .measure = reads_clock(r) ? on_measure : NULL,
                        .arg = r};
    orr_text_add(&digests, ORR_DIGESTS_HEAD);
    orr_progress_start(&r->progress, o->watcher, x->input, "launches", "blocks", 0);
    bool ok = orr_input_run(&r->in, e);
    ok = ok && (!o->run.digests || orr_write_file(o->run.digests, digests.s, digests.n, e));
    orr_progress_end(&r->progress);
    free(digests.s);
    x->size = r->in.script ? r->in.size : NULL;
    x->source = r->in.source;
    x->checked = r->in.stats.checked;
    x->buffer_bytes = r->in.stats.buffer_bytes;
    x->host.seconds = r->in.seconds;
    x->host.peak_rss = orr_peak_rss();
    x->host.threads = o->in.threads;
    return ok && (!r->sampling || r->profiling || orr_sampled_end(r->sampling, r->gpu, x, e));
}

static void release(runner *r) {
    orr_result_free(&r->result); // before the kernels that it speaks of
    orr_input_close(&r->in);
}

bool orr_input_pass_run(const orr_input_pass *p, const char *input, orr_err *e) {
    runner r = {.o = p->o,
                .gpu = p->gpu,
                .model = p->model,
                .sampling = p->sampling,
                .profiling = p->model == &orr_profiling,
                .pieces = p->pieces};
    bool ok = run_input(&r, input, e);
    if (ok && p->done) p->done(p->arg, &r.result);
    release(&r);
    return ok;
}

// `sample`: the profile is read, or made by executing the input once, and written where `profile` says.
static bool prepare_sampling(runner *r, const char *input, orr_err *e) {
    orr_sampled *s = r->sampling;
    const orr_sampling_options *o = &r->o->sampling;
    if (!orr_sampled_options(o->warm, o->precision, r->gpu, &s->o, e)) return false;
    s->expected = orr_input_digest(&r->o->in, input);
    if (o->profile && access(o->profile, F_OK) == 0) return orr_sp_read(&s->profile, o->profile, e);
    orr_input_pass p = {.o = r->o, .gpu = r->gpu, .model = &orr_profiling, .sampling = s};
    double start = orr_seconds();
    bool ok = orr_input_pass_run(&p, input, e);
    s->profile_seconds = orr_seconds() - start;
    return ok && (!o->profile || orr_sp_write(&s->profile, o->profile, e));
}

// `budget`: the analytic model first, which costs little more than executing; then the most exact one that is
// expected to fit into what is left.
static bool run_within_budget(runner *r, const char *input, double seconds, orr_err *e) {
    double start = orr_seconds(), takes;
    if (!run_input(r, input, e)) return false;
    uint64_t insts = 0;
    for (size_t n = 0; n < r->result.launches.n; n++) insts += r->result.launches.at[n].warp_insts;
    double spent = orr_seconds() - start;
    const orr_model *m = orr_budget_choose(seconds - spent, insts, r->o->in.threads, &takes);
    if (m == r->model) {
        orr_note(&r->o->notes,
                 "--budget: %.1f s are too short for models that simulate %.1f M warp "
                 "instructions; this is the analytic model",
                 seconds, (double)insts / 1e6);
        return true;
    }
    orr_note(&r->o->notes, "--budget: the %s model, expected to take %.1f s for %.1f M warp instructions",
             m->name, takes, (double)insts / 1e6);
    release(r);
    r->model = m;
    return run_input(r, input, e);
}

// ---- the report -------------------------------------------------------------------------------------
// A page is of everything there is to say; only the time of the longest launch of a kernel is kept in detail.
static void make_page(const orr_result *r, enum orr_format format, orr_text *out) {
    orr_report_options o = {.lines = true, .host = true, .page = true};
    orr_text json = {0};
    orr_result_json(r, &o, &json);
    if (format == ORR_HTML) {
        const char *one[] = {json.s};
        orr_html_runs(one, 1, out);
        free(json.s);
    } else {
        *out = json;
    }
}

static bool make(void *self, enum orr_format format, orr_text *out) {
    const runner *r = self;
    orr_report_options o = {.lines = r->lines, .host = true, .colour = format == ORR_TERMINAL};
    orr_err none = {0};
    if (format == ORR_JSON)
        orr_result_json(&r->result, &o, out);
    else if (format == ORR_HTML || format == ORR_PAGE_DATA)
        make_page(&r->result, format, out);
    else if (format == ORR_TEXT || format == ORR_TERMINAL)
        orr_result_text(&r->result, &o, out);
    else
        return format == ORR_ACCELSIM && orr_result_accelsim(&r->result, out, &none);
    return true;
}

static void free_runner(void *self) {
    runner *r = self;
    release(r);
    orr_gpu_free(r->own);
    free(r);
}

// ---- the job ----------------------------------------------------------------------------------------
// A file that is neither read nor written otherwise, and a model that predicts time.
static bool check_timeline(const orr_options *o, const orr_model *m, const char *input, orr_err *e) {
    if (!o->run.timeline) return true;
    if (!m->needs_gpu || o->run.counts_only)
        return orr_fail(e, ORR_BAD_INPUT,
                        "run: --timeline needs a model that predicts time, as --model cycle");
    return orr_check_output(o->run.timeline, input, "--timeline", e);
}

static bool check_sampling(const orr_options *o, const orr_model *m, orr_err *e) {
    const orr_sampling_options *s = &o->sampling;
    if (!s->on && (s->profile || s->warm))
        return orr_fail(e, ORR_BAD_INPUT, "run: --profile and --warm go with --sample");
    if (!s->on) return true;
    if (!m->needs_gpu || o->run.counts_only)
        return orr_fail(e, ORR_BAD_INPUT, "run: --sample needs a model that predicts time, as --model cycle");
    if (o->in.kernels || o->in.launches || o->run.timeline)
        return orr_fail(e, ORR_BAD_INPUT,
                        "run: --sample chooses launches itself; leave out --kernels, --launches, --timeline "
                        "and --stats");
    return true;
}

static bool check(const orr_options *o, const orr_model *m, const char *input, orr_err *e) {
    if (o->run.counts_only && o->run.lines)
        return orr_fail(e, ORR_BAD_INPUT, "run: --lines needs what --counts-only leaves out; choose one");
    if (o->run.budget && (o->model.model || o->sampling.on || o->run.counts_only || o->run.timeline))
        return orr_fail(e, ORR_BAD_INPUT,
                        "run: --budget chooses the model; leave out --model, --sample, --counts-only and "
                        "--timeline");
    return orr_input_check(&o->in, e) && check_timeline(o, m, input, e) && check_sampling(o, m, e);
}

orr_report *orr_run(const char *input, const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    const char *name = o->model.model ? o->model.model : o->run.budget ? "analytic" : "functional";
    const orr_model *m = orr_model_find(name, e);
    double budget = 0;
    if (!m || !check(o, m, input, e)) return NULL;
    if (o->run.budget && !orr_budget_parse(o->run.budget, &budget, e)) return NULL;
    if (!o->run.budget && o->run.lines && (m == &orr_model_abstract || m == &orr_model_analytic))
        orr_note(&o->notes, "--lines: the %s model does not tell lines apart; cycle and functional do",
                 m->name);
    runner *r = orr_calloc(1, sizeof *r);
    *r = (runner){.o = o, .model = m, .lines = o->run.lines};
    orr_sampled sampling = {0};
    bool ok = orr_asked_gpu(o, &r->own, e) && orr_model_has_gpu(m, r->own, "run", "--gpu", e);
    r->gpu = r->own;
    if (ok && o->sampling.on) {
        r->sampling = &sampling;
        ok = prepare_sampling(r, input, e);
        if (ok) orr_sampled_plan(&sampling);
    }
    ok = ok && (budget > 0 ? run_within_budget(r, input, budget, e) : run_input(r, input, e));
    ok = ok && (!o->run.timeline || orr_result_timeline(&r->result, o->run.timeline, e));
    if (ok) orr_executor_note(&r->in.executor, &o->notes);
    orr_executor_close(&r->in.executor); // the memory of the simulated GPU; the report needs it no more
    orr_sampled_free(&sampling);
    r->sampling = NULL;
    r->o = NULL;
    bool differs = e->status == ORR_PROGRAM_FAILED && r->in.captured; // times are told all the same
    bool stopped = e->status == ORR_STOPPED;                          // the launches that are done
    if (ok || ((differs || stopped) && r->result.launches.n)) return orr_report_new(r, make, free_runner);
    free_runner(r);
    return NULL;
}
