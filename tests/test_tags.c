// What models in a hurry keep of caches and of time that is taken (memory/tags.h, memory/reservations.h), by
// hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memory/reservations.h"
#include "memory/tags.h"

// Uses a line; true: it was there.
static bool use(orr_tags *c, uint64_t line) {
    orr_tag t = orr_tags_of(c, line);
    uint32_t way = orr_tags_find(&t);
    bool there = way != ORR_NO_WAY;
    if (!there) {
        way = orr_tags_oldest(c, &t);
        orr_tags_put(&t, way, t.tag);
    }
    orr_tags_touch(&t, way);
    return there;
}

// One set of four: the fifth line takes the place of the one that was used longest ago.
static void test_lru(void **state) {
    (void)state;
    orr_tags c;
    orr_tags_init(&c, 1, 4, 4, false);
    assert_int_equal(c.sets, 1);
    for (uint64_t line = 10; line < 14; line++) assert_false(use(&c, line));
    assert_true(use(&c, 10));
    assert_false(use(&c, 14)); // in the place of 11
    assert_true(use(&c, 10));
    assert_false(use(&c, 11)); // of 12
    assert_true(use(&c, 13));
    assert_false(use(&c, 12));
    orr_tags_flush(&c);
    assert_false(use(&c, 13));
    orr_tags_free(&c);
}

// Sixteen ways, cyclically used by seventeen lines: none is ever there; by sixteen: all are.
static void test_sixteen(void **state) {
    (void)state;
    orr_tags c;
    orr_tags_init(&c, 1, 16, 16, false);
    for (int round = 0; round < 3; round++)
        for (uint64_t line = 0; line < 17; line++) assert_false(use(&c, line));
    orr_tags_flush(&c);
    for (int round = 0; round < 3; round++)
        for (uint64_t line = 0; line < 16; line++) assert_int_equal(use(&c, line), round > 0);
    orr_tags_free(&c);
}

// A plain index: lines that are `sets` apart meet. Two caches side by side know nothing of each other.
static void test_sets(void **state) {
    (void)state;
    orr_tags c[2];
    orr_tags_init(c, 2, 128, 1, false);
    assert_int_equal(c[0].sets, 128);
    assert_false(use(&c[0], 5));
    assert_false(use(&c[1], 5));
    assert_false(use(&c[0], 5 + 128));
    assert_false(use(&c[0], 5));
    assert_true(use(&c[1], 5));
    assert_false(use(&c[0], 6));
    assert_true(use(&c[0], 5));
    orr_tags_free(c);
}

// Sets by a hash, of few and of many: lines in a row that are no more than the reach are told apart, and from
// those that are far. As many lines as the cache has go in one after the other; whatever is found in a set by
// its tag must be the line that was put there.
static void test_told_apart(void **state) {
    (void)state;
    const uint32_t sets[] = {1, 5, 53, 320, 4096};
    for (uint32_t k = 0; k < 5; k++)
        for (uint32_t together = 0; together < 3; together += 2) {
            orr_tags c;
            orr_tags_init(&c, 1, 16ull * sets[k], 16, true);
            orr_tags_group(&c, together);
            uint64_t reach = orr_tags_reach(&c), first = 0x123456789ull,
                     n = reach < 1u << 20 ? reach : 1u << 20;
            assert_true(reach >= sets[k] * 1024ull);
            uint8_t *seen = orr_calloc((size_t)sets[k] * 65536 / 8, 1); // [set][tag]
            for (uint64_t line = first; line < first + n; line++)
                for (int far = 0; far < 2; far++) {
                    orr_tag t = orr_tags_of(&c, far ? line | ORR_TAGS_FAR : line);
                    size_t at = (size_t)(t.set - c.set) * 65536 + t.tag;
                    assert_int_not_equal(t.tag, 0);
                    assert_false(seen[at / 8] >> at % 8 & 1);
                    seen[at / 8] |= (uint8_t)(1u << at % 8);
                }
            free(seen);
            orr_tags_free(&c);
        }
}

// Stretches of 16: 10 and 10 and 10 from time 0 on are over at 10, 20 (6 of the first stretch, 4 of the next)
// and
// 30. What comes later in the program and earlier in time takes what is left.
static void test_reservations(void **state) {
    (void)state;
    orr_reservations l = {0};
    assert_int_equal(orr_reserve(&l, 0, 10, 4), 10);
    assert_int_equal(orr_reserve(&l, 0, 10, 4), 20);
    assert_int_equal(orr_reserve(&l, 100, 5, 4), 105);
    assert_int_equal(orr_reserve(&l, 0, 10, 4), 30);
    assert_int_equal(orr_reserve(&l, 40, 3, 4), 43);
}

// As much as 1000 requests of 7 ask for is over after 7000, and a request of long after finds nothing of
// them, though entries have been used again many times.
static void test_full(void **state) {
    (void)state;
    orr_reservations l = {0};
    uint64_t end = 0;
    for (int n = 0; n < 1000; n++) end = orr_reserve(&l, 0, 7, 4);
    assert_int_equal(end, 7000);
    assert_int_equal(orr_reserve(&l, 7003, 7, 4), 7010);
    assert_int_equal(orr_reserve(&l, 123456, 7, 4), 123463);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lru),  cmocka_unit_test(test_sixteen),
        cmocka_unit_test(test_sets), cmocka_unit_test(test_reservations),
        cmocka_unit_test(test_full), cmocka_unit_test(test_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
