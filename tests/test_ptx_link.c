// PTX linked of several files: which definition of a name counts, and what is refused (PTX ISA, "Linking
// Directives"). Whose names functions then find is tests/app/driver.c's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ptx/link.h"

#define HEAD ".version 8.3\n.target sm_90\n.address_size 64\n"

static char *link_two(const char *a, const char *b, orr_err *e) {
    const orr_ptx_file files[] = {{"a.ptx", a, strlen(a)}, {"b.ptx", b, strlen(b)}};
    orr_text out = {0};
    if (orr_ptx_link(files, 2, &out, e)) return out.s;
    free(out.s);
    return NULL;
}

static orr_module *module_of(const char *a, const char *b) {
    orr_err e = {0};
    char *text = link_two(a, b, &e);
    if (!text) fail_msg("%s", e.text);
    orr_module *m = orr_ptx_parse("linked", text, strlen(text), &e);
    if (!m) fail_msg("%s in\n%s", e.text, text);
    free(text);
    return m;
}

static void refused(const char *a, const char *b, const char *want) {
    orr_err e = {0};
    char *text = link_two(a, b, &e);
    if (text) fail_msg("linked: %s", text);
    if (!strstr(e.text, want)) fail_msg("'%s' is not in '%s'", want, e.text);
}

static uint32_t value_of(const orr_module *m, const char *name) { // of an initialised variable
    uint32_t v = 0;
    for (uint32_t i = 0; i < m->nvars; i++)
        if (!strcmp(m->vars[i].name, name)) {
            memcpy(&v, m->vars[i].init, sizeof v);
            return v;
        }
    fail_msg("no variable '%s'", name);
    return 0;
}

static void a_definition_for_all_counts(void **state) {
    (void)state;
    static const char weak[] = HEAD ".weak .global .u32 x = 1;\n.weak .global .u32 y = 2;\n";
    static const char strong[] = HEAD ".visible .global .u32 x = 3;\n.weak .global .u32 y = 4;\n";
    orr_module *m = module_of(weak, strong);
    assert_int_equal(value_of(m, "x"), 3);
    assert_int_equal(value_of(m, "y"), 2); // the first of two that are weak
    assert_int_equal(m->nvars, 2);
    m->free(m);
    m = module_of(strong, weak);
    assert_int_equal(value_of(m, "x"), 3);
    assert_int_equal(value_of(m, "y"), 4);
    m->free(m);
}

// Each keeps its own; what is in strings and comments is left alone, and so is a longer name.
static void own_names_stay_apart(void **state) {
    (void)state;
    orr_err e = {0};
    char *text = link_two(HEAD ".global .u32 own = 1;\n.global .u64 at = own;\n",
                          HEAD "/* own */ .pragma \"own\";\n.global .u32 own = 2;\n.global .u32 owner = 5;\n"
                               ".global .u64 at = own;\n",
                          &e);
    if (!text) fail_msg("%s", e.text);
    orr_module *m = orr_ptx_parse("linked", text, strlen(text), &e);
    assert_non_null(m);
    assert_int_equal(m->nvars, 5);
    uint32_t pointed = 0;
    for (uint32_t i = 0; i < m->nvars; i++) { // the pointers, in order: to 1 and to 2
        if (!m->vars[i].nrelocs) continue;
        uint32_t v;
        memcpy(&v, m->vars[m->vars[i].relocs[0].var].init, sizeof v);
        assert_int_equal(v, ++pointed);
    }
    assert_int_equal(pointed, 2);
    assert_int_equal(value_of(m, "owner"), 5);
    assert_non_null(strstr(text, "\"own\""));
    m->free(m);
    free(text);
}

static void what_is_called_is_found(void **state) {
    (void)state;
    orr_module *m = module_of(HEAD ".extern .func f ();\n.extern .shared .align 4 .b8 s[];\n"
                                   ".visible .entry k () { call f, (); ret; }\n",
                              HEAD ".extern .shared .align 4 .b8 s[];\n.visible .func f () { ret; }\n"
                                   ".visible .entry j () { ret; }\n");
    orr_err e = {0};
    assert_int_equal(m->nkernels, 2);
    if (!m->load(m, "k", &e)) fail_msg("%s", e.text);
    m->free(m);
}

static void refusals(void **state) {
    (void)state;
    static const char f[] = HEAD ".visible .func f () { ret; }\n";
    refused(f, f, "b.ptx:4: 'f' is defined in a.ptx too");
    refused(HEAD ".visible .entry k () { ret; }\n", HEAD ".entry k () { ret; }\n",
            "'k' is defined in a.ptx too");
    refused(f, "", "b.ptx:1: this is not PTX");
    refused(f, HEAD ".visible .func f () { ret;", "b.ptx:4: this is never closed");
    refused(f, HEAD ".global .u32 a, b;\n", "several variables");
    refused(f, HEAD ".global", "the file ends");
    refused(f, HEAD "x", "'x' where a directive is expected");
    refused(f, HEAD ".visible .file 1 \"x\"\n", "where a function or a variable is expected");
    orr_err e = {0};
    orr_text out = {0};
    assert_false(orr_ptx_link(NULL, 0, &out, &e));
    free(out.s);
}

// What nvcc links in from libcudadevrt.a calls a driver, which nobody has: the executor's function takes the
// place of one of its names. One that it has not is called as it is.
static void the_device_runtime_is_ours(void **state) {
    (void)state;
    static const char kernel[] =
        HEAD ".extern .func (.param .b32 r) __cudaCDP2GetLastError ();\n"
             ".extern .func (.param .b32 r) other ();\n"
             ".visible .entry k () { .param .b32 r; call (r), __cudaCDP2GetLastError;\n"
             "call (r), other; ret; }\n";
    static const char runtime[] = HEAD
        ".extern .func (.param .b32 r) driver ();\n"
        ".visible .func (.param .b32 r) __cudaCDP2GetLastError () { call (r), driver; ret; }\n"
        ".visible .func (.param .b32 r) other () { .reg .b32 x; mov.b32 x, 1; st.param.b32 [r], x; ret; }\n";
    orr_module *m = module_of(kernel, runtime);
    orr_err e = {0};
    const orr_kernel *k = m->load(m, "k", &e);
    if (!k) fail_msg("%s", e.text);
    assert_int_equal(k->nfuncs, 2); // the kernel and `other`
    assert_string_equal(k->funcs[1].name, "other");
    uint32_t asked = 0;
    for (uint32_t i = 0; i < k->ninsts; i++)
        asked += k->insts[i].op == ORR_OP_SYSCALL && k->insts[i].sub == ORR_SYS_LAST_ERROR;
    assert_int_equal(asked, 1);
    m->free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_definition_for_all_counts),
        cmocka_unit_test(own_names_stay_apart),
        cmocka_unit_test(what_is_called_is_found),
        cmocka_unit_test(the_device_runtime_is_ours),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
