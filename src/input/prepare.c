// A launch made to fit a GPU (input.h).
#include "input/input.h"

#include <string.h>

bool orr_launch_fit(const orr_gpu *g, const orr_launch_info *i, orr_occupancy_result *fit) {
    const orr_kernel *k = i->kernel;
    return orr_occupancy(g, (int)(i->block[0] * i->block[1] * i->block[2]), (int)k->regs,
                         (int64_t)k->shared_bytes + i->dynamic_shared, (int)k->barriers, fit);
}

static uint32_t most_shared(const orr_gpu *g) {
    int64_t usual = g->shared_per_block, most = g->shared_per_block_optin;
    return (uint32_t)(most > usual ? most : usual);
}

bool orr_launch_prepare(orr_launch *l, const orr_gpu *g, orr_err *e) {
    if (!l->cluster[0]) memcpy(l->cluster, l->kernel->bounds.cluster, sizeof l->cluster);
    if (!g) return true;
    l->sm_count = (uint32_t)g->sm_count;
    if (!orr_launch_check(l, most_shared(g), e)) return false;
    orr_launch_info info = orr_info_of(l);
    orr_occupancy_result fit;
    if (orr_launch_fit(g, &info, &fit) && fit.blocks > 0) l->resident = (uint32_t)(fit.blocks * g->sm_count);
    return true;
}

bool orr_launch_possible(const orr_gpu *g, const orr_launch_info *i, orr_err *e) {
    orr_launch l = {.kernel = i->kernel, .dynamic_shared = i->dynamic_shared, .index = i->index};
    memcpy(l.grid, i->grid, sizeof l.grid);
    memcpy(l.block, i->block, sizeof l.block);
    return orr_launch_check(&l, most_shared(g), e);
}

bool orr_launch_count(const orr_work *w, const orr_gpu *g, orr_result *r, orr_err *e) {
    orr_exec_counts counts = {0};
    double start = orr_seconds();
    if (!orr_exec_run(w->launch, w->threads, NULL, &counts, e)) return false;
    r->host.execute_seconds += orr_seconds() - start;
    orr_launch_result *l = orr_result_add(r, g, w);
    l->warp_insts = counts.warp_insts;
    l->thread_insts = counts.thread_insts;
    return true;
}
