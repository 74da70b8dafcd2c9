// PTX in: directives, scopes, initialisers, constants, and errors with their lines. What parses is also
// printed and read again.
//
// Expected values are worked out by hand from the PTX ISA manual: layouts by its alignment rules,
// constants by C's arithmetic, single and double bits by IEEE 754.
#include "round_trip.h"

#define HEAD ".version 8.3\n.target sm_90\n.address_size 64\n" // three lines

static orr_module *parse(const char *text) {
    orr_err e = {0};
    orr_module *m = orr_ptx_parse("t.ptx", text, strlen(text), &e);
    if (!m) fail_msg("%s", e.text);
    free(round_trip(m));
    return m;
}

static orr_kernel *load(orr_module *m, const char *name) {
    orr_err e = {0};
    orr_kernel *k = m->load(m, name, &e);
    if (!k) fail_msg("%s", e.text);
    return k;
}

static void refused(const char *text, const char *want) { // parsing fails, and says this
    orr_err e = {0};
    orr_module *m = orr_ptx_parse("t.ptx", text, strlen(text), &e);
    if (m) fail_msg("parsed: %s", text);
    assert_int_equal(e.status, ORR_BAD_INPUT);
    if (!strstr(e.text, want)) fail_msg("'%s' is not in '%s'", want, e.text);
}

static void load_refused(const char *text, const char *kernel, const char *want) {
    orr_module *m = parse(text);
    orr_err e = {0};
    assert_null(m->load(m, kernel, &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
    if (!strstr(e.text, want)) fail_msg("'%s' is not in '%s'", want, e.text);
    m->free(m);
}

static const orr_var *var(const orr_module *m, const char *name) {
    for (uint32_t i = 0; i < m->nvars; i++)
        if (strcmp(m->vars[i].name, name) == 0) return &m->vars[i];
    fail_msg("no variable '%s'", name);
    return NULL;
}

static uint32_t u32_at(const orr_var *v, uint64_t offset) {
    uint32_t x = 0;
    for (int i = 0; i < 4; i++)
        if (offset + i < v->init_bytes) x |= (uint32_t)v->init[offset + i] << (8 * i);
    return x;
}
static uint64_t u64_at(const orr_var *v, uint64_t offset) {
    return u32_at(v, offset) | (uint64_t)u32_at(v, offset + 4) << 32;
}

static const orr_inst *nth(const orr_kernel *k, uint16_t op,
                           int n) { // the n-th instruction of this operation
    for (uint32_t i = 0; i < k->ninsts; i++)
        if (k->insts[i].op == op && n-- == 0) return &k->insts[i];
    fail_msg("not that many instructions of operation %d", op);
    return NULL;
}

// ---- directives -----------------------------------------------------------------------------
static void test_directives(void **state) {
    (void)state;
    orr_err e = {0};
    orr_module *m = orr_ptx_open(ORRERY_SOURCE_DIR "/tests/data/ptx/directives.ptx", &e);
    if (!m) fail_msg("%s", e.text);
    assert_int_equal(m->version, 83);
    assert_int_equal(m->target, 90);
    assert_int_equal(m->nkernels, 2);
    assert_string_equal(m->kernel_names[0], "everything");
    assert_int_equal(m->nfiles, 2);
    assert_string_equal(m->files[1], "/src/inc/b.h");

    assert_true(var(m, "elsewhere")->external);
    assert_int_equal(u32_at(var(m, "maybe"), 0), 5);
    assert_int_equal(var(m, "shared_by_all")->bytes, 64);
    assert_null(var(m, "shared_by_all")->init);
    assert_int_equal(var(m, "coef")->space, ORR_SPACE_CONST);
    assert_int_equal(u32_at(var(m, "coef"), 0), 0x3f800000);
    assert_int_equal(u32_at(var(m, "coef"), 4), 0x40200000);
    assert_int_equal(u32_at(var(m, "coef"), 8), 0xc0a00000);
    assert_int_equal(var(m, "text")->bytes, 4); // [] takes its size from the values
    assert_int_equal(u32_at(var(m, "text"), 0), 0x000a6968);
    const orr_var *grid = var(m, "grid");
    assert_int_equal(grid->bytes, 24);
    const uint32_t want[6] = {1, 2, 0, 4, 5, 6};
    for (int i = 0; i < 6; i++) assert_int_equal(u32_at(grid, 4 * i), want[i]);
    const orr_var *where = var(m, "where");
    assert_int_equal(where->nrelocs, 1);
    assert_ptr_equal(&m->vars[where->relocs[0].var], grid);
    assert_int_equal(where->relocs[0].value, 8);
    assert_int_equal(where->relocs[0].bytes, 8);
    const orr_var *quad = var(m, "quad");
    assert_int_equal(quad->bytes, 16);
    assert_int_equal(quad->align, 16);
    assert_int_equal(u32_at(quad, 12), 0x40800000);
    const orr_var *packed = var(m, "packed");
    assert_int_equal(packed->init[0], 7);
    assert_int_equal(packed->nrelocs, 1); // eight bytes of one address
    assert_int_equal(packed->relocs[0].offset, 1);
    assert_int_equal(packed->relocs[0].bytes, 8);

    orr_kernel *k = load(m, "everything");
    assert_ptr_equal(k, load(m, "everything"));
    assert_int_equal(k->bounds.maxntid[0], 128);
    assert_int_equal(k->bounds.maxntid[1], 2);
    assert_int_equal(k->bounds.maxntid[2], 1);
    assert_int_equal(k->bounds.minctapersm, 3);
    assert_int_equal(k->bounds.maxnreg, 64);
    assert_int_equal(k->nparams, 4);
    const uint32_t offsets[4] = {0, 8, 16, 40}, sizes[4] = {8, 1, 24, 8};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(k->params[i].offset, offsets[i]);
        assert_int_equal(k->params[i].bytes, sizes[i]);
    }
    assert_true(k->params[0].pointer);
    assert_false(k->params[1].pointer);
    assert_false(k->params[3].pointer);
    assert_int_equal(k->param_bytes, 48);
    // demoted and module_shared in some order, then dynamic memory at a multiple of 128
    assert_int_equal(k->shared_bytes, 128);
    assert_int_equal(k->nfuncs, 2); // helper, through its other name
    assert_string_equal(k->funcs[1].name, "helper");
    // source lines: .loc counts until the next one
    const orr_inst *mov = nth(k, ORR_OP_LOCALADDR, 0);
    assert_string_equal(m->files[mov->source.file - 1], "/src/a.cu");
    assert_int_equal(mov->source.line, 10);
    const orr_inst *st = nth(k, ORR_OP_CALL, 0);
    assert_string_equal(m->files[st->source.file - 1], "/src/inc/b.h");
    assert_int_equal(st->source.line, 44);

    orr_kernel *sized = load(m, "sized");
    assert_int_equal(sized->bounds.reqntid[0], 32);
    assert_int_equal(sized->bounds.reqntid[1], 4);
    assert_int_equal(sized->bounds.reqntid[2], 2);
    assert_int_equal(sized->shared_bytes, 0); // uses none of the module's
    m->free(m);
}

static void test_versions(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t version, target;
    } t[] = {{".version 6.0\n.target sm_50\n", 60, 50},
             {".version 7.8\n.target sm_86, texmode_independent\n", 78, 86},
             {".version 8.7\n.target sm_100a\n", 87, 100},
             {".version 9.0\n.target sm_121f\n.address_size 64", 90, 121}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        orr_module *m = parse(t[i].text);
        assert_int_equal(m->version, t[i].version);
        assert_int_equal(m->target, t[i].target);
        assert_int_equal(m->nkernels, 0);
        m->free(m);
    }
}

// ---- constants ------------------------------------------------------------------------------
static void test_constants(void **state) {
    (void)state;
    orr_module *m = parse(
        HEAD
        ".global .u64 v[] = {0x10, 017, 0b101, 12U, 'A', 1 + 2 * 3, (1 + 2) * 3, 7 / 2, -7 / 2, -7 % 3,\n"
        " 1 << 40, -8 >> 1, (.u64)-8 >> 60, ~0, !5, !0, 5 > 3, 5 == 3 ? 1 : 2, 6 & 3 | 8, 6 ^ 3,\n"
        " 1 && 0, 1 || 0, WARP_SZ, 0xffffffffffffffff, 2 < 1 << 4};\n"
        ".global .f64 d[] = {1.5, 1e3, -2.0, .25, 0d3FF0000000000000, 0f40000000, 3, 1.0 / 4.0};\n"
        ".global .f32 f[] = {0f7FC00001, 0.1, 1};\n"
        ".global .s16 h[] = {-1, 0x7fff};\n"
        ".global .b32 bits = 1.0;\n");
    static const int64_t want[] = {16, 15, 5, 12, 65, 7,  9, 3, -3, -1, 1ll << 40, -4, 15,
                                   -1, 0,  1, 1,  2,  10, 5, 0, 1,  32, -1,        1};
    const orr_var *v = var(m, "v");
    assert_int_equal(v->bytes, sizeof want);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_int_equal(u64_at(v, 8 * i), (uint64_t)want[i]);
    static const double reals[] = {1.5, 1000, -2, .25, 1, 2, 3, .25};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        double d;
        memcpy(&d, var(m, "d")->init + 8 * i, 8);
        assert_true(d == reals[i]);
    }
    assert_int_equal(u32_at(var(m, "f"), 0), 0x7fc00001); // a NaN keeps its bits
    assert_int_equal(u32_at(var(m, "f"), 4), 0x3dcccccd); // 0.1 rounded to single
    assert_int_equal(u32_at(var(m, "f"), 8), 0x3f800000);
    assert_int_equal(u32_at(var(m, "h"), 0), 0x7fffffff);
    assert_int_equal(u32_at(var(m, "bits"), 0), 0x3f800000);
    m->free(m);
}

static void test_function_pointers(void **state) {
    (void)state;
    // Handles count the functions whose address is taken, through the module: here two (f, g).
    orr_module *m = parse(
        HEAD
        ".func f() { ret; }\n.func h() { ret; }\n.func g() { ret; }\n"
        ".global .u64 table[2] = {g, f};\n"
        ".entry direct() { call h; ret; }\n"
        ".entry k() { .reg .b64 a; ld.global.u64 a, [table]; call a, pr; pr: .callprototype _ (); ret; }\n");
    const orr_var *t = var(m, "table");
    assert_int_equal(t->nrelocs, 2);
    assert_int_equal(t->relocs[0].var, -1);
    assert_int_equal(t->relocs[0].value, ORR_FUNC_HANDLE(2)); // g, the second of the two
    assert_int_equal(t->relocs[1].value, ORR_FUNC_HANDLE(1));
    orr_kernel *k = load(m, "k");
    assert_int_equal(k->nfuncs, 3); // itself, f, g
    assert_string_equal(k->funcs[1].name, "f");
    assert_string_equal(k->funcs[2].name, "g");
    orr_kernel *d = load(m, "direct");
    assert_int_equal(d->nfuncs, 2);
    assert_string_equal(d->funcs[1].name, "h");
    m->free(m);
}

// ---- scopes ---------------------------------------------------------------------------------
static void test_scopes(void **state) {
    (void)state;
    // x is 32 bits wide outside and 64 inside; each L is its own; %a1 is %a<12>'s, %a11 is the inner %a1<2>'s
    orr_module *m = parse(HEAD ".entry k() {\n"
                               ".reg .b32 x, %a<12>;\n.reg .pred p;\n"
                               "L: add.u32 x, x, 1;\n"
                               "{ .reg .b64 x; add.u64 x, x, 2; L: @p bra L; bra OUT; }\n"
                               "{ .reg .b16 %a1<2>; add.u16 %a11, %a11, 3; add.u32 %a1, %a1, 4; L: bra L; }\n"
                               "@p bra L;\nOUT: add.u32 %a11, %a11, 5;\n}\n");
    orr_kernel *k = load(m, "k");
    static const struct {
        uint8_t type, cls;
        uint64_t imm;
    } adds[] = {{ORR_T_U32, ORR_W, 1},
                {ORR_T_U64, ORR_D, 2},
                {ORR_T_U16, ORR_H, 3},
                {ORR_T_U32, ORR_W, 4},
                {ORR_T_U32, ORR_W, 5}};
    for (int i = 0; i < 5; i++) {
        const orr_inst *in = nth(k, ORR_OP_ADD, i);
        assert_int_equal(in->type, adds[i].type);
        assert_int_equal(orr_dst(k, in, 0)->cls, adds[i].cls);
        assert_int_equal(orr_src(k, in, 1)->value, adds[i].imm);
    }
    // the branches: to itself, out, to itself, to the top
    const orr_block *to = &k->blocks[nth(k, ORR_OP_BRA, 0)->target];
    assert_int_equal(k->insts[to->first].op, ORR_OP_BRA);
    assert_ptr_equal(&k->insts[k->blocks[nth(k, ORR_OP_BRA, 1)->target].first], nth(k, ORR_OP_ADD, 4));
    assert_ptr_equal(&k->insts[k->blocks[nth(k, ORR_OP_BRA, 2)->target].first], nth(k, ORR_OP_BRA, 2));
    assert_ptr_equal(&k->insts[k->blocks[nth(k, ORR_OP_BRA, 3)->target].first], nth(k, ORR_OP_ADD, 0));
    assert_int_equal(k->insts[k->ninsts - 1].op, ORR_OP_EXIT); // the end was open
    m->free(m);
}

static void test_frames(void **state) {
    (void)state;
    // a and b share a place; c, declared outside later, shares it with neither: a loop may come back
    orr_module *m =
        parse(HEAD ".entry k() {\n.reg .b64 d<8>; .reg .pred p;\n.local .b32 x;\n mov.b64 d0, x;\n"
                   "L: { .local .align 8 .b8 a[24]; mov.b64 d1, a; }\n"
                   "{ .local .b64 b; mov.b64 d2, b; }\n"
                   ".local .b64 c; mov.b64 d3, c; mov.b64 d4, c+4;\n"
                   "st.local.u64 [d1], d2; st.local.u64 [d3], d4; st.local.u64 [d0], d0; @p bra L; ret; }\n");
    orr_kernel *k = load(m, "k");
    const uint32_t want[] = {0, 8, 8, 32, 36};
    for (int i = 0; i < 5; i++) assert_int_equal(nth(k, ORR_OP_LOCALADDR, i)->imm, want[i]);
    assert_int_equal(k->funcs[0].local_bytes, 48); // 40, rounded to 16
    m->free(m);
}

// ---- errors ---------------------------------------------------------------------------------
static void test_errors(void **state) {
    (void)state;
    refused("hello", "t.ptx:1: 'hello' where a directive is expected");
    refused("", "t.ptx:1: this is not PTX");
    refused(HEAD ".entry k() {\n.reg .b32 r;\nadd.u32 r, r, ;\n}\n",
            "t.ptx:6: ';' where a constant is expected");
    refused(HEAD ".entry k() {\n add.u32 1, 2, 3\n}\n", "t.ptx:6: '}' where ',' or ';' is expected");
    refused(HEAD ".entry k() {\n\n ret;\n", "t.ptx:4: the body of 'k' has no end");
    refused(HEAD "/* open\n\n", "t.ptx:4: this comment has no end");
    refused(HEAD ".file 1 \"abc\n", "t.ptx:4: this string has no end");
    refused(HEAD ".global .u32 x;\n.global .u32 x;\n", "t.ptx:5: 'x' is declared twice");
    refused(HEAD ".entry k() {}\n.entry k() {}\n", "t.ptx:5: 'k' is defined twice");
    refused(HEAD ".entry k() { .reg .b32 a; .reg .b64 a; }\n", "t.ptx:4: 'a' is declared twice");
    refused(HEAD ".entry k() { L: ret;\nL: ret; }\n", "t.ptx:5: 'L' is declared twice");
    refused(HEAD ".entry k() {\n@p ret; }\n", "t.ptx:5: 'p' is not a predicate register");
    refused(HEAD ".reg .b32 x;", "t.ptx:4: '.reg' where a directive is expected");
    refused(HEAD ".global .u32 x[2] = {1, 2,\n3};\n", "t.ptx:5: more values than the array holds");
    refused(HEAD ".global .u32 x = nowhere;\n", "t.ptx:4: nothing is called 'nowhere'");
    refused(HEAD ".global .u8 x = 1 / 0;\n", "t.ptx:4: division by zero");
    refused(HEAD ".global .b8 x[4294967296][4294967296];\n", "t.ptx:4: this array is larger than 4 GiB");
    refused(HEAD ".global .align 3 .b8 x;\n", "t.ptx:4: an alignment must be a power of two");
    refused(HEAD ".shared .u32 x = 1;\n", "t.ptx:4: only .global and .const variables can be initialised");
    refused(HEAD ".global .u64 x = 99999999999999999999;\n",
            "t.ptx:4: this constant does not fit in 64 bits");
    refused(".version 8.0\n.target sm_90\n.address_size 32\n", "t.ptx:3: only 64-bit addresses");
    refused(HEAD ".entry k() { .reg .b32 %r<9999999>; }\n",
            "t.ptx:4: the number of registers must be at most");
    refused(HEAD "\x01", "t.ptx:4: unexpected byte 0x01");
    refused(HEAD ".entry k(.param .b8 a[32768]) { ret; }\n",
            "t.ptx:4: the parameters of 'k' are larger than 32764 bytes");

    orr_text deep = {0};
    orr_text_add(&deep, HEAD ".global .u32 x = ");
    for (int i = 0; i < 100000; i++) orr_text_addn(&deep, "(", 1);
    refused(deep.s, "t.ptx:4: nested deeper than");
    deep.n = 0;
    orr_text_add(&deep, HEAD ".entry k() {");
    for (int i = 0; i < 100000; i++) orr_text_addn(&deep, "{", 1);
    refused(deep.s, "t.ptx:4: nested deeper than");
    free(deep.s);
}

static void test_load_errors(void **state) {
    (void)state;
    // What cannot be executed only matters to the kernels that reach it.
    const char *text =
        HEAD ".func far() {\n .reg .b64 d; .reg .b32 r;\n txq.channel_order.b32 r, [d];\n ret; }\n"
             ".func near() { call far; ret; }\n"
             ".entry good() { ret; }\n"
             ".entry bad() { call near; ret; }\n"
             ".entry worse() {\n .reg .b32 r; frobnicate.sync r, [r, {r, r}], r|r, !r;\n ret; }\n";
    orr_module *m = parse(text);
    load(m, "good");
    orr_err e = {0};
    assert_null(m->load(m, "bad", &e));
    assert_non_null(strstr(e.text, "t.ptx:6: 'txq.channel_order.b32' is not supported:"));
    e = (orr_err){0};
    assert_null(m->load(m, "worse", &e));
    assert_non_null(
        strstr(e.text, "t.ptx:12: 'frobnicate.sync' is not supported: no instruction of this name is known"));
    e = (orr_err){0};
    assert_null(m->load(m, "none", &e));
    assert_non_null(strstr(e.text, "t.ptx: there is no kernel 'none'; it has good, bad, worse"));
    load(m, "good");
    m->free(m);

#define K(body)                                                                                              \
    HEAD ".extern .func cudaDeviceSynchronize();\n.entry k(.param .u64 q) {\n.reg .b32 r<4>; .reg .b64 "     \
         "d<4>; .reg .b16 h<4>; .reg .pred p<4>;\n" body "\n}\n"
    load_refused(K("add.u32 r0, d0, 1;"), "k",
                 "t.ptx:7: 'add.u32': a register is 64 bits wide where it must be 32 bits wide");
    load_refused(K("add.u32 r0, r1;"), "k", "t.ptx:7: 'add.u32': too few operands");
    load_refused(K("add.u32 r0, r1, 1, 2;"), "k", "too many operands");
    load_refused(K("add.u32.fast r0, r1, 1;"), "k",
                 "'add.u32.fast' is not supported: its modifier '.fast' is not known");
    load_refused(K("ret; bra NOWHERE;"), "k", "t.ptx:7: 'bra': there is no label 'NOWHERE'");
    load_refused(K("mov.u32 r0, r9;"), "k", "nothing is called 'r9'");
    load_refused(K("call cudaDeviceSynchronize;"), "k", "'cudaDeviceSynchronize' has no body in this module");
    load_refused(K("call nobody;"), "k", "there is no function 'nobody'");
    load_refused(K("ld.v2.u32 {r0, r1, r2}, [d0];"), "k", "3 registers for a vector of 2");
    load_refused(K("ld.u32 h0, [d0];"), "k", "a register is too small for the type");
    load_refused(K("ld.global.u32 r0, [q];"), "k", "'q' is not in this space");
    load_refused(K("mul.u32 r0, r0, r1;"), "k", "'.lo', '.hi' or '.wide' is needed");
    load_refused(K("bar.sync 16;"), "k", "barriers are numbered 0 to 15");
    load_refused(
        K("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {r0,r1,r2,r3},{r0,r1},{r0,r1},{r0,r1,r2,r3};"),
        "k", "2 registers where A has 4");
    load_refused(HEAD ".entry k() { .local .b8 x[1000000]; ret; }", "k",
                 "t.ptx:4: 'k' needs 1000000 bytes of local memory");
    load_refused(HEAD ".func f(.param .b32 a) { ret; }\n.entry k() { .param .b64 a; call f, (a); }", "k",
                 "argument 1 of 'f' is 4 bytes, not 8");
    load_refused(HEAD ".func f(.param .b32 a) { ret; }\n.entry k() { call f; }", "k",
                 "'f' takes 1 arguments, not 0");
}

// A kernel says how many thread blocks its clusters have; what it does not say of a dimension is 1.
static void test_clusters(void **state) {
    (void)state;
    orr_module *m =
        parse(HEAD ".entry k() .reqnctapercluster 2 { ret; }\n.entry l() .reqnctapercluster 2, 4 { ret; }\n"
                   ".entry plain() { ret; }");
    const orr_kernel *k = load(m, "k"), *l = load(m, "l");
    assert_int_equal(k->bounds.cluster[0], 2);
    assert_true(k->bounds.cluster[1] <= 1 && k->bounds.cluster[2] <= 1);
    assert_int_equal(l->bounds.cluster[0], 2);
    assert_int_equal(l->bounds.cluster[1], 4);
    assert_int_equal(load(m, "plain")->bounds.cluster[0], 0);
    m->free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_directives), cmocka_unit_test(test_versions),
        cmocka_unit_test(test_constants),  cmocka_unit_test(test_function_pointers),
        cmocka_unit_test(test_scopes),     cmocka_unit_test(test_frames),
        cmocka_unit_test(test_errors),     cmocka_unit_test(test_load_errors),
        cmocka_unit_test(test_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
