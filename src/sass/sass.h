// Machine code: the 128-bit instructions of sm_70 and later, and the files they come in.
//
// Two things are here. A decoder: 16 bytes to an orr_code, from one table (encoding.def); a printer turns
// that into the text nvdisasm prints, an executor switches on the same values. And a reader of cubins, of
// fatbins and of the programs and libraries that carry them.
//
// Methods and sources are described in docs/how/sass.md.
#ifndef ORR_SASS_H
#define ORR_SASS_H

#include "isa/isa.h"

// ---- modifiers --------------------------------------------------------------------------------
// A modifier is a kind and a value: .FTZ is kind FTZ with value 1, .RZ is kind RND with ORR_SV_RND_RZ.
// Several kinds may share one list of values: an IMMA has the kinds ATYPE and BTYPE, both with values of list
// ITYPE.
enum orr_slist {
#define LIST(list) ORR_SL_##list,
#define WORD(list, value, id, text)
#define KIND(kind, list)
#define FLAG(kind, text)
#include "sass/modifiers.def"
#undef LIST
#undef WORD
#undef KIND
#undef FLAG
    ORR_SL_COUNT
};
enum orr_smod {
    ORR_SM_NONE,
#define LIST(list)
#define WORD(list, value, id, text)
#define KIND(kind, list) ORR_SM_##kind,
#define FLAG(kind, text) ORR_SM_##kind,
#include "sass/modifiers.def"
#undef LIST
#undef WORD
#undef KIND
#undef FLAG
    ORR_SM_COUNT
};
enum { // ORR_SV_list_word: the values
#define LIST(list)
#define WORD(list, value, id, text) ORR_SV_##list##_##id = (value),
#define KIND(kind, list)
#define FLAG(kind, text)
#include "sass/modifiers.def"
#undef LIST
#undef WORD
#undef KIND
#undef FLAG
};
typedef struct orr_mod {
    uint8_t kind;   // enum orr_smod
    uint8_t hidden; // the assembler's text does not show it
    uint16_t value;
} orr_mod;

// ---- operands ---------------------------------------------------------------------------------
#define ORR_RZ 255 // `reg`, `ureg`: the register that reads as zero, of both files, on every architecture
#define ORR_PT 7   // the predicate that is always true, of both files

enum orr_arg_kind {
    ORR_ARG_NONE,
    ORR_ARG_R,      // reg; bank: of a source, which of A, B, C it is, from 1: its place in the operand cache
    ORR_ARG_UR,     // reg: a uniform register
    ORR_ARG_P,      // reg: a predicate
    ORR_ARG_UP,     // reg: a uniform predicate
    ORR_ARG_B,      // reg: a convergence barrier, B0 to B15; above: see list BREG in modifiers.def
    ORR_ARG_SB,     // reg: a scoreboard
    ORR_ARG_INT,    // value
    ORR_ARG_F32,    // value: the bits; shape 1: those of a double's upper half (MUFU.RCP64H)
    ORR_ARG_F64,    // value: the bits, of which the instruction holds the upper 32
    ORR_ARG_F16X2,  // value: two halves, printed upper first; shape 1: one, the lower
    ORR_ARG_BF16X2, // the same of the other format
    ORR_ARG_CONST,  // a constant: bank, value = offset; HAS_R: reg is added; HAS_UR: ureg is added;
                    //   BINDLESS: instead of a bank, ureg (or, with an index, bank) holds the handle
    ORR_ARG_MEM,    // an address: reg (HAS_R; WIDE: 64 bits), ureg (HAS_UR), value = offset; DESC: the memory
                    //   descriptor is in uniform registers `bank`, bank + 1
    ORR_ARG_SREG,   // value: number of a special register, list SREG
    ORR_ARG_TARGET, // value: address of an instruction in the section; HAS_R, HAS_UR: relative to that
                    // register
    ORR_ARG_WORD,   // sub, subval: a modifier that is written as an operand
    ORR_ARG_MASK,   // value: bits, printed as {5,0}
    ORR_ARG_GDESC,  // reg: matrix descriptors in uniform registers; modifiers are in `value`, as printed
    ORR_ARG_TMEM,   // an address in tensor memory: uniform register reg, value = offset
    ORR_ARG_IDESC,  // reg: an instruction descriptor in a uniform register
    ORR_ARG_NAME,   // value: which of the fixed names PR, UPR, Rpc, ... list FIXED
};

enum {                         // flags of an operand
    ORR_ARG_DST = 1 << 0,      // written
    ORR_ARG_NEG = 1 << 1,      // -x
    ORR_ARG_ABS = 1 << 2,      // |x|
    ORR_ARG_INV = 1 << 3,      // ~x, or !p
    ORR_ARG_REUSE = 1 << 4,    // the register stays in the operand cache
    ORR_ARG_HIDDEN = 1 << 5,   // has its default value and is not printed
    ORR_ARG_UNSIGNED = 1 << 6, // INT: 64 bits without sign
};
enum {                          // shape of CONST, MEM and TARGET
    ORR_ARG_HAS_R = 1 << 0,     // a register is part of it
    ORR_ARG_HAS_UR = 1 << 1,    // a uniform register is
    ORR_ARG_HAS_DESC = 1 << 2,  // MEM: a descriptor is
    ORR_ARG_WIDE = 1 << 3,      // MEM: the register is a pair
    ORR_ARG_U32 = 1 << 4,       // MEM: the register is zero-extended and said to be
    ORR_ARG_BINDLESS = 1 << 5,  // CONST
    ORR_ARG_SHOW_DESC = 1 << 6, // MEM: and the text says so
};
typedef struct orr_arg {
    uint8_t kind;  // enum orr_arg_kind
    uint8_t flags; // ORR_ARG_DST ...
    uint8_t reg;   // see the kinds
    uint8_t ureg;
    uint8_t bank;
    uint8_t shape;  // ORR_ARG_HAS_R ...
    uint8_t sub;    // a modifier of this operand alone (.H0_H0, .ROW, .X4): its kind (enum orr_smod), or 0,
    uint8_t subval; //   and value
    int64_t value;
} orr_arg;

// ---- instructions -----------------------------------------------------------------------------
#define ORR_CODE_ARGS 12
#define ORR_CODE_MODS 14
typedef struct orr_code {
    uint16_t op;        // enum orr_sass: what is before the first point
    uint8_t guard;      // predicate it is executed under, ORR_PT always
    bool guard_neg;     // where it is false
    bool guard_uniform; // a uniform predicate
    uint8_t nargs, nmods;
    uint8_t form;                // bits 9 to 11, the forms of the operands
    uint8_t sm;                  // the architecture
    orr_mod mods[ORR_CODE_MODS]; // in the order of the text
    orr_arg args[ORR_CODE_ARGS]; // in the order of the text, those that it does not show too: where an
                                 // operand is depends on the opcode, not on its value
    uint32_t ctrl;               // stall count and so on: ORR_CTRL_*
    uint32_t address;            // in its section
    uint64_t lo, hi;             // the bits
} orr_code;

// Decodes 16 bytes of architecture `sm` (70, 75, ... 120). False when the table has no such instruction; then
// op is ORR_SASS_NONE and only ctrl, address, lo, hi are set.
bool orr_sass_decode(orr_code *c, unsigned sm, const void *bytes, uint32_t address);
bool orr_sass_supported(unsigned sm);

// The text nvdisasm prints, without the closing semicolon; of what cannot be decoded its bytes, as .inst.
void orr_sass_print(orr_text *out, const orr_code *c);
void orr_sass_print_name(orr_text *out, const orr_code *c); // the mnemonic with its modifiers: "LDG.E.128"
// The control word: "B0-2---:R-:W1:Y:S05": barriers waited for, the one that is set when sources are read,
// when results are written, yield, stall cycles.
void orr_sass_print_ctrl(orr_text *out, uint32_t ctrl);

// The value of a modifier, 0 when the instruction has no such.
unsigned orr_code_mod(const orr_code *c, enum orr_smod kind);
const char *orr_smod_text(enum orr_smod kind,
                          unsigned value); // "" when it shows nothing, NULL: no such value

// What is implied by opcode and modifiers (span.c).
// How many registers argument `arg` is, from its `reg` on: a value of 64 bits two, a matrix's fragment up to
// four and more. 1 where a register holds it, 0 where none does. An address or index: of its vector register.
int orr_code_span(const orr_code *c, int arg);
int orr_code_uspan(const orr_code *c, int arg); // of the uniform register `ureg` that is part of it
// Control may go on elsewhere after it, or lanes wait there: basic blocks end with it.
bool orr_code_ends_block(const orr_code *c);
bool orr_code_falls_through(const orr_code *c); // may go on with the next instruction
int orr_code_bytes(const orr_code *c);          // of memory, per lane; 0: it touches none

#endif
