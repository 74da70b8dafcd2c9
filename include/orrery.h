// Orrery: simulate GPUs from a C program. Everything the `orrery` command can do, but for `hw profile`, which
// runs the command itself under Nsight Compute.
//
//     orr_err e = {0};
//     orr_options *o = orr_options_new();
//     orr_options_set(o, "gpu", "h200", &e);           // the command's options, by their long names
//     orr_options_set(o, "model", "cycle", &e);
//     orr_report *r = orr_run("saxpy", o, &e);         // as `orrery run saxpy --gpu h200 --model cycle`
//     if (!r) puts(e.text);
//     printf("%.0f cycles\n", orr_report_number(r, "/launches/0/cycles"));
//     puts(orr_report_as(r, ORR_JSON));
//     orr_report_free(r);
//     orr_options_free(o);
//
// There are three nouns: options say what is asked for, a job (orr_run, orr_sweep ...) is one call, and a
// report is what comes of it. A device (at the end) is for those who launch kernels themselves.
//
// Errors. A function that can fail takes an `orr_err *` last, never NULL, and returns false, 0 or NULL after
// filling it in. A filled one stays as it is, and a function that is given one does nothing, so that a row of
// calls can be checked once. Zero it before the next row. The text is the one that the command prints.
//
// Ownership. What a function named _new, _open or a job returns belongs to the caller, who frees it with the
// function named _free or _close of that noun. Strings that come out of a handle live as long as it does.
// Strings that go in are copied.
//
// Threads. A handle must be used by one thread at a time; different handles are independent. A job works on
// as many host threads as the option `threads` says; its results do not depend on it.
//
// Output. Nothing is printed but what the simulated program prints itself (orr_options_print). A job writes
// the files that its options name and no others, each under a temporary name until it is complete. The
// process is never ended, with one exception: memory that the system will not give.
#ifndef ORRERY_H
#define ORRERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORR_VERSION "0.2.0"
#define ORR_API     __attribute__((visibility("default")))

ORR_API const char *orr_version(void); // of the library that runs; ORR_VERSION is that of this header
ORR_API void orr_free(void *p);        // what a function here says to free so; NULL is allowed

// ---- errors ---------------------------------------------------------------------------------
#ifndef ORR_ERR
#define ORR_ERR
typedef struct orr_err {
    int status;      // 0: nothing went wrong; 1: the simulated program failed; 2: bad input; 3: stopped;
                     // 4: slower than `fail-if` allows
    char text[1000]; // "file:line: what is wrong and what to do"
} orr_err;
#endif

// ---- options --------------------------------------------------------------------------------
// The options of the command by their long names without the dashes: `orrery help SUBCOMMAND` lists those of
// each job. An option that a job does not know is of no interest to it. Where a job takes options, NULL means
// all defaults.
//
//     which GPU, which model    gpu, set (sm.count=66), model, budget, latencies
//     what of an input is run   size, source, set (n=4096), kernel, grid, block, shared, arg,
//                               kernels, launches, on, threads, max-insts; of OpenCL C: build, global, local;
//                               of a program: opencl, annotate, bounds, measure, memory
//     how it is run             counts-only, check, no-check, lines, timeline, digests
//     sampling                  sample, profile, warm, precision, piece, full
//     two runs                  second, fail-if
//     other jobs                vary, output, csv, plot, command, format, hardware, script, repeat, record,
//                               quiet, regs, barriers, arch, images, raw, dump, timed, ptx
typedef struct orr_options orr_options;
ORR_API orr_options *orr_options_new(void);
ORR_API void orr_options_free(orr_options *o);
// A flag takes "yes" or "no". `set`, `arg`, `vary` and `script` may be given several times and add up; any
// other option has the value that was given last.
ORR_API bool orr_options_set(orr_options *o, const char *name, const char *value, orr_err *e);

#ifndef ORR_STATUS
#define ORR_STATUS
typedef struct orr_status { // how far a job is
    const char *what;       // the input, or the job: "saxpy", "sweep"
    const char *units;      // what is counted, in the plural: "launches", "points"
    uint64_t done, total;   // total 0: not known
    const char *part_units; // parts of the one that is being done: "blocks"
    uint64_t part, parts;   // parts 0: not known
    double seconds;         // since the job began
    bool ended;             // this is the last call
    double begun;           // parts, of those that have begun and not ended: 0.5 is half of one
} orr_status;
typedef bool (*orr_watch)(void *arg, const orr_status *s); // false: the job is to stop
#endif
// Progress and cancellation: `watch` is called when a job begins, five times a second, and when it ends; one
// call at a time, but not always on the caller's thread. When it returns false the job ends at the next
// thread block, with status 3. A job that goes through several inputs begins and ends for each of them.
ORR_API void orr_options_watch(orr_options *o, orr_watch watch, void *arg);
// Remarks that are neither results nor errors, as the command has them on standard error: a line each,
// without its end. By default nobody reads them.
typedef void (*orr_reader)(void *arg, const char *line);
ORR_API void orr_options_notes(orr_options *o, orr_reader reader, void *arg);
// Where a kernel's printf and a script's `print` go. NULL, as it is by default: stdout and stderr.
ORR_API void orr_options_print(orr_options *o, FILE *file);

// ---- reports --------------------------------------------------------------------------------
typedef struct orr_report orr_report;
enum orr_format {
    ORR_TEXT, // for people
    ORR_JSON, // for programs: docs/how/design.md, section 6, and each job's page
    ORR_CSV,  // compare, correlate, sweep, sample model, micro
    ORR_HTML, // run, compare, sweep, sample, explain, diff, correlate: a page for the browser that needs no
              // other file
    ORR_SVG,  // sample model
    ORR_LOG,  // tune: what was tried; measure: every launch of every round
    ORR_TERMINAL,  // run: text with headings in bold
    ORR_ACCELSIM,  // run: under the names that GPGPU-Sim and Accel-Sim print
    ORR_PAGE_DATA, // run: JSON for orr_page; instructions, lines and sources, few launches in full
    ORR_FORMATS
};
// NULL: a report of this job has no such form.
ORR_API const char *orr_report_as(orr_report *r, enum orr_format format);
// Values by their place in the JSON, as RFC 6901 writes it: "/launches/0/counters/smsp__inst_executed.sum",
// "/totals/cycles". Numbers have the digits of the JSON; NAN: there is none (also `null`), true and false are
// 1 and 0. NULL: there is no such string. Elements of an array or object; -1: there is neither.
ORR_API double orr_report_number(orr_report *r, const char *place);
ORR_API const char *orr_report_string(orr_report *r, const char *place);
ORR_API int64_t orr_report_count(orr_report *r, const char *place);
ORR_API void orr_report_free(orr_report *r); // NULL is allowed

// ---- jobs on inputs -------------------------------------------------------------------------
// An input is the name of a bundled workload, a launch script (*.launch), a module (PTX, a cubin, a fatbin, a
// program) with the options kernel, grid and block, a recorded stream or a folder of them, an Accel-Sim trace
// (kernelslist.g), or a task list (*.tasks), which is an application that has not been written.

// Its launches through a model. With `sample`, some of them, and a prediction of the others. With `timeline`,
// a trace for ui.perfetto.dev is written to that file. A capture that leaves other memory than the GPU did
// has a report, and e says so.
ORR_API orr_report *orr_run(const char *input, const orr_options *o, orr_err *e);
// Its launches' streams to a file that every job takes as an input; with `format` "accel-sim", to a folder of
// traces that Accel-Sim runs.
ORR_API bool orr_record(const char *input, const char *file, const orr_options *o, orr_err *e);
// What is in a recorded stream or an Accel-Sim trace.
ORR_API orr_report *orr_info(const char *file, const orr_options *o, orr_err *e);
// Every model that predicts time, or those that `model` lists, on each input (n 0: all bundled workloads);
// beside them what a GPU measured. An input that fails does not end the job: there is a report then, and e is
// filled in.
ORR_API orr_report *orr_compare(const char *const *inputs, int n, const orr_options *o, orr_err *e);
// A model against files of measurements (`orrery hw profile`). `script`, `size` and `kernels` choose among
// them. A script that fails does not end the job: there is a report then, and e is filled in.
ORR_API orr_report *orr_correlate(const char *const *files, int n, const orr_options *o, orr_err *e);
// A GPU's description, as text, from what `orrery hw micro` has found, and measurements (files[1] and on).
ORR_API orr_report *orr_tune(const char *const *files, int n, const orr_options *o, orr_err *e);
// An input on a grid of descriptions: all combinations of what the `vary` options say. Results are kept in
// the SQLite file `output`, a transaction a point, so that a sweep that was stopped goes on where it was;
// without `output`, in a file that nobody sees. Points that fail do not end the job: there is a report then,
// and e is filled in.
ORR_API orr_report *orr_sweep(const char *input, const orr_options *o, orr_err *e);
// What would help: the input's launches, executed once, timed as they are and with one thing ideal at a time
// (no L2 latency, no bank conflicts, a line's accesses coalesced ...), and what each is worth, for the kernel
// and by source line; which two hide each other; advice that names the line. The model is cycle.
ORR_API orr_report *orr_explain(const char *input, const orr_options *o, orr_err *e);
// Two runs, and where the time went: by kernel, by cause (what warps waited for) and by source line. An input
// may be a report that was kept as JSON (*.json); `second` has options of the second run alone ("gpu=v100").
// With `fail-if` ("slower 5%") and a second run that takes longer than that, there is a report, and e is
// filled in with status 4. As ORR_HTML, both runs on one page.
ORR_API orr_report *orr_diff(const char *a, const char *b, const orr_options *o, orr_err *e);
// Which launches of an input stand for which (`profile`: a file for orr_run with `sample`); how well sampling
// does against full simulation; how much the IPC of warps that stall at random varies.
ORR_API orr_report *orr_sample_profile(const char *input, const orr_options *o, orr_err *e);
ORR_API orr_report *orr_sample_study(const char *const *inputs, int n, const orr_options *o, orr_err *e);
ORR_API orr_report *orr_sample_model(const orr_options *o, orr_err *e);
// Launch scripts on the GPU of this machine, through the CUDA driver; with `repeat`, several times from the
// start, and the shortest times count. n 0: all bundled workloads. A script that fails does not end the job:
// there is a report then, and e is filled in.
ORR_API orr_report *orr_measure(const char *const *inputs, int n, const orr_options *o, orr_err *e);
// The microbenchmarks, or launch scripts with `measure` in them, on that GPU: CSV that orr_tune reads. n 0:
// all bundled ones. A script that fails does not end the job: there is a report then, and e is filled in.
ORR_API orr_report *orr_micro(const char *const *inputs, int n, const orr_options *o, orr_err *e);
// One page for the browser of several runs, which it shows next to each other: reports of orr_run as JSON
// (also several in an array) or as ORR_PAGE_DATA; or of one report of another job. The report has one form,
// ORR_HTML.
ORR_API orr_report *orr_page(const char *const *reports, int n, orr_err *e);
// The bundled workloads.
ORR_API orr_report *orr_workloads(orr_err *e);

// ---- code -----------------------------------------------------------------------------------
// The kernels of a module, or the one that `kernel` names, block by block; with `timed`, the machine
// instructions that `gpu` is taken to run; with `ptx`, the module as PTX again.
ORR_API orr_report *orr_show(const char *module, const orr_options *o, orr_err *e);
// The machine code of a cubin, a fatbin, a program or a library, as nvdisasm writes it, to `out`, function by
// function, because libraries are large. Of the options: kernel, arch, images, raw, dump; `format` "json".
ORR_API bool orr_disassemble(const char *file, FILE *out, const orr_options *o, orr_err *e);

// ---- programs -------------------------------------------------------------------------------
// An unmodified CUDA program, built with `nvcc -cudart shared`, on a simulated GPU. It runs as a process of
// its own, with its own standard streams, and the caller waits for it; argv[0] is its file, argv ends with
// NULL. *status is its exit status (128 and the signal's number when it was killed). A program that made no
// launch has no report. Without `model` launches are timed by the cycle model. SIGTERM and SIGHUP are handed
// on to it while it runs, and SIGINT is left to it.
ORR_API orr_report *orr_app_run(char *const *argv, const orr_options *o, int *status, orr_err *e);
// For those who start it themselves: the environment in which it runs on a simulated GPU, "NAME=value" up to
// a NULL, all of this process's and what is needed more. The report goes to the file `output`, or to standard
// error unless `quiet`; with `format` "json" it is JSON. Free what is returned with orr_free.
ORR_API char **orr_app_environment(const char *program, const orr_options *o, orr_err *e);
// The same for a program on this machine's own GPU whose launches are captured, with their memory, in the
// folder `output`; orr_run replays it. Of the options: kernels, launches, measure, memory.
ORR_API char **orr_capture_environment(const char *program, const orr_options *o, orr_err *e);
// Runs an MPI program with CUDA, built with SimGrid's smpicc, on a simulated cluster
// (docs/guides/cluster.md): ranks, per-node, node, platform, host, alike, times; gpu, set, model ("partial"
// unless it is set), timeline. *status is the program's; the report tells of ranks, kernels, calls of MPI and
// messages.
ORR_API orr_report *orr_mpi_run(char *const *argv, const orr_options *o, int *status, orr_err *e);

// ---- GPU descriptions -----------------------------------------------------------------------
// A GPU is named ("h200") or is the path of a description (*.conf); the option `set` overrides its values.
ORR_API orr_report *orr_gpus(const orr_options *o, orr_err *e); // all that come with Orrery
ORR_API orr_report *orr_gpu_keys(orr_err *e);                   // what a description can say
ORR_API orr_report *orr_gpu_describe(const char *gpu, const orr_options *o, orr_err *e);
// Why each of its values is what it is: published, measured, chosen, assumed, inherited; and how many of each
// there are.
ORR_API orr_report *orr_gpu_evidence(const char *gpu, const orr_options *o, orr_err *e);
// How many thread blocks of a kernel one SM holds: block (threads), regs, shared, barriers.
ORR_API orr_report *orr_gpu_occupancy(const char *gpu, const orr_options *o, orr_err *e);
// A description, as text, from gpgpusim.config and (NULL: none) trace.config. Notes say what was left out.
ORR_API orr_report *orr_gpu_import(const char *gpgpusim, const char *trace, const orr_options *o, orr_err *e);

// ---- nodes ----------------------------------------------------------------------------------
// A machine with several GPUs and the links between them is named ("dgx_h200") or is the path of a
// description
// (*.conf). The option `node` of orr_app_run runs a program on one.
ORR_API orr_report *orr_nodes(orr_err *e);     // all that come with Orrery
ORR_API orr_report *orr_node_keys(orr_err *e); // what a description can say
ORR_API orr_report *orr_node_describe(const char *node, orr_err *e);

// ---- a simulated device ---------------------------------------------------------------------
// Memory, modules and launches under the caller's control, as the CUDA driver has them. Of the options: gpu,
// set, model, threads, max-insts, and orr_options_print.
typedef struct orr_device orr_device;
ORR_API orr_device *orr_device_open(const orr_options *o, orr_err *e);
ORR_API void orr_device_close(orr_device *d); // and all that is on it; NULL is allowed

// Device addresses are the same on every host and in every run. An access outside an allocation ends a
// launch with an error.
ORR_API uint64_t orr_device_alloc(orr_device *d, uint64_t bytes, orr_err *e); // zeroed; 0 on error
ORR_API bool orr_device_free(orr_device *d, uint64_t addr, orr_err *e);
ORR_API bool orr_device_write(orr_device *d, uint64_t addr, const void *data, uint64_t bytes, orr_err *e);
ORR_API bool orr_device_read(orr_device *d, uint64_t addr, void *data, uint64_t bytes, orr_err *e);

// A module is code in the device's memory: PTX, a cubin, a fatbin or a program that nvcc has made. It lives
// as long as the device.
typedef struct orr_device_module orr_device_module;
ORR_API orr_device_module *orr_device_load(orr_device *d, const char *path, orr_err *e);
ORR_API orr_device_module *orr_device_parse(orr_device *d, const char *name, const char *ptx, size_t n,
                                            orr_err *e);
ORR_API int orr_device_kernels(const orr_device_module *m);
ORR_API const char *orr_device_kernel(const orr_device_module *m, int i); // its name; NULL: there is none
// A `__device__` or `__constant__` variable.
ORR_API bool orr_device_symbol(const orr_device_module *m, const char *name, uint64_t *addr, uint64_t *bytes,
                               orr_err *e);

typedef struct orr_kernel_facts {
    uint32_t registers;    // per thread, an estimate for PTX
    uint32_t shared_bytes; // static
    uint32_t param_bytes, params;
    uint32_t blocks, instructions; // of code
    uint32_t max_threads;          // per thread block as the kernel states, 0 when it does not
} orr_kernel_facts;
ORR_API bool orr_device_facts(orr_device_module *m, const char *kernel, orr_kernel_facts *facts, orr_err *e);
// Basic blocks, successors, post-dominators, instructions. Free it with orr_free.
ORR_API char *orr_device_listing(orr_device_module *m, const char *kernel, orr_err *e);

typedef struct orr_launch_config {
    uint32_t grid[3], block[3]; // 0 means 1
    uint32_t dynamic_shared;
    void *const *args; // args[i] points to the value of parameter i, of the size that the kernel declares
    int nargs;
} orr_launch_config;
typedef struct orr_launch_facts {
    uint64_t warp_insts, thread_insts;
    double occupancy; // 0 to 1
    double cycles;    // NAN when the model does not predict it
} orr_launch_facts;
// Returns when the launch is done; `facts` may be NULL.
ORR_API bool orr_device_launch(orr_device_module *m, const char *kernel, const orr_launch_config *config,
                               orr_launch_facts *facts, orr_err *e);

// What all launches so far did. The report must be freed before the device is closed or used again.
ORR_API orr_report *orr_device_report(orr_device *d, orr_err *e);

#ifdef __cplusplus
}
#endif

#endif
