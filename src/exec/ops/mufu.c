// The multifunction unit: MUFU's approximations, bit for bit as an H200 computes them, and FCHK.
//
// The hardware interpolates: f(x) = c0 + c1 x + c2 x^2, with the upper bits of the argument naming a segment
// of a table and the lower 17 being x, a fraction of the segment. A unit of this kind is described by Oberman
// and Siu ("A High-Performance Area-Efficient Multifunction Interpolator", ARITH-17, 2005). How this one
// computes was found from the answers of an H200 to every mantissa:
//
//   - x^2 is a sum of products of pairs of bits, and those below 2^-15 are left out (square()).
//   - c1 x and c2 x^2 are exact, and so is the sum, with a constant for each function that makes up for what
//     is left out. It is cut, not rounded.
//   - -x in EX2 and the reflections of SIN and COS are complements, not negations: one unit less. So is the
//     magnitude of a negative logarithm.
//   - Subnormal arguments and results are zero (not of TANH, which is the identity below 2^-8).
//   - The argument of EX2 is cut to 23 bits behind the point, that of SIN and COS to 25, of TANH to 17 in its
//     segment.
//   - RCP64H and RSQ64H are RCP and RSQ of a mantissa of 20 bits, cut to 20 bits.
//   - EX2 and TANH of f16 and bf16 are those of f32, cut.
//
// With these rules the coefficients of a segment (mufu.def) are whole numbers that fulfil 2^17 pairs of
// inequalities. tests/test_mufu.c compares 154 million results: no difference.
#include "exec/ops/mufu.h"

#include "exec/ops/softfp.h"

typedef struct coef {
    int32_t c0, c1, c2;
} coef;
#define TABLE(name)     static const coef name##_table[] = {
#define ROW(c0, c1, c2) {c0, c1, c2},
#define END                                                                                                  \
    }                                                                                                        \
    ;
#include "exec/ops/mufu.def"
#undef TABLE
#undef ROW
#undef END

// ---- interpolation, 32 lanes at a time --------------------------------------------------------
// Everything but reading the table is written so that it becomes SIMD code.

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

// Functions differ in the weights of c0 and c2 relative to c1 x.
typedef struct weights {
    int64_t w0, w2, bias;
} weights;

ALWAYS void interpolate(const coef *table, const uint32_t *segment, const uint32_t *x, weights by,
                        int64_t *sum) {
    uint32_t s[ORR_WARP];
    int32_t c0[ORR_WARP], c1[ORR_WARP], c2[ORR_WARP];
    LANES s[i] = square(x[i]);
    for (int i = 0; i < ORR_WARP; i++) {
        coef c = table[segment[i]];
        c0[i] = c.c0;
        c1[i] = c.c1;
        c2[i] = c.c2;
    }
    LANES sum[i] =
        c0[i] * by.w0 + (int64_t)c1[i] * (int32_t)x[i] + (int64_t)c2[i] * (int32_t)s[i] * by.w2 + by.bias;
}

// v / 2^unit as f32, cut. A double holds v exactly; so many of its bits remain as a float has.
ALWAYS uint32_t cut(int64_t v, double unit) {
    uint64_t b = bits64((double)v) & ~0x1fffffffull;
    return bits32((float)(f64_of(b) * unit));
}

#define SIGN     0x80000000u
#define INFINITE 0x7f800000u
#define EXPO(x)  ((int32_t)((x) >> 23 & 255))
#define FRAC(x)  ((x)&0x7fffff)
#define POW23    (1 << 23)

// ---- reciprocals and roots ------------------------------------------------------------------
// Of mantissas 1.m: the fractions of results in [1/2, 1], 23 bits.
static void rcp_fractions(const uint32_t *m, int32_t *f) {
    uint32_t segment[ORR_WARP], x[ORR_WARP];
    int64_t sum[ORR_WARP];
    LANES {
        segment[i] = m[i] >> 16;
        x[i] = (m[i] & 0xffff) << 1;
    }
    interpolate(rcp_table, segment, x, (weights){1 << 14, 2, 2 * 2023}, sum);
    LANES f[i] = (int32_t)(sum[i] >> 16);
}
static void rcp(uint32_t *d, const uint32_t *a) {
    uint32_t m[ORR_WARP];
    int32_t f[ORR_WARP];
    LANES m[i] = FRAC(a[i]);
    rcp_fractions(m, f);
    LANES {
        uint32_t x = a[i], s = x & SIGN;
        int32_t e = EXPO(x), r = f[i] + (253 - e) * POW23;
        uint32_t y = s | (mask32(r >= POW23) & (uint32_t)r);
        y = pick32(e == 0, s | INFINITE, y);
        d[i] = pick32(e == 255, pick32(FRAC(x) != 0, NAN32, s), y);
    }
}
static void rcp64h(uint32_t *d, const uint32_t *a) {
    uint32_t m[ORR_WARP];
    int32_t f[ORR_WARP];
    LANES m[i] = (a[i] & 0xfffff) << 3;
    rcp_fractions(m, f);
    LANES {
        uint32_t x = a[i], s = x & SIGN;
        int32_t e = (int32_t)(x >> 20 & 2047), r = (f[i] >> 3) + (2045 - e) * (1 << 20);
        uint32_t y = s | (mask32(r >= 1 << 20) & (uint32_t)r);
        y = pick32(e == 0, s | 0x7ff00000, y);
        d[i] = pick32(e == 2047, pick32((x & 0xfffff) != 0, NAN32, s), y);
    }
}

// odd: of 2 * 1.m, which is the other half of the table
static void rsq_fractions(const uint32_t *m, const uint32_t *odd, int32_t *f) {
    uint32_t segment[ORR_WARP], x[ORR_WARP];
    int64_t sum[ORR_WARP];
    LANES {
        segment[i] = odd[i] << 6 | m[i] >> 17;
        x[i] = m[i] & 0x1ffff;
    }
    interpolate(rsq_table, segment, x, (weights){1 << 14, 2, -1}, sum);
    LANES f[i] = (int32_t)pick32((m[i] | odd[i]) == 0, POW23, (uint32_t)(sum[i] >> 16)); // of 1: 1
}
static void rsq(uint32_t *d, const uint32_t *a) {
    uint32_t m[ORR_WARP], odd[ORR_WARP];
    int32_t f[ORR_WARP];
    LANES {
        m[i] = FRAC(a[i]);
        odd[i] = ~a[i] >> 23 & 1;
    }
    rsq_fractions(m, odd, f);
    LANES {
        uint32_t x = a[i];
        int32_t e = EXPO(x);
        uint32_t y = (uint32_t)(f[i] + (126 - ((e - (int32_t)odd[i] - 127) >> 1)) * POW23);
        y = pick32(x == INFINITE, 0, y);
        y = pick32(x >= SIGN, NAN32, y);
        y = pick32(e == 0, (x & SIGN) | INFINITE, y);
        d[i] = pick32(nan32(x), NAN32, y);
    }
}
static void rsq64h(uint32_t *d, const uint32_t *a) {
    uint32_t m[ORR_WARP], odd[ORR_WARP];
    int32_t f[ORR_WARP];
    LANES {
        m[i] = (a[i] & 0xfffff) << 3;
        odd[i] = ~a[i] >> 20 & 1;
    }
    rsq_fractions(m, odd, f);
    LANES {
        uint32_t x = a[i];
        int32_t e = (int32_t)(x >> 20 & 2047);
        uint32_t y = (uint32_t)((f[i] >> 3) + (1022 - ((e - (int32_t)odd[i] - 1023) >> 1)) * (1 << 20));
        y = pick32(x == 0x7ff00000, 0, y);
        y = pick32(x >= SIGN, NAN32, y);
        y = pick32(e == 0, (x & SIGN) | 0x7ff00000, y);
        d[i] = pick32((x & ~SIGN) > 0x7ff00000, NAN32, y);
    }
}
static void root(uint32_t *d, const uint32_t *a) {
    uint32_t segment[ORR_WARP], t[ORR_WARP];
    int64_t sum[ORR_WARP];
    LANES {
        segment[i] = (~a[i] >> 23 & 1) << 6 | FRAC(a[i]) >> 17;
        t[i] = a[i] & 0x1ffff;
    }
    interpolate(sqrt_table, segment, t, (weights){1 << 15, 2, -1}, sum);
    LANES {
        uint32_t x = a[i];
        int32_t e = EXPO(x);
        uint32_t y = (uint32_t)((int32_t)(sum[i] >> 17) + (127 + ((e - (~e & 1) - 127) >> 1)) * POW23);
        y = pick32(x == INFINITE, x, y);
        y = pick32(x >= SIGN, NAN32, y);
        y = pick32(e == 0, x & SIGN, y);
        d[i] = pick32(nan32(x), NAN32, y);
    }
}

// ---- exponential and logarithm --------------------------------------------------------------
static void ex2(uint32_t *d, const uint32_t *a) {
    uint32_t segment[ORR_WARP], t[ORR_WARP];
    int32_t n[ORR_WARP];
    int64_t sum[ORR_WARP];
    LANES {
        uint32_t x = a[i];
        int32_t e = EXPO(x), left = e - 127 > 6 ? 6 : e - 127, right = 127 - e > 31 ? 31 : 127 - e;
        uint32_t m = FRAC(x) | POW23, fixed = e >= 127 ? m << (left & 31) : m >> (right & 31); // |x| 2^23
        uint32_t minus = mask32(x >= SIGN), f = FRAC(fixed), flip = minus & mask32(f != 0);
        n[i] = (int32_t)(((fixed >> 23) ^ minus) - minus - (flip & 1));
        f ^= flip & 0x7fffff;
        segment[i] = f >> 17;
        t[i] = f & 0x1ffff;
    }
    interpolate(ex2_table, segment, t, (weights){1 << 14, 2, 12228}, sum);
    LANES {
        uint32_t x = a[i];
        int32_t r = (int32_t)(sum[i] >> 16) + (n[i] + 127) * POW23;
        uint32_t y = mask32(r >= POW23) & (uint32_t)r;
        y = pick32((x & ~SIGN) >= 0x43000000, pick32(x >= SIGN, 0, INFINITE), y); // from 128 on
        d[i] = pick32(nan32(x), NAN32, y);
    }
}
static void lg2(uint32_t *d, const uint32_t *a) {
    uint32_t segment[ORR_WARP], t[ORR_WARP];
    int64_t sum[ORR_WARP];
    LANES {
        segment[i] = FRAC(a[i]) >> 17;
        t[i] = a[i] & 0x1ffff;
    }
    interpolate(lg2_table, segment, t, (weights){1 << 12, 2, 837}, sum);
    LANES {
        uint32_t x = a[i];
        int64_t v = (sum[i] >> 2) + (int64_t)(EXPO(x) - 127) * (1ll << 36), minus = v >> 63;
        uint32_t y = cut(v ^ minus, 0x1p-36) | ((uint32_t)minus & SIGN);
        y = pick32(x == 0x3f800000, 0, y);
        y = pick32(x == INFINITE, x, y);
        y = pick32(x >= SIGN, NAN32, y);
        y = pick32(EXPO(x) == 0, SIGN | INFINITE, y);
        d[i] = pick32(nan32(x), NAN32, y);
    }
}

// ---- circular and hyperbolic ----------------------------------------------------------------
static void circular(uint32_t *d, const uint32_t *a, uint32_t quarter) {
    uint32_t segment[ORR_WARP], t[ORR_WARP], minus[ORR_WARP];
    int64_t sum[ORR_WARP];
    LANES {
        uint32_t x = a[i], m = FRAC(x) | POW23;
        int32_t e = EXPO(x), left = e - 125 > 25 ? 25 : e - 125, right = 125 - e > 31 ? 31 : 125 - e;
        // turns in units of 2^-25, the whole ones lost; from 2^24 on that is all
        uint32_t turn = e >= 125 ? m << (left & 31) : m >> (right & 31);
        uint32_t quadrant = (turn >> 23 & 3) + quarter, at = FRAC(turn) ^ (mask32(quadrant & 1) & 0x7fffff);
        segment[i] = at >> 17;
        t[i] = at & 0x1ffff;
        minus[i] = (quarter ? 0 : x & SIGN) ^ (quadrant & 2) << 30;
    }
    interpolate(sin_table, segment, t, (weights){1 << 12, 1, 0}, sum);
    LANES d[i] = pick32(EXPO(a[i]) == 255, NAN32, minus[i] | cut(sum[i], 0x1p-37));
}
static void tangent(uint32_t *d, const uint32_t *a) {
    static const uint8_t first[11] = {0, 1, 2, 3, 5, 7, 11, 15, 19, 27, 43}; // segment of each octave
    static const uint8_t bits[11] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3};       // and the bits that name others
    uint32_t segment[ORR_WARP], t[ORR_WARP];
    int64_t sum[ORR_WARP];
    for (int i = 0; i < ORR_WARP; i++) {
        int o = EXPO(a[i]) - 119;
        o = o < 0 ? 0 : o > 10 ? 10 : o;
        segment[i] = first[o] + (FRAC(a[i]) >> (23 - bits[o]));
        t[i] = FRAC(a[i]) >> (6 - bits[o]) & 0x1ffff;
    }
    interpolate(tanh_table, segment, t, (weights){1 << 17, 4, 0}, sum);
    LANES {
        uint32_t x = a[i], s = x & SIGN;
        uint32_t y = pick32(EXPO(x) < 119, x, s | cut(sum[i], 0x1p-41));
        y = pick32(EXPO(x) > 129, s | 0x3f800000, y);
        d[i] = pick32(nan32(x), NAN32, y);
    }
}

// ---- narrow formats -------------------------------------------------------------------------
static void cut_f16(uint32_t *d) {
    LANES {
        uint32_t x = d[i], s = x >> 16 & 0x8000, m = x & ~SIGN, right = 126 - (m >> 23);
        uint32_t small = (FRAC(m) | POW23) >> (right > 31 ? 31 : right);
        uint32_t y = pick32(m >= 0x38800000, (m - 0x38000000) >> 13, small);
        y = s | pick32(m >= 0x47800000, 0x7c00, y);
        d[i] = pick32(m > INFINITE, NAN16, y);
    }
}
static void narrow(uint32_t *d, const uint32_t *a, void (*function)(uint32_t *, const uint32_t *), bool f16) {
    if (f16)
        LANES d[i] = f32_from_f16(a[i] & 0xffff);
    else
        LANES d[i] = a[i] << 16;
    function(d, d);
    if (f16)
        cut_f16(d);
    else
        LANES d[i] = pick32(nan32(d[i]), NAN16, d[i] >> 16);
}

void orr_mufu(int function, uint32_t *d, const uint32_t *a) {
    switch (function) {
    case MUFU_COS: circular(d, a, 1); break;
    case MUFU_SIN: circular(d, a, 0); break;
    case MUFU_EX2: ex2(d, a); break;
    case MUFU_LG2: lg2(d, a); break;
    case MUFU_RCP: rcp(d, a); break;
    case MUFU_RSQ: rsq(d, a); break;
    case MUFU_RCP64H: rcp64h(d, a); break;
    case MUFU_RSQ64H: rsq64h(d, a); break;
    case MUFU_SQRT: root(d, a); break;
    case MUFU_TANH: tangent(d, a); break;
    case MUFU_EX2 + MUFU_F16: narrow(d, a, ex2, true); break;
    case MUFU_EX2 + MUFU_BF16: narrow(d, a, ex2, false); break;
    case MUFU_TANH + MUFU_F16: narrow(d, a, tangent, true); break;
    case MUFU_TANH + MUFU_BF16: narrow(d, a, tangent, false); break;
    }
}

// ---- FCHK -----------------------------------------------------------------------------------
// The compiler's short way to a / b: y = 1/b by MUFU, refined once; q = a y; q += (a - b q) y. It is right
// when none of these is near the ends of the exponents. Which are sent the long way was measured on an H200
// by the time a division takes, for every pair of exponents and eleven pairs of mantissas: the exponents
// alone decide.
uint32_t orr_fchk(const uint32_t *a, const uint32_t *b) {
    uint32_t r = 0;
    LANES {
        int32_t ea = EXPO(a[i]), eb = EXPO(b[i]);
        uint32_t near = mask32(ea >= 25) & mask32(ea <= 254) & mask32(eb >= 2) & mask32(eb <= 251) &
                        mask32(ea - eb <= 126) & mask32(eb - ea <= 124);
        r |= ~near & 1u << i;
    }
    return r;
}
