// What the engine has of the launch under way (engine.c), or of several at a time (grids.c).
#ifndef ORR_CYCLE_WINDOW_H
#define ORR_CYCLE_WINDOW_H

#include "model/cycle/crew.h"
#include "model/cycle/engine.h"
#include "model/cycle/supply.h"

typedef struct sample_sums { // the counters
    orr_sample last;         // at the last sample
    orr_sample *share;       // [host thread] of its share of SMs and partitions, for the next one
} sample_sums;

typedef struct engine {
    cycle *c;
    supply *supply;
    crew *crew;
    uint64_t from, until;   // the window, in cycles
    uint64_t mem_until;     // the same at the slices, in ticks
    uint64_t clock;         // 1/256 cycle: when the dispatcher can send out the next block
    uint64_t end_noticed;   // 1/256 cycle: when it has noticed the last end of a block (launch.fill_interval)
    bool filled;            // every SM has been given as many blocks as it holds
    bool code_seen;         // the first block's code has been looked at (program_fit.c)
    bool runs_little_code;  // and is a small part of the program's
    uint32_t *first_order;  // SMs in the order in which the first blocks are dealt to them
    uint32_t *refill_order; // SMs in the order in which they are refilled
    uint32_t *first_wave;   // the SM of each block of the first wave
    size_t nfirst;          // blocks of it
    uint32_t *busy;         // SMs that have something to do
    uint32_t nbusy;
    bool no_more_blocks;   // the source has no more
    int threads;           // of the host
    orr_replies *replies;  // by partition
    gpc_port *gpc;         // [c->crossbar.ngpcs] with xbar.gpc_reply,
    timed_keys *answers;   // [partition][GPC] and what is answered there
    store_network *stores; // with xbar.store_bandwidth
    request_list *in;      // by partition
    request_list *sent;    // [host thread][partition], on the way there
    sample_sums counted;
    run *out;
    ORR_VEC(orr_span) spans; // for the sampler: blocks that have ended
    ORR_VEC(uint64_t) ends;  // of a window's blocks
    struct {                 // of the piece of work under way (orr_pieces)
        uint64_t cycles, insts;
        uint64_t *issued; // [program->nblocks] before it
        uint32_t nblocks;
    } unit;
} engine;

#define MAX_SAMPLES 1024

// Between SMs and partitions each host thread looks at some of them: number k of as many as there are.
typedef struct engine_share {
    uint32_t first, n;
} engine_share;
static inline engine_share cyc_share_of(const engine *x, uint32_t k, uint32_t all) {
    uint32_t crew = (uint32_t)cyc_crew_size(x->crew), first = all * k / crew;
    return (engine_share){first, all * (k + 1) / crew - first};
}

// ---- samples.c
void cyc_sample(engine *x); // the counters now belong to the stretch that the window is in
// Whether what happens until then belongs to the sample of the window that is over: then one of both is
// taken.
bool cyc_in_same_sample(const engine *x, uint64_t until);

// ---- program_fit.c
void cyc_fit_program(engine *x);
void cyc_look_at_code(engine *x, const block_traces *b); // of the first thread block

// ---- engine.c
// The SMs whose turn it is to start blocks have an equal share of what the GPU sends out.
void cyc_share_out(engine *x);
#endif
