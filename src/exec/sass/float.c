// Machine code: arithmetic and comparison of single and double precision, MUFU.
//
// What computes is float.c's, through m_ptx, with the same rules for NaNs, flushing and zeros. The commonest
// forms have handlers of their own, in which a negated operand costs nothing (FFMA R0, -R1, R2, R3) and
// doubles are read from and written to their pairs of registers without being packed first.
//
// A negated NaN of double precision is handed on as it was: DADD R0, -RZ, -R2, which is neg.f64, leaves its
// sign.
#include "exec/sass/float.h"

#include "exec/ops/mufu.h"
#include "exec/ops/softfp.h"
#include "exec/lanewise.h"

#define BOTH(name) ((handlers){name, name})

static const orr_arg *arg(const translator *m, int n) {
    static const orr_arg none;
    return n < m->c->nargs ? &m->c->args[n] : &none;
}
static bool neg(const translator *m, int n) { return arg(m, n)->flags & ORR_ARG_NEG; }
static bool abs_of(const translator *m, int n) { return arg(m, n)->flags & ORR_ARG_ABS; }

uint8_t m_round(const translator *m) {
    static const uint8_t round[] = {ORR_RND_RN, ORR_RND_RM, ORR_RND_RP, ORR_RND_RZ};
    return round[m_mod(m, ORR_SM_RND) & 3];
}

int m_fixed(const translator *m, int n) {
    const orr_arg *a = arg(m, n);
    if (a->kind != ORR_ARG_NONE && a->reg < ORR_PT) return -1;
    return !(a->flags & ORR_ARG_INV);
}

// .FTZ is a modifier of its own or one of the values of DENORM. False: a mode that is not executed.
static bool denorm(translator *m, uint32_t *mods) {
    unsigned d = m_mod(m, ORR_SM_DENORM);
    if (d == ORR_SV_DENORM_FTZ || m_mod(m, ORR_SM_FTZ)) *mods |= ORR_M_FTZ;
    if (m_mod(m, ORR_SM_SAT)) *mods |= ORR_M_SAT;
    if (d != ORR_SV_DENORM_FMZ && d != ORR_SV_DENORM_OOB) return true;
    m->why = "its mode of flushing is not known";
    return false;
}

// ---- f32 arithmetic -------------------------------------------------------------------------
#define FLIP(x)      ((x) ^ 0x80000000u)
#define FMA(x, y, z) out32(__builtin_fmaf(f32_of(x), f32_of(y), f32_of(z)), 0, 0)
LOOP2(fadd, 32, out32(f32_of(x) + f32_of(y), 0, 0))
LOOP2(fsub, 32, out32(f32_of(x) - f32_of(y), 0, 0))
LOOP2(fmul, 32, out32(f32_of(x) * f32_of(y), 0, 0))
LOOP2(fnmul, 32, out32(f32_of(FLIP(x)) * f32_of(y), 0, 0))
LOOP3(ffma, 32, FMA(x, y, z))
LOOP3(ffms, 32, FMA(x, y, FLIP(z)))
LOOP3(fnma, 32, FMA(FLIP(x), y, z))
LOOP3(fnms, 32, FMA(FLIP(x), y, FLIP(z)))
LOOP1(flush, 32, 32, flush32(x))

// FMUL.D8 to .M8: the product times a power of two (z), rounded once. Both are exact in double precision.
#define SCALED(v, ftz, sat)                                                                                  \
    LOOP3(fmul_by##v, 32,                                                                                    \
          out32((float)((double)f32_of(in32(x, ftz)) * f32_of(in32(y, ftz)) * f32_of(z)), ftz, sat))
SCALED(, 0, 0)
SCALED(_sat, 0, 1)
SCALED(_ftz, 1, 0)
SCALED(_ftz_sat, 1, 1)

static bool fadd(translator *m) {
    uint32_t mods = 0;
    if (!denorm(m, &mods)) return false;
    bool plain = !mods && m_round(m) == ORR_RND_RN && !abs_of(m, 1) && !abs_of(m, 2);
    if (plain && !(neg(m, 1) && neg(m, 2))) {
        oper a = m_src(m, 1, 0), b = m_src(m, 2, 0), d = m_dst(m, 0, 0);
        handlers h = neg(m, 1) || neg(m, 2) ? PAIR(fsub) : PAIR(fadd);
        m_emit(m, h, 1, 2, neg(m, 1) ? OPERS(d, b, a) : OPERS(d, a, b));
        return true;
    }
    return m_ptx(m, (orr_inst){.op = ORR_OP_ADD, .type = ORR_T_F32, .round = m_round(m), .mods = mods}, 1, 2,
                 OPERS(m_dst(m, 0, 0), m_val(m, 1, AS_F32), m_val(m, 2, AS_F32)));
}

static bool fmul(translator *m) {
    uint32_t mods = 0;
    unsigned scale = m_mod(m, ORR_SM_SCALE);
    if (!denorm(m, &mods)) return false;
    if (scale != 0 && scale != ORR_SV_SCALE_M1) {
        static const handlers by[2][2] = {{PAIR(fmul_by), PAIR(fmul_by_sat)},
                                          {PAIR(fmul_by_ftz), PAIR(fmul_by_ftz_sat)}};
        if (m_round(m) != ORR_RND_RN) {
            m->why = "it scales its product and does not round to nearest";
            return false;
        }
        uint32_t power = (127 + scale - ORR_SV_SCALE_M1) << 23; // 1/8 to 8 as bits of single precision
        m_emit(m, by[!!(mods & ORR_M_FTZ)][!!(mods & ORR_M_SAT)], 1, 3,
               OPERS(m_dst(m, 0, 0), m_val(m, 1, AS_F32), m_val(m, 2, AS_F32), m_imm(m, ORR_W, power)));
        return true;
    }
    if (!mods && m_round(m) == ORR_RND_RN && !abs_of(m, 1) && !abs_of(m, 2)) {
        m_emit(m, neg(m, 1) != neg(m, 2) ? PAIR(fnmul) : PAIR(fmul), 1, 2,
               OPERS(m_dst(m, 0, 0), m_src(m, 1, 0), m_src(m, 2, 0)));
        return true;
    }
    return m_ptx(m, (orr_inst){.op = ORR_OP_MUL, .type = ORR_T_F32, .round = m_round(m), .mods = mods}, 1, 2,
                 OPERS(m_dst(m, 0, 0), m_val(m, 1, AS_F32), m_val(m, 2, AS_F32)));
}

static bool ffma(translator *m) {
    static const handlers signs[2][2] = {{PAIR(ffma), PAIR(ffms)}, {PAIR(fnma), PAIR(fnms)}};
    uint32_t mods = 0;
    if (!denorm(m, &mods)) return false;
    bool plain = !mods && m_round(m) == ORR_RND_RN;
    if (plain && !abs_of(m, 1) && !abs_of(m, 2) && !abs_of(m, 3)) {
        m_emit(m, signs[neg(m, 1) != neg(m, 2)][neg(m, 3)], 1, 3,
               OPERS(m_dst(m, 0, 0), m_src(m, 1, 0), m_src(m, 2, 0), m_src(m, 3, 0)));
        return true;
    }
    return m_ptx(m, (orr_inst){.op = ORR_OP_FMA, .type = ORR_T_F32, .round = m_round(m), .mods = mods}, 1, 3,
                 OPERS(m_dst(m, 0, 0), m_val(m, 1, AS_F32), m_val(m, 2, AS_F32), m_val(m, 3, AS_F32)));
}

// Two of single precision in a pair of registers (sm_100). HI_LO: the pair as it is, LO_HI: exchanged, F32:
// the first register twice.
static oper half_of_pair(translator *m, int n, int word) {
    const orr_arg *a = arg(m, n);
    unsigned from = a->subval & 3u;
    if (a->subval & 4u) m->why = "its signs are of the form .NP";
    oper o = m_src(m, n, from == ORR_SV_PAIR_HI_LO ? word : from == ORR_SV_PAIR_LO_HI ? !word : 0);
    orr_inst like = {.op = ORR_OP_ABS, .type = ORR_T_F32};
    if (abs_of(m, n)) {
        oper t = m_tmp(m, ORR_W);
        m_ptx(m, like, 1, 1, OPERS(t, o));
        o = t;
    }
    like.op = ORR_OP_NEG;
    if (neg(m, n)) {
        oper t = m_tmp(m, ORR_W);
        m_ptx(m, like, 1, 1, OPERS(t, o));
        o = t;
    }
    return o;
}
static bool pairs(translator *m, int op, int nsrc) {
    uint32_t mods = 0;
    if (!denorm(m, &mods)) return false;
    orr_inst like = {.op = (uint16_t)op, .type = ORR_T_F32, .round = m_round(m), .mods = mods};
    oper t[2] = {m_tmp(m, ORR_W), m_tmp(m, ORR_W)};
    for (int word = 0; word < 2; word++) {
        oper o[4] = {t[word]};
        for (int n = 1; n <= nsrc; n++) o[n] = half_of_pair(m, n, word);
        if (!m_ptx(m, like, 1, nsrc, o)) return false;
    }
    for (int word = 0; word < 2; word++)
        if (!m_ptx(m, (orr_inst){.op = ORR_OP_MOV, .type = ORR_T_B32}, 1, 1,
                   OPERS(m_dst(m, 0, word), t[word])))
            return false;
    return true;
}

// For each lane of a quad two bits say a + b, a - b, b - a, or b.
static void fswzadd(warp *w, const uop *u) {
    set_exec(w, w->exec); // a full warp leaves `lane` as it was
    bool ftz = u->imm >> 16 & 1;
    uint32_t *d = DST(w, u, uint32_t);
    const uint32_t *a = SRC_A(w, u, uint32_t), *b = SRC_B(w, u, uint32_t);
    round_begin((int)(u->imm >> 8 & 0xff));
    for (int i = 0; i < ORR_WARP; i++) {
        unsigned how = u->imm >> 2 * (i & 3) & 3;
        float x = f32_of(in32(a[i], ftz)), y = f32_of(in32(b[i], ftz));
        float r = (how == 2 ? -x : how == 3 ? 0 : x) + (how == 1 ? -y : y);
        d[i] = keep32(w->lane[i], out32(r, ftz, 0), d[i]);
    }
    round_end();
}

// ---- f32 selection and comparison -----------------------------------------------------------
static bool fsel(translator *m) {
    oper a = m_val(m, 1, AS_F32), b = m_val(m, 2, AS_F32), d = m_dst(m, 0, 0);
    bool ftz = m_mod(m, ORR_SM_FTZ);
    oper t = ftz ? m_tmp(m, ORR_W) : d;
    if (!m_ptx(m, (orr_inst){.op = ORR_OP_SELP, .type = ORR_T_B32}, 1, 3, OPERS(t, a, b, m_psrc(m, 3))))
        return false;
    if (ftz) m_emit(m, PAIR(flush), 1, 1, OPERS(d, t));
    return true;
}

bool m_minmax(translator *m, orr_inst like, int nsrc, int pred, const oper *sources) {
    oper o[4], d = m_dst(m, 0, 0);
    for (int n = 0; n < nsrc; n++) o[n + 1] = sources[n];
    int fixed = m_fixed(m, pred); // true: the lesser
    if (fixed >= 0) {
        o[0] = d;
        like.op = fixed ? ORR_OP_MIN : ORR_OP_MAX;
        return m_ptx(m, like, 1, nsrc, o);
    }
    oper lesser = o[0] = m_tmp(m, ORR_W);
    like.op = ORR_OP_MIN;
    if (!m_ptx(m, like, 1, nsrc, o)) return false;
    oper greater = o[0] = m_tmp(m, ORR_W);
    like.op = ORR_OP_MAX;
    return m_ptx(m, like, 1, nsrc, o) && m_ptx(m, (orr_inst){.op = ORR_OP_SELP, .type = ORR_T_B32}, 1, 3,
                                               OPERS(d, lesser, greater, m_psrc(m, pred)));
}

static bool fmnmx(translator *m, int nsrc) {
    orr_inst like = {.type = ORR_T_F32};
    if (m_mod(m, ORR_SM_IS_A)) {
        m->why = "it says which operand it took";
        return false;
    }
    if (m_mod(m, ORR_SM_FTZ)) like.mods |= ORR_M_FTZ;
    if (m_mod(m, ORR_SM_NAN)) like.mods |= ORR_M_NAN;
    oper o[3];
    if (m_mod(m, ORR_SM_XORSIGN)) { // PTX's takes magnitudes, and signs before that
        like.mods |= ORR_M_XORSIGN;
        if (!abs_of(m, 1) || !abs_of(m, 2) || neg(m, 1) || neg(m, 2))
            m->why = "it joins signs of numbers with signs";
        o[0] = m_src(m, 1, 0), o[1] = m_src(m, 2, 0);
    } else {
        o[0] = m_val(m, 1, AS_F32), o[1] = m_val(m, 2, AS_F32);
    }
    if (nsrc > 2) o[2] = m_val(m, 3, AS_F32);
    return m_minmax(m, like, nsrc, nsrc + 1, o);
}

int m_compare(unsigned fcmp) {
    static const int8_t cmp[16] = {-1,          ORR_CMP_LT,  ORR_CMP_EQ,  ORR_CMP_LE,
                                   ORR_CMP_GT,  ORR_CMP_NE,  ORR_CMP_GE,  ORR_CMP_NUM,
                                   ORR_CMP_NAN, ORR_CMP_LTU, ORR_CMP_EQU, ORR_CMP_LEU,
                                   ORR_CMP_GTU, ORR_CMP_NEU, ORR_CMP_GEU, -2};
    return cmp[fcmp & 15];
}
uint8_t m_bool(const translator *m) {
    static const uint8_t op[4] = {ORR_BOOL_AND, ORR_BOOL_OR, ORR_BOOL_XOR, ORR_BOOL_AND};
    return op[m_mod(m, ORR_SM_BOOL) & 3];
}

static void copy_preds(warp *w, const uop *u) {
    uint32_t p = pred_of(w, u->a), q = pred_of(w, u->b);
    set_pred(w, u->all[0], p);
    set_pred(w, u->all[1], q);
}
// P0 = result op PS and P1 = !result op PS for a result that is known
void m_set_known(translator *m, bool result, uint8_t boolop, oper p, oper q, oper ps) {
    oper r[2];
    for (int n = 0; n < 2; n++) {
        bool v = n ? !result : result;
        r[n] = ps;
        if (boolop == ORR_BOOL_AND && !v) r[n] = m_imm(m, ORR_P, 0);
        if (boolop == ORR_BOOL_OR && v) r[n] = m_imm(m, ORR_P, 1);
        if (boolop == ORR_BOOL_XOR && v) r[n].neg = !ps.neg;
    }
    m_emit(m, BOTH(copy_preds), 2, 2, OPERS(p, q, r[0], r[1]));
}

static bool fsetp(translator *m) {
    int cmp = m_compare(m_mod(m, ORR_SM_FCMP));
    oper p = m_pdst(m, 0), q = m_pdst(m, 1);
    uint8_t boolop = m_bool(m);
    if (cmp < 0) {
        m_set_known(m, cmp == -2, boolop, p, q, m_psrc(m, 4));
        return true;
    }
    bool alone = boolop == ORR_BOOL_AND && m_fixed(m, 4) == 1;
    orr_inst like = {.op = ORR_OP_SETP, .type = ORR_T_F32, .cmp = (uint8_t)cmp, .boolop = boolop};
    if (alone) like.boolop = ORR_BOOL_NONE;
    if (m_mod(m, ORR_SM_FTZ)) like.mods |= ORR_M_FTZ;
    return m_ptx(m, like, 2, alone ? 2 : 3,
                 OPERS(p, q, m_val(m, 2, AS_F32), m_val(m, 3, AS_F32), m_psrc(m, 4)));
}

static bool fset(translator *m) { // .BF: 1.0 or 0
    int cmp = m_compare(m_mod(m, ORR_SM_FCMP));
    if (cmp < 0) {
        m->why = "it compares nothing";
        return false;
    }
    orr_inst like = {.op = ORR_OP_SET,
                     .type = m_mod(m, ORR_SM_BF) ? ORR_T_F32 : ORR_T_U32,
                     .stype = ORR_T_F32,
                     .cmp = (uint8_t)cmp,
                     .boolop = m_bool(m)};
    if (m_mod(m, ORR_SM_FTZ)) like.mods |= ORR_M_FTZ;
    return m_ptx(m, like, 1, 3,
                 OPERS(m_dst(m, 0, 0), m_val(m, 1, AS_F32), m_val(m, 2, AS_F32), m_psrc(m, 3)));
}

static void fchk(warp *w, const uop *u) {
    set_pred(w, u->d, orr_fchk(SRC_A(w, u, uint32_t), SRC_B(w, u, uint32_t)));
}

// ---- MUFU -----------------------------------------------------------------------------------
static void mufu_full(warp *w, const uop *u) {
    orr_mufu((int)u->imm, DST(w, u, uint32_t), SRC_A(w, u, uint32_t));
}
static void mufu_mask(warp *w, const uop *u) {
    uint32_t t[ORR_WARP], *d = DST(w, u, uint32_t);
    orr_mufu((int)u->imm, t, SRC_A(w, u, uint32_t));
    LANES d[i] = keep32(w->lane[i], t[i], d[i]);
}
LOOP1(upper_half, 32, 32, x >> 16)

static bool mufu(translator *m) {
    unsigned fn = m_mod(m, ORR_SM_MUFU), half = m_mod(m, ORR_SM_HALFOF);
    _Static_assert((int)MUFU_TANH == (int)ORR_SV_MUFU_TANH && (int)MUFU_RCP == (int)ORR_SV_MUFU_RCP, "alike");
    if (fn > ORR_SV_MUFU_TANH || half > ORR_SV_HALFOF_BF16 ||
        (half && fn != ORR_SV_MUFU_TANH && fn != ORR_SV_MUFU_EX2)) {
        m->why = "the function is not known";
        return false;
    }
    oper a = m_val(m, 1, half ? AS_F16X2 : AS_F32);
    if (half && arg(m, 1)->sub == ORR_SM_H1 && arg(m, 1)->subval) {
        oper t = m_tmp(m, ORR_W);
        m_emit(m, PAIR(upper_half), 1, 1, OPERS(t, a));
        a = t;
    }
    m_emit(m, PAIR(mufu), 1, 1, OPERS(m_dst(m, 0, 0), a))->imm =
        fn + (half == ORR_SV_HALFOF_F16    ? MUFU_F16
              : half == ORR_SV_HALFOF_BF16 ? MUFU_BF16
                                           : 0);
    return true;
}

// ---- f64 ------------------------------------------------------------------------------------
// Destination and sources are pairs of rows: lower word, upper word. Which NaN a result is, is seen to when
// there is one.
ALWAYS uint64_t wide(const uint32_t *lo, const uint32_t *hi, int i) { return (uint64_t)hi[i] << 32 | lo[i]; }
#define WORDS(n) SRC_N(w, u, n, uint32_t)
#define DLOOP(name, sources, expr)                                                                           \
    ALWAYS void name##_any(warp *w, const uop *u, bool full) {                                               \
        uint32_t *lo = DST_N(w, u, 0, uint32_t), *hi = DST_N(w, u, 1, uint32_t);                             \
        const uint32_t *a = WORDS(0), *A = WORDS(1), *b = WORDS(2), *B = WORDS(3);                           \
        const uint32_t *c = sources > 2 ? WORDS(4) : a, *C = sources > 2 ? WORDS(5) : A;                     \
        uint64_t r[ORR_WARP], bad = 0;                                                                       \
        LANES {                                                                                              \
            uint64_t x = wide(a, A, i), y = wide(b, B, i), z = wide(c, C, i);                                \
            (void)z;                                                                                         \
            double v = (expr);                                                                               \
            r[i] = bits64(v);                                                                                \
            bad |= mask64(v != v);                                                                           \
        }                                                                                                    \
        if (bad)                                                                                             \
            for (int i = 0; i < ORR_WARP; i++)                                                               \
                r[i] = out64(f64_of(r[i]), wide(a, A, i), wide(b, B, i), sources > 2 ? wide(c, C, i) : 0);   \
        LANES {                                                                                              \
            lo[i] = full ? (uint32_t)r[i] : keep32(w->lane[i], (uint32_t)r[i], lo[i]);                       \
            hi[i] = full ? (uint32_t)(r[i] >> 32) : keep32(w->lane[i], (uint32_t)(r[i] >> 32), hi[i]);       \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_full(warp *w, const uop *u) { name##_any(w, u, true); }                               \
    static void name##_mask(warp *w, const uop *u) { name##_any(w, u, false); }                              \
    static void name##_r_full(warp *w, const uop *u) {                                                       \
        round_begin((int)(u->imm & 0xff));                                                                   \
        name##_any(w, u, true);                                                                              \
        round_end();                                                                                         \
    }                                                                                                        \
    static void name##_r_mask(warp *w, const uop *u) {                                                       \
        round_begin((int)(u->imm & 0xff));                                                                   \
        name##_any(w, u, false);                                                                             \
        round_end();                                                                                         \
    }
#define DFLIP(x) f64_of((x) ^ SIGN64)
DLOOP(dadd, 2, f64_of(x) + f64_of(y))
DLOOP(dsub, 2, f64_of(x) - f64_of(y))
DLOOP(drsub, 2, DFLIP(x) + f64_of(y))
DLOOP(dnadd, 2, DFLIP(x) + DFLIP(y))
DLOOP(dmul, 2, f64_of(x) * f64_of(y))
DLOOP(dnmul, 2, DFLIP(x) * f64_of(y))
DLOOP(dfma, 3, __builtin_fma(f64_of(x), f64_of(y), f64_of(z)))
DLOOP(dfms, 3, __builtin_fma(f64_of(x), f64_of(y), DFLIP(z)))
DLOOP(dnma, 3, __builtin_fma(DFLIP(x), f64_of(y), f64_of(z)))
DLOOP(dnms, 3, __builtin_fma(DFLIP(x), f64_of(y), DFLIP(z)))

// With absolute values: bits 8 and up of imm say for each source whether to clear the sign and to change it.
// NaNs are handed on as they are.
ALWAYS double signed64(uint64_t x, uint32_t how) {
    uint64_t keep = how & 1 ? ~SIGN64 : ~0ull, flip = how & 2 ? SIGN64 : 0;
    return f64_of((x & keep) ^ flip);
}
#define SIGNED(v, n) signed64(v, u->imm >> (8 + 2 * n))
DLOOP(dadd_s, 2, SIGNED(x, 0) + SIGNED(y, 1))
DLOOP(dmul_s, 2, SIGNED(x, 0) * SIGNED(y, 1))
DLOOP(dfma_s, 3, __builtin_fma(SIGNED(x, 0), SIGNED(y, 1), SIGNED(z, 2)))

#define ROUNDINGS(name)                                                                                      \
    {                                                                                                        \
        PAIR(name), { name##_r_full, name##_r_mask }                                                         \
    }
static bool emit_f64(translator *m, const handlers h[2], const handlers s[2], int nsrc) {
    oper o[8] = {m_dst(m, 0, 0), m_dst(m, 0, 1)};
    bool abs = false;
    uint32_t signs = 0;
    for (int n = 0; n < nsrc; n++) {
        o[2 * n + 2] = m_src(m, 1 + n, 0);
        o[2 * n + 3] = m_src(m, 1 + n, 1);
        abs |= abs_of(m, 1 + n);
        signs |= ((uint32_t)abs_of(m, 1 + n) | (uint32_t)neg(m, 1 + n) << 1) << (8 + 2 * n);
    }
    uint8_t round = m_round(m);
    m_emit(m, (abs ? s : h)[round != ORR_RND_RN], 2, 2 * nsrc, o)->imm = round | signs;
    return true;
}
static bool dadd(translator *m) {
    static const handlers h[2][2][2] = {{ROUNDINGS(dadd), ROUNDINGS(dsub)},
                                        {ROUNDINGS(drsub), ROUNDINGS(dnadd)}};
    static const handlers s[2] = ROUNDINGS(dadd_s);
    return emit_f64(m, h[neg(m, 1)][neg(m, 2)], s, 2);
}
static bool dmul(translator *m) {
    static const handlers h[2][2] = {ROUNDINGS(dmul), ROUNDINGS(dnmul)};
    static const handlers s[2] = ROUNDINGS(dmul_s);
    return emit_f64(m, h[neg(m, 1) != neg(m, 2)], s, 2);
}
static bool dfma(translator *m) {
    static const handlers h[2][2][2] = {{ROUNDINGS(dfma), ROUNDINGS(dfms)},
                                        {ROUNDINGS(dnma), ROUNDINGS(dnms)}};
    static const handlers s[2] = ROUNDINGS(dfma_s);
    return emit_f64(m, h[neg(m, 1) != neg(m, 2)][neg(m, 3)], s, 3);
}

// DSETP.MIN: P0 where min(a, b) is a, and P1 where both are NaNs: the compiler then takes b, made quiet.
static void dsetp_extreme(warp *w, const uop *u) {
    const uint64_t *a = SRC_A(w, u, uint64_t), *b = SRC_B(w, u, uint64_t);
    uint32_t take = 0, none = 0;
    bool max = u->imm & 1;
    for (int i = 0; i < ORR_WARP; i++) {
        double x = f64_of(a[i]), y = f64_of(b[i]);
        bool less = x < y || (x == y && (a[i] & SIGN64) > (b[i] & SIGN64)); // -0 < 0
        bool more = x > y || (x == y && (a[i] & SIGN64) < (b[i] & SIGN64));
        take |= (uint32_t)(x == x && (y != y || (max ? more : less))) << i;
        none |= (uint32_t)(x != x && y != y) << i;
    }
    uint32_t c = pred_of(w, u->c);
    int op = (int)(u->imm >> 1);
    set_pred(w, u->all[0], op == ORR_BOOL_OR ? take | c : op == ORR_BOOL_XOR ? take ^ c : take & c);
    set_pred(w, u->all[1], op == ORR_BOOL_OR ? none | c : op == ORR_BOOL_XOR ? none ^ c : none & c);
}
static bool dsetp(translator *m) {
    unsigned which = m_mod(m, ORR_SM_DCMP);
    oper p = m_pdst(m, 0), q = m_pdst(m, 1), a = m_wide(m, 2, AS_F64), b = m_wide(m, 3, AS_F64);
    oper ps = m_psrc(m, 4);
    uint8_t boolop = m_bool(m);
    if (which == ORR_SV_DCMP_MIN || which == ORR_SV_DCMP_MAX) {
        m_emit(m, BOTH(dsetp_extreme), 2, 3, OPERS(p, q, a, b, ps))->imm =
            (which == ORR_SV_DCMP_MAX) | (uint32_t)boolop << 1;
        return true;
    }
    orr_inst like = {
        .op = ORR_OP_SETP, .type = ORR_T_F64, .cmp = (uint8_t)m_compare(which), .boolop = boolop};
    return m_ptx(m, like, 2, 3, OPERS(p, q, a, b, ps));
}

bool orr_sass_float(translator *m) {
    switch (m->c->op) {
    case ORR_SASS_FADD:
    case ORR_SASS_UFADD: return fadd(m);
    case ORR_SASS_FMUL:
    case ORR_SASS_UFMUL: return fmul(m);
    case ORR_SASS_FFMA:
    case ORR_SASS_UFFMA: return ffma(m);
    case ORR_SASS_FADD2: return pairs(m, ORR_OP_ADD, 2);
    case ORR_SASS_FMUL2: return pairs(m, ORR_OP_MUL, 2);
    case ORR_SASS_FFMA2: return pairs(m, ORR_OP_FMA, 3);
    case ORR_SASS_FSEL:
    case ORR_SASS_UFSEL: return fsel(m);
    case ORR_SASS_FMNMX:
    case ORR_SASS_UFMNMX: return fmnmx(m, 2);
    case ORR_SASS_FMNMX3: return fmnmx(m, 3);
    case ORR_SASS_FSETP:
    case ORR_SASS_UFSETP: return fsetp(m);
    case ORR_SASS_FSET:
    case ORR_SASS_UFSET: return fset(m);
    case ORR_SASS_FCHK:
        m_emit(m, BOTH(fchk), 1, 2, OPERS(m_pdst(m, 0), m_val(m, 1, AS_F32), m_val(m, 2, AS_F32)));
        return true;
    case ORR_SASS_FSWZADD:
        m_emit(m, BOTH(fswzadd), 1, 2, OPERS(m_dst(m, 0, 0), m_src(m, 1, 0), m_src(m, 2, 0)))->imm =
            ((uint32_t)arg(m, 3)->value & 0xff) | (uint32_t)m_round(m) << 8 |
            (uint32_t)(m_mod(m, ORR_SM_FTZ) != 0) << 16;
        return true;
    case ORR_SASS_MUFU: return mufu(m);
    case ORR_SASS_DADD: return dadd(m);
    case ORR_SASS_DMUL: return dmul(m);
    case ORR_SASS_DFMA: return dfma(m);
    case ORR_SASS_DSETP: return dsetp(m);
    default: return orr_sass_half(m) || (!m->why && orr_sass_convert(m));
    }
}

// What compiled blocks do instead (lanewise.h).
LANEWISE(orr_lanes_sass_float, {fadd_full, LANE_FADD, 0}, {fsub_full, LANE_FADD, 1},
         {fmul_full, LANE_FMUL, 0}, {fnmul_full, LANE_FMUL, 1}, {ffma_full, LANE_FFMA, 0},
         {ffms_full, LANE_FFMA, 2}, {fnma_full, LANE_FFMA, 1}, {fnms_full, LANE_FFMA, 3})
