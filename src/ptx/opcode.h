// Private to ptx/: an opcode taken apart, and the table of instructions that says how.
#ifndef ORR_PTX_OPCODE_H
#define ORR_PTX_OPCODE_H

#include "ptx/ast.h"

struct lowering;
typedef void ptx_lower_fn(struct lowering *l);

typedef struct ptx_row { // insts.def
    const char *name;
    uint16_t op; // ORR_OP_COUNT: not supported, `allowed` says why
    uint8_t sub;
    uint32_t mods;
    const char *allowed; // modifiers
    const char *form;    // operands
    ptx_lower_fn *lower; // NULL: by `form` alone
} ptx_row;

enum { MAX_TYPES = 6 };

struct ptx_opcode {
    const char *text;
    const ptx_row *row;  // NULL: not taken apart yet
    const char *problem; // why it cannot be lowered
    uint8_t types[MAX_TYPES], ntypes;
    uint8_t spaces[2], nspaces;
    uint8_t layouts[2], nlayouts; // 1 = column major
    uint8_t vec, round, cmp, boolop, sub, cache;
    bool param_entry, param_func; // .param::entry, .param::func
    bool has_cache, hint;         // hint: the last operand is a cache policy
    uint32_t mods, shape;
};

void ptx_opcode_decode(orr_module *m, ptx_opcode *op);
bool ptx_has(const ptx_opcode *op, const char *modifier);

#endif
