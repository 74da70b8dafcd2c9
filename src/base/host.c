// The machine we run on: time, memory, processors, threads, and a progress line on its terminal.
#include "base/base.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
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
// last is negative when stderr is not a terminal, 0 until the first line.
void orr_progress_start(orr_progress *p, const char *what, uint64_t total) {
    *p = (orr_progress){.what = what, .start = orr_seconds(), .total = total};
    if (!isatty(STDERR_FILENO)) p->last = -1;
}

void orr_progress_step(orr_progress *p, uint64_t done) {
    if (p->last < 0) return;
    double now = orr_seconds();
    if (now - p->start < 2 || now - p->last < 0.2) return;
    p->last = now;
    char a[32], b[32];
    if (p->total)
        fprintf(stderr, "\r%s: %s of %s (%.0f%%)\033[K", p->what, orr_commas(a, done),
                orr_commas(b, p->total), 100.0 * (double)done / (double)p->total);
    else
        fprintf(stderr, "\r%s: %s\033[K", p->what, orr_commas(a, done));
    fflush(stderr);
}

void orr_progress_end(orr_progress *p) {
    if (p->last > 0) fputs("\r\033[K", stderr);
    p->last = -1;
}
