// PTX out: what is printed reads to the same module (round_trip.h), for all PTX that is in the tree; and
// the text itself for cases worked out by hand from the PTX ISA manual.
#include <glob.h>

#include "ptx/print.h"
#include "round_trip.h"

#define HEAD ".version 8.3\n.target sm_90\n.address_size 64\n"

static orr_module *parse(const char *text) {
    orr_err e = {0};
    orr_module *m = orr_ptx_parse("t.ptx", text, strlen(text), &e);
    if (!m) fail_msg("%s", e.text);
    return m;
}

// Each of the lines, in this order, is in what is printed.
static void prints(const char *text, const char *const *lines) {
    orr_module *m = parse(text);
    char *out = round_trip(m), *at = out;
    for (; at && *lines; lines++) {
        char *hit = strstr(at, *lines);
        if (!hit) fail_msg("'%s' is not in\n%s", *lines, at);
        at = hit ? hit + strlen(*lines) : NULL;
    }
    free(out);
    m->free(m);
}
#define PRINTS(text, ...) prints(HEAD text, (const char *const[]){__VA_ARGS__, NULL})

// ---- all there is -------------------------------------------------------------------------------
static void files(const char *pattern, size_t least) {
    glob_t g = {0};
    char path[500];
    snprintf(path, sizeof path, "%s/%s", ORRERY_SOURCE_DIR, pattern);
    glob(path, 0, NULL, &g);
    if (g.gl_pathc < least) fail_msg("%s: only %zu", path, g.gl_pathc);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        orr_err e = {0};
        orr_module *m = orr_ptx_open(g.gl_pathv[i], &e);
        if (!m) fail_msg("%s", e.text);
        free(round_trip(m));
        m->free(m);
    }
    globfree(&g);
}

static void test_workloads(void **state) {
    (void)state;
    files("workloads/*/*.ptx", 50);
}

static void test_others(void **state) {
    (void)state;
    files("tests/features/*.ptx", 15);
    files("tests/data/ptx/*.ptx", 2);
    files("micro/*.ptx", 5);
}

// ---- by hand ------------------------------------------------------------------------------------
static void test_registers(void **state) {
    (void)state;
    // Of a range: numbered by type in the order of use. By itself: where it was declared, in its scope or
    // not.
    PRINTS(".entry k() { .reg .b32 a<9>, b<3>; .reg .f32 x<4>; .reg .u32 u; mov.b32 a7, b2; mov.f32 x3, "
           "0f3F800000;\n"
           "{ .reg .pred p; .reg .u32 u; setp.eq.b32 p, a7, a1; @!p mov.u32 u, %tid.x; }\n"
           "mov.u32 u, %envreg7; ret; }",
           "    .reg .b32 %r<4>;\n    .reg .f32 %f<2>;\n    .reg .u32 %u32__1;\n    mov.b32 %r1, %r2;\n"
           "    mov.f32 %f1, 0f3F800000;\n    .reg .pred %p_2;\n    .reg .u32 %u32__3;\n"
           "    setp.eq.b32 %p_2, %r1, %r3;\n    @!%p_2 mov.u32 %u32__3, %tid.x;\n"
           "    mov.u32 %u32__1, %envreg7;\n    ret;\n}\n");
    // Vectors and their elements.
    PRINTS(".entry k() { .reg .v4 .f32 v; .reg .v2 .b32 w; .reg .b64 d; mov.f32 v.y, v.a; mov.b64 d, w;\n"
           "ld.global.v4.f32 v, [d+-16]; mov.v4.u32 {w.x, w.y, _, _}, %tid; ret; }",
           ".reg .v4 .f32 %v_1;", "mov.f32 %v_1.y, %v_1.w;", "mov.b64 %rd_3, %v_2;",
           "ld.global.v4.f32 %v_1, [%rd_3+-16];", "mov.v4.u32 {%v_2.x, %v_2.y, _, _}, %tid;");
    // Registers of a function's header keep their names, unless they could be one of ours.
    PRINTS(".func (.reg .b32 res) f (.reg .b32 %r1, .reg .b64 x) { .reg .b32 %r<5>; cvt.u32.u64 %r2, x; "
           "add.u32 res, "
           "%r2, %r2; ret; }\n.func (.reg .b32 res) g (.reg .b32 %r1) { add.u32 res, %r1, %r1; ret; }\n",
           "(.reg .b32 res) f(\n    .reg .b32 %a_2,\n    .reg .b64 x\n);", "cvt.u32.u64 %r1, x;",
           "add.u32 res, %a_2, %a_2;");
}

static void test_operands(void **state) {
    (void)state;
    PRINTS(
        ".global .u32 g[4];\n.entry k() { .reg .b32 a<9>; .reg .b64 d<2>; .reg .pred p<3>;\n"
        "add.s32 a1, a2, -(3 + 4); mov.b64 d1, 0xffffffffffffffff; mov.b64 d1, 2.5; ld.global.u32 a1, g[3];\n"
        "ld.global.u32 a1, [g+4+4]; setp.lt.and.s32 p1|p2, a1, WARP_SZ, !p1;\n"
        "vadd.s32.s32.s32 a1, a2.b1, -a3.h1; vavrg4.u32.u32.u32 a1.b310, a2.b7654, a3.b3210, a4;\n"
        "sub.u32 a1, -%tid.w, %tid.w; mov.u64 d0, -%clock64; call.uni (a1), nothing, (a2, 7); ret; }",
        "add.s32 %r1, %r2, -7;", "mov.b64 %rd1, -1;", "mov.b64 %rd1, 0d4004000000000000;",
        "ld.global.u32 %r1, [g+12];", "ld.global.u32 %r1, [g+8];", "setp.lt.and.s32 %p1|%p2, %r1, 32, !%p1;",
        "vadd.s32.s32.s32 %r1, %r2.b1, -%r3.h1;", "vavrg4.u32.u32.u32 %r1.b310, %r2.b7654, %r3.b3210, %r4;",
        "sub.u32 %r1, -%tid.w, 0;", "mov.u64 %rd2, -%clock64;", "call.uni (%r1), nothing, (%r2, 7);");
}

static void test_variables(void **state) {
    (void)state;
    PRINTS(".extern .global .align 4 .u32 elsewhere;\n.weak .global .attribute(.managed) .align 8 .u32 m = "
           "0x10;\n"
           ".const .f32 c[2][2] = {{1, 2}, {0f7FC00001}};\n.global .v2 .f64 v = {1.0, -2};\n"
           ".global .v2 .u16 vv[2] = {{1, 2}, {3, 4}};\n.global .b8 s[] = {\"hi\", 0};\n"
           ".global .u64 a[3] = {generic(c)+4, later, 7};\n.global .b8 p[3] = {9, 0xff(a), 0xff00(a)};\n"
           ".global .b128 q[2] = {-2, 0xffffffffffffffff};\n.visible .global .f64 later;\n"
           ".global .texref t;\n.global .samplerref u = { filter_mode = linear };\n"
           ".extern .shared .align 16 .b8 dyn[];\n.shared .u64 sh[0];\n",
           ".extern .global .u32 elsewhere;\n.weak .global .attribute(.managed) .align 8 .u32 m = 16;\n"
           ".const .f32 c[4] = {0f3F800000, 0f40000000, 0f7FC00001};\n"
           ".global .v2 .f64 v = {0d3FF0000000000000, 0dC000000000000000};\n"
           ".global .v2 .u16 vv[2] = {{1, 2}, {3, 4}};\n.global .b8 s[3] = {104, 105, 0};\n"
           ".global .u64 a[3] = {generic(c)+4, later, 7};\n.global .b8 p[3] = {9, 0xFF(a), 0xFF00(a)};\n"
           ".global .b128 q[2] = {~1, 18446744073709551615};\n.visible .global .f64 later;\n"
           ".global .texref t;\n.global .samplerref u = { filter_mode = linear };\n"
           ".extern .shared .align 16 .b8 dyn[];\n.shared .u64 sh[0];\n");
}

static void test_functions(void **state) {
    (void)state;
    // Linkage, directives, aliases; declarations before all else.
    PRINTS(
        ".weak .func .attribute(.unified(1, 2)) (.param .b32 r) f (.param .align 8 .b8 s[16]) .noreturn { "
        "ret; }\n"
        ".visible .func other (); .func g () { ret; } .alias other, g;\n"
        ".visible .entry k (.param .u64 .ptr .global .align 16 p, .param .u64 .ptr q, .param .b8 one[1])\n"
        ".maxntid 32, 2 .pragma \"nounroll\"; .minnctapersm 3 .maxclusterrank 4 { ret; }\n.pragma \"x\";",
        ".weak .func .attribute(.unified(1, 2)) (.param .b32 r) f(.param .align 8 .b8 s[16])\n.noreturn;\n",
        ".visible .func other();", ".func g();",
        ".visible .entry k(\n    .param .u64 .ptr .global .align 16 p,\n    .param .u64 .ptr q,\n"
        "    .param .b8 one[1]\n)\n.maxntid 32, 2, 1\n.minnctapersm 3\n.pragma "
        "\"nounroll\";\n.maxclusterrank 4\n{",
        ".pragma \"x\";", ".alias other, g;");
    // A kernel whose address is taken is declared first, and how to launch it is said where it is defined.
    PRINTS(".global .u64 a = k;\n.entry k () .maxntid 32 .maxclusterrank 4 { ret; }", ".entry k();\n",
           ".global .u64 a = k;\n", ".entry k()\n.maxntid 32, 1, 1\n.maxclusterrank 4\n{");
    // Call sites keep their scopes, because they share the frame; prototypes and tables come along.
    PRINTS(".func (.param .b32 r) f (.param .b32 a) { ret; }\n.entry k () { .reg .b64 d; .reg .b32 a<9>;\n"
           "{ .param .b32 p; st.param.b32 [p], a1; .param .b32 q; call (q), f, (p); }\n"
           "{ { .param .b32 p, q; pr: .callprototype (.param .b32 _) _ (.param .b32 _) .noreturn;\n"
           "mov.u64 d, f; call (q), d, (p), pr; t: .calltargets f; call (q), d, (p), t; } }\n"
           "unused: again: ts: .branchtargets again, last; brx.idx a1, ts; .pragma \"nounroll\"; last: }",
           "    {\n    .param .b32 p;\n    st.param.b32 [p], %r1;\n    .param .b32 q;\n    call (q), f, "
           "(p);\n    }\n",
           "    {\n    .param .b32 p;\n    .param .b32 q;\n",
           "    $P_1: .callprototype (.param .b32 _) _ (.param .b32 _) .noreturn;\n",
           "    mov.u64 %rd_1, f;\n",
           "    call (q), %rd_1, (p), $P_1;\n    $T_1: .calltargets f;\n    call (q), %rd_1, (p), $T_1;\n    "
           "}\n$L_1:\n"
           "    $T_2: .branchtargets $L_1, $L_2;\n    brx.idx %r1, $T_2;\n    .pragma "
           "\"nounroll\";\n$L_2:\n}\n");
}

static void test_lines(void **state) {
    (void)state;
    PRINTS(".entry k () { .reg .b32 a; mov.b32 a, 1; .loc 7 3 1 mov.b32 a, 2; mov.b32 a, 3;\n"
           ".loc 7 4 1, function_name $x, inlined_at 7 9 2\nret; }\n.file 7 \"dir\" \"x.cu\"\n",
           ".file 7 \"dir/x.cu\"\n",
           "mov.b32 %r_1, 1;\n    .loc 7 3 0\n    mov.b32 %r_1, 2;\n    mov.b32 %r_1, 3;\n",
           "    .loc 7 4 0\n    ret;\n");
}

static void test_head(void **state) { // "debug" goes with the sections it stands for
    (void)state;
    orr_module *m =
        parse(".target sm_90a, texmode_unified, debug\n.version 8.10\n.section .debug_str { .b8 1 }");
    char *out = round_trip(m);
    assert_string_equal(out, ".version 8.10\n.target sm_90a, texmode_unified\n.address_size 64\n");
    free(out);
    m->free(m);
}

static void test_names(void **state) { // names that stay and could be one of ours
    (void)state;
    static const char *const bad[] = {".global .b32 $L_1;", ".entry k (.param .b32 %r12) { ret; }",
                                      ".func %f3 () { ret; }", ".entry k () { .local .b32 %u32_7; ret; }",
                                      ".entry k () { bra $T_9; }"};
    static const char *const good[] = {".global .b32 $L_x, $L, %r;", ".entry k (.param .b32 %r12x) { ret; }",
                                       ".func %foo () { ret; }"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        snprintf(text, sizeof text, HEAD "%s", bad[i]);
        orr_module *m = parse(text);
        orr_text t = {0};
        orr_err e = {0};
        if (orr_ptx_print(m, &t, &e)) fail_msg("printed: %s", bad[i]);
        assert_int_equal(e.status, ORR_BAD_INPUT);
        assert_non_null(strstr(e.text, "is a name that printing gives"));
        free(t.s);
        m->free(m);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[200];
        snprintf(text, sizeof text, HEAD "%s", good[i]);
        orr_module *m = parse(text);
        free(round_trip(m));
        m->free(m);
    }
}

// ---- a pass prints through it -------------------------------------------------------------------
static void head(void *arg, orr_text *out) { orr_text_add(out, "// head %d\n", *(int *)arg); }
static bool wants(void *arg, const ptx_func *fn) { return (void)arg, strcmp(fn->name, "left_out") != 0; }
static void open_body(void *arg, const ptx_func *fn, orr_text *out) {
    (void)arg;
    orr_text_add(out, "    // open %s\n", fn->name);
}
static void before(void *arg, const ptx_func *fn, uint32_t stmt, orr_text *out) {
    (void)arg;
    orr_text_add(out, "    // before %u%s\n", stmt, stmt == fn->n ? ", the end" : "");
}
static void after(void *arg, const ptx_func *fn, uint32_t stmt, orr_text *out) {
    (void)arg, (void)fn;
    orr_text_add(out, "    // after %u\n", stmt);
}
static bool sreg(void *arg, const ptx_func *fn, uint32_t index, orr_text *out) {
    (void)arg, (void)fn;
    if (strncmp(ptx_sregs[index].name, "%ctaid", 6) != 0) return false;
    orr_text_add(out, "%%orr_%c", ptx_sregs[index].name[7]);
    return true;
}
static bool variable(void *arg, const ptx_func *fn, const ptx_var *v, orr_text *out) {
    (void)arg, (void)fn;
    if (v->where != V_SHARED) return false;
    orr_text_add(out, "orr_shared+64");
    return true;
}
static bool declare(void *arg, const ptx_var *v) { return (void)arg, v->where != V_SHARED; }
static const char *name(void *arg, const ptx_func *fn) { return (void)arg, fn->entry ? "copy" : NULL; }

static void test_hooks(void **state) {
    (void)state;
    orr_module *m = parse(HEAD ".global .u64 fp[2] = {left_out, away};\n.shared .b32 tile[8];\n.extern .func "
                               "away ();\n.func left_out () { ret; }\n"
                               ".entry k () .maxnreg 32 { .reg .b32 a<9>; .shared .b32 mine;\n"
                               "mov.b32 a1, %ctaid.y; again: st.shared.b32 [tile+4], a1; mov.u32 a2, mine;\n"
                               "mov.v4.u32 {a1, a2, a3, a4}, %ctaid; bra again; }");
    int argument = 7;
    const ptx_print_hooks h = {.arg = &argument,
                               .head = head,
                               .wants = wants,
                               .open = open_body,
                               .before = before,
                               .after = after,
                               .sreg = sreg,
                               .var = variable,
                               .declare = declare,
                               .name = name,
                               .entry_directives = ".maxntid 256, 1, 1",
                               .no_tuning = true};
    orr_text t = {0};
    orr_err e = {0};
    assert_true(ptx_print(m, &h, &t, &e));
    assert_string_equal(t.s, HEAD
                        "// head 7\n\n.extern .func away();\n.global .u64 fp[2] = {0, away};\n\n"
                        ".entry copy()\n.maxntid 256, 1, 1\n{\n    .reg .b32 %r<5>;\n    // open k\n"
                        "    // before 0\n    mov.b32 %r1, %orr_y;\n    // after 0\n$L_1:\n"
                        "    // before 1\n    st.shared.b32 [orr_shared+64+4], %r1;\n    // after 1\n"
                        "    // before 2\n    mov.u32 %r2, orr_shared+64;\n    // after 2\n"
                        "    // before 3\n    mov.v4.u32 {%r1, %r2, %r3, %r4}, {%orr_x, %orr_y, %orr_z, 0};\n"
                        "    // after 3\n    // before 4\n    bra $L_1;\n    // after 4\n"
                        "    // before 5, the end\n}\n");
    free(t.s);
    m->free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workloads), cmocka_unit_test(test_others),    cmocka_unit_test(test_registers),
        cmocka_unit_test(test_operands),  cmocka_unit_test(test_variables), cmocka_unit_test(test_functions),
        cmocka_unit_test(test_lines),     cmocka_unit_test(test_names),     cmocka_unit_test(test_hooks),
        cmocka_unit_test(test_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
