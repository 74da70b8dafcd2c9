// The lab: what real GPUs measured, and how near a model comes to it.
//
//   micro       microbenchmarks time themselves on a GPU (findings.c);
//   tune        makes a GPU's description of what they found (tune.c);
//   profile     launch scripts under Nsight Compute (ncu.c) make rows of measurements (hardware.c);
//   correlate   rows are joined with what a model predicts for the same launches (compare.c), and said as
//               text, CSV, JSON (say.c, say_json.c) and a page for the browser (say_html.c, page.html).
#ifndef ORR_LAB_H
#define ORR_LAB_H

#include "model/model.h"

// ---- CSV (csv.c) ----------------------------------------------------------------------------
// Cells between commas, in quotes when they hold commas, quotes (doubled) or line ends (RFC 4180). The text
// is taken apart in place.
typedef struct orr_csv {
    const char *path; // for messages
    char *at, *end;
    int line;              // of the row that was read last
    int next_line;         // of the one to come
    ORR_VEC(char *) cells; // of that row, each ends in 0
} orr_csv;
void orr_csv_open(orr_csv *c, const char *path, char *text, size_t n); // text[n] must be there and be 0
bool orr_csv_row(orr_csv *c, orr_err *e);                              // false: the end, or an error in e
int orr_csv_find(const orr_csv *c, const char *name);                  // the cell that says so, -1: none
void orr_csv_close(orr_csv *c);
void orr_csv_add(orr_text *t, const char *cell); // in quotes where it needs them
// The whole cell as a number; thousands may be separated ("1,234.5"). False: it is none.
bool orr_csv_number(const char *cell, double *v);
bool orr_csv_uint(const char *cell, uint32_t *v);
// "16x8x1", "16x8", "(16, 8, 1)" or "16,8".
bool orr_csv_shape(const char *cell, uint32_t d[3]);
void orr_csv_add_number(orr_text *t, double v); // nothing for NAN

// ---- measurements (hardware.c, docs/guides/lab.md) ---------------------------------------------------
typedef struct orr_measured { // one launch, once
    const char *script, *size;
    const char *cache; // "flushed": L1 and L2 were emptied before it; "warm": as the launch before left them
    const char *kernel, *gpu, *driver, *date;
    uint32_t launch; // of the script's, from 0
    uint32_t repeat; // from 0
    uint32_t grid[3], block[3], regs, shared;
    double *metrics; // by orr_hardware's list, as far as it went then; NAN: not measured
    size_t nmetrics;
} orr_measured;

typedef struct orr_hardware {
    ORR_VEC(const char *) metrics; // as Nsight Compute names them; in its base units (ns, byte, Hz, %)
    orr_map index;                 // name to 1 + place
    ORR_VEC(orr_measured) rows;
    orr_arena arena;
} orr_hardware;
// Adds a file's rows to what is there.
bool orr_hardware_read(orr_hardware *h, const char *path, orr_err *e);
bool orr_hardware_parse(orr_hardware *h, const char *path, char *text, size_t n, orr_err *e);
void orr_hardware_write(const orr_hardware *h, orr_text *out);
size_t orr_hardware_metric(orr_hardware *h, const char *name); // its place, new or old
orr_measured *orr_hardware_add(orr_hardware *h);               // a row without any value yet
double orr_hardware_get(const orr_hardware *h, const orr_measured *m, const char *metric); // NAN: not there
void orr_hardware_free(orr_hardware *h);

// ---- microbenchmarks (findings.c, docs/guides/micro.md) -------------------------------------------------
typedef struct orr_finding {
    const char *benchmark, *size; // the script and its size
    const char *metric, *unit;
    const char *point;       // "bytes=4096 stride=32", "" when there is but one
    ORR_VEC(double) values;  // of the repeats
    double value, low, high; // their median and ends
    uint32_t repeats;
} orr_finding;

typedef struct orr_findings {
    ORR_VEC(orr_finding) rows;
    orr_map index;
    const char *gpu, *driver, *date;
    orr_arena arena;
} orr_findings;
// One more value of a reading, which is new or an old one of the same names and point.
orr_finding *orr_findings_add(orr_findings *r, const orr_finding *like, double value);
void orr_findings_end(orr_findings *r); // medians and ends
void orr_findings_write(const orr_findings *r, orr_text *out);
bool orr_findings_read(orr_findings *r, const char *path, orr_err *e);
bool orr_findings_parse(orr_findings *r, const char *path, char *text, size_t n, orr_err *e);
void orr_findings_free(orr_findings *r);
double orr_finding_value(const orr_findings *r, const char *metric,
                         const char *point);                       // NULL: any; NAN: none
double orr_finding_at(const orr_finding *x, const char *variable); // of its point; NAN: it has none

// ---- a description made of findings (tune.c) ------------------------------------------------------
typedef struct orr_tuned_key {
    const char *key, *value, *why; // "l1.latency", "32 cycles", "l1.latency = 32.0537"
} orr_tuned_key;

typedef struct orr_tuned {
    const char *family;  // "family/hopper": what it inherits
    const char *without; // GPU whose measurements are not taken from there; NULL: all are
    ORR_VEC(orr_tuned_key) keys;
    ORR_VEC(const char *) missing;  // keys whose reading is not there
    ORR_VEC(orr_tuned_key) refused; // values that hardware cannot have, and why
    orr_arena arena;
} orr_tuned;
// `h` may be NULL: cycles of launches, for what a launch costs.
bool orr_tune_readings(const orr_findings *f, const orr_hardware *h, orr_tuned *out, orr_err *e);
// What a launch costs before its first block starts, from an empty kernel's cycles and those simulated
// without it.
void orr_tune_overhead(orr_tuned *t, double measured, double simulated);
// Adds to that what so many short kernels on all SMs take more, the middle of them. Returns what it says of
// it; NULL: there is no overhead, or it would be less than none.
const char *orr_tune_start(orr_tuned *t, double more, size_t launches);
// Takes out of dram.latency what the family's refresh adds to it: `g` is the description so far.
void orr_tune_refresh(orr_tuned *t, const orr_gpu *g);
void orr_tuned_add(orr_tuned *t, const char *key, const char *value, const char *why);
void orr_tuned_write(const orr_tuned *t, const orr_findings *f, orr_text *out); // as a .conf
void orr_tuned_free(orr_tuned *t);

// ---- Nsight Compute (ncu.c) -------------------------------------------------------------------
typedef ORR_VEC(const char *) orr_names;
// The program: $ORRERY_NCU, in PATH, where CUDA and Nsight Compute are installed usually.
const char *orr_ncu_find(orr_arena *a, orr_err *e);
// What a profile measures when nothing else is said: every counter of the table that can be measured and is
// not made of others, and what says how the kernel was launched and at which clocks; but not what L2 and
// memory were asked for, which must be measured in one pass. `timing`: how long it took, only.
void orr_ncu_metrics(orr_names *names, bool timing);
void orr_ncu_l2(orr_names *names); // those
bool orr_ncu_of_l2(const char *name);
// Of those, the ones that the profiler's own list (`ncu --query-metrics`) has.
void orr_ncu_known(orr_names *names, char *list);
// `csv` is what `ncu --csv --page raw` wrote, `log` what `orrery hw run --log` wrote in the same process.
// Adds a row for each launch in the log; the two must agree on the kernels' names and shapes. Rows of scripts
// whose results were wrong are left out. `proto` gives cache, driver, date and the number of the first
// repeat. Both texts are taken apart in place.
typedef struct orr_ncu_files {
    const char *csv_path, *log_path;
    char *csv, *log;
    size_t csv_bytes, log_bytes;
} orr_ncu_files;
bool orr_ncu_read(orr_hardware *h, const orr_ncu_files *f, const orr_names *metrics,
                  const orr_measured *proto, orr_err *e);

typedef struct orr_ncu_launch { // of a captured program
    uint32_t index;             // among all of its launches
    const char *kernel;
    uint32_t grid[3], block[3];
} orr_ncu_launch;
typedef struct orr_ncu_launches {
    const orr_ncu_launch *at;
    size_t n;
} orr_ncu_launches;
// The same for a program without a log: `these`, in order, of the rows, the first of which is these->at[0].
bool orr_ncu_read_these(orr_hardware *h, const orr_ncu_files *f, const orr_names *metrics,
                        const orr_measured *proto, const orr_ncu_launches *these, orr_err *e);
void orr_ncu_few(
    orr_names *names); // what is measured of a program: time, instructions, traffic, in few passes

// ---- predicted against measured (compare.c) -----------------------------------------------------
typedef struct orr_value {
    double measured;  // the median of the repeats; NAN: not measured
    double low, high; // their ends
    double predicted; // NAN: not predicted
} orr_value;

// A launch, or all launches of a kernel in a script together: what adds up is added, rates and shares are
// averaged with the cycles as weights.
typedef struct orr_point {
    const char *script, *size, *cache, *kernel;
    uint32_t launch;            // a launch: its number; a kernel: that of its longest launch
    uint32_t launches, missing; // that are in it; of them without a prediction (those are not in the values)
    uint32_t repeats, grid[3], block[3], regs, predicted_regs;
    orr_value *values;   // [comparison.ncounters]
    const char *failure; // why there is no prediction; NULL: there is
    const char *bound;   // what the model says limits it (report.h); NULL: it does not say
    bool regular;        // what it accesses does not depend on loaded data (orr_kernel)
    double *stalls;      // [ORR_STALLS] warp cycles as predicted; NULL: the model has none
    size_t kernel_index; // of a launch: its kernel's
} orr_point;

// How near the predictions of one counter are. Errors in percent of what was measured; NAN: cannot be said.
#define ORR_WORST 5
typedef struct orr_nearness {
    size_t points;    // with both
    size_t missing;   // measured, not predicted
    size_t zero;      // of the points: 0 measured and 0 predicted; those are in pearson and nrmse only
    size_t undefined; // of the points: 0 measured and not 0 predicted, so that there is no percentage
    double mape;      // mean of |error|, over those that have one
    double wmape;     // sum of |differences| over sum of what was measured
    double bias;      // mean of errors
    double pearson, pearson_log; // correlation of the values, of their logarithms (where both are over 0)
    double nrmse;                // root of the mean square of differences over the mean of what was measured
    double within_5, within_10;  // share with |error| < 5, < 10, in percent of the points that are not zero
    double spread;               // mean of (high - low) / measured
    size_t worst[ORR_WORST], nworst; // points, furthest first
} orr_nearness;

typedef struct orr_group { // launches of a script that are simulated together
    const char *script, *size, *cache;
    size_t first, n; // in launches
} orr_group;

typedef struct orr_comparison {
    const char *gpu, *model, *source;         // simulated
    const char *hw_gpu, *hw_driver, *hw_date; // measured; of the first row
    const char *const *files;
    size_t nfiles;
    int counters[ORR_COUNTERS]; // enum orr_counter: those that were measured, cycles first
    size_t ncounters;
    ORR_VEC(orr_point) launches, kernels;
    ORR_VEC(orr_group) groups;
    size_t scripts;                                                // distinct ones
    orr_nearness by_launch[ORR_COUNTERS], by_kernel[ORR_COUNTERS]; // [ncounters]
    orr_nearness regular[ORR_COUNTERS];                            // the same by kernel, of regular ones
    size_t nregular;                                               // kernels
    double seconds;                                                // on the host
    orr_arena arena;
} orr_comparison;
// Joins the repeats of each launch. The rows must outlive it. Cycles must have been measured.
bool orr_compare_start(orr_comparison *c, const orr_hardware *h, orr_err *e);
// What a model says of one launch of the group; launches that nobody measured are of no interest. False: it
// is not the launch that was measured (`failure` of the point says why).
bool orr_compare_launch(orr_comparison *c, const orr_group *g, const orr_gpu *gpu,
                        const orr_launch_result *l);
// All launches of the group that have no prediction: why.
void orr_compare_missing(orr_comparison *c, const orr_group *g, const char *why);
void orr_compare_end(orr_comparison *c); // kernels and figures
void orr_compare_free(orr_comparison *c);
double orr_error_percent(const orr_value *v); // signed; NAN: cannot be said

// ---- said (say.c, say_json.c, say_html.c) --------------------------------------------------------
void orr_compare_text(const orr_comparison *c, orr_text *out);
void orr_compare_csv(const orr_comparison *c, orr_text *out);
void orr_compare_json(const orr_comparison *c, orr_text *out);
void orr_compare_html(const orr_comparison *c, orr_text *out);

#endif
