// orr_record: an input's streams into a file that every job takes, or into a folder that Accel-Sim runs.
#include "api/api.h"
#include "stream/stream.h"
#include "program/program.h"

#include <string.h>

typedef struct recorder {
    const orr_options *o;
    const orr_gpu *gpu;
    orr_stream_writer *writer; // one of these two
    orr_accel_writer *accel;
    orr_program *program; // of the kernel launched last, for Accel-Sim
    orr_err wrote;        // what went wrong with the file, which is not the script's fault
    orr_progress progress;
    uint64_t launches;
} recorder;

static bool on_block(void *arg, int worker, const orr_tb *tb, orr_err *e) {
    recorder *r = arg;
    (void)worker;
    orr_progress_part(&r->progress, 1);
    if (!orr_progress_go(&r->progress, e)) return false;
    bool ok =
        r->accel ? orr_accel_block(r->accel, tb, &r->wrote) : orr_stream_block(r->writer, tb, &r->wrote);
    return ok || orr_fail(e, r->wrote.status, "%s", r->wrote.text);
}

static bool pull(recorder *r, orr_source *s, orr_err *e) { // what was recorded as streams
    orr_tb tb;
    int more;
    while ((more = s->next(s, &tb, e)) > 0) {
        if (!on_block(r, 0, &tb, e)) {
            more = -1;
            break;
        }
    }
    s->close(s);
    return more == 0;
}

static bool begin(recorder *r, const orr_launch_info *info, orr_err *e) {
    if (!r->accel) return orr_stream_begin(r->writer, info, &r->wrote);
    if (!r->program || r->program->kernel != info->kernel) {
        orr_program_free(r->program);
        r->program = orr_program_new(info->kernel, r->gpu, e);
    }
    return r->program && orr_accel_begin(r->accel, info, r->program, &r->wrote);
}

static bool on_work(void *arg, orr_work *w, orr_err *e) {
    recorder *r = arg;
    orr_progress_parts(&r->progress, (uint64_t)w->info.grid[0] * w->info.grid[1] * w->info.grid[2]);
    bool ok = begin(r, &w->info, e) &&
              (w->launch ? orr_exec_run(w->launch, w->threads, &(orr_visitor){on_block, r, true}, NULL, e)
                         : pull(r, w->source, e)) &&
              (r->accel ? orr_accel_end(r->accel, &r->wrote) : orr_stream_end(r->writer, &r->wrote));
    orr_progress_step(&r->progress, ++r->launches);
    return ok || orr_fail(e, r->wrote.status, "%s", r->wrote.text);
}

// ---- the file ---------------------------------------------------------------------------------------
static bool create(recorder *r, const char *file, orr_err *e) {
    const char *format = r->o->files.format ? r->o->files.format : "orrery";
    int packed = orr_accel_format(format);
    if (strcmp(format, "orrery") == 0) return (r->writer = orr_stream_create(file, e)) != NULL;
    if (packed < 0)
        return orr_fail(e, ORR_BAD_INPUT,
                        "record: --format is orrery, accel-sim or accel-sim-plain, not %.40s", format);
    if (!r->gpu)
        return orr_fail(e, ORR_BAD_INPUT,
                        "record: --format %s needs a GPU to lower the code for: name one with --gpu", format);
    int cc = r->gpu->cc_major * 10 + r->gpu->cc_minor, binary = orr_accel_binary(r->gpu);
    if (cc != binary)
        orr_note(&r->o->notes,
                 "Accel-Sim has no opcodes for compute capability %d.%d; written as binary version %d",
                 r->gpu->cc_major, r->gpu->cc_minor, binary);
    return (r->accel = orr_accel_create(file, packed != 0, e)) != NULL;
}

// Stopped: launches that are whole are worth having.
static void keep_whole(recorder *r, const char *file, orr_err *e) {
    orr_err why = *e, wrote = {0};
    uint32_t n = orr_stream_whole(r->writer);
    if (!n) {
        orr_stream_discard(r->writer);
    } else if (orr_stream_commit(r->writer, &wrote)) {
        orr_note(&r->o->notes, "%s: stopped; it has the %u launches that were done", file, n);
        *e = why;
    } else {
        *e = wrote;
    }
}

static void finish(recorder *r, const char *file, bool ok, orr_err *e) {
    if (r->writer && e->status == ORR_STOPPED)
        keep_whole(r, file, e);
    else if (r->accel && ok)
        orr_accel_commit(r->accel, e);
    else if (r->accel)
        orr_accel_discard(r->accel);
    else if (ok)
        orr_stream_commit(r->writer, e);
    else
        orr_stream_discard(r->writer);
}

bool orr_record(const char *input, const char *file, const orr_options *o, orr_err *e) {
    if (e->status) return false;
    o = orr_asked(o);
    if (!orr_input_check(&o->in, e) || !orr_input_file(input, e)) return false;
    bool stream = orr_stream_probe(input);
    if (stream && (!o->files.format || !strcmp(o->files.format, "orrery")))
        return orr_fail(e, ORR_BAD_INPUT,
                        "%s: is a recorded stream already; --format accel-sim makes traces of it", input);
    orr_gpu *gpu = NULL;
    if (!orr_check_output(file, input, "-o", e) || !orr_asked_gpu(o, &gpu, e)) return false;
    orr_input_options all = o->in; // every launch is recorded
    all.kernels = all.launches = NULL;
    recorder r = {.o = o, .gpu = gpu};
    orr_input in = {.name = input,
                    .o = &all,
                    .gpu = gpu,
                    .check = !all.no_check,
                    .only_script = !stream,
                    .progress = &r.progress,
                    .notes = &o->notes,
                    .work = on_work,
                    .arg = &r};
    if (create(&r, file, e)) {
        orr_progress_start(&r.progress, o->watcher, input, "launches", "blocks", 0);
        bool ok = orr_input_run(&in, e);
        orr_progress_end(&r.progress);
        if (r.wrote.status) *e = r.wrote;
        finish(&r, file, ok, e);
        if (ok) orr_executor_note(&in.executor, &o->notes);
        orr_program_free(r.program);
    }
    orr_input_close(&in);
    orr_gpu_free(gpu);
    return !e->status;
}
