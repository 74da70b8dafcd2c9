// Address translation: when the piece of memory that a line is in has been translated.
//
// A GPU translates addresses by entries that cover tlb.page bytes each. The first access to such a piece of
// memory since it was mapped waits for a walk of the page tables, and so does everybody who comes while the
// walk is under way; afterwards nobody does. Walks begin tlb.interval apart.
//
// H200, one lane that loads at a stride, caches flushed: at 2 MB every 16th load takes 880 cycles more, at 16
// MB every other one, at 32 MB and more each. The second time none does, in the same kernel or a later one,
// up to the 10 GB that were tried: there is no limit to what is kept here. All SMs at one piece wait
// together, as long as one alone; 132 SMs at 132 pieces have theirs one after the other, 51 cycles apart.
//
// Invariants: a piece is in the table once, from the first request for it on; its time never changes until a
// restart. While SMs run nothing is written: a request to a piece that nobody has asked for is given its walk
// afterwards (orr_tlb_walk), in an order that does not depend on host threads.
#ifndef ORR_MEMORY_TLB_H
#define ORR_MEMORY_TLB_H

#include "gpu/gpu.h"

typedef struct orr_tlb_spec {
    bool cold;               // there are translations to wait for
    uint32_t shift;          // lines of a piece, log2
    uint64_t walk, interval; // ticks
} orr_tlb_spec;

typedef struct orr_tlb {
    orr_tlb_spec spec;
    uint64_t *piece; // a hash table: number + 1; 0: free
    uint64_t *ready; // ticks: when it is translated
    uint32_t bits;   // of the table's size
    uint32_t n;      // pieces in it
    uint64_t next;   // when the next walk can begin
    uint64_t walks;  // since the last restart
} orr_tlb;

#define ORR_TLB_NEW UINT64_MAX

orr_tlb_spec orr_tlb_spec_of(const orr_gpu *g);
void orr_tlb_init(orr_tlb *t, orr_tlb_spec spec);
void orr_tlb_free(orr_tlb *t);
void orr_tlb_restart(orr_tlb *t); // time is 0 again; what was asked for is there

static inline uint32_t orr_tlb_place(const orr_tlb *t, uint64_t piece) {
    return (uint32_t)(piece * 0x9e3779b97f4a7c15u >> (64 - t->bits));
}

// When the line's piece is translated (ticks); ORR_TLB_NEW: nobody has asked for it.
static inline uint64_t orr_tlb_ready(const orr_tlb *t, uint64_t line) {
    if (!t->spec.cold) return 0;
    uint64_t piece = (line >> t->spec.shift) + 1;
    for (uint32_t i = orr_tlb_place(t, piece);; i = (i + 1) & ((1u << t->bits) - 1)) {
        if (t->piece[i] == piece) return t->ready[i];
        if (!t->piece[i]) return ORR_TLB_NEW;
    }
}

// The same for a request at `time`, which begins a walk if nobody has.
uint64_t orr_tlb_walk(orr_tlb *t, uint64_t line, uint64_t time);

#endif
