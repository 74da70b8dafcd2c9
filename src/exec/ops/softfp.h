// Private to exec/: floating point the way the GPU does it, the same bits on every host.
//
// Values travel as bit patterns; arithmetic is the host's IEEE arithmetic, and everything IEEE leaves
// open (which NaN, which zero) is settled here with integer operations. The narrow formats are
// converted by integer operations too, because hosts differ in which of them they know. All of it is
// written without branches, so that loops over lanes turn into SIMD code.
//
// A handler comes as a pair: all lanes, and only the lanes of w->lane. LOOP1, LOOP2 and LOOP3 make both
// from one expression of the operands x, y, z.
#ifndef ORR_SOFTFP_H
#define ORR_SOFTFP_H

#include <fenv.h>
#include <string.h>
#include "exec/warp.h"

#define ALWAYS static inline __attribute__((always_inline))

// ---- bits -----------------------------------------------------------------------------------
static inline float f32_of(uint32_t x) {
    float f;
    memcpy(&f, &x, 4);
    return f;
}
static inline uint32_t bits32(float f) {
    uint32_t x;
    memcpy(&x, &f, 4);
    return x;
}
static inline double f64_of(uint64_t x) {
    double f;
    memcpy(&f, &x, 8);
    return f;
}
static inline uint64_t bits64(double f) {
    uint64_t x;
    memcpy(&x, &f, 8);
    return x;
}

// What the GPU answers when the result is not a number.
#define NAN16  0x7fffu // f16 and bf16
#define NAN32  0x7fffffffu
#define NAN64  0xfff8000000000000ull // when no operand was a NaN; else that operand, made quiet
#define SIGN64 0x8000000000000000ull

// all ones when true
static inline uint32_t mask32(bool c) { return -(uint32_t)c; }
static inline uint64_t mask64(bool c) { return -(uint64_t)c; }
static inline uint32_t pick32(bool c, uint32_t x, uint32_t y) { return (mask32(c) & x) | (~mask32(c) & y); }
static inline uint64_t pick64(bool c, uint64_t x, uint64_t y) { return (mask64(c) & x) | (~mask64(c) & y); }

static inline bool nan32(uint32_t x) { return (x & 0x7fffffff) > 0x7f800000; }
static inline bool nan64(uint64_t x) { return (x & ~SIGN64) > 0x7ff0000000000000ull; }

// .ftz: a subnormal becomes the zero of its sign
static inline uint32_t flush32(uint32_t x) { return x & (mask32((x & 0x7f800000) != 0) | 0x80000000); }
static inline uint32_t in32(uint32_t x, int ftz) { return ftz ? flush32(x) : x; }
// .sat: to [+0, 1], not a number to +0
static inline uint32_t sat32(float r) { return mask32(r > 0) & pick32(r < 1, bits32(r), 0x3f800000); }
static inline uint64_t sat64(double r) {
    return mask64(r > 0) & pick64(r < 1, bits64(r), 0x3ff0000000000000ull);
}
static inline uint32_t out32(float r, int ftz, int sat) {
    uint32_t x = sat ? sat32(r) : pick32(r == r, bits32(r), NAN32);
    return ftz ? flush32(x) : x;
}

// A result that is not a number, f64: an operand that is none is handed on, made quiet; of several,
// y before z before x.
#define QUIET64 0x0008000000000000ull
ALWAYS uint64_t out64(double r, uint64_t x, uint64_t y, uint64_t z) {
    uint64_t n = pick64(nan64(x), x | QUIET64, NAN64);
    n = pick64(nan64(z), z | QUIET64, n);
    n = pick64(nan64(y), y | QUIET64, n);
    return pick64(r == r, bits64(r), n);
}

// -0 is less than +0: of two equal numbers the OR of the bits is the lesser, the AND the greater.
ALWAYS uint32_t min32(uint32_t xb, uint32_t yb, int ftz, int nan) {
    xb = in32(xb, ftz), yb = in32(yb, ftz);
    float x = f32_of(xb), y = f32_of(yb);
    uint32_t r = pick32(y < x, yb, xb) | (mask32(x == y) & yb);
    r = pick32(x == x, r, nan ? NAN32 : yb);
    if (nan) r = pick32(y == y, r, NAN32);
    return pick32(nan32(r), NAN32, r);
}
ALWAYS uint32_t max32(uint32_t xb, uint32_t yb, int ftz, int nan) {
    xb = in32(xb, ftz), yb = in32(yb, ftz);
    float x = f32_of(xb), y = f32_of(yb);
    uint32_t r = pick32(y > x, yb, xb) & (mask32(x != y) | yb);
    r = pick32(x == x, r, nan ? NAN32 : yb);
    if (nan) r = pick32(y == y, r, NAN32);
    return pick32(nan32(r), NAN32, r);
}
// .xorsign.abs: of the magnitudes, with the product's sign
ALWAYS uint32_t xorsign32(uint32_t r, uint32_t x, uint32_t y) {
    return pick32(nan32(r), NAN32, r | ((x ^ y) & 0x80000000));
}

// ---- handler pairs --------------------------------------------------------------------------
static inline uint16_t keep16(uint32_t m, uint16_t r, uint16_t d) { return (uint16_t)((r & m) | (d & ~m)); }
static inline uint32_t keep32(uint32_t m, uint32_t r, uint32_t d) { return (r & m) | (d & ~m); }
static inline uint64_t keep64(uint32_t m, uint64_t r, uint64_t d) {
    uint64_t k = (uint64_t)(int64_t)(int32_t)m;
    return (r & k) | (d & ~k);
}

// N is the width of the elements, DN of the result's
#define LOOP1(name, DN, N, expr)                                                                             \
    static void name##_full(warp *w, const uop *u) {                                                         \
        uint##DN##_t *d = DST(w, u, uint##DN##_t);                                                           \
        const uint##N##_t *a = SRC_A(w, u, uint##N##_t);                                                     \
        LANES {                                                                                              \
            uint##N##_t x = a[i];                                                                            \
            d[i] = (uint##DN##_t)(expr);                                                                     \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_mask(warp *w, const uop *u) {                                                         \
        uint##DN##_t *d = DST(w, u, uint##DN##_t);                                                           \
        const uint##N##_t *a = SRC_A(w, u, uint##N##_t);                                                     \
        LANES {                                                                                              \
            uint##N##_t x = a[i];                                                                            \
            d[i] = keep##DN(w->lane[i], (uint##DN##_t)(expr), d[i]);                                         \
        }                                                                                                    \
    }
#define LOOP2(name, N, expr)                                                                                 \
    static void name##_full(warp *w, const uop *u) {                                                         \
        uint##N##_t *d = DST(w, u, uint##N##_t);                                                             \
        const uint##N##_t *a = SRC_A(w, u, uint##N##_t), *b = SRC_B(w, u, uint##N##_t);                      \
        LANES {                                                                                              \
            uint##N##_t x = a[i], y = b[i];                                                                  \
            d[i] = (uint##N##_t)(expr);                                                                      \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_mask(warp *w, const uop *u) {                                                         \
        uint##N##_t *d = DST(w, u, uint##N##_t);                                                             \
        const uint##N##_t *a = SRC_A(w, u, uint##N##_t), *b = SRC_B(w, u, uint##N##_t);                      \
        LANES {                                                                                              \
            uint##N##_t x = a[i], y = b[i];                                                                  \
            d[i] = keep##N(w->lane[i], (uint##N##_t)(expr), d[i]);                                           \
        }                                                                                                    \
    }
#define LOOP3(name, N, expr)                                                                                 \
    static void name##_full(warp *w, const uop *u) {                                                         \
        uint##N##_t *d = DST(w, u, uint##N##_t);                                                             \
        const uint##N##_t *a = SRC_A(w, u, uint##N##_t), *b = SRC_B(w, u, uint##N##_t),                      \
                          *c = SRC_C(w, u, uint##N##_t);                                                     \
        LANES {                                                                                              \
            uint##N##_t x = a[i], y = b[i], z = c[i];                                                        \
            d[i] = (uint##N##_t)(expr);                                                                      \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_mask(warp *w, const uop *u) {                                                         \
        uint##N##_t *d = DST(w, u, uint##N##_t);                                                             \
        const uint##N##_t *a = SRC_A(w, u, uint##N##_t), *b = SRC_B(w, u, uint##N##_t),                      \
                          *c = SRC_C(w, u, uint##N##_t);                                                     \
        LANES {                                                                                              \
            uint##N##_t x = a[i], y = b[i], z = c[i];                                                        \
            d[i] = keep##N(w->lane[i], (uint##N##_t)(expr), d[i]);                                           \
        }                                                                                                    \
    }
#define PAIR(name) ((handlers){name##_full, name##_mask})

// The host's rounding for the time of one loop. The fences keep the loop's loads and stores, and so
// its arithmetic, between the two calls.
static inline void round_begin(int round) {
    fesetround(round == ORR_RND_RZ   ? FE_TOWARDZERO
               : round == ORR_RND_RM ? FE_DOWNWARD
               : round == ORR_RND_RP ? FE_UPWARD
                                     : FE_TONEAREST);
    __asm__ volatile("" ::: "memory");
}
static inline void round_end(void) {
    __asm__ volatile("" ::: "memory");
    fesetround(FE_TONEAREST);
}
// The same loops under the rounding the instruction asks for
#define ROUNDED(name)                                                                                        \
    static void name##_r_full(warp *w, const uop *u) {                                                       \
        round_begin(u->inst->round);                                                                         \
        name##_full(w, u);                                                                                   \
        round_end();                                                                                         \
    }                                                                                                        \
    static void name##_r_mask(warp *w, const uop *u) {                                                       \
        round_begin(u->inst->round);                                                                         \
        name##_mask(w, u);                                                                                   \
        round_end();                                                                                         \
    }
static inline bool directed(const orr_inst *i) {
    return i->round == ORR_RND_RZ || i->round == ORR_RND_RM || i->round == ORR_RND_RP;
}

// ---- predicates -----------------------------------------------------------------------------
// What setp does with the 32 answers of a comparison: combine with the source predicate, write p and q.
static inline void set_preds(warp *w, const uop *u, uint32_t m, oper p, oper q) {
    uint32_t n = ~m;
    if (u->nsrc > 2) {
        uint32_t c = pred_of(w, u->c);
        switch (u->inst->boolop) {
        case ORR_BOOL_AND:
            m &= c;
            n &= c;
            break;
        case ORR_BOOL_OR:
            m |= c;
            n |= c;
            break;
        case ORR_BOOL_XOR:
            m ^= c;
            n ^= c;
            break;
        default: break;
        }
    }
    set_pred(w, p, m);
    set_pred(w, q, n);
}
static const oper no_oper = {.none = 1};

// Every comparison of floats, for tables: X(id, expression of the floats x and y). The plain ones are
// false when an operand is not a number, the ..U ones true.
#define FLOAT_COMPARISONS(X)                                                                                 \
    X(EQ, x == y)                                                                                            \
    X(NE, (x < y) | (x > y))                                                                                 \
    X(LT, x < y)                                                                                             \
    X(LE, x <= y)                                                                                            \
    X(GT, x > y)                                                                                             \
    X(GE, x >= y)                                                                                            \
    X(EQU, !((x < y) | (x > y)))                                                                             \
    X(NEU, !(x == y))                                                                                        \
    X(LTU, !(x >= y))                                                                                        \
    X(LEU, !(x > y))                                                                                         \
    X(GTU, !(x <= y))                                                                                        \
    X(GEU, !(x < y))                                                                                         \
    X(NUM, (x == x) & (y == y))                                                                              \
    X(NAN, (x != x) | (y != y))

// ---- narrow formats -------------------------------------------------------------------------
// f16 to f32 is exact. A subnormal is scaled up by a multiplication that is exact.
static inline uint32_t f32_from_f16(uint32_t h) {
    uint32_t m = (h & 0x7fff) << 13;
    uint32_t r = bits32(f32_of(m) * 0x1p112f);
    r |= mask32(m >= 0x0f800000) & 0x7f800000; // infinity and NaN keep their fraction
    return r | (h & 0x8000) << 16;
}
// f32 to f16, to nearest even: for a normal result by adding half an ulp (less one when even) to the
// bits; for a subnormal one by letting a float addition do the rounding at the right bit.
static inline uint32_t f16_from_f32(uint32_t x) {
    uint32_t s = x >> 16 & 0x8000, m = x & 0x7fffffff;
    uint32_t normal = (m - 0x38000000 + 0xfff + (m >> 13 & 1)) >> 13;
    uint32_t small = bits32(f32_of(m) + 0.5f) - 0x3f000000;
    uint32_t r = pick32(m < 0x38800000, small, normal);
    r = pick32(m >= 0x477ff000, 0x7c00, r);
    return pick32(m > 0x7f800000, NAN16, r | s);
}
static inline uint32_t f32_from_bf16(uint32_t h) { return h << 16; }
static inline uint32_t bf16_from_f32(uint32_t x) {
    return pick32(nan32(x), NAN16, (x + 0x7fff + (x >> 16 & 1)) >> 16);
}

// The exact x + y rounded to odd: what does not fit is marked in the last bit, so that a later
// rounding to a format at least two bits shorter is the rounding of the exact sum (Boldo, Melquiond).
#define ADD_ODD(name, T, N)                                                                                  \
    static inline T name(T x, T y) {                                                                         \
        T s = x + y, t = s - x;                                                                              \
        T e = (x - (s - t)) + (y - t);                                  /* exactly what s lacks (Knuth) */   \
        uint##N##_t b = bits##N(s), less = (bits##N(e) ^ b) >> (N - 1); /* 1: s is too far from 0 */         \
        uint##N##_t fix = mask##N((e < 0) | (e > 0)) & mask##N((b & 1) == 0);                                \
        return f##N##_of(b + (fix & (1 - 2 * less)));                                                        \
    }
ADD_ODD(add_odd32, float, 32)
ADD_ODD(add_odd64, double, 64)

// A double rounded to nearest even; the method is that of f16_from_f32.
static inline uint32_t f16_from_f64(uint64_t x) {
    uint64_t m = x & ~SIGN64;
    uint64_t normal = (m - (1008ull << 52) + ((1ull << 41) - 1) + (m >> 42 & 1)) >> 42;
    uint64_t small = bits64(f64_of(m) + 0x1p28) - bits64(0x1p28);
    uint64_t r = pick64(m < bits64(0x1p-14), small, normal);
    r = pick64(m >= bits64(65520.0), 0x7c00, r);
    return (uint32_t)pick64(nan64(x), NAN16, r | (x >> 48 & 0x8000));
}
static inline uint32_t bf16_from_f64(uint64_t x) {
    uint64_t m = x & ~SIGN64;
    uint64_t normal = (m - (896ull << 52) + ((1ull << 44) - 1) + (m >> 45 & 1)) >> 45;
    uint64_t small = bits64(f64_of(m) + 0x1p-81) - bits64(0x1p-81);
    uint64_t r = pick64(m < bits64(0x1p-126), small, normal);
    r = pick64(m >= bits64(0x1.ffp127), 0x7f80, r);
    return (uint32_t)pick64(nan64(x), NAN16, r | (x >> 48 & 0x8000));
}

// Any format, any rounding, a value at a time (softfp.c). A value is an integer times a power of two.
typedef struct fpformat {
    uint8_t ebits, fbits;
    bool inf; // the largest exponent means infinity and NaN, as in IEEE
    bool nan; // else: all ones is NaN
} fpformat;
extern const fpformat orr_fmt_f16, orr_fmt_bf16, orr_fmt_tf32, orr_fmt_f32, orr_fmt_f64, orr_fmt_e4m3,
    orr_fmt_e5m2, orr_fmt_e2m1, orr_fmt_e2m3, orr_fmt_e3m2;
enum fpkind { FP_ZERO, FP_FINITE, FP_INF, FP_NAN };
typedef struct fpvalue {
    enum fpkind kind;
    bool neg;
    uint64_t mant; // of FP_FINITE, not 0
    int exp;
} fpvalue;
fpvalue orr_fp_decode(const fpformat *f, uint64_t bits);
// NaN gives the format's all-ones NaN without sign; round is ORR_RND_RN, RZ, RM, RP or RNA; with
// `finite`, what is too large becomes the largest number.
uint64_t orr_fp_encode(const fpformat *f, fpvalue v, int round, bool finite);
// To the integer the rounding asks for (ORR_RND_RNI, ...), still an fpvalue.
fpvalue orr_fp_integral(fpvalue v, int round);

// The comparison of 32 lanes, a bit a lane (float.c)
uint32_t orr_compare_f32(int cmp, const uint32_t *a, const uint32_t *b);

// ---- the family's parts ---------------------------------------------------------------------
handlers orr_pick_half(const orr_kernel *k, const orr_inst *i, const char **why); // half.c
handlers orr_pick_sfu(const orr_kernel *k, const orr_inst *i, const char **why);  // sfu.c
handlers orr_pick_mov(const orr_kernel *k, const orr_inst *i, const char **why);  // mov.c

#endif
