// Any INPUT as a row of launches (feed.h): a script is executed, a recorded stream and a trace are read.
#include "cli/feed.h"

#include "tasks/tasks.h"

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
    orr_work w = {.info = {.kernel = l->kernel, .dynamic_shared = l->dynamic_shared, .index = l->index},
                  .launch = l,
                  .threads = f->threads,
                  .progress = f->progress};
    memcpy(w.info.grid, l->grid, sizeof l->grid);
    memcpy(w.info.block, l->block, sizeof l->block);
    f->chosen++;
    return f->work(f->arg, &w, e);
}

static bool feed_script(cli_feed *f, orr_err *e) {
    f->script = cli_open_script(f->o, f->sets, f->input, cli_sm(f->gpu), e);
    if (!f->script) return false;
    f->size = orr_script_size(f->script);
    f->source = "ptx"; // until a launch says otherwise
    f->cpu = orr_cpu_new(on_launch, f, e);
    if (!f->cpu) return false;
    orr_script_stats stats = {0};
    orr_backend b = orr_cpu_backend(f->cpu);
    return orr_script_run(f->script, &b, f->check, &stats, e);
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

bool cli_feed_run(cli_feed *f, orr_err *e) {
    bool stream = orr_stream_probe(f->input), trace = !stream && orr_accel_probe(f->input), ok;
    const cli_options *o = f->o;
    f->size = "";
    f->source = "trace";
    if (orr_tasks_probe(f->input))
        return orr_fail(e, ORR_BAD_INPUT, "%s: a task list is for `orrery run`", f->input);
    if ((stream || trace) && (o->size || o->source || f->sets->nscript || o->kernel || o->grid || o->block ||
                              o->shared || o->nargs))
        return orr_fail(e, ORR_BAD_INPUT,
                        "%s: a recorded stream or trace is replayed as it is; leave out --size, --source, "
                        "--kernel, --grid, --block, --shared, --arg and constants of a script",
                        f->input);
    if (stream)
        ok = feed_stream(f, e);
    else if (trace)
        ok = feed_trace(f, e);
    else
        ok = feed_script(f, e);
    if (ok && !f->chosen)
        return orr_fail(e, ORR_BAD_INPUT, "%s: %s", f->input,
                        f->seen ? "--kernels and --launches choose none of its launches"
                                : "launches nothing");
    return ok;
}

void cli_feed_close(cli_feed *f) {
    if (f->cpu) orr_cpu_delete(f->cpu);
    if (f->script) orr_script_free(f->script);
    if (f->stream) orr_stream_close(f->stream);
    if (f->trace) orr_accel_close(f->trace);
    f->cpu = NULL;
    f->script = NULL;
    f->stream = NULL;
    f->trace = NULL;
}
