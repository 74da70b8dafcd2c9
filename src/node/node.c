// Reads descriptions of nodes: lines of `key = value unit  # comment`, and the file they inherit from.
//
// Values, units and evidence are those of GPU descriptions (gpu/value.h, gpu/evidence.h). A value without
// evidence of its own takes that of the last comment line above it that is evidence.
#include "node/node.h"
#include "gpu/evidence.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FILE  (1 << 18)
#define MAX_DEPTH 8 // files that inherit from each other
#define REQUIRED  NULL

static const gpu_param node_params[ORR_NODE_PARAMS] = {
#define PARAM(kind, key, field, unit, lo, hi, def, meaning)                                                  \
    {key, GPU_##kind, unit, lo, hi, def, meaning, offsetof(orr_node, field)},
#include "node/params.def"
#undef PARAM
};

typedef struct reader {
    orr_node *node;
    orr_err *e;
    const char *file;
    const struct reader *heir; // the file that inherits from this one; NULL: none
    int line;
    bool begun; // a setting has been read
    gpu_evidence block;
} reader;

static bool read_file(const reader *heir, const char *path);

static bool bad(reader *r, const char *what, const char *name, size_t n) {
    return orr_fail(r->e, ORR_BAD_INPUT, "%s:%d: %s '%.*s'", r->file, r->line, what, n > 60 ? 60 : (int)n,
                    name);
}

static char *trimmed(orr_arena *a, const char *s, const char *end) {
    while (s < end && isspace((unsigned char)*s)) s++;
    while (end > s && isspace((unsigned char)end[-1])) end--;
    return orr_arena_strndup(a, s, (size_t)(end - s));
}

static const char *folder(orr_arena *a, int i) {
    const char *data = getenv("ORRERY_DATA");
    if (i == 0) return data && *data ? orr_arena_printf(a, "%s/nodes", data) : "";
#ifdef ORRERY_SOURCE_DIR
    if (i == 1) return orr_arena_printf(a, "%s/nodes", ORRERY_SOURCE_DIR);
#endif
#ifdef ORRERY_DATADIR
    if (i == 2) return orr_arena_printf(a, "%s/nodes", ORRERY_DATADIR);
#endif
    return i < 3 ? "" : NULL;
}

static bool is_name(const char *s) {
    if (!*s || strlen(s) > 100 || *s == '/') return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_' && *s != '-' && *s != '/') return false;
    return true;
}

static bool read_inherited(const reader *r, const char *path) {
    int depth = 1;
    for (const reader *f = r; f; f = f->heir, depth++)
        if (!strcmp(f->file, path))
            return orr_fail(r->e, ORR_BAD_INPUT, "%s:%d: %s inherits from itself", r->file, r->line, path);
    if (depth > MAX_DEPTH)
        return orr_fail(r->e, ORR_BAD_INPUT, "%s:%d: more than %d files inherit from each other", r->file,
                        r->line, MAX_DEPTH);
    return read_file(r, path);
}

// `inherit = "NAME"`: below the file's own folder, or below a nodes/ folder.
static bool inherit(reader *r, char *value) {
    orr_arena *a = &r->node->arena;
    size_t n = strlen(value);
    if (n > 1 && value[0] == '"' && value[n - 1] == '"') value[n - 1] = 0, value++;
    if (r->begun)
        return orr_fail(r->e, ORR_BAD_INPUT, "%s:%d: inherit must be the first setting of the file", r->file,
                        r->line);
    if (!is_name(value))
        return bad(r, "inherit names a description, as \"dgx_h200\", without .conf, not", value,
                   strlen(value));
    const char *slash = strrchr(r->file, '/');
    const char *own = slash ? orr_arena_strndup(a, r->file, (size_t)(slash - r->file)) : ".";
    for (int i = -1; i < 3; i++) {
        const char *dir = i < 0 ? own : folder(a, i);
        const char *path = orr_arena_printf(a, "%s/%s.conf", dir, value);
        if (*dir && access(path, R_OK) == 0) return read_inherited(r, path);
    }
    return bad(r, "there is no description to inherit from called", value, strlen(value));
}

static bool set(reader *r, const char *key, const char *value, const char *note) {
    orr_node *node = r->node;
    orr_nearest near = {key, NULL, 0};
    for (int i = 0; i < ORR_NODE_PARAMS; i++) {
        const gpu_param *p = &node_params[i];
        orr_consider(&near, p->key);
        if (strcmp(p->key, key) != 0) continue;
        if (node->origin[i].file == r->file) return bad(r, "a second time:", key, strlen(key));
        char why[256];
        if (!gpu_value_read(p, node, value, strlen(value), &node->arena, why))
            return orr_fail(r->e, ORR_BAD_INPUT, "%s:%d: %s: %s", r->file, r->line, key, why);
        gpu_evidence e = gpu_evidence_read(note, strlen(note), &node->arena);
        if (e.kind == ORR_NO_EVIDENCE) e = r->block;
        node->origin[i] = (orr_gpu_origin){.file = r->file,
                                           .line = r->line,
                                           .note = note,
                                           .evidence = e.kind,
                                           .source = e.source ? e.source : ""};
        return true;
    }
    return orr_fail(r->e, ORR_BAD_INPUT,
                    "%s:%d: there is no parameter '%.60s'%s%s%s; docs/guides/nodes.md lists them", r->file,
                    r->line, key, orr_is_near(&near) ? "; did you mean '" : "",
                    orr_is_near(&near) ? near.best : "", orr_is_near(&near) ? "'?" : "");
}

static bool read_line(reader *r, const char *s, const char *end) {
    orr_arena *a = &r->node->arena;
    char *text = trimmed(a, s, end);
    if (!*text) {
        r->block = (gpu_evidence){0};
        return true;
    }
    if (*text == '#') {
        char *note = trimmed(a, text + 1, text + strlen(text));
        gpu_evidence block = gpu_evidence_read(note, strlen(note), a);
        if (block.kind != ORR_NO_EVIDENCE) r->block = block;
        return true;
    }
    char *eq = strchr(text, '=');
    if (!eq) return bad(r, "expected `key = value`, not", text, strlen(text));
    bool quoted = false;
    char *stop = eq + 1;
    while (*stop && (quoted || *stop != '#')) quoted ^= *stop++ == '"';
    if (quoted) return bad(r, "the closing quote is missing in", text, strlen(text));
    char *key = trimmed(a, text, eq), *value = trimmed(a, eq + 1, stop);
    char *note = *stop ? trimmed(a, stop + 1, stop + strlen(stop)) : (char *)"";
    if (!strcmp(key, "inherit")) return inherit(r, value);
    r->begun = true;
    return set(r, key, value, note);
}

static bool read_text(reader *r, const char *text, size_t n) {
    const char *end = text + n;
    if (memchr(text, 0, n)) return orr_fail(r->e, ORR_BAD_INPUT, "%s: this is not a text file", r->file);
    for (r->line = 1; text < end; r->line++) {
        const char *eol = memchr(text, '\n', (size_t)(end - text));
        if (!eol) eol = end;
        if (!read_line(r, text, eol)) return false;
        text = eol + (eol < end);
    }
    return true;
}

static bool read_file(const reader *heir, const char *path) {
    size_t n;
    char *text = orr_read_file(path, MAX_FILE, &n, heir->e);
    if (!text) return false;
    reader r = {.node = heir->node, .e = heir->e, .heir = heir};
    r.file = orr_arena_strdup(&heir->node->arena, path);
    bool ok = read_text(&r, text, n);
    free(text);
    return ok;
}

// What the links need to make sense together.
static bool check(const orr_node *n, orr_err *e) {
    for (int i = 0; i < ORR_NODE_PARAMS; i++)
        if (!node_params[i].def && !n->origin[i].file)
            return orr_fail(e, ORR_BAD_INPUT, "%s: %s is missing (%s); add `%s = ...`", n->path,
                            node_params[i].key, node_params[i].meaning, node_params[i].key);
    if (n->nvlink_kind != ORR_NVLINK_NONE && n->nvlink_bandwidth <= 0)
        return orr_fail(e, ORR_BAD_INPUT, "%s: nvlink.bandwidth must be more than 0 with nvlink.kind",
                        n->path);
    if (n->numa_nodes > n->gpus)
        return orr_fail(e, ORR_BAD_INPUT, "%s: numa.nodes is %d, of %d GPUs; at most one socket a GPU",
                        n->path, n->numa_nodes, n->gpus);
    return true;
}

orr_node *orr_node_parse(const char *path, const char *text, size_t len, orr_err *e) {
    orr_node *n = orr_calloc(1, sizeof *n);
    n->path = orr_arena_strdup(&n->arena, path);
    const char *slash = strrchr(path, '/');
    n->name = orr_arena_strdup(&n->arena, slash ? slash + 1 : path);
    char *dot = strstr(n->name, ".conf");
    if (dot) *dot = 0;
    char why[256];
    bool ok = true;
    for (int i = 0; i < ORR_NODE_PARAMS && ok; i++) {
        const gpu_param *p = &node_params[i];
        n->origin[i] = (orr_gpu_origin){.note = "", .source = ""};
        if (p->def && !gpu_value_read(p, n, p->def, strlen(p->def), &n->arena, why))
            ok = orr_fail(e, ORR_BAD_INPUT, "node/params.def: default of %s: %s", p->key, why);
    }
    reader r = {.node = n, .e = e, .file = n->path};
    if (ok && read_text(&r, text, len) && check(n, e)) return n;
    orr_node_free(n);
    return NULL;
}

orr_node *orr_node_load(const char *name, orr_err *e) {
    orr_arena a = {0};
    const char *path = NULL;
    size_t len = strlen(name);
    if (strchr(name, '/') || (len > 5 && !strcmp(name + len - 5, ".conf"))) path = name;
    for (int i = 0; !path && is_name(name) && i < 3; i++) {
        const char *dir = folder(&a, i), *file = orr_arena_printf(&a, "%s/%s.conf", dir, name);
        if (*dir && access(file, R_OK) == 0) path = file;
    }
    orr_node *n = NULL;
    size_t size;
    if (!path) {
        int known;
        char **names = orr_node_list(&known);
        orr_nearest near = {name, NULL, 0};
        for (int i = 0; i < known; i++) orr_consider(&near, names[i]);
        bool close = orr_is_near(&near);
        orr_fail(e, ORR_BAD_INPUT, "there is no node called '%.60s'%s%s%s; `orrery node list` lists them",
                 name, close ? "; did you mean '" : "", close ? near.best : "", close ? "'?" : "");
        orr_gpu_list_free(names, known);
    } else {
        char *text = orr_read_file(path, MAX_FILE, &size, e);
        n = text ? orr_node_parse(path, text, size, e) : NULL;
        free(text);
    }
    orr_arena_free(&a);
    return n;
}

void orr_node_free(orr_node *n) {
    if (!n) return;
    orr_arena_free(&n->arena);
    free(n);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

char **orr_node_list(int *n) {
    orr_arena a = {0};
    ORR_VEC(char *) names = {0};
    for (int i = 0; i < 3; i++) {
        const char *dir = folder(&a, i);
        DIR *d = *dir ? opendir(dir) : NULL;
        for (struct dirent *f; d && (f = readdir(d)) != NULL && names.n < 10000;) {
            size_t len = strlen(f->d_name);
            if (len <= 5 || f->d_name[0] == '.' || strcmp(f->d_name + len - 5, ".conf") != 0) continue;
            f->d_name[len - 5] = 0;
            bool known = false;
            for (size_t k = 0; k < names.n; k++) known |= !strcmp(names.at[k], f->d_name);
            if (known) continue;
            char *copy = orr_calloc(1, len);
            memcpy(copy, f->d_name, len - 4);
            *ORR_PUSH(&names) = copy;
        }
        if (d) closedir(d);
    }
    orr_arena_free(&a);
    if (names.n) qsort(names.at, names.n, sizeof *names.at, by_name);
    *n = (int)names.n;
    return names.at;
}

// ---- printing -----------------------------------------------------------------------------------
void orr_node_print(const orr_node *n, orr_text *out) {
    orr_text_add(out, "%s: %s\n", n->name, n->product);
    for (int i = 0; i < ORR_NODE_PARAMS; i++) {
        const orr_gpu_origin *o = &n->origin[i];
        if (!o->file) continue;
        orr_text value = {0};
        gpu_value_text(&node_params[i], n, &value);
        orr_text_add(out, "  %-24s %-20s %s%s%s\n", node_params[i].key, value.s ? value.s : "",
                     orr_evidence_name[o->evidence], *o->source ? ": " : "", o->source);
        free(value.s);
    }
}

void orr_node_json(const orr_node *n, orr_text *out) {
    orr_text_add(out, "{\"name\":");
    orr_text_json(out, n->name);
    for (int i = 0; i < ORR_NODE_PARAMS; i++) {
        orr_text_add(out, ",\n");
        orr_text_json(out, node_params[i].key);
        orr_text_add(out, ":{\"value\":");
        gpu_value_json(&node_params[i], n, out);
        orr_text_add(out, ",\"unit\":");
        orr_text_json(out, node_params[i].kind == GPU_ENUM ? "" : node_params[i].unit);
        orr_text_add(out, ",\"evidence\":");
        orr_text_json(out, orr_evidence_name[n->origin[i].evidence]);
        orr_text_add(out, ",\"source\":");
        orr_text_json(out, n->origin[i].source);
        orr_text_add(out, "}");
    }
    orr_text_add(out, "}\n");
}

void orr_node_print_keys(orr_text *out) {
    orr_text_add(out, "| key | unit | meaning |\n|---|---|---|\n");
    for (int i = 0; i < ORR_NODE_PARAMS; i++) {
        orr_text_add(out, "| `%s` | ", node_params[i].key);
        for (const char *c = node_params[i].unit; *c; c++) orr_text_add(out, *c == '|' ? ", " : "%c", *c);
        orr_text_add(out, " | %s |\n", node_params[i].meaning);
    }
}

void orr_node_json_keys(orr_text *out) {
    for (int i = 0; i < ORR_NODE_PARAMS; i++) {
        orr_text_add(out, "%s{\"key\":\"%s\",\"unit\":", i ? ",\n" : "[", node_params[i].key);
        orr_text_json(out, node_params[i].unit);
        orr_text_add(out, ",\"meaning\":");
        orr_text_json(out, node_params[i].meaning);
        orr_text_add(out, "}");
    }
    orr_text_add(out, "]\n");
}
