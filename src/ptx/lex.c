// The lexer: text to tokens, one at a time, with one token of lookahead.
//
// A dot and the word behind it are one token, with the "::" parts that belong to it, so that
// ".shared::cta" or ".L2::128B" is one modifier. Spellings point into the module's own copy of the
// text, which ends in a 0 byte. (PTX ISA, "Syntax".)
#include <stdlib.h>
#include <string.h>

#include "ptx/ast.h"

void ptx_error(ptx_parser *p, uint32_t line, const char *fmt, ...) {
    char text[700];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    orr_fail(p->e, ORR_BAD_INPUT, "%.200s:%u: %s", p->m->path, line, text);
    longjmp(p->fail, 1);
}

enum { C_START = 1, C_WORD = 2, C_DIGIT = 4, C_HEX = 8, C_SPACE = 16 };

static int char_class(char ch) {
    unsigned char c = (unsigned char)ch;
    int k = 0;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$') k |= C_START | C_WORD;
    if (c >= '0' && c <= '9') k |= C_WORD | C_DIGIT | C_HEX;
    if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) k |= C_HEX;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v') k |= C_SPACE;
    return k;
}

static void skip_line(ptx_parser *p) {
    while (p->at < p->end && *p->at != '\n') p->at++;
}

static void skip_blank(ptx_parser *p) {
    for (;;) {
        if (p->at < p->end && (char_class(*p->at) & C_SPACE)) {
            if (*p->at == '\n') p->line++;
            p->at++;
        } else if (p->at + 1 < p->end && p->at[0] == '/' && p->at[1] == '/') {
            skip_line(p);
        } else if (p->at + 1 < p->end && p->at[0] == '/' && p->at[1] == '*') {
            uint32_t start = p->line;
            p->at += 2;
            while (p->at + 1 < p->end && !(p->at[0] == '*' && p->at[1] == '/')) {
                if (*p->at == '\n') p->line++;
                p->at++;
            }
            if (p->at + 1 >= p->end) ptx_error(p, start, "this comment has no end");
            p->at += 2;
        } else if (p->at < p->end && *p->at == '#') { // left over by a preprocessor
            skip_line(p);
        } else if (p->at + 1 < p->end && p->at[0] == '@' && p->at[1] == '@') { // @@DWARF, PTX 1.x
            skip_line(p);
        } else {
            return;
        }
    }
}

static uint64_t hex_digits(ptx_parser *p, token *t, int want) {
    uint64_t v = 0;
    int n = 0;
    while (char_class(*p->at) & C_HEX) {
        char c = *p->at++;
        int digit = c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
        if (v >> 60) ptx_error(p, t->line, "this constant does not fit in 64 bits");
        v = v << 4 | (uint64_t)digit;
        n++;
    }
    if (n == 0 || (want && n != want))
        ptx_error(p, t->line, "this hexadecimal constant needs %s%d digits", want ? "" : "at least ",
                  want ? want : 1);
    return v;
}

static void number(ptx_parser *p, token *t) {
    const char *s = p->at;
    char kind = s[0] == '0' ? s[1] : 0;
    t->kind = T_INT;
    if (kind == 'x' || kind == 'X') {
        p->at += 2;
        t->value = hex_digits(p, t, 0);
    } else if ((kind == 'f' || kind == 'F') && (char_class(s[2]) & C_HEX)) {
        p->at += 2;
        t->kind = T_F32;
        t->value = hex_digits(p, t, 8);
    } else if ((kind == 'd' || kind == 'D') && (char_class(s[2]) & C_HEX)) {
        p->at += 2;
        t->kind = T_F64;
        t->value = hex_digits(p, t, 16);
    } else if ((kind == 'b' || kind == 'B') && (s[2] == '0' || s[2] == '1')) {
        for (p->at += 2; *p->at == '0' || *p->at == '1'; p->at++) {
            if (t->value >> 63) ptx_error(p, t->line, "this constant does not fit in 64 bits");
            t->value = t->value << 1 | (uint64_t)(*p->at - '0');
        }
    } else {
        const char *q = s;
        while (char_class(*q) & C_DIGIT) q++;
        bool is_float = *q == '.' && (q[1] == 0 || !(char_class(q[1]) & C_START) || (q[1] | 32) == 'e');
        if ((*q | 32) == 'e' &&
            ((char_class(q[1]) & C_DIGIT) || ((q[1] == '+' || q[1] == '-') && (char_class(q[2]) & C_DIGIT))))
            is_float = true;
        if (is_float) {
            char *stop;
            double d = strtod(s, &stop);
            memcpy(&t->value, &d, sizeof d);
            t->kind = T_F64;
            p->at = stop;
        } else {
            unsigned base = s[0] == '0' ? 8 : 10;
            for (; p->at < q; p->at++) {
                unsigned digit = (unsigned)(*p->at - '0');
                if (digit >= base) ptx_error(p, t->line, "'%c' is not an octal digit", *p->at);
                if (t->value > (UINT64_MAX - digit) / base)
                    ptx_error(p, t->line, "this constant does not fit in 64 bits");
                t->value = t->value * base + digit;
            }
        }
    }
    if (t->kind == T_INT && (*p->at == 'U' || *p->at == 'u')) p->at++;
    if (char_class(*p->at) & C_WORD) ptx_error(p, t->line, "'%c' does not belong to a number", *p->at);
    t->s = s;
    t->n = (uint32_t)(p->at - s);
}

static void quoted(ptx_parser *p, token *t) {
    char quote = *p->at++;
    t->kind = quote == '"' ? T_STRING : T_CHAR;
    t->s = p->at;
    while (p->at < p->end && *p->at != quote && *p->at != '\n' && *p->at) {
        if (*p->at == '\\' && p->at + 1 < p->end) p->at++;
        p->at++;
    }
    if (p->at >= p->end || *p->at != quote) ptx_error(p, t->line, "this string has no end");
    t->n = (uint32_t)(p->at - t->s);
    p->at++;
    if (t->kind == T_CHAR) {
        const char *s = t->s;
        if (t->n == 1) {
            t->value = (unsigned char)s[0];
        } else if (t->n == 2 && s[0] == '\\') {
            const char *from = "ntr0abfv", *to = "\n\t\r\0\a\b\f\v", *hit = strchr(from, s[1]);
            t->value = hit && s[1] ? (unsigned char)to[hit - from] : (unsigned char)s[1];
        } else {
            ptx_error(p, t->line, "a character constant holds one character");
        }
    }
}

static void word(ptx_parser *p) {
    while (char_class(*p->at) & C_WORD) p->at++;
}

static token lex(ptx_parser *p) {
    skip_blank(p);
    token t = {.line = p->line, .s = p->at};
    if (p->at >= p->end) {
        t.kind = T_EOF;
        return t;
    }
    const char *s = p->at;
    int k = char_class(*s);
    if ((k & C_START) || (*s == '%' && (char_class(s[1]) & C_START))) {
        p->at++;
        word(p);
        t.kind = T_NAME;
    } else if (*s == '.' &&
               ((char_class(s[1]) & C_START) ||
                ((char_class(s[1]) & C_DIGIT) && s > p->f->text && (char_class(s[-1]) & C_WORD)))) {
        p->at++;
        word(p);
        while (p->at[0] == ':' && p->at[1] == ':' && (char_class(p->at[2]) & C_WORD)) {
            p->at += 2;
            word(p);
        }
        t.kind = T_DOT;
        t.s = s + 1;
    } else if (k & C_DIGIT) {
        number(p, &t);
    } else if (*s == '.' && (char_class(s[1]) & C_DIGIT)) {
        char *stop;
        double d = strtod(s, &stop);
        memcpy(&t.value, &d, sizeof d);
        t.kind = T_F64;
        p->at = stop;
    } else if (*s == '"' || *s == '\'') {
        quoted(p, &t);
    } else if (strchr("{}[]()<>,;:+-*/%|&^!~=?@", *s) && *s) {
        static const char pairs[][3] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
        p->at++;
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            if (s[0] == pairs[i][0] && s[1] == pairs[i][1]) p->at = s + 2;
        t.kind = T_PUNCT;
        t.first = (uint8_t)*s;
    } else if ((unsigned char)*s > ' ' && (unsigned char)*s < 127) {
        ptx_error(p, p->line, "unexpected '%c'", *s);
    } else {
        ptx_error(p, p->line, "unexpected byte 0x%02x", (unsigned char)*s);
    }
    if (t.kind != T_STRING && t.kind != T_CHAR) t.n = (uint32_t)(p->at - t.s);
    if ((size_t)(p->at - s) > MAX_TOKEN)
        ptx_error(p, t.line, "this token is longer than %d characters", MAX_TOKEN);
    return t;
}

const char *ptx_start(const token *t) {
    return t->kind == T_DOT || t->kind == T_STRING || t->kind == T_CHAR ? t->s - 1 : t->s;
}

ptx_slice ptx_since(const ptx_parser *p, const char *from) {
    return (ptx_slice){from, (uint32_t)(p->last - from)};
}

void ptx_next(ptx_parser *p) {
    if (p->t.s) p->last = p->t.s + p->t.n + (p->t.kind == T_STRING || p->t.kind == T_CHAR);
    if (p->ahead.read) {
        p->t = p->ahead.t;
        p->ahead.read = false;
    } else {
        p->t = lex(p);
    }
}

const token *ptx_peek(ptx_parser *p) {
    if (!p->ahead.read) {
        p->ahead.t = lex(p);
        p->ahead.read = true;
    }
    return &p->ahead.t;
}

bool ptx_is(const ptx_parser *p, char c) {
    return p->t.kind == T_PUNCT && p->t.n == 1 && p->t.first == (uint8_t)c;
}

static bool spelled(const token *t, const char *word) {
    return t->n == strlen(word) && memcmp(t->s, word, t->n) == 0;
}

bool ptx_is_dot(const ptx_parser *p, const char *word) { return p->t.kind == T_DOT && spelled(&p->t, word); }
bool ptx_is_name(const ptx_parser *p, const char *word) {
    return p->t.kind == T_NAME && spelled(&p->t, word);
}

bool ptx_accept(ptx_parser *p, char c) {
    if (!ptx_is(p, c)) return false;
    ptx_next(p);
    return true;
}

bool ptx_accept_dot(ptx_parser *p, const char *word) {
    if (!ptx_is_dot(p, word)) return false;
    ptx_next(p);
    return true;
}

void ptx_unexpected(ptx_parser *p, const char *wanted) {
    const token *t = &p->t;
    if (t->kind == T_EOF) ptx_error(p, t->line, "the file ends where %s is expected", wanted);
    int n = t->n > 60 ? 60 : (int)t->n;
    ptx_error(p, t->line, "'%s%.*s' where %s is expected", t->kind == T_DOT ? "." : "", n, t->s, wanted);
}

void ptx_expect(ptx_parser *p, char c) {
    if (!ptx_accept(p, c)) ptx_unexpected(p, (char[]){'\'', c, '\'', 0});
}

token ptx_expect_name(ptx_parser *p, const char *what) {
    if (p->t.kind != T_NAME) ptx_unexpected(p, what);
    token t = p->t;
    ptx_next(p);
    return t;
}

void ptx_enter(ptx_parser *p) {
    if (++p->depth > MAX_NESTING) ptx_error(p, p->t.line, "nested deeper than %d levels", MAX_NESTING);
}
