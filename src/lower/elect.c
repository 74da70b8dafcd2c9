// Atomics that one lane does for all.
//
// Where all lanes of a warp aim at one word, ptxas has one of them do it (sm_80 and later; seen in the
// machine code of 52 small kernels, docs/how/lowering.md): the lanes vote who is there, the highest of them
// is the leader, and its operand is their number times the common operand, or the sum, minimum, ... of theirs
// by REDUX. Who wants the old value has the leader's by a shuffle, and adds what the lanes before it have
// added. What differs from lane to lane and is returned takes a scan over the lanes, which needs all 32 of
// them.
//
// Not combined: floats; exchanges, compare and swap, inc and dec; minima and the like that are returned;
// 64 bits unless all add the same; and where one thread of the block is all there is (tid.x == constant).
#include <stdlib.h>

#include "lower/pass.h"

enum elect_how { EACH, COUNT, COUNT_WIDE, SUM, SCAN }; // elect.how

#define FAR_UP 64 // branches above an atomic that are looked at

void lower_alike(lower *l) {
    bool any = false;
    for (uint32_t b = 0; b < l->func.nblocks && !any; b++) {
        const orr_block *blk = &l->k->blocks[l->func.first_block + b];
        for (uint32_t n = blk->first; n < blk->first + blk->count; n++)
            any |= l->k->insts[n].op == ORR_OP_ATOM || l->k->insts[n].op == ORR_OP_RED;
    }
    if (!any) return;
    uint8_t *parted = orr_calloc(l->k->nblocks + 1, 1);
    lower_divergence(l->k, &l->func, parted, l->alike);
    free(parted);
}

// ---- one thread of the block ---------------------------------------------------------------------
// Does the predicate hold for one tid.x only?
static bool picks_thread(const lower *l, uint32_t predicate, bool negated) {
    if (predicate == NONE || l->values.at[predicate].def == NONE) return false;
    uint32_t n = l->values.at[predicate].def;
    const orr_inst *i = &l->k->insts[n];
    if (i->op != ORR_OP_SETP || i->nsrc != 2 || i->cmp != (negated ? ORR_CMP_NE : ORR_CMP_EQ)) return false;
    const orr_operand *a = orr_src(l->k, i, 0), *b = orr_src(l->k, i, 1);
    uint32_t v = a->kind == ORR_K_REG ? l->of[i->first + i->ndst] : NONE;
    if (v == NONE || b->kind != ORR_K_IMM || l->values.at[v].def == NONE) return false;
    const orr_inst *from = &l->k->insts[l->values.at[v].def];
    return from->op == ORR_OP_SREG && from->imm == ORR_SREG_TID_X;
}

static bool one_thread(const lower *l, uint32_t n) {
    if (picks_thread(l, l->guard[n], l->k->insts[n].guard_neg)) return true;
    const flow *f = &l->flow;
    uint32_t b = l->block_of[n - l->first_inst];
    for (int up = 0; b != NONE && up < FAR_UP; b = f->idom[b], up++) {
        if (f->pred_first[b + 1] - f->pred_first[b] != 1) continue;
        const orr_block *from = &l->k->blocks[l->func.first_block + f->preds[f->pred_first[b]]];
        uint32_t last = from->first + from->count - 1;
        const orr_inst *i = &l->k->insts[last];
        if (i->op != ORR_OP_BRA || i->guard < 0) continue;
        bool taken = orr_succ(l->k, from, 0) != l->func.first_block + b;
        if (picks_thread(l, l->guard[last], taken == (bool)i->guard_neg)) return true;
    }
    return false;
}

// ---- what becomes of it --------------------------------------------------------------------------
static uint32_t result_of(const lower *l, const orr_inst *i) { // the value that comes back, or NONE
    return i->ndst && orr_dst(l->k, i, 0)->kind == ORR_K_REG ? l->of[i->first] : NONE;
}

// A parameter is the same for all lanes wherever it is read, also where lanes have parted.
static bool is_parameter(lower *l, int at) {
    source s = lower_source(l, lower_ref(l, l->at.inst, at));
    for (int p = 0; p < s.n; p++)
        if (s.leaf[p].kind != LEAF_CONST && s.leaf[p].kind != LEAF_IMM) return false;
    return s.n > 0;
}

static enum elect_how choose(lower *l, const orr_inst *i) {
    uint8_t alike = l->alike[l->at.inst] | (is_parameter(l, 0) ? ALIKE_PLACE : 0);
    bool add = i->sub == ORR_ATOM_ADD;
    if (l->cc < 80 || !(alike & ALIKE_PLACE) || (i->mods & (ORR_M_COUNTS | ORR_M_ACQREL)) || i->vec > 1 ||
        orr_types[i->type].is_float || one_thread(l, l->at.inst))
        return EACH;
    if (i->space != ORR_SPACE_GLOBAL && i->space != ORR_SPACE_SHARED) return EACH;
    if (i->width == 8)
        return add && (alike & ALIKE_OPERAND) && i->space == ORR_SPACE_GLOBAL ? COUNT_WIDE : EACH;
    if (i->width != 4) return EACH;
    if (add && (alike & ALIKE_OPERAND)) return COUNT;
    uint32_t result = result_of(l, i);
    bool red = result == NONE || !l->values.at[result].uses; // in shared memory, too, which has no RED
    switch (i->sub) {
    case ORR_ATOM_ADD: return red ? SUM : SCAN;
    case ORR_ATOM_MIN:
    case ORR_ATOM_MAX:
    case ORR_ATOM_AND:
    case ORR_ATOM_OR:
    case ORR_ATOM_XOR: return red ? SUM : EACH;
    default: return EACH;
    }
}

static uint32_t one(lower *l, const char *name, uint8_t file, uint32_t a, uint32_t b) {
    uint32_t d = lower_temp(l, file, 1);
    lower_begin(l, name);
    if (a != NONE) lower_src(l, a);
    if (b != NONE) lower_src(l, b);
    lower_dst(l, d);
    lower_done(l);
    return d;
}

static uint32_t operand(lower *l) { // in a vector register
    lower_begin(l, "");
    source s = lower_source(l, lower_ref(l, l->at.inst, 1));
    lower_vector(l, &s);
    uint32_t v = l->next.src[0];
    l->next.nsrc = 0;
    return v;
}

// Finds which lanes are there and which of them is the leader, and the lane's own number.
static uint32_t vote(lower *l, elect *e, bool returned) {
    uint32_t lane = one(l, "S2R", FILE_R, NONE, NONE);
    e->mask = one(l, "VOTEU.ANY", FILE_U, NONE, NONE);
    e->leader =
        returned ? one(l, "FLO.U32", FILE_R, e->mask, NONE) : one(l, "UFLO.U32", FILE_U, e->mask, NONE);
    return lane;
}

static void count(lower *l, elect *e, bool returned) {
    uint64_t times;
    bool known = lower_constant(l, lower_ref(l, l->at.inst, 1), &times, 0);
    uint32_t lane = vote(l, e, returned);
    e->operand = known ? one(l, "POPC", FILE_R, e->mask, NONE) : one(l, "UPOPC", FILE_U, e->mask, NONE);
    if (!known)
        e->operand = one(l, "IMAD", FILE_R, operand(l), e->operand);
    else if (times != 1)
        e->operand = one(l, "IMAD", FILE_R, e->operand, NONE);
    e->is_leader = one(l, "ISETP.EQ.U32.AND", FILE_P, e->leader, lane);
}

static void count_wide(lower *l, elect *e, bool returned) {
    uint32_t lane = vote(l, e, returned);
    uint32_t n = one(l, "UPOPC", FILE_U, e->mask, NONE), zero = one(l, "UMOV", FILE_U, NONE, NONE);
    n = one(l, "UIMAD.WIDE.U32", FILE_U, n, NONE);
    zero = one(l, "UIADD3", FILE_U, n, zero);
    e->operand = lower_temp(l, FILE_R, 2);
    for (uint32_t half = 0; half < 2; half++) {
        lower_begin(l, "IMAD.U32");
        lower_src(l, half ? zero : n);
        lower_dst(l, e->operand + half);
        lower_done(l);
    }
    e->is_leader = one(l, "ISETP.EQ.U32.AND", FILE_P, e->leader, lane);
}

static void sum(lower *l, elect *e) {
    uint32_t what = operand(l), lane = vote(l, e, false);
    e->is_leader = one(l, "ISETP.EQ.U32.AND", FILE_P, lane, e->leader);
    e->operand = one(l, "MOV", FILE_R, one(l, "REDUX", FILE_U, what, NONE), NONE);
}

static void scan(lower *l, elect *e) {
    uint32_t sum = one(l, "IMAD.MOV.U32", FILE_R, operand(l), NONE);
    e->mask = one(l, "VOTE.ANY", FILE_R, NONE, NONE);
    one(l, "ISETP.EQ.U32.AND", FILE_P, e->mask, NONE);
    for (int step = 0; step < 5; step++) {
        uint32_t up = one(l, "SHFL.UP", FILE_R, sum, NONE);
        sum = one(l, "IMAD.IADD.U32", FILE_R, sum, up);
        sum = one(l, "MOV", FILE_R, sum, NONE);
    }
    uint32_t lane = one(l, "S2R", FILE_R, NONE, NONE);
    e->is_leader = one(l, "ISETP.EQ.U32.AND", FILE_P, lane, NONE);
    e->operand = sum;
}

elect lower_elect(lower *l, const orr_inst *i) {
    elect e = {.how = (uint8_t)choose(l, i), .operand = NONE};
    bool returned = i->op == ORR_OP_ATOM && i->ndst;
    if (e.how == COUNT) count(l, &e, returned);
    if (e.how == COUNT_WIDE) count_wide(l, &e, returned);
    if (e.how == SUM) sum(l, &e);
    if (e.how == SCAN) scan(l, &e);
    if (e.how) e.old = lower_temp(l, FILE_R, e.how == COUNT_WIDE ? 2 : 1);
    return e;
}

void lower_elect_operands(lower *l, const elect *e, const orr_inst *i) {
    lower_src(l, e->operand);
    if (e->how == COUNT_WIDE) lower_src(l, e->operand + 1);
    lower_src(l, e->is_leader);
    l->next.guards = 1;
    if (i->op != ORR_OP_ATOM || !i->ndst) return;
    lower_dst(l, e->old);
    if (e->how == COUNT_WIDE) lower_dst(l, e->old + 1);
}

void lower_elect_flags(const elect *e, minst *m) {
    m->flags |= ORR_TF_ELECTS | ORR_TF_GUARDED;
    m->imm = e->how == SCAN;
    if (m->space == ORR_SPACE_SHARED) m->flags |= ORR_TF_COUNTS;
}

// Each lane's result: what the leader found, and what the lanes before it add.
void lower_share(lower *l, const elect *e, const orr_inst *i) {
    uint32_t v = result_of(l, i);
    if (v == NONE || e->how == SUM) return;
    uint32_t before;
    if (e->how == SCAN) {
        before = one(l, "SHFL.UP", FILE_R, e->operand, NONE);
    } else {
        before = one(l, "S2R", FILE_R, NONE, NONE); // LTMASK
        before = one(l, "LOP3.LUT", FILE_R, before, e->mask);
        before = one(l, "POPC", FILE_R, before, NONE);
    }
    uint32_t first = one(l, "SHFL.IDX", FILE_R, e->old, e->how == SCAN ? NONE : e->leader);
    uint32_t high = e->how == COUNT_WIDE ? one(l, "SHFL.IDX", FILE_R, e->old + 1, e->leader) : NONE;
    uint32_t to = lower_vreg(l, v);
    lower_begin(l, e->how == COUNT_WIDE ? "IMAD.WIDE.U32" : "IADD3");
    lower_src(l, first);
    if (high != NONE) lower_src(l, high);
    lower_src(l, before);
    lower_dst(l, to);
    if (high != NONE) lower_dst(l, to + 1);
    lower_done(l);
}
