// orrery record: an INPUT's streams into a file that `orrery run` replays.
#include "cli/input.h"
#include "stream/stream.h"

#include <string.h>

typedef struct recorder {
    const cli_options *o;
    const orr_gpu *gpu;
    orr_stream_writer *writer;
    orr_err wrote; // what went wrong with the file, which is not the script's fault
    orr_progress progress;
    uint64_t launches;
} recorder;

static bool on_block(void *arg, int worker, const orr_tb *tb, orr_err *e) {
    recorder *r = arg;
    (void)worker;
    orr_progress_part(&r->progress, 1);
    if (orr_stream_block(r->writer, tb, &r->wrote)) return true;
    return orr_fail(e, r->wrote.status, "%s", r->wrote.text);
}

static bool on_launch(void *arg, orr_launch *l, const orr_call *c, orr_err *e) {
    recorder *r = arg;
    (void)c;
    if (!cli_prepare(r->o, r->gpu, l, e)) return false;
    orr_launch_info info = {.kernel = l->kernel, .dynamic_shared = l->dynamic_shared, .index = l->index};
    memcpy(info.grid, l->grid, sizeof l->grid);
    memcpy(info.block, l->block, sizeof l->block);
    orr_progress_parts(&r->progress, (uint64_t)l->grid[0] * l->grid[1] * l->grid[2]);
    bool ok = orr_stream_begin(r->writer, &info, &r->wrote) &&
              orr_exec_run(l, r->o->threads, true, on_block, r, NULL, e) &&
              orr_stream_end(r->writer, &r->wrote);
    orr_progress_step(&r->progress, ++r->launches);
    return ok || orr_fail(e, r->wrote.status, "%s", r->wrote.text);
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
        s = cli_open_script(o, &sets, input, e);
    recorder r = {.o = o, .gpu = gpu};
    orr_cpu *cpu = s ? orr_cpu_new(on_launch, &r, e) : NULL;
    if (cpu) r.writer = orr_stream_create(o->output, e);
    if (r.writer) {
        orr_backend b = orr_cpu_backend(cpu);
        orr_script_stats stats;
        if (!o->quiet) orr_progress_start(&r.progress, input, "launches", "blocks", 0);
        bool ok = orr_script_run(s, &b, !o->no_check, &stats, e);
        orr_progress_end(&r.progress);
        if (r.wrote.status) *e = r.wrote;
        if (ok)
            orr_stream_commit(r.writer, e);
        else
            orr_stream_discard(r.writer);
    }
    if (cpu) orr_cpu_delete(cpu);
    if (s) orr_script_free(s);
    if (gpu) orr_gpu_free(gpu);
    cli_free_sets(&sets);
    return e->status;
}
