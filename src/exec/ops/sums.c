// Sums of products as tensor cores make them, eight columns of D at a time.
//
// All terms of a sum are lined up at the largest exponent among them and cut off `guard` bits below it. Where
// no factor's exponent is further than 60 from 0, a product of two factors is exact in f32 (their
// significands have 11 bits at most), and so is the product times the power of two that makes an integer of
// what is kept: converting to an integer cuts the rest off. The integers are added up exactly, the sum is cut
// to the bits that are kept of it and scaled back.
//
// 16 terms are below 2^27 each, so that a sum may not fit 31 bits; such a sum, one whose largest exponent is
// so low that the power of two would be none of f32, and an accumulator that is no number are refused.
#include "exec/ops/sums.h"

#include <string.h>

#include "exec/ops/vectors.h"

enum { ZERO = -1000, FAR = 60, LOW = -100, LEAST = -126, FITS = 1 << 30 };

typedef int16_t shorts __attribute__((vector_size(16)));
typedef uint32_t words __attribute__((vector_size(16))); // for sums that may wrap

ALWAYS shorts shorts_at(const int16_t *p) {
    shorts v;
    memcpy(&v, p, sizeof v);
    return v;
}
ALWAYS ints all(int32_t x) { return (ints){x, x, x, x}; }
ALWAYS floats times(float x) { return (floats){x, x, x, x}; }
ALWAYS ints larger(ints x, ints y) {
    ints m = x > y;
    return (x & m) | (y & ~m);
}
ALWAYS words cut(floats x) { return (words) __builtin_convertvector(x, ints); }
ALWAYS bool any(ints m) {
    int64_t h[2];
    memcpy(h, &m, sizeof h);
    return (h[0] | h[1]) != 0;
}

bool orr_sums_exponents(int type, const uint32_t *f, int n, int16_t *e) {
    int32_t least = type == ORR_T_F16 || type == ORR_T_E5M2 ? -14 : type == ORR_T_E4M3 ? -6 : LEAST, odd = 0;
    for (int i = 0; i < n; i++) {
        int32_t m = (int32_t)(f[i] & 0x7fffffff), x = (m >> 23) - 127;
        x = x < least ? least : x;
        odd |= m == 0 ? 0 : (x > FAR) | (x < -FAR);
        e[i] = (int16_t)(m == 0 ? ZERO : x);
    }
    return !odd;
}

// The largest exponent of each column's products.
ALWAYS shorts largest(const sums *r, int len, const int16_t *eb) {
    shorts top = {2 * ZERO, 2 * ZERO, 2 * ZERO, 2 * ZERO, 2 * ZERO, 2 * ZERO, 2 * ZERO, 2 * ZERO};
    for (int k = 0; k < len; k++, eb += r->n) {
        int16_t x = r->ea[k];
        shorts e = shorts_at(eb) + (shorts){x, x, x, x, x, x, x, x}, m = e > top;
        top = (e & m) | (top & ~m);
    }
    return top;
}

// The largest exponents of four columns' products become those of products and C; not 0: a column is refused.
ALWAYS ints line_up(ints c, ints *top) {
    ints bits = c & all(0x7fffffff), e = larger((bits >> 23) - all(127), all(LEAST));
    *top = larger(*top, e);
    ints low = (*top < all(LOW)) & ~((bits == all(0)) & (*top == all(LEAST))); // all zero is not too low
    *top = larger(*top, all(LOW));
    return low | (e > all(127));
}

// Sums of four columns, in units of the last bit kept, to f32; not 0: one does not fit.
ALWAYS ints result(const sums *r, words sum, ints top, ints *out) {
    ints sign = (ints)sum >> 31, size = (ints)((sum ^ (words)sign) - (words)sign);
    floats f = __builtin_convertvector(size, floats);
    ints bits;
    if (r->keep)
        bits = (ints)f & all((int32_t)(~0u << (23 - r->keep)));
    else // to nearest, and one less where that is more
        bits = (ints)f + (__builtin_convertvector(f, ints) > size);
    floats scale = (floats)((top + all(127 - r->guard)) << 23);
    *out = (ints)((floats)bits * scale) | (sign & all(INT32_MIN));
    return (size >= all(FITS)) | (size < all(0));
}

// Whether a column is refused is looked at once, when all is done: there is more to do at a time this way.
ALWAYS bool eight(const sums *r, int len, int j, uint32_t *c) {
    ints c0 = ints_at(c + j), c1 = ints_at(c + j + 4);
    shorts top = largest(r, len, r->eb + j);
    ints t0 = {top[0], top[1], top[2], top[3]}, t1 = {top[4], top[5], top[6], top[7]};
    ints bad = line_up(c0, &t0) | line_up(c1, &t1);
    floats s0 = (floats)((all(r->guard + 127) - t0) << 23), s1 = (floats)((all(r->guard + 127) - t1) << 23);
    words sum0 = cut((floats)c0 * s0), sum1 = cut((floats)c1 * s1);
    const uint32_t *fb = r->fb + j;
    for (int k = 0; k < len; k++, fb += r->n) {
        floats x = times(f32_of(r->fa[k]));
        sum0 += cut((floats)ints_at(fb) * x * s0);
        sum1 += cut((floats)ints_at(fb + 4) * x * s1);
    }
    bad |= result(r, sum0, t0, &c0) | result(r, sum1, t1, &c1);
    if (any(bad)) return false;
    memcpy(c + j, &c0, sizeof c0);
    memcpy(c + j + 4, &c1, sizeof c1);
    return true;
}

bool orr_sums(const sums *r, int j, uint32_t *c) {
    if (r->len == 16) return eight(r, 16, j, c); // loops whose length is known are unrolled
    if (r->len == 8) return eight(r, 8, j, c);
    return eight(r, r->len, j, c);
}
