// Barriers of a thread block (BAR.SYNC, BAR.ARV): sixteen of them, at which warps arrive and, mostly, wait.
//
// A barrier that names a number of warps is over when so many have arrived. Otherwise, whatever they wait
// for, all have come when every warp that has not ended waits: this is the rule for barriers of all warps,
// and it also lets go what a stream cannot say exactly (the halves of a diverged warp arrive one after the
// other).
//
// Invariants: `waiting` is the number of warps that wait at any barrier; it is never more than those that
// run. The component counts; who the warps are, and when they go on, is their thread block's to know.
#ifndef ORR_CORE_BARRIER_H
#define ORR_CORE_BARRIER_H

#include "core/core.h"

#define BLOCK_BARRIERS 16

typedef struct block_barriers {
    uint32_t arrived[BLOCK_BARRIERS];
    uint32_t waiting; // warps, at any of them
    uint32_t latency; // of the barrier that somebody came to last
} block_barriers;

enum { BARRIER_HOLDS = -2, BARRIER_ALL = -1 }; // nobody goes on; all that wait do; else those of a barrier

static inline void barriers_reset(block_barriers *b) { *b = (block_barriers){0}; }

// The barrier that an instruction for `count` warps names as `number`, of the index-th warp of a block of
// `nwarps`. Its number may be in a register, and a stream does not have that: then so many warps that follow
// each other as it is for are taken to have one of their own, as groups of warps do that share a kernel's
// work. They are counted from the last barrier down, beside those that are named. (Not where warps also
// arrive at one without waiting, `hands_on`: then groups of warps hand something on to each other.)
static inline uint32_t barriers_named(uint32_t number, uint32_t count, uint32_t nwarps, uint32_t index,
                                      bool hands_on) {
    if (number < BLOCK_BARRIERS) return number;
    if (!count || count >= nwarps || hands_on) return 0;
    return BLOCK_BARRIERS - 1 - index / count % (BLOCK_BARRIERS - 1);
}

// A warp has come to barrier `which`, for `count` warps (0: all of the block's `nwarps`, of which `running`
// have not ended), and waits there or not. Returns who goes on.
static inline int barriers_arrive(block_barriers *b, uint32_t which, bool waits, uint32_t count,
                                  uint32_t nwarps, uint32_t running) {
    b->arrived[which]++;
    b->waiting += waits;
    if (count && count < nwarps && b->arrived[which] >= count) return (int)which;
    return running && b->waiting == running ? BARRIER_ALL : BARRIER_HOLDS;
}
// A warp has ended.
static inline int barriers_left(const block_barriers *b, uint32_t running) {
    return running && b->waiting == running ? BARRIER_ALL : BARRIER_HOLDS;
}
// One of those that wait goes on; then, all of them have.
static inline void barriers_pass(block_barriers *b) { b->waiting--; }
static inline void barriers_over(block_barriers *b, int which) {
    for (int n = 0; n < BLOCK_BARRIERS; n++)
        if (which == BARRIER_ALL || which == n) b->arrived[n] = 0;
}

#endif
