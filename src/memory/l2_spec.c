// The parameters of L2 in ticks (l2.h), read from a description.
#include "memory/l2.h"
#include "memory/memory.h"

#include <math.h>

static uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }

void orr_l2_spec_read(orr_l2_spec *c, const orr_gpu *g, const orr_dram_spec *d) {
    *c = (orr_l2_spec){.write_fetch = g->l2_write == ORR_L2_FETCH,
                       .mshrs = (uint32_t)g->l2_mshrs,
                       .mshr_merges = (uint32_t)g->l2_mshr_merges};
    while (ORR_LINE << (c->chunk_shift + 1) <= g->l2_interleave) c->chunk_shift++;
    while (c->sector_shift < 2 && ORR_SECTOR << (c->sector_shift + 1) <= g->l2_sector) c->sector_shift++;
    c->load_shift = c->sector_shift;
    while (c->load_shift < 2 && ORR_SECTOR << (c->load_shift + 1) <= g->l1_sector) c->load_shift++;
    double cycle = (double)ORR_TICKS * (g->clock_l2 > 0 ? g->clock_sm / g->clock_l2 : 1);
    c->cycle = max(1, (uint64_t)llround(cycle));
    c->sector = max(1, (uint64_t)llround(cycle * ORR_SECTOR * g->l2_slices / g->l2_bandwidth));
    c->atomic.op = max(1, (uint64_t)llround(cycle / g->l2_atomic));
    double more = (g->dram_latency - g->l2_latency) * (double)ORR_TICKS -
                  (double)(d->timing.rcd + d->timing.cl + d->timing.column);
    uint64_t fixed = more > 0 ? (uint64_t)llround(more) : 0;
    c->to_dram = fixed / 2;
    c->from_dram = fixed - c->to_dram;
    double write = g->l2_write_bandwidth > 0 ? g->l2_write_bandwidth : g->l2_bandwidth;
    c->store.sector = max(1, (uint64_t)llround(cycle * ORR_SECTOR * g->l2_slices / write));
    c->partial.own_row = g->l2_partial_alone;
    c->partial.rewritten = (uint64_t)llround(cycle * g->l2_complete_rewritten);
    c->store.same_line = (uint64_t)llround(cycle * g->l2_same_line_store);
    c->store.side_switch = g->l2_replicate ? (uint64_t)llround(cycle * g->l2_side_switch) : 0;
    c->store.side_switch_far =
        g->l2_side_switch_far > 0 ? (uint64_t)llround(cycle * g->l2_side_switch_far) : c->store.side_switch;
    c->store.queue = (uint32_t)g->l2_partial_queue;
    c->max_dirty = (uint32_t)((g->l2_dirty_lines + g->l2_slices - 1) / g->l2_slices);
    c->partial.max_partial =
        c->write_fetch ? 0 : (uint32_t)((g->l2_partial_lines + g->l2_slices - 1) / g->l2_slices);
    c->partial.max_completing = (uint32_t)g->l2_completions;
    c->partial.max_completed = (uint32_t)((g->l2_completed_lines + g->l2_slices - 1) / g->l2_slices);
    c->atomic.float_gap = (uint64_t)llround(cycle * g->l2_atomic_float);
    c->atomic.row_sector = (uint64_t)llround(cycle * g->l2_atomic_row);
    c->atomic.load_gap = (uint64_t)llround(cycle * g->l2_atomic_then_load);
    c->fence_interval = (uint64_t)llround(cycle * g->l2_fence_interval);
    c->atomic.latency = (uint64_t)llround(g->l2_atomic_latency * (double)ORR_TICKS);
    c->halves.copies = g->l2_replicate && g->l2_partitions == 2;
    c->halves.acknowledge = c->halves.copies && g->l2_invalidate_replicas;
    c->store.waits_for_fills = g->l2_store_after_fill;
    c->halves.latency = max(1, (uint64_t)llround(g->l2_far_latency / 2 * (double)ORR_TICKS));
    c->halves.sector = c->halves.copies ? (uint64_t)llround(cycle * g->l2_far_sector) : 0;
    c->merge.max_loads = (uint32_t)g->l2_merge;
    c->merge.window = (uint64_t)llround(g->l2_merge_time * (double)ORR_TICKS);
    c->topology = orr_topology_of(g);
    c->tag_interval = max(1, (uint64_t)llround(cycle * g->l2_tag_interval));
}
