// The lowering's third step: where lanes can part, and what all threads of a block share.
//
// A value is uniform when it is made of nothing but parameters, the block's index and constants, and does not
// depend on a branch that lanes may take differently. Uniform integer arithmetic runs on the uniform datapath
// (Turing and later). A branch on anything else may split a warp: from Volta on, BSSY names the place where
// its lanes meet again before they part, and BSYNC waits for them there; a small body is predicated instead
// and needs neither. The stream still visits such a body as a block of its own; where it does not, the
// instructions are issued all the same (orr_tblock.body).
#include <stdlib.h>
#include <string.h>

#include "lower/pass.h"

// ---- what is the same for all threads of a block -------------------------------------------------
static bool source_of_difference(const orr_inst *i) {
    bool constant = i->space == ORR_SPACE_PARAM || i->space == ORR_SPACE_CONST;
    return (i->op == ORR_OP_LD && !constant) || orr_inst_differs(i); // what is loaded is in a vector register
}

typedef struct spread {
    lower *l;
    uint32_t *uses, *use_first;     // instructions that read a value
    uint32_t *merges, *merge_first; // merges that read it, by value
    uint32_t *at, *at_first;        // merges of a block
    ORR_VEC(uint32_t) stack;
    uint8_t *seen;
    uint64_t work;
    bool known; // it is asked what is known before the kernel runs, not what lanes have in common
} spread;

static bool not_known(const orr_inst *i);
static bool in_loop(const flow *f, uint32_t b, uint32_t header);

static void differ(spread *s, uint32_t v) {
    if (v == NONE || !s->l->values.at[v].uniform) return;
    s->l->values.at[v].uniform = false;
    *ORR_PUSH(&s->stack) = v;
}

static void differ_all(spread *s, uint32_t n) {
    const orr_inst *i = &s->l->k->insts[n];
    for (int d = 0; d < i->ndst; d++)
        if (orr_dst(s->l->k, i, d)->kind == ORR_K_REG) differ(s, s->l->of[i->first + (uint32_t)d]);
}

// Lanes part at the end of block b: whatever merges before they meet may differ, and where they meet.
static void part(spread *s, uint32_t b) {
    lower *l = s->l;
    const flow *f = &l->flow;
    const orr_block *blk = &l->k->blocks[f->first_block + b];
    uint32_t meet = blk->ipdom >= 0 ? (uint32_t)blk->ipdom - f->first_block : NONE;
    uint32_t *list = orr_malloc((f->nblocks + 1) * sizeof *list), n = 0, done = 0;
    list[n++] = b;
    // Another round of a loop begins at its header h: whether there is one has not decided what merges in it.
    uint32_t h = NONE;
    for (int t = 0; s->known && t < orr_succ_count(l->k, blk); t++) {
        uint32_t to = orr_succ(l->k, blk, t) - f->first_block;
        if (to < f->nblocks && lower_dominates(f, to, b)) h = to;
    }
    while (done < n) {
        uint32_t x = list[done++];
        int ns = orr_succ_count(l->k, &l->k->blocks[f->first_block + x]);
        for (int t = 0; t < ns; t++) {
            uint32_t to = orr_succ(l->k, &l->k->blocks[f->first_block + x], t) - f->first_block;
            if (to >= f->nblocks || s->seen[to]) continue;
            // (not where all lanes come by one block behind the branch: it has not decided what merges there)
            uint32_t by = f->idom[to];
            bool decided = by == NONE || by == b || !lower_dominates(f, b, by);
            if (h != NONE && to != h && in_loop(f, to, h)) decided = false;
            for (uint32_t m = s->at_first[to]; m < s->at_first[to + 1] && decided; m++) differ(s, s->at[m]);
            s->work += s->at_first[to + 1] - s->at_first[to];
            if (to == meet) continue;
            s->seen[to] = 1;
            list[n++] = to;
        }
    }
    for (uint32_t x = 0; x < n; x++) s->seen[list[x]] = 0;
    s->work += n;
    free(list);
}

static void count_in(uint32_t *first, uint32_t *list, uint32_t key, uint32_t item, int pass) {
    if (pass)
        list[first[key]++] = item;
    else
        first[key + 1]++;
}

// Lists by key, made in two passes over the same things: count, then fill.
static void prefix(uint32_t *first, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) first[k + 1] += first[k];
}
static void unshift(uint32_t *first, uint32_t n) {
    for (uint32_t k = n; k > 0; k--) first[k] = first[k - 1];
    first[0] = 0;
}

static void find_readers(spread *s) {
    lower *l = s->l;
    const flow *f = &l->flow;
    uint32_t nv = (uint32_t)l->values.n;
    s->use_first = orr_calloc(nv + 2, 4);
    s->merge_first = orr_calloc(nv + 2, 4);
    s->at_first = orr_calloc(f->nblocks + 2, 4);
    for (int pass = 0; pass < 2; pass++) {
        for (const orr_block *b = &l->k->blocks[f->first_block];
             b < &l->k->blocks[f->first_block + f->nblocks]; b++)
            for (uint32_t n = b->first; n < b->first + b->count; n++) {
                const orr_inst *i = &l->k->insts[n];
                for (int o = 0; o < i->nsrc; o++) {
                    uint32_t v = l->of[i->first + i->ndst + (uint32_t)o];
                    if (v != NONE) count_in(s->use_first, s->uses, v, n, pass);
                }
                if (l->guard[n] != NONE) count_in(s->use_first, s->uses, l->guard[n], n, pass);
            }
        for (uint32_t v = 0; v < nv; v++) {
            const value *m = &l->values.at[v];
            for (uint32_t a = 0; a < m->nargs; a++)
                if (l->args.at[m->first + a] != NONE)
                    count_in(s->merge_first, s->merges, l->args.at[m->first + a], v, pass);
            if (m->prev != NONE) count_in(s->merge_first, s->merges, m->prev, v, pass);
            if (m->nargs && m->live) count_in(s->at_first, s->at, m->block, v, pass);
        }
        if (pass) break;
        prefix(s->use_first, nv);
        prefix(s->merge_first, nv);
        prefix(s->at_first, f->nblocks);
        s->uses = orr_calloc(s->use_first[nv] + 1, 4);
        s->merges = orr_calloc(s->merge_first[nv] + 1, 4);
        s->at = orr_calloc(s->at_first[f->nblocks] + 1, 4);
    }
    unshift(s->use_first, nv);
    unshift(s->merge_first, nv);
    unshift(s->at_first, f->nblocks);
}

// Values that do not depend on what `source` says of; where lanes part by others is in `parts`.
static void find_same(lower *l, bool (*source)(const orr_inst *)) {
    const flow *f = &l->flow;
    spread s = {.l = l, .seen = orr_calloc(f->nblocks + 1, 1), .known = source == not_known};
    uint64_t limit =
        200ull * f->nblocks + 1000000; // of a hostile program's branches; then nothing is uniform
    bool gave_up = false;
    find_readers(&s);
    for (uint32_t v = 0; v < l->values.n; v++) l->values.at[v].uniform = true;
    for (uint32_t b = 0; b < f->nblocks; b++) {
        const orr_block *blk = &l->k->blocks[f->first_block + b];
        for (uint32_t n = blk->first; n < blk->first + blk->count; n++)
            if (source(&l->k->insts[n])) differ_all(&s, n);
    }
    if (l->func.first_block != l->k->funcs[0].first_block) // a function is called by who knows which lanes
        for (uint32_t v = 0; v < l->values.n; v++) differ(&s, v);
    while (s.stack.n) {
        uint32_t v = s.stack.at[--s.stack.n];
        for (uint32_t u = s.use_first[v]; u < s.use_first[v + 1]; u++) {
            uint32_t n = s.uses[u], b = l->block_of[n - l->first_inst];
            uint16_t op = l->k->insts[n].op;
            differ_all(&s, n);
            if ((op == ORR_OP_BRA || op == ORR_OP_BRX) && !l->branch.parts[b]) {
                l->branch.parts[b] = 1;
                if (s.work < limit)
                    part(&s, b);
                else if (!gave_up)
                    for (uint32_t x = 0; x < l->values.n; x++) differ(&s, x);
                gave_up = s.work >= limit;
            }
        }
        for (uint32_t u = s.merge_first[v]; u < s.merge_first[v + 1]; u++) differ(&s, s.merges[u]);
    }
    free(s.uses);
    free(s.use_first);
    free(s.merges);
    free(s.merge_first);
    free(s.at);
    free(s.at_first);
    free(s.stack.at);
    free(s.seen);
}

// ---- what is known before it runs --------------------------------------------------------------
// ptxas unrolls a loop completely whose number of rounds it knows, if it is not too large
// (docs/how/lowering.md; ifconvert.c made four rounds of one). What was computed with nothing but constants
// is then gone: the counter, its test and the branch, or all of it.

static bool not_known(const orr_inst *i) {
    return i->op == ORR_OP_SREG || i->op == ORR_OP_LD || orr_inst_differs(i);
}

// A constant that a register is known to hold, moved there.
static bool moved_constant(const lower *l, uint32_t v, int64_t *out) {
    if (v == NONE || l->values.at[v].def == NONE) return false;
    const orr_inst *i = &l->k->insts[l->values.at[v].def];
    if (i->op != ORR_OP_MOV || i->nsrc != 1 || i->guard >= 0 || orr_src(l->k, i, 0)->kind != ORR_K_IMM)
        return false;
    *out = (int32_t)orr_src(l->k, i, 0)->value;
    return true;
}

// How often block b goes back to header h, if both ends of its counter are constants; 0: not known.
static uint64_t rounds_of(const lower *l, uint32_t b, uint32_t h) {
    const orr_block *blk = &l->k->blocks[l->flow.first_block + b];
    uint32_t last = blk->first + blk->count - 1, guard = l->guard[last];
    if (l->k->insts[last].op != ORR_OP_BRA || guard == NONE || !l->values.at[guard].uniform ||
        (l->k->insts[last].mods & ORR_M_NOUNROLL) || l->values.at[guard].def == NONE)
        return 0;
    const orr_inst *test = &l->k->insts[l->values.at[guard].def];
    if (test->op != ORR_OP_SETP || test->nsrc != 2 || orr_src(l->k, test, 1)->kind != ORR_K_IMM) return 0;
    int64_t bound = (int32_t)orr_src(l->k, test, 1)->value, step = 0, first = 0;
    uint32_t v = l->of[test->first + test->ndst];
    for (int depth = 0; depth < 32 && v != NONE; depth++) {
        const value *x = &l->values.at[v];
        if (x->def == NONE) { // merged: where it starts
            if (x->block != h || !step) return 0;
            for (uint32_t a = 0; a < x->nargs; a++)
                if (moved_constant(l, l->args.at[x->first + a], &first)) {
                    int64_t n = (bound - first) / step;
                    return n < 0 ? (uint64_t)-n : n > 0 ? (uint64_t)n : 1;
                }
            return 0;
        }
        const orr_inst *i = &l->k->insts[x->def];
        bool add = (i->op == ORR_OP_ADD || i->op == ORR_OP_SUB) && i->nsrc == 2 && i->guard < 0 &&
                   orr_src(l->k, i, 1)->kind == ORR_K_IMM;
        bool copy = i->op == ORR_OP_MOV && i->nsrc == 1 && i->guard < 0;
        if (!add && !copy) return 0;
        if (add) {
            int64_t by = (int32_t)orr_src(l->k, i, 1)->value;
            step += i->op == ORR_OP_SUB ? -by : by;
        }
        v = l->of[i->first + i->ndst];
    }
    return 0;
}

// Nothing but a constant, and nobody merges it with what is none.
static bool is_known(lower *l, uint32_t n, const uint8_t *spoilt) {
    const orr_inst *i = &l->k->insts[n];
    uint16_t flags = orr_ops[i->op].flags;
    if (l->guard[n] != NONE && !l->values.at[l->guard[n]].uniform) return false;
    if (i->op == ORR_OP_BRA) return i->guard >= 0;
    if (not_known(i) || !i->ndst ||
        (flags & (ORR_F_FENCE | ORR_F_RET | ORR_F_EXIT | ORR_F_BRANCH | ORR_F_CALL | ORR_F_END)))
        return false;
    for (int o = 0; o < i->nsrc; o++)
        if (orr_src(l->k, i, o)->kind == ORR_K_SYMBOL) return false;
    for (int d = 0; d < i->ndst; d++) {
        uint32_t v = l->of[i->first + (uint32_t)d];
        if (orr_dst(l->k, i, d)->kind != ORR_K_REG || v == NONE) continue;
        if (!l->values.at[v].uniform || spoilt[lower_web(l, v)]) return false;
    }
    return true;
}

static void drop_known(lower *l) {
    const flow *f = &l->flow;
    const orr_block *blocks = &l->k->blocks[f->first_block];
    for (uint32_t n = l->func.first_inst; n < l->func.first_inst + l->func.ninsts; n++)
        if (l->k->insts[n].mods & ORR_M_KNOWN) l->select.todo[n] |= DO_SKIP;
    if (l->func.first_block != l->k->funcs[0].first_block) return;
    bool any = false;
    for (uint32_t b = 0; b < f->nblocks; b++) any |= f->loop[b] == b;
    if (!any || f->nblocks > 4096) return;
    find_same(l, not_known);
    uint8_t *spoilt = orr_calloc(l->values.n + 1, 1); // webs that somebody else writes to
    for (uint32_t v = 0; v < l->values.n; v++)
        if (!l->values.at[v].uniform) spoilt[lower_web(l, v)] = 1;
    for (uint32_t h = 0; h < f->nblocks; h++) {
        if (f->loop[h] != h) continue;
        uint64_t rounds = 0, work = 0, known = 0, copies = 1;
        for (uint32_t b = 0; b < f->nblocks; b++) {
            if (!in_loop(f, b, h)) continue;
            if (f->loop[b] != h) rounds = 0, copies = UINT32_MAX; // another loop in it
            bool back = false;
            int ns = orr_succ_count(l->k, &blocks[b]);
            for (int t = 0; t < ns; t++) back |= orr_succ(l->k, &blocks[b], t) == f->first_block + h;
            if (back) rounds = rounds_of(l, b, h);
            for (uint32_t n = blocks[b].first; n < blocks[b].first + blocks[b].count; n++) {
                if (l->select.todo[n] & (DO_SKIP | DO_VIEW)) continue;
                uint32_t cost = unroll_cost(&l->k->insts[n]); // of a call: as a division
                if (is_known(l, n, spoilt))
                    known++;
                else
                    work += cost < 18 ? cost : 18;
            }
        }
        if (!rounds || copies > 1 || !unroll_completely(4 * rounds, work / 4, known / 4)) continue;
        for (uint32_t b = 0; b < f->nblocks; b++)
            for (uint32_t n = blocks[b].first; in_loop(f, b, h) && n < blocks[b].first + blocks[b].count; n++)
                if (is_known(l, n, spoilt)) l->select.todo[n] |= DO_SKIP;
    }
    free(spoilt);
    memset(l->branch.parts, 0, f->nblocks);
}

// ---- the uniform datapath ------------------------------------------------------------------------
static bool uniform_op(const lower *l, uint32_t n) {
    const orr_inst *i = &l->k->insts[n];
    switch (lower_op(l, n)) {
    case LOWER_ARITHMETIC:
    case ORR_OP_NOT:
    case ORR_OP_SHL:
    case ORR_OP_SHR:
    case FUSED_IADD3:
    case FUSED_LEA:
    case FUSED_MULADD:
    case FUSED_WIDEADD:
    case FUSED_LOP3:
        return i->type != ORR_T_PRED && !orr_types[i->type].is_float && orr_types[i->type].bytes == 4;
    case ORR_OP_SREG: return l->cc >= 90 && i->imm >= ORR_SREG_CTAID_X && i->imm <= ORR_SREG_CTAID_Z;
    default: return false;
    }
}

// Can it read a uniform register?
static bool takes_uniform(const lower *l, uint32_t n) {
    const orr_inst *i = &l->k->insts[n];
    switch (lower_op(l, n)) {
    case LOWER_ARITHMETIC:
    case ORR_OP_FMA:
    case ORR_OP_SETP:
    case ORR_OP_MIN:
    case ORR_OP_MAX:
    case FUSED_IADD3:
    case FUSED_MULADD:
    case FUSED_LOP3:
    case FUSED_SETP2: return !orr_types[i->type].is_float || l->cc >= 90;
    default: return false;
    }
}

static uint32_t result(const lower *l, uint32_t n) {
    const orr_inst *i = &l->k->insts[n];
    return i->ndst && orr_dst(l->k, i, 0)->kind == ORR_K_REG ? l->of[i->first] : NONE;
}

// ctaid * ntid + tid: an instruction takes one uniform register, and ptxas has that in it which PTX names
// first.
static void spoil_index(const lower *l, uint32_t n, uint8_t *spoilt) {
    uint16_t op = lower_op(l, n);
    if (op != ORR_OP_MAD && op != FUSED_MULADD) return;
    ref c = lower_ref(l, n, 2);
    if (c.kind != ORR_K_REG || c.value == NONE || l->values.at[c.value].uniform) return;
    for (int s = 0; s < 2; s++) {
        ref a = lower_ref(l, n, s), b = lower_ref(l, n, 1 - s);
        if (a.kind != ORR_K_REG || b.kind != ORR_K_REG || a.value == NONE || b.value == NONE) continue;
        uint32_t x = l->values.at[a.value].def, y = l->values.at[b.value].def;
        bool index = x != NONE && l->k->insts[x].op == ORR_OP_SREG && !(l->select.todo[x] & DO_VIEW);
        bool constant = y != NONE && (l->select.todo[y] & DO_VIEW) &&
                        (l->k->insts[y].op == ORR_OP_SREG || l->k->insts[y].op == ORR_OP_LD);
        if (index && constant && y < x && l->values.at[a.value].uses == 1) spoilt[a.value] = 1;
    }
}

static void find_uniform(lower *l) {
    if (l->cc < 75) return;
    const orr_block *first = &l->k->blocks[l->flow.first_block], *end = first + l->flow.nblocks;
    uint8_t *spoilt = orr_calloc(l->values.n + 1, 1); // a reader wants it in a vector register
    for (const orr_block *b = end; b-- > first;)
        for (uint32_t n = b->first + b->count; n-- > b->first;) {
            if (l->select.todo[n] & DO_SKIP) continue;
            spoil_index(l, n, spoilt);
            uint32_t d = result(l, n);
            bool here = takes_uniform(l, n) && d != NONE;
            if (!here && uniform_op(l, n) && d != NONE) here = !spoilt[d] && l->values.at[d].uniform;
            if (l->select.todo[n] & DO_VIEW) here = d != NONE && !spoilt[d];
            int nsrc = lower_nsrc(l, n);
            for (int s = 0; s < nsrc && !here; s++) {
                ref r = lower_ref(l, n, s);
                if (r.kind == ORR_K_REG && r.value != NONE) spoilt[r.value] = 1;
            }
        }
    for (const orr_block *b = first; b < end; b++)
        for (uint32_t n = b->first; n < b->first + b->count; n++) {
            const orr_inst *i = &l->k->insts[n];
            uint32_t d = result(l, n);
            if ((l->select.todo[n] & (DO_SKIP | DO_VIEW | DO_PREDLOP | DO_LATER | DO_SELECT)) ||
                i->guard >= 0 || d == NONE || i->ndst != 1 || l->values.at[d].merged || spoilt[d] ||
                !l->values.at[d].uniform || !uniform_op(l, n))
                continue;
            bool all = true, any = i->op == ORR_OP_SREG; // all sources are in uniform registers, or constants
            int nsrc = lower_nsrc(l, n);
            for (int s = 0; s < nsrc && all; s++) {
                ref r = lower_ref(l, n, s);
                if (r.kind != ORR_K_REG) continue;
                any = true;
                uint32_t def = r.value != NONE ? l->values.at[r.value].def : NONE;
                all = def != NONE && !l->values.at[r.value].merged &&
                      (l->select.todo[def] & (DO_UNIFORM | DO_VIEW)) && l->values.at[r.value].uniform;
            }
            if (all && any) l->select.todo[n] |= DO_UNIFORM;
        }
    free(spoilt);
}

// ---- predication ---------------------------------------------------------------------------------
static uint32_t most_of(const lower *l, const orr_block *b) {
    for (uint32_t i = b->first; i < b->first + b->count; i++)
        if ((orr_ops[l->k->insts[i].op].flags & ORR_F_LOAD) && orr_inst_traced(&l->k->insts[i]))
            return PTXAS_BODY_LOADING;
    return PTXAS_BODY_PLAIN;
}

static uint32_t cost(const lower *l, const orr_block *b) {
    uint32_t n = 0;
    for (uint32_t i = b->first; i < b->first + b->count; i++)
        n += !(l->select.todo[i] & (DO_SKIP | DO_VIEW | DO_LATER)) && l->k->insts[i].op != ORR_OP_BRA;
    return n;
}

static bool fits_both(const lower *l, const orr_block *a, const orr_block *b) {
    uint32_t x = most_of(l, a), y = most_of(l, b);
    return cost(l, a) + cost(l, b) <= (x > y ? x : y);
}

// May the whole block run under a predicate?
static bool can_predicate(const lower *l, const orr_block *b) {
    for (uint32_t n = b->first; n < b->first + b->count; n++) {
        const orr_inst *i = &l->k->insts[n];
        uint16_t f = orr_ops[i->op].flags;
        bool last = n + 1 == b->first + b->count;
        if (i->op == ORR_OP_BRA && last && i->guard < 0) continue;
        if (f &
            (ORR_F_BARRIER | ORR_F_CALL | ORR_F_RET | ORR_F_EXIT | ORR_F_BRANCH | ORR_F_FENCE | ORR_F_END))
            return false;
        if (orr_inst_waits_for(l->k, i) || (i->mods & ORR_M_TOGETHER) || (f & ORR_F_ATOMIC) || i->guard >= 0)
            return false;
        if (i->op == ORR_OP_DIV || i->op == ORR_OP_REM || i->op == ORR_OP_SQRT) return false;
        if (i->op == ORR_OP_CPWAIT || i->op == ORR_OP_CPCOMMIT || i->op == ORR_OP_CPMBAR) return false;
    }
    return cost(l, b) <= most_of(l, b);
}

static bool only_exits(const lower *l, uint32_t b) { // nothing but the end of the thread
    const orr_block *blk = &l->k->blocks[b];
    const orr_inst *i = &l->k->insts[blk->first];
    if (blk->count != 1 || i->guard >= 0) return false;
    return i->op == ORR_OP_EXIT || (i->op == ORR_OP_RET && blk->func == 0);
}

static uint32_t only_successor(const lower *l, uint32_t b) {
    const orr_block *blk = &l->k->blocks[l->flow.first_block + b];
    return orr_succ_count(l->k, blk) == 1 ? orr_succ(l->k, blk, 0) - l->flow.first_block : NONE;
}

static bool one_way_in(const flow *f, uint32_t b) { return f->pred_first[b + 1] - f->pred_first[b] == 1; }

// if (p) body;   and   if (p) body; else other;   with small bodies
static bool predicate(lower *l, uint32_t b, uint32_t n, uint32_t body, uint32_t target) {
    flow *f = &l->flow;
    const orr_block *blocks = &l->k->blocks[f->first_block];
    if (body <= b || !one_way_in(f, body) || !can_predicate(l, &blocks[body])) return false;
    uint32_t join = only_successor(l, body);
    if (join == target && target > b) {
        l->branch.predicated[body] = n;
        l->branch.body[b] = body + 1;
        return true;
    }
    bool diamond = target == body + 1 && target < f->nblocks && one_way_in(f, target) &&
                   only_successor(l, target) == join && join != NONE && join > b &&
                   can_predicate(l, &blocks[target]) && fits_both(l, &blocks[body], &blocks[target]);
    if (!diamond) return false;
    l->branch.predicated[body] = l->branch.predicated[target] = n;
    l->branch.body[b] = body + 1;
    l->branch.body[body] = target + 1;
    return true;
}

// ---- where lanes meet again ----------------------------------------------------------------------
static bool in_loop(const flow *f, uint32_t b, uint32_t header) { // of that header, at any depth
    for (uint32_t h = f->loop[b]; h != NONE;) {
        if (h == header) return true;
        uint32_t out = f->idom[h];
        h = out == NONE ? NONE : f->loop[out];
    }
    return false;
}

// Lanes come to a BSYNC with those they are with, and wait there: it is issued once for each way in. Where
// two or more blocks lead there and nowhere else, it is done at their ends.
static void bsync_on_arrival(lower *l, uint32_t j) {
    const flow *f = &l->flow;
    uint32_t n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t p = f->pred_first[j]; p < f->pred_first[j + 1]; p++) {
            uint32_t b = f->preds[p];
            if (only_successor(l, b) != j || l->branch.predicated[b] != NONE || l->branch.body[b]) continue;
            if (pass && n > 1) l->branch.arrives[b] = 1;
            n += !pass;
        }
    if (n > 1) l->branch.bsync[j] = 0;
}

static void choose_branches(lower *l) {
    flow *f = &l->flow;
    const orr_block *blocks = &l->k->blocks[f->first_block];
    uint32_t *opens = orr_malloc((f->nblocks + 1) * sizeof *opens); // per join: where its lanes part first
    for (uint32_t b = 0; b < f->nblocks; b++) l->branch.predicated[b] = opens[b] = NONE;
    for (uint32_t b = 0; b < f->nblocks; b++) {
        const orr_block *blk = &blocks[b];
        uint32_t n = blk->first + blk->count - 1;
        const orr_inst *i = &l->k->insts[n];
        if ((i->op != ORR_OP_BRA && i->op != ORR_OP_BRX) ||
            (i->op == ORR_OP_BRA && (i->guard < 0 || blk->next < 0)))
            continue;
        if (i->op == ORR_OP_BRA) {
            uint32_t body = (uint32_t)blk->next - f->first_block, to = (uint32_t)i->target - f->first_block;
            if (body >= f->nblocks || to >= f->nblocks) continue;
            if (only_exits(l, (uint32_t)i->target)) { // the branch is an EXIT under the same guard
                l->branch.exits[b] = 1;
                continue;
            }
            if (predicate(l, b, n, body, to)) {
                l->select.todo[n] |= DO_SKIP;
                continue;
            }
        }
        if (!l->branch.parts[b] || (i->mods & ORR_M_UNI) || blk->ipdom < 0) continue;
        uint32_t meet = (uint32_t)blk->ipdom - f->first_block;
        if (meet >= f->nblocks || only_exits(l, (uint32_t)blk->ipdom)) continue;
        uint32_t d = opens[meet] == NONE ? b : lower_meet(f, opens[meet], b);
        if (d != NONE) opens[meet] = d;
    }
    for (uint32_t j = 0; j < f->nblocks; j++) {
        uint32_t d = opens[j];
        if (d == NONE || l->branch.predicated[d] != NONE || l->branch.predicated[j] != NONE) continue;
        while (d != NONE && f->loop[d] != NONE && !in_loop(f, j, f->loop[d])) d = f->idom[f->loop[d]];
        if (d == NONE || d == j) continue; // it would name itself
        l->branch.bssy[d]++;
        l->branch.bsync[j] = 1;
        bsync_on_arrival(l, j);
    }
    free(opens);
}

void lower_branches(lower *l) {
    drop_known(l);
    find_same(l, source_of_difference);
    find_uniform(l);
    memset(l->branch.parts, 0, l->flow.nblocks);
    find_same(l, orr_inst_differs);
    choose_branches(l);
}
