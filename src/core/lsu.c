// The load/store unit (lsu.h).
#include "core/lsu.h"

#include <stdlib.h>
#include <string.h>

void lsu_spec_read(lsu_spec *s, const orr_gpu *g) {
    uint32_t nsched = (uint32_t)g->core_schedulers, per_sub = nsched / (uint32_t)g->core_subcores;
    *s = (lsu_spec){.nsched = nsched,
                    .per_sched = ((uint32_t)g->limit_sm_warps + nsched - 1) / nsched,
                    .sched_per_sub = per_sub,
                    .sched_mask = nsched & (nsched - 1) ? 0 : nsched - 1,
                    .places = g->lsu_queue > 0 ? (uint32_t)g->lsu_queue : 1,
                    .width = (uint32_t)g->lsu_width,
                    .pass = (uint32_t)g->lsu_replay,
                    .read_load = g->lsu_read_load,
                    .read_store = g->lsu_read_store,
                    .drain = (uint64_t)g->lsu_drain,
                    .store_leave = (uint32_t)g->l1_store_drain,
                    .coalesce = g->l1_coalesce >= 32 ? 32 : (uint32_t)g->l1_coalesce};
}

void lsu_init(lsu *u, const lsu_spec *s, l1_cache *l1, shared_memory *shared, const_caches *constants,
              texture_unit *texture) {
    *u = (lsu){.spec = s, .l1 = l1, .shared = shared, .constants = constants, .texture = texture};
    u->launch = l1->launch;
    u->pipe = l1->pipe;
    u->clock = l1->clock;
    u->warp = orr_pages((size_t)s->nsched * MAX_WARPS, sizeof *u->warp);
    u->starts = orr_calloc(s->places, sizeof *u->starts);
    u->to_shared = orr_calloc(s->places, sizeof *u->to_shared);
    u->queue = orr_calloc(s->places, sizeof *u->queue);
}

void lsu_free(lsu *u) {
    orr_pages_free(u->warp);
    free(u->starts);
    free(u->to_shared);
    free(u->queue);
}

void lsu_reset(lsu *u) {
    memset(u->starts, 0, u->spec->places * sizeof *u->starts);
    memset(u->to_shared, 0, u->spec->places * sizeof *u->to_shared);
    *u = (lsu){.spec = u->spec,
               .launch = u->launch,
               .l1 = u->l1,
               .shared = u->shared,
               .constants = u->constants,
               .texture = u->texture,
               .pipe = u->pipe,
               .clock = u->clock,
               .client = u->client,
               .sm = u->sm,
               .warp = u->warp,
               .starts = u->starts,
               .to_shared = u->to_shared,
               .queue = u->queue};
    *u->pipe = (data_pipe){0};
}

// ---- from sub-core to queue ---------------------------------------------------------------------
static bool is_near(const orr_tinst *i) { // its addresses are one word each
    return i->space == ORR_SPACE_SHARED || i->space == ORR_SPACE_LOCAL || i->space == ORR_SPACE_CONST;
}

// A sub-core hands over `lsu.width` bytes a cycle of addresses or data, beside the others. So one alone does
// not keep L1 busy (H200: LDS of one warp are 2 cycles apart, LDG 4, those of 64 bits 4, of 128 bits 8). An
// instruction has its place in the queue until then, and reads its operands when its turn has come.
uint64_t lsu_hand_over(lsu *u, uint32_t sched, const orr_tinst *i, uint64_t unit_free) {
    uint32_t width = u->spec->width, bytes = is_near(i) ? 4 : 8; // an address
    uint64_t *next = &u->hand_over_free[sub_core_of(sched, u->spec->sched_per_sub)];
    if (bytes < i->bytes) bytes = i->bytes;
    u->handed_over = latest(latest(unit_free, u->clock->now), *next);
    *next = u->handed_over + (32 * bytes + width - 1) / width;
    return u->handed_over;
}

// When the queue has room: the instruction that has the oldest of its places has begun.
static uint64_t room_of(const lsu *u) { return u->starts[u->place]; }

// The instruction with that place in the queue has begun.
static void leave_queue(lsu *u, uint32_t place) {
    u->starts[place] = latest(u->pipe->start + u->pipe->delay, u->handed_over);
    u->handed_over = 0;
    uint64_t was = u->room;
    u->room = room_of(u);
    if (u->room < was) u->client.room(u->client.self);
}

// When the registers of the instruction that has begun have been read: others may write them then, and not
// before does its warp end.
static uint64_t read_at(const lsu *u, const orr_tinst *i) {
    const lsu_spec *s = u->spec;
    bool stores = i->flags & (ORR_TF_STORE | ORR_TF_ATOMIC);
    int64_t cycles = stores ? s->read_store : s->read_load;
    return u->pipe->start + u->pipe->delay + (uint64_t)(cycles > 1 ? cycles : 1);
}

// ---- an access ----------------------------------------------------------------------------------
static void finish_at(lsu *u, uint32_t load, uint64_t ready) {
    if (load == NOBODY) return;
    u->l1->loads.at[load].earliest = ready;
    l1_finish(u->l1, load, 0);
}

static void access_shared(lsu *u, const lsu_queued *q, const orr_tinst *i, bool decoded, uint64_t t) {
    orr_banked b;
    if (!shared_passes(u->shared, q->inst, &q->trace, &u->head.lanes, decoded, &b))
        u->client.damaged(u->client.self);
    if (q->live && q->live->shared) {
        perform_shared(q->live);
        if (q->load == NOBODY) perform_sent(q->live);
    }
    lsu_warp *w = &u->warp[q->warp];
    shared_access x = {.i = i,
                       .sub = sub_core_of(q->warp / MAX_WARPS, u->spec->sched_per_sub),
                       .answered = q->load != NOBODY,
                       .warp_free = w->conflict_free};
    uint64_t ready = shared_begin(u->shared, &x, b, t);
    w->conflict_free = x.warp_free;
    finish_at(u, q->load, ready);
}

static void access_constants(lsu *u, const lsu_queued *q, const orr_tinst *i, uint64_t t) {
    pipe_begin(u->pipe, t, 1);
    uint64_t ready = constants_load(u->constants, &u->head.lanes, i->bytes, u->pipe->start, &u->pipe->start);
    finish_at(u, q->load, ready);
}

// The lines that the access at hand touches.
static void coalesce(lsu *u, l1_access *a) {
    const lsu_spec *s = u->spec;
    orr_coalesce_inst(a->i, &a->lanes, a->local, (enum orr_coalescing)s->coalesce, &a->lines);
    if (!a->local) return;
    uint32_t sched = a->warp / MAX_WARPS, slot = a->warp % MAX_WARPS;
    uint64_t warp = ((uint64_t)u->sm * s->per_sched + slot) * s->nsched + sched;
    for (uint32_t k = 0; k < a->lines.lines; k++)
        a->lines.line[k].line = orr_local_line(u->launch->local_frame, warp, a->lines.line[k].line);
}

// Words of one bank that a store has written to lines whose tags are on few banks leave for L2 one after the
// other, l1.store_drain cycles each, when all have been written; loads wait until then (H200: a load that
// hits, 64 and 126 cycles after a store to 32 such lines, takes 66 and 4 cycles longer. Where the tags'
// banks have as many lines each it does not wait, why is not known).
static void stores_leave(lsu *u, const l1_access *a) {
    if (!u->spec->store_leave || a->local || !(a->i->flags & ORR_TF_STORE) || !a->conflicts) return;
    if (a->tag_cycles <= (a->lines.lines + 3) / 4) return;
    u->stores_leave =
        u->pipe->start + u->pipe->delay + a->passes * u->spec->pass + a->lines.lines * u->spec->store_leave;
}

// All lines of the access at hand have been looked up.
static void looked_up(lsu *u, const l1_access *a) {
    u->l1->port->strong = false;
    if (a->live && a->load == NOBODY) perform_sent(a->live);
    if (a->load != NOBODY && !--u->l1->loads.at[a->load].open) l1_finish(u->l1, a->load, 0);
}

// For the report: how well an instruction's lanes fit into sectors, and who sent something last.
static void note_traffic(lsu *u, const l1_access *a) {
    if (a->local) return;
    if (u->traffic) {
        orr_traffic *n = &u->traffic[a->inst];
        n->requests++;
        n->sectors += a->lines.sectors;
        uint32_t ideal = orr_ideal_sectors((uint32_t)orr_popc(a->lanes.mask), a->i->bytes);
        n->ideal += ideal < a->lines.sectors ? ideal : a->lines.sectors;
    }
    if (a->load == NOBODY)
        u->last_sent[(a->i->flags & ORR_TF_ATOMIC) != 0] =
            (lsu_sender){.when = u->clock->now + 1, .inst = a->inst};
}

// A texture's texels come from L1 like a load's; the texture unit gathers and filters them.
static uint64_t through_textures(lsu *u, const l1_access *a, uint64_t start) {
    texture_unit *t = u->texture;
    orr_texture_cost c = orr_texture_takes(&a->lanes);
    t->n.requests += c.requests;
    t->n.sectors += c.sectors;
    return texture_read(t, start, c.cycles);
}

// False: it is half done.
static bool access_l1(lsu *u, l1_access *a, uint64_t t) {
    lsu_warp *w = &u->warp[a->warp];
    data_pipe *pipe = u->pipe;
    coalesce(u, a);
    l1_prefetch_lines(u->l1, &a->lines);
    note_traffic(u, a);
    uint32_t lag;
    a->cost = l1_cost(u->l1, a, &lag);
    u->l1->n.requests[a->local][l1_kind(a->i)]++;
    u->l1->n.tags += a->lines.lines;
    u->l1->n.busy += a->passes;
    pipe_begin(pipe, t, a->cost);
    pipe_wait(pipe, w->conflict_free);
    if (!a->local && a->i->flags & ORR_TF_LOAD) pipe_wait(pipe, u->stores_leave);
    a->passes_now = a->passes;
    a->next_line = a->missed = 0;
    a->waits = 0;
    if (a->load != NOBODY) {
        const l1_spec *s = u->l1->spec;
        l1_load *f = &u->l1->loads.at[a->load];
        f->earliest = pipe->start + pipe->delay + lag + s->latency;
        if (a->i->tclass == ORR_TC_TEX && u->texture && u->texture->spec->latency)
            f->earliest = through_textures(u, a, pipe->start + pipe->delay);
        f->open++; // until all lines have been looked up
    }
    if (!l1_lookup(u->l1, a)) return false;
    if (u->spec->pass && a->conflicts && a->passes_now)
        w->conflict_free = pipe->start + pipe->delay + a->passes_now * u->spec->pass;
    stores_leave(u, a);
    looked_up(u, a);
    return true;
}

// Works the instruction off at `t`; false: it is now the half-done head.
static bool work_off(lsu *u, const lsu_queued *q, uint64_t t) {
    const orr_tinst *i = &u->launch->program->insts[q->inst];
    l1_access *a = &u->head;
    if (i->space == ORR_SPACE_SHARED) {
        access_shared(u, q, i, false, t);
        return true;
    }
    orr_trace trace = q->trace;
    if (!orr_trace_access(&trace, &a->lanes)) {
        u->client.damaged(u->client.self);
        return true;
    }
    uint8_t space = orr_space_resolve(&a->lanes, i->space);
    if (i->offset)
        for (uint32_t m = a->lanes.mask; m; m &= m - 1) a->lanes.addr[orr_ffs(m)] += i->offset;
    if (space == ORR_SPACE_SHARED) {
        access_shared(u, q, i, true, t);
        return true;
    }
    if (!a->lanes.mask || space == ORR_SPACE_CONST) {
        access_constants(u, q, i, t);
        return true;
    }
    a->i = i;
    a->inst = q->inst;
    a->warp = q->warp;
    a->load = q->load;
    a->local = space == ORR_SPACE_LOCAL;
    a->live = q->live;
    u->l1->port->strong = u->client.strong && !a->local && u->client.strong(u->client.self, i);
    a->lanes.mask = orr_tinst_lanes(i, a->lanes.mask);
    return access_l1(u, a, t);
}

// ---- in line ------------------------------------------------------------------------------------
static lsu_queued *in_line(const lsu *u, uint32_t n) {
    uint32_t size = u->spec->places, at = u->first + n;
    return &u->queue[at < size ? at : at - size];
}

static void enqueue(lsu *u, const lsu_queued *q) {
    *in_line(u, u->nqueued++) = *q;
    u->handed_over = 0;
    u->warp[q->warp].queued++;
}

uint64_t lsu_issue(lsu *u, const lsu_op *op) {
    const lsu_spec *s = u->spec;
    lsu_queued q = {.trace = *op->access,
                    .warp = warp_number(op->sched, op->slot),
                    .inst = op->inst,
                    .place = u->place,
                    .load = op->load,
                    .live = op->live};
    u->place = u->place + 1 < s->places ? u->place + 1 : 0;
    u->starts[q.place] = NEVER;
    u->nshared -= u->to_shared[q.place];
    u->nshared += u->to_shared[q.place] = op->i->space == ORR_SPACE_SHARED;
    u->room = room_of(u);
    bool waits = u->nqueued;
    if (!waits) {
        waits = !work_off(u, &q, u->clock->now + op->late);
        u->blocked_since = u->clock->now;
    }
    if (waits) {
        enqueue(u, &q);
        return NEVER;
    }
    leave_queue(u, q.place);
    uint64_t read = read_at(u, op->i);
    lsu_warp *w = &u->warp[q.warp];
    w->began = u->pipe->start + u->pipe->delay;
    if (op->load == NOBODY) w->stores_read = read + s->drain;
    return read;
}

// The half-done head looks up its next lines.
static bool retry(lsu *u, const lsu_queued *q, uint64_t since) {
    l1_access *a = &u->head;
    data_pipe *pipe = u->pipe;
    a->i = &u->launch->program->insts[q->inst]; // the program may have grown
    if (pipe->start < since) pipe->start = since, pipe->delay = 0;
    if (pipe->free < since + 1) pipe->free = since + 1;
    if (a->load != NOBODY) {
        l1_load *f = &u->l1->loads.at[a->load];
        f->earliest = latest(f->earliest, pipe->start + u->l1->spec->latency);
    }
    if (!l1_lookup(u->l1, a)) return false;
    looked_up(u, a);
    return true;
}

static void dequeue(lsu *u, const lsu_queued *q) {
    uint32_t warp = q->warp, inst = q->inst, place = q->place;
    u->first = u->first + 1 < u->spec->places ? u->first + 1 : 0;
    u->nqueued--;
    leave_queue(u, place);
    const orr_tinst *i = &u->launch->program->insts[inst];
    uint64_t read = read_at(u, i);
    lsu_warp *w = &u->warp[warp];
    w->queued--;
    w->began = latest(w->began, read);
    u->client.began(u->client.self, warp, i, read);
}

void lsu_room_at_l1(lsu *u) {
    uint64_t now = u->clock->now;
    if (!u->nqueued) return;
    u->l1->n.full += now - u->blocked_since;
    u->blocked_since = now;
    for (bool half_done = true; u->nqueued; half_done = false) {
        const lsu_queued *q = in_line(u, 0);
        if (!(half_done ? retry(u, q, now) : work_off(u, q, now))) return;
        dequeue(u, q);
    }
}
