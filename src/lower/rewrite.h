// Private to lower/: the rewriting of a kernel's blocks (rewrite.c), and how its old blocks are found again
// in the new ones by who remaps traces (remap.c).
//
// Invariants: the blocks of a chain follow each other in the old kernel; each block is in exactly one chain;
// a chain is one block of the new kernel, or, of a loop that is unrolled, the LOOP_PARTS and one for a single
// iteration.
#ifndef ORR_REWRITE_H
#define ORR_REWRITE_H

#include "isa/live.h"
#include "lower/lower.h"
#include "lower/ptxas.h"

#define NONE UINT32_MAX // no block, instruction, value, register

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

struct orr_rewritten {
    const orr_kernel *from;
    orr_kernel *to;
    chain *chains;
    uint32_t *chain_of; // per block of the old kernel
    uint8_t *role;      // and whether it runs under a predicate; 0: always
    uint32_t nchains;
    uint32_t *nmem;                  // per block of the old kernel: accesses that its accesses become
    ORR_VEC(struct remapped *) open; // sources that were not closed yet
    orr_arena arena;                 // of all but the new kernel
};

// ---- while it is made -------------------------------------------------------------------------
enum role { MAIN, BODY_ELSE, BODY_THEN }; // runs always; where the branch is not taken; where it is

typedef struct label_use {
    uint32_t inst, label;
} label_use;

typedef struct rewriter {
    orr_rewritten *s;
    const orr_kernel *k;
    const orr_func *f;
    uint32_t first, nblocks; // of the function
    orr_live live;           // and its registers at the blocks' starts; none when the function is too large
    uint32_t *preds;         // how many
    uint8_t *role;           // per block of the kernel
    uint8_t *parted;         // and whether a part of a warp may run it
    // the new kernel
    ORR_VEC(orr_inst) insts;
    ORR_VEC(orr_operand) operands;
    ORR_VEC(label_use) uses;
    ORR_VEC(uint32_t) label_at; // by label: blocks of the old kernel, then others
    uint32_t nregs[ORR_CLASSES];
    uint32_t *map; // per register: what it is called now
    ORR_VEC(uint32_t) touched;
    bool any;
} rewriter;

typedef struct counter { // what a loop counts by
    const orr_inst *test, *branch;
    orr_operand it, bound; // the register that counts, and what it is compared with
    uint64_t rounds;       // if that is known, else 0
} counter;

static inline uint32_t index_of(const rewriter *m, const orr_operand *o) {
    return orr_live_index(&m->live, o);
}
static inline const orr_block *block_at(const rewriter *m, uint32_t b) { return &m->k->blocks[m->first + b]; }

// ifconvert.c: how many blocks follow b in its chain. Sets the roles of those that become predicated.
uint32_t ifconvert_chain(rewriter *m, uint32_t b);
// unroll.c: is a chain a loop that is unrolled, and what does it count by?
bool unroll_counted(const rewriter *m, const chain *c, counter *out);
// What ptxas counts an instruction for when it knows how many rounds a loop has, and whether it writes all of
// them out: rounds, what one costs, how many instructions are left out besides (docs/how/lowering.md).
uint32_t unroll_cost(const orr_inst *i);
bool unroll_completely(uint64_t rounds, uint64_t cost, uint64_t known);
// How many accesses of machine code an instruction's one access becomes: four of a matrix of wmma in global
// memory (16 x 16, of 16 bits or sums of 32), which are eight lines each, half of what a line has; else one.
#define MATRIX_ACCESSES 4
uint32_t rewrite_accesses(const orr_inst *i);
void remap_close(struct remapped *s); // remap.c

// ---- divergence.c -----------------------------------------------------------------------------
// Does an instruction's result differ from thread to thread of a block, whatever it reads?
bool orr_inst_differs(const orr_inst *i);
// Sets parted[b] of each block b of a function that a part of a warp may run, and alike[n] (unless it is
// NULL) of each atomic n of it: what all lanes that execute it have in common.
enum { ALIKE_PLACE = 1, ALIKE_OPERAND = 2 };
void lower_divergence(const orr_kernel *k, const orr_func *f, uint8_t *parted, uint8_t *alike);

#endif
