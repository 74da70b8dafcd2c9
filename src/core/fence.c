// Fences of an SM (fence.h).
#include "core/fence.h"

#include "memory/cost.h"

#include <stdlib.h>
#include <string.h>

enum { IDLE, DUE, ON }; // a round: none, waits for L1, waits for stores and slices

static uint64_t at_least_one(double cycles) { return cycles >= 1 ? (uint64_t)cycles : 1; }

void fence_spec_read(fence_spec *s, const orr_gpu *g) {
    *s = (fence_spec){.block = at_least_one(orr_fence_cycles(g, 0)),
                      .gpu = at_least_one(orr_fence_cycles(g, 2)),
                      .system = at_least_one(orr_fence_cycles(g, 3)),
                      .store = (uint64_t)g->core_fence_store,
                      .merge = (uint64_t)g->core_fence_merge,
                      .invalidate = g->core_fence_invalidate,
                      .probe = (uint64_t)g->core_fence_probe,
                      .probes = g->core_fence_probe > 0,
                      .waits_for_atomics = g->core_fence_store > 0};
}

void fence_init(fence_unit *f, const fence_spec *s, sm_port *port, uint32_t nwarps) {
    *f = (fence_unit){.spec = s, .port = port, .clock = port->clock};
    f->earliest = orr_calloc(nwarps, sizeof *f->earliest);
}

void fence_free(fence_unit *f) {
    free(f->earliest);
    free(f->round_warps.at);
    free(f->next_round_warps.at);
    free(f->released.at);
}

void fence_reset(fence_unit *f) {
    f->round_warps.n = f->next_round_warps.n = f->released.n = 0;
    *f = (fence_unit){.spec = f->spec,
                      .port = f->port,
                      .clock = f->clock,
                      .earliest = f->earliest,
                      .round_warps = f->round_warps,
                      .next_round_warps = f->next_round_warps,
                      .released = f->released};
}

static void release(fence_unit *f, uint32_t warp, uint64_t when) {
    *ORR_PUSH(&f->released) = (fence_release){warp, latest(f->earliest[warp], when)};
    f->earliest[warp] = 0;
}

// ---- rounds -------------------------------------------------------------------------------------
static void round_at(fence_unit *f, uint64_t when) {
    f->state = DUE;
    events_add_at(f->clock, when, EVENT_FENCE_ROUND, 0);
}

// The stores of the round have been acknowledged, and the slices have answered. `empty`: it had none of
// either, and is one that waited for another.
static void over(fence_unit *f, bool empty) {
    const fence_spec *s = f->spec;
    uint64_t t = latest(f->clock->now + s->store, f->answered);
    if (!empty) t = latest(t, f->round_began + s->gpu);
    f->state = IDLE;
    f->answered = 0;
    if (f->port->epoch_until != NEVER) port_next_epoch(f->port);
    for (size_t n = 0; n < f->round_warps.n; n++) release(f, f->round_warps.at[n], t);
    if (f->next_round_warps.n)
        round_at(f, latest(t, f->l1_free) + (uint64_t)(s->invalidate * (double)f->round_warps.n));
    f->round_warps.n = 0;
}

static void over_when_all(fence_unit *f) {
    if (f->state == ON && !f->port->unacked[f->epoch] && !f->open_probes) over(f, false);
}

static void begin_round(fence_unit *f) {
    sm_port *p = f->port;
    f->state = ON;
    f->round_began = f->clock->now;
    f->epoch = p->epoch;
    p->epoch_until = f->round_began + f->spec->merge; // of those that still come to it
    if (f->spec->probes) f->open_probes += port_ask_slices(p);
    if (!p->unacked[p->epoch] && !f->open_probes) over(f, true);
}

static void join_round(fence_unit *f, uint32_t warp) {
    uint64_t now = f->clock->now;
    bool with = f->state == ON && now <= f->round_began + f->spec->merge;
    if (with || (f->state == IDLE && f->l1_free <= now))
        *ORR_PUSH(&f->round_warps) = warp;
    else
        *ORR_PUSH(&f->next_round_warps) = warp;
    if (f->state == IDLE && f->l1_free <= now)
        begin_round(f);
    else if (f->state == IDLE)
        round_at(f, f->l1_free);
    else if (with && f->spec->probes)
        f->open_probes += port_ask_slices(f->port); // where it has been since the round began
}

void fence_round(fence_unit *f) {
    for (size_t n = 0; n < f->next_round_warps.n; n++) *ORR_PUSH(&f->round_warps) = f->next_round_warps.at[n];
    f->next_round_warps.n = 0;
    begin_round(f);
}

// ---- a warp's fence -----------------------------------------------------------------------------
uint64_t fence_issue(fence_unit *f, uint32_t warp, uint32_t scope) {
    const fence_spec *s = f->spec;
    sm_port *p = f->port;
    port_warp *w = &p->warp[warp];
    uint64_t now = f->clock->now, t = now + (scope >= 3 ? s->system : scope >= 1 ? s->gpu : s->block);
    if (scope < 1) return t;
    port_close(p);
    bool counts = port_counts_stores(p), probes = counts && s->probes;
    if (!counts && now < w->stored) t = latest(t, w->stored + s->store);
    if (!probes && s->waits_for_atomics && w->atomic_trip) t = latest(t, now + w->atomic_trip + s->store);
    w->atomic_trip = 0;
    if (counts) t += latest(f->l1_free, now) - now;
    bool rounds = counts && (f->state != IDLE || p->unacked[0] || p->unacked[1] || (probes && p->visited.n));
    if (!w->reductions && !rounds) return t;
    f->earliest[warp] = t; // reductions are not done before L2 says so
    if (!w->reductions) join_round(f, warp);
    return NEVER;
}

void fence_invalidated(fence_unit *f) {
    f->l1_free = latest(f->l1_free, f->clock->now) + (uint64_t)f->spec->invalidate;
}

// ---- acknowledgements ---------------------------------------------------------------------------
void fence_store_acknowledged(fence_unit *f, uint32_t epoch) {
    if (epoch == f->epoch) over_when_all(f);
}

void fence_slice_acknowledged(fence_unit *f, uint64_t when) {
    f->open_probes--;
    f->answered = latest(f->answered, when + f->spec->probe);
    over_when_all(f);
}

// A fence for the GPU waits until the warp's reductions have been done, wherever they queue (H200:
// micro/atomics, red on one line: SMs are active as long as with atom).
void fence_reduction_acknowledged(fence_unit *f, uint32_t payload, uint64_t when) {
    uint32_t warp;
    port_warp *w = port_reduction_acknowledged(f->port, payload, &warp);
    if (!w) return; // it has ended
    if (!--w->reductions && f->earliest[warp])
        release(f, warp, when + f->spec->store);
    else
        w->stored = latest(w->stored, when);
}
