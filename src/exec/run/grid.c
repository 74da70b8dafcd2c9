// Running a launch: its thread blocks over the host's threads, or one by one as a model asks.
//
// Blocks of a kernel that cannot see each other (isa/effects.c) are taken from a counter by as many
// workers as there are host threads. Blocks of other kernels run on one worker in grid order, so that what
// they do to each other is the same on every host and with any number of threads; a block that waits for
// another is put aside, the next one is started, and those put aside get their turns again, as long as no
// more than `resident` are unfinished.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "exec/block.h"

bool orr_launch_check(const orr_launch *l, uint32_t shared_limit, orr_err *e) {
    const orr_kernel *k = l->kernel;
    static const uint64_t grid_max[3] = {2147483647, 65535, 65535};
    static const uint32_t block_max[3] = {1024, 1024, 64};
    uint64_t threads = 1;
    for (int d = 0; d < 3; d++) {
        if (l->grid[d] < 1 || l->grid[d] > grid_max[d])
            return orr_fail(e, ORR_BAD_INPUT, "kernel '%s': grid dimension %c is %u; it must be 1 to %llu",
                            k->name, "xyz"[d], l -> grid[d], (unsigned long long)grid_max[d]);
        if (l->block[d] < 1 || l->block[d] > block_max[d])
            return orr_fail(e, ORR_BAD_INPUT, "kernel '%s': block dimension %c is %u; it must be 1 to %u",
                            k->name, "xyz"[d], l -> block[d], block_max[d]);
        threads *= l->block[d];
        if (k->bounds.reqntid[d] && k->bounds.reqntid[d] != l->block[d])
            return orr_fail(
                e, ORR_BAD_INPUT, "kernel '%s' asks for blocks of %ux%ux%u threads (.reqntid), not %ux%ux%u",
                k->name, k->bounds.reqntid[0], k->bounds.reqntid[1] ? k->bounds.reqntid[1] : 1,
                k->bounds.reqntid[2] ? k->bounds.reqntid[2] : 1, l->block[0], l->block[1], l->block[2]);
    }
    if (threads > 1024)
        return orr_fail(e, ORR_BAD_INPUT, "kernel '%s': %llu threads in a block; at most 1024", k->name,
                        (unsigned long long)threads);
    uint64_t max = (uint64_t)(k->bounds.maxntid[0] ? k->bounds.maxntid[0] : 1) *
                   (k->bounds.maxntid[1] ? k->bounds.maxntid[1] : 1) *
                   (k->bounds.maxntid[2] ? k->bounds.maxntid[2] : 1);
    if (k->bounds.maxntid[0] && threads > max)
        return orr_fail(e, ORR_BAD_INPUT,
                        "kernel '%s': %llu threads in a block; it was compiled for at most %llu (.maxntid)",
                        k->name, (unsigned long long)threads, (unsigned long long)max);
    uint64_t shared = (uint64_t)((k->shared_bytes + 15) & ~15u) + l->dynamic_shared;
    if (shared > shared_limit)
        return orr_fail(e, ORR_BAD_INPUT,
                        "kernel '%s' needs %llu bytes of shared memory a block; there are %u", k->name,
                        (unsigned long long)shared, shared_limit);
    uint64_t cluster = 1;
    for (int d = 0; d < 3; d++) {
        uint32_t c = l->cluster[0] ? l->cluster[d] : k->bounds.cluster[d];
        if (!c) c = 1;
        if (k->bounds.cluster[d] && k->bounds.cluster[d] != c)
            return orr_fail(
                e, ORR_BAD_INPUT,
                "kernel '%s' asks for clusters of %ux%ux%u thread blocks (.reqnctapercluster), not %ux%ux%u",
                k->name, k->bounds.cluster[0], k->bounds.cluster[1], k->bounds.cluster[2], l->cluster[0],
                l->cluster[1], l->cluster[2]);
        if (l->grid[d] % c)
            return orr_fail(e, ORR_BAD_INPUT,
                            "kernel '%s': grid dimension %c is %u, not a multiple of the cluster's %u",
                            k->name, "xyz"[d], l -> grid[d], c);
        cluster *= c;
    }
    if (cluster > MAX_CLUSTER)
        return orr_fail(e, ORR_BAD_INPUT, "kernel '%s': %llu thread blocks in a cluster; at most %d", k->name,
                        (unsigned long long)cluster, MAX_CLUSTER);
    if ((uint64_t)l->grid[0] * l->grid[1] > UINT64_MAX / l->grid[2])
        return orr_fail(e, ORR_BAD_INPUT, "kernel '%s': too many thread blocks", k->name);
    return true;
}

orr_launch_info orr_info_of(const orr_launch *l) {
    orr_launch_info info = {.kernel = l->kernel,
                            .dynamic_shared = l->dynamic_shared,
                            .index = l->index,
                            .memory = l->mem ? orr_mem_used(l->mem) : 0,
                            .range = l->range};
    memcpy(info.grid, l->grid, sizeof l->grid);
    memcpy(info.block, l->block, sizeof l->block);
    return info;
}

static uint64_t block_count(const orr_launch *l) { return (uint64_t)l->grid[0] * l->grid[1] * l->grid[2]; }

static void view(tblock *tb, orr_tb *out) {
    uint32_t n = tb->prog->nwarps;
    for (uint32_t w = 0; w < n && tb->views; w++)
        tb->views[w] = (orr_warp_trace){tb->traces[w].bytes, tb->traces[w].n};
    *out = (orr_tb){.index = tb->index, .nwarps = n, .warps = tb->views};
}

// A finished block of a tally, to whom it counts for.
bool orr_tally_tell(const orr_tally *t, int n, tblock *tb, orr_err *e) {
    orr_tally_tb x = {.index = tb->index};
    for (uint32_t w = 0; w < tb->prog->nwarps; w++) {
        if (tb->warps[w].tally.clock > x.longest) x.longest = tb->warps[w].tally.clock;
        x.sum += tb->warps[w].tally.work;
    }
    orr_tb out;
    if (orr_tally_samples(t, tb->index)) {
        view(tb, &out);
        x.streams = &out;
    }
    return t->visit(t->arg, n, &x, e);
}

static void count_for(worker *k, const orr_tally *t, int n) {
    k->tally = t;
    if (t) k->counts_of = t->counts + (size_t)n * k->prog->kernel->nblocks;
}

// ---- one worker, blocks in turns ------------------------------------------------------------
typedef struct turns {
    worker k;
    uint64_t next, total, done_upto; // next to start; in all; next to hand out
    uint32_t resident, unfinished;
    tblock *first, *last; // started, not handed out: running or finished, in grid order
    tblock *now;          // whose turn it is
    const uint64_t *only; // [total] the blocks to run; NULL: all
} turns;

// How many blocks may be unfinished at once: what a large GPU holds, less where that would take more than
// a few gigabytes of the host's memory.
static uint32_t resident_blocks(const decoded *p) {
    uint64_t warp = 4096, most = p->launch->resident ? p->launch->resident : 4096;
    for (int c = 0; c < ORR_CLASSES; c++) warp += (uint64_t)p->kernel->funcs[0].nregs[c] * reg_bytes(c);
    uint64_t each = p->shared_bytes + (uint64_t)p->local_bytes * p->nwarps * ORR_WARP + warp * p->nwarps;
    uint64_t fit = (4ull << 30) / each;
    if (fit < 64) fit = 64;
    return (uint32_t)(fit < most ? fit : most);
}

static void turns_init(turns *t, decoded *p, bool streams) {
    memset(t, 0, sizeof *t);
    orr_worker_init(&t->k, p, streams);
    t->total = block_count(p->launch);
    t->resident = resident_blocks(p);
}

static tblock *turns_start(turns *t) {
    tblock *tb = orr_block_start(&t->k, t->only ? t->only[t->next] : t->next);
    t->next++;
    if (t->last)
        t->last->next = tb;
    else
        t->first = tb;
    t->last = tb;
    if (tb->running) t->unfinished++; // a cluster's others may have run it already
    return tb;
}

// A block has ended, and others of its cluster perhaps with it.
static void note_end(turns *t, const tblock *tb) {
    t->unfinished--;
    if (!tb->cluster) return;
    t->unfinished = 0;
    for (const tblock *x = t->first; x; x = x->next) t->unfinished += x->running != 0;
}

// Whose turn comes after tb's: the next unfinished block, else a new one if no more than `resident` are
// unfinished, else the first unfinished.
static tblock *turn_after(turns *t, const tblock *tb) {
    tblock *to = tb ? tb->next : t->first;
    while (to && !to->running) to = to->next;
    while (!to && t->next < t->total && t->unfinished < t->resident) {
        to = turns_start(t);
        if (!to->running) to = NULL; // run with its cluster
    }
    if (!to) to = t->first;
    while (to && !to->running) to = to->next;
    return to;
}

// Runs until the lowest block not yet handed out is finished: 1 and *out, 0 at the end, -1 fault.
// The caller gives *out back with turns_give.
static int turns_next(turns *t, tblock **out) {
    const orr_launch *l = t->k.prog->launch;
    for (;;) {
        if (t->first && !t->first->running) {
            *out = t->first;
            return 1;
        }
        tblock *tb = t->now && t->now->running ? t->now : turn_after(t, t->now);
        if (!tb && t->first) continue;
        if (!tb) return 0; // all were started and finished
        t->now = tb;
        int r = orr_block_run(tb);
        if (r == RUN_FAULT) return -1;
        if (r == RUN_DONE)
            note_end(t, tb);
        else
            t->now = turn_after(t, tb);
        bool round = r != RUN_DONE && t->now && t->now->index <= tb->index;
        if (round && l->turn && !l->turn(-1)) {
            orr_fail(&t->k.err, ORR_STOPPED, ORR_BESIDE_FAILED, l->kernel->name);
            return -1;
        }
    }
}

static void turns_give(turns *t, tblock *tb) { // tb is the first
    if (t->now == tb) t->now = NULL;
    t->first = tb->next;
    if (!t->first) t->last = NULL;
    t->done_upto++;
    orr_block_finish(tb);
}

static void turns_free(turns *t) {
    while (t->first) turns_give(t, t->first);
    orr_worker_free(&t->k);
}

// ---- many workers ---------------------------------------------------------------------------
// With in_order, a worker takes a few blocks that follow each other, keeps their traces on its shelf, and
// hands them out when all before have been. A piece's turn is waited for by one worker only, the piece's own,
// on its own condition: waking all of them for every block would cost more than most blocks.
typedef struct shelf {
    orr_text bytes;          // the traces, one after the other
    ORR_VEC(size_t) lengths; // [block][warp]
    orr_warp_trace *views;   // of one block
} shelf;

#define SHELF_BYTES  (1u << 20)
#define PIECE_BLOCKS 32

typedef struct crew {
    decoded *p;
    uint64_t total, chunk;
    int threads;
    atomic_uint_fast64_t next, bound; // blocks from `bound` on need not run: an earlier one failed
    orr_visit *visit;
    void *arg;
    const orr_tally *tally; // NULL: none
    bool in_order;
    pthread_mutex_t lock;
    pthread_cond_t *turns; // [threads] of piece n: n % threads
    uint64_t turn;         // the piece that may be handed out
    orr_exec_counts counts;
    orr_err err;
    uint64_t err_index;
    int fault; // ORR_FAULT_*
} crew;

// A launch ends with an error: the kernel's own fault, or ORR_FAULT_NONE.
static bool failed(const decoded *p, const orr_err *why, int fault, orr_err *e) {
    if (p->launch->fault) *p->launch->fault = fault;
    return orr_fail(e, why->status, "%s", why->text);
}

static void crew_fail(crew *c, const orr_err *e, int fault, uint64_t index) {
    pthread_mutex_lock(&c->lock);
    if (index < c->err_index) {
        c->err = *e;
        c->err_index = index;
        c->fault = fault;
    }
    if (index < atomic_load(&c->bound)) atomic_store(&c->bound, index);
    for (int n = 0; n < c->threads; n++) pthread_cond_signal(&c->turns[n]);
    pthread_mutex_unlock(&c->lock);
}

static bool crew_visit(crew *c, int n, const orr_tb *tb) {
    orr_err e = {0};
    bool ok = c->visit(c->arg, n, tb, &e);
    if (!ok) crew_fail(c, &e, ORR_FAULT_NONE, tb->index);
    return ok;
}

static void shelf_put(shelf *s, const tblock *tb) {
    for (uint32_t w = 0; w < tb->prog->nwarps; w++) {
        orr_text_addn(&s->bytes, (const char *)tb->traces[w].bytes, tb->traces[w].n);
        *ORR_PUSH(&s->lengths) = tb->traces[w].n;
    }
}

// Hands out what is on the shelf, blocks from `from` on of this piece, when it is the piece's turn. False
// when an earlier block has failed.
static bool shelf_empty(crew *c, int n, shelf *s, uint64_t piece, uint64_t from) {
    pthread_mutex_lock(&c->lock);
    while (c->turn != piece && atomic_load(&c->bound) > from)
        pthread_cond_wait(&c->turns[piece % (uint64_t)c->threads], &c->lock);
    pthread_mutex_unlock(&c->lock);
    uint32_t nwarps = c->p->nwarps;
    const uint8_t *at = (const uint8_t *)s->bytes.s;
    bool ok = atomic_load(&c->bound) > from;
    for (size_t b = 0; ok && b < s->lengths.n / nwarps; b++) {
        for (uint32_t w = 0; w < nwarps; w++) {
            s->views[w] = (orr_warp_trace){at, s->lengths.at[b * nwarps + w]};
            at += s->views[w].n;
        }
        ok = crew_visit(c, n, &(orr_tb){.index = from + b, .nwarps = nwarps, .warps = s->views});
    }
    s->bytes.n = s->lengths.n = 0;
    return ok;
}

static void pass_turn(crew *c, uint64_t piece) {
    pthread_mutex_lock(&c->lock);
    c->turn = piece + 1;
    pthread_cond_signal(&c->turns[(piece + 1) % (uint64_t)c->threads]);
    pthread_mutex_unlock(&c->lock);
}

static bool crew_block(crew *c, int n, worker *k, shelf *s, uint64_t index) {
    tblock *tb = orr_block_start(k, index);
    int r;
    do r = orr_block_run(tb);
    while (r == RUN_YIELDS);
    bool ok = r != RUN_FAULT;
    if (!ok) {
        crew_fail(c, &k->err, k->fault, index);
    } else if (c->in_order) {
        shelf_put(s, tb);
    } else if (c->tally) {
        orr_err e = {0};
        ok = orr_tally_tell(c->tally, n, tb, &e);
        if (!ok) crew_fail(c, &e, ORR_FAULT_NONE, index);
    } else if (c->visit) {
        orr_tb out;
        view(tb, &out);
        ok = crew_visit(c, n, &out);
    }
    orr_block_finish(tb);
    return ok;
}

static void crew_work(void *arg, int n) {
    crew *c = arg;
    worker k;
    shelf s = {0};
    orr_worker_init(&k, c->p, c->visit || c->tally);
    count_for(&k, c->tally, n);
    k.bound = &c->bound;
    if (c->in_order) s.views = orr_calloc(c->p->nwarps, sizeof *s.views);
    bool ok = true;
    while (ok) {
        uint64_t from = atomic_fetch_add(&c->next, c->chunk);
        if (from >= c->total) break;
        uint64_t to = from + c->chunk < c->total ? from + c->chunk : c->total, piece = from / c->chunk;
        uint64_t shelved = from; // the first block on the shelf
        for (uint64_t i = from; i < to && i < atomic_load(&c->bound) && ok; i++) {
            ok = crew_block(c, n, &k, &s, i);
            if (!ok || !c->in_order || (i + 1 < to && s.bytes.n < SHELF_BYTES)) continue;
            ok = shelf_empty(c, n, &s, piece, shelved);
            shelved = i + 1;
        }
        if (ok && c->in_order) pass_turn(c, piece);
    }
    pthread_mutex_lock(&c->lock);
    c->counts.warp_insts += k.counts.warp_insts;
    c->counts.thread_insts += k.counts.thread_insts;
    c->counts.blocks += k.counts.blocks;
    pthread_mutex_unlock(&c->lock);
    free(s.bytes.s);
    free(s.lengths.at);
    free(s.views);
    orr_worker_free(&k);
}

typedef struct consumer { // who gets what an execution finds out; all NULL: nobody
    orr_visit *visit;     // streams of finished thread blocks
    void *arg;
    bool in_order;          // in grid order, one at a time
    const orr_tally *tally; // counts instead
} consumer;

static bool run_crew(decoded *p, int threads, const consumer *to, orr_exec_counts *counts, orr_err *e) {
    crew c = {.p = p,
              .tally = to->tally,
              .total = block_count(p->launch),
              .visit = to->visit,
              .arg = to->arg,
              .in_order = to->in_order && to->visit,
              .err_index = UINT64_MAX};
    atomic_init(&c.next, 0);
    atomic_init(&c.bound, UINT64_MAX);
    if ((uint64_t)threads > c.total) threads = (int)c.total;
    uint64_t share = c.total / (uint64_t)threads / 8, most = to->in_order ? PIECE_BLOCKS : 64;
    c.chunk = share < 1 ? 1 : share > most ? most : share;
    uint32_t size = orr_cluster_size(p->launch); // a cluster is one worker's
    c.chunk = (c.chunk + size - 1) / size * size;
    c.threads = threads;
    c.turns = orr_calloc((size_t)threads, sizeof *c.turns);
    pthread_mutex_init(&c.lock, NULL);
    for (int n = 0; n < threads; n++) pthread_cond_init(&c.turns[n], NULL);
    orr_parallel(threads, crew_work, &c);
    for (int n = 0; n < threads; n++) pthread_cond_destroy(&c.turns[n]);
    pthread_mutex_destroy(&c.lock);
    free(c.turns);
    if (counts) *counts = c.counts;
    if (c.err.status) return failed(p, &c.err, c.fault, e);
    return true;
}

static bool run_turns(decoded *p, const consumer *to, orr_exec_counts *counts, orr_err *e) {
    turns t;
    turns_init(&t, p, to->visit || to->tally);
    count_for(&t.k, to->tally, 0);
    tblock *tb;
    int r;
    bool ok = true;
    while (ok && (r = turns_next(&t, &tb)) > 0) {
        if (to->tally) {
            ok = orr_tally_tell(to->tally, 0, tb, e);
        } else if (to->visit) {
            orr_tb out;
            view(tb, &out);
            ok = to->visit(to->arg, 0, &out, e);
        }
        turns_give(&t, tb);
    }
    if (ok && r < 0) ok = failed(p, &t.k.err, t.k.fault, e);
    if (counts) *counts = t.k.counts;
    turns_free(&t);
    return ok;
}

static bool run(const orr_launch *l, int threads, const consumer *to, orr_exec_counts *counts, orr_err *e) {
    decoded p;
    if (!orr_decode(&p, l, e)) return false;
    bool ok = orr_keep_apart(l) ? run_crew(&p, threads < 1 ? 1 : threads, to, counts, e)
                                : run_turns(&p, to, counts, e);
    orr_decoded_free(&p);
    return ok;
}

// Streams made elsewhere, all of them.
static bool visit_elsewhere(const orr_launch *l, orr_visit *visit, void *arg, orr_exec_counts *counts,
                            orr_err *e) {
    orr_source *s = l->elsewhere->source(l->elsewhere->self, l, NULL, block_count(l), counts, e);
    if (!s) return false;
    orr_tb tb;
    int r;
    bool ok = true;
    while (ok && (r = s->next(s, &tb, e)) > 0) ok = visit(arg, 0, &tb, e);
    s->close(s);
    return ok && r == 0;
}

bool orr_exec_run(const orr_launch *l, int threads, const orr_visitor *v, orr_exec_counts *counts,
                  orr_err *e) {
    if (l->elsewhere && v) return visit_elsewhere(l, v->visit, v->arg, counts, e);
    if (l->elsewhere) return l->elsewhere->run(l->elsewhere->self, l, counts, e);
    consumer c = {0};
    if (v) c = (consumer){.visit = v->visit, .arg = v->arg, .in_order = v->in_order};
    return run(l, threads, &c, counts, e);
}

bool orr_exec_tally(const orr_launch *l, int threads, const orr_tally *t, orr_exec_counts *counts,
                    orr_err *e) {
    if (l->elsewhere) return l->elsewhere->tally(l->elsewhere->self, l, t, counts, e);
    return run(l, threads, &(consumer){.tally = t}, counts, e);
}

// ---- as a source ----------------------------------------------------------------------------
typedef struct exec_source {
    orr_source base;
    orr_launch launch;
    decoded own;
    struct exec_source *from; // that this one is a part of; itself: of none
    decoded *p;               // its own
    uint64_t fault_at;        // the first block of all parts that has failed
    turns t;
    tblock *out;
    orr_exec_counts *counts;
} exec_source;

// Parts run at the same time: the fault is that of the first block in grid order.
static void source_failed(exec_source *s, orr_err *e) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    uint64_t at = s->t.now ? s->t.now->index : 0;
    pthread_mutex_lock(&lock);
    if (at <= s->from->fault_at) {
        s->from->fault_at = at;
        failed(s->p, &s->t.k.err, s->t.k.fault, e);
    } else {
        *e = s->t.k.err;
    }
    pthread_mutex_unlock(&lock);
}

static int source_next(orr_source *base, orr_tb *tb, orr_err *e) {
    exec_source *s = (exec_source *)base;
    if (s->out) turns_give(&s->t, s->out);
    s->out = NULL;
    int r = turns_next(&s->t, &s->out);
    if (r < 0) source_failed(s, e);
    if (r > 0) view(s->out, tb);
    if (r <= 0) s->out = NULL;
    if (r == 0 && s->counts) *s->counts = s->t.k.counts;
    return r;
}

// Blocks that have been started already, because one before them waits, have made their streams.
static bool source_skip(orr_source *base, uint64_t to, orr_err *e) {
    exec_source *s = (exec_source *)base;
    if (s->out) turns_give(&s->t, s->out);
    s->out = NULL;
    if (to > s->t.total) to = s->t.total;
    if (to > s->t.k.unobserved) s->t.k.unobserved = to;
    while (s->t.done_upto < to) {
        tblock *tb = NULL;
        int r = turns_next(&s->t, &tb);
        if (r < 0) return failed(s->p, &s->t.k.err, s->t.k.fault, e);
        if (r == 0) break;
        turns_give(&s->t, tb);
    }
    return true;
}

static void source_close(orr_source *base) {
    exec_source *s = (exec_source *)base;
    turns_free(&s->t);
    if (s->from == s) orr_decoded_free(&s->own);
    free(s);
}

static exec_source *new_source(const orr_launch *l) {
    exec_source *s = orr_calloc(1, sizeof *s);
    s->launch = *l;
    s->from = s;
    s->p = &s->own;
    s->fault_at = UINT64_MAX;
    s->base.info = orr_info_of(l);
    s->base.next = source_next;
    s->base.close = source_close;
    return s;
}

static void take_blocks(exec_source *s, const uint64_t *blocks, uint64_t n) {
    turns_init(&s->t, s->p, true);
    s->t.only = blocks;
    s->t.total = n;
}

static orr_source *source_part(orr_source *base, const uint64_t *blocks, uint64_t n) {
    exec_source *from = (exec_source *)base, *s = new_source(&from->launch);
    s->from = from;
    s->p = from->p;
    take_blocks(s, blocks, n);
    return &s->base;
}

orr_source *orr_exec_source(const orr_launch *l, orr_exec_counts *counts, orr_err *e) {
    return orr_exec_source_of(l, NULL, block_count(l), counts, e);
}

orr_source *orr_exec_source_of(const orr_launch *l, const uint64_t *blocks, uint64_t n,
                               orr_exec_counts *counts, orr_err *e) {
    if (l->elsewhere) return l->elsewhere->source(l->elsewhere->self, l, blocks, n, counts, e);
    exec_source *s = new_source(l);
    if (!orr_decode(s->p, &s->launch, e)) {
        free(s);
        return NULL;
    }
    take_blocks(s, blocks, n);
    s->counts = counts;
    if (!blocks) s->base.skip = source_skip;
    bool apart = !blocks && !counts && !l->turn && orr_cluster_size(l) == 1 && orr_keep_apart(l);
    if (apart) s->base.part = source_part;
    return &s->base;
}
