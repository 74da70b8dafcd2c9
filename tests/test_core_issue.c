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
    for (uint32_t n = 0; n < 3; n++) scheduler_add(&q, n, n, n);
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

// The greedy policies stay with slot 1, which is neither the oldest nor the youngest, until it has found no
// room in the memory queue: then it is slot 2's turn, once.
static void test_gives_way(void **state) {
    (void)state;
    static units_spec us;
    static exec_units u;
    static const int greedy[] = {ORR_SCHED_GTO, ORR_SCHED_GTY, ORR_SCHED_GTB};
    make_units(&u, &us);
    for (int k = 0; k < 3; k++) {
        issue_spec spec = {.policy = issue_policy_of(greedy[k])};
        static scheduler q;
        q.spec = &spec;
        scheduler_reset(&q);
        for (uint32_t n = 0; n < 4; n++) {
            scheduler_add(&q, n, n, n);
            scheduler_update(&q, n, 0, ORR_STALL_ISSUED, 0, true);
        }
        q.last = q.last_age = 1;
        uint64_t later, can = scheduler_can_issue(&q, &u, 0, 0, 10, &later);
        assert_int_equal(can, 15);
        assert_int_equal(scheduler_pick(&q, can), 1);
        assert_int_equal(scheduler_can_issue(&q, &u, 0, 12, 11, &later), 0); // no room until 12
        can = scheduler_can_issue(&q, &u, 0, 0, 12, &later);
        assert_int_equal(scheduler_pick(&q, can), 2);
        assert_int_equal(scheduler_pick(&q, can), 1);
    }
}

// A reset leaves nothing of the launch before: no warp, no turn, no time.
static void test_reset(void **state) {
    (void)state;
    static issue_spec spec;
    static scheduler q, fresh;
    q.spec = fresh.spec = &spec;
    scheduler_reset(&fresh);
    scheduler_add(&q, 3, 9, 8);
    scheduler_update(&q, 3, 10, ORR_STALL_WAIT, 2, true);
    q.last = 3;
    q.yield = q.lsu_full = true;
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

// Two blocks: slots 0, 2 and 3 have warps of the older one, slot 1 has one of
// the younger. Its turn comes when none of the older block's can issue; those go from the last to the first.
static void test_oldest_block(void **state) {
    (void)state;
    static issue_spec spec;
    static scheduler q = {.spec = &spec};
    uint32_t (*pick)(scheduler *, uint64_t) = issue_policy_of(ORR_SCHED_GTB)->pick;
    scheduler_reset(&q);
    scheduler_add(&q, 0, 4, 4);
    scheduler_add(&q, 2, 5, 4);
    scheduler_add(&q, 3, 6, 4);
    scheduler_add(&q, 1, 7, 7);
    assert_int_equal(pick(&q, 15), 3);
    q.last = 3, q.last_age = 6;
    assert_int_equal(pick(&q, 15), 3); // greedy
    assert_int_equal(pick(&q, 7), 2);
    q.last = 2, q.last_age = 5;
    assert_int_equal(pick(&q, 11), 0);
    q.last = 0, q.last_age = 4;
    assert_int_equal(pick(&q, 14), 3); // round
    assert_int_equal(pick(&q, 2), 1);
    q.last = 1, q.last_age = 7;
    assert_int_equal(pick(&q, 13), 0); // the next below, of the older block
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gives_way), cmocka_unit_test(test_who_can_issue), cmocka_unit_test(test_reset),
        cmocka_unit_test(test_policies),  cmocka_unit_test(test_oldest_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
