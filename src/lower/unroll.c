// Unrolling: which loops ptxas unrolls, and what they count by.
//
// A loop whose number of iterations is known on entry becomes a test whether there are four, four iterations
// as one block that repeats, a test, two iterations, a test, one (rewrite.c writes them). On top of what nvcc
// has done, and not where it says .pragma "nounroll". The rules are those of ptxas 13.0 for sm_90, found by
// small loops written for that (docs/how/lowering.md; ptxas.h has the numbers): loops of up to 18 operations
// without memory, with loads up to some 40 and 15 loads.
#include <stdlib.h>

#include "lower/rewrite.h"

static int times_written(const rewriter *m, const chain *c, uint32_t reg, const orr_inst **by) {
    int n = 0;
    for (uint32_t b = c->first; b < c->first + c->n; b++) {
        const orr_block *blk = &m->k->blocks[b];
        for (uint32_t x = blk->first; x < blk->first + blk->count; x++) {
            const orr_inst *i = &m->k->insts[x];
            for (int d = 0; d < i->ndst; d++) {
                const orr_operand *o = orr_dst(m->k, i, d);
                if (o->kind != ORR_K_REG || index_of(m, o) != reg) continue;
                *by = i;
                n += i->guard >= 0 || m->role[b] != MAIN ? 2 : 1;
            }
        }
    }
    return n;
}

// The instruction that writes a predicate last, before the loop's branch reads it; NULL: not always the same
// one. (Values that are never alive with it have the same register.)
static const orr_inst *last_written(const rewriter *m, const chain *c, uint32_t reg) {
    for (uint32_t b = c->first + c->n; b-- > c->first;) {
        const orr_block *blk = &m->k->blocks[b];
        for (uint32_t x = blk->first + blk->count; x-- > blk->first;) {
            const orr_inst *i = &m->k->insts[x];
            for (int d = 0; d < i->ndst; d++) {
                const orr_operand *o = orr_dst(m->k, i, d);
                if (o->kind == ORR_K_REG && index_of(m, o) == reg)
                    return i->guard >= 0 || m->role[b] != MAIN ? NULL : i;
            }
        }
    }
    return NULL;
}

static bool fixed(const rewriter *m, const chain *c, const orr_operand *o) { // does not change in the loop
    const orr_inst *by;
    return o->kind == ORR_K_IMM || (o->kind == ORR_K_REG && !times_written(m, c, index_of(m, o), &by));
}

// A copy of a copy: what register r is made of in the loop.
static const orr_inst *counts(const rewriter *m, const chain *c, const orr_operand *r) {
    const orr_inst *by = NULL;
    uint32_t reg = index_of(m, r), at = reg;
    for (int depth = 0; depth < 3; depth++) {
        if (times_written(m, c, at, &by) != 1 || !by->nsrc) return NULL;
        const orr_operand *a = orr_src(m->k, by, 0);
        if (by->op == ORR_OP_MOV && by->nsrc == 1 && a->kind == ORR_K_REG && a->cls == r->cls) {
            at = index_of(m, a);
            continue;
        }
        if ((by->op != ORR_OP_ADD && by->op != ORR_OP_SUB) || by->nsrc != 2 || orr_types[by->type].is_float)
            return NULL;
        return orr_src(m->k, by, 1)->kind == ORR_K_IMM ? by : NULL; // by a constant, else it stays as it is
    }
    return NULL;
}

// What ptxas counts an instruction of a loop for when it decides whether to unroll it (docs/how/lowering.md).
// NONE: it calls a function, or others change what it finds; then it does not.
static uint32_t cost_of(const orr_inst *i) {
    uint8_t type = i->type;
    bool f32 = type == ORR_T_F32, approx = i->mods & (ORR_M_APPROX | ORR_M_FULL), ftz = i->mods & ORR_M_FTZ;
    switch (i->op) {
    case ORR_OP_MOV:
    case ORR_OP_CVTA:
    case ORR_OP_BRA: return 0;
    case ORR_OP_EX2:
    case ORR_OP_LG2:
    case ORR_OP_RSQRT: return f32 && !ftz ? 6 : 1;
    case ORR_OP_RCP:
    case ORR_OP_SQRT: return f32 && approx ? (ftz ? 1 : 6) : NONE;
    case ORR_OP_DIV:
        if (f32) return approx ? (i->mods & ORR_M_FULL ? 10 : 6) : NONE;
        return orr_types[type].is_float || orr_types[type].bytes > 4 ? NONE : 18;
    case ORR_OP_REM: return orr_types[type].bytes > 4 ? NONE : 18;
    case ORR_OP_ATOM: return NONE;
    default: break;
    }
    if (i->space == ORR_SPACE_PARAM) return 0;
    if (!orr_inst_traced(i)) return 1;
    if (rewrite_accesses(i) > 1) return 2 * MATRIX_ACCESSES;
    return i->space == ORR_SPACE_SHARED && (orr_ops[i->op].flags & ORR_F_LOAD) ? 1 : 2;
}

// What the counter holds when the loop is entered, if it is a constant moved there on the only way to it.
static bool starts_with(const rewriter *m, const chain *c, uint32_t reg, int64_t *out) {
    for (uint32_t b = c->first - m->first; b-- > 0;) {
        const orr_block *blk = block_at(m, b);
        if (blk->next != (int32_t)(m->first + b + 1)) return false;
        for (uint32_t x = blk->first + blk->count; x-- > blk->first;) {
            const orr_inst *i = &m->k->insts[x];
            for (int d = 0; d < i->ndst; d++) {
                const orr_operand *o = orr_dst(m->k, i, d);
                if (o->kind != ORR_K_REG || index_of(m, o) != reg) continue;
                if (i->op != ORR_OP_MOV || i->nsrc != 1 || i->guard >= 0 ||
                    orr_src(m->k, i, 0)->kind != ORR_K_IMM)
                    return false;
                *out = (int32_t)orr_src(m->k, i, 0)->value;
                return true;
            }
        }
        if (m->preds[b] != 1) return false;
    }
    return false;
}

// How many rounds a loop has, if both ends of its counter are constants; 0: not known.
static uint64_t rounds_of(const rewriter *m, const chain *c, const counter *n) {
    const orr_inst *step = counts(m, c, &n->it);
    const orr_operand *from = orr_src(m->k, step, 0);
    int64_t first, by = (int32_t)orr_src(m->k, step, 1)->value, end = (int32_t)n->bound.value;
    if (n->bound.kind != ORR_K_IMM || from->kind != ORR_K_REG || !by) return 0;
    if (!starts_with(m, c, index_of(m, from), &first)) return 0;
    int64_t rounds = (end - first) / (step->op == ORR_OP_SUB ? -by : by);
    return rounds > 1 ? (uint64_t)rounds : 0;
}

// Instructions of a loop that compute with its counter and constants alone, besides counter and test: they
// are gone when all rounds are written out.
static uint32_t known_in(const rewriter *m, const chain *c, const counter *n) {
    uint64_t *known = orr_calloc(m->live.words, sizeof *known);
    const orr_inst *step = counts(m, c, &n->it);
    uint32_t found = 0;
    orr_live_put(known, index_of(m, orr_src(m->k, step, 0)));
    for (uint32_t b = c->first; b < c->first + c->n; b++)
        for (uint32_t x = m->k->blocks[b].first; x < m->k->blocks[b].first + m->k->blocks[b].count; x++) {
            const orr_inst *i = &m->k->insts[x];
            bool all = i->ndst == 1 && i->guard < 0 && !orr_inst_traced(i) && !orr_inst_differs(i) &&
                       i->op != ORR_OP_SREG && i->op != ORR_OP_LD;
            bool any = false;
            for (int o = 0; all && o < i->nsrc; o++) {
                const orr_operand *a = orr_src(m->k, i, o);
                bool is = a->kind == ORR_K_REG && orr_live_has(known, index_of(m, a));
                all = is || a->kind == ORR_K_IMM;
                any |= is;
            }
            if (!all || !any || i == step || i == n->test) continue;
            orr_live_put(known, index_of(m, orr_dst(m->k, i, 0)));
            found += cost_of(i) == 1;
        }
    free(known);
    return found;
}

uint32_t unroll_cost(const orr_inst *i) {
    uint32_t cost = cost_of(i);
    return cost == 1 && orr_inst_traced(i) ? 2 : cost; // loads from shared memory, too
}

bool unroll_completely(uint64_t rounds, uint64_t cost, uint64_t known) {
    uint64_t all = rounds * cost;
    if (rounds > PTXAS_WHOLE_ROUNDS || cost > PTXAS_WHOLE_ROUNDS) return false;
    return all <= PTXAS_WHOLE_ALWAYS || 2 * (all - PTXAS_WHOLE_BASE) * (all - PTXAS_WHOLE_BASE) <=
                                            PTXAS_WHOLE_SLOPE * rounds * (2 + known);
}

bool unroll_counted(const rewriter *m, const chain *c, counter *out) {
    uint32_t b = c->first + c->n - 1;
    const orr_block *blk = &m->k->blocks[b];
    const orr_inst *branch = &m->k->insts[blk->first + blk->count - 1], *test = NULL;
    if (branch->op != ORR_OP_BRA || branch->guard < 0 || (uint32_t)branch->target != c->first ||
        (branch->mods & ORR_M_NOUNROLL) || blk->next != (int32_t)b + 1)
        return false;
    test = last_written(m, c, (uint32_t)branch->guard);
    if (!test || test->op != ORR_OP_SETP || test->nsrc != 2 || test->ndst != 1 ||
        orr_types[test->type].is_float)
        return false;
    uint32_t work = 0, all = 0, loads = 0, shared = 0;
    for (uint32_t x = c->first; x < c->first + c->n; x++)
        for (uint32_t n = m->k->blocks[x].first; n < m->k->blocks[x].first + m->k->blocks[x].count; n++) {
            const orr_inst *i = &m->k->insts[n];
            uint16_t f = orr_ops[i->op].flags;
            uint32_t cost = cost_of(i);
            if ((f & (ORR_F_CALL | ORR_F_RET | ORR_F_EXIT)) || cost == NONE) return false;
            if ((orr_inst_waits_for(m->k, i) && m->parted[x]) || (i->mods & ORR_M_VOLATILE)) return false;
            bool load = (f & ORR_F_LOAD) && orr_inst_traced(i), here = i->space == ORR_SPACE_SHARED;
            uint32_t more = cost && m->role[x] != MAIN; // under a predicate
            work += cost + more;
            all += unroll_cost(i) + more;
            loads += load && !here;
            shared += load && here;
        }
    work -= work > 2 ? 2 : work; // counter and test
    all -= all > 2 ? 2 : all;
    uint32_t most = loads ? PTXAS_LOOP_LOADING : PTXAS_LOOP_PLAIN;
    if (PTXAS_LOOP_PLAIN + PTXAS_LOOP_SHARED * shared > most)
        most = PTXAS_LOOP_PLAIN + PTXAS_LOOP_SHARED * shared;
    if (most > PTXAS_LOOP_MOST) most = PTXAS_LOOP_MOST;
    for (int s = 0; s < 2; s++) {
        const orr_operand *a = orr_src(m->k, test, s), *o = orr_src(m->k, test, 1 - s);
        if (a->kind != ORR_K_REG || (a->cls != ORR_W && a->cls != ORR_D) || !fixed(m, c, o)) continue;
        if (!counts(m, c, a)) continue;
        *out = (counter){test, branch, *a, *o, 0};
        out->rounds = rounds_of(m, c, out);
        if (work <= most) return true;
        if (!out->rounds || all > PTXAS_CHAIN_INSTS) return false;
        uint32_t known = known_in(m, c, out);
        return unroll_completely(out->rounds, all - known, known) ||
               (out->rounds >= PTXAS_LOOP_SOME && all <= PTXAS_LOOP_MOST);
    }
    return false;
}
