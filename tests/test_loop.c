// Loops of a kernel, whether an access of one is at the same place in each round, and whether a loop waits
// with a load (isa/loop.c).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ptx/ptx.h"

// The first compare and swap of a kernel: is it in a loop, at the same place each time? Or its first volatile
// load: does a loop wait with it, and then at other places?
enum { SAME, WAITS, WALKS };
static bool ask(const char *body, int what) {
    orr_text t = {0};
    orr_text_add(
        &t,
        ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u32 m)\n"
        "{\n.reg .pred %%p<3>; .reg .b32 %%r<9>; .reg .b64 %%d<9>;\n"
        "ld.param.u64 %%d1, [a]; ld.param.u32 %%r1, [m]; mov.u32 %%r2, %%tid.x;\n%s\nret;\n}\n",
        body);
    orr_err e = {0};
    orr_module *m = orr_ptx_parse("loop.ptx", t.s, strlen(t.s), &e);
    if (!m) fail_msg("%s", e.text);
    orr_kernel *k = m->load(m, "k", &e);
    if (!k) fail_msg("%s", e.text);
    bool found = false, yes = false;
    uint32_t blocks[ORR_LOOP];
    for (uint32_t b = 0; b < k->nblocks; b++)
        for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count && !found; i++)
            if (what == SAME ? k->insts[i].op == ORR_OP_ATOM : k->insts[i].mods & ORR_M_VOLATILE) {
                found = true;
                yes = what == SAME    ? orr_same_place(k, b, i, 1, ORR_F_CALL | ORR_F_RET)
                      : what == WAITS ? orr_look_waits(k, b, i)
                                      : orr_look_walks(k, b, i, blocks) > 0;
            }
    assert_true(found);
    m->free(m);
    free(t.s);
    return yes;
}

static bool same(const char *body) { return ask(body, SAME); }

static void test_waits(void **state) {
    (void)state;
    // until a flag is set; until each of those before has one, in one loop
    assert_true(ask("L: ld.volatile.global.u32 %r3, [%d1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra L; "
                    "st.global.u32 [%d1+4], %r3;",
                    WAITS));
    assert_true(ask("L: mul.wide.u32 %d2, %r2, 4; add.s64 %d3, %d1, %d2; ld.volatile.global.u32 %r3, [%d3]; "
                    "setp.eq.u32 %p1, %r3, 0; @%p1 bra L; sub.u32 %r2, %r2, 1; setp.ne.u32 %p2, %r3, 2; "
                    "@%p2 bra L; st.global.u32 [%d1+4], %r3;",
                    WAITS));
    // a sum: what is found decides nothing; what was found says where to look next; no loop
    assert_false(
        ask("mov.u32 %r4, 0; L: ld.volatile.global.u32 %r3, [%d1]; add.u32 %r4, %r4, %r3; "
            "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L; st.global.u32 [%d1+4], %r4;",
            WAITS));
    assert_false(ask("L: mul.wide.u32 %d2, %r2, 4; add.s64 %d3, %d1, %d2; ld.volatile.global.u32 %r2, [%d3]; "
                     "setp.ne.u32 %p1, %r2, 0; @%p1 bra L; st.global.u32 [%d1+4], %r2;",
                     WAITS));
    assert_false(ask("ld.volatile.global.u32 %r3, [%d1]; st.global.u32 [%d1+4], %r3;", WAITS));
}

static void test_walks(void **state) {
    (void)state;
    // back from tile to tile, until one has a 2: in one loop, and in two
    assert_true(ask("L: mul.wide.u32 %d2, %r2, 4; add.s64 %d3, %d1, %d2; ld.volatile.global.u32 %r3, [%d3]; "
                    "setp.eq.u32 %p1, %r3, 0; @%p1 bra L; sub.u32 %r2, %r2, 1; setp.ne.u32 %p2, %r3, 2; "
                    "@%p2 bra L; st.global.u32 [%d1+4], %r3;",
                    WALKS));
    assert_true(
        ask("M: mul.wide.u32 %d2, %r2, 4; add.s64 %d3, %d1, %d2; L: ld.volatile.global.u32 %r3, [%d3]; "
            "setp.eq.u32 %p1, %r3, 0; @%p1 bra L; sub.u32 %r2, %r2, 1; setp.ne.u32 %p2, %r3, 2; "
            "@%p2 bra M; st.global.u32 [%d1+4], %r3;",
            WALKS));
    // one place; one after the other, but each is answered before the next; what is found says where
    assert_false(ask("L: ld.volatile.global.u32 %r3, [%d1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra L; "
                     "st.global.u32 [%d1+4], %r3;",
                     WALKS));
    assert_false(
        ask("M: mul.wide.u32 %d2, %r2, 4; add.s64 %d3, %d1, %d2; L: ld.volatile.global.u32 %r3, [%d3]; "
            "setp.eq.u32 %p1, %r3, 0; @%p1 bra L; st.global.u32 [%d3+4], %r3; sub.u32 %r2, %r2, 1; "
            "setp.ne.u32 %p2, %r3, 2; @%p2 bra M;",
            WALKS));
    assert_false(ask("L: mul.wide.u32 %d2, %r2, 4; add.s64 %d3, %d1, %d2; ld.volatile.global.u32 %r2, [%d3]; "
                     "setp.ne.u32 %p1, %r2, 0; @%p1 bra L; st.global.u32 [%d1+4], %r2;",
                     WALKS));
}

static void test_place(void **state) {
    (void)state;
    // a lock; the same with its address computed in each round
    assert_true(same("L: atom.global.cas.b32 %r3, [%d1], 0, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra L;"));
    assert_true(
        same("L: mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2; atom.global.cas.b32 %r3, [%d3], 0, 1; "
             "setp.ne.u32 %p1, %r3, 0; @%p1 bra L;"));
    // an entry of a table, or the next; one only
    assert_false(
        same("L: mul.wide.u32 %d2, %r2, 4; add.s64 %d3, %d1, %d2; atom.global.cas.b32 %r3, [%d3], 0, 1; "
             "add.u32 %r2, %r2, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra L;"));
    assert_false(same("atom.global.cas.b32 %r3, [%d1], 0, 1; st.global.u32 [%d1+4], %r3;"));
    // by what was loaded: who knows
    assert_false(same("L: ld.global.u32 %r4, [%d1+8]; mul.wide.u32 %d2, %r4, 4; add.s64 %d3, %d1, %d2; "
                      "atom.global.cas.b32 %r3, [%d3], 0, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra L;"));
}

// A loop of three blocks, and one that is in no loop.
static void test_blocks(void **state) {
    (void)state;
    static const char text[] =
        ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n"
        ".reg .pred %p<3>; .reg .b32 %r<9>;\nld.param.u32 %r1, [n]; mov.u32 %r2, 0;\n"
        "L: setp.gt.u32 %p1, %r2, 3; @%p1 bra M; add.u32 %r2, %r2, 2;\n"
        "M: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, %r1; @%p2 bra L;\nret;\n}\n";
    orr_err e = {0};
    orr_module *m = orr_ptx_parse("loop.ptx", text, sizeof text - 1, &e);
    assert_non_null(m);
    orr_kernel *k = m->load(m, "k", &e);
    assert_non_null(k);
    uint32_t loop[ORR_LOOP];
    assert_int_equal(orr_loop_of(k, 0, 0, loop), 0);
    for (uint32_t b = 1; b < 4; b++) assert_int_equal(orr_loop_of(k, b, 0, loop), 3);
    assert_int_equal(orr_loop_of(k, 4, 0, loop), 0);
    m->free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_place), cmocka_unit_test(test_waits),
                                       cmocka_unit_test(test_walks), cmocka_unit_test(test_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
