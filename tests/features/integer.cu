// Integer arithmetic and intrinsics against loops over single bits and bytes.
#include "check.h"

// ---- bits, one by one -------------------------------------------------------------------------
__device__ __noinline__ int bits_clz(ull x, int n) {
#pragma unroll 1
    for (int i = n - 1; i >= 0; i--)
        if (x >> i & 1) return n - 1 - i;
    return n;
}
__device__ __noinline__ int bits_popc(ull x) {
    int c = 0;
#pragma unroll 1
    for (int i = 0; i < 64; i++) c += x >> i & 1;
    return c;
}
__device__ __noinline__ ull bits_brev(ull x, int n) {
    ull r = 0;
    for (int i = 0; i < n; i++) r |= (x >> i & 1) << (n - 1 - i);
    return r;
}
__device__ __noinline__ ull slow_mul(ull a, ull b) { // by addition
    ull r = 0;
#pragma unroll 1
    for (int i = 0; i < 64; i++)
        if (b >> i & 1) r += a << i;
    return r;
}
__device__ __noinline__ ull slow_mulhi(ull a, ull b) { // upper half, by 32-bit digits
    ull a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
    ull m = a0 * b0, k = a1 * b0 + (m >> 32), l = a0 * b1 + (k & 0xffffffff);
    return a1 * b1 + (k >> 32) + (l >> 32);
}
__device__ __noinline__ void slow_div(ull a, ull b, ull *q, ull *r) { // long division, bit by bit
    *q = *r = 0;
#pragma unroll 1
    for (int i = 63; i >= 0; i--) {
        bool carry = *r >> 63;
        *r = *r << 1 | (a >> i & 1);
        if (carry || *r >= b) *r -= b, *q |= 1ull << i;
    }
}
// Numbers of all sizes, with the edges among them.
__device__ ull sample(int t, int k) {
    ull x = (ull)mix(t * 3 + k) << 32 | mix(t * 5 + k + 77777);
    if (t == 0) return 0;
    if (t == 1) return ~0ull;
    if (t == 2) return 1ull << 63;
    if (t == 3) return 1;
    if (t == 4) return 0x80000000ull;
    return x >> mix(t + k * 11) % 64;
}

KERNEL bits(int *out) {
    int t = thread_index(), bad = 0;
    ull x = sample(t, 1), y = sample(t * 7 % 256, 2);
    unsigned u = (unsigned)x, v = (unsigned)y, s = mix(t) % 70;
    CHECK(__clz(u) == bits_clz(u, 32) && __clzll(x) == bits_clz(x, 64));
    CHECK(__popc(u) == bits_popc(u) && __popcll(x) == bits_popc(x));
    CHECK(__brev(u) == bits_brev(u, 32) && __brevll(x) == bits_brev(x, 64));
    CHECK(__ffs(u) == (u ? 32 - bits_clz(u & -u, 32) : 0) && __ffsll(x) == (x ? 64 - bits_clz(x & -x, 64) : 0));
    unsigned p = 0, sel = mix(t + 5);
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
        unsigned k = sel >> 4 * i & 7;
        p |= (unsigned)((y << 32 | u) >> 8 * k & 255) << 8 * i;
    }
    CHECK(__byte_perm(u, v, sel) == p);
    ull both = (ull)v << 32 | u; // hi:lo
    CHECK(__funnelshift_l(u, v, s) == (unsigned)(both << (s & 31) >> 32));
    CHECK(__funnelshift_r(u, v, s) == (unsigned)(both >> (s & 31)));
    CHECK(__funnelshift_lc(u, v, s) == (s >= 32 ? u : (unsigned)(both << s >> 32)));
    CHECK(__funnelshift_rc(u, v, s) == (s >= 32 ? v : (unsigned)(both >> s)));
    unsigned b, len = mix(t + 9) % 40, pos = mix(t + 3) % 40, want = 0;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(b) : "r"(u), "r"(pos), "r"(len));
#pragma unroll 1
    for (unsigned i = 0; i < len && i < 32; i++) want |= pos + i < 32 ? (u >> (pos + i) & 1) << i : 0;
    CHECK(b == want);
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(b) : "r"(u), "r"(v), "r"(pos), "r"(len));
    want = v;
#pragma unroll 1
    for (unsigned i = 0; i < len && pos + i < 32; i++) want = (want & ~(1u << (pos + i))) | (u >> i & 1) << (pos + i);
    CHECK(b == want);
    asm("bfind.u32 %0, %1;" : "=r"(b) : "r"(u));
    CHECK(b == (u ? 31 - bits_clz(u, 32) : 0xffffffff));
    asm("bfind.shiftamt.s32 %0, %1;" : "=r"(b) : "r"(u));
    unsigned m = (int)u < 0 ? ~u : u;
    CHECK(b == (m ? (unsigned)bits_clz(m, 32) : 0xffffffff));
    asm("lop3.b32 %0, %1, %2, %3, 0xd8;" : "=r"(b) : "r"(u), "r"(v), "r"(sel)); // c ? a & b ... by its table
    want = 0;
#pragma unroll 1
    for (int i = 0; i < 32; i++) want |= (0xd8u >> ((u >> i & 1) << 2 | (v >> i & 1) << 1 | (sel >> i & 1)) & 1) << i;
    CHECK(b == want);
    out[t] = bad;
}

KERNEL products(int *out) {
    int t = thread_index(), bad = 0;
    ull x = sample(t, 1), y = sample(t * 7 % 256, 2);
    unsigned u = (unsigned)x, v = (unsigned)y, w = mix(t);
    CHECK(x * y == slow_mul(x, y) && __umul64hi(x, y) == slow_mulhi(x, y));
    ull h = slow_mulhi(x, y) - ((ll)x < 0 ? y : 0) - ((ll)y < 0 ? x : 0);
    CHECK((ull)__mul64hi((ll)x, (ll)y) == h);
    CHECK(__umulhi(u, v) == (unsigned)(slow_mul(u, v) >> 32) && (ull)u * v == slow_mul(u, v));
    CHECK(__mulhi((int)u, (int)v) == (int)(slow_mul((ull)(ll)(int)u, (ull)(ll)(int)v) >> 32));
    CHECK((ll)(int)u * (int)v == (ll)slow_mul((ull)(ll)(int)u, (ull)(ll)(int)v));
    CHECK(__umul24(u, v) == (unsigned)slow_mul(u & 0xffffff, v & 0xffffff));
    CHECK(__mul24((int)u, (int)v) == (int)slow_mul((ull)(ll)((int)(u << 8) >> 8), (ull)(ll)((int)(v << 8) >> 8)));
    CHECK(__usad(u, v, w) == (u > v ? u - v : v - u) + w);
    CHECK(__sad((int)u, (int)v, w) == ((int)u > (int)v ? u - v : v - u) + w);
    CHECK(__hadd((int)u, (int)v) == (int)(((ll)(int)u + (int)v) >> 1) && __uhadd(u, v) == (unsigned)(((ull)u + v) >> 1));
    CHECK(__rhadd((int)u, (int)v) == (int)(((ll)(int)u + (int)v + 1) >> 1) && __urhadd(u, v) == (unsigned)(((ull)u + v + 1) >> 1));
    int s4 = (int)w, s2lo = (int)w, s2hi = (int)w, mixed = (int)w;
    unsigned u4 = w;
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
        s4 += (signed char)(u >> 8 * i) * (signed char)(v >> 8 * i);
        u4 += (u >> 8 * i & 255) * (v >> 8 * i & 255);
        mixed += (int)(u >> 8 * i & 255) * (signed char)(v >> 8 * i);
    }
    for (int i = 0; i < 2; i++) {
        s2lo += (short)(u >> 16 * i) * (signed char)(v >> 8 * i);
        s2hi += (short)(u >> 16 * i) * (signed char)(v >> (8 * i + 16));
    }
    CHECK(__dp4a((int)u, (int)v, (int)w) == s4 && __dp4a(u, v, w) == u4);
    CHECK(__dp2a_lo((int)u, (int)v, (int)w) == s2lo && __dp2a_hi((int)u, (int)v, (int)w) == s2hi);
    int d;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(u), "r"(v), "r"(w));
    CHECK(d == mixed);
    // 128 bits with carries
    unsigned __int128 a = (unsigned __int128)x << 64 | y, b = (unsigned __int128)y << 70 | x, c = a + b, e = a - b, f = a * b;
    CHECK((ull)c == y + x && (ull)(c >> 64) == x + (y << 6) + (y + x < y));
    CHECK((ull)e == y - x && (ull)(e >> 64) == x - (y << 6) - (y < x));
    CHECK((ull)f == slow_mul(y, x));
    CHECK((ull)(f >> 64) == slow_mulhi(y, x) + slow_mul(x, x) + slow_mul(y, y << 6));
    out[t] = bad;
}

KERNEL quotients(int *out) {
    int t = thread_index(), bad = 0;
    ull x = sample(t, 1), y = sample(t * 7 % 256, 2), q, r;
    if (!y) y = 3;
    slow_div(x, y, &q, &r);
    CHECK(x / y == q && x % y == r);
    ll sx = (ll)x, sy = (ll)y;
    slow_div(sx < 0 ? -x : x, sy < 0 ? -y : y, &q, &r);
    CHECK(sx / sy == (ll)((sx < 0) != (sy < 0) ? -q : q) && sx % sy == (ll)(sx < 0 ? -r : r));
    unsigned u = (unsigned)x, v = (unsigned)y ? (unsigned)y : 5;
    slow_div(u, v, &q, &r);
    CHECK(u / v == q && u % v == r);
    int su = (int)u, sv = (int)v;
    if (sv != -1) {
        slow_div(su < 0 ? -(ull)(ll)su : su, sv < 0 ? -(ull)(ll)sv : sv, &q, &r);
        CHECK(su / sv == (int)((su < 0) != (sv < 0) ? -q : q) && su % sv == (int)(su < 0 ? -r : r));
    }
    short h = (short)u, k = (short)(v | 1);
    if (k != -1) CHECK((short)(h / k) * k + h % k == h);
    unsigned char c = (unsigned char)u, e = (unsigned char)(v | 1);
    CHECK(c / e * e + c % e == c && c % e < e);
    // constants
    CHECK(u / 7 * 7 + u % 7 == u && x / 1000000007ull * 1000000007ull + x % 1000000007ull == x && su / 10 * 10 + su % 10 == su);
    out[t] = bad;
}

// ---- SIMD within a word -----------------------------------------------------------------------
template <class F> __device__ unsigned bytes(unsigned a, unsigned b, F f) {
    unsigned r = 0;
#pragma unroll 1
    for (int i = 0; i < 32; i += 8) r |= (f((int)(a >> i & 255), (int)(b >> i & 255)) & 255u) << i;
    return r;
}
template <class F> __device__ unsigned sbytes(unsigned a, unsigned b, F f) {
    unsigned r = 0;
#pragma unroll 1
    for (int i = 0; i < 32; i += 8) r |= (f((int)(signed char)(a >> i), (int)(signed char)(b >> i)) & 255u) << i;
    return r;
}
template <class F> __device__ unsigned halves(unsigned a, unsigned b, F f) {
    return (f((int)(a & 65535), (int)(b & 65535)) & 65535u) | f((int)(a >> 16), (int)(b >> 16)) << 16;
}
template <class F> __device__ unsigned shalves(unsigned a, unsigned b, F f) {
    return (f((int)(short)a, (int)(short)b) & 65535u) | (unsigned)f((int)(short)(a >> 16), (int)(short)(b >> 16)) << 16;
}
__device__ int clamp(int x, int lo, int hi) { return x < lo ? lo : x > hi ? hi : x; }

KERNEL simd(int *out) {
    int t = thread_index(), bad = 0;
    unsigned a = (unsigned)sample(t, 1), b = (unsigned)sample(t * 7 % 256, 2);
    auto add = [](int x, int y) { return x + y; };
    auto sub = [](int x, int y) { return x - y; };
    CHECK(__vadd4(a, b) == bytes(a, b, add) && __vsub4(a, b) == bytes(a, b, sub) && __vadd2(a, b) == halves(a, b, add) && __vsub2(a, b) == halves(a, b, sub));
    CHECK(__vaddss4(a, b) == sbytes(a, b, [](int x, int y) { return clamp(x + y, -128, 127); }));
    CHECK(__vaddus4(a, b) == bytes(a, b, [](int x, int y) { return clamp(x + y, 0, 255); }));
    CHECK(__vsubss4(a, b) == sbytes(a, b, [](int x, int y) { return clamp(x - y, -128, 127); }));
    CHECK(__vsubus4(a, b) == bytes(a, b, [](int x, int y) { return clamp(x - y, 0, 255); }));
    CHECK(__vaddss2(a, b) == shalves(a, b, [](int x, int y) { return clamp(x + y, -32768, 32767); }));
    CHECK(__vaddus2(a, b) == halves(a, b, [](int x, int y) { return clamp(x + y, 0, 65535); }));
    CHECK(__vabsdiffu4(a, b) == bytes(a, b, [](int x, int y) { return abs(x - y); }));
    CHECK(__vabsdiffs4(a, b) == sbytes(a, b, [](int x, int y) { return abs(x - y); }));
    CHECK(__vabsdiffu2(a, b) == halves(a, b, [](int x, int y) { return abs(x - y); }));
    CHECK(__vmaxs4(a, b) == sbytes(a, b, [](int x, int y) { return max(x, y); }) && __vmaxu4(a, b) == bytes(a, b, [](int x, int y) { return max(x, y); }));
    CHECK(__vmins4(a, b) == sbytes(a, b, [](int x, int y) { return min(x, y); }) && __vminu2(a, b) == halves(a, b, [](int x, int y) { return min(x, y); }));
    CHECK(__vmaxs2(a, b) == shalves(a, b, [](int x, int y) { return max(x, y); }) && __vmins2(a, b) == shalves(a, b, [](int x, int y) { return min(x, y); }));
    CHECK(__vavgu4(a, b) == bytes(a, b, [](int x, int y) { return (x + y + 1) / 2; }) && __vhaddu4(a, b) == bytes(a, b, [](int x, int y) { return (x + y) / 2; }));
    CHECK(__vcmpeq4(a, b) == bytes(a, b, [](int x, int y) { return x == y ? 255 : 0; }) && __vcmpgts4(a, b) == sbytes(a, b, [](int x, int y) { return x > y ? 255 : 0; }));
    CHECK(__vcmpltu2(a, b) == halves(a, b, [](int x, int y) { return x < y ? 65535 : 0; }) && __vsetleu4(a, b) == bytes(a, b, [](int x, int y) { return x <= y; }));
    CHECK(__vneg4(a) == bytes(0, a, sub) && __vabs4(a) == sbytes(a, 0, [](int x, int) { return abs(x); }) && __vnegss2(a) == shalves(a, 0, [](int x, int) { return clamp(-x, -32768, 32767); }));
    CHECK(__vabsss4(a) == sbytes(a, 0, [](int x, int) { return clamp(abs(x), -128, 127); }));
    unsigned sad = 0, ssad = 0;
#pragma unroll 1
    for (int i = 0; i < 32; i += 8) sad += abs((int)(a >> i & 255) - (int)(b >> i & 255)), ssad += abs((int)(signed char)(a >> i) - (int)(signed char)(b >> i));
    CHECK(__vsadu4(a, b) == sad && __vsads4(a, b) == ssad);
    out[t] = bad;
}

// The instructions for dynamic programming.
KERNEL dpx(int *out) {
    int t = thread_index(), bad = 0;
    unsigned a = (unsigned)sample(t, 1), b = (unsigned)sample(t * 7 % 256, 2), c = mix(t);
    int x = (int)a, y = (int)b, z = (int)c;
    CHECK(__vimax3_s32(x, y, z) == max(x, max(y, z)) && __vimin3_s32(x, y, z) == min(x, min(y, z)));
    CHECK(__vimax3_u32(a, b, c) == max(a, max(b, c)) && __vimin3_u32(a, b, c) == min(a, min(b, c)));
    CHECK(__vimax_s32_relu(x, y) == max(max(x, y), 0) && __vimin_s32_relu(x, y) == max(min(x, y), 0));
    CHECK(__vimax3_s32_relu(x, y, z) == max(max(x, max(y, z)), 0));
    CHECK(__viaddmax_s32(x, y, z) == max((int)(a + b), z) && __viaddmin_s32(x, y, z) == min((int)(a + b), z));
    CHECK(__viaddmax_u32(a, b, c) == max(a + b, c) && __viaddmin_u32(a, b, c) == min(a + b, c));
    CHECK(__viaddmax_s32_relu(x, y, z) == max(max((int)(a + b), z), 0));
    bool p, q;
    CHECK(__vibmax_s32(x, y, &p) == max(x, y) && p == (x >= y));
    CHECK(__vibmin_u32(a, b, &p) == min(a, b) && p == (a <= b));
    CHECK(__vimax3_s16x2(a, b, c) == shalves(a, shalves(b, c, [](int i, int j) { return max(i, j); }), [](int i, int j) { return max(i, j); }));
    CHECK(__vimin3_u16x2(a, b, c) == halves(a, halves(b, c, [](int i, int j) { return min(i, j); }), [](int i, int j) { return min(i, j); }));
    unsigned s = halves(a, b, [](int i, int j) { return i + j; });
    CHECK(__viaddmax_s16x2(a, b, c) == shalves(s, c, [](int i, int j) { return max(i, j); }));
    CHECK(__viaddmin_u16x2(a, b, c) == halves(s, c, [](int i, int j) { return min(i, j); }));
    CHECK(__viaddmax_s16x2_relu(a, b, c) == shalves(s, c, [](int i, int j) { return max(max(i, j), 0); }));
    CHECK(__vibmax_s16x2(a, b, &p, &q) == shalves(a, b, [](int i, int j) { return max(i, j); }) && p == ((short)(a >> 16) >= (short)(b >> 16)) && q == ((short)a >= (short)b));
    out[t] = bad;
}
