// PTX lowered to machine instructions. What is expected was counted in the machine code that ptxas 13.0
// writes for the same PTX (sm_90, sm_75), or follows from the instruction set; the schedule is checked by
// running both orders on an abstract machine; invariants (every access is had once, nothing out of range) on
// every workload and on damaged kernels.
#include "lower_rig.h"

// ---- whole kernels -----------------------------------------------------------------------------------
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

// A wait for an mbarrier, as inline assembly has it: the branch takes its predicate, and nothing is left of
// the register in between, unless somebody else reads that.
static void test_waits(void **s) {
    (void)s;
#define WAIT                                                                                                 \
    LOAD "W: mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2; selp.u32 %r4, 1, 0, %p1; "                 \
         "setp.eq.s32 %p2, %r4, 0; @%p2 bra W; "
    static const char *const cases[] = {WAIT, WAIT "st.global.u32 [%b], %r4;"};
    for (int n = 0; n < 2; n++) {
        made x = lower_body(cases[n], "h200");
        assert_int_equal(count(x.p, "SEL"), n);
        assert_int_equal(count(x.p, "ISETP"), n);
        assert_int_equal(count(x.p, "SYNCS"), 1);
        for (uint32_t i = 0; i < x.p->ninsts; i++)
            if (x.p->insts[i].sass == ORR_SASS_SYNCS) {
                assert_int_equal(x.p->insts[i].kind, ORR_TK_SYNCS);
                assert_int_equal(x.p->insts[i].imm, ORR_MBAR_TRY_WAIT);
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
            orr_rewritten *shape = orr_rewrite(k);
            orr_program *p = shape ? orr_program_new(orr_rewritten_kernel(shape), gpu("h200"), &e) : NULL;
            if (p) check_program(p, m->kernel_names[n]);
            orr_program_free(p);
            orr_rewritten_free(shape);
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
            orr_rewritten *shape = orr_rewrite(k);
            p = shape ? orr_program_new(orr_rewritten_kernel(shape), gpu("h200"), &e) : NULL;
            orr_program_free(p);
            orr_rewritten_free(shape);
        }
        m->free(m);
    }
}

// ---- the schedule -------------------------------------------------------------------------------
// An abstract machine: a register holds a hash of the instruction that wrote it and of what that read; a
// space of memory holds a hash of its stores. Two orders are the same if they leave the same hashes.
enum { REGS = 24, SPACES = 3, LENGTH = 60 };
typedef struct outcome {
    uint64_t reg[REGS], memory[SPACES];
} outcome;

static uint64_t mix(uint64_t a, uint64_t b) { return orr_hash64(&b, sizeof b, a); }

static void run_order(const lower *l, uint32_t n, outcome *m) {
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
        uint32_t number[1] = {0}; // its one block can be reached
        l.flow.nblocks = 1;
        l.flow.number = number;
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
        outcome before = {0}, after = {0};
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saxpy),
        cmocka_unit_test(test_fusion),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_contraction),
        cmocka_unit_test(test_no_fold_across_a_write),
        cmocka_unit_test(test_expansions),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_workloads),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_schedule),
        cmocka_unit_test(test_loads_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
