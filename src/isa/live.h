// Liveness: which registers of a function hold a value at the start and at the end of each basic block that
// somebody may still read. The usual backward data flow over sets of bits,
//     out = union of the successors' in,   in = use | (out & ~def),
// solved to its least fixed point. A guarded write does not end a life: lanes it skips keep the old value.
//
// orr_live_of does it for a kernel's registers. Who has registers of its own (lower/regs.c) makes room with
// orr_live_new, fills `use` and `def` and has them solved.
#ifndef ORR_ISA_LIVE_H
#define ORR_ISA_LIVE_H

#include "isa/isa.h"

typedef struct orr_live {
    uint32_t base[ORR_CLASSES + 1]; // where the registers of a class begin; last: how many there are
    uint32_t words;                 // of a set
    uint64_t *in, *out, *use, *def; // [block of the function][words]; NULL: none
} orr_live;

static inline bool orr_live_has(const uint64_t *set, uint32_t r) { return set[r / 64] >> r % 64 & 1; }
static inline void orr_live_put(uint64_t *set, uint32_t r) { set[r / 64] |= 1ull << r % 64; }
static inline void orr_live_drop(uint64_t *set, uint32_t r) { set[r / 64] &= ~(1ull << r % 64); }
static inline uint32_t orr_live_index(const orr_live *l, const orr_operand *o) {
    return l->base[o->cls] + o->reg;
}
static inline uint64_t *orr_live_in(const orr_live *l, uint32_t block) {
    return l->in + (size_t)block * l->words;
}
static inline uint64_t *orr_live_out(const orr_live *l, uint32_t block) {
    return l->out + (size_t)block * l->words;
}

// Empty sets for `registers` registers.
void orr_live_new(orr_live *l, uint32_t nblocks, uint32_t registers);
// in and out of use and def, along the edges of the function's blocks.
void orr_live_solve(orr_live *l, const orr_kernel *k, const orr_func *f);
// The whole of it for a function's registers. False when a set of all blocks would have more than `most`
// words: then `base` and `words` are filled in and there are no sets.
bool orr_live_of(orr_live *l, const orr_kernel *k, const orr_func *f, uint64_t most);
void orr_live_free(orr_live *l); // its sets; l can be used again

#endif
