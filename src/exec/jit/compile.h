// Private to exec/jit/: one block being compiled.
#ifndef ORR_JIT_COMPILE_H
#define ORR_JIT_COMPILE_H

#include "exec/jit/assembler.h"
#include "exec/jit/jit.h"
#include "exec/lanewise.h"

enum {
    MOST_LANES = 16, // of a vector register
    POOL = 32,       // registers that hold rows, with AVX-512
    POOL_AVX2 = 12,  // with AVX2; behind them are
    MASK_SPARE = 12, // for a mask within an operation
    MASK_GUARD,      // lanes that the guard lets through
    MASK_LANES,      // active lanes
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
    SPOTS = 8, // that several accesses share; one behind them for the others
    FRAME = ((SPOTS + 1) * sizeof(spot) + 15) / 16 * 16 + 8
}; // of bytes, to a multiple of 16 with what is saved

typedef struct numbers { // that code reads
    uint32_t lane_bit[ORR_WARP];
    uint32_t nan[MOST_LANES], sign[MOST_LANES], wrap32[MOST_LANES], wrap64[MOST_LANES], ones[MOST_LANES];
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
    int lanes, slices;      // of a vector register; so many make a warp
    uint32_t some;          // a bit for each lane of a slice
    int slice;
    held held[POOL];
    int pool;                    // that there are
    uint32_t stamp;              // of the operation
    const uop *u;                // the micro-op at hand
    bool whole;                  // all active lanes pass its guard
    int mask;                    // MASK_* with the lanes it writes; -1: all
    bool masked;                 // some lanes only
    bool failed;                 // it has more operands than registers, which cannot be
    uint32_t guard;              // that MASK_GUARD is for, + 1
    uint32_t written[8];         // predicates that the run writes: offsets in bank P,
    int nwritten;                //   each in a general register
    orr_arena *arena;            // for what code refers to, as long as it is there
    bool spots;                  // may accesses be made at spots? (memory.c)
    uint8_t spot_of[SHAPES + 1]; // where the spot of a shape is, + 1; 0: it has not been found
    uint8_t nspots;
} compiler;

// rows.c: rows and predicates in registers
int jit_in(compiler *c, oper o);   // register with a row
rm jit_in_rm(compiler *c, oper o); // register, or memory where nobody reads it again
int jit_temporary(compiler *c);
void jit_put(compiler *c, oper d, int reg); // the lanes that are written
void jit_slice_begins(compiler *c, int slice);
void jit_slice_ends(compiler *c);
void jit_uop_begins(compiler *c, const uop *u);
void jit_pred_in(compiler *c, int reg, oper p);   // lanes of the slice from bit 0 on; above is anything
void jit_pred_put(compiler *c, oper p);           // from RAX
int jit_pred_register(const compiler *c, oper p); // where it is, -1: in memory
void jit_vector(compiler *c, int op, int reg, int first, rm x);

// masks.c: MASK_* hold lanes of the slice
bool jit_constant_pred(const compiler *c, oper p, bool *value);
void jit_mask_of_pred(compiler *c, oper p, int mask); // may use RAX
void jit_mask_active(compiler *c, int mask);
void jit_mask_and(compiler *c, int mask, int with);
bool jit_mask_compare(compiler *c, int mask, unsigned how, int a,
                      rm b); // COMPARE_*; true: the opposite is found
void jit_mask_compare_f32(compiler *c, int mask, unsigned how, int a, rm b); // HOST_*
void jit_mask_signs(compiler *c, int mask, int x);
void jit_flags(compiler *c, int mask, bool opposite);             // RAX = the lanes, from bit 0 on
void jit_blend(compiler *c, int reg, int old, rm x, int mask);    // reg = mask ? x : old
void jit_blend_odd(compiler *c, int reg, int x);                  // odd lanes of reg = x's
void jit_count_up(compiler *c, int reg, int mask, bool opposite); // one more in these lanes

// memory.c: loads and stores
bool jit_access(compiler *c, const uop *u);    // false: nothing was written; it is to be called
uint8_t *jit_guard(compiler *c, const uop *u); // jit.c
uint8_t *jit_guard_parts(compiler *c);
void jit_call(compiler *c, const uop *u); // jit.c
// The micro-op for those of the active lanes that its guard lets through.
void jit_guarded_call(warp *w, const uop *u); // jit.c
uop_fn *jit_lanes(const uop *u, bool wide);   // lanes.c: of a load or store of words; NULL: it is none

// operations.c
const lanewise_rule *jit_rule(const uop *u); // NULL: it is called
void jit_operation(compiler *c, const uop *u, const lanewise_rule *r);

#endif
