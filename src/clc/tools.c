// The programs that OpenCL C is compiled by: found, run, and cleaned up after.
//
// clang is $ORRERY_CLANG, or the newest of clang-16 and its neighbours; libclc is $ORRERY_LIBCLC, or where
// Debian puts it. A newer clang reads an older library's bitcode, not the other way round, so the newest
// comes first; LLVM 16 is the oldest with which the device library's image functions can be written
// (pointers without a type).
#include "clc/tools.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// ---- finding ----------------------------------------------------------------------------------------
static const char *in_path(orr_arena *a, const char *name) {
    const char *path = getenv("PATH");
    if (strchr(name, '/')) return access(name, X_OK) == 0 ? name : NULL;
    for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        const char *full = orr_arena_printf(a, "%.*s/%s", (int)n, p, name);
        if (n && access(full, X_OK) == 0) return full;
        p += n + (p[n] == ':');
    }
    return NULL;
}

bool clc_find_tools(orr_arena *a, clc_tools *t, orr_err *e) {
    *t = (clc_tools){0};
    const char *own = getenv("ORRERY_CLANG"), *lib = getenv("ORRERY_LIBCLC");
    if (own && *own) {
        t->clang = in_path(a, own);
        if (!t->clang)
            return orr_fail(e, ORR_BAD_INPUT, "ORRERY_CLANG is \"%.200s\", which cannot be run", own);
    }
    for (int version = 19; !t->clang && version >= 16; version--)
        t->clang = in_path(a, orr_arena_printf(a, "clang-%d", version));
    if (!t->clang)
        return orr_fail(e, ORR_BAD_INPUT,
                        "OpenCL C is compiled by clang 16 or later, and none is here (Debian: clang-16 "
                        "libclc-16); install it, or name it in ORRERY_CLANG");
    static const char *const places[] = {
        "/usr/lib/clc/nvptx64--nvidiacl.bc", "/usr/share/clc/nvptx64--nvidiacl.bc",
        "/usr/local/share/clc/nvptx64--nvidiacl.bc", "/usr/lib64/clc/nvptx64--nvidiacl.bc"};
    if (lib && *lib) t->libclc = lib;
    for (size_t i = 0; i < sizeof places / sizeof *places && !t->libclc; i++)
        if (access(places[i], R_OK) == 0) t->libclc = places[i];
    if (!t->libclc || access(t->libclc, R_OK) != 0)
        return orr_fail(e, ORR_BAD_INPUT,
                        "libclc's nvptx64--nvidiacl.bc is not there, which has OpenCL C's functions (Debian: "
                        "libclc-16); install it, or name it in ORRERY_LIBCLC");
    return true;
}

// Bitcode of an older LLVM can be read, of a newer one not; clang is 16 at least.
const char *clc_find_spirv(orr_arena *a) {
    const char *own = getenv("ORRERY_LLVM_SPIRV"), *found = NULL;
    if (own && *own) return in_path(a, own);
    for (int version = 16; !found && version >= 14; version--)
        found = in_path(a, orr_arena_printf(a, "llvm-spirv-%d", version));
    return found ? found : in_path(a, "llvm-spirv");
}

// ---- running ----------------------------------------------------------------------------------------
int clc_run(const char *const *words, orr_text *log, orr_err *e) {
    enum { MOST = 1 << 20 }; // of a compiler's messages
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0) {
        orr_fail(e, ORR_BAD_INPUT, "%s: %s", words[0], strerror(errno));
        return -1;
    }
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, pipes[1], 1);
    posix_spawn_file_actions_adddup2(&files, pipes[1], 2);
    pid_t child = 0;
    int error = posix_spawnp(&child, words[0], &files, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&files);
    close(pipes[1]);
    char buf[4096];
    ssize_t n;
    while (!error && ((n = read(pipes[0], buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0 && log->n < MOST) orr_text_addn(log, buf, (size_t)n);
    close(pipes[0]);
    int status = 0;
    while (!error && waitpid(child, &status, 0) < 0)
        if (errno != EINTR) error = errno;
    if (error) {
        orr_fail(e, ORR_BAD_INPUT, "%s: %s", words[0], strerror(error));
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// ---- files ------------------------------------------------------------------------------------------
const char *clc_begin_work(orr_arena *a, orr_err *e) {
    const char *tmp = getenv("TMPDIR");
    char *folder = orr_arena_printf(a, "%s/orrery-cl-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (mkdtemp(folder)) return folder;
    orr_fail(e, ORR_BAD_INPUT, "%s: %s; name a folder that can be written to in TMPDIR", folder,
             strerror(errno));
    return NULL;
}

static void remove_below(int at, const char *name, int depth) {
    if (unlinkat(at, name, 0) == 0) return;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    DIR *d = fd >= 0 && depth < 40 ? fdopendir(fd) : NULL;
    for (struct dirent *x; d && (x = readdir(d));)
        if (strcmp(x->d_name, ".") != 0 && strcmp(x->d_name, "..") != 0)
            remove_below(fd, x->d_name, depth + 1);
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    unlinkat(at, name, AT_REMOVEDIR);
}

void clc_end_work(const char *folder) {
    if (folder) remove_below(AT_FDCWD, folder, 0);
}

bool clc_write(const char *path, const void *data, size_t n, orr_err *e) {
    FILE *f = fopen(path, "wbe");
    bool ok = f && fwrite(data, 1, n, f) == n;
    if (f && fclose(f) != 0) ok = false;
    return ok || orr_fail(e, ORR_BAD_INPUT, "%s: %s", path, strerror(errno));
}

// ---- the command line -------------------------------------------------------------------------------
// What the device offers, beside what clang's target has by itself.
#define FEATURES                                                                                             \
    "-cl-ext=+cl_khr_fp64,+cl_khr_byte_addressable_store,+cl_khr_3d_image_writes,+cl_khr_int64_base_"        \
    "atomics,"                                                                                               \
    "+cl_khr_int64_extended_atomics,+cl_khr_subgroups,+__opencl_c_fp64,+__opencl_c_int64,+__opencl_c_"       \
    "images,"                                                                                                \
    "+__opencl_c_3d_image_writes,+__opencl_c_read_write_images,+__opencl_c_generic_address_space,"           \
    "+__opencl_c_program_scope_global_variables,"                                                            \
    "+__opencl_c_subgroups,+__opencl_c_atomic_order_acq_rel,"                                                \
    "+__opencl_c_atomic_order_seq_cst,+__opencl_c_atomic_scope_device,+__opencl_c_atomic_scope_all_devices"

// The nearest architecture below that clang 16 knows.
static unsigned known_sm(unsigned sm) {
    static const unsigned known[] = {20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 90};
    unsigned best = 20;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] <= (sm ? sm : 90)) best = known[i];
    return best;
}

void clc_common(orr_arena *a, clc_words *w, const clc_tools *t, unsigned sm) {
    sm = known_sm(sm);
    const char *words[] = {t->clang,
                           "-x",
                           "cl",
                           "-target",
                           "nvptx64-nvidia-nvcl",
                           orr_arena_printf(a, "-march=sm_%u", sm),
                           "-O3",
                           "-Xclang",
                           orr_arena_printf(a, FEATURES "%s", sm >= 53 ? ",+cl_khr_fp16" : ""),
                           "-fgnu89-inline", // programs mean "static" when they write "inline"
                           "-fno-color-diagnostics",
                           "-Wno-linker-warnings"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) *ORR_PUSH(w) = words[i];
}

// ---- the device library -----------------------------------------------------------------------------
// Half a second to compile, so it is kept in the user's cache, under a name that says what it was made of.
static const char *cache_folder(orr_arena *a) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *base = cache && *cache == '/' ? cache : NULL;
    if (!base && home && *home == '/') base = orr_arena_printf(a, "%s/.cache", home);
    if (!base) return NULL;
    mkdir(base, 0777);
    const char *own = orr_arena_printf(a, "%s/orrery", base);
    mkdir(own, 0777);
    return access(own, W_OK) == 0 ? own : NULL;
}

static uint64_t key_of(const clc_tools *t) {
    struct stat s = {0};
    uint64_t h = orr_hash64(clc_device, strlen((const char *)clc_device), 1);
    h = orr_hash64(clc_prelude, strlen((const char *)clc_prelude), h);
    h = orr_hash64(t->clang, strlen(t->clang), h);
    h = orr_hash64(FEATURES, sizeof FEATURES, h);
    if (stat(t->clang, &s) == 0) {
        int64_t about[2] = {s.st_size, s.st_mtime};
        h = orr_hash64(about, sizeof about, h);
    }
    return h;
}

const char *clc_device_library(orr_arena *a, const clc_tools *t, const char *work, orr_err *e) {
    const char *cache = cache_folder(a);
    const char *kept =
        orr_arena_printf(a, "%s/clc-%016llx.bc", cache ? cache : work, (unsigned long long)key_of(t));
    if (access(kept, R_OK) == 0) return kept;
    const char *prelude = orr_arena_printf(a, "%s/prelude.h", work);
    const char *source = orr_arena_printf(a, "%s/device.cl", work),
               *out = orr_arena_printf(a, "%s.%d", kept, getpid());
    if (!clc_write(prelude, clc_prelude, strlen((const char *)clc_prelude), e)) return NULL;
    if (!clc_write(source, clc_device, strlen((const char *)clc_device), e)) return NULL;
    clc_words w = {0};
    clc_common(a, &w, t, 70); // votes and shuffles are with a mask from here on
    const char *const more[] = {"-cl-std=CL3.0", "-w", "-include", prelude, "-emit-llvm", "-c",
                                source,          "-o", out,        NULL};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) *ORR_PUSH(&w) = more[i];
    orr_text log = {0};
    int status = clc_run(w.at, &log, e);
    free(w.at);
    if (!status && rename(out, kept) != 0) status = -1;
    if (status) {
        unlink(out);
        orr_fail(e, ORR_BAD_INPUT, "%s cannot compile the device library: %.300s", t->clang,
                 log.s ? log.s : "it failed");
    }
    free(log.s);
    return status ? NULL : kept;
}
