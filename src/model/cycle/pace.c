// What a program's instructions take, roughly, for the executor (exec/pace.c): each block of code by itself,
// one warp, every result as late as the description has it, memory as it is where nobody is in the way.
#include "model/cycle/pace.h"

#include <stdlib.h>
#include <string.h>

#include "model/cycle/sm.h"

static bool swaps(const orr_program *p, const orr_tinst *i) {
    return i->flags & ORR_TF_ATOMIC && strstr(p->names[i->name], ".CAS");
}

static uint32_t latency_of(const cycle *c, const orr_program *p, const orr_tinst *i) {
    if (i->kind == ORR_TK_FENCE)
        return (uint32_t)(i->imm == 0   ? c->gpu->core_fence_block
                          : i->imm == 3 ? c->gpu->core_fence_system
                                        : c->gpu->core_fence_gpu);
    if (i->kind != ORR_TK_MEM) return i->latency;
    if (i->space == ORR_SPACE_SHARED)
        return (uint32_t)c->shared_latency +
               (i->bytes == 8 && swaps(p, i) ? (uint32_t)c->gpu->shared_swap_wide : 0);
    if (i->space == ORR_SPACE_LOCAL) return (uint32_t)c->local_latency;
    if (i->flags & ORR_TF_ATOMIC) return (uint32_t)(c->l2_latency + (uint64_t)c->gpu->l2_atomic_latency);
    return (uint32_t)(i->flags & (ORR_TF_BYPASS | ORR_TF_ORDERED) ? c->l2_latency : c->l1_latency);
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

static uint32_t block_time(const cycle *c, const orr_program *p, uint32_t block, uint32_t *reg,
                           uint32_t *issue) {
    uint32_t t = 0, bar[8] = {0};
    memset(reg, 0, ORR_TREGS * sizeof *reg);
    for (uint32_t n = p->blocks[block].first; n < p->blocks[block].first + p->blocks[block].count; n++) {
        const orr_tinst *i = &p->insts[n];
        uint32_t ready = ready_at(p, i, bar, reg), stall = ORR_CTRL_STALL(i->ctrl), least = 0;
        if (ready > t) t = ready;
        issue[i->inst] = t;
        results_at(p, i, t + latency_of(c, p, i), bar, reg);
        if (i->kind == ORR_TK_BRANCH) least = (uint32_t)c->branch_wait;
        if (i->sass == ORR_SASS_BSYNC || i->flags & ORR_TF_INDIRECT)
            stall += (uint32_t)c->branch_jump; // as if it jumped
        if (i->flags & ORR_TF_INDIRECT) stall += (uint32_t)c->branch_indirect;
        if (i->kind == ORR_TK_FENCE) least = latency_of(c, p, i);
        if (i->sass == ORR_SASS_YIELD && c->yield > least) least = (uint32_t)c->yield;
        t += stall > least ? stall : least > 1 ? least : 1;
    }
    return t;
}

static uint8_t few(double cycles) { return (uint8_t)(cycles < 1 ? 1 : cycles > 255 ? 255 : cycles); }

// Which half of L2 a thread block's SM is in is known of the first wave; of others it is taken to be as
// there.
static uint32_t far(const void *self, uint64_t block, uint64_t addr) {
    const cyc_pace *x = self;
    uint32_t sm = x->nwave ? x->wave[block % x->nwave] : 0;
    bool other = orr_memsys_side_of(x->c->mem, addr / ORR_LINE) != (int)orr_half_of_sm(sm, x->c->gpcs);
    return other ? (uint32_t)(x->c->far_ticks / ORR_TICKS) : 0;
}

static uint32_t gpc(const void *self, uint64_t block) {
    const cyc_pace *x = self;
    return x->nwave ? orr_gpc_of_sm(x->wave[block % x->nwave], x->c->gpcs) : 0;
}

cyc_pace *cyc_pace_new(const cycle *c, const orr_program *p, uint64_t blocks, uint32_t each) {
    const orr_kernel *k = p->kernel;
    cyc_pace *x = orr_calloc(1, sizeof *x);
    x->c = c;
    x->wave = orr_first_wave(c->gpu, c->nsms, blocks, each, &x->nwave);
    uint32_t *issue = orr_calloc(k->ninsts + 1, sizeof *issue),
             *leave = orr_calloc(k->nblocks + 1, sizeof *leave);
    uint8_t *port = orr_calloc(k->ninsts + 1, 1), *crowd = orr_calloc(k->ninsts + 1, 1);
    uint32_t *reg = orr_calloc(ORR_TREGS, sizeof *reg);
    for (uint32_t b = 0; b < p->nblocks && b < k->nblocks; b++) leave[b] = block_time(c, p, b, reg, issue);
    free(reg);
    for (uint32_t n = 0; n < p->ninsts; n++) {
        const orr_tinst *i = &p->insts[n];
        if (i->kind != ORR_TK_MEM || i->inst >= k->ninsts) continue;
        const char *swap = i->flags & ORR_TF_ATOMIC ? strstr(p->names[i->name], ".CAS") : NULL;
        bool once = (swap && swap[4] == 'T') || i->flags & ORR_TF_COUNTS;
        uint32_t words = i->bytes > 4 ? i->bytes / 4 : 1;
        port[i->inst] = few((double)(c->pass_cycles * words) * (swap ? c->gpu->shared_swap : 1));
        crowd[i->inst] = i->flags & ORR_TF_ATOMIC && !once ? port[i->inst] : 0;
    }
    x->pace = (orr_pace){.issue = issue,
                         .leave = leave,
                         .port = port,
                         .crowd = crowd,
                         .alone = c->gpu->lsu_pass ? (uint32_t)c->gpu->lsu_pass : 1,
                         .jump = (uint32_t)c->branch_jump,
                         .resident = c->nsms * each,
                         .lane = (uint32_t)(16 * c->atomic_ticks / ORR_TICKS),
                         .far = c->far_ticks ? far : NULL,
                         .gpcs = c->ngpcs > 1 ? c->ngpcs : 0,
                         .gpc = gpc,
                         .self = x,
                         .meet = (uint32_t)c->barrier_latency};
    return x;
}

void cyc_pace_free(cyc_pace *x) {
    if (!x) return;
    free(x->wave);
    free((void *)(uintptr_t)x->pace.issue);
    free((void *)(uintptr_t)x->pace.leave);
    free((void *)(uintptr_t)x->pace.port);
    free((void *)(uintptr_t)x->pace.crowd);
    free(x);
}
