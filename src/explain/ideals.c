// What may be made ideal: on the GPU (keys of its description) and on a source line (its streams).
//
// An ideal is tried where the run as it is gives a reason to: a resource that is busy, a wait that is long, a
// line that asks for more than it needs. The limits are low, because what hides something else may be worth
// little alone.
#include "explain/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LINES   6    // ideals of lines of one kind
#define SOME_STALL   3.0  // percent of warp cycles
#define SOME_USE     15.0 // percent of a resource
#define SOME_EXCESS  1.2  // times the sectors or passes that would do
#define SOME_REPEATS 0.5  // of a line's lanes
#define SOME_REUSE   8.0  // loads of a value that was stored to shared memory

// ---- keys ---------------------------------------------------------------------------------------
static orr_ideal *add(orr_explanation *x, const char *name, const char *title, const char *advice) {
    orr_ideal *i = ORR_PUSH(&x->ideals);
    *i = (orr_ideal){.name = name, .title = title, .advice = advice};
    return i;
}

static void set(orr_explanation *x, orr_ideal *i, const char *key, double value) {
    if (i->nsets < ORR_IDEAL_SETS) i->sets[i->nsets++] = orr_arena_printf(&x->arena, "%s=%.9g", key, value);
}

static void set_word(orr_explanation *x, orr_ideal *i, const char *key, const char *value) {
    if (i->nsets < ORR_IDEAL_SETS) i->sets[i->nsets++] = orr_arena_printf(&x->arena, "%s=%s", key, value);
}

static void add_latencies(orr_explanation *x, const orr_gpu *g) {
    orr_ideal *i = add(x, "l2_latency", "L2 answers as fast as L1",
                       "have more loads in flight: unroll, load ahead, more warps; or fewer trips to L2");
    set(x, i, "l2.latency", g->l1_latency);
    if (g->l2_far_latency > 0) set(x, i, "l2.far_latency", 0);
    i = add(x, "dram_latency", "memory answers as fast as L2",
            "have more loads in flight: unroll, load ahead, more warps; or keep the data in L2");
    set(x, i, "dram.latency", g->l2_latency + 1);
}

static void add_dram(orr_explanation *x, const orr_gpu *g) {
    orr_ideal *i = add(x, "dram_bandwidth", "twice the bandwidth of memory",
                       "move fewer bytes: smaller types, what is used again kept near, passes merged");
    set(x, i, "dram.bandwidth", 2 * g->dram_bandwidth);
    set(x, i, "clock.dram", 2 * g->clock_dram);
}

static void add_l2(orr_explanation *x, const orr_gpu *g) {
    orr_ideal *i = add(x, "l2_bandwidth", "twice the bandwidth of L2 and of the way there",
                       "ask L2 for less: keep what a block uses again in shared memory or registers");
    set(x, i, "l2.bandwidth", 2 * g->l2_bandwidth);
    if (g->l2_write_bandwidth > 0) set(x, i, "l2.write_bandwidth", 2 * g->l2_write_bandwidth);
    set(x, i, "xbar.request", 2 * g->xbar_request);
    set(x, i, "xbar.reply", 2 * g->xbar_reply);
    if (g->xbar_gpc_reply > 0) set(x, i, "xbar.gpc_reply", 2 * g->xbar_gpc_reply);
    if (g->xbar_store_bandwidth > 0) set(x, i, "xbar.store_bandwidth", 2 * g->xbar_store_bandwidth);
    if (g->l2_tag_interval > 0) set(x, i, "l2.tag_interval", g->l2_tag_interval / 2);
}

static void add_l1(orr_explanation *x, const orr_gpu *g) {
    orr_ideal *i =
        add(x, "l1_bandwidth", "twice the bandwidth of L1 and the load/store unit",
            "make fewer and wider accesses (float4), and keep what a thread uses again in registers");
    set(x, i, "l1.bandwidth", 2 * (double)g->l1_bandwidth);
    if (g->lsu_width > 0) set(x, i, "lsu.width", 2 * (double)g->lsu_width);
    for (int u = 0; u < g->nunits; u++)
        if (!strcmp(g->units[u].name, "lsu")) set(x, i, "unit.lsu.count", 2 * (double)g->units[u].count);
}

static void add_units(orr_explanation *x, const orr_gpu *g, const orr_use *use) {
    const char *advice = "do less of it: common subexpressions, cheaper operations, tensor cores";
    if (!strcmp(use->name, "issue")) {
        set(x,
            add(x, "issue", "two instructions issued a cycle",
                "execute fewer instructions: wider accesses, "
                "unrolled loops, less address arithmetic"),
            "core.issue", 2);
        return;
    }
    for (int u = 0; u < g->nunits; u++) {
        if (strcmp(g->units[u].name, use->name) != 0 || use->bound != ORR_BOUND_COMPUTE) continue;
        const char *name = orr_arena_printf(&x->arena, "unit_%s", use->name);
        orr_ideal *i = add(x, name, orr_arena_printf(&x->arena, "twice the %s units", use->name), advice);
        set(x, i, orr_arena_printf(&x->arena, "unit.%s.count", use->name), 2 * (double)g->units[u].count);
    }
}

static void add_occupancy(orr_explanation *x, const orr_gpu *g, int limiter) {
    if (limiter == ORR_LIMIT_REGISTERS)
        set(x,
            add(x, "registers", "twice the registers, so more blocks on an SM",
                "use fewer registers a thread: __launch_bounds__, smaller tiles, shorter lives"),
            "limit.sm_registers", 2 * (double)g->limit_sm_registers);
    if (limiter == ORR_LIMIT_BLOCKS)
        set(x, add(x, "block_limit", "twice as many blocks on an SM", "use larger blocks"), "limit.sm_blocks",
            2 * (double)g->limit_sm_blocks);
    if (limiter != ORR_LIMIT_SHARED) return;
    orr_ideal *i =
        add(x, "shared_size", "twice the shared memory, so more blocks on an SM",
            "use less shared memory a block: smaller tiles, narrower types, one buffer for two uses");
    orr_text list = {0};
    for (int n = 0; n < g->shared_carveouts.n; n++)
        orr_text_add(&list, "%s%lld", n ? ", " : "", (long long)g->shared_carveouts.at[n] * 2);
    set(x, i, "shared.per_sm", 2 * (double)g->shared_per_sm);
    set(x, i, "l1.size", 2 * (double)g->l1_size);
    if (list.s) set_word(x, i, "shared.carveouts", orr_arena_strdup(&x->arena, list.s));
    free(list.s);
}

// One launch cannot be merged with another.
static void add_launch(orr_explanation *x) {
    size_t launches = 0;
    for (size_t k = 0; k < orr_tape_items(x->tape); k++) launches += !orr_tape_item_at(x->tape, k)->copy;
    orr_ideal *i = add(x, "launch", "kernels start at once",
                       launches > 1 ? "do more in a launch: fuse kernels, or use a graph" : NULL);
    set(x, i, "launch.overhead", 0);
    set(x, i, "profiler.overhead", 0);
    set(x, i, "launch.drain", 0);
}

// A block that is there without delay has nothing to share with the start of others: what fewer blocks of
// more work are worth.
static void add_starts(orr_explanation *x) {
    orr_ideal *i = add(x, "block_start", "thread blocks start at once",
                       "give a block more to do: several results a thread (a loop over one dimension), or "
                       "larger blocks");
    set(x, i, "launch.block_interval", 0);
    set(x, i, "launch.fill_interval", 0);
    set(x, i, "launch.sm_interval", 0);
    set(x, i, "launch.turnaround", 0);
}

// ---- which of them ------------------------------------------------------------------------------
typedef struct reasons { // the largest of all kernels that count
    double stall[ORR_STALLS], use[ORR_BOUNDS], overhead;
    bool limited[ORR_LIMITERS];
} reasons;

static double share(uint64_t part, uint64_t all) { return all ? 100.0 * (double)part / (double)all : 0; }

static bool has(const orr_explanation *x, const char *name) {
    for (size_t k = 0; k < x->ideals.n; k++)
        if (!strcmp(x->ideals.at[k].name, name)) return true;
    return false;
}

static void look_at(orr_explanation *x, const orr_gpu *g, const orr_cost *c, reasons *why) {
    const orr_timing *t = &c->timing;
    orr_use use[ORR_USES_MAX];
    int n = orr_uses(g, &c->sum, use);
    for (int s = 0; s < ORR_STALLS; s++) {
        double v = share(t->stalls[s], t->warp_cycles);
        if (v > why->stall[s]) why->stall[s] = v;
    }
    for (int k = 0; k < n; k++) {
        if (use[k].percent > why->use[use[k].bound]) why->use[use[k].bound] = use[k].percent;
        if (use[k].bound != ORR_BOUND_COMPUTE || use[k].percent < 2 * SOME_USE) continue;
        char name[ORR_GPU_NAME_MAX + 8];
        snprintf(name, sizeof name, strcmp(use[k].name, "issue") ? "unit_%s" : "%s", use[k].name);
        if (!has(x, name)) add_units(x, g, &use[k]);
    }
    double overhead = share(t->overhead, t->cycles);
    if (overhead > why->overhead) why->overhead = overhead;
    bool full = c->sum.blocks >= (uint64_t)(t->resident > 0 ? t->resident : 0) * (uint64_t)g->sm_count;
    if (full && t->limiter >= 0 && t->limiter < ORR_LIMITERS) why->limited[t->limiter] = true;
}

static void choose_keys(orr_explanation *x, const orr_gpu *g, const reasons *why) {
    const double *stall = why->stall, *use = why->use;
    double memory = stall[ORR_STALL_LONG] + stall[ORR_STALL_GROUP] + stall[ORR_STALL_LG];
    if (stall[ORR_STALL_LONG] + stall[ORR_STALL_GROUP] >= SOME_STALL) add_latencies(x, g);
    if (memory >= SOME_STALL || use[ORR_BOUND_DRAM] >= SOME_USE) add_dram(x, g);
    if (memory >= SOME_STALL || use[ORR_BOUND_L2] >= SOME_USE || use[ORR_BOUND_CROSSBAR] >= SOME_USE)
        add_l2(x, g);
    if (use[ORR_BOUND_L1] >= SOME_USE || use[ORR_BOUND_SHARED] >= SOME_USE ||
        stall[ORR_STALL_MIO] >= SOME_STALL)
        add_l1(x, g);
    bool shared = false;
    for (size_t k = 0; k < x->uses.n; k++) shared |= x->uses.at[k].space == ORR_SPACE_SHARED;
    if (shared && stall[ORR_STALL_SHORT] >= SOME_STALL)
        set(x,
            add(x, "shared_latency", "shared memory answers in a few cycles",
                "have more of them in flight (unroll), or exchange values within a warp by shuffles"),
            "shared.latency", 4);
    if (stall[ORR_STALL_BARRIER] >= SOME_STALL)
        set_word(x,
                 add(x, "barrier", "nobody waits at a barrier",
                     "synchronise less: larger tiles, two buffers, shuffles within a warp"),
                 "core.barrier_free", "yes");
    if (stall[ORR_STALL_FETCH] + stall[ORR_STALL_CONSTANT] >= SOME_STALL)
        set_word(x,
                 add(x, "fetch", "instructions and constants are always there",
                     "make the code shorter (less unrolling, no inlining), or the launch longer"),
                 "icache.perfect", "yes");
    for (int l = 0; l < ORR_LIMITERS; l++)
        if (why->limited[l]) add_occupancy(x, g, l);
    if (use[ORR_BOUND_LAUNCH] >= SOME_USE) add_starts(x);
    if (why->overhead >= SOME_STALL) add_launch(x);
}

// ---- lines ----------------------------------------------------------------------------------------
static double per(uint64_t a, uint64_t b) { return b ? (double)a / (double)b : 0; }

typedef struct candidate {
    const orr_line_use *use;
    double worth; // what could be saved at most: sectors, passes, lanes
} candidate;
static int by_worth(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->worth != y->worth) return x->worth < y->worth ? 1 : -1;
    return x->use < y->use ? -1 : x->use > y->use;
}

static double worth(const orr_line_use *u, enum orr_ideal_access how) {
    bool global = u->space == ORR_SPACE_GLOBAL;
    switch (how) {
    case ORR_ACCESS_IN_ORDER:
        if (!global || u->kind == ORR_ACCESS_ATOMICS ||
            (double)u->sectors < SOME_EXCESS * (double)u->sectors_in_order)
            return 0;
        return (double)(u->sectors - u->sectors_in_order);
    case ORR_ACCESS_PACKED:
        if (!global || u->kind == ORR_ACCESS_ATOMICS ||
            (double)u->sectors_in_order < SOME_EXCESS * (double)u->ideal_sectors)
            return 0;
        return (double)(u->sectors - u->ideal_sectors);
    case ORR_ACCESS_BANKS:
        if (global || (double)u->passes < SOME_EXCESS * (double)u->phases) return 0;
        return (double)(u->passes - u->phases);
    case ORR_ACCESS_STAGED:
        if (!global || u->kind != ORR_ACCESS_LOADS) return 0;
        return per(u->repeated, u->lanes) < SOME_REPEATS ? 0 : (double)u->sectors;
    case ORR_ACCESS_ONCE:
        if (!global || u->kind == ORR_ACCESS_STORES || per(u->repeated, u->lanes) < SOME_REPEATS) return 0;
        return (double)u->sectors;
    case ORR_ACCESS_QUARTER: return !global && u->kind == ORR_ACCESS_LOADS ? (double)u->passes : 0;
    default: return 0;
    }
}

static void describe(orr_explanation *x, const orr_line_use *u, enum orr_ideal_access how) {
    static const struct {
        const char *name, *title, *advice;
    } words[ORR_ACCESSES] = {
        [ORR_ACCESS_IN_ORDER] =
            {"coalesced", "its block's accesses in order of address",
             "let neighbouring threads access neighbouring addresses; where the other side "
             "cannot, go through a tile in shared memory"},
        [ORR_ACCESS_PACKED] = {"packed", "its block's accesses in order and without gaps",
                               "lay the data out so that what a warp needs is contiguous (arrays of members, "
                               "not of structures)"},
        [ORR_ACCESS_STAGED] = {"reused", "the block loads each element once, and keeps it near at hand",
                               "let the block load it once into shared memory, and read it there"},
        [ORR_ACCESS_ONCE] = {"once", "the block asks for each element once",
                             "keep it in registers: more results a thread"},
        [ORR_ACCESS_BANKS] = {"banks", "no bank conflicts",
                              "pad the array by a word a row, or let lanes walk it in another order"},
        [ORR_ACCESS_QUARTER] =
            {"quarter", "4 x 4 results a thread: a quarter of the kernel's loads",
             "let a thread compute more results of what it has loaded: 4 x 4 in registers, of larger tiles"},
    };
    const char *advice = words[how].advice;
    if (u->kind == ORR_ACCESS_ATOMICS && how == ORR_ACCESS_ONCE)
        advice = "collect in shared memory and add to global memory once a block (private copies)";
    if (u->kind == ORR_ACCESS_ATOMICS && how == ORR_ACCESS_BANKS)
        advice = "use several private copies, one a warp or lane group";
    orr_ideal *i = add(x, words[how].name, words[how].title, advice);
    i->access = how;
    i->use = u;
    bool shared = u->space == ORR_SPACE_SHARED;
    i->before = shared ? per(u->passes, u->requests) : per(u->sectors, u->requests);
    i->after = shared                       ? per(u->phases, u->requests)
               : how == ORR_ACCESS_IN_ORDER ? per(u->sectors_in_order, u->requests)
                                            : per(u->ideal_sectors, u->requests);
    if (how == ORR_ACCESS_STAGED || how == ORR_ACCESS_ONCE) {
        i->before = per(u->lanes, u->lanes - u->repeated);
        i->after = 1;
    }
    if (how == ORR_ACCESS_QUARTER) i->after = i->before / 4;
}

// Could a thread compute 4 x 4 results? What is in shared memory is loaded often, what is in global memory by
// several blocks, and with a sixteenth of the blocks there is one for every other SM.
static bool has_results(const orr_explanation *x, const orr_gpu *g, const orr_cost *c) {
    const orr_kernel *k = c->first->kernel;
    uint64_t loaded = 0, stored = 0;
    for (size_t n = 0; n < x->uses.n; n++) {
        const orr_line_use *u = &x->uses.at[n];
        if (u->kernel != k || u->space != ORR_SPACE_SHARED) continue;
        if (u->kind == ORR_ACCESS_LOADS) loaded += u->bytes;
        if (u->kind == ORR_ACCESS_STORES) stored += u->bytes;
    }
    return stored && (double)loaded >= SOME_REUSE * (double)stored &&
           c->counters[ORR_C_GLOBAL_LD_SECT] >= 4 * c->counters[ORR_C_DRAM_READ] &&
           (double)c->sum.blocks >= 8.0 * g->sm_count;
}

// The ideal is of a kernel: the line that loads most stands for it.
static void choose_results(orr_explanation *x, const orr_gpu *g, const orr_cost *c) {
    const orr_line_use *most = NULL;
    for (size_t n = 0; n < x->uses.n; n++) {
        const orr_line_use *u = &x->uses.at[n];
        double v = u->kernel == c->first->kernel ? worth(u, ORR_ACCESS_QUARTER) : 0;
        if (v > 0 && (!most || v > worth(most, ORR_ACCESS_QUARTER))) most = u;
    }
    if (most && has_results(x, g, c)) describe(x, most, ORR_ACCESS_QUARTER);
}

// Several lines of a kernel that could be helped in one way are also tried together.
static void choose_together(orr_explanation *x, enum orr_ideal_access how, const candidate *all, size_t n) {
    for (size_t k = 0; k < n; k++) {
        const orr_line_use *u = all[k].use;
        orr_line_use *sum = orr_arena_alloc(&x->arena, sizeof *sum);
        bool first = true;
        *sum = *u;
        for (size_t j = 0; j < n; j++) {
            const orr_line_use *v = all[j].use;
            if (v == u || v->kernel != u->kernel || v->kind != u->kind || v->space != u->space) continue;
            first &= j > k;
            sum->also++;
            sum->requests += v->requests;
            sum->lanes += v->lanes;
            sum->sectors += v->sectors;
            sum->ideal_sectors += v->ideal_sectors;
            sum->sectors_in_order += v->sectors_in_order;
            sum->passes += v->passes;
            sum->phases += v->phases;
            sum->repeated += v->repeated;
        }
        if (first && sum->also) describe(x, sum, how);
    }
}

static void choose_lines(orr_explanation *x, enum orr_ideal_access how, bool wanted) {
    candidate *all = orr_calloc(x->uses.n + 1, sizeof *all);
    size_t n = 0;
    double sum = 0;
    for (size_t k = 0; wanted && k < x->uses.n; k++) {
        double v = worth(&x->uses.at[k], how);
        if (v > 0) all[n++] = (candidate){&x->uses.at[k], v};
        sum += v;
    }
    qsort(all, n, sizeof *all, by_worth);
    for (size_t k = 0; k < n && k < MOST_LINES; k++)
        if (all[k].worth >= 0.03 * sum) describe(x, all[k].use, how);
    choose_together(x, how, all, n < MOST_LINES ? n : MOST_LINES);
    free(all);
}

// An access that is not made takes no place in the load/store unit either: its instruction is still there.
static void free_unit(orr_explanation *x, const orr_gpu *g) {
    for (size_t k = 0; k < x->ideals.n; k++) {
        orr_ideal *i = &x->ideals.at[k];
        if (i->access != ORR_ACCESS_QUARTER) continue;
        set_word(x, i, "shared.empty_free", "yes");
        if (g->lsu_width > 0) set(x, i, "lsu.width", 4 * (double)g->lsu_width);
        for (int u = 0; u < g->nunits; u++)
            if (!strcmp(g->units[u].name, "lsu")) set(x, i, "unit.lsu.count", 4 * (double)g->units[u].count);
    }
}

void orr_ideals_choose(orr_explanation *x, const orr_gpu *g, const orr_costs *costs) {
    reasons why = {0};
    double all = 0;
    for (size_t k = 0; k < costs->n; k++) all += costs->at[k]->sum.cycles;
    for (size_t k = 0; k < costs->n; k++)
        if (costs->at[k]->sum.cycles >= 0.05 * all) look_at(x, g, costs->at[k], &why);
    choose_keys(x, g, &why);
    const double *stall = why.stall;
    bool memory = stall[ORR_STALL_LONG] + stall[ORR_STALL_LG] + stall[ORR_STALL_DRAIN] >= SOME_STALL;
    bool shared = stall[ORR_STALL_SHORT] + stall[ORR_STALL_MIO] + stall[ORR_STALL_BARRIER] >= SOME_STALL;
    choose_lines(x, ORR_ACCESS_IN_ORDER, true);
    choose_lines(x, ORR_ACCESS_PACKED, true);
    choose_lines(x, ORR_ACCESS_BANKS, true);
    choose_lines(x, ORR_ACCESS_STAGED, memory);
    choose_lines(x, ORR_ACCESS_ONCE, memory);
    bool busy = shared && stall[ORR_STALL_SHORT] + stall[ORR_STALL_MIO] >= 4 * SOME_STALL;
    for (size_t k = 0; busy && k < costs->n; k++) choose_results(x, g, costs->at[k]);
    free_unit(x, g);
}
