// Which warp issues when several can (issue.h): the policies, chosen by name in the description
// (core.policy). To add one, write a function and put it in the table, in the order of the names in
// params.def.
#include "core/issue.h"

#include <string.h>

void issue_spec_read(issue_spec *s, const orr_gpu *g) {
    *s = (issue_spec){.policy = issue_policy_of(g->core_policy),
                      .active = (uint32_t)g->core_active,
                      .width = (uint32_t)g->core_issue,
                      .dual_units = g->core_dual_units,
                      .interval = (uint64_t)g->core_issue_interval,
                      .unit_turn = g->core_unit_turn,
                      .queue_turn = g->core_queue_turn,
                      .short_turn = g->core_short_turn,
                      .branch_turn = g->core_branch_turn,
                      .yield_turn = g->core_yield_turn,
                      .block_first = g->core_block_first};
}

void scheduler_reset(scheduler *q) {
    *q = (scheduler){.spec = q->spec, .last = MAX_WARPS, .last_age = NEVER, .next = NEVER, .wake = NEVER};
    memset(q->ready, 0xff, sizeof q->ready); // NEVER
}

// ---- slots --------------------------------------------------------------------------------------
void scheduler_add(scheduler *q, uint32_t slot, uint32_t block, uint64_t age) {
    q->live |= 1ull << slot;
    q->block[slot] = block;
    q->age[slot] = age;
}

void scheduler_drain(scheduler *q, uint32_t slot) {
    q->awake &= ~(1ull << slot);
    q->ready[slot] = NEVER;
    q->why[slot] = ORR_STALL_DRAIN;
}

void scheduler_remove(scheduler *q, uint32_t slot) {
    q->live &= ~(1ull << slot);
    scheduler_drain(q, slot);
}

uint32_t scheduler_pick(scheduler *q, uint64_t can) {
    if (q->yield && q->last < MAX_WARPS && can & ~(1ull << q->last)) can &= ~(1ull << q->last);
    uint32_t slot = q->spec->policy->pick(q, can);
    q->lsu_full = q->unit_full = false;
    return slot;
}

// ---- policies -----------------------------------------------------------------------------------
static uint32_t first_after(uint64_t can, uint32_t last) {
    uint64_t after = last < 63 ? can & ~((2ull << last) - 1) : 0;
    return (uint32_t)__builtin_ctzll(after ? after : can);
}

static uint32_t by_age(const scheduler *q, uint64_t can, bool youngest) {
    uint32_t best = (uint32_t)__builtin_ctzll(can);
    for (uint64_t m = can & (can - 1); m; m &= m - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(m);
        if ((q->age[i] < q->age[best]) != youngest) best = i;
    }
    return best;
}

// Loose round robin: each in turn; one that cannot loses its turn.
static uint32_t lrr(scheduler *q, uint64_t can) { return first_after(can, q->last); }

// Greedy: the same warp as long as it can.
static bool same_again(const scheduler *q, uint64_t can) {
    return q->last < MAX_WARPS && can >> q->last & 1 && q->age[q->last] == q->last_age;
}

// It could, were its unit not busy. (Room in the queue of memory is another matter: in turn, stores to many
// lines join others too seldom. H200: micro/l1_bandwidth, pattern_st.)
static bool only_unit(const scheduler *q) {
    uint64_t stopped = q->live & q->awake & ~q->memory;
    return q->last < MAX_WARPS && stopped >> q->last & 1 && q->age[q->last] == q->last_age;
}

// The next in turn: of those that can, the first that is older than the one that issued last, or else the
// youngest; of its thread block, or of all. MAX_WARPS: none of them can.
static uint32_t next_older(const scheduler *q, uint64_t can, bool of_block) {
    uint32_t block = q->block[q->last], older = MAX_WARPS, youngest = MAX_WARPS;
    for (uint64_t m = can; m; m &= m - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(m);
        if (of_block && q->block[i] != block) continue;
        if (youngest == MAX_WARPS || q->age[i] > q->age[youngest]) youngest = i;
        if (q->age[i] < q->last_age && (older == MAX_WARPS || q->age[i] > q->age[older])) older = i;
    }
    return older < MAX_WARPS ? older : youngest;
}

// It is still there, and asked not to be the next (core.rotate_on_yield; H200: warps of a block that stop for
// a few cycles every 1 to 12 instructions are issued in turn, from the youngest to the oldest).
static bool yields(const scheduler *q) {
    return q->spec->yield_turn && q->yield && q->last < MAX_WARPS && q->live >> q->last & 1 &&
           q->age[q->last] == q->last_age;
}

// The warp that issued last has found the queue of memory full since; or another has its slot.
static bool found_lsu_full(const scheduler *q) {
    return q->spec->queue_turn && q->lsu_full && q->last < MAX_WARPS && q->live >> q->last & 1 &&
           q->age[q->last] == q->last_age;
}

// The warp that issued last has found the queue of its unit full since (core.rotate_on_scoreboard).
static bool found_unit_full(const scheduler *q) {
    return q->unit_full && q->last < MAX_WARPS && q->live >> q->last & 1 && q->age[q->last] == q->last_age;
}

// It waits for a result of shared memory, MUFU or the like, or, behind such an instruction or a load, for
// its stall count.
static bool waits_short(const scheduler *q) {
    if (!q->spec->short_turn || q->last >= MAX_WARPS || !((q->live & ~q->awake) >> q->last & 1)) return false;
    uint8_t why = q->why[q->last];
    return q->age[q->last] == q->last_age && (why == ORR_STALL_SHORT || (why == ORR_STALL_WAIT && q->queued));
}

// Its last instruction is a branch that it waits for (core.rotate_on_branch).
static bool jumps(const scheduler *q) {
    if (!q->spec->branch_turn || q->last >= MAX_WARPS || !((q->live & ~q->awake) >> q->last & 1))
        return false;
    return q->age[q->last] == q->last_age && q->why[q->last] == ORR_STALL_BRANCH;
}

// Of those that can, the ones of the thread block that came first.
static uint64_t of_first_block(const scheduler *q, uint64_t can) {
    uint32_t block = q->block[by_age(q, can, false)];
    uint64_t of = 0;
    for (uint64_t m = can; m; m &= m - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(m);
        of |= (uint64_t)(q->block[i] == block) << i;
    }
    return of;
}

// With core.oldest_block_first who goes next, when the one that issued last cannot, is of the thread block
// that came first (H200: ten kinds of loops, 2 to 32 blocks of an SM, with clocks: the older a block the
// sooner it is done, micro/tiles); the rest is among its warps. With core.rotate_on_unit a warp that only its
// unit stops gives way to the next in turn, so that warps whose units are the bottleneck stay together; one
// that waits for something else to the oldest, or youngest. With core.rotate_on_queue the same where the
// queue of memory is full (H200: micro/structs, struct_update: of 24 warps that store to 8 lines each hardly
// one store is joined, as when all go on side by side). With core.rotate_on_scoreboard who has used a unit
// with a queue gives way to the next older one (H200: 2 to 8 warps of LDS, MUFU and loads, alone and in turn,
// with clocks: all go on side by side, from the youngest to the oldest); with core.rotate_on_branch so does
// who waits for a branch (eight warps of 16 FFMAs and a branch, over and over: the first is done after 77 %
// of the time, the last but one after 98).
static uint32_t greedy(scheduler *q, uint64_t can, bool youngest) {
    bool full = found_unit_full(q), queue = found_lsu_full(q);
    if (!queue && !full && same_again(q, can)) return q->last;
    if (q->spec->block_first) can = of_first_block(q, can);
    if (queue) return first_after(can, q->last);
    if (full) return next_older(q, can, false);
    if (yields(q)) {
        uint32_t next = next_older(q, can, true);
        if (next < MAX_WARPS) return next;
    }
    if (waits_short(q) || jumps(q)) {
        uint32_t next = next_older(q, can, true);
        if (next < MAX_WARPS) return next;
    }
    return q->spec->unit_turn && only_unit(q) ? first_after(can, q->last) : by_age(q, can, youngest);
}
static uint32_t gto(scheduler *q, uint64_t can) { return greedy(q, can, false); }
static uint32_t gty(scheduler *q, uint64_t can) { return greedy(q, can, true); }
static uint32_t oldest(scheduler *q, uint64_t can) { return by_age(q, can, false); }

// Two-level (Narasiman et al., MICRO 2011): round robin over a few active warps. One that waits for memory
// leaves them, and one of the others takes its place.
static uint32_t two_level(scheduler *q, uint64_t can) {
    for (uint64_t m = q->active; m; m &= m - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(m);
        if (!(q->live >> i & 1) || q->ready[i] == NEVER) q->active &= ~(1ull << i);
    }
    uint64_t more = can & ~q->active;
    uint32_t n = (uint32_t)__builtin_popcountll(q->active);
    for (; more && n < q->spec->active; n++) {
        uint32_t i = first_after(more, q->last);
        q->active |= 1ull << i;
        more &= ~(1ull << i);
    }
    uint64_t mine = can & q->active;
    return first_after(mine ? mine : can, q->last);
}

static const issue_policy policies[] = {
    [ORR_SCHED_LRR] = {"lrr", lrr},
    [ORR_SCHED_GTO] = {"gto", gto},
    [ORR_SCHED_GTY] = {"gty", gty},
    [ORR_SCHED_OLDEST] = {"oldest", oldest},
    [ORR_SCHED_TWO_LEVEL] = {"two-level", two_level},
};

const issue_policy *issue_policy_of(int which) { return &policies[which]; }
