// Floating point: directed rounding, conversions bit by bit, functions against tables, halves against
// floats.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "check.h"
#include "tables.h"

// ---- conversions, bit by bit --------------------------------------------------------------------
enum { RN, RZ, RU, RD };
// m * 2^e rounded to an integer; neg says the sign, for the modes that look at it.
__device__ __noinline__ ull scaled(ull m, int e, bool neg, int mode) {
    if (e >= 0) return e > __clzll((ll)m) ? ~0ull : m << e;
    if (e < -66) e = -66, m = m != 0;
    ull whole = e <= -64 ? 0 : m >> -e;
    ull half = e <= -65 ? 0 : 1ull << (-e - 1), rest = e <= -64 ? m : m & ((half << 1) - 1);
    bool exact = rest == 0, more = e <= -65 ? false : rest > half, tie = e > -65 && rest == half;
    if (exact || mode == RZ) return whole;
    if (mode == RU) return neg ? whole : whole + 1;
    if (mode == RD) return neg ? whole + 1 : whole;
    return whole + (more || (tie && (whole & 1)));
}
__device__ __noinline__ void open(float f, ull *m, int *e) {
    unsigned u = __float_as_uint(f), x = u >> 23 & 255;
    *m = x ? (u & 0x7fffff) | 0x800000 : u & 0x7fffff;
    *e = (int)(x ? x : 1) - 150;
}
__device__ __noinline__ void open(double f, ull *m, int *e) {
    ull u = (ull)__double_as_longlong(f), x = u >> 52 & 2047;
    *m = x ? (u & 0xfffffffffffffull) | 1ull << 52 : u & 0xfffffffffffffull;
    *e = (int)(x ? x : 1) - 1075;
}
// Into a format with `bits` of significand and least exponent `emin` (of the last place): m * 2^e, as bits.
__device__ __noinline__ ull narrow(ull m, int e, bool neg, int mode, int bits, int emin, int emax) {
    if (!m) return 0;
    int top = 63 - __clzll((ll)m) + e, last = max(top - bits + 1, emin);
    ull v = scaled(m, e - last, neg, mode);
    if (v >> bits) v >>= 1, last++;
    if (!(v >> (bits - 1))) return v; // subnormal
    int x = last - emin + 1;
    ull inf = (ull)(emax - emin + 2) << (bits - 1);
    ull r = ((ull)x << (bits - 1)) | (v & ((1ull << (bits - 1)) - 1));
    if (r < inf) return r;
    return mode == RN || (mode == RU && !neg) || (mode == RD && neg) ? inf : inf - 1;
}

__device__ float some_float(int t) {
    unsigned h = mix(t);
    if (t % 8 < 5) return __uint_as_float((h & 0x807fffff) | (127 - 20 + mix(t + 1) % 90) << 23); // 2^-20 .. 2^70
    return __uint_as_float((h & 0xbfffffff));
}

KERNEL to_integers(int *out) {
    int t = thread_index(), bad = 0;
    float f = some_float(t);
    bool neg = __float_as_uint(f) >> 31;
    ull m;
    int e;
    open(f, &m, &e);
#define SIGNED(f, mode, T, MOST)                                                                             \
    ({                                                                                                       \
        ull v_ = scaled(m, e, neg, mode);                                                                \
        neg ? (v_ > (ull)MOST + 1 ? -MOST - 1 : (T)(0 - v_)) : (v_ > (ull)MOST ? MOST : (T)v_);              \
    })
#define UNSIGNED(f, mode, T, MOST)                                                                           \
    ({                                                                                                       \
        ull v_ = scaled(m, e, neg, mode);                                                                \
        (T)(neg ? 0 : v_ > MOST ? MOST : v_);                                                                \
    })
    const ll M32 = 0x7fffffffll, M64 = 0x7fffffffffffffffll;
    CHECK(__float2int_rn(f) == SIGNED(f, RN, ll, M32) && __float2int_rz(f) == SIGNED(f, RZ, ll, M32));
    CHECK(__float2int_ru(f) == SIGNED(f, RU, ll, M32) && __float2int_rd(f) == SIGNED(f, RD, ll, M32));
    CHECK(__float2uint_rn(f) == UNSIGNED(f, RN, unsigned, 0xffffffffu) && __float2uint_ru(f) == UNSIGNED(f, RU, unsigned, 0xffffffffu));
    CHECK(__float2ll_rn(f) == SIGNED(f, RN, ll, M64) && __float2ll_rd(f) == SIGNED(f, RD, ll, M64));
    CHECK(__float2ull_rz(f) == UNSIGNED(f, RZ, ull, ~0ull) && __float2ull_ru(f) == UNSIGNED(f, RU, ull, ~0ull));
    double d = (double)f * 1.0000001;
    open(d, &m, &e);
    CHECK(__double2int_rn(d) == SIGNED(d, RN, ll, M32) && __double2int_rz(d) == SIGNED(d, RZ, ll, M32));
    CHECK(__double2ll_rd(d) == SIGNED(d, RD, ll, M64) && __double2uint_ru(d) == UNSIGNED(d, RU, unsigned, 0xffffffffu));
    CHECK(__double2ull_rn(d) == UNSIGNED(d, RN, ull, ~0ull));
    CHECK(__float2int_rz(__uint_as_float(0x7fc00000)) == 0 && __double2ll_rz(hide(1.0) / hide(0.0)) == M64);
    out[t] = bad;
}

KERNEL to_floats(int *out) {
    int t = thread_index(), bad = 0;
    ll x = (ll)((ull)mix(t) << 32 | mix(t + 999)) >> mix(t + 5) % 64;
    bool neg = x < 0;
    ull m = neg ? 0 - (ull)x : (ull)x;
    unsigned sign = neg ? 0x80000000u : 0;
    ull sign64 = neg ? 1ull << 63 : 0;
    CHECK(__float_as_uint(__ll2float_rn(x)) == ((unsigned)narrow(m, 0, neg, RN, 24, -149, 104) | sign));
    CHECK(__float_as_uint(__ll2float_rz(x)) == ((unsigned)narrow(m, 0, neg, RZ, 24, -149, 104) | sign));
    CHECK(__float_as_uint(__ll2float_ru(x)) == ((unsigned)narrow(m, 0, neg, RU, 24, -149, 104) | sign));
    CHECK(__float_as_uint(__ll2float_rd(x)) == ((unsigned)narrow(m, 0, neg, RD, 24, -149, 104) | sign));
    CHECK((ull)__double_as_longlong(__ll2double_rn(x)) == (narrow(m, 0, neg, RN, 53, -1074, 971) | sign64));
    CHECK((ull)__double_as_longlong(__ll2double_ru(x)) == (narrow(m, 0, neg, RU, 53, -1074, 971) | sign64));
    CHECK(__float_as_uint(__int2float_rz((int)x)) == ((unsigned)narrow((int)x < 0 ? 0 - (ull)(ll)(int)x : (int)x, 0, (int)x < 0, RZ, 24, -149, 104) | ((int)x < 0 ? 0x80000000u : 0)));
    CHECK(__float_as_uint(__uint2float_ru((unsigned)x)) == (unsigned)narrow((unsigned)x, 0, false, RU, 24, -149, 104));
    CHECK(__double_as_longlong(__uint2double_rn((unsigned)x)) == (ll)narrow((unsigned)x, 0, false, RN, 53, -1074, 971));
    // from double to float, f16 and bf16 with all roundings, down to subnormals and up to infinity
    ull bits = (ull)mix(t) << 32 | mix(t + 31);
    double d = __longlong_as_double((ll)((bits & 0x800fffffffffffffull) | (ull)(1023 - 160 + mix(t + 2) % 300) << 52));
    int e;
    neg = bits >> 63, sign = neg ? 0x80000000u : 0;
    open(d, &m, &e);
    CHECK(__float_as_uint(__double2float_rn(d)) == ((unsigned)narrow(m, e, neg, RN, 24, -149, 104) | sign));
    CHECK(__float_as_uint(__double2float_rz(d)) == ((unsigned)narrow(m, e, neg, RZ, 24, -149, 104) | sign));
    CHECK(__float_as_uint(__double2float_ru(d)) == ((unsigned)narrow(m, e, neg, RU, 24, -149, 104) | sign));
    CHECK(__float_as_uint(__double2float_rd(d)) == ((unsigned)narrow(m, e, neg, RD, 24, -149, 104) | sign));
    float f = __uint_as_float(((unsigned)bits & 0x807fffff) | (127 - 28 + mix(t + 2) % 50) << 23);
    open(f, &m, &e);
    neg = (unsigned)bits >> 31;
    unsigned short s = neg ? 0x8000 : 0;
    CHECK(__half_as_ushort(__float2half_rn(f)) == (unsigned short)(narrow(m, e, neg, RN, 11, -24, 5) | s));
    CHECK(__half_as_ushort(__float2half_rz(f)) == (unsigned short)(narrow(m, e, neg, RZ, 11, -24, 5) | s));
    CHECK(__half_as_ushort(__float2half_ru(f)) == (unsigned short)(narrow(m, e, neg, RU, 11, -24, 5) | s));
    CHECK(__half_as_ushort(__float2half_rd(f)) == (unsigned short)(narrow(m, e, neg, RD, 11, -24, 5) | s));
    CHECK(__bfloat16_as_ushort(__float2bfloat16_rn(f)) == (unsigned short)(narrow(m, e, neg, RN, 8, -133, 120) | s));
    CHECK(__bfloat16_as_ushort(__float2bfloat16_rz(f)) == (unsigned short)(narrow(m, e, neg, RZ, 8, -133, 120) | s));
    // rounding to whole numbers
    CHECK(rintf(f) == (float)__float2ll_rn(f) && floorf(f) == (float)__float2ll_rd(f) && ceilf(f) == (float)__float2ll_ru(f) && truncf(f) == (float)__float2ll_rz(f));
    CHECK(roundf(2.5f) == 3 && rint(hide(2.5)) == 2 && floor(hide(-0.5)) == -1 && trunc(hide(-1.9)) == -1);
    // every half there is
#pragma unroll 1
    for (int i = t; i < 65536; i += 2048) {
        half h = __ushort_as_half((unsigned short)i);
        if ((i & 0x7fff) > 0x7c00) continue;
        float v = (i >> 10 & 31) == 31 ? __uint_as_float(0x7f800000) : (i >> 10 & 31) ? ldexpf((float)((i & 1023) | 1024), (i >> 10 & 31) - 25) : ldexpf((float)(i & 1023), -24);
        if (i >> 15) v = -v;
        CHECK(__half2float(h) == v && __half_as_ushort(__float2half(v)) == i);
    }
    out[t] = bad;
}

// ---- arithmetic -------------------------------------------------------------------------------
KERNEL rounding(int *out) {
    int t = thread_index(), bad = 0;
    float a = some_float(t * 8), b = some_float(t * 8 + 3), c = -a * 0.999f;
    double p = (double)a * b, s = (double)a + c; // exact in double
    CHECK(__fmul_rn(a, b) == __double2float_rn(p) && __fmul_rz(a, b) == __double2float_rz(p) && __fmul_ru(a, b) == __double2float_ru(p) && __fmul_rd(a, b) == __double2float_rd(p));
    CHECK(__fadd_rn(a, c) == __double2float_rn(s) && __fadd_rz(a, c) == __double2float_rz(s) && __fadd_ru(a, c) == __double2float_ru(s) && __fadd_rd(a, c) == __double2float_rd(s));
    CHECK(__fsub_ru(a, -c) == __double2float_ru(s));
    float big = __fmul_rn(a, b), rest = (float)(p - big); // a b - big is exact in float
    if (fabs(p) < 1e38 && fabs(p) > 1e-20) CHECK(__fmaf_rn(a, b, -big) == rest && fmaf(a, b, -big) == rest);
    double q = (double)a / b; // a quotient of floats is never so near to the middle of two floats that this errs
    CHECK(__fdiv_rn(a, b) == __double2float_rn(q) && __fdiv_rz(a, b) == __double2float_rz(q) && __fdiv_ru(a, b) == __double2float_ru(q) && __fdiv_rd(a, b) == __double2float_rd(q));
    float x = fabsf(a);
    CHECK(__fsqrt_rn(x) == __double2float_rn(sqrt((double)x)) && __frcp_rn(b) == __double2float_rn(1.0 / b));
    float up = __fsqrt_ru(x), down = __fsqrt_rd(x);
    CHECK((double)up * up >= x && (double)down * down <= x && __float_as_uint(up) - __float_as_uint(down) <= 1);
    // double: what is left over after the rounded result is at most half of its last place
    double da = (double)a * 1.1, db = (double)b * 0.7, quo = da / db, root = sqrt(fabs(da));
    double ulp = __longlong_as_double(__double_as_longlong(fabs(quo)) + 1) - fabs(quo);
    CHECK(fabs(fma(-quo, db, da)) <= 0.5 * ulp * fabs(db));
    double left = fma(-root, root, fabs(da)), rulp = __longlong_as_double(__double_as_longlong(root) + 1) - root;
    CHECK(fabs(left) <= root * rulp);
    CHECK(__dadd_ru(da, db) >= da + db && __dadd_rd(da, db) <= da + db && __ddiv_rd(da, db) <= __ddiv_ru(da, db) && __dmul_rz(da, db) * da * db >= 0);
    CHECK(__dsqrt_rd(fabs(da)) <= root && __dsqrt_ru(fabs(da)) >= root && __drcp_rn(db) == 1.0 / db);
    // fast versions, within what the guide says of them
    CHECK(fabsf(__fdividef(a, b) - (float)q) <= fabsf((float)q) * 3e-7f || fabsf(b) > 8e37f || fabs(q) < 1e-37);
    CHECK(fminf(a, b) == (a < b ? a : b) && fmaxf(a, __uint_as_float(0x7fc00000)) == a && fmin(da, db) == (da < db ? da : db));
    CHECK(copysignf(a, -1.0f) == -fabsf(a) && signbit(-fabs(da)) && fdimf(a, b) == (a > b ? __fsub_rn(a, b) : 0));
    CHECK(__saturatef(a) == (a > 0 ? (a < 1 ? a : 1) : 0));
    int ex;
    float fr = frexpf(a, &ex);
    CHECK(fabsf(fr) >= 0.5f && fabsf(fr) < 1 && ldexpf(fr, ex) == a && scalbnf(fr, ex) == a);
    CHECK(fmodf(hide(7.5f), 2) == 1.5f && remainderf(hide(7.5f), 2) == -0.5f && fmod(hide(-7.5), 2.0) == -1.5);
    out[t] = bad;
}

// ---- functions --------------------------------------------------------------------------------
__device__ __noinline__ bool near(double got, double want, double ulps) {
    double u = __longlong_as_double(__double_as_longlong(fabs(want)) + 1) - fabs(want);
    return fabs(got - want) <= ulps * u + 0.5 * u;
}
__device__ __noinline__ bool near(float got, double want, double ulps) {
    float w = (float)want;
    double u = (double)__uint_as_float(__float_as_uint(fabsf(w)) + 1) - fabsf(w);
    return fabs((double)got - want) <= (ulps + 0.5) * u;
}
#define TABLE(name, ulps, ulpsf)                                                                             \
    {                                                                                                        \
        double x = of_##name[k][0], y = of_##name[k][1];                                                     \
        CHECK(near(name(x), y, ulps));                                                                       \
        if (fabs(x) < 80 && fabs(x) > 1e-6) CHECK(near(name##f((float)x), y, ulpsf));                        \
    }

KERNEL functions(int *out) {
    int t = thread_index(), k = t % 6, bad = 0;
    TABLE(sqrt, 0, 0)
    TABLE(exp, 1, 2)
    TABLE(log, 1, 1)
    TABLE(exp2, 1, 2)
    TABLE(log2, 1, 1)
    TABLE(log10, 1, 2)
    TABLE(expm1, 1, 1)
    TABLE(log1p, 1, 1)
    TABLE(tanh, 1, 2)
    TABLE(cosh, 1, 2)
    TABLE(atan, 2, 2)
    TABLE(erf, 2, 2)
    out[t] = bad;
}
KERNEL angles(int *out) {
    int t = thread_index(), k = t % 6, bad = 0;
    TABLE(sin, 2, 2)
    TABLE(cos, 2, 2)
    double s, c;
    sincos(of_sin[k][0], &s, &c);
    CHECK(near(s, of_sin[k][1], 2) && near(c, of_cos[k][1], 2));
    CHECK(near(pow(of_pow[k][0], of_pow[k][1]), of_pow[k][2], 2));
    CHECK(near(hypot(3.0 * hide(1.0 + k), 4.0 + 4 * k), 5.0 + 5 * k, 1));
    float x = 0.1f * (float)(k + 1); // the fast ones: absolute errors of the guide
    CHECK(fabs(__sinf(x) - sin((double)x)) < 5e-7 && fabs(__cosf(x) - cos((double)x)) < 5e-7);
    CHECK(fabs(__expf(x) / exp((double)x) - 1) < 1e-6 && fabs(__logf(x) - log((double)x)) < 5e-7);
    CHECK(fabs(__powf(x, 2.5f) / pow((double)x, 2.5) - 1) < 1e-5 && fabs(rsqrtf(x) * sqrt((double)x) - 1) < 2.5e-7);
    CHECK(fabs(__tanf(x) / tan((double)x) - 1) < 1e-5 && fabs(__exp10f(x) / pow(10.0, (double)x) - 1) < 1e-6);
    out[t] = bad;
}

// ---- f16 and bf16 -----------------------------------------------------------------------------
// A float has more than twice their digits: sums, products, quotients and roots rounded twice are right.
#define SAME(h, f) (__half_as_ushort(h) == __half_as_ushort(__float2half_rn(f)))
#define SAMEB(h, f) (__bfloat16_as_ushort(h) == __bfloat16_as_ushort(__float2bfloat16_rn(f)))
KERNEL halves(int *out) {
    int t = thread_index(), bad = 0;
    half a = __float2half((float)(int)(mix(t) % 4001 - 2000) / 64.0f), b = __float2half((float)(mix(t + 1) % 3000 + 1) / 128.0f);
    float x = __half2float(a), y = __half2float(b), z = x * 0.75f - 1;
    half c = __float2half(z);
    z = __half2float(c);
    CHECK(SAME(__hadd(a, b), x + y) && SAME(__hsub(a, b), x - y) && SAME(__hmul(a, b), x * y) && SAME(__hdiv(a, b), x / y) && SAME(__hneg(a), -x) && SAME(__habs(a), fabsf(x)));
    double e = (double)x * y + z; // exact; to odd on the way to float, so that rounding twice does no harm
    float f = __double2float_rz(e);
    if ((double)f != e) f = __uint_as_float(__float_as_uint(f) | 1);
    CHECK(SAME(__hfma(a, b, c), f) && SAME(hsqrt(b), sqrtf(y)) && SAME(hrcp(b), 1.0f / y));
    CHECK(SAME(__hfma_relu(a, b, c), f > 0 ? f : 0.0f) && SAME(__hadd_sat(a, b), __saturatef(x + y)));
    CHECK(__heq(a, a) && __hlt(a, b) == (x < y) && __hge(a, b) == (x >= y) && SAME(__hmax(a, b), fmaxf(x, y)) && SAME(__hmin(a, b), fminf(x, y)));
    CHECK(__half2int_rn(a) == __float2int_rn(x) && __half2int_rd(a) == __float2int_rd(x) && SAME(__int2half_rn(t * 7), (float)(t * 7)) && SAME(__uint2half_rz(5), 5.0f));
    CHECK(SAME(hfloor(a), floorf(x)) && SAME(hceil(a), ceilf(x)) && SAME(hrint(a), rintf(x)) && SAME(htrunc(a), truncf(x)));
    CHECK(fabsf(__half2float(hexp(__float2half(y / 16))) / expf(__half2float(__float2half(y / 16))) - 1) < 2e-3f);
    CHECK(fabsf(__half2float(hlog(b)) - logf(y)) < 4e-3f && fabsf(__half2float(hsin(a)) - sinf(x)) < 2e-3f);
    half2 p = __halves2half2(a, b), q = __halves2half2(b, c), r = __hadd2(p, q), m = __hmul2(p, q), g = __hfma2(p, q, p);
    CHECK(SAME(__low2half(r), x + y) && SAME(__high2half(r), y + z) && SAME(__low2half(m), x * y) && SAME(__high2half(m), y * z));
    CHECK(fabsf(__low2float(g) - (x * y + x)) <= fabsf(x * y + x) * 0.0005f + 1e-6f);
    CHECK(__hbeq2(p, p) && !__hbne2(p, p) && __hgt2_mask(p, q) == ((x > y ? 0xffffu : 0) | (y > z ? 0xffff0000u : 0)));
    CHECK(SAME(__low2half(__hmax2(p, q)), fmaxf(x, y)) && SAME(__high2half(__lowhigh2highlow(p)), x) && SAME(__low2half(__low2half2(q)), y));
    __nv_bfloat16 ba = __float2bfloat16(x), bb = __float2bfloat16(y), bc = __float2bfloat16(z);
    x = __bfloat162float(ba), y = __bfloat162float(bb), z = __bfloat162float(bc);
    CHECK(SAMEB(__hadd(ba, bb), x + y) && SAMEB(__hsub(ba, bb), x - y) && SAMEB(__hmul(ba, bb), x * y) && SAMEB(__hdiv(ba, bb), x / y));
    e = (double)x * y + z, f = __double2float_rz(e);
    if ((double)f != e) f = __uint_as_float(__float_as_uint(f) | 1);
    CHECK(SAMEB(__hfma(ba, bb, bc), f) && SAMEB(hsqrt(bb), sqrtf(y)) && __hlt(ba, bb) == (x < y) && SAMEB(__hmax(ba, bb), fmaxf(x, y)));
    __nv_bfloat162 bp = __halves2bfloat162(ba, bb), bq = __halves2bfloat162(bb, bc), br = __hadd2(bp, bq), bm = __hmul2(bp, bq);
    CHECK(SAMEB(__low2bfloat16(br), x + y) && SAMEB(__high2bfloat16(br), y + z) && SAMEB(__low2bfloat16(bm), x * y) && SAMEB(__high2bfloat16(bm), y * z));
    out[t] = bad;
}

// ---- f8 -----------------------------------------------------------------------------------------
KERNEL eighths(int *out) { // every code of both formats: its value, and back
    int t = thread_index(), bad = 0, sign = t >> 7; // 256 threads
    int x = t >> 3 & 15, m = t & 7;
    float v = x ? ldexpf((float)(8 + m), x - 10) : ldexpf((float)m, -9); // e4m3
    if (sign) v = -v;
    __nv_fp8_e4m3 a;
    a.__x = (__nv_fp8_storage_t)t;
    if ((t & 127) != 127) {
        CHECK((float)a == v && __nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E4M3) == t);
        // halfway to the next code goes to the even one; past the largest, 448, it stays there
        if ((t & 127) < 126) {
            __nv_fp8_e4m3 b;
            b.__x = (__nv_fp8_storage_t)(t + 1);
            CHECK(__nv_cvt_float_to_fp8(0.5f * (v + (float)b), __NV_SATFINITE, __NV_E4M3) == (t & 1 ? t + 1 : t));
        }
    } else {
        CHECK((float)a != (float)a);
    }
    CHECK(__nv_cvt_float_to_fp8(sign ? -1e6f : 1e6f, __NV_SATFINITE, __NV_E4M3) == (sign << 7 | 0x7e));
    x = t >> 2 & 31, m = t & 3;
    v = x ? ldexpf((float)(4 + m), x - 17) : ldexpf((float)m, -16); // e5m2
    if (sign) v = -v;
    __nv_fp8_e5m2 c;
    c.__x = (__nv_fp8_storage_t)t;
    if (x != 31) CHECK((float)c == v && __nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E5M2) == t);
    CHECK(__nv_cvt_float_to_fp8(sign ? -1e6f : 1e6f, __NV_SATFINITE, __NV_E5M2) == (sign << 7 | 0x7b));
    out[t] = bad;
}
