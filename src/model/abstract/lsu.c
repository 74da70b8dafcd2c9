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

// Where the answer waits for other warps (order.c) it is done at 0.
static orr_quick_reply send(acore *s, orr_request *r, uint64_t when, uint32_t bytes, uint8_t whole) {
    machine *m = s->m;
    const cycle *c = m->c;
    uint64_t t = when * ORR_TICKS;
    if (t < s->send_free) t = s->send_free;
    s->send_free = t + bytes * c->request_byte;
    s->n.sent_bytes += bytes;
    r->time = t + c->request_ticks;
    r->sm = s->id;
    if (c->far_ticks && !m->gpu->l2_copies &&
        orr_quick_side_of(m->memory, r->line) != (int)(s->id * (uint32_t)m->gpu->l2_partitions / m->ncores))
        r->time += c->far_ticks;
    if (m->mem->order && m->order && abt_order_note(s, r)) return (orr_quick_reply){0};
    orr_quick_reply a = orr_quick_ask(m->memory, r, whole);
    // A slice that is far behind holds up the SM's port, and that L1.
    uint64_t ahead = r->time + c->backlog_ticks;
    if (a.taken > ahead && s->send_free < t + (a.taken - ahead)) s->send_free = t + (a.taken - ahead);
    uint64_t held = s->send_free / ORR_TICKS;
    if (held > when + c->send_ahead) hold(s, when, held - c->send_ahead);
    return a;
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

static void push_miss(acore *s, uint64_t t) {
    uint64_t at = t >> COMING_SHIFT;
    if (at < s->coming_from) return;
    if (at >= s->coming_from + COMING) at = s->coming_from + COMING - 1; // far away
    s->coming[at % COMING]++;
    s->nmisses++;
}

// There is room for another line on its way; until then the unit stands still.
static void make_room(acore *s, access *k) {
    uint32_t limit = (uint32_t)s->m->gpu->l1_misses;
    if (s->nmisses < limit) return;
    come(s, k->from);
    while (s->nmisses >= limit) {
        k->from = (s->coming_from + 1) << COMING_SHIFT;
        come(s, k->from);
    }
}

// ---- one line
// -----------------------------------------------------------------------------------------------------
static uint8_t from_of(const access *k) {
    return k->space == ORR_SPACE_LOCAL ? ORR_FROM_LOCAL : ORR_FROM_GLOBAL;
}

// Asks for sectors; returns the cycle in which they can be used.
static uint64_t ask(acore *s, access *k, uint64_t line, uint8_t sectors, uint64_t when, uint8_t kind,
                    uint8_t ops) {
    const machine *m = s->m;
    orr_request r = {.line = line, .sectors = sectors, .kind = kind, .from = from_of(k), .ops = ops};
    uint32_t n = sectors_in(sectors), bytes = 8 + 32 * n;
    uint32_t out = kind != ORR_REQ_READ   ? bytes + (uint32_t)m->gpu->xbar_mask
                   : m->gpu->xbar_sectors ? 32 * n
                                          : (uint32_t)m->gpu->xbar_ask;
    uint64_t done = send(s, &r, when, out, 0).done;
    return done ? abt_memory_answer(s, sectors, done) : when;
}

uint64_t abt_memory_answer(acore *s, uint8_t sectors, uint64_t done) {
    machine *m = s->m;
    const cycle *c = m->c;
    uint32_t bytes = 8 + 32 * sectors_in(sectors);
    uint64_t t = done + c->reply_ticks, cost = bytes * m->reply_byte;
    t = orr_ledger_take(&m->receive[s->id / m->port_sms], t, cost, ORR_QUICK_STRETCH) - cost;
    s->n.received_bytes += bytes;
    // l2.latency has the passing of one sector in it; further ones take their time
    uint64_t ready = (t + (bytes - 40) * c->reply_byte + ORR_TICKS - 1) / ORR_TICKS;
    push_miss(s, ready);
    return ready;
}

static void write_line(acore *s, const access *k, uint64_t line, uint8_t sectors, uint8_t whole,
                       uint64_t when) {
    const machine *m = s->m;
    orr_request r = {.line = line, .sectors = sectors, .kind = ORR_REQ_WRITE};
    uint32_t bytes = 8 + 32 * (uint32_t)orr_popc(sectors);
    r.from = line >= LOCAL_LINES ? ORR_FROM_LOCAL : from_of(k);
    if (sectors & (uint8_t)~whole) bytes += (uint32_t)m->gpu->xbar_mask; // which bytes
    uint32_t at = (uint32_t)(line * 0x9e3779b97f4a7c15u >> 58);
    bool joins = m->gpu->xbar_join && !m->mem->order;
    if (joins && s->stores[at].line == line + 1 && s->stores[at].leaves >= when * ORR_TICKS) {
        r.sectors = sectors & (uint8_t)~s->stores[at].sectors;
        s->stores[at].sectors |= sectors;
        if (!r.sectors) return;
        bytes = 32 * (uint32_t)orr_popc(r.sectors);
    }
    uint64_t leaves = when * ORR_TICKS > s->send_free ? when * ORR_TICKS : s->send_free;
    send(s, &r, when, bytes, whole);
    if (!joins) return;
    s->stores[at].line = line + 1;
    s->stores[at].leaves = leaves;
    s->stores[at].sectors = sectors;
}

static uint8_t whole_of(const orr_gpu *g, uint8_t sectors) { // fetched together
    if (g->l1_sector >= 128) return 0xf;
    if (g->l1_sector >= 64) return (uint8_t)((sectors & 3 ? 3 : 0) | (sectors & 12 ? 12 : 0));
    return sectors;
}

static void count(acore *s, const access *k, int kind, uint8_t all, uint8_t hit, uint8_t pending) {
    int local = k->space == ORR_SPACE_LOCAL;
    uint64_t n = sectors_in(all), h = sectors_in(hit), p = sectors_in(pending);
    s->n.l1_sectors[local][kind] += n;
    s->n.l1_hit[local][kind] += h;
    s->n.l1_pending[local][kind] += p;
    s->n.l1_miss[local][kind] += n - h - p;
}

// Sectors `need` of way v are asked for; `t` is when they are there.
static uint64_t fetch_line(acore *s, access *k, const orr_tag *l, uint32_t v, uint64_t line, uint8_t need,
                           uint64_t when) {
    uint64_t t = ask(s, k, line, need, when, ORR_REQ_READ, 0);
    l->set->sectors[v] |= need;
    if (!(l->set->coming >> v & 1) || l->when[v] < t) l->when[v] = (uint32_t)t;
    if (l->set->latest < t) l->set->latest = (uint32_t)t;
    l->set->coming |= (uint16_t)(1u << v);
    l->merged[v] = 1;
    return t;
}

// A way for a line that L1 does not have. Where to a line goes that is written back is not known any more:
// beside the one that comes.
static uint32_t take_way(acore *s, const access *k, const orr_tag *l, uint64_t line, uint64_t when) {
    uint32_t v = orr_tags_oldest(s->l1, l);
    uint8_t dirty = orr_tags_dirty(l, v);
    if (l->set->tag[v] && dirty) write_line(s, k, line ^ 1, dirty, dirty, when);
    orr_tags_put(l, v, l->tag);
    return v;
}

// When the sectors of way v that are on their way have come; 0: they are there at t.
static uint64_t coming(const orr_tag *l, uint32_t v, uint64_t t) {
    return l->set->latest > t && l->set->coming >> v & 1 && l->when[v] > t ? l->when[v] : 0;
}

static uint64_t load_line(acore *s, access *k, uint64_t line, uint8_t sectors, uint64_t lag) {
    const machine *m = s->m;
    const orr_gpu *g = m->gpu;
    bool local = k->space == ORR_SPACE_LOCAL;
    if ((k->i->flags & ORR_TF_BYPASS) || (!local && !g->l1_global)) {
        make_room(s, k);
        count(s, k, ORR_L1_LOAD, sectors, 0, 0);
        return ask(s, k, line, sectors, k->from + m->c->l1_latency + lag, ORR_REQ_READ, 0);
    }
    orr_tag l = orr_tags_of(s->l1, line);
    uint32_t v = orr_tags_find(&l);
    uint8_t have = v != ORR_NO_WAY ? sectors & orr_tags_valid(&l, v) : 0, need = sectors & (uint8_t)~have;
    uint64_t ready = have ? coming(&l, v, k->from) : 0;
    if (ready && l.merged[v] >= g->l1_merges) { // no more can wait for it: the unit does
        k->from = ready;
        ready = 0;
    } else if (ready) {
        l.merged[v]++;
    }
    count(s, k, ORR_L1_LOAD, sectors, ready ? 0 : have, ready ? have : 0);
    if (need) {
        make_room(s, k);
        uint64_t when = k->from + m->c->l1_latency + lag;
        if (v == ORR_NO_WAY) v = take_way(s, k, &l, line, when);
        uint64_t t = fetch_line(s, k, &l, v, line, whole_of(g, need) & (uint8_t)~orr_tags_valid(&l, v), when);
        if (t > ready) ready = t;
    }
    orr_tags_touch(&l, v);
    return ready;
}

static void store_line(acore *s, access *k, uint64_t line, uint8_t sectors, uint8_t whole, uint64_t when) {
    const orr_gpu *g = s->m->gpu;
    bool local = k->space == ORR_SPACE_LOCAL;
    int policy = g->l1_write;
    if (policy == ORR_WRITE_LOCAL) policy = local ? ORR_WRITE_BACK : ORR_WRITE_EVICT;
    if (!local && !g->l1_global && policy == ORR_WRITE_THROUGH) policy = ORR_WRITE_EVICT;
    orr_tag l = orr_tags_of(s->l1, line);
    uint32_t v = orr_tags_find(&l);
    count(s, k, ORR_L1_STORE, sectors, v == ORR_NO_WAY ? 0 : sectors & orr_tags_valid(&l, v), 0);
    if (policy == ORR_WRITE_EVICT) {
        if (v != ORR_NO_WAY && !coming(&l, v, k->from)) orr_tags_put(&l, v, 0);
    } else {
        if (v == ORR_NO_WAY && (g->l1_write_allocate || policy == ORR_WRITE_BACK))
            v = take_way(s, k, &l, line, when);
        if (v != ORR_NO_WAY) {
            uint8_t part = sectors & (uint8_t) ~(orr_tags_valid(&l, v) | whole);
            l.set->sectors[v] |= whole & sectors;
            if (part && g->l1_write_miss == ORR_L1_FETCH)
                fetch_line(s, k, &l, v, line, part, when);
            else if (part && policy == ORR_WRITE_BACK)
                l.set->sectors[v] |= part;
            if (policy == ORR_WRITE_BACK) l.set->sectors[v] |= (uint8_t)(sectors << 4);
            orr_tags_touch(&l, v);
        }
        if (policy == ORR_WRITE_BACK && v != ORR_NO_WAY) return;
    }
    write_line(s, k, line, sectors, whole, when);
}

static uint64_t atomic_line(acore *s, access *k, uint64_t line, uint8_t sectors, uint8_t lanes,
                            uint64_t lag) {
    bool answered = k->i->flags & ORR_TF_LOAD;
    if (answered) make_room(s, k);
    orr_tag l = orr_tags_of(s->l1, line);
    uint32_t v = orr_tags_find(&l); // what L1 has of it is old now
    if (v != ORR_NO_WAY) l.set->sectors[v] &= (uint8_t)~sectors;
    count(s, k, ORR_L1_ATOMIC, sectors, 0, 0);
    uint64_t when = k->from + s->m->c->l1_latency + lag;
    if (answered) return ask(s, k, line, sectors, when, ORR_REQ_ATOMIC, lanes);
    orr_request r = {.line = line, .sectors = sectors, .kind = ORR_REQ_REDUCE, .ops = lanes};
    send(s, &r, when, 8 + 32 * (uint32_t)orr_popc(sectors) + (uint32_t)s->m->gpu->xbar_mask, 0);
    return 0;
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
// ----------------------------------------------------------------------------------------------- Global and
// local memory; returns when its data are there.
static uint64_t lines(acore *s, awarp *w, access *k) {
    machine *m = s->m;
    const orr_coalesced *x = &m->lines;
    int kind = abt_access_kind(k->i);
    uint64_t ready = 0;
    s->n.l1_requests[k->space == ORR_SPACE_LOCAL][kind]++;
    s->n.l1_tags += x->lines;
    if (m->perfect) {
        s->n.l1_sectors[k->space == ORR_SPACE_LOCAL][kind] += x->sectors;
        s->n.l1_hit[k->space == ORR_SPACE_LOCAL][kind] += x->sectors;
        return k->from + k->cost - 1 + m->c->l1_latency;
    }
    for (uint32_t n = 1; n < x->lines; n++) {
        orr_tags_prefetch(s->l1, x->line[n].line);
        orr_quick_prefetch(m->memory, x->line[n].line, s->id);
    }
    for (uint32_t n = 0; n < x->lines; n++) {
        orr_line_access l = x->line[n];
        uint64_t lag = (uint64_t)n * k->cost / x->lines, t = 0;
        if (kind == ORR_L1_ATOMIC)
            t = atomic_line(s, k, l.line, l.sectors, m->lanes[n], lag);
        else if (kind == ORR_L1_STORE)
            store_line(s, k, l.line, l.sectors, m->whole[n], k->from + m->c->l1_latency + lag);
        else
            t = load_line(s, k, l.line, l.sectors, lag);
        if (t > ready) ready = t;
    }
    if (!(k->i->flags & ORR_TF_LOAD)) {
        uint64_t far = m->gpu->l2_copies ? m->c->far_ticks : 0; // perhaps
        uint64_t heard = (s->send_free + m->c->request_ticks + m->c->reply_ticks + far) / ORR_TICKS;
        if (w->stored < heard) w->stored = heard;
    }
    uint64_t floor = k->from + k->cost - 1 + m->c->l1_latency;
    return ready > floor ? ready : floor;
}

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

// One warp's access, issued at t: the cycles that it is held up, and when its data are there.
static uint64_t one_access(acore *s, awarp *w, uint32_t id, orr_trace *at, const amem *x, uint64_t t,
                           uint64_t *ready) {
    machine *m = s->m;
    access k;
    *ready = 0;
    if (!abt_access(s, id, at, x, &k)) return 0;
    if (t < s->held && t >= s->held_from) t = s->held;
    uint64_t end = slots_take(&s->lsu, t, k.cost, 1) + 1;
    k.from = end - k.cost > t ? end - k.cost : t;
    if (k.space == ORR_SPACE_SHARED) {
        s->n.shared_requests[x->kind]++;
        s->n.shared_passes[x->kind] += k.cost / k.each;
        *ready = k.from + k.cost - k.each + m->c->shared_latency;
    } else if (k.space == ORR_SPACE_CONST) {
        *ready = k.from + (m->access.mask ? constants(s, &m->access) : m->c->const_latency);
    } else {
        uint64_t from = k.from;
        *ready = lines(s, w, &k);
        if (x->order & ORDER_WAITS && k.space != ORR_SPACE_LOCAL)
            w->need += (uint32_t)orr_popc(m->access.mask);
        if (k.from > from) hold(s, from, k.from); // it stood still
    }
    // One that finds the queue full waits until there is room.
    uint64_t room = (uint64_t)m->lsu_queue * k.cost, held = k.from - t > room ? k.from - t - room : 0;
    if (!x->loads || x->late || x->async || w->asked) return held;
    uint64_t due = t + x->latency + x->slack;
    return *ready > due && *ready - due > held ? *ready - due : held;
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

uint64_t abt_memory(acore *s, awarp *w, const amem *x, uint64_t t) {
    machine *m = s->m;
    m->mem = x;
    m->warp = w;
    orr_trace at = abt_access_at(s, w, x);
    uint64_t ready, held = one_access(s, w, (uint32_t)(w - s->warps), &at, x, t, &ready);
    if (m->code->in_order) w->trace = at;
    loaded(w, x, ready, 0);
    return held;
}

void abt_memory_follow(acore *s, awarp *w, const amem *x, const aissue *issue, uint32_t n) {
    machine *m = s->m;
    uint64_t rear[SEGMENT_INSTS] = {0}, skew = w->skew;
    for (uint32_t k = 1; k < w->n; k++) {
        uint64_t after = w->skew * k / (w->n - 1);
        for (uint32_t i = 0; i < n; i++) {
            if (x[i].quiet) continue;
            uint64_t then;
            orr_trace at = others(w, &issue[i].at, k);
            m->mem = &x[i];
            uint64_t held = one_access(s, w, w->id[k], &at, &x[i], issue[i].when + after, &then);
            if (then > rear[i]) rear[i] = then;
            if (after + held > issue[i].held + skew) skew = after + held - issue[i].held;
            if (s->damaged) return;
        }
    }
    w->skew = (uint32_t)skew;
    for (uint32_t i = 0; i < n; i++)
        if (!x[i].quiet) loaded(w, &x[i], 0, rear[i]);
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
        for (uint32_t n = 0; n < w->n; n++) {
            uint64_t addr;
            memcpy(&addr, n ? w->bytes[n] + (p - w->base) : p, 8);
            if (addr < ORR_GLOBAL_BASE) break;
            orr_tags_prefetch(s->l1, addr / ORR_LINE);
            orr_quick_prefetch(m->memory, addr / ORR_LINE, s->id);
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
