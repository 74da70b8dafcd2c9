// Private to exec/jit/: one block being compiled.
#ifndef ORR_JIT_COMPILE_H
#define ORR_JIT_COMPILE_H

#include "exec/jit/assembler.h"
#include "exec/jit/jit.h"
#include "exec/lanewise.h"

enum {
    SLICE = 8, // lanes of a vector register
    SLICES = ORR_WARP / SLICE,
    POOL = 12,      // registers that hold rows; behind them:
    YMM_SPARE = 12, // for a mask within an operation
    YMM_GUARD,      // lanes that the guard lets through
    YMM_FREE,       // for whatever an operation likes
    YMM_LANES,      // active lanes
};
enum {              // general registers
    REG_WARP = RBX, // the warp, its banks
    REG_CONST = R12,
    REG_W = R13,
    REG_P = R14,
    REG_NUMBERS = RBP, // struct numbers
    REG_SAVED = R15,   // what a comparison found
    REG_WITH = R11,    // what that is combined with
    REG_ACTIVE = RCX,  // lanes of the slice that the micro-op is for
};

// What code has on its stack: spots, those of warp.shapes and one for the others.
#define SPOT(n, field) rm_mem(RSP, (int32_t)((n) * sizeof(spot) + offsetof(spot, field)))
enum {
    FRAME = ((SHAPES + 1) * sizeof(spot) + 15) / 16 * 16 + 8
}; // of bytes, to a multiple of 16 with what is saved

typedef struct numbers { // that code reads
    uint32_t lane_bit[ORR_WARP];
    uint32_t nan[SLICE], sign[SLICE], wrap32[SLICE], wrap64[SLICE], ones[SLICE];
} numbers;
#define NUMBER(name) rm_mem(REG_NUMBERS, (int32_t)offsetof(numbers, name))

typedef struct held { // what a vector register of the pool holds
    uint32_t row;     // ROW_*, or a row's key
    uint32_t used;    // the operation that used it last
    bool dirty;       // memory does not have it yet
} held;
enum { ROW_NONE, ROW_TEMPORARY, ROW_FIRST };

typedef struct compiler {
    assembler as;
    const decoded *p;
    const xblock *x;
    int kind;               // JIT_*
    const uop *first, *end; // the run of micro-ops that compute lanes by themselves
    int slice;
    held held[POOL];
    uint32_t stamp;      // of the operation
    const uop *u;        // the micro-op at hand
    bool whole;          // all active lanes pass its guard
    int mask;            // register with the lanes it writes; -1: all
    bool masked;         // some lanes only
    bool failed;         // it has more operands than registers, which cannot be
    uint32_t guard;      // that YMM_GUARD is for, + 1
    uint32_t written[8]; // predicates that the run writes: offsets in bank P,
    int nwritten;        //   each in a general register
    orr_arena *arena;    // for what code refers to, as long as it is there
    bool spots;          // may accesses be made at spots? (memory.c)
    bool found[SHAPES];  // spots that code before has found
} compiler;

// rows.c: rows and predicates in registers
int jit_in(compiler *c, oper o);   // register with a row
rm jit_in_rm(compiler *c, oper o); // register, or memory where nobody reads it again
int jit_temporary(compiler *c);
void jit_put(compiler *c, oper d, int reg); // the lanes that are written
void jit_slice_begins(compiler *c, int slice);
void jit_slice_ends(compiler *c);
void jit_uop_begins(compiler *c, const uop *u);
int jit_expand(compiler *c, oper p, int reg);   // lanes of a predicate as a mask in `reg`
void jit_pred_in(compiler *c, int reg, oper p); // lanes of the slice in bits 0 to 7; above is anything
void jit_pred_put(compiler *c, oper p);         // from RAX
void jit_vector(compiler *c, int op, int reg, int first, rm x);

// memory.c: loads and stores
bool jit_access(compiler *c, const uop *u);    // false: nothing was written; it is to be called
uint8_t *jit_guard(compiler *c, const uop *u); // jit.c
uint8_t *jit_guard_parts(compiler *c);
void jit_call(compiler *c, const uop *u); // jit.c

// operations.c
const lanewise_rule *jit_rule(const uop *u); // NULL: it is called
void jit_operation(compiler *c, const uop *u, const lanewise_rule *r);

#endif
