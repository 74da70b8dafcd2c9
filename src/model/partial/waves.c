// The blocks that are on the GPU together ask for their lines in tags of L2's size (see residency.c).
//
// At first nothing is known of how fast they are: all do the same at the same time, block after block, wave
// after wave. Once the SM has been simulated it is known that they are not: a scheduler that prefers the
// oldest warp lets old blocks run ahead of young ones (`pace`: when each of the SM's blocks began and ended).
// Then each block has a clock. It advances with the block's instructions at its pace, by the way to memory
// more for what it does not find in L2 and by as much less for what it finds more often than the last time;
// who is behind is next. So a block that runs ahead of its neighbour is the one that has to fetch what they
// share, which holds it back, and the neighbour finds it; and when they are further apart than L2 remembers,
// both fetch it.
#include "model/partial/residency.h"

#include <stdlib.h>

#define LOOKUPS (24ull << 20) // more or less, for a launch

static void note(tags *t, uint64_t line, uint8_t sectors, bool write) {
    if (!sectors || t->traffic.n == TRAFFIC_MAX) return;
    orr_request r = {.line = line, .sectors = sectors, .kind = write ? ORR_REQ_WRITE : ORR_REQ_READ};
    for (int n = 0; n < 4 && write; n++)
        if (sectors >> n & 1) r.bytes[n / 2] |= 0xffffffffull << (n % 2 * 32);
    *ORR_PUSH(&t->traffic) = r;
}

// Sectors that were not there.
static uint32_t ask(look *l, tags *t, const entry *e, uint64_t addr, uint32_t wave, bool count) {
    inst_sum *s = &l->sum[e->inst];
    uint32_t fetched = 0;
    for (uint64_t end = addr + e->bytes; addr < end;) {
        uint64_t line = addr / ORR_LINE, to = (line + 1) * ORR_LINE < end ? (line + 1) * ORR_LINE : end;
        uint32_t lo = (uint32_t)(addr % ORR_LINE / ORR_SECTOR),
                 hi = (uint32_t)((to - 1) % ORR_LINE / ORR_SECTOR);
        uint8_t sectors = (uint8_t)((2u << hi) - (1u << lo));
        uint32_t at = orr_cache_find(&t->l2, line);
        uint8_t missing = sectors;
        if (at == ORR_NO_LINE) {
            orr_cache_line victim;
            at = orr_cache_take(&t->l2, line, &victim, NULL);
            if (count && victim.flags) {
                t->evicted += (uint32_t)orr_popc(victim.dirty);
                note(t, victim.tag, victim.dirty, true);
            }
            t->l2.line[at].user = 0;
            t->since[at] = 0;
            if (warm_has(t->was, addr)) t->l2.line[at].valid = 15;
        }
        orr_cache_line *c = &t->l2.line[at];
        missing &= (uint8_t)~c->valid;
        c->valid |= sectors;
        if (e->write) c->dirty |= sectors;
        bool late = !missing && !e->write && t->since[at] && t->now - t->since[at] <= t->away;
        if (missing && !e->write) t->since[at] = t->now;
        if (!e->write) fetched += (uint32_t)orr_popc(missing);
        if (count) {
            uint32_t n = (uint32_t)orr_popc(sectors), m = (uint32_t)orr_popc(missing);
            s->lines++;
            t->lines++;
            if (c->user != wave) {
                s->distinct++;
                t->distinct++;
            }
            if (e->write) {
                t->stored += n;
            } else {
                s->asked += n;
                s->missed += m;
                note(t, line, missing, false);
                s->late += late ? n : 0;
                t->asked += n;
                t->missed += m;
            }
        }
        c->user = wave;
        orr_cache_touch(&t->l2, at);
        addr = to;
    }
    return fetched;
}

// Which waves: all of a small grid; else as many as fill L2, in the middle, and one more that is counted.
typedef struct range {
    uint64_t wave;        // blocks of one
    uint64_t n;           // entries
    uint64_t first, last; // waves
    uint64_t counted;     // from this one on
} range;

static range choose(const look *l) {
    const plan *p = l->p;
    range r = {.wave = p->active * (p->n < p->most ? p->n : p->most), .n = l->entries.n};
    uint64_t waves = (p->total + r.wave - 1) / r.wave;
    if (r.n > LOOKUPS / r.wave + 1) r.n = LOOKUPS / r.wave + 1; // the beginning of long blocks
    uint64_t can = LOOKUPS / (r.n * r.wave);
    if (can < 1) can = 1;
    uint64_t full =
        3 * ((uint64_t)l->g->l2_size / ORR_LINE) / (2 * r.n * r.wave) + 2; // after so many L2 is full
    r.last = waves;
    if (waves > can || waves > 4 * full + 8) {
        uint64_t run = full + 1 < can ? full + 1 : can;
        r.last = waves / 2 + 1;
        if (r.last < run) r.last = run;
        r.first = r.last - run;
        r.counted = r.last - 1; // the last one
    }
    return r;
}

static bool together(const entry *a, const entry *b) { return a->order == b->order && a->inst == b->inst; }

static uint64_t address(const look *l, const entry *e, uint64_t x, uint64_t y, uint64_t z) {
    return e->addr + (uint64_t)e->step[0] * (x - l->base[0]) + (uint64_t)e->step[1] * (y - l->base[1]) +
           (uint64_t)e->step[2] * (z - l->base[2]);
}

// Which sides of the grid a block is at: bits of entry.lacks.
static uint8_t sides(const uint32_t grid[3], uint64_t x, uint64_t y, uint64_t z) {
    uint64_t at[3] = {x, y, z};
    uint8_t bits = 0;
    for (int d = 0; d < 3; d++)
        if (grid[d] > 1) bits |= (uint8_t)((at[d] == 0) << 2 * d | (at[d] + 1 == grid[d]) << (2 * d + 1));
    return bits;
}

static bool does(const entry *e, uint8_t sides) {
    return !(e->lacks & sides) && (!e->only || e->only & sides);
}

static void side_by_side(look *l, tags *t, const range *r, uint64_t *lookups) {
    const uint32_t *grid = l->w->info.grid;
    for (uint64_t v = r->first; v < r->last; v++) {
        uint64_t from = v * r->wave, to = from + r->wave < l->p->total ? from + r->wave : l->p->total;
        for (uint64_t i = 0, next; i < r->n; i = next) { // block after block does what belongs together
            const entry *e = &l->entries.at[i];
            for (next = i + 1; next < r->n && together(e, &l->entries.at[next]);) next++;
            t->now = e->order + 1;
            uint64_t x = from % grid[0], y = from / grid[0] % grid[1], z = from / grid[0] / grid[1];
            for (uint64_t b = from; b < to; b++) {
                uint8_t at = sides(grid, x, y, z);
                for (uint64_t k = i; k < next; k++)
                    if (does(&l->entries.at[k], at))
                        ask(l, t, &l->entries.at[k], address(l, &l->entries.at[k], x, y, z),
                            (uint32_t)(v - r->first + 1), v >= r->counted);
                if (++x == grid[0]) {
                    x = 0;
                    if (++y == grid[1]) y = 0, z++;
                }
            }
            *lookups += (to - from) * (next - i);
        }
    }
}

// ---- each at its pace -----------------------------------------------------------------------------------
typedef struct clock {
    double now;   // cycles
    double speed; // cycles of its own for one of the base block
    uint64_t block;
    uint64_t next; // entry
    uint8_t edge;  // bits of entry.lacks
} clock;

static bool before(const clock *a, const clock *b) {
    return a->now < b->now || (a->now <= b->now && a->block < b->block);
}

static void sift(clock *heap, uint64_t n, uint64_t at) {
    for (;;) {
        uint64_t best = at, left = 2 * at + 1;
        if (left < n && before(&heap[left], &heap[best])) best = left;
        if (left + 1 < n && before(&heap[left + 1], &heap[best])) best = left + 1;
        if (best == at) return;
        clock x = heap[at];
        heap[at] = heap[best];
        heap[best] = x;
        at = best;
    }
}

// The SM's `turn`-th block: when it starts, and how long it takes.
static void begin(const look *l, clock *c, uint64_t block, uint64_t turn, double now) {
    const pace *p = l->pace;
    const uint32_t *grid = l->w->info.grid;
    uint64_t at = turn, again = p->n < l->p->most ? p->n : l->p->most;
    if (at >= p->n) at = p->n - 1 - (p->n - 1 - at % p->n) % again;
    *c = (clock){.block = block, .now = now > 0 ? now : p->start[at]};
    c->speed = (p->end[at] - p->start[at]) / p->usual;
    c->edge = sides(grid, block % grid[0], block / grid[0] % grid[1], block / grid[0] / grid[1]);
}

// What the base block's time is made of: so much an instruction, and the way to L2 for each of its loads. How
// many of these overlap is not known; they are taken to be half of it at most.
typedef struct costs {
    double inst, load, way, mean;
} costs;

static costs costs_of(const look *l, const range *r) {
    const pace *p = l->pace;
    costs c = {.way = l->g->dram_latency - l->g->l2_latency};
    double loads = 0, insts = 0;
    for (uint64_t i = 0; i < r->n; i++)
        if (!l->entries.at[i].write && (!i || !together(&l->entries.at[i - 1], &l->entries.at[i]))) loads++;
    if (r->n) insts = r->n < l->entries.n ? l->entries.at[r->n].at : l->longest;
    double length = l->longest ? p->usual * insts / l->longest : p->usual; // of what is looked at
    c.load = loads > 0 ? length / 2 / loads : 0;
    if (c.load > l->g->l2_latency) c.load = l->g->l2_latency;
    c.inst = insts > 0 ? (length - loads * c.load) / insts : 0;
    for (size_t i = 0; i < p->nwaits; i++) c.mean += (double)p->waits[i] / (double)p->nwaits;
    return c;
}

static void at_their_pace(look *l, tags *t, const range *r, uint64_t *lookups) {
    const uint32_t *grid = l->w->info.grid;
    const pace *p = l->pace;
    uint64_t from = r->first * r->wave,
             to = r->last * r->wave < l->p->total ? r->last * r->wave : l->p->total;
    uint64_t n = to - from < r->wave ? to - from : r->wave, next = from + n;
    costs cost = costs_of(l, r);
    clock *heap = orr_calloc(n + 1, sizeof *heap);
    for (uint64_t i = 0; i < n; i++) begin(l, &heap[i], from + i, i / l->p->active, 0);
    for (uint64_t i = n; i-- > 0;) sift(heap, n, i);
    // on a clock that has loads overlap, what is on its way comes as much sooner
    double away = cost.way * cost.load / l->g->l2_latency;
    t->away = away > 0 ? (uint32_t)away : 0;
    for (size_t wait = 0; n;) {
        clock *c = &heap[0];
        uint64_t b = c->block, wave = b / r->wave, i = c->next;
        uint64_t x = b % grid[0], y = b / grid[0] % grid[1], z = b / grid[0] / grid[1];
        const entry *e = &l->entries.at[i];
        bool missed = false, some = false;
        t->now = (uint32_t)c->now + 1;
        do {
            const entry *a = &l->entries.at[i];
            if (!does(a, c->edge)) continue;
            some = true;
            missed |=
                ask(l, t, a, address(l, a, x, y, z), (uint32_t)(wave - r->first + 1), wave >= r->counted) > 0;
        } while (++i < r->n && together(e, &l->entries.at[i]));
        *lookups += i - c->next;
        c->next = i;
        uint32_t at = i < l->entries.n ? l->entries.at[i].at : l->longest;
        double step = at > e->at ? cost.inst * (at - e->at) : 0;
        if (some && !e->write) step += cost.load + cost.way * ((missed ? 1 : 0) - (double)p->far[e->inst]);
        if (missed && p->nwaits) step += (double)p->waits[wait++ % p->nwaits] - cost.mean;
        if (step > 0) c->now += step * c->speed;
        if (i == r->n && next < to) {
            begin(l, c, next, (next - from) / l->p->active, c->now);
            next++;
        } else if (i == r->n) {
            heap[0] = heap[--n];
        }
        sift(heap, n, 0);
    }
    free(heap);
}

void run_waves(look *l, tags *t, uint64_t *lookups) {
    if (!l->entries.n) return;
    range r = choose(l);
    uint64_t end = r.last * r.wave < l->p->total ? r.last * r.wave : l->p->total;
    t->wave = (double)(end - r.counted * r.wave) / (double)(r.last - r.counted);
    if (l->pace && l->pace->n && l->pace->usual > 0)
        at_their_pace(l, t, &r, lookups);
    else
        side_by_side(l, t, &r, lookups);
}
