// Sampling a launch while it is simulated (TBPoint, section IV-B2).
//
// A homogeneous region is entered when all thread blocks that run are in it. From then on its blocks are
// simulated, sampling unit by sampling unit, until two in a row have nearly the same IPC: the caches are
// warm. Then blocks of the region are left out, and the IPC of the last unit is taken to be theirs. The
// region is left with the first block that is not in it.
//
// A sampling unit is as long as it takes as many blocks to end as the GPU holds: on the average every place
// on an SM has then run one block from its start to its end. TBPoint follows one block instead; on a GPU that
// holds a thousand blocks, one of them is a poor clock for all. Blocks end at known cycles, so a unit needs
// no window of the model to end with it.
//
// Two units that differ by less than 10 % are enough for TBPoint. Here that only ends the warming: on a
// kernel that keeps DRAM busy, units go on rising for a dozen more, because all SMs began at the same time,
// and then vary by some percent from one to the next. So units are added until the later half of them is
// steady: its mean differs by no more than the precision from that of the quarter before it, it neither rises
// nor falls by more than that, and the confidence interval of its mean (Student's t) is no wider. A region
// that is never that steady is simulated to its end. orr_sample_options.precision = 0 switches this off.
//
// What is steady may still change: a large L2 fills slowly, and once it is full lines must be written back;
// and a launch whose blocks all began together gets faster or slower as they part. So no more is left out at
// a time than GROW times what came before. Then a unit is looked at, after one whose blocks began before the
// gap in part. Is it as before, by the precision, both together are the IPC; else units are added until they
// are steady again, and the blocks in the gap get the mean of before and after.
//
// What is left out is a whole number of times what the GPU holds. The machine does not notice: it goes on
// with the blocks that run, and where these blocks would be in their wave (all of one wave end at nearly the
// same time when blocks are equal) the ones after the gap are. So neither the beginning of a launch nor its
// end, when the SMs run empty, is ever predicted. Blocks need not begin in order: what turns out to have
// begun when it was to be left out is taken back. Where the last blocks of a launch are not like the others,
// all that run at its end are simulated.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample/sample.h"

// Chosen, as the precision, on workloads other than those that results are reported of
// (docs/how/sampling.md).
#define FEWEST 4 // units before any are left out: two to be compared with two
#define GROW   1.5
#define LOOK   2 // units that it takes to look: fewer are not worth it

typedef struct ending {
    uint64_t end, block;
} ending;

typedef struct unit { // a sampling unit
    double insts, cycles;
} unit;

typedef struct gap { // blocks that were left out
    uint32_t region;
    double insts;
    double before, after; // IPC
} gap;

struct orr_control {
    orr_sampler sampler; // first
    orr_sample_options o;
    const orr_sp_launch *launch;
    uint64_t *insts, *requests; // by block
    bool *done;                 // by block: ended, or left out
    uint32_t *left_out;         // by block: 0, or the gap it is in, from 1
    uint64_t ended, skipped;    // blocks so far
    uint64_t low;               // all blocks before it are done
    uint64_t resident;
    orr_region *regions;
    uint32_t nregions;
    orr_region_result *results; // [nregions]
    uint32_t at;                // region that is next, or under way
    bool inside;
    uint64_t entered;        // cycle
    uint64_t last;           // cycle the last block ended before that
    ORR_VEC(ending) endings; // of the region's blocks since then, or since the last gap
    ORR_VEC(unit) units;
    ORR_VEC(gap) gaps;
    uint32_t settled; // units that the region's IPC is the mean of
    bool open;        // the last gap waits for the IPC after it
};

// Student's t, two-sided 95 %, by degrees of freedom.
double orr_student(uint32_t df) {
    static const double t[] = {0,     12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                               2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
    return !df ? (double)NAN : df < 21 ? t[df] : 1.96 + 2.5 / df;
}

static int by_end(const void *a, const void *b) {
    const ending *p = a, *q = b;
    if (p->end != q->end) return p->end < q->end ? -1 : 1;
    return p->block < q->block ? -1 : p->block > q->block;
}

static void begin(orr_sampler *s, uint64_t resident, uint64_t start) {
    orr_control *c = (orr_control *)s;
    c->resident = resident;
    c->last = start;
    c->regions = orr_regions(c->insts, c->requests, c->launch->blocks,
                             (orr_region_rule){resident, c->o.intra, c->o.variation, c->o.precision > 0},
                             &c->nregions);
    c->results = orr_calloc(c->nregions + 1, sizeof *c->results);
    for (uint32_t r = 0; r < c->nregions; r++) {
        orr_region_result *x = &c->results[r];
        x->first = c->regions[r].first;
        x->end = c->regions[r].end;
        x->ipc = x->deviation = x->width = NAN;
        for (uint64_t b = x->first; b < x->end; b++) x->insts += c->insts[b];
    }
}

// A block that was to be left out had begun.
static void take_back(orr_control *c, uint64_t block) {
    gap *g = &c->gaps.at[c->left_out[block] - 1];
    c->left_out[block] = 0;
    c->skipped--;
    g->insts -= (double)c->insts[block];
    c->results[g->region].skipped--;
    c->results[g->region].skipped_insts -= c->insts[block];
}

static void ended(orr_sampler *s, const orr_span *spans, size_t n) {
    orr_control *c = (orr_control *)s;
    for (size_t i = 0; i < n; i++) {
        if (spans[i].block >= c->launch->blocks) continue;
        c->done[spans[i].block] = true;
        c->ended++;
        if (c->left_out[spans[i].block]) take_back(c, spans[i].block);
        if (c->inside && spans[i].block < c->regions[c->at].end)
            *ORR_PUSH(&c->endings) = (ending){spans[i].end, spans[i].block};
        else if (!c->inside && spans[i].end > c->last)
            c->last = spans[i].end;
    }
    while (c->low < c->launch->blocks && c->done[c->low]) c->low++;
}

// Unit u of those ended so far, in order; its first and last cycle are those in which a block ended.
static unit unit_of(const orr_control *c, size_t u) {
    const ending *e = c->endings.at + u * c->resident;
    uint64_t from = u ? e[-1].end : c->entered, to = e[c->resident - 1].end;
    unit x = {0, to > from ? (double)(to - from) : 1};
    for (uint64_t i = 0; i < c->resident; i++) x.insts += (double)c->insts[e[i].block];
    return x;
}

static double ipc_of(const unit *u, size_t n) {
    unit sum = {0};
    for (size_t i = 0; i < n; i++) {
        sum.insts += u[i].insts;
        sum.cycles += u[i].cycles;
    }
    return sum.insts / sum.cycles;
}

// Half the width of the 95 % confidence interval of the mean IPC, as a share of it.
static double width(const unit *u, size_t n) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < n; i++) mean += u[i].insts / u[i].cycles / (double)n;
    for (size_t i = 0; i < n; i++) square += pow(u[i].insts / u[i].cycles - mean, 2);
    return n > 1 ? orr_student((uint32_t)n - 1) * sqrt(square / (double)(n - 1) / (double)n) / mean
                 : INFINITY;
}

// How much the IPC rises or falls from the first to the last of them, as a share of it: least squares.
static double drift(const unit *u, size_t n) {
    double mean = 0, up = 0, across = 0, middle = ((double)n - 1) / 2;
    for (size_t i = 0; i < n; i++) mean += u[i].insts / u[i].cycles / (double)n;
    for (size_t i = 0; i < n; i++) {
        up += ((double)i - middle) * (u[i].insts / u[i].cycles - mean);
        across += ((double)i - middle) * ((double)i - middle);
    }
    return n > 1 ? fabs(up / across * (double)(n - 1) / mean) : INFINITY;
}

// Are the units after a gap as those before it? Then all of them together are the IPC, in the gap as well.
static bool as_before(orr_control *c, orr_region_result *x, const unit *u, size_t n) {
    double now = ipc_of(u, n), was = x->ipc;
    if (fabs(now / was - 1) > c->o.precision) return false;
    x->ipc = (was * c->settled + now * (double)n) / (double)(c->settled + n);
    x->used += (uint32_t)n;
    x->width = fmax(x->width, fabs(now - was) / (now + was));
    c->settled += (uint32_t)n;
    c->gaps.at[c->gaps.n - 1].before = x->ipc;
    return true;
}

// Have the units become steady? Fills what is taken of them.
static bool steady(orr_control *c, orr_region_result *x) {
    const unit *u = c->units.at;
    size_t n = c->units.n;
    if (n < 2) return false;
    double last = ipc_of(u + n - 1, 1), before = ipc_of(u + n - 2, 1);
    x->deviation = fabs(last - before) / last;
    if (c->o.precision <= 0) {
        x->ipc = last;
        x->used = 1;
        return x->deviation <= c->o.steady;
    }
    if (c->open) { // half of the first unit's blocks began before the gap
        u++;
        n--;
        if (as_before(c, x, u, n)) return true;
    }
    size_t half = n / 2;
    double ipc = ipc_of(u + half, n - half), earlier = ipc_of(u + half / 2, half - half / 2);
    double wide = width(u + half, n - half);
    if (n < FEWEST || x->deviation > c->o.steady || fabs(earlier / ipc - 1) > c->o.precision ||
        drift(u + half, n - half) > c->o.precision || wide > c->o.precision)
        return false;
    x->ipc = ipc;
    x->used += c->settled = (uint32_t)(n - half);
    x->width = wide;
    return true;
}

// From which block on those left out are worth their place in L2: the last ones, as many as fit.
static uint64_t warm_from(const orr_control *c, uint64_t next, uint64_t to) {
    if (!c->o.warm) return to;
    uint64_t bytes = 0, b = to;
    while (b > next && bytes < c->o.l2_bytes) bytes += c->requests[--b] * 128;
    return b;
}

// Blocks before the region's end that must be simulated: those that run when the launch ends, if they differ.
static uint64_t kept(const orr_control *c, const orr_region_result *x) {
    if (x->end < c->launch->blocks || c->o.precision <= 0 || x->end - x->first < c->resident) return 0;
    double tail = 0, mean = (double)x->insts / (double)(x->end - x->first);
    for (uint64_t b = x->end - c->resident; b < x->end; b++)
        tail += (double)c->insts[b] / (double)c->resident;
    return fabs(tail / mean - 1) > 0.02 ? c->resident : 0;
}

// Blocks from `next` on that have begun: an SM may keep a block in stock while others go on with later ones.
// Where some of those have ended, all that began, less those before `next`.
static uint64_t begun(const orr_control *c, uint64_t next, uint64_t end) {
    uint64_t beyond = 0, before = next - c->skipped, all = c->ended + c->resident;
    for (uint64_t b = next; b < end; b++) beyond += c->done[b];
    if (beyond && all > before && all - before > beyond) beyond = all - before;
    return beyond < end - next ? beyond : end - next;
}

// How many of n blocks may be left out at a time: a multiple of those before; all, when few would be left.
static uint64_t at_a_time(const orr_control *c, uint64_t next, uint64_t n) {
    if (c->o.precision <= 0) return n;
    uint64_t waves = (uint64_t)(GROW * (double)(next - c->regions[c->at].first) / (double)c->resident);
    uint64_t most = (waves ? waves : 1) * c->resident;
    return n <= most + LOOK * c->resident ? n : most;
}

static void close_gap(orr_control *c, orr_region_result *x) {
    gap *g = &c->gaps.at[c->gaps.n - 1];
    g->after = x->ipc;
    double apart = fabs(g->after - g->before) / (g->after + g->before);
    if (apart > x->width) x->width = apart;
    c->open = false;
}

// The units used so far are done with; blocks that ended after the last of them begin the next.
static void restart(orr_control *c) {
    size_t used = c->units.n * c->resident;
    c->entered = c->endings.at[used - 1].end;
    memmove(c->endings.at, c->endings.at + used, (c->endings.n - used) * sizeof *c->endings.at);
    c->endings.n -= used;
    c->units.n = 0;
}

static uint64_t leave_out(orr_control *c, uint64_t next, uint64_t *warm) {
    orr_region_result *x = &c->results[c->at];
    uint64_t early = begun(c, next, x->end), left = x->end - next - early, keep = kept(c, x);
    uint64_t all = left > keep ? (left - keep) / c->resident * c->resident : 0, n = at_a_time(c, next, all);
    bool again = n < all;
    if (c->open) close_gap(c, x);
    uint64_t to = n ? next + early + n : next;
    gap *g = ORR_PUSH(&c->gaps);
    *g = (gap){.region = c->at, .before = x->ipc, .after = x->ipc};
    for (uint64_t b = next; b < to; b++) {
        if (c->done[b]) continue;
        x->skipped++;
        x->skipped_insts += c->insts[b];
        g->insts += (double)c->insts[b];
        c->left_out[b] = (uint32_t)c->gaps.n;
        c->done[b] = true;
        c->skipped++;
    }
    *warm = warm_from(c, next, to);
    if (again) {
        c->open = true;
        restart(c);
    } else {
        c->inside = false;
        c->at++;
    }
    return to;
}

static uint64_t resume(orr_sampler *s, uint64_t next, uint64_t *warm) {
    orr_control *c = (orr_control *)s;
    while (c->at < c->nregions && next + c->resident > c->regions[c->at].end) { // nothing left to leave out
        c->inside = false;
        c->at++;
    }
    if (c->at == c->nregions) return next;
    const orr_region *r = &c->regions[c->at];
    if (!c->inside) {
        if (c->low < r->first || next < r->first) return next;
        c->inside = true;
        c->open = false;
        c->entered = c->last;
        c->endings.n = c->units.n = 0;
        return next;
    }
    orr_region_result *x = &c->results[c->at];
    size_t units = c->endings.n / c->resident;
    if (units <= c->units.n) return next;
    qsort(c->endings.at, c->endings.n, sizeof *c->endings.at, by_end);
    bool now = false;
    while (c->units.n < units && !now) {
        unit u = unit_of(c, c->units.n);
        *ORR_PUSH(&c->units) = u;
        x->units++;
        now = steady(c, x);
    }
    return now ? leave_out(c, next, warm) : next;
}

orr_control *orr_control_new(const orr_sp_launch *l, const orr_sample_options *o) {
    orr_control *c = orr_calloc(1, sizeof *c);
    c->sampler = (orr_sampler){begin, ended, resume};
    c->o = *o;
    c->launch = l;
    c->insts = orr_malloc((l->blocks + 1) * sizeof *c->insts);
    c->requests = orr_malloc((l->blocks + 1) * sizeof *c->requests);
    c->done = orr_calloc(l->blocks + 1, sizeof *c->done);
    c->left_out = orr_calloc(l->blocks + 1, sizeof *c->left_out);
    orr_sp_expand(l, c->insts, c->requests);
    return c;
}

orr_sampler *orr_control_sampler(orr_control *c) { return &c->sampler; }

double orr_control_end(orr_control *c, orr_launch_sample *s, orr_arena *a) {
    double more = 0;
    s->insts = s->simulated_insts = c->launch->warp_insts;
    s->blocks = s->simulated_blocks = c->launch->blocks;
    s->nregions = c->nregions;
    s->regions = orr_arena_alloc(a, (c->nregions + 1) * sizeof *s->regions);
    for (size_t g = 0; g < c->gaps.n; g++) {
        const gap *x = &c->gaps.at[g];
        c->results[x->region].cycles += x->insts * 2 / (x->before + x->after);
    }
    for (uint32_t r = 0; r < c->nregions; r++) {
        orr_region_result *x = &c->results[r];
        if (x->skipped) x->ipc = (double)x->skipped_insts / x->cycles;
        s->regions[r] = *x;
        s->simulated_insts -= c->results[r].skipped_insts;
        s->simulated_blocks -= c->results[r].skipped;
        more += c->results[r].cycles;
    }
    return more;
}

void orr_control_free(orr_control *c) {
    if (!c) return;
    free(c->insts);
    free(c->requests);
    free(c->done);
    free(c->left_out);
    free(c->regions);
    free(c->results);
    free(c->endings.at);
    free(c->units.at);
    free(c->gaps.at);
    free(c);
}

orr_sample_options orr_sample_defaults(void) {
    return (orr_sample_options){.inter = ORR_SP_INTER,
                                .intra = ORR_SP_INTRA,
                                .variation = ORR_SP_VARIATION,
                                .steady = ORR_SP_STEADY,
                                .precision = ORR_SP_PRECISION,
                                .total = ORR_SP_TOTAL};
}
