// From a flat list of instructions to basic blocks, successors and post-dominators.
//
// A block starts at a function's first instruction, at a branch target, after an instruction that
// ends a block, and at an operation that waits for other lanes of the warp (shfl.sync, vote.sync,
// ...): lanes of a diverged warp meet at the start of a block, nowhere else, so such an operation must
// stand first in its block. A second one under the same immediate mask needs no block of its own,
// because inside a block no lane is lost.
//
// Post-dominators decide where diverged lanes meet again. A path that ends the thread early (a guard at the
// top of a kernel, an assertion) must not keep all others from meeting, so only the last exit of a function
// counts as its exit; blocks that cannot reach that one are judged by all exits together. The algorithm is
// Cooper, Harvey and Kennedy's "A Simple, Fast Dominance Algorithm" on the reversed graph.
#include <stdlib.h>
#include <string.h>

#include "isa/cfg.h"

// ---- successors -----------------------------------------------------------------------------
int orr_succ_count(const orr_kernel *k, const orr_block *b) {
    const orr_inst *last = &k->insts[b->first + b->count - 1];
    int n = b->next >= 0;
    if (last->op == ORR_OP_BRA) n++;
    if (last->op == ORR_OP_BRX) n += (int)last->imm;
    return n;
}

uint32_t orr_succ(const orr_kernel *k, const orr_block *b, int n) {
    const orr_inst *last = &k->insts[b->first + b->count - 1];
    if (b->next >= 0 && n-- == 0) return (uint32_t)b->next;
    if (last->op == ORR_OP_BRA) return (uint32_t)last->target;
    return k->tables[(uint32_t)last->target + (uint32_t)n];
}

static bool leaves(const orr_inst *i) { // may end the function here
    return i->op == ORR_OP_RET || i->op == ORR_OP_EXIT;
}

static bool falls_through(const orr_inst *i) {
    switch (i->op) {
    case ORR_OP_BRA:
    case ORR_OP_BRX:
    case ORR_OP_RET:
    case ORR_OP_EXIT:
    case ORR_OP_TRAP: return i->guard >= 0;
    default: return true;
    }
}

// ---- blocks ---------------------------------------------------------------------------------
// The operand that names the lanes an operation waits for, or NULL.
static const orr_operand *member_mask(const orr_kernel *k, const orr_inst *i) {
    int n;
    if (i->mods & ORR_M_TOGETHER) return NULL;
    switch (i->op) {
    case ORR_OP_SHFL: n = 3; break;
    case ORR_OP_VOTE:
    case ORR_OP_MATCH:
    case ORR_OP_REDUX: n = 1; break;
    case ORR_OP_ELECT:
    case ORR_OP_WARPSYNC: n = 0; break;
    case ORR_OP_MMA:
    case ORR_OP_WMMA:
    case ORR_OP_LDMATRIX:
    case ORR_OP_STMATRIX:
    case ORR_OP_MOVMATRIX:
    case ORR_OP_WMMALOAD:
    case ORR_OP_WMMASTORE: {
        static const orr_operand all = {.kind = ORR_K_IMM, .cls = ORR_W, .value = 0xffffffffu};
        return &all;
    }
    default: return NULL;
    }
    if (n >= i->nsrc) return NULL;
    const orr_operand *o = orr_src(k, i, n);
    return o->kind == ORR_K_NONE ? NULL : o;
}

const orr_operand *orr_inst_waits_for(const orr_kernel *k, const orr_inst *i) { return member_mask(k, i); }

static void mark_leaders(const orr_kernel *k, const orr_func *f, uint8_t *leader) {
    uint32_t end = f->first_inst + f->ninsts;
    leader[f->first_inst] = 1;
    for (uint32_t n = f->first_inst; n < end; n++) {
        const orr_inst *i = &k->insts[n];
        if (i->op == ORR_OP_BRA) leader[i->target] = 1;
        if (i->op == ORR_OP_BRX)
            for (uint32_t t = 0; t < i->imm; t++) leader[k->tables[(uint32_t)i->target + t]] = 1;
        if ((orr_ops[i->op].flags & ORR_F_END) && n + 1 < end) leader[n + 1] = 1;
    }
    bool waited = false; // an earlier operation of this block waits for all that `mask` names
    uint64_t mask = 0;
    for (uint32_t n = f->first_inst; n < end; n++) {
        if (leader[n]) waited = false;
        const orr_operand *o = member_mask(k, &k->insts[n]);
        if (!o) continue;
        if (waited && o->kind == ORR_K_IMM && ((uint32_t)o->value & ~(uint32_t)mask) == 0) continue;
        leader[n] = 1;
        waited = o->kind == ORR_K_IMM;
        mask = o->value;
    }
}

static bool check_targets(const orr_kernel *k, const orr_func *f, orr_err *e) {
    uint32_t lo = f->first_inst, end = lo + f->ninsts;
    for (uint32_t n = lo; n < end; n++) {
        const orr_inst *i = &k->insts[n];
        uint32_t t = (uint32_t)i->target;
        if (i->op == ORR_OP_BRA && (t < lo || t >= end))
            return orr_fail(e, ORR_BAD_INPUT, "%s:%u: branch out of function '%s'",
                            k->module ? k->module->path : "?", i->line, f->name);
        if (i->op == ORR_OP_BRX) {
            if (!i->imm || t > k->ntables || i->imm > k->ntables - t)
                return orr_fail(e, ORR_BAD_INPUT, "%s:%u: empty or missing branch table",
                                k->module ? k->module->path : "?", i->line);
            for (uint32_t x = 0; x < i->imm; x++)
                if (k->tables[t + x] < lo || k->tables[t + x] >= end)
                    return orr_fail(e, ORR_BAD_INPUT, "%s:%u: branch table leaves function '%s'",
                                    k->module ? k->module->path : "?", i->line, f->name);
        }
    }
    const orr_inst *last = &k->insts[end - 1];
    if (falls_through(last))
        return orr_fail(e, ORR_BAD_INPUT, "%s:%u: function '%s' runs off its end",
                        k->module ? k->module->path : "?", last->line, f->name);
    return true;
}

bool orr_cfg_build(orr_kernel *k, orr_err *e) {
    uint8_t *leader = orr_calloc(k->ninsts + 1, 1);
    uint32_t *block_of = orr_calloc(k->ninsts + 1, sizeof *block_of);
    bool ok = true;
    uint32_t nblocks = 0;
    for (uint32_t f = 0; f < k->nfuncs && ok; f++) {
        if (!k->funcs[f].ninsts) {
            ok = orr_fail(e, ORR_BAD_INPUT, "function '%s' has no instructions", k->funcs[f].name);
            break;
        }
        ok = check_targets(k, &k->funcs[f], e);
        if (ok) mark_leaders(k, &k->funcs[f], leader);
    }
    if (!ok) goto done;
    for (uint32_t n = 0; n < k->ninsts; n++) nblocks += leader[n];
    k->blocks = orr_arena_alloc(&k->arena, nblocks * sizeof *k->blocks);
    k->nblocks = 0;
    for (uint32_t f = 0; f < k->nfuncs; f++) {
        orr_func *fn = &k->funcs[f];
        fn->first_block = fn->entry = k->nblocks;
        for (uint32_t n = fn->first_inst; n < fn->first_inst + fn->ninsts; n++) {
            if (leader[n]) {
                k->blocks[k->nblocks].first = n;
                k->blocks[k->nblocks].func = f;
                k->nblocks++;
            }
            block_of[n] = k->nblocks - 1;
            k->blocks[k->nblocks - 1].count++;
        }
        fn->nblocks = k->nblocks - fn->first_block;
    }
    for (uint32_t n = 0; n < k->ninsts; n++)
        if (k->insts[n].op == ORR_OP_BRA) k->insts[n].target = (int32_t)block_of[k->insts[n].target];
    for (uint32_t n = 0; n < k->ntables; n++) k->tables[n] = block_of[k->tables[n]];
    for (uint32_t b = 0; b < k->nblocks; b++) {
        orr_block *blk = &k->blocks[b];
        blk->next = falls_through(&k->insts[blk->first + blk->count - 1]) ? (int32_t)b + 1 : -1;
    }
done:
    free(leader);
    free(block_of);
    return ok;
}

// ---- post-dominators ------------------------------------------------------------------------
// Works on one function; nodes are its blocks 0..n-1 and n, the exit.
typedef struct graph {
    const orr_kernel *k;
    const orr_func *f;
    uint32_t n;
    uint32_t *pred_first, *pred; // edges reversed: for each node, the nodes that lead to it
    uint32_t *order, *number;    // nodes in post-order of the walk from the exit; their numbers
    uint32_t norder;
    int32_t *idom;
    uint8_t *to_exit; // this block has an edge to the exit
    uint8_t *seen;
    uint32_t *stack, *stack_at;
} graph;

static const orr_block *node_block(const graph *g, uint32_t b) {
    return &g->k->blocks[g->f->first_block + b];
}

static void count_preds(graph *g) {
    memset(g->pred_first, 0, (g->n + 2) * sizeof *g->pred_first);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t b = 0; b < g->n; b++) {
            const orr_block *blk = node_block(g, b);
            int ns = orr_succ_count(g->k, blk);
            for (int s = 0; s < ns; s++) {
                uint32_t to = orr_succ(g->k, blk, s) - g->f->first_block;
                if (pass == 0)
                    g->pred_first[to + 1]++;
                else
                    g->pred[g->pred_first[to]++] = b;
            }
        }
        if (pass == 0) {
            for (uint32_t b = 0; b < g->n; b++) g->pred_first[b + 1] += g->pred_first[b];
        } else {
            memmove(g->pred_first + 1, g->pred_first, g->n * sizeof *g->pred_first);
            g->pred_first[0] = 0;
        }
    }
}

static void walk(graph *g, uint32_t root) { // post-order over reversed edges
    uint32_t depth = 0;
    g->stack[0] = root;
    g->stack_at[0] = g->pred_first[root];
    g->seen[root] = 1;
    for (;;) {
        uint32_t v = g->stack[depth];
        if (g->stack_at[depth] < g->pred_first[v + 1]) {
            uint32_t p = g->pred[g->stack_at[depth]++];
            if (g->seen[p]) continue;
            g->seen[p] = 1;
            depth++;
            g->stack[depth] = p;
            g->stack_at[depth] = g->pred_first[p];
        } else {
            g->number[v] = g->norder;
            g->order[g->norder++] = v;
            if (!depth--) return;
        }
    }
}

static int32_t meet(const graph *g, int32_t a, int32_t b) {
    while (a != b) {
        while (g->number[a] < g->number[b]) a = g->idom[a];
        while (g->number[b] < g->number[a]) b = g->idom[b];
    }
    return a;
}

static void solve(graph *g) {
    memset(g->seen, 0, g->n + 1);
    g->norder = 0;
    for (uint32_t b = 0; b < g->n; b++)
        if (g->to_exit[b] && !g->seen[b]) walk(g, b);
    g->number[g->n] = g->norder;
    g->order[g->norder++] = g->n;
    for (uint32_t b = 0; b <= g->n; b++) g->idom[b] = -1;
    g->idom[g->n] = (int32_t)g->n;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t o = g->norder - 1; o-- > 0;) {
            uint32_t b = g->order[o];
            const orr_block *blk = node_block(g, b);
            int32_t d = g->to_exit[b] ? (int32_t)g->n : -1;
            int ns = orr_succ_count(g->k, blk);
            for (int s = 0; s < ns; s++) {
                uint32_t to = orr_succ(g->k, blk, s) - g->f->first_block;
                if (!g->seen[to] || g->idom[to] < 0) continue; // leads nowhere, or not known yet
                d = d < 0 ? (int32_t)to : meet(g, d, (int32_t)to);
            }
            if (d != g->idom[b]) {
                g->idom[b] = d;
                changed = true;
            }
        }
    }
}

static void take(const graph *g, orr_kernel *k, uint8_t *done) {
    for (uint32_t b = 0; b < g->n; b++) {
        if (done[b] || !g->seen[b]) continue;
        done[b] = 1;
        int32_t d = g->idom[b];
        k->blocks[g->f->first_block + b].ipdom =
            d < 0 || d == (int32_t)g->n ? -1 : d + (int32_t)g->f->first_block;
    }
}

// Lanes that end early need not be waited for. Where lanes of a branch meet only at the end of the kernel
// because some of them may end before (`return` in a loop, which nvcc writes as a jump to the last block),
// those that go on meet before that: ptxas has them meet where they would if the early end were not there.
// For each way to the end, E, the graph with that way alone says where; of the ways that all successors of
// the branch lead to, the nearest place counts.
#define MAX_ENDS 8

static uint32_t only_return(const orr_kernel *k, const graph *g) { // a block that is nothing but the end
    for (uint32_t b = g->n; b-- > 0;) {
        const orr_inst *i = &k->insts[node_block(g, b)->first];
        if (node_block(g, b)->count == 1 && i->guard < 0 && (i->op == ORR_OP_RET || i->op == ORR_OP_EXIT))
            return b;
    }
    return UINT32_MAX;
}

// Blocks that lead to `end` without going back.
static void reach_forward(const graph *g, uint32_t end, uint8_t *reach) {
    memset(reach, 0, g->n);
    reach[end] = 1;
    for (uint32_t b = end; b-- > 0;) {
        int ns = orr_succ_count(g->k, node_block(g, b));
        for (int s = 0; s < ns; s++) {
            uint32_t to = orr_succ(g->k, node_block(g, b), s) - g->f->first_block;
            if (to > b && reach[to]) reach[b] = 1;
        }
    }
}

static void meet_before_the_end(graph *g, orr_kernel *k, uint8_t *forward) {
    uint32_t end = only_return(k, g), ends[MAX_ENDS], nends = 0;
    if (end == UINT32_MAX) return;
    for (uint32_t p = g->pred_first[end]; p < g->pred_first[end + 1]; p++) {
        if (orr_succ_count(k, node_block(g, g->pred[p])) != 1) continue; // leaves right from a branch
        if (nends == MAX_ENDS) return;
        ends[nends++] = g->pred[p];
    }
    uint32_t first = g->f->first_block;
    for (uint32_t e = 0; e < nends && nends > 1; e++) {
        memset(g->to_exit, 0, g->n + 1);
        g->to_exit[ends[e]] = 1;
        solve(g);
        reach_forward(g, ends[e], forward);
        for (uint32_t b = 0; b < g->n; b++) {
            orr_block *blk = &k->blocks[first + b];
            int ns = orr_succ_count(k, blk);
            if (ns < 2 || !g->seen[b] || g->idom[b] < 0 || g->idom[b] >= (int32_t)g->n) continue;
            bool back = false, all = true;
            for (int s = 0; s < ns; s++) back |= orr_succ(k, blk, s) - first <= b;
            for (int s = 0; s < ns; s++) {
                uint32_t to = orr_succ(k, blk, s) - first;
                all &= back ? g->seen[to] : forward[to];
            }
            uint32_t at = first + (uint32_t)g->idom[b];
            if (!all || at <= first + b) continue;
            if (blk->ipdom < 0 || (uint32_t)blk->ipdom == first + end || at < (uint32_t)blk->ipdom)
                blk->ipdom = (int32_t)at;
        }
    }
}

static void post_dominators(orr_kernel *k, const orr_func *f) {
    uint32_t n = f->nblocks, nedges = 0;
    graph g = {.k = k, .f = f, .n = n};
    for (uint32_t b = 0; b < n; b++) nedges += (uint32_t)orr_succ_count(k, node_block(&g, b));
    orr_arena a = {0};
    g.pred_first = orr_arena_alloc(&a, (n + 2) * sizeof *g.pred_first);
    g.pred = orr_arena_alloc(&a, (nedges + 1) * sizeof *g.pred);
    g.order = orr_arena_alloc(&a, (n + 1) * sizeof *g.order);
    g.number = orr_arena_alloc(&a, (n + 1) * sizeof *g.number);
    g.idom = orr_arena_alloc(&a, (n + 1) * sizeof *g.idom);
    g.to_exit = orr_arena_alloc(&a, n + 1);
    g.seen = orr_arena_alloc(&a, n + 1);
    g.stack = orr_arena_alloc(&a, (n + 1) * sizeof *g.stack);
    g.stack_at = orr_arena_alloc(&a, (n + 1) * sizeof *g.stack_at);
    uint8_t *done = orr_arena_alloc(&a, n + 1);
    count_preds(&g);
    for (uint32_t b = 0; b < n; b++) k->blocks[f->first_block + b].ipdom = -1;
    // the last exit alone
    for (uint32_t b = n; b-- > 0;)
        if (leaves(&k->insts[node_block(&g, b)->first + node_block(&g, b)->count - 1])) {
            g.to_exit[b] = 1;
            break;
        }
    solve(&g);
    take(&g, k, done);
    // then all exits, traps too; then, for endless loops, their last block as well
    for (uint32_t b = 0; b < n; b++) {
        const orr_inst *last = &k->insts[node_block(&g, b)->first + node_block(&g, b)->count - 1];
        if (leaves(last) || last->op == ORR_OP_TRAP) g.to_exit[b] = 1;
    }
    solve(&g);
    take(&g, k, done);
    bool endless = false;
    for (uint32_t b = n; b-- > 0;)
        if (!done[b] && !endless) {
            g.to_exit[b] = 1;
            endless = true;
        }
    if (endless) {
        solve(&g);
        take(&g, k, done);
    }
    if (f == k->funcs) meet_before_the_end(&g, k, done);
    orr_arena_free(&a);
}

void orr_cfg_postdom(orr_kernel *k) {
    for (uint32_t f = 0; f < k->nfuncs; f++) post_dominators(k, &k->funcs[f]);
}
