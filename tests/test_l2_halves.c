// The two halves of L2, on the small machine of mem_rig.h: whose a line is, copies in the other half and
// what ends them, and stores of both to one line, which take turns. Worked out by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "l2_rig.h"

// 20 cycles from a half to the other. Of GPCs of 16 SMs the first is of the first half: SM 0; the second of
// the second: SM 16.
static void halves(void **state) {
    (void)state;
    bench *b = bench_of(two_halves);
    assert_int_equal(orr_memsys_partitions(b->m), 1);
    uint64_t far = 0;
    while (orr_memsys_side_of(b->m, far) != 1) far++;
    orr_request r[] = {
        reading(0, far, 1),         // there at 20, from memory at 220, and back
        reading(100, far, 1),       // waits for the same
        reading(1000, far, 1),      // a copy
        reading(2000, far, 1),      // SM 16: its own half
        storing(3000, far, 0, 32),  // SM 16; the copy is dropped at 3020
        reading(3019, far, 1),      // before that
        reading(4000, far, 1),      // there and back again
        storing(5000, far, 32, 64), // SM 0: there at 5020
        reading(5019, far, 2),      // SM 16: not written yet; 200 cycles from memory
        reading(6000, far, 1),      // SM 0: the copy has gone again
        atomic(7000, far, 1, true), // SM 0: done at 7020 in a cycle, and back
    };
    for (size_t i = 0; i < COUNT(r); i++) r[i].sm = i == 3 || i == 4 || i == 8 ? 16 : 0;
    go(b, r, COUNT(r));
    ANSWERED(b, 0, 240);
    ANSWERED(b, 1, 240 + 1); // a sector a cycle
    ANSWERED(b, 2, 1000);
    ANSWERED(b, 3, 2000);
    ANSWERED(b, 5, 3019);
    ANSWERED(b, 6, 4040);
    ANSWERED(b, 8, 5219);
    ANSWERED(b, 9, 6040);
    ANSWERED(b, 10, 7041);
    // The SMs' own halves were asked for seven sectors, the other one for four of them again.
    assert_int_equal(b->s.read[ORR_FROM_GLOBAL], 8);
    assert_int_equal(b->s.far.read, 3);
    assert_int_equal(b->s.write[ORR_FROM_GLOBAL], 2);
    assert_int_equal(b->s.far.write, 1);
    assert_int_equal(b->s.atomics.n, 1);
    assert_int_equal(b->s.far.atomic, 1);
    assert_int_equal(b->s.far.atomic_hit, 1);
    assert_int_equal(b->s.far.read_hit, 2); // all but the first
    assert_int_equal(b->s.dram_read, 2);
    bench_free(b);
}

// A half that stores to its own line tells the other one, which has stored to it or read it since: of SM 0's
// five stores the second, the fourth and the fifth.
static void halves_told(void **state) {
    (void)state;
    bench *b = bench_of(two_halves);
    uint64_t line = 0;
    while (orr_memsys_side_of(b->m, line) != 0) line++;
    orr_request r[] = {
        storing(0, line, 0, 32),    // SM 0
        storing(1000, line, 0, 32), // SM 16
        storing(2000, line, 0, 32), // SM 0: 16 is told
        storing(3000, line, 0, 32), // SM 0
        reading(4000, line, 1),     // SM 16
        storing(5000, line, 0, 32), // SM 0: 16 is told that its copy is old
        storing(6000, line, 0, 32), // SM 16
        storing(7000, line, 0, 32), // SM 16
        reading(8000, line, 1),     // SM 0
        storing(9000, line, 0, 32), // SM 0: 16 is told, once
    };
    for (size_t i = 0; i < COUNT(r); i++) r[i].sm = i == 1 || i == 4 || i == 6 || i == 7 ? 16 : 0;
    go(b, r, COUNT(r));
    assert_int_equal(b->s.notified, 3);
    assert_int_equal(b->s.far.write, 3);
    // SM 0 has asked the only slice of its half for its own lines, SM 16 for those of the other
    assert_int_equal(b->s.clients[0], 1);
    assert_int_equal(b->s.clients[1], 1);
    bench_free(b);
}

// Two halves with l2.invalidate_replicas, and a line of SM 0's that L2 has.
static bench *copies_bench(uint64_t *line) {
    bench *b = HALVES("l2.invalidate_replicas=yes");
    for (*line = 0; orr_memsys_side_of(b->m, *line) != 0;) ++*line;
    orr_memsys_copy(b->m, *line * 128, 128);
    return b;
}

// With l2.invalidate_replicas SM 0, whose half the line is of, hears of what it writes 40 cycles later where
// the other half has read the line or stored to it since; and a store of SM 16 leaves it the copy that it
// has.
static void halves_copies_told(void **state) {
    (void)state;
    uint64_t line;
    bench *b = copies_bench(&line);
    orr_request r[] = {
        atomic(0, line, 1, true),     // done in a cycle
        reading(1000, line, 1),       // SM 16: there and back
        atomic(2000, line, 1, true),  // SM 0: done at 2001, the copy is dropped at 2020
        atomic(3000, line, 1, true),  // nobody has one
        reading(4000, line, 1),       // SM 16
        storing(5000, line, 0, 32),   // SM 16: there at 5020, heard of at 5040
        reading(6000, line, 1),       // SM 16: the copy
        storing(7000, line, 0, 32),   // SM 0
        storing(8000, line, 0, 32),   // SM 0: nobody has one
        reading(9000, line, 1),       // SM 16: not any more
        storing(10000, line, 0, 4),   // SM 16
        atomic(11000, line, 1, true), // SM 0
    };
    static const uint32_t at[] = {1, 1040, 2041, 3001, 4040, 5040, 6000, 7040, 8000, 9040, 10040, 11041};
    for (size_t i = 0; i < COUNT(r); i++) {
        r[i].sm = i == 1 || (i >= 4 && i <= 6) || i == 9 || i == 10 ? 16 : 0;
        r[i].wants_ack = r[i].kind == ORR_REQ_WRITE;
    }
    go(b, r, COUNT(r));
    for (uint32_t i = 0; i < COUNT(r); i++) ANSWERED(b, i, at[i]);
    bench_free(b);
}

// And it leaves whole sectors that it writes where it passes, though nobody has read the line before; of
// others it leaves nothing. What the line's own half writes, or an atomic, is the end of the copy.
static void halves_left(void **state) {
    (void)state;
    uint64_t line;
    bench *b = copies_bench(&line);
    orr_request r[] = {
        storing(0, line, 0, 36),      // SM 16: a sector and a word
        reading(1000, line, 1),       // SM 16: the sector
        reading(2000, line, 2),       // SM 16: there and back
        storing(3000, line, 0, 4),    // SM 16: a word
        reading(4000, line, 1),       // SM 16: it went into the copy
        storing(5000, line, 96, 100), // SM 0: the copy is dropped
        reading(6000, line, 1),       // SM 16: there and back
        storing(7000, line, 64, 96),  // SM 16
        atomic(8000, line, 1, true),  // SM 16: done at 8021, and back
        reading(9000, line, 4),       // SM 16: the copy has gone
    };
    for (size_t i = 0; i < COUNT(r); i++) r[i].sm = i == 5 ? 0 : 16;
    go(b, r, COUNT(r));
    ANSWERED(b, 1, 1000);
    ANSWERED(b, 2, 2040);
    ANSWERED(b, 4, 4000);
    ANSWERED(b, 6, 6040);
    ANSWERED(b, 8, 8041);
    ANSWERED(b, 9, 9040);
    bench_free(b);
}

// Words of one line that both halves store to. SM 0 is of its half, SM 16 of the other, 20 cycles away; a
// word takes a port 2 cycles, and behind each port two stores wait for their line.
static void store_turns(void **state) {
    (void)state;
    bench *b = HALVES("l2.side_switch=40", "l2.partial_queue=2");
    uint64_t near = 0, other = 0;
    while (orr_memsys_side_of(b->m, near) != 0) near++;
    while (orr_memsys_side_of(b->m, other) != 1) other++;
    orr_memsys_copy(b->m, (near + 1) * 128, 128);
    orr_memsys_copy(b->m, other * 128, 128);
    orr_request r[] = {
        storing(0, near, 0, 4),   // SM 16: there and done at 20, and SM 16 hears of it
        storing(21, near, 4, 8),  // passes its port, and is done when the other half's turn is over
        storing(21, near, 0, 4),  // the port at 23; a cycle later
        storing(21, near, 4, 8),  // would have the port at 25, but the queue is full until 60
        reading(22, near + 1, 1), // behind it
        reading(23, other, 1),    // goes by when it stands still, from 24 on, and there and back
        storing(90, near, 0, 4),  // SM 16: there at 110. The other half waits for 40 cycles and no longer
        storing(100, near, 4, 8), // at once, as no other has stored since 20
        storing(120, near, 4, 8), storing(130, near, 4, 8), // their own half's turn goes on
        storing(151, near, 4, 8),                           // it has ended at 150
    };
    for (size_t i = 0; i < COUNT(r); i++) {
        r[i].sm = i == 0 || i == 6 ? 16 : 0;
        r[i].wants_ack = r[i].kind == ORR_REQ_WRITE;
    }
    go(b, r, COUNT(r));
    static const uint32_t at[] = {40, 60, 61, 62, 61, 64, 170, 100, 120, 130, 190};
    for (uint32_t i = 0; i < COUNT(r); i++) ANSWERED(b, i, at[i]);
    assert_int_equal(b->s.write[ORR_FROM_GLOBAL], 9);
    assert_int_equal(b->s.far.write, 2);
    bench_free(b);
}

// The other half waits for 25 cycles instead: its store, which is there at 110, for that at 100 until 125,
// for that at 120 until 145, but not for longer than until 135. This half's next one waits for 40 then. And
// at 300, where no other has been for 40 cycles, nobody waits.
static void store_turns_far(void **state) {
    (void)state;
    bench *b = HALVES("l2.side_switch=40", "l2.side_switch_far=25");
    uint64_t near = 0;
    while (orr_memsys_side_of(b->m, near) != 0) near++;
    orr_request r[] = {storing(90, near, 0, 4),  storing(100, near, 4, 8), storing(120, near, 4, 8),
                       storing(140, near, 4, 8), storing(280, near, 0, 4), storing(400, near, 4, 8)};
    for (size_t i = 0; i < COUNT(r); i++) {
        r[i].sm = i == 0 || i == 4 ? 16 : 0;
        r[i].wants_ack = true;
    }
    go(b, r, COUNT(r));
    static const uint32_t at[] = {135 + 20, 100, 120, 175, 300 + 20, 400};
    for (uint32_t i = 0; i < COUNT(r); i++) ANSWERED(b, i, at[i]);
    bench_free(b);
}

// A word takes its port 2 cycles, two sectors 3: stores to lines of their own are done at 0, 2 and 5, and the
// load between the last two, which is no store, at 3.
static void store_ports(void **state) {
    (void)state;
    bench *b = HALVES("l2.side_switch=40");
    uint64_t near = 0;
    while (orr_memsys_side_of(b->m, near) != 0) near++;
    orr_memsys_copy(b->m, near * 128, 128);
    orr_request r[] = {storing(0, near, 0, 4), storing(0, near + 1, 28, 36), reading(0, near, 1),
                       storing(0, near, 0, 4)};
    for (size_t i = 0; i < COUNT(r); i++) r[i].wants_ack = r[i].kind == ORR_REQ_WRITE;
    go(b, r, COUNT(r));
    static const uint32_t at[] = {0, 2, 3, 5};
    for (uint32_t i = 0; i < COUNT(r); i++) ANSWERED(b, i, at[i]);
    bench_free(b);
}

// A line can be stored to every 10 cycles: line 1 at 0, again at 10, line 2 at 11, a load at 12; and 1,000
// cycles later lines 1 and 2 at once, and the load behind them.
static void stored_again(void **state) {
    (void)state;
    bench *b = bench_of((const char *const[]){"l2.same_line_store=10", NULL});
    orr_memsys_copy(b->m, 0, 128);
    orr_request r[] = {storing(0, 1, 0, 32), storing(0, 1, 0, 32),    storing(0, 2, 0, 32),
                       reading(0, 0, 1),     storing(1000, 1, 0, 32), storing(1000, 2, 0, 32),
                       reading(1000, 0, 1)};
    go(b, r, COUNT(r));
    ANSWERED(b, 3, 12);
    ANSWERED(b, 6, 1002);
    bench_free(b);
}

// An atomic on a sector that is not there brings the one beside it, too (l2.sector), unless the other half
// has sent it: SM 0 adds to a line of its own half, SM 16 to one of the other.
static void far_atomics_bring_less(void **state) {
    (void)state;
    for (uint16_t sm = 0; sm <= 16; sm += 16) {
        bench *b = HALVES("l2.sector=64");
        uint64_t line = 0;
        while (orr_memsys_side_of(b->m, line) != 0) line++;
        orr_request r[] = {atomic(0, line, 1, false)};
        r[0].sm = sm;
        go(b, r, COUNT(r));
        assert_int_equal(b->s.dram_read, sm ? 1 : 2);
        bench_free(b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves),
        cmocka_unit_test(halves_told),
        cmocka_unit_test(halves_copies_told),
        cmocka_unit_test(halves_left),
        cmocka_unit_test(store_turns),
        cmocka_unit_test(store_turns_far),
        cmocka_unit_test(store_ports),
        cmocka_unit_test(stored_again),
        cmocka_unit_test(far_atomics_bring_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
