// Bits: logic, shifts, bit fields, permutation, counting, and the logic of predicates.
//
// Written so that loops over lanes become vector code: shift amounts are brought into range first and
// the result is selected afterwards, never branched on. Sections of the PTX manual: "Logic and Shift
// Instructions" and the bit-field part of "Integer Arithmetic Instructions".
#include "exec/ops/pair.h"

// ---- and, or, xor, not ----------------------------------------------------------------------
PAIR2(and16, uint16_t, uint16_t, uint16_t, a &b)
PAIR2(and32, uint32_t, uint32_t, uint32_t, a &b)
PAIR2(and64, uint64_t, uint64_t, uint64_t, a &b)
PAIR2(or16, uint16_t, uint16_t, uint16_t, a | b)
PAIR2(or32, uint32_t, uint32_t, uint32_t, a | b)
PAIR2(or64, uint64_t, uint64_t, uint64_t, a | b)
PAIR2(xor16, uint16_t, uint16_t, uint16_t, a ^ b)
PAIR2(xor32, uint32_t, uint32_t, uint32_t, a ^ b)
PAIR2(xor64, uint64_t, uint64_t, uint64_t, a ^ b)
PAIR1(not16, uint16_t, uint16_t, ~a)
PAIR1(not32, uint32_t, uint32_t, ~a)
PAIR1(not64, uint64_t, uint64_t, ~a)
PAIR1(cnot16, uint16_t, uint16_t, a == 0)
PAIR1(cnot32, uint32_t, uint32_t, a == 0)
PAIR1(cnot64, uint64_t, uint64_t, a == 0)

static void and_pred(warp *w, const uop *u) { set_pred(w, u->d, pred_of(w, u->a) & pred_of(w, u->b)); }
static void or_pred(warp *w, const uop *u) { set_pred(w, u->d, pred_of(w, u->a) | pred_of(w, u->b)); }
static void xor_pred(warp *w, const uop *u) { set_pred(w, u->d, pred_of(w, u->a) ^ pred_of(w, u->b)); }
static void not_pred(warp *w, const uop *u) { set_pred(w, u->d, ~pred_of(w, u->a)); }

// lop3: the table in algebraic normal form, so that any of the 256 functions is the same 14 vector
// operations: f = k0 ^ c k1 ^ b (k2 ^ c k3) ^ a (k4 ^ c k5 ^ b (k6 ^ c k7)).
typedef struct lop3_form {
    uint32_t k[8]; // 0 or ~0
} lop3_form;
static lop3_form lop3_table(uint32_t t) {
    t ^= (t & 0x55) << 1;
    t ^= (t & 0x33) << 2;
    t ^= (t & 0x0f) << 4;
    lop3_form f;
    for (int i = 0; i < 8; i++) f.k[i] = 0u - ((t >> i) & 1);
    return f;
}
#define LOP3(f, a, b, c)                                                                                     \
    ((f).k[0] ^ ((c) & (f).k[1]) ^ ((b) & ((f).k[2] ^ ((c) & (f).k[3]))) ^                                   \
     ((a) & ((f).k[4] ^ ((c) & (f).k[5]) ^ ((b) & ((f).k[6] ^ ((c) & (f).k[7]))))))
#define LOP3_LOADS                                                                                           \
    const uint32_t *pa = SRC_A(w, u, uint32_t), *pb = SRC_B(w, u, uint32_t), *pc = SRC_C(w, u, uint32_t);    \
    const lop3_form f = lop3_table(u->imm);
PAIR_BODY(lop3, uint32_t, LOP3_LOADS, LOP3(f, pa[i], pb[i], pc[i]))

// lop3.BoolOp: p = (d != 0) BoolOp q; d may be the sink.
static void lop3_bool(warp *w, const uop *u) {
    LOP3_LOADS
    uint32_t out[ORR_WARP], m = 0, q = pred_of(w, u->all[u->ndst + 3]);
    uint8_t op = u->inst->boolop ? u->inst->boolop : u->inst->cmp;
    LANES { out[i] = LOP3(f, pa[i], pb[i], pc[i]); }
    LANES { m |= out[i] ? lane_bit[i] : 0; }
    if (!u->d.none) {
        uint32_t *d = DST(w, u, uint32_t);
        const uint32_t *lane = active_lanes(w);
        LANES { d[i] = BLEND(uint32_t, d[i], out[i], lane[i]); }
    }
    set_pred(w, u->all[1], bool_combine(m, op, q));
}

// ---- shifts ---------------------------------------------------------------------------------
// The amount is an unsigned word; past the width it clamps: zeros, or the sign for a signed shr.
#define SHL(bits, T) (T)(b < bits ? (T)(a << (b & (bits - 1))) : 0)
#define SHR(bits, T) (T)(b < bits ? (T)(a >> (b & (bits - 1))) : 0)
#define SAR(bits)    a >> (b < bits ? b : bits - 1)
PAIR2(shl16, uint16_t, uint16_t, uint32_t, SHL(16, uint16_t))
PAIR2(shl32, uint32_t, uint32_t, uint32_t, SHL(32, uint32_t))
PAIR2(shl64, uint64_t, uint64_t, uint32_t, SHL(64, uint64_t))
PAIR2(shr_u16, uint16_t, uint16_t, uint32_t, SHR(16, uint16_t))
PAIR2(shr_u32, uint32_t, uint32_t, uint32_t, SHR(32, uint32_t))
PAIR2(shr_u64, uint64_t, uint64_t, uint32_t, SHR(64, uint64_t))
PAIR2(shr_s16, uint16_t, int16_t, uint32_t, SAR(16))
PAIR2(shr_s32, uint32_t, int32_t, uint32_t, SAR(32))
PAIR2(shr_s64, uint64_t, int64_t, uint32_t, SAR(64))

// shf: the pair b:a shifted; .l keeps the high word, .r the low one.
#define JOIN(hi, lo) ((uint64_t)(hi) << 32 | (lo))
#define CLAMP32(n)   ((n) < 32 ? (n) : 32)
PAIR3(shf_l_clamp, uint32_t, uint32_t, uint32_t, uint32_t, JOIN(b, a) << CLAMP32(c) >> 32)
PAIR3(shf_r_clamp, uint32_t, uint32_t, uint32_t, uint32_t, JOIN(b, a) >> CLAMP32(c))
PAIR3(shf_l_wrap, uint32_t, uint32_t, uint32_t, uint32_t, JOIN(b, a) << (c & 31) >> 32)
PAIR3(shf_r_wrap, uint32_t, uint32_t, uint32_t, uint32_t, JOIN(b, a) >> (c & 31))

// ---- bit fields -----------------------------------------------------------------------------
// A field may reach past the top. For 32 bits position and length are the low bytes of their operands;
// for 64 bits an H200 takes the whole words, outside the range that the manual allows.
#define LOW_BITS(T, bits, n) (T)((n) < bits ? ((T)1 << ((n) & (bits - 1))) - 1 : (T)-1)
static inline uint32_t bfe_u32(uint32_t a, uint32_t pos, uint32_t len) {
    return (pos < 32 ? a >> (pos & 31) : 0) & LOW_BITS(uint32_t, 32, len);
}
static inline uint64_t bfe_u64(uint64_t a, uint32_t pos, uint32_t len) {
    return (pos < 64 ? a >> (pos & 63) : 0) & LOW_BITS(uint64_t, 64, len);
}
// The sign is bit min(pos + len - 1, msb): an arithmetic shift brings it to bit len - 1.
static inline uint32_t bfe_s32(int32_t a, uint32_t pos, uint32_t len) {
    int32_t x = a >> (pos < 32 ? pos : 31);
    uint32_t n = (32 - (len < 32 ? len : 32)) & 31;
    x = (int32_t)((uint32_t)x << n) >> n;
    return len ? (uint32_t)x : 0;
}
static inline uint64_t bfe_s64(int64_t a, uint32_t pos, uint32_t len) {
    int64_t x = a >> (pos < 64 ? pos : 63);
    uint32_t n = (64 - (len < 64 ? len : 64)) & 63;
    x = (int64_t)((uint64_t)x << n) >> n;
    return len ? (uint64_t)x : 0;
}
PAIR3(bfe32u, uint32_t, uint32_t, uint32_t, uint32_t, bfe_u32(a, b & 0xff, c & 0xff))
PAIR3(bfe32s, uint32_t, int32_t, uint32_t, uint32_t, bfe_s32(a, b & 0xff, c & 0xff))
PAIR3(bfe64u, uint64_t, uint64_t, uint32_t, uint32_t, bfe_u64(a, b, c))
PAIR3(bfe64s, uint64_t, int64_t, uint32_t, uint32_t, bfe_s64(a, b, c))

static inline uint32_t bfi_32(uint32_t a, uint32_t b, uint32_t pos, uint32_t len) {
    uint32_t m = pos < 32 ? LOW_BITS(uint32_t, 32, len) << (pos & 31) : 0;
    return (b & ~m) | ((a << (pos & 31)) & m);
}
static inline uint64_t bfi_64(uint64_t a, uint64_t b, uint32_t pos, uint32_t len) {
    uint64_t m = pos < 64 ? LOW_BITS(uint64_t, 64, len) << (pos & 63) : 0;
    return (b & ~m) | ((a << (pos & 63)) & m);
}
PAIR4(bfi32, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, bfi_32(a, b, c & 0xff, e & 0xff))
PAIR4(bfi64, uint64_t, uint64_t, uint64_t, uint32_t, uint32_t, bfi_64(a, b, c, e))

// szext: the low n bits of a, extended. n = 0 gives 0; n >= 32 gives a (.clamp) or counts modulo 32.
static inline uint32_t szext(uint32_t a, uint32_t n, bool sign) {
    uint32_t low = LOW_BITS(uint32_t, 32, n), top = low & ~(low >> 1);
    return (a & low) | (sign && (a & top) ? ~low : 0);
}
PAIR2(szext_clamp_u, uint32_t, uint32_t, uint32_t, szext(a, b, false))
PAIR2(szext_clamp_s, uint32_t, uint32_t, uint32_t, szext(a, b, true))
PAIR2(szext_wrap_u, uint32_t, uint32_t, uint32_t, szext(a, b & 31, false))
PAIR2(szext_wrap_s, uint32_t, uint32_t, uint32_t, szext(a, b & 31, true))

// bmsk: b ones from bit a up.
static inline uint32_t bmsk(uint32_t a, uint32_t b) {
    return a < 32 ? LOW_BITS(uint32_t, 32, b) << (a & 31) : 0;
}
PAIR2(bmsk_clamp, uint32_t, uint32_t, uint32_t, bmsk(a, b))
PAIR2(bmsk_wrap, uint32_t, uint32_t, uint32_t, bmsk(a & 31, b & 31))

// ---- counting and reversing -----------------------------------------------------------------
static inline uint32_t popc_32(uint32_t x) {
    x -= (x >> 1) & 0x55555555u;
    x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0fu;
    x += x >> 8;
    return (x + (x >> 16)) & 0x3f;
}
static inline uint32_t clz_32(uint32_t x) { return x ? (uint32_t)__builtin_clz(x) : 32; }
static inline uint32_t clz_64(uint64_t x) { return x ? (uint32_t)__builtin_clzll(x) : 64; }
static inline uint32_t brev_32(uint32_t x) {
    x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
    x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
    x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
    x = ((x >> 8) & 0x00ff00ffu) | ((x & 0x00ff00ffu) << 8);
    return x >> 16 | x << 16;
}
PAIR1(popc32, uint32_t, uint32_t, popc_32(a))
PAIR1(popc64, uint32_t, uint64_t, popc_32((uint32_t)a) + popc_32((uint32_t)(a >> 32)))
PAIR1(clz32, uint32_t, uint32_t, clz_32(a))
PAIR1(clz64, uint32_t, uint64_t, clz_64(a))
PAIR1(brev32, uint32_t, uint32_t, brev_32(a))
PAIR1(brev64, uint64_t, uint64_t, (uint64_t)brev_32((uint32_t)a) << 32 | brev_32((uint32_t)(a >> 32)))

// bfind: the highest bit that is not a copy of the sign; ~0 when there is none. msb - clz is -1 then.
PAIR1(bfind32u, uint32_t, uint32_t, 31 - clz_32(a))
PAIR1(bfind32s, uint32_t, int32_t, 31 - clz_32((uint32_t)(a ^ (a >> 31))))
PAIR1(bfind64u, uint32_t, uint64_t, 63 - clz_64(a))
PAIR1(bfind64s, uint32_t, int64_t, 63 - clz_64((uint64_t)(a ^ (a >> 63))))
#define SHIFTAMT(bits, z) ((z) == bits ? UINT32_MAX : (z))
PAIR1(bfind32u_amt, uint32_t, uint32_t, SHIFTAMT(32, clz_32(a)))
PAIR1(bfind32s_amt, uint32_t, int32_t, SHIFTAMT(32, clz_32((uint32_t)(a ^ (a >> 31)))))
PAIR1(bfind64u_amt, uint32_t, uint64_t, SHIFTAMT(64, clz_64(a)))
PAIR1(bfind64s_amt, uint32_t, int64_t, SHIFTAMT(64, clz_64((uint64_t)(a ^ (a >> 63)))))

// fns: the n-th set bit of mask from bit base on, upwards for n > 0, downwards for n < 0. The magnitude
// of the least n cannot be had; an H200 answers 0.
static uint32_t fns(uint32_t mask, uint32_t base, int32_t n) {
    if (base > 31) return UINT32_MAX;
    if (n == INT32_MIN) return 0;
    if (n == 0) return (mask >> base) & 1 ? base : UINT32_MAX;
    uint32_t left = (uint32_t)(n > 0 ? n : -n) - 1;
    for (int pos = (int)base; pos >= 0 && pos<32; pos += n> 0 ? 1 : -1)
        if (((mask >> pos) & 1) && left-- == 0) return (uint32_t)pos;
    return UINT32_MAX;
}
PAIR3(fns32, uint32_t, uint32_t, uint32_t, int32_t, fns(a, b, c))

// ---- prmt -----------------------------------------------------------------------------------
// Bytes of b:a picked by four selector nibbles; bit 3 of a nibble replicates the byte's sign. The
// special modes use two bits of c, which stand for one of four selectors without sign.
static const uint16_t prmt_modes[7][4] = {
    [ORR_PRMT_F4E] = {0x3210, 0x4321, 0x5432, 0x6543}, [ORR_PRMT_B4E] = {0x5670, 0x6701, 0x7012, 0x0123},
    [ORR_PRMT_RC8] = {0x0000, 0x1111, 0x2222, 0x3333}, [ORR_PRMT_ECL] = {0x3210, 0x3211, 0x3222, 0x3333},
    [ORR_PRMT_ECR] = {0x0000, 0x1110, 0x2210, 0x3210}, [ORR_PRMT_RC16] = {0x1010, 0x3232, 0x1010, 0x3232},
};
static inline uint32_t prmt_byte(uint64_t ba, uint32_t nibble) {
    uint32_t byte = (uint32_t)(ba >> ((nibble & 7) * 8)) & 0xff;
    uint32_t sign = 0u - (byte >> 7), rep = 0u - ((nibble >> 3) & 1);
    return ((byte & ~rep) | (sign & rep)) & 0xff;
}
static inline uint32_t prmt_any(uint32_t a, uint32_t b, uint32_t s) {
    uint64_t ba = JOIN(b, a);
    return prmt_byte(ba, s) | prmt_byte(ba, s >> 4) << 8 | prmt_byte(ba, s >> 8) << 16 |
           prmt_byte(ba, s >> 12) << 24;
}
PAIR3(prmt, uint32_t, uint32_t, uint32_t, uint32_t, prmt_any(a, b, c))
#define PRMT_LOADS                                                                                           \
    const uint32_t *pa = SRC_A(w, u, uint32_t), *pb = SRC_B(w, u, uint32_t), *pc = SRC_C(w, u, uint32_t);    \
    const uint16_t *mode = prmt_modes[u->inst->sub];
PAIR_BODY(prmt_mode, uint32_t, PRMT_LOADS, prmt_any(pa[i], pb[i], mode[pc[i] & 3]))

// With a constant selector, nearly always, each byte is the same shifts in every lane.
#define PRMT_CONST_LOADS                                                                                     \
    uint32_t s =                                                                                             \
        u->inst->sub ? prmt_modes[u->inst->sub][SRC_C(w, u, uint32_t)[0] & 3] : SRC_C(w, u, uint32_t)[0];    \
    PRMT_SHIFTS(s)
PAIR_BODY(prmt_const, uint32_t, PRMT_CONST_LOADS, PRMT_BYTES)

// ---- choosing -------------------------------------------------------------------------------
#define BY_WIDTH(op)                                                                                         \
    { PICK(op##16), PICK(op##32), PICK(op##64) }

static handlers pick_pred(const orr_kernel *k, const orr_inst *i, const char **why) {
    if (!shape_fits(k, i, i->op == ORR_OP_NOT ? "P=P" : "P=PP")) return no_handlers(why, BAD_OPERANDS);
    switch (i->op) {
    case ORR_OP_AND: return BOTH(and_pred);
    case ORR_OP_OR: return BOTH(or_pred);
    case ORR_OP_XOR: return BOTH(xor_pred);
    default: return BOTH(not_pred);
    }
}

static handlers pick_bitwise(const orr_kernel *k, const orr_inst *i, int slot, const char **why) {
    static const handlers and[3] = BY_WIDTH(and), or [3] = BY_WIDTH(or), xor[3] = BY_WIDTH(xor);
    static const handlers not [3] = BY_WIDTH(not ), cnot[3] = BY_WIDTH(cnot);
    bool one = i->op == ORR_OP_NOT || i->op == ORR_OP_CNOT;
    if (!plain(k, i, slot, one ? 1 : 2)) return no_handlers(why, BAD_OPERANDS);
    switch (i->op) {
    case ORR_OP_AND: return and[slot % 3];
    case ORR_OP_OR: return or [slot % 3];
    case ORR_OP_XOR: return xor[slot % 3];
    case ORR_OP_NOT: return not [slot % 3];
    default: return cnot[slot % 3];
    }
}

static handlers pick_lop3(const orr_kernel *k, const orr_inst *i, const char **why) {
    if (shape_fits(k, i, "W=WWW")) return PICK(lop3);
    if (shape_fits(k, i, "wp=WWWP")) return BOTH(lop3_bool);
    return no_handlers(why, BAD_OPERANDS);
}

static handlers pick_shift(const orr_kernel *k, const orr_inst *i, int slot, const char **why) {
    static const handlers shl[3] = BY_WIDTH(shl);
    static const handlers shr[SLOTS] = {PICK(shr_u16), PICK(shr_u32), PICK(shr_u64),
                                        PICK(shr_s16), PICK(shr_s32), PICK(shr_s64)};
    static const char *const shapes[3] = {"H=HW", "W=WW", "D=DW"};
    if (!shape_fits(k, i, shapes[slot % 3])) return no_handlers(why, BAD_OPERANDS);
    return i->op == ORR_OP_SHL ? shl[slot % 3] : shr[slot];
}

static handlers pick_field(const orr_kernel *k, const orr_inst *i, int slot, const char **why) {
    bool wide = slot % 3 == SLOT_U64, sign = slot >= SLOT_S16;
    if (i->op == ORR_OP_BFI) {
        if (!shape_fits(k, i, wide ? "D=DDWW" : "W=WWWW")) return no_handlers(why, BAD_OPERANDS);
        return wide ? PICK(bfi64) : PICK(bfi32);
    }
    if (!shape_fits(k, i, wide ? "D=DWW" : "W=WWW")) return no_handlers(why, BAD_OPERANDS);
    if (wide) return sign ? PICK(bfe64s) : PICK(bfe64u);
    return sign ? PICK(bfe32s) : PICK(bfe32u);
}

static handlers pick_count(const orr_kernel *k, const orr_inst *i, int slot, const char **why) {
    bool wide = slot % 3 == SLOT_U64, sign = slot >= SLOT_S16;
    if (!shape_fits(k, i, wide ? "W=D" : "W=W")) return no_handlers(why, BAD_OPERANDS);
    if (i->op == ORR_OP_POPC) return wide ? PICK(popc64) : PICK(popc32);
    if (i->op == ORR_OP_CLZ) return wide ? PICK(clz64) : PICK(clz32);
    if (i->mods & ORR_M_SHIFTAMT) {
        if (wide) return sign ? PICK(bfind64s_amt) : PICK(bfind64u_amt);
        return sign ? PICK(bfind32s_amt) : PICK(bfind32u_amt);
    }
    if (wide) return sign ? PICK(bfind64s) : PICK(bfind64u);
    return sign ? PICK(bfind32s) : PICK(bfind32u);
}

static handlers pick_word(const orr_kernel *k, const orr_inst *i, const char **why) { // on 32 bits alone
    bool wrap = (i->mods & ORR_M_WRAP) != 0, sign = i->type == ORR_T_S32;
    int n = i->op == ORR_OP_SZEXT || i->op == ORR_OP_BMSK ? 2 : 3;
    if (!plain(k, i, SLOT_U32, n)) return no_handlers(why, BAD_OPERANDS);
    switch (i->op) {
    case ORR_OP_FNS: return PICK(fns32);
    case ORR_OP_SZEXT:
        if (wrap) return sign ? PICK(szext_wrap_s) : PICK(szext_wrap_u);
        return sign ? PICK(szext_clamp_s) : PICK(szext_clamp_u);
    case ORR_OP_BMSK: return wrap ? PICK(bmsk_wrap) : PICK(bmsk_clamp);
    case ORR_OP_SHF:
        if (i->sub) return wrap ? PICK(shf_r_wrap) : PICK(shf_r_clamp);
        return wrap ? PICK(shf_l_wrap) : PICK(shf_l_clamp);
    default: // prmt
        if (i->sub > ORR_PRMT_RC16) return no_handlers(why, BAD_TYPE);
        if (orr_src(k, i, 2)->kind == ORR_K_IMM) return PICK(prmt_const);
        return i->sub ? PICK(prmt_mode) : PICK(prmt);
    }
}

handlers orr_pick_logic(const orr_kernel *k, const orr_inst *i, const char **why) {
    int slot = slot_of(i->type);
    switch (i->op) {
    case ORR_OP_AND:
    case ORR_OP_OR:
    case ORR_OP_XOR:
    case ORR_OP_NOT:
        if (i->type == ORR_T_PRED) return pick_pred(k, i, why);
        // fall through
    case ORR_OP_CNOT: return slot < 0 ? no_handlers(why, BAD_TYPE) : pick_bitwise(k, i, slot, why);
    case ORR_OP_SHL:
    case ORR_OP_SHR: return slot < 0 ? no_handlers(why, BAD_TYPE) : pick_shift(k, i, slot, why);
    case ORR_OP_LOP3: return pick_lop3(k, i, why);
    case ORR_OP_POPC:
    case ORR_OP_CLZ:
    case ORR_OP_BFIND:
        return slot < 0 || slot % 3 == SLOT_U16 ? no_handlers(why, BAD_TYPE) : pick_count(k, i, slot, why);
    case ORR_OP_BREV:
        if (slot < 0 || slot % 3 == SLOT_U16) return no_handlers(why, BAD_TYPE);
        if (!plain(k, i, slot, 1)) return no_handlers(why, BAD_OPERANDS);
        return slot % 3 == SLOT_U64 ? PICK(brev64) : PICK(brev32);
    case ORR_OP_BFE:
    case ORR_OP_BFI:
        return slot < 0 || slot % 3 == SLOT_U16 ? no_handlers(why, BAD_TYPE) : pick_field(k, i, slot, why);
    case ORR_OP_FNS:
    case ORR_OP_SZEXT:
    case ORR_OP_BMSK:
    case ORR_OP_SHF:
    case ORR_OP_PRMT: return pick_word(k, i, why);
    default: return (handlers){0};
    }
}
