// Thread blocks on an SM of the abstract model: as model/cycle/block.c has it, with warps that may be
// batches. A block starts when there is room, its warps go to the schedulers in turn and wait for each other
// at barriers; it ends with its last warp.
#include "program/named.h"
#include "model/abstract/abstract.h"

#include <string.h>

// A place on the scheduler whose turn it is, or on the next one that has room; NOBODY: there is none.
static uint32_t place_warp(acore *s) {
    const machine *m = s->m;
    uint64_t all = m->per_sched >= 64 ? UINT64_MAX : (1ull << m->per_sched) - 1;
    for (uint32_t n = 0; n < m->nsched; n++) {
        uint32_t at = s->blocks.next_sched;
        asched *q = &s->sched[at];
        s->blocks.next_sched = (s->blocks.next_sched + 1) % m->nsched;
        if (!(~q->used & all)) continue;
        uint32_t k = (uint32_t)__builtin_ctzll(~q->used & all), id = at * m->per_sched + k;
        q->used |= 1ull << k;
        s->warps[id].sched = (uint8_t)at;
        return id;
    }
    return NOBODY;
}

static void start_warp(acore *s, awarp *w, const block_traces *b, uint32_t index) {
    const machine *m = s->m;
    abt_async_warp_start(s, w);
    w->memory_done = w->loads_done = w->stores_done = w->banks_free = w->fetched = 0;
    w->group = w->seg = w->end = w->code = w->body = 0;
    w->n = 1;
    w->skew = w->batch.nparts = 0;
    w->stretch = 16;
    w->batch.pending = 0;
    w->waiting = 0;
    w->has_next = w->predicated_off = false;
    w->group_ready[0] = 0;
    w->trace = orr_trace_open(b->warps[index]);
    w->base = w->trace.at;
    uint32_t places = m->code->nplaces;
    w->ready.loads = places <= NEAR_PLACES ? w->ready.near : w->ready.many;
    w->ready.others = w->ready.loads + (places <= NEAR_PLACES ? NEAR_PLACES : places);
    w->ready.rear = w->ready.others + (places <= NEAR_PLACES ? NEAR_PLACES : places);
    memset(w->ready.loads, 0, places * sizeof *w->ready.loads);
    memset(w->ready.rear, 0, places * sizeof *w->ready.rear);
    memset(w->ready.others, 0, places * sizeof *w->ready.others);
}

void abt_block_start(acore *s, uint32_t slot, block_traces *buf, uint64_t when) {
    machine *m = s->m;
    ablock *b = &s->blocks.at[slot];
    if (when < s->blocks.free) when = s->blocks.free;
    if (b->end && when < b->end + m->c->dispatch.turnaround) when = b->end + m->c->dispatch.turnaround;
    if (when < buf->earliest) when = buf->earliest;
    s->blocks.free = when + m->window.spacing;
    if (!s->blocks.running++) s->since = when;
    memset(b->arrived, 0, sizeof b->arrived);
    b->buf = buf;
    abt_step_start(m, s, b);
    b->start = when;
    b->end = 0;
    memset(b->last_arrival, 0, sizeof b->last_arrival);
    abt_async_block_start(b);
    b->at_barrier = 0;
    b->bar_latency = 1;
    b->nwarps = b->running = buf->nwarps;
    s->n.blocks += 1 + b->npeers;
    uint64_t first = when + m->c->dispatch.block_latency;
    awarp *head = NULL;
    const aform *form = NULL;
    for (uint32_t n = 0; n < buf->nwarps; n++) {
        uint32_t id = place_warp(s);
        if (id == NOBODY) { // the occupancy said there is room
            s->bad_trace = true;
            return;
        }
        s->n.warps += 1 + b->npeers;
        if (head && form && head->n < m->batch && abt_form_has(form, buf->warps[n])) {
            head->batch.index[head->n] = (uint8_t)n;
            abt_batch_join(head, &s->warps[id], id, buf->warps[n]);
            abt_async_warp_start(s, &s->warps[id]);
            head->skew += (uint32_t)m->c->dispatch.warp_interval;
            b->warp[n] = NOBODY;
            s->queue.when[id] = NEVER;
            continue;
        }
        head = &s->warps[id];
        b->warp[n] = id;
        head->block = slot;
        head->batch.index[0] = (uint8_t)n;
        start_warp(s, head, buf, n);
        head->step.exec = b->live ? orr_step_warp_of(b->live, n) : NULL;
        form = m->stepped.step ? NULL : abt_form_of(m->code, buf->warps[n]);
        s->queue.order[s->queue.n++] = (uint16_t)id;
        s->queue.at[id] = head->trace.at;
        s->queue.when[id] = first + n * m->c->dispatch.warp_interval;
    }
    if (m->c->gpu->launch_rotate_schedulers && buf->nwarps % m->nsched == 0)
        s->blocks.next_sched = (s->blocks.next_sched + 1) % m->nsched;
    if (buf->nwarps && first < s->queue.next) s->queue.next = first;
}

// ---- barriers ----------------------------------------------------------------------------------------
static void release(acore *s, ablock *b, int which) {
    uint64_t t = 0;
    for (int n = 0; n < BLOCK_BARRIERS; n++)
        if (which < 0 || n == which) t = latest(t, b->last_arrival[n]);
    t += b->bar_latency;
    s->queue.changed = true;
    for (uint32_t n = 0; n < b->nwarps; n++) {
        uint32_t id = b->warp[n];
        awarp *w = id == NOBODY ? NULL : &s->warps[id];
        if (!w || !w->waiting || (which >= 0 && w->waiting != which + 1)) continue;
        if (w->waiting == CLUSTER_BARRIER + 1) continue;
        w->waiting = 0;
        w->skew = 0;
        b->at_barrier -= w->n;
        s->queue.when[id] &= ~WAITS;
        if (s->queue.when[id] < t) s->queue.when[id] = t;
    }
    for (int n = 0; n < BLOCK_BARRIERS; n++)
        if (which < 0 || n == which) b->arrived[n] = 0, b->last_arrival[n] = 0;
}

static void release_if_all(acore *s, ablock *b) {
    if (b->at_barrier && b->at_barrier == b->running - b->async.waiting_warps) release(s, b, -1);
}

void abt_block_barrier(acore *s, uint32_t id, const orr_tinst *i, uint64_t when) {
    awarp *w = &s->warps[id];
    ablock *b = &s->blocks.at[w->block];
    uint32_t n = w->batch.index[0];
    if (orr_barrier_passed_by(i, n)) return;
    int which =
        (int)(orr_barrier_known(i) ? orr_barrier_number(i, n)
                                   : barriers_named(i->imm, i->warps, b->nwarps, n, s->m->code->hands_on));
    b->arrived[which] += w->n;
    if (b->last_arrival[which] < when) b->last_arrival[which] = when;
    b->bar_latency = i->latency ? i->latency : 1;
    if (!(i->flags & ORR_TF_ARRIVE)) {
        w->waiting = (uint8_t)(which + 1);
        b->at_barrier += w->n;
        s->queue.when[id] |= WAITS; // far away, until it is let go
    }
    if (i->warps && i->warps < b->nwarps && b->arrived[which] >= i->warps)
        release(s, b, which);
    else
        release_if_all(s, b);
}

// ---- the end -----------------------------------------------------------------------------------------
static void end_block(acore *s, ablock *b) {
    if (b->end > s->finished) s->finished = b->end;
    abt_step_end(b);
    b->buf->ended = b->end;
    b->buf->next = s->done;
    s->done = b->buf;
    b->buf = NULL;
    for (uint32_t k = 0; k < b->npeers; k++) {
        b->peer[k]->ended = b->end;
        b->peer[k]->next = s->done;
        s->done = b->peer[k];
    }
    b->npeers = 0;
    if (!--s->blocks.running) s->active += b->end - s->since;
}

void abt_block_warp_ended(acore *s, uint32_t id) {
    const awarp *w = &s->warps[id];
    ablock *b = &s->blocks.at[w->block];
    uint64_t when = s->queue.when[id] + w->skew > w->loads_done ? s->queue.when[id] + w->skew : w->loads_done;
    s->sched[w->sched].used &= ~(1ull << id % s->m->per_sched);
    for (uint32_t n = 1; n < w->n; n++)
        s->sched[w->batch.id[n] / s->m->per_sched].used &= ~(1ull << w->batch.id[n] % s->m->per_sched);
    s->queue.when[id] = NEVER;
    s->queue.changed = true;
    for (uint32_t n = 0; n < b->nwarps; n++)
        if (b->warp[n] == id) b->warp[n] = NOBODY;
    if (when > b->end) b->end = when;
    if (w->async.read > b->end) b->end = w->async.read;
    b->running -= w->n;
    abt_cluster_left(s, b, when);
    if (!b->running)
        end_block(s, b);
    else
        release_if_all(s, b);
}
