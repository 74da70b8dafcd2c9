// Kernels that are executed as they are timed (step.h).
#include "model/cycle/step.h"

#include <stdlib.h>
#include <string.h>

struct step_sm { // of an SM
    perform_ops ops;
    ORR_VEC(uint8_t *) old; // traces that instructions may still look at
};

void cyc_step_finish(cycle *c) {
    for (uint32_t n = 0; n < c->nsms; n++) {
        struct step_sm *l = c->sms[n].live;
        c->sms[n].port.ops = NULL;
        c->sms[n].live = NULL;
        if (!l) continue;
        perform_free(&l->ops);
        for (size_t k = 0; k < l->old.n; k++) free(l->old.at[k]);
        free(l->old.at);
        free(l);
    }
    c->live = NULL;
    if (!c->perfect) orr_memsys_serve(c->mem, NULL, NULL);
}

// A slice serves a request: on the host thread of its partition, while no SM runs.
static void serve(void *arg, uint32_t sm, uint32_t live) {
    const cycle *c = arg;
    perform_serve(&c->sms[sm].live->ops, live);
}

// They are on their way from all SMs, so that the host has to wait for memory at each of them: it is told of
// all of them before.
void cyc_step_expect(const cycle *c, const orr_request *r, size_t n) {
    for (int values = 0; values < 2; values++)
        for (size_t i = 0; i < n; i++)
            if (r[i].live) perform_expect(&c->sms[r[i].sm].live->ops, r[i].live, r[i].line, values);
}

void cyc_step_begin(cycle *c, orr_step *launch) {
    c->live = launch;
    if (!launch) return;
    if (!c->perfect) orr_memsys_serve(c->mem, serve, c);
    for (uint32_t n = 0; n < c->nsms; n++) {
        c->sms[n].live = orr_calloc(1, sizeof *c->sms[n].live);
        c->sms[n].live->ops.launch = launch;
        c->sms[n].port.ops = &c->sms[n].live->ops;
    }
}

// A barrier or a fence: others see what it has stored, although shared memory may come to it later.
static void settle(const sm *s, const warp *w) {
    const lsu *u = &s->lsu;
    for (uint32_t n = 0; n < u->nqueued; n++) {
        const lsu_queued *q = &u->queue[(u->first + n) % u->spec->places];
        if (q->live && q->live->shared && q->warp == warp_id(w)) perform_shared(q->live);
    }
}

// ---- warps --------------------------------------------------------------------------------------
// More than an instruction of machine code puts into a trace; of lowered code more than two blocks do.
static size_t room_of(const cycle *c) {
    return (8 + (c->traits.in_order ? 0 : 2 * (size_t)c->program->max_access)) * ORR_TRACE_MAX_EVENT;
}

// Room in the warp's trace, when all of it has been read. Instructions in front of L1 look at their events,
// which must not move.
static void make_room(sm *s, warp *w) {
    orr_trace_out *t = orr_step_trace(w->exec);
    if (t->n && w->pc.trace.at != t->bytes + t->n) return;
    if (!s->lsu.warp[warp_id(w)].queued) t->n = 0;
    size_t room = room_of(s->c);
    if (t->cap - t->n < room) {
        if (t->bytes) *ORR_PUSH(&s->live->old) = t->bytes;
        *t = (orr_trace_out){orr_malloc(4 * room), 0, 4 * room, t->mask};
    }
    w->pc.trace.at = w->pc.trace.end = t->bytes + t->n;
}

// All of its lanes wait at a barrier. Behind it they go on where the code does, most likely.
static void park(const cycle *c, warp *w) {
    const orr_kernel *k = c->kernel;
    uint32_t inst = c->program->insts[w->pc.end - 1].inst, b = 0;
    while (inst >= k->blocks[b].first + k->blocks[b].count) b++;
    int32_t next = k->blocks[b].next;
    w->parked = true;
    w->pc.at = w->pc.end - 1;
    if (next < 0 || !c->program->blocks[next].count) return;
    w->pc.at = c->program->blocks[next].first;
    w->pc.end = w->pc.at + c->program->blocks[next].count;
}

static void unpark(sm *s, block *b);

// The executor goes on to the next block of code, which then is what comes next in the warp's trace. Of code
// that was lowered, accesses that came to nothing may be in front of it. False: the warp has ended, or waits.
static bool pull(sm *s, warp *w) {
    const orr_trace_out *t = orr_step_trace(w->exec);
    block *b = &s->tb.slot[w->block];
    int next = orr_step_next(w->exec);
    w->pc.trace.end = t->bytes + t->n;
    if (!s->c->traits.in_order)
        w->pc.trace.at = t->bytes + (next == ORR_STEP_GOES ? orr_step_block_at(w->exec) : t->n);
    w->parked = next == ORR_STEP_WAITS;
    s->bad_trace |= orr_step_faulted(b->live);
    if (orr_step_released(b->live)) unpark(s, b);
    return next == ORR_STEP_GOES;
}

bool cyc_step_next_block(sm *s, warp *w) {
    const orr_program *p = s->c->program;
    w->parked = false;
    do {
        if (!w->pc.has_next) {
            make_room(s, w);
            if (w->pc.trace.at == w->pc.trace.end && !pull(s, w)) {
                if (w->parked) park(s->c, w);
                return w->parked;
            }
            const orr_trace_out *t = orr_step_trace(w->exec);
            w->revisits = (size_t)(w->pc.trace.at - t->bytes) != orr_step_block_at(w->exec);
            if (orr_trace_block(&w->pc.trace, p->nblocks, &w->pc.next, &w->pc.next_mask) <= 0) return false;
        }
        cyc_warp_enter(w, p);
    } while (w->pc.at == w->pc.end);
    return true;
}

// Warps of the block whose barrier is complete go on.
static void unpark(sm *s, block *b) {
    for (uint32_t n = 0; n < b->nwarps; n++) {
        warp *w = b->warp[n] == NOBODY ? NULL : warp_of(s, b->warp[n]);
        if (!w || !w->parked || !cyc_step_next_block(s, w) || w->parked) continue;
        w->barrier = 0;
        w->barrier_passed = s->clock.now + b->barriers.latency;
        cyc_warp_update(s, w);
    }
}

// What has been executed of the warp's block accesses so much.
static void take_accesses(sm *s, warp *w) {
    const orr_trace_out *t = orr_step_trace(w->exec);
    w->pc.base = t->bytes;
    w->pc.trace.end = t->bytes + t->n;
    while (w->pc.trace.at < w->pc.trace.end && w->pc.naccess < s->c->program->max_access) {
        w->pc.access[w->pc.naccess++] = (uint32_t)(w->pc.trace.at - t->bytes);
        if (!orr_trace_skip(&w->pc.trace)) s->bad_trace = true;
    }
}

// Code that was lowered is not issued as it is executed. What an instruction of it accesses has to be known:
// all up to that is executed, if it has not been. Of loads that became one wide one it is the last's access.
static void reach(sm *s, warp *w, const orr_tinst *i) {
    const orr_block *b = &s->c->kernel->blocks[w->pc.next];
    orr_step_issue(w->exec, i->inst, s->clock.now);
    take_accesses(s, w);
    if (i->access == ORR_NO_ACCESS) return;
    for (uint32_t n = i->inst + 1; w->pc.naccess <= i->access && n < b->first + b->count; n++) {
        orr_step_issue(w->exec, n, s->clock.now);
        take_accesses(s, w);
    }
    s->bad_trace |= w->pc.naccess <= i->access;
}

orr_step_access *cyc_step_issue(sm *s, warp *w, const orr_tinst *i) {
    if (w->revisits || w->pc.predicated_off) return NULL; // what it did is done
    block *b = &s->tb.slot[w->block];
    orr_step_access *a = NULL;
    if (i->kind == ORR_TK_BARRIER) b->barriers.latency = i->latency ? i->latency : 1;
    if (s->lsu.warp[warp_id(w)].queued && (i->kind == ORR_TK_BARRIER || i->kind == ORR_TK_FENCE))
        settle(s, w);
    if (!s->c->traits.in_order) {
        uint16_t op = s->c->kernel->insts[i->inst].op;
        if (i->access != ORR_NO_ACCESS || op == ORR_OP_SREG || op == ORR_OP_NANOSLEEP) reach(s, w, i);
    } else {
        make_room(s, w);
        a = orr_step_issue(w->exec, i->inst, s->clock.now);
        if (a) a->ops = 0;
        const orr_trace_out *t = orr_step_trace(w->exec);
        w->pc.trace.end = t->bytes + t->n;
    }
    if (orr_step_released(b->live)) unpark(s, b);
    s->bad_trace |= orr_step_faulted(b->live);
    return a;
}

void cyc_step_barrier(sm *s, warp *w, const orr_tinst *i) {
    if (w->parked)
        w->barrier = (uint8_t)((i->imm < 16 ? i->imm : 0) + 1);
    else if (!(i->flags & ORR_TF_ARRIVE))
        w->barrier_passed = s->clock.now + s->tb.slot[w->block].barriers.latency;
}

void cyc_step_sleep(const sm *s, warp *w) {
    uint64_t until = s->clock.now + orr_step_sleeps(w->exec);
    if (until <= w->front_end_ready) return;
    w->front_end_ready = until;
    w->front_end_stall = ORR_STALL_SLEEP;
}
