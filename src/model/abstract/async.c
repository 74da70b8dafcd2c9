// Mbarriers, bulk copies, products of groups of warps and registers that warps hand on (async.h).
#include "model/abstract/async.h"

#include <stdlib.h>
#include <string.h>

#include "model/abstract/abstract.h"
#include "stream/trace.h"

// ---- an SM -------------------------------------------------------------------------------------------
void abt_async_start(acore *s) {
    async_core *a = &s->async;
    const cycle *c = s->m->c;
    if (!a->products.warp) products_init(&a->products, &c->core.products, s->m->nsched * s->m->per_sched);
    products_reset(&a->products);
    if (!a->answers) a->answers = orr_calloc(c->core.tma.requests, sizeof *a->answers);
    tma_maps_reset(&a->maps);
    memset(a->answers, 0, c->core.tma.requests * sizeof *a->answers);
    a->next = a->out = a->network = 0;
    a->asked = a->loads_done = 0;
    a->first = a->queue.n = 0;
}

void abt_async_free(acore *s) {
    products_free(&s->async.products);
    tma_maps_reset(&s->async.maps);
    free(s->async.answers);
    free(s->async.queue.at);
    for (uint32_t n = 0; n < s->blocks.cap; n++) abt_async_block_free(&s->blocks.at[n]);
}

void abt_async_block_free(ablock *b) {
    free(b->async.mbars.at);
    free(b->async.waits.at);
    b->async = (async_block){0};
}

void abt_async_block_start(ablock *b) {
    async_block old = b->async;
    b->async = (async_block){.size = 1, .mbars = old.mbars, .waits = old.waits};
    b->async.mbars.n = b->async.waits.n = 0;
}

// The number of the k-th warp of a batch.
static uint32_t number_of(const acore *s, const awarp *w, uint32_t k) {
    return k ? w->batch.id[k] : (uint32_t)(w - s->warps);
}

void abt_async_warp_start(acore *s, awarp *w) {
    w->async = (async_warp){0};
    products_start_warp(&s->async.products, (uint32_t)(w - s->warps));
}

void abt_async_goes_on(acore *s, uint32_t id, uint64_t when) {
    uint64_t t = s->queue.when[id] & ~WAITS;
    s->queue.when[id] = t > when ? t : when;
    s->warps[id].skew = 0;
    s->queue.changed = true;
    if (s->queue.when[id] < s->queue.next) s->queue.next = s->queue.when[id];
}

// ---- mbarriers ---------------------------------------------------------------------------------------
static uint32_t find(async_block *b, uint64_t at) {
    for (uint32_t n = 0; n < b->mbars.n; n++)
        if (b->mbars.at[n].at == at) return n;
    async_mbar *x = ORR_PUSH(&b->mbars);
    memset(x, 0, sizeof *x);
    x->at = at;
    return (uint32_t)b->mbars.n - 1;
}

static uint64_t wake(const acore *s) { return s->m->c->core.shared.latency; }

// When the operation began that made `need` of them; NEVER: it has not.
static uint64_t made(const async_mbar *x, uint32_t need) {
    if (x->n < need) return NEVER;
    uint32_t all = x->next < ASYNC_OPS ? x->next : ASYNC_OPS;
    for (uint32_t k = x->next - all; k != x->next; k++)
        if (x->op[k % ASYNC_OPS].n >= need) return x->op[k % ASYNC_OPS].made;
    return 0;
}

static void release(acore *s, ablock *b, uint32_t which) {
    async_block *a = &b->async;
    uint32_t left = 0;
    for (uint32_t n = 0; n < a->waits.n; n++) {
        async_wait v = a->waits.at[n];
        uint64_t when = v.mbar == which ? made(&a->mbars.at[which], v.operations) : NEVER;
        if (when == NEVER) {
            a->waits.at[left++] = v;
            continue;
        }
        async_warp *w = &s->warps[v.warp].async;
        uint64_t ready = when + wake(s);
        if (ready > w->latency) w->earliest = latest(w->earliest, ready - w->latency);
        if (!--w->open) abt_async_goes_on(s, v.warp, w->earliest);
    }
    a->waits.n = left;
}

void abt_async_arrived(acore *s, ablock *b, uint64_t mbar, uint32_t lanes, uint64_t when) {
    uint32_t which = find(&b->async, mbar);
    async_mbar *x = &b->async.mbars.at[which];
    x->n += lanes;
    uint64_t before = x->next ? x->op[(x->next - 1) % ASYNC_OPS].made : 0;
    x->op[x->next % ASYNC_OPS].n = x->n;
    x->op[x->next++ % ASYNC_OPS].made = latest(before, when);
    if (b->async.waits.n) release(s, b, which);
}

bool abt_async_unstick(machine *m) {
    bool some = false;
    for (uint32_t n = 0; n < m->ncores; n++) {
        acore *s = &m->cores[n];
        for (uint32_t k = 0; s->prepared && k < s->blocks.n; k++) {
            ablock *b = &s->blocks.at[k];
            if (!b->buf) continue;
            for (uint32_t w = 0; w < b->nwarps; w++)
                some |= b->warp[w] != NOBODY && abt_async_grant(s, &s->warps[b->warp[w]], m->window.from);
            if (!b->async.waits.n) continue;
            async_wait v = b->async.waits.at[0];
            const async_mbar *x = &b->async.mbars.at[v.mbar];
            abt_async_arrived(s, b, x->at, v.operations - x->n, m->window.from);
            some = true;
        }
    }
    return some;
}

static orr_cluster_seat seat_of(const machine *m, const ablock *b) {
    return (orr_cluster_seat){b->async.rank, b->async.size, m->kernel->machine};
}

// An operation on an mbarrier, in this block or another of the cluster.
static void arrive_at(acore *s, ablock *b, uint64_t addr, uint32_t lanes, uint64_t when) {
    uint64_t offset;
    orr_cluster_seat seat = seat_of(s->m, b);
    uint32_t rank = orr_cluster_rank(&seat, addr, &offset);
    if (rank == b->async.rank)
        abt_async_arrived(s, b, offset, lanes, when);
    else
        abt_cluster_arrive(s->m, b, rank, offset, lanes, when + (uint64_t)s->m->gpu->cluster_arrive);
}

// ---- bulk copies -------------------------------------------------------------------------------------
static void landed(acore *s, const tma_copy *c, uint64_t done) {
    const machine *m = s->m;
    ablock *b = &s->blocks.at[c->slot];
    if (c->kind != TMA_LOAD) return;
    s->async.loads_done = latest(s->async.loads_done, done);
    if (!b->buf || b->buf->index != c->block) return;
    uint64_t offset;
    done = done > wake(s) ? done - wake(s) : 0; // an arrival that was made so much earlier
    if (!c->to || b->async.size < 2) {
        arrive_at(s, b, c->mbar, 1, done);
        return;
    }
    orr_cluster_seat seat = seat_of(m, b);
    orr_cluster_rank(&seat, c->mbar, &offset);
    for (uint32_t to = c->to; to; to &= to - 1) { // multicast
        uint32_t rank = (uint32_t)orr_ffs(to);
        if (rank == b->async.rank)
            abt_async_arrived(s, b, offset, 1, done);
        else if (rank < b->async.size)
            abt_cluster_arrive(m, b, rank, offset, 1, done);
    }
}

static tma_line next_line(acore *s, tma_copy *c) {
    tma_line x = tma_next_line(c);
    uint32_t n = orr_sectors_in(x.sectors);
    s->n.tma.sectors += n;
    s->n.tma.kind[c->kind % TMA_KINDS] += n;
    return x;
}

// When the next request of the copy at hand leaves: in its turn, and when there are not too many unanswered.
static double turn_of(const acore *s) {
    const async_core *a = &s->async;
    double t = (double)a->queue.at[a->first].copy.ready;
    double answered = (double)a->answers[a->asked % s->m->c->core.tma.requests];
    if (t < a->next) t = a->next;
    return t < answered ? answered : t;
}

uint64_t abt_async_due(const acore *s) {
    return s->async.first == s->async.queue.n ? NEVER : (uint64_t)turn_of(s);
}

// Requests that leave before `stop`.
void abt_async_send(acore *s, uint64_t stop) {
    const tma_spec *spec = &s->m->c->core.tma;
    async_core *a = &s->async;
    while (a->first < a->queue.n) {
        async_copy *x = &a->queue.at[a->first];
        while (!x->copy.sent) {
            double t = turn_of(s);
            if (t >= (double)stop) return;
            tma_line line = next_line(s, &x->copy);
            uint64_t answer = abt_lines_bulk_load(s, &line, (uint64_t)t);
            a->answers[a->asked++ % spec->requests] = answer;
            x->last = latest(x->last, answer);
            a->next = t + spec->interval;
        }
        async_copy done = *x;
        if (++a->first == a->queue.n) a->first = a->queue.n = 0;
        landed(s, &done.copy, done.last + spec->latency);
    }
}

// A store that can begin at `ready`: when it has been read.
static uint64_t store_lines(acore *s, tma_copy *c, uint64_t ready) {
    const tma_spec *spec = &s->m->c->core.tma;
    double t = s->async.out > (double)ready ? s->async.out : (double)ready;
    while (!c->sent) {
        tma_line x = next_line(s, c);
        double leaves = abt_lines_bulk_store(s, &x, t, c->kind == TMA_REDUCE);
        t = leaves > t + spec->interval ? leaves : t + spec->interval;
    }
    s->async.out = t;
    return (uint64_t)t + spec->store_latency;
}

static void copy(acore *s, awarp *w, tma_copy *c, uint64_t now) {
    const tma_spec *spec = &s->m->c->core.tma;
    async_core *a = &s->async;
    bool nothing = !c->row || spec->perfect;
    c->ready = now;
    c->slot = w->block;
    c->block = s->blocks.at[w->block].buf->index;
    if (c->map) c->ready = latest(now, tma_maps_ready(&a->maps, spec->map_miss, c->map, now));
    s->n.tma.bytes += c->bytes;
    uint64_t done = c->ready + spec->l2_latency + spec->latency;
    if (c->kind == TMA_STORE || c->kind == TMA_REDUCE) {
        uint64_t *group = &w->group_ready[w->group % MAX_GROUPS];
        if (!nothing) done = store_lines(s, c, c->ready);
        *group = latest(*group, done);
        w->async.read = latest(w->async.read, done);
    } else if (nothing) {
        landed(s, c, done);
    } else {
        *ORR_PUSH(&a->queue) = (async_copy){.copy = *c};
    }
}

uint64_t abt_async_landed(acore *s) {
    abt_async_send(s, NEVER);
    return s->async.loads_done;
}

// ---- operations on mbarriers --------------------------------------------------------------------------
orr_trace abt_async_access(const awarp *w, uint32_t access, uint32_t k) {
    const uint8_t *base = k ? w->batch.bytes[k] : w->base;
    return (orr_trace){base + w->access[access], base + (w->trace.end - w->base), w->mask};
}

typedef struct mbar_op {
    const orr_tinst *i;
    uint64_t start;   // when it begins
    uint64_t ready;   // when its result is there, if it need not wait
    uint32_t latency; // of that
} mbar_op;

// Lanes of a warp on one mbarrier.
static void operate(acore *s, awarp *w, mbar_op *o, uint64_t at, uint32_t lanes, uint32_t need) {
    ablock *b = &s->blocks.at[w->block];
    bool waits = o->i->imm == ORR_MBAR_TEST_WAIT || o->i->imm == ORR_MBAR_TRY_WAIT;
    if (o->i->imm < ORR_MBAR_ARRIVE || (waits && !need)) return;
    if (!waits) {
        bool copies = o->i->imm == ORR_MBAR_COPIES_ARRIVE;
        arrive_at(s, b, at, lanes, copies ? latest(o->start, w->async.copied) : o->start);
        return;
    }
    uint64_t offset;
    orr_cluster_seat seat = seat_of(s->m, b);
    orr_cluster_rank(&seat, at, &offset);
    uint32_t which = find(&b->async, offset);
    uint64_t when = made(&b->async.mbars.at[which], need);
    if (when != NEVER) {
        o->ready = latest(o->ready, when + wake(s));
        return;
    }
    *ORR_PUSH(&b->async.waits) =
        (async_wait){.warp = (uint32_t)(w - s->warps), .mbar = which, .operations = need};
    w->async.open++;
}

static void operate_all(acore *s, awarp *w, mbar_op *o, orr_trace t) {
    orr_access a;
    if (!orr_trace_access(&t, &a)) {
        s->bad_trace = true;
        return;
    }
    if (o->i->imm == ORR_MBAR_BULK) {
        tma_copy c;
        for (uint32_t n = 0; tma_copy_of(o->i, &a, n, &c); n++) copy(s, w, &c, o->start);
        return;
    }
    for (uint32_t left = a.mask; left;) { // mbarrier by mbarrier
        uint64_t at = a.addr[orr_ffs(left)];
        uint32_t need, same = orr_access_alike(&a, left, &need);
        left &= ~same;
        operate(s, w, o, at, (uint32_t)orr_popc(same), need);
    }
}

// Instruction `inst`, issued at `issued`, on mbarriers; *t: when the warp goes on. True: it has to wait.
static bool syncs(acore *s, awarp *w, uint32_t inst, uint64_t issued, uint64_t *t) {
    const machine *m = s->m;
    const orr_tinst *i = &m->code->program->insts[inst];
    uint32_t latency = m->code->latency[inst];
    mbar_op o = {.i = i, .start = issued, .ready = issued + latency, .latency = latency};
    w->async.latency = (uint16_t)(latency < UINT16_MAX ? latency : UINT16_MAX);
    for (uint32_t k = 0; k < w->n && !s->bad_trace; k++) {
        o.start = issued + (k ? (uint64_t)w->skew * k / (w->n - 1u) : 0);
        operate_all(s, w, &o, abt_async_access(w, i->access, k));
    }
    if (o.ready > *t + latency) *t = o.ready - latency;
    w->async.earliest = *t;
    return w->async.open != 0;
}

// ---- products ----------------------------------------------------------------------------------------
uint64_t abt_async_before(const acore *s, const awarp *w, const orr_tinst *i, uint64_t t) {
    const product_units *u = &s->async.products;
    for (uint32_t k = 0; k < w->n; k++) {
        uint32_t id = number_of(s, w, k);
        t = latest(t, i->kind == ORR_TK_PRODUCT ? products_room(u, id) : products_wait(u, id, i->imm));
    }
    return t;
}

static void multiply(acore *s, awarp *w, const orr_tinst *i, uint64_t issued) {
    for (uint32_t k = 0; k < w->n; k++) {
        uint32_t id = number_of(s, w, k);
        products_issue(&s->async.products, id / s->m->per_sched, id, i, issued);
        if (i->warps) slots_take(&s->lsu.passes, issued, i->warps, 1); // what it reads of shared memory
    }
}

// ---- registers that warps give to each other (cycle/block.c) ------------------------------------------
static uint32_t sub_of(const acore *s, const awarp *w, uint32_t k) {
    return number_of(s, w, k) / s->m->per_sched / s->m->c->sched_per_sub;
}

static bool has_room(const acore *s, const awarp *w, const ablock *b) {
    for (uint32_t k = 0; k < w->n; k++)
        if (w->async.wanted > b->async.given_up[sub_of(s, w, k)]) return false;
    return true;
}

static void take_registers(const acore *s, const awarp *w, ablock *b) {
    for (uint32_t k = 0; w->async.wanted > 0 && k < w->n; k++)
        b->async.given_up[sub_of(s, w, k)] -= w->async.wanted;
}

// A warp that has asked in vain goes on asking, with four instructions each time.
bool abt_async_grant(acore *s, awarp *w, uint64_t when) {
    const orr_gpu *g = s->m->gpu;
    async_warp *a = &w->async;
    if (!a->try_inst) return false;
    uint64_t period = (uint64_t)g->registers_retry, late = when > a->first_try ? when - a->first_try : 0;
    uint64_t times = period ? (late + period - 1) / period : 0;
    s->n.issued += times * 4 * w->n;
    s->n.thread_insts += times * 4 * w->n * (uint64_t)orr_popc(w->mask);
    a->try_inst = 0;
    abt_async_goes_on(s, (uint32_t)(w - s->warps), a->first_try + times * period);
    return true;
}

static bool registers(acore *s, awarp *w, const orr_tinst *i, uint64_t issued, uint64_t *t) {
    const orr_gpu *g = s->m->gpu;
    ablock *b = &s->blocks.at[w->block];
    int32_t had = (int32_t)s->m->code->program->registers, n = i->warps;
    if (g->registers_retry <= 0 || !n) return false;
    w->async.wanted = n - had;
    if (i->imm && has_room(s, w, b)) {
        take_registers(s, w, b);
        *t = latest(*t, issued);
        return false;
    }
    if (i->imm) {
        w->async.first_try = issued;
        w->async.try_inst = 1;
        w->async.earliest = *t;
        return true;
    }
    *t = latest(*t, issued + (uint64_t)g->registers_release);
    for (uint32_t k = 0; n < had && k < w->n; k++) b->async.given_up[sub_of(s, w, k)] += had - n;
    for (uint32_t k = 0; k < b->nwarps; k++) {
        awarp *v = b->warp[k] == NOBODY ? NULL : &s->warps[b->warp[k]];
        if (!v || !v->async.try_inst || !has_room(s, v, b)) continue;
        take_registers(s, v, b);
        abt_async_grant(s, v, issued);
    }
    return false;
}

// ---- what a segment ends with --------------------------------------------------------------------------
bool abt_async_after(acore *s, uint32_t id, const aseg *g, uint64_t *t) {
    awarp *w = &s->warps[id];
    const orr_tinst *i = &s->m->code->program->insts[g->inst];
    uint64_t issued = *t - g->tail;
    bool waits = false;
    if (g->after == ORR_TK_SYNCS)
        waits = syncs(s, w, g->inst, issued, t);
    else if (g->after == ORR_TK_PRODUCT)
        multiply(s, w, i, issued);
    else if (g->after == AFTER_MAPS)
        tma_maps_prefetch(&s->async.maps, issued);
    else
        waits = registers(s, w, i, issued, t);
    s->queue.when[id] = *t;
    if (waits) s->queue.when[id] |= WAITS;
    return waits;
}
