// Kernels that are executed as they are timed (step.h).
#include "model/cycle/step.h"

#include <stdlib.h>
#include <string.h>

#define LINES 256 // hashed

typedef struct operation { // what a slice does when it serves a request
    orr_step_access *access;
    uint64_t line, seq;
    uint32_t lanes;
    uint32_t next;   // + 1: of its access, a load; of the writes of its hashed line; of the free ones
    uint32_t joined; // + 1: a store that goes with it
    uint8_t kind;    // enum orr_step_kind
    bool done;
    bool answered;
    uint64_t bytes[2]; // a store
    uint8_t data[ORR_LINE];
} operation;

struct step_ops { // of an SM
    orr_step *launch;
    ORR_VEC(operation) ops;
    uint32_t free; // + 1
    uint64_t seq;
    uint32_t first[LINES], last[LINES]; // stores and atomics that may not have been done, by line, in order; + 1
    ORR_VEC(uint32_t) open;             // all of them: a queue
    size_t open_first;
    ORR_VEC(uint8_t *) old; // traces that instructions may still look at
};

void cyc_step_finish(cycle *c) {
    for (uint32_t n = 0; n < c->nsms; n++) {
        struct step_ops *l = c->sms[n].live;
        if (!l) continue;
        free(l->ops.at);
        free(l->open.at);
        for (size_t k = 0; k < l->old.n; k++) free(l->old.at[k]);
        free(l->old.at);
        free(l);
        c->sms[n].live = NULL;
    }
    c->live = NULL;
    if (!c->perfect) orr_memsys_serve(c->mem, NULL, NULL);
}

static void serve(void *arg, uint32_t sm, uint32_t live);
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
        c->sms[n].live->launch = launch;
    }
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

// ---- operations ---------------------------------------------------------------------------------
static uint32_t hashed(uint64_t line) { return (uint32_t)(line * 0x9e3779b97f4a7c15u >> 56) % LINES; }

static void give_back(struct step_ops *l, uint32_t at) {
    l->ops.at[at].next = l->free;
    l->free = at + 1;
}

// Those at the queue's head that have been done. Writes of a line are in its list in the same order.
static void reclaim(struct step_ops *l) {
    while (l->open_first < l->open.n && l->ops.at[l->open.at[l->open_first]].done) {
        uint32_t at = l->open.at[l->open_first++], h = hashed(l->ops.at[at].line);
        const operation *o = &l->ops.at[at];
        l->first[h] = o->next;
        if (!o->next) l->last[h] = 0;
        if (o->kind == ORR_STEP_ATOMIC && !o->answered && !--o->access->refs) orr_step_drop(o->access);
        give_back(l, at);
    }
    if (l->open_first * 2 < l->open.n || !l->open_first) return;
    memmove(l->open.at, l->open.at + l->open_first, (l->open.n - l->open_first) * sizeof *l->open.at);
    l->open.n -= l->open_first;
    l->open_first = 0;
}

static uint32_t new_operation(struct step_ops *l, operation o) {
    uint32_t at = l->free;
    o.seq = l->seq++;
    if (at) {
        l->free = l->ops.at[at - 1].next;
    } else {
        (void)ORR_PUSH(&l->ops);
        at = (uint32_t)l->ops.n;
    }
    l->ops.at[at - 1] = o;
    return at;
}

uint32_t cyc_step_lanes(const orr_step_access *a, uint64_t line) {
    uint32_t lanes = 0;
    for (uint32_t m = a->mask; m; m &= m - 1)
        if (a->addr[orr_ffs(m)] / ORR_LINE == line) lanes |= m & -m;
    return lanes;
}

uint32_t cyc_step_load(sm *s, orr_step_access *a, uint64_t line) {
    uint32_t at = new_operation(s->live, (operation){.access = a,
                                                     .line = line,
                                                     .lanes = cyc_step_lanes(a, line),
                                                     .kind = ORR_STEP_LOAD,
                                                     .next = a->ops,
                                                     .answered = true});
    return a->ops = at;
}

// It writes: until it is done, what the SM sends behind it to its line is not done before it.
static uint32_t new_write(struct step_ops *l, operation o) {
    reclaim(l);
    uint32_t at = new_operation(l, o), h = hashed(o.line);
    if (l->last[h])
        l->ops.at[l->last[h] - 1].next = at;
    else
        l->first[h] = at;
    l->last[h] = at;
    *ORR_PUSH(&l->open) = at - 1;
    return at;
}

uint32_t cyc_step_atomic(sm *s, orr_step_access *a, uint32_t lanes, uint64_t line, bool answered) {
    if (!answered) a->refs++;
    return new_write(s->live, (operation){.access = a,
                                          .line = line,
                                          .lanes = lanes,
                                          .kind = ORR_STEP_ATOMIC,
                                          .answered = answered});
}

static void put_bytes(operation *o, const uint8_t *from, uint32_t at, uint32_t n) {
    memcpy(o->data + at, from, n);
    for (uint32_t k = at; k < at + n; k++) o->bytes[k / 64] |= 1ull << k % 64;
}

uint32_t cyc_step_store(sm *s, const orr_step_access *a, uint64_t line) {
    operation o = {.line = line, .kind = ORR_STEP_STORE};
    for (uint32_t m = cyc_step_lanes(a, line); m; m &= m - 1)
        put_bytes(&o, a->data[orr_ffs(m)], (uint32_t)(a->addr[orr_ffs(m)] % ORR_LINE), a->bytes);
    return new_write(s->live, o);
}

void cyc_step_join(sm *s, uint32_t store, uint32_t with) {
    operation *o = &s->live->ops.at[with - 1];
    while (o->joined) o = &s->live->ops.at[o->joined - 1];
    o->joined = store;
}

void cyc_step_sent(orr_step_access *a) {
    if (a->kind == ORR_STEP_STORE || a->shared) orr_step_drop(a);
}

// ---- they are done ------------------------------------------------------------------------------
// On the line's bytes.
static void write_to(const operation *o, uint8_t *line) {
    if (o->kind == ORR_STEP_ATOMIC) {
        orr_step_atomic(o->access, o->lanes, (uintptr_t)line - o->line * ORR_LINE);
        return;
    }
    for (uint32_t k = 0; k < ORR_LINE; k++)
        if (o->bytes[k / 64] >> k % 64 & 1) line[k] = o->data[k];
}

static void perform(const struct step_ops *l, operation *o) {
    if (o->done) return;
    o->done = true;
    write_to(o, (uint8_t *)(orr_step_memory(l->launch) + o->line * ORR_LINE));
}

// A slice serves a request: on the host thread of its partition, while no SM runs.
static void serve(void *arg, uint32_t sm, uint32_t live) {
    const cycle *c = arg;
    struct step_ops *l = c->sms[sm].live;
    operation *o = &l->ops.at[live - 1];
    for (uint32_t at = l->first[hashed(o->line)]; at && !o->done; at = l->ops.at[at - 1].next) {
        operation *before = &l->ops.at[at - 1];
        if (before->line == o->line && before->seq < o->seq) perform(l, before);
    }
    if (o->kind != ORR_STEP_LOAD) {
        for (uint32_t at = live; at; at = l->ops.at[at - 1].joined) perform(l, &l->ops.at[at - 1]);
    } else if (!o->done) {
        orr_step_read(o->access, o->lanes, orr_step_memory(l->launch));
        o->done = true;
    }
}

// What the SM itself has written and memory has not is added on a copy of the line.
void cyc_step_hit(sm *s, orr_step_access *a, uint64_t line) {
    struct step_ops *l = s->live;
    uint8_t copy[ORR_LINE];
    uintptr_t memory = orr_step_memory(l->launch);
    bool copied = false;
    for (uint32_t at = l->first[hashed(line)]; at; at = l->ops.at[at - 1].next) {
        const operation *o = &l->ops.at[at - 1];
        if (o->line != line || o->done) continue;
        if (!copied) memcpy(copy, (const void *)(memory + line * ORR_LINE), ORR_LINE);
        copied = true;
        write_to(o, copy);
    }
    orr_step_read(a, cyc_step_lanes(a, line), copied ? (uintptr_t)copy - line * ORR_LINE : memory);
}

void cyc_step_shared(orr_step_access *a) {
    if (a->done) return;
    a->done = true;
    if (a->kind == ORR_STEP_LOAD)
        orr_step_read(a, a->mask, a->memory);
    else if (a->kind == ORR_STEP_STORE)
        orr_step_put(a);
    else
        orr_step_atomic(a, a->mask, a->memory);
}

// A barrier or a fence: others see what it has stored, although shared memory may come to it later.
void cyc_step_settle(sm *s, const warp *w) {
    const cycle *c = s->c;
    for (uint32_t line = 0; line < c->lsu_lines; line++)
        for (uint32_t n = 0; n < s->line_n[line]; n++) {
            uint32_t at = (s->line_first[line] + n) % c->lsu_line;
            const queued *q = &s->queue[line * c->lsu_line + at];
            if (q->live && q->live->shared && q->warp == warp_id(w)) cyc_step_shared(q->live);
        }
}

void cyc_step_deliver(sm *s, orr_step_access *a) {
    for (uint32_t at = a->ops, next; at; at = next) {
        next = s->live->ops.at[at - 1].next;
        give_back(s->live, at - 1);
    }
    orr_step_deliver(a);
}

// ---- warps --------------------------------------------------------------------------------------
#define ROOM (8 * ORR_TRACE_MAX_EVENT) // more than an instruction puts into a trace

// Room in the warp's trace, when all of it has been read. Instructions in front of L1 look at their events,
// which must not move.
static void make_room(sm *s, warp *w) {
    orr_trace_out *t = orr_step_trace(w->exec);
    if (t->n && w->trace.at != t->bytes + t->n) return;
    if (!w->in_line) t->n = 0;
    if (t->cap - t->n < ROOM) {
        if (t->bytes) *ORR_PUSH(&s->live->old) = t->bytes;
        *t = (orr_trace_out){orr_malloc(4 * ROOM), 0, 4 * ROOM, t->mask};
    }
    w->trace.at = w->trace.end = t->bytes + t->n;
}

// All of its lanes wait at a barrier. Behind it they go on where the code does, most likely.
static void park(const cycle *c, warp *w) {
    const orr_kernel *k = c->kernel;
    uint32_t inst = c->program->insts[w->end - 1].inst, b = 0;
    while (inst >= k->blocks[b].first + k->blocks[b].count) b++;
    int32_t next = k->blocks[b].next;
    w->parked = true;
    w->at = w->end - 1;
    if (next < 0 || !c->program->blocks[next].count) return;
    w->at = c->program->blocks[next].first;
    w->end = w->at + c->program->blocks[next].count;
}

bool cyc_step_next_block(sm *s, warp *w) {
    const orr_program *p = s->c->program;
    const orr_trace_out *t = orr_step_trace(w->exec);
    w->parked = false;
    do {
        make_room(s, w);
        if (w->trace.at == w->trace.end) {
            int next = orr_step_next(w->exec);
            if (next == ORR_STEP_ENDED) return false;
            if (next == ORR_STEP_WAITS) {
                park(s->c, w);
                return true;
            }
            w->trace.end = t->bytes + t->n;
        }
        w->again = (size_t)(w->trace.at - t->bytes) != orr_step_block_at(w->exec);
        uint32_t block;
        if (orr_trace_block(&w->trace, p->nblocks, &block, &w->mask) <= 0) return false;
        w->lanes = (uint32_t)orr_popc(w->mask);
        w->at = p->blocks[block].first;
        w->end = w->at + p->blocks[block].count;
    } while (w->at == w->end);
    return true;
}

// Warps of the block whose barrier is complete go on.
static void unpark(sm *s, block *b) {
    for (uint32_t n = 0; n < b->nwarps; n++) {
        warp *w = b->warp[n] == NOBODY ? NULL : warp_of(s, b->warp[n]);
        if (!w || !w->parked || !cyc_step_next_block(s, w) || w->parked) continue;
        w->waiting = 0;
        w->through = s->now + b->bar_latency;
        cyc_warp_look(s, w);
    }
}

orr_step_access *cyc_step_issue(sm *s, warp *w, const orr_tinst *i) {
    if (w->again) return NULL; // what it did is done
    block *b = &s->blocks[w->block];
    if (i->kind == ORR_TK_BARRIER) b->bar_latency = i->latency ? i->latency : 1;
    if (w->in_line && (i->kind == ORR_TK_BARRIER || i->kind == ORR_TK_FENCE)) cyc_step_settle(s, w);
    make_room(s, w);
    orr_step_access *a = orr_step_issue(w->exec, i->inst, s->now);
    if (a) a->ops = 0;
    const orr_trace_out *t = orr_step_trace(w->exec);
    w->trace.end = t->bytes + t->n;
    if (orr_step_released(b->live)) unpark(s, b);
    s->damaged |= orr_step_faulted(b->live);
    return a;
}

void cyc_step_barrier(sm *s, warp *w, const orr_tinst *i) {
    if (w->parked)
        w->waiting = (uint8_t)((i->imm < 16 ? i->imm : 0) + 1);
    else if (!(i->flags & ORR_TF_ARRIVE))
        w->through = s->now + s->blocks[w->block].bar_latency;
}
