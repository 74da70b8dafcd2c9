// The `orrery` command: one option parser for all subcommands, and what each of them prints. The work is done
// by the library (include/orrery.h): a subcommand hands its options over and writes the report.
#ifndef ORR_CLI_H
#define ORR_CLI_H

#include "api/api.h"

// A subcommand says which options it takes (`takes` in commands.c), so that --help lists only those and
// others are refused. A new option of the library: a line in options.c, its name in the `takes` of the
// subcommands that have it; one of the command's own needs a field here too.
typedef struct cli_output { // where results go, and how they look
    const char *file;       // -o FILE, --output FILE
    bool json;              // --json
    bool quiet;             // -q, --quiet
    bool evidence;          // --evidence: why each value is what it is (gpu show)
    bool names;             // --names: bare names, one a line (list, gpu list)
    const char *stats;      // --stats accel-sim (run)
    const char *html, *csv; // --html FILE, --csv FILE
    const char *plot;       // --plot FILE: an SVG (sample model, sweep)
    const char *log;        // --log FILE (hw run, tune)
} cli_output;

typedef struct cli_options {
    orr_options *job; // those of the library, by name
    cli_output out;
    bool all;            // --all: every bundled workload (hw run, hw profile, compare)
    const char *slurm;   // --slurm ARGS: hands a sweep to Slurm (sweep)
    const char *workers; // --workers N: of that
    const char *metrics; // --metrics NAME,NAME...: what is measured (hw profile)
    char **rest;         // after "--", of a subcommand that says so: another one's options (correlate);
    int nrest;           // or a program and its arguments (app)
    char **inputs;       // what is left
    int ninputs;
} cli_options;

// Parses argv[1..]; on --help prints it and exits 0; on a mistake fills e.
bool cli_parse(const char *subcommand, int argc, char **argv, cli_options *o, orr_err *e);
void cli_free(cli_options *o);

// Ctrl-C: a job of a subcommand that has called cli_stops_gently is stopped, and what is there is reported; a
// second one ends the command at once, as the first one does elsewhere.
void cli_stops_gently(void);
bool cli_interrupted(void);

// Each subcommand returns the exit status after it has printed its results; errors in e.
typedef int cli_command(cli_options *o, orr_err *e);
cli_command cli_run, cli_page, cli_record, cli_info, cli_list; // run.c
cli_command cli_gpu;                                           // gpu.c
cli_command cli_node;                                          // node.c
cli_command cli_compare, cli_correlate, cli_tune;              // lab.c
cli_command cli_sweep;                                         // sweep.c
// slurm.c: a sweep's jobs are submitted, or there was a mistake; false: this is the job that merges, go on.
bool cli_to_slurm(const cli_options *o, orr_err *e);
cli_command cli_explain, cli_diff;        // explain.c
cli_command cli_sample;                   // sample.c
cli_command cli_app, cli_cl, cli_cluster; // app.c
cli_command cli_capture;                  // capture.c
cli_command cli_hw, cli_profile;          // hw.c; profile.c: hw profile
cli_command cli_show, cli_disasm;         // code.c

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

// ---- several GPUs at once (gpus.c) ------------------------------------------------------------------
enum { CLI_GPUS = 16 };
typedef struct cli_gpus { // --gpu NAME,NAME,...
    char name[CLI_GPUS][256];
    int n; // 0: nobody named one
} cli_gpus;
bool cli_gpus_split(const char *text, cli_gpus *g, orr_err *e);

typedef struct cli_cell {
    double ns, longest; // NAN: no time; of a launch
    const char *bound;
} cli_cell;
typedef struct cli_row {
    const char *input, *kernel, *model; // model: "" where there is one for all
    uint32_t launches;
    cli_cell cell[CLI_GPUS];
} cli_row;
typedef struct cli_table { // a row for each kernel, a column for each GPU
    const cli_gpus *gpus;
    ORR_VEC(cli_row) rows;
    orr_arena arena;
} cli_table;
void cli_table_run(cli_table *t, const char *input, int gpu, orr_report *r); // a report of orr_run
void cli_table_compare(cli_table *t, int gpu, orr_report *r);                // of orr_compare
void cli_table_text(const cli_table *t, const char *model, orr_text *out);
void cli_table_free(cli_table *t);

// ---- results (run.c) ----------------------------------------------------------------------------
// To -o FILE, or to stdout. NULL: nothing, as when there is no report.
bool cli_write(const cli_options *o, const char *text, orr_err *e);
// A report as text, or as JSON where --json was given, and freed. Returns the exit status.
int cli_say(const cli_options *o, orr_report *r, orr_err *e);
// The same, and where --html was given, its page there.
int cli_say_page(const cli_options *o, orr_report *r, orr_err *e);
// One form of a report to a file; a path of NULL: nobody asked for it.
bool cli_write_form(const char *path, orr_report *r, enum orr_format format, orr_err *e);
// No output may be named twice, nor be what is read. `out` has n paths, NULL where there is none.
bool cli_check_outputs(const char *what, const char *const *out, int n, char **inputs, int ninputs,
                       orr_err *e);

#endif
