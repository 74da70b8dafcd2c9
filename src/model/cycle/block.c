// Thread blocks on an SM. A block in stock starts as soon as there is room for it (launch.turnaround after
// the end of the one before); its warps go to the schedulers in turn. Warps wait for each other at barriers
// (core/barrier.h) and for registers that others give up (setmaxnreg). A block ends with its last warp, and
// its buffers go back to the source.
#include "program/named.h"
#include "model/cycle/grids.h"
#include "model/cycle/step.h"

#include <stdlib.h>
#include <string.h>

// Do warps that have ended make room for other blocks (launch.warp_room)? An SM has more slots for blocks
// then than an empty one could fill.
static bool warps_make_room(const sm *s) { return s->tb.n > s->tb.wave; }

// A slot on the scheduler whose turn it is, or on the next one that has room.
static warp *place_warp(sm *s, uint32_t block, uint64_t block_age) {
    cycle *c = s->c;
    uint32_t most = warps_make_room(s) ? s->tb.sched_warps : c->per_sched;
    for (uint32_t n = 0; n < c->nsched; n++) {
        const scheduler *q = &s->sched[s->tb.next_sched];
        uint32_t at = s->tb.next_sched;
        s->tb.next_sched = (s->tb.next_sched + 1) % c->nsched;
        uint64_t room = ~q->live & (c->per_sched >= 64 ? UINT64_MAX : (1ull << c->per_sched) - 1);
        if (!room || (uint32_t)__builtin_popcountll(q->live) >= most) continue;
        uint32_t slot = (uint32_t)__builtin_ctzll(room);
        warp *w = warp_of(s, warp_number(at, slot));
        w->sched = (uint8_t)at;
        w->slot = (uint8_t)slot;
        w->age = s->tb.next_age++;
        w->block = block;
        scheduler_add(&s->sched[at], slot, w->age, block_age);
        return w;
    }
    return NULL;
}

// A warp starts from nothing but where it is and the buffers that its slot has.
static void start_warp(sm *s, warp *w, const block *b, uint32_t index, uint64_t when) {
    uint32_t id = warp_id(w);
    orr_trace trace = orr_trace_open(b->buf->warps[index]);
    scoreboard_reset(&w->board, s->c->program->control ? 0 : s->c->room.places);
    const orr_program_part *part = b->buf->grid ? &b->buf->grid->code : NULL;
    *w = (warp){.pc = {.trace = trace, .base = trace.at, .access = w->pc.access, .part = part},
                .accounted_until = when,
                .front_end_ready = when,
                .front_end_stall = ORR_STALL_FETCH,
                .sched = w->sched,
                .slot = w->slot,
                .block = w->block,
                .age = w->age,
                .board = w->board,
                .recent =
                    w->recent, // what the warp before wrote last may still be on its way to the registers
                .exec = b->live ? orr_step_warp_of(b->live, index) : NULL};
    lsu_start_warp(&s->lsu, id);
    l1_start_warp(&s->l1, id);
    port_start_warp(&s->port, id, w->age);
    products_start_warp(&s->products, id);
    fence_start_warp(&s->fence, id);
    s->n.warps++;
}

uint32_t cyc_block_room(const sm *s) {
    uint32_t slots = s->tb.n - s->tb.resident, free = 0;
    if (!warps_make_room(s)) return slots;
    for (uint32_t n = 0; n < s->c->nsched; n++) {
        uint32_t live = (uint32_t)__builtin_popcountll(s->sched[n].live);
        free += live < s->tb.sched_warps ? s->tb.sched_warps - live : 0;
    }
    return free / s->tb.block_warps < slots ? free / s->tb.block_warps : slots;
}

// Has the SM room for the first block in stock?
static bool has_room(const sm *s) {
    const grid *g = s->tb.stock->grid;
    return cyc_block_room(s) && (!g || cyc_grid_fits(s->c, g, &s->tb.used));
}

void cyc_block_start(sm *s, uint64_t when) {
    while (s->tb.stock && has_room(s)) {
        cycle *c = s->c;
        uint32_t slot = 0;
        while (s->tb.slot[slot].buf) slot++;
        block *b = &s->tb.slot[slot];
        block_traces *buf = s->tb.stock;
        s->tb.stock = buf->next;
        if (!s->tb.stock) s->tb.stock_end = &s->tb.stock;
        s->tb.stocked--;
        if (when < s->tb.free) when = s->tb.free;
        if (b->end && when < b->end + c->dispatch.turnaround)
            when = b->end + c->dispatch.turnaround; // the block that was there
        if (warps_make_room(s) && s->tb.ended && when < s->tb.ended + c->dispatch.turnaround)
            when = s->tb.ended + c->dispatch.turnaround; // the block at whose end there is room
        if (when < buf->earliest) when = buf->earliest;
        s->tb.free = when + c->spacing;
        if (!s->tb.resident++) s->tb.since = when;
        if (buf->grid) cyc_use_add(&s->tb.used, buf->grid);
        s->tb.started++;
        barriers_reset(&b->barriers);
        b->buf = buf;
        buf->allows_next = 0;
        b->live = c->live ? orr_step_start(c->live, s->id, buf->index) : NULL;
        b->start = when;
        b->end = 0;
        b->mbars.n = b->mwaits.n = b->mcopies.n = 0;
        b->rank = 0;
        b->size = 1;
        b->peers[0] = (cluster_place){s->id, slot};
        b->cluster_barrier = (cluster_phase){0};
        memset(b->given_up, 0, sizeof b->given_up);
        b->nwarps = buf->nwarps;
        b->running = buf->nwarps;
        s->n.blocks++;
        uint64_t first = when + c->dispatch.block_latency, age = s->tb.next_age;
        for (uint32_t n = 0; n < buf->nwarps; n++) {
            warp *w = place_warp(s, slot, age);
            if (!w) { // the occupancy said there is room
                s->bad_trace = true;
                return;
            }
            b->warp[n] = warp_id(w);
            start_warp(s, w, b, n, when);
        }
        // So that the first warps of blocks, which often have more to do, are not all on one scheduler.
        if (c->gpu->launch_rotate_schedulers && buf->nwarps % c->nsched == 0)
            s->tb.next_sched = (s->tb.next_sched + 1) % c->nsched;
        for (uint32_t n = 0; n < buf->nwarps && !s->bad_trace; n++) {
            warp *w = warp_of(s, b->warp[n]);
            w->front_end_ready = first + n * c->dispatch.warp_interval;
            if (!cyc_warp_next_block(s, w)) { // it never ran anything
                w->pc.at = w->pc.end = 1;
                cyc_block_warp_ended(s, w);
                continue;
            }
            if (!c->core.fetch.perfect) {
                uint32_t pc = c->program->insts[w->pc.at].pc;
                uint64_t t = fetch_instruction(&s->fetch, w->sched, &w->fetched, pc, when);
                if (t > w->front_end_ready) w->front_end_ready = t;
            }
            cyc_warp_update(s, w);
        }
    }
}

void cyc_block_free(block *b) {
    free(b->warp);
    free(b->mbars.at);
    free(b->mwaits.at);
    free(b->mcopies.at);
}

// ---- barriers -----------------------------------------------------------------------------------
static void release(sm *s, block *b, int which) {
    if (which == BARRIER_HOLDS) return;
    for (uint32_t n = 0; n < b->nwarps; n++) {
        warp *w = b->warp[n] == NOBODY ? NULL : warp_of(s, b->warp[n]);
        if (!w || !w->barrier || (which != BARRIER_ALL && w->barrier != which + 1)) continue;
        if (w->barrier == CLUSTER_BARRIER + 1) continue;
        w->barrier = 0;
        barriers_pass(&b->barriers);
        w->barrier_passed = s->clock.now + b->barriers.latency;
        cyc_warp_update(s, w);
    }
    barriers_over(&b->barriers, which);
}

static uint32_t index_of(const block *b, const warp *w) {
    uint32_t n = 0;
    while (n < b->nwarps && b->warp[n] != warp_id(w)) n++;
    return n;
}

void cyc_block_barrier(sm *s, warp *w, const orr_tinst *i) {
    block *b = &s->tb.slot[w->block];
    uint32_t n = index_of(b, w);
    if (orr_barrier_passed_by(i, n)) return;
    uint32_t which = orr_barrier_known(i)
                         ? orr_barrier_number(i, n)
                         : barriers_named(i->imm, i->warps, b->nwarps, n, s->c->traits.arrives_only);
    bool waits = !(i->flags & ORR_TF_ARRIVE);
    b->barriers.latency = i->latency ? i->latency : 1;
    if (s->c->gpu->core_barrier_free) return;
    if (waits) w->barrier = (uint8_t)(which + 1);
    release(s, b,
            barriers_arrive(&b->barriers, which, waits, i->warps, b->nwarps,
                            b->running - b->cluster_barrier.waiting_warps));
}

// ---- registers that warps give to each other ----------------------------------------------------------
// A warp that asks for registers which nobody has given up yet tries again, with four instructions each time
// (WARPSYNC, USETMAXREG, PLOP3, BRA; H200: micro/hopper, registers.up), until a warp of its sub-core has.
static void tried_again(sm *s, warp *w, uint64_t times) {
    uint32_t inst = w->setmaxnreg.inst - 1, from = inst, end = inst + 1;
    const orr_tinst *insts = s->c->program->insts;
    if (from && insts[from - 1].sass == ORR_SASS_WARPSYNC) from--;
    while (end < s->c->program->ninsts && end < inst + 4 && insts[end - 1].sass != ORR_SASS_BRA) end++;
    for (uint64_t k = 0; k < times; k++)
        for (uint32_t n = from; n < end; n++) {
            charge(s, n, ORR_STALL_ISSUED, 1);
            cyc_count_issue(s, w, n);
            w->accounted_until++;
        }
}

// Registers are there from `when` on.
static void grant(sm *s, warp *w, uint64_t when) {
    const orr_gpu *g = s->c->gpu;
    uint64_t period = (uint64_t)g->registers_retry,
             late = when > w->setmaxnreg.since ? when - w->setmaxnreg.since : 0;
    uint64_t times = period ? (late + period - 1) / period : 0;
    tried_again(s, w, times);
    w->front_end_ready = w->setmaxnreg.since + times * period;
    w->setmaxnreg.inst = 0;
    cyc_warp_update(s, w);
}

void cyc_block_registers(sm *s, warp *w, const orr_tinst *i, uint32_t inst) {
    const orr_gpu *g = s->c->gpu;
    block *b = &s->tb.slot[w->block];
    uint32_t sub = w->sched / s->c->sched_per_sub;
    int32_t had = (int32_t)s->c->program->registers, n = i->warps;
    uint64_t now = s->clock.now;
    if (g->registers_retry <= 0 || !n) return;
    if (i->imm) {
        w->setmaxnreg.n = n - had;
        if (w->setmaxnreg.n <= b->given_up[sub]) {
            if (w->setmaxnreg.n > 0) b->given_up[sub] -= w->setmaxnreg.n;
            w->front_end_ready = latest(w->front_end_ready, now);
            return;
        }
        w->setmaxnreg.since = now;
        w->setmaxnreg.inst = inst + 1;
        w->front_end_ready = NEVER;
        return;
    }
    w->front_end_ready = latest(w->front_end_ready, now + (uint64_t)g->registers_release);
    if (n < had) b->given_up[sub] += had - n;
    for (uint32_t k = 0; k < b->nwarps; k++) {
        warp *v = b->warp[k] == NOBODY ? NULL : warp_of(s, b->warp[k]);
        if (!v || !v->setmaxnreg.inst || v->sched / s->c->sched_per_sub != sub ||
            v->setmaxnreg.n > b->given_up[sub])
            continue;
        b->given_up[sub] -= v->setmaxnreg.n;
        grant(s, v, now);
    }
}

bool cyc_block_registers_anyway(sm *s) {
    bool some = false;
    for (uint32_t n = 0; n < s->c->nsched; n++)
        for (uint64_t m = s->sched[n].live; m; m &= m - 1) {
            warp *w = warp_of(s, warp_number(n, (uint32_t)__builtin_ctzll(m)));
            if (!w->setmaxnreg.inst) continue;
            grant(s, w, s->clock.now);
            some = true;
        }
    return some;
}

// Fewer warps can come to the block's barriers.
void cyc_block_check(sm *s, block *b) {
    release(s, b, barriers_left(&b->barriers, b->running - b->cluster_barrier.waiting_warps));
}

// ---- the end ------------------------------------------------------------------------------------
static void end_block(sm *s, uint32_t slot, uint64_t when) {
    cycle *c = s->c;
    block *b = &s->tb.slot[slot];
    if (when > s->tb.finished) s->tb.finished = when;
    if (c->timeline) {
        if (s->tb.spans.n < MAX_SPANS)
            *ORR_PUSH(&s->tb.spans) = (orr_span){b->buf->index, b->start, when, s->id, slot};
        else
            s->tb.spans_left_out++;
    }
    if (b->live) orr_step_end(b->live);
    b->live = NULL;
    b->buf->started = b->start;
    b->buf->ended = when;
    b->buf->next = s->tb.done;
    s->tb.done = b->buf;
    if (b->buf->grid) {
        cyc_use_remove(&s->tb.used, b->buf->grid);
        cyc_use_remove(&s->tb.planned, b->buf->grid);
    }
    b->buf = NULL;
    s->tb.block_cycles += when - b->start;
    uint64_t next =
        NEVER; // of those that are here the first start; later than this end: the SM is idle until then
    for (uint32_t n = 0; n < s->tb.n; n++)
        if (s->tb.slot[n].buf && s->tb.slot[n].start < next) next = s->tb.slot[n].start;
    s->tb.resident--;
    if (next > when) {
        s->tb.active_cycles += when - s->tb.since;
        s->tb.since = next;
    }
    b->end = when;
    s->tb.ended = latest(s->tb.ended, when);
    cyc_block_start(s, when);
    s->out_of_blocks = c->blocks_left && !s->tb.stock && cyc_block_room(s);
}

void cyc_block_warp_ended(sm *s, warp *w) {
    block *b = &s->tb.slot[w->block];
    uint64_t when =
        latest(latest(w->front_end_ready, w->memory.answered), s->lsu.warp[warp_id(w)].stores_read);
    if (when < w->accounted_until) when = w->accounted_until;
    if (when < s->clock.now) when = s->clock.now;
    if (w->accounted_until < when && w->pc.at) cyc_warp_account(s, w, when);
    scheduler_remove(&s->sched[w->sched], w->slot);
    for (uint32_t n = 0; n < b->nwarps; n++)
        if (b->warp[n] == warp_id(w)) b->warp[n] = NOBODY;
    if (when > b->end) b->end = when;
    b->running--;
    cyc_cluster_left(s, b);
    if (!b->running)
        end_block(s, w->block, b->end);
    else if (!b->live)
        cyc_block_check(s, b);
}
