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
void scheduler_add(scheduler *q, uint32_t slot, uint64_t age, uint64_t first) {
    q->live |= 1ull << slot;
    q->age[slot] = age;
    q->first[slot] = first;
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

// Who goes first of two warps that can issue.
static bool older(const scheduler *q, uint32_t a, uint32_t b) { return q->age[a] < q->age[b]; }
static bool younger(const scheduler *q, uint32_t a, uint32_t b) { return q->age[a] > q->age[b]; }
static bool of_older_block(const scheduler *q, uint32_t a, uint32_t b) {
    return q->first[a] != q->first[b] ? q->first[a] < q->first[b] : younger(q, a, b);
}

typedef bool before(const scheduler *q, uint32_t a, uint32_t b);

static inline uint32_t first_of(const scheduler *q, uint64_t can, before *is_before) {
    uint32_t best = (uint32_t)__builtin_ctzll(can);
    for (uint64_t m = can & (can - 1); m; m &= m - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(m);
        if (is_before(q, i, best)) best = i;
    }
    return best;
}

// Loose round robin: each in turn; one that cannot loses its turn.
static uint32_t lrr(scheduler *q, uint64_t can) { return first_after(can, q->last); }

static bool last_is_here(const scheduler *q) {
    return q->last < MAX_WARPS && q->live >> q->last & 1 && q->age[q->last] == q->last_age;
}

// Greedy: the same warp as long as it can. One that has found the load/store unit's queue full gives way to
// the next in turn, so that the warps that store or load go on side by side.
static inline uint32_t greedy(scheduler *q, uint64_t can, before *is_before) {
    if (last_is_here(q) && q->lsu_full) return first_after(can, q->last);
    if (last_is_here(q) && can >> q->last & 1) return q->last;
    return first_of(q, can, is_before);
}
static uint32_t gto(scheduler *q, uint64_t can) { return greedy(q, can, older); }
static uint32_t gty(scheduler *q, uint64_t can) { return greedy(q, can, younger); }
static uint32_t gtb(scheduler *q, uint64_t can) { return greedy(q, can, of_older_block); }
static uint32_t oldest(scheduler *q, uint64_t can) { return first_of(q, can, older); }

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
    [ORR_SCHED_GTB] = {"gtb", gtb},
    [ORR_SCHED_OLDEST] = {"oldest", oldest},
    [ORR_SCHED_TWO_LEVEL] = {"two-level", two_level},
};

const issue_policy *issue_policy_of(int which) { return &policies[which]; }
