// The machine of a description: the specs of all components are read once, and each SM is made of the list in
// core/parts.def. It outlives launches; prepare_sm resets an SM's components for one. A component that is
// added to the list needs nothing here.
#include "model/cycle/engine.h"

#include <stdlib.h>
#include <string.h>

// How much further than the nearest ones an SM's TPC is, in ticks (l2.tpc_further).
static uint64_t tpc_answer_delay(const orr_gpu *g, uint32_t sm) {
    const orr_gpu_array *further = &g->l2_tpc_further;
    if (!further->n || g->gpc_count <= 1 || g->tpc_count <= 0 || g->sm_count < g->tpc_count) return 0;
    uint32_t k = orr_tpc_in_gpc(sm, orr_topology_of(g));
    return (uint64_t)further->at[k % (uint32_t)further->n] * ORR_TICKS;
}

static void make_sm(cycle *c, sm *s, uint32_t id, uint32_t number) {
    const orr_gpu *g = c->gpu;
    const core_spec *k = &c->core;
    uint32_t nwarps = c->nsched * MAX_WARPS;
    s->c = c;
    s->id = id;
    s->answer_delay = tpc_answer_delay(g, id);
    s->sched = orr_pages(c->nsched, sizeof *s->sched);
    for (uint32_t n = 0; n < c->nsched; n++) s->sched[n].spec = &k->issue;
    s->warps = orr_pages(nwarps, sizeof *s->warps);
    s->operands = orr_apart((size_t)g->core_subcores, sizeof *s->operands);
    for (uint32_t n = 0; n < (uint32_t)g->core_subcores; n++) operands_init(&s->operands[n], &k->operands);
#define PART(type, name, ...) name##_init(&s->name, &k->name, ##__VA_ARGS__);
#include "core/parts.def"
#undef PART
    s->port.sm = id;
    s->port.gpc = orr_gpc_of_sm(id, k->port.gpcs);
    s->lsu.sm = number;
    cyc_sm_connect(s);
}

static void free_sm(cycle *c, sm *s) {
    orr_pages_free(s->warps);
    orr_pages_free(s->sched);
    for (uint32_t n = 0; n < (uint32_t)c->gpu->core_subcores; n++) operands_free(&s->operands[n]);
    free(s->operands);
    for (uint32_t n = 0; n < s->tb.cap; n++) cyc_block_free(&s->tb.slot[n]);
    free(s->tb.slot);
#define PART(type, name, ...) name##_free(&s->name);
#include "core/parts.def"
#undef PART
    events_free(&s->clock);
    free(s->tb.spans.at);
    free(s->tb.clocks.at);
    free(s->cluster.out.at);
    free(s->cluster.in.at);
}

static void read_specs(cycle *c) {
    const orr_gpu *g = c->gpu;
    core_spec *k = &c->core;
    operands_spec_read(&k->operands, g);
    issue_spec_read(&k->issue, g);
#define PART(type, name, ...) name##_spec_read(&k->name, g);
#include "core/parts.def"
#undef PART
    cyc_crossbar_spec_read(&c->crossbar, g, &k->port);
    c->window = k->port.window / ORR_TICKS;
    const orr_gpu_op *branch = orr_gpu_find_op(g, "branch"), *barrier = orr_gpu_find_op(g, "barrier");
    c->branch = (branch_spec){.wait = whole_cycles(g->core_branch_wait > 0 ? g->core_branch_wait
                                                   : branch                ? branch->latency
                                                                           : 1),
                              .jump = whole_cycles(g->core_branch_taken),
                              .indirect = whole_cycles(g->core_branch_indirect),
                              .switch_lanes = whole_cycles(g->core_reconverge_switch),
                              .sync_meet = whole_cycles(g->core_reconverge),
                              .yield = whole_cycles(g->core_yield),
                              .sync_poll = whole_cycles(g->core_warpsync_poll),
                              .barrier = barrier ? whole_cycles(barrier->latency) : 1,
                              .writeback = whole_cycles(g->core_writeback)};
    if (!c->branch.barrier) c->branch.barrier = 1;
    c->dispatch = (launch_spec){.block_latency = whole_cycles(g->launch_block_latency),
                                .turnaround = whole_cycles(g->launch_turnaround),
                                .warp_interval = whole_cycles(g->launch_warp_interval)};
}

cycle *cyc_new(const orr_gpu *g, orr_err *e) {
    uint32_t nsched = (uint32_t)g->core_schedulers, subs = (uint32_t)g->core_subcores;
    uint32_t per = ((uint32_t)g->limit_sm_warps + nsched - 1) / nsched;
    if (nsched > MAX_SCHED || per > MAX_WARPS || nsched % subs) {
        orr_fail(e, ORR_BAD_INPUT,
                 "%s: the cycle model takes up to %d schedulers of an SM, a multiple of its sub-cores, with "
                 "up to %d warps "
                 "each; this description has %u on %u sub-cores, with %u",
                 g->path, MAX_SCHED, MAX_WARPS, nsched, subs, per);
        return NULL;
    }
    uint32_t pools = units_pools(g);
    if (pools > MAX_POOLS || !g->nunits) {
        orr_fail(e, ORR_BAD_INPUT,
                 "%s: the cycle model takes up to %d groups of units, at least one; this description has %u",
                 g->path, MAX_POOLS, pools);
        return NULL;
    }
    cycle *c = orr_calloc(1, sizeof *c);
    c->gpu = g;
    c->nsms = (uint32_t)g->sm_count;
    c->nsched = nsched;
    c->per_sched = per;
    c->sched_per_sub = nsched / subs;
    c->perfect = g->memory == ORR_MEMORY_PERFECT;
    read_specs(c);
    c->mem = orr_memsys_new(g, e);
    if (!c->mem) {
        free(c);
        return NULL;
    }
    uint32_t parts = (uint32_t)orr_memsys_partitions(c->mem);
    c->net = (network){.mem = c->mem};
    c->net.free = orr_calloc(parts, sizeof *c->net.free);
    c->net.gpc_free =
        orr_calloc((size_t)parts * c->core.port.store_halves * c->core.port.ngpcs, sizeof *c->net.gpc_free);
    c->sms = orr_pages(c->nsms, sizeof *c->sms);
    uint32_t *numbers = orr_sm_numbers(g, c->nsms);
    for (uint32_t n = 0; n < c->nsms; n++) make_sm(c, &c->sms[n], n, numbers[n]);
    free(numbers);
    return c;
}

void cyc_free(cycle *c) {
    if (!c) return;
    for (uint32_t n = 0; n < c->nsms; n++) free_sm(c, &c->sms[n]);
    free(c->traits.plain);
    orr_pages_free(c->room.regs);
    orr_pages_free(c->room.offsets);
    orr_pages_free(c->sms);
    for (int n = 0; n < c->host.n; n++) {
        free(c->host.workers[n].by_inst);
        free(c->host.workers[n].issued);
        free(c->host.workers[n].threads);
        free(c->host.workers[n].memo);
        free(c->host.workers[n].traffic);
    }
    free(c->host.workers);
    orr_memsys_free(c->mem);
    free(c->net.free);
    free(c->net.gpc_free);
    free(c);
}
