// What a program's instructions take, roughly, for the executor (exec/run/pace.c): each block of code by
// itself, one warp, every result as late as the description has it, memory as it is where nobody is in the
// way.
#include "model/cycle/pace.h"

#include <stdlib.h>
#include <string.h>

#include "model/cycle/sm.h"
#include "model/dispatch.h"

static bool swaps(const orr_program *p, const orr_tinst *i) {
    return i->flags & ORR_TF_ATOMIC && strstr(p->names[i->name], ".CAS");
}

// A fence for the GPU goes where the warp's last access was (fence.c).
static bool asks(const cycle *c, const orr_tinst *i) {
    return i->kind == ORR_TK_FENCE && (i->imm == 1 || i->imm == 2) && c->gpu->core_fence_ask > 0;
}

// What it takes where the SM has been nowhere; how much more, the executor finds.
static uint32_t fence_time(const cycle *c, const orr_tinst *i, bool stored) {
    const orr_gpu *g = c->gpu;
    if (i->imm == 0) return (uint32_t)g->core_fence_block;
    if (i->imm == 3) return (uint32_t)g->core_fence_system;
    if (!stored || asks(c, i)) return (uint32_t)g->core_fence_gpu;
    double heard =
        (double)(c->core.l1.l2_latency - c->core.l1.latency) + g->core_fence_store; // it does not look in L1
    return (uint32_t)(heard > g->core_fence_gpu ? heard : g->core_fence_gpu);
}

static uint32_t latency_of(const cycle *c, const orr_program *p, const orr_tinst *i) {
    if (i->kind != ORR_TK_MEM) return i->latency;
    if (i->space == ORR_SPACE_SHARED)
        return (uint32_t)c->core.shared.latency +
               (i->bytes == 8 && swaps(p, i) ? (uint32_t)c->gpu->shared_swap_wide : 0);
    if (i->space == ORR_SPACE_LOCAL) return (uint32_t)c->core.l1.local_latency;
    if (i->flags & ORR_TF_ATOMIC)
        return (uint32_t)(c->core.l1.l2_latency + (uint64_t)c->gpu->l2_atomic_latency);
    return (uint32_t)(i->flags & (ORR_TF_BYPASS | ORR_TF_ORDERED) ? c->core.l1.l2_latency
                                                                  : c->core.l1.latency);
}

// When its operands are there: by the barriers of its control bits, or by its registers.
static uint32_t ready_at(const orr_program *p, const orr_tinst *i, const uint32_t *bar, const uint32_t *reg) {
    uint32_t t = 0;
    if (p->control)
        for (uint32_t m = ORR_CTRL_WAIT(i->ctrl); m; m &= m - 1)
            t = bar[orr_ffs(m)] > t ? bar[orr_ffs(m)] : t;
    else
        for (uint32_t r = 0; r < (uint32_t)i->nsrc + i->ndst; r++) {
            uint32_t when = reg[p->regs[i->regs + r]];
            t = when > t ? when : t;
        }
    return t;
}

static void results_at(const orr_program *p, const orr_tinst *i, uint32_t t, uint32_t *bar, uint32_t *reg) {
    if (p->control) {
        if (ORR_CTRL_WBAR(i->ctrl) < 6) bar[ORR_CTRL_WBAR(i->ctrl)] = t;
    } else {
        for (uint32_t r = i->nsrc; r < (uint32_t)i->nsrc + i->ndst; r++) reg[p->regs[i->regs + r]] = t;
    }
}

typedef struct times { // what is found out about a program
    uint32_t *issue, *leave;
    uint8_t *asks, *asks_leave;
    uint32_t (*due)[ORR_PACE_BARS], (*waits)[ORR_PACE_BARS];
} times;

static void block_time(const cycle *c, const orr_program *p, uint32_t block, uint32_t *reg, const times *x) {
    uint32_t t = 0, bar[8] = {0}, asked = 0, set = 0;
    for (int b = 0; b < ORR_PACE_BARS; b++) x->waits[block][b] = UINT32_MAX;
    bool stored = false;
    memset(reg, 0, ORR_TREGS * sizeof *reg);
    for (uint32_t n = p->blocks[block].first; n < p->blocks[block].first + p->blocks[block].count; n++) {
        const orr_tinst *i = &p->insts[n];
        uint32_t ready = ready_at(p, i, bar, reg), stall = ORR_CTRL_STALL(i->ctrl), least = 0;
        if (ready > t) t = ready;
        for (int b = 0; p->control && b < ORR_PACE_BARS; b++)
            if (ORR_CTRL_WAIT(i->ctrl) >> b & 1 && !(set >> b & 1) && x->waits[block][b] == UINT32_MAX)
                x->waits[block][b] = t;
        if (p->control && ORR_CTRL_WBAR(i->ctrl) < ORR_PACE_BARS) set |= 1u << ORR_CTRL_WBAR(i->ctrl);
        x->issue[i->inst] = t;
        x->asks[i->inst] = (uint8_t)asked;
        if (asks(c, i) && asked < 255) asked++;
        results_at(p, i, t + latency_of(c, p, i), bar, reg);
        if (i->kind == ORR_TK_BRANCH) least = (uint32_t)c->branch.wait;
        if (i->sass == ORR_SASS_BSYNC || i->flags & ORR_TF_INDIRECT)
            stall += (uint32_t)c->branch.jump; // as if it jumped
        if (i->flags & ORR_TF_INDIRECT) stall += (uint32_t)c->branch.indirect;
        stored |= i->kind == ORR_TK_MEM && i->flags & ORR_TF_STORE;
        if (i->kind == ORR_TK_FENCE) least = fence_time(c, i, stored);
        if (i->kind == ORR_TK_FENCE) stored = false;
        if (i->sass == ORR_SASS_YIELD && c->branch.yield > least) least = (uint32_t)c->branch.yield;
        t += stall > least ? stall : least > 1 ? least : 1;
    }
    for (int b = 0; b < ORR_PACE_BARS; b++) x->due[block][b] = bar[b] > t ? bar[b] : 0;
    x->asks_leave[block] = (uint8_t)asked;
    x->leave[block] = t;
}

static uint8_t few(double cycles) { return (uint8_t)(cycles < 1 ? 1 : cycles > 255 ? 255 : cycles); }

static uint32_t sm_of(const void *self, uint64_t place) {
    const cyc_pace *x = self;
    return x->nwave ? x->wave[place % x->nwave] : 0;
}

static uint32_t half(const void *self, uint32_t sm) {
    const cyc_pace *x = self;
    return orr_half_of_sm(sm, x->c->core.port.gpcs);
}

static uint32_t further(const void *self, uint32_t sm) {
    const cyc_pace *x = self;
    return (uint32_t)(x->c->sms[sm].further / ORR_TICKS);
}

static uint32_t side(const void *self, uint64_t addr) {
    const cyc_pace *x = self;
    return (uint32_t)orr_memsys_side_of(x->c->mem, addr / ORR_LINE);
}

static uint32_t clusters_of(const cycle *c) {
    return c->gpu->xbar_clusters > 0 ? (uint32_t)c->gpu->xbar_clusters : 1;
}

static uint32_t group(const void *self, uint32_t sm) {
    const cyc_pace *x = self;
    uint32_t n = clusters_of(x->c);
    return orr_gpc_of_sm(sm, x->c->core.port.gpcs) * n + orr_cluster_of_sm(sm, x->c->core.port.gpcs, n);
}

static uint32_t slice(const void *self, uint64_t addr) {
    const cyc_pace *x = self;
    return orr_memsys_slice_of(x->c->mem, addr / ORR_LINE);
}

// What bytes take of an SM's port, in 1024ths of a cycle.
static uint32_t port_time(const cycle *c, double bytes) {
    return c->gpu->xbar_request > 0 ? (uint32_t)(1024 * bytes / c->gpu->xbar_request) : 0;
}

cyc_pace *cyc_pace_new(const cycle *c, const orr_program *p, uint64_t blocks, uint32_t each) {
    const orr_kernel *k = p->kernel;
    cyc_pace *x = orr_calloc(1, sizeof *x);
    x->c = c;
    x->wave = orr_dispatch_first_wave(c->gpu, c->nsms, blocks, each, &x->nwave);
    times t = {.issue = orr_calloc(k->ninsts + 1, sizeof *t.issue),
               .leave = orr_calloc(k->nblocks + 1, sizeof *t.leave),
               .asks = orr_calloc(k->ninsts + 1, 1),
               .asks_leave = orr_calloc(k->nblocks + 1, 1),
               .due = orr_calloc(k->nblocks + 1, sizeof *t.due),
               .waits = orr_calloc(k->nblocks + 1, sizeof *t.waits)};
    uint8_t *port = orr_calloc(k->ninsts + 1, 1), *crowd = orr_calloc(k->ninsts + 1, 1);
    uint32_t *reg = orr_calloc(ORR_TREGS, sizeof *reg);
    for (uint32_t b = 0; b < p->nblocks && b < k->nblocks; b++) block_time(c, p, b, reg, &t);
    free(reg);
    for (uint32_t n = 0; n < p->ninsts; n++) {
        const orr_tinst *i = &p->insts[n];
        if (i->kind != ORR_TK_MEM || i->inst >= k->ninsts) continue;
        const char *swap = i->flags & ORR_TF_ATOMIC ? strstr(p->names[i->name], ".CAS") : NULL;
        bool once = (swap && swap[4] == 'T') || i->flags & ORR_TF_COUNTS;
        uint32_t words = i->bytes > 4 ? i->bytes / 4 : 1;
        port[i->inst] =
            few((double)(c->core.shared.cost.pass_cycles * words) * (swap ? c->gpu->shared_swap : 1));
        crowd[i->inst] = i->flags & ORR_TF_ATOMIC && !once ? port[i->inst] : 0;
    }
    x->pace = (orr_pace){
        .issue = t.issue,
        .leave = t.leave,
        .due = t.due,
        .waits = t.waits,
        .asks = t.asks,
        .asks_leave = t.asks_leave,
        .fence = (uint32_t)c->gpu->core_fence_gpu,
        .ask = (uint32_t)c->gpu->core_fence_ask,
        .heard = (uint32_t)((double)(c->core.l1.l2_latency - c->core.l1.latency) + c->gpu->core_fence_store),
        .join = (uint32_t)c->gpu->core_fence_join,
        .port = port,
        .crowd = crowd,
        .alone = c->gpu->lsu_pass ? (uint32_t)c->gpu->lsu_pass : 1,
        .jump = (uint32_t)c->branch.jump,
        .resident = c->nsms * each,
        .lane = (uint32_t)(256 * c->crossbar.atomic_ticks / ORR_TICKS),
        .half = c->core.port.far_ticks ? half : NULL,
        .side = c->core.port.far_ticks ? side : NULL,
        .way = (uint32_t)(c->core.port.far_ticks / ORR_TICKS),
        .further = c->gpu->l2_tpc_spread > 0 ? further : NULL,
        .cold = c->gpu->l2_flush ? (uint32_t)(c->gpu->dram_latency - c->gpu->l2_latency) : 0,
        .meets = c->gpu->l2_store_waits ? (uint32_t)c->gpu->l2_merge_time : 0,
        .apart = port_time(c, c->gpu->xbar_ask),
        .packet = port_time(c, 8 + 32 + c->gpu->xbar_mask), // atomic.c
        .groups = c->gpu->l2_atomic_turns ? c->core.port.ngpcs * clusters_of(c) : 0,
        .line = (uint64_t)c->gpu->xbar_cluster_line,
        .sms = c->nsms,
        .sm = sm_of,
        .group = group,
        .slice = slice,
        .self = x,
        .meet = (uint32_t)c->branch.barrier,
        .poll = (uint32_t)c->branch.sync_poll};
    return x;
}

void cyc_pace_free(cyc_pace *x) {
    if (!x) return;
    free(x->wave);
    free((void *)(uintptr_t)x->pace.issue);
    free((void *)(uintptr_t)x->pace.leave);
    free((void *)(uintptr_t)x->pace.due);
    free((void *)(uintptr_t)x->pace.waits);
    free((void *)(uintptr_t)x->pace.asks);
    free((void *)(uintptr_t)x->pace.asks_leave);
    free((void *)(uintptr_t)x->pace.port);
    free((void *)(uintptr_t)x->pace.crowd);
    free(x);
}
