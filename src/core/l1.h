// The L1 data cache of an SM: tags, MSHRs, fills and reading out.
//
// A miss asks for the sectors of one line that are not there and not pending. Whoever needs pending sectors
// waits for the same fill. L1 is a streaming cache: a miss reserves no data, its line may have been evicted
// when the fill comes, and the fill goes to the registers all the same (accel-sim.txt, II-B).
//
// Invariants: a line is in at most one way; an MSHR exists for exactly the requests that have not been
// answered, and those of a line that is in the cache are in its list (orr_cache_line.user); a load is
// finished when its last line has been looked up, filled and, where it waited for lines, read out; a sector
// is not both valid and pending.
//
// The component sends through the port, shares a data pipe with shared memory, and reports loads that are
// finished (l1_client). It knows of a warp its number only.
#ifndef ORR_CORE_L1_H
#define ORR_CORE_L1_H

#include "core/kinds.h"
#include "core/launch.h"
#include "core/pipe.h"
#include "core/port.h"
#include "memory/cache.h"
#include "memory/cost.h"

#define MAX_TURNS  64  // lines of an access whose lookups are told apart
#define PART_LINES 512 // lines whose written bytes are known
#define NO_GROUP   255

static inline int l1_kind(const orr_tinst *i) {
    return i->flags & ORR_TF_ATOMIC ? ORR_L1_ATOMIC : i->flags & ORR_TF_STORE ? ORR_L1_STORE : ORR_L1_LOAD;
}

typedef struct l1_policy { // what is cached, and what stores do
    uint64_t size;
    uint32_t ways,
        tag_ways;          // tag_ways: tags for all of it, whatever shared memory leaves for data; 0: not so
    uint64_t sector;       // bytes that are fetched together
    bool hashed, flush;    // flush: a launch finds it empty
    int write, write_miss; // l1.write, l1.write_miss
    bool write_allocate;
    orr_gpu_array set_hash; // which bits of a line's number turn over which bits of its set (l1.set_hash)
} l1_policy;

typedef struct l1_spec {
    l1_policy policy;
    uint64_t latency;                   // cycles of a load that hits
    uint32_t mshrs, merges;             // misses on their way; loads that wait for one
    uint32_t miss_interval, miss_first; // cycles for a line that misses, and before the first of a load
    uint32_t fill_interval;             // cycles to the registers for each sector that was waited for
    orr_l1_spec cost;                   // what an access takes of it, by all models alike
    bool atomic_words;      // lanes on different words of a sector are done together (l2.atomic_words)
    orr_atomic_spec atomic; // how long a slice works on them
    uint64_t l2_latency;    // cycles
} l1_spec;

typedef struct l1_load { // a memory instruction that is waited for
    uint64_t issued;     // cycle
    uint64_t earliest;   // not finished before
    uint32_t inst, warp;
    uint32_t next;         // in the free list, or of the loads of its warp that are to be read out
    uint16_t open;         // requests outstanding
    uint16_t passes;       // over the banks, when all of its lines are there
    uint8_t group;         // of asynchronous copies, else NO_GROUP
    uint8_t copies;        // asynchronous copies: which of the warp's arrivals
    orr_step_access *live; // what it loads (perform.h); NULL: it has been executed
} l1_load;

typedef struct l1_mshr {
    uint64_t line;
    uint32_t waiters, last; // list of loads that wait, in the order of coming
    uint32_t older;         // the next MSHR of the same line, or in the free list
    uint32_t fills; // place in the cache that its data go to, if it is still the line's; ORR_NO_LINE: none
    uint16_t nwaiters;
    uint8_t sectors;
} l1_mshr;

typedef struct l1_waiter {
    uint32_t load, next;
    uint32_t sectors; // that it waits for
} l1_waiter;

typedef struct l1_access { // the memory instruction that L1 works on
    const orr_tinst *i;
    uint32_t inst, warp;
    uint32_t load; // NOBODY: nobody waits for it
    bool local;
    orr_access lanes;
    orr_coalesced lines;
    uint32_t next_line;  // that is looked up next
    uint32_t cost;       // cycles of the pipe
    uint32_t missed;     // of its lines
    uint64_t waits;      // bits of its lines: a load waits for them
    uint32_t passes;     // over the banks, all of them
    uint32_t passes_now; // passes that do not wait for lines
    uint32_t tag_cycles; // to look up its lines
    bool conflicts;
    bool apart;              // a load whose lanes are not side by side
    uint8_t turn[MAX_TURNS]; // in which lookup each of its lines is found, where it has no more of them
    bool noted;              // a store: `written` has the bytes of each of its lines
    uint64_t written[MAX_TURNS][2];
    orr_step_access *live; // performed when it is served (perform.h); NULL: it has been executed
} l1_access;

typedef struct l1_part { // a line in whose sectors stores have written some bytes
    uint64_t line;       // + 1; 0: none
    uint64_t bytes[2];
} l1_part;

typedef struct l1_readout { // loads whose lines are there are read out one after the other, the warps in turn
    uint64_t work, seen, until; // passes of accesses that need no line: from when to when they are
    uint64_t free;              // when what is being read out has been
    uint32_t first, last;       // warps with such loads
    bool busy;                  // one of them is due
} l1_readout;

typedef struct l1_warp {        // loads of a warp that are to be read out
    uint32_t first, last, next; // next: the warp whose turn is after its own
} l1_warp;

typedef struct l1_counters {
    uint64_t requests[2][ORR_L1_KINDS]; // by space: [0] global, [1] local
    uint64_t sectors[2][ORR_L1_KINDS];
    uint64_t hits[2][ORR_L1_KINDS];
    uint64_t pending[2][ORR_L1_KINDS]; // sectors that were already on their way
    uint64_t misses[2][ORR_L1_KINDS];
    uint64_t tags;                // lines looked up
    uint64_t conflicts;           // cycles an access took because sectors shared a bank
    uint64_t busy;                // cycles
    uint64_t full;                // cycles that the queue waited for an MSHR
    uint64_t evicted;             // lines
    uint64_t loads, load_latency; // loads; cycles from issue to use, summed
} l1_counters;

typedef struct l1_client { // whom L1 reports to
    void *self;
    void (*load_done)(void *self, const l1_load *load, uint64_t ready);
} l1_client;

typedef struct l1_cache {
    const l1_spec *spec;
    const core_launch *launch;
    sm_port *port;
    data_pipe *pipe;
    event_queue *clock;
    l1_client client;
    l1_warp *warp; // by number
    orr_cache tags;
    uint64_t bytes;           // of it, with what shared memory leaves; 0: the cache has not been made
    ORR_VEC(uint32_t) filled; // places taken for global memory since L1 was dropped; too many to note: all
    ORR_VEC(l1_load) loads;
    ORR_VEC(l1_mshr) mshrs;
    ORR_VEC(l1_waiter) waiters;
    uint32_t free_load, free_mshr, free_waiter, open_mshrs;
    l1_readout out;
    uint64_t filled_until;  // when the last sector that was waited for is in the registers (l1.fill_interval)
    l1_part *partial_lines; // [PART_LINES] hashed by line
    bool has_partial_lines; // a line has been written in part
    l1_counters n;
} l1_cache;

void l1_spec_read(l1_spec *s, const orr_gpu *g);
void l1_init(l1_cache *c, const l1_spec *s, const core_launch *launch, sm_port *port, data_pipe *pipe,
             uint32_t nwarps);
void l1_free(l1_cache *c);
void l1_reset(l1_cache *c); // the launch says how many bytes of it there are
static inline void l1_start_warp(l1_cache *c, uint32_t warp) { c->warp[warp].first = NOBODY; }

// ---- an instruction
uint32_t l1_expect(l1_cache *c, uint32_t warp, uint32_t inst); // somebody will wait for what it loads: a load
// These lines will be looked up: the host's caches seldom have many of their tags.
void l1_prefetch_lines(const l1_cache *c, const orr_coalesced *x);
// The cycles that the pipe is busy with the access, whose lines are known. *lag: how much later than an
// access of one pass the last word comes.
uint32_t l1_cost(l1_cache *c, l1_access *a, uint32_t *lag);
bool l1_lookup(l1_cache *c, l1_access *a); // goes on with its lines; false: no more misses can be taken on
void l1_finish(l1_cache *c, uint32_t load, uint64_t ready); // all lines of a load are there at `ready`
void l1_drop(l1_cache *c); // CCTL.IVALL: what it has of global memory is invalidated

// ---- events
void l1_fill(l1_cache *c, uint32_t mshr, uint64_t ready);
void l1_lines_there(l1_cache *c, uint32_t load);
void l1_prefetch_fills(const l1_cache *c); // those of its clock: the host's caches seldom have what they need
void l1_read_out(l1_cache *c);

// ---- between l1.c, l1_cost.c and l1_atomic.c
void l1_read_later(l1_cache *c, l1_access *a); // what of its passes waits for its lines
uint32_t l1_copy_misses(const l1_cache *c,
                        const l1_access *a); // cycles of the pipe for a copy whose lines miss
// The lanes of the access at hand that are in `line` go out in cycle `when`. False: no miss can be taken on.
bool l1_atomic_line(l1_cache *c, const l1_access *a, uint64_t line, uint8_t sectors, uint64_t when);
uint32_t l1_miss(l1_cache *c, uint64_t line, uint8_t sectors, uint32_t load, uint32_t fills);
void l1_count(l1_cache *c, const l1_access *a, uint32_t all, uint32_t hit, uint32_t pending);
// The program's instruction that waits for the MSHR first; UINT32_MAX: none.
uint32_t l1_waiting_inst(const l1_cache *c, uint32_t mshr);

#endif
