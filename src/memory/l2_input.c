// The input of an L2 slice: its ports, the queues behind them, and which request is taken when.
//
// A slice looks up a line a cycle, or as many cycles as the line's sectors need to pass its port: in, for
// stores as for loads, and out, for answers, each as wide as l2.bandwidth / l2.slices. l2.latency is the
// network's (the caller adds it) and includes the passing of one sector, so a load of one sector that hits an
// idle slice is answered when it comes.
//
// Stores of part of a sector take a slice's port longer than others, those of the other half have a port of
// their own, and where both halves store to one line they do so in turns (l2.side_switch): behind each port
// such stores wait for their line, and when l2.partial_queue of them wait the port stalls. Atomics keep the
// input waiting while their unit works on earlier ones. What asks for a copy is never blocked: a half never
// waits for the other before it takes a request that came from there.
#include "memory/l2.h"
#include "memory/memory.h"

#include <stdlib.h>

#define NONE  UINT32_MAX
#define NEVER UINT64_MAX

static uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }

// ---- lanes -------------------------------------------------------------------------------------------

// A request goes into a lane, behind the others; the first one leaves it.
static void lane_push(orr_l2_slice *s, uint32_t lane, const orr_l2_request *r) {
    orr_l2_lane *in = &s->lane[lane];
    if (in->n == in->cap) {
        uint32_t cap = in->cap ? 2 * in->cap : 64;
        orr_l2_request *at = orr_malloc((size_t)cap * sizeof *at);
        for (uint32_t i = 0; i < in->n; i++) at[i] = in->at[(in->head + i) & (in->cap - 1)];
        free(in->at);
        in->at = at;
        in->head = 0;
        in->cap = cap;
    }
    in->at[(in->head + in->n++) & (in->cap - 1)] = *r;
    s->input.busy_lanes |= 1u << lane;
}

static void lane_pop(orr_l2_slice *s, uint32_t lane) {
    orr_l2_lane *in = &s->lane[lane];
    in->head = (in->head + 1) & (in->cap - 1);
    if (--in->n) return;
    in->head = 0; // which the host's caches have
    s->input.busy_lanes &= ~(1u << lane);
}

// A store of part of a sector; it waits for its line behind the port, and not in front of it.
static bool is_partial_store(const orr_l2_spec *c, const orr_l2_request *r) {
    return c->store.side_switch && r->kind == ORR_REQ_WRITE && orr_l2_whole_sectors(r) != r->sectors;
}
static const orr_l2_request *first(const orr_l2_lane *in) { return &in->at[in->head]; }
static bool is_older(const orr_l2_request *a, const orr_l2_request *b) {
    return (int32_t)(a->arrival - b->arrival) < 0;
}

// ---- when --------------------------------------------------------------------------------------------

// When a store that is its lane's first from `t` on is done: a line that the other half has stored to has to
// wait, those of this half until the other has not stored there for l2.side_switch, those of the other half
// for l2.side_switch_far and no longer. So where both store to a line all the time, the other half goes
// first. Were both times the same, each could wait for the other at every store: this half in front of one
// line, the other in front of the next.
static uint64_t store_at(const orr_l2 *p, const orr_l2_slice *s, const orr_l2_request *r, uint64_t t) {
    const orr_l2_store_spec *c = &p->spec->store;
    const orr_l2_recent_store *last = &s->stores[r->line % ORR_L2_STORES];
    if (last->line != r->line || last->until <= t) return t;
    if (!c->side_switch) return last->until;
    if (last->far == r->far) return t;
    if (!r->far) return last->until;
    uint64_t until = last->until - c->side_switch + c->side_switch_far;
    return until <= t ? t : until > t + c->side_switch_far ? t + c->side_switch_far : until;
}

// The port stands still: a store of part of a sector finds its queue full.
static bool port_stalls(const orr_l2 *p, const orr_l2_slice *s, uint32_t lane) {
    return lane < ORR_L2_STORE_QUEUE && s->lane[lane + 2].n >= p->spec->store.queue &&
           is_partial_store(p->spec, first(&s->lane[lane]));
}

// Whether one came first that waits in another lane.
static bool older_waits(const orr_l2_lane *in, const orr_l2_request *r) {
    return in->n && is_older(first(in), r);
}

// Whether the first request of a lane lets those of the port, of BYPASS or of FAR_LOADS that came first go
// first. A port that stalls, or whose first request waits for loads of its line, does not hold up the others.
static bool lets_pass(const orr_l2 *p, const orr_l2_slice *s, uint32_t lane) {
    const orr_l2_lane *port = &s->lane[ORR_L2_PORT], *bypass = &s->lane[ORR_L2_BYPASS],
                      *far = &s->lane[ORR_L2_FAR_LOADS];
    const orr_l2_request *r = first(&s->lane[lane]);
    if (lane == ORR_L2_PORT) return older_waits(bypass, r) || older_waits(far, r);
    if (lane == ORR_L2_BYPASS && older_waits(far, r)) return true;
    if (lane == ORR_L2_FAR_LOADS) {
        if (port->blocked == ORR_L2_BLOCKED_LOADS || bypass->blocked == ORR_L2_BLOCKED_LOADS) return false;
        if (older_waits(bypass, r)) return true;
    }
    return lane >= ORR_L2_BYPASS && older_waits(port, r) && !port_stalls(p, s, ORR_L2_PORT);
}

// When the first request of a lane is taken.
uint64_t orr_l2_ready_at(const orr_l2 *p, const orr_l2_slice *s, uint32_t lane) {
    const orr_l2_lane *in = &s->lane[lane];
    if (in->blocked || port_stalls(p, s, lane) || lets_pass(p, s, lane)) return NEVER;
    const orr_l2_request *r = first(in);
    if (lane >= ORR_L2_BYPASS) in = &s->lane[ORR_L2_PORT]; // its port
    uint64_t t = max(r->time, in->free);
    bool queue = lane == ORR_L2_STORE_QUEUE || lane == ORR_L2_FAR_STORE_QUEUE;
    if (!queue && is_partial_store(p->spec, r)) return max(t, in->partial_free);
    if (r->kind == ORR_REQ_WRITE && !(r->line & ORR_L2_FAR)) return store_at(p, s, r, t);
    // A load waits for the atomics before it, whatever their lines are (H200: where all SMs swap words of a
    // line, an atomic takes 5,500 cycles, and so does a load of any other line of the slice).
    if (p->spec->atomic.load_gap && r->kind == ORR_REQ_READ && !(r->line & ORR_L2_FAR))
        return max(t, s->atomics.free);
    if (r->kind < ORR_REQ_ATOMIC || r->kind == ORR_L2_INVALIDATE || r->line & ORR_L2_FAR) return t;
    if (p->spec->atomic.row_sector) return t; // atomics wait by themselves
    return max(t, s->atomics.free);
}

// ---- what it takes -----------------------------------------------------------------------------------

// How long a store takes the port, with so much for a whole sector.
static uint64_t store_input_time(const orr_l2_spec *c, const orr_l2_request *r, uint64_t sector) {
    uint64_t whole = (uint64_t)orr_popc(orr_l2_whole_sectors(r));
    return orr_l2_store_time(c, whole, (uint64_t)orr_popc(r->sectors) - whole, sector);
}

typedef struct store_port {
    bool queued;    // the store has passed its port
    uint64_t takes; // how long it takes the port, at least, and then does
} store_port;

// A store is done. False: the slice is blocked.
static bool perform_store(orr_l2 *p, uint32_t slice, const orr_l2_request *r, uint64_t t, store_port *port,
                          orr_replies *out) {
    orr_l2_slice *s = &p->slice[slice];
    if (!orr_l2_store(p, slice, r, t)) return false;
    orr_l2_serve(p, r->sm, r->live);
    const orr_l2_store_spec *c = &p->spec->store;
    s->stores[r->line % ORR_L2_STORES] =
        (orr_l2_recent_store){r->line, t + (c->side_switch ? c->side_switch : c->same_line), r->far};
    uint64_t own = port->queued ? 0 : store_input_time(p->spec, r, c->sector); // its port has taken it
    port->takes = max(port->takes, own + s->input.completion_time);
    s->input.completion_time = 0;
    if (r->wants_ack)
        *ORR_PUSH(out) = (orr_reply){.time = t + orr_l2_ack_delay(p->spec, r->far, s->input.ack_invalidates),
                                     .sm = r->sm,
                                     .token = r->token};
    orr_l2_note_time(p, t);
    return true;
}

// A store that has passed its port is done, one a cycle.
static void drain_store_queue(orr_l2 *p, uint32_t slice, uint32_t lane, uint64_t t, orr_replies *out) {
    orr_l2_slice *s = &p->slice[slice];
    orr_l2_lane *in = &s->lane[lane];
    store_port port = {.queued = true, .takes = p->spec->cycle};
    if (!perform_store(p, slice, &in->at[in->head], t, &port, out)) return;
    in->free = t + port.takes;
    if (in->n >= p->spec->store.queue) s->lane[lane - 2].last_taken = t; // the port stood still
    lane_pop(s, lane);
}

// Something for the other half: it only passes through.
static void forward(orr_l2 *p, uint32_t slice, const orr_l2_request *r, uint64_t t) {
    uint64_t n = (uint64_t)orr_popc(r->sectors);
    if (r->kind == ORR_REQ_WRITE) {
        orr_l2_update_copy(p, slice, r, t);
        p->stats.write[r->from] += n;
        p->stats.write_hit[r->from] += n;
        t = orr_l2_cross(p, &p->slice[slice], t, r->sectors);
    } else {
        p->stats.atomics.n += n;
        p->stats.atomics.hit += n;
        for (int k = 0; k < 2 && r->kind == ORR_REQ_REDUCE; k++) p->stats.atomics.reduced[k] += n;
        if (p->spec->atomic.load_gap) orr_l2_forget_copy(p, slice, r->line);
    }
    orr_l2_forward(p, slice, r, t);
}

// A fence asks. How long that takes the port.
static uint64_t fence(orr_l2 *p, uint32_t slice, const orr_l2_request *r, uint64_t t, orr_replies *out) {
    if (r->line & ORR_L2_FAR) {
        orr_l2_forward(p, slice, r, t);
        return 2 * p->spec->fence_interval;
    }
    const orr_l2_slice *s = &p->slice[slice];
    uint64_t done = max(t, s->atomics.free), heard = done + orr_l2_ack_delay(p->spec, r->far, false);
    *ORR_PUSH(out) = (orr_reply){.time = heard, .sm = r->sm, .token = r->token};
    return p->spec->fence_interval;
}

void orr_l2_take_input(orr_l2 *p, uint32_t slice, uint32_t lane, uint64_t t, orr_replies *out) {
    orr_l2_slice *s = &p->slice[slice];
    orr_l2_lane *in = &s->lane[lane], *port = lane >= ORR_L2_BYPASS ? &s->lane[ORR_L2_PORT] : in;
    s->input.lane = lane;
    if (lane == ORR_L2_STORE_QUEUE || lane == ORR_L2_FAR_STORE_QUEUE) {
        drain_store_queue(p, slice, lane, t, out);
        return;
    }
    orr_l2_request *r = &in->at[in->head];
    if (p->spec->store.waits_for_fills && r->kind == ORR_REQ_WRITE && !r->far) {
        uint64_t until = orr_l2_store_waits(p, s, r, t);
        if (until == NEVER) orr_l2_block(p, s, ORR_L2_BLOCKED_LOADS, ORR_FAIL_PENDING);
        if (until > t) {
            if (until != NEVER) port->free = until;
            return;
        }
    }
    uint64_t n = (uint64_t)orr_popc(r->sectors);
    // l2.tag_interval is for answers with data; others are taken in a cycle (micro/atomics: one line of all
    // SMs)
    uint64_t takes = r->kind != ORR_REQ_READ && p->spec->tag_interval > p->spec->cycle
                         ? p->spec->cycle
                         : p->spec->tag_interval;
    // A load behind an atomic on its line waits until that has been done (H200: an atomic and a load of one
    // line take a slice 3.7 to 5.1 SM cycles, of two lines 1.5 as the atomic alone).
    bool behind = p->spec->atomic.load_gap && r->kind == ORR_REQ_READ &&
                  (r->after_atomic || s->atomics.line == r->line + 1);
    uint64_t busy = 0; // if that is longer
    if (r->kind == ORR_L2_INVALIDATE) {
        orr_l2_drop_line(p, slice, r->line);
        takes = 0;
    } else if (r->kind == ORR_REQ_FENCE) {
        takes = fence(p, slice, r, t, out);
    } else if (p->spec->merge.max_loads > 1 && !behind && orr_l2_merge_join(p, slice, r, t, out)) {
        takes = 0;
    } else if (is_partial_store(p->spec, r)) { // what is no such store passes in between
        busy = store_input_time(p->spec, r, p->spec->sector);
        port->partial_free = t + busy;
        if (r->line & ORR_L2_FAR) {
            forward(p, slice, r, t);
        } else {
            orr_l2_request behind = *r;
            behind.time = t;
            lane_push(s, lane + 2, &behind);
        }
    } else if (r->kind != ORR_REQ_READ && r->line & ORR_L2_FAR) {
        forward(p, slice, r, t);
        takes = max(takes, n * (r->kind == ORR_REQ_WRITE ? p->spec->sector : p->spec->cycle));
        if (r->float_sum) takes = max(takes, orr_l2_atomic_time(p->spec, r->ops, r->quarter_ops));
    } else if (r->kind == ORR_REQ_WRITE) {
        store_port port = {.takes = takes};
        if (!perform_store(p, slice, r, t, &port, out)) return;
        takes = port.takes;
    } else {
        if (!orr_l2_load(p, slice, r, t, out)) return;
        if (r->kind == ORR_REQ_READ || !p->spec->atomic.row_sector) takes = max(takes, n * p->spec->sector);
        if (behind && !(r->line & ORR_L2_FAR)) takes = max(takes, p->spec->atomic.load_gap);
        if (behind || r->kind >= ORR_REQ_ATOMIC) s->atomics.line = behind ? 0 : r->line + 1;
    }
    port->free = t + takes;
    // An average over 16, of those that were waiting; where none waits it is as fast as it can be.
    uint64_t since = t > r->time ? t - port->last_taken : takes;
    port->service_time = (15 * port->service_time + since + 8) / 16;
    port->last_taken = t;
    in->partial_stores -= is_partial_store(p->spec, r);
    uint64_t until = t + max(takes, busy); // near and far requests come by ports of their own
    if (until > s->port.busy_until) {
        s->port.busy += until - max(t, s->port.busy_until);
        s->port.busy_until = until;
    }
    uint32_t lookups = takes != 0 && r->kind != ORR_REQ_FENCE;
    p->stats.requests += lookups;
    s->input.lookups += lookups;
    orr_l2_note_time(p, t);
    lane_pop(s, lane);
}

// ---- from outside ------------------------------------------------------------------------------------

void orr_l2_push(orr_l2 *p, uint32_t slice, const orr_l2_request *r) {
    orr_l2_slice *s = &p->slice[slice];
    orr_l2_request to = *r;
    uint64_t tag = to.line;
    to.sectors &= 15;
    if (to.from >= ORR_FROMS) to.from = ORR_FROM_GLOBAL;
    uint32_t lane = ORR_L2_PORT;
    if (p->spec->store.side_switch && to.far && is_partial_store(p->spec, &to))
        lane = ORR_L2_FAR_PORT;
    else if (to.far && to.kind == ORR_REQ_READ && p->spec->store.waits_for_fills)
        lane = ORR_L2_FAR_LOADS;
    else if (p->spec->store.side_switch && (tag & ORR_L2_FAR || (to.far && to.kind == ORR_REQ_READ)))
        lane = ORR_L2_BYPASS;
    to.arrival = s->input.arrivals++;
    lane_push(s, lane, &to);
    s->lane[lane].partial_stores += is_partial_store(p->spec, &to);
    if (!r->far && r->sm / 64 < p->words) s->users[(tag & ORR_L2_FAR) != 0][r->sm / 64] |= 1ull << r->sm % 64;
}

// What a request of an SM will look at is fetched by the host.
void orr_l2_expect(const orr_l2 *p, uint32_t slice, uint64_t tag, uint32_t sm) {
    const orr_l2_slice *s = &p->slice[slice];
    orr_cache_prefetch(&s->cache, tag);
    __builtin_prefetch(&s->stores[tag % ORR_L2_STORES], 1);
    if (p->spec->merge.max_loads > 1) orr_l2_merge_prefetch(p, s, tag, sm);
}
