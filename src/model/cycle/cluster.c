// Thread block clusters in time (cluster.h).
#include "model/cycle/cluster.h"

#include <stdlib.h>

uint64_t cyc_cluster_window(const cycle *c) {
    uint64_t barrier = (uint64_t)c->gpu->cluster_barrier, arrive = (uint64_t)c->gpu->cluster_arrive;
    uint64_t least = barrier < arrive ? barrier : arrive;
    return !least || least > c->window ? c->window : least;
}

// ---- words --------------------------------------------------------------------------------------
static void receive_at(sm *s, const cluster_message *word, uint64_t when) {
    uint32_t at = s->cluster.free;
    if (at == NOBODY)
        at = (uint32_t)(ORR_PUSH(&s->cluster.in) - s->cluster.in.at);
    else
        s->cluster.free = s->cluster.in.at[at].slot;
    s->cluster.in.at[at] = *word;
    events_add_at(&s->clock, when, EVENT_TMA, TMA_MESSAGE | at);
}

static void send(sm *s, const block *b, uint32_t rank, cluster_message word) {
    cluster_place to = b->peers[rank % CLUSTER_MOST];
    word.sm = to.sm;
    word.slot = to.slot;
    word.block = b->buf->index - b->rank + rank;
    if (to.sm == s->id)
        receive_at(s, &word, word.when);
    else
        *ORR_PUSH(&s->cluster.out) = word;
}

void cyc_cluster_deliver(cycle *c, uint64_t until) {
    for (uint32_t n = 0; n < c->nsms; n++) {
        cluster_messages *m = &c->sms[n].cluster;
        for (size_t k = 0; k < m->out.n; k++)
            receive_at(&c->sms[m->out.at[k].sm], &m->out.at[k],
                       m->out.at[k].when > until ? m->out.at[k].when : until);
        m->out.n = 0;
    }
}

void cyc_cluster_receive(sm *s, uint32_t at) {
    cluster_message word = s->cluster.in.at[at];
    s->cluster.in.at[at].slot = s->cluster.free;
    s->cluster.free = at;
    block *b = &s->tb.slot[word.slot];
    if (!b->buf || b->buf->index != word.block) return;
    if (word.kind == CLUSTER_ARRIVAL)
        cyc_arrived(s, b, word.at, word.lanes, s->clock.now);
    else
        cyc_cluster_arrived(s, b, word.kind == CLUSTER_ENDED);
}

uint32_t cyc_cluster_rank(const sm *s, const block *b, uint64_t addr, uint64_t *offset) {
    return orr_cluster_rank(&(orr_cluster_seat){b->rank, b->size, s->c->kernel->machine}, addr, offset);
}

void cyc_cluster_arrive(sm *s, const block *b, uint32_t rank, uint64_t offset, uint32_t lanes,
                        uint64_t when) {
    send(s, b, rank, (cluster_message){.kind = CLUSTER_ARRIVAL, .at = offset, .lanes = lanes, .when = when});
}

// ---- the barrier --------------------------------------------------------------------------------
static void tell_all(sm *s, const block *b, uint8_t kind, uint64_t when) {
    for (uint32_t r = 0; r < b->size; r++)
        if (kind == CLUSTER_BARRIER_ARRIVAL || r != b->rank)
            send(s, b, r, (cluster_message){.kind = kind, .when = when});
}

// All warps of the block that have not ended have arrived.
static void check_block(sm *s, block *b) {
    if (!b->cluster_barrier.arrived_warps || b->cluster_barrier.arrived_warps < b->running) return;
    b->cluster_barrier.arrived_warps = 0;
    tell_all(s, b, CLUSTER_BARRIER_ARRIVAL,
             b->cluster_barrier.last_arrival + (uint64_t)s->c->gpu->cluster_barrier);
}

void cyc_cluster_barrier(sm *s, warp *w, const orr_tinst *i) {
    block *b = &s->tb.slot[w->block];
    if (!(i->flags & ORR_TF_ARRIVE)) {
        if (b->cluster_barrier.phases >= w->cluster_phase) return;
        w->barrier = CLUSTER_BARRIER + 1;
        b->cluster_barrier.waiting_warps++;
        if (!b->live) cyc_block_check(s, b);
        return;
    }
    if (w->cluster_phase > b->cluster_barrier.phases)
        return; // lanes that come later than others of their warp
    w->cluster_phase = b->cluster_barrier.phases + 1;
    b->cluster_barrier.arrived_warps++;
    b->cluster_barrier.last_arrival = s->clock.now;
    check_block(s, b);
}

void cyc_cluster_arrived(sm *s, block *b, bool gone) {
    b->cluster_barrier.ended_blocks += gone;
    b->cluster_barrier.arrived_blocks += !gone;
    if (!b->cluster_barrier.arrived_blocks ||
        b->cluster_barrier.arrived_blocks + b->cluster_barrier.ended_blocks < b->size)
        return;
    b->cluster_barrier.arrived_blocks = 0;
    b->cluster_barrier.phases++;
    for (uint32_t n = 0; n < b->nwarps; n++) {
        warp *w = b->warp[n] == NOBODY ? NULL : warp_of(s, b->warp[n]);
        if (!w || w->barrier != CLUSTER_BARRIER + 1 || w->cluster_phase > b->cluster_barrier.phases) continue;
        w->barrier = 0;
        b->cluster_barrier.waiting_warps--;
        w->barrier_passed = s->clock.now + (uint64_t)(n * s->c->gpu->cluster_barrier_warp);
        cyc_warp_update(s, w);
    }
}

void cyc_cluster_left(sm *s, block *b) {
    if (b->running)
        check_block(s, b);
    else if (b->size > 1)
        tell_all(s, b, CLUSTER_ENDED, s->clock.now + (uint64_t)s->c->gpu->cluster_barrier);
}

// ---- shared memory of other blocks --------------------------------------------------------------
// An access of another block's shared memory goes by way of the network between the SMs of a GPC: it takes
// its turn there, and its time. Lanes of the block's own go with it. Returns false: all are the block's own.
bool cyc_cluster_access(sm *s, warp *w, const orr_tinst *i, const orr_trace *trace, uint64_t start) {
    const orr_gpu *g = s->c->gpu;
    block *b = &s->tb.slot[w->block];
    orr_trace t = *trace;
    orr_access a;
    if (b->size < 2 || !orr_trace_access(&t, &a) || !a.mask) return false;
    orr_far_lanes far = orr_cluster_far(&(orr_cluster_seat){b->rank, b->size, s->c->kernel->machine}, i, &a);
    if (!far.mask) return false;
    bool arrives = i->sass == ORR_SASS_STAS || i->sass == ORR_SASS_REDAS;
    if (s->cluster.busy < (double)start) s->cluster.busy = (double)start;
    s->cluster.busy += far.packets * orr_cluster_packet(g, i);
    uint64_t sent = (uint64_t)s->cluster.busy;
    uint64_t there = sent + orr_cluster_latency(g, i, s->id, b->peers[far.rank].sm);
    s->cluster.accesses++;
    scoreboard_reads(&w->board, s->c->program, i, sent);
    if (!s->c->program->control)
        w->front_end_ready = latest(w->front_end_ready, sent); // lowered code has no barrier for that
    if (i->flags & ORR_TF_LOAD)
        cyc_warp_result(s, w, i, there);
    else if (w->remote_done < there)
        w->remote_done = there; // a fence waits until it is known to be done
    for (uint32_t m = arrives && a.versioned ? a.mask : 0; m; m &= m - 1) {
        uint64_t offset;
        uint32_t to = cyc_cluster_rank(s, b, a.version[orr_ffs(m)], &offset);
        cyc_cluster_arrive(s, b, to, offset, 1, sent + (uint64_t)g->cluster_arrive);
    }
    return true;
}

// ---- placement ----------------------------------------------------------------------------------
static uint32_t started_slot(const sm *s) { // of the block that was started last
    uint32_t slot = 0;
    for (uint32_t n = 0; n < s->tb.n; n++)
        if (s->tb.slot[n].buf &&
            (!s->tb.slot[slot].buf || s->tb.slot[n].buf->index > s->tb.slot[slot].buf->index))
            slot = n;
    return slot;
}

typedef struct dealing {
    cycle *c;
    const cluster_dealer *d;
} dealing;

// A cluster on these SMs.
static bool deal_one(void *arg, const uint32_t *sms) {
    const dealing *x = arg;
    cycle *c = x->c;
    cluster_place places[CLUSTER_MOST];
    uint32_t size = c->cluster;
    for (uint32_t r = 0; r < size; r++) {
        sm *s = &c->sms[sms[r]];
        if (!x->d->hand_out(x->d->arg, s)) return false;
        cyc_block_start(s, x->d->now);
        places[r] = (cluster_place){s->id, started_slot(s)};
    }
    for (uint32_t r = 0; r < size; r++) {
        block *b = &c->sms[places[r].sm].tb.slot[places[r].slot];
        b->rank = r;
        b->size = size;
        for (uint32_t k = 0; k < size; k++) b->peers[k] = places[k];
    }
    return true;
}

void cyc_clusters_deal(cycle *c, const cluster_dealer *d) {
    uint32_t *used = orr_malloc(c->nsms * sizeof *used), each = 0;
    for (uint32_t n = 0; n < c->nsms; n++) {
        used[n] = c->sms[n].tb.resident + c->sms[n].tb.stocked;
        if (c->sms[n].tb.n > each) each = c->sms[n].tb.n;
    }
    orr_clusters_deal(c->gpu, &(orr_cluster_room){c->nsms, c->cluster, each, used},
                      &(orr_cluster_taker){deal_one, &(dealing){c, d}});
    free(used);
}
