// What a memory access costs: cycles of L1 and of shared memory, and work of an L2 slice's atomic units.
//
// Each rule is a pure function of the access and of a few numbers of the description (orr_l1_spec), and every
// model uses it: what a model adds is who waits for whom, not what an access takes. Nothing here keeps state
// or counts.
//
// L1's data banks are those of shared memory, a word each (l1.word_banks), or hold sectors. With banks of
// words an access takes the words on the busiest bank, as it would in shared memory, and its lines are looked
// up meanwhile: l1.banks of them a cycle, or as many cycles as there are lines on the fullest of the tag
// banks (l1.tag_hash). With banks of sectors it takes the most sectors that fall on one, or the way to the
// registers (l1.bandwidth) if that is longer.
//
// An atomic is done at L2 in passes: lanes on different words of a line go together, lanes on one word one
// after the other (l2.atomic_words). A pass takes a slice's unit so many quarters of an operation for each
// sector.
#ifndef ORR_COST_H
#define ORR_COST_H

#include "gpu/gpu.h"
#include "memory/memory.h"
#include "program/program.h"

// ---- L1 ----------------------------------------------------------------------------------------

typedef struct orr_l1_spec {
    bool words;        // l1.word_banks
    uint32_t tag_bits; // masks of l1.tag_hash, each of which gives a bit of a tag's bank; 0: there are no
                       // such banks
    uint64_t tag_hash[ORR_L1_TAG_BITS];
    bool global;    // l1.global: loads of global memory are cached
    uint32_t banks; // l1.banks: of sectors; or lines that are looked up in a cycle
    uint32_t bytes; // l1.bandwidth: bytes a cycle to the registers
    uint32_t store; // l1.store_interval: cycles that a store takes at least
    uint32_t
        conflict;  // l1.replay: cycles from one conflicting pass to the next, as seen by the load's result
    uint32_t wide; // lsu.wide_replay: more for each pass that a wide load needs anyway
} orr_l1_spec;

orr_l1_spec orr_l1_spec_of(const orr_gpu *g);

typedef struct orr_l1_access {
    const orr_access *lanes;
    const orr_coalesced *lines;
    uint32_t bytes; // per lane
    bool loads;     // it has a result: a load, or an atomic whose old value comes back
    bool stores;    // a plain store
    bool local;     // lines are rows of local memory
    bool copies;    // to shared memory, asynchronously
    bool bypasses;  // does not look in L1
} orr_l1_access;

typedef struct orr_l1_cost {
    uint32_t cycles;    // that L1 is busy
    uint32_t lookups;   // cycles to look up its lines; 0: with banks of sectors it takes none besides
    uint32_t passes;    // over the data banks
    uint32_t conflicts; // passes more than its bytes would need
    uint32_t lag;       // how much later than with an access of one pass the last word comes
    bool apart;         // a load whose lanes are not side by side
} orr_l1_cost;

// *turn, where it is not NULL (64 entries): in which lookup cycle each line is found, if there are no more
// lines.
orr_l1_cost orr_l1_cost_of(const orr_l1_spec *s, const orr_l1_access *a, uint8_t *turn);
// Cycles to look up the lines of an access of global memory.
uint32_t orr_l1_lookups(const orr_l1_spec *s, const orr_coalesced *x);
// Banks of sectors: cycles of L1. *conflicts, where it is not NULL: cycles more than without conflicts.
uint32_t orr_l1_sector_cycles(const orr_l1_spec *s, const orr_coalesced *x, uint32_t *conflicts);
// As orr_l1_sector_cycles, for an access whose sectors follow each other and so are spread evenly.
static inline uint32_t orr_l1_run_cycles(const orr_l1_spec *s, uint32_t sectors) {
    uint32_t most = (sectors + s->banks - 1) / s->banks,
             way = (sectors * ORR_SECTOR + s->bytes - 1) / s->bytes;
    return most > way ? most : way;
}
// Banks of words: passes over them that an access of global or local memory needs.
uint32_t orr_l1_word_passes(const orr_l1_access *a);
// Banks of words: what an access costs that needs so many `passes` over them, `packed` of which its bytes
// would need, and whose lines take so many cycles to look up. A conflict is found out in the pass before, so
// that it takes the result longer than the pass takes the banks.
static inline orr_l1_cost orr_l1_word_cost(const orr_l1_spec *s, const orr_l1_access *a, uint32_t passes,
                                           uint32_t packed, uint32_t lookups) {
    uint32_t least = a->stores ? s->store : 1, busy = passes > lookups ? passes : lookups;
    orr_l1_cost c = {.lookups = lookups, .conflicts = passes > packed ? passes - packed : 0};
    c.cycles = busy > least ? busy : least;
    c.passes = passes > least ? passes : least;
    c.lag = c.cycles - 1;
    if (s->conflict == 1 || !a->loads || a->local) return c;
    c.lag = passes - 1 + c.conflicts * (s->conflict - 1) + lookups - 1 + (passes - c.conflicts - 1) * s->wide;
    return c;
}
// Passes of 128 bytes that so many bytes of each lane need at least.
static inline uint32_t orr_packed_passes(const orr_access *lanes, uint32_t bytes) {
    return ((uint32_t)orr_popc(lanes->mask) * bytes + 127) / 128;
}
// A copy to shared memory past L1, whose lines are looked up and nothing else.
static inline bool orr_copies_past_l1(const orr_l1_spec *s, const orr_l1_access *a) {
    return a->copies && (a->bypasses || !s->global);
}
// Lines of a copy past L1 without those that are asked for a second time.
static inline uint32_t orr_copied_lines(const orr_coalesced *x) {
    return x->more < x->lines ? x->more : x->lines;
}
// How long L1 is busy with a copy past it whose lines have to be asked for, `interval` being
// l1.miss_interval: nothing is read out when they come, so it is half of what lines of loads take (H200:
// copy_beside: loads of shared memory take 2.8, 5.0 and 30 cycles longer for each copy of 4, 8, 32 lines, the
// last of which have to wait for the port).
static inline uint32_t orr_copy_miss_cycles(const orr_coalesced *x, uint32_t interval) {
    return orr_copied_lines(x) * interval / 2;
}
// Sectors that a load that misses fetches together with `sectors` (l1.sector).
static inline uint8_t orr_l1_fetched(const orr_gpu *g, uint8_t sectors) {
    if (g->l1_sector >= 128) return 0xf;
    if (g->l1_sector >= 64) return (uint8_t)((sectors & 3 ? 3 : 0) | (sectors & 12 ? 12 : 0));
    return sectors;
}

// ---- atomics -----------------------------------------------------------------------------------

typedef struct orr_atomic_pass { // lanes that are done together, each on a word of its own
    uint32_t bytes[4];           // of each sector
    uint32_t lanes[4];
    uint8_t sectors;
    uint32_t mask; // of the warp's lanes
} orr_atomic_pass;

// The passes of an atomic of `bytes` a lane on one line; returns their number.
uint32_t orr_atomic_passes(const orr_access *a, uint32_t bytes, uint64_t line,
                           orr_atomic_pass pass[ORR_WARP]);
typedef struct orr_atomic_spec { // how long a slice's unit works on a sector, in quarters of an operation
    uint8_t whole, part, slow;   // l2.atomic_work
    double again;                // operations between floating-point sums on one word (l2.atomic_float)
} orr_atomic_spec;
orr_atomic_spec orr_atomic_spec_of(const orr_gpu *g);
// How long a slice's unit works on a pass, in quarters of an operation. `meets`: it is one of several passes.
uint32_t orr_atomic_work(const orr_atomic_spec *s, const orr_atomic_pass *pass, uint8_t op, uint32_t bytes,
                         bool meets);
// How many operations of a slice's unit the lanes of an atomic on one line take, in quarters: its passes one
// after the other. Sums of floating-point numbers on one word follow each other.
uint32_t orr_atomic_quarters(const orr_atomic_spec *s, const orr_access *a, uint32_t bytes, uint8_t op,
                             uint64_t line);

// ---- fences ------------------------------------------------------------------------------------

// Cycles of a fence by its scope (orr_tinst.imm: 0 block, 1 and 2 GPU, 3 system), where nothing has to be
// waited for.
static inline double orr_fence_cycles(const orr_gpu *g, uint32_t scope) {
    return scope >= 3 ? g->core_fence_system : scope >= 1 ? g->core_fence_gpu : g->core_fence_block;
}

// ---- shared memory -----------------------------------------------------------------------------

// An access of shared memory that needs `b`: how long the banks are busy, and how much later than with an
// access of one pass its last word comes. Passes of wide lanes without a conflict take the result longer too
// (lsu.wide_replay), passes with one most of all (lsu.replay). A compare and swap takes each pass longer
// (shared.cas).
typedef struct orr_shared_cost {
    uint32_t each;   // cycles of a pass
    uint32_t cycles; // that the banks are busy
    uint32_t lag;    // of a result
} orr_shared_cost;
typedef struct orr_shared_spec {
    uint32_t pass_cycles; // of a pass over the banks, a word each
    uint32_t swap;        // shared.cas: a compare and swap takes so many times as long
    uint32_t atomic;      // shared.atomic: cycles more of an atomic's result
    uint32_t conflict;    // lsu.replay: cycles of a result for each pass with a conflict; 0: as the banks
    uint32_t wide;        // lsu.wide_replay: cycles more for each further pass of a wide load
} orr_shared_spec;
orr_shared_spec orr_shared_spec_of(const orr_gpu *g);
orr_shared_cost orr_shared_cost_of(const orr_shared_spec *s, const orr_tinst *i, orr_banked b);
// How the banks see an instruction: ORR_BANKS_*.
static inline int orr_shared_kind(const orr_shared_spec *s, const orr_tinst *i) {
    if (!(i->flags & ORR_TF_ATOMIC)) return i->flags & ORR_TF_STORE ? ORR_BANKS_STORE : ORR_BANKS_LOAD;
    if (s->swap > 1 && i->atomic == ORR_ATOMIC_SWAP_TEST) return ORR_BANKS_STORE;
    return i->flags & ORR_TF_COUNTS ? ORR_BANKS_LOAD : ORR_BANKS_ATOMIC;
}
// Cycles of a pass over the banks, which are shared.bank_bytes wide where that is less than a word.
static inline uint32_t orr_shared_pass_cycles(const orr_gpu *g) {
    uint32_t bytes = (uint32_t)g->shared_bank_bytes;
    return bytes < 4 ? (3 + bytes) / bytes : 1;
}

#endif
