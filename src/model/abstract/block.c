// Thread blocks on an SM: where their warps go, when they wait for each other, when they are done.
#include "model/abstract/abstract.h"

#include <string.h>

// A place on the scheduler whose turn it is, or on the next one that has room.
static awarp *place_warp(acore *s) {
    machine *m = s->m;
    uint64_t all = m->per_sched >= 64 ? UINT64_MAX : (1ull << m->per_sched) - 1;
    for (uint32_t n = 0; n < m->nsched; n++) {
        uint32_t at = s->next_sched;
        asched *q = &s->sched[at];
        s->next_sched = (s->next_sched + 1) % m->nsched;
        if (!(~q->used & all)) continue;
        uint32_t k = (uint32_t)__builtin_ctzll(~q->used & all);
        q->used |= 1ull << k;
        q->warps[k].sched = (uint8_t)at;
        abt_sched_add(q, k);
        return &q->warps[k];
    }
    return NULL;
}

static void start_warp(const machine *m, awarp *w, const tbuf *b, uint32_t index, uint64_t first) {
    w->front = first;
    w->landed = w->stored = w->fetched = 0;
    w->group = w->at = w->end = w->body = 0;
    w->waiting = 0;
    w->has_then = w->ghost = false;
    memset(w->bar, 0, sizeof w->bar);
    memset(w->group_ready, 0, sizeof w->group_ready);
    w->trace = orr_trace_open(b->warps[index]);
    w->base = w->trace.at;
    if (m->places && !m->control) memset(w->reg, 0, m->places * sizeof *w->reg);
}

void abt_block_start(acore *s, uint32_t slot, tbuf *buf, uint64_t when) {
    machine *m = s->m;
    ablock *b = &s->blocks[slot];
    if (when < s->block_free) when = s->block_free;
    if (b->end && when < b->end + m->c->turnaround) when = b->end + m->c->turnaround;
    if (when < buf->earliest) when = buf->earliest;
    s->block_free = when + m->spacing;
    if (!s->running++) s->since = when;
    memset(b->arrived, 0, sizeof b->arrived);
    b->buf = buf;
    b->start = when;
    b->end = 0;
    b->at_barrier = 0;
    b->bar_latency = 1;
    b->nwarps = b->running = buf->nwarps;
    s->n.blocks++;
    uint64_t first = when + m->c->block_latency;
    for (uint32_t n = 0; n < buf->nwarps; n++) {
        awarp *w = place_warp(s);
        if (!w) { // the occupancy said there is room
            s->damaged = true;
            return;
        }
        b->warp[n] = (uint32_t)w->sched * MAX_WARPS + (uint32_t)(w - s->sched[w->sched].warps);
        w->block = slot;
        start_warp(m, w, buf, n, first + n * m->c->warp_interval);
        s->n.warps++;
    }
    for (uint32_t n = 0; n < buf->nwarps && !s->damaged; n++) {
        awarp *w = awarp_of(s, b->warp[n]);
        if (!abt_warp_next_block(s, w)) { // it never ran anything
            abt_block_warp_ended(s, w);
            continue;
        }
        if (!m->gpu->icache_perfect) {
            uint64_t t = abt_fetch(s, w, m->code->insts[w->at].line, when);
            if (t > w->front) w->front = t;
        }
        abt_warp_look(s, w);
    }
}

// ---- barriers
// -----------------------------------------------------------------------------------------------
static void release(acore *s, ablock *b, int which) {
    uint64_t t = s->now + b->bar_latency;
    for (uint32_t n = 0; n < b->nwarps; n++) {
        awarp *w = b->warp[n] == NOBODY ? NULL : awarp_of(s, b->warp[n]);
        if (!w || !w->waiting || (which >= 0 && w->waiting != which + 1)) continue;
        w->waiting = 0;
        b->at_barrier--;
        if (w->front < t) w->front = t;
        abt_warp_look(s, w);
    }
    if (which >= 0)
        b->arrived[which] = 0;
    else
        memset(b->arrived, 0, sizeof b->arrived);
}

static void release_if_all(acore *s, ablock *b) {
    if (b->running && b->at_barrier == b->running) release(s, b, -1);
}

void abt_block_barrier(acore *s, awarp *w, const orr_tinst *i) {
    ablock *b = &s->blocks[w->block];
    int which = i->imm < 16 ? i->imm : 0;
    b->arrived[which]++;
    b->bar_latency = i->latency ? i->latency : 1;
    if (!(i->flags & ORR_TF_ARRIVE)) {
        w->waiting = (uint8_t)(which + 1);
        b->at_barrier++;
    }
    if (i->warps && i->warps < b->nwarps && b->arrived[which] >= i->warps)
        release(s, b, which);
    else
        release_if_all(s, b);
}

// ---- the end
// ------------------------------------------------------------------------------------------------
static void end_block(acore *s, ablock *b) {
    if (b->end > s->finished) s->finished = b->end;
    b->buf->ended = b->end;
    b->buf->next = s->done;
    s->done = b->buf;
    b->buf = NULL;
    if (!--s->running) s->active += b->end - s->since;
    // Another takes its place at once; when that is beyond the window, the next window will see to it.
    s->ended = (uint32_t)(b - s->blocks);
    s->starved |= s->m->stops || (s->m->more && b->end < s->m->until);
}

void abt_block_warp_ended(acore *s, awarp *w) {
    ablock *b = &s->blocks[w->block];
    uint64_t when = w->front > w->landed ? w->front : w->landed;
    uint32_t me = (uint32_t)w->sched * MAX_WARPS + (uint32_t)(w - s->sched[w->sched].warps);
    if (when < s->now) when = s->now;
    abt_sched_remove(&s->sched[w->sched], me % MAX_WARPS);
    for (uint32_t n = 0; n < b->nwarps; n++)
        if (b->warp[n] == me) b->warp[n] = NOBODY;
    if (when > b->end) b->end = when;
    if (!--b->running)
        end_block(s, b);
    else
        release_if_all(s, b);
}
