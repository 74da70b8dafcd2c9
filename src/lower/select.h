// Private to lower/: what the files of instruction selection share (select.c, select_logic.c,
// select_sum.c).
#ifndef ORR_SELECT_H
#define ORR_SELECT_H

#include "lower/pass.h"

typedef struct scan {
    lower *l;
    uint32_t first, end; // of the block at hand
    uint32_t n;          // instruction at hand
    uint32_t *last_def;  // per web: the last instruction of this block that wrote it, + 1
    uint8_t *depth;      // per value: views on the way to what it is
    uint32_t *frail;     // per value: a view of this web, which is written again later; NONE
} scan;

static inline bool is_imm(ref r) { return r.kind == ORR_K_IMM; }
static inline int bytes_of(const orr_inst *i) { return orr_types[i->type].bytes; }
static inline bool is_int(const orr_inst *i, int bytes) {
    return !orr_types[i->type].is_float && bytes_of(i) == bytes && i->type != ORR_T_PRED;
}

// select.c
uint32_t lower_result(const lower *l, uint32_t n); // value of the first destination, or NONE
// The instruction that makes r, when it can be folded: unguarded, its result nobody else's business.
uint32_t lower_producer(const lower *l, ref r, bool only_reader);
bool lower_all_still(scan *c, uint32_t from); // can what it reads still be read at the instruction at hand?
// Consumer n takes `p` along: sources are given; p's result has one reader less.
void lower_fuse(scan *c, uint32_t n, uint32_t p, uint16_t op, const ref *src, int nsrc);

selection *lower_selection_for(lower *l, uint32_t n); // what instruction n becomes, to be changed

// select_sum.c: an addition n takes along what makes one of its operands, if it can
void lower_fold_add(scan *c, uint32_t n);
void lower_fold_fma(scan *c, uint32_t n);

// select_logic.c: n takes along what makes its operands, if it can
void lower_fold_min(scan *c, uint32_t n);
void lower_fold_logic(scan *c, uint32_t n);
void lower_fold_predicates(scan *c, uint32_t n);
void lower_fold_zero_test(scan *c, uint32_t n);
void lower_fold_wait(scan *c, uint32_t n);

#endif
