// Launch scripts: parse one, run it against whatever can hold buffers and launch kernels.
// The language: docs/reference/launch-scripts.md.
#ifndef ORR_LAUNCH_H
#define ORR_LAUNCH_H

#include "exec/exec.h"
#include "isa/isa.h"

// ---- where a script runs --------------------------------------------------------------------
// The CPU executor, a real GPU, and the reference program are backends.
typedef struct orr_call {     // one launch, arguments ready
    const orr_kernel *kernel; // as parsed from the module; a real GPU takes it by name
    int module;               // index of the module in the script
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; // thread blocks of a cluster; 0: it is in none
    uint32_t dynamic_shared;
    const uint8_t *params; // kernel->param_bytes
    uint32_t index;        // 0, 1, 2 ... in the order of execution
    int line;              // in the script
} orr_call;

typedef struct orr_reading { // what a `measure` says
    const char *name, *unit;
    const char *point; // "bytes=4096 stride=32": the variables it names, "" none
    double value;
    int line; // in the script
} orr_reading;

typedef struct orr_backend {
    void *self;
    bool (*load)(void *self, int module, orr_module *m, orr_err *e); // called once per module, first
    uint64_t (*alloc)(void *self, const char *name, uint64_t bytes, orr_err *e); // zeroed; 0: failed
    bool (*write)(void *self, uint64_t addr, const void *data, uint64_t bytes, orr_err *e);
    bool (*read)(void *self, uint64_t addr, void *data, uint64_t bytes, orr_err *e);
    bool (*symbol)(void *self, int module, const char *name, uint64_t *addr, uint64_t *bytes, orr_err *e);
    bool (*launch)(void *self, const orr_call *c, orr_err *e);
    void (*measure)(void *self, const orr_reading *m); // NULL: nobody asks, `measure` does nothing
    // The handle that a kernel is given for a texture; 0: failed. NULL: there are no textures here.
    uint64_t (*texture)(void *self, const struct orr_texture *t, orr_err *e);
} orr_backend;

// The backend that executes on the CPU. Each launch goes through `on_launch`, which runs it as it
// likes (orr_exec_run, a model) and must leave memory as the kernel does.
typedef bool orr_on_launch(void *arg, orr_launch *l, const orr_call *c, orr_err *e);
typedef struct orr_cpu orr_cpu;
orr_cpu *orr_cpu_new(orr_on_launch *on_launch, void *arg, orr_err *e);
orr_backend orr_cpu_backend(orr_cpu *c);
// From now on each `measure` of a script goes to `on_measure`, with the `arg` of on_launch.
typedef void orr_on_measure(void *arg, const orr_reading *m);
void orr_cpu_listen(orr_cpu *c, orr_on_measure *on_measure);
void orr_cpu_delete(orr_cpu *c);

// ---- the script -----------------------------------------------------------------------------
typedef struct orr_script orr_script;

// From a file. `size` NULL: the first; a script without sizes takes any. `sets` are "name=value"
// replacements of size constants; expectation files then do not apply and are not looked at.
// Modules are opened when the script first runs (orr_module_find), or with what orr_script_opener says.
orr_script *orr_script_load(const char *path, const char *size, const char *const *sets, int nsets,
                            orr_err *e);
// From text in memory (fuzzing, and the command line's --kernel/--grid/--block/--arg form, which
// orr_script_from_args turns into a script: "i32:7" "f32:2.5" "buf:f32:1048576:random" ...).
typedef struct orr_script_text {
    const char *path, *text; // what messages call it; it need not end in 0
    size_t n;
    const char *size;
    const char *const *sets;
    int nsets;
    bool plain; // of the command line: errors name no line
} orr_script_text;
orr_script *orr_script_parse(const orr_script_text *t, orr_err *e);
typedef struct orr_direct { // orrery run k.ptx --kernel NAME --grid 1024 --block 256 --arg ...
    const char *module, *kernel, *grid, *block, *shared;
    const char *const *args;
    int nargs;
    const char *build;          // of OpenCL C, NULL: no options
    const char *global, *local; // OpenCL's way of saying grid and block, in work-items
} orr_direct;
orr_script *orr_script_from_args(const orr_direct *d, orr_err *e);
void orr_script_free(orr_script *s); // and its modules: after the backend that uses them is gone
typedef orr_module *orr_module_opener(const char *path, orr_err *e);
void orr_script_opener(orr_script *s, orr_module_opener *open);
// What modules to take, of those that are there as PTX and as machine code: "ptx" or "sass"; NULL: machine
// code if it is for a GPU of architecture `sm` (90; 0: any), else PTX. False: no such source.
bool orr_script_source(orr_script *s, const char *source, unsigned sm, orr_err *e);
// A module's file: "k.ptx"; "k.cubin", a fatbin or a program; "k.cl", which is compiled with the options in
// `build` (NULL: none); or "k", which is k.cubin or k.ptx.
orr_module *orr_module_find(const char *path, const char *build, const char *source, unsigned sm, orr_err *e);
void orr_script_print(orr_script *s, FILE *to); // where `print` goes; NULL: stderr
void orr_script_plain(orr_script *s);           // a GPU executes it: PTX as it is (orr_ptx_long_ways)

const char *orr_script_path(const orr_script *s);
const char *orr_script_size(const orr_script *s); // the chosen size, "" when it has none
int orr_script_sizes(const orr_script *s, const char *const **names);

// Run it: buffers, launches, then the expectations. A buffer that is not as expected: false, status 1,
// naming buffer, element, what it holds and what it should.
typedef struct orr_script_stats {
    uint32_t launches, buffers, checked; // checked: expectations that held
    uint32_t unchecked;                  // expectation files that do not apply because of --set
    uint64_t buffer_bytes;
} orr_script_stats;
// From now on, each run of the script adds a line of CSV to `out` for every buffer as it is in the end:
// script,size,buffer,bytes,digest. Two places that agree on all of them have computed the same, bit for bit.
void orr_script_digests(orr_script *s, orr_text *out);
#define ORR_DIGESTS_HEAD "script,size,buffer,bytes,digest\n"
bool orr_script_run(orr_script *s, const orr_backend *b, bool check, orr_script_stats *stats, orr_err *e);
// Does what kernels leave in memory decide how often others are launched (repeat ... until)?
bool orr_script_decides(const orr_script *s);
// While it runs: from now on nothing is compared, because some thread block was not executed.
void orr_script_unchecked(orr_script *s);

// A bundled workload's script by name ("saxpy"), a path as it is; NULL with e set when neither is there.
// Workloads are looked for in $ORRERY_DATA/workloads, beside the executable's source tree, and in the
// installed data folder. The result is in the arena.
const char *orr_find_workload(orr_arena *a, const char *name, orr_err *e);
// Names of all bundled workloads that any GPU runs, sorted.
const char *const *orr_list_workloads(orr_arena *a, int *n);
// Of those for Hopper alone, sorted: "hopper/gemm_bf16" ...; orr_find_workload finds them too.
const char *const *orr_list_hopper(orr_arena *a, int *n);
// Names of all microbenchmarks, sorted: "micro/l1" ...; orr_find_workload finds them too.
const char *const *orr_list_micro(orr_arena *a, int *n);
// Measurements of the bundled workloads on a GPU, DATA/hardware/GPU/workloads*.csv, sorted: paths.
const char *const *orr_list_hardware(orr_arena *a, const char *gpu, int *n);

// ---- for workloads/reference ----------------------------------------------------------------
// Runs everything but the launches; the first launch is replaced by one call of `reference`, the others are
// skipped (loops that depend on what kernels write are left after one round). Then writes the
// expectations of every `expect NAME from "FILE"` for this size into FILE, beside those of other sizes.
typedef struct orr_ref orr_ref;                                      // what a reference sees
void *orr_ref_buffer(orr_ref *r, const char *name, uint64_t *count); // host copy, written back
int64_t orr_ref_int(orr_ref *r, const char *name);                   // a script's variable
double orr_ref_float(orr_ref *r, const char *name);
bool orr_script_reference(orr_script *s, void (*reference)(orr_ref *r), bool write,
                          orr_err *e); // write false: compare with the file instead

#endif
