// Execution units (units.h).
#include "core/units.h"

#include <string.h>

// ---- from the description -----------------------------------------------------------------------
uint32_t units_pools(const orr_gpu *g) {
    uint32_t pools = 0;
    for (int u = 0; u < g->nunits; u++)
        pools += g->units[u].count < g->core_subcores ? 1 : (uint32_t)g->core_subcores;
    return pools;
}

static void read_pools(units_spec *s, const orr_gpu *g) {
    uint32_t subs = (uint32_t)g->core_subcores, nsched = (uint32_t)g->core_schedulers;
    for (int u = 0; u < g->nunits; u++) {
        uint32_t count = (uint32_t)g->units[u].count;
        bool common = count < subs;
        uint32_t each = common ? count : count / subs, first = s->npools;
        if (each > MAX_OF_POOL) each = MAX_OF_POOL;
        for (uint32_t n = 0; n < (common ? 1 : subs); n++)
            s->pool[s->npools++] =
                (unit_pool){.n = each, .unit = (uint32_t)u, .queue = (uint32_t)g->units[u].queue};
        for (uint32_t q = 0; q < nsched; q++)
            s->pool_of[q][u] = (uint8_t)(first + (common ? 0 : q / (nsched / subs)));
    }
}

void units_spec_read(units_spec *s, const orr_gpu *g) {
    *s = (units_spec){0};
    read_pools(s, g);
    uint32_t nsched = (uint32_t)g->core_schedulers;
    for (int u = 0; u < g->nunits; u++) // units of which another is a half (unit.NAME.half)
        for (int v = 0; v < g->nunits; v++) {
            if (strcmp(g->units[u].half, g->units[v].name)) continue;
            for (uint32_t q = 0; q < nsched; q++) {
                uint8_t whole = s->pool_of[q][u], half = s->pool_of[q][v];
                s->pool[whole].half = (uint8_t)(half + 1);
                s->pool[half].whole = (uint8_t)(whole + 1);
            }
        }
}

void units_reset(exec_units *u) {
    uint32_t n = u->spec->npools; // others are never touched
    memset(u->free, 0, n * sizeof *u->free);
    memset(u->next, 0, n * sizeof *u->next);
    memset(u->busy, 0, sizeof u->busy);
}

// ---- in time ------------------------------------------------------------------------------------
// A unit of two halves takes an instruction when one of them is free. The half that is a unit by itself too
// (H200: fmaheavy, which alone does IMAD) is the second choice: of 32,900 FFMAs between DFMAs it did 9,800,
// and an IMAD and n FFMAs take as many cycles as instructions, and one more if that is odd. next[whole][0]
// is the other half's.
static void update_halves(exec_units *u, uint32_t whole) {
    uint64_t half = u->free[u->spec->pool[whole].half - 1], other = u->next[whole][0];
    u->free[whole] = other < half ? other : half;
}

static void occupy_half(exec_units *u, uint32_t whole, uint64_t at, uint64_t cycles) {
    uint64_t *other = &u->next[whole][0], until = at + 2 * cycles;
    if (*other <= at)
        *other = until;
    else
        u->free[u->spec->pool[whole].half - 1] = until;
    update_halves(u, whole);
}

uint64_t units_wait_in_line(exec_units *u, uint32_t which, uint64_t cycles, uint64_t at) {
    const unit_pool *p = &u->spec->pool[which];
    if (p->half) {
        occupy_half(u, which, at, cycles);
        return 0;
    }
    if (p->n == 1 && !p->queue) {
        u->free[which] = at + cycles;
        if (p->whole) update_halves(u, p->whole - 1u);
        return 0;
    }
    uint64_t *next = u->next[which];
    uint32_t best = 0;
    for (uint32_t n = 1; n < p->n; n++)
        if (next[n] < next[best]) best = n;
    uint64_t start = p->queue && next[best] > at ? next[best] : at;
    next[best] = start + cycles;
    uint64_t first = next[0];
    for (uint32_t n = 1; n < p->n; n++)
        if (next[n] < first) first = next[n];
    uint64_t ahead = p->queue * cycles; // as if all were like this one
    u->free[which] = first > ahead ? first - ahead : 0;
    return start - at;
}

void units_block(exec_units *u, uint32_t sched, uint32_t unit, uint64_t until) {
    uint64_t *free_at = &u->free[units_pool(u, sched, unit)];
    if (*free_at < until) *free_at = until;
}
