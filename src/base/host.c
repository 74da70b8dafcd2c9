// The machine we run on: time, memory, processors, threads, and a progress line on its terminal.
#include "base/base.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

double orr_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

uint64_t orr_peak_rss(void) {
    struct rusage r;
    return getrusage(RUSAGE_SELF, &r) == 0 ? (uint64_t)r.ru_maxrss * 1024 : 0;
}

uint64_t orr_host_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
    FILE *f = fopen("/sys/fs/cgroup/memory.max", "r"); // a number, or "max"
    unsigned long long limit;
    if (f && fscanf(f, "%llu", &limit) == 1 && limit < bytes) bytes = limit;
    if (f) fclose(f);
    return bytes;
}

int orr_host_threads(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN); // more than CPU_SETSIZE processors
    return n > 0 && n < 65536 ? (int)n : 1;
}

// ---- threads --------------------------------------------------------------------------------
typedef struct job {
    void (*fn)(void *arg, int worker);
    void *arg;
    int worker;
    bool started;
    pthread_t thread;
} job;

static void *start(void *arg) {
    job *j = arg;
    j->fn(j->arg, j->worker);
    return NULL;
}

void orr_parallel(int n, void (*fn)(void *arg, int worker), void *arg) {
    if (n <= 1) {
        fn(arg, 0);
        return;
    }
    job *jobs = orr_calloc((size_t)n, sizeof *jobs);
    for (int i = 1; i < n; i++) {
        jobs[i] = (job){.fn = fn, .arg = arg, .worker = i};
        jobs[i].started = pthread_create(&jobs[i].thread, NULL, start, &jobs[i]) == 0;
    }
    fn(arg, 0);
    for (int i = 1; i < n; i++) {
        if (jobs[i].started)
            pthread_join(jobs[i].thread, NULL);
        else
            fn(arg, i); // the system would not give us the thread: its share is done here
    }
    free(jobs);
}

// ---- progress -------------------------------------------------------------------------------
// The line is written by a thread that wakes up now and then, first after two seconds: those who work only
// store numbers, and a launch that takes minutes shows that it is alive.
struct orr_ticker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stop;
    bool stopped, shown;
};

static void add_count(orr_text *t, const char *unit, uint64_t done, uint64_t total) {
    char a[32];
    orr_text_add(t, "%s %s", unit, orr_commas(a, done));
    if (total) orr_text_add(t, " of %s (%.0f%%)", orr_commas(a, total), 100.0 * (double)done / (double)total);
}

static void show(orr_progress *p) {
    orr_text t = {0};
    orr_text_add(&t, "\r%s: ", p->what);
    add_count(&t, p->units, p->done, p->total);
    if (p->parts) {
        orr_text_add(&t, ", ");
        add_count(&t, p->part_units, p->part, p->parts);
    }
    orr_text_add(&t, ", %.0f s\033[K", orr_seconds() - p->start);
    fputs(t.s, stderr);
    fflush(stderr);
    free(t.s);
}

static void *tick(void *arg) {
    orr_progress *p = arg;
    struct orr_ticker *k = p->ticker;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    next.tv_sec += 2;
    pthread_mutex_lock(&k->lock);
    while (!k->stopped) {
        if (pthread_cond_timedwait(&k->stop, &k->lock, &next) == 0 || k->stopped) continue;
        show(p);
        k->shown = true;
        next.tv_nsec += 200000000;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

void orr_progress_start(orr_progress *p, const char *what, const char *units, const char *part_units,
                        uint64_t total) {
    *p = (orr_progress){.what = what, .units = units, .part_units = part_units, .total = total};
    p->start = orr_seconds();
    if (!isatty(STDERR_FILENO)) return;
    struct orr_ticker *k = p->ticker = orr_calloc(1, sizeof *k);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->stop, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&k->thread, NULL, tick, p) == 0) return;
    free(k); // then without
    p->ticker = NULL;
}

void orr_progress_step(orr_progress *p, uint64_t done) {
    p->done = done;
    p->parts = 0;
}

void orr_progress_parts(orr_progress *p, uint64_t parts) {
    p->part = 0;
    p->parts = parts;
}

void orr_progress_part(orr_progress *p, uint64_t more) {
    atomic_fetch_add_explicit(&p->part, more, memory_order_relaxed);
}

void orr_progress_end(orr_progress *p) {
    struct orr_ticker *k = p->ticker;
    if (!k) return;
    pthread_mutex_lock(&k->lock);
    k->stopped = true;
    pthread_cond_signal(&k->stop);
    pthread_mutex_unlock(&k->lock);
    pthread_join(k->thread, NULL);
    if (k->shown) fputs("\r\033[K", stderr);
    pthread_mutex_destroy(&k->lock);
    pthread_cond_destroy(&k->stop);
    free(k);
    p->ticker = NULL;
}
