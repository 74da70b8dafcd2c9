// Atomics and reductions at L1: what they send to L2, and how long a slice will take for it.
#include "model/cycle/lsu.h"

static uint32_t lanes_in(const orr_access *a, uint64_t line) {
    uint32_t n = 0;
    for (uint32_t m = a->mask; m; m &= m - 1) n += a->addr[orr_ffs(m)] / ORR_LINE == line;
    return n ? n : 1;
}

// What a request takes of the port: up to 16 bytes of operands go with what says where, as a load's does
// (H200: micro/reduce, one SM: 32 lanes in sectors of their own 32 cycles).
static uint32_t packet_of(const sm *s, uint8_t sectors, uint32_t bytes) {
    const orr_gpu *g = s->c->gpu;
    uint32_t all = 8 + 32 * (uint32_t)orr_popc(sectors) + (uint32_t)g->xbar_mask;
    return g->l2_atomic_words && bytes <= 16 && (uint32_t)g->xbar_ask < all ? (uint32_t)g->xbar_ask : all;
}

// A compare and swap of 128 bits has 32 bytes of operands (l2.swap_wide).
static bool wide_swap(const sm *s, const work *k) {
    return s->c->gpu->l2_swap_wide > 0 && k->i->bytes == 16 && orr_atomic_swaps(k->i->atomic);
}

static void atomic_request(sm *s, const work *k, uint64_t line, uint8_t sectors, uint32_t bytes,
                           uint32_t quarters, bool slow, bool more, uint64_t when, uint32_t lanes) {
    bool answered = k->i->flags & ORR_TF_LOAD;
    cyc_l1_count(s, k->local, ORR_L1_ATOMIC, (uint32_t)orr_popc(sectors), 0, 0);
    orr_request r = {.line = line, .sectors = sectors, .slow = slow, .more = more};
    r.ops = (uint8_t)(quarters / 4 > 255 ? 255 : quarters / 4);
    r.quarters = quarters % 4;
    if (k->live) r.live = cyc_step_atomic(s, k->live, lanes, line, answered);
    r.kind = answered ? ORR_REQ_ATOMIC : ORR_REQ_REDUCE;
    if (answered) r.token = cyc_l1_miss(s, line, sectors, k->flight, ORR_NO_LINE);
    if (!answered && s->c->tells && !counts_stores(s->c)) {
        warp *w = warp_of(s, k->warp);
        r.told = true;
        r.token = told_token(w);
        w->reducing++;
    }
    bool wide = wide_swap(s, k);
    if (wide) when += (uint64_t)s->c->gpu->l2_swap_wide;
    cyc_port_send(s, r, when, packet_of(s, sectors, bytes) << wide);
    if (counts_stores(s->c)) cyc_fence_been(s, line);
    if (!answered) return;
    bool far =
        s->c->far_ticks && orr_memsys_side_of(s->c->mem, line) != (int)orr_half_of_sm(s->id, s->c->gpcs);
    warp_of(s, k->warp)->worked = s->c->l2_latency + (far ? s->c->far_ticks / ORR_TICKS : 0);
}

// Where lanes on different words of a sector are done together (l2.atomic_words), those on one word are sent
// one after the other, each pass in a request of its own (memory/cost.h).
bool cyc_atomic_line(sm *s, const work *k, uint64_t line, uint8_t sectors, uint64_t when) {
    const cycle *c = s->c;
    bool answered = k->i->flags & ORR_TF_LOAD;
    orr_atomic_pass pass[ORR_WARP];
    uint32_t n = c->gpu->l2_atomic_words ? orr_atomic_passes(&s->head_access, k->i->bytes, line, pass) : 0;
    if (answered && s->open_misses && s->open_misses + n > (uint32_t)c->gpu->l1_misses) return false;
    uint32_t at = orr_cache_find(&s->l1, line); // what L1 has of it is old now
    if (at != ORR_NO_LINE) s->l1.line[at].valid &= (uint8_t)~sectors;
    if (!n) {
        uint32_t lanes = lanes_in(&s->head_access, line);
        atomic_request(s, k, line, sectors, ORR_LINE, 4 * lanes, false, false, when,
                       k->live ? cyc_step_lanes(k->live, line) : 0);
        return true;
    }
    bool sum = k->i->atomic == ORR_ATOMIC_FLOAT_ADD;
    // Those that one lane does it for go with the first.
    uint32_t others = k->live ? cyc_step_lanes(k->live, line) & ~s->head_access.mask : 0;
    uint32_t room = 0; // in the packet: as many lanes of a word as 16 bytes have room for travel together
    for (uint32_t p = 0; p < n; p++) {
        uint32_t quarters = orr_atomic_work(&pass[p], k->i->atomic, k->i->bytes, n > 1), bytes = 0;
        for (int q = 0; q < 4; q++) bytes += pass[p].bytes[q];
        bool more = room >= bytes;
        room = more ? room - bytes : bytes < 16 ? 16 - bytes : 0;
        bool meet =
            n > 1; // lanes that meet in a word: each in a packet as large as any (micro/atomics, atom)
        atomic_request(s, k, line, pass[p].sectors, meet ? ORR_LINE : bytes, quarters, sum && meet, more,
                       when, pass[p].mask | others);
        others = 0;
    }
    return true;
}
