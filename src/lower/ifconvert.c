// What ptxas does to the blocks of PTX before it makes machine instructions of them, as far as it decides
// which loads are on their way together: short bodies under a branch become predicated, so that they and what
// is around them are scheduled as one block; and loops whose number of rounds is known on entry are unrolled
// by four. Both on top of what nvcc has done, and not where it says .pragma "nounroll".
//
// What runs is the PTX as it stands. Here a second kernel is made of it, for the models alone: its blocks are
// chains of the first one's, or several rounds of them, and remap.c turns traces of the first into traces
// of the second. So a recorded stream gives what executing gives. The new kernel is never executed; but
// its registers carry the same values as far as who depends on whom.
//
// The rules are those of ptxas 13.0 for sm_90, found by small loops and branches written for that
// (docs/lowering.md):
//   - a loop becomes: a test whether there are four rounds, four rounds as one block that repeats, a test,
//   two
//     rounds, a test, one round;
//   - loops of up to 18 operations without memory are unrolled, with loads up to some 40 and 15 loads;
//   - a body of up to 7 instructions is predicated, with loads up to 18.
#include <stdlib.h>
#include <string.h>

#include "lower/ifconvert.h"

#define NONE      UINT32_MAX
#define MAX_CELLS (1u << 22) // words of the sets of live registers; a larger function stays as it is
#define MAX_CHAIN 48         // blocks of a chain with bodies
#define MAX_INSTS 320        // of such a chain: what is scheduled together
// Instructions that a body may have to be predicated: without loads, with (docs/lowering.md).
enum { BODY_PLAIN = 7, BODY_LOADING = 18 };
// What a loop's round may cost to be unrolled: without loads, with, and each load from shared memory is four
// more.
enum { LOOP_PLAIN = 18, LOOP_LOADING = 47, LOOP_SHARED = 4, LOOP_MOST = 64 };
// Rounds that a loop has at least which is unrolled in part because it is known how many there are.
enum { LOOP_SOME = 7 };

enum role { MAIN, BODY_ELSE, BODY_THEN }; // runs always; where the branch is not taken; where it is

typedef struct label_use {
    uint32_t inst, label;
} label_use;

typedef struct maker {
    orr_shape *s;
    const orr_kernel *k;
    const orr_func *f;
    uint32_t first, nblocks;        // of the function
    uint32_t base[ORR_CLASSES + 1]; // class and number -> index
    uint32_t words;
    uint64_t *in, *use, *def;
    uint32_t *preds; // how many
    uint8_t *role;   // per block of the kernel
    uint8_t *parted; // and whether a part of a warp may run it
    // the new kernel
    ORR_VEC(orr_inst) insts;
    ORR_VEC(orr_operand) operands;
    ORR_VEC(label_use) uses;
    ORR_VEC(uint32_t) label_at; // by label: blocks of the old kernel, then others
    uint32_t nregs[ORR_CLASSES];
    uint32_t *map; // per register: what it is called now
    ORR_VEC(uint32_t) touched;
    bool any;
} maker;

// ---- what is alive ---------------------------------------------------------------------------------
static bool has(const uint64_t *s, uint32_t r) { return s[r / 64] >> r % 64 & 1; }
static void put(uint64_t *s, uint32_t r) { s[r / 64] |= 1ull << r % 64; }
static uint32_t index_of(const maker *m, const orr_operand *o) { return m->base[o->cls] + o->reg; }

static const orr_block *block_at(const maker *m, uint32_t b) { return &m->k->blocks[m->first + b]; }
static const orr_inst *last_of(const maker *m, uint32_t b) {
    return &m->k->insts[block_at(m, b)->first + block_at(m, b)->count - 1];
}

static void local_sets(maker *m, uint32_t b) {
    uint64_t *use = m->use + (size_t)b * m->words, *def = m->def + (size_t)b * m->words;
    const orr_block *blk = block_at(m, b);
    for (uint32_t n = blk->first; n < blk->first + blk->count; n++) {
        const orr_inst *i = &m->k->insts[n];
        for (int o = 0; o < i->nsrc; o++) {
            const orr_operand *r = orr_src(m->k, i, o);
            if (r->kind == ORR_K_REG && !has(def, index_of(m, r))) put(use, index_of(m, r));
        }
        if (i->guard >= 0 && !has(def, (uint32_t)i->guard)) put(use, (uint32_t)i->guard);
        for (int o = 0; o < i->ndst; o++) {
            const orr_operand *r = orr_dst(m->k, i, o);
            if (r->kind != ORR_K_REG || has(def, index_of(m, r))) continue;
            put(i->guard < 0 ? def : use, index_of(m, r));
        }
    }
}

static void find_live(maker *m) {
    for (uint32_t b = 0; b < m->nblocks; b++) local_sets(m, b);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = m->nblocks; b-- > 0;) {
            int ns = orr_succ_count(m->k, block_at(m, b));
            for (uint32_t w = 0; w < m->words; w++) {
                size_t at = (size_t)b * m->words + w;
                uint64_t out = 0;
                for (int s = 0; s < ns; s++) {
                    uint32_t to = orr_succ(m->k, block_at(m, b), s) - m->first;
                    if (to < m->nblocks) out |= m->in[(size_t)to * m->words + w];
                }
                uint64_t v = m->use[at] | (out & ~m->def[at]);
                changed |= v != m->in[at];
                m->in[at] = v;
            }
        }
    }
}

// ---- short bodies ------------------------------------------------------------------------------------
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

static uint32_t work_of(const maker *m, uint32_t b) {
    uint32_t n = 0;
    const orr_block *blk = block_at(m, b);
    for (uint32_t i = blk->first; i < blk->first + blk->count; i++) n += is_work(&m->k->insts[i]);
    return n;
}

static uint32_t most_of(const maker *m, uint32_t b) {
    const orr_block *blk = block_at(m, b);
    for (uint32_t i = blk->first; i < blk->first + blk->count; i++)
        if ((orr_ops[m->k->insts[i].op].flags & ORR_F_LOAD) && orr_inst_traced(&m->k->insts[i]))
            return BODY_LOADING;
    return BODY_PLAIN;
}

static bool fits_both(const maker *m, uint32_t a, uint32_t b) {
    uint32_t x = most_of(m, a), y = most_of(m, b);
    return work_of(m, a) + work_of(m, b) <= (x > y ? x : y);
}

static bool writes(const maker *m, uint32_t b, uint32_t reg) {
    const orr_block *blk = block_at(m, b);
    for (uint32_t n = blk->first; n < blk->first + blk->count; n++)
        for (int d = 0; d < m->k->insts[n].ndst; d++) {
            const orr_operand *o = orr_dst(m->k, &m->k->insts[n], d);
            if (o->kind == ORR_K_REG && index_of(m, o) == reg) return true;
        }
    return false;
}

static uint32_t only_successor(const maker *m, uint32_t b) {
    return orr_succ_count(m->k, block_at(m, b)) == 1 ? orr_succ(m->k, block_at(m, b), 0) - m->first : NONE;
}

// Can block b run under the guard of a branch, with `join` behind it?
static bool can_predicate(const maker *m, uint32_t b, const orr_inst *branch, uint32_t join) {
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
    return work_of(m, b) <= most_of(m, b) && !(writes(m, b, p) && has(m->in + (size_t)join * m->words, p));
}

static bool starts_alone(const maker *m, uint32_t b) { // lanes meet before its first instruction
    return orr_inst_waits_for(m->k, &m->k->insts[block_at(m, b)->first]) != NULL;
}

static bool only_ends(const maker *m, uint32_t b) { // a branch there is an EXIT
    const orr_inst *i = last_of(m, b);
    return block_at(m, b)->count == 1 && (i->op == ORR_OP_RET || i->op == ORR_OP_EXIT);
}

static bool is_body(const maker *m, uint32_t b, const orr_inst *branch, uint32_t join) {
    return b < m->nblocks && join < m->nblocks && only_successor(m, b) == join &&
           can_predicate(m, b, branch, join);
}

// Bodies between block `at`, which ends in a branch, and the block where its lanes meet, which nobody else
// leads to. Then and else, or one of them; nvcc also writes the branch as two: if so there, else there.
static uint32_t bodies_behind(const maker *m, uint32_t at, const orr_inst *branch) {
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

// How many blocks follow b in its chain.
static uint32_t chain_from(maker *m, uint32_t b) {
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
        if (bodies && (insts + more > MAX_INSTS || join - b >= MAX_CHAIN)) break;
        insts += more;
        if (bodies) m->role[m->first + next] = BODY_ELSE;
        if (bodies >= 2) m->role[m->first + next + 1] = BODY_THEN;
        if (bodies >= 3) m->role[m->first + next + 2] = BODY_ELSE;
        at = join;
    }
    return at - b;
}

// ---- loops ---------------------------------------------------------------------------------------------
typedef struct counter { // what a loop counts by
    const orr_inst *test, *branch;
    orr_operand it, bound; // the register that counts, and what it is compared with
    uint64_t rounds;       // if that is known, else 0
} counter;

static int times_written(const maker *m, const chain *c, uint32_t reg, const orr_inst **by) {
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

// Who writes a predicate last, before the loop's branch reads it; NULL: not always the same one. (Others that
// are never alive with it have the same register.)
static const orr_inst *last_written(const maker *m, const chain *c, uint32_t reg) {
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

static bool fixed(const maker *m, const chain *c, const orr_operand *o) { // does not change in the loop
    const orr_inst *by;
    return o->kind == ORR_K_IMM || (o->kind == ORR_K_REG && !times_written(m, c, index_of(m, o), &by));
}

// A copy of a copy: what register r is made of in the loop.
static const orr_inst *counts(const maker *m, const chain *c, const orr_operand *r) {
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

// What ptxas counts an instruction of a loop for when it decides whether to unroll it (docs/lowering.md).
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
    if (shape_accesses(i) > 1) return 2 * SHAPE_PARTS;
    return i->space == ORR_SPACE_SHARED && (orr_ops[i->op].flags & ORR_F_LOAD) ? 1 : 2;
}

// What the counter holds when the loop is entered, if it is a constant moved there on the only way to it.
static bool starts_with(const maker *m, const chain *c, uint32_t reg, int64_t *out) {
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
static uint64_t rounds_of(const maker *m, const chain *c, const counter *n) {
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
static uint32_t known_in(const maker *m, const chain *c, const counter *n) {
    uint64_t *known = orr_calloc(m->words, sizeof *known);
    const orr_inst *step = counts(m, c, &n->it);
    uint32_t found = 0;
    put(known, index_of(m, orr_src(m->k, step, 0)));
    for (uint32_t b = c->first; b < c->first + c->n; b++)
        for (uint32_t x = m->k->blocks[b].first; x < m->k->blocks[b].first + m->k->blocks[b].count; x++) {
            const orr_inst *i = &m->k->insts[x];
            bool all = i->ndst == 1 && i->guard < 0 && !orr_inst_traced(i) && !orr_inst_differs(i) &&
                       i->op != ORR_OP_SREG && i->op != ORR_OP_LD;
            bool any = false;
            for (int o = 0; all && o < i->nsrc; o++) {
                const orr_operand *a = orr_src(m->k, i, o);
                bool is = a->kind == ORR_K_REG && has(known, index_of(m, a));
                all = is || a->kind == ORR_K_IMM;
                any |= is;
            }
            if (!all || !any || i == step || i == n->test) continue;
            put(known, index_of(m, orr_dst(m->k, i, 0)));
            found += cost_of(i) == 1;
        }
    free(known);
    return found;
}

uint32_t shape_cost(const orr_inst *i) {
    uint32_t cost = cost_of(i);
    return cost == 1 && orr_inst_traced(i) ? 2 : cost; // loads from shared memory, too
}

bool shape_completely(uint64_t rounds, uint64_t cost, uint64_t known) {
    uint64_t all = rounds * cost;
    if (rounds > 4096 || cost > 4096) return false;
    return all <= 390 || 2 * (all - 60) * (all - 60) <= 18500 * rounds * (2 + known);
}

static bool is_counted(const maker *m, const chain *c, counter *out) {
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
            all += shape_cost(i) + more;
            loads += load && !here;
            shared += load && here;
        }
    work -= work > 2 ? 2 : work; // counter and test
    all -= all > 2 ? 2 : all;
    uint32_t most = loads ? LOOP_LOADING : LOOP_PLAIN;
    if (LOOP_PLAIN + LOOP_SHARED * shared > most) most = LOOP_PLAIN + LOOP_SHARED * shared;
    if (most > LOOP_MOST) most = LOOP_MOST;
    for (int s = 0; s < 2; s++) {
        const orr_operand *a = orr_src(m->k, test, s), *o = orr_src(m->k, test, 1 - s);
        if (a->kind != ORR_K_REG || (a->cls != ORR_W && a->cls != ORR_D) || !fixed(m, c, o)) continue;
        if (!counts(m, c, a)) continue;
        *out = (counter){test, branch, *a, *o, 0};
        out->rounds = rounds_of(m, c, out);
        if (work <= most) return true;
        if (!out->rounds || all > MAX_INSTS) return false;
        uint32_t known = known_in(m, c, out);
        return shape_completely(out->rounds, all - known, known) ||
               (out->rounds >= LOOP_SOME && all <= LOOP_MOST);
    }
    return false;
}

// ---- the new code ----------------------------------------------------------------------------------------
static uint32_t fresh(maker *m, uint8_t cls) { return m->nregs[cls]++; }

static void call_it(maker *m, uint32_t reg, uint32_t name) {
    m->map[reg] = name;
    *ORR_PUSH(&m->touched) = reg;
}

static void own_names(maker *m) { // every register is called what it is
    for (size_t t = 0; t < m->touched.n; t++) {
        uint32_t r = m->touched.at[t], c = 0;
        while (c + 1 < ORR_CLASSES && r >= m->base[c + 1]) c++;
        m->map[r] = r - m->base[c];
    }
    m->touched.n = 0;
}

static void label(maker *m, uint32_t which) {
    while (m->label_at.n <= which) *ORR_PUSH(&m->label_at) = NONE;
    m->label_at.at[which] = (uint32_t)m->insts.n;
}

typedef struct under { // a guard, by its new name
    int32_t guard;
    uint8_t neg;
} under;

// One instruction: `again` it will be done once more in this block, so that what it writes has another name.
static orr_inst *copy_inst(maker *m, const orr_inst *i, under u, const uint64_t *live, bool again,
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
            need |= o->kind == ORR_K_REG && has(live, index_of(m, o));
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
        bool local = body && !has(live, r);
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

uint32_t shape_accesses(const orr_inst *i) {
    bool global = i->space == ORR_SPACE_GLOBAL || i->space == ORR_SPACE_GENERIC || i->space == ORR_SPACE_NONE;
    if ((i->op != ORR_OP_WMMALOAD && i->op != ORR_OP_WMMASTORE) || !global) return 1;
    bool square = (i->imm & 255) == 16 && (i->imm >> 8 & 255) == 16 && (i->imm >> 16 & 255) == 16;
    bool sums = (i->op == ORR_OP_WMMASTORE || i->sub == 2) && i->type == ORR_T_F32;
    return square && (orr_matrix_bits(i->type) == 16 || sums) ? SHAPE_PARTS : 1;
}

// The first ones of an instruction that accesses memory several times: who reads waits for the last.
static void put_parts(maker *m, const orr_inst *i, under u) {
    for (uint32_t p = 1; p < shape_accesses(i); p++) {
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

static void jump_to(maker *m, uint32_t which) {
    *ORR_PUSH(&m->uses) = (label_use){(uint32_t)m->insts.n - 1, which};
}

static uint32_t join_of(const maker *m, const chain *c, uint32_t body) {
    uint32_t b = body + 1;
    while (b < c->first + c->n - 1 && m->role[b] != MAIN) b++;
    return b;
}

// All of a chain once. `ends`: with the branch at its end; `skip`: an instruction that is left out.
static void put_round(maker *m, const chain *c, bool again, bool ends, const orr_inst *skip) {
    under cond = {-1, 0};
    for (uint32_t b = c->first; b < c->first + c->n; b++) {
        const orr_block *blk = &m->k->blocks[b];
        bool body = m->role[b] != MAIN, final = b + 1 == c->first + c->n;
        const uint64_t *live = body ? m->in + (size_t)(join_of(m, c, b) - m->first) * m->words : NULL;
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

static orr_operand *new_inst(maker *m, uint16_t op, uint8_t type, int ndst, int nsrc, const orr_inst *like) {
    orr_inst *i = ORR_PUSH(&m->insts);
    *i = (orr_inst){.op = op,
                    .type = type,
                    .guard = -1,
                    .target = -1,
                    .ndst = (uint8_t)ndst,
                    .nsrc = (uint8_t)nsrc,
                    .first = (uint32_t)m->operands.n,
                    .line = like->line,
                    .file = like->file,
                    .srcline = like->srcline};
    for (int o = 0; o < ndst + nsrc; o++) (void)ORR_PUSH(&m->operands);
    return &m->operands.at[i->first];
}

// Are there more than `than` rounds to go? If not, on to label `which`.
static void put_test(maker *m, const counter *n, uint32_t than, uint32_t which) {
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

static void put_loop(maker *m, chain *c, const counter *n) {
    uint32_t next = (uint32_t)m->label_at.n;
    if (next < m->k->nblocks) next = m->k->nblocks;
    for (int p = 0; p < LOOP_PARTS; p++) c->part[p] = next + (uint32_t)p;
    c->block = next + LOOP_PARTS;
    label(m, c->block);
    uint32_t after = c->first + c->n;
    bool keep = has(m->in + (size_t)(after - m->first) * m->words, (uint32_t)n->branch->guard);
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
static void put_function(maker *m, uint32_t which) {
    const orr_func *f = &m->k->funcs[which];
    m->f = f;
    m->first = f->first_block;
    m->nblocks = f->nblocks;
    for (int c = 0; c < ORR_CLASSES; c++) {
        m->base[c + 1] = m->base[c] + f->nregs[c];
        m->nregs[c] = f->nregs[c];
    }
    uint32_t nregs = m->base[ORR_CLASSES];
    m->words = nregs / 64 + 1;
    size_t cells = (size_t)m->words * m->nblocks;
    bool small = cells <= MAX_CELLS;
    uint64_t *sets = orr_calloc(small ? 3 * cells + 1 : 1, sizeof *sets);
    m->in = sets;
    m->use = sets + cells;
    m->def = sets + 2 * cells;
    m->preds = orr_calloc(m->nblocks + 1, sizeof *m->preds);
    m->map = orr_malloc((nregs + 1) * sizeof *m->map);
    for (int c = 0; c < ORR_CLASSES; c++)
        for (uint32_t r = m->base[c]; r < m->base[c + 1]; r++) m->map[r] = r - m->base[c];
    if (small) find_live(m);
    shape_parts(m->k, f, m->parted, NULL);
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
        if (small) c->n += chain_from(m, b);
        for (uint32_t x = 0; x < c->n; x++) m->s->chain_of[c->first + x] = m->s->nchains;
        m->s->nchains++;
        counter n;
        c->loop = small && is_counted(m, c, &n);
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
    free(sets);
    free(m->preds);
    free(m->map);
}

// ---- the kernel
// ---------------------------------------------------------------------------------------------
static void *copied(orr_arena *a, const void *at, size_t n, size_t size) {
    void *to = orr_arena_alloc(a, n * size + 1);
    if (n) memcpy(to, at, n * size);
    return to;
}

// Labels were turned into instructions; now they are blocks. False: one is not where a block begins.
static bool number_parts(maker *m) {
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

static bool finish(maker *m, orr_err *e) {
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

orr_shape *orr_shape_new(const orr_kernel *k) {
    if (k->machine || k->grows || !k->nblocks || !is_whole(k)) return NULL;
    orr_arena arena = {0};
    orr_kernel *to = orr_arena_alloc(&arena, sizeof *to);
    *to = *k;
    to->arena = arena;
    to->blocks = NULL;
    to->nblocks = 0;
    to->funcs = copied(&to->arena, k->funcs, k->nfuncs, sizeof *k->funcs);
    to->tables = copied(&to->arena, k->tables, k->ntables, sizeof *k->tables);
    to->bases = NULL;
    to->nbases = 0;
    orr_shape *s = orr_calloc(1, sizeof *s);
    s->from = k;
    s->to = to;
    s->chains = orr_calloc(k->nblocks + 1, sizeof *s->chains);
    s->chain_of = orr_calloc(k->nblocks + 1, sizeof *s->chain_of);
    s->role = orr_calloc(k->nblocks + 1, 1);
    s->nmem = orr_calloc(k->nblocks + 1, sizeof *s->nmem);
    bool any = false;
    for (uint32_t b = 0; b < k->nblocks; b++)
        for (uint32_t n = k->blocks[b].first; n < k->blocks[b].first + k->blocks[b].count; n++) {
            s->nmem[b] += orr_inst_traced(&k->insts[n]) ? shape_accesses(&k->insts[n]) : 0;
            any |= shape_accesses(&k->insts[n]) > 1;
        }
    maker m = {.any = any, .s = s, .k = k, .role = s->role, .parted = orr_calloc(k->nblocks + 1, 1)};
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
    orr_shape_free(s);
    return NULL;
}

const orr_kernel *orr_shape_kernel(const orr_shape *s) { return s->to; }

void orr_shape_free(orr_shape *s) {
    if (!s) return;
    while (s->open.n) shape_drop(s->open.at[s->open.n - 1]);
    orr_arena arena = s->to->arena; // the kernel is in it itself
    orr_arena_free(&arena);
    free(s->open.at);
    free(s->chains);
    free(s->chain_of);
    free(s->role);
    free(s->nmem);
    free(s);
}
