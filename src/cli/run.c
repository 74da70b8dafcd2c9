// orrery run: each INPUT's launches through a model, and the report.
//
// A script is executed launch by launch: the model runs the launch (which leaves memory as the kernel
// does), the script goes on. A stream file is replayed: the same launches, without program or data. So is an
// Accel-Sim trace. --kernels and --launches choose what the model sees; a script's other launches are
// executed all the same, because the chosen ones need what they leave in memory.
#include "accel/accel.h"
#include "cli/input.h"
#include "cli/machine.h"
#include "cli/sampling.h"
#include "model/model.h"
#include "report/report.h"
#include "tasks/tasks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct runner {
    const cli_options *o;
    const orr_gpu *gpu;
    const orr_model *model;
    orr_result result;
    orr_script *script;
    uint64_t seen;          // launches, chosen or not
    cli_sampling *sampling; // NULL: everything is simulated
    bool profiling;         // for its profile only
    const cli_pass *pass;   // NULL: a report is made
    orr_progress progress;
} runner;

// Nothing was, although there was something to choose from.
static bool some_chosen(const runner *r, const char *input, orr_err *e) {
    if (r->result.launches.n || !r->seen || (!r->o->launches && !r->o->kernels)) return true;
    return orr_fail(
        e, ORR_BAD_INPUT,
        "%s: --kernels and --launches choose none of its launches; there are %llu, numbered from 0", input,
        (unsigned long long)r->seen);
}

static bool run_counts(runner *r, const orr_work *w, orr_err *e) {
    orr_exec_counts counts = {0};
    double start = orr_seconds();
    if (!orr_exec_run(w->launch, r->o->threads, false, NULL, NULL, &counts, e)) return false;
    r->result.host.execute_seconds += orr_seconds() - start;
    orr_launch_result *l = orr_result_add(&r->result, r->gpu, w);
    l->warp_insts = counts.warp_insts;
    l->thread_insts = counts.thread_insts;
    return true;
}

static bool run_launch(runner *r, const orr_work *w, orr_err *e) {
    if (r->sampling && !r->profiling)
        return cli_sampling_launch(r->sampling, r->model, r->gpu, w, &r->result, e);
    return r->model->run(r->gpu, w, &r->result, e);
}

static bool on_launch(void *arg, orr_launch *l, const orr_call *c, orr_err *e) {
    runner *r = arg;
    (void)c;
    if (!cli_prepare(r->o, r->gpu, l, e)) return false;
    r->result.source = l->kernel->module->source;
    r->seen++;
    if (!cli_chosen(r->o, l->kernel, l->index))
        return orr_exec_run(l, r->o->threads, false, NULL, NULL, NULL, e);
    orr_work w = {.info = orr_info_of(l),
                  .launch = l,
                  .threads = r->o->threads,
                  .progress = &r->progress,
                  .timeline = r->o->timeline,
                  .latencies = r->o->latencies,
                  .part = !r->o->check && !orr_script_decides(r->script),
                  .pieces = r->pass ? r->pass->pieces : NULL};
    bool ok = r->o->counts_only ? run_counts(r, &w, e) : run_launch(r, &w, e);
    if (r->result.blocks_executed < r->result.blocks_in_all) orr_script_unchecked(r->script);
    orr_progress_step(&r->progress, r->result.launches.n);
    return ok;
}

static bool report(runner *r, orr_text *out, orr_err *e) {
    orr_result *x = &r->result;
    if (r->profiling) return true;
    if (r->sampling && !cli_sampling_end(r->sampling, r->gpu, x, e)) return false;
    if (r->pass) {
        r->pass->done(r->pass->arg, x);
        return true;
    }
    x->host.peak_rss = orr_peak_rss();
    x->host.threads = r->o->threads;
    orr_report_options ro = {.lines = r->o->lines, .host = true};
    ro.colour = !r->o->output && isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
    if (r->o->stats) {
        if (!orr_report_accelsim(x, out, e)) return false;
    } else if (r->o->json)
        orr_report_json(x, &ro, out);
    else
        orr_report_text(x, &ro, out);
    return !r->o->timeline || orr_report_timeline(x, r->o->timeline, e);
}

static bool run_script(runner *r, const cli_sets *sets, const char *input, orr_text *out, orr_err *e) {
    orr_script *s = cli_open_script(r->o, sets, input, cli_sm(r->gpu), e);
    if (!s) return false;
    r->script = s;
    r->result.size = orr_script_size(s);
    r->result.source = "ptx"; // until a launch says otherwise
    cli_machine machine = {0};
    orr_script_stats stats = {0};
    double start = orr_seconds();
    bool ok = false;
    orr_text digests = {0};
    orr_text_add(&digests, ORR_DIGESTS_HEAD);
    if (cli_machine_open(&machine, r->o, on_launch, r, e)) {
        if (r->o->digests) orr_script_digests(s, &digests);
        ok = orr_script_run(s, &machine.backend, !r->o->no_check, &stats, e);
        if (ok && r->o->digests) ok = cli_write_file(r->o->digests, &digests, e);
    }
    free(digests.s);
    r->result.host.seconds = orr_seconds() - start;
    r->result.checked = stats.checked;
    r->result.buffer_bytes = stats.buffer_bytes;
    orr_progress_end(&r->progress);
    ok = ok && some_chosen(r, input, e);
    ok = ok && report(r, out, e); // before the script goes: it owns the kernels
    if (ok && !r->o->quiet) cli_machine_note(&machine, stderr);
    cli_machine_close(&machine);
    orr_script_free(s);
    return ok;
}

// What is recorded is taken as it is.
static bool refuse_options(const cli_options *o, const cli_sets *sets, const char *input, orr_err *e) {
    if (o->size || o->source || sets->nscript || o->kernel || o->grid || o->block || o->shared || o->nargs ||
        o->counts_only || o->digests)
        return orr_fail(
            e, ORR_BAD_INPUT,
            "%s: a recorded stream or trace is replayed as it is; leave out --size, --on, --source, "
            "--kernel, --grid, --block, --shared, --arg, --counts-only, --digests and --set of what is not "
            "the GPU's",
            input);
    return true;
}

static bool run_source(runner *r, orr_source *s, orr_err *e) {
    r->seen++;
    if (!cli_chosen(r->o, s->info.kernel, s->info.index)) return true;
    orr_work w = {.info = s->info,
                  .source = s,
                  .threads = r->o->threads,
                  .progress = &r->progress,
                  .timeline = r->o->timeline,
                  .latencies = r->o->latencies,
                  .pieces = r->pass ? r->pass->pieces : NULL};
    bool ok = run_launch(r, &w, e);
    orr_progress_step(&r->progress, r->result.launches.n);
    return ok;
}

static bool run_stream(runner *r, const cli_sets *sets, const char *input, orr_text *out, orr_err *e) {
    if (!refuse_options(r->o, sets, input, e)) return false;
    orr_stream_file *f = orr_stream_open(input, e);
    if (!f) return false;
    r->result.source = "trace";
    double start = orr_seconds();
    orr_source *s;
    bool ok = true;
    while (ok && (s = orr_stream_next_launch(f, e))) ok = run_source(r, s, e);
    ok = ok && !e->status && some_chosen(r, input, e);
    r->result.host.seconds = orr_seconds() - start;
    orr_progress_end(&r->progress);
    ok = ok && report(r, out, e);
    orr_stream_close(f);
    return ok;
}

// kernelslist.g: kernels, and copies from the host between them.
static bool run_trace(runner *r, const cli_sets *sets, const char *input, orr_text *out, orr_err *e) {
    if (!refuse_options(r->o, sets, input, e)) return false;
    orr_accel_file *f = orr_accel_open(input, e);
    if (!f) return false;
    if (r->o->quiet) orr_accel_warn(f, NULL);
    orr_accel_threads(f, r->o->threads);
    r->result.source = "trace";
    double start = orr_seconds();
    orr_accel_item item;
    bool ok = true;
    while (ok && (ok = orr_accel_next(f, &item, e)) && item.kind != ORR_ACCEL_END) {
        if (item.kind == ORR_ACCEL_KERNEL)
            ok = run_source(r, item.source, e);
        else if (r->model->copy)
            ok = r->model->copy(r->gpu, item.addr, item.bytes, &r->result, e);
    }
    ok = ok && some_chosen(r, input, e);
    r->result.host.seconds = orr_seconds() - start;
    orr_progress_end(&r->progress);
    ok = ok && report(r, out, e);
    orr_accel_close(f);
    return ok;
}

static void keep(orr_source *s) { (void)s; } // some models close what they are given

// A task list: its launches, and the time of the application around them. What is repeated is modelled once.
static bool run_tasks(runner *r, const cli_sets *sets, const char *input, orr_text *out, orr_err *e) {
    const cli_options *o = r->o;
    if (o->size || o->source || o->kernel || o->grid || o->block || o->shared || o->nargs || o->counts_only ||
        o->digests)
        return orr_fail(
            e, ORR_BAD_INPUT,
            "%s: a task list takes --set NAME=VALUE; leave out --size, --on, --source, --kernel, --grid, "
            "--block, --shared, --arg, --counts-only and --digests",
            input);
    orr_tasks *t = orr_tasks_load(input, sets->script, sets->nscript, e);
    if (!t) return false;
    const orr_task_step *steps;
    size_t n = orr_tasks_steps(t, &steps);
    orr_app *app = &r->result.app;
    double start = orr_seconds();
    r->result.source = "tasks";
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        const orr_task_step *s = &steps[i];
        if (s->kind != ORR_TASKS_LAUNCH) {
            double each =
                r->gpu && r->gpu->host_bandwidth > 0 ? (double)s->bytes / r->gpu->host_bandwidth : 0;
            app->copies += s->times;
            app->copy_bytes += s->bytes * s->times;
            app->copy_ns += each * (double)s->times;
            continue;
        }
        float *far = orr_calloc(s->launch.kernel->ninsts + 1, sizeof *far);
        uint64_t blocks = (uint64_t)s->launch.grid[0] * s->launch.grid[1] * s->launch.grid[2];
        uint64_t sms = r->gpu ? (uint64_t)r->gpu->sm_count : 1;
        orr_tasks_far(t, s, r->gpu ? (uint64_t)r->gpu->l2_size : 0, blocks < sms ? blocks : sms, far);
        r->seen++;
        orr_work w = {.info = s->launch,
                      .source = orr_tasks_source(t, s),
                      .threads = o->threads,
                      .progress = &r->progress,
                      .timeline = o->timeline,
                      .far = far};
        void (*close)(orr_source *) = w.source->close;
        w.source->close = keep;
        if (cli_chosen(o, s->launch.kernel, s->launch.index)) {
            ok = run_launch(r, &w, e);
            if (ok) {
                app->launches += s->times;
                app->kernel_ns += r->result.launches.at[r->result.launches.n - 1].time_ns * (double)s->times;
                app->gap_ns += (r->gpu ? r->gpu->launch_latency * 1e3 : 0) * (double)s->times;
            }
        }
        close(w.source);
        free(far);
        orr_progress_step(&r->progress, r->result.launches.n);
    }
    ok = ok && some_chosen(r, input, e);
    r->result.host.seconds = orr_seconds() - start;
    orr_progress_end(&r->progress);
    ok = ok && report(r, out, e);
    orr_tasks_free(t);
    return ok;
}

// --timeline FILE: one INPUT, a model that predicts time, a file that is neither read nor written otherwise.
static bool check_timeline(const cli_options *o, const orr_model *m, orr_err *e) {
    struct stat in, out;
    if (!o->timeline) return true;
    if (!m->needs_gpu || o->counts_only)
        return orr_fail(e, ORR_BAD_INPUT,
                        "run: --timeline needs a model that predicts time, as --model cycle");
    if (o->ninputs > 1) return orr_fail(e, ORR_BAD_INPUT, "run: --timeline takes one INPUT");
    if (o->output && !strcmp(o->output, o->timeline))
        return orr_fail(e, ORR_BAD_INPUT, "run: --timeline and -o name the same file, %s", o->output);
    if (stat(o->inputs[0], &in) == 0 && stat(o->timeline, &out) == 0 && in.st_dev == out.st_dev &&
        in.st_ino == out.st_ino)
        return orr_fail(e, ORR_BAD_INPUT, "%s: is the INPUT; name another file with --timeline", o->timeline);
    return true;
}

static void run_input(runner *r, const cli_sets *sets, const char *input, orr_text *out, orr_err *e) {
    r->seen = 0;
    if (!r->o->quiet) orr_progress_start(&r->progress, input, "launches", "blocks", 0);
    if (orr_stream_probe(input))
        run_stream(r, sets, input, out, e);
    else if (orr_accel_probe(input))
        run_trace(r, sets, input, out, e);
    else if (orr_tasks_probe(input))
        run_tasks(r, sets, input, out, e);
    else
        run_script(r, sets, input, out, e);
}

// --sample: the profile is read, or made by executing the INPUT once, and written where --profile says.
static bool prepare_sampling(runner *r, const cli_sets *sets, const char *input, orr_err *e) {
    cli_sampling *s = r->sampling;
    if (!cli_sampling_options(r->o, r->gpu, &s->o, e)) return false;
    s->expected = cli_input_digest(r->o, input, r->o->source);
    if (r->o->profile && access(r->o->profile, F_OK) == 0) return orr_sp_read(&s->profile, r->o->profile, e);
    cli_pass p = {.o = r->o, .gpu = r->gpu, .model = &cli_profiling, .sampling = s};
    double start = orr_seconds();
    cli_pass_run(&p, sets, input, e);
    s->profile_seconds = orr_seconds() - start;
    return !e->status && (!r->o->profile || orr_sp_write(&s->profile, r->o->profile, e));
}

bool cli_pass_run(const cli_pass *pass, const cli_sets *sets, const char *input, orr_err *e) {
    runner r = {.o = pass->o,
                .gpu = pass->gpu,
                .model = pass->model,
                .sampling = pass->sampling,
                .profiling = pass->model == &cli_profiling,
                .pass = pass};
    r.result =
        (orr_result){.gpu = pass->gpu ? pass->gpu->name : NULL, .model = pass->model->name, .input = input};
    if (r.profiling) r.result.state = pass->sampling;
    orr_text none = {0};
    run_input(&r, sets, input, &none, e);
    orr_result_free(&r.result);
    return !e->status;
}

static bool check_sampling(const cli_options *o, const orr_model *m, orr_err *e) {
    if (!o->sample && (o->profile || o->warming))
        return orr_fail(e, ORR_BAD_INPUT, "run: --profile and --warm go with --sample");
    if (!o->sample) return true;
    if (!m->needs_gpu || o->counts_only)
        return orr_fail(e, ORR_BAD_INPUT, "run: --sample needs a model that predicts time, as --model cycle");
    if (o->kernels || o->launches || o->timeline || o->stats)
        return orr_fail(e, ORR_BAD_INPUT,
                        "run: --sample chooses launches itself; leave out --kernels, --launches, --timeline "
                        "and --stats");
    if (o->ninputs > 1 && o->profile) return orr_fail(e, ORR_BAD_INPUT, "run: --profile takes one INPUT");
    return true;
}

int cli_run(cli_options *o, orr_err *e) {
    if (!o->ninputs) {
        orr_fail(e, ORR_BAD_INPUT,
                 "run: name an INPUT: a bundled workload (`orrery list`), a launch script, a "
                 "module (.ptx, .cubin), a recorded stream or a trace (kernelslist.g)");
        return e->status;
    }
    if (o->counts_only && o->lines) {
        orr_fail(e, ORR_BAD_INPUT, "run: --lines needs what --counts-only leaves out; choose one");
        return e->status;
    }
    if (!cli_check_launches(o, e)) return e->status;
    if (o->stats && (strcmp(o->stats, "accel-sim") != 0 || o->json)) {
        orr_fail(e, ORR_BAD_INPUT, "run: --stats takes accel-sim, and not together with --json");
        return e->status;
    }
    cli_sets sets;
    cli_split_sets(o, &sets);
    runner r = {.o = o, .model = orr_model_find(o->model, e)};
    orr_gpu *gpu = NULL;
    if (r.model && check_timeline(o, r.model, e) && check_sampling(o, r.model, e))
        cli_load_gpu(o, &sets, &gpu, e);
    if (r.model && r.model->needs_gpu && !gpu && !e->status)
        orr_fail(e, ORR_BAD_INPUT, "run: --model %s needs a GPU's description; name one with --gpu",
                 r.model->name);
    orr_text out = {0};
    if (o->json && o->ninputs > 1) orr_text_add(&out, "[\n");
    for (int i = 0; r.model && !e->status && i < o->ninputs; i++) {
        if (i) orr_text_add(&out, o->json ? ",\n" : "\n");
        memset(&r.result, 0, sizeof r.result);
        r.gpu = gpu;
        r.result.gpu = gpu ? gpu->name : NULL;
        r.result.model = r.model->name;
        r.result.input = o->inputs[i];
        if (!cli_check_output(o, o->inputs[i], e)) break;
        cli_sampling sampling = {0};
        if (o->sample) {
            r.sampling = &sampling;
            if (prepare_sampling(&r, &sets, o->inputs[i], e)) cli_sampling_plan(&sampling);
        }
        if (!e->status) run_input(&r, &sets, o->inputs[i], &out, e);
        cli_sampling_free(&sampling);
        orr_result_free(&r.result);
    }
    if (o->json && o->ninputs > 1) orr_text_add(&out, "]\n");
    if (!e->status) cli_write(o, &out, e);
    free(out.s);
    if (gpu) orr_gpu_free(gpu);
    cli_free_sets(&sets);
    return e->status;
}
