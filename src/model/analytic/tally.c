// How often each block of code ran: counted by the executor while it executes (orr_exec_tally), or from the
// streams of a file, with the same result.
//
// Runs are counted by the block before, in the order of the warp's stream; the longest path of such a pair is
// its weight, so a warp's clock is its longest path so far, and a thread block's is the latest of its warps',
// where barriers make them meet. Lanes that part run one after the other in the stream, so divergence is in
// the counts.
//
// Of some thread blocks the whole streams are kept, for the addresses (memory.c): clusters of consecutive
// blocks, evenly over the grid, one block in SAMPLE_SHARE but at least SAMPLE_LEAST and at most SAMPLE_MOST,
// each warp's stream up to a limit. What they do is taken for what all do.
#include "model/analytic/analytic.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLE_SHARE 32
#define SAMPLE_LEAST 8
#define SAMPLE_MOST  64
#define SAMPLE_BYTES (8u << 20) // of all streams together,
#define STREAM_LEAST (1u << 10) // and of a warp's
#define STREAM_MOST  (32u << 10)
#define MAX_BINS     (1u << 20)
#define MAX_WEIGHT   1e9

void an_tally_free(an_tally *t) {
    free(t->plan);
    free(t->counts);
    free(t->predicated_off);
    free(t->meets);
    free(t->longest);
    free(t->sum);
    free(t->sampled);
    for (uint32_t n = 0; t->streams && n < t->nsampled; n++) {
        free(t->streams[n].at);
        free(t->streams[n].bytes);
    }
    free(t->streams);
    memset(t, 0, sizeof *t);
}

// ---- the plan: which ways into a block there are, and their weights ---------------------------------
static uint32_t weigh(an_graph *g, uint32_t from, uint32_t block) {
    double w = an_graph_path(g, from, block);
    return (uint32_t)(w < MAX_WEIGHT ? w + 0.5 : MAX_WEIGHT);
}

static void add_way(an_graph *g, orr_tally_block *b, uint32_t from, uint32_t block) {
    for (int n = 0; n < ORR_TALLY_FROM; n++) {
        if (b->from[n] == from) return;
        if (b->from[n] != UINT32_MAX) continue;
        b->from[n] = from;
        b->weight[n] = weigh(g, from, block);
        return;
    }
}

static void *larger(void *old, size_t n, size_t cap, size_t size) {
    char *at = orr_realloc(old, cap * size + 1);
    memset(at + n * size, 0, (cap - n) * size);
    return at;
}

// Does a block wait for the other warps?
static bool meets(const orr_program *p, uint32_t block) {
    const orr_tblock *b = &p->blocks[block];
    for (uint32_t n = b->first; n < b->first + b->count; n++)
        if (p->insts[n].kind == ORR_TK_BARRIER && !(p->insts[n].flags & ORR_TF_ARRIVE)) return true;
    return false;
}

// Room for the kernel's blocks; those that are new have no ways in yet.
static void grow(an_tally *t, an_graph *g, uint32_t nblocks) {
    if (nblocks > t->cap || !t->plan) {
        uint32_t cap = nblocks * 2;
        t->plan = larger(t->plan, t->nblocks, cap, sizeof *t->plan);
        t->counts = larger(t->counts, t->nblocks, cap, sizeof *t->counts);
        t->predicated_off = larger(t->predicated_off, t->nblocks, cap, sizeof *t->predicated_off);
        t->meets = larger(t->meets, t->nblocks, cap, sizeof *t->meets);
        t->cap = cap;
    }
    for (; t->nblocks < nblocks; t->nblocks++) {
        orr_tally_block *b = &t->plan[t->nblocks];
        for (int n = 0; n < ORR_TALLY_FROM; n++) b->from[n] = UINT32_MAX;
        b->weight[ORR_TALLY_FROM] = weigh(g, UINT32_MAX, t->nblocks);
        t->meets[t->nblocks] = meets(g->program, t->nblocks);
    }
}

// The ways that the code shows. Others (calls, tables, lanes that take turns) have the weight of none before.
static void plan_code(an_tally *t, an_graph *g, const orr_kernel *k) {
    for (uint32_t b = 0; b < k->nblocks; b++) {
        const orr_block *x = &k->blocks[b];
        const orr_inst *last = x->count ? &k->insts[x->first + x->count - 1] : NULL;
        if (last && last->op == ORR_OP_BRA && last->target >= 0 && (uint32_t)last->target < k->nblocks)
            add_way(g, &t->plan[last->target], b, (uint32_t)last->target);
        if (x->next >= 0 && (uint32_t)x->next < k->nblocks)
            add_way(g, &t->plan[x->next], b, (uint32_t)x->next);
    }
}

// ---- the sample -------------------------------------------------------------------------------------
static void choose(an_tally *t, uint32_t cluster) {
    if (!cluster) return; // none this time
    uint64_t n = t->ntbs / SAMPLE_SHARE;
    if (n < SAMPLE_LEAST) n = SAMPLE_LEAST;
    if (n > SAMPLE_MOST) n = SAMPLE_MOST;
    if (n > t->ntbs) n = t->ntbs;
    if (cluster > n) cluster = (uint32_t)n;
    uint64_t clusters = n / cluster, apart = t->ntbs / clusters;
    t->sampled = orr_calloc(n + 1, sizeof *t->sampled);
    for (uint64_t c = 0; c < clusters; c++)
        for (uint32_t k = 0; k < cluster; k++)
            t->sampled[t->nsampled++] =
                c * apart + (apart - cluster) / 2 + k; // the middle of its part of the grid
    t->streams = orr_calloc(t->nsampled + 1, sizeof *t->streams);
}

static size_t stream_limit(const an_tally *t) {
    uint64_t warps = t->nwarps / t->ntbs * (t->nsampled ? t->nsampled : 1),
             n = SAMPLE_BYTES / (warps ? warps : 1);
    return n < STREAM_LEAST ? STREAM_LEAST : n > STREAM_MOST ? STREAM_MOST : n;
}

static void keep(an_tally *t, uint32_t which, const orr_tb *tb) {
    an_stream *s = &t->streams[which];
    size_t bytes = 0, at = 0;
    for (uint32_t w = 0; w < tb->nwarps; w++) bytes += tb->warps[w].n;
    s->index = tb->index;
    s->nwarps = tb->nwarps;
    s->at = orr_calloc((size_t)tb->nwarps + 1, sizeof *s->at);
    s->bytes = orr_calloc(bytes + 1, 1);
    for (uint32_t w = 0; w < tb->nwarps; w++) {
        if (tb->warps[w].n) memcpy(s->bytes + at, tb->warps[w].bytes, tb->warps[w].n);
        at += tb->warps[w].n;
        s->at[w + 1] = at;
    }
}

static void note(an_tally *t, uint64_t index, uint64_t longest, uint64_t sum) {
    uint64_t bin = index / t->per;
    if (bin >= t->nbins) return;
    __atomic_fetch_add(&t->longest[bin], longest, __ATOMIC_RELAXED); // integers: in any order
    __atomic_fetch_add(&t->sum[bin], sum, __ATOMIC_RELAXED);
}

// ---- by executing -----------------------------------------------------------------------------------
typedef struct job {
    an_tally *t;
    const orr_work *work;
} job;

static bool visit(void *arg, int worker, const orr_tally_tb *x, orr_err *e) {
    job *j = arg;
    an_tally *t = j->t;
    (void)worker;
    if (j->work->progress) orr_progress_part(j->work->progress, 1);
    if (!orr_progress_go(j->work->progress, e)) return false;
    note(t, x->index, x->longest, x->sum);
    if (!x->streams) return true;
    for (uint32_t n = 0; n < t->nsampled; n++)
        if (t->sampled[n] == x->index) keep(t, n, x->streams);
    return true;
}

static bool execute(an_tally *t, const orr_work *w, orr_err *e) {
    job j = {t, w};
    size_t n = w->threads > 1 ? (size_t)w->threads : 1;
    orr_tally plan = {.blocks = t->plan,
                      .counts = orr_calloc(n * t->nblocks + 1, sizeof *plan.counts),
                      .sampled = t->sampled,
                      .nsampled = t->nsampled,
                      .stream_bytes = stream_limit(t),
                      .visit = visit,
                      .arg = &j};
    bool ok = orr_exec_tally(w->launch, (int)n, &plan, NULL, e);
    for (size_t k = 0; k < n; k++)
        for (uint32_t b = 0; b < t->nblocks; b++) {
            const orr_tally_count *c = &plan.counts[k * t->nblocks + b];
            for (int way = 0; way <= ORR_TALLY_FROM; way++) t->counts[b].runs[way] += c->runs[way];
            t->counts[b].lanes += c->lanes;
        }
    free(plan.counts);
    return ok;
}

// ---- from a file ------------------------------------------------------------------------------------
typedef ORR_VEC(uint64_t) clocks; // between barriers, of a warp

typedef struct tb_count { // while thread blocks are read
    size_t limit;         // bytes of a warp's stream that are kept
    uint32_t next;        // of the sampled blocks
    clocks warp, path;    // of the warp at hand; the longest of the block's warps
    uint64_t sum;         // of its warps' clocks
    size_t stop;          // where the kept stream of the warp at hand ends
} tb_count;

// One warp: counts, and its clock from barrier to barrier.
static bool count_warp(an_tally *t, an_graph *g, orr_warp_trace w, tb_count *n) {
    clocks *c = &n->warp;
    const orr_program *p = g->program;
    orr_trace x = orr_trace_open(w);
    uint32_t block, mask, from = UINT32_MAX - 1;
    uint64_t clock = 0;
    int more;
    n->stop = 0;
    c->n = 0;
    while ((more = orr_trace_block(&x, t->nblocks, &block, &mask)) > 0) {
        orr_tally_block *b = &t->plan[block];
        if (p->kernel->grows && from < t->nblocks)
            add_way(g, b, from, block); // no code to see them in before
        int way = orr_tally_way(b, from);
        t->counts[block].runs[way]++;
        t->counts[block].lanes += (uint32_t)orr_popc(mask);
        clock += b->weight[way];
        from = block;
        for (uint32_t k = p->kernel->blocks[block].nmem; k; k--)
            if (!orr_trace_skip(&x)) return false;
        if (t->meets[block]) {
            *ORR_PUSH(c) = clock;
            n->sum += clock;
            clock = 0;
        }
        size_t at = (size_t)(x.at - w.bytes);
        if (at <= n->limit || !n->stop) n->stop = at;
    }
    *ORR_PUSH(c) = clock;
    n->sum += clock;
    return more == 0;
}

static bool count_tb(an_tally *t, an_graph *g, const orr_tb *tb, tb_count *count) {
    const clocks *c = &count->warp;
    clocks *path = &count->path;
    uint64_t longest = 0;
    bool kept = count->next < t->nsampled && t->sampled[count->next] == tb->index;
    orr_warp_trace *cut = kept ? orr_calloc(tb->nwarps + 1u, sizeof *cut) : NULL;
    path->n = 0;
    count->sum = 0;
    bool ok = true;
    for (uint32_t w = 0; w < tb->nwarps && ok; w++) {
        ok = count_warp(t, g, tb->warps[w], count);
        if (kept) cut[w] = (orr_warp_trace){tb->warps[w].bytes, count->stop};
        for (size_t n = 0; n < c->n; n++) {
            if (n == path->n) *ORR_PUSH(path) = 0;
            if (c->at[n] > path->at[n]) path->at[n] = c->at[n];
        }
    }
    for (size_t n = 0; n < path->n; n++) longest += path->at[n];
    note(t, tb->index, longest, count->sum);
    if (ok && kept) keep(t, count->next++, &(orr_tb){tb->index, tb->nwarps, cut});
    free(cut);
    return ok;
}

static bool pull(an_tally *t, an_graph *g, orr_program *p, const orr_work *w, orr_err *e) {
    orr_source *s = orr_work_open(w, NULL, e);
    if (!s) return false;
    orr_tb tb;
    int more;
    uint64_t upto = 0;
    tb_count count = {.limit = stream_limit(t)};
    while ((more = s->next(s, &tb, e)) > 0) {
        if (p->kernel->grows && p->nblocks != p->kernel->nblocks) {
            orr_program_grow(p);
            an_graph_grow(g);
            an_graph_flow(g);
            grow(t, g, p->nblocks);
        }
        if (w->progress) orr_progress_part(w->progress, 1);
        if (!orr_progress_go(w->progress, e)) {
            more = -1;
            break;
        }
        if (tb.index >= upto) upto = tb.index + 1;
        if (!count_tb(t, g, &tb, &count)) {
            orr_fail(e, ORR_BAD_INPUT,
                     "launch %u of %s: the stream of thread block %llu is damaged; record it again",
                     w->info.index, p->kernel->name, (unsigned long long)tb.index);
            more = -1;
            break;
        }
    }
    if (upto < t->ntbs) { // a file may hold fewer blocks than its grid has
        t->ntbs = upto;
        t->nbins = (upto + t->per - 1) / t->per;
    }
    free(count.warp.at);
    free(count.path.at);
    s->close(s);
    return more == 0;
}

// ---- both -------------------------------------------------------------------------------------------
// A body under a predicate is issued for no lane wherever the stream does not go there (orr_tblock.body).
static bool leads(const orr_program *p, uint32_t from, uint32_t to) {
    for (int depth = 0; from < p->nblocks && p->blocks[from].body && depth < 64; depth++) {
        from = p->blocks[from].body - 1;
        if (from == to) return true;
    }
    return false;
}

static void count_predicated_off(an_tally *t, const orr_program *p) {
    for (uint32_t b = 0; b < t->nblocks; b++) {
        uint32_t body = p->blocks[b].body;
        if (!body || body > t->nblocks) continue;
        uint64_t here = an_runs(&t->counts[b]) + t->predicated_off[b], there = 0;
        for (int n = 0; n < ORR_TALLY_FROM; n++)
            if (leads(p, t->plan[body - 1].from[n], body - 1)) there += t->counts[body - 1].runs[n];
        t->predicated_off[body - 1] += here > there ? here - there : 0;
    }
}

bool an_tally_run(an_tally *t, an_graph *g, orr_program *p, const orr_work *w, uint32_t cluster, orr_err *e) {
    const uint32_t *d = w->info.grid, *b = w->info.block;
    t->ntbs = (uint64_t)d[0] * d[1] * d[2];
    if (!t->ntbs)
        return orr_fail(e, ORR_BAD_INPUT, "launch %u of %s: its grid is empty", w->info.index,
                        p->kernel->name);
    t->nwarps = t->ntbs * ((b[0] * b[1] * b[2] + ORR_WARP - 1) / ORR_WARP);
    t->per = (t->ntbs + MAX_BINS - 1) / MAX_BINS;
    t->nbins = (t->ntbs + t->per - 1) / t->per;
    t->longest = orr_calloc(t->nbins + 1, sizeof *t->longest);
    t->sum = orr_calloc(t->nbins + 1, sizeof *t->sum);
    choose(t, cluster);
    if (p->kernel->grows) orr_program_grow(p);
    if (g->nblocks != p->nblocks) an_graph_grow(g);
    an_graph_flow(g);
    grow(t, g, p->nblocks);
    if (!p->kernel->grows) plan_code(t, g, p->kernel);
    if (w->progress) orr_progress_parts(w->progress, t->ntbs);
    bool ok = w->launch && !w->rewritten ? execute(t, w, e) : pull(t, g, p, w, e);
    if (!ok) return false;
    count_predicated_off(t, p);
    for (uint32_t n = 0; n < t->nblocks; n++) {
        t->warp_insts += (an_runs(&t->counts[n]) + t->predicated_off[n]) * p->blocks[n].count;
        t->thread_insts += t->counts[n].lanes * p->blocks[n].count;
    }
    return true;
}
