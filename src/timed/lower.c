// PTX as a GPU runs it: the lowering from PTX to machine instructions, function by function (lower.h says who
// does what, docs/lowering.md what comes out and how near it is to ptxas).
#include <stdlib.h>
#include <string.h>

#include "timed/lower.h"

static void append(lower *l, const orr_func *f) {
    orr_program *p = l->p;
    for (uint32_t b = 0; b < f->nblocks; b++) {
        const orr_block *blk = &l->k->blocks[f->first_block + b];
        p->blocks[p->nblocks++] = (orr_tblock){.first = p->ninsts, .naccess = blk->nmem};
        if (l->body[b]) p->blocks[p->nblocks - 1].body = f->first_block + l->body[b];
        for (uint32_t n = l->block_first.at[b]; n < l->block_first.at[b + 1]; n++) {
            const minst *m = &l->insts.at[n];
            orr_tinst *i = orr_program_add(p, m->sass, m->name, m->tclass, m->kind);
            i->space = m->space;
            i->bytes = m->bytes;
            i->offset = m->offset;
            i->imm = m->imm;
            i->flags = m->flags;
            i->access = m->access;
            i->warps = m->warps;
            i->inst = m->inst;
            i->ctrl = m->stall;
            if (m->syncs && m->access != ORR_NO_ACCESS) {
                i->kind = ORR_TK_SYNCS;
                i->space = ORR_SPACE_SHARED;
                i->flags = 0;
            }
            if (m->constant) i->constant = orr_program_constant(p, m->constant);
            for (int r = 0; r < m->nsrc + m->ndst; r++)
                orr_program_reg(p, i, l->vregs.at[l->regs.at[m->regs + (uint32_t)r]].reg, r >= m->nsrc);
        }
    }
}

static void number_blocks(lower *l) {
    const orr_block *first = &l->k->blocks[l->func.first_block], *last = first + l->func.nblocks - 1;
    l->first_inst = first->first;
    l->block_of = orr_calloc(last->first + last->count - first->first + 1, sizeof *l->block_of);
    l->ordinal = orr_calloc(last->first + last->count - first->first + 1, sizeof *l->ordinal);
    for (const orr_block *b = first; b <= last; b++) {
        uint32_t access = 0;
        for (uint32_t n = b->first; n < b->first + b->count; n++) {
            l->block_of[n - l->first_inst] = (uint32_t)(b - first);
            l->ordinal[n - l->first_inst] = access;
            access += orr_inst_traced(&l->k->insts[n]);
        }
    }
}

static void lower_function(lower *l) {
    const orr_func *f = &l->func;
    lower_values(l);
    l->predicated = orr_malloc((f->nblocks + 1) * sizeof *l->predicated);
    l->body = orr_calloc(f->nblocks + 1, sizeof *l->body);
    l->parts = orr_calloc(f->nblocks + 1, 1);
    l->bssy = orr_calloc(f->nblocks + 1, 1);
    l->bsync = orr_calloc(f->nblocks + 1, 1);
    l->arrives = orr_calloc(f->nblocks + 1, 1);
    l->exits = orr_calloc(f->nblocks + 1, 1);
    number_blocks(l);
    lower_alike(l);
    lower_plan(l);
    lower_merge(l);
    lower_branches(l);
    lower_calls(l);
    lower_emit(l);
    lower_schedule(l);
    lower_registers(l);
    lower_stalls(l);
    append(l, f);
    free(l->predicated);
    free(l->body);
    free(l->parts);
    free(l->bssy);
    free(l->bsync);
    free(l->arrives);
    free(l->block_of);
    free(l->ordinal);
    free(l->exits);
    lower_values_free(l);
}

bool orr_lower_ptx(orr_program *p, orr_err *e) {
    (void)e; // any kernel can be timed
    const orr_kernel *k = p->kernel;
    lower l = {.k = k, .g = p->gpu, .p = p, .cc = p->gpu->cc_major * 10 + p->gpu->cc_minor};
    l.of = orr_malloc((k->noperands + 1) * sizeof *l.of);
    l.guard = orr_malloc((k->ninsts + 1) * sizeof *l.guard);
    l.under = orr_malloc((k->ninsts + 1) * sizeof *l.under);
    memset(l.of, 0xff, (k->noperands + 1) * sizeof *l.of);
    memset(l.guard, 0xff, (k->ninsts + 1) * sizeof *l.guard);
    memset(l.under, 0xff, (k->ninsts + 1) * sizeof *l.under);
    l.todo = orr_calloc(k->ninsts + 1, 1);
    l.alike = orr_calloc(k->ninsts + 1, 1);
    l.plan_of = orr_calloc(k->ninsts + 1, sizeof *l.plan_of);
    l.pred_of = orr_calloc(k->ninsts + 1, sizeof *l.pred_of);
    l.merged_into = orr_calloc(3 * ((size_t)k->ninsts + 1), sizeof *l.merged_into);
    l.merged_first = l.merged_into + k->ninsts + 1;
    l.merged_next = l.merged_first + k->ninsts + 1;
    p->blocks = orr_calloc(k->nblocks + 1, sizeof *p->blocks);
    p->blocks_cap = k->nblocks + 1;
    // Functions lie one after the other, and so do their blocks; a block for which that is not so (a damaged
    // file) is a function of its own.
    for (uint32_t b = 0; b < k->nblocks;) {
        l.func = k->funcs[k->blocks[b].func];
        if (l.func.first_block != b || !l.func.nblocks || l.func.nblocks > k->nblocks - b) {
            l.func.first_block = l.func.entry = b;
            l.func.nblocks = 1;
        }
        lower_function(&l);
        b += l.func.nblocks;
    }
    // The estimate of isa/liveness.c is as good as counting what is alive here (docs/lowering.md).
    if (p->gpu->limit_thread_registers > 0 && p->registers > (uint32_t)p->gpu->limit_thread_registers)
        p->registers = (uint32_t)p->gpu->limit_thread_registers;
    free(l.of);
    free(l.guard);
    free(l.under);
    free(l.todo);
    free(l.alike);
    free(l.plan_of);
    free(l.pred_of);
    free(l.merged_into);
    free(l.values.at);
    free(l.args.at);
    free(l.plans.at);
    free(l.vregs.at);
    free(l.regs.at);
    free(l.insts.at);
    free(l.block_first.at);
    free(l.held.at);
    free(l.wanted.at);
    free(l.bodies.at);
    free(l.copies.at);
    free(l.slots.at);
    free(l.quotients.at);
    free(l.handed.at);
    orr_map_free(&l.names);
    orr_map_free(&l.holds);
    orr_map_free(&l.reads);
    orr_arena_free(&l.arena);
    return true;
}
