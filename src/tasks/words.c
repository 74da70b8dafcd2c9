// The words, numbers and names of a task list.
#include "tasks/parse.h"

#include <ctype.h>
#include <string.h>

bool tasks_fail(tasks_parser *p, const char *what, const char *word, size_t n) {
    return orr_fail(p->e, ORR_BAD_INPUT, "%s:%d: %s%s%.*s%s", p->path, p->line, what, n ? " \"" : "",
                    (int)(n > 40 ? 40 : n), word ? word : "", n ? "\"" : "");
}
bool tasks_bad(tasks_parser *p, const char *what) { return tasks_fail(p, what, NULL, 0); }

// ---- words and numbers ------------------------------------------------------------------------------
void tasks_blanks(tasks_parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r')) p->at++;
    if (p->at < p->end && *p->at == '#')
        while (p->at < p->end && *p->at != '\n') p->at++;
}
bool tasks_at_end(tasks_parser *p) {
    tasks_blanks(p);
    return p->at == p->end || *p->at == '\n';
}
static bool is_letter(char c) { return isalpha((unsigned char)c) || c == '_'; }
size_t tasks_word(tasks_parser *p) { // length of the word that begins here
    tasks_blanks(p);
    size_t n = 0;
    while (p->at + n < p->end &&
           (is_letter(p->at[n]) || (n && (isdigit((unsigned char)p->at[n]) || p->at[n] == '.'))))
        n++;
    return n;
}
bool tasks_take_word(tasks_parser *p, const char *word) {
    size_t n = tasks_word(p);
    if (n != strlen(word) || memcmp(p->at, word, n) != 0) return false;
    p->at += n;
    return true;
}
bool tasks_take(tasks_parser *p, char c) {
    tasks_blanks(p);
    if (p->at == p->end || *p->at != c) return false;
    p->at++;
    return true;
}

static bool number(tasks_parser *p, int64_t *v) {
    int64_t n = 0;
    while (p->at < p->end && isdigit((unsigned char)*p->at)) {
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p->at - '0', &n))
            return tasks_bad(p, "a number is too large");
        p->at++;
    }
    int shift = 0;
    if (p->at < p->end && (*p->at == 'K' || *p->at == 'M' || *p->at == 'G')) {
        shift = *p->at == 'K' ? 10 : *p->at == 'M' ? 20 : 30;
        p->at++;
    }
    if (__builtin_mul_overflow(n, (int64_t)1 << shift, &n)) return tasks_bad(p, "a number is too large");
    *v = n;
    return true;
}

static bool factor(tasks_parser *p, int64_t *v, int depth) {
    if (depth > 32) return tasks_bad(p, "parentheses nest too deep");
    tasks_blanks(p);
    if (p->at < p->end && isdigit((unsigned char)*p->at)) return number(p, v);
    if (tasks_take(p, '('))
        return tasks_condition(p, v, depth + 1) && (tasks_take(p, ')') || tasks_bad(p, "a ) is missing"));
    size_t n = tasks_word(p);
    if (!n) return tasks_bad(p, "a number is expected here");
    for (int i = 0; i < p->nnames; i++)
        if (strlen(p->names[i].text) == n && memcmp(p->names[i].text, p->at, n) == 0) {
            p->at += n;
            p->names[i].met = true;
            *v = p->names[i].value;
            return true;
        }
    return tasks_fail(p, "nothing above defines", p->at, n);
}

static bool term(tasks_parser *p, int64_t *v, int depth) {
    if (!factor(p, v, depth)) return false;
    for (;;) {
        int64_t w;
        bool mul = tasks_take(p, '*'), div = !mul && tasks_take(p, '/'),
             mod = !mul && !div && tasks_take(p, '%');
        if (!mul && !div && !mod) return true;
        if (!factor(p, &w, depth)) return false;
        if (!mul && !w) return tasks_bad(p, "a division by 0");
        if (mul && __builtin_mul_overflow(*v, w, v)) return tasks_bad(p, "a number is too large");
        if (div) *v = w == -1 ? 0 - *v : *v / w;
        if (mod) *v = w == -1 ? 0 : *v % w;
    }
}

bool tasks_expression(tasks_parser *p, int64_t *v, int depth) {
    if (!term(p, v, depth)) return false;
    for (;;) {
        int64_t w;
        bool add = tasks_take(p, '+'), sub = !add && tasks_take(p, '-');
        if (!add && !sub) return true;
        if (!term(p, &w, depth)) return false;
        if (add ? __builtin_add_overflow(*v, w, v) : __builtin_sub_overflow(*v, w, v))
            return tasks_bad(p, "a number is too large");
    }
}

// One of < > <= >= == != here: which, as the two characters it may have.
static bool comparison(tasks_parser *p, char op[2]) {
    tasks_blanks(p);
    size_t left = (size_t)(p->end - p->at);
    if (!left || !memchr("<>=!", *p->at, 4)) return false;
    op[0] = *p->at;
    op[1] = left > 1 && p->at[1] == '=' ? '=' : 0;
    if ((op[0] == '=' || op[0] == '!') && !op[1]) return false;
    p->at += op[1] ? 2 : 1;
    return true;
}

static bool compared(tasks_parser *p, int64_t *v, int depth) {
    char op[2];
    int64_t w;
    if (!tasks_expression(p, v, depth)) return false;
    if (!comparison(p, op)) return true;
    if (!tasks_expression(p, &w, depth)) return false;
    switch (op[0]) {
    case '<': *v = op[1] ? *v <= w : *v < w; break;
    case '>': *v = op[1] ? *v >= w : *v > w; break;
    case '=': *v = *v == w; break;
    default: *v = *v != w; break;
    }
    return true;
}

static bool all_of(tasks_parser *p, int64_t *v, int depth) {
    if (!compared(p, v, depth)) return false;
    while (tasks_take_word(p, "and")) {
        int64_t w;
        if (!compared(p, &w, depth)) return false;
        *v = *v && w;
    }
    return true;
}

bool tasks_condition(tasks_parser *p, int64_t *v, int depth) {
    if (!all_of(p, v, depth)) return false;
    while (tasks_take_word(p, "or")) {
        int64_t w;
        if (!all_of(p, &w, depth)) return false;
        *v = *v || w;
    }
    return true;
}

bool tasks_amount(tasks_parser *p, const char *what, uint64_t low, uint64_t high, uint64_t *v) {
    int64_t n;
    if (!tasks_expression(p, &n, 0)) return false;
    if (n < 0 || (uint64_t)n < low || (uint64_t)n > high)
        return orr_fail(p->e, ORR_BAD_INPUT, "%s:%d: %s is %lld; it must be %llu to %llu", p->path, p->line,
                        what, (long long)n, (unsigned long long)low, (unsigned long long)high);
    *v = (uint64_t)n;
    return true;
}

// ---- names ----------------------------------------------------------------------------------------------
bool tasks_name(tasks_parser *p, const char *text, size_t n, int64_t v, bool fixed) {
    if (n >= sizeof p->names[0].text) return tasks_fail(p, "a name is too long:", text, n);
    for (int i = 0; i < p->nnames; i++)
        if (strlen(p->names[i].text) == n && memcmp(p->names[i].text, text, n) == 0) {
            if (p->names[i].place)
                return tasks_fail(p, "where the list runs says what this is; choose another name than", text,
                                  n);
            if (fixed || !p->names[i].fixed) p->names[i].value = v;
            p->names[i].met |= !fixed;
            return true;
        }
    if (p->nnames == MAX_NAMES) return tasks_bad(p, "too many names");
    tasks_known *x = &p->names[p->nnames++];
    memset(x, 0, sizeof *x);
    memcpy(x->text, text, n);
    x->value = v;
    x->fixed = fixed;
    x->met = !fixed;
    return true;
}

bool tasks_let(tasks_parser *p) {
    size_t n = tasks_word(p);
    const char *text = p->at;
    int64_t v;
    if (!n) return tasks_bad(p, "let takes a name, as in: let n = 1024");
    p->at += n;
    if (!tasks_take(p, '=')) return tasks_bad(p, "a = is missing");
    return tasks_condition(p, &v, 0) && tasks_name(p, text, n, v, false);
}
