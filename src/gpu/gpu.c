// Reads GPU descriptions: lines of `key = value unit  # comment`, and the files they inherit from.
//
// A file is read after the one it inherits, so what it says wins; --set comes last. Each value
// remembers the file, the line, the comment and the evidence in it (evidence.c). Everything is checked as it
// is read (key, unit, range, twice in one file), and at the end that nothing required is missing and that
// every instruction class runs on a unit that exists.
#include "gpu/derive.h"
#include "gpu/evidence.h"
#include "gpu/gpu.h"
#include "gpu/value.h"
#include "isa/isa.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FILE  (1 << 20)
#define MAX_DEPTH 8
#define MAX_KEY   64
#define MAX_PATH  4000

typedef struct loader {
    orr_gpu *g;
    orr_err *e;
    const char *chain[MAX_DEPTH]; // files being read, the outermost first
    int depth;
    const char *without; // GPU whose measurements are not taken from what is inherited; NULL: all are
} loader;

typedef struct source { // a file, or --set, and how far it has been read
    const char *file;
    int line;           // 0: --set
    int settings;       // that it has made so far
    const char *chip;   // measured_on: the description whose GPU its measurements are of; NULL: its own
    gpu_evidence block; // of values that say nothing themselves: the last line of its own that is evidence
} source;

typedef struct piece { // of a line
    const char *s;
    size_t n;
} piece;

static piece trim(const char *s, const char *end) {
    while (s < end && (*s == ' ' || *s == '\t' || *s == '\r')) s++;
    while (end > s && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
    return (piece){s, (size_t)(end - s)};
}

// ---- one setting ----------------------------------------------------------------------------

static bool set_defaults(const gpu_param *p, int n, void *base, orr_gpu_origin *origin, loader *l) {
    char why[256];
    for (int i = 0; i < n; i++) {
        origin[i] = (orr_gpu_origin){.note = "", .source = ""};
        if (p[i].def && !gpu_is_rule(p[i].def) &&
            !gpu_value_read(&p[i], base, p[i].def, strlen(p[i].def), &l->g->arena, why))
            return orr_fail(l->e, ORR_BAD_INPUT, "params.def: default of %s: %s", p[i].key, why);
        if (p[i].kind == GPU_TEXT && !p[i].def) *(const char **)((char *)base + p[i].offset) = "";
    }
    return true;
}

static bool is_name(const char *s, size_t n, bool dots) {
    if (n == 0 || n >= ORR_GPU_NAME_MAX || s[0] == '.' || s[n - 1] == '.') return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && s[i] != '_' && !(dots && s[i] == '.' && s[i + 1] != '.'))
            return false;
    return true;
}

// The unit or class called s[0..n), made when it is new; NULL after an error.
static orr_gpu_unit *get_unit(loader *l, const char *s, size_t n, const char *file, int line) {
    orr_gpu *g = l->g;
    for (int i = 0; i < g->nunits; i++)
        if (strlen(g->units[i].name) == n && memcmp(g->units[i].name, s, n) == 0) return &g->units[i];
    if (g->nunits == ORR_GPU_UNITS_MAX) {
        orr_fail(l->e, ORR_BAD_INPUT, "%s:%d: more than %d execution units", file, line, ORR_GPU_UNITS_MAX);
        return NULL;
    }
    orr_gpu_unit *u = &g->units[g->nunits++];
    memcpy(u->name, s, n);
    return set_defaults(gpu_unit_params, ORR_GPU_UNIT_PARAMS, u, u->origin, l) ? u : NULL;
}

static orr_gpu_op *get_op(loader *l, const char *s, size_t n, const char *file, int line) {
    orr_gpu *g = l->g;
    for (int i = 0; i < g->nops; i++)
        if (strlen(g->ops[i].name) == n && memcmp(g->ops[i].name, s, n) == 0) return &g->ops[i];
    if (g->nops == ORR_GPU_OPS_MAX) {
        orr_fail(l->e, ORR_BAD_INPUT, "%s:%d: more than %d instruction classes", file, line, ORR_GPU_OPS_MAX);
        return NULL;
    }
    orr_gpu_op *op = &g->ops[g->nops++];
    memcpy(op->name, s, n);
    return set_defaults(gpu_op_params, ORR_GPU_OP_PARAMS, op, op->origin, l) ? op : NULL;
}

// `part` of the key is none of the n of p.
static bool unknown_key(loader *l, const source *at, const char *key, const char *part, const gpu_param *p,
                        int n) {
    orr_nearest near = {part, NULL, 0};
    for (int i = 0; i < n; i++) orr_consider(&near, p[i].key);
    int lead = (int)(strlen(key) - strlen(part)); // "unit.NAME." when p is about a unit
    if (orr_is_near(&near))
        return orr_fail(l->e, ORR_BAD_INPUT, "%s:%d: there is no parameter '%s'; did you mean '%.*s%s'?",
                        at->file, at->line, key, lead, key, near.best);
    return orr_fail(l->e, ORR_BAD_INPUT,
                    "%s:%d: there is no parameter '%s'; `orrery gpu keys` lists them all", at->file, at->line,
                    key);
}

// ---- old names ------------------------------------------------------------------------------

typedef struct old_key {
    const char *old, *now; // now is NULL where nothing took its place
    const char *why, *how; // that it is ignored; that its value must be said in another way
} old_key;

static const old_key old_keys[] = {
#define RENAMED(old, now) {old, now, NULL, NULL},
#define GONE(old, why)    {old, NULL, why, NULL},
#define CHANGED(old, how) {old, NULL, NULL, how},
#include "gpu/renamed.def"
#undef RENAMED
#undef GONE
#undef CHANGED
    {NULL, NULL, NULL, NULL},
};

static void note(loader *l, const source *from, const char *text) {
    orr_gpu *g = l->g;
    char place[20] = "";
    if (g->nnotes >= ORR_GPU_NOTES_MAX) return;
    if (from->line) snprintf(place, sizeof place, ":%d", from->line);
    g->notes[g->nnotes++] = orr_arena_printf(&g->arena, "%s%s: %s", gpu_label(from->file), place, text);
}

// `op.imad.settled` is an old key called `op.*.settled`: the lead and the last part are the same.
static bool is_old(const char *old, const char *key, size_t *name) {
    const char *star = strchr(old, '*'), *dot = strrchr(key, '.');
    *name = 0;
    if (!star) return strcmp(old, key) == 0;
    size_t lead = (size_t)(star - old);
    if (!dot || strncmp(old, key, lead) != 0 || dot < key + lead || strcmp(star + 1, dot) != 0) return false;
    *name = lead;
    return true;
}

// What is called something else today is set under that name, with a note. NULL: there is nothing to set, or
// it is refused.
static const char *name_today(loader *l, const char *key, const source *from) {
    for (const old_key *k = old_keys; k->old; k++) {
        size_t name;
        if (!is_old(k->old, key, &name)) continue;
        if (k->how) orr_fail(l->e, ORR_BAD_INPUT, "%s:%d: %s: %s", from->file, from->line, key, k->how);
        if (k->why) note(l, from, orr_arena_printf(&l->g->arena, "%s is ignored: %s", key, k->why));
        if (!k->now) return NULL;
        const char *now = k->now;
        if (name) // what stands for the star, between the lead and the last part
            now = orr_arena_printf(&l->g->arena, "%.*s%.*s%s", (int)name, key,
                                   (int)(strrchr(key, '.') - key - (long)name), key + name,
                                   strrchr(k->now, '.'));
        note(l, from, orr_arena_printf(&l->g->arena, "%s is called %s now", key, now));
        return now;
    }
    return key;
}

// ---- one value ------------------------------------------------------------------------------

// Was it measured or chosen on the GPU that the description does without?
static bool done_without(const loader *l, const gpu_evidence *e, const source *from) {
    const char *chip = e->chip ? e->chip : from->chip;
    return l->without && chip && (e->kind == ORR_MEASURED || e->kind == ORR_CHOSEN) &&
           !strcmp(chip, l->without);
}

// Sets `key`. The source's `file` is compared as a pointer: the same file twice is a mistake.
static bool set(loader *l, const char *key, piece value, const source *from, piece note) {
    const char *file = from->file;
    int line = from->line;
    gpu_evidence e = gpu_evidence_read(note.s, note.n, &l->g->arena);
    if (e.kind == ORR_NO_EVIDENCE) e = from->block;
    key = name_today(l, key, from);
    if (!key || done_without(l, &e, from)) return l->e->status == 0;
    const gpu_param *p = gpu_params;
    orr_gpu_origin *origin = l->g->origin;
    void *base = l->g;
    int n = ORR_GPU_PARAMS;
    const char *part = key;

    const char *dot = strrchr(key, '.');
    bool unit = strncmp(key, "unit.", 5) == 0 && dot > key + 4;
    bool op = strncmp(key, "op.", 3) == 0 && dot > key + 2;
    if (unit || op) {
        const char *name = key + (unit ? 5 : 3);
        size_t len = (size_t)(dot - name);
        part = dot + 1;
        p = unit ? gpu_unit_params : gpu_op_params;
        n = unit ? ORR_GPU_UNIT_PARAMS : ORR_GPU_OP_PARAMS;
        bool known = false;
        for (int i = 0; i < n; i++) known |= strcmp(p[i].key, part) == 0;
        if (!known) return unknown_key(l, from, key, part, p, n);
        if (!is_name(name, len, op))
            return orr_fail(l->e, ORR_BAD_INPUT,
                            "%s:%d: '%.*s' cannot name %s; use up to %d letters, digits and _", file, line,
                            (int)len, name, unit ? "a unit" : "an instruction class", ORR_GPU_NAME_MAX - 1);
        if (unit) {
            orr_gpu_unit *u = get_unit(l, name, len, file, line);
            if (!u) return false;
            base = u, origin = u->origin;
        } else {
            orr_gpu_op *o = get_op(l, name, len, file, line);
            if (!o) return false;
            base = o, origin = o->origin;
        }
    }

    for (int i = 0; i < n; i++) {
        if (strcmp(p[i].key, part) != 0) continue;
        if (origin[i].file == file && line)
            return orr_fail(l->e, ORR_BAD_INPUT, "%s:%d: %s is set twice; the first time is on line %d", file,
                            line, key, origin[i].line);
        char why[256];
        if (!gpu_value_read(&p[i], base, value.s, value.n, &l->g->arena, why))
            return orr_fail(l->e, ORR_BAD_INPUT, "%s:%d: %s: %s", file, line, key, why);
        orr_arena *a = &l->g->arena;
        origin[i] = (orr_gpu_origin){.file = file,
                                     .line = line,
                                     .note = orr_arena_strndup(a, note.s, note.n),
                                     .evidence = e.kind,
                                     .source = e.source ? e.source : "",
                                     .chip = e.chip ? e.chip : from->chip};
        return true;
    }
    return unknown_key(l, from, key, key, gpu_params, ORR_GPU_PARAMS);
}

// ---- a file ---------------------------------------------------------------------------------

static bool read_description(loader *l, const char *path);

static piece unquoted(piece v) {
    return v.n >= 2 && v.s[0] == '"' && v.s[v.n - 1] == '"' ? (piece){v.s + 1, v.n - 2} : v;
}

static int search_path(orr_arena *a, const char *dir[3]) {
    int n = 0;
    const char *data = getenv("ORRERY_DATA");
    if (data && *data) dir[n++] = orr_arena_printf(a, "%s/gpus", data);
#ifdef ORRERY_SOURCE_DIR
    dir[n++] = orr_arena_printf(a, "%s/gpus", ORRERY_SOURCE_DIR);
#endif
#ifdef ORRERY_DATADIR
    dir[n++] = orr_arena_printf(a, "%s/gpus", ORRERY_DATADIR);
#endif
    (void)a;
    return n;
}

// The name in `inherit` is a path below the file's folder or below a gpus/ folder, never out of it.
static bool inherit(loader *l, piece v, const char *file, int line) {
    v = unquoted(v);
    bool ok = v.n > 0 && v.n < 200 && v.s[0] != '/' && v.s[v.n - 1] != '/';
    for (size_t i = 0; ok && i < v.n; i++) {
        char c = v.s[i];
        if (!isalnum((unsigned char)c) && c != '_' && c != '-' && c != '/') ok = false;
    }
    if (!ok)
        return orr_fail(l->e, ORR_BAD_INPUT,
                        "%s:%d: inherit must name a description, as \"family/hopper\", without .conf", file,
                        line);

    orr_arena *a = &l->g->arena;
    const char *dir[4], *slash = strrchr(file, '/');
    dir[0] = slash ? orr_arena_strndup(a, file, (size_t)(slash - file)) : ".";
    int n = 1 + search_path(a, dir + 1);
    for (int i = 0; i < n; i++) {
        const char *path = orr_arena_printf(a, "%s/%.*s.conf", dir[i], (int)v.n, v.s);
        if (access(path, R_OK) != 0) continue;
        for (int k = 0; k < l->depth; k++)
            if (strcmp(l->chain[k], path) == 0)
                return orr_fail(l->e, ORR_BAD_INPUT, "%s:%d: %s inherits from itself", file, line, path);
        if (l->depth == MAX_DEPTH)
            return orr_fail(l->e, ORR_BAD_INPUT, "%s:%d: more than %d files inherit from each other", file,
                            line, MAX_DEPTH);
        return read_description(l, path);
    }
    return orr_fail(l->e, ORR_BAD_INPUT,
                    "%s:%d: there is no description '%.*s' to inherit from (looked for %.*s.conf beside "
                    "this file and among the bundled descriptions)",
                    file, line, (int)v.n, v.s, (int)v.n, v.s);
}

// `measured_on` names the description whose GPU a family's measurements were taken on.
static bool measured_on(loader *l, piece v, source *from) {
    v = unquoted(v);
    if (!is_name(v.s, v.n, false) || from->settings > 2)
        return orr_fail(l->e, ORR_BAD_INPUT,
                        "%s:%d: measured_on must name a description, as \"h200\", before the first value",
                        from->file, from->line);
    from->chip = orr_arena_strndup(&l->g->arena, v.s, v.n);
    return true;
}

// `without` leaves out what inherited files measured or chose on a GPU: as if nobody had seen it.
static bool without(loader *l, piece v, const source *from) {
    v = unquoted(v);
    if (!is_name(v.s, v.n, false))
        return orr_fail(l->e, ORR_BAD_INPUT,
                        "%s:%d: without must name a description, as \"h200\", before inherit", from->file,
                        from->line);
    l->without = orr_arena_strndup(&l->g->arena, v.s, v.n);
    return true;
}

static bool read_line(loader *l, const char *s, const char *end, source *from) {
    const char *file = from->file;
    int line = from->line;
    piece text = trim(s, end);
    if (text.n == 0) {
        from->block = (gpu_evidence){0};
        return true;
    }
    if (text.s[0] == '#') {
        piece note = trim(text.s + 1, text.s + text.n);
        gpu_evidence block = gpu_evidence_read(note.s, note.n, &l->g->arena);
        if (block.kind != ORR_NO_EVIDENCE) from->block = block;
        return true;
    }
    const char *stop = text.s + text.n, *eq = memchr(text.s, '=', text.n);
    const char *hash = memchr(text.s, '#', text.n);
    if (!eq || (hash && hash < eq))
        return orr_fail(l->e, ORR_BAD_INPUT, "%s:%d: expected `key = value`, not '%.*s'", file, line,
                        text.n > 40 ? 40 : (int)text.n, text.s);
    piece k = trim(text.s, eq);
    char key[MAX_KEY + 1];
    if (k.n == 0 || k.n > MAX_KEY)
        return orr_fail(l->e, ORR_BAD_INPUT, "%s:%d: a key has 1 to %d characters", file, line, MAX_KEY);
    for (size_t i = 0; i < k.n; i++)
        if (!isalnum((unsigned char)k.s[i]) && k.s[i] != '_' && k.s[i] != '.')
            return orr_fail(l->e, ORR_BAD_INPUT,
                            "%s:%d: '%.*s' is not a key: keys are made of letters, digits, _ and points",
                            file, line, (int)k.n, k.s);
    memcpy(key, k.s, k.n);
    key[k.n] = 0;

    bool quoted = false;
    const char *value_end = eq + 1;
    while (value_end < stop && (quoted || *value_end != '#')) quoted ^= *value_end++ == '"';
    if (quoted) return orr_fail(l->e, ORR_BAD_INPUT, "%s:%d: the closing quote is missing", file, line);
    piece value = trim(eq + 1, value_end), note = {"", 0};
    if (value_end < stop) note = trim(value_end + 1, stop);

    if (strcmp(key, "without") == 0 && from->settings == 0) return without(l, value, from);
    bool first = from->settings++ == 0;
    if (strcmp(key, "measured_on") == 0) return measured_on(l, value, from);
    if (strcmp(key, "inherit") == 0) {
        if (!first)
            return orr_fail(l->e, ORR_BAD_INPUT, "%s:%d: inherit must be the first setting of the file", file,
                            line);
        return inherit(l, value, file, line);
    }
    return set(l, key, value, from, note);
}

static bool read_text(loader *l, const char *path, const char *text, size_t n) {
    const char *file = orr_arena_strdup(&l->g->arena, path), *end = text + n;
    if (n > MAX_FILE)
        return orr_fail(l->e, ORR_BAD_INPUT, "%s: a description cannot be larger than 1 MB", path);
    const char *nul = memchr(text, 0, n);
    l->chain[l->depth++] = file;
    source from = {.file = file};
    for (from.line = 1; text < end; from.line++) {
        const char *eol = memchr(text, '\n', (size_t)(end - text));
        if (!eol) eol = end;
        if (nul && nul < eol)
            return orr_fail(l->e, ORR_BAD_INPUT, "%s:%d: this is not a text file", file, from.line);
        if (!read_line(l, text, eol, &from)) return false;
        text = eol + (eol < end);
    }
    l->depth--;
    return true;
}

static bool read_description(loader *l, const char *path) {
    size_t n;
    char *text = orr_read_file(path, MAX_FILE, &n, l->e);
    if (!text) return false;
    bool ok = read_text(l, path, text, n);
    free(text);
    return ok;
}

// ---- the whole ------------------------------------------------------------------------------

// What models read in another form than descriptions say it: shares of a cache in lines, and what a profiler
// adds.
static void derive(orr_gpu *g) {
    double lines_of_way = (double)g->l2_size / (double)g->l2_line / g->l2_ways;
    g->l2_dirty_lines = (int)llround(g->l2_dirty_ways * lines_of_way);
    g->l2_partial_lines = (int)llround(g->l2_partial_ways * lines_of_way);
    g->l2_completed_lines = (int)llround(g->l2_completed_ways * lines_of_way);
    g->l1_folded = g->l1_tag_hash.n > 0;
    bool profiler = g->profiler == ORR_PROFILER_ON;
    g->icache_warm = profiler && g->profiler_warm_code;
    g->launch_overhead = g->launch_own_overhead + (profiler ? g->profiler_overhead : 0);
}

// What `op` does not set is as the class sets it that it is like.
static void take_values(orr_gpu_op *op, const orr_gpu_op *from) {
    int i = 0;
#define OP_PARAM(kind, key, field, ...)                                                                      \
    if (!op->origin[i].file && !op->origin[i].like && from->origin[i].file) {                                \
        op->field = from->field;                                                                             \
        op->origin[i].like = from->name;                                                                     \
    }                                                                                                        \
    i++;
#define PARAM      ORR_GPU_NONE
#define UNIT_PARAM ORR_GPU_NONE
#include "gpu/params.def"
#undef PARAM
#undef UNIT_PARAM
#undef OP_PARAM
}

// A class may be like one that is like a third: the nearest that sets a value gives it.
static bool follow_like(loader *l, orr_gpu_op *op) {
    orr_gpu *g = l->g;
    const orr_gpu_op *at = op;
    for (int depth = 0; at->origin[0].file && *at->like; depth++) {
        const orr_gpu_op *next = NULL;
        orr_nearest near = {at->like, NULL, 0};
        for (int i = 0; i < g->nops; i++) {
            if (strcmp(g->ops[i].name, at->like) == 0) next = &g->ops[i];
            orr_consider(&near, g->ops[i].name);
        }
        if (!next)
            return orr_fail(l->e, ORR_BAD_INPUT, "%s:%d: op.%s is like op.%s, which no line describes%s%s%s",
                            at->origin[0].file, at->origin[0].line, at->name, at->like,
                            orr_is_near(&near) ? "; did you mean '" : "", orr_is_near(&near) ? near.best : "",
                            orr_is_near(&near) ? "'?" : "");
        if (depth == ORR_GPU_OPS_MAX)
            return orr_fail(l->e, ORR_BAD_INPUT, "%s:%d: op.%s is like itself, by way of op.%s",
                            op->origin[0].file, op->origin[0].line, op->name, at->name);
        take_values(op, next);
        at = next;
    }
    return true;
}

static const orr_gpu_op *op_called(const orr_gpu *g, const char *name) {
    for (int i = 0; i < g->nops; i++)
        if (strcmp(g->ops[i].name, name) == 0) return &g->ops[i];
    return NULL;
}

// Whether a class, or one that it is like, sets its k-th value.
static bool op_sets(const orr_gpu *g, const orr_gpu_op *op, int k) {
    for (int depth = 0; op && depth <= ORR_GPU_OPS_MAX; depth++) {
        if (op->origin[k].file) return true;
        op = op->origin[0].file && *op->like ? op_called(g, op->like) : NULL;
    }
    return false;
}

// Classes of which `without` has taken the unit, the latency or the class that they are like are not
// described at all: their instructions are of the class above.
static void drop_incomplete(orr_gpu *g) {
    for (int i = 0; i < g->nops; i++) {
        const orr_gpu_op *op = &g->ops[i];
        bool whole = !op->origin[0].file || !*op->like || op_called(g, op->like);
        for (int k = 0; k < ORR_GPU_OP_PARAMS; k++)
            whole = whole && (gpu_op_params[k].def || op_sets(g, op, k));
        if (whole) continue;
        memmove(&g->ops[i], &g->ops[i + 1], (size_t)(g->nops - i - 1) * sizeof *op);
        g->nops--;
        i = -1; // others may have been like it
    }
}

// The unit of a class that says none: the one of its name; else that of the class above (`match.all`:
// `match`); else, of an opcode, that of its class (isa/sass.def). NULL: there is none.
static const char *unit_by_rule(const orr_gpu *g, const orr_gpu_op *op) {
    char name[ORR_GPU_NAME_MAX];
    for (int i = 0; i < g->nunits; i++)
        if (strcmp(g->units[i].name, op->name) == 0) return op->name;
    const orr_gpu_op *above = NULL;
    snprintf(name, sizeof name, "%s", op->name);
    for (char *dot = strrchr(name, '.'); dot && !above; dot = strrchr(name, '.'))
        *dot = 0, above = op_called(g, name);
    if (!above) {
        for (char *c = name; *c; c++) *c = (char)toupper((unsigned char)*c);
        enum orr_sass code = orr_sass_find(name, strlen(name));
        if (code != ORR_SASS_NONE) above = orr_gpu_find_op(g, orr_tclass_name[orr_sass[code].cls]);
    }
    if (!above || above == op) return NULL;
    return *above->unit ? above->unit : unit_by_rule(g, above);
}

static bool missing(loader *l, const gpu_param *p) {
    return orr_fail(l->e, ORR_BAD_INPUT, "%s: %s is missing (%s); add `%s = ...`", l->g->path, p->key,
                    p->meaning, p->key);
}

// Finds a class's unit once all have been read, and that nothing of it is missing.
static bool complete_op(loader *l, orr_gpu_op *op) {
    orr_gpu *g = l->g;
    for (int k = 0; k < ORR_GPU_OP_PARAMS; k++)
        if (!gpu_op_params[k].def && !op->origin[k].file && !op->origin[k].like)
            return orr_fail(l->e, ORR_BAD_INPUT, "%s: op.%s.%s is missing (%s)", g->path, op->name,
                            gpu_op_params[k].key, gpu_op_params[k].meaning);
    const char *unit = *op->unit ? op->unit : unit_by_rule(g, op);
    if (!unit)
        return orr_fail(l->e, ORR_BAD_INPUT, "%s: op.%s.unit is missing, and no unit has its name", g->path,
                        op->name);
    op->unit = unit;
    orr_nearest near = {op->unit, NULL, 0};
    op->unit_index = -1;
    for (int k = 0; k < g->nunits; k++) {
        if (strcmp(g->units[k].name, op->unit) == 0) op->unit_index = k;
        orr_consider(&near, g->units[k].name);
    }
    if (op->unit_index >= 0) return true;
    return orr_fail(l->e, ORR_BAD_INPUT,
                    "%s:%d: op.%s runs on unit '%s', which no unit.%s.* line declares%s%s%s",
                    op->origin[1].file ? op->origin[1].file : g->path, op->origin[1].line, op->name, op->unit,
                    op->unit, orr_is_near(&near) ? "; did you mean '" : "",
                    orr_is_near(&near) ? near.best : "", orr_is_near(&near) ? "'?" : "");
}

static bool check(loader *l) {
    orr_gpu *g = l->g;
    if (l->without) drop_incomplete(g);
    for (int i = 0; i < ORR_GPU_PARAMS; i++)
        if (!gpu_params[i].def && !g->origin[i].file) return missing(l, &gpu_params[i]);
    const gpu_param *unknown = gpu_derive(g);
    if (unknown) return missing(l, unknown);
    for (int i = 0; i < g->nops; i++)
        if (!follow_like(l, &g->ops[i])) return false;
    for (int i = 0; i < g->nops; i++)
        if (!complete_op(l, &g->ops[i])) return false;
    derive(g);
    if (g->shared_per_block_optin < g->shared_per_block) g->shared_per_block_optin = g->shared_per_block;
    if (g->clock_l2 == 0) g->clock_l2 = g->clock_sm;
    if (g->cluster_load == 0) g->cluster_load = g->shared_latency;
    if (g->cluster_load_near == 0) g->cluster_load_near = g->cluster_load;
    if (g->l1_tag_hash.n > ORR_L1_TAG_BITS)
        return orr_fail(l->e, ORR_BAD_INPUT, "%s: l1.tag_hash has more than %d masks", g->path,
                        ORR_L1_TAG_BITS);
    if (g->shared_per_block_optin > g->shared_per_sm)
        return orr_fail(l->e, ORR_BAD_INPUT,
                        "%s: a block may have more shared memory (shared.per_block, "
                        "shared.per_block_optin) than an SM has (shared.per_sm)",
                        g->path);
    return true;
}

// --set key=value, in order; a later one wins over an earlier one.
static bool apply_sets(loader *l, const char *const *sets, int nsets) {
    for (int i = 0; i < nsets; i++) {
        const char *eq = strchr(sets[i], '='), *end = sets[i] + strlen(sets[i]);
        piece k = eq ? trim(sets[i], eq) : (piece){"", 0};
        char key[MAX_KEY + 1];
        if (k.n == 0 || k.n > MAX_KEY)
            return orr_fail(l->e, ORR_BAD_INPUT, "--set %.60s: expected key=value, as in --set sm.count=66",
                            sets[i]);
        memcpy(key, k.s, k.n);
        key[k.n] = 0;
        // Line 0 marks an override: it may repeat, and messages say --set instead of a line.
        orr_err e = {0}, *outer = l->e;
        l->e = &e;
        bool ok = set(l, key, trim(eq + 1, end), &(source){.file = "--set"}, (piece){"", 0});
        l->e = outer;
        if (!ok)
            return orr_fail(l->e, e.status, "--set%s",
                            strncmp(e.text, "--set:0", 7) == 0 ? e.text + 7 : e.text);
    }
    return true;
}

static orr_gpu *load(const char *path, const char *text, size_t n, const char *const *sets, int nsets,
                     orr_err *e) {
    orr_gpu *g = orr_calloc(1, sizeof *g);
    loader l = {.g = g, .e = e};
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t len = strlen(base);
    if (len > 5 && strcmp(base + len - 5, ".conf") == 0) len -= 5;
    g->name = orr_arena_strndup(&g->arena, base, len);
    g->path = orr_arena_strdup(&g->arena, path);
    bool ok = set_defaults(gpu_params, ORR_GPU_PARAMS, g, g->origin, &l);
    ok = ok && (text ? read_text(&l, path, text, n) : read_description(&l, path));
    ok = ok && apply_sets(&l, sets, nsets) && check(&l);
    if (ok) return g;
    orr_gpu_free(g);
    return NULL;
}

orr_gpu *orr_gpu_parse(const char *path, const char *text, size_t n, const char *const *sets, int nsets,
                       orr_err *e) {
    return load(path, text ? text : "", n, sets, nsets, e);
}

void orr_gpu_free(orr_gpu *g) {
    if (!g) return;
    orr_arena a = g->arena;
    orr_arena_free(&a);
    free(g);
}

// "RTX-3070" is asked for, rtx3070.conf is there: the name as it is, else its letters and digits.
static const char *find(const char *name, orr_arena *a) {
    char plain[100];
    size_t n = 0;
    for (const char *p = name; *p && n < sizeof plain - 1; p++)
        if (isalnum((unsigned char)*p)) plain[n++] = (char)tolower((unsigned char)*p);
    plain[n] = 0;
    const char *dir[3];
    int ndirs = search_path(a, dir);
    for (int i = 0; n && i < ndirs; i++)
        for (int k = 0; k < 2; k++) {
            const char *path = orr_arena_printf(a, "%s/%s.conf", dir[i], k ? plain : name);
            if (access(path, R_OK) == 0) return path;
        }
    return NULL;
}

orr_gpu *orr_gpu_load(const char *name, const char *const *sets, int nsets, orr_err *e) {
    size_t n = strlen(name);
    if (strchr(name, '/') || (n > 5 && strcmp(name + n - 5, ".conf") == 0))
        return load(name, NULL, 0, sets, nsets, e);
    orr_arena a = {0};
    const char *path = n <= MAX_KEY ? find(name, &a) : NULL;
    orr_gpu *g = path ? load(path, NULL, 0, sets, nsets, e) : NULL;
    orr_arena_free(&a);
    if (path) return g;

    int count;
    char **names = orr_gpu_list(&count);
    orr_nearest near = {name, NULL, 0};
    for (int i = 0; i < count; i++) orr_consider(&near, names[i]);
    if (orr_is_near(&near))
        orr_fail(e, ORR_BAD_INPUT, "there is no GPU '%.60s'; did you mean '%s'?", name, near.best);
    else
        orr_fail(e, ORR_BAD_INPUT, "there is no GPU '%.60s'; `orrery gpu list` shows those there are", name);
    orr_gpu_list_free(names, count);
    return NULL;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

char **orr_gpu_list(int *n) {
    orr_arena a = {0};
    const char *dir[3];
    int ndirs = search_path(&a, dir);
    ORR_VEC(char *) names = {0};
    for (int i = 0; i < ndirs; i++) {
        DIR *d = opendir(dir[i]);
        if (!d) continue;
        for (struct dirent *f; (f = readdir(d)) != NULL && names.n < 10000;) {
            size_t len = strlen(f->d_name);
            if (len <= 5 || f->d_name[0] == '.' || strcmp(f->d_name + len - 5, ".conf") != 0) continue;
            char **name = ORR_PUSH(&names);
            *name = orr_calloc(1, len);
            memcpy(*name, f->d_name, len - 5);
        }
        closedir(d);
    }
    orr_arena_free(&a);
    if (names.n) qsort(names.at, names.n, sizeof *names.at, by_name);
    int kept = 0;
    for (size_t i = 0; i < names.n; i++) {
        if (kept && strcmp(names.at[kept - 1], names.at[i]) == 0)
            free(names.at[i]);
        else
            names.at[kept++] = names.at[i];
    }
    *n = kept;
    return names.at;
}

void orr_gpu_list_free(char **names, int n) {
    for (int i = 0; i < n; i++) free(names[i]);
    free(names);
}

// ---- asking ---------------------------------------------------------------------------------

const orr_gpu_op *orr_gpu_find_op(const orr_gpu *g, const char *name) {
    size_t n = strlen(name);
    while (n) {
        for (int i = 0; i < g->nops; i++)
            if (strlen(g->ops[i].name) == n && memcmp(g->ops[i].name, name, n) == 0) return &g->ops[i];
        while (n && name[--n] != '.') {}
    }
    return NULL;
}

const orr_gpu_op *orr_gpu_op_for(const orr_gpu *g, const char *mnemonic, const char *op_class) {
    char low[ORR_GPU_NAME_MAX];
    size_t n = 0;
    for (; mnemonic[n] && n + 1 < sizeof low; n++) low[n] = (char)tolower((unsigned char)mnemonic[n]);
    low[n] = 0;
    const orr_gpu_op *op = orr_gpu_find_op(g, low);
    if (!op) op = orr_gpu_find_op(g, op_class);
    if (!op) op = orr_gpu_find_op(g, "misc");
    return op ? op : g->nops ? &g->ops[0] : NULL;
}

double orr_gpu_op_interval(const orr_gpu *g, const orr_gpu_op *op) {
    return op->interval > 0 ? op->interval : g->limit_warp / g->units[op->unit_index].lanes;
}

double orr_gpu_peak_gflops(const orr_gpu *g, const char *name) {
    const orr_gpu_op *op = orr_gpu_find_op(g, name);
    if (!op) return 0;
    double warps = g->units[op->unit_index].count / orr_gpu_op_interval(g, op); // per cycle and SM
    return 2.0 * warps * g->limit_warp * g->sm_count * g->clock_sm / 1000;
}
