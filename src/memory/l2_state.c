// A partition of L2 (l2.h) but for what happens in it: its parameters in ticks, its pools and the heap of its
// events, what is put there without time, its beginning and end.
#include "memory/l2.h"
#include "memory/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE         UINT32_MAX
#define NEVER        UINT64_MAX
#define ATOMIC_AHEAD 32 // cycles of work that may wait for one of a slice's units, while the other goes on

static uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }

void orr_l2_spec_read(orr_l2_spec *c, const orr_gpu *g, const orr_dram_spec *d) {
    *c = (orr_l2_spec){.fetch = g->l2_write == ORR_L2_FETCH, .mshrs = (uint32_t)g->l2_misses};
    while (ORR_LINE << (c->chunk_shift + 1) <= g->l2_interleave) c->chunk_shift++;
    while (c->sector_shift < 2 && ORR_SECTOR << (c->sector_shift + 1) <= g->l2_sector) c->sector_shift++;
    c->load_shift = c->sector_shift;
    while (c->load_shift < 2 && ORR_SECTOR << (c->load_shift + 1) <= g->l1_sector) c->load_shift++;
    double cycle = (double)ORR_TICKS * (g->clock_l2 > 0 ? g->clock_sm / g->clock_l2 : 1);
    c->cycle = max(1, (uint64_t)llround(cycle));
    c->sector = max(1, (uint64_t)llround(cycle * ORR_SECTOR * g->l2_slices / g->l2_bandwidth));
    c->atomic.op = max(1, (uint64_t)llround(cycle / g->l2_atomic));
    double more = (g->dram_latency - g->l2_latency) * (double)ORR_TICKS -
                  (double)(d->timing.rcd + d->timing.cl + d->timing.column);
    uint64_t fixed = more > 0 ? (uint64_t)llround(more) : 0;
    c->to_dram = fixed / 2;
    c->from_dram = fixed - c->to_dram;
    double write = g->l2_write_bandwidth > 0 ? g->l2_write_bandwidth : g->l2_bandwidth;
    c->store.sector = max(1, (uint64_t)llround(cycle * ORR_SECTOR * g->l2_slices / write));
    c->fill = (uint64_t)llround(cycle * g->l2_fill);
    c->fill_ahead = 64 * c->cycle;
    c->store.partial = max(c->store.sector, (uint64_t)llround(cycle * g->l2_partial));
    c->store.mask = (uint64_t)llround(cycle * g->l2_store_mask);
    c->store.allocate = (uint64_t)llround(cycle * g->l2_store_new);
    c->partial.fill = (uint64_t)llround(cycle * g->l2_partial_fill);
    c->partial.again = (uint64_t)llround(cycle * g->l2_partial_again);
    c->store.again = (uint64_t)llround(cycle * g->l2_store_again);
    c->store.turn = g->l2_copies ? (uint64_t)llround(cycle * g->l2_store_turn) : 0;
    c->store.far = g->l2_store_far > 0 ? (uint64_t)llround(cycle * g->l2_store_far) : c->store.turn;
    c->store.queue = (uint32_t)g->l2_store_queue;
    c->dirty = (uint32_t)((g->l2_dirty_lines + g->l2_slices - 1) / g->l2_slices);
    c->partial.lines = c->fetch ? 0 : (uint32_t)((g->l2_partial_lines + g->l2_slices - 1) / g->l2_slices);
    c->partial.completing = (uint32_t)g->l2_completing;
    c->partial.completed = (uint32_t)((g->l2_completed_lines + g->l2_slices - 1) / g->l2_slices);
    c->atomic.again = (uint64_t)llround(cycle * g->l2_atomic_again);
    c->atomic.switching = (uint64_t)llround(cycle * g->l2_atomic_switch);
    c->atomic.load = (uint64_t)llround(cycle * g->l2_atomic_load);
    c->fence = (uint64_t)llround(cycle * g->l2_fence_time);
    c->atomic.queue = (uint32_t)g->l2_atomic_queue;
    c->atomic.unit_mask = g->l2_atomic_units > 1;
    c->atomic.turns = g->l2_atomic_turns;
    c->atomic.clusters = g->xbar_clusters > 0 ? (uint32_t)g->xbar_clusters : 1;
    c->atomic.ahead = ATOMIC_AHEAD * c->cycle;
    c->atomic.latency = (uint64_t)llround(g->l2_atomic_latency * (double)ORR_TICKS);
    c->halves.copies = g->l2_copies && g->l2_partitions == 2;
    c->halves.acknowledge = c->halves.copies && g->l2_copy_told;
    c->store.waits = g->l2_store_waits;
    c->halves.latency = max(1, (uint64_t)llround(g->l2_far_latency / 2 * (double)ORR_TICKS));
    c->halves.sector = c->halves.copies ? (uint64_t)llround(cycle * g->l2_far_sector) : 0;
    c->halves.ahead = (uint64_t)g->l2_far_queue * c->halves.sector;
    c->merge.loads = (uint32_t)g->l2_merge;
    c->merge.time = (uint64_t)llround(g->l2_merge_time * (double)ORR_TICKS);
    c->merge.multicast = g->l2_multicast;
    c->topology = orr_topology_of(g);
    c->lookup = max(1, (uint64_t)llround(cycle * g->l2_lookup));
}

// ---- pools, and the heap of events ----------------------------------------------------------------

uint32_t orr_l2_new_waiter(orr_l2 *p) {
    uint32_t w = p->free_waiter;
    if (w == NONE) {
        w = (uint32_t)p->waiters.n;
        (void)ORR_PUSH(&p->waiters);
    } else {
        p->free_waiter = p->waiters.at[w].next;
    }
    return w;
}

void orr_l2_free_waiter(orr_l2 *p, uint32_t w) {
    p->waiters.at[w].next = p->free_waiter;
    p->free_waiter = w;
}

uint32_t orr_l2_new_miss(orr_l2 *p) {
    uint32_t m = p->free_miss;
    if (m == NONE) {
        m = (uint32_t)p->misses.n;
        (void)ORR_PUSH(&p->misses);
    } else {
        p->free_miss = p->misses.at[m].head;
    }
    return m;
}

static bool before(const orr_l2_event *a, const orr_l2_event *b) {
    if (a->time != b->time) return a->time < b->time;
    if (a->back != b->back) return b->back;
    return (int32_t)(a->seq - b->seq) < 0;
}

void orr_l2_add_event(orr_l2 *p, orr_l2_event e) {
    e.seq = p->seq++;
    (void)ORR_PUSH(&p->events);
    size_t i = p->events.n - 1;
    orr_l2_event *at = p->events.at;
    for (; i && before(&e, &at[(i - 1) / 2]); i = (i - 1) / 2) at[i] = at[(i - 1) / 2];
    at[i] = e;
}

orr_l2_event orr_l2_take_event(orr_l2 *p) {
    orr_l2_event *at = p->events.at, first = at[0], last = at[--p->events.n];
    size_t n = p->events.n, i = 0;
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(&at[child + 1], &at[child])) child++;
        if (!before(&at[child], &last)) break;
        at[i] = at[child];
    }
    if (n) at[i] = last;
    return first;
}

// ---- without time ---------------------------------------------------------------------------------

// The line, or a place for it, as the one used last; ORR_NO_LINE: all of its set are on their way.
static uint32_t line_for(orr_cache *c, uint64_t tag) {
    orr_cache_line victim;
    uint32_t i = orr_cache_find(c, tag);
    if (i == ORR_NO_LINE) i = orr_cache_take_idle(c, tag, &victim, NULL);
    if (i != ORR_NO_LINE) orr_cache_touch(c, i);
    return i;
}

void orr_l2_fill(orr_l2 *p, uint32_t slice, uint64_t tag, uint8_t sectors) {
    orr_cache *c = &p->slice[slice].cache;
    uint32_t i = line_for(c, tag);
    if (i == ORR_NO_LINE) return;
    c->line[i].valid |= sectors;
    c->line[i].dirty &= ~sectors;
}

// What a sampled simulation executed and did not simulate; loads bring as much as L1 or L2 would have asked
// for. Sectors that are on their way are left alone.
void orr_l2_warm(orr_l2 *p, uint32_t slice, uint64_t tag, uint8_t sectors, bool write) {
    orr_cache *c = &p->slice[slice].cache;
    uint32_t i = line_for(c, tag);
    if (i == ORR_NO_LINE) return;
    if (!write) sectors = orr_l2_widened(sectors, p->spec->load_shift);
    sectors &= (uint8_t)~c->line[i].pending;
    c->line[i].valid |= sectors;
    if (write) c->line[i].dirty |= sectors;
}

// And the copy that the other half has of it, when somebody there (`far`) has read it; a store from there
// goes into it (l2.copy_told).
void orr_l2_warm_copy(orr_l2 *p, orr_l2 *other, uint32_t slice, uint64_t tag, uint8_t sectors, bool write,
                      bool far) {
    orr_cache *c = &p->slice[slice].cache;
    uint32_t i = orr_cache_find(c, tag);
    if (i == ORR_NO_LINE) return;
    if (!write) {
        c->line[i].used |= ORR_LINE_COPIED;
        orr_l2_warm(other, slice, tag | ORR_L2_FAR, sectors, false);
    } else if (far && p->spec->halves.acknowledge) {
        c->line[i].used |= ORR_LINE_PASSED;
    } else if (c->line[i].used & ORR_LINE_COPIED) {
        c->line[i].used &= (uint8_t) ~(ORR_LINE_COPIED | ORR_LINE_PASSED);
        orr_l2_drop(other, slice, tag | ORR_L2_FAR);
    }
}

// ---- lanes ---------------------------------------------------------------------------------------

// A request goes into a lane, behind the others; the first one leaves it.
void orr_l2_add_to(orr_l2_slice *s, uint32_t lane, const orr_request *r) {
    orr_l2_lane *in = &s->in[lane];
    if (in->n == in->cap) {
        uint32_t cap = in->cap ? 2 * in->cap : 64;
        orr_request *at = orr_malloc((size_t)cap * sizeof *at);
        for (uint32_t i = 0; i < in->n; i++) at[i] = in->at[(in->head + i) & (in->cap - 1)];
        free(in->at);
        in->at = at;
        in->head = 0;
        in->cap = cap;
    }
    in->at[(in->head + in->n++) & (in->cap - 1)] = *r;
    s->lanes |= 1u << lane;
}

void orr_l2_take_from(orr_l2_slice *s, uint32_t lane) {
    orr_l2_lane *in = &s->in[lane];
    in->head = (in->head + 1) & (in->cap - 1);
    if (!--in->n) s->lanes &= ~(1u << lane);
}

// ---- beginning and end ----------------------------------------------------------------------------

void orr_l2_reset(orr_l2 *p) {
    for (uint32_t i = 0; i < p->channels; i++) orr_dram_reset(&p->channel[i]);
    for (uint32_t i = 0; i < p->misses.n; i++) {
        const orr_l2_miss *miss = &p->misses.at[i];
        if (miss->line == ORR_NO_LINE) continue; // a free one
        orr_cache_line *l = &p->slice[miss->slice].cache.line[miss->line];
        if (l->user != i) continue;
        l->valid |= l->pending;
        l->pending = 0;
        l->user = NONE;
    }
    for (uint32_t i = 0; i < p->slices; i++) {
        orr_l2_slice *s = &p->slice[i];
        for (int k = 0; k < ORR_L2_LANES; k++)
            s->in[k] = (orr_l2_lane){.at = s->in[k].at, .cap = s->in[k].cap, .pace = p->spec->cycle};
        s->misses = s->completing = s->now = s->lanes = s->came = 0;
        s->out_free = s->far_free = s->fill_free = s->part_time = 0;
        memset(s->atomic_free, 0, sizeof s->atomic_free);
        memset(s->atomic_busy, 0, sizeof s->atomic_busy);
        memset(s->atomic_waits, 0, sizeof s->atomic_waits);
        memset(s->atomic_last, 0, sizeof s->atomic_last);
        memset(s->atomic_piece, 0, sizeof s->atomic_piece);
        s->reducing = 0;
        s->atomic_line = s->busy_until = s->looked_up = 0;
        memset(s->slow_until, 0, sizeof s->slow_until);
        memset(s->met, 0, sizeof s->met);
        memset(s->open, 0, sizeof s->open);
        memset(s->stored, 0, sizeof s->stored);
        memset(s->worked, 0, sizeof s->worked);
        for (int k = 0; k < 2; k++) memset(s->asked[k], 0, p->words * sizeof *s->asked[k]);
    }
    p->ahead.n = p->back.n = 0;
    p->waiters.n = p->misses.n = p->events.n = 0;
    p->free_waiter = p->free_miss = NONE;
    p->seq = 0;
    p->until = p->now = 0;
    p->stuck = false;
    p->stats = (orr_memsys_stats){0};
}

void orr_l2_init(orr_l2 *p, const orr_l2_spec *c, const orr_gpu *g, const orr_dram_spec *d, uint32_t slices,
                 uint32_t channels, uint32_t first_channel) {
    *p = (orr_l2){.spec = c, .slices = slices, .channels = channels, .free_waiter = NONE, .free_miss = NONE};
    p->slice = orr_calloc(slices, sizeof *p->slice);
    p->channel = orr_calloc(channels, sizeof *p->channel);
    uint64_t bytes = (uint64_t)g->l2_size / (uint64_t)g->l2_slices;
    p->words = (uint32_t)(g->sm_count + 63) / 64;
    for (uint32_t i = 0; i < 2 * slices; i++)
        p->slice[i / 2].asked[i % 2] = orr_calloc(p->words, sizeof *p->slice->asked[0]);
    for (uint32_t i = 0; i < slices; i++)
        orr_cache_init(&p->slice[i].cache, bytes, ORR_LINE, (uint32_t)g->l2_ways, g->l2_hashed, !c->fetch);
    for (uint32_t i = 0; i < channels; i++) orr_dram_init(&p->channel[i], d, first_channel + i);
    orr_l2_reset(p);
}

void orr_l2_free(orr_l2 *p) {
    for (uint32_t i = 0; i < p->slices; i++) {
        orr_cache_free(&p->slice[i].cache);
        for (int k = 0; k < ORR_L2_LANES; k++) free(p->slice[i].in[k].at);
        free(p->slice[i].asked[0]);
        free(p->slice[i].asked[1]);
    }
    for (uint32_t i = 0; i < p->channels; i++) orr_dram_free(&p->channel[i]);
    free(p->slice);
    free(p->channel);
    free(p->ahead.at);
    free(p->back.at);
    free(p->waiters.at);
    free(p->misses.at);
    free(p->events.at);
}
