// Private to exec/: the multifunction unit (mufu.c).
#ifndef ORR_MUFU_H
#define ORR_MUFU_H

#include <stdint.h>

enum { // functions, as machine code numbers them
    MUFU_COS,
    MUFU_SIN, // of a number of turns
    MUFU_EX2,
    MUFU_LG2,
    MUFU_RCP,
    MUFU_RSQ,
    MUFU_RCP64H, // of the upper word of a double
    MUFU_RSQ64H,
    MUFU_SQRT,
    MUFU_TANH,
    MUFU_F16 = 16,  // added to EX2 and TANH: of the f16 in the lower half
    MUFU_BF16 = 32, // of a bf16
};
// For 32 lanes. d and a may be the same.
void orr_mufu(int function, uint32_t *d, const uint32_t *a);
// FCHK for 32 lanes, a bit a lane: the quotient a / b cannot be had from MUFU.RCP and corrections
uint32_t orr_fchk(const uint32_t *a, const uint32_t *b);

#endif
