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

void cyc_step_begin(cycle *c, orr_step *launch) {
    uint8_t order = 0;
    c->live = launch;
    c->strong = false;
    if (!launch) return;
    for (uint32_t n = 0; n < c->kernel->ninsts; n++) order |= orr_inst_order(&c->kernel->insts[n]);
    c->strong = order == (ORR_ORDER_WAITS | ORR_ORDER_WRITES);
    orr_memsys_serve(c->mem, serve, c);
    for (uint32_t n = 0; n < c->nsms; n++) {
        c->sms[n].live = orr_calloc(1, sizeof *c->sms[n].live);
        c->sms[n].live->ops.launch = launch;
        c->sms[n].port.ops = &c->sms[n].live->ops;
    }
}

// Strong accesses are sent at once and wait for no stores of their cluster.
bool cyc_step_observe(void *self, uint32_t id, const orr_tinst *i, l1_access *a) {
    sm *s = self;
    (void)id;
    s->port.strong = a->live && s->c->strong && orr_inst_order(&s->c->kernel->insts[i->inst]);
    return false;
}

// ---- thread blocks ------------------------------------------------------------------------------
typedef struct step_source {
    orr_source base;
    uint64_t next, total;
    uint32_t nwarps;
    orr_warp_trace *none;
} step_source;

static int source_next(orr_source *base, orr_tb *tb, orr_err *e) {
    (void)e;
    step_source *s = (step_source *)base;
    if (s->next == s->total) return 0;
    *tb = (orr_tb){.index = s->next++, .nwarps = s->nwarps, .warps = s->none};
    return 1;
}

static void source_close(orr_source *base) {
    free(((step_source *)base)->none);
    free(base);
}

orr_source *cyc_step_source(const orr_launch *l, const orr_step *live) {
    step_source *s = orr_calloc(1, sizeof *s);
    s->base.info = orr_info_of(l);
    s->base.next = source_next;
    s->base.close = source_close;
    s->total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    s->nwarps = orr_step_warps(live);
    s->none = orr_calloc(s->nwarps, sizeof *s->none);
    return &s->base;
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
#define ROOM (8 * ORR_TRACE_MAX_EVENT) // more than an instruction puts into a trace

// Room in the warp's trace, when all of it has been read. Instructions in front of L1 look at their events,
// which must not move.
static void make_room(sm *s, warp *w) {
    orr_trace_out *t = orr_step_trace(w->exec);
    if (t->n && w->pc.trace.at != t->bytes + t->n) return;
    if (!s->lsu.warp[warp_id(w)].queued) t->n = 0;
    if (t->cap - t->n < ROOM) {
        if (t->bytes) *ORR_PUSH(&s->live->old) = t->bytes;
        *t = (orr_trace_out){orr_malloc(4 * ROOM), 0, 4 * ROOM, t->mask};
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

bool cyc_step_next_block(sm *s, warp *w) {
    const orr_program *p = s->c->program;
    const orr_trace_out *t = orr_step_trace(w->exec);
    w->parked = false;
    do {
        make_room(s, w);
        if (w->pc.trace.at == w->pc.trace.end) {
            int next = orr_step_next(w->exec);
            if (next == ORR_STEP_ENDED) return false;
            if (next == ORR_STEP_WAITS) {
                park(s->c, w);
                return true;
            }
            w->pc.trace.end = t->bytes + t->n;
        }
        w->again = (size_t)(w->pc.trace.at - t->bytes) != orr_step_block_at(w->exec);
        uint32_t block;
        if (orr_trace_block(&w->pc.trace, p->nblocks, &block, &w->pc.mask) <= 0) return false;
        w->pc.lanes = (uint32_t)orr_popc(w->pc.mask);
        w->pc.at = p->blocks[block].first;
        w->pc.end = w->pc.at + p->blocks[block].count;
    } while (w->pc.at == w->pc.end);
    return true;
}

// Warps of the block whose barrier is complete go on.
static void unpark(sm *s, block *b) {
    for (uint32_t n = 0; n < b->nwarps; n++) {
        warp *w = b->warp[n] == NOBODY ? NULL : warp_of(s, b->warp[n]);
        if (!w || !w->parked || !cyc_step_next_block(s, w) || w->parked) continue;
        w->barrier = 0;
        w->through = s->clock.now + b->barriers.latency;
        cyc_warp_update(s, w);
    }
}

orr_step_access *cyc_step_issue(sm *s, warp *w, const orr_tinst *i) {
    if (w->again) return NULL; // what it did is done
    block *b = &s->tb.slot[w->block];
    if (i->kind == ORR_TK_BARRIER) b->barriers.latency = i->latency ? i->latency : 1;
    if (s->lsu.warp[warp_id(w)].queued && (i->kind == ORR_TK_BARRIER || i->kind == ORR_TK_FENCE))
        settle(s, w);
    make_room(s, w);
    orr_step_access *a = orr_step_issue(w->exec, i->inst, s->clock.now);
    if (a) a->ops = 0;
    const orr_trace_out *t = orr_step_trace(w->exec);
    w->pc.trace.end = t->bytes + t->n;
    if (orr_step_released(b->live)) unpark(s, b);
    s->damaged |= orr_step_faulted(b->live);
    return a;
}

void cyc_step_barrier(sm *s, warp *w, const orr_tinst *i) {
    if (w->parked)
        w->barrier = (uint8_t)((i->imm < 16 ? i->imm : 0) + 1);
    else if (!(i->flags & ORR_TF_ARRIVE))
        w->through = s->clock.now + s->tb.slot[w->block].barriers.latency;
}
