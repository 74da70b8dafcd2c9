// Tags of caches: what is found, what leaves, in both layouts (few ways, many ways), against a model that is
// a plain list in order of use.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gpu/gpu.h"
#include "memory/cache.h"

#include <stdlib.h>
#include <string.h>

static uint64_t seed = 1;
static uint32_t random_below(uint32_t n) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((seed >> 33) % n);
}

static void shapes(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes;
        uint32_t line, ways, sets_are, ways_are;
    } t[] = {
        {128 * 1024, 128, 4, 256, 4},   // 1024 lines
        {640 * 1024, 128, 16, 320, 16}, // a slice of an H200: sets need not be a power of two
        {256 * 1024, 128, 0, 1, 2048},  // fully associative
        {1000, 128, 2, 3, 2},           // 7 lines, of which 6 are used
        {1, 128, 16, 1, 1},             // never empty
        {4096, 128, 64, 1, 32},         // no more ways than lines
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        orr_cache c;
        orr_cache_init(&c, t[i].bytes, t[i].line, t[i].ways, true, false);
        assert_int_equal(c.sets, t[i].sets_are);
        assert_int_equal(c.ways, t[i].ways_are);
        assert_int_equal(orr_cache_find(&c, 0), ORR_NO_LINE);
        orr_cache_free(&c);
    }
}

// Four ways: the least recently used leaves, a touch counts as use, a dropped line's place is taken first.
static void use(void **state) {
    (void)state;
    orr_cache c;
    orr_cache_line victim;
    orr_cache_init(&c, 4 * 128, 128, 0, false, false);
    for (uint64_t tag = 10; tag < 14; tag++) {
        uint32_t i = orr_cache_take(&c, tag, &victim, NULL);
        assert_false(victim.flags);
        assert_int_equal(c.line[i].tag, tag);
        assert_int_equal(c.line[i].valid | c.line[i].dirty | c.line[i].pending, 0);
        assert_int_equal(c.line[i].user, ORR_NO_LINE);
        c.line[i].dirty = (uint8_t)tag;
    }
    orr_cache_touch(&c, orr_cache_find(&c, 10)); // 11 is the oldest now
    orr_cache_take(&c, 14, &victim, NULL);
    assert_true(victim.flags);
    assert_int_equal(victim.tag, 11);
    assert_int_equal(victim.dirty, 11);
    assert_int_equal(orr_cache_find(&c, 11), ORR_NO_LINE);
    orr_cache_drop(&c, orr_cache_find(&c, 14)); // the newest
    assert_int_equal(orr_cache_find(&c, 14), ORR_NO_LINE);
    orr_cache_take(&c, 15, &victim, NULL);
    assert_false(victim.flags);
    orr_cache_take(&c, 16, &victim, NULL);
    assert_int_equal(victim.tag, 12);
    orr_cache_flush(&c);
    for (uint64_t tag = 10; tag < 20; tag++) assert_int_equal(orr_cache_find(&c, tag), ORR_NO_LINE);
    orr_cache_take(&c, 10, &victim, NULL);
    assert_false(victim.flags);
    orr_cache_free(&c);
}

// Lines that are on their way stay, until all are.
static void pending(void **state) {
    (void)state;
    static const uint32_t lines[] = {4, 100}; // both layouts
    for (int k = 0; k < 2; k++) {
        orr_cache c;
        orr_cache_line victim;
        uint32_t n = lines[k];
        orr_cache_init(&c, (uint64_t)n * 128, 128, 0, false, false);
        for (uint32_t tag = 0; tag < n; tag++)
            c.line[orr_cache_take_idle(&c, tag, &victim, NULL)].pending = 1;
        assert_int_equal(orr_cache_take_idle(&c, n, &victim, NULL), ORR_NO_LINE);
        assert_int_not_equal(orr_cache_find(&c, 0), ORR_NO_LINE);
        c.line[orr_cache_find(&c, 2)].pending = 0;
        c.line[orr_cache_find(&c, 3)].pending = 0;
        orr_cache_take_idle(&c, n, &victim, NULL);
        assert_int_equal(victim.tag, 2);
        c.line[orr_cache_find(&c, n)].pending = 1;
        orr_cache_take_idle(&c, n + 1, &victim, NULL);
        assert_int_equal(victim.tag, 3);
        orr_cache_take(&c, n + 2, &victim, NULL); // this one does not ask
        assert_int_equal(victim.tag, 0);
        orr_cache_free(&c);
    }
}

// Masks of bytes leave with their line, and never come back: not to the next line, not after a drop or a
// flush.
static void masks(void **state) {
    (void)state;
    static const uint32_t lines[] = {1, 64};
    for (int k = 0; k < 2; k++) {
        orr_cache c;
        orr_cache_line victim;
        uint64_t bytes[2];
        orr_cache_init(&c, (uint64_t)lines[k] * 128, 128, 0, false, true);
        for (int how = 0; how < 3; how++) {
            for (uint32_t tag = 0; tag < lines[k]; tag++) {
                uint32_t i = orr_cache_take(&c, tag, &victim, bytes);
                assert_int_equal(bytes[0] | bytes[1], 0);
                assert_int_equal(c.partial[i][0] | c.partial[i][1], 0);
                c.line[i].flags |= ORR_LINE_PARTIAL;
                c.partial[i][0] = 0xff00;
                c.partial[i][1] = tag + 1;
            }
            for (uint32_t tag = 0; how == 0 && tag < lines[k]; tag++) {
                orr_cache_take(&c, 1000 + tag, &victim, bytes);
                assert_int_equal(victim.tag, tag);
                assert_int_equal(bytes[0], 0xff00);
                assert_int_equal(bytes[1], tag + 1);
            }
            for (uint32_t tag = 0; tag < lines[k]; tag++) {
                if (how == 0) orr_cache_drop(&c, orr_cache_find(&c, 1000 + tag));
                if (how == 1) orr_cache_drop(&c, orr_cache_find(&c, tag));
            }
            if (how == 2) orr_cache_flush(&c);
        }
        for (uint32_t tag = 0; tag < lines[k]; tag++) {
            uint32_t i = orr_cache_take(&c, tag, &victim, bytes);
            assert_int_equal(bytes[0] | bytes[1] | c.partial[i][0] | c.partial[i][1], 0);
        }
        orr_cache_free(&c);
    }
}

// ---- against a plain list -----------------------------------------------------------------------

#define TAGS_MAX 4096
typedef struct plain {
    uint64_t at[TAGS_MAX]; // newest first
    bool busy[TAGS_MAX];   // by tag
    uint32_t n;
} plain;

static uint32_t place(const plain *p, uint64_t tag) {
    uint32_t k = 0;
    while (k < p->n && p->at[k] != tag) k++;
    return k;
}
static void remove_at(plain *p, uint32_t k) {
    p->n--;
    for (; k < p->n; k++) p->at[k] = p->at[k + 1];
}
static void put_first(plain *p, uint64_t tag) {
    for (uint32_t k = p->n++; k; k--) p->at[k] = p->at[k - 1];
    p->at[0] = tag;
}

static void as_a_list(void **state) {
    (void)state;
    static const struct {
        uint32_t lines, ways;
        bool hashed;
    } t[] = {{16, 16, false}, {48, 24, true},  {20, 5, false}, {96, 32, true}, {40, 40, false},
             {1, 1, false},   {132, 33, true}, {64, 4, true},  {12, 3, false}, {16, 2, true}};
    for (size_t k = 0; k < sizeof t / sizeof *t; k++) {
        orr_cache c;
        orr_cache_init(&c, (uint64_t)t[k].lines * 128, 128, t[k].ways, t[k].hashed, false);
        plain *sets = calloc(c.sets, sizeof *sets);
        uint32_t range = t[k].lines * 3;
        for (int step = 0; step < 20000; step++) {
            uint64_t tag = random_below(range) * 0x10001ull;
            plain *set = &sets[orr_cache_set_of(&c, tag)];
            uint32_t at = place(set, tag), i = orr_cache_find(&c, tag), what = random_below(20);
            if (at == set->n) {
                assert_int_equal(i, ORR_NO_LINE);
                bool idle = random_below(2);
                orr_cache_line victim;
                i = idle ? orr_cache_take_idle(&c, tag, &victim, NULL)
                         : orr_cache_take(&c, tag, &victim, NULL);
                uint32_t out = set->n;
                if (set->n == c.ways) {
                    out = set->n - 1;
                    while (idle && out != UINT32_MAX && set->busy[set->at[out] % TAGS_MAX]) out--;
                    if (out == UINT32_MAX) {
                        assert_int_equal(i, ORR_NO_LINE);
                        continue;
                    }
                    assert_true(victim.flags);
                    assert_int_equal(victim.tag, set->at[out]);
                    remove_at(set, out);
                } else {
                    assert_false(victim.flags);
                }
                put_first(set, tag);
                set->busy[tag % TAGS_MAX] = random_below(4) == 0;
                c.line[i].pending = set->busy[tag % TAGS_MAX];
            } else if (what == 0) {
                orr_cache_drop(&c, i);
                remove_at(set, at);
            } else if (what < 10) {
                uint32_t found = i;
                assert_int_equal(c.line[i].tag, tag);
                if (what < 5 && !c.bucket) // a line of which nothing is wanted is there
                    assert_true(orr_cache_hit(&c, tag, 0, &found));
                else
                    orr_cache_touch(&c, i);
                assert_int_equal(found, i);
                remove_at(set, at);
                put_first(set, tag);
            } else if (what == 10 && random_below(100) == 0) {
                orr_cache_flush(&c);
                memset(sets, 0, c.sets * sizeof *sets);
            } else {
                c.line[i].pending = set->busy[tag % TAGS_MAX] = false;
            }
        }
        free(sets);
        orr_cache_free(&c);
    }
}

// Two sets of two ways, even tags in one and odd ones in the other, with room for three lines: which one goes
// for each that comes, by hand.
static void room(void **state) {
    (void)state;
    static const struct {
        uint64_t comes;
        int64_t goes;
    } t[] = {
        {0, -1}, {2, -1}, {1, -1}, // 2 0 | 1: full
        {3, 0},                    // the first set gives up its oldest: 2 | 3 1
        {4, 1},                    // then the second: 4 2 | 3
        {6, 2},                    // its own set is full: 6 4 | 3, and it is the first's turn still
        {5, 4},                    // 6 | 5 3
    };
    orr_cache c;
    orr_cache_line victim;
    orr_cache_init(&c, 4 * 128, 128, 2, false, false);
    orr_cache_limit(&c, 3);
    for (int again = 0; again < 2; again++) {
        for (size_t n = 0; n < sizeof t / sizeof *t; n++) {
            orr_cache_take(&c, t[n].comes, &victim, NULL);
            assert_int_equal(victim.flags, t[n].goes >= 0);
            if (t[n].goes >= 0) assert_int_equal(victim.tag, t[n].goes);
        }
        assert_int_equal(c.lines_held, 3);
        orr_cache_drop(&c, orr_cache_find(&c, 6));
        orr_cache_take(&c, 7, &victim, NULL); // its set is full: 7 5, and there is room for one
        assert_int_equal(victim.tag, 3);
        orr_cache_take(&c, 8, &victim, NULL);
        assert_false(victim.flags);
        orr_cache_flush(&c); // the second time it is as new
    }
    orr_cache_limit(&c, 4); // there is room for all
    for (uint64_t tag = 0; tag < 4; tag++) {
        orr_cache_take(&c, tag, &victim, NULL);
        assert_false(victim.flags);
    }
    uint32_t at;
    assert_false(orr_cache_hit(&c, 4, 0, &at));
    assert_int_equal(at, ORR_NO_LINE);
    assert_false(orr_cache_hit(&c, 2, 1, &at)); // it is there without the sector
    assert_int_equal(c.line[at].tag, 2);
    orr_cache_free(&c);
}

// Lines that drove line 0 out of an H200's L1, and some that did not (of 0 and the last four of the former
// all miss, one after the other; 0x12bd0, 0x3f65c, the last two of the latter and 0 all stay); all sets have
// as many lines.
static void folded(void **state) {
    (void)state;
    static const uint32_t out[] = {0x2422,  0x3301,  0x41b,   0xf1c,   0x1338,  0x2248,
                                   0x5fb4,  0x83ac,  0xfe50,  0x10684, 0x2bc54, 0x12bd0,
                                   0x3f65c, 0x20cf9, 0x15b41, 0x38fbb, 0x18528};
    static const uint32_t stays[] = {1,     2,      3,      0x200,   0x20b,   0x418,
                                     0x610, 0x1339, 0x133c, 0x40351, 0x69957, 0x5e8bc};
    orr_err e = {0};
    orr_gpu *g = orr_gpu_load("h200", NULL, 0, &e);
    if (!g) fail_msg("%s", e.text);
    const orr_gpu_array *hash = &g->l1_set_hash;
    orr_cache c;
    orr_cache_init(&c, 256 * 1024, 128, 4, true, false);
    orr_cache_fold(&c, hash->at, hash->n);
    uint32_t set = orr_cache_set_of(&c, 0), n[512] = {0};
    for (size_t i = 0; i < sizeof out / sizeof *out; i++) assert_int_equal(orr_cache_set_of(&c, out[i]), set);
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i++)
        assert_int_not_equal(orr_cache_set_of(&c, stays[i]), set);
    for (uint32_t line = 0; line < 1 << 19; line++) n[orr_cache_set_of(&c, line)]++;
    for (uint32_t s = 0; s < 512; s++) assert_int_equal(n[s], 1024);
    orr_cache_free(&c);
    orr_cache_init(&c, 128 * 1024, 128, 4, true, false); // of other caches it is not known
    orr_cache_fold(&c, hash->at, hash->n);
    assert_null(c.fold);
    orr_cache_free(&c);
    orr_gpu_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes), cmocka_unit_test(use),       cmocka_unit_test(pending),
        cmocka_unit_test(masks),  cmocka_unit_test(as_a_list), cmocka_unit_test(room),
        cmocka_unit_test(folded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
