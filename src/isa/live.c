// Liveness of registers over basic blocks (live.h has the method).
#include "isa/live.h"

#include <stdlib.h>
#include <string.h>

void orr_live_new(orr_live *l, uint32_t nblocks, uint32_t registers) {
    l->words = registers / 64 + 1;
    size_t cells = (size_t)l->words * nblocks;
    l->in = orr_calloc(4 * cells + 1, sizeof *l->in);
    l->out = l->in + cells;
    l->use = l->out + cells;
    l->def = l->use + cells;
}

void orr_live_free(orr_live *l) {
    free(l->in);
    l->in = l->out = l->use = l->def = NULL;
}

static void block_sets(orr_live *l, const orr_kernel *k, const orr_block *b, size_t row) {
    uint64_t *use = l->use + row, *def = l->def + row;
    for (uint32_t n = b->first; n < b->first + b->count; n++) {
        const orr_inst *i = &k->insts[n];
        for (int s = 0; s < i->nsrc; s++) {
            const orr_operand *o = orr_src(k, i, s);
            if (o->kind == ORR_K_REG && !orr_live_has(def, orr_live_index(l, o)))
                orr_live_put(use, orr_live_index(l, o));
        }
        if (i->guard >= 0 && !orr_live_has(def, (uint32_t)i->guard)) orr_live_put(use, (uint32_t)i->guard);
        for (int d = 0; d < i->ndst; d++) {
            const orr_operand *o = orr_dst(k, i, d);
            if (o->kind != ORR_K_REG || orr_live_has(def, orr_live_index(l, o))) continue;
            orr_live_put(i->guard < 0 ? def : use, orr_live_index(l, o));
        }
    }
}

void orr_live_solve(orr_live *l, const orr_kernel *k, const orr_func *f) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = f->nblocks; b-- > 0;) {
            const orr_block *blk = &k->blocks[f->first_block + b];
            uint64_t *out = orr_live_out(l, b), *in = orr_live_in(l, b);
            const uint64_t *use = l->use + (size_t)b * l->words, *def = l->def + (size_t)b * l->words;
            int ns = orr_succ_count(k, blk);
            for (int s = 0; s < ns; s++) {
                uint32_t to = orr_succ(k, blk, s) - f->first_block;
                if (to >= f->nblocks) continue; // a damaged file
                const uint64_t *next = orr_live_in(l, to);
                for (uint32_t w = 0; w < l->words; w++) out[w] |= next[w];
            }
            for (uint32_t w = 0; w < l->words; w++) {
                uint64_t v = use[w] | (out[w] & ~def[w]);
                changed |= v != in[w];
                in[w] = v;
            }
        }
    }
}

bool orr_live_of(orr_live *l, const orr_kernel *k, const orr_func *f, uint64_t most) {
    *l = (orr_live){0};
    for (int c = 0; c < ORR_CLASSES; c++) l->base[c + 1] = l->base[c] + f->nregs[c];
    l->words = l->base[ORR_CLASSES] / 64 + 1;
    if ((uint64_t)l->words * f->nblocks > most) return false;
    orr_live_new(l, f->nblocks, l->base[ORR_CLASSES]);
    for (uint32_t b = 0; b < f->nblocks; b++)
        block_sets(l, k, &k->blocks[f->first_block + b], (size_t)b * l->words);
    orr_live_solve(l, k, f);
    return true;
}
