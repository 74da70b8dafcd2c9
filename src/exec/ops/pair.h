// Private to exec/: makes a pair of handlers from one expression, and checks operands before a
// handler is chosen.
//
// PAIR1..PAIR4 take the element types of the destination and the sources and an expression over the
// lane's values a, b, c, e. The full handler writes every lane; the masked one computes every lane
// too and blends by bits, so that both become straight vector code. The destination type must be
// unsigned. Sources are read into locals first: a load inside a ?: would keep the loop scalar.
#ifndef ORR_PAIR_H
#define ORR_PAIR_H

#include "exec/warp.h"

#if defined(__clang__) // LANES asks for vector code; where there is none (division), that is no fault
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#define PICK(name) ((handlers){name##_full, name##_masked})
#define BOTH(name) ((handlers){name, name})

// A lane's mask (~0u or 0) widened or narrowed to T, and the blend it steers.
#define MASK_AS(T, m)       ((T)(int32_t)(m))
#define BLEND(T, old, v, m) ((T)(((T)(v)&MASK_AS(T, m)) | ((T)(old) & (T)~MASK_AS(T, m))))

#define PAIR_BODY(name, TD, LOADS, expr)                                                                     \
    static void name##_full(warp *w, const uop *u) {                                                         \
        TD *d = DST(w, u, TD);                                                                               \
        LOADS                                                                                                \
        LANES { d[i] = (TD)(expr); }                                                                         \
    }                                                                                                        \
    static void name##_masked(warp *w, const uop *u) {                                                       \
        TD *d = DST(w, u, TD);                                                                               \
        const uint32_t *lane = w->lane;                                                                      \
        LOADS                                                                                                \
        LANES { d[i] = BLEND(TD, d[i], expr, lane[i]); }                                                     \
    }

// The expressions are inline functions of the values, so that each is written and typed once.
#define PAIR1(name, TD, TA, expr)                                                                            \
    static inline TD name##_lane(TA a) { return (TD)(expr); }                                                \
    PAIR_BODY(name, TD, const TA *pa = SRC_A(w, u, TA);, name##_lane(pa[i]))
#define PAIR2(name, TD, TA, TB, expr)                                                                        \
    static inline TD name##_lane(TA a, TB b) { return (TD)(expr); }                                          \
    PAIR_BODY(name, TD, const TA *pa = SRC_A(w, u, TA); const TB *pb = SRC_B(w, u, TB);                      \
              , name##_lane(pa[i], pb[i]))
#define PAIR3(name, TD, TA, TB, TC, expr)                                                                    \
    static inline TD name##_lane(TA a, TB b, TC c) { return (TD)(expr); }                                    \
    PAIR_BODY(name, TD, const TA *pa = SRC_A(w, u, TA); const TB *pb = SRC_B(w, u, TB);                      \
              const TC *pc = SRC_C(w, u, TC);, name##_lane(pa[i], pb[i], pc[i]))
#define PAIR4(name, TD, TA, TB, TC, TE, expr)                                                                \
    static inline TD name##_lane(TA a, TB b, TC c, TE e) { return (TD)(expr); }                              \
    PAIR_BODY(name, TD, const TA *pa = SRC_A(w, u, TA); const TB *pb = SRC_B(w, u, TB);                      \
              const TC *pc = SRC_C(w, u, TC); const TE *pe = SRC_N(w, u, 3, TE);                             \
              , name##_lane(pa[i], pb[i], pc[i], pe[i]))

// ---- masks and lanes ------------------------------------------------------------------------
// A full handler finds w->exec right but w->lane stale. One that serves both cases and reads w->lane
// asks for it here.
static inline const uint32_t *active_lanes(warp *w) {
    set_exec(w, w->exec);
    return w->lane;
}

// ~0u in the lanes of m, 0 elsewhere.
static inline void spread(uint32_t m, uint32_t out[ORR_WARP]) {
    LANES { out[i] = 0u - (uint32_t)((m & lane_bit[i]) != 0); }
}

static inline uint32_t bool_combine(uint32_t m, uint8_t op, uint32_t c) {
    switch (op) {
    case ORR_BOOL_AND: return m & c;
    case ORR_BOOL_OR: return m | c;
    case ORR_BOOL_XOR: return m ^ c;
    default: return m;
    }
}

// ---- types ----------------------------------------------------------------------------------
// Tables of handlers are indexed by width and sign: u16 u32 u64 s16 s32 s64.
enum { SLOT_U16, SLOT_U32, SLOT_U64, SLOT_S16, SLOT_S32, SLOT_S64, SLOTS };
static inline int slot_of(uint8_t type) {
    switch (type) {
    case ORR_T_B16:
    case ORR_T_U16: return SLOT_U16;
    case ORR_T_B32:
    case ORR_T_U32: return SLOT_U32;
    case ORR_T_B64:
    case ORR_T_U64: return SLOT_U64;
    case ORR_T_S16: return SLOT_S16;
    case ORR_T_S32: return SLOT_S32;
    case ORR_T_S64: return SLOT_S64;
    default: return -1;
    }
}

// ---- operands -------------------------------------------------------------------------------
// Do the instruction's operands have these classes? `shape` is the destinations' class letters, a
// '=', and the sources' ("W=WW"); a lower-case letter may be absent or the sink, and a '*' ends the
// list early (more may follow, the caller checks them). Handlers index banks by class without
// looking, so nothing is picked before this holds.
static inline bool shape_fits(const orr_kernel *k, const orr_inst *in, const char *shape) {
    static const char letters[] = "PHWDQ";
    int n = 0, total = in->ndst + in->nsrc;
    bool source = false;
    for (const char *s = shape; *s; s++) {
        if (*s == '=') {
            if (n != in->ndst) return false;
            source = true;
            continue;
        }
        if (*s == '*') return true;
        bool optional = *s >= 'a';
        char want = optional ? (char)(*s - 'a' + 'A') : *s;
        if (n == total || (!source && n == in->ndst)) return false;
        const orr_operand *o = &k->operands[in->first + n++];
        if (o->kind == ORR_K_NONE) {
            if (!optional) return false;
            continue;
        }
        if (!source && o->kind != ORR_K_REG) return false;
        if (o->cls >= ORR_CLASSES || letters[o->cls] != want) return false;
    }
    return n == total;
}

// A plain operation on one integer type: a destination and n sources of the type's class.
static inline bool plain(const orr_kernel *k, const orr_inst *in, int slot, int n) {
    static const char *const shapes[3][3] = {
        {"H=H", "H=HH", "H=HHH"}, {"W=W", "W=WW", "W=WWW"}, {"D=D", "D=DD", "D=DDD"}};
    return shape_fits(k, in, shapes[slot % 3][n - 1]);
}

#define BAD_OPERANDS "its operands do not fit its type"
#define BAD_TYPE     "the instruction has no such type or modifier"
static inline handlers no_handlers(const char **why, const char *reason) {
    *why = reason;
    return (handlers){0};
}

// int.c asks these for what is theirs.
handlers orr_pick_logic(const orr_kernel *k, const orr_inst *i, const char **why);   // logic.c
handlers orr_pick_compare(const orr_kernel *k, const orr_inst *i, const char **why); // compare.c
handlers orr_pick_video(const orr_kernel *k, const orr_inst *i, const char **why);   // video.c

// A comparison of the first two sources: the lanes for which it is true.
#define COMPARED(name, T, op)                                                                                \
    static inline uint32_t name(const warp *w, const uop *u) {                                               \
        const T *pa = SRC_A(w, u, T), *pb = SRC_B(w, u, T);                                                  \
        uint32_t m = 0;                                                                                      \
        LANES { m |= pa[i] op pb[i] ? lane_bit[i] : 0; }                                                     \
        return m;                                                                                            \
    }

// PRMT with a selector that all lanes have: byte n of the result comes out of s<n> by the same two shifts in
// each lane. PRMT_BYTES is the result.
#define PRMT_SHIFTS(selector)                                                                                \
    const uint32_t *src[4];                                                                                  \
    uint32_t left[4], right[4];                                                                              \
    for (int n = 0; n < 4; n++) {                                                                            \
        uint32_t nibble = (selector) >> (4 * n);                                                             \
        src[n] = nibble & 4 ? SRC_B(w, u, uint32_t) : SRC_A(w, u, uint32_t);                                 \
        left[n] = 24 - 8 * (nibble & 3);                                                                     \
        right[n] = nibble & 8 ? 31 : 24;                                                                     \
    }                                                                                                        \
    const uint32_t *s0 = src[0], *s1 = src[1], *s2 = src[2], *s3 = src[3];                                   \
    const uint32_t l0 = left[0], l1 = left[1], l2 = left[2], l3 = left[3];                                   \
    const uint32_t r0 = right[0], r1 = right[1], r2 = right[2], r3 = right[3];
#define PRMT_BYTE(n) ((uint32_t)((int32_t)(s##n[i] << l##n) >> r##n) & 0xff) << (8 * n)
#define PRMT_BYTES   PRMT_BYTE(0) | PRMT_BYTE(1) | PRMT_BYTE(2) | PRMT_BYTE(3)

#endif
