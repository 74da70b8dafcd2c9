// The machine of a description: SMs with their schedulers, units, caches; latencies worked out once.
#include "model/cycle/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// How much further than its GPC's first TPC an SM's is (l2.tpc_spread). TPCs are in clusters of three; on an
// H200 the nine of a GPC are 0, 7, 15, -6, 3, 10, -10, -3, 5 cycles further, from near slices and far ones
// alike. Those that are nearer count as the first: windows (engine.c) are as long as the shortest way.
static uint64_t way_of_tpc(const orr_gpu *g, uint32_t sm) {
    if (g->gpc_count <= 1 || g->tpc_count <= 0) return 0;
    uint32_t gpcs = orr_gpc_sms(g), each = gpcs & 0xfff, all = gpcs >> 16;
    uint32_t tpc = (uint32_t)(g->sm_count / g->tpc_count);
    if (!tpc || all < each || !each) return 0; // fewer SMs than TPCs, as a sweep may have it
    uint32_t k = sm < all ? sm % each / tpc : each / tpc + (sm - all) / tpc / (all / each);
    double further = g->l2_tpc_spread * (0.3 * (k % 3) - 0.2 * (k / 3 < 2 ? k / 3 : 2));
    return further > 0 ? (uint64_t)llround(further * (double)ORR_TICKS) : 0;
}

// How long a cluster's turn takes (xbar.cluster_spread): some take longer than others, evenly.
static uint32_t share_of_cluster(const orr_gpu *g, uint32_t k) {
    uint32_t n = k / MAX_CLUSTERS * (uint32_t)g->xbar_clusters + k % MAX_CLUSTERS;
    double place = (double)((n + 1) * 0x9e3779b9u) / 4294967296.0 - 0.5; // one after the other, far apart
    return (uint32_t)llround(SHARE * (1 + g->xbar_cluster_spread / 100 * place));
}

static void make_sm(cycle *c, sm *s, uint32_t id) {
    const orr_gpu *g = c->gpu;
    s->c = c;
    s->id = id;
    s->way = way_of_tpc(g, id);
    s->cluster = orr_gpc_of_sm(id, c->gpcs) * MAX_CLUSTERS +
                 orr_cluster_of_sm(id, c->gpcs, (uint32_t)g->xbar_clusters);
    s->sched = orr_apart(c->nsched, sizeof *s->sched);
    for (uint32_t n = 0; n < c->nsched; n++) s->sched[n].spec = &c->core.issue;
    s->warps = orr_apart((size_t)c->nsched * MAX_WARPS, sizeof *s->warps);
    s->operands = orr_apart((size_t)g->core_subcores, sizeof *s->operands);
    for (uint32_t n = 0; n < (uint32_t)g->core_subcores; n++)
        operands_init(&s->operands[n], &c->core.operands);
    s->units.spec = &c->core.units;
    fetch_init(&s->fetch, &c->core.fetch, &c->code, c->nsched);
    constants_init(&s->constants, &c->core.constants);
    s->starts = orr_apart(c->lsu_all, sizeof *s->starts);
    s->queue = orr_apart(c->lsu_all, sizeof *s->queue);
}

static void free_sm(cycle *c, sm *s) {
    for (uint32_t n = 0; n < c->nsched * MAX_WARPS; n++) {
        free(s->warps[n].reg);
        free(s->warps[n].access);
    }
    free(s->warps);
    free(s->sched);
    for (uint32_t n = 0; n < (uint32_t)c->gpu->core_subcores; n++) operands_free(&s->operands[n]);
    free(s->operands);
    fetch_free(&s->fetch);
    constants_free(&s->constants);
    for (uint32_t n = 0; n < s->blocks_cap; n++) cyc_block_free(&s->blocks[n]);
    free(s->blocks);
    if (s->l1_bytes) orr_cache_free(&s->l1);
    free(s->starts);
    free(s->queue);
    free(s->flights.at);
    free(s->misses.at);
    free(s->nodes.at);
    free(s->out.at);
    free(s->needs.at);
    free(s->in.at);
    free(s->fence_with.at);
    free(s->l1_taken.at);
    free(s->fence_waits.at);
    free(s->spans.at);
}

static void latencies(cycle *c) {
    const orr_gpu *g = c->gpu;
    c->l1_latency = whole_cycles(g->l1_latency);
    c->local_latency = g->l1_local_latency > 0 ? whole_cycles(g->l1_local_latency) : c->l1_latency;
    c->shared_latency = whole_cycles(g->shared_latency);
    c->l2_latency = whole_cycles(g->l2_latency);
    // A load that hits in L2 takes L1's time and the way there and back.
    uint64_t way = c->l2_latency > c->l1_latency + 2 ? c->l2_latency - c->l1_latency : 2;
    c->window = c->l1_latency + way;
    uint64_t spread = (uint64_t)g->l2_spread < way ? (uint64_t)g->l2_spread : way / 2;
    c->spread = spread * ORR_TICKS;
    c->window -= spread / 2; // nothing comes back sooner
    c->request_ticks = way / 2 * ORR_TICKS;
    c->reply_ticks = (way - way / 2) * ORR_TICKS;
    c->gpcs = orr_gpc_sms(g);
    for (uint32_t n = 0; n < (uint32_t)g->sm_count; n++)
        if (c->ngpcs <= orr_gpc_of_sm(n, c->gpcs)) c->ngpcs = orr_gpc_of_sm(n, c->gpcs) + 1;
    c->far_ticks = g->l2_partitions > 1 ? whole_cycles(g->l2_far_latency) * ORR_TICKS : 0;
    double l2_cycle = g->clock_l2 > 0 ? g->clock_sm / g->clock_l2 : 1; // in SM cycles
    for (int part = 0; part < 2 && g->xbar_all_stores > 0; part++)
        for (int n = 0; n < 5; n++) {
            double bytes = (double)g->xbar_head + 32 * n + (part ? (double)g->xbar_mask : 0);
            double ticks = bytes * l2_cycle * (double)ORR_TICKS;
            c->all_ticks[part][n] = (uint64_t)(ticks / g->xbar_all_stores * (double)g->l2_slices + 0.5);
            if (g->xbar_cluster_stores > 0)
                c->cluster_ticks[part][n] = (uint64_t)(ticks / g->xbar_cluster_stores + 0.5);
        }
    c->request_byte = (uint64_t)(l2_cycle / g->xbar_request * (double)ORR_TICKS + 0.5);
    c->atomic_ticks = (uint64_t)(l2_cycle / g->l2_atomic * (double)ORR_TICKS + 0.5);
    c->reply_byte = (uint64_t)(l2_cycle / g->xbar_reply * (double)ORR_TICKS + 0.5);
    for (uint32_t n = 0; g->xbar_gpc_reply > 0 && n <= 4; n++)
        c->gpc_ticks[n] = (uint64_t)((8 + 32 * n) * l2_cycle / g->xbar_gpc_reply * (double)ORR_TICKS + 0.5);
    c->send_ahead = (uint64_t)g->xbar_queue;
    c->open_ticks = (uint64_t)(g->xbar_open * (double)ORR_TICKS);
    c->open_line_ticks = (uint64_t)(g->xbar_open_line * (double)ORR_TICKS);
    c->backlog_ticks = (uint64_t)(g->xbar_queue * l2_cycle * (double)ORR_TICKS);
    if (c->backlog_ticks < c->window * ORR_TICKS)
        c->backlog_ticks = c->window * ORR_TICKS; // what is known is a window old
    const orr_gpu_op *branch = orr_gpu_find_op(g, "branch"), *barrier = orr_gpu_find_op(g, "barrier");
    c->branch_wait = g->core_branch_wait > 0 ? whole_cycles(g->core_branch_wait)
                     : branch                ? whole_cycles(branch->latency)
                                             : 1;
    c->barrier_latency = barrier ? whole_cycles(barrier->latency) : 1;
    if (!c->barrier_latency) c->barrier_latency = 1;
    c->writeback = whole_cycles(g->core_writeback);
    c->branch_jump = whole_cycles(g->core_branch_jump);
    c->branch_indirect = whole_cycles(g->core_branch_indirect);
    c->branch_switch = whole_cycles(g->core_branch_switch);
    c->sync_meet = whole_cycles(g->core_sync_meet);
    c->yield = whole_cycles(g->core_yield);
    c->sync_poll = whole_cycles(g->core_sync_poll);
    c->block_latency = whole_cycles(g->launch_block_latency);
    c->turnaround = whole_cycles(g->launch_turnaround);
    c->warp_interval = whole_cycles(g->launch_warp_interval);
    c->exit_latency = whole_cycles(g->core_exit);
    c->lsu_banks = g->l1_banks > 0 && g->l1_banks <= 64 ? (uint32_t)g->l1_banks : 1;
    c->miss_interval = (uint32_t)g->l1_miss_interval;
    c->miss_first = (uint32_t)g->l1_miss_first;
    c->l1_cycle_bytes = g->l1_bandwidth >= 1 ? (uint32_t)g->l1_bandwidth : 1;
    c->pass_cycles =
        g->shared_bank_bytes < 4 ? (3 + (uint32_t)g->shared_bank_bytes) / (uint32_t)g->shared_bank_bytes : 1;
    c->coalesce = g->l1_coalesce >= 32 ? 32 : (uint32_t)g->l1_coalesce;
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
    uint32_t queues = g->lsu_own_queues ? nsched / c->sched_per_sub : 1;
    c->lsu_scheds = nsched / queues;
    c->lsu_places = (uint32_t)g->lsu_queue / queues;
    if (!c->lsu_places) c->lsu_places = 1;
    c->lsu_all = c->lsu_places * queues;
    c->lsu_lines = g->lsu_ahead ? queues : 1;
    c->lsu_line = c->lsu_all / c->lsu_lines;
    operands_spec_read(&c->core.operands, g);
    units_spec_read(&c->core.units, g);
    fetch_spec_read(&c->core.fetch, g);
    constants_spec_read(&c->core.constants, g);
    issue_spec_read(&c->core.issue, g);
    c->perfect = g->memory == ORR_MEMORY_PERFECT;
    latencies(c);
    c->mem = orr_memsys_new(g, e);
    if (c->mem) c->tlb = orr_memsys_tlb(c->mem);
    if (!c->mem) {
        free(c);
        return NULL;
    }
    c->mem_free = orr_calloc((size_t)orr_memsys_partitions(c->mem), sizeof *c->mem_free);
    c->store_halves = g->l2_copies && g->l2_partitions > 1 ? 2 : 1;
    c->cluster_free =
        orr_calloc((size_t)orr_memsys_partitions(c->mem) * c->store_halves * c->ngpcs * MAX_CLUSTERS,
                   sizeof *c->cluster_free);
    c->cluster_share = orr_calloc((size_t)c->ngpcs * MAX_CLUSTERS, sizeof *c->cluster_share);
    for (uint32_t k = 0; k < c->ngpcs * MAX_CLUSTERS; k++) c->cluster_share[k] = share_of_cluster(g, k);
    c->sms = orr_apart(c->nsms, sizeof *c->sms);
    uint32_t *numbers = orr_sm_numbers(g, c->nsms);
    for (uint32_t n = 0; n < c->nsms; n++) {
        make_sm(c, &c->sms[n], n);
        c->sms[n].number = numbers[n];
    }
    free(numbers);
    return c;
}

void cyc_free(cycle *c) {
    if (!c) return;
    for (uint32_t n = 0; n < c->nsms; n++) free_sm(c, &c->sms[n]);
    free(c->sms);
    for (int n = 0; n < c->nworkers; n++) {
        free(c->workers[n].by_inst);
        free(c->workers[n].issued);
        free(c->workers[n].threads);
        free(c->workers[n].memo);
    }
    free(c->workers);
    orr_memsys_free(c->mem);
    free(c->mem_free);
    free(c->cluster_free);
    free(c->cluster_share);
    free(c);
}
