// Thread-block dispatch (dispatch.h).
#include "model/dispatch.h"

#include <stdlib.h>

// When a grid of fewer blocks than SMs comes to an SM: the first TPCs of the first GPC (launch.first), then
// the TPCs of all GPCs in turn, and one SM of each TPC before the others.
static uint64_t rank_in_small_grid(const orr_gpu *g, uint32_t sm, uint32_t nsms, uint32_t tpc_sms) {
    orr_topology t = orr_topology_of(g);
    uint32_t gpc = orr_gpc_of_sm(sm, t), before = 0;
    if (sm < (uint32_t)g->launch_first) return sm % tpc_sms * nsms + sm;
    for (uint32_t n = (uint32_t)g->launch_first; n < sm; n += tpc_sms) before += orr_gpc_of_sm(n, t) == gpc;
    return (uint64_t)(tpc_sms + sm % tpc_sms) * nsms * nsms + (uint64_t)before * nsms + gpc;
}

typedef struct ranked {
    uint64_t rank;
    uint32_t sm;
} ranked;

static int by_rank(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

// Which SMs a small grid goes to is decided by rank; among those, blocks are numbered GPC by GPC all the
// same.
static void small_grid(const orr_gpu *g, uint32_t nsms, uint32_t blocks, uint32_t tpc_sms, uint32_t *order) {
    ranked *all = orr_malloc(nsms * sizeof *all);
    bool *has = orr_calloc(nsms, sizeof *has);
    uint32_t k = 0;
    for (uint32_t n = 0; n < nsms; n++) all[n] = (ranked){rank_in_small_grid(g, n, nsms, tpc_sms), n};
    qsort(all, nsms, sizeof *all, by_rank);
    for (uint32_t n = 0; n < blocks; n++) has[all[n].sm] = true;
    for (uint32_t n = 0; n < nsms; n++)
        if (has[n]) order[k++] = n;
    for (uint32_t n = blocks; n < nsms; n++) order[k++] = all[n].sm;
    free(all);
    free(has);
}

uint32_t *orr_dispatch_order(const orr_gpu *g, uint32_t nsms, uint64_t blocks) {
    uint32_t *order = orr_malloc(nsms * sizeof *order), k = 0;
    uint32_t tpc_sms = g->tpc_count > 0 ? (nsms + (uint32_t)g->tpc_count - 1) / (uint32_t)g->tpc_count : 1;
    if (!tpc_sms) tpc_sms = 1;
    if (g->launch_order == ORR_LAUNCH_GPC && blocks && blocks < nsms) {
        small_grid(g, nsms, (uint32_t)blocks, tpc_sms, order);
        return order;
    }
    uint32_t stride = g->launch_order == ORR_LAUNCH_SPREAD ? tpc_sms : 1;
    for (uint32_t first = 0; first < stride; first++)
        for (uint32_t n = first; n < nsms; n += stride) order[k++] = n;
    return order;
}

// The GPU looks at one GPC after the other for SMs that have room, and finds launch.gpc_run of them (H200: of
// 9,400 blocks of three loads the next one is in the same GPC in 63 % of cases, the next but one in 37, 19, 9
// %, on the other SM of the TPC in 13 %). Here it is always so many, and never the other SM of a TPC.
uint32_t *orr_dispatch_refill(const orr_gpu *g, uint32_t nsms) {
    uint32_t run = g->launch_order == ORR_LAUNCH_GPC ? (uint32_t)g->launch_gpc_run : 0;
    if (!run) return orr_dispatch_order(g, nsms, 0);
    orr_topology t = orr_topology_of(g);
    uint32_t *order = orr_malloc(nsms * sizeof *order), k = 0, gpc_sms = 0;
    while (gpc_sms < nsms && orr_gpc_of_sm(gpc_sms, t) == 0) gpc_sms++;
    uint32_t rounds = (gpc_sms + run - 1) / run; // in each round, one in so many of a GPC's SMs
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t n = 0, first = 0; n < nsms; n++) {
            if (orr_gpc_of_sm(n, t) != orr_gpc_of_sm(first, t)) first = n;
            if ((n - first) % rounds == round) order[k++] = n;
        }
    return order;
}

// The full rounds of a first wave where launch.first_period lets the first SMs (launch.first) have theirs at
// a pace of their own, ahead of the others: a round of the first ones each time that `again` of the others
// have had a block.
static void rounds_with_head_start(const orr_gpu *g, uint32_t nsms, const uint32_t *order, uint32_t rounds,
                                   uint32_t *wave) {
    uint32_t first = (uint32_t)g->launch_first, again = (uint32_t)g->launch_first_period;
    uint32_t had = 0, since = again, next = first;
    size_t end = (size_t)rounds * nsms;
    for (size_t at = 0; at < end; at++) {
        if (since >= again && had < rounds) {
            for (uint32_t k = 0; k < first; k++) wave[at++] = order[k];
            had++;
            since = 0;
            if (at == end) break;
        }
        if (had == rounds) since = 0;
        wave[at] = order[next];
        since++;
        if (++next == nsms) next = first;
    }
}

// All SMs have the same number of blocks first; the rest is dealt like a small grid.
uint32_t *orr_dispatch_first_wave(const orr_gpu *g, uint32_t nsms, uint64_t blocks, uint32_t each,
                                  size_t *n) {
    uint64_t room = (uint64_t)nsms * each;
    *n = (size_t)(!blocks || blocks > room ? room : blocks);
    uint32_t *wave = orr_malloc((*n + 1) * sizeof *wave), rounds = (uint32_t)(*n / nsms);
    size_t even = (size_t)rounds * nsms;
    uint32_t *order = orr_dispatch_order(g, nsms, even ? nsms : blocks);
    uint32_t first = (uint32_t)g->launch_first;
    if (g->launch_order == ORR_LAUNCH_GPC && first && first < nsms && g->launch_first_period)
        rounds_with_head_start(g, nsms, order, rounds, wave);
    else
        for (size_t at = 0; at < even; at++) wave[at] = order[at % nsms];
    if (even && even < *n) {
        free(order);
        order = orr_dispatch_order(g, nsms, *n - even);
    }
    for (size_t at = even; at < *n; at++) wave[at] = order[at - even];
    free(order);
    return wave;
}
