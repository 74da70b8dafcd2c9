// Private to lower/: how a kernel's blocks were joined and its loops unrolled (ifconvert.c), for who rewrites
// traces (remap.c).
#ifndef ORR_IFCONVERT_H
#define ORR_IFCONVERT_H

#include "lower/lower.h"

enum {          // blocks that a loop becomes besides the one for a single round
    LOOP_ENTER, // are there four rounds? UINT32_MAX: at the end of the block before it
    LOOP_FOUR,
    LOOP_TEST_TWO,
    LOOP_TWO,
    LOOP_TEST_ONE,
    LOOP_PARTS
};

typedef struct chain {         // blocks of the old kernel that became one
    uint32_t first, n;         // they follow each other
    uint32_t block;            // of the new kernel
    uint32_t part[LOOP_PARTS]; // of a loop that is unrolled
    bool loop;
} chain;

struct orr_shape {
    const orr_kernel *from;
    orr_kernel *to;
    chain *chains;
    uint32_t *chain_of; // per block of the old kernel
    uint8_t *role;      // and whether it runs under a predicate; 0: always
    uint32_t nchains;
    uint32_t *nmem;                  // per block of the old kernel: accesses that its accesses become
    ORR_VEC(struct reshaped *) open; // sources that were not closed yet
    orr_arena arena;                 // of all but the new kernel
};

// Does an instruction's result differ from thread to thread of a block, whatever it reads? (divergence.c)
bool orr_inst_differs(const orr_inst *i);
// divergence.c: sets parted[b] of each block b of a function that a part of a warp may run, and alike[n] (unless
// it is NULL) of each atomic n of it: what all lanes that execute it have in common.
enum { SHAPE_ALIKE_PLACE = 1, SHAPE_ALIKE_OPERAND = 2 };
void shape_parts(const orr_kernel *k, const orr_func *f, uint8_t *parted, uint8_t *alike);
// How many accesses of machine code an instruction's one access becomes: four of a matrix of wmma in global
// memory (16 x 16, of 16 bits or sums of 32), which are eight lines each, half of what a line has; else one.
#define SHAPE_PARTS 4
uint32_t shape_accesses(const orr_inst *i);
void shape_drop(struct reshaped *s); // remap.c
// What ptxas counts an instruction for when it knows how many rounds a loop has, and whether it writes all of
// them out: rounds, what one costs, how many instructions are left out besides (docs/lowering.md).
uint32_t shape_cost(const orr_inst *i);
bool shape_completely(uint64_t rounds, uint64_t cost, uint64_t known);

#endif
