// The crossbar between SMs and slices: what passes from one to the other between two windows.
//
// SMs of a GPC share a port from the network, and each slice takes stores of the GPCs in turn.
#include "model/cycle/crossbar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    if (r->sectors) way += c->sms[r->sm].further;
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
static void answer_gpc(cycle *c, gpc_port *port, const orr_replies *replies) {
    const orr_timed *at = sorted(&port->answers);
    for (size_t i = 0; i < port->answers.all.n; i++) {
        orr_reply r = replies[at[i].slice].at[at[i].index];
        if (r.sectors) {
            if (r.time < port->free) r.time = port->free;
            uint64_t ticks = c->crossbar.gpc_ticks[orr_popc(r.sectors)];
            if (!r.joined) port->free = r.time + ticks;
        }
        cyc_crossbar_answer(c, at[i].slice, &r);
    }
}

void cyc_crossbar_answer_gpcs(cycle *c, uint32_t first, uint32_t n, gpc_port *ports,
                              const orr_replies *replies, uint32_t partitions) {
    for (uint32_t k = 0; k < n; k++) ports[first + k].answers.all.n = 0;
    for (uint32_t p = 0; p < partitions; p++)
        for (size_t i = 0; i < replies[p].n; i++) {
            uint32_t gpc = orr_gpc_of_sm(replies[p].at[i].sm, c->crossbar.gpcs);
            if (gpc - first < n)
                *ORR_PUSH(&ports[gpc].answers.all) = (orr_timed){replies[p].at[i].time, (uint32_t)i, p};
        }
    for (uint32_t k = 0; k < n; k++) answer_gpc(c, &ports[first + k], replies);
}

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

static const orr_timed *gather_keys(cycle *c, store_network *port, uint64_t until) {
    port->keys.all.n = 0;
    for (uint32_t n = 0; n < c->nsms; n++) {
        const sm *s = &c->sms[n];
        for (size_t i = 0; i < s->port.out.n; i++) {
            const orr_request *r = &s->port.out.at[i];
            if (!cyc_crossbar_passes(c, r, until)) continue;
            *ORR_PUSH(&port->keys.all) = (orr_timed){r->time, (uint32_t)i, n};
            port->slices[port_slice_of_store(&c->core.port, r)].stored = true;
            port->stored = true;
        }
    }
    for (uint32_t n = 0; n < c->nsms && (port->stored || port->waiting); n++) {
        const sm *s = &c->sms[n];
        for (size_t i = 0; i < s->port.out.n; i++) {
            const orr_request *r = &s->port.out.at[i];
            if (!may_follow(r)) continue;
            const slice_port *slice = &port->slices[port_slice_of_store(&c->core.port, r)];
            if (slice->stored || slice->waiting)
                *ORR_PUSH(&port->keys.all) = (orr_timed){r->time, (uint32_t)i, n};
        }
    }
    return sorted(&port->keys);
}

static void collect_stores(cycle *c, store_network *port, uint64_t until) {
    const orr_timed *key = gather_keys(c, port, until);
    for (size_t i = 0; i < port->keys.all.n; i++) {
        sm *s = &c->sms[key[i].slice];
        orr_request r = s->port.out.at[key[i].index];
        slice_port *slice = &port->slices[port_slice_of_store(&c->core.port, &r)];
        gpc_queue *l = &slice->of[s->port.gpc];
        if (r.kind != ORR_REQ_WRITE) {
            if (!l->at.n) continue;
            if (r.time < l->at.at[l->at.n - 1].time) r.time = l->at.at[l->at.n - 1].time;
            s->port.out.at[key[i].index].partition = UINT32_MAX; // it is here
        }
        *ORR_PUSH(&l->at) = r;
        l->ticks += slice_time(c, &r);
        slice->waiting++;
        port->waiting++;
    }
}

static uint64_t ready_at(const gpc_queue *l) {
    return l->next == l->at.n ? UINT64_MAX : l->at.at[l->next].time;
}

// What one slice takes.
static void take_stores(cycle *c, store_network *port, slice_port *slice, uint64_t until, request_list *to) {
    uint32_t *some = port->some;
    uint32_t n = c->crossbar.ngpcs, nsome = 0;
    for (uint32_t k = 0; k < n; k++)
        if (slice->of[k].at.n) some[nsome++] = k;
    for (;;) {
        uint64_t soonest = UINT64_MAX;
        for (uint32_t i = 0; i < nsome; i++) {
            uint64_t at = ready_at(&slice->of[some[i]]);
            if (at < soonest) soonest = at;
        }
        uint64_t t = soonest > slice->free ? soonest : slice->free;
        if (soonest == UINT64_MAX || t >= until) break;
        gpc_queue *l = NULL;
        for (uint32_t i = 0; i < nsome; i++) {
            gpc_queue *o = &slice->of[some[i]];
            if (ready_at(o) > t) continue;
            if (o->tag < slice->tag) o->tag = slice->tag;
            if (!l || o->tag < l->tag) l = o;
        }
        if (!l) break; // the soonest is one of them
        orr_request *r = &l->at.at[l->next++];
        uint64_t ticks = slice_time(c, r);
        if (r->kind == ORR_REQ_WRITE && port_in_part(r->sectors, r->bytes)) slice->ticks = ticks;
        r->time = t;
        slice->free = t + ticks;
        l->ticks -= ticks;
        slice->tag = l->tag;
        l->tag += ticks;
        slice->waiting--;
        port->waiting--;
        *ORR_PUSH(&to[r->partition]) = *r;
    }
    for (uint32_t i = 0; i < nsome; i++) {
        gpc_queue *l = &slice->of[some[i]];
        size_t left = l->at.n - l->next;
        if (l->next) memmove(l->at.at, l->at.at + l->next, left * sizeof *l->at.at);
        l->at.n = left;
        l->next = 0;
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
static void publish_backlog(const cycle *c, store_network *port, const slice_port *slice, uint64_t *free) {
    uint32_t *some = port->some, n = c->crossbar.ngpcs, nsome = 0;
    for (uint32_t k = 0; k < n; k++) {
        free[k] = slice->free;
        uint64_t ticks = slice->of[k].ticks;
        if (!ticks) continue;
        uint32_t i = nsome++;
        for (; i && slice->of[some[i - 1]].ticks > ticks; i--) some[i] = some[i - 1];
        some[i] = k;
    }
    uint64_t before = 0;
    for (uint32_t i = 0; i < nsome; i++) {
        uint64_t ticks = slice->of[some[i]].ticks;
        free[some[i]] += before + (nsome - i) * ticks;
        before += ticks;
    }
}

void cyc_store_network_run(cycle *c, store_network *port, uint64_t until, request_list *to) {
    port->stored = false;
    collect_stores(c, port, until);
    uint32_t n = c->crossbar.ngpcs,
             slices = (uint32_t)orr_memsys_partitions(c->mem) * c->crossbar.store_halves;
    for (uint32_t p = 0; p < slices; p++) {
        slice_port *slice = &port->slices[p];
        bool waited = slice->waiting > 0;
        slice->stored = false;
        if (waited) {
            after_others(c, slice, p, until);
            take_stores(c, port, slice, until, to);
        }
        if (!waited && !slice->published) continue;
        slice->published = slice->waiting > 0;
        publish_backlog(c, port, slice, &c->net.gpc_free[p * n]);
    }
}

uint64_t cyc_store_network_next(const cycle *c, const store_network *port) {
    uint32_t n = c->crossbar.ngpcs,
             slices = (uint32_t)orr_memsys_partitions(c->mem) * c->crossbar.store_halves;
    uint64_t first = UINT64_MAX;
    for (uint32_t p = 0; p < slices; p++) {
        const slice_port *slice = &port->slices[p];
        if (!slice->waiting) continue;
        uint64_t soonest = UINT64_MAX;
        for (uint32_t k = 0; k < n; k++) {
            uint64_t at = ready_at(&slice->of[k]);
            if (at < soonest) soonest = at;
        }
        if (soonest < slice->free) soonest = slice->free;
        if (soonest < first) first = soonest;
    }
    return first;
}

store_network *cyc_store_network_new(const cycle *c) {
    uint32_t n = c->crossbar.ngpcs,
             slices = (uint32_t)orr_memsys_partitions(c->mem) * c->crossbar.store_halves;
    store_network *port = orr_calloc(1, sizeof *port);
    port->slices = orr_calloc(slices, sizeof *port->slices);
    for (uint32_t p = 0; p < slices; p++) port->slices[p].of = orr_calloc(n, sizeof *port->slices[p].of);
    port->some = orr_calloc(n, sizeof *port->some);
    return port;
}

void cyc_store_network_free(const cycle *c, store_network *port) {
    if (!port) return;
    uint32_t n = c->crossbar.ngpcs,
             slices = (uint32_t)orr_memsys_partitions(c->mem) * c->crossbar.store_halves;
    for (uint32_t p = 0; p < slices; p++) {
        for (uint32_t k = 0; k < n; k++) free(port->slices[p].of[k].at.at);
        free(port->slices[p].of);
    }
    cyc_timed_free(&port->keys);
    free(port->slices);
    free(port->some);
    free(port);
}
