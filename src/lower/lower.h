// The door of lower/: PTX as ptxas would make machine instructions of it (docs/how/lowering.md).
//
// Two steps, both for the models alone; what is executed is the PTX as it stands. First the blocks of a
// kernel are joined and its loops unrolled as ptxas does (orr_rewrite), and traces of the kernel are turned
// into traces of that form. Then each block becomes machine instructions with registers and stall counts
// (orr_lower).
#ifndef ORR_LOWER_H
#define ORR_LOWER_H

#include "gpu/gpu.h"
#include "stream/stream.h"

// Registers of all files as one numbering, for scoreboards.
#define ORR_TREG_P  1024 // predicates P0.. ; below: vector registers
#define ORR_TREG_U  1040 // uniform registers
#define ORR_TREG_UP 1104 // uniform predicates
#define ORR_TREGS   1112

enum { // of orr_minst and of orr_tinst (program/program.h)
    ORR_TF_LOAD = 1 << 0,
    ORR_TF_STORE = 1 << 1,
    ORR_TF_ATOMIC = 1 << 2,    // with LOAD: the old value comes back (ATOM); without: RED
    ORR_TF_BYPASS = 1 << 3,    // does not look in L1 (cg, volatile, atomics at L2)
    ORR_TF_STREAM = 1 << 4,    // evict first (cs, lu)
    ORR_TF_ASYNC = 1 << 5,     // LDGSTS: to shared memory, no register waits for it
    ORR_TF_ARRIVE = 1 << 6,    // barrier: arrives without waiting
    ORR_TF_GUARDED = 1 << 7,   // has a guard predicate
    ORR_TF_MATRIX = 1 << 8,    // LDSM, STSM
    ORR_TF_ORDERED = 1 << 9,   // other threads may be looking (volatile, acquire, release)
    ORR_TF_INDIRECT = 1 << 10, // a branch to where a register says: BRX, RET, CALL through a pointer
    ORR_TF_NOTES = 1 << 11,    // BSSY: lanes meet at BSYNC of the same number, imm
    ORR_TF_RESTORES = 1 << 12, // BMOV to a barrier register, number imm
    ORR_TF_COUNTS = 1 << 13,   // atomic: lanes that meet in a word of shared memory are one (ATOMS.POPC.INC)
    ORR_TF_ELECTS = 1 << 14,   // atomic from PTX: one lane does it for all of them (imm: if all 32 are there)
    ORR_TF_COLLECTIVE = 1 << 15, // WARPSYNC.COLLECTIVE
};
#define ORR_NO_ACCESS 0xffff

// ---- blocks as ptxas makes them ---------------------------------------------------------------------
// PTX before it is lowered: short bodies are predicated and counted loops unrolled, as ptxas does
// (rewrite.c). What runs and what streams hold is the kernel as it was; `source` turns its traces into those
// of the new kernel (remap.c). NULL: it stays as it is. The kernel that is made lives as long as this.
typedef struct orr_rewritten orr_rewritten;
orr_rewritten *orr_rewrite(const orr_kernel *k);
const orr_kernel *orr_rewritten_kernel(const orr_rewritten *s);
orr_source *orr_rewritten_source(orr_rewritten *s, orr_source *from); // closing it closes `from`
void orr_rewritten_free(orr_rewritten *s);                            // and sources of it that are still open

// ---- machine instructions ---------------------------------------------------------------------------
typedef struct orr_minst {
    const char *name; // "LDG.E.128"
    uint16_t sass;    // enum orr_sass
    uint8_t tclass;   // orr_tclass
    uint8_t kind;     // orr_tkind
    uint8_t space;    // orr_space of a memory instruction
    uint8_t bytes;    // per lane
    uint8_t offset;   // added to its access's addresses (an access that takes two instructions)
    uint8_t imm;      // as orr_tinst.imm
    uint8_t stall;    // cycles until the warp's next instruction
    uint8_t nsrc, ndst;
    uint16_t flags;    // ORR_TF_*
    uint16_t access;   // of the accesses of its block in the stream, or ORR_NO_ACCESS
    uint16_t warps;    // barrier: how many take part; 0: all of the block
    uint32_t constant; // the line of constants that it names, as orr_inst.encoding.constant
    uint32_t inst;     // the kernel's instruction it came from
    uint32_t regs;     // in orr_lowered.regs: nsrc sources, then ndst destinations
} orr_minst;

typedef struct orr_mblock { // of the kernel, one to one
    uint32_t first, count;
    uint32_t body; // + 1: a block that runs under a predicate which this one computes, without a branch
} orr_mblock;

typedef struct orr_lowered {
    ORR_VEC(orr_minst) insts;
    ORR_VEC(uint16_t) regs;
    ORR_VEC(orr_mblock) blocks;
    orr_arena arena; // names
} orr_lowered;

// Any kernel of PTX can be lowered: an operation nobody has a rule for is one instruction of its unit's
// class.
void orr_lower(orr_lowered *to, const orr_kernel *k, const orr_gpu *g);
void orr_lowered_free(orr_lowered *l);

#endif
