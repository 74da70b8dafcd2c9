// How long L1's pipe is busy with an access (l1.h), and what of it happens when lines are read out later.
// What an access takes by itself is the same for all models (memory/cost.h).
#include "core/l1.h"

static orr_l1_access access_of(const l1_access *a) {
    return (orr_l1_access){.lanes = &a->lanes,
                           .lines = &a->lines,
                           .bytes = a->i->bytes,
                           .loads = a->i->flags & ORR_TF_LOAD,
                           .stores = a->i->flags & ORR_TF_STORE,
                           .local = a->local,
                           .copies = a->i->flags & ORR_TF_ASYNC,
                           .bypasses = a->i->flags & ORR_TF_BYPASS};
}

uint32_t l1_cost(l1_cache *c, l1_access *a, uint32_t *lag) {
    orr_l1_access access = access_of(a);
    orr_l1_cost cost = orr_l1_cost_of(&c->spec->cost, &access, a->turn);
    c->n.conflicts += cost.conflicts;
    a->tag_cycles = cost.lookups;
    a->passes = cost.passes;
    a->apart = cost.apart;
    a->conflicts = c->spec->cost.words && cost.conflicts;
    *lag = cost.lag;
    return cost.cycles;
}

// Past L1 nothing is read out when lines come: half of what lines of loads take (copy_beside: loads of
// shared memory take 2.8, 5.0 and 30 cycles longer for each copy of 4, 8, 32 lines, the last of which have
// to wait for the port). Through it, one more.
uint32_t l1_copy_misses(const l1_cache *c, const l1_access *a) {
    orr_l1_access access = access_of(a);
    if (orr_copies_past_l1(&c->spec->cost, &access))
        return orr_copied_lines(&a->lines) * c->spec->miss_interval / 2;
    return a->missed ? a->cost + 1 : 0;
}

// ---- lines that a load waits for --------------------------------------------------------------------
// Which of the access's first 64 lines is `line`, as bits; *near: where the lane before had its own. Lines
// are in the order in which lanes come to them, each once, unless lanes are merged in groups.
static uint64_t lines_of(const orr_coalesced *x, uint64_t line, uint32_t *near) {
    uint32_t n = x->lines < 64 ? x->lines : 64;
    if (x->requests <= 1) {
        for (uint32_t i = *near; i < n && i < *near + 2; i++)
            if (x->line[i].line == line) return 1ull << (*near = i);
    }
    uint64_t found = 0;
    for (uint32_t i = 0; i < n; i++) found |= (uint64_t)(x->line[i].line == line) << i;
    if (found) *near = (uint32_t)__builtin_ctzll(found);
    return found;
}

typedef struct waiting_lanes {
    uint32_t turn[MAX_TURNS], turns; // lanes whose lines it waits for, by the lookups that find these,
    uint32_t here;                   // and those whose lines are here
} waiting_lanes;

static void find_waiting(const l1_access *a, waiting_lanes *w) {
    const orr_coalesced *x = &a->lines;
    w->turns = w->here = 0;
    for (uint32_t n = 0; n < x->lines; n++)
        while (w->turns <= a->turn[n]) w->turn[w->turns++] = 0;
    uint32_t near = 0;
    for (uint32_t m = a->lanes.mask; m; m &= m - 1) {
        uint64_t at = a->lanes.addr[orr_ffs(m)], first = at / ORR_LINE,
                 last = (at + a->i->bytes - 1) / ORR_LINE;
        uint64_t lines = lines_of(x, first, &near);
        if (last != first) lines |= lines_of(x, last, &near);
        if (lines & ~a->waits) w->here |= m & -m;
        for (lines &= a->waits; lines; lines &= lines - 1) w->turn[a->turn[__builtin_ctzll(lines)]] |= m & -m;
    }
}

// Passes over the banks for these of its lanes.
static uint32_t passes_of(l1_access *a, uint32_t lanes) {
    if (!lanes) return 0;
    uint32_t all = a->lanes.mask;
    a->lanes.mask = lanes;
    uint32_t passes = orr_bank_conflicts(&a->lanes, a->i->bytes, ORR_BANKS_LOAD).passes;
    a->lanes.mask = all;
    return passes;
}

// Lines that a load waits for are read out when the last one is there, those together that were looked up
// together: two words on different banks go in one pass only then. Lines are looked up, and misses sent,
// while others are read out.
void l1_read_later(l1_cache *c, l1_access *a) {
    const l1_spec *s = c->spec;
    if (!s->cost.tag_bits || a->load == NOBODY || !a->waits || a->i->flags & ORR_TF_ASYNC) return;
    uint32_t lines = a->lines.lines, later = 0, now = 0, turns = a->tag_cycles;
    uint64_t all = lines < 64 ? (1ull << lines) - 1 : UINT64_MAX;
    if (!a->apart && (a->local || a->waits == all)) { // side by side
        later = a->passes;
    } else if (a->apart && a->waits == all && lines < 64 && turns == 1) { // all together
        later = a->passes;
    } else {
        waiting_lanes w;
        find_waiting(a, &w);
        turns = w.turns;
        for (uint32_t turn = 0; turn < turns; turn++) later += passes_of(a, w.turn[turn]);
        now = passes_of(a, w.here);
    }
    uint32_t busy = now > turns ? now : turns;
    c->loads.at[a->load].passes = (uint16_t)later;
    a->passes_now = now;
    c->n.busy += (uint64_t)now + later - a->passes;
    if (busy > a->cost)
        c->pipe->free += busy - a->cost;
    else if (c->pipe->free >= c->pipe->start + a->cost) // not one that is tried again
        c->pipe->free -= a->cost - busy;
    a->cost = busy;
}
