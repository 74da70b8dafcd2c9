// Reductions of global memory whose order does not matter: integer sums, minima, maxima and logic operations
// whose results nobody has. Any number of one kind come to the same, whoever is first.
#ifndef ORR_REDUCTION_H
#define ORR_REDUCTION_H

#include "isa/isa.h"

// A number for the kind of reduction, 0: the order matters. Two of one number may change places.
static inline int orr_reduction_kind(uint8_t op, uint8_t type) {
    const orr_type_info *t = &orr_types[type < ORR_T_COUNT ? type : 0];
    if (t->is_float || (t->bytes != 4 && t->bytes != 8)) return 0;
    bool sign = t->is_signed && (op == ORR_ATOM_MIN || op == ORR_ATOM_MAX);
    switch (op) {
    case ORR_ATOM_ADD:
    case ORR_ATOM_MIN:
    case ORR_ATOM_MAX:
    case ORR_ATOM_AND:
    case ORR_ATOM_OR:
    case ORR_ATOM_XOR: return 1 + op * 4 + (t->bytes == 8) * 2 + sign;
    default: return 0;
    }
}

// Of a PTX instruction.
static inline int orr_reduction(const orr_inst *i) {
    return i->op == ORR_OP_RED && i->vec <= 1 ? orr_reduction_kind(i->sub, i->type) : 0;
}

// Whether all that a kernel does to global memory where others see it are reductions of one kind; `kind` is
// each instruction's (NULL: orr_reduction).
static inline bool orr_only_reduces(const orr_kernel *k, int (*kind)(const orr_kernel *k, uint32_t inst)) {
    int one = 0;
    for (uint32_t n = 0; n < k->ninsts; n++) {
        const orr_inst *i = &k->insts[n];
        uint16_t flags = orr_ops[i->op].flags;
        bool global = i->space == ORR_SPACE_GLOBAL || i->space == ORR_SPACE_GENERIC;
        bool seen = (flags & ORR_F_ATOMIC) || (i->mods & ORR_M_VOLATILE);
        if (i->op == ORR_OP_SYSCALL) return false;
        if (!(flags & ORR_F_MEMORY) || !seen || !global) continue;
        int is = kind ? kind(k, n) : orr_reduction(i);
        if (!is || (one && is != one)) return false;
        one = is;
    }
    return one != 0;
}

#endif
