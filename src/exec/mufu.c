// The multifunction unit: MUFU's approximations, bit for bit as an H200 computes them, and FCHK.
//
// The hardware interpolates: f(x) = c0 + c1 x + c2 x^2, with the upper bits of the argument naming a segment
// of a table and the lower 17 being x, a fraction of the segment (Oberman, Siu: "A High-Performance
// Area-Efficient Multifunction Interpolator", ARITH-17, 2005, which describes this unit: 26 bits of c0, 16 of
// c1, 10 of c2, 64 or 128 segments, and the same shares of correctly rounded results that an H200 shows).
// What the paper leaves open was found from the answers of an H200 to every mantissa:
//
//   - x^2 is a sum of the products of pairs of bits in which every product below 2^-15 is left out
//   (square()).
//   - c1 x and c2 x^2 are exact, and so is the sum, with a constant for each function that makes up for what
//   is
//     left out. It is cut, not rounded.
//   - -x in EX2 and the reflections of SIN and COS are complements, not negations: one unit less. So is a
//   negative
//     logarithm's magnitude.
//   - Subnormal arguments and results are zero (TANH alone leaves them: below 2^-8 it is the identity).
//   - The argument of EX2 is cut to 23 bits behind the point, that of SIN and COS to 25, of TANH to 17 in a
//   segment.
//   - RCP64H and RSQ64H are RCP and RSQ of a mantissa of 20 bits, cut to 20 bits.
//   - EX2 and TANH of f16 and bf16 are those of f32, cut.
//
// With these rules the coefficients of each segment are the solution, in whole numbers, of 2^17 pairs of
// inequalities, and there is one solution. Measured: 115 million arguments, every mantissa of RCP, RSQ, SQRT,
// EX2, LG2 and the 64H forms, every f16 and bf16, samples of every exponent of all of them: no difference.
#include "exec/mufu.h"

#include "exec/softfp.h"

typedef struct coef {
    int32_t c0, c1, c2;
} coef;
#define TABLE(name)     static const coef name##_table[] = {
#define ROW(c0, c1, c2) {c0, c1, c2},
#define END                                                                                                  \
    }                                                                                                        \
    ;
#include "exec/mufu.def"
#undef TABLE
#undef ROW
#undef END

// (x / 2^17)^2 in units of 2^-15. Bit k (1: the highest) times itself is 2^-2k, times bit j 2^(1-j-k).
ALWAYS uint32_t square(uint32_t x) {
    uint32_t s = 0;
#define BIT(k)                                                                                               \
    s += mask32(x >> (17 - k) & 1) & (((x & ((1u << (17 - k)) - 1)) >> (k + 1)) + (1u << (15 - 2 * k)))
    BIT(1);
    BIT(2);
    BIT(3);
    BIT(4);
    BIT(5);
    BIT(6);
    BIT(7);
#undef BIT
    return s;
}
// The sum. Functions differ in the weights of c0 and c2 relative to c1 x.
ALWAYS int64_t sum(const coef *c, uint32_t x, int64_t w0, int64_t w2, int64_t bias) {
    return c->c0 * w0 + (int64_t)c->c1 * x + (int64_t)c->c2 * square(x) * w2 + bias;
}

// v / 2^unit as f32, cut
ALWAYS uint32_t cut(uint64_t v, int unit) {
    if (!v) return 0;
    int top = 63 - __builtin_clzll(v);
    uint64_t f = top >= 23 ? v >> (top - 23) : v << (23 - top);
    return (uint32_t)(top - unit + 127) << 23 | ((uint32_t)f & 0x7fffff);
}

#define SIGN     0x80000000u
#define INFINITE 0x7f800000u
#define EXPO(x)  ((x) >> 23 & 255)
#define FRAC(x)  ((x)&0x7fffff)

// ---- reciprocals and roots ------------------------------------------------------------------
// Of a mantissa 1.m: the fraction of a result in [1/2, 1], 23 bits.
ALWAYS int32_t rcp_frac(uint32_t m) {
    return (int32_t)(sum(&rcp_table[m >> 16], (m & 0xffff) << 1, 1 << 14, 2, 2 * 2023) >> 16);
}
ALWAYS int32_t rsq_frac(uint32_t m, int odd) { // odd: of 2 * 1.m
    if (!odd && !m) return 1 << 23;            // 1
    return (int32_t)(sum(&rsq_table[odd << 6 | m >> 17], m & 0x1ffff, 1 << 14, 2, -1) >> 16);
}
ALWAYS uint32_t rcp(uint32_t x) {
    uint32_t s = x & SIGN;
    int e = (int)EXPO(x);
    if (e == 255) return FRAC(x) ? NAN32 : s;
    if (e == 0) return s | INFINITE;
    int32_t r = rcp_frac(FRAC(x)) + (253 - e) * (1 << 23);
    return r < 1 << 23 ? s : s | (uint32_t)r;
}
ALWAYS uint32_t rsq(uint32_t x) {
    int e = (int)EXPO(x), odd = !(e & 1);
    if (nan32(x)) return NAN32;
    if (e == 0) return (x & SIGN) | INFINITE;
    if (x & SIGN) return NAN32;
    if (e == 255) return 0;
    return (uint32_t)(rsq_frac(FRAC(x), odd) + (126 - (e - 127 - odd) / 2) * (1 << 23));
}
ALWAYS uint32_t root(uint32_t x) {
    uint32_t m = FRAC(x);
    int e = (int)EXPO(x), odd = !(e & 1);
    if (nan32(x)) return NAN32;
    if (e == 0) return x & SIGN;
    if (x & SIGN) return NAN32;
    if (e == 255) return x;
    int32_t r = (int32_t)(sum(&sqrt_table[odd << 6 | m >> 17], m & 0x1ffff, 1 << 15, 2, -1) >> 17);
    return (uint32_t)(r + (127 + (e - 127 - odd) / 2) * (1 << 23));
}
ALWAYS uint32_t rcp64h(uint32_t x) {
    uint32_t s = x & SIGN, m = x & 0xfffff;
    int e = (int)(x >> 20 & 2047);
    if (e == 2047) return m ? NAN32 : s;
    if (e == 0) return s | 0x7ff00000;
    int32_t r = (rcp_frac(m << 3) >> 3) + (2045 - e) * (1 << 20);
    return r < 1 << 20 ? s : s | (uint32_t)r;
}
ALWAYS uint32_t rsq64h(uint32_t x) {
    uint32_t m = x & 0xfffff;
    int e = (int)(x >> 20 & 2047), odd = !(e & 1);
    if (e == 2047 && m) return NAN32;
    if (e == 0) return (x & SIGN) | 0x7ff00000;
    if (x & SIGN) return NAN32;
    if (e == 2047) return 0;
    return (uint32_t)((rsq_frac(m << 3, odd) >> 3) + (1022 - (e - 1023 - odd) / 2) * (1 << 20));
}

// ---- exponential and logarithm --------------------------------------------------------------
ALWAYS uint32_t ex2(uint32_t x) {
    int e = (int)EXPO(x);
    if (nan32(x)) return NAN32;
    if (e >= 127 + 7) return x & SIGN ? 0 : INFINITE;
    uint32_t fixed =
        e < 127 - 23 ? 0 : (uint32_t)((uint64_t)(FRAC(x) | 1u << 23) << 8 >> (135 - e)); // |x| 2^23
    int32_t n = (int32_t)(fixed >> 23);
    uint32_t f = FRAC(fixed);
    if (x & SIGN) {
        n = f ? -n - 1 : -n;
        f = f ? f ^ 0x7fffff : 0;
    }
    int32_t r =
        (int32_t)(sum(&ex2_table[f >> 17], f & 0x1ffff, 1 << 14, 2, 12228) >> 16) + (n + 127) * (1 << 23);
    return r < 1 << 23 ? 0 : (uint32_t)r;
}
ALWAYS uint32_t lg2(uint32_t x) {
    uint32_t m = FRAC(x);
    if (nan32(x)) return NAN32;
    if (EXPO(x) == 0) return SIGN | INFINITE;
    if (x & SIGN) return NAN32;
    if (x == INFINITE) return x;
    if (x == 0x3f800000) return 0;
    int64_t v = sum(&lg2_table[m >> 17], m & 0x1ffff, 1 << 12, 2, 837) >> 2; // in units of 2^-36
    v += ((int64_t)EXPO(x) - 127) * (1ll << 36);
    return v < 0 ? SIGN | cut((uint64_t)~v, 36) : cut((uint64_t)v, 36);
}

// ---- circular and hyperbolic ----------------------------------------------------------------
ALWAYS uint32_t circular(uint32_t x, uint32_t quarter) {
    int e = (int)EXPO(x);
    if (e == 255) return NAN32;
    uint64_t m = FRAC(x) | 1u << 23;
    uint32_t turn = 0; // in units of 2^-25, the whole ones lost; from 2^24 on that is all
    if (e >= 125 && e < 150) turn = (uint32_t)(m << (e - 125));
    if (e < 125 && e > 125 - 24) turn = (uint32_t)(m >> (125 - e));
    uint32_t quadrant = (turn >> 23 & 3) + quarter, at = FRAC(turn);
    uint32_t s = quarter ? 0 : x & SIGN;
    if (quadrant & 2) s ^= SIGN;
    if (quadrant & 1) at ^= 0x7fffff;
    return s | cut((uint64_t)sum(&sin_table[at >> 17], at & 0x1ffff, 1 << 12, 1, 0), 37);
}
ALWAYS uint32_t tanh_(uint32_t x) {
    static const uint8_t first[11] = {0, 1, 2, 3, 5, 7, 11, 15, 19, 27, 43}; // segment of each octave
    static const uint8_t bits[11] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3};       // and the bits that name others
    int o = (int)EXPO(x) - 119;
    if (nan32(x)) return NAN32;
    if (o < 0) return x;
    if (o > 10) return (x & SIGN) | 0x3f800000;
    const coef *c = &tanh_table[first[o] + (FRAC(x) >> (23 - bits[o]))];
    return (x & SIGN) | cut((uint64_t)sum(c, FRAC(x) >> (6 - bits[o]) & 0x1ffff, 1 << 17, 4, 0), 41);
}

// ---- narrow formats -------------------------------------------------------------------------
ALWAYS uint32_t cut_f16(uint32_t x) {
    uint32_t s = x >> 16 & 0x8000, m = x & ~SIGN;
    if (m > INFINITE) return NAN16;
    if (m >= 0x47800000) return s | 0x7c00;
    if (m >= 0x38800000) return s | (m - 0x38000000) >> 13;
    return m < 0x33800000 ? s : s | (FRAC(m) | 1u << 23) >> (126 - (m >> 23));
}
ALWAYS uint32_t cut_bf16(uint32_t x) { return nan32(x) ? NAN16 : x >> 16; }
ALWAYS uint32_t wide_f16(uint32_t x) { return f32_from_f16(x & 0xffff); }
ALWAYS uint32_t wide_bf16(uint32_t x) { return x << 16; }

// ---- 32 lanes -------------------------------------------------------------------------------
void orr_mufu(int function, uint32_t *d, const uint32_t *a) {
#define EACH(expr)                                                                                           \
    for (int i = 0; i < ORR_WARP; i++) {                                                                     \
        uint32_t x = a[i];                                                                                   \
        d[i] = expr;                                                                                         \
    }                                                                                                        \
    break
    switch (function) {
    case MUFU_COS: EACH(circular(x, 1));
    case MUFU_SIN: EACH(circular(x, 0));
    case MUFU_EX2: EACH(ex2(x));
    case MUFU_LG2: EACH(lg2(x));
    case MUFU_RCP: EACH(rcp(x));
    case MUFU_RSQ: EACH(rsq(x));
    case MUFU_RCP64H: EACH(rcp64h(x));
    case MUFU_RSQ64H: EACH(rsq64h(x));
    case MUFU_SQRT: EACH(root(x));
    case MUFU_TANH: EACH(tanh_(x));
    case MUFU_EX2 + MUFU_F16: EACH(cut_f16(ex2(wide_f16(x))));
    case MUFU_EX2 + MUFU_BF16: EACH(cut_bf16(ex2(wide_bf16(x))));
    case MUFU_TANH + MUFU_F16: EACH(cut_f16(tanh_(wide_f16(x))));
    case MUFU_TANH + MUFU_BF16: EACH(cut_bf16(tanh_(wide_bf16(x))));
    }
#undef EACH
}

// ---- FCHK -----------------------------------------------------------------------------------
// The compiler's short way to a / b: y = 1/b by MUFU, refined once; q = a y; q += (a - b q) y. It is right
// when none of these is near the ends of the exponents. Which are sent the long way was measured on an H200
// by the time a division takes, for every pair of exponents and eleven pairs of mantissas: the exponents
// alone decide.
bool orr_fchk(uint32_t a, uint32_t b) {
    int ea = (int)EXPO(a), eb = (int)EXPO(b);
    bool near = ea >= 25 && ea <= 254 && eb >= 2 && eb <= 251 && ea - eb <= 126 && eb - ea <= 124;
    return !near;
}
