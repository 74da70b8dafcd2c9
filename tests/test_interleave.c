// Which slice or channel an address belongs to.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gpu/gpu.h"
#include "memory/interleave.h"

#include <stdlib.h>
#include <string.h>

// x generates all 2^m - 1 elements that are not 0.
static void primitive(void **state) {
    (void)state;
    for (uint32_t m = 1; m <= 17; m++) {
        uint32_t p = orr_polynomial(m), x = 1, order = 0;
        assert_int_equal(p >> m, 1);
        do {
            x <<= 1;
            if (x >> m) x ^= p;
            order++;
        } while (x != 1 && order < 1u << m);
        assert_int_equal(order, (1u << m) - 1);
    }
    assert_int_equal(orr_polynomial(18), 0);
}

static void division(void **state) {
    (void)state;
    uint64_t n = 0x123456789abcdull;
    for (uint32_t d = 1; d <= 4096; d++) {
        orr_divider by = orr_divider_of(d);
        uint64_t most = d > 1 ? UINT64_MAX / d - 1 : UINT64_MAX;
        for (int k = 0; k < 8; k++) {
            n = n * 6364136223846793005ull + 1442695040888963407ull;
            uint64_t v = n % most;
            assert_true(orr_divide(by, v) == v / d);
            assert_true(orr_divide(by, v / d * d) == v / d);
            if (v / d) assert_true(orr_divide(by, v / d * d - 1) == v / d - 1);
        }
        assert_true(orr_divide(by, most) == most / d);
    }
}

// Each group of chunks goes to every unit once, and its number is the place there: no two chunks share one.
static void dense(void **state) {
    (void)state;
    static const uint32_t counts[] = {1,  2,  3,  5,  6,   8,   12,  24,   32,  40,
                                      48, 64, 80, 96, 100, 128, 512, 4095, 4096};
    static const int hows[] = {ORR_HASH_IPOLY, ORR_HASH_XOR, ORR_HASH_MODULO};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int h = 0; h < 3; h++) {
            uint32_t n = counts[i];
            orr_spread *s = malloc(sizeof *s);
            bool *seen = malloc(n);
            orr_spread_init(s, n, hows[h]);
            for (uint64_t group = 0; group < 50; group++) {
                uint64_t far = group < 40 ? group : group * 0x123456789ull; // within 2^52 chunks
                memset(seen, 0, n);
                for (uint32_t r = 0; r < n; r++) {
                    uint64_t place;
                    uint32_t unit = orr_spread_unit(s, far * n + r, &place);
                    assert_true(unit < n);
                    assert_true(place == far);
                    assert_false(seen[unit]);
                    seen[unit] = true;
                }
            }
            uint64_t place;
            assert_true(orr_spread_unit(s, UINT64_MAX, &place) < n);
            free(seen);
            free(s);
        }
}

// With a power of two units, ipoly is the chunk's number modulo the polynomial (Rau 1991).
static void is_a_remainder(void **state) {
    (void)state;
    orr_spread *s = malloc(sizeof *s);
    for (uint32_t m = 1; m <= 12; m++) {
        orr_spread_init(s, 1u << m, ORR_HASH_IPOLY);
        for (uint64_t chunk = 1; chunk < 1ull << 50; chunk = chunk * 3 + 1) {
            uint64_t rest = chunk, place;
            for (int bit = 51; bit >= (int)m; bit--)
                if (rest >> bit & 1) rest ^= (uint64_t)orr_polynomial(m) << (bit - (int)m);
            assert_int_equal(orr_spread_unit(s, chunk, &place), rest);
        }
    }
    free(s);
}

// The busiest unit against the mean, when `n` chunks at a distance of `stride` are touched.
static double crowding(const orr_spread *s, uint64_t stride, uint32_t n) {
    uint32_t units = s->units.d, *count = calloc(units, sizeof *count), most = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t place;
        uint32_t c = ++count[orr_spread_unit(s, i * stride, &place)];
        if (c > most) most = c;
    }
    free(count);
    return (double)most * units / n;
}

// 64 chunks a unit. Thrown at random the busiest of 5 to 96 units would have about 64 + 2 x 8, 1.25 times the
// mean, which is what all strides together should come to; a linear hash has strides that are worse. Those
// people use (powers of two, and multiples of the number of units) must stay below 2, and of all strides to
// 4096 all but 5 % below 1.5. A plain modulo has everything in one unit when the stride is a multiple of
// their count.
static void strides(void **state) {
    (void)state;
    static const uint32_t counts[] = {6, 12, 48, 80, 96, 24, 40, 5, 10};
    orr_spread *s = malloc(sizeof *s);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint32_t n = counts[i];
        int bad = 0;
        double sum = 0;
        orr_spread_init(s, n, ORR_HASH_IPOLY);
        assert_true(crowding(s, 1, 64 * n) == 1);
        for (uint64_t stride = 1; stride <= 4096; stride++) {
            double c = crowding(s, stride, 64 * n);
            sum += c;
            bad += c > 1.5;
        }
        if (sum / 4096 > 1.35 || bad > 4096 / 20) fail_msg("%u units: mean %g, %d bad", n, sum / 4096, bad);
        for (uint64_t stride = 1; stride <= 1ull << 30; stride *= 2)
            for (int times = 0; times < 2; times++) {
                double c = crowding(s, times ? stride * n : stride, 64 * n);
                if (c > 2) fail_msg("%u units, stride %llu: %g", n, (unsigned long long)stride, c);
            }
        orr_spread_init(s, n, ORR_HASH_MODULO);
        assert_true(crowding(s, n, 64 * n) == n);
    }
    free(s);
}

// A power of two of units and of the stride: exactly even, as the remainders of x^k times 0 .. 2^m - 1 are
// all different.
static void conflict_free(void **state) {
    (void)state;
    orr_spread *s = malloc(sizeof *s);
    for (uint32_t n = 2; n <= 256; n *= 2) {
        orr_spread_init(s, n, ORR_HASH_IPOLY);
        for (uint64_t stride = 1; stride <= 1ull << 30; stride *= 2) assert_true(crowding(s, stride, n) == 1);
    }
    free(s);
}

// As an H200 has it: 94 slices, 47 of each half. Chunks 0 and 2 are on one slice, 1 and 3 on another: bit 0
// gives place 8, bit 1 nothing. Bit 4 (4 KB) gives place 8 and the other half, bit 9 (128 KB) place 50 and
// the other half, and 64 more are dealt out: 114 = 2 x 47 + 20. 47 times 128 KB fill all slices evenly, and
// no two chunks share a place, which are counted without gaps.
static void fold(void **state) {
    (void)state;
    orr_err e = {0};
    orr_gpu *g = orr_gpu_load("h200", NULL, 0, &e);
    assert_non_null(g);
    orr_spread *s = malloc(sizeof *s);
    orr_spread_fold(s, 94, &g->l2_fold);
    static const struct {
        uint64_t chunk, place;
        uint32_t unit;
    } known[] = {{0, 0, 0}, {1, 0, 8}, {2, 1, 0}, {3, 1, 8}, {16, 0, 47 + 8}, {17, 0, 47}, {512, 8, 47 + 20}};
    uint64_t place;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_int_equal(orr_spread_unit(s, known[i].chunk, &place), known[i].unit);
        assert_int_equal(place, known[i].place);
    }
    static const uint32_t counts[] = {2, 8, 94, 96};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint32_t n = counts[i], each = 512;
        orr_spread_fold(s, n, &g->l2_fold);
        bool *seen = calloc((size_t)n * each, 1);
        for (uint64_t c = 0; c < (uint64_t)n * each; c++) {
            uint32_t unit = orr_spread_unit(s, c, &place);
            assert_true(unit < n && place < each);
            assert_false(seen[unit * each + place]);
            seen[unit * each + place] = true;
        }
        free(seen);
    }
    orr_spread_init(s, 7, ORR_HASH_FOLD); // no halves
    assert_true(orr_spread_unit(s, UINT64_MAX, &place) < 7);
    free(s);
    orr_gpu_free(g);
}

// Bits 1 and 8 may give anything, the seven other lowest ones must tell all chunks of 128 KB apart. A
// description whose l2.fold does not is refused; one without is as ipoly.
static void folds(void **state) {
    (void)state;
    orr_gpu_array known = {9, {1, 0, 2, 4, 8, 16, 32, 64, 0}};
    assert_true(orr_spread_folds(&known));
    known.at[1] = known.at[8] = 127;
    assert_true(orr_spread_folds(&known));
    known.at[7] = 1 | 2 | 32; // of three others
    assert_false(orr_spread_folds(&known));
    known.at[7] = 64 | 1;
    assert_true(orr_spread_folds(&known));
    known.n = 8;
    assert_false(orr_spread_folds(&known));
    orr_err e = {0};
    const char *const sets[] = {"l2.fold=1, 1, 1, 1, 1, 1, 1, 1, 1"}, *const none[] = {"l2.fold="};
    orr_gpu *g = orr_gpu_load("h200", sets, 1, &e);
    assert_non_null(g);
    orr_interleave map;
    assert_false(orr_interleave_init(&map, g, &e));
    assert_non_null(strstr(e.text, "l2.fold"));
    orr_gpu_free(g);
    e = (orr_err){0};
    g = orr_gpu_load("h200", none, 1, &e);
    assert_non_null(g);
    assert_true(orr_interleave_init(&map, g, &e));
    assert_false(map.spread.folded);
    orr_interleave_free(&map);
    orr_gpu_free(g);
}

// With two channels a slice the slices of chunks are those of one channel each, and a slice's chunks, dense
// as before, go to its channels in turn.
static void turns(void **state) {
    (void)state;
    const char *const sets[] = {"dram.channels=94"};
    orr_err e = {0};
    orr_gpu *g[2] = {orr_gpu_load("h200", sets, 1, &e), orr_gpu_load("h200", NULL, 0, &e)};
    assert_true(g[0] && g[1]);
    assert_int_equal(g[1]->dram_channels, 188);
    orr_interleave one, two;
    assert_true(orr_interleave_init(&one, g[0], &e) && orr_interleave_init(&two, g[1], &e));
    for (uint64_t line = 0; line < 1 << 20; line += 2) {
        uint64_t tags[2];
        const orr_memory_unit *a = &one.unit[orr_interleave_line(&one, line, &tags[0])],
                              *b = &two.unit[orr_interleave_line(&two, line, &tags[1])];
        assert_int_equal(a->slice, b->slice);
        assert_int_equal(tags[0], tags[1]);
        assert_int_equal(b->channel, 2 * b->slice + tags[1] / 2 % 2);
    }
    orr_interleave_free(&one);
    orr_interleave_free(&two);
    for (int i = 0; i < 2; i++) orr_gpu_free(g[i]);
}

// Ten slices and eight channels: two groups of five slices and four channels, in which each slice uses each
// channel once; a line's number in its slice is dense.
static void groups(void **state) {
    (void)state;
    const char *const sets[] = {"l2.slices=10",      "dram.channels=8", "l2.size=160 KB", "l2.hash=modulo",
                                "l2.interleave=256", "l2.partitions=2", "l2.replicate=no"};
    orr_err e = {0};
    orr_gpu *g = orr_gpu_load("h200", sets, 7, &e);
    assert_non_null(g);
    orr_interleave map;
    assert_true(orr_interleave_init(&map, g, &e));
    assert_int_equal(map.groups, 2);
    assert_int_equal(map.units, 40);
    assert_int_equal(map.shift, 1);
    int pairs[10][8] = {{0}};
    for (uint32_t n = 0; n < map.units; n++) {
        const orr_memory_unit *u = &map.unit[n];
        pairs[u->slice][u->channel]++;
        assert_int_equal(u->slices, 5);
        assert_int_equal(u->channels, 4);
        assert_int_equal(u->side, u->group);
        assert_int_equal(map.unit[u->first].slice, u->slice);
    }
    for (int s = 0; s < 10; s++)
        for (int c = 0; c < 8; c++) assert_int_equal(pairs[s][c], s / 5 == c / 4);
    uint64_t tag; // chunks of two lines: the first 40 chunks are the first of their units
    assert_int_equal(orr_interleave_line(&map, 0, &tag), 0);
    assert_int_equal(tag, 0);
    assert_int_equal(orr_interleave_line(&map, 2 * 3 + 1, &tag), 3); // the fourth channel of slice 0
    assert_int_equal(tag, 2 * 3 + 1);
    assert_int_equal(orr_interleave_line(&map, 2 * 44, &tag), 4); // the next round, slice 1
    assert_int_equal(tag, 2 * 4);
    orr_interleave_free(&map);
    orr_gpu_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns),    cmocka_unit_test(groups),        cmocka_unit_test(primitive),
        cmocka_unit_test(division), cmocka_unit_test(dense),         cmocka_unit_test(is_a_remainder),
        cmocka_unit_test(strides),  cmocka_unit_test(conflict_free), cmocka_unit_test(fold),
        cmocka_unit_test(folds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
