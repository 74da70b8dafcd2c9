// The host: time, memory, processors, threads; and those who are told of a job's progress and of notes.
#include "base/base.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int orr_clock(int which, struct timespec *t) { return (int)syscall(SYS_clock_gettime, which, t); }

double orr_seconds(void) {
    struct timespec t;
    orr_clock(CLOCK_MONOTONIC, &t);
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
struct orr_ticker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stop;
    bool stopped;
};

static void tell(orr_progress *p, bool ended) {
    orr_status s = {.what = p->what,
                    .units = p->units,
                    .done = p->done,
                    .total = p->total,
                    .part_units = p->several ? "" : p->part_units,
                    .part = p->part,
                    .parts = p->parts,
                    .seconds = orr_seconds() - p->start,
                    .ended = ended,
                    .begun = p->begun};
    if (!p->watcher.tell(p->watcher.arg, &s)) p->stopped = true;
}

static void *tick(void *arg) {
    orr_progress *p = arg;
    struct orr_ticker *k = p->ticker;
    struct timespec next;
    orr_clock(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&k->lock);
    while (!k->stopped) {
        next.tv_nsec += 200000000;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        while (!k->stopped && pthread_cond_timedwait(&k->stop, &k->lock, &next) == 0) {}
        if (!k->stopped) tell(p, false);
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

void orr_progress_start(orr_progress *p, orr_watcher to, const char *what, const char *units,
                        const char *part_units, uint64_t total) {
    *p =
        (orr_progress){.what = what, .units = units, .part_units = part_units, .total = total, .watcher = to};
    p->start = orr_seconds();
    if (!to.tell) return;
    tell(p, false);
    struct orr_ticker *k = p->ticker = orr_calloc(1, sizeof *k);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->stop, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&k->thread, NULL, tick, p) == 0) return;
    pthread_mutex_destroy(&k->lock); // the system gives no thread: the watcher hears of the end only
    pthread_cond_destroy(&k->stop);
    free(k);
    p->ticker = NULL;
}

void orr_progress_step(orr_progress *p, uint64_t done) {
    p->done = done;
    if (!p->several) p->parts = 0;
}

void orr_progress_parts(orr_progress *p, uint64_t parts) {
    p->before += (double)p->part;
    p->several = false;
    p->part = 0;
    p->begun = 0;
    p->parts = parts;
}

// The whole job hears what is new since it was told last.
static void tell_all(orr_progress *p) {
    if (!p->all) return;
    double now = p->before + (double)p->part + p->begun, more = now - p->told, was = p->all->begun;
    while (!atomic_compare_exchange_weak(&p->all->begun, &was, was + more)) {}
    p->told = now;
}

void orr_progress_begun(orr_progress *p, double parts) {
    p->begun = parts;
    tell_all(p);
}

void orr_progress_part(orr_progress *p, uint64_t more) {
    atomic_fetch_add_explicit(&p->part, more, memory_order_relaxed);
    double begun = p->begun; // they were among those, if it is said at all: then one thread says both
    if (begun > 0) p->begun = begun > (double)more ? begun - (double)more : 0;
    tell_all(p);
}

void orr_progress_beside(orr_progress *p, orr_progress *all) {
    *p = (orr_progress){.what = all ? all->what : "", .all = all};
    if (all) all->several = true;
}

void orr_progress_beside_end(orr_progress *p) {
    p->before = -(double)p->part;
    p->begun = 0;
    tell_all(p);
    p->all = NULL;
}

void orr_progress_end(orr_progress *p) {
    struct orr_ticker *k = p->ticker;
    if (k) {
        pthread_mutex_lock(&k->lock);
        k->stopped = true;
        pthread_cond_signal(&k->stop);
        pthread_mutex_unlock(&k->lock);
        pthread_join(k->thread, NULL);
        pthread_mutex_destroy(&k->lock);
        pthread_cond_destroy(&k->stop);
        free(k);
        p->ticker = NULL;
    }
    if (p->watcher.tell) tell(p, true);
    p->watcher = (orr_watcher){0};
}

bool orr_progress_go(const orr_progress *p, orr_err *e) {
    if (!p || !(p->stopped || (p->all && p->all->stopped))) return true;
    return orr_fail(e, ORR_STOPPED, "%s: stopped", p->what);
}

// ---- the line on a terminal -------------------------------------------------------------------
static void add_count(orr_text *t, const char *unit, uint64_t done, uint64_t total, double begun) {
    char a[32];
    orr_text_add(t, "%s %s", unit, orr_commas(a, done));
    if (!total) return;
    orr_text_add(t, " of %s (%.0f%%)", orr_commas(a, total), 100.0 * ((double)done + begun) / (double)total);
}

// What is left at the pace so far: of the whole job where its length is known, else of the launch, point or
// script that is being done. There is one terminal, so that when this one began is kept here.
static void add_rest(orr_text *t, const orr_status *s) {
    static uint64_t current;
    static double began;
    if (s->done != current || s->seconds < began) {
        current = s->done;
        began = s->done ? s->seconds : 0;
    }
    double part = s->parts ? ((double)s->part + s->begun) / (double)s->parts : 0;
    double share = s->total ? ((double)s->done + part) / (double)s->total : part;
    double spent = s->total ? s->seconds : s->seconds - began;
    if (share < 0.002 || share > 1) return;
    double rest = spent / share * (1 - share);
    const char *unit = rest < 100 ? "s" : rest < 6000 ? "min" : "h";
    double scale = rest < 100 ? 1 : rest < 6000 ? 60 : 3600;
    orr_text_add(t, ", about %.0f %s more%s", rest / scale, unit, s->total ? "" : " for this one");
}

bool orr_progress_line(void *arg, const orr_status *s) {
    bool *shown = arg;
    if (s->ended) {
        if (*shown) fputs("\r\033[K", stderr);
        *shown = false;
        return true;
    }
    if (s->seconds < 2 || !isatty(STDERR_FILENO)) return true;
    orr_text t = {0};
    orr_text_add(&t, "\r%s: ", s->what);
    bool several = s->parts && !*s->part_units; // at once: their share is part of the whole's
    add_count(&t, s->units, s->done, s->total, several ? s->begun / (double)s->parts : 0);
    if (s->parts && *s->part_units) {
        orr_text_add(&t, ", ");
        add_count(&t, s->part_units, s->part, s->parts, s->begun);
    }
    orr_text_add(&t, ", %.0f s", s->seconds);
    add_rest(&t, s);
    orr_text_add(&t, "\033[K");
    fputs(t.s, stderr);
    fflush(stderr);
    free(t.s);
    *shown = true;
    return true;
}

// ---- notes ------------------------------------------------------------------------------------
void orr_note(const orr_notes *n, const char *fmt, ...) {
    if (!n || !n->say) return;
    orr_err line = {0}; // control characters come from hostile files
    va_list ap;
    va_start(ap, fmt);
    orr_vfail(&line, ORR_BAD_INPUT, fmt, ap);
    va_end(ap);
    n->say(n->arg, line.text);
}
