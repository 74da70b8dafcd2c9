// Machine code: conversions between and within floats and integers.
//
// What computes is cvt.c's, through m_ptx. A number of 16 or 8 bits is in the lower part of its register, or
// in the part the operand names (.H1, .B2); results of 16 bits are in the lower half, with zeros above.
#include "exec/sass/float.h"
#include "exec/ops/softfp.h"

#define BOTH(name) ((handlers){name, name})

static const orr_arg *arg(const translator *m, int n) { return &m->c->args[n]; }

static uint8_t float_type(translator *m, unsigned fmt) {
    switch (fmt) {
    case ORR_SV_FFMT_F16: return ORR_T_F16;
    case ORR_SV_FFMT_F32: return ORR_T_F32;
    case ORR_SV_FFMT_F64: return ORR_T_F64;
    case ORR_SV_FFMT_BF16: return ORR_T_BF16;
    case ORR_SV_FFMT_TF32: return ORR_T_TF32;
    default: m->why = "its format is not known"; return ORR_T_F32;
    }
}
static uint8_t int_type(unsigned fmt) {
    static const uint8_t type[8] = {ORR_T_U8,  ORR_T_S8,  ORR_T_U16, ORR_T_S16,
                                    ORR_T_U32, ORR_T_S32, ORR_T_U64, ORR_T_S64};
    return type[fmt & 7];
}
static uint8_t int_round(const translator *m) {
    static const uint8_t round[4] = {ORR_RND_RNI, ORR_RND_RMI, ORR_RND_RPI, ORR_RND_RZI};
    return round[m_mod(m, ORR_SM_IRND) & 3];
}
static bool is_64(uint8_t type) { return type == ORR_T_F64 || type == ORR_T_U64 || type == ORR_T_S64; }

LOOP2(shifted, 32, x >> (y & 31))
static oper part(translator *m, int n, oper o, unsigned bits) { // the part of a register the operand names
    const orr_arg *a = arg(m, n);
    if (!a->sub || !a->subval) return o;
    oper t = m_tmp(m, ORR_W);
    m_emit(m, PAIR(shifted), 1, 2, OPERS(t, o, m_imm(m, ORR_W, bits * a->subval)));
    return t;
}

static oper float_source(translator *m, int n, uint8_t type) {
    if (type == ORR_T_F64) return m_wide(m, n, AS_F64);
    if (type == ORR_T_F16 || type == ORR_T_BF16) return part(m, n, m_val(m, n, AS_F16X2), 16);
    return m_val(m, n, AS_F32);
}
static oper int_source(translator *m, int n, uint8_t type) {
    if (is_64(type)) return m_wide(m, n, AS_INT64);
    return part(m, n, m_val(m, n, AS_INT), type == ORR_T_U8 || type == ORR_T_S8 ? 8 : 16);
}

// Emits `like` from one source to argument 0, a register or a pair.
static bool convert(translator *m, orr_inst like, oper source) {
    like.op = ORR_OP_CVT;
    if (m_mod(m, ORR_SM_FTZ)) like.mods |= ORR_M_FTZ;
    oper lo = m_dst(m, 0, 0);
    if (!is_64(like.type)) return m_ptx(m, like, 1, 1, OPERS(lo, source));
    oper t = m_tmp(m, ORR_D);
    if (!m_ptx(m, like, 1, 1, OPERS(t, source))) return false;
    m_unpack(m, lo, m_dst(m, 0, 1), t);
    return true;
}

static bool f2f(translator *m) {
    orr_inst like = {.type = float_type(m, m_mod(m, ORR_SM_DFMT)),
                     .stype = float_type(m, m_mod(m, ORR_SM_SFMT))};
    like.round = m_round(m);
    return convert(m, like, float_source(m, 1, like.stype));
}

static bool frnd(translator *m) {
    uint8_t type = float_type(m, m_mod(m, ORR_SM_SFMT));
    orr_inst like = {.type = type, .stype = type, .round = int_round(m)};
    return convert(m, like, float_source(m, 1, type));
}

static bool i2f(translator *m) {
    orr_inst like = {.type = float_type(m, m_mod(m, ORR_SM_DFMT)), .stype = int_type(m_mod(m, ORR_SM_SINT))};
    like.round = m_round(m);
    return convert(m, like, int_source(m, 1, like.stype));
}

// What is not a number becomes 0 with .NTZ, else 2^31 (2^63). PTX's rule is the former for 32 bits and the
// latter when either type has 64, which is what the compiler asks for; the other two are put right here.
static bool f2i(translator *m) {
    orr_inst like = {.type = int_type(m_mod(m, ORR_SM_DINT)), .stype = float_type(m, m_mod(m, ORR_SM_SFMT))};
    like.round = int_round(m);
    bool zero = m_mod(m, ORR_SM_NTZ), ptx_zero = !is_64(like.type) && !is_64(like.stype);
    oper source = float_source(m, 1, like.stype);
    if (zero == ptx_zero) return convert(m, like, source);
    if ((like.stype != ORR_T_F32 && like.stype != ORR_T_F64) || orr_types[like.type].bytes < 4) {
        m->why = "what it makes of a NaN is not known";
        return false;
    }
    bool wide = is_64(like.type);
    int cls = wide ? ORR_D : ORR_W;
    oper p = m_tmp(m, ORR_P), t = m_tmp(m, cls), d = wide ? m_tmp(m, cls) : m_dst(m, 0, 0);
    uint64_t nan = zero ? 0 : wide ? 1ull << 63 : 1u << 31;
    like.op = ORR_OP_CVT;
    if (m_mod(m, ORR_SM_FTZ)) like.mods |= ORR_M_FTZ;
    if (!m_ptx(m, like, 1, 1, OPERS(t, source)) ||
        !m_ptx(m, (orr_inst){.op = ORR_OP_SETP, .type = like.stype, .cmp = ORR_CMP_NAN}, 1, 2,
               OPERS(p, source, source)) ||
        !m_ptx(m, (orr_inst){.op = ORR_OP_SELP, .type = wide ? ORR_T_B64 : ORR_T_B32}, 1, 3,
               OPERS(d, m_imm(m, cls, nan), t, p)))
        return false;
    if (wide) m_unpack(m, m_dst(m, 0, 0), m_dst(m, 0, 1), d);
    return true;
}

static bool i2i(translator *m) {
    orr_inst like = {.type = int_type(m_mod(m, ORR_SM_NARROW) & 3), .stype = ORR_T_S32, .mods = ORR_M_SAT};
    return convert(m, like, m_val(m, 1, AS_INT));
}

// ---- several in one -------------------------------------------------------------------------
static bool i2ip(translator *m) {
    static const uint8_t type[8] = {ORR_T_U8, ORR_T_S8, ORR_T_U16, ORR_T_S16,
                                    ORR_T_U4, ORR_T_S4, ORR_T_U4,  ORR_T_S4};
    static const uint8_t bits[8] = {8, 8, 16, 16, 2, 2, 4, 4};
    unsigned n = m_mod(m, ORR_SM_NARROW) & 7;
    bool half = arg(m, 3)->subval; // of two bits each it is always there, and what is above them is all of c
    if (m_mod(m, ORR_SM_SATI) != ORR_SV_SATI_SAT || (half && bits[n] != 2)) {
        m->why = "this form of packing is not known";
        return false;
    }
    return m_ptx(m, (orr_inst){.op = ORR_OP_CVTPACK, .type = type[n], .stype = ORR_T_S32, .imm = bits[n]}, 1,
                 3, OPERS(m_dst(m, 0, 0), m_val(m, 1, AS_INT), m_val(m, 2, AS_INT), m_val(m, 3, AS_INT)));
}

// F2IP: a above b, both clamped, and a half of c above them when they are bytes. imm: the type, rounding <<
// 8, NaN to zero << 16, RELU << 17.
static uint32_t clamped_int(float f, uint32_t how) {
    uint8_t type = how & 0xff, round = how >> 8 & 0xff;
    bool sign = type == ORR_T_S8 || type == ORR_T_S16, byte = type == ORR_T_U8 || type == ORR_T_S8;
    float max = (byte ? 256.0f : 65536.0f) / (sign ? 2 : 1) - 1, min = sign ? -max - 1 : 0;
    if (how & 1 << 17 && min < 0) min = 0;
    if (f != f) return how & 1 << 16 ? 0 : byte ? 0x80 : 0x8000;
    f = round == ORR_RND_RNI   ? __builtin_rintf(f)
        : round == ORR_RND_RMI ? __builtin_floorf(f)
        : round == ORR_RND_RPI ? __builtin_ceilf(f)
                               : __builtin_truncf(f);
    f = f < min ? min : f > max ? max : f;
    return (uint32_t)(int32_t)f & (byte ? 0xff : 0xffff);
}
static void f2ip_lanes(warp *w, const uop *u) {
    set_exec(w, w->exec); // a full warp leaves `lane` as it was
    uint32_t *d = DST(w, u, uint32_t);
    const uint32_t *a = SRC_A(w, u, uint32_t), *b = SRC_B(w, u, uint32_t), *c = SRC_C(w, u, uint32_t);
    bool byte = (u->imm & 0xff) == ORR_T_U8 || (u->imm & 0xff) == ORR_T_S8;
    for (int i = 0; i < ORR_WARP; i++) {
        uint32_t hi = clamped_int(f32_of(a[i]), u->imm), lo = clamped_int(f32_of(b[i]), u->imm);
        d[i] = keep32(w->lane[i], byte ? c[i] << 16 | hi << 8 | lo : hi << 16 | lo, d[i]);
    }
}
static bool f2ip(translator *m) {
    oper c = part(m, 3, m_val(m, 3, AS_BITS), 16);
    m_emit(m, BOTH(f2ip_lanes), 1, 3, OPERS(m_dst(m, 0, 0), m_val(m, 1, AS_F32), m_val(m, 2, AS_F32), c))
        ->imm = int_type(m_mod(m, ORR_SM_NARROW) & 3) | (uint32_t)int_round(m) << 8 |
                (uint32_t)(m_mod(m, ORR_SM_NTZ) != 0) << 16 | (uint32_t)(m_mod(m, ORR_SM_RELU) != 0) << 17;
    return true;
}

// F2FP. PACK_AB: a above b. UNPACK_B: two of 8 bits in a half of b. PACK_B: b alone. MERGE_C: the result is
// the lower half, and a half of c the upper one.
LOOP2(merged, 32, y << 16 | (x & 0xffff))
static bool f2fp(translator *m) {
    static const uint8_t narrow[8] = {ORR_T_F16X2,  ORR_T_BF16X2, 0, ORR_T_TF32,
                                      ORR_T_E5M2X2, ORR_T_E4M3X2, 0, 0};
    unsigned pack = m_mod(m, ORR_SM_PACK), from = m_mod(m, ORR_SM_SF8);
    orr_inst like = {.op = ORR_OP_CVT, .type = narrow[m_mod(m, ORR_SM_DF8) & 7], .round = m_round(m)};
    if (m_mod(m, ORR_SM_RELU)) like.mods |= ORR_M_RELU;
    if (m_mod(m, ORR_SM_SATFINITE)) like.mods |= ORR_M_SATFINITE;
    bool merge = pack == ORR_SV_PACK_MERGE_C || pack == ORR_SV_PACK_UNPACK_B_MERGE_C ||
                 pack == ORR_SV_PACK_PACK_AB_MERGE_C;
    bool two = pack == ORR_SV_PACK_PACK_AB || pack == ORR_SV_PACK_PACK_AB_MERGE_C;
    oper b = m_val(m, 2, AS_BITS), d = m_dst(m, 0, 0), t = merge ? m_tmp(m, ORR_W) : d;
    if (from == ORR_SV_SF8_F32) {
        like.stype = ORR_T_F32;
        if (!two && like.type == ORR_T_F16X2) like.type = ORR_T_F16;
        if (!two && like.type == ORR_T_BF16X2) like.type = ORR_T_BF16;
    } else {
        like.stype = from == ORR_SV_SF8_F16    ? ORR_T_F16X2
                     : from == ORR_SV_SF8_E5M2 ? ORR_T_E5M2X2
                                               : ORR_T_E4M3X2;
        if (two) like.type = 0;
        b = part(m, 2, b, 16);
    }
    if (!like.type) {
        m->why = "this form of packing is not known";
        return false;
    }
    if (!m_ptx(m, like, 1, two ? 2 : 1, two ? OPERS(t, m_val(m, 1, AS_BITS), b) : OPERS(t, b))) return false;
    if (merge) m_emit(m, PAIR(merged), 1, 2, OPERS(d, t, part(m, 3, m_val(m, 3, AS_BITS), 16)));
    return true;
}

bool orr_sass_convert(translator *m) {
    switch (m->c->op) {
    case ORR_SASS_F2F:
    case ORR_SASS_UF2F: return f2f(m);
    case ORR_SASS_F2I:
    case ORR_SASS_UF2I: return f2i(m);
    case ORR_SASS_FRND:
    case ORR_SASS_UFRND: return frnd(m);
    case ORR_SASS_I2F:
    case ORR_SASS_UI2F:
    case ORR_SASS_I2FP:
    case ORR_SASS_UI2FP: return i2f(m);
    case ORR_SASS_I2I: return i2i(m);
    case ORR_SASS_I2IP: return i2ip(m);
    case ORR_SASS_F2IP: return f2ip(m);
    case ORR_SASS_F2FP: return f2fp(m);
    default: return false;
    }
}
