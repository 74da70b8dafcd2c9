// The long way of rounded quotients and roots, for those who time PTX.
//
// ptxas writes a short way for div.rn, rcp.rn, sqrt.rn and rsqrt in the instructions' place, and behind a
// test the call of a function for what that cannot do: zeros, denormals, exponents near the ends, infinities.
// Which lanes go there is data, so it is decided where the PTX is executed: the text gets the test, the
// branch and the call, and such functions written in PTX (longways.c).
#ifndef ORR_PTX_LONGWAYS_H
#define ORR_PTX_LONGWAYS_H

#include "base/base.h"

// The text with them, lines where they were. False: there is nothing to do, and `out` stays as it is.
bool ptx_long_ways(const char *text, size_t n, orr_text *out);

#endif
