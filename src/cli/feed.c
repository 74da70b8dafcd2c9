// Any INPUT as a row of launches (feed.h): a script is executed, a recorded stream and a trace are read.
#include "cli/feed.h"

#include <stdlib.h>
#include <string.h>

static bool on_launch(void *arg, orr_launch *l, const orr_call *c, orr_err *e) {
    cli_feed *f = arg;
    (void)c;
    if (!cli_prepare(f->o, f->gpu, l, e)) return false;
    l->print = stderr; // stdout is for the result
    f->source = l->kernel->module->source;
    f->seen++;
    if (!cli_chosen(f->o, l->kernel, l->index))
        return orr_exec_run(l, f->threads, false, NULL, NULL, NULL, e);
    orr_work w = {.info = orr_info_of(l), .launch = l, .threads = f->threads, .progress = f->progress};
    f->chosen++;
    return f->work(f->arg, &w, e);
}

static bool feed_script(cli_feed *f, orr_err *e) {
    f->script = cli_open_script(f->o, f->sets, f->input, cli_sm(f->gpu), e);
    if (!f->script) return false;
    f->size = orr_script_size(f->script);
    f->source = "ptx"; // until a launch says otherwise
    if (!cli_machine_open(&f->machine, f->o, on_launch, f, e)) return false;
    orr_script_stats stats = {0};
    return orr_script_run(f->script, &f->machine.backend, f->check, &stats, e);
}

static bool feed_source(cli_feed *f, orr_source *s, orr_err *e) {
    f->seen++;
    if (!cli_chosen(f->o, s->info.kernel, s->info.index)) return true;
    orr_work w = {.info = s->info, .source = s, .threads = f->threads, .progress = f->progress};
    f->chosen++;
    return f->work(f->arg, &w, e);
}

static bool feed_stream(cli_feed *f, orr_err *e) {
    f->stream = orr_stream_open(f->input, e);
    bool ok = f->stream != NULL;
    for (orr_source *s; ok && (s = orr_stream_next_launch(f->stream, e));) ok = feed_source(f, s, e);
    return ok && !e->status;
}

static bool feed_trace(cli_feed *f, orr_err *e) {
    orr_accel_item item;
    f->trace = orr_accel_open(f->input, e);
    if (!f->trace) return false;
    if (f->o->quiet) orr_accel_warn(f->trace, NULL);
    orr_accel_threads(f->trace, f->threads);
    bool ok = true;
    while (ok && (ok = orr_accel_next(f->trace, &item, e)) && item.kind != ORR_ACCEL_END) {
        if (item.kind == ORR_ACCEL_KERNEL)
            ok = feed_source(f, item.source, e);
        else if (f->copy)
            ok = f->copy(f->arg, item.addr, item.bytes, e);
    }
    return ok;
}

static void keep(orr_source *s) { (void)s; } // some models close what they are given

// What is repeated is given once; `step` says how often.
static bool feed_tasks(cli_feed *f, orr_err *e) {
    const orr_task_step *steps;
    f->tasks = orr_tasks_load(f->input, f->sets->script, f->sets->nscript, e);
    size_t n = f->tasks ? orr_tasks_steps(f->tasks, &steps) : 0;
    bool ok = f->tasks != NULL;
    f->source = "tasks";
    for (size_t k = 0; ok && k < n; k++) {
        const orr_task_step *s = f->step = &steps[k];
        if (s->kind != ORR_TASKS_LAUNCH) continue;
        uint64_t blocks = (uint64_t)s->launch.grid[0] * s->launch.grid[1] * s->launch.grid[2];
        uint64_t sms = (uint64_t)f->gpu->sm_count;
        float *far = orr_calloc(s->launch.kernel->ninsts + 1, sizeof *far);
        orr_tasks_far(f->tasks, s, (uint64_t)f->gpu->l2_size, blocks < sms ? blocks : sms, far);
        orr_source *source = orr_tasks_source(f->tasks, s);
        void (*close)(orr_source *) = source->close;
        source->close = keep;
        f->seen++;
        if (cli_chosen(f->o, s->launch.kernel, s->launch.index)) {
            orr_work w = {.info = s->launch,
                          .source = source,
                          .threads = f->threads,
                          .progress = f->progress,
                          .far = far};
            f->chosen++;
            ok = f->work(f->arg, &w, e);
        }
        close(source);
        free(far);
    }
    f->step = NULL;
    return ok;
}

bool cli_feed_run(cli_feed *f, orr_err *e) {
    bool stream = orr_stream_probe(f->input), trace = !stream && orr_accel_probe(f->input), ok;
    bool tasks = !stream && !trace && orr_tasks_probe(f->input);
    const cli_options *o = f->o;
    f->size = "";
    f->source = "trace";
    if ((stream || trace || tasks) && (o->size || o->source || (!tasks && f->sets->nscript) || o->kernel ||
                                       o->grid || o->block || o->shared || o->nargs))
        return orr_fail(
            e, ORR_BAD_INPUT,
            "%s: a recorded stream, a trace or a task list is taken as it is; leave out --size, --source, "
            "--kernel, --grid, --block, --shared, --arg and constants that it has not",
            f->input);
    if (stream)
        ok = feed_stream(f, e);
    else if (trace)
        ok = feed_trace(f, e);
    else if (tasks)
        ok = feed_tasks(f, e);
    else
        ok = feed_script(f, e);
    if (ok && !f->chosen)
        return orr_fail(e, ORR_BAD_INPUT, "%s: %s", f->input,
                        f->seen ? "--kernels and --launches choose none of its launches"
                                : "launches nothing");
    return ok;
}

void cli_feed_close(cli_feed *f) {
    cli_machine_close(&f->machine);
    if (f->script) orr_script_free(f->script);
    if (f->stream) orr_stream_close(f->stream);
    if (f->trace) orr_accel_close(f->trace);
    if (f->tasks) orr_tasks_free(f->tasks);
    f->script = NULL;
    f->stream = NULL;
    f->trace = NULL;
    f->tasks = NULL;
}
