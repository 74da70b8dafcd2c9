// How many registers of a thread hold a value that is still needed, instruction by instruction (isa/live.h
// has the method). Only vector registers count: they are what limits occupancy.
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

#include "isa/live.h"

// Whether the register of a place is one that counts.
static bool counts(const orr_program *p, const uint16_t *place, uint16_t *reg) {
    *reg = p->reg[*place];
    return *reg < ORR_TREG_P;
}

// A write under a predicate ends nothing: lanes that it leaves out keep the old value.
static bool is_guarded(const orr_program *p, const orr_tinst *i) {
    return i->inst < p->kernel->ninsts && p->kernel->insts[i->inst].guard >= 0;
}

// What a block reads before it writes it, and what it writes first.
static void block_sets(const orr_program *p, const orr_tblock *b, uint64_t *use, uint64_t *def) {
    uint16_t reg;
    for (uint32_t n = b->first; n < b->first + b->count; n++) {
        const orr_tinst *i = &p->insts[n];
        const uint16_t *regs = p->regs + i->regs;
        for (int s = 0; s < i->nsrc; s++)
            if (counts(p, &regs[s], &reg) && !orr_live_has(def, reg)) orr_live_put(use, reg);
        for (int d = i->nsrc; !is_guarded(p, i) && d < i->nsrc + i->ndst; d++)
            if (counts(p, &regs[d], &reg) && !orr_live_has(use, reg)) orr_live_put(def, reg);
    }
}

// From behind an instruction to in front of it.
static void step(const orr_program *p, const orr_tinst *i, uint64_t *live) {
    const uint16_t *regs = p->regs + i->regs;
    uint16_t reg;
    for (int d = i->nsrc; !is_guarded(p, i) && d < i->nsrc + i->ndst; d++)
        if (counts(p, &regs[d], &reg)) orr_live_drop(live, reg);
    for (int s = 0; s < i->nsrc; s++)
        if (counts(p, &regs[s], &reg)) orr_live_put(live, reg);
}

void orr_program_live(const orr_program *p, uint16_t *live) {
    uint32_t nblocks = p->nblocks < p->kernel->nblocks ? p->nblocks : p->kernel->nblocks;
    orr_func all = {.nblocks = nblocks}; // no edge leads from one function to another
    orr_live l = {0};
    orr_live_new(&l, nblocks, ORR_TREG_P);
    for (uint32_t b = 0; b < nblocks; b++)
        block_sets(p, &p->blocks[b], l.use + (size_t)b * l.words, l.def + (size_t)b * l.words);
    orr_live_solve(&l, p->kernel, &all);
    for (uint32_t b = 0; b < nblocks; b++) {
        const orr_tblock *block = &p->blocks[b];
        uint64_t *now = orr_live_out(&l, b);
        for (uint32_t n = block->first + block->count; n-- > block->first;) {
            step(p, &p->insts[n], now);
            live[n] = 0;
            for (uint32_t w = 0; w < l.words; w++) live[n] = (uint16_t)(live[n] + orr_popc64(now[w]));
        }
    }
    orr_live_free(&l);
}
