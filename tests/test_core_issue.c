// The warp scheduler by itself (core/issue.h): which slots can issue, when it wakes up, and whom a policy
// picks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/issue.h"

// Two units, of which unit 1 is busy until cycle 20.
static void make_units(exec_units *u, units_spec *s) {
    *s = (units_spec){.npools = 2};
    for (uint32_t n = 0; n < 2; n++) {
        s->pool[n] = (unit_pool){.n = 1, .unit = n};
        s->pool_of[0][n] = (uint8_t)n;
    }
    *u = (exec_units){.spec = s};
    u->free[1] = 20;
}

// Slot 0 is ready in cycle 10 and wants unit 0, slot 1 is ready in 5 and wants unit 1, slot 2 is ready in 10
// and wants the load/store unit through unit 0. In cycle 7 only slot 1 is awake, and its unit is busy: the
// next try is in 10. In cycle 10 slots 0 and 2 can issue; with no room in the memory queue until 12 only slot
// 0 can. In cycle 20 all can.
static void test_who_can_issue(void **state) {
    (void)state;
    static units_spec us;
    static exec_units u;
    static issue_spec spec;
    static scheduler q;
    make_units(&u, &us);
    q.spec = &spec;
    scheduler_reset(&q);
    for (uint32_t n = 0; n < 3; n++) scheduler_add(&q, n, 0, n);
    scheduler_update(&q, 0, 10, ORR_STALL_WAIT, 0, false);
    scheduler_update(&q, 1, 5, ORR_STALL_WAIT, 1, false);
    scheduler_update(&q, 2, 10, ORR_STALL_LONG, 0, true);
    assert_int_equal(q.wake, 5);
    uint64_t later;
    assert_int_equal(scheduler_can_issue(&q, &u, 0, 0, 7, &later), 0);
    assert_int_equal(later, 10);
    assert_int_equal(scheduler_can_issue(&q, &u, 0, 0, 10, &later), 5);
    assert_int_equal(scheduler_can_issue(&q, &u, 0, 12, 10, &later), 1);
    assert_int_equal(later, 12);
    assert_int_equal(scheduler_can_issue(&q, &u, 0, 0, 20, &later), 7);
    scheduler_remove(&q, 0);
    assert_int_equal(scheduler_can_issue(&q, &u, 0, 0, 20, &later), 6);
}

// A reset leaves nothing of the launch before: no warp, no turn, no time.
static void test_reset(void **state) {
    (void)state;
    static issue_spec spec;
    static scheduler q, fresh;
    q.spec = fresh.spec = &spec;
    scheduler_reset(&fresh);
    scheduler_add(&q, 3, 1, 9);
    scheduler_update(&q, 3, 10, ORR_STALL_WAIT, 2, true);
    q.last = 3;
    q.unit_full = q.lsu_full = q.queued = q.yield = true;
    q.next_issue = q.operand_wait = q.operand_cycles = q.constants_until = 77;
    scheduler_reset(&q);
    assert_memory_equal(&q, &fresh, sizeof q);
}

// Loose round robin goes to the next slot behind the last one, and round; the oldest policy to the lowest
// age. Of a two-level scheduler's two active slots (0 and 1, picked first) one that waits for memory leaves
// its place to slot 2.
static void test_policies(void **state) {
    (void)state;
    static issue_spec spec = {.active = 2};
    static scheduler q = {.spec = &spec};
    q.live = 7;
    q.last = 1;
    q.age[0] = 5, q.age[1] = 3, q.age[2] = 4;
    assert_int_equal(issue_policy_of(ORR_SCHED_LRR)->pick(&q, 7), 2);
    assert_int_equal(issue_policy_of(ORR_SCHED_LRR)->pick(&q, 3), 0);
    assert_int_equal(issue_policy_of(ORR_SCHED_OLDEST)->pick(&q, 7), 1);
    q.last = MAX_WARPS;
    assert_int_equal(issue_policy_of(ORR_SCHED_TWO_LEVEL)->pick(&q, 7), 0);
    assert_int_equal(q.active, 3);
    q.ready[0] = NEVER;
    q.last = 0;
    assert_int_equal(issue_policy_of(ORR_SCHED_TWO_LEVEL)->pick(&q, 6), 1);
    assert_int_equal(q.active, 6);
}

// Who is next when slot 1, which issued last, cannot go on, of slots 0 (the youngest), 3 and 4 (the oldest):
// the youngest or oldest; with core.rotate_on_unit slot 3, when 1 is stopped by its unit alone. A full queue
// of memory, or a result that it waits for, is something else; and another warp in its slot has no turn to
// give away.
static void test_unit_turn(void **state) {
    (void)state;
    static issue_spec spec;
    static scheduler q = {.spec = &spec};
    q.live = 0x1b;
    q.last = 1;
    q.last_age = q.age[1] = 7;
    q.age[0] = 9, q.age[3] = 5, q.age[4] = 2;
    for (int turn = 0; turn < 2; turn++) {
        spec.unit_turn = turn;
        q.awake = 0x1b;
        q.memory = 0;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x19), turn ? 3 : 0);
        assert_int_equal(issue_policy_of(ORR_SCHED_GTO)->pick(&q, 0x19), turn ? 3 : 4);
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x1b), 1); // it can: greedy
        q.memory = 0x02;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x19), 0);
        q.memory = 0;
        q.awake = 0x19;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x19), 0);
        q.awake = 0x1b;
        q.last_age = 6;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x19), 0);
        q.last_age = 7;
    }
}

// The same where slot 1 has found the queue of memory full (core.rotate_on_queue): 3 is next, and after the
// last slot the first; another warp in its slot has no turn to give away.
static void test_queue_turn(void **state) {
    (void)state;
    static issue_spec spec;
    static scheduler q = {.spec = &spec};
    q.live = q.awake = 0x1b;
    q.memory = 0x02;
    q.last = 1;
    q.last_age = q.age[1] = 7;
    q.age[0] = 9, q.age[3] = 5, q.age[4] = 2;
    for (int turn = 0; turn < 2; turn++) {
        spec.queue_turn = turn;
        q.lsu_full = true;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x19), turn ? 3 : 0);
        assert_int_equal(issue_policy_of(ORR_SCHED_GTO)->pick(&q, 0x11), 4);
        assert_int_equal(issue_policy_of(ORR_SCHED_GTO)->pick(&q, 0x01), 0);
        q.lsu_full = false;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x19), 0);
        q.lsu_full = true;
        q.last_age = 6;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x19), 0);
        q.last_age = 7;
    }
}

// Slot 1 has issued last and yields. Slots 0, 1, 3 and 4 are of one thread block, slot 2, the youngest of
// all, is of another. With core.rotate_on_yield it is the next older one of the block (3), then the next (4),
// and after the oldest the youngest (0); when none of the block can, as without.
static void test_yield_turn(void **state) {
    (void)state;
    static issue_spec spec;
    static scheduler q = {.spec = &spec};
    q.block[2] = 1;
    q.live = q.awake = 0x1f;
    q.last = 1;
    q.last_age = q.age[1] = 7;
    q.age[0] = 9, q.age[2] = 11, q.age[3] = 5, q.age[4] = 2;
    for (int turn = 0; turn < 2; turn++) {
        spec.yield_turn = turn;
        q.yield = true;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x1d), turn ? 3 : 2);
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x15), turn ? 4 : 2);
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x05), turn ? 0 : 2);
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x04), 2);
        q.yield = false;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x1d), 2);
    }
}

// Slot 1 has issued last. With core.rotate_on_scoreboard the next older one of all (3) is next, not the
// youngest (2), and after the oldest the youngest: when slot 1 waits for a short result, for its stall count
// behind an instruction that went into a queue, not behind another one; when it has found its unit's queue
// full, even if it could go on by now.
static void test_short_turn(void **state) {
    (void)state;
    static issue_spec spec;
    static scheduler q = {.spec = &spec};
    q.live = 0x1f;
    q.last = 1;
    q.last_age = q.age[1] = 7;
    q.age[0] = 9, q.age[2] = 11, q.age[3] = 5, q.age[4] = 2;
    for (int turn = 0; turn < 2; turn++) {
        spec.short_turn = turn;
        q.awake = 0x1d;
        q.why[1] = ORR_STALL_SHORT;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x1d), turn ? 3 : 2);
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x15), turn ? 4 : 2);
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x05), 2);
        q.why[1] = ORR_STALL_WAIT;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x1d), 2);
        q.queued = turn;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x1d), turn ? 3 : 2);
        q.queued = false;
        q.awake = 0x1f;
        q.unit_full = turn;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x1f), turn ? 3 : 1);
        q.unit_full = false;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x1f), 1);
    }
}

// Slot 1 has issued last and waits. Slots 2 and 3 are of the thread block that came first, 0 and 4 of its
// own, which is younger: with core.oldest_block_first 3, the younger of the former, is next, then 2, and only
// then those of its own block; it goes on itself as long as it can.
static void test_block_first(void **state) {
    (void)state;
    static issue_spec spec;
    static scheduler q = {.spec = &spec};
    q.block[0] = q.block[1] = q.block[4] = 1;
    q.live = 0x1f;
    q.awake = 0x1d;
    q.last = 1;
    q.last_age = q.age[1] = 7;
    q.age[0] = 9, q.age[2] = 1, q.age[3] = 2, q.age[4] = 5;
    for (int first = 0; first < 2; first++) {
        spec.block_first = first;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x1d), first ? 3 : 0);
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x15), first ? 2 : 0);
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x11), 0);
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x1f), 1);
    }
}

// Slot 1 has issued a branch and waits for it: with core.rotate_on_branch the next older one of its block (3)
// is next, not the youngest (0).
static void test_branch_turn(void **state) {
    (void)state;
    static issue_spec spec;
    static scheduler q = {.spec = &spec};
    q.live = 0x1b;
    q.awake = 0x19;
    q.last = 1;
    q.last_age = q.age[1] = 7;
    q.age[0] = 9, q.age[3] = 5, q.age[4] = 2;
    for (int turn = 0; turn < 2; turn++) {
        spec.branch_turn = turn;
        q.why[1] = ORR_STALL_BRANCH;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x19), turn ? 3 : 0);
        q.why[1] = ORR_STALL_LONG;
        assert_int_equal(issue_policy_of(ORR_SCHED_GTY)->pick(&q, 0x19), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_can_issue), cmocka_unit_test(test_reset),
        cmocka_unit_test(test_policies),      cmocka_unit_test(test_unit_turn),
        cmocka_unit_test(test_queue_turn),    cmocka_unit_test(test_yield_turn),
        cmocka_unit_test(test_short_turn),    cmocka_unit_test(test_block_first),
        cmocka_unit_test(test_branch_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
