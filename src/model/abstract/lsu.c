// Memory instructions (the paper's II-D.1 and II-E.3): the load/store unit, shared memory, L1, constants.
//
// The unit works off one instruction after the other; lsu.queue of them can wait for it. How long one takes
// follows from its addresses: sectors and lines from the coalescer, passes from shared memory's banks. When
// its data are there is known when it is issued: L1's tags say what has to be fetched, and what is behind
// them (memory/quick.h) says when that comes. So a place has its time at once and nobody has to be woken.
#include "model/abstract/abstract.h"

#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"

#define LOOKS 16 // at an instruction whose cost is all that matters; after that only now and then

// ---- the network
// --------------------------------------------------------------------------------------------------
// L1 takes nothing from one cycle to another. Who has come before passes, though simulated later.
static void hold(acore *s, uint64_t from, uint64_t until) {
    if (until <= s->held) return;
    if (from > s->held) s->held_from = from;
    s->held = until;
}

// The SM's port has `bytes` more from cycle `when` on; the tick in which they leave it.
static inline uint64_t leave(acore *s, const orr_quick_place *p, uint64_t when, uint32_t bytes,
                             uint64_t *there) {
    const machine *m = s->m;
    const cycle *c = m->c;
    uint64_t t = when * ORR_TICKS;
    if (t < s->send_free) t = s->send_free;
    s->send_free = t + bytes * c->request_byte;
    s->n.sent_bytes += bytes;
    *there = t + c->request_ticks;
    if (c->far_ticks && !m->gpu->l2_copies && orr_quick_side_of(m->memory, p) != s->side)
        *there += c->far_ticks;
    return t;
}

// A slice that is far behind holds up the SM's port, and that L1.
static inline void held_back(acore *s, uint64_t when, uint64_t left, uint64_t there, uint64_t taken) {
    const cycle *c = s->m->c;
    uint64_t ahead = there + c->backlog_ticks;
    if (taken > ahead && s->send_free < left + (taken - ahead)) s->send_free = left + (taken - ahead);
    uint64_t held = s->send_free / ORR_TICKS;
    if (held > when + c->send_ahead) hold(s, when, held - c->send_ahead);
}

// Stores and atomics. Where the answer waits for other warps (order.c) it is done at 0.
static uint64_t send(acore *s, const orr_quick_place *p, orr_request *r, uint64_t when, uint32_t bytes,
                     uint8_t whole) {
    machine *m = s->m;
    uint64_t t = leave(s, p, when, bytes, &r->time);
    r->sm = s->id;
    if (m->mem->order && m->order && abt_order_note(s, r)) return 0;
    orr_quick_reply a = orr_quick_change(m->memory, p, r, whole);
    held_back(s, when, t, r->time, a.taken);
    return a.done;
}

// ---- lines on their way: how many come in each stretch of time
// ---------------------------------------------------------------------------------------
// Those of stretches before t have come.
static void come(acore *s, uint64_t t) {
    uint64_t now = t >> COMING_SHIFT;
    if (now <= s->coming_from) return;
    for (uint32_t n = 0; s->nmisses && s->coming_from < now && n < COMING; n++, s->coming_from++) {
        uint16_t *of = &s->coming[s->coming_from % COMING];
        s->nmisses -= *of;
        *of = 0;
    }
    s->coming_from = now;
}

static inline void push_miss(acore *s, uint64_t t) {
    uint64_t at = t >> COMING_SHIFT;
    if (at < s->coming_from) return;
    if (at >= s->coming_from + COMING) at = s->coming_from + COMING - 1; // far away
    s->coming[at % COMING]++;
    s->nmisses++;
}

// There is room for another line on its way; until then the unit stands still.
static inline void make_room(acore *s, access *k) {
    uint32_t limit = (uint32_t)s->m->gpu->l1_misses;
    if (s->nmisses < limit) return;
    come(s, k->from);
    while (s->nmisses >= limit) {
        k->from = (s->coming_from + 1) << COMING_SHIFT;
        come(s, k->from);
    }
}

// ---- to L2
// -----------------------------------------------------------------------------------------------------
uint64_t abt_memory_answer(acore *s, uint8_t sectors, uint64_t done) {
    machine *m = s->m;
    const cycle *c = m->c;
    uint32_t bytes = 8 + 32 * orr_sectors_in(sectors);
    uint64_t t = done + c->reply_ticks, cost = bytes * m->reply_byte;
    t = orr_ledger_take(&m->receive[s->port], t, cost, ORR_QUICK_STRETCH) - cost;
    s->n.received_bytes += bytes;
    // l2.latency has the passing of one sector in it; further ones take their time
    uint64_t ready = (t + (bytes - 40) * c->reply_byte + ORR_TICKS - 1) / ORR_TICKS;
    push_miss(s, ready);
    return ready;
}

// A load of sectors goes out in cycle `when`; returns the cycle in which they can be used.
static uint64_t read_line(acore *s, const atrip *x, uint64_t when) {
    machine *m = s->m;
    uint32_t bytes = m->gpu->xbar_sectors ? 32 * orr_sectors_in(x->sectors) : (uint32_t)m->gpu->xbar_ask;
    uint64_t there, t = leave(s, &x->place, when, bytes, &there);
    if (m->mem->order && m->order) {
        orr_request r = {.line = x->line,
                         .sectors = x->sectors,
                         .kind = ORR_REQ_READ,
                         .from = x->from,
                         .time = there,
                         .sm = s->id};
        if (abt_order_note(s, &r)) return when;
    }
    orr_quick_reply a = orr_quick_load(m->memory, &x->place, x->sectors, x->from, there);
    held_back(s, when, t, there, a.taken);
    return abt_memory_answer(s, x->sectors, a.done);
}

static void write_line(acore *s, const atrip *x, uint64_t when) {
    const machine *m = s->m;
    orr_request r = {.line = x->line, .sectors = x->sectors, .kind = ORR_REQ_WRITE, .from = x->from};
    uint32_t bytes = 8 + 32 * orr_sectors_in(x->sectors);
    if (x->sectors & (uint8_t)~x->whole) bytes += (uint32_t)m->gpu->xbar_mask; // which bytes
    uint32_t at = (uint32_t)(x->line * 0x9e3779b97f4a7c15u >> 58);
    bool joins = m->gpu->xbar_join && !m->mem->order;
    if (joins && s->stores[at].line == x->line + 1 && s->stores[at].leaves >= when * ORR_TICKS) {
        r.sectors = x->sectors & (uint8_t)~s->stores[at].sectors;
        s->stores[at].sectors |= x->sectors;
        if (!r.sectors) return;
        bytes = 32 * orr_sectors_in(r.sectors);
    }
    uint64_t leaves = when * ORR_TICKS > s->send_free ? when * ORR_TICKS : s->send_free;
    send(s, &x->place, &r, when, bytes, x->whole);
    if (!joins) return;
    s->stores[at].line = x->line + 1;
    s->stores[at].leaves = leaves;
    s->stores[at].sectors = x->sectors;
}

static uint64_t atomic_line(acore *s, const atrip *x, bool answered, uint64_t when) {
    orr_request r = {.line = x->line, .sectors = x->sectors, .from = x->from, .ops = x->lanes};
    r.kind = answered ? ORR_REQ_ATOMIC : ORR_REQ_REDUCE;
    uint32_t bytes = 8 + 32 * orr_sectors_in(x->sectors) + (uint32_t)s->m->gpu->xbar_mask;
    uint64_t done = send(s, &x->place, &r, when, bytes, 0);
    if (!answered) return 0;
    return done ? abt_memory_answer(s, x->sectors, done) : when;
}

// ---- L1: first what its tags say, for all accesses of a segment, then the trips to L2 that follow from it:
// meanwhile the host fetches what it knows of them
// -----------------------------------------------------------------------------------------------------
static inline atrip *new_trip(acore *s, awork *a, uint8_t kind, uint64_t line, uint8_t sectors) {
    machine *m = s->m;
    atrip *x = &m->trips[m->ntrips++];
    a->ntrips++;
    x->kind = kind;
    x->line = line;
    x->sectors = sectors;
    x->from = line >= LOCAL_LINES ? ORR_FROM_LOCAL : ORR_FROM_GLOBAL;
    x->lag = 0;
    x->place = orr_quick_find(m->memory, line, s->id, kind == TRIP_FILL || kind == TRIP_READ);
    return x;
}

static inline uint8_t whole_of(const orr_gpu *g, uint8_t sectors) { // fetched together
    if (g->l1_sector >= 128) return 0xf;
    if (g->l1_sector >= 64) return (uint8_t)((sectors & 3 ? 3 : 0) | (sectors & 12 ? 12 : 0));
    return sectors;
}

// Sectors `need` of way v are asked for. When they come is not known before the trip is made: whoever else
// wants the line waits for the trip.
static inline void fetch_line(acore *s, awork *a, const orr_tag *l, uint32_t v, uint64_t line, uint8_t need,
                              uint32_t lag) {
    uint32_t number = s->m->ntrips;
    atrip *x = new_trip(s, a, TRIP_FILL, line, need);
    x->lag = lag;
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
    uint32_t v = orr_tags_oldest(s->l1, l);
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
    bool full = l->merged[v] >= m->gpu->l1_merges; // no more can wait for it: the unit does
    if (!full) l->merged[v]++;
    if (then >= UNKNOWN) {
        if (then - UNKNOWN >= m->ntrips) return;
        atrip *x = &m->trips[m->ntrips++];
        a->ntrips++;
        x->kind = full ? TRIP_STAND : TRIP_JOIN;
        x->before = then - UNKNOWN;
    } else if (full) {
        a->k.from = then;
    } else if (then > a->ready) {
        a->ready = then;
    }
}

static void load_lines(acore *s, awork *a) {
    const machine *m = s->m;
    const orr_gpu *g = m->gpu;
    const orr_coalesced *c = &m->lines;
    access *k = &a->k;
    bool local = k->space == ORR_SPACE_LOCAL;
    bool bypass = (k->i->flags & ORR_TF_BYPASS) || (!local && !g->l1_global);
    // one line after the other, as many cycles apart as all of them take together
    uint32_t step = c->lines > 1 ? (k->cost << 16) / c->lines + 1 : 0, lag = 0, hit = 0, pending = 0;
    for (uint32_t n = 0; n < c->lines; n++, lag += step) {
        uint64_t line = c->line[n].line;
        uint8_t sectors = c->line[n].sectors;
        if (bypass) {
            new_trip(s, a, TRIP_READ, line, sectors)->lag = lag >> 16;
            continue;
        }
        orr_tag l = orr_tags_of(s->l1, line);
        uint32_t v = orr_tags_find(&l);
        uint8_t need = sectors;
        if (v != ORR_NO_WAY) {
            uint8_t have = sectors & orr_tags_valid(&l, v);
            need &= (uint8_t)~have;
            uint32_t then = have ? coming(&l, v, k->from) : 0;
            if (then) wait_for(s, a, &l, v, then);
            *(then ? &pending : &hit) += orr_sectors_in(have);
        } else {
            v = take_way(s, a, &l, line);
        }
        orr_tags_touch(&l, v);
        if (need)
            fetch_line(s, a, &l, v, line, whole_of(g, need) & (uint8_t)~orr_tags_valid(&l, v), lag >> 16);
    }
    s->n.l1_hit[local][ORR_L1_LOAD] += hit;
    s->n.l1_pending[local][ORR_L1_LOAD] += pending;
    s->n.l1_miss[local][ORR_L1_LOAD] += c->sectors - hit - pending;
}

static void store_lines(acore *s, awork *a) {
    const machine *m = s->m;
    const orr_gpu *g = m->gpu;
    const orr_coalesced *c = &m->lines;
    bool local = a->k.space == ORR_SPACE_LOCAL;
    int policy = g->l1_write;
    if (policy == ORR_WRITE_LOCAL) policy = local ? ORR_WRITE_BACK : ORR_WRITE_EVICT;
    if (!local && !g->l1_global && policy == ORR_WRITE_THROUGH) policy = ORR_WRITE_EVICT;
    uint32_t step = c->lines > 1 ? (a->k.cost << 16) / c->lines + 1 : 0, lag = 0, hit = 0;
    for (uint32_t n = 0; n < c->lines; n++, lag += step) {
        uint64_t line = c->line[n].line;
        uint8_t sectors = c->line[n].sectors, whole = m->whole[n];
        orr_tag l = orr_tags_of(s->l1, line);
        uint32_t v = orr_tags_find(&l);
        if (v != ORR_NO_WAY) hit += orr_sectors_in(sectors & orr_tags_valid(&l, v));
        if (policy == ORR_WRITE_EVICT) {
            if (v != ORR_NO_WAY && !coming(&l, v, a->k.from)) orr_tags_put(&l, v, 0);
        } else {
            if (v == ORR_NO_WAY && (g->l1_write_allocate || policy == ORR_WRITE_BACK))
                v = take_way(s, a, &l, line);
            if (v != ORR_NO_WAY) {
                uint8_t part = sectors & (uint8_t) ~(orr_tags_valid(&l, v) | whole);
                l.set->sectors[v] |= whole & sectors;
                if (part && g->l1_write_miss == ORR_L1_FETCH)
                    fetch_line(s, a, &l, v, line, part, lag >> 16);
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
    }
    s->n.l1_hit[local][ORR_L1_STORE] += hit;
    s->n.l1_miss[local][ORR_L1_STORE] += c->sectors - hit;
}

static void atomic_lines(acore *s, awork *a) {
    const machine *m = s->m;
    const orr_coalesced *c = &m->lines;
    bool local = a->k.space == ORR_SPACE_LOCAL;
    for (uint32_t n = 0; n < c->lines; n++) {
        orr_tag l = orr_tags_of(s->l1, c->line[n].line);
        uint32_t v = orr_tags_find(&l); // what L1 has of it is old now
        if (v != ORR_NO_WAY) l.set->sectors[v] &= (uint8_t)~c->line[n].sectors;
        atrip *x = new_trip(s, a, TRIP_ATOMIC, c->line[n].line, c->line[n].sectors);
        x->lag = n * a->k.cost / c->lines;
        x->lanes = m->lanes[n];
    }
    s->n.l1_miss[local][ORR_L1_ATOMIC] += c->sectors;
}

// Global and local memory: what L1 has of it, and when that is there.
static void look_up(acore *s, awork *a) {
    const machine *m = s->m;
    const orr_coalesced *c = &m->lines;
    bool local = a->k.space == ORR_SPACE_LOCAL;
    int kind = a->x->kind;
    s->n.l1_requests[local][kind]++;
    s->n.l1_tags += c->lines;
    s->n.l1_sectors[local][kind] += c->sectors;
    if (m->perfect)
        s->n.l1_hit[local][kind] += c->sectors;
    else if (kind == ORR_L1_LOAD)
        load_lines(s, a);
    else if (kind == ORR_L1_STORE)
        store_lines(s, a);
    else
        atomic_lines(s, a);
}

// And what L1 does not have.
static void make_trips(acore *s, awork *a) {
    machine *m = s->m;
    access *k = &a->k;
    atrip *x = &m->trips[a->trip];
    uint64_t latency = m->c->l1_latency;
    bool answered = k->i->flags & ORR_TF_LOAD;
    for (uint32_t n = 0; n < a->ntrips; n++, x++) {
        uint64_t t = 0;
        switch (x->kind) {
        case TRIP_JOIN: t = m->trips[x->before].done; break;
        case TRIP_STAND:
            t = m->trips[x->before].done;
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

// ---- constants
// ----------------------------------------------------------------------------------------------------
static uint64_t constants(acore *s, const orr_access *a) {
    const machine *m = s->m;
    uint64_t word = UINT64_MAX, words = 0;
    for (uint32_t k = a->mask; k; k &= k - 1) {
        uint64_t next = a->addr[orr_ffs(k)] / 4;
        words += next != word; // one after the other (const.interval)
        word = next;
    }
    s->n.const_requests += words;
    uint32_t missed;
    uint64_t latency = cyc_constants_load(&s->constants, m->c, a, &s->n, &missed);
    if (missed) latency += (missed - 1) * m->c->const_miss / ORR_TICKS;
    return latency + (words ? words - 1 : 0) * (uint64_t)m->gpu->const_interval;
}

// ---- an instruction
// -----------------------------------------------------------------------------------------------
static void set_ready(awarp *w, const amem *x, uint64_t ready, uint64_t rear) {
    for (uint32_t d = 0; d < x->nset; d++) {
        if (w->place[x->set[d]] < ready) w->place[x->set[d]] = ready;
        if (w->rear[x->set[d]] < rear) w->rear[x->set[d]] = rear;
    }
    if (w->far < ready) w->far = ready;
    if (w->far < rear) w->far = rear;
}

void abt_memory_done(awarp *w, const amem *x, uint64_t ready) {
    if (w->landed < ready) w->landed = ready;
    set_ready(w, x, ready, ready);
}

// The trace of the n-th warp of a convoy at the place where the first one's is at `at`.
static orr_trace others(const awarp *w, const orr_trace *at, uint32_t n) {
    const uint8_t *p = w->bytes[n];
    return (orr_trace){p + (at->at - w->base), p + (at->end - w->base), at->mask};
}

static void count_costs(acore *s, const amem *x, const amemos *memo, uint32_t n) {
    if (memo->space == ORR_SPACE_SHARED) {
        s->n.shared_requests[x->kind] += n;
        s->n.shared_passes[x->kind] += (uint64_t)n * (memo->cost / memo->each);
    } else {
        bool local = memo->space == ORR_SPACE_LOCAL;
        s->n.l1_requests[local][x->kind] += n;
        s->n.l1_tags += (uint64_t)n * memo->lines;
        s->n.l1_sectors[local][x->kind] += (uint64_t)n * memo->sectors;
        s->n.l1_hit[local][x->kind] += (uint64_t)n * memo->sectors;
    }
}

// The whole work for one warp.
static bool look_at_cost(acore *s, uint32_t id, orr_trace *at, const amem *x, amemos *memo) {
    access k;
    if (!abt_access(s, id, at, x, &k)) return false;
    memo->alike = memo->cost != k.cost ? 0 : memo->alike < LOOKS ? (uint8_t)(memo->alike + 1) : LOOKS;
    memo->skip = memo->alike == LOOKS ? 15 : 0;
    memo->cost = (uint16_t)(k.cost < UINT16_MAX ? k.cost : UINT16_MAX);
    memo->each = k.each ? k.each : 1;
    memo->space = k.space;
    memo->lines = (uint16_t)s->m->lines.lines;
    memo->sectors = (uint16_t)s->m->lines.sectors;
    return true;
}

uint32_t abt_memory_cost(acore *s, awarp *w, const amem *x, uint32_t *more, uint32_t *all) {
    acode *code = s->m->code;
    amemos *memo = &code->memo[x->memo];
    uint32_t id = (uint32_t)(w - s->warps);
    orr_trace at = abt_access_at(s, w, x), begin = at;
    if (memo->skip) {
        memo->skip--;
        if (code->in_order && !abt_access_skip(&at)) s->damaged = true;
    } else if (!look_at_cost(s, id, &at, x, memo)) {
        return 0;
    }
    if (code->in_order) w->trace = at;
    uint32_t cost = memo->cost, left = w->n - 1;
    *more = cost - memo->each;
    *all = cost;
    count_costs(s, x, memo, 1);
    for (uint32_t n = 1; left && memo->alike < LOOKS; n++, left--) {
        at = others(w, &begin, n);
        if (!look_at_cost(s, w->id[n], &at, x, memo)) return 0;
        count_costs(s, x, memo, 1);
        *all += memo->cost;
    }
    if (left) count_costs(s, x, memo, left);
    *all += left * memo->cost;
    return cost;
}

// ---- the accesses of a segment, of the first warp of a convoy and of those that follow
// -----------------------------------------------------------------------------------------------
// One is issued at t: decoded, the unit's cycles taken, L1 looked up.
static void begin(acore *s, uint32_t id, orr_trace *at, uint32_t which, uint32_t index, uint64_t t) {
    machine *m = s->m;
    awork *a = &m->work[m->nwork];
    const amem *x = m->first + which;
    a->x = x;
    a->which = (uint8_t)which;
    a->index = (uint8_t)index;
    a->t = t;
    a->ready = a->ntrips = 0;
    a->trip = m->ntrips;
    m->mem = x;
    if (!abt_access(s, id, at, x, &a->k)) return;
    access *k = &a->k;
    m->nwork++;
    if (t < s->held && t >= s->held_from) a->t = t = s->held;
    uint64_t end = slots_take(&s->lsu, t, k->cost, 1) + 1;
    a->from = k->from = end - k->cost > t ? end - k->cost : t;
    if (k->space == ORR_SPACE_SHARED) {
        s->n.shared_requests[x->kind]++;
        s->n.shared_passes[x->kind] += k->cost / k->each;
        a->ready = k->from + k->cost - k->each + m->c->shared_latency;
    } else if (k->space == ORR_SPACE_CONST) {
        a->ready = k->from + (m->access.mask ? constants(s, &m->access) : m->c->const_latency);
    } else {
        look_up(s, a);
    }
}

// The cycles that its warp is held up; a->ready: when its data are there.
static uint64_t finish(acore *s, awarp *w, awork *a) {
    const machine *m = s->m;
    access *k = &a->k;
    const amem *x = a->x;
    if (k->space != ORR_SPACE_SHARED && k->space != ORR_SPACE_CONST) {
        make_trips(s, a);
        if (x->order & ORDER_WAITS && k->space != ORR_SPACE_LOCAL)
            w->need += (uint32_t)orr_popc(m->access.mask);
        if (!(k->i->flags & ORR_TF_LOAD) && !m->perfect) {
            uint64_t far = m->gpu->l2_copies ? m->c->far_ticks : 0; // perhaps
            uint64_t heard = (s->send_free + m->c->request_ticks + m->c->reply_ticks + far) / ORR_TICKS;
            if (w->stored < heard) w->stored = heard;
        }
        uint64_t floor = k->from + k->cost - 1 + m->c->l1_latency;
        if (a->ready < floor) a->ready = floor;
        if (k->from > a->from) hold(s, a->from, k->from); // it stood still
    }
    // One that finds the queue full waits until there is room.
    uint64_t room = (uint64_t)m->lsu_queue * k->cost,
             held = k->from - a->t > room ? k->from - a->t - room : 0;
    if (!x->loads || x->late || x->async || w->asked) return held;
    uint64_t due = a->t + x->latency + x->slack;
    return a->ready > due && a->ready - due > held ? a->ready - due : held;
}

// What the first warp of a convoy has asked for is there at `ready`, the last of what those that follow asked
// for at `rear`; 0: they have not yet.
static void loaded(awarp *w, const amem *x, uint64_t ready, uint64_t rear) {
    uint64_t last = rear > ready ? rear : ready;
    if (!x->loads || w->asked) return;
    if (w->landed < last) w->landed = last;
    if (x->async) {
        uint64_t *g = &w->group_ready[w->group % MAX_GROUPS];
        if (*g < last) *g = last;
    } else if (x->late) {
        set_ready(w, x, ready, rear);
    }
}

// All that have begun.
static void finish_all(acore *s, awarp *w) {
    machine *m = s->m;
    for (uint32_t n = 0; n < m->nwork; n++) {
        awork *a = &m->work[n];
        aissue *first = &m->issue[a->which];
        uint64_t held = finish(s, w, a);
        if (!a->index) {
            loaded(w, a->x, a->ready, 0);
            first->held = held;
            if (held > m->late) m->late = held;
            continue;
        }
        uint64_t after = w->skew * a->index / (w->n - 1);
        if (a->ready > first->rear) first->rear = a->ready;
        if (after + held > first->held + m->skew) m->skew = after + held - first->held;
    }
    m->nwork = m->ntrips = 0;
}

// A line makes three trips at most: a store that takes a way from a dirty line and has to fetch the rest.
static void have_room(acore *s, awarp *w) {
    const machine *m = s->m;
    if (m->nwork == WORKS || m->ntrips + 3 * ORR_LINES_MAX > TRIPS) finish_all(s, w);
}

void abt_memory_begin(acore *s, awarp *w, const amem *first, uint32_t which, uint64_t t) {
    machine *m = s->m;
    m->first = first;
    m->warp = w;
    orr_trace at = abt_access_at(s, w, first + which);
    m->issue[which] = (aissue){at, t, 0, 0};
    have_room(s, w);
    begin(s, (uint32_t)(w - s->warps), &at, which, 0, t);
    if (m->code->in_order) w->trace = at;
    if (m->order) finish_all(s, w); // it has to know the lanes
}

uint64_t abt_memory_end(acore *s, awarp *w, uint32_t n) {
    machine *m = s->m;
    const amem *x = m->first;
    m->skew = w->skew;
    for (uint32_t k = 1; k < w->n; k++) // the host fetches what L1 knows of them
        for (uint32_t i = 0; i < n; i++) {
            uint64_t addr;
            const orr_trace *at = &m->issue[i].at;
            if (x[i].quiet || m->perfect || at->end - at->at < 13) continue;
            const uint8_t *p = w->bytes[k] + (at->at - w->base);
            memcpy(&addr, p + (*p & 8 ? 5 : 1), 8);
            if (addr >= ORR_GLOBAL_BASE) orr_tags_prefetch(s->l1, addr / ORR_LINE);
        }
    for (uint32_t k = 1; k < w->n && !s->damaged; k++) {
        uint64_t after = w->skew * k / (w->n - 1);
        for (uint32_t i = 0; i < n && !s->damaged; i++) {
            if (x[i].quiet) continue;
            orr_trace at = others(w, &m->issue[i].at, k);
            have_room(s, w);
            begin(s, w->id[k], &at, i, k, m->issue[i].when + after);
        }
    }
    finish_all(s, w);
    uint64_t late = m->late;
    m->late = 0;
    if (w->n == 1) return late;
    w->skew = (uint32_t)m->skew;
    for (uint32_t i = 0; i < n; i++)
        if (!x[i].quiet) loaded(w, &x[i], 0, m->issue[i].rear);
    return late;
}

void abt_memory_prefetch(const acore *s, const awarp *w) {
    const machine *m = s->m;
    const uint8_t *p = w->trace.at, *end = w->trace.end;
    if (!m->code->in_order || end - p < 18) return;
    if (w->seg == w->end) { // code blocks first, then accesses
        for (int k = 0;; k++) {
            if (w->has_then || *p >= 128 || k == 4 || end - p < 18) return;
            uint32_t b = *p >> 1;
            p += *p & 1 ? 5 : 1;
            if (b >= m->code->nblocks) return;
            if (m->code->program->blocks[b].naccess) break;
        }
    } else if (!m->code->segs.at[w->seg].nmem) {
        return;
    }
    for (int k = 0; k < 3 && end - p >= 32; k++) { // the next ones are near, if they are regular
        uint8_t form = *p & 7;
        if (!form || form > 3) return;
        p += *p & 8 ? 5 : 1;
        uint64_t addr;
        memcpy(&addr, p, 8);
        if (addr >= ORR_GLOBAL_BASE) {
            orr_tags_prefetch(s->l1, addr / ORR_LINE);
            if (w->n == 1) orr_quick_find(m->memory, addr / ORR_LINE, s->id, true);
        }
        p += 8;
        if (form == 3) return;
        if (form == 2)
            for (int n = 0; n < 10 && *p++ & 128; n++) continue;
        if (p >= end || *p > 15) return;
    }
}

void abt_memory_start(acore *s) {
    const orr_gpu *g = s->m->gpu;
    s->held = s->held_from = s->send_free = 0;
    s->nmisses = 0;
    s->coming_from = 0;
    memset(s->coming, 0, sizeof s->coming);
    memset(&s->lsu, 0, sizeof s->lsu);
    memset(s->stores, 0, sizeof s->stores);
    s->side = (int)(s->id * (uint32_t)g->l2_partitions / s->m->ncores);
    s->port = s->id / s->m->port_sms;
    if (s->m->perfect) return;
    s->l1 = &s->m->l1[s->id];
    if (g->l1_flush)
        orr_tags_flush(s->l1);
    else
        orr_tags_settle(s->l1);
}

void abt_memory_shape(machine *m, uint64_t l1_bytes) {
    const orr_gpu *g = m->gpu;
    if (l1_bytes < ORR_LINE) l1_bytes = ORR_LINE;
    if (m->perfect || m->l1_bytes == l1_bytes) return;
    uint64_t sets = g->l1_ways ? (uint64_t)g->l1_size / ORR_LINE / (uint64_t)g->l1_ways : 1;
    uint64_t ways = l1_bytes / ORR_LINE / (sets ? sets : 1);
    if (m->l1)
        orr_tags_free(m->l1);
    else
        m->l1 = orr_calloc(m->ncores, sizeof *m->l1);
    orr_tags_init(m->l1, m->ncores, l1_bytes / ORR_LINE, (uint32_t)(ways ? ways : 1), g->l1_hashed);
    m->l1_bytes = l1_bytes;
}
