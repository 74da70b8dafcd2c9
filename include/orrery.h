// Orrery: simulate GPUs from a C program. Everything the `orrery` command can do.
//
//     orr_err e = {0};
//     orr_device *d = orr_device_open(NULL, &e);                       // an H200, on all processors
//     orr_program *p = orr_program_load(d, "saxpy.ptx", &e);
//     uint64_t x = orr_device_alloc(d, n * 4, &e), y = orr_device_alloc(d, n * 4, &e);
//     orr_device_write(d, x, hx, n * 4, &e);
//     uint32_t grid[3] = {n / 256, 1, 1}, block[3] = {256, 1, 1};
//     void *args[] = {&n, &a, &x, &y};
//     if (!orr_program_launch(p, "saxpy", grid, block, 0, args, 4, NULL, &e)) puts(e.text);
//     char *json = orr_device_result(d, ORR_JSON);                     // what the kernel did
//
// A function that can fail takes an `orr_err *` last, never NULL, and returns false, 0 or NULL after filling
// it in. Zero it before each use: a filled one stays as it is. Texts that are returned as `char *` belong to
// the caller: orr_string_free.
//
// A handle must be used by one thread at a time; different handles are independent. Memory that the system
// will not give ends the process with a message.
#ifndef ORRERY_H
#define ORRERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORR_VERSION "0.1.0"
#define ORR_API     __attribute__((visibility("default")))

ORR_API const char *orr_version(void); // of the library that runs; ORR_VERSION is that of this header
ORR_API void orr_string_free(char *s);

// ---- errors ---------------------------------------------------------------------------------
#ifndef ORR_ERR
#define ORR_ERR
typedef struct orr_err {
    int status;      // 0: nothing went wrong; 1: the simulated program failed; 2: bad input
    char text[1000]; // "file:line: what is wrong and what to do"
} orr_err;
#endif

enum orr_format { ORR_TEXT, ORR_JSON }; // results for people, results for programs

// ---- GPU descriptions -----------------------------------------------------------------------
// A GPU is named ("h200") or is the path of a description (*.conf). `sets` are "key=value" overrides; NULL
// and 0 for none.
ORR_API char *orr_gpus(enum orr_format format, orr_err *e); // all that come with Orrery, as a table
ORR_API char *orr_gpu_describe(const char *gpu, const char *const *sets, int nsets, enum orr_format format,
                               orr_err *e);

typedef struct orr_fit { // how many thread blocks of a kernel one multiprocessor holds
    int blocks, warps;   // 0: it cannot be launched
    double percent;      // of the warps it could hold
    const char *limiter; // what allows no more: "warps", "blocks", "registers", "shared memory", "barriers"
} orr_fit;
ORR_API bool orr_gpu_fit(const char *gpu, const char *const *sets, int nsets, int threads_per_block,
                         int regs_per_thread, int64_t shared_bytes, int barriers, orr_fit *fit, orr_err *e);

// ---- running a whole script -----------------------------------------------------------------
// An input is the name of a bundled workload, a launch script, a recorded stream file, an Accel-Sim trace
// (kernelslist.g), or, with `kernel`, `grid` and `block`, a module (PTX, a cubin, a program). Zero what is
// not needed: the defaults are those of the command line.
typedef struct orr_run_options {
    const char *gpu, *model, *size;
    const char *const *sets; // "n=4096": constants of the script; "sm.count=66": values of the GPU
    int nsets;
    const char *kernel, *grid, *block, *shared; // "1024", "64,64"
    const char *const *args;                    // "i32:7", "buf:f32:1048576:random", ...
    int nargs;
    int threads;        // host threads; 0: one for each processor
    uint64_t max_insts; // instructions that one warp may execute; 0: no limit
    bool lines;         // statistics by source line
    bool no_check;      // do not compare buffers with what the script expects
    FILE *print;        // where a kernel's printf goes; NULL: stdout
    const char *source; // "ptx", "sass": of modules that are there as both; NULL: machine code if it fits
} orr_run_options;
// The result as text or JSON (docs/design.md, section 5).
ORR_API char *orr_run(const char *input, const orr_run_options *o, enum orr_format format, orr_err *e);
// Write the streams of all its launches to a file.
ORR_API bool orr_record(const char *input, const char *file, const orr_run_options *o, orr_err *e);
// The same input on the GPU of this machine, through the CUDA driver, `rounds` times from the start; the
// times are the shortest of the rounds. JSON: `gpu`, and of each launch `kernel`, `grid`, `block`, `time_ns`.
ORR_API char *orr_measure(const char *input, const orr_run_options *o, int rounds, orr_err *e);
// The names of the bundled workloads, one a line.
ORR_API char *orr_workloads(orr_err *e);

// ---- a simulated device ---------------------------------------------------------------------
// Memory, programs and launches under the caller's control, as the CUDA driver has them.
typedef struct orr_device orr_device;
typedef struct orr_program orr_program;

typedef struct orr_device_options {
    const char *gpu, *model; // NULL: "h200", "functional"
    const char *const *sets; // overrides of the GPU's values
    int nsets;
    int threads;        // host threads; 0: one for each processor
    uint64_t max_insts; // instructions that one warp may execute; 0: no limit
    FILE *print;        // where a kernel's printf goes; NULL: stdout
} orr_device_options;
ORR_API orr_device *orr_device_open(const orr_device_options *o, orr_err *e); // NULL: the defaults
ORR_API void orr_device_close(orr_device *d);                                 // and all that is on it

// Device addresses are the same on every host and in every run. An access outside an allocation ends a
// launch with an error.
ORR_API uint64_t orr_device_alloc(orr_device *d, uint64_t bytes, orr_err *e); // zeroed; 0 on error
ORR_API bool orr_device_free(orr_device *d, uint64_t addr, orr_err *e);
ORR_API bool orr_device_write(orr_device *d, uint64_t addr, const void *data, uint64_t bytes, orr_err *e);
ORR_API bool orr_device_read(orr_device *d, uint64_t addr, void *data, uint64_t bytes, orr_err *e);

// A program is a module in the device's memory: PTX, a cubin, a fatbin or a program that nvcc has made. It
// lives as long as the device.
ORR_API orr_program *orr_program_load(orr_device *d, const char *path, orr_err *e);
ORR_API orr_program *orr_program_parse(orr_device *d, const char *name, const char *ptx, size_t n,
                                       orr_err *e);
ORR_API int orr_program_kernels(const orr_program *p);
ORR_API const char *orr_program_kernel(const orr_program *p, int i);
// A `__device__` or `__constant__` variable.
ORR_API bool orr_program_symbol(const orr_program *p, const char *name, uint64_t *addr, uint64_t *bytes,
                                orr_err *e);

typedef struct orr_kernel_facts {
    uint32_t registers;    // per thread, an estimate for PTX
    uint32_t shared_bytes; // static
    uint32_t param_bytes, params;
    uint32_t blocks, instructions; // of code
    uint32_t max_threads;          // per thread block as the kernel states, 0 when it does not
} orr_kernel_facts;
ORR_API bool orr_program_facts(orr_program *p, const char *kernel, orr_kernel_facts *facts, orr_err *e);
// Basic blocks, successors, post-dominators, instructions.
ORR_API char *orr_program_listing(orr_program *p, const char *kernel, orr_err *e);

typedef struct orr_launch_facts {
    uint64_t warp_insts, thread_insts;
    double occupancy; // 0 to 1
    double cycles;    // NAN when the model does not predict it
} orr_launch_facts;
// args[i] points to the value of parameter i, which has the size that the kernel declares. Returns when the
// launch is done; `facts` may be NULL.
ORR_API bool orr_program_launch(orr_program *p, const char *kernel, const uint32_t grid[3],
                                const uint32_t block[3], uint32_t dynamic_shared, void *const *args,
                                int nargs, orr_launch_facts *facts, orr_err *e);

// What all launches so far did.
ORR_API char *orr_device_result(orr_device *d, enum orr_format format);

#ifdef __cplusplus
}
#endif

#endif
