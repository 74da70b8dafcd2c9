// Private to exec/: a warp in flight, and the predecoded instruction (micro-op) that handlers run.
//
// A register of class H, W, D, Q is 32 lanes side by side (64, 128, 256, 512 bytes); one of class P
// is a 32-bit mask. Registers of one class lie in one array per warp, so that two lanes of a diverged
// warp never share bytes. A micro-op names an operand by bank and byte offset; immediates are
// pre-broadcast in a bank of their own, so that every source is read the same way.
#ifndef ORR_WARP_H
#define ORR_WARP_H

#include "exec/exec.h"
#include "stream/trace.h"

#define FULL 0xffffffffu

enum { // banks: the register classes, then the constants
    BANK_P = ORR_P,
    BANK_H = ORR_H,
    BANK_W = ORR_W,
    BANK_D = ORR_D,
    BANK_Q = ORR_Q,
    BANK_CONST,
    BANKS
};

// Bytes of one register of a class, all lanes.
static inline uint32_t reg_bytes(int cls) { return cls == ORR_P ? 4 : (1u << cls) * ORR_WARP; }

typedef struct oper {
    uint32_t off; // bytes from w->bank[bank]
    uint8_t bank;
    uint8_t cls;  // enum orr_class
    uint8_t neg;  // predicate: invert
    uint8_t none; // absent, or the sink: handlers of instructions where that is possible check it
} oper;

typedef struct warp warp;
typedef struct uop uop;
typedef void uop_fn(warp *w, const uop *u);

struct uop {
    uop_fn *full;    // all 32 lanes active: writes every lane
    uop_fn *masked;  // writes only lanes in w->exec (may be == full when it handles both)
    uop_fn *inner;   // machine code: what a uniform micro-op runs for all lanes, whichever are active
    oper d, a, b, c; // first destination, first three sources; d.none, ... when there are fewer
    const oper *all; // every operand, destinations first, then sources
    const orr_inst *inst;
    uint32_t imm;  // copy of inst->imm
    int32_t disp;  // copy of inst->disp, of loads and stores
    int32_t guard; // byte offset of the guard in the P bank, or -1
    uint32_t mem;  // number of this memory instruction in the kernel: index of worker.range
    uint8_t guard_neg;
    uint8_t traced; // a stream carries its addresses
    uint8_t ndst, nsrc;
    uint8_t tries;  // waits for the phase of an mbarrier (run/arrive.c)
    uint8_t active; // machine code: honours guard and lanes though it writes a scratch row (sass/translate.h)
    uint8_t pair;   // loads and stores: the address is a pair of rows, `a` and the last source (high words)
    uint8_t shape;  // of its rows of addresses: place in warp.shapes, the one behind the last: its own
    uint8_t way;    // WAY_*, to find where its lanes are (ops/place.h)
};

// How the 32 addresses in a row, or in a pair of rows, lie, whichever lanes are active. Loads and stores that
// have the same rows, which nobody writes in between, look once (run/shapes.c).
typedef struct row_shape {
    uint64_t high;        // the high words, which are one, as bits 32 and up
    uint32_t first;       // lane 0's low word
    uint32_t least, most; // of the low words
    uint32_t low;         // bits in which low words differ; of REGULAR and ROWS the steps' bits
    uint32_t step;        // REGULAR, ROWS: from lane to lane
    int64_t down;         // ROWS: from lane 0 to lane 16
    uint8_t kind;         // SHAPE_*
    uintptr_t at;         // where word 0 would be on the host
    int64_t from, to;     // displacements with which all lanes are inside what it is in: from, up to an end
} row_shape;
// Of loads and stores of a block with the same rows of addresses: where all of them are, found at once
// (ops/ldst.c).
typedef struct spot_group {
    const uop *u;        // one of them
    int64_t least, most; // displacements: of the first byte, of the end
    uint32_t bits;       // those that no address may have: its displacements' and below its access's size
    uint32_t align;      // the largest access, less one
} spot_group;
typedef struct spot {
    int64_t step;  // bytes from lane to lane: 0, 4 or 16; else SPOT_NONE
    uint8_t *at;   // lane 0, with no displacement
    uint8_t *down; // lane 16
} spot;
enum { SPOT_NONE = 1 };
void orr_spot_find(warp *w, const spot_group *g, spot *s);
void orr_spot_note(warp *w, const uop *u); // the access at one, in the stream

enum { SHAPE_REGULAR, SHAPE_ROWS, SHAPE_ANY, SHAPE_FAR }; // ROWS: two of 16; FAR: high words differ
enum { LOCAL_SHAPES = 8, SHAPES = 32 };                   // the first of them only within a basic block
enum { WAY_LONG, WAY_SHARED, WAY_PAIR, WAY_WIDE };

// A group of lanes that run together. How lanes part and meet: run/warp.c.
typedef struct frag {
    uint32_t mask;
    uint32_t pc;           // block
    int32_t join;          // where its lanes meet others, -1: nowhere
    int32_t frame;         // of the function it is in
    uint32_t turn;         // when it last ran, for fairness
    uint32_t since;        // machine code: when its lanes last yielded
    uint32_t blocked;      // machine code: when its lanes came to the BSYNC they wait at
    uint8_t state;         // FRAG_*
    uint8_t bar;           // the barrier it waits at
    bool overtaken;        // machine code: at a BSYNC, and others have met there that went before it
    bool yielded;          //   it has yielded, and not gone on since
    bool waited;           // has already waited for the lanes its block starts with
    uint32_t waits_at;     // machine code, FRAG_SYNC: the block of the instruction it waits at
    uint32_t needed_lanes; // without a barrier register: the lanes it waits for
} frag;
enum { FRAG_FREE, FRAG_READY, FRAG_BAR, FRAG_LANES, FRAG_SYNC };

typedef struct join { // a place where lanes wait for each other
    uint32_t mask, arrived;
    uint32_t pc;
    int32_t frame;  // pc is in this activation
    int32_t parent; // the join around it; when free: the next free one
} join;

typedef struct frame { // an activation of a function
    uint32_t lanes;    // that are in it or in what it calls; none: free
    uint32_t func;
    int32_t parent;             // when free: the next free one
    uint32_t base[ORR_CLASSES]; // bytes into the warp's register arrays
    uint32_t local;             // its frame in local memory
    uint32_t alloca;            // bytes taken by alloca beyond the function's own
    const struct uop *call;     // where it was called
    int32_t back;               // the block behind that
} frame;

// A warp that is executed as it is timed (step.c), and what its handlers find at an address.
typedef struct live {
    struct orr_step_warp *self;
    struct orr_step_access *access; // that the instruction at hand has made
    uint64_t now;                   // cycle
    double ns;                      // of a cycle
    bool at_issue;                  // it does all that it does then
    bool watched;                   // its accesses are only watched for races (races.c)
    uint64_t sleeps;                // cycles that it is to sleep
    uint8_t *values;                // a load is given these, lane by lane; NULL: none
    uint8_t *memory;                // an atomic is served: where address 0 would be
    const uint64_t *addr;           // the addresses of the atomic's lanes
} live;
enum { STEP_NOW, STEP_LATER, STEP_AGAIN }; // done as ever; not now; with the pointers that are there now
int orr_step_address(warp *w, const uop *u, const uint64_t addr[ORR_WARP], uint8_t space, uint32_t bytes,
                     uint8_t *host[ORR_WARP]);

typedef struct warp_tally { // counting by block of code (orr_tally)
    const orr_tally *of;    // NULL: not asked for
    orr_tally_count *counts;
    uint32_t from;        // the block it ran last
    uint64_t clock, work; // with what it waited for at barriers, without
} warp_tally;

typedef struct warp_convergence { // machine code: how its lanes part and meet (sass/converge.c)
    uint32_t has_yielded;         // YIELD before
    uint32_t yielded;             // YIELD since they last met others
    uint32_t waiting;             // lanes that wait at a BSYNC or WARPSYNC, or have since and not run yet
    uint32_t at_bsync;            // fragments that wait at a BSYNC, a bit each
    uint16_t restored;            // barrier registers that BMOV has written since BSSY did
    bool dropped_lanes;           // lanes that were not there were taken off a barrier
    bool switches;                // it has just yielded: other lanes go on
} warp_convergence;

typedef struct warp_polls { // its turns among others (run/poll.c)
    int64_t budget;         // what is left of its quantum
    uint32_t polled;        // blocks of code that poll since lanes of it last met
    bool only_polled;       // it gave way, having done nothing but poll
    bool yields;            // it gave way because it polled: its other lanes go on first
} warp_polls;

typedef struct warp_products { // of a group of four warps (ops/wgmma.c)
    uint32_t n;                // that it has executed
    uint32_t over;             // of them, those that it has waited for (run/flights.c)
    uint32_t groups, ends[8];  // groups of them, and with which product the last ones ended
} warp_products;

typedef struct warp_tries { // waits for an mbarrier (run/arrive.c)
    const uop *paused;      // in front of a try that it waits at; NULL: it does not
    bool held, may_go;      // it waits until the phase is over; that is so
} warp_tries;

typedef struct warp_bars {
    const uop *waiting[ORR_WARP]; // for each fragment that waits at a barrier: the instruction
    bool some;                    // may not be NULL
} warp_bars;

typedef struct warp_joins {
    join *at;
    uint32_t n, cap;
    int32_t free;
} warp_joins;
typedef struct warp_frames {
    frame *at;
    uint32_t n, cap;
    int32_t free;
} warp_frames;

// Register arrays by class. A warp that ends leaves its own to one that begins, which finds them in the
// host's first cache.
typedef struct warp_areas {
    uint8_t *at[ORR_CLASSES];
    uint32_t bytes[ORR_CLASSES];
} warp_areas;

typedef struct warp_shapes { // of its rows of addresses (run/shapes.c)
    uint32_t found;          // a bit each
    row_shape at[SHAPES + 1];
} warp_shapes;

struct warp {
    uint8_t *bank[BANKS];
    uint32_t exec;                                        // lanes the current instruction runs on
    uint32_t lanes_of;                                    // the mask that `lane` expands
    uint32_t lane[ORR_WARP] __attribute__((aligned(64))); // ~0u or 0 for each lane: exec, expanded
    uint32_t carry;                                       // the carry flag, a bit a lane
    uint32_t index;                                       // in the block
    uint32_t live;                                        // lanes that have not exited
    frag *frag;                                           // the group of lanes being run
    struct tblock *tb;                                    // its thread block
    struct worker *worker;
    live *step;           // NULL: it is not executed as it is timed
    orr_trace_out *trace; // NULL: no streams
    warp_tally tally;
    frag frags[ORR_WARP];
    uint32_t used; // fragments that are not FRAG_FREE, a bit each
    warp_bars bars;
    warp_convergence convergence;
    uint32_t turn;
    warp_polls polls;
    warp_tries tries;
    warp_products products;
    uint32_t cluster_phase;       // of the cluster's barrier when it last arrived
    uint64_t insts, thread_insts; // executed
    uint64_t ticks;               // clock reads, and looks at flags
    warp_shapes shapes;
    warp_joins joins;
    warp_frames frames;
    warp_areas regs; // the register arrays
    bool fresh;      // it has not run yet, and has none
};

// Fragments one after the other, those too that are made meanwhile:
// for (int n = next_frag(w, 0); n < ORR_WARP; n = next_frag(w, n + 1))
static inline int next_frag(const warp *w, int n) {
    uint32_t left = n < ORR_WARP ? w->used >> n : 0;
    return left ? n + orr_ffs(left) : ORR_WARP;
}
static inline void free_frag(warp *w, frag *f) {
    uint32_t bit = 1u << (f - w->frags);
    f->state = FRAG_FREE;
    w->used &= ~bit;
    w->convergence.at_bsync &= ~bit;
}

// Of lanes that sleep for so many nanoseconds, where there is time: the longest counts.
static inline void warp_sleeps(warp *w, const uint32_t *ns, uint32_t lanes) {
    for (uint32_t m = w->step ? lanes : 0; m; m &= m - 1) {
        uint64_t n = (uint64_t)((double)ns[orr_ffs(m)] / w->step->ns);
        if (n > w->step->sleeps) w->step->sleeps = n;
    }
}

// Operand access for handlers. T is the element type: uint32_t *d = DST(w, u, uint32_t);
#define OPER(w, o, T)     ((T *)(void *)((w)->bank[(o).bank] + (o).off))
#define DST(w, u, T)      OPER(w, (u)->d, T)
#define SRC_A(w, u, T)    ((const T *)OPER(w, (u)->a, T))
#define SRC_B(w, u, T)    ((const T *)OPER(w, (u)->b, T))
#define SRC_C(w, u, T)    ((const T *)OPER(w, (u)->c, T))
#define SRC_N(w, u, n, T) ((const T *)OPER(w, (u)->all[(u)->ndst + (n)], T))
#define DST_N(w, u, n, T) OPER(w, (u)->all[n], T)
// Predicates are masks; a source may be negated. Constants of class P are 0 or ~0u.
static inline uint32_t pred_of(const warp *w, oper o) {
    uint32_t m = *(const uint32_t *)(const void *)(w->bank[o.bank] + o.off);
    return o.neg ? ~m : m;
}
static inline void set_pred(warp *w, oper o, uint32_t value) { // only active lanes change
    if (o.none) return;
    uint32_t *p = OPER(w, o, uint32_t);
    *p = (*p & ~w->exec) | (value & w->exec);
}

// Loops over lanes that the compiler is to turn into SIMD code. Registers of one instruction are
// either the same or disjoint, which is what `ivdep` needs.
#if defined(__clang__)
#define LANES _Pragma("clang loop vectorize(assume_safety)") for (int i = 0; i < ORR_WARP; i++)
#else
#define LANES _Pragma("GCC ivdep") for (int i = 0; i < ORR_WARP; i++)
#endif

static const uint32_t lane_bit[ORR_WARP] __attribute__((aligned(64), unused)) = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
    1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
    1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
    1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31,
};

static inline void set_exec(warp *w, uint32_t mask) {
    w->exec = mask;
    if (w->lanes_of == mask) return;
    w->lanes_of = mask;
    LANES w->lane[i] = 0u - (uint32_t)((mask & lane_bit[i]) != 0);
}

// The lanes of `mask` that u's guard lets through.
static inline uint32_t guarded(const warp *w, const uop *u, uint32_t mask) {
    if (u->guard < 0) return mask;
    uint32_t g = *(const uint32_t *)(const void *)(w->bank[BANK_P] + u->guard);
    return mask & (u->guard_neg ? ~g : g);
}

// A handler pair. Each family picks by op, type and mods; NULL full: not this family's, or this
// variant is not supported (then *why may be set to a short reason).
typedef struct handlers {
    uop_fn *full, *masked;
} handlers;
handlers orr_pick_int(const orr_kernel *k, const orr_inst *i, const char **why);   // int.c, logic.c, video.c
handlers orr_pick_float(const orr_kernel *k, const orr_inst *i, const char **why); // float.c, half.c, sfu.c
handlers orr_pick_cvt(const orr_kernel *k, const orr_inst *i, const char **why);   // cvt.c, mov.c
handlers orr_pick_mma(const orr_kernel *k, const orr_inst *i, const char **why);   // ops/mma.c
handlers orr_pick_wgmma(const orr_kernel *k, const orr_inst *i, const char **why); // ops/wgmma.c
handlers orr_pick_bulk(const orr_kernel *k, const orr_inst *i, const char **why);  // ops/bulk.c
handlers orr_pick_remote(const orr_kernel *k, const orr_inst *i,
                         const char **why); // ops/remote.c: mapa, st.async, red.async, barrier.cluster
handlers orr_pick_texture(const orr_kernel *k, const orr_inst *i,
                          const char **why); // ops/texture.c: tex, txq, surfaces
handlers orr_pick_lanes(const orr_kernel *k, const orr_inst *i,
                        const char **why); // lanes.c: shfl vote match redux activemask elect
handlers orr_pick_memory(const orr_kernel *k, const orr_inst *i,
                         const char **why); // ldst.c: ld st cp.async prefetch
handlers orr_pick_atomic(const orr_kernel *k, const orr_inst *i,
                         const char **why); // atomic.c: atom red mbarrier
handlers orr_pick_system(const orr_kernel *k, const orr_inst *i,
                         const char **why); // system.c: special registers, printf, the heap

// A function of the device runtime (ORR_SYS_*) called by one lane: its result (system.c).
uint64_t orr_system_call(warp *w, const uop *u, int lane, unsigned which,
                         const uint32_t arg[ORR_SYSCALL_WORDS]);
// Those that launch kernels, and what goes with them (device.c).
uint64_t orr_device_call(warp *w, const uop *u, int lane, unsigned which,
                         const uint32_t arg[ORR_SYSCALL_WORDS]);
// Bytes at a generic address as one lane sees them; NULL when they are not all there.
uint8_t *orr_bytes_at(const warp *w, int lane, uint64_t addr, uint64_t n);

// One element at `at` is reduced with another (ops/atomic.c), f32 with subnormals flushed or not. False:
// there is no such operation (ORR_ATOM_*) on the type.
bool orr_reduce(uint8_t op, uint8_t type, bool flush, uint8_t *at, const void *with);

// A handler that finds the program at fault says so here and returns; the main loop stops the launch.
void orr_fault_as(int kind, warp *w, const uop *u, int lane, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
#define orr_fault(...) orr_fault_as(ORR_FAULT_OTHER, __VA_ARGS__)

// Addresses. Computes the first source + disp for every active lane of a memory operand, translates to host
// pointers (global, shared, local, const, param, generic), checks bounds and alignment of `bytes`
// per lane, records the access in the trace when streams are on. False after a fault.
bool orr_addresses(warp *w, const uop *u, uint8_t space, uint32_t bytes, uint8_t *host[ORR_WARP]);
// orr_addresses where a handler has worked out each lane's address itself.
bool orr_addresses_at(warp *w, const uop *u, const uint64_t addr[ORR_WARP], uint8_t space, uint32_t bytes,
                      uint8_t *host[ORR_WARP]);

#endif
