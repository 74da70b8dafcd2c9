// The machine of a description: SMs with their schedulers, units, caches; latencies worked out once.
#include "model/cycle/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t cycles(double v) { return v > 0 ? (uint64_t)(v + 0.5) : 0; }

// Is `name` one of the names in `over`?
static bool made_of(const char *over, const char *name) {
    size_t n = strlen(name);
    for (const char *p = over; (p = strstr(p, name)); p += n)
        if ((p == over || p[-1] == ' ') && (!p[n] || p[n] == ' ')) return true;
    return false;
}

static void keep_busy(uint8_t with[3], uint8_t pool) {
    int n = 0;
    while (n < 2 && with[n]) n++;
    if (n < 2) with[n] = (uint8_t)(pool + 1);
}

// Units of a name are spread over the sub-cores; fewer of them than sub-cores serve the whole SM.
static void make_pools(cycle *c, sm *s) {
    const orr_gpu *g = c->gpu;
    uint32_t subs = (uint32_t)g->core_subcores;
    for (int u = 0; u < g->nunits; u++) {
        uint32_t count = (uint32_t)g->units[u].count;
        bool common = count < subs;
        uint32_t each = common ? count : count / subs, first = s->npools;
        if (each > 16) each = 16;
        for (uint32_t n = 0; n < (common ? 1 : subs); n++)
            s->pools[s->npools++] =
                (pool){.n = each, .unit = (uint32_t)u, .queue = (uint32_t)g->units[u].queue};
        for (uint32_t q = 0; q < c->nsched; q++)
            s->sched[q].pool_of[u] = (uint8_t)(first + (common ? 0 : q / c->sched_per_sub));
    }
    for (int u = 0; u < g->nunits; u++) // units that are made of others
        for (int v = 0; v < g->nunits; v++) {
            if (!made_of(g->units[u].over, g->units[v].name)) continue;
            uint32_t cycles = (uint32_t)(32 / g->units[u].lanes);
            for (uint32_t q = 0; q < c->nsched; q++) {
                sched *d = &s->sched[q];
                keep_busy(d->with[u], d->pool_of[v]);
                keep_busy(d->with[v], d->pool_of[u]);
                s->pools[d->pool_of[u]].cycles = s->pools[d->pool_of[v]].cycles = cycles;
            }
        }
    for (int u = 0; u < g->nunits; u++) // units of which another is half
        for (int v = 0; v < g->nunits; v++) {
            if (strcmp(g->units[u].half, g->units[v].name)) continue;
            for (uint32_t q = 0; q < c->nsched; q++) {
                uint8_t whole = s->sched[q].pool_of[u], half = s->sched[q].pool_of[v];
                s->pools[whole].half = (uint8_t)(half + 1);
                s->pools[half].whole = (uint8_t)(whole + 1);
            }
        }
}

// How much further than its GPC's first TPC an SM's is (l2.tpc_spread). TPCs are in clusters of three; on an
// H200 the nine of a GPC are 0, 7, 15, -6, 3, 10, -10, -3, 5 cycles further, from near slices and far ones
// alike. Those that are nearer count as the first: windows (engine.c) are as long as the shortest way.
static uint64_t way_of_tpc(const orr_gpu *g, uint32_t sm) {
    if (g->gpc_count <= 1 || g->tpc_count <= 0 || g->sm_count < g->tpc_count) return 0;
    uint32_t k = orr_tpc_in_gpc(sm, orr_topology_of(g));
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
    make_pools(c, s);
    for (uint32_t n = 0; n < c->nsched; n++) {
        sched *q = &s->sched[n];
        q->warps = orr_apart(c->per_sched, sizeof *q->warps);
        q->unit_turn = g->core_unit_turn;
        q->queue_turn = g->core_queue_turn;
        q->short_turn = g->core_short_turn;
        q->block_first = g->core_block_first;
        q->branch_turn = g->core_branch_turn;
        q->yield_turn = g->core_yield_turn;
        for (uint32_t i = 0; i < MAX_WARPS; i++) q->ready[i] = NEVER;
        if (g->icache_l0 && !g->icache_perfect) {
            orr_cache_init(&q->l0, (uint64_t)g->icache_l0, (uint32_t)g->icache_line, 0, false, false);
            q->l0_when = orr_calloc((size_t)q->l0.sets * q->l0.ways, sizeof *q->l0_when);
        }
    }
    if (!g->icache_perfect) {
        orr_cache_init(&s->l1i, (uint64_t)(g->icache_l1 ? g->icache_l1 : g->icache_line),
                       (uint32_t)g->icache_line, 0, false, false);
        s->l1i_when = orr_calloc((size_t)s->l1i.sets * s->l1i.ways, sizeof *s->l1i_when);
    }
    cyc_constants_init(&s->constants, g);
    s->starts = orr_apart(c->lsu_all, sizeof *s->starts);
    s->queue = orr_apart(c->lsu_all, sizeof *s->queue);
    if (c->sub_collectors) {
        s->bank_free = orr_apart((size_t)g->core_subcores * c->sub_banks, sizeof *s->bank_free);
        s->collector_free =
            orr_apart((size_t)g->core_subcores * c->sub_collectors, sizeof *s->collector_free);
    }
}

static void free_sm(cycle *c, sm *s) {
    for (uint32_t n = 0; n < c->nsched; n++) {
        sched *q = &s->sched[n];
        for (uint32_t i = 0; i < c->per_sched; i++) {
            free(q->warps[i].reg);
            free(q->warps[i].access);
        }
        free(q->warps);
        if (q->l0_when) orr_cache_free(&q->l0);
        free(q->l0_when);
    }
    free(s->sched);
    for (uint32_t n = 0; n < s->blocks_cap; n++) cyc_block_free(&s->blocks[n]);
    free(s->blocks);
    if (s->l1i_when) orr_cache_free(&s->l1i);
    free(s->l1i_when);
    cyc_constants_free(&s->constants, c->gpu);
    if (s->l1_bytes) orr_cache_free(&s->l1);
    free(s->starts);
    free(s->queue);
    free(s->bank_free);
    free(s->collector_free);
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
    c->l1_latency = cycles(g->l1_latency);
    c->local_latency = g->l1_local_latency > 0 ? cycles(g->l1_local_latency) : c->l1_latency;
    c->shared_latency = cycles(g->shared_latency);
    c->const_latency = cycles(g->const_latency);
    c->const_miss = (uint64_t)(g->const_miss_interval * (double)ORR_TICKS);
    c->const2_latency = cycles(g->const_l15_latency);
    c->const_far = cycles((g->l2_flush ? g->dram_latency : g->l2_latency) + g->const_beyond);
    c->named_near = c->const2_latency > c->const_latency ? c->const2_latency - c->const_latency : 0;
    c->named_far = c->const_far > c->const_latency ? c->const_far - c->const_latency : 0;
    c->l2_latency = cycles(g->l2_latency);
    // A load that hits in L2 takes L1's time and the way there and back.
    uint64_t way = c->l2_latency > c->l1_latency + 2 ? c->l2_latency - c->l1_latency : 2;
    c->window = c->l1_latency + way;
    uint64_t spread = (uint64_t)g->l2_spread < way ? (uint64_t)g->l2_spread : way / 2;
    c->spread = spread * ORR_TICKS;
    c->window -= spread / 2; // nothing comes back sooner
    c->request_ticks = way / 2 * ORR_TICKS;
    c->reply_ticks = (way - way / 2) * ORR_TICKS;
    c->gpcs = orr_topology_of(g);
    for (uint32_t n = 0; n < (uint32_t)g->sm_count; n++)
        if (c->ngpcs <= orr_gpc_of_sm(n, c->gpcs)) c->ngpcs = orr_gpc_of_sm(n, c->gpcs) + 1;
    c->far_ticks = g->l2_partitions > 1 ? cycles(g->l2_far_latency) * ORR_TICKS : 0;
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
    c->branch_wait = g->core_branch_wait > 0 ? cycles(g->core_branch_wait)
                     : branch                ? cycles(branch->latency)
                                             : 1;
    c->barrier_latency = barrier ? cycles(barrier->latency) : 1;
    if (!c->barrier_latency) c->barrier_latency = 1;
    c->collect = cycles(g->core_collect);
    c->writeback = cycles(g->core_writeback);
    c->branch_jump = cycles(g->core_branch_jump);
    c->branch_indirect = cycles(g->core_branch_indirect);
    c->branch_switch = cycles(g->core_branch_switch);
    c->sync_meet = cycles(g->core_sync_meet);
    c->yield = cycles(g->core_yield);
    c->sync_poll = cycles(g->core_sync_poll);
    c->fetch_latency = cycles(g->icache_l1_latency);
    c->fetch_far = cycles(g->icache_l2_latency > 0 ? g->icache_l2_latency : g->l2_latency);
    c->fetch_memory = c->fetch_far + cycles(g->dram_latency);
    c->first_line = cycles(g->launch_first_line);
    c->buffer_latency = cycles(g->icache_buffer_latency);
    c->line_interval = cycles(g->icache_l1_interval);
    c->line_interval2 = cycles(g->icache_l2_interval);
    c->block_latency = cycles(g->launch_block_latency);
    c->turnaround = cycles(g->launch_turnaround);
    c->warp_interval = cycles(g->launch_warp_interval);
    c->exit_latency = cycles(g->core_exit);
    c->l1 = orr_l1_spec_of(g);
    c->miss_interval = (uint32_t)g->l1_miss_interval;
    c->miss_first = (uint32_t)g->l1_miss_first;
    c->pass_cycles = orr_shared_pass_cycles(g);
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
    uint32_t pools = 0;
    for (int u = 0; u < g->nunits; u++) pools += (uint32_t)g->units[u].count < subs ? 1 : subs;
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
    if (g->core_kind == ORR_CORE_COLLECTOR && g->regs_collectors > 0) {
        c->sub_collectors = (uint32_t)g->regs_collectors / subs;
        c->sub_banks = (uint32_t)g->regs_banks / subs;
        if (!c->sub_collectors) c->sub_collectors = 1;
        if (!c->sub_banks) c->sub_banks = 1;
        if (!(c->sub_banks & (c->sub_banks - 1))) c->bank_mask = c->sub_banks - 1;
    }
    c->read_banks = g->regs_banks < ORR_READ_BANKS ? (uint32_t)g->regs_banks : ORR_READ_BANKS;
    c->policy = cyc_policy(g->core_policy);
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
