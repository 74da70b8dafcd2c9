// Private to exec/: sums of products as tensor cores make them (mma.c says how), for the usual numbers: no
// infinity or NaN, no exponent far from 0, accumulators of 32 bits. What is not usual is refused, and mma.c
// does it.
#ifndef ORR_SUMS_H
#define ORR_SUMS_H

#include "exec/ops/softfp.h"

enum { SUMS_COLUMNS = 8 }; // of D, done at a time

// Exponents of f32 factors that were of `type`: its smallest for subnormal ones, and one below all others for
// zeros. True: all of them are usual.
bool orr_sums_exponents(int type, const uint32_t *f, int n, int16_t *e);

// One row of A and the columns of B, which is [len][n].
typedef struct sums {
    const uint32_t *fa, *fb; // bits of f32
    const int16_t *ea, *eb;
    int n, len;
    int guard, keep; // bits kept below the largest exponent's; of the sum, below its first (0: all of f32's)
} sums;

// Columns [j, j + SUMS_COLUMNS) of the row of C, bits of f32, become those of D. False: not usual, nothing is
// done.
bool orr_sums(const sums *r, int j, uint32_t *c);

#endif
