// What clang writes down of kernels and their arguments: metadata of LLVM's textual form (SPIR 1.2, section
// 2.5), as
//
//   define spir_kernel void @add(...) #0 !kernel_arg_addr_space !13 !kernel_arg_type !15 ... {
//   !13 = !{i32 1, i32 2}
//   !15 = !{!"float*", !"int"}
#include "clc/clc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARGS = 4096, MAX_NODES = 1 << 22 };

typedef struct reader {
    const char *text, *end;
    ORR_VEC(const char *) nodes; // by number: behind "!{", NULL: none
    orr_arena *a;
} reader;

static const char *line_end(const reader *r, const char *s) {
    const char *stop = memchr(s, '\n', (size_t)(r->end - s));
    return stop ? stop : r->end;
}

static bool starts(const reader *r, const char *s, const char *with) {
    size_t n = strlen(with);
    return (size_t)(r->end - s) >= n && !memcmp(s, with, n);
}

static void find_nodes(reader *r) {
    for (const char *s = r->text; s < r->end; s = line_end(r, s) + 1) {
        if (*s != '!' || s + 1 >= r->end || s[1] < '0' || s[1] > '9') continue;
        uint64_t n = 0;
        const char *c = s + 1;
        for (; c < r->end && *c >= '0' && *c <= '9' && n < MAX_NODES; c++) n = n * 10 + (uint64_t)(*c - '0');
        if (n >= MAX_NODES || !starts(r, c, " = !{")) continue;
        while (r->nodes.n <= n) *ORR_PUSH(&r->nodes) = NULL;
        r->nodes.at[n] = c + 5;
    }
}

// The node that a kernel's line names, as !kernel_arg_type !15.
static const char *node(const reader *r, const char *line, const char *name) {
    const char *stop = line_end(r, line);
    size_t n = strlen(name);
    for (const char *s = line; s + n + 3 < stop; s++) {
        if (*s != '!' || memcmp(s + 1, name, n) != 0 || s[n + 1] != ' ' || s[n + 2] != '!') continue;
        uint64_t index = 0;
        for (const char *c = s + n + 3; c < stop && *c >= '0' && *c <= '9' && index < MAX_NODES; c++)
            index = index * 10 + (uint64_t)(*c - '0');
        return index < r->nodes.n ? r->nodes.at[index] : NULL;
    }
    return NULL;
}

// The next element of a node: an integer, or a string; false: there is none.
static bool element(const reader *r, const char **at, const char **text, size_t *n, int64_t *number) {
    const char *s = *at, *stop = line_end(r, s);
    while (s < stop && (*s == ' ' || *s == ',')) s++;
    if (s >= stop || *s == '}') return false;
    *text = NULL;
    *number = 0;
    if (starts(r, s, "!\"")) {
        *text = s + 2;
        for (s += 2; s < stop && *s != '"'; s++) continue;
        *n = (size_t)(s - *text);
        *at = s < stop ? s + 1 : stop;
        return true;
    }
    while (s < stop && *s != ' ' && *s != ',' && *s != '}') s++; // i32
    while (s < stop && *s == ' ') s++;
    bool minus = s < stop && *s == '-';
    s += minus;
    uint64_t v = 0;
    while (s < stop && *s >= '0' && *s <= '9' && v < (uint64_t)1 << 40) v = v * 10 + (uint64_t)(*s++ - '0');
    *number = minus ? -(int64_t)v : (int64_t)v;
    while (s < stop && *s != ',' && *s != '}') s++;
    *at = s;
    return true;
}

// \5C and the like.
static const char *string(orr_arena *a, const char *s, size_t n) {
    char *out = orr_arena_alloc(a, n + 1), *o = out;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\\' && i + 2 < n) {
            char hex[3] = {s[i + 1], s[i + 2], 0};
            *o++ = (char)strtol(hex, NULL, 16);
            i += 2;
        } else {
            *o++ = s[i];
        }
    }
    return out;
}

static uint8_t access_of(const char *s) {
    return !strcmp(s, "read_only")    ? ORR_CLC_READ_ONLY
           : !strcmp(s, "write_only") ? ORR_CLC_WRITE_ONLY
           : !strcmp(s, "read_write") ? ORR_CLC_READ_WRITE
                                      : 0;
}

static void set(orr_clc_arg *g, int what, const char *s, int64_t v) {
    switch (what) {
    case 0: g->space = (uint8_t)(v >= 0 && v <= 3 ? v : 0); break;
    case 1: g->access = access_of(s); break;
    case 2: g->type = s; break;
    case 3:
        g->base = s;
        g->image = !strncmp(s, "image", 5);
        g->sampler = !strcmp(s, "sampler_t");
        break;
    case 4:
        g->is_const = strstr(s, "const") != NULL;
        g->is_restrict = strstr(s, "restrict") != NULL;
        g->is_volatile = strstr(s, "volatile") != NULL;
        g->is_pipe = strstr(s, "pipe") != NULL;
        break;
    default: g->name = s; break;
    }
}

static void read_args(const reader *r, const char *line, orr_clc_kernel *k) {
    static const char *const names[] = {"kernel_arg_addr_space", "kernel_arg_access_qual", "kernel_arg_type",
                                        "kernel_arg_base_type",  "kernel_arg_type_qual",   "kernel_arg_name"};
    const char *s = node(r, line, names[0]), *text;
    size_t n;
    int64_t v;
    for (const char *c = s; c && k->nargs < MAX_ARGS && element(r, &c, &text, &n, &v);) k->nargs++;
    k->args = orr_arena_alloc(r->a, (k->nargs + 1) * sizeof *k->args);
    for (uint32_t i = 0; i < k->nargs; i++) k->args[i] = (orr_clc_arg){.name = "", .type = "", .base = ""};
    for (int what = 0; what < 6; what++) {
        const char *c = node(r, line, names[what]);
        for (uint32_t i = 0; c && i < k->nargs && element(r, &c, &text, &n, &v); i++)
            set(&k->args[i], what, text ? string(r->a, text, n) : "", v);
    }
}

// vec_type_hint's node, as !{<4 x double> undef, i32 0}: a type of LLVM, and whether it is signed.
static void read_hint(const reader *r, const char *line, orr_text *t) {
    static const char *const types[][2] = {{"i8", "char"},      {"i16", "short"}, {"i32", "int"},
                                           {"i64", "long"},     {"half", "half"}, {"float", "float"},
                                           {"double", "double"}};
    const char *c = node(r, line, "vec_type_hint");
    if (!c) return;
    const char *stop = line_end(r, c);
    int lanes = 1;
    char name[16] = "";
    if (*c == '<') {
        sscanf(c + 1, "%d x %15[a-z0-9]", &lanes, name);
    } else {
        sscanf(c, "%15[a-z0-9]", name);
    }
    const char *sign = memmem(c, (size_t)(stop - c), "undef, i32 ", 11);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(name, types[i][0]) != 0) continue;
        bool without = i < 4 && sign && sign + 11 < stop && sign[11] == '0';
        orr_text_add(t, "%s__attribute__((vec_type_hint(%s%s", t->n ? " " : "", without ? "u" : "",
                     types[i][1]);
        if (lanes > 1) orr_text_add(t, "%d", lanes);
        orr_text_add(t, ")))");
    }
}

static void read_attributes(const reader *r, const char *line, orr_clc_kernel *k) {
    orr_text t = {0};
    static const char *const sizes[] = {"reqd_work_group_size", "work_group_size_hint"};
    const char *text;
    size_t n;
    orr_text_add(&t, "%s", "");
    for (int which = 0; which < 2; which++) {
        const char *c = node(r, line, sizes[which]);
        int64_t v[3];
        int got = 0;
        while (c && got < 3 && element(r, &c, &text, &n, &v[got])) got++;
        if (got < 3) continue;
        orr_text_add(&t, "%s__attribute__((%s(%lld,%lld,%lld)))", t.n ? " " : "", sizes[which],
                     (long long)v[0], (long long)v[1], (long long)v[2]);
        for (int i = 0; i < 3 && which == 0; i++) k->required[i] = (uint32_t)v[i];
    }
    read_hint(r, line, &t);
    k->attributes = orr_arena_strdup(r->a, t.s);
    free(t.s);
}

orr_clc_kernels orr_clc_read_kernels(const char *text, size_t n, orr_arena *a) {
    reader r = {.text = text, .end = text + n, .a = a};
    ORR_VEC(orr_clc_kernel) found = {0};
    find_nodes(&r);
    for (const char *s = text; s < r.end; s = line_end(&r, s) + 1) {
        if (!starts(&r, s, "define ")) continue;
        const char *stop = line_end(&r, s), *kernel = memmem(s, (size_t)(stop - s), " spir_kernel ", 13);
        const char *at = kernel ? memchr(kernel, '@', (size_t)(stop - kernel)) : NULL;
        const char *paren = at ? memchr(at, '(', (size_t)(stop - at)) : NULL;
        if (!paren) continue;
        orr_clc_kernel *k = ORR_PUSH(&found);
        k->name = orr_arena_strndup(a, at + 1, (size_t)(paren - at - 1));
        read_args(&r, s, k);
        read_attributes(&r, s, k);
    }
    free(r.nodes.at);
    orr_clc_kernels out = {orr_arena_alloc(a, (found.n + 1) * sizeof *out.at), (uint32_t)found.n};
    if (found.n) memcpy(out.at, found.at, found.n * sizeof *out.at);
    free(found.at);
    return out;
}
