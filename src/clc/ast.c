// Reads clang's syntax tree: JSON, of which a few keys matter. A place in the source names its file only
// where it differs from the place before, in the order of the text.
#include "clc/ast.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 400, MAX_INNER = 1 << 20 };

typedef struct reader {
    const char *s, *end, *path;
    const char *file; // of the last place
    orr_arena *a;
    int depth;
    bool bad;
} reader;

typedef struct place {
    uint32_t offset, length;
    bool known, macro, here;
} place;

// ---- JSON -------------------------------------------------------------------------------------------
static char peek(reader *r) {
    while (r->s < r->end && (*r->s == ' ' || *r->s == '\n' || *r->s == '\t' || *r->s == '\r')) r->s++;
    return r->s < r->end ? *r->s : 0;
}

static bool take(reader *r, char c) {
    if (peek(r) != c) return false;
    r->s++;
    return true;
}

// A string as it is, escapes and all; *n its length.
static const char *string(reader *r, size_t *n) {
    *n = 0;
    if (!take(r, '"')) {
        r->bad = true;
        return "";
    }
    const char *from = r->s;
    while (r->s < r->end && *r->s != '"') r->s += *r->s == '\\' && r->end - r->s > 1 ? 2 : 1;
    if (r->s >= r->end) {
        r->bad = true;
        r->s = r->end;
        return "";
    }
    *n = (size_t)(r->s++ - from);
    return from;
}

static uint32_t number(reader *r) {
    uint64_t v = 0;
    peek(r);
    while (r->s < r->end && *r->s >= '0' && *r->s <= '9') {
        if (v < UINT32_MAX) v = v * 10 + (uint64_t)(*r->s - '0');
        r->s++;
    }
    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static void skip(reader *r) {
    if (++r->depth > MAX_DEPTH) r->bad = true;
    size_t n;
    char c = r->bad ? 0 : peek(r);
    if (c == '"') {
        string(r, &n);
    } else if (c == '{' || c == '[') {
        r->s++;
        char close = c == '{' ? '}' : ']';
        for (bool first = true; !r->bad && !take(r, close); first = false) {
            if (!first && !take(r, ',')) r->bad = true;
            if (c == '{' && !r->bad) {
                string(r, &n);
                if (!take(r, ':')) r->bad = true;
            }
            if (!r->bad) skip(r);
        }
    } else {
        const char *from = r->s;
        while (r->s < r->end && !strchr(",]} \n\t\r", *r->s)) r->s++;
        if (r->s == from) r->bad = true;
    }
    r->depth--;
}

// Calls `each` for every key of an object, which must read the value.
static void object(reader *r, void (*each)(reader *r, const char *key, size_t n, void *arg), void *arg) {
    if (!take(r, '{')) {
        r->bad = true;
        return;
    }
    for (bool first = true; !r->bad && !take(r, '}'); first = false) {
        size_t n;
        if (!first && !take(r, ',')) r->bad = true;
        const char *key = r->bad ? "" : string(r, &n);
        if (r->bad || !take(r, ':')) {
            r->bad = true;
            return;
        }
        each(r, key, n, arg);
    }
}

static bool is(const char *key, size_t n, const char *name) {
    return strlen(name) == n && !memcmp(key, name, n);
}

// ---- places -----------------------------------------------------------------------------------------
static void place_key(reader *r, const char *key, size_t n, void *arg) {
    place *p = arg;
    size_t len;
    if (is(key, n, "offset")) {
        p->offset = number(r);
        p->known = true;
        p->here = r->file && !strcmp(r->file, r->path);
    } else if (is(key, n, "tokLen")) {
        p->length = number(r);
    } else if (is(key, n, "file")) {
        const char *s = string(r, &len);
        r->file = orr_arena_strndup(r->a, s, len);
        p->here = p->known && !strcmp(r->file, r->path);
    } else if (is(key, n, "expansionLoc")) {
        object(r, place_key, p);
        p->macro = true;
    } else if (is(key, n, "spellingLoc")) {
        place other = {0};
        object(r, place_key, &other);
    } else {
        skip(r);
    }
}

typedef struct range {
    place begin, end;
} range;

static void range_key(reader *r, const char *key, size_t n, void *arg) {
    range *g = arg;
    if (is(key, n, "begin"))
        object(r, place_key, &g->begin);
    else if (is(key, n, "end"))
        object(r, place_key, &g->end);
    else
        skip(r);
}

// ---- nodes ------------------------------------------------------------------------------------------
static clc_node *node(reader *r);

static void named_key(reader *r, const char *key, size_t n, void *arg) {
    size_t len;
    if (!is(key, n, "name")) {
        skip(r);
        return;
    }
    const char *s = string(r, &len);
    *(const char **)arg = orr_arena_strndup(r->a, s, len);
}

static void inner(reader *r, clc_node *x) {
    ORR_VEC(clc_node *) all = {0};
    if (!take(r, '[')) r->bad = true;
    for (bool first = true; !r->bad && !take(r, ']'); first = false) {
        if (!first && !take(r, ',')) r->bad = true;
        if (all.n > MAX_INNER) r->bad = true;
        if (!r->bad) *ORR_PUSH(&all) = node(r);
    }
    x->inner = orr_arena_alloc(r->a, (all.n + 1) * sizeof *x->inner);
    if (all.n) memcpy(x->inner, all.at, all.n * sizeof *x->inner);
    x->ninner = (uint32_t)all.n;
    free(all.at);
}

static void node_key(reader *r, const char *key, size_t n, void *arg) {
    clc_node *x = arg;
    size_t len;
    if (is(key, n, "kind") || is(key, n, "name")) {
        const char *s = string(r, &len), *own = orr_arena_strndup(r->a, s, len);
        if (key[0] == 'k')
            x->kind = own;
        else
            x->name = own;
    } else if (is(key, n, "range")) {
        range g = {0};
        object(r, range_key, &g);
        x->begin = g.begin.offset;
        x->end = g.end.offset > UINT32_MAX - g.end.length ? UINT32_MAX : g.end.offset + g.end.length;
        x->nearby = g.begin.known && g.end.known && g.begin.here && g.end.here && x->begin <= x->end;
        x->here = x->nearby && !g.begin.macro && !g.end.macro;
    } else if (is(key, n, "loc")) {
        place p = {0};
        object(r, place_key, &p);
    } else if (is(key, n, "hasElse")) {
        x->has_else = true;
        skip(r);
    } else if (is(key, n, "referencedDecl")) {
        object(r, named_key, &x->name);
    } else if (is(key, n, "inner")) {
        inner(r, x);
    } else {
        skip(r);
    }
}

static clc_node *node(reader *r) {
    clc_node *x = orr_arena_alloc(r->a, sizeof *x);
    if (++r->depth > MAX_DEPTH)
        r->bad = true;
    else
        object(r, node_key, x);
    r->depth--;
    return x;
}

clc_node *clc_read_ast(const char *text, size_t n, const char *path, orr_arena *a, orr_err *e) {
    reader r = {.s = text, .end = text + n, .path = path, .a = a};
    clc_node *x = node(&r);
    if (!r.bad && x->kind && !strcmp(x->kind, "TranslationUnitDecl")) return x;
    orr_fail(e, ORR_BAD_INPUT, "%s: clang's syntax tree cannot be read", path);
    return NULL;
}
