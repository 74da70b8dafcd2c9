// cvt, cvt.pack and mov, against definitions: what each bit pattern is worth, and the rule that a
// rounding takes the nearest (or next lower, next upper) of the values a format has.
#include "exec_rig.h"
#include <math.h>

// ---- formats by definition ------------------------------------------------------------------
typedef struct format {
    int type, e, f;
    bool inf, nan;
    int bits;
} format;
static const format F16 = {ORR_T_F16, 5, 10, true, true, 16}, BF16 = {ORR_T_BF16, 8, 7, true, true, 16},
                    E4M3 = {ORR_T_E4M3X2, 4, 3, false, true, 8}, E5M2 = {ORR_T_E5M2X2, 5, 2, true, true, 8},
                    E2M1 = {ORR_T_E2M1X2, 2, 1, false, false, 4},
                    E2M3 = {ORR_T_E2M3X2, 2, 3, false, false, 6},
                    E3M2 = {ORR_T_E3M2X2, 3, 2, false, false, 6};

static double worth(format t, uint32_t x) {
    int e = (int)(x >> t.f & ((1u << t.e) - 1)), top = (1 << t.e) - 1, bias = top / 2;
    uint32_t f = x & ((1u << t.f) - 1);
    double s = x >> (t.e + t.f) & 1 ? -1 : 1;
    if (t.inf && e == top) return f ? NAN : s * INFINITY;
    if (!t.inf && t.nan && e == top && f == (1u << t.f) - 1) return NAN;
    return s * (e ? ldexp(1 + ldexp(f, -t.f), e - bias) : ldexp(f, 1 - bias - t.f));
}
// The pattern of the largest finite number; positive numbers are ordered like their patterns.
static uint32_t largest(format t) {
    uint32_t ones = (1u << (t.e + t.f)) - 1;
    return t.inf ? (ones >> t.f << t.f) - 1 : t.nan ? ones - 1 : ones;
}
static uint32_t nearest(format t, double x, int round, bool finite) {
    uint32_t sign = signbit(x) ? 1u << (t.e + t.f) : 0, max = largest(t);
    if (isnan(x)) return t.nan ? (1u << (t.e + t.f)) - 1 : max;
    double a = fabs(x);
    uint32_t lo = 0, hi = max; // the last pattern that is worth at most a
    if (isinf(x)) return sign | (finite || !t.nan ? max : max + 1);
    while (lo < hi) {
        uint32_t mid = (lo + hi + 1) / 2;
        if (worth(t, mid) <= a)
            lo = mid;
        else
            hi = mid - 1;
    }
    double below = worth(t, lo);
    if (below == a) return sign | lo;
    // the step above; past the largest it is as wide as the last
    double above = lo < max ? worth(t, lo + 1) : below + (below - worth(t, lo - 1));
    bool up = false;
    switch (round) {
    case ORR_RND_RN: up = a - below > above - a || (a - below == above - a && (lo & 1)); break;
    case ORR_RND_RNA: up = a - below >= above - a; break;
    case ORR_RND_RM: up = sign; break;
    case ORR_RND_RP: up = !sign; break;
    }
    lo += up;
    if (lo > max && (finite || !t.nan)) lo = max;
    return sign | lo;
}

static uint64_t get(const void *p, int cls, int i) {
    return cls == ORR_D   ? ((const uint64_t *)p)[i]
           : cls == ORR_W ? ((const uint32_t *)p)[i]
                          : ((const uint16_t *)p)[i];
}
static void set(void *p, int cls, int i, uint64_t v) {
    if (cls == ORR_D)
        ((uint64_t *)p)[i] = v;
    else if (cls == ORR_W)
        ((uint32_t *)p)[i] = (uint32_t)v;
    else
        ((uint16_t *)p)[i] = (uint16_t)v;
}
static int class_of(int bits) { return bits <= 16 ? ORR_H : bits == 32 ? ORR_W : ORR_D; }
static double f32_value(uint32_t x) {
    float f;
    memcpy(&f, &x, 4);
    return f;
}
static double f64_value(uint64_t x) {
    double f;
    memcpy(&f, &x, 8);
    return f;
}
static uint32_t bits_of(float f) {
    uint32_t x;
    memcpy(&x, &f, 4);
    return x;
}
static uint64_t bits_of64(double f) {
    uint64_t x;
    memcpy(&x, &f, 8);
    return x;
}

// 32 conversions at once; in and out are 64-bit patterns.
static void convert(int dtype, int dcls, int stype, int scls, int round, uint32_t mods, const uint64_t *in,
                    uint64_t *out) {
    rig r;
    rig_begin(&r, ORR_OP_CVT, dtype);
    r.inst.stype = (uint8_t)stype;
    r.inst.round = (uint8_t)round;
    r.inst.mods = mods;
    void *d = rig_dst(&r, dcls), *a = rig_src(&r, scls);
    for (int i = 0; i < 32; i++) set(a, scls, i, in[i]), set(d, dcls, i, 0x77);
    rig_run(&r, orr_pick_cvt, 0xfffefffe);
    assert_int_equal(get(d, dcls, 0), 0x77);
    for (int i = 0; i < 32; i++) set(a, scls, i, in[i]);
    rig_exec(&r, ~0u);
    for (int i = 0; i < 32; i++) out[i] = get(d, dcls, i);
}
static void must(const char *what, uint64_t in, uint64_t got, uint64_t want) {
    if (got != want)
        fail_msg("%s of %llx: %llx, not %llx", what, (unsigned long long)in, (unsigned long long)got,
                 (unsigned long long)want);
}

// ---- 16-bit floats --------------------------------------------------------------------------
static void all_halves(void **state) {
    (void)state;
    uint64_t in[32], out[32];
    for (uint32_t h = 0; h < 65536; h += 32) {
        for (int i = 0; i < 32; i++) in[i] = h + (uint32_t)i;
        for (int wide = 0; wide < 2; wide++) { // the register's own width, and a wider one
            convert(ORR_T_F32, ORR_W, ORR_T_F16, wide ? ORR_W : ORR_H, ORR_RND_NONE, 0, in, out);
            for (int i = 0; i < 32; i++) {
                double v = worth(F16, (uint32_t)in[i]);
                must("f32.f16", in[i], out[i], isnan(v) ? 0x7fffffff : bits_of((float)v));
            }
        }
        convert(ORR_T_F16, ORR_H, ORR_T_F32, ORR_W, ORR_RND_RN, 0, out, out);
        for (int i = 0; i < 32; i++)
            must("f16.f32 and back", in[i], out[i], isnan(worth(F16, (uint32_t)in[i])) ? 0x7fff : in[i]);
        convert(ORR_T_F64, ORR_D, ORR_T_F16, ORR_H, ORR_RND_NONE, 0, in, out);
        for (int i = 0; i < 32; i++)
            if (!isnan(worth(F16, (uint32_t)in[i])))
                must("f64.f16", in[i], out[i], bits_of64(worth(F16, (uint32_t)in[i])));
        convert(ORR_T_F32, ORR_W, ORR_T_BF16, ORR_H, ORR_RND_NONE, 0, in, out);
        for (int i = 0; i < 32; i++)
            if (!isnan(worth(BF16, (uint32_t)in[i])))
                must("f32.bf16", in[i], out[i], bits_of((float)worth(BF16, (uint32_t)in[i])));
    }
}
static uint32_t some_f32(uint64_t *seed, int k) { // around 16-bit ties, subnormals, limits
    uint64_t r = rig_random(seed);
    uint32_t sign = (uint32_t)(r >> 63) << 31;
    switch (k % 6) {
    case 0: return (uint32_t)r;
    case 1: return sign | (0x38000000 + (uint32_t)(r % 0x10000000)); // f16's numbers
    case 2:
        return sign | ((0x33000000 + (uint32_t)(r % 0x15000000)) & ~0xfffu) |
               ((uint32_t)(r >> 40) % 3 - 1 + 0x1000) % 0x2000;
    case 3: return sign | (uint32_t)(r % 0x01000000); // f32's subnormals
    case 4: return sign | (0x477fe000 + (uint32_t)(r % 0x3000));
    default: return sign | (0x7f7f0000 + (uint32_t)(r % 0x20000));
    }
}
static void to_narrow(void **state) {
    (void)state;
    static const int rounds[] = {ORR_RND_RN, ORR_RND_RZ, ORR_RND_RM, ORR_RND_RP};
    uint64_t seed = 7, in[32], out[32];
    for (int n = 0; n < 150; n++) {
        for (int i = 0; i < 32; i++) in[i] = some_f32(&seed, n + i);
        for (int k = 0; k < 4; k++) {
            for (int b = 0; b < 2; b++) {
                format t = b ? BF16 : F16;
                convert(t.type, ORR_H, ORR_T_F32, ORR_W, rounds[k], 0, in, out);
                for (int i = 0; i < 32; i++)
                    must("16 bit from f32", in[i], out[i],
                         nearest(t, f32_value((uint32_t)in[i]), rounds[k], false));
            }
        }
        convert(ORR_T_F16, ORR_W, ORR_T_F32, ORR_W, ORR_RND_RN, 0, in, out); // the general path
        for (int i = 0; i < 32; i++)
            must("f16.f32 in 32 bits", in[i], out[i],
                 nearest(F16, f32_value((uint32_t)in[i]), ORR_RND_RN, false));
        convert(ORR_T_F16, ORR_H, ORR_T_F32, ORR_W, ORR_RND_RN, ORR_M_SATFINITE, in, out);
        for (int i = 0; i < 32; i++)
            must("satfinite", in[i], out[i], nearest(F16, f32_value((uint32_t)in[i]), ORR_RND_RN, true));
        for (int i = 0; i < 32; i++)
            in[i] = bits_of64(f32_value((uint32_t)in[i]) * (1 + (double)(i % 3 - 1) * 0x1p-50));
        convert(ORR_T_F16, ORR_H, ORR_T_F64, ORR_D, ORR_RND_RN, 0, in, out);
        for (int i = 0; i < 32; i++)
            if (!isnan(f64_value(in[i])))
                must("f16.f64", in[i], out[i], nearest(F16, f64_value(in[i]), ORR_RND_RN, false));
    }
}
static void tf32(void **state) {
    (void)state;
    static const struct {
        int round;
        uint32_t mods, x, want;
    } rows[] = {{ORR_RND_RNA, 0, 0x3f801000, 0x3f802000},
                {ORR_RND_RNA, 0, 0x3f800fff, 0x3f800000}, // a tie goes away
                {ORR_RND_RN, 0, 0x3f801000, 0x3f800000},
                {ORR_RND_RN, 0, 0x3f803000, 0x3f804000}, // or to even
                {ORR_RND_RZ, 0, 0x3f801fff, 0x3f800000},
                {ORR_RND_RNA, 0, 0xbf801000, 0xbf802000},
                {ORR_RND_RNA, 0, 0x7f800000, 0x7f800000},
                {ORR_RND_RNA, 0, 0x7fc00005, 0x7fc00000},
                {ORR_RND_RN, 0, 0xffc00005, 0x7fffe000},
                {ORR_RND_RN, ORR_M_RELU, 0xbf800000, 0},
                {ORR_RND_RN, ORR_M_SATFINITE, 0x7f7fffff, 0x7f7fe000},
                {ORR_RND_RN, 0, 0x7f7fffff, 0x7f800000}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        uint64_t in[32] = {0, rows[k].x}, out[32];
        convert(ORR_T_TF32, ORR_W, ORR_T_F32, ORR_W, rows[k].round, rows[k].mods, in, out);
        must("tf32", in[1], out[1], rows[k].want);
    }
}
static void packed(void **state) {
    (void)state;
    rig r;
    rig_begin(&r, ORR_OP_CVT, ORR_T_F16X2);
    r.inst.stype = ORR_T_F32;
    r.inst.round = ORR_RND_RN;
    uint32_t *d = rig_dst(&r, ORR_W);
    float *a = rig_src(&r, ORR_W), *b = rig_src(&r, ORR_W);
    for (int i = 0; i < 32; i++) a[i] = 1, b[i] = -2;
    rig_run(&r, orr_pick_cvt, ~0u);
    assert_int_equal(d[0], 0x3c00c000); // a above
    r.inst.mods = ORR_M_RELU;
    rig_run(&r, orr_pick_cvt, ~0u);
    assert_int_equal(d[0], 0x3c000000);
    r.inst.mods = 0;
    r.inst.type = ORR_T_BF16X2;
    rig_run(&r, orr_pick_cvt, ~0u);
    assert_int_equal(d[0], 0x3f80c000);
}

// ---- 8, 6 and 4 bits ------------------------------------------------------------------------
static void tiny(void **state) {
    (void)state;
    static const format *const formats[] = {&E4M3, &E5M2, &E2M1, &E2M3, &E3M2};
    // the manual's largest numbers
    static const double max[] = {448, 57344, 6, 7.5, 28};
    uint64_t seed = 11;
    for (size_t k = 0; k < 5; k++) {
        format t = *formats[k];
        int step = t.bits == 4 ? 4 : 8;
        assert_true(worth(t, largest(t)) == max[k]);
        for (uint32_t x = 0; x < 1u << t.bits; x += 2) { // every value, two at a time, into f16
            uint64_t in[32] = {0, x | (x + 1) << step}, out[32];
            convert(ORR_T_F16X2, ORR_W, t.type, ORR_H, ORR_RND_RN, 0, in, out);
            uint32_t lo = isnan(worth(t, x)) ? 0x7fff : nearest(F16, worth(t, x), ORR_RND_RN, false);
            uint32_t hi = isnan(worth(t, x + 1)) ? 0x7fff : nearest(F16, worth(t, x + 1), ORR_RND_RN, false);
            must("f16x2 from tiny", in[1], out[1], lo | hi << 16);
        }
        for (int n = 0; n < 2000; n++) { // from f32, two sources
            rig r;
            rig_begin(&r, ORR_OP_CVT, t.type);
            r.inst.stype = ORR_T_F32;
            r.inst.round = ORR_RND_RN;
            r.inst.mods = ORR_M_SATFINITE;
            uint16_t *d = rig_dst(&r, ORR_H);
            float *a = rig_src(&r, ORR_W), *b = rig_src(&r, ORR_W);
            a[0] = (float)(worth(t, (uint32_t)rig_random(&seed) % largest(t)) *
                           (1 + (double)(rig_random(&seed) % 5) / 16));
            b[0] = n == 0   ? NAN
                   : n == 1 ? -INFINITY
                   : n == 2 ? 1e30f
                            : (float)((double)(int64_t)rig_random(&seed) * 0x1p-63 * max[k]);
            rig_run(&r, orr_pick_cvt, 1);
            must("tiny from f32", bits_of(b[0]), d[0],
                 nearest(t, a[0], ORR_RND_RN, true) << step | nearest(t, b[0], ORR_RND_RN, true));
        }
    }
    // from f16x2, element by element; relu
    uint64_t in[32] = {0, 0x3c00c000}, out[32];
    convert(ORR_T_E4M3X2, ORR_H, ORR_T_F16X2, ORR_W, ORR_RND_RN, ORR_M_SATFINITE, in, out);
    must("e4m3x2.f16x2", in[1], out[1], 0x38c0); // 1 | -2
    convert(ORR_T_E4M3X2, ORR_H, ORR_T_F16X2, ORR_W, ORR_RND_RN, ORR_M_SATFINITE | ORR_M_RELU, in, out);
    must("relu", in[1], out[1], 0x3800);
    in[1] = 0x3f80c040; // bf16: 1 | -3
    // ue8m0: powers of two, rounded up or towards zero; 127 is 1
    in[1] = 0x3f804040; // 1 | 3
    convert(ORR_T_UE8M0X2, ORR_H, ORR_T_BF16X2, ORR_W, ORR_RND_RP, ORR_M_SATFINITE, in, out);
    must("ue8m0x2 up", in[1], out[1], 127 << 8 | 129);
    convert(ORR_T_UE8M0X2, ORR_H, ORR_T_BF16X2, ORR_W, ORR_RND_RZ, ORR_M_SATFINITE, in, out);
    must("ue8m0x2", in[1], out[1], 127 << 8 | 128);
    in[1] = 0xff80;
    convert(ORR_T_BF16X2, ORR_W, ORR_T_UE8M0X2, ORR_H, ORR_RND_RN, 0, in, out);
    must("bf16x2.ue8m0x2", in[1], out[1], 0x7fff4000);
}

// ---- integers -------------------------------------------------------------------------------
static const struct {
    int type, bits;
    bool sign;
} ints[] = {{ORR_T_U8, 8, false},   {ORR_T_S8, 8, true},   {ORR_T_U16, 16, false}, {ORR_T_S16, 16, true},
            {ORR_T_U32, 32, false}, {ORR_T_S32, 32, true}, {ORR_T_U64, 64, false}, {ORR_T_S64, 64, true}};

static __int128 as_int(uint64_t x, int bits, bool sign) {
    __int128 v = x & (bits == 64 ? ~0ull : (1ull << bits) - 1);
    if (sign && v >> (bits - 1) & 1) v -= (__int128)1 << bits;
    return v;
}
static __int128 clamp(__int128 v, int bits, bool sign) {
    __int128 lo = sign ? -((__int128)1 << (bits - 1)) : 0, hi = ((__int128)1 << (bits - sign)) - 1;
    return v < lo ? lo : v > hi ? hi : v;
}
static void int_to_int(void **state) {
    (void)state;
    uint64_t seed = 5, in[32], out[32];
    for (int s = 0; s < 8; s++)
        for (int d = 0; d < 8; d++)
            for (int sc = class_of(ints[s].bits); sc <= ORR_D; sc++)
                for (int dc = class_of(ints[d].bits); dc <= ORR_D; dc++)
                    for (int sat = 0; sat < 2; sat++) {
                        for (int i = 0; i < 32; i++)
                            in[i] = rig_random(&seed) >> (i % 3 ? 0 : rig_random(&seed) % 64);
                        convert(ints[d].type, dc, ints[s].type, sc, ORR_RND_NONE, sat ? ORR_M_SAT : 0, in,
                                out);
                        for (int i = 0; i < 32; i++) {
                            __int128 v = as_int(in[i], ints[s].bits, ints[s].sign);
                            v = sat ? clamp(v, ints[d].bits, ints[d].sign)
                                    : as_int((uint64_t)v, ints[d].bits, ints[d].sign);
                            int keep = dc == ORR_H ? 16 : dc == ORR_W ? 32 : 64;
                            must("int", in[i], out[i], (uint64_t)as_int((uint64_t)v, keep, false));
                        }
                    }
}
// The integer of the rounding, exactly: floats of magnitude 2^53 and more are integers already.
static __int128 integral(double x, int round) {
    double f = floor(x), r = x - f;
    bool up = round == ORR_RND_RNI   ? r > 0.5 || (r == 0.5 && fmod(f, 2) != 0)
              : round == ORR_RND_RPI ? r > 0
              : round == ORR_RND_RZI ? x < 0 && r > 0
                                     : false;
    return (__int128)f + up;
}
static void float_to_int(void **state) {
    (void)state;
    uint64_t seed = 9, in[32], out[32];
    static const double edges[] = {0,
                                   -0.0,
                                   0.5,
                                   1.5,
                                   2.5,
                                   -0.5,
                                   -1.5,
                                   127.5,
                                   128,
                                   -128.5,
                                   255.5,
                                   32767.5,
                                   65535.5,
                                   2147483647.0,
                                   2147483647.5,
                                   2147483648.0,
                                   -2147483648.0,
                                   -2147483649.0,
                                   4294967295.0,
                                   4294967295.5,
                                   4294967296.0,
                                   0x1p63,
                                   -0x1p63,
                                   0x1.fffffffffffffp62,
                                   0x1p64,
                                   0x1.fffffffffffffp63,
                                   1e30,
                                   -1e30,
                                   1e-40,
                                   -1e-40,
                                   0.49999999999999994,
                                   8388607.5};
    for (int n = 0; n < 6; n++)
        for (int wide = 0; wide < 2; wide++)
            for (int round = ORR_RND_RNI; round <= ORR_RND_RPI; round++)
                for (int d = 0; d < 8; d++) {
                    for (int i = 0; i < 32; i++) {
                        double v = n == 0 ? edges[i]
                                          : ldexp((double)(int64_t)rig_random(&seed),
                                                  -(int)(rig_random(&seed) % 64));
                        if (n == 1 && i < 3) v = i == 0 ? INFINITY : i == 1 ? -INFINITY : NAN;
                        in[i] = wide ? bits_of64(v) : bits_of((float)v);
                    }
                    for (int dc = class_of(ints[d].bits); dc <= ORR_D; dc++) {
                        convert(ints[d].type, dc, wide ? ORR_T_F64 : ORR_T_F32, wide ? ORR_D : ORR_W, round,
                                0, in, out);
                        for (int i = 0; i < 32; i++) {
                            double v = wide ? f64_value(in[i]) : f32_value((uint32_t)in[i]);
                            __int128 want;
                            if (isnan(v))
                                want = wide || ints[d].bits == 64
                                           ? as_int(1ull << (ints[d].bits - 1), ints[d].bits, ints[d].sign)
                                           : 0;
                            else
                                want = clamp(fabs(v) > 0x1p70
                                                 ? (v < 0 ? -((__int128)1 << 100) : (__int128)1 << 100)
                                                 : integral(v, round),
                                             ints[d].bits, ints[d].sign);
                            int keep = dc == ORR_H ? 16 : dc == ORR_W ? 32 : 64;
                            must("int from float", in[i], out[i],
                                 (uint64_t)as_int((uint64_t)want, keep, false));
                        }
                    }
                }
    in[1] = 1; // rounding up a subnormal, unless it is flushed
    convert(ORR_T_S32, ORR_W, ORR_T_F32, ORR_W, ORR_RND_RPI, 0, in, out);
    must("rpi", in[1], out[1], 1);
    convert(ORR_T_S32, ORR_W, ORR_T_F32, ORR_W, ORR_RND_RPI, ORR_M_FTZ, in, out);
    must("rpi.ftz", in[1], out[1], 0);
}
// An integer to p bits, by the rule, as a double: exact for p <= 53.
static double int_rounded(__int128 v, int p, int round) {
    bool neg = v < 0;
    unsigned __int128 m = neg ? -(unsigned __int128)v : (unsigned __int128)v;
    int drop = 0;
    while (m >> drop >> p) drop++;
    unsigned __int128 q = m >> drop, rest = m - (q << drop),
                      half = drop ? (unsigned __int128)1 << (drop - 1) : 1;
    if (round == ORR_RND_RN ? rest > half || (rest == half && drop && (q & 1))
                            : rest && round == (neg ? ORR_RND_RM : ORR_RND_RP))
        q++;
    return ldexp((double)(uint64_t)q, drop) * (neg ? -1 : 1);
}
static void int_to_float(void **state) {
    (void)state;
    uint64_t seed = 13, in[32], out[32];
    for (int n = 0; n < 20; n++)
        for (int s = 0; s < 8; s++)
            for (int round = ORR_RND_RN; round <= ORR_RND_RP; round++) {
                for (int i = 0; i < 32; i++) {
                    in[i] = rig_random(&seed) >> rig_random(&seed) % 64;
                    if (i % 4 == 1) in[i] = ~0ull << rig_random(&seed) % 64;
                    if (i % 4 == 2) in[i] = (1ull << rig_random(&seed) % 64) + rig_random(&seed) % 3 - 1;
                }
                for (int sc = class_of(ints[s].bits); sc <= ORR_D; sc++) {
                    convert(ORR_T_F32, ORR_W, ints[s].type, sc, round, 0, in, out);
                    for (int i = 0; i < 32; i++)
                        must("f32 from int", in[i], out[i],
                             bits_of(
                                 (float)int_rounded(as_int(in[i], ints[s].bits, ints[s].sign), 24, round)));
                    convert(ORR_T_F64, ORR_D, ints[s].type, sc, round, 0, in, out);
                    for (int i = 0; i < 32; i++)
                        must("f64 from int", in[i], out[i],
                             bits_of64(int_rounded(as_int(in[i], ints[s].bits, ints[s].sign), 53, round)));
                    convert(ORR_T_F16, ORR_H, ints[s].type, sc, round, 0, in, out);
                    for (int i = 0; i < 32; i++) {
                        double v = (double)as_int(in[i], ints[s].bits,
                                                  ints[s].sign); // exact below 2^53, too large above
                        must("f16 from int", in[i], out[i], nearest(F16, v, round, false));
                    }
                }
            }
}

// ---- between f32 and f64 --------------------------------------------------------------------
static void float_to_float(void **state) {
    (void)state;
    const uint64_t nan = 0x7ff8000000000123;
    static const struct {
        int round;
        uint32_t mods;
        double x;
        uint32_t want;
    } rows[] = {{ORR_RND_RN, 0, 1.0, 0x3f800000},
                {ORR_RND_RN, 0, 1 + 0x1p-24, 0x3f800000},
                {ORR_RND_RN, 0, 1 + 0x1.8p-23, 0x3f800002},
                {ORR_RND_RP, 0, 1 + 0x1p-50, 0x3f800001},
                {ORR_RND_RM, 0, 1 + 0x1p-50, 0x3f800000},
                {ORR_RND_RZ, 0, -1 - 0x1p-24, 0xbf800000},
                {ORR_RND_RM, 0, -1 - 0x1p-50, 0xbf800001},
                {ORR_RND_RN, 0, 0x1p-149, 1},
                {ORR_RND_RN, 0, 0x1p-150, 0},
                {ORR_RND_RP, 0, 0x1p-200, 1},
                {ORR_RND_RN, ORR_M_FTZ, 0x1p-149, 0},
                {ORR_RND_RN, 0, 1e300, 0x7f800000},
                {ORR_RND_RZ, 0, 1e300, 0x7f7fffff},
                {ORR_RND_RM, 0, -1e300, 0xff800000},
                {ORR_RND_RP, 0, -1e300, 0xff7fffff},
                {ORR_RND_RN, ORR_M_SAT, -3, 0},
                {ORR_RND_RN, ORR_M_SAT, 3, 0x3f800000}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        uint64_t in[32] = {0, bits_of64(rows[k].x)}, out[32];
        convert(ORR_T_F32, ORR_W, ORR_T_F64, ORR_D, rows[k].round, rows[k].mods, in, out);
        must("f32.f64", in[1], out[1], rows[k].want);
    }
    uint64_t in[32] = {0, nan, 0x3ff0000000000000}, out[32];
    convert(ORR_T_F32, ORR_W, ORR_T_F64, ORR_D, ORR_RND_RN, 0, in, out);
    must("f32.f64 of NaN", in[1], out[1], 0x7fc00000); // an H200 hands on sign and upper payload
    convert(ORR_T_F32, ORR_W, ORR_T_F64, ORR_D, ORR_RND_RN, ORR_M_SAT, in, out);
    must("f32.f64.sat of NaN", in[1], out[1], 0);
    // to integers in the same type, and .sat
    static const struct {
        int round;
        uint32_t mods;
        float x, want;
    } same[] = {{ORR_RND_RNI, 0, 2.5f, 2},
                {ORR_RND_RNI, 0, 3.5f, 4},
                {ORR_RND_RZI, 0, -1.9f, -1},
                {ORR_RND_RMI, 0, -1.1f, -2},
                {ORR_RND_RPI, 0, 1.1f, 2},
                {ORR_RND_RPI, 0, -0.5f, -0.0f},
                {ORR_RND_RPI, ORR_M_FTZ, 1e-40f, 0},
                {ORR_RND_RPI, 0, 1e-40f, 1},
                {ORR_RND_NONE, ORR_M_SAT, 7, 1},
                {ORR_RND_NONE, ORR_M_SAT, -7, 0},
                {ORR_RND_NONE, ORR_M_FTZ, -1e-40f, -0.0f},
                {ORR_RND_RNI, ORR_M_SAT, 0.6f, 1}};
    for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
        uint64_t x[32] = {0, bits_of(same[k].x)}, y[32];
        convert(ORR_T_F32, ORR_W, ORR_T_F32, ORR_W, same[k].round, same[k].mods, x, y);
        must("f32.f32", x[1], y[1], bits_of(same[k].want));
        x[1] = bits_of64(same[k].x);
        if (same[k].mods & ORR_M_FTZ) continue;
        convert(ORR_T_F64, ORR_D, ORR_T_F64, ORR_D, same[k].round, same[k].mods, x, y);
        must("f64.f64", x[1], y[1], bits_of64(same[k].want));
    }
}

// ---- cvt.pack, mov --------------------------------------------------------------------------
static void pack(void **state) {
    (void)state;
    rig r;
    rig_begin(&r, ORR_OP_CVTPACK, ORR_T_S16);
    r.inst.stype = ORR_T_S32;
    r.inst.imm = 16;
    uint32_t *d = rig_dst(&r, ORR_W), *a = rig_src(&r, ORR_W), *b = rig_src(&r, ORR_W);
    a[0] = 100000, b[0] = (uint32_t)-5;
    rig_run(&r, orr_pick_cvt, ~0u);
    assert_int_equal(d[0], 0x7ffffffb);
    r.inst.type = ORR_T_U8;
    r.inst.imm = 8;
    uint32_t *c = rig_src(&r, ORR_W);
    c[0] = 0x1234abcd;
    rig_run(&r, orr_pick_cvt, ~0u);
    assert_int_equal(d[0], 0xabcdff00); // c's lower half above the clamped a and b
}
static void mov(void **state) {
    (void)state;
    for (int cls = ORR_H; cls <= ORR_Q; cls++) {
        rig r;
        rig_begin(&r, ORR_OP_MOV, ORR_T_B32);
        uint8_t *d = rig_dst(&r, cls), *a = rig_src(&r, cls);
        int n = 1 << cls, whole = n * 32;
        for (int i = 0; i < whole; i++) a[i] = (uint8_t)(i * 7 + 1), d[i] = 0xee;
        rig_run(&r, orr_pick_cvt, 0x5);
        for (int i = 0; i < whole; i++) assert_int_equal(d[i], i / n == 0 || i / n == 2 ? a[i] : 0xee);
        rig_exec(&r, ~0u);
        assert_memory_equal(d, a, (size_t)whole);
    }
    rig r;
    rig_begin(&r, ORR_OP_MOV, ORR_T_PRED);
    uint32_t *p = rig_dst(&r, ORR_P), *q = rig_src(&r, ORR_P);
    *p = 0xff, *q = 0xa5a5;
    r.all[1].neg = 1;
    rig_run(&r, orr_pick_cvt, 0xff00);
    assert_int_equal(*p, 0x5aff);
}
static void mov_vectors(void **state) {
    (void)state;
    static const struct {
        int whole, part, n;
    } shapes[] = {{ORR_H, ORR_H, 2}, {ORR_W, ORR_H, 2}, {ORR_W, ORR_H, 4}, {ORR_D, ORR_W, 2},
                  {ORR_D, ORR_H, 4}, {ORR_Q, ORR_D, 2}, {ORR_Q, ORR_W, 4}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        int whole = 1 << shapes[k].whole, n = shapes[k].n, part = whole / n, reg = 1 << shapes[k].part;
        rig r, s;
        uint8_t *piece[4], *back[4];
        rig_begin(&r, ORR_OP_MOV, ORR_T_B32);
        uint8_t *d = rig_dst(&r, shapes[k].whole);
        for (int j = 0; j < n; j++) {
            piece[j] = rig_src(&r, shapes[k].part);
            for (int i = 0; i < 32 * reg; i++)
                piece[j][i] = i % reg < part ? (uint8_t)(i * 5 + j * 31 + 1) : 0;
        }
        rig_run(&r, orr_pick_cvt, 0x80000001);
        for (int i = 0; i < whole; i++) {
            assert_int_equal(d[31 * whole + i], piece[i / part][31 * reg + i % part]);
            assert_int_equal(d[30 * whole + i], 0);
        }
        rig_exec(&r, ~0u);
        rig_begin(&s, ORR_OP_MOV, ORR_T_B32);
        for (int j = 0; j < n; j++) {
            if (j == 1)
                rig_sink(&s), back[j] = NULL;
            else
                back[j] = rig_dst(&s, shapes[k].part);
        }
        memcpy(rig_src(&s, shapes[k].whole), d, (size_t)whole * 32);
        rig_run(&s, orr_pick_cvt, ~0u);
        for (int j = 0; j < n; j++)
            if (back[j]) assert_memory_equal(back[j], piece[j], (size_t)reg * 32);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_halves),   cmocka_unit_test(to_narrow),    cmocka_unit_test(tf32),
        cmocka_unit_test(packed),       cmocka_unit_test(tiny),         cmocka_unit_test(int_to_int),
        cmocka_unit_test(float_to_int), cmocka_unit_test(int_to_float), cmocka_unit_test(float_to_float),
        cmocka_unit_test(pack),         cmocka_unit_test(mov),          cmocka_unit_test(mov_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
