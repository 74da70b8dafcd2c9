// The sample of a launch's thread blocks that the analytic model looks at closely: what memory.c, where
// accesses are found in the caches, and sample.c, which runs the streams, have in common.
#ifndef ORR_ANALYTIC_SAMPLE_H
#define ORR_ANALYTIC_SAMPLE_H

#include "memory/fast_dram.h"
#include "memory/l2.h"
#include "model/analytic/analytic.h"
#include "model/analytic/reuse.h"
#include "model/cluster.h"

#define REGION_BITS 20
#define FAR_LOADS   64u // of a block of code that are waited for together

struct an_memory {
    const orr_gpu *gpu;
    orr_fast_dram_spec dram;
    orr_l2_spec l2;
    reuse regions; // of REGION bytes; `block` holds nothing
};

typedef struct far_loads { // of the block of code at hand: loads that L1 does not serve
    struct far_load {
        uint32_t inst;
        double lines, from_dram, share; // of those from DRAM, which are touched first
    } at[FAR_LOADS];
    uint32_t n;
    double lines, dram; // of all of them
} far_loads;

typedef struct capacities {
    double l1_lines, l2_lines; // as distances in the sample
    uint32_t l1_ways;
    uint64_t regions; // that L2 holds
    bool fits;        // all that is allocated lies in L2
} capacities;

typedef struct mean {
    double sum, n;
} mean;

typedef struct sampler {
    an_memory *m;
    const orr_gpu *gpu;
    an_graph *g;
    reuse l1, l2;
    reuse hot;               // chunks of atomics; `ready` counts their lanes
    reuse stored;            // lines of stores; `ready` has the cycles that they take
    uint64_t piece;          // of the last atomic, + 1 (l2.atomic_row)
    uint32_t every, touches; // k: one line in k is followed; accesses to them since k is that
    capacities hold;
    uint32_t block;   // the thread block at hand, + 1
    uint32_t blocks;  // looked at
    uint64_t *runs;   // [blocks of code]
    uint64_t *timed;  // [insts] accesses whose latency is known: one of their lines is followed
    double *by_first; // [insts] of their latency, what memory adds for lines touched first
    struct {
        double first, again; // of the first touch; because L2 had lost them
    } sectors;               // from memory
    struct {
        double from_dram, first_touch, from_l2; // lines: from DRAM, of them touched first, from L2 or DRAM
    } hand;                                     // of the access at hand
    far_loads far;
    mean tail;             // of thread blocks: how much later their last warp ends
    double clock;          // of the warp at hand
    double late;           // by how much its block's loads took longer than its clock knows
    bool loads;            // it has some
    mean bulk;             // bulk loads: cycles until they are there
    orr_cluster_seat seat; // of the thread block at hand
    an_access *before;     // [insts] what the clocks' weights were made with
    const an_tally *t;
    orr_access *access;
    an_traffic *out;
} sampler;

// Of so many lines that a load asks L2 for, some of them from DRAM: how much later than the mean the last
// comes.
double an_late(const an_memory *m, double lines, double from_dram);
// One access of a stream; `local` is where its thread's local memory begins.
void an_one_access(sampler *s, uint32_t inst, const orr_access *from, uint64_t local);
void an_bulk_access(sampler *s, uint32_t inst, const orr_access *from);
// What comes behind a block of code, or behind the barrier that ends it, waits for the last line of all its
// loads that L1 does not serve, not for that of one of them.
void an_wait_for_far(sampler *s, double warps);

#endif
