// Products of groups of warps (products.h).
#include "core/products.h"

#include <stdlib.h>
#include <string.h>

void products_spec_read(products_spec *s, const orr_gpu *g) {
    uint32_t subs = (uint32_t)g->core_subcores, queue = (uint32_t)g->tensor_group_queue;
    *s = (products_spec){.latency = whole_cycles(g->tensor_group_latency),
                         .again = whole_cycles(g->tensor_group_again),
                         .queue = queue < PRODUCTS ? queue : PRODUCTS,
                         .per_sub = subs ? (uint32_t)g->core_schedulers / subs : 1};
    if (!s->per_sub) s->per_sub = 1;
    for (int u = 0; u < g->nunits; u++) {
        if (!strcmp(g->units[u].name, "alu")) s->beside[u] = (uint8_t)whole_cycles(g->tensor_beside_alu);
        if (!strcmp(g->units[u].name, "xu")) s->beside[u] = (uint8_t)whole_cycles(g->tensor_beside_xu);
    }
}

void products_init(product_units *u, const products_spec *s, uint32_t nwarps) {
    *u = (product_units){.spec = s, .nwarps = nwarps};
    u->warp = orr_calloc(nwarps, sizeof *u->warp);
}

void products_reset(product_units *u) {
    bool used = u->issued;
    *u = (product_units){.spec = u->spec, .warp = u->warp, .nwarps = u->nwarps};
    if (used) memset(u->warp, 0, u->nwarps * sizeof *u->warp);
}

void products_free(product_units *u) { free(u->warp); }

uint64_t products_issue(product_units *u, uint32_t sched, uint32_t warp, const orr_tinst *i, uint64_t now) {
    warp_products *w = &u->warp[warp];
    uint64_t *unit = &u->free[sub_core_of(sched, u->spec->per_sub)];
    uint64_t start = latest(now, *unit);
    if (w->n) start = latest(start, w->begun + u->spec->again);
    uint64_t done = start + i->interval + u->spec->latency;
    *unit = start + i->interval;
    w->begun = start;
    w->done[w->n++ % PRODUCTS] = done;
    if (i->imm & ORR_PRODUCT_SIGNALS) w->group[w->groups++ % PRODUCTS] = done;
    u->issued++;
    return done;
}
