// Values that a description leaves unsaid and that follow from others: the defaults of params.def that are
// rules.
//
// A rule begins with `=`; behind it are terms with `+`, `-`, `*` or `/` between them, all with blanks around
// them, worked out from left to right. A term is a number, a key of the GPU's own, which may follow by a rule
// itself, or `last KEY`: the greatest value of a list. What `--set` says of a term holds for what follows
// from it, too.
#include "gpu/derive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 8 // of rules that lean on rules

bool gpu_is_rule(const char *def) { return def && def[0] == '='; }

static bool follow(orr_gpu *g, int at, int depth);

// The index of a key of the GPU's own, -1: there is none.
static int index_of(const char *s, size_t n) {
    for (int i = 0; i < ORR_GPU_PARAMS; i++)
        if (strlen(gpu_params[i].key) == n && memcmp(gpu_params[i].key, s, n) == 0) return i;
    return -1;
}

// The value of parameter i as a number; false: nothing says it.
static bool value_of(orr_gpu *g, int i, bool last, double *value, int depth) {
    const gpu_param *p = &gpu_params[i];
    const char *field = (const char *)g + p->offset;
    if (!g->origin[i].file) {
        if (!p->def || (gpu_is_rule(p->def) && !follow(g, i, depth + 1))) return false;
    }
    const orr_gpu_array *list = (const void *)field;
    switch (p->kind) {
    case GPU_INT: *value = *(const int *)field; return !last;
    case GPU_SIZE: *value = (double)*(const int64_t *)field; return !last;
    case GPU_REAL: *value = *(const double *)field; return !last;
    case GPU_LIST:
        if (!last || list->n == 0) return false;
        *value = (double)list->at[list->n - 1];
        return true;
    default: return false;
    }
}

static void skip_blanks(const char **s) {
    while (**s == ' ') (*s)++;
}

static bool term(orr_gpu *g, const char **s, double *value, int depth) {
    char *end;
    bool last = strncmp(*s, "last ", 5) == 0;
    if (last) *s += 5;
    skip_blanks(s);
    *value = strtod(*s, &end);
    if (end != *s) {
        *s = end;
        return !last;
    }
    size_t n = strcspn(*s, " ");
    int i = index_of(*s, n);
    *s += n;
    return i >= 0 && value_of(g, i, last, value, depth);
}

bool gpu_rule_value(orr_gpu *g, const char *rule, double *value, int depth) {
    const char *s = rule + 1;
    skip_blanks(&s);
    if (depth > MAX_DEPTH || !term(g, &s, value, depth)) return false;
    for (skip_blanks(&s); *s; skip_blanks(&s)) {
        char op = *s++;
        double next;
        skip_blanks(&s);
        if (!term(g, &s, &next, depth)) return false;
        switch (op) {
        case '+': *value += next; break;
        case '-': *value -= next; break;
        case '*': *value *= next; break;
        case '/': *value /= next; break;
        default: return false;
        }
    }
    return isfinite(*value);
}

static bool put(const gpu_param *p, void *base, double value) {
    char *field = (char *)base + p->offset;
    if (!(value >= p->lo && value <= p->hi)) return false;
    switch (p->kind) {
    case GPU_INT: *(int *)field = (int)lround(value); return true;
    case GPU_SIZE: *(int64_t *)field = (int64_t)llround(value); return true;
    case GPU_REAL: *(double *)field = value; return true;
    default: return false;
    }
}

// Gives parameter `at` of the GPU's own what its rule says.
static bool follow(orr_gpu *g, int at, int depth) {
    double value;
    return gpu_rule_value(g, gpu_params[at].def, &value, depth) && put(&gpu_params[at], g, value);
}

const gpu_param *gpu_derive(orr_gpu *g) {
    double value;
    for (int i = 0; i < ORR_GPU_PARAMS; i++)
        if (!g->origin[i].file && gpu_is_rule(gpu_params[i].def) && !follow(g, i, 0)) return &gpu_params[i];
    for (int i = 0; i < g->nunits; i++)
        for (int k = 0; k < ORR_GPU_UNIT_PARAMS; k++) {
            const gpu_param *p = &gpu_unit_params[k];
            if (g->units[i].origin[k].file || !gpu_is_rule(p->def)) continue;
            if (!gpu_rule_value(g, p->def, &value, 0) || !put(p, &g->units[i], value)) return p;
        }
    return NULL;
}
