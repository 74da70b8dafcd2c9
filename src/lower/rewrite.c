// What ptxas does to the blocks of PTX before it makes machine instructions of them, as far as it decides
// which loads are on their way together: short bodies become predicated (ifconvert.c) and counted loops are
// unrolled by four (unroll.c).
//
// What runs is the PTX as it stands. Here a second kernel is made of it, for the models alone: its blocks are
// chains of the first one's, or several iterations of them, and remap.c turns traces of the first into traces
// of the second. So a recorded stream gives what executing gives. The new kernel is never executed; but
// its registers carry the same values as far as who depends on whom.
#include <stdlib.h>
#include <string.h>

#include "lower/rewrite.h"

#define MAX_CELLS (1u << 22) // words of the sets of live registers; a larger function stays as it is

// ---- the new code ----------------------------------------------------------------------------------------
static uint32_t fresh(rewriter *m, uint8_t cls) { return m->nregs[cls]++; }

static void call_it(rewriter *m, uint32_t reg, uint32_t name) {
    m->map[reg] = name;
    *ORR_PUSH(&m->touched) = reg;
}

static void own_names(rewriter *m) { // every register is called what it is
    for (size_t t = 0; t < m->touched.n; t++) {
        uint32_t r = m->touched.at[t], c = 0;
        while (c + 1 < ORR_CLASSES && r >= m->live.base[c + 1]) c++;
        m->map[r] = r - m->live.base[c];
    }
    m->touched.n = 0;
}

static void label(rewriter *m, uint32_t which) {
    while (m->label_at.n <= which) *ORR_PUSH(&m->label_at) = NONE;
    m->label_at.at[which] = (uint32_t)m->insts.n;
}

typedef struct under { // a guard, by its new name
    int32_t guard;
    uint8_t neg;
} under;

// One instruction: `again` it will be done once more in this block, so that what it writes has another name.
static orr_inst *copy_inst(rewriter *m, const orr_inst *i, under u, const uint64_t *live, bool again,
                           bool together) {
    orr_inst x = *i;
    x.first = (uint32_t)m->operands.n;
    if (i->guard >= 0) x.guard = (int32_t)m->map[i->guard];
    if (together) x.mods |= ORR_M_TOGETHER;
    bool body = u.guard >= 0;
    if (body) {
        bool need = orr_ops[i->op].flags & ORR_F_MEMORY;
        for (int d = 0; d < i->ndst; d++) {
            const orr_operand *o = orr_dst(m->k, i, d);
            need |= o->kind == ORR_K_REG && orr_live_has(live, index_of(m, o));
        }
        if (need) {
            x.guard = u.guard;
            x.guard_neg = u.neg;
        } else {
            x.under = (uint32_t)u.guard + 1;
        }
    }
    uint32_t at = x.first;
    for (int o = 0; o < i->ndst + i->nsrc; o++)
        *ORR_PUSH(&m->operands) = m->k->operands[i->first + (uint32_t)o];
    for (int s = i->ndst; s < i->ndst + i->nsrc; s++) { // sources first: by the names before it
        orr_operand *o = &m->operands.at[at + (uint32_t)s];
        if (o->kind == ORR_K_REG) o->reg = m->map[index_of(m, o)];
    }
    for (int d = 0; d < i->ndst; d++) {
        orr_operand *o = &m->operands.at[at + (uint32_t)d];
        if (o->kind != ORR_K_REG) continue;
        uint32_t r = index_of(m, o);
        bool local = body && !orr_live_has(live, r);
        if (local || (x.guard < 0 && again))
            call_it(m, r, fresh(m, o->cls));
        else if (x.guard < 0)
            call_it(m, r, o->reg);
        o->reg = m->map[r];
    }
    orr_inst *to = ORR_PUSH(&m->insts);
    *to = x;
    return to;
}

uint32_t rewrite_accesses(const orr_inst *i) {
    bool global = i->space == ORR_SPACE_GLOBAL || i->space == ORR_SPACE_GENERIC || i->space == ORR_SPACE_NONE;
    if ((i->op != ORR_OP_WMMALOAD && i->op != ORR_OP_WMMASTORE) || !global) return 1;
    bool square = (i->imm & 255) == 16 && (i->imm >> 8 & 255) == 16 && (i->imm >> 16 & 255) == 16;
    bool sums = (i->op == ORR_OP_WMMASTORE || i->sub == 2) && i->type == ORR_T_F32;
    return square && (orr_matrix_bits(i->type) == 16 || sums) ? MATRIX_ACCESSES : 1;
}

// The first ones of an instruction that accesses memory several times: who reads waits for the last.
static void put_parts(rewriter *m, const orr_inst *i, under u) {
    for (uint32_t p = 1; p < rewrite_accesses(i); p++) {
        orr_inst *x = ORR_PUSH(&m->insts);
        *x = *i;
        x->first = (uint32_t)m->operands.n;
        x->ndst = 0;
        x->nsrc = i->nsrc < 2 ? i->nsrc : 2; // where it is
        x->imm |= p << 24;
        x->mods |= ORR_M_TOGETHER;
        if (i->guard >= 0) x->guard = (int32_t)m->map[i->guard];
        if (u.guard >= 0) x->guard = u.guard, x->guard_neg = u.neg;
        for (int s = 0; s < x->nsrc; s++) {
            orr_operand o = *orr_src(m->k, i, s);
            if (o.kind == ORR_K_REG) o.reg = m->map[index_of(m, &o)];
            *ORR_PUSH(&m->operands) = o;
        }
    }
}

static void jump_to(rewriter *m, uint32_t which) {
    *ORR_PUSH(&m->uses) = (label_use){(uint32_t)m->insts.n - 1, which};
}

static uint32_t join_of(const rewriter *m, const chain *c, uint32_t body) {
    uint32_t b = body + 1;
    while (b < c->first + c->n - 1 && m->role[b] != MAIN) b++;
    return b;
}

// Writes all of a chain once. `ends`: with the branch at its end; `skip`: an instruction that is left out.
static void put_round(rewriter *m, const chain *c, bool again, bool ends, const orr_inst *skip) {
    under cond = {-1, 0};
    for (uint32_t b = c->first; b < c->first + c->n; b++) {
        const orr_block *blk = &m->k->blocks[b];
        bool body = m->role[b] != MAIN, final = b + 1 == c->first + c->n;
        const uint64_t *live = body ? orr_live_in(&m->live, join_of(m, c, b) - m->first) : NULL;
        under u = {-1, 0};
        if (body) u = (under){cond.guard, m->role[b] == BODY_ELSE ? !cond.neg : cond.neg};
        for (uint32_t n = blk->first; n < blk->first + blk->count; n++) {
            const orr_inst *i = &m->k->insts[n];
            bool jump = n + 1 == blk->first + blk->count && i->op == ORR_OP_BRA;
            if (i == skip || (jump && final && !ends)) continue;
            if (jump && !final) {
                if (!body && i->guard >= 0) cond = (under){(int32_t)m->map[i->guard], i->guard_neg};
                continue;
            }
            bool waits = orr_inst_waits_for(m->k, i), first = n == blk->first && b == c->first;
            put_parts(m, i, u);
            copy_inst(m, i, u, live, again, waits && !(first && m->parted[b]));
            m->any |= waits && first && !m->parted[b]; // otherwise its lanes would be asked for
            if (jump) jump_to(m, (uint32_t)i->target);
        }
    }
}

static orr_operand *new_inst(rewriter *m, uint16_t op, uint8_t type, int ndst, int nsrc,
                             const orr_inst *like) {
    orr_inst *i = ORR_PUSH(&m->insts);
    *i = (orr_inst){.op = op,
                    .type = type,
                    .guard = -1,
                    .target = -1,
                    .ndst = (uint8_t)ndst,
                    .nsrc = (uint8_t)nsrc,
                    .first = (uint32_t)m->operands.n,
                    .line = like->line,
                    .source = like->source};
    for (int o = 0; o < ndst + nsrc; o++) (void)ORR_PUSH(&m->operands);
    return &m->operands.at[i->first];
}

// Are there more than `than` rounds to go? If not, on to label `which`.
static void put_test(rewriter *m, const counter *n, uint32_t than, uint32_t which) {
    uint8_t cls = n->it.cls, type = n->test->type;
    orr_operand left = n->it;
    size_t from = m->insts.n;
    if (n->bound.kind != ORR_K_IMM || n->bound.value) {
        left = (orr_operand){.kind = ORR_K_REG, .cls = cls, .reg = fresh(m, cls)};
        orr_operand *o = new_inst(m, ORR_OP_SUB, type, 1, 2, n->test);
        o[0] = left;
        o[1] = n->bound;
        o[2] = n->it;
    }
    orr_operand p = {.kind = ORR_K_REG, .cls = ORR_P, .reg = fresh(m, ORR_P)};
    orr_operand *o = new_inst(m, ORR_OP_SETP, type, 1, 2, n->test);
    m->insts.at[m->insts.n - 1].cmp = ORR_CMP_GT;
    o[0] = p;
    o[1] = left;
    o[2] = (orr_operand){.kind = ORR_K_IMM, .cls = cls, .value = than};
    new_inst(m, ORR_OP_BRA, ORR_T_NONE, 0, 0, n->branch);
    m->insts.at[m->insts.n - 1].guard = (int32_t)p.reg;
    m->insts.at[m->insts.n - 1].guard_neg = 1;
    for (size_t i = from; n->rounds && i < m->insts.n; i++) m->insts.at[i].mods |= ORR_M_KNOWN;
    jump_to(m, which);
}

static void put_loop(rewriter *m, chain *c, const counter *n) {
    uint32_t next = (uint32_t)m->label_at.n;
    if (next < m->k->nblocks) next = m->k->nblocks;
    for (int p = 0; p < LOOP_PARTS; p++) c->part[p] = next + (uint32_t)p;
    c->block = next + LOOP_PARTS;
    label(m, c->block);
    uint32_t after = c->first + c->n;
    bool keep = orr_live_has(orr_live_in(&m->live, after - m->first), (uint32_t)n->branch->guard);
    label(m, c->first);
    label(m, c->part[LOOP_ENTER]);
    put_test(m, n, 3, c->part[LOOP_TEST_TWO]);
    label(m, c->part[LOOP_FOUR]);
    for (int r = 0; r < 4; r++) put_round(m, c, r < 3, r == 3, r < 3 ? n->test : NULL);
    m->uses.at[m->uses.n - 1].label = c->part[LOOP_FOUR];
    own_names(m);
    label(m, c->part[LOOP_TEST_TWO]);
    put_test(m, n, 1, c->part[LOOP_TEST_ONE]);
    label(m, c->part[LOOP_TWO]);
    for (int r = 0; r < 2; r++) put_round(m, c, r < 1, false, keep ? NULL : n->test);
    own_names(m);
    label(m, c->part[LOOP_TEST_ONE]);
    put_test(m, n, 0, after);
    label(m, c->block);
    put_round(m, c, false, false, keep ? NULL : n->test);
    own_names(m);
}

// ---- a function -------------------------------------------------------------------------------------------
static void put_function(rewriter *m, uint32_t which) {
    const orr_func *f = &m->k->funcs[which];
    m->f = f;
    m->first = f->first_block;
    m->nblocks = f->nblocks;
    memcpy(m->nregs, f->nregs, sizeof m->nregs);
    bool small = orr_live_of(&m->live, m->k, f, MAX_CELLS);
    uint32_t nregs = m->live.base[ORR_CLASSES];
    m->preds = orr_calloc(m->nblocks + 1, sizeof *m->preds);
    m->map = orr_malloc((nregs + 1) * sizeof *m->map);
    for (int c = 0; c < ORR_CLASSES; c++)
        for (uint32_t r = m->live.base[c]; r < m->live.base[c + 1]; r++) m->map[r] = r - m->live.base[c];
    lower_divergence(m->k, f, m->parted, NULL);
    if (m->nblocks) m->preds[f->entry - m->first] = 2; // from outside
    for (uint32_t b = 0; b < m->nblocks; b++) {
        int ns = orr_succ_count(m->k, block_at(m, b));
        for (int s = 0; s < ns; s++) {
            uint32_t to = orr_succ(m->k, block_at(m, b), s) - m->first;
            if (to < m->nblocks) m->preds[to]++;
        }
    }
    orr_func *out = &m->s->to->funcs[which];
    out->first_inst = (uint32_t)m->insts.n;
    for (uint32_t b = 0; b < m->nblocks;) {
        chain *c = &m->s->chains[m->s->nchains];
        *c = (chain){.first = m->first + b, .n = 1};
        if (small) c->n += ifconvert_chain(m, b);
        for (uint32_t x = 0; x < c->n; x++) m->s->chain_of[c->first + x] = m->s->nchains;
        m->s->nchains++;
        counter n;
        c->loop = small && unroll_counted(m, c, &n);
        m->any |= c->loop || c->n > 1;
        if (c->loop) {
            put_loop(m, c, &n);
        } else {
            c->block = c->first;
            label(m, c->first);
            put_round(m, c, false, true, NULL);
            own_names(m);
        }
        b += c->n;
    }
    out->ninsts = (uint32_t)m->insts.n - out->first_inst;
    memcpy(out->nregs, m->nregs, sizeof out->nregs);
    orr_live_free(&m->live);
    free(m->preds);
    free(m->map);
}

// ---- the kernel --------------------------------------------------------------------------------
static void *copied(orr_arena *a, const void *at, size_t n, size_t size) {
    void *to = orr_arena_alloc(a, n * size + 1);
    if (n) memcpy(to, at, n * size);
    return to;
}

// Labels were turned into instructions; now they are blocks. False: one is not where a block begins.
static bool number_parts(rewriter *m) {
    const orr_kernel *to = m->s->to;
    uint32_t *block_of = orr_malloc((to->ninsts + 1) * sizeof *block_of);
    memset(block_of, 0xff, (to->ninsts + 1) * sizeof *block_of);
    for (uint32_t b = 0; b < to->nblocks; b++) block_of[to->blocks[b].first] = b;
    bool ok = true;
    uint32_t parts = 0;
    for (uint32_t x = 0; x < m->s->nchains && ok; x++) {
        chain *c = &m->s->chains[x];
        uint32_t nmem = 0;
        for (uint32_t b = c->first; b < c->first + c->n; b++) nmem += m->s->nmem[b];
        static const uint32_t rounds[LOOP_PARTS] = {[LOOP_FOUR] = 4, [LOOP_TWO] = 2};
        for (int p = 0; p <= (c->loop ? LOOP_PARTS : 0) && ok; p++) {
            uint32_t *at = !c->loop || p == LOOP_PARTS ? &c->block : &c->part[p];
            uint32_t inst = m->label_at.at[*at];
            *at = inst < to->ninsts ? block_of[inst] : NONE;
            if (*at == NONE && c->loop && p == LOOP_ENTER) continue; // the block before it has it
            ok = *at != NONE && to->blocks[*at].nmem == nmem * (at == &c->block ? 1 : rounds[p]);
            parts++;
        }
    }
    free(block_of);
    return ok && parts == to->nblocks;
}

static bool finish(rewriter *m, orr_err *e) {
    orr_kernel *to = m->s->to;
    for (size_t u = 0; u < m->uses.n; u++) {
        label_use x = m->uses.at[u];
        uint32_t at = x.label < m->label_at.n ? m->label_at.at[x.label] : NONE;
        if (at == NONE) return false; // into the middle of a chain: cannot be
        m->insts.at[x.inst].target = (int32_t)at;
    }
    for (uint32_t t = 0; t < to->ntables; t++) {
        uint32_t b = m->k->tables[t], at = b < m->label_at.n ? m->label_at.at[b] : NONE;
        if (at == NONE) return false;
        to->tables[t] = at;
    }
    to->insts = copied(&to->arena, m->insts.at, m->insts.n, sizeof *m->insts.at);
    to->ninsts = (uint32_t)m->insts.n;
    to->operands = copied(&to->arena, m->operands.at, m->operands.n, sizeof *m->operands.at);
    to->noperands = (uint32_t)m->operands.n;
    return orr_kernel_finish(to, e) && number_parts(m);
}

// Functions, blocks and instructions lie one after the other and name what is there: a file may say
// otherwise.
static bool is_whole(const orr_kernel *k) {
    uint32_t block = 0, inst = 0;
    for (uint32_t f = 0; f < k->nfuncs; f++) {
        const orr_func *fn = &k->funcs[f];
        uint32_t end = fn->first_block + fn->nblocks;
        if (fn->first_block != block || !fn->nblocks || end > k->nblocks || fn->entry != block) return false;
        for (; block < end; block++) {
            const orr_block *b = &k->blocks[block];
            if (b->first != inst || !b->count || b->count > k->ninsts - inst) return false;
            if (b->next >= 0 && ((uint32_t)b->next != block + 1 || block + 1 >= end)) return false;
            for (; inst < b->first + b->count; inst++) {
                const orr_inst *i = &k->insts[inst];
                uint32_t n = (uint32_t)i->ndst + i->nsrc;
                if (i->first > k->noperands || n > k->noperands - i->first) return false;
                if (i->guard >= 0 && (uint32_t)i->guard >= fn->nregs[ORR_P]) return false;
                if (i->op == ORR_OP_CALL && i->target >= (int32_t)k->nfuncs) return false;
                if (i->op == ORR_OP_BRA && inst + 1 != b->first + b->count) return false;
                if (i->op == ORR_OP_BRA &&
                    ((uint32_t)i->target < fn->first_block || (uint32_t)i->target >= end))
                    return false;
                if (i->op == ORR_OP_BRX &&
                    ((uint32_t)i->target > k->ntables || i->imm > k->ntables - (uint32_t)i->target))
                    return false;
                for (uint32_t o = i->first; o < i->first + n; o++) {
                    const orr_operand *r = &k->operands[o];
                    if (r->kind == ORR_K_REG && (r->cls >= ORR_CLASSES || r->reg >= fn->nregs[r->cls]))
                        return false;
                }
            }
        }
    }
    for (uint32_t t = 0; t < k->ntables; t++)
        if (k->tables[t] >= k->nblocks) return false;
    return block == k->nblocks && inst == k->ninsts;
}

orr_rewritten *orr_rewrite(const orr_kernel *k) {
    if (k->machine || k->grows || !k->nblocks || !is_whole(k)) return NULL;
    orr_arena arena = {0};
    orr_kernel *to = orr_arena_alloc(&arena, sizeof *to);
    *to = *k;
    to->arena = arena;
    to->blocks = NULL;
    to->nblocks = 0;
    to->funcs = copied(&to->arena, k->funcs, k->nfuncs, sizeof *k->funcs);
    to->tables = copied(&to->arena, k->tables, k->ntables, sizeof *k->tables);
    to->effects.bases = NULL;
    to->effects.nbases = 0;
    orr_rewritten *s = orr_calloc(1, sizeof *s);
    s->from = k;
    s->to = to;
    s->chains = orr_calloc(k->nblocks + 1, sizeof *s->chains);
    s->chain_of = orr_calloc(k->nblocks + 1, sizeof *s->chain_of);
    s->role = orr_calloc(k->nblocks + 1, 1);
    s->nmem = orr_calloc(k->nblocks + 1, sizeof *s->nmem);
    bool any = false;
    for (uint32_t b = 0; b < k->nblocks; b++)
        for (uint32_t n = k->blocks[b].first; n < k->blocks[b].first + k->blocks[b].count; n++) {
            s->nmem[b] += orr_inst_traced(&k->insts[n]) ? rewrite_accesses(&k->insts[n]) : 0;
            any |= rewrite_accesses(&k->insts[n]) > 1;
        }
    rewriter m = {.any = any, .s = s, .k = k, .role = s->role, .parted = orr_calloc(k->nblocks + 1, 1)};
    for (uint32_t f = 0; f < k->nfuncs; f++) put_function(&m, f);
    orr_err e = {0};
    bool ok = m.any && finish(&m, &e);
    free(m.insts.at);
    free(m.operands.at);
    free(m.uses.at);
    free(m.label_at.at);
    free(m.touched.at);
    free(m.parted);
    if (ok) return s;
    orr_rewritten_free(s);
    return NULL;
}

const orr_kernel *orr_rewritten_kernel(const orr_rewritten *s) { return s->to; }

void orr_rewritten_free(orr_rewritten *s) {
    if (!s) return;
    while (s->open.n) remap_close(s->open.at[s->open.n - 1]);
    orr_arena arena = s->to->arena; // the kernel is in it itself
    orr_arena_free(&arena);
    free(s->open.at);
    free(s->chains);
    free(s->chain_of);
    free(s->role);
    free(s->nmem);
    free(s);
}
