// The bundled workloads: DATA/workloads/NAME/NAME.launch, where DATA is $ORRERY_DATA, the source
// tree the program was built from, or the installed data folder.
#include "launch/launch.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_file(const char *path) {
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode);
}

static bool is_dir(const char *path) {
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

// The first folder of workloads there is, or NULL.
static const char *workloads_dir(orr_arena *a) {
    const char *roots[3] = {getenv("ORRERY_DATA"), NULL, NULL};
#ifdef ORRERY_SOURCE_DIR
    roots[1] = ORRERY_SOURCE_DIR;
#endif
#ifdef ORRERY_DATADIR
    roots[2] = ORRERY_DATADIR;
#endif
    for (int k = 0; k < 3; k++) {
        if (!roots[k] || !*roots[k]) continue;
        const char *path = orr_arena_printf(a, "%s/workloads", roots[k]);
        if (is_dir(path)) return path;
    }
    return NULL;
}

static void not_found(orr_arena *a, const char *name, orr_err *e) {
    struct stat st;
    if (!stat(name, &st)) {
        orr_fail(e, ORR_BAD_INPUT, "%s: is %s; name a launch script or a bundled workload", name,
                 S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
        return;
    }
    int n;
    const char *const *names = orr_list_workloads(a, &n);
    orr_nearest near = {.to = name};
    for (int k = 0; k < n; k++) orr_consider(&near, names[k]);
    if (orr_is_near(&near))
        orr_fail(e, ORR_BAD_INPUT, "%s: there is no such file and no such workload; did you mean '%s'?", name,
                 near.best);
    else
        orr_fail(e, ORR_BAD_INPUT,
                 "%s: there is no such file and no such workload; `orrery list` names the workloads", name);
}

const char *orr_find_workload(orr_arena *a, const char *name, orr_err *e) {
    if (!*name) {
        orr_fail(e, ORR_BAD_INPUT, "the name of a workload or a file is empty");
        return NULL;
    }
    if (!strchr(name, '/')) {
        const char *dir = workloads_dir(a);
        const char *path = dir ? orr_arena_printf(a, "%s/%s/%s.launch", dir, name, name) : NULL;
        if (path && is_file(path)) return path;
    }
    if (is_file(name)) return orr_arena_strdup(a, name);
    not_found(a, name, e);
    return NULL;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *const *orr_list_workloads(orr_arena *a, int *n) {
    ORR_VEC(const char *) names = {0};
    const char *dir = workloads_dir(a);
    DIR *d = dir ? opendir(dir) : NULL;
    for (struct dirent *f; d && (f = readdir(d));) {
        if (f->d_name[0] == '.') continue;
        if (is_file(orr_arena_printf(a, "%s/%s/%s.launch", dir, f->d_name, f->d_name))) {
            *ORR_PUSH(&names) = orr_arena_strdup(a, f->d_name);
        }
    }
    if (d) closedir(d);
    const char **out = orr_arena_alloc(a, (names.n + 1) * sizeof *out);
    if (names.n) {
        memcpy(out, names.at, names.n * sizeof *out);
        qsort(out, names.n, sizeof *out, by_name);
    }
    *n = (int)names.n;
    free(names.at);
    return out;
}
