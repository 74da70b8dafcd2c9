// How long L1's pipe is busy with an access (l1.h): looking up lines, passes over the banks, and what of it
// happens when lines are read out later.
#include "core/l1.h"

// Which of four banks a line's tag is in (l1.folded): lines of one bank are looked up one after the other.
// H200: l1tex__t_set_conflicts of pairs of lines that differ in one or two bits of their number, up to bit
// 19, and of 32 lanes 1 to 512 lines apart: as many lookups as there are lines on the fullest bank
// (docs/h200/l1.md).
static uint32_t tag_bank(uint64_t line) {
    return (uint32_t)(orr_popc64(line & 0xb7ab5) & 1) | (uint32_t)(orr_popc64(line & 0xed5da) & 1) << 1;
}

// Cycles to look up the first lines of an access.
static uint32_t lookups(const l1_spec *s, l1_access *a, uint32_t lines) {
    uint32_t banks = s->banks, on[4] = {0}, most = 0;
    if (!s->folded || a->local || lines > MAX_TURNS) return (lines + banks - 1) / banks;
    for (uint32_t n = 0; n < lines; n++) {
        uint32_t b = tag_bank(a->lines.line[n].line);
        a->turn[n] = (uint8_t)on[b]++;
        if (on[b] > most) most = on[b];
    }
    return most;
}

// The words on the busiest bank, where the banks are those of shared memory (l1.words), and l1.banks lines
// looked up a cycle. A conflict is found out in the pass before, so that it takes longer than the pass.
static uint32_t word_cycles(l1_cache *c, l1_access *a, uint32_t *lag) {
    const l1_spec *s = c->spec;
    const orr_tinst *i = a->i;
    bool load = i->flags & ORR_TF_LOAD;
    uint32_t lines = a->lines.lines, tags = a->tag_cycles = lookups(s, a, lines), most;
    uint32_t least = i->flags & ORR_TF_STORE ? s->store : 1;
    uint32_t lanes = (uint32_t)orr_popc(a->lanes.mask), packed = (lanes * i->bytes + 127) / 128;
    if (a->local)
        most = (i->bytes + 3u) / 4; // each lane has a bank of its own, whichever row its word is in
    else if (lines <= packed)
        most = packed; // side by side
    else
        most = orr_bank_conflicts(&a->lanes, i->bytes, load ? ORR_BANKS_LOAD : ORR_BANKS_STORE).passes;
    uint32_t conflicts = most > packed ? most - packed : 0;
    c->n.conflicts += conflicts;
    a->conflicts = conflicts != 0;
    a->apart = load && !a->local && lines > packed && lines <= MAX_TURNS;
    *lag = most - 1 + conflicts * (s->pass - 1) + tags - 1;
    if (load) *lag += (most - conflicts - 1) * s->wide;
    a->passes = most > least ? most : least;
    if (most < tags) most = tags;
    if (most < least) most = least;
    if (s->pass == 1 || !load || a->local) *lag = most - 1;
    return most;
}

// The same with banks of sectors: the most sectors that fall on one, and what the way to the registers takes.
static uint32_t sector_cycles(l1_cache *c, const orr_coalesced *x) {
    const l1_spec *s = c->spec;
    uint32_t on[64] = {0}, most = 1, banks = s->banks;
    if (x->sectors > banks || x->lines > 1) {
        for (uint32_t n = 0; n < x->lines; n++)
            for (uint32_t m = x->line[n].sectors; m; m &= m - 1) {
                uint32_t b = ++on[(x->line[n].line * 4 + (uint32_t)orr_ffs(m)) % banks];
                if (b > most) most = b;
            }
        c->n.conflicts += most - (x->sectors + banks - 1) / banks;
    }
    uint32_t way = (x->sectors * ORR_SECTOR + s->cycle_bytes - 1) / s->cycle_bytes;
    return most > way ? most : way;
}

// ---- copies to shared memory --------------------------------------------------------------------
// Lines of a copy past L1 that are not asked for once more.
static uint32_t asked_first(const orr_coalesced *x) { return x->more < x->lines ? x->more : x->lines; }

static bool copies_past(const l1_spec *s, const orr_tinst *i) {
    return i->flags & ORR_TF_ASYNC && ((i->flags & ORR_TF_BYPASS) || !s->policy.global);
}

// Past L1, its lines are looked up (those that are asked for once more are not), and what comes goes to
// shared memory by itself; through L1 each line takes a pass, and the way into shared memory two for all
// (H200: micro/copies).
static uint32_t copy_cycles(const l1_spec *s, l1_access *a, uint32_t *lag) {
    bool past = copies_past(s, a->i);
    uint32_t lines = past ? asked_first(&a->lines) : a->lines.lines;
    uint32_t tags = a->tag_cycles = lookups(s, a, lines), most = past ? tags : lines + 2;
    a->apart = a->conflicts = false;
    a->passes = past ? 0 : most;
    if (!most) most = 1;
    *lag = most - 1;
    return most;
}

// Past L1 nothing is read out when lines come: half of what lines of loads take (copy_beside: loads of
// shared memory take 2.8, 5.0 and 30 cycles longer for each copy of 4, 8, 32 lines, the last of which have
// to wait for the port). Through it, one more.
uint32_t l1_copy_misses(const l1_cache *c, const l1_access *a) {
    if (copies_past(c->spec, a->i)) return asked_first(&a->lines) * c->spec->miss_interval / 2;
    return a->missed ? a->cost + 1 : 0;
}

uint32_t l1_cost(l1_cache *c, l1_access *a, uint32_t *lag) {
    const l1_spec *s = c->spec;
    if (s->words) return a->i->flags & ORR_TF_ASYNC ? copy_cycles(s, a, lag) : word_cycles(c, a, lag);
    uint32_t cost = a->passes = sector_cycles(c, &a->lines);
    a->apart = a->conflicts = false;
    a->tag_cycles = 0;
    if (a->i->flags & ORR_TF_ASYNC) { // and into shared memory
        uint32_t more = ((uint32_t)orr_popc(a->lanes.mask) * a->i->bytes + 127) / 128;
        cost += more;
        a->passes += more;
    }
    *lag = cost - 1;
    return cost;
}

// ---- lines that a load waits for ----------------------------------------------------------------
// Passes over the banks for those of its lines that are in `lines`.
static uint32_t passes_of(const l1_access *a, uint64_t lines) {
    orr_access part = a->lanes;
    uint32_t bytes = a->i->bytes;
    for (uint32_t m = a->lanes.mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)orr_ffs(m);
        uint64_t first = part.addr[lane] / ORR_LINE, last = (part.addr[lane] + bytes - 1) / ORR_LINE;
        bool wanted = false;
        for (uint64_t k = lines; k && !wanted; k &= k - 1) {
            uint64_t line = a->lines.line[__builtin_ctzll(k)].line;
            wanted = line == first || line == last;
        }
        if (!wanted) part.mask &= ~(1u << lane);
    }
    return part.mask ? orr_bank_conflicts(&part, bytes, ORR_BANKS_LOAD).passes : 0;
}

// Lines that a load waits for are read out when the last one is there, those together that were looked up
// together: two words on different banks go in one pass only then. Lines are looked up, and misses sent,
// while others are read out.
void l1_read_later(l1_cache *c, l1_access *a) {
    const l1_spec *s = c->spec;
    if (!s->folded || a->load == NOBODY || !a->waits || a->i->flags & ORR_TF_ASYNC) return;
    uint32_t lines = a->lines.lines, later = 0, now = 0, turns = a->tag_cycles;
    uint64_t all = lines < 64 ? (1ull << lines) - 1 : UINT64_MAX;
    if (!a->apart && (a->local || a->waits == all)) { // side by side
        later = a->passes;
    } else {
        uint64_t together[MAX_TURNS]; // lines that it waits for, by their lookups
        turns = 0;
        for (uint32_t n = 0; n < lines; n++) {
            while (turns <= a->turn[n]) together[turns++] = 0;
            together[a->turn[n]] |= a->waits & 1ull << n;
        }
        for (uint32_t turn = 0; turn < turns; turn++)
            if (together[turn]) later += passes_of(a, together[turn]);
        if (a->waits != all) now = passes_of(a, all & ~a->waits);
    }
    uint32_t busy = now > turns ? now : turns;
    // H200: bytes and halves that miss or wait take L1 two cycles, words one (micro/waits)
    if (a->i->bytes < 4 && busy < s->narrow) busy = s->narrow;
    c->loads.at[a->load].passes = (uint16_t)later;
    a->passes_now = now;
    c->n.busy += (uint64_t)now + later - a->passes;
    if (busy > a->cost)
        c->pipe->free += busy - a->cost;
    else if (c->pipe->free >= c->pipe->start + a->cost) // not one that is tried again
        c->pipe->free -= a->cost - busy;
    a->cost = busy;
}
