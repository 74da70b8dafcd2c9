// The topology of a GPU (topology.h): reading it from a description, and the hardware's numbers of SMs.
#include "gpu/topology.h"

#include <stdlib.h>

#define NO_GPCS 0xffffu // SMs, at most, of a GPU that is described without GPCs

orr_topology orr_topology_of(const orr_gpu *g) {
    uint32_t tpc = g->tpc_count > 0 ? (uint32_t)(g->sm_count / g->tpc_count) : 1;
    if (!tpc) tpc = 1;
    uint32_t gpc = g->gpc_count > 1 ? (uint32_t)(g->sm_count / g->gpc_count) / tpc * tpc : 0;
    uint32_t each = gpc ? gpc : tpc, n = gpc ? (uint32_t)g->gpc_count : NO_GPCS / each;
    return (orr_topology){
        .tpc_sms = tpc, .gpc_sms = each, .even_sms = each * n, .gpcs = n, .of_gpc = UINT32_MAX / each + 1ull};
}

uint32_t orr_active_clusters(const orr_gpu *g, uint32_t size, uint32_t blocks) {
    orr_topology t = orr_topology_of(g);
    uint32_t nsms = (uint32_t)g->sm_count, n = 0;
    uint32_t apart = g->launch_order == ORR_LAUNCH_GPC ? (uint32_t)g->launch_first : 0;
    if (!size || apart > nsms) return 0;
    if (size <= t.tpc_sms) n += apart / t.tpc_sms * (t.tpc_sms * blocks / size);
    uint32_t gpcs = g->gpc_count > 1 ? (uint32_t)g->gpc_count : 1;
    for (uint32_t gpc = 0; gpc < gpcs; gpc++) {
        uint32_t sms = 0;
        for (uint32_t s = apart; s < nsms; s++) sms += gpcs == 1 || orr_gpc_of_sm(s, t) == gpc;
        if (sms >= size) n += sms * blocks / size;
    }
    return n;
}

typedef struct numbered {
    uint64_t rank;
    uint32_t sm;
} numbered;

static int by_rank(const void *a, const void *b) {
    const numbered *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

uint32_t *orr_sm_numbers(const orr_gpu *g, uint32_t nsms) {
    orr_topology t = orr_topology_of(g);
    uint32_t *number = orr_malloc(nsms * sizeof *number);
    uint32_t tpc = g->tpc_count > 0 ? (nsms + (uint32_t)g->tpc_count - 1) / (uint32_t)g->tpc_count : 1;
    if (!tpc) tpc = 1;
    uint32_t first = g->launch_order == ORR_LAUNCH_GPC ? (uint32_t)g->launch_first : 0;
    uint64_t all = nsms;
    numbered *order = orr_malloc(nsms * sizeof *order);
    for (uint32_t n = 0; n < nsms; n++) {
        uint32_t gpc = orr_gpc_of_sm(n, t), before = 0; // TPCs of its GPC that come before it
        for (uint32_t k = first; k + tpc <= n; k += tpc) before += orr_gpc_of_sm(k, t) == gpc;
        order[n] = (numbered){n < first ? all * all * all + n : (before * all + gpc) * all + n, n};
        if (!first) order[n].rank = n; // how such a GPU numbers them has not been measured
    }
    qsort(order, nsms, sizeof *order, by_rank);
    for (uint32_t n = 0; n < nsms; n++) number[order[n].sm] = n;
    free(order);
    return number;
}
