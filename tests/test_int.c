// The integer family of handlers against references written from the PTX manual's pseudocode, bit by
// bit and in 128-bit arithmetic, and against values worked out by hand.
#include "bed.h"
#include "exec/block.h"

typedef __int128 wide;

static int bits_of(uint8_t type) { return orr_types[type].bytes * 8; }
static uint64_t cut(wide v, int bits) {
    return bits == 64 ? (uint64_t)v : (uint64_t)v & ((1ull << bits) - 1);
}
static wide value(uint8_t type, uint64_t raw) {
    int bits = bits_of(type);
    wide v = (wide)cut((wide)raw, bits);
    if (orr_types[type].is_signed && ((raw >> (bits - 1)) & 1)) v -= (wide)1 << bits;
    return v;
}
static int bit(uint64_t x, int n) { return (int)((x >> n) & 1); }

// A reference computes the result from the instruction and the raw bits of its sources.
typedef uint64_t reference(const orr_inst *in, const uint64_t s[4]);

static const char letters[] = "PHWDQ";
static uint8_t cls_of(char c) { return (uint8_t)(strchr(letters, c) - letters); }

// Run `b` (operands in place) on random values, in full and masked, and compare every lane.
static void compare_lanes(bed *b, reference *ref, int rounds) {
    int ndst = b->inst.ndst, nsrc = b->inst.nsrc;
    uint8_t cls = b->all[0].cls;
    for (int round = 0; round < rounds; round++) {
        uint32_t exec = round % 3 == 0 ? FULL : (uint32_t)bed_random();
        for (int n = 0; n < nsrc; n++)
            if (b->operands[ndst + n].kind == ORR_K_REG)
                for (int i = 0; i < 32; i++) bed_set(b, ndst + n, i, bed_value());
        uint64_t want[32];
        for (int i = 0; i < 32; i++) {
            uint64_t s[4] = {0}, old = bed_random();
            for (int n = 0; n < nsrc && n < 4; n++) s[n] = bed_get(b, ndst + n, i);
            bed_set(b, 0, i, old);
            want[i] = (exec >> i) & 1 ? ref(&b->inst, s) : bed_get(b, 0, i);
            if (cls < ORR_D) want[i] = cut((wide)want[i], cls == ORR_P ? 1 : cls == ORR_H ? 16 : 32);
        }
        bed_run(b, orr_pick_int, exec);
        for (int i = 0; i < 32; i++)
            if (bed_get(b, 0, i) != want[i])
                fail_msg("%s.%s mods %x sub %d cmp %d lane %d: got %llx want %llx for %llx %llx %llx %llx",
                         orr_ops[b->inst.op].name, orr_types[b->inst.type].name, b->inst.mods, b->inst.sub,
                         b->inst.cmp, i, (unsigned long long)bed_get(b, 0, i), (unsigned long long)want[i],
                         (unsigned long long)(nsrc > 0 ? bed_get(b, ndst, i) : 0),
                         (unsigned long long)(nsrc > 1 ? bed_get(b, ndst + 1, i) : 0),
                         (unsigned long long)(nsrc > 2 ? bed_get(b, ndst + 2, i) : 0),
                         (unsigned long long)(nsrc > 3 ? bed_get(b, ndst + 3, i) : 0));
    }
}

// shape: destination and source classes, "W=WW". A '#' after a source class makes it an immediate.
static void shape(bed *b, const char *s) {
    for (bool source = false; *s; s++) {
        if (*s == '=')
            source = true;
        else if (!source)
            bed_dst(b, cls_of(*s));
        else if (s[1] == '#')
            bed_imm(b, cls_of(*s), bed_value()), s++;
        else
            bed_src(b, cls_of(*s));
    }
}
static void check(uint16_t op, uint8_t type, uint8_t stype, uint32_t mods, uint8_t sub, const char *operands,
                  reference *ref) {
    bed b;
    bed_start(&b, op, type);
    b.inst.stype = stype, b.inst.mods = mods, b.inst.sub = sub;
    shape(&b, operands);
    compare_lanes(&b, ref, 30);
}
static char class_letter(uint8_t type) { return bits_of(type) == 16 ? 'H' : bits_of(type) == 32 ? 'W' : 'D'; }
static void check_plain(uint16_t op, uint8_t type, uint32_t mods, int nsrc, reference *ref) {
    char s[8] = {class_letter(type), '='};
    for (int n = 0; n < nsrc; n++) s[2 + n] = class_letter(type);
    check(op, type, 0, mods, 0, s, ref);
}
// The result of one lane with given sources.
static uint64_t one(uint16_t op, uint8_t type, uint8_t stype, uint32_t mods, uint8_t sub, uint32_t imm,
                    const char *operands, uint64_t x, uint64_t y, uint64_t z, uint64_t t) {
    bed b;
    bed_start(&b, op, type);
    b.inst.stype = stype, b.inst.mods = mods, b.inst.sub = sub, b.inst.imm = imm;
    shape(&b, operands);
    uint64_t s[4] = {x, y, z, t};
    for (int n = 0; n < b.inst.nsrc; n++) bed_set(&b, 1 + n, 5, s[n]);
    bed_run(&b, orr_pick_int, FULL);
    return bed_get(&b, 0, 5);
}

static const uint8_t all_types[] = {ORR_T_U16, ORR_T_U32, ORR_T_U64, ORR_T_S16, ORR_T_S32, ORR_T_S64};
#define EACH_TYPE(t)                                                                                         \
    for (size_t t##_i = 0; t##_i < 6; t##_i++)                                                               \
        for (uint8_t t = all_types[t##_i], once = 1; once; once = 0)

// ---- arithmetic -----------------------------------------------------------------------------
#define A value(in->type, s[0])
#define B value(in->type, s[1])
#define C value(in->type, s[2])
static uint64_t ref_add(const orr_inst *in, const uint64_t s[4]) { return (uint64_t)(A + B); }
static uint64_t ref_sub(const orr_inst *in, const uint64_t s[4]) { return (uint64_t)(A - B); }
static uint64_t clamp32(wide v) {
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? (uint64_t)INT32_MIN : (uint64_t)v;
}
static uint64_t ref_add_sat(const orr_inst *in, const uint64_t s[4]) { return clamp32(A + B); }
static uint64_t ref_sub_sat(const orr_inst *in, const uint64_t s[4]) { return clamp32(A - B); }
static uint64_t high(wide p, int bits) { return cut(p >> bits, bits); }
// Unsigned 64 x 64 overflows __int128's sign: the high half by schoolbook.
static uint64_t high_u64(uint64_t a, uint64_t b) {
    uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
    uint64_t mid = a1 * b0 + (a0 * b0 >> 32), mid2 = a0 * b1 + (mid & 0xffffffff);
    return a1 * b1 + (mid >> 32) + (mid2 >> 32);
}
static uint64_t mul_hi(const orr_inst *in, const uint64_t s[4]) {
    if (in->type == ORR_T_U64) return high_u64(s[0], s[1]);
    return high(A * B, bits_of(in->type));
}
static uint64_t ref_mul(const orr_inst *in, const uint64_t s[4]) {
    if (in->mods & ORR_M_HI) return mul_hi(in, s);
    if (in->type == ORR_T_U64) return s[0] * s[1];
    return (uint64_t)(A * B);
}
static uint64_t ref_mad(const orr_inst *in, const uint64_t s[4]) { return ref_mul(in, s) + s[2]; }
static uint64_t ref_mad_hi_sat(const orr_inst *in, const uint64_t s[4]) {
    return clamp32(value(ORR_T_S32, mul_hi(in, s)) + C);
}
static wide low24(const orr_inst *in, uint64_t x) {
    wide v = (wide)(x & 0xffffff);
    return in->type == ORR_T_S32 && (x & 0x800000) ? v - 0x1000000 : v;
}
static uint64_t ref_mul24(const orr_inst *in, const uint64_t s[4]) {
    wide p = low24(in, s[0]) * low24(in, s[1]);
    return in->mods & ORR_M_HI ? cut(p >> 16, 32) : cut(p, 32);
}
static uint64_t ref_mad24(const orr_inst *in, const uint64_t s[4]) {
    uint64_t p = ref_mul24(in, s);
    return in->mods & ORR_M_SAT ? clamp32(value(ORR_T_S32, p) + C) : p + s[2];
}
static uint64_t ref_sad(const orr_inst *in, const uint64_t s[4]) {
    return (uint64_t)((A < B ? B - A : A - B) + C);
}
static uint64_t ref_div(const orr_inst *in, const uint64_t s[4]) {
    return B == 0 ? UINT64_MAX : (uint64_t)(A / B);
}
static uint64_t ref_rem(const orr_inst *in, const uint64_t s[4]) {
    return B == 0 ? UINT64_MAX : (uint64_t)(A % B);
}
static uint64_t ref_abs(const orr_inst *in, const uint64_t s[4]) { return (uint64_t)(A < 0 ? -A : A); }
static uint64_t ref_neg(const orr_inst *in, const uint64_t s[4]) { return (uint64_t)-A; }
static uint64_t relu(const orr_inst *in, wide v) { return in->mods & ORR_M_RELU && v < 0 ? 0 : (uint64_t)v; }
static uint64_t ref_min(const orr_inst *in, const uint64_t s[4]) { return relu(in, A < B ? A : B); }
static uint64_t ref_max(const orr_inst *in, const uint64_t s[4]) { return relu(in, A > B ? A : B); }
static uint64_t ref_min3(const orr_inst *in, const uint64_t s[4]) {
    wide m = A < B ? A : B;
    return relu(in, m < C ? m : C);
}
static uint64_t ref_max3(const orr_inst *in, const uint64_t s[4]) {
    wide m = A > B ? A : B;
    return relu(in, m > C ? m : C);
}

static void test_arith(void **state) {
    (void)state;
    EACH_TYPE(t) {
        bool sign = orr_types[t].is_signed;
        check_plain(ORR_OP_ADD, t, 0, 2, ref_add);
        check_plain(ORR_OP_SUB, t, 0, 2, ref_sub);
        check_plain(ORR_OP_MUL, t, ORR_M_LO, 2, ref_mul);
        check_plain(ORR_OP_MUL, t, ORR_M_HI, 2, ref_mul);
        check_plain(ORR_OP_MAD, t, ORR_M_LO, 3, ref_mad);
        check_plain(ORR_OP_MAD, t, ORR_M_HI, 3, ref_mad);
        check_plain(ORR_OP_SAD, t, 0, 3, ref_sad);
        check_plain(ORR_OP_DIV, t, 0, 2, ref_div);
        check_plain(ORR_OP_REM, t, 0, 2, ref_rem);
        check_plain(ORR_OP_MIN, t, 0, 2, ref_min);
        check_plain(ORR_OP_MAX, t, 0, 2, ref_max);
        if (sign) check_plain(ORR_OP_ABS, t, 0, 1, ref_abs);
        if (sign) check_plain(ORR_OP_NEG, t, 0, 1, ref_neg);
        if (bits_of(t) == 64) continue;
        check(ORR_OP_MUL, t, 0, ORR_M_WIDE, 0, bits_of(t) == 16 ? "W=HH" : "D=WW", ref_mul);
        check(ORR_OP_MAD, t, 0, ORR_M_WIDE, 0, bits_of(t) == 16 ? "W=HHW" : "D=WWD", ref_mad);
        if (bits_of(t) == 16) continue;
        check_plain(ORR_OP_MUL24, t, ORR_M_LO, 2, ref_mul24);
        check_plain(ORR_OP_MUL24, t, ORR_M_HI, 2, ref_mul24);
        check_plain(ORR_OP_MAD24, t, ORR_M_LO, 3, ref_mad24);
        check_plain(ORR_OP_MAD24, t, ORR_M_HI, 3, ref_mad24);
        check_plain(ORR_OP_MIN, t, 0, 3, ref_min3);
        check_plain(ORR_OP_MAX, t, 0, 3, ref_max3);
    }
    check_plain(ORR_OP_ADD, ORR_T_S32, ORR_M_SAT, 2, ref_add_sat);
    check_plain(ORR_OP_SUB, ORR_T_S32, ORR_M_SAT, 2, ref_sub_sat);
    check_plain(ORR_OP_MAD, ORR_T_S32, ORR_M_HI | ORR_M_SAT, 3, ref_mad_hi_sat);
    check_plain(ORR_OP_MAD24, ORR_T_S32, ORR_M_HI | ORR_M_SAT, 3, ref_mad24);
    check_plain(ORR_OP_MIN, ORR_T_S32, ORR_M_RELU, 2, ref_min);
    check_plain(ORR_OP_MAX, ORR_T_S32, ORR_M_RELU, 2, ref_max);
    check_plain(ORR_OP_MIN, ORR_T_S32, ORR_M_RELU, 3, ref_min3);
    check_plain(ORR_OP_MAX, ORR_T_S32, ORR_M_RELU, 3, ref_max3);
}

static void test_arith_values(void **state) {
    (void)state;
    const uint32_t lo = ORR_M_LO, hi = ORR_M_HI;
    assert_int_equal(one(ORR_OP_DIV, ORR_T_S32, 0, 0, 0, 0, "W=WW", 0x80000000, 0xffffffff, 0, 0),
                     0x80000000);
    assert_int_equal(one(ORR_OP_REM, ORR_T_S32, 0, 0, 0, 0, "W=WW", 0x80000000, 0xffffffff, 0, 0), 0);
    assert_int_equal(one(ORR_OP_DIV, ORR_T_S64, 0, 0, 0, 0, "D=DD", 1ull << 63, UINT64_MAX, 0, 0),
                     1ull << 63);
    assert_int_equal(one(ORR_OP_DIV, ORR_T_S32, 0, 0, 0, 0, "W=WW", (uint32_t)-7, 2, 0, 0), (uint32_t)-3);
    assert_int_equal(one(ORR_OP_REM, ORR_T_S32, 0, 0, 0, 0, "W=WW", (uint32_t)-7, 2, 0, 0), (uint32_t)-1);
    assert_int_equal(one(ORR_OP_DIV, ORR_T_U32, 0, 0, 0, 0, "W=WW", 5, 0, 0, 0), 0xffffffff);
    assert_int_equal(one(ORR_OP_ABS, ORR_T_S32, 0, 0, 0, 0, "W=W", 0x80000000, 0, 0, 0), 0x80000000);
    assert_int_equal(one(ORR_OP_ADD, ORR_T_S32, 0, ORR_M_SAT, 0, 0, "W=WW", 0x7fffffff, 1, 0, 0), 0x7fffffff);
    assert_int_equal(one(ORR_OP_SUB, ORR_T_S32, 0, ORR_M_SAT, 0, 0, "W=WW", 0x80000000, 1, 0, 0), 0x80000000);
    assert_int_equal(one(ORR_OP_MUL, ORR_T_S32, 0, hi, 0, 0, "W=WW", 0x80000000, 0x80000000, 0, 0),
                     0x40000000);
    assert_int_equal(one(ORR_OP_MUL, ORR_T_U64, 0, hi, 0, 0, "D=DD", UINT64_MAX, UINT64_MAX, 0, 0),
                     UINT64_MAX - 1);
    assert_int_equal(one(ORR_OP_MUL24, ORR_T_S32, 0, lo, 0, 0, "W=WW", 0xffffff, 0xffffff, 0, 0),
                     1); // -1 * -1
    assert_int_equal(one(ORR_OP_MUL24, ORR_T_U32, 0, hi, 0, 0, "W=WW", 0xffffff, 0xffffff, 0, 0), 0xfffffe00);
}

// The halves of a word, each on its own.
static uint64_t ref_packed(const orr_inst *in, const uint64_t s[4]) {
    orr_inst half = *in;
    half.type = in->type == ORR_T_S16X2 ? ORR_T_S16 : ORR_T_U16;
    uint64_t out = 0;
    for (int n = 0; n < 2; n++) {
        uint64_t part[4] = {(s[0] >> (16 * n)) & 0xffff, (s[1] >> (16 * n)) & 0xffff};
        reference *r = in->op == ORR_OP_ADD   ? ref_add
                       : in->op == ORR_OP_SUB ? ref_sub
                       : in->op == ORR_OP_MIN ? ref_min
                                              : ref_max;
        out |= (r(&half, part) & 0xffff) << (16 * n);
    }
    return out;
}
static void test_packed(void **state) {
    (void)state;
    for (uint8_t t = ORR_T_U16X2; t <= ORR_T_S16X2; t++) {
        check(ORR_OP_ADD, t, 0, 0, 0, "W=WW", ref_packed);
        check(ORR_OP_MIN, t, 0, 0, 0, "W=WW", ref_packed);
        check(ORR_OP_MAX, t, 0, 0, 0, "W=WW", ref_packed);
        check(ORR_OP_SUB, t, 0, 0, 0, "W=WW", ref_packed);
    }
    check(ORR_OP_MIN, ORR_T_S16X2, 0, ORR_M_RELU, 0, "W=WW", ref_packed);
    check(ORR_OP_MAX, ORR_T_S16X2, 0, ORR_M_RELU, 0, "W=WW", ref_packed);
    assert_int_equal(one(ORR_OP_ADD, ORR_T_U16X2, 0, 0, 0, 0, "W=WW", 0xffffffff, 0x00010001, 0, 0), 0);
}

// ---- carry chains ---------------------------------------------------------------------------
// A chain of instructions on one bed: each link re-uses the lanes of the carry flag.
static uint64_t link_chain(bed *b, uint16_t op, uint8_t type, uint32_t mods, uint32_t exec, int lane,
                           const char *operands, const uint64_t s[3][32]) {
    uint32_t carry = b->w.carry;
    bed_start(b, op, type);
    b->w.carry = carry;
    b->inst.mods = mods;
    shape(b, operands);
    for (int n = 0; n < b->inst.nsrc; n++)
        for (int i = 0; i < 32; i++) bed_set(b, 1 + n, i, s[n][i]);
    bed_run(b, orr_pick_int, exec);
    return bed_get(b, 0, lane);
}

static void test_carry(void **state) {
    (void)state;
    bed b = {0};
    static uint64_t lo[3][32], hi[3][32], up[3][32];
    for (int round = 0; round < 200; round++) {
        for (int n = 0; n < 3; n++)
            for (int i = 0; i < 32; i++)
                lo[n][i] = bed_value(), hi[n][i] = bed_value(), up[n][i] = bed_value();
        int lane = round % 32;
        // 128-bit sum and difference in two 64-bit links; 96-bit in three 32-bit ones
        unsigned __int128 x = (unsigned __int128)hi[0][lane] << 64 | lo[0][lane],
                          y = (unsigned __int128)hi[1][lane] << 64 | lo[1][lane];
        uint64_t l = link_chain(&b, ORR_OP_ADD, ORR_T_U64, ORR_M_CC, FULL, lane, "D=DD", lo);
        uint64_t h = link_chain(&b, ORR_OP_ADD, ORR_T_U64, ORR_M_X, FULL, lane, "D=DD", hi);
        assert_true(((unsigned __int128)h << 64 | l) == x + y);
        l = link_chain(&b, ORR_OP_SUB, ORR_T_S64, ORR_M_CC, FULL, lane, "D=DD", lo);
        h = link_chain(&b, ORR_OP_SUB, ORR_T_S64, ORR_M_X, FULL, lane, "D=DD", hi);
        assert_true(((unsigned __int128)h << 64 | l) == x - y);
        unsigned __int128 m96 = ((unsigned __int128)1 << 96) - 1;
        x = (unsigned __int128)(uint32_t)up[0][lane] << 64 | (uint64_t)(uint32_t)hi[0][lane] << 32 |
            (uint32_t)lo[0][lane];
        y = (unsigned __int128)(uint32_t)up[1][lane] << 64 | (uint64_t)(uint32_t)hi[1][lane] << 32 |
            (uint32_t)lo[1][lane];
        for (int op = ORR_OP_ADD; op <= ORR_OP_SUB; op++) {
            uint64_t w0 = link_chain(&b, (uint16_t)op, ORR_T_U32, ORR_M_CC, FULL, lane, "W=WW", lo);
            uint64_t w1 = link_chain(&b, (uint16_t)op, ORR_T_U32, ORR_M_CC | ORR_M_X, FULL, lane, "W=WW", hi);
            uint64_t w2 = link_chain(&b, (uint16_t)op, ORR_T_U32, ORR_M_X, FULL, lane, "W=WW", up);
            assert_true(((unsigned __int128)w2 << 64 | w1 << 32 | w0) ==
                        ((op == ORR_OP_ADD ? x + y : x - y) & m96));
        }
        // mad.lo.cc, madc.hi: a 64-bit product plus a 64-bit addend, as the manual's example builds it
        for (int n = 0; n < 2; n++) memcpy(hi[n], lo[n], sizeof hi[n]);
        uint64_t c = (uint64_t)(uint32_t)hi[2][lane] << 32 | (uint32_t)lo[2][lane];
        l = link_chain(&b, ORR_OP_MAD, ORR_T_U32, ORR_M_LO | ORR_M_CC, FULL, lane, "W=WWW", lo);
        h = link_chain(&b, ORR_OP_MAD, ORR_T_U32, ORR_M_HI | ORR_M_X, FULL, lane, "W=WWW", hi);
        assert_true((h << 32 | l) == (uint64_t)(uint32_t)lo[0][lane] * (uint32_t)lo[1][lane] + c);
        l = link_chain(&b, ORR_OP_MAD, ORR_T_S32, ORR_M_LO | ORR_M_CC, FULL, lane, "W=WWW", lo);
        h = link_chain(&b, ORR_OP_MAD, ORR_T_S32, ORR_M_HI | ORR_M_X, FULL, lane, "W=WWW", hi);
        assert_true((h << 32 | l) == (uint64_t)((int64_t)(int32_t)lo[0][lane] * (int32_t)lo[1][lane]) + c);
        unsigned __int128 c128 = (unsigned __int128)hi[2][lane] << 64 | lo[2][lane];
        l = link_chain(&b, ORR_OP_MAD, ORR_T_U64, ORR_M_LO | ORR_M_CC, FULL, lane, "D=DDD", lo);
        h = link_chain(&b, ORR_OP_MAD, ORR_T_U64, ORR_M_HI | ORR_M_X, FULL, lane, "D=DDD", hi);
        assert_true(((unsigned __int128)h << 64 | l) == (unsigned __int128)lo[0][lane] * lo[1][lane] + c128);
        l = link_chain(&b, ORR_OP_MAD, ORR_T_S64, ORR_M_LO | ORR_M_CC, FULL, lane, "D=DDD", lo);
        h = link_chain(&b, ORR_OP_MAD, ORR_T_S64, ORR_M_HI | ORR_M_X, FULL, lane, "D=DDD", hi);
        assert_true(((unsigned __int128)h << 64 | l) ==
                    (unsigned __int128)((wide)(int64_t)lo[0][lane] * (int64_t)lo[1][lane]) + c128);
    }
    // a lane that does not take part keeps its flag; one that does not write the flag leaves it
    static uint64_t ones[3][32], zeros[3][32];
    for (int i = 0; i < 32; i++) ones[0][i] = ones[1][i] = 0xffffffff;
    b.w.carry = 0;
    link_chain(&b, ORR_OP_ADD, ORR_T_U32, ORR_M_CC, 0x0000ffff, 0, "W=WW", ones);
    assert_int_equal(b.w.carry, 0x0000ffff);
    link_chain(&b, ORR_OP_ADD, ORR_T_U32, 0, FULL, 0, "W=WW", zeros);
    link_chain(&b, ORR_OP_ADD, ORR_T_U32, ORR_M_X, FULL, 0, "W=WW", zeros);
    assert_int_equal(b.w.carry, 0x0000ffff);
    assert_int_equal(bed_get(&b, 0, 15), 1);
    assert_int_equal(bed_get(&b, 0, 16), 0);
}

// ---- dot products ---------------------------------------------------------------------------
static uint64_t ref_dp4a(const orr_inst *in, const uint64_t s[4]) {
    wide sum = value(ORR_T_U32, s[2]);
    for (int n = 0; n < 4; n++)
        sum += value(in->type == ORR_T_S32 ? ORR_T_S8 : ORR_T_U8, s[0] >> (8 * n) & 0xff) *
               value(in->stype == ORR_T_S32 ? ORR_T_S8 : ORR_T_U8, s[1] >> (8 * n) & 0xff);
    return (uint64_t)sum;
}
static uint64_t ref_dp2a(const orr_inst *in, const uint64_t s[4]) {
    wide sum = value(ORR_T_U32, s[2]);
    uint64_t b = in->mods & ORR_M_HI ? s[1] >> 16 : s[1];
    for (int n = 0; n < 2; n++)
        sum += value(in->type == ORR_T_S32 ? ORR_T_S16 : ORR_T_U16, s[0] >> (16 * n) & 0xffff) *
               value(in->stype == ORR_T_S32 ? ORR_T_S8 : ORR_T_U8, b >> (8 * n) & 0xff);
    return (uint64_t)sum;
}
static void test_dot(void **state) {
    (void)state;
    static const uint8_t t[2] = {ORR_T_U32, ORR_T_S32};
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++) {
            check(ORR_OP_DP4A, t[a], t[b], 0, 0, "W=WWW", ref_dp4a);
            check(ORR_OP_DP2A, t[a], t[b], ORR_M_LO, 0, "W=WWW", ref_dp2a);
            check(ORR_OP_DP2A, t[a], t[b], ORR_M_HI, 0, "W=WWW", ref_dp2a);
        }
    // -1*1 + 2*2 + 3*3 + -128*-128 + 10
    assert_int_equal(one(ORR_OP_DP4A, ORR_T_S32, ORR_T_S32, 0, 0, 0, "W=WWW", 0x800302ff, 0x80030201, 10, 0),
                     16406);
}

// ---- bits -----------------------------------------------------------------------------------
static uint64_t ref_and(const orr_inst *in, const uint64_t s[4]) { return (void)in, s[0] & s[1]; }
static uint64_t ref_or(const orr_inst *in, const uint64_t s[4]) { return (void)in, s[0] | s[1]; }
static uint64_t ref_xor(const orr_inst *in, const uint64_t s[4]) { return (void)in, s[0] ^ s[1]; }
static uint64_t ref_not(const orr_inst *in, const uint64_t s[4]) { return (void)in, ~s[0]; }
static uint64_t ref_cnot(const orr_inst *in, const uint64_t s[4]) { return (void)in, s[0] == 0; }
static uint64_t ref_shl(const orr_inst *in, const uint64_t s[4]) {
    return s[1] >= (uint64_t)bits_of(in->type) ? 0 : s[0] << s[1];
}
static uint64_t ref_shr(const orr_inst *in, const uint64_t s[4]) {
    uint64_t n = s[1] > (uint64_t)bits_of(in->type) ? (uint64_t)bits_of(in->type) : s[1];
    return (uint64_t)(A >> n);
}
static uint64_t ref_shf(const orr_inst *in, const uint64_t s[4]) {
    uint64_t n = in->mods & ORR_M_WRAP ? s[2] & 31 : s[2] > 32 ? 32 : s[2];
    if (in->sub == 0) return n == 0 ? s[1] : n == 32 ? s[0] : (s[1] << n | s[0] >> (32 - n));
    return n == 0 ? s[0] : n == 32 ? s[1] : (s[1] << (32 - n) | s[0] >> n);
}
static uint64_t ref_popc(const orr_inst *in, const uint64_t s[4]) {
    int n = 0;
    for (int i = 0; i < bits_of(in->type); i++) n += bit(s[0], i);
    return (uint64_t)n;
}
static uint64_t ref_clz(const orr_inst *in, const uint64_t s[4]) {
    int n = 0;
    while (n < bits_of(in->type) && !bit(s[0], bits_of(in->type) - 1 - n)) n++;
    return (uint64_t)n;
}
static uint64_t ref_bfind(const orr_inst *in, const uint64_t s[4]) {
    int msb = bits_of(in->type) - 1;
    uint64_t a = A < 0 ? ~s[0] : s[0];
    for (int i = msb; i >= 0; i--)
        if (bit(a, i)) return (uint64_t)(in->mods & ORR_M_SHIFTAMT ? msb - i : i);
    return 0xffffffff;
}
static uint64_t ref_brev(const orr_inst *in, const uint64_t s[4]) {
    uint64_t d = 0;
    for (int i = 0; i < bits_of(in->type); i++) d |= (uint64_t)bit(s[0], i) << (bits_of(in->type) - 1 - i);
    return d;
}
// The manual's pseudocode; 64-bit fields take whole words for position and length, as an H200 does.
static void field_of(const orr_inst *in, uint64_t p, uint64_t n, int64_t *pos, int64_t *len) {
    bool wide = bits_of(in->type) == 64;
    *pos = (int64_t)(wide ? p : p & 0xff), *len = (int64_t)(wide ? n : n & 0xff);
}
static uint64_t ref_bfe(const orr_inst *in, const uint64_t s[4]) {
    int64_t msb = bits_of(in->type) - 1, pos, len;
    field_of(in, s[1], s[2], &pos, &len);
    int64_t last = pos + len - 1 < msb ? pos + len - 1 : msb;
    int sbit = !orr_types[in->type].is_signed || len == 0 ? 0 : bit(s[0], (int)last);
    uint64_t d = 0;
    for (int i = 0; i <= msb; i++)
        d |= (uint64_t)(i < len && pos + i <= msb ? bit(s[0], (int)pos + i) : sbit) << i;
    return d;
}
static uint64_t ref_bfi(const orr_inst *in, const uint64_t s[4]) {
    int64_t msb = bits_of(in->type) - 1, pos, len;
    field_of(in, s[2], s[3], &pos, &len);
    uint64_t f = s[1];
    for (int i = 0; i < len && pos + i <= msb; i++)
        f = (f & ~(1ull << (pos + i))) | (uint64_t)bit(s[0], i) << (pos + i);
    return f;
}
static uint64_t ref_szext(const orr_inst *in, const uint64_t s[4]) {
    uint64_t n = in->mods & ORR_M_WRAP ? s[1] & 31 : s[1];
    if (n == 0) return 0;
    if (n >= 32) return s[0];
    uint64_t low = s[0] & ((1ull << n) - 1);
    return in->type == ORR_T_S32 && bit(s[0], (int)n - 1) ? low | ~((1ull << n) - 1) : low;
}
static uint64_t ref_bmsk(const orr_inst *in, const uint64_t s[4]) {
    uint64_t a = s[0], b = s[1], d = 0;
    if (in->mods & ORR_M_WRAP) a &= 31, b &= 31;
    for (uint64_t i = a; i < 32 && i - a < b; i++) d |= 1ull << i;
    return d;
}

static void test_bits(void **state) {
    (void)state;
    static const uint8_t types[3] = {ORR_T_B16, ORR_T_B32, ORR_T_B64};
    static const char *const shift[3] = {"H=HW", "W=WW", "D=DW"};
    for (int n = 0; n < 3; n++) {
        check_plain(ORR_OP_AND, types[n], 0, 2, ref_and);
        check_plain(ORR_OP_OR, types[n], 0, 2, ref_or);
        check_plain(ORR_OP_XOR, types[n], 0, 2, ref_xor);
        check_plain(ORR_OP_NOT, types[n], 0, 1, ref_not);
        check_plain(ORR_OP_CNOT, types[n], 0, 1, ref_cnot);
        check(ORR_OP_SHL, types[n], 0, 0, 0, shift[n], ref_shl);
        check(ORR_OP_SHR, types[n], 0, 0, 0, shift[n], ref_shr);
        check(ORR_OP_SHR, all_types[n], 0, 0, 0, shift[n], ref_shr);
        check(ORR_OP_SHR, all_types[3 + n], 0, 0, 0, shift[n], ref_shr);
    }
    for (uint8_t sub = 0; sub < 2; sub++) {
        check(ORR_OP_SHF, ORR_T_B32, 0, ORR_M_CLAMP, sub, "W=WWW", ref_shf);
        check(ORR_OP_SHF, ORR_T_B32, 0, ORR_M_WRAP, sub, "W=WWW", ref_shf);
    }
    for (int n = 1; n < 3; n++) {
        check(ORR_OP_POPC, types[n], 0, 0, 0, n == 1 ? "W=W" : "W=D", ref_popc);
        check(ORR_OP_CLZ, types[n], 0, 0, 0, n == 1 ? "W=W" : "W=D", ref_clz);
        check_plain(ORR_OP_BREV, types[n], 0, 1, ref_brev);
        check(ORR_OP_BFI, types[n], 0, 0, 0, n == 1 ? "W=WWWW" : "D=DDWW", ref_bfi);
        for (int sign = 0; sign < 2; sign++) {
            uint8_t t = all_types[n + 3 * sign];
            check(ORR_OP_BFIND, t, 0, 0, 0, n == 1 ? "W=W" : "W=D", ref_bfind);
            check(ORR_OP_BFIND, t, 0, ORR_M_SHIFTAMT, 0, n == 1 ? "W=W" : "W=D", ref_bfind);
            check(ORR_OP_BFE, t, 0, 0, 0, n == 1 ? "W=WWW" : "D=DWW", ref_bfe);
        }
    }
    for (int wrap = 0; wrap < 2; wrap++) {
        uint32_t mode = wrap ? ORR_M_WRAP : ORR_M_CLAMP;
        check(ORR_OP_SZEXT, ORR_T_U32, 0, mode, 0, "W=WW", ref_szext);
        check(ORR_OP_SZEXT, ORR_T_S32, 0, mode, 0, "W=WW", ref_szext);
        check(ORR_OP_BMSK, ORR_T_B32, 0, mode, 0, "W=WW", ref_bmsk);
    }
    // every position and length of a field, the edges of the word included
    for (uint32_t pos = 0; pos <= 64; pos++)
        for (uint32_t len = 0; len <= 64; len++) {
            orr_inst in = {.type = ORR_T_S32};
            uint64_t s[4] = {0x9234567c, pos, len, 0};
            assert_int_equal(one(ORR_OP_BFE, ORR_T_S32, 0, 0, 0, 0, "W=WWW", s[0], pos, len, 0),
                             (uint32_t)ref_bfe(&in, s));
        }
    // the manual's examples of fns and bmsk
    assert_int_equal(one(ORR_OP_FNS, ORR_T_B32, 0, 0, 0, 0, "W=WWW", 0xaaaaaaaa, 3, 1, 0), 3);
    assert_int_equal(one(ORR_OP_FNS, ORR_T_B32, 0, 0, 0, 0, "W=WWW", 0xaaaaaaaa, 3, (uint32_t)-1, 0), 3);
    assert_int_equal(one(ORR_OP_FNS, ORR_T_B32, 0, 0, 0, 0, "W=WWW", 0xaaaaaaaa, 2, 1, 0), 3);
    assert_int_equal(one(ORR_OP_FNS, ORR_T_B32, 0, 0, 0, 0, "W=WWW", 0xaaaaaaaa, 2, (uint32_t)-1, 0), 1);
    assert_int_equal(one(ORR_OP_FNS, ORR_T_B32, 0, 0, 0, 0, "W=WWW", 0xaaaaaaaa, 2, 0, 0), 0xffffffff);
    assert_int_equal(one(ORR_OP_FNS, ORR_T_B32, 0, 0, 0, 0, "W=WWW", 0xaaaaaaaa, 0, 16, 0), 31);
    assert_int_equal(one(ORR_OP_FNS, ORR_T_B32, 0, 0, 0, 0, "W=WWW", 0xaaaaaaaa, 0, (uint32_t)-2, 0),
                     UINT32_MAX);
    assert_int_equal(one(ORR_OP_BMSK, ORR_T_B32, 0, ORR_M_WRAP, 0, 0, "W=WW", 1, 2, 0, 0), 6);
    assert_int_equal(one(ORR_OP_SZEXT, ORR_T_U32, 0, ORR_M_WRAP, 0, 0, "W=WW", 0xffffffff, 0, 0, 0), 0);
}

// ---- lop3, prmt -----------------------------------------------------------------------------
static uint64_t ref_lop3(const orr_inst *in, const uint64_t s[4]) {
    uint64_t d = 0;
    for (int i = 0; i < 32; i++)
        d |= (uint64_t)bit(in->imm, bit(s[0], i) * 4 + bit(s[1], i) * 2 + bit(s[2], i)) << i;
    return d;
}
static void test_lop3(void **state) {
    (void)state;
    for (uint32_t table = 0; table < 256; table++) {
        bed b;
        bed_start(&b, ORR_OP_LOP3, ORR_T_B32);
        b.inst.imm = table;
        shape(&b, "W=WWW");
        compare_lanes(&b, ref_lop3, 3);
    }
    // lop3.and: p = (d != 0) and q, with d and without
    for (int sink = 0; sink < 2; sink++) {
        bed b;
        bed_start(&b, ORR_OP_LOP3, ORR_T_B32);
        b.inst.imm = 0x80, b.inst.boolop = ORR_BOOL_AND; // a & b & c
        if (sink)
            bed_operand(&b, true, ORR_K_NONE, ORR_W);
        else
            bed_dst(&b, ORR_W);
        bed_dst(&b, ORR_P);
        for (int n = 0; n < 3; n++) bed_src(&b, ORR_W);
        bed_src(&b, ORR_P);
        for (int i = 0; i < 32; i++)
            for (int n = 0; n < 3; n++) bed_set(&b, 2 + n, i, i & 1 ? 0xf0 >> n : 0xf << (n * 4));
        b.p[5] = 0x0000ffff; // q
        b.p[1] = 0xf0f0f0f0;
        bed_run(&b, orr_pick_int, 0x00ffffff);
        assert_int_equal(b.p[1], 0xf000aaaa); // odd lanes are not zero; lanes 24 up untouched
        if (!sink) assert_int_equal(bed_get(&b, 0, 1), 0x30);
        if (sink) assert_int_equal(b.r[0][1], 0);
    }
}

// The manual's tables: which of the eight bytes goes to d's byte n (the value of c has two bits).
static uint64_t ref_prmt(const orr_inst *in, const uint64_t s[4]) {
    static const int table[7][4][4] = {// d.b3 d.b2 d.b1 d.b0
                                       {{0}},
                                       {{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}},
                                       {{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}},
                                       {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}},
                                       {{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}},
                                       {{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}},
                                       {{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}}};
    uint8_t byte[8];
    for (int n = 0; n < 4; n++)
        byte[n] = (uint8_t)(s[0] >> (8 * n)), byte[4 + n] = (uint8_t)(s[1] >> (8 * n));
    uint64_t d = 0;
    for (int n = 0; n < 4; n++) {
        uint64_t nibble = s[2] >> (4 * n) & 15, v;
        if (in->sub)
            v = byte[table[in->sub][s[2] & 3][3 - n]];
        else
            v = nibble & 8 ? (byte[nibble & 7] & 0x80 ? 0xff : 0) : byte[nibble & 7];
        d |= v << (8 * n);
    }
    return d;
}
static void test_prmt(void **state) {
    (void)state;
    for (uint8_t sub = ORR_PRMT_DEFAULT; sub <= ORR_PRMT_RC16; sub++) {
        check(ORR_OP_PRMT, ORR_T_B32, 0, 0, sub, "W=WWW", ref_prmt);
        for (int n = 0; n < 20; n++) check(ORR_OP_PRMT, ORR_T_B32, 0, 0, sub, "W=WWW#", ref_prmt);
    }
    assert_int_equal(one(ORR_OP_PRMT, ORR_T_B32, 0, 0, 0, 0, "W=WWW", 0x33221100, 0x77665544, 0x7531, 0),
                     0x77553311);
    assert_int_equal(one(ORR_OP_PRMT, ORR_T_B32, 0, 0, 0, 0, "W=WWW", 0x80, 0, 0x8888, 0), 0xffffffff);
}

// ---- comparison and selection ---------------------------------------------------------------
static bool holds(uint8_t cmp, wide a, wide b) {
    switch (cmp) {
    case ORR_CMP_EQ: return a == b;
    case ORR_CMP_NE: return a != b;
    case ORR_CMP_LT:
    case ORR_CMP_LO: return a < b;
    case ORR_CMP_LE:
    case ORR_CMP_LS: return a <= b;
    case ORR_CMP_GT:
    case ORR_CMP_HI: return a > b;
    default: return a >= b;
    }
}
static bool combine(uint8_t op, bool t, uint64_t c) {
    return op == ORR_BOOL_AND   ? t & (c != 0)
           : op == ORR_BOOL_OR  ? t | (c != 0)
           : op == ORR_BOOL_XOR ? t ^ (c != 0)
                                : t;
}
static bool compared(const orr_inst *in, uint8_t type, const uint64_t s[4]) {
    if (in->cmp >= ORR_CMP_LO)
        type = type == ORR_T_S16   ? ORR_T_U16
               : type == ORR_T_S32 ? ORR_T_U32
               : type == ORR_T_S64 ? ORR_T_U64
                                   : type;
    return holds(in->cmp, value(type, s[0]), value(type, s[1]));
}
static uint64_t ref_setp(const orr_inst *in, const uint64_t s[4]) {
    return combine(in->boolop, compared(in, in->type, s), s[2]);
}
static uint64_t ref_set(const orr_inst *in, const uint64_t s[4]) {
    return !combine(in->boolop, compared(in, in->stype, s), s[2]) ? 0
           : in->type == ORR_T_F32                                ? 0x3f800000
                                                                  : 0xffffffff;
}
static void test_compare(void **state) {
    (void)state;
    static const char *const setp[3][2] = {{"P=HH", "P=HHP"}, {"P=WW", "P=WWP"}, {"P=DD", "P=DDP"}};
    static const char *const set[3][2] = {{"W=HH", "W=HHP"}, {"W=WW", "W=WWP"}, {"W=DD", "W=DDP"}};
    for (int t = 0; t < 6; t++)
        for (uint8_t cmp = ORR_CMP_EQ; cmp <= ORR_CMP_HS; cmp++)
            for (uint8_t op = ORR_BOOL_NONE; op <= ORR_BOOL_XOR; op++) {
                bed b;
                bed_start(&b, ORR_OP_SETP, all_types[t]);
                b.inst.cmp = cmp, b.inst.boolop = op;
                shape(&b, setp[t % 3][op != 0]);
                if (op) b.all[3].neg = cmp & 1;
                compare_lanes(&b, ref_setp, 6);
                bed_start(&b, ORR_OP_SET, cmp & 1 ? ORR_T_F32 : cmp & 2 ? ORR_T_U32 : ORR_T_S32);
                b.inst.stype = all_types[t], b.inst.cmp = cmp, b.inst.boolop = op;
                shape(&b, set[t % 3][op != 0]);
                compare_lanes(&b, ref_set, 6);
            }
    // p|q: q is the complement before the boolean operation; c may be p itself
    bed b;
    bed_start(&b, ORR_OP_SETP, ORR_T_S32);
    b.inst.cmp = ORR_CMP_LT, b.inst.boolop = ORR_BOOL_AND;
    bed_dst(&b, ORR_P), bed_dst(&b, ORR_P), bed_src(&b, ORR_W), bed_src(&b, ORR_W), bed_src(&b, ORR_P);
    b.all[4].off = 0; // c is p
    for (int i = 0; i < 32; i++) bed_set(&b, 2, i, (uint64_t)i), bed_set(&b, 3, i, 16);
    b.p[0] = 0x0ff00ff0, b.p[1] = 0x12345678;
    bed_run(&b, orr_pick_int, 0x7fffffff);
    assert_int_equal(b.p[0], 0x00000ff0);
    assert_int_equal(b.p[1], 0x0ff00000);
    // the same with p as the sink
    b.operands[0].kind = ORR_K_NONE, b.all[0].none = 1;
    b.p[0] = 0x0ff00ff0;
    bed_run(&b, orr_pick_int, FULL);
    assert_int_equal(b.p[0], 0x0ff00ff0);
    assert_int_equal(b.p[1], 0x0ff00000);
}

static uint64_t ref_selp(const orr_inst *in, const uint64_t s[4]) { return (void)in, s[2] ? s[0] : s[1]; }
static uint64_t ref_slct(const orr_inst *in, const uint64_t s[4]) {
    return (void)in, (int32_t)s[2] >= 0 ? s[0] : s[1];
}
static void test_select(void **state) {
    (void)state;
    check(ORR_OP_SELP, ORR_T_B16, 0, 0, 0, "H=HHP", ref_selp);
    check(ORR_OP_SELP, ORR_T_F32, 0, 0, 0, "W=WWP", ref_selp);
    check(ORR_OP_SELP, ORR_T_F64, 0, 0, 0, "D=DDP", ref_selp);
    check(ORR_OP_SELP, ORR_T_S32, 0, 0, 0, "W=WWP#", ref_selp);
    check(ORR_OP_SLCT, ORR_T_B16, ORR_T_S32, 0, 0, "H=HHW", ref_slct);
    check(ORR_OP_SLCT, ORR_T_U32, ORR_T_S32, 0, 0, "W=WWW", ref_slct);
    check(ORR_OP_SLCT, ORR_T_F64, ORR_T_S32, 0, 0, "D=DDW", ref_slct);
}

static uint64_t ref_pred(const orr_inst *in, const uint64_t s[4]) {
    switch (in->op) {
    case ORR_OP_AND: return s[0] & s[1];
    case ORR_OP_OR: return s[0] | s[1];
    case ORR_OP_XOR: return s[0] ^ s[1];
    default: return !s[0];
    }
}
static void test_predicates(void **state) {
    (void)state;
    for (uint16_t op = ORR_OP_AND; op <= ORR_OP_NOT; op++)
        for (uint8_t neg = 0; neg < 2; neg++) {
            bed b;
            bed_start(&b, op, ORR_T_PRED);
            shape(&b, op == ORR_OP_NOT ? "P=P" : "P=PP");
            b.all[1].neg = neg;
            compare_lanes(&b, ref_pred, 9);
        }
}

// ---- generic addresses ----------------------------------------------------------------------
static void test_spaces(void **state) {
    (void)state;
    static const struct {
        uint8_t space;
        uint64_t base;
    } spaces[] = {{ORR_SPACE_GLOBAL, 0},
                  {ORR_SPACE_CONST, 0},
                  {ORR_SPACE_SHARED, ORR_SHARED_WINDOW},
                  {ORR_SPACE_LOCAL, ORR_LOCAL_WINDOW},
                  {ORR_SPACE_PARAM, ORR_PARAM_WINDOW}};
    for (int n = 0; n < 5; n++) {
        bed b;
        bed_start(&b, ORR_OP_CVTA, ORR_T_U64);
        b.inst.space = spaces[n].space;
        shape(&b, "D=D");
        for (int i = 0; i < 32; i++) bed_set(&b, 1, i, (uint64_t)(i * 16));
        bed_run(&b, orr_pick_int, FULL);
        for (int i = 0; i < 32; i++) assert_int_equal(b.d[0][i], spaces[n].base + (uint64_t)i * 16);
        memcpy(b.d[1], b.d[0], sizeof b.d[1]);
        b.inst.sub = 1;
        bed_run(&b, orr_pick_int, FULL);
        for (int i = 0; i < 32; i++) assert_int_equal(b.d[0][i], i * 16);
        for (int m = 2; m < 5; m++) { // is an address of window n in space m?
            bed_start(&b, ORR_OP_ISSPACEP, ORR_T_U64);
            decoded prog = {.kernel = &b.kernel};
            tblock block = {.prog = &prog}; // not of a cluster: all of the window is its own
            b.w.tb = &block;
            b.inst.space = spaces[m].space;
            shape(&b, "P=D");
            for (int i = 0; i < 32; i++)
                bed_set(&b, 1, i, (spaces[n].base ? spaces[n].base : ORR_GLOBAL_BASE) + (uint64_t)i * 16);
            bed_run(&b, orr_pick_int, FULL);
            assert_int_equal(b.p[0], n == m ? FULL : 0);
            b.inst.space = ORR_SPACE_GLOBAL;
            bed_run(&b, orr_pick_int, FULL);
            assert_int_equal(b.p[0], spaces[n].base ? 0 : FULL);
        }
    }
}

// ---- video ----------------------------------------------------------------------------------
static uint32_t video(uint8_t sub, uint8_t d, uint8_t a, uint8_t b, uint32_t mods, uint32_t imm,
                      uint32_t disp, uint32_t x, uint32_t y, uint32_t z) {
    bed bd;
    bed_start(&bd, ORR_OP_VIDEO, d);
    bd.inst.stype = a, bd.inst.sub = sub, bd.inst.mods = mods, bd.inst.imm = imm,
    bd.inst.disp = (int32_t)(disp | b);
    bd.inst.cmp = ORR_CMP_LT;
    shape(&bd, "W=WWW");
    bed_set(&bd, 1, 9, x), bed_set(&bd, 2, 9, y), bed_set(&bd, 3, 9, z);
    bed_run(&bd, orr_pick_int, FULL);
    return bd.r[0][9];
}
#define SEL(a, b, d, op2) ((a) | (b) << 4 | (d) << 12 | (op2) << 16)
static void test_video_scalar(void **state) {
    (void)state;
    const uint8_t u = ORR_T_U32, s = ORR_T_S32;
    const uint32_t sat = ORR_M_SAT;
    // byte 1 of a (0x80 = -128) plus half 1 of b (0xfffe = -2)
    assert_int_equal(video(ORR_VOP_ADD, s, s, s, 0, SEL(2, 6, 0, 0), 0, 0x00008000, 0xfffe0000, 0),
                     (uint32_t)-130);
    assert_int_equal(video(ORR_VOP_ADD, s, u, u, 0, SEL(2, 6, 0, 0), 0, 0x00008000, 0xfffe0000, 0),
                     0x80 + 0xfffe);
    assert_int_equal(video(ORR_VOP_ADD, s, s, s, sat, 0, 0, 0x7fffffff, 1, 0), 0x7fffffff);
    assert_int_equal(video(ORR_VOP_ADD, u, u, u, sat, 0, 0, 0xffffffff, 1, 0), 0xffffffff);
    assert_int_equal(video(ORR_VOP_SUB, u, u, u, sat, 0, 0, 1, 2, 0), 0);
    assert_int_equal(video(ORR_VOP_SUB, s, u, u, sat, 0, 0, 0, 0xffffffff, 0), 0x80000000);
    assert_int_equal(video(ORR_VOP_ABSDIFF, u, s, s, 0, 0, 0, (uint32_t)-5, 7, 0), 12);
    assert_int_equal(video(ORR_VOP_MIN, s, s, u, 0, 0, 0, (uint32_t)-5, 7, 0), (uint32_t)-5);
    assert_int_equal(video(ORR_VOP_MAX, u, u, u, 0, SEL(0, 0, 0, 1), 0, 3, 7, 100), 107); // .add
    assert_int_equal(video(ORR_VOP_ADD, s, s, s, 0, SEL(0, 0, 0, 2), 0, 3, 7, (uint32_t)-1),
                     (uint32_t)-1);                                                               // .min
    assert_int_equal(video(ORR_VOP_ADD, s, s, s, 0, SEL(0, 0, 0, 3), 0, 3, 7, (uint32_t)-1), 10); // .max
    // merge into byte 2 of c with saturation to s8
    assert_int_equal(video(ORR_VOP_ADD, s, s, s, sat, SEL(0, 0, 3, 4), 0, 100, 100, 0x11223344), 0x117f3344);
    assert_int_equal(video(ORR_VOP_ADD, s, s, s, 0, SEL(0, 0, 6, 4), 0, 100, 100, 0x11223344), 0x00c83344);
    assert_int_equal(video(ORR_VOP_SHL, u, u, u, ORR_M_CLAMP, 0, 0, 1, 40, 0), 0);
    assert_int_equal(video(ORR_VOP_SHL, u, u, u, ORR_M_WRAP, 0, 0, 1, 40, 0), 256);
    assert_int_equal(video(ORR_VOP_SHR, s, s, u, ORR_M_CLAMP, 0, 0, 0x80000000, 40, 0), 0xffffffff);
    assert_int_equal(video(ORR_VOP_SET, u, s, u, 0, 0, 0, 0xffffffff, 0, 0), 1); // -1 < 0
    assert_int_equal(video(ORR_VOP_SET, u, u, u, 0, 0, 0, 0xffffffff, 0, 0), 0);
    // vmad: 3*5+7; .po; .shr7; -(3*5)+7; 3*5-7; saturated
    assert_int_equal(video(ORR_VOP_MAD, u, u, u, 0, 0, 0, 3, 5, 7), 22);
    assert_int_equal(video(ORR_VOP_MAD, u, u, u, 0, 0, 1 << 16, 3, 5, 7), 23);
    assert_int_equal(video(ORR_VOP_MAD, u, u, u, 0, 0, 7 << 8, 1000, 1000, 0), 7812);
    assert_int_equal(video(ORR_VOP_MAD, s, u, u, 0, 0, 1 << 17, 3, 5, 7), (uint32_t)-8);
    assert_int_equal(video(ORR_VOP_MAD, s, u, u, 0, 0, 3 << 17, 3, 5, 7), 22);
    assert_int_equal(video(ORR_VOP_MAD, s, u, u, 0, 0, 1 << 19, 3, 5, 7), 8);
    assert_int_equal(video(ORR_VOP_MAD, u, u, u, sat, 0, 0, 0xffffffff, 2, 0), 0xffffffff);
    assert_int_equal(video(ORR_VOP_MAD, s, s, s, sat, 0, 0, 0x80000000, 2, 0), 0x80000000);
}

#define SEL2(a0, a1, b0, b1, mask) ((a0) | (a1) << 3 | (b0) << 12 | (b1) << 15 | (mask) << 24)
#define SEL4(mask)                 (0 | 1 << 3 | 2 << 6 | 3 << 9 | 4 << 12 | 5 << 15 | 6 << 18 | 7 << 21 | (mask) << 24)
static uint32_t simd(uint16_t op, uint8_t sub, uint8_t d, uint8_t ab, uint32_t mods, bool add, uint32_t sel,
                     uint32_t x, uint32_t y, uint32_t z) {
    bed b;
    bed_start(&b, op, d);
    b.inst.stype = ab, b.inst.sub = sub, b.inst.mods = mods, b.inst.imm = ab | (uint32_t)add << 16,
    b.inst.disp = (int32_t)sel;
    b.inst.cmp = ORR_CMP_GT;
    shape(&b, "W=WWW");
    bed_set(&b, 1, 9, x), bed_set(&b, 2, 9, y), bed_set(&b, 3, 9, z);
    b.r[0][8] = 0x5a5a5a5a;
    bed_run(&b, orr_pick_int, ~0x100u);
    assert_int_equal(b.r[0][8], 0x5a5a5a5a);
    return b.r[0][9];
}
static void test_video_simd(void **state) {
    (void)state;
    const uint8_t u = ORR_T_U32, s = ORR_T_S32;
    const uint16_t v2 = ORR_OP_VIDEO2, v4 = ORR_OP_VIDEO4;
    assert_int_equal(simd(v2, ORR_VOP_ADD, u, u, 0, false, SEL2(0, 1, 2, 3, 3), 0x0001ffff, 0x00020001, 0),
                     0x00030000);
    assert_int_equal(
        simd(v2, ORR_VOP_ADD, u, u, ORR_M_SAT, false, SEL2(0, 1, 2, 3, 3), 0x0001ffff, 0x00020001, 0),
        0x0003ffff);
    assert_int_equal(
        simd(v2, ORR_VOP_SUB, s, s, ORR_M_SAT, false, SEL2(0, 1, 2, 3, 3), 0x80000005, 0x00010007, 0),
        0x8000fffe);
    assert_int_equal(
        simd(v2, ORR_VOP_SUB, u, u, 0, false, SEL2(1, 1, 0, 2, 1), 0x00090004, 0x0001, 0x77776666),
        0x77770005);
    assert_int_equal(
        simd(v2, ORR_VOP_ABSDIFF, u, u, 0, true, SEL2(0, 1, 2, 3, 3), 0x00090004, 0x00010006, 100), 110);
    assert_int_equal(simd(v2, ORR_VOP_AVRG, s, s, 0, false, SEL2(0, 1, 2, 3, 3), 0xfffd0003, 0xfffe0004, 0),
                     0xfffd0004); // -5>>1, 8>>1
    assert_int_equal(simd(v4, ORR_VOP_ADD, u, u, 0, false, SEL4(15), 0xff010203, 0x01010101, 0), 0x00020304);
    assert_int_equal(simd(v4, ORR_VOP_MIN, s, s, 0, false, SEL4(15), 0x80017f05, 0x7fff0106, 0), 0x80ff0105);
    assert_int_equal(simd(v4, ORR_VOP_MAX, u, u, 0, false, SEL4(5), 0x80017f05, 0x7fff0106, 0xaabbccdd),
                     0xaaffcc06);
    assert_int_equal(simd(v4, ORR_VOP_ABSDIFF, u, u, 0, true, SEL4(15), 0x10203040, 0x11213141, 1000), 1004);
    assert_int_equal(simd(v4, ORR_VOP_SET, u, u, 0, false, SEL4(15), 0x01020304, 0x00020205, 0), 0x01000100);
    assert_int_equal(simd(v4, ORR_VOP_SET, u, u, 0, true, SEL4(15), 0x01020304, 0x00020205, 7), 9);
}

// ---- what is refused ------------------------------------------------------------------------
static bool refused(uint16_t op, uint8_t type, uint32_t mods, const char *operands) {
    bed b;
    bed_start(&b, op, type);
    b.inst.mods = mods;
    shape(&b, operands);
    return bed_pick(&b, orr_pick_int).full == NULL;
}
static void test_refused(void **state) {
    (void)state;
    assert_true(refused(ORR_OP_ADD, ORR_T_F32, 0, "W=WW")); // another family's
    assert_true(refused(ORR_OP_ADD, ORR_T_U32, 0, "W=WD")); // classes that do not fit
    assert_true(refused(ORR_OP_ADD, ORR_T_U32, 0, "W=W"));
    assert_true(refused(ORR_OP_ADD, ORR_T_U32, 0, "W=WWW"));
    assert_true(refused(ORR_OP_ADD, ORR_T_U32, ORR_M_SAT, "W=WW"));
    assert_true(refused(ORR_OP_ADD, ORR_T_U16, ORR_M_CC, "H=HH"));
    assert_true(refused(ORR_OP_MUL, ORR_T_U64, ORR_M_WIDE, "D=DD"));
    assert_true(refused(ORR_OP_SETP, ORR_T_F32, 0, "P=WW"));
    assert_true(refused(ORR_OP_POPC, ORR_T_B16, 0, "W=H"));
    bed b; // a destination that is the sink, where there is none
    bed_start(&b, ORR_OP_ADD, ORR_T_U32);
    bed_operand(&b, true, ORR_K_NONE, ORR_W);
    bed_src(&b, ORR_W), bed_src(&b, ORR_W);
    assert_null(bed_pick(&b, orr_pick_int).full);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arith),        cmocka_unit_test(test_arith_values),
        cmocka_unit_test(test_packed),       cmocka_unit_test(test_carry),
        cmocka_unit_test(test_dot),          cmocka_unit_test(test_bits),
        cmocka_unit_test(test_lop3),         cmocka_unit_test(test_prmt),
        cmocka_unit_test(test_compare),      cmocka_unit_test(test_select),
        cmocka_unit_test(test_predicates),   cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_video_scalar), cmocka_unit_test(test_video_simd),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
