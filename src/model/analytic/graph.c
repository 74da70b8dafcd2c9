// The pipeline execution graph of a block of code, and its longest path.
//
// The nodes are the stages of the block's instructions: issue, operands, unit, result. Edges are what makes
// one wait for another in a warp that has the SM for itself: program order and the scheduler's interval,
// registers (or the control bits' barriers), a unit that is busy with the warp's instruction before, the
// load/store port. The graph has no cycles and instructions are in order, so one pass from top to bottom
// finds the longest path.
//
// A block does not begin with nothing under way. What its predecessor left behind (registers that are not
// there yet) is part of its graph, so a path is that of a pair of blocks; what was under way before the pair
// is what the predecessor's own predecessors leave behind, the latest of all ways in (iterated until it
// stays).
#include "model/analytic/analytic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory/cost.h"

enum { EXTRA_BARRIERS = 0, EXTRA_LANDED = 6, EXTRA_GROUPS = 7, EXTRAS = 8 }; // behind the registers
#define ROUNDS    3          // of an_graph_flow: loops in loops
#define MAX_STATE (1u << 25) // places kept for all blocks; more: pairs begin with nothing under way

static double whole(double v) { return v > 0 ? floor(v + 0.5) : 0; }

void an_graph_init(an_graph *g, const orr_gpu *gpu, const orr_program *p) {
    *g = (an_graph){.gpu = gpu, .program = p};
    const orr_gpu_op *branch = orr_gpu_find_op(gpu, "branch"), *barrier = orr_gpu_find_op(gpu, "barrier");
    g->branch_wait = gpu->core_branch_wait > 0 ? whole(gpu->core_branch_wait)
                     : branch                  ? whole(branch->latency)
                                               : 1;
    g->barrier_latency = barrier && barrier->latency >= 1 ? whole(barrier->latency) : 1;
    g->collect = whole(gpu->core_collect);
    g->writeback = whole(gpu->core_writeback);
    g->pass_cycles = orr_shared_pass_cycles(gpu);
    uint32_t subs = (uint32_t)gpu->core_subcores;
    g->sched_per_sub = (uint32_t)gpu->core_schedulers > subs ? (uint32_t)gpu->core_schedulers / subs : 1;
    for (int u = 0; u < gpu->nunits; u++) {
        uint32_t n = (uint32_t)gpu->units[u].count;
        g->shared_unit[u] = n < subs;
        g->pools[u] = n < subs ? n : n / subs;
        if (g->pools[u] > 16) g->pools[u] = 16;
    }
    if (gpu->core_kind == ORR_CORE_COLLECTOR && gpu->regs_collectors > 0) {
        g->collectors = (uint32_t)gpu->regs_collectors / subs;
        if (!g->collectors) g->collectors = 1;
    }
    an_graph_grow(g);
}

void an_graph_free(an_graph *g) {
    free(g->access);
    free(g->ready);
    free(g->now);
    free(g->known);
    memset(g, 0, sizeof *g);
}

void an_graph_changed(an_graph *g) { g->current = false; }

void an_graph_grow(an_graph *g) {
    an_graph_changed(g);
    const orr_program *p = g->program;
    uint32_t stride = p->nplaces + EXTRAS;
    g->access = orr_realloc(g->access, (p->ninsts + 1) * sizeof *g->access);
    memset(g->access + g->ninsts, 0, (p->ninsts + 1 - g->ninsts) * sizeof *g->access);
    an_access *fresh = orr_calloc(p->ninsts + 1, sizeof *fresh);
    an_memory_assume(g->gpu, p, fresh);
    memcpy(g->access + g->ninsts, fresh + g->ninsts, (p->ninsts - g->ninsts) * sizeof *fresh);
    free(fresh);
    g->ninsts = p->ninsts;
    g->now = orr_realloc(g->now, stride * sizeof *g->now);
    free(g->ready);
    g->ready = (uint64_t)p->nblocks * stride <= MAX_STATE
                   ? orr_calloc((size_t)p->nblocks * stride + 1, sizeof *g->ready)
                   : NULL;
    g->nblocks = p->nblocks;
    g->stride = stride;
}

// ---- one pass ---------------------------------------------------------------------------------------
typedef struct pass {
    double front;                      // the warp's next instruction not before
    double slot;                       // nor the scheduler's
    double port;                       // the load/store unit's
    int same;                          // issued in this cycle
    double unit[ORR_GPU_UNITS_MAX][4]; // when each is free; more than four of a kind are never short
} pass;

static uint32_t operands(const orr_program *p, const orr_tinst *i) { // read from banks, each once
    uint32_t n = 0;
    const uint16_t *r = p->regs + i->regs;
    for (int s = 0; s < i->nsrc; s++) {
        if (p->reg[r[s]] >= ORR_TREG_P) continue;
        bool again = false;
        for (int m = 0; m < s; m++) again |= r[m] == r[s];
        n += !again;
    }
    return n;
}

static double later(double a, double b) { return a > b ? a : b; }

static double depends(const an_graph *g, const orr_tinst *i, double t) {
    const orr_program *p = g->program;
    const double *extra = g->now + p->nplaces;
    if (p->control) {
        for (uint32_t m = ORR_CTRL_WAIT(i->ctrl); m; m &= m - 1)
            t = later(t, extra[EXTRA_BARRIERS + orr_ffs(m)]);
    } else {
        const uint16_t *r = p->regs + i->regs;
        for (int n = 0; n < i->nsrc + i->ndst; n++) t = later(t, g->now[r[n]]);
    }
    if (i->kind == ORR_TK_FENCE) t = later(t, extra[EXTRA_LANDED]);
    if (i->kind == ORR_TK_WAIT_GROUP) {
        if (i->imm == 0) t = later(t, extra[EXTRA_GROUPS]);
        if (i->warps && !i->imm && i->warps <= 6) t = later(t, extra[EXTRA_BARRIERS + i->warps - 1]);
    }
    return t;
}

static void result(an_graph *g, const orr_tinst *i, double t) {
    const orr_program *p = g->program;
    const uint16_t *r = p->regs + i->regs + i->nsrc;
    for (int d = 0; d < i->ndst; d++) g->now[r[d]] = t;
    if (p->control && ORR_CTRL_WBAR(i->ctrl) < 6) {
        double *b = g->now + p->nplaces + EXTRA_BARRIERS + ORR_CTRL_WBAR(i->ctrl);
        *b = later(*b, t);
    }
}

static double free_unit(const an_graph *g, const pass *s, int u, int *which) {
    int n = g->pools[u] < 4 ? (int)g->pools[u] : 4;
    *which = 0;
    for (int k = 1; k < n; k++)
        if (s->unit[u][k] < s->unit[u][*which]) *which = k;
    return g->pools[u] > 4 ? 0 : s->unit[u][*which];
}

static void memory(an_graph *g, pass *s, const orr_tinst *i, uint32_t inst, double t) {
    const an_access *a = &g->access[inst];
    double *extra = g->now + g->program->nplaces;
    double begin = later(t, s->port);
    s->port = begin + a->cost;
    if (g->program->control && ORR_CTRL_RBAR(i->ctrl) < 6) {
        double *b = extra + EXTRA_BARRIERS + ORR_CTRL_RBAR(i->ctrl);
        *b = later(*b, begin + 1);
    }
    if (!(i->flags & ORR_TF_LOAD)) return;
    double done = begin + a->latency;
    if (i->flags & ORR_TF_ASYNC) {
        extra[EXTRA_GROUPS] = later(extra[EXTRA_GROUPS], done);
    } else {
        result(g, i, done);
    }
    extra[EXTRA_LANDED] = later(extra[EXTRA_LANDED], done);
}

static void issue(an_graph *g, pass *s, uint32_t inst, bool off, int last_unit) {
    const orr_gpu *gpu = g->gpu;
    const orr_program *p = g->program;
    const orr_tinst *i = &p->insts[inst];
    double t = depends(g, i, s->front);
    int which;
    t = later(t, free_unit(g, s, i->unit, &which));
    bool pair = gpu->core_issue > 1 && s->same > 0 && s->same < gpu->core_issue && t < s->slot &&
                (!gpu->core_dual_units || i->unit != last_unit);
    if (!pair) {
        t = later(t, s->slot);
        s->same = 0;
    }
    s->same++;
    if (s->same == 1) s->slot = t + gpu->core_issue_interval;
    s->front = t + (gpu->core_issue > 1 && s->same < gpu->core_issue ? 0 : 1);
    if (ORR_CTRL_STALL(i->ctrl) > 1) s->front = t + ORR_CTRL_STALL(i->ctrl);
    double start = 0;
    if (g->collectors) {
        double took = ceil((double)operands(p, i) / gpu->regs_ports);
        if (g->collect > 0) start = g->collect + (took > 1 ? took - 1 : 0) * gpu->regs_interval;
        if (took > 0) start += g->conflict;
    } else {
        start = i->nbanks;
        s->front += i->nbanks;
        s->slot += i->nbanks;
    }
    s->unit[i->unit][which] = t + i->interval + (g->collectors ? 0 : i->nbanks);
    double done = t + start + i->latency + g->writeback;
    switch (i->kind) {
    case ORR_TK_MEM:
        if (off)
            result(g, i, t + start + 1);
        else
            memory(g, s, i, inst, t + (g->collectors ? g->conflict : start));
        break;
    case ORR_TK_BRANCH:
        result(g, i, done);
        s->front = later(s->front, t + g->branch_wait);
        break;
    case ORR_TK_FENCE: s->front = later(s->front, t + orr_fence_cycles(gpu, i->imm)); break;
    case ORR_TK_BARRIER:
        if (!off && !(i->flags & ORR_TF_ARRIVE)) s->front = later(s->front, t + g->barrier_latency);
        result(g, i, done);
        break;
    case ORR_TK_GROUP: break;
    default: result(g, i, done);
    }
}

static void block(an_graph *g, pass *s, uint32_t b, bool off) {
    const orr_program *p = g->program;
    const orr_tblock *x = &p->blocks[b];
    uint32_t line = UINT32_MAX, bytes = (uint32_t)g->gpu->icache_line;
    int unit = -1;
    for (uint32_t n = x->first; n < x->first + x->count; n++) {
        if (g->fetch > 0 && p->insts[n].pc / bytes != line) {
            line = p->insts[n].pc / bytes;
            s->front += g->fetch;
        }
        issue(g, s, n, off, unit);
        unit = p->insts[n].unit;
    }
    const orr_tinst *end = x->count ? &p->insts[x->first + x->count - 1] : NULL;
    if (end && end->kind == ORR_TK_EXIT && !off)
        s->front = later(s->front, g->now[p->nplaces + EXTRA_LANDED]);
}

// Bodies under a predicate that are issued for no lane on the way from one block to another
// (orr_tblock.body).
static void run_predicated_off(an_graph *g, pass *s, uint32_t from, uint32_t to) {
    const orr_program *p = g->program;
    for (int depth = 0; from < p->nblocks && p->blocks[from].body && depth < 64; depth++) {
        from = p->blocks[from].body - 1;
        if (from == to || from >= p->nblocks) return;
        block(g, s, from, true);
    }
}

static void load(an_graph *g, uint32_t from) {
    const float *r = g->ready && from < g->nblocks ? g->ready + (size_t)from * g->stride : NULL;
    for (uint32_t n = 0; n < g->stride; n++) g->now[n] = r ? r[n] : 0;
}

static double end_of(const pass *s) { return later(s->front, s->slot); }

double an_graph_path(an_graph *g, uint32_t from, uint32_t to) {
    struct an_known *k = g->known && g->current && to < g->nblocks ? &g->known[4 * (size_t)to] : NULL;
    int n = 0;
    for (; k && n < 4 && k[n].from; n++)
        if (k[n].from == from + 2) return k[n].path;
    pass s = {0};
    load(g, from);
    run_predicated_off(g, &s, from, to);
    block(g, &s, to, false);
    double path = end_of(&s);
    if (k && n < 4) k[n] = (struct an_known){from + 2, path};
    return path;
}

// ---- what a block leaves behind ---------------------------------------------------------------------
static uint32_t successors(const orr_kernel *k, uint32_t b, uint32_t out[2]) {
    uint32_t n = 0;
    const orr_block *x = &k->blocks[b];
    const orr_inst *last = x->count ? &k->insts[x->first + x->count - 1] : NULL;
    if (last && last->op == ORR_OP_BRA && last->target >= 0 && (uint32_t)last->target < k->nblocks)
        out[n++] = (uint32_t)last->target;
    if (x->next >= 0 && (uint32_t)x->next < k->nblocks && (!n || out[0] != (uint32_t)x->next))
        out[n++] = (uint32_t)x->next;
    return n;
}

void an_graph_flow(an_graph *g) {
    const orr_program *p = g->program;
    if (!g->ready) return;
    bool same = g->flow_conflict <= g->conflict && g->flow_conflict >= g->conflict &&
                g->flow_fetch <= g->fetch && g->flow_fetch >= g->fetch;
    if (g->current && same) return;
    g->current = true;
    g->flow_conflict = g->conflict;
    g->flow_fetch = g->fetch;
    g->known = orr_realloc(g->known, ((size_t)g->nblocks + 1) * 4 * sizeof *g->known);
    memset(g->known, 0, ((size_t)g->nblocks + 1) * 4 * sizeof *g->known);
    size_t bytes = (size_t)g->stride * sizeof *g->ready;
    memset(g->ready, 0, bytes * g->nblocks);
    float *in = orr_calloc((size_t)g->nblocks * g->stride + 1, sizeof *in);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t b = 0; b < g->nblocks; b++) {
            pass s = {0};
            float *mine = in + (size_t)b * g->stride, *out = g->ready + (size_t)b * g->stride;
            for (uint32_t n = 0; n < g->stride; n++) g->now[n] = mine[n];
            block(g, &s, b, false);
            double end = end_of(&s);
            for (uint32_t n = 0; n < g->stride; n++) out[n] = (float)later(0, g->now[n] - end);
            uint32_t to[2], m = p->kernel->grows ? 0 : successors(p->kernel, b, to);
            for (uint32_t k = 0; k < m; k++)
                for (uint32_t n = 0; n < g->stride; n++) {
                    float *x = &in[(size_t)to[k] * g->stride + n];
                    if (out[n] > *x) *x = out[n];
                }
        }
    }
    free(in);
}

// ---- what it uses -----------------------------------------------------------------------------------
void an_graph_usage(const an_graph *g, uint32_t b, bool off, double use[RES_MAX], double *reads,
                    double *writes) {
    const orr_gpu *gpu = g->gpu;
    const orr_program *p = g->program;
    const orr_tblock *x = &p->blocks[b];
    // until an SM hears that L2 has done its store, in its own half or the other
    double other = gpu->l2_partitions > 1 ? 1 - 1.0 / gpu->l2_partitions : 0,
           stored_after = gpu->l2_latency - gpu->l1_latency + gpu->l2_far_latency * other;
    for (uint32_t n = x->first; n < x->first + x->count; n++) {
        const orr_tinst *i = &p->insts[n];
        const an_access *a = &g->access[n];
        double banks = g->collectors ? 0 : i->nbanks, ops = operands(p, i);
        use[RES_ISSUE] += (double)gpu->core_issue_interval / gpu->core_issue + banks;
        use[RES_UNITS + i->unit] += (i->interval + banks) / g->pools[i->unit];
        *reads += ops;
        double results = 0;
        for (int d = 0; d < i->ndst; d++)
            results += p->reg[p->regs[i->regs + i->nsrc + (uint32_t)d]] < ORR_TREG_P;
        *writes += results;
        double ports = (double)gpu->regs_banks * gpu->regs_ports;
        if (g->collectors) {
            use[RES_BANKS] += (ops + results) * gpu->regs_interval * gpu->core_subcores / ports;
            use[RES_COLLECT] += (2 + ceil(ops / gpu->regs_ports)) * gpu->regs_interval / g->collectors;
        } else {
            use[RES_WRITE] += results / ports;
        }
        if ((i->kind != ORR_TK_MEM && i->kind != ORR_TK_SYNCS) || off) continue;
        use[RES_LSU] += a->cost;
        use[RES_UNITS + i->unit] += a->words / g->pools[i->unit];
        use[RES_REQUEST] += a->sent;
        use[RES_REPLY] += a->received;
        use[RES_L2] += a->l2;
        use[RES_CROSS] += a->cross;
        use[RES_ATOMICS] += a->atomics;
        use[RES_MISSES] += a->misses * a->latency;
        use[RES_PARTS] += a->parts * stored_after;
        use[RES_STORES] += a->stores;
        use[RES_DRAM] += a->dram;
        use[RES_BULK] += a->bulk;
        use[RES_NETWORK] += a->network;
    }
}
