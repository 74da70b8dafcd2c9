// How long a launch takes, from portions of its grid on the whole GPU.
//
// One SM with a share of memory cannot show what SMs do to each other: stores that are written back when L2
// is full, atomics to one line, SMs that get longer blocks than others. So portions of the grid, runs of
// consecutive thread blocks, go through the abstract model's machine (model/abstract/launch.h), one behind
// the other as if nothing were between them: the first two waves, two waves from each of two strata of what
// lies between, and the last wave. A wave is what the GPU holds at once. A stratum's blocks are taken to end
// at the pace of its portion's second wave, corrected by how many warp instructions blocks spread over the
// stratum have. Where L2 fills up on the way, the strata are before and after that; blocks in front of a
// portion, as many as L2 has room for, are executed and leave their lines in it.
//
// A grid of up to seven waves is simulated whole. So the cost depends on what a GPU holds and on how long a
// block is, not on the grid.
#include "model/partial/partial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE_WAVES 7u
#define INSTS       160000000.0 // warp instructions: more than that is not simulated on all SMs
#define WARM_INSTS  80000000.0  // and more is not executed to fill L2
#define SPREAD      64u         // blocks spread over the grid, for what a block is on average
#define RUN         16u         // blocks side by side, for lines that each brings
#define SEEN        (1u << 16)  // lines that are told apart

// ---- the plan ------------------------------------------------------------------------------------------
static void set(portion *p, uint64_t from, uint64_t to, uint64_t settled, uint64_t left) {
    *p = (portion){.warm = from, .from = from, .settled = settled, .to = to, .left = left};
}

bool portions_whole(uint64_t total, uint64_t wave) { return total <= WHOLE_WAVES * wave; }

// `fill`: the block from which on L2 is full.
portions portions_make(uint64_t total, uint64_t wave, uint64_t fill) {
    portions x = {.total = total};
    if (portions_whole(total, wave)) {
        set(&x.at[x.n++], 0, total, total, 0);
        return x;
    }
    set(&x.at[x.n++], 0, 2 * wave, 2 * wave, 0);
    uint64_t first = 2 * wave, last = total - wave, cut = first + (last - first) / 2;
    if (fill >= first + 2 * wave && fill + 2 * wave <= last) cut = fill;
    for (int k = 0; k < 2; k++) {
        uint64_t from = k ? cut : first, blocks = (k ? last : cut) - from, left = blocks - 2 * wave;
        from += left / 2;
        set(&x.at[x.n++], from, from + 2 * wave, from + wave, left);
    }
    set(&x.at[x.n++], last, total, total, 0);
    for (int k = 1; k < x.n; k++) {
        uint64_t before = x.at[k].from - x.at[k - 1].to;
        x.at[k].warm = x.at[k].from - (before < fill ? before : fill);
    }
    return x;
}

static int by_time(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double portions_cycles(const portions *x, double *ends, size_t n, double cycles) {
    qsort(ends, n, sizeof *ends, by_time);
    uint64_t before = 0;
    for (int k = 0; k < x->n; k++) {
        const portion *p = &x->at[k];
        uint64_t from = before + (p->settled - p->from), to = before + (p->to - p->from);
        before = to;
        if (!p->left || !from || to > n || from >= to) continue;
        double pace = (ends[to - 1] - ends[from - 1]) / (double)(to - from);
        cycles += pace * (double)p->left * (p->relation > 0 ? p->relation : 1);
    }
    return cycles;
}

// ---- what blocks are like ------------------------------------------------------------------------------
double kept_insts(const orr_kernel *k, const kept_block *b) {
    double n = 0;
    for (uint32_t w = 0; b && w < b->nwarps; w++) {
        orr_trace t = orr_trace_open(b->warps[w]);
        uint32_t block, mask;
        while (orr_trace_block(&t, k->nblocks, &block, &mask) > 0) {
            n += k->blocks[block].count;
            for (uint32_t i = k->blocks[block].nmem; i; i--)
                if (!orr_trace_skip(&t)) return n;
        }
    }
    return n;
}

// On average, of the blocks from `from` to `to`; `spread`: of those among them that are spread over the grid.
static double mean_insts(const kept *k, const orr_kernel *kernel, uint64_t from, uint64_t to, uint64_t total,
                         bool spread) {
    double sum = 0, n = 0;
    uint64_t many = spread ? SPREAD : to - from;
    for (uint64_t i = 0; i < many; i++) {
        uint64_t at = spread ? (2 * i + 1) * total / (2 * SPREAD) : from + i;
        const kept_block *b = at >= from && at < to ? kept_find(k, at) : NULL;
        if (!b) continue;
        sum += kept_insts(kernel, b);
        n++;
    }
    return n > 0 ? sum / n : 0;
}

typedef struct lines {
    uint64_t seen[SEEN], n;
} lines;

static void count_line(void *arg, const orr_touched *t) {
    lines *l = arg;
    if (l->n >= SEEN / 2) return;
    for (uint64_t at = orr_cache_mix(t->line);; at++) {
        uint64_t *s = &l->seen[at % SEEN];
        if (*s == t->line + 1) return;
        if (*s) continue;
        *s = t->line + 1;
        l->n++;
        return;
    }
}

// Blocks until L2 is full: from the lines that RUN blocks in the middle of the grid bring.
static uint64_t fills(const orr_gpu *g, const kept *k, const orr_kernel *kernel, uint64_t total) {
    orr_arena a = {0};
    orr_profile *places = orr_warm_places(kernel, &a);
    lines *l = orr_calloc(1, sizeof *l);
    uint64_t blocks = 0;
    for (uint64_t i = 0; i < RUN && l->n < SEEN / 2; i++) {
        const kept_block *b = kept_find(k, total / 2 + i);
        if (!b) continue;
        orr_warm_block(places, &(orr_tb){.index = b->index, .nwarps = b->nwarps, .warps = b->warps},
                       count_line, l);
        blocks++;
    }
    // A line that the other half of L2 asks for is in both.
    double room = (double)g->l2_size / ORR_LINE / (g->l2_replicate ? 1.5 : 1);
    double each = blocks ? (double)l->n / (double)blocks : 0;
    free(l);
    orr_arena_free(&a);
    return each > 0 && room / each < (double)total ? (uint64_t)(room / each) : total;
}

// ---- a launch --------------------------------------------------------------------------------------------
typedef struct watcher {
    const portions *x;
    ORR_VEC(double) ends;
    double cycles;
} watcher;

static bool left_out(void *arg, uint64_t block) {
    const portions *x = ((watcher *)arg)->x;
    for (int k = 0; k < x->n; k++)
        if (block < x->at[k].to) return block < x->at[k].from;
    return true;
}

static void ended(void *arg, uint64_t block, uint64_t cycle) {
    watcher *w = arg;
    (void)block;
    *ORR_PUSH(&w->ends) = (double)cycle;
}

static bool done(void *arg, uint64_t cycles) {
    ((watcher *)arg)->cycles = (double)cycles;
    return true;
}

typedef struct listed {
    orr_source base;
    const kept *k;
    const portions *x;
    int portion;
    uint64_t next;
} listed;

static int listed_next(orr_source *base, orr_tb *tb, orr_err *e) {
    listed *r = (listed *)base;
    (void)e;
    for (; r->portion < r->x->n; r->portion++) {
        const portion *p = &r->x->at[r->portion];
        if (r->next < p->warm) r->next = p->warm;
        while (r->next < p->to) {
            const kept_block *b = kept_find(r->k, r->next++);
            if (!b) continue; // a file that ended early
            *tb = (orr_tb){.index = b->index, .nwarps = b->nwarps, .warps = b->warps};
            return 1;
        }
    }
    return 0;
}

static void listed_close(orr_source *base) { (void)base; }

static bool pull_spread(kept *k, const orr_work *w, uint64_t total, orr_err *e) {
    uint64_t list[SPREAD + RUN], n = 0, run = total / 2, at = 0;
    for (uint64_t i = 0; i < SPREAD; i++) {
        uint64_t b = (2 * i + 1) * total / (2 * SPREAD);
        for (; at < RUN && run + at < total && run + at <= b; at++) list[n++] = run + at;
        list[n++] = b;
    }
    return kept_pull(k, w, list, n, false, e);
}

static bool pull_portions(kept *k, const orr_work *w, const portions *x, orr_err *e) {
    uint64_t n = 0, *list;
    for (int i = 0; i < x->n; i++) n += x->at[i].to - x->at[i].warm;
    list = orr_malloc((n + 1) * sizeof *list);
    n = 0;
    for (int i = 0; i < x->n; i++)
        for (uint64_t b = x->at[i].warm; b < x->at[i].to; b++) list[n++] = b;
    bool ok = kept_pull(k, w, list, n, false, e);
    free(list);
    return ok;
}

bool portions_run(abt_state *st, const portions_of *of, found *out, orr_err *e) {
    const orr_gpu *gpu = of->gpu;
    const orr_work *w = of->work;
    kept *k = of->blocks;
    uint64_t wave = of->wave;
    const orr_kernel *kernel = w->info.kernel;
    uint64_t total = (uint64_t)w->info.grid[0] * w->info.grid[1] * w->info.grid[2];
    *out = (found){0};
    if (!total || !wave || !pull_spread(k, w, total, e)) return !total || !wave;
    double insts = mean_insts(k, kernel, 0, total, total, true);
    uint64_t fill = fills(gpu, k, kernel, total);
    portions x = portions_make(total, wave, fill);
    double simulated = 0;
    for (int i = 0; i < x.n; i++) simulated += (double)(x.at[i].to - x.at[i].from);
    if (simulated * insts > INSTS) return true; // one SM has to do
    for (int i = 1; i < x.n; i++)
        while ((double)(x.at[i].from - x.at[i].warm) * insts > WARM_INSTS / x.n)
            x.at[i].warm += (x.at[i].from - x.at[i].warm + 1) / 2;
    if (!pull_portions(k, w, &x, e)) return false;
    for (int i = 0; i < x.n; i++) {
        portion *p = &x.at[i];
        if (!p->left) continue;
        double here = mean_insts(k, kernel, p->settled, p->to, total, false);
        double there = mean_insts(k, kernel, p->from - p->left / 2, p->to + p->left / 2, total, true);
        p->relation = here > 0 && there > 0 ? there / here : 1;
    }
    watcher seen = {.x = &x};
    abt_watch watch = {&seen, left_out, ended, done};
    listed source = {.base = {.info = w->info, .next = listed_next, .close = listed_close}, .k = k, .x = &x};
    bool ok = abt_some_blocks(st, gpu, w, &source.base, &watch, e);
    out->cycles = floor(portions_cycles(&x, seen.ends.at, seen.ends.n, seen.cycles) + 0.5);
    out->insts = x.n == 1 ? mean_insts(k, kernel, 0, total, total, false) : insts;
    free(seen.ends.at);
    return ok;
}
