// Instruction selection, third part: sums that take along the product, shift, sum or selection that makes one
// of their operands. An addition looks at its second source first, as ptxas does; the first that can be
// folded is.
#include "lower/select.h"

#define CARRIES (ORR_M_CC | ORR_M_X | ORR_M_SAT) // a sum with one of these is not folded

typedef struct addend {    // of an addition: what makes one of its sources
    uint32_t p;            // the instruction
    const orr_inst *i, *q; // the addition, and p's
    ref a, other;          // the source, and the other one
    bool wide;             // 64 bits
    bool once;             // nobody else reads it
} addend;

static bool plain_sum(const orr_inst *q, const orr_inst *i) {
    return is_int(q, bytes_of(i)) && !(q->mods & CARRIES);
}

// Two constants are one.
static bool fold_constants(scan *c, uint32_t n, const addend *x, ref base, ref add) {
    ref sum = x->other;
    sum.imm += add.imm;
    if (!x->wide) sum.imm &= 0xffffffff;
    lower_fuse(c, n, x->p, ORR_OP_ADD, (ref[]){base, sum}, 2);
    return true;
}

// What becomes one instruction with the addition if that is its only reader, and not if it is one already.
static bool fold_single(scan *c, uint32_t n, const addend *x) {
    lower *l = c->l;
    const orr_inst *i = x->i, *q = x->q;
    uint32_t p = x->p;
    if (!x->once || l->select.of[p] || i->op != ORR_OP_ADD || is_imm(x->other)) return false;
    if (x->wide) {
        if (q->op != ORR_OP_CVT || q->stype != ORR_T_S32 || !is_int(q, 8) || l->cc < 70) return false;
        lower_fuse(c, n, p, FUSED_SXADD, (ref[]){lower_ref(l, p, 0), x->other}, 2);
        return true;
    }
    if (lower_nsrc(l, p) < 2) return false;
    if (q->op == ORR_OP_SHF && !q->sub && q->nsrc == 3 && is_imm(lower_ref(l, p, 2)) && l->cc >= 70) {
        lower_fuse(c, n, p, FUSED_LEAHI, (ref[]){lower_ref(l, p, 0), x->other, lower_ref(l, p, 1)}, 3);
        return true;
    }
    if (q->op == ORR_OP_SELP && is_imm(lower_ref(l, p, 0)) && is_imm(lower_ref(l, p, 1)) && i->guard < 0 &&
        l->cc >= 90) {
        ref src[4] = {x->other, lower_ref(l, p, 0), lower_ref(l, p, 2), lower_ref(l, p, 1)};
        lower_fuse(c, n, p, FUSED_SELADD, src, 4);
        return true;
    }
    return false;
}

// Products, shifts and sums.
static bool fold_arithmetic(scan *c, uint32_t n, const addend *x) {
    lower *l = c->l;
    const orr_inst *i = x->i, *q = x->q;
    uint32_t p = x->p;
    // A product or shift that costs nothing extra is done again for each reader.
    bool again = q->op == ORR_OP_SHL
                     ? l->cc >= 50
                     : q->op == ORR_OP_MUL && (q->mods & ORR_M_WIDE) && (l->cc >= 70 || l->cc < 50);
    if (!x->once && !again) return false;
    ref src[3] = {lower_ref(l, p, 0), lower_ref(l, p, 1), x->other};
    bool mul = q->op == ORR_OP_MUL && !orr_types[q->type].is_float && q->nsrc == 2;
    if (mul && x->wide && (q->mods & ORR_M_WIDE) && bytes_of(q) == 4) {
        lower_fuse(c, n, p, FUSED_WIDEADD, src, 3);
        return true;
    }
    if (mul && (q->mods & ORR_M_LO) && bytes_of(q) == bytes_of(i)) {
        lower_fuse(c, n, p, FUSED_MULADD, src, 3);
        return true;
    }
    if (q->op == ORR_OP_SHL && bytes_of(q) == bytes_of(i) && is_imm(src[1]) && i->op == ORR_OP_ADD) {
        lower_fuse(c, n, p, FUSED_LEA, (ref[]){src[0], x->other}, 2);
        lower_selection_for(l, n)->disp = (int64_t)(src[1].imm & 63);
        return true;
    }
    if (q->op == ORR_OP_ADD && i->op == ORR_OP_ADD && is_imm(src[1]) && is_imm(x->other) && plain_sum(q, i))
        return fold_constants(c, n, x, src[0], src[1]);
    if ((q->op == ORR_OP_ADD || q->op == ORR_OP_SUB) && l->cc >= 50 && q->nsrc == 2 && plain_sum(q, i)) {
        lower_fuse(c, n, p, FUSED_IADD3, src, 3);
        return true;
    }
    return false;
}

static bool fold_addend(scan *c, uint32_t n, const addend *x) {
    lower *l = c->l;
    const orr_inst *i = x->i, *q = x->q;
    uint32_t p = x->p;
    if (fold_single(c, n, x)) return true;
    if (lower_nsrc(l, p) < 2) return false;
    if (l->select.of[p]) { // of all that was selected, only sums with a constant go on being one
        bool sum = lower_op(l, p) == ORR_OP_ADD && q->op == ORR_OP_ADD && i->op == ORR_OP_ADD &&
                   lower_nsrc(l, p) == 2 && is_imm(lower_ref(l, p, 1)) && is_imm(x->other) &&
                   plain_sum(q, i) && x->once;
        return sum && fold_constants(c, n, x, lower_ref(l, p, 0), lower_ref(l, p, 1));
    }
    if (q->op == ORR_OP_SHR && i->op == ORR_OP_ADD && !x->wide && is_int(q, 4) && l->cc >= 70 && x->once &&
        is_imm(lower_ref(l, p, 1))) { // the upper half of a shift to the left
        lower_fuse(c, n, p, FUSED_LEAHI, (ref[]){lower_ref(l, p, 0), x->other}, 2);
        return true;
    }
    return fold_arithmetic(c, n, x);
}

void lower_fold_add(scan *c, uint32_t n) {
    lower *l = c->l;
    const orr_inst *i = &l->k->insts[n];
    if (i->nsrc != 2 || (i->mods & CARRIES)) return;
    bool wide = is_int(i, 8);
    if (!wide && !is_int(i, 4)) return;
    for (int s = 1; s >= 0; s--) {
        addend x = {.i = i, .a = lower_ref(l, n, s), .other = lower_ref(l, n, 1 - s), .wide = wide};
        x.p = lower_producer(l, x.a, false);
        if (x.p == NONE || !lower_all_still(c, x.p)) continue;
        x.q = &l->k->insts[x.p];
        x.once = l->values.at[x.a.value].uses == 1;
        if (fold_addend(c, n, &x)) return;
    }
}

// ptxas contracts a product and a sum that ask for no rounding of their own (PTX manual, mul and add).
void lower_fold_fma(scan *c, uint32_t n) {
    lower *l = c->l;
    const orr_inst *i = &l->k->insts[n];
    if (i->nsrc != 2 || i->round != ORR_RND_NONE || (i->type != ORR_T_F32 && i->type != ORR_T_F64)) return;
    for (int s = 1; s >= 0; s--) {
        uint32_t p = lower_producer(l, lower_ref(l, n, s), true);
        if (p == NONE || l->select.of[p] || !lower_all_still(c, p)) continue;
        const orr_inst *q = &l->k->insts[p];
        if (q->op != ORR_OP_MUL || q->type != i->type || q->round != ORR_RND_NONE || q->nsrc != 2 ||
            (q->mods & ORR_M_SAT))
            continue;
        ref src[3] = {lower_ref(l, p, 0), lower_ref(l, p, 1), lower_ref(l, n, 1 - s)};
        lower_fuse(c, n, p, ORR_OP_FMA, src, 3);
        return;
    }
}
