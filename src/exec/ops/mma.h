// Private to exec/: a matrix product of one warp, as mma.c computes it for mma and wmma.
#ifndef ORR_MMA_H
#define ORR_MMA_H

#include "exec/ops/softfp.h"

enum { MMA_M = 32, MMA_N = 32, MMA_K = 256 };

// D = A B + C. A and B arrive packed as in memory: A row by row, B column by column, elements next to
// each other in 32-bit words (f64: 64). C comes and D goes as bit patterns, row by row.
typedef struct product {
    int m, n, k;
    int kc;                                    // columns of A that are stored: k, or k / 2 when A is sparse
    uint8_t atype, btype, ctype, dtype, round; // round: of f64
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
void orr_mma_start(const uop *u, product *p);     // shape and types, of the instruction
bool orr_mma_types(const orr_inst *i, bool wmma); // a combination of types PTX has

// ---- floats, for wgmma too
enum { MMA_GUARD = 25, FOUR = 4 }; // bits kept below the largest exponent's; columns of D done at a time
typedef struct mma_step {
    const float *sa; // factors of A: significands and exponents
    const int32_t *ea;
    const float *sb; // of B, which is [k][n], from the first of four columns on
    const int32_t *eb;
    int n, len;      // columns of B, products in the step
    int guard, keep; // bits kept below the largest exponent's; of the sum, below its first (0: all of f32's)
    const uint8_t *place; // of a sparse A: the row of B for each column; NULL: in order
    bool narrow, half;    // the accumulator comes as f16, goes as f16
} mma_step;
// Elements to f32, and f32 to s * 2^e with 1 <= |s| < 2, or |s| < 1 and the type's smallest exponent. True:
// there are infinities or NaNs among them.
void orr_mma_to_f32(int type, const void *raw, int n, uint32_t *out);
bool orr_mma_split(int type, int n, const uint32_t *f, float *s, int32_t *e);
// All of a product, `group` products in a step, `guard` bits kept. One step for four columns of one row of D.
void orr_mma_floats(product *p, int group, int guard);
void orr_mma_step(mma_step r, double acc[FOUR]);
void orr_mma_gather(const warp *w, const oper *regs, int nregs, int rows, int bytes, uint8_t *out);
void orr_mma_places(const uint32_t *meta, uint32_t sel, uint8_t type, int rows, int kc, uint8_t *place);

// Volta's products (mma884.c). An instruction whose `vec` is MMA_STEP or more is one step of HMMA.884.
enum { MMA_STEP = 4 };
void orr_mma884(warp *w, const uop *u);
handlers orr_pick_mma884_step(const orr_inst *i, const char **why);

// A warp multiplies as one: what a part of it gets is a fault.
void orr_mma_parted(warp *w, const uop *u);
handlers orr_pick_wmma(const orr_kernel *k, const orr_inst *i, const char **why); // wmma.c

#endif
