// The cycle model's nouns: a launch being simulated, an SM, its schedulers, its warps, its thread blocks.
//
// Everything a warp waits for is a time: a register has the cycle from which an instruction may use it, a
// unit the cycle in which it is free. So nobody ticks: an SM goes from one cycle in which something can
// happen to the next. What only the memory system knows (when a miss comes back) is NEVER until it is told.
#ifndef ORR_CYCLE_SM_H
#define ORR_CYCLE_SM_H

#include "memory/cache.h"
#include "memory/cost.h"
#include "memory/memory.h"
#include "memory/space.h"
#include "model/cycle/constants.h"
#include "model/cycle/raw.h"
#include "model/model.h"
#include "program/program.h"

#define NEVER      UINT64_MAX
#define NOBODY     UINT32_MAX
#define MAX_SCHED  64  // schedulers of an SM
#define BEEN       256 // slices that a fence tells apart
#define MAX_WARPS  64  // of a scheduler: its choice is made on a bit mask
#define MAX_POOLS  128
#define MAX_GROUPS 16 // of asynchronous copies a warp can have open
#define NO_GROUP   255
#define MAX_SPANS  20000 // of one SM in a timeline
#define MAX_LATE   16    // memory instructions of a sub-core that have yet to read their operands

// What an access has to do with other warps (order.c). SPINS: nothing else is done until it succeeds.
enum {
    ORDER_WAITS = ORR_ORDER_WAITS,
    ORDER_WRITES = ORR_ORDER_WRITES,
    ORDER_SPINS = 8,
    ORDER_COUNTS = 16,
    ORDER_ROUND = 32, // a look that is tried again round by round (look.c)
    ORDER_WARPS = 256
};
typedef struct orr_need {
    uint64_t word;
    uint32_t need;  // writes to it that must have happened
    uint16_t warp;  // of the SM, less than ORDER_WARPS
    uint8_t kind;   // ORDER_*
    uint32_t block; // its thread block: the slot on the SM
} orr_need;

typedef struct tbuf { // a thread block's traces, copied from its source
    uint64_t index;
    uint32_t nwarps;
    uint32_t nblocks; // code blocks its kernel had when it was read
    orr_warp_trace *warps;
    uint8_t *bytes;
    size_t cap, used, warps_cap;
    uint64_t earliest;       // cycle: it does not start before
    uint64_t started, ended; // cycles
    // what its accesses must not overtake (order.c): a number for each lane of each access that waits
    bool planned;
    uint32_t *needs, *need_at; // need_at: where a warp's begin
    uint32_t nneeds, needs_cap, need_at_cap;
    struct tbuf *next;
} tbuf;

typedef struct warp {
    // what it is about to do
    uint32_t at, end;         // instructions: the next, and the end of its code block; equal: it has ended
    uint32_t body;            // of the block it is in: orr_tblock.body
    uint32_t then, then_mask; // the next block of its trace, when it has been read
    orr_trace then_from;      // and where that began
    bool has_then, ghost;     // ghost: it runs a body for no lane
    uint64_t ready;           // when dependences, fetch and the like let `at` issue; NEVER: nobody knows yet
    uint64_t since;           // its cycles before this have been accounted for
    uint64_t front;           // not before this: branch, fetch, the instruction before
    uint8_t why, front_why;   // enum orr_stall: what `ready`, `front` wait for
    uint8_t sched, slot;
    uint8_t throttle; // enum orr_stall while it is ready but its unit is not
    uint8_t waiting;  // at a barrier
    uint64_t through; // when it is past the last one
    uint32_t mask;
    uint32_t lanes;                 // in mask
    uint32_t block;                 // index in sm->blocks
    uint32_t inflight;              // loads and copies it has not had an answer to, stores that wait for L1
    uint64_t landed;                // when the last of the others is there
    uint64_t stored;                // when its last store will have been heard of
    uint32_t in_line;               // accesses of those that wait for L1
    uint64_t at_l1;                 // when its last access has begun at L1
    bool fences;                    // the instruction before was a fence that its loads may outlast
    uint64_t leaves;                // when its last store has left the SM's queue: it does not end before
    uint64_t syncs;                 // when its next operation on an mbarrier can begin
    uint64_t passed;                // when its last store to shared memory is done
    uint64_t way;                   // when its next access can begin, after one with conflicts
    uint32_t come_first, come_last; // flights whose lines have come, to be read out
    uint32_t next_turn;             // the warp whose turn is after its own
    uint32_t reducing; // reductions that have not been heard of; only where a fence waits for them
    uint64_t worked;   // to L2 and back for its last atomic; 0: there was a fence since
    uint64_t fenced;   // a fence waits for them, and takes until then at least; 0: none
    orr_trace trace;
    const uint8_t *base; // where the trace begins
    uint64_t age;        // order of arrival on the SM
    uint64_t held;       // its scheduler's `held` when last looked at
    uint64_t fetched;    // code line it fetched last, + 1
    uint32_t need;       // of its block's needs, the next one
    // executed as it is timed (step.c)
    struct orr_step_warp *exec; // NULL: it is not
    bool again;                 // its block of code has been executed
    bool parked;                // all lanes wait at a barrier
    // its last look in a loop that only looks (look.c)
    uint32_t look, look_mask; // block of code, + 1; 0: none
    orr_trace look_from;      // where the round began
    uint32_t look_need;       // and the next of its needs then,
    bool look_noted;          // if that is known
    bool replays;             // the round is another one than the stream's
    bool longer;              // and a walk's behind the last of the stream's
    uint16_t looking;         // looks that have not been answered
    uint16_t made[8];         // registers that its last instructions write, a ring,
    uint32_t made_at[8];      // and when they were issued (low bits)
    uint8_t nmade;            // the next
    uint16_t restored;        // barrier registers that BMOV has written since BSSY did
    bool yielded;             // its last instruction was a YIELD, or a look at who else is there behind one
    // control bits: counters of the six barriers
    uint64_t sb_ready[6];
    uint16_t sb_open[6];
    uint8_t sb_why[6];
    uint8_t stall_why;
    // asynchronous copies
    uint16_t group_open[MAX_GROUPS];   // copies of group n % MAX_GROUPS still under way
    uint64_t group_ready[MAX_GROUPS];  // when the others are there
    uint32_t group;                    // number of the group that is being filled
    uint8_t copies;                    // how often they were to arrive at an mbarrier (arrive.c), a ring,
    uint16_t copies_open[MAX_GROUPS];  // those before the next time that are under way
    uint64_t copies_ready[MAX_GROUPS]; // and when the others are there
    uint32_t *access;                  // offsets of the block's accesses in the trace
    uint64_t *reg;                     // [places] when a register can be used, and the reason to wait (`due`)
} warp;

typedef struct late_read { // registers that a memory instruction reads when its turn has come
    uint64_t at;
    uint8_t need[ORR_READ_BANKS];
} late_read;

typedef struct sched {
    // Masks of slots
    uint64_t live;                     // a warp is here
    uint64_t awake;                    // its next instruction waits for nothing but its unit
    uint64_t memory;                   // its next instruction goes to the load/store unit
    uint64_t active;                   // two-level: the ones it chooses from
    uint64_t wants[ORR_GPU_UNITS_MAX]; // its next instruction needs this unit
    uint32_t last;                     // slot that issued last; MAX_WARPS: none yet
    uint64_t greedy;                   // age of the warp that did: the slot may have another now
    bool yield;                        // and it asks not to be the next
    bool unit_turn, yield_turn;        // core.unit_turn, core.yield_turn
    bool queue_turn;                   // core.queue_turn
    bool short_turn;                   // core.short_turn
    bool block_first;                  // core.block_first
    bool branch_turn;                  // core.branch_turn
    bool stuck;                        // and the warp that issued last has found the queue of memory full
    bool full;                         // or that of its unit (core.short_turn)
    bool queued;                       // its last instruction went into such a queue
    uint64_t next;                     // when the first of those not awake will be
    uint64_t ready[MAX_WARPS];
    uint64_t age[MAX_WARPS];
    uint8_t unit[MAX_WARPS];            // that the next instruction needs
    uint8_t pool_of[ORR_GPU_UNITS_MAX]; // which of the SM's pools
    uint8_t with[ORR_GPU_UNITS_MAX]
                [3];     // pools that an instruction of the unit keeps busy besides, + 1; 0: no more
    uint32_t limit;      // of active ones
    uint64_t wake;       // nothing to do before this
    uint64_t next_issue; // core.issue_interval after the last one
    uint64_t held;       // cycles in which only a collector or a bank was missing, so far
    uint64_t banks;      // cycles that the last instruction waits for them
    uint32_t kept[ORR_READ_PLACES][ORR_READ_BANKS]; // register and warp that the operand cache has, + 1
    uint32_t keeper;                                // the warp that issued last, + 1 (regs.reuse_own)
    uint64_t bank_free[ORR_READ_BANKS]; // modern cores, in reads: when a register bank has done all it was
                                        // asked for
    late_read late[MAX_LATE];           // a ring: what memory instructions in the queue have yet to read
    uint32_t late_first, late_n;
    uint64_t results; // modern cores: a bit for each cycle from results_at on in which a result goes to the
    uint64_t results_at;   // registers
    uint64_t behind_until; // what is in line behind a load of constants waits for them
    uint32_t behind;       // and how many do
    orr_cache l0;
    uint64_t *l0_when;              // by line: when it is there
    uint64_t l0_last;               // when the last line comes that it has asked for
    uint32_t lines[64], lines_next; // a ring: what it executed last (icache.buffer)
    warp *warps;                    // [MAX per scheduler]
} sched;

typedef struct pool { // units that serve the same instructions of the same sub-core
    uint32_t n;
    uint32_t unit;
    uint32_t queue;  // instructions of each that may wait
    uint32_t cycles; // that one of them makes it wait for what it is made of, or what is made of it
    uint64_t at[16]; // each one's next free cycle, n > 1 or with a queue
    uint8_t half;    // pool that is half of it, + 1 (unit.NAME.half); at[0] is the other half's
    uint8_t whole;   // pool that it is half of, + 1
} pool;

typedef struct mbar { // an mbarrier (arrive.c)
    uint64_t at;      // address in shared memory
    uint64_t made;    // when the last operation on it began
    uint32_t n;       // operations of lanes
} mbar;
typedef struct mwait { // a wait for one
    uint64_t floor;    // its result is not there before
    uint32_t warp, inst, mbar;
    uint32_t need; // operations until it is over
} mwait;
typedef struct mcopy { // an arrival of copies that are on their way
    uint64_t floor;
    uint32_t warp, mbar, lanes;
    uint8_t which; // the warp's
} mcopy;

typedef struct block { // a thread block on the SM
    tbuf *buf;         // NULL: the slot is free
    struct orr_step_block *live; // executed as it is timed; NULL: it is not
    uint64_t start, end;
    uint32_t running; // warps that have not ended
    uint32_t nwarps;
    uint32_t *warp; // ids: sched * MAX_WARPS + slot
    struct {
        uint32_t arrived, want;
    } barrier[16];
    uint32_t at_barrier;  // warps waiting at any barrier
    uint32_t bar_latency; // of the barrier that somebody came to last
    ORR_VEC(mbar) mbars;
    ORR_VEC(mwait) mwaits;
    ORR_VEC(mcopy) mcopies;
} block;

typedef struct flight {     // a memory instruction that is waited for
    uint64_t issued, floor; // cycles: not ready before `floor`
    uint32_t inst, next;    // next: in the free list
    uint32_t warp;
    struct orr_step_access *live; // what it loads (step.c); NULL: it was executed before
    uint16_t open;   // line requests outstanding
    uint16_t passes; // over the banks, when all of its lines have come
    uint8_t group;   // of asynchronous copies, else 255
    uint8_t copies;  // and which of the warp's `copies` it belongs to
    uint8_t local;
} flight;

typedef struct miss { // a request for sectors of a line, on its way
    uint64_t line;
    uint32_t waiters, last; // list of nodes, in the order of coming
    uint32_t older;         // the next miss on the same line, or in the free list
    uint32_t fills;         // line of L1 that its data go to, if it is still there; ORR_NO_LINE: they do not
    uint16_t nwaiters;
    uint8_t sectors;
} miss;

typedef struct node { // of a miss's list of waiting flights
    uint32_t flight, next;
} node;

typedef struct partly { // a line of L1 in whose sectors stores have written some bytes
    uint64_t line;      // + 1; 0: none
    uint64_t bytes[2];
} partly;

typedef struct arrival { // an answer on its way to the SM
    uint64_t time;       // ticks
    uint32_t order, token;
    uint8_t sectors;
} arrival;

typedef struct queued { // a memory instruction before L1
    orr_trace trace;
    uint32_t warp, inst;
    uint32_t flight; // NOBODY: nobody waits for it
    uint32_t place;  // in the ring of starts
    struct orr_step_access *live;
} queued;

struct cycle;
struct worker;
#define NO_UNIT UINT32_MAX

// Besides those of memory: what goes by way of the same queue.
static inline bool by_queue(const orr_tinst *i) {
    return i->tclass == ORR_TC_CONST || i->sass == ORR_SASS_S2R;
}

typedef struct sm {
    _Alignas(64) struct cycle *c;
    struct worker *worker; // the host thread that runs it now
    struct step_ops *live; // accesses of a kernel that is executed as it is timed; NULL: it is not
    bool damaged;          // a trace that cannot be
    bool starved;          // it has room, and no block in stock: it stops until it is given some
    uint32_t id;
    uint32_t number; // that the GPU has for it: where its local memory is
    uint64_t way;    // ticks that answers take longer than to a GPC's first TPC (l2.tpc_spread)
    uint64_t fresh;  // kernels with loops that only look: blocks of code that were entered, but for replays
    uint64_t now;
    sched *sched;
    pool pools[MAX_POOLS];
    uint64_t pool_free[MAX_POOLS];
    uint32_t npools;
    block *blocks;
    uint32_t nblocks, resident; // slots; in use
    uint32_t next_sched;        // that the next warp goes to
    uint64_t next_age;
    uint64_t late_code, late_constants; // cycles until its GPC has served others that ask for the same
    uint64_t code_wait, line_interval;  // of a line of code: more latency; between two (icache.gpc_interval)
    uint64_t code_from;                 // when the first line of warm code comes, + 1; 0: not asked for
    uint64_t block_free;                // when the next block may start
    tbuf *stock, **stock_end;           // blocks it may start in this window
    uint32_t nstock, started, started_last; // in this window, in the one before
    uint32_t blocks_cap;
    int warps_cap;
    uint64_t since; // active cycles before this have been counted
    uint64_t active_cycles, last_busy;
    // operand collectors
    uint64_t *bank_free;      // [sub-core][bank]
    uint64_t *collector_free; // [sub-core][collector]
    // load/store unit and L1
    orr_cache l1;
    ORR_VEC(uint32_t) l1_taken; // lines of global memory taken since L1 was dropped; too many to note: all
    uint64_t lsu_free;          // L1 and shared memory take the next instruction
    uint64_t banks_work, banks_seen, banks_until; // passes that need no line: from when to when they are
    uint64_t out_free;                            // lines that loads have waited for have been read out
    uint32_t read_out; // passes that were, during accesses of shared memory since the last of them began
    bool lsu_shared;   // the access that began last is one
    uint32_t turn_first, turn_last; // warps with loads whose lines have come, in turn
    bool reading;                   // one of them is due
    uint64_t lsu_room[MAX_SCHED];   // its queue has room; one for the SM, or one for each sub-core
    uint64_t lsu_late; // how much later than L1 is free for it the one at hand comes: its warp's last had
                       // conflicts
    uint64_t lsu_hands[MAX_SCHED]; // when a sub-core can hand over the next one (lsu.width)
    uint64_t lsu_gives[MAX_SCHED]; // when it has been given what it loaded last from shared memory
    uint64_t lsu_handed;           // and has the one at hand; 0: long ago
    uint64_t *starts;              // ring of each queue: when the last ones left it
    uint32_t nstarts[MAX_SCHED];
    queued *queue; // instructions held up behind a full L1, or until their sub-core's turn: lsu_lines rings
    uint32_t line_first[MAX_SCHED], line_n[MAX_SCHED]; // of each ring
    uint32_t queue_n;                                  // of all
    uint32_t head_at;                                  // the ring of the one that L1 works on, or did last
    uint64_t turn_due;                                 // when L1 takes the next one (lsu.ahead); 0: not said
    bool head_busy;                                    // the one it works on is half done:
    orr_coalesced head;
    uint32_t head_line, head_cost;
    uint32_t head_missed; // of its lines
    uint64_t head_waits;  // bits of its lines: a load waits for them
    uint32_t head_passes; // over the banks
    uint32_t head_now;    // of them those that do not wait for lines
    uint32_t head_tags;   // cycles to look up its lines
    uint64_t leaving;     // until then loads wait for what stores have written (l1.store_leave)
    bool head_conflicts;
    uint8_t head_turn[64]; // in which lookup each of its lines is found, where it has no more of them
    bool head_apart;       // a load whose lanes are not side by side
    bool head_is_local;
    orr_access head_access;
    uint8_t head_order;         // ORDER_*
    bool head_strong;           // executed as it is timed: others may be looking at it
    uint32_t head_lanes;        // that the stream has of it; one may do it for all (orr_tinst_lanes)
    uint16_t head_warp;         // whose it is
    const uint32_t *head_needs; // of its lanes, in their order; NULL: it does not wait
    uint64_t lsu_busy_from;     // when the instruction worked on last began
    uint64_t full_since;        // the queue's head waits for a miss to come back
    uint64_t l1_bytes;
    ORR_VEC(flight) flights;
    ORR_VEC(miss) misses;
    ORR_VEC(node) nodes;
    uint32_t free_flight, free_miss, free_node;
    uint32_t open_misses;
    uint64_t send_free, receive_free; // ticks: the ports to and from the network
    uint64_t atomic_line;             // of the last atomic that left, + 1; 0: a load of it has left since
    uint64_t sent;                    // ticks: when the last request reaches L2
    bool cold;                        // requests of this window have no translation yet
    // fences (fence.c)
    uint32_t storing[2];         // stores not heard of: of the round that is on, or was; of the next one
    uint32_t parts_out;          // and those of part of a sector (xbar.parts)
    uint32_t cluster;            // GPC * MAX_CLUSTERS + which of its clusters (xbar.clusters)
    uint8_t epoch;               // which of them stores belong to now,
    uint64_t epoch_until;        // and until when; NEVER: until the next round
    uint8_t fence_epoch;         // which of them the round waits for
    uint8_t fencing;             // a round is on, or due
    uint64_t fence_l1;           // when L1 has dropped what it had
    uint64_t fence_from;         // since then
    uint64_t fence_heard;        // and until then at least, by the slices that it has asked
    uint32_t asking;             // slices that have not answered it
    uint64_t been[BEEN];         // where it has been since the last round began: a line of each slice,
    uint64_t been_at[BEEN / 64]; // and which slices these are
    uint32_t nbeen;
    ORR_VEC(uint32_t) fence_with;  // warps in it
    ORR_VEC(uint32_t) fence_waits; // and for the next one
    uint32_t stores[256];          // by line: the last one in `out`, + 1, that stores may still join
    struct leaving {
        uint64_t time, line;
    } left[256]; // the last xbar.stores of them, a ring: when the port lets them leave (ticks)
    struct leaving sending[256]; // the same by line
    struct held_store {
        orr_request r;
        uint32_t packet; // bytes
    } held[256];         // a ring of stores that wait there until L2 has done one of xbar.parts
    uint32_t held_n, held_first;
    uint32_t single;     // the first in `out`, + 1, that a load may close (xbar.load_closes); 0: none
    uint32_t lsu_turn;   // the scheduler behind the one whose access to L1 was the last (lsu.in_turn)
    uint64_t turn_until; // and how long L1 has work for it
    uint64_t store_in;   // ticks: when the last of them had a place there
    uint32_t next_left;  // the oldest
    partly written[512]; // the last ones, by line
    ORR_VEC(orr_request) out;
    ORR_VEC(orr_need) needs; // of those in `out` that others may be looking at
    ORR_VEC(arrival) in;     // a heap
    uint32_t in_order;
    // constants and code
    orr_cache l1i;
    const_caches constants;
    uint64_t const_free; // constants by address: the next one
    uint64_t *l1i_when, l1i_last;
    // by line of program->constants: when an operand finds it, and LDC; 0: not asked for
    uint64_t operand_when[64], load_when[64];
    // sums
    orr_sm_counts n;
    orr_sample sample;
    uint64_t stalls[ORR_STALLS];
    uint64_t unit_busy[ORR_GPU_UNITS_MAX];
    uint64_t register_conflicts;
    uint64_t ramp;     // until then tensor instructions are slow; 0: there was none yet
    uint64_t finished; // cycle the last block ended
    ORR_VEC(orr_span) spans;
    uint64_t spans_left_out;
    uint64_t block_cycles;
    tbuf *done; // blocks that have ended: their buffers go back
} sm;

typedef struct worker { // one host thread's sums; which thread ran what does not matter for them
    uint64_t (*by_inst)[ORR_STALLS];
    uint64_t *issued, *threads;
    uint32_t ninsts;
    struct bank_memo { // shared memory: the last pattern of each instruction
        uint8_t n, bytes[42];
        uint32_t mask;
        orr_banked banked;
    } * memo;
} worker;

// Somebody else's memory instead of L2 and DRAM: the share that one SM has of them (model/partial).
typedef struct outside {
    void *arg;
    // As orr_memsys_run, in one partition; answers come at once. Returns when it takes the next request.
    uint64_t (*run)(void *arg, const orr_request *r, size_t n, orr_replies *out);
} outside;

struct order;
struct looks;
typedef struct cycle {   // one GPU, from launch to launch
    struct order *order; // NULL: no block of the kernel waits for another
    struct looks *looks; // NULL: it has no loops that only look
    struct orr_step *live; // the kernel is executed as it is timed; NULL: it is not
    bool strong;         // executed as it is timed: it has accesses that are sent at once
    bool in_time;        // its locks and tables were taken in order of time when it was executed
    const orr_gpu *gpu;
    orr_program *program; // of the launch under way
    const orr_kernel *kernel;
    bool tells;    // it has fences that wait for reductions
    bool in_order; // accesses are used in the order of the stream
    bool timeline;
    bool perfect;
    bool more; // there are thread blocks that no SM has yet
    sm *sms;
    uint32_t nsms, ngpcs;
    orr_topology gpcs;
    uint32_t nsched, per_sched;                        // schedulers of an SM, warps of each
    uint32_t sched_per_sub, sub_banks, sub_collectors; // of a sub-core; collectors 0: none
    uint32_t read_banks; // of a sub-core without collectors, ORR_READ_BANKS at most
    uint32_t bank_mask;  // sub_banks - 1 when that is a mask, else 0
    uint32_t warps_per_block, threads_per_block;
    uint64_t code_lines; // of the program, for fetching ahead
    bool code_fits;      // into L0, and does not grow
    bool code_warm;      // all of it is in L1 from the start
    uint32_t places;     // room for registers in a warp
    uint32_t accesses;   // room for access offsets
    orr_memsys *mem;
    orr_tlb *tlb;
    const outside *outside;  // NULL: `mem`
    uint64_t *cluster_free;  // [partition][half][GPC][MAX_CLUSTERS] when another store of it would pass
                             // (xbar.all_stores)
    uint32_t *cluster_share; // and how much longer than others its turn takes (SHARE: as long)
    uint64_t *mem_free; // [partition] when its slices take the next request, as of the window's start (ticks)
    // latencies worked out once
    uint64_t window;
    uint64_t const_miss; // ticks
    uint64_t l1_latency, local_latency, shared_latency, const_latency, const2_latency, const_far, l2_latency;
    uint64_t named_near,
        named_far; // more than a hit: constants that are named, from the second cache or beyond
    uint64_t request_ticks, reply_ticks, far_ticks; // SM to slice, slice to SM; more to the other side
    uint64_t request_byte, reply_byte;              // ticks a byte takes at the ports
    uint64_t spread;          // ticks between the nearest slice and the furthest (l2.spread)
    uint64_t gpc_ticks[5];    // of a GPC's port for an answer, by sectors
    uint32_t store_halves;    // of L2, that stores come to
    uint64_t all_ticks[2][5]; // of the network for a store, whole sectors or not; 0: none (xbar.all_stores)
    uint64_t cluster_ticks[2][5]; // and of a cluster's port (xbar.cluster_stores)
    uint64_t atomic_ticks;        // of a slice for a lane's atomic
    uint64_t branch_wait, branch_jump, branch_indirect, branch_switch, sync_meet, yield, sync_poll,
        barrier_latency, collect, writeback, fetch_latency, fetch_far, fetch_memory, first_line,
        buffer_latency;
    uint64_t line_interval, line_interval2; // between two lines of code for a scheduler, for an SM
    uint64_t block_latency, turnaround, warp_interval, exit_latency;
    uint32_t sreg_unit;                 // that reads special registers, as S2R does
    uint64_t spacing;                   // between the starts of two blocks on an SM, in this window
    uint64_t open_ticks;                // that a store waits for others to its line
    uint64_t open_line_ticks;           // and for each line of the instruction
    uint64_t send_ahead, backlog_ticks; // how far a port may be behind before it holds up L1
    uint32_t coalesce;
    orr_l1_spec l1;
    uint32_t lsu_scheds, lsu_places, lsu_all; // schedulers of a queue, its places, those of all
    uint32_t lsu_lines, lsu_line; // in front of L1: one, or with lsu.ahead one for each queue; its places
    orr_local_layout local;
    uint32_t miss_interval, miss_first; // of L1 for a line that misses, and before the first of a load
    uint32_t pass_cycles;               // of shared memory's banks, 4 bytes each
    uint32_t *alone; // [instruction] pre-characterisation (alone.c): cycles until its result; NULL: none
    const struct policy *policy;
    worker *workers;
    int nworkers;
} cycle;

// A time and the reason to wait for it in one word, so that a register takes eight bytes.
static inline uint64_t due(uint64_t when, uint8_t why) { return when << 8 | why; }
static inline uint64_t due_when(uint64_t d) { return d >> 8 == NEVER >> 8 ? NEVER : d >> 8; }

// Whom a reduction's answer is for: a warp, as long as it is there.
#define TOLD (1u << 31)
static inline uint32_t told_token(const warp *w) {
    return TOLD | (uint32_t)(w->age & 0x7ffff) << 12 | ((uint32_t)w->sched * MAX_WARPS + w->slot);
}

#define ASKED  (TOLD - 8) // a slice's answer to a fence
#define STORED (TOLD - 4) // a store's answer, its epoch, and 2 if it is of part of a sector
#define FENCED (TOLD - 5) // a round of fences is due
#define LANDS  (1u << 30) // all lines of a load are there: its flight
#define TURNS  (TOLD - 7) // L1 takes the next instruction in line
#define READS  (TOLD - 6) // the next load whose lines have come is read out

static inline uint32_t warp_id(const warp *w) { return (uint32_t)w->sched * MAX_WARPS + w->slot; }
static inline warp *warp_of(const sm *s, uint32_t id) {
    return &s->sched[id / MAX_WARPS].warps[id % MAX_WARPS];
}

// Cycles of a warp: n of them for this reason, at its next instruction.
static inline void charge(sm *s, uint32_t inst, enum orr_stall why, uint64_t n) {
    s->stalls[why] += n;
    s->worker->by_inst[inst][why] += n;
}

// ---- policy.c: which of the warps that can issue does ---------------------------------------------
typedef struct policy {
    const char *name;
    uint32_t (*pick)(sched *q, uint64_t can); // `can` is not 0
} policy;
const policy *cyc_policy(int which); // ORR_SCHED_*

// ---- warp.c: what a warp's next instruction waits for -----------------------------------------------
void cyc_warp_look(sm *s, warp *w);                    // works out `ready` and tells the scheduler
void cyc_warp_account(sm *s, warp *w, uint64_t until); // gives the cycles up to `until` their reasons
bool cyc_warp_next_block(sm *s, warp *w); // the next code block of its trace; false: there is none
void cyc_warp_result(sm *s, warp *w, const orr_tinst *i, uint64_t ready);     // its registers are ready then
void cyc_warp_expect(sm *s, warp *w, const orr_tinst *i, enum orr_stall why); // when an answer comes
void cyc_warp_complete(sm *s, warp *w, uint32_t inst, uint64_t ready, uint8_t group); // the answer
// A memory instruction reads its operands then, or not before cyc_warp_has_read says so.
void cyc_warp_reads(sm *s, warp *w, const orr_tinst *i, uint64_t when);
void cyc_warp_will_read(sm *s, warp *w, const orr_tinst *i);
void cyc_warp_has_read(sm *s, warp *w, const orr_tinst *i, uint64_t when);
void cyc_warp_told(sm *s, uint32_t token, uint64_t when); // a reduction is done

// ---- alone.c: pre-characterisation takes down when results are there ---------------------------------
void cyc_alone_note(const sm *s, const orr_tinst *i, uint64_t ready);

// ---- sm.c -------------------------------------------------------------------------------------------
void cyc_sm_run(sm *s, uint64_t until);
uint64_t cyc_sm_next(const sm *s);                                         // when something can happen next
void cyc_sm_arrive(sm *s, uint64_t time, uint32_t token, uint8_t sectors); // an answer is on its way

// ---- block.c: thread blocks come and go ----------------------------------------------------------------
void cyc_block_start(sm *s, uint64_t when); // takes one from the stock, if there is room
void cyc_block_warp_ended(sm *s, warp *w);
void cyc_block_free(block *b); // what it has
void cyc_block_barrier(sm *s, warp *w, const orr_tinst *i);

// ---- arrive.c: barriers in shared memory -----------------------------------------------------------------
void cyc_arrive(sm *s, warp *w, const orr_tinst *i, uint32_t inst, const orr_trace *access, uint64_t start);
void cyc_copies_landed(sm *s, warp *w, uint8_t which, uint64_t ready); // one of them

// ---- lsu.c, port.c: load/store unit, L1, shared memory, the way to the network --------------------------
void cyc_lsu_issue(sm *s, warp *w, const orr_tinst *i, const queued *q, uint64_t late);
void cyc_lsu_hand_over(sm *s, const warp *w, const orr_tinst *i);
void cyc_lsu_answer(sm *s, const arrival *a);
// A store that waits at the SM's port beyond the memory's `until` (ticks): others may still join it, so it is
// not handed over yet. After the rest has been:
static inline bool cyc_port_waits(const orr_request *r, uint64_t until) {
    return r->kind == ORR_REQ_WRITE && !r->order && r->time >= until && r->partition != UINT32_MAX;
}
// Whether it passes its GPC's port for stores now.
static inline bool cyc_port_passes(const cycle *c, const orr_request *r, uint64_t until) {
    return c->all_ticks[0][0] && !c->outside && r->kind == ORR_REQ_WRITE && !r->order && r->time < until &&
           r->partition != UINT32_MAX;
}
void cyc_port_close(sm *s);   // a fence: stores that wait to be joined leave
void cyc_port_walk(cycle *c); // between two windows: translations that SMs have asked for first
void cyc_port_handed_over(sm *s, uint64_t until);
typedef struct timed_list { // what is put in the order of its time
    ORR_VEC(orr_timed) all;
    ORR_VEC(orr_timed) scratch;
} timed_list;
void cyc_timed_free(timed_list *t);
typedef struct gpc_port { // from the network
    uint64_t free;        // ticks
    timed_list answers;
} gpc_port;
// Stores on their way to the slices (xbar.all_stores): in front of each slice a line for each cluster of
// TPCs.
#define MAX_CLUSTERS 8
#define SHARE        1024 // one share of a slice (cluster_share)
typedef ORR_VEC(orr_request) requests;
typedef struct cluster_line {
    requests at; // in order
    size_t next;
    uint64_t ticks; // that those that wait take of the slice
    uint64_t tag;   // what it has had of it
} cluster_line;
typedef struct slice_port {
    uint64_t free;    // ticks
    uint64_t tag;     // of the one that was last
    size_t waiting;   // stores
    uint64_t ticks;   // that the last one of part of a sector took
    bool stored;      // some have been sent in this window
    bool told;        // cluster_free says that some do
    cluster_line *of; // [GPC][MAX_CLUSTERS]
} slice_port;
typedef struct store_port {
    slice_port *slices; // [partition][half]
    uint64_t *free;     // [GPC][MAX_CLUSTERS] ticks: when a cluster's own port takes the next one
    uint32_t *some;     // lines that have something there
    size_t waiting;     // in front of all slices
    bool stored;        // in this window
    timed_list keys;
} store_port;
// What has waited and what SMs have sent, up to `until`: to the requests of each partition.
void cyc_port_stores(cycle *c, store_port *port, uint64_t until, requests *to);
store_port *cyc_port_stores_new(const cycle *c);
void cyc_port_stores_free(const cycle *c, store_port *port);
uint64_t cyc_port_stores_next(const cycle *c, const store_port *port); // UINT64_MAX: none waits
void cyc_port_gpc(cycle *c, uint32_t gpc, gpc_port *port, const orr_replies *replies, uint32_t partitions);
void cyc_port_answer(cycle *c, uint32_t partition, const orr_reply *r);
void cyc_lsu_start(sm *s, uint64_t l1_bytes, bool flush); // of a launch

// ---- fence.c ---------------------------------------------------------------------------------------------
void cyc_fence(sm *s, warp *w, const orr_tinst *i);
void cyc_fence_heard(sm *s, uint32_t epoch); // of a store
void cyc_fence_due(sm *s);
void cyc_fence_been(sm *s, uint64_t line); // an access went there that the next fence asks for
void cyc_fence_told(sm *s, uint64_t when); // by a slice that it asked
uint32_t cyc_fence_epoch(sm *s);           // that a store which is sent now belongs to
void cyc_l1_drop(sm *s);                   // CCTL.IVALL: what L1 has of global memory is gone
void cyc_fence_drops(sm *s);               // a warp that is past its fence has L1 drop what it has
// Fences wait for stores that have been heard of, not for an estimate.
static inline bool counts_stores(const cycle *c) { return c->tells && c->gpu->core_fence_join > 0; }

// ---- fetch.c: instruction caches -------------------------------------------------------------------------
uint64_t cyc_constant_when(sm *s, const orr_tinst *i, uint64_t now); // when the constants that it names are
uint64_t cyc_fetch_when(sm *s, warp *w, uint32_t pc, uint64_t now);  // when the instruction at pc is there

#endif
