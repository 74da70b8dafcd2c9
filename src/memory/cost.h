// What a memory access costs: cycles of L1 and of shared memory, and work of an L2 slice's atomic units.
//
// Each rule is a pure function of the access and of a few numbers of the description (orr_l1_spec), and every
// model uses it: what a model adds is who waits for whom, not what an access takes. Nothing here keeps state
// or counts.
//
// L1's data banks are those of shared memory, a word each (l1.words), or hold sectors. With banks of words an
// access takes the words on the busiest bank, as it would in shared memory, and its lines are looked up
// meanwhile: l1.banks of them a cycle, or as many cycles as there are lines on the fullest of four tag banks
// (l1.folded). With banks of sectors it takes the most sectors that fall on one, or the way to the registers
// (l1.bandwidth) if that is longer.
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
    bool words;        // l1.words
    bool folded;       // l1.folded: lines are spread over four tag banks by parity
    bool global;       // l1.global: loads of global memory are cached
    uint32_t banks;    // l1.banks: of sectors; or lines that are looked up in a cycle
    uint32_t bytes;    // l1.bandwidth: bytes a cycle to the registers
    uint32_t store;    // l1.store: cycles that a store takes at least
    uint32_t conflict; // l1.pass: cycles from one conflicting pass to the next, as seen by the load's result
    uint32_t wide;     // lsu.wide: more for each pass that a wide load needs anyway
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
// Banks of sectors: cycles of L1. *conflicts, where it is not NULL: cycles more than without conflicts.
uint32_t orr_l1_sector_cycles(const orr_l1_spec *s, const orr_coalesced *x, uint32_t *conflicts);
// Banks of words: passes over them that an access of global or local memory needs.
uint32_t orr_l1_word_passes(const orr_l1_access *a);
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
// How long a slice's unit works on a pass, in quarters of an operation. `meets`: it is one of several passes.
uint32_t orr_atomic_work(const orr_atomic_pass *pass, uint8_t op, uint32_t bytes, bool meets);

// ---- shared memory -----------------------------------------------------------------------------

// Cycles of a pass over the banks, which are shared.bank_bytes wide where that is less than a word.
static inline uint32_t orr_shared_pass_cycles(const orr_gpu *g) {
    uint32_t bytes = (uint32_t)g->shared_bank_bytes;
    return bytes < 4 ? (3 + bytes) / bytes : 1;
}

#endif
