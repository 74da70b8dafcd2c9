// Launches that may run at the same time, by a model that knows of one launch only.
//
// Each launch is run by itself first: that says how long it takes with the GPU to itself, how much of the
// SMs' room its blocks take, and what part it uses of issue and pipes, L1, L2 and memory. Then time goes from
// one start or end to the next, and in between
//
//   room       launches are served by priority, then as they came: each has the room that it asks for, or
//   what
//              those before leave. A grid of 2.5 waves asks for all of it in the first two of three rounds,
//              for half of it in the third. With a part of its room a launch goes that part as fast.
//   resources  of each resource the launches together ask for the sum of what each would use at that pace.
//   Where
//              the sum is above 1, all of them go slower by the largest such sum.
//
// Launch overhead is part of a launch and passes at its own pace.
//
// Of a launch that may start before the one ahead of it has ended (programmatic launch) the overhead passes
// beside that one; its blocks begin launch.early_wait after that one's end, as if they waited for it at once.
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESOURCES = 4 };

typedef struct share {
    orr_member *m;
    bool known;      // it has been run by itself
    double alone;    // ns
    double overhead; // of them, ns: before its first block
    double waves;    // of thread blocks
    double uses[RESOURCES];
    double done;               // 0 to 1
    double begun;              // ns: it has had room from then on; INFINITY: not yet
    const struct share *after; // the launch that it may start beside; NULL: there is none
    double wait;               // ns: launch.early_wait
} share;

static bool run_alone(const orr_model *model, const orr_gpu *gpu, share *s, orr_result *r, orr_err *e) {
    orr_member *m = s->m;
    if (s->known) return true;
    if (!m->timed && !model->run(gpu, &m->work, r, e)) return false;
    static const enum orr_counter of[RESOURCES] = {ORR_C_SM_PCT, ORR_C_L1_PCT, ORR_C_L2_PCT, ORR_C_DRAM_PCT};
    if (!m->timed) m->result = r->launches.n - 1;
    const orr_launch_result *l = &r->launches.at[m->result];
    s->known = true;
    s->alone = l->time_ns > 0 ? l->time_ns : 0; // a model without time: NAN
    s->overhead = gpu ? gpu->launch_overhead * 1e3 / gpu->clock_sm : 0;
    if (s->overhead > s->alone) s->overhead = s->alone;
    double warps = gpu ? gpu->limit_sm_warps * l->occupancy : 0,
           per_block = ceil((double)l->block[0] * l->block[1] * l->block[2] / 32);
    double room = gpu ? floor(warps / per_block + 0.5) * gpu->sm_count : 0;
    s->waves = room > 0 ? (double)l->blocks / room : 1;
    for (int k = 0; k < RESOURCES; k++) {
        double used = l->counters ? l->counters[of[k]] / 100 : 0;
        s->uses[k] = used >= 0 && used <= 1 ? used : 0;
    }
    for (int i = 0; l->limits && i < l->limits->nparts; i++) { // the analytic model's
        const char *name = l->limits->part[i].name;
        int k = !strcmp(name, "dram") ? 3 : !strcmp(name, "l2") ? 2 : !strcmp(name, "l1") ? 1 : 0;
        double used = l->cycles > 0 ? l->limits->part[i].cycles / l->cycles : 0;
        if (used > s->uses[k] && used <= 1) s->uses[k] = used;
    }
    return true;
}

// How much of it is done when its last round begins; 1: all its rounds are alike.
static double last_round(const share *s) {
    double rounds = ceil(s->waves), whole = floor(s->waves);
    return s->waves <= 1 || whole == rounds ? 1 : whole / rounds;
}
static bool in_last_round(const share *s) { return s->done > last_round(s) - 1e-9; }

// The part of the GPU's room that it asks for now.
static double asks(const share *s) {
    if (s->waves <= 1) return s->waves;
    return in_last_round(s) ? s->waves - floor(s->waves) : 1;
}

// When its first block can begin; INFINITY: not known yet.
static double starts(const share *s) {
    double t = s->m->launched + s->overhead;
    if (!s->after) return t;
    return s->after->m->ran ? fmax(t, s->after->m->end + s->wait) : INFINITY;
}

static bool before(const share *a, const share *b) {
    if (a->m->priority != b->m->priority) return a->m->priority < b->m->priority;
    return a->m->launched != b->m->launched ? a->m->launched < b->m->launched : a->m < b->m;
}

// The pace of each launch, of that which it has alone: pace[n]. Of those that are before their first block 0.
static void paces(const share *s, uint32_t n, double now, double *pace) {
    double left = 1, sum[RESOURCES] = {0}, slowest = 1;
    for (uint32_t i = 0; i < n; i++) pace[i] = -1;
    for (;;) {
        uint32_t next = n;
        for (uint32_t i = 0; i < n; i++) {
            bool runs = s[i].known && !s[i].m->ran && starts(&s[i]) <= now && pace[i] < 0;
            if (runs && (next == n || before(&s[i], &s[next]))) next = i;
        }
        if (next == n) break;
        double want = asks(&s[next]), has = want < left ? want : left;
        left -= has;
        pace[next] = want > 0 ? has / want : 1;
        for (int k = 0; k < RESOURCES; k++) sum[k] += s[next].uses[k] * pace[next];
    }
    for (int k = 0; k < RESOURCES; k++)
        if (sum[k] > slowest) slowest = sum[k];
    for (uint32_t i = 0; i < n; i++) pace[i] = pace[i] < 0 ? 0 : pace[i] / slowest;
}

// When something changes: a launch comes to its first block, ends, or comes to its last round.
static double next_change(const share *s, uint32_t n, double now, const double *pace) {
    double t = INFINITY;
    for (uint32_t i = 0; i < n; i++) {
        const orr_member *m = s[i].m;
        if (m->ran || !isfinite(m->launched)) continue;
        double start = starts(&s[i]), body = s[i].alone - s[i].overhead;
        if (m->launched > now) start = m->launched; // it is run by itself then
        if (start > now) {
            t = fmin(t, start);
            continue;
        }
        if (pace[i] <= 0) continue;
        double to = in_last_round(&s[i]) ? 1 : last_round(&s[i]);
        t = fmin(t, now + (to - s[i].done) * body / pace[i]);
    }
    return t;
}

static bool running(const share *s, uint32_t n, double now) {
    for (uint32_t i = 0; i < n; i++)
        if (!s[i].m->ran && s[i].m->launched <= now) return true;
    return false;
}

static void advance(orr_launch_group *g, share *s, const double *pace, double from, double to) {
    for (uint32_t i = 0; i < g->n; i++) {
        double body = s[i].alone - s[i].overhead, start = starts(&s[i]);
        if (!s[i].known || s[i].m->ran || start > from) continue;
        if (pace[i] > 0 && s[i].begun > from) s[i].begun = from;
        s[i].done += body > 0 ? (to - from) * pace[i] / body : 1;
        if (s[i].done < 1 - 1e-9) continue;
        s[i].m->ran = true;
        double own = s[i].after ? 0 : s[i].overhead;
        s[i].m->from = fmax(s[i].m->launched, fmin(s[i].begun, to) - own);
        s[i].m->end = to;
    }
}

static bool share_gpu(const orr_model *model, const orr_gpu *gpu, orr_launch_group *g, share *s,
                      orr_result *r, orr_err *e) {
    double now = 0, *pace = orr_calloc(g->n + 1, sizeof *pace);
    bool *told = orr_calloc(g->n + 1, sizeof *told);
    bool ok = true;
    while (ok && running(s, g->n, now)) {
        for (uint32_t i = 0; i < g->n && ok; i++)
            if (s[i].m->launched <= now) ok = run_alone(model, gpu, &s[i], r, e);
        paces(s, g->n, now, pace);
        double then = next_change(s, g->n, now, pace);
        if (!ok || !isfinite(then)) break;
        advance(g, s, pace, now, then);
        now = then;
        for (uint32_t i = 0; i < g->n; i++)
            if (s[i].m->ran && !told[i]) {
                told[i] = true;
                if (g->ended) g->ended(g, s[i].m);
            }
    }
    free(told);
    free(pace);
    return ok;
}

bool orr_group_run(const orr_model *model, const orr_gpu *gpu, orr_launch_group *g, orr_result *r,
                   orr_err *e) {
    if (model->run_group) return model->run_group(gpu, g, r, e);
    share *s = orr_calloc(g->n + 1, sizeof *s);
    for (uint32_t i = 0; i < g->n; i++)
        s[i] = (share){.m = &g->at[i],
                       .begun = INFINITY,
                       .after = g->at[i].after ? &s[g->at[i].after - 1] : NULL,
                       .wait = gpu ? gpu->launch_early_wait * 1e3 / gpu->clock_sm : 0};
    bool ok = share_gpu(model, gpu, g, s, r, e);
    free(s);
    return ok;
}
