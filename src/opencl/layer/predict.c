// From counts to time: a thread block takes as long as its longest warp (the paper's IV-B).
//
// The analytic model asks who executed a launch how often each block of code ran, and from where: here that
// is answered from the counts (orr_elsewhere), and the model cannot tell.
#include "opencl/layer/layer.h"

#include "lower/lower.h"

#include <stdlib.h>
#include <string.h>

// ---- the kernel -------------------------------------------------------------------------------------
static void order_of(noted_kernel *k, uint32_t s, uint8_t *seen) {
    const orr_annotated *a = &k->of->source;
    if (seen[s]) return;
    seen[s] = 1;
    const orr_segment *x = &a->segments[s];
    for (uint32_t i = 0; i < x->nterms && x->counter < 0; i++)
        order_of(k, (uint32_t)(x->term[i] > 0 ? x->term[i] - 1 : -x->term[i] - 1), seen);
    k->order[k->norder++] = s;
}

// What the report knows of the code by line: blocks and instructions are those of `code`, lines are numbers
// again. One for all of the program's objects of a kernel.
static const orr_kernel *shown_of(const orr_annotated *a, const orr_kernel *code) {
    orr_result *r = &the_app.result;
    for (size_t i = 0; i < r->profiles.n; i++) {
        const orr_kernel *k = r->profiles.at[i]->kernel;
        if (k->module == code->module && !strcmp(k->name, code->name)) return k;
    }
    orr_kernel *k = orr_arena_alloc(&r->arena, sizeof *k);
    *k = *code;
    k->insts = orr_arena_alloc(&r->arena, (code->ninsts + 1) * sizeof *k->insts);
    for (uint32_t i = 0; i < code->ninsts; i++) {
        k->insts[i] = code->insts[i];
        k->insts[i].source.line = orr_place_line(a, code->insts[i].source.line);
    }
    return k;
}

bool predict_prepare(noted_kernel *k, const char *name, orr_err *e) {
    const orr_annotated *a = &k->of->source;
    k->function = orr_annotated_kernel(a, name);
    if (!k->function) return orr_fail(e, ORR_BAD_INPUT, "kernel '%s' is not in the source", name);
    k->plain = k->of->code->load(k->of->code, name, e);
    if (!k->plain) return false;
    k->rewritten = orr_rewrite(k->plain); // kept: the result names its kernel
    k->code = k->rewritten ? orr_rewritten_kernel(k->rewritten) : k->plain;
    for (uint32_t i = 0; i < k->of->object.kernels.n; i++)
        if (!strcmp(k->of->object.kernels.at[i].name, name)) k->info = &k->of->object.kernels.at[i];
    *ORR_PUSH(&the_app.result.rewrites) = (struct orr_rewrote){k->code, NULL}; // it is
    orr_match_blocks(a, k->plain, k->code, &k->match);
    uint8_t *seen = orr_calloc(a->nsegments + 1, 1);
    k->order = orr_calloc(a->nsegments + 1, sizeof *k->order);
    for (uint32_t s = 0; s < a->nsegments; s++) order_of(k, s, seen);
    free(seen);
    return true;
}

// ---- a launch ---------------------------------------------------------------------------------------
typedef struct tallied {
    noted_kernel *kernel;
    const noted_launch *launch;
    warp_counts counts;
} tallied;

// ---- edges ------------------------------------------------------------------------------------------
static int ways_in(const orr_tally_block *b) {
    int n = 0;
    while (n < ORR_TALLY_FROM && b->from[n] != UINT32_MAX) n++;
    return n;
}

// How often control went from p to b, of two ways out: a block with one way in tells, otherwise by their
// runs.
static double edge(const orr_kernel *k, const orr_tally *t, const double *runs, uint32_t p, uint32_t b) {
    uint32_t out[2];
    int n = orr_match_successors(k, p, out);
    if (n < 2) return runs[p];
    uint32_t other = out[0] == b ? out[1] : out[0];
    if (ways_in(&t->blocks[b]) == 1) return runs[b];
    if (ways_in(&t->blocks[other]) == 1) return runs[p] > runs[other] ? runs[p] - runs[other] : 0;
    double sum = runs[b] + runs[other];
    return sum > 0 ? runs[p] * runs[b] / sum : 0;
}

static void fill_counts(const tallied *x, const orr_tally *t, const double *runs, const double *lanes) {
    const orr_kernel *k = x->kernel->code;
    for (uint32_t b = 0; b < k->nblocks; b++) {
        double way[ORR_TALLY_FROM + 1] = {0}, sum = 0;
        int n = ways_in(&t->blocks[b]);
        for (int i = 0; i < n; i++) sum += way[i] = edge(k, t, runs, t->blocks[b].from[i], b);
        if (b == 0 || !(sum > 0))
            way[ORR_TALLY_FROM] = b == 0 ? (double)(x->counts.tbs * x->counts.warps) : runs[b];
        sum += way[ORR_TALLY_FROM];
        for (int i = 0; i <= ORR_TALLY_FROM; i++)
            t->counts[b].runs[i] += sum > 0 ? (uint64_t)(runs[b] * way[i] / sum + 0.5) : 0;
        t->counts[b].lanes += (uint64_t)(lanes[b] + 0.5);
    }
}

// For the report: what instructions and lines of the source executed, and how long warps were there if none
// waited for another. Of lanes the average is known, and
// where they part is not: branches are not counted.
static void add_profile(noted_kernel *of, const orr_tally *t, const double *runs, const double *lanes) {
    if (!of->shown) of->shown = shown_of(&of->of->source, of->code);
    const orr_kernel *k = of->shown;
    orr_profile *p = orr_profile_of(&the_app.result, k);
    p->launches++;
    if (!p->clocks) p->clocks = orr_arena_alloc(p->arena, (k->nblocks + 1) * sizeof *p->clocks);
    for (uint32_t b = 0; b < k->nblocks; b++) {
        p->ends[b] = 0;
        for (int i = 0; i <= ORR_TALLY_FROM; i++)
            p->clocks[b] += (double)t->counts[b].runs[i] * t->blocks[b].weight[i];
        uint64_t n = (uint64_t)(runs[b] + 0.5);
        if (!n) continue;
        double each = lanes[b] / runs[b];
        int range = each >= 31.5 ? 4 : each > 24.5 ? 3 : each > 16.5 ? 2 : each > 8.5 ? 1 : 0;
        p->blocks[b].runs[range] += n;
        p->blocks[b].lanes += (uint64_t)(lanes[b] + 0.5);
    }
}

// ---- what the model asks ----------------------------------------------------------------------------
// Each segment's share of the weights, for the clocks of single warps.
static double *weights_of(const tallied *x, const orr_tally *t) {
    const noted_kernel *k = x->kernel;
    double *w = orr_calloc(k->of->source.nsegments + 1, sizeof *w);
    for (uint32_t b = 0; b < k->code->nblocks; b++) {
        int32_t s = k->match.segment[b] >= 0 ? k->match.segment[b] : k->function->first;
        if (!(x->counts.runs[s] > 0)) s = k->function->first;
        for (int i = 0; i <= ORR_TALLY_FROM; i++)
            w[s] += (double)t->counts[b].runs[i] * t->blocks[b].weight[i] /
                    (x->counts.runs[s] > 0 ? x->counts.runs[s] : 1);
    }
    return w;
}

// ---- addresses --------------------------------------------------------------------------------------
// The arguments as our own executor takes them: buffers are the copies. NULL: it has some that cannot be
// copied.
static uint8_t *own_params(const noted_kernel *k) {
    const orr_kernel *c = k->plain;
    if (!k->info || k->info->nargs != c->nparams || c->nparams > 64) return NULL;
    uint8_t *p = orr_calloc(1, (size_t)c->param_bytes + 8);
    uint64_t local = (c->shared_bytes + 15) & ~15u;
    bool ok = true;
    for (uint32_t i = 0; i < c->nparams && ok; i++) {
        const orr_clc_arg *g = &k->info->args[i];
        const noted_arg *a = &k->args[i];
        uint8_t *to = p + c->params[i].offset;
        ok = !g->image && !g->sampler;
        if (g->space == ORR_CLC_LOCAL) {
            local = orr_clc_local_begin(local, a->local);
            memcpy(to, &local, 8);
            local += a->local;
        } else if (g->space != ORR_CLC_PRIVATE) {
            memcpy(to, &a->copy, 8);
        } else {
            ok &= a->bytes == c->params[i].bytes && a->bytes <= sizeof a->value;
            if (ok) memcpy(to, a->value, a->bytes);
        }
    }
    if (!ok) free(p);
    return ok ? p : NULL;
}

static uint32_t shared_of(const noted_kernel *k) {
    uint64_t base = (k->plain->shared_bytes + 15) & ~15u, local = base;
    for (uint32_t i = 0; i < 64; i++)
        if (k->args[i].local) local = orr_clc_local_begin(local, k->args[i].local) + k->args[i].local;
    return (uint32_t)(local - base);
}

// The sampled thread blocks, executed. NULL: the model goes without.
typedef struct sampled {
    orr_launch launch;
    orr_source *source;
} sampled;

static void sample_open(sampled *s, const tallied *x, const orr_tally *t) {
    noted_kernel *k = x->kernel;
    orr_err e = {0};
    *s = (sampled){0};
    if (!x->launch->sample || !t->nsampled) return;
    if (!k->of->image) k->of->image = orr_image_load(the_app.mem, k->of->code, &e);
    uint8_t *params = k->of->image ? own_params(k) : NULL;
    if (!params) return;
    s->launch = (orr_launch){.kernel = k->plain,
                             .image = k->of->image,
                             .mem = the_app.mem,
                             .params = params,
                             .dynamic_shared = shared_of(k),
                             .sm_count = (uint32_t)the_app.gpu->sm_count,
                             .max_insts = 1 << 22};
    memcpy(s->launch.grid, x->launch->grid, sizeof s->launch.grid);
    memcpy(s->launch.block, x->launch->block, sizeof s->launch.block);
    s->launch.print = fopen("/dev/null", "w"); // what it prints has been printed
    s->source = orr_exec_source_of(&s->launch, t->sampled, t->nsampled, NULL, &e);
    if (s->source && k->rewritten) s->source = orr_rewritten_source(k->rewritten, s->source);
}

static bool sample_next(sampled *s, orr_tb *tb) {
    orr_err e = {0};
    if (!s->source) return false;
    if (s->source->next(s->source, tb, &e) > 0) return true;
    s->source->close(s->source); // it failed, as a block that waits for another would: the rest goes without
    s->source = NULL;
    return false;
}

static void sample_close(sampled *s) {
    if (s->source) s->source->close(s->source);
    if (s->launch.print) fclose(s->launch.print);
    free(s->launch.params);
}

// What a warp of each pattern takes.
static double *clocks_of(const tallied *x, const orr_tally *t) {
    const warp_counts *c = &x->counts;
    size_t patterns = c->segments ? c->patterns.n / c->segments : 0;
    double *weight = weights_of(x, t), *clocks = orr_calloc(patterns + 1, sizeof *clocks);
    for (size_t p = 0; p < patterns; p++)
        for (uint32_t s = 0; s < c->segments; s++)
            clocks[p] += c->patterns.at[p * c->segments + s].most * weight[s];
    free(weight);
    return clocks;
}

static bool visit_all(const tallied *x, const orr_tally *t, orr_err *e) {
    const warp_counts *c = &x->counts;
    double *clocks = clocks_of(x, t);
    uint32_t next = 0;
    sampled s;
    orr_tb tb;
    bool ok = true;
    sample_open(&s, x, t);
    for (uint64_t b = 0; b < c->tbs && ok; b++) {
        double longest = 0, sum = 0;
        for (uint32_t w = 0; w < c->warps; w++) {
            double clock = clocks[c->of_warp[b * c->warps + w]];
            sum += clock;
            if (clock > longest) longest = clock;
        }
        bool chosen = next < t->nsampled && t->sampled[next] == b;
        next += chosen;
        bool streams = chosen && sample_next(&s, &tb) && tb.index == b;
        ok = t->visit(
            t->arg, 0,
            &(orr_tally_tb){b, (uint64_t)(longest + 0.5), (uint64_t)(sum + 0.5), streams ? &tb : NULL}, e);
    }
    sample_close(&s);
    free(clocks);
    return ok;
}

static bool tally(void *self, const orr_launch *l, const orr_tally *t, orr_exec_counts *counts, orr_err *e) {
    tallied *x = self;
    noted_kernel *k = x->kernel;
    const orr_annotated *a = &k->of->source;
    (void)l, (void)counts;
    double *runs = orr_calloc(k->code->nblocks + 1, sizeof *runs),
           *lanes = orr_calloc(k->code->nblocks + 1, sizeof *lanes);
    orr_match_runs(a, k->code, &k->match, x->counts.runs, runs);
    orr_match_runs(a, k->code, &k->match, x->counts.lanes, lanes);
    runs[0] = (double)(x->counts.tbs * x->counts.warps); // every warp begins at the beginning
    lanes[0] = (double)(x->counts.tbs * x->counts.threads);
    fill_counts(x, t, runs, lanes);
    add_profile(k, t, runs, lanes);
    free(runs);
    free(lanes);
    return visit_all(x, t, e);
}

static orr_source *no_source(void *self, const orr_launch *l, const uint64_t *blocks, uint64_t n,
                             orr_exec_counts *counts, orr_err *e) {
    (void)self, (void)l, (void)blocks, (void)n, (void)counts;
    orr_fail(e, ORR_BAD_INPUT, "--annotate knows counts only: --model analytic");
    return NULL;
}
static bool no_run(void *self, const orr_launch *l, orr_exec_counts *counts, orr_err *e) {
    return no_source(self, l, NULL, 0, counts, e) != NULL;
}
static bool no_sums(void *self, const orr_launch *l, orr_tb_sums *tbs, uint64_t *runs, orr_err *e) {
    (void)tbs, (void)runs;
    return no_source(self, l, NULL, 0, NULL, e) != NULL;
}

bool predict_launch(noted_kernel *k, const noted_launch *n, orr_err *e) {
    app *a = &the_app;
    tallied x = {.kernel = k, .launch = n};
    double start = orr_seconds();
    count_warps(k, n, &x.counts);
    orr_elsewhere who = {&x, no_source, no_run, tally, no_sums};
    orr_launch l = {.kernel = k->code,
                    .mem = a->mem,
                    .index = a->counts.nlaunches++,
                    .sm_count = (uint32_t)a->gpu->sm_count,
                    .elsewhere = &who};
    memcpy(l.grid, n->grid, sizeof l.grid);
    memcpy(l.block, n->block, sizeof l.block);
    l.dynamic_shared = shared_of(k);
    l.params = orr_calloc(1, k->code->param_bytes + 8);
    orr_work w = {.launch = &l, .threads = 1};
    w.info = orr_info_of(&l);
    bool ok = a->model->run(a->gpu, &w, &a->result, e);
    a->result.source = "ptx";
    a->result.host.seconds += orr_seconds() - start + n->native;
    a->counts.exec_seconds += n->native;
    if (ok && a->result.launches.n) {
        double ns = a->result.launches.at[a->result.launches.n - 1].time_ns;
        a->times.launches++;
        a->times.kernel_ns += ns;
        a->devices[0].legacy.end += ns;
    }
    free(l.params);
    count_free(&x.counts);
    return ok;
}
