// The long way of divisions and roots (ptx/longways.c): which instructions have one, and what kernels get for
// it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ptx/ptx.h"

#define KERNEL                                                                                               \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n"                   \
    ".reg .f32 %f<9>;\n.reg .f64 %d<9>;\n.reg .pred %p<3>;\n"

static orr_module *parsed(const char *body, orr_text *text) {
    orr_err e = {0};
    orr_text_add(text, "%s%s\nret;\n}\n", KERNEL, body);
    orr_module *m = orr_ptx_parse("test.ptx", text->s, text->n, &e);
    if (!m) fail_msg("%s", e.text);
    return m;
}

static const orr_kernel *loaded(orr_module *m) {
    orr_err e = {0};
    const orr_kernel *k = m->load(m, "k", &e);
    if (!k) fail_msg("%s", e.text);
    return k;
}

static void check(const char *body, const char *function) { // NULL: it stays as it is
    orr_text text = {0}, printed = {0};
    orr_err e = {0};
    orr_module *m = parsed(body, &text);
    orr_ptx_long_ways(m);
    const orr_kernel *k = loaded(m);
    assert_int_equal(k->nfuncs, function ? 2 : 1);
    assert_false(orr_long_way(k, 0));
    uint32_t n = 0; // instructions that the PTX has
    for (uint32_t b = 0; b < k->nblocks; b++) n += orr_block_counts(k, &k->blocks[b]);
    orr_text again = {0};
    orr_module *as_it_is = parsed(body, &again);
    assert_int_equal(n, loaded(as_it_is)->ninsts);
    if (function) {
        assert_string_equal(k->funcs[1].name, function);
        assert_true(orr_long_way(k, 1));
        assert_true(k->insts[0].mods & ORR_M_APART);
        assert_true(k->insts[1].mods & ORR_M_ASIDE);
        assert_int_equal(k->insts[0].line, k->insts[1].line); // messages name the right one
    }
    assert_true(orr_ptx_print(m, &printed, &e)); // the text does not have it
    assert_null(strstr(printed.s, "orr_long"));
    m->free(m);
    as_it_is->free(as_it_is);
    free(text.s);
    free(again.s);
    free(printed.s);
}

static void each_has_its_function(void **state) {
    (void)state;
    check("div.rn.f32 %f1, %f2, %f3;", "orr_long_div_f32");
    check("{ div.rn\n.f32 %f1, 0f3F800000,\n%f3; }", "orr_long_div_f32"); // however it is written
    check("div.rn.f64 %d1, %d2, %d3;", "orr_long_div_f64");
    check("rcp.rn.f32 %f1, %f2;", "orr_long_rcp_f32");
    check("rcp.rn.f64 %d1, %d2;", "orr_long_rcp_f64");
    check("sqrt.rn.f32 %f1, %f2;", "orr_long_sqrt_f32");
    check("sqrt.rn.f64 %d1, %d2;", "orr_long_sqrt_f64");
    check("rsqrt.approx.f64 %d1, %d2;", "orr_long_rsqrt_f64");
}

static void others_stay(void **state) {
    (void)state;
    check("div.approx.f32 %f1, %f2, %f3;", NULL);
    check("div.full.f32 %f1, %f2, %f3;", NULL);
    check("sqrt.approx.f32 %f1, %f2;", NULL);
    check("@%p1 div.rn.f32 %f1, %f2, %f3;", NULL); // under a guard
    check("div.rn.f32 %f2, %f2, %f3;", NULL);      // what it reads is gone
}

// A function of the same name is the program's own.
static void names_may_be_taken(void **state) {
    (void)state;
    orr_err e = {0};
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n.func orr_long_rcp_f32() { ret; }\n"
        ".visible .entry k() { .reg .f32 %f<3>; rcp.rn.f32 %f1, %f2; ret; }\n";
    orr_module *m = orr_ptx_parse("test.ptx", text, sizeof text - 1, &e);
    assert_non_null(m);
    orr_ptx_long_ways(m);
    assert_int_equal(loaded(m)->nfuncs, 1);
    m->free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_has_its_function), cmocka_unit_test(others_stay),
                                       cmocka_unit_test(names_may_be_taken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
