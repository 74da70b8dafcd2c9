// Thread blocks on an SM: where their warps go, when they wait for each other, when they are done.
#include "model/cycle/step.h"

#include <stdlib.h>
#include <string.h>

// A slot on the scheduler whose turn it is, or on the next one that has room.
static warp *place_warp(sm *s) {
    cycle *c = s->c;
    for (uint32_t n = 0; n < c->nsched; n++) {
        sched *q = &s->sched[s->next_sched];
        uint32_t at = s->next_sched;
        s->next_sched = (s->next_sched + 1) % c->nsched;
        uint64_t room = ~q->live & (c->per_sched >= 64 ? UINT64_MAX : (1ull << c->per_sched) - 1);
        if (!room) continue;
        uint32_t slot = (uint32_t)__builtin_ctzll(room);
        q->live |= 1ull << slot;
        warp *w = &q->warps[slot];
        w->sched = (uint8_t)at;
        w->slot = (uint8_t)slot;
        return w;
    }
    return NULL;
}

static void start_warp(sm *s, warp *w, const block *b, uint32_t index, uint64_t when) {
    cycle *c = s->c;
    w->since = w->front = when;
    w->front_why = ORR_STALL_FETCH;
    w->waiting = 0;
    w->through = 0;
    w->inflight = 0;
    w->landed = w->stored = w->leaves = w->fenced = w->worked = w->passed = w->way = w->syncs = 0;
    w->reducing = 0;
    w->come_first = NOBODY;
    w->restored = 0;
    w->yielded = w->replays = false;
    w->look = 0;
    w->looking = 0;
    w->at_l1 = 0;
    w->in_line = 0;
    w->fences = false;
    w->fetched = 0;
    w->group = 0;
    w->copies = 0;
    w->at = w->end = 0;
    w->body = 0;
    w->has_then = w->ghost = false;
    memset(w->group_open, 0, sizeof w->group_open);
    memset(w->group_ready, 0, sizeof w->group_ready);
    memset(w->copies_open, 0, sizeof w->copies_open);
    memset(w->copies_ready, 0, sizeof w->copies_ready);
    memset(w->sb_ready, 0, sizeof w->sb_ready);
    memset(w->sb_open, 0, sizeof w->sb_open);
    w->trace = orr_trace_open(b->buf->warps[index]);
    w->base = w->trace.at;
    w->exec = b->live ? orr_step_warp_of(b->live, index) : NULL;
    w->again = w->parked = false;
    w->need = b->buf->planned ? b->buf->need_at[index] : 0;
    w->age = s->sched[w->sched].age[w->slot] = s->next_age++;
    if (c->places) memset(w->reg, 0, c->places * sizeof *w->reg);
    s->n.warps++;
}

void cyc_block_start(sm *s, uint64_t when) {
    while (s->stock && s->resident < s->nblocks) {
        cycle *c = s->c;
        uint32_t slot = 0;
        while (s->blocks[slot].buf) slot++;
        block *b = &s->blocks[slot];
        tbuf *buf = s->stock;
        s->stock = buf->next;
        if (!s->stock) s->stock_end = &s->stock;
        s->nstock--;
        if (when < s->block_free) when = s->block_free;
        if (b->end && when < b->end + c->turnaround)
            when = b->end + c->turnaround; // the block that was there
        if (when < buf->earliest) when = buf->earliest;
        s->block_free = when + c->spacing;
        if (!s->resident++) s->since = when;
        s->started++;
        memset(b->barrier, 0, sizeof b->barrier);
        b->buf = buf;
        b->live = c->live ? orr_step_start(c->live, s->id, buf->index) : NULL;
        b->start = when;
        b->end = 0;
        b->at_barrier = 0;
        b->mbars.n = b->mwaits.n = b->mcopies.n = 0;
        b->nwarps = buf->nwarps;
        b->running = buf->nwarps;
        s->n.blocks++;
        uint64_t first = when + c->block_latency;
        for (uint32_t n = 0; n < buf->nwarps; n++) {
            warp *w = place_warp(s);
            if (!w) { // the occupancy said there is room
                s->damaged = true;
                return;
            }
            b->warp[n] = warp_id(w);
            w->block = slot;
            start_warp(s, w, b, n, when);
        }
        // So that the first warps of blocks, which often have more to do, are not all on one scheduler.
        if (c->gpu->launch_turn && buf->nwarps % c->nsched == 0)
            s->next_sched = (s->next_sched + 1) % c->nsched;
        for (uint32_t n = 0; n < buf->nwarps && !s->damaged; n++) {
            warp *w = warp_of(s, b->warp[n]);
            w->front = first + n * c->warp_interval;
            if (!cyc_warp_next_block(s, w)) { // it never ran anything
                w->at = w->end = 1;
                cyc_block_warp_ended(s, w);
                continue;
            }
            if (!c->gpu->icache_perfect) {
                uint64_t t = cyc_fetch_when(s, w, c->program->insts[w->at].pc, when);
                if (t > w->front) w->front = t;
            }
            cyc_warp_look(s, w);
        }
    }
}

void cyc_block_free(block *b) {
    free(b->warp);
    free(b->mbars.at);
    free(b->mwaits.at);
    free(b->mcopies.at);
}

// ---- barriers
// -----------------------------------------------------------------------------------------------------
static void release(sm *s, block *b, int which) {
    for (uint32_t n = 0; n < b->nwarps; n++) {
        warp *w = b->warp[n] == NOBODY ? NULL : warp_of(s, b->warp[n]);
        if (!w || !w->waiting || (which >= 0 && w->waiting != which + 1)) continue;
        w->waiting = 0;
        b->at_barrier--;
        w->through = s->now + b->bar_latency;
        cyc_warp_look(s, w);
    }
    if (which >= 0)
        b->barrier[which].arrived = 0;
    else
        memset(b->barrier, 0, sizeof b->barrier);
}

// Every warp that has not ended waits: whatever they wait for, they all have come. This is the rule for
// barriers of all warps, and it also lets go what a stream cannot say exactly (the halves of a diverged warp
// arrive one after the other).
static void release_if_all(sm *s, block *b) {
    if (b->running && b->at_barrier == b->running && !b->live) release(s, b, -1);
}

void cyc_block_barrier(sm *s, warp *w, const orr_tinst *i) {
    block *b = &s->blocks[w->block];
    int which = i->imm < 16 ? i->imm : 0;
    b->barrier[which].arrived++;
    b->bar_latency = i->latency ? i->latency : 1;
    if (!(i->flags & ORR_TF_ARRIVE)) {
        w->waiting = (uint8_t)(which + 1);
        b->at_barrier++;
    }
    if (i->warps && i->warps < b->nwarps && b->barrier[which].arrived >= i->warps)
        release(s, b, which);
    else
        release_if_all(s, b);
}

// ---- the end
// ---------------------------------------------------------------------------------------------------------
static void end_block(sm *s, uint32_t slot, uint64_t when) {
    cycle *c = s->c;
    block *b = &s->blocks[slot];
    if (when > s->finished) s->finished = when;
    if (c->timeline) {
        if (s->spans.n < MAX_SPANS)
            *ORR_PUSH(&s->spans) = (orr_span){b->buf->index, b->start, when, s->id, slot};
        else
            s->spans_left_out++;
    }
    if (b->live) orr_step_end(b->live);
    b->live = NULL;
    b->buf->started = b->start;
    b->buf->ended = when;
    b->buf->next = s->done;
    s->done = b->buf;
    b->buf = NULL;
    s->block_cycles += when - b->start;
    uint64_t next =
        NEVER; // of those that are here the first start; later than this end: the SM is idle until then
    for (uint32_t n = 0; n < s->nblocks; n++)
        if (s->blocks[n].buf && s->blocks[n].start < next) next = s->blocks[n].start;
    s->resident--;
    if (next > when) {
        s->active_cycles += when - s->since;
        s->since = next;
    }
    b->end = when;
    cyc_block_start(s, when);
    s->starved = c->more && !s->stock && s->resident < s->nblocks;
}

void cyc_block_warp_ended(sm *s, warp *w) {
    block *b = &s->blocks[w->block];
    sched *q = &s->sched[w->sched];
    uint64_t gone = w->front + (w->at ? s->c->exit_latency : 0), when = gone > w->landed ? gone : w->landed;
    if (when < w->leaves) when = w->leaves;
    if (when < w->since) when = w->since;
    if (when < s->now) when = s->now;
    if (w->since < when && w->at) cyc_warp_account(s, w, when);
    q->live &= ~(1ull << w->slot);
    q->awake &= ~(1ull << w->slot);
    q->ready[w->slot] = NEVER;
    for (uint32_t n = 0; n < b->nwarps; n++)
        if (b->warp[n] == warp_id(w)) b->warp[n] = NOBODY;
    if (when > b->end) b->end = when;
    if (!--b->running)
        end_block(s, w->block, b->end);
    else
        release_if_all(s, b);
}
