// Atomics and reductions at L1 (l1.h): what they send to L2, and how long a slice will take for it.
//
// Where lanes on different words of a sector are done together (l2.atomic_words), those on one word are sent
// one after the other, each pass in a request of its own (memory/cost.h).
#include "core/l1.h"

// Lanes whose word is in one of these sectors of the line.
static uint32_t lanes_in(const orr_access *a, uint64_t line, uint8_t sectors) {
    uint32_t n = 0;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t at = a->addr[orr_ffs(m)];
        n += at / ORR_LINE == line && sectors >> at % ORR_LINE / ORR_SECTOR & 1;
    }
    return n ? n : 1;
}

// What a request takes of the port: up to 16 bytes of operands go with what says where, as a load's does
// (H200: micro/reduce, one SM: 32 lanes in sectors of their own 32 cycles).
static uint32_t packet_of(const l1_cache *c, uint8_t sectors, uint32_t bytes) {
    const port_spec *p = c->port->spec;
    uint32_t all = 8 + 32 * (uint32_t)orr_popc(sectors) + p->mask;
    return c->spec->atomic_words && bytes <= 16 && p->ask < all ? p->ask : all;
}

typedef struct atomic_request { // one of a line
    uint8_t sectors;
    uint32_t bytes;    // of operands
    uint32_t quarters; // of a cycle that the slice takes
    bool float_sum;    // the next one on the same sector has to wait for it
    bool same_packet;  // it travels in the packet of the one before
    uint32_t lanes;    // of the warp
} atomic_request;

static void send(l1_cache *c, const l1_access *a, uint64_t line, const atomic_request *q, uint64_t when) {
    sm_port *p = c->port;
    bool answered = a->load != NOBODY;
    l1_count(c, a, (uint32_t)orr_popc(q->sectors), 0, 0);
    orr_request r = {
        .line = line, .sectors = q->sectors, .float_sum = q->float_sum, .same_packet = q->same_packet};
    r.ops = (uint8_t)(q->quarters / 4 > 255 ? 255 : q->quarters / 4);
    r.quarter_ops = q->quarters % 4;
    if (a->live) r.live = perform_atomic(p->ops, a->live, q->lanes, line, answered);
    r.kind = answered ? ORR_REQ_ATOMIC : ORR_REQ_REDUCE;
    if (answered) r.token = event_token(EVENT_FILL, l1_miss(c, line, q->sectors, a->load, ORR_NO_LINE));
    if (!answered && p->net->foreign) {
        r.token = a->inst; // for its reader to know whose it is
    } else if (!answered && p->net->fences && !port_counts_stores(p)) {
        r.wants_ack = true;
        r.token = port_reduction_token(p, a->warp);
    }
    // A compare and swap of 128 bits has 32 bytes of operands.
    bool wide = a->i->bytes == 16 && orr_atomic_swaps(a->i->atomic);
    pipe_hold(c->pipe, port_send(p, &r, when, packet_of(c, q->sectors, q->bytes) << wide));
    if (port_counts_stores(p)) port_visit(p, line);
    if (!answered) return;
    const port_spec *s = p->spec;
    bool far = s->far_ticks && orr_memsys_side_of(p->net->mem, line) != (int)orr_half_of_sm(p->sm, s->gpcs);
    p->warp[a->warp].atomic_trip = c->spec->l2_latency + (far ? s->far_ticks / ORR_TICKS : 0);
}

bool l1_atomic_line(l1_cache *c, const l1_access *a, uint64_t line, uint8_t sectors, uint64_t when) {
    bool answered = a->load != NOBODY;
    orr_atomic_pass pass[ORR_WARP];
    uint32_t n = c->spec->atomic_words ? orr_atomic_passes(&a->lanes, a->i->bytes, line, pass) : 0;
    if (answered && c->open_mshrs && c->open_mshrs + n > c->spec->mshrs) return false;
    uint32_t at = orr_cache_find(&c->tags, line); // what L1 has of it is old now
    if (at != ORR_NO_LINE) c->tags.line[at].valid &= (uint8_t)~sectors;
    if (!n) {
        bool apart = c->port->spec->ask_sectors && !a->live; // a request for each sector
        for (uint8_t some; sectors; sectors &= (uint8_t)~some) {
            some = apart ? sectors & -sectors : sectors;
            atomic_request q = {
                .sectors = some, .bytes = ORR_LINE, .quarters = 4 * lanes_in(&a->lanes, line, some)};
            if (a->live) q.lanes = perform_lanes(a->live, line);
            send(c, a, line, &q, when);
        }
        return true;
    }
    // Lanes that one lane does it for go with the first.
    uint32_t others = a->live ? perform_lanes(a->live, line) & ~a->lanes.mask : 0;
    uint32_t room = 0; // in the packet: as many lanes of a word as 16 bytes have room for travel together
    for (uint32_t p = 0; p < n; p++) {
        atomic_request q = {
            .sectors = pass[p].sectors,
            .quarters = orr_atomic_work(&c->spec->atomic, &pass[p], a->i->atomic, a->i->bytes, n > 1)};
        for (int k = 0; k < 4; k++) q.bytes += pass[p].bytes[k];
        q.same_packet = room >= q.bytes;
        room = q.same_packet ? room - q.bytes : q.bytes < 16 ? 16 - q.bytes : 0;
        if (n > 1) { // lanes that meet in a word: each in a packet as large as any (micro/atomics, atom)
            q.bytes = ORR_LINE;
            q.float_sum = a->i->atomic == ORR_ATOMIC_FLOAT_ADD;
        }
        q.lanes = pass[p].mask | others;
        others = 0;
        send(c, a, line, &q, when);
    }
    return true;
}
