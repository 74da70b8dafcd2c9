// Private to exec/: a matrix product of one warp, as mma.c computes it for mma and wmma.
#ifndef ORR_MMA_H
#define ORR_MMA_H

#include "exec/ops/softfp.h"

enum { MMA_M = 32, MMA_N = 32, MMA_K = 256 };

// D = A B + C. A and B arrive packed as in memory: A row by row, B column by column, elements next to
// each other in 32-bit words (f64: 64). C comes and D goes as bit patterns, row by row.
typedef struct product {
    int m, n, k;
    int kc; // columns of A that are stored: k, or k / 2 when A is sparse
    uint8_t atype, btype, ctype, dtype;
    bool satfinite, b1_and;
    const uint8_t *place; // sparse: [m][kc], the column of B each element of A meets; NULL: dense
    union {
        uint32_t w[MMA_M * MMA_K / 8];
        uint64_t d[MMA_M * 16];
    } a, b;
    union {
        uint32_t w[MMA_M * MMA_N];
        uint64_t d[MMA_M * MMA_N];
    } c;
} product;

void orr_mma_multiply(product *p);                // c is replaced by D
bool orr_mma_types(const orr_inst *i, bool wmma); // a combination of types PTX has

// A warp multiplies as one: what a part of it gets is a fault.
void orr_mma_parted(warp *w, const uop *u);
handlers orr_pick_wmma(const orr_kernel *k, const orr_inst *i, const char **why); // wmma.c

#endif
