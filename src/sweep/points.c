// The points of a sweep: each replays the tape through the model, on one host thread; many run at once.
//
// Points share the tape and its kernels, which nobody writes to, and nothing else, so a point has the same
// digits whatever runs beside it. Where a model says that its L2 had room for everything, points with a
// larger one are the same and are not simulated; those with the smallest go first. One more thread takes the
// finished ones and hands them on, so that the file is written by one thread and those that simulate never
// wait for the disk.
//
// Where other processes are at the same points (share.c), who is free takes the next. Points that differ in
// L2's size alone are a chain, and who took the first of a chain goes on with it, since it knows of roomy
// ones; when its own chains are done it takes what is left of the others', from the end.
#include "input/input.h"
#include "sweep/sweep.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

const orr_column_info orr_columns[ORR_COLUMNS] = {
#define COLUMN(id, name, meaning) {ORR_C_##id, name, meaning},
#include "sweep/columns.def"
#undef COLUMN
};

// ---- a point's description --------------------------------------------------------------------------
orr_gpu *orr_point_gpu(const orr_sweep_job *s, size_t point, orr_err *e) {
    const orr_grid *g = s->grid;
    const char **sets = orr_calloc((size_t)s->nsets + ORR_AXES_MAX * ORR_KEYS_MAX, sizeof *sets);
    orr_arena a = {0};
    int n = 0;
    for (; n < s->nsets; n++) sets[n] = s->sets[n];
    for (int k = 0; k < g->naxes; k++)
        if (!g->axes[k].script) n += orr_axis_sets(&g->axes[k], orr_grid_at(g, point, k), &a, &sets[n]);
    orr_gpu *gpu = orr_gpu_load(s->gpu, sets, n, e);
    free(sets);
    orr_arena_free(&a);
    return gpu;
}

uint64_t orr_point_digest(const orr_sweep_job *s, const orr_tape *t, const orr_gpu *g) {
    orr_text text = {0};
    orr_gpu_json(g, &text);
    orr_text_add(&text, "\n%s %s %016llx %016llx %016llx", s->model->name, s->version,
                 (unsigned long long)s->build, (unsigned long long)s->options,
                 (unsigned long long)orr_tape_digest(t));
    uint64_t digest = orr_hash64(text.s, text.n, 1);
    free(text.s);
    return digest;
}

// ---- one point ------------------------------------------------------------------------------------
typedef struct point_run { // a tape through the model, on one description
    const orr_sweep_job *sweep;
    const orr_tape *tape;
    const orr_gpu *gpu;
    orr_player *player;
    orr_result result;
    orr_progress progress;
} point_run;

static bool replay_launch(point_run *x, size_t item, orr_err *e) {
    const orr_tape_item *i = orr_tape_item_at(x->tape, item);
    orr_work w = {.threads = 1, .latencies = x->sweep->latencies, .progress = &x->progress};
    if (!orr_launch_possible(x->gpu, &i->info, e)) return false;
    if (!i->list) {
        w.info = i->info;
        w.source = orr_player_open(x->player, x->tape, item);
        return x->sweep->model->run(x->gpu, &w, &x->result, e);
    }
    orr_task_launch step; // what comes from memory is decided by this point's L2 and SMs
    orr_task_launch_open(&step, &w, i->list, i->step, x->gpu);
    bool ok = x->sweep->model->run(x->gpu, &w, &x->result, e);
    orr_task_launch_close(&step, &w);
    return ok;
}

static bool replay(point_run *x, orr_err *e) {
    const orr_model *m = x->sweep->model;
    bool ok = true;
    for (size_t k = 0; ok && k < orr_tape_items(x->tape); k++) {
        const orr_tape_item *i = orr_tape_item_at(x->tape, k);
        ok =
            !i->copy ? replay_launch(x, k, e) : !m->copy || m->copy(x->gpu, i->addr, i->bytes, &x->result, e);
    }
    return ok;
}

// The abstract model characterises a kernel when it first meets it and keeps that in a file: one thread block
// of each kernel is enough. What goes wrong here goes wrong again in the points, and is told there.
void orr_points_prepare(const orr_sweep_job *s, const orr_tape *t, const orr_gpu *g) {
    orr_player player = {0};
    orr_result r = {.gpu = s->gpu, .model = s->model->name, .input = s->input};
    orr_map seen = {0};
    for (size_t k = 0; s->latencies && k < orr_tape_items(t); k++) {
        const orr_tape_item *i = orr_tape_item_at(t, k);
        const orr_kernel *kernel = i->info.kernel;
        if (i->copy || i->list || !orr_map_putn(&seen, (const char *)&kernel, sizeof kernel, &seen)) continue;
        orr_err e = {0};
        orr_work w = {.info = i->info,
                      .source = orr_player_open(&player, t, k),
                      .threads = 1,
                      .latencies = s->latencies};
        player.blocks = 1;
        for (int d = 0; d < 3; d++) w.info.grid[d] = w.source->info.grid[d] = 1;
        if (orr_launch_possible(g, &w.info, &e)) s->model->run(g, &w, &r, &e);
    }
    orr_map_free(&seen);
    orr_result_free(&r);
    orr_player_free(&player);
}

// Counts add up; rates and shares are averaged with the cycles as weights.
static bool adds_up(int counter) {
    const char *name = orr_counters[counter].name;
    size_t n = strlen(name);
    return n > 4 && !strcmp(name + n - 4, ".sum");
}

static void sum_up(orr_swept_point *p) {
    orr_swept *sum = &p->total;
    double weight[ORR_COLUMNS] = {0};
    *sum = (orr_swept){.occupancy = NAN};
    for (int c = 0; c < ORR_COLUMNS; c++) sum->columns[c] = NAN;
    for (size_t k = 0; k < p->nlaunches; k++) {
        const orr_swept *l = &p->launches[k];
        double times = (double)l->times;
        sum->cycles += times * l->cycles; // NAN stays NAN
        sum->time_ns += times * l->time_ns;
        sum->blocks += l->times * l->blocks;
        sum->warp_insts += l->times * l->warp_insts;
        sum->thread_insts += l->times * l->thread_insts;
        for (int c = 0; c < ORR_COLUMNS; c++) {
            double w = times * (adds_up(orr_columns[c].counter) || isnan(l->cycles) ? 1 : l->cycles);
            if (isnan(l->columns[c])) continue;
            sum->columns[c] = (isnan(sum->columns[c]) ? 0 : sum->columns[c]) + w * l->columns[c];
            weight[c] += w;
        }
    }
    for (int c = 0; c < ORR_COLUMNS; c++)
        if (!adds_up(orr_columns[c].counter) && weight[c] > 0) sum->columns[c] /= weight[c];
    if (p->nlaunches == 1) sum->occupancy = p->launches[0].occupancy;
}

static void take_result(orr_swept_point *p, const orr_tape *t, const orr_result *r) {
    p->nlaunches = r->launches.n;
    p->launches = orr_calloc(p->nlaunches + 1, sizeof *p->launches);
    for (size_t k = 0, item = 0; k < p->nlaunches; k++, item++) { // in the tape's order
        while (orr_tape_item_at(t, item)->copy) item++;
        const orr_task_step *step = orr_tape_item_at(t, item)->step;
        const orr_launch_result *l = &r->launches.at[k];
        orr_swept *to = &p->launches[k];
        *to = (orr_swept){.kernel = orr_arena_strdup(&p->arena, l->kernel->name),
                          .times = step ? step->times : 1,
                          .index = l->index,
                          .shared = l->dynamic_shared,
                          .cycles = l->cycles,
                          .time_ns = l->time_ns,
                          .occupancy = l->occupancy,
                          .blocks = l->blocks,
                          .warp_insts = l->warp_insts,
                          .thread_insts = l->thread_insts};
        memcpy(to->grid, l->grid, sizeof to->grid);
        memcpy(to->block, l->block, sizeof to->block);
        for (int c = 0; c < ORR_COLUMNS; c++)
            to->columns[c] = l->counters ? l->counters[orr_columns[c].counter] : (double)NAN;
    }
    sum_up(p);
}

// ---- many of them -----------------------------------------------------------------------------------
typedef struct roomy { // a point whose L2 had room for everything
    size_t point, nlaunches;
    int64_t l2_size;
    orr_swept *launches;
} roomy;

typedef struct pool {
    orr_sweep_job *sweep;
    const orr_tape *tape;
    int workers, l2; // l2: the axis that is L2's size; -1: none
    size_t *todo, ntodo;
    size_t next;         // to be taken
    size_t *left, nleft; // of other processes' chains
    size_t next_left;
    bool *mine;            // taken already, of a chain that needs no more simulation
    uint8_t *chains;       // enum whose, by the number of the chain's first point
    size_t *ready, nready; // finished, in the order they did
    int ended;             // of those that simulate
    ORR_VEC(roomy) roomy;
    bool stop;
    orr_err *e;
    pthread_mutex_t lock;
    pthread_cond_t more;
} pool;

static int l2_axis(const orr_grid *g) {
    for (int k = 0; k < g->naxes; k++)
        if (!strcmp(g->axes[k].key, "l2.size")) return k;
    return -1;
}

static bool differ_in_l2(const pool *p, size_t a, size_t b) {
    const orr_grid *g = p->sweep->grid;
    for (int k = 0; k < g->naxes; k++)
        if (k != p->l2 && orr_grid_at(g, a, k) != orr_grid_at(g, b, k)) return false;
    return true;
}

// Another point has what this one would have. L2 counts in no column but by what happens in it.
static bool same_as_another(pool *p, size_t number, const orr_gpu *g) {
    orr_swept_point *to = &p->sweep->points[number];
    bool same = false;
    if (p->l2 < 0) return false;
    pthread_mutex_lock(&p->lock);
    for (size_t k = 0; k < p->roomy.n && !same; k++) {
        const roomy *r = &p->roomy.at[k];
        same = r->l2_size <= g->l2_size && differ_in_l2(p, number, r->point);
        if (!same) continue;
        to->nlaunches = r->nlaunches;
        to->launches = orr_calloc(r->nlaunches + 1, sizeof *to->launches);
        memcpy(to->launches, r->launches, r->nlaunches * sizeof *to->launches);
    }
    pthread_mutex_unlock(&p->lock);
    to->same = same;
    if (same) sum_up(to);
    return same;
}

static size_t chain_step(const pool *p) { // from point to point
    const orr_grid *g = p->sweep->grid;
    size_t step = 1;
    for (int k = p->l2 + 1; k < g->naxes; k++) step *= (size_t)g->axes[k].n;
    return step;
}

static size_t chain_of(const pool *p, size_t point) { // its first point's number
    return p->l2 < 0 ? point : point - chain_step(p) * (size_t)orr_grid_at(p->sweep->grid, point, p->l2);
}

// The rest of its chain costs nothing here, so that nobody else is to simulate it.
static void take_chain(pool *p, size_t number) {
    size_t first = chain_of(p, number), step = chain_step(p);
    for (int k = 0; k < p->sweep->grid->axes[p->l2].n; k++) {
        size_t point = first + step * (size_t)k;
        bool mine = orr_share_take(p->sweep->share, p->sweep->points[point].digest);
        pthread_mutex_lock(&p->lock);
        p->mine[point] = p->mine[point] || mine;
        pthread_mutex_unlock(&p->lock);
    }
}

static void remember(pool *p, size_t number, const orr_gpu *g) {
    const orr_swept_point *of = &p->sweep->points[number];
    if (p->l2 < 0) return;
    roomy r = {.point = number, .nlaunches = of->nlaunches, .l2_size = g->l2_size};
    r.launches = orr_calloc(r.nlaunches + 1, sizeof *r.launches);
    memcpy(r.launches, of->launches, r.nlaunches * sizeof *r.launches);
    pthread_mutex_lock(&p->lock);
    *ORR_PUSH(&p->roomy) = r;
    pthread_mutex_unlock(&p->lock);
    if (p->sweep->share) take_chain(p, number);
}

// False: it was stopped, and is still to do.
static bool run_point(pool *all, size_t number, orr_player *player) {
    orr_sweep_job *s = all->sweep;
    orr_swept_point *p = &s->points[number];
    orr_err e = {0};
    double start = orr_seconds();
    orr_gpu *g = orr_point_gpu(s, number, &e);
    point_run x = {.sweep = s, .tape = all->tape, .gpu = g, .player = player};
    x.result = (orr_result){.gpu = s->gpu, .model = s->model->name, .input = s->input};
    orr_progress_beside(&x.progress, s->progress);
    bool ok = g != NULL;
    if (ok && !same_as_another(all, number, g)) {
        ok = replay(&x, &e);
        if (ok) take_result(p, all->tape, &x.result);
        if (ok && x.result.l2_roomy) remember(all, number, g);
    }
    orr_progress_beside_end(&x.progress);
    orr_result_free(&x.result);
    orr_gpu_free(g);
    if (e.status == ORR_STOPPED) return false;
    if (!ok) p->message = orr_arena_strdup(&p->arena, e.text);
    p->seconds = orr_seconds() - start;
    p->state = ok ? ORR_POINT_DONE : ORR_POINT_FAILED;
    return true;
}

enum whose { NOBODYS, MINE, OTHERS };

// The next point of this process, if there is one.
static bool take_point(pool *p, size_t *k) {
    const orr_share *share = p->sweep->share;
    for (;;) {
        pthread_mutex_lock(&p->lock);
        bool first = p->next < p->ntodo, go = !p->stop && (first || p->next_left < p->nleft);
        if (go) *k = first ? p->todo[p->next++] : p->left[p->next_left++];
        uint8_t *chain = go && share ? &p->chains[chain_of(p, *k)] : NULL;
        bool taken = go && p->mine[*k], later = first && chain && *chain == OTHERS && !taken;
        if (later) p->left[p->nleft++] = *k;
        pthread_mutex_unlock(&p->lock);
        if (!go || !share || taken) return go;
        if (later) continue;
        bool mine = orr_share_take(share, p->sweep->points[*k].digest);
        pthread_mutex_lock(&p->lock);
        if (*chain == NOBODYS) *chain = mine ? MINE : OTHERS;
        pthread_mutex_unlock(&p->lock);
        if (mine) return true;
    }
}

static void simulate(pool *p) {
    orr_player player = {0};
    for (size_t k; take_point(p, &k);) {
        bool done = run_point(p, k, &player);
        pthread_mutex_lock(&p->lock);
        if (done) p->ready[p->nready++] = k;
        p->stop |= !done;
        pthread_cond_signal(&p->more);
        pthread_mutex_unlock(&p->lock);
    }
    pthread_mutex_lock(&p->lock);
    p->ended++;
    pthread_cond_signal(&p->more);
    pthread_mutex_unlock(&p->lock);
    orr_player_free(&player);
}

static void hand_on(pool *p) {
    for (size_t k = 0;; k++) {
        pthread_mutex_lock(&p->lock);
        while (k == p->nready && p->ended < p->workers) pthread_cond_wait(&p->more, &p->lock);
        bool more = k < p->nready;
        size_t point = more ? p->ready[k] : 0;
        pthread_mutex_unlock(&p->lock);
        if (!more) return;
        if (p->sweep->finished(p->sweep->arg, point, p->e)) continue;
        pthread_mutex_lock(&p->lock);
        p->stop = true; // what cannot be kept is not worth simulating
        pthread_mutex_unlock(&p->lock);
        return;
    }
}

// The one that hands on is the last, so that a system that gives no threads still goes through all of it:
// worker 0 is the caller and does every point, and those that could not be started come after it.
static void work(void *arg, int worker) {
    pool *p = arg;
    if (worker < p->workers)
        simulate(p);
    else
        hand_on(p);
}

// The smaller an L2, the earlier its point: those with larger ones may be the same.
typedef struct sized {
    int64_t l2_size;
    size_t point;
} sized;
static int by_size(const void *a, const void *b) {
    const sized *x = a, *y = b;
    if (x->l2_size != y->l2_size) return x->l2_size < y->l2_size ? -1 : 1;
    return x->point < y->point ? -1 : x->point > y->point;
}
static void small_first(pool *p) {
    const orr_grid *grid = p->sweep->grid;
    if (p->l2 < 0) return;
    int64_t *size = orr_calloc((size_t)grid->axes[p->l2].n, sizeof *size); // by value; 0: not known yet
    sized *all = orr_calloc(p->ntodo + 1, sizeof *all);
    for (size_t k = 0; k < p->ntodo; k++) {
        int64_t *of = &size[orr_grid_at(grid, p->todo[k], p->l2)];
        orr_err e = {0};
        orr_gpu *g = *of ? NULL : orr_point_gpu(p->sweep, p->todo[k], &e); // it says so when it has its turn
        if (g) *of = g->l2_size;
        orr_gpu_free(g);
        all[k] = (sized){*of, p->todo[k]};
    }
    qsort(all, p->ntodo, sizeof *all, by_size);
    for (size_t k = 0; k < p->ntodo; k++) p->todo[k] = all[k].point;
    free(all);
    free(size);
}

bool orr_points_run(orr_sweep_job *s, const orr_tape *t, size_t first, size_t n, orr_err *e) {
    pool p = {.sweep = s, .tape = t, .e = e};
    p.todo = orr_calloc(n + 1, sizeof *p.todo);
    p.ready = orr_calloc(n + 1, sizeof *p.ready);
    p.left = orr_calloc(n + 1, sizeof *p.left);
    p.chains = orr_calloc(s->grid->npoints + 1, sizeof *p.chains);
    p.mine = orr_calloc(s->grid->npoints + 1, sizeof *p.mine);
    for (size_t k = first; k < first + n; k++)
        if (s->points[k].state == ORR_POINT_TO_DO && (!s->shards || k % s->shards == s->shard))
            p.todo[p.ntodo++] = k;
    p.l2 = l2_axis(s->grid);
    small_first(&p);
    p.workers = s->threads < 1 ? 1 : s->threads;
    if ((size_t)p.workers > p.ntodo) p.workers = (int)p.ntodo;
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.more, NULL);
    if (p.ntodo) orr_parallel(p.workers + 1, work, &p);
    pthread_mutex_destroy(&p.lock);
    pthread_cond_destroy(&p.more);
    for (size_t k = 0; k < p.roomy.n; k++) free(p.roomy.at[k].launches);
    free(p.roomy.at);
    free(p.todo);
    free(p.ready);
    free(p.left);
    free(p.chains);
    free(p.mine);
    if (p.stop) orr_progress_go(s->progress, e);
    return !p.stop;
}

void orr_sweep_free(orr_sweep_job *s) {
    for (size_t k = 0; s->points && k < s->grid->npoints; k++) {
        free(s->points[k].launches);
        orr_arena_free(&s->points[k].arena);
    }
    free(s->points);
    s->points = NULL;
}
