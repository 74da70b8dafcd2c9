// Sampling an INPUT: its profile, which launches are simulated, and what is predicted of the others.
//
// A launch that another stands for is executed, because later ones need what it leaves in memory, without
// being observed. With --warm functional those right before a simulated one, as far back as L2 reaches, also
// leave their lines in L2.
#include "sample/sampled.h"

#include "memory/memsys.h"
#include "model/cycle/raw.h"
#include "model/dispatch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- options ------------------------------------------------------------------------------------
bool orr_sampled_options(const char *warm, const char *precision, const orr_gpu *gpu, orr_sample_options *s,
                         orr_err *e) {
    *s = orr_sample_defaults();
    if (warm && strcmp(warm, "none") != 0 && strcmp(warm, "functional") != 0)
        return orr_fail(e, ORR_BAD_INPUT, "run: --warm takes none or functional, not \"%.60s\"", warm);
    if (precision) {
        char *end;
        s->precision = strtod(precision, &end) / 100;
        if (*end || end == precision || !(s->precision >= 0 && s->precision <= 1))
            return orr_fail(e, ORR_BAD_INPUT,
                            "run: --precision takes a percentage from 0 to 100, not \"%.60s\"", precision);
    }
    if (s->precision <= 0) s->total = 0; // TBPoint's rules
    // Where L2 keeps data from launch to launch, what is left out leaves its lines there.
    s->warm = warm ? !strcmp(warm, "functional") : gpu && !gpu->l2_flush;
    s->l2_bytes = gpu ? (uint64_t)gpu->l2_size : 0;
    return true;
}

static uint64_t hash_text(const char *s, uint64_t h) { return s ? orr_hash64(s, strlen(s) + 1, h) : h + 1; }

// Files: their first bytes, which hold all of a script or of a list of traces.
static uint64_t hash_file(const char *path, uint64_t h) {
    FILE *f = path ? fopen(path, "rb") : NULL;
    if (!f) return h;
    char buf[65536];
    size_t n, all = 0;
    while (all < (64u << 20) && (n = fread(buf, 1, sizeof buf, f)) > 0) {
        h = orr_hash64(buf, n, h);
        all += n;
    }
    fclose(f);
    return h;
}

uint64_t orr_input_digest(const orr_input_options *o, const char *input) {
    const orr_direct *d = &o->direct;
    uint64_t h = hash_text("1", 0);
    h = hash_file(input, h);
    h = hash_text(o->size, h);
    h = hash_text(orr_input_source(o), h);
    h = hash_text(d->kernel, h);
    h = hash_text(d->grid, h);
    h = hash_text(d->block, h);
    h = hash_text(d->shared, h);
    for (int n = 0; n < d->nargs; n++) h = hash_text(d->args[n], h);
    for (int n = 0; n < o->nsets; n++) h = hash_text(o->sets[n], h); // those of the GPU change nothing
    return h;
}

// ---- the profile --------------------------------------------------------------------------------
static uint64_t digest_of(const orr_kernel *k, uint64_t input) {
    return k->module ? hash_file(k->module->path, input) : input;
}

static bool profile_launch(const orr_gpu *gpu, const orr_work *w, orr_result *r, orr_err *e) {
    orr_sampled *s = r->state;
    (void)gpu;
    if (!s->profile.launches.n) s->profile.digest = digest_of(w->info.kernel, s->expected);
    return orr_sp_add(&s->profile, w, e);
}

const orr_model orr_profiling = {.name = "profile", .summary = "", .run = profile_launch};

// ---- the plan -----------------------------------------------------------------------------------
// Requests before a simulated launch that are looked at, in sizes of L2: most ask for a line that another has
// asked for.
#define FAR_BACK 16

void orr_sampled_plan(orr_sampled *s) {
    double start = orr_seconds();
    s->plan = orr_plan_make(&s->profile, s->o.inter, s->o.total);
    size_t n = s->profile.launches.n;
    s->warm = orr_calloc(n + 1, sizeof *s->warm);
    for (size_t l = 0; l < n && s->o.warm; l++) {
        if (s->plan.launches[l].by != l) continue;
        uint64_t bytes = 0;
        for (size_t k = l; k > 0 && bytes < FAR_BACK * s->o.l2_bytes; k--) {
            s->warm[k - 1] = s->plan.launches[k - 1].by != k - 1;
            bytes += s->profile.launches.at[k - 1].requests * 128;
        }
    }
    s->plan_seconds = orr_seconds() - start;
}

// ---- launches -----------------------------------------------------------------------------------
#define MANY_STORED (1u << 20) // of a wave
typedef struct stored {
    orr_touched what;
    int sm;
} stored;

typedef struct warming {
    const orr_gpu *gpu;
    const orr_model *model;
    orr_result *r;
    const orr_profile *places;
    uint64_t block; // that is executed
    uint32_t *wave; // the SM of each block that the GPU holds
    size_t held;    // so many of them
    ORR_VEC(stored) later;
    orr_err err;
} warming;

// A block is taken to have run where the first ones of a grid do.
static int sm_of(const warming *w) {
    return w->gpu->launch_order != ORR_LAUNCH_SPREAD ? (int)w->wave[w->block % w->held] : -1;
}

// Blocks that run at the same time first load, and what one of them stores comes after what the others have
// loaded: stores wait for the last block that the GPU would hold.
static void touch(void *arg, const orr_touched *t) {
    warming *w = arg;
    if (t->write)
        *ORR_PUSH(&w->later) = (stored){*t, sm_of(w)};
    else
        w->model->warm(w->gpu, w->r, sm_of(w), t, &w->err);
}

static void store_all(warming *w) {
    for (size_t i = 0; i < w->later.n; i++)
        w->model->warm(w->gpu, w->r, w->later.at[i].sm, &w->later.at[i].what, &w->err);
    w->later.n = 0;
}

static uint32_t *held_of(const orr_gpu *gpu, const orr_launch_info *i, size_t *n) {
    orr_occupancy_result o;
    bool ok = orr_launch_fit(gpu, i, &o);
    uint64_t blocks = (uint64_t)i->grid[0] * i->grid[1] * i->grid[2];
    return orr_dispatch_first_wave(gpu, (uint32_t)gpu->sm_count, blocks,
                                   ok && o.blocks > 0 ? (uint32_t)o.blocks : 1, n);
}

static bool warm_visit(void *arg, int worker, const orr_tb *tb, orr_err *e) {
    warming *w = arg;
    (void)worker;
    if (tb->index / w->held != w->block / w->held || w->later.n > MANY_STORED) store_all(w);
    w->block = tb->index;
    if (!orr_warm_block(w->places, tb, touch, w))
        return orr_fail(e, ORR_BAD_INPUT, "the stream of thread block %llu is damaged; record it again",
                        (unsigned long long)tb->index);
    return !w->err.status || orr_fail(e, w->err.status, "%s", w->err.text);
}

static bool execute(const orr_work *w, bool warm, const orr_model *m, const orr_gpu *gpu, orr_result *r,
                    orr_err *e) {
    if (!warm || !m->warm) return !w->launch || orr_exec_run(w->launch, w->threads, NULL, NULL, e);
    orr_arena a = {0};
    orr_profile *places = orr_warm_places(w->info.kernel, &a);
    warming x = {.gpu = gpu, .model = m, .r = r, .places = places};
    x.wave = held_of(gpu, &w->info, &x.held);
    bool ok = true;
    if (w->launch) {
        ok = orr_exec_run(w->launch, w->threads, &(orr_visitor){warm_visit, &x, true}, NULL, e);
    } else {
        orr_tb tb;
        int more = 0;
        while (ok && (more = w->source->next(w->source, &tb, e)) > 0) {
            orr_profile_grow(places);
            ok = warm_visit(&x, 0, &tb, e);
        }
        ok = ok && more == 0;
    }
    if (ok) store_all(&x);
    free(x.later.at);
    free(x.wave);
    orr_arena_free(&a);
    return ok;
}

static bool fits(const orr_sampled *s, const orr_work *w, const orr_sp_launch *l, orr_err *e) {
    const orr_kernel *k = w->info.kernel;
    const orr_sp_kernel *was = l ? &s->profile.kernels.at[l->kernel] : NULL;
    uint64_t blocks = (uint64_t)w->info.grid[0] * w->info.grid[1] * w->info.grid[2];
    if (l && strcmp(was->name, k->name) == 0 && (k->grows || was->ncode == k->nblocks) && l->blocks == blocks)
        return true;
    if (l && strcmp(was->name, k->name) == 0 && l->blocks == blocks)
        return orr_fail(
            e, ORR_BAD_INPUT,
            "launch %u: the code of %s differs from what was profiled: %u basic blocks of %s here, %u "
            "there; a profile is of one code, PTX or one GPU's machine code: say --source ptx both "
            "times, or name another --profile for this GPU",
            w->info.index, k->name, k->nblocks, k->machine ? "machine code" : "PTX", was->ncode);
    return orr_fail(e, ORR_BAD_INPUT,
                    "launch %u, %s of %llu thread blocks, is not what the profile has there; remove the "
                    "profile to have it made again",
                    w->info.index, k->name, (unsigned long long)blocks);
}

bool orr_sampled_launch(orr_sampled *s, const orr_model *m, const orr_gpu *gpu, const orr_work *w,
                        orr_result *r, orr_err *e) {
    size_t n = s->at++;
    const orr_sp_launch *l = n < s->profile.launches.n ? &s->profile.launches.at[n] : NULL;
    if (!fits(s, w, l, e) || !l) return false;
    if (!n && s->expected && s->profile.digest != digest_of(w->info.kernel, s->expected))
        return orr_fail(
            e, ORR_BAD_INPUT,
            "the profile is of other code (PTX, or another GPU's machine code: --source, --gpu), of "
            "another script, or of another --set; remove it to have it made again, or name another "
            "with --profile");
    if (!s->out) {
        s->out = orr_arena_alloc(&r->arena, sizeof *s->out);
        s->out->launches = orr_arena_alloc(&r->arena, (s->profile.launches.n + 1) * sizeof *s->out->launches);
    }
    orr_launch_sample *x = &s->out->launches[n];
    const orr_plan_launch *plan = &s->plan.launches[n];
    *x = (orr_launch_sample){.cluster = plan->cluster,
                             .by = plan->by,
                             .nparts = plan->nparts,
                             .parts = orr_arena_alloc(&r->arena, plan->nparts * sizeof *x->parts),
                             .insts = l->warp_insts,
                             .blocks = l->blocks};
    memcpy(x->parts, plan->parts, plan->nparts * sizeof *x->parts);
    x->simulated = x->by == n;
    if (!x->simulated) {
        double start = orr_seconds();
        if (!execute(w, s->warm[n], m, gpu, r, e)) return false;
        r->host.execute_seconds += orr_seconds() - start;
        orr_result_add(r, gpu, w);
        return true;
    }
    orr_control *c = orr_control_new(l, &s->o);
    orr_work sampled = *w;
    sampled.sampler = orr_control_sampler(c);
    bool ok = m->run(gpu, &sampled, r, e);
    if (ok) {
        orr_launch_result *got = &r->launches.at[r->launches.n - 1];
        x->simulated_cycles = got->cycles;
        got->cycles += orr_control_end(c, x, &r->arena);
        x->cycles = got->cycles;
        got->time_ns = got->cycles * 1e3 / gpu->clock_sm;
    }
    orr_control_free(c);
    return ok;
}

// ---- what is predicted --------------------------------------------------------------------------
// The half-widths of 95 % intervals, put together as if they were independent: what the features of launches
// leave open of those that were not simulated (the plan's variance), and for each region that of its units'
// mean, or where only two were compared their difference, times the launches that its launch stands for.
//
// Without warm caches a launch that follows one that was left out finds an L2 that lacks what that would have
// left. How much of it there would be nobody knows; at most all that it read from memory, and then the time
// in which its warps waited for memory would be shorter. That is no chance that evens out over launches: it
// is added as it is. What a first launch of a kernel finds is in the features (plan.c).
static double cold_share(const orr_launch_result *l) {
    const orr_timing *t = l->timing;
    if (!t || !t->raw || !t->warp_cycles) return 0;
    double read = 0, waits = (double)t->stalls[ORR_STALL_LONG] / (double)t->warp_cycles;
    for (int f = 0; f < ORR_FROMS; f++) read += (double)t->raw->mem.read[f];
    double missed = read > 0 ? (double)t->raw->mem.dram_read / read : 0;
    return waits * (missed < 1 ? missed : 1);
}

// What is not known of the caches, in cycles.
static double unknown_caches(const orr_sampled *s, const orr_gpu *gpu, const orr_result *r,
                             const orr_sample_result *x, const double *times) {
    double sum = 0;
    if (s->o.warm || gpu->l2_flush) return 0;
    for (size_t l = 1; l < x->n; l++)
        if (x->launches[l].simulated && !x->launches[l - 1].simulated)
            sum += times[l] * x->launches[l].cycles * cold_share(&r->launches.at[l]);
    return sum;
}

static void bound(const orr_sampled *s, const orr_gpu *gpu, const orr_result *r, orr_sample_result *x) {
    double *times = orr_calloc(x->n + 1, sizeof *times); // by launch: how many times it counts
    size_t kernels = s->profile.kernels.n;
    double *cycles = orr_calloc(kernels + 1, sizeof *cycles),
           sum = 0; // of a kernel that has launches left out
    bool *left = orr_calloc(kernels + 1, sizeof *left);
    for (size_t l = 0; l < x->n; l++) {
        for (uint32_t k = 0; k < x->launches[l].nparts; k++)
            times[x->launches[l].parts[k].launch] += x->launches[l].parts[k].weight;
        uint32_t k = s->profile.launches.at[l].kernel;
        cycles[k] += x->launches[l].cycles;
        left[k] |= !x->launches[l].simulated;
    }
    for (size_t k = 0; k < kernels; k++)
        if (left[k]) sum += pow(1.96 * cycles[k], 2) * s->plan.kernels[k];
    free(cycles);
    free(left);
    for (size_t l = 0; l < x->n; l++) {
        const orr_launch_sample *p = &x->launches[l];
        for (uint32_t k = 0; k < p->nregions; k++) {
            const orr_region_result *r = &p->regions[k];
            if (r->skipped) sum += pow(times[l] * r->cycles * (isnan(r->width) ? r->deviation : r->width), 2);
        }
    }
    double caches = unknown_caches(s, gpu, r, x, times);
    free(times);
    x->bound = x->cycles > 0 ? (sqrt(sum) + caches) / x->cycles : (double)NAN;
    x->confidence = 0.95;
}

// The cycles of a launch by those of the ones that stand for it: without the overhead, which does not grow
// with work, a weighted sum of theirs.
static double predicted(const orr_sample_result *x, const orr_launch_sample *p, double overhead) {
    double sum = 0;
    for (uint32_t k = 0; k < p->nparts; k++)
        sum += p->parts[k].weight * fmax(x->launches[p->parts[k].launch].cycles - overhead, 0);
    return overhead + fmax(sum, 0);
}

bool orr_sampled_end(orr_sampled *s, const orr_gpu *gpu, orr_result *r, orr_err *e) {
    if (s->at != s->profile.launches.n)
        return orr_fail(
            e, ORR_BAD_INPUT,
            "there were %zu launches and the profile has %zu; remove the profile to have it made again",
            s->at, s->profile.launches.n);
    orr_sample_result *x = s->out;
    if (!x) return true;
    x->n = s->at;
    x->clusters = s->plan.nclusters;
    x->warm = s->o.warm;
    x->profile_seconds = s->profile_seconds;
    x->plan_seconds = s->plan_seconds;
    for (size_t l = 0; l < x->n; l++) {
        orr_launch_sample *p = &x->launches[l];
        orr_launch_result *got = &r->launches.at[l];
        if (!p->simulated) {
            p->cycles = got->cycles = predicted(x, p, gpu->launch_overhead);
            got->time_ns = got->cycles * 1e3 / gpu->clock_sm;
            x->skipped_inter += p->insts;
        } else {
            x->skipped_intra += p->insts - p->simulated_insts;
            x->simulated++;
        }
        x->insts += p->insts;
        x->simulated_insts += p->simulated ? p->simulated_insts : 0;
        x->cycles += p->cycles;
    }
    bound(s, gpu, r, x);
    r->sample = x;
    return true;
}

void orr_sampled_free(orr_sampled *s) {
    orr_sp_free(&s->profile);
    orr_plan_free(&s->plan);
    free(s->warm);
    *s = (orr_sampled){0};
}
