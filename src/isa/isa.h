// The kernel: static code, independent of the instruction set it came from (docs/how/design.md).
//
// ptx/ and sass/ make kernels; exec/ runs them; every model reads them. A kernel is one entry
// function and all the functions it can reach, laid out in one array of basic blocks over one array
// of instructions. Registers are virtual and belong to a class by width: a class is a separate
// register space, numbered from 0 in each function.
#ifndef ORR_ISA_H
#define ORR_ISA_H

#include "base/base.h"

#define ORR_WARP 32

// ---- operations -----------------------------------------------------------------------------
enum orr_op {
#define OP(id, name, unit, flags) ORR_OP_##id,
#include "isa/ops.def"
#undef OP
    ORR_OP_COUNT
};

enum { // flags of an operation, true of each instance
    ORR_F_LOAD = 1 << 0,
    ORR_F_STORE = 1 << 1,
    ORR_F_ATOMIC = 1 << 2,
    ORR_F_FENCE = 1 << 3,
    ORR_F_BARRIER = 1 << 4,
    ORR_F_BRANCH = 1 << 5,
    ORR_F_CALL = 1 << 6,
    ORR_F_RET = 1 << 7,
    ORR_F_EXIT = 1 << 8,
    ORR_F_END = 1 << 9, // ends a basic block
};
#define ORR_F_MEMORY (ORR_F_LOAD | ORR_F_STORE | ORR_F_ATOMIC)

enum orr_unit { // the pipe an instruction runs on
    ORR_UNIT_INT,
    ORR_UNIT_FP32,
    ORR_UNIT_FP64,
    ORR_UNIT_FP16,
    ORR_UNIT_SFU,
    ORR_UNIT_CONV,
    ORR_UNIT_MOVE,
    ORR_UNIT_TENSOR,
    ORR_UNIT_MEM,
    ORR_UNIT_BRANCH,
    ORR_UNIT_UNIFORM,
    ORR_UNIT_MISC,
    ORR_UNIT_COUNT
};
extern const char *const orr_unit_name[ORR_UNIT_COUNT]; // "int", "fp32", ...

typedef struct orr_op_info {
    const char *name;
    uint8_t unit;
    uint16_t flags;
} orr_op_info;
extern const orr_op_info orr_ops[ORR_OP_COUNT];

// ---- timing classes and machine mnemonics ------------------------------------------------------
// What a GPU description gives a unit, a latency and an interval for: op.NAME.*. A class `a.b` that a
// description does not list is as `a`.
#define ORR_TCLASSES(X)                                                                                      \
    X(INT, "int")                                                                                            \
    X(INT_MUL, "int.mul")                                                                                    \
    X(BITS, "int.bits")                                                                                      \
    X(FP32, "fp32")                                                                                          \
    X(FP64, "fp64")                                                                                          \
    X(FP16, "fp16")                                                                                          \
    X(SFU, "sfu")                                                                                            \
    X(CONV, "conv")                                                                                          \
    X(MOVE, "move")                                                                                          \
    X(SREG, "move.sreg")                                                                                     \
    X(TENSOR, "tensor")                                                                                      \
    X(TENSOR_INT, "tensor.int")                                                                              \
    X(TENSOR_FP64, "tensor.fp64")                                                                            \
    X(MEM, "mem")                                                                                            \
    X(CONST, "mem.const")                                                                                    \
    X(TEX, "mem.tex")                                                                                        \
    X(SHFL, "shfl")                                                                                          \
    X(VOTE, "vote")                                                                                          \
    X(BRANCH, "branch")                                                                                      \
    X(BARRIER, "barrier")                                                                                    \
    X(UNIFORM, "uniform")                                                                                    \
    X(MISC, "misc")
enum orr_tclass {
#define X(id, name) ORR_TC_##id,
    ORR_TCLASSES(X)
#undef X
        ORR_TC_COUNT
};
extern const char *const orr_tclass_name[ORR_TC_COUNT];
extern const uint8_t orr_tclass_unit[ORR_TC_COUNT]; // enum orr_unit: where its instructions are counted

// What the core does with an instruction besides occupying a unit. Stream files hold these numbers.
enum orr_tkind {
    ORR_TK_ALU,        // nothing
    ORR_TK_MEM,        // goes to the load/store unit with the addresses its stream carries
    ORR_TK_BRANCH,     // the warp cannot issue until it is resolved
    ORR_TK_EXIT,       // some lanes end here; the warp ends where its stream does
    ORR_TK_BARRIER,    // waits for the other warps of the thread block
    ORR_TK_FENCE,      // waits for the warp's own memory accesses
    ORR_TK_GROUP,      // closes a group of asynchronous copies
    ORR_TK_WAIT_GROUP, // waits until at most `imm` such groups are unfinished
    // Of programs only, not in streams:
    ORR_TK_SYNCS,   // arrives at an mbarrier or waits for it, as `imm` (ORR_MBAR_*) says; its stream has the
                    // address
    ORR_TK_PRODUCT, // a product of a group of warps (HGMMA): imm ORR_PRODUCT_*
    ORR_TK_PRODUCT_WAIT, // waits until at most `imm` groups of products are unfinished (WARPGROUP.DEPBAR)
    ORR_TK_CLOCK,        // reads the SM's clock
    ORR_TK_INDEXED,      // a uniform load of a constant by an index (ULDC): its warp waits until it is there
    ORR_TK_NEXT_GRID,    // imm 0: the kernel behind it in its stream may start; 1: waits for the one ahead to
                         // end
};
// orr_inst.imm of machine code's products, and of WARPGROUP: ORR_PRODUCT_WAITS + how many groups.
enum { ORR_PRODUCT_SIGNALS = 1, ORR_PRODUCT_REGISTERS = 2, ORR_PRODUCT_WAITS = 64 };

enum orr_sass {
    ORR_SASS_NONE, // not in the table
#define SASS(name, cls, kind, pipe) ORR_SASS_##name,
#include "isa/sass.def"
#undef SASS
    ORR_SASS_COUNT
};
enum orr_pipe { // where a profiler counts an instruction
    ORR_PIPE_NONE,
    ORR_PIPE_ALU,
    ORR_PIPE_FMA,
    ORR_PIPE_FP16,
    ORR_PIPE_FP64,
    ORR_PIPE_XU,
    ORR_PIPE_TENSOR,
    ORR_PIPE_LSU,
    ORR_PIPE_ADU,
    ORR_PIPE_CBU,
    ORR_PIPE_UNIFORM,
    ORR_PIPE_COUNT
};
typedef struct orr_sass_info {
    const char *name;
    uint8_t cls, kind, pipe; // orr_tclass, orr_tkind, orr_pipe
} orr_sass_info;
extern const orr_sass_info orr_sass[ORR_SASS_COUNT];
struct orr_inst;
// Where an instruction is counted: by its mnemonic (NULL: not known) and, of one that reads a special
// register, by the kernel's instruction it is or came from (NULL: not known).
enum orr_pipe orr_sass_pipe(enum orr_sass s, const char *mnemonic, const struct orr_inst *from);
bool orr_sass_jumps(enum orr_sass s);    // lanes go somewhere else and do not come back
bool orr_sass_branches(enum orr_sass s); // counted as a branch: it can change where lanes go on, or when
// The operation of ops.def that is nearest to it, for counting (nearest.def); ORR_OP_NOP: none.
static inline bool orr_sass_group_product(uint16_t s) { // of a group of warps
    return s == ORR_SASS_HGMMA || s == ORR_SASS_IGMMA || s == ORR_SASS_QGMMA || s == ORR_SASS_BGMMA;
}
void orr_sass_nearest(enum orr_sass s, uint16_t *op, uint8_t *type);
// The table's entry for a mnemonic ("LDG.E.128", only what is before the first point counts), or
// ORR_SASS_NONE.
enum orr_sass orr_sass_find(const char *mnemonic, size_t n);
// Class and kind for a name that is not in the table, from its first letters.
void orr_sass_guess(const char *mnemonic, size_t n, uint8_t *cls, uint8_t *kind);

// ---- types ----------------------------------------------------------------------------------
enum orr_type {
    ORR_T_NONE,
    ORR_T_PRED,
    ORR_T_B8,
    ORR_T_U8,
    ORR_T_S8,
    ORR_T_B16,
    ORR_T_U16,
    ORR_T_S16,
    ORR_T_F16,
    ORR_T_BF16,
    ORR_T_B32,
    ORR_T_U32,
    ORR_T_S32,
    ORR_T_F32,
    ORR_T_TF32,
    ORR_T_F16X2,
    ORR_T_BF16X2,
    ORR_T_U16X2,
    ORR_T_S16X2,
    ORR_T_B64,
    ORR_T_U64,
    ORR_T_S64,
    ORR_T_F64,
    ORR_T_F32X2,
    ORR_T_B128,
    // narrow formats that only convert and multiply
    ORR_T_U4,
    ORR_T_S4,
    ORR_T_B1,
    ORR_T_E4M3,
    ORR_T_E5M2,
    ORR_T_E4M3X2,
    ORR_T_E5M2X2,
    ORR_T_E2M1X2,
    ORR_T_E2M3X2,
    ORR_T_E3M2X2,
    ORR_T_UE8M0X2,
    ORR_T_COUNT
};
typedef struct orr_type_info {
    const char *name; // "f32"
    uint8_t bytes;    // 0 for PRED; 1 for the sub-byte ones
    bool is_float, is_signed;
} orr_type_info;
extern const orr_type_info orr_types[ORR_T_COUNT];

// ---- registers and operands -----------------------------------------------------------------
// A register class is a width. Class P holds one bit a lane, the others 2, 4, 8, 16 bytes a lane.
// 8-bit registers live in class H.
enum orr_class { ORR_P, ORR_H, ORR_W, ORR_D, ORR_Q, ORR_CLASSES };

enum orr_operand_kind {
    ORR_K_NONE,   // absent, or the sink `_`
    ORR_K_REG,    // class, reg
    ORR_K_IMM,    // value: the bits, in the width of the class. A P immediate is 0 or 1.
    ORR_K_SYMBOL, // value = addend; reg = index of a module variable (global or const space):
                  // its device address is known when the module is loaded
};
typedef struct orr_operand {
    uint8_t kind;
    uint8_t cls; // enum orr_class: the class the operation reads or writes it in
    uint8_t neg; // predicate: read as its negation
    uint32_t reg;
    uint64_t value; // of a register that machine code reads: which of the operands A, B, C, from 1; 0: none
} orr_operand;

// ---- instruction ----------------------------------------------------------------------------
enum orr_space { // memory spaces
    ORR_SPACE_NONE,
    ORR_SPACE_GENERIC,
    ORR_SPACE_GLOBAL,
    ORR_SPACE_SHARED,
    ORR_SPACE_LOCAL,
    ORR_SPACE_CONST,
    ORR_SPACE_PARAM, // the kernel's parameters. A function's parameters are LOCAL (see orr_func).
    ORR_SPACE_COUNT
};
extern const char *const orr_space_name[ORR_SPACE_COUNT];

enum { // mods
    ORR_M_FTZ = 1 << 0,
    ORR_M_SAT = 1 << 1,
    ORR_M_LO = 1 << 2,
    ORR_M_HI = 1 << 3,
    ORR_M_WIDE = 1 << 4,
    ORR_M_CC = 1 << 5, // writes the carry flag
    ORR_M_X = 1 << 6,  // reads it (addc, subc, madc)
    ORR_M_APPROX = 1 << 7,
    ORR_M_FULL = 1 << 8, // div.full
    ORR_M_NAN = 1 << 9,
    ORR_M_XORSIGN = 1 << 10, // min/max .xorsign.abs
    ORR_M_RELU = 1 << 11,
    ORR_M_CLAMP = 1 << 12,
    ORR_M_WRAP = 1 << 13,
    ORR_M_APART = ORR_M_WRAP, // div, rcp, sqrt, rsqrt: the test for the long way is an instruction of its own
    ORR_M_SHIFTAMT = 1 << 14,
    ORR_M_TRANS = 1 << 15,
    ORR_M_UNI = 1 << 16,      // bra.uni, call.uni
    ORR_M_VOLATILE = 1 << 17, // volatile, relaxed, acquire, release: other threads may be looking
    ORR_M_ALIGNED = 1 << 18,
    ORR_M_NOINC = 1 << 19,
    ORR_M_OOB = 1 << 20, // fma.oob
    ORR_M_SATFINITE = 1 << 21,
    ORR_M_NC = 1 << 22,    // ld.global.nc
    ORR_M_A_COL = 1 << 23, // mma/wmma operand layouts; clear = row
    ORR_M_B_COL = 1 << 24,
    ORR_M_D_COL = 1 << 25,
    ORR_M_ACQREL = 1 << 26,
    ORR_M_NOUNROLL = 1 << 27, // bra back to a loop that .pragma "nounroll" stands in
    ORR_M_TOGETHER = 1 << 29, // its lanes are together already: nobody is waited for (lower/rewrite.c)
    ORR_M_KNOWN = 1 << 30,    // of a test: how it ends is known before the kernel runs (lower/rewrite.c)
    ORR_M_COUNTS = 1 << 28,   // adds 1 for each lane, and nobody reads the result (ATOMS.POPC.INC)
};
#define ORR_M_ASIDE (1u << 31) // not in the PTX: part of the long way of a division (ptx/longways.h)

enum orr_round { // of arithmetic and of cvt
    ORR_RND_NONE,
    ORR_RND_RN,
    ORR_RND_RZ,
    ORR_RND_RM,
    ORR_RND_RP,  // to a float: nearest even, zero, down, up
    ORR_RND_RNA, // nearest, ties away
    ORR_RND_RNI,
    ORR_RND_RZI,
    ORR_RND_RMI,
    ORR_RND_RPI, // to an integer
    ORR_RND_RS,  // stochastic
};

enum orr_cmp { // ordered, then unordered (true when an operand is NaN), then tests for NaN
    ORR_CMP_EQ,
    ORR_CMP_NE,
    ORR_CMP_LT,
    ORR_CMP_LE,
    ORR_CMP_GT,
    ORR_CMP_GE,
    ORR_CMP_LO,
    ORR_CMP_LS,
    ORR_CMP_HI,
    ORR_CMP_HS, // unsigned
    ORR_CMP_EQU,
    ORR_CMP_NEU,
    ORR_CMP_LTU,
    ORR_CMP_LEU,
    ORR_CMP_GTU,
    ORR_CMP_GEU,
    ORR_CMP_NUM,
    ORR_CMP_NAN,
};
enum orr_boolop { ORR_BOOL_NONE, ORR_BOOL_AND, ORR_BOOL_OR, ORR_BOOL_XOR };

// values of `sub`
enum {
    ORR_TESTP_FINITE,
    ORR_TESTP_INFINITE,
    ORR_TESTP_NUMBER,
    ORR_TESTP_NOTANUMBER,
    ORR_TESTP_NORMAL,
    ORR_TESTP_SUBNORMAL
};
enum {
    ORR_PRMT_DEFAULT,
    ORR_PRMT_F4E,
    ORR_PRMT_B4E,
    ORR_PRMT_RC8,
    ORR_PRMT_ECL,
    ORR_PRMT_ECR,
    ORR_PRMT_RC16
};
enum {
    ORR_ATOM_ADD,
    ORR_ATOM_MIN,
    ORR_ATOM_MAX,
    ORR_ATOM_INC,
    ORR_ATOM_DEC,
    ORR_ATOM_AND,
    ORR_ATOM_OR,
    ORR_ATOM_XOR,
    ORR_ATOM_EXCH,
    ORR_ATOM_CAS
};
enum { ORR_SHFL_UP, ORR_SHFL_DOWN, ORR_SHFL_BFLY, ORR_SHFL_IDX };
enum { ORR_VOTE_ALL, ORR_VOTE_ANY, ORR_VOTE_UNI, ORR_VOTE_BALLOT };
enum { ORR_GRID_NEXT = 1, ORR_GRID_WAIT }; // orr_inst.sub of NOP: griddepcontrol
enum { ORR_BAR_SYNC, ORR_BAR_ARRIVE, ORR_BAR_RED_POPC, ORR_BAR_RED_AND, ORR_BAR_RED_OR };
// mbarrier: dsts and srcs as in PTX. TEST_WAIT/TRY_WAIT with mods: cmp 1 = .parity form.
enum {
    ORR_MBAR_INIT,
    ORR_MBAR_INVAL,
    ORR_MBAR_ARRIVE,
    ORR_MBAR_ARRIVE_DROP,
    ORR_MBAR_EXPECT_TX,
    ORR_MBAR_COMPLETE_TX,
    ORR_MBAR_ARRIVE_EXPECT_TX,
    ORR_MBAR_TEST_WAIT,
    ORR_MBAR_TRY_WAIT,
    ORR_MBAR_PENDING_COUNT,
    ORR_MBAR_COPIES_ARRIVE, // when the thread's copies are there; ORR_OP_SYNCS
    ORR_MBAR_BULK           // of programs: a bulk copy, which arrives when it is there
};
enum {
    ORR_SYS_VPRINTF,
    ORR_SYS_MALLOC,
    ORR_SYS_FREE,
    ORR_SYS_ASSERTFAIL,
    ORR_SYS_PARAMETERS_2,
    ORR_SYS_LAUNCH_2,
    ORR_SYS_PARAMETERS,
    ORR_SYS_LAUNCH,
    ORR_SYS_LAST_ERROR,
    ORR_SYS_PEEK_ERROR,
    ORR_SYS_HANDLE_NEW,
    ORR_SYS_HANDLE_END,
    ORR_SYS_ORDERED,
    ORR_SYS_COPY,
    ORR_SYS_FILL,
    ORR_SYS_CUDA_MALLOC,
    ORR_SYS_CUDA_FREE,
    ORR_SYS_DEVICE,
    ORR_SYS_CONDITION,
    ORR_SYS_COUNT
};
enum { ORR_SYSCALL_ARGS = 6, ORR_SYSCALL_WORDS = 14 };
typedef struct orr_syscall { // syscalls.def: a name of a function of the device runtime
    const char *name;
    uint8_t sys, result, nargs, bytes[ORR_SYSCALL_ARGS];
} orr_syscall;
const orr_syscall *orr_syscall_named(const char *name); // NULL: none
bool orr_syscall_linked(const orr_syscall *s);          // nvcc links one in, whose place it takes
// Arguments as 32-bit words, one after the other at their natural alignment: where argument n begins.
uint32_t orr_syscall_word(const orr_syscall *s, uint32_t n);
uint32_t orr_syscall_result(unsigned sys);  // bytes
const char *orr_syscall_name(unsigned sys); // one of its names; NULL: there is none of that number
// video: sub is the operation, type = d, stype = a; srcs a, b[, c].
// VIDEO (scalar): imm packs, 4 bits each from bit 0: selector of a, b, c, d (0 none, 1..4 = b0..b3,
// 5 h0, 6 h1), then at bit 16 the secondary op (0 none, 1 add, 2 min, 3 max, 4 merge: d's selected
// part is replaced in c). disp bits 0..7 = type of b, 8..15 the right shift of vmad (0, 7, 15), bit
// 16 vmad .po, bits 17, 18, 19 vmad negates a, b, c. mods SAT; vshl/vshr CLAMP or WRAP; vset: cmp.
// VIDEO2, VIDEO4: disp bits 0..11 = a's selectors, 3 bits a lane from lane 0 (2 or 4 lanes), numbering
// the halves or bytes of the pair {b,a} with a's first; bits 12..23 = b's; bits 24..27 = lanes of d
// that are written (the rest come from c). imm bits 0..7 = type of b; bit 16 set: accumulate (.add).
enum {
    ORR_VOP_ADD,
    ORR_VOP_SUB,
    ORR_VOP_ABSDIFF,
    ORR_VOP_MIN,
    ORR_VOP_MAX,
    ORR_VOP_SHL,
    ORR_VOP_SHR,
    ORR_VOP_MAD,
    ORR_VOP_SET,
    ORR_VOP_AVRG
};

enum orr_sreg { // values of imm for ORR_OP_SREG; the first group is constant for a thread
    ORR_SREG_TID_X,
    ORR_SREG_TID_Y,
    ORR_SREG_TID_Z,
    ORR_SREG_NTID_X,
    ORR_SREG_NTID_Y,
    ORR_SREG_NTID_Z,
    ORR_SREG_CTAID_X,
    ORR_SREG_CTAID_Y,
    ORR_SREG_CTAID_Z,
    ORR_SREG_NCTAID_X,
    ORR_SREG_NCTAID_Y,
    ORR_SREG_NCTAID_Z,
    ORR_SREG_LANEID,
    ORR_SREG_WARPID,
    ORR_SREG_NWARPID,
    ORR_SREG_SMID,
    ORR_SREG_NSMID,
    ORR_SREG_GRIDID,
    ORR_SREG_LANEMASK_EQ,
    ORR_SREG_LANEMASK_LE,
    ORR_SREG_LANEMASK_LT,
    ORR_SREG_LANEMASK_GE,
    ORR_SREG_LANEMASK_GT,
    ORR_SREG_TOTAL_SMEM,
    ORR_SREG_DYNAMIC_SMEM,
    ORR_SREG_AGGR_SMEM,
    ORR_SREG_RESERVED_SMEM,   // shared memory set aside for the system: where it begins,
    ORR_SREG_RESERVED_SMEM_1, // its second part,
    ORR_SREG_RESERVED_SMEM_END,
    ORR_SREG_RESERVED_SMEM_SIZE,
    ORR_SREG_ENVREG, // any of %envreg0, 3..31: zero
    ORR_SREG_CLUSTERID_X,
    ORR_SREG_CLUSTERID_Y,
    ORR_SREG_CLUSTERID_Z,
    ORR_SREG_NCLUSTERID_X,
    ORR_SREG_NCLUSTERID_Y,
    ORR_SREG_NCLUSTERID_Z,
    ORR_SREG_CLUSTER_CTAID_X, // of the thread block in its cluster
    ORR_SREG_CLUSTER_CTAID_Y,
    ORR_SREG_CLUSTER_CTAID_Z,
    ORR_SREG_CLUSTER_NCTAID_X,
    ORR_SREG_CLUSTER_NCTAID_Y,
    ORR_SREG_CLUSTER_NCTAID_Z,
    ORR_SREG_CLUSTER_CTARANK,
    ORR_SREG_CLUSTER_NCTARANK,
    ORR_SREG_CLUSTER_EXPLICIT,
    ORR_SREG_PM, // performance counters: zero
    ORR_SREG_CLOCK,
    ORR_SREG_CLOCK_HI,
    ORR_SREG_CLOCK64,
    ORR_SREG_GLOBALTIMER,
    ORR_SREG_GLOBALTIMER_LO,
    ORR_SREG_GLOBALTIMER_HI,
    ORR_SREG_ENVREG_1, // upper and lower half of where the barrier of a cooperative launch is
    ORR_SREG_ENVREG_2,
    ORR_SREG_COUNT
};

typedef struct orr_source_line { // of the program's source
    uint32_t file;               // index + 1 in module->files; 0: unknown
    uint32_t line;
} orr_source_line;

typedef struct orr_encoding { // what only the encoding of machine code says; 0 for PTX
    uint32_t ctrl;            // control bits (ORR_CTRL_*)
    uint32_t constant; // the 64 bytes of constants that it names, bank << 16 | offset / 64, + 1; 0: none
} orr_encoding;

typedef struct orr_inst {
    uint16_t op;        // enum orr_op
    uint8_t type;       // enum orr_type: of the result, or of the operation
    uint8_t stype;      // second type: cvt's source, set's comparison, ...
    uint8_t space;      // enum orr_space
    uint8_t width;      // bytes per lane and element of a memory access
    uint8_t vec;        // elements per lane (1, 2, 4, 8)
    uint8_t unit;       // enum orr_unit
    uint8_t round;      // enum orr_round
    uint8_t cmp;        // enum orr_cmp
    uint8_t boolop;     // enum orr_boolop
    uint8_t sub;        // sub-operation, see above
    uint8_t guard_neg;  // execute where the guard is false
    uint8_t ndst, nsrc; // operands: kernel->operands[first ...], destinations first
    uint8_t cache;      // ORR_CACHE_*: the cache operator, for timing
    uint32_t mods;      // ORR_M_*
    int32_t guard;      // predicate register, or -1
    uint32_t under;     // + 1: a predicate that it needs not, and machine code has it under (lower/rewrite.c)
    uint32_t first;     // first operand
    int32_t target;     // block, function or table index; -1 none
    int32_t disp;       // added to the address
    int32_t disp2;      // cp.async: added to the second address
    uint32_t imm;       // op-specific constant
    uint32_t line;      // line in the PTX file (or address in the machine code)
    orr_source_line source;
    orr_encoding encoding;
    uint16_t sass;  // enum orr_sass when the code is the machine's (kernel->machine), else 0
    uint8_t tclass; // orr_tclass and
    uint8_t tkind;  //   orr_tkind then
    uint32_t name;  // and its mnemonic: index in kernel->names
} orr_inst;

// Control bits as the machine has them since Volta, from bit 0: stall cycles (4), yield (1, clear: prefer
// another warp next), write barrier (3, 7 none), read barrier (3, 7 none), wait mask (6), reuse (4).
#define ORR_CTRL_STALL(c) ((c)&15)
#define ORR_CTRL_YIELD(c) ((c) >> 4 & 1)
#define ORR_CTRL_WBAR(c)  ((c) >> 5 & 7)
#define ORR_CTRL_RBAR(c)  ((c) >> 8 & 7)
#define ORR_CTRL_WAIT(c)  ((c) >> 11 & 63)
#define ORR_CTRL_REUSE(c) ((c) >> 17 & 15)

enum { ORR_CACHE_CA, ORR_CACHE_CG, ORR_CACHE_CS, ORR_CACHE_LU, ORR_CACHE_CV, ORR_CACHE_WB, ORR_CACHE_WT };

// ORR_OP_CALL. target = index in kernel->funcs, or -1 for an indirect call whose handle (the value
// ORR_FUNC_HANDLE(f) that taking a function's address yields) is source 0. The remaining sources are
// immediates: pairs describing the parameter copies in local space: for each argument
// (caller frame offset << 32 | bytes), then for each result the same; imm = number of arguments,
// vec = number of results. The callee's own offsets are in its orr_func.
// Handles are the same in all kernels of a module: functions whose address is taken are numbered from 1
// through the module, and a kernel that calls through a pointer holds all of them as funcs[1..].
#define ORR_FUNC_HANDLE(f)    (0x0000f00000000000ull + ((uint64_t)(f) + 1) * 16)
#define ORR_FUNC_OF_HANDLE(h) ((int64_t)(((h)-0x0000f00000000000ull) / 16) - 1)

// ORR_OP_SYSCALL: the same immediates as CALL (sources are the copies); the arguments are read from
// the caller's local frame, the results written there.

// ORR_OP_MMA: imm = m | n << 8 | k << 16. type = D, stype = A, sub = B, cmp = C (enum orr_type).
// Destinations: the D registers; sources: A registers, B registers, C registers, in PTX's order.
// boolop = 1 for b1 .xor.popc, 2 for .and.popc. mods SATFINITE A_COL B_COL.
// Sparse mma: vec = 1 and two more sources (metadata register, selector immediate).
//
// ORR_OP_WGMMA: imm = n | k << 16. type = D, stype = A, sub = B. Destinations: D; sources: D as it was, A
// (four registers when boolop is 1, else its descriptor), B's descriptor, the predicate scale-d. Sparse: vec
// = 1 and two more sources (metadata register, selector). mods SATFINITE, A_COL (A is M-major), TRANS (B is
// N-major); disp: ORR_WG_NEGATE_*.
enum { ORR_WG_FENCE, ORR_WG_COMMIT, ORR_WG_WAIT };
enum { ORR_WG_NEGATE_A = 1, ORR_WG_NEGATE_B = 2 };

// ORR_OP_TEX: dsts four components; srcs handle, x, y, z, layer, level, of a gradient also how x, y and z
// differ from one column and one row to the next (dx/dcolumn, dx/drow, dy/dcolumn, ...). imm: shape
// (exec/texture.h), whether coordinates are integers, whether the last three sources are offsets in texels,
// and the component that is gathered, from bit 8 on.
enum { ORR_TEX_LEVEL, ORR_TEX_GRADIENT, ORR_TEX_GATHER };
enum { ORR_TEX_SHAPE = 7, ORR_TEX_INTEGERS = 16, ORR_TEX_OFFSETS = 32 };
// Surfaces, sub: what a coordinate outside does, whether x counts texels (else bytes), whether texels are
// converted.
enum { ORR_SU_CLAMP, ORR_SU_ZERO, ORR_SU_TRAP, ORR_SU_OUTSIDE = 3, ORR_SU_TEXELS = 4, ORR_SU_FORMATTED = 8 };
// ORR_OP_BULK: sub ORR_BULK_*; vec = dimensions of the tensor, 0: plain bytes; boolop = 1 im2col; type =
// element and cmp = ORR_ATOM_* of a reduction (of a tensor the map says the type). Sources: the address in
// this block's shared memory; the other address (a tensor's: of its map; of PEER: in the cluster's shared
// memory); of LOAD and PEER the mbarrier; bytes; of LOAD the mask of blocks that it goes to (all of these may
// be ORR_K_NONE); then `vec` coordinates, and of im2col vec - 2 offsets.
enum {
    ORR_BULK_LOAD,
    ORR_BULK_STORE,
    ORR_BULK_PEER,
    ORR_BULK_REDUCE,
    ORR_BULK_REDUCE_PEER,
    ORR_BULK_PREFETCH
};
// Of a copy a stream has ORR_BULK_LANES addresses and versions, as if of so many lanes: the mbarrier and all
// bytes; where it begins in global memory and the bytes of a row; for each of ORR_BULK_DIMS dimensions the
// distance of rows and how many; the tensor map and the mask of blocks.
enum { ORR_BULK_DIMS = 4, ORR_BULK_LANES = 3 + ORR_BULK_DIMS };
enum { ORR_BULK_ONCE = 1 }; // disp, in machine code: done once for a warp, not by each lane
enum {
    ORR_BULK_SHARED,
    ORR_BULK_OTHER,
    ORR_BULK_MBAR,
    ORR_BULK_BYTES,
    ORR_BULK_MASK,
    ORR_BULK_COORDS
}; // sources

// ORR_OP_WMMALOAD: sub = 0 a, 1 b, 2 c; imm = shape; type = element; mods A_COL (column major);
// srcs: address, stride in elements (absent: the shape's own); space as ld.
// ORR_OP_WMMASTORE: srcs: address, stride (or ORR_K_NONE), then the registers; type, imm, A_COL as load.
// ORR_OP_WMMA: as MMA.

// ---- block, function, kernel ----------------------------------------------------------------
typedef struct orr_block {
    uint32_t first, count; // instructions
    uint32_t func;
    int32_t next;  // the block control falls into, -1 none
    int32_t ipdom; // immediate post-dominator block, -1: the function's exit
    uint32_t nmem; // memory instructions in it whose addresses a stream carries (orr_inst_traced)
} orr_block;

typedef struct orr_param {
    const char *name;
    uint8_t type; // element type
    uint8_t align;
    bool pointer;    // declared .ptr, or a 64-bit scalar (cannot be told apart otherwise)
    uint32_t offset; // kernel: in the parameter buffer. Function: in its local frame.
    uint32_t bytes;
} orr_param;

typedef struct orr_func {
    const char *name;
    uint32_t first_inst, ninsts; // set by the front end; the function starts at its first instruction
    uint32_t entry;              // block; this and the next two are set by orr_kernel_finish
    uint32_t nregs[ORR_CLASSES]; // virtual registers by class
    uint32_t first_block, nblocks;
    uint32_t local_bytes; // of its frame in local space: depot, .local and .param variables
    orr_param *params;    // arguments
    uint32_t nparams;
    orr_param *results;
    uint32_t nresults;
    uint64_t proto; // hash of the parameter layout, checked by indirect calls
    uint64_t
        address; // machine code: of its first instruction, in the module's code (a multiple of 16, never 0)
} orr_func;

typedef struct orr_base { // a parameter or variable that global addresses are made from
    bool param;           // else a variable
    uint32_t which;       // offset in the parameter buffer, or index of the variable
    bool loads, stores;
    bool loads_own;   // loads only what the same thread stores
    bool stores_meet; // stores to a place that depends on loaded data, or not on the block's index
    bool reduces;     // reductions whose order does not matter (orr_kernel_effects.reduces)
} orr_base;
#define ORR_MAX_BASES 64

typedef struct orr_fix { // half of a variable's address that an instruction of machine code holds
    uint32_t inst, var;
    uint64_t offset; // in the variable
    bool high;       // the upper 32 bits
} orr_fix;

#define ORR_BANKS 24 // constant banks of machine code
struct orr_code;     // sass/sass.h

// What a kernel asks of its launches; 0: nothing.
typedef struct orr_kernel_bounds {
    uint32_t maxntid[3], reqntid[3], minctapersm, maxnreg;
    uint32_t cluster[3]; // thread blocks of a cluster
} orr_kernel_bounds;

// What a kernel does to global memory, as far as its code tells (effects.c, regular.c).
enum { ORR_MAX_MIXED = 16 };
typedef struct orr_kernel_effects {
    bool atomics;         // it touches it atomically or volatile: blocks may see each other
    bool reduces;         // and all that does is integer reductions of one kind, whose results nobody has
    bool blocks_meet;     // blocks may see each other's plain stores
    bool reads_anywhere;  // loads through addresses of unknown base
    bool writes_anywhere; // stores, likewise
    bool untraced;        // what it accesses has not been found out: bases are not all there
    bool regular;         // what it accesses does not depend on loaded data
    orr_base *bases;      // what its accesses are based on
    uint32_t nbases;
    // Bases (a bit each) of accesses whose address is made of something loaded, too: if none of them points
    // to memory when the kernel is launched, a loaded pointer does, and nobody knows where.
    uint64_t loaded_with[ORR_MAX_MIXED];
    uint32_t nloaded_with;
} orr_kernel_effects;
// False: there is no room for one more.
static inline bool orr_effects_loaded_with(orr_kernel_effects *e, uint64_t bases) {
    for (uint32_t n = 0; n < e->nloaded_with; n++)
        if (e->loaded_with[n] == bases) return true;
    if (e->nloaded_with == ORR_MAX_MIXED) return false;
    e->loaded_with[e->nloaded_with++] = bases;
    return true;
}

// Machine code that can be executed. All of it is 0 of PTX, and of a kernel that was read from a trace.
typedef struct orr_kernel_code {
    const struct orr_code *insts; // the decoded form of each instruction, beside orr_kernel.insts
    const uint8_t *bank0;         // initial contents of constant bank 0; the parameters go to param_base
    uint32_t bank0_bytes, param_base;
    uint32_t bank_var[ORR_BANKS]; // constant bank n is the module's variable bank_var[n] - 1; 0: none
    const orr_fix *fixes;         // by instruction; see orr_code_placed
    uint32_t nfixes;
} orr_kernel_code;

typedef struct orr_kernel {
    const char *name;
    struct orr_module *module;
    orr_func *funcs; // [0] is the entry
    uint32_t nfuncs;
    orr_block *blocks;
    uint32_t nblocks;
    orr_inst *insts;
    uint32_t ninsts;
    orr_operand *operands;
    uint32_t noperands;
    uint32_t *tables; // brx.idx: target blocks
    uint32_t ntables;
    orr_param *params; // == funcs[0].params
    uint32_t nparams, param_bytes;
    uint32_t shared_bytes; // static; dynamic shared memory starts here, aligned to 16
    uint32_t shared_base;  // machine code: where all that begins; what is before it is the system's
    uint32_t regs;         // per thread: an estimate for PTX, exact for machine code
    uint32_t barriers;     // named barriers used: highest id + 1 (16 when an id is a register)
    orr_kernel_bounds bounds;
    orr_kernel_effects effects;
    bool machine; // instructions are the machine's own: `sass`, `tclass`, `tkind`, `name` are set
    bool control; // and their control bits are known
    orr_kernel_code code;
    bool grows;         // read from a trace: blocks are added while thread blocks are read from its source
    const char **names; // mnemonics of machine instructions
    uint32_t nnames;
    bool recursive;       // the call graph has a cycle or an indirect call
    uint32_t stack_bytes; // of local memory per thread: the deepest chain of calls (recursive: of one round)
    orr_arena arena;      // owns all of the above
} orr_kernel;

// ---- module ---------------------------------------------------------------------------------
// What a file holds: variables, and kernels that are lowered when asked for.
typedef struct orr_reloc { // a variable's initialiser that holds another variable's address
    uint32_t offset;
    uint8_t bytes;
    int32_t var;    // index of the variable, or -1: `value` is the whole thing (function handle)
    bool generic;   // generic(sym): the same here, global addresses are generic
    uint64_t value; // addend
} orr_reloc;

typedef struct orr_var {
    const char *name;
    uint8_t space; // ORR_SPACE_GLOBAL or ORR_SPACE_CONST
    uint32_t align;
    uint64_t bytes;
    uint8_t *init;       // NULL: zero
    uint64_t init_bytes; // the rest is zero
    orr_reloc *relocs;
    uint32_t nrelocs;
    bool external;
} orr_var;

typedef struct orr_symbol { // a name for a part of a variable: machine code keeps all constants in one
    const char *name;
    uint32_t var;
    uint64_t offset, bytes;
} orr_symbol;

typedef struct orr_module {
    const char *path;         // for messages
    const char *source;       // "ptx" or "sass"
    uint32_t version, target; // e.g. 83 for 8.3; 90 for sm_90
    orr_var *vars;
    uint32_t nvars;
    orr_symbol *symbols; // beside the variables' own names
    uint32_t nsymbols;
    const char **kernel_names;
    uint32_t nkernels;
    const char **files; // source files named by .file
    uint32_t nfiles;
    const char *text_name, *text; // one of `files` that is no file, and what is in it; NULL: they all are
    void *front;                  // what the front end keeps
    orr_kernel *(*load)(struct orr_module *m, const char *name, orr_err *e); // owned by the module
    // The name of the kernel whose address in kernels' eyes is this; NULL: none has it.
    const char *(*kernel_at)(const struct orr_module *m, uint64_t address);
    void (*free)(struct orr_module *m);
    orr_arena arena;
} orr_module;

// The kernel that a name means which is not one of the module's own: a C++ name as people write it ("reduce"
// for _Z6reducePfi). NULL: none, or several.
const char *orr_module_kernel_meant(const orr_module *m, const char *name);

// ---- generic addresses ------------------------------------------------------------------------
// Global and const memory as they are; shared and local memory, and the kernel's parameters, through windows
// outside what device memory can be at.
#define ORR_SHARED_WINDOW 0x0000100000000000ull
#define ORR_LOCAL_WINDOW  0x0000200000000000ull
#define ORR_PARAM_WINDOW  0x0000300000000000ull
#define ORR_WINDOW_BYTES  0x0000000100000000ull
// The space that a generic address leads to: SHARED, LOCAL, PARAM or GLOBAL; and what is subtracted from it
// to get an address in that space.
static inline uint8_t orr_generic_space(uint64_t addr) {
    if (addr - ORR_SHARED_WINDOW < ORR_WINDOW_BYTES) return ORR_SPACE_SHARED;
    if (addr - ORR_LOCAL_WINDOW < ORR_WINDOW_BYTES) return ORR_SPACE_LOCAL;
    return addr - ORR_PARAM_WINDOW < ORR_WINDOW_BYTES ? ORR_SPACE_PARAM : ORR_SPACE_GLOBAL;
}
static inline uint64_t orr_generic_window(uint8_t space) {
    return space == ORR_SPACE_SHARED  ? ORR_SHARED_WINDOW
           : space == ORR_SPACE_LOCAL ? ORR_LOCAL_WINDOW
           : space == ORR_SPACE_PARAM ? ORR_PARAM_WINDOW
                                      : 0;
}

// ---- isa/ itself ----------------------------------------------------------------------------
uint8_t orr_inst_unit(const orr_inst *i); // from the table, refined by type
int orr_matrix_bits(uint8_t type);        // of an element of a matrix instruction, 0: not one
// Does a stream carry addresses for it? Memory instructions of every space but PARAM.
bool orr_inst_traced(const orr_inst *i);
// What it has to do with other thread blocks: it looks at what they may write (volatile and ordered loads,
// exchange, compare and swap), it writes what they may look at. 0: nothing.
enum { ORR_ORDER_WAITS = 1, ORR_ORDER_WRITES = 2 };
uint8_t orr_inst_order(const orr_inst *i);
// A copy of 16 bytes to shared memory past L1 (cp.async.cg). A stream says in the low bits of its address,
// which are 0, where in 128 bytes it lands (docs/reference/streams.md).
static inline bool orr_inst_lands(const orr_inst *i) {
    return i->op == ORR_OP_CPASYNC && i->cache == ORR_CACHE_CG && i->width == 16;
}
static inline const orr_operand *orr_dst(const orr_kernel *k, const orr_inst *i, int n) {
    return &k->operands[i->first + n];
}
static inline const orr_operand *orr_src(const orr_kernel *k, const orr_inst *i, int n) {
    return &k->operands[i->first + i->ndst + n];
}

// A block's successors: the block it falls into first, then branch targets.
int orr_succ_count(const orr_kernel *k, const orr_block *b);
uint32_t orr_succ(const orr_kernel *k, const orr_block *b, int n);
// regular.c: `by_data` says of each instruction whether its address, guard or target depends on loaded data.
bool orr_regular(const orr_kernel *k, const uint8_t *by_data);
// Of PTX, what a division's long way is (ptx/longways.h): a function, and how many of a block's instructions
// are not part of one.
bool orr_long_way(const orr_kernel *k, uint32_t func);
uint32_t orr_block_counts(const orr_kernel *k, const orr_block *b);
// The operand that names the lanes an operation waits for (shfl.sync's membermask), or NULL.
const orr_operand *orr_inst_waits_for(const orr_kernel *k, const orr_inst *i);

// Called by a front end when insts, operands, funcs (first_inst, ninsts, nregs, ...) are set and every
// BRA's `target` and every entry of `tables` is the index of an instruction. Cuts the code into basic
// blocks (and turns those targets into block numbers), fills next, ipdom, nmem, units, `regs` (unless
// already set), `atomics`, `recursive`, `barriers`, and renumbers registers so that those never live
// together share one (per class), which keeps a warp's registers in the cache. Code that runs off the
// end of a function gets a RET (EXIT in the entry) by the front end.
bool orr_kernel_finish(orr_kernel *k, orr_err *e);
// Bytes of local memory that a thread has. Machine code's stack grows down from there, PTX's up from 0.
uint32_t orr_kernel_local(const orr_kernel *k);
// A readable listing with blocks, successors, post-dominators.
void orr_kernel_print(const orr_kernel *k, orr_text *out);

#endif
