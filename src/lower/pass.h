// Private to lower/: the lowering of PTX to machine instructions (docs/how/lowering.md), a pass a file, in
// this order. What happens to a kernel's blocks before it is in rewrite.h.
//
//   values.c        what each operand's value is: definitions, merges, dominators, loops
//   select.c        which values cost nothing, which operations become one, which branches vanish
//   select_logic.c  of that, logic, predicates and minima
//   select_sum.c    of that, sums
//   merge.c         neighbours in shared memory that become one access
//   branches.c      where lanes part, what they share, which branches become predicates
//   calls.c         arguments and results of calls
//   emit.c          the rules of rules.def, applied: operands, constants, temporaries
//   template.c      what a rule says, expanded
//   memory.c        loads, stores, atomics, fences, barriers, matrices: what a rule cannot say
//   elect.c         atomics that one lane does for all
//   constants.c     constants in registers; dead instructions
//   schedule.c      the order of a block's instructions
//   regs.c          virtual registers to the machine's
//   stalls.c        how long a warp waits behind each instruction
//   lower.c         all of it in order, and what comes out
#ifndef ORR_PASS_H
#define ORR_PASS_H

#include "lower/rewrite.h"

// ---- values (values.c) ---------------------------------------------------------------------
// A value is what one destination of one instruction holds, or a merge of several at a block's start. Values
// that are merged with each other must be in one register: they form a web, named by one of them.
typedef struct value {
    uint32_t def;    // instruction that writes it; NONE: a merge, or never written
    uint32_t prev;   // a guarded write: what the lanes it skips keep
    uint32_t web;    // parent in the union-find
    uint32_t uses;   // operands that read it, after what nobody needs has gone
    uint32_t first;  // merge: its arguments in args[first ...]
    uint32_t nargs;  //
    uint32_t block;  // where it is written or merged
    uint8_t cls;     // enum orr_class
    bool merged;     // it shares its web
    bool live;       // somebody needs it
    bool plain_only; // an integer or memory operation reads it: a sign cannot be folded into the reader
    bool cut;        // all readers take its low 16 bits or fewer
    bool uniform;    // the same for all threads of a block
    bool shared;     // where a variable in shared memory begins
} value;

typedef struct flow { // of one function; blocks numbered from 0 in it
    uint32_t first_block, nblocks;
    uint32_t *order, *number; // reverse postorder, and a block's place in it (NONE: unreachable)
    uint32_t norder;
    uint32_t *idom;               // NONE for the entry and what is unreachable
    uint32_t *loop;               // header of the innermost loop it is in, NONE
    uint32_t *depth;              // of loops
    uint32_t *preds, *pred_first; // predecessors that can be reached
} flow;

// ---- machine instructions before they have registers ---------------------------------------------
enum file { FILE_R, FILE_P, FILE_U, FILE_UP }; // vector registers, predicates, uniform ones, their predicates

typedef struct vreg { // a virtual register: 32 bits of a value, or a predicate
    uint8_t file;
    uint8_t part, parts; // which of a tuple that wants to be aligned
    uint16_t reg;        // the machine's (regs.c), in lower.h's numbering
} vreg;

// What runs an instruction, as far as ptxas keeps instructions apart by it (stalls.c); up to PIPE_UNIFORM
// results come after a fixed time.
enum pipe {
    PIPE_ALU,
    PIPE_FMA,
    PIPE_HEAVY,
    PIPE_HALF,
    PIPE_FP64,
    PIPE_UNIFORM,
    PIPE_LSU,
    PIPE_XU,
    PIPE_CONSTANTS, // LDC, S2UR
    PIPE_VOTE,
    PIPE_BRANCH,
    PIPE_OTHER,
    PIPES
};

typedef struct minst {
    const char *name;
    uint16_t sass;
    uint8_t tclass, kind;
    uint8_t pipe;
    uint8_t stall; // cycles until the warp's next instruction
    uint8_t space, bytes, offset, imm;
    uint8_t nsrc, ndst;
    uint8_t guards;    // of the sources, the last ones
    uint32_t constant; // the line of constants that it names, as orr_inst.encoding.constant
    uint16_t flags, access, warps;
    uint32_t regs; // in lower.regs: sources, then destinations
    uint32_t inst;
    uint32_t base; // memory: the value its address is based on, NONE: not known
    int64_t disp;  // added to it
    bool keep;     // even if nobody reads what it writes
    bool wall;     // nothing moves across it
    bool memory;   // keeps its order among such, as far as they may touch the same place
    bool store;    // of `memory`
    bool syncs;    // an operation on an mbarrier, `imm` says which
    bool last;     // ends the block
    bool first;    // goes before all others that could
} minst;

// ---- what an operand is made of ------------------------------------------------------------------
#define BANK4 0x40000000u
#define BANK3 0x20000000u // variables in constant memory: | their number << 16
enum leaf_kind { LEAF_NONE, LEAF_REG, LEAF_IMM, LEAF_CONST, LEAF_SHARED };
typedef struct leaf { // 32 bits
    uint8_t kind;
    uint8_t half; // constant of 64 bits: 1 its low half, 2 its high half
    uint32_t v;   // virtual register; bits; offset in constant bank 0 (| BANK4: of module variables'
                  // addresses); offset in shared memory
} leaf;
typedef struct source { // an operand as an instruction reads it
    uint8_t n;          // leaves
    bool neg;           // predicate: its negation
    leaf leaf[4];
} source;

// An operand before that: a value, or a constant. What instruction selection moves from one instruction to
// another.
typedef struct ref {
    uint8_t kind, cls, neg; // enum orr_operand_kind, orr_class
    uint32_t value;         // index of a value (REG), of a variable (SYMBOL)
    uint64_t imm;
} ref;

// What one PTX instruction becomes besides itself.
enum fused { // pseudo operations of rules.def, behind ORR_OP_*
    FUSED_NONE = 0,
    FUSED_IADD3 = ORR_OP_COUNT, // a + b + c
    FUSED_LEA,                  // (a << imm) + b
    FUSED_MULADD,               // a * b + c, 32 or 64 bits
    FUSED_WIDEADD,              // a * b + c, 32 x 32 + 64
    FUSED_LOP3,                 // any function of three
    FUSED_SETP2,                // a comparison and a predicate
    FUSED_ADDMNMX,              // min(a + b, c), max(a + b, c)
    FUSED_SXADD,                // a + b, 32 bits with their sign + 64
    FUSED_MNMX3,                // min, max of three
    FUSED_LEAHI,                // the upper half of (b:a) << imm, + c
    FUSED_SELADD,               // a + (c ? b : f)
    FUSED_COUNT
};
#define SELECTION_SRCS 4
typedef struct selection {
    uint16_t op;             // enum orr_op or fused
    uint8_t nsrc;            // sources below replace the instruction's
    uint32_t from;           // instruction whose type and modifiers count
    ref src[SELECTION_SRCS]; //
    int64_t disp;            // memory: added to the displacement; LEA: the shift
} selection;

enum {                   // per instruction
    DO_SKIP = 1 << 0,    // nobody needs it, or it became part of others
    DO_VIEW = 1 << 1,    // no instruction: its result is other registers by another name
    DO_UNIFORM = 1 << 2, // runs on the uniform datapath
    DO_PREDLOP = 1 << 3, // a logic operation that also yields "not zero" (the comparison after it is free)
    DO_GUARDED = 1 << 4, // in a block whose branch became predicates
    DO_LATER = 1 << 5,   // done where its reader, a selection, stands, under its predicate
    DO_SELECT = 1 << 6,  // such a selection: no instruction, pred_of says who is done here
};

// A constant in a register. Each block that reads it wants it loaded before: in the block itself, or in front
// of the loops that do not change it.
typedef struct held {
    uint8_t kind; // enum leaf_kind; LEAF_REG: a uniform register copied to a vector register
    uint8_t file, parts;
    uint64_t v;
    uint32_t vreg;
    uint32_t block; // that wanted it last
    bool pinned;    // must be in its file
} held;
typedef struct body_held { // the same for the body of a branch, under its predicate
    uint32_t block, predicate;
    uint8_t kind, parts;
    uint64_t v;
    uint32_t vreg;
} body_held;
typedef struct lower_pending {
    const char *name;
    int nsrc, ndst, guards;
    uint32_t src[64], dst[64];
} lower_pending;
typedef struct wanted {
    uint32_t held, block, inst;
} wanted;

typedef struct quotient_of { // a divisor whose reciprocal is in registers
    uint32_t value, vreg;
    bool sign;
} quotient_of;

typedef struct slot { // a variable of the frame that is in registers (calls.c)
    uint32_t at, bytes;
} slot;

// What the passes leave for each other, of the function at hand. All but `alike` and the arrays over the
// whole kernel's instructions and operands are made anew for each function.
typedef struct lower_selection { // what instructions become (select.c)
    uint8_t *todo;               // per instruction: DO_*
    uint32_t *of;                // per instruction: index in `all`, + 1
    ORR_VEC(selection) all;
    uint32_t *pred_of; // per instruction with DO_PREDLOP: the predicate it also writes
} lower_selection;

typedef struct lower_branch_info { // per block (branches.c)
    uint32_t *predicated;          // the instruction whose guard holds for it, NONE
    uint32_t *body;                // the predicated one that follows it, + 1
    uint8_t *parts;                // lanes may part at its end
    uint8_t *bssy;                 // how many BSSY stand before its branch
    uint8_t *bsync;                // lanes meet at its start
    uint8_t *arrives;              // at its end they go to where they meet
    uint8_t *exits;                // its branch leads to the end of the thread
    uint32_t *run;                 // the first of those that only follow each other
} lower_branch_info;

typedef struct lower_merged { // accesses that became one (merge.c), per instruction; + 1
    uint32_t *into;           // the instruction that stands for them
    uint32_t *first, *next;   // the lowest, and the next higher
} lower_merged;

typedef struct lower_held { // constants in registers (constants.c)
    ORR_VEC(held) held;
    ORR_VEC(body_held) bodies;
    ORR_VEC(wanted) wanted; // and the blocks that read them
    ORR_VEC(held) copies;   // uniform registers that were copied to vector registers
    uint32_t copied_block;  // in which block
    orr_map holds;          // of `held`
    orr_map reads;          // parameters that are read without a predicate, by run of blocks
    bool placing;           // outside any guard
} lower_held;

typedef struct lower_calls_info { // arguments and results of calls (calls.c)
    ORR_VEC(slot) slots;
    ORR_VEC(uint32_t) handed; // registers of the next call's arguments, or of the results
} lower_calls_info;

typedef struct lower_division { // integer divisions of a block
    ORR_VEC(quotient_of) quotients;
    uint32_t block;
    uint32_t divisor; // of the quotient at hand: registers of its reciprocal and its magnitude
} lower_division;

typedef struct lower_place { // where emission is
    uint32_t block, inst;
    uint32_t access; // accesses of the block so far
    uint32_t
        pressure[2]; // instructions of the block on ALU and FMA: moves and additions go where there is room
} lower_place;

typedef struct lower {
    const orr_kernel *k;
    const orr_gpu *g;
    orr_lowered *to;
    int cc; // 90: compute capability 9.0

    // values
    ORR_VEC(value) values;
    ORR_VEC(uint32_t) args;
    uint32_t *of;    // per operand of the kernel: its value
    uint32_t *guard; // per instruction: its guard's value
    uint32_t *under; // and of one that it needs not, but is under in machine code
    flow flow;
    orr_func func;       // at hand
    uint32_t first_inst; // of its blocks
    uint32_t *block_of;  // per instruction of the function: its block, from 0
    uint32_t *ordinal;   // and which of its block's accesses is its own

    uint8_t *alike; // per instruction of the kernel: ALIKE_* of atomics
    lower_selection select;
    lower_branch_info branch;
    lower_merged merged;

    // machine instructions
    uint32_t *vreg_of; // per value (web): its first virtual register + 1
    ORR_VEC(vreg) vregs;
    ORR_VEC(uint32_t) regs;
    ORR_VEC(minst) insts;
    ORR_VEC(uint32_t) block_first; // per block of the function
    lower_place at;
    lower_pending next; // the instruction that is being put together
    lower_held constants;
    lower_calls_info calls;
    lower_division division;
    orr_map names; // mnemonics that were looked up
    orr_arena arena;
} lower;

// values.c
void lower_values(lower *l);
void lower_values_free(lower *l);
// Blocks that cannot be reached have nothing alive.
void lower_live_reachable(const flow *f, orr_live *live);
uint32_t lower_web(lower *l, uint32_t v);
bool lower_dominates(const flow *f, uint32_t a, uint32_t b);
uint32_t lower_meet(const flow *f, uint32_t a, uint32_t b); // nearest common dominator

// select.c
void lower_select(lower *l);
ref lower_ref(const lower *l, uint32_t inst, int s); // source s of an instruction as it was selected
int lower_nsrc(const lower *l, uint32_t inst);
uint16_t lower_op(const lower *l, uint32_t inst);
uint32_t lower_shift(const lower *l, uint32_t inst);                  // of an LEA
bool lower_constant(const lower *l, ref r, uint64_t *out, int depth); // is it known?
bool lower_small(const lower *l, ref r, int depth);                   // 0 to 0x7fff in a whole register?
bool lower_zero(const lower *l, ref r, uint32_t half, int depth);     // is that half of 64 bits zero?

// merge.c
void lower_merge(lower *l);

// branches.c
void lower_branches(lower *l);

// emit.c
void lower_emit(lower *l); // the function at hand: block_first, insts
source lower_source(lower *l, ref r);
uint32_t lower_vreg(lower *l, uint32_t v); // first virtual register of a value
uint32_t lower_temp(lower *l, uint8_t file, uint8_t parts);
uint32_t lower_window(lower *l, uint32_t offset);
void lower_begin(lower *l, const char *name); // an instruction: its sources and destinations follow
void lower_src(lower *l, uint32_t vreg);
void lower_dst(lower *l, uint32_t vreg);
void lower_vector(lower *l, const source *s); // all of it, brought into vector registers
minst *lower_done(lower *l);                  // appended; valid until the next
const char *lower_rule(const lower *l, uint32_t inst);
const char *lower_mnemonic(lower *l, const char *name, size_t n); // that name, for as long as the lowering
uint32_t lower_hold_leaf(lower *l, leaf constant, uint8_t file);  // a register that has it
extern const uint8_t lower_parts_of[ORR_CLASSES];                 // machine registers of a class

// template.c
void lower_template(lower *l, const char *text); // expands for the instruction at hand

// constants.c
#define DESCRIPTOR  0x208       // of global memory, in constant bank 0 (Ampere and later)
#define ARGUMENTS   0x1000      // a kernel's arguments, wherever bank 0 has them
#define SHARED_RANK 0xffffffffu // which block of its cluster this is
uint32_t lower_hold(lower *l, uint8_t kind, uint64_t v, uint8_t file, uint8_t parts); // a constant's register
uint32_t lower_constant_line(const lower *l, uint64_t v);
void lower_find_reads(lower *l); // parameters that not only bodies of branches read
void lower_place_constants(lower *l);
void lower_drop_dead(lower *l);

// calls.c
void lower_calls(lower *l);
bool lower_has_frame(const lower *l);
bool lower_argument(lower *l, const orr_inst *i); // of a call, or its result: true, and it is done
void lower_read_arguments(lower *l);
void lower_write_results(lower *l, const orr_inst *call);

// memory.c
bool lower_special(lower *l); // true: done
void lower_gather(lower *l);  // lanes that it waits for, in front of an instruction

// elect.c
typedef struct elect {                              // an atomic that one lane does for all
    uint8_t how;                                    // 0: each lane for itself
    uint32_t mask, leader, is_leader, operand, old; // virtual registers
} elect;
void lower_alike(lower *l);                                             // the function at hand: l->alike
elect lower_elect(lower *l, const orr_inst *i);                         // what stands in front of the atomic
void lower_elect_operands(lower *l, const elect *e, const orr_inst *i); // of the atomic, but its address
void lower_elect_flags(const elect *e, minst *atomic);
void lower_share(lower *l, const elect *e, const orr_inst *i); // what stands behind it

// stalls.c
static inline bool lower_counts_stalls(const lower *l) { return l->cc >= 90; } // what is known is sm_90's
uint8_t lower_pipe(const orr_gpu *g, const char *mnemonic, uint8_t tclass);
// Cycles that ptxas leaves from an instruction to one that reads its result as `source`; 0: it varies.
uint32_t lower_wait(const lower *l, const minst *from, const minst *to, int source);
uint32_t lower_apart(uint8_t pipe); // cycles from one instruction of a pipe to the next
void lower_stalls(lower *l);

// schedule.c, regs.c
void lower_schedule(lower *l);
void lower_registers(lower *l);
void lower_across(lower *l, uint32_t *across); // per block: vector registers that other blocks know too

// In a switch: sums, products and logic of two or three operands.
#define LOWER_ARITHMETIC                                                                                     \
    ORR_OP_ADD:                                                                                              \
    case ORR_OP_SUB:                                                                                         \
    case ORR_OP_MUL:                                                                                         \
    case ORR_OP_MAD:                                                                                         \
    case ORR_OP_AND:                                                                                         \
    case ORR_OP_OR:                                                                                          \
    case ORR_OP_XOR

#endif
