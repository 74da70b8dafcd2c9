// An SM's port into the crossbar (port.h).
#include "core/port.h"

#include <stdlib.h>
#include <string.h>

// ---- from the description -----------------------------------------------------------------------
// A load that hits in L2 takes L1's time and the way there and back.
static void read_ways(port_spec *s, const orr_gpu *g) {
    uint64_t l2 = whole_cycles(g->l2_latency), way = l2 > s->l1_latency + 2 ? l2 - s->l1_latency : 2;
    uint64_t spread = (uint64_t)g->l2_spread < way ? (uint64_t)g->l2_spread : way / 2;
    s->window = (s->l1_latency + way - spread / 2) * ORR_TICKS; // nothing comes back sooner
    s->request_ticks = way / 2 * ORR_TICKS;
    s->reply_ticks = (way - way / 2) * ORR_TICKS;
    s->far_ticks = g->l2_partitions > 1 ? whole_cycles(g->l2_far_latency) * ORR_TICKS : 0;
}

void port_spec_read(port_spec *s, const orr_gpu *g) {
    double l2_cycle = g->clock_l2 > 0 ? g->clock_sm / g->clock_l2 : 1; // in SM cycles
    *s = (port_spec){.request_byte = (uint64_t)(l2_cycle / g->xbar_request * (double)ORR_TICKS + 0.5),
                     .reply_byte = (uint64_t)(l2_cycle / g->xbar_reply * (double)ORR_TICKS + 0.5),
                     .head = (uint32_t)g->xbar_store_header,
                     .mask = (uint32_t)g->xbar_byte_mask,
                     .ask = (uint32_t)g->xbar_load_header,
                     .ask_sectors = g->xbar_sectors,
                     .merge = g->xbar_merge_stores,
                     .stores = (uint32_t)g->xbar_merge_lines,
                     .open_ticks = (uint64_t)(g->xbar_merge_wait * (double)ORR_TICKS),
                     .open_line_ticks = (uint64_t)(g->xbar_merge_wait_line * (double)ORR_TICKS),
                     .open_lines = (uint32_t)g->xbar_merge_wait_lines,
                     .max_partial = (uint32_t)g->xbar_partial_stores,
                     .ahead = (uint64_t)g->xbar_queue,
                     .backlog_ticks = (uint64_t)(g->xbar_queue * l2_cycle * (double)ORR_TICKS),
                     .l1_latency = whole_cycles(g->l1_latency),
                     .replicas = g->l2_replicate,
                     .slices_take_turns = g->xbar_store_bandwidth > 0 && g->xbar_store_header > 0,
                     .sides = (uint32_t)g->l2_partitions,
                     .nsms = (uint32_t)g->sm_count,
                     .gpcs = orr_topology_of(g),
                     .store_halves = g->l2_replicate && g->l2_partitions > 1 ? 2 : 1,
                     .acknowledges = g->core_fence_merge > 0};
    read_ways(s, g);
    if (s->backlog_ticks < s->window) s->backlog_ticks = s->window; // what is known is a window old
    for (uint32_t n = 0; n < s->nsms; n++)
        if (s->ngpcs <= orr_gpc_of_sm(n, s->gpcs)) s->ngpcs = orr_gpc_of_sm(n, s->gpcs) + 1;
}

void port_init(sm_port *p, const port_spec *s, const network *net, event_queue *clock, uint32_t nwarps) {
    *p = (sm_port){.spec = s, .net = net, .clock = clock};
    p->warp = orr_pages(nwarps, sizeof *p->warp);
    p->parked = orr_calloc(STORE_PLACES, sizeof *p->parked);
}

void port_free(sm_port *p) {
    orr_pages_free(p->warp);
    free(p->parked);
    free(p->out.at);
}

void port_reset(sm_port *p) {
    p->out.n = 0;
    *p = (sm_port){.spec = p->spec,
                   .net = p->net,
                   .clock = p->clock,
                   .sm = p->sm,
                   .gpc = p->gpc,
                   .warp = p->warp,
                   .parked = p->parked,
                   .out = p->out,
                   .ops = p->ops,
                   .atomic_line = p->atomic_line,
                   .epoch_until = NEVER};
}

// ---- requests -----------------------------------------------------------------------------------
bool port_in_part(uint8_t sectors, const uint64_t bytes[2]) {
    for (int k = 0; k < 4; k++)
        if (sectors >> k & 1 && (uint32_t)(bytes[k / 2] >> k % 2 * 32) != UINT32_MAX) return true;
    return false;
}

// Whether it is a store of part of a sector of which only so many can be on their way (xbar.partial_stores);
// these do not wait here for a slice that is behind.
static bool counts_as_part(const sm_port *p, uint8_t sectors, const uint64_t bytes[2]) {
    return p->spec->max_partial && !p->net->foreign && port_in_part(sectors, bytes);
}

uint32_t port_slice_of_store(const port_spec *s, const orr_request *r) {
    return r->partition * s->store_halves + (s->store_halves > 1 ? orr_half_of_sm(r->sm, s->gpcs) : 0);
}

// A store that waits for others leaves.
static void leave_now(orr_request *r, uint64_t now) {
    if (!r->merge_wait || r->time <= now) return;
    r->time = r->time - r->merge_wait > now ? r->time - r->merge_wait : now;
    r->merge_wait = 0;
}

static uint32_t *store_place(sm_port *p, uint64_t line) {
    return &p->stores.at[line * 0x9e3779b97f4a7c15u >> 56];
}

static uint32_t current_epoch(sm_port *p) {
    if (p->clock->now > p->epoch_until) port_next_epoch(p);
    return p->epoch;
}

// Requests to a slice that is far behind wait at the port, and with them all that come after. How far behind
// is an estimate of the window before, so none waits longer than a window.
static uint64_t wait_for_slice(const sm_port *p, uint64_t t, uint64_t behind) {
    const port_spec *s = p->spec;
    if (behind <= t + s->backlog_ticks) return t;
    uint64_t most = t + s->window, until = behind - s->backlog_ticks;
    return until < most ? until : most;
}

static uint64_t slice_free(const sm_port *p, const orr_request *r) {
    const port_spec *s = p->spec;
    uint64_t behind = p->net->free[r->partition];
    if (s->slices_take_turns && r->kind == ORR_REQ_WRITE)
        behind = latest(behind, p->net->gpc_free[port_slice_of_store(s, r) * s->ngpcs + p->gpc]);
    return behind;
}

static void ask_for_acknowledgement(sm_port *p, orr_request *r, bool part) {
    if (r->wants_ack) {
        p->partial_in_flight++; // it was parked, and counted then
    } else if (part || ((r->kind == ORR_REQ_WRITE || r->kind == ORR_REQ_REDUCE) && port_counts_stores(p))) {
        uint32_t epoch = current_epoch(p);
        r->wants_ack = true;
        r->token = event_token(EVENT_STORE_ACK, epoch | (part ? STORE_OF_PART : 0));
        p->partial_in_flight += part;
        p->unacked[epoch]++;
    }
}

// Before which cycle a port that is behind keeps L1 from going on.
static uint64_t holds_up(const port_spec *s, uint64_t free_at, uint64_t when) {
    uint64_t behind = free_at / ORR_TICKS;
    if (behind <= when + s->ahead || behind <= s->l1_latency + s->ahead) return 0;
    return behind - s->l1_latency - s->ahead / 2;
}

uint64_t port_send(sm_port *p, const orr_request *request, uint64_t when, uint32_t bytes) {
    const port_spec *s = p->spec;
    const orr_memsys *mem = p->net->mem;
    orr_request *r = ORR_PUSH(&p->out);
    *r = *request;
    r->strong = p->strong; // it waits for no stores of its cluster
    uint64_t t = latest(when * ORR_TICKS, p->send_free);
    r->sm = p->sm;
    r->partition = (uint32_t)orr_memsys_partition_of(mem, r->line);
    uint64_t behind = slice_free(p, r);
    bool part = r->kind == ORR_REQ_WRITE && counts_as_part(p, r->sectors, r->bytes);
    p->has_stores |= r->kind == ORR_REQ_WRITE;
    if (!part) t = wait_for_slice(p, t, behind);
    p->send_free = t + bytes * s->request_byte;
    p->n.sent_bytes += bytes;
    r->time = t + s->request_ticks;
    if (s->far_ticks && !s->replicas && orr_memsys_side_of(mem, r->line) != (int)(p->sm * s->sides / s->nsms))
        r->time += s->far_ticks;
    p->sent = r->time;
    if (r->kind >= ORR_REQ_ATOMIC) p->atomic_line = r->line + 1;
    r->after_atomic = r->kind == ORR_REQ_READ && p->atomic_line == r->line + 1;
    if (r->after_atomic) p->atomic_line = 0;
    ask_for_acknowledgement(p, r, part);
    if (r->kind != ORR_REQ_READ && s->far_ticks && s->replicas) { // it is done where it belongs
        if (behind > p->sent && r->kind == ORR_REQ_WRITE) p->sent = behind;
        if (orr_memsys_side_of(mem, r->line) != (int)orr_half_of_sm(p->sm, s->gpcs)) p->sent += s->far_ticks;
    }
    return holds_up(s, p->send_free, when);
}

uint64_t port_ask(sm_port *p, const orr_request *r, uint64_t when) {
    if (port_counts_stores(p)) port_visit(p, r->line);
    return port_send(p, r, when, p->spec->ask_sectors ? 32 * (uint32_t)orr_popc(r->sectors) : p->spec->ask);
}

// ---- stores -------------------------------------------------------------------------------------
uint32_t port_store_packet(const sm_port *p, uint8_t sectors, const uint64_t bytes[2]) {
    return p->spec->head + 32 * (uint32_t)orr_popc(sectors) +
           (port_in_part(sectors, bytes) ? p->spec->mask : 0); // which bytes
}

// A store to a line whose store has not left is merged with it.
static bool merge_store(sm_port *p, const orr_request *r, uint64_t t, uint64_t open) {
    uint32_t at = *store_place(p, r->line);
    if (!at || at > p->out.n) return false;
    orr_request *before = &p->out.at[at - 1];
    if (before->line != r->line || before->kind != ORR_REQ_WRITE || before->strong) return false;
    if (before->time < t + p->spec->request_ticks) return false; // it has left
    uint64_t until = t + open + p->spec->request_ticks;
    if (open && before->time < until) {
        before->merge_wait += (uint32_t)(until - before->time);
        before->time = until;
    }
    uint32_t more = 32 * (uint32_t)orr_popc(r->sectors & ~before->sectors);
    before->sectors |= r->sectors;
    before->bytes[0] |= r->bytes[0];
    before->bytes[1] |= r->bytes[1];
    if (r->live) before->live = perform_join(p->ops, r->live, before->live);
    p->send_free += more * p->spec->request_byte;
    p->n.sent_bytes += more;
    return true;
}

// The oldest of the lines that wait leaves as soon as the port allows, because another one needs its place.
// When?
static uint64_t evict_oldest(sm_port *p, uint64_t t) {
    const leaving_store *oldest = &p->stores.left[p->stores.next_left];
    uint32_t *place = store_place(p, oldest->line), at = *place;
    orr_request *r = at && at <= p->out.n ? &p->out.at[at - 1] : NULL;
    uint64_t way = p->spec->request_ticks, from = oldest->time + way, now = t + way;
    if (!r || r->line != oldest->line || !r->merge_wait || r->time - r->merge_wait != from || r->time < now)
        return oldest->time;
    *place = 0;
    r->time = latest(from, now);
    r->merge_wait = 0;
    return r->time - way;
}

// Stores of part of a sector that find xbar.partial_stores of them on their way are parked, in as many places
// as the store buffer has, and others to their lines are merged with them; when L2 has done one, the oldest
// leaves.
static parked_store *parked_of(const sm_port *p, uint64_t line) {
    for (uint32_t n = p->nparked; n--;) {
        parked_store *h = &p->parked[(p->parked_first + n) % STORE_PLACES];
        if (h->r.line == line) return h;
    }
    return NULL;
}

static bool parts_full(const sm_port *p) { return p->partial_in_flight >= p->spec->max_partial; }

bool port_has_room(const sm_port *p, uint64_t line, uint8_t sectors, const uint64_t bytes[2]) {
    if (!counts_as_part(p, sectors, bytes) || !parts_full(p)) return true;
    if (!p->spec->merge || p->strong) return false;
    return p->nparked < p->spec->stores || parked_of(p, line);
}

static bool park_store(sm_port *p, const orr_request *r, uint32_t packet) {
    parked_store *h = p->nparked ? parked_of(p, r->line) : NULL;
    if (h) {
        h->packet += 32 * (uint32_t)orr_popc(r->sectors & ~h->r.sectors);
        h->r.sectors |= r->sectors;
        h->r.bytes[0] |= r->bytes[0];
        h->r.bytes[1] |= r->bytes[1];
        if (r->live) h->r.live = perform_join(p->ops, r->live, h->r.live);
        return true;
    }
    if (!parts_full(p) || !counts_as_part(p, r->sectors, r->bytes)) return false;
    h = &p->parked[(p->parked_first + p->nparked++) % STORE_PLACES];
    *h = (parked_store){.r = *r, .packet = packet};
    uint32_t epoch = current_epoch(p);
    h->r.wants_ack = true;
    h->r.token = event_token(EVENT_STORE_ACK, epoch | STORE_OF_PART);
    p->unacked[epoch]++; // a fence waits for it
    return true;
}

// The store that has just been sent stays for those that come soon after, unless it is of all of its line.
static void stay_open(sm_port *p, uint64_t left, uint64_t open) {
    orr_request *r = &p->out.at[p->out.n - 1];
    if (left >= open || (r->bytes[0] & r->bytes[1]) == UINT64_MAX) return;
    r->time += open - left;
    r->merge_wait = (uint32_t)(open - left);
}

// There is room for xbar.merge_lines lines that wait. One after the other they get a place, are merged with
// one that is there, or wait for the oldest to leave; and L1 waits with them.
uint64_t port_store(sm_port *p, const orr_request *r, uint64_t when, uint32_t lines) {
    const port_spec *s = p->spec;
    store_buffer *b = &p->stores;
    uint32_t packet = port_store_packet(p, r->sectors, r->bytes);
    if (!s->merge || p->strong) return port_send(p, r, when, packet);
    if (park_store(p, r, packet)) return 0;
    uint64_t t = when * ORR_TICKS;
    uint64_t stays = s->open_ticks + (lines < s->open_lines ? lines : s->open_lines) * s->open_line_ticks;
    if (s->stores) t = latest(t, b->entered);
    if (merge_store(p, r, t, stays)) return 0;
    if (s->stores) t = latest(t, evict_oldest(p, t));
    uint64_t held = port_send(p, r, (t + ORR_TICKS - 1) / ORR_TICKS, packet);
    *store_place(p, r->line) = (uint32_t)p->out.n;
    uint64_t left = p->send_free - packet * s->request_byte;
    stay_open(p, left, t + stays);
    if (!s->stores) return held;
    b->entered = t;
    b->left[b->next_left] = (leaving_store){left, r->line};
    b->next_left = (b->next_left + 1) % s->stores;
    uint64_t in = t / ORR_TICKS;
    return in > s->l1_latency ? latest(held, in - s->l1_latency) : held;
}

void port_warp_stored(sm_port *p, uint32_t warp) {
    uint64_t heard = (p->sent + p->spec->reply_ticks) / ORR_TICKS;
    if (p->warp[warp].stored < heard) p->warp[warp].stored = heard;
}

// Whom a reduction's answer is for: a warp, as long as it is there.
static uint32_t reduction_payload(const port_warp *w, uint32_t warp) {
    return (uint32_t)(w->age & 0x7ffff) << 12 | warp;
}

uint32_t port_reduction_token(sm_port *p, uint32_t warp) {
    p->warp[warp].reductions++;
    return event_token(EVENT_REDUCTION_ACK, reduction_payload(&p->warp[warp], warp));
}

void port_visit(sm_port *p, uint64_t line) {
    visited_slices *v = &p->visited;
    uint32_t at = ((uint32_t)orr_memsys_partition_of(p->net->mem, line) * 2 +
                   (uint32_t)orr_memsys_side_of(p->net->mem, line)) %
                  VISITED_SLICES;
    if (v->is[at / 64] >> at % 64 & 1) return;
    v->is[at / 64] |= 1ull << at % 64;
    v->line[v->n++] = line;
}

// ---- answers ------------------------------------------------------------------------------------
uint64_t port_receive(sm_port *p, uint64_t ticks, uint8_t sectors) {
    uint32_t bytes = 8 + 32 * (uint32_t)orr_popc(sectors);
    p->receive_free = latest(ticks, p->receive_free) + bytes * p->spec->reply_byte;
    p->n.received_bytes += bytes;
    // l2.latency has the passing of one sector in it; further ones take their time
    return (p->receive_free - 40 * p->spec->reply_byte + ORR_TICKS - 1) / ORR_TICKS;
}

uint64_t port_store_acknowledged(sm_port *p, uint32_t payload, bool *was_full) {
    *was_full = false;
    p->unacked[payload & 1]--;
    if (!(payload & STORE_OF_PART)) return 0;
    *was_full = p->partial_in_flight-- == p->spec->max_partial;
    if (!p->nparked) return 0;
    const parked_store *h = &p->parked[p->parked_first];
    p->parked_first = (p->parked_first + 1) % STORE_PLACES;
    p->nparked--;
    return port_send(p, &h->r, p->clock->now, h->packet);
}

port_warp *port_reduction_acknowledged(sm_port *p, uint32_t payload, uint32_t *warp) {
    *warp = payload & 0xfff;
    port_warp *w = &p->warp[*warp];
    return reduction_payload(w, *warp) == payload && w->reductions ? w : NULL;
}

// ---- fences -------------------------------------------------------------------------------------
void port_close(sm_port *p) {
    if (!p->spec->open_ticks) return;
    uint64_t now = p->clock->now * ORR_TICKS + p->spec->request_ticks;
    for (size_t i = 0; i < p->out.n; i++) leave_now(&p->out.at[i], now);
}

uint32_t port_ask_slices(sm_port *p) {
    const port_spec *s = p->spec;
    visited_slices *v = &p->visited;
    uint32_t asked = v->n;
    uint64_t l1 = s->l1_latency * ORR_TICKS, sent = p->send_free > l1 ? p->send_free - l1 : 0;
    uint64_t t =
        latest(p->clock->now * ORR_TICKS, sent) + s->request_ticks; // it comes through L1 as they did
    for (uint32_t n = 0; n < asked; n++) {
        orr_request r = {.time = t, .line = v->line[n], .kind = ORR_REQ_FENCE, .sm = p->sm};
        r.token = event_token(EVENT_SLICE_ACK, 0);
        r.partition = (uint32_t)orr_memsys_partition_of(p->net->mem, r.line);
        *ORR_PUSH(&p->out) = r;
    }
    v->n = 0;
    memset(v->is, 0, sizeof v->is);
    return asked;
}

void port_next_epoch(sm_port *p) {
    p->epoch ^= 1;
    p->epoch_until = NEVER;
}

// ---- windows ------------------------------------------------------------------------------------
void port_handed_over(sm_port *p, uint64_t until) {
    size_t n = 0;
    if (!p->spec->merge || !p->has_stores) {
        p->out.n = 0;
        p->has_stores = false;
        return;
    }
    memset(p->stores.at, 0, sizeof p->stores.at);
    for (size_t i = 0; i < p->out.n; i++) {
        if (!port_waits(&p->out.at[i], until)) continue;
        p->out.at[n++] = p->out.at[i];
        *store_place(p, p->out.at[n - 1].line) = (uint32_t)n;
    }
    p->out.n = n;
    p->has_stores = n;
}
