// What a buffer starts with. Contents depend only on the script: element i of a `random` is made from
// output i of splitmix64, so any part of a buffer can be made by itself, in blocks, on any host.
//
// A float of `random` is lo + u * (hi - lo) in double arithmetic with u = 53 random bits / 2^53, then
// rounded to the type, and never reaches hi. An integer is lo + floor(z * (hi - lo + 1) / 2^64).
#include "launch/script.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// The largest value of the type below `hi`.
static double below(int type, double hi) {
    uint64_t bits = orr_elem_round(type, hi);
    double v = orr_elem_double(type, &bits);
    if (v < hi) return v;
    uint64_t sign = 1ull << (8 * orr_elem_bytes(type) - 1);
    if (v == 0)
        bits = sign | 1;
    else
        bits += v > 0 ? (uint64_t)-1 : 1;
    return orr_elem_double(type, &bits);
}

// FNV-1a: the seed of a `random` that names none comes from the buffer's name.
static uint64_t name_seed(const char *s) {
    uint64_t h = 0xcbf29ce484222325ull;
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
    return h;
}

static void store(run *r, maker *m, const expr *x, bool wrap, void *out) {
    char buf[80];
    value v = orr_eval(r, x);
    if (v.kind == V_BUF || !orr_elem_store(m->type, v, wrap, out)) {
        stop(r, ORR_BAD_INPUT, x->line, "%s does not fit the element type %s", orr_value_text(v, buf),
             orr_elem_name(m->type));
    }
}

static void start_random(run *r, maker *m, const fill *f, const char *name) {
    m->seed =
        f->seed ? (uint64_t)orr_eval_int(r, f->seed, "the seed", INT64_MIN, INT64_MAX) : name_seed(name);
    if (orr_elem_float(m->type)) {
        m->lo = f->a ? orr_eval_double(r, f->a) : 0;
        double hi = f->b ? orr_eval_double(r, f->b) : 1;
        m->width = hi - m->lo;
        m->last = below(m->type, hi);
        if (!(m->width >= 0 && m->width <= 0x1p1023)) {
            stop(r, ORR_BAD_INPUT, f->line, "random %.17g %.17g: the first must not be above the second",
                 m->lo, hi);
        }
        if (m->last < m->lo) m->last = m->lo;
        return;
    }
    uint32_t bits = 8 * orr_elem_bytes(m->type);
    bool is_signed =
        m->type == ORR_T_S8 || m->type == ORR_T_S16 || m->type == ORR_T_S32 || m->type == ORR_T_S64;
    int64_t least = is_signed ? INT64_MIN >> (64 - bits) : 0;
    int64_t most = bits == 64 ? INT64_MAX : ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
    if (m->type == ORR_T_U64) least = INT64_MIN; // 0x8000000000000000 and above are read as negative
    int64_t lo = f->a ? orr_eval_int(r, f->a, "the least of random", least, most) : 0;
    int64_t hi = f->b ? orr_eval_int(r, f->b, "the most of random", least, most) : 100;
    if (m->type == ORR_T_U64 ? (uint64_t)lo > (uint64_t)hi : lo > hi) {
        stop(r, ORR_BAD_INPUT, f->line,
             "random %" PRId64 " %" PRId64 ": the first must not be above the second", lo, hi);
    }
    m->ilo = (uint64_t)lo;
    m->span = (uint64_t)hi - (uint64_t)lo + 1;
}

void orr_maker_start(run *r, maker *m, const fill *f, int type, uint64_t count, const char *name) {
    *m = (maker){.f = f, .type = type, .count = count};
    uint64_t bytes = count * orr_elem_bytes(type);
    switch (f->kind) {
    case FILL_VALUE: store(r, m, f->a, false, m->one); break;
    case FILL_RANDOM: start_random(r, m, f, name); break;
    case FILL_IOTA:
        m->start = f->a ? orr_eval(r, f->a) : (value){.kind = V_INT, .i = 0};
        m->step = f->b ? orr_eval(r, f->b) : (value){.kind = V_INT, .i = 1};
        if (m->start.kind == V_BUF || m->step.kind == V_BUF)
            stop(r, ORR_BAD_INPUT, f->line, "iota needs numbers");
        break;
    case FILL_LIST:
        if (f->nlist != count) {
            stop(r, ORR_BAD_INPUT, f->line, "the list has %u values and '%s' has %" PRIu64 " elements",
                 f->nlist, name, count);
        }
        break;
    case FILL_FILE: {
        orr_err why = {0};
        free(r->file);
        r->file = orr_read_file(f->file, bytes, &m->file_bytes, &why);
        if (!r->file) stop(r, ORR_BAD_INPUT, f->line, "%s", why.text);
        if (m->file_bytes != bytes) {
            stop(r, ORR_BAD_INPUT, f->line, "%s has %zu bytes and '%s' needs %" PRIu64, f->file,
                 m->file_bytes, name, bytes);
        }
        break;
    }
    default: break;
    }
}

#define RANDOM_FLOATS(T, ROUND)                                                                              \
    for (uint64_t k = 0; k < n; k++) {                                                                       \
        double v = lo + (double)(int64_t)(orr_mix64(seed, first + k) >> 11) * 0x1p-53 * width;               \
        T e = (T)ROUND;                                                                                      \
        memcpy(out + k * sizeof e, &e, sizeof e);                                                            \
    }

static void random_floats(const maker *m, uint64_t first, uint64_t n, uint8_t *out) {
    uint64_t seed = m->seed;
    double lo = m->lo, width = m->width, last = m->last;
    float last32 = (float)last;
    uint16_t last16 = (uint16_t)orr_elem_round(m->type, last);
    switch (m->type) {
    case ORR_T_F32: RANDOM_FLOATS(float, ((float)v > last32 ? last32 : (float)v)); break;
    case ORR_T_F64: RANDOM_FLOATS(double, (v > last ? last : v)); break;
    default: // f16, bf16: what rounds up to hi or beyond started above the last value below hi
        for (uint64_t k = 0; k < n; k++) {
            double v = lo + (double)(int64_t)(orr_mix64(seed, first + k) >> 11) * 0x1p-53 * width;
            uint16_t e = v >= last ? last16 : (uint16_t)orr_elem_round(m->type, v);
            memcpy(out + 2 * k, &e, 2);
        }
    }
}

#define RANDOM_INTS(T)                                                                                       \
    for (uint64_t k = 0; k < n; k++) {                                                                       \
        uint64_t z = orr_mix64(seed, first + k);                                                             \
        T e = (T)(lo + (span ? (uint64_t)((unsigned __int128)z * span >> 64) : z));                          \
        memcpy(out + k * sizeof e, &e, sizeof e);                                                            \
    }

static void random_ints(const maker *m, uint64_t first, uint64_t n, uint8_t *out) {
    uint64_t seed = m->seed, lo = m->ilo, span = m->span;
    switch (orr_elem_bytes(m->type)) {
    case 1: RANDOM_INTS(uint8_t); break;
    case 2: RANDOM_INTS(uint16_t); break;
    case 4: RANDOM_INTS(uint32_t); break;
    default: RANDOM_INTS(uint64_t); break;
    }
}

static void make_iota(run *r, const maker *m, uint64_t first, uint64_t n, uint8_t *out) {
    uint32_t size = orr_elem_bytes(m->type);
    bool whole = m->start.kind == V_INT && m->step.kind == V_INT;
    double start = m->start.kind == V_INT ? (double)m->start.i : m->start.f;
    double step = m->step.kind == V_INT ? (double)m->step.i : m->step.f;
    for (uint64_t k = 0; k < n; k++) {
        value v;
        if (whole)
            v = (value){.kind = V_INT,
                        .i = (int64_t)((uint64_t)m->start.i + (first + k) * (uint64_t)m->step.i)};
        else
            v = (value){.kind = V_FLOAT, .f = start + (double)(first + k) * step};
        if (!orr_elem_store(m->type, v, true, out + k * size)) {
            stop(r, ORR_BAD_INPUT, m->f->line, "element %" PRIu64 " of iota does not fit the element type %s",
                 first + k, orr_elem_name(m->type));
        }
    }
}

static void make_expr(run *r, maker *m, uint64_t first, uint64_t n, uint8_t *out) {
    uint32_t size = orr_elem_bytes(m->type);
    folding f = {.n = 0};
    const expr *x = n > 1 ? orr_fold(r, m->f->a, &f) : m->f->a;
    for (uint64_t k = 0; k < n; k++) {
        r->i = (int64_t)(first + k);
        store(r, m, x, true, out + k * size);
    }
}

void orr_maker_make(run *r, maker *m, uint64_t first, uint64_t n, void *to) {
    uint8_t *out = to;
    uint32_t size = orr_elem_bytes(m->type);
    switch (m->f->kind) {
    case FILL_VALUE:
        for (uint64_t k = 0; k < n; k++) memcpy(out + k * size, m->one, size);
        break;
    case FILL_RANDOM:
        if (orr_elem_float(m->type))
            random_floats(m, first, n, out);
        else
            random_ints(m, first, n, out);
        break;
    case FILL_IOTA: make_iota(r, m, first, n, out); break;
    case FILL_FILE: memcpy(out, r->file + first * size, n * size); break;
    case FILL_LIST:
        for (uint64_t k = 0; k < n; k++) store(r, m, m->f->list[first + k], false, out + k * size);
        break;
    case FILL_EXPR: make_expr(r, m, first, n, out); break;
    default: memset(out, 0, n * size); break;
    }
}
