// Private to exec/: machine code made into micro-ops.
//
// A machine instruction becomes one or more micro-ops, once per launch (translate.c). Registers are rows of
// 32 lanes of 32 bits in bank W: R0 and up, then the convergence barriers, then the uniform registers, whose
// rows hold one value 32 times so that they are read like any other, then scratch. Predicates are masks in
// bank P, uniform ones 0 or ~0. Immediates and constants (c[0x0][0x210]) are known when a launch begins: they
// become broadcast rows.
//
// What FFMA computes is what PTX's fma.rn.f32 computes: most micro-ops are PTX's, picked with m_ptx. What has
// no like there has a handler of its own, made with ops/pair.h or ops/softfp.h and given to m_emit. Values of
// 64 bits are pairs of rows in machine code and single rows of bank D in PTX's handlers: m_wide packs,
// m_unpack takes apart.
//
// Families (sass_*.c) translate: each is asked in turn, switches on m->c->op, emits, and returns true; false
// with m->why set: a form it cannot do; false without: not its own.
//
//   static bool ffma(translator *m) {
//       oper a = m_val(m, 1, AS_F32), b = m_val(m, 2, AS_F32), c = m_val(m, 3, AS_F32);
//       return m_ptx(m, (orr_inst){.op = ORR_OP_FMA, .type = ORR_T_F32, .round = ORR_RND_RN}, 1, 3,
//                    OPERS(m_dst(m, 0, 0), a, b, c));
//   }
//
// How a micro-op is run follows from what it writes:
//   a register or predicate of a lane, or nothing   under the instruction's guard, for the active lanes
//   a uniform register or predicate                 under the guard, for all 32 lanes, whichever are active
//   scratch (m_tmp)                                 without guard, for all 32 lanes; so it must be pure
//   arithmetic
// m_active() after an emit makes the last micro-op run under the guard for the active lanes although it
// writes scratch: loads, votes and the like, which must not run for lanes that are not there.
//
// Two rules. Only the last micro-op of an instruction that has several may write the predicate that guards it
// (do all destinations in one handler, or the predicates last). And destinations are written after all
// sources are read, because both may be the same register: results of a first micro-op that sources of a
// second could overlap go to scratch.
#ifndef ORR_TRANSLATE_H
#define ORR_TRANSLATE_H

#include "exec/block.h"
#include "sass/sass.h"

enum { // rows of bank W after the kernel's own registers
    ROWS_UR = 64,
    ROWS_B = 16,
    ROWS_TMP = 40,
};
enum { // masks of bank P
    MASK_P = 0,
    MASK_UP = 8,
    MASK_TMP = 16,
    MASK_RESULT = 30, // what BAR.RED found
    MASK_SINK = 31,
    MASKS = 32
};
enum { ROWS_D = 24, ROWS_H = 8, ROWS_Q = 2 }; // scratch of the other classes; Q's second is the sink

typedef struct translator {
    decoded *p;
    const orr_code *c;         // the instruction
    const orr_inst *inst;      // what it is in the kernel
    const char *why;           // set by a family that cannot do this form
    uint32_t tmp[ORR_CLASSES]; // scratch rows in use
    struct build *build;       // translate.c's own
} translator;

#define OPERS(...) ((const oper[]){__VA_ARGS__})

// ---- operands: argument n of the instruction, as sass.h numbers them -------------------------
// A row of bank W (or a constant) with 32-bit word `word` of the argument: R2 is {R2, R3} to who reads two
// words. RZ and URZ read as zero, whatever the word. A CONST with a register in it is not one: see m_bank.
// Signs and the like are not applied.
oper m_src(translator *m, int n, int word);
oper m_dst(translator *m, int n, int word); // R, UR; RZ: the sink
oper m_psrc(translator *m, int n);          // a predicate, with its negation; an absent argument is true
oper m_pdst(translator *m, int n);          // PT or absent: none is set, and it is the sink
// With -x, |x|, ~x applied, and the half selection of packed halves (.H0_H0): a scratch row when there is
// anything to apply.
enum m_how { AS_BITS, AS_INT, AS_F32, AS_F16X2, AS_BF16X2 };
oper m_val(translator *m, int n, enum m_how how);
// The 64 bits of argument n in a row of bank D: a pair of registers, a constant, an immediate (INT: extended;
// F64: the bits). With -x, |x|, ~x applied to all of it.
enum m_how64 { AS_BITS64, AS_INT64, AS_F64 };
oper m_wide(translator *m, int n, enum m_how64 how);

oper m_row(translator *m, unsigned reg);            // R `reg` itself; 255: zero
oper m_uniform(translator *m, unsigned reg);        // UR `reg` itself; 255: zero
oper m_imm(translator *m, int cls, uint64_t value); // a broadcast constant (P: 0 or 1)
oper m_barrier(translator *m, unsigned b); // the row of convergence barrier b: for each lane, who takes part
oper m_result(translator *m);              // the row that BAR.RED.POPC fills
oper m_rpc(translator *m, bool high);      // half of the return address register Rpc, which RPCMOV moves
oper m_tmp(translator *m, int cls);        // scratch
bool m_is(const translator *m, int n, enum orr_arg_kind kind); // argument n exists and is of this kind
bool m_zero(const translator *m, int n);                       // is RZ, URZ or the number 0
unsigned m_mod(const translator *m, enum orr_smod kind);       // orr_code_mod
// A 32-bit word of a constant bank, now. False (and m->why) when the kernel has no such.
bool m_bank(translator *m, unsigned bank, uint32_t offset, uint32_t *value);
// The bank's bytes as they are during this launch, for indexed loads. NULL: none.
const uint8_t *m_bank_bytes(translator *m, unsigned bank, uint32_t *bytes);
uint64_t m_bank_address(translator *m, unsigned bank); // its device address, 0: bank 0, which has none

// ---- micro-ops ------------------------------------------------------------------------------
// Appends one; opers are destinations, then sources. The handlers' u->inst is the kernel's instruction.
uop *m_emit(translator *m, handlers h, int ndst, int nsrc, const oper *opers);
// Appends a micro-op that is not the instruction's own work: what makes the address of a load touches no
// memory.
uop *m_aside(translator *m, handlers h, int ndst, int nsrc, const oper *opers);
// Appends the micro-op that PTX would run for `like` (op, type, mods, ...) on these operands; its u->inst is
// `like` with the instruction's place in the source. False with m->why when PTX has no such.
bool m_ptx(translator *m, orr_inst like, int ndst, int nsrc, const oper *opers);
// The last one, a load or store, has its addresses in a pair of rows instead.
void m_high_words(translator *m, oper lo, oper hi);
void m_active(translator *m);                           // the last one honours guard and lanes, see above
void m_pack(translator *m, oper d, oper lo, oper hi);   // D = hi:lo
void m_unpack(translator *m, oper lo, oper hi, oper d); // and back: writes lo and hi
// A uniform register or predicate = the value the lowest active lane has in `src` (W or P).
void m_spread(translator *m, oper dst, oper src);

// ---- families -------------------------------------------------------------------------------
bool orr_sass_int(translator *m);     // int.c: integers, logic, moves, predicates, selections
bool orr_sass_float(translator *m);   // float.c: fp32, fp16, fp64, conversions, MUFU
bool orr_sass_memory(translator *m);  // memory.c: loads, stores, atomics, constants, LDSM, LDGSTS, fences
bool orr_sass_texture(translator *m); // texture.c: textures and surfaces (asked by memory.c)
bool orr_sass_lanes(translator *m);   // lanes.c: SHFL, VOTE, MATCH, REDUX, R2UR, S2R, CS2R, matrices
bool orr_sass_hopper(translator *m);  // hopper.c: groups of warps, bulk copies, clusters
bool orr_sass_control(translator *m); // converge.c: branches, convergence, barriers, calls, exit

// ---- surroundings (system.c) -------------------------------------------------------------
// The system's shared memory is added to the block's where the code asks where it is.
void orr_sass_sizes(decoded *p);
// Fills in what the driver puts into constant bank 0 (`bytes` of it) for architecture `sm`.
void orr_sass_bank0(uint8_t *bank, uint32_t bytes, unsigned sm, const orr_launch *l, uint32_t local_bytes);
// Lanes call a function of the device runtime (ORR_SYS_*) at instruction u: arguments are in R4 and up, the
// result goes to R4. They go on at R20 (which is for the caller to do). False after a fault.
bool orr_sass_syscall(warp *w, const uop *u, uint32_t lanes, unsigned which);
// texture.c: tex.grad of shapes that machine code has not, as functions of the driver.
bool orr_sass_is_slopes(const char *name);
bool orr_sass_slopes(warp *w, const uop *u, uint32_t lanes, const char *name);

// ---- running --------------------------------------------------------------------------------
bool orr_sass_translate(decoded *p, orr_err *e);       // orr_decode for machine code: uops, blocks, constants
bool orr_sass_decides(const uop *u);                   // is it one that says where to go on?
void orr_sass_ends(xblock *x);                         // what is known of its last micro-op
void orr_sass_last(warp *w, frag *f, const xblock *x); // the last micro-op of a block: afterwards f may be
                                                       // gone, waiting or elsewhere

#endif
