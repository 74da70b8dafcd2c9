// Atomics and reductions at a slice of L2, on the small machine of mem_rig.h: how long they take it, what
// comes between them, and what waits behind them. Worked out by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "l2_rig.h"

// 32 lanes on one word at one a cycle: 32 cycles each, one after the other, answered or not.
static void atomics(void **state) {
    (void)state;
    bench *b = bench_of(NULL);
    orr_memsys_copy(b->m, 0, 1024);
    orr_request r[] = {
        atomic(0, 0, 32, true),   atomic(0, 0, 32, true),     atomic(0, 0, 32, false), atomic(0, 0, 32, true),
        reading(1000, 0, 1),      atomic(2000, 500, 1, true), // has to be fetched first
        atomic(3000, 0, 1, true), reading(3000, 1, 1),        // others go on meanwhile
    };
    go(b, r, COUNT(r));
    ANSWERED(b, 0, 32);
    ANSWERED(b, 1, 64);
    ANSWERED(b, 3, 128);
    ANSWERED(b, 4, 1000);
    ANSWERED(b, 5, 2201);
    ANSWERED(b, 6, 3001);
    ANSWERED(b, 7, 3002); // looked up at 3001, when the other answer takes the port
    assert_int_equal(b->out.n, 7);
    assert_int_equal(b->s.atomics.n, 6);
    assert_int_equal(b->s.atomics.hit, 5);
    assert_int_equal(b->s.dram_read, 1);
    bench_free(b);
    const char *sets[] = {"l2.atomic=16", NULL};
    b = bench_of(sets);
    orr_memsys_copy(b->m, 0, 1024);
    go(b, r, COUNT(r));
    ANSWERED(b, 0, 2);
    ANSWERED(b, 3, 8);
    bench_free(b);
}

// Those that return nothing are counted apart: of three looked up, the second finds what the first one
// brought.
static void reductions_apart(void **state) {
    (void)state;
    bench *b = bench_of(NULL);
    orr_request r[] = {atomic(0, 0, 1, false), atomic(1000, 0, 1, false), atomic(2000, 0, 1, true),
                       atomic(3000, 500, 1, false)};
    go(b, r, COUNT(r));
    assert_int_equal(b->s.atomics.n, 4);
    assert_int_equal(b->s.atomics.hit, 2);
    assert_int_equal(b->s.atomics.reduced[0], 3);
    assert_int_equal(b->s.atomics.reduced[1], 1);
    bench_free(b);
}

// An atomic leaves its sector dirty.
static void atomics_write(void **state) {
    (void)state;
    const char *sets[] = {"l2.size=2 KB", NULL};
    bench *b = bench_of(sets);
    orr_request r[17];
    r[0] = atomic(0, 0, 4, false);
    for (uint32_t i = 1; i < 17; i++) r[i] = reading(1000 * i, i, 1);
    go(b, r, 17);
    assert_int_equal(b->s.written_back, 1);
    bench_free(b);
}

// A sector of 4 words takes 4 cycles; of another 1 KB (line 8; line 2 is not) one takes at least 6,
// two 12 (and the second leaves a cycle later), while the slice takes on the next. One that came with another
// (more) finds it ready. A load waits for all of them.
static void switched(void **state) {
    (void)state;
    bench *b = bench_of((const char *const[]){"l2.atomic_row=6", NULL});
    orr_memsys_copy(b->m, 0, 2048);
    orr_request r[] = {atomic(0, 0, 4, true), atomic(0, 2, 4, true), atomic(0, 8, 4, true),
                       atomic(0, 0, 4, true), atomic(0, 0, 9, true), atomic(0, 8, 4, true),
                       reading(0, 3, 1)};
    r[2].sectors = 3;
    r[5].same_packet = true;
    go(b, r, COUNT(r));
    ANSWERED(b, 0, 6);
    ANSWERED(b, 1, 10);
    ANSWERED(b, 2, 23);
    ANSWERED(b, 3, 28);
    ANSWERED(b, 4, 37);
    ANSWERED(b, 5, 41);
    ANSWERED(b, 6, 42); // looked up when the last is done, whatever its line
    bench_free(b);
}

// A load waits for the atomic before it, which is done after 4 cycles, and is answered in the next. One of
// its line (l2.atomic_then_load) keeps the slice for 5 cycles, from 4 to 9, and the one behind it waits; the
// next load of the line does not, nor does one of another line.
static void atomic_load(void **state) {
    (void)state;
    for (int other = 0; other < 2; other++) {
        bench *b = bench_of((const char *const[]){"l2.atomic_row=1", "l2.atomic_then_load=5", NULL});
        orr_memsys_copy(b->m, 0, 1024);
        orr_request r[] = {atomic(0, 0, 4, true), reading(0, other ? 3 : 0, 1), reading(0, 0, 2)};
        if (other) r[2] = reading(0, 3, 2);
        go(b, r, COUNT(r));
        ANSWERED(b, 1, 5);
        ANSWERED(b, 2, other ? 6 : 9);
        bench_free(b);
    }
}

// So does one right behind an atomic of its own SM, whatever has come in between: not from 4 to 9, as the
// load before it, but from 9 to 14.
static void atomic_load_behind(void **state) {
    (void)state;
    bench *b = bench_of((const char *const[]){"l2.atomic_row=1", "l2.atomic_then_load=5", NULL});
    orr_memsys_copy(b->m, 0, 1024);
    orr_request r[] = {atomic(0, 0, 4, true), reading(0, 0, 1), reading(0, 0, 1), reading(0, 0, 2)};
    r[2].after_atomic = true;
    go(b, r, COUNT(r));
    ANSWERED(b, 1, 5);
    ANSWERED(b, 2, 9);
    ANSWERED(b, 3, 14);
    bench_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(atomics),  cmocka_unit_test(reductions_apart), cmocka_unit_test(atomics_write),
        cmocka_unit_test(switched), cmocka_unit_test(atomic_load),      cmocka_unit_test(atomic_load_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
