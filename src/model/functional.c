// The functional model: no time, only what the launch did. It executes on all host threads; each keeps
// its own counts, and they are added up at the end, so the result is the same with any number of them
// and the same as from a recorded file.
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

typedef struct counts { // one worker's
    orr_block_stats *blocks;
    orr_mem_stats *mems;
    uint32_t nblocks, nplaces; // that there is room for
} counts;

typedef struct job {
    orr_profile *profile;
    const orr_work *work;
    counts *workers;
} job;

static bool visit(void *arg, int worker, const orr_tb *tb, orr_err *e) {
    job *j = arg;
    if (j->work->progress) orr_progress_part(j->work->progress, 1);
    if (!orr_progress_go(j->work->progress, e)) return false;
    for (uint32_t w = 0; w < tb->nwarps; w++)
        if (!orr_profile_warp(j->profile, tb->warps[w], j->workers[worker].blocks, j->workers[worker].mems))
            return orr_fail(
                e, ORR_BAD_INPUT,
                "launch %u of %s: the stream of thread block %llu, warp %u is damaged; record it again",
                j->work->info.index, j->profile->kernel->name, (unsigned long long)tb->index, w);
    return true;
}

static void *larger(void *old, uint32_t n, uint32_t cap, size_t size) {
    char *at = orr_realloc(old, cap * size + 1);
    memset(at + n * size, 0, (cap - n) * size);
    return at;
}

// Zeroed places for all that the profile has.
static void make_room(counts *c, const orr_profile *p) {
    uint32_t extra = p->kernel->grows ? 2 : 1;
    if (!c->blocks || p->nblocks > c->nblocks) {
        c->blocks = larger(c->blocks, c->nblocks, p->nblocks * extra, sizeof *c->blocks);
        c->nblocks = p->nblocks * extra;
    }
    if (!c->mems || p->nplaces > c->nplaces) {
        c->mems = larger(c->mems, c->nplaces, p->nplaces * extra, sizeof *c->mems);
        c->nplaces = p->nplaces * extra;
    }
}

static bool pull(job *j, orr_err *e) {
    orr_source *s = orr_work_open(j->work, NULL, e);
    if (!s) return false;
    orr_tb tb;
    int more;
    while ((more = s->next(s, &tb, e)) > 0) {
        if (j->profile->kernel->grows) {
            orr_profile_grow(j->profile);
            make_room(&j->workers[0], j->profile);
        }
        if (!visit(j, 0, &tb, e)) {
            more = -1;
            break;
        }
    }
    s->close(s);
    return more == 0;
}

static void add_up(uint64_t *to, const uint64_t *from, size_t bytes) {
    for (size_t i = 0; i < bytes / sizeof *to; i++) to[i] += from[i];
}

static bool run(const orr_gpu *gpu, const orr_work *w, orr_result *r, orr_err *e) {
    orr_profile *p = orr_profile_of(r, w->info.kernel);
    int n = w->launch && w->threads > 1 ? w->threads : 1;
    job j = {p, w, orr_calloc((size_t)n, sizeof *j.workers)};
    for (int i = 0; i < n; i++) make_room(&j.workers[i], p);
    if (w->progress)
        orr_progress_parts(w->progress, (uint64_t)w->info.grid[0] * w->info.grid[1] * w->info.grid[2]);
    double start = orr_seconds();
    bool ok = w->launch ? orr_exec_run(w->launch, n, &(orr_visitor){.visit = visit, .arg = &j}, NULL, e)
                        : pull(&j, e);
    r->host.execute_seconds += orr_seconds() - start;

    start = orr_seconds();
    if (ok) {
        size_t block_bytes = p->nblocks * sizeof *p->blocks, mem_bytes = p->nplaces * sizeof *p->mems;
        counts *sum = &j.workers[0];
        for (int i = 1; i < n; i++) {
            add_up((uint64_t *)(void *)sum->blocks, (const uint64_t *)(const void *)j.workers[i].blocks,
                   block_bytes);
            add_up((uint64_t *)(void *)sum->mems, (const uint64_t *)(const void *)j.workers[i].mems,
                   mem_bytes);
        }
        orr_launch_result *l = orr_result_add(r, gpu, w);
        l->counters = orr_arena_alloc(&r->arena, ORR_COUNTERS * sizeof *l->counters);
        orr_profile_counters(p, sum->blocks, sum->mems, l->counters, &l->warp_insts, &l->thread_insts);
        add_up((uint64_t *)(void *)p->blocks, (const uint64_t *)(const void *)sum->blocks, block_bytes);
        add_up((uint64_t *)(void *)p->mems, (const uint64_t *)(const void *)sum->mems, mem_bytes);
        p->launches++;
    }
    for (int i = 0; i < n; i++) {
        free(j.workers[i].blocks);
        free(j.workers[i].mems);
    }
    free(j.workers);
    r->host.model_seconds += orr_seconds() - start;
    return ok;
}

const orr_model orr_model_functional = {
    "functional", "executes and counts: instruction mix, divergence, coalescing; predicts no time",
    run,          NULL,
    false,        NULL,
    NULL};
