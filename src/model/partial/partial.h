// Private to the partial model: which blocks are looked at, what one SM has of the memory, what its blocks
// find in L2, and the time of the grid that follows.
#ifndef ORR_PARTIAL_H
#define ORR_PARTIAL_H

#include "model/abstract/launch.h"
#include "model/cycle/engine.h"

// ---- plan.c: one SM's blocks ------------------------------------------------------------------------
typedef struct plan {
    uint64_t total;  // blocks of the grid
    uint64_t sms;    // of the GPU
    uint64_t active; // SMs that get a block: small grids are spread evenly
    uint64_t most;   // blocks an SM holds: a workload
    uint64_t n;      // blocks that the SM looked at gets in all
    uint64_t m;      // of them, those that are simulated
    uint64_t less;   // and simulated once more without a workload; 0: not needed
    uint64_t left;   // whole workloads that are not simulated: (n - m) / most
    uint64_t sm;     // the SM looked at
    double turn;     // this SM is one of so many that have the same part of L2 and memory
} plan;
// `single`: a workload is long, one is enough.
plan plan_make(uint64_t total, uint64_t sms, uint64_t most, bool single);
// Looks at the SM whose blocks are fewest at the grid's sides.
void plan_inside(plan *p, const uint32_t grid[3]);
// The grid's number of the i-th block of `of` that are simulated: plan.m or plan.less.
uint64_t plan_block(const plan *p, uint64_t i, uint64_t of);
// The launch's cycles. m blocks took `all` cycles together, `done` until all they store is in memory; `less`
// blocks took `fewer` until then; `overhead` of both before the first one started.
double plan_cycles(const plan *p, double all, double done, double fewer, double overhead);

// ---- blocks.c: thread blocks that are kept ---------------------------------------------------------
typedef struct kept_block {
    uint64_t index;
    uint32_t nwarps;
    orr_warp_trace *warps; // into bytes
    uint8_t *bytes;
} kept_block;
typedef struct kept {
    ORR_VEC(kept_block) at; // by index
    uint64_t executed;      // blocks
    size_t bytes;           // of their traces
    bool all;               // the whole grid has been executed or read
} kept;
// All blocks, of which as many are kept as fit into KEPT_BYTES.
#define KEPT_BYTES ((size_t)1 << 31)
bool kept_pull_all(kept *k, const orr_work *w, orr_err *e);
// Adds the blocks of `list` (ascending) that are not there yet. `whole`: all blocks are executed for it.
bool kept_pull(kept *k, const orr_work *w, const uint64_t *list, uint64_t n, bool whole, orr_err *e);
const kept_block *kept_find(const kept *k, uint64_t index);
void kept_free(kept *k);
// The plan's blocks: `of` of them.
orr_source *kept_source(const kept *k, const plan *p, uint64_t of, const orr_launch_info *info);

// ---- residency.c: what L2 has when this SM asks ---------------------------------------------------------
#define WARM_MAX 64
typedef struct warmth { // from launch to launch: ranges of addresses that L2 holds, the oldest first
    struct {
        uint64_t from, to, bytes;
    } at[WARM_MAX];
    int n;
} warmth;
void warm_add(warmth *w, uint64_t from, uint64_t to, uint64_t bytes, uint64_t room);
bool warm_has(const warmth *w, uint64_t addr);

typedef struct pace { // of the SM's blocks, in the order in which they began, as simulated
    uint64_t n;
    double *start, *end;
    double usual;     // end - start, on average
    const float *far; // [kernel instructions] what was taken for granted then (residency.far)
    double rate;      // sectors a cycle between L2 and memory, of all SMs
    float *waits;     // cycles that reads of memory took longer, one after the other, at that rate
    size_t nwaits;
} pace;

typedef struct residency {
    float *far;      // [kernel instructions] sectors asked for first by a block that come from memory, 0 to 1
    float *late;     // [kernel instructions] those that are on their way to another SM just then
    float *sharers;  // [kernel instructions] SMs that ask for the same line at the same time
    float local_far; // of local memory
    float written;   // sectors written to memory, of those stored
    bool shared;     // blocks ask for the same lines
    float own;       // this SM's part of what is in L2, 0 to 1
    ORR_VEC(orr_request) traffic; // between L2 and memory
    double rate;      // sectors a cycle that memory delivers of such requests; 0: as the description says
    uint64_t insts;   // warp instructions of a block in the middle of the grid
    uint64_t lookups; // host: how much work it was
} residency;
// dram_rate.c: what memory delivers of these requests, in sectors a cycle; 0: too few to tell. Sets their
// times.
#define TRAFFIC_MAX 49152
double dram_rate(const orr_gpu *g, orr_request *list, size_t n);
// How long the reads among them wait when `rate` sectors come a cycle; returns how many.
size_t dram_waits(const orr_gpu *g, orr_request *list, size_t n, double rate, float *waits);
// Block numbers that residency_find looks at.
#define REACH_PROBES 10
int residency_probes(const uint32_t grid[3], uint64_t list[REACH_PROBES]);
typedef struct residency_of { // what it is found of
    const orr_gpu *gpu;
    const plan *plan;
    const kept *blocks;
    const orr_work *work;
    const pace *pace; // NULL until the SM has been simulated
} residency_of;
bool residency_find(residency *x, const residency_of *of, warmth *l2, orr_err *e);
// Is it nearly the same, for a simulation?
bool residency_near(const residency *a, const residency *b, uint32_t ninsts);
// The mean of both.
void residency_mix(residency *x, const residency *with, uint32_t ninsts);
void residency_free(residency *x);

// ---- portions.c: the launch's time, from portions of its grid on all SMs ------------------------
typedef struct portion {
    uint64_t warm, from, to; // blocks: from `warm` on they are in L2, from `from` on simulated
    uint64_t settled;        // from here to `to` they show the pace
    uint64_t left;           // blocks of its stratum that are not simulated
    double relation;         // of their warp instructions to those simulated
} portion;
#define PORTIONS_MAX 4
typedef struct portions {
    portion at[PORTIONS_MAX];
    int n;
    uint64_t total; // blocks of the grid
} portions;
bool portions_whole(uint64_t total, uint64_t wave); // all of it is simulated
portions portions_make(uint64_t total, uint64_t wave, uint64_t fill);
// The launch's cycles: its portions took `cycles`, and their blocks ended then (which is sorted).
double portions_cycles(const portions *x, double *ends, size_t n, double cycles);
typedef struct found {
    double cycles; // 0: blocks are too long for that
    double insts;  // warp instructions of a block, on average
} found;
typedef struct portions_of { // what is run by portions
    const orr_gpu *gpu;
    const orr_work *work;
    kept *blocks;
    uint64_t wave; // blocks that the GPU holds
} portions_of;
bool portions_run(abt_state *st, const portions_of *of, found *out, orr_err *e);
double kept_insts(const orr_kernel *k, const kept_block *b); // warp instructions of a block

// ---- memory_share.c: an SM's share of L2 and memory -------------------------------------------------------
typedef struct memory_share {
    const orr_gpu *gpu;
    const cycle *c;
    const residency *residency;
    const pace *pace;
    size_t wait;             // the next of its waits
    uint64_t line, sector;   // ticks: the SM's turn at L2, for a line and for a sector of it
    uint64_t slice_sector;   // a sector through a slice's port
    uint64_t dram_sector;    // the SM's turn at memory
    uint64_t channel_sector; // a sector on a channel's bus
    uint64_t behind;         // memory beyond L2
    uint64_t far_side;       // the other half of L2
    uint64_t window_end;     // memory by windows (dram.window): the first access of this one is answered
    uint32_t in_window;      // accesses of this window
    uint64_t atomic, atomic_share; // an operation at a slice; the SM's turn at all of them
    uint64_t atomic_again;         // from a sum of floating-point numbers to the next on its sector
    uint64_t l2_free, dram_free, atomic_free;
    uint64_t to_write, write_room; // memory's time for stores that wait; and for as many as may
    orr_cache tags;                // lines this SM has used
    uint64_t *ready;               // by line: when its data are there
    float *due, *due_late;         // [kernel instructions] what is owed to `far` and `late`
    float owed;                    // sectors to write
    orr_memsys_stats n;
    foreign_memory door;
} memory_share;
void memory_share_init(memory_share *s, const orr_gpu *gpu, const cycle *c, const residency *x,
                       const pace *pace, double turn);
void memory_share_free(memory_share *s);

#endif
