// mma.sync and mma.sp: products of small matrices spread over the registers of a warp.
//
// Manual: PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions". The manual fixes where each
// element lives, and integer and f64 arithmetic; it leaves open how the tensor cores add up floats.
// What is done here is what measurements of Hopper found (Fasi et al. 2021, PeerJ CS 7:e330; Khattak
// and Mikaitis, arXiv 2512.07004; Xie et al., arXiv 2511.10909):
//
//   The products are exact. The products of one step (as many as fit 32 bytes of a row of A: 16 of
//   f16 and bf16, 8 of tf32) and the accumulator are lined up at the largest exponent among them,
//   where a product's exponent is the sum of its factors'; what lies more than 25 bits below that
//   exponent's bit is cut off; the rest is added exactly. The sum is cut to f32, or rounded to
//   nearest even for an f16 accumulator, and is the accumulator of the next step.
//   A result that is not a number is 0x7fffffff (f16: 0x7fff).
//
// On random fragments (subnormals, infinities, NaNs among them) all shapes and types here gave the bits
// that an H200 gave. f64 is a chain of fma along k, each rounded as it says. Integers are exact.
#include "exec/ops/mma.h"
#include "exec/ops/vectors.h"

enum { STEP_BYTES = 32, NO_EXP = -1000 };

// ---- floats ---------------------------------------------------------------------------------
// A factor as s * 2^e with 1 <= |s| < 2, or |s| < 1 and the format's smallest exponent.
typedef struct factors {
    float s[MMA_M * 64];
    int32_t e[MMA_M * 64];
    uint32_t f[MMA_M * 64]; // as f32, for infinities and NaNs
    bool special;           // there are some
} factors;

static void split(int type, int n, factors *f) { f->special = orr_mma_split(type, n, f->f, f->s, f->e); }

static uint32_t f32_from_e4m3(uint8_t x) { // bias 7, no infinities, one NaN
    uint32_t m = x & 0x7fu, normal = (m << 20) + (120u << 23), low = bits32((float)m * 0x1p-9f);
    return pick32(m == 0x7f, NAN32, pick32(m < 8, low, normal)) | (x & 0x80u) << 24;
}

static uint16_t f16_from_f8(int type, uint8_t x) {
    if (type == ORR_T_E5M2) return (uint16_t)(x << 8);
    return (uint16_t)f16_from_f32(f32_from_e4m3(x));
}

void orr_mma_to_f32(int type, const void *raw, int n, uint32_t *out) {
    const uint16_t *h = raw;
    const uint32_t *w = raw;
    const uint8_t *b = raw;
    switch (type) {
    case ORR_T_F16:
        for (int i = 0; i < n; i++) out[i] = f32_from_f16(h[i]);
        break;
    case ORR_T_BF16:
        for (int i = 0; i < n; i++) out[i] = f32_from_bf16(h[i]);
        break;
    case ORR_T_E4M3:
        for (int i = 0; i < n; i++) out[i] = f32_from_e4m3(b[i]);
        break;
    case ORR_T_E5M2:
        for (int i = 0; i < n; i++) out[i] = f32_from_f16((uint16_t)(b[i] << 8));
        break;
    default:
        for (int i = 0; i < n; i++) out[i] = w[i] & 0xffffe000;
        break; // tf32: the rest is not read
    }
}
bool orr_mma_split(int type, int n, const uint32_t *f, float *out_s, int32_t *out_e) {
    int least = type == ORR_T_F16 || type == ORR_T_E5M2 ? -14 : type == ORR_T_E4M3 ? -6 : -126;
    float up = f32_of((uint32_t)(127 - least) << 23); // 2^-least
    uint32_t special = 0;
    for (int i = 0; i < n; i++) {
        uint32_t x = f[i], m = x & 0x7fffffff;
        int32_t e = (int32_t)(m >> 23) - 127;
        uint32_t odd = mask32(m >= 0x7f800000), low = mask32(e < least);
        uint32_t s = (low & bits32(f32_of(x & ~odd) * up)) | (~low & ((x & 0x807fffff) | 0x3f800000));
        e = (int32_t)((low & (uint32_t)least) | (~low & (uint32_t)e));
        uint32_t none = odd | mask32(m == 0);
        out_s[i] = f32_of(s & ~none);
        out_e[i] = (int32_t)((none & (uint32_t)NO_EXP) | (~none & (uint32_t)e));
        special |= odd;
    }
    return special != 0;
}

// f32 with what does not fit cut off
static uint32_t cut32(double v) {
    double n = f64_of(bits64(v) & ~0x1fffffffull);
    double s = __builtin_trunc(v * 0x1p149) * 0x1p-149; // a subnormal's last place
    return bits32((float)(v < 0x1p-126 && v > -0x1p-126 ? s : n));
}
static double power(int e) { return f64_of((uint64_t)(e + 1023) << 52); } // -1022 <= e <= 1023

// Four columns of D at a time, as vectors of the width that every host has.

ALWAYS ints larger(ints x, ints y) {
    ints m = x > y;
    return (x & m) | (y & ~m);
}
ALWAYS ints all(int32_t x) { return (ints){x, x, x, x}; }

// What becomes of a step's sum.
ALWAYS double summed(const mma_step *r, double v) {
    if (r->keep) v = f64_of(bits64(v) & ~((1ull << (52 - r->keep)) - 1));
    return r->half ? (double)f32_of(f32_from_f16(f16_from_f64(bits64(v)))) : (double)f32_of(cut32(v));
}

void orr_mma_step(mma_step r, double acc[FOUR]) {
    const float *sa = r.sa, *sb = r.sb;
    const int32_t *ea = r.ea, *eb = r.eb;
    const uint8_t *place = r.place;
    int n = r.n, len = r.len, guard = r.guard;
    int32_t t[FOUR];
    double sum[FOUR];
    for (int j = 0; j < FOUR; j++) { // the accumulator's exponent; a zero counts as f32's smallest
        int e = (int)(bits64(acc[j]) >> 52 & 0x7ff) - 1023, least = r.narrow ? -14 : -126;
        t[j] = acc[j] == 0 ? -126 : e < least ? least : e;
    }
    ints top = ints_at(t);
    for (int k = 0; k < len; k++) top = larger(top, ints_at(eb + (place ? place[k] : k) * n) + all(ea[k]));
    memcpy(t, &top, sizeof t);
    for (int j = 0; j < FOUR; j++) sum[j] = __builtin_trunc(acc[j] * power(guard - t[j]));
    for (int k = 0; k < len;) {
        ints part = all(0); // eight terms below 2^27 each
        for (int stop = k + 8 < len ? k + 8 : len; k < stop; k++) {
            int at = (place ? place[k] : k) * n;
            ints d = larger(ints_at(eb + at) + all(ea[k]) - top, all(-60)); // 60 below, all is cut off
            ints scale = (d + all(guard + 127)) << 23;
            float x = sa[k];
            floats s = floats_at(sb + at) * (floats){x, x, x, x} * (floats)scale;
            part += __builtin_convertvector(s, ints);
        }
        int32_t p[FOUR];
        memcpy(p, &part, sizeof p);
        for (int j = 0; j < FOUR; j++) sum[j] += p[j];
    }
    for (int j = 0; j < FOUR; j++) acc[j] = summed(&r, sum[j] * power(t[j] - guard));
}

// Where infinities or NaNs take part, only they matter: true, and *sum, which is C's element before, is what
// they add up to.
static bool special_sum(const product *p, const factors *a, const factors *b, int i, int j, uint32_t *sum) {
    double s = f32_of(*sum);
    bool odd = (*sum & 0x7f800000) == 0x7f800000;
    for (int k = 0; k < p->kc; k++) {
        uint32_t x = a->f[i * p->kc + k], y = b->f[(p->place ? p->place[i * p->kc + k] : k) * p->n + j];
        if ((x & 0x7f800000) != 0x7f800000 && (y & 0x7f800000) != 0x7f800000) continue;
        odd = true;
        s += (double)f32_of(x) * (double)f32_of(y);
    }
    *sum = s == s ? bits32((float)s) : NAN32;
    return odd;
}

void orr_mma_floats(product *p, int group, int guard) {
    factors a, b, t;
    int n = p->n;
    bool chalf = p->ctype == ORR_T_F16, dhalf = p->dtype == ORR_T_F16;
    orr_mma_to_f32(p->atype, p->a.w, p->m * p->kc, a.f);
    orr_mma_to_f32(p->btype, p->b.w, n * p->k, t.f);
    for (int j = 0; j < n; j++) // columns of B to rows
        for (int k = 0; k < p->k; k++) b.f[k * n + j] = t.f[j * p->k + k];
    split(p->atype, p->m * p->kc, &a);
    split(p->btype, n * p->k, &b);
    for (int i = 0; i < p->m; i++) {
        uint32_t c[MMA_N], odd = 0;
        double acc[MMA_N];
        for (int j = 0; j < n; j++) {
            uint32_t x = p->c.w[i * n + j];
            c[j] = chalf ? f32_from_f16(x & 0xffff) : x;
            uint32_t bad = mask32((c[j] & 0x7f800000) == 0x7f800000);
            odd |= bad;
            acc[j] = f32_of(c[j] & ~bad);
        }
        const uint8_t *place = p->place ? p->place + i * p->kc : NULL;
        for (int k = 0; k < p->kc; k += group) {
            int len = p->kc - k < group ? p->kc - k : group;
            bool narrow = k == 0 ? chalf : dhalf;
            for (int j = 0; j < n; j += FOUR) {
                const float *sb = b.s + (place ? 0 : k * n) + j;
                const int32_t *eb = b.e + (place ? 0 : k * n) + j;
                mma_step r = {.sa = a.s + i * p->kc + k,
                              .ea = a.e + i * p->kc + k,
                              .sb = sb,
                              .eb = eb,
                              .n = n,
                              .len = len,
                              .guard = guard,
                              .place = place ? place + k : NULL,
                              .narrow = narrow,
                              .half = dhalf};
                orr_mma_step(r, acc + j);
            }
        }
        for (int j = 0; j < n; j++) {
            uint32_t r = bits32((float)acc[j]), s = c[j];
            if ((a.special || b.special || odd) && special_sum(p, &a, &b, i, j, &s)) r = s;
            p->c.w[i * n + j] = dhalf ? f16_from_f32(r) : r;
        }
    }
}

// Hopper has no instruction for 8-bit floats: they become f16 (exactly), and two products of half as
// many columns are added up from zero, first of the columns 0 and 1 of every four, then of 2 and 3.
// The accumulator is added last, rounded to nearest.
static int f8_order(int k, int columns) { return (k & 2) / 2 * (columns / 2) + k / 4 * 2 + (k & 1); }

static void multiply_f8(product *p) {
    product h = *p;
    uint8_t place[16 * 32];
    uint16_t *a = (uint16_t *)h.a.w, *b = (uint16_t *)h.b.w;
    for (int i = 0; i < p->m; i++)
        for (int k = 0; k < p->kc; k++) {
            int to = i * p->kc + f8_order(k, p->kc);
            a[to] = f16_from_f8(p->atype, ((const uint8_t *)p->a.w)[i * p->kc + k]);
            if (p->place) place[to] = p->place[i * p->kc + k];
        }
    for (int j = 0; j < p->n; j++)
        for (int k = 0; k < p->k; k++)
            b[j * p->k + (p->place ? k : f8_order(k, p->k))] =
                f16_from_f8(p->btype, ((const uint8_t *)p->b.w)[j * p->k + k]);
    h.atype = h.btype = ORR_T_F16;
    h.place = p->place ? place : NULL;
    memset(&h.c, 0, sizeof h.c);
    orr_mma_floats(&h, p->kc / 2, MMA_GUARD);
    for (int i = 0; i < p->m * p->n; i++) {
        uint32_t c = p->c.w[i], r = h.c.w[i];
        if (p->dtype == ORR_T_F16)
            p->c.w[i] = f16_from_f32(bits32(f32_of(f32_from_f16(c & 0xffff)) + f32_of(f32_from_f16(r))));
        else
            p->c.w[i] = out32(f32_of(r) + f32_of(c), 0, 0);
    }
}

// ---- f64, integers, bits --------------------------------------------------------------------
static void multiply_doubles(product *p) {
    round_begin(p->round);
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            uint64_t s = p->c.d[i * p->n + j];
            for (int k = 0; k < p->k; k++) {
                uint64_t x = p->a.d[i * p->k + k], y = p->b.d[j * p->k + k];
                s = out64(__builtin_fma(f64_of(x), f64_of(y), f64_of(s)), x, y, s);
            }
            p->c.d[i * p->n + j] = s;
        }
    round_end();
}

static void to_ints(int type, const uint32_t *raw, int n, int32_t *out) {
    const uint8_t *b = (const uint8_t *)raw;
    switch (type) {
    case ORR_T_U8:
        for (int i = 0; i < n; i++) out[i] = b[i];
        break;
    case ORR_T_S8:
        for (int i = 0; i < n; i++) out[i] = (int8_t)b[i];
        break;
    default: {
        int32_t sign = type == ORR_T_S4 ? 8 : 0;
        for (int i = 0; i < n; i++) out[i] = ((b[i >> 1] >> (i & 1) * 4 & 15) ^ sign) - sign;
    }
    }
}
static void multiply_ints(product *p) {
    int32_t a[MMA_M * 64], b[128 * MMA_N], t[128 * MMA_N]; // b is [k][n]
    int n = p->n;
    to_ints(p->atype, p->a.w, p->m * p->kc, a);
    to_ints(p->btype, p->b.w, n * p->k, t);
    for (int j = 0; j < n; j++)
        for (int k = 0; k < p->k; k++) b[k * n + j] = t[j * p->k + k];
    for (int i = 0; i < p->m; i++) {
        int32_t s[MMA_N];
        const uint8_t *place = p->place ? p->place + i * p->kc : NULL;
        for (int j = 0; j < n; j += FOUR) {
            ints sum = all(0);
            for (int k = 0; k < p->kc; k++)
                sum += all(a[i * p->kc + k]) * ints_at(b + (place ? place[k] : k) * n + j);
            memcpy(s + j, &sum, sizeof sum);
        }
        for (int j = 0; j < n; j++) {
            int64_t v = (int64_t)s[j] + (int32_t)p->c.w[i * n + j];
            if (p->satfinite) v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
            p->c.w[i * n + j] = (uint32_t)v;
        }
    }
}
static void multiply_bits(product *p) {
    int words = p->k / 32;
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            uint32_t s = p->c.w[i * p->n + j];
            for (int k = 0; k < words; k++) {
                uint32_t x = p->a.w[i * words + k], y = p->b.w[j * words + k];
                s += (uint32_t)orr_popc(p->b1_and ? x & y : x ^ y);
            }
            p->c.w[i * p->n + j] = s;
        }
}
void orr_mma_multiply(product *p) {
    if (p->atype == ORR_T_F64)
        multiply_doubles(p);
    else if (p->atype == ORR_T_B1)
        multiply_bits(p);
    else if (p->dtype == ORR_T_S32)
        multiply_ints(p);
    else if (orr_matrix_bits(p->atype) == 8)
        multiply_f8(p);
    else
        orr_mma_floats(p, STEP_BYTES * 8 / orr_matrix_bits(p->atype), MMA_GUARD);
}

// ---- fragments ------------------------------------------------------------------------------
// Lane = 4 g + t. Word r of A holds elements of row g (r even) or g + 8 (r odd), at columns that
// begin with t's; the four lanes of a g side by side are 16 (f64: 32) contiguous bytes of the row.
// Word r of B holds column g in the same way. A tile of 8 rows has even words only.
void orr_mma_gather(const warp *w, const oper *regs, int nregs, int rows, int bytes, uint8_t *out) {
    int pair = rows == 16 ? 2 : 1, run = 4 * bytes, line = nregs / pair * run;
    for (int r = 0; r < nregs; r++) {
        const uint8_t *from = OPER(w, regs[r], uint8_t);
        uint8_t *to = out + (r % pair) * 8 * line + r / pair * run;
        for (int g = 0; g < 8; g++) memcpy(to + g * line, from + g * run, (size_t)run);
    }
}
// C and D: two columns beside each other, rows g and g + 8.
static void gather_c(const warp *w, const oper *regs, product *p) {
    for (int i = 0; i < ORR_WARP; i++)
        for (int e = 0; e < p->m * p->n / ORR_WARP; e++) {
            int at = ((i >> 2) + (e >> 1) * 8) * p->n + (i & 3) * 2 + (e & 1);
            if (p->ctype == ORR_T_F64)
                p->c.d[at] = OPER(w, regs[e], uint64_t)[i];
            else if (p->ctype == ORR_T_F16)
                p->c.w[at] = OPER(w, regs[e >> 1], uint32_t)[i] >> (e & 1) * 16 & 0xffff;
            else
                p->c.w[at] = OPER(w, regs[e], uint32_t)[i];
        }
}
static void scatter_d(warp *w, const oper *regs, const product *p) {
    for (int i = 0; i < ORR_WARP; i++) {
        for (int e = 0; e < p->m * p->n / ORR_WARP; e++) {
            int at = ((i >> 2) + (e >> 1) * 8) * p->n + (i & 3) * 2 + (e & 1);
            if (p->dtype == ORR_T_F64)
                OPER(w, regs[e], uint64_t)[i] = p->c.d[at];
            else if (p->dtype == ORR_T_F16)
                ((uint16_t *)OPER(w, regs[e >> 1], uint32_t))[i * 2 + (e & 1)] = (uint16_t)p->c.w[at];
            else
                OPER(w, regs[e], uint32_t)[i] = p->c.w[at];
        }
    }
}

// ---- sparse A -------------------------------------------------------------------------------
// Of every four columns (tf32: two; 4-bit: four pairs) two are stored (one; two pairs), and four bits
// of metadata say which: two positions of two bits. tf32 counts in halves of its 32 bits, so that
// 0b0100 is the first and 0b1110 the second element. A row's metadata, four bits for each group, is
// spread over the lanes 4g ... 4g + 3 of its g: `sel` says which of them, where not all are needed.
void orr_mma_places(const uint32_t *meta, uint32_t sel, uint8_t type, int rows, int kc, uint8_t *place) {
    int bits = orr_matrix_bits(type), unit = bits == 4 ? 2 : 1; // elements a position stands for
    int groups = kc / (bits == 32 ? 1 : 2 * unit);              // of a row
    int lanes = groups * 4 * 2 / 32;                            // of a g that hold the two rows' bits
    if (lanes < 1) lanes = 1;
    for (int i = 0; i < rows; i++)
        for (int q = 0; q < groups; q++) {
            int base = (i & 7) * 4 + (int)(sel % (4u / (uint32_t)lanes)) * lanes, high = i >> 3;
            // elements of 16 and 32 bits: a lane has 16 bits of row g and above them 16 of row g + 8;
            // of 8 and 4 bits: even lanes have 32 bits of row g, odd ones of row g + 8
            int lane = bits >= 16 ? base + q / 4 : base + high + q / 8 * 2;
            uint32_t v = meta[lane & 31] >> (bits >= 16 ? high * 16 + q % 4 * 4 : q % 8 * 4) & 15;
            uint8_t *to = place + i * kc;
            if (bits == 32) {
                to[q] = (uint8_t)(q * 2 + (v >> 1 & 1));
                continue;
            }
            for (int h = 0; h < 2; h++)
                for (int x = 0; x < unit; x++)
                    to[(q * 2 + h) * unit + x] = (uint8_t)(q * 4 * unit + (int)(v >> 2 * h & 3) * unit + x);
        }
}

// ---- the handlers ---------------------------------------------------------------------------
void orr_mma_start(const uop *u, product *p) {
    const orr_inst *i = u->inst;
    p->m = (int)(u->imm & 255), p->n = (int)(u->imm >> 8 & 255), p->k = (int)(u->imm >> 16);
    p->kc = p->k;
    p->dtype = i->type, p->atype = i->stype, p->btype = i->sub, p->ctype = i->cmp, p->round = i->round;
    p->satfinite = i->mods & ORR_M_SATFINITE;
    p->b1_and = i->boolop == 2;
    p->place = NULL;
}
static void mma(warp *w, const uop *u) {
    product p;
    uint8_t place[16 * 64];
    orr_mma_start(u, &p);
    bool sparse = u->inst->vec == 1;
    if (sparse) p.kc = p.k / 2;
    int bits = orr_matrix_bits(p.atype), word = bits == 64 ? 64 : 32;
    int na = p.m * p.kc * bits / word / ORR_WARP, nb = p.n * p.k * bits / word / ORR_WARP;
    const oper *src = u->all + u->ndst;
    orr_mma_gather(w, src, na, p.m, word / 8, (uint8_t *)&p.a);
    orr_mma_gather(w, src + na, nb, 8, word / 8, (uint8_t *)&p.b);
    gather_c(w, src + na + nb, &p);
    if (sparse) {
        orr_mma_places(SRC_N(w, u, u->nsrc - 2, uint32_t), *SRC_N(w, u, u->nsrc - 1, uint32_t), p.atype, p.m,
                       p.kc, place);
        p.place = place;
    }
    orr_mma_multiply(&p);
    scatter_d(w, u->all, &p);
}

void orr_mma_parted(warp *w, const uop *u) {
    orr_fault(w, u, orr_ffs(w->exec), "'%s' by %d of the 32 lanes of a warp: all of them must execute it",
              orr_ops[u->inst->op].name, orr_popc(w->exec));
}

// ---- picking --------------------------------------------------------------------------------
bool orr_mma_types(const orr_inst *i, bool wmma) {
    int a = i->stype, b = i->sub, c = i->cmp, d = i->type;
    bool f16f32 = (c == ORR_T_F16 || c == ORR_T_F32) && (d == ORR_T_F16 || d == ORR_T_F32);
    switch (a) {
    case ORR_T_F16: return b == a && f16f32;
    case ORR_T_E4M3:
    case ORR_T_E5M2: return !wmma && (b == ORR_T_E4M3 || b == ORR_T_E5M2) && f16f32 && c == d;
    case ORR_T_BF16:
    case ORR_T_TF32: return b == a && c == ORR_T_F32 && d == c;
    case ORR_T_F64: return b == a && c == a && d == a;
    case ORR_T_U8:
    case ORR_T_S8: return (b == ORR_T_U8 || b == ORR_T_S8) && c == ORR_T_S32 && d == c;
    case ORR_T_U4:
    case ORR_T_S4: return (b == ORR_T_U4 || b == ORR_T_S4) && c == ORR_T_S32 && d == c;
    case ORR_T_B1: return b == a && c == ORR_T_S32 && d == c;
    }
    return false;
}

// The shapes of PTX, dense; a sparse product's k is twice one of them.
static bool shape_known(int type, int m, int n, int k) {
    if (n != 8 || (m != 8 && m != 16)) return false;
    switch (type) {
    case ORR_T_F16: return m == 16 ? k == 8 || k == 16 : k == 4;
    case ORR_T_BF16: return m == 16 && (k == 8 || k == 16);
    case ORR_T_TF32: return m == 16 && (k == 4 || k == 8);
    case ORR_T_F64: return m == 8 ? k == 4 : k == 4 || k == 8 || k == 16;
    case ORR_T_U8:
    case ORR_T_S8: return m == 8 ? k == 16 : k == 16 || k == 32;
    case ORR_T_E4M3:
    case ORR_T_E5M2: return m == 16 && (k == 16 || k == 32);
    case ORR_T_U4:
    case ORR_T_S4: return m == 8 ? k == 32 : k == 32 || k == 64;
    case ORR_T_B1: return m == 8 ? k == 128 : k == 128 || k == 256;
    }
    return false;
}
static int acc_regs(int type, int elements) { return elements / ORR_WARP / (type == ORR_T_F16 ? 2 : 1); }

static handlers pick_mma(const orr_kernel *k, const orr_inst *i, const char **why) {
    int m = (int)(i->imm & 255), n = (int)(i->imm >> 8 & 255), kk = (int)(i->imm >> 16);
    bool sparse = i->vec == 1;
    if (i->vec >= MMA_STEP) return orr_pick_mma884_step(i, why);
    if (!orr_mma_types(i, false) || !shape_known(i->stype, m, n, sparse ? kk / 2 : kk) ||
        (sparse && (i->stype == ORR_T_F64 || i->stype == ORR_T_B1 || m != 16 || (kk & 1)))) {
        *why = "this shape or type of mma";
        return (handlers){0};
    }
    bool volta = i->stype == ORR_T_F16 && m == 8;
    int bits = orr_matrix_bits(i->stype), word = bits == 64 ? 64 : 32;
    int na = volta ? 2 : m * (sparse ? kk / 2 : kk) * bits / word / ORR_WARP;
    int nb = volta ? 2 : n * kk * bits / word / ORR_WARP;
    int nc = volta ? (i->cmp == ORR_T_F16 ? 4 : 8) : acc_regs(i->cmp, m * n);
    int nd = volta ? (i->type == ORR_T_F16 ? 4 : 8) : acc_regs(i->type, m * n);
    int cls = bits == 64 ? ORR_D : ORR_W;
    bool ok = i->ndst == nd && i->nsrc == na + nb + nc + (sparse ? 2 : 0);
    for (int j = 0; ok && j < nd + na + nb + nc + (sparse ? 2 : 0); j++) {
        const orr_operand *o = &k->operands[i->first + (uint32_t)j];
        ok = o->kind != ORR_K_NONE && o->cls == cls;
    }
    if (!volta && (i->mods & ORR_M_A_COL)) ok = false; // there is only row.col
    if (!ok) {
        *why = "mma with these registers or layouts";
        return (handlers){0};
    }
    return (handlers){volta ? orr_mma884 : mma, orr_mma_parted};
}

handlers orr_pick_mma(const orr_kernel *k, const orr_inst *i, const char **why) {
    if (i->op == ORR_OP_MMA) return pick_mma(k, i, why);
    return orr_pick_wmma(k, i, why);
}
