// Arithmetic and comparison of f32 and f64, and of f32x2, two f32 in one 64-bit register.
//
// Manual: PTX ISA, "Floating-Point Instructions", "Comparison and Selection Instructions". Rounding
// other than to nearest runs the same loop with the host's rounding mode set; every operation here is
// one that IEEE defines, so the host's result is the GPU's. The rest (which NaN, flushing, which zero
// is smaller) is settled by softfp.h.
#include "exec/ops/mufu.h"
#include "exec/ops/softfp.h"
#include "exec/lanewise.h"

// ---- f32 ------------------------------------------------------------------------------------
ALWAYS uint32_t add32(uint32_t x, uint32_t y, int ftz, int sat) {
    return out32(f32_of(in32(x, ftz)) + f32_of(in32(y, ftz)), ftz, sat);
}
ALWAYS uint32_t sub32(uint32_t x, uint32_t y, int ftz, int sat) {
    return out32(f32_of(in32(x, ftz)) - f32_of(in32(y, ftz)), ftz, sat);
}
ALWAYS uint32_t mul32(uint32_t x, uint32_t y, int ftz, int sat) {
    return out32(f32_of(in32(x, ftz)) * f32_of(in32(y, ftz)), ftz, sat);
}
ALWAYS uint32_t fma32(uint32_t x, uint32_t y, uint32_t z, int ftz, int sat) {
    return out32(__builtin_fmaf(f32_of(in32(x, ftz)), f32_of(in32(y, ftz)), f32_of(in32(z, ftz))), ftz, sat);
}
ALWAYS uint32_t div32(uint32_t x, uint32_t y, int ftz) {
    return out32(f32_of(in32(x, ftz)) / f32_of(in32(y, ftz)), ftz, 0);
}
ALWAYS uint32_t rcp32(uint32_t x, int ftz) { return out32(1.0f / f32_of(in32(x, ftz)), ftz, 0); }
ALWAYS uint32_t sqrt32(uint32_t x, int ftz) { return out32(__builtin_sqrtf(f32_of(in32(x, ftz))), ftz, 0); }

#define MAG(v) ((v)&0x7fffffff)

// With .ftz a result counts as subnormal when it would be below 2^-126 had it been rounded with an
// unbounded exponent. Rounded among the subnormals it may have come out as 2^-126 all the same: such
// results are looked at again, scaled up.
static bool tiny32(uint32_t x, uint32_t y, uint32_t z) {
    float a = f32_of(flush32(x)), b = f32_of(flush32(y)), c = f32_of(flush32(z));
    if (a < 1 && a > -1)
        a *= 0x1p64f;
    else
        b *= 0x1p64f;
    float r = __builtin_fmaf(a, b, c * 0x1p64f);
    return r < 0x1p-62f && r > -0x1p-62f;
}
ALWAYS uint32_t again(uint32_t r, uint32_t x, uint32_t y, uint32_t z) {
    return (r & 0x7fffffff) == 0x00800000 && tiny32(x, y, z) ? r & 0x80000000 : r;
}
#define TINY_LOOP(name, sources, expr)                                                                       \
    static inline void name##_any(warp *w, const uop *u, bool full) {                                        \
        uint32_t *d = DST(w, u, uint32_t), t[ORR_WARP], look = 0;                                            \
        const uint32_t *a = SRC_A(w, u, uint32_t), *b = SRC_B(w, u, uint32_t);                               \
        static const uint32_t zero[ORR_WARP];                                                                \
        const uint32_t *c = sources > 2 ? SRC_C(w, u, uint32_t) : zero;                                      \
        LANES {                                                                                              \
            uint32_t x = a[i], y = b[i], z = c[i];                                                           \
            (void)z;                                                                                         \
            t[i] = (expr);                                                                                   \
            look |= mask32((t[i] & 0x7fffffff) == 0x00800000);                                               \
        }                                                                                                    \
        if (look)                                                                                            \
            for (int i = 0; i < ORR_WARP; i++) t[i] = again(t[i], a[i], b[i], c[i]);                         \
        if (full)                                                                                            \
            LANES d[i] = t[i];                                                                               \
        else                                                                                                 \
            LANES d[i] = keep32(w->lane[i], t[i], d[i]);                                                     \
    }                                                                                                        \
    static void name##_full(warp *w, const uop *u) { name##_any(w, u, true); }                               \
    static void name##_mask(warp *w, const uop *u) { name##_any(w, u, false); }

#define VARIANTS(X)                                                                                          \
    X(, 0, 0, LOOP2, LOOP3)                                                                                  \
    X(_sat, 0, 1, LOOP2, LOOP3)                                                                              \
    X(_ftz, 1, 0, TINY2, TINY3)                                                                              \
    X(_ftz_sat, 1, 1, TINY2, TINY3)
#define TINY2(name, N, expr) TINY_LOOP(name, 2, expr)
#define TINY3(name, N, expr) TINY_LOOP(name, 3, expr)
#define ARITH(v, ftz, sat, TWO, THREE)                                                                       \
    LOOP2(add32##v, 32, add32(x, y, ftz, sat))                                                               \
    ROUNDED(add32##v)                                                                                        \
    LOOP2(sub32##v, 32, sub32(x, y, ftz, sat))                                                               \
    ROUNDED(sub32##v)                                                                                        \
    TWO(mul32##v, 32, mul32(x, y, ftz, sat))                                                                 \
    ROUNDED(mul32##v)                                                                                        \
    THREE(fma32##v, 32, fma32(x, y, z, ftz, sat))                                                            \
    ROUNDED(fma32##v)
VARIANTS(ARITH)
#define FTZ_VARIANTS(X)                                                                                      \
    X(, 0)                                                                                                   \
    X(_ftz, 1)
#define EXACT(v, ftz)                                                                                        \
    LOOP2(div32##v, 32, div32(x, y, ftz))                                                                    \
    ROUNDED(div32##v)                                                                                        \
    LOOP1(rcp32##v, 32, 32, rcp32(x, ftz))                                                                   \
    ROUNDED(rcp32##v)                                                                                        \
    LOOP1(sqrt32##v, 32, 32, sqrt32(x, ftz))                                                                 \
    ROUNDED(sqrt32##v)                                                                                       \
    LOOP1(abs32##v, 32, 32, pick32(nan32(x), NAN32, in32(x, ftz) & 0x7fffffff))                              \
    LOOP1(neg32##v, 32, 32, pick32(nan32(x), NAN32, in32(x, ftz) ^ 0x80000000))                              \
    LOOP2(min32##v, 32, min32(x, y, ftz, 0))                                                                 \
    LOOP2(max32##v, 32, max32(x, y, ftz, 0))                                                                 \
    LOOP2(min32n##v, 32, min32(x, y, ftz, 1))                                                                \
    LOOP2(max32n##v, 32, max32(x, y, ftz, 1))                                                                \
    LOOP3(min32t##v, 32, min32(min32(x, y, ftz, 0), z, ftz, 0))                                              \
    LOOP3(max32t##v, 32, max32(max32(x, y, ftz, 0), z, ftz, 0))                                              \
    LOOP3(min32nt##v, 32, min32(min32(x, y, ftz, 1), z, ftz, 1))                                             \
    LOOP3(max32nt##v, 32, max32(max32(x, y, ftz, 1), z, ftz, 1))                                             \
    LOOP2(min32x##v, 32, xorsign32(min32(MAG(x), MAG(y), ftz, 0), x, y))                                     \
    LOOP2(max32x##v, 32, xorsign32(max32(MAG(x), MAG(y), ftz, 0), x, y))                                     \
    LOOP2(min32nx##v, 32, xorsign32(min32(MAG(x), MAG(y), ftz, 1), x, y))                                    \
    LOOP2(max32nx##v, 32, xorsign32(max32(MAG(x), MAG(y), ftz, 1), x, y))                                    \
    LOOP3(slct32##v, 32, pick32(f32_of(in32(z, ftz)) >= 0, x, y))
FTZ_VARIANTS(EXACT)
LOOP2(copysign32, 32, (x & 0x80000000) | (y & 0x7fffffff))
LOOP2(copysign64, 64, (x & SIGN64) | (y & ~SIGN64))

// ---- f64 ------------------------------------------------------------------------------------
ALWAYS uint64_t min64(uint64_t xb, uint64_t yb) {
    double x = f64_of(xb), y = f64_of(yb);
    uint64_t r = pick64(y < x, yb, xb) | (mask64(x == y) & yb);
    r = pick64(x == x, r, yb);
    return pick64(nan64(r), r | QUIET64, r);
}
ALWAYS uint64_t max64(uint64_t xb, uint64_t yb) {
    double x = f64_of(xb), y = f64_of(yb);
    uint64_t r = pick64(y > x, yb, xb) & (mask64(x != y) | yb);
    r = pick64(x == x, r, yb);
    return pick64(nan64(r), r | QUIET64, r);
}
LOOP2(add64, 64, out64(f64_of(x) + f64_of(y), x, y, 0))
ROUNDED(add64)
LOOP2(sub64, 64, out64(f64_of(x) - f64_of(y), x, y, 0))
ROUNDED(sub64)
LOOP2(mul64, 64, out64(f64_of(x) * f64_of(y), x, y, 0))
ROUNDED(mul64)
LOOP3(fma64, 64, out64(__builtin_fma(f64_of(x), f64_of(y), f64_of(z)), x, y, z))
ROUNDED(fma64)
LOOP2(div64, 64, out64(f64_of(x) / f64_of(y), y, x, 0))
ROUNDED(div64)
LOOP1(rcp64, 64, 64, out64(1.0 / f64_of(x), x, 0, 0))
ROUNDED(rcp64)
LOOP1(sqrt64, 64, 64, out64(__builtin_sqrt(f64_of(x)), x, 0, 0))
ROUNDED(sqrt64)
LOOP1(abs64, 64, 64, pick64(nan64(x), x | QUIET64, x & ~SIGN64)) // a NaN keeps its sign
LOOP1(neg64, 64, 64, pick64(nan64(x), x | QUIET64, x ^ SIGN64))
LOOP2(min64, 64, min64(x, y))
LOOP2(max64, 64, max64(x, y))

// slct with an f32 selector, operands of other widths
static void slct_wide(warp *w, const uop *u, int ftz) {
    set_exec(w, w->exec); // a full warp leaves `lane` as it was
    const uint32_t *c = SRC_C(w, u, uint32_t);
    for (int i = 0; i < ORR_WARP; i++) {
        oper from = f32_of(in32(c[i], ftz)) >= 0 ? u->a : u->b;
        if (!w->lane[i]) continue;
        if (u->d.cls == ORR_D)
            DST(w, u, uint64_t)[i] = OPER(w, from, uint64_t)[i];
        else
            DST(w, u, uint16_t)[i] = OPER(w, from, uint16_t)[i];
    }
}
static void slct_any(warp *w, const uop *u) { slct_wide(w, u, 0); }
static void slct_any_ftz(warp *w, const uop *u) { slct_wide(w, u, 1); }

// ---- f32x2 ----------------------------------------------------------------------------------
ALWAYS uint64_t two(uint32_t lo, uint32_t hi) { return (uint64_t)hi << 32 | lo; }
#define LO(v) ((uint32_t)(v))
#define HI(v) ((uint32_t)((v) >> 32))
#define PAIRS(v, ftz)                                                                                        \
    LOOP2(add32x2##v, 64, two(add32(LO(x), LO(y), ftz, 0), add32(HI(x), HI(y), ftz, 0)))                     \
    ROUNDED(add32x2##v)                                                                                      \
    LOOP2(sub32x2##v, 64, two(sub32(LO(x), LO(y), ftz, 0), sub32(HI(x), HI(y), ftz, 0)))                     \
    ROUNDED(sub32x2##v)                                                                                      \
    LOOP2(mul32x2##v, 64, two(mul32(LO(x), LO(y), ftz, 0), mul32(HI(x), HI(y), ftz, 0)))                     \
    ROUNDED(mul32x2##v)                                                                                      \
    LOOP3(fma32x2##v, 64, two(fma32(LO(x), LO(y), LO(z), ftz, 0), fma32(HI(x), HI(y), HI(z), ftz, 0)))       \
    ROUNDED(fma32x2##v)
FTZ_VARIANTS(PAIRS)

// ---- setp, set, testp -----------------------------------------------------------------------
// A comparison answers with a bit a lane.
#define COMPARE(id, expr)                                                                                    \
    static uint32_t cmp32_##id(const uint32_t *a, const uint32_t *b) {                                       \
        uint32_t m = 0;                                                                                      \
        LANES {                                                                                              \
            float x = f32_of(a[i]), y = f32_of(b[i]);                                                        \
            m |= mask32(expr) & 1u << i;                                                                     \
        }                                                                                                    \
        return m;                                                                                            \
    }                                                                                                        \
    static uint32_t cmp32z_##id(const uint32_t *a, const uint32_t *b) {                                      \
        uint32_t m = 0;                                                                                      \
        LANES {                                                                                              \
            float x = f32_of(flush32(a[i])), y = f32_of(flush32(b[i]));                                      \
            m |= mask32(expr) & 1u << i;                                                                     \
        }                                                                                                    \
        return m;                                                                                            \
    }                                                                                                        \
    static uint32_t cmp64_##id(const uint64_t *a, const uint64_t *b) {                                       \
        uint32_t m = 0;                                                                                      \
        LANES {                                                                                              \
            double x = f64_of(a[i]), y = f64_of(b[i]);                                                       \
            m |= mask32(expr) & 1u << i;                                                                     \
        }                                                                                                    \
        return m;                                                                                            \
    }                                                                                                        \
    static void setp32_##id(warp *w, const uop *u) {                                                         \
        set_preds(w, u, cmp32_##id(SRC_A(w, u, uint32_t), SRC_B(w, u, uint32_t)), u->d,                      \
                  u->ndst > 1 ? u->all[1] : no_oper);                                                        \
    }                                                                                                        \
    static void setp32z_##id(warp *w, const uop *u) {                                                        \
        set_preds(w, u, cmp32z_##id(SRC_A(w, u, uint32_t), SRC_B(w, u, uint32_t)), u->d,                     \
                  u->ndst > 1 ? u->all[1] : no_oper);                                                        \
    }                                                                                                        \
    static void setp64_##id(warp *w, const uop *u) {                                                         \
        set_preds(w, u, cmp64_##id(SRC_A(w, u, uint64_t), SRC_B(w, u, uint64_t)), u->d,                      \
                  u->ndst > 1 ? u->all[1] : no_oper);                                                        \
    }
FLOAT_COMPARISONS(COMPARE)

static uint32_t compare(const warp *w, const uop *u) {
    const uint32_t *a = SRC_A(w, u, uint32_t), *b = SRC_B(w, u, uint32_t);
    const uint64_t *p = SRC_A(w, u, uint64_t), *q = SRC_B(w, u, uint64_t);
    bool wide = u->inst->stype == ORR_T_F64, ftz = u->inst->mods & ORR_M_FTZ;
    switch (u->inst->cmp) {
#define CASE(id, expr)                                                                                       \
    case ORR_CMP_##id: return wide ? cmp64_##id(p, q) : ftz ? cmp32z_##id(a, b) : cmp32_##id(a, b);
        FLOAT_COMPARISONS(CASE)
#undef CASE
    }
    return 0;
}

uint32_t orr_compare_f32(int cmp, const uint32_t *a, const uint32_t *b) {
    switch (cmp) {
#define CASE(id, expr)                                                                                       \
    case ORR_CMP_##id: return cmp32_##id(a, b);
        FLOAT_COMPARISONS(CASE)
#undef CASE
    }
    return 0;
}

// set: true is all ones, or 1.0 for a float destination
static void set_any(warp *w, const uop *u) {
    set_exec(w, w->exec); // a full warp leaves `lane` as it was
    uint32_t m = compare(w, u);
    if (u->nsrc > 2) {
        uint32_t c = pred_of(w, u->c);
        m = u->inst->boolop == ORR_BOOL_AND   ? m & c
            : u->inst->boolop == ORR_BOOL_OR  ? m | c
            : u->inst->boolop == ORR_BOOL_XOR ? m ^ c
                                              : m;
    }
    uint32_t yes = u->inst->type == ORR_T_F32 ? 0x3f800000 : ~0u;
    if (u->d.cls == ORR_W) {
        uint32_t *d = DST(w, u, uint32_t);
        LANES d[i] = keep32(w->lane[i], mask32(m >> i & 1) & yes, d[i]);
    } else {
        uint16_t *d = DST(w, u, uint16_t);
        yes = u->inst->type == ORR_T_F16 ? 0x3c00 : u->inst->type == ORR_T_BF16 ? 0x3f80 : yes;
        LANES d[i] = keep16(w->lane[i], (uint16_t)(mask32(m >> i & 1) & yes), d[i]);
    }
}

// testp reads bits only; f32 is tested where it lies, f64 by its upper word and whether the rest is 0
static bool tested(uint32_t high, bool rest, int expo_shift, int sub) {
    uint32_t e = (high & 0x7fffffff) >> expo_shift, full = 0x7fffffff >> expo_shift;
    bool frac = rest || (high & ((1u << expo_shift) - 1));
    switch (sub) {
    case ORR_TESTP_FINITE: return e != full;
    case ORR_TESTP_INFINITE: return e == full && !frac;
    case ORR_TESTP_NUMBER: return e != full || !frac;
    case ORR_TESTP_NOTANUMBER: return e == full && frac;
    case ORR_TESTP_NORMAL: return e != full && (e != 0 || !frac); // zero counts
    default: return e == 0 && frac;                               // subnormal
    }
}
static void testp(warp *w, const uop *u) {
    uint32_t m = 0;
    for (int i = 0; i < ORR_WARP; i++) {
        bool t;
        if (u->inst->type == ORR_T_F64) {
            uint64_t x = SRC_A(w, u, uint64_t)[i];
            t = tested(HI(x), LO(x) != 0, 20, u->inst->sub);
        } else {
            t = tested(SRC_A(w, u, uint32_t)[i], false, 23, u->inst->sub);
        }
        m |= (uint32_t)t << i;
    }
    set_pred(w, u->d, m);
}

// Does it take the long way? The tests are those of ptxas's code; d is what came out, a and b went in.
static bool long_way(const orr_inst *i, uint64_t d, uint64_t a, uint64_t b) {
    uint32_t x = (uint32_t)a, high = HI(a);
    switch (i->op) {
    case ORR_OP_LONGDIV: // f64: |a| by its upper half as a float, and the result's, to which +-0 is added
        return (high & 0x7fffffff) < 0x03600000 || !((HI(d) & 0x7fffffff) > 0x00100000) ||
               (HI(b) & 0x7fffffff) >= 0x7f800000 || (HI(d) & 0x7fffffff) > 0x7f800000;
    case ORR_OP_LONGRCP:
        return i->type == ORR_T_F64 ? ((high + 0x300402) & 0x7fffffff) < 0x00400402
                                    : ((x + 0x1800000) & 0x7f800000) <= 0x1ffffff;
    case ORR_OP_LONGSQRT:
        return i->type == ORR_T_F64 ? high - 0x03500000 >= 0x7ca00000 : x - 0x0d000000 > 0x727fffff;
    default: return high - 0x00100000 >= 0x7fe00000;
    }
}
static void longway(warp *w, const uop *u) {
    const orr_inst *i = u->inst;
    uint32_t m = 0;
    if (i->op == ORR_OP_LONGDIV && i->type == ORR_T_F32) {
        m = orr_fchk(SRC_B(w, u, uint32_t), SRC_C(w, u, uint32_t));
    } else if (i->type == ORR_T_F64) {
        const uint64_t *d = SRC_A(w, u, uint64_t), *a = SRC_B(w, u, uint64_t);
        const uint64_t *b = i->op == ORR_OP_LONGDIV ? SRC_C(w, u, uint64_t) : a;
        for (int k = 0; k < ORR_WARP; k++) m |= (uint32_t)long_way(i, d[k], a[k], b[k]) << k;
    } else {
        const uint32_t *a = SRC_B(w, u, uint32_t);
        for (int k = 0; k < ORR_WARP; k++) m |= (uint32_t)long_way(i, 0, a[k], 0) << k;
    }
    set_pred(w, u->d, m);
}

// ---- picking --------------------------------------------------------------------------------
#define ROUND_PAIR(name) (directed(i) ? (handlers){name##_r_full, name##_r_mask} : PAIR(name))
#define FTZ_SAT(name)                                                                                        \
    (ftz   ? sat ? ROUND_PAIR(name##_ftz_sat) : ROUND_PAIR(name##_ftz)                                       \
       : sat ? ROUND_PAIR(name##_sat)                                                                        \
           : ROUND_PAIR(name))
#define FTZ_ONLY(name)  (ftz ? ROUND_PAIR(name##_ftz) : ROUND_PAIR(name))
#define FTZ_PLAIN(name) (ftz ? PAIR(name##_ftz) : PAIR(name))
#define BOTH(fn)        ((handlers){fn, fn})

static const handlers none;

static handlers pick32_minmax(const orr_inst *i, bool ftz) {
    bool min = i->op == ORR_OP_MIN, nan = i->mods & ORR_M_NAN;
    if (i->mods & ORR_M_XORSIGN) {
        if (nan) return min ? FTZ_PLAIN(min32nx) : FTZ_PLAIN(max32nx);
        return min ? FTZ_PLAIN(min32x) : FTZ_PLAIN(max32x);
    }
    if (i->nsrc == 3) {
        if (nan) return min ? FTZ_PLAIN(min32nt) : FTZ_PLAIN(max32nt);
        return min ? FTZ_PLAIN(min32t) : FTZ_PLAIN(max32t);
    }
    if (nan) return min ? FTZ_PLAIN(min32n) : FTZ_PLAIN(max32n);
    return min ? FTZ_PLAIN(min32) : FTZ_PLAIN(max32);
}

static handlers pick_f32(const orr_inst *i) {
    bool ftz = i->mods & ORR_M_FTZ, sat = i->mods & ORR_M_SAT;
    switch (i->op) {
    case ORR_OP_ADD: return FTZ_SAT(add32);
    case ORR_OP_SUB: return FTZ_SAT(sub32);
    case ORR_OP_MUL: return FTZ_SAT(mul32);
    case ORR_OP_MAD:
    case ORR_OP_FMA: return FTZ_SAT(fma32);
    case ORR_OP_DIV: return FTZ_ONLY(div32);
    case ORR_OP_RCP: return FTZ_ONLY(rcp32);
    case ORR_OP_SQRT: return FTZ_ONLY(sqrt32);
    case ORR_OP_ABS: return FTZ_PLAIN(abs32);
    case ORR_OP_NEG: return FTZ_PLAIN(neg32);
    case ORR_OP_MIN:
    case ORR_OP_MAX: return pick32_minmax(i, ftz);
    case ORR_OP_COPYSIGN: return PAIR(copysign32);
    case ORR_OP_TESTP: return BOTH(testp);
    case ORR_OP_LONGDIV:
    case ORR_OP_LONGRCP:
    case ORR_OP_LONGSQRT: return BOTH(longway);
    }
    return none;
}
static handlers pick_f64(const orr_inst *i) {
    switch (i->op) {
    case ORR_OP_ADD: return ROUND_PAIR(add64);
    case ORR_OP_SUB: return ROUND_PAIR(sub64);
    case ORR_OP_MUL: return ROUND_PAIR(mul64);
    case ORR_OP_MAD:
    case ORR_OP_FMA: return ROUND_PAIR(fma64);
    case ORR_OP_DIV: return ROUND_PAIR(div64);
    case ORR_OP_RCP: return ROUND_PAIR(rcp64);
    case ORR_OP_SQRT: return ROUND_PAIR(sqrt64);
    case ORR_OP_ABS: return PAIR(abs64);
    case ORR_OP_NEG: return PAIR(neg64);
    case ORR_OP_MIN: return PAIR(min64);
    case ORR_OP_MAX: return PAIR(max64);
    case ORR_OP_COPYSIGN: return PAIR(copysign64);
    case ORR_OP_TESTP: return BOTH(testp);
    case ORR_OP_LONGDIV:
    case ORR_OP_LONGRCP:
    case ORR_OP_LONGSQRT:
    case ORR_OP_LONGRSQRT: return BOTH(longway);
    }
    return none;
}
static handlers pick_f32x2(const orr_inst *i) {
    bool ftz = i->mods & ORR_M_FTZ;
    switch (i->op) {
    case ORR_OP_ADD: return FTZ_ONLY(add32x2);
    case ORR_OP_SUB: return FTZ_ONLY(sub32x2);
    case ORR_OP_MUL: return FTZ_ONLY(mul32x2);
    case ORR_OP_FMA: return FTZ_ONLY(fma32x2);
    }
    return none;
}
static handlers pick_setp(const orr_inst *i, int type) {
    bool ftz = i->mods & ORR_M_FTZ;
    switch (i->cmp) {
#define CASE(id, expr)                                                                                       \
    case ORR_CMP_##id:                                                                                       \
        return type == ORR_T_F64 ? BOTH(setp64_##id) : ftz ? BOTH(setp32z_##id) : BOTH(setp32_##id);
        FLOAT_COMPARISONS(CASE)
#undef CASE
    }
    return none;
}

static bool is_half(int t) {
    return t == ORR_T_F16 || t == ORR_T_BF16 || t == ORR_T_F16X2 || t == ORR_T_BF16X2;
}

handlers orr_pick_float(const orr_kernel *k, const orr_inst *i, const char **why) {
    switch (i->op) {
    case ORR_OP_SETP: // the compared type may come in either field
    case ORR_OP_SET: {
        int t = i->op == ORR_OP_SETP && i->type > ORR_T_PRED ? i->type : i->stype;
        if (is_half(t)) return orr_pick_half(k, i, why);
        if (t != ORR_T_F32 && t != ORR_T_F64) return none;
        if (i->op == ORR_OP_SETP) return pick_setp(i, t);
        return BOTH(set_any);
    }
    case ORR_OP_SLCT:
        if (i->stype != ORR_T_F32) return none;
        if (orr_dst(k, i, 0)->cls != ORR_W) return i->mods & ORR_M_FTZ ? BOTH(slct_any_ftz) : BOTH(slct_any);
        return i->mods & ORR_M_FTZ ? PAIR(slct32_ftz) : PAIR(slct32);
    case ORR_OP_SIN:
    case ORR_OP_COS:
    case ORR_OP_LG2:
    case ORR_OP_EX2:
    case ORR_OP_TANH:
    case ORR_OP_RSQRT: return orr_pick_sfu(k, i, why);
    case ORR_OP_DIV:
    case ORR_OP_RCP:
    case ORR_OP_SQRT:
        if (i->mods & (ORR_M_APPROX | ORR_M_FULL)) return orr_pick_sfu(k, i, why);
        break;
    case ORR_OP_ADD:
    case ORR_OP_SUB:
    case ORR_OP_MUL:
    case ORR_OP_MAD:
    case ORR_OP_FMA:
    case ORR_OP_ABS:
    case ORR_OP_NEG:
    case ORR_OP_MIN:
    case ORR_OP_MAX:
    case ORR_OP_TESTP:
    case ORR_OP_LONGDIV:
    case ORR_OP_LONGRCP:
    case ORR_OP_LONGSQRT:
    case ORR_OP_LONGRSQRT:
    case ORR_OP_COPYSIGN: break;
    default: return none;
    }
    if (is_half(i->type)) return orr_pick_half(k, i, why);
    if (i->type == ORR_T_F32) return pick_f32(i);
    if (i->type == ORR_T_F64) return pick_f64(i);
    if (i->type == ORR_T_F32X2) return pick_f32x2(i);
    return none;
}

// What compiled blocks do instead (lanewise.h).
#define RULE(id, expr) {setp32_##id, LANE_COMPARE_F32, HOST_##id},
LANEWISE(orr_lanes_float, FLOAT_COMPARISONS(RULE){add32_full, LANE_FADD, 0}, {sub32_full, LANE_FADD, 1},
         {mul32_full, LANE_FMUL, 0}, {fma32_full, LANE_FFMA, 0})
