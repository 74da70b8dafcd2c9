// orrery record: an INPUT's streams into a file that `orrery run` replays, or into a folder that Accel-Sim
// runs.
#include "accel/accel.h"
#include "cli/input.h"
#include "cli/machine.h"
#include "stream/stream.h"
#include "program/program.h"

#include <string.h>

typedef struct recorder {
    const cli_options *o;
    const orr_gpu *gpu;
    orr_stream_writer *writer; // one of these two
    orr_accel_writer *accel;
    orr_program *program; // of the kernel launched last, for Accel-Sim
    orr_backend inner;    // what the script runs on: its copies to the GPU are written too
    orr_err wrote;        // what went wrong with the file, which is not the script's fault
    orr_progress progress;
    uint64_t launches;
} recorder;

static bool on_block(void *arg, int worker, const orr_tb *tb, orr_err *e) {
    recorder *r = arg;
    (void)worker;
    orr_progress_part(&r->progress, 1);
    bool ok =
        r->accel ? orr_accel_block(r->accel, tb, &r->wrote) : orr_stream_block(r->writer, tb, &r->wrote);
    return ok || orr_fail(e, r->wrote.status, "%s", r->wrote.text);
}

static bool begin(recorder *r, const orr_launch_info *info, orr_err *e) {
    if (!r->accel) return orr_stream_begin(r->writer, info, &r->wrote);
    if (!r->program || r->program->kernel != info->kernel) {
        orr_program_free(r->program);
        r->program = orr_program_new(info->kernel, r->gpu, e);
    }
    return r->program && orr_accel_begin(r->accel, info, r->program, &r->wrote);
}

static bool on_launch(void *arg, orr_launch *l, const orr_call *c, orr_err *e) {
    recorder *r = arg;
    (void)c;
    if (!cli_prepare(r->o, r->gpu, l, e)) return false;
    orr_launch_info info = orr_info_of(l);
    orr_progress_parts(&r->progress, (uint64_t)l->grid[0] * l->grid[1] * l->grid[2]);
    bool ok = begin(r, &info, e) && orr_exec_run(l, r->o->threads, true, on_block, r, NULL, e) &&
              (r->accel ? orr_accel_end(r->accel, &r->wrote) : orr_stream_end(r->writer, &r->wrote));
    orr_progress_step(&r->progress, ++r->launches);
    return ok || orr_fail(e, r->wrote.status, "%s", r->wrote.text);
}

// ---- what the script runs on, with its copies seen -------------------------------------------------

static bool do_load(void *self, int module, orr_module *m, orr_err *e) {
    const orr_backend *b = &((recorder *)self)->inner;
    return b->load(b->self, module, m, e);
}
static uint64_t do_alloc(void *self, const char *name, uint64_t bytes, orr_err *e) {
    const orr_backend *b = &((recorder *)self)->inner;
    return b->alloc(b->self, name, bytes, e);
}
static bool do_write(void *self, uint64_t addr, const void *data, uint64_t bytes, orr_err *e) {
    recorder *r = self;
    if (!r->inner.write(r->inner.self, addr, data, bytes, e)) return false;
    return !r->accel || orr_accel_copy(r->accel, addr, bytes, e);
}
static bool do_read(void *self, uint64_t addr, void *data, uint64_t bytes, orr_err *e) {
    const orr_backend *b = &((recorder *)self)->inner;
    return b->read(b->self, addr, data, bytes, e);
}
static bool do_symbol(void *self, int module, const char *name, uint64_t *addr, uint64_t *bytes, orr_err *e) {
    const orr_backend *b = &((recorder *)self)->inner;
    return b->symbol(b->self, module, name, addr, bytes, e);
}
static bool do_launch(void *self, const orr_call *c, orr_err *e) {
    const orr_backend *b = &((recorder *)self)->inner;
    return b->launch(b->self, c, e);
}

// ---- the file ---------------------------------------------------------------------------------------

static bool create(recorder *r, orr_err *e) {
    const char *format = r->o->format ? r->o->format : "orrery";
    bool plain = strcmp(format, "accel-sim-plain") == 0;
    if (strcmp(format, "orrery") == 0) return (r->writer = orr_stream_create(r->o->output, e)) != NULL;
    if (!plain && strcmp(format, "accel-sim") != 0)
        return orr_fail(e, ORR_BAD_INPUT,
                        "record: --format is orrery, accel-sim or accel-sim-plain, not %.40s", format);
    if (!r->gpu)
        return orr_fail(e, ORR_BAD_INPUT,
                        "record: --format %s needs a GPU to lower the code for: name one with --gpu", format);
    int cc = r->gpu->cc_major * 10 + r->gpu->cc_minor, binary = orr_accel_binary(r->gpu);
    if (cc != binary && !r->o->quiet)
        fprintf(
            stderr,
            "orrery: Accel-Sim has no opcodes for compute capability %d.%d; written as binary version %d\n",
            r->gpu->cc_major, r->gpu->cc_minor, binary);
    return (r->accel = orr_accel_create(r->o->output, !plain, e)) != NULL;
}

static void finish(recorder *r, bool ok, orr_err *e) {
    if (r->accel && ok)
        orr_accel_commit(r->accel, e);
    else if (r->accel)
        orr_accel_discard(r->accel);
    else if (ok)
        orr_stream_commit(r->writer, e);
    else
        orr_stream_discard(r->writer);
}

int cli_record(cli_options *o, orr_err *e) {
    if (o->ninputs != 1 || !o->output) {
        orr_fail(e, ORR_BAD_INPUT,
                 "record: name one INPUT and the file to write: orrery record INPUT -o FILE");
        return e->status;
    }
    cli_sets sets;
    cli_split_sets(o, &sets);
    const char *input = o->inputs[0];
    if (orr_stream_probe(input)) orr_fail(e, ORR_BAD_INPUT, "%s: is a recorded stream already", input);
    orr_gpu *gpu = NULL;
    orr_script *s = NULL;
    if (!e->status && cli_check_output(o, input, e) && cli_load_gpu(o, &sets, &gpu, e))
        s = cli_open_script(o, &sets, input, cli_sm(gpu), e);
    recorder r = {.o = o, .gpu = gpu};
    cli_machine machine = {0};
    if (s && cli_machine_open(&machine, o, on_launch, &r, e) && create(&r, e)) {
        r.inner = machine.backend;
        orr_backend b = {.self = &r,
                         .load = do_load,
                         .alloc = do_alloc,
                         .write = do_write,
                         .read = do_read,
                         .symbol = do_symbol,
                         .launch = do_launch};
        orr_script_stats stats;
        if (!o->quiet) orr_progress_start(&r.progress, input, "launches", "blocks", 0);
        bool ok = orr_script_run(s, &b, !o->no_check, &stats, e);
        orr_progress_end(&r.progress);
        if (r.wrote.status) *e = r.wrote;
        finish(&r, ok, e);
        if (ok && !o->quiet) cli_machine_note(&machine, stderr);
        orr_program_free(r.program);
    }
    cli_machine_close(&machine);
    if (s) orr_script_free(s);
    if (gpu) orr_gpu_free(gpu);
    cli_free_sets(&sets);
    return e->status;
}
