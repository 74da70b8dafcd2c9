// The command line: one file a subcommand, one option parser for all of them.
#ifndef ORR_CLI_H
#define ORR_CLI_H

#include "base/base.h"

// Options that mean the same everywhere. A subcommand says which it takes (`takes` in commands.c), so
// that --help lists only those and others are refused. A new option: a field here, a line in options.c,
// its name in the `takes` of the subcommands that have it.
typedef struct cli_options {
    const char *gpu;   // --gpu NAME|FILE      (NULL: h200, if its description is there)
    const char *model; // --model NAME         (default "functional" until there are others)
    const char **sets; // --set key=value ...
    int nsets;
    int threads;                                // --threads N          (default: the host's)
    bool json;                                  // --json
    const char *size;                           // --size small|medium|large
    const char *source;                         // --source ptx|sass (NULL: machine code where it fits)
    const char *output;                         // -o FILE, --output FILE
    const char *format;                         // --format NAME (record)
    const char *stats;                          // --stats accel-sim (run)
    const char *kernel, *grid, *block, *shared; // --kernel NAME --grid X[,Y[,Z]] --block ... --shared BYTES
    const char **args;                          // --arg TYPE:VALUE ...
    int nargs;
    const char *global, *local;     // --global X[,Y[,Z]] --local ...: OpenCL's way of saying grid and block
    const char *build;              // --build OPTIONS: for OpenCL C
    bool annotate;                  // --annotate: run natively, with counters (cl)
    uint64_t max_insts;             // --max-insts N
    const char *kernels, *launches; // --kernels GLOB, --launches 3-7,9: those that are modelled
    bool lines;                     // --lines: per source line
    bool timed;                     // --timed: as machine instructions (show)
    bool ptx;                       // --ptx: as PTX text (show)
    const char *timeline;           // --timeline FILE: a trace for Perfetto
    const char *latencies;          // --latencies FILE: pre-characterised kernels (--model abstract)
    const char *on;                 // --on cpu|gpu: where kernels are executed
    const char *record;             // --record DIR: streams of a program's launches (app)
    const char *digests;            // --digests FILE: of all buffers, in the end
    bool no_check;                  // --no-check: do not compare buffers with what the script expects
    bool check;                     // --check: execute every thread block, so that they can be (partial)
    bool quiet;                     // -q, --quiet
    const char *arch;               // --arch sm_NN (disasm)
    const char *dump;               // --dump FOLDER: code of each function as a file (disasm)
    bool raw;                       // --raw: FILE is nothing but code (disasm)
    int images;                     // --images N: of each architecture only so many (disasm)
    int repeat;                     // --repeat N (hw run)
    bool counts_only;               // --counts-only: execute without making streams
    int regs, barriers;             // --regs N, --barriers N (gpu occupancy)
    bool all;                       // --all: every bundled workload (hw run)
    bool names;                     // --names: bare names, one a line (list, gpu list)
    const char *log;                // --log FILE: every launch of every round (hw run)
    bool warm;                      // --warm: caches are not flushed (hw profile)
    const char *metrics;            // --metrics NAME,NAME...: what is measured (hw profile)
    bool sample;                    // --sample (run)
    const char *profile;            // --profile FILE: of a sampled run
    const char *warming;            // --warm none|functional (run)
    const char *precision;          // --precision PERCENT (run --sample)
    uint64_t piece;                 // --piece N: warp instructions (sample study)
    const char *full;               // --full FILE: what was simulated in full (sample study)
    const char *plot;               // --plot FILE: an SVG (sample model, sweep)
    const char *html, *csv;         // --html FILE, --csv FILE (correlate)
    const char **vary;              // --vary KEY=VALUES ... (sweep)
    int nvary;
    const char *hardware; // --hardware FILE: measurements (compare)
    char **rest;          // after "--", of a subcommand that says so: another one's options (correlate)
    int nrest;
    char **inputs; // what is left
    int ninputs;
} cli_options;

// Parses argv[1..]; on --help prints it and exits 0; on a mistake fills e.
bool cli_parse(const char *subcommand, int argc, char **argv, cli_options *o, orr_err *e);
void cli_free(cli_options *o);

// Each subcommand returns the exit status after it has printed its results; errors in e.
typedef int cli_command(cli_options *o, orr_err *e);
cli_command cli_run, cli_record, cli_info, cli_gpu, cli_hw, cli_list, cli_show, cli_profile, cli_micro,
    cli_tune, cli_correlate, cli_disasm, cli_sweep, cli_models, cli_sample, cli_app, cli_cl;
//   run      execute or simulate an INPUT            (run.c)
//   record   write an INPUT's streams to a file      (record.c)
//   info     say what is in a stream file            (info.c)
//   gpu      list | show NAME                        (gpu.c)
//   hw       run SCRIPT... on the machine's GPU      (hw.c), profile SCRIPT... under Nsight Compute
//   (profile.c) correlate  a model's predictions against measurements (correlate.c) list     the bundled
//   workloads                   (list.c) disasm   machine code as text                    (disasm.c) show a
//   kernel as Orrery sees it: blocks, post-dominators, registers (show.c)
//   sweep    an INPUT on a grid of descriptions      (sweep.c)
//   app, cl  an unmodified CUDA or OpenCL program on a simulated GPU (app.c, cl.c)
//   compare  all models on INPUTs, side by side      (models.c)

// The table of subcommands (commands.c); the last one has no name.
typedef struct cli_subcommand {
    const char *name;
    cli_command *run;
    const char *takes;    // names of its options, a space before and after each
    const char *usage;    // what follows "orrery NAME"
    const char *summary;  // one line
    const char *text;     // what it does, for --help
    const char *examples; // one a line
} cli_subcommand;
extern const cli_subcommand cli_subcommands[];

const cli_subcommand *cli_find_subcommand(const char *name, orr_err *e); // suggests the nearest name
void cli_help(FILE *f, const cli_subcommand *c);                         // NULL: the whole command
int cli_distance(const char *a, const char *b);                          // edits from one to the other

#endif
