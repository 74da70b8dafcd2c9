// JSON (RFC 8259) as a tree, and places in it (RFC 6901). It reads what the reports write, so that a value
// has one form only; text that is not JSON is refused all the same.
#include "api/api.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DEPTH 64

struct orr_json {
    char kind;        // { [ " 0 t f n
    const char *key;  // in an object
    const char *text; // of a string
    double number;    // of a number
    int64_t n;        // elements
    orr_json *first, *next;
};

typedef struct reader {
    const char *at;
    orr_arena *a;
    int depth;
} reader;

static void blanks(reader *r) { r->at += strspn(r->at, " \t\r\n"); }

// A character of the basic plane as UTF-8.
static char *add_utf8(char *to, unsigned long v) {
    if (v < 0x80) {
        *to++ = (char)v;
    } else if (v < 0x800) {
        *to++ = (char)(0xc0 | v >> 6);
        *to++ = (char)(0x80 | (v & 0x3f));
    } else {
        *to++ = (char)(0xe0 | v >> 12);
        *to++ = (char)(0x80 | (v >> 6 & 0x3f));
        *to++ = (char)(0x80 | (v & 0x3f));
    }
    return to;
}

static const char *read_string(reader *r) { // at the opening quote
    if (*r->at != '"') return NULL;
    const char *end = ++r->at;
    while (*end && *end != '"') end += *end == '\\' && end[1] ? 2 : 1;
    if (!*end) return NULL;
    char *text = orr_arena_alloc(r->a, (size_t)(end - r->at) + 1), *to = text;
    while (r->at < end) {
        if (*r->at != '\\') {
            *to++ = *r->at++;
            continue;
        }
        static const char names[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
        const char *found = strchr(names, r->at[1]);
        if (found) {
            *to++ = means[found - names];
            r->at += 2;
        } else if (r->at[1] == 'u' && end - r->at >= 6) {
            char hex[5] = {r->at[2], r->at[3], r->at[4], r->at[5], 0}, *stop;
            unsigned long v = strtoul(hex, &stop, 16);
            if (stop != hex + 4) return NULL;
            to = add_utf8(to, v); // six characters become three at most
            r->at += 6;
        } else {
            return NULL;
        }
    }
    r->at = end + 1;
    return text;
}

static orr_json *read_value(reader *r);

static bool read_members(reader *r, orr_json *j, char close) {
    orr_json **last = &j->first;
    r->at++;
    blanks(r);
    if (*r->at == close) {
        r->at++;
        return true;
    }
    for (;; r->at++) {
        const char *key = NULL;
        blanks(r);
        if (close == '}') {
            if (!(key = read_string(r))) return false;
            blanks(r);
            if (*r->at++ != ':') return false;
        }
        orr_json *x = *last = read_value(r);
        if (!x) return false;
        x->key = key;
        last = &x->next;
        j->n++;
        blanks(r);
        if (*r->at == close) break;
        if (*r->at != ',') return false;
    }
    r->at++;
    return true;
}

static orr_json *read_value(reader *r) {
    static const char *const words[] = {"true", "false", "null"};
    blanks(r);
    orr_json *j = orr_arena_alloc(r->a, sizeof *j);
    bool ok = false;
    j->kind = *r->at;
    if (++r->depth > MOST_DEPTH) return NULL;
    if (*r->at == '{' || *r->at == '[') {
        ok = read_members(r, j, *r->at == '{' ? '}' : ']');
    } else if (*r->at == '"') {
        ok = (j->text = read_string(r)) != NULL;
    } else if (*r->at == '-' || (*r->at >= '0' && *r->at <= '9')) {
        char *end;
        j->kind = '0';
        j->number = strtod(r->at, &end);
        ok = end > r->at;
        r->at = end;
    }
    for (int k = 0; !ok && k < 3; k++) {
        size_t n = strlen(words[k]);
        if (strncmp(r->at, words[k], n) != 0) continue;
        j->number = k == 0;
        r->at += n;
        ok = true;
    }
    r->depth--;
    return ok ? j : NULL;
}

orr_json *orr_json_parse(const char *text, orr_arena *a) {
    reader r = {.at = text, .a = a};
    orr_json *j = read_value(&r);
    blanks(&r);
    return *r.at ? NULL : j;
}

// ~0 is ~ and ~1 is /.
static bool same_key(const char *key, const char *part, size_t n) {
    for (size_t k = 0; k < n; k++, key++) {
        char c = part[k];
        if (c == '~' && k + 1 < n && (part[k + 1] == '0' || part[k + 1] == '1'))
            c = part[++k] == '0' ? '~' : '/';
        if (*key != c) return false;
    }
    return !*key;
}

const orr_json *orr_json_at(const orr_json *j, const char *place) {
    while (j && *place) {
        if (*place++ != '/') return NULL;
        size_t n = strcspn(place, "/");
        const orr_json *x = j->kind == '{' || j->kind == '[' ? j->first : NULL;
        if (j->kind == '[') {
            if (!n || strspn(place, "0123456789") != n || n > 9) return NULL;
            for (long k = strtol(place, NULL, 10); x && k > 0; k--) x = x->next;
        } else {
            while (x && !same_key(x->key, place, n)) x = x->next;
        }
        j = x;
        place += n;
    }
    return j;
}

double orr_json_number(const orr_json *j) {
    return j->kind == '0' || j->kind == 't' || j->kind == 'f' ? j->number : (double)NAN;
}
const char *orr_json_string(const orr_json *j) { return j->kind == '"' ? j->text : NULL; }
int64_t orr_json_count(const orr_json *j) { return j->kind == '{' || j->kind == '[' ? j->n : -1; }
const orr_json *orr_json_first(const orr_json *j) {
    return j && (j->kind == '{' || j->kind == '[') ? j->first : NULL;
}
const orr_json *orr_json_next(const orr_json *j) { return j->next; }
const char *orr_json_key(const orr_json *j) { return j->key; }

void orr_json_print(const orr_json *j, orr_text *out) {
    if (j->kind == '"') {
        orr_text_json(out, j->text);
    } else if (j->kind == '0') {
        char text[32];
        snprintf(text, sizeof text, "%.15g", j->number);
        if (strtod(text, NULL) != j->number) snprintf(text, sizeof text, "%.17g", j->number);
        orr_text_add(out, "%s", text);
    } else if (j->kind == '{' || j->kind == '[') {
        orr_text_addn(out, &j->kind, 1);
        for (const orr_json *x = j->first; x; x = x->next) {
            if (x->key) {
                orr_text_json(out, x->key);
                orr_text_addn(out, ": ", 2);
            }
            orr_json_print(x, out);
            if (x->next) orr_text_addn(out, ",", 1);
        }
        orr_text_addn(out, j->kind == '{' ? "}" : "]", 1);
    } else {
        orr_text_add(out, j->kind == 't' ? "true" : j->kind == 'f' ? "false" : "null");
    }
}
