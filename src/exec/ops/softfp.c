// Every floating-point format, one value at a time: take it apart, round it, put it together.
//
// The conversions that no SIMD loop exists for go through here, and the tests hold the SIMD loops
// against it.
#include "exec/ops/softfp.h"

const fpformat orr_fmt_f16 = {5, 10, true, true}, orr_fmt_bf16 = {8, 7, true, true},
               orr_fmt_tf32 = {8, 10, true, true}, orr_fmt_f32 = {8, 23, true, true},
               orr_fmt_f64 = {11, 52, true, true}, orr_fmt_e4m3 = {4, 3, false, true},
               orr_fmt_e5m2 = {5, 2, true, true}, orr_fmt_e2m1 = {2, 1, false, false},
               orr_fmt_e2m3 = {2, 3, false, false}, orr_fmt_e3m2 = {3, 2, false, false};

fpvalue orr_fp_decode(const fpformat *f, uint64_t bits) {
    uint64_t frac = bits & ((1ull << f->fbits) - 1);
    int emax = (1 << f->ebits) - 1, bias = emax >> 1;
    int e = (int)(bits >> f->fbits) & emax;
    fpvalue v = {FP_FINITE, bits >> (f->ebits + f->fbits) & 1, frac, 1 - bias - f->fbits};
    if (f->inf && e == emax) {
        v.kind = frac ? FP_NAN : FP_INF;
    } else if (!f->inf && f->nan && e == emax && frac == (1ull << f->fbits) - 1) {
        v.kind = FP_NAN;
    } else if (e) {
        v.mant |= 1ull << f->fbits;
        v.exp += e - 1;
    } else if (!frac) {
        v.kind = FP_ZERO;
    }
    return v;
}

// Drop the last n bits of m as the rounding asks; neg is the sign of the value.
static uint64_t round_off(uint64_t m, int n, bool neg, int round) {
    if (n <= 0) return m;
    uint64_t q = n > 63 ? 0 : m >> n;
    uint64_t rest = n > 63 ? m : m & ((1ull << n) - 1); // compared with half a unit below
    if (!rest) return q;
    // A shift by more than 64 leaves less than half a unit of any m
    int half = n > 64    ? -1
               : n == 64 ? (m > 1ull << 63) - (m < 1ull << 63)
                         : (rest > 1ull << (n - 1)) - (rest < 1ull << (n - 1));
    bool up = false;
    switch (round) {
    case ORR_RND_RN:
    case ORR_RND_RNI: up = half > 0 || (half == 0 && (q & 1)); break;
    case ORR_RND_RNA: up = half >= 0; break;
    case ORR_RND_RM:
    case ORR_RND_RMI: up = neg; break;
    case ORR_RND_RP:
    case ORR_RND_RPI: up = !neg; break;
    default: break; // towards zero
    }
    return q + up;
}

uint64_t orr_fp_encode(const fpformat *f, fpvalue v, int round, bool finite) {
    int emax = (1 << f->ebits) - 1, bias = emax >> 1;
    uint64_t sign = (uint64_t)v.neg << (f->ebits + f->fbits);
    uint64_t ones = (1ull << (f->ebits + f->fbits)) - 1;
    uint64_t inf = (uint64_t)emax << f->fbits;
    uint64_t max = f->inf ? inf - 1 : f->nan ? ones - 1 : ones;
    bool away = round == ORR_RND_RN || round == ORR_RND_RNA || round == (v.neg ? ORR_RND_RM : ORR_RND_RP);
    uint64_t beyond = finite || !f->nan ? max : f->inf ? inf : ones; // in place of infinity
    if (v.kind == FP_NAN) return f->nan ? ones : max;
    if (v.kind == FP_INF) return sign | beyond;
    if (v.kind == FP_ZERO) return sign;
    // bring the leading bit to fbits, or the last bit to the place of the smallest subnormal
    int drop = 63 - __builtin_clzll(v.mant) - f->fbits;
    int least = 1 - bias - f->fbits;
    if (v.exp + drop < least) drop = least - v.exp;
    uint64_t m = drop >= 0 ? round_off(v.mant, drop, v.neg, round) : v.mant << -drop;
    int e = v.exp + drop - least;               // 0: the smallest binade
    uint64_t r = m + ((uint64_t)e << f->fbits); // a carry moves into the exponent by itself
    if (e > emax || r > max) r = away ? beyond : max;
    return sign | r;
}

fpvalue orr_fp_integral(fpvalue v, int round) {
    if (v.kind != FP_FINITE || v.exp >= 0) return v;
    v.mant = round_off(v.mant, -v.exp, v.neg, round);
    v.exp = 0;
    if (!v.mant) v.kind = FP_ZERO;
    return v;
}
