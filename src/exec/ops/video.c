// Video instructions: scalar (bytes and halves of words) and SIMD (two halves or four bytes a lane).
//
// They are rare, and software on every GPU since Maxwell (whose results, on an H200, differ from the
// manual for some saturating, merging and scaled scalar forms: the manual is followed), so a plain loop over
// the lanes reads the instruction's fields (isa.h says how they are packed) instead of one handler a variant.
// Intermediate results are 64 bits wide, which holds every value of the manual's 33-bit ones. Section of the
// PTX manual: "Video Instructions".
#include "exec/ops/pair.h"

static bool is_signed(uint32_t type) { return type == ORR_T_S32; }

// The low `bits` of x, extended.
static int64_t extend(uint32_t x, int bits, bool sign) {
    int n = 64 - bits;
    return sign ? (int64_t)((uint64_t)x << n) >> n : (int64_t)((uint64_t)x << n >> n);
}

static int64_t clamp(int64_t x, int bits, bool sign) {
    int64_t lo = sign ? -(1ll << (bits - 1)) : 0, hi = sign ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1;
    return x < lo ? lo : x > hi ? hi : x;
}

static bool compare(int64_t a, int64_t b, uint8_t cmp) {
    switch (cmp) {
    case ORR_CMP_EQ: return a == b;
    case ORR_CMP_NE: return a != b;
    case ORR_CMP_LT: return a < b;
    case ORR_CMP_LE: return a <= b;
    case ORR_CMP_GT: return a > b;
    default: return a >= b;
    }
}

// What scalar and SIMD forms share.
static int64_t operate(uint8_t vop, int64_t a, int64_t b, uint8_t cmp) {
    switch (vop) {
    case ORR_VOP_ADD: return a + b;
    case ORR_VOP_SUB: return a - b;
    case ORR_VOP_ABSDIFF: return a < b ? b - a : a - b;
    case ORR_VOP_MIN: return a < b ? a : b;
    case ORR_VOP_MAX: return a > b ? a : b;
    case ORR_VOP_AVRG: return (a + b + (a + b >= 0)) >> 1;
    default: return compare(a, b, cmp);
    }
}

// ---- scalar ---------------------------------------------------------------------------------
typedef struct part { // a selector: 0 the word, 1..4 a byte, 5..6 a half
    int at, bits;
} part;
static part part_of(uint32_t sel) {
    if (sel == 0) return (part){0, 32};
    return sel < 5 ? (part){8 * (int)(sel - 1), 8} : (part){16 * (int)(sel - 5), 16};
}
static int64_t take(uint32_t x, part p, bool sign) { return extend(x >> p.at, p.bits, sign); }

static int64_t shift(const orr_inst *in, int64_t a, uint32_t n) {
    n = in->mods & ORR_M_WRAP ? n & 31 : n < 32 ? n : 32;
    return in->sub == ORR_VOP_SHL ? (int64_t)((uint64_t)a << n) : a >> n;
}

static uint32_t vmad(const orr_inst *in, int64_t a, int64_t b, uint32_t c) {
    uint32_t shr = ((uint32_t)in->disp >> 8) & 0xff;
    bool po = (in->disp >> 16) & 1, neg = ((in->disp >> 17) ^ (in->disp >> 18)) & 1,
         negc = (in->disp >> 19) & 1;
    bool sign = is_signed(in->stype) || is_signed(in->disp & 0xff) || neg || negc;
    __int128 t = (__int128)a * b;
    if (neg) t = -t;
    if (negc) c = ~c;
    t += extend(c, 32, sign) + (po || negc);
    t >>= shr;
    if (in->mods & ORR_M_SAT) {
        __int128 lo = sign ? INT32_MIN : 0, hi = sign ? (__int128)INT32_MAX : (__int128)UINT32_MAX;
        t = t < lo ? lo : t > hi ? hi : t;
    }
    return (uint32_t)t;
}

static uint32_t scalar(const orr_inst *in, uint32_t ra, uint32_t rb, uint32_t c) {
    part pa = part_of(in->imm & 15), pb = part_of((in->imm >> 4) & 15), pd = part_of((in->imm >> 12) & 15);
    int64_t a = take(ra, pa, is_signed(in->stype)), b = take(rb, pb, is_signed(in->disp & 0xff)), t;
    if (in->sub == ORR_VOP_MAD) return vmad(in, a, b, c);
    bool sign = in->sub != ORR_VOP_SET && is_signed(in->type);
    if (in->sub == ORR_VOP_SHL || in->sub == ORR_VOP_SHR)
        t = shift(in, a, (uint32_t)b);
    else
        t = operate(in->sub, a, b, in->cmp);
    if (in->mods & ORR_M_SAT) t = clamp(t, pd.bits, sign);
    if (pd.bits < 32) { // the secondary operation is the merge into c
        uint32_t m = ((1u << pd.bits) - 1) << pd.at;
        return (((uint32_t)t << pd.at) & m) | (c & ~m);
    }
    switch ((in->imm >> 16) & 15) {
    case 1: return (uint32_t)t + c;
    case 2: return (uint32_t)operate(ORR_VOP_MIN, t, extend(c, 32, sign), 0);
    case 3: return (uint32_t)operate(ORR_VOP_MAX, t, extend(c, 32, sign), 0);
    default: return (uint32_t)t;
    }
}

// ---- SIMD -----------------------------------------------------------------------------------
static uint32_t simd(const orr_inst *in, int n, uint32_t ra, uint32_t rb, uint32_t c) {
    int bits = 32 / n;
    uint64_t both = (uint64_t)rb << 32 | ra;
    uint32_t sel = (uint32_t)in->disp, mask = (sel >> 24) & 15, wrap = 2 * (uint32_t)n - 1;
    bool add = (in->imm >> 16) & 1, sign = in->sub != ORR_VOP_SET && is_signed(in->type);
    uint32_t field = (1u << bits) - 1, sum = c, merged = 0;
    for (int i = 0; i < n; i++) {
        uint32_t at = (sel >> (3 * i)) & wrap, bt = (sel >> (12 + 3 * i)) & wrap; // of b:a
        int64_t a = extend((uint32_t)(both >> (at * (uint32_t)bits)), bits, is_signed(in->stype));
        int64_t b = extend((uint32_t)(both >> (bt * (uint32_t)bits)), bits, is_signed(in->imm & 0xff));
        int64_t t = operate(in->sub, a, b, in->cmp);
        if (in->mods & ORR_M_SAT) t = clamp(t, bits, sign);
        bool on = (mask >> i) & 1;
        if (on) sum += (uint32_t)t;
        merged |= (on ? (uint32_t)t & field : (c >> (i * bits)) & field) << (i * bits);
    }
    return add ? sum : merged;
}

// ---- handlers -------------------------------------------------------------------------------
// c may be absent in the scalar forms; b then stands in and is not looked at.
#define LANE_LOOP(expr)                                                                                      \
    uint32_t *d = DST(w, u, uint32_t);                                                                       \
    const uint32_t *pa = SRC_A(w, u, uint32_t), *pb = SRC_B(w, u, uint32_t);                                 \
    const uint32_t *pc = u->nsrc > 2 ? SRC_C(w, u, uint32_t) : pb;                                           \
    for (int i = 0; i < ORR_WARP; i++)                                                                       \
        if (w->exec >> i & 1) d[i] = expr;
static void video1(warp *w, const uop *u) { LANE_LOOP(scalar(u->inst, pa[i], pb[i], pc[i])) }
static void video2(warp *w, const uop *u) { LANE_LOOP(simd(u->inst, 2, pa[i], pb[i], pc[i])) }
static void video4(warp *w, const uop *u){LANE_LOOP(simd(u->inst, 4, pa[i], pb[i], pc[i]))}

handlers orr_pick_video(const orr_kernel *k, const orr_inst *i, const char **why) {
    uint32_t sa = i->imm & 15, sb = (i->imm >> 4) & 15, sd = (i->imm >> 12) & 15, op2 = (i->imm >> 16) & 15;
    bool scalar_only = i->sub == ORR_VOP_SHL || i->sub == ORR_VOP_SHR || i->sub == ORR_VOP_MAD;
    if (i->sub > ORR_VOP_AVRG || i->cmp > ORR_CMP_GE) return no_handlers(why, BAD_TYPE);
    if (i->op != ORR_OP_VIDEO) {
        if (scalar_only) return no_handlers(why, BAD_TYPE);
        if (!shape_fits(k, i, "W=WWW")) return no_handlers(why, BAD_OPERANDS);
        return i->op == ORR_OP_VIDEO2 ? BOTH(video2) : BOTH(video4);
    }
    if (sa > 6 || sb > 6 || sd > 6 || op2 > 4 || i->sub == ORR_VOP_AVRG) return no_handlers(why, BAD_TYPE);
    bool needs_c = sd || op2 || i->sub == ORR_VOP_MAD;
    if (!shape_fits(k, i, "W=WWW") && (needs_c || !shape_fits(k, i, "W=WW")))
        return no_handlers(why, BAD_OPERANDS);
    return BOTH(video1);
}
