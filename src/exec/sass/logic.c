// Machine code: bits, moves, predicates and selections, and their uniform versions.
//
// A three-input function (LOP3) is reduced before a handler is chosen: what RZ and all ones make of it, and
// which inputs it still depends on. What is left is mostly one vector operation. Shifts by a number are told
// apart from shifts by a register for the same reason.
#include "exec/sass/int.h"

#include "exec/lanewise.h"
#define LOAD_A   const uint32_t *pa = SRC_A(w, u, uint32_t);
#define LOAD_AB  const uint32_t *pa = SRC_A(w, u, uint32_t), *pb = SRC_B(w, u, uint32_t);
#define LOAD_ABC LOAD_AB const uint32_t *pc = SRC_C(w, u, uint32_t);

PAIR1(copy, uint32_t, uint32_t, a)

static bool move(translator *m, oper d, oper a) { return give(m, PICK(copy), 1, 1, OPERS(d, a)); }

// ---- LOP3 -----------------------------------------------------------------------------------
PAIR1(not1, uint32_t, uint32_t, ~a)
PAIR2(and2, uint32_t, uint32_t, uint32_t, a &b)
PAIR2(or2, uint32_t, uint32_t, uint32_t, a | b)
PAIR2(xor2, uint32_t, uint32_t, uint32_t, a ^ b)
PAIR2(andn2, uint32_t, uint32_t, uint32_t, a & ~b)
PAIR2(orn2, uint32_t, uint32_t, uint32_t, a | ~b)
PAIR2(xnor2, uint32_t, uint32_t, uint32_t, ~(a ^ b))
PAIR2(nand2, uint32_t, uint32_t, uint32_t, ~(a &b))
PAIR2(nor2, uint32_t, uint32_t, uint32_t, ~(a | b))

// The functions of three inputs that compilers use most.
#define LOP3S(X)                                                                                             \
    X(0x96, a ^ b ^ c)                                                                                       \
    X(0x80, a &b &c)                                                                                         \
    X(0xfe, a | b | c)                                                                                       \
    X(0x01, ~(a | b | c))                                                                                    \
    X(0xe8, (a & b) | (c & (a | b)))                                                                         \
    X(0xf8, a | (b & c))                                                                                     \
    X(0xea, c | (a & b))                                                                                     \
    X(0xec, b | (a & c))                                                                                     \
    X(0xe0, a &(b | c))                                                                                      \
    X(0xc8, b &(a | c))                                                                                      \
    X(0xa8, c &(a | b))                                                                                      \
    X(0x48, b &(a ^ c))                                                                                      \
    X(0x78, a ^ (b & c))                                                                                     \
    X(0x6c, b ^ (a & c))                                                                                     \
    X(0x6a, c ^ (a & b))                                                                                     \
    X(0xca, c ^ (a & (b ^ c)))                                                                               \
    X(0xac, c ^ (~a & (b ^ c)))                                                                              \
    X(0xb8, a ^ (b & (a ^ c)))                                                                               \
    X(0xe2, c ^ (b & (a ^ c)))                                                                               \
    X(0xd8, a ^ (c & (a ^ b)))                                                                               \
    X(0xe4, b ^ (c & (a ^ b)))
#define X(lut, expr) PAIR3(lop3_##lut, uint32_t, uint32_t, uint32_t, uint32_t, expr)
LOP3S(X)
#undef X

// Any other, in algebraic normal form: f = k0 ^ c k1 ^ b (k2 ^ c k3) ^ a (k4 ^ c k5 ^ b (k6 ^ c k7)).
typedef struct form {
    uint32_t k[8]; // 0 or ~0
} form;
static inline form form_of(uint32_t t) {
    t ^= (t & 0x55) << 1;
    t ^= (t & 0x33) << 2;
    t ^= (t & 0x0f) << 4;
    form f;
    for (int i = 0; i < 8; i++) f.k[i] = 0u - (t >> i & 1);
    return f;
}
#define FORM(f, a, b, c)                                                                                     \
    ((f).k[0] ^ ((c) & (f).k[1]) ^ ((b) & ((f).k[2] ^ ((c) & (f).k[3]))) ^                                   \
     ((a) & ((f).k[4] ^ ((c) & (f).k[5]) ^ ((b) & ((f).k[6] ^ ((c) & (f).k[7]))))))
#define FORM_LOADS LOAD_ABC const form f = form_of(u->imm);
PAIR_BODY(lop3_any, uint32_t, FORM_LOADS, FORM(f, pa[i], pb[i], pc[i]))

// The function that is left when input `bit` (4: a, 2: b, 1: c) is known to be v.
static uint8_t restrict_to(uint8_t lut, int bit, bool v) {
    uint8_t out = 0;
    for (int n = 0; n < 8; n++)
        if (lut >> (v ? n | bit : n & ~bit) & 1) out |= (uint8_t)(1 << n);
    return out;
}
static bool depends(uint8_t lut, int bit) {
    return restrict_to(lut, bit, false) != lut || restrict_to(lut, bit, true) != lut;
}

static bool lop3_row(translator *m, oper d, const oper in[3], uint8_t lut) {
    static const struct {
        uint8_t lut;
        handlers h;
    } common[] = {
#define X(lut, expr) {lut, PICK(lop3_##lut)},
        LOP3S(X)
#undef X
    };
    // Of two inputs x, y: bit 2 x + y of the number.
    static const handlers two[16] = {
        [1] = PICK(nor2), [4] = PICK(andn2), [6] = PICK(xor2),  [7] = PICK(nand2),
        [8] = PICK(and2), [9] = PICK(xnor2), [13] = PICK(orn2), [14] = PICK(or2)};
    oper used[3] = {in[0], in[0], in[0]};
    int n = 0, bits[3] = {0};
    for (int i = 0; i < 3; i++) {
        if (zero(m, in[i])) lut = restrict_to(lut, 4 >> i, false);
        if (fixed_is(m, in[i], ~0u)) lut = restrict_to(lut, 4 >> i, true);
    }
    for (int i = 0; i < 3; i++)
        if (depends(lut, 4 >> i)) bits[n] = 4 >> i, used[n++] = in[i];
    if (n == 0) return move(m, d, m_imm(m, ORR_W, lut ? ~0u : 0));
    if (n == 1) return give(m, lut >> bits[0] & 1 ? PICK(copy) : PICK(not1), 1, 1, OPERS(d, used[0]));
    if (n == 2) {
        unsigned x = bits[0], y = bits[1];
        unsigned t = (lut & 1u) | (lut >> y & 1u) << 1 | (lut >> x & 1u) << 2 | (lut >> (x | y) & 1u) << 3;
        if (t == 2 || t == 11) return give(m, two[t == 2 ? 4 : 13], 1, 2, OPERS(d, used[1], used[0]));
        return give(m, two[t], 1, 2, OPERS(d, used[0], used[1]));
    }
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (common[i].lut == lut) return give(m, common[i].h, 1, 3, OPERS(d, in[0], in[1], in[2]));
    return give_imm(m, PICK(lop3_any), lut, 1, 3, OPERS(d, in[0], in[1], in[2]));
}

// With a flag: is the result not zero? Together with the predicate that comes in: or, .PAND and. imm: bit 8
// .PAND.
static inline uint32_t with_flag(warp *w, const uop *u, uint32_t any) {
    uint32_t in = pred_of(w, u->all[u->ndst + 3]);
    return u->imm >> 8 & 1 ? any & in : any | in;
}
static inline uint32_t lop3_flag_lanes(warp *w, const uop *u, uint32_t *d) {
    FORM_LOADS
    uint32_t any = 0;
    LANES {
        uint32_t v = FORM(f, pa[i], pb[i], pc[i]);
        any |= v ? lane_bit[i] : 0;
        d[i] = v;
    }
    return with_flag(w, u, any);
}
FLAGGED(lop3_flag)
// Only the flag, of a & b: the test of a bit.
static void test_bits(warp *w, const uop *u) {
    LOAD_AB
    uint32_t any = 0;
    LANES { any |= pa[i] & pb[i] ? lane_bit[i] : 0; }
    set_pred(w, u->d, any);
}

static bool lop3(translator *m) { // {p, d, a, b, c, table, in}
    oper p = m_pdst(m, 0), d = m_dst(m, 1, 0), pin = m_psrc(m, 6);
    oper in[3] = {m_src(m, 2, 0), m_src(m, 3, 0), m_src(m, 4, 0)};
    if (!m_is(m, 5, ORR_ARG_INT)) return cannot(m, "its table is not a number");
    uint8_t lut = (uint8_t)m->c->args[5].value;
    bool pand = m_mod(m, ORR_SM_PAND);
    if (p.none) return lop3_row(m, d, in, lut);
    bool nowhere = m->c->args[1].reg == ORR_RZ;
    if (nowhere && zero(m, in[2]) && (lut & 0x55) == 0x40 && always(m, pin, pand))
        return give(m, BOTH(test_bits), 1, 2, OPERS(p, in[0], in[1]));
    return give_imm(m, PICK(lop3_flag), lut | (uint32_t)pand << 8, 2, 4,
                    OPERS(d, p, in[0], in[1], in[2], pin));
}

// ---- PLOP3 ----------------------------------------------------------------------------------
// {p, q, a, b, c, table of p, table of q}: three predicates, or signs of registers.
static void plop3_both(warp *w, const uop *u) {
    uint32_t a = pred_of(w, u->a), b = pred_of(w, u->b), c = pred_of(w, u->c);
    form f = form_of(u->imm & 0xff), g = form_of(u->imm >> 8);
    set_pred(w, u->d, FORM(f, a, b, c));
    set_pred(w, u->all[1], FORM(g, a, b, c));
}
static void plop3_one(warp *w, const uop *u) {
    uint32_t a = pred_of(w, u->a), b = pred_of(w, u->b), c = pred_of(w, u->c);
    form f = form_of(u->imm);
    set_pred(w, u->d, FORM(f, a, b, c));
}
static void pred_copy(warp *w, const uop *u) { set_pred(w, u->d, pred_of(w, u->a)); }
static void pred_and(warp *w, const uop *u) { set_pred(w, u->d, pred_of(w, u->a) & pred_of(w, u->b)); }
static void pred_or(warp *w, const uop *u) { set_pred(w, u->d, pred_of(w, u->a) | pred_of(w, u->b)); }
static void pred_sign(warp *w, const uop *u) {
    LOAD_A
    uint32_t any = 0;
    LANES { any |= pa[i] >> 31 ? lane_bit[i] : 0; }
    *DST(w, u, uint32_t) = any;
}

static oper truth(translator *m, int n) {
    if (m_is(m, n, ORR_ARG_P) || m_is(m, n, ORR_ARG_UP)) return m_psrc(m, n);
    oper t = m_tmp(m, ORR_P);
    m_emit(m, BOTH(pred_sign), 1, 1, OPERS(t, m_src(m, n, 0)));
    return t;
}

static bool plop3(translator *m) {
    if (!m_is(m, 5, ORR_ARG_INT) || !m_is(m, 6, ORR_ARG_INT)) return cannot(m, "its tables are not numbers");
    oper p = m_pdst(m, 0), q = m_pdst(m, 1), in[3] = {truth(m, 2), truth(m, 3), truth(m, 4)};
    uint8_t lut = (uint8_t)m->c->args[5].value, second = (uint8_t)m->c->args[6].value;
    if (!q.none)
        return give_imm(m, BOTH(plop3_both), lut | (uint32_t)second << 8, 2, 3,
                        OPERS(p, q, in[0], in[1], in[2]));
    oper used[3] = {in[0], in[0], in[0]};
    int n = 0, bits[3] = {0};
    for (int i = 0; i < 3; i++)
        if (in[i].bank == BANK_CONST) lut = restrict_to(lut, 4 >> i, always(m, in[i], true));
    for (int i = 0; i < 3; i++)
        if (depends(lut, 4 >> i)) bits[n] = 4 >> i, used[n++] = in[i];
    if (n == 0) return give(m, BOTH(pred_copy), 1, 1, OPERS(p, m_imm(m, ORR_P, lut != 0)));
    if (n == 1) {
        used[0].neg ^= !(lut >> bits[0] & 1);
        return give(m, BOTH(pred_copy), 1, 1, OPERS(p, used[0]));
    }
    if (n == 2) {
        // An and or an or of inputs that may be negated: one of the four places is unlike the others.
        for (unsigned at = 0; at < 4; at++) {
            unsigned x = bits[0], y = bits[1], odd = 0;
            for (unsigned i = 0; i < 4; i++)
                odd |= (unsigned)(lut >> ((i & 2 ? x : 0) | (i & 1 ? y : 0)) & 1) << i;
            if (odd != 1u << at && odd != (15u ^ 1u << at)) continue;
            bool and = odd == 1u << at;
            used[0].neg ^= ((at >> 1 & 1) == 0) == and;
            used[1].neg ^= ((at & 1) == 0) == and;
            return give(m, and? BOTH(pred_and) : BOTH(pred_or), 1, 2, OPERS(p, used[0], used[1]));
        }
    }
    return give_imm(m, BOTH(plop3_one), lut, 1, 3, OPERS(p, in[0], in[1], in[2]));
}

// ---- shifts ---------------------------------------------------------------------------------
// SHF {d, low, n, high}: the pair high:low shifted by n; .HI the upper word of that, else the lower. n counts
// to 32, or to 64 for the 64-bit types; past that all bits are gone, .W takes it modulo.
#define LOAD_K   const uint32_t k = u->imm & 0xff, up = u->imm >> 8;
#define LOAD_A_K LOAD_A const uint32_t k = u->imm;
PAIR_BODY(shl_k, uint32_t, LOAD_A_K, pa[i] << k)
PAIR_BODY(shr_k, uint32_t, LOAD_A_K, pa[i] >> k)
PAIR_BODY(sar_k, uint32_t, LOAD_A_K, (int32_t)pa[i] >> k)
PAIR_BODY(funnel_k, uint32_t, LOAD_AB LOAD_K, pa[i] >> k | pb[i] << up) // up = 32 - k

// By a register; imm: 31 or 63 where it wraps, else all ones.
#define LOAD_N LOAD_AB const uint32_t wrap = u->imm;
static inline uint32_t left(uint32_t a, uint32_t n) { return (a << (n & 31)) & (0u - (n < 32)); }
static inline uint32_t right(uint32_t a, uint32_t n) { return (a >> (n & 31)) & (0u - (n < 32)); }
PAIR_BODY(shl_n, uint32_t, LOAD_N, left(pa[i], pb[i] & wrap))
PAIR_BODY(shr_n, uint32_t, LOAD_N, right(pa[i], pb[i] & wrap))
PAIR_BODY(sar_n, uint32_t, LOAD_N, (int32_t)pa[i] >> ((pb[i] & wrap) < 31 ? pb[i] & wrap : 31))

// imm: bit 0 wraps, bit 1 64 bits, bit 2 signed.
#define LOAD_PAIR                                                                                            \
    LOAD_ABC const uint32_t most = u->imm & 2 ? 64 : 32, wrap = u->imm & 1 ? most - 1 : ~0u;                 \
    const bool sign = u->imm & 4;
static inline uint32_t counted(uint32_t n, uint32_t wrap, uint32_t most) {
    n &= wrap;
    return n < most ? n : most;
}
static inline uint32_t pair_left(uint32_t lo, uint32_t hi, uint32_t n) {
    uint64_t x = (uint64_t)hi << 32 | lo;
    return n < 64 ? (uint32_t)(x << (n & 63) >> 32) : 0;
}
static inline uint32_t pair_right(uint32_t lo, uint32_t hi, uint32_t n, bool sign) {
    uint64_t x = (uint64_t)hi << 32 | lo, gone = sign ? 0ull - (hi >> 31) : 0;
    if (n >= 64) return (uint32_t)gone;
    return (uint32_t)(x >> n | (n ? gone << ((64 - n) & 63) : 0));
}
PAIR_BODY(pair_left_n, uint32_t, LOAD_PAIR(void) sign;, pair_left(pa[i], pc[i], counted(pb[i], wrap, most)))
PAIR_BODY(pair_right_n, uint32_t, LOAD_PAIR, pair_right(pa[i], pc[i], counted(pb[i], wrap, most), sign))

static bool shf(translator *m) {
    unsigned type = m_mod(m, ORR_SM_SHFTYPE);
    bool right = m_mod(m, ORR_SM_DIR) == ORR_SV_DIR_R, high = m_mod(m, ORR_SM_HI), wraps = m_mod(m, ORR_SM_W);
    bool wide = type == ORR_SV_SHFTYPE_S64 || type == ORR_SV_SHFTYPE_U64;
    bool sign = type == ORR_SV_SHFTYPE_S64 || type == ORR_SV_SHFTYPE_S32;
    uint32_t most = wide ? 64 : 32, wrap = wraps ? most - 1 : ~0u, n;
    oper d = m_dst(m, 0, 0), lo = m_src(m, 1, 0), by = m_src(m, 2, 0), hi = m_src(m, 3, 0);
    oper none = m_imm(m, ORR_W, 0), one = right ? hi : lo; // the word that the other's bits do not reach
    bool alone = right == high;
    if (!fixed(m, by, &n)) {
        if (alone)
            return give_imm(m,
                            !right ? PICK(shl_n)
                            : sign ? PICK(sar_n)
                                   : PICK(shr_n),
                            wrap, 1, 2, OPERS(d, one, by));
        uint32_t imm = (uint32_t)wraps | (uint32_t)wide << 1 | (uint32_t)sign << 2;
        return give_imm(m, right ? PICK(pair_right_n) : PICK(pair_left_n), imm, 1, 3, OPERS(d, lo, by, hi));
    }
    n = counted(n, wrap, most);
    handlers shift = !right ? PICK(shl_k) : sign ? PICK(sar_k) : PICK(shr_k);
    if (!alone) {
        if (n < 32) {
            if (!n) return move(m, d, right ? lo : hi);
            return give_imm(m, PICK(funnel_k), right ? n | (32 - n) << 8 : (32 - n) | n << 8, 1, 2,
                            OPERS(d, lo, hi));
        }
        n -= 32; // the other word alone
    }
    if (n >= 32) return right && sign ? give_imm(m, PICK(sar_k), 31, 1, 1, OPERS(d, one)) : move(m, d, none);
    if (!n) return move(m, d, one);
    return give_imm(m, shift, n, 1, 1, OPERS(d, one));
}

// ---- bit fields, counting -------------------------------------------------------------------
static bool like_ptx(translator *m, orr_inst like, int first, int n) {
    oper o[3] = {m_dst(m, 0, 0)};
    for (int i = 0; i < n; i++) o[1 + i] = m_val(m, first + i, AS_BITS);
    return m_ptx(m, like, 1, n, o);
}

static bool flo(translator *m) { // {d, p, a}
    if (!m_pdst(m, 1).none) return cannot(m, "what its flag says is not known");
    uint8_t type = m_mod(m, ORR_SM_SIGN) == ORR_SV_SIGN_S32 ? ORR_T_S32 : ORR_T_U32;
    return like_ptx(
        m, (orr_inst){.op = ORR_OP_BFIND, .type = type, .mods = m_mod(m, ORR_SM_SH) ? ORR_M_SHIFTAMT : 0}, 2,
        1);
}

// PRMT {d, a, selector, b}: bytes of b:a. The modes other than the plain one stand for selectors by two bits.
#define LOAD_PRMT PRMT_SHIFTS(u->imm)
PAIR_BODY(prmt_k, uint32_t, LOAD_PRMT, PRMT_BYTES)

static bool prmt(translator *m) {
    static const uint16_t modes[7][4] = {
        [ORR_SV_PRMT_F4E] = {0x3210, 0x4321, 0x5432, 0x6543},
        [ORR_SV_PRMT_B4E] = {0x5670, 0x6701, 0x7012, 0x0123},
        [ORR_SV_PRMT_RC8] = {0x0000, 0x1111, 0x2222, 0x3333},
        [ORR_SV_PRMT_ECL] = {0x3210, 0x3211, 0x3222, 0x3333},
        [ORR_SV_PRMT_ECR] = {0x0000, 0x1110, 0x2210, 0x3210},
        [ORR_SV_PRMT_RC16] = {0x1010, 0x3232, 0x1010, 0x3232},
    };
    static const uint8_t subs[7] = {ORR_PRMT_DEFAULT, ORR_PRMT_F4E, ORR_PRMT_B4E, ORR_PRMT_RC8,
                                    ORR_PRMT_ECL,     ORR_PRMT_ECR, ORR_PRMT_RC16};
    unsigned mode = m_mod(m, ORR_SM_PRMT);
    if (mode > ORR_SV_PRMT_RC16) return cannot(m, "it has no such mode");
    oper d = m_dst(m, 0, 0), a = m_src(m, 1, 0), by = m_src(m, 2, 0), b = m_src(m, 3, 0);
    uint32_t s;
    if (!fixed(m, by, &s))
        return m_ptx(m, (orr_inst){.op = ORR_OP_PRMT, .type = ORR_T_B32, .sub = subs[mode]}, 1, 3,
                     OPERS(d, a, b, by));
    if (mode != ORR_SV_PRMT_IDX) s = modes[mode][s & 3];
    return give_imm(m, PICK(prmt_k), s, 1, 2, OPERS(d, a, b));
}

// ---- moves and selections -------------------------------------------------------------------
#define LOAD_SEL LOAD_AB const uint32_t take = pred_of(w, u->c);
PAIR_BODY(sel, uint32_t, LOAD_SEL, BLEND(uint32_t, pb[i], pa[i], 0u - (uint32_t)((take & lane_bit[i]) != 0)))

static void copy2(warp *w, const uop *u) {
    uint32_t *lo = DST_N(w, u, 0, uint32_t), *hi = DST_N(w, u, 1, uint32_t);
    const uint32_t *lane = active_lanes(w);
    LOAD_AB
    LANES {
        uint32_t x = pa[i], y = pb[i];
        lo[i] = BLEND(uint32_t, lo[i], x, lane[i]);
        hi[i] = BLEND(uint32_t, hi[i], y, lane[i]);
    }
}

static bool mov(translator *m) { // {d, a, lanes of a quad}
    if (m_mod(m, ORR_SM_D64))
        return give(m, BOTH(copy2), 2, 2,
                    OPERS(m_dst(m, 0, 0), m_dst(m, 0, 1), m_src(m, 1, 0), m_src(m, 1, 1)));
    if (m_is(m, 2, ORR_ARG_INT) && m->c->args[2].value != 15)
        return cannot(m, "it moves only some lanes of each four");
    return move(m, m_dst(m, 0, 0), m_src(m, 1, 0));
}

static bool select(translator *m) { // {d, a, b, p}
    oper p = m_psrc(m, 3);
    if (m_mod(m, ORR_SM_D64)) {
        oper lo = m_tmp(m, ORR_W), hi = m_tmp(m, ORR_W);
        m_emit(m, PICK(sel), 1, 3, OPERS(lo, m_src(m, 1, 0), m_src(m, 2, 0), p));
        m_emit(m, PICK(sel), 1, 3, OPERS(hi, m_src(m, 1, 1), m_src(m, 2, 1), p));
        return give(m, BOTH(copy2), 2, 2, OPERS(m_dst(m, 0, 0), m_dst(m, 0, 1), lo, hi));
    }
    if (p.bank == BANK_CONST) return move(m, m_dst(m, 0, 0), m_src(m, always(m, p, true) ? 1 : 2, 0));
    return give(m, PICK(sel), 1, 3, OPERS(m_dst(m, 0, 0), m_src(m, 1, 0), m_src(m, 2, 0), p));
}

// ---- all predicates at once -----------------------------------------------------------------
// P2R {d, PR, a, mask}: a with the predicates of the mask put into a byte of it. R2P {PR, a, mask}: and back.
// imm: the mask, from bit 8 on the byte.
static oper predicate(unsigned n) { return (oper){.off = n * 4, .bank = BANK_P, .cls = ORR_P}; }

static void p2r_any(warp *w, const uop *u) {
    uint32_t out[ORR_WARP], *d = DST(w, u, uint32_t), mask = u->imm & 0xff, at = u->imm >> 8;
    const uint32_t *lane = active_lanes(w);
    LOAD_A
    LANES { out[i] = pa[i] & ~(mask << at); }
    for (int n = 0; n < 7; n++) {
        uint32_t p = pred_of(w, u->all[2 + n]), bit = 1u << n & mask;
        if (!bit) continue;
        bit <<= at;
        LANES { out[i] |= p & lane_bit[i] ? bit : 0; }
    }
    LANES { d[i] = BLEND(uint32_t, d[i], out[i], lane[i]); }
}
static void r2p_any(warp *w, const uop *u) {
    LOAD_A
    uint32_t at = u->imm >> 8;
    for (int n = 0; n < 7; n++) {
        if (!(u->imm >> n & 1)) continue;
        uint32_t p = 0, bit = 1u << (n + at);
        LANES { p |= pa[i] & bit ? lane_bit[i] : 0; }
        set_pred(w, u->all[n], p);
    }
}

static bool p2r(translator *m, unsigned file) {
    uint32_t mask;
    if (!fixed(m, m_src(m, 3, 0), &mask)) return cannot(m, "its mask is not a number");
    oper o[9] = {m_dst(m, 0, 0), m_src(m, 2, 0)};
    for (unsigned n = 0; n < 7; n++) o[2 + n] = predicate(file + n);
    return give_imm(m, BOTH(p2r_any), (mask & 0x7f) | m_mod(m, ORR_SM_BYTE) << 11, 1, 8, o);
}
static bool r2p(translator *m, unsigned file) {
    uint32_t mask;
    if (!fixed(m, m_src(m, 2, 0), &mask)) return cannot(m, "its mask is not a number");
    oper o[8];
    for (unsigned n = 0; n < 7; n++) {
        o[n] = predicate(mask >> n & 1 ? file + n : MASK_SINK);
        o[n].none = !(mask >> n & 1);
    }
    o[7] = m_src(m, 1, 0);
    return give_imm(m, BOTH(r2p_any), (mask & 0x7f) | (uint32_t)m->c->args[1].subval << 11, 7, 1, o);
}

// ---- where we are ---------------------------------------------------------------------------
// LEPC {d}: the address of this instruction; {d, target}: of another one.
static bool lepc(translator *m) {
    const orr_kernel *k = m->p->kernel;
    uint32_t at = (uint32_t)(m->inst - k->insts);
    uint64_t address = m->c->address;
    if (m_is(m, 1, ORR_ARG_TARGET)) address = (uint64_t)m->c->args[1].value;
    for (uint32_t n = 0; n < k->nfuncs; n++)
        if (at - k->funcs[n].first_inst < k->funcs[n].ninsts) address += k->funcs[n].address;
    return give(m, BOTH(copy2), 2, 2,
                OPERS(m_dst(m, 0, 0), m_dst(m, 0, 1), m_imm(m, ORR_W, (uint32_t)address),
                      m_imm(m, ORR_W, (uint32_t)(address >> 32))));
}

bool orr_sass_logic(translator *m) {
    uint32_t wrap = m_mod(m, ORR_SM_W) ? ORR_M_WRAP : ORR_M_CLAMP;
    uint8_t sign = m_mod(m, ORR_SM_SIGN) == ORR_SV_SIGN_S32 ? ORR_T_S32 : ORR_T_U32;
    switch (m->c->op) {
    case ORR_SASS_LOP3:
    case ORR_SASS_ULOP3: return lop3(m);
    case ORR_SASS_PLOP3:
    case ORR_SASS_UPLOP3: return plop3(m);
    case ORR_SASS_SHF:
    case ORR_SASS_USHF: return shf(m);
    case ORR_SASS_SGXT:
    case ORR_SASS_USGXT: return like_ptx(m, (orr_inst){.op = ORR_OP_SZEXT, .type = sign, .mods = wrap}, 1, 2);
    case ORR_SASS_BMSK:
    case ORR_SASS_UBMSK:
        return like_ptx(m, (orr_inst){.op = ORR_OP_BMSK, .type = ORR_T_B32, .mods = wrap}, 1, 2);
    case ORR_SASS_FLO:
    case ORR_SASS_UFLO: return flo(m);
    case ORR_SASS_BREV:
    case ORR_SASS_UBREV: return like_ptx(m, (orr_inst){.op = ORR_OP_BREV, .type = ORR_T_B32}, 1, 1);
    case ORR_SASS_POPC:
    case ORR_SASS_UPOPC: return like_ptx(m, (orr_inst){.op = ORR_OP_POPC, .type = ORR_T_B32}, 1, 1);
    case ORR_SASS_IABS:
    case ORR_SASS_UIABS: return like_ptx(m, (orr_inst){.op = ORR_OP_ABS, .type = ORR_T_S32}, 1, 1);
    case ORR_SASS_PRMT:
    case ORR_SASS_UPRMT: return prmt(m);
    case ORR_SASS_MOV:
    case ORR_SASS_UMOV: return mov(m);
    case ORR_SASS_SEL:
    case ORR_SASS_USEL: return select(m);
    case ORR_SASS_P2R: return p2r(m, MASK_P);
    case ORR_SASS_UP2UR: return p2r(m, MASK_UP);
    case ORR_SASS_R2P: return r2p(m, MASK_P);
    case ORR_SASS_UR2UP: return r2p(m, MASK_UP);
    case ORR_SASS_LEPC:
    case ORR_SASS_ULEPC: return lepc(m);
    case ORR_SASS_PMTRIG: // a mark for profilers
    case ORR_SASS_NOP: return true;
    default: return false;
    }
}

// What compiled blocks do instead (lanewise.h).
#define X(lut, expr) {lop3_##lut##_full, LANE_LOGIC, lut},
LANEWISE(orr_lanes_sass_logic, LOP3S(X){lop3_any_full, LANE_LOGIC_K, 0}, {copy_full, LANE_COPY, 0},
         {copy2, LANE_COPY, 0}, {not1_full, LANE_LOGIC, 0x0f}, {and2_full, LANE_LOGIC, 0xc0},
         {or2_full, LANE_LOGIC, 0xfc}, {xor2_full, LANE_LOGIC, 0x3c}, {andn2_full, LANE_LOGIC, 0x30},
         {orn2_full, LANE_LOGIC, 0xf3}, {xnor2_full, LANE_LOGIC, 0xc3}, {nand2_full, LANE_LOGIC, 0x3f},
         {nor2_full, LANE_LOGIC, 0x03}, {test_bits, LANE_TEST, 0}, {pred_copy, LANE_PRED, 0},
         {pred_and, LANE_PRED_AND, 0}, {pred_or, LANE_PRED_OR, 0}, {shl_k_full, LANE_SHL, 0},
         {shr_k_full, LANE_SHR, 0}, {sar_k_full, LANE_SHR, 1}, {funnel_k_full, LANE_FUNNEL, 0},
         {shl_n_full, LANE_SHL_BY, 0}, {shr_n_full, LANE_SHR_BY, 0}, {sar_n_full, LANE_SHR_BY, 1},
         {sel_full, LANE_SELECT, 0})
#undef X
