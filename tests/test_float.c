// f32 and f64 arithmetic and comparison, against exact arithmetic done here on long integers.
//
// A finite float is an integer times 2^-2200: sums and products are then integer operations without
// any rounding, and the rounding below reads off bits. Nothing of the code under test is used.
#include "exec_rig.h"
#include <math.h>

// ---- exact arithmetic -----------------------------------------------------------------------
enum { WORDS = 144, UNIT = 2200 }; // bit UNIT is worth 1
typedef struct exact {
    bool neg;
    uint32_t w[WORDS];
} exact;

typedef struct format {
    int e, f;
} format;
static const format F16 = {5, 10}, BF16 = {8, 7}, F32 = {8, 23}, F64 = {11, 52};
static bool is_nan(format t, uint64_t x) {
    uint64_t inf = ((1ull << t.e) - 1) << t.f;
    return (x & ((1ull << (t.e + t.f)) - 1)) > inf;
}
static bool is_inf(format t, uint64_t x) {
    return (x & ((1ull << (t.e + t.f)) - 1)) == ((1ull << t.e) - 1) << t.f;
}
static bool sign_of(format t, uint64_t x) { return x >> (t.e + t.f) & 1; }
static void split(format t, uint64_t x, uint64_t *m, int *exp) {
    int e = (int)(x >> t.f & ((1u << t.e) - 1));
    *m = (x & ((1ull << t.f) - 1)) | (e ? 1ull << t.f : 0);
    *exp = (e ? e : 1) - ((1 << (t.e - 1)) - 1) - t.f;
}
static void put(exact *r, unsigned __int128 m, int exp) { // r = m * 2^exp
    memset(r->w, 0, sizeof r->w);
    int at = exp + UNIT;
    for (int i = 0; i < 128; i++)
        if (m >> i & 1) r->w[(at + i) / 32] |= 1u << (at + i) % 32;
}
static int compare(const exact *a, const exact *b) {
    for (int i = WORDS - 1; i >= 0; i--)
        if (a->w[i] != b->w[i]) return a->w[i] < b->w[i] ? -1 : 1;
    return 0;
}
static exact sum(exact a, exact b) {
    exact r = a;
    uint64_t c = 0;
    if (a.neg == b.neg) {
        for (int i = 0; i < WORDS; i++) c += (uint64_t)a.w[i] + b.w[i], r.w[i] = (uint32_t)c, c >>= 32;
        return r;
    }
    if (compare(&a, &b) < 0) {
        exact t = a;
        a = b;
        b = t;
    }
    r.neg = a.neg;
    int64_t d = 0;
    for (int i = 0; i < WORDS; i++) d += (int64_t)a.w[i] - b.w[i], r.w[i] = (uint32_t)d, d >>= 32;
    return r;
}
static bool bit(const exact *a, int i) { return i >= 0 && a->w[i / 32] >> i % 32 & 1; }
static bool any_below(const exact *a, int i) {
    for (int j = 0; j < i; j++)
        if (bit(a, j)) return true;
    return false;
}
// The magnitude of a (not 0), cut at the format's last place and rounded by the mode's rule.
static uint64_t rounded(format t, const exact *a, int round) {
    int top = 32 * WORDS - 1, bias = (1 << (t.e - 1)) - 1, least = UNIT + 1 - bias - t.f;
    while (!bit(a, top)) top--;
    int last = top - t.f < least ? least : top - t.f; // place of the last bit kept
    uint64_t m = 0;
    for (int i = top > last + 63 ? last + 63 : top; i >= last; i--) m = m << 1 | bit(a, i);
    bool half = bit(a, last - 1), rest = last > 0 && any_below(a, last - 1);
    if (round == ORR_RND_RN   ? half && (rest || (m & 1))
        : round == ORR_RND_RM ? (half || rest) && a->neg
                              : round == ORR_RND_RP && (half || rest) && !a->neg)
        m++;
    uint64_t r = m + ((uint64_t)(last - least) << t.f), inf = ((1ull << t.e) - 1) << t.f;
    if (r >= inf) {
        bool away = round == ORR_RND_RN || round == (a->neg ? ORR_RND_RM : ORR_RND_RP);
        r = away ? inf : inf - 1;
    }
    return r | (uint64_t)a->neg << (t.e + t.f);
}
static const uint64_t GENERATED = ~0ull; // stands for: not a number

// x * y + z in format t, rounded once.
static uint64_t ref_fma(format t, uint64_t x, uint64_t y, uint64_t z, int round) {
    uint64_t mx, my, mz;
    int ex, ey, ez;
    uint64_t one = 1ull << (t.e + t.f), inf = ((1ull << t.e) - 1) << t.f;
    if (is_nan(t, x) || is_nan(t, y) || is_nan(t, z)) return GENERATED;
    split(t, x, &mx, &ex), split(t, y, &my, &ey), split(t, z, &mz, &ez);
    bool neg = sign_of(t, x) != sign_of(t, y);
    if (is_inf(t, x) || is_inf(t, y)) {
        if (mx == 0 || my == 0 || (is_inf(t, z) && sign_of(t, z) != neg)) return GENERATED;
        return inf | (neg ? one : 0);
    }
    if (is_inf(t, z)) return z;
    exact p = {.neg = neg}, c = {.neg = sign_of(t, z)};
    put(&p, (unsigned __int128)mx * my, ex + ey);
    put(&c, mz, ez);
    exact s = sum(p, c);
    bool zero = !any_below(&s, 32 * WORDS);
    if (zero) { // signs of exact zeros, IEEE 754 6.3
        bool pz = mx == 0 || my == 0;
        bool minus = pz && mz == 0 && neg == c.neg ? neg : round == ORR_RND_RM;
        return minus ? one : 0;
    }
    return rounded(t, &s, round);
}
static uint64_t one_of(format t) { return ((1ull << (t.e - 1)) - 1) << t.f; }
static uint64_t minus(format t, uint64_t x) { return x ^ 1ull << (t.e + t.f); }

static uint64_t ref_add(format t, uint64_t x, uint64_t y, int round) {
    return ref_fma(t, x, one_of(t), y, round);
}
static uint64_t ref_mul(format t, uint64_t x, uint64_t y, int round) {
    // adding a zero of the product's sign changes nothing
    bool neg = sign_of(t, x) != sign_of(t, y);
    return ref_fma(t, x, y, neg ? 1ull << (t.e + t.f) : 0, round);
}
// quotient and root: enough bits by integer division, the remainder as a last, sticky bit
static uint64_t ref_div(format t, uint64_t x, uint64_t y, int round) {
    uint64_t mx, my, inf = ((1ull << t.e) - 1) << t.f, one = 1ull << (t.e + t.f);
    int ex, ey;
    if (is_nan(t, x) || is_nan(t, y)) return GENERATED;
    split(t, x, &mx, &ex), split(t, y, &my, &ey);
    uint64_t s = sign_of(t, x) != sign_of(t, y) ? one : 0;
    if (is_inf(t, x)) return is_inf(t, y) ? GENERATED : inf | s;
    if (is_inf(t, y)) return s;
    if (my == 0) return mx == 0 ? GENERATED : inf | s;
    if (mx == 0) return s;
    while (!(mx >> 52)) mx <<= 1, ex--;
    unsigned __int128 n = (unsigned __int128)mx << 70, q = n / my;
    exact r = {.neg = s != 0};
    put(&r, q << 1 | (n % my != 0), ex - ey - 71);
    return rounded(t, &r, round);
}
static uint64_t ref_sqrt(format t, uint64_t x, int round) {
    uint64_t m;
    int e;
    if (is_nan(t, x)) return GENERATED;
    split(t, x, &m, &e);
    if (m == 0) return x;
    if (sign_of(t, x)) return GENERATED;
    if (is_inf(t, x)) return x;
    unsigned __int128 n = m;
    while (!(n >> 124) || (e & 1)) n <<= 1, e--;
    unsigned __int128 root = 0;
    for (int i = 63; i >= 0; i--) {
        unsigned __int128 b = root | (unsigned __int128)1 << i;
        if (b * b <= n) root = b;
    }
    exact r = {0};
    put(&r, root << 1 | (root * root != n), e / 2 - 1);
    return rounded(t, &r, round);
}

// ---- values to try --------------------------------------------------------------------------
static uint64_t value(format t, uint64_t *seed, int k) {
    uint64_t inf = ((1ull << t.e) - 1) << t.f, one = one_of(t), r = rig_random(seed);
    uint64_t edge[] = {0,
                       1,
                       2,
                       (1ull << t.f) - 1,
                       1ull << t.f,
                       (1ull << t.f) + 1,
                       one,
                       one + 1,
                       one - 1,
                       one + (1ull << t.f),
                       inf - 1,
                       inf - 2,
                       inf,
                       inf + 1,
                       inf | 1ull << (t.f - 1),
                       one >> 1,
                       one + (one >> 1),
                       (1ull << t.f) >> 1,
                       inf - (1ull << t.f),
                       3,
                       one + ((uint64_t)t.f << t.f),
                       one - ((uint64_t)(t.f + 1) << t.f)};
    uint64_t sign = r >> 63 << (t.e + t.f), any = r & ((1ull << (t.e + t.f)) - 1);
    switch (k % 4) {
    case 0: return edge[r % (sizeof edge / sizeof *edge)] | sign;
    case 1: return any | sign;
    case 2: // near 1, so that alignments meet
        return (one + (r % 61 << t.f) - (30ull << t.f) + (any & ((1ull << t.f) - 1))) | sign;
    default: // few bits: ties
        return (one + (r % 9 << t.f) + (any >> 20 & 7ull << (t.f - 3))) | sign;
    }
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
static uint64_t flushed(uint64_t x) { return x & 0x7f800000 ? x : x & 0x80000000; }
static uint64_t saturated(uint64_t x) { // f32
    if (x == GENERATED || x >> 31) return 0;
    return x > 0x3f800000 ? 0x3f800000 : x;
}
// As observed on an H200: f64 hands an operand on, b before c before a; of a division a before b.
static uint64_t expected_nan(format t, int op, uint64_t x, uint64_t y, uint64_t z) {
    if (t.f == 23) return 0x7fffffff;
    if (t.f < 23) return 0x7fff;
    if (op == ORR_OP_DIV && is_nan(t, x)) return x | 1ull << 51;
    if (is_nan(t, y)) return y | 1ull << 51;
    if (is_nan(t, z)) return z | 1ull << 51;
    if (is_nan(t, x)) return x | 1ull << 51;
    return 0xfff8000000000000ull;
}

static void try_op(format t, int type, int cls, int op, int nsrc, uint32_t mods, int round, int times) {
    uint64_t seed = (uint64_t)op * 1000 + mods * 10 + (uint64_t)round;
    for (int n = 0; n < times; n++) {
        rig r;
        rig_begin(&r, op, type);
        r.inst.mods = mods;
        r.inst.round = (uint8_t)round;
        void *d = rig_dst(&r, cls), *s[3] = {0};
        for (int j = 0; j < nsrc; j++) s[j] = rig_src(&r, cls);
        for (int i = 0; i < 32; i++)
            for (int j = 0; j < nsrc; j++) set(s[j], cls, i, value(t, &seed, n + i + j * (n & 1)));
        uint32_t mask = n & 1 ? (uint32_t)rig_random(&seed) : ~0u;
        for (int i = 0; i < 32; i++) set(d, cls, i, 0x55);
        rig_run(&r, orr_pick_float, mask);
        for (int i = 0; i < 32; i++) {
            uint64_t x = get(s[0], cls, i), y = nsrc > 1 ? get(s[1], cls, i) : 0,
                     z = nsrc > 2 ? get(s[2], cls, i) : 0;
            uint64_t got = get(d, cls, i), want = 0;
            if (!(mask >> i & 1)) {
                assert_int_equal(got, 0x55);
                continue;
            }
            bool ftz = mods & ORR_M_FTZ;
            uint64_t fx = ftz ? flushed(x) : x, fy = ftz ? flushed(y) : y, fz = ftz ? flushed(z) : z;
            int rnd = round == ORR_RND_NONE ? ORR_RND_RN : round;
            switch (op) {
            case ORR_OP_ADD: want = ref_add(t, fx, fy, rnd); break;
            case ORR_OP_SUB: want = is_nan(t, y) ? GENERATED : ref_add(t, fx, minus(t, fy), rnd); break;
            case ORR_OP_MUL: want = ref_mul(t, fx, fy, rnd); break;
            case ORR_OP_FMA: want = ref_fma(t, fx, fy, fz, rnd); break;
            case ORR_OP_DIV: want = ref_div(t, fx, fy, rnd); break;
            case ORR_OP_RCP: want = ref_div(t, one_of(t), fx, rnd); break;
            case ORR_OP_SQRT: want = ref_sqrt(t, fx, rnd); break;
            }
            if (mods & ORR_M_SAT) want = saturated(want);
            if (want == GENERATED) want = expected_nan(t, op, x, y, z);
            if (ftz) want = flushed(want);
            if (got != want)
                fail_msg("op %d round %d mods %x: %llx %llx %llx gives %llx, not %llx", op, round, mods,
                         (unsigned long long)x, (unsigned long long)y, (unsigned long long)z,
                         (unsigned long long)got, (unsigned long long)want);
        }
    }
}

static const struct {
    int op, nsrc;
    bool sat;
} arith[] = {{ORR_OP_ADD, 2, true},  {ORR_OP_SUB, 2, true},  {ORR_OP_MUL, 2, true},  {ORR_OP_FMA, 3, true},
             {ORR_OP_DIV, 2, false}, {ORR_OP_RCP, 1, false}, {ORR_OP_SQRT, 1, false}};

static void f32_arithmetic(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof arith / sizeof *arith; k++)
        for (int round = ORR_RND_NONE; round <= ORR_RND_RP; round++)
            for (int v = 0; v < (arith[k].sat ? 4 : 2); v++)
                try_op(F32, ORR_T_F32, ORR_W, arith[k].op, arith[k].nsrc,
                       (v & 1 ? ORR_M_FTZ : 0) | (v & 2 ? ORR_M_SAT : 0), round, 24);
}
static void f64_arithmetic(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof arith / sizeof *arith; k++)
        for (int round = ORR_RND_RN; round <= ORR_RND_RP; round++)
            try_op(F64, ORR_T_F64, ORR_D, arith[k].op, arith[k].nsrc, 0, round, 24);
}

// ---- known values ---------------------------------------------------------------------------
static uint32_t run32(int op, uint32_t mods, uint32_t x, uint32_t y, uint32_t z, int nsrc) {
    rig r;
    rig_begin(&r, op, ORR_T_F32);
    r.inst.mods = mods;
    uint32_t *d = rig_dst(&r, ORR_W), v[3] = {x, y, z};
    for (int j = 0; j < nsrc; j++) {
        uint32_t *s = rig_src(&r, ORR_W);
        for (int i = 0; i < 32; i++) s[i] = v[j];
    }
    rig_run(&r, orr_pick_float, ~0u);
    uint32_t full = d[7];
    rig_exec(&r, 1u << 9);
    assert_int_equal(d[9], full);
    return full;
}
static void f32_min_max(void **state) {
    (void)state;
    const uint32_t p0 = 0, m0 = 0x80000000, one = 0x3f800000, two = 0x40000000, nan = 0x7fc00123,
                   inf = 0x7f800000;
    assert_int_equal(run32(ORR_OP_MIN, 0, p0, m0, 0, 2), m0);
    assert_int_equal(run32(ORR_OP_MIN, 0, m0, p0, 0, 2), m0);
    assert_int_equal(run32(ORR_OP_MAX, 0, p0, m0, 0, 2), p0);
    assert_int_equal(run32(ORR_OP_MAX, 0, m0, p0, 0, 2), p0);
    assert_int_equal(run32(ORR_OP_MIN, 0, one, two, 0, 2), one);
    assert_int_equal(run32(ORR_OP_MAX, 0, one, two, 0, 2), two);
    assert_int_equal(run32(ORR_OP_MIN, 0, nan, two, 0, 2), two);
    assert_int_equal(run32(ORR_OP_MIN, 0, two, nan, 0, 2), two);
    assert_int_equal(run32(ORR_OP_MAX, 0, nan, m0, 0, 2), m0);
    assert_int_equal(run32(ORR_OP_MAX, 0, nan, nan, 0, 2), 0x7fffffff);
    assert_int_equal(run32(ORR_OP_MAX, ORR_M_NAN, nan, inf, 0, 2), 0x7fffffff);
    assert_int_equal(run32(ORR_OP_MIN, ORR_M_NAN, inf, nan, 0, 2), 0x7fffffff);
    assert_int_equal(run32(ORR_OP_MIN, ORR_M_FTZ, 1, one, 0, 2), 0);
    assert_int_equal(run32(ORR_OP_MIN, 0, 1, one, 0, 2), 1);
    // magnitudes 1 and 2, signs multiplied
    assert_int_equal(run32(ORR_OP_MIN, ORR_M_XORSIGN, one | m0, two, 0, 2), one | m0);
    assert_int_equal(run32(ORR_OP_MAX, ORR_M_XORSIGN, one | m0, two | m0, 0, 2), two);
    assert_int_equal(run32(ORR_OP_MAX, 0, one, two, 0x40400000, 3), 0x40400000);
    assert_int_equal(run32(ORR_OP_MIN, 0, two, nan, one, 3), one);
}
static void f32_bits(void **state) {
    (void)state;
    assert_int_equal(run32(ORR_OP_ABS, 0, 0xbf800000, 0, 0, 1), 0x3f800000);
    assert_int_equal(run32(ORR_OP_ABS, 0, 0x80000001, 0, 0, 1), 1);
    assert_int_equal(run32(ORR_OP_ABS, ORR_M_FTZ, 0x80000001, 0, 0, 1), 0);
    assert_int_equal(run32(ORR_OP_NEG, 0, 0, 0, 0, 1), 0x80000000);
    assert_int_equal(run32(ORR_OP_NEG, 0, 0x7fc00001, 0, 0, 1), 0x7fffffff); // an H200's answers to NaNs
    assert_int_equal(run32(ORR_OP_ABS, ORR_M_FTZ, 0xff800001, 0, 0, 1), 0x7fffffff);
    assert_int_equal(run32(ORR_OP_NEG, ORR_M_FTZ, 1, 0, 0, 1), 0x80000000);
    assert_int_equal(run32(ORR_OP_COPYSIGN, 0, 0x80000000, 0x3f800000, 0, 2), 0xbf800000);
    assert_int_equal(run32(ORR_OP_COPYSIGN, 0, 0x3f800000, 0xff800000, 0, 2), 0x7f800000);
}
static void f32x2(void **state) {
    (void)state;
    rig r;
    rig_begin(&r, ORR_OP_FMA, ORR_T_F32X2);
    r.inst.round = ORR_RND_RN;
    uint64_t *d = rig_dst(&r, ORR_D), *a = rig_src(&r, ORR_D), *b = rig_src(&r, ORR_D),
             *c = rig_src(&r, ORR_D);
    for (int i = 0; i < 32; i++)
        a[i] = 0x4000000040400000, b[i] = 0x40400000bf800000, c[i] = 0x3f80000040000000;
    rig_run(&r, orr_pick_float, 0xf0);
    assert_true(d[4] == 0x40e00000bf800000); // 2*3+1 = 7 above, 3*-1+2 = -1 below
    assert_true(d[0] == 0);
}

// ---- comparisons ----------------------------------------------------------------------------
// The manual's table: what each comparison says of (less, equal, greater, unordered).
static const struct {
    int cmp;
    bool lt, eq, gt, un;
} truth[] = {{ORR_CMP_EQ, 0, 1, 0, 0},  {ORR_CMP_NE, 1, 0, 1, 0},  {ORR_CMP_LT, 1, 0, 0, 0},
             {ORR_CMP_LE, 1, 1, 0, 0},  {ORR_CMP_GT, 0, 0, 1, 0},  {ORR_CMP_GE, 0, 1, 1, 0},
             {ORR_CMP_EQU, 0, 1, 0, 1}, {ORR_CMP_NEU, 1, 0, 1, 1}, {ORR_CMP_LTU, 1, 0, 0, 1},
             {ORR_CMP_LEU, 1, 1, 0, 1}, {ORR_CMP_GTU, 0, 0, 1, 1}, {ORR_CMP_GEU, 0, 1, 1, 1},
             {ORR_CMP_NUM, 1, 1, 1, 0}, {ORR_CMP_NAN, 0, 0, 0, 1}};
static const struct {
    double x, y;
    int is;
} pairs[] = { // is: 0 less, 1 equal, 2 greater, 3 unordered
    {1, 2, 0},
    {2, 1, 2},
    {1, 1, 1},
    {0.0, -0.0, 1},
    {-1, 1, 0},
    {__builtin_inf(), 1, 2},
    {__builtin_nan(""), 1, 3},
    {1, __builtin_nan(""), 3},
    {__builtin_nan(""), __builtin_nan(""), 3},
    {-__builtin_inf(), __builtin_inf(), 0}};

static bool says(size_t k, int is) {
    return is == 0 ? truth[k].lt : is == 1 ? truth[k].eq : is == 2 ? truth[k].gt : truth[k].un;
}
static void setp(void **state) {
    (void)state;
    const size_t np = sizeof pairs / sizeof *pairs;
    for (size_t k = 0; k < sizeof truth / sizeof *truth; k++) {
        for (int wide = 0; wide < 2; wide++) {
            rig r;
            rig_begin(&r, ORR_OP_SETP, wide ? ORR_T_F64 : ORR_T_F32);
            r.inst.cmp = (uint8_t)truth[k].cmp;
            r.inst.boolop = ORR_BOOL_XOR;
            uint32_t *p = rig_dst(&r, ORR_P), *q = rig_dst(&r, ORR_P);
            void *a = rig_src(&r, wide ? ORR_D : ORR_W), *b = rig_src(&r, wide ? ORR_D : ORR_W);
            uint32_t *c = rig_src(&r, ORR_P);
            uint32_t want = 0;
            for (int i = 0; i < 32; i++) {
                if (wide)
                    ((double *)a)[i] = pairs[i % np].x, ((double *)b)[i] = pairs[i % np].y;
                else
                    ((float *)a)[i] = (float)pairs[i % np].x, ((float *)b)[i] = (float)pairs[i % np].y;
                want |= (uint32_t)says(k, pairs[i % np].is) << i;
            }
            *c = 0xff00ff00;
            rig_run(&r, orr_pick_float, 0x00ffffff);
            assert_int_equal(*p, (want ^ 0xff00ff00) & 0xffffff);
            assert_int_equal(*q, (~want ^ 0xff00ff00) & 0xffffff);
        }
    }
    // subnormals are zeros with .ftz
    rig r;
    rig_begin(&r, ORR_OP_SETP, ORR_T_F32);
    r.inst.cmp = ORR_CMP_EQ;
    uint32_t *p = rig_dst(&r, ORR_P), *a = rig_src(&r, ORR_W);
    rig_src(&r, ORR_W);
    for (int i = 0; i < 32; i++) a[i] = 0x007fffff;
    rig_run(&r, orr_pick_float, ~0u);
    assert_int_equal(*p, 0);
    r.inst.mods = ORR_M_FTZ;
    rig_run(&r, orr_pick_float, ~0u);
    assert_int_equal(*p, ~0u);
}
static void set_and_slct(void **state) {
    (void)state;
    rig r;
    rig_begin(&r, ORR_OP_SET, ORR_T_F32);
    r.inst.stype = ORR_T_F32;
    r.inst.cmp = ORR_CMP_GT;
    uint32_t *d = rig_dst(&r, ORR_W);
    float *a = rig_src(&r, ORR_W), *b = rig_src(&r, ORR_W);
    for (int i = 0; i < 32; i++) a[i] = (float)i, b[i] = 10;
    rig_run(&r, orr_pick_float, ~0u);
    assert_int_equal(d[10], 0);
    assert_int_equal(d[11], 0x3f800000);
    r.inst.type = ORR_T_U32;
    rig_run(&r, orr_pick_float, ~0u);
    assert_int_equal(d[11], ~0u);

    rig_begin(&r, ORR_OP_SLCT, ORR_T_U64);
    r.inst.stype = ORR_T_F32;
    uint64_t *e = rig_dst(&r, ORR_D), *x = rig_src(&r, ORR_D), *y = rig_src(&r, ORR_D);
    float *z = rig_src(&r, ORR_W);
    for (int i = 0; i < 32; i++) x[i] = 1, y[i] = 2, z[i] = (float)(i - 3);
    z[5] = __builtin_nanf("");
    z[6] = -0.0f;
    rig_run(&r, orr_pick_float, ~0u);
    assert_true(e[0] == 2 && e[3] == 1 && e[5] == 2 && e[6] == 1 && e[7] == 1);
}
static void testp(void **state) {
    (void)state;
    static const uint32_t bits[] = {0,          0x80000000, 1,          0x007fffff, 0x00800000, 0x3f800000,
                                    0x7f7fffff, 0x7f800000, 0xff800000, 0x7f800001, 0x7fffffff};
    static const uint64_t wide[] = {0,
                                    1ull << 63,
                                    1,
                                    0x000fffffffffffff,
                                    0x0010000000000000,
                                    0x3ff0000000000000,
                                    0x7fefffffffffffff,
                                    0x7ff0000000000000,
                                    0xfff0000000000000,
                                    0x7ff0000000000001,
                                    0x7fffffffffffffff};
    static const struct {
        int sub;
        uint32_t want;
    } rows[] = {// bit i: the i-th value above has the property
                {ORR_TESTP_FINITE, 0x07f},     {ORR_TESTP_INFINITE, 0x180}, {ORR_TESTP_NUMBER, 0x1ff},
                {ORR_TESTP_NOTANUMBER, 0x600}, {ORR_TESTP_NORMAL, 0x073},   {ORR_TESTP_SUBNORMAL, 0x00c}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        for (int d = 0; d < 2; d++) {
            rig r;
            rig_begin(&r, ORR_OP_TESTP, d ? ORR_T_F64 : ORR_T_F32);
            r.inst.sub = (uint8_t)rows[k].sub;
            uint32_t *p = rig_dst(&r, ORR_P);
            void *a = rig_src(&r, d ? ORR_D : ORR_W);
            for (int i = 0; i < 11; i++) set(a, d ? ORR_D : ORR_W, i, d ? wide[i] : bits[i]);
            rig_run(&r, orr_pick_float, 0x7ff);
            assert_int_equal(*p, rows[k].want);
        }
    }
}

// ---- f16 and bf16 ---------------------------------------------------------------------------
static void half_arithmetic(void **state) {
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        try_op(F16, ORR_T_F16, ORR_H, arith[k].op, arith[k].nsrc, 0, ORR_RND_RN, 300);
        try_op(BF16, ORR_T_BF16, ORR_H, arith[k].op, arith[k].nsrc, 0, ORR_RND_RN, 300);
    }
}

static uint16_t run16(int op, int type, uint32_t mods, uint16_t x, uint16_t y, uint16_t z, int nsrc) {
    rig r, p; // the single form and the pair must agree
    int two = type == ORR_T_F16 ? ORR_T_F16X2 : ORR_T_BF16X2;
    rig_begin(&r, op, type), rig_begin(&p, op, two);
    r.inst.mods = p.inst.mods = mods;
    uint16_t *d = rig_dst(&r, ORR_H), v[3] = {x, y, z};
    uint32_t *e = rig_dst(&p, ORR_W);
    for (int j = 0; j < nsrc; j++) {
        uint16_t *s = rig_src(&r, ORR_H);
        uint32_t *t = rig_src(&p, ORR_W);
        for (int i = 0; i < 32; i++) s[i] = v[j], t[i] = v[j] * 0x10001u;
    }
    rig_run(&r, orr_pick_float, ~0u);
    rig_run(&p, orr_pick_float, 0xff);
    assert_int_equal(e[3], d[3] * 0x10001u);
    assert_int_equal(e[8], 0);
    return d[3];
}
static void half_modes(void **state) {
    (void)state;
    const int f = ORR_T_F16, b = ORR_T_BF16;
    assert_int_equal(run16(ORR_OP_FMA, f, ORR_M_RELU, 0x3c00, 0xbc00, 0, 3), 0);           // 1 * -1
    assert_int_equal(run16(ORR_OP_FMA, f, ORR_M_RELU, 0x7e00, 0x3c00, 0, 3), 0x7fff);      // NaN stays
    assert_int_equal(run16(ORR_OP_FMA, b, ORR_M_RELU, 0x3f80, 0xbf80, 0x4000, 3), 0x3f80); // -1 + 2
    assert_int_equal(run16(ORR_OP_ADD, f, ORR_M_SAT, 0x3c00, 0x3c00, 0, 2), 0x3c00);
    assert_int_equal(run16(ORR_OP_ADD, f, ORR_M_SAT, 0xbc00, 0, 0, 2), 0);
    assert_int_equal(run16(ORR_OP_ADD, f, ORR_M_SAT, 0x7e00, 0, 0, 2), 0);
    assert_int_equal(run16(ORR_OP_ADD, f, 0, 1, 1, 0, 2), 2); // subnormals
    assert_int_equal(run16(ORR_OP_ADD, f, ORR_M_FTZ, 1, 1, 0, 2), 0);
    assert_int_equal(run16(ORR_OP_MUL, f, ORR_M_FTZ, 0x0400, 0xb800, 0, 2), 0x8000); // 2^-14 * -1/2
    assert_int_equal(run16(ORR_OP_MUL, f, 0, 0x0400, 0xb800, 0, 2), 0x8200);
    assert_int_equal(run16(ORR_OP_ABS, b, 0, 0xbf80, 0, 0, 1), 0x3f80);
    assert_int_equal(run16(ORR_OP_NEG, f, ORR_M_FTZ, 1, 0, 0, 1), 0x8000);
    for (int k = 0; k < 2; k++) {
        int t = k ? b : f;
        uint16_t one = k ? 0x3f80 : 0x3c00, two = k ? 0x4000 : 0x4000, nan = k ? 0x7fc1 : 0x7e01;
        assert_int_equal(run16(ORR_OP_MIN, t, 0, 0, 0x8000, 0, 2), 0x8000);
        assert_int_equal(run16(ORR_OP_MAX, t, 0, 0x8000, 0, 0, 2), 0);
        assert_int_equal(run16(ORR_OP_MAX, t, 0, one, two, 0, 2), two);
        assert_int_equal(run16(ORR_OP_MIN, t, 0, nan, two, 0, 2), two);
        assert_int_equal(run16(ORR_OP_MIN, t, 0, nan, nan, 0, 2), 0x7fff);
        assert_int_equal(run16(ORR_OP_MIN, t, ORR_M_NAN, nan, two, 0, 2), 0x7fff);
        assert_int_equal(run16(ORR_OP_MAX, t, ORR_M_XORSIGN, (uint16_t)(one | 0x8000), two, 0, 2),
                         two | 0x8000);
    }
}
static void half_compare(void **state) {
    (void)state;
    rig r;
    rig_begin(&r, ORR_OP_SETP, ORR_T_F16X2);
    r.inst.cmp = ORR_CMP_LT;
    r.inst.boolop = ORR_BOOL_AND;
    uint32_t *p = rig_dst(&r, ORR_P), *q = rig_dst(&r, ORR_P), *a = rig_src(&r, ORR_W),
             *b = rig_src(&r, ORR_W), *c = rig_src(&r, ORR_P);
    for (int i = 0; i < 32; i++)
        a[i] = 0x3c004000, b[i] = i & 1 ? 0x40003c00 : 0x3c014400; // 1|2 : 2|1 or 1+|4
    *c = 0x0000ffff;
    rig_run(&r, orr_pick_float, ~0u);
    assert_int_equal(*p, 0x00005555);
    assert_int_equal(*q, 0x0000ffff);

    rig_begin(&r, ORR_OP_SET, ORR_T_U32);
    r.inst.stype = ORR_T_F16X2;
    r.inst.cmp = ORR_CMP_GEU;
    uint32_t *d = rig_dst(&r, ORR_W);
    a = rig_src(&r, ORR_W), b = rig_src(&r, ORR_W);
    for (int i = 0; i < 32; i++) a[i] = 0x7e003c00, b[i] = 0x3c004000; // NaN|1 : 1|2
    rig_run(&r, orr_pick_float, ~0u);
    assert_int_equal(d[0], 0xffff0000);
    r.inst.type = ORR_T_F16X2;
    rig_run(&r, orr_pick_float, ~0u);
    assert_int_equal(d[0], 0x3c000000);
}

// ---- approximations: the manual's errors ----------------------------------------------------
static double ulp32(double y) { // of the binary32 binade of y
    int e;
    frexp(y, &e);
    return ldexp(1, e - 24 < -149 ? -149 : e - 24);
}
static double rsqrt_of(double x) { return 1 / sqrt(x); }
static double rcp_of(double x) { return 1 / x; }
static void approximations(void **state) {
    (void)state;
    static const struct {
        int op;
        double (*f)(double);
        double lo, hi;
        bool log;
        double rel, ulps, abs;
    } rows[] = {
        {ORR_OP_EX2, exp2, -148, 127.9, false, 0, 2, 0},
        {ORR_OP_LG2, log2, 0.5, 2, false, 0, 0, 0x1p-22},
        {ORR_OP_LG2, log2, -126, -1, true, 0x1p-22, 0, 0},
        {ORR_OP_LG2, log2, 1, 127, true, 0x1p-22, 0, 0},
        {ORR_OP_SIN, sin, -6.2831853, 6.2831853, false, 0, 0, 0x1p-20},
        {ORR_OP_COS, cos, -6.2831853, 6.2831853, false, 0, 0, 0x1p-20},
        {ORR_OP_SIN, sin, -314.15926, 314.15926, false, 0, 0, 0x1p-14},
        {ORR_OP_COS, cos, -314.15926, 314.15926, false, 0, 0, 0x1p-14},
        {ORR_OP_TANH, tanh, -12, 12, false, 0x1p-11, 0, 0},
        {ORR_OP_TANH, tanh, -30, 0, true, 0x1p-11, 0, 0},
        {ORR_OP_RSQRT, rsqrt_of, -149, 127, true, 0x1p-22, 0, 0},
        {ORR_OP_RCP, rcp_of, -126, 127, true, 0, 1, 0},
        {ORR_OP_SQRT, sqrt, -149, 127, true, 0x1p-23, 0, 0},
    };
    uint64_t seed = 1;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        for (int n = 0; n < 100; n++) {
            rig r;
            rig_begin(&r, rows[k].op, ORR_T_F32);
            r.inst.mods = ORR_M_APPROX;
            float *d = rig_dst(&r, ORR_W), *a = rig_src(&r, ORR_W);
            for (int i = 0; i < 32; i++) {
                double x =
                    rows[k].lo + (rows[k].hi - rows[k].lo) * (double)(rig_random(&seed) >> 11) * 0x1p-53;
                a[i] = (float)(rows[k].log ? exp2(x) : x);
            }
            rig_run(&r, orr_pick_float, ~0u);
            for (int i = 0; i < 32; i++) {
                double want = rows[k].f((double)a[i]), err = fabs(d[i] - want);
                double bound = rows[k].abs + rows[k].rel * fabs(want) + rows[k].ulps * ulp32(want);
                if (err > bound)
                    fail_msg("op %d of %a: %a, not %a", rows[k].op, (double)a[i], (double)d[i], want);
            }
        }
    }
}
static void approximation_edges(void **state) {
    (void)state;
    const uint32_t A = ORR_M_APPROX, inf = 0x7f800000, minf = 0xff800000, m0 = 0x80000000, nan = 0x7fffffff,
                   one = 0x3f800000;
    static const struct {
        int op;
        uint32_t x, want;
    } rows[] = {
        // the manual's tables
        {ORR_OP_RCP, 0, 0x7f800000},
        {ORR_OP_RCP, 0x80000000, 0xff800000},
        {ORR_OP_RCP, 0xff800000, 0x80000000},
        {ORR_OP_SQRT, 0x80000000, 0x80000000},
        {ORR_OP_SQRT, 0xbf800000, 0x7fffffff},
        {ORR_OP_SQRT, 0x7f800000, 0x7f800000},
        {ORR_OP_RSQRT, 0, 0x7f800000},
        {ORR_OP_RSQRT, 0x80000000, 0xff800000},
        {ORR_OP_RSQRT, 0x7f800000, 0},
        {ORR_OP_RSQRT, 0xbf800000, 0x7fffffff},
        {ORR_OP_RSQRT, 0xff800000, 0x7fffffff},
        {ORR_OP_SIN, 0, 0},
        {ORR_OP_SIN, 0x80000000, 0x80000000},
        {ORR_OP_SIN, 0x7f800000, 0x7fffffff},
        {ORR_OP_COS, 0x80000000, 0x3f800000},
        {ORR_OP_COS, 0xff800000, 0x7fffffff},
        {ORR_OP_LG2, 0, 0xff800000},
        {ORR_OP_LG2, 0x80000000, 0xff800000},
        {ORR_OP_LG2, 0xbf800000, 0x7fffffff},
        {ORR_OP_LG2, 0x7f800000, 0x7f800000},
        {ORR_OP_LG2, 0x3f800000, 0},
        {ORR_OP_LG2, 0x41000000, 0x40400000},
        {ORR_OP_EX2, 0xff800000, 0},
        {ORR_OP_EX2, 0x7f800000, 0x7f800000},
        {ORR_OP_EX2, 0x80000000, 0x3f800000},
        {ORR_OP_EX2, 0x43000000, 0x7f800000},
        {ORR_OP_EX2, 0xc3150000, 1},
        {ORR_OP_EX2, 0x40400000, 0x41000000},
        {ORR_OP_TANH, 0x7f800000, 0x3f800000},
        {ORR_OP_TANH, 0xff800000, 0xbf800000},
        {ORR_OP_TANH, 0x80000000, 0x80000000},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        assert_int_equal(run32(rows[k].op, A, rows[k].x, 0, 0, 1), rows[k].want);
        assert_int_equal(run32(rows[k].op, A, 0x7f800001, 0, 0, 1), nan);
    }
    assert_int_equal(run32(ORR_OP_EX2, A | ORR_M_FTZ, 0xc3150000, 0, 0, 1), 0); // 2^-149 flushed
    assert_int_equal(run32(ORR_OP_RCP, A | ORR_M_FTZ, 0x7f000000, 0, 0, 1), 0); // 2^-127
    assert_int_equal(run32(ORR_OP_DIV, A, one, 0x7e800001, 0, 2), 0);           // divisor above 2^126
    assert_int_equal(run32(ORR_OP_DIV, A, inf, 0x7e800001, 0, 2), nan);
    assert_int_equal(run32(ORR_OP_DIV, A, minf, 0xc0000000, 0, 2), inf);
    assert_int_equal(run32(ORR_OP_DIV, A, one, m0, 0, 2), minf);
    assert_int_equal(run32(ORR_OP_DIV, ORR_M_FULL, one, 0x7f000000, 0, 2), 0x00400000);
}
static void approximations64(void **state) {
    (void)state;
    rig r;
    rig_begin(&r, ORR_OP_RCP, ORR_T_F64);
    r.inst.mods = ORR_M_APPROX | ORR_M_FTZ;
    uint64_t *d = rig_dst(&r, ORR_D), *a = rig_src(&r, ORR_D), seed = 3;
    for (int i = 0; i < 32; i++) a[i] = (rig_random(&seed) >> 2 & 0x3fffffffffffffff) | 0x2000000000000000;
    a[0] = 0, a[1] = 0x8000000000000000, a[2] = 0x7ff0000000000000, a[3] = 1, a[4] = 0x7ff8000000000001;
    for (int k = 0; k < 2; k++) {
        rig_run(&r, orr_pick_float, ~0u);
        assert_true(d[0] == 0x7ff0000000000000 && d[1] == 0xfff0000000000000 && d[2] == 0 &&
                    d[3] == 0x7ff0000000000000);
        assert_true((d[4] & 0x7ff8000000000000) == 0x7ff8000000000000);
        for (int i = 5; i < 32; i++) {
            double x, y;
            memcpy(&x, &a[i], 8);
            memcpy(&y, &d[i], 8);
            double want = k ? 1 / sqrt(x) : 1 / x;
            assert_true((uint32_t)d[i] == 0);
            assert_true(fabs(y - want) <= fabs(want) * 0x1p-20);
        }
        r.inst.op = ORR_OP_RSQRT;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_arithmetic),
        cmocka_unit_test(f64_arithmetic),
        cmocka_unit_test(f32_min_max),
        cmocka_unit_test(f32_bits),
        cmocka_unit_test(f32x2),
        cmocka_unit_test(setp),
        cmocka_unit_test(set_and_slct),
        cmocka_unit_test(testp),
        cmocka_unit_test(half_arithmetic),
        cmocka_unit_test(half_modes),
        cmocka_unit_test(half_compare),
        cmocka_unit_test(approximations),
        cmocka_unit_test(approximation_edges),
        cmocka_unit_test(approximations64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
