// PTX as a GPU runs it: the lowering from PTX to machine instructions, function by function (pass.h says who
// does what, docs/how/lowering.md what comes out and how near it is to ptxas).
#include <stdlib.h>
#include <string.h>

#include "lower/pass.h"

static void append(lower *l, const orr_func *f) {
    orr_lowered *to = l->to;
    for (uint32_t b = 0; b < f->nblocks; b++) {
        uint32_t first = l->block_first.at[b], end = l->block_first.at[b + 1];
        *ORR_PUSH(&to->blocks) =
            (orr_mblock){.first = (uint32_t)to->insts.n,
                         .count = end - first,
                         .body = l->branch.body[b] ? f->first_block + l->branch.body[b] : 0};
        for (uint32_t n = first; n < end; n++) {
            const minst *m = &l->insts.at[n];
            bool syncs = m->syncs && m->access != ORR_NO_ACCESS;
            *ORR_PUSH(&to->insts) = (orr_minst){
                .name = m->name,
                .sass = m->sass,
                .tclass = m->tclass,
                .kind = syncs ? ORR_TK_SYNCS : m->kind,
                .space = syncs ? ORR_SPACE_SHARED : m->space,
                .bytes = m->bytes,
                .offset = m->offset,
                .imm = m->imm,
                .stall = m->stall,
                .nsrc = m->nsrc,
                .ndst = m->ndst,
                .flags = syncs ? 0 : m->flags,
                .access = m->access,
                .warps = m->warps,
                .constant = m->constant,
                .inst = m->inst,
                .regs = (uint32_t)to->regs.n,
            };
            for (int r = 0; r < m->nsrc + m->ndst; r++)
                *ORR_PUSH(&to->regs) = l->vregs.at[l->regs.at[m->regs + (uint32_t)r]].reg;
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
    l->branch.predicated = orr_malloc((f->nblocks + 1) * sizeof *l->branch.predicated);
    l->branch.body = orr_calloc(f->nblocks + 1, sizeof *l->branch.body);
    l->branch.parts = orr_calloc(f->nblocks + 1, 1);
    l->branch.bssy = orr_calloc(f->nblocks + 1, 1);
    l->branch.bsync = orr_calloc(f->nblocks + 1, 1);
    l->branch.arrives = orr_calloc(f->nblocks + 1, 1);
    l->branch.exits = orr_calloc(f->nblocks + 1, 1);
    number_blocks(l);
    lower_alike(l);
    lower_select(l);
    lower_merge(l);
    lower_branches(l);
    lower_calls(l);
    lower_emit(l);
    lower_schedule(l);
    lower_registers(l);
    lower_stalls(l);
    append(l, f);
    free(l->branch.predicated);
    free(l->branch.body);
    free(l->branch.parts);
    free(l->branch.bssy);
    free(l->branch.bsync);
    free(l->branch.arrives);
    free(l->block_of);
    free(l->ordinal);
    free(l->branch.exits);
    lower_values_free(l);
}

void orr_lower(orr_lowered *to, const orr_kernel *k, const orr_gpu *g) {
    *to = (orr_lowered){0};
    lower l = {.k = k, .g = g, .to = to, .cc = g->cc_major * 10 + g->cc_minor};
    l.of = orr_malloc((k->noperands + 1) * sizeof *l.of);
    l.guard = orr_malloc((k->ninsts + 1) * sizeof *l.guard);
    l.under = orr_malloc((k->ninsts + 1) * sizeof *l.under);
    memset(l.of, 0xff, (k->noperands + 1) * sizeof *l.of);
    memset(l.guard, 0xff, (k->ninsts + 1) * sizeof *l.guard);
    memset(l.under, 0xff, (k->ninsts + 1) * sizeof *l.under);
    l.select.todo = orr_calloc(k->ninsts + 1, 1);
    l.alike = orr_calloc(k->ninsts + 1, 1);
    l.select.of = orr_calloc(k->ninsts + 1, sizeof *l.select.of);
    l.select.pred_of = orr_calloc(k->ninsts + 1, sizeof *l.select.pred_of);
    l.merged.into = orr_calloc(3 * ((size_t)k->ninsts + 1), sizeof *l.merged.into);
    l.merged.first = l.merged.into + k->ninsts + 1;
    l.merged.next = l.merged.first + k->ninsts + 1;
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
    free(l.of);
    free(l.guard);
    free(l.under);
    free(l.select.todo);
    free(l.alike);
    free(l.select.of);
    free(l.select.pred_of);
    free(l.merged.into);
    free(l.values.at);
    free(l.args.at);
    free(l.select.all.at);
    free(l.vregs.at);
    free(l.regs.at);
    free(l.insts.at);
    free(l.block_first.at);
    free(l.constants.held.at);
    free(l.constants.wanted.at);
    free(l.constants.bodies.at);
    free(l.constants.copies.at);
    free(l.calls.slots.at);
    free(l.division.quotients.at);
    free(l.calls.handed.at);
    orr_map_free(&l.names);
    orr_map_free(&l.constants.holds);
    orr_map_free(&l.constants.reads);
    to->arena = l.arena;
}

void orr_lowered_free(orr_lowered *l) {
    free(l->insts.at);
    free(l->regs.at);
    free(l->blocks.at);
    orr_arena_free(&l->arena);
}
