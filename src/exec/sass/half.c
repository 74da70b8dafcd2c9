// Machine code: half precision, two numbers in a register: f16, and bf16 (.BF16_V2).
//
// What computes is half.c's, through m_ptx; which halves of a register an operand is (.H0_H0) and its signs
// are applied before (m_val). HFMA2.MMA computes what HFMA2 does, on another pipe.
#include "exec/sass/float.h"
#include "exec/ops/softfp.h"

#define BOTH(name) ((handlers){name, name})

static const orr_arg *arg(const translator *m, int n) { return &m->c->args[n]; }

LOOP1(lower_twice, 32, 32, (x & 0xffff) | x << 16)
LOOP1(upper_twice, 32, 32, x >> 16 | (x & 0xffff0000))

// The operand with halves and signs applied. R2.F32 is cut to a half: with it sm_75 does cvt.rz.f16.f32.
static oper halves(translator *m, int n) {
    const orr_arg *a = arg(m, n);
    if (a->sub == ORR_SM_SWZ && a->subval == ORR_SV_SWZ_H0_NH1)
        m->why = "its selection of halves is not known";
    if (a->sub != ORR_SM_SWZ || a->subval != ORR_SV_SWZ_F32) return m_val(m, n, AS_F16X2);
    oper t = m_tmp(m, ORR_W), d = m_tmp(m, ORR_W);
    orr_inst like = {.op = ORR_OP_CVT, .type = ORR_T_F16, .stype = ORR_T_F32, .round = ORR_RND_RZ};
    if (m_mod(m, ORR_SM_HFMT) != ORR_SV_HFMT_F16) m->why = "its selection of halves is not known";
    m_ptx(m, like, 1, 1, OPERS(t, m_val(m, n, AS_F32)));
    m_emit(m, PAIR(lower_twice), 1, 1, OPERS(d, t));
    return d;
}

// Type and modifiers of an operation on pairs. False: one that is not executed.
static bool pair_type(translator *m, orr_inst *like) {
    unsigned fmt = m_mod(m, ORR_SM_HFMT), d = m_mod(m, ORR_SM_DENORM);
    if (fmt != ORR_SV_HFMT_F16 && fmt != ORR_SV_HFMT_BF16) {
        m->why = "its format is not known";
        return false;
    }
    if (d == ORR_SV_DENORM_FMZ) {
        m->why = "its mode of flushing is not known";
        return false;
    }
    like->type = fmt == ORR_SV_HFMT_BF16 ? ORR_T_BF16X2 : ORR_T_F16X2;
    if (d == ORR_SV_DENORM_FTZ || m_mod(m, ORR_SM_FTZ)) like->mods |= ORR_M_FTZ;
    if (d == ORR_SV_DENORM_OOB) like->mods |= ORR_M_OOB;
    if (m_mod(m, ORR_SM_SAT)) like->mods |= ORR_M_SAT;
    if (m_mod(m, ORR_SM_RELU)) like->mods |= ORR_M_RELU;
    if (m_mod(m, ORR_SM_NAN)) like->mods |= ORR_M_NAN;
    if (m_mod(m, ORR_SM_XORSIGN)) like->mods |= ORR_M_XORSIGN;
    return true;
}

// ---- HADD2.F32: the sum of two halves, as single precision -------------------------------------
// Nearly always -0 + x: a conversion.
ALWAYS uint32_t widened(uint32_t h) { return pick32((h & 0x7fff) > 0x7c00, NAN32, f32_from_f16(h)); }
LOOP1(widen_lower, 32, 32, widened(x & 0xffff))
LOOP1(widen_upper, 32, 32, widened(x >> 16))
LOOP2(widen_sum, 32, out32(f32_of(f32_from_f16(x & 0xffff)) + f32_of(f32_from_f16(y & 0xffff)), 0, 0))
LOOP2(widen_sum_sat, 32, out32(f32_of(f32_from_f16(x & 0xffff)) + f32_of(f32_from_f16(y & 0xffff)), 0, 1))

static bool widen(translator *m) {
    const orr_arg *a = arg(m, 1), *b = arg(m, 2);
    bool sat = m_mod(m, ORR_SM_SAT), zero = m_zero(m, 1) && (a->flags & ORR_ARG_NEG);
    if (zero && !sat && b->kind == ORR_ARG_R && !(b->flags & (ORR_ARG_NEG | ORR_ARG_ABS)) && !m_zero(m, 2)) {
        bool upper = b->sub == ORR_SM_SWZ && b->subval == ORR_SV_SWZ_H1_H1;
        m_emit(m, upper ? PAIR(widen_upper) : PAIR(widen_lower), 1, 1, OPERS(m_dst(m, 0, 0), m_src(m, 2, 0)));
        return true;
    }
    m_emit(m, sat ? PAIR(widen_sum_sat) : PAIR(widen_sum), 1, 2,
           OPERS(m_dst(m, 0, 0), halves(m, 1), halves(m, 2)));
    return true;
}

// ---- arithmetic -----------------------------------------------------------------------------
static bool arithmetic(translator *m, uint16_t op) {
    orr_inst like = {.op = op};
    if (op == ORR_OP_ADD && m_mod(m, ORR_SM_HFMT) == ORR_SV_HFMT_F32) return widen(m);
    if (!pair_type(m, &like)) return false;
    return m_ptx(m, like, 1, 2, OPERS(m_dst(m, 0, 0), halves(m, 1), halves(m, 2)));
}

static bool has_nan(uint32_t v, uint32_t inf) { return (v & 0x7fff) > inf || (v >> 16 & 0x7fff) > inf; }

static bool multiply_add(translator *m) {
    orr_inst like = {.op = ORR_OP_FMA};
    if (!pair_type(m, &like)) return false;
    if ((like.mods & ORR_M_RELU) && m_fixed(m, 4) != 1) { // without .RELU nothing is there
        m->why = "what its predicate does is not known";
        return false;
    }
    const orr_arg *a = arg(m, 1), *b = arg(m, 2), *c = arg(m, 3);
    // HFMA2.MMA R0, -RZ, RZ, 1, 2: -0 + c, a way to load a constant
    bool minus = ((a->flags ^ b->flags) & ORR_ARG_NEG) != 0;
    bool constant = c->kind == ORR_ARG_F16X2 || c->kind == ORR_ARG_BF16X2;
    uint32_t inf = like.type == ORR_T_BF16X2 ? 0x7f80 : 0x7c00;
    if (!like.mods && minus && m_zero(m, 1) && m_zero(m, 2) && constant && !has_nan((uint32_t)c->value, inf))
        return m_ptx(m, (orr_inst){.op = ORR_OP_MOV, .type = ORR_T_B32}, 1, 1,
                     OPERS(m_dst(m, 0, 0), halves(m, 3)));
    return m_ptx(m, like, 1, 3, OPERS(m_dst(m, 0, 0), halves(m, 1), halves(m, 2), halves(m, 3)));
}

// The halves of |x| without the absolute value: PTX's .xorsign.abs takes magnitudes itself, and signs before
// that.
static oper halves_with_signs(translator *m, int n) {
    const orr_arg *a = arg(m, n);
    oper o = m_src(m, n, 0), t = m_tmp(m, ORR_W);
    if ((a->flags & (ORR_ARG_ABS | ORR_ARG_NEG)) != ORR_ARG_ABS)
        m->why = "it joins signs of numbers with signs";
    if (a->sub != ORR_SM_SWZ || a->subval == ORR_SV_SWZ_H1_H0) return o;
    m_emit(m, a->subval == ORR_SV_SWZ_H1_H1 ? PAIR(upper_twice) : PAIR(lower_twice), 1, 1, OPERS(t, o));
    return t;
}

static bool minmax(translator *m) {
    orr_inst like = {0};
    if (!pair_type(m, &like)) return false;
    bool signs = like.mods & ORR_M_XORSIGN;
    oper o[2];
    for (int n = 0; n < 2; n++) o[n] = signs ? halves_with_signs(m, n + 1) : halves(m, n + 1);
    return m_minmax(m, like, 2, 3, o);
}

// ---- comparison -----------------------------------------------------------------------------
static bool comparison(translator *m, orr_inst *like) {
    int cmp = m_compare(m_mod(m, ORR_SM_FCMP));
    if (cmp < 0) {
        m->why = "it compares nothing";
        return false;
    }
    like->cmp = (uint8_t)cmp;
    like->boolop = m_bool(m);
    return pair_type(m, like);
}

static bool set(translator *m) { // .BF: 1.0 or 0, else all ones or 0
    orr_inst like = {.op = ORR_OP_SET};
    if (!comparison(m, &like)) return false;
    like.stype = like.type;
    if (!m_mod(m, ORR_SM_BF)) like.type = ORR_T_U32;
    return m_ptx(m, like, 1, 3, OPERS(m_dst(m, 0, 0), halves(m, 1), halves(m, 2), m_psrc(m, 3)));
}

static uint32_t combined(uint32_t v, uint32_t boolop, uint32_t c) {
    return boolop == ORR_BOOL_OR ? v | c : boolop == ORR_BOOL_XOR ? v ^ c : v & c;
}
static void both_halves(warp *w, const uop *u) {
    uint32_t v = pred_of(w, u->a) & pred_of(w, u->b), c = pred_of(w, u->c);
    set_pred(w, u->all[0], combined(v, u->imm, c));
    set_pred(w, u->all[1], combined(~v, u->imm, c));
}
// The first predicate is the lower half's and the second the upper half's; with .H_AND the first is for both
// halves and the second its opposite.
static bool setp(translator *m) {
    orr_inst like = {.op = ORR_OP_SETP};
    if (!comparison(m, &like)) return false;
    oper a = halves(m, 2), b = halves(m, 3), p = m_pdst(m, 0), q = m_pdst(m, 1), ps = m_psrc(m, 4);
    if (!m_mod(m, ORR_SM_H_AND)) return m_ptx(m, like, 2, 3, OPERS(p, q, a, b, ps));
    uint8_t boolop = like.boolop;
    like.boolop = ORR_BOOL_NONE;
    oper lower = m_tmp(m, ORR_P), upper = m_tmp(m, ORR_P);
    if (!m_ptx(m, like, 2, 2, OPERS(lower, upper, a, b))) return false;
    m_emit(m, BOTH(both_halves), 2, 3, OPERS(p, q, lower, upper, ps))->imm = boolop;
    return true;
}

bool orr_sass_half(translator *m) {
    switch (m->c->op) {
    case ORR_SASS_HADD2: return arithmetic(m, ORR_OP_ADD);
    case ORR_SASS_HMUL2: return arithmetic(m, ORR_OP_MUL);
    case ORR_SASS_HFMA2: return multiply_add(m);
    case ORR_SASS_HMNMX2: return minmax(m);
    case ORR_SASS_HSET2: return set(m);
    case ORR_SASS_HSETP2: return setp(m);
    default: return false;
    }
}
