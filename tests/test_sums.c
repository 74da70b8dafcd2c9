// Sums of products as tensor cores make them: the way in vectors for usual numbers (exec/ops/sums.c) gives
// the bits of the way for any (exec/ops/mma.c), which are an H200's (tests/hopper/wgmma), and refuses what it
// cannot do without touching it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exec/ops/mma.h"
#include "exec/ops/sums.h"

enum { N = SUMS_COLUMNS, LEN_MAX = 32 };

static uint64_t seed = 1;
static uint32_t draw(void) { // splitmix64
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32 ^ z >> 16);
}

typedef struct kind {
    int type, bytes, len, guard, keep;
} kind;
static const kind kinds[] = {{ORR_T_BF16, 2, 16, MMA_GUARD, 0},
                             {ORR_T_F16, 2, 16, MMA_GUARD, 0},
                             {ORR_T_TF32, 4, 8, MMA_GUARD, 0},
                             {ORR_T_E4M3, 1, 32, 13, 13},
                             {ORR_T_E5M2, 1, 32, 13, 13}};

// Elements as they are in memory. `wild`: any bits; else exponents within 2^-spread to 2^spread of 1, some
// zero.
static void fill(const kind *k, int n, int spread, bool wild, uint32_t *f) {
    uint8_t raw[LEN_MAX * N * 4];
    for (int i = 0; i < n; i++) {
        uint32_t v = draw();
        if (!wild && k->bytes > 1) {
            bool f16 = k->type == ORR_T_F16;
            uint32_t e = draw() % (2 * (uint32_t)spread + 1), zero = draw() % 16 == 0;
            e = f16 ? 15 - (uint32_t)(spread < 14 ? spread : 14) +
                          e % (spread < 14 ? 2 * (uint32_t)spread + 1 : 29)
                    : 127 - (uint32_t)spread + e;
            v = f16                     ? (v & 0x83ff) | e << 10
                : k->type == ORR_T_BF16 ? (v & 0x807f) | e << 7
                                        : (v & 0x807fffff) | e << 23;
            if (zero) v = 0;
        }
        if (k->bytes == 1 && (v & 0x7c) == 0x7c) v &= 0xbf; // no infinity or NaN
        memcpy(raw + i * k->bytes, &v, (size_t)k->bytes);   // little-endian, as all hosts here are
    }
    orr_mma_to_f32(k->type, raw, n, f);
}

static void slowly(const kind *k, const uint32_t *a, const uint32_t *b, uint32_t *c) {
    float sa[LEN_MAX], sb[LEN_MAX * N];
    int32_t ea[LEN_MAX], eb[LEN_MAX * N];
    orr_mma_split(k->type, k->len, a, sa, ea);
    orr_mma_split(k->type, k->len * N, b, sb, eb);
    for (int j = 0; j < N; j += FOUR) {
        double acc[FOUR];
        for (int x = 0; x < FOUR; x++) acc[x] = f32_of(c[j + x]);
        mma_step how = {.sa = sa,
                        .ea = ea,
                        .sb = sb + j,
                        .eb = eb + j,
                        .n = N,
                        .len = k->len,
                        .guard = k->guard,
                        .keep = k->keep};
        orr_mma_step(how, acc);
        for (int x = 0; x < FOUR; x++) c[j + x] = bits32((float)acc[x]);
    }
}

// How many of `rounds` were done in vectors; all of those have the same bits.
static int compare(const kind *k, int rounds, int spread, bool wild) {
    int done = 0;
    for (int r = 0; r < rounds; r++) {
        uint32_t a[LEN_MAX], b[LEN_MAX * N], c[N], want[N], before[N];
        int16_t ea[LEN_MAX], eb[LEN_MAX * N];
        fill(k, k->len, spread, wild, a);
        fill(k, k->len * N, spread, wild, b);
        for (int j = 0; j < N; j++) {
            uint32_t e = wild ? draw() % 256 : 127 - (uint32_t)spread + draw() % (2 * (uint32_t)spread + 8);
            c[j] = r % 4 == 0 ? 0 : (draw() & 0x807fffff) | e << 23;
        }
        if (r % 3 == 0) // what nearly cancels
            for (int j = 0; j < N; j++)
                for (int i = 1; i < k->len; i += 2)
                    b[i * N + j] = b[(i - 1) * N + j] ^ (a[i] == a[i - 1] ? 0x80000000u : 0);
        if (r % 6 == 0)
            for (int i = 1; i < k->len; i += 2) a[i] = a[i - 1];
        memcpy(before, c, sizeof c);
        memcpy(want, c, sizeof c);
        bool usual = orr_sums_exponents(k->type, a, k->len, ea);
        usual &= orr_sums_exponents(k->type, b, k->len * N, eb);
        sums s = {
            .fa = a, .fb = b, .ea = ea, .eb = eb, .n = N, .len = k->len, .guard = k->guard, .keep = k->keep};
        if (!usual || !orr_sums(&s, 0, c)) {
            assert_memory_equal(c, before, sizeof c);
            continue;
        }
        slowly(k, a, b, want);
        assert_memory_equal(c, want, sizeof c);
        done++;
    }
    return done;
}

static void test_usual(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int spread = 1; spread <= 16; spread *= 2)
            assert_true(compare(&kinds[k], 2000, spread, false) > 1800); // sums of 2^30 and more are refused
}

static void test_any(void **state) { // what is taken is right; what is not, is left
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) compare(&kinds[k], 5000, 60, true);
    assert_true(compare(&kinds[0], 2000, 60, false) > 1000);
}

static void test_refused(void **state) {
    (void)state;
    uint32_t f[3] = {0x7f800000, 0x7fc00000, 0x60000000}; // infinity, NaN, 2^65
    int16_t e[1];
    for (int i = 0; i < 3; i++) assert_false(orr_sums_exponents(ORR_T_BF16, &f[i], 1, e));
    const kind *k = &kinds[0];
    uint32_t a[16], b[16 * N], c[N];
    int16_t ea[16], eb[16 * N];
    for (int i = 0; i < 16 * N; i++)
        a[i / N] = b[i] = 0x3ff80000; // 1.9375: sixteen products are more than 2^30
    assert_true(orr_sums_exponents(k->type, a, 16, ea) && orr_sums_exponents(k->type, b, 16 * N, eb));
    sums s = {.fa = a, .fb = b, .ea = ea, .eb = eb, .n = N, .len = 16, .guard = k->guard};
    memset(c, 0, sizeof c);
    assert_false(orr_sums(&s, 0, c));
    for (int i = 0; i < 16 * N; i++) b[i] = 0x3f800000;
    assert_true(orr_sums_exponents(k->type, b, 16 * N, eb));
    c[3] = 0x7f800000; // C has an infinity
    assert_false(orr_sums(&s, 0, c));
    c[3] = 0;
    assert_true(orr_sums(&s, 0, c));
    for (int j = 0; j < N; j++) assert_int_equal(c[j], 0x41f80000); // 16 x 1.9375 = 31
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_usual), cmocka_unit_test(test_any),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
