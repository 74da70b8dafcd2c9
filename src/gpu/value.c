// Values of parameters: read from text with their unit, checked against their range, printed back.
//
// A number is digits with an optional fraction and an optional unit. Without a unit it is in the
// parameter's own; with one it must be that, or one the table below can convert. KB, MB and GB are
// powers of 1024 where they count bytes, as NVIDIA's documents use them, and 10^9 in GB/s.
#include "gpu/value.h"

#include "gpu/keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define REQUIRED NULL
#define NOTHING(...)
#define ROW(type, kind, key, field, unit, lo, hi, def, meaning)                                              \
    {key, GPU_##kind, unit, lo, hi, def, meaning, offsetof(type, field)},

const gpu_param gpu_params[ORR_GPU_PARAMS] = {
#define PARAM(...) ROW(orr_gpu, __VA_ARGS__)
#define UNIT_PARAM NOTHING
#define OP_PARAM   NOTHING
#include "gpu/params.def"
#undef PARAM
#undef UNIT_PARAM
};
const gpu_param gpu_unit_params[ORR_GPU_UNIT_PARAMS] = {
#define PARAM           NOTHING
#define UNIT_PARAM(...) ROW(orr_gpu_unit, __VA_ARGS__)
#include "gpu/params.def"
#undef UNIT_PARAM
#undef OP_PARAM
};
const gpu_param gpu_op_params[ORR_GPU_OP_PARAMS] = {
#define UNIT_PARAM    NOTHING
#define OP_PARAM(...) ROW(orr_gpu_op, __VA_ARGS__)
#include "gpu/params.def"
#undef PARAM
#undef UNIT_PARAM
#undef OP_PARAM
};

// What else can stand where a parameter is in `base`.
static const struct {
    const char *name, *base;
    double factor;
} units[] = {
    {"KB", "B", 1024.0},       {"KiB", "B", 1024.0},       {"MB", "B", 1048576.0}, {"MiB", "B", 1048576.0},
    {"GB", "B", 1073741824.0}, {"GiB", "B", 1073741824.0}, {"bytes", "B", 1},      {"GHz", "MHz", 1000},
    {"TB/s", "GB/s", 1000},    {"MB/s", "GB/s", 0.001},    {"ns", "us", 0.001},    {"ms", "us", 1000},
    {"cycle", "cycles", 1},    {"bit", "bits", 1},
};

typedef struct scanner {
    const char *p, *end;
} scanner;

static void skip_blanks(scanner *s) {
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t')) s->p++;
}

// Decimal digits only: no exponent, no hexadecimal, no infinity. Fifteen digits are exact in a double.
static bool read_number(scanner *s, double *v, char why[256]) {
    char buf[40];
    size_t n = 0;
    int digits = 0;
    skip_blanks(s);
    const char *start = s->p;
    if (s->p < s->end && *s->p == '-') buf[n++] = *s->p++;
    bool point = false;
    while (s->p < s->end && ((*s->p >= '0' && *s->p <= '9') || (*s->p == '.' && !point && digits))) {
        if (*s->p == '.')
            point = true;
        else
            digits++;
        if (digits > 15) return snprintf(why, 256, "the number has too many digits"), false;
        buf[n++] = *s->p++;
    }
    buf[n] = 0;
    if (digits == 0 || buf[n - 1] == '.') {
        int shown = s->end - start > 30 ? 30 : (int)(s->end - start);
        return snprintf(why, 256, "'%.*s' is not a number", shown, start), false;
    }
    *v = strtod(buf, NULL);
    return true;
}

// What is left is nothing, or a unit: *factor brings the number into the parameter's own.
static bool read_unit(const gpu_param *p, scanner *s, double *factor, char why[256]) {
    skip_blanks(s);
    size_t n = (size_t)(s->end - s->p);
    *factor = 1;
    if (n == 0) return true;
    if (n == strlen(p->unit) && memcmp(s->p, p->unit, n) == 0) return true;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].base, p->unit) == 0 && n == strlen(units[i].name) &&
            memcmp(s->p, units[i].name, n) == 0) {
            *factor = units[i].factor;
            return true;
        }
    int shown = n > 30 ? 30 : (int)n;
    if (*p->unit)
        snprintf(why, 256, "'%.*s' is not a unit for it; it is in %s", shown, s->p, p->unit);
    else
        snprintf(why, 256, "'%.*s' follows the number; it has no unit", shown, s->p);
    return false;
}

static bool in_range(const gpu_param *p, double v, char why[256]) {
    if (v >= p->lo && v <= p->hi) return true;
    const char *space = *p->unit ? " " : "";
    if (p->lo == p->hi)
        return snprintf(why, 256, "%.15g is not possible; it can only be %.15g%s%s", v, p->lo, space,
                        p->unit),
               false;
    snprintf(why, 256, "%.15g is out of range; it can be %.15g to %.15g%s%s", v, p->lo, p->hi, space,
             p->unit);
    return false;
}

static bool is_whole(double v, char why[256]) {
    if (v == floor(v)) return true;
    return snprintf(why, 256, "%.15g is not a whole number", v), false;
}

static bool read_list(const gpu_param *p, orr_gpu_array *list, scanner s, char why[256]) {
    double v[ORR_GPU_LIST_MAX], factor;
    int n = 0;
    skip_blanks(&s);
    while (s.p < s.end) {
        if (n == ORR_GPU_LIST_MAX) return snprintf(why, 256, "more than %d values", ORR_GPU_LIST_MAX), false;
        if (!read_number(&s, &v[n], why)) return false;
        n++;
        skip_blanks(&s);
        if (s.p == s.end || *s.p != ',') break;
        s.p++;
        skip_blanks(&s);
        if (s.p == s.end) return snprintf(why, 256, "a value is missing after the comma"), false;
    }
    if (!read_unit(p, &s, &factor, why)) return false;
    memset(list, 0, sizeof *list);
    list->n = n;
    for (int i = 0; i < n; i++) {
        double x = v[i] * factor;
        if (!is_whole(x, why) || !in_range(p, x, why)) return false;
        list->at[i] = (int64_t)x;
        if (p->kind == GPU_LIST && i && list->at[i] <= list->at[i - 1])
            return snprintf(why, 256, "the values must ascend"), false;
    }
    return true;
}

static bool read_enum(const gpu_param *p, int *out, const char *s, size_t n, char why[256]) {
    int at = 0;
    for (const char *c = p->unit;; at++) {
        size_t len = strcspn(c, "|");
        if (len == n && memcmp(c, s, n) == 0) return *out = at, true;
        if (c[len] == 0) break;
        c += len + 1;
    }
    snprintf(why, 256, "'%.*s' is none of %s", n > 30 ? 30 : (int)n, s, p->unit);
    return false;
}

static bool read_bool(bool *out, const char *s, size_t n, char why[256]) {
    static const char *const word[] = {"no", "yes", "false", "true", "off", "on"};
    for (int i = 0; i < 6; i++)
        if (strlen(word[i]) == n && memcmp(word[i], s, n) == 0) return *out = i & 1, true;
    return snprintf(why, 256, "'%.*s' is neither yes nor no", n > 30 ? 30 : (int)n, s), false;
}

// A word, or anything in double quotes. There are no escapes: a text has no quotes in it.
static bool read_text(const gpu_param *p, const char **out, const char *s, size_t n, orr_arena *a,
                      char why[256]) {
    bool quoted = n >= 2 && s[0] == '"' && s[n - 1] == '"';
    if (quoted) s++, n -= 2;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"') return snprintf(why, 256, "a quote is out of place"), false;
        if (!quoted && (s[i] == ' ' || s[i] == '\t'))
            return snprintf(why, 256, "put a text of several words in \"quotes\""), false;
        if ((unsigned char)s[i] < 32 || s[i] == 127)
            return snprintf(why, 256, "a text cannot hold control characters"), false;
    }
    if (n < p->lo || n > p->hi)
        return snprintf(why, 256, "the text has %zu characters; it can have %g to %g", n, p->lo, p->hi),
               false;
    *out = orr_arena_strndup(a, s, n);
    return true;
}

bool gpu_value_read(const gpu_param *p, void *base, const char *s, size_t n, orr_arena *a, char why[256]) {
    void *field = (char *)base + p->offset;
    scanner sc = {s, s + n};
    switch (p->kind) {
    case GPU_TEXT: return read_text(p, field, s, n, a, why);
    case GPU_BOOL: return read_bool(field, s, n, why);
    case GPU_ENUM: return read_enum(p, field, s, n, why);
    case GPU_ROW:
    case GPU_LIST: return read_list(p, field, sc, why);
    case GPU_INT:
    case GPU_SIZE:
    case GPU_REAL: break;
    }
    double v, factor;
    if (!read_number(&sc, &v, why) || !read_unit(p, &sc, &factor, why)) return false;
    v *= factor;
    if (p->kind != GPU_REAL && !is_whole(v, why)) return false;
    if (!in_range(p, v, why)) return false;
    if (p->kind == GPU_INT)
        *(int *)field = (int)v;
    else if (p->kind == GPU_SIZE)
        *(int64_t *)field = (int64_t)v;
    else
        *(double *)field = v;
    return true;
}

// ---- back to text ---------------------------------------------------------------------------

// The largest unit of bytes that all of at[0..n) are whole in.
static int64_t byte_unit(const int64_t *at, int n, const char **name) {
    static const char *const names[] = {"B", "KB", "MB", "GB"};
    int u = 3;
    bool any = false;
    for (int i = 0; i < n; i++) {
        while (u && at[i] % ((int64_t)1 << (10 * u))) u--;
        if (at[i]) any = true;
    }
    if (!any) u = 0;
    *name = names[u];
    return (int64_t)1 << (10 * u);
}

static void enum_name(const gpu_param *p, int v, orr_text *out) {
    const char *c = p->unit;
    while (v-- && strchr(c, '|')) c = strchr(c, '|') + 1;
    orr_text_addn(out, c, strcspn(c, "|"));
}

void gpu_value_text(const gpu_param *p, const void *base, orr_text *out) {
    const void *field = (const char *)base + p->offset;
    const orr_gpu_array *list = field;
    const char *unit = p->unit;
    int64_t scale = 1;
    switch (p->kind) {
    case GPU_TEXT: orr_text_add(out, "\"%s\"", *(const char *const *)field); return;
    case GPU_BOOL: orr_text_add(out, "%s", *(const bool *)field ? "yes" : "no"); return;
    case GPU_ENUM: enum_name(p, *(const int *)field, out); return;
    case GPU_ROW:
    case GPU_LIST:
        if (strcmp(unit, "B") == 0) scale = byte_unit(list->at, list->n, &unit);
        for (int i = 0; i < list->n; i++)
            orr_text_add(out, "%s%lld", i ? ", " : "", (long long)(list->at[i] / scale));
        if (list->n == 0) unit = "";
        break;
    case GPU_INT: orr_text_add(out, "%d", *(const int *)field); break;
    case GPU_SIZE:
        scale = byte_unit(field, 1, &unit);
        orr_text_add(out, "%lld", (long long)(*(const int64_t *)field / scale));
        break;
    case GPU_REAL: orr_text_add(out, "%.10g", *(const double *)field); break;
    }
    if (*unit) orr_text_add(out, " %s", unit);
}

void gpu_value_json(const gpu_param *p, const void *base, orr_text *out) {
    const void *field = (const char *)base + p->offset;
    const orr_gpu_array *list = field;
    switch (p->kind) {
    case GPU_TEXT: orr_text_json(out, *(const char *const *)field); break;
    case GPU_BOOL: orr_text_add(out, "%s", *(const bool *)field ? "true" : "false"); break;
    case GPU_ENUM:
        orr_text_add(out, "\"");
        enum_name(p, *(const int *)field, out);
        orr_text_add(out, "\"");
        break;
    case GPU_ROW:
    case GPU_LIST:
        orr_text_add(out, "[");
        for (int i = 0; i < list->n; i++) orr_text_add(out, "%s%lld", i ? ", " : "", (long long)list->at[i]);
        orr_text_add(out, "]");
        break;
    case GPU_INT: orr_text_add(out, "%d", *(const int *)field); break;
    case GPU_SIZE: orr_text_add(out, "%lld", (long long)*(const int64_t *)field); break;
    case GPU_REAL: orr_text_add(out, "%.15g", *(const double *)field); break;
    }
}

const char *gpu_label(const char *path) {
    const char *label = path;
    for (const char *p = path; (p = strstr(p, "gpus/")) != NULL; p++)
        if (p == path || p[-1] == '/') label = p + 5;
    return label;
}

// ---- units by key -----------------------------------------------------------------------------------
// "unit.fma.lanes" and "op.fp32.latency" are the same for every unit and every operation.
static const char *unit_in(const gpu_param *p, int n, const char *key, size_t length) {
    for (int i = 0; i < n; i++)
        if (strlen(p[i].key) == length && memcmp(p[i].key, key, length) == 0) return p[i].unit;
    return NULL;
}

const char *orr_gpu_key_unit(const char *key) {
    size_t n = strcspn(key, "+");
    const char *unit = unit_in(gpu_params, ORR_GPU_PARAMS, key, n), *last = key;
    for (const char *p = key; p < key + n; p++)
        if (*p == '.') last = p + 1;
    size_t rest = (size_t)(key + n - last);
    if (!unit && strncmp(key, "unit.", 5) == 0)
        unit = unit_in(gpu_unit_params, ORR_GPU_UNIT_PARAMS, last, rest);
    if (!unit && strncmp(key, "op.", 3) == 0) unit = unit_in(gpu_op_params, ORR_GPU_OP_PARAMS, last, rest);
    return unit ? unit : "";
}

// ---- groups -----------------------------------------------------------------------------------
int gpu_groups(const orr_gpu *g) { return 1 + g->nunits + g->nops; }

gpu_group gpu_group_at(const orr_gpu *g, int i) {
    if (i == 0) return (gpu_group){"", "", gpu_params, ORR_GPU_PARAMS, g, g->origin};
    if (i <= g->nunits) {
        const orr_gpu_unit *u = &g->units[i - 1];
        return (gpu_group){"unit.", u->name, gpu_unit_params, ORR_GPU_UNIT_PARAMS, u, u->origin};
    }
    const orr_gpu_op *o = &g->ops[i - 1 - g->nunits];
    return (gpu_group){"op.", o->name, gpu_op_params, ORR_GPU_OP_PARAMS, o, o->origin};
}

void gpu_group_key(const gpu_group *x, int i, orr_text *out) {
    orr_text_add(out, "%s%s%s%s", x->lead, x->name, *x->lead ? "." : "", x->param[i].key);
}
