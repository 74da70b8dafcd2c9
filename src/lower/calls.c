// Calls: arguments and results are in registers.
//
// PTX passes them through parameter variables, which are in the frame here, as the manual describes it. ptxas
// makes a copy of a function for the kernel that calls it and picks registers: an argument is computed where
// the function wants it, or moved there; what a function reads or the caller gets back costs nothing. The
// accesses of the stream are then nobody's. Only variables whose address nobody takes can be had so, and only
// functions that do not call themselves: those save registers on the stack, for which the accesses to
// parameters stand.
#include <stdlib.h>
#include <string.h>

#include "lower/pass.h"

#define LARGEST 48 // bytes of a variable that is in registers: R4 to R15

static bool calls_itself(const orr_kernel *k, uint32_t which) {
    uint8_t *seen = orr_calloc(k->nfuncs + 1, 1);
    uint32_t *list = orr_malloc((k->nfuncs + 1) * sizeof *list), n = 0, done = 0;
    list[n++] = which;
    bool again = false;
    while (done < n && !again) {
        const orr_func *f = &k->funcs[list[done++]];
        for (uint32_t b = f->first_block; b < f->first_block + f->nblocks && b < k->nblocks && !again; b++) {
            const orr_block *blk = &k->blocks[b];
            if (!blk->count) continue;
            const orr_inst *i = &k->insts[blk->first + blk->count - 1]; // a call ends its block
            if (i->op != ORR_OP_CALL || i->target < 0 || (uint32_t)i->target >= k->nfuncs) continue;
            again = (uint32_t)i->target == which;
            if (seen[i->target]) continue;
            seen[i->target] = 1;
            list[n++] = (uint32_t)i->target;
        }
    }
    free(seen);
    free(list);
    return again;
}

static void add(lower *l, uint64_t at, uint32_t bytes) {
    if (bytes && bytes <= LARGEST && at + bytes <= UINT32_MAX)
        *ORR_PUSH(&l->calls.slots) = (slot){(uint32_t)at, bytes};
}

static uint32_t first_spec(const orr_inst *i) { return i->target < 0; } // behind the function's address

// The variables of the function at hand that are parameters, its own and those of its calls.
void lower_calls(lower *l) {
    const orr_kernel *k = l->k;
    l->calls.slots.n = l->calls.handed.n = 0;
    uint32_t which = k->blocks[l->func.first_block].func;
    if (which >= k->nfuncs || calls_itself(k, which)) return;
    const orr_func *f = &k->funcs[which];
    for (uint32_t n = 0; which && n < f->nparams; n++) add(l, f->params[n].offset, f->params[n].bytes);
    for (uint32_t n = 0; n < f->nresults; n++) add(l, f->results[n].offset, f->results[n].bytes);
    const orr_block *b = &k->blocks[l->func.first_block], *end = b + l->func.nblocks;
    for (const orr_block *x = b; x < end; x++)
        for (uint32_t n = x->first; n < x->first + x->count; n++) {
            const orr_inst *i = &k->insts[n];
            if (i->op != ORR_OP_CALL || (i->target >= 0 && calls_itself(k, (uint32_t)i->target))) continue;
            for (uint32_t s = first_spec(i); s < i->nsrc; s++) {
                const orr_operand *o = orr_src(k, i, (int)s);
                if (o->kind == ORR_K_IMM) add(l, o->value >> 32, (uint32_t)o->value);
            }
        }
    for (const orr_block *x = b; x < end && l->calls.slots.n; x++)
        for (uint32_t n = x->first; n < x->first + x->count; n++) {
            const orr_inst *i = &k->insts[n];
            if (i->op != ORR_OP_LOCALADDR) continue;
            for (size_t s = 0; s < l->calls.slots.n; s++)
                if (i->imm >= l->calls.slots.at[s].at &&
                    i->imm < l->calls.slots.at[s].at + l->calls.slots.at[s].bytes)
                    l->calls.slots.at[s].bytes = 0;
        }
}

static bool covers(const slot *s, int64_t at, uint32_t bytes) {
    return at >= s->at && at + bytes <= (int64_t)s->at + s->bytes;
}

static bool is_slot(const lower *l, const orr_inst *i) {
    if ((i->op != ORR_OP_LD && i->op != ORR_OP_ST) || i->space != ORR_SPACE_LOCAL || !i->nsrc ||
        orr_src(l->k, i, 0)->kind != ORR_K_NONE || i->guard >= 0)
        return false;
    uint32_t bytes = (uint32_t)i->width * (i->vec ? i->vec : 1);
    for (size_t s = 0; s < l->calls.slots.n; s++)
        if (covers(&l->calls.slots.at[s], i->disp, bytes)) return true;
    return false;
}

// Is there anything in the frame but what calls have in registers?
bool lower_has_frame(const lower *l) {
    const orr_block *b = &l->k->blocks[l->func.first_block], *end = b + l->func.nblocks;
    for (; b < end; b++)
        for (uint32_t n = b->first; n < b->first + b->count; n++) {
            const orr_inst *i = &l->k->insts[n];
            if (i->op == ORR_OP_LOCALADDR || (i->space == ORR_SPACE_LOCAL && !is_slot(l, i))) return true;
        }
    return false;
}

// Made in this block for nothing else: it is made where the call wants it.
static bool made_for_it(const lower *l, ref r) {
    if (r.kind != ORR_K_REG || r.value == NONE) return false;
    const value *v = &l->values.at[r.value];
    return v->def != NONE && !v->merged && v->uses == 1 && v->block == l->at.block &&
           !(l->select.todo[v->def] & (DO_VIEW | DO_SKIP | DO_UNIFORM));
}

static void hand_over(lower *l, ref r) {
    source s = lower_source(l, r);
    for (uint32_t p = 0; p < s.n && p < 4; p++) {
        if (made_for_it(l, r) && s.leaf[p].kind == LEAF_REG) {
            *ORR_PUSH(&l->calls.handed) = s.leaf[p].v;
            continue;
        }
        lower_begin(l, (l->calls.handed.n & 1) ? "MOV" : "IMAD.MOV.U32");
        const char *name = l->next.name;
        if (s.leaf[p].kind != LEAF_IMM) {
            source one = {.n = 1, .leaf = {s.leaf[p]}};
            lower_vector(l, &one);
        }
        l->next.name = name;
        uint32_t to = lower_temp(l, FILE_R, 1);
        lower_dst(l, to);
        lower_done(l);
        *ORR_PUSH(&l->calls.handed) = to;
    }
}

bool lower_argument(lower *l, const orr_inst *i) {
    if (!is_slot(l, i)) return false;
    for (int s = 1; i->op == ORR_OP_ST && s < lower_nsrc(l, l->at.inst); s++)
        hand_over(l, lower_ref(l, l->at.inst, s));
    return true;
}

void lower_read_arguments(lower *l) {
    for (size_t n = 0; n < l->calls.handed.n; n++) lower_src(l, l->calls.handed.at[n]);
    l->calls.handed.n = 0;
}

// What the block behind a call reads of its results: the call has written that.
void lower_write_results(lower *l, const orr_inst *call) {
    const orr_block *blk = &l->k->blocks[l->flow.first_block + l->at.block];
    if (blk->next < 0) return;
    const orr_block *to = &l->k->blocks[blk->next];
    for (uint32_t n = to->first; n < to->first + to->count; n++) {
        const orr_inst *i = &l->k->insts[n];
        if (i->op != ORR_OP_LD || !is_slot(l, i)) continue;
        uint32_t bytes = (uint32_t)i->width * (i->vec ? i->vec : 1);
        for (uint32_t s = first_spec(call) + call->imm; s < call->nsrc; s++) {
            const orr_operand *o = orr_src(l->k, call, (int)s);
            slot result = {(uint32_t)(o->value >> 32), (uint32_t)o->value};
            if (o->kind != ORR_K_IMM || !covers(&result, i->disp, bytes)) continue;
            for (int d = 0; d < i->ndst; d++) {
                uint32_t v = l->of[i->first + (uint32_t)d];
                if (orr_dst(l->k, i, d)->kind != ORR_K_REG || v == NONE) continue;
                source w = lower_source(l, (ref){.kind = ORR_K_REG, .cls = l->values.at[v].cls, .value = v});
                for (uint32_t p = 0; p < w.n && p < 4; p++)
                    if (w.leaf[p].kind == LEAF_REG) lower_dst(l, w.leaf[p].v);
            }
        }
    }
}
