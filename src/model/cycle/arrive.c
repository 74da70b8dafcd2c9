// Barriers in shared memory (mbarrier): warps arrive, and wait until as many have as it takes.
//
// A stream has the address of each such operation, and for a wait that succeeded how many operations of lanes
// were made on the mbarrier until the phase was over that it waited for (exec/run/arrive.c). So the SM counts
// them, block by block, and a wait has its result when as many have been made. Copies (LDGSTS) that arrive do
// so when all those are there that their warp has issued before.
//
// Streams from elsewhere do not say how many: there a wait takes its latency.
#include "exec/exec.h"
#include "model/cycle/sm.h"

static uint32_t find(block *b, uint64_t at) {
    for (uint32_t n = 0; n < b->mbars.n; n++)
        if (b->mbars.at[n].at == at) return n;
    *ORR_PUSH(&b->mbars) = (mbar){.at = at};
    return (uint32_t)b->mbars.n - 1;
}

// From an arrival to the result of who waits for it: as long as a load where nothing is said.
static uint64_t wake(const sm *s) { return s->c->core.shared.latency; }

// Those whose arrivals have all been made have their results, one after the other.
static void release(sm *s, block *b, uint32_t which) {
    const mbar *x = &b->mbars.at[which];
    uint32_t left = 0;
    uint64_t seen = x->last_operation + wake(s);
    for (uint32_t n = 0; n < b->mwaits.n; n++) {
        mwait v = b->mwaits.at[n];
        if (v.mbar != which || x->operations < v.operations) {
            b->mwaits.at[left++] = v;
            continue;
        }
        cyc_warp_complete(s, warp_of(s, v.warp), v.inst, v.earliest > seen ? v.earliest : seen, NO_GROUP);
    }
    b->mwaits.n = left;
}

static void arrived(sm *s, block *b, uint32_t which, uint32_t lanes, uint64_t when) {
    mbar *x = &b->mbars.at[which];
    x->operations += lanes;
    if (when > x->last_operation) x->last_operation = when;
    if (b->mwaits.n) release(s, b, which);
}

void cyc_arrived(sm *s, block *b, uint64_t mbar, uint32_t lanes, uint64_t when) {
    arrived(s, b, find(b, mbar), lanes, when);
}

bool cyc_waits_release(sm *s) {
    bool some = false;
    for (uint32_t n = 0; n < s->tb.n; n++) {
        block *b = &s->tb.slot[n];
        if (!b->buf || !b->mwaits.n) continue;
        uint32_t which = b->mwaits.at[0].mbar, need = b->mwaits.at[0].operations;
        arrived(s, b, which, need - b->mbars.at[which].operations, s->clock.now);
        some = true;
    }
    return some;
}

// An operation on an mbarrier, in this block or another of the cluster.
static void arrive_at(sm *s, block *b, uint64_t addr, uint32_t lanes, uint64_t when) {
    uint64_t offset;
    uint32_t rank = cyc_cluster_rank(s, b, addr, &offset);
    if (rank == b->rank)
        arrived(s, b, find(b, offset), lanes, when);
    else
        cyc_cluster_arrive(s, b, rank, offset, lanes, when + (uint64_t)s->c->gpu->cluster_arrive);
}

// ---- copies that arrive
// Copies are told apart by how many times their warp has said so since, in a ring.
static bool copies_there(const warp *w, uint8_t until, uint64_t *when) {
    uint32_t later = (uint32_t)(w->arrivals.n - until) % MAX_GROUPS; // those that were issued behind
    for (uint32_t k = 0; k < MAX_GROUPS - later; k++) {
        uint32_t n = (until - k) % MAX_GROUPS;
        if (w->arrivals.open[n]) return false;
        if (w->arrivals.ready[n] > *when) *when = w->arrivals.ready[n];
    }
    return true;
}

void cyc_copies_landed(sm *s, warp *w, uint8_t which, uint64_t ready) {
    block *b = &s->tb.slot[w->block];
    w->arrivals.open[which]--;
    if (w->arrivals.ready[which] < ready) w->arrivals.ready[which] = ready;
    uint32_t left = 0, all = (uint32_t)b->mcopies.n, me = warp_id(w);
    for (uint32_t n = 0; n < all; n++) {
        mcopy v = b->mcopies.at[n];
        uint64_t when = 0;
        if (v.warp != me || !copies_there(w, v.arrival, &when)) {
            b->mcopies.at[left++] = v;
            continue;
        }
        arrived(s, b, v.mbar, v.lanes, when > v.earliest ? when : v.earliest);
    }
    b->mcopies.n = left;
}

static void copies_arrive(sm *s, warp *w, block *b, uint32_t which, uint32_t lanes, uint64_t when) {
    mcopy v = {.warp = warp_id(w), .mbar = which, .lanes = lanes, .earliest = when, .arrival = w->arrivals.n};
    if (copies_there(w, w->arrivals.n, &when))
        arrived(s, b, which, lanes, when);
    else
        *ORR_PUSH(&b->mcopies) = v;
}

// ---- bulk copies
static void bulk(sm *s, warp *w, const orr_tinst *i, const orr_access *a, uint64_t start) {
    tma_copy c;
    for (uint32_t n = 0; tma_copy_of(i, a, n, &c); n++) {
        c.warp = warp_id(w);
        c.slot = w->block;
        c.block = s->tb.slot[w->block].buf->index;
        if (c.kind == TMA_STORE || c.kind == TMA_REDUCE) {
            c.group = scoreboard_copy(&w->board);
            w->memory.inflight++;
        }
        tma_issue(&s->tma, &c, start);
    }
}

// `when`: who waits for it can go on. To the mbarrier it is an arrival that was made so much earlier.
void cyc_bulk_done(void *self, const tma_copy *c, uint64_t when) {
    sm *s = self;
    block *b = &s->tb.slot[c->slot];
    if (c->kind == TMA_STORE || c->kind == TMA_REDUCE) {
        cyc_warp_copied(s, warp_of(s, c->warp), c->group, when);
        return;
    }
    if (c->kind == TMA_LOAD) cyc_fence_bulk_landed(s, when);
    if (c->kind != TMA_LOAD || !b->buf || b->buf->index != c->block) return;
    if (when > wake(s)) when -= wake(s);
    uint64_t offset;
    cyc_cluster_rank(s, b, c->mbar, &offset);
    if (!c->to || b->size < 2) {
        arrive_at(s, b, c->mbar, 1, when);
        return;
    }
    for (uint32_t m = c->to; m; m &= m - 1) { // multicast
        uint32_t rank = (uint32_t)orr_ffs(m);
        if (rank == b->rank)
            arrived(s, b, find(b, offset), 1, when);
        else if (rank < b->size)
            cyc_cluster_arrive(s, b, rank, offset, 1, when);
    }
}

// ---- instructions
// It is in its unit at `start`.
void cyc_arrive(sm *s, warp *w, const orr_tinst *i, uint32_t inst, const orr_trace *access, uint64_t start) {
    block *b = &s->tb.slot[w->block];
    orr_trace t = *access;
    orr_access a;
    if (!orr_trace_access(&t, &a)) {
        s->bad_trace = true;
        return;
    }
    if (i->imm == ORR_MBAR_BULK) {
        bulk(s, w, i, &a, start);
        cyc_warp_result(s, w, i, start + 1);
        return;
    }
    uint64_t ready =
        start + (i->latency > s->c->core.shared.latency ? i->latency : s->c->core.shared.latency);
    bool waits = i->imm == ORR_MBAR_TEST_WAIT || i->imm == ORR_MBAR_TRY_WAIT, held = false;
    for (uint32_t left = a.mask; left;) { // mbarrier by mbarrier
        uint64_t at = a.addr[orr_ffs(left)];
        uint32_t need, same = orr_access_alike(&a, left, &need);
        left &= ~same;
        if (i->imm < ORR_MBAR_ARRIVE || (waits && !need)) continue;
        if (!waits && i->imm != ORR_MBAR_COPIES_ARRIVE) {
            arrive_at(s, b, at, (uint32_t)orr_popc(same), start);
            continue;
        }
        uint64_t offset;
        cyc_cluster_rank(s, b, at, &offset);
        uint32_t which = find(b, offset);
        if (waits) {
            const mbar *x = &b->mbars.at[which];
            if (x->operations < need && !held) { // of several, the first
                *ORR_PUSH(&b->mwaits) = (mwait){
                    .warp = warp_id(w), .inst = inst, .mbar = which, .operations = need, .earliest = ready};
                held = true;
            } else if (x->operations >= need && ready < x->last_operation + wake(s)) {
                ready = x->last_operation + wake(s); // right behind the last, or copies will have landed
            }
        } else {
            copies_arrive(s, w, b, which, (uint32_t)orr_popc(same), start);
        }
    }
    if (i->imm == ORR_MBAR_COPIES_ARRIVE) w->arrivals.n = (uint8_t)((w->arrivals.n + 1) % MAX_GROUPS);
    if (held)
        cyc_warp_expect(s, w, i, ORR_STALL_LONG);
    else
        cyc_warp_result(s, w, i, ready);
}
