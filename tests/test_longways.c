// The long way of divisions and roots (ptx/longways.c): where the text gets it, and that it can be loaded.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ptx/longways.h"
#include "ptx/ptx.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define KERNEL                                                                                               \
    HEAD ".visible .entry k(.param .u64 a)\n{\n"                                                             \
         ".reg .f32 %f<9>;\n.reg .f64 %d<9>;\n.reg .pred %p<3>;\n"

static uint32_t lines(const char *s, size_t n) {
    uint32_t k = 0;
    for (size_t i = 0; i < n; i++) k += s[i] == '\n';
    return k;
}

static void check(const char *body, const char *function) { // NULL: it stays as it is
    orr_text text = {0}, out = {0};
    orr_text_add(&text, "%s%s\nret;\n}\n", KERNEL, body);
    bool any = ptx_long_ways(text.s, text.n, &out);
    assert_int_equal(any, function != NULL);
    orr_err e = {0};
    if (any) {
        assert_int_equal(lines(text.s, text.n), lines(out.s, out.n)); // messages name the right one
        assert_non_null(strstr(out.s, function));
    }
    orr_module *m = orr_ptx_parse_timed("test.ptx", text.s, text.n, &e);
    if (!m) fail_msg("%s", e.text);
    const orr_kernel *k = m->load(m, "k", &e);
    if (!k) fail_msg("%s", e.text);
    assert_int_equal(k->nfuncs, any ? 2 : 1);
    if (any) assert_true(orr_long_way(&k->funcs[1]));
    m->free(m);
    free(text.s);
    free(out.s);
}

static void each_has_its_function(void **state) {
    (void)state;
    check("div.rn.f32 %f1, %f2, %f3;", "orr_long_div_f32");
    check("\tdiv.rn.f32 \t%f1, 0f3F800000, %f3;", "orr_long_div_f32");
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
    check("@%p1 div.rn.f32 %f1, %f2, %f3;", NULL);  // under a guard
    check("div.rn.f32 %f2, %f2, %f3;", NULL);       // what it reads is gone
    check("// div.rn.f32 %f1, %f2, %f3;", NULL);    // a remark
    check("mov.f32 %f1, %f2; // div.rn.f32", NULL); // and another
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_has_its_function),
                                       cmocka_unit_test(others_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
