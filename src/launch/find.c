// The bundled workloads, DATA/workloads/NAME/NAME.launch, those for one architecture alone,
// DATA/workloads/SET/NAME/NAME.launch, which are called SET/NAME, and microbenchmarks,
// DATA/micro/NAME.launch, where DATA is $ORRERY_DATA, the source tree the program was built from, or the
// installed data folder.
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

// The first folder of that name there is, or NULL.
static const char *data_dir(orr_arena *a, const char *name) {
    const char *roots[3] = {getenv("ORRERY_DATA"), NULL, NULL};
#ifdef ORRERY_SOURCE_DIR
    roots[1] = ORRERY_SOURCE_DIR;
#endif
#ifdef ORRERY_DATADIR
    roots[2] = ORRERY_DATADIR;
#endif
    for (int k = 0; k < 3; k++) {
        if (!roots[k] || !*roots[k]) continue;
        const char *path = orr_arena_printf(a, "%s/%s", roots[k], name);
        if (is_dir(path)) return path;
    }
    return NULL;
}

static const char *workloads_dir(orr_arena *a) { return data_dir(a, "workloads"); }

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
    const char *slash = strchr(name, '/'), *own = slash ? slash + 1 : name;
    if (name[0] != '/' && name[0] != '.' && *own && !strchr(own, '/')) {
        const char *dir = workloads_dir(a);
        const char *path = dir ? orr_arena_printf(a, "%s/%s/%s.launch", dir, name, own) : NULL;
        if (path && is_file(path)) return path;
    }
    if (is_file(name)) return orr_arena_strdup(a, name);
    if (!strncmp(name, "micro/", 6)) {
        const char *dir = data_dir(a, "micro");
        const char *path = dir ? orr_arena_printf(a, "%s/%s.launch", dir, name + 6) : NULL;
        if (path && is_file(path)) return path;
    }
    not_found(a, name, e);
    return NULL;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The names in a sorted list that ends in NULL.
static const char *const *sorted(orr_arena *a, const char **names, size_t n) {
    const char **out = orr_arena_alloc(a, (n + 1) * sizeof *out);
    for (size_t k = 0; k < n; k++) out[k] = names[k];
    out[n] = NULL;
    qsort(out, n, sizeof *out, by_name);
    return out;
}

const char *const *orr_list_micro(orr_arena *a, int *n) {
    ORR_VEC(const char *) names = {0};
    const char *dir = data_dir(a, "micro");
    DIR *d = dir ? opendir(dir) : NULL;
    for (struct dirent *f; d && (f = readdir(d));) {
        size_t len = strlen(f->d_name);
        if (len > 7 && !strcmp(f->d_name + len - 7, ".launch"))
            *ORR_PUSH(&names) = orr_arena_printf(a, "micro/%.*s", (int)len - 7, f->d_name);
    }
    if (d) closedir(d);
    const char *const *out = sorted(a, names.at, names.n);
    *n = (int)names.n;
    free(names.at);
    return out;
}

const char *const *orr_list_hardware(orr_arena *a, const char *gpu, int *n) {
    ORR_VEC(const char *) names = {0};
    const char *dir = *gpu && !strchr(gpu, '/') && gpu[0] != '.' ? data_dir(a, "hardware") : NULL;
    if (dir) dir = orr_arena_printf(a, "%s/%s", dir, gpu);
    DIR *d = dir ? opendir(dir) : NULL;
    for (struct dirent *f; d && (f = readdir(d));) {
        size_t len = strlen(f->d_name);
        if (!strncmp(f->d_name, "workloads", 9) && len > 4 && !strcmp(f->d_name + len - 4, ".csv"))
            *ORR_PUSH(&names) = orr_arena_printf(a, "%s/%s", dir, f->d_name);
    }
    if (d) closedir(d);
    const char *const *out = sorted(a, names.at, names.n);
    *n = (int)names.n;
    free(names.at);
    return out;
}

// Folders that hold a script of their own name; `prefix` comes in front of their names.
static const char *const *list_folders(orr_arena *a, const char *dir, const char *prefix, int *n) {
    ORR_VEC(const char *) names = {0};
    DIR *d = dir ? opendir(dir) : NULL;
    for (struct dirent *f; d && (f = readdir(d));) {
        if (f->d_name[0] == '.') continue;
        if (is_file(orr_arena_printf(a, "%s/%s/%s.launch", dir, f->d_name, f->d_name))) {
            *ORR_PUSH(&names) = orr_arena_printf(a, "%s%s", prefix, f->d_name);
        }
    }
    if (d) closedir(d);
    const char *const *out = sorted(a, names.at, names.n);
    *n = (int)names.n;
    free(names.at);
    return out;
}

const char *const *orr_list_workloads(orr_arena *a, int *n) {
    return list_folders(a, workloads_dir(a), "", n);
}

const char *const *orr_list_hopper(orr_arena *a, int *n) {
    return list_folders(a, data_dir(a, "workloads/hopper"), "hopper/", n);
}
