// Instruction selection, second part: logic, predicates and minima that take along what makes their operands.
#include "lower/select.h"

// Hopper has the least and the largest of three, and adds and compares in one instruction: the former first.
void lower_fold_min(scan *c, uint32_t n) {
    lower *l = c->l;
    const orr_inst *i = &l->k->insts[n];
    if (l->cc < 90 || i->nsrc != 2 || !is_int(i, 4)) return;
    for (int try = 0; try < 4; try++) {
        bool sum = try >= 2;
        int s = 1 - try % 2;
        uint32_t p = lower_producer(l, lower_ref(l, n, s), true);
        if (p == NONE || l->select.of[p] || !lower_all_still(c, p)) continue;
        const orr_inst *q = &l->k->insts[p];
        bool fits = sum ? (q->op == ORR_OP_ADD || q->op == ORR_OP_SUB) && is_int(q, 4) &&
                              !(q->mods & (ORR_M_CC | ORR_M_X | ORR_M_SAT))
                        : q->op == i->op && q->type == i->type && q->mods == i->mods;
        if (!fits || q->nsrc != 2) continue;
        ref src[3] = {lower_ref(l, p, 0), lower_ref(l, p, 1), lower_ref(l, n, 1 - s)};
        if (is_imm(src[1]) && is_imm(src[2]) && !(sum && !src[2].imm)) continue; // one immediate, and zero
        lower_fuse(c, n, p, sum ? FUSED_ADDMNMX : FUSED_MNMX3, src, 3);
        return;
    }
}

static bool is_logic(const lower *l, uint32_t n, int bytes) {
    const orr_inst *i = &l->k->insts[n];
    uint16_t op = lower_op(l, n);
    bool logic =
        op == ORR_OP_AND || op == ORR_OP_OR || op == ORR_OP_XOR || op == ORR_OP_NOT || op == FUSED_LOP3;
    return logic && i->type != ORR_T_PRED && bytes_of(i) == bytes;
}

static bool same_ref(ref a, ref b) {
    return a.kind == b.kind && ((a.kind == ORR_K_REG && a.value == b.value && a.value != NONE) ||
                                (a.kind == ORR_K_IMM && a.imm == b.imm));
}

// Up to three inputs make one LOP3 (Maxwell and later), each of them as often as one likes.
void lower_fold_logic(scan *c, uint32_t n) {
    lower *l = c->l;
    int bytes = bytes_of(&l->k->insts[n]);
    if (l->cc < 50 || !is_logic(l, n, bytes)) return;
    for (int s = 1; s >= 0; s--) {
        int have = lower_nsrc(l, n);
        if (s >= have) continue;
        uint32_t p = lower_producer(l, lower_ref(l, n, s), true);
        if (p == NONE || !is_logic(l, p, bytes) || !lower_all_still(c, p)) continue;
        int add = lower_nsrc(l, p);
        if (add < 1 || have + add > 6) continue;
        ref src[6] = {0};
        int k = 0;
        for (int t = 0; t < have + add; t++) {
            if (t == s) continue;
            ref r = t < have ? lower_ref(l, n, t) : lower_ref(l, p, t - have);
            int x = 0;
            while (x < k && !same_ref(src[x], r)) x++;
            src[x] = r;
            k += x == k;
        }
        if (k > 3) continue;
        lower_fuse(c, n, p, FUSED_LOP3, src, k);
    }
}

// and.pred and the like of a comparison: SETP has a third operand for that.
void lower_fold_predicates(scan *c, uint32_t n) {
    lower *l = c->l;
    const orr_inst *i = &l->k->insts[n];
    if (i->type != ORR_T_PRED || i->nsrc != 2) return;
    for (int s = 1; s >= 0; s--) {
        ref a = lower_ref(l, n, s);
        uint32_t p = lower_producer(l, a, true);
        if (p == NONE || l->select.of[p]) continue;
        const orr_inst *q = &l->k->insts[p];
        if (q->op != ORR_OP_SETP || q->nsrc != 2 || !lower_all_still(c, p)) continue;
        ref src[3] = {lower_ref(l, p, 0), lower_ref(l, p, 1), lower_ref(l, n, 1 - s)};
        lower_fuse(c, n, p, FUSED_SETP2, src, 3);
        return;
    }
}

// A comparison with zero of a logic operation's result: LOP3 says itself whether it is zero.
void lower_fold_zero_test(scan *c, uint32_t n) {
    lower *l = c->l;
    const orr_inst *i = &l->k->insts[n];
    if (l->cc < 70 || i->guard >= 0 || i->nsrc != 2 || i->ndst != 1 || !is_int(i, 4)) return;
    if (i->cmp != ORR_CMP_EQ && i->cmp != ORR_CMP_NE) return;
    ref zero = lower_ref(l, n, 1);
    uint32_t to = lower_result(l, n), p = lower_producer(l, lower_ref(l, n, 0), false);
    if (!is_imm(zero) || zero.imm || to == NONE || l->values.at[to].merged || p == NONE || p < c->first)
        return;
    if (!is_logic(l, p, 4) || (l->select.todo[p] & DO_PREDLOP)) return;
    l->select.todo[p] |= DO_PREDLOP;
    l->select.todo[n] |= DO_SKIP;
    l->select.pred_of[p] = to;
    l->values.at[to].def = p; // it is written there now
    l->values.at[lower_ref(l, n, 0).value].uses--;
}

// What a wait for an mbarrier says goes through a register in PTX (selp 1, 0 and a comparison with zero),
// since inline assembly has no predicates to give; ptxas takes the predicate itself.
void lower_fold_wait(scan *c, uint32_t n) {
    lower *l = c->l;
    const orr_inst *i = &l->k->insts[n];
    if (l->cc < 70 || i->guard >= 0 || i->nsrc != 2 || i->ndst != 1 || !is_int(i, 4)) return;
    if ((l->select.todo[n] & DO_SKIP) || (i->cmp != ORR_CMP_EQ && i->cmp != ORR_CMP_NE)) return;
    ref zero = lower_ref(l, n, 1), word = lower_ref(l, n, 0);
    uint32_t to = lower_result(l, n), p = lower_producer(l, word, true);
    if (!is_imm(zero) || zero.imm || to == NONE || l->values.at[to].merged || p == NONE || p < c->first)
        return;
    if (l->k->insts[p].op != ORR_OP_SELP || l->k->insts[p].nsrc != 3) return;
    ref one = lower_ref(l, p, 0), none = lower_ref(l, p, 1), said = lower_ref(l, p, 2);
    if (!is_imm(one) || one.imm != 1 || !is_imm(none) || none.imm || said.kind != ORR_K_REG ||
        said.value == NONE || l->values.at[said.value].merged)
        return;
    uint32_t def = l->values.at[said.value].def;
    if (def == NONE || def < c->first || l->k->insts[def].op != ORR_OP_MBARRIER) return;
    l->values.at[lower_web(l, to)].web = lower_web(l, said.value);
    l->values.at[to].merged = l->values.at[said.value].merged = true;
    l->values.at[word.value].uses--;
    l->select.todo[n] |= DO_SKIP;
    l->select.todo[p] |= DO_SKIP;
}
