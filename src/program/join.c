// Several programs as one (program.h). Instructions, blocks, names and constants of each are behind those of
// the programs before; a register is one place for all of them, as a warp runs only one.
#include <stdlib.h>
#include <string.h>

#include "program/program.h"

static bool fits_beside(const orr_program *a, const orr_program *b) {
    return a->control == b->control && a->kernel->machine == b->kernel->machine && a->gpu == b->gpu;
}

bool orr_program_joins(const orr_program *a, const orr_program *b) {
    return fits_beside(a, b) && !a->kernel->grows && !b->kernel->grows;
}

static uint16_t place_of(orr_program *p, uint16_t reg) {
    if (!p->place[reg]) {
        p->reg[p->nplaces] = reg;
        p->place[reg] = (uint16_t)++p->nplaces;
    }
    return (uint16_t)(p->place[reg] - 1);
}

static void make_room(orr_program *p, const orr_program *const *parts, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        p->insts_cap += parts[k]->ninsts;
        p->blocks_cap += parts[k]->nblocks;
        p->regs_cap += parts[k]->nregs;
        p->reads_cap += parts[k]->nreads;
        p->names_cap += parts[k]->nnames;
    }
    p->insts = orr_calloc(p->insts_cap + 1, sizeof *p->insts);
    p->blocks = orr_calloc(p->blocks_cap + 1, sizeof *p->blocks);
    p->regs = orr_calloc(p->regs_cap + 1, sizeof *p->regs);
    p->reads = orr_calloc(p->reads_cap + 1, sizeof *p->reads);
    p->names = orr_calloc(p->names_cap + 1, sizeof *p->names);
}

enum { CODE_UNIT = 1024 }; // bytes: each program begins at a multiple of this, as functions of a module do

// `pc`: where its code begins.
static void append(orr_program *p, const orr_program *from, uint32_t pc) {
    uint8_t constant[sizeof from->constants / sizeof *from->constants];
    for (uint32_t n = 0; n < from->nconstants; n++) { // parameters of another launch are other constants
        bool room = p->nconstants < sizeof p->constants / sizeof *p->constants;
        if (room) p->constants[p->nconstants++] = from->constants[n];
        constant[n] = room ? (uint8_t)p->nconstants : 0;
    }
    for (uint32_t n = 0; n < from->nblocks; n++) {
        orr_tblock b = from->blocks[n];
        b.first += p->ninsts;
        if (b.body) b.body += p->nblocks;
        p->blocks[p->nblocks + n] = b;
    }
    for (uint32_t n = 0; n < from->ninsts; n++) {
        orr_tinst i = from->insts[n];
        i.pc += pc;
        i.regs += p->nregs;
        i.reads += p->nreads;
        i.name += p->nnames;
        if (i.constant) i.constant = constant[i.constant - 1];
        p->insts[p->ninsts + n] = i;
    }
    for (uint32_t n = 0; n < from->nregs; n++) p->regs[p->nregs + n] = place_of(p, from->reg[from->regs[n]]);
    if (from->nreads) memcpy(p->reads + p->nreads, from->reads, from->nreads * sizeof *p->reads);
    for (uint32_t n = 0; n < from->nnames; n++) p->names[p->nnames + n] = from->names[n];
    p->nblocks += from->nblocks;
    p->ninsts += from->ninsts;
    p->nregs += from->nregs;
    p->nreads += from->nreads;
    p->nnames += from->nnames;
    if (from->max_access > p->max_access) p->max_access = from->max_access;
    if (from->registers > p->registers) p->registers = from->registers;
}

orr_program *orr_program_join(const orr_program *const *parts, uint32_t n, orr_program_part *where) {
    orr_program *p = orr_calloc(1, sizeof *p);
    p->kernel = parts[0]->kernel;
    p->gpu = parts[0]->gpu;
    p->control = parts[0]->control;
    make_room(p, parts, n);
    uint32_t pc = 0;
    for (uint32_t k = 0; k < n; k++) {
        where[k] = (orr_program_part){p->ninsts, p->nblocks, parts[k]->ninsts, parts[k]->nblocks};
        append(p, parts[k], pc);
        uint32_t last = pc;
        for (uint32_t i = where[k].first_inst; i < p->ninsts; i++)
            if (p->insts[i].pc > last) last = p->insts[i].pc;
        pc = (last / CODE_UNIT + 1) * CODE_UNIT;
    }
    return p;
}
