// A strict JSON parser for tests: a document becomes a tree, or json_parse returns NULL and nothing is valid.
// Numbers keep their text, so that 64-bit counts compare exactly.
#ifndef ORR_TEST_JSON_H
#define ORR_TEST_JSON_H

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

typedef struct json {
    char type;       // { [ " 0 t f n
    char *text;      // of a string (unescaped) or a number
    const char *key; // in an object
    struct json *first, *next;
    size_t n; // members
} json;

typedef struct json_doc {
    orr_arena arena;
    const char *at, *end;
    int depth;
} json_doc;

static inline void json_space(json_doc *d) {
    while (d->at < d->end && strchr(" \t\r\n", *d->at)) d->at++;
}

static inline char *json_text(json_doc *d) { // after the opening quote
    char *to = orr_arena_alloc(&d->arena, (size_t)(d->end - d->at) + 1), *p = to;
    while (d->at < d->end && *d->at != '"') {
        unsigned char c = (unsigned char)*d->at++;
        if (c < 32) return NULL;
        if (c != '\\') {
            *p++ = (char)c;
            continue;
        }
        if (d->at >= d->end) return NULL;
        c = (unsigned char)*d->at++;
        const char *from = "\"\\/bfnrt", *is = "\"\\/\b\f\n\r\t", *found = strchr(from, c);
        if (c && found) {
            *p++ = is[found - from];
        } else if (c == 'u' && d->end - d->at >= 4) {
            char hex[5] = {0}, *stop;
            memcpy(hex, d->at, 4);
            unsigned long v = strtoul(hex, &stop, 16);
            if (stop != hex + 4) return NULL;
            d->at += 4;
            if (v < 128) { // enough for what the reports escape
                *p++ = (char)v;
            } else {
                *p++ = '?';
            }
        } else {
            return NULL;
        }
    }
    if (d->at >= d->end) return NULL;
    d->at++;
    return to;
}

static inline bool json_digits(const char **p, const char *end) {
    const char *start = *p;
    while (*p < end && **p >= '0' && **p <= '9') (*p)++;
    return *p > start;
}

static inline bool json_number_ends(json_doc *d) {
    const char *p = d->at;
    if (p < d->end && *p == '-') p++;
    const char *first = p;
    if (!json_digits(&p, d->end) || (*first == '0' && p - first > 1)) return false;
    if (p < d->end && *p == '.') {
        p++;
        if (!json_digits(&p, d->end)) return false;
    }
    if (p < d->end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < d->end && (*p == '+' || *p == '-')) p++;
        if (!json_digits(&p, d->end)) return false;
    }
    d->at = p;
    return true;
}

static inline json *json_value(json_doc *d) {
    json_space(d);
    if (d->at >= d->end || ++d->depth > 100) return NULL;
    json *v = orr_arena_alloc(&d->arena, sizeof *v);
    v->type = *d->at;
    if (v->type == '{' || v->type == '[') {
        char close = v->type == '{' ? '}' : ']';
        json **link = &v->first;
        d->at++;
        json_space(d);
        for (bool first = true; d->at < d->end && *d->at != close; first = false) {
            if (!first && *d->at++ != ',') return NULL;
            json_space(d);
            const char *key = NULL;
            if (v->type == '{') {
                if (d->at >= d->end || *d->at++ != '"' || !(key = json_text(d))) return NULL;
                json_space(d);
                if (d->at >= d->end || *d->at++ != ':') return NULL;
                for (json *m = v->first; m; m = m->next)
                    if (!strcmp(m->key, key)) return NULL; // twice
            }
            if (!(*link = json_value(d))) return NULL;
            (*link)->key = key;
            link = &(*link)->next;
            v->n++;
            json_space(d);
        }
        if (d->at >= d->end) return NULL;
        d->at++;
    } else if (v->type == '"') {
        d->at++;
        if (!(v->text = json_text(d))) return NULL;
    } else if (strchr("tfn", v->type)) {
        const char *word = v->type == 't' ? "true" : v->type == 'f' ? "false" : "null";
        size_t n = strlen(word);
        if ((size_t)(d->end - d->at) < n || memcmp(d->at, word, n)) return NULL;
        d->at += n;
    } else {
        const char *start = d->at;
        if (!json_number_ends(d)) return NULL;
        v->type = '0';
        v->text = orr_arena_strndup(&d->arena, start, (size_t)(d->at - start));
    }
    d->depth--;
    return v;
}

static inline json *json_parse(json_doc *d, const char *text, size_t n) {
    *d = (json_doc){.at = text, .end = text + n};
    json *v = json_value(d);
    json_space(d);
    return v && d->at == d->end ? v : NULL;
}

static inline const json *json_get(const json *v, const char *key) { // NULL: not there
    for (const json *m = v && v->type == '{' ? v->first : NULL; m; m = m->next)
        if (!strcmp(m->key, key)) return m;
    return NULL;
}
static inline const json *json_at(const json *v, size_t i) {
    const json *m = v ? v->first : NULL;
    while (m && i--) m = m->next;
    return m;
}
static inline uint64_t json_u64(const json *v) {
    return v && v->type == '0' ? strtoull(v->text, NULL, 10) : UINT64_MAX;
}
static inline double json_double(const json *v) {
    return v && v->type == '0' ? strtod(v->text, NULL) : -1e300;
}
static inline uint64_t json_sum(const json *v) { // of all members, which are counts
    uint64_t sum = 0;
    for (const json *m = v ? v->first : NULL; m; m = m->next) sum += json_u64(m);
    return sum;
}
static inline uint64_t json_sum_of(const json *v, const char *key) { // of a member of all members
    uint64_t sum = 0;
    for (const json *m = v ? v->first : NULL; m; m = m->next) sum += json_u64(json_get(m, key));
    return sum;
}

#endif
