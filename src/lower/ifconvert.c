// If-conversion: short bodies under a branch become predicated, so that they and what is around them are
// scheduled as one block. A chain is what comes of it: blocks that follow each other, of which some run
// always and the others (bodies) under the guard of a branch that vanishes.
//
// The rules are those of ptxas 13.0 for sm_90, found by small branches written for that
// (docs/how/lowering.md): a body of up to 7 instructions is predicated, one with loads up to 18 (ptxas.h).
#include "lower/rewrite.h"

static const orr_inst *last_of(const rewriter *m, uint32_t b) {
    return &m->k->insts[block_at(m, b)->first + block_at(m, b)->count - 1];
}

static bool is_work(const orr_inst *i) { // becomes an instruction of its own, most likely
    switch (i->op) {
    case ORR_OP_MOV:
    case ORR_OP_CVTA:
    case ORR_OP_BRA:
    case ORR_OP_SHL: return false;
    case ORR_OP_MUL: return !(i->mods & ORR_M_WIDE);
    default: return i->space != ORR_SPACE_PARAM;
    }
}

static uint32_t work_of(const rewriter *m, uint32_t b) {
    uint32_t n = 0;
    const orr_block *blk = block_at(m, b);
    for (uint32_t i = blk->first; i < blk->first + blk->count; i++) n += is_work(&m->k->insts[i]);
    return n;
}

static uint32_t most_of(const rewriter *m, uint32_t b) {
    const orr_block *blk = block_at(m, b);
    for (uint32_t i = blk->first; i < blk->first + blk->count; i++)
        if ((orr_ops[m->k->insts[i].op].flags & ORR_F_LOAD) && orr_inst_traced(&m->k->insts[i]))
            return PTXAS_BODY_LOADING;
    return PTXAS_BODY_PLAIN;
}

static bool fits_both(const rewriter *m, uint32_t a, uint32_t b) {
    uint32_t x = most_of(m, a), y = most_of(m, b);
    return work_of(m, a) + work_of(m, b) <= (x > y ? x : y);
}

static bool writes(const rewriter *m, uint32_t b, uint32_t reg) {
    const orr_block *blk = block_at(m, b);
    for (uint32_t n = blk->first; n < blk->first + blk->count; n++)
        for (int d = 0; d < m->k->insts[n].ndst; d++) {
            const orr_operand *o = orr_dst(m->k, &m->k->insts[n], d);
            if (o->kind == ORR_K_REG && index_of(m, o) == reg) return true;
        }
    return false;
}

static uint32_t only_successor(const rewriter *m, uint32_t b) {
    return orr_succ_count(m->k, block_at(m, b)) == 1 ? orr_succ(m->k, block_at(m, b), 0) - m->first : NONE;
}

// Can block b run under the guard of a branch, with `join` behind it?
static bool can_predicate(const rewriter *m, uint32_t b, const orr_inst *branch, uint32_t join) {
    const orr_block *blk = block_at(m, b);
    if (m->preds[b] != 1 || join >= m->nblocks) return false;
    for (uint32_t n = blk->first; n < blk->first + blk->count; n++) {
        const orr_inst *i = &m->k->insts[n];
        uint16_t f = orr_ops[i->op].flags;
        bool jump = i->op == ORR_OP_BRA && n + 1 == blk->first + blk->count;
        if (i->guard >= 0) return false;
        if (jump) continue;
        if (f & (ORR_F_BARRIER | ORR_F_CALL | ORR_F_RET | ORR_F_EXIT | ORR_F_BRANCH | ORR_F_FENCE |
                 ORR_F_END | ORR_F_ATOMIC))
            return false;
        if (orr_inst_waits_for(m->k, i) || (i->mods & (ORR_M_VOLATILE | ORR_M_CC | ORR_M_X))) return false;
        if (i->op == ORR_OP_DIV || i->op == ORR_OP_REM || i->op == ORR_OP_SQRT) return false;
        if (i->op == ORR_OP_CPWAIT || i->op == ORR_OP_CPCOMMIT || i->op == ORR_OP_CPMBAR) return false;
    }
    uint32_t p = (uint32_t)branch->guard;
    return work_of(m, b) <= most_of(m, b) &&
           !(writes(m, b, p) && orr_live_has(orr_live_in(&m->live, join), p));
}

static bool starts_alone(const rewriter *m, uint32_t b) { // lanes meet before its first instruction
    return orr_inst_waits_for(m->k, &m->k->insts[block_at(m, b)->first]) != NULL;
}

static bool only_ends(const rewriter *m, uint32_t b) { // a branch there is an EXIT
    const orr_inst *i = last_of(m, b);
    return block_at(m, b)->count == 1 && (i->op == ORR_OP_RET || i->op == ORR_OP_EXIT);
}

static bool is_body(const rewriter *m, uint32_t b, const orr_inst *branch, uint32_t join) {
    return b < m->nblocks && join < m->nblocks && only_successor(m, b) == join &&
           can_predicate(m, b, branch, join);
}

// Bodies between block `at`, which ends in a branch, and the block where its lanes meet, which nobody else
// leads to. Then and else, or one of them; nvcc also writes the branch as two: if so there, else there.
static uint32_t bodies_behind(const rewriter *m, uint32_t at, const orr_inst *branch) {
    uint32_t next = at + 1, to = (uint32_t)branch->target - m->first;
    for (uint32_t n = 1; n <= 3; n++) {
        uint32_t join = next + n;
        if (join >= m->nblocks || m->preds[join] != 2 || (to != next + 1)) continue;
        bool hop = block_at(m, next)->count == 1 && last_of(m, next)->op == ORR_OP_BRA &&
                   last_of(m, next)->guard < 0 && m->preds[next] == 1;
        if (n == 1 && is_body(m, next, branch, join)) return 1;
        if (n == 2 && is_body(m, to, branch, join) && only_successor(m, next) == join &&
            (hop || (is_body(m, next, branch, join) && fits_both(m, next, to))))
            return 2;
        if (n == 3 && hop && only_successor(m, next) == to + 1 && is_body(m, to, branch, join) &&
            is_body(m, to + 1, branch, join) && fits_both(m, to, to + 1))
            return 3;
    }
    return 0;
}

uint32_t ifconvert_chain(rewriter *m, uint32_t b) {
    uint32_t at = b, insts = block_at(m, b)->count;
    bool met = starts_alone(m, b); // lanes that may have parted did so once for all of the chain
    for (;;) {
        const orr_inst *i = last_of(m, at);
        uint32_t next = at + 1, bodies = 0, join = NONE;
        if (next >= m->nblocks || block_at(m, at)->next != (int32_t)(m->first + next)) break;
        if (i->op == ORR_OP_BRA && i->guard >= 0) {
            bodies = bodies_behind(m, at, i);
            if (!bodies) break;
            join = next + bodies;
        } else if (!(orr_ops[i->op].flags & ORR_F_END) && m->preds[next] == 1) {
            join = next;
        } else {
            break;
        }
        if (starts_alone(m, join) && m->parted[m->first + join] && !met) break;
        if (bodies && only_ends(m, join)) break;
        uint32_t more = 0;
        for (uint32_t x = at + 1; x <= join; x++) more += block_at(m, x)->count;
        // Blocks that only a shuffle parts are one, however long: nothing else would begin a block there.
        if (bodies && (insts + more > PTXAS_CHAIN_INSTS || join - b >= PTXAS_CHAIN_BLOCKS)) break;
        insts += more;
        if (bodies) m->role[m->first + next] = BODY_ELSE;
        if (bodies >= 2) m->role[m->first + next + 1] = BODY_THEN;
        if (bodies >= 3) m->role[m->first + next + 2] = BODY_ELSE;
        at = join;
    }
    return at - b;
}
