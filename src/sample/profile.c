// The profile: what each thread block of each launch does, without any hardware (TBPoint, section II-B).
//
// Streams come from the executor, or from a file. Of each thread block its warp instructions and its memory
// requests are kept: lines of 128 bytes of global and local memory that its warp instructions ask for, each
// instruction's own lanes merged. A warp instruction makes at least one and up to 32 of them, as section III
// counts. And of each launch the lines of global memory that no launch before it has touched: a cache cannot
// have them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "sample/sample.h"

typedef struct counts { // one worker's
    uint64_t *vector;   // by basic block: times a warp ran it
    uint32_t nblocks;
    orr_line_set touched; // lines of global memory
} counts;

typedef struct job {
    const orr_work *work;
    orr_profile *places; // where the kernel's memory instructions are
    counts *workers;
    struct tbsums { // by thread block
        uint64_t insts, requests, threads;
    } * tb;
    uint64_t n;
} job;

static void make_room(counts *c, const orr_profile *p) {
    if (c->vector && p->nblocks <= c->nblocks) return;
    c->vector = orr_realloc(c->vector, (p->nblocks + 1) * sizeof *c->vector);
    memset(c->vector + c->nblocks, 0, (p->nblocks + 1 - c->nblocks) * sizeof *c->vector);
    c->nblocks = p->nblocks;
}

// Lines that the lanes of one instruction ask for; of a generic one, where each lane leads. Those of global
// memory are put into `touched`.
static uint64_t lines_of(const orr_mem_place *place, bool generic, orr_access *a, orr_line_set *touched) {
    orr_coalesced c;
    uint64_t n = 0;
    a->mask &= place->lanes;
    if (generic) {
        orr_access local = {.mask = 0};
        for (uint32_t m = a->mask; m; m &= m - 1) {
            int lane = orr_ffs(m);
            uint64_t addr = a->addr[lane];
            uint8_t space = orr_generic_space(addr);
            if (space == ORR_SPACE_LOCAL) {
                local.mask |= 1u << lane;
                local.addr[lane] = addr - ORR_LOCAL_WINDOW;
            }
            if (space != ORR_SPACE_GLOBAL) a->mask &= ~(1u << lane);
        }
        if (local.mask) {
            orr_coalesce_local(&local, place->bytes, &c);
            n += c.lines;
        }
    }
    if (!a->mask) return n;
    if (place->space == ORR_SPACE_LOCAL) {
        orr_coalesce_local(a, place->bytes, &c);
        return n + c.lines;
    }
    orr_coalesce(a, place->bytes, ORR_WHOLE_WARP, &c);
    for (uint32_t k = 0; k < c.lines; k++) orr_line_set_add(touched, c.line[k].line);
    return n + c.lines;
}

// Shared memory and constants are not looked at.
static bool count_warp(const orr_profile *p, orr_warp_trace w, counts *to_all, struct tbsums *to) {
    const orr_kernel *k = p->kernel;
    orr_trace t = orr_trace_open(w);
    uint32_t block, mask;
    int more;
    while ((more = orr_trace_block(&t, p->nblocks, &block, &mask)) > 0) {
        to_all->vector[block]++;
        to->insts += k->blocks[block].count;
        to->threads += (uint64_t)orr_popc(mask) * k->blocks[block].count;
        uint32_t at = p->first_place[block];
        for (uint32_t n = k->blocks[block].nmem; n; n--) {
            const orr_mem_place *place = &p->places[at];
            bool generic =
                k->insts[place->inst].space == ORR_SPACE_GENERIC; // four places, the first is global
            at += generic ? 4 : 1;
            if (place->space != ORR_SPACE_GLOBAL && place->space != ORR_SPACE_LOCAL) {
                if (!orr_trace_skip(&t)) return false;
                continue;
            }
            orr_access a;
            if (!orr_trace_access(&t, &a)) return false;
            to->requests += lines_of(place, generic, &a, &to_all->touched);
        }
    }
    return more == 0;
}

static bool visit(void *arg, int worker, const orr_tb *tb, orr_err *e) {
    job *j = arg;
    const orr_profile *p = j->places;
    if (j->work->progress) orr_progress_part(j->work->progress, 1);
    if (!orr_progress_go(j->work->progress, e)) return false;
    if (tb->index >= j->n)
        return orr_fail(e, ORR_BAD_INPUT, "launch %u of %s: thread block %llu of %llu; record it again",
                        j->work->info.index, p->kernel->name, (unsigned long long)tb->index,
                        (unsigned long long)j->n);
    for (uint32_t w = 0; w < tb->nwarps; w++)
        if (!count_warp(p, tb->warps[w], &j->workers[worker], &j->tb[tb->index]))
            return orr_fail(
                e, ORR_BAD_INPUT,
                "launch %u of %s: the stream of thread block %llu, warp %u is damaged; record it again",
                j->work->info.index, p->kernel->name, (unsigned long long)tb->index, w);
    return true;
}

static bool pull(job *j, orr_err *e) {
    orr_source *s = j->work->source;
    orr_tb tb;
    int more;
    while ((more = s->next(s, &tb, e)) > 0) {
        orr_profile_grow(j->places);
        make_room(&j->workers[0], j->places);
        if (!visit(j, 0, &tb, e)) return false;
    }
    return more == 0;
}

static uint32_t kernel_of(orr_sampling_profile *p, const orr_kernel *k) {
    for (uint32_t n = 0; n < p->kernels.n; n++)
        if (strcmp(p->kernels.at[n].name, k->name) == 0 && p->kernels.at[n].ncode == k->nblocks) return n;
    *ORR_PUSH(&p->kernels) = (orr_sp_kernel){orr_arena_strdup(&p->arena, k->name), k->nblocks};
    return (uint32_t)p->kernels.n - 1;
}

static void sum_up(orr_sampling_profile *p, const job *j, int workers) {
    const orr_profile *places = j->places;
    uint32_t kernel = kernel_of(p, places->kernel);
    orr_sp_launch *l = ORR_PUSH(&p->launches);
    l->kernel = kernel;
    l->blocks = j->n;
    ORR_VEC(orr_sp_run) runs = {0};
    double square = 0;
    for (uint64_t b = 0; b < j->n; b++) {
        const struct tbsums *t = &j->tb[b];
        l->thread_insts += t->threads;
        l->warp_insts += t->insts;
        l->requests += t->requests;
        orr_sp_run *r = runs.n ? &runs.at[runs.n - 1] : NULL;
        if (!r || r->insts != t->insts || r->requests != t->requests)
            *(r = ORR_PUSH(&runs)) = (orr_sp_run){0, t->insts, t->requests};
        r->count++;
    }
    for (int w = 0; w < workers; w++) l->first += orr_line_set_merge(&p->touched, &j->workers[w].touched);
    double mean = (double)l->thread_insts / (double)j->n;
    for (uint64_t b = 0; b < j->n; b++) square += pow((double)j->tb[b].threads - mean, 2) / (double)j->n;
    l->cov = mean > 0 ? sqrt(square) / mean : 0;
    l->nruns = (uint32_t)runs.n;
    l->runs = orr_arena_alloc(&p->arena, runs.n * sizeof *l->runs);
    if (runs.n) memcpy(l->runs, runs.at, runs.n * sizeof *l->runs);
    free(runs.at);
    uint32_t ncode = p->kernels.at[kernel].ncode;
    l->vector = orr_arena_alloc(&p->arena, (ncode + 1) * sizeof *l->vector);
    for (int w = 0; w < workers; w++)
        for (uint32_t b = 0; b < j->workers[w].nblocks && b < ncode; b++)
            l->vector[b] += j->workers[w].vector[b] * places->kernel->blocks[b].count;
}

// Executed elsewhere, and only counted there.
static bool ask(job *j, orr_err *e) {
    const orr_launch *l = j->work->launch;
    orr_tb_sums *sums = orr_calloc(j->n + 1, sizeof *sums);
    bool ok = l->elsewhere->sums(l->elsewhere->self, l, sums, j->workers[0].vector, e);
    for (uint64_t b = 0; b < j->n; b++)
        j->tb[b] = (struct tbsums){sums[b].insts, sums[b].requests, sums[b].threads};
    free(sums);
    return ok;
}

bool orr_sp_add(orr_sampling_profile *p, const orr_work *w, orr_err *e) {
    orr_arena a = {0};
    int n = w->launch && w->threads > 1 ? w->threads : 1;
    job j = {.work = w, .places = orr_warm_places(w->info.kernel, &a)};
    j.n = (uint64_t)w->info.grid[0] * w->info.grid[1] * w->info.grid[2];
    j.workers = orr_calloc((size_t)n, sizeof *j.workers);
    j.tb = orr_calloc(j.n + 1, sizeof *j.tb);
    for (int i = 0; i < n; i++) make_room(&j.workers[i], j.places);
    if (w->progress) orr_progress_parts(w->progress, j.n);
    bool ok = !w->launch ? pull(&j, e)
              : w->launch->elsewhere
                  ? ask(&j, e)
                  : orr_exec_run(w->launch, n, &(orr_visitor){.visit = visit, .arg = &j}, NULL, e);
    if (ok) sum_up(p, &j, n);
    for (int i = 0; i < n; i++) {
        free(j.workers[i].vector);
        orr_line_set_free(&j.workers[i].touched);
    }
    free(j.workers);
    free(j.tb);
    orr_arena_free(&a);
    return ok;
}

void orr_sp_expand(const orr_sp_launch *l, uint64_t *insts, uint64_t *requests) {
    uint64_t at = 0;
    for (uint32_t r = 0; r < l->nruns; r++)
        for (uint64_t k = 0; k < l->runs[r].count && at < l->blocks; k++, at++) {
            insts[at] = l->runs[r].insts;
            requests[at] = l->runs[r].requests;
        }
}

void orr_sp_free(orr_sampling_profile *p) {
    free(p->kernels.at);
    free(p->launches.at);
    orr_line_set_free(&p->touched);
    orr_arena_free(&p->arena);
    memset(p, 0, sizeof *p);
}
