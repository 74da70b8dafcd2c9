// The list of models, and what all of them do the same way: the shape of a launch in a result.
#include "isa/observable.h"
#include "model/model.h"
#include "program/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const orr_counter_info orr_counters[ORR_COUNTERS] = {
#define COUNTER(id, name, unit, meaning) {name, unit, meaning},
#include "model/counters.def"
#undef COUNTER
};

const orr_stall_info orr_stalls[ORR_STALLS] = {
#define STALL(id, name, metric, meaning) {name, metric, meaning},
#include "core/stalls.def"
#undef STALL
};

const orr_model *const orr_models[] = {&orr_model_functional, &orr_model_cycle,   &orr_model_analytic,
                                       &orr_model_abstract,   &orr_model_partial, NULL};

const orr_model *orr_model_find(const char *name, orr_err *e) {
    char names[200] = "";
    for (int i = 0; orr_models[i]; i++) {
        if (!strcmp(orr_models[i]->name, name)) return orr_models[i];
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", orr_models[i]->name);
    }
    orr_fail(e, ORR_BAD_INPUT, "there is no model \"%s\"; there is: %s", name, names);
    return NULL;
}

// A file's source stays the file's: closing it here does nothing.
orr_source *orr_work_open(const orr_work *w, orr_exec_counts *counts, orr_err *e) {
    if (!w->launch) return w->source;
    orr_source *s = orr_exec_source(w->launch, counts, e);
    return s && w->rewritten ? orr_rewritten_source(w->rewritten, s) : s;
}

const orr_work *orr_work_rewritten(const orr_work *w, orr_work *own, orr_result *r) {
    const orr_kernel *k = w->info.kernel;
    if (k->machine || w->far || w->rewritten) return w;
    struct orr_rewrote *x = NULL;
    for (size_t n = 0; n < r->rewrites.n && !x; n++)
        if (r->rewrites.at[n].kernel == k) x = &r->rewrites.at[n];
    if (!x) {
        x = ORR_PUSH(&r->rewrites);
        *x = (struct orr_rewrote){k, orr_rewrite(k)};
    }
    if (!x->rewritten) return w;
    *own = *w;
    own->rewritten = x->rewritten;
    own->info.kernel = orr_rewritten_kernel(x->rewritten);
    if (!w->launch && w->source) own->source = orr_rewritten_source(x->rewritten, w->source);
    return own;
}

uint32_t orr_launch_observable(const orr_launch *l) {
    uint32_t why = orr_kernel_observable(l->kernel);
    return why || !orr_launch_races(l) ? why : ORR_OBS_RACE;
}

orr_launch_result *orr_result_add(orr_result *r, const orr_gpu *gpu, const orr_work *w) {
    orr_launch_result *l = ORR_PUSH(&r->launches);
    const orr_kernel *k = w->info.kernel;
    l->kernel = k;
    l->index = w->info.index;
    l->range = w->info.range;
    memcpy(l->grid, w->info.grid, sizeof l->grid);
    memcpy(l->block, w->info.block, sizeof l->block);
    l->dynamic_shared = w->info.dynamic_shared;
    l->blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    l->cycles = l->time_ns = NAN;
    l->occupancy = NAN;
    l->events = w->recorded || orr_kernel_one_order(k) ? ORR_EVENTS_ONE_ORDER : ORR_EVENTS_PRIVATE;
    uint32_t threads = l->block[0] * l->block[1] * l->block[2];
    orr_occupancy_result occ;
    if (gpu && orr_occupancy(gpu, (int)threads, (int)k->regs, (int64_t)k->shared_bytes + l->dynamic_shared,
                             (int)k->barriers, &occ))
        l->occupancy = occ.percent / 100;
    return l;
}

orr_launch_result *orr_result_like(orr_result *r, const orr_launch_info *info, uint32_t like) {
    for (size_t i = 0; i < r->launches.n; i++) {
        if (r->launches.at[i].index != like) continue;
        orr_launch_result l = r->launches.at[i];
        l.index = info->index;
        l.range = info->range;
        l.timing = NULL;
        l.limits = NULL;
        l.estimated = true;
        orr_launch_result *to = ORR_PUSH(&r->launches);
        *to = l;
        return to;
    }
    return NULL;
}

void orr_result_free(orr_result *r) {
    if (r->state_free) r->state_free(r->state);
    free(r->launches.at);
    free(r->profiles.at);
    for (size_t n = 0; n < r->rewrites.n; n++) orr_rewritten_free(r->rewrites.at[n].rewritten);
    free(r->rewrites.at);
    free(r->readings.at);
    orr_arena_free(&r->arena);
    memset(r, 0, sizeof *r);
}
