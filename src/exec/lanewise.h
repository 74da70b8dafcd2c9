// Private to exec/: which handlers compute each lane by itself, and what. The compiler of blocks (jit/) makes
// host code of these; all others it calls.
//
// Beside its handlers a family has a table of those that have such a rule. Rows are of class W, predicates
// are masks; a handler without a rule is right, but slower.
#ifndef ORR_LANEWISE_H
#define ORR_LANEWISE_H

#include "exec/warp.h"

enum lanewise {       // d, a, b, c: the operands; k: the micro-op's imm; arg: the rule's
    LANE_CALL,        // has no rule
    LANE_COPY,        // every destination = the source with its number
    LANE_KNOWN,       // the same; a stream has the address of it
    LANE_TID,         // thread index, of the dimension k
    LANE_SUM,         // bit 0, 1, 2 of arg: a, b, c are subtracted; bits 4, 5: how many there are
    LANE_LOGIC,       // arg: table of three inputs, 4 a + 2 b + c
    LANE_LOGIC_K,     // the same; k is the table
    LANE_MUL,         // a * b
    LANE_MAD,         // a * b + c; arg: - c
    LANE_SHIFT_ADD,   // (a << k) + b, arg 1: (a << k) - b, arg 2: b - (a << k)
    LANE_SHL,         // a << k
    LANE_SHR,         // a >> k, arg: signed
    LANE_SHR_ADD,     // (a >> k) + b, arg: signed
    LANE_SHL_BY,      // a << (b & k), 0 from 32 on
    LANE_SHR_BY,      // a >> (b & k), 0 or the sign from 32 on; arg: signed
    LANE_FUNNEL,      // a >> (k & 255) | b << (k >> 8)
    LANE_LEA_HI,      // (c << (k & 31) | a >> (k >> 8)) + b
    LANE_SELECT,      // predicate c ? a : b
    LANE_LEAST,       // arg: bit 0 signed, bit 1 the greatest
    LANE_WIDE_SHIFT,  // d, d1 = a << k as 64 bits + c:b; arg: signed
    LANE_WIDE_EXTEND, // d, d1 = a signed as 64 bits + c:b
    LANE_WIDE_MUL,    // d, d1 = a * b; arg: bit 0 signed, bit 1 + source 3:c, bit 2 only the high word, to d
    LANE_CARRY_OUT,   // d = a + b, d1 whether it passes 2^32; arg: a - b, a >= b
    LANE_CARRY_IN,    // d = a + b + predicate c; arg: b inverted
    LANE_CARRY_BOTH,  // d, d1
    LANE_COMPARE,     // d = a ? b; arg: COMPARE_* and 8: signed
    LANE_COMPARE_F32, // d, d1 as setp does; arg: the host's comparison (x86: VCMPPS)
    LANE_TEST,        // d = (a & b) != 0
    LANE_PRED,        // d = a
    LANE_PRED_AND,
    LANE_PRED_OR,
    LANE_FADD, // arg: bit 0 minus b
    LANE_FMUL, // arg: bit 0 negated
    LANE_FFMA, // arg: bit 0 the product negated, bit 1 minus c
    LANE_LOAD, // of words, arg of them: not lane by lane, but where all lie side by side or at one place
    LANE_STORE,
};
enum { COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE, COMPARE_SIGNED = 8 };

// Comparisons of floats by their names in ORR_CMP_*, as the number that VCMPPS has for them.
enum {
    HOST_EQ = 0x00,
    HOST_NE = 0x0c,
    HOST_LT = 0x11,
    HOST_LE = 0x12,
    HOST_GT = 0x1e,
    HOST_GE = 0x1d,
    HOST_EQU = 0x08,
    HOST_NEU = 0x04,
    HOST_LTU = 0x19,
    HOST_LEU = 0x1a,
    HOST_GTU = 0x16,
    HOST_GEU = 0x15,
    HOST_NUM = 0x07,
    HOST_NAN = 0x03,
};

typedef struct lanewise_rule {
    uop_fn *full; // the handler
    uint8_t lane; // enum lanewise
    uint8_t arg;
} lanewise_rule;
typedef struct lanewise_rules {
    const lanewise_rule *at;
    size_t n;
} lanewise_rules;
#define LANEWISE(name, ...)                                                                                  \
    lanewise_rules name(void) {                                                                              \
        static const lanewise_rule rules[] = {__VA_ARGS__};                                                  \
        return (lanewise_rules){rules, sizeof rules / sizeof *rules};                                        \
    }
lanewise_rules orr_lanes_int(void);         // ops/int.c
lanewise_rules orr_lanes_compare(void);     // ops/compare.c
lanewise_rules orr_lanes_float(void);       // ops/float.c
lanewise_rules orr_lanes_memory(void);      // ops/ldst.c
lanewise_rules orr_lanes_mov(void);         // ops/mov.c
lanewise_rules orr_lanes_system(void);      // ops/system.c
lanewise_rules orr_lanes_sass_int(void);    // sass/int.c
lanewise_rules orr_lanes_sass_logic(void);  // sass/logic.c
lanewise_rules orr_lanes_sass_float(void);  // sass/float.c
lanewise_rules orr_lanes_sass_memory(void); // sass/memory.c

#endif
