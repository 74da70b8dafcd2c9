// Which loads and stores of a basic block have the same addresses but for a constant: LDS R4, [R16] and
// LDS R7, [R16+0x40] find the addresses of R16 alike, and how those lie (warp.h, row_shape) need be looked at
// once.
//
// Rows keep what they hold until somebody writes them. So every row, or pair of rows, that is an address at
// two places with no write between gets a place in warp.shapes, until there are no more; the others share the
// last.
#include "exec/block.h"

typedef struct base { // rows of addresses that nobody has written since
    oper lo, hi;
    uop *first; // that used them
    uint8_t shape;
} base;

static bool same_row(oper a, oper b) { return a.bank == b.bank && a.off == b.off; }

static uint8_t way_of(const uop *u) {
    const orr_inst *i = u->inst;
    bool global =
        i->space == ORR_SPACE_GLOBAL || i->space == ORR_SPACE_GENERIC || i->space == ORR_SPACE_CONST;
    if ((i->op != ORR_OP_LD && i->op != ORR_OP_ST) || !u->nsrc || u->a.none) return WAY_LONG;
    if (i->space == ORR_SPACE_SHARED && u->a.cls == ORR_W) return WAY_SHARED;
    if (!global) return WAY_LONG;
    return u->pair ? WAY_PAIR : u->a.cls == ORR_D ? WAY_WIDE : WAY_LONG;
}

static oper high_words(const uop *u) { return u->pair ? u->all[u->ndst + u->nsrc - 1] : u->a; }

static bool writes(const uop *u, oper row) {
    for (int n = 0; n < u->ndst; n++)
        if (same_row(u->all[n], row)) return true;
    return false;
}

static uint32_t forget_written(base *at, uint32_t n, const uop *u) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!writes(u, at[i].lo) && !writes(u, at[i].hi)) at[kept++] = at[i];
    return kept;
}

static void shapes_of_block(uop *u, const uop *end) {
    base at[16];
    uint32_t n = 0;
    uint8_t next = 0;
    for (; u < end; u++) {
        u->shape = SHAPES;
        u->way = way_of(u);
        u->disp = u->inst->disp;
        if (u->way == WAY_SHARED || u->way == WAY_PAIR) {
            oper hi = high_words(u);
            uint32_t i = 0;
            while (i < n && !(same_row(at[i].lo, u->a) && same_row(at[i].hi, hi))) i++;
            if (i == n && n < sizeof at / sizeof *at)
                at[n++] = (base){.lo = u->a, .hi = hi, .first = u, .shape = SHAPES};
            else if (i < n && at[i].shape == SHAPES && next < SHAPES)
                at[i].first->shape = at[i].shape = next++;
            if (i < n) u->shape = at[i].shape;
        }
        n = forget_written(at, n, u);
    }
}

void orr_shapes(decoded *p) {
    for (uint32_t n = 0; n < p->kernel->nblocks; n++) {
        const xblock *x = &p->blocks[n];
        shapes_of_block(p->uops + (x->first - p->uops), x->end);
    }
}
