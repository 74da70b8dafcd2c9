// PTX lowered to machine instructions. What is expected was counted in the machine code that ptxas 13.0
// writes for the same PTX (sm_90, sm_75), or follows from the instruction set; the schedule is checked by
// running both orders on an abstract machine; invariants (every access is had once, nothing out of range) on
// every workload and on damaged kernels.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ptx/ptx.h"
#include "timed/lower.h"

static orr_gpu *gpu(const char *name) {
    static struct {
        const char *name;
        orr_gpu *g;
    } known[8];
    for (int i = 0; i < 8; i++) {
        if (known[i].name && strcmp(known[i].name, name) == 0) return known[i].g;
        if (known[i].name) continue;
        orr_err e = {0};
        known[i].name = name;
        known[i].g = orr_gpu_load(name, NULL, 0, &e);
        assert_non_null(known[i].g);
        return known[i].g;
    }
    fail();
    return NULL;
}

typedef struct made {
    orr_module *m;
    orr_program *p;
} made;

static made lower_text(const char *text, const char *on) {
    orr_err e = {0};
    made x = {.m = orr_ptx_parse("test.ptx", text, strlen(text), &e)};
    if (!x.m) fail_msg("%s", e.text);
    orr_kernel *k = x.m->load(x.m, x.m->kernel_names[0], &e);
    if (!k) fail_msg("%s", e.text);
    x.p = orr_program_new(k, gpu(on), &e);
    assert_non_null(x.p);
    return x;
}

static void done(made *x) {
    orr_program_free(x->p);
    x->m->free(x->m);
}

// A kernel with pointers a, b and an integer n; `body` may use them as %a, %b, %n.
static made lower_body(const char *body, const char *on) {
    orr_text t = {0};
    orr_text_add(&t,
                 ".version 8.0\n.target sm_70\n.address_size 64\n"
                 ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u32 pn)\n{\n"
                 ".reg .pred %%p<9>; .reg .b16 %%h<9>; .reg .b32 %%r<40>; .reg .f32 %%f<40>; .reg .b64 "
                 "%%d<40>; .reg .f64 "
                 "%%e<9>; .reg .b64 %%a, %%b; .reg .b32 %%n;\n.shared .align 16 .b8 sm[1024];\n"
                 "ld.param.u64 %%a, [pa]; ld.param.u64 %%b, [pb]; ld.param.u32 %%n, [pn];\n"
                 "cvta.to.global.u64 %%a, %%a; cvta.to.global.u64 %%b, %%b;\n%s\nret;\n}\n",
                 body);
    made x = lower_text(t.s, on);
    free(t.s);
    return x;
}

static const char *name_of(const orr_program *p, uint32_t i) { return p->names[p->insts[i].name]; }

// How many instructions have a mnemonic that starts so, up to a point or the end.
static int count(const orr_program *p, const char *name) {
    size_t n = strlen(name);
    int c = 0;
    for (uint32_t i = 0; i < p->ninsts; i++)
        c += strncmp(name_of(p, i), name, n) == 0 && (name_of(p, i)[n] == 0 || name_of(p, i)[n] == '.');
    return c;
}

static int count_from(const orr_program *p, uint16_t op) { // instructions that came from one operation
    int c = 0;
    for (uint32_t i = 0; i < p->ninsts; i++) c += p->kernel->insts[p->insts[i].inst].op == op;
    return c;
}

// ---- whole kernels -----------------------------------------------------------------------------------
static const char saxpy[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y) {\n"
    ".reg .pred %p<2>; .reg .f32 %f<5>; .reg .b32 %r<6>; .reg .b64 %d<8>;\n"
    "ld.param.u32 %r2, [n]; ld.param.f32 %f1, [a]; ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];\n"
    "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"
    "mad.lo.s32 %r1, %r3, %r4, %r5; setp.ge.s32 %p1, %r1, %r2; @%p1 bra DONE;\n"
    "cvta.to.global.u64 %d3, %d2; cvta.to.global.u64 %d4, %d1; mul.wide.s32 %d5, %r1, 4;\n"
    "add.s64 %d6, %d4, %d5; ld.global.f32 %f2, [%d6]; add.s64 %d7, %d3, %d5; ld.global.f32 %f3, [%d7];\n"
    "fma.rn.f32 %f4, %f2, %f1, %f3; st.global.f32 [%d7], %f4;\nDONE: ret;\n}\n";

static void expect_counts(const orr_program *p, const char *const *names, const int *counts) {
    int sum = 0;
    for (int i = 0; names[i]; i++) {
        if (count(p, names[i]) != counts[i])
            fail_msg("%s: %d instead of %d %s", p->gpu->name, count(p, names[i]), counts[i], names[i]);
        sum += counts[i];
    }
    assert_int_equal(p->ninsts, sum);
}

static void test_saxpy(void **s) {
    (void)s;
    // As an H200 runs it: 19 instructions a warp.
    made x = lower_text(saxpy, "h200");
    static const char *const hopper[] = {"LDC",  "ULDC", "S2R",  "S2UR", "IMAD", "ISETP",
                                         "EXIT", "LDG",  "FFMA", "STG",  NULL};
    expect_counts(x.p, hopper, (int[]){4, 3, 1, 1, 3, 1, 2, 2, 1, 1});
    assert_int_equal(x.p->nblocks, 3);
    assert_int_equal(count(x.p, "IMAD.WIDE"),
                     2); // an index, scaled and added to a pointer, is one instruction
    done(&x);
    // sm_70: parameters are operands; the 4 must be in a register, because IMAD.WIDE has one operand that is
    // not.
    x = lower_text(saxpy, "v100");
    static const char *const volta[] = {"MOV", "S2R", "IMAD", "ISETP", "EXIT", "LDG", "FFMA", "STG", NULL};
    expect_counts(x.p, volta, (int[]){2, 2, 3, 1, 2, 2, 1, 1});
    done(&x);
    // Fermi: no wide multiply-add; two instructions for each address, and loads are LD.
    x = lower_text(saxpy, "gtx480");
    static const char *const fermi[] = {"MOV", "S2R", "IMAD", "ISETP", "EXIT", "LD", "FFMA", "ST", NULL};
    expect_counts(x.p, fermi, (int[]){2, 2, 5, 1, 2, 2, 1, 1});
    done(&x);
    // Pascal: an index times 4 is shifted into two halves, which both addresses share.
    x = lower_text(saxpy, "titanx");
    assert_int_equal(count(x.p, "SHL") + count(x.p, "SHR"), 2);
    assert_int_equal(count(x.p, "XMAD"), 3); // 16 x 16 bits at a time
    done(&x);
}

// ---- folding -----------------------------------------------------------------------------------------
#define LOAD "ld.global.u32 %r1, [%a]; ld.global.u32 %r2, [%a+4]; ld.global.u32 %r3, [%a+8]; "
static void test_fusion(void **s) {
    (void)s;
    static const struct {
        const char *body, *name;
        int n;      // instructions of that name
        int others; // and LDC R1, LDC.64 a, LDC.64 b, ULDC.64, the loads, the store, EXIT
    } cases[] = {
        {LOAD "add.s32 %r4, %r1, %r2; add.s32 %r5, %r4, %r3; st.global.u32 [%b], %r5;", "IADD3", 1, 9},
        {LOAD "shl.b32 %r4, %r1, 4; add.s32 %r5, %r4, %r2; st.global.u32 [%b], %r5;", "LEA", 1, 9},
        {LOAD "mul.lo.s32 %r4, %r1, %r2; add.s32 %r5, %r4, %r3; st.global.u32 [%b], %r5;", "IMAD", 1, 9},
        {LOAD "and.b32 %r4, %r1, %r2; xor.b32 %r5, %r4, %r3; st.global.u32 [%b], %r5;", "LOP3", 1, 9},
        {LOAD "and.b32 %r4, %r1, %r2; not.b32 %r6, %r4; or.b32 %r5, %r6, %r3; st.global.u32 [%b], %r5;",
         "LOP3", 1, 9},
        // a result that somebody else reads too stays
        {LOAD
         "add.s32 %r4, %r1, %r2; add.s32 %r5, %r4, %r3; st.global.u32 [%b], %r5; st.global.u32 [%b+4], %r4;",
         NULL, 2, 10},
        // two comparisons and their conjunction: the second takes the first's predicate
        {LOAD "setp.lt.s32 %p1, %r1, %r2; setp.gt.s32 %p2, %r1, %r3; and.pred %p3, %p1, %p2; selp.b32 %r5, "
              "%r1, %r2, %p3; "
              "st.global.u32 [%b], %r5;",
         "ISETP", 2, 10},
        // "is it zero" comes with the logic operation
        {LOAD "and.b32 %r4, %r1, 3; setp.ne.s32 %p1, %r4, 0; selp.b32 %r5, %r2, %r3, %p1; st.global.u32 "
              "[%b], %r5;",
         "ISETP", 0, 11},
        // constants go into the displacement, moves and what nobody reads vanish
        {LOAD "add.s64 %d1, %b, 16; add.s64 %d2, %d1, 32; mov.b64 %d3, %d2; mul.lo.s32 %r9, %r1, %r2; "
              "st.global.u32 "
              "[%d3+4], %r1;",
         "IADD3", 0, 9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made x = lower_body(cases[i].body, "h200");
        int n = cases[i].name ? count(x.p, cases[i].name) : count(x.p, "IADD3") + count(x.p, "IMAD");
        if (n != cases[i].n || (int)x.p->ninsts != cases[i].n + cases[i].others) {
            orr_text t = {0};
            orr_program_print(x.p, &t);
            fail_msg("case %zu:\n%s", i, t.s);
        }
        done(&x);
    }
}

static void test_contraction(void **s) {
    (void)s;
    // mul and add without a rounding may be contracted (PTX manual), with one they must not.
    made x = lower_body(
        "ld.global.f32 %f1, [%a]; ld.global.f32 %f2, [%a+4]; mul.f32 %f3, %f1, %f2; add.f32 %f4, %f3, %f1; "
        "st.global.f32 [%b], %f4;",
        "h200");
    assert_int_equal(count(x.p, "FFMA"), 1);
    assert_int_equal(count(x.p, "FMUL") + count(x.p, "FADD"), 0);
    done(&x);
    x = lower_body("ld.global.f32 %f1, [%a]; ld.global.f32 %f2, [%a+4]; mul.rn.f32 %f3, %f1, %f2; add.rn.f32 "
                   "%f4, %f3, %f1; "
                   "st.global.f32 [%b], %f4;",
                   "h200");
    assert_int_equal(count(x.p, "FFMA"), 0);
    assert_int_equal(count(x.p, "FMUL") + count(x.p, "FADD"), 2);
    done(&x);
}

// A register that is written again must not be read late: the loop's counter is needed before and after its
// step.
static void test_no_fold_across_a_write(void **s) {
    (void)s;
    made x = lower_body(
        "mov.u32 %r1, 0; ld.global.u32 %r9, [%a];\n"
        "LOOP: shl.b32 %r2, %r1, 4; add.s32 %r1, %r1, 1; add.s32 %r3, %r2, %r9; st.global.u32 [%b], %r3;\n"
        "setp.lt.s32 %p1, %r1, %n; @%p1 bra LOOP;",
        "h200");
    assert_int_equal(count(x.p, "LEA"), 0); // its operand would be the next round's
    done(&x);
    x = lower_body(
        "mov.u32 %r1, 0; ld.global.u32 %r9, [%a];\n"
        "LOOP: shl.b32 %r2, %r1, 4; add.s32 %r3, %r2, %r9; add.s32 %r1, %r1, 1; st.global.u32 [%b], %r3;\n"
        "setp.lt.s32 %p1, %r1, %n; @%p1 bra LOOP;",
        "h200");
    assert_int_equal(count(x.p, "LEA"), 1);
    done(&x);
}

// ---- expansions ----------------------------------------------------------------------------------------
static void test_expansions(void **s) {
    (void)s;
    static const struct {
        const char *text;
        uint16_t op;
        int n; // instructions ptxas 13.0 writes for sm_90
    } cases[] = {
        {"ld.global.u32 %r1, [%a]; ld.global.u32 %r2, [%a+4]; div.s32 %r3, %r1, %r2; st.global.u32 [%b], "
         "%r3;",
         ORR_OP_DIV, 25},
        {"ld.global.u32 %r1, [%a]; ld.global.u32 %r2, [%a+4]; div.u32 %r3, %r1, %r2; st.global.u32 [%b], "
         "%r3;",
         ORR_OP_DIV, 18},
        {"ld.global.u32 %r1, [%a]; ld.global.u32 %r2, [%a+4]; rem.u32 %r3, %r1, %r2; st.global.u32 [%b], "
         "%r3;",
         ORR_OP_REM, 17},
        {"ld.global.u32 %r1, [%a]; ld.global.u32 %r2, [%a+4]; rem.s32 %r3, %r1, %r2; st.global.u32 [%b], "
         "%r3;",
         ORR_OP_REM, 23},
        {"ld.global.u64 %d1, [%a]; ld.global.u64 %d2, [%a+8]; mul.lo.s64 %d3, %d1, %d2; st.global.u64 [%b], "
         "%d3;",
         ORR_OP_MUL, 4},
        {"ld.global.u64 %d1, [%a]; ld.global.u64 %d2, [%a+8]; mul.hi.u64 %d3, %d1, %d2; st.global.u64 [%b], "
         "%d3;",
         ORR_OP_MUL, 7},
        {"ld.global.u64 %d1, [%a]; ld.global.u64 %d2, [%a+8]; add.s64 %d3, %d1, %d2; st.global.u64 [%b], "
         "%d3;",
         ORR_OP_ADD, 2},
        {"ld.global.u64 %d1, [%a]; ld.global.u64 %d2, [%a+8]; min.s64 %d3, %d1, %d2; st.global.u64 [%b], "
         "%d3;",
         ORR_OP_MIN, 4},
        {"ld.global.u64 %d1, [%a]; ld.global.u32 %r2, [%a+8]; shl.b64 %d3, %d1, %r2; st.global.u64 [%b], "
         "%d3;",
         ORR_OP_SHL, 2},
        {"ld.global.f32 %f1, [%a]; sqrt.approx.f32 %f3, %f1; st.global.f32 [%b], %f3;", ORR_OP_SQRT, 4},
        {"ld.global.f32 %f1, [%a]; sqrt.approx.ftz.f32 %f3, %f1; st.global.f32 [%b], %f3;", ORR_OP_SQRT, 1},
        {"ld.global.f32 %f1, [%a]; sin.approx.f32 %f3, %f1; st.global.f32 [%b], %f3;", ORR_OP_SIN, 2},
        {"ld.global.f32 %f1, [%a]; ex2.approx.f32 %f3, %f1; st.global.f32 [%b], %f3;", ORR_OP_EX2, 4},
        {"ld.global.f32 %f1, [%a]; ld.global.f32 %f2, [%a+4]; div.full.f32 %f3, %f1, %f2; st.global.f32 "
         "[%b], %f3;",
         ORR_OP_DIV, 8},
        // the fast path, and BSSY and BSYNC around the slow one
        {"ld.global.f32 %f1, [%a]; ld.global.f32 %f2, [%a+4]; div.rn.f32 %f3, %f1, %f2; st.global.f32 [%b], "
         "%f3;",
         ORR_OP_DIV, 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made x = lower_body(cases[i].text, "h200");
        if (count_from(x.p, cases[i].op) != cases[i].n)
            fail_msg("%s: %d", cases[i].text, count_from(x.p, cases[i].op));
        done(&x);
    }
}

// ---- halves, memory, fences ------------------------------------------------------------------------------
static void test_memory(void **s) {
    (void)s;
    made x = lower_body(
        "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%a]; add.rn.f32 %f5, %f1, %f2; add.rn.f32 %f6, %f3, %f4; "
        "add.rn.f32 %f7, %f5, %f6; st.global.f32 [%b], %f7;",
        "h200");
    for (uint32_t i = 0; i < x.p->ninsts; i++)
        if (strcmp(name_of(x.p, i), "LDG.E.128") == 0) {
            assert_int_equal(x.p->insts[i].ndst, 4);
            assert_int_equal(x.p->insts[i].bytes, 16);
            assert_true(x.p->insts[i].flags & ORR_TF_LOAD);
            uint16_t first = x.p->reg[x.p->regs[x.p->insts[i].regs + x.p->insts[i].nsrc]];
            assert_int_equal(first % 4, 0); // a quad is aligned
            for (uint16_t r = 0; r < 4; r++)
                assert_int_equal(x.p->reg[x.p->regs[x.p->insts[i].regs + x.p->insts[i].nsrc + r]], first + r);
        }
    assert_int_equal(count(x.p, "LDG.E.128"), 1);
    done(&x);
    // Lanes that add 1 to words of shared memory are counted, if nobody reads what was there.
    x = lower_body(
        "atom.shared.add.u32 %r1, [sm], 1; atom.shared.inc.u32 %r2, [sm+4], -1; red.shared.add.u32 [sm+8], "
        "1; "
        "red.shared.add.u32 [sm+12], 2; atom.shared.add.u32 %r3, [sm+16], 1; st.global.u32 [%b], %r3;",
        "h200");
    assert_int_equal(count(x.p, "ATOMS.POPC.INC.32"), 3);
    assert_int_equal(count(x.p, "ATOMS"), 5); // with those
    done(&x);
    // A fence for the GPU: Volta and later wait for errors and drop what is in L1.
    x = lower_body("membar.gl; st.global.u32 [%b], %n;", "v100");
    assert_int_equal(count(x.p, "MEMBAR") + count(x.p, "ERRBAR") + count(x.p, "CCTL"), 3);
    done(&x);
    x = lower_body("membar.gl; st.global.u32 [%b], %n;", "gtx480");
    assert_int_equal(count(x.p, "MEMBAR") + count(x.p, "ERRBAR") + count(x.p, "CCTL"), 1);
    done(&x);
    x = lower_body("bar.sync 1, 64; st.global.u32 [%b], %n;", "h200");
    for (uint32_t i = 0; i < x.p->ninsts; i++)
        if (x.p->insts[i].kind == ORR_TK_BARRIER) {
            assert_int_equal(x.p->insts[i].imm, 1);
            assert_int_equal(x.p->insts[i].warps, 2);
        }
    assert_int_equal(count(x.p, "BAR"), 1);
    done(&x);
    x = lower_body(
        "cp.async.ca.shared.global [sm], [%a], 16; cp.async.commit_group; cp.async.wait_group 1; bar.sync 0; "
        "ld.shared.u32 %r1, [sm]; st.global.u32 [%b], %r1;",
        "a100");
    assert_int_equal(count(x.p, "LDGSTS"), 1);
    assert_int_equal(count(x.p, "LDGDEPBAR"), 1);
    for (uint32_t i = 0; i < x.p->ninsts; i++)
        if (x.p->insts[i].kind == ORR_TK_WAIT_GROUP) assert_int_equal(x.p->insts[i].imm, 1);
    assert_int_equal(count(x.p, "DEPBAR"), 1);
    done(&x);
}

// Four words of shared memory whose first is aligned are fetched at once; two that need not be, are not.
static void test_neighbours(void **s) {
    (void)s;
    made x = lower_body(
        "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 4; mov.u32 %r3, sm; add.s32 %r4, %r3, %r2;\n"
        "ld.shared.f32 %f1, [%r4]; ld.shared.f32 %f2, [%r4+4]; ld.shared.f32 %f3, [%r4+8]; ld.shared.f32 "
        "%f4, [%r4+12];\n"
        "add.rn.f32 %f5, %f1, %f2; add.rn.f32 %f6, %f3, %f4; add.rn.f32 %f7, %f5, %f6; st.global.f32 [%b], "
        "%f7;",
        "h200");
    assert_int_equal(count(x.p, "LDS.128"), 1);
    assert_int_equal(count(x.p, "LDS"), 1);
    for (uint32_t i = 0; i < x.p->ninsts; i++)
        if (strcmp(name_of(x.p, i), "LDS.128") == 0) {
            assert_int_equal(x.p->insts[i].access, 0);
            assert_int_equal(x.p->insts[i].bytes, 16);
        }
    done(&x);
    x = lower_body("mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, sm; add.s32 %r4, %r3, %r2;\n"
                   "ld.shared.f32 %f1, [%r4]; ld.shared.f32 %f2, [%r4+4]; add.rn.f32 %f5, %f1, %f2; "
                   "st.global.f32 [%b], %f5;",
                   "h200");
    assert_int_equal(count(x.p, "LDS"), 2);
    done(&x);
    // a store in between keeps them apart
    x = lower_body("mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 4; mov.u32 %r3, sm; add.s32 %r4, %r3, %r2;\n"
                   "ld.shared.f32 %f1, [%r4]; st.shared.u32 [%r4+64], %n; ld.shared.f32 %f2, [%r4+4]; "
                   "add.rn.f32 %f5, %f1, "
                   "%f2; st.global.f32 [%b], %f5;",
                   "h200");
    assert_int_equal(count(x.p, "LDS"), 2);
    done(&x);
}

static void test_branches(void **s) {
    (void)s;
    // A small body is predicated: no branch, and its block hangs on the one before it.
    made x =
        lower_body("mov.u32 %r1, %tid.x; setp.ge.s32 %p1, %r1, %n; @%p1 bra SKIP; st.global.u32 [%b], %r1;\n"
                   "SKIP: st.global.u32 [%a], %r1;",
                   "h200");
    assert_int_equal(count(x.p, "BRA"), 0);
    assert_int_equal(count(x.p, "BSSY"), 0);
    assert_int_equal(x.p->blocks[0].body, 2);
    done(&x);
    // A large one is branched around; lanes meet behind it. A branch that no lane can take alone needs no
    // BSSY.
    orr_text t = {0};
    for (int same = 0; same < 2; same++) {
        t.n = 0;
        orr_text_add(&t, "mov.u32 %%r1, %s; setp.ge.s32 %%p1, %%r1, %%n; @%%p1 bra SKIP;\n",
                     same ? "%ctaid.x" : "%tid.x");
        for (int i = 0; i < 20; i++)
            orr_text_add(&t, "ld.global.f32 %%f%d, [%%a+%d]; st.global.f32 [%%b+%d], %%f%d;\n", i, 4 * i,
                         4 * i, i);
        orr_text_add(&t, "SKIP: st.global.u32 [%%a], %%r1;");
        x = lower_body(t.s, "h200");
        assert_int_equal(count(x.p, "BRA"), 1);
        assert_int_equal(count(x.p, "BSSY"), same ? 0 : 1);
        assert_int_equal(count(x.p, "BSYNC"), same ? 0 : 1);
        done(&x);
    }
    free(t.s);
    // A branch to the end of the thread ends it.
    x = lower_text(saxpy, "h200");
    assert_int_equal(count(x.p, "BRA"), 0);
    assert_int_equal(x.p->insts[x.p->blocks[0].first + x.p->blocks[0].count - 1].kind, ORR_TK_EXIT);
    done(&x);
}

// ---- invariants ------------------------------------------------------------------------------------------
// Every access of a block has its instruction, or is covered by a wider one of shared memory: bytes add up.
// Numbers are in range, what ends a block is last.
static void check_program(const orr_program *p, const char *what) {
    const orr_kernel *k = p->kernel;
    if (p->nblocks != k->nblocks) fail_msg("%s: blocks", what);
    for (uint32_t b = 0; b < p->nblocks; b++) {
        const orr_tblock *t = &p->blocks[b];
        const orr_block *blk = &k->blocks[b];
        uint32_t *bytes = calloc(blk->nmem + 1, sizeof *bytes);
        uint64_t want = 0, have = 0;
        if (t->naccess != blk->nmem || t->body > p->nblocks) fail_msg("%s: block %u", what, b);
        for (uint32_t n = blk->first; n < blk->first + blk->count; n++) {
            const orr_inst *i = &k->insts[n];
            bool plain = i->op == ORR_OP_LD || i->op == ORR_OP_ST;
            plain &= i->space != ORR_SPACE_CONST; // which may be an operand
            if (orr_inst_traced(i) && plain) want += (uint64_t)i->width * (i->vec ? i->vec : 1);
        }
        for (uint32_t i = t->first; i < t->first + t->count; i++) {
            const orr_tinst *m = &p->insts[i];
            if (m->inst < blk->first && p->insts[i].access != ORR_NO_ACCESS)
                fail_msg("%s: whose access", what);
            for (int r = 0; r < m->nsrc + m->ndst; r++)
                if (p->regs[m->regs + (uint32_t)r] >= p->nplaces) fail_msg("%s: register", what);
            if (m->kind == ORR_TK_EXIT && i + 1 != t->first + t->count)
                fail_msg("%s: EXIT in the middle", what);
            if (m->access == ORR_NO_ACCESS) {
                if (m->kind == ORR_TK_MEM) fail_msg("%s: memory without an access", what);
                continue;
            }
            if (m->access >= blk->nmem || m->kind != ORR_TK_MEM) fail_msg("%s: access", what);
            if (bytes[m->access] && m->offset == 0) fail_msg("%s: access %u twice", what, m->access);
            bytes[m->access] += m->bytes;
            uint16_t op = k->insts[m->inst].op;
            bool constant = k->insts[m->inst].space == ORR_SPACE_CONST;
            if ((op == ORR_OP_LD || op == ORR_OP_ST) && !constant) have += m->bytes;
        }
        if (want != have)
            fail_msg("%s, block %u: %llu bytes instead of %llu", what, b, (unsigned long long)have,
                     (unsigned long long)want);
        free(bytes);
    }
}

static const char *const gpus[] = {"h200", "v100", "gtx480", "titanx", "a100"};
enum { GPUS = sizeof gpus / sizeof *gpus };

static const char *const names[] = {
#define W(name) #name,
#include "../workloads/list.def"
#undef W
};
enum { WORKLOADS = sizeof names / sizeof *names };

static orr_module *workload(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/workloads/%s/%s.ptx", ORRERY_SOURCE_DIR, name, name);
    orr_err e = {0};
    orr_module *m = orr_ptx_open(path, &e);
    if (!m) fail_msg("%s", e.text);
    return m;
}

static void test_workloads(void **s) {
    (void)s;
    for (int w = 0; w < WORKLOADS; w++) {
        orr_module *m = workload(names[w]);
        for (uint32_t n = 0; n < m->nkernels; n++) {
            orr_err e = {0};
            orr_kernel *k = m->load(m, m->kernel_names[n], &e);
            assert_non_null(k);
            for (int g = 0; g < GPUS; g++) {
                orr_program *p = orr_program_new(k, gpu(gpus[g]), &e);
                assert_non_null(p);
                check_program(p, m->kernel_names[n]);
                orr_program_free(p);
            }
            orr_shape *shape = orr_shape_new(k);
            orr_program *p = shape ? orr_program_new(orr_shape_kernel(shape), gpu("h200"), &e) : NULL;
            if (p) check_program(p, m->kernel_names[n]);
            orr_program_free(p);
            orr_shape_free(shape);
        }
        m->free(m);
    }
}

static uint64_t state = 88172645463325252ull;
static uint32_t any(uint32_t below) { // xorshift64
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return below ? (uint32_t)(state >> 20) % below : 0;
}

// Kernels as a damaged file could hold them: within the bounds that reading checks, and nonsense otherwise.
static void damage(orr_kernel *k) {
    for (int times = 1 + (int)any(6); times > 0; times--) {
        orr_inst *i = &k->insts[any(k->ninsts)];
        const orr_func *f = &k->funcs[0];
        bool ends = orr_ops[i->op].flags & ORR_F_END;
        switch (any(7)) {
        case 0:
            if (!ends && !orr_inst_traced(i)) {
                uint16_t op = (uint16_t)any(ORR_OP_COUNT);
                bool ok = !(orr_ops[op].flags & (ORR_F_END | ORR_F_MEMORY | ORR_F_CALL));
                if (ok) i->op = op;
            }
            break;
        case 1: i->type = (uint8_t)any(ORR_T_COUNT); break;
        case 2: i->mods = any(1u << 27); break;
        case 3: {
            orr_operand *o = &k->operands[any(k->noperands)];
            uint8_t c = (uint8_t)any(ORR_CLASSES);
            if (o->kind != ORR_K_SYMBOL && f->nregs[c])
                *o = (orr_operand){.kind = ORR_K_REG, .cls = c, .reg = any(f->nregs[c])};
            break;
        }
        case 4: k->operands[any(k->noperands)].kind = any(2) ? ORR_K_IMM : ORR_K_NONE; break;
        case 5:
            if (i->nsrc && !orr_inst_traced(i)) i->nsrc = (uint8_t)any(i->nsrc + 1u);
            break;
        default:
            if (f->nregs[ORR_P] && !ends) i->guard = (int32_t)any(f->nregs[ORR_P]);
            break;
        }
    }
}

static void test_damaged(void **s) {
    (void)s;
    for (int round = 0; round < 400; round++) {
        orr_module *m = workload(names[any(WORKLOADS)]);
        orr_err e = {0};
        orr_kernel *k = m->load(m, m->kernel_names[any(m->nkernels)], &e);
        assert_non_null(k);
        if (k->nfuncs == 1) {
            damage(k);
            orr_program *p = orr_program_new(k, gpu(gpus[any(GPUS)]), &e);
            assert_non_null(p);
            assert_int_equal(p->nblocks, k->nblocks);
            orr_program_free(p);
            orr_shape *shape = orr_shape_new(k);
            p = shape ? orr_program_new(orr_shape_kernel(shape), gpu("h200"), &e) : NULL;
            orr_program_free(p);
            orr_shape_free(shape);
        }
        m->free(m);
    }
}

// ---- the schedule
// ------------------------------------------------------------------------------------------ An abstract
// machine: a register holds a hash of the instruction that wrote it and of what that read; a space of memory
// holds a hash of its stores. Two orders are the same if they leave the same hashes.
enum { REGS = 24, SPACES = 3, LENGTH = 60 };
typedef struct machine {
    uint64_t reg[REGS], memory[SPACES];
} machine;

static uint64_t mix(uint64_t a, uint64_t b) { return orr_hash64(&b, sizeof b, a); }

static void run_order(const lower *l, uint32_t n, machine *m) {
    for (uint32_t r = 0; r < REGS; r++) m->reg[r] = r + 1;
    for (uint32_t i = 0; i < n; i++) {
        const minst *x = &l->insts.at[i];
        uint64_t h = x->inst + 1000; // who it is
        for (int r = 0; r < x->nsrc; r++) h = mix(h, m->reg[l->regs.at[x->regs + (uint32_t)r]]);
        uint64_t *mem = x->memory ? &m->memory[x->space - ORR_SPACE_GLOBAL] : NULL;
        if (mem) h = mix(h, *mem);
        if (x->wall)
            for (int s = 0; s < SPACES; s++) m->memory[s] = mix(m->memory[s], x->inst);
        if (mem && x->store) *mem = mix(*mem, h);
        for (int r = x->nsrc; r < x->nsrc + x->ndst; r++)
            m->reg[l->regs.at[x->regs + (uint32_t)r]] = mix(h, (uint64_t)r);
    }
}

static void test_schedule(void **s) {
    (void)s;
    for (int round = 0; round < 300; round++) {
        lower l = {.g = gpu(round % 2 ? "h200" : "gtx480")};
        l.flow.nblocks = 1;
        for (int r = 0; r < REGS; r++) *ORR_PUSH(&l.vregs) = (vreg){.file = FILE_R, .parts = 1};
        uint32_t n = 2 + any(LENGTH);
        for (uint32_t i = 0; i < n; i++) {
            minst x = {
                .name = "X", .inst = i, .base = NONE, .access = ORR_NO_ACCESS, .regs = (uint32_t)l.regs.n};
            x.tclass = (uint8_t)any(ORR_TC_COUNT);
            x.nsrc = (uint8_t)any(4);
            x.ndst = (uint8_t)any(3);
            if (any(3) == 0) {
                x.memory = true;
                x.kind = ORR_TK_MEM;
                x.space = (uint8_t)(ORR_SPACE_GLOBAL + any(SPACES));
                x.store = any(2);
                x.flags = x.store ? ORR_TF_STORE : ORR_TF_LOAD;
            }
            x.wall = any(20) == 0;
            for (int r = 0; r < x.nsrc + x.ndst; r++) *ORR_PUSH(&l.regs) = any(REGS);
            *ORR_PUSH(&l.insts) = x;
        }
        *ORR_PUSH(&l.block_first) = 0;
        *ORR_PUSH(&l.block_first) = n;
        machine before = {0}, after = {0};
        run_order(&l, n, &before);
        lower_schedule(&l);
        run_order(&l, n, &after);
        assert_memory_equal(&before, &after, sizeof before);
        free(l.vregs.at);
        free(l.regs.at);
        free(l.insts.at);
        free(l.block_first.at);
    }
}

// What the schedule is for: loads that do not depend on each other go first, all of them before the first
// use.
static void test_loads_first(void **s) {
    (void)s;
    made x = lower_body(
        "ld.global.f32 %f1, [%a]; add.rn.f32 %f1, %f1, %f1; ld.global.f32 %f2, [%a+4]; add.rn.f32 %f2, %f2, "
        "%f2; ld.global.f32 %f3, [%a+8]; add.rn.f32 %f3, %f3, %f1; add.rn.f32 %f4, %f2, %f3; st.global.f32 "
        "[%b], %f4;",
        "h200");
    int last_load = -1, first_add = -1;
    for (uint32_t i = 0; i < x.p->ninsts; i++) {
        if (strncmp(name_of(x.p, i), "LDG", 3) == 0) last_load = (int)i;
        if (strncmp(name_of(x.p, i), "FADD", 4) == 0 && first_add < 0) first_add = (int)i;
    }
    assert_true(last_load < first_add);
    done(&x);
    // but not across a store that may be to the same place
    x = lower_body("ld.global.f32 %f1, [%a]; add.rn.f32 %f1, %f1, %f1; st.global.f32 [%b], %f1; "
                   "ld.global.f32 %f2, [%a+4]; "
                   "st.global.f32 [%b+4], %f2;",
                   "h200");
    int first_store = -1;
    for (uint32_t i = 0; i < x.p->ninsts; i++) {
        if (strncmp(name_of(x.p, i), "STG", 3) == 0 && first_store < 0) first_store = (int)i;
        if (strncmp(name_of(x.p, i), "LDG", 3) == 0) last_load = (int)i;
    }
    assert_true(first_store < last_load);
    done(&x);
}

// Stall counts, as ptxas 13.0 writes them for sm_90 (docs/lowering.md, Stalls).
static uint32_t stall_of(const orr_program *p, const char *name) {
    size_t n = strlen(name);
    for (uint32_t i = 0; i < p->ninsts; i++)
        if (strncmp(name_of(p, i), name, n) == 0) return ORR_CTRL_STALL(p->insts[i].ctrl);
    fail_msg("no %s", name);
    return 0;
}

static void test_stalls(void **s) {
    (void)s;
    // One chain: an addition (ALU) to a product (5 cycles to another pipe), to a comparison (5), whose
    // predicate is a branch's guard (13); a branch stands for 5.
    made x = lower_body(
        "ld.global.u32 %r1, [%a]; shr.u32 %r2, %r1, %n; mul.lo.u32 %r3, %r2, %r2; setp.gt.u32 %p1, "
        "%r3, 9; @%p1 bra L; bar.sync 0; L: st.global.u32 [%b], %r3;",
        "h200");
    assert_int_equal(stall_of(x.p, "SHF"), 5);
    assert_int_equal(stall_of(x.p, "IMAD"), 5);
    assert_int_equal(stall_of(x.p, "ISETP"), 13);
    assert_int_equal(stall_of(x.p, "BRA"), 5);
    assert_int_equal(stall_of(x.p, "BAR"), 6);
    done(&x);
    // A predicate as an operand takes 4 cycles; doubles 8 from one to the next and 7 to memory.
    x = lower_body(
        "ld.global.u32 %r1, [%a]; setp.gt.u32 %p1, %r1, 9; selp.b32 %r2, %r1, 7, %p1; ld.global.f64 %e1, "
        "[%a+8]; add.rn.f64 %e2, %e1, %e1; mul.rn.f64 %e3, %e2, %e1; st.global.f64 [%b], %e3; "
        "bar.sync 0; st.global.u32 [%b+8], %r2;",
        "h200");
    uint32_t add = NONE, mul = NONE, store = NONE, at = 0;
    for (uint32_t i = 0; i < x.p->ninsts; i++) {
        if (strcmp(name_of(x.p, i), "DADD") == 0) add = at;
        if (strcmp(name_of(x.p, i), "DMUL") == 0) mul = at;
        if (strncmp(name_of(x.p, i), "STG.E.64", 8) == 0) store = at;
        at += ORR_CTRL_STALL(x.p->insts[i].ctrl);
    }
    assert_int_equal(mul - add, 8);
    assert_int_equal(store - mul, 7);
    done(&x);
    // Nothing is known of others.
    x = lower_text(saxpy, "v100");
    for (uint32_t i = 0; i < x.p->ninsts; i++) assert_int_equal(x.p->insts[i].ctrl, 0);
    done(&x);
}

// The line of constants that an instruction names: ntid is in the first of bank 0, arguments from 0x210 on in
// the ninth, and an instruction that copies one of 64 bytes further on names the tenth.
static void test_constant_lines(void **s) {
    (void)s;
    made x = lower_text(
        ".version 8.0\n.target sm_70\n.address_size 64\n"
        ".visible .entry k(.param .u64 a, .param .align 8 .b8 b[64])\n{\n"
        ".reg .b32 %r<4>; .reg .b64 %d<2>;\n"
        "ld.param.u64 %d1, [a]; cvta.to.global.u64 %d1, %d1; mov.u32 %r1, %ntid.x; "
        "ld.param.u32 %r2, [b+60]; st.global.u32 [%d1], %r1; st.global.u32 [%d1+4], %r2; ret;\n}\n",
        "h200");
    bool seen[16] = {false};
    for (uint32_t i = 0; i < x.p->ninsts; i++)
        if (x.p->insts[i].constant) seen[(x.p->constants[x.p->insts[i].constant - 1] - 1) & 15] = true;
    assert_true(seen[0] && seen[8] && seen[9]); // 0x210 + 68 = 0x254
    assert_int_equal(x.p->nconstants, 3);
    done(&x);
}

// ctaid * ntid: the one of the two that PTX reads first is in a uniform register.
static void test_index(void **s) {
    (void)s;
    static const char *const first[] = {"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;",
                                        "mov.u32 %r2, %ntid.x; mov.u32 %r1, %ctaid.x;"};
    for (int k = 0; k < 2; k++) {
        orr_text t = {0};
        orr_text_add(
            &t, "%s mov.u32 %%r3, %%tid.x; mad.lo.s32 %%r4, %%r1, %%r2, %%r3; st.global.u32 [%%a], %%r4;",
            first[k]);
        made x = lower_body(t.s, "h200");
        assert_int_equal(count(x.p, "S2UR"), !k);
        assert_int_equal(count(x.p, "S2R"), 1 + k);
        done(&x);
        free(t.s);
    }
}

// A function's arguments and results are in registers. As ptxas writes it for sm_90: the first argument is
// moved (it is read again), the second computed in place; a move for the return address.
static void test_calls(void **s) {
    (void)s;
    static const char text[] =
        ".version 8.0\n.target sm_70\n.address_size 64\n"
        ".func (.param .b32 r) f(.param .b32 a, .param .b32 b)\n{\n.reg .b32 %r<4>;\n"
        "ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; mul.lo.u32 %r3, %r1, %r2; st.param.b32 [r], %r3; "
        "ret;\n}\n"
        ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<9>; .reg .b64 %d<3>;\n"
        "ld.param.u64 %d1, [p]; cvta.to.global.u64 %d2, %d1; ld.global.u32 %r1, [%d2]; xor.b32 %r2, %r1, 5;\n"
        "{ .param .b32 x; .param .b32 y; .param .b32 z; st.param.b32 [x], %r1; st.param.b32 [y], %r2;\n"
        "call (z), f, (x, y); ld.param.b32 %r3, [z]; }\n"
        "add.u32 %r4, %r3, %r1; st.global.u32 [%d2], %r4; ret;\n}\n";
    made x = lower_text(text, "h200");
    assert_int_equal(count(x.p, "STL") + count(x.p, "LDL"), 0);
    assert_int_equal(count(x.p, "MOV") + count(x.p, "IMAD.MOV"), 2);
    assert_int_equal(count(x.p, "LOP3"), 1);
    assert_int_equal(count(x.p, "IMAD") - count(x.p, "IMAD.MOV") - count(x.p, "IMAD.IADD"), 1);
    for (uint32_t i = 0; i < x.p->ninsts; i++) { // the call reads both, and its result is what is added
        if (strncmp(name_of(x.p, i), "CALL", 4) == 0) assert_int_equal(x.p->insts[i].nsrc, 2);
        if (strncmp(name_of(x.p, i), "CALL", 4) == 0) assert_int_equal(x.p->insts[i].ndst, 1);
        if (strncmp(name_of(x.p, i), "RET", 3) == 0) assert_true(x.p->insts[i].flags & ORR_TF_INDIRECT);
    }
    done(&x);
}

// 16 bits that are known to be small are compared as they are; others are extended first (PRMT).
static void test_small(void **s) {
    (void)s;
    made x = lower_body(
        "ld.global.u8 %h1, [%a]; setp.lt.s16 %p1, %h1, 26; ld.global.u16 %h2, [%a+2]; and.b16 %h3, "
        "%h2, 255; setp.gt.s16 %p2, %h3, 7; selp.b32 %r1, 1, 2, %p1; selp.b32 %r2, %r1, 3, %p2; "
        "st.global.u32 [%b], %r2;",
        "h200");
    assert_int_equal(count(x.p, "PRMT"), 0);
    done(&x);
    x = lower_body(
        "ld.global.u16 %h1, [%a]; setp.lt.s16 %p1, %h1, 26; selp.b32 %r1, 1, 2, %p1; st.global.u32 [%b], "
        "%r1;",
        "h200");
    assert_int_equal(count(x.p, "PRMT"), 1);
    done(&x);
}

// p ? x : y: what was computed for it alone is computed under the predicate, where the other is not needed
// any more; else SEL. As ptxas writes `v > 3 ? v * 5 : w`, with w read again behind it and without, and with
// 7 for w.
static void test_selections(void **s) {
    (void)s;
    static const char *const other[] = {"%r2", "%r2", "7"}, *const again[] = {
                                                                "", "st.global.u32 [%b+4], %r2;", ""};
    for (int k = 0; k < 3; k++) {
        orr_text t = {0};
        orr_text_add(
            &t,
            "ld.global.u32 %%r1, [%%a]; ld.global.u32 %%r2, [%%a+4]; mul.lo.u32 %%r3, %%r1, 5; setp.gt.u32 "
            "%%p1, %%r1, 3; selp.b32 %%r4, %%r3, %s, %%p1; st.global.u32 [%%b], %%r4; %s",
            other[k], again[k]);
        made x = lower_body(t.s, "h200");
        assert_int_equal(count(x.p, "SEL"), k > 0);
        uint32_t guarded = 0;
        for (uint32_t i = 0; i < x.p->ninsts; i++)
            guarded += strncmp(name_of(x.p, i), "IMAD", 4) == 0 && (x.p->insts[i].flags & ORR_TF_GUARDED);
        assert_int_equal(guarded, k == 0);
        done(&x);
        free(t.s);
    }
}

// BSYNC is issued once for each way in: three cases of a switch that are too long to be predicated.
static void test_arrival(void **s) {
    (void)s;
    made x = lower_body(
        "mov.u32 %r1, %laneid; setp.gt.u32 %p1, %r1, 3; @%p1 bra X; setp.gt.u32 %p2, %r1, 1; "
        "@%p2 bra Y; atom.global.add.u32 %r2, [%b], %r1; bra.uni Z; X: atom.global.xor.b32 %r2, [%b], "
        "%r1; bra.uni Z; Y: atom.global.or.b32 %r2, [%b], %r1; Z: st.global.u32 [%a], %r2;",
        "h200");
    assert_int_equal(count(x.p, "BSSY"), 1);
    assert_int_equal(count(x.p, "BSYNC"), 3);
    done(&x);
}

// Lanes that may have parted are asked for before a shuffle; others wait. (As shape.c leaves those that may
// have.)
static void test_gather(void **s) {
    (void)s;
    made x = lower_body(
        "mov.u32 %r1, %laneid; shfl.sync.bfly.b32 %r2|%p1, %r1, 1, 31, -1; st.global.u32 [%a], %r2; "
        "bar.warp.sync -1; st.global.u32 [%a+4], %r2;",
        "h200");
    assert_int_equal(count(x.p, "BRA.DIV"), 1); // once for a block
    assert_int_equal(count(x.p, "NOP"), 1);
    done(&x);
    x = lower_body("setp.gt.u32 %p1, %n, 3; vote.sync.ballot.b32 %r1, %p1, -1; st.global.u32 [%a], %r1;",
                   "h200");
    assert_int_equal(count(x.p, "WARPSYNC.ALL"), 1);
    done(&x);
}

// (int)floorf(x) is one instruction, unless somebody else wants what was rounded. Copies to shared memory are
// never waited for under a predicate, and there are three loads of no lane before the first.
static void test_rounded(void **s) {
    (void)s;
    made x = lower_body("ld.global.f32 %f1, [%a]; cvt.rmi.f32.f32 %f2, %f1; cvt.rzi.s32.f32 %r1, %f2; "
                        "st.global.u32 [%b], %r1;",
                        "h200");
    assert_int_equal(count(x.p, "FRND"), 0);
    assert_int_equal(count(x.p, "F2I"), 1);
    done(&x);
    x = lower_body("ld.global.f32 %f1, [%a]; cvt.rmi.f32.f32 %f2, %f1; cvt.rzi.s32.f32 %r1, %f2; "
                   "st.global.u32 [%b], %r1; st.global.f32 [%b+4], %f2;",
                   "h200");
    assert_int_equal(count(x.p, "FRND"), 1);
    done(&x);
    x = lower_body(
        "mov.u32 %r1, sm; setp.gt.u32 %p1, %n, 3; cp.async.ca.shared.global [%r1], [%a], 4; "
        "cp.async.commit_group; @%p1 bra E; cp.async.wait_group 1; bra.uni J; E: cp.async.wait_group 0; "
        "J: bar.sync 0; ld.shared.u32 %r2, [%r1]; st.global.u32 [%b], %r2;",
        "h200");
    assert_int_equal(count(x.p, "LDS"), 4);
    for (uint32_t b = 0; b < x.p->nblocks; b++) assert_int_equal(x.p->blocks[b].body, 0);
    done(&x);
}

// An operand that the next instruction reads at the same place stays in the operand cache.
static void test_reuse(void **s) {
    (void)s;
    made x = lower_body("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%a]; fma.rn.f32 %f5, %f1, %f2, %f3; "
                        "fma.rn.f32 %f6, %f1, %f3, %f4; st.global.v2.f32 [%b], {%f5, %f6};",
                        "h200");
    uint32_t kept = 0, seen = 0;
    for (uint32_t n = 0; n < x.p->ninsts; n++) {
        const orr_tinst *i = &x.p->insts[n];
        if (i->sass != ORR_SASS_FFMA) continue;
        seen++;
        for (uint32_t r = 0; r < i->nreads; r++) kept += x.p->reads[i->reads + r].kept;
        assert_int_equal(x.p->reads[i->reads].place, 1);
    }
    assert_int_equal(seen, 2);
    assert_int_equal(kept, 1); // %f1, by the first
    done(&x);
}

// Registers are the kernel's: where a block needs many, another has room for two loads of four before it
// stores what came first.
static void test_room(void **s) {
    (void)s;
    orr_text t = {0};
    orr_text_add(&t,
                 "mov.u32 %%r1, %%tid.x; shl.b32 %%r1, %%r1, 4; mov.u32 %%r2, sm; add.u32 %%r1, %%r1, %%r2; "
                 "ld.global.v4.f32 {%%f1, %%f2, %%f3, %%f4}, [%%a]; "
                 "st.shared.f32 [%%r1], %%f1; st.shared.f32 [%%r1+64], %%f2; st.shared.f32 [%%r1+128], %%f3; "
                 "st.shared.f32 [%%r1+192], %%f4; ld.global.v4.f32 {%%f1, %%f2, %%f3, %%f4}, [%%b]; "
                 "st.shared.v4.f32 [%%r1], {%%f1, %%f2, %%f3, %%f4}; bar.sync 0; ");
    for (int n = 0; n < 30; n++) orr_text_add(&t, "ld.shared.f64 %%d%d, [sm+%d]; ", 1 + n, 16 * n);
    for (int n = 0; n < 30; n++) orr_text_add(&t, "st.global.u64 [%%a+%d], %%d%d; ", 8 * n, 1 + n);
    made x = lower_body(t.s, "h200");
    uint32_t loads = 0;
    for (uint32_t n = 0; n < x.p->ninsts; n++) {
        const char *name = x.p->names[x.p->insts[n].name];
        if (strncmp(name, "STS", 3) == 0) break;
        loads += strncmp(name, "LDG", 3) == 0;
    }
    assert_int_equal(loads, 2);
    done(&x);
    free(t.s);
}

// Loops whose number of rounds is known are unrolled: what they compute with constants alone is gone, the
// counter at least. Not where it would be too much, nor where PTX says so.
static int loop_of(const char *rounds, const char *body, const char *pragma) {
    orr_text t = {0};
    orr_text_add(
        &t,
        "mov.u32 %%r1, 0; mov.u32 %%r2, 1; ld.global.f32 %%f1, [%%a]; L: %s %s add.u32 %%r1, %%r1, 1; "
        "setp.lt.u32 %%p1, %%r1, %s; @%%p1 bra L; st.global.u32 [%%b], %%r2; st.global.f32 [%%b+4], %%f1;",
        pragma, body, rounds);
    made x = lower_body(t.s, "h200");
    int left = count(x.p, "BRA") + count(x.p, "ISETP") + count(x.p, "LOP3") + count(x.p, "IMAD") -
               count(x.p, "IMAD.MOV") - count(x.p, "IMAD.WIDE");
    done(&x);
    free(t.s);
    return left;
}

static void test_known_loops(void **s) {
    (void)s;
    static const char
        hash[] = "mul.lo.u32 %r2, %r2, 33; xor.b32 %r2, %r2, %r1;",
        mixed[] = "mul.lo.u32 %r2, %r2, 33; fma.rn.f32 %f1, %f1, %f1, %f1;",
        large[] = "fma.rn.f32 %f1, %f1, %f1, %f1; fma.rn.f32 %f1, %f1, %f1, %f1; fma.rn.f32 %f1, %f1, "
                  "%f1, %f1; fma.rn.f32 %f1, %f1, %f1, %f1;";
    assert_int_equal(loop_of("100", hash, ""), 0);
    assert_int_equal(loop_of("100", mixed, ""), 0);
    assert_int_equal(loop_of("100", large, ""), 0);
    assert_int_not_equal(loop_of("100000", large, ""), 0);
    assert_int_not_equal(loop_of("%n", hash, ""), 0);
    assert_int_not_equal(loop_of("100", mixed, ".pragma \"nounroll\";"), 0);
}

// Neighbours in constant memory are loaded in pairs, where the first is seen to be aligned.
static void test_constant_pairs(void **s) {
    (void)s;
    static const char text[] =
        ".version 8.0\n.target sm_70\n.address_size 64\n.const .align 4 .b8 c[256];\n"
        ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %%r<9>; .reg .f32 %%f<9>; .reg .b64 %%d<9>;\n"
        "ld.param.u64 %%d1, [p]; cvta.to.global.u64 %%d1, %%d1; mov.u32 %%r1, %%tid.x; mul.wide.u32 %%d2, "
        "%%r1, %d; "
        "mov.u64 %%d3, c; add.s64 %%d4, %%d3, %%d2; ld.const.f32 %%f1, [%%d4]; ld.const.f32 %%f2, [%%d4+4]; "
        "add.f32 %%f3, %%f1, %%f2; st.global.f32 [%%d1], %%f3; ret;\n}\n";
    for (int k = 0; k < 2; k++) {
        orr_text t = {0};
        orr_text_add(&t, text, k ? 8 : 4);
        made x = lower_text(t.s, "h200");
        int loads = 0;
        for (uint32_t i = 0; i < x.p->ninsts; i++) loads += x.p->insts[i].access != ORR_NO_ACCESS;
        assert_int_equal(loads, 3 - k); // one is the store
        done(&x);
        free(t.s);
    }
}

// Four bytes are one word in memory: each that is read is taken out of it, and three PRMT put them together
// again.
static void test_bytes(void **s) {
    (void)s;
    made x =
        lower_body("ld.global.v4.u8 {%h1, %h2, %h3, %h4}, [%a]; st.global.v4.u8 [%b], {%h2, %h1, %h4, %h3}; "
                   "ld.global.v2.u8 {%h5, %h6}, [%a+4]; cvt.u32.u16 %r1, %h5; st.global.u32 [%b+4], %r1;",
                   "h200");
    assert_int_equal(count(x.p, "PRMT"), 4 + 3 + 1); // nobody reads %h6
    assert_int_equal(count(x.p, "LDG"), 2);
    done(&x);
}

// Divisors: by a parameter 21 instructions for a remainder, as in ptxas's `x % d`; 33 for two by the same,
// whose reciprocal is computed once.
static void test_quotients(void **s) {
    (void)s;
    made x = lower_body("ld.global.u32 %r1, [%a]; rem.s32 %r2, %r1, %n; st.global.u32 [%b], %r2;", "h200");
    assert_int_equal(count_from(x.p, ORR_OP_REM), 1 + 21); // and an LDC
    done(&x);
    x = lower_body(
        "ld.global.u32 %r1, [%a]; ld.global.u32 %r3, [%a+4]; rem.s32 %r2, %r1, %n; rem.s32 %r4, %r3, %n; "
        "st.global.u32 [%b], %r2; st.global.u32 [%b+4], %r4;",
        "h200");
    assert_int_equal(count(x.p, "MUFU"), 1);
    assert_int_equal(count_from(x.p, ORR_OP_REM), 1 + 9 + 12 + 12);
    done(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saxpy),          cmocka_unit_test(test_fusion),
        cmocka_unit_test(test_contraction),    cmocka_unit_test(test_no_fold_across_a_write),
        cmocka_unit_test(test_expansions),     cmocka_unit_test(test_memory),
        cmocka_unit_test(test_neighbours),     cmocka_unit_test(test_branches),
        cmocka_unit_test(test_workloads),      cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_schedule),       cmocka_unit_test(test_loads_first),
        cmocka_unit_test(test_stalls),         cmocka_unit_test(test_constant_lines),
        cmocka_unit_test(test_index),          cmocka_unit_test(test_calls),
        cmocka_unit_test(test_small),          cmocka_unit_test(test_selections),
        cmocka_unit_test(test_arrival),        cmocka_unit_test(test_known_loops),
        cmocka_unit_test(test_constant_pairs), cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_quotients),      cmocka_unit_test(test_gather),
        cmocka_unit_test(test_rounded),        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
