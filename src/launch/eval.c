// Expressions: 64-bit integers that wrap around, and doubles. A mixed operation is done in doubles.
// Anything without a meaning (division by zero, a shift by 64, a bit operation on a double) stops the
// script with its line.
#include "launch/script.h"

#include <inttypes.h>
#include <string.h>

const char *orr_value_text(value v, char buf[80]) {
    if (v.kind == V_INT)
        snprintf(buf, 80, "%" PRId64, v.i);
    else if (v.kind == V_FLOAT)
        snprintf(buf, 80, "%.17g", v.f);
    else
        snprintf(buf, 80, "a buffer");
    return buf;
}

static value integer(int64_t i) { return (value){.kind = V_INT, .i = i}; }
static value real(double f) { return (value){.kind = V_FLOAT, .f = f}; }
static value wrapped(uint64_t u) { return integer((int64_t)u); }
static double as_double(value v) { return v.kind == V_INT ? (double)v.i : v.f; }

// Half of all nodes are leaves.
static inline value operand(run *r, const expr *x) {
    return x->op == X_CONST ? x->v : x->op == X_I ? integer(r->i) : orr_eval(r, x);
}

static inline value number(run *r, const expr *x) {
    value v = operand(r, x);
    if (v.kind == V_BUF) {
        stop(r, ORR_BAD_INPUT, x->line,
             "buffer '%s' stands where a number is needed; read an element with %s[e]",
             r->s->names.at[v.slot].text, r->s->names.at[v.slot].text);
    }
    return v;
}

static int64_t whole(run *r, const expr *x, const char *what) {
    value v = number(r, x);
    if (v.kind != V_INT) {
        stop(r, ORR_BAD_INPUT, x->line, "%s needs whole numbers and has %.17g; use int(...)", what, v.f);
    }
    return v.i;
}

static bool truth(value v) { return v.kind == V_INT ? v.i != 0 : v.f != 0; }

static int64_t divide(run *r, const expr *x, int64_t a, int64_t b) {
    if (b == 0) stop(r, ORR_BAD_INPUT, x->line, "division by zero");
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b; // -2^63 / -1 wraps
}

// One element, through a small cache, because `until flag[0] == 0` and `expr x[i] + 1` both come here.
static value element(run *r, const expr *x) {
    const buffer *b = orr_buffer(r, x->slot, x->line);
    int64_t at = whole(r, x->a, "an index");
    if (at < 0 || (uint64_t)at >= b->count) {
        stop(r, ORR_BAD_INPUT, x->line,
             "%s[%" PRId64 "] is outside the buffer, which has %" PRIu64 " elements",
             r->s->names.at[x->slot].text, at, b->count);
    }
    uint64_t bytes = orr_elem_bytes(b->type), addr = b->addr + (uint64_t)at * bytes;
    if (addr < r->cache_addr || addr + bytes > r->cache_addr + r->cache_bytes) {
        uint64_t left = (b->count - (uint64_t)at) * bytes;
        uint64_t take = left < sizeof r->cache ? left : sizeof r->cache;
        r->cache_bytes = 0;
        orr_buffer_read(r, b, (uint64_t)at, take / bytes, r->cache, x->line);
        r->cache_addr = addr;
        r->cache_bytes = take;
    }
    return orr_elem_load(b->type, r->cache + (addr - r->cache_addr));
}

static value to_int(run *r, const expr *x) {
    value v = number(r, x->a);
    if (v.kind == V_INT) return v;
    if (!(v.f >= -0x1p63 && v.f < 0x1p63))
        stop(r, ORR_BAD_INPUT, x->line, "int(%.17g) does not fit 64 bits", v.f);
    return integer((int64_t)v.f);
}

// The whole part of the base-2 logarithm: the position of the highest bit, or a double's exponent.
static value log2_of(run *r, const expr *x) {
    value v = number(r, x->a);
    if (v.kind == V_INT) {
        if (v.i <= 0) stop(r, ORR_BAD_INPUT, x->line, "log2 of %" PRId64, v.i);
        return integer(63 - __builtin_clzll((uint64_t)v.i));
    }
    if (!(v.f > 0) || v.f - v.f != 0) stop(r, ORR_BAD_INPUT, x->line, "log2 of %.17g", v.f);
    int scaled = 0;
    if (v.f < 0x1p-1022) v.f *= 0x1p64, scaled = 64; // a subnormal
    uint64_t bits;
    memcpy(&bits, &v.f, 8);
    return integer((int)(bits >> 52) - 1023 - scaled);
}

// buf + e and buf - e point e elements further or back.
static value point(run *r, const expr *x, value buf, value by) {
    if (by.kind != V_INT) stop(r, ORR_BAD_INPUT, x->line, "only a whole number can be added to a buffer");
    int64_t off;
    bool over = x->op == X_SUB ? __builtin_sub_overflow(buf.i, by.i, &off)
                               : __builtin_add_overflow(buf.i, by.i, &off);
    const buffer *b = orr_buffer(r, buf.slot, x->line);
    if (over || off < 0 || (uint64_t)off > b->count) {
        stop(r, ORR_BAD_INPUT, x->line, "this points outside buffer '%s', which has %" PRIu64 " elements",
             r->s->names.at[buf.slot].text, b->count);
    }
    buf.i = off;
    return buf;
}

static value arithmetic(run *r, const expr *x) {
    value a = operand(r, x->a), b = operand(r, x->b);
    if (a.kind == V_INT && b.kind == V_INT) {
        switch (x->op) {
        case X_ADD: return wrapped((uint64_t)a.i + (uint64_t)b.i);
        case X_SUB: return wrapped((uint64_t)a.i - (uint64_t)b.i);
        case X_MUL: return wrapped((uint64_t)a.i * (uint64_t)b.i);
        case X_DIV: return integer(divide(r, x, a.i, b.i));
        case X_LT: return integer(a.i < b.i);
        case X_LE: return integer(a.i <= b.i);
        case X_GT: return integer(a.i > b.i);
        case X_GE: return integer(a.i >= b.i);
        case X_EQ: return integer(a.i == b.i);
        case X_NE: return integer(a.i != b.i);
        case X_MIN: return a.i < b.i ? a : b;
        default: return a.i > b.i ? a : b; // X_MAX
        }
    }
    if (a.kind == V_BUF && b.kind != V_BUF && (x->op == X_ADD || x->op == X_SUB)) return point(r, x, a, b);
    if (b.kind == V_BUF && a.kind != V_BUF && x->op == X_ADD) return point(r, x, b, a);
    if (a.kind == V_BUF || b.kind == V_BUF) {
        stop(r, ORR_BAD_INPUT, x->line,
             "a buffer stands where a number is needed; read an element with NAME[e]");
    }
    double p = as_double(a), q = as_double(b);
    switch (x->op) {
    case X_ADD: return real(p + q);
    case X_SUB: return real(p - q);
    case X_MUL: return real(p * q);
    case X_DIV: return real(p / q);
    case X_LT: return integer(p < q);
    case X_LE: return integer(p <= q);
    case X_GT: return integer(p > q);
    case X_GE: return integer(p >= q);
    case X_EQ: return integer(p == q);
    case X_NE: return integer(p != q);
    case X_MIN: return real(p < q ? p : q);
    default: return real(p > q ? p : q);
    }
}

static value shift(run *r, const expr *x) {
    int64_t a = whole(r, x->a, "a shift"), by = whole(r, x->b, "a shift");
    if (by < 0 || by > 63) stop(r, ORR_BAD_INPUT, x->line, "a shift by %" PRId64 "; it must be 0 to 63", by);
    return x->op == X_SHL ? wrapped((uint64_t)a << by) : integer(a >> by);
}

value orr_eval(run *r, const expr *x) {
    value v;
    int64_t a, b;
    switch (x->op) {
    case X_CONST: return x->v;
    case X_I: return integer(r->i);
    case X_VAR:
        v = r->vars[x->slot];
        if (v.kind == V_NONE) {
            stop(r, ORR_BAD_INPUT, x->line, "'%s' has no value here; give it one with let, or in every size",
                 r->s->names.at[x->slot].text);
        }
        return v;
    case X_BUF: orr_buffer(r, x->slot, x->line); return (value){.kind = V_BUF, .slot = x->slot, .i = 0};
    case X_INDEX: return element(r, x);
    case X_NEG: v = number(r, x->a); return v.kind == V_INT ? wrapped(0 - (uint64_t)v.i) : real(-v.f);
    case X_NOT: return integer(!truth(number(r, x->a)));
    case X_BITNOT: return integer(~whole(r, x->a, "~"));
    case X_MOD:
        a = whole(r, x->a, "%"), b = whole(r, x->b, "%");
        if (b == 0) stop(r, ORR_BAD_INPUT, x->line, "division by zero");
        return integer(b == -1 ? 0 : a % b);
    case X_SHL:
    case X_SHR: return shift(r, x);
    case X_AND: a = whole(r, x->a, "&"); return integer(a & whole(r, x->b, "&"));
    case X_OR: a = whole(r, x->a, "|"); return integer(a | whole(r, x->b, "|"));
    case X_XOR: a = whole(r, x->a, "^"); return integer(a ^ whole(r, x->b, "^"));
    case X_ANDAND: return integer(truth(number(r, x->a)) && truth(number(r, x->b)));
    case X_OROR: return integer(truth(number(r, x->a)) || truth(number(r, x->b)));
    case X_COND: return operand(r, truth(number(r, x->a)) ? x->b : x->c);
    case X_ABS:
        v = number(r, x->a);
        if (v.kind == V_INT) return v.i < 0 ? wrapped(0 - (uint64_t)v.i) : v;
        return real(v.f < 0 ? -v.f : v.f);
    case X_CEILDIV:
        a = whole(r, x->a, "ceildiv"), b = whole(r, x->b, "ceildiv");
        v = integer(divide(r, x, a, b));
        return integer(v.i + (b != -1 && a % b != 0 && (a < 0) == (b < 0)));
    case X_LOG2: return log2_of(r, x);
    case X_SQRT: {
        double d = as_double(number(r, x->a));
        if (d < 0) stop(r, ORR_BAD_INPUT, x->line, "sqrt of %.17g", d);
        return real(__builtin_sqrt(d));
    }
    case X_INT: return to_int(r, x);
    case X_FLOAT: return real(as_double(number(r, x->a)));
    case X_HASH: return integer((int64_t)(orr_mix64((uint64_t)whole(r, x->a, "hash"), 0) >> 1));
    default: return arithmetic(r, x);
    }
}

int64_t orr_eval_int(run *r, const expr *x, const char *what, int64_t lo, int64_t hi) {
    value v = number(r, x);
    if (v.kind == V_FLOAT) {
        if (v.f >= -0x1p53 && v.f <= 0x1p53 && (double)(int64_t)v.f == v.f)
            v = integer((int64_t)v.f);
        else
            stop(r, ORR_BAD_INPUT, x->line, "%s is %.17g and must be a whole number", what, v.f);
    }
    if (v.i < lo || v.i > hi) {
        stop(r, ORR_BAD_INPUT, x->line, "%s is %" PRId64 " and must be %" PRId64 " to %" PRId64, what, v.i,
             lo, hi);
    }
    return v.i;
}

double orr_eval_double(run *r, const expr *x) { return as_double(number(r, x)); }

bool orr_eval_true(run *r, const expr *x) { return truth(number(r, x)); }

// ---- what is the same for all elements --------------------------------------------------------
static bool is_known(const expr *x) { return !x || x->op == X_CONST; }
static bool is_whole(const expr *x) { return !x || x->v.kind == V_INT; }

// Of an operation on known numbers: has it a value whatever they are?
static bool cannot_fail(const expr *x) {
    switch (x->op) {
    case X_NEG:
    case X_NOT:
    case X_ADD:
    case X_SUB:
    case X_MUL:
    case X_LT:
    case X_LE:
    case X_GT:
    case X_GE:
    case X_EQ:
    case X_NE:
    case X_ANDAND:
    case X_OROR:
    case X_COND:
    case X_MIN:
    case X_MAX:
    case X_ABS: return true;
    case X_BITNOT:
    case X_AND:
    case X_OR:
    case X_XOR: return is_whole(x->a) && is_whole(x->b);
    case X_SHL:
    case X_SHR: return is_whole(x->a) && is_whole(x->b) && x->b->v.i >= 0 && x->b->v.i <= 63;
    default: return false;
    }
}

expr *orr_fold(run *r, expr *x, folding *f) {
    bool var = x->op == X_VAR;
    if (f->n == sizeof f->at / sizeof *f->at || (!var && !x->a)) return x;
    if (var && r->vars[x->slot].kind != V_INT && r->vars[x->slot].kind != V_FLOAT) return x;
    expr *y = &f->at[f->n++];
    *y = *x;
    if (!var) {
        y->a = orr_fold(r, x->a, f);
        if (x->b) y->b = orr_fold(r, x->b, f);
        if (x->c) y->c = orr_fold(r, x->c, f);
        if (!is_known(y->a) || !is_known(y->b) || !is_known(y->c) || !cannot_fail(y)) return y;
    }
    value v = orr_eval(r, y);
    *y = (expr){.op = X_CONST, .line = x->line, .v = v};
    return y;
}
