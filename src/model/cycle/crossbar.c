// The crossbar between SMs and slices: what passes from one to the other between two windows.
//
// SMs of a GPC share a port from the network, and each slice takes stores of the GPCs in turn.
#include "model/cycle/crossbar.h"

#include <stdlib.h>
#include <string.h>

#include "model/cycle/crew.h"
#include "model/cycle/sm.h"

// ---- from the description -----------------------------------------------------------------------
void cyc_crossbar_spec_read(crossbar_spec *s, const orr_gpu *g, const port_spec *port) {
    double l2_cycle = g->clock_l2 > 0 ? g->clock_sm / g->clock_l2 : 1; // in SM cycles
    uint64_t way = (port->request_ticks + port->reply_ticks) / ORR_TICKS;
    *s = (crossbar_spec){.gpcs = port->gpcs, .ngpcs = port->ngpcs, .store_halves = port->store_halves};
    s->spread = ((uint64_t)g->l2_spread < way ? (uint64_t)g->l2_spread : way / 2) * ORR_TICKS;
    for (int part = 0; part < 2 && g->xbar_store_bandwidth > 0; part++)
        for (int n = 0; n < 5; n++) {
            double bytes = (double)g->xbar_store_header + 32 * n + (part ? (double)g->xbar_byte_mask : 0);
            double ticks = bytes * l2_cycle * (double)ORR_TICKS;
            s->slice_ticks[part][n] =
                (uint64_t)(ticks / g->xbar_store_bandwidth * (double)g->l2_slices + 0.5);
        }
    for (uint32_t n = 0; g->xbar_gpc_reply > 0 && n <= 4; n++)
        s->gpc_ticks[n] = (uint64_t)((8 + 32 * n) * l2_cycle / g->xbar_gpc_reply * (double)ORR_TICKS + 0.5);
    s->atomic_ticks = (uint64_t)(l2_cycle / g->l2_atomic * (double)ORR_TICKS + 0.5);
}

// ---- answers ------------------------------------------------------------------------------------
// A slice's data take so long to a GPC: some slices are near, others further (l2.spread), evenly.
static uint64_t reply_way(const cycle *c, uint32_t partition, uint32_t gpc) {
    if (!c->crossbar.spread) return c->core.port.reply_ticks;
    uint64_t place = (partition * 64 + gpc + 1) * 0x9e3779b97f4a7c15u >> 32;
    return c->core.port.reply_ticks - c->crossbar.spread / 2 + place % c->crossbar.spread;
}

void cyc_crossbar_answer(cycle *c, uint32_t partition, const orr_reply *r) {
    uint64_t way = r->sectors ? reply_way(c, partition, orr_gpc_of_sm(r->sm, c->crossbar.gpcs))
                              : c->core.port.reply_ticks;
    if (r->sectors) way += c->sms[r->sm].answer_delay;
    events_add(&c->sms[r->sm].clock, r->time + way, r->token, r->sectors);
}

void cyc_timed_free(timed_list *t) {
    free(t->all.at);
    free(t->scratch.at);
}

static const orr_timed *sorted(timed_list *t) {
    if (t->scratch.cap < t->all.n) {
        t->scratch.cap = t->all.cap;
        t->scratch.at = orr_realloc(t->scratch.at, t->scratch.cap * sizeof *t->scratch.at);
    }
    return orr_sort_timed(t->all.at, t->scratch.at, t->all.n);
}

// The SMs of a GPC share a port from the network (xbar.gpc_reply): what comes to them passes it in the order
// of its time. Loads that met on their way to L2 have one answer, which is dealt out behind the port.
void cyc_crossbar_answer_gpc(cycle *c, uint32_t gpc, gpc_port *port, const orr_replies *replies,
                             const timed_keys *keys) {
    uint32_t partitions = (uint32_t)orr_memsys_partitions(c->mem);
    port->answers.all.n = 0;
    for (uint32_t p = 0; p < partitions; p++) {
        const timed_keys *some = &keys[(size_t)p * c->crossbar.ngpcs + gpc];
        for (size_t i = 0; i < some->n; i++) *ORR_PUSH(&port->answers.all) = some->at[i];
    }
    const orr_timed *at = sorted(&port->answers);
    for (size_t i = 0; i < port->answers.all.n; i++) {
        orr_reply r = replies[at[i].slice].at[at[i].index];
        if (r.sectors) {
            if (r.time < port->free) r.time = port->free;
            uint64_t ticks = c->crossbar.gpc_ticks[orr_popc(r.sectors)];
            if (!r.merged) port->free = r.time + ticks;
        }
        cyc_crossbar_answer(c, at[i].slice, &r);
    }
}

void cyc_crossbar_deal_answers(const cycle *c, uint32_t partition, const orr_replies *replies,
                               timed_keys *keys) {
    for (uint32_t g = 0; g < c->crossbar.ngpcs; g++) keys[g].n = 0;
    for (size_t i = 0; i < replies->n; i++) {
        const orr_reply *r = &replies->at[i];
        *ORR_PUSH(&keys[orr_gpc_of_sm(r->sm, c->crossbar.gpcs)]) =
            (orr_timed){r->time, (uint32_t)i, partition};
    }
}

// ---- stores -------------------------------------------------------------------------------------
// What the SMs store passes on to the slices. Each slice takes stores of the GPCs in turn, its share of
// xbar.store_bandwidth, so that an SM of a small GPC has more than one of a large GPC, and one whose lines
// are on busy slices less than others. What does not pass before `until` waits.
//
// Whose turn it is: each GPC has a tag, the share of the slice that it has had; the one with the least
// of those that have something there is next. Who had nothing there does not catch up.
static uint64_t slice_time(const cycle *c, const orr_request *r) {
    return r->kind == ORR_REQ_WRITE
               ? c->crossbar.slice_ticks[port_in_part(r->sectors, r->bytes)][orr_popc(r->sectors)]
               : 0;
}

// What is not a store waits behind those of its GPC that its slice has not taken yet.
static bool may_follow(const orr_request *r) {
    return r->kind != ORR_REQ_WRITE && !r->strong && r->partition != UINT32_MAX;
}

bool cyc_crossbar_passes(const cycle *c, const orr_request *r, uint64_t until) {
    return c->crossbar.slice_ticks[0][0] && !c->foreign && r->kind == ORR_REQ_WRITE && !r->strong &&
           r->time < until && r->partition != UINT32_MAX;
}

static slice_port *slice_of(const store_network *port, const orr_request *r) {
    return &port->slices[port_slice_of_store(&port->c->core.port, r)];
}

// What SMs of a GPC send in this window, in order of time: stores, and what may have to follow them.
static const orr_timed *gather_keys(const store_network *port, gpc_stores *own, uint32_t k) {
    const cycle *c = port->c;
    own->keys.all.n = 0;
    for (uint32_t n = own->first; n < own->first + own->n; n++) {
        const sm *s = &c->sms[port->sms[n]];
        for (size_t i = 0; i < s->port.out.n && s->port.has_stores; i++) {
            const orr_request *r = &s->port.out.at[i];
            if (!cyc_crossbar_passes(c, r, port->until)) continue;
            *ORR_PUSH(&own->keys.all) = (orr_timed){r->time, (uint32_t)i, port->sms[n]};
        }
    }
    bool stored = own->keys.all.n;
    for (uint32_t n = own->first; n < own->first + own->n && (stored || own->waiting); n++) {
        const sm *s = &c->sms[port->sms[n]];
        for (size_t i = 0; i < s->port.out.n; i++) {
            const orr_request *r = &s->port.out.at[i];
            if (may_follow(r) && (stored || slice_of(port, r)->of[k].at.n))
                *ORR_PUSH(&own->keys.all) = (orr_timed){r->time, (uint32_t)i, port->sms[n]};
        }
    }
    return sorted(&own->keys);
}

static uint32_t slices_of(const cycle *c) {
    return (uint32_t)orr_memsys_partitions(c->mem) * c->crossbar.store_halves;
}

static size_t waiting_of(const store_network *port, uint32_t k, uint32_t slices) {
    size_t n = 0;
    for (uint32_t p = 0; p < slices; p++) n += port->slices[p].of[k].at.n;
    return n;
}

// What SMs of a GPC have sent goes into its queues in front of the slices.
static void collect_stores(void *arg, int worker, uint32_t k) {
    store_network *port = arg;
    gpc_stores *own = &port->gpcs[k];
    if (own->waiting) own->waiting = waiting_of(port, k, slices_of(port->c)); // some have been taken
    const orr_timed *key = gather_keys(port, own, k);
    (void)worker;
    for (size_t i = 0; i < own->keys.all.n; i++) {
        orr_request *sent = &port->c->sms[key[i].slice].port.out.at[key[i].index];
        gpc_queue *l = &slice_of(port, sent)->of[k];
        uint64_t t = sent->time;
        if (sent->kind != ORR_REQ_WRITE) {
            if (!l->at.n) continue;
            if (t < l->at.at[l->at.n - 1].time) t = l->at.at[l->at.n - 1].time;
        }
        orr_request *r = ORR_PUSH(&l->at);
        *r = *sent;
        r->time = t;
        if (sent->kind != ORR_REQ_WRITE) sent->partition = UINT32_MAX; // it is here
        l->ticks += slice_time(port->c, r);
        own->waiting++;
    }
}

static uint64_t ready_at(const gpc_queue *l) {
    return l->next == l->at.n ? UINT64_MAX : l->at.at[l->next].time;
}

// The GPCs of which something waits in front of a slice: when the first of it is ready, and whose turn it
// is (by tag).
typedef struct slice_turns {
    uint64_t ready[MAX_NETWORK_GPCS], tag[MAX_NETWORK_GPCS];
    uint32_t gpc[MAX_NETWORK_GPCS], n;
} slice_turns;

static void find_waiting(const store_network *port, const slice_port *slice, slice_turns *w) {
    w->n = 0;
    for (uint32_t k = 0; k < port->ngpcs; k++) {
        const gpc_queue *l = &slice->of[k];
        if (!l->at.n) continue;
        w->ready[w->n] = ready_at(l);
        w->tag[w->n] = l->virtual_time;
        w->gpc[w->n++] = k;
    }
}

static uint64_t soonest_of(const slice_turns *w) {
    uint64_t soonest = UINT64_MAX;
    for (uint32_t i = 0; i < w->n; i++) soonest = w->ready[i] < soonest ? w->ready[i] : soonest;
    return soonest;
}

// Of those that are ready at `t` the one with the least tag; who had nothing there does not catch up.
static uint32_t whose_turn(slice_turns *w, uint64_t t, uint64_t tag) {
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->ready[i] > t) continue;
        if (w->tag[i] < tag) w->tag[i] = tag;
        if (best == UINT32_MAX || w->tag[i] < w->tag[best]) best = i;
    }
    return best;
}

// What one slice takes.
static void take_stores(const store_network *port, slice_port *slice, slice_turns *w, request_list *to) {
    const cycle *c = port->c;
    for (;;) {
        uint64_t soonest = soonest_of(w), t = soonest > slice->free ? soonest : slice->free;
        if (soonest == UINT64_MAX || t >= port->until) break;
        uint32_t i = whose_turn(w, t, slice->virtual_time);
        gpc_queue *l = &slice->of[w->gpc[i]];
        orr_request *r = ORR_PUSH(to);
        *r = l->at.at[l->next++];
        uint64_t ticks = slice_time(c, r);
        if (r->kind == ORR_REQ_WRITE && port_in_part(r->sectors, r->bytes)) slice->ticks = ticks;
        r->time = t;
        slice->free = t + ticks;
        l->ticks -= ticks;
        slice->virtual_time = w->tag[i];
        w->tag[i] += ticks;
        w->ready[i] = ready_at(l);
    }
    for (uint32_t i = 0; i < w->n; i++) {
        gpc_queue *l = &slice->of[w->gpc[i]];
        size_t left = l->at.n - l->next;
        if (l->next) memmove(l->at.at, l->at.at + l->next, left * sizeof *l->at.at);
        l->at.n = left;
        l->next = 0;
        l->virtual_time = w->tag[i];
    }
}

// A slice that is behind, as one that waits for memory, takes stores of part of a sector when it has room:
// what it has not done of those that it took before counts as taken in this window. So GPCs have their turns
// at its pace, whatever that is.
static void after_others(const cycle *c, slice_port *slice, uint32_t p, uint64_t until) {
    uint64_t has = slice->ticks * orr_memsys_stores_at(c->mem, (int)(p / c->crossbar.store_halves),
                                                       p % c->crossbar.store_halves);
    if (!has || until == UINT64_MAX) return; // the end of a kernel
    uint64_t window = c->window * ORR_TICKS, from = until - window + (has < window ? has : window);
    if (slice->free < from) slice->free = from;
}

// When another store of each GPC would pass the slice: behind what waits of its own, and as much of each
// other one's, if that has as much. By how much of the slice they wait for, the least first.
static void publish_backlog(const store_network *port, const slice_port *slice, uint64_t *free) {
    uint32_t some[MAX_NETWORK_GPCS], nsome = 0;
    for (uint32_t k = 0; k < port->ngpcs; k++) {
        free[port->gpcs[k].gpc] = slice->free;
        uint64_t ticks = slice->of[k].ticks;
        if (!ticks) continue;
        uint32_t i = nsome++;
        for (; i && slice->of[some[i - 1]].ticks > ticks; i--) some[i] = some[i - 1];
        some[i] = k;
    }
    uint64_t before = 0;
    for (uint32_t i = 0; i < nsome; i++) {
        uint64_t ticks = slice->of[some[i]].ticks;
        free[port->gpcs[some[i]].gpc] += before + (nsome - i) * ticks;
        before += ticks;
    }
}

// The slices of one partition.
static void run_slices(void *arg, int worker, uint32_t p) {
    const store_network *port = arg;
    cycle *c = port->c;
    uint32_t halves = c->crossbar.store_halves, n = c->crossbar.ngpcs;
    (void)worker;
    for (uint32_t s = p * halves; s < (p + 1) * halves; s++) {
        slice_port *slice = &port->slices[s];
        slice_turns w;
        find_waiting(port, slice, &w);
        if (w.n) {
            after_others(c, slice, s, port->until);
            take_stores(port, slice, &w, &port->to[p]);
        }
        slice->soonest = soonest_of(&w);
        if (!w.n && !slice->published) continue;
        slice->published = slice->soonest != UINT64_MAX;
        publish_backlog(port, slice, &c->net.gpc_free[s * n]);
    }
}

void cyc_store_network_run(store_network *port, crew *crew, uint64_t until, request_list *to) {
    const cycle *c = port->c;
    uint32_t slices = slices_of(c);
    port->until = until;
    port->to = to;
    cyc_crew_run(crew, port->ngpcs, collect_stores, port);
    bool waits = false; // or waited, as is published
    for (uint32_t k = 0; k < port->ngpcs; k++) waits |= port->gpcs[k].waiting > 0;
    for (uint32_t n = 0; n < slices && !waits; n++) waits = port->slices[n].published;
    if (waits) cyc_crew_run(crew, (uint32_t)orr_memsys_partitions(c->mem), run_slices, port);
}

uint64_t cyc_store_network_next(const store_network *port) {
    uint64_t first = UINT64_MAX;
    uint32_t slices = slices_of(port->c);
    for (uint32_t s = 0; s < slices; s++) {
        const slice_port *slice = &port->slices[s];
        if (slice->soonest == UINT64_MAX) continue;
        uint64_t t = slice->soonest < slice->free ? slice->free : slice->soonest;
        if (t < first) first = t;
    }
    return first;
}

store_network *cyc_store_network_new(cycle *c) {
    uint32_t most = c->crossbar.ngpcs, slices = slices_of(c), at = 0;
    store_network *port = orr_calloc(1, sizeof *port);
    port->c = c;
    port->gpcs = orr_calloc(most, sizeof *port->gpcs);
    port->sms = orr_calloc(c->nsms, sizeof *port->sms);
    for (uint32_t gpc = 0; gpc < most; gpc++) {
        gpc_stores own = {.gpc = gpc, .first = at};
        for (uint32_t n = 0; n < c->nsms; n++)
            if (c->sms[n].port.gpc == gpc) port->sms[at++] = n;
        own.n = at - own.first;
        if (own.n) port->gpcs[port->ngpcs++] = own;
    }
    port->slices = orr_calloc(slices, sizeof *port->slices);
    for (uint32_t s = 0; s < slices; s++) {
        port->slices[s].soonest = UINT64_MAX;
        port->slices[s].of = orr_calloc(port->ngpcs, sizeof *port->slices[s].of);
    }
    return port;
}

void cyc_store_network_free(store_network *port) {
    if (!port) return;
    uint32_t slices = slices_of(port->c);
    for (uint32_t s = 0; s < slices; s++) {
        for (uint32_t k = 0; k < port->ngpcs; k++) free(port->slices[s].of[k].at.at);
        free(port->slices[s].of);
    }
    for (uint32_t k = 0; k < port->ngpcs; k++) cyc_timed_free(&port->gpcs[k].keys);
    free(port->gpcs);
    free(port->sms);
    free(port->slices);
    free(port);
}
