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
#include "model/abstract/launch.h"
#include "model/cycle/engine.h"
#include "exec/step.h"
#include "isa/observable.h"
#include "model/cycle/sm.h"
#include "model/cycle/supply.h"
#include "program/program.h"

// ---- time that is taken ---------------------------------------------------------------------------------
// Cycles of a scheduler, of a unit, of L1, a bit each: taken. An instruction takes `interval` of them side by
// side. Who asks first, the warp that goes before others, gets those it wants, and the next one those that
// are left.
#define SLOT_WORDS 32u
typedef struct slot_word {
    uint64_t word, whose; // the word of time that it stands for
} slot_word;
typedef struct slots {
    uint64_t full, to; // words from `full` to `to` are full
    slot_word at[SLOT_WORDS];
} slots;

// n instructions one after the other from cycle t on; when the last of them is issued. abt_slots_search
// (core.c) is for when not all that they want is free.
uint64_t abt_slots_search(slots *q, uint64_t t, uint32_t n, uint32_t interval);
static inline uint64_t slots_take(slots *q, uint64_t t, uint32_t n, uint32_t interval) {
    slot_word *w = &q->at[(t >> 6) % SLOT_WORDS];
    uint32_t at = t & 63, bits = n * interval;
    if (at + bits >= 64) return abt_slots_search(q, t, n, interval);
    if (w->whose != t >> 6) { // nobody has been there yet, unless it is one of the full ones
        if ((t >> 6) - q->full < q->to - q->full) return abt_slots_search(q, t, n, interval);
        *w = (slot_word){.whose = t >> 6};
    }
    uint64_t mine = ((1ull << bits) - 1) << at;
    if (!(w->word & mine)) {
        w->word |= mine;
        return t + bits - interval;
    }
    if (n == 1 && interval <= 2) { // the first that is free
        uint64_t left = ~(w->word | ((1ull << at) - 1)), run = interval == 1 ? left : left & left >> 1;
        if (run) {
            uint32_t first = (uint32_t)__builtin_ctzll(run);
            w->word |= (uint64_t)(2 * interval - 1) << first;
            return (t & ~63ull) + first;
        }
    }
    return abt_slots_search(q, t, n, interval);
}

// ---- code ---------------------------------------------------------------------------------------------
// What is simulated is not instructions but segments: instructions of one code block that a warp issues one
// after the other without waiting for anything that is not known beforehand (memory, other warps). A segment
// has been scheduled once, alone (code.c): how long it takes, and what it takes of its scheduler and of the
// units that can be in the way.
typedef struct aseg {
    uint32_t len;            // cycles until the next segment can begin
    uint32_t tail;           // of them after the issue of its last instruction
    uint32_t burst, nbursts; // in code->bursts: what it takes of its scheduler
    uint32_t mem, wait;      // in code->mems, code->waits
    uint32_t line;           // of code, + 1, and how many
    uint32_t head, inst;     // the first instruction, the last
    uint16_t nmem, nwait, nlines;
    uint32_t slots;        // of all bursts: of the scheduler,
    uint16_t unit, busy;   // and of the unit that is needed longest; 0: none
    uint8_t before, after; // orr_tkind of a special instruction at its beginning, its end; else 0
    uint16_t gate;         // of a fence, + 1: the access that is under the same predicate; 0: there is none
} aseg;
// What a segment may end with besides an orr_tkind: setmaxnreg; tensor maps asked for ahead.
enum { AFTER_REGISTERS = 200, AFTER_MAPS };

typedef struct aburst { // instructions issued one after the other without a gap
    uint16_t at;        // cycles after the segment's beginning
    uint16_t slots;     // of the scheduler
    uint16_t banks;     // and so many more, in which it waits for register banks
    uint16_t unit;      // that it needs more of than its scheduler gives it,
    uint16_t busy;      // and for how many cycles; 0: none
} aburst;

typedef struct amem { // a memory instruction of a segment
    uint32_t inst, memo;
    uint16_t at;      // cycles after the segment's beginning
    uint16_t slack;   // cycles that its result may be late without anybody noticing
    uint16_t latency; // as scheduled, when it is not `late`
    uint16_t access;
    uint16_t set[4]; // places that wait for it
    uint8_t nset, kind;
    bool strong; // other threads may be polling: its store is not merged with others
    bool late;   // only memory knows when it is done
    bool quiet;  // nothing but its cost matters
    bool loads, async;
    bool runs; // lanes in a row are nothing special: no atomic, no copy, nobody waits for it
    uint8_t bytes;
} amem;

typedef struct aplace { // a place, and cycles from a block's beginning or end
    uint32_t place, cycles;
} aplace;

typedef struct acblock { // a code block
    uint32_t dry, ndry;  // segments when nothing is under way; 0: it loads something
    uint32_t wet, nwet;  // and when something may be: begins a segment wherever somebody could wait
    uint32_t use, nuse, late, nlate; // in code->places: what it needs, what is not yet there when it ends
    uint32_t count, first, end;      // instructions; `end` is one behind the last
    bool jumps;                      // its branch costs more when taken
} acblock;

// Warps that run the same code tend to have the same pattern of addresses: what was worked out for the last
// one holds when the trace's bytes are the same but for the upper bits of the address.
#define MEMO_BYTES 80
#define MEMO_LINES 32
typedef struct amemo {
    uint32_t mask; // of the block
    uint8_t n;     // bytes of the trace; 0: nothing is kept
    uint8_t base;  // where in them the address is
    uint8_t low;   // its last 7 bits
    uint8_t space;
    uint16_t nlines, sectors, cost, lag, each;
    uint8_t bytes[MEMO_BYTES];
    struct {
        int32_t line; // from that of the address
        uint8_t sectors, whole;
        uint8_t lanes;
    } at[MEMO_LINES];
} amemo;
// The same for lanes in a row (access.c, is_run), of which only the last one is kept.
typedef struct arow {
    uint32_t mask;
    uint8_t head, stride, low; // low: of the address, the last 7 bits
    uint8_t space, nlines;     // nlines 0: nothing is kept
    uint8_t first, last;       // sectors of the first and of the last line; all of those between
    uint8_t whole_first, whole_last, whole;
    uint16_t cost, lag, each, sectors;
} arow;
#define MEMOS 8
typedef struct amemos { // the last patterns of an instruction
    uint32_t next;
    // Where only the cost matters (shared memory, perfect memory): that of the last one, how many were like
    // it one after the other, and how many more are taken to be without looking.
    uint16_t cost, lag, each, sectors, lines;
    uint8_t space, alike, skip;
    arow row;
    amemo memo[MEMOS];
} amemos;

// What the traces of warps that do the same have in common: all bytes but those of addresses (warp_batch.c).
#define FORMS 16
typedef struct aform {
    uint32_t n, cap; // bytes; 0: none
    uint8_t *bytes, *mask;
    bool wide;  // goes to many lines of memory
    bool loose; // the distances of lanes may differ, too
    bool found; // again
} aform;

typedef struct acode {
    aform form[FORMS];
    uint32_t next_form;
    int gain; // of looking for them
    orr_program *program;
    amemos *memo;
    uint32_t *memo_of; // [ninsts] + 1
    uint32_t nmemo;
    ORR_VEC(aseg) segs;
    ORR_VEC(amem) mems;
    ORR_VEC(aburst) bursts;
    ORR_VEC(uint16_t) waits;
    ORR_VEC(aplace) places;
    acblock *blocks;
    uint32_t nblocks, ninsts; // taken over so far
    uint32_t *latency;        // [ninsts], pre-characterised
    uint32_t nplaces;         // registers, or the barriers of the control bits
    uint16_t unit[4];         // that bursts need, the first few
    uint32_t nunits;
    bool in_order;     // accesses come in the order in which the trace has them
    bool leaves_out;   // streams have accesses that are not looked at: of mbarriers, of uniform loads
    bool asynchronous; // it has mbarriers, bulk copies, products of groups of warps, clusters
    bool hands_on;     // warps arrive at barriers whose number is in a register, and do not wait there
    bool characterised;
    bool ordered; // warps write what others poll
} acode;

// ---- an SM ----------------------------------------------------------------------------------------------
#define NEAR_PLACES   8
#define COMING        128 // stretches of 2^COMING_SHIFT cycles
#define COMING_SHIFT  5
#define SEGMENT_INSTS 64 // of a segment at most
#define BATCH         8  // warps at most
#define PARTS_MAX     256
typedef struct awarp {
    _Alignas(64) orr_trace trace;
    uint32_t seg; // segments
    uint32_t end;
    uint32_t mask;
    // A batch: warps that do the same, simulated as one (warp_batch.c). `n` of them, 1: it is alone. The
    // others follow; the last is `skew` cycles behind.
    uint32_t skew;
    uint8_t n, nparts;
    uint8_t sched;
    uint8_t waiting; // at a barrier, + 1
    bool has_then, ghost;
    bool stalls;     // its executor has nothing for it yet
    uint32_t code;   // block, + 1
    uint32_t body;   // of the code block it is in: orr_tblock.body
    uint64_t far;    // when its last load from memory is there
    uint64_t landed; // and that from anywhere
    uint64_t stored; // when its last store has been heard of
    uint64_t *place; // when it can be used, of those that loads set
    uint64_t *soon;  // and of those that other instructions make
    uint64_t *rear;  // as `place`, for the last of those that follow
    const uint8_t *base;
    uint32_t then, then_mask;       // the next block of its trace, when it has been read
    uint64_t near[3 * NEAR_PLACES]; // places, when they are few
    uint64_t fetched;
    uint32_t *access;
    uint64_t *many;
    uint32_t block;       // its thread block's slot
    uint8_t index[BATCH]; // in the block
    uint32_t stretch;     // how much longer than alone its last segment took, 1/16
    uint32_t group;
    struct orr_step_warp *exec; // executed as it is timed (step.c); NULL: it is not
    struct {                    // by scheduler: warps that follow
        uint8_t sched, n;
    } part[BATCH];
    uint32_t pending; // the segment, + 1, that those that follow have still to be booked for,

    uint64_t pending_from, pending_to; // and when the first of them had it
    uint16_t id[BATCH];                // of those that follow, from 1 on
    const uint8_t *bytes[BATCH];
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
    tbuf *buf;                   // NULL: free
    struct orr_step_block *live; // executed as it is timed (step.c); NULL: it is not
    tbuf *peer[GROUP - 1];
    uint32_t npeers;
    uint64_t start, end;
    uint32_t running, nwarps, at_barrier;
    uint64_t came[BLOCK_BARRIERS]; // at a barrier, the last
    uint32_t bar_latency;          // of the barrier that somebody came to last
    uint32_t *warp;
    uint32_t arrived[BLOCK_BARRIERS];
    async_block async;
} ablock;

#define WAITS (1ull << 63) // in acore.when: at a barrier

struct orr_latencies;
struct machine;
typedef struct acore {
    struct machine *m;
    uint32_t id;
    asched *sched;
    awarp *warps;       // [schedulers x per_sched]
    uint64_t *when;     // by warp: it goes on then
    uint16_t *order;    // warps by age
    uint16_t *list;     // those that run now
    const uint8_t **at; // by warp: where its trace goes on, for the host to fetch
    uint32_t norder, turn;
    uint64_t next;    // the first of them
    uint32_t *pool_n; // units of a pool
    slots *pools;
    uint32_t npools;
    ablock *blocks;
    uint32_t nblocks, running, blocks_cap; // slots; with a block
    int warps_cap;
    uint32_t next_sched;
    uint32_t started, started_last; // blocks, in this window and in the last
    uint32_t members;               // SMs that it stands for, with itself
    uint32_t times;                 // so many blocks do what the warp at hand does
    uint64_t block_free;
    bool damaged, prepared;
    bool changed; // warps have ended or were let go by others
    uint64_t finished, since, active;
    // load/store unit
    slots lsu;                // cycles of L1 and shared memory
    slots idc;                // cycles of the constant cache's port
    uint64_t held_from, held; // L1 takes nothing: its port or its lines on their way are in the way
    orr_tags *l1;
    orr_cache l1i;
    const_caches constants;
    uint64_t *l1i_when, l1i_last; // by line: when what is on its way is there
    uint64_t coming_from;         // stretch of time: of lines on their way this many come in it, and after it
    uint16_t coming[COMING];
    uint32_t nmisses;
    orr_reservations send;              // of its port into the crossbar
    uint64_t stands_from, stands, sent; // ticks: the port stands still; what was sent last has left
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
    tbuf *done;
    uint32_t places, accesses; // that its warps have room for
    async_core async;
    orr_sm_counts n;
} acore;

typedef struct access { // one memory instruction at work
    const orr_tinst *i;
    uint64_t from; // cycle: the unit began with it
    uint32_t cost;
    uint32_t lag;  // how much later than with an access of one cycle its last word comes
    uint16_t each; // shared memory: cycles of a pass
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
    uint8_t which, index; // of the segment's; of the batch's warps, the last
    uint8_t whose;        // the one at hand
} awork;
typedef struct aissue { // of the first warp
    orr_trace at;
    uint64_t when, held; // when it was issued, and the cycles it was held up
    uint64_t rear;       // when the last of those that follow has its data
} aissue;

typedef struct machine {
    const orr_gpu *gpu;
    orr_gpu one; // the same with one SM, and
    cycle *c;    // the cycle model's machine of it, for the latencies it has worked out
    acode *code;
    const orr_kernel *kernel;
    acore *cores;
    uint32_t ncores, nsched, per_sched, lsu_queue;
    uint32_t batch; // warps of a batch at most
    const orr_occupancy_result *occ;
    uint64_t from, until; // the window
    bool more, perfect, control, collector;
    bool fetches;               // code is not always there
    bool code_fits;             // into the first instruction cache
    bool code_warm;             // all of it is in the second from the start
    uint32_t *named, named_cap; // by line of code: cycles for constants that no line before it names
    uint32_t seen;              // words of asched.seen
    uint64_t code_lines;
    uint32_t places, accesses; // that warps need room for
    uint64_t issue_interval, spacing;
    orr_fast_memory *memory;
    orr_tags *l1; // [SM]
    uint64_t l1_bytes;
    orr_reservations *receive; // [SM] ports from the network
    orr_reservations *gpc;     // [SM] with xbar.gpc_reply: ports that the SMs of a GPC share, by GPC
    orr_topology topology;
    orr_local_layout local;  // of the launch
    uint32_t *numbers;       // [SM] as the GPU numbers them, for local memory
    orr_l1_spec l1_spec;     // as the cycle model has it, but for folded tag banks
    orr_reservations dealer; // launch.block_interval
    struct orr_step *live;   // the launch is executed as it is timed (step.c); NULL: it is not
    uint64_t entered;        // blocks of code, of such a launch
    const abt_watch *watch;  // some of a launch's thread blocks are simulated (launch.h); NULL: all
    orr_profile *touches;    // what warming needs to know of the kernel, then
    orr_arena touches_arena;
    // of the memory instruction at hand
    const amem *mem;
    awarp *warp;
    orr_access access;
    orr_coalesced lines;
    uint8_t whole[ORR_LINES_MAX], lanes[ORR_LINES_MAX]; // by line: sectors a store writes whole; lanes
    // of the segment at hand
    const amem *first;
    uint64_t late, skew;
    uint32_t nwork, ntrips;
    aissue issue[SEGMENT_INSTS];
    awork work[WORKS];
    atrip trips[TRIPS];
    orr_fast_place peers[TRIPS][GROUP - 1]; // where the same trips of peers go
    uint32_t cluster;                       // thread blocks of a cluster
    uint32_t group, apart;                  // SMs that are simulated as one at most; how far they are apart
    uint64_t wanted, found;                 // peers
} machine;

// ---- code.c: a program and its latencies to what is simulated ----------------------------------------
acode *abt_code_new(orr_program *p);
void abt_code_free(acode *c);
// Takes over what the program has more than before; latencies from the pre-characterisation.
bool abt_code_grow(acode *c, machine *m, orr_err *e);
// Latencies from a file, when it has them, and into one.
bool abt_code_from(acode *c, const machine *m, const struct orr_latencies *l);
bool abt_code_into(const acode *c, const machine *m, struct orr_latencies *l);

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
tbuf *abt_group_find(machine *m, supply *supply, const tbuf *b, double *reading);
bool abt_group_over(machine *m); // too few were found: from now on each SM is simulated by itself

// ---- block.c -----------------------------------------------------------------------------------------
void abt_block_start(acore *s, uint32_t slot, tbuf *b, uint64_t when); // its peers are in the slot already
// Warp `id` comes to barrier i in cycle `when`; s->when[id] is when it could go on by itself.
void abt_block_barrier(acore *s, uint32_t id, const orr_tinst *i, uint64_t when);
void abt_block_warp_ended(acore *s, uint32_t id);

// ---- access.c: what a memory instruction touches ---------------------------------------------------------
int abt_access_kind(const orr_tinst *i); // ORR_L1_*
// Its lines are in machine.lines, whole and lanes; false: the trace is damaged.
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

// ---- step.c: kernels that are executed as they are timed ----------------------------------------------
bool abt_step_wants(const machine *m, const orr_work *w);
void abt_step_start(machine *m, const acore *s, ablock *b);
void abt_step_end(ablock *b);
// The next block of code of a warp, in its trace, executed at *t: ORR_STEP_*. *t is later if it waits.
int abt_step_pull(acore *s, awarp *w, uint64_t *t);

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
bool abt_left_out(const machine *m, const tbuf *b); // launch.h
bool abt_run(machine *m, orr_source *source, const orr_occupancy_result *occ, int threads,
             orr_progress *progress, arun *out, orr_err *e);

#endif
