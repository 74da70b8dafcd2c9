// Lines of memory that an access touches (the paper's II-E.3): what L1 has of them, and the trips to L2 and
// back of what it has not.
//
// First the tags of L1 are looked up for all accesses of a segment, then the trips that follow from it are
// made: meanwhile the host fetches what it knows of L2's sets. When a line is there is known when it is asked
// for (memory/fast_memory.h).
#include "model/abstract/abstract.h"

#include <string.h>

// ---- the network -------------------------------------------------------------------------------------
// L1 takes nothing from one cycle to another. Who has come before passes, though simulated later.
void abt_lines_hold(acore *s, uint64_t from, uint64_t until) {
    if (until <= s->lsu.blocked_until) return;
    if (from > s->lsu.blocked_until) s->lsu.blocked_from = from;
    s->lsu.blocked_until = until;
}

// The SM's port has `bytes` more from cycle `when` on; the tick in which they leave it. Warps are not
// simulated in order of time, so what is asked for later in the program may leave earlier.
static inline uint64_t leave(acore *s, const orr_fast_place *p, uint64_t when, uint32_t bytes,
                             uint64_t *there) {
    const machine *m = s->m;
    const cycle *c = m->c;
    uint64_t t = when * ORR_TICKS, cost = bytes * c->core.port.request_byte;
    if (t >= s->port.stalled_from && t < s->port.stalled_until) t = s->port.stalled_until;
    s->port.sent = orr_reserve(&s->port.send, t, cost, ORR_FAST_SLOT);
    t = s->port.sent - cost;
    s->n.port.sent_bytes += s->times * bytes;
    *there = t + c->core.port.request_ticks;
    if (c->core.port.far_ticks && !m->gpu->l2_replicate && orr_fast_side_of(m->memory, p) != s->port.side)
        *there += c->core.port.far_ticks;
    return t;
}

// A slice that is far behind holds up the SM's port, for no longer than a window, and that L1.
static inline void held_back(acore *s, uint64_t when, uint64_t left, uint64_t there, uint64_t taken) {
    const port_spec *port = &s->m->c->core.port;
    uint64_t ahead = there + port->backlog_ticks, until = s->port.sent;
    if (taken > ahead) {
        uint64_t wait = taken - ahead < port->window ? taken - ahead : port->window;
        if (left > s->port.stalled_until) s->port.stalled_from = left;
        if (s->port.stalled_until < left + wait) s->port.stalled_until = left + wait;
        if (until < s->port.stalled_until) until = s->port.stalled_until;
    }
    uint64_t held = until / ORR_TICKS;
    if (held > when + port->ahead) abt_lines_hold(s, when, held - port->ahead);
}

typedef struct sent { // when it left, and when it is done
    uint64_t left, done;
} sent;

// L2 has done a store or a reduction at `done`: when the SM hears of it.
static void note_done(acore *s, const orr_fast_place *p, uint64_t done) {
    const port_spec *port = &s->m->c->core.port;
    uint64_t heard = done + port->reply_ticks + (p->far ? port->far_ticks / 2 : 0);
    s->fences.stored = latest(s->fences.stored, heard / ORR_TICKS);
}

// Stores and atomics.
static sent send(acore *s, const orr_fast_place *p, orr_request *r, uint64_t when, uint32_t bytes,
                 uint8_t whole) {
    machine *m = s->m;
    uint64_t t = leave(s, p, when, bytes, &r->time);
    r->sm = s->id;
    orr_fast_reply a = orr_fast_change(m->memory, p, r, whole);
    if (s->fences.on && r->kind != ORR_REQ_ATOMIC) note_done(s, p, a.done);
    held_back(s, when, t, r->time, a.taken);
    return (sent){t, a.done};
}

// Of the stores of part of a sector that are on their way the first to be acknowledged makes room for one
// that is, at `done`: a heap, the first at its top.
static void replace_part(acore *s, uint32_t n, uint64_t done) {
    uint64_t *heap = s->port.parts.done;
    uint32_t at = 0;
    for (uint32_t k; (k = 2 * at + 1) < n; at = k) {
        if (k + 1 < n && heap[k + 1] < heap[k]) k++;
        if (heap[k] >= done) break;
        heap[at] = heap[k];
    }
    heap[at] = done;
}
static void add_part(acore *s, uint64_t done) {
    uint64_t *heap = s->port.parts.done;
    uint32_t at = s->port.parts.out++;
    for (; at && heap[(at - 1) / 2] > done; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = done;
}

// A store of part of a sector leaves when there are not too many on their way; meanwhile it waits beside the
// port, and when there is no room left L1 takes nothing. Returns when the port was free for it: later ones
// are merged with it until then.
static uint64_t send_part(acore *s, const orr_fast_place *p, orr_request *r, uint64_t when, uint32_t bytes,
                          uint8_t whole) {
    machine *m = s->m;
    const port_spec *port = &m->c->core.port;
    uint32_t most = port->max_partial < PARTS_MAX ? port->max_partial : PARTS_MAX,
             places = port->stores && port->stores < PARTS_MAX ? port->stores : PARTS_MAX;
    uint32_t n = s->port.parts.n++;
    bool full = s->port.parts.out == most;
    uint64_t free = full ? s->port.parts.done[0] : 0, room = n < places ? 0 : s->port.parts.left[n % places];
    if (room > when * ORR_TICKS) abt_lines_hold(s, when, room / ORR_TICKS);
    uint64_t merged_until = leave(s, p, when, bytes, &r->time), t = latest(merged_until, free);
    r->time += t - merged_until;
    r->sm = s->id;
    orr_fast_reply a = orr_fast_change(m->memory, p, r, whole);
    if (s->fences.on) note_done(s, p, a.done);
    s->port.parts.left[n % places] = t;
    if (full)
        replace_part(s, most, a.done + port->reply_ticks);
    else
        add_part(s, a.done + port->reply_ticks);
    uint64_t held = s->port.sent / ORR_TICKS;
    if (held > when + port->ahead) abt_lines_hold(s, when, held - port->ahead);
    return merged_until;
}

// ---- MSHRs: how many fills come in each stretch of time ---------------------------------------------
// Fills of stretches before t have come: their MSHRs are free.
static void retire_fills(acore *s, uint64_t t) {
    uint64_t now = t >> COMING_SHIFT;
    if (now <= s->fills.from) return;
    for (uint32_t n = 0; s->fills.misses && s->fills.from < now && n < COMING; n++, s->fills.from++) {
        uint16_t *of = &s->fills.n[s->fills.from % COMING];
        s->fills.misses -= *of;
        *of = 0;
    }
    s->fills.from = now;
}

static inline void push_miss(acore *s, uint64_t t) {
    uint64_t at = t >> COMING_SHIFT;
    if (at < s->fills.from) return;
    if (at >= s->fills.from + COMING) at = s->fills.from + COMING - 1; // far away
    s->fills.n[at % COMING]++;
    s->fills.misses++;
}

// There is room for another line on its way; until then the unit stands still.
static inline void make_room(acore *s, access *k) {
    uint32_t limit = (uint32_t)s->m->gpu->l1_mshrs;
    if (s->fills.misses < limit) return;
    retire_fills(s, k->from);
    while (s->fills.misses >= limit) {
        k->from = (s->fills.from + 1) << COMING_SHIFT;
        retire_fills(s, k->from);
    }
}

// ---- to L2 -------------------------------------------------------------------------------------------
static inline uint64_t answer(acore *s, uint32_t sm, uint8_t sectors, uint64_t done) {
    machine *m = s->m;
    const cycle *c = m->c;
    uint32_t bytes = 8 + 32 * orr_sectors_in(sectors);
    uint64_t t = done + c->core.port.reply_ticks, cost = bytes * c->core.port.reply_byte;
    if (m->net.gpc) {
        uint64_t all = c->crossbar.gpc_ticks[orr_sectors_in(sectors)];
        uint32_t gpc = orr_gpc_of_sm(sm, m->net.topology);
        t = orr_reserve(&m->net.gpc[gpc], t, all, ORR_FAST_SLOT) - all;
    }
    t = orr_reserve(&m->net.receive[sm], t, cost, ORR_FAST_SLOT) - cost;
    s->n.port.received_bytes += bytes;
    // l2.latency has the passing of one sector in it; further ones take their time
    return (t + (bytes - 40) * c->core.port.reply_byte + ORR_TICKS - 1) / ORR_TICKS;
}

// ---- peers -------------------------------------------------------------------------------------------
static inline uint32_t peer_sm(const acore *s, uint32_t n) { return s->id + (n + 1) * s->m->groups.apart; }

// A line of local memory, as the same warp of another SM has it.
static uint64_t local_of_peer(const acore *s, uint64_t line, uint32_t sm) {
    const machine *m = s->m;
    uint64_t apart = (uint64_t)m->per_sched * m->nsched * m->local_frame;
    return line + m->net.numbers[sm] * apart - m->net.numbers[s->id] * apart;
}

// Where the trips of an access go for the peers of its block: as far from the block's as the addresses are.
static void find_peers(acore *s, const awarp *w, const awork *a, const ablock *b) {
    machine *m = s->m;
    size_t offset = (size_t)(m->seg.issue[a->which].at.at - w->base);
    for (uint32_t n = a->trip; n < a->trip + a->ntrips; n++) {
        const atrip *x = &m->seg.trips[n];
        if (x->kind == TRIP_JOIN || x->kind == TRIP_STAND) continue;
        const uint8_t *own = (x->index ? w->batch.bytes[x->index] : w->base) + offset;
        uint32_t base = *own & 8 ? 5 : 1;
        uint64_t at, other;
        memcpy(&at, own + base, 8);
        for (uint32_t k = 0; k < b->npeers; k++) {
            memcpy(&other, b->peer[k]->warps[w->batch.index[x->index]].bytes + offset + base, 8);
            uint64_t line = x->line + other / ORR_LINE - at / ORR_LINE;
            if (x->line >= ORR_LOCAL_LINES) line = local_of_peer(s, x->line, peer_sm(s, k));
            m->seg.peers[n][k] =
                orr_fast_find(m->memory, line, peer_sm(s, k), x->kind == TRIP_FILL || x->kind == TRIP_READ);
        }
    }
}

// Whose answer counts for all n that ask for a line and its peers, 0: the first's. One's, and now this one's,
// now that one's: their mean would have no late ones, and who waits for many waits for the latest.
static inline uint32_t one_of(uint64_t line, uint32_t n) {
    return n == 1 ? 0 : (uint32_t)(line * 0x9e3779b97f4a7c15u >> 40) % n;
}

// A load of sectors goes out in cycle `when`; returns the cycle in which they can be used.
static uint64_t read_line(acore *s, const atrip *x, uint64_t when) {
    machine *m = s->m;
    const orr_fast_place *peer = m->seg.peers[x - m->seg.trips];
    uint32_t bytes =
        m->gpu->xbar_sectors ? 32 * orr_sectors_in(x->sectors) : (uint32_t)m->gpu->xbar_load_header;
    uint64_t there, t = leave(s, &x->place, when, bytes, &there);
    orr_fast_reply a = orr_fast_load(m->memory, &x->place, x->sectors, x->from, there);
    if (s->fences.on) abt_fences_visit(s, &x->place);
    held_back(s, when, t, there, a.taken);
    uint64_t came = answer(s, s->id, x->sectors, a.done);
    uint32_t n = s->times, whose = one_of(x->line, n);
    for (uint32_t k = 0; k + 1 < n; k++) {
        a = orr_fast_load(m->memory, &peer[k], x->sectors, x->from, there);
        uint64_t t = answer(s, peer_sm(s, k), x->sectors, a.done);
        if (k + 1 == whose) came = t;
    }
    push_miss(s, came);
    return came;
}

static void write_line(acore *s, const atrip *x, uint64_t when) {
    const machine *m = s->m;
    orr_request r = {
        .line = x->line, .sectors = x->sectors, .kind = ORR_REQ_WRITE, .from = x->from, .ops = x->lanes};
    bool part = x->sectors & (uint8_t)~x->whole;
    uint32_t bytes = m->c->core.port.head + 32 * orr_sectors_in(x->sectors);
    if (part) bytes += (uint32_t)m->gpu->xbar_byte_mask; // which bytes
    uint32_t at = (uint32_t)(x->line * 0x9e3779b97f4a7c15u >> 58);
    bool joins = m->gpu->xbar_merge_stores && !m->inst.x->strong;
    uint32_t places = m->c->core.port.stores ? m->c->core.port.stores : UINT32_MAX;
    if (joins && s->port.stores[at].line == x->line + 1 && s->port.stores[at].leaves >= when * ORR_TICKS &&
        s->port.stores[at].came <= when && s->port.nstores - s->port.stores[at].number < places) {
        r.sectors = x->sectors & (uint8_t)~s->port.stores[at].sectors;
        s->port.stores[at].sectors |= x->sectors;
        if (!r.sectors) return;
        bytes = 32 * orr_sectors_in(r.sectors);
    }
    uint64_t leaves;
    if (part && m->c->core.port.max_partial)
        leaves = send_part(s, &x->place, &r, when, bytes, x->whole);
    else
        leaves = send(s, &x->place, &r, when, bytes, x->whole).left;
    for (uint32_t k = 0; k + 1 < s->times; k++) {
        r.sm = peer_sm(s, k);
        orr_fast_change(s->m->memory, &s->m->seg.peers[x - m->seg.trips][k], &r, x->whole);
    }
    if (!joins) return;
    s->port.stores[at].line = x->line + 1;
    s->port.stores[at].number = s->port.nstores++;
    s->port.stores[at].came = when;
    s->port.stores[at].leaves = leaves;
    s->port.stores[at].sectors = x->sectors;
}

static uint64_t atomic_line(acore *s, const atrip *x, bool answered, uint64_t when) {
    orr_request r = {.line = x->line, .sectors = x->sectors, .from = x->from, .ops = x->lanes};
    r.kind = answered ? ORR_REQ_ATOMIC : ORR_REQ_REDUCE;
    uint32_t bytes = 8 + 32 * orr_sectors_in(x->sectors) + (uint32_t)s->m->gpu->xbar_byte_mask;
    if (s->fences.on) abt_fences_visit(s, &x->place);
    sent first = send(s, &x->place, &r, when, bytes, 0);
    uint64_t done = first.done;
    uint64_t came = answered && done ? answer(s, s->id, x->sectors, done) : when;
    uint32_t n = s->times, whose = one_of(x->line, n);
    for (uint32_t k = 0; k + 1 < n; k++) {
        r.sm = peer_sm(s, k);
        done = orr_fast_change(s->m->memory, &s->m->seg.peers[x - s->m->seg.trips][k], &r, 0).done;
        uint64_t t = answered ? answer(s, peer_sm(s, k), x->sectors, done) : 0;
        if (k + 1 == whose) came = t;
    }
    if (!answered) return 0;
    push_miss(s, came);
    return came;
}

// ---- bulk copies ---------------------------------------------------------------------------------------
// Their requests leave between those of threads: they take the port's bandwidth, not its turns.
uint64_t abt_lines_bulk_load(acore *s, const tma_line *x, uint64_t when) {
    machine *m = s->m;
    const cycle *c = m->c;
    orr_fast_place place = orr_fast_find(m->memory, x->line, s->id, true);
    uint32_t bytes =
        m->gpu->xbar_sectors ? 32 * orr_sectors_in(x->sectors) : (uint32_t)m->gpu->xbar_load_header;
    uint64_t t = when * ORR_TICKS, cost = bytes * c->core.port.request_byte;
    if (t >= s->port.stalled_from && t < s->port.stalled_until) t = s->port.stalled_until;
    uint64_t there = orr_reserve(&s->port.send, t, cost, ORR_FAST_SLOT) - cost + c->core.port.request_ticks;
    s->n.port.sent_bytes += bytes;
    if (c->core.port.far_ticks && !m->gpu->l2_replicate &&
        orr_fast_side_of(m->memory, &place) != s->port.side)
        there += c->core.port.far_ticks;
    orr_fast_reply a = orr_fast_load(m->memory, &place, x->sectors, ORR_FROM_GLOBAL, there);
    return answer(s, s->id, x->sectors, a.done);
}

double abt_lines_bulk_store(acore *s, const tma_line *x, double when, bool reduces) {
    machine *m = s->m;
    const cycle *c = m->c;
    orr_fast_place place = orr_fast_find(m->memory, x->line, s->id, false);
    uint32_t n = orr_sectors_in(x->sectors);
    uint8_t whole = 0;
    for (uint32_t k = 0; k < 4; k++)
        whole |= (uint8_t)(((uint32_t)(x->bytes[k / 2] >> k % 2 * 32) == UINT32_MAX) << k);
    orr_request r = {.line = x->line,
                     .sectors = x->sectors,
                     .kind = reduces ? ORR_REQ_REDUCE : ORR_REQ_WRITE,
                     .from = ORR_FROM_GLOBAL,
                     .sm = s->id,
                     .ops = (uint8_t)(reduces ? n + n / 2 : 1)};
    uint32_t bytes =
        c->core.port.head + 32 * n + (x->sectors & (uint8_t)~whole ? (uint32_t)m->gpu->xbar_byte_mask : 0);
    if (reduces) bytes += bytes / 4;
    r.time = (uint64_t)(when * ORR_TICKS) + c->core.port.request_ticks;
    s->n.port.sent_bytes += bytes;
    orr_fast_reply a = orr_fast_change(m->memory, &place, &r, whole);
    double leaves = when + (double)(bytes * c->core.port.request_byte) / ORR_TICKS;
    uint64_t ahead = r.time + c->core.port.backlog_ticks; // a slice that is far behind holds it up
    return a.taken > ahead ? leaves + (double)(a.taken - ahead) / ORR_TICKS : leaves;
}

// ---- L1: first what its tags say, for all accesses of a segment, then the trips to L2 that follow from it:
// meanwhile the host fetches what it knows of them
static inline atrip *new_trip(acore *s, awork *a, uint8_t kind, uint64_t line, uint8_t sectors) {
    machine *m = s->m;
    atrip *x = &m->seg.trips[m->seg.ntrips++];
    a->ntrips++;
    x->kind = kind;
    x->line = line;
    x->sectors = sectors;
    x->from = line >= ORR_LOCAL_LINES ? ORR_FROM_LOCAL : ORR_FROM_GLOBAL;
    x->lag = 0;
    x->index = a->whose;
    x->place = orr_fast_find(m->memory, line, s->id, kind == TRIP_FILL || kind == TRIP_READ);
    return x;
}

// Sectors `need` of way v are asked for. When they come is not known before the trip is made: whoever else
// wants the line waits for the trip.
static inline atrip *fetch_line(acore *s, awork *a, const orr_tag *l, uint32_t v, uint64_t line,
                                uint8_t need) {
    uint32_t number = s->m->seg.ntrips;
    atrip *x = new_trip(s, a, TRIP_FILL, line, need);
    x->set = l->set;
    x->when = &l->when[v];
    x->tag = l->tag;
    x->way = (uint8_t)v;
    x->before = l->set->coming >> v & 1 ? l->when[v] : 0;
    l->set->sectors[v] |= need;
    l->set->coming |= (uint16_t)(1u << v);
    x->latest = l->set->latest;
    l->set->latest = UINT32_MAX;
    l->when[v] = UNKNOWN + number;
    l->merged[v] = 1;
    return x;
}

static inline void filled(const atrip *x, uint64_t t) {
    orr_tag_set *set = x->set;
    if (set->latest == UINT32_MAX) set->latest = x->latest;
    if (set->latest < t) set->latest = (uint32_t)t;
    if (set->tag[x->way] != x->tag || *x->when < UNKNOWN) return; // another has taken its place
    *x->when = x->before > t ? x->before : (uint32_t)t;
}

// A way for a line that L1 does not have. Where to a line goes that is written back is not known any more:
// beside the one that comes.
static inline uint32_t take_way(acore *s, awork *a, const orr_tag *l, uint64_t line) {
    uint32_t v = orr_tags_oldest(s->lsu.tags, l);
    uint8_t dirty = orr_tags_dirty(l, v);
    if (l->set->tag[v] && dirty) new_trip(s, a, TRIP_WRITE, line ^ 1, dirty)->whole = dirty;
    orr_tags_put(l, v, l->tag);
    return v;
}

// When the sectors of way v that are on their way have come; 0: they are there at t.
static inline uint32_t coming(const orr_tag *l, uint32_t v, uint64_t t) {
    return l->set->latest > t && l->set->coming >> v & 1 && l->when[v] > t ? l->when[v] : 0;
}

// L1 has some of the line, but not yet: all that is there of it is wanted when it comes, at `then`, or when a
// trip of this segment has been made.
static void wait_for(acore *s, awork *a, const orr_tag *l, uint32_t v, uint32_t then) {
    machine *m = s->m;
    bool full = l->merged[v] >= m->gpu->l1_mshr_merges; // no more can wait for it: the unit does
    if (!full) l->merged[v]++;
    if (then >= UNKNOWN) {
        if (then - UNKNOWN >= m->seg.ntrips) return;
        atrip *x = &m->seg.trips[m->seg.ntrips++];
        a->ntrips++;
        x->kind = full ? TRIP_STAND : TRIP_JOIN;
        x->before = then - UNKNOWN;
    } else if (full) {
        a->k.from = then;
    } else if (then > a->ready) {
        a->ready = then;
    }
}

static inline uint32_t later(uint32_t a, uint32_t b) { return a > b ? a : b; }

// Lines that L1 does not have keep it busy one after the other (l1.miss_interval), beside what the access
// costs: what comes then waits for the rest.
static void miss_lines(acore *s, const access *k, uint32_t missed) {
    const orr_gpu *g = s->m->gpu;
    uint64_t takes = (uint64_t)g->l1_miss_first + (uint64_t)g->l1_miss_interval * missed;
    if (k->i->flags & ORR_TF_ASYNC && s->m->l1.spec.words) return; // the access's cost has them
    if (missed && takes > k->cost)
        slots_take(&s->lsu.passes, k->from + k->cost, (uint32_t)(takes - k->cost), 1);
}

static void load_lines(acore *s, awork *a) {
    const machine *m = s->m;
    const orr_gpu *g = m->gpu;
    const orr_coalesced *c = &m->inst.lines;
    access *k = &a->k;
    bool local = k->space == ORR_SPACE_LOCAL;
    bool bypass = (k->i->flags & ORR_TF_BYPASS) || (!local && !g->l1_global);
    // one line after the other, as many cycles apart as all of them take together
    uint32_t step = c->lines > 1 ? (k->cost << 16) / c->lines + 1 : 0, lag = a->lag << 16, hit = 0,
             pending = 0, missed = 0;
    uint32_t apart = (uint32_t)g->l1_miss_interval << 16;
    for (uint32_t n = 2; n < c->lines && !bypass; n++) orr_tags_prefetch(s->lsu.tags, c->line[n].line);
    for (uint32_t n = 0; n < c->lines; n++, lag += step) {
        uint64_t line = c->line[n].line;
        uint8_t sectors = c->line[n].sectors;
        if (bypass) {
            new_trip(s, a, TRIP_READ, line, sectors)->lag =
                later(lag, (a->lag << 16) + missed++ * apart) >> 16;
            continue;
        }
        orr_tag l = orr_tags_of(s->lsu.tags, line);
        uint32_t v = orr_tags_find(&l);
        uint8_t need = sectors;
        if (v != ORR_NO_WAY) {
            uint8_t have = sectors & orr_tags_valid(&l, v);
            need &= (uint8_t)~have;
            uint32_t then = have ? coming(&l, v, k->from + a->lag) : 0;
            if (then) wait_for(s, a, &l, v, then);
            a->waits += then && !need;
            *(then ? &pending : &hit) += orr_sectors_in(have);
        } else {
            v = take_way(s, a, &l, line);
        }
        orr_tags_touch(&l, v);
        if (need)
            fetch_line(s, a, &l, v, line, orr_l1_fetched(g, need) & (uint8_t)~orr_tags_valid(&l, v))->lag =
                later(lag, (a->lag << 16) + missed++ * apart) >> 16;
    }
    a->waits += missed;
    miss_lines(s, k, missed);
    uint64_t times = s->times;
    s->n.l1.hits[local][ORR_L1_LOAD] += times * hit;
    s->n.l1.pending[local][ORR_L1_LOAD] += times * pending;
    s->n.l1.misses[local][ORR_L1_LOAD] += times * (c->sectors - hit - pending);
}

static void store_lines(acore *s, awork *a) {
    const machine *m = s->m;
    const orr_gpu *g = m->gpu;
    const orr_coalesced *c = &m->inst.lines;
    bool local = a->k.space == ORR_SPACE_LOCAL;
    int policy = g->l1_write;
    if (policy == ORR_WRITE_LOCAL) policy = local ? ORR_WRITE_BACK : ORR_WRITE_EVICT;
    if (!local && !g->l1_global && policy == ORR_WRITE_THROUGH) policy = ORR_WRITE_EVICT;
    uint32_t step = c->lines > 1 ? (a->k.cost << 16) / c->lines + 1 : 0, lag = a->lag << 16, hit = 0;
    for (uint32_t n = 0; n < c->lines; n++, lag += step) {
        uint64_t line = c->line[n].line;
        uint8_t sectors = c->line[n].sectors, whole = m->inst.whole[n];
        orr_tag l = orr_tags_of(s->lsu.tags, line);
        uint32_t v = orr_tags_find(&l);
        if (v != ORR_NO_WAY) hit += orr_sectors_in(sectors); // whichever of them are there
        if (policy == ORR_WRITE_EVICT) {
            if (v != ORR_NO_WAY && !coming(&l, v, a->k.from + a->lag)) orr_tags_put(&l, v, 0);
        } else {
            if (v == ORR_NO_WAY && (g->l1_write_allocate || policy == ORR_WRITE_BACK))
                v = take_way(s, a, &l, line);
            if (v != ORR_NO_WAY) {
                uint8_t part = sectors & (uint8_t) ~(orr_tags_valid(&l, v) | whole);
                l.set->sectors[v] |= whole & sectors;
                if (part && g->l1_write_miss == ORR_L1_FETCH)
                    fetch_line(s, a, &l, v, line, part)->lag = lag >> 16;
                else if (part && policy == ORR_WRITE_BACK)
                    l.set->sectors[v] |= part;
                if (policy == ORR_WRITE_BACK) l.set->sectors[v] |= (uint8_t)(sectors << 4);
                orr_tags_touch(&l, v);
            }
            if (policy == ORR_WRITE_BACK && v != ORR_NO_WAY) continue;
        }
        atrip *x = new_trip(s, a, TRIP_WRITE, line, sectors);
        x->lag = lag >> 16;
        x->whole = whole;
        uint32_t words = a->k.row ? 4 * orr_sectors_in(sectors & (uint8_t)~whole) // half of each, perhaps
                                  : m->inst.lanes[n] * (uint32_t)a->x->bytes / 4;
        x->lanes = (uint8_t)(words ? words : 1);
    }
    s->n.l1.hits[local][ORR_L1_STORE] += (uint64_t)s->times * hit;
    s->n.l1.misses[local][ORR_L1_STORE] += (uint64_t)s->times * (c->sectors - hit);
}

static void atomic_lines(acore *s, awork *a) {
    const machine *m = s->m;
    const orr_coalesced *c = &m->inst.lines;
    bool local = a->k.space == ORR_SPACE_LOCAL;
    for (uint32_t n = 0; n < c->lines; n++) {
        orr_tag l = orr_tags_of(s->lsu.tags, c->line[n].line);
        uint32_t v = orr_tags_find(&l); // what L1 has of it is old now
        if (v != ORR_NO_WAY) l.set->sectors[v] &= (uint8_t)~c->line[n].sectors;
        atrip *x = new_trip(s, a, TRIP_ATOMIC, c->line[n].line, c->line[n].sectors);
        x->lag = n * a->k.cost / c->lines;
        x->lanes = m->inst.lanes[n];
    }
    s->n.l1.misses[local][ORR_L1_ATOMIC] += (uint64_t)s->times * c->sectors;
}

// Global and local memory: what L1 has of it, and when that is there.
void abt_lines_look_up(acore *s, awork *a) {
    const machine *m = s->m;
    const orr_coalesced *c = &m->inst.lines;
    bool local = a->k.space == ORR_SPACE_LOCAL;
    int kind = a->x->kind;
    uint64_t times = s->times;
    s->n.l1.requests[local][kind] += times;
    s->n.l1.tags += times * c->lines;
    s->n.l1.sectors[local][kind] += times * c->sectors;
    if (m->perfect)
        s->n.l1.hits[local][kind] += times * c->sectors;
    else if (kind == ORR_L1_LOAD)
        load_lines(s, a);
    else if (kind == ORR_L1_STORE)
        store_lines(s, a);
    else
        atomic_lines(s, a);
}

// And what L1 does not have.
void abt_lines_travel(acore *s, const awarp *w, awork *a) {
    machine *m = s->m;
    const ablock *b = &s->blocks.at[w->block];
    if (b->npeers) find_peers(s, w, a, b);
    access *k = &a->k;
    atrip *x = &m->seg.trips[a->trip];
    uint64_t latency = m->c->core.l1.latency;
    bool answered = k->i->flags & ORR_TF_LOAD;
    for (uint32_t n = 0; n < a->ntrips; n++, x++) {
        uint64_t t = 0;
        switch (x->kind) {
        case TRIP_JOIN: t = m->seg.trips[x->before].done; break;
        case TRIP_STAND:
            t = m->seg.trips[x->before].done;
            if (k->from < t) k->from = t;
            break;
        case TRIP_FILL:
        case TRIP_READ:
            make_room(s, k);
            t = read_line(s, x, k->from + latency + x->lag);
            if (x->kind == TRIP_FILL) filled(x, t);
            break;
        case TRIP_ATOMIC:
            if (answered) make_room(s, k);
            t = atomic_line(s, x, answered, k->from + latency + x->lag);
            break;
        default: write_line(s, x, k->from + latency + x->lag);
        }
        x->done = t;
        if (t > a->ready) a->ready = t;
    }
}
