// Constant expressions: C's operators and precedences over 64-bit integers and doubles.
// (PTX ISA, "Constant Expressions": integers are .s64 unless a suffix, a cast or their size makes
// them .u64.)
#include <string.h>

#include "ptx/ast.h"

double ptx_value_double(ptx_value v) {
    if (v.kind == O_F64) {
        double d;
        memcpy(&d, &v.bits, sizeof d);
        return d;
    }
    if (v.kind == O_F32) {
        uint32_t bits = (uint32_t)v.bits;
        float f;
        memcpy(&f, &bits, sizeof f);
        return f;
    }
    return v.is_unsigned ? (double)v.bits : (double)(int64_t)v.bits;
}

static ptx_value of_double(double d) {
    ptx_value v = {.kind = O_F64};
    memcpy(&v.bits, &d, sizeof d);
    return v;
}

static ptx_value of_int(uint64_t bits, bool is_unsigned) {
    return (ptx_value){.kind = O_INT, .is_unsigned = is_unsigned, .bits = bits};
}

static bool truth(ptx_value v) { return v.kind == O_INT ? v.bits != 0 : ptx_value_double(v) != 0; }

static ptx_value ternary(ptx_parser *p);

static ptx_value primary(ptx_parser *p) {
    token t = p->t;
    switch (t.kind) {
    case T_INT:
        ptx_next(p);
        return of_int(t.value, t.value >> 63 || t.s[t.n - 1] == 'U' || t.s[t.n - 1] == 'u');
    case T_CHAR: ptx_next(p); return of_int(t.value, false);
    case T_F32: ptx_next(p); return (ptx_value){.kind = O_F32, .bits = t.value};
    case T_F64: ptx_next(p); return (ptx_value){.kind = O_F64, .bits = t.value};
    case T_NAME:
        if (ptx_is_name(p, "WARP_SZ")) {
            ptx_next(p);
            return of_int(ORR_WARP, false);
        }
        break;
    case T_PUNCT:
        if (ptx_accept(p, '(')) {
            bool s64 = ptx_is_dot(p, "s64"), u64 = ptx_is_dot(p, "u64");
            if (s64 || u64) { // a cast
                ptx_next(p);
                ptx_expect(p, ')');
                ptx_enter(p);
                ptx_value v = primary(p);
                p->depth--;
                if (v.kind != O_INT) ptx_error(p, t.line, "only an integer can be cast");
                v.is_unsigned = u64;
                return v;
            }
            ptx_value v = ternary(p);
            ptx_expect(p, ')');
            return v;
        }
        if (ptx_is(p, '-') || ptx_is(p, '+') || ptx_is(p, '!') || ptx_is(p, '~')) {
            ptx_next(p);
            ptx_enter(p);
            ptx_value v = primary(p);
            p->depth--;
            if (t.first == '!') return of_int(!truth(v), false);
            if (t.first == '+') return v;
            if (t.first == '-') {
                if (v.kind == O_F32) return (ptx_value){.kind = O_F32, .bits = v.bits ^ 0x80000000u};
                return v.kind == O_INT ? of_int(0 - v.bits, v.is_unsigned) : of_double(-ptx_value_double(v));
            }
            if (v.kind != O_INT) ptx_error(p, t.line, "'~' needs an integer");
            return of_int(~v.bits, v.is_unsigned);
        }
        break;
    default: break;
    }
    ptx_unexpected(p, "a constant");
}

// Binary operators by precedence, loosest first.
static int precedence(const token *t) {
    if (t->kind != T_PUNCT) return 0;
    if (t->n == 2) {
        switch (t->first) {
        case '|': return 1;
        case '&': return 2;
        case '=':
        case '!': return 6;
        case '<':
        case '>': return t->s[1] == '=' ? 7 : 8;
        default: return 0;
        }
    }
    switch (t->first) {
    case '|': return 3;
    case '^': return 4;
    case '&': return 5;
    case '<':
    case '>': return 7;
    case '+':
    case '-': return 9;
    case '*':
    case '/':
    case '%': return 10;
    default: return 0;
    }
}

static ptx_value apply_float(ptx_parser *p, const token *op, double a, double b) {
    bool two = op->n == 2;
    switch (op->first) {
    case '+': return of_double(a + b);
    case '-': return of_double(a - b);
    case '*': return of_double(a * b);
    case '/': return of_double(a / b);
    case '=': return of_int(a == b, false);
    case '!': return of_int(a != b, false);
    case '<':
        if (!two || op->s[1] == '=') return of_int(two ? a <= b : a < b, false);
        break;
    case '>':
        if (!two || op->s[1] == '=') return of_int(two ? a >= b : a > b, false);
        break;
    default: break;
    }
    ptx_error(p, op->line, "'%.*s' needs integers", (int)op->n, op->s);
}

static ptx_value apply(ptx_parser *p, const token *op, ptx_value a, ptx_value b) {
    bool two = op->n == 2, eq = two && op->s[1] == '=';
    if (two && op->first == '&') return of_int(truth(a) && truth(b), false);
    if (two && op->first == '|') return of_int(truth(a) || truth(b), false);
    if (a.kind != O_INT || b.kind != O_INT)
        return apply_float(p, op, ptx_value_double(a), ptx_value_double(b));
    bool u = a.is_unsigned || b.is_unsigned;
    uint64_t x = a.bits, y = b.bits;
    int64_t sx = (int64_t)x, sy = (int64_t)y;
    switch (op->first) {
    case '+': return of_int(x + y, u);
    case '-': return of_int(x - y, u);
    case '*': return of_int(x * y, u);
    case '/':
    case '%':
        if (y == 0) ptx_error(p, op->line, "division by zero");
        if (u) return of_int(op->first == '/' ? x / y : x % y, true);
        if (sy == -1) return of_int(op->first == '/' ? 0 - x : 0, false);
        return of_int((uint64_t)(op->first == '/' ? sx / sy : sx % sy), false);
    case '&': return of_int(x & y, u);
    case '|': return of_int(x | y, u);
    case '^': return of_int(x ^ y, u);
    case '=': return of_int(x == y, false);
    case '!': return of_int(x != y, false);
    case '<':
        if (two && !eq) return of_int(y > 63 ? 0 : x << y, a.is_unsigned);
        return of_int(u ? (eq ? x <= y : x < y) : (eq ? sx <= sy : sx < sy), false);
    default: // '>'
        if (two && !eq) {
            if (a.is_unsigned || sx >= 0) return of_int(y > 63 ? 0 : x >> y, a.is_unsigned);
            return of_int(~(y > 63 ? 0 : ~x >> y), false);
        }
        return of_int(u ? (eq ? x >= y : x > y) : (eq ? sx >= sy : sx > sy), false);
    }
}

static ptx_value binary(ptx_parser *p, int level) {
    ptx_value a = primary(p);
    for (;;) {
        token op = p->t;
        int prec = precedence(&op);
        if (prec == 0 || prec < level) return a;
        ptx_next(p);
        ptx_value b = binary(p, prec + 1);
        a = apply(p, &op, a, b);
    }
}

static ptx_value ternary(ptx_parser *p) {
    ptx_enter(p);
    ptx_value v = binary(p, 1);
    if (ptx_accept(p, '?')) {
        ptx_value a = ternary(p);
        ptx_expect(p, ':');
        ptx_value b = ternary(p);
        v = truth(v) ? a : b;
    }
    p->depth--;
    return v;
}

ptx_value ptx_expression(ptx_parser *p) { return ternary(p); }

static uint64_t checked(ptx_parser *p, uint32_t line, ptx_value v, uint64_t limit, const char *what) {
    if (v.kind != O_INT) ptx_error(p, line, "%s must be an integer", what);
    if (v.bits > limit) ptx_error(p, line, "%s must be at most %llu", what, (unsigned long long)limit);
    return v.bits;
}

uint64_t ptx_integer(ptx_parser *p, uint64_t limit, const char *what) {
    uint32_t line = p->t.line;
    return checked(p, line, ptx_expression(p), limit, what);
}

uint32_t ptx_count(ptx_parser *p, uint64_t limit, const char *what) { // <100>: '>' is no operator here
    uint32_t line = p->t.line;
    ptx_expect(p, '<');
    ptx_value v = binary(p, precedence(&(token){.kind = T_PUNCT, .n = 1, .first = '+'}));
    uint32_t n = (uint32_t)checked(p, line, v, limit, what);
    ptx_expect(p, '>');
    return n;
}

int64_t ptx_offset(ptx_parser *p) { // "+ 8", "- 8", "+ -8" or nothing
    uint32_t line = p->t.line;
    if (!ptx_is(p, '-') && !ptx_accept(p, '+')) return 0;
    return (int64_t)checked(p, line, ptx_expression(p), UINT64_MAX, "an offset");
}
