// The streams of sampled thread blocks, run one block of code at a time in the order in which an SM's
// schedulers would come to them, and what the launch's accesses are on average, made of what memory.c found.
#include "model/analytic/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory/interleave.h"
#include "memory/memory.h"

// In the order in which the schedulers would come to them: a warp is ready again when its path says so, and
// as long as any is ready they issue, the oldest first (or in turn, where core.policy is lrr).
typedef struct reader {
    orr_trace t;
    uint32_t block, from;
    uint64_t local;
    double clock; // ready for its next block
    bool waits;   // at a barrier
    // since its last barrier: how often it waited for loads that L1 did not serve, and lines of all of them
    double waited, lines, from_dram;
} reader;

// Between its last barrier and its end a warp waits k times for the last of some lines; the block ends with
// the warp for which that is the most. Once: that of all warps' lines. Sums of k are less far apart than k
// times one.
static void add_tail(sampler *s, const reader *all, uint32_t n) {
    for (uint32_t k = 0; k < n;) {
        double warps = 0, waited = 0, lines = 0, from_dram = 0;
        uint32_t block = all[k].block;
        for (; k < n && all[k].block == block; k++) {
            warps += all[k].waited > 0;
            waited += all[k].waited;
            lines += all[k].lines;
            from_dram += all[k].from_dram;
        }
        s->tail.n++;
        if (warps < 2) continue;
        double of_all = an_late(s->m, lines / waited * warps, from_dram / waited * warps);
        s->tail.sum += sqrt(waited / warps) * (of_all - an_late(s->m, lines / waited, from_dram / waited));
    }
}

// One block of code of a warp: 1, 0 at its end, -1 damaged. *slots: issue slots it took.
static int step(sampler *s, reader *r, double *slots) {
    const orr_program *p = s->g->program;
    uint32_t block, mask;
    int more = orr_trace_block(&r->t, p->nblocks, &block, &mask);
    if (more <= 0) return more;
    s->runs[block]++;
    s->block = r->block;
    s->seat.rank = (uint32_t)(s->t->streams[r->block - 1].index % s->seat.size);
    s->clock = r->clock;
    s->late = 0;
    s->loads = false;
    const orr_tally_block *way = &s->t->plan[block];
    r->clock += way->weight[orr_tally_way(way, r->from)];
    r->from = block;
    const orr_tblock *x = &p->blocks[block];
    *slots = x->count;
    for (uint32_t n = 0; n < x->naccess; n++)
        if (!orr_trace_access(&r->t, &s->access[n])) return -1;
    for (uint32_t n = x->first; n < x->first + x->count; n++) {
        const orr_tinst *i = &p->insts[n];
        if (i->kind == ORR_TK_MEM && i->access < x->naccess)
            an_one_access(s, n, &s->access[i->access], r->local);
        else if (i->kind == ORR_TK_SYNCS && i->imm == ORR_MBAR_BULK && i->access < x->naccess)
            an_bulk_access(s, n, &s->access[i->access]);
    }
    if (s->t->meets[block]) {
        r->waited = r->lines = r->from_dram = 0;
    } else if (s->far.n) {
        r->waited++;
        r->lines += s->far.lines;
        r->from_dram += s->far.dram;
    }
    an_wait_for_far(s, s->t->meets[block] ? s->t->streams[r->block - 1].nwarps : 1);
    r->clock += s->late; // they are waited for, sooner or later
    r->waits = s->t->meets[block] && r->t.at != r->t.end;
    return 1;
}

// All warps of a thread block that have not ended are at the barrier: they go on.
static void release(reader *all, uint32_t n, uint32_t block) {
    double last = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (all[k].block != block || all[k].t.at == all[k].t.end) continue;
        if (!all[k].waits) return;
        if (all[k].clock > last) last = all[k].clock;
    }
    for (uint32_t k = 0; k < n; k++) {
        if (all[k].block != block) continue;
        if (all[k].waits) all[k].clock = last;
        all[k].waits = false;
    }
}

// Who goes next, not before *now: NULL when all have ended.
static reader *turn(reader *all, uint32_t n, uint32_t *after, bool in_turn, double *now) {
    reader *first = NULL;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t at = in_turn ? (*after + 1 + k) % n : k;
        reader *r = &all[at];
        if (r->waits || r->t.at == r->t.end) continue;
        if (!first || r->clock < first->clock) first = r;
        if (r->clock <= *now) {
            first = r;
            break;
        }
    }
    if (!first) return NULL;
    if (first->clock > *now) *now = first->clock;
    *after = (uint32_t)(first - all);
    return first;
}

// Streams from..to at a time. `slot`: cycles of the SM for each instruction of theirs.
static bool together(sampler *s, const an_tally *t, uint32_t from, uint32_t to, double slot) {
    uint32_t n = 0, after = 0;
    for (uint32_t k = from; k < to; k++) n += t->streams[k].nwarps;
    reader *all = orr_calloc(n + 1, sizeof *all), *r;
    n = 0;
    for (uint32_t k = from; k < to; k++)
        for (uint32_t w = 0; w < t->streams[k].nwarps; w++) {
            const an_stream *x = &t->streams[k];
            orr_warp_trace v = {x->bytes + x->at[w], x->at[w + 1] - x->at[w]};
            all[n++] = (reader){.t = orr_trace_open(v),
                                .block = k + 1,
                                .from = UINT32_MAX - 1,
                                .local = ((uint64_t)k * 64 + w) << 18};
        }
    bool ok = true, in_turn = s->gpu->core_policy == ORR_SCHED_LRR;
    double now = 0, slots = 0;
    while (ok && (r = turn(all, n, &after, in_turn, &now))) {
        r->clock = now;
        ok = step(s, r, &slots) >= 0;
        now += slots * slot;
        if (r->waits || r->t.at == r->t.end) release(all, n, r->block);
    }
    add_tail(s, all, n);
    free(all);
    return ok;
}

// Of the sectors touched first: how many fewer they are in the whole launch than in the sample blown up.
// *wait: how many of them are waited for. Lines that sampled blocks share they touch at about the same time,
// and wait for them together; but where the sample blown up has more lines than there is memory, blocks that
// are not in the sample have touched the rest before.
static double first_share(const sampler *s, const an_tally *t, uint64_t allocated, double *wait) {
    double once = 0, more = 0;
    for (uint32_t n = 0; n < s->l2.slots; n++)
        if (s->l2.key[n]) *(s->l2.block[n] == UINT32_MAX ? &more : &once) += 1;
    *wait = 1;
    if (once + more == 0 || !s->blocks) return 1;
    double blow = (double)t->ntbs / s->blocks, all = (once * blow + more) * s->every;
    double most = (double)allocated / ORR_LINE;
    if (allocated && all > most) {
        *wait = most / all;
        all = most;
    }
    double share = all / ((once + more) * s->every * blow);
    return share < 1 ? share : 1;
}

// Atomics on one line, and stores to one, are done one after the other by one slice: how many times longer
// the busiest takes than an even share of them.
static double hottest(const sampler *s, const reuse *of) {
    double all = 0, most = 0;
    for (uint32_t n = 0; n < of->slots; n++) {
        if (!of->key[n]) continue;
        all += of->ready[n];
        if (of->ready[n] > most) most = of->ready[n];
    }
    double times = all > 0 ? most / all * s->gpu->l2_slices : 1;
    return times > 1 ? times : 1;
}

// What the caches hold, for each block in the sample: as many others as run at a time share them.
static capacities capacities_of(const orr_gpu *gpu, const an_sampling *how, double l1_times,
                                double l2_times) {
    double l1 = how->occ->l1_bytes > ORR_LINE ? (double)how->occ->l1_bytes : ORR_LINE;
    return (capacities){.l1_lines = l1 / ORR_LINE / l1_times,
                        .l1_ways = (uint32_t)(gpu->l1_tag_ways ? gpu->l1_tag_ways : gpu->l1_ways),
                        .l2_lines = (double)gpu->l2_size / ORR_LINE / l2_times,
                        .regions = (uint64_t)gpu->l2_size >> REGION_BITS,
                        .fits = how->allocated && how->allocated <= (uint64_t)gpu->l2_size};
}

static void sampler_init(sampler *s, const orr_program *p) {
    an_reuse_init(&s->l1, 128);
    an_reuse_init(&s->l2, 256);
    an_reuse_init(&s->hot, 64);
    an_reuse_init(&s->stored, 64);
    if (s->gpu->l2_flush) {
        an_reuse_free(&s->m->regions);
        an_reuse_init(&s->m->regions, 256);
    }
    for (uint32_t n = 0; n < s->m->regions.slots; n++) s->m->regions.block[n] = 0;
    s->runs = orr_calloc(p->nblocks + 1, sizeof *s->runs);
    s->timed = orr_calloc(p->ninsts + 1, sizeof *s->timed);
    s->by_first = orr_calloc(p->ninsts + 1, sizeof *s->by_first);
    s->access = orr_calloc(p->max_access + 1, sizeof *s->access);
    s->before = orr_calloc(p->ninsts + 1, sizeof *s->before);
    memcpy(s->before, s->g->access, p->ninsts * sizeof *s->before);
}

static void sampler_free(sampler *s) {
    free(s->before);
    free(s->runs);
    free(s->timed);
    free(s->by_first);
    free(s->access);
    an_reuse_free(&s->l1);
    an_reuse_free(&s->l2);
    an_reuse_free(&s->hot);
    an_reuse_free(&s->stored);
}

// Sums of the sample become means of a run of each block of code; one that did not run is as assumed.
static void make_means(const sampler *s, double rest, double wait) {
    const orr_program *p = s->g->program;
    double spread = hottest(s, &s->hot), line = hottest(s, &s->stored);
    an_access *assumed = orr_calloc(p->ninsts + 1, sizeof *assumed);
    an_memory_assume(s->gpu, p, assumed);
    for (uint32_t b = 0; b < p->nblocks; b++)
        for (uint32_t n = p->blocks[b].first; n < p->blocks[b].first + p->blocks[b].count; n++) {
            an_access *a = &s->g->access[n];
            if (!s->runs[b]) {
                *a = assumed[n];
                continue;
            }
            double *v = (double *)a,
                   latency = s->timed[n] ? (a->latency - (1 - wait) * s->by_first[n]) / (double)s->timed[n]
                                         : assumed[n].latency;
            a->dram *= rest;
            a->atomics *= spread;
            a->stores *= line;
            for (size_t k = 0; k < sizeof *a / sizeof *v; k++) v[k] /= (double)s->runs[b];
            a->latency = latency;
        }
    free(assumed);
}

bool an_memory_sample(an_memory *m, an_graph *g, const an_tally *t, const an_sampling *how, an_traffic *out) {
    const orr_gpu *gpu = g->gpu;
    const orr_program *p = g->program;
    memset(out, 0, sizeof *out);
    sampler s = {.m = m, .gpu = gpu, .g = g, .out = out, .t = t, .every = 1};
    s.seat = (orr_cluster_seat){.size = t->cluster ? t->cluster : 1, .machine = p->kernel->machine};
    // How many blocks run at a time for each that is in the sample.
    bool alone = gpu->sm_count > 1;
    uint32_t cluster = 1;
    while (cluster < t->nsampled && t->sampled[cluster] == t->sampled[cluster - 1] + 1) cluster++;
    double resident = how->occ->blocks, per_sm = (double)t->ntbs / gpu->sm_count;
    if (resident > per_sm) resident = per_sm > 1 ? per_sm : 1;
    double l1_times = alone ? resident : resident / cluster, l2_times = resident * gpu->sm_count / cluster;
    if (l1_times < 1) l1_times = 1;
    if (l2_times < 1) l2_times = 1;
    s.hold = capacities_of(gpu, how, l1_times, l2_times);
    sampler_init(&s, p);
    memset(g->access, 0, p->ninsts * sizeof *g->access);
    an_graph_changed(g);

    double slot = (double)gpu->core_issue_interval / gpu->core_issue / gpu->core_schedulers * l1_times;
    // Whole clusters, far apart from each other, until it is enough.
    bool ok = true;
    uint32_t each = alone ? 1 : cluster, parts = (t->nsampled + each - 1) / each, apart = parts * 5 / 8 | 1;
    while (parts && orr_gcd(apart, parts) > 1) apart += 2;
    for (uint32_t n = 0, at = parts / 2; n < parts && ok && out->looked < how->budget; n++) {
        uint32_t from = at * each, to = from + each < t->nsampled ? from + each : t->nsampled;
        ok = together(&s, t, from, to, slot);
        s.blocks += to - from;
        at = (at + apart) % parts;
        an_reuse_free(&s.l1); // another SM, another time
        an_reuse_init(&s.l1, 128);
    }
    double wait, share = first_share(&s, t, how->allocated, &wait), all = s.sectors.first + s.sectors.again;
    double rest = all > 0 ? (s.sectors.first * share + s.sectors.again) / all : 1;
    make_means(&s, rest, wait);
    g->bulk = s.bulk.n > 0 ? s.bulk.sum / s.bulk.n : 0;
    g->tail = s.tail.n > 0 ? s.tail.sum / s.tail.n : 0;
    out->dram_sectors = all * rest;
    sampler_free(&s);
    return ok;
}
