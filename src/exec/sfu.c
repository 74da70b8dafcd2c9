// The approximations: rcp, sqrt, rsqrt, div .approx and .full, sin, cos, lg2, ex2, tanh.
//
// Manual: PTX ISA, "Floating-Point Instructions", the .approx forms; each states the largest error and
// what zeros, infinities and NaNs give. Hardware reads tables that are not published; here every
// result is computed in f64 with an error far below the manual's and rounded once, by the same few
// operations on every host (no call into the host's libm, whose last bits differ).
#include "exec/softfp.h"

// ---- in f64 ---------------------------------------------------------------------------------
#define MAGIC 0x1.8p52 // adding it leaves the nearest integer in the low bits

// 2^x for |x| < 1000: Taylor series of e^(f ln 2), |f| <= 1/2, error below 1e-11
ALWAYS double exp2_64(double x) {
    double t = x + MAGIC, f = (x - (t - MAGIC)) * 0x1.62e42fefa39efp-1;
    double p = 1.0 / 362880;
    p = __builtin_fma(p, f, 1.0 / 40320);
    p = __builtin_fma(p, f, 1.0 / 5040);
    p = __builtin_fma(p, f, 1.0 / 720);
    p = __builtin_fma(p, f, 1.0 / 120);
    p = __builtin_fma(p, f, 1.0 / 24);
    p = __builtin_fma(p, f, 1.0 / 6);
    p = __builtin_fma(p, f, 0.5);
    p = __builtin_fma(p, f, 1.0);
    p = __builtin_fma(p, f, 1.0);
    return p * f64_of(((bits64(t) + 1023) & 0x7ff) << 52);
}
ALWAYS double clamped(double x, double lo, double hi) {
    x = f64_of(pick64(x < lo, bits64(lo), bits64(x)));
    return f64_of(pick64(x > hi, bits64(hi), bits64(x)));
}
// log2 of a positive, normal number: x = m 2^e with m near 1, ln m = 2 atanh((m - 1) / (m + 1))
ALWAYS double log2_64(double x) {
    uint64_t b = bits64(x) - 0x3fe6a09e667f3bcdull; // the square root of 1/2
    int64_t e = (int64_t)(b & 0xfff0000000000000ull);
    double m = f64_of(bits64(x) - (uint64_t)e);
    // e / 2^52 as a double, without a 64-bit conversion: e >> 52 fits in 32 bits
    double n = (double)(int32_t)((uint64_t)e >> 52 << 20) * 0x1p-20;
    double s = (m - 1) / (m + 1), q = s * s;
    double p = 1.0 / 15;
    p = __builtin_fma(p, q, 1.0 / 13);
    p = __builtin_fma(p, q, 1.0 / 11);
    p = __builtin_fma(p, q, 1.0 / 9);
    p = __builtin_fma(p, q, 1.0 / 7);
    p = __builtin_fma(p, q, 1.0 / 5);
    p = __builtin_fma(p, q, 1.0 / 3);
    p = __builtin_fma(p, q, 1.0);
    return __builtin_fma(s * p, 2 * 0x1.71547652b82fep+0, n);
}
// sin or cos of t turns, |t| < 2^24, exactly reduced to an eighth of a turn.
ALWAYS double sin_turns(double t, int quarter) {
    double u = t * 4, k = u + MAGIC, r = (u - (k - MAGIC)) * 0x1.921fb54442d18p+0, q = r * r;
    uint64_t n = bits64(k) + (uint64_t)quarter;
    double s = -1.0 / 39916800, c = 1.0 / 479001600;
    s = __builtin_fma(s, q, 1.0 / 362880);
    s = __builtin_fma(s, q, -1.0 / 5040);
    s = __builtin_fma(s, q, 1.0 / 120);
    s = __builtin_fma(s, q, -1.0 / 6);
    s = __builtin_fma(s * q, r, r);
    c = __builtin_fma(c, q, -1.0 / 3628800);
    c = __builtin_fma(c, q, 1.0 / 40320);
    c = __builtin_fma(c, q, -1.0 / 720);
    c = __builtin_fma(c, q, 1.0 / 24);
    c = __builtin_fma(c, q, -0.5);
    c = __builtin_fma(c, q, 1.0);
    return f64_of(pick64(n & 1, bits64(c), bits64(s)) ^ (n & 2) << 62);
}
ALWAYS double tanh_64(double x) {
    double a = f64_of(bits64(x) & ~SIGN64), q = x * x;
    double e = exp2_64(clamped(a, 0, 40) * (2 * 0x1.71547652b82fep+0));
    double big = 1 - 2 / (e + 1);
    double p = 62.0 / 2835; // near 0 the series, where the difference above would cancel
    p = __builtin_fma(p, q, -17.0 / 315);
    p = __builtin_fma(p, q, 2.0 / 15);
    p = __builtin_fma(p, q, -1.0 / 3);
    double small = __builtin_fma(p * q, a, a);
    return f64_of(pick64(a < 0.25, bits64(small), bits64(big)) | (bits64(x) & SIGN64));
}

// ---- f32 ------------------------------------------------------------------------------------
ALWAYS uint32_t ex2_f32(uint32_t x, int ftz) {
    float f = f32_of(in32(x, ftz));
    float r = (float)exp2_64(clamped((double)f, -200, 200));
    return pick32(f == f, out32(r, ftz, 0), NAN32);
}
ALWAYS uint32_t lg2_f32(uint32_t x, int ftz) {
    uint32_t b = in32(x, ftz);
    float f = f32_of(b), r = (float)log2_64((double)f);
    uint32_t y = pick32(f > 0, bits32(r), NAN32);
    y = pick32(f == 0, 0xff800000, y);
    y = pick32(b == 0x7f800000, b, y);
    return in32(y, ftz);
}
// The GPU first multiplies by 1 / 2 pi in f32, cutting the product, and so loses large angles: it is
// within 2^-21 of the sine of that many turns everywhere, but of the sine of x only for small x. As an
// H200 does it: a product below f32's normal numbers is 0, one of 2^24 and more a whole number.
ALWAYS uint32_t sin_f32(uint32_t x, int quarter, int ftz) {
    uint32_t b = in32(x, ftz), m = b & 0x7fffffff;
    double p = (double)f32_of(m) * 0x1.45f306p-3; // exact
    uint64_t t = bits64(p) & ~0x1fffffffull;
    t &= mask64(p >= 0x1p-126) & mask64(p < 0x1p24);
    float r = (float)sin_turns(f64_of(t), quarter);
    uint32_t y = pick32(m >= 0x7f800000, NAN32, bits32(r) ^ (quarter ? 0 : b & 0x80000000));
    return in32(y, ftz);
}
ALWAYS uint32_t tanh_f32(uint32_t x) {
    float f = f32_of(x);
    return pick32(f == f, bits32((float)tanh_64((double)f)), NAN32);
}
ALWAYS uint32_t rsqrt_f32(uint32_t x, int ftz) {
    return out32((float)(1.0 / __builtin_sqrt((double)f32_of(in32(x, ftz)))), ftz, 0);
}
ALWAYS uint32_t rcp_f32(uint32_t x, int ftz) { return out32(1.0f / f32_of(in32(x, ftz)), ftz, 0); }
ALWAYS uint32_t sqrt_f32(uint32_t x, int ftz) { return out32(__builtin_sqrtf(f32_of(in32(x, ftz))), ftz, 0); }
ALWAYS uint32_t div_full(uint32_t x, uint32_t y, int ftz) {
    return out32(f32_of(in32(x, ftz)) / f32_of(in32(y, ftz)), ftz, 0);
}
// div.approx multiplies by the reciprocal. The reciprocal of a divisor above 2^126 counts as 0.
ALWAYS uint32_t div_approx(uint32_t x, uint32_t y, int ftz) {
    x = in32(x, ftz), y = in32(y, ftz);
    uint32_t m = y & 0x7fffffff;
    uint32_t far = mask32(m > 0x7e800000) & mask32(m < 0x7f800000);
    uint32_t q = bits32(f32_of(x) / f32_of(y));
    uint32_t zero = bits32(f32_of(x) * 0.0f) ^ (y & 0x80000000); // NaN for an infinite dividend
    uint32_t r = (far & zero) | (~far & q);
    return in32(pick32(nan32(r), NAN32, r), ftz);
}

#define VARIANTS(X)                                                                                          \
    X(, 0)                                                                                                   \
    X(_ftz, 1)
#define F32(v, ftz)                                                                                          \
    LOOP1(ex2##v, 32, 32, ex2_f32(x, ftz))                                                                   \
    LOOP1(lg2##v, 32, 32, lg2_f32(x, ftz))                                                                   \
    LOOP1(sin##v, 32, 32, sin_f32(x, 0, ftz))                                                                \
    LOOP1(cos##v, 32, 32, sin_f32(x, 1, ftz))                                                                \
    LOOP1(rsqrt##v, 32, 32, rsqrt_f32(x, ftz))                                                               \
    LOOP1(rcp##v, 32, 32, rcp_f32(x, ftz))                                                                   \
    LOOP1(sqrt##v, 32, 32, sqrt_f32(x, ftz))                                                                 \
    LOOP2(div_full##v, 32, div_full(x, y, ftz))                                                              \
    LOOP2(div_approx##v, 32, div_approx(x, y, ftz))
VARIANTS(F32)
LOOP1(tanh32, 32, 32, tanh_f32(x))

// ---- f16 and bf16 ---------------------------------------------------------------------------
ALWAYS uint32_t ex2_f16(uint32_t h) { return f16_from_f32(ex2_f32(f32_from_f16(h), 0)); }
ALWAYS uint32_t ex2_bf16(uint32_t h, int ftz) {
    uint32_t r = bf16_from_f32(ex2_f32(in32(f32_from_bf16(h), ftz), 0));
    return ftz ? pick32((r & 0x7f80) == 0, r & 0x8000, r) : r;
}
ALWAYS uint32_t tanh_f16(uint32_t h) { return f16_from_f32(tanh_f32(f32_from_f16(h))); }
ALWAYS uint32_t tanh_bf16(uint32_t h) { return bf16_from_f32(tanh_f32(f32_from_bf16(h))); }
#define L(v) ((v)&0xffff)
#define H(v) ((v) >> 16)
LOOP1(ex2_f16, 16, 16, ex2_f16(x))
LOOP1(ex2_f16x2, 32, 32, ex2_f16(L(x)) | ex2_f16(H(x)) << 16)
LOOP1(ex2_bf16, 16, 16, ex2_bf16(x, 1))
LOOP1(ex2_bf16x2, 32, 32, ex2_bf16(L(x), 1) | ex2_bf16(H(x), 1) << 16)
LOOP1(tanh_f16, 16, 16, tanh_f16(x))
LOOP1(tanh_f16x2, 32, 32, tanh_f16(L(x)) | tanh_f16(H(x)) << 16)
LOOP1(tanh_bf16, 16, 16, tanh_bf16(x))
LOOP1(tanh_bf16x2, 32, 32, tanh_bf16(L(x)) | tanh_bf16(H(x)) << 16)

// ---- f64 ------------------------------------------------------------------------------------
// rcp and rsqrt .approx.ftz.f64 read and write the upper 32 bits; 20 bits of fraction. Rounding to
// them may carry into the exponent, which is right.
#define UPPER     0xffffffff00000000ull
#define NAN_UPPER 0x7fffffff00000000ull
ALWAYS uint64_t upper_in(uint64_t x) {
    x &= UPPER;
    return pick64((x & 0x7ff0000000000000ull) == 0, x & SIGN64, x);
}
ALWAYS uint64_t upper_out(double r) {
    uint64_t x = bits64(r), m = x & ~SIGN64;
    uint64_t y = (x + 0x80000000) & UPPER;
    y = pick64(m == 0x7ff0000000000000ull, x, y);
    y = pick64((m & 0x7ff0000000000000ull) == 0, x & SIGN64, y);
    return pick64(r == r, y, NAN_UPPER);
}
LOOP1(rcp_f64_ftz, 64, 64, upper_out(1.0 / f64_of(upper_in(x))))
LOOP1(rsqrt_f64_ftz, 64, 64, upper_out(1.0 / __builtin_sqrt(f64_of(upper_in(x)))))
ALWAYS uint64_t rsqrt_f64(uint64_t x) {
    double r = 1.0 / __builtin_sqrt(f64_of(x));
    return pick64(r == r, bits64(r), pick64(nan64(x), x | 1ull << 51, NAN64));
}
LOOP1(rsqrt_f64, 64, 64, rsqrt_f64(x))

// ---- picking --------------------------------------------------------------------------------
#define CHOOSE(name) (ftz ? PAIR(name##_ftz) : PAIR(name))

handlers orr_pick_sfu(const orr_kernel *k, const orr_inst *i, const char **why) {
    (void)k;
    bool ftz = i->mods & ORR_M_FTZ;
    if (i->type == ORR_T_F32) {
        switch (i->op) {
        case ORR_OP_SIN: return CHOOSE(sin);
        case ORR_OP_COS: return CHOOSE(cos);
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
        if (i->op == ORR_OP_RSQRT) return CHOOSE(rsqrt_f64);
    }
    if (i->op == ORR_OP_EX2 || i->op == ORR_OP_TANH) {
        bool ex2 = i->op == ORR_OP_EX2;
        switch (i->type) {
        case ORR_T_F16: return ex2 ? PAIR(ex2_f16) : PAIR(tanh_f16);
        case ORR_T_F16X2: return ex2 ? PAIR(ex2_f16x2) : PAIR(tanh_f16x2);
        case ORR_T_BF16: return ex2 ? PAIR(ex2_bf16) : PAIR(tanh_bf16);
        case ORR_T_BF16X2: return ex2 ? PAIR(ex2_bf16x2) : PAIR(tanh_bf16x2);
        }
    }
    *why = "this approximation of this type";
    return (handlers){0};
}
