// The cycle model's nouns: a launch being simulated, an SM, its schedulers, its warps, its thread blocks.
//
// Everything a warp waits for is a time: a register has the cycle from which an instruction may use it, a
// unit the cycle in which it is free. So nobody ticks: an SM goes from one cycle in which something can
// happen to the next. What only the memory system knows (when a miss comes back) is NEVER until it is told.
#ifndef ORR_CYCLE_SM_H
#define ORR_CYCLE_SM_H

#include "core/barrier.h"
#include "core/fence.h"
#include "core/fetch.h"
#include "core/issue.h"
#include "core/lsu.h"
#include "core/operands.h"
#include "core/products.h"
#include "core/scoreboard.h"
#include "core/tma.h"
#include "core/units.h"
#include "model/cluster.h"
#include "model/cycle/crossbar.h"
#include "model/cycle/raw.h"
#include "model/model.h"
#include "program/program.h"

#define MAX_SPANS  20000 // of one SM in a timeline
#define MAX_CLOCKS 1024  // reads of the clock that are kept of an SM

typedef struct block_traces { // a thread block's traces, copied from its source
    uint64_t index;
    uint32_t nwarps;
    uint32_t nblocks; // code blocks its kernel had when it was read
    orr_warp_trace *warps;
    uint8_t *bytes;
    size_t cap, used, warps_cap;
    uint64_t earliest;       // cycle: it does not start before
    struct grid *grid;       // whose it is, of several on the machine (grids.h); NULL: there is one
    uint64_t started, ended; // cycles
    uint64_t allows_next;    // cycle of its griddepcontrol.launch_dependents; 0: there has been none
    struct block_traces *next;
} block_traces;

typedef struct warp_cursor { // where a warp is in its program, and in its trace
    uint32_t at, end;        // instructions: the next, and the end of its code block; equal: it has ended
    uint32_t mask, lanes;    // active lanes, and how many
    bool predicated_off;     // it runs a body for no lane
    bool has_next;           // the next block of its trace has been read:
    uint32_t next, next_mask;
    uint32_t body;                // of the block it is in: orr_tblock.body
    const orr_program_part *part; // of the program that its kernel is; NULL: all of it
    orr_trace trace;              // from here on
    const uint8_t *base;          // where the trace begins
    uint32_t *access;             // offsets of the block's accesses in the trace,
    uint32_t naccess;             // as many as are known of a warp that is executed as it is timed
} warp_cursor;

typedef struct warp_memory { // accesses of a warp that are under way
    uint64_t atomic;         // when its last atomic has been answered (core.atomic_wait)
    uint32_t last_inst;      // its last memory instruction, + 1; 0: none
    uint32_t inflight;       // loads and copies that have not been answered, stores that wait for L1
    uint64_t answered;       // when the last of those that have been answered is there
} warp_memory;

// The front end of a warp: what holds its next instruction back before any dependence is looked at. Each
// holds until its cycle, in the order of the pipeline, though some of them pass at the same time. A cycle
// that is past holds nothing.
typedef struct warp_front_end {
    uint64_t stall_count; // the stall count of the instruction before has passed
    uint64_t branch;      // the branch before it is resolved
    uint64_t fetch;       // its code has been fetched; what holds until front_end_ready is front_end_stall
} warp_front_end;

typedef struct warp_registers { // that a warp has asked for and that are not there (setmaxnreg)
    uint64_t since;             // when it first asked
    uint32_t inst;              // the instruction, + 1; 0: none are missing
    int32_t n;                  // for a thread
} warp_registers;

typedef struct warp_bulk_fence { // a fence that waits for bulk loads
    uint64_t last;               // of the SM's, up to this one; 0: it does not wait
    uint64_t floor;              // the fence is not over before
} warp_bulk_fence;

typedef struct warp_arrivals {  // of a warp's copies at mbarriers (arrive.c), a ring
    uint8_t n;                  // how often copies were to arrive
    uint16_t open[MAX_GROUPS];  // those before the next time that are under way
    uint64_t ready[MAX_GROUPS]; // when the copies that are not open are there
} warp_arrivals;

typedef struct warp { // what each instruction looks at comes first, in as few host cache lines as it can
    _Alignas(64) warp_cursor pc;
    uint64_t ready;           // cycle from which it waits for its unit only; NEVER: an answer is awaited
    uint64_t front_end_ready; // cycle from which its front end holds nothing back
    uint64_t accounted_until; // its cycles before this one have their stall reason
    uint8_t stall, front_end_stall; // enum orr_stall: what it waits for until ready, front_end_ready
    uint8_t sched, slot;
    uint8_t barrier;         // that it waits at, + 1; 0: none
    bool fences;             // the instruction before was a fence that its loads may outlast
    bool yielded;            // its last instruction was a YIELD, or a WARPSYNC that polls behind one
    bool revisits;           // its block of code has been executed
    uint64_t barrier_passed; // when it is past the last barrier
    warp_front_end front_end;
    warp_memory memory;
    uint64_t fetched;           // code line it fetched last, + 1
    uint64_t age;               // order of arrival on the SM
    uint64_t operand_cycles;    // its scheduler's when it was last updated
    struct orr_step_warp *exec; // executed as it is timed (step.c); NULL: it is not
    recent_results recent;      // of its last instructions
    scoreboard board;
    uint32_t block;         // index in sm->blocks
    uint32_t cluster_phase; // of its cluster's barrier, that it has arrived for
    warp_registers setmaxnreg;
    warp_bulk_fence bulk;
    uint64_t remote_done; // when its accesses of other blocks' shared memory are known to be done
    bool parked;          // all lanes wait at a barrier
    bool waits_for_grid;  // it waits for the grid ahead of its own to end (griddepcontrol.wait)
    warp_arrivals arrivals;
} warp;

typedef struct mbarrier {    // an mbarrier (arrive.c)
    uint64_t at;             // address in shared memory
    uint64_t last_operation; // when the last operation on it began
    uint32_t operations;     // of lanes, so far: a stream's waits name how many they need
} mbarrier;
typedef struct mbarrier_wait { // a wait for one
    uint64_t earliest;         // cycle before which it has no result
    uint32_t warp, inst, mbar;
    uint32_t operations; // of lanes that end it
} mbarrier_wait;
typedef struct mbarrier_copies { // an arrival of copies that are on their way
    uint64_t earliest;
    uint32_t warp, mbar, lanes;
    uint8_t arrival; // of the warp (warp_arrivals)
} mbarrier_copies;

#define CLUSTER_MOST    ORR_CLUSTER_MOST
#define CLUSTER_BARRIER 64 // orr_tinst.imm: not a barrier of the block

typedef struct cluster_place {
    uint32_t sm, slot;
} cluster_place;
enum { CLUSTER_ARRIVAL, CLUSTER_BARRIER_ARRIVAL, CLUSTER_ENDED };
typedef struct cluster_message { // from a block to another of its cluster (cluster.h)
    uint64_t when, block, at;    // at: of ARRIVAL, the mbarrier
    uint32_t sm, slot, lanes;    // slot of one that has been read: the next free one
    uint8_t kind;
} cluster_message;
typedef struct cluster_messages {
    ORR_VEC(cluster_message) out, in;
    uint32_t free;     // of `in`; NOBODY: none
    double busy;       // cycle until which the network between SMs takes what this one has sent
    uint64_t accesses; // counter: of other blocks' shared memory
} cluster_messages;
typedef struct cluster_phase { // the barrier of a cluster, as one of its blocks sees it
    uint32_t arrived_warps;    // of this block, in this phase
    uint32_t arrived_blocks;   // of the cluster, in this phase
    uint32_t ended_blocks;     // of the cluster
    uint32_t phases;           // that are over
    uint32_t waiting_warps;    // of this block
    uint64_t last_arrival;     // when the last warp arrived
} cluster_phase;

typedef struct block {           // a thread block on the SM
    block_traces *buf;           // NULL: the slot is free
    struct orr_step_block *live; // executed as it is timed (step.c); NULL: it is not
    uint64_t start, end;
    uint32_t running; // warps that have not ended
    uint32_t nwarps;
    uint32_t *warp; // ids: sched * MAX_WARPS + slot
    block_barriers barriers;
    ORR_VEC(mbarrier) mbars;
    ORR_VEC(mbarrier_wait) mwaits;
    ORR_VEC(mbarrier_copies) mcopies;
    uint32_t rank, size; // in its cluster, of so many
    cluster_place peers[CLUSTER_MOST];
    cluster_phase cluster_barrier;
    int32_t given_up[MAX_SCHED]; // by sub-core: registers of a thread that warps have given up
} block;

struct cycle;
struct worker;

// Besides those of memory: what goes by way of the same queue.
static inline bool by_queue(const orr_tinst *i) {
    return i->tclass == ORR_TC_CONST || i->sass == ORR_SASS_S2R;
}

typedef struct sm_use { // of an SM's room, by thread blocks
    uint32_t blocks, warps;
    int64_t registers, shared;
    int64_t carveout; // bytes of its storage that are shared memory's, as long as it has blocks
} sm_use;

typedef struct block_slots { // thread blocks that an SM has, has had and may start
    // what is looked at between two windows, in a line of the host's caches
    _Alignas(64) block_traces *stock, **stock_end; // blocks it may start in this window
    block_traces *done;                            // blocks that have ended: their buffers go back
    uint64_t free;                                 // when the next block may start
    uint32_t n, resident;                          // slots; in use
    uint32_t wave; // blocks that an empty SM has room for: n, or less with launch.warp_room
    uint32_t stocked, started, started_last; // in this window, in the one before
    // what only the SM looks at
    block *slot;
    uint32_t block_warps; // of a block
    uint32_t sched_warps; // that a scheduler has slots and registers for
    uint64_t ended;       // when the last block did
    uint32_t cap;
    int warps_cap;
    uint32_t next_sched; // that the next warp goes to
    uint64_t next_age;
    uint64_t since; // active cycles before this have been counted
    uint64_t active_cycles, block_cycles;
    uint64_t finished;    // cycle the last block ended
    sm_use used, planned; // of several kernels at a time (grids.h)
    ORR_VEC(orr_span) spans;
    uint64_t spans_left_out;
    ORR_VEC(orr_clock_read) clocks;
} block_slots;

typedef struct sm {
    _Alignas(64) struct cycle *c;
    struct worker *worker; // the host thread that runs it now
    struct step_sm *live;  // of a kernel that is executed as it is timed (step.c); NULL: it is not
    bool bad_trace;        // a trace was damaged
    bool out_of_blocks;    // it has room, and no block in stock: it stops until it is given some
    bool unused;           // nothing has run on it since it was prepared for a launch
    uint32_t id;
    uint64_t answer_delay; // ticks that answers take longer than to a GPC's first TPC (l2.tpc_further)
    event_queue clock;
    scheduler *sched;   // [cycle.nsched]
    warp *warps;        // by number (warp_id)
    operands *operands; // [sub-core]
    data_pipe pipe;     // of L1 and shared memory
#define PART(type, name, ...) type name;
#include "core/parts.def"
#undef PART
    block_slots tb;
    cluster_messages cluster;
    orr_sm_counts n; // what no component counts
    uint64_t stalls[ORR_STALLS];
} sm;

typedef struct worker { // one host thread's sums; which thread ran what does not matter for them
    uint64_t (*by_inst)[ORR_STALLS];
    uint64_t *issued, *threads;
    uint32_t ninsts;
    bank_memo *memo;      // of shared memory, by instruction
    orr_traffic *traffic; // of global memory, by instruction
} worker;

// Somebody else's memory instead of L2 and DRAM: the share that one SM has of them (model/partial).
typedef struct foreign_memory {
    void *arg;
    // As orr_memsys_run, in one partition; answers come at once. Returns when it takes the next request.
    uint64_t (*run)(void *arg, const orr_request *r, size_t n, orr_replies *out);
} foreign_memory;

typedef struct core_spec { // an SM, as the description has it: the specs of its components
    operands_spec operands;
    issue_spec issue;
#define PART(type, name, ...) name##_spec name;
#include "core/parts.def"
#undef PART
} core_spec;

typedef struct branch_spec { // cycles that a warp issues nothing behind a branch, by what it does
    uint64_t wait, jump, indirect, switch_lanes, sync_meet, yield, sync_poll;
    uint64_t barrier; // latency of a barrier
    uint64_t writeback;
} branch_spec;

typedef struct launch_spec { // cycles of thread blocks that come and go
    uint64_t block_latency, turnaround, warp_interval;
} launch_spec;

typedef struct kernel_traits {
    bool strong;       // it has accesses that are sent at once
    bool in_order;     // accesses are used in the order of the stream
    bool arrives_only; // warps arrive at barriers whose number is in a register, and do not wait there
    uint8_t *plain;    // [instruction] PLAIN: its result comes after a fixed time, and nothing else happens
    uint32_t ninsts;   // that it has room for
} kernel_traits;
enum { PLAIN = 1, PLAIN_RESULT }; // the same, but something may look at when its result comes

typedef struct warp_room { // what each warp has room for
    uint32_t places;       // registers
    uint32_t accesses;     // offsets of accesses
    uint64_t *regs;        // of all warps
    uint32_t *offsets;
} warp_room;

typedef struct host_threads {
    worker *workers;
    int n;
} host_threads;

typedef struct cycle {     // one GPU, from launch to launch
    struct orr_step *live; // the kernel is executed as it is timed (step.c); NULL: it is not
    const orr_gpu *gpu;
    orr_program *program; // of the launch under way
    const orr_kernel *kernel;
    core_launch launch; // what SMs know of the launch
    network net;        // what SMs know of the network and the memory
    fetch_code code;    // the program's
    kernel_traits traits;
    bool timeline;
    bool perfect;
    bool blocks_left; // there are thread blocks that no SM has yet
    core_spec core;
    crossbar_spec crossbar;
    launch_spec dispatch;
    branch_spec branch;
    sm *sms;
    uint32_t nsms;
    uint32_t nsched, per_sched; // schedulers of an SM, warps of each
    uint32_t sched_per_sub;     // schedulers of a sub-core
    warp_room room;
    orr_memsys *mem;
    const foreign_memory *foreign; // NULL: `mem`
    uint64_t window;               // cycles
    uint32_t cluster;              // thread blocks of a cluster; 1: there are none
    struct grids *grids;           // several kernels at a time; NULL: one
    uint32_t sreg_unit;            // that reads special registers, as S2R does
    uint64_t spacing;              // between the starts of two blocks on an SM, in this window
    uint32_t *latencies; // [instruction] pre-characterisation (precharacterise.c): cycles until its result;
                         // NULL: none
    host_threads host;
} cycle;

static inline uint32_t warp_id(const warp *w) { return (uint32_t)w->sched * MAX_WARPS + w->slot; }
static inline warp *warp_of(const sm *s, uint32_t id) { return &s->warps[id]; }

// Cycles of a warp: n of them for this reason, at its next instruction.
static inline void charge(sm *s, uint32_t inst, enum orr_stall why, uint64_t n) {
    s->stalls[why] += n;
    s->worker->by_inst[inst][why] += n;
}

void cyc_count_issue(sm *s, const warp *w, uint32_t inst); // sm.c

// ---- warp.c: what a warp's next instruction waits for -------------------------------------------
bool cyc_warp_fence_is_off(const sm *s, const warp *w, const orr_tinst *i); // its predicate is false
void cyc_warp_update(sm *s, warp *w);                  // works out `ready` and tells the scheduler
void cyc_warp_account(sm *s, warp *w, uint64_t until); // gives the cycles up to `until` their reasons
bool cyc_warp_next_block(sm *s, warp *w); // the next code block of its trace; false: there is none
const orr_tblock *cyc_warp_enter(warp *w,
                                 const orr_program *p); // `pc.then`, or a body that is predicated off
void cyc_warp_result(sm *s, warp *w, const orr_tinst *i, uint64_t ready);     // its registers are ready then
void cyc_warp_expect(sm *s, warp *w, const orr_tinst *i, enum orr_stall why); // when an answer comes
void cyc_warp_complete(sm *s, warp *w, uint32_t inst, uint64_t ready, uint8_t group); // the answer
void cyc_warp_copied(sm *s, warp *w, uint8_t group, uint64_t ready); // a bulk copy of the group has been read
// A memory instruction reads its operands when cyc_warp_has_read says so.
void cyc_warp_will_read(sm *s, warp *w, const orr_tinst *i);
void cyc_warp_has_read(sm *s, warp *w, const orr_tinst *i, uint64_t when);

// ---- precharacterise.c: it takes down when results are there ----------------------------
void cyc_precharacterise_note(const sm *s, const orr_tinst *i, uint64_t ready);

// ---- sm.c ---------------------------------------------------------------------------------------
void cyc_sm_connect(sm *s); // its components report to it
void cyc_sm_run(sm *s, uint64_t until);
orr_sm_counts cyc_sm_counts(const sm *s);    // of all of its components
uint64_t cyc_sm_operand_cycles(const sm *s); // that instructions have waited for their operands
uint64_t cyc_sm_next(const sm *s);           // when something can happen next

// ---- block.c: thread blocks come and go ---------------------------------------------------------
void cyc_block_start(sm *s, uint64_t when); // takes one from the stock, if there is room
void cyc_block_warp_ended(sm *s, warp *w);
void cyc_block_free(block *b); // what it has
void cyc_block_barrier(sm *s, warp *w, const orr_tinst *i);
void cyc_block_registers(sm *s, warp *w, const orr_tinst *i, uint32_t inst); // setmaxnreg
uint32_t cyc_block_room(const sm *s);   // for how many more blocks there is room
bool cyc_block_registers_anyway(sm *s); // whoever asks for registers has them; false: nobody does
void cyc_block_check(sm *s, block *b);  // warps have ended, or wait elsewhere

// ---- arrive.c: barriers in shared memory --------------------------------------------------------
void cyc_arrive(sm *s, warp *w, const orr_tinst *i, uint32_t inst, const orr_trace *access, uint64_t start);
void cyc_fence_bulk_landed(sm *s, uint64_t when);                      // a bulk load is there
void cyc_bulk_done(void *self, const tma_copy *copy, uint64_t when);   // tma_client.done
void cyc_copies_landed(sm *s, warp *w, uint8_t which, uint64_t ready); // one of them

void cyc_arrived(sm *s, block *b, uint64_t mbar, uint32_t lanes, uint64_t when);
bool cyc_waits_release(sm *s); // of streams that do not say enough: all waits are over; false: there are none

// ---- cluster.c: other blocks of the cluster --------------------------------------------------------
uint32_t cyc_cluster_rank(const sm *s, const block *b, uint64_t addr, uint64_t *offset);
void cyc_cluster_arrive(sm *s, const block *b, uint32_t rank, uint64_t offset, uint32_t lanes, uint64_t when);
void cyc_cluster_receive(sm *s, uint32_t at); // an event
void cyc_cluster_barrier(sm *s, warp *w, const orr_tinst *i);
void cyc_cluster_arrived(sm *s, block *b, bool gone); // of a block that has arrived, or ended
void cyc_cluster_left(sm *s, block *b);               // a warp of the block has ended
bool cyc_cluster_access(sm *s, warp *w, const orr_tinst *i, const orr_trace *trace, uint64_t start);

#endif
