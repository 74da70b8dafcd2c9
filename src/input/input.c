// Any INPUT as a row of launches (input.h): a script is executed, a recorded stream and a trace are read, the
// launches of a task list are made up.
//
// A script goes launch by launch: the visitor runs the launch, which leaves memory as the kernel does, and
// the script goes on. Launches that were not chosen are executed all the same, because the chosen ones need
// what they leave in memory.
#include "input/input.h"
#include "capture/capture.h"
#include "input/captured.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_NAMES 600 // bytes of names in a message

// The names that go by are kept for whoever chooses none of them.
static void keep_name(orr_input *in, const char *name) {
    char *written = orr_demangle(name);
    const char *shown = written ? written : name;
    if (in->seen_names.n < MAX_NAMES && (!in->seen_names.n || !strstr(in->seen_names.s, shown)))
        orr_text_add(&in->seen_names, "%s%.120s", in->seen_names.n ? ", " : "", shown);
    free(written);
}

// Counts a launch, and says whether it was chosen.
bool orr_input_choose(orr_input *in, const orr_kernel *k, uint32_t index) {
    in->seen++;
    if (!in->chosen && in->o->kernels) keep_name(in, k->name);
    bool chosen = orr_input_chosen(in->o->kernels, in->o->launches, k, index);
    in->chosen += chosen;
    return chosen;
}

// ---- scripts ------------------------------------------------------------------------------------
static bool on_launch(void *arg, orr_launch *l, const orr_call *c, orr_err *e) {
    orr_input *in = arg;
    const orr_input_options *o = in->o;
    (void)c;
    if (!orr_progress_go(in->progress, e)) return false;
    l->max_insts = o->max_insts;
    l->print = o->print;
    if (!orr_launch_prepare(l, in->gpu, e)) return false;
    in->source = l->kernel->module->source;
    if (!orr_input_choose(in, l->kernel, l->index)) return orr_exec_run(l, o->threads, NULL, NULL, e);
    orr_work w = {.info = orr_info_of(l), .launch = l, .threads = o->threads, .progress = in->progress};
    return in->work(in->arg, &w, e);
}

static void on_measure(void *arg, const orr_reading *m) {
    orr_input *in = arg;
    in->measure(in->arg, m);
}

static bool run_script(orr_input *in, orr_err *e) {
    in->script = orr_input_script(in->o, in->name, orr_input_sm(in->gpu), e);
    if (!in->script) return false;
    in->size = orr_script_size(in->script);
    in->source = "ptx"; // until a launch says otherwise
    orr_script_print(in->script, in->o->print);
    if (in->digests) orr_script_digests(in->script, in->digests);
    if (!orr_executor_open(&in->executor, orr_input_on_gpu(in->o), on_launch, in, e)) return false;
    if (in->measure && in->executor.cpu) {
        orr_cpu_listen(in->executor.cpu, on_measure);
        in->executor.backend = orr_cpu_backend(in->executor.cpu);
    }
    return orr_script_run(in->script, &in->executor.backend, in->check, &in->stats, e);
}

// ---- what comes from files ------------------------------------------------------------------------
static bool run_source(orr_input *in, orr_source *s, orr_err *e) {
    if (!orr_progress_go(in->progress, e)) return false;
    if (!orr_input_choose(in, s->info.kernel, s->info.index)) return true;
    orr_work w = {
        .info = s->info, .source = s, .recorded = true, .threads = in->o->threads, .progress = in->progress};
    return in->work(in->arg, &w, e);
}

static bool run_stream(orr_input *in, orr_err *e) {
    in->stream = orr_stream_open(in->name, e);
    bool ok = in->stream != NULL;
    for (orr_source *s; ok && (s = orr_stream_next_launch(in->stream, e));) ok = run_source(in, s, e);
    return ok && !e->status;
}

// kernelslist.g: kernels, and copies from the host between them.
static bool run_trace(orr_input *in, orr_err *e) {
    orr_accel_item item;
    in->trace = orr_accel_open(in->name, e);
    if (!in->trace) return false;
    if (in->notes) orr_accel_notes(in->trace, *in->notes);
    orr_accel_threads(in->trace, in->o->threads);
    bool ok = true;
    while (ok && (ok = orr_accel_next(in->trace, &item, e)) && item.kind != ORR_ACCEL_END) {
        if (item.kind == ORR_ACCEL_KERNEL)
            ok = run_source(in, item.source, e);
        else if (in->copy)
            ok = in->copy(in->arg, item.addr, item.bytes, e);
    }
    return ok;
}

// ---- task lists -----------------------------------------------------------------------------------
static void keep(orr_source *s) { (void)s; } // some models close what they are given

void orr_step_open(orr_step *x, orr_work *w, const orr_tasks *t, const orr_task_step *s, const orr_gpu *g) {
    uint64_t blocks = (uint64_t)s->launch.grid[0] * s->launch.grid[1] * s->launch.grid[2];
    uint64_t sms = g ? (uint64_t)g->sm_count : 1;
    float *far = orr_calloc(s->launch.kernel->ninsts + 1, sizeof *far);
    bool said = orr_tasks_far(t, s, g ? (uint64_t)g->l2_size : 0, blocks < sms ? blocks : sms, far);
    w->info = s->launch;
    w->source = orr_tasks_source(t, s);
    w->far = said ? far : NULL;
    if (!said) free(far);
    x->close = w->source->close;
    w->source->close = keep;
}

void orr_step_close(orr_step *x, orr_work *w) {
    x->close(w->source);
    free((void *)(uintptr_t)w->far);
}

// What is repeated is given once; `step` says how often.
static bool run_tasks(orr_input *in, orr_err *e) {
    const orr_task_step *steps;
    in->tasks = orr_tasks_load(in->name, in->o->sets, in->o->nsets, e);
    if (!in->tasks) return false;
    size_t n = orr_tasks_steps(in->tasks, &steps);
    if (orr_tasks_of_ranks(in->tasks))
        return orr_fail(e, ORR_BAD_INPUT,
                        "%s:%d: this takes ranks or several GPUs; run the list by orrery cluster -n RANKS %s",
                        in->name, orr_tasks_of_ranks(in->tasks), in->name);
    bool ok = true;
    for (size_t k = 0; ok && k < n; k++) {
        const orr_task_step *s = &steps[k];
        if (s->kind != ORR_TASKS_LAUNCH) {
            if (in->moved && s->kind <= ORR_TASKS_COPY_FROM) in->moved(in->arg, s);
            continue;
        }
        if (!orr_progress_go(in->progress, e)) return false;
        if (!orr_input_choose(in, s->launch.kernel, s->launch.index)) continue;
        in->step = s;
        orr_work w = {.threads = in->o->threads, .progress = in->progress};
        orr_step x;
        orr_step_open(&x, &w, in->tasks, s, in->gpu);
        orr_work given = w; // `work` may change what it is given
        ok = in->work(in->arg, &given, e);
        orr_step_close(&x, &w);
    }
    in->step = NULL;
    return ok;
}

// ---- whatever it is -------------------------------------------------------------------------------
// What is recorded is taken as it is; so is a task list, but for its constants.
static bool refuse_options(const orr_input *in, bool tasks, bool captured, orr_err *e) {
    const orr_input_options *o = in->o;
    const orr_direct *d = &o->direct;
    bool script = o->size || orr_input_source(o) || d->kernel || d->grid || d->block || d->shared ||
                  d->nargs || in->digests || (in->executes && !captured);
    if (tasks && script)
        return orr_fail(
            e, ORR_BAD_INPUT,
            "%s: a task list takes --set NAME=VALUE; leave out --size, --on, --source, --kernel, --grid, "
            "--block, --shared, --arg, --counts-only and --digests",
            in->name);
    if (!tasks && (script || o->nsets))
        return orr_fail(
            e, ORR_BAD_INPUT,
            "%s: a recorded stream, trace or capture is replayed as it is; leave out --size, --on, --source, "
            "--kernel, --grid, --block, --shared, --arg, --counts-only, --digests and --set of what is not "
            "the GPU's",
            in->name);
    return true;
}

bool orr_input_file(const char *name, orr_err *e) {
    struct stat st, out;
    if (stat(name, &st) != 0 || S_ISDIR(st.st_mode)) return true;
    bool written = fstat(STDOUT_FILENO, &out) == 0 && st.st_dev == out.st_dev && st.st_ino == out.st_ino;
    if (S_ISREG(st.st_mode) && !written) return true;
    return orr_fail(
        e, ORR_BAD_INPUT,
        "%s: %s, and an INPUT is read, more than once: name a file (--json takes no name: results "
        "go to standard output, or to the file of -o)",
        name, written ? "is where standard output goes" : "is a device or a pipe");
}

bool orr_input_run(orr_input *in, orr_err *e) {
    if (!orr_input_file(in->name, e)) return false;
    bool stream = !in->only_script && orr_stream_probe(in->name);
    bool trace = !in->only_script && !stream && orr_accel_probe(in->name);
    bool captured = !stream && !trace && orr_capture_probe(in->name);
    if (in->o->range && !captured)
        return orr_fail(e, ORR_BAD_INPUT, "%s: --range chooses among a capture's launches (orrery capture)",
                        in->name);
    bool tasks = !in->only_script && !stream && !trace && !captured && orr_tasks_probe(in->name), ok;
    in->size = "";
    in->source = tasks ? "tasks" : "trace";
    if ((stream || trace || tasks || captured) && !refuse_options(in, tasks, captured, e)) return false;
    double start = orr_seconds();
    if (stream)
        ok = run_stream(in, e);
    else if (trace)
        ok = run_trace(in, e);
    else if (tasks)
        ok = run_tasks(in, e);
    else if (captured)
        ok = orr_captured_run(in, e);
    else
        ok = run_script(in, e);
    in->seconds = orr_seconds() - start;
    if (ok && in->seen && !in->chosen)
        orr_fail(e, ORR_BAD_INPUT,
                 "%s: --kernels, --launches and --range choose none of its launches; there are %llu, "
                 "numbered from 0%s%s",
                 in->name, (unsigned long long)in->seen, in->seen_names.n ? "; the kernels are " : "",
                 in->seen_names.n ? in->seen_names.s : "");
    free(in->seen_names.s);
    in->seen_names = (orr_text){0};
    return ok && !e->status;
}

void orr_input_close(orr_input *in) {
    orr_executor_close(&in->executor);
    if (in->script) orr_script_free(in->script);
    if (in->stream) orr_stream_close(in->stream);
    if (in->trace) orr_accel_close(in->trace);
    if (in->tasks) orr_tasks_free(in->tasks);
    orr_captured_close(in->captured);
    in->script = NULL;
    in->stream = NULL;
    in->trace = NULL;
    in->tasks = NULL;
    in->captured = NULL;
}
