// clock_gettime, gettimeofday and time of a program that runs with --clock simulated: liborrery-clock.so is
// loaded before its libraries and asks app/host_clock.c. A library of its own, because libc's names are found
// only where they have no version, and those of the library that takes CUDA's place have one.
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/time.h>
#include <time.h>

#define API __attribute__((visibility("default")))

// The function of that name: RTLD_NEXT, the one behind this library's; RTLD_DEFAULT, the first one.
static void *function(void *where, const char *name, _Atomic(void *) *known) {
    void *f = atomic_load_explicit(known, memory_order_relaxed);
    if (!f) {
        f = dlsym(where, name);
        atomic_store_explicit(known, f, memory_order_relaxed);
    }
    return f;
}

API int clock_gettime(clockid_t which, struct timespec *t) {
    static _Atomic(void *) cuda, libc;
    bool (*simulated)(int, struct timespec *);
    int (*usual)(clockid_t, struct timespec *);
    *(void **)&simulated = function(RTLD_DEFAULT, "__cudaOrreryClock", &cuda);
    if (simulated && simulated(which, t)) return 0;
    *(void **)&usual = function(RTLD_NEXT, "clock_gettime", &libc);
    return usual ? usual(which, t) : -1;
}

API int gettimeofday(struct timeval *restrict t, void *restrict zone) {
    struct timespec at;
    (void)zone; // no system has had one for long
    if (clock_gettime(CLOCK_REALTIME, &at) != 0) return -1;
    *t = (struct timeval){.tv_sec = at.tv_sec, .tv_usec = at.tv_nsec / 1000};
    return 0;
}

API time_t time(time_t *t) {
    struct timespec at;
    if (clock_gettime(CLOCK_REALTIME, &at) != 0) return -1;
    if (t) *t = at.tv_sec;
    return at.tv_sec;
}
