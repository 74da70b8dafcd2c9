// Where a kernel's time went: its launches added up, by instruction and by source line.
//
// Everything the cycle model counts is an integer and adds up, so the sum of launches is a timing like that
// of one, and whatever can be said of a launch (counters, verdict) can be said of a kernel with the same
// code.
#include "report/report.h"
#include "program/program.h"
#include "sass/sass.h"

#include <stdlib.h>
#include <string.h>

const orr_gpu *orr_result_gpu(const orr_result *r) {
    for (size_t i = 0; i < r->launches.n; i++)
        if (r->launches.at[i].timing) return r->launches.at[i].timing->program->gpu;
    return NULL;
}

static void add_u64(void *to, const void *from, size_t bytes) {
    uint64_t *a = to;
    const uint64_t *b = from;
    for (size_t i = 0; i < bytes / sizeof *a; i++) a[i] += b[i];
}

static void add_launch(orr_cost *c, const orr_launch_result *l) {
    const orr_timing *t = l->timing;
    const orr_launch_result *first = c->first;
    c->launches++;
    c->same &= !memcmp(l->grid, first->grid, sizeof l->grid) &&
               !memcmp(l->block, first->block, sizeof l->block) && l->dynamic_shared == first->dynamic_shared;
    c->sum.cycles += l->cycles;
    c->sum.time_ns += l->time_ns;
    c->sum.blocks += l->blocks;
    c->sum.warp_insts += l->warp_insts;
    c->sum.thread_insts += l->thread_insts;
    c->timing.cycles += t->cycles;
    c->timing.overhead += t->overhead;
    c->timing.sm_active += t->sm_active;
    c->timing.warp_cycles += t->warp_cycles;
    c->timing.issue_slots += t->issue_slots;
    c->timing.refilling += t->refilling;
    c->timing.register_conflicts += t->register_conflicts;
    c->timing.tail.n += t->tail.n;
    if (t->waste.n > c->timing.waste.n) c->timing.waste = t->waste;
    add_u64(c->timing.stalls, t->stalls, sizeof t->stalls);
    add_u64(c->timing.unit_busy, t->unit_busy, sizeof t->unit_busy);
    if (t->raw) {
        add_u64(&c->raw.sm, &t->raw->sm, sizeof c->raw.sm);
        add_u64(&c->raw.mem, &t->raw->mem, sizeof c->raw.mem);
        c->raw.seconds += t->raw->seconds;
        c->timing.raw = &c->raw;
    }
    for (int i = 0; l->counters && i < ORR_COUNTERS; i++) c->counters[i] += l->counters[i];
    if (l->counters) c->sum.counters = c->counters;
}

// ---- instructions and lines ---------------------------------------------------------------------
static const char *source_file(const orr_kernel *k, const orr_inst *i) {
    return i->source.file && k->module && i->source.file <= k->module->nfiles
               ? k->module->files[i->source.file - 1]
               : NULL;
}

typedef struct place_key { // no padding
    uint64_t file;         // by name: launches of a trace have strings of their own
    uint32_t line, pc;
    uint64_t name; // 0: a line
} place_key;
typedef ORR_VEC(orr_place_cost) places;
typedef struct work { // while a kernel is added up
    orr_cost *cost;
    orr_map inst_map, line_map;
    places insts, lines;
} work;

static orr_place_cost *place_of(orr_map *map, places *v, const place_key *key, const char *file) {
    size_t at = (size_t)orr_map_getn(map, (const char *)key, sizeof *key);
    if (!at) {
        orr_place_cost *p = ORR_PUSH(v);
        p->file = file;
        p->line = key->line;
        p->pc = key->pc;
        at = v->n;
        orr_map_putn(map, (const char *)key, sizeof *key, (void *)at);
    }
    return &v->at[at - 1];
}

static void add_place(orr_place_cost *p, const orr_timing *t, uint32_t n) {
    if (t->tail.n && t->tail.inst == n) p->tail += t->tail.n;
    if (t->traffic) {
        p->traffic.requests += t->traffic[n].requests;
        p->traffic.sectors += t->traffic[n].sectors;
        p->traffic.ideal += t->traffic[n].ideal;
    }
    p->issued += t->issued[n];
    p->threads += t->threads[n];
    for (int s = 0; s < ORR_STALLS; s++) {
        p->stalls[s] += t->by_inst[n][s];
        p->cycles += t->by_inst[n][s];
    }
}

static void add_places(work *w, const orr_timing *t) {
    const orr_program *p = t->program;
    if (!t->by_inst || !t->issued || !t->threads) return;
    uint16_t *live = orr_calloc(p->ninsts ? p->ninsts : 1, sizeof *live);
    orr_program_live(p, live);
    for (uint32_t n = 0; n < t->ninsts; n++) {
        uint64_t any = t->issued[n];
        for (int s = 0; s < ORR_STALLS; s++) any |= t->by_inst[n][s];
        if (!any) continue; // never reached
        const orr_tinst *i = &p->insts[n];
        const orr_inst *from = i->inst < p->kernel->ninsts ? &p->kernel->insts[i->inst] : NULL;
        const char *file = from ? source_file(p->kernel, from) : NULL;
        place_key key = {.file = file ? orr_hash64(file, strlen(file), 0) : 0};
        if (from) key.line = file ? from->source.line : p->kernel->machine ? 0 : from->line;
        add_place(place_of(&w->line_map, &w->lines, &key, file), t, n);
        key.pc = i->pc;
        key.name = (uint64_t)i->sass + 1;
        orr_place_cost *place = place_of(&w->inst_map, &w->insts, &key, file);
        if (!place->name) {
            place->name = i->name < p->nnames && p->names[i->name] ? p->names[i->name] : "?";
            place->code = from && p->kernel->code.insts ? &p->kernel->code.insts[i->inst] : NULL;
            place->live = live[n];
        }
        add_place(place, t, n);
    }
    free(live);
}

// A kernel's time is that in which blocks run, which its warp cycles are of, and its tail.
static void find_shares(const orr_timing *t, orr_place_cost *p, size_t n) {
    double all = (double)(t->cycles - t->overhead), tail = all > 0 ? (double)t->tail.n / all : 0;
    for (size_t i = 0; i < n; i++) {
        double of_warps = t->warp_cycles ? (double)p[i].cycles / (double)t->warp_cycles : 0;
        double of_tail = t->tail.n ? (double)p[i].tail / (double)t->tail.n : 0;
        p[i].share = 100 * ((1 - tail) * of_warps + tail * of_tail);
    }
}

static int by_share(const void *a, const void *b) {
    const orr_place_cost *x = a, *y = b;
    if (x->share != y->share) return x->share < y->share ? 1 : -1;
    if (x->cycles != y->cycles) return x->cycles < y->cycles ? 1 : -1;
    if (x->pc != y->pc) return x->pc < y->pc ? -1 : 1;
    if (x->file != y->file) {
        int c = !x->file ? -1 : !y->file ? 1 : strcmp(x->file, y->file);
        if (c) return c;
    }
    return x->line < y->line ? -1 : x->line > y->line;
}

// ---- all kernels ----------------------------------------------------------------------------------
typedef ORR_VEC(work) works;

// A trace makes a kernel of its own for each launch; those are one kernel when they have one name.
static work *work_of(works *all, orr_map *map, const orr_launch_result *l) {
    const orr_kernel *k = l->kernel;
    const char *key = k->machine ? k->name : (const char *)&k;
    size_t bytes = k->machine ? strlen(k->name) + 1 : sizeof k;
    size_t at = (size_t)orr_map_getn(map, key, bytes);
    if (at) return &all->at[at - 1];
    work *w = ORR_PUSH(all);
    orr_map_putn(map, key, bytes, (void *)all->n);
    orr_cost *c = w->cost = orr_calloc(1, sizeof *c);
    c->gpu = l->timing->program->gpu;
    c->first = l;
    c->same = true;
    c->sum = *l;
    c->sum.cycles = c->sum.time_ns = 0;
    c->sum.blocks = c->sum.warp_insts = c->sum.thread_insts = 0;
    c->sum.counters = NULL;
    c->sum.timing = &c->timing;
    c->timing.program = l->timing->program;
    c->timing.resident = l->timing->resident;
    c->timing.limiter = l->timing->limiter;
    return w;
}

static void finish(work *w) {
    orr_cost *c = w->cost;
    c->sum.blocks = (c->sum.blocks + c->launches / 2) / c->launches;
    if (c->sum.counters) orr_cycle_rates(c->gpu, c->counters);
    c->insts = w->insts.at;
    c->ninsts = w->insts.n;
    c->lines = w->lines.at;
    c->nlines = w->lines.n;
    find_shares(&c->timing, c->insts, c->ninsts);
    find_shares(&c->timing, c->lines, c->nlines);
    if (c->ninsts) qsort(c->insts, c->ninsts, sizeof *c->insts, by_share);
    if (c->nlines) qsort(c->lines, c->nlines, sizeof *c->lines, by_share);
    orr_map_free(&w->inst_map);
    orr_map_free(&w->line_map);
}

void orr_costs_make(const orr_result *r, bool by_place, orr_costs *all) {
    memset(all, 0, sizeof *all);
    works kernels = {0};
    orr_map map = {0};
    for (size_t i = 0; i < r->launches.n; i++) {
        const orr_launch_result *l = &r->launches.at[i];
        if (!l->timing) continue;
        work *w = work_of(&kernels, &map, l);
        add_launch(w->cost, l);
        if (by_place) add_places(w, l->timing);
    }
    for (size_t k = 0; k < kernels.n; k++) {
        finish(&kernels.at[k]);
        *ORR_PUSH(all) = kernels.at[k].cost;
    }
    free(kernels.at);
    orr_map_free(&map);
}

void orr_costs_free(orr_costs *all) {
    for (size_t i = 0; i < all->n; i++) {
        free(all->at[i]->insts);
        free(all->at[i]->lines);
        free(all->at[i]);
    }
    free(all->at);
    memset(all, 0, sizeof *all);
}
