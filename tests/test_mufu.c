// MUFU against an H200, bit for bit: 154 million arguments, among them every mantissa of reciprocals, roots,
// exponentials and logarithms. The GPU's results are kept as one hash for each range of arguments in
// hardware/h200/mufu.txt, made by tests/h200/mufu.cu on such a machine.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "exec/ops/mufu.h"

enum { FROM, EDGES, EDGES64 };
// All signs and exponents: with 64 mantissas, or 16 of the upper words of doubles
static uint32_t argument(int how, uint32_t first, uint32_t step, uint32_t i) {
    static const uint32_t some[11] = {0,        1,        2,        3,        0x7fffff, 0x7ffffe,
                                      0x400000, 0x3fffff, 0x400001, 0x200000, 0x600000};
    uint32_t few = how == EDGES ? i & 63 : i & 15, m = i * 2654435761u + 0x9e3779b9u;
    if (how == FROM) return first + i * step;
    if (how == EDGES) return (i >> 6) << 23 | (few < 11 ? some[few] : m >> 9);
    return (i >> 4) << 20 | (few < 4 ? few : few == 4 ? 0xfffff : few == 5 ? 0x80000 : m >> 12);
}
static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

// What sin and cos do before MUFU: the product with 1 / 2 pi, cut. Subnormal ones count as zero.
static uint32_t turns(uint32_t x) {
    float f, r;
    memcpy(&f, &x, 4);
    double p = (double)f * 0x1.45f306p-3;
    uint64_t b;
    memcpy(&b, &p, 8);
    b &= ~0x1fffffffull;
    memcpy(&p, &b, 8);
    r = (float)p;
    memcpy(&b, &r, 4);
    if ((x & 0x7f800000) == 0x7f800000) return x;
    return (p < 0 ? -p : p) < 0x1p-126 ? x & 0x80000000 : (uint32_t)b;
}

static const struct {
    const char *name;
    int function;
} functions[] = {
    {"rcp.approx.ftz.f32", MUFU_RCP},
    {"rsqrt.approx.ftz.f32", MUFU_RSQ},
    {"sqrt.approx.ftz.f32", MUFU_SQRT},
    {"ex2.approx.ftz.f32", MUFU_EX2},
    {"lg2.approx.ftz.f32", MUFU_LG2},
    {"sin.approx.ftz.f32", MUFU_SIN},
    {"cos.approx.ftz.f32", MUFU_COS},
    {"tanh.approx.f32", MUFU_TANH},
    {"rcp.approx.ftz.f64", MUFU_RCP64H},
    {"rsqrt.approx.ftz.f64", MUFU_RSQ64H},
    {"ex2.approx.f16", MUFU_EX2 + MUFU_F16},
    {"tanh.approx.f16", MUFU_TANH + MUFU_F16},
    {"ex2.approx.ftz.bf16", MUFU_EX2 + MUFU_BF16},
    {"tanh.approx.bf16", MUFU_TANH + MUFU_BF16},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static uint64_t hash(int function, int how, uint32_t first, uint32_t step, uint32_t n) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i += 32) {
        uint32_t x[32];
        for (uint32_t l = 0; l < 32; l++) {
            x[l] = argument(how, first, step, i + l);
            if (function == MUFU_SIN || function == MUFU_COS) x[l] = turns(x[l]);
        }
        orr_mufu(function, x, x);
        for (uint32_t l = 0; l < 32; l++)
            sum += mix((uint64_t)(i + l) << 32 | (x[l] & 0x7fffffff ? x[l] : 0));
    }
    return sum;
}

static void as_on_the_h200(void **state) {
    (void)state;
    orr_err e = {0};
    char *file = orr_read_file(ORRERY_SOURCE_DIR "/hardware/h200/mufu.txt", 1 << 20, &(size_t){0}, &e);
    if (!file) fail_msg("%s", e.text);
    int lines = 0, wrong = 0;
    for (char *line = strtok(file, "\n"); line; line = strtok(NULL, "\n")) {
        char name[64], how[16];
        unsigned first, step, n;
        unsigned long long want;
        if (line[0] == '#') continue;
        if (sscanf(line, "%63s %15s %x %u %u %llx", name, how, &first, &step, &n, &want) != 6 || n % 32)
            fail_msg("cannot read '%s'", line);
        int f = 0;
        while (f < FUNCTIONS && strcmp(functions[f].name, name) != 0) f++;
        if (f == FUNCTIONS) fail_msg("no function '%s'", name);
        int kind = !strcmp(how, "edges") ? EDGES : !strcmp(how, "edges64") ? EDGES64 : FROM;
        lines++;
        if (hash(functions[f].function, kind, first, step, n) == want) continue;
        print_error("differs from the H200: %s\n", line);
        wrong++;
    }
    assert_int_equal(lines, 256);
    assert_int_equal(wrong, 0);
    free(file);
}

// Divisions that an H200 does the long way: all but those of exponents 25 to 254 over 2 to 251 that are at
// most 126 above and 124 below. 21,290 of the 65,536 pairs were long there, and no mantissa or sign made a
// difference.
static void division_check(void **state) {
    (void)state;
    uint32_t slow = 0, a[32], b[32];
    for (uint32_t i = 0; i < 65536; i += 32) {
        for (uint32_t l = 0; l < 32; l++) {
            a[l] = (i + l) >> 8 << 23 | (i * 77 & 0x7fffff) | l << 31;
            b[l] = ((i + l) & 255) << 23 | (i * 12345 & 0x7fffff);
        }
        slow += (uint32_t)__builtin_popcount(orr_fchk(a, b));
    }
    assert_int_equal(slow, 21290);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_on_the_h200), cmocka_unit_test(division_check)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
