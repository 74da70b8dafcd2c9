// What a memory access costs (cost.h).
#include "memory/cost.h"

#define TAG_BANKS    (1 << ORR_L1_TAG_BITS)
#define FOLDED_LINES 64 // more than that are local memory's, or of lanes that cross lines

static uint32_t max(uint32_t a, uint32_t b) { return a > b ? a : b; }

// ---- L1 ----------------------------------------------------------------------------------------

orr_l1_spec orr_l1_spec_of(const orr_gpu *g) {
    orr_l1_spec s = {.words = g->l1_word_banks,
                     .global = g->l1_global,
                     .banks = g->l1_banks > 0 && g->l1_banks <= 64 ? (uint32_t)g->l1_banks : 1,
                     .bytes = g->l1_bandwidth >= 1 ? (uint32_t)g->l1_bandwidth : 1,
                     .store = max(1, (uint32_t)g->l1_store_interval),
                     .conflict = max(1, (uint32_t)g->l1_replay),
                     .wide = (uint32_t)g->lsu_wide_replay,
                     .tag_bits = (uint32_t)g->l1_tag_hash.n};
    for (uint32_t i = 0; i < s.tag_bits && i < ORR_L1_TAG_BITS; i++)
        s.tag_hash[i] = (uint64_t)g->l1_tag_hash.at[i];
    return s;
}

// Which bank a line's tag is in (l1.tag_hash): lines of one bank are looked up one after the other.
static uint32_t tag_bank(const orr_l1_spec *s, uint64_t line) {
    uint32_t bank = 0;
    for (uint32_t i = 0; i < ORR_L1_TAG_BITS; i++) // masks that are not there are 0
        bank |= (uint32_t)(orr_popc64(line & s->tag_hash[i]) & 1) << i;
    return bank;
}

// Cycles to look up the first `lines` lines of an access.
static uint32_t lookups(const orr_l1_spec *s, const orr_coalesced *x, uint32_t lines, bool local,
                        uint8_t *turn) {
    uint8_t on[TAG_BANKS] = {0}, none[FOLDED_LINES];
    if (!s->tag_bits || local || lines > FOLDED_LINES) return (lines + s->banks - 1) / s->banks;
    if (!turn) turn = none;
    for (uint32_t n = 0; n < lines; n++) turn[n] = on[tag_bank(s, x->line[n].line)]++;
    uint32_t most = 0;
    for (uint32_t b = 0; b < TAG_BANKS; b++) most = max(most, on[b]);
    return most;
}

uint32_t orr_l1_lookups(const orr_l1_spec *s, const orr_coalesced *x) {
    return lookups(s, x, x->lines, false, NULL);
}

uint32_t orr_l1_sector_cycles(const orr_l1_spec *s, const orr_coalesced *x, uint32_t *conflicts) {
    uint32_t on[64] = {0}, most = 1, banks = s->banks;
    if (conflicts) *conflicts = 0;
    if (x->sectors > banks || x->lines > 1) {
        for (uint32_t n = 0; n < x->lines; n++)
            for (uint32_t m = x->line[n].sectors; m; m &= m - 1)
                most = max(most, ++on[(x->line[n].line * 4 + (uint32_t)orr_ffs(m)) % banks]);
        if (conflicts) *conflicts = most - (x->sectors + banks - 1) / banks;
    }
    return max(most, (x->sectors * ORR_SECTOR + s->bytes - 1) / s->bytes);
}

uint32_t orr_l1_word_passes(const orr_l1_access *a) {
    if (a->local) return (a->bytes + 3u) / 4; // each lane has a bank of its own, whichever row its word is in
    uint32_t packed = orr_packed_passes(a->lanes, a->bytes);
    if (a->lines->lines <= packed) return packed; // side by side
    return orr_bank_conflicts(a->lanes, a->bytes, a->loads ? ORR_BANKS_LOAD : ORR_BANKS_STORE).passes;
}

static orr_l1_cost word_cost(const orr_l1_spec *s, const orr_l1_access *a, uint8_t *turn) {
    uint32_t lines = a->lines->lines, packed = orr_packed_passes(a->lanes, a->bytes);
    uint32_t tags = lookups(s, a->lines, lines, a->local, turn);
    orr_l1_cost c = orr_l1_word_cost(s, a, orr_l1_word_passes(a), packed, tags);
    c.apart = a->loads && !a->local && lines > packed && lines <= FOLDED_LINES;
    return c;
}

// A copy to shared memory. Past L1, its lines are looked up (those that are asked for once more are not), and
// what comes goes to shared memory by itself; through L1 each line takes a pass, and the way into shared
// memory two for all (H200: micro/copies).
static orr_l1_cost copy_cost(const orr_l1_spec *s, const orr_l1_access *a, uint8_t *turn) {
    bool past = orr_copies_past_l1(s, a);
    uint32_t lines = past ? orr_copied_lines(a->lines) : a->lines->lines;
    uint32_t tags = lookups(s, a->lines, lines, false, turn), most = past ? tags : lines + 2;
    return (orr_l1_cost){
        .cycles = max(most, 1), .lookups = tags, .passes = past ? 0 : most, .lag = max(most, 1) - 1};
}

orr_l1_cost orr_l1_cost_of(const orr_l1_spec *s, const orr_l1_access *a, uint8_t *turn) {
    if (s->words) return a->copies ? copy_cost(s, a, turn) : word_cost(s, a, turn);
    orr_l1_cost c = {0};
    c.cycles = orr_l1_sector_cycles(s, a->lines, &c.conflicts);
    if (a->copies) c.cycles += orr_packed_passes(a->lanes, a->bytes); // and into shared memory
    c.passes = c.cycles;
    c.lag = c.cycles - 1;
    return c;
}

// ---- atomics -----------------------------------------------------------------------------------

// With 32 lanes on a word the profiler counts 32 sectors, and as many lookups in L2.
uint32_t orr_atomic_passes(const orr_access *a, uint32_t bytes, uint64_t line,
                           orr_atomic_pass pass[ORR_WARP]) {
    uint8_t seen[ORR_LINE / 4] = {0};
    uint32_t n = 0;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t addr = a->addr[orr_ffs(m)];
        if (addr / ORR_LINE != line) continue;
        uint32_t rank = seen[addr % ORR_LINE / 4]++, k = (uint32_t)(addr % ORR_LINE / ORR_SECTOR);
        if (rank == n) pass[n++] = (orr_atomic_pass){.sectors = 0};
        pass[rank].bytes[k] += bytes;
        pass[rank].lanes[k]++;
        pass[rank].mask |= m & -m;
        pass[rank].sectors |= (uint8_t)(1 << k);
    }
    return n;
}

orr_atomic_spec orr_atomic_spec_of(const orr_gpu *g) {
    const orr_gpu_array *w = &g->l2_atomic_work;
    uint8_t whole = w->n > 0 ? (uint8_t)w->at[0] : 4;
    return (orr_atomic_spec){.whole = whole,
                             .part = w->n > 1 ? (uint8_t)w->at[1] : whole,
                             .slow = w->n > 2 ? (uint8_t)w->at[2] : whole,
                             .again = g->l2_atomic_float};
}

// A sector of which all is wanted and one of which a part is take different times. Slow ones are compare and
// swaps where several lanes are in a half of the line, whether they succeed or not; sums of doubles; and sums
// of floats that meet others, where their operands come behind what says where (micro/contention;
// docs/archive/h200/atomics.md, Turns of clusters).
uint32_t orr_atomic_work(const orr_atomic_spec *s, const orr_atomic_pass *pass, uint8_t op, uint32_t bytes,
                         bool meets) {
    bool swap = orr_atomic_swaps(op), sum = op == ORR_ATOMIC_FLOAT_ADD;
    bool words = sum && meets && bytes == 4 && orr_popc(pass->sectors) == 1;
    uint32_t quarters = 0;
    for (int q = 0; q < 4; q++) {
        if (!(pass->sectors >> q & 1)) continue;
        uint32_t takes = pass->bytes[q] < ORR_SECTOR ? s->part : s->whole;
        if (swap && pass->lanes[q & ~1] + pass->lanes[q | 1] > 1) takes = s->slow;
        if (sum && bytes == 8) takes = s->slow;
        if (words && pass->bytes[q] > 4) takes = s->slow;
        quarters += takes;
    }
    return quarters;
}

uint32_t orr_atomic_quarters(const orr_atomic_spec *s, const orr_access *a, uint32_t bytes, uint8_t op,
                             uint64_t line) {
    orr_atomic_pass pass[ORR_WARP];
    uint32_t passes = orr_atomic_passes(a, bytes, line, pass), quarters = 0;
    for (uint32_t p = 0; p < passes; p++) quarters += orr_atomic_work(s, &pass[p], op, bytes, passes > 1);
    double sums = op == ORR_ATOMIC_FLOAT_ADD ? passes * 4 * s->again : 0;
    return sums > quarters ? (uint32_t)sums : quarters;
}

// ---- shared memory -----------------------------------------------------------------------------

orr_shared_spec orr_shared_spec_of(const orr_gpu *g) {
    return (orr_shared_spec){.pass_cycles = orr_shared_pass_cycles(g),
                             .swap = (uint32_t)g->shared_cas,
                             .atomic = (uint32_t)g->shared_atomic,
                             .conflict = (uint32_t)g->lsu_replay,
                             .wide = (uint32_t)g->lsu_wide_replay};
}

orr_shared_cost orr_shared_cost_of(const orr_shared_spec *s, const orr_tinst *i, orr_banked b) {
    bool atomic = i->flags & ORR_TF_ATOMIC, swap = atomic && s->swap > 1 && orr_atomic_swaps(i->atomic);
    uint32_t times = swap ? s->swap : 1, passes = b.passes ? b.passes : 1;
    orr_shared_cost c = {.each = s->pass_cycles * times};
    c.cycles = passes * c.each;
    c.lag = c.cycles - c.each;
    if (atomic) c.lag += s->atomic * times;
    if (s->conflict && b.conflicts) c.lag += b.conflicts * (s->conflict - 1) * times;
    bool load = !atomic && !(i->flags & ORR_TF_STORE);
    if (load && b.passes > b.conflicts) c.lag += (b.passes - b.conflicts - 1) * s->wide;
    return c;
}
