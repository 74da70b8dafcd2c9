// Which loads and stores have the same addresses but for a constant: LDS R4, [R16] and LDS R7, [R16+0x40]
// find the addresses of R16 alike, and how those lie (warp.h, row_shape) need be looked at once.
//
// Rows keep what they hold until somebody writes them. So a row, or pair of rows, that is an address
// somewhere in a kernel of machine code gets a place in warp.shapes, until there are no more, which lasts
// until a basic block is entered that writes it (xblock.keeps). In such blocks, and in PTX, whose functions
// have rows of their own, rows that are an address at two places with no write between get a place that lasts
// for the block only. The others share the last place.
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

static bool written(const uop *u, const uop *end, const base *rows) {
    for (; u < end; u++)
        if (writes(u, rows->lo) || writes(u, rows->hi)) return true;
    return false;
}

static const base *find(const base *at, uint32_t n, const uop *u) {
    for (uint32_t i = 0; i < n; i++)
        if (same_row(at[i].lo, u->a) && same_row(at[i].hi, high_words(u))) return &at[i];
    return NULL;
}

static uint32_t forget_written(base *at, uint32_t n, const uop *u) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!writes(u, at[i].lo) && !writes(u, at[i].hi)) at[kept++] = at[i];
    return kept;
}

static bool is_address(const uop *u) { return u->way == WAY_SHARED || u->way == WAY_PAIR; }

// Those of one block. `lasting`: of the kernel, with their places.
static void shapes_of_block(uop *u, const uop *end, const base *lasting, uint32_t nlasting) {
    const uop *first = u;
    base at[16];
    uint32_t n = 0;
    uint8_t next = 0;
    for (; u < end; u++) {
        const base *l = is_address(u) ? find(lasting, nlasting, u) : NULL;
        if (l && !written(first, end, l)) {
            u->shape = l->shape;
        } else if (is_address(u)) {
            oper hi = high_words(u);
            uint32_t i = 0;
            while (i < n && !(same_row(at[i].lo, u->a) && same_row(at[i].hi, hi))) i++;
            if (i == n && n < sizeof at / sizeof *at)
                at[n++] = (base){.lo = u->a, .hi = hi, .first = u, .shape = SHAPES};
            else if (i < n && at[i].shape == SHAPES && next < LOCAL_SHAPES)
                at[i].first->shape = at[i].shape = next++;
            if (i < n) u->shape = at[i].shape;
        }
        n = forget_written(at, n, u);
    }
}

// The rows of addresses that some block uses and does not write.
static uint32_t lasting_rows(const decoded *p, base at[SHAPES - LOCAL_SHAPES]) {
    uint32_t count = 0;
    if (!p->kernel->code.insts) return 0;
    for (uint32_t n = 0; n < p->kernel->nblocks; n++) {
        const xblock *x = &p->blocks[n];
        for (const uop *u = x->first; u < x->end && count < SHAPES - LOCAL_SHAPES; u++) {
            base b = {.lo = u->a,
                      .hi = is_address(u) ? high_words(u) : u->a,
                      .shape = (uint8_t)(LOCAL_SHAPES + count)};
            if (is_address(u) && !find(at, count, u) && !written(x->first, x->end, &b)) at[count++] = b;
        }
    }
    return count;
}

void orr_shapes(decoded *p) {
    base lasting[SHAPES - LOCAL_SHAPES];
    for (uint32_t n = 0; n < p->kernel->nblocks; n++)
        for (uop *u = p->uops + (p->blocks[n].first - p->uops); u < p->blocks[n].end; u++) {
            u->shape = SHAPES;
            u->way = way_of(u);
            u->disp = u->inst->disp;
        }
    uint32_t count = lasting_rows(p, lasting);
    for (uint32_t n = 0; n < p->kernel->nblocks; n++) {
        xblock *x = &p->blocks[n];
        x->keeps = ~((1u << LOCAL_SHAPES) - 1);
        for (uint32_t i = 0; i < count; i++)
            if (written(x->first, x->end, &lasting[i])) x->keeps &= ~(1u << lasting[i].shape);
        shapes_of_block(p->uops + (x->first - p->uops), x->end, lasting, count);
    }
}
