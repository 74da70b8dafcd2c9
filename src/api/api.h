// The public interface from inside: what is behind the handles of include/orrery.h.
//
//   options.c    options by name
//   report.c     reports, and values in them by their place in the JSON (json.c)
//   explain.c diff.c
//   run.c record.c info.c compare.c correlate.c tune.c sweep.c sample.c app.c measure.c micro.c gpu.c
//   workloads.c show.c disasm.c
//                a job each, which the command's subcommand of that name calls too
//   device.c     a device whose memory and launches are the caller's
#ifndef ORR_API_H
#define ORR_API_H

#include "input/input.h"
#include "lab/lab.h"
#include "model/model.h"
#include "orrery.h"
#include "sample/sampled.h"

// ---- options (options.c) ------------------------------------------------------------------------
typedef ORR_VEC(const char *) orr_words;

#define ORR_SLOWER 4 // status: a run takes longer than `fail-if` allows

typedef struct orr_model_options {
    const char *gpu, *model; // NULL: as the job says
    orr_words sets;          // "sm.count=66": those of the GPU (orr_input_options has the script's)
    const char *latencies;   // file of pre-characterised kernels (abstract)
    bool flush;              // l2.flush, which is among the sets too
} orr_model_options;

typedef struct orr_run_options { // what else is done with a run
    bool counts_only, check, lines;
    const char *timeline, *digests; // files to write
    const char *budget;             // "10s": the most exact model that fits
} orr_run_options;

typedef struct orr_sampling_options {
    bool on;
    const char *profile, *full; // files
    const char *warm, *precision;
    uint64_t piece;
} orr_sampling_options;

typedef struct orr_file_options { // what a job writes
    const char *output, *csv, *plot, *format, *record;
    const char *command; // what a sweep's file says it was made by
    bool quiet;          // a program that is started says nothing but its own (app)
} orr_file_options;

typedef struct orr_lab_options {
    const char *hardware; // file of measurements (compare)
    orr_words scripts;    // those of the measurements that are looked at; none: all
    const char *fail_if;  // "slower 5%" (diff)
    const char *without;  // GPU whose measurements the family's description is to be taken without (tune)
    int repeat;
} orr_lab_options;

typedef struct orr_code_options { // which code is shown, and how
    const char *arch, *dump;      // "sm_90"; a folder for the code of each function
    bool raw, timed, ptx, tasks;
    int images; // of each architecture; 0: all
} orr_code_options;

typedef struct orr_app_options { // a program that is started
    bool measure;                // of capture: time launches too
    uint64_t memory;             // of capture: bytes that a launch may reach; 0: the usual
    bool all_memory;             // of capture: also what a kernel cannot reach
    bool inputs_only;            // of capture: what kernels leave is not kept; replay makes it again
    const char *bounds;          // gpu, strict
    const char *clock;           // what the program's clock tells: host, simulated
    bool opencl;                 // of OpenCL, not of CUDA
    bool annotate;               // on its own device, with counters
    const char *node;            // the machine around the GPU; NULL: one GPU alone
} orr_app_options;

typedef struct orr_cluster_options {
    int ranks, per_node;  // of an MPI program; on each node, 0: as many as it has GPUs
    const char *platform; // a fabric by name, or a file of SimGrid's
    const char *host;     // "ignore", or the factor that measured host time is multiplied by
    const char *alike;    // "yes", "no", "time"
    const char *times; // of an execution trace's operators: "recorded", "model", or a report of `run --json`
} orr_cluster_options;

typedef struct orr_share_options { // of a sweep that several processes share
    const char *shard;             // "3/8": the third of eight parts, into FILE.part-3
    bool merge;                    // take what is in FILE.part-*
    bool mpi;                      // a process of several that mpirun or srun started
} orr_share_options;

struct orr_options {
    orr_cluster_options cluster;
    orr_share_options share;
    orr_input_options in;
    orr_model_options model;
    orr_run_options run;
    orr_sampling_options sampling;
    orr_file_options files;
    orr_lab_options lab;
    orr_code_options code;
    orr_app_options app;
    int regs, barriers;                // of a kernel, for the occupancy
    orr_words sets, script_sets, args; // all `set`; of them the script's; both behind in.sets and in.direct
    orr_words vary;
    orr_words second; // "gpu=v100": options of the second run alone (diff)
    orr_watcher watcher;
    orr_notes notes;
    orr_arena arena; // of all strings
};

const orr_options *orr_asked(const orr_options *o);  // NULL: the defaults
orr_options *orr_options_copy(const orr_options *o); // must not outlive `o`, whose strings it shares
// The GPU that was asked for. None was, and the usual one's description is not to be found: true with *gpu
// NULL and a note; execution does not need it, only what is said of occupancy does.
bool orr_asked_gpu(const orr_options *o, orr_gpu **gpu, orr_err *e);
void orr_note_gpu(const orr_notes *notes, const orr_gpu *g); // keys that it has under old names
// The one that was asked for or the usual one, with more settings, which go before the others.
orr_gpu *orr_asked_gpu_with(const orr_options *o, const char *set, orr_err *e);
// A model that predicts time needs a GPU: `what` is the subcommand, `where` the options that name one.
bool orr_model_has_gpu(const orr_model *m, const orr_gpu *gpu, const char *what, const char *where,
                       orr_err *e);

// ---- files ------------------------------------------------------------------------------------
// Refuses to write over what is being read; `option` is what names the output.
bool orr_check_output(const char *output, const char *input, const char *option, orr_err *e);
// Can the file be written, before there is anything to write? NULL: nobody asked for it.
bool orr_check_writable(const char *output, orr_err *e);
bool orr_write_file(const char *path, const char *text, size_t n, orr_err *e); // as a whole, or not at all

// ---- reports (report.c) -------------------------------------------------------------------------
// `make` writes a form when it is first asked for; false: there is none. It gets what `free` frees.
typedef bool orr_report_make(void *self, enum orr_format format, orr_text *out);
orr_report *orr_report_new(void *self, orr_report_make *make, void (*free)(void *self));
// A report that is ready: takes the texts over; t.s NULL: no such form.
orr_report *orr_report_of(orr_text text, orr_text json);
void orr_report_add(orr_report *r, enum orr_format format, orr_text t); // one more form, taken over

// ---- JSON, as reports have it (json.c) ----------------------------------------------------------
typedef struct orr_json orr_json;
orr_json *orr_json_parse(const char *text, orr_arena *a);          // NULL: it is none
const orr_json *orr_json_at(const orr_json *j, const char *place); // NULL: nothing is there
double orr_json_number(const orr_json *j);                         // NAN: it is none
const char *orr_json_string(const orr_json *j);
int64_t orr_json_count(const orr_json *j);
const orr_json *orr_json_first(const orr_json *j); // of an array or object; NULL: it is empty, or neither
const orr_json *orr_json_next(const orr_json *j);  // the one behind it
const char *orr_json_key(const orr_json *j);       // of a member of an object; NULL: of none
void orr_json_print(const orr_json *j, orr_text *out);

// A run's report for a page: launches but the longest of each kernel are cut to what a page shows of them
// (page.c).
void orr_page_cut(const orr_json *run, orr_text *out);

// ---- an INPUT through a model (run.c), for those that do more with it ---------------------------
typedef struct orr_input_pass {
    const orr_options *o;
    const orr_gpu *gpu;
    const orr_model *model;
    orr_sampled *sampling; // NULL: everything is simulated
    orr_pieces *pieces;
    void (*done)(void *arg, orr_result *r); // while the kernels are still there; NULL: nobody asks
    void *arg;
} orr_input_pass;
bool orr_input_pass_run(const orr_input_pass *p, const char *input, orr_err *e);

// ---- predictions against measurements (correlate.c), also for tune ------------------------------
// Simulates what was measured, as far as the options choose it (script, size, kernels), and fills in figures.
// The rows that are not chosen are taken out of `h`. True with an error in e: some scripts have no
// prediction.
bool orr_correlate_rows(const orr_options *o, orr_hardware *h, orr_comparison *c, orr_err *e);

// ---- a program of several ranks (app.c, for cluster.c) ---------------------------------------------
// What a program needs in its environment, with `more` ("NAME=value", up to a NULL); reports go to the
// folder.
// What smpirun starts for an application that is no program, but a list of what ranks do.
const char *orr_app_player(orr_arena *a, orr_err *e);
char **orr_app_cluster_environment(const char *program, const orr_options *o, const char *forms,
                                   const char *const *more, orr_err *e);
bool orr_app_wait(char *const *argv, char **env, int *status, orr_err *e); // runs it to its end

#endif
