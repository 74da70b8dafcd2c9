// orrery list: the bundled workloads, each with the first comment of its script and its sizes.
#include "cli/cli.h"
#include "launch/launch.h"

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

int cli_list(cli_options *o, orr_err *e) {
    if (o->ninputs) {
        orr_fail(e, ORR_BAD_INPUT, "list: takes no INPUT");
        return e->status;
    }
    orr_arena a = {0};
    orr_text t = {0};
    int n = 0;
    const char *const *names = orr_list_workloads(&a, &n);
    if (o->json && !o->names) orr_text_add(&t, "[");
    for (int i = 0; i < n; i++) {
        if (o->names) {
            orr_text_add(&t, "%s\n", names[i]);
            continue;
        }
        orr_err none = {0};
        size_t size;
        const char *path = orr_find_workload(&a, names[i], &none);
        char *text = path ? orr_read_file(path, 1 << 20, &size, &none) : NULL;
        char what[120], sizes[120];
        describe(text ? text : "", what, sizes);
        free(text);
        if (o->json) {
            orr_text_add(&t, "%s\n  {\"name\": ", i ? "," : "");
            orr_text_json(&t, names[i]);
            orr_text_add(&t, ", \"description\": ");
            orr_text_json(&t, what);
            orr_text_add(&t, ", \"sizes\": [");
            for (char *next = sizes, *one; (one = strtok_r(next, " ", &next));) {
                orr_text_add(&t, one == sizes ? "" : ", ");
                orr_text_json(&t, one);
            }
            orr_text_add(&t, "], \"script\": ");
            orr_text_json(&t, path ? path : "");
            orr_text_add(&t, "}");
        } else {
            orr_text_add(&t, "%-20s %-20s %s\n", names[i], sizes, what);
        }
    }
    if (o->json && !o->names) orr_text_add(&t, "\n]\n");
    if (!n && !o->json)
        orr_fail(e, ORR_BAD_INPUT,
                 "no bundled workloads were found; set ORRERY_DATA to the folder that holds workloads/");
    else if (t.n)
        fwrite(t.s, 1, t.n, stdout);
    free(t.s);
    orr_arena_free(&a);
    return e->status;
}
