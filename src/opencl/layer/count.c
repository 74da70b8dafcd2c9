// What work-items have counted, to what warps did: a warp comes through a segment as often as the lane that
// comes through it most often.
//
// Most warps of a launch do the same as the one before them, or as the one in their place of the thread block
// before. Those are found by comparing their counters, so that a large grid costs little more than reading
// what it counted; what others did is worked out lane by lane.
#include "opencl/layer/layer.h"

#include <stdlib.h>
#include <string.h>

typedef struct counting {
    const noted_kernel *kernel;
    const uint32_t *counts; // [counters][work-items]
    uint64_t items;
    int32_t *lane; // [segments][lanes] of one warp
    warp_counts *out;
    ORR_VEC(uint64_t) times; // [patterns] warps that have it
} counting;

static bool called(const noted_kernel *k, const orr_segment *x) {
    const orr_annotated *a = &k->of->source;
    bool ours = x->function == (uint32_t)(k->function - a->functions);
    return ours || (k->function->calls && !a->functions[x->function].kernel);
}

// The counts of a segment by each lane of the warp that begins with work-item `first` and has n.
static void lanes_of(const counting *c, uint32_t s, uint64_t first, uint32_t n) {
    const orr_segment *x = &c->kernel->of->source.segments[s];
    int32_t *v = c->lane + (size_t)s * ORR_WARP;
    memset(v, 0, ORR_WARP * sizeof *v);
    if (!called(c->kernel, x)) return;
    if (x->counter >= 0) {
        memcpy(v, c->counts + (uint64_t)x->counter * c->items + first, n * sizeof *v);
    } else if ((int32_t)s == c->kernel->function->first) {
        for (uint32_t j = 0; j < n; j++) v[j] = 1;
    } else {
        for (uint32_t q = 0; q < x->nterms; q++) {
            int32_t term = x->term[q], other = (term > 0 ? term : -term) - 1, sign = term > 0 ? 1 : -1;
            const int32_t *o = c->lane + (size_t)other * ORR_WARP;
            for (uint32_t j = 0; j < ORR_WARP; j++) v[j] += sign * o[j];
        }
    }
}

// A warp that does what none did that it was compared with.
static uint32_t new_pattern(counting *c, uint64_t first, uint32_t n) {
    uint32_t segments = c->out->segments;
    size_t begin = c->out->patterns.n;
    for (uint32_t s = 0; s < segments; s++) ORR_PUSH(&c->out->patterns);
    for (uint32_t i = 0; i < c->kernel->norder; i++) {
        uint32_t s = c->kernel->order[i];
        lanes_of(c, s, first, n);
        const int32_t *v = c->lane + (size_t)s * ORR_WARP;
        int32_t most = 0;
        int64_t all = 0;
        for (uint32_t j = 0; j < ORR_WARP; j++) {
            int32_t positive = v[j] > 0 ? v[j] : 0;
            most = positive > most ? positive : most;
            all += positive;
        }
        c->out->patterns.at[begin + s] = (warp_run){(uint32_t)most, (uint64_t)all};
    }
    ORR_PUSH(&c->times);
    return (uint32_t)c->times.n - 1;
}

static bool same(const counting *c, uint64_t first, uint64_t other, uint32_t n) {
    for (uint32_t k = 0; k < c->kernel->function->ncounters; k++) {
        const uint32_t *row = c->counts + k * c->items;
        if (memcmp(row + first, row + other, n * sizeof *row) != 0) return false;
    }
    return true;
}

// Runs and lanes of all warps together.
static void add_up(counting *c) {
    warp_counts *o = c->out;
    o->runs = orr_calloc(o->segments + 1, sizeof *o->runs);
    o->lanes = orr_calloc(o->segments + 1, sizeof *o->lanes);
    for (size_t p = 0; p < c->times.n; p++)
        for (uint32_t s = 0; s < o->segments; s++) {
            const warp_run *r = &o->patterns.at[p * o->segments + s];
            o->runs[s] += (double)r->most * (double)c->times.at[p];
            o->lanes[s] += (double)r->lanes * (double)c->times.at[p];
        }
}

void count_warps(const noted_kernel *k, const noted_launch *l, warp_counts *out) {
    *out = (warp_counts){.segments = k->of->source.nsegments};
    out->tbs = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    out->threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    out->warps = (uint32_t)((out->threads + ORR_WARP - 1) / ORR_WARP);
    out->of_warp = orr_calloc(out->tbs * out->warps + 1, sizeof *out->of_warp);
    counting c = {.kernel = k, .counts = l->counts, .items = l->items, .out = out};
    c.lane = orr_calloc((size_t)out->segments * ORR_WARP + 1, sizeof *c.lane);
    for (uint64_t b = 0; b < out->tbs; b++)
        for (uint32_t w = 0; w < out->warps; w++) {
            uint64_t first = b * out->threads + (uint64_t)w * ORR_WARP, warp = b * out->warps + w;
            uint32_t left = (uint32_t)out->threads - w * ORR_WARP, n = left < ORR_WARP ? left : ORR_WARP;
            uint32_t *p = &out->of_warp[warp];
            if (w && n == ORR_WARP && same(&c, first, first - ORR_WARP, n))
                *p = p[-1];
            else if (b && same(&c, first, first - out->threads, n))
                *p = out->of_warp[warp - out->warps];
            else
                *p = new_pattern(&c, first, n);
            c.times.at[*p]++;
        }
    add_up(&c);
    free(c.lane);
    free(c.times.at);
}

void count_free(warp_counts *c) {
    free(c->of_warp);
    free(c->patterns.at);
    free(c->runs);
    free(c->lanes);
}
