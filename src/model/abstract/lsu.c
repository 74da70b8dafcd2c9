// Memory instructions (the paper's II-D.1 and II-E.3): the load/store unit, shared memory, L1, constants.
//
// The unit works off one instruction after the other; lsu.queue of them can wait for it. How long one takes
// follows from its addresses: sectors and lines from the coalescer, passes from shared memory's banks. When
// its data are there is known when it is issued: L1's tags say what has to be fetched, and what is behind
// them (memory/fast_memory.h) says when that comes. So a place has its time at once and nobody has to be
// woken.
#include "model/abstract/abstract.h"

#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"

#define LOOKS 16 // at an instruction whose cost is all that matters; after that only now and then

// ---- constants ---------------------------------------------------------------------------------------
// A load by the addresses of its lanes that can begin at t: when its result is there. As constants_load, but
// whoever comes before t finds room before it.
static uint64_t constants(acore *s, const orr_access *a, uint32_t bytes, uint64_t t) {
    const constants_spec *c = &s->m->c->core.constants;
    uint32_t words = constants_words(a, bytes);
    s->n.constants.requests += words;
    constants_answer r = constants_lookup(&s->fetch.constants, a, t);
    s->n.constants.misses += r.misses;
    s->n.constants.second_misses += r.second_misses;
    uint64_t misses = r.misses * c->miss_ticks / ORR_TICKS, takes = words * c->interval + misses;
    uint64_t start = slots_take(&s->lsu.idc, t, (uint32_t)takes, 1) + 1 - takes;
    uint32_t more = c->word_latency > c->interval ? c->word_latency : c->interval; // for each further word
    if (start < t) start = t;
    return start + misses - (r.misses ? c->miss_ticks / ORR_TICKS : 0) + (words - 1) * more + r.latency;
}

// ---- an instruction ----------------------------------------------------------------------------------
static void set_ready(awarp *w, const amem *x, uint64_t ready, uint64_t rear) {
    for (uint32_t d = 0; d < x->nset; d++) {
        if (w->ready.loads[x->set[d]] < ready) w->ready.loads[x->set[d]] = ready;
        if (w->ready.rear[x->set[d]] < rear) w->ready.rear[x->set[d]] = rear;
    }
    if (w->memory_done < ready) w->memory_done = ready;
    if (w->memory_done < rear) w->memory_done = rear;
}

// The trace of the n-th warp of a batch at the place where the first one's is at `at`.
static orr_trace others(const awarp *w, const orr_trace *at, uint32_t n) {
    const uint8_t *p = w->batch.bytes[n];
    return (orr_trace){p + (at->at - w->base), p + (at->end - w->base), at->mask};
}

static void count_costs(acore *s, const amem *x, const amemos *memo, uint32_t n) {
    n *= s->times;
    if (memo->space == ORR_SPACE_SHARED) {
        s->n.shared.requests[x->kind] += n;
        s->n.shared.passes[x->kind] += (uint64_t)n * (memo->cost / memo->each);
    } else {
        bool local = memo->space == ORR_SPACE_LOCAL;
        s->n.l1.requests[local][x->kind] += n;
        s->n.l1.tags += (uint64_t)n * memo->lines;
        s->n.l1.sectors[local][x->kind] += (uint64_t)n * memo->sectors;
        s->n.l1.hits[local][x->kind] += (uint64_t)n * memo->sectors;
    }
}

// The whole work for one warp.
static bool look_at_cost(acore *s, uint32_t id, orr_trace *at, const amem *x, amemos *memo) {
    access k;
    if (!abt_access(s, id, at, x, &k)) return false;
    memo->alike = memo->cost != k.cost ? 0 : memo->alike < LOOKS ? (uint8_t)(memo->alike + 1) : LOOKS;
    memo->skip = memo->alike == LOOKS ? 15 : 0;
    memo->cost = (uint16_t)(k.cost < UINT16_MAX ? k.cost : UINT16_MAX);
    memo->lag = (uint16_t)(k.lag < UINT16_MAX ? k.lag : UINT16_MAX);
    memo->each = k.each ? k.each : 1;
    memo->space = k.space;
    memo->lines = (uint16_t)s->m->inst.lines.lines;
    memo->sectors = (uint16_t)s->m->inst.lines.sectors;
    return true;
}

uint32_t abt_memory_cost(acore *s, awarp *w, const amem *x, uint32_t *more, uint32_t *all) {
    acode *code = s->m->code;
    amemos *memo = &code->memo[x->memo];
    uint32_t id = (uint32_t)(w - s->warps);
    s->times = 1 + s->blocks.at[w->block].npeers;
    orr_trace at = abt_access_at(s, w, x), begin = at;
    if (memo->skip) {
        memo->skip--;
        if (code->in_order && !abt_access_skip(&at)) s->bad_trace = true;
    } else if (!look_at_cost(s, id, &at, x, memo)) {
        return 0;
    }
    if (code->in_order) w->trace = at;
    uint32_t cost = memo->cost, left = w->n - 1;
    *more = memo->lag;
    *all = cost;
    count_costs(s, x, memo, 1);
    for (uint32_t n = 1; left && memo->alike < LOOKS; n++, left--) {
        at = others(w, &begin, n);
        if (!look_at_cost(s, w->batch.id[n], &at, x, memo)) return 0;
        count_costs(s, x, memo, 1);
        *all += memo->cost;
    }
    if (left) count_costs(s, x, memo, left);
    *all += left * memo->cost;
    return cost;
}

// ---- the accesses of a segment, of the first warp of a batch and of those that follow ---------------
// Words of one bank are read or written one after the other, lsu.replay cycles each: the warp's next access
// waits, and so do loads for what a store to few of the tags' banks has written (l1.store_drain;
// core/lsu.c). What an access stands still for, nobody passes.
static void wait_for_banks(acore *s, awork *a) {
    access *k = &a->k;
    if (!a->index && k->from < s->m->inst.warp->banks_free) k->from = s->m->inst.warp->banks_free;
    bool loads = k->space == ORR_SPACE_GLOBAL && k->i->flags & ORR_TF_LOAD;
    if (loads && k->from >= s->lsu.stored_from && k->from < s->lsu.stored_until)
        k->from = s->lsu.stored_until;
}
static void take_banks(acore *s, const awork *a) {
    const orr_gpu *g = s->m->gpu;
    const access *k = &a->k;
    uint32_t lines = s->m->inst.lines.lines, passes = k->passes;
    if (!passes || a->index) return;
    if (a->waits && lines) passes -= passes * (a->waits < lines ? a->waits : lines) / lines; // read out later
    if (passes) s->m->inst.warp->banks_free = k->from + (uint64_t)passes * (uint64_t)g->lsu_replay;
    if (!g->l1_store_drain || a->x->kind != ORR_L1_STORE || k->space != ORR_SPACE_GLOBAL) return;
    if (orr_l1_lookups(&s->m->c->core.l1.cost, &s->m->inst.lines) <= (lines + 3) / 4) return;
    if (k->from > s->lsu.stored_until) s->lsu.stored_from = k->from;
    uint64_t until = k->from + passes * (uint64_t)g->lsu_replay + lines * (uint64_t)g->l1_store_drain;
    if (s->lsu.stored_until < until) s->lsu.stored_until = until;
}

// One is issued at t: decoded, the unit's cycles taken, L1 looked up.
static void begin(acore *s, uint32_t id, orr_trace *at, uint32_t which, uint32_t index, uint64_t t) {
    machine *m = s->m;
    awork *a = &m->seg.work[m->seg.nwork];
    const amem *x = m->seg.first + which;
    a->x = x;
    a->which = (uint8_t)which;
    a->index = a->whose = (uint8_t)index;
    a->t = t;
    a->ready = a->ntrips = 0;
    a->lag = a->span = a->waits = 0;
    a->trip = m->seg.ntrips;
    m->inst.x = x;
    if (!abt_access(s, id, at, x, &a->k)) return;
    access *k = &a->k;
    m->seg.nwork++;
    if (t < s->lsu.blocked_until && t >= s->lsu.blocked_from) a->t = t = s->lsu.blocked_until;
    uint64_t end = slots_take(&s->lsu.passes, t, k->cost, 1) + 1;
    a->from = k->from = end - k->cost > t ? end - k->cost : t;
    if (k->space == ORR_SPACE_SHARED) {
        s->n.shared.requests[x->kind] += s->times;
        s->n.shared.passes[x->kind] += (uint64_t)s->times * (k->cost / k->each);
        a->ready = k->from + k->lag + m->c->core.shared.latency;
    } else if (k->space == ORR_SPACE_CONST) {
        a->ready = m->inst.access.mask ? constants(s, &m->inst.access, k->i->bytes, k->from)
                                       : k->from + m->c->core.constants.latency;
    } else {
        wait_for_banks(s, a);
        abt_lines_look_up(s, a);
        take_banks(s, a);
    }
}

// The cycles that its warp is held up; a->ready: when its data are there.
static uint64_t finish(acore *s, awarp *w, awork *a) {
    const machine *m = s->m;
    access *k = &a->k;
    const amem *x = a->x;
    if (k->space != ORR_SPACE_SHARED && k->space != ORR_SPACE_CONST) {
        abt_lines_travel(s, w, a);
        if (!(k->i->flags & ORR_TF_LOAD) && !m->perfect) {
            uint64_t far = m->gpu->l2_replicate ? m->c->core.port.far_ticks : 0; // perhaps
            uint64_t heard =
                (s->port.sent + m->c->core.port.request_ticks + m->c->core.port.reply_ticks + far) /
                ORR_TICKS;
            if (w->stores_done < heard) w->stores_done = heard;
        }
        // Lines that were waited for are read out when the last is there.
        if (k->passes && a->waits && a->ready)
            a->ready += (uint64_t)k->passes * a->waits / (a->waits > k->passes ? a->waits : k->passes) - 1;
        uint64_t floor = k->from + a->span + k->lag + m->c->core.l1.latency;
        if (a->ready < floor) a->ready = floor;
        if (k->from > a->from) abt_lines_hold(s, a->from, k->from); // it stood still
    }
    // One that finds the queue full waits until there is room.
    uint64_t room = (uint64_t)m->lsu_queue * k->cost,
             held = k->from - a->t > room ? k->from - a->t - room : 0;
    if (!x->loads || x->late || x->async) return held;
    uint64_t due = a->t + x->latency + x->slack;
    return a->ready > due && a->ready - due > held ? a->ready - due : held;
}

// What the first warp of a batch has asked for is there at `ready`, the last of what those that follow asked
// for at `rear`; 0: they have not yet.
static void loaded(awarp *w, const amem *x, uint64_t ready, uint64_t rear) {
    uint64_t last = rear > ready ? rear : ready;
    if (!x->loads) return;
    if (w->loads_done < last) w->loads_done = last;
    if (x->async) {
        uint64_t *g = &w->group_ready[w->group % MAX_GROUPS];
        if (*g < last) *g = last;
        w->async.copied = latest(w->async.copied, last);
    } else if (x->late) {
        set_ready(w, x, ready, rear);
    }
}

// All that have begun.
static void finish_all(acore *s, awarp *w) {
    machine *m = s->m;
    for (uint32_t n = 0; n < m->seg.nwork; n++) {
        awork *a = &m->seg.work[n];
        aissue *first = &m->seg.issue[a->which];
        uint64_t held = finish(s, w, a);
        if (!a->index) {
            loaded(w, a->x, a->ready, 0);
            first->held = held;
            if (held > m->seg.late) m->seg.late = held;
            continue;
        }
        uint64_t after = w->skew * a->index / (w->n - 1);
        if (a->ready > first->rear) first->rear = a->ready;
        if (after + held > first->held + m->seg.skew) m->seg.skew = after + held - first->held;
    }
    m->seg.nwork = m->seg.ntrips = 0;
}

// A line makes three trips at most: a store that takes a way from a dirty line and has to fetch the rest.
static void have_room(acore *s, awarp *w) {
    const machine *m = s->m;
    if (m->seg.nwork == WORKS || m->seg.ntrips + 3 * ORR_LINES_MAX > TRIPS) finish_all(s, w);
}

void abt_memory_begin(acore *s, awarp *w, const amem *first, uint32_t which, uint64_t t) {
    machine *m = s->m;
    m->seg.first = first;
    m->inst.warp = w;
    s->times = 1 + s->blocks.at[w->block].npeers;
    orr_trace at = abt_access_at(s, w, first + which);
    m->seg.issue[which] = (aissue){at, t, 0, 0};
    have_room(s, w);
    begin(s, (uint32_t)(w - s->warps), &at, which, 0, t);
    if (m->code->in_order) w->trace = at;
}

// Those that follow touch memory as the first did, lanes in a row at other lines: all of them at once, one
// after the other over the cycles that the last is behind. False: some do not, and nothing is done.
static bool begin_rows(acore *s, awarp *w, uint32_t which) {
    machine *m = s->m;
    const amem *x = m->seg.first + which;
    const arow *row = &m->code->memo[x->memo].row;
    const aissue *first = &m->seg.issue[which];
    uint32_t n = w->n - 1u, trips = 3u * row->nlines * n;
    if (!x->runs || !row->nlines || trips > TRIPS || first->at.end - first->at.at < 10) return false;
    for (uint32_t k = 1; k <= n; k++) {
        orr_trace at = others(w, &first->at, k);
        uint64_t addr;
        memcpy(&addr, at.at + 1, 8);
        if (at.at[0] != row->head || (addr & 127) != row->low || addr < ORR_GLOBAL_BASE) return false;
        if (at.mask != row->mask || (at.at[0] == 2 && at.at[9] != row->stride)) return false;
    }
    if (m->seg.nwork == WORKS || m->seg.ntrips + trips > TRIPS) finish_all(s, w);
    awork *a = &m->seg.work[m->seg.nwork];
    *a = (awork){.x = x, .which = (uint8_t)which, .index = (uint8_t)n, .trip = m->seg.ntrips};
    m->inst.x = x;
    uint64_t t = first->when;
    if (t < s->lsu.blocked_until && t >= s->lsu.blocked_from) t = s->lsu.blocked_until;
    uint32_t all = row->cost * n; // cycles of the unit, the last of them in time if they can
    uint64_t apart = w->skew > all ? w->skew : all,
             end = slots_take(&s->lsu.passes, t + apart - all, all, 1) + 1;
    uint64_t late = end > t + apart ? end - t - apart : 0;
    for (uint32_t k = 1; k <= n; k++) {
        orr_trace at = others(w, &first->at, k);
        if (!abt_access_row(m, &at, x, &a->k)) {
            s->bad_trace = true;
            return true;
        }
        a->k.from = t + late;
        a->lag = (uint32_t)(apart * k / n);
        a->whose = (uint8_t)k;
        abt_lines_look_up(s, a);
        if (a->k.from > t + late) late = a->k.from - t;
    }
    a->t = first->when;
    a->from = a->k.from;
    a->span = (uint32_t)apart;
    m->seg.nwork++;
    return true;
}

uint64_t abt_memory_end(acore *s, awarp *w, uint32_t n) {
    machine *m = s->m;
    const amem *x = m->seg.first;
    m->seg.skew = w->skew;
    for (uint32_t k = 1; k < w->n; k++) // the host fetches what L1 knows of them
        for (uint32_t i = 0; i < n; i++) {
            uint64_t addr;
            const orr_trace *at = &m->seg.issue[i].at;
            if (x[i].quiet || m->perfect || at->end - at->at < 13) continue;
            const uint8_t *p = w->batch.bytes[k] + (at->at - w->base);
            memcpy(&addr, p + (*p & 8 ? 5 : 1), 8);
            if (addr >= ORR_GLOBAL_BASE) orr_tags_prefetch(s->lsu.tags, addr / ORR_LINE);
        }
    uint64_t done = 0; // accesses, bits
    for (uint32_t i = 0; i < n && w->n > 1 && !s->bad_trace; i++)
        if (!x[i].quiet && begin_rows(s, w, i)) done |= 1ull << i;
    for (uint32_t k = 1; k < w->n && !s->bad_trace; k++) {
        uint64_t after = w->skew * k / (w->n - 1);
        for (uint32_t i = 0; i < n && !s->bad_trace; i++) {
            if (x[i].quiet || done >> i & 1) continue;
            orr_trace at = others(w, &m->seg.issue[i].at, k);
            have_room(s, w);
            begin(s, w->batch.id[k], &at, i, k, m->seg.issue[i].when + after);
        }
    }
    finish_all(s, w);
    uint64_t late = m->seg.late;
    m->seg.late = 0;
    if (w->n == 1) return late;
    w->skew = (uint32_t)m->seg.skew;
    for (uint32_t i = 0; i < n; i++)
        if (!x[i].quiet) loaded(w, &x[i], 0, m->seg.issue[i].rear);
    return late;
}

void abt_memory_prefetch(const acore *s, const awarp *w) {
    const machine *m = s->m;
    const uint8_t *p = w->trace.at, *end = w->trace.end;
    if (!m->code->in_order || end - p < 18) return;
    if (w->seg == w->end) { // code blocks first, then accesses
        for (int k = 0;; k++) {
            if (w->has_next || *p >= 128 || k == 4 || end - p < 18) return;
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
            orr_tags_prefetch(s->lsu.tags, addr / ORR_LINE);
            if (w->n == 1) orr_fast_find(m->memory, addr / ORR_LINE, s->id, true);
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
    s->lsu.stored_from = s->lsu.stored_until = 0;
    s->lsu.blocked_until = s->lsu.blocked_from = s->port.stalled_until = s->port.stalled_from = s->port.sent =
        0;
    memset(&s->port.send, 0, sizeof s->port.send);
    s->fills.misses = 0;
    s->fills.from = 0;
    memset(s->fills.n, 0, sizeof s->fills.n);
    memset(&s->lsu.passes, 0, sizeof s->lsu.passes);
    memset(&s->lsu.idc, 0, sizeof s->lsu.idc);
    memset(s->port.stores, 0, sizeof s->port.stores);
    s->port.parts.n = s->port.parts.out = s->port.nstores = 0;
    s->port.side = (int)(s->id * (uint32_t)g->l2_partitions / s->m->ncores);
    if (s->m->perfect) return;
    s->lsu.tags = &s->m->l1.tags[s->id];
    if (g->l1_flush)
        orr_tags_flush(s->lsu.tags);
    else
        orr_tags_settle(s->lsu.tags);
}

void abt_memory_shape(machine *m, uint64_t l1_bytes) {
    const orr_gpu *g = m->gpu;
    if (l1_bytes < ORR_LINE) l1_bytes = ORR_LINE;
    if (m->perfect || m->l1.bytes == l1_bytes) return;
    m->l1.bytes = l1_bytes;
    uint64_t sets = g->l1_ways ? (uint64_t)g->l1_size / ORR_LINE / (uint64_t)g->l1_ways : 1;
    uint64_t ways = l1_bytes / ORR_LINE / (sets ? sets : 1);
    if (m->l1.tags)
        orr_tags_free(m->l1.tags);
    else
        m->l1.tags = orr_calloc(m->ncores, sizeof *m->l1.tags);
    orr_tags_init(m->l1.tags, m->ncores, l1_bytes / ORR_LINE, (uint32_t)(ways ? ways : 1), g->l1_hashed);
    for (uint32_t n = 0; n < m->ncores && m->l1.tags[0].hashed; n++) orr_tags_group(&m->l1.tags[n], 2);
}
