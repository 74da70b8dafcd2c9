// The points of a sweep: each replays the tape through the model, on one host thread; many run at once.
//
// Points share the tape and its kernels, which nobody writes to, and nothing else, so a point has the same
// digits whatever runs beside it. One more thread takes the finished ones and hands them on, so that the file
// is written by one thread and those that simulate never wait for the disk.
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
orr_gpu *orr_point_gpu(const orr_sweep *s, size_t point, orr_err *e) {
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

uint64_t orr_point_digest(const orr_sweep *s, const orr_tape *t, const orr_gpu *g) {
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
// Whether the launch could be made there at all, as for a direct run.
static bool can_launch(const orr_gpu *g, const orr_launch_info *i, orr_err *e) {
    orr_launch l = {.kernel = i->kernel, .dynamic_shared = i->dynamic_shared, .index = i->index};
    memcpy(l.grid, i->grid, sizeof l.grid);
    memcpy(l.block, i->block, sizeof l.block);
    return orr_launch_check(&l, (uint32_t)g->shared_per_block_optin, e); // never less than shared_per_block
}

static bool replay_launch(const orr_sweep *s, const orr_tape *t, size_t item, const orr_gpu *g,
                          orr_player *player, orr_result *r, orr_err *e) {
    orr_work w = {.info = orr_tape_item_at(t, item)->info,
                  .source = orr_player_open(player, t, item),
                  .threads = 1,
                  .latencies = s->latencies};
    return s->model->run(g, &w, r, e);
}

static void keep(orr_source *s) { (void)s; } // some models close what they are given

// As `orrery run` has it: what comes from memory is decided by this point's L2 and SMs.
static bool replay_tasks(const orr_sweep *s, const orr_tape_item *i, const orr_gpu *g, orr_result *r,
                         orr_err *e) {
    float *far = orr_calloc(i->info.kernel->ninsts + 1, sizeof *far);
    uint64_t blocks = (uint64_t)i->info.grid[0] * i->info.grid[1] * i->info.grid[2],
             sms = (uint64_t)g->sm_count;
    orr_tasks_far(i->list, i->step, (uint64_t)g->l2_size, blocks < sms ? blocks : sms, far);
    orr_work w = {.info = i->info,
                  .source = orr_tasks_source(i->list, i->step),
                  .threads = 1,
                  .far = far,
                  .latencies = s->latencies};
    void (*close)(orr_source *) = w.source->close;
    w.source->close = keep;
    bool ok = s->model->run(g, &w, r, e);
    close(w.source);
    free(far);
    return ok;
}

static bool replay(const orr_sweep *s, const orr_tape *t, const orr_gpu *g, orr_player *player, orr_result *r,
                   orr_err *e) {
    bool ok = true;
    for (size_t k = 0; ok && k < orr_tape_items(t); k++) {
        const orr_tape_item *i = orr_tape_item_at(t, k);
        if (i->copy) {
            ok = !s->model->copy || s->model->copy(g, i->addr, i->bytes, r, e);
            continue;
        }
        ok = can_launch(g, &i->info, e) &&
             (i->list ? replay_tasks(s, i, g, r, e) : replay_launch(s, t, k, g, player, r, e));
    }
    return ok;
}

// The abstract model characterises a kernel when it first meets it and keeps that in a file: one thread block
// of each kernel is enough. What goes wrong here goes wrong again in the points, and is told there.
void orr_points_prepare(const orr_sweep *s, const orr_tape *t, const orr_gpu *g) {
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
        if (can_launch(g, &w.info, &e)) s->model->run(g, &w, &r, &e);
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

static void run_point(orr_sweep *s, const orr_tape *t, size_t number, orr_player *player) {
    orr_swept_point *p = &s->points[number];
    orr_result r = {.gpu = s->gpu, .model = s->model->name, .input = s->input};
    orr_err e = {0};
    double start = orr_seconds();
    orr_gpu *g = orr_point_gpu(s, number, &e);
    bool ok = g && replay(s, t, g, player, &r, &e);
    if (ok)
        take_result(p, t, &r);
    else
        p->message = orr_arena_strdup(&p->arena, e.text);
    orr_result_free(&r);
    orr_gpu_free(g);
    p->seconds = orr_seconds() - start;
    p->state = ok ? ORR_POINT_DONE : ORR_POINT_FAILED;
}

// ---- many of them -----------------------------------------------------------------------------------
typedef struct pool {
    orr_sweep *sweep;
    const orr_tape *tape;
    int workers;
    size_t *todo, ntodo;
    size_t next;           // to be taken
    size_t *ready, nready; // finished, in the order they did
    orr_point_finished *finished;
    void *arg;
    bool stop;
    orr_err *e;
    pthread_mutex_t lock;
    pthread_cond_t more;
} pool;

static void simulate(pool *p) {
    orr_player player = {0};
    for (;;) {
        pthread_mutex_lock(&p->lock);
        bool go = !p->stop && p->next < p->ntodo;
        size_t k = go ? p->todo[p->next++] : 0;
        pthread_mutex_unlock(&p->lock);
        if (!go) break;
        run_point(p->sweep, p->tape, k, &player);
        pthread_mutex_lock(&p->lock);
        p->ready[p->nready++] = k;
        pthread_cond_signal(&p->more);
        pthread_mutex_unlock(&p->lock);
    }
    orr_player_free(&player);
}

static void hand_on(pool *p) {
    for (size_t k = 0; k < p->ntodo; k++) {
        pthread_mutex_lock(&p->lock);
        while (k == p->nready) pthread_cond_wait(&p->more, &p->lock);
        size_t point = p->ready[k];
        pthread_mutex_unlock(&p->lock);
        if (p->finished(p->arg, point, p->e)) continue;
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

bool orr_points_run(orr_sweep *s, const orr_tape *t, size_t first, size_t n, int threads,
                    orr_point_finished *finished, void *arg, orr_err *e) {
    pool p = {.sweep = s, .tape = t, .finished = finished, .arg = arg, .e = e};
    p.todo = orr_calloc(n + 1, sizeof *p.todo);
    p.ready = orr_calloc(n + 1, sizeof *p.ready);
    for (size_t k = first; k < first + n; k++)
        if (s->points[k].state == ORR_POINT_TO_DO) p.todo[p.ntodo++] = k;
    p.workers = threads < 1 ? 1 : threads;
    if ((size_t)p.workers > p.ntodo) p.workers = (int)p.ntodo;
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.more, NULL);
    if (p.ntodo) orr_parallel(p.workers + 1, work, &p);
    pthread_mutex_destroy(&p.lock);
    pthread_cond_destroy(&p.more);
    free(p.todo);
    free(p.ready);
    return !p.stop;
}

void orr_sweep_free(orr_sweep *s) {
    for (size_t k = 0; s->points && k < s->grid->npoints; k++) {
        free(s->points[k].launches);
        orr_arena_free(&s->points[k].arena);
    }
    free(s->points);
    s->points = NULL;
}
