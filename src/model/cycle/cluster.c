// Thread block clusters in time (cluster.h).
#include "model/cycle/cluster.h"

#include "isa/isa.h"

uint64_t cyc_cluster_window(const cycle *c) {
    uint64_t barrier = (uint64_t)c->gpu->cluster_barrier, arrive = (uint64_t)c->gpu->cluster_arrive;
    uint64_t least = barrier < arrive ? barrier : arrive;
    return !least || least > c->window ? c->window : least;
}

// ---- words --------------------------------------------------------------------------------------
static void receive_at(sm *s, const cluster_word *word, uint64_t when) {
    uint32_t at = s->cluster.free;
    if (at == NOBODY)
        at = (uint32_t)(ORR_PUSH(&s->cluster.in) - s->cluster.in.at);
    else
        s->cluster.free = s->cluster.in.at[at].slot;
    s->cluster.in.at[at] = *word;
    events_add_at(&s->clock, when, EVENT_TMA, TMA_WORD | at);
}

static void send(sm *s, const block *b, uint32_t rank, cluster_word word) {
    cluster_place to = b->mates[rank % CLUSTER_MOST];
    word.sm = to.sm;
    word.slot = to.slot;
    word.block = b->buf->index - b->rank + rank;
    if (to.sm == s->id)
        receive_at(s, &word, word.when);
    else
        *ORR_PUSH(&s->cluster.out) = word;
}

void cyc_words_deliver(cycle *c, uint64_t until) {
    for (uint32_t n = 0; n < c->nsms; n++) {
        cluster_mail *m = &c->sms[n].cluster;
        for (size_t k = 0; k < m->out.n; k++)
            receive_at(&c->sms[m->out.at[k].sm], &m->out.at[k],
                       m->out.at[k].when > until ? m->out.at[k].when : until);
        m->out.n = 0;
    }
}

void cyc_cluster_word(sm *s, uint32_t at) {
    cluster_word word = s->cluster.in.at[at];
    s->cluster.in.at[at].slot = s->cluster.free;
    s->cluster.free = at;
    block *b = &s->tb.slot[word.slot];
    if (!b->buf || b->buf->index != word.block) return;
    if (word.kind == CLUSTER_ARRIVAL)
        cyc_arrived(s, b, word.at, word.lanes, s->clock.now);
    else
        cyc_cluster_heard(s, b, word.kind == CLUSTER_GONE);
}

// Whose shared memory an address is in; its offset there.
uint32_t cyc_cluster_rank(const sm *s, const block *b, uint64_t addr, uint64_t *offset) {
    uint64_t at = addr - ORR_SHARED_WINDOW < ORR_WINDOW_BYTES ? addr - ORR_SHARED_WINDOW : addr;
    uint32_t tag = (uint32_t)(at >> 24) & 255;
    *offset = at & 0xffffff;
    if (b->size < 2) return b->rank;
    uint32_t rank = s->c->kernel->machine ? tag : tag ? tag - 1 : b->rank;
    return rank < b->size ? rank : b->rank;
}

void cyc_cluster_arrive(sm *s, const block *b, uint32_t rank, uint64_t offset, uint32_t lanes,
                        uint64_t when) {
    send(s, b, rank, (cluster_word){.kind = CLUSTER_ARRIVAL, .at = offset, .lanes = lanes, .when = when});
}

// ---- the barrier --------------------------------------------------------------------------------
static void tell_all(sm *s, const block *b, uint8_t kind, uint64_t when) {
    for (uint32_t r = 0; r < b->size; r++)
        if (kind == CLUSTER_BARRIER_WORD || r != b->rank)
            send(s, b, r, (cluster_word){.kind = kind, .when = when});
}

// All warps of the block that have not ended have arrived.
static void check_block(sm *s, block *b) {
    if (!b->barrier.came || b->barrier.came < b->running) return;
    b->barrier.came = 0;
    tell_all(s, b, CLUSTER_BARRIER_WORD, b->barrier.last + (uint64_t)s->c->gpu->cluster_barrier);
}

void cyc_cluster_barrier(sm *s, warp *w, const orr_tinst *i) {
    block *b = &s->tb.slot[w->block];
    if (!(i->flags & ORR_TF_ARRIVE)) {
        if (b->barrier.over >= w->cluster_phase) return;
        w->barrier = CLUSTER_BARRIER + 1;
        b->barrier.waits++;
        if (!b->live) cyc_block_check(s, b);
        return;
    }
    if (w->cluster_phase > b->barrier.over) return; // lanes that come later than others of their warp
    w->cluster_phase = b->barrier.over + 1;
    b->barrier.came++;
    b->barrier.last = s->clock.now;
    check_block(s, b);
}

void cyc_cluster_heard(sm *s, block *b, bool gone) {
    b->barrier.gone += gone;
    b->barrier.heard += !gone;
    if (!b->barrier.heard || b->barrier.heard + b->barrier.gone < b->size) return;
    b->barrier.heard = 0;
    b->barrier.over++;
    for (uint32_t n = 0; n < b->nwarps; n++) {
        warp *w = b->warp[n] == NOBODY ? NULL : warp_of(s, b->warp[n]);
        if (!w || w->barrier != CLUSTER_BARRIER + 1 || w->cluster_phase > b->barrier.over) continue;
        w->barrier = 0;
        b->barrier.waits--;
        w->through = s->clock.now + (uint64_t)(n * s->c->gpu->cluster_barrier_warp);
        cyc_warp_update(s, w);
    }
}

void cyc_cluster_left(sm *s, block *b) {
    if (b->running)
        check_block(s, b);
    else if (b->size > 1)
        tell_all(s, b, CLUSTER_GONE, s->clock.now + (uint64_t)s->c->gpu->cluster_barrier);
}

// ---- shared memory of other blocks --------------------------------------------------------------
// An access of other blocks' shared memory leaves in packets, one for each sector of 32 bytes of each block;
// atomics of several lanes on one word are a packet each.
typedef struct far_lanes {
    uint32_t packets, mask; // lanes that go elsewhere
    uint32_t rank;          // of the first of them
} far_lanes;

static far_lanes far_lanes_of(const sm *s, const block *b, const orr_tinst *i, const orr_access *a) {
    far_lanes far = {0};
    uint64_t sector[32], word[32];
    uint32_t seen = 0;
    bool atomic = i->flags & ORR_TF_ATOMIC, arrives = i->sass == ORR_SASS_STAS || i->sass == ORR_SASS_REDAS;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint32_t lane = orr_ffs(m);
        uint64_t offset, addr = a->addr[lane];
        if (i->space == ORR_SPACE_GENERIC && addr - ORR_SHARED_WINDOW >= ORR_WINDOW_BYTES) continue;
        uint32_t rank = cyc_cluster_rank(s, b, addr, &offset);
        if (rank == b->rank && !arrives) continue;
        if (!far.mask) far.rank = rank;
        far.mask |= 1u << lane;
        uint64_t at = (uint64_t)rank << 24 | offset;
        uint32_t n = i->bytes > 32 ? 1 : (uint32_t)((offset % 32 + i->bytes + 31) / 32);
        for (uint32_t k = 0; k < n; k++) {
            bool joins = false;
            for (uint32_t x = 0; x < seen && !joins; x++)
                joins = sector[x] == at / 32 + k && (!atomic || !(word[x] >> (offset / 4 % 8) & 1)) &&
                        (word[x] |= atomic ? 1ull << (offset / 4 % 8) : 0, true);
            if (joins || seen == 32) continue;
            sector[seen] = at / 32 + k;
            word[seen++] = atomic ? 1ull << (offset / 4 % 8) : 0;
            far.packets++;
        }
    }
    return far;
}

// Cycles that the network between SMs takes for a packet of 32 bytes.
static double packet_cycles(const orr_gpu *g, const orr_tinst *i) {
    if (i->flags & ORR_TF_ATOMIC) return g->cluster_atomic;
    return 32 / (i->flags & ORR_TF_LOAD ? g->cluster_load_bytes : g->cluster_store_bytes);
}

// An access of another block's shared memory goes by way of the network between the SMs of a GPC: it takes
// its turn there, and its time. Lanes of the block's own go with it. Returns false: all are the block's own.
bool cyc_cluster_access(sm *s, warp *w, const orr_tinst *i, const orr_trace *trace, uint64_t start) {
    const orr_gpu *g = s->c->gpu;
    block *b = &s->tb.slot[w->block];
    orr_trace t = *trace;
    orr_access a;
    if (b->size < 2 || !orr_trace_access(&t, &a) || !a.mask) return false;
    far_lanes far = far_lanes_of(s, b, i, &a);
    if (!far.mask) return false;
    bool arrives = i->sass == ORR_SASS_STAS || i->sass == ORR_SASS_REDAS;
    if (s->cluster.busy < (double)start) s->cluster.busy = (double)start;
    s->cluster.busy += far.packets * packet_cycles(g, i);
    uint64_t sent = (uint64_t)s->cluster.busy;
    bool near = s->id / 2 == b->mates[far.rank].sm / 2;
    uint64_t there = sent + (uint64_t)(near ? g->cluster_load_near : g->cluster_load);
    if (i->flags & ORR_TF_ATOMIC) there += (uint64_t)g->cluster_atomic_latency;
    s->cluster.accesses++;
    scoreboard_reads(&w->board, s->c->program, i, sent);
    if (i->flags & ORR_TF_LOAD)
        cyc_warp_result(s, w, i, there);
    else if (w->far < there)
        w->far = there; // a fence waits until it is known to be done
    for (uint32_t m = arrives && a.versioned ? a.mask : 0; m; m &= m - 1) {
        uint64_t offset;
        uint32_t to = cyc_cluster_rank(s, b, a.version[orr_ffs(m)], &offset);
        cyc_cluster_arrive(s, b, to, offset, 1, sent + (uint64_t)g->cluster_arrive);
    }
    return true;
}

// ---- placement ----------------------------------------------------------------------------------
// SMs of launch.first are apart from their GPC: a cluster of no more blocks than a TPC has SMs goes there
// first, a TPC each, and a larger one never (H200: micro/hopper, place.sm). Others go to the GPCs in turn;
// one is passed over as long as another has room for the cluster on SMs that have fewer blocks.
typedef struct sm_set {
    uint32_t apart; // SMs from 0 on that are no GPC's
    uint32_t gpc;   // the GPC; NO_GPC: SMs from `first` on that are apart
    uint32_t first, end;
} sm_set;
#define NO_GPC UINT32_MAX

static uint32_t used_of(const sm *s) { return s->tb.resident + s->tb.nstock; }

static bool is_in(const cycle *c, const sm_set *set, uint32_t n) {
    if (set->gpc == NO_GPC) return n >= set->first && n < set->end;
    return n >= set->apart && orr_gpc_of_sm(n, c->crossbar.gpcs) == set->gpc;
}

// The SM with the fewest blocks, the first of them: a pair of blocks is in one TPC.
static sm *emptiest(cycle *c, const sm_set *set) {
    sm *best = NULL;
    for (uint32_t n = 0; n < c->nsms; n++) {
        sm *s = &c->sms[n];
        if (!is_in(c, set, n) || used_of(s) >= s->tb.n) continue;
        if (!best || used_of(s) < used_of(best)) best = s;
    }
    return best;
}

static uint32_t started_slot(const sm *s) { // of the block that was started last
    uint32_t slot = 0;
    for (uint32_t n = 0; n < s->tb.n; n++)
        if (s->tb.slot[n].buf &&
            (!s->tb.slot[slot].buf || s->tb.slot[n].buf->index > s->tb.slot[slot].buf->index))
            slot = n;
    return slot;
}

// A cluster on SMs of the set that have no more than `most` blocks then.
static bool deal_one(cycle *c, const sm_set *set, uint32_t most, const cluster_dealer *d) {
    cluster_place places[CLUSTER_MOST];
    uint32_t size = c->cluster, room = 0;
    for (uint32_t n = 0; n < c->nsms; n++) {
        const sm *s = &c->sms[n];
        uint32_t to = most < s->tb.n ? most : s->tb.n;
        if (is_in(c, set, n) && used_of(s) < to) room += to - used_of(s);
    }
    if (room < size) return false;
    for (uint32_t r = 0; r < size; r++) {
        sm *s = emptiest(c, set);
        if (!s || !d->hand_out(d->arg, s)) return false;
        cyc_block_start(s, d->now);
        places[r] = (cluster_place){s->id, started_slot(s)};
    }
    for (uint32_t r = 0; r < size; r++) {
        block *b = &c->sms[places[r].sm].tb.slot[places[r].slot];
        b->rank = r;
        b->size = size;
        for (uint32_t k = 0; k < size; k++) b->mates[k] = places[k];
    }
    return true;
}

void cyc_clusters_deal(cycle *c, const cluster_dealer *d) {
    uint32_t tpc = c->crossbar.gpcs.tpc_sms, apart = (uint32_t)c->gpu->launch_first, blocks = 0;
    if (apart > c->nsms || c->gpu->launch_order != ORR_LAUNCH_GPC) apart = 0;
    for (uint32_t n = 0; n < c->nsms; n++) blocks = c->sms[n].tb.n > blocks ? c->sms[n].tb.n : blocks;
    for (uint32_t most = 1; most <= blocks; most++) {
        for (bool some = true; some;) {
            some = false;
            for (uint32_t n = 0; c->cluster <= tpc && n + tpc <= apart; n += tpc)
                some |= deal_one(c, &(sm_set){.gpc = NO_GPC, .first = n, .end = n + tpc}, most, d);
            for (uint32_t g = 0; g < c->crossbar.ngpcs; g++)
                some |= deal_one(c, &(sm_set){.gpc = g, .apart = apart}, most, d);
        }
    }
}
