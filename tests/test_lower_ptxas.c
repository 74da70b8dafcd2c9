// PTX lowered as ptxas lowers it: stalls, constants, calls, small branches, loops, what is kept and what is
// spilled. What is expected was counted in the machine code that ptxas 13.0 writes for the same PTX (sm_90).
#include "lower_rig.h"

// Stall counts, as ptxas 13.0 writes them for sm_90 (docs/how/lowering.md, Stalls).
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
    x = lower_body( // under a predicate, where nothing was there before
        "ld.global.u8 %h1, [%a]; setp.gt.u32 %p2, %n, 3; @%p2 ld.global.u8 %h2, [%a+2]; @%p2 setp.eq.s16 "
        "%p1, "
        "%h1, %h2; @%p2 selp.b32 %r1, 1, 2, %p1; @%p2 st.global.u32 [%b], %r1;",
        "h200");
    assert_int_equal(count(x.p, "PRMT"), 0);
    done(&x);
}

// x + (p ? 3 : -2) is one sum, and the other where p does not hold; no selection, unless somebody else reads
// it. As ptxas writes `c += v > t` and the like.
static void test_counting(void **s) {
    (void)s;
    static const char *const again[] = {"", "st.global.u32 [%b+4], %r3;"};
    for (int k = 0; k < 2; k++) {
        orr_text t = {0};
        orr_text_add(&t,
                     "ld.global.u32 %%r1, [%%a]; ld.global.u32 %%r2, [%%a+4]; setp.gt.s32 %%p1, %%r1, 9; "
                     "selp.b32 %%r3, 3, -2, %%p1; add.s32 %%r4, %%r2, %%r3; st.global.u32 [%%b], %%r4; %s",
                     again[k]);
        made x = lower_body(t.s, "h200");
        assert_int_equal(count(x.p, "SEL"), k);
        assert_int_equal(count(x.p, "IADD3") + count(x.p, "VIADD") + count(x.p, "IMAD.IADD"), k ? 1 : 2);
        uint32_t guarded = 0;
        for (uint32_t i = 0; i < x.p->ninsts; i++) guarded += (x.p->insts[i].flags & ORR_TF_GUARDED) != 0;
        assert_int_equal(guarded, k == 0);
        done(&x);
        free(t.s);
    }
}

// An address of bytes by an index with a sign: two instructions, for two addresses by one index five, of
// which one makes the upper half.
static void test_byte_addresses(void **s) {
    (void)s;
    made x = lower_body(
        "mov.u32 %r1, %tid.x; mad.lo.s32 %r2, %r1, %n, 5; cvt.s64.s32 %d1, %r2; add.s64 %d2, %a, %d1; "
        "ld.global.u8 %h1, [%d2]; st.global.u8 [%b], %h1;",
        "h200");
    assert_int_equal(count(x.p, "LEA.HI.X.SX32"), 1);
    assert_int_equal(count(x.p, "SHF") + count(x.p, "IADD3.X") + count(x.p, "IMAD.X"), 0);
    done(&x);
    x = lower_body(
        "mov.u32 %r1, %tid.x; mad.lo.s32 %r2, %r1, %n, 5; cvt.s64.s32 %d1, %r2; add.s64 %d2, %a, %d1; "
        "add.s64 %d3, %b, %d1; ld.global.u8 %h1, [%d2]; st.global.u8 [%d3], %h1;",
        "h200");
    assert_int_equal(count(x.p, "LEA.HI.X.SX32"), 0);
    assert_int_equal(count(x.p, "SHF"), 1);
    assert_int_equal(count(x.p, "IADD3.X") + count(x.p, "IMAD.X"), 2);
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

// Lanes that may have parted are asked for before a shuffle; others wait. (As rewrite.c leaves those that may
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
    // In a loop of who knows how many rounds, one of 100: its counter and branch are gone, not the other's.
    made x = lower_body(
        "mov.u32 %r3, 0; ld.global.f32 %f1, [%a]; M: mov.u32 %r1, 0; L: fma.rn.f32 %f1, %f1, %f1, %f1; "
        "add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 100; @%p1 bra L; add.u32 %r3, %r3, 1; "
        "setp.lt.u32 %p2, %r3, %n; @%p2 bra M; st.global.f32 [%b], %f1;",
        "h200");
    assert_int_equal(count(x.p, "BRA"), 1);
    assert_int_equal(count(x.p, "ISETP"), 1);
    done(&x);
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

// A pointer into shared memory that a loop moves on is as aligned as where it begins and each step: in steps
// of 16 bytes four words are one load (so with ptxas), in steps of 4 they cannot be.
static void test_moving(void **s) {
    (void)s;
    static const char *const body =
        "mov.u32 %%r1, sm; mov.f32 %%f9, 0f00000000; L: ld.shared.f32 %%f1, [%%r1]; ld.shared.f32 %%f2, "
        "[%%r1+4]; "
        "ld.shared.f32 %%f3, [%%r1+8]; ld.shared.f32 %%f4, [%%r1+12]; fma.rn.f32 %%f9, %%f1, %%f2, %%f9; "
        "fma.rn.f32 %%f9, %%f3, %%f4, %%f9; add.s32 %%r1, %%r1, %d; sub.s32 %%n, %%n, 1; "
        "setp.gt.s32 %%p1, %%n, 0; @%%p1 bra L; st.global.f32 [%%b], %%f9;";
    for (int step = 4; step <= 16; step += 12) {
        orr_text t = {0};
        orr_text_add(&t, body, step);
        made x = lower_body(t.s, "h200");
        free(t.s);
        assert_int_equal(count(x.p, "LDS"), step == 16 ? 1 : 4);
        assert_int_equal(count(x.p, "LDS.128"), step == 16);
        done(&x);
    }
}

// Atomics that one lane does for all (lower/elect.c): the machine code of the same kernels has as many
// instructions for them, and in this order.
static const orr_tinst *atomic_of(const orr_program *p) {
    for (uint32_t i = 0; i < p->ninsts; i++)
        if (p->insts[i].flags & ORR_TF_ATOMIC) return &p->insts[i];
    fail();
    return NULL;
}

static void test_elected(void **s) {
    (void)s;
    // A counter whose old value is used: who is there, how many, who is before me.
    made x = lower_body("atom.global.add.u32 %r1, [%a], 1; st.global.u32 [%b], %r1;", "h200");
    assert_int_equal(count(x.p, "VOTEU.ANY"), 1);
    assert_int_equal(count(x.p, "FLO.U32"), 1);
    assert_int_equal(count(x.p, "POPC"), 2);
    assert_int_equal(count(x.p, "SHFL.IDX"), 1);
    assert_true(atomic_of(x.p)->flags & ORR_TF_ELECTS);
    assert_int_equal(orr_tinst_lanes(atomic_of(x.p), 0xf0), 0x10);
    done(&x);
    // Nobody uses it: no shuffle. What lanes add differs: REDUX.
    x = lower_body("atom.global.add.u32 %r1, [%a], 1;", "h200");
    assert_int_equal(count(x.p, "UFLO.U32"), 1);
    assert_int_equal(count(x.p, "POPC"), 1);
    assert_int_equal(count(x.p, "SHFL"), 0);
    done(&x);
    x = lower_body("mov.u32 %r1, %tid.x; atom.global.max.s32 %r2, [%a], %r1;", "h200");
    assert_int_equal(count(x.p, "REDUX"), 1);
    assert_int_equal(count(x.p, "POPC"), 0);
    assert_true(atomic_of(x.p)->flags & ORR_TF_ELECTS);
    done(&x);
    // A scan over the lanes, if all of them are there.
    x = lower_body("mov.u32 %r1, %tid.x; atom.global.add.u32 %r2, [%a], %r1; st.global.u32 [%b], %r2;",
                   "h200");
    assert_int_equal(count(x.p, "SHFL.UP"), 6);
    assert_int_equal(orr_tinst_lanes(atomic_of(x.p), 0xf0), 0xf0);
    assert_int_equal(orr_tinst_lanes(atomic_of(x.p), UINT32_MAX), 1);
    done(&x);
    // Each for itself: another word for each lane, floats, an exchange, a maximum that is returned, one
    // thread of the block, an index that grows under a branch which lanes take apart.
    static const char *const each[] = {
        "mov.u32 %r1, %tid.x; mul.wide.u32 %d5, %r1, 4; add.s64 %d6, %a, %d5; atom.global.add.u32 %r2, "
        "[%d6], 1;",
        "atom.global.add.f32 %f1, [%a], 0f3F800000;",
        "atom.global.exch.b32 %r1, [%a], 5; st.global.u32 [%b], %r1;",
        "mov.u32 %r1, %tid.x; atom.global.max.s32 %r2, [%a], %r1; st.global.u32 [%b], %r2;",
        "mov.u32 %r1, %tid.x; setp.ne.s32 %p1, %r1, 0; @%p1 bra L; atom.global.add.u32 %r2, [%a], 1; L: "
        "bar.sync 0;",
        "mov.u32 %r1, %tid.x; mov.u64 %d5, %a; L: atom.global.add.u32 %r2, [%d5], 1; add.s64 %d5, %d5, 4; "
        "sub.s32 %r1, %r1, 1; setp.gt.s32 %p1, %r1, 0; @%p1 bra L; st.global.u32 [%b], %r1;",
    };
    for (size_t n = 0; n < sizeof each / sizeof *each; n++) {
        x = lower_body(each[n], "h200");
        assert_false(atomic_of(x.p)->flags & ORR_TF_ELECTS);
        assert_int_equal(count(x.p, "VOTE") + count(x.p, "VOTEU"), 0);
        done(&x);
    }
    x = lower_body("atom.global.add.u32 %r1, [%a], 1;", "v100"); // not known of it
    assert_false(atomic_of(x.p)->flags & ORR_TF_ELECTS);
    done(&x);
}

// FSEL takes a sign along.
static void test_signs(void **s) {
    (void)s;
    made x = lower_body("ld.global.f32 %f1, [%a]; ld.global.f32 %f2, [%b]; setp.lt.f32 %p1, %f2, 0f00000000; "
                        "neg.f32 %f3, %f1; selp.f32 %f4, %f3, %f1, %p1; st.global.f32 [%a], %f4;",
                        "h200");
    assert_int_equal(count(x.p, "FSEL"), 1);
    assert_int_equal(count(x.p, "FADD"), 0);
    done(&x);
}

// A parameter that is read under a predicate and without is loaded once; under two predicates alone, twice.
static void test_parameters(void **s) {
    (void)s;
    static const char head[] = "ld.global.u32 %r1, [%a]; ld.global.u32 %r2, [%a+4]; setp.gt.u32 %p1, %r1, 9; "
                               "setp.gt.u32 %p2, %r2, 7; @%p1 mad.lo.s32 %r1, %r1, %n, %r1; "
                               "@%p2 mad.lo.s32 %r2, %r2, %n, %r2; st.global.u32 [%a], %r1; ";
    const struct {
        const char *tail;
        int loads;
    } cases[] = {{"st.global.u32 [%a+4], %r2;", 2},
                 {"mad.lo.s32 %r3, %r2, %n, %r1; st.global.u32 [%a+4], %r3;", 1},
                 {"bar.sync 0; mad.lo.s32 %r3, %r2, %n, %r1; st.global.u32 [%a+4], %r3;", 1}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        char body[600];
        snprintf(body, sizeof body, "%s%s", head, cases[n].tail);
        made x = lower_body(body, "h200");
        // and the stack pointer, pa, the descriptor of global memory
        assert_int_equal(count(x.p, "LDC") + count(x.p, "ULDC"), 3 + cases[n].loads);
        done(&x);
    }
}

// A sum with a shift to the right by a constant is LEA.HI, if nobody else reads the shifted value; and bf16
// of the upper half takes PRMT first.
static void test_upper_halves(void **s) {
    (void)s;
    made x = lower_body("ld.global.u32 %r1, [%a]; ld.global.u32 %r2, [%a+4]; shr.s32 %r3, %r1, 3; "
                        "add.s32 %r4, %r2, %r3; st.global.u32 [%b], %r4;",
                        "h200");
    assert_int_equal(count(x.p, "LEA.HI"), 1);
    assert_int_equal(count(x.p, "SHF"), 0);
    done(&x);
    x = lower_body("ld.global.u32 %r1, [%a]; ld.global.u32 %r2, [%a+4]; shr.s32 %r3, %r1, 3; "
                   "add.s32 %r4, %r2, %r3; st.global.u32 [%b], %r4; st.global.u32 [%b+4], %r3;",
                   "h200");
    assert_int_equal(count(x.p, "LEA.HI"), 0);
    done(&x);
    x = lower_body("ld.global.u32 %r1, [%a]; mov.b32 {%h1, %h2}, %r1; cvt.f32.bf16 %f1, %h1; "
                   "cvt.f32.bf16 %f2, %h2; st.global.f32 [%b], %f1; st.global.f32 [%b+4], %f2;",
                   "h200");
    assert_int_equal(count(x.p, "PRMT"), 1);
    assert_int_equal(count(x.p, "SHF") + count(x.p, "IMAD.U32"), 2);
    done(&x);
}

// Of loads that wait for their turn, that with the longest chain behind it goes first.
static void test_turns(void **s) {
    (void)s;
    made x = lower_body("ld.global.u32 %r1, [%a]; ld.global.u32 %r2, [%a+4]; mul.lo.u32 %r2, %r2, %r2; "
                        "mul.lo.u32 %r2, %r2, %r2; st.global.u32 [%b], %r1; st.global.u32 [%b+4], %r2;",
                        "h200");
    uint32_t first = UINT32_MAX;
    for (uint32_t i = 0; i < x.p->ninsts && first == UINT32_MAX; i++)
        if (strncmp(name_of(x.p, i), "LDG", 3) == 0) first = x.p->insts[i].access;
    assert_int_equal(first, 1);
    done(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stalls),         cmocka_unit_test(test_constant_lines),
        cmocka_unit_test(test_index),          cmocka_unit_test(test_calls),
        cmocka_unit_test(test_small),          cmocka_unit_test(test_selections),
        cmocka_unit_test(test_arrival),        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_rounded),        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_room),           cmocka_unit_test(test_known_loops),
        cmocka_unit_test(test_constant_pairs), cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_quotients),      cmocka_unit_test(test_elected),
        cmocka_unit_test(test_moving),         cmocka_unit_test(test_counting),
        cmocka_unit_test(test_byte_addresses), cmocka_unit_test(test_signs),
        cmocka_unit_test(test_parameters),     cmocka_unit_test(test_turns),
        cmocka_unit_test(test_upper_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
