// The multifunction unit: MUFU, and FCHK.
#include "exec/mufu.h"

#include "exec/softfp.h"
#include "sass/sass.h"

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
uint32_t orr_mufu_rcp(uint32_t x) { return out32(1.0f / f32_of(flush32(x)), 1, 0); }
uint32_t orr_mufu_rsq(uint32_t x) {
    return out32((float)(1.0 / __builtin_sqrt((double)f32_of(flush32(x)))), 1, 0);
}
uint32_t orr_mufu_sqrt(uint32_t x) { return out32(__builtin_sqrtf(f32_of(flush32(x))), 1, 0); }
uint32_t orr_mufu_ex2(uint32_t x) {
    float f = f32_of(flush32(x)), r = (float)exp2_64(clamped((double)f, -200, 200));
    return pick32(f == f, out32(r, 1, 0), NAN32);
}
uint32_t orr_mufu_lg2(uint32_t x) {
    uint32_t b = flush32(x);
    float f = f32_of(b), r = (float)log2_64((double)f);
    uint32_t y = pick32(f > 0, bits32(r), NAN32);
    y = pick32(f == 0, 0xff800000, y);
    return pick32(b == 0x7f800000, b, y);
}
static uint32_t turned(uint32_t x, int quarter) {
    uint32_t b = flush32(x), m = b & 0x7fffffff;
    double t = (double)f32_of(m < 0x4b800000 ? m : 0); // from 2^24 on: a whole number
    uint32_t r = bits32((float)sin_turns(t, quarter)) ^ (quarter ? 0 : b & 0x80000000);
    return flush32(pick32(m >= 0x7f800000, NAN32, r));
}
uint32_t orr_mufu_sin(uint32_t x) { return turned(x, 0); }
uint32_t orr_mufu_cos(uint32_t x) { return turned(x, 1); }
uint32_t orr_mufu_tanh(uint32_t x) {
    float f = f32_of(x);
    return pick32(f == f, bits32((float)tanh_64((double)f)), NAN32);
}

// ---- f16 and bf16 ---------------------------------------------------------------------------
uint32_t orr_mufu_ex2_f16(uint32_t h) {
    float f = f32_of(f32_from_f16(h & 0xffff)), r = (float)exp2_64(clamped((double)f, -200, 200));
    return pick32(f == f, f16_from_f32(bits32(r)), NAN16);
}
uint32_t orr_mufu_ex2_bf16(uint32_t h) { return bf16_from_f32(orr_mufu_ex2(f32_from_bf16(h & 0xffff))); }
uint32_t orr_mufu_tanh_f16(uint32_t h) { return f16_from_f32(orr_mufu_tanh(f32_from_f16(h & 0xffff))); }
uint32_t orr_mufu_tanh_bf16(uint32_t h) { return bf16_from_f32(orr_mufu_tanh(f32_from_bf16(h & 0xffff))); }

// ---- upper words of doubles -----------------------------------------------------------------
ALWAYS double upper_in(uint32_t x) {
    return f64_of((uint64_t)pick32((x & 0x7ff00000) == 0, x & 0x80000000, x) << 32);
}
ALWAYS uint32_t upper_out(double r) {
    uint64_t x = bits64(r), m = x & ~SIGN64;
    uint32_t y = (uint32_t)((x + 0x80000000) >> 32);
    y = pick32(m == 0x7ff0000000000000ull, (uint32_t)(x >> 32), y);
    y = pick32((m & 0x7ff0000000000000ull) == 0, (uint32_t)(x >> 32) & 0x80000000, y);
    return pick32(r == r, y, NAN32);
}
uint32_t orr_mufu_rcp64h(uint32_t x) { return upper_out(1.0 / upper_in(x)); }
uint32_t orr_mufu_rsq64h(uint32_t x) { return upper_out(1.0 / __builtin_sqrt(upper_in(x))); }

// ---- 32 lanes -------------------------------------------------------------------------------
void orr_mufu(int fn, uint32_t *d, const uint32_t *a) {
#define EACH(name)                                                                                           \
    for (int i = 0; i < ORR_WARP; i++) d[i] = orr_mufu_##name(a[i]);                                         \
    break
    switch (fn) {
    case ORR_SV_MUFU_COS: EACH(cos);
    case ORR_SV_MUFU_SIN: EACH(sin);
    case ORR_SV_MUFU_EX2: EACH(ex2);
    case ORR_SV_MUFU_LG2: EACH(lg2);
    case ORR_SV_MUFU_RCP: EACH(rcp);
    case ORR_SV_MUFU_RSQ: EACH(rsq);
    case ORR_SV_MUFU_RCP64H: EACH(rcp64h);
    case ORR_SV_MUFU_RSQ64H: EACH(rsq64h);
    case ORR_SV_MUFU_SQRT: EACH(sqrt);
    case ORR_SV_MUFU_TANH: EACH(tanh);
    case ORR_SV_MUFU_EX2 + 16: EACH(ex2_f16);
    case ORR_SV_MUFU_EX2 + 32: EACH(ex2_bf16);
    case ORR_SV_MUFU_TANH + 16: EACH(tanh_f16);
    case ORR_SV_MUFU_TANH + 32: EACH(tanh_bf16);
    }
#undef EACH
}

// ---- FCHK -----------------------------------------------------------------------------------
// The compiler's short way: y ~ 1/b (MUFU), refined once; q = a y; r = a - b q; q += r y. It is right when y,
// q and r are normal numbers.
bool orr_fchk(uint32_t a, uint32_t b) {
    int ea = (int)(a >> 23 & 0xff), eb = (int)(b >> 23 & 0xff);
    if (ea == 255 || eb == 0 || eb == 255 || ea == 0) return true;
    int q = ea - eb;
    return eb > 252 || q >= 126 || q <= -126 || ea < 24;
}
