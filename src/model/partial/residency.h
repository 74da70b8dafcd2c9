// Private to residency.c and waves.c: what a block in the middle of the grid asks of L2, and what is found
// there.
#ifndef ORR_PARTIAL_RESIDENCY_H
#define ORR_PARTIAL_RESIDENCY_H

#include "model/partial/partial.h"

typedef struct entry { // sectors that a block asks for the first time
    uint64_t addr;
    int64_t step[3];
    uint32_t inst;
    uint32_t order; // barriers that its warp came by before it, and blocks of code since
    uint32_t at;    // instructions of its warp before it
    uint16_t bytes;
    bool write;
    uint8_t lacks; // blocks that do not do it: bit 2 d of the first, 2 d + 1 of the last in direction d
    uint8_t only;  // 0, or nobody but these does it
} entry;

typedef struct inst_sum {
    uint64_t asked, missed, late; // sectors: in the counted waves
    uint64_t loose;               // sectors of the base block that follow no rule
    uint64_t lines, distinct;     // lines in the counted waves; each once a wave
    uint64_t low, high;           // range of addresses over the whole grid
    uint64_t sectors;             // of the base block, first asked for
    bool write, read;
} inst_sum;

typedef struct look {
    const orr_gpu *g;
    const plan *p;
    const orr_kernel *k;
    const orr_work *w;
    const pace *pace; // NULL: all blocks side by side
    uint64_t base[3];
    ORR_VEC(entry) entries; // by order, instruction, address
    inst_sum *sum;          // [ninsts]
    bool *usual;            // [ninsts] the base block runs it
    int64_t step[3];        // of its accesses, as a rule
    uint64_t *seen;         // hashed: line + 1, and its sectors
    uint8_t *seen_sectors;
    size_t seen_cap, nseen;
    uint64_t insts;
    uint32_t longest; // warp, in instructions
} look;

// ---- waves.c ------------------------------------------------------------------------------------------
typedef struct tags {
    orr_cache l2;
    const warmth *was; // what L2 held before the launch
    uint32_t *since;   // by line: when it was fetched last; side by side: for which order of accesses
    uint32_t now;      // the same, of the access under way
    uint32_t away;     // what was fetched so long ago is still on its way
    uint64_t asked, missed, stored, evicted; // sectors, in the counted waves
    uint64_t lines, distinct;
    double wave;                  // blocks of a counted wave, on average: the last one need not be full
    ORR_VEC(orr_request) traffic; // between L2 and memory, in the counted waves
} tags;

void run_waves(look *l, tags *t, uint64_t *lookups);

#endif
