// getopt for ranks that are all in one process: how far a rank has read its arguments is its own.
//
// The C library has one place for that (optind), so the first rank would leave nothing for the others. SMPI
// mends it for what smpicc compiles; what nvcc has compiled calls these.
#include "app/app.h"

#include <dlfcn.h>
#include <getopt.h>

// The C library's function; what a rank before has read is put aside.
static void *original(const char *name) {
    static ORR_VEC(int) read; // by rank: its optind, 0 before its first call
    static int last = -1;
    int rank = app_rank_now();
    if (rank >= 0 && rank != last) {
        while (read.n <= (size_t)rank || (last >= 0 && read.n <= (size_t)last)) *ORR_PUSH(&read) = 0;
        if (last >= 0) read.at[last] = optind;
        optind = read.at[rank];
        last = rank;
    }
    void *library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    return library ? dlsym(library, name) : NULL;
}

// Under the version that programs ask the C library for.
#ifdef __aarch64__
#define VERSION "GLIBC_2.17"
#else
#define VERSION "GLIBC_2.2.5"
#endif
#define STANDS_FOR(name) __asm__(".symver orr_" #name ", " #name "@@" VERSION)

STANDS_FOR(getopt);
API int orr_getopt(int argc, char *const *argv, const char *letters);
API int orr_getopt(int argc, char *const *argv, const char *letters) {
    int (*f)(int, char *const *, const char *);
    *(void **)&f = original("getopt");
    return f ? f(argc, argv, letters) : -1;
}

STANDS_FOR(getopt_long);
API int orr_getopt_long(int argc, char *const *argv, const char *letters, const struct option *words,
                        int *which);
API int orr_getopt_long(int argc, char *const *argv, const char *letters, const struct option *words,
                        int *which) {
    int (*f)(int, char *const *, const char *, const struct option *, int *);
    *(void **)&f = original("getopt_long");
    return f ? f(argc, argv, letters, words, which) : -1;
}
