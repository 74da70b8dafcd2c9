// mma, wmma, ldmatrix, stmatrix, movmatrix.
//
// Where an element of a fragment is, is written down here once more, from the manual's formulas, one
// shape at a time. With small integers every order of adding gives the same sum, so that a plain
// triple loop is the reference for all types; what the tensor cores do with large and small addends is
// calculated by hand.
#include "exec_rig.h"
#include "exec/block.h"
#include <stdlib.h>

// ---- the manual's layouts -------------------------------------------------------------------
// Element i of a lane's fragment; lane = 4 g + t.
typedef void place_fn(int lane, int i, int *row, int *col);
#define G (lane >> 2)
#define T (lane & 3)
#define PLACE(name, r, c)                                                                                    \
    static void name(int lane, int i, int *row, int *col) {                                                  \
        (void)i;                                                                                             \
        *row = (r);                                                                                          \
        *col = (c);                                                                                          \
    }
PLACE(a_f64_884, G, T)
PLACE(b_f64_884, T, G)
PLACE(c_8, G, T * 2 + (i & 1))
PLACE(c_16, i < 2 ? G : G + 8, T * 2 + (i & 1))
PLACE(a_1684, i == 0 ? G : G + 8, T)                                // tf32 and f64, k = 4
PLACE(a_1688_word, i == 0 || i == 2 ? G : G + 8, i < 2 ? T : T + 4) // tf32 and f64, k = 8
PLACE(b_1688_word, i == 0 ? T : T + 4, G)
PLACE(a_16816_f64, i % 2 == 0 ? G : G + 8, i % 2 == 0 ? i * 2 + T : i * 2 - 2 + T)
PLACE(b_16816_f64, i * 4 + T, G)
PLACE(a_1688_half, i < 2 ? G : G + 8, T * 2 + (i & 1))
PLACE(b_1688_half, T * 2 + i, G)
PLACE(a_16816_half, i < 2 || (i >= 4 && i < 6) ? G : G + 8, i < 4 ? T * 2 + (i & 1) : T * 2 + (i & 1) + 8)
PLACE(b_16816_half, i < 2 ? T * 2 + (i & 1) : T * 2 + (i & 1) + 8, G)
PLACE(a_8816, G, T * 4 + i)
PLACE(b_8816, T * 4 + i, G)
PLACE(a_16816_byte, i < 4 ? G : G + 8, T * 4 + (i & 3))
PLACE(a_16832_byte, i < 4 || (i >= 8 && i < 12) ? G : G + 8, i < 8 ? T * 4 + (i & 3) : T * 4 + (i & 3) + 16)
PLACE(b_16832_byte, i < 4 ? T * 4 + (i & 3) : T * 4 + (i & 3) + 16, G)
PLACE(a_8832, G, T * 8 + i)
PLACE(b_8832, T * 8 + i, G)
PLACE(a_16832_nibble, i < 8 ? G : G + 8, T * 8 + (i & 7))
PLACE(a_16864_nibble, i < 8 || (i >= 16 && i < 24) ? G : G + 8,
      i < 16 ? T * 8 + (i & 7) : T * 8 + (i & 7) + 32)
PLACE(b_16864_nibble, i < 8 ? T * 8 + (i & 7) : T * 8 + (i & 7) + 32, G)
PLACE(a_88128, G, T * 32 + i)
PLACE(b_88128, T * 32 + i, G)
PLACE(a_168128, i < 32 ? G : G + 8, T * 32 + (i & 31))
PLACE(a_168256, i < 32 || (i >= 64 && i < 96) ? G : G + 8,
      i < 64 ? T * 32 + (i & 31) : T * 32 + (i & 31) + 128)
PLACE(b_168256, i < 32 ? T * 32 + (i & 31) : T * 32 + (i & 31) + 128, G)

static const struct shape {
    int m, n, k, a, b, c, d;
    place_fn *pa, *pb, *pc;
} shapes[] = {
#define TY(x) ORR_T_##x
    {8, 8, 4, TY(F64), TY(F64), TY(F64), TY(F64), a_f64_884, b_f64_884, c_8},
    {16, 8, 4, TY(F64), TY(F64), TY(F64), TY(F64), a_1684, b_f64_884, c_16},
    {16, 8, 8, TY(F64), TY(F64), TY(F64), TY(F64), a_1688_word, b_1688_word, c_16},
    {16, 8, 16, TY(F64), TY(F64), TY(F64), TY(F64), a_16816_f64, b_16816_f64, c_16},
    {16, 8, 4, TY(TF32), TY(TF32), TY(F32), TY(F32), a_1684, b_f64_884, c_16},
    {16, 8, 8, TY(TF32), TY(TF32), TY(F32), TY(F32), a_1688_word, b_1688_word, c_16},
    {16, 8, 8, TY(F16), TY(F16), TY(F32), TY(F32), a_1688_half, b_1688_half, c_16},
    {16, 8, 8, TY(F16), TY(F16), TY(F16), TY(F16), a_1688_half, b_1688_half, c_16},
    {16, 8, 8, TY(BF16), TY(BF16), TY(F32), TY(F32), a_1688_half, b_1688_half, c_16},
    {16, 8, 16, TY(F16), TY(F16), TY(F32), TY(F32), a_16816_half, b_16816_half, c_16},
    {16, 8, 16, TY(F16), TY(F16), TY(F16), TY(F16), a_16816_half, b_16816_half, c_16},
    {16, 8, 16, TY(F16), TY(F16), TY(F32), TY(F16), a_16816_half, b_16816_half, c_16},
    {16, 8, 16, TY(BF16), TY(BF16), TY(F32), TY(F32), a_16816_half, b_16816_half, c_16},
    {16, 8, 32, TY(E4M3), TY(E5M2), TY(F32), TY(F32), a_16832_byte, b_16832_byte, c_16},
    {16, 8, 16, TY(E5M2), TY(E4M3), TY(F32), TY(F32), a_16816_byte, b_8816, c_16},
    {8, 8, 16, TY(S8), TY(U8), TY(S32), TY(S32), a_8816, b_8816, c_8},
    {16, 8, 16, TY(U8), TY(S8), TY(S32), TY(S32), a_16816_byte, b_8816, c_16},
    {16, 8, 32, TY(S8), TY(S8), TY(S32), TY(S32), a_16832_byte, b_16832_byte, c_16},
    {8, 8, 32, TY(S4), TY(U4), TY(S32), TY(S32), a_8832, b_8832, c_8},
    {16, 8, 32, TY(U4), TY(U4), TY(S32), TY(S32), a_16832_nibble, b_8832, c_16},
    {16, 8, 64, TY(S4), TY(S4), TY(S32), TY(S32), a_16864_nibble, b_16864_nibble, c_16},
    {8, 8, 128, TY(B1), TY(B1), TY(S32), TY(S32), a_88128, b_88128, c_8},
    {16, 8, 128, TY(B1), TY(B1), TY(S32), TY(S32), a_168128, b_88128, c_16},
    {16, 8, 256, TY(B1), TY(B1), TY(S32), TY(S32), a_168256, b_168256, c_16},
};

// ---- numbers in formats ---------------------------------------------------------------------
static int bits_of(int t) {
    return t == ORR_T_F64                                                         ? 64
           : t == ORR_T_F16 || t == ORR_T_BF16                                    ? 16
           : t == ORR_T_S8 || t == ORR_T_U8 || t == ORR_T_E4M3 || t == ORR_T_E5M2 ? 8
           : t == ORR_T_S4 || t == ORR_T_U4                                       ? 4
           : t == ORR_T_B1                                                        ? 1
                                                                                  : 32;
}
static uint32_t f32_bits(float f) {
    uint32_t x;
    memcpy(&x, &f, 4);
    return x;
}
static float f32_from(uint32_t x) {
    float f;
    memcpy(&f, &x, 4);
    return f;
}
// A small integer (or dyadic fraction) that the format holds exactly.
static uint64_t encode(int t, double v) {
    if (t == ORR_T_F64) {
        uint64_t x;
        memcpy(&x, &v, 8);
        return x;
    }
    uint32_t x = f32_bits((float)v), sign = x >> 31;
    int e = (int)(x >> 23 & 255) - 127;
    uint32_t f = x & 0x7fffff;
    switch (t) {
    case ORR_T_F32:
    case ORR_T_TF32: return x;
    case ORR_T_BF16: return x >> 16;
    case ORR_T_F16: return v == 0 ? sign << 15 : sign << 15 | (uint32_t)(e + 15) << 10 | f >> 13;
    case ORR_T_E5M2: return v == 0 ? sign << 7 : sign << 7 | (uint32_t)(e + 15) << 2 | f >> 21;
    case ORR_T_E4M3: return v == 0 ? sign << 7 : sign << 7 | (uint32_t)(e + 7) << 3 | f >> 20;
    default: return (uint64_t)(int64_t)v & (bits_of(t) == 32 ? 0xffffffff : (1ull << bits_of(t)) - 1);
    }
}
static double decode(int t, uint64_t x) {
    if (t == ORR_T_F64) {
        double v;
        memcpy(&v, &x, 8);
        return v;
    }
    if (t == ORR_T_F32) return f32_from((uint32_t)x);
    if (t == ORR_T_F16) {
        uint32_t h = (uint32_t)x & 0xffff;
        return h & 0x7fff ? f32_from((h & 0x8000) << 16 | (((h & 0x7fff) << 13) + (112u << 23))) : 0;
    }
    return (int32_t)x;
}
static double small(int t, uint64_t *seed) { // few enough bits for every format
    int v = (int)(rig_random(seed) % 7) - 3;
    switch (t) {
    case ORR_T_B1: return v & 1;
    case ORR_T_U4:
    case ORR_T_U8: return v + 3;
    default: return v;
    }
}
static void put(rig *r, int first, int i, int lane, int bits, uint64_t v) { // element i of a fragment
    if (bits == 64)
        ((uint64_t *)r->regs[first + i])[lane] = v;
    else
        ((uint32_t *)r->regs[first + i * bits / 32])[lane] |= (uint32_t)v << i * bits % 32;
}
static uint64_t get(const rig *r, int first, int i, int lane, int bits) {
    if (bits == 64) return ((const uint64_t *)r->regs[first + i])[lane];
    uint32_t w = ((const uint32_t *)r->regs[first + i * bits / 32])[lane] >> i * bits % 32;
    return bits == 32 ? w : w & ((1u << bits) - 1);
}

static double A[32][256], B[256][32], C[32][32];
static void fill(const struct shape *s, uint64_t *seed) {
    for (int i = 0; i < s->m; i++)
        for (int k = 0; k < s->k; k++) A[i][k] = small(s->a, seed);
    for (int k = 0; k < s->k; k++)
        for (int j = 0; j < s->n; j++) B[k][j] = small(s->b, seed);
    for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->n; j++) C[i][j] = (double)(rig_random(seed) % 41) - 20;
}
static double product(const struct shape *s, int i, int j, bool and) {
    double v = C[i][j];
    for (int k = 0; k < s->k; k++)
        v += s->a == ORR_T_B1 ? (and? A[i][k] * B[k][j] : A[i][k] != B[k][j]) : A[i][k] * B[k][j];
    return v;
}
static void begin(rig *r, const struct shape *s, int nd, int na, int nb, int nc) {
    int cls = s->a == ORR_T_F64 ? ORR_D : ORR_W;
    rig_begin(r, ORR_OP_MMA, s->d);
    r->inst.stype = (uint8_t)s->a, r->inst.sub = (uint8_t)s->b, r->inst.cmp = (uint8_t)s->c;
    r->inst.imm = (uint32_t)(s->m | s->n << 8 | s->k << 16);
    r->inst.mods = ORR_M_B_COL;
    r->inst.boolop = 1;
    for (int i = 0; i < nd; i++) rig_dst(r, cls);
    for (int i = 0; i < na + nb + nc; i++) rig_src(r, cls);
}

static void every_shape(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (size_t q = 0; q < sizeof shapes / sizeof *shapes; q++) {
        const struct shape *s = &shapes[q];
        int ba = bits_of(s->a), bc = bits_of(s->c), bd = bits_of(s->d), word = ba == 64 ? 64 : 32;
        int ea = s->m * s->k / 32, eb = s->n * s->k / 32, ec = s->m * s->n / 32;
        int na = ea * ba / word, nb = eb * ba / word, nc = ec * bc / word, nd = ec * bd / word;
        for (int and = 0; and < (s->a == ORR_T_B1 ? 2 : 1); and++) {
            static rig r;
            fill(s, &seed);
            begin(&r, s, nd, na, nb, nc);
            r.inst.boolop = and? 2 : 1;
            for (int lane = 0; lane < 32; lane++) {
                int row, col;
                for (int i = 0; i < ea; i++)
                    s->pa(lane, i, &row, &col), put(&r, nd, i, lane, ba, encode(s->a, A[row][col]));
                for (int i = 0; i < eb; i++)
                    s->pb(lane, i, &row, &col), put(&r, nd + na, i, lane, ba, encode(s->b, B[row][col]));
                for (int i = 0; i < ec; i++)
                    s->pc(lane, i, &row, &col), put(&r, nd + na + nb, i, lane, bc, encode(s->c, C[row][col]));
            }
            rig_run(&r, orr_pick_mma, ~0u);
            for (int lane = 0; lane < 32; lane++)
                for (int i = 0; i < ec; i++) {
                    int row, col;
                    s->pc(lane, i, &row, &col);
                    double want = product(s, row, col, and), got = decode(s->d, get(&r, 0, i, lane, bd));
                    if (got != want) fail_msg("shape %zu (%d, %d): %g, not %g", q, row, col, got, want);
                }
        }
    }
}

// m8n8k4 of f16: four products; a lane's quad pair is its number / 4 modulo 4.
static void volta(void **state) {
    (void)state;
    uint64_t seed = 2;
    for (int v = 0; v < 16; v++) {
        bool acol = v & 1, bcol = v & 2, chalf = v & 4, dhalf = v & 8;
        static rig r;
        static double a[4][8][4], b[4][4][8], c[4][8][8];
        struct shape s = {
            8, 8, 4, ORR_T_F16, ORR_T_F16, chalf ? ORR_T_F16 : ORR_T_F32, dhalf ? ORR_T_F16 : ORR_T_F32,
            0, 0, 0};
        int nd = dhalf ? 4 : 8, nc = chalf ? 4 : 8;
        begin(&r, &s, nd, 2, 2, nc);
        r.inst.mods = (acol ? ORR_M_A_COL : 0) | (bcol ? ORR_M_B_COL : 0);
        for (int q = 0; q < 4; q++)
            for (int i = 0; i < 8; i++) {
                for (int k = 0; k < 4; k++)
                    a[q][i][k] = small(ORR_T_F16, &seed), b[q][k][i] = small(ORR_T_F16, &seed);
                for (int j = 0; j < 8; j++) c[q][i][j] = small(ORR_T_F16, &seed);
            }
        for (int lane = 0; lane < 32; lane++) {
            int q = lane / 4 % 4, up = lane < 16 ? 0 : 4;
            for (int i = 0; i < 4; i++) {
                double x = acol ? a[q][i % 4 + up][lane % 4] : a[q][lane % 4 + up][i];
                double y = bcol ? b[q][i][lane % 4 + up] : b[q][lane % 4][i + up];
                put(&r, nd, i, lane, 16, encode(ORR_T_F16, x));
                put(&r, nd + 2, i, lane, 16, encode(ORR_T_F16, y));
            }
            for (int i = 0; i < 8; i++) {
                int row = chalf ? lane % 4 + up : (lane & 1) + (i & 2) + up,
                    col = chalf ? i : (i & 4) + (lane & 2) + (i & 1);
                put(&r, nd + 4, i, lane, chalf ? 16 : 32, encode(s.c, c[q][row][col]));
            }
        }
        rig_run(&r, orr_pick_mma, ~0u);
        for (int lane = 0; lane < 32; lane++)
            for (int i = 0; i < 8; i++) {
                int q = lane / 4 % 4, up = lane < 16 ? 0 : 4;
                int row = dhalf ? lane % 4 + up : (lane & 1) + (i & 2) + up,
                    col = dhalf ? i : (i & 4) + (lane & 2) + (i & 1);
                double want = c[q][row][col];
                for (int k = 0; k < 4; k++) want += a[q][row][k] * b[q][k][col];
                assert_true(decode(s.d, get(&r, 0, i, lane, dhalf ? 16 : 32)) == want);
            }
    }
}

// ---- how floats are added -------------------------------------------------------------------
// Row 0 of A times column 0 of B, m16n8k16, f32 accumulator: the first element of lane 0.
static rig one;
static uint32_t dot(int type, const uint16_t a[16], const uint16_t b[16], uint32_t c, int dtype) {
    struct shape s = {16, 8, 16, type, type, dtype, dtype, 0, 0, 0};
    int nd = dtype == ORR_T_F16 ? 2 : 4;
    begin(&one, &s, nd, 4, 2, nd);
    for (int k = 0; k < 16; k++)
        for (int lane = 0; lane < 4; lane++)
            for (int i = 0; i < 8; i++) {
                int row, col;
                a_16816_half(lane, i, &row, &col);
                if (row == 0 && col == k) put(&one, nd, i, lane, 16, a[k]);
                if (i >= 4) continue;
                b_16816_half(lane, i, &row, &col);
                if (col == 0 && row == k) put(&one, nd + 4, i, lane, 16, b[k]);
            }
    put(&one, nd + 6, 0, 0, dtype == ORR_T_F16 ? 16 : 32, c);
    rig_run(&one, orr_pick_mma, ~0u);
    return (uint32_t)get(&one, 0, 0, 0, dtype == ORR_T_F16 ? 16 : 32);
}
static uint16_t h(double v) { return (uint16_t)encode(ORR_T_F16, v); }
static uint16_t bf(double v) { return (uint16_t)encode(ORR_T_BF16, v); }

static void additions(void **state) {
    (void)state;
    const int F = ORR_T_F32;
    uint16_t a[16] = {0}, b[16] = {0};
    // the sum is cut: 1 + 2^-24 + 2^-25 is nearer to 1 + 2^-23, and becomes 1
    a[0] = h(0x1p-12), b[0] = h(0x1p-12), a[1] = h(0x1p-12), b[1] = h(0x1p-13);
    assert_int_equal(dot(ORR_T_F16, a, b, 0x3f800000, F), 0x3f800000);
    // below zero too: towards zero
    a[0] = h(-0x1p-12), a[1] = h(-0x1p-12);
    assert_int_equal(dot(ORR_T_F16, a, b, 0xbf800000, F), 0xbf800000);
    // sixteen addends of 2^-25 are all there: 2^-21
    for (int i = 0; i < 16; i++) a[i] = h(0x1p-12), b[i] = h(0x1p-13);
    assert_int_equal(dot(ORR_T_F16, a, b, 0x3f800000, F), 0x3f800004);
    // of 2^-26 none
    for (int i = 0; i < 16; i++) b[i] = h(0x1p-14);
    assert_int_equal(dot(ORR_T_F16, a, b, 0x3f800000, F), 0x3f800000);
    // but without the 1 nothing is cut off: 16 * 2^-26
    assert_int_equal(dot(ORR_T_F16, a, b, 0, F), f32_bits(0x1p-22f));
    // a product's exponent is the sum of its factors': 1.5 * 1.5 counts as 2^0, 2^-25 survives
    memset(a, 0, sizeof a), memset(b, 0, sizeof b);
    a[0] = h(1.5), b[0] = h(1.5), a[1] = h(0x1p-12), b[1] = h(0x1p-13), a[2] = h(-1.5), b[2] = h(1.5);
    assert_int_equal(dot(ORR_T_F16, a, b, 0, F), f32_bits(0x1p-25f));
    // bf16, beyond f32's range on the way: 2^100 * 2^100 - 2^100 * 2^100 + 1, the 1 is cut off
    memset(a, 0, sizeof a), memset(b, 0, sizeof b);
    a[0] = bf(0x1p100), b[0] = bf(0x1p100), a[1] = bf(-0x1p100), b[1] = bf(0x1p100);
    assert_int_equal(dot(ORR_T_BF16, a, b, 0x3f800000, F), 0);
    a[1] = bf(0);
    assert_int_equal(dot(ORR_T_BF16, a, b, 0x3f800000, F), 0x7f800000);
    // a subnormal result: 2^-140 twice
    memset(a, 0, sizeof a), memset(b, 0, sizeof b);
    a[0] = a[1] = bf(0x1p-70), b[0] = b[1] = bf(0x1p-70);
    assert_int_equal(dot(ORR_T_BF16, a, b, 0, F), f32_bits(0x1p-139f));
    // f16 accumulator: to nearest even. 2048 + 1 and 2048 + 3
    memset(a, 0, sizeof a), memset(b, 0, sizeof b);
    a[0] = h(1), b[0] = h(1);
    assert_int_equal(dot(ORR_T_F16, a, b, h(2048), ORR_T_F16), h(2048));
    a[0] = h(3);
    assert_int_equal(dot(ORR_T_F16, a, b, h(2048), ORR_T_F16), h(2052));
    a[0] = 0x7bff, b[0] = h(2);
    assert_int_equal(dot(ORR_T_F16, a, b, 0, ORR_T_F16), 0x7c00); // too large
}
static void not_numbers(void **state) {
    (void)state;
    uint16_t a[16] = {0}, b[16] = {0};
    a[3] = 0x7c00, b[3] = h(2);
    assert_int_equal(dot(ORR_T_F16, a, b, 0x3f800000, ORR_T_F32), 0x7f800000);
    assert_int_equal(dot(ORR_T_F16, a, b, 0xff800000, ORR_T_F32), 0x7fffffff); // inf - inf
    b[3] = 0;
    assert_int_equal(dot(ORR_T_F16, a, b, 0x3f800000, ORR_T_F32), 0x7fffffff); // inf * 0
    a[3] = 0x7e00, b[3] = h(1);
    assert_int_equal(dot(ORR_T_F16, a, b, 0, ORR_T_F32), 0x7fffffff);
    assert_int_equal(dot(ORR_T_F16, a, b, 0, ORR_T_F16), 0x7fff);
    a[3] = 0;
    assert_int_equal(dot(ORR_T_F16, a, b, 0xff800000, ORR_T_F32), 0xff800000);
}
static void saturation(void **state) {
    (void)state;
    struct shape s = {8, 8, 16, ORR_T_S8, ORR_T_S8, ORR_T_S32, ORR_T_S32, 0, 0, 0};
    for (int sat = 0; sat < 2; sat++) {
        static rig r;
        begin(&r, &s, 2, 1, 1, 2);
        if (sat) r.inst.mods |= ORR_M_SATFINITE;
        for (int i = 0; i < 32; i++)
            ((uint32_t *)r.regs[2])[i] = ((uint32_t *)r.regs[3])[i] = 0x01010101,
                       ((uint32_t *)r.regs[4])[i] = 0x7fffffff, ((uint32_t *)r.regs[5])[i] = 5;
        rig_run(&r, orr_pick_mma, ~0u);
        assert_int_equal(((uint32_t *)r.regs[0])[9], sat ? 0x7fffffff : 0x8000000f); // + 16
        assert_int_equal(((uint32_t *)r.regs[1])[9], 21);
    }
}

// ---- sparse ---------------------------------------------------------------------------------
// Two of four columns are stored; here columns 1 and 3 of each four (0b1101), for f16 with k = 32:
// lanes 4 g and 4 g + 1 hold the metadata with selector 0.
static void sparse(void **state) {
    (void)state;
    uint64_t seed = 4;
    static rig r;
    struct shape s = {16, 8, 32, ORR_T_F16, ORR_T_F16, ORR_T_F32, ORR_T_F32, 0, 0, 0};
    fill(&s, &seed);
    begin(&r, &s, 4, 4, 4, 4);
    r.inst.vec = 1;
    uint32_t *meta = rig_src(&r, ORR_W), *sel = rig_src(&r, ORR_W);
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 32; k += 2) A[i][k] = 0;
    for (int lane = 0; lane < 32; lane++) {
        int row, col;
        meta[lane] = lane % 4 < 2 ? 0xdddddddd : 0x44444444;
        sel[lane] = 0;
        for (int i = 0; i < 8; i++) { // stored column c is column 2 c + 1
            a_16816_half(lane, i, &row, &col);
            put(&r, 4, i, lane, 16, encode(ORR_T_F16, A[row][2 * col + 1]));
        }
        for (int i = 0; i < 8; i++)
            put(&r, 8, i, lane, 16, encode(ORR_T_F16, B[T * 2 + (i & 1) + i / 2 * 8][G]));
        for (int i = 0; i < 4; i++)
            c_16(lane, i, &row, &col), put(&r, 12, i, lane, 32, encode(ORR_T_F32, C[row][col]));
    }
    rig_run(&r, orr_pick_mma, ~0u);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            int row, col;
            c_16(lane, i, &row, &col);
            assert_true(decode(ORR_T_F32, get(&r, 0, i, lane, 32)) == product(&s, row, col, false));
        }
}

// ---- memory ---------------------------------------------------------------------------------
// A thread block with nothing but shared memory.
static uint8_t shared[16384] __attribute__((aligned(64)));
static void give_memory(rig *r) {
    static decoded prog;
    static tblock tb;
    prog.shared_bytes = sizeof shared;
    tb.prog = &prog;
    tb.shared = shared;
    r->w.tb = &tb;
    r->inst.space = ORR_SPACE_SHARED;
}
static void ldmatrix(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 4; n *= 2)
        for (int trans = 0; trans < 2; trans++) {
            static rig r;
            uint32_t *d[4];
            for (int i = 0; i < 4096; i++) ((uint16_t *)shared)[i] = (uint16_t)i;
            rig_begin(&r, ORR_OP_LDMATRIX, ORR_T_B16);
            r.inst.imm = n;
            r.inst.mods = trans ? ORR_M_TRANS : 0;
            r.inst.disp = 64;
            for (uint32_t j = 0; j < n; j++) d[j] = rig_dst(&r, ORR_W);
            uint32_t *addr = rig_src(&r, ORR_W);
            for (uint32_t i = 0; i < 32; i++)
                addr[i] = i < 8 * n ? i * 48 : 0xfffffff1; // the others are not used
            give_memory(&r);
            rig_run(&r, orr_pick_mma, ~0u);
            for (uint32_t j = 0; j < n; j++)
                for (uint32_t lane = 0; lane < 32; lane++)
                    for (uint32_t e = 0; e < 2; e++) {
                        uint32_t row = trans ? lane % 4 * 2 + e : lane / 4,
                                 col = trans ? lane / 4 : lane % 4 * 2 + e;
                        assert_int_equal(d[j][lane] >> 16 * e & 0xffff, 32 + (8 * j + row) * 24 + col);
                    }
            // and back where it came from
            uint8_t before[16384];
            memcpy(before, shared, sizeof before);
            memset(shared + 64, 0, sizeof shared - 64);
            static rig s;
            rig_begin(&s, ORR_OP_STMATRIX, ORR_T_B16);
            s.inst.imm = n, s.inst.mods = r.inst.mods, s.inst.disp = 64;
            memcpy(rig_src(&s, ORR_W), addr, 128);
            for (uint32_t j = 0; j < n; j++) memcpy(rig_src(&s, ORR_W), d[j], 128);
            give_memory(&s);
            rig_run(&s, orr_pick_mma, ~0u);
            for (uint32_t i = 0; i < 8 * n; i++)
                assert_memory_equal(shared + 64 + i * 48, before + 64 + i * 48, 16);
        }
}
static void movmatrix(void **state) {
    (void)state;
    static rig r;
    rig_begin(&r, ORR_OP_MOVMATRIX, ORR_T_B16);
    uint32_t *d = rig_dst(&r, ORR_W), *a = rig_src(&r, ORR_W);
    for (uint32_t lane = 0; lane < 32; lane++)
        a[lane] = (lane * 2 + 1) << 16 | lane * 2; // element (r, c) is 8 r + c
    rig_run(&r, orr_pick_mma, ~0u);
    for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t e = 0; e < 2; e++)
            assert_int_equal(d[lane] >> 16 * e & 0xffff, 8 * (lane % 4 * 2 + e) + lane / 4);
}

// wmma: load, multiply and store must fit together, whatever the layout.
static void element(int type, int at, double v) { // in shared memory
    int bits = bits_of(type);
    uint64_t x = encode(type, v);
    if (bits >= 8)
        memcpy(shared + at * bits / 8, &x, (size_t)bits / 8);
    else
        shared[at * bits / 8] =
            (uint8_t)((shared[at * bits / 8] & ~(((1 << bits) - 1) << at * bits % 8)) | x << at * bits % 8);
}
static int load(rig *r, int kind, int type, uint32_t imm, bool col, int n, uint32_t stride) {
    rig_begin(r, ORR_OP_WMMALOAD, type);
    r->inst.sub = (uint8_t)kind;
    r->inst.imm = imm;
    r->inst.mods = col ? ORR_M_A_COL : 0;
    r->inst.disp = 16;
    for (int i = 0; i < n; i++) rig_dst(r, type == ORR_T_F64 ? ORR_D : ORR_W);
    uint32_t *addr = rig_src(r, ORR_W), *ld = rig_src(r, ORR_W);
    for (int i = 0; i < 32; i++) addr[i] = 0, ld[i] = stride;
    give_memory(r);
    rig_run(r, orr_pick_mma, ~0u);
    return n;
}
static void wmma(void **state) {
    (void)state;
    static const struct {
        int m, n, k, a, b, c, na, nb, nc;
    } rows[] = {
        // with PTX's register counts
        {16, 16, 16, TY(F16), TY(F16), TY(F32), 8, 8, 8},   {32, 8, 16, TY(F16), TY(F16), TY(F32), 8, 8, 8},
        {8, 32, 16, TY(F16), TY(F16), TY(F16), 8, 8, 4},    {16, 16, 16, TY(F16), TY(F16), TY(F16), 8, 8, 4},
        {16, 16, 16, TY(BF16), TY(BF16), TY(F32), 4, 4, 8}, {32, 8, 16, TY(BF16), TY(BF16), TY(F32), 8, 2, 8},
        {8, 32, 16, TY(BF16), TY(BF16), TY(F32), 2, 8, 8},  {16, 16, 8, TY(TF32), TY(TF32), TY(F32), 4, 4, 8},
        {16, 16, 16, TY(S8), TY(S8), TY(S32), 2, 2, 8},     {32, 8, 16, TY(U8), TY(U8), TY(S32), 4, 1, 8},
        {8, 32, 16, TY(S8), TY(S8), TY(S32), 1, 4, 8},      {8, 8, 4, TY(F64), TY(F64), TY(F64), 1, 1, 2},
        {8, 8, 32, TY(S4), TY(S4), TY(S32), 1, 1, 2},       {8, 8, 128, TY(B1), TY(B1), TY(S32), 1, 1, 2}};
    uint64_t seed = 6;
    for (size_t q = 0; q < sizeof rows / sizeof *rows; q++)
        for (int v = 0; v < 8; v++) {
            bool acol = v & 1, bcol = v & 2, ccol = v & 4;
            int m = rows[q].m, n = rows[q].n, k = rows[q].k, gap = bits_of(rows[q].a) < 8 ? 128 : 16;
            if (bits_of(rows[q].a) < 8 && (acol || !bcol)) continue; // PTX has only row.col
            struct shape s = {m, n, k, rows[q].a, rows[q].b, rows[q].c, rows[q].c, 0, 0, 0};
            uint32_t imm = (uint32_t)(m | n << 8 | k << 16);
            static rig a, b, c, r, d;
            fill(&s, &seed);
            int lead = (acol ? m : k) + gap, skip = 128 / bits_of(s.a); // disp
            for (int i = 0; i < m; i++)
                for (int x = 0; x < k; x++)
                    element(s.a, skip + (acol ? x * lead + i : i * lead + x), A[i][x]);
            load(&a, 0, s.a, imm, acol, rows[q].na, (uint32_t)lead);
            lead = (bcol ? k : n) + gap;
            for (int x = 0; x < k; x++)
                for (int j = 0; j < n; j++)
                    element(s.b, skip + (bcol ? j * lead + x : x * lead + j), B[x][j]);
            load(&b, 1, s.b, imm, bcol, rows[q].nb, (uint32_t)lead);
            lead = (ccol ? m : n) + 8, skip = 128 / bits_of(s.c);
            for (int i = 0; i < m; i++)
                for (int j = 0; j < n; j++)
                    element(s.c, skip + (ccol ? j * lead + i : i * lead + j), C[i][j]);
            load(&c, 2, s.c, imm, ccol, rows[q].nc, (uint32_t)lead);
            begin(&r, &s, rows[q].nc, rows[q].na, rows[q].nb, rows[q].nc);
            r.inst.op = ORR_OP_WMMA;
            r.inst.mods = (acol ? ORR_M_A_COL : 0) | (bcol ? ORR_M_B_COL : 0);
            int at = rows[q].nc;
            for (int i = 0; i < rows[q].na; i++) memcpy(r.regs[at++], a.regs[i], 512);
            for (int i = 0; i < rows[q].nb; i++) memcpy(r.regs[at++], b.regs[i], 512);
            for (int i = 0; i < rows[q].nc; i++) memcpy(r.regs[at++], c.regs[i], 512);
            rig_run(&r, orr_pick_mma, ~0u);
            memset(shared, 0, sizeof shared);
            rig_begin(&d, ORR_OP_WMMASTORE, s.c);
            d.inst.imm = imm;
            d.inst.mods = ccol ? ORR_M_A_COL : 0;
            d.inst.disp = 16;
            uint32_t *addr = rig_src(&d, ORR_W), *ld = rig_src(&d, ORR_W);
            for (int i = 0; i < 32; i++) addr[i] = 0, ld[i] = (uint32_t)lead;
            for (int i = 0; i < rows[q].nc; i++)
                memcpy(rig_src(&d, s.c == ORR_T_F64 ? ORR_D : ORR_W), r.regs[i], 512);
            give_memory(&d);
            rig_run(&d, orr_pick_mma, ~0u);
            for (int i = 0; i < m; i++)
                for (int j = 0; j < n; j++) {
                    uint64_t x = 0;
                    memcpy(&x, shared + (skip + (ccol ? j * lead + i : i * lead + j)) * bits_of(s.c) / 8,
                           (size_t)bits_of(s.c) / 8);
                    double want = product(&s, i, j, false);
                    if (decode(s.c, x) != want)
                        fail_msg("wmma %zu %d (%d, %d): %g, not %g", q, v, i, j, decode(s.c, x), want);
                }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape), cmocka_unit_test(volta),      cmocka_unit_test(additions),
        cmocka_unit_test(not_numbers), cmocka_unit_test(saturation), cmocka_unit_test(sparse),
        cmocka_unit_test(ldmatrix),    cmocka_unit_test(movmatrix),  cmocka_unit_test(wmma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
