// Integer arithmetic: the handlers of add .. dp2a for every integer type, and the dispatcher of the
// integer family.
//
// A semantic is one expression over a lane's values (pair.h). Arithmetic that may wrap is done on
// unsigned types; where a sign matters the sources are read as signed. Sections of the PTX manual:
// "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic Instructions".
#include "exec/ops/pair.h"
#include "exec/lanewise.h"

typedef unsigned __int128 uint128;
typedef __int128 int128;

// ---- add, subtract --------------------------------------------------------------------------
PAIR2(add16, uint16_t, uint16_t, uint16_t, a + b)
PAIR2(add32, uint32_t, uint32_t, uint32_t, a + b)
PAIR2(add64, uint64_t, uint64_t, uint64_t, a + b)
PAIR2(sub16, uint16_t, uint16_t, uint16_t, a - b)
PAIR2(sub32, uint32_t, uint32_t, uint32_t, a - b)
PAIR2(sub64, uint64_t, uint64_t, uint64_t, a - b)

// Saturation by bits, which vectorises where a 64-bit clamp would not: an overflow of a + b gives the
// sign of a, and 0x7fffffff plus that sign bit is the limit.
static inline uint32_t sat_add(uint32_t a, uint32_t b) {
    uint32_t s = a + b, over = 0u - (((s ^ a) & (s ^ b)) >> 31);
    return (s & ~over) | (((a >> 31) + 0x7fffffffu) & over);
}
static inline uint32_t sat_sub(uint32_t a, uint32_t b) {
    uint32_t s = a - b, over = 0u - (((a ^ b) & (s ^ a)) >> 31);
    return (s & ~over) | (((a >> 31) + 0x7fffffffu) & over);
}
PAIR2(add_sat, uint32_t, uint32_t, uint32_t, sat_add(a, b))
PAIR2(sub_sat, uint32_t, uint32_t, uint32_t, sat_sub(a, b))

// Two halves in a word: carries must not cross.
static inline uint32_t add_halves(uint32_t a, uint32_t b) {
    return ((a & 0x7fff7fffu) + (b & 0x7fff7fffu)) ^ ((a ^ b) & 0x80008000u);
}
static inline uint32_t sub_halves(uint32_t a, uint32_t b) {
    return ((a | 0x80008000u) - (b & 0x7fff7fffu)) ^ ((a ^ ~b) & 0x80008000u);
}
PAIR2(add16x2, uint32_t, uint32_t, uint32_t, add_halves(a, b))
PAIR2(sub16x2, uint32_t, uint32_t, uint32_t, sub_halves(a, b))
PAIR1(neg16x2, uint32_t, uint32_t, sub_halves(0, a))

// ---- with carry -----------------------------------------------------------------------------
// The flag is a bit a lane in w->carry. For a subtraction it holds the borrow. One body serves all:
// x and y are the addends (the subtrahend for sub) of the lane; `in` reads the flag, `out` writes it.
#define CARRY_LOOP(T, X, Y, SUM, OUT)                                                                        \
    T *d = DST(w, u, T);                                                                                     \
    const uint32_t *lane = active_lanes(w);                                                                  \
    bool in = (u->inst->mods & ORR_M_X) != 0, out = (u->inst->mods & ORR_M_CC) != 0;                         \
    uint32_t old = in ? w->carry : 0, flag = 0;                                                              \
    uint32_t in_lane[ORR_WARP], out_lane[ORR_WARP];                                                          \
    spread(old, in_lane);                                                                                    \
    LANES {                                                                                                  \
        T x = (T)(X), y = (T)(Y), t = in_lane[i] & 1, s = (T)(SUM);                                          \
        out_lane[i] = (uint32_t)(OUT);                                                                       \
        d[i] = BLEND(T, d[i], s, lane[i]);                                                                   \
    }                                                                                                        \
    LANES { flag |= out_lane[i] ? lane_bit[i] : 0; }                                                         \
    if (out) w->carry = (w->carry & ~w->exec) | (flag & w->exec);

#define CARRY_HANDLER(name, T, LOADS, X, Y, SUM, OUT)                                                        \
    static void name(warp *w, const uop *u) {                                                                \
        LOADS                                                                                                \
        CARRY_LOOP(T, X, Y, SUM, OUT)                                                                        \
    }
#define LOAD2(T) const T *pa = SRC_A(w, u, T), *pb = SRC_B(w, u, T);
#define LOAD3(T) const T *pa = SRC_A(w, u, T), *pb = SRC_B(w, u, T), *pc = SRC_C(w, u, T);
// The carry out of the top bit, from the bits that went in and the one that came out.
#define SUM_ADD x + y + t
#define OUT_ADD ((x & y) | ((x | y) & ~s)) >> (sizeof s * 8 - 1)
#define SUM_SUB x - y - t
#define OUT_SUB ((~x & y) | (~(x ^ y) & s)) >> (sizeof s * 8 - 1)

static inline uint32_t mulhi_u32(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }
static inline uint32_t mulhi_s32(int32_t a, int32_t b) {
    return (uint32_t)((uint64_t)((int64_t)a * b) >> 32);
}
static inline uint64_t mulhi_u64(uint64_t a, uint64_t b) { return (uint64_t)((uint128)a * b >> 64); }
static inline uint64_t mulhi_s64(int64_t a, int64_t b) { return (uint64_t)((uint128)((int128)a * b) >> 64); }

CARRY_HANDLER(add_cc32, uint32_t, LOAD2(uint32_t), pa[i], pb[i], SUM_ADD, OUT_ADD)
CARRY_HANDLER(add_cc64, uint64_t, LOAD2(uint64_t), pa[i], pb[i], SUM_ADD, OUT_ADD)
CARRY_HANDLER(sub_cc32, uint32_t, LOAD2(uint32_t), pa[i], pb[i], SUM_SUB, OUT_SUB)
CARRY_HANDLER(sub_cc64, uint64_t, LOAD2(uint64_t), pa[i], pb[i], SUM_SUB, OUT_SUB)
CARRY_HANDLER(mad_lo_cc32, uint32_t, LOAD3(uint32_t), pa[i] * pb[i], pc[i], SUM_ADD, OUT_ADD)
CARRY_HANDLER(mad_lo_cc64, uint64_t, LOAD3(uint64_t), pa[i] * pb[i], pc[i], SUM_ADD, OUT_ADD)
CARRY_HANDLER(mad_hi_ccu32, uint32_t, LOAD3(uint32_t), mulhi_u32(pa[i], pb[i]), pc[i], SUM_ADD, OUT_ADD)
CARRY_HANDLER(mad_hi_ccs32, uint32_t, LOAD3(int32_t), mulhi_s32(pa[i], pb[i]), pc[i], SUM_ADD, OUT_ADD)
CARRY_HANDLER(mad_hi_ccu64, uint64_t, LOAD3(uint64_t), mulhi_u64(pa[i], pb[i]), pc[i], SUM_ADD, OUT_ADD)
CARRY_HANDLER(mad_hi_ccs64, uint64_t, LOAD3(int64_t), mulhi_s64(pa[i], pb[i]), pc[i], SUM_ADD, OUT_ADD)

// ---- multiply -------------------------------------------------------------------------------
PAIR2(mul_lo16, uint16_t, uint16_t, uint16_t, (uint32_t)a *b)
PAIR2(mul_lo32, uint32_t, uint32_t, uint32_t, a *b)
PAIR2(mul_lo64, uint64_t, uint64_t, uint64_t, a *b)
PAIR2(mul_hi_u16, uint16_t, uint16_t, uint16_t, (uint32_t)a *b >> 16)
PAIR2(mul_hi_s16, uint16_t, int16_t, int16_t, (uint32_t)(a *b) >> 16)
PAIR2(mul_hi_u32, uint32_t, uint32_t, uint32_t, mulhi_u32(a, b))
PAIR2(mul_hi_s32, uint32_t, int32_t, int32_t, mulhi_s32(a, b))
PAIR2(mul_hi_u64, uint64_t, uint64_t, uint64_t, mulhi_u64(a, b))
PAIR2(mul_hi_s64, uint64_t, int64_t, int64_t, mulhi_s64(a, b))
PAIR2(mul_wide_u16, uint32_t, uint16_t, uint16_t, (uint32_t)a *b)
PAIR2(mul_wide_s16, uint32_t, int16_t, int16_t, a *b)
PAIR2(mul_wide_u32, uint64_t, uint32_t, uint32_t, (uint64_t)a *b)
PAIR2(mul_wide_s32, uint64_t, int32_t, int32_t, (int64_t)a *b)

PAIR3(mad_lo16, uint16_t, uint16_t, uint16_t, uint16_t, (uint32_t)a *b + c)
PAIR3(mad_lo32, uint32_t, uint32_t, uint32_t, uint32_t, a *b + c)
PAIR3(mad_lo64, uint64_t, uint64_t, uint64_t, uint64_t, a *b + c)
PAIR3(mad_hi_u16, uint16_t, uint16_t, uint16_t, uint16_t, ((uint32_t)a * b >> 16) + c)
PAIR3(mad_hi_s16, uint16_t, int16_t, int16_t, uint16_t, ((uint32_t)(a * b) >> 16) + c)
PAIR3(mad_hi_u32, uint32_t, uint32_t, uint32_t, uint32_t, mulhi_u32(a, b) + c)
PAIR3(mad_hi_s32, uint32_t, int32_t, int32_t, uint32_t, mulhi_s32(a, b) + c)
PAIR3(mad_hi_u64, uint64_t, uint64_t, uint64_t, uint64_t, mulhi_u64(a, b) + c)
PAIR3(mad_hi_s64, uint64_t, int64_t, int64_t, uint64_t, mulhi_s64(a, b) + c)
PAIR3(mad_hi_sat, uint32_t, int32_t, int32_t, uint32_t, sat_add(mulhi_s32(a, b), c))
PAIR3(mad_wide_u16, uint32_t, uint16_t, uint16_t, uint32_t, (uint32_t)a *b + c)
PAIR3(mad_wide_s16, uint32_t, int16_t, int16_t, uint32_t, (uint32_t)(a *b) + c)
PAIR3(mad_wide_u32, uint64_t, uint32_t, uint32_t, uint64_t, (uint64_t)a *b + c)
PAIR3(mad_wide_s32, uint64_t, int32_t, int32_t, uint64_t, (uint64_t)((int64_t)a *b) + c)

// 24 x 24 bits; .lo is bits 31..0 of the 48-bit product, .hi bits 47..16.
#define U24(x) ((uint64_t)((x)&0xffffffu))
#define S24(x) ((int64_t)((int32_t)((uint32_t)(x) << 8) >> 8))
PAIR2(mul24_lo_u32, uint32_t, uint32_t, uint32_t, U24(a) * U24(b))
PAIR2(mul24_lo_s32, uint32_t, int32_t, int32_t, S24(a) * S24(b))
PAIR2(mul24_hi_u32, uint32_t, uint32_t, uint32_t, U24(a) * U24(b) >> 16)
PAIR2(mul24_hi_s32, uint32_t, int32_t, int32_t, (uint64_t)(S24(a) * S24(b)) >> 16)
PAIR3(mad24_lo_u32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)(U24(a) * U24(b)) + c)
PAIR3(mad24_lo_s32, uint32_t, int32_t, int32_t, uint32_t, (uint32_t)(S24(a) * S24(b)) + c)
PAIR3(mad24_hi_u32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)(U24(a) * U24(b) >> 16) + c)
PAIR3(mad24_hi_s32, uint32_t, int32_t, int32_t, uint32_t, (uint32_t)((uint64_t)(S24(a) * S24(b)) >> 16) + c)
PAIR3(mad24_hi_sat, uint32_t, int32_t, int32_t, uint32_t,
      sat_add((uint32_t)((uint64_t)(S24(a) * S24(b)) >> 16), c))

#define SAD(U) (a < b ? (U)((U)b - (U)a) : (U)((U)a - (U)b)) + (U)c
PAIR3(sad_u16, uint16_t, uint16_t, uint16_t, uint16_t, SAD(uint16_t))
PAIR3(sad_u32, uint32_t, uint32_t, uint32_t, uint32_t, SAD(uint32_t))
PAIR3(sad_u64, uint64_t, uint64_t, uint64_t, uint64_t, SAD(uint64_t))
PAIR3(sad_s16, uint16_t, int16_t, int16_t, uint16_t, SAD(uint16_t))
PAIR3(sad_s32, uint32_t, int32_t, int32_t, uint32_t, SAD(uint32_t))
PAIR3(sad_s64, uint64_t, int64_t, int64_t, uint64_t, SAD(uint64_t))

// ---- divide ---------------------------------------------------------------------------------
// The manual leaves division by zero open; an H200 answers all ones, quotient and remainder. The most
// negative number over -1 wraps.
PAIR2(div_u16, uint16_t, uint16_t, uint16_t, b ? a / b : 0xffff)
PAIR2(div_u32, uint32_t, uint32_t, uint32_t, b ? a / b : UINT32_MAX)
PAIR2(div_u64, uint64_t, uint64_t, uint64_t, b ? a / b : UINT64_MAX)
PAIR2(div_s16, uint16_t, int16_t, int16_t, b ? a / b : -1)
PAIR2(div_s32, uint32_t, int32_t, int32_t,
      b == 0    ? UINT32_MAX
      : b == -1 ? 0u - (uint32_t)a
                : (uint32_t)(a / b))
PAIR2(div_s64, uint64_t, int64_t, int64_t,
      b == 0    ? UINT64_MAX
      : b == -1 ? 0u - (uint64_t)a
                : (uint64_t)(a / b))
PAIR2(rem_u16, uint16_t, uint16_t, uint16_t, b ? a % b : 0xffff)
PAIR2(rem_u32, uint32_t, uint32_t, uint32_t, b ? a % b : UINT32_MAX)
PAIR2(rem_u64, uint64_t, uint64_t, uint64_t, b ? a % b : UINT64_MAX)
PAIR2(rem_s16, uint16_t, int16_t, int16_t, b ? a % b : -1)
PAIR2(rem_s32, uint32_t, int32_t, int32_t, b == 0 ? -1 : b == -1 ? 0 : a % b)
PAIR2(rem_s64, uint64_t, int64_t, int64_t, b == 0 ? -1 : b == -1 ? 0 : a % b)

// ---- absolute value, negation, minimum, maximum -----------------------------------------------
PAIR1(abs16, uint16_t, int16_t, a < 0 ? -a : a)
PAIR1(abs32, uint32_t, int32_t, a < 0 ? 0u - (uint32_t)a : (uint32_t)a)
PAIR1(abs64, uint64_t, int64_t, a < 0 ? 0u - (uint64_t)a : (uint64_t)a)
PAIR1(neg16, uint16_t, uint16_t, 0 - a)
PAIR1(neg32, uint32_t, uint32_t, 0u - a)
PAIR1(neg64, uint64_t, uint64_t, 0u - a)

#define LEAST   (a < b ? a : b)
#define MOST    (a > b ? a : b)
#define RELU(x) ((x) < 0 ? 0 : (x))
PAIR2(min_u16, uint16_t, uint16_t, uint16_t, LEAST)
PAIR2(min_u32, uint32_t, uint32_t, uint32_t, LEAST)
PAIR2(min_u64, uint64_t, uint64_t, uint64_t, LEAST)
PAIR2(min_s16, uint16_t, int16_t, int16_t, LEAST)
PAIR2(min_s32, uint32_t, int32_t, int32_t, LEAST)
PAIR2(min_s64, uint64_t, int64_t, int64_t, LEAST)
PAIR2(max_u16, uint16_t, uint16_t, uint16_t, MOST)
PAIR2(max_u32, uint32_t, uint32_t, uint32_t, MOST)
PAIR2(max_u64, uint64_t, uint64_t, uint64_t, MOST)
PAIR2(max_s16, uint16_t, int16_t, int16_t, MOST)
PAIR2(max_s32, uint32_t, int32_t, int32_t, MOST)
PAIR2(max_s64, uint64_t, int64_t, int64_t, MOST)
PAIR2(min_relu, uint32_t, int32_t, int32_t, RELU(LEAST))
PAIR2(max_relu, uint32_t, int32_t, int32_t, RELU(MOST))
static inline int32_t min_i(int32_t a, int32_t b) { return LEAST; }
static inline int32_t max_i(int32_t a, int32_t b) { return MOST; }
static inline uint32_t min_w(uint32_t a, uint32_t b) { return LEAST; }
static inline uint32_t max_w(uint32_t a, uint32_t b) { return MOST; }
PAIR3(min3_u32, uint32_t, uint32_t, uint32_t, uint32_t, min_w(min_w(a, b), c))
PAIR3(max3_u32, uint32_t, uint32_t, uint32_t, uint32_t, max_w(max_w(a, b), c))
PAIR3(min3_s32, uint32_t, int32_t, int32_t, int32_t, min_i(min_i(a, b), c))
PAIR3(max3_s32, uint32_t, int32_t, int32_t, int32_t, max_i(max_i(a, b), c))
PAIR3(min3_relu, uint32_t, int32_t, int32_t, int32_t, max_i(min_i(min_i(a, b), c), 0))
PAIR3(max3_relu, uint32_t, int32_t, int32_t, int32_t, max_i(max_i(max_i(a, b), c), 0))

// The halves of a word: f of the low ones and of the high ones, as whole words.
#define HALVES(T, f)                                                                                         \
    (((uint32_t)f((T)(uint16_t)a, (T)(uint16_t)b) & 0xffffu) |                                               \
     ((uint32_t)f((T)(uint16_t)(a >> 16), (T)(uint16_t)(b >> 16)) << 16))
static inline int32_t min_relu_i(int32_t a, int32_t b) { return max_i(min_i(a, b), 0); }
static inline int32_t max_relu_i(int32_t a, int32_t b) { return max_i(max_i(a, b), 0); }
PAIR2(min_u16x2, uint32_t, uint32_t, uint32_t, HALVES(uint16_t, min_i))
PAIR2(max_u16x2, uint32_t, uint32_t, uint32_t, HALVES(uint16_t, max_i))
PAIR2(min_s16x2, uint32_t, uint32_t, uint32_t, HALVES(int16_t, min_i))
PAIR2(max_s16x2, uint32_t, uint32_t, uint32_t, HALVES(int16_t, max_i))
PAIR2(min_relu_s16x2, uint32_t, uint32_t, uint32_t, HALVES(int16_t, min_relu_i))
PAIR2(max_relu_s16x2, uint32_t, uint32_t, uint32_t, HALVES(int16_t, max_relu_i))

// ---- dot products ---------------------------------------------------------------------------
// dp4a: four bytes of a by four of b. dp2a: two halves of a by bytes 0,1 (.lo) or 2,3 (.hi) of b.
#define BYTE(T, x, n) ((int32_t)(T)(uint8_t)((x) >> (8 * (n))))
#define HALF(T, x, n) ((int32_t)(T)(uint16_t)((x) >> (16 * (n))))
#define DP4A(TA, TB)                                                                                         \
    c + (uint32_t)(BYTE(TA, a, 0) * BYTE(TB, b, 0) + BYTE(TA, a, 1) * BYTE(TB, b, 1) +                       \
                   BYTE(TA, a, 2) * BYTE(TB, b, 2) + BYTE(TA, a, 3) * BYTE(TB, b, 3))
#define DP2A(TA, TB, k) c + (uint32_t)(HALF(TA, a, 0) * BYTE(TB, b, k) + HALF(TA, a, 1) * BYTE(TB, b, k + 1))
PAIR3(dp4a_uu, uint32_t, uint32_t, uint32_t, uint32_t, DP4A(uint8_t, uint8_t))
PAIR3(dp4a_us, uint32_t, uint32_t, uint32_t, uint32_t, DP4A(uint8_t, int8_t))
PAIR3(dp4a_su, uint32_t, uint32_t, uint32_t, uint32_t, DP4A(int8_t, uint8_t))
PAIR3(dp4a_ss, uint32_t, uint32_t, uint32_t, uint32_t, DP4A(int8_t, int8_t))
PAIR3(dp2a_lo_uu, uint32_t, uint32_t, uint32_t, uint32_t, DP2A(uint16_t, uint8_t, 0))
PAIR3(dp2a_lo_us, uint32_t, uint32_t, uint32_t, uint32_t, DP2A(uint16_t, int8_t, 0))
PAIR3(dp2a_lo_su, uint32_t, uint32_t, uint32_t, uint32_t, DP2A(int16_t, uint8_t, 0))
PAIR3(dp2a_lo_ss, uint32_t, uint32_t, uint32_t, uint32_t, DP2A(int16_t, int8_t, 0))
PAIR3(dp2a_hi_uu, uint32_t, uint32_t, uint32_t, uint32_t, DP2A(uint16_t, uint8_t, 2))
PAIR3(dp2a_hi_us, uint32_t, uint32_t, uint32_t, uint32_t, DP2A(uint16_t, int8_t, 2))
PAIR3(dp2a_hi_su, uint32_t, uint32_t, uint32_t, uint32_t, DP2A(int16_t, uint8_t, 2))
PAIR3(dp2a_hi_ss, uint32_t, uint32_t, uint32_t, uint32_t, DP2A(int16_t, int8_t, 2))

// ---- choosing -------------------------------------------------------------------------------
#define NONE                                                                                                 \
    { 0 }
#define ROW(n16, n32, n64, m16, m32, m64)                                                                    \
    { PICK(n16), PICK(n32), PICK(n64), PICK(m16), PICK(m32), PICK(m64) }
#define SIX(op)   ROW(op##_u16, op##_u32, op##_u64, op##_s16, op##_s32, op##_s64)
#define THREE(op) ROW(op##16, op##32, op##64, op##16, op##32, op##64)

static handlers pick_packed(const orr_inst *i) { // u16x2 and s16x2
    bool sign = i->type == ORR_T_S16X2, relu = (i->mods & ORR_M_RELU) != 0;
    if (i->mods & ORR_M_SAT) return (handlers){0};
    switch (i->op) {
    case ORR_OP_ADD: return PICK(add16x2);
    case ORR_OP_SUB: return PICK(sub16x2);
    case ORR_OP_NEG: return PICK(neg16x2);
    case ORR_OP_MIN:
        if (relu) return sign ? PICK(min_relu_s16x2) : (handlers){0};
        return sign ? PICK(min_s16x2) : PICK(min_u16x2);
    case ORR_OP_MAX:
        if (relu) return sign ? PICK(max_relu_s16x2) : (handlers){0};
        return sign ? PICK(max_s16x2) : PICK(max_u16x2);
    default: return (handlers){0};
    }
}

static handlers pick_add(const orr_inst *i, int slot) {
    static const handlers add[SLOTS] = THREE(add), sub[SLOTS] = THREE(sub);
    bool is_add = i->op == ORR_OP_ADD;
    if (i->mods & (ORR_M_CC | ORR_M_X)) {
        if (slot % 3 == SLOT_U16) return (handlers){0};
        if (slot % 3 == SLOT_U32) return is_add ? BOTH(add_cc32) : BOTH(sub_cc32);
        return is_add ? BOTH(add_cc64) : BOTH(sub_cc64);
    }
    if (i->mods & ORR_M_SAT) {
        if (slot != SLOT_S32) return (handlers){0};
        return is_add ? PICK(add_sat) : PICK(sub_sat);
    }
    return is_add ? add[slot] : sub[slot];
}

static handlers pick_mul(const orr_kernel *k, const orr_inst *i, int slot, const char **why) {
    static const handlers lo[SLOTS] = THREE(mul_lo), hi[SLOTS] = SIX(mul_hi);
    if (i->mods & ORR_M_WIDE) {
        if (slot % 3 == SLOT_U64) return no_handlers(why, BAD_TYPE);
        if (!shape_fits(k, i, slot % 3 == SLOT_U16 ? "W=HH" : "D=WW")) return no_handlers(why, BAD_OPERANDS);
        if (slot == SLOT_U16) return PICK(mul_wide_u16);
        if (slot == SLOT_S16) return PICK(mul_wide_s16);
        return slot == SLOT_U32 ? PICK(mul_wide_u32) : PICK(mul_wide_s32);
    }
    if (!plain(k, i, slot, 2)) return no_handlers(why, BAD_OPERANDS);
    return i->mods & ORR_M_HI ? hi[slot] : lo[slot];
}

static handlers pick_mad(const orr_kernel *k, const orr_inst *i, int slot, const char **why) {
    static const handlers lo[SLOTS] = THREE(mad_lo), hi[SLOTS] = SIX(mad_hi);
    static const handlers lo_cc[SLOTS] = {NONE, BOTH(mad_lo_cc32), BOTH(mad_lo_cc64),
                                          NONE, BOTH(mad_lo_cc32), BOTH(mad_lo_cc64)};
    static const handlers hi_cc[SLOTS] = {NONE, BOTH(mad_hi_ccu32), BOTH(mad_hi_ccu64),
                                          NONE, BOTH(mad_hi_ccs32), BOTH(mad_hi_ccs64)};
    if (i->mods & ORR_M_WIDE) {
        if (slot % 3 == SLOT_U64) return no_handlers(why, BAD_TYPE);
        if (!shape_fits(k, i, slot % 3 == SLOT_U16 ? "W=HHW" : "D=WWD"))
            return no_handlers(why, BAD_OPERANDS);
        if (slot == SLOT_U16) return PICK(mad_wide_u16);
        if (slot == SLOT_S16) return PICK(mad_wide_s16);
        return slot == SLOT_U32 ? PICK(mad_wide_u32) : PICK(mad_wide_s32);
    }
    if (!plain(k, i, slot, 3)) return no_handlers(why, BAD_OPERANDS);
    bool high = (i->mods & ORR_M_HI) != 0;
    if (i->mods & (ORR_M_CC | ORR_M_X)) {
        if (!(high ? hi_cc : lo_cc)[slot].full) return no_handlers(why, BAD_TYPE);
        return high ? hi_cc[slot] : lo_cc[slot];
    }
    if (i->mods & ORR_M_SAT) {
        if (!high || slot != SLOT_S32) return no_handlers(why, BAD_TYPE);
        return PICK(mad_hi_sat);
    }
    return high ? hi[slot] : lo[slot];
}

static handlers pick_24(const orr_inst *i, int slot) {
    bool sign = slot == SLOT_S32, high = (i->mods & ORR_M_HI) != 0;
    if (!sign && slot != SLOT_U32) return (handlers){0};
    if (i->op == ORR_OP_MUL24) {
        if (high) return sign ? PICK(mul24_hi_s32) : PICK(mul24_hi_u32);
        return sign ? PICK(mul24_lo_s32) : PICK(mul24_lo_u32);
    }
    if (i->mods & ORR_M_SAT) return sign && high ? PICK(mad24_hi_sat) : (handlers){0};
    if (high) return sign ? PICK(mad24_hi_s32) : PICK(mad24_hi_u32);
    return sign ? PICK(mad24_lo_s32) : PICK(mad24_lo_u32);
}

static handlers pick_minmax(const orr_inst *i, int slot) {
    static const handlers min[SLOTS] = SIX(min), max[SLOTS] = SIX(max);
    bool is_min = i->op == ORR_OP_MIN, relu = (i->mods & ORR_M_RELU) != 0;
    if (relu && slot != SLOT_S32) return (handlers){0};
    if (i->nsrc == 3) {
        if (slot == SLOT_U32) return is_min ? PICK(min3_u32) : PICK(max3_u32);
        if (slot != SLOT_S32) return (handlers){0};
        if (relu) return is_min ? PICK(min3_relu) : PICK(max3_relu);
        return is_min ? PICK(min3_s32) : PICK(max3_s32);
    }
    if (relu) return is_min ? PICK(min_relu) : PICK(max_relu);
    return is_min ? min[slot] : max[slot];
}

static handlers pick_dot(const orr_inst *i) {
    static const handlers dp4a[4] = {PICK(dp4a_uu), PICK(dp4a_us), PICK(dp4a_su), PICK(dp4a_ss)};
    static const handlers lo[4] = {PICK(dp2a_lo_uu), PICK(dp2a_lo_us), PICK(dp2a_lo_su), PICK(dp2a_lo_ss)};
    static const handlers hi[4] = {PICK(dp2a_hi_uu), PICK(dp2a_hi_us), PICK(dp2a_hi_su), PICK(dp2a_hi_ss)};
    int n = (i->type == ORR_T_S32) * 2 + (i->stype == ORR_T_S32);
    if (i->op == ORR_OP_DP4A) return dp4a[n];
    return i->mods & ORR_M_HI ? hi[n] : lo[n];
}

static handlers pick_arith(const orr_kernel *k, const orr_inst *i, const char **why) {
    static const handlers sad[SLOTS] = SIX(sad), div[SLOTS] = SIX(div), rem[SLOTS] = SIX(rem);
    static const handlers abs[SLOTS] = THREE(abs), neg[SLOTS] = THREE(neg);
    if (i->type == ORR_T_U16X2 || i->type == ORR_T_S16X2) {
        handlers h = pick_packed(i);
        if (!h.full) return no_handlers(why, BAD_TYPE);
        return plain(k, i, SLOT_U32, i->op == ORR_OP_NEG ? 1 : 2) ? h : no_handlers(why, BAD_OPERANDS);
    }
    int slot = slot_of(i->type), n = 2;
    if (slot < 0) return (handlers){0}; // a float: not ours
    if (i->op == ORR_OP_MUL) return pick_mul(k, i, slot, why);
    if (i->op == ORR_OP_MAD) return pick_mad(k, i, slot, why);
    handlers h = {0};
    switch (i->op) {
    case ORR_OP_ADD:
    case ORR_OP_SUB: h = pick_add(i, slot); break;
    case ORR_OP_MUL24: h = pick_24(i, slot); break;
    case ORR_OP_MAD24: h = pick_24(i, slot), n = 3; break;
    case ORR_OP_SAD: h = sad[slot], n = 3; break;
    case ORR_OP_DIV: h = div[slot]; break;
    case ORR_OP_REM: h = rem[slot]; break;
    case ORR_OP_ABS: h = abs[slot], n = 1; break;
    case ORR_OP_NEG: h = neg[slot], n = 1; break;
    case ORR_OP_MIN:
    case ORR_OP_MAX: h = pick_minmax(i, slot), n = i->nsrc == 3 ? 3 : 2; break;
    case ORR_OP_DP4A:
    case ORR_OP_DP2A: h = slot % 3 == SLOT_U32 ? pick_dot(i) : h, n = 3; break;
    default: break;
    }
    if (!h.full) return no_handlers(why, BAD_TYPE);
    return plain(k, i, slot, n) ? h : no_handlers(why, BAD_OPERANDS);
}

handlers orr_pick_int(const orr_kernel *k, const orr_inst *i, const char **why) {
    switch (i->op) {
    case ORR_OP_ADD:
    case ORR_OP_SUB:
    case ORR_OP_MUL:
    case ORR_OP_MAD:
    case ORR_OP_MUL24:
    case ORR_OP_MAD24:
    case ORR_OP_SAD:
    case ORR_OP_DIV:
    case ORR_OP_REM:
    case ORR_OP_ABS:
    case ORR_OP_NEG:
    case ORR_OP_MIN:
    case ORR_OP_MAX:
    case ORR_OP_DP4A:
    case ORR_OP_DP2A: return pick_arith(k, i, why);
    case ORR_OP_VIDEO:
    case ORR_OP_VIDEO2:
    case ORR_OP_VIDEO4: return orr_pick_video(k, i, why);
    case ORR_OP_SETP:
    case ORR_OP_SET:
    case ORR_OP_SELP:
    case ORR_OP_SLCT:
    case ORR_OP_CVTA:
    case ORR_OP_ISSPACEP:
    case ORR_OP_POLICY: return orr_pick_compare(k, i, why);
    default: return orr_pick_logic(k, i, why);
    }
}

// What compiled blocks do instead (lanewise.h).
LANEWISE(orr_lanes_int, {add32_full, LANE_SUM, 0x20}, {sub32_full, LANE_SUM, 0x22},
         {min_u32_full, LANE_LEAST, 0}, {min_s32_full, LANE_LEAST, 1}, {max_u32_full, LANE_LEAST, 2},
         {max_s32_full, LANE_LEAST, 3})
