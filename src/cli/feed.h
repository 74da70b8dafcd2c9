// What sweep and compare share: any INPUT as a row of launches, each ready for a model.
#ifndef ORR_CLI_FEED_H
#define ORR_CLI_FEED_H

#include "accel/accel.h"
#include "cli/input.h"
#include "cli/machine.h"
#include "model/model.h"
#include "tasks/tasks.h"

typedef struct cli_feed {
    const cli_options *o;
    const cli_sets *sets;
    const orr_gpu *gpu;
    const char *input;
    int threads;
    bool check; // a script's expectations
    // A launch that --kernels and --launches choose: `work` runs it (one of `launch` and `source` is set),
    // and must leave memory as the kernel does. The others are executed here.
    bool (*work)(void *arg, orr_work *w, orr_err *e);
    bool (*copy)(void *arg, uint64_t addr, uint64_t bytes, orr_err *e); // may be NULL
    void *arg;
    orr_progress *progress; // may be NULL
    // What it was:
    const char *size, *source; // "" when it has none; "ptx", "sass", "trace"
    uint64_t seen, chosen;     // launches
    const orr_task_step *step; // of a task list: the one that `work` is given
    // Kernels live until cli_feed_close.
    orr_script *script;
    cli_machine machine;
    orr_stream_file *stream;
    orr_accel_file *trace;
    orr_tasks *tasks;
} cli_feed;
bool cli_feed_run(cli_feed *f, orr_err *e);
void cli_feed_close(cli_feed *f);

#endif
