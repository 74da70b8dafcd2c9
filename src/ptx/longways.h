// The long way of rounded quotients and roots.
//
// ptxas writes a short way for div.rn, rcp.rn, sqrt.rn and rsqrt in the instructions' place, and behind a
// test the call of a function for what that cannot do: zeros, denormals, exponents near the ends, infinities.
// Which lanes go there is data, so it is decided where the PTX is executed: kernels get the test, the branch
// and the call, and such functions written in PTX (longways.c). All of it is marked (ORR_M_ASIDE): whoever
// counts what PTX does leaves it out.
#ifndef ORR_PTX_LONGWAYS_H
#define ORR_PTX_LONGWAYS_H

#include "ptx/lower.h"

// The function of a way in PTX, and its name; NULL: the module has nothing that takes it.
const char *ptx_long_text(const ptx_front *f, uint32_t way, const char **name);
// What a statement calls, and which way that is; NULL: it has none.
ptx_func *ptx_long_way(const ptx_front *f, const ptx_stmt *s, uint32_t *way);
// Behind the statement's instruction: the test, the branch to statement `next`, the call.
void ptx_l_long_way(lowering *l, const ptx_func *fn, uint32_t way, uint32_t next);

#endif
