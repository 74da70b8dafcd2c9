// Machine code: integer arithmetic. Additions with carries, multiply-adds, LEA, comparisons, minima, dot
// products; and their uniform versions, which are the same instructions on other registers.
//
// The sums of IADD3, IMAD, LEA have one rule. A negated source counts as ~x + 1, in .X forms as ~x; carries
// that come in are added; the sum is as wide as it gets, and the flags say how often it passes 2^32: the
// first whether it is at least 2^32, the second whether it is at least 2^33. So a - b sets the flag where
// a >= b, and IADD3 R0, P0, R2, -R4, RZ; IADD3.X R1, R3, ~R5, RZ, P0, !PT subtracts 64 bits. Compiled sums of
// two and three wide numbers show it (test_ops has more than a thousand), and Mesa's NAK compiler folds
// constants so.
//
// What an instruction does is simplified before a handler is chosen: RZ and 1 and powers of two are known
// then, as are all constants, and the common cases are one loop over lanes without a multiplication or a
// carry.
#include "exec/sass/int.h"

#include "exec/lanewise.h"
typedef unsigned __int128 uint128;

// ---- sums without carries -------------------------------------------------------------------
PAIR1(copy, uint32_t, uint32_t, a)
PAIR1(minus, uint32_t, uint32_t, 0u - a)
PAIR2(add, uint32_t, uint32_t, uint32_t, a + b)
PAIR2(sub, uint32_t, uint32_t, uint32_t, a - b)
PAIR2(minus2, uint32_t, uint32_t, uint32_t, 0u - a - b)
PAIR3(add3, uint32_t, uint32_t, uint32_t, uint32_t, a + b + c)
PAIR3(add_sub, uint32_t, uint32_t, uint32_t, uint32_t, a + b - c)
PAIR3(sub_sub, uint32_t, uint32_t, uint32_t, uint32_t, a - b - c)
PAIR3(minus3, uint32_t, uint32_t, uint32_t, uint32_t, 0u - a - b - c)

typedef struct term {
    oper o;
    bool neg; // -x, in .X forms ~x
} term;

static bool plain_sum(translator *m, oper d, int n, const term *t) {
    static const handlers by[3][4] = {{PICK(copy), PICK(minus)},
                                      {PICK(add), PICK(sub), PICK(minus2)},
                                      {PICK(add3), PICK(add_sub), PICK(sub_sub), PICK(minus3)}};
    oper o[4] = {d, m_imm(m, ORR_W, 0)};
    int at = 1, negative = 0;
    for (int i = 0; i < n; i++)
        if (!t[i].neg) o[at++] = t[i].o;
    for (int i = 0; i < n; i++)
        if (t[i].neg) o[at++] = t[i].o, negative++;
    if (!n) n = 1;
    return give(m, by[n - 1][negative], 1, n, o);
}

// ---- sums with carries ----------------------------------------------------------------------
#define LOAD_AB const uint32_t *pa = SRC_A(w, u, uint32_t), *pb = SRC_B(w, u, uint32_t)

static inline uint32_t add_co_lanes(warp *w, const uop *u, uint32_t *d) {
    LOAD_AB;
    uint32_t m = 0;
    LANES {
        uint32_t a = pa[i], s = a + pb[i];
        m |= s < a ? lane_bit[i] : 0;
        d[i] = s;
    }
    return m;
}
static inline uint32_t sub_co_lanes(warp *w, const uop *u, uint32_t *d) {
    LOAD_AB;
    uint32_t m = 0;
    LANES {
        uint32_t a = pa[i], b = pb[i];
        m |= a >= b ? lane_bit[i] : 0;
        d[i] = a - b;
    }
    return m;
}
// a + b + carry, b inverted where `flip` is ~0.
static inline uint32_t carry_lanes(warp *w, const uop *u, uint32_t *d, uint32_t flip) {
    LOAD_AB;
    uint32_t m = 0, in = pred_of(w, u->c);
    LANES {
        uint32_t a = pa[i], b = pb[i] ^ flip, s = a + b + ((in & lane_bit[i]) != 0);
        m |= (0u - (((a & b) | ((a | b) & ~s)) >> 31)) & lane_bit[i];
        d[i] = s;
    }
    return m;
}
static inline uint32_t addx_co_lanes(warp *w, const uop *u, uint32_t *d) { return carry_lanes(w, u, d, 0); }
static inline uint32_t subx_co_lanes(warp *w, const uop *u, uint32_t *d) { return carry_lanes(w, u, d, ~0u); }
FLAGGED(add_co)
FLAGGED(sub_co)
FLAGGED(addx_co)
FLAGGED(subx_co)

#define CARRY_LOADS                                                                                          \
    LOAD_AB;                                                                                                 \
    const uint32_t in = pred_of(w, u->c);
PAIR_BODY(addx, uint32_t, CARRY_LOADS, pa[i] + pb[i] + ((in & lane_bit[i]) != 0))
PAIR_BODY(subx, uint32_t, CARRY_LOADS, pa[i] + ~pb[i] + ((in & lane_bit[i]) != 0))

// Any other: three rows, two carries in, two flags out. Bits 0 to 2 of imm: which rows are inverted; from bit
// 4 on: what is added for that.
static inline void sum_any(warp *w, const uop *u, uint32_t *d, uint32_t flags[2]) {
    LOAD_AB;
    const uint32_t *pc = SRC_C(w, u, uint32_t);
    uint32_t fa = 0u - (u->imm & 1), fb = 0u - (u->imm >> 1 & 1), fc = 0u - (u->imm >> 2 & 1);
    uint32_t p[ORR_WARP], q[ORR_WARP], over[ORR_WARP], k = u->imm >> 4, one = 0, two = 0;
    spread(pred_of(w, u->all[u->ndst + 3]), p);
    spread(pred_of(w, u->all[u->ndst + 4]), q);
    LANES { // each step passes 2^32 at most once
        uint32_t a = pa[i] ^ fa, ab = a + (pb[i] ^ fb), abc = ab + (pc[i] ^ fc);
        uint32_t s = abc + k + (p[i] & 1) + (q[i] & 1);
        over[i] = (uint32_t)(ab < a) + (abc < ab) + (s < abc);
        d[i] = s;
    }
    LANES {
        one |= over[i] ? lane_bit[i] : 0;
        two |= over[i] > 1 ? lane_bit[i] : 0;
    }
    flags[0] = one;
    flags[1] = two;
}
static void sum(warp *w, const uop *u) {
    uint32_t out[ORR_WARP], flags[2], *d = DST(w, u, uint32_t);
    const uint32_t *lane = active_lanes(w);
    sum_any(w, u, out, flags);
    LANES { d[i] = BLEND(uint32_t, d[i], out[i], lane[i]); }
    set_pred(w, u->all[1], flags[0]);
    set_pred(w, u->all[2], flags[1]);
}

typedef struct addition { // all but its terms
    oper d;               // where the sum goes; of 64 bits: two rows, and this is not used
    oper p, q;            // flags
    bool x;               // the carries count, and negation is inversion
    oper in[2];           // carries
} addition;

// The common ones: one flag, two rows, in .X forms one carry. False: nothing was emitted.
static bool short_sum(translator *m, const addition *s, int n, const term *t) {
    oper d = s->d, p = s->p, none = m_imm(m, ORR_W, 0), a = n ? t[0].o : none, b = n > 1 ? t[1].o : none;
    bool na = n && t[0].neg, nb = n > 1 && t[1].neg;
    if (na && nb) return false;
    if (na) {
        oper swap = a;
        a = b;
        b = swap;
        nb = true;
    }
    if (!s->x) return give(m, nb ? PICK(sub_co) : PICK(add_co), 2, 2, OPERS(d, p, a, b));
    if (p.none) return give(m, nb ? PICK(subx) : PICK(addx), 1, 3, OPERS(d, a, b, s->in[0]));
    return give(m, nb ? PICK(subx_co) : PICK(addx_co), 2, 3, OPERS(d, p, a, b, s->in[0]));
}

static bool add_up(translator *m, addition s, int n, const term *terms) {
    bool flags = !s.p.none || !s.q.none, x = s.x;
    term t[3];
    int left = 0;
    for (int i = 0; i < n; i++) {
        uint32_t v;
        t[left] = terms[i];
        if (fixed(m, t[left].o, &v)) {
            if (t[left].neg && (x || !flags)) { // else -0 carries and a constant would not
                v = x ? ~v : 0u - v;
                t[left] = (term){m_imm(m, ORR_W, v), false};
            }
            if (!v && !t[left].neg) continue;
        }
        left++;
    }
    if (!x && !flags) return plain_sum(m, s.d, left, t);
    if (x && always(m, s.in[0], false)) s.in[0] = s.in[1], s.in[1] = m_imm(m, ORR_P, 0);
    if (x && !flags && always(m, s.in[0], false) && left && !t[0].neg && (left < 2 || !t[1].neg) &&
        (left < 3 || !t[2].neg))
        return plain_sum(m, s.d, left, t);
    if (left <= 2 && s.q.none && (!x || always(m, s.in[1], false)) && short_sum(m, &s, left, t)) return true;
    oper none = m_imm(m, ORR_W, 0), off = m_imm(m, ORR_P, 0);
    oper o[8] = {s.d, s.p, s.q, none, none, none, off, off};
    uint32_t imm = 0;
    for (int i = 0; i < left; i++) {
        o[3 + i] = t[i].o;
        if (t[i].neg) imm = (imm | 1u << i) + (x ? 0 : 16);
    }
    if (x) o[6] = s.in[0], o[7] = s.in[1];
    return give_imm(m, BOTH(sum), imm, 3, 5, o);
}

static bool negated(const translator *m, int n) {
    return n < m->c->nargs && (m->c->args[n].flags & (ORR_ARG_NEG | ORR_ARG_INV));
}
static term term_of(translator *m, int n) { return (term){m_src(m, n, 0), negated(m, n)}; }

// 64 bits, from sm_90 on in uniform registers only: the same with wider words.
static void sum64(warp *w, const uop *u) {
    uint32_t *lo = DST_N(w, u, 0, uint32_t), *hi = DST_N(w, u, 1, uint32_t), one = 0, two = 0;
    uint32_t p = pred_of(w, u->all[10]), q = pred_of(w, u->all[11]);
    const uint32_t *lane = active_lanes(w);
    for (int i = 0; i < ORR_WARP; i++) {
        uint128 s = (u->imm >> 4) + (p >> i & 1) + (q >> i & 1);
        for (int n = 0; n < 3; n++) {
            uint64_t v =
                (uint64_t)SRC_N(w, u, 2 * n + 1, uint32_t)[i] << 32 | SRC_N(w, u, 2 * n, uint32_t)[i];
            s += u->imm >> n & 1 ? ~v : v;
        }
        one |= s >> 64 ? lane_bit[i] : 0;
        two |= s >> 64 > 1 ? lane_bit[i] : 0;
        lo[i] = BLEND(uint32_t, lo[i], (uint32_t)s, lane[i]);
        hi[i] = BLEND(uint32_t, hi[i], (uint32_t)(uint64_t)(s >> 32), lane[i]);
    }
    set_pred(w, u->all[2], one);
    set_pred(w, u->all[3], two);
}
static bool add_up64(translator *m, addition s, int first, int n) {
    oper none = m_imm(m, ORR_W, 0), off = m_imm(m, ORR_P, 0);
    oper o[12] = {m_dst(m, 0, 0), m_dst(m, 0, 1), s.p, s.q, none, none, none, none, none, none, off, off};
    uint32_t imm = 0;
    for (int i = 0; i < n; i++) {
        o[4 + 2 * i] = m_src(m, first + i, 0);
        o[5 + 2 * i] = m_src(m, first + i, 1);
        if (negated(m, first + i)) imm = (imm | 1u << i) + (s.x ? 0 : 16);
    }
    if (s.x) o[10] = s.in[0], o[11] = s.in[1];
    return give_imm(m, BOTH(sum64), imm, 4, 8, o);
}

// IADD3 {d, p, q, a, b, c, carry, carry}
static bool iadd3(translator *m) {
    bool x = m_mod(m, ORR_SM_X);
    addition s = {.p = m_pdst(m, 1), .q = m_pdst(m, 2), .x = x, .in = {m_psrc(m, 6), m_psrc(m, 7)}};
    if (m_mod(m, ORR_SM_D64)) return add_up64(m, s, 3, 3);
    term t[3] = {term_of(m, 3), term_of(m, 4), term_of(m, 5)};
    s.d = m_dst(m, 0, 0);
    return add_up(m, s, 3, t);
}

// IADD {d, p, a, b, carry}
static bool iadd(translator *m) {
    bool x = m_mod(m, ORR_SM_X);
    oper none = m_pdst(m, m->c->nargs), off = m_imm(m, ORR_P, 0);
    addition s = {.p = m_pdst(m, 1), .q = none, .x = x, .in = {m_psrc(m, 4), off}};
    if (m_mod(m, ORR_SM_D64)) return add_up64(m, s, 2, 2);
    term t[2] = {term_of(m, 2), term_of(m, 3)};
    s.d = m_dst(m, 0, 0);
    return add_up(m, s, 2, t);
}

// VIADD {d, a, b}
// Four bytes: the lower seven bits of each add up without a carry leaving it, and the eighth is put right.
PAIR2(add_bytes, uint32_t, uint32_t, uint32_t, ((a & 0x7f7f7f7f) + (b & 0x7f7f7f7f)) ^ ((a ^ b) & 0x80808080))
PAIR2(sub_bytes, uint32_t, uint32_t, uint32_t,
      ((a | 0x80808080) - (b & 0x7f7f7f7f)) ^ ((a ^ ~b) & 0x80808080))

static bool viadd(translator *m) {
    bool bytes = m_mod(m, ORR_SM_VTYPE8) == ORR_SV_VTYPE8_U8x4;
    if (bytes || m_mod(m, ORR_SM_S32_ISAT)) {
        oper d = m_dst(m, 0, 0), a = m_src(m, 1, 0), b = m_src(m, 2, 0);
        if (bytes) {
            m_emit(m, negated(m, 2) ? PICK(sub_bytes) : PICK(add_bytes), 1, 2, OPERS(d, a, b));
            return true;
        }
        orr_inst like = {.op = negated(m, 2) ? ORR_OP_SUB : ORR_OP_ADD, .type = ORR_T_S32, .mods = ORR_M_SAT};
        return m_ptx(m, like, 1, 2, OPERS(d, a, b));
    }
    if (m_mod(m, ORR_SM_V16x2)) {
        if (negated(m, 1)) return cannot(m, "its first source is negated");
        return m_ptx(m, (orr_inst){.op = negated(m, 2) ? ORR_OP_SUB : ORR_OP_ADD, .type = ORR_T_U16X2}, 1, 2,
                     OPERS(m_dst(m, 0, 0), m_src(m, 1, 0), m_src(m, 2, 0)));
    }
    oper none = m_pdst(m, m->c->nargs), off = m_imm(m, ORR_P, 0);
    term t[2] = {term_of(m, 1), term_of(m, 2)};
    return add_up(m, (addition){.d = m_dst(m, 0, 0), .p = none, .q = none, .in = {off, off}}, 2, t);
}

// ---- multiply-add ---------------------------------------------------------------------------
PAIR2(mul, uint32_t, uint32_t, uint32_t, a *b)
PAIR3(mad, uint32_t, uint32_t, uint32_t, uint32_t, a *b + c)
PAIR3(mad_minus, uint32_t, uint32_t, uint32_t, uint32_t, a *b - c)
#define SHIFT_LOADS                                                                                          \
    LOAD_AB;                                                                                                 \
    const uint32_t k = u->imm;
PAIR_BODY(shl_add, uint32_t, SHIFT_LOADS, (pa[i] << k) + pb[i])
PAIR_BODY(shl_minus, uint32_t, SHIFT_LOADS, (pa[i] << k) - pb[i])
PAIR_BODY(minus_shl, uint32_t, SHIFT_LOADS, pb[i] - (pa[i] << k))
#define SHIFT1_LOADS                                                                                         \
    const uint32_t *pa = SRC_A(w, u, uint32_t);                                                              \
    const uint32_t k = u->imm;
PAIR_BODY(shl_imm, uint32_t, SHIFT1_LOADS, pa[i] << k)

static inline uint32_t high_u(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }
static inline uint32_t high_s(int32_t a, int32_t b) { return (uint32_t)((uint64_t)((int64_t)a * b) >> 32); }
PAIR2(mulhi_u, uint32_t, uint32_t, uint32_t, high_u(a, b))
PAIR2(mulhi_s, uint32_t, int32_t, int32_t, high_s(a, b))

// IMAD {d, p, a, b, c, carry}: the low word of a * b, and c. This form sets no flag.
static bool imad_low(translator *m) {
    bool x = m_mod(m, ORR_SM_X), neg = negated(m, 4);
    oper d = m_dst(m, 0, 0), none = m_pdst(m, m->c->nargs);
    oper a = m_src(m, 2, 0), b = m_src(m, 3, 0), c = m_src(m, 4, 0);
    uint32_t k;
    if (zero(m, a) || zero(m, b)) a = m_imm(m, ORR_W, 0), b = m_imm(m, ORR_W, 1);
    if (!x && !fixed_is(m, b, 1)) {
        bool shift = fixed(m, b, &k) && !(k & (k - 1));
        if (shift && zero(m, c))
            return give_imm(m, PICK(shl_imm), (uint32_t)__builtin_ctz(k), 1, 1, OPERS(d, a));
        if (shift)
            return give_imm(m, neg ? PICK(shl_minus) : PICK(shl_add), (uint32_t)__builtin_ctz(k), 1, 2,
                            OPERS(d, a, c));
        if (zero(m, c)) return give(m, PICK(mul), 1, 2, OPERS(d, a, b));
        return give(m, neg ? PICK(mad_minus) : PICK(mad), 1, 3, OPERS(d, a, b, c));
    }
    if (!fixed_is(m, b, 1)) {
        oper t = m_tmp(m, ORR_W);
        m_emit(m, PICK(mul), 1, 2, OPERS(t, a, b));
        a = t;
    }
    term t[2] = {{a, false}, {c, neg}};
    addition s = {.d = d, .p = none, .q = none, .x = x, .in = {m_psrc(m, 5), m_imm(m, ORR_P, 0)}};
    return add_up(m, s, 2, t);
}

// Two rows of results: `lo` and `hi` of a lane are made by BODY.
#define WIDE(name, LOADS, BODY)                                                                              \
    static void name##_full(warp *w, const uop *u) {                                                         \
        uint32_t *dl = DST_N(w, u, 0, uint32_t), *dh = DST_N(w, u, 1, uint32_t);                             \
        LOADS                                                                                                \
        LANES {                                                                                              \
            uint32_t lo, hi;                                                                                 \
            BODY dl[i] = lo;                                                                                 \
            dh[i] = hi;                                                                                      \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_masked(warp *w, const uop *u) {                                                       \
        uint32_t *dl = DST_N(w, u, 0, uint32_t), *dh = DST_N(w, u, 1, uint32_t);                             \
        const uint32_t *lane = w->lane;                                                                      \
        LOADS                                                                                                \
        LANES {                                                                                              \
            uint32_t lo, hi;                                                                                 \
            BODY dl[i] = BLEND(uint32_t, dl[i], lo, lane[i]);                                                \
            dh[i] = BLEND(uint32_t, dh[i], hi, lane[i]);                                                     \
        }                                                                                                    \
    }
#define WIDE_LOADS                                                                                           \
    LOAD_AB;                                                                                                 \
    const uint32_t *pc = SRC_C(w, u, uint32_t), *ph = SRC_N(w, u, 3, uint32_t);
#define WIDE_ADD                                                                                             \
    uint32_t cl = pc[i], ch = ph[i], s = lo + cl;                                                            \
    hi += ch + (s < cl);                                                                                     \
    lo = s;
WIDE(mul_wide_u, LOAD_AB;, uint32_t a = pa[i]; uint32_t b = pb[i]; lo = a * b; hi = high_u(a, b);)
WIDE(mul_wide_s, LOAD_AB;, uint32_t a = pa[i]; uint32_t b = pb[i]; lo = a * b;
     hi = high_s((int32_t)a, (int32_t)b);)
WIDE(mad_wide_u, WIDE_LOADS, uint32_t a = pa[i]; uint32_t b = pb[i]; lo = a * b; hi = high_u(a, b); WIDE_ADD)
WIDE(mad_wide_s, WIDE_LOADS, uint32_t a = pa[i]; uint32_t b = pb[i]; lo = a * b;
     hi = high_s((int32_t)a, (int32_t)b); WIDE_ADD)
// By 2^k, k at least 1: what addresses of elements are made with. `up` is 32 - k.
#define WIDE_SHIFT_LOADS                                                                                     \
    const uint32_t *pa = SRC_A(w, u, uint32_t), *pc = SRC_B(w, u, uint32_t), *ph = SRC_C(w, u, uint32_t);    \
    const uint32_t k = u->imm, up = 32 - k;
WIDE(shl_wide_u, WIDE_SHIFT_LOADS, uint32_t a = pa[i]; lo = a << k; hi = a >> up; WIDE_ADD)
WIDE(shl_wide_s, WIDE_SHIFT_LOADS, uint32_t a = pa[i]; lo = a << k; hi = (uint32_t)((int32_t)a >> up);
     WIDE_ADD)
WIDE(add_wide_s, WIDE_SHIFT_LOADS; (void)k; (void)up;, uint32_t a = pa[i]; lo = a;
     hi = (uint32_t)((int32_t)a >> 31); WIDE_ADD)
WIDE(copy2, LOAD_AB;, lo = pa[i]; hi = pb[i];)

// With carries. imm: bit 0 signed, bit 1 c inverted, bit 4 one more.
static void mad_wide_any(warp *w, const uop *u) {
    uint32_t *dl = DST_N(w, u, 0, uint32_t), *dh = DST_N(w, u, 1, uint32_t), m = 0;
    LOAD_AB;
    const uint32_t *pc = SRC_C(w, u, uint32_t), *ph = SRC_N(w, u, 3, uint32_t), *lane = active_lanes(w);
    const uint64_t flip = u->imm & 2 ? UINT64_MAX : 0;
    const uint32_t in = pred_of(w, u->all[u->ndst + 4]);
    for (int i = 0; i < ORR_WARP; i++) {
        uint64_t c = ((uint64_t)ph[i] << 32 | pc[i]) ^ flip;
        uint64_t ab =
            u->imm & 1 ? (uint64_t)((int64_t)(int32_t)pa[i] * (int32_t)pb[i]) : (uint64_t)pa[i] * pb[i];
        uint128 s = (uint128)ab + c + (u->imm >> 4) + (in >> i & 1);
        m |= s >> 64 ? lane_bit[i] : 0;
        dl[i] = BLEND(uint32_t, dl[i], (uint32_t)s, lane[i]);
        dh[i] = BLEND(uint32_t, dh[i], (uint32_t)(uint64_t)(s >> 32), lane[i]);
    }
    set_pred(w, u->all[2], m);
}

// IMAD.WIDE: 64 bits of a * b, and c, a pair. IMAD.HI is the upper word of the same, with a pair for c too.
static bool imad_wide(translator *m, bool high) {
    bool sign = m_mod(m, ORR_SM_SIGN) == ORR_SV_SIGN_S32, x = m_mod(m, ORR_SM_X), neg = negated(m, 4);
    oper lo = high ? m_tmp(m, ORR_W) : m_dst(m, 0, 0), hi = m_dst(m, 0, high ? 0 : 1), p = m_pdst(m, 1);
    oper a = m_src(m, 2, 0), b = m_src(m, 3, 0), cl = m_src(m, 4, 0), ch = m_src(m, 4, 1);
    if (m_is(m, 4, ORR_ARG_INT)) ch = m_imm(m, ORR_W, m->c->args[4].value < 0 ? ~0u : 0);
    if (x || !p.none || neg) {
        uint32_t imm = sign | (uint32_t)neg << 1 | (neg && !x ? 16u : 0);
        return give_imm(m, BOTH(mad_wide_any), imm, 3, 5,
                        OPERS(lo, hi, p, a, b, cl, ch, x ? m_psrc(m, 5) : m_imm(m, ORR_P, 0)));
    }
    uint32_t k;
    if (zero(m, a) || zero(m, b)) return give(m, PICK(copy2), 2, 2, OPERS(lo, hi, cl, ch));
    if (fixed(m, b, &k) && !(k & (k - 1)) && (!sign || (int32_t)k > 0) && (k > 1 || sign)) {
        handlers h = k == 1 ? PICK(add_wide_s) : sign ? PICK(shl_wide_s) : PICK(shl_wide_u);
        return give_imm(m, h, (uint32_t)__builtin_ctz(k), 2, 3, OPERS(lo, hi, a, cl, ch));
    }
    if (high && zero(m, cl) && zero(m, ch))
        return give(m, sign ? PICK(mulhi_s) : PICK(mulhi_u), 1, 2, OPERS(hi, a, b));
    if (zero(m, cl) && zero(m, ch))
        return give(m, sign ? PICK(mul_wide_s) : PICK(mul_wide_u), 2, 2, OPERS(lo, hi, a, b));
    return give(m, sign ? PICK(mad_wide_s) : PICK(mad_wide_u), 2, 4, OPERS(lo, hi, a, b, cl, ch));
}

// ---- LEA ------------------------------------------------------------------------------------
// {d, p, a, b, c, shift, carry}: (a << shift) + b, or the high word of (c:a << shift), .SX32 with a's sign
// for c, and b. A sign on a is that of the shifted value, as subtractions of shifted numbers show.
#define FUNNEL_LOADS                                                                                         \
    LOAD_AB;                                                                                                 \
    const uint32_t *pc = SRC_C(w, u, uint32_t), k = u->imm & 31, up = u->imm >> 8;
PAIR_BODY(lea_hi, uint32_t, FUNNEL_LOADS, (pc[i] << k | pa[i] >> up) + pb[i])
PAIR_BODY(sar_add, uint32_t, SHIFT_LOADS, (uint32_t)((int32_t)pa[i] >> k) + pb[i])
PAIR_BODY(shr_add, uint32_t, SHIFT_LOADS, (pa[i] >> k) + pb[i])
PAIR_BODY(sar_imm, uint32_t, SHIFT1_LOADS, (int32_t)pa[i] >> k)

static bool lea(translator *m) {
    bool x = m_mod(m, ORR_SM_X), high = m_mod(m, ORR_SM_HI), sx = m_mod(m, ORR_SM_SX32);
    oper d = m_dst(m, 0, 0), p = m_pdst(m, 1), a = m_src(m, 2, 0), b = m_src(m, 3, 0), c = m_src(m, 4, 0);
    bool na = negated(m, 2), nb = negated(m, 3), plain = !x && p.none;
    oper none = m_imm(m, ORR_W, 0), off = m_imm(m, ORR_P, 0);
    if (!m_is(m, 5, ORR_ARG_INT)) return cannot(m, "its shift is not a number");
    uint32_t k = (uint32_t)m->c->args[5].value & 31;
    if (plain && !high && !na)
        return give_imm(m, nb ? PICK(shl_minus) : PICK(shl_add), k, 1, 2, OPERS(d, a, b));
    if (plain && !high && !nb) return give_imm(m, PICK(minus_shl), k, 1, 2, OPERS(d, a, b));
    if (plain && high && !na && !nb && k) {
        if (sx) return give_imm(m, PICK(sar_add), 32 - k, 1, 2, OPERS(d, a, b));
        if (zero(m, c)) return give_imm(m, PICK(shr_add), 32 - k, 1, 2, OPERS(d, a, b));
        return give_imm(m, PICK(lea_hi), k | (32 - k) << 8, 1, 3, OPERS(d, a, b, c));
    }
    oper t = m_tmp(m, ORR_W); // the shifted value
    if (!high)
        give_imm(m, PICK(shl_imm), k, 1, 1, OPERS(t, a));
    else if (sx)
        give_imm(m, PICK(sar_imm), k ? 32 - k : 31, 1, 1, OPERS(t, a));
    else if (!k)
        t = c;
    else
        give_imm(m, PICK(lea_hi), k | (32 - k) << 8, 1, 3, OPERS(t, a, none, c));
    term terms[2] = {{t, na}, {b, nb}};
    addition s = {.d = d, .p = p, .q = m_pdst(m, m->c->nargs), .x = x, .in = {m_psrc(m, 6), off}};
    return add_up(m, s, 2, terms);
}

// ---- comparison -----------------------------------------------------------------------------
// ISETP {p, q, a, b, with, low}: p = (a cmp b) op with, q = !(a cmp b) op with. In .EX forms `low` is what
// the comparison of the lower words came to, and it counts where the words are the same.
static inline void put_flags(warp *w, const uop *u, uint32_t m) {
    if (u->ndst == 1) {
        set_pred(w, u->d, m);
        return;
    }
    uint32_t c = pred_of(w, u->c);
    set_pred(w, u->d, bool_combine(m, (uint8_t)u->imm, c));
    set_pred(w, u->all[1], bool_combine(~m, (uint8_t)u->imm, c));
}
#define COMPARE(name, T, op)                                                                                 \
    COMPARED(name, T, op)                                                                                    \
    static void set_##name(warp *w, const uop *u) { put_flags(w, u, name(w, u)); }                           \
    static void ex_##name(warp *w, const uop *u) {                                                           \
        uint32_t same = eq(w, u);                                                                            \
        put_flags(w, u, (name(w, u) & ~same) | (pred_of(w, u->all[u->ndst + 3]) & same));                    \
    }
static inline uint32_t eq(const warp *w, const uop *u) {
    LOAD_AB;
    uint32_t m = 0;
    LANES { m |= pa[i] == pb[i] ? lane_bit[i] : 0; }
    return m;
}
static inline uint32_t never(const warp *w, const uop *u) {
    (void)w;
    (void)u;
    return 0;
}
COMPARE(equal, uint32_t, ==)
COMPARE(unequal, uint32_t, !=)
COMPARE(lt_u, uint32_t, <)
COMPARE(le_u, uint32_t, <=)
COMPARE(gt_u, uint32_t, >)
COMPARE(ge_u, uint32_t, >=)
COMPARE(lt_s, int32_t, <)
COMPARE(le_s, int32_t, <=)
COMPARE(gt_s, int32_t, >)
COMPARE(ge_s, int32_t, >=)
static void set_never(warp *w, const uop *u) { put_flags(w, u, never(w, u)); }
static void set_always(warp *w, const uop *u) { put_flags(w, u, ~never(w, u)); }

static uint8_t bool_of(unsigned v) {
    return v == ORR_SV_BOOL_AND ? ORR_BOOL_AND : v == ORR_SV_BOOL_OR ? ORR_BOOL_OR : ORR_BOOL_XOR;
}

static bool isetp64(translator *m, bool sign) {
    static const uint8_t cmp[8] = {
        [ORR_SV_ICMP_LT] = ORR_CMP_LT, [ORR_SV_ICMP_EQ] = ORR_CMP_EQ, [ORR_SV_ICMP_LE] = ORR_CMP_LE,
        [ORR_SV_ICMP_GT] = ORR_CMP_GT, [ORR_SV_ICMP_NE] = ORR_CMP_NE, [ORR_SV_ICMP_GE] = ORR_CMP_GE};
    unsigned c = m_mod(m, ORR_SM_ICMP);
    if (m_mod(m, ORR_SM_EX) || c == ORR_SV_ICMP_F || c == ORR_SV_ICMP_T)
        return cannot(m, "no such comparison of 64 bits is known");
    return m_ptx(
        m,
        (orr_inst){.op = ORR_OP_SETP,
                   .type = sign ? ORR_T_S64 : ORR_T_U64,
                   .cmp = cmp[c],
                   .boolop = bool_of(m_mod(m, ORR_SM_BOOL))},
        2, 3,
        OPERS(m_pdst(m, 0), m_pdst(m, 1), m_wide(m, 2, AS_INT64), m_wide(m, 3, AS_INT64), m_psrc(m, 4)));
}

static bool isetp(translator *m) {
    static const handlers set[2][8] = {{BOTH(set_never), BOTH(set_lt_u), BOTH(set_equal), BOTH(set_le_u),
                                        BOTH(set_gt_u), BOTH(set_unequal), BOTH(set_ge_u), BOTH(set_always)},
                                       {BOTH(set_never), BOTH(set_lt_s), BOTH(set_equal), BOTH(set_le_s),
                                        BOTH(set_gt_s), BOTH(set_unequal), BOTH(set_ge_s), BOTH(set_always)}};
    static const handlers ex[2][8] = {{BOTH(set_never), BOTH(ex_lt_u), BOTH(ex_equal), BOTH(ex_le_u),
                                       BOTH(ex_gt_u), BOTH(ex_unequal), BOTH(ex_ge_u), BOTH(set_always)},
                                      {BOTH(set_never), BOTH(ex_lt_s), BOTH(ex_equal), BOTH(ex_le_s),
                                       BOTH(ex_gt_s), BOTH(ex_unequal), BOTH(ex_ge_s), BOTH(set_always)}};
    bool sign = m_mod(m, ORR_SM_SIGN) == ORR_SV_SIGN_S32;
    if (m->c->sm >= 120) {
        unsigned type = m_mod(m, ORR_SM_CTYPE);
        sign = type == ORR_SV_CTYPE_S32;
        if (type >= ORR_SV_CTYPE_U64) return isetp64(m, type == ORR_SV_CTYPE_S64);
    }
    unsigned cmp = m_mod(m, ORR_SM_ICMP) & 7, op = m_mod(m, ORR_SM_BOOL);
    oper p = m_pdst(m, 0), q = m_pdst(m, 1), a = m_src(m, 2, 0), b = m_src(m, 3, 0), with = m_psrc(m, 4);
    if (m_mod(m, ORR_SM_EX))
        return give_imm(m, ex[sign][cmp], bool_of(op), 2, 4, OPERS(p, q, a, b, with, m_psrc(m, 5)));
    if (q.none && always(m, with, op == ORR_SV_BOOL_AND))
        return give(m, set[sign][cmp], 1, 2, OPERS(p, a, b));
    return give_imm(m, set[sign][cmp], bool_of(op), 2, 3, OPERS(p, q, a, b, with));
}

// ---- minimum, maximum -----------------------------------------------------------------------
// The minimum where p holds, else the maximum.
static bool least(translator *m, oper d, oper a, oper b, uint8_t type, oper p) {
    uint32_t mods = m_mod(m, ORR_SM_RELU) ? ORR_M_RELU : 0;
    orr_inst min = {.op = ORR_OP_MIN, .type = type, .mods = mods};
    orr_inst max = {.op = ORR_OP_MAX, .type = type, .mods = mods};
    if (always(m, p, true)) return m_ptx(m, min, 1, 2, OPERS(d, a, b));
    if (always(m, p, false)) return m_ptx(m, max, 1, 2, OPERS(d, a, b));
    oper lo = m_tmp(m, ORR_W), hi = m_tmp(m, ORR_W);
    return m_ptx(m, min, 1, 2, OPERS(lo, a, b)) && m_ptx(m, max, 1, 2, OPERS(hi, a, b)) &&
           m_ptx(m, (orr_inst){.op = ORR_OP_SELP, .type = ORR_T_B32}, 1, 3, OPERS(d, lo, hi, p));
}

static bool type_of(translator *m, uint8_t *type) {
    static const uint8_t types[4] = {[ORR_SV_VTYPE_U32] = ORR_T_U32,
                                     [ORR_SV_VTYPE_S32] = ORR_T_S32,
                                     [ORR_SV_VTYPE_U16x2] = ORR_T_U16X2,
                                     [ORR_SV_VTYPE_S16x2] = ORR_T_S16X2};
    unsigned v = m->c->sm >= 120 && m->c->op != ORR_SASS_VIMNMX3 && m->c->op != ORR_SASS_VIADDMNMX
                     ? m_mod(m, ORR_SM_VTYPE8)
                     : m_mod(m, ORR_SM_VTYPE);
    if (v > ORR_SV_VTYPE_S16x2) return cannot(m, "its type is not executed");
    *type = types[v];
    return true;
}

// VIMNMX's flags: was the first source taken, being no greater (no less) than the other? Of halves the first
// flag is the lower one's. Sources: the result, a, b, p; imm: the type.
static inline bool taken(uint32_t a, uint32_t b, bool sign, int bits, bool min) {
    int64_t x = sign ? (int64_t)((uint64_t)a << (64 - bits)) >> (64 - bits) : (int64_t)a;
    int64_t y = sign ? (int64_t)((uint64_t)b << (64 - bits)) >> (64 - bits) : (int64_t)b;
    return min ? x <= y : x >= y;
}
static void least_flags(warp *w, const uop *u) {
    const uint32_t *pr = SRC_A(w, u, uint32_t), *pa = SRC_B(w, u, uint32_t), *pb = SRC_C(w, u, uint32_t);
    uint32_t *d = DST(w, u, uint32_t), min = pred_of(w, u->all[u->ndst + 3]), first = 0, second = 0;
    const uint32_t *lane = active_lanes(w);
    bool sign = u->imm == ORR_T_S32 || u->imm == ORR_T_S16X2;
    bool halves = u->imm == ORR_T_U16X2 || u->imm == ORR_T_S16X2;
    for (int i = 0; i < ORR_WARP; i++) {
        uint32_t a = pa[i], b = pb[i];
        bool least = min >> i & 1;
        if (halves) {
            first |= taken(a & 0xffff, b & 0xffff, sign, 16, least) ? lane_bit[i] : 0;
            second |= taken(a >> 16, b >> 16, sign, 16, least) ? lane_bit[i] : 0;
        } else {
            first |= taken(a, b, sign, 32, least) ? lane_bit[i] : 0;
        }
        d[i] = BLEND(uint32_t, d[i], pr[i], lane[i]);
    }
    set_pred(w, u->all[1], first);
    set_pred(w, u->all[2], halves ? second : first);
}

// Of four bytes, from sm_120 on.
#define EACH_BYTE(f) (f(a, b, 0) | f(a, b, 8) << 8 | f(a, b, 16) << 16 | f(a, b, 24) << 24)
static inline uint32_t byte_min(uint32_t a, uint32_t b, int at) {
    uint32_t x = a >> at & 0xff, y = b >> at & 0xff;
    return x < y ? x : y;
}
static inline uint32_t byte_max(uint32_t a, uint32_t b, int at) {
    uint32_t x = a >> at & 0xff, y = b >> at & 0xff;
    return x > y ? x : y;
}
#define SIGNS 0x80808080u // inverted, signed bytes are in the order of unsigned ones
PAIR2(min_u8x4, uint32_t, uint32_t, uint32_t, EACH_BYTE(byte_min))
PAIR2(max_u8x4, uint32_t, uint32_t, uint32_t, EACH_BYTE(byte_max))
PAIR2(min_s8x4, uint32_t, uint32_t, uint32_t, min_u8x4_lane(a ^ SIGNS, b ^ SIGNS) ^ SIGNS)
PAIR2(max_s8x4, uint32_t, uint32_t, uint32_t, max_u8x4_lane(a ^ SIGNS, b ^ SIGNS) ^ SIGNS)

static bool vimnmx(translator *m) { // {d, p, q, a, b, which}
    static const handlers bytes[2][2] = {{PICK(max_u8x4), PICK(min_u8x4)}, {PICK(max_s8x4), PICK(min_s8x4)}};
    uint8_t type;
    oper d = m_dst(m, 0, 0), p = m_pdst(m, 1), q = m_pdst(m, 2), a = m_src(m, 3, 0), b = m_src(m, 4, 0);
    unsigned v = m->c->sm >= 120 ? m_mod(m, ORR_SM_VTYPE8) : 0;
    if (v == ORR_SV_VTYPE8_U8x4 || v == ORR_SV_VTYPE8_S8x4) {
        if (m_psrc(m, 5).bank != BANK_CONST || m_mod(m, ORR_SM_RELU))
            return cannot(m, "its form is not executed");
        return give(m, bytes[v == ORR_SV_VTYPE8_S8x4][always(m, m_psrc(m, 5), true)], 1, 2, OPERS(d, a, b));
    }
    if (!type_of(m, &type)) return false;
    if (p.none && q.none) return least(m, d, a, b, type, m_psrc(m, 5));
    oper t = m_tmp(m, ORR_W);
    return least(m, t, a, b, type, m_psrc(m, 5)) &&
           give_imm(m, BOTH(least_flags), type, 3, 4, OPERS(d, p, q, t, a, b, m_psrc(m, 5)));
}

// IMNMX {d, a, b, which}; from sm_120 on {p, q, d, a, b, which, more}, and of 64 bits too.
static bool imnmx(translator *m) {
    bool late = m->c->sm >= 120;
    unsigned type = late ? m_mod(m, ORR_SM_CTYPE) : m_mod(m, ORR_SM_SIGN);
    bool sign = type == ORR_SV_CTYPE_S32 || type == ORR_SV_CTYPE_S64;
    int at = late ? 2 : 0;
    oper which = m_psrc(m, at + 3);
    if (late && !(m_pdst(m, 0).none && m_pdst(m, 1).none && always(m, m_psrc(m, 6), false)))
        return cannot(m, "what its predicates say is not known");
    if (type < ORR_SV_CTYPE_U64)
        return least(m, m_dst(m, at, 0), m_src(m, at + 1, 0), m_src(m, at + 2, 0),
                     sign ? ORR_T_S32 : ORR_T_U32, which);
    if (which.bank != BANK_CONST) return cannot(m, "which of minimum and maximum is not fixed");
    oper t = m_tmp(m, ORR_D);
    if (!m_ptx(m,
               (orr_inst){.op = always(m, which, true) ? ORR_OP_MIN : ORR_OP_MAX,
                          .type = sign ? ORR_T_S64 : ORR_T_U64},
               1, 2, OPERS(t, m_wide(m, at + 1, AS_INT64), m_wide(m, at + 2, AS_INT64))))
        return false;
    m_unpack(m, m_dst(m, at, 0), m_dst(m, at, 1), t);
    return true;
}

// VIMNMX3 {d, a, b, c, which}, VIADDMNMX {d, a, b, c, which}: of a, b and c; of a + b and c. What .RELU does
// to the first step it does to the result.
static bool three(translator *m) {
    uint8_t type;
    if (!type_of(m, &type)) return false;
    oper a = m_src(m, 1, 0), b = m_src(m, 2, 0), c = m_src(m, 3, 0), t = m_tmp(m, ORR_W);
    bool packed = type == ORR_T_U16X2 || type == ORR_T_S16X2, neg = negated(m, 2);
    if (m->c->op == ORR_SASS_VIMNMX3) {
        orr_inst step = {.op = always(m, m_psrc(m, 4), true) ? ORR_OP_MIN : ORR_OP_MAX, .type = type};
        if (m_psrc(m, 4).bank != BANK_CONST) return cannot(m, "which of minimum and maximum is not fixed");
        if (!m_ptx(m, step, 1, 2, OPERS(t, a, b))) return false;
    } else if (!m_ptx(
                   m,
                   (orr_inst){.op = neg ? ORR_OP_SUB : ORR_OP_ADD, .type = packed ? ORR_T_U16X2 : ORR_T_U32},
                   1, 2, OPERS(t, a, b))) {
        return false;
    }
    return least(m, m_dst(m, 0, 0), t, c, type, m_psrc(m, 4));
}

// ---- differences, dot products --------------------------------------------------------------
static bool vabsdiff(translator *m) { // {d, p, a, b, c}: |a - b| + c
    if (!m_pdst(m, 1).none) return cannot(m, "what its flag says is not known");
    uint8_t type = m_mod(m, ORR_SM_SIGN) == ORR_SV_SIGN_S32 ? ORR_T_S32 : ORR_T_U32;
    return m_ptx(m, (orr_inst){.op = ORR_OP_SAD, .type = type}, 1, 3,
                 OPERS(m_dst(m, 0, 0), m_src(m, 2, 0), m_src(m, 3, 0), m_src(m, 4, 0)));
}

// VABSDIFF4: differences of four bytes at once; .ACC adds them all to c. Without it c is PTX's, whose bytes
// stay where the result is not written: all four are.
static inline uint32_t byte_apart(uint32_t a, uint32_t b, int n) {
    uint32_t x = a >> 8 * n & 0xff, y = b >> 8 * n & 0xff;
    return x < y ? y - x : x - y;
}
static inline uint32_t bytes_apart(uint32_t a, uint32_t b, uint32_t flip) {
    a ^= flip; // 0x80808080 makes signed bytes unsigned ones in the same order
    b ^= flip;
    return byte_apart(a, b, 0) | byte_apart(a, b, 1) << 8 | byte_apart(a, b, 2) << 16 |
           byte_apart(a, b, 3) << 24;
}
static inline uint32_t bytes_sum(uint32_t x) {
    return (x & 0xff) + (x >> 8 & 0xff) + (x >> 16 & 0xff) + (x >> 24);
}
#define APART_LOADS                                                                                          \
    LOAD_AB;                                                                                                 \
    const uint32_t *pc = SRC_C(w, u, uint32_t), flip = u->imm;
PAIR_BODY(apart4_acc, uint32_t, APART_LOADS, bytes_sum(bytes_apart(pa[i], pb[i], flip)) + pc[i])
PAIR_BODY(apart4, uint32_t, APART_LOADS; (void)pc;, bytes_apart(pa[i], pb[i], flip))

static bool vabsdiff4(translator *m) {
    if (!m_pdst(m, 1).none) return cannot(m, "what its flag says is not known");
    bool acc = m_mod(m, ORR_SM_ACC);
    return give_imm(m, acc ? PICK(apart4_acc) : PICK(apart4),
                    m_mod(m, ORR_SM_AINT) == ORR_SV_ITYPE_S8 ? 0x80808080u : 0, 1, 3,
                    OPERS(m_dst(m, 0, 0), m_src(m, 2, 0), m_src(m, 3, 0), m_src(m, 4, 0)));
}

static bool idp(translator *m) { // {d, a, b, c}
    bool four = m_mod(m, ORR_SM_IDP4);
    bool sa = four ? m_mod(m, ORR_SM_AINT) == ORR_SV_ITYPE_S8 : m_mod(m, ORR_SM_AHALF) == ORR_SV_HTYPE_S16;
    bool sb = m_mod(m, ORR_SM_BINT) == ORR_SV_ITYPE_S8;
    return m_ptx(m,
                 (orr_inst){.op = four ? ORR_OP_DP4A : ORR_OP_DP2A,
                            .type = sa ? ORR_T_S32 : ORR_T_U32,
                            .stype = sb ? ORR_T_S32 : ORR_T_U32,
                            .mods = m_mod(m, ORR_SM_IDP2HI) ? ORR_M_HI : 0},
                 1, 3, OPERS(m_dst(m, 0, 0), m_src(m, 1, 0), m_src(m, 2, 0), m_val(m, 3, AS_INT)));
}

bool orr_sass_int(translator *m) {
    switch (m->c->op) {
    case ORR_SASS_IADD3:
    case ORR_SASS_UIADD3: return iadd3(m);
    case ORR_SASS_IADD: return iadd(m);
    case ORR_SASS_VIADD:
    case ORR_SASS_UVIADD: return viadd(m);
    case ORR_SASS_IMAD:
    case ORR_SASS_UIMAD: {
        unsigned part = m_mod(m, ORR_SM_PART);
        return part == ORR_SV_PART_LO ? imad_low(m) : imad_wide(m, part == ORR_SV_PART_HI);
    }
    case ORR_SASS_LEA:
    case ORR_SASS_ULEA: return lea(m);
    case ORR_SASS_ISETP:
    case ORR_SASS_UISETP: return isetp(m);
    case ORR_SASS_IMNMX:
    case ORR_SASS_UIMNMX: return imnmx(m);
    case ORR_SASS_VIMNMX:
    case ORR_SASS_UVIMNMX: return vimnmx(m);
    case ORR_SASS_VIMNMX3:
    case ORR_SASS_VIADDMNMX: return three(m);
    case ORR_SASS_VABSDIFF: return vabsdiff(m);
    case ORR_SASS_VABSDIFF4: return vabsdiff4(m);
    case ORR_SASS_IDP: return idp(m);
    default: return orr_sass_logic(m);
    }
}

// What compiled blocks do instead (lanewise.h).
#define SUM(n, signs) LANE_SUM, (n) << 4 | (signs)
#define COMPARISON(name, how)                                                                                \
    { set_##name, LANE_COMPARE, how }
LANEWISE(orr_lanes_sass_int, {copy_full, LANE_COPY, 0}, {copy2_full, LANE_COPY, 0}, {minus_full, SUM(1, 1)},
         {add_full, SUM(2, 0)}, {sub_full, SUM(2, 2)}, {minus2_full, SUM(2, 3)}, {add3_full, SUM(3, 0)},
         {add_sub_full, SUM(3, 4)}, {sub_sub_full, SUM(3, 6)}, {minus3_full, SUM(3, 7)},
         {mul_full, LANE_MUL, 0}, {mad_full, LANE_MAD, 0}, {mad_minus_full, LANE_MAD, 1},
         {shl_add_full, LANE_SHIFT_ADD, 0}, {shl_minus_full, LANE_SHIFT_ADD, 1},
         {minus_shl_full, LANE_SHIFT_ADD, 2}, {shl_imm_full, LANE_SHL, 0}, {sar_imm_full, LANE_SHR, 1},
         {sar_add_full, LANE_SHR_ADD, 1}, {shr_add_full, LANE_SHR_ADD, 0}, {lea_hi_full, LANE_LEA_HI, 0},
         {shl_wide_u_full, LANE_WIDE_SHIFT, 0}, {shl_wide_s_full, LANE_WIDE_SHIFT, 1},
         {add_wide_s_full, LANE_WIDE_EXTEND, 0}, {mul_wide_u_full, LANE_WIDE_MUL, 0},
         {mul_wide_s_full, LANE_WIDE_MUL, 1}, {mad_wide_u_full, LANE_WIDE_MUL, 2},
         {mad_wide_s_full, LANE_WIDE_MUL, 3}, {mulhi_u_full, LANE_WIDE_MUL, 4},
         {mulhi_s_full, LANE_WIDE_MUL, 5}, {add_co_full, LANE_CARRY_OUT, 0}, {sub_co_full, LANE_CARRY_OUT, 1},
         {addx_full, LANE_CARRY_IN, 0}, {subx_full, LANE_CARRY_IN, 1}, {addx_co_full, LANE_CARRY_BOTH, 0},
         {subx_co_full, LANE_CARRY_BOTH, 1}, COMPARISON(equal, COMPARE_EQ), COMPARISON(unequal, COMPARE_NE),
         COMPARISON(lt_u, COMPARE_LT), COMPARISON(le_u, COMPARE_LE), COMPARISON(gt_u, COMPARE_GT),
         COMPARISON(ge_u, COMPARE_GE), COMPARISON(lt_s, COMPARE_SIGNED | COMPARE_LT),
         COMPARISON(le_s, COMPARE_SIGNED | COMPARE_LE), COMPARISON(gt_s, COMPARE_SIGNED | COMPARE_GT),
         COMPARISON(ge_s, COMPARE_SIGNED | COMPARE_GE))
