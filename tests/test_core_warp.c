// What a warp waits for, by itself: the scoreboard (core/scoreboard.h) and the barriers of its thread block
// (core/barrier.h).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/barrier.h"
#include "core/scoreboard.h"

// Control bits: stall, yield, write barrier, read barrier, wait mask, reuse (ORR_CTRL_*).
#define CTRL(wbar, rbar, wait) ((uint32_t)(wbar) << 5 | (uint32_t)(rbar) << 8 | (uint32_t)(wait) << 11)

// R0 <- R1 has its result in cycle 14; what reads R0, or writes it, waits until then, what reads R1 does not.
// A load of R1 is not there before its answer has come, in 300.
static void test_registers(void **state) {
    (void)state;
    uint64_t reg[2];
    uint16_t regs[] = {1, 0, 0, 1};
    orr_program p = {.regs = regs};
    orr_tinst make = {.regs = 0, .nsrc = 1, .ndst = 1}; // R0 <- R1
    orr_tinst use = {.regs = 2, .nsrc = 1, .ndst = 1};  // R1 <- R0
    orr_tinst other = {.regs = 3, .nsrc = 1};           // reads R1
    scoreboard b = {.reg = reg};
    scoreboard_reset(&b, 2);
    scoreboard_result(&b, &p, &make, 14);
    uint8_t why = ORR_STALL_FETCH;
    assert_int_equal(scoreboard_wait(&b, &p, &use, 11, &why), 14);
    assert_int_equal(why, ORR_STALL_WAIT);
    why = ORR_STALL_FETCH;
    assert_int_equal(scoreboard_wait(&b, &p, &other, 11, &why), 11);
    assert_int_equal(why, ORR_STALL_FETCH);
    scoreboard_expect(&b, &p, &use, ORR_STALL_LONG);
    assert_int_equal(scoreboard_wait(&b, &p, &other, 20, &why), NEVER);
    assert_int_equal(why, ORR_STALL_LONG);
    scoreboard_complete(&b, &p, &use, 300);
    assert_int_equal(scoreboard_wait(&b, &p, &other, 20, &why), 300);
    scoreboard_reset(&b, 2);
    assert_int_equal(scoreboard_wait(&b, &p, &other, 20, &why), 20);
}

// A load from memory and then a special function raise one barrier: whoever waits does so for memory until
// that has answered, and then for the last that raised it.
static void test_reason_of_a_shared_barrier(void **state) {
    (void)state;
    orr_program p = {.control = true};
    orr_tinst load = {.ctrl = CTRL(2, 7, 0)}, mufu = {.ctrl = CTRL(2, 7, 0), .tclass = ORR_TC_SFU},
              waits = {.ctrl = CTRL(7, 7, 4)};
    scoreboard b = {0};
    uint8_t why = ORR_STALL_WAIT;
    scoreboard_expect(&b, &p, &load, ORR_STALL_LONG);
    scoreboard_result(&b, &p, &mufu, 30);
    assert_int_equal(scoreboard_wait(&b, &p, &waits, 10, &why), NEVER);
    assert_int_equal(why, ORR_STALL_LONG);
    scoreboard_complete(&b, &p, &load, 20);
    scoreboard_result(&b, &p, &mufu, 50);
    assert_int_equal(scoreboard_wait(&b, &p, &waits, 10, &why), 50);
    assert_int_equal(why, ORR_STALL_SHORT);
}

// Two loads raise write barrier 2: it is down when both have been answered, at the later of their times. A
// store that has to wait in the queue raises read barrier 1 until it has read its operands.
static void test_barriers_of_control_bits(void **state) {
    (void)state;
    orr_program p = {.control = true};
    orr_tinst load = {.ctrl = CTRL(2, 7, 0)}, store = {.ctrl = CTRL(7, 1, 0)},
              waits = {.ctrl = CTRL(7, 7, 6)};
    assert_int_equal(ORR_CTRL_WBAR(load.ctrl), 2);
    assert_int_equal(ORR_CTRL_RBAR(store.ctrl), 1);
    assert_int_equal(ORR_CTRL_WAIT(waits.ctrl), 6);
    scoreboard b = {0};
    uint8_t why = ORR_STALL_WAIT;
    scoreboard_expect(&b, &p, &load, ORR_STALL_LONG);
    scoreboard_expect(&b, &p, &load, ORR_STALL_LONG);
    scoreboard_complete(&b, &p, &load, 500);
    assert_int_equal(scoreboard_down(&b, 2), NEVER);
    scoreboard_complete(&b, &p, &load, 400);
    assert_int_equal(scoreboard_down(&b, 2), 500);
    scoreboard_will_read(&b, &p, &store);
    assert_int_equal(scoreboard_wait(&b, &p, &waits, 10, &why), NEVER);
    scoreboard_has_read(&b, &p, &store, 450);
    assert_int_equal(scoreboard_down(&b, 1), 450);
    assert_int_equal(scoreboard_wait(&b, &p, &waits, 10, &why), 500);
    assert_int_equal(why, ORR_STALL_LONG);
}

// Two groups of a copy each. All but the newest are done when the first's copy is there, all when both are.
static void test_groups(void **state) {
    (void)state;
    scoreboard b = {0};
    assert_int_equal(scoreboard_groups(&b, 0), 0);
    uint8_t first = scoreboard_copy(&b);
    b.group++;
    uint8_t second = scoreboard_copy(&b);
    b.group++;
    assert_int_equal(scoreboard_groups(&b, 1), NEVER);
    scoreboard_copied(&b, first, 200);
    assert_int_equal(scoreboard_groups(&b, 1), 200);
    assert_int_equal(scoreboard_groups(&b, 0), NEVER);
    scoreboard_copied(&b, second, 150);
    assert_int_equal(scoreboard_groups(&b, 0), 200);
}

// A block of four warps. Barrier 0 holds until all four have come; when one ends instead of coming, the
// others go on. Barrier 3 of two warps is over with the second, one of which may only arrive.
static void test_block_barriers(void **state) {
    (void)state;
    block_barriers b;
    barriers_reset(&b);
    for (int n = 0; n < 3; n++) assert_int_equal(barriers_arrive(&b, 0, true, 0, 4, 4), BARRIER_HOLDS);
    assert_int_equal(barriers_arrive(&b, 0, true, 0, 4, 4), BARRIER_ALL);
    for (int n = 0; n < 4; n++) barriers_pass(&b);
    barriers_over(&b, BARRIER_ALL);
    assert_int_equal(b.waiting + b.arrived[0], 0);
    for (int n = 0; n < 3; n++) barriers_arrive(&b, 0, true, 0, 4, 4);
    assert_int_equal(barriers_left(&b, 3), BARRIER_ALL);
    barriers_reset(&b);
    assert_int_equal(barriers_arrive(&b, 3, false, 2, 4, 4), BARRIER_HOLDS);
    assert_int_equal(barriers_arrive(&b, 3, true, 2, 4, 4), 3);
    barriers_pass(&b);
    barriers_over(&b, 3);
    assert_int_equal(b.arrived[3], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registers),
        cmocka_unit_test(test_reason_of_a_shared_barrier),
        cmocka_unit_test(test_barriers_of_control_bits),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_block_barriers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
