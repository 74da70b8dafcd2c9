// A launch through the machine: the SMs in turn, window by window.
//
// SMs meet at two places: memory, whose reservations do not mind that one SM is a window ahead of another,
// and the queue of thread blocks. An SM that has room for a block stops until all have come as far as they
// can; then who was free first gets the next one. What is done is done by one host thread; with more,
// executing goes on beside it.
#include "model/abstract/abstract.h"

#include <stdlib.h>
#include <string.h>

#include "model/cycle/cluster.h"
#include "model/dispatch.h"

// ---- the machine --------------------------------------------------------------------------------
// Units as the cycle model spreads them over sub-cores.
static void make_pools(const machine *m, acore *s) {
    const orr_gpu *g = m->gpu;
    uint32_t subs = (uint32_t)g->core_subcores, per = m->c->sched_per_sub;
    s->pools.units = orr_calloc((size_t)g->nunits * subs + 1, sizeof *s->pools.units);
    for (int u = 0; u < g->nunits; u++) {
        uint32_t count = (uint32_t)g->units[u].count, first = s->pools.n;
        bool common = count < subs;
        for (uint32_t n = 0; n < (common ? 1 : subs); n++)
            s->pools.units[s->pools.n++] = common ? count : count / subs;
        for (uint32_t q = 0; q < m->nsched; q++)
            s->sched[q].pool_of[u] = (uint8_t)(first + (common ? 0 : q / per));
    }
    s->pools.at = orr_calloc(s->pools.n + 1, sizeof *s->pools.at);
}

static void make_core(machine *m, acore *s, uint32_t id) {
    const orr_gpu *g = m->gpu;
    s->m = m;
    s->id = id;
    s->sched = orr_apart(m->nsched, sizeof *s->sched);
    make_pools(m, s);
    uint32_t warps = m->nsched * m->per_sched;
    s->warps = orr_apart(warps, sizeof *s->warps);
    s->queue.when = orr_calloc(warps, sizeof *s->queue.when);
    s->queue.order = orr_calloc(warps, sizeof *s->queue.order);
    s->queue.list = orr_calloc(warps, sizeof *s->queue.list);
    s->queue.at = orr_calloc(warps, sizeof *s->queue.at);
    for (uint32_t n = 0; n < m->nsched; n++) {
        asched *q = &s->sched[n];
        if (g->icache_l0 && !g->icache_perfect) {
            orr_cache_init(&q->l0, (uint64_t)g->icache_l0, (uint32_t)g->icache_line, 0, false, false);
            q->l0_when = orr_calloc((size_t)q->l0.sets * q->l0.ways, sizeof *q->l0_when);
        }
    }
    if (!g->icache_perfect) {
        orr_cache_init(&s->fetch.tags, (uint64_t)(g->icache_l1 ? g->icache_l1 : g->icache_line),
                       (uint32_t)g->icache_line, 0, false, false);
        s->fetch.when = orr_calloc((size_t)s->fetch.tags.sets * s->fetch.tags.ways, sizeof *s->fetch.when);
    }
    constants_init(&s->fetch.constants, &m->c->core.constants);
}

static void free_core(machine *m, acore *s) {
    if (!s->sched) return;
    for (uint32_t i = 0; i < m->nsched * m->per_sched; i++) {
        free(s->warps[i].ready.many);
        free(s->warps[i].access);
    }
    free(s->warps);
    free(s->queue.when);
    free(s->queue.order);
    free(s->queue.list);
    free(s->queue.at);
    free(s->pools.at);
    free(s->pools.units);
    for (uint32_t n = 0; n < m->nsched; n++) {
        asched *q = &s->sched[n];
        if (q->l0_when) orr_cache_free(&q->l0);
        free(q->l0_when);
        free(q->seen);
    }
    free(s->sched);
    abt_async_free(s);
    for (uint32_t n = 0; n < s->blocks.cap; n++) free(s->blocks.at[n].warp);
    free(s->blocks.at);
    if (s->fetch.when) orr_cache_free(&s->fetch.tags);
    free(s->fetch.when);
    constants_free(&s->fetch.constants);
}

machine *abt_machine_new(const orr_gpu *g, orr_err *e) {
    machine *m = orr_calloc(1, sizeof *m);
    m->gpu = g;
    m->one = *g;
    m->one.sm_count = m->one.tpc_count = m->one.gpc_count = 1;
    m->one.l2_size = m->one.l2_slices * ORR_LINE; // it is not used
    m->c = cyc_new(&m->one, e);
    m->memory = m->c ? orr_fast_new(g, e) : NULL;
    if (!m->memory) {
        cyc_free(m->c);
        free(m);
        return NULL;
    }
    m->ncores = (uint32_t)g->sm_count;
    m->nsched = m->c->nsched;
    m->per_sched = m->c->per_sched;
    // One of each scheduler, where there are some: warps of a scheduler get in each other's way.
    m->batch = m->nsched >= 4 && m->nsched < BATCH ? m->nsched : BATCH;
    m->lsu_queue = (uint32_t)g->lsu_queue;
    m->perfect = m->c->perfect;
    m->collector = m->c->core.operands.collectors != 0;
    m->issue_interval = (uint64_t)g->core_issue_interval;

    m->window.spacing = (uint64_t)g->launch_sm_interval;
    m->fetch.models = !g->icache_perfect;
    m->net.receive = orr_calloc(m->ncores, sizeof *m->net.receive);
    m->net.topology = orr_topology_of(g);
    m->net.numbers = orr_sm_numbers(g, m->ncores);
    m->l1.spec = orr_l1_spec_of(g);
    m->l1.spec.tag_bits = 0;
    if (g->xbar_gpc_reply > 0) m->net.gpc = orr_calloc(m->ncores, sizeof *m->net.gpc);
    m->cores = orr_apart(m->ncores, sizeof *m->cores);
    make_core(m, &m->cores[0], 0); // the others when a block comes
    return m;
}

void abt_machine_free(machine *m) {
    if (!m) return;
    for (uint32_t n = 0; n < m->ncores; n++) free_core(m, &m->cores[n]);
    free(m->cores);
    free(m->net.receive);
    free(m->net.numbers);
    free(m->net.gpc);
    free(m->fetch.named);
    if (m->l1.tags) orr_tags_free(m->l1.tags);
    free(m->l1.tags);
    orr_fast_free(m->memory);
    cyc_free(m->c);
    free(m);
}

// ---- a launch ----------------------------------------------------------------------------------------
#define STILL 100000 // windows in which no warp goes on, of a launch that is executed as it is timed
#define STOCK 3      // blocks that an SM may start in a window, besides as many as in the last

typedef struct taker { // an SM that has room
    uint64_t free;     // since
    uint32_t core, slot;
} taker;

typedef struct warmer { // a block that is left out, on this SM
    machine *m;
    uint32_t sm;
} warmer;

typedef struct engine {
    machine *m;
    supply *supply;
    taker *takers;
    uint32_t *order, *busy;
    uint32_t ntakers, nbusy;
    orr_err *e;
    bool failed;
    double reading; // seconds
    orr_sampler *sampler;
    ORR_VEC(orr_span) spans; // for the sampler: blocks that have ended
    ORR_VEC(uint64_t) ends;  // of a window's blocks
    uint64_t clock;          // 1/256 cycle: when the next block of a cluster may go out
    bool filled;             // the first ones have
    uint64_t noticed;        // 1/256 cycle: when the last end has been noticed (launch.fill_interval)
} engine;

// Room for what loads set, and for accesses, in the warps.
static void fit_core(const machine *m, acore *s) {
    if (s->places == m->room.places && s->accesses == m->room.accesses) return;
    for (uint32_t i = 0; i < m->nsched * m->per_sched; i++) {
        awarp *w = &s->warps[i];
        w->ready.many = orr_realloc(w->ready.many, 3 * (size_t)m->room.places * sizeof *w->ready.many);
        w->access = orr_realloc(w->access, (m->room.accesses + 1) * sizeof *w->access);
    }
    s->places = m->room.places;
    s->accesses = m->room.accesses;
}

// What constants cost, where they are first named, as operands.
static void fit_named(machine *m, const orr_program *p) {
    if (m->fetch.lines > m->fetch.named_cap) {
        m->fetch.named_cap = (uint32_t)m->fetch.lines;
        m->fetch.named = orr_realloc(m->fetch.named, m->fetch.named_cap * sizeof *m->fetch.named);
    }
    memset(m->fetch.named, 0, m->fetch.lines * sizeof *m->fetch.named);
    uint64_t seen = 0;
    for (uint32_t n = 0; m->gpu->const_cold && n < p->ninsts; n++) {
        const orr_tinst *i = &p->insts[n];
        if (!i->constant || i->tclass == ORR_TC_CONST || seen >> (i->constant - 1) & 1) continue;
        seen |= 1ull << (i->constant - 1);
        bool parameters = constants_is_parameter(p, i->constant - 1);
        m->fetch.named[i->pc / (uint64_t)m->gpu->icache_line] +=
            (uint32_t)(parameters ? m->c->core.constants.named_second : m->c->core.constants.named_beyond);
    }
}

static void fit_warps(machine *m) {
    const orr_program *p = m->code->program;
    uint32_t need = m->code->nplaces, places = need > m->room.places ? need + 2 : m->room.places;
    uint32_t accesses = p->max_access > m->room.accesses ? p->max_access + 16 : m->room.accesses;
    bool more = places > m->room.places || accesses > m->room.accesses;
    m->room.places = places;
    m->room.accesses = accesses;
    for (uint32_t n = 0; more && n < m->ncores; n++)
        if (m->cores[n].sched) fit_core(m, &m->cores[n]);
    uint64_t last = 0;
    for (uint32_t n = 0; n < p->ninsts; n++)
        if (p->insts[n].pc > last) last = p->insts[n].pc;
    m->fetch.lines = last / (uint64_t)m->gpu->icache_line + 1;
    uint64_t first = (uint64_t)(m->gpu->icache_l0 ? m->gpu->icache_l0 : m->gpu->icache_l1);
    m->fetch.fits = !m->kernel->grows && m->fetch.lines <= first / (uint64_t)m->gpu->icache_line;
    m->fetch.warm =
        m->gpu->icache_warm && m->fetch.lines <= (uint64_t)(m->gpu->icache_l1 / m->gpu->icache_line) / 2;
    if (m->fetch.fits) fit_named(m, p);
    uint32_t seen = (uint32_t)((m->code->segs.n + 63) / 64);
    for (uint32_t n = 0; seen > m->fetch.seen && n < m->ncores; n++) // it has grown: more of them
        for (uint32_t k = 0; m->cores[n].sched && k < m->nsched; k++) {
            asched *q = &m->cores[n].sched[k];
            q->seen = orr_realloc(q->seen, (seen + 1) * sizeof *q->seen);
            memset(q->seen + m->fetch.seen, m->fetch.models ? 0 : 0xff,
                   (seen - m->fetch.seen) * sizeof *q->seen);
        }
    if (seen > m->fetch.seen) m->fetch.seen = seen;
}

// ---- blocks that are left out (launch.h)
static void warm_line(void *arg, const orr_touched *t) {
    const warmer *w = arg;
    orr_fast_warm(w->m->memory, w->sm, t);
}

bool abt_left_out(const machine *m, const block_traces *b) {
    return m->part.watch && m->part.watch->left_out(m->part.watch->arg, b->index);
}

// Its lines are in L2. The SM is the one that it would be dealt to if all blocks took the same time.
static bool warm_block(machine *m, const block_traces *b) {
    warmer w = {m, (uint32_t)(b->index % m->ncores)};
    if (!m->part.touches) m->part.touches = orr_warm_places(m->kernel, &m->part.arena);
    return orr_warm_block(
        m->part.touches, &(orr_tb){.index = b->index, .nwarps = b->nwarps, .warps = b->warps}, warm_line, &w);
}

static block_traces *take_block(engine *x) {
    for (;;) {
        block_traces *b = cyc_supply_take(x->supply);
        if (!b || !abt_left_out(x->m, b)) return b;
        if (!x->m->perfect && !warm_block(x->m, b))
            x->failed = !orr_fail(x->e, ORR_BAD_INPUT, "%s: a stream is damaged; record it again",
                                  x->m->kernel->name);
        cyc_supply_done(x->supply, b);
        if (x->failed) return NULL;
    }
}

// The next block, or NULL: there is none, or something failed.
static block_traces *next_block(engine *x) {
    machine *m = x->m;
    if (!m->blocks_left) return NULL;
    double start = orr_seconds();
    block_traces *b = take_block(x);
    x->reading += orr_seconds() - start;
    m->blocks_left = b != NULL;
    if (b && b->nblocks > m->code->program->nblocks) {
        cyc_supply_grow(x->supply, m->code->program);
        x->failed |= !abt_code_grow(m->code, m, x->e);
        fit_warps(m);
    }
    return b;
}

static void prepare(machine *m, acore *s) {
    const orr_occupancy_result *occ = m->occ;
    uint32_t blocks = (uint32_t)occ->blocks;
    if (!s->sched) make_core(m, s, (uint32_t)(s - m->cores));
    fit_core(m, s);
    if (blocks > s->blocks.cap || occ->warps_per_block > s->warps_cap) {
        for (uint32_t n = 0; n < s->blocks.cap; n++) {
            free(s->blocks.at[n].warp);
            abt_async_block_free(&s->blocks.at[n]);
        }
        s->blocks.at = orr_realloc(s->blocks.at, blocks * sizeof *s->blocks.at);
        memset(s->blocks.at, 0, blocks * sizeof *s->blocks.at);
        s->blocks.cap = blocks;
        s->warps_cap = occ->warps_per_block;
        for (uint32_t n = 0; n < blocks; n++)
            s->blocks.at[n].warp = orr_calloc((size_t)s->warps_cap, sizeof *s->blocks.at[n].warp);
    }
    for (uint32_t n = 0; n < blocks; n++) s->blocks.at[n].end = s->blocks.at[n].npeers = 0;
    s->prepared = true;
    s->blocks.running = s->blocks.next_sched = s->queue.n = s->queue.turn = s->blocks.started =
        s->blocks.started_last = 0;
    s->queue.next = NEVER;
    s->finished = s->since = s->active = 0;
    s->blocks.free = (uint64_t)m->gpu->launch_overhead;
    s->bad_trace = false;
    memset(&s->n, 0, sizeof s->n);
    memset(s->pools.at, 0, s->pools.n * sizeof *s->pools.at);
    for (uint32_t n = 0; n < m->nsched; n++) {
        asched *q = &s->sched[n];
        memset(&q->slots, 0, sizeof q->slots);
        q->used = 0;
        q->seen = orr_realloc(q->seen, (m->fetch.seen + 1) * sizeof *q->seen);
        memset(q->seen, m->fetch.models ? 0 : 0xff, m->fetch.seen * sizeof *q->seen);
        if (q->l0_when) {
            q->l0_last = 0;
            orr_cache_flush(&q->l0);
            memset(q->l0_when, 0, (size_t)q->l0.sets * q->l0.ways * sizeof *q->l0_when);
        }
    }
    s->fetch.last = 0;
    if (s->fetch.when) orr_cache_flush(&s->fetch.tags);
    constants_reset(&s->fetch.constants);
    abt_memory_start(s);
    abt_fences_start(s);
    abt_async_start(s);
}

// Block b goes to an SM, and others to those of its group (sm_group.c), cycle `since` or `earliest`.
static void start_block(engine *x, acore *s, uint32_t slot, block_traces *b, uint64_t when) {
    machine *m = x->m;
    ablock *to = &s->blocks.at[slot];
    uint64_t earliest = b->earliest;
    uint32_t n = 0;
    to->npeers = 0;
    for (uint32_t k = 1; k < s->members && m->blocks_left; k++) {
        acore *other = s + (size_t)k * m->groups.apart;
        if (other->prepared && other->blocks.at[slot].buf) continue;
        block_traces *peer = n == k - 1 ? abt_group_find(m, x->supply, b, &x->reading) : NULL;
        if (peer) {
            to->peer[n++] = peer;
            continue;
        }
        block_traces *odd = next_block(x);
        if (!odd || x->failed) break;
        if (!other->prepared) prepare(m, other);
        odd->earliest = earliest;
        other->blocks.at[slot].npeers = 0;
        abt_block_start(other, slot, odd, when);
    }
    to->npeers = n;
    abt_block_start(s, slot, b, when);
}

// ---- clusters
static uint32_t free_slot(const machine *m, const acore *s) {
    uint32_t k = 0;
    while (k < s->blocks.n &&
           (s->blocks.at[k].buf || (s->blocks.at[k].end && s->blocks.at[k].end >= m->window.until)))
        k++;
    return k;
}

// A cluster on these SMs, by rank.
static bool start_cluster(void *arg, const uint32_t *sms) {
    engine *x = arg;
    machine *m = x->m;
    async_place places[ORR_CLUSTER_MOST];
    double each = x->filled || m->gpu->launch_fill_interval <= 0 ? m->gpu->launch_block_interval
                                                                 : m->gpu->launch_fill_interval;
    for (uint32_t r = 0; r < m->cluster; r++) {
        acore *s = &m->cores[sms[r]];
        if (!s->prepared) prepare(m, s);
        block_traces *b = next_block(x);
        uint32_t slot = free_slot(m, s);
        if (!b || x->failed || slot == s->blocks.n) return false;
        if (x->clock < m->window.from * 256) x->clock = m->window.from * 256;
        b->earliest = x->clock / 256;
        x->clock += (uint64_t)(each * 256);
        abt_block_start(s, slot, b, m->window.from);
        places[r] = (async_place){s->id, slot};
    }
    for (uint32_t r = 0; r < m->cluster; r++) {
        async_block *a = &m->cores[places[r].core].blocks.at[places[r].slot].async;
        a->rank = r;
        a->size = m->cluster;
        memcpy(a->peers, places, m->cluster * sizeof *places);
    }
    return true;
}

static void deal_clusters(engine *x) {
    machine *m = x->m;
    uint32_t *used = orr_calloc(m->ncores, sizeof *used), each = (uint32_t)m->occ->blocks;
    for (uint32_t n = 0; n < m->ncores; n++) {
        const acore *s = &m->cores[n];
        for (uint32_t k = 0; s->prepared && k < s->blocks.n; k++)
            used[n] += s->blocks.at[k].buf || (s->blocks.at[k].end && s->blocks.at[k].end >= m->window.until);
    }
    if (m->blocks_left)
        orr_clusters_deal(m->gpu, &(orr_cluster_room){m->ncores, m->cluster, each, used},
                          &(orr_cluster_taker){start_cluster, x});
    x->filled = true;
    free(used);
}

// At the beginning blocks go out launch.block_interval apart, one to each SM in turn.
static void deal(engine *x) {
    machine *m = x->m;
    if (m->cluster > 1) {
        deal_clusters(x);
        return;
    }
    uint64_t clock = (uint64_t)m->gpu->launch_overhead * 256;
    double interval =
        m->gpu->launch_fill_interval > 0 ? m->gpu->launch_fill_interval : m->gpu->launch_block_interval;
    for (uint32_t slot = 0; m->blocks_left; slot++) {
        bool some = false;
        for (uint32_t n = 0; n < m->ncores; n++) {
            acore *s = &m->cores[x->order[n]];
            if (slot >= s->blocks.n || !s->members) continue;
            if (!s->prepared) prepare(m, s);
            block_traces *b = next_block(x);
            if (!b || x->failed) return;
            b->earliest = clock / 256;
            clock += (uint64_t)(interval * 256) * s->members;
            start_block(x, s, slot, b, (uint64_t)m->gpu->launch_overhead);
            some = true;
        }
        if (!some) return;
    }
}

static int by_time(const void *a, const void *b) {
    const taker *x = a, *y = b;
    if (x->free != y->free) return x->free < y->free ? -1 : 1;
    if (x->core != y->core) return x->core < y->core ? -1 : 1;
    return x->slot < y->slot ? -1 : x->slot > y->slot;
}

// A block for an SM that has room since cycle `since`; false: there is none.
static bool hand_out(engine *x, acore *s, uint32_t slot, uint64_t since) {
    machine *m = x->m;
    block_traces *b = next_block(x);
    if (!b || x->failed) return false;
    uint64_t interval = (uint64_t)(m->gpu->launch_block_interval * (double)ORR_TICKS) * s->members;
    uint64_t t = orr_reserve(&m->net.dealer, since * ORR_TICKS, interval, ORR_FAST_SLOT) - interval;
    b->earliest = 0;
    s->blocks.started++;
    start_block(x, s, slot, b, t / ORR_TICKS);
    return true;
}

// What was left of the last window: SMs that have room get a block each, in turn.
static void refill(engine *x) {
    machine *m = x->m;
    bool some = true;
    if (m->cluster > 1) {
        deal_clusters(x);
        return;
    }
    if (abt_group_over(m))
        for (uint32_t n = 0; n < m->ncores; n++)
            if (!m->cores[n].prepared) prepare(m, &m->cores[n]);
    for (uint32_t n = 0; n < m->ncores; n++) {
        m->cores[n].blocks.started_last = m->cores[n].blocks.started;
        m->cores[n].blocks.started = 0;
    }
    while (some && m->blocks_left && !x->failed) {
        some = false;
        for (uint32_t n = 0; n < m->ncores; n++) {
            acore *s = &m->cores[x->order[n]];
            if (!s->prepared || !s->members || s->blocks.running == s->blocks.n) continue;
            uint32_t k = 0;
            while (k < s->blocks.n && (s->blocks.at[k].buf || s->blocks.at[k].end >= m->window.from)) k++;
            if (k < s->blocks.n) some |= hand_out(x, s, k, m->window.from);
        }
    }
}

// Who has room in this window gets blocks, in order of time; as the cycle model has it, no more than three
// more than in the window before. True: somebody did.
static bool feed(engine *x) {
    machine *m = x->m;
    x->ntakers = 0;
    for (uint32_t n = 0; n < m->ncores && m->cluster < 2; n++) {
        acore *s = &m->cores[n];
        if (!m->blocks_left || s->blocks.running == s->blocks.n || !s->prepared || !s->members) continue;
        for (uint32_t k = 0; k < s->blocks.n; k++)
            if (!s->blocks.at[k].buf && s->blocks.at[k].end < m->window.until)
                x->takers[x->ntakers++] = (taker){s->blocks.at[k].end, n, k};
    }
    if (!x->ntakers) return false;
    qsort(x->takers, x->ntakers, sizeof *x->takers, by_time);
    x->nbusy = 0;
    for (uint32_t n = 0; n < x->ntakers && x->nbusy < m->ncores * 2; n++) {
        acore *s = &m->cores[x->takers[n].core];
        if (s->blocks.started >= s->blocks.started_last + STOCK) continue;
        if (!hand_out(x, s, x->takers[n].slot, x->takers[n].free)) break;
        if (!x->nbusy || x->busy[x->nbusy - 1] != s->id) x->busy[x->nbusy++] = s->id;
        for (uint32_t k = 1; k < s->members; k++) {
            const acore *other = s + (size_t)k * m->groups.apart;
            if (other->prepared && other->blocks.running && x->nbusy < m->ncores * 2)
                x->busy[x->nbusy++] = other->id;
        }
    }
    return x->nbusy != 0;
}

static uint64_t next_event(const machine *m) {
    uint64_t t = NEVER;
    for (uint32_t n = 0; n < m->ncores; n++) {
        const acore *s = &m->cores[n];
        if (!s->prepared) continue;
        if (s->queue.next < t) t = s->queue.next;
        for (uint32_t k = 0; m->blocks_left && s->members && m->cluster < 2 && k < s->blocks.n; k++)
            if (!s->blocks.at[k].buf && s->blocks.at[k].end < t) t = s->blocks.at[k].end;
    }
    return t;
}

static bool damaged(const engine *x) {
    const machine *m = x->m;
    for (uint32_t n = 0; n < m->ncores; n++)
        if (m->cores[n].bad_trace)
            return !orr_fail(x->e, ORR_BAD_INPUT,
                             "%s: the stream of a thread block on SM %u is damaged; record it again",
                             m->kernel->name, n);
    return x->failed;
}

static bool stuck(const engine *x) {
    return orr_fail(x->e, ORR_PROGRAM_FAILED,
                    "%s: all warps wait and nothing will wake them (a barrier that not all threads reach?)",
                    x->m->kernel->name);
}

// Tells the sampler what has ended, and leaves out the blocks that it does not want.
static bool skip(engine *x, orr_progress *progress) {
    orr_sampler *p = x->sampler;
    p->ended(p, x->spans.at, x->spans.n);
    x->spans.n = 0;
    if (!x->m->blocks_left) return true;
    uint64_t next = cyc_supply_next(x->supply), warm = UINT64_MAX, to = p->resume(p, next, &warm);
    if (to <= next) return true;
    if (progress) orr_progress_part(progress, to - next);
    return cyc_supply_skip(x->supply, UINT64_MAX, to, NULL, NULL, x->e);
}

static int earlier(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Blocks that have ended are noticed one after the other, as the cycle model has it (cycle/engine.c).
static void notice_ends(engine *x) {
    uint64_t each = (uint64_t)(x->m->gpu->launch_block_interval * 256);
    if (x->ends.n > 1) qsort(x->ends.at, x->ends.n, sizeof *x->ends.at, earlier);
    for (size_t n = 0; n < x->ends.n; n++) {
        if (x->noticed < x->ends.at[n] * 256) x->noticed = x->ends.at[n] * 256;
        x->noticed += each;
    }
    x->ends.n = 0;
}

// What the SMs have done with since the last window. True: some of them still have blocks.
static bool collect(engine *x, orr_progress *progress) {
    machine *m = x->m;
    bool running = false, notices = m->gpu->launch_fill_interval > 0;
    for (uint32_t n = 0; n < m->ncores; n++) {
        acore *s = &m->cores[n];
        uint64_t done = 0;
        for (block_traces *b = s->done; b; b = b->next) {
            done++;
            if (notices) *ORR_PUSH(&x->ends) = b->ended;
            if (m->part.watch) m->part.watch->ended(m->part.watch->arg, b->index, b->ended);
            if (x->sampler) *ORR_PUSH(&x->spans) = (orr_span){.block = b->index, .end = b->ended, .sm = n};
        }
        if (done && progress) orr_progress_part(progress, done);
        cyc_supply_done(x->supply, s->done);
        s->done = NULL;
        running |= s->blocks.running != 0;
    }
    notice_ends(x);
    return running;
}

static bool windows(engine *x, orr_progress *progress) {
    machine *m = x->m;
    uint64_t window = m->cluster > 1 ? cyc_cluster_window(m->c) : m->c->window;
    uint64_t entered = 0, still = 0;
    m->window.from = (uint64_t)m->gpu->launch_overhead;
    m->window.until = m->window.from + window;
    if (x->sampler && !skip(x, progress)) return false;
    deal(x);
    for (;;) {
        for (uint32_t n = 0; n < m->ncores; n++)
            if (m->cores[n].prepared) {
                const acore *then = &m->cores[n + 1 < m->ncores ? n + 1 : 0];
                if (then->prepared) abt_core_soon(then);
                abt_core_run(&m->cores[n], m->window.until);
            }
        while (feed(x))
            for (uint32_t n = 0; n < x->nbusy; n++) abt_core_run(&m->cores[x->busy[n]], m->window.until);
        if (m->stepped.step && (orr_step_failed(m->stepped.step, x->e) ||
                                !orr_step_turn(m->stepped.step, m->window.until, x->e)))
            return false;
        if (damaged(x)) return false;
        bool running = collect(x, progress);
        if (!orr_progress_go(progress, x->e)) return false;
        if (!running && !m->blocks_left) return true;
        if (x->sampler && !skip(x, progress)) return false;
        uint64_t t = next_event(m);
        still = m->stepped.step && m->stepped.entered == entered ? still + 1 : 0;
        entered = m->stepped.entered;
        if (t >= WAITS && m->cluster > 1 && m->blocks_left && !running) t = m->window.until;
        if (t >= WAITS && abt_async_unstick(m)) t = m->window.until;
        if (t >= WAITS || still > STILL) return stuck(x);
        m->window.from = m->window.until;
        if (t > m->window.from) m->window.from += (t - m->window.from) / window * window;
        m->window.until = m->window.from + window;
        if (running || m->blocks_left) refill(x);
    }
}

static void sum_up(machine *m, supply *supply, arun *out) {
    uint64_t sms = 0; // that had blocks
    for (uint32_t i = 0; i < m->ncores; i++) {
        acore *s = &m->cores[i];
        if (!s->prepared) continue;
        for (uint32_t b = 0; b < s->blocks.n; b++) // what an error left behind
            if (s->blocks.at[b].buf) {
                abt_step_end(&s->blocks.at[b]);
                s->blocks.at[b].buf->next = NULL;
                for (uint32_t k = 0; k < s->blocks.at[b].npeers; k++) {
                    s->blocks.at[b].peer[k]->next = s->blocks.at[b].buf->next;
                    s->blocks.at[b].buf->next = s->blocks.at[b].peer[k];
                }
                cyc_supply_done(supply, s->blocks.at[b].buf);
                s->blocks.at[b].buf = NULL;
            }
        sms += s->members;
        if (s->finished > out->cycles) out->cycles = s->finished;
        out->sm_active += s->active * s->members; // 0: its group's first one has counted it
        const uint64_t *from = (const uint64_t *)(const void *)&s->n;
        uint64_t *to = (uint64_t *)(void *)&out->n;
        for (size_t k = 0; k < sizeof s->n / sizeof *to; k++) to[k] += from[k];
        uint64_t others =
            s->members > 1 ? s->members - 1 : 0; // of its group: what is not counted block by block
        out->n.fetch.fetches += others * s->n.fetch.fetches;
        out->n.fetch.l0_misses += others * s->n.fetch.l0_misses;
        out->n.fetch.l1_misses += others * s->n.fetch.l1_misses;
        out->n.constants.requests += others * s->n.constants.requests;
        out->n.constants.misses += others * s->n.constants.misses;
        out->n.constants.second_misses += others * s->n.constants.second_misses;
    }
    // A kernel has ended when its last store has reached L2, and when it is certain that all have
    // (launch.drain, and what the SMs' barriers take at a slice).
    const orr_memsys_stats *mem = orr_fast_stats(m->memory);
    uint64_t drain = (uint64_t)m->gpu->launch_drain, end = (mem->last + ORR_TICKS - 1) / ORR_TICKS;
    if (!drain)
        end = (mem->last + m->c->core.port.reply_ticks + ORR_TICKS - 1) / ORR_TICKS; // the SM has heard of it
    if (m->perfect || !mem->requests) return;
    if (drain) drain += orr_fast_barriers(m->memory, sms) / ORR_TICKS;
    out->cycles += drain;
    if (end > out->cycles) out->cycles = end;
}

bool abt_run(machine *m, orr_source *source, const orr_occupancy_result *occ, run_host host, arun *out,
             orr_err *e) {
    engine x = {.m = m, .e = e, .sampler = out->sampler};
    m->control = m->code->program->control;
    m->blocks_left = true;
    m->part.watch = out->watch;
    fit_warps(m);

    memset(&m->net.dealer, 0, sizeof m->net.dealer);
    memset(m->net.receive, 0, m->ncores * sizeof *m->net.receive);
    if (m->net.gpc) memset(m->net.gpc, 0, m->ncores * sizeof *m->net.gpc);
    for (uint32_t n = 0; n < m->ncores; n++) {
        acore *s = &m->cores[n];
        s->prepared = s->bad_trace = false;
        s->blocks.n = (uint32_t)occ->blocks;
        s->blocks.running = 0;
        s->id = n;
    }
    m->occ = occ;
    m->stepped.entered = 0;
    abt_group_open(m, &source->info, x.sampler != NULL);
    abt_memory_shape(m, (uint64_t)occ->l1_bytes);
    if (!m->perfect) {
        if (m->gpu->l2_flush) orr_fast_flush(m->memory);
        orr_fast_restart(m->memory);
    }
    // SMs that are simulated as one are spread over the GPU, whatever the order.
    const uint32_t *grid = source->info.grid;
    uint64_t blocks = m->groups.most == 1 ? (uint64_t)grid[0] * grid[1] * grid[2] : 0;
    x.order = orr_dispatch_order(m->gpu, m->ncores, blocks);
    x.busy = orr_malloc(2 * m->ncores * sizeof *x.busy);
    x.takers = orr_malloc((size_t)m->ncores * (size_t)occ->blocks * sizeof *x.takers);
    x.supply = cyc_supply_open(source, host.threads, x.sampler != NULL);
    bool ok = windows(&x, host.progress);
    sum_up(m, x.supply, out);
    if (x.noticed / 256 > out->cycles) out->cycles = x.noticed / 256;
    out->execute_seconds = x.reading;
    orr_err read = {0};
    if (!cyc_supply_close(x.supply, &read)) {
        if (ok) orr_fail(e, read.status, "%s", read.text);
        ok = false;
    }
    free(x.order);
    free(x.busy);
    free(x.takers);
    free(x.spans.at);
    free(x.ends.at);
    if (m->part.touches) orr_arena_free(&m->part.arena);
    m->part.touches = NULL;
    m->part.watch = NULL;
    return ok;
}
