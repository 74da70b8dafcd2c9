// How many registers of a thread hold a value that is still needed, instruction by instruction.
//
// The usual backward data flow over basic blocks: what is live behind an instruction, less what it writes,
// plus what it reads, is live in front of it. A write under a predicate ends nothing, because lanes that it
// leaves out keep the old value. Only vector registers count: they are what limits occupancy.
#include <stdlib.h>
#include <string.h>

#include "program/program.h"

#define WORDS (ORR_TREG_P / 64)

typedef struct live_set {
    uint64_t bits[WORDS];
} live_set;

// From behind instruction i of the program to in front of it.
static void step(const orr_program *p, const orr_tinst *i, live_set *s) {
    const uint16_t *regs = p->regs + i->regs;
    const orr_kernel *k = p->kernel;
    bool guarded = i->inst < k->ninsts && k->insts[i->inst].guard >= 0;
    for (int n = i->nsrc; !guarded && n < i->nsrc + i->ndst; n++) {
        uint16_t reg = p->reg[regs[n]];
        if (reg < ORR_TREG_P) s->bits[reg / 64] &= ~(1ull << reg % 64);
    }
    for (int n = 0; n < i->nsrc; n++) {
        uint16_t reg = p->reg[regs[n]];
        if (reg < ORR_TREG_P) s->bits[reg / 64] |= 1ull << reg % 64;
    }
}

static bool merge(live_set *to, const live_set *from) {
    bool grew = false;
    for (int w = 0; w < WORDS; w++) {
        grew |= (from->bits[w] & ~to->bits[w]) != 0;
        to->bits[w] |= from->bits[w];
    }
    return grew;
}

static void behind(const orr_program *p, const live_set *in, uint32_t b, live_set *s) {
    const orr_kernel *k = p->kernel;
    memset(s, 0, sizeof *s);
    for (int n = 0; b < k->nblocks && n < orr_succ_count(k, &k->blocks[b]); n++) {
        uint32_t to = orr_succ(k, &k->blocks[b], n);
        if (to < p->nblocks) merge(s, &in[to]);
    }
}

void orr_program_live(const orr_program *p, uint16_t *live) {
    live_set *in = orr_calloc(p->nblocks ? p->nblocks : 1, sizeof *in), s;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = p->nblocks; b-- > 0;) {
            const orr_tblock *block = &p->blocks[b];
            behind(p, in, b, &s);
            for (uint32_t n = block->first + block->count; n-- > block->first;) step(p, &p->insts[n], &s);
            changed |= merge(&in[b], &s);
        }
    }
    for (uint32_t b = 0; b < p->nblocks; b++) {
        const orr_tblock *block = &p->blocks[b];
        behind(p, in, b, &s);
        for (uint32_t n = block->first + block->count; n-- > block->first;) {
            step(p, &p->insts[n], &s);
            live[n] = 0;
            for (int w = 0; w < WORDS; w++) live[n] = (uint16_t)(live[n] + orr_popc64(s.bits[w]));
        }
    }
    free(in);
}
