// An INPUT, whatever it is, as a row of launches, each ready for a model.
//
// An INPUT is a bundled workload's name, a launch script, a module with a kernel's name and shape, a recorded
// stream, an Accel-Sim trace, a capture, or a task list. Here is the one loop that goes through it: `run`,
// `record`, `compare`, `correlate`, `sample` and `sweep` say what is done with a launch, and nothing else.
//
//   prepare.c   a launch is made to fit a GPU: also for a device's launches (api/) and a program's (app/)
//   script.c    from a name and options to a script
//   executor.c  where kernels are executed: on the CPU, or on a real GPU
//   captured.c  launches that were captured on a real GPU
//   input.c     the loop
#ifndef ORR_INPUT_H
#define ORR_INPUT_H

#include "accel/accel.h"
#include "hw/hw.h"
#include "launch/launch.h"
#include "model/model.h"
#include "tasks/tasks.h"

// ---- what is asked for ------------------------------------------------------------------------
typedef struct orr_input_options { // all zero: the defaults
    const char *size;              // of a script
    const char *const *sets;       // "n=4096": constants of a script or task list
    int nsets;
    orr_direct direct;              // of a module: kernel, grid, block, shared and args (not `module`)
    const char *source;             // "ptx", "sass"; NULL: machine code where it fits the GPU
    const char *on;                 // "cpu", "gpu": where kernels are executed; NULL: the CPU
    const char *kernels, *launches; // "bfs*", "3-7,9": those that are modelled; NULL: all
    const char *range;              // of NVTX: those that it launched; NULL: all
    int threads;                    // of the host
    uint64_t max_insts;             // that one warp may execute; 0: any number
    bool no_check;                  // buffers are not compared with what the script expects
    FILE *print;                    // where a kernel's printf goes; NULL: stdout
} orr_input_options;

bool orr_input_on_gpu(const orr_input_options *o);
const char *orr_input_source(const orr_input_options *o); // of modules: a GPU that executes takes PTX
// Whether the options go together and can be read at all.
bool orr_input_check(const orr_input_options *o, orr_err *e);
// A name that can be looked at more than once: not a pipe, a terminal or another device, nor what standard
// output goes to. What does not exist is somebody else's to tell.
bool orr_input_file(const char *name, orr_err *e);
// Is it one of the launches that `kernels` and `launches` choose?
bool orr_input_chosen(const char *kernels, const char *launches, const orr_kernel *k, uint32_t index);
bool orr_input_in_range(const orr_input_options *o, const char *path); // that `range` chooses

// ---- a launch (prepare.c) ---------------------------------------------------------------------
// How many blocks of a kernel an SM holds; false: no kernel is like that.
bool orr_launch_fit(const orr_gpu *g, const orr_launch_info *i, orr_occupancy_result *fit);
// Makes a launch fit the GPU: %nsmid, how many blocks are resident (0: it does not fit on an SM), and whether
// it could be launched there at all. A GPU of NULL changes nothing.
bool orr_launch_prepare(orr_launch *l, const orr_gpu *g, orr_err *e);
// Executes it without observing: instruction counts only, added to the result as a launch.
bool orr_launch_count(const orr_work *w, const orr_gpu *g, orr_result *r, orr_err *e);
// Whether a launch that comes from a file could be made there.
bool orr_launch_possible(const orr_gpu *g, const orr_launch_info *i, orr_err *e);

// ---- a script (script.c) ----------------------------------------------------------------------
unsigned orr_input_sm(const orr_gpu *g); // the architecture that machine code must be for (90); 0: any
orr_script *orr_input_script(const orr_input_options *o, const char *input, unsigned sm, orr_err *e);

// ---- where kernels are executed (executor.c) ----------------------------------------------------
typedef struct orr_executor {
    orr_cpu *cpu; // one of these two
    orr_native *native;
    orr_backend backend;
} orr_executor;
bool orr_executor_open(orr_executor *x, bool on_gpu, orr_on_launch *on_launch, void *arg, orr_err *e);
void orr_executor_note(const orr_executor *x, const orr_notes *notes); // what the GPU did, if it did
void orr_executor_close(orr_executor *x);

// ---- a launch of a task list ---------------------------------------------------------------------
// Its thread blocks, made up as they are asked for, and what of its accesses comes from memory on this GPU,
// which may be NULL. orr_task_launch_open fills `info`, `source` and `far` of w.
typedef struct orr_task_launch {
    void (*close)(orr_source *s); // of the source, which models must not close
} orr_task_launch;
void orr_task_launch_open(orr_task_launch *x, orr_work *w, const orr_tasks *t, const orr_task_step *s,
                          const orr_gpu *g);
void orr_task_launch_close(orr_task_launch *x, orr_work *w);

// ---- the loop (input.c) -------------------------------------------------------------------------
typedef struct orr_input {
    const char *name;
    const orr_input_options *o;
    const orr_gpu *gpu; // NULL: none is known
    bool check;         // compare buffers with what the script expects
    bool only_script;   // take it for a script, whatever it looks like
    bool executes;      // what is done with launches needs them executed here, not replayed
    orr_text *digests;  // a line for each of the script's buffers; NULL: none
    orr_progress *progress;
    const orr_notes *notes;
    // A launch that was chosen: `work` runs it (one of w->launch and w->source is set) and must leave memory
    // as the kernel does. The others are executed here.
    bool (*work)(void *arg, orr_work *w, orr_err *e);
    bool (*copy)(void *arg, uint64_t addr, uint64_t bytes, orr_err *e); // of a trace; NULL: of no interest
    void (*moved)(void *arg, const orr_task_step *s);                   // a task list's copy; NULL: the same
    // A captured launch of which only this is known, and that an earlier one, `like`, stands for; NULL: the
    // same.
    void (*alike)(void *arg, const orr_launch_info *info, uint32_t like);
    // What a script measures by the simulated clock; NULL: the same. Of launches that a model times.
    void (*measure)(void *arg, const orr_reading *m);
    void *arg;
    // What it was:
    const char *size, *source; // "" when it has none; "ptx", "sass", "trace", "tasks"
    uint64_t seen, chosen;     // launches
    orr_text seen_names;       // kernels of those before the first that was chosen
    orr_script_stats stats;    // of a script
    double seconds;            // it took
    const orr_task_step *step; // of a task list: the one that `work` is given, else NULL
    // Kernels live until orr_input_close.
    orr_script *script;
    orr_executor executor;
    orr_stream_file *stream;
    orr_accel_file *trace;
    orr_tasks *tasks;
    struct orr_capture_run *captured;
} orr_input;
bool orr_input_run(orr_input *in, orr_err *e);
void orr_input_close(orr_input *in);

#endif
