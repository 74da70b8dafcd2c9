// orr_workloads: the bundled workloads, each with the first comment of its script and its sizes.
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

// Only the text of the script is read, so that a broken one is still listed.
static void describe(const char *text, char what[120], char sizes[120]) {
    what[0] = sizes[0] = 0;
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\r\n"), skip = strspn(line, " \t");
        if (!what[0] && line[0] == '#') {
            size_t from = 1 + strspn(line + 1, " \t");
            if (from < n) snprintf(what, 120, "%.*s", (int)(n - from), line + from);
        } else if (skip < n && !strncmp(line + skip, "size", 4) && strspn(line + skip + 4, " \t")) {
            const char *name = line + skip + 4 + strspn(line + skip + 4, " \t");
            size_t len = strlen(sizes), m = strcspn(name, " \t\r\n");
            snprintf(sizes + len, 120 - len, "%s%.*s", len ? " " : "", (int)(m < 100 ? m : 100), name);
        }
        line += n;
        line += strspn(line, "\r\n");
    }
}

static void row_json(orr_text *t, const char *name, const char *what, char *sizes, const char *path) {
    orr_text_add(t, "\n  {\"name\": ");
    orr_text_json(t, name);
    orr_text_add(t, ", \"description\": ");
    orr_text_json(t, what);
    orr_text_add(t, ", \"sizes\": [");
    for (char *next = sizes, *one; (one = strtok_r(next, " ", &next));) {
        orr_text_add(t, one == sizes ? "" : ", ");
        orr_text_json(t, one);
    }
    orr_text_add(t, "], \"script\": ");
    orr_text_json(t, path);
    orr_text_add(t, "}");
}

typedef struct listing {
    orr_text text, json;
    int rows;
} listing;

static void list(listing *l, orr_arena *a, const char *const *names, int n) {
    for (int i = 0; i < n; i++) {
        orr_err none = {0};
        size_t size;
        const char *path = orr_find_workload(a, names[i], &none);
        char *script = path ? orr_read_file(path, 1 << 20, &size, &none) : NULL;
        char what[120], sizes[120];
        describe(script ? script : "", what, sizes);
        free(script);
        orr_text_add(&l->text, "%-25s %-20s %s\n", names[i], sizes, what);
        orr_text_add(&l->json, l->rows++ ? "," : "");
        row_json(&l->json, names[i], what, sizes, path ? path : "");
    }
}

orr_report *orr_workloads(orr_err *e) {
    if (e->status) return NULL;
    orr_arena a = {0};
    listing l = {0};
    int n = 0;
    orr_text_add(&l.json, "[");
    orr_text_addn(&l.text, "", 0);
    const char *const *names = orr_list_workloads(&a, &n);
    list(&l, &a, names, n);
    names = orr_list_hopper(&a, &n);
    list(&l, &a, names, n);
    orr_text_add(&l.json, "\n]\n");
    orr_arena_free(&a);
    return orr_report_of(l.text, l.json);
}
