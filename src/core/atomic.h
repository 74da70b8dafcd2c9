// Atomics and reductions at L1: what they send to L2, and how long a slice will take for it.
//
// Where lanes on different words of a sector are done together (l2.atomic_words), those on one word are sent
// one after the other, each in a request of its own: with 32 lanes on a word the profiler counts 32 sectors,
// and as many lookups in L2. A slice takes a cycle for a sector, a quarter more for one of which not all is
// wanted; for a compare and swap two where several lanes are in its half of the line, whether it succeeds or
// not; for a sum of doubles two (H200: micro/contention; docs/h200/atomics.md, Turns of clusters).
#ifndef ORR_CORE_ATOMIC_H
#define ORR_CORE_ATOMIC_H

#include "program/program.h"

enum atomic_kind {
    ATOMIC_OTHER,
    ATOMIC_SUM,  // of floating-point numbers: it takes the slice longer than others
    ATOMIC_SWAP, // compares and swaps
    ATOMIC_TRY,  // only says whether it did (CAST, of loops around it): it swaps for one lane of a word, and
                 // the others are told no at once, without waiting for each other
};
enum atomic_kind atomic_kind_of(const orr_program *p, const orr_tinst *i);
static inline bool atomic_swaps(uint8_t kind) { return kind >= ATOMIC_SWAP; }

struct l1_cache;
struct l1_access;
// The lanes of the access at hand that are in `line` go out in cycle `when`. False: no miss can be taken on
// now.
bool l1_atomic_line(struct l1_cache *c, struct l1_access *a, uint64_t line, uint8_t sectors, uint64_t when);

#endif
