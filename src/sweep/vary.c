// --vary KEY=VALUES: lists and ranges of values, and the grid that all of them together make.
//
// Values stay text, as --set takes them, because the GPU's description knows what they mean and in which
// unit. Only a range needs numbers: its ends and step are decimal, in one unit.
#include "sweep/sweep.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_VALUES 10000 // of an axis

typedef struct piece {
    const char *s;
    size_t n;
} piece;

static piece trim(const char *s, const char *end) {
    while (s < end && isspace((unsigned char)*s)) s++;
    while (end > s && isspace((unsigned char)end[-1])) end--;
    return (piece){s, (size_t)(end - s)};
}

// ---- numbers ------------------------------------------------------------------------------------
// "64 KB": 64 and where the unit starts. Decimal digits only, as descriptions have them.
static bool number(piece p, double *v, piece *unit) {
    const char *s = p.s, *end = p.s + p.n;
    char buf[40];
    size_t n = 0;
    bool point = false, digits = false;
    if (s < end && *s == '-') buf[n++] = *s++;
    for (; s < end && n < sizeof buf - 1; s++) {
        if (*s == '.' && !point && digits)
            point = true;
        else if (isdigit((unsigned char)*s))
            digits = true;
        else
            break;
        buf[n++] = *s;
    }
    if (!digits || buf[n - 1] == '.' || n == sizeof buf - 1) return false;
    buf[n] = 0;
    *v = strtod(buf, NULL);
    *unit = trim(s, end);
    return unit->n == 0 || isalpha((unsigned char)unit->s[0]) || unit->s[0] == '%';
}

// As it can be read again: no exponent, no zeros at the end.
static const char *plain(orr_arena *a, double v, piece unit) {
    char buf[64];
    int n = snprintf(buf, sizeof buf, "%.9f", v);
    if (n < 0 || n >= (int)sizeof buf) n = (int)sizeof buf - 1;
    while (n && buf[n - 1] == '0') n--;
    if (n && buf[n - 1] == '.') n--;
    buf[n] = 0;
    return orr_arena_printf(a, "%s%s%.*s", buf, unit.n ? " " : "", (int)unit.n, unit.s);
}

// ---- one axis -----------------------------------------------------------------------------------
typedef struct values {
    orr_arena *arena;
    const char *said; // the whole, for messages
    ORR_VEC(const char *) at;
} values;

static bool add(values *v, const char *value, orr_err *e) {
    if (v->at.n >= MOST_VALUES)
        return orr_fail(e, ORR_BAD_INPUT, "--vary %.80s: more than %d values", v->said, MOST_VALUES);
    for (size_t k = 0; k < v->at.n; k++)
        if (!strcmp(v->at.at[k], value))
            return orr_fail(e, ORR_BAD_INPUT, "--vary %.80s: %.40s is there twice", v->said, value);
    *ORR_PUSH(&v->at) = value;
    return true;
}

// FROM:TO, FROM:TO:STEP, FROM:TO:*FACTOR. One unit for all, wherever it is written.
static bool add_range(values *v, piece text, orr_err *e) {
    const char *s = text.s, *end = text.s + text.n;
    piece part[3], unit = {"", 0};
    double x[3] = {0, 0, 1};
    int n = 0;
    bool factor = false;
    for (const char *p = s;; p++) {
        if (p < end && *p != ':') continue;
        if (n == 3) return orr_fail(e, ORR_BAD_INPUT, "--vary %.80s: a range is FROM:TO:STEP", v->said);
        part[n++] = trim(s, p);
        s = p + 1;
        if (p == end) break;
    }
    for (int k = 0; k < n; k++) {
        piece u;
        if (k == 2 && part[k].n && part[k].s[0] == '*') {
            factor = true;
            part[k] = trim(part[k].s + 1, part[k].s + part[k].n);
        }
        if (!number(part[k], &x[k], &u))
            return orr_fail(e, ORR_BAD_INPUT,
                            "--vary %.80s: '%.*s' is not a number; a range is FROM:TO:STEP, as 66:132:6, or "
                            "FROM:TO:*FACTOR",
                            v->said, part[k].n > 30 ? 30 : (int)part[k].n, part[k].s);
        if (u.n && unit.n && (u.n != unit.n || memcmp(u.s, unit.s, u.n) != 0))
            return orr_fail(e, ORR_BAD_INPUT, "--vary %.80s: a range has one unit, not %.*s and %.*s",
                            v->said, (int)unit.n, unit.s, (int)u.n, u.s);
        if (u.n) unit = u;
    }
    if (x[1] < x[0])
        return orr_fail(e, ORR_BAD_INPUT, "--vary %.80s: the range ends before it begins", v->said);
    if (factor ? !(x[2] > 1 && x[0] > 0) : !(x[2] > 0))
        return orr_fail(e, ORR_BAD_INPUT, "--vary %.80s: a range's %s", v->said,
                        factor ? "factor must be over 1, and its begin over 0" : "step must be over 0");
    // Counted, not added up: no rounding error makes the last one be missing.
    double most = factor ? floor(log(x[1] / x[0]) / log(x[2]) + 1e-9) : floor((x[1] - x[0]) / x[2] + 1e-9);
    if (!(most < MOST_VALUES))
        return orr_fail(e, ORR_BAD_INPUT, "--vary %.80s: more than %d values", v->said, MOST_VALUES);
    for (int k = 0; k <= (int)most; k++)
        if (!add(v, plain(v->arena, factor ? x[0] * pow(x[2], k) : x[0] + k * x[2], unit), e)) return false;
    return true;
}

// Between commas, or semicolons where there are some: a value may itself be a list. A colon makes a range
// when a number is before it.
static bool add_all(values *v, const char *s, orr_err *e) {
    char separator = strchr(s, ';') ? ';' : ',';
    for (const char *p = s;; p++) {
        if (*p && *p != separator) continue;
        piece text = trim(s, p), before = {"", 0}, unit;
        double x;
        if (!text.n) return orr_fail(e, ORR_BAD_INPUT, "--vary %.80s: a value is missing", v->said);
        const char *colon = memchr(text.s, ':', text.n);
        if (colon) before = trim(text.s, colon);
        bool ok = colon && (number(before, &x, &unit) || before.n == 0)
                      ? add_range(v, text, e)
                      : add(v, orr_arena_strndup(v->arena, text.s, text.n), e);
        if (!ok) return false;
        if (!*p) return true;
        s = p + 1;
    }
}

// Numbers for plots and tables: without units where all have the same; with different ones they are words.
static void numbers(orr_axis *x, orr_arena *a) {
    double *v = orr_arena_alloc(a, (size_t)x->n * sizeof *v);
    piece unit = {"", 0};
    x->numeric = true;
    for (int k = 0; k < x->n; k++) {
        piece text = {x->values[k], strlen(x->values[k])}, u = {"", 0};
        if (!number(text, &v[k], &u)) x->numeric = false;
        if (k && (u.n != unit.n || memcmp(u.s, unit.s, u.n) != 0)) x->numeric = false;
        unit = u;
    }
    for (int k = 0; k < x->n && !x->numeric; k++) v[k] = NAN;
    x->numbers = v;
    x->unit = x->numeric ? orr_arena_strndup(a, unit.s, unit.n) : "";
}

// ---- the grid -----------------------------------------------------------------------------------
int orr_axis_sets(const orr_axis *x, int value, orr_arena *a, const char *sets[ORR_KEYS_MAX]) {
    int n = 0;
    for (const char *p = x->key; n < ORR_KEYS_MAX; p++) {
        size_t len = strcspn(p, "+");
        sets[n++] = orr_arena_printf(a, "%.*s=%s", (int)len, p, x->values[value]);
        p += len;
        if (!*p) break;
    }
    return n;
}

static bool is_script(const char *key, size_t n) { // as with --set
    return !memchr(key, '.', n) && !(n == 6 && !memcmp(key, "memory", 6));
}

// "a+b": each is a key, all are of one kind, and none is varied already.
static bool check_keys(const orr_grid *g, orr_axis *x, const char *text, orr_err *e) {
    int n = 0;
    for (const char *p = x->key;; p++) {
        size_t len = strcspn(p, "+");
        if (!len || ++n > ORR_KEYS_MAX)
            return orr_fail(e, ORR_BAD_INPUT, "--vary %.60s: keys that change together are KEY+KEY, up to %d",
                            text, ORR_KEYS_MAX);
        bool script = is_script(p, len);
        if (n > 1 && script != x->script)
            return orr_fail(e, ORR_BAD_INPUT, "--vary %.60s: one key is the GPU's, another the script's",
                            text);
        x->script = script;
        for (int k = 0; k < g->naxes; k++)
            for (const char *q = g->axes[k].key; *q;
                 q += q[strcspn(q, "+")] ? strcspn(q, "+") + 1 : strlen(q))
                if (strcspn(q, "+") == len && !memcmp(p, q, len))
                    return orr_fail(e, ORR_BAD_INPUT, "--vary %.60s: %.*s is varied already", text, (int)len,
                                    p);
        p += len;
        if (!*p) return true;
    }
}

bool orr_grid_add(orr_grid *g, const char *text, orr_err *e) {
    const char *eq = strchr(text, '=');
    piece key = eq ? trim(text, eq) : (piece){"", 0};
    if (!key.n || key.n > 200)
        return orr_fail(e, ORR_BAD_INPUT,
                        "--vary %.60s: expected KEY=VALUES, as --vary sm.count=66:132:6 or --vary "
                        "core.policy=gto,lrr",
                        text);
    if (g->naxes == ORR_AXES_MAX)
        return orr_fail(e, ORR_BAD_INPUT, "--vary %.60s: more than %d of them", text, ORR_AXES_MAX);
    values v = {.arena = &g->arena, .said = text};
    orr_axis x = {.key = orr_arena_strndup(&g->arena, key.s, key.n)};
    bool ok = check_keys(g, &x, text, e) && add_all(&v, eq + 1, e);
    x.n = (int)v.at.n;
    const char **list = orr_arena_alloc(&g->arena, (v.at.n + 1) * sizeof *list);
    for (size_t k = 0; k < v.at.n; k++) list[k] = v.at.at[k];
    x.values = list;
    free(v.at.at);
    if (!ok || !x.n) return false;
    size_t points = g->naxes ? g->npoints : 1;
    if (points > ORR_POINTS_MAX / (size_t)x.n)
        return orr_fail(e, ORR_BAD_INPUT, "--vary %.60s: that makes more than %d points", text,
                        ORR_POINTS_MAX);
    numbers(&x, &g->arena);
    int at = g->naxes++;
    for (; x.script && at && !g->axes[at - 1].script; at--) g->axes[at] = g->axes[at - 1];
    g->axes[at] = x;
    g->npoints = points * (size_t)x.n;
    return true;
}

int orr_grid_at(const orr_grid *g, size_t point, int axis) {
    for (int k = g->naxes - 1; k > axis; k--) point /= (size_t)g->axes[k].n;
    return (int)(point % (size_t)g->axes[axis].n);
}

void orr_grid_free(orr_grid *g) {
    orr_arena_free(&g->arena);
    *g = (orr_grid){0};
}
