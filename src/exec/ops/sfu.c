// The approximations: rcp, sqrt, rsqrt, div .approx and .full, sin, cos, lg2, ex2, tanh.
//
// Manual: PTX ISA, "Floating-Point Instructions", the .approx forms. With .ftz each is one MUFU (mufu.c),
// whose results are those of an H200. Without, subnormal numbers count, and the compiler puts scaling around
// it; what it puts there (ptxas 13 for sm_90) is what is done here, step for step, so that the last bits are
// the same too.
#include "exec/ops/mufu.h"
#include "exec/ops/softfp.h"

// ---- steps ----------------------------------------------------------------------------------
ALWAYS uint32_t mul(uint32_t x, uint32_t y) { return out32(f32_of(x) * f32_of(y), 0, 0); }
// FMUL.FTZ: the product, which is exact in f64, is flushed when it is below 2^-126 rounded to 24 bits
ALWAYS uint32_t mul_ftz(uint32_t x, uint32_t y) {
    double p = (double)f32_of(flush32(x)) * (double)f32_of(flush32(y));
    uint32_t tiny = mask32(p < 0x1.ffffffp-127) & mask32(p > -0x1.ffffffp-127);
    uint32_t r = out32((float)p, 1, 0);
    return (tiny & r & 0x80000000) | (~tiny & r);
}
ALWAYS uint32_t scaled(bool c, uint32_t x, float by) { return pick32(c, mul(x, bits32(by)), x); }
#define MAG(x)  ((x)&0x7fffffffu)
#define TINY(x) (MAG(x) < 0x00800000)
#define HUGE(x) ((MAG(x) > 0x7e800000) & (MAG(x) <= 0x7f800000)) // above 2^126
// rcp keeps away from the largest numbers too, whose reciprocals are subnormal
ALWAYS uint32_t rcp_scale(uint32_t x) { return bits32(HUGE(x) ? 0.25f : TINY(x) ? 0x1p24f : 1.0f); }
// ex2: below -126 the square of the half's
ALWAYS bool deep(uint32_t x) { return f32_of(x) < -126; }
// The GPU multiplies by 1 / 2 pi, cutting the product, and so loses large angles.
ALWAYS uint32_t turns(uint32_t x) {
    double p = (double)f32_of(MAG(x)) * 0x1.45f306p-3; // exact
    uint64_t t = bits64(p) & ~0x1fffffffull;
    t &= mask64(p >= 0x1p-126); // below is zero to MUFU
    return pick32(nan32(x), NAN32, bits32((float)f64_of(t)) | (x & 0x80000000));
}

// d = after, of x = the source and y = MUFU of before
#define APPROX(name, function, before, after)                                                                \
    static inline void name##_any(warp *w, const uop *u, bool full) {                                        \
        uint32_t *d = DST(w, u, uint32_t), t[ORR_WARP];                                                      \
        const uint32_t *a = SRC_A(w, u, uint32_t);                                                           \
        LANES {                                                                                              \
            uint32_t x = a[i];                                                                               \
            t[i] = before;                                                                                   \
        }                                                                                                    \
        orr_mufu(function, t, t);                                                                            \
        LANES {                                                                                              \
            uint32_t x = a[i], y = t[i];                                                                     \
            (void)x;                                                                                         \
            uint32_t r = after;                                                                              \
            d[i] = full ? r : keep32(w->lane[i], r, d[i]);                                                   \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_full(warp *w, const uop *u) { name##_any(w, u, true); }                               \
    static void name##_mask(warp *w, const uop *u) { name##_any(w, u, false); }

// ---- f32 ------------------------------------------------------------------------------------
APPROX(rcp_ftz, MUFU_RCP, x, y)
APPROX(rcp, MUFU_RCP, mul(x, rcp_scale(x)), mul(rcp_scale(x), y))
APPROX(rsqrt_ftz, MUFU_RSQ, x, y)
APPROX(rsqrt, MUFU_RSQ, scaled(TINY(x), x, 0x1p24f), scaled(TINY(x), y, 0x1p12f))
APPROX(sqrt_ftz, MUFU_SQRT, x, y)
APPROX(sqrt, MUFU_SQRT, scaled(TINY(x), x, 0x1p24f), scaled(TINY(x), y, 0x1p-12f))
APPROX(lg2_ftz, MUFU_LG2, x, y)
APPROX(lg2, MUFU_LG2, scaled(TINY(x), x, 0x1p24f), pick32(TINY(x), out32(f32_of(y) - 24, 0, 0), y))
APPROX(ex2_ftz, MUFU_EX2, x, y)
APPROX(ex2, MUFU_EX2, scaled(deep(x), x, 0.5f), pick32(deep(x), mul(y, y), y))
APPROX(sin, MUFU_SIN, turns(x), y)
APPROX(cos, MUFU_COS, turns(x), y)
APPROX(tanh32, MUFU_TANH, x, y)

// div multiplies by the reciprocal: of x and y scaled alike
#define DIVIDE(name, scale, MUL)                                                                             \
    static inline void name##_any(warp *w, const uop *u, bool full) {                                        \
        uint32_t *d = DST(w, u, uint32_t), s[ORR_WARP], t[ORR_WARP];                                         \
        const uint32_t *a = SRC_A(w, u, uint32_t), *b = SRC_B(w, u, uint32_t);                               \
        LANES {                                                                                              \
            uint32_t y = b[i];                                                                               \
            s[i] = bits32(scale);                                                                            \
            t[i] = MUL(y, s[i]);                                                                             \
        }                                                                                                    \
        orr_mufu(MUFU_RCP, t, t);                                                                            \
        LANES {                                                                                              \
            uint32_t r = MUL(t[i], MUL(a[i], s[i]));                                                         \
            d[i] = full ? r : keep32(w->lane[i], r, d[i]);                                                   \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_full(warp *w, const uop *u) { name##_any(w, u, true); }                               \
    static void name##_mask(warp *w, const uop *u) { name##_any(w, u, false); }
DIVIDE(div_full, HUGE(y) ? 0.25f : TINY(y) ? 0x1p24f : 1.0f, mul)
DIVIDE(div_full_ftz, HUGE(y) ? 0.25f : 1.0f, mul_ftz)
DIVIDE(div_approx, TINY(y) ? 0x1p24f : 1.0f, mul)
DIVIDE(div_approx_ftz, ((void)y, 1.0f), mul_ftz)

// ---- f16 and bf16 ---------------------------------------------------------------------------
static void halves_any(warp *w, const uop *u, int function, bool pair) {
    set_exec(w, w->exec); // a full warp leaves `lane` as it was
    uint32_t lower[ORR_WARP], upper[ORR_WARP];
    for (int i = 0; i < ORR_WARP; i++) {
        uint32_t x = pair ? SRC_A(w, u, uint32_t)[i] : SRC_A(w, u, uint16_t)[i];
        lower[i] = x & 0xffff;
        upper[i] = x >> 16;
    }
    orr_mufu(function, lower, lower);
    if (!pair) {
        uint16_t *d = DST(w, u, uint16_t);
        LANES d[i] = keep16(w->lane[i], (uint16_t)lower[i], d[i]);
        return;
    }
    orr_mufu(function, upper, upper);
    uint32_t *d = DST(w, u, uint32_t);
    LANES d[i] = keep32(w->lane[i], lower[i] | upper[i] << 16, d[i]);
}
#define HALVES(name, function)                                                                               \
    static void name(warp *w, const uop *u) { halves_any(w, u, function, false); }                           \
    static void name##x2(warp *w, const uop *u) { halves_any(w, u, function, true); }
HALVES(ex2_f16, MUFU_EX2 + MUFU_F16)
HALVES(ex2_bf16, MUFU_EX2 + MUFU_BF16)
HALVES(tanh_f16, MUFU_TANH + MUFU_F16)
HALVES(tanh_bf16, MUFU_TANH + MUFU_BF16)

// ---- f64 ------------------------------------------------------------------------------------
// .ftz reads and writes the upper words.
static void upper_words(const uint64_t *a, int function, uint32_t *t) {
    LANES t[i] = (uint32_t)(a[i] >> 32);
    orr_mufu(function, t, t);
}
#define UPPER(name, function)                                                                                \
    static void name##_full(warp *w, const uop *u) {                                                         \
        uint32_t t[ORR_WARP];                                                                                \
        uint64_t *d = DST(w, u, uint64_t);                                                                   \
        upper_words(SRC_A(w, u, uint64_t), function, t);                                                     \
        LANES d[i] = (uint64_t)t[i] << 32;                                                                   \
    }                                                                                                        \
    static void name##_mask(warp *w, const uop *u) {                                                         \
        uint32_t t[ORR_WARP];                                                                                \
        uint64_t *d = DST(w, u, uint64_t);                                                                   \
        upper_words(SRC_A(w, u, uint64_t), function, t);                                                     \
        LANES d[i] = keep64(w->lane[i], (uint64_t)t[i] << 32, d[i]);                                         \
    }
UPPER(rcp_f64_ftz, MUFU_RCP64H)
UPPER(rsqrt_f64_ftz, MUFU_RSQ64H)

// rsqrt without .ftz: y from MUFU, and with e = 1 - x y^2 the next terms of the series, y (1 + e/2 + 3/8
// e^2). Subnormal numbers are scaled by 2^54.
static double rsqrt_step(double x, uint32_t upper) {
    double y = f64_of((uint64_t)upper << 32), e = __builtin_fma(x, -(y * y), 1.0);
    return __builtin_fma(__builtin_fma(e, 0.375, 0.5), y * e, y);
}
static void rsqrt_f64(warp *w, const uop *u) {
    set_exec(w, w->exec); // a full warp leaves `lane` as it was
    uint64_t *d = DST(w, u, uint64_t);
    const uint64_t *a = SRC_A(w, u, uint64_t);
    uint64_t s[ORR_WARP];
    uint32_t t[ORR_WARP];
    LANES s[i] = (a[i] & ~SIGN64) < (1ull << 52) ? bits64(f64_of(a[i]) * 0x1p54) : a[i];
    upper_words(s, MUFU_RSQ64H, t);
    for (int i = 0; i < ORR_WARP; i++) {
        uint64_t x = a[i], m = x & ~SIGN64, r = bits64(rsqrt_step(f64_of(s[i]), t[i]));
        if (m < 1ull << 52) r = bits64(f64_of(r) * 0x1p27);
        if (m == 0)
            r = (x & SIGN64) | 0x7ff0000000000000ull;
        else if (nan64(x))
            r = x | QUIET64;
        else if (x & SIGN64)
            r = NAN64;
        else if (m == 0x7ff0000000000000ull)
            r = 0;
        d[i] = keep64(w->lane[i], r, d[i]);
    }
}

// ---- picking --------------------------------------------------------------------------------
#define CHOOSE(name) (ftz ? PAIR(name##_ftz) : PAIR(name))
#define BOTH(name)   ((handlers){name, name})

handlers orr_pick_sfu(const orr_kernel *k, const orr_inst *i, const char **why) {
    (void)k;
    bool ftz = i->mods & ORR_M_FTZ;
    if (i->type == ORR_T_F32) {
        switch (i->op) {
        case ORR_OP_SIN: return PAIR(sin);
        case ORR_OP_COS: return PAIR(cos);
        case ORR_OP_LG2: return CHOOSE(lg2);
        case ORR_OP_EX2: return CHOOSE(ex2);
        case ORR_OP_TANH: return PAIR(tanh32);
        case ORR_OP_RSQRT: return CHOOSE(rsqrt);
        case ORR_OP_RCP: return CHOOSE(rcp);
        case ORR_OP_SQRT: return CHOOSE(sqrt);
        case ORR_OP_DIV: return i->mods & ORR_M_FULL ? CHOOSE(div_full) : CHOOSE(div_approx);
        }
    }
    if (i->type == ORR_T_F64) {
        if (i->op == ORR_OP_RCP && ftz) return PAIR(rcp_f64_ftz);
        if (i->op == ORR_OP_RSQRT) return ftz ? PAIR(rsqrt_f64_ftz) : BOTH(rsqrt_f64);
    }
    if (i->op == ORR_OP_EX2 || i->op == ORR_OP_TANH) {
        bool ex2 = i->op == ORR_OP_EX2;
        switch (i->type) {
        case ORR_T_F16: return ex2 ? BOTH(ex2_f16) : BOTH(tanh_f16);
        case ORR_T_F16X2: return ex2 ? BOTH(ex2_f16x2) : BOTH(tanh_f16x2);
        case ORR_T_BF16: return ex2 ? BOTH(ex2_bf16) : BOTH(tanh_bf16);
        case ORR_T_BF16X2: return ex2 ? BOTH(ex2_bf16x2) : BOTH(tanh_bf16x2);
        }
    }
    *why = "this approximation of this type";
    return (handlers){0};
}
