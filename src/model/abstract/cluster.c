// Clusters of thread blocks: arrivals at each other's mbarriers, their barrier, their shared memory
// (async.h). Which SMs they are on: engine.c.
#include "model/abstract/abstract.h"

#include "stream/trace.h"

// The block of that rank; NULL: it has ended.
static ablock *mate(const machine *m, const ablock *b, uint32_t rank, acore **core) {
    async_place at = b->async.peers[rank % ORR_CLUSTER_MOST];
    *core = &m->cores[at.core];
    ablock *to = &(*core)->blocks.at[at.slot];
    bool there = to->buf && b->buf && to->buf->index == b->buf->index - b->async.rank + rank;
    return there ? to : NULL;
}

void abt_cluster_arrive(const machine *m, const ablock *b, uint32_t rank, uint64_t mbar, uint32_t lanes,
                        uint64_t when) {
    acore *core;
    ablock *to = mate(m, b, rank, &core);
    if (to) abt_async_arrived(core, to, mbar, lanes, when);
}

// ---- the barrier ---------------------------------------------------------------------------------------
// A block has arrived, or has ended, and this one hears of it.
static void heard(acore *s, ablock *b, bool gone, uint64_t when) {
    async_block *a = &b->async;
    a->ended_blocks += gone;
    a->arrived_blocks += !gone;
    a->known_at = latest(a->known_at, when);
    if (!a->arrived_blocks || a->arrived_blocks + a->ended_blocks < a->size) return;
    a->arrived_blocks = 0;
    a->phases++;
    a->phase_end = a->known_at;
    for (uint32_t n = 0; n < b->nwarps; n++) {
        awarp *w = b->warp[n] == NOBODY ? NULL : &s->warps[b->warp[n]];
        if (!w || w->waiting != CLUSTER_BARRIER + 1 || w->async.phase > a->phases) continue;
        w->waiting = 0;
        a->waiting_warps -= w->n;
        abt_async_goes_on(s, b->warp[n], a->phase_end + (uint64_t)(n * s->m->gpu->cluster_barrier_warp));
    }
}

static void tell_all(machine *m, const ablock *b, bool gone, uint64_t when) {
    for (uint32_t r = 0; r < b->async.size; r++) {
        acore *core;
        ablock *to = b->async.size > 1 ? mate(m, b, r, &core) : NULL;
        if (to && !(gone && r == b->async.rank)) heard(core, to, gone, when);
    }
}

// All warps of the block that have not ended have arrived.
static void check_block(acore *s, ablock *b) {
    async_block *a = &b->async;
    if (!a->arrived_warps || a->arrived_warps < b->running) return;
    a->arrived_warps = 0;
    uint64_t when = a->last_arrival + (uint64_t)s->m->gpu->cluster_barrier;
    if (a->size > 1)
        tell_all(s->m, b, false, when);
    else
        heard(s, b, false, when);
}

bool abt_cluster_barrier(acore *s, uint32_t id, const orr_tinst *i, uint64_t when) {
    awarp *w = &s->warps[id];
    ablock *b = &s->blocks.at[w->block];
    if (i->flags & ORR_TF_ARRIVE) {
        if (w->async.phase > b->async.phases) return false; // lanes that come later than others of their warp
        w->async.phase = b->async.phases + 1;
        b->async.arrived_warps += w->n;
        b->async.last_arrival = latest(b->async.last_arrival, when);
        check_block(s, b);
        return false;
    }
    if (b->async.phases >= w->async.phase) {
        if (b->async.phases == w->async.phase)
            s->queue.when[id] = latest(s->queue.when[id], b->async.phase_end);
        return false;
    }
    w->waiting = CLUSTER_BARRIER + 1;
    b->async.waiting_warps += w->n;
    s->queue.when[id] |= WAITS;
    return true;
}

void abt_cluster_left(acore *s, ablock *b, uint64_t when) {
    if (b->running)
        check_block(s, b);
    else if (b->async.size > 1)
        tell_all(s->m, b, true, when + (uint64_t)s->m->gpu->cluster_barrier);
}

// ---- shared memory of other blocks -----------------------------------------------------------------------
bool abt_cluster_access(acore *s, awarp *w, const amem *x, uint64_t at, uint64_t *ready) {
    const orr_gpu *g = s->m->gpu;
    const orr_tinst *i = &s->m->code->program->insts[x->inst];
    ablock *b = &s->blocks.at[w->block];
    orr_cluster_seat seat = {b->async.rank, b->async.size, s->m->kernel->machine};
    bool some = false;
    *ready = 0;
    for (uint32_t k = 0; k < w->n; k++) {
        orr_trace t = abt_async_access(w, x->access, k);
        orr_access a;
        if (!orr_trace_access(&t, &a)) {
            s->bad_trace = true;
            return true;
        }
        orr_far_lanes far = a.mask ? orr_cluster_far(&seat, i, &a) : (orr_far_lanes){0};
        if (!far.mask) continue;
        some = true;
        if (s->async.network < (double)at) s->async.network = (double)at;
        s->async.network += far.packets * orr_cluster_packet(g, i);
        uint64_t sent = (uint64_t)s->async.network;
        uint64_t there = sent + orr_cluster_latency(g, i, s->id, b->async.peers[far.rank].core);
        *ready = latest(*ready, i->flags & ORR_TF_LOAD ? there : sent);
        if (!(i->flags & ORR_TF_LOAD)) w->async.remote_done = latest(w->async.remote_done, there);
        for (uint32_t m = orr_cluster_arrives(i) && a.versioned ? a.mask : 0; m; m &= m - 1) {
            uint64_t offset;
            uint32_t to = orr_cluster_rank(&seat, a.version[orr_ffs(m)], &offset);
            abt_cluster_arrive(s->m, b, to, offset, 1, sent + (uint64_t)g->cluster_arrive);
        }
        s->n.cluster_accesses++;
    }
    return some;
}
