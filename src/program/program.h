// A kernel as a GPU runs it: the program that the models time.
//
// For machine code and traces these are the instructions themselves. PTX is not what runs, so it is lowered
// first the way ptxas would on that GPU (lower/): the program's blocks are the kernel's blocks, one to one,
// with other instructions in them. Addresses and active masks still come from executing the PTX: an
// instruction that touches memory names which of the block's accesses in the stream is its own.
//
// Everything a model needs per instruction is worked out here once: unit, latency and interval from the GPU
// description, registers as small numbers, what kind of thing it is. A model's inner loop looks at no name.
#ifndef ORR_PROGRAM_H
#define ORR_PROGRAM_H

#include "lower/lower.h"

#define ORR_READ_BANKS 4 // of a sub-core; further ones are taken for the first again

typedef struct orr_read { // a register of one bank, for one of the instruction's operands
    uint16_t reg;
    uint8_t bank;
    uint8_t place; // of the operand cache that it goes through, from 1; 0: none
    bool kept;     // and stays there
    bool again;    // for an operand before, too: read once
    bool early;    // one of the first two operands, as far as is known
} orr_read;
#define ORR_READ_PAIRS  4 // places, and as many for pairs of registers: neither is in the way of the other
#define ORR_READ_PLACES (1 + 2 * ORR_READ_PAIRS)

// Atomics that do not take what others take. It is decided by the mnemonic, once for each instruction of a
// program.
enum orr_atomic_op {
    ORR_ATOMIC_PLAIN,     // integers
    ORR_ATOMIC_SWAP,      // compares and swaps (CAS)
    ORR_ATOMIC_SWAP_TEST, // the same, and says only whether it did (CAST, in a loop that tries until it
                          // does): it swaps for one lane of a word, and the others are told no at once
    ORR_ATOMIC_FLOAT_ADD, // sums of floating-point numbers
};
enum orr_atomic_op orr_atomic_op_of(const char *mnemonic);
static inline bool orr_atomic_swaps(uint8_t op) {
    return op == ORR_ATOMIC_SWAP || op == ORR_ATOMIC_SWAP_TEST;
}

typedef struct orr_tinst {
    uint16_t sass;  // enum orr_sass, for names
    uint8_t tclass; // orr_tclass
    uint8_t kind;   // orr_tkind
    uint8_t unit;   // index in gpu->units
    uint8_t space;  // orr_space of a memory instruction; GENERIC: by address
    uint8_t bytes;  // per lane
    uint8_t nsrc, ndst;
    uint8_t nreads;
    uint8_t hold;     // cycles more that its warp waits
    uint8_t dispatch; // cycles more that its scheduler is busy with it
    uint8_t settled;  // its first two operands must be that old
    uint8_t result;   // cycles until its result goes to the registers; 0: it has none, or a way of its own
    uint8_t window; // cycles to read its operands in; 0: it waits until the banks are free, as it reads pairs
    uint8_t offset; // added to its access's addresses (an access that takes two instructions). FENCE: how
                    // many accesses on the first is that is under the same predicate; 0: there is none
    uint8_t
        nbanks; // extra cycles that reading its operands costs, all by itself, on a core without collectors
    uint8_t constant; // the line of constants that it names, of program->constants, + 1; 0: none
    uint8_t imm;      // barrier: its number (0xff: not known); WAIT_GROUP: groups; FENCE: 0 block, 2 GPU, 3
                      // system; CCTL: 1 where it drops all that L1 has
    uint8_t atomic;   // ATOMIC: enum orr_atomic_op
    uint16_t flags;   // ORR_TF_*
    uint16_t latency; // cycles from issue to use, as the description has it
    uint16_t interval;
    uint16_t access; // of the accesses of its block in the stream, or ORR_NO_ACCESS
    uint16_t warps; // barrier: how many take part; 0: all of the block. DEPBAR of code with control bits: its
                    // scoreboard, + 1.
                    // USETMAXREG: registers of a thread; imm: it asks for them
    uint32_t reads; // in program->reads: nreads registers it reads, on a core without collectors
    uint32_t regs;  // in program->regs: nsrc sources, then ndst destinations
    uint32_t ctrl;  // control bits, when program->control; else the stall count alone, where it is known
    uint32_t inst;  // the kernel's instruction it came from
    uint32_t pc;    // byte address, for the instruction caches
    uint32_t name;  // in program->names: what to call it, "LDG.E.128"
} orr_tinst;

// A copy of 16 bytes to shared memory past L1: its addresses say where it lands (orr_coalesce_copy).
static inline bool orr_tinst_lands(const orr_tinst *i) {
    return i->flags & ORR_TF_ASYNC && i->flags & ORR_TF_BYPASS && i->bytes == 16;
}

// How much longer than its stall count says an instruction keeps its warp (op.CLASS.dispatch). Its scheduler
// stands still while its unit is busy with it; a stall count that goes beyond that has waited for it already.
static inline uint32_t orr_tinst_held(const orr_tinst *i) {
    uint32_t stall = ORR_CTRL_STALL(i->ctrl), beyond = stall > i->interval ? stall - i->interval : 0;
    return i->dispatch > beyond ? i->dispatch - beyond : 0;
}

// The lanes that take part in an access, of those that the stream has.
static inline uint32_t orr_tinst_lanes(const orr_tinst *i, uint32_t mask) {
    return i->flags & ORR_TF_ELECTS && (!i->imm || mask == UINT32_MAX) ? mask & (0u - mask) : mask;
}

typedef struct orr_tblock {
    uint32_t first, count;
    uint32_t naccess; // accesses the stream has for one run of it (== kernel block's nmem)
    // + 1: a block that runs under a predicate which this one computes, without a branch. Its instructions
    // are issued even where the stream goes on elsewhere: for no lane, and without accesses. (And then its
    // own body's.)
    uint32_t body;
} orr_tblock;

typedef struct orr_program {
    const orr_kernel *kernel;
    const orr_gpu *gpu;
    orr_tinst *insts;
    orr_tblock *blocks;
    uint16_t *regs;
    orr_read *reads;
    const char **names;
    uint32_t ninsts, nblocks, nregs, nnames, nreads; // nregs, nreads: entries of `regs`, `reads`
    uint32_t constants[64], nconstants;              // that instructions name: orr_inst.encoding.constant
    uint32_t max_access;                             // the largest naccess
    // `regs` holds places: registers numbered from 0 in order of appearance, so that a scoreboard is small.
    uint16_t place[ORR_TREGS]; // of a register, + 1; 0: not used
    uint16_t reg[ORR_TREGS];   // of a place
    uint32_t nplaces;
    uint32_t
        registers; // per thread, for the occupancy: the kernel's own figure, or the estimate of the lowering
    bool control;  // dependences are in ctrl; else a scoreboard finds them
    uint32_t insts_cap, blocks_cap, regs_cap, names_cap, reads_cap;
    orr_arena arena;
} orr_program;

// The program of a kernel on a GPU. Any kernel can be timed: an operation nobody has a rule for is one
// instruction of its unit's class.
orr_program *orr_program_new(const orr_kernel *k, const orr_gpu *g, orr_err *e);
// A kernel that grows (read from a trace) has more blocks now: take them over. Pointers into insts, blocks
// and regs change; numbers do not.
void orr_program_grow(orr_program *p);
void orr_program_free(orr_program *p);

// Where a program is in one that several were joined to.
typedef struct orr_program_part {
    uint32_t first_inst, first_block, ninsts, nblocks;
} orr_program_part;
// Can the kernels of both run side by side as one program? Not one that grows, nor machine code beside PTX.
bool orr_program_joins(const orr_program *a, const orr_program *b);
// One program of n that join, in their order; where[n] is set. Names stay the parts': it lives no longer than
// they do.
orr_program *orr_program_join(const orr_program *const *parts, uint32_t n, orr_program_part *where);
// How many of a launch's thread blocks an SM holds; false with e set when it holds none.
bool orr_program_fits(const orr_gpu *g, const orr_program *p, const orr_launch_info *l,
                      orr_occupancy_result *o, orr_err *e);
// How many vector registers are live in front of each instruction: live[p->ninsts].
void orr_program_live(const orr_program *p, uint16_t *live);
// `orrery show --timed`: a listing with units, latencies and registers.
void orr_program_print(const orr_program *p, orr_text *out);

// ---- for those who make programs (private to program/, and to tests) ---------------------------------
// Appends to the last block of p. Looks up unit, latency and interval by mnemonic, then by class.
orr_tinst *orr_program_add(orr_program *p, enum orr_sass op, const char *mnemonic, uint8_t tclass,
                           uint8_t kind);
void orr_program_reg(orr_program *p, orr_tinst *i, uint16_t reg, bool dst); // sources before destinations
uint8_t orr_program_constant(orr_program *p, uint32_t line); // orr_tinst.constant of a line of constants
// Reading operands: fills nbanks, reads and nreads of every instruction from `first` on (banks, ports, reuse;
// modern cores).
void orr_program_banks(orr_program *p, uint32_t first);

// Programs of the kernels that have been seen.
typedef ORR_VEC(orr_program *) orr_programs;
orr_program *orr_programs_get(orr_programs *all, const orr_kernel *k, const orr_gpu *g, orr_err *e);
void orr_programs_free(orr_programs *all);

#endif
