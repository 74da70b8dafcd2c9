// Tokens of a launch script. A line ends a statement, except after a backslash or a comma.
#include "launch/parse.h"

#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || is_digit(c);
}
static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

const char *orr_lex_text(const token *t, char buf[48]) {
    if (t->kind == T_EOF) return "the end of the script";
    if (t->kind == T_EOL) return "the end of the line";
    int n = t->n > 40 ? 40 : (int)t->n;
    snprintf(buf, 48, t->kind == T_STRING ? "\"%.*s\"" : "'%.*s'", n, t->s);
    return buf;
}

// Blanks, comments and continued lines. True when there were any.
static bool skip_blank(parser *p) {
    const char *start = p->at;
    while (p->at < p->end) {
        if (is_blank(*p->at)) {
            p->at++;
        } else if (*p->at == '#') {
            while (p->at < p->end && *p->at != '\n') p->at++;
        } else if (*p->at == '\\') {
            const char *q = p->at + 1;
            while (q < p->end && is_blank(*q)) q++;
            if (q < p->end && *q != '\n')
                bad(p, p->line, "a '\\' continues a line and must be the last thing on it");
            p->at = q < p->end ? q + 1 : q;
            p->line++;
        } else if (*p->at == '\n' && p->t.kind == ',') {
            p->at++;
            p->line++;
        } else {
            break;
        }
    }
    return p->at != start;
}

static void lex_number(parser *p) {
    token *t = &p->t;
    const char *q = p->at;
    int base = 10;
    if (q + 1 < p->end && q[0] == '0' && (q[1] == 'x' || q[1] == 'X')) base = 16;
    if (q + 1 < p->end && q[0] == '0' && (q[1] == 'b' || q[1] == 'B')) base = 2;
    t->kind = T_INT;
    if (base != 10) q += 2;
    while (q < p->end && (is_name(*q) || (base == 10 && *q == '.'))) {
        bool exponent = base == 10 && (*q == 'e' || *q == 'E');
        if (*q == '.' || exponent) t->kind = T_FLOAT;
        if (exponent && q + 1 < p->end && (q[1] == '+' || q[1] == '-')) q++;
        q++;
    }
    t->n = (size_t)(q - p->at);
    p->at = q;

    char text[128], *stop_at;
    if (t->n >= sizeof text) bad(p, p->line, "a number of %zu characters", t->n);
    memcpy(text, t->s, t->n);
    text[t->n] = 0;
    if (t->kind == T_FLOAT) {
        t->v.kind = V_FLOAT;
        t->v.f = strtod(text, &stop_at);
        if (*stop_at || t->v.f - t->v.f != 0) bad(p, p->line, "'%s' is not a number", text);
        return;
    }
    uint64_t u = 0;
    const char *c = text + (base != 10 ? 2 : 0);
    if (!*c) bad(p, p->line, "'%s' is not a number", text);
    for (; *c; c++) {
        int d = is_digit(*c)             ? *c - '0'
                : *c >= 'a' && *c <= 'f' ? *c - 'a' + 10
                : *c >= 'A' && *c <= 'F' ? *c - 'A' + 10
                                         : 99;
        if (d >= base) bad(p, p->line, "'%s' is not a number", text);
        if (__builtin_mul_overflow(u, (uint64_t)base, &u) || __builtin_add_overflow(u, (uint64_t)d, &u)) {
            bad(p, p->line, "'%s' does not fit 64 bits", text);
        }
    }
    t->v.kind = V_INT;
    t->v.i = (int64_t)u;
}

static void lex_string(parser *p) {
    token *t = &p->t;
    const char *q = ++p->at;
    while (q < p->end && *q != '"' && *q != '\n') q += *q == '\\' && q + 1 < p->end && q[1] != '\n' ? 2 : 1;
    if (q >= p->end || *q != '"') bad(p, p->line, "a string without its closing \"");
    char *out = orr_arena_alloc(&p->s->arena, (size_t)(q - p->at) + 1);
    size_t n = 0;
    for (const char *c = p->at; c < q; c++) {
        if (*c == '\\') c++;
        if (!*c) bad(p, p->line, "a 0 byte in a string");
        out[n++] = *c;
    }
    t->kind = T_STRING;
    t->s = out;
    t->n = n;
    p->at = q + 1;
}

void orr_lex(parser *p) {
    token *t = &p->t;
    t->space_before = skip_blank(p);
    t->line = p->line;
    t->s = p->at;
    t->n = 1;
    if (p->at >= p->end) {
        t->kind = T_EOF;
        t->n = 0;
        return;
    }
    char c = *p->at, d = p->at + 1 < p->end ? p->at[1] : 0;
    if (c == '\n') {
        t->kind = T_EOL;
        p->at++;
        p->line++;
        return;
    }
    if (is_digit(c) || (c == '.' && is_digit(d))) {
        lex_number(p);
    } else if (is_name(c)) {
        t->kind = T_NAME;
        while (p->at < p->end && is_name(*p->at)) p->at++;
        t->n = (size_t)(p->at - t->s);
        if (t->n > 1000) bad(p, p->line, "a name of %zu characters; 1000 are the most", t->n);
    } else if (c == '"') {
        lex_string(p);
    } else {
        static const struct {
            char text[3];
            int kind;
        } two[] = {{"<<", T_SHL}, {">>", T_SHR}, {"<=", T_LE},     {">=", T_GE},
                   {"==", T_EQ},  {"!=", T_NE},  {"&&", T_ANDAND}, {"||", T_OROR}};
        t->kind = 0;
        for (size_t k = 0; k < sizeof two / sizeof *two; k++) {
            if (c == two[k].text[0] && d == two[k].text[1]) {
                t->kind = two[k].kind;
                t->n = 2;
            }
        }
        if (!t->kind) {
            if (!c || !strchr("+-*/%&|^~!<>=?:,()[]{}", c)) {
                if (c >= 32 && c < 127) bad(p, p->line, "'%c' means nothing here", c);
                bad(p, p->line, "the byte 0x%02x means nothing in a launch script", (unsigned char)c);
            }
            t->kind = c;
        }
        p->at += t->n;
    }
    t->space_after = p->at < p->end && (is_blank(*p->at) || *p->at == '\n' || *p->at == '\\');
}

bool orr_lex_word(const parser *p, const char *word) {
    return p->t.kind == T_NAME && p->t.n == strlen(word) && !memcmp(p->t.s, word, p->t.n);
}

bool orr_lex_take(parser *p, int kind) {
    if (p->t.kind != kind) return false;
    orr_lex(p);
    return true;
}

bool orr_lex_take_word(parser *p, const char *word) {
    if (!orr_lex_word(p, word)) return false;
    orr_lex(p);
    return true;
}

void orr_lex_need(parser *p, int kind, const char *what) {
    char buf[48];
    if (!orr_lex_take(p, kind)) bad(p, p->t.line, "%s is needed before %s", what, orr_lex_text(&p->t, buf));
}
