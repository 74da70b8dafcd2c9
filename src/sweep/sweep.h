// Sweeps: the same launches on many descriptions of a GPU.
//
//   vary      "sm.count=66:132:6" becomes a list of values; all lists together a grid of points (vary.c);
//   tape      the launches are executed once, and what every warp did is kept (tape.c);
//   points    each point replays the tape through a model, on one host thread (points.c);
//   store     what comes out is kept in an SQLite file, a transaction a point (store.c), so that a sweep
//             that was killed goes on where it was;
//   share     several processes tell each other who simulates which point (share.c);
//   study     what each key does, its knee, and the points that none beats (study.c);
//   said      as text, CSV and JSON (say.c), and as a plot (plot.c).
#ifndef ORR_SWEEP_H
#define ORR_SWEEP_H

#include "model/model.h"
#include "tasks/tasks.h"

// ---- what is varied (vary.c) --------------------------------------------------------------------
typedef struct orr_axis {
    const char *key; // "sm.count"; without a point it is a constant of the script. "a+b": both get the value
    const char *const *values; // as --set takes them
    const double *numbers;     // the same without unit; NAN: a word
    const char *unit;          // of the numbers, when all have the same; else ""
    int n;
    bool numeric; // all are numbers
    bool script;  // the script's, not the GPU's
} orr_axis;

#define ORR_AXES_MAX   16
#define ORR_POINTS_MAX 100000
typedef struct orr_grid {
    orr_axis axes[ORR_AXES_MAX]; // those of the script first, so that points of one execution are neighbours
    int naxes;
    size_t npoints; // the last axis changes fastest
    orr_arena arena;
} orr_grid;
// KEY=VALUES, KEY+KEY=VALUES: values between commas (between semicolons, where there is one), and ranges
// FROM:TO[:STEP] or FROM:TO:*FACTOR among them, both ends included.
bool orr_grid_add(orr_grid *g, const char *text, orr_err *e);
int orr_grid_at(const orr_grid *g, size_t point, int axis); // which of the axis's values
// "key=value" for each key of the axis; at most ORR_KEYS_MAX. Returns how many.
#define ORR_KEYS_MAX 8
int orr_axis_sets(const orr_axis *x, int value, orr_arena *a, const char *sets[ORR_KEYS_MAX]);
void orr_grid_free(orr_grid *g);

// ---- what every warp did, kept (tape.c) -----------------------------------------------------------
// In memory up to a limit, then in a file without a name in $TMPDIR (or /tmp). The kernels are not copied:
// they are the ones that were executed, control words and all, so that a replay is what the execution was.
typedef struct orr_tape orr_tape;
orr_tape *orr_tape_new(uint64_t most_memory);
bool orr_tape_begin(orr_tape *t, const orr_launch_info *info, orr_err *e);
bool orr_tape_block(orr_tape *t, const orr_tb *tb, orr_err *e); // in grid order
bool orr_tape_end(orr_tape *t, orr_err *e);
void orr_tape_copy(orr_tape *t, uint64_t addr, uint64_t bytes); // from the host, between launches
// A launch as it is executed on the host's threads, or as it comes from a file; all blocks.
bool orr_tape_launch(orr_tape *t, const orr_launch *l, int threads, orr_progress *p, orr_err *e);
bool orr_tape_source(orr_tape *t, orr_source *s, orr_progress *p, orr_err *e);
// A launch of a task list, which is made up again whenever it is asked for; the list must outlive the tape.
bool orr_tape_tasks(orr_tape *t, const orr_tasks *list, const orr_task_step *step, orr_err *e);
// Everything that an input does (record.c): `in` has all but work, copy and arg, and must outlive the tape.
struct orr_input;
bool orr_tape_input(orr_tape *t, struct orr_input *in, orr_err *e);
uint64_t orr_tape_digest(const orr_tape *t); // of kernels and streams
// All of it as a stream file, for another process; one that read it has another digest until it is told this
// one's. False with e->status 0: it has more than launches (a trace's copies, a task list), nothing is
// written.
bool orr_tape_write(const orr_tape *t, const char *path, orr_err *e);
void orr_tape_digest_is(orr_tape *t, uint64_t digest);
uint64_t orr_tape_bytes(const orr_tape *t);
uint64_t orr_tape_blocks(const orr_tape *t);
void orr_tape_free(orr_tape *t);

typedef struct orr_tape_item { // what happened, in order
    bool copy;                 // else a launch:
    orr_launch_info info;
    uint64_t addr, bytes;  // of a copy
    const orr_tasks *list; // a launch of a task list, else NULL
    const orr_task_step *step;
    size_t segment, at; // where the launch's first block is
    uint64_t blocks;
} orr_tape_item;
size_t orr_tape_items(const orr_tape *t);
const orr_tape_item *orr_tape_item_at(const orr_tape *t, size_t n);
// A place on a tape that is only read: any number of them at once, in any threads. The source is the
// player's; its close does nothing.
typedef struct orr_player {
    orr_source base;
    const orr_tape *tape;
    size_t segment, at;
    uint64_t next, blocks;
    orr_warp_trace *warps;
    uint32_t nwarps, room;
} orr_player;
orr_source *orr_player_open(orr_player *p, const orr_tape *t, size_t item);
void orr_player_free(orr_player *p);

// ---- results --------------------------------------------------------------------------------
enum orr_column { // counters that are kept (columns.def)
#define COLUMN(id, name, meaning) ORR_COL_##id,
#include "sweep/columns.def"
#undef COLUMN
    ORR_COLUMNS
};
typedef struct orr_column_info {
    int counter; // enum orr_counter
    const char *name, *meaning;
} orr_column_info;
extern const orr_column_info orr_columns[ORR_COLUMNS];

typedef struct orr_swept { // a launch, or all of a point together
    const char *kernel;    // of a launch
    uint64_t times;        // it is repeated (task lists), else 1
    uint32_t index, grid[3], block[3], shared;
    double cycles, time_ns, occupancy; // NAN: the model does not predict it
    uint64_t blocks, warp_insts, thread_insts;
    double columns[ORR_COLUMNS]; // NAN: not counted
} orr_swept;

enum orr_point_state { ORR_POINT_TO_DO, ORR_POINT_DONE, ORR_POINT_FAILED };
typedef struct orr_swept_point {
    uint64_t digest; // of all that its result depends on
    enum orr_point_state state;
    bool kept;           // was in the file already
    bool same;           // not simulated: as one with a smaller L2 that had room for everything
    const char *message; // why it failed
    orr_swept total;
    orr_swept *launches; // freed once they are in the file
    size_t nlaunches;
    double seconds; // of the host
    orr_arena arena;
} orr_swept_point;

// ---- shared with other processes (share.c) ----------------------------------------------------------
// What the processes of a study tell each other, in a folder FILE.share that all of them see.
typedef struct orr_share orr_share;
// `run` is what the processes that were started together have in common, NULL: they were started by hand.
orr_share *orr_share_open(const char *file, const char *run, size_t me, orr_err *e);
bool orr_share_runs(const orr_share *s); // there is a run: who is free takes the next
// Nobody had NAME in this run, and now this process has it; needs a run.
bool orr_share_first(const orr_share *s, const char *name);
// The point is in nobody's database, and (in a run) nobody else is at it: this process simulates it.
bool orr_share_take(const orr_share *s, uint64_t digest);
void orr_share_done(const orr_share *s, uint64_t digest);
size_t orr_share_points(const orr_share *s);                                    // how many are done
const char *orr_share_file(const orr_share *s, orr_arena *a, const char *name); // of this run
double orr_share_silence(orr_share *s, size_t k); // seconds since process k was heard of; one thread
double orr_share_patience(void);                  // after so many it is given up: 60, or $ORRERY_PATIENCE
void orr_share_close(orr_share *s);
void orr_share_remove(const char *file); // the folder

// Called for each point that is done, by one thread at a time.
typedef bool orr_point_finished(void *arg, size_t point, orr_err *e);

typedef struct orr_sweep_job {
    const char *input, *size, *gpu, *source, *version, *command;
    const orr_model *model;
    const char *const *sets; // the GPU's, the same for all points
    int nsets;
    const orr_grid *grid;
    orr_swept_point *points; // [grid->npoints]
    uint64_t build;          // digest of the program
    uint64_t options;        // digest of what else was said and matters: --kernels, ...
    double execute_seconds, seconds;
    uint64_t tape_bytes;
    const char *latencies; // file of pre-characterised kernels, for the abstract model; NULL: none
    int threads;           // of the host
    size_t shard, shards;  // only every shards-th point, from the shard-th on; shards 0: all
    orr_share *share;      // who else is at it; NULL: nobody
    orr_point_finished *finished;
    void *arg;              // its
    orr_progress *progress; // of the job; NULL: nobody asks
} orr_sweep_job;

// ---- points (points.c) --------------------------------------------------------------------------
// A point's description; NULL with e set when it cannot be.
orr_gpu *orr_point_gpu(const orr_sweep_job *s, size_t point, orr_err *e);
// What a model finds out once for each kernel and all points share (latencies), before there are many.
void orr_points_prepare(const orr_sweep_job *s, const orr_tape *t, const orr_gpu *g);
// Points [first, first + n), all of one tape, that are not done: replays them on the sweep's host threads and
// gives each to its `finished`. False with e set: `finished` said so.
bool orr_points_run(orr_sweep_job *s, const orr_tape *t, size_t first, size_t n, orr_err *e);
// What a point's result depends on: tape, model, description, program.
uint64_t orr_point_digest(const orr_sweep_job *s, const orr_tape *t, const orr_gpu *g);
void orr_sweep_free(orr_sweep_job *s);

// ---- the file (store.c, docs/guides/sweep.md) ------------------------------------------------------------
typedef struct orr_store orr_store;
orr_store *orr_store_open(const char *path, orr_err *e); // new, or one of ours
// Points [first, first + n) have their digests now: registers them, and takes what is known of them from the
// file. The sweep itself is registered by the first call.
bool orr_store_begin(orr_store *st, orr_sweep_job *s, size_t first, size_t n, orr_err *e);
bool orr_store_put(orr_store *st, orr_sweep_job *s, size_t point, orr_err *e); // one transaction
bool orr_store_end(orr_store *st, const orr_sweep_job *s, orr_err *e);
// Points of another file of ours that this one lacks, with their launches. The other one is only read.
bool orr_store_take(orr_store *st, const char *path, orr_err *e);
int64_t orr_store_number(const orr_store *st); // of the sweep in the file: its view is sweep_NUMBER
void orr_store_close(orr_store *st);

// ---- said (say.c, plot.c) ---------------------------------------------------------------------------
typedef struct orr_sweep_summary {
    size_t done, failed, kept, same, to_do;
    bool by_time;       // points are judged by time, because clocks differ; else by cycles
    size_t best, worst; // points; SIZE_MAX: none
} orr_sweep_summary;
void orr_sweep_sum_up(const orr_sweep_job *s, orr_sweep_summary *sum);
double orr_sweep_measure(const orr_sweep_summary *sum, const orr_swept_point *p); // NAN: there is none
// ---- what the grid shows (study.c)
// What one key does, all others held: the measure's worst over its best value, in the geometric mean over all
// combinations of the others.
typedef struct orr_axis_effect {
    double spread; // 1: it does nothing; NAN: nothing is known
    int best;      // its best value, in the mean over the others
    int knee;      // numbers, three and more: the cheapest value that is within 5 % of the best; -1: none
    const double *mean; // [axis->n] over the best value's, in the arena; NAN: not done
} orr_axis_effect;
orr_axis_effect orr_sweep_effect(const orr_sweep_job *s, const orr_sweep_summary *sum, int axis,
                                 orr_arena *a);
// Points that no other beats: none takes less of some key of numbers, no more of any other, and is as fast.
// More of a key is dearer, but for times (latencies), of which less is; words cost nothing. Marks
// on[npoints]; returns how many; 0: no key has a cost, or there are too many points to look at.
size_t orr_sweep_front(const orr_sweep_job *s, const orr_sweep_summary *sum, bool *on);
const char *orr_axis_unit(const orr_axis *x); // as it was said, else as the key has it; "" none

void orr_sweep_text(const orr_sweep_job *s, orr_text *out);
void orr_sweep_csv(const orr_sweep_job *s, orr_text *out);
void orr_sweep_json(const orr_sweep_job *s, orr_text *out);
// The plot as a program for gnuplot with its data in it.
void orr_sweep_gnuplot(const orr_sweep_job *s, orr_text *out);
// SVG by gnuplot. Where that is missing, the program is written to PATH.gp, and *instead says so.
bool orr_sweep_plot(const orr_sweep_job *s, const char *path, char **instead, orr_err *e);

#endif
