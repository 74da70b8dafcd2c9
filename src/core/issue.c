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
                      .interval = (uint64_t)g->core_issue_interval};
}

void scheduler_reset(scheduler *q) {
    *q = (scheduler){.spec = q->spec, .last = MAX_WARPS, .last_age = NEVER, .next = NEVER, .wake = NEVER};
    memset(q->ready, 0xff, sizeof q->ready); // NEVER
}

// ---- slots --------------------------------------------------------------------------------------
void scheduler_add(scheduler *q, uint32_t slot, uint64_t age, uint64_t block_age) {
    q->live |= 1ull << slot;
    q->age[slot] = age;
    q->block_age[slot] = block_age;
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
    q->lsu_full = false;
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

// Of the slots that can issue those of the oldest block.
static uint64_t of_oldest_block(const scheduler *q, uint64_t can) {
    uint64_t oldest = UINT64_MAX, its = 0;
    for (uint64_t m = can; m; m &= m - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(m);
        if (q->block_age[i] > oldest) continue;
        if (q->block_age[i] < oldest) its = 0;
        oldest = q->block_age[i];
        its |= 1ull << i;
    }
    return its;
}

// Loose round robin: each in turn; one that cannot loses its turn.
static uint32_t lrr(scheduler *q, uint64_t can) { return first_after(can, q->last); }

static bool last_is_here(const scheduler *q) {
    return q->last < MAX_WARPS && q->live >> q->last & 1 && q->age[q->last] == q->last_age;
}

// Greedy: the same warp as long as it can. One that has found the load/store unit's queue full gives way to
// the next in turn, so that the warps that store or load go on side by side. MAX_WARPS: another one's turn.
static uint32_t greedy(const scheduler *q, uint64_t can) {
    if (!last_is_here(q)) return MAX_WARPS;
    if (q->lsu_full) return first_after(can, q->last);
    return can >> q->last & 1 ? q->last : MAX_WARPS;
}

static uint32_t gto(scheduler *q, uint64_t can) {
    uint32_t slot = greedy(q, can);
    return slot < MAX_WARPS ? slot : by_age(q, can, false);
}

static uint32_t gty(scheduler *q, uint64_t can) {
    uint32_t slot = greedy(q, can);
    return slot < MAX_WARPS ? slot : by_age(q, can, true);
}

// The warps of the oldest block in turn, from the last slot to the first: a block that has just come gets
// what the older ones leave (H200: micro/ages).
static uint32_t gtb(scheduler *q, uint64_t can) {
    uint32_t slot = greedy(q, can);
    if (slot < MAX_WARPS) return slot;
    uint64_t its = of_oldest_block(q, can), below = its & ((1ull << q->last % 64) - 1);
    return 63 - (uint32_t)__builtin_clzll(below ? below : its);
}

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
    [ORR_SCHED_LRR] = {"lrr", lrr},          [ORR_SCHED_GTO] = {"gto", gto},
    [ORR_SCHED_GTY] = {"gty", gty},          [ORR_SCHED_GTB] = {"gtb", gtb},
    [ORR_SCHED_OLDEST] = {"oldest", oldest}, [ORR_SCHED_TWO_LEVEL] = {"two-level", two_level},
};

const issue_policy *issue_policy_of(int which) { return &policies[which]; }
