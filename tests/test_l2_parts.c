// What L2 holds only so many lines of: those that were stored to in part, and dirty ones. On the small
// machine of mem_rig.h (a hit is answered at once, a miss after 200 cycles), whose sets are lines 64 apart,
// or with a single set.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "l2_rig.h"

#define ONE_SET "l2.ways=1024"

// Byte masks for two lines: the third line that is stored to in part has the first's sectors read and
// written. Later the first is there whole, the second has to be read; and a line that is stored to whole
// needs no mask.
static void masks(void **state) {
    (void)state;
    bench *b = bench_of((const char *const[]){"l2.partial_ways=2", ONE_SET, NULL});
    orr_memsys_copy(b->m, 9 * 128, 128);
    orr_request r[] = {storing(0, 0, 0, 4),    storing(20, 1, 0, 4), storing(30, 5, 0, 128),
                       storing(1000, 2, 0, 4), reading(1000, 9, 1),  reading(2000, 0, 1),
                       reading(3000, 1, 1)};
    go(b, r, COUNT(r));
    ANSWERED(b, 4, 1001);
    ANSWERED(b, 5, 2000);
    ANSWERED(b, 6, 3200);
    assert_int_equal(b->s.dram_read, 2);
    assert_int_equal(b->s.fetched_for_write, 2);
    assert_int_equal(b->s.written_back, 1);
    bench_free(b);
}

// A line whose sectors have become whole, byte by byte, needs its mask no longer: of 40 lines that are stored
// to in two halves of a sector, one after the other, none is read, though there is one mask.
static void masks_are_given_back(void **state) {
    (void)state;
    bench *b = bench_of((const char *const[]){"l2.partial_ways=1", ONE_SET, NULL});
    orr_request r[80];
    for (uint32_t i = 0; i < 40; i++) {
        r[2 * i] = storing(100 * i, i, 32, 48);
        r[2 * i + 1] = storing(100 * i + 50, i, 48, 64);
    }
    go(b, r, COUNT(r));
    assert_int_equal(b->s.fetched_for_write, 0);
    bench_free(b);
}

// Each set has its share: two lines of one set do not disturb those of another; the third of a set does.
static void masks_by_set(void **state) {
    (void)state;
    for (uint32_t third = 0; third < 2; third++) {
        bench *b = bench_of((const char *const[]){"l2.partial_ways=2", NULL}); // two of a set
        orr_request r[] = {storing(0, 0, 0, 4),   storing(100, 64, 0, 4),
                           storing(200, 1, 0, 4), storing(300, 65, 0, 4),
                           storing(400, 2, 0, 4), storing(500, third ? 128 : 3, 0, 4),
                           reading(5000, 9, 1)};
        go(b, r, COUNT(r));
        assert_int_equal(b->s.fetched_for_write, third);
        bench_free(b);
    }
}

// Sectors that were stored to in part are read and written in rows that are opened for them
// (l2.partial_alone), each in its own where they came one by one. Without that one row serves both sectors of
// line 0, read and written.
static void sectors_alone(void **state) {
    (void)state;
    for (int n = 0; n < 3; n++) {
        const char *alone = n ? "l2.partial_alone=yes" : "l2.partial_alone=no";
        bench *b = bench_of((const char *const[]){"l2.partial_ways=1", alone, ONE_SET, NULL});
        orr_memsys_copy(b->m, 9 * 128, 128);
        orr_request one_by_one[] = {storing(0, 0, 0, 4), storing(10, 0, 64, 68), storing(1000, 1, 0, 4),
                                    reading(5000, 9, 1)},
                    at_once[] = {storing(0, 0, 28, 36), storing(1000, 1, 0, 4), reading(5000, 9, 1)};
        if (n < 2)
            go(b, one_by_one, COUNT(one_by_one));
        else
            go(b, at_once, COUNT(at_once));
        assert_int_equal(b->s.fetched_for_write, 2);
        assert_int_equal(b->s.written_back, 2);
        assert_int_equal(b->s.row_miss, n == 0 ? 1 : n == 1 ? 4 : 2);
        assert_int_equal(b->s.row_miss + b->s.row_hit, 4);
        bench_free(b);
    }
}

// And so is each half of a line that is not written as a whole: sectors 0, 1 and 3 of a line that atomics
// have been at. A line all of whose sectors are dirty is written at once.
static void halves_alone(void **state) {
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        bench *b = bench_of((const char *const[]){"l2.dirty_ways=1", "l2.partial_alone=yes", ONE_SET, NULL});
        orr_request r[] = {atomic(0, 0, 1, false), atomic(5000, 1, 1, false), reading(9000, 1, 1)};
        r[0].sectors = whole ? 15 : 11;
        go(b, r, COUNT(r));
        assert_int_equal(b->s.dram_read, whole ? 5 : 4);
        assert_int_equal(b->s.written_back, whole ? 4 : 3);
        assert_int_equal(b->s.row_miss + b->s.row_hit, whole ? 9 : 7);
        assert_int_equal(b->s.row_miss, whole ? 2 : 4); // line 1 lies in its row
        bench_free(b);
    }
}

// Lines that are on their way when others become dirty count as well, once they are there: of four that are
// added to at once three are over the limit when the fifth comes.
static void dirty_together(void **state) {
    (void)state;
    bench *b = bench_of((const char *const[]){"l2.dirty_ways=1", ONE_SET, NULL});
    orr_request r[] = {atomic(0, 0, 1, false), atomic(1, 1, 1, false), atomic(2, 2, 1, false),
                       atomic(3, 3, 1, false), atomic(5000, 4, 1, false)};
    go(b, r, COUNT(r));
    assert_int_equal(b->s.written_back, 4);
    bench_free(b);
}

// And where a sector that is there in part was stored to again, each sector of the line takes the slice
// longer (l2.complete_rewritten): one of line 0; line 1 was stored to again at another sector, line 2 once.
static void sectors_again(void **state) {
    (void)state;
    bench *b = bench_of((const char *const[]){"l2.partial_ways=1", "l2.complete_rewritten=5", ONE_SET, NULL});
    orr_memsys_copy(b->m, 9 * 128, 128);
    orr_request r[] = {storing(0, 0, 0, 4), storing(10, 0, 4, 8),     storing(1000, 1, 0, 4),
                       reading(1000, 9, 1), storing(1500, 1, 32, 36), storing(2000, 2, 0, 4),
                       reading(2000, 9, 1), storing(3000, 3, 0, 4),   reading(3000, 9, 1),
                       reading(4000, 9, 1)};
    go(b, r, COUNT(r));
    ANSWERED(b, 3, 1006);
    ANSWERED(b, 6, 2001);
    ANSWERED(b, 8, 3001);
    bench_free(b);
}

// One line is completed at a time (l2.completions): line 0 is read from 1000 to 1200, so that the store to
// line 2, for which line 1 has to be read, waits until then, and what is behind it.
static void one_at_a_time(void **state) {
    (void)state;
    for (int one = 0; one < 2; one++) {
        bench *b = bench_of(
            (const char *const[]){"l2.partial_ways=1", one ? "l2.completions=1" : ONE_SET, ONE_SET, NULL});
        orr_memsys_copy(b->m, 9 * 128, 128);
        orr_request r[] = {storing(0, 0, 0, 4), storing(1000, 1, 0, 4), storing(1010, 2, 0, 4),
                           reading(1010, 9, 1), reading(3000, 9, 1)};
        go(b, r, COUNT(r));
        ANSWERED(b, 3, one ? 1201 : 1011);
        assert_int_equal(b->s.fetched_for_write, 2);
        bench_free(b);
    }
}

// A line all of whose sectors have been completed is written when another one is (l2.completed_ways): of
// lines 0, 1 and 2 all but the last. One sector that has been is written at once.
static void written_later(void **state) {
    (void)state;
    for (int n = 0; n < 4; n++) {
        int later = n % 2, all = n / 2;
        bench *b = bench_of((const char *const[]){"l2.partial_ways=1",
                                                  later ? "l2.completed_ways=1" : ONE_SET, ONE_SET, NULL});
        orr_request r[] = {storing(0, 0, 0, 4), storing(1000, 1, 0, 4), storing(2000, 2, 0, 4),
                           storing(3000, 3, 0, 4), reading(5000, 9, 1)};
        for (int k = 0; all && k < 4; k++) { // a byte of each sector
            r[k].sectors = 15;
            r[k].bytes[0] = r[k].bytes[1] = 0x100000001;
        }
        go(b, r, COUNT(r));
        assert_int_equal(b->s.fetched_for_write, all ? 12 : 3);
        assert_int_equal(b->s.written_back, !all ? 3 : later ? 8 : 12);
        bench_free(b);
    }
}

// Two lines of a set may be dirty (l2.dirty_ways). Before a third is, the one used least recently is
// written, line 64, since line 0 was read meanwhile; it stays, and is found. Line 128 is dirty already. Line
// 64, stored to again, is dirty once more, and line 0 is written and stays.
static void dirty(void **state) {
    (void)state;
    static const uint64_t written[] = {0, 0, 0, 4, 4, 4, 8, 8};
    for (int one = 0; one < 2; one++) // sets of few ways, and a list
        for (size_t n = 1; n <= COUNT(written); n++) {
            bench *b = bench_of(one ? (const char *const[]){"l2.dirty_ways=2", ONE_SET, NULL}
                                    : (const char *const[]){"l2.dirty_ways=2", NULL});
            orr_request r[] = {storing(0, 0, 0, 128),    storing(100, 64, 0, 128),
                               reading(200, 0, 1),       storing(1000, 128, 0, 128),
                               reading(2000, 64, 1),     storing(3000, 128, 0, 128),
                               storing(4000, 64, 0, 32), reading(5000, 0, 1)};
            go(b, r, n);
            assert_int_equal(b->s.written_back, written[n - 1]);
            assert_int_equal(b->s.evicted, 0);
            if (n >= 5) ANSWERED(b, 4, 2000);
            if (n >= 8) ANSWERED(b, 7, 5000);
            bench_free(b);
        }
}

// Atomics make lines dirty, too.
static void dirty_by_atomics(void **state) {
    (void)state;
    bench *b = bench_of((const char *const[]){"l2.dirty_ways=2", ONE_SET, NULL});
    orr_request r[] = {atomic(0, 0, 1, false), atomic(1000, 1, 1, false), atomic(2000, 2, 1, false),
                       atomic(3000, 3, 1, true)};
    go(b, r, COUNT(r));
    assert_int_equal(b->s.written_back, 2); // a sector each
    bench_free(b);
}

// A line whose sectors are on their way for an atomic has its place among the dirty ones already: line 0 is
// written for that of line 2, though only one line has come.
static void dirty_on_its_way(void **state) {
    (void)state;
    bench *b = bench_of((const char *const[]){"l2.dirty_ways=2", ONE_SET, NULL});
    orr_request r[] = {storing(0, 0, 0, 128), atomic(1000, 1, 1, false), atomic(1001, 2, 1, false)};
    go(b, r, COUNT(r));
    assert_int_equal(b->s.written_back, 4);
    bench_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks),
        cmocka_unit_test(masks_are_given_back),
        cmocka_unit_test(masks_by_set),
        cmocka_unit_test(sectors_alone),
        cmocka_unit_test(halves_alone),
        cmocka_unit_test(dirty_together),
        cmocka_unit_test(sectors_again),
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(written_later),
        cmocka_unit_test(dirty),
        cmocka_unit_test(dirty_by_atomics),
        cmocka_unit_test(dirty_on_its_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
