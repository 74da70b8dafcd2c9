// The decoder and printer of machine code: against nvdisasm's own text, and the decoded form against the
// encoding as the manuals of others describe it (worked out by hand at each case).
#include "sass/sass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    unsigned sm;
    uint64_t lo, hi;
    const char *text;
} lines[] = {
#define LINE(sm, lo, hi, text) {sm, lo, hi, text},
#include "sass_lines.def"
#undef LINE
};

static orr_code decode(unsigned sm, uint64_t lo, uint64_t hi, uint32_t at) {
    uint64_t b[2] = {lo, hi};
    orr_code c;
    orr_sass_decode(&c, sm, b, at);
    return c;
}

static void without_spaces(char *to, const char *from) {
    for (; *from; from++)
        if (*from != ' ') *to++ = *from;
    *to = 0;
}

static void same_text(unsigned sm, uint64_t lo, uint64_t hi, uint32_t at, const char *want) {
    orr_code c = decode(sm, lo, hi, at);
    orr_text t = {0};
    orr_sass_print(&t, &c);
    char got[400], expected[400];
    assert_true(t.n < sizeof got && strlen(want) < sizeof expected);
    without_spaces(got, t.s);
    without_spaces(expected, want);
    if (strcmp(got, expected) != 0)
        print_error("sm_%u %016llx %016llx\n", sm, (unsigned long long)lo, (unsigned long long)hi);
    assert_string_equal(got, expected);
    free(t.s);
}

static void text_of_nvdisasm(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        same_text(lines[i].sm, lines[i].lo, lines[i].hi, 0, lines[i].text);
}

// Before sm_90 the offset is bits 34 and up, in units of 4; since, 8 of its bits are at 16. It counts from
// the next instruction: 0x10 + 16 + 0xb30; 0x70 + 16 + (0x32 << 2); -16 is the branch to itself.
static void branches(void **state) {
    (void)state;
    same_text(75, 0x00000b3000008947, 0x000fea0003800000, 0x10, "@!P0 BRA 0xb50");
    same_text(90, 0x0000000000328947, 0x000fea0003800000, 0x70, "@!P0 BRA 0x148");
    same_text(80, 0xfffffff000007947, 0x000fc0000383ffff, 0x130, "BRA 0x130");
    same_text(90, 0xfffffffc00fc7947, 0x000fc0000383ffff, 0x130, "BRA 0x130");
    orr_code c = decode(90, 0xfffffffc00fc7947, 0x000fc0000383ffff, 0x130);
    assert_int_equal(c.op, ORR_SASS_BRA);
    assert_int_equal(c.nargs, 2);
    assert_int_equal(c.args[1].kind, ORR_ARG_TARGET);
    assert_int_equal(c.args[1].value, 0x130);
}

// IADD3.X R3, P1, PT, R7, ~R5, RZ, P0, !PT with the guard @!P2: operands are where they are without .X too.
static void operands(void **state) {
    (void)state;
    uint64_t lo = 0x210 | 2ull << 12 | 1ull << 15 | 3ull << 16 | 7ull << 24 | 5ull << 32 | 1ull << 63;
    uint64_t hi = 0xff | 1ull << 10 | 1ull << 17 | 7ull << 20 | 0ull << 23 | 7ull << 13 | 1ull << 16 |
                  0x000fc00000000000ull;
    orr_code x = decode(80, lo, hi, 0);
    assert_int_equal(x.op, ORR_SASS_IADD3);
    assert_int_equal(x.guard, 2);
    assert_true(x.guard_neg);
    assert_int_equal(orr_code_mod(&x, ORR_SM_X), 1);
    assert_int_equal(x.nargs, 8);
    assert_int_equal(x.args[0].kind, ORR_ARG_R);
    assert_int_equal(x.args[0].reg, 3);
    assert_true(x.args[0].flags & ORR_ARG_DST);
    assert_int_equal(x.args[1].kind, ORR_ARG_P);
    assert_int_equal(x.args[1].reg, 1);
    assert_true(x.args[2].flags & ORR_ARG_HIDDEN);
    assert_int_equal(x.args[4].reg, 5);
    assert_true(x.args[4].flags & ORR_ARG_INV);
    assert_int_equal(x.args[5].reg, ORR_RZ);
    assert_int_equal(x.args[6].reg, 0);
    assert_true(x.args[7].flags & ORR_ARG_INV);
    orr_code plain = decode(80, lo, hi & ~(1ull << 10), 0);
    assert_int_equal(orr_code_mod(&plain, ORR_SM_X), 0);
    assert_int_equal(plain.nargs, 8);
    assert_true(plain.args[4].flags & ORR_ARG_NEG);
    assert_true(plain.args[6].flags & ORR_ARG_HIDDEN);
    assert_int_equal(plain.args[6].reg, 0);
}

// FFMA in each form: bits 9 to 11 say what is at bit 32 and whether it is B or C.
static void forms(void **state) {
    (void)state;
    for (unsigned form = 1; form < 8; form++) {
        uint64_t lo =
            0x023 | (uint64_t)form << 9 | 7ull << 12 | 1ull << 16 | 2ull << 24 | 0x3f000008ull << 32;
        bool uniform = form >= 6;
        orr_code c = decode(80, lo, 4 | (uniform ? 1ull << 27 : 0), 0);
        assert_int_equal(c.op, ORR_SASS_FFMA);
        const orr_arg *at32 = &c.args[form == 2 || form == 3 || form == 7 ? 3 : 2];
        const orr_arg *at64 = &c.args[form == 2 || form == 3 || form == 7 ? 2 : 3];
        static const uint8_t kind[] = {0,           ORR_ARG_R,     ORR_ARG_F32, ORR_ARG_CONST,
                                       ORR_ARG_F32, ORR_ARG_CONST, ORR_ARG_UR,  ORR_ARG_UR};
        assert_int_equal(at32->kind, kind[form]);
        assert_int_equal(at64->kind, ORR_ARG_R);
        assert_int_equal(at64->reg, 4);
        if (kind[form] == ORR_ARG_F32) assert_int_equal(at32->value, 0x3f000008);
        if (kind[form] == ORR_ARG_R || kind[form] == ORR_ARG_UR) assert_int_equal(at32->reg, 8);
    }
    // a constant: bank in bits 54 to 58, offset in 40 to 53 in words, negative from 0x8000 on
    orr_code c = decode(80, 0xa23ull | 7ull << 12 | 3ull << 54 | (0x210ull >> 2) << 40, 0, 0);
    assert_int_equal(c.args[2].bank, 3);
    assert_int_equal(c.args[2].value, 0x210);
}

// LDG.E.64.STRONG.GPU R8, desc[UR4][R2.64+-0x10]
static void addresses(void **state) {
    (void)state;
    uint64_t lo = 0x981 | 7ull << 12 | 8ull << 16 | 2ull << 24 | 4ull << 32 | (0xfffff0ull << 40);
    uint64_t hi =
        1ull << 8 | 5ull << 9 | 1ull << 12 | 7ull << 13 | 7ull << 17 | 1ull << 20 | 1ull << 26 | 1ull << 27;
    orr_code c = decode(90, lo, hi, 0);
    assert_int_equal(c.op, ORR_SASS_LDG);
    assert_int_equal(orr_code_mod(&c, ORR_SM_SIZE), ORR_SV_SIZE_W64);
    assert_int_equal(orr_code_mod(&c, ORR_SM_ORDER), ORR_SV_ORDER_STRONG_GPU);
    assert_int_equal(orr_code_mod(&c, ORR_SM_E), 1);
    const orr_arg *a = &c.args[2];
    assert_int_equal(a->kind, ORR_ARG_MEM);
    assert_int_equal(a->reg, 2);
    assert_int_equal(a->bank, 4);
    assert_true(a->shape & ORR_ARG_HAS_DESC);
    assert_true(a->shape & ORR_ARG_WIDE);
    assert_int_equal(a->value, -0x10);
    same_text(90, lo, hi, 0, "LDG.E.64.STRONG.GPU R8, desc[UR4][R2.64+-0x10]");
    same_text(80, lo, hi, 0, "LDG.E.64.STRONG.GPU R8, [R2.64+-0x10]"); // there, and not shown
    orr_code old = decode(80, lo, hi, 0);
    assert_true(old.args[2].shape & ORR_ARG_HAS_DESC);
}

// Stall 4, yield bit set, write barrier 1, no read barrier, waits for 0 and 5, reuse of A and B.
static void control(void **state) {
    (void)state;
    uint64_t ctrl = 4 | 1 << 4 | 1 << 5 | 7 << 8 | 0x21 << 11 | 3 << 17;
    orr_code c = decode(80, 0x0000000502077223, ctrl << 41 | 6, 0);
    assert_int_equal(ORR_CTRL_STALL(c.ctrl), 4);
    assert_int_equal(ORR_CTRL_YIELD(c.ctrl), 1);
    assert_int_equal(ORR_CTRL_WBAR(c.ctrl), 1);
    assert_int_equal(ORR_CTRL_RBAR(c.ctrl), 7);
    assert_int_equal(ORR_CTRL_WAIT(c.ctrl), 0x21);
    assert_int_equal(ORR_CTRL_REUSE(c.ctrl), 3);
    orr_text t = {0};
    orr_sass_print_ctrl(&t, c.ctrl);
    assert_string_equal(t.s, "B0----5:R-:W1:-:S04");
    t.n = 0;
    orr_sass_print(&t, &c);
    assert_string_equal(t.s, "FFMA R7, R2.reuse, R5.reuse, R6");
    free(t.s);
}

static void unknown(void **state) {
    (void)state;
    orr_code c = decode(90, 0, 0x123, 0);
    assert_int_equal(c.op, ORR_SASS_NONE);
    orr_text t = {0};
    orr_sass_print(&t, &c);
    assert_string_equal(t.s, ".inst 0x00000000000001230000000000000000");
    free(t.s);
    assert_true(orr_sass_supported(90));
    assert_false(orr_sass_supported(62));
    // VIADD came with sm_90
    assert_int_equal(decode(90, 0x0000000107077836, 0, 0).op, ORR_SASS_VIADD);
    assert_int_equal(decode(86, 0x0000000107077836, 0, 0).op, ORR_SASS_NONE);
}

// Immediates as nvdisasm writes them: 20 digits, or all of a large number's.
static void immediates(void **state) {
    (void)state;
    static const struct {
        uint32_t bits;
        const char *text;
    } f[] = {{0x3f800000, "1"},
             {0x3e99999a, "0.30000001192092895508"},
             {0x32a57060, "1.925963033500011079e-08"},
             {0xcb40007f, "-12583039"},
             {0x5f800000, "1.84467440737095516160e+19"},
             {0x7f800000, "+INF "},
             {0xffc00000, "-QNAN "},
             {0x00000001, "1.4012984643248170709e-45"},
             {0x80000000, "-0.0"}};
    for (size_t i = 0; i < sizeof f / sizeof f[0]; i++) {
        char want[80];
        snprintf(want, sizeof want, "FADD R2, R14, %s", f[i].text);
        same_text(80, 0x421 | 7ull << 12 | 2ull << 16 | 14ull << 24 | (uint64_t)f[i].bits << 32, 0, 0, want);
    }
    same_text(80, 0x828 | 7ull << 12 | 4ull << 16 | 4ull << 24 | 0x43500000ull << 32, 0, 0,
              "DMUL R4, R4, 1.80143985094819840000e+16");
    same_text(80, 0x430 | 7ull << 12 | 15ull << 16 | 14ull << 24 | 0xc0003c00ull << 32, 0, 0,
              "HADD2 R15, R14, -2, 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_of_nvdisasm), cmocka_unit_test(branches),
        cmocka_unit_test(operands),         cmocka_unit_test(forms),
        cmocka_unit_test(addresses),        cmocka_unit_test(control),
        cmocka_unit_test(unknown),          cmocka_unit_test(immediates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
