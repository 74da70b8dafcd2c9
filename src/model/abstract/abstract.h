// The abstract model's nouns (docs/how/abstract.md): Punniyamurthy, Boroujerdian, Gerstlauer, "GATSim:
// Abstract Timing Simulation of GPUs". A kernel's instructions have latencies that were found once, alone
// (cycle/precharacterise.h); what is simulated is who issues when, and memory.
//
// Instructions between two that wait for something unknown (memory, other warps) are one event, a segment,
// and a segment has been scheduled when the kernel was loaded. So time is spent per segment and per memory
// access, not per instruction.
#ifndef ORR_ABSTRACT_H
#define ORR_ABSTRACT_H

#include "memory/cache.h"
#include "memory/reservations.h"
#include "memory/memory.h"
#include "memory/fast_memory.h"
#include "memory/tags.h"
#include "model/abstract/async.h"
#include "model/abstract/code.h"
#include "model/abstract/launch.h"
#include "model/abstract/slots.h"
#include "model/cycle/engine.h"
#include "exec/step.h"
#include "isa/observable.h"
#include "model/cycle/sm.h"
#include "model/cycle/supply.h"
#include "program/program.h"

// ---- an SM ----------------------------------------------------------------------------------------------
#define NEAR_PLACES   8
#define COMING        128 // stretches of 2^COMING_SHIFT cycles
#define COMING_SHIFT  5
#define SEGMENT_INSTS 64 // of a segment at most
#define BATCH         8  // warps at most
#define PARTS_MAX     256
// Warps that do the same, simulated as one (warp_batch.c): awarp.n of them, the last awarp.skew cycles
// behind.
typedef struct warp_batch {
    uint8_t index[BATCH]; // in the block
    uint8_t nparts;
    struct { // by scheduler: warps that follow
        uint8_t sched, n;
    } part[BATCH];
    uint32_t pending; // the segment, + 1, that those that follow have still to be booked for,
    uint64_t pending_from, pending_to; // and when the first of them had it
    uint16_t id[BATCH];                // of those that follow, from 1 on
    const uint8_t *bytes[BATCH];
} warp_batch;

typedef struct warp_ready {         // when places can be used
    uint64_t *loads;                // of those that loads set,
    uint64_t *others;               // of those that other instructions set,
    uint64_t *rear;                 // and as `loads`, for the last of the batch
    uint64_t near[3 * NEAR_PLACES]; // where they are, when they are few,
    uint64_t *many;                 // and when they are not
} warp_ready;

typedef struct warp_step {      // executed as it is timed (step.c)
    struct orr_step_warp *exec; // NULL: it is not
    uint32_t naccess;           // of its block of code so many accesses are known
    bool starved;               // its executor has no block of code for it yet
    bool executes;              // the block that it is in is the one its executor is at
} warp_step;

typedef struct awarp {
    _Alignas(64) orr_trace trace;
    uint32_t seg; // segments
    uint32_t end;
    uint32_t mask;
    uint32_t skew; // of the batch
    uint8_t n;     // 1: it is alone
    uint8_t sched;
    uint8_t waiting; // at a barrier, + 1
    bool has_next, predicated_off;
    uint32_t code;        // block, + 1
    uint32_t body;        // of the code block it is in: orr_tblock.body
    uint64_t memory_done; // when its last load from memory is there
    uint64_t loads_done;  // when its last load is
    uint64_t stores_done; // when its last store has been acknowledged
    uint64_t banks_free;  // when its next access can begin, after one with conflicts (lsu.replay)
    const uint8_t *base;
    uint32_t next, next_mask; // the next block of its trace, when it has been read
    warp_ready ready;
    uint64_t fetched;
    uint32_t *access;
    uint32_t block;   // its thread block's slot
    uint32_t stretch; // how much longer than alone its last segment took, 1/16
    uint32_t group;
    warp_step step;
    warp_batch batch;
    uint64_t group_ready[MAX_GROUPS];
    async_warp async;
} awarp;

typedef struct asched {
    slots slots;
    uint64_t used; // warps in use
    uint8_t pool_of[ORR_GPU_UNITS_MAX];
    orr_cache l0;
    uint64_t *l0_when, l0_last;
    uint64_t *seen; // [segment] bit: its code, and what is fetched ahead of it, is there
} asched;

// SMs that do the same are simulated as one (sm_group.c).
#define GROUP 4
typedef struct ablock {
    block_traces *buf;           // NULL: free
    struct orr_step_block *live; // executed as it is timed (step.c); NULL: it is not
    block_traces *peer[GROUP - 1];
    uint32_t npeers;
    uint64_t start, end;
    uint32_t running, nwarps, at_barrier;
    uint64_t last_arrival[BLOCK_BARRIERS]; // at a barrier, the last
    uint32_t bar_latency;                  // of the barrier that somebody came to last
    uint32_t *warp;
    uint32_t arrived[BLOCK_BARRIERS];
    async_block async;
} ablock;

#define WAITS (1ull << 63) // in warp_queue.when: at a barrier

// An SM is made of these parts.
typedef struct warp_queue { // who runs next: a warp goes on when what it waits for is there
    uint64_t *when;         // by warp: it goes on then
    uint16_t *order;        // warps by age
    uint16_t *list;         // those that run now
    const uint8_t **at;     // by warp: where its trace goes on, for the host to fetch
    uint32_t n, turn;
    uint64_t next; // when the first of them goes on
    bool changed;  // warps have ended or were let go by others
} warp_queue;

typedef struct unit_pools {
    uint32_t *units; // of each pool
    slots *at;
    uint32_t n;
} unit_pools;

typedef struct block_places { // thread blocks that are resident
    ablock *at;
    uint32_t n, running, cap; // slots; those with a block
    uint32_t next_sched;
    uint32_t started, started_last; // blocks, in this window and in the last
    uint64_t free;
} block_places;

typedef struct load_store {               // the load/store unit with L1's tags
    slots passes;                         // cycles of L1 and shared memory
    slots idc;                            // cycles of the constant cache's port
    uint64_t blocked_from, blocked_until; // L1 takes nothing: the port or its MSHRs are full
    uint64_t stored_from, stored_until;   // loads wait for what a store has written (l1.store_drain)
    orr_tags *tags;
} load_store;

typedef struct code_caches { // instructions and constants
    orr_cache tags;
    const_caches constants;
    uint64_t *when, last; // by line: when what is on its way is there
} code_caches;

typedef struct l1_fills { // lines on their way to L1
    uint64_t from;        // stretch of time: this many come in it, and after it
    uint16_t n[COMING];
    uint32_t misses;
} l1_fills;

typedef struct xbar_port { // the SM's port into the crossbar
    orr_reservations send;
    uint64_t stalled_from, stalled_until; // ticks: the port takes nothing
    uint64_t sent;                        // ticks: when what was sent last has left
    struct { // stores at the port, by line: later ones join those that wait (xbar.merge_stores)
        uint64_t line, came, leaves;
        uint32_t number; // of all stores: only the last ones are still there (xbar.merge_lines)
        uint8_t sectors;
    } stores[64];
    uint32_t nstores;
    // Stores of part of a sector: so many are on their way at most (xbar.partial_stores), and some more wait
    // at the port (xbar.merge_lines).
    struct {
        uint64_t done[PARTS_MAX]; // ticks: when the SM hears of those on their way, a heap
        uint64_t left[PARTS_MAX]; // when the last ones left, a ring
        uint32_t n, out;
    } parts;
    int side; // of L2
} xbar_port;

typedef struct afence_round { // warps that fence together
    uint64_t from, until;
    uint32_t warps;
} afence_round;
typedef struct sm_fences {            // fence.c
    bool on;                          // this kernel has such
    afence_round last, next;          // that began last; behind it, where `warps` says so
    uint64_t l1_free;                 // L1 has been invalidated
    uint64_t stored;                  // the last of the SM's stores has been acknowledged
    uint64_t is[VISITED_SLICES / 64]; // slices where the SM has been since the last round
    orr_fast_place place[VISITED_SLICES];
    uint32_t visited;
} sm_fences;

struct orr_latencies;
struct machine;
typedef struct acore {
    struct machine *m;
    uint32_t id;
    uint32_t members; // SMs that it stands for, with itself
    uint32_t times;   // so many blocks do what the warp at hand does
    asched *sched;
    awarp *warps; // [schedulers x per_sched]
    int warps_cap;
    uint32_t places, accesses; // that its warps have room for
    bool bad_trace, prepared;
    warp_queue queue;
    block_places blocks;
    unit_pools pools;
    code_caches fetch;
    load_store lsu;
    l1_fills fills;
    xbar_port port;
    async_core async;
    sm_fences fences;
    block_traces *done;
    uint64_t finished, since, active;
    orr_sm_counts n;
} acore;

typedef struct access { // one memory instruction at work
    const orr_tinst *i;
    uint64_t from; // cycle: the unit began with it
    uint32_t cost;
    uint32_t lag;    // how much later than with an access of one cycle its last word comes
    uint16_t each;   // shared memory: cycles of a pass
    uint16_t passes; // over L1's banks, where words are in each other's way; 0: they are not
    uint8_t space;
    bool scattered; // its lanes have no regular distance
    bool row;       // lanes in a row: how many of them are in each line is not worked out
} access;

// A line's way to L2.
enum {
    TRIP_FILL,  // a load, into a way of L1
    TRIP_READ,  // past it
    TRIP_WRITE, // a store, or what L1 writes back
    TRIP_ATOMIC,
    TRIP_JOIN,  // none: the line comes with another trip,
    TRIP_STAND, // for which no more can wait, so the unit does
};
#define UNKNOWN 0xffff0000u // in L1, when a line comes: with the trip of this number
#define TRIPS   1024u
#define WORKS   64u
typedef struct atrip {
    uint64_t line, done;
    orr_fast_place place;
    orr_tag_set *set; // of L1, and when the line's way of it is there
    uint32_t *when;
    uint32_t lag;            // cycles after the first line
    uint32_t before, latest; // of the way and of the set, until it is made; JOIN, STAND: with which
    uint16_t tag;
    uint8_t kind, from, sectors, whole, lanes, way;
    uint8_t index; // of the batch's warps
} atrip;
typedef struct awork { // an access under way
    access k;
    const amem *x;
    uint64_t t, from, ready;
    uint32_t trip, ntrips;
    uint32_t lag, span;   // cycles after the first access that are those of the one at hand, of the last
    uint32_t waits;       // of its lines, those that are not there
    uint8_t which, index; // of the segment's; of the batch's warps, the last
    uint8_t whose;        // the one at hand
} awork;
typedef struct aissue { // of the first warp
    orr_trace at;
    uint64_t when, held; // when it was issued, and the cycles it was held up
    uint64_t rear;       // when the last of those that follow has its data
} aissue;

typedef struct mem_inst { // the memory instruction at hand
    const amem *x;
    awarp *warp;
    orr_access access;
    orr_coalesced lines;
    uint8_t whole[ORR_LINES_MAX], lanes[ORR_LINES_MAX]; // by line: sectors a store writes whole; lanes
} mem_inst;

typedef struct seg_at_hand { // the segment at hand: its accesses, and their lines' ways to L2
    const amem *first;
    uint64_t late, skew;
    uint32_t nwork, ntrips;
    aissue issue[SEGMENT_INSTS];
    awork work[WORKS];
    atrip trips[TRIPS];
    orr_fast_place peers[TRIPS][GROUP - 1]; // where the same trips of peers go
} seg_at_hand;

typedef struct code_supply {    // where a launch's code comes from
    bool models;                // code is not always there
    bool fits;                  // into the first instruction cache
    bool warm;                  // all of it is in the second from the start
    uint32_t *named, named_cap; // by line of code: cycles for constants that no line before it names
    uint32_t seen;              // words of asched.seen
    uint64_t lines;
} code_supply;

typedef struct sm_network {    // between SMs, L2 and the dispatcher
    orr_reservations *receive; // [SM] ports from the network
    orr_reservations *gpc;     // [SM] with xbar.gpc_reply: ports that the SMs of a GPC share, by GPC
    orr_reservations dealer;   // launch.block_interval
    orr_topology topology;
    uint32_t *numbers; // [SM] as the GPU numbers them, for local memory
} sm_network;

typedef struct launch_part { // some of a launch's thread blocks are simulated (launch.h)
    const abt_watch *watch;  // NULL: all are
    orr_profile *touches;    // what warming needs to know of the kernel, then
    orr_arena arena;
} launch_part;

typedef struct sm_groups {  // SMs that are simulated as one (sm_group.c)
    uint32_t most, apart;   // of a group; how far they are apart
    uint64_t wanted, found; // peers
} sm_groups;

typedef struct l1_caches {
    orr_tags *tags; // [SM]
    uint64_t bytes;
    orr_l1_spec spec; // as the cycle model has it, but for folded tag banks
} l1_caches;

typedef struct stepped {   // a launch that is executed as it is timed (step.c)
    struct orr_step *step; // NULL: it is not
    uint64_t entered;      // blocks of code
} stepped;

typedef struct machine {
    const orr_gpu *gpu;
    orr_gpu one; // the same with one SM, and
    cycle *c;    // the cycle model's machine of it, for the latencies it has worked out
    // the launch
    acode *code;
    const orr_kernel *kernel;
    const orr_occupancy_result *occ;
    uint32_t cluster; // thread blocks of a cluster
    uint32_t batch;   // warps of a batch at most
    warp_room room;
    uint64_t local_frame; // of a warp, in lines
    stepped stepped;
    launch_part part;
    code_supply fetch;
    sm_groups groups;
    // the GPU
    acore *cores;
    uint32_t ncores, nsched, per_sched, lsu_queue;
    struct {
        uint64_t from, until;
        uint64_t spacing; // between the starts of two blocks on an SM
    } window;             // cycles
    bool blocks_left, perfect, control, collector;
    uint64_t issue_interval;
    orr_fast_memory *memory;
    l1_caches l1;
    sm_network net;
    // what is being simulated
    mem_inst inst;
    seg_at_hand seg;
} machine;

// ---- core.c: Algorithm 1, segment by segment ---------------------------------------------------------
void abt_core_run(acore *s, uint64_t until);
void abt_core_soon(const acore *s); // it will: the host fetches what is needed first

// ---- warp_batch.c ----------------------------------------------------------------------------------------
// The form of a trace; NULL: not looked for, or it has none.
const aform *abt_form_of(acode *c, orr_warp_trace t);
const aform *abt_form_any(acode *c, orr_warp_trace t); // wide ones, too, whether it pays or not
bool abt_form_has(const aform *f, orr_warp_trace t);
void abt_form_free(acode *c);
void abt_batch_join(awarp *w, const awarp *other, uint32_t id, orr_warp_trace t);

// ---- sm_group.c -----------------------------------------------------------------------------------------
void abt_group_open(machine *m, const orr_launch_info *info, bool sampled); // of a launch
// A block that does what b does, for another SM of the group; NULL: there is none near. Seconds that reading
// took are added.
block_traces *abt_group_find(machine *m, supply *supply, const block_traces *b, double *reading);
bool abt_group_over(machine *m); // too few were found: from now on each SM is simulated by itself

// ---- block.c -----------------------------------------------------------------------------------------
void abt_block_start(acore *s, uint32_t slot, block_traces *b,
                     uint64_t when); // its peers are in the slot already
// Warp `id` comes to barrier i in cycle `when`; s->when[id] is when it could go on by itself.
void abt_block_barrier(acore *s, uint32_t id, const orr_tinst *i, uint64_t when);
void abt_block_warp_ended(acore *s, uint32_t id);

// ---- access.c: what a memory instruction touches ---------------------------------------------------------
int abt_access_kind(const orr_tinst *i); // ORR_L1_*
// Its lines are in machine.inst; false: the trace is damaged.
// `at`: where it is in the trace of warp `id`; past it afterwards.
bool abt_access(acore *s, uint32_t id, orr_trace *at, const amem *x, access *k);
// The same, if it is lanes in a row as the last access of the instruction was; else false, and nothing is
// done.
bool abt_access_row(machine *m, orr_trace *at, const amem *x, access *k);
// Where the warp's next access, or x's, is.
orr_trace abt_access_at(const acore *s, const awarp *w, const amem *x);
bool abt_access_skip(orr_trace *t); // past one access

// ---- lines.c: L1, and the way to L2 ------------------------------------------------------------------
// Of the access at hand, in global or local memory: what L1 has, and when that is there.
void abt_lines_look_up(acore *s, awork *a);
void abt_lines_travel(acore *s, const awarp *w, awork *a);    // and what it has not
void abt_lines_hold(acore *s, uint64_t from, uint64_t until); // L1 takes nothing between these cycles

// A line of a bulk copy that leaves in cycle `when`: when it is there; of a store, when the port has sent it.
uint64_t abt_lines_bulk_load(acore *s, const tma_line *x, uint64_t when);
double abt_lines_bulk_store(acore *s, const tma_line *x, double when, bool reduces);

// ---- async.c -------------------------------------------------------------------------------------------
void abt_async_start(acore *s); // a launch
void abt_async_free(acore *s);
void abt_async_block_start(ablock *b);
void abt_async_block_free(ablock *b);
void abt_async_warp_start(acore *s, awarp *w);
// When the product, or the wait for products, can be issued that a segment begins with.
uint64_t abt_async_before(const acore *s, const awarp *w, const orr_tinst *i, uint64_t t);
// The instruction that a segment of warp `id` has ended with, at *t. True: the warp has been put aside.
bool abt_async_after(acore *s, uint32_t id, const aseg *g, uint64_t *t);
void abt_async_goes_on(acore *s, uint32_t id, uint64_t when); // one that was put aside
void abt_async_arrived(acore *s, ablock *b, uint64_t mbar, uint32_t lanes, uint64_t when);
// An access of the block of code at hand, of the k-th warp of a batch.
orr_trace abt_async_access(const awarp *w, uint32_t access, uint32_t k);
uint64_t abt_async_due(const acore *s);                  // when the next request of a bulk load leaves
void abt_async_send(acore *s, uint64_t stop);            // those that leave before `stop`
uint64_t abt_async_landed(acore *s);                     // when all bulk loads that were asked for are there
bool abt_async_grant(acore *s, awarp *w, uint64_t when); // registers; false: it does not wait for any
// Nothing else can happen: waits that nobody ends (streams from elsewhere) are over.
bool abt_async_unstick(machine *m);

// ---- cluster.c -----------------------------------------------------------------------------------------
void abt_cluster_arrive(const machine *m, const ablock *b, uint32_t rank, uint64_t mbar, uint32_t lanes,
                        uint64_t when);
bool abt_cluster_barrier(acore *s, uint32_t id, const orr_tinst *i, uint64_t when); // true: it waits
void abt_cluster_left(acore *s, ablock *b, uint64_t when);                          // a warp has ended
// An access of other blocks' shared memory at cycle `at`: when its result is there, or it has been sent.
// False: all of it is the block's own.
bool abt_cluster_access(acore *s, awarp *w, const amem *x, uint64_t at, uint64_t *ready);

// ---- lsu.c, fetch.c ----------------------------------------------------------------------------------
// The accesses of a segment: each of them begins, issued at t, then all end together; then it is known how
// many cycles the warp is held up, with those that its results are later than scheduled.
void abt_memory_begin(acore *s, awarp *w, const amem *first, uint32_t which, uint64_t t);
uint64_t abt_memory_end(acore *s, awarp *w, uint32_t n); // of n, quiet ones among them
// Where only the cost matters: cycles of the unit, and in *more those beyond what the schedule has; *all: of
// the whole batch.
uint32_t abt_memory_cost(acore *s, awarp *w, const amem *x, uint32_t *more, uint32_t *all);
// The warp will run soon: what is known of the line that it goes to next.
void abt_memory_prefetch(const acore *s, const awarp *w);
void abt_memory_start(acore *s);
void abt_memory_shape(machine *m, uint64_t l1_bytes); // of a launch: what shared memory leaves to L1
// A line that it did not have last; *there is cleared when it, or one that is fetched ahead, is on its way.
uint64_t abt_fetch(acore *s, awarp *w, uint64_t line, uint64_t now, bool *there);

// ---- fence.c ---------------------------------------------------------------------------------------------
void abt_fences_start(acore *s); // a launch
// It has asked a slice for a line, with an atomic or a load.
void abt_fences_visit(acore *s, const orr_fast_place *p);
// A warp's fence for the GPU (1, 2) or the system (3): when it is over. Where s->fences.on.
uint64_t abt_fence(acore *s, uint32_t scope, uint64_t now);
void abt_fences_invalidate(acore *s, uint64_t now); // a warp has L1 invalidated

// ---- step.c: kernels that are executed as they are timed ----------------------------------------------
bool abt_step_wants(const orr_work *w);
void abt_step_start(machine *m, const acore *s, ablock *b);
void abt_step_end(ablock *b);
// The next block of code of a warp, in its trace: ORR_STEP_*. *t is later if it waits.
int abt_step_pull(acore *s, awarp *w, uint64_t *t);
// It enters the block whose event was at `event`.
void abt_step_enter(awarp *w, const uint8_t *event);
// A segment is executed at t; the cycles that its warp asks to sleep for.
uint64_t abt_step_reach(acore *s, awarp *w, const aseg *g, uint64_t t);

// ---- engine.c ----------------------------------------------------------------------------------------
machine *abt_machine_new(const orr_gpu *g, orr_err *e);
void abt_machine_free(machine *m);
typedef struct arun {
    uint64_t cycles, sm_active;
    double execute_seconds;
    orr_sm_counts n;
    orr_sampler *sampler;   // in: as in orr_work
    const abt_watch *watch; // in: as in launch.h; NULL: nobody watches
} arun;
bool abt_left_out(const machine *m, const block_traces *b); // launch.h
bool abt_run(machine *m, orr_source *source, const orr_occupancy_result *occ, run_host host, arun *out,
             orr_err *e);

#endif
