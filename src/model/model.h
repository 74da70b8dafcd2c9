// Models: from a launch's streams and a gpu to a result. One interface for all of them.
#ifndef ORR_MODEL_H
#define ORR_MODEL_H

#include "core/stalls.h"
#include "exec/exec.h"
#include "gpu/gpu.h"
#include "isa/isa.h"
#include "launch/launch.h"
#include "memory/memory.h"
#include "stream/stream.h"

// ---- counters -------------------------------------------------------------------------------
enum orr_counter {
#define COUNTER(id, name, unit, meaning) ORR_C_##id,
#include "model/counters.def"
#undef COUNTER
    ORR_COUNTERS
};
typedef struct orr_counter_info {
    const char *name, *unit, *meaning;
} orr_counter_info;
extern const orr_counter_info orr_counters[ORR_COUNTERS];

// ---- what a kernel did, by place ------------------------------------------------------------
// Kept by block of code and by memory instruction, for all launches of a kernel together; everything
// else (mix, lines, counters) is summed up from it at the end. All are exact integer counts, so their
// sum does not depend on which host thread saw which thread block.
#define ORR_ACTIVE_RANGES 5 // active lanes: 1-8, 9-16, 17-24, 25-31, 32

typedef struct orr_block_stats {
    uint64_t runs[ORR_ACTIVE_RANGES]; // times a warp ran it, by active lanes
    uint64_t lanes;                   // active lanes, summed over the runs
    uint64_t divergent;               // runs whose last branch split the lanes
    uint64_t taken;                   // lanes that took that branch
} orr_block_stats;

typedef struct orr_mem_stats {
    uint64_t requests; // runs with at least one lane taking part
    uint64_t lanes;    // lanes taking part, summed
    uint64_t sectors;  // global, local, const: distinct sectors, summed
    uint64_t lines;
    uint64_t ideal;  // sectors if packed and aligned
    uint64_t phases; // shared: passes without conflicts
    uint64_t passes; // shared: passes needed
} orr_mem_stats;

typedef struct orr_mem_place { // one memory instruction, in one space
    uint32_t inst;
    uint8_t space;  // where it went: a generic instruction has one place for each space it can reach
    uint8_t bytes;  // per lane
    uint8_t kept;   // what its regular accesses add is kept (profile.c)
    uint32_t lanes; // that can take part at all (ldmatrix: those that give row addresses)
} orr_mem_place;

typedef struct orr_profile {
    const orr_kernel *kernel;
    uint32_t launches;
    orr_mem_place *places; // the traced instructions in order
    uint32_t nplaces;
    uint32_t nblocks;        // of the kernel, as far as the arrays go: it may grow (orr_profile_grow)
    uint32_t *first_place;   // [nblocks]
    uint8_t *ends;           // [nblocks] 1: ends in a conditional or indexed branch
    orr_block_stats *blocks; // [nblocks]
    orr_mem_stats *mems;     // [nplaces]
    double *clocks;          // [nblocks] cycles that warps were in it; NULL: nobody knows
    uint32_t blocks_cap, places_cap;
    orr_arena *arena; // the result's
} orr_profile;

// ---- where time goes ----------------------------------------------------------------------------
// Every cycle that a warp is resident has one reason (core/stalls.h).
typedef struct orr_stall_info {
    const char *name, *metric, *meaning;
} orr_stall_info;
extern const orr_stall_info orr_stalls[ORR_STALLS];

// What happened from one point in time to the next, for plots: all SMs together.
typedef struct orr_sample {
    uint64_t warps;              // resident warp cycles
    uint64_t insts;              // warp instructions issued
    uint64_t stalls[ORR_STALLS]; // warp cycles by reason
    uint64_t l1_sectors, l2_sectors, dram_sectors;
    uint64_t blocks; // resident thread block cycles
} orr_sample;

typedef struct orr_span {       // a thread block on an SM
    uint64_t block, start, end; // cycles
    uint32_t sm, slot;
} orr_span;

typedef struct orr_clock_read { // a warp reads the SM's clock
    uint64_t block, cycle;
    uint32_t warp; // of the block
} orr_clock_read;

// So much of something is an instruction's doing.
typedef struct orr_blame {
    uint64_t n;    // 0: there is none
    uint32_t inst; // of the program
} orr_blame;

// What a model that predicts time knows of a launch. Owned by the result's arena unless said otherwise.
typedef struct orr_timing {
    const struct orr_program *program; // what was timed; lives as long as the result
    uint64_t cycles;      // from the launch to the end of its last block, launch overhead included
    uint64_t overhead;    // of them before the first block starts
    uint64_t sm_active;   // cycles in which an SM has a block, summed over SMs
    uint64_t warp_cycles; // resident warp cycles == sum of stalls
    uint64_t stalls[ORR_STALLS];
    uint32_t ninsts;                 // program->ninsts then: a program read from a trace can grow later
    uint64_t (*by_inst)[ORR_STALLS]; // [ninsts]; sums to stalls
    uint64_t *issued;                // [ninsts] warp instructions
    uint64_t *threads;               // [ninsts] lanes active, summed
    orr_traffic *traffic;            // [ninsts]; NULL: it is not known
    orr_blame tail;                  // cycles after the last block, until L2 has done what this one sent last
    orr_blame waste;                 // sectors over the ideal: those of the instruction that has the most
    uint64_t unit_busy[ORR_GPU_UNITS_MAX]; // cycles, summed over the units of that name in the GPU
    uint64_t issue_slots;                  // scheduler cycles while SMs were active
    uint64_t register_conflicts;           // cycles lost to register banks
    uint64_t refilling; // cycles in which the GPU gave out blocks that did not fit at first
    orr_sample *samples;
    uint32_t nsamples;
    uint64_t sample_cycles; // each sample covers this many
    orr_span *spans;        // when a timeline was asked for
    uint64_t nspans, spans_left_out;
    orr_clock_read *clocks; // of a kernel timed from its streams: when it read the SM's clock
    uint64_t nclocks;
    int resident;              // blocks an SM holds
    int limiter;               // enum orr_limiter
    const struct orr_raw *raw; // the model's own counts (cycle/raw.h)
} orr_timing;

// What the analytic model found to bound a launch (docs/how/analytic.md).
#define ORR_LIMIT_PARTS 44
typedef struct orr_limits {
    double latency;    // cycles if no warp waited for another
    double optimistic; // cycles if all of them fitted between each other: the largest of latency and parts
    const char *limit; // which one that is
    double warps;      // that make progress on a busy SM
    double register_reads, register_conflicts; // that it expects; 0 on a core without operand collectors
    struct {
        const char *name; // a resource: an execution unit, or issue, l1, l2, dram ...
        double cycles;    // it is busy
    } part[ORR_LIMIT_PARTS];
    int nparts;
} orr_limits;

// ---- results --------------------------------------------------------------------------------
// What threads see of each other depends on the order of events (orr_kernel_one_order). Which one was it?
enum orr_events {
    ORR_EVENTS_PRIVATE,   // it does not matter: as far as its code tells all give the same
    ORR_EVENTS_IN_TIME,   // that of simulated time: it was executed as it was timed
    ORR_EVENTS_ONE_ORDER, // that of the execution or the recording that is replayed
};

typedef struct orr_launch_result {
    const orr_kernel *kernel;
    uint32_t index, grid[3], block[3], dynamic_shared;
    const char *range;      // orr_launch_info.range
    double cycles, time_ns; // NAN: this model does not predict it
    uint64_t blocks, warp_insts, thread_insts;
    double occupancy;   // warps that fit on an SM, of those it could hold: 0 to 1
    double *counters;   // [ORR_COUNTERS], NAN: not counted; NULL: none
    orr_timing *timing; // NULL: this model does not simulate time
    orr_limits *limits; // NULL: only the analytic model has one
    uint8_t events;     // enum orr_events
    bool estimated;     // its counts are those of some of its blocks, times what the grid has of them
    bool cut; // stopped by who watched, with `done` of its blocks done; all else is of the time until then
    uint64_t done;
} orr_launch_result;

typedef struct orr_host {
    double seconds, execute_seconds, model_seconds;
    uint64_t peak_rss;
    int threads;
} orr_host;

typedef struct orr_app { // an application: a task list's, everything it repeats as often as it does; a
                         // program's
    double elapsed_ns;   // from its first call to its last; 0: one thing after the other
    uint64_t launches, copies, copy_bytes;
    double kernel_ns, gap_ns, copy_ns; // gaps: launch.latency; copies at host.bandwidth
    double overlap_ns; // of kernel_ns: what ran while others did. kernel_ns - overlap_ns: some kernel ran
} orr_app;

struct orr_rewrote {
    const orr_kernel *kernel;
    struct orr_rewritten *rewritten; // NULL: it stays as it is
};

typedef struct orr_result {
    const char *gpu, *model, *source, *input, *size; // source: ptx, sass, trace
    ORR_VEC(orr_launch_result) launches;
    ORR_VEC(orr_profile *) profiles; // by kernel, in order of first launch; functional model only
    orr_host host;
    const struct orr_sample_result *sample;  // of a sampled run (sample/sample.h), else NULL
    uint32_t checked;                        // expectations of the script that held
    uint64_t buffer_bytes;                   // of the script's buffers
    orr_app app;                             // all 0: there is none
    ORR_VEC(orr_reading) readings;           // what the script measures by the simulated GPU's clock
    uint64_t blocks_executed, blocks_in_all; // partial: of the script's launches; others leave both 0
    ORR_VEC(struct orr_rewrote) rewrites;    // kernels as orr_work_rewritten has made them
    bool l2_roomy;                           // L2 had room for all: a larger one gives the same (abstract)
    void *state;                             // what a model keeps from launch to launch (caches),
    void (*state_free)(void *state);         // freed with the result
    orr_arena arena;
} orr_result;

// ---- sampling (sample/) -----------------------------------------------------------------------
// Leaves thread blocks of a launch out, for models that simulate them one after the other in time. A model
// that knows nothing of it simulates all of them. All calls come from one thread.
typedef struct orr_sampler {
    void (*begin)(struct orr_sampler *s, uint64_t resident,
                  uint64_t start);                                         // blocks that the GPU holds; cycle
    void (*ended)(struct orr_sampler *s, const orr_span *spans, size_t n); // blocks that have, in any order
    // All blocks before `next` have been handed out: the one to go on with. Those in between are executed and
    // not timed. From *warm on (at most what is returned) they leave their lines in L2.
    uint64_t (*resume)(struct orr_sampler *s, uint64_t next, uint64_t *warm);
} orr_sampler;

// A simulation cut into pieces of so many warp instructions, for those who compare ways of sampling: at most
// as many pieces as the cycle model has windows. A piece ends with its launch.
typedef struct orr_piece {
    uint64_t cycles, insts;
    uint32_t launch;  // index in the result
    uint32_t nblocks; // of code, and where instructions issued in each begin in orr_pieces.insts
    size_t first;
} orr_piece;
typedef struct orr_pieces {
    uint64_t size; // at least
    ORR_VEC(orr_piece) unit;
    ORR_VEC(uint64_t) insts;
} orr_pieces;

// ---- models ---------------------------------------------------------------------------------
typedef struct orr_work { // one launch
    orr_launch_info info;
    const orr_launch *launch; // NULL: it comes from a file
    orr_source *source;       // when it comes from a file
    bool recorded;            // the source replays what was executed before: one order of events
    int threads;
    orr_progress *progress; // told of every finished thread block; may be NULL
    bool timeline;          // keep which block was where
    const char *latencies;  // abstract: file of pre-characterised kernels; NULL: none
    bool skip;              // execute it and warm nothing: not one of --kernels, --launches
    bool part; // partial: may leave out thread blocks, so that memory is not as the kernel leaves it
    const float *
        far; // partial: [kernel instructions] sectors from memory, 0 to 1, negative: find out; NULL: find out
    orr_sampler *sampler;            // NULL: all thread blocks are simulated
    orr_pieces *pieces;              // NULL: nobody compares
    struct orr_rewritten *rewritten; // orr_work_rewritten's
} orr_work;
// The launch as a model of time sees it: PTX with its blocks as ptxas makes them (program/program.h). *own is
// where that is put; w itself when there is nothing to do. It lives as long as the result.
const orr_work *orr_work_rewritten(const orr_work *w, orr_work *own, orr_result *r);
// Why a launch is to be executed as it is timed, where that can be done (isa/observable.h); 0: it need not.
uint32_t orr_launch_observable(const orr_launch *l);
// Pull its thread blocks; close the source when done. NULL with e set on error.
orr_source *orr_work_open(const orr_work *w, orr_exec_counts *counts, orr_err *e);

// ---- launches that may run at the same time ---------------------------------------------------
// The first member starts; others join it as soon as they are launched, as long as anything runs. Who runs
// beside whom, and where, is the model's business; what a launch waits for is the caller's: `ended` is called
// for each that has, and says of others when they are launched. Members that were not launched before all
// was over, or cannot run beside the first, have not run: ran is false.
typedef struct orr_member {
    orr_work work;    // comes from a file: work.launch is NULL
    double launched;  // ns after the first one's launch; INFINITY: not known yet
    int priority;     // lower goes first
    uint32_t after;   // + 1: it may start when all blocks of this member have said so or ended, and waits for
                      // its end where it says so itself (programmatic launch); 0: there is none
    bool timed;       // it has been run by itself, and is r->launches.at[result]; of models without run_group
    bool ran;         // out
    double from, end; // out, ns after the first one's launch: when it began to run, when it had ended
    size_t result;    // out: index in r->launches
} orr_member;
typedef struct orr_launch_group {
    orr_member *at;
    uint32_t n;
    void (*ended)(struct orr_launch_group *g, orr_member *m);
} orr_launch_group;

typedef struct orr_model {
    const char *name, *summary;
    // One launch: appends to r->launches. Called launch by launch, in order.
    bool (*run)(const orr_gpu *gpu, const orr_work *w, orr_result *r, orr_err *e);
    // A copy from the host between launches; NULL: of no interest.
    bool (*copy)(const orr_gpu *gpu, uint64_t addr, uint64_t bytes, orr_result *r, orr_err *e);
    bool needs_gpu;
    // Several launches (orr_launch_group); NULL: each is run by itself, and they share as orr_group_run says.
    bool (*run_group)(const orr_gpu *gpu, orr_launch_group *g, orr_result *r, orr_err *e);
    // A line of global memory that an executed, not simulated launch or block has touched is in L2
    // afterwards; no time passes. sm: on which it would have run; -1: not known. NULL: nothing is kept of
    // caches.
    bool (*warm)(const orr_gpu *gpu, orr_result *r, int sm, const orr_touched *t, orr_err *e);
} orr_model;

extern const orr_model orr_model_functional, orr_model_cycle, orr_model_abstract, orr_model_partial;
extern const orr_model orr_model_analytic;
extern const orr_model *const orr_models[]; // all, ends with NULL
// By name. Unknown: NULL, and the message names those that exist.
const orr_model *orr_model_find(const char *name, orr_err *e);

// Several launches at a time, by the model's own means or, where it has none, by a rule (group.c).
bool orr_group_run(const orr_model *model, const orr_gpu *gpu, orr_launch_group *g, orr_result *r,
                   orr_err *e);

// Every line of global memory that a thread block touches, in the order of its warps (warm.c). False:
// damaged.
typedef void orr_touch(void *arg, const orr_touched *t);
bool orr_warm_block(const orr_profile *p, const orr_tb *tb, orr_touch *touch, void *arg);
// What that needs to know of a kernel; freed with `a`.
orr_profile *orr_warm_places(const orr_kernel *k, orr_arena *a);

// Appends a launch with its shape and occupancy filled in and nothing counted yet.
orr_launch_result *orr_result_add(orr_result *r, const orr_gpu *gpu, const orr_work *w);
// Another launch of the same kernel and shape, with the results of launch `like`. NULL: that is not there.
orr_launch_result *orr_result_like(orr_result *r, const orr_launch_info *info, uint32_t like);
void orr_result_free(orr_result *r);

// ---- sums over a profile (profile.c) ---------------------------------------------------------
// The kernel's profile in this result: found, or made and added.
orr_profile *orr_profile_of(orr_result *r, const orr_kernel *k);
// The kernel has more blocks now (kernel->grows): makes places for them. Old places keep their numbers.
void orr_profile_grow(orr_profile *p);
// Runs one warp's trace through: adds to blocks[nblocks] and mems[nplaces]. False when it is damaged.
bool orr_profile_warp(const orr_profile *p, orr_warp_trace w, orr_block_stats *blocks, orr_mem_stats *mems);
// All counters of what `blocks` and `mems` hold; also the totals of instructions.
void orr_profile_counters(const orr_profile *p, const orr_block_stats *blocks, const orr_mem_stats *mems,
                          double counters[ORR_COUNTERS], uint64_t *warp_insts, uint64_t *thread_insts);
static inline uint64_t orr_block_runs(const orr_block_stats *b) {
    uint64_t n = 0;
    for (int i = 0; i < ORR_ACTIVE_RANGES; i++) n += b->runs[i];
    return n;
}

#endif
