// Private to exec/: a kernel decoded for one launch, a thread block in flight, and the worker that runs it.
#ifndef ORR_BLOCK_H
#define ORR_BLOCK_H

#include <stdatomic.h>

#include "exec/warp.h"

#define MAX_WARPS    32 // 1024 threads
#define POLL_QUANTUM 512
#define BARRIERS     16
#define MAX_CLUSTER  16   // thread blocks of a cluster
#define RESERVED     1024 // bytes of shared memory for the system, in kernels that ask where they are
// What shared memory is full of when a block begins whose products look for what nobody has written; else 0.
#define ORR_UNSET 0x9f3b71c5d80e6a24ull

// ---- memory ---------------------------------------------------------------------------------
typedef struct range { // an allocation, [lo, lo + size)
    uint64_t lo, size;
} range;
const range *orr_mem_find(const orr_mem *m, uint64_t addr); // NULL: in none
// [addr, addr + bytes) in no allocation, where that passes (orr_mem_as_gpu) and is counted; NULL: it does
// not.
uint8_t *orr_mem_stray(orr_mem *m, uint64_t addr, uint64_t bytes);
uint8_t *orr_mem_at(const orr_mem *m, uint64_t addr); // host pointer of a device address
// Where memory begins, and how far it goes: to the end of the last page that has an allocation.
void orr_mem_extent(const orr_mem *m, uint64_t *from, uint64_t *bytes);
bool orr_mem_strict(const orr_mem *m);               // not as a GPU has it
void orr_mem_count_strays(orr_mem *m, orr_strays s); // these are all that there have been

// ---- decoded --------------------------------------------------------------------------------
typedef struct xblock {     // a basic block, ready to run
    const uop *first, *end; // plain micro-ops
    const uop *last;        // the one that decides where to go, or NULL: next
    const uop *waits;       // the first micro-op, if it must wait for other lanes
    uint32_t count;         // instructions, `last` included
    bool polls;             // sees what others do: atomics, volatile accesses, sleep (run/poll.c)
    bool only_polls;        // polls, and does nothing else
    bool spins;             // of PTX: a loop that only polls, or sleeps
    uint32_t spin_loop;     // of PTX: the loop that only polls which it is part of, + 1; 0: none
    bool locks;             // a loop that takes a lock
    bool parts;             // its lanes meet at the end of the kernel, where nobody need wait for another
    bool tries;             // has waits for the phase of an mbarrier (run/arrive.c)
    int32_t next, ipdom;
    oper members;   // of `waits`
    uint32_t keeps; // warp.shapes.found: those of whose rows it writes none
    uint8_t ends;   // ENDS_*
    bool syncs;     // ends in a BSYNC
} xblock;

enum { ENDS_OTHERWISE, ENDS_NEXT, ENDS_BRANCH }; // BRANCH: to one target, each lane by itself

typedef struct constant_key {
    uint64_t value;
    uint32_t off; // 0: none
    uint8_t cls;
} constant_key;
typedef struct constants { // while they are gathered
    uint8_t *bytes;
    size_t n, cap;
    constant_key *keys;
    uint32_t slots, used;
} constants;
uint32_t orr_constant(constants *c, int cls, uint64_t value); // its offset in BANK_CONST
uint8_t *orr_constants_take(constants *c);                    // the bank, aligned; c is empty then

typedef struct decoded {
    const orr_launch *launch;
    const orr_kernel *kernel;
    xblock *blocks;
    uop *uops;
    constants pool;               // until it is made
    uint8_t *constants;           // BANK_CONST
    uint32_t rows[ORR_CLASSES];   // registers a warp has, by class
    uint32_t zeroed[ORR_CLASSES]; // of machine code: of them, from the first on, 0 when a warp begins
    // Machine code: instruction addresses are the module's; bank 0 as it is in this launch.
    const uint32_t *uop_of; // [instruction] its first micro-op
    uint32_t *block_of;     // [instruction]: the block that begins there, + 1
    uint8_t *bank0;
    uint32_t barriers; // where the rows of the convergence barriers begin in bank W
    uint32_t nmem;     // memory micro-ops
    uint32_t threads, nwarps;
    uint32_t shared_bytes; // per block, with what is set aside for the system
    uint32_t reserved_at;  // where that begins
    bool unset;            // it has products in strict memory: ORR_UNSET
    uint32_t local_bytes;  // per thread
    uint32_t *tid;         // [warp][x y z][lane]
    uint32_t sm_count;
    uint32_t scratch;         // machine code: where rows that only one instruction uses begin in bank W
    struct jit *jit;          // its blocks as host code (jit/jit.h); NULL: they are interpreted
    struct jit_block *jitted; // [block]
    uint32_t hot;             // how often a block is interpreted before it is compiled
    orr_arena arena;
} decoded;

bool orr_decode(decoded *p, const orr_launch *l, orr_err *e);
// The micro-op's handlers for a PTX operation, of whichever family has them.
handlers orr_pick(const orr_kernel *k, const orr_inst *i, const char **why);
void orr_decoded_free(decoded *p);
void orr_polls(decoded *p);  // run/poll.c: which of its blocks poll
void orr_shapes(decoded *p); // run/shapes.c: which of its loads and stores have the same addresses

// ---- thread block ---------------------------------------------------------------------------
typedef struct barrier {
    uint32_t arrived[MAX_WARPS];
    uint32_t threads;  // expected, 0: all
    uint32_t popc;     // reductions over those that have arrived
    uint32_t all, any; // 1 while every / some predicate was true
} barrier;

typedef struct mbar_count { // an mbarrier
    uint32_t at;            // offset in shared memory
    uint32_t operations;    // operations of lanes on it, arrivals and the like
    uint32_t at_phase_end;  // operations on it when its last phase was over
} mbar_count;
typedef struct flight { // a bulk copy to [from, end) of shared memory for which nobody has waited
                        // (run/flights.c)
    uint32_t from, end, mbar, number;
} flight;

typedef struct used_map { // a tensor map as it was when the block used it (run/maps.c)
    uint64_t addr, digest;
} used_map;

typedef struct cluster { // run/cluster.c
    uint64_t index;
    uint32_t size, left;   // blocks; of them not given back yet
    uint32_t arrived;      // threads at the barrier in this phase
    uint32_t phase;        // of the barrier: how often all have met
    uint32_t next_failing; // the block whose try fails next when all are stalled
    struct tblock *tb[MAX_CLUSTER];
    struct cluster *next; // of the worker
} cluster;

typedef struct tblock {
    const decoded *prog;
    struct worker *worker;
    bool faulted;
    uint32_t releases; // how often a barrier has let warps go
    uint64_t index;
    uint32_t ctaid[3];
    warp *warps;
    uint32_t running; // warps not finished
    uint32_t rounds;  // of slices it has had since it last finished a warp
    uint32_t sm;      // where it runs, of one that is executed as it is timed (run/step.c)
    uint8_t *shared;
    uint8_t *local; // [thread][local_bytes]
    barrier bar[BARRIERS];
    uint32_t bars_open;        // barriers at which somebody has arrived
    ORR_VEC(mbar_count) mbars; // those that somebody has come to
    ORR_VEC(flight) flights;   // copies under way
    uint32_t *read_by;         // who last multiplied by each 16 bytes of `shared`; NULL: nobody has
    ORR_VEC(used_map) maps;
    uint32_t next_failing; // the warp whose try fails next when all are held
    uint32_t failed_tries; // such tries since somebody last arrived
    orr_trace_out *traces;
    orr_warp_trace *views;
    cluster *cluster;    // NULL: it is in none
    cluster single;      // then: the barrier of a cluster of one
    uint32_t rank;       // in the cluster
    bool progressed;     // some warp has gone on in its last turn
    uint32_t tag;        // bits 24 and up of its shared addresses, of machine code
    struct tblock *next; // in a queue or the worker's free list
} tblock;

// What running a warp or a block came to.
enum { RUN_DONE, RUN_WAITS, RUN_YIELDS, RUN_HELD, RUN_STALLED, RUN_FAULT };

typedef struct worker { // one host thread's share
    decoded *prog;
    orr_mem *mem;
    uintptr_t memory; // where device address 0 would be
    range *range;     // the allocation each memory micro-op touched last
    bool streams;
    const orr_tally *tally;     // NULL: none
    orr_tally_count *counts_of; // its part of them
    tblock *spare;              // finished blocks, to be used again
    ORR_VEC(warp_areas) areas;  // of warps that have ended
    cluster *clusters;          // that have blocks not given back
    orr_exec_counts counts;
    orr_err err; // the fault
    uint64_t fault_index;
    int fault;                   // ORR_FAULT_*
    uint64_t unobserved;         // blocks before this make no streams
    live *watch;                 // its warps' step (run/races.c); NULL: nobody watches
    void *products;              // ops/wgmma.c: matrices multiplied by of late; NULL: none
    atomic_uint_fast64_t *bound; // blocks from here on need not go on: an earlier one failed; NULL: none
} worker;

bool orr_tally_samples(const orr_tally *t, uint64_t index);
bool orr_tally_tell(const orr_tally *t, int n, tblock *tb,
                    orr_err *e); // a finished block, to whom it counts for
void orr_worker_init(worker *k, decoded *p, bool streams);
void orr_worker_free(worker *k);
tblock *orr_block_start(worker *k, uint64_t index);
int orr_block_run(tblock *tb);       // RUN_DONE, RUN_YIELDS or RUN_FAULT
int orr_block_alone(tblock *tb);     // the same without the rest of its cluster; or RUN_STALLED
bool orr_block_release(tblock *tb);  // true: lanes that waited for others of their warp go on
void orr_block_deadlock(tblock *tb); // says that it cannot go on
void orr_block_finish(tblock *tb);   // adds its counts, gives it back to the worker

int orr_warp_run(warp *w); // run/warp.c
// For run/step.c, which goes through blocks of code itself.
frag *orr_warp_choose(warp *w, bool yields);
void orr_warp_banks(warp *w, const frag *f);
void orr_warp_last(warp *w, frag *f, const xblock *x);
bool orr_warp_meets(warp *w,
                    frag *f); // it is at a block: all lanes that this begins with are there, or it waits
// It has left a block, which takes so much of its quantum (POLL_QUANTUM): are others to have a turn?
bool orr_warp_polled(warp *w, frag *f, const xblock *x, int64_t takes);

// run/arrive.c: mbarriers
void orr_mbar_find(decoded *p);                            // where its warps wait for them; decoded.unset
bool orr_mbar_holds(warp *w, const uop *u, uint32_t mask); // a try whose phase is not over
void orr_mbar_done(warp *w, const uint8_t *at, bool over); // a lane has arrived there; it was the last
// A wait: the lanes that find it over, and, for a stream, what it needed.
void orr_mbar_found(warp *w, const uop *u, size_t head, uint8_t *const host[ORR_WARP], uint32_t over);
void orr_mbar_copy(warp *w, const uint8_t *at, uint32_t from,
                   uint32_t bytes); // the copy that came there last
bool orr_mbar_fail_one(tblock *tb); // nobody goes on: somebody's try fails. False: nobody is held
void orr_warp_again(warp *w, uint32_t block,
                    uint32_t lanes);                   // a block of one instruction, executed once more
uint32_t orr_sass_seen(const warp *w, uint32_t *gone); // other lanes whose registers a SHFL reads; and cannot
frag *orr_sass_choose(warp *w, bool yields);           // sass/converge.c: who goes on, of machine code
frag *orr_warp_part(warp *w, frag v);                  // a new fragment, ready
void orr_warp_exit(warp *w, frag *f, uint32_t lanes);  // lanes of f end
void orr_warp_start(warp *w, tblock *tb, uint32_t index);
void orr_warp_registers(warp *w);       // before it runs
void orr_warp_leaves(warp *w);          // it has ended: others may have its registers
bool orr_warp_release(warp *w);         // lanes that wait at joins go on: false when there are none
bool orr_warp_settle(warp *w, frag *f); // after its pc changed: false when it now waits for others

void orr_mbar_recheck(tblock *tb); // run/arrive.c: held warps look whether they may go on

// run/flights.c
void orr_copy_begins(tblock *tb, const mbar_count *c, uint32_t from, uint32_t bytes);
void orr_copies_land(tblock *tb, const mbar_count *c); // somebody has seen that the phase is over
const flight *orr_copy_over(const tblock *tb, uint32_t from,
                            uint32_t end); // NULL: none has any of these bytes

// Of an access that lanes make at `host`: false after a fault, where a copy is under way.
bool orr_copies_apart(warp *w, const uop *u, uint32_t bytes, uint8_t *const host[ORR_WARP]);
// Where and how the warp's next product is to mark each 16 bytes of shared memory that it reads; NULL: not.
uint32_t *orr_product_reads(warp *w, uint32_t *mark);
void orr_products_over(warp *w, uint32_t allowed); // the warp waits until so many groups of them are left
bool orr_product_left(const tblock *tb, uint32_t from, uint32_t bytes, uint32_t *at, uint32_t *group);

// run/maps.c
bool orr_map_known(tblock *tb, uint64_t addr,
                   const uint8_t *map); // false: it has changed since the block used it
void orr_maps_fence(warp *w, const uop *u);

// run/apart.c
bool orr_keep_apart(const orr_launch *l);   // its blocks may run in any order
bool orr_calls_system(const orr_kernel *k); // run/step.c: it prints, asserts or takes memory of the heap
bool orr_may_race(const orr_launch *l);     // plain loads may find what other threads have stored
void orr_stored_extent(const orr_launch *l, uint64_t *from, uint64_t *bytes); // where it stores at most

// run/races.c: an access of global memory; false: there is no need to go on
bool orr_watch_access(warp *w, const uop *u, const uint64_t addr[ORR_WARP], uint32_t lanes, uint32_t bytes);

// run/cluster.c
uint32_t orr_cluster_size(const orr_launch *l); // blocks
void orr_block_place(const orr_launch *l, uint64_t index,
                     uint32_t ctaid[3]); // of the index-th block that is started
cluster *orr_cluster_of(worker *k, uint64_t index, bool *is_new);
void orr_cluster_leave(tblock *tb);
int orr_cluster_run(tblock *tb);    // as orr_block_run, all blocks of its cluster
void orr_cluster_check(cluster *c); // threads have ended or arrived: has the barrier all of them?
void orr_cluster_arrive(warp *w, const uop *u);
bool orr_cluster_holds(const warp *w); // barrier.cluster.wait: not all have arrived
tblock *orr_cluster_block(tblock *tb, uint64_t addr, uint64_t *offset); // whose shared memory; NULL: nobody's
uint32_t orr_cluster_tag(const tblock *tb, uint32_t rank);              // what is added to an offset there
tblock *orr_cluster_owner(tblock *tb, const uint8_t *host);

// run/block.c: barriers
bool orr_barrier_arrive(warp *w, frag *f, const uop *u); // true: f goes on; false: it waits
void orr_barrier_lanes_gone(tblock *tb);                 // lanes exited: some barrier may be complete

#endif
