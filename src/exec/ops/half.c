// Arithmetic and comparison of f16 and bf16, single and in pairs.
//
// The operands are widened, the operation is done in a wider format in which its result is exact or
// marked as inexact (round to odd), and rounded once to the narrow format:
//   f16  add, mul: in f32. 24 bits are at least 2 * 11 + 2, so rounding twice is rounding once.
//   f16  fma: the product has 22 bits and is exact in f32; the sum is rounded to odd in f32.
//   bf16 the same in f64, whose exponents hold every product.
// PTX knows no other rounding than to nearest for these.
#include "exec/ops/softfp.h"

// ---- one element ----------------------------------------------------------------------------
ALWAYS uint32_t flush_f16(uint32_t h) { return h & (mask32((h & 0x7c00) != 0) | 0x8000); }
ALWAYS float from_f16(uint32_t h, int ftz) { return f32_of(f32_from_f16(ftz ? flush_f16(h) : h)); }
ALWAYS double from_bf16(uint32_t h) { return f32_of(f32_from_bf16(h)); }

enum { PLAIN = 0, FTZ = 1, SAT = 2, RELU = 4 };
ALWAYS uint32_t out_f16(float r, int mode) {
    uint32_t x = bits32(r);
    if (mode & SAT) x = sat32(r);
    if (mode & RELU) x &= mask32((r > 0) | (r != r)); // below zero: +0; not a number stays
    // below 2^-14 when rounded to 11 bits with an unbounded exponent: subnormal (see tiny32)
    if (mode & FTZ) x = pick32((x & 0x7fffffff) < 0x387ff000, x & 0x80000000, x);
    return f16_from_f32(x);
}
ALWAYS uint32_t out_bf16(double r, int mode) {
    uint64_t x = bits64(r);
    if (mode & SAT) x = sat64(r);
    if (mode & RELU) x &= mask64((r > 0) | (r != r));
    return bf16_from_f64(x);
}
#define G(x) from_f16(x, mode &FTZ)
ALWAYS uint32_t add_f16(uint32_t x, uint32_t y, int mode) { return out_f16(G(x) + G(y), mode); }
ALWAYS uint32_t sub_f16(uint32_t x, uint32_t y, int mode) { return out_f16(G(x) - G(y), mode); }
ALWAYS uint32_t mul_f16(uint32_t x, uint32_t y, int mode) { return out_f16(G(x) * G(y), mode); }
ALWAYS uint32_t fma_f16(uint32_t x, uint32_t y, uint32_t z, int mode) {
    return out_f16(add_odd32(G(x) * G(y), G(z)), mode);
}
#undef G
#define G(x) from_bf16(x)
ALWAYS uint32_t add_bf16(uint32_t x, uint32_t y, int mode) { return out_bf16(add_odd64(G(x), G(y)), mode); }
ALWAYS uint32_t sub_bf16(uint32_t x, uint32_t y, int mode) { return out_bf16(add_odd64(G(x), -G(y)), mode); }
ALWAYS uint32_t mul_bf16(uint32_t x, uint32_t y, int mode) { return out_bf16(G(x) * G(y), mode); }
ALWAYS uint32_t fma_bf16(uint32_t x, uint32_t y, uint32_t z, int mode) {
    return out_bf16(add_odd64(G(x) * G(y), G(z)), mode);
}
#undef G
// fma.oob: a factor that is the NaN the tensor copy fills in for "out of bounds" makes the result +0.
// The manual does not say which NaN; 0xfff7 is what an H200 answers so.
ALWAYS uint32_t oob(uint32_t x, uint32_t y, uint32_t r) { return mask32((x != 0xfff7) & (y != 0xfff7)) & r; }

// min and max: which of the two it is does not change by widening
#define WIDE(t, v, mode) ((mode)&FTZ ? f32_from_##t(flush_##t(v)) : f32_from_##t(v))
#define flush_bf16(v)    (v)
#define EXTREME(op, t)                                                                                       \
    ALWAYS uint32_t op##_##t(uint32_t x, uint32_t y, int mode, int nan) {                                    \
        uint32_t r = op##32(WIDE(t, x, mode), WIDE(t, y, mode), 0, nan);                                     \
        return t##_from_f32(r);                                                                              \
    }                                                                                                        \
    ALWAYS uint32_t op##_##t##_xs(uint32_t x, uint32_t y, int mode, int nan) {                               \
        uint32_t r = op##_##t(x & 0x7fff, y & 0x7fff, mode, nan);                                            \
        return pick32(r == NAN16, NAN16, r | ((x ^ y) & 0x8000));                                            \
    }
EXTREME(min, f16)
EXTREME(max, f16)
EXTREME(min, bf16)
EXTREME(max, bf16)

// ---- loops: an element, or a pair in 32 bits --------------------------------------------------
#define L(v) ((v)&0xffff)
#define H(v) ((v) >> 16)
#define BOTH1(name, fn, ...)                                                                                 \
    LOOP1(name, 16, 16, fn(x, __VA_ARGS__))                                                                  \
    LOOP1(name##x2, 32, 32, fn(L(x), __VA_ARGS__) | fn(H(x), __VA_ARGS__) << 16)
#define BOTH2(name, fn, ...)                                                                                 \
    LOOP2(name, 16, fn(x, y, __VA_ARGS__))                                                                   \
    LOOP2(name##x2, 32, fn(L(x), L(y), __VA_ARGS__) | fn(H(x), H(y), __VA_ARGS__) << 16)
#define BOTH3(name, fn, ...)                                                                                 \
    LOOP3(name, 16, fn(x, y, z, __VA_ARGS__))                                                                \
    LOOP3(name##x2, 32, fn(L(x), L(y), L(z), __VA_ARGS__) | fn(H(x), H(y), H(z), __VA_ARGS__) << 16)

#define ARITH(t, v, mode)                                                                                    \
    BOTH2(add_##t##v, add_##t, mode)                                                                         \
    BOTH2(sub_##t##v, sub_##t, mode)                                                                         \
    BOTH2(mul_##t##v, mul_##t, mode)                                                                         \
    BOTH3(fma_##t##v, fma_##t, mode)
ARITH(f16, , PLAIN)
ARITH(f16, _ftz, FTZ)
ARITH(f16, _sat, SAT)
ARITH(f16, _ftz_sat, FTZ | SAT)
ARITH(bf16, , PLAIN)
BOTH3(fma_f16_relu, fma_f16, RELU)
BOTH3(fma_f16_ftz_relu, fma_f16, FTZ | RELU)
BOTH3(fma_bf16_relu, fma_bf16, RELU)

ALWAYS uint32_t fma_oob_f16(uint32_t x, uint32_t y, uint32_t z, int mode) {
    return oob(x, y, fma_f16(x, y, z, mode));
}
ALWAYS uint32_t fma_oob_bf16(uint32_t x, uint32_t y, uint32_t z, int mode) {
    return oob(x, y, fma_bf16(x, y, z, mode));
}
BOTH3(fma_f16_oob, fma_oob_f16, PLAIN)
BOTH3(fma_f16_oob_relu, fma_oob_f16, RELU)
BOTH3(fma_bf16_oob, fma_oob_bf16, PLAIN)
BOTH3(fma_bf16_oob_relu, fma_oob_bf16, RELU)

#define NAN_HALF(x, inf) (((x)&0x7fffu) > (inf))
ALWAYS uint32_t abs_half(uint32_t x, uint32_t inf, int ftz) {
    return pick32(NAN_HALF(x, inf), NAN16, (ftz ? flush_f16(x) : x) & 0x7fff);
}
ALWAYS uint32_t neg_half(uint32_t x, uint32_t inf, int ftz) {
    return pick32(NAN_HALF(x, inf), NAN16, (ftz ? flush_f16(x) : x) ^ 0x8000);
}
BOTH1(abs_f16, abs_half, 0x7c00, 0)
BOTH1(abs_f16_ftz, abs_half, 0x7c00, 1)
BOTH1(abs_bf16, abs_half, 0x7f80, 0)
BOTH1(neg_f16, neg_half, 0x7c00, 0)
BOTH1(neg_f16_ftz, neg_half, 0x7c00, 1)
BOTH1(neg_bf16, neg_half, 0x7f80, 0)

#define EXTREMES(t, v, mode)                                                                                 \
    BOTH2(min_##t##v, min_##t, mode, 0)                                                                      \
    BOTH2(max_##t##v, max_##t, mode, 0)                                                                      \
    BOTH2(min_##t##_n##v, min_##t, mode, 1)                                                                  \
    BOTH2(max_##t##_n##v, max_##t, mode, 1)                                                                  \
    BOTH2(min_##t##_x##v, min_##t##_xs, mode, 0)                                                             \
    BOTH2(max_##t##_x##v, max_##t##_xs, mode, 0)                                                             \
    BOTH2(min_##t##_nx##v, min_##t##_xs, mode, 1)                                                            \
    BOTH2(max_##t##_nx##v, max_##t##_xs, mode, 1)
EXTREMES(f16, , PLAIN)
EXTREMES(f16, _ftz, FTZ)
EXTREMES(bf16, , PLAIN)

// ---- comparison -----------------------------------------------------------------------------
static int compared_type(const orr_inst *i) {
    return i->op == ORR_OP_SETP && i->type > ORR_T_PRED ? i->type : i->stype;
}
static bool is_pair(int t) { return t == ORR_T_F16X2 || t == ORR_T_BF16X2; }

// Widens element `part` of an operand to f32.
static void widen(const warp *w, oper o, int type, int part, bool ftz, uint32_t out[ORR_WARP]) {
    bool bf = type == ORR_T_BF16 || type == ORR_T_BF16X2;
    for (int i = 0; i < ORR_WARP; i++) {
        uint32_t h =
            is_pair(type) ? OPER(w, o, uint32_t)[i] >> (16 * part) & 0xffff : OPER(w, o, uint16_t)[i];
        if (ftz && !bf) h = flush_f16(h);
        out[i] = bf ? f32_from_bf16(h) : f32_from_f16(h);
    }
}
static uint32_t compare(const warp *w, const uop *u, int part) {
    uint32_t a[ORR_WARP], b[ORR_WARP];
    int t = compared_type(u->inst);
    bool ftz = u->inst->mods & ORR_M_FTZ;
    widen(w, u->a, t, part, ftz, a);
    widen(w, u->b, t, part, ftz, b);
    return orr_compare_f32(u->inst->cmp, a, b);
}
static uint32_t combine(const warp *w, const uop *u, uint32_t m) {
    if (u->nsrc < 3) return m;
    uint32_t c = pred_of(w, u->c);
    switch (u->inst->boolop) {
    case ORR_BOOL_AND: return m & c;
    case ORR_BOOL_OR: return m | c;
    case ORR_BOOL_XOR: return m ^ c;
    default: return m;
    }
}
static void setp_half(warp *w, const uop *u) {
    oper q = u->ndst > 1 ? u->all[1] : no_oper;
    if (!is_pair(compared_type(u->inst))) {
        set_preds(w, u, compare(w, u, 0), u->d, q);
        return;
    }
    uint32_t lo = combine(w, u, compare(w, u, 0)), hi = combine(w, u, compare(w, u, 1));
    set_pred(w, u->d, lo); // of a pair, p is the lower element's answer and q the upper's
    set_pred(w, q, hi);
}
static void set_half(warp *w, const uop *u) {
    set_exec(w, w->exec); // a full warp leaves `lane` as it was
    uint32_t yes;
    switch (u->inst->type) {
    case ORR_T_F16:
    case ORR_T_F16X2: yes = 0x3c00; break;
    case ORR_T_BF16:
    case ORR_T_BF16X2: yes = 0x3f80; break;
    case ORR_T_F32: yes = 0x3f800000; break;
    default: yes = ~0u; break;
    }
    bool pair = is_pair(u->inst->stype);
    uint32_t lo = combine(w, u, compare(w, u, 0)), hi = pair ? combine(w, u, compare(w, u, 1)) : 0;
    for (int i = 0; i < ORR_WARP; i++) {
        if (!w->lane[i]) continue;
        uint32_t r = mask32(lo >> i & 1) & yes;
        if (pair) r = (r & 0xffff) | (mask32(hi >> i & 1) & yes) << 16;
        if (u->d.cls == ORR_W)
            DST(w, u, uint32_t)[i] = r;
        else
            DST(w, u, uint16_t)[i] = (uint16_t)r;
    }
}

// ---- picking --------------------------------------------------------------------------------
#define SHAPE(name) (pair ? PAIR(name##x2) : PAIR(name))
#define F16_ARITH(op)                                                                                        \
    (ftz ? sat ? SHAPE(op##_f16_ftz_sat) : SHAPE(op##_f16_ftz) : sat ? SHAPE(op##_f16_sat) : SHAPE(op##_f16))

static handlers pick_fma(bool bf, bool pair, uint32_t mods) {
    bool ftz = mods & ORR_M_FTZ, sat = mods & ORR_M_SAT, relu = mods & ORR_M_RELU;
    if (mods & ORR_M_OOB) {
        if (bf) return relu ? SHAPE(fma_bf16_oob_relu) : SHAPE(fma_bf16_oob);
        return relu ? SHAPE(fma_f16_oob_relu) : SHAPE(fma_f16_oob);
    }
    if (bf) return relu ? SHAPE(fma_bf16_relu) : SHAPE(fma_bf16);
    if (relu) return ftz ? SHAPE(fma_f16_ftz_relu) : SHAPE(fma_f16_relu);
    return F16_ARITH(fma);
}

static handlers pick_extreme(bool bf, bool pair, bool min, uint32_t mods) {
#define ROW(op, t, v)                                                                                        \
    {                                                                                                        \
        {PAIR(op##_##t##v), PAIR(op##_##t##_n##v), PAIR(op##_##t##_x##v), PAIR(op##_##t##_nx##v)}, {         \
            PAIR(op##_##t##v##x2), PAIR(op##_##t##_n##v##x2), PAIR(op##_##t##_x##v##x2),                     \
                PAIR(op##_##t##_nx##v##x2)                                                                   \
        }                                                                                                    \
    }
    static const handlers table[3][2][2][4] = {// f16, f16 with ftz, bf16; min, max; single, pair; modifiers
                                               {ROW(min, f16, ), ROW(max, f16, )},
                                               {ROW(min, f16, _ftz), ROW(max, f16, _ftz)},
                                               {ROW(min, bf16, ), ROW(max, bf16, )}};
#undef ROW
    int m = (mods & ORR_M_NAN ? 1 : 0) + (mods & ORR_M_XORSIGN ? 2 : 0);
    return table[bf ? 2 : mods & ORR_M_FTZ ? 1 : 0][min ? 0 : 1][pair][m];
}

handlers orr_pick_half(const orr_kernel *k, const orr_inst *i, const char **why) {
    (void)k;
    if (i->op == ORR_OP_SETP) return (handlers){setp_half, setp_half};
    if (i->op == ORR_OP_SET) return (handlers){set_half, set_half};
    bool bf = i->type == ORR_T_BF16 || i->type == ORR_T_BF16X2, pair = is_pair(i->type);
    bool ftz = !bf && (i->mods & ORR_M_FTZ), sat = i->mods & ORR_M_SAT;
    if (i->round > ORR_RND_RN || (bf && sat)) {
        *why = "this rounding or saturation of a 16-bit float";
        return (handlers){0};
    }
    switch (i->op) {
    case ORR_OP_ADD: return bf ? SHAPE(add_bf16) : F16_ARITH(add);
    case ORR_OP_SUB: return bf ? SHAPE(sub_bf16) : F16_ARITH(sub);
    case ORR_OP_MUL: return bf ? SHAPE(mul_bf16) : F16_ARITH(mul);
    case ORR_OP_FMA: return pick_fma(bf, pair, i->mods);
    case ORR_OP_ABS: return bf ? SHAPE(abs_bf16) : ftz ? SHAPE(abs_f16_ftz) : SHAPE(abs_f16);
    case ORR_OP_NEG: return bf ? SHAPE(neg_bf16) : ftz ? SHAPE(neg_f16_ftz) : SHAPE(neg_f16);
    case ORR_OP_MIN:
    case ORR_OP_MAX:
        if (i->nsrc == 2) return pick_extreme(bf, pair, i->op == ORR_OP_MIN, i->mods);
        *why = "three operands of a 16-bit minimum";
    }
    return (handlers){0};
}
