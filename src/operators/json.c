// JSON as a tree. Strings and numbers stay where they are in the text, which must outlive the tree.
#include "operators/read.h"

#include <stdlib.h>
#include <string.h>

typedef struct reader {
    orr_arena *a;
    const char *path, *at, *end, *begin;
    orr_err *e;
} reader;

static json *wrong(reader *r, const char *what) {
    int line = 1;
    for (const char *c = r->begin; c < r->at && c < r->end; c++) line += *c == '\n';
    orr_fail(r->e, ORR_BAD_INPUT, "%s:%d: %s", r->path, line, what);
    return NULL;
}

static void blanks(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) r->at++;
}

static bool string(reader *r, const char **s, uint32_t *n) { // at the quote
    const char *from = ++r->at;
    while (r->at < r->end && *r->at != '"') r->at += *r->at == '\\' && r->at + 1 < r->end ? 2 : 1;
    if (r->at >= r->end) return wrong(r, "a string has no end"), false;
    if (r->at - from > 1 << 28) return wrong(r, "a string is too long"), false;
    *s = from;
    *n = (uint32_t)(r->at++ - from);
    return true;
}

static json *value(reader *r, int depth);

static json *members(reader *r, json *v, char close, int depth) {
    json **last = &v->child;
    r->at++;
    for (bool first = true;; first = false) {
        const char *key = NULL;
        uint32_t nkey = 0;
        blanks(r);
        if (r->at < r->end && *r->at == close && first) break;
        if (close == '}') {
            if (r->at == r->end || *r->at != '"') return wrong(r, "a name in quotes is expected");
            if (!string(r, &key, &nkey)) return NULL;
            blanks(r);
            if (r->at == r->end || *r->at++ != ':') return wrong(r, "a : is missing");
        }
        json *x = value(r, depth + 1);
        if (!x) return NULL;
        x->key = key;
        x->nkey = nkey;
        *last = x;
        last = &x->next;
        blanks(r);
        if (r->at < r->end && *r->at == ',') {
            r->at++;
            continue;
        }
        if (r->at < r->end && *r->at == close) break;
        return wrong(r, "a , or the end of a list is expected");
    }
    r->at++;
    return v;
}

static bool word(reader *r, const char *text) {
    size_t n = strlen(text);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0) return false;
    r->at += n;
    return true;
}

static json *value(reader *r, int depth) {
    blanks(r);
    if (depth > MAX_DEPTH) return wrong(r, "lists nest too deep");
    if (r->at == r->end) return wrong(r, "the file ends here");
    json *v = orr_arena_alloc(r->a, sizeof *v);
    *v = (json){.type = JSON_NULL, .s = r->at};
    if (*r->at == '{' || *r->at == '[') {
        v->type = *r->at == '{' ? JSON_OBJECT : JSON_ARRAY;
        return members(r, v, *r->at == '{' ? '}' : ']', depth);
    }
    if (*r->at == '"') {
        v->type = JSON_STRING;
        return string(r, &v->s, &v->n) ? v : NULL;
    }
    if (word(r, "null") || word(r, "NaN")) return v;
    if (word(r, "true") || word(r, "false")) {
        v->type = JSON_BOOL;
        v->n = (uint32_t)(r->at - v->s);
        return v;
    }
    v->type = JSON_NUMBER;
    while (r->at < r->end && *r->at && strchr("+-.0123456789eEInfity", *r->at)) r->at++;
    v->n = (uint32_t)(r->at - v->s);
    return v->n && v->n < 64 ? v : wrong(r, "this is no value");
}

json *json_parse(orr_arena *a, const char *path, const char *text, size_t n, orr_err *e) {
    reader r = {.a = a, .path = path, .at = text, .begin = text, .end = text + n, .e = e};
    json *v = value(&r, 0);
    blanks(&r);
    return !v || r.at == r.end ? v : wrong(&r, "something follows the end");
}

const json *json_get(const json *o, const char *key) {
    size_t n = strlen(key);
    if (!o || o->type != JSON_OBJECT) return NULL;
    for (const json *v = o->child; v; v = v->next)
        if (v->nkey == n && !memcmp(v->key, key, n)) return v;
    return NULL;
}

double json_double(const json *v, double otherwise) {
    char text[65];
    if (!v || (v->type != JSON_NUMBER && v->type != JSON_STRING) || v->n > 64) return otherwise;
    memcpy(text, v->s, v->n);
    text[v->n] = 0;
    char *end;
    double x = strtod(text, &end);
    return end != text && x == x && x > -1e300 && x < 1e300 ? x : otherwise;
}

int64_t json_int(const json *v, int64_t otherwise) {
    double x = json_double(v, (double)otherwise);
    if (x > -9e15 && x < 9e15) return (int64_t)x;
    if (v->n > 20) return otherwise;
    char text[24];
    memcpy(text, v->s, v->n);
    text[v->n] = 0;
    return strtoll(text, NULL, 10); // beyond what a double has exactly
}

bool json_is(const json *v, const char *text) {
    return v && v->type == JSON_STRING && v->n == strlen(text) && !memcmp(v->s, text, v->n);
}

const char *json_text(orr_arena *a, const json *v) {
    if (!v || v->type != JSON_STRING) return NULL;
    char *to = orr_arena_alloc(a, v->n + 1u);
    size_t n = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        char c = v->s[i];
        if (c == '\\' && i + 1 < v->n) {
            c = v->s[++i];
            if (c == 'n') c = '\n';
            if (c == 't') c = '\t';
            if (c == 'u') { // names are ASCII; anything else becomes a ?
                uint32_t more = v->n - 1 - i;
                i += more < 4 ? more : 4;
                c = '?';
            }
        }
        to[n++] = c;
    }
    to[n] = 0;
    return to;
}
