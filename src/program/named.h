// Barriers whose number is in a register.
#ifndef ORR_PROGRAM_NAMED_H
#define ORR_PROGRAM_NAMED_H

#include "program/program.h"

// Finds out the numbers of a program's barriers that are in registers, of machine code, all of them or none.
// Then orr_tinst.atomic is 1, and the number for a warp (offset + bytes * (warp >> space)) modulo 16. Of the
// others that are under a predicate it is 2, and `reads` has a bit for each warp that comes to it.
void orr_barriers_named(orr_program *p);

static inline bool orr_barrier_known(const orr_tinst *i) { return i->imm == 0xff && i->atomic == 1; }
static inline uint32_t orr_barrier_number(const orr_tinst *i, uint32_t warp) {
    return ((uint32_t)i->offset + (uint32_t)i->bytes * (warp >> i->space)) & 15;
}
static inline bool orr_barrier_passed_by(const orr_tinst *i, uint32_t warp) {
    return i->atomic == 2 && !(i->reads >> (warp & 31) & 1);
}

#endif
