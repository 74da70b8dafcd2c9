// The analytic model's nouns (docs/how/analytic.md): after Gerum, Rosenstiel and Bringmann, "Improving
// Accuracy of Source Level Timing Simulation for GPUs using a Probabilistic Resource Model".
//
//   graph.c    the pipeline execution graph of a block of code: its longest path, its use of resources
//   tally.c    how often each block of code ran and from where, by executing or from a file
//   memory.c   the accesses of a sample of streams: coalescing, which level serves them (reuse.h)
//   sample.c   the streams of the sample, and the means of what they do
//   banks.c    the probabilistic model of register banks (the paper's IV-B)
//   bound.c    from all of it to time: what waits for what, thread blocks over SMs
//   model.c    the interface of all models; the counters
#ifndef ORR_ANALYTIC_H
#define ORR_ANALYTIC_H

#include "model/model.h"
#include "program/program.h"

// ---- resources --------------------------------------------------------------------------------------
enum {
    RES_ISSUE,   // a scheduler's issue slots
    RES_COLLECT, // operand collectors
    RES_WRITE,   // write-back, where there are no collectors
    RES_BANKS,   // banks of the register file, where there are collectors: reads and writes
    RES_LSU,     // the port that L1 and shared memory have in common
    RES_MISSES,  // lines that L1 can have on their way
    RES_PARTS,   // stores of part of a sector that an SM can have on their way
    RES_REQUEST, // an SM's way to L2
    RES_REPLY,   // and back
    RES_L2,      // all slices' ports
    RES_CROSS,   // the way between two halves of L2
    RES_ATOMICS, // their atomic units
    RES_STORES,  // the slice of the line that is stored to most often
    RES_DRAM,    // all channels
    RES_BULK,    // what bulk copies of all SMs move at most (tma.bytes)
    RES_NETWORK, // an SM's way to other blocks' shared memory
    RES_UNITS,   // execution units, one after the other
    RES_MAX = RES_UNITS + ORR_GPU_UNITS_MAX
};
const char *an_res_name(const orr_gpu *g, int r);

// ---- memory instructions ----------------------------------------------------------------------------
typedef struct an_access { // one run of it, on average
    double requests;       // with a lane taking part
    double cost;           // cycles of the port
    double words;          // further cycles of its unit: a load of constants, for each further word
    double latency;        // cycles from the port to the first use of the result
    double sectors;        // that L1 is asked for
    double sent, received; // bytes between the SM and L2
    double l2;             // cycles of a slice's port,
    double data;           // of its data,
    double cross;          // and of its way to the other half
    double atomics;        // operations of an atomic unit: lanes, or sectors (l2.atomic_words)
    double misses;         // lines on their way
    double parts;          // stores of part of a sector on their way
    double stores;         // cycles of slices in which they take stores
    double dram;           // cycles of a channel
    double bulk;           // bytes of bulk copies
    double network;        // cycles of the way to other blocks' shared memory
} an_access;

// ---- graph.c ----------------------------------------------------------------------------------------
typedef struct an_graph {
    const orr_gpu *gpu;
    const orr_program *program;
    an_access *access; // [insts] of the program
    float *ready;      // [blocks][places + 8]: registers and barriers behind a block, from its end on
    uint32_t nblocks, ninsts, stride;
    double conflict; // cycles that bank conflicts add to reading operands, mean of an instruction
    double fetch;    // cycles to fetch a line of code that the SM's cache does not hold
    double bulk;     // cycles until a thread block's first bulk load is there, mean; 0: it has none
    double tail;     // cycles that a thread block's last warp ends after the others, mean
    double *now;     // scratch: [stride]
    // What has been worked out, as long as neither `access` nor these change.
    bool current;
    double flow_conflict, flow_fetch;
    struct an_known {  // [blocks][4] paths
        uint32_t from; // + 2; 0: free
        double path;
    } * known;
    // latencies of the machine
    double branch_wait, barrier_latency, collect, writeback, pass_cycles;
    uint32_t sched_per_sub, pools[ORR_GPU_UNITS_MAX]; // units of a kind that a warp can use
    bool shared_unit[ORR_GPU_UNITS_MAX];              // by the whole SM
    uint32_t collectors;                              // of a sub-core; 0: none
} an_graph;

void an_graph_init(an_graph *g, const orr_gpu *gpu, const orr_program *p);
void an_graph_free(an_graph *g);
void an_graph_grow(an_graph *g);    // the program has more blocks
void an_graph_flow(an_graph *g);    // what each block leaves behind; after `conflict` or `fetch` has changed
void an_graph_changed(an_graph *g); // `access` has
// Cycles from the end of block `from` (UINT32_MAX: nothing before) to the end of `block`, for a warp by
// itself.
double an_graph_path(an_graph *g, uint32_t from, uint32_t block);
// What one run of a block uses of each resource, in cycles of one instance of it; registers read and written.
void an_graph_usage(const an_graph *g, uint32_t block, bool off, double use[RES_MAX], double *reads,
                    double *writes);

// ---- tally.c ----------------------------------------------------------------------------------------
typedef struct an_stream { // a sampled thread block
    uint64_t index;
    uint32_t nwarps;
    size_t *at; // [nwarps + 1] in bytes
    uint8_t *bytes;
} an_stream;

typedef struct an_tally {
    orr_tally_block *plan;    // [nblocks]
    orr_tally_count *counts;  // [nblocks]
    uint64_t *predicated_off; // [nblocks] times its instructions were issued for no lane
    bool *meets;              // [nblocks] it waits at a barrier
    uint32_t nblocks, cap;
    // thread blocks in grid order, `per` of them together
    uint64_t nbins, per;
    uint64_t *longest, *sum; // summed over those of a bin
    uint64_t ntbs, nwarps;
    uint32_t cluster; // thread blocks of a cluster
    uint64_t *sampled;
    uint32_t nsampled;
    an_stream *streams; // [nsampled]
    uint64_t thread_insts, warp_insts;
} an_tally;

bool an_tally_run(an_tally *t, an_graph *g, orr_program *p, const orr_work *w, uint32_t cluster, orr_err *e);
void an_tally_free(an_tally *t);
static inline uint64_t an_runs(const orr_tally_count *c) {
    uint64_t n = 0;
    for (int i = 0; i <= ORR_TALLY_FROM; i++) n += c->runs[i];
    return n;
}

// ---- memory.c ---------------------------------------------------------------------------------------
typedef struct an_memory an_memory; // what L2 holds from launch to launch
an_memory *an_memory_new(const orr_gpu *g);
void an_memory_free(an_memory *m);
double an_memory_drain(const an_memory *m, double sms);
void an_memory_copy(an_memory *m, uint64_t addr, uint64_t bytes);
typedef struct an_traffic { // counted in the sample and scaled to the launch
    double sectors, l1_hits, l2_sectors, l2_hits, dram_sectors, stores;
    double shared_passes, shared_conflicts;
    uint64_t looked; // accesses of the sample, and lines that were followed
} an_traffic;
// Before anything is known: each access as if coalesced, at the latency of L1 or L2.
void an_memory_assume(const orr_gpu *g, const orr_program *p, an_access *access);
typedef struct an_sampling {
    const orr_occupancy_result *occ;
    uint64_t allocated; // bytes of memory
    uint64_t budget;    // accesses and lines that are looked at
} an_sampling;
// sample.c: fills g->access. False: a stream is damaged.
bool an_memory_sample(an_memory *m, an_graph *g, const an_tally *t, const an_sampling *how, an_traffic *out);

// ---- banks.c ----------------------------------------------------------------------------------------
// Conflicts a cycle when in each of them n instructions may be reading from b banks with p ports each, m of
// them on average (the paper's IV-B; n = m there).
double an_bank_conflicts(double m, int n, int banks, int ports);
int an_bank_users(const orr_gpu *g, int accesses); // n, of instructions with so many accesses

// ---- bound.c ----------------------------------------------------------------------------------------
typedef struct an_demand { // of the whole launch
    double path;           // warps' longest paths, summed: latency without any waiting for others
    double use[RES_MAX];   // cycles of one instance, summed over all instances and SMs
    double insts, reads, writes;
    double cold;  // cycles that the first blocks of an SM wait for code
    double bulk;  // cycles that every block waits for its first bulk load
    double tail;  // cycles that every block waits for its last warp
    double scale; // from the tally's weights to `path`
} an_demand;
typedef struct an_machine { // how many of a resource there are, and who shares one
    double count[RES_MAX];  // instances in an SM that warps are dealt over; 0: one for the whole GPU
    double cycles[RES_MAX]; // of an instance, for a unit of use: a cycle, a byte, a sector
} an_machine;
void an_machine_of(const orr_gpu *g, an_machine *m);
// Slowdown of a warp when n of them are on an SM, `active` SMs at work; 0: of the SM's own resources only.
double an_slowdown(const an_machine *m, const an_demand *d, double n, double active);
typedef struct an_time {
    double cycles; // all blocks, launch overhead apart
    double warps;  // that make progress on a busy SM, on average
    double active; // SMs
} an_time;
void an_schedule(const orr_gpu *g, const an_machine *m, const an_demand *d, const an_tally *t, int resident,
                 an_time *out);
// The cycles if nobody waited for anybody.
double an_latency(const orr_gpu *g, const an_machine *m, const an_demand *d, const an_tally *t, int resident);

#endif
