// cvt: every conversion, and cvt.pack.
//
// Manual: PTX ISA, "Data Movement and Conversion Instructions: cvt", "cvt.pack". The conversions that
// compilers emit all the time are SIMD loops; every other one goes through convert(), a value at a
// time: take the source apart, round, clamp, put the result together. A register may be wider than
// the type: the operand's class says how it is stored, and the result is extended by its sign.
#include "exec/ops/softfp.h"

// ---- types ----------------------------------------------------------------------------------
typedef struct ctype {
    uint8_t bits;        // of one element; 0: cvt does not know this type
    uint8_t count;       // elements
    bool sign;           // integers
    const fpformat *fmt; // NULL: an integer
    uint8_t step;        // distance in bits of two elements
    uint8_t shift;       // the element's place in its container: tf32 is the upper 19 bits of a word
} ctype;

static ctype ctype_of(int t) {
    switch (t) {
    case ORR_T_B8:
    case ORR_T_U8: return (ctype){8, 1, false, NULL, 0, 0};
    case ORR_T_S8: return (ctype){8, 1, true, NULL, 0, 0};
    case ORR_T_B16:
    case ORR_T_U16: return (ctype){16, 1, false, NULL, 0, 0};
    case ORR_T_S16: return (ctype){16, 1, true, NULL, 0, 0};
    case ORR_T_B32:
    case ORR_T_U32: return (ctype){32, 1, false, NULL, 0, 0};
    case ORR_T_S32: return (ctype){32, 1, true, NULL, 0, 0};
    case ORR_T_B64:
    case ORR_T_U64: return (ctype){64, 1, false, NULL, 0, 0};
    case ORR_T_S64: return (ctype){64, 1, true, NULL, 0, 0};
    case ORR_T_F16: return (ctype){16, 1, true, &orr_fmt_f16, 0, 0};
    case ORR_T_BF16: return (ctype){16, 1, true, &orr_fmt_bf16, 0, 0};
    case ORR_T_F32: return (ctype){32, 1, true, &orr_fmt_f32, 0, 0};
    case ORR_T_TF32: return (ctype){19, 1, true, &orr_fmt_tf32, 0, 13};
    case ORR_T_F64: return (ctype){64, 1, true, &orr_fmt_f64, 0, 0};
    case ORR_T_F16X2: return (ctype){16, 2, true, &orr_fmt_f16, 16, 0};
    case ORR_T_BF16X2: return (ctype){16, 2, true, &orr_fmt_bf16, 16, 0};
    case ORR_T_E4M3: return (ctype){8, 1, true, &orr_fmt_e4m3, 0, 0};
    case ORR_T_E5M2: return (ctype){8, 1, true, &orr_fmt_e5m2, 0, 0};
    case ORR_T_E4M3X2: return (ctype){8, 2, true, &orr_fmt_e4m3, 8, 0};
    case ORR_T_E5M2X2: return (ctype){8, 2, true, &orr_fmt_e5m2, 8, 0};
    case ORR_T_E2M1X2: return (ctype){4, 2, true, &orr_fmt_e2m1, 4, 0};
    case ORR_T_E2M3X2: return (ctype){6, 2, true, &orr_fmt_e2m3, 8, 0};
    case ORR_T_E3M2X2: return (ctype){6, 2, true, &orr_fmt_e3m2, 8, 0};
    case ORR_T_UE8M0X2: return (ctype){8, 2, false, NULL, 8, 0}; // converted by code of its own
    default: return (ctype){0};
    }
}

ALWAYS uint64_t low_bits(uint64_t x, int n) { return n >= 64 ? x : x & ((1ull << n) - 1); }
ALWAYS uint64_t extend(uint64_t x, int n, bool sign) { // an integer of n bits, as 64
    if (n >= 64) return x;
    return sign ? (uint64_t)((int64_t)(x << (64 - n)) >> (64 - n)) : low_bits(x, n);
}

// ---- one value, any types -------------------------------------------------------------------
// The magnitude is m, the integer negative or not: to n bits, clamped.
static uint64_t clamp_int(bool neg, uint64_t m, bool huge, int n, bool sign) {
    uint64_t max = sign ? (1ull << (n - 1)) - 1 : low_bits(~0ull, n);
    if (neg) {
        if (!sign) return 0;
        return huge || m > max ? -(max + 1) : -m;
    }
    return huge || m > max ? max : m;
}

static uint64_t float_to_int(fpvalue v, const orr_inst *i, ctype s, ctype d) {
    if (v.kind == FP_NAN) // the manual's rule
        return s.bits == 64 || d.bits == 64 ? extend(1ull << (d.bits - 1), d.bits, d.sign) : 0;
    bool rounds = i->round >= ORR_RND_RNI && i->round <= ORR_RND_RPI;
    v = orr_fp_integral(v, rounds ? i->round : ORR_RND_RZI);
    if (v.kind == FP_ZERO) return 0;
    bool huge = v.kind == FP_INF || (v.exp > 0 && (v.exp >= 64 || v.mant >> (64 - v.exp)));
    return clamp_int(v.neg, huge ? 0 : v.mant << v.exp, huge, d.bits, d.sign);
}

static uint64_t to_float(fpvalue v, const orr_inst *i, ctype d) {
    int round = i->round;
    if (round >= ORR_RND_RNI && round <= ORR_RND_RPI) v = orr_fp_integral(v, round), round = ORR_RND_RN;
    if (round == ORR_RND_NONE) round = ORR_RND_RN; // exact
    if (i->mods & ORR_M_SAT) {                     // to [0, 1]; not a number to 0
        bool above = v.kind == FP_INF || (v.kind == FP_FINITE && v.exp + 63 - __builtin_clzll(v.mant) >= 0);
        if (v.neg || v.kind == FP_NAN)
            v = (fpvalue){.kind = FP_ZERO};
        else if (above)
            v = (fpvalue){.kind = FP_FINITE, .mant = 1};
    }
    if ((i->mods & ORR_M_RELU) && v.kind != FP_NAN && v.neg) v = (fpvalue){.kind = FP_ZERO};
    uint64_t r = orr_fp_encode(d.fmt, v, round, i->mods & ORR_M_SATFINITE);
    if (d.fmt == &orr_fmt_f32 && (i->mods & ORR_M_FTZ)) r = flush32((uint32_t)r);
    return r << d.shift;
}

// ue8m0: a power of two without sign, 2^(x - 127); 0xff is NaN
static uint64_t to_ue8m0(fpvalue v, const orr_inst *i) {
    if (v.kind == FP_NAN) return 0xff;
    if (v.kind == FP_INF) return 0xfe;
    if (v.kind == FP_ZERO) return 0;
    int top = 63 - __builtin_clzll(v.mant), e = v.exp + top + 127;
    if (i->round == ORR_RND_RP && (v.mant & ((1ull << top) - 1))) e++;
    return e < 0 ? 0 : e > 0xfe ? 0xfe : (uint64_t)e;
}

static uint64_t nan_between(const fpformat *s, const fpformat *d, uint64_t x) {
    uint64_t sign = x >> (s->ebits + s->fbits) & 1, frac = x & ((1ull << s->fbits) - 1);
    frac = d->fbits >= s->fbits ? frac << (d->fbits - s->fbits) : frac >> (s->fbits - d->fbits);
    frac |= 1ull << (d->fbits - 1);
    return sign << (d->ebits + d->fbits) | ((1ull << d->ebits) - 1) << d->fbits | frac;
}
// .rna was there before the other roundings: it only looks at bits, cutting a NaN short, and .satfinite
// clears the last bit of the exponent of what is too large
static uint64_t tf32_nan(const orr_inst *i, uint32_t x) {
    if (i->round != ORR_RND_RNA) return 0x7fffe000;
    x &= 0xffffe000;
    return i->mods & ORR_M_SATFINITE ? x - 0x2000 : x;
}

// One element: x holds the source's bits, the result is the destination's, extended to 64.
static uint64_t convert(const orr_inst *i, ctype s, ctype d, uint64_t x) {
    fpvalue v;
    x = low_bits(x >> s.shift, s.bits);
    if (i->stype == ORR_T_UE8M0X2) {
        v = x == 0xff ? (fpvalue){.kind = FP_NAN} : (fpvalue){FP_FINITE, false, 1, (int)x - 127};
    } else if (s.fmt) {
        v = orr_fp_decode(s.fmt, x);
        if (s.fmt == &orr_fmt_f32 && (i->mods & ORR_M_FTZ) && !(x & 0x7f800000)) v.kind = FP_ZERO;
    } else {
        x = extend(x, s.bits, s.sign);
        bool neg = s.sign && (int64_t)x < 0;
        if (!d.fmt && i->type != ORR_T_UE8M0X2) {
            if (i->mods & ORR_M_SAT) x = clamp_int(neg, neg ? -x : x, false, d.bits, d.sign);
            return extend(x, d.bits, d.sign);
        }
        v = (fpvalue){x ? FP_FINITE : FP_ZERO, neg, neg ? -x : x, 0};
    }
    if (i->type == ORR_T_UE8M0X2) return to_ue8m0(v, i);
    if (!d.fmt) return float_to_int(v, i, s, d);
    if (v.kind == FP_NAN && !(i->mods & ORR_M_SAT)) {
        if (d.fmt == &orr_fmt_tf32) return tf32_nan(i, (uint32_t)x);
        // from and to f64 sign and payload are handed on, made quiet; .ftz makes an f32 NaN plain first
        if (i->stype == ORR_T_F32 && (i->mods & ORR_M_FTZ)) x = NAN32;
        if (s.bits == 64 || d.bits == 64) return nan_between(s.fmt, d.fmt, x);
    }
    return to_float(v, i, d);
}

static uint64_t load_lane(const warp *w, oper o, int i) {
    switch (o.cls) {
    case ORR_H: return OPER(w, o, uint16_t)[i];
    case ORR_W: return OPER(w, o, uint32_t)[i];
    default: return OPER(w, o, uint64_t)[i];
    }
}
static void store_lane(warp *w, oper o, int i, uint64_t v) {
    switch (o.cls) {
    case ORR_H: OPER(w, o, uint16_t)[i] = (uint16_t)v; break;
    case ORR_W: OPER(w, o, uint32_t)[i] = (uint32_t)v; break;
    default: OPER(w, o, uint64_t)[i] = v; break;
    }
}

static void cvt_any(warp *w, const uop *u) {
    set_exec(w, w->exec); // a full warp leaves `lane` as it was
    const orr_inst *inst = u->inst;
    ctype s = ctype_of(inst->stype), d = ctype_of(inst->type);
    for (int i = 0; i < ORR_WARP; i++) {
        if (!w->lane[i]) continue;
        uint64_t x = load_lane(w, u->a, i), r = 0;
        if (d.count == 1) {
            r = convert(inst, s, d, x);
        } else if (u->nsrc > 1) { // d, a, b: a becomes the upper element
            uint64_t y = load_lane(w, u->b, i);
            r = convert(inst, s, d, x) << d.step | convert(inst, s, d, y);
        } else {
            r = convert(inst, s, d, x >> s.step) << d.step | convert(inst, s, d, x);
        }
        store_lane(w, u->d, i, r);
    }
}

// ---- integers, in SIMD ----------------------------------------------------------------------
// From every stored type to the destinations that fill their register. X(name, storage, value type)
#define INT_SOURCES(X)                                                                                       \
    X(hu8, 16, uint8_t)                                                                                      \
    X(hs8, 16, int8_t)                                                                                       \
    X(hu16, 16, uint16_t)                                                                                    \
    X(hs16, 16, int16_t)                                                                                     \
    X(wu8, 32, uint8_t)                                                                                      \
    X(ws8, 32, int8_t)                                                                                       \
    X(wu16, 32, uint16_t)                                                                                    \
    X(ws16, 32, int16_t)                                                                                     \
    X(wu32, 32, uint32_t)                                                                                    \
    X(ws32, 32, int32_t)                                                                                     \
    X(du8, 64, uint8_t)                                                                                      \
    X(ds8, 64, int8_t)                                                                                       \
    X(du16, 64, uint16_t)                                                                                    \
    X(ds16, 64, int16_t)                                                                                     \
    X(du32, 64, uint32_t)                                                                                    \
    X(ds32, 64, int32_t)                                                                                     \
    X(du64, 64, uint64_t)
#define INTS(src, N, T)                                                                                      \
    LOOP1(to_u8_##src, 16, N, (uint8_t)(T)x)                                                                 \
    LOOP1(to_s8_##src, 16, N, (uint16_t)(int8_t)(T)x)                                                        \
    LOOP1(to_16_##src, 16, N, (uint16_t)(T)x)                                                                \
    LOOP1(to_32_##src, 32, N, (uint32_t)(T)x)                                                                \
    LOOP1(to_64_##src, 64, N, (uint64_t)(T)x)
INT_SOURCES(INTS)

static handlers pick_ints(const orr_kernel *k, const orr_inst *i, ctype s, ctype d) {
#define ROW(src, N, T)                                                                                       \
    {PAIR(to_u8_##src), PAIR(to_s8_##src), PAIR(to_16_##src), PAIR(to_32_##src), PAIR(to_64_##src)},
    static const handlers table[][5] = {INT_SOURCES(ROW)};
#undef ROW
    int sc = orr_src(k, i, 0)->cls, dc = orr_dst(k, i, 0)->cls;
    int column = d.bits == 8 && dc == ORR_H    ? d.sign
                 : d.bits == 16 && dc == ORR_H ? 2
                 : d.bits == 32 && dc == ORR_W ? 3
                 : d.bits == 64                ? 4
                                               : -1;
    int row = (sc == ORR_H   ? 0
               : sc == ORR_W ? 4
                             : 10) +
              (s.bits == 8    ? 0
               : s.bits == 16 ? 2
               : s.bits == 32 ? 4
                              : 6) +
              s.sign;
    if (s.bits == 64) row = 16;
    if (column < 0 || (i->mods & ORR_M_SAT)) return (handlers){cvt_any, cvt_any};
    return table[row][column];
}

// ---- floats, in SIMD ------------------------------------------------------------------------
// To integers. The value is rounded first; what does not fit is replaced before the cast.
ALWAYS uint32_t s32_from(float f) {
    bool over = f >= 0x1p31f, under = f < -0x1p31f, fits = (f < 0x1p31f) & (f >= -0x1p31f);
    int32_t v = (int32_t)f32_of(mask32(fits) & bits32(f));
    return pick32(over, 0x7fffffff, pick32(under, 0x80000000, (uint32_t)v));
}
ALWAYS uint32_t u32_from(float f) {
    bool fits = (f < 0x1p32f) & (f > 0);
    return (uint32_t)f32_of(mask32(fits) & bits32(f)) | mask32(f >= 0x1p32f);
}
ALWAYS uint32_t s32_from64(double f) {
    bool over = f >= 0x1p31, fits = (f < 0x1p31) & (f >= -0x1p31);
    uint64_t v = (uint64_t)(int64_t)(int32_t)f64_of(mask64(fits) & bits64(f));
    return (uint32_t)pick64(over, 0x7fffffff, pick64(fits, v, 0x80000000)); // NaN too: 0x80000000
}
ALWAYS uint32_t u32_from64(double f) {
    bool fits = (f < 0x1p32) & (f > 0);
    uint64_t v = (uint64_t)(int64_t)f64_of(mask64(fits) & bits64(f));
    return (uint32_t)(v | (mask64(f >= 0x1p32) & 0xffffffff) | (mask64(f != f) & 0x80000000));
}
ALWAYS uint64_t s64_from64(double f) {
    bool over = f >= 0x1p63, fits = (f < 0x1p63) & (f >= -0x1p63);
    uint64_t v = (uint64_t)(int64_t)f64_of(mask64(fits) & bits64(f));
    return pick64(over, SIGN64 - 1, pick64(fits, v, SIGN64));
}
ALWAYS uint64_t u64_from64(double f) {
    bool fits = (f < 0x1p64) & (f > 0);
    uint64_t v = (uint64_t)f64_of(mask64(fits) & bits64(f));
    return v | mask64(f >= 0x1p64) | (mask64(f != f) & SIGN64);
}
#define ROUNDINGS(X)                                                                                         \
    X(rni, rint)                                                                                             \
    X(rzi, trunc)                                                                                            \
    X(rmi, floor)                                                                                            \
    X(rpi, ceil)
#define TO_INT(r, fn)                                                                                        \
    LOOP1(s32_f32_##r, 32, 32, s32_from(__builtin_##fn##f(f32_of(x))))                                       \
    LOOP1(u32_f32_##r, 32, 32, u32_from(__builtin_##fn##f(f32_of(x))))                                       \
    LOOP1(s64_f32_##r, 64, 32, s64_from64(__builtin_##fn##f(f32_of(x))))                                     \
    LOOP1(u64_f32_##r, 64, 32, u64_from64(__builtin_##fn##f(f32_of(x))))                                     \
    LOOP1(s32_f64_##r, 32, 64, s32_from64(__builtin_##fn(f64_of(x))))                                        \
    LOOP1(u32_f64_##r, 32, 64, u32_from64(__builtin_##fn(f64_of(x))))                                        \
    LOOP1(s64_f64_##r, 64, 64, s64_from64(__builtin_##fn(f64_of(x))))                                        \
    LOOP1(u64_f64_##r, 64, 64, u64_from64(__builtin_##fn(f64_of(x))))                                        \
    LOOP1(f32_f32_##r, 32, 32, out32(__builtin_##fn##f(f32_of(x)), 0, 0))                                    \
    LOOP1(f32z_f32_##r, 32, 32, out32(__builtin_##fn##f(f32_of(flush32(x))), 1, 0))                          \
    LOOP1(s32z_f32_##r, 32, 32, s32_from(__builtin_##fn##f(f32_of(flush32(x)))))                             \
    LOOP1(u32z_f32_##r, 32, 32, u32_from(__builtin_##fn##f(f32_of(flush32(x)))))
ROUNDINGS(TO_INT)

// From integers, to nearest
LOOP1(f32_s32, 32, 32, bits32((float)(int32_t)x))
LOOP1(f32_u32, 32, 32, bits32((float)x))
LOOP1(f32_s64, 32, 64, bits32((float)(int64_t)x))
LOOP1(f32_u64, 32, 64, bits32((float)x))
LOOP1(f64_s32, 64, 32, bits64((double)(int32_t)x))
LOOP1(f64_u32, 64, 32, bits64((double)x))
LOOP1(f64_s64, 64, 64, bits64((double)(int64_t)x))
LOOP1(f64_u64, 64, 64, bits64((double)x))
LOOP1(f32_s16, 32, 16, bits32((float)(int16_t)x))
LOOP1(f32_u16, 32, 16, bits32((float)x))

// Between floats
ALWAYS uint64_t f64_from_f32(uint32_t x) {
    uint64_t nan = (uint64_t)(x & 0x80000000) << 32 | 0x7ff8000000000000ull | (uint64_t)(x & 0x7fffff) << 29;
    return pick64(nan32(x), nan, bits64((double)f32_of(x)));
}
LOOP1(f64_f32, 64, 32, f64_from_f32(x))
LOOP1(f64_f32z, 64, 32, f64_from_f32(pick32(nan32(x), NAN32, flush32(x))))
ALWAYS uint32_t f32_from_f64(uint64_t x, int ftz) {
    uint32_t nan = (uint32_t)(x >> 32 & 0x80000000) | 0x7fc00000 | (uint32_t)(x >> 29 & 0x3fffff);
    return (uint32_t)pick64(nan64(x), nan, out32((float)f64_of(x), ftz, 0));
}
LOOP1(f32_f64, 32, 64, f32_from_f64(x, 0))
LOOP1(f32z_f64, 32, 64, f32_from_f64(x, 1))
LOOP1(f32_f32, 32, 32, out32(f32_of(x), 0, 0))
LOOP1(f32_f32z, 32, 32, out32(f32_of(flush32(x)), 1, 0))
LOOP1(f32_f32_sat, 32, 32, out32(f32_of(x), 0, 1))
LOOP1(f32_f32z_sat, 32, 32, out32(f32_of(flush32(x)), 1, 1))
LOOP1(f32_f16, 32, 16, pick32((x & 0x7fffu) > 0x7c00, NAN32, f32_from_f16(x)))
LOOP1(f16_f32, 16, 32, f16_from_f32(x))
LOOP1(f32_bf16, 32, 16, f32_from_bf16(x))
LOOP1(bf16_f32, 16, 32, bf16_from_f32(x))
LOOP2(f16x2_f32, 32, f16_from_f32(x) << 16 | f16_from_f32(y))
LOOP2(bf16x2_f32, 32, bf16_from_f32(x) << 16 | bf16_from_f32(y))

static handlers pick_float_to_int(const orr_inst *i, ctype s, ctype d) {
    bool ftz = i->mods & ORR_M_FTZ;
    int r = i->round == ORR_RND_RNI ? 0 : i->round == ORR_RND_RMI ? 2 : i->round == ORR_RND_RPI ? 3 : 1;
#define ROW(r, fn)                                                                                           \
    {PAIR(s32_f32_##r), PAIR(u32_f32_##r), PAIR(s64_f32_##r), PAIR(u64_f32_##r),  PAIR(s32_f64_##r),         \
     PAIR(u32_f64_##r), PAIR(s64_f64_##r), PAIR(u64_f64_##r), PAIR(s32z_f32_##r), PAIR(u32z_f32_##r)},
    static const handlers table[4][10] = {ROUNDINGS(ROW)};
#undef ROW
    if (d.bits < 32 || (s.fmt != &orr_fmt_f32 && s.fmt != &orr_fmt_f64)) return (handlers){cvt_any, cvt_any};
    if (ftz && s.bits == 32) return d.bits == 32 ? table[r][8 + !d.sign] : (handlers){cvt_any, cvt_any};
    return table[r][(s.bits == 64 ? 4 : 0) + (d.bits == 64 ? 2 : 0) + !d.sign];
}

// The loops below read and write registers of exactly their types' widths, round to nearest, and know
// no other modifier than the one handled.
static handlers pick_to_float(const orr_inst *i) {
#define KEY(d, s) (ORR_T_##d * ORR_T_COUNT + ORR_T_##s)
    int key = i->type * ORR_T_COUNT + i->stype;
    uint32_t mods = i->mods & (ORR_M_FTZ | ORR_M_SAT | ORR_M_RELU | ORR_M_SATFINITE);
    bool integral = i->round >= ORR_RND_RNI && i->round <= ORR_RND_RPI;
    if (key == KEY(F32, F32)) {
#define ROW(r, fn) {PAIR(f32_f32_##r), PAIR(f32z_f32_##r)},
        static const handlers table[4][2] = {ROUNDINGS(ROW)};
#undef ROW
        if (integral && !(mods & ~ORR_M_FTZ)) return table[i->round - ORR_RND_RNI][mods == ORR_M_FTZ];
        if (integral) return (handlers){0};
        if (mods == 0) return PAIR(f32_f32);
        if (mods == ORR_M_FTZ) return PAIR(f32_f32z);
        if (mods == ORR_M_SAT) return PAIR(f32_f32_sat);
        if (mods == (ORR_M_FTZ | ORR_M_SAT)) return PAIR(f32_f32z_sat);
    }
    if (i->round != ORR_RND_NONE && i->round != ORR_RND_RN) return (handlers){0};
    if (mods == ORR_M_FTZ) {
        switch (key) { // flushing cannot be seen in the others
        case KEY(F64, F32): return PAIR(f64_f32z);
        case KEY(F32, F64): return PAIR(f32z_f64);
        case KEY(F32, F16): return PAIR(f32_f16);
        case KEY(F16, F32): return PAIR(f16_f32);
        case KEY(F16X2, F32): return PAIR(f16x2_f32);
        }
    }
    if (mods) return (handlers){0};
    switch (key) {
    case KEY(F32, S32): return PAIR(f32_s32);
    case KEY(F32, U32): return PAIR(f32_u32);
    case KEY(F32, S64): return PAIR(f32_s64);
    case KEY(F32, U64): return PAIR(f32_u64);
    case KEY(F32, S16): return PAIR(f32_s16);
    case KEY(F32, U16): return PAIR(f32_u16);
    case KEY(F64, S32): return PAIR(f64_s32);
    case KEY(F64, U32): return PAIR(f64_u32);
    case KEY(F64, S64): return PAIR(f64_s64);
    case KEY(F64, U64): return PAIR(f64_u64);
    case KEY(F64, F32): return PAIR(f64_f32);
    case KEY(F32, F64): return PAIR(f32_f64);
    case KEY(F32, F16): return PAIR(f32_f16);
    case KEY(F16, F32): return PAIR(f16_f32);
    case KEY(F32, BF16): return PAIR(f32_bf16);
    case KEY(BF16, F32): return PAIR(bf16_f32);
    case KEY(F16X2, F32): return PAIR(f16x2_f32);
    case KEY(BF16X2, F32): return PAIR(bf16x2_f32);
    }
    return (handlers){0};
}

// ---- cvt.pack -------------------------------------------------------------------------------
// Two saturated elements, a above b; c, where given, is shifted in above them.
static void cvt_pack(warp *w, const uop *u) {
    set_exec(w, w->exec); // a full warp leaves `lane` as it was
    const uint32_t *a = SRC_A(w, u, uint32_t), *b = SRC_B(w, u, uint32_t);
    const uint32_t *c = u->nsrc > 2 ? SRC_C(w, u, uint32_t) : NULL;
    uint32_t *d = DST(w, u, uint32_t);
    int bits = (int)u->imm;
    int t = u->inst->type;
    bool sign = t == ORR_T_S16 || t == ORR_T_S8 || t == ORR_T_S4 || t == ORR_T_S32;
    bool from_signed = u->inst->stype != ORR_T_U32;
    for (int i = 0; i < ORR_WARP; i++) {
        bool na = from_signed && (int32_t)a[i] < 0, nb = from_signed && (int32_t)b[i] < 0;
        uint64_t hi = low_bits(clamp_int(na, na ? -a[i] : a[i], false, bits, sign), bits);
        uint64_t lo = low_bits(clamp_int(nb, nb ? -b[i] : b[i], false, bits, sign), bits);
        uint64_t r = hi << bits | lo;
        if (c) r |= (uint64_t)c[i] << (2 * bits);
        d[i] = keep32(w->lane[i], (uint32_t)r, d[i]);
    }
}

// ---- picking --------------------------------------------------------------------------------
static bool fills(const orr_operand *o, int type) { // the register is as wide as the type
    ctype t = ctype_of(type);
    int bits = t.shift ? 32 : t.count > 1 ? t.step * 2 : t.bits;
    return o->kind != ORR_K_NONE && (o->cls == ORR_H   ? bits == 16
                                     : o->cls == ORR_W ? bits == 32
                                                       : o->cls == ORR_D && bits == 64);
}
static bool holds(const orr_operand *o, int type) {
    ctype t = ctype_of(type);
    int bits = t.shift ? 32 : t.count > 1 ? t.step * 2 : t.bits;
    return o->kind != ORR_K_NONE && bits <= (o->cls == ORR_H   ? 16
                                             : o->cls == ORR_W ? 32
                                             : o->cls == ORR_D ? 64
                                                               : 0);
}

handlers orr_pick_cvt(const orr_kernel *k, const orr_inst *i, const char **why) {
    if (i->op == ORR_OP_MOV) return orr_pick_mov(k, i, why);
    if (i->op == ORR_OP_CVTPACK) {
        bool ok = i->nsrc >= 2 && i->nsrc <= 3 && i->ndst == 1;
        for (int n = 0; ok && n < i->nsrc + 1; n++) ok = k->operands[i->first + n].cls == ORR_W;
        ok = ok && (i->imm == 2 || i->imm == 4 || i->imm == 8 || i->imm == 16);
        if (!ok) *why = "this form of cvt.pack";
        return ok ? (handlers){cvt_pack, cvt_pack} : (handlers){0};
    }
    if (i->op != ORR_OP_CVT || i->ndst != 1 || i->nsrc < 1) return (handlers){0};
    ctype s = ctype_of(i->stype), d = ctype_of(i->type);
    const orr_operand *dst = orr_dst(k, i, 0);
    bool fill = fills(dst, i->type);
    if (!s.bits || !d.bits || i->round == ORR_RND_RS || i->nsrc > 2 || !holds(dst, i->type) ||
        (i->nsrc == 2 && d.count != 2) || (i->nsrc == 1 && s.count != d.count)) {
        *why = "this conversion";
        return (handlers){0};
    }
    for (int n = 0; n < i->nsrc; n++) {
        if (!holds(orr_src(k, i, n), i->stype)) {
            *why = "conversion from a register narrower than its type";
            return (handlers){0};
        }
        fill = fill && fills(orr_src(k, i, n), i->stype);
    }
    bool ints = !s.fmt && !d.fmt && d.count == 1 && s.count == 1;
    if (ints) return pick_ints(k, i, s, d);
    handlers h = {0};
    if (fill) h = d.fmt ? pick_to_float(i) : pick_float_to_int(i, s, d);
    return h.full ? h : (handlers){cvt_any, cvt_any};
}
