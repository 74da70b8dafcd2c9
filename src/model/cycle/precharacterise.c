// Every basic block of a program once, alone, on the cycle model's own pipeline (Punniyamurthy et al.,
// "GATSim", section II-A: each block exactly once, branches never taken, one warp, perfect memory).
//
// The program runs as it is, behind the interface of a launch: a source with one thread block of one warp,
// whose trace goes through all code blocks in order. While `cycle.latencies` is set the pipeline notes for
// each instruction how long after its issue the result could be used (cyc_warp_result). So operand
// collection, the register banks an instruction meets by itself, the unit and what comes behind it are in the
// figure, and no formula is repeated here.
#include "model/cycle/precharacterise.h"

#include <stdlib.h>
#include <string.h>

#include "model/cycle/engine.h"
#include "stream/trace.h"

typedef struct single { // a source of one block
    orr_source source;
    orr_warp_trace warp;
    bool given;
} single;

static int next(orr_source *s, orr_tb *tb, orr_err *e) {
    single *x = (single *)s;
    (void)e;
    if (x->given) return 0;
    x->given = true;
    *tb = (orr_tb){.index = 0, .nwarps = 1, .warps = &x->warp};
    return 1;
}

static void close(orr_source *s) { (void)s; }

// All blocks from `first` on, all lanes active, memory at one place.
static void make_trace(const orr_program *p, uint32_t first, orr_trace_out *t) {
    for (uint32_t b = first; b < p->nblocks; b++) {
        orr_trace_put_block(t, b, 0xffffffffu);
        for (uint32_t a = 0; a < p->blocks[b].naccess; a++) orr_trace_put_regular(t, 0xffffffffu, 0, 4);
    }
}

// The same pipeline without anything that is shared, cached or launched.
static orr_gpu bare(const orr_gpu *g) {
    orr_gpu one = *g;
    one.sm_count = one.tpc_count = one.gpc_count = 1;
    one.core_schedulers = one.core_subcores;
    one.limit_sm_warps = one.core_subcores;
    one.core_policy = ORR_SCHED_LRR;
    one.memory = ORR_MEMORY_PERFECT;
    one.icache_perfect = true;
    one.l2_size = one.l2_slices * ORR_LINE; // nothing gets there
    one.launch_overhead = 0;
    one.launch_block_latency = 0;
    return one;
}

bool orr_precharacterise(const orr_program *p, const orr_gpu *g, uint32_t first, uint32_t *latency,
                         orr_err *e) {
    uint32_t from = first < p->nblocks ? p->blocks[first].first : p->ninsts;
    memset(latency + from, 0, (p->ninsts - from) * sizeof *latency);
    if (from == p->ninsts) return true;
    orr_gpu one = bare(g);
    cycle *c = cyc_new(&one, e);
    if (!c) return false;
    orr_trace_out t = {0};
    make_trace(p, first, &t);
    single x = {.source = {.next = next, .close = close}, .warp = {t.bytes, t.n}};
    x.source.info = (orr_launch_info){.kernel = p->kernel, .grid = {1, 1, 1}, .block = {32, 1, 1}};
    c->program = (orr_program *)(uintptr_t)p; // it does not grow in here
    c->kernel = p->kernel;
    c->latencies = latency;
    orr_occupancy_result occ = {.blocks = 1, .warps_per_block = 1, .l1_bytes = ORR_LINE};
    run out = {0};
    bool ok = cyc_run(c, &x.source, &occ, (run_host){.threads = 1}, &out, e);
    free(out.samples);
    free(t.bytes);
    c->latencies = NULL;
    cyc_free(c);
    return ok;
}

void cyc_precharacterise_note(const sm *s, const orr_tinst *i, uint64_t ready) {
    if (i->kind == ORR_TK_MEM) return;
    uint64_t n = ready > s->clock.now ? ready - s->clock.now : 0;
    s->c->latencies[i - s->c->program->insts] = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

uint64_t orr_precharacterise_key(const orr_program *p, const orr_gpu *g) {
    const uint64_t core[] = {(uint64_t)g->core_kind,       (uint64_t)g->core_subcores,
                             (uint64_t)g->core_issue,      (uint64_t)g->regs_banks,
                             (uint64_t)g->regs_collectors, (uint64_t)g->regs_ports,
                             (uint64_t)g->regs_interval,   (uint64_t)g->regs_reuse,
                             (uint64_t)g->core_dual_units, (uint64_t)g->core_issue_interval};
    const double stages[] = {g->core_collect, g->core_writeback, g->core_branch_wait};
    uint64_t h = orr_hash64(core, sizeof core, 1);
    h = orr_hash64(stages, sizeof stages, h);
    for (uint32_t n = 0; n < p->ninsts; n++) {
        const orr_tinst *i = &p->insts[n];
        const uint32_t code[] = {i->sass,     i->tclass, i->kind, i->unit,   i->space, i->bytes,
                                 i->nsrc,     i->ndst,   i->imm,  i->nbanks, i->flags, i->latency,
                                 i->interval, i->warps,  i->ctrl, i->access};
        h = orr_hash64(code, sizeof code, h);
        for (uint32_t r = 0; r < (uint32_t)i->nsrc + i->ndst; r++) {
            uint16_t reg = p->reg[p->regs[i->regs + r]];
            h = orr_hash64(&reg, sizeof reg, h);
        }
    }
    for (uint32_t n = 0; n < p->nblocks; n++) {
        const uint32_t block[] = {p->blocks[n].count, p->blocks[n].naccess, p->blocks[n].body};
        h = orr_hash64(block, sizeof block, h);
    }
    return h;
}
