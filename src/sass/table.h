// What a row of encoding.def says, for the decoder.
#ifndef ORR_SASS_TABLE_H
#define ORR_SASS_TABLE_H

#include "sass/sass.h"

// A condition on the bits: `bit` for `width` bits compared with `value`.
enum { WHEN_NONE, WHEN_EQ, WHEN_NE, WHEN_POW2, WHEN_PLAIN_C };
typedef struct sass_when {
    uint8_t test, bit, width;
    uint32_t value;
} sass_when;

// A modifier: `width` bits at `bit`, above them `width2` bits at `bit2`; or, with width 0, always `value`.
// The value `hide` is not shown.
typedef struct sass_mod {
    uint8_t kind, bit, width, bit2, width2;
    uint8_t value;
    uint16_t hide; // value + 1, 0: shown whenever it has a text
} sass_mod;

// An operand. What the fields mean depends on the kind; see decode.c.
typedef struct sass_slot {
    uint8_t kind, bit, width;
    uint8_t neg, abs; // bits that say so, 0 none
    uint8_t sub, subbit, subwidth;
    uint8_t flags; // SLOT_*
    uint8_t style; // of an immediate: IMM_*
    uint8_t shift; // of an immediate, to the left
} sass_slot;
enum { // kinds of operands in the table
    SLOT_NONE,
    SLOT_R,
    SLOT_UR,
    SLOT_P,
    SLOT_UP,
    SLOT_PU,  // a predicate of either file: bit 67 says which
    SLOT_BAR, // 4 or 6 bits
    SLOT_SB,
    SLOT_V,  // what is at bit 32: by form a register, an immediate, a constant or a uniform register
    SLOT_B,  // the second source: at bit 32, or in forms 2, 3, 7 the register at bit 64
    SLOT_C,  // the third source: the other one
    SLOT_HA, // the same of two halves
    SLOT_HV,
    SLOT_HB,
    SLOT_HC,
    SLOT_INT,
    SLOT_INT2, // in two pieces: 3 bits at `bit`, the others at `subbit`
    SLOT_LDC,  // c[bank][R + offset]
    SLOT_LDCX, // cx[UR][R + offset]
    SLOT_ULDC,
    SLOT_ULDCI,
    SLOT_LDCU,
    SLOT_TMEM,
    SLOT_IDESC,
    SLOT_UOPT,     // a uniform register that does not show when it is URZ
    SLOT_LONG,     // 64 bits at bit 24
    SLOT_MEM,      // [R + offset]
    SLOT_MEMU32,   // [R + UR + offset], the uniform register at bit 32 if bit 91 says so
    SLOT_MEMU64,   // at bit 64
    SLOT_GLOBAL,   // of global memory: .bit uniform register, .neg descriptor, .abs width of R, .subbit
                   // presence
    SLOT_UMEM,     // [UR + offset]
    SLOT_BRACKET,  // [R]
    SLOT_UBRACKET, // [UR]
    SLOT_UDESC,    // desc[UR]
    SLOT_ASYNC_DST,
    SLOT_ASYNC_SRC,
    SLOT_SREG,
    SLOT_REL,   // an address relative to the next instruction
    SLOT_REL24, // LEPC
    SLOT_REL32, // BSSY
    SLOT_ABS,
    SLOT_RREL, // a register and such an address
    SLOT_ROFF, // a register and an offset
    SLOT_RABS,
    SLOT_WORD,
    SLOT_MASK,
    SLOT_FIXED,
    SLOT_GDESC,
    SLOT_SWZADD,
};
enum { // flags of operands in the table
    SLOT_DST = 1 << 0,
    SLOT_OPT = 1 << 1,  // not shown when it has its default value
    SLOT_HIDE = 1 << 2, // never shown
    SLOT_INV = 1 << 3,  // the bit `neg` is shown as ~
    SLOT_TRUE = 1 << 4, // the default is all ones
    SLOT_REV = 1 << 5,  // a predicate that is encoded as 7 - n
};
enum { IMM_U, IMM_S, IMM_F32, IMM_F64, IMM_F16, IMM_DEC };

enum {               // flags of rows
    ROW_U = 1 << 0,  // an instruction of the uniform data path: R and P of the slots are UR and UP
    ROW_UP = 1 << 1, // its guard is a uniform predicate
};

#define SASS_WHENS 5
typedef struct sass_row {
    uint16_t op;      // enum orr_sass
    uint16_t code;    // bits 0 to 8
    uint8_t forms;    // a bit for each value of bits 9 to 11
    uint8_t from, to; // architectures
    uint8_t flags;
    sass_when when[SASS_WHENS];
    sass_mod mods[ORR_CODE_MODS];
    sass_slot slots[ORR_CODE_ARGS];
} sass_row;

extern const sass_row sass_rows[];
extern const unsigned sass_nrows;

#endif
