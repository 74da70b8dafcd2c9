// The trials of an explanation: the run as it is, each ideal alone, and pairs (explain.h).
//
// Trials are independent of each other and share the tape, which is only read: each is on one host thread,
// several run at once, and the digits do not depend on how many.
//
// Pairs: of the ideals that are worth most, and of those that a long wait or a busy resource spoke for, every
// two. Two hide each other when both together are worth clearly more than the sum of each alone.
#include "explain/explain.h"
#include "input/input.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PAIRED 4 // ideals that are also tried two by two

double orr_trial_gain(const orr_explanation *x, const orr_trial *t) {
    double base = x->trials.at[0].time_ns;
    return t->failed || !(base > 0) ? 0 : 1 - t->time_ns / base;
}

// ---- a trial's GPU and streams --------------------------------------------------------------------
static orr_gpu *gpu_of(const orr_explanation *x, const orr_trial *t, orr_err *e) {
    const char **sets = orr_calloc((size_t)x->nsets + 2 * ORR_IDEAL_SETS, sizeof *sets);
    const int which[] = {t->first, t->second};
    int n = 0;
    for (; n < x->nsets; n++) sets[n] = x->sets[n];
    for (int w = 0; w < 2; w++)
        for (int k = 0; which[w] >= 0 && k < x->ideals.at[which[w]].nsets; k++)
            sets[n++] = x->ideals.at[which[w]].sets[k];
    orr_gpu *g = orr_gpu_load(x->gpu, sets, n, e);
    free(sets);
    return g;
}

// Does the instruction make the accesses that the ideal is about? With more results a thread all that is
// loaded for them is loaded less often, and tiles are filled less often.
static bool concerns(const orr_ideal *i, const orr_kernel *k, const orr_inst *inst) {
    const orr_line_use *u = i->use;
    enum orr_access_kind kind = orr_inst_access(inst);
    if (i->access == ORR_ACCESS_QUARTER)
        return u->kernel == k &&
               (kind == ORR_ACCESS_LOADS || (kind == ORR_ACCESS_STORES && inst->space == ORR_SPACE_SHARED));
    const char *file;
    uint32_t line = orr_inst_line(k, inst, &file);
    bool global = inst->space == ORR_SPACE_GLOBAL || inst->space == ORR_SPACE_GENERIC;
    if (u->kernel != k || orr_inst_access(inst) != u->kind) return false;
    if (!u->also && (line != u->line || (file != NULL) != (u->file != NULL))) return false;
    if (!u->also && file && strcmp(file, u->file) != 0) return false;
    return u->space == ORR_SPACE_GLOBAL ? global : inst->space == ORR_SPACE_SHARED;
}

// The kernel as the trial's ideals have it. False: they do not concern it.
static bool ideal_kernel(const orr_explanation *x, const orr_trial *t, const orr_kernel *k, orr_arena *a,
                         orr_ideal_kernel *to) {
    const int which[] = {t->first, t->second};
    bool any = false;
    for (int w = 0; w < 2; w++) {
        const orr_ideal *i = which[w] >= 0 ? &x->ideals.at[which[w]] : NULL;
        if (!i || !i->use || i->use->kernel != k) continue;
        if (!any) {
            *to = (orr_ideal_kernel){.kernel = k, .ninsts = k->ninsts};
            to->how = orr_arena_alloc(a, k->ninsts + 1);
            to->group = orr_arena_alloc(a, (k->ninsts + 1) * sizeof *to->group);
            memset(to->how, ORR_ACCESS_AS_IS, k->ninsts);
        }
        any = true;
        for (uint32_t n = 0; n < k->ninsts; n++) {
            to->group[n] = orr_line_group(k, &k->insts[n]);
            if (concerns(i, k, &k->insts[n])) to->how[n] = (uint8_t)i->access;
        }
    }
    return any;
}

// ---- replaying ------------------------------------------------------------------------------------
typedef struct player { // a host thread's
    orr_player tape;
    orr_ideal_stream *stream;
    orr_progress progress; // of the trial
    const orr_trial *trial;
    const orr_gpu *gpu; // as the trial has it
} player;

static bool replay_launch(const orr_explanation *x, player *p, size_t item, orr_result *r, orr_err *e) {
    const orr_gpu *g = p->gpu;
    const orr_tape_item *i = orr_tape_item_at(x->tape, item);
    orr_work w = {.threads = 1, .progress = &p->progress};
    if (!orr_launch_possible(g, &i->info, e)) return false;
    if (i->list) {
        orr_task_launch step;
        orr_task_launch_open(&step, &w, i->list, i->step, g);
        bool ok = x->timed_by->run(g, &w, r, e);
        orr_task_launch_close(&step, &w);
        return ok;
    }
    orr_ideal_kernel ideal;
    w.info = i->info;
    w.source = orr_player_open(&p->tape, x->tape, item);
    if (ideal_kernel(x, p->trial, i->info.kernel, &r->arena, &ideal))
        w.source = orr_ideal_stream_open(p->stream, w.source, &ideal);
    return x->timed_by->run(g, &w, r, e);
}

static bool replay(const orr_explanation *x, player *p, orr_result *r, orr_err *e) {
    bool ok = true;
    for (size_t k = 0; ok && k < orr_tape_items(x->tape); k++) {
        const orr_tape_item *i = orr_tape_item_at(x->tape, k);
        if (!i->copy)
            ok = replay_launch(x, p, k, r, e);
        else if (x->timed_by->copy)
            ok = x->timed_by->copy(p->gpu, i->addr, i->bytes, r, e);
    }
    return ok;
}

// ---- what a trial keeps -----------------------------------------------------------------------------
static void keep_lines(orr_trial_kernel *to, const orr_cost *c) {
    double running = to->cycles - to->overhead;
    to->nlines = c->nlines;
    to->lines = orr_calloc(c->nlines + 1, sizeof *to->lines);
    for (size_t k = 0; k < c->nlines; k++) {
        const orr_place_cost *p = &c->lines[k];
        orr_trial_line *l = &to->lines[k];
        *l = (orr_trial_line){.file = p->file, .line = p->line};
        l->cycles = to->warp_cycles ? running * (double)p->cycles / (double)to->warp_cycles : 0;
        memcpy(l->stalls, p->stalls, sizeof l->stalls);
    }
}

static void keep(orr_trial *t, const orr_gpu *g, const orr_costs *costs, const orr_result *r) {
    t->cycles = t->time_ns = 0;
    for (size_t k = 0; k < r->launches.n; k++) {
        t->cycles += r->launches.at[k].cycles;
        t->time_ns += r->launches.at[k].time_ns;
    }
    t->nkernels = costs->n;
    t->kernels = orr_calloc(costs->n + 1, sizeof *t->kernels);
    for (size_t k = 0; k < costs->n; k++) {
        const orr_cost *c = costs->at[k];
        orr_trial_kernel *to = &t->kernels[k];
        orr_verdict v;
        to->kernel = c->first->kernel;
        to->name = to->kernel->name;
        to->cycles = c->sum.cycles;
        to->time_ns = c->sum.time_ns;
        to->overhead = (double)c->timing.overhead;
        to->warp_cycles = c->timing.warp_cycles;
        memcpy(to->stalls, c->timing.stalls, sizeof to->stalls);
        if (orr_judge(g, &c->sum, &v)) snprintf(to->verdict, sizeof to->verdict, "%s", v.text);
        keep_lines(to, c);
    }
}

static void run_trial(orr_explanation *x, size_t number, player *p) {
    orr_trial *t = &x->trials.at[number];
    orr_err e = {0};
    double start = orr_seconds();
    orr_gpu *g = gpu_of(x, t, &e);
    orr_result r = {.gpu = x->gpu, .model = x->model, .input = x->input};
    orr_costs costs;
    orr_progress_beside(&p->progress, x->progress);
    p->trial = t;
    p->gpu = g;
    t->failed = !g || !replay(x, p, &r, &e);
    orr_progress_beside_end(&p->progress);
    t->stopped = e.status == ORR_STOPPED;
    orr_costs_make(&r, true, &costs);
    if (!t->failed) keep(t, g, &costs, &r);
    if (!t->failed && !number) orr_ideals_choose(x, g, &costs); // the run as it is, alone
    if (t->failed) snprintf(t->message, sizeof t->message, "%s", e.text);
    orr_costs_free(&costs);
    orr_result_free(&r);
    orr_gpu_free(g);
    t->seconds = orr_seconds() - start;
}

// ---- many of them -------------------------------------------------------------------------------------
typedef struct pool {
    orr_explanation *x;
    size_t next, done, end;
    bool stop;
    pthread_mutex_t lock;
} pool;

static void work(void *arg, int worker) {
    pool *p = arg;
    player mine = {.stream = orr_ideal_stream_new()};
    orr_err stopped = {0};
    (void)worker;
    for (;;) {
        pthread_mutex_lock(&p->lock);
        if (!orr_progress_go(p->x->progress, &stopped)) p->stop = true;
        bool go = !p->stop && p->next < p->end;
        size_t k = go ? p->next++ : 0;
        pthread_mutex_unlock(&p->lock);
        if (!go) break;
        run_trial(p->x, k, &mine);
        pthread_mutex_lock(&p->lock);
        orr_progress_step(p->x->progress, ++p->done);
        pthread_mutex_unlock(&p->lock);
    }
    orr_ideal_stream_free(mine.stream);
    orr_player_free(&mine.tape);
}

static bool run_trials(orr_explanation *x, size_t first, orr_err *e) {
    pool p = {.x = x, .next = first, .done = first, .end = x->trials.n};
    size_t n = p.end - p.next, threads = x->threads < 1 ? 1 : (size_t)x->threads;
    pthread_mutex_init(&p.lock, NULL);
    if (n) orr_parallel((int)(threads < n ? threads : n), work, &p);
    pthread_mutex_destroy(&p.lock);
    for (size_t k = p.next; p.stop && k < p.end; k++) x->trials.at[k].failed = x->trials.at[k].stopped = true;
    for (size_t k = first; k < p.end; k++) {
        orr_trial *t = &x->trials.at[k];
        if (t->stopped) snprintf(t->message, sizeof t->message, "stopped before it was tried");
        x->stopped |= t->stopped;
    }
    return !p.stop || orr_progress_go(x->progress, e);
}

// ---- pairs ----------------------------------------------------------------------------------------------
typedef struct ranked {
    double gain;
    int ideal;
} ranked;
static int by_gain(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->gain != y->gain) return x->gain < y->gain ? 1 : -1;
    return x->ideal < y->ideal ? -1 : 1;
}

// Two ideals of one line's accesses cannot both be; what a launch costs comes before everything else.
static bool go_together(const orr_ideal *a, const orr_ideal *b) {
    if (!strcmp(a->name, "launch") || !strcmp(b->name, "launch")) return false;
    if (!a->use || !b->use || a->use->kernel != b->use->kernel) return true;
    return a->use != b->use && !a->use->also && !b->use->also;
}

static void add_pairs(orr_explanation *x) {
    ranked *all = orr_calloc(x->ideals.n + 1, sizeof *all);
    for (size_t k = 0; k < x->ideals.n; k++)
        all[k] = (ranked){orr_trial_gain(x, &x->trials.at[k + 1]), (int)k};
    qsort(all, x->ideals.n, sizeof *all, by_gain);
    size_t n = x->ideals.n < PAIRED ? x->ideals.n : PAIRED;
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            if (!go_together(&x->ideals.at[all[a].ideal], &x->ideals.at[all[b].ideal])) continue;
            *ORR_PUSH(&x->trials) = (orr_trial){.first = all[a].ideal, .second = all[b].ideal};
            x->npairs++;
        }
    free(all);
}

bool orr_explain_tape(orr_explanation *x, orr_err *e) {
    double start = orr_seconds();
    if (!orr_line_uses_make(x->tape, &x->uses, e)) return false;
    *ORR_PUSH(&x->trials) = (orr_trial){.first = -1, .second = -1};
    orr_progress_parts(x->progress, orr_tape_blocks(x->tape));
    bool ok = run_trials(x, 0, e);
    const orr_trial *base = &x->trials.at[0];
    if (base->failed) return ok && orr_fail(e, ORR_BAD_INPUT, "%s", base->message);
    if (!base->nkernels)
        return orr_fail(e, ORR_BAD_INPUT, "explain: --model %s does not say where time goes; take cycle",
                        x->timed_by->name);
    for (size_t k = 0; k < x->ideals.n; k++)
        *ORR_PUSH(&x->trials) = (orr_trial){.first = (int)k, .second = -1};
    x->progress->total = x->trials.n; // pairs come later
    if (!run_trials(x, 1, e)) return false;
    size_t first = x->trials.n;
    add_pairs(x);
    x->progress->total = x->trials.n;
    ok = run_trials(x, first, e);
    x->seconds = orr_seconds() - start;
    return ok;
}

void orr_explanation_free(orr_explanation *x) {
    for (size_t k = 0; k < x->trials.n; k++) {
        orr_trial *t = &x->trials.at[k];
        for (size_t n = 0; n < t->nkernels; n++) free(t->kernels[n].lines);
        free(t->kernels);
    }
    free(x->trials.at);
    free(x->ideals.at);
    free(x->uses.at);
    orr_arena_free(&x->arena);
}
