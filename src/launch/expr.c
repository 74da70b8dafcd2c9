// Expressions of a launch script, by precedence climbing with C's precedences.
#include "launch/parse.h"

#include <string.h>

int orr_name_find(const parser *p, const char *s, size_t n) {
    return (int)(intptr_t)orr_map_getn(&p->s->names_by_text, s, n) - 1;
}

static expr *node(parser *p, int op, int line, expr *a, expr *b, expr *c) {
    expr *x = orr_arena_alloc(&p->s->arena, sizeof *x);
    *x = (expr){.op = (uint8_t)op, .line = line, .a = a, .b = b, .c = c};
    expr *kids[3] = {a, b, c};
    for (int k = 0; k < 3; k++) {
        if (kids[k] && kids[k]->depth >= x->depth) x->depth = kids[k]->depth + 1;
    }
    if (x->depth > MAX_EXPR_DEPTH) bad(p, line, "the expression is too long; split it with let");
    return x;
}

static expr *constant(parser *p, int line, value v) {
    expr *x = node(p, X_CONST, line, NULL, NULL, NULL);
    x->v = v;
    return x;
}

static const struct {
    const char *name;
    int op, args;
} functions[] = {{"min", X_MIN, 2},         {"max", X_MAX, 2},     {"abs", X_ABS, 1},
                 {"ceildiv", X_CEILDIV, 2}, {"log2", X_LOG2, 1},   {"sqrt", X_SQRT, 1},
                 {"int", X_INT, 1},         {"float", X_FLOAT, 1}, {"hash", X_HASH, 1}};

static expr *unary(parser *p);

// Inside parentheses and brackets a sign is an operator again, whatever is outside.
static expr *inner(parser *p) {
    bool operands = p->operands;
    p->operands = false;
    expr *x = orr_expr(p);
    p->operands = operands;
    return x;
}

static expr *function(parser *p, token name) {
    char buf[48];
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        if (strlen(functions[k].name) != name.n || memcmp(functions[k].name, name.s, name.n)) continue;
        expr *a = inner(p), *b = NULL;
        int op = functions[k].op;
        if (functions[k].args == 2) {
            orr_lex_need(p, ',', "',' and a second argument");
            b = inner(p);
        }
        expr *x = node(p, op, name.line, a, b, NULL);
        while ((op == X_MIN || op == X_MAX) && orr_lex_take(p, ','))
            x = node(p, op, name.line, x, inner(p), NULL);
        orr_lex_need(p, ')', "')'");
        return x;
    }
    bad(p, name.line, "there is no function %s; there are min max abs ceildiv log2 sqrt int float hash",
        orr_lex_text(&name, buf));
}

static expr *primary(parser *p) {
    token t = p->t;
    char buf[48];
    expr *x;
    if (t.kind == T_INT || t.kind == T_FLOAT) {
        orr_lex(p);
        return constant(p, t.line, t.v);
    }
    if (t.kind == '(') {
        if (++p->depth > MAX_NESTING) bad(p, t.line, "parentheses are nested more than %d deep", MAX_NESTING);
        orr_lex(p);
        x = inner(p);
        orr_lex_need(p, ')', "')'");
        p->depth--;
        return x;
    }
    if (t.kind != T_NAME) bad(p, t.line, "a number, a name or '(' is needed, not %s", orr_lex_text(&t, buf));
    orr_lex(p);
    if (p->t.kind == '(' && !(p->operands && p->t.space_before)) {
        if (++p->depth > MAX_NESTING) bad(p, t.line, "parentheses are nested more than %d deep", MAX_NESTING);
        orr_lex(p);
        x = function(p, t);
        p->depth--;
        return x;
    }
    if (p->in_fill && t.n == 1 && t.s[0] == 'i') return node(p, X_I, t.line, NULL, NULL, NULL);
    int slot = orr_name_find(p, t.s, t.n);
    if (slot < 0) {
        double big = 0x1p1023;
        if (t.n == 3 && !memcmp(t.s, "inf", 3))
            return constant(p, t.line, (value){.kind = V_FLOAT, .f = big * 2});
        if (t.n == 3 && !memcmp(t.s, "nan", 3))
            return constant(p, t.line, (value){.kind = V_FLOAT, .f = __builtin_nan("")});
        if (p->s->plain) bad(p, t.line, "%s is not a number", orr_lex_text(&t, buf));
        bad(p, t.line, "%s is not defined above; use let, size or buffer", orr_lex_text(&t, buf));
    }
    if (p->s->names.at[slot].buffer && p->t.kind == '[') {
        if (++p->depth > MAX_NESTING) bad(p, t.line, "brackets are nested more than %d deep", MAX_NESTING);
        orr_lex(p);
        x = node(p, X_INDEX, t.line, inner(p), NULL, NULL);
        orr_lex_need(p, ']', "']'");
        p->depth--;
    } else {
        x = node(p, p->s->names.at[slot].buffer ? X_BUF : X_VAR, t.line, NULL, NULL, NULL);
    }
    x->slot = slot;
    return x;
}

static expr *unary(parser *p) {
    int op = p->t.kind == '-' ? X_NEG : p->t.kind == '!' ? X_NOT : p->t.kind == '~' ? X_BITNOT : -1;
    if (op < 0 && p->t.kind != '+') return primary(p);
    int line = p->t.line;
    if (++p->depth > MAX_NESTING) bad(p, line, "signs are nested more than %d deep", MAX_NESTING);
    orr_lex(p);
    expr *x = unary(p);
    p->depth--;
    if (op < 0) return x;
    if (op == X_NEG && x->op == X_CONST && x->v.kind == V_FLOAT)
        x->v.f = -x->v.f;
    else if (op == X_NEG && x->op == X_CONST)
        x->v.i = (int64_t)(0 - (uint64_t)x->v.i);
    else
        x = node(p, op, line, x, NULL, NULL);
    return x;
}

static const struct {
    int token, level, op;
} binaries[] = {
    {T_OROR, 1, X_OROR}, {T_ANDAND, 2, X_ANDAND}, {'|', 3, X_OR},    {'^', 4, X_XOR}, {'&', 5, X_AND},
    {T_EQ, 6, X_EQ},     {T_NE, 6, X_NE},         {'<', 7, X_LT},    {T_LE, 7, X_LE}, {'>', 7, X_GT},
    {T_GE, 7, X_GE},     {T_SHL, 8, X_SHL},       {T_SHR, 8, X_SHR}, {'+', 9, X_ADD}, {'-', 9, X_SUB},
    {'*', 10, X_MUL},    {'/', 10, X_DIV},        {'%', 10, X_MOD},
};

static expr *binary(parser *p, int level) {
    expr *x = unary(p);
    for (;;) {
        size_t k = 0, n = sizeof binaries / sizeof *binaries;
        while (k < n && binaries[k].token != p->t.kind) k++;
        if (k == n || binaries[k].level < level) return x;
        bool sign = p->t.kind == '-' || p->t.kind == '+';
        if (p->operands && sign && p->t.space_before && !p->t.space_after) return x;
        int line = p->t.line;
        orr_lex(p);
        expr *y = binary(p, binaries[k].level + 1);
        x = node(p, binaries[k].op, line, x, y, NULL);
    }
}

expr *orr_expr(parser *p) {
    expr *x = binary(p, 1);
    int line = p->t.line;
    if (!orr_lex_take(p, '?')) return x;
    if (++p->depth > MAX_NESTING) bad(p, line, "?: is nested more than %d deep", MAX_NESTING);
    expr *a = orr_expr(p);
    orr_lex_need(p, ':', "':'");
    expr *b = orr_expr(p);
    p->depth--;
    return node(p, X_COND, line, x, a, b);
}

// One of several expressions side by side (`random -2 -1`): a sign with a blank before and none after
// it starts the next one. A comma between them is taken too.
expr *orr_expr_operand(parser *p) {
    p->operands = true;
    expr *x = orr_expr(p);
    p->operands = false;
    return x;
}
