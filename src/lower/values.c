// The lowering's first step: what each operand's value is.
//
// A kernel's registers have been shared (isa/liveness.c), so one number stands for many things. Here each
// write is a value of its own, and where several can arrive at a block's start they merge into a new one:
// static single assignment, with merges at every join where a register is live, and those taken out again
// that merge one value with itself. Values that remain merged must share a machine register: they form a web.
//
// On the way: reverse postorder, dominators (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
// Algorithm") and loops, which say where a constant is best loaded.
#include <stdlib.h>
#include <string.h>

#include "lower/pass.h"

#define MAX_CELLS (1u << 23) // words of a data-flow set; a larger function keeps its registers as they are
#define MAX_FEW   4096       // registers of a class then

// ---- flow ----------------------------------------------------------------------------------------
// Successor s of a block that is in the same function, or NONE.
static uint32_t successor(const lower *l, uint32_t b, int s) {
    uint32_t to = orr_succ(l->k, &l->k->blocks[l->flow.first_block + b], s) - l->flow.first_block;
    return to < l->flow.nblocks ? to : NONE;
}

static int successors(const lower *l, uint32_t b) {
    return orr_succ_count(l->k, &l->k->blocks[l->flow.first_block + b]);
}

typedef struct visit {
    uint32_t block;
    int next;
} visit;

// Blocks in postorder from `root`, appended to `post`.
static void walk(const lower *l, uint32_t root, uint8_t *seen, visit *stack, uint32_t *post,
                 uint32_t *npost) {
    uint32_t depth = 0;
    stack[depth++] = (visit){root, 0};
    seen[root] = 1;
    while (depth) {
        visit *v = &stack[depth - 1];
        if (v->next == successors(l, v->block)) {
            post[(*npost)++] = v->block;
            depth--;
            continue;
        }
        uint32_t to = successor(l, v->block, v->next++);
        if (to == NONE || seen[to]) continue;
        seen[to] = 1;
        stack[depth++] = (visit){to, 0};
    }
}

static void order_blocks(lower *l, uint32_t entry) {
    flow *f = &l->flow;
    uint32_t n = f->nblocks, npost = 0;
    uint8_t *seen = orr_calloc(n + 1, 1);
    visit *stack = orr_calloc(n + 1, sizeof *stack);
    uint32_t *post = orr_calloc(n + 1, sizeof *post);
    f->order = orr_calloc(n + 1, sizeof *f->order);
    f->number = orr_calloc(n + 1, sizeof *f->number);
    uint32_t done = 0;
    for (uint32_t b = 0; b <= n; b++) { // the entry first, then what cannot be reached from it
        uint32_t root = b ? b - 1 : entry;
        if (root >= n || seen[root]) continue;
        npost = 0;
        walk(l, root, seen, stack, post, &npost);
        while (npost) f->order[done++] = post[--npost];
    }
    f->norder = done;
    for (uint32_t i = 0; i < done; i++) f->number[f->order[i]] = i;
    free(seen);
    free(stack);
    free(post);
}

static void find_preds(lower *l) {
    flow *f = &l->flow;
    f->pred_first = orr_calloc(f->nblocks + 2, sizeof *f->pred_first);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t b = 0; b < f->nblocks; b++) {
            int n = successors(l, b);
            for (int s = 0; s < n; s++) {
                uint32_t to = successor(l, b, s);
                if (to == NONE) continue;
                if (pass)
                    f->preds[f->pred_first[to]++] = b;
                else
                    f->pred_first[to + 1]++;
            }
        }
        if (pass) break;
        for (uint32_t b = 0; b < f->nblocks; b++) f->pred_first[b + 1] += f->pred_first[b];
        f->preds = orr_calloc(f->pred_first[f->nblocks] + 1, sizeof *f->preds);
    }
    memmove(f->pred_first + 1, f->pred_first,
            f->nblocks * sizeof *f->pred_first); // each had moved to its end
    f->pred_first[0] = 0;
}

uint32_t lower_meet(const flow *f, uint32_t a, uint32_t b) {
    while (a != b) {
        if (a == NONE || b == NONE) return NONE;
        if (f->number[a] > f->number[b])
            a = f->idom[a];
        else
            b = f->idom[b];
    }
    return a;
}

bool lower_dominates(const flow *f, uint32_t a, uint32_t b) {
    while (b != NONE && f->number[b] > f->number[a]) b = f->idom[b];
    return a == b;
}

static void find_dominators(lower *l) {
    flow *f = &l->flow;
    f->idom = orr_malloc((f->nblocks + 1) * sizeof *f->idom);
    for (uint32_t b = 0; b <= f->nblocks; b++) f->idom[b] = NONE;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i < f->norder; i++) {
            uint32_t b = f->order[i], best = NONE;
            for (uint32_t p = f->pred_first[b]; p < f->pred_first[b + 1]; p++) {
                uint32_t from = f->preds[p];
                bool known = f->idom[from] != NONE || f->number[from] == 0;
                if (!known) continue;
                best = best == NONE ? from : lower_meet(f, best, from);
                if (best == NONE) break; // from a part that the entry does not reach
            }
            if (best == f->idom[b]) continue;
            f->idom[b] = best;
            changed = true;
        }
    }
}

// A branch back to a dominator closes a loop; the inner header of two is the one later in reverse postorder.
static void find_loops(lower *l) {
    flow *f = &l->flow;
    uint32_t *stack = orr_malloc((f->nblocks + 1) * sizeof *stack), *mark = orr_malloc((f->nblocks + 1) * 4);
    f->loop = orr_malloc((f->nblocks + 1) * sizeof *f->loop);
    f->depth = orr_calloc(f->nblocks + 1, sizeof *f->depth);
    for (uint32_t b = 0; b <= f->nblocks; b++) f->loop[b] = mark[b] = NONE;
    uint64_t work = 0, most = 64ull * f->nblocks + 4096; // deep nests of a hostile program are cut short
    for (uint32_t i = 0; i < f->norder && work < most; i++) {
        uint32_t h = f->order[i], n = 0; // outer headers come first, so that inner ones write last
        for (uint32_t p = f->pred_first[h]; p < f->pred_first[h + 1]; p++) {
            uint32_t from = f->preds[p];
            if (!lower_dominates(f, h, from) || mark[from] == h) continue;
            mark[from] = h;
            stack[n++] = from;
        }
        if (!n) continue;
        if (mark[h] != h) {
            mark[h] = h;
            f->loop[h] = h;
            f->depth[h]++;
        }
        while (n) {
            uint32_t b = stack[--n];
            work++;
            if (f->loop[b] != h) {
                f->loop[b] = h;
                f->depth[b]++;
            }
            if (b == h) continue;
            for (uint32_t p = f->pred_first[b]; p < f->pred_first[b + 1]; p++) {
                uint32_t from = f->preds[p];
                if (mark[from] == h || (f->idom[from] == NONE && f->number[from])) continue;
                mark[from] = h;
                stack[n++] = from;
            }
        }
    }
    free(stack);
    free(mark);
}

// ---- values --------------------------------------------------------------------------------------
typedef struct ssa {
    orr_live live;
    uint32_t *list_first, *list; // registers that are live at a block's start
    uint32_t *entry;             // and their values, as the list has them
    uint32_t *now;               // per register: its value where we are
    uint32_t *same;              // per value: what it turned out to be
} ssa;

void lower_live_reachable(const flow *f, orr_live *live) {
    for (uint32_t b = 0; b < f->nblocks; b++) {
        if (f->number[b] != NONE) continue;
        memset(orr_live_in(live, b), 0, live->words * sizeof *live->in);
        memset(orr_live_out(live, b), 0, live->words * sizeof *live->out);
    }
}

static uint32_t new_value(lower *l, uint32_t def, uint8_t cls, uint32_t block) {
    value *v = ORR_PUSH(&l->values);
    *v = (value){.def = def, .prev = NONE, .web = (uint32_t)l->values.n - 1, .cls = cls, .block = block};
    return (uint32_t)l->values.n - 1;
}

static uint8_t class_of(const ssa *s, uint32_t r) {
    uint8_t c = 0;
    while (c + 1 < ORR_CLASSES && r >= s->live.base[c + 1]) c++;
    return c;
}

// What is live at each block's start: a merge, unless there is one way in that has been seen before.
static void make_merges(lower *l, ssa *s) {
    flow *f = &l->flow;
    size_t total = 0;
    s->list_first = orr_calloc(f->nblocks + 1, sizeof *s->list_first);
    for (uint32_t b = 0; b < f->nblocks; b++) {
        s->list_first[b] = (uint32_t)total;
        for (uint32_t w = 0; w < s->live.words; w++)
            total += (size_t)__builtin_popcountll(orr_live_in(&s->live, b)[w]);
    }
    s->list_first[f->nblocks] = (uint32_t)total;
    s->list = orr_calloc(total + 1, sizeof *s->list);
    s->entry = orr_malloc((total + 1) * sizeof *s->entry);
    for (uint32_t b = 0; b < f->nblocks; b++) {
        uint32_t at = s->list_first[b], np = f->pred_first[b + 1] - f->pred_first[b];
        bool follows = np == 1 && f->number[f->preds[f->pred_first[b]]] < f->number[b];
        for (uint32_t w = 0; w < s->live.words; w++)
            for (uint64_t m = orr_live_in(&s->live, b)[w]; m; m &= m - 1) {
                uint32_t r = w * 64 + (uint32_t)__builtin_ctzll(m);
                s->list[at] = r;
                s->entry[at] = NONE;
                if (np && !follows) {
                    uint32_t v = new_value(l, NONE, class_of(s, r), b);
                    l->values.at[v].first = (uint32_t)l->args.n;
                    l->values.at[v].nargs = np;
                    for (uint32_t p = 0; p < np; p++) *ORR_PUSH(&l->args) = NONE;
                    s->entry[at] = v;
                }
                at++;
            }
    }
}

static void number_block(lower *l, ssa *s, uint32_t b) {
    const orr_kernel *k = l->k;
    const orr_block *blk = &k->blocks[l->flow.first_block + b];
    for (uint32_t i = s->list_first[b]; i < s->list_first[b + 1]; i++) s->now[s->list[i]] = s->entry[i];
    for (uint32_t n = blk->first; n < blk->first + blk->count; n++) {
        const orr_inst *i = &k->insts[n];
        for (int o = 0; o < i->nsrc; o++) {
            const orr_operand *r = orr_src(k, i, o);
            if (r->kind == ORR_K_REG)
                l->of[i->first + i->ndst + (uint32_t)o] = s->now[orr_live_index(&s->live, r)];
        }
        if (i->guard >= 0) l->guard[n] = s->now[i->guard];
        if (i->under) l->under[n] = s->now[i->under - 1];
        for (int o = 0; o < i->ndst; o++) {
            const orr_operand *r = orr_dst(k, i, o);
            if (r->kind != ORR_K_REG) continue;
            uint32_t v = new_value(l, n, r->cls, b);
            if (i->guard >= 0) l->values.at[v].prev = s->now[orr_live_index(&s->live, r)];
            l->of[i->first + (uint32_t)o] = v;
            s->now[orr_live_index(&s->live, r)] = v;
        }
    }
}

static void pass_on(lower *l, ssa *s, uint32_t b) {
    flow *f = &l->flow;
    int ns = successors(l, b);
    for (int t = 0; t < ns; t++) {
        uint32_t to = successor(l, b, t);
        if (to == NONE) continue;
        uint32_t p0 = f->pred_first[to], np = f->pred_first[to + 1] - p0;
        for (uint32_t i = s->list_first[to]; i < s->list_first[to + 1]; i++) {
            uint32_t v = s->now[s->list[i]], m = s->entry[i];
            if (m == NONE || l->values.at[m].def != NONE || l->values.at[m].block != to ||
                !l->values.at[m].nargs) {
                s->entry[i] = v; // the one way in
                continue;
            }
            for (uint32_t p = 0; p < np; p++)
                if (f->preds[p0 + p] == b) l->args.at[l->values.at[m].first + p] = v;
        }
    }
    // A register is undefined where it is not live: what the next block sees is in its list alone.
    const orr_block *blk = &l->k->blocks[f->first_block + b];
    for (uint32_t i = s->list_first[b]; i < s->list_first[b + 1]; i++) s->now[s->list[i]] = NONE;
    for (uint32_t n = blk->first; n < blk->first + blk->count; n++)
        for (int o = 0; o < l->k->insts[n].ndst; o++) {
            const orr_operand *r = orr_dst(l->k, &l->k->insts[n], o);
            if (r->kind == ORR_K_REG) s->now[orr_live_index(&s->live, r)] = NONE;
        }
}

static uint32_t real(ssa *s, uint32_t v) {
    if (v == NONE) return NONE;
    uint32_t top = v;
    while (s->same[top] != top) top = s->same[top];
    while (s->same[v] != top) {
        uint32_t next = s->same[v];
        s->same[v] = top;
        v = next;
    }
    return top;
}

// A merge of one value (and itself, and nothing) is that value. What is left after a few rounds stays: it
// only keeps something from being folded.
static void drop_merges(lower *l, ssa *s) {
    s->same = orr_malloc((l->values.n + 1) * sizeof *s->same);
    for (uint32_t v = 0; v < l->values.n; v++) s->same[v] = v;
    bool changed = true;
    for (int round = 0; changed && round < 32; round++) {
        changed = false;
        for (uint32_t v = 0; v < l->values.n; v++) {
            const value *m = &l->values.at[v];
            if (m->def != NONE || !m->nargs || s->same[v] != v) continue;
            uint32_t one = NONE;
            bool several = false;
            for (uint32_t a = 0; a < m->nargs && !several; a++) {
                uint32_t u = real(s, l->args.at[m->first + a]);
                if (u == NONE || u == v) continue;
                several = one != NONE && one != u;
                one = u;
            }
            if (several || one == NONE) continue;
            s->same[v] = one;
            changed = true;
        }
    }
    for (uint32_t a = 0; a < l->args.n; a++) l->args.at[a] = real(s, l->args.at[a]);
    for (uint32_t v = 0; v < l->values.n; v++) l->values.at[v].prev = real(s, l->values.at[v].prev);
    const orr_kernel *k = l->k;
    const orr_block *blk = &k->blocks[l->flow.first_block], *end = blk + l->flow.nblocks;
    for (; blk < end; blk++)
        for (uint32_t n = blk->first; n < blk->first + blk->count; n++) {
            const orr_inst *i = &k->insts[n];
            for (uint32_t o = i->first; o < i->first + i->ndst + i->nsrc; o++) l->of[o] = real(s, l->of[o]);
            l->guard[n] = real(s, l->guard[n]);
            l->under[n] = real(s, l->under[n]);
        }
}

// ---- webs ----------------------------------------------------------------------------------------
uint32_t lower_web(lower *l, uint32_t v) {
    uint32_t top = v;
    while (l->values.at[top].web != top) top = l->values.at[top].web;
    while (l->values.at[v].web != top) {
        uint32_t next = l->values.at[v].web;
        l->values.at[v].web = top;
        v = next;
    }
    return top;
}

static void unite(lower *l, uint32_t a, uint32_t b) {
    if (a == NONE || b == NONE || l->values.at[a].cls != l->values.at[b].cls) return;
    l->values.at[a].merged = l->values.at[b].merged = true;
    a = lower_web(l, a);
    b = lower_web(l, b);
    if (a != b) l->values.at[a > b ? a : b].web = a > b ? b : a;
}

// ---- what is needed ------------------------------------------------------------------------------
static bool has_effect(const orr_inst *i) {
    uint16_t f = orr_ops[i->op].flags;
    if (f & (ORR_F_MEMORY | ORR_F_FENCE | ORR_F_BARRIER | ORR_F_BRANCH | ORR_F_CALL | ORR_F_RET | ORR_F_EXIT |
             ORR_F_END))
        return i->space != ORR_SPACE_PARAM || i->op != ORR_OP_LD;
    switch (i->op) {
    case ORR_OP_PREFETCH:
    case ORR_OP_CPCOMMIT:
    case ORR_OP_CPWAIT:
    case ORR_OP_CPMBAR:
    case ORR_OP_DISCARD:
    case ORR_OP_WGSYNC:
    case ORR_OP_BULK:
    case ORR_OP_BULKSYNC:
    case ORR_OP_CLBAR:
    case ORR_OP_NANOSLEEP:
    case ORR_OP_BRKPT:
    case ORR_OP_STACKRESTORE:
    case ORR_OP_ALLOCA: return true;
    case ORR_OP_NOP: return i->sub != 0;
    case ORR_OP_SREG: return i->imm >= ORR_SREG_CLOCK; // timers are read where they stand
    default: return false;
    }
}

typedef ORR_VEC(uint32_t) stack_of;

static void need(lower *l, stack_of *stack, uint32_t v) {
    if (v == NONE || l->values.at[v].live) return;
    l->values.at[v].live = true;
    *ORR_PUSH(stack) = v;
}

static void need_inst(lower *l, stack_of *stack, uint32_t n) {
    const orr_inst *i = &l->k->insts[n];
    if (!(l->select.todo[n] & DO_SKIP)) return;
    l->select.todo[n] &= (uint8_t)~DO_SKIP;
    for (int s = 0; s < i->nsrc; s++) need(l, stack, l->of[i->first + i->ndst + (uint32_t)s]);
    need(l, stack, l->guard[n]);
    need(l, stack, l->under[n]);
}

static void find_needed(lower *l) {
    stack_of stack = {0};
    const orr_block *first = &l->k->blocks[l->flow.first_block], *end = first + l->flow.nblocks;
    for (const orr_block *b = first; b < end; b++)
        for (uint32_t n = b->first; n < b->first + b->count; n++) {
            l->select.todo[n] |= DO_SKIP;
            if (has_effect(&l->k->insts[n])) need_inst(l, &stack, n);
        }
    while (stack.n) {
        value *v = &l->values.at[stack.at[--stack.n]];
        need(l, &stack, v->prev);
        for (uint32_t a = 0; a < v->nargs; a++) need(l, &stack, l->args.at[v->first + a]);
        if (v->def != NONE) need_inst(l, &stack, v->def);
    }
    free(stack.at);
    for (uint32_t v = 0; v < l->values.n; v++) {
        const value *m = &l->values.at[v];
        if (!m->live) continue;
        for (uint32_t a = 0; a < m->nargs; a++) unite(l, v, l->args.at[m->first + a]);
        unite(l, v, m->prev);
    }
    for (const orr_block *b = first; b < end; b++)
        for (uint32_t n = b->first; n < b->first + b->count; n++) {
            const orr_inst *i = &l->k->insts[n];
            if (l->select.todo[n] & DO_SKIP) continue;
            for (int s = 0; s < i->nsrc; s++) {
                uint32_t v = l->of[i->first + i->ndst + (uint32_t)s];
                if (v != NONE) l->values.at[v].uses++;
            }
            if (l->guard[n] != NONE) l->values.at[l->guard[n]].uses++;
        }
}

// A function too large to look at closely: each register is one value, written many times.
static void registers_as_values(lower *l) {
    const orr_kernel *k = l->k;
    for (int c = 0; c < ORR_CLASSES; c++)
        for (uint32_t r = 0; r < MAX_FEW; r++) {
            uint32_t v = new_value(l, NONE, (uint8_t)c, 0);
            l->values.at[v].merged = l->values.at[v].live = true;
            l->values.at[v].uses = 2;
        }
    const orr_block *b = &k->blocks[l->flow.first_block], *end = b + l->flow.nblocks;
    for (; b < end; b++)
        for (uint32_t n = b->first; n < b->first + b->count; n++) {
            const orr_inst *i = &k->insts[n];
            for (uint32_t o = i->first; o < i->first + i->ndst + i->nsrc; o++)
                if (k->operands[o].kind == ORR_K_REG)
                    l->of[o] = k->operands[o].cls * MAX_FEW + k->operands[o].reg % MAX_FEW;
            if (i->guard >= 0) l->guard[n] = ORR_P * MAX_FEW + (uint32_t)i->guard % MAX_FEW;
        }
}

void lower_values(lower *l) {
    flow *f = &l->flow;
    *f = (flow){.first_block = l->func.first_block, .nblocks = l->func.nblocks};
    l->values.n = l->args.n = 0;
    order_blocks(l, l->func.entry - l->func.first_block);
    find_preds(l);
    find_dominators(l);
    find_loops(l);
    ssa s = {0};
    if (!orr_live_of(&s.live, l->k, &l->func, MAX_CELLS)) {
        registers_as_values(l);
        return;
    }
    lower_live_reachable(f, &s.live);
    make_merges(l, &s);
    uint32_t nregs = s.live.base[ORR_CLASSES];
    s.now = orr_malloc((nregs + 1) * sizeof *s.now);
    for (uint32_t r = 0; r <= nregs; r++) s.now[r] = NONE;
    for (uint32_t i = 0; i < f->norder; i++) {
        number_block(l, &s, f->order[i]);
        pass_on(l, &s, f->order[i]);
    }
    drop_merges(l, &s);
    find_needed(l);
    orr_live_free(&s.live);
    free(s.list_first);
    free(s.list);
    free(s.entry);
    free(s.now);
    free(s.same);
}

void lower_values_free(lower *l) {
    free(l->flow.order);
    free(l->flow.number);
    free(l->flow.idom);
    free(l->flow.loop);
    free(l->flow.depth);
    free(l->flow.preds);
    free(l->flow.pred_first);
    l->flow = (flow){0};
}
