// A warp scheduler: which of its warps issues next.
//
// The scheduler knows of each warp the cycle from which its next instruction waits for nothing but its unit,
// and which unit that is. It goes to sleep until the first of them can issue; what may change that (a fill,
// a barrier, a new thread block) lowers `wake`. Among the warps that can issue a policy chooses
// (core.policy).
//
// Invariants: a slot is in `awake` only if it is live and `ready` of it is not in the future; it is in
// `wants` of exactly one unit; `next` is the first `ready` of those not awake, or earlier; a scheduler does
// nothing before `wake`.
//
// The component knows the execution units (when they are free) and is told by warps what they wait for
// (scheduler_update); it knows no instruction.
#ifndef ORR_CORE_ISSUE_H
#define ORR_CORE_ISSUE_H

#include "core/core.h"
#include "core/stalls.h"
#include "core/units.h"

struct scheduler;
typedef struct issue_policy {
    const char *name;
    uint32_t (*pick)(struct scheduler *q, uint64_t can); // `can`, the slots that can issue, is not 0
} issue_policy;

typedef struct issue_spec {
    const issue_policy *policy;
    uint32_t active;   // two-level: warps that it chooses from (core.active)
    uint32_t width;    // instructions of a warp in one cycle (core.issue)
    bool dual_units;   // two of a warp go to different units (core.dual_units)
    uint64_t interval; // cycles between two issues
} issue_spec;

typedef struct scheduler {
    _Alignas(64) const issue_spec *spec;
    // times
    uint64_t wake;       // nothing to do before this
    uint64_t next_issue; // issue_interval after the last one
    uint64_t next;       // when the first of the slots that are not awake will be
    // masks of slots
    uint64_t live;   // a warp is here
    uint64_t awake;  // its next instruction waits for nothing but its unit
    uint64_t memory; // its next instruction goes to the load/store unit
    // the warp that issued last
    uint64_t last_age;       // the slot may have another warp now
    uint32_t last;           // its slot; MAX_WARPS: none yet
    bool yield;              // it asks not to be the next
    bool lsu_full;           // it has found the queue of the load/store unit full since
    uint64_t operand_wait;   // cycles that its last instruction waits for its operands
    uint64_t operand_cycles; // counter: cycles in which only a collector or a bank was missing
    // the slots
    uint64_t wants[ORR_GPU_UNITS_MAX]; // mask: the next instruction needs this unit
    _Alignas(32) uint64_t ready[MAX_WARPS];
    uint64_t age[MAX_WARPS];       // order of arrival on the SM
    uint64_t block_age[MAX_WARPS]; // that of its block's first warp
    uint8_t unit[MAX_WARPS];       // that the next instruction needs
    uint8_t why[MAX_WARPS];        // enum orr_stall: what it waits for until `ready`
    uint64_t active;               // mask: two-level, the ones it chooses from
    // instructions behind a load of constants that misses
    uint64_t constants_until;  // warps wait for it until then
    uint32_t constants_queue;  // warps that wait
    uint32_t constants_missed; // loads of them that found it missing
} scheduler;

void issue_spec_read(issue_spec *s, const orr_gpu *g);
const issue_policy *issue_policy_of(int which); // ORR_SCHED_*
void scheduler_reset(scheduler *q);

// A warp of age `age`, of a block whose first warp has age `block_age`, has come to `slot`; it has gone.
void scheduler_add(scheduler *q, uint32_t slot, uint64_t age, uint64_t block_age);
void scheduler_remove(scheduler *q, uint32_t slot);
// The warp in `slot` has issued its last instruction and waits for memory before it is gone.
void scheduler_drain(scheduler *q, uint32_t slot);
// What a warp's next instruction waits for, until `ready`, and then for `unit`.
static inline void scheduler_update(scheduler *q, uint32_t slot, uint64_t ready, uint8_t why, uint8_t unit,
                                    bool memory) {
    uint64_t me = 1ull << slot;
    q->ready[slot] = ready;
    q->why[slot] = why;
    q->awake &= ~me;
    q->wants[q->unit[slot]] &= ~me;
    q->wants[unit] |= me;
    q->unit[slot] = unit;
    q->memory = memory ? q->memory | me : q->memory & ~me;
    if (ready < q->next) q->next = ready;
    if (ready < q->wake) q->wake = ready;
}

// Those whose time has come are awake; so were those that are. All slots are looked at, without a branch,
// four at a time: those with no warp are NEVER ready.
typedef int64_t scheduler_four __attribute__((vector_size(32), may_alias));
static inline void scheduler_wake_up(scheduler *q, uint64_t now) {
    const scheduler_four top = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};
    const scheduler_four *at = (const scheduler_four *)(const void *)q->ready;
    scheduler_four limit = (scheduler_four){(int64_t)now, (int64_t)now, (int64_t)now, (int64_t)now} ^ top;
    scheduler_four bit = {1, 2, 4, 8}, awake = {0}, next = ~top;
    for (uint64_t m = q->live; m; m >>= 4, at++, bit <<= 4) {
        scheduler_four t = *at ^ top, late = t > limit;
        awake |= bit & ~late;
        scheduler_four sooner = late & (t < next);
        next = (t & sooner) | (next & ~sooner);
    }
    int64_t a = next[0] < next[1] ? next[0] : next[1], b = next[2] < next[3] ? next[2] : next[3];
    q->awake = (uint64_t)(awake[0] | awake[1] | awake[2] | awake[3]) & q->live;
    q->next = (uint64_t)(a < b ? a : b) ^ 1ull << 63;
}
// The slots that can issue now. `lsu_room`: when the queue of the load/store unit has room. If none can,
// *later is when to try again.
static inline uint64_t scheduler_can_issue(scheduler *q, const exec_units *u, uint32_t sched,
                                           uint64_t lsu_room, uint64_t now, uint64_t *later) {
    if (q->next <= now) scheduler_wake_up(q, now);
    uint64_t can = 0, t = q->next;
    for (uint64_t left = q->awake; left;) { // unit by unit
        uint8_t unit = q->unit[__builtin_ctzll(left)];
        uint64_t who = left & q->wants[unit], at = units_free_at(u, sched, unit);
        left &= ~who;
        if (at <= now)
            can |= who;
        else if (at < t)
            t = at;
    }
    if (lsu_room > now && can & q->memory) {
        if (q->last < MAX_WARPS && can & q->memory & 1ull << q->last) q->lsu_full = true;
        can &= ~q->memory;
        if (lsu_room < t) t = lsu_room;
    }
    *later = t;
    return can;
}
uint32_t scheduler_pick(scheduler *q, uint64_t can);
static inline void scheduler_wake(scheduler *q, uint64_t when) {
    if (when < q->wake) q->wake = when;
}

#endif
