// A partition: L2 slices, and the DRAM behind them.
//
// What happens has a time, and is done in order of time: a request is taken from a slice's input, a channel
// does something (dram.c), sectors come back, an atomic is done. Which of those at the same time is first is
// fixed, so that the outcome depends on the requests only, not on how time was cut into calls.
//
// A slice looks up a line a cycle, or as many cycles as the line's sectors need to pass its port: in, for
// stores as for loads, and out, for answers, each as wide as l2.bandwidth / l2.slices. l2.latency is the
// network's (the caller adds it) and includes the passing of one sector, so a load of one sector that hits an
// idle slice is answered when it comes.
//
// What a slice's lines hold, how they come and leave is l2_lines.c. Atomics need the whole sector, and keep
// the slice's input waiting while it works on earlier ones.
//
// Where L2 has two halves (l2.copies), an SM asks its own. A half never waits for the other before it takes a
// request that came from there: what asks for a copy is never blocked.
//
// Stores of part of a sector take a slice's port longer than others, those of the other half have a port of
// their own, and where both halves store to one line they do so in turns (l2.store_turn): behind each port
// such stores wait for their line, and when there are too many of them the port stands still.
//
// Loads that meet on their way here are l2_meet.c; what a partition is made of, and what is put there without
// time, is l2_state.c.
#include "memory/l2.h"
#include "memory/memory.h"

#include <stdlib.h>

#define NONE  UINT32_MAX
#define NEVER UINT64_MAX

static uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }

// ---- answers --------------------------------------------------------------------------------------

static void happened(orr_l2 *p, uint64_t t) {
    if (t > p->stats.last) p->stats.last = t;
}

// The sectors leave by the slice's port; the time of the last.
uint64_t orr_l2_leave(orr_l2 *p, orr_l2_slice *s, uint64_t t, uint8_t sectors) {
    uint64_t n = (uint64_t)orr_popc(sectors);
    t = max(t, s->out_free);
    s->out_free = t + n * p->c->sector;
    if (n) t += (n - 1) * p->c->sector;
    happened(p, t);
    return t;
}

// The sectors go to the other half, loaded ones that it has asked for and stored ones that it has to have, by
// one way (l2.far_sector); the time of the last.
static uint64_t cross(const orr_l2 *p, orr_l2_slice *s, uint64_t t, uint8_t sectors) {
    if (!p->c->far_sector || !sectors) return t;
    t = max(t, s->far_free);
    s->far_free = t + (uint64_t)orr_popc(sectors) * p->c->far_sector;
    return s->far_free - p->c->far_sector;
}

static void answer(orr_l2 *p, orr_l2_slice *s, uint64_t t, const orr_l2_waiter *w, orr_replies *out) {
    bool meets = w->kind == ORR_REQ_READ && p->c->merge > 1;
    if (w->kind == ORR_REQ_READ) orr_l2_serve(p, w->sm, w->live);
    t = meets ? orr_l2_answered(p, s, w, t) : orr_l2_leave(p, s, t, w->sectors);
    if (w->far) t += p->c->far; // an atomic from the other half
    *ORR_PUSH(out) = (orr_reply){.time = t,
                                 .sm = w->sm,
                                 .token = w->token,
                                 .sectors = w->sectors,
                                 .hit = w->hit,
                                 .joined = w->joined && !w->again};
    happened(p, t);
}

// How long an atomic takes a unit.
static uint64_t work_of(const orr_l2_config *c, uint64_t ops, uint64_t quarters) {
    return ops || quarters ? ops * c->atomic + quarters * c->atomic / 4 : c->atomic;
}

// Which of a slice's units for atomics a line has.
static uint32_t unit_of(const orr_l2_config *c, uint64_t line) {
    return (uint32_t)(line ^ line >> 1 ^ line >> 2 ^ line >> 3) & c->atomic_units;
}

// When who has written hears of it: one of the other half is further away, and where that half had a copy
// to drop (late) it is waited for.
static uint64_t heard_after(const orr_l2_config *c, bool far, bool late) {
    return far ? c->far : late ? 2 * c->far : 0;
}

// A slice works on an atomic from `t` on.
static void work_on(orr_l2 *p, uint32_t slice, uint64_t t, const orr_l2_waiter *w, orr_replies *out) {
    uint32_t u = unit_of(p->c, w->line);
    orr_l2_slice *s = &p->slice[slice];
    orr_l2_serve(p, w->sm, w->live);
    uint64_t wait = 0; // for the sum before on the same word; the unit does others meanwhile
    if (w->slow) {
        uint32_t k = (uint32_t)(w->line ^ w->line >> 3) % ORR_L2_SLOW;
        if (s->slow_line[u][k] == w->line && s->slow_sectors[u][k] & w->sectors && s->slow_until[u][k] > t)
            wait = s->slow_until[u][k] - t;
        s->slow_line[u][k] = w->line;
        s->slow_sectors[u][k] = w->sectors;
        s->slow_until[u][k] = t + wait + p->c->atomic_again;
    }
    uint64_t work = work_of(p->c, w->ops, w->quarters);
    if (p->c->atomic_switch &&
        !w->more) { // another piece: its sectors are read first, while the work goes on
        uint64_t piece = (w->line >> p->c->chunk_shift >> 2) + 1; // its neighbour of 512 B is not another one
        if (s->atomic_piece[u] != piece)
            work = max(work, (uint64_t)orr_popc(w->sectors) * p->c->atomic_switch);
        s->atomic_piece[u] = piece;
    }
    t += work;
    s->atomic_busy[u] = t;
    t += wait;
    if (w->hit)
        happened(p, t);
    else if (p->c->atomic_queue)
        orr_l2_add_event(
            p, (orr_l2_event){.time = t, .sectors = w->sectors, .worked = true, .slice = (uint16_t)slice});
    if (w->kind != ORR_REQ_ATOMIC) {
        if (w->told)
            *ORR_PUSH(out) =
                (orr_reply){.time = t + heard_after(p->c, w->far, w->late), .sm = w->sm, .token = w->token};
        return;
    }
    uint32_t copy = orr_l2_new_waiter(p);
    p->waiters.at[copy] = *w;
    t += p->c->atomic_more + (w->late ? 2 * p->c->far : 0);
    orr_l2_add_event(p, (orr_l2_event){.time = t, .at = copy, .atomic = true, .slice = (uint16_t)slice});
}

static uint32_t cluster_of(const orr_l2_config *c, uint32_t sm) {
    return (orr_gpc_of_sm(sm, c->gpcs) * c->clusters + orr_cluster_of_sm(sm, c->gpcs, c->clusters)) %
           ORR_L2_CLUSTERS;
}

// It waits for its cluster's turn, behind those of the cluster that came before.
static void wait_for_turn(orr_l2 *p, uint32_t slice, uint64_t t, const orr_l2_waiter *w) {
    orr_l2_slice *s = &p->slice[slice];
    uint32_t u = unit_of(p->c, w->line), k = cluster_of(p->c, w->sm), at;
    orr_l2_waiter waits = *w; // the pool may move
    at = orr_l2_new_waiter(p);
    p->waiters.at[at] = waits;
    if (!s->atomic_waits[u])
        orr_l2_add_event(
            p, (orr_l2_event){.time = s->atomic_busy[u], .at = u, .slice = (uint16_t)slice, .next = true});
    if (s->atomic_waits[u] >> k & 1)
        p->waiters.at[s->atomic_tail[u][k]].next = at;
    else
        s->atomic_head[u][k] = at;
    s->atomic_tail[u][k] = at;
    s->atomic_waits[u] |= 1ull << k;
    s->atomic_free[u] = max(s->atomic_free[u], t) + work_of(p->c, waits.ops, waits.quarters);
}

// The next cluster of which an atomic waits has its turn.
static void next_atomic(orr_l2 *p, uint32_t slice, uint32_t u, uint64_t t, orr_replies *out) {
    orr_l2_slice *s = &p->slice[slice];
    uint32_t k = s->atomic_last[u];
    do k = (k + 1) % ORR_L2_CLUSTERS;
    while (!(s->atomic_waits[u] >> k & 1));
    uint32_t at = s->atomic_head[u][k];
    orr_l2_waiter w = p->waiters.at[at];
    if (at == s->atomic_tail[u][k])
        s->atomic_waits[u] &= ~(1ull << k);
    else
        s->atomic_head[u][k] = w.next;
    orr_l2_free_waiter(p, at);
    s->atomic_last[u] = k;
    work_on(p, slice, t, &w, out);
    uint64_t took = s->atomic_busy[u] - t, thought = work_of(p->c, w.ops, w.quarters);
    if (took > thought) s->atomic_free[u] += took - thought;
    s = &p->slice[slice];
    if (s->atomic_waits[u])
        orr_l2_add_event(
            p, (orr_l2_event){.time = s->atomic_busy[u], .at = u, .slice = (uint16_t)slice, .next = true});
}

// All sectors of a load or an atomic are here.
static void complete(orr_l2 *p, uint32_t slice, uint64_t t, const orr_l2_waiter *w, orr_replies *out) {
    orr_l2_slice *s = &p->slice[slice];
    if (w->kind == ORR_REQ_READ && w->far) {
        orr_l2_serve(p, w->sm, w->live);
        t = cross(p, s, orr_l2_leave(p, s, t, w->sectors), w->sectors) + p->c->far;
        *ORR_PUSH(&p->back) = (orr_l2_event){.time = t, .at = w->token, .sectors = w->sectors, .back = true};
        return;
    }
    if (w->kind == ORR_REQ_READ) {
        answer(p, s, t, w, out);
        return;
    }
    uint32_t u = unit_of(p->c, w->line);
    if (p->c->atomic_turns && (s->atomic_waits[u] || t < s->atomic_busy[u])) {
        wait_for_turn(p, slice, t, w);
        return;
    }
    work_on(p, slice, max(t, s->atomic_free[u]), w, out);
    s->atomic_free[u] = s->atomic_busy[u];
}

// ---- requests -------------------------------------------------------------------------------------

static uint8_t together(const orr_l2_config *c, uint8_t sectors) { // with what is fetched with them
    return orr_l2_widened(sectors, c->sector_shift);
}

void orr_l2_wait_for(orr_l2 *p, orr_l2_miss *miss, const orr_l2_waiter *w) {
    uint32_t at = orr_l2_new_waiter(p);
    p->waiters.at[at] = *w;
    p->waiters.at[at].next = NONE;
    if (miss->head == NONE)
        miss->head = at;
    else
        p->waiters.at[miss->tail].next = at;
    miss->tail = at;
}

// Too many atomics wait for sectors from DRAM, or for the slice to work on those that have come.
static bool blocked_by_atomics(const orr_l2 *p, orr_l2_slice *s) {
    if (!p->c->atomic_queue || s->reducing < p->c->atomic_queue) return false;
    s->in[s->now].blocked = ORR_L2_BLOCKED_LINES;
    return true;
}

// A load or an atomic. False: the slice is blocked, and nothing was done.
static bool load(orr_l2 *p, uint32_t slice, const orr_request *r, uint64_t t, orr_replies *out) {
    orr_cache *c = &p->slice[slice].cache;
    bool behind =
        p->c->atomic_load && r->behind; // of a far line: it takes the atomic's way, and asks for itself
    uint32_t i = behind && r->line & ORR_L2_FAR ? ORR_NO_LINE : orr_cache_find(c, r->line);
    uint8_t here = 0, coming = 0, bytes = 0;
    if (i != ORR_NO_LINE) {
        here = c->line[i].valid;
        coming = c->line[i].pending & ~here;
        bytes = c->line[i].dirty & ~here; // sectors of which some bytes are here
    }
    if (r->kind != ORR_REQ_READ && !orr_l2_room_for_dirty(p, slice, r->line, i, t)) return false;
    uint8_t lack = r->sectors & ~here, missing = lack & ~coming;
    uint32_t miss = i == ORR_NO_LINE ? NONE : c->line[i].user;
    if (missing) {
        bool copy = r->line & ORR_L2_FAR;
        if (!copy && orr_l2_blocked_by_misses(p, &p->slice[slice], i)) return false;
        if (r->kind != ORR_REQ_READ && blocked_by_atomics(p, &p->slice[slice])) return false;
        if (i == ORR_NO_LINE && !(behind && copy) &&
            (i = orr_l2_make_room(p, slice, r->line, t)) == ORR_NO_LINE && !copy)
            return false;
        uint8_t all = together(p->c, missing) & ~here & ~coming;
        miss = orr_l2_fetch(p, slice, i, r->line, all, behind, t);
        if (copy && r->live) { // it is served where the line belongs
            orr_request *asks = &p->ahead.at[p->ahead.n - 1].r;
            asks->sm = r->sm;
            asks->live = r->live;
        }
        if (!r->far && r->kind == ORR_REQ_READ)
            p->stats.read_along[r->from] += (uint64_t)orr_popc(all & ~missing);
        p->stats.fetched_for_write += (uint64_t)orr_popc(missing & bytes);
    }
    bool late = false;
    if (i != ORR_NO_LINE) { // a request for no sector has no line, nor has a copy that is not kept
        orr_cache_touch(c, i);
        if (r->kind != ORR_REQ_READ) {
            late = orr_l2_drop_copy(p, slice, &c->line[i], r->far, t);
            if (p->c->copy_told) c->line[i].used &= (uint8_t)~ORR_LINE_PASSED;
        } else if (r->far)
            c->line[i].used |= ORR_LINE_COPIED;
    }

    uint64_t n = (uint64_t)orr_popc(r->sectors), hits = (uint64_t)orr_popc(r->sectors & here);
    if (r->far) {
        p->stats.far_requests++;
        *(r->kind == ORR_REQ_READ ? &p->stats.far_read : &p->stats.far_atomic) += n;
        p->stats.far_hit += hits + (uint64_t)orr_popc(lack & coming);
    } else if (r->kind == ORR_REQ_READ) {
        p->stats.read[r->from] += n;
        p->stats.read_hit[r->from] += hits;
        p->stats.read_pending[r->from] += (uint64_t)orr_popc(lack & coming);
        if (p->c->merge > 1 && !behind) orr_l2_may_meet(p, &p->slice[slice], r);
    } else {
        p->stats.atomic += n;
        p->stats.atomic_hit += hits;
    }
    if (r->kind != ORR_REQ_READ && i != ORR_NO_LINE) c->line[i].dirty |= r->sectors;
    orr_l2_waiter w = {.sm = r->sm,
                       .token = r->token,
                       .next = NONE,
                       .sectors = r->sectors,
                       .kind = r->kind,
                       .ops = r->ops,
                       .quarters = r->quarters,
                       .slow = r->slow,
                       .told = r->told,
                       .more = r->more,
                       .live = r->live,
                       .line = r->line,
                       .needs = lack,
                       .hit = !lack,
                       .late = late || r->late,
                       .far = r->far};
    if (lack) {
        if (r->kind != ORR_REQ_READ) p->slice[slice].reducing += (uint32_t)n;
        orr_l2_wait_for(p, &p->misses.at[miss], &w);
    } else {
        complete(p, slice, t, &w, out);
    }
    return true;
}

// Something for the other half: it only passes through.
static void passes(orr_l2 *p, uint32_t slice, const orr_request *r, uint64_t t) {
    uint64_t n = (uint64_t)orr_popc(r->sectors);
    if (r->kind == ORR_REQ_WRITE) {
        orr_l2_leave_copy(p, slice, r, t);
        p->stats.write[r->from] += n;
        p->stats.write_hit[r->from] += n;
        t = cross(p, &p->slice[slice], t, r->sectors);
    } else {
        p->stats.atomic += n;
        p->stats.atomic_hit += n;
        if (p->c->atomic_load) orr_l2_forget_copy(p, slice, r->line);
    }
    orr_l2_pass_on(p, slice, r, t);
}

// A fence asks. How long that takes the port.
static uint64_t asks(orr_l2 *p, uint32_t slice, const orr_request *r, uint64_t t, orr_replies *out) {
    if (r->line & ORR_L2_FAR) {
        orr_l2_pass_on(p, slice, r, t);
        return 2 * p->c->fence;
    }
    const orr_l2_slice *s = &p->slice[slice];
    uint64_t done = max(t, max(s->atomic_free[0], s->atomic_free[1])),
             heard = done + heard_after(p->c, r->far, false);
    *ORR_PUSH(out) = (orr_reply){.time = heard, .sm = r->sm, .token = r->token};
    return p->c->fence;
}

// Not long before the slice's data can take it.
static uint64_t after_data(const orr_l2 *p, const orr_l2_slice *s, uint64_t t) {
    return p->c->fill && s->fill_free > t + p->c->fill_ahead ? s->fill_free - p->c->fill_ahead : t;
}

// When a store that is its lane's first from `t` on is done: a line that the other half has stored to has to
// wait, those of this half until the other has not stored there for l2.store_turn, those of the other half
// for l2.store_far and no longer. So where both store to a line all the time, the other half goes first. Were
// both times the same, each could wait for the other at every store: this half in front of one line, the
// other in front of the next.
static uint64_t line_at(const orr_l2 *p, const orr_l2_slice *s, const orr_request *r, uint64_t t) {
    const orr_l2_stored *last = &s->stored[r->line % ORR_L2_TURNS];
    t = after_data(p, s, t);
    if (last->line != r->line || last->until <= t) return t;
    if (!p->c->write_turn) return last->until;
    if (last->far == r->far) return t;
    if (!r->far) return last->until;
    uint64_t until = last->until - p->c->write_turn + p->c->write_far;
    return until <= t ? t : until > t + p->c->write_far ? t + p->c->write_far : until;
}

// A store of part of a sector; it waits for its line behind the port, and not in front of it.
static bool partly(const orr_l2_config *c, const orr_request *r) {
    return c->write_turn && r->kind == ORR_REQ_WRITE && orr_l2_whole_sectors(r) != r->sectors;
}
static const orr_request *first(const orr_l2_lane *in) { return &in->at[in->head]; }
static bool before_it(const orr_request *a, const orr_request *b) { return (int32_t)(a->came - b->came) < 0; }

// The port stands still: a store of part of a sector finds its queue full.
static bool stands(const orr_l2 *p, const orr_l2_slice *s, uint32_t lane) {
    const orr_request *r = first(&s->in[lane]);
    return lane < ORR_L2_ALL_QUEUE && partly(p->c, r) && s->in[lane + 2].n >= p->c->write_queue;
}

// Whether one came first that waits in another lane.
static bool waits_behind(const orr_l2_lane *in, const orr_request *r) {
    return in->n && before_it(first(in), r);
}

// When the first request of a lane is taken.
static uint64_t input_at(const orr_l2 *p, const orr_l2_slice *s, uint32_t lane) {
    const orr_l2_lane *in = &s->in[lane], *all = &s->in[ORR_L2_ALL], *aside = &s->in[ORR_L2_ASIDE],
                      *asked = &s->in[ORR_L2_ASKED];
    if (in->blocked || stands(p, s, lane)) return NEVER;
    const orr_request *r = first(in);
    if (lane == ORR_L2_ALL && waits_behind(aside, r)) return NEVER;
    if (lane == ORR_L2_ALL || lane == ORR_L2_ASIDE)
        if (waits_behind(asked, r)) return NEVER;
    if (lane == ORR_L2_ASIDE || lane == ORR_L2_ASKED) {
        bool held = lane == ORR_L2_ASKED &&
                    (all->blocked == ORR_L2_BLOCKED_LOADS || aside->blocked == ORR_L2_BLOCKED_LOADS);
        if (!held && waits_behind(all, r) && !stands(p, s, ORR_L2_ALL)) return NEVER;
        if (!held && lane == ORR_L2_ASKED && waits_behind(aside, r)) return NEVER;
        in = all; // its port
    }
    uint64_t t = max(r->time, in->free);
    bool queue = lane == ORR_L2_ALL_QUEUE || lane == ORR_L2_OTHER_QUEUE;
    if (!queue && partly(p->c, r)) return max(t, in->masked);
    if (r->kind == ORR_REQ_WRITE && !(r->line & ORR_L2_FAR)) return line_at(p, s, r, t);
    if (r->kind == ORR_REQ_WRITE && s->far_free > t + p->c->far_ahead) return s->far_free - p->c->far_ahead;
    // A load waits for the atomics before it, whatever their lines are (H200: where all SMs swap words of a
    // line, an atomic takes 5,500 cycles, and so does a load of any other line of the slice).
    if (p->c->atomic_load && r->kind == ORR_REQ_READ && !(r->line & ORR_L2_FAR))
        return max(t, max(s->atomic_free[0], s->atomic_free[1]));
    if (r->kind < ORR_REQ_ATOMIC || r->kind == ORR_L2_DROP || r->line & ORR_L2_FAR) return t;
    if (p->c->atomic_switch) return t; // atomics wait by themselves
    uint64_t busy = s->atomic_free[unit_of(p->c, r->line)];
    return p->c->atomic_units ? max(t, busy > p->c->atomic_ahead ? busy - p->c->atomic_ahead : 0)
                              : max(t, busy);
}

// An atomic's sectors are read one after the other, unless its line is one of those that the units have.
static uint64_t atomic_takes(const orr_l2_config *c, orr_l2_slice *s, uint64_t line, uint64_t sectors) {
    uint64_t *at = &s->worked[line % ORR_L2_WORKED];
    bool has = *at == line + 1;
    *at = line + 1;
    return has ? c->cycle / 2 : sectors * c->cycle;
}

// How long a store takes the port, with so much for a whole sector.
static uint64_t store_takes(const orr_l2_config *c, const orr_request *r, uint64_t sector) {
    uint64_t whole = (uint64_t)orr_popc(orr_l2_whole_sectors(r)),
             part = (uint64_t)orr_popc(r->sectors) - whole;
    if (!c->write_turn) return whole * sector + part * c->write_part;
    return whole * sector + (part ? part + 1 : 0) * c->write_mask;
}

// A store is done. False: the slice is blocked. *takes: how long it takes the port, at least, and does.
static bool do_store(orr_l2 *p, uint32_t slice, const orr_request *r, uint64_t t, bool queued,
                     uint64_t *takes, orr_replies *out) {
    orr_l2_slice *s = &p->slice[slice];
    if (!orr_l2_store(p, slice, r, t)) return false;
    orr_l2_serve(p, r->sm, r->live);
    uint64_t whole = (uint64_t)orr_popc(orr_l2_whole_sectors(r)),
             part = (uint64_t)orr_popc(r->sectors) - whole;
    uint64_t least = *takes, fetched = s->part_time, done = t;
    s->part_time = 0;
    uint64_t turn = p->c->write_turn ? p->c->write_turn : p->c->write_again;
    s->stored[r->line % ORR_L2_TURNS] = (orr_l2_stored){r->line, t + turn, r->far};
    uint64_t data = queued ? whole * p->c->write_sector + part * p->c->cycle // its port has taken it
                           : store_takes(p->c, r, p->c->write_sector);
    data = max(least, data + fetched);
    *takes = queued ? max(least, fetched) : data;
    if (p->c->fill) { // whole sectors wait for their turn, but what is behind them does not
        done = max(t, s->fill_free);
        s->fill_free = done + data;
        *takes = queued ? least : max(least, store_takes(p->c, r, p->c->sector) + fetched);
    }
    if (r->told)
        *ORR_PUSH(out) =
            (orr_reply){.time = done + heard_after(p->c, r->far, s->told), .sm = r->sm, .token = r->token};
    happened(p, done);
    return true;
}

// A store that has passed its port is done, one a cycle.
static void from_queue(orr_l2 *p, uint32_t slice, uint32_t lane, uint64_t t, orr_replies *out) {
    orr_l2_slice *s = &p->slice[slice];
    orr_l2_lane *in = &s->in[lane];
    uint64_t takes = p->c->cycle;
    if (!do_store(p, slice, &in->at[in->head], t, true, &takes, out)) return;
    in->free = t + takes;
    if (s->made) s->in[lane - 2].masked = max(s->in[lane - 2].masked, t) + p->c->write_new;
    if (in->n >= p->c->write_queue) s->in[lane - 2].taken = t; // the port stood still
    orr_l2_take_from(s, lane);
}

static void input(orr_l2 *p, uint32_t slice, uint32_t lane, uint64_t t, orr_replies *out) {
    orr_l2_slice *s = &p->slice[slice];
    orr_l2_lane *in = &s->in[lane], *port = lane >= ORR_L2_ASIDE ? &s->in[ORR_L2_ALL] : in;
    s->now = lane;
    if (lane == ORR_L2_ALL_QUEUE || lane == ORR_L2_OTHER_QUEUE) {
        from_queue(p, slice, lane, t, out);
        return;
    }
    orr_request *r = &in->at[in->head];
    if (p->c->store_waits && r->kind == ORR_REQ_WRITE && !r->far) {
        uint64_t until = orr_l2_held(p, s, r, t);
        if (until == NEVER) in->blocked = ORR_L2_BLOCKED_LOADS;
        if (until > t) {
            if (until != NEVER) port->free = until;
            return;
        }
    }
    uint64_t n = (uint64_t)orr_popc(r->sectors);
    // l2.lookup is for answers with data; others are taken in a cycle (micro/atomics: one line of all SMs)
    uint64_t takes = r->kind != ORR_REQ_READ && p->c->lookup > p->c->cycle ? p->c->cycle : p->c->lookup;
    // A load behind an atomic on its line waits until that has been done (H200: an atomic and a load of one
    // line take a slice 3.7 to 5.1 SM cycles, of two lines 1.5 as the atomic alone).
    bool behind =
        p->c->atomic_load && r->kind == ORR_REQ_READ && (r->behind || s->atomic_line == r->line + 1);
    uint64_t busy = 0;                                                            // if that is longer
    if (r->kind >= ORR_REQ_ATOMIC && p->c->atomic_units) takes = p->c->cycle / 2; // one for each unit
    if (r->kind == ORR_L2_DROP) {
        orr_l2_drop(p, slice, r->line);
        takes = 0;
    } else if (r->kind == ORR_REQ_FENCE) {
        takes = asks(p, slice, r, t, out);
    } else if (p->c->merge > 1 && !behind && orr_l2_join(p, slice, r, t, out)) {
        takes = 0;
    } else if (partly(p->c, r)) { // what is no such store passes in between
        busy = store_takes(p->c, r, p->c->sector);
        port->masked = t + busy;
        if (r->line & ORR_L2_FAR) {
            passes(p, slice, r, t);
        } else {
            orr_request behind = *r;
            behind.time = t;
            orr_l2_add_to(s, lane + 2, &behind);
        }
    } else if (r->kind != ORR_REQ_READ && r->line & ORR_L2_FAR) {
        passes(p, slice, r, t);
        takes = max(takes, n * (r->kind == ORR_REQ_WRITE ? p->c->sector : p->c->cycle));
        if (r->slow) takes = max(takes, work_of(p->c, r->ops, r->quarters));
    } else if (r->kind == ORR_REQ_WRITE) {
        if (!do_store(p, slice, r, t, false, &takes, out)) return;
    } else {
        if (!load(p, slice, r, t, out)) return;
        if (r->kind == ORR_REQ_READ || !p->c->atomic_switch) takes = max(takes, n * p->c->sector);
        if (behind && !(r->line & ORR_L2_FAR)) takes = max(takes, p->c->atomic_load);
        if (behind || r->kind >= ORR_REQ_ATOMIC) s->atomic_line = behind ? 0 : r->line + 1;
        if (r->kind >= ORR_REQ_ATOMIC && p->c->atomic_units) takes = atomic_takes(p->c, s, r->line, n);
    }
    port->free = t + takes;
    // An average over 16, of those that were waiting; where none waits it is as fast as it can be.
    uint64_t since = t > r->time ? t - port->taken : takes;
    port->pace = (15 * port->pace + since + 8) / 16;
    port->taken = t;
    in->parts -= partly(p->c, r);
    uint64_t until = t + max(takes, busy); // near and far requests come by ports of their own
    if (until > s->busy_until) {
        p->stats.slice_busy += until - max(t, s->busy_until);
        s->busy_until = until;
    }
    uint32_t lookups = takes != 0 && r->kind != ORR_REQ_FENCE;
    p->stats.requests += lookups;
    s->looked_up += lookups;
    happened(p, t);
    orr_l2_take_from(s, lane);
}

static void unblock(orr_l2_slice *s, int why, uint64_t t) {
    for (orr_l2_lane *in = s->in; in < s->in + ORR_L2_LANES; in++) {
        if (in->blocked != why) continue;
        in->blocked = ORR_L2_FREE;
        in->free = max(in->free, t);
    }
}

static void arrived(orr_l2 *p, const orr_l2_event *e, orr_replies *out) {
    orr_l2_miss *miss = &p->misses.at[e->at];
    orr_l2_slice *s = &p->slice[miss->slice];
    orr_cache_line *l = miss->line == ORR_NO_LINE ? NULL : &s->cache.line[miss->line];
    if (l) {
        l->pending &= ~e->sectors;
        l->valid |= e->sectors;
        if (miss->clean && p->c->whole)
            l->used |= ORR_LINE_WHOLE;
        else if (miss->clean)
            orr_l2_clean(p, miss->slice, l, e->sectors & l->dirty, e->time);
    }
    uint32_t left = NONE, last = NONE, next;
    for (uint32_t w = miss->head; w != NONE; w = next) {
        orr_l2_waiter *at = &p->waiters.at[w];
        next = at->next;
        at->needs &= ~e->sectors;
        if (at->needs) {
            if (left == NONE)
                left = w;
            else
                p->waiters.at[last].next = w;
            last = w;
            at->next = NONE;
        } else {
            orr_l2_waiter copy = *at;
            orr_l2_free_waiter(p, w);
            complete(p, miss->slice, e->time, &copy, out);
        }
    }
    miss->head = left;
    miss->tail = last;
    unblock(s, ORR_L2_BLOCKED_LINES, e->time);
    unblock(s, ORR_L2_BLOCKED_LOADS, e->time);
    if (--miss->open) return;
    if (l) l->user = NONE;
    s->misses -= !miss->copy;
    s->completing -= miss->clean;
    miss->line = ORR_NO_LINE;
    miss->head = p->free_miss;
    p->free_miss = e->at;
}

// ---- the loop -------------------------------------------------------------------------------------

static uint64_t next_event(const orr_l2 *p) { return p->events.n ? p->events.at[0].time : NEVER; }

static uint64_t next_input(const orr_l2 *p, uint32_t *slice, uint32_t *lane) {
    uint64_t t = NEVER;
    for (uint32_t i = 0; i < p->slices; i++) {
        const orr_l2_slice *s = &p->slice[i];
        for (uint32_t m = s->lanes; m; m &= m - 1) {
            uint32_t k = (uint32_t)orr_ffs(m);
            uint64_t at = input_at(p, s, k);
            if (at >= t) continue;
            t = at;
            *slice = i;
            *lane = k;
        }
    }
    return t;
}

static uint64_t next_of_dram(const orr_l2 *p, uint32_t *channel) {
    uint64_t t = orr_dram_next(&p->channel[0]);
    *channel = 0;
    for (uint32_t i = 1; i < p->channels; i++) {
        uint64_t at = orr_dram_next(&p->channel[i]);
        if (at >= t) continue;
        t = at;
        *channel = i;
    }
    return t;
}

uint64_t orr_l2_next(const orr_l2 *p) {
    uint32_t i = 0, lane = 0;
    uint64_t event = next_event(p), in = next_input(p, &i, &lane), dram = next_of_dram(p, &i);
    uint64_t t = event < in ? event : in;
    return t < dram ? t : dram;
}

static void step_dram(orr_l2 *p, uint32_t channel) {
    orr_dram_done done;
    if (!orr_dram_step(&p->channel[channel], &done)) return;
    const orr_l2_miss *miss = &p->misses.at[done.user];
    __builtin_prefetch(&p->slice[miss->slice].cache.line[miss->line], 1);
    orr_l2_add_event(
        p, (orr_l2_event){.time = done.time + p->c->behind, .at = done.user, .sectors = done.sectors});
}

// What comes from DRAM and what is stored take turns (l2.fill), but for what completes a line: that costs the
// slice l2.partial_again or l2.partial_fill where it costs anything. True: it has to wait.
static bool waits_for_turn(orr_l2 *p, orr_l2_event *e) {
    if (!p->c->fill || e->atomic || e->worked || e->back || e->turn || e->next) return false;
    if (p->misses.at[e->at].clean) return false;
    orr_l2_slice *s = &p->slice[p->misses.at[e->at].slice];
    uint64_t t = max(e->time, s->fill_free);
    s->fill_free = t + (uint64_t)orr_popc(e->sectors) * p->c->fill;
    if (t == e->time) return false;
    e->time = t;
    e->turn = true;
    orr_l2_add_event(p, *e);
    return true;
}

static void do_event(orr_l2 *p, orr_replies *out) {
    orr_l2_event e = orr_l2_take_event(p);
    if (waits_for_turn(p, &e)) return;
    if (e.next) {
        next_atomic(p, e.slice, e.at, e.time, out);
        return;
    }
    if (e.worked) {
        p->slice[e.slice].reducing -= (uint32_t)orr_popc(e.sectors);
        unblock(&p->slice[e.slice], ORR_L2_BLOCKED_LINES, e.time);
        return;
    }
    if (!e.atomic) {
        arrived(p, &e, out);
        return;
    }
    orr_l2_waiter w = p->waiters.at[e.at];
    orr_l2_free_waiter(p, e.at);
    answer(p, &p->slice[e.slice], e.time, &w, out);
}

void orr_l2_run(orr_l2 *p, uint64_t until, orr_replies *out) {
    uint32_t slice = 0, lane = 0, channel = 0;
    uint64_t in = next_input(p, &slice, &lane), dram = next_of_dram(p, &channel);
    for (;;) { // at one time: events first, then requests, then DRAM
        uint64_t event = next_event(p), t = event <= in ? event : in;
        if (dram < t) {
            if (dram >= until) break;
            step_dram(p, channel);
            if (p->stuck && !orr_dram_full(&p->channel[channel])) {
                for (uint32_t i = 0; i < p->slices; i++) unblock(&p->slice[i], ORR_L2_BLOCKED_WRITES, dram);
                p->stuck = false;
                in = next_input(p, &slice, &lane);
            }
            dram = next_of_dram(p, &channel);
            continue;
        }
        if (t >= until) break;
        p->now = max(p->now, t); // who waited for others, as at a full queue, goes on now
        if (event <= in) {
            do_event(p, out);
        } else {
            input(p, slice, lane, p->now, out);
            dram = next_of_dram(p, &channel);
        }
        in = next_input(p, &slice, &lane);
    }
    p->until = until;
}

void orr_l2_come_back(orr_l2 *p, const orr_l2_event *e) { orr_l2_add_event(p, *e); }

void orr_l2_add(orr_l2 *p, uint32_t slice, const orr_request *r, uint64_t tag) {
    orr_l2_slice *s = &p->slice[slice];
    orr_request to = *r;
    to.line = tag;
    to.sectors &= 15;
    if (to.from >= ORR_FROMS) to.from = ORR_FROM_GLOBAL;
    uint32_t lane = ORR_L2_ALL;
    if (p->c->write_turn && to.far && partly(p->c, &to))
        lane = ORR_L2_OTHER;
    else if (to.far && to.kind == ORR_REQ_READ && p->c->store_waits)
        lane = ORR_L2_ASKED;
    else if (p->c->write_turn && (tag & ORR_L2_FAR || (to.far && to.kind == ORR_REQ_READ)))
        lane = ORR_L2_ASIDE;
    to.came = s->came++;
    orr_l2_add_to(s, lane, &to);
    s->in[lane].parts += partly(p->c, &to);
    if (!r->far && r->sm / 64 < p->words) s->asked[(tag & ORR_L2_FAR) != 0][r->sm / 64] |= 1ull << r->sm % 64;
    orr_cache_prefetch(&s->cache, tag);
}
