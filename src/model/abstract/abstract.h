// The abstract model's nouns (docs/abstract.md): Punniyamurthy, Boroujerdian, Gerstlauer, "GATSim: Abstract
// Timing Simulation of GPUs". A kernel's instructions have latencies that were found once, alone
// (cycle/alone.h); what is simulated is who issues when, and memory.
//
// The paper's occupancy vector, cycles after which each warp can issue again, is kept by time instead of by
// warp
// (`wheel`): for each cycle ahead the set of warps that become ready in it. Nobody counts down, and the next
// event is one bit operation away.
#ifndef ORR_ABSTRACT_H
#define ORR_ABSTRACT_H

#include "memory/cache.h"
#include "memory/ledger.h"
#include "memory/memory.h"
#include "memory/quick.h"
#include "model/cycle/engine.h"
#include "model/cycle/supply.h"
#include "timed/timed.h"

#define NEAR   64 // cycles of a group of the wheel
#define GROUPS 64 // further groups

// ---- code ---------------------------------------------------------------------------------------------
// An instruction as the model needs it: a host cache line.
enum {
    AF_MEMORY = 1, // goes to the load/store unit
    AF_WATCH = 2,  // its unit can be busy when somebody wants it
    AF_APART = 4,  // it concerns no other scheduler
    AF_PLAIN = 8,  // it has a latency, and nothing else happens
    AF_LINE = 16,  // its code may be on another line than that of the instruction before
    AF_LAST = 32,  // of its code block: the warp may end
    AF_MORE = 64,  // it waits for more than two registers, or writes more than one
    AF_RARE = 128, // register banks, hold, tensor: looked at one by one
};
// Registers of a warp that no instruction has: one that is always there, one that nobody looks at.
#define NO_WAIT   0
#define NO_RESULT 1
#define OWN_REGS  2 // from here on the program's
#define NEAR_REGS 4
typedef struct ainst {
    _Alignas(64) uint8_t flags; // AF_*
    uint8_t kind;               // orr_tkind
    uint8_t unit;               // index in gpu->units
    uint8_t nwait, nset;        // registers it may have to wait for, and those it writes
    uint8_t wait, wbar, rbar;   // control bits: barriers waited for, set
    uint16_t busy;              // cycles its unit takes no other
    uint16_t step;              // to the warp's next instruction: stall count, branch
    uint32_t latency;           // pre-characterised
    uint32_t line;              // of code, + 1
    uint32_t regs;              // in code.regs: nwait, then nset, where `near` is too small
    uint16_t first[2], result;  // the first two it waits for, the first it writes
    uint16_t near[NEAR_REGS];   // all of them
    bool banks;                 // it reads register banks that can be busy
    bool apart;                 // and waits until they are free
    bool yield;                 // lets another warp go first
    uint8_t hold;               // cycles more that its warp waits
    bool jumps, tensor, found;  // a branch that costs more when taken; a tensor instruction; B2R
    uint8_t reads[ORR_READ_BANKS];
} ainst;

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
    uint16_t nlines, sectors, cost, each;
    uint8_t bytes[MEMO_BYTES];
    struct {
        int32_t line; // from that of the address
        uint8_t sectors, whole;
        uint8_t lanes;
    } at[MEMO_LINES];
} amemo;
#define MEMOS 4
typedef struct amemos { // the last patterns of an instruction
    uint32_t next;
    amemo memo[MEMOS];
} amemos;

typedef struct acode {
    orr_program *program;
    uint64_t key;
    ainst *insts;
    uint16_t *regs;
    amemos *memo;      // of memory instructions: memo_of[inst]
    uint32_t *memo_of; // + 1
    uint32_t nmemo;
    uint32_t nblocks, ninsts; // taken over so far
    uint32_t *latency;        // [ninsts], pre-characterised
    bool in_order;            // accesses come in the order in which the trace has them
    bool characterised;
} acode;

// ---- an SM ----------------------------------------------------------------------------------------------
typedef struct awarp {
    uint32_t at, end;         // instructions
    uint32_t body;            // of the code block it is in: orr_tblock.body
    uint32_t then, then_mask; // the next block of its trace, when it has been read
    uint32_t mask;
    uint32_t block; // its thread block's slot
    uint32_t need;  // order.c: of its block's needs, the next one
    bool has_then, ghost;
    uint8_t waiting; // at a barrier, + 1
    uint8_t sched, at_bit;
    uint64_t front;  // not before this
    uint64_t landed; // when its last load is there
    uint64_t stored; // when its last store has been heard of
    uint64_t fetched;
    orr_trace trace;
    const uint8_t *base;
    uint64_t bar[6];
    uint64_t group_ready[MAX_GROUPS];
    uint32_t group;
    uint32_t *access;
    uint64_t *reg; // [place] when it can be used
} awarp;

typedef struct asched {
    uint64_t awake, live, active; // by bit: warps in order of age
    uint64_t memory, watch;       // whose next instruction is AF_MEMORY, AF_WATCH
    uint64_t wake, next_issue;
    uint64_t time;            // it has come so far
    uint64_t group;           // the wheel has the warps of this group of cycles and the next
    uint64_t soon[2];         // by group: cycles in which somebody becomes ready
    uint64_t later_set;       // groups that have somebody
    uint64_t wheel[2 * NEAR]; // who
    uint64_t later[GROUPS];
    uint64_t ready[MAX_WARPS];
    uint32_t at[MAX_WARPS];  // the warp's next instruction
    uint8_t who[MAX_WARPS];  // warp of a bit
    uint8_t pool[MAX_WARPS]; // that the next instruction needs
    uint8_t pool_of[ORR_GPU_UNITS_MAX];
    uint64_t used; // warps in use
    uint32_t nbits;
    uint32_t last; // bit; MAX_WARPS: none
    bool yield;
    uint64_t bank_free[ORR_READ_BANKS];
    uint64_t *l0_when, l0_last;
    orr_cache l0;
    awarp *warps;
} asched;

typedef struct ablock {
    tbuf *buf; // NULL: free
    uint64_t start, end;
    uint32_t running, nwarps, at_barrier;
    uint32_t bar_latency; // of the barrier that somebody came to last
    uint32_t *warp;       // sched * MAX_WARPS + warp
    uint32_t arrived[16];
} ablock;

struct orr_latencies;
struct machine;
typedef struct acore {
    struct machine *m;
    uint32_t id;
    uint64_t now;
    asched *sched;
    asched *runs;    // the one that is being simulated,
    uint64_t others; // and when the first of the others has something to do
    pool pools[MAX_POOLS];
    uint64_t pool_free[MAX_POOLS];
    uint32_t npools;
    ablock *blocks;
    uint32_t nblocks, running, blocks_cap; // slots; with a block
    int warps_cap;
    uint32_t next_sched;
    uint64_t block_free;
    bool damaged, starved, prepared;
    uint32_t ended; // slot of the block that ended last
    uint64_t finished, since, active;
    // load/store unit
    uint64_t lsu_free, lsu_room;
    uint64_t *starts;
    uint32_t nstarts;
    orr_cache l1, constants, constants2, l1i;
    uint64_t *l1_when, *l1i_when, l1i_last; // by line: when what is on its way is there
    uint64_t ramp;                          // until then tensor instructions are slow; 0: there was none yet
    uint64_t l1_bytes;
    uint64_t *misses; // heap: when the lines on their way come
    uint32_t nmisses;
    uint64_t send_free; // ticks
    struct {            // stores at the port, by line: later ones join those that wait (xbar.join)
        uint64_t line, leaves;
        uint8_t sectors;
    } stores[64];
    tbuf *done;
    uint32_t places, accesses; // that its warps have room for
    orr_sm_counts n;
} acore;

typedef struct machine {
    const orr_gpu *gpu;
    orr_gpu one; // the same with one SM, and
    cycle *c;    // the cycle model's machine of it, for the latencies it has worked out
    acode *code;
    const orr_kernel *kernel;
    acore *cores;
    uint32_t ncores, nsched, per_sched, lsu_queue;
    const orr_occupancy_result *occ;
    uint64_t from, until; // the window
    bool more, perfect, control, collector;
    bool stops; // an SM stops whenever a block ends
    bool code_fits;
    uint64_t code_lines;
    uint32_t places, accesses; // that warps need room for
    int issue;
    uint64_t ahead; // a scheduler may go by itself
    uint64_t ports, bank_window;
    uint32_t nbanks;
    bool oldest_first, greedy; // the policy, when it is a simple one
    bool fetches;              // code is not always there
    bool throttles[ORR_GPU_UNITS_MAX],
        own[ORR_GPU_UNITS_MAX]; // units that can be in the way; of one scheduler
    uint64_t issue_interval, spacing;
    orr_quick *memory;
    orr_ledger *receive; // [SM] its port from the network
    orr_ledger *shared;  // [TPC] and that of its SMs together (xbar.tpc_reply)
    uint32_t tpc_sms;    // SMs of a TPC; 0: they share nothing
    uint64_t tpc_byte;   // ticks
    orr_ledger dealer;   // launch.block_interval
    // of the memory instruction at hand
    orr_access access;
    orr_coalesced lines;
    const uint8_t **access_at;                          // of the code block at hand
    uint8_t whole[ORR_LINES_MAX], lanes[ORR_LINES_MAX]; // by line: sectors a store writes whole; lanes
} machine;

static inline awarp *awarp_of(const acore *s, uint32_t id) {
    return &s->sched[id / MAX_WARPS].warps[id % MAX_WARPS];
}

// ---- code.c: a program and its latencies to what is simulated
// -------------------------------------------------
acode *abt_code_new(orr_program *p);
void abt_code_free(acode *c);
// Takes over what the program has more than before; latencies from the pre-characterisation.
bool abt_code_grow(acode *c, machine *m, orr_err *e);
// Latencies from a file, when it has them, and into one.
bool abt_code_from(acode *c, const machine *m, const struct orr_latencies *l);
bool abt_code_into(const acode *c, const machine *m, struct orr_latencies *l);

// ---- core.c: Algorithm 1
// ----------------------------------------------------------------------------------------
void abt_core_run(acore *s, uint64_t until);
uint64_t abt_core_next(const acore *s);
void abt_warp_look(acore *s, awarp *w); // works out when it can issue
void abt_sched_add(asched *q, uint32_t warp);
void abt_sched_remove(asched *q, uint32_t warp);
void abt_sched_reset(asched *q);
bool abt_warp_next_block(acore *s, awarp *w);

// ---- block.c
// ----------------------------------------------------------------------------------------------------
void abt_block_start(acore *s, uint32_t slot, tbuf *b, uint64_t when);
void abt_block_barrier(acore *s, awarp *w, const orr_tinst *i);
void abt_block_warp_ended(acore *s, awarp *w);

// ---- lsu.c, fetch.c
// ------------------------------------------------------------------------------------------------
void abt_memory(acore *s, awarp *w, uint32_t inst, const ainst *i, uint64_t late);
void abt_memory_start(acore *s, uint64_t l1_bytes);
// What the accesses of a run of `block` cost, mixed into *hash (perfect memory): all that time depends on.
bool abt_memory_cost(machine *m, uint32_t block, orr_trace *t, uint64_t *hash);
uint64_t abt_fetch(acore *s, awarp *w, uint64_t line, uint64_t now); // a line that it did not have last

// ---- engine.c
// --------------------------------------------------------------------------------------------------------
machine *abt_machine_new(const orr_gpu *g, orr_err *e);
void abt_machine_free(machine *m);
typedef struct arun {
    uint64_t cycles, sm_active;
    double execute_seconds;
    orr_sm_counts n;
    orr_sampler *sampler; // in: as in orr_work
} arun;
bool abt_run(machine *m, orr_source *source, const orr_occupancy_result *occ, int threads,
             orr_progress *progress, arun *out, orr_err *e);

void abt_core_prepare(machine *m, acore *s); // for a launch

// ---- alike.c: SMs whose courses are the same are simulated once
// ------------------------------------------------------
typedef struct alike alike;
alike *abt_alike_new(machine *m);
void abt_alike_free(alike *a, supply *supply);
void abt_alike_start(alike *a, uint32_t core, uint32_t slot, tbuf *b, uint64_t when);
// The next block that ends on any SM; false: none does.
bool abt_alike_ends(alike *a, uint32_t *core, uint32_t *slot, uint64_t *when);
bool abt_alike_running(const alike *a);
tbuf *abt_alike_done(alike *a); // blocks that are not needed any more
void abt_alike_sum(const alike *a, arun *out);

#endif
