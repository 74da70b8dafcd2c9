// Loads that meet in front of a slice of L2 (l2_merge.c), on the small machine of mem_rig.h: which are
// answered with one lookup, when a line is closed to them, and the packets in which the answer leaves. Worked
// out by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "l2_rig.h"

// Loads of a line are answered with one lookup, up to four, the last of its four sectors 3 cycles later.
// Lookups: line 0 at 0, line 1 at 10, line 0 again at 20, one sector of it at 30.
static void joined(void **state) {
    (void)state;
    bench *b = bench_of((const char *const[]){"l2.merge=4", "l2.tag_interval=10", NULL});
    orr_memsys_copy(b->m, 0, 1024);
    orr_request r[] = {reading(0, 0, 15), reading(0, 0, 15), reading(0, 1, 15), reading(0, 0, 15),
                       reading(0, 0, 15), reading(0, 0, 15), reading(0, 0, 2)};
    go(b, r, COUNT(r));
    static const uint32_t at[] = {3, 10, 13, 20, 20, 23, 30}; // the turn comes when the lookup before ends
    for (uint32_t i = 0; i < COUNT(r); i++) ANSWERED(b, i, at[i]);
    assert_int_equal(b->s.merged, 12);
    assert_int_equal(b->s.read[ORR_FROM_GLOBAL], 13);
    assert_int_equal(b->s.requests, 4);
    bench_free(b);
}

// Of part of a line as well, with another line in between.
static void joined_in_part(void **state) {
    (void)state;
    bench *b = bench_of((const char *const[]){"l2.merge=4", "l2.tag_interval=10", NULL});
    orr_memsys_copy(b->m, 0, 1024);
    orr_request r[] = {reading(0, 0, 1), reading(0, 0, 1), reading(0, 1, 1), reading(0, 0, 1)};
    go(b, r, COUNT(r));
    static const uint32_t at[] = {0, 10, 10, 20};
    for (uint32_t i = 0; i < COUNT(r); i++) ANSWERED(b, i, at[i]);
    assert_int_equal(b->s.merged, 2);
    assert_int_equal(b->s.requests, 2);
    bench_free(b);
}

// Loads of a GPC meet 30 cycles from L2: hits are answered with another up to 60 cycles after that one's
// answer left, misses for as long as it is on its way, too. Others are looked up: of another GPC, of other
// sectors, the fifth.
static void met(void **state) {
    (void)state;
    bench *b = bench_of((const char *const[]){"l2.merge=4", "l2.merge_time=60", NULL});
    orr_memsys_copy(b->m, 0, 128);
    orr_request r[] = {
        reading(0, 0, 3),    reading(61, 0, 3), // answered at 1, the second sector; joined
        reading(62, 0, 3),   reading(63, 0, 3), // too late, so looked up until 64; met by the next
        reading(64, 0, 3),   reading(65, 0, 1), // of SM 16, another GPC; of other sectors
        reading(1000, 9, 1), reading(1100, 9, 1),
        reading(1150, 9, 1),                      // from memory; the same answer, at 1200
        reading(1160, 9, 1), reading(1170, 9, 1), // the fourth; and the fifth, on its own
        reading(1201, 9, 1),                      // met by the fifth's answer
    };
    r[4].sm = 16;
    go(b, r, COUNT(r));
    static const uint32_t at[] = {1, 61, 63, 64, 65, 66, 1200, 1200, 1200, 1200, 1201, 1201};
    for (uint32_t i = 0; i < COUNT(r); i++) ANSWERED(b, i, at[i]);
    assert_int_equal(b->s.merged, 2 + 2 + 3 + 1);
    assert_int_equal(b->s.read[ORR_FROM_GLOBAL], 2 + 2 + 2 + 1 + 1 + 1);
    assert_int_equal(b->s.dram_read, 1);
    assert_int_equal(b->s.clients[0] + b->s.clients[1], 2); // one slice, by two SMs
    bench_free(b);
}

// A line is open to loads of the same sectors: one of others closes it, and is met by nobody.
static void closed(void **state) {
    (void)state;
    bench *b = bench_of((const char *const[]){"l2.merge=4", "l2.merge_time=60", NULL});
    orr_memsys_copy(b->m, 0, 128);
    orr_request r[] = {
        reading(0, 0, 3),  reading(10, 0, 3), // joined
        reading(20, 0, 1),                    // closes it
        reading(30, 0, 1),                    // opens it again
        reading(40, 0, 1),                    // joined
        reading(50, 0, 3),                    // closes it
        reading(60, 0, 3), reading(70, 0, 3), // opens it, joined
    };
    go(b, r, COUNT(r));
    assert_int_equal(b->s.merged, 2 + 1 + 2);
    assert_int_equal(b->s.requests, 5);
    bench_free(b);
}

// A store waits in front of the slice for loads of its line that are on their way (l2.store_after_fill): 200
// cycles from memory, and as long as others could meet them, 60; whatever is behind it waits with it.
static void stores_held(void **state) {
    (void)state;
    static const char *const sets[] = {"l2.merge=4", "l2.merge_time=60", "l2.store_after_fill=yes", NULL};
    bench *b = bench_of(sets);
    orr_memsys_copy(b->m, 0, 256);
    orr_request r[] = {
        reading(0, 9, 1),        // from memory, at 200
        storing(10, 9, 64, 96),  // to another sector
        reading(20, 0, 1),       // is there, but has to wait; a cycle behind it
        reading(1000, 0, 1),     // is there
        storing(1010, 1, 0, 32), // of a line that nobody loads: at once
        storing(1020, 0, 0, 32), // at 1060
        reading(1030, 1, 1),     // a cycle later
    };
    for (size_t i = 0; i < COUNT(r); i++) r[i].wants_ack = r[i].kind == ORR_REQ_WRITE;
    go(b, r, COUNT(r));
    static const uint32_t at[] = {200, 260, 261, 1000, 1010, 1060, 1061};
    for (uint32_t i = 0; i < COUNT(r); i++) ANSWERED(b, i, at[i]);
    bench_free(b);
    b = bench_of((const char *const[]){"l2.merge=4", "l2.merge_time=60", NULL});
    orr_memsys_copy(b->m, 0, 256);
    go(b, r, COUNT(r)); // without it all pass
    ANSWERED(b, 1, 10);
    ANSWERED(b, 2, 20);
    ANSWERED(b, 6, 1030);
    bench_free(b);
}

// Two halves, 20 cycles apart, which load lines of each other, store to them at once and load another line
// that they have: each waits for the other's answer, and what they ask each other for passes.
static void halves_held(void **state) {
    (void)state;
    bench *b = HALVES("l2.store_after_fill=yes");
    uint64_t of[2] = {0, 0}, more[2];
    for (int h = 0; h < 2; h++) {
        while (orr_memsys_side_of(b->m, of[h]) != h) of[h]++;
        for (more[h] = of[h] + 1; orr_memsys_side_of(b->m, more[h]) != h;) more[h]++;
        orr_memsys_copy(b->m, of[h] * 128, 128);
        orr_memsys_copy(b->m, more[h] * 128, 128);
    }
    orr_request r[6];
    for (uint32_t h = 0; h < 2; h++) { // SM 0 and SM 16
        r[h] = reading(0, of[1 - h], 1);
        r[2 + h] = storing(1, of[1 - h], 64, 96);
        r[4 + h] = reading(2, more[h], 1);
    }
    for (uint32_t i = 0; i < COUNT(r); i++) r[i].sm = i % 2 ? 16 : 0;
    go(b, r, COUNT(r));
    for (uint32_t h = 0; h < 2; h++) {
        ANSWERED(b, h, 40);     // there and back
        ANSWERED(b, 4 + h, 41); // behind the store
    }
    bench_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined), cmocka_unit_test(joined_in_part), cmocka_unit_test(met),
        cmocka_unit_test(closed), cmocka_unit_test(stores_held),    cmocka_unit_test(halves_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
