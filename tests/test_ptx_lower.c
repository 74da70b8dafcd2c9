// PTX in: what instructions become. One kernel per case, its body given; what is checked is what the
// executor is promised in isa.h, worked out by hand from the PTX ISA manual.
#include "round_trip.h"

#define HEAD                                                                                                 \
    ".version 8.8\n.target sm_100a\n.address_size 64\n"                                                      \
    ".global .align 4 .b8 g[64];\n.const .align 4 .b8 c[64];\n.shared .align 4 .b8 s[100];\n.extern "        \
    ".shared .align 32 .b8 dyn[];\n"                                                                         \
    ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"                                 \
    ".func (.param .b64 out) callee(.param .b32 x, .param .b64 y) { st.param.b64 [out], 1; ret; }\n"         \
    ".func (.reg .b32 res) old_style(.reg .b32 one, .reg .b64 two) { cvt.u32.u64 res, two; add.u32 res, "    \
    "res, one; ret; }\n"                                                                                     \
    ".entry k(.param .u32 first, .param .align 8 .b8 many[64]) {\n"                                          \
    ".reg .pred p<8>; .reg .b16 h<16>; .reg .b32 r<40>; .reg .f32 f<40>; .reg .b64 d<16>; .reg .f64 e<8>; "  \
    ".reg .b128 q<4>;\n"                                                                                     \
    ".reg .v4 .f32 v; .reg .v2 .b32 w;\n.local .align 8 .b8 loc[16];\n"

static orr_module *module;

// The last instruction of the body when the end is not counted, and how many there are.
static orr_kernel *lower(const char *body) {
    if (module) module->free(module);
    orr_text t = {0};
    orr_text_add(&t, HEAD "%s\nret;\n}\n", body);
    orr_err e = {0};
    module = orr_ptx_parse("t.ptx", t.s, t.n, &e);
    free(t.s);
    orr_kernel *k = module ? module->load(module, "k", &e) : NULL;
    if (!k) fail_msg("%s: %s", body, e.text);
    free(round_trip(module));
    return k;
}
static int tear_down(void **state) {
    (void)state;
    if (module) module->free(module);
    module = NULL;
    return 0;
}

static uint32_t count(const orr_kernel *k) { return k->funcs[0].ninsts - 1; } // without the last exit
static const orr_inst *at(const orr_kernel *k, uint32_t i) { return &k->insts[k->funcs[0].first_inst + i]; }

// One statement that becomes one instruction.
static const orr_inst *one(const char *body, orr_kernel **out) {
    orr_kernel *k = lower(body);
    if (count(k) != 1) fail_msg("%s: %u instructions", body, count(k));
    *out = k;
    return at(k, 0);
}

#define IS_REG(o, c) (assert_int_equal((o)->kind, ORR_K_REG), assert_int_equal((o)->cls, c))
#define IS_IMM(o, c, v)                                                                                      \
    (assert_int_equal((o)->kind, ORR_K_IMM), assert_int_equal((o)->cls, c), assert_int_equal((o)->value, v))
#define IS_NONE(o) assert_int_equal((o)->kind, ORR_K_NONE)

static void constant_is(const char *body, int n, uint8_t cls,
                        uint64_t value) { // source n of the one instruction
    orr_kernel *k;
    const orr_inst *in = one(body, &k);
    IS_IMM(orr_src(k, in, n), cls, value);
}

// ---- the plain ones -------------------------------------------------------------------------
typedef struct row { // op, type, stype, mods, round, cmp, boolop, sub; destinations and sources as classes
    const char *text;
    uint16_t op;
    uint8_t type, stype;
    uint32_t mods;
    uint8_t round, cmp, boolop, sub;
    const char *dst, *src;
} row;

static char class_letter(const orr_operand *o) {
    if (o->kind == ORR_K_NONE) return '_';
    return (char)(o->kind == ORR_K_REG ? "PHWDQ"[o->cls] : "phwdq"[o->cls]); // small: a constant
}

static void test_plain(void **state) {
    (void)state;
#define T(t) ORR_T_##t
#define M(m) ORR_M_##m
    static const row rows[] = {
        {"add.s32 r0, r1, -1;", ORR_OP_ADD, T(S32), 0, 0, 0, 0, 0, 0, "W", "Ww"},
        {"add.cc.u32 r0, r1, r2;", ORR_OP_ADD, T(U32), 0, M(CC), 0, 0, 0, 0, "W", "WW"},
        {"addc.cc.u64 d0, d1, d2;", ORR_OP_ADD, T(U64), 0, M(CC) | M(X), 0, 0, 0, 0, "D", "DD"},
        {"add.rz.ftz.sat.f32 f0, f1, f2;", ORR_OP_ADD, T(F32), 0, M(FTZ) | M(SAT), ORR_RND_RZ, 0, 0, 0, "W",
         "WW"},
        {"sub.f64 e0, e1, e2;", ORR_OP_SUB, T(F64), 0, 0, 0, 0, 0, 0, "D", "DD"},
        {"add.rn.f32x2 d0, d1, d2;", ORR_OP_ADD, T(F32X2), 0, 0, ORR_RND_RN, 0, 0, 0, "D", "DD"},
        {"mul.wide.s32 d0, r1, r2;", ORR_OP_MUL, T(S32), 0, M(WIDE), 0, 0, 0, 0, "D", "WW"},
        {"mul.wide.u16 r0, h1, 3;", ORR_OP_MUL, T(U16), 0, M(WIDE), 0, 0, 0, 0, "W", "Hh"},
        {"mad.hi.cc.u32 r0, r1, r2, r3;", ORR_OP_MAD, T(U32), 0, M(HI) | M(CC), 0, 0, 0, 0, "W", "WWW"},
        {"mad.wide.u32 d0, r1, r2, d3;", ORR_OP_MAD, T(U32), 0, M(WIDE), 0, 0, 0, 0, "D", "WWD"},
        {"madc.lo.u32 r0, r1, r2, r3;", ORR_OP_MAD, T(U32), 0, M(LO) | M(X), 0, 0, 0, 0, "W", "WWW"},
        {"mad.rn.f32 f0, f1, f2, f3;", ORR_OP_FMA, T(F32), 0, 0, ORR_RND_RN, 0, 0, 0, "W", "WWW"},
        {"fma.rn.relu.f16x2 r0, r1, r2, r3;", ORR_OP_FMA, T(F16X2), 0, M(RELU), ORR_RND_RN, 0, 0, 0, "W",
         "WWW"},
        {"div.full.ftz.f32 f0, f1, f2;", ORR_OP_DIV, T(F32), 0, M(FULL) | M(FTZ), 0, 0, 0, 0, "W", "WW"},
        {"rcp.approx.ftz.f64 e0, e1;", ORR_OP_RCP, T(F64), 0, M(APPROX) | M(FTZ), 0, 0, 0, 0, "D", "D"},
        {"max.ftz.NaN.xorsign.abs.f32 f0, f1, f2;", ORR_OP_MAX, T(F32), 0, M(FTZ) | M(NAN) | M(XORSIGN), 0, 0,
         0, 0, "W", "WW"},
        {"min.f32 f0, f1, f2, f3;", ORR_OP_MIN, T(F32), 0, 0, 0, 0, 0, 0, "W", "WWW"},
        {"popc.b64 r0, d1;", ORR_OP_POPC, T(B64), 0, 0, 0, 0, 0, 0, "W", "D"},
        {"bfind.shiftamt.s64 r0, d1;", ORR_OP_BFIND, T(S64), 0, M(SHIFTAMT), 0, 0, 0, 0, "W", "D"},
        {"bfe.u64 d0, d1, r1, 4;", ORR_OP_BFE, T(U64), 0, 0, 0, 0, 0, 0, "D", "DWw"},
        {"bfi.b32 r0, r1, r2, r3, r4;", ORR_OP_BFI, T(B32), 0, 0, 0, 0, 0, 0, "W", "WWWW"},
        {"dp4a.u32.s32 r0, r1, r2, r3;", ORR_OP_DP4A, T(U32), T(S32), 0, 0, 0, 0, 0, "W", "WWW"},
        {"dp2a.hi.s32.u32 r0, r1, r2, r3;", ORR_OP_DP2A, T(S32), T(U32), M(HI), 0, 0, 0, 0, "W", "WWW"},
        {"testp.subnormal.f64 p0, e1;", ORR_OP_TESTP, T(F64), 0, 0, 0, 0, 0, ORR_TESTP_SUBNORMAL, "P", "D"},
        {"and.pred p0, p1, p2;", ORR_OP_AND, T(PRED), 0, 0, 0, 0, 0, 0, "P", "PP"},
        {"shr.s16 h0, h1, r2;", ORR_OP_SHR, T(S16), 0, 0, 0, 0, 0, 0, "H", "HW"},
        {"shf.r.clamp.b32 r0, r1, r2, 7;", ORR_OP_SHF, T(B32), 0, M(CLAMP), 0, 0, 0, 1, "W", "WWw"},
        {"shf.l.wrap.b32 r0, r1, r2, r3;", ORR_OP_SHF, T(B32), 0, M(WRAP), 0, 0, 0, 0, "W", "WWW"},
        {"prmt.b32.f4e r0, r1, r2, r3;", ORR_OP_PRMT, T(B32), 0, 0, 0, 0, 0, ORR_PRMT_F4E, "W", "WWW"},
        {"setp.ltu.ftz.f32 p0|p1, f1, f2;", ORR_OP_SETP, T(F32), 0, M(FTZ), 0, ORR_CMP_LTU, 0, 0, "PP", "WW"},
        {"setp.hi.and.u32 p0, r1, r2, !p3;", ORR_OP_SETP, T(U32), 0, 0, 0, ORR_CMP_HI, ORR_BOOL_AND, 0, "P",
         "WWP"},
        {"setp.nan.f64 p0, e1, e2;", ORR_OP_SETP, T(F64), 0, 0, 0, ORR_CMP_NAN, 0, 0, "P", "DD"},
        {"set.ge.or.f32.s32 f0, r1, r2, p1;", ORR_OP_SET, T(F32), T(S32), 0, 0, ORR_CMP_GE, ORR_BOOL_OR, 0,
         "W", "WWP"},
        {"selp.b64 d0, 1, d2, p1;", ORR_OP_SELP, T(B64), 0, 0, 0, 0, 0, 0, "D", "dDP"},
        {"slct.u64.f32 d0, d1, d2, f1;", ORR_OP_SLCT, T(U64), T(F32), 0, 0, 0, 0, 0, "D", "DDW"},
        {"cvt.rzi.ftz.s32.f32 r0, f1;", ORR_OP_CVT, T(S32), T(F32), M(FTZ), ORR_RND_RZI, 0, 0, 0, "W", "W"},
        {"cvt.rn.satfinite.relu.e4m3x2.f32 h0, f1, f2;", ORR_OP_CVT, T(E4M3X2), T(F32),
         M(SATFINITE) | M(RELU), ORR_RND_RN, 0, 0, 0, "H", "WW"},
        {"cvt.rs.f16x2.f32 r0, f1, f2, r3;", ORR_OP_CVT, T(F16X2), T(F32), 0, ORR_RND_RS, 0, 0, 0, "W",
         "WWW"},
        {"cvt.rna.tf32.f32 r0, f1;", ORR_OP_CVT, T(TF32), T(F32), 0, ORR_RND_RNA, 0, 0, 0, "W", "W"},
        {"cvt.s64.s8 d0, h1;", ORR_OP_CVT, T(S64), T(S8), 0, 0, 0, 0, 0, "D", "H"},
        {"shfl.sync.bfly.b32 r0|p1, r1, 4, 31, -1;", ORR_OP_SHFL, T(B32), 0, 0, 0, 0, 0, ORR_SHFL_BFLY, "WP",
         "Wwww"},
        {"shfl.up.b32 r0, r1, r2, 0;", ORR_OP_SHFL, T(B32), 0, 0, 0, 0, 0, ORR_SHFL_UP, "W", "WWw_"},
        {"vote.sync.ballot.b32 r0, !p1, r3;", ORR_OP_VOTE, T(B32), 0, 0, 0, 0, 0, ORR_VOTE_BALLOT, "W", "PW"},
        {"vote.any.pred p0, p1;", ORR_OP_VOTE, T(PRED), 0, 0, 0, 0, 0, ORR_VOTE_ANY, "P", "P_"},
        {"match.all.sync.b64 r0|p0, d1, r3;", ORR_OP_MATCH, T(B64), 0, 0, 0, 0, 0, 1, "WP", "DW"},
        {"redux.sync.max.s32 r0, r1, r2;", ORR_OP_REDUX, T(S32), 0, 0, 0, 0, 0, ORR_ATOM_MAX, "W", "WW"},
        {"redux.sync.min.abs.NaN.f32 f0, f1, r2;", ORR_OP_REDUX, T(F32), 0, M(XORSIGN) | M(NAN), 0, 0, 0,
         ORR_ATOM_MIN, "W", "WW"},
        {"activemask.b32 r0;", ORR_OP_ACTIVEMASK, T(B32), 0, 0, 0, 0, 0, 0, "W", ""},
        {"elect.sync _|p0, r1;", ORR_OP_ELECT, 0, 0, 0, 0, 0, 0, 0, "_P", "W"},
        {"bar.sync 3;", ORR_OP_BAR, 0, 0, M(ALIGNED), 0, 0, 0, ORR_BAR_SYNC, "", "w_"},
        {"barrier.cta.arrive r1, 64;", ORR_OP_BAR, 0, 0, 0, 0, 0, 0, ORR_BAR_ARRIVE, "", "Ww"},
        {"bar.red.popc.u32 r0, 1, p1;", ORR_OP_BAR, T(U32), 0, M(ALIGNED), 0, 0, 0, ORR_BAR_RED_POPC, "W",
         "w_P"},
        {"barrier.red.or.aligned.pred p0, 1, r2, !p1;", ORR_OP_BAR, T(PRED), 0, M(ALIGNED), 0, 0, 0,
         ORR_BAR_RED_OR, "P", "wWP"},
        {"bar.warp.sync 255;", ORR_OP_WARPSYNC, 0, 0, 0, 0, 0, 0, 0, "", "w"},
        {"fence.acq_rel.gpu;", ORR_OP_MEMBAR, 0, 0, 0, 0, 0, 0, 2, "", ""},
        {"membar.sys;", ORR_OP_MEMBAR, 0, 0, 0, 0, 0, 0, 3, "", ""},
        {"griddepcontrol.wait;", ORR_OP_NOP, 0, 0, 0, 0, 0, 0, ORR_GRID_WAIT, "", ""},
        {"nanosleep.u32 20;", ORR_OP_NANOSLEEP, T(U32), 0, 0, 0, 0, 0, 0, "", "w"},
        {"cvta.to.shared.u64 d0, d1;", ORR_OP_CVTA, T(U64), 0, 0, 0, 0, 0, 1, "D", "D"},
        {"isspacep.global p0, d1;", ORR_OP_ISSPACEP, 0, 0, 0, 0, 0, 0, 0, "P", "D"},
        {"mov.b64 {r0, _}, d1;", ORR_OP_MOV, T(B64), 0, 0, 0, 0, 0, 0, "W_", "D"},
        {"mov.b32 r0, {h1, 7};", ORR_OP_MOV, T(B32), 0, 0, 0, 0, 0, 0, "W", "Hh"},
        {"mov.b128 q0, {d1, d2};", ORR_OP_MOV, T(B128), 0, 0, 0, 0, 0, 0, "Q", "DD"},
        {"mov.pred p0, 1;", ORR_OP_MOV, T(PRED), 0, 0, 0, 0, 0, 0, "P", "p"},
        {"add .s32 r0 , // blanks and comments between the parts\n r1, 1;", ORR_OP_ADD, T(S32), 0, 0, 0, 0, 0,
         0, "W", "Ww"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *w = &rows[i];
        orr_kernel *k;
        const orr_inst *in = one(w->text, &k);
        char dst[16] = "", src[16] = "";
        for (int n = 0; n < in->ndst && n < 15; n++) dst[n] = class_letter(orr_dst(k, in, n));
        for (int n = 0; n < in->nsrc && n < 15; n++) src[n] = class_letter(orr_src(k, in, n));
        if (in->op != w->op || in->type != w->type || in->stype != w->stype || in->mods != w->mods ||
            in->round != w->round || in->cmp != w->cmp || in->boolop != w->boolop || in->sub != w->sub ||
            strcmp(dst, w->dst) != 0 || strcmp(src, w->src) != 0)
            fail_msg("%s: op %d type %d.%d mods %x round %d cmp %d bool %d sub %d, %s = %s", w->text, in->op,
                     in->type, in->stype, in->mods, in->round, in->cmp, in->boolop, in->sub, dst, src);
    }
}

static void test_constants(void **state) {
    (void)state;
    orr_kernel *k;
    constant_is("add.s16 h0, h1, -2;", 1, ORR_H, 0xfffe);
    constant_is("add.f32 f0, f1, 1.5;", 1, ORR_W, 0x3fc00000);
    constant_is("add.f64 e0, e1, 0f3F800000;", 1, ORR_D, 0x3ff0000000000000);
    constant_is("mov.b32 r0, 0fBF800000;", 0, ORR_W, 0xbf800000);
    constant_is("mov.b64 d0, 0d4000000000000000;", 0, ORR_D, 0x4000000000000000);
    constant_is("and.b32 r0, r1, WARP_SZ - 1;", 1, ORR_W, 31);
    constant_is("fma.rn.f16 h0, h1, 0x3C00, h2;", 1, ORR_H, 0x3c00);
    const orr_inst *in = one("@!p3 selp.b32 r0, r1, r2, p1;", &k);
    assert_true(in->guard >= 0);
    assert_true(in->guard_neg);
    in = one("lop3.or.b32 r0|p0, r1, r2, r3, 0xe8, !p1;", &k);
    assert_int_equal(in->imm, 0xe8);
    assert_int_equal(in->boolop, ORR_BOOL_OR);
    assert_int_equal(in->ndst, 2);
    assert_int_equal(in->nsrc, 4);
    assert_true(orr_src(k, in, 3)->neg);
}

// ---- special registers ----------------------------------------------------------------------
static void test_special(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t sreg;
        uint8_t cls;
    } t[] = {{"mov.u32 r0, %tid.y;", ORR_SREG_TID_Y, ORR_W},
             {"mov.u32 r0, %nctaid.z;", ORR_SREG_NCTAID_Z, ORR_W},
             {"mov.u64 d0, %clock64;", ORR_SREG_CLOCK64, ORR_D},
             {"mov.u32 r0, %lanemask_ge;", ORR_SREG_LANEMASK_GE, ORR_W},
             {"mov.u32 r0, %envreg31;", ORR_SREG_ENVREG, ORR_W},
             {"mov.u64 d0, %gridid;", ORR_SREG_GRIDID, ORR_D},
             {"mov.u32 r0, %gridid;", ORR_SREG_GRIDID, ORR_W},
             {"mov.u32 r0, %pm3;", ORR_SREG_PM, ORR_W},
             {"mov.u64 d0, %pm7_64;", ORR_SREG_PM, ORR_D},
             {"mov.u32 r0, %dynamic_smem_size;", ORR_SREG_DYNAMIC_SMEM, ORR_W},
             {"mov.u32 r0, %cluster_ctarank;", ORR_SREG_CLUSTER_CTARANK, ORR_W},
             {"mov.u32 r0, %cluster_nctaid.y;", ORR_SREG_CLUSTER_NCTAID_Y, ORR_W},
             {"mov.u64 d0, %globaltimer;", ORR_SREG_GLOBALTIMER, ORR_D}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        orr_kernel *k;
        const orr_inst *in = one(t[i].text, &k);
        assert_int_equal(in->op, ORR_OP_SREG);
        assert_int_equal(in->imm, t[i].sreg);
        IS_REG(orr_dst(k, in, 0), t[i].cls);
    }
    // as an operand, or in another width: read first
    orr_kernel *k = lower("mad.lo.u32 r0, %ctaid.x, %ntid.x, %tid.x;");
    assert_int_equal(count(k), 4);
    assert_int_equal(at(k, 2)->op, ORR_OP_SREG);
    assert_int_equal(at(k, 3)->op, ORR_OP_MAD);
    k = lower("mov.u16 h0, %tid.x;");
    assert_int_equal(at(k, 1)->op, ORR_OP_CVT);
    assert_int_equal(at(k, count(k) - 1)->op, ORR_OP_MOV);
    k = lower("mov.u32 r0, %tid.w;"); // always zero
    IS_IMM(orr_src(k, at(k, 0), 0), ORR_W, 0);
}

// ---- memory ---------------------------------------------------------------------------------
static void test_memory(void **state) {
    (void)state;
    orr_kernel *k;
    const orr_inst *in = one("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {f0, f1, _, f3}, [d0+-16];", &k);
    assert_int_equal(in->space, ORR_SPACE_GLOBAL);
    assert_int_equal(in->width, 4);
    assert_int_equal(in->vec, 4);
    assert_int_equal(in->ndst, 4);
    assert_int_equal(in->disp, -16);
    assert_int_equal(in->mods, ORR_M_NC);
    IS_NONE(orr_dst(k, in, 2));
    in = one("ld.v4.f32 v, [d0];", &k);
    assert_int_equal(in->space, ORR_SPACE_GENERIC);
    assert_int_equal(in->ndst, 4);
    in = one("ld.global.L2::cache_hint.u32 r0, [d0], d1;", &k); // the policy is dropped
    assert_int_equal(in->nsrc, 1);
    in = one("ld.global.s8 r0, [d0];", &k); // a register wider than the type
    assert_int_equal(in->type, ORR_T_S8);
    assert_int_equal(in->width, 1);
    IS_REG(orr_dst(k, in, 0), ORR_W);
    in = one("ld.acquire.gpu.global.u32 r0, [d0];", &k);
    assert_true(in->mods & ORR_M_VOLATILE);
    assert_true(in->mods & ORR_M_ACQREL);
    in = one("ld.weak.global.cg.u32 r0, [d0];", &k);
    assert_int_equal(in->mods, 0);
    assert_int_equal(in->cache, ORR_CACHE_CG);
    in = one("ld.param.u32 r0, [many+8];", &k);
    assert_int_equal(in->space, ORR_SPACE_PARAM);
    IS_IMM(orr_src(k, in, 0), ORR_D, 8);
    assert_int_equal(in->disp, 8);
    constant_is("mov.b64 d0, many;", 0, ORR_D, 8);
    assert_int_equal(one("ld.param.u32 r0, [d1+4];", &k)->space, ORR_SPACE_PARAM);
    in = one("ld.local.u32 r0, [loc+4];", &k); // the frame is the base
    assert_int_equal(in->space, ORR_SPACE_LOCAL);
    IS_NONE(orr_src(k, in, 0));
    assert_int_equal(in->disp, 4);
    in = one("st.shared.u32 [dyn+12], r0;", &k); // no static memory: it starts at 0
    IS_IMM(orr_src(k, in, 0), ORR_D, 0);
    assert_int_equal(in->disp, 12);
    assert_int_equal(in->cache, ORR_CACHE_WB);
    k = lower(
        "mov.u32 r0, s; mov.u32 r1, dyn; st.shared.u32 [r0], r1;"); // 100 bytes, then the next multiple of 32
    IS_IMM(orr_src(k, at(k, 0), 0), ORR_W, 0);
    IS_IMM(orr_src(k, at(k, 1), 0), ORR_W, 128);
    assert_int_equal(k->shared_bytes, 128);
    in = one("ld.const.u32 r0, [c+4];", &k);
    assert_int_equal(orr_src(k, in, 0)->kind, ORR_K_SYMBOL);
    assert_string_equal(module->vars[orr_src(k, in, 0)->reg].name, "c");
    in = one("mov.u64 d0, g+8;", &k);
    assert_int_equal(orr_src(k, in, 0)->kind, ORR_K_SYMBOL);
    assert_int_equal(orr_src(k, in, 0)->value, 8);
    in = one("ld.global.u32 r0, [64];", &k);
    IS_IMM(orr_src(k, in, 0), ORR_D, 64);
    in = one("st.v2.b32 [d0], w;", &k);
    assert_int_equal(in->nsrc, 3);
    in = one("st.volatile.global.v2.u8 [d0], {r0, 5};", &k); // all values of one class
    IS_IMM(orr_src(k, in, 2), ORR_W, 5);
    in = one("ld.b128 q0, [d0];", &k);
    assert_int_equal(in->width, 16);
    in = one("ld.global.v4.b64 {d0, d1, d2, d3}, [d4];", &k);
    assert_int_equal(in->width * in->vec, 32);
    k = lower("ld.global.u32 r0, [d0+4294967296];"); // an offset that does not fit is added first
    assert_int_equal(count(k), 2);
    assert_int_equal(at(k, 0)->op, ORR_OP_ADD);
    IS_IMM(orr_src(k, at(k, 0), 1), ORR_D, 1ull << 32);
    in = one("mov.u64 d0, loc;", &k);
    assert_int_equal(in->op, ORR_OP_LOCALADDR);
}

static void test_atomics(void **state) {
    (void)state;
    orr_kernel *k;
    const orr_inst *in = one("atom.acq_rel.gpu.global.cas.b64 d0, [d1+8], d2, d3;", &k);
    assert_int_equal(in->sub, ORR_ATOM_CAS);
    assert_int_equal(in->width, 8);
    assert_int_equal(in->nsrc, 3);
    assert_int_equal(in->disp, 8);
    in = one("atom.global.add.noftz.f16x2 r0, [d1], r2;", &k);
    assert_int_equal(in->type, ORR_T_F16X2);
    in = one("atom.global.v4.f32.add {f0, f1, f2, f3}, [d1], {f4, f5, f6, f7};", &k);
    assert_int_equal(in->vec, 4);
    assert_int_equal(in->ndst, 4);
    assert_int_equal(in->nsrc, 5);
    in = one("red.relaxed.gpu.shared::cta.max.u32 [r0], r1;", &k);
    assert_int_equal(in->op, ORR_OP_RED);
    assert_int_equal(in->space, ORR_SPACE_SHARED);
    IS_REG(orr_src(k, in, 0), ORR_W);
    in = one("atom.shared.exch.b128 q0, [r1], q2;", &k);
    assert_int_equal(in->width, 16);
    in = one("cp.async.cg.shared.global.L2::256B [r0+16], [d0+32], 16, r2;", &k);
    assert_int_equal(in->op, ORR_OP_CPASYNC);
    assert_int_equal(in->width, 16);
    assert_int_equal(in->disp, 16);
    assert_int_equal(in->disp2, 32);
    assert_int_equal(in->nsrc, 3);
    k = lower("cp.async.ca.shared.global [r0], [d0], 8, p1;"); // ignore the source where p1
    assert_int_equal(at(k, 0)->op, ORR_OP_SELP);
    IS_IMM(orr_src(k, at(k, 0), 0), ORR_W, 0);
    IS_IMM(orr_src(k, at(k, 0), 1), ORR_W, 8);
    assert_int_equal(one("cp.async.wait_group 3;", &k)->imm, 3);
    assert_int_equal(one("cp.async.wait_all;", &k)->sub, 1);
    in = one("mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p0, [r0], r1, r2;", &k);
    assert_int_equal(in->sub, ORR_MBAR_TRY_WAIT);
    assert_int_equal(in->cmp, 1);
    assert_int_equal(in->nsrc, 3);
    in = one("mbarrier.arrive.expect_tx.shared.b64 _, [r0], 64;", &k);
    assert_int_equal(in->sub, ORR_MBAR_ARRIVE_EXPECT_TX);
    IS_NONE(orr_dst(k, in, 0));
    in = one("mbarrier.test_wait.shared.b64 p0, [r0], d0;", &k);
    assert_int_equal(in->cmp, 0);
}

// ---- conversions between register widths ----------------------------------------------------
static void test_widths(void **state) {
    (void)state;
    orr_kernel *k = lower("cvt.s32.s8 r0, r1;"); // the low byte of a wider register
    assert_int_equal(count(k), 2);
    assert_int_equal(at(k, 0)->type, ORR_T_U16);
    assert_int_equal(at(k, 0)->stype, ORR_T_U32);
    assert_int_equal(at(k, 1)->stype, ORR_T_S8);
    IS_REG(orr_src(k, at(k, 1), 0), ORR_H);
    k = lower("@p1 cvt.u8.u32 r0, r1;"); // cut to a byte, then zero-extended; the guard covers both
    assert_int_equal(count(k), 2);
    assert_int_equal(at(k, 0)->type, ORR_T_U8);
    assert_int_equal(at(k, 1)->type, ORR_T_U32);
    assert_int_equal(at(k, 1)->stype, ORR_T_U8);
    assert_true(at(k, 0)->guard >= 0 && at(k, 1)->guard >= 0);
    k = lower("add.f32.f16 f0, h1, f2;"); // mixed precision: widened first
    assert_int_equal(count(k), 2);
    assert_int_equal(at(k, 0)->op, ORR_OP_CVT);
    assert_int_equal(at(k, 1)->type, ORR_T_F32);
    k = lower("mov.v4.f32 v, {f0, f1, f2, f3};"); // read all, then write all
    assert_int_equal(count(k), 8);
}

// ---- control --------------------------------------------------------------------------------
static void test_control(void **state) {
    (void)state;
    orr_kernel *k = lower("T: .branchtargets A, B, A;\n@p0 bra B;\nbrx.idx r0, T;\nA: add.u32 r0, r0, 1;\nB: "
                          "add.u32 r1, r1, 2;");
    const orr_inst *brx = at(k, 1);
    assert_int_equal(brx->op, ORR_OP_BRX);
    assert_int_equal(brx->imm, 3);
    assert_int_equal(k->ntables, 3);
    const orr_block *a = &k->blocks[k->tables[brx->target]], *b = &k->blocks[k->tables[brx->target + 1]];
    assert_int_equal(orr_src(k, &k->insts[a->first], 1)->value, 1);
    assert_int_equal(orr_src(k, &k->insts[b->first], 1)->value, 2);
    assert_int_equal(k->tables[brx->target + 2], k->tables[brx->target]);
    assert_int_equal(at(k, 0)->target, k->tables[brx->target + 1]);

    k = lower("{ .param .b32 a; .param .b64 b; .param .b64 res; call.uni (res), callee, (a, b); ld.param.b64 "
              "d0, [res]; }");
    const orr_inst *call = at(k, 0);
    assert_int_equal(call->op, ORR_OP_CALL);
    assert_string_equal(k->funcs[call->target].name, "callee");
    assert_int_equal(call->imm, 2);
    assert_int_equal(call->vec, 1);
    assert_int_equal(call->nsrc, 3); // offset and size in the frame, behind loc's 16 bytes
    assert_int_equal(orr_src(k, call, 0)->value, 16ull << 32 | 4);
    assert_int_equal(orr_src(k, call, 1)->value, 24ull << 32 | 8);
    assert_int_equal(orr_src(k, call, 2)->value, 32ull << 32 | 8);
    const orr_func *f = &k->funcs[call->target];
    assert_int_equal(f->nparams, 2);
    assert_int_equal(f->results[0].offset, 0);
    assert_int_equal(f->params[0].offset, 8);
    assert_int_equal(f->params[1].offset, 16);
    assert_int_equal(k->insts[f->first_inst].space, ORR_SPACE_LOCAL);

    // registers as parameters: stored into the frame, and taken out of it inside
    k = lower("call (r0), old_style, (7, d1);");
    assert_int_equal(count(k), 4);
    assert_int_equal(at(k, 0)->op, ORR_OP_ST);
    assert_int_equal(at(k, 1)->op, ORR_OP_ST);
    assert_int_equal(at(k, 2)->op, ORR_OP_CALL);
    assert_int_equal(at(k, 3)->op, ORR_OP_LD);
    f = &k->funcs[at(k, 2)->target];
    const orr_inst *body = &k->insts[f->first_inst];
    assert_int_equal(f->ninsts, 6); // two loads, the two instructions, a store, the return
    assert_int_equal(body[0].op, ORR_OP_LD);
    assert_int_equal(body[4].op, ORR_OP_ST);
    assert_int_equal(body[5].op, ORR_OP_RET);

    k = lower("{ .param .b64 a; .param .b64 b; .param .b32 res; call (res), vprintf, (a, b); }");
    assert_int_equal(at(k, 0)->op, ORR_OP_SYSCALL);
    assert_int_equal(at(k, 0)->sub, ORR_SYS_VPRINTF);

    k = lower(
        "{ .param .b32 a; .param .b64 b; .param .b64 res; mov.u64 d0, callee; call (res), d0, (a, b), pr;\n"
        "pr: .callprototype (.param .b64 _) _ (.param .b32 _, .param .b64 _); }");
    assert_int_equal(at(k, 1)->target, -1);
    assert_int_equal(at(k, 1)->nsrc, 4);
    IS_IMM(orr_src(k, at(k, 0), 0), ORR_D, ORR_FUNC_HANDLE(1));
    assert_string_equal(k->funcs[1].name, "callee");
    assert_true(k->recursive);
    k = lower("@p0 ret; trap;");
    assert_int_equal(at(k, 0)->op, ORR_OP_EXIT); // of a kernel
}

// ---- matrices, video ------------------------------------------------------------------------
static void test_matrix(void **state) {
    (void)state;
    orr_kernel *k;
    const orr_inst *in = one("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                             "{f0,f1,f2,f3},{r0,r1,r2,r3},{r4,r5},{f4,f5,f6,f7};",
                             &k);
    assert_int_equal(in->imm, 16 | 8 << 8 | 16 << 16);
    assert_int_equal(in->ndst, 4);
    assert_int_equal(in->nsrc, 10);
    assert_int_equal(in->type, ORR_T_F32);
    assert_int_equal(in->stype, ORR_T_BF16);
    assert_int_equal(in->sub, ORR_T_BF16);
    assert_int_equal(in->cmp, ORR_T_F32);
    assert_true((in->mods & (ORR_M_A_COL | ORR_M_B_COL)) == ORR_M_B_COL);
    in = one("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
             "{r0,r1},{r2,r3},{r4,r5},{r6,r7},r8,1;",
             &k);
    assert_int_equal(in->vec, 1);
    assert_int_equal(in->nsrc, 8);
    IS_IMM(orr_src(k, in, 7), ORR_W, 1);
    in = one("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {e0,e1},{e2},{e3},{e4,e5};", &k);
    IS_REG(orr_src(k, in, 0), ORR_D);
    in = one("mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f16 "
             "{f0,f1,f2,f3,f4,f5,f6,f7},{r0,r1},{r2,r3},{r4,r5,r6,r7};",
             &k);
    assert_int_equal(in->ndst, 8);
    in = one("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc "
             "{r0,r1,r2,r3},{r4,r5,r6,r7},{r8,r9},{r0,r1,r2,r3};",
             &k);
    assert_int_equal(in->imm >> 16, 256);
    assert_int_equal(in->boolop, 1);
    in = one("wmma.load.b.sync.aligned.col.m32n8k16.shared.bf16 {r0,r1}, [r2+4], r3;", &k);
    assert_int_equal(in->sub, 1);
    assert_true(in->mods & ORR_M_A_COL);
    assert_int_equal(in->nsrc, 2);
    in = one("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [d0], {f0,f1,f2,f3,f4,f5,f6,f7};", &k);
    assert_int_equal(in->nsrc, 10);
    IS_NONE(orr_src(k, in, 1));
    in = one(
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16 {f0,f1,f2,f3,f4,f5,f6,f7},{r0,r1,r2,r3,r4,r5,r6,r7},"
        "{r8,r9,r10,r11,r12,r13,r14,r15},{r16,r17,r18,r19};",
        &k);
    assert_int_equal(in->stype, ORR_T_F16);
    assert_int_equal(in->cmp, ORR_T_F16);
    in = one("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {r0,r1}, [r2];", &k);
    assert_int_equal(in->imm, 2);
    assert_true(in->mods & ORR_M_TRANS);
}

static void test_video(void **state) {
    (void)state;
    orr_kernel *k;
    const orr_inst *in = one("vadd.s32.u32.s32.sat r0, r1.b2, r2.h1;", &k);
    assert_int_equal(in->type, ORR_T_S32);
    assert_int_equal(in->stype, ORR_T_U32);
    assert_int_equal(in->disp & 255, ORR_T_S32);
    assert_int_equal(in->imm, 3 | 6 << 4);
    in = one("vmin.u32.u32.u32 r0.b1, r1, r2, r3;", &k);
    assert_int_equal(in->imm, 2 << 12 | 4 << 16);
    in = one("vabsdiff.u32.u32.u32.add r0, r1, r2, r3;", &k);
    assert_int_equal(in->imm, 1 << 16);
    in = one("vmad.s32.s32.u32.shr15 r0, r1.h0, -r2.b0, r3;", &k);
    assert_int_equal(in->imm, 5 | 1 << 4);
    assert_int_equal(in->disp, ORR_T_U32 | 15 << 8 | 1 << 18);
    in = one("vadd2.u32.u32.s32 r0.h1, r1, r2.h23, r3;", &k); // a's halves are 0 and 1; b's, chosen, 3 then 2
    assert_int_equal(in->disp, (0 | 1 << 3) | (3 | 2 << 3) << 12 | 2 << 24);
    assert_int_equal(in->imm, ORR_T_S32);
    in = one("vset4.u32.s32.ge.add r0, r1, r2, r3;", &k);
    assert_int_equal(in->cmp, ORR_CMP_GE);
    assert_int_equal(in->imm, ORR_T_S32 | 1 << 16);
    assert_int_equal(in->disp,
                     (0 | 1 << 3 | 2 << 6 | 3 << 9) | (4 | 5 << 3 | 6 << 6 | 7 << 9) << 12 | 15 << 24);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),   cmocka_unit_test(test_constants), cmocka_unit_test(test_special),
        cmocka_unit_test(test_memory),  cmocka_unit_test(test_atomics),   cmocka_unit_test(test_widths),
        cmocka_unit_test(test_control), cmocka_unit_test(test_matrix),    cmocka_unit_test(test_video),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
