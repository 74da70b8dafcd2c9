// Host threads for jobs that last some microseconds (crew.h): between two rounds they spin for a moment
// before they sleep, because waking a thread takes longer than a short round.
//
// Each has a share of the jobs, the same in every round, so that what a job works on stays in the caches of
// one core. Who is done with its share goes on with what is left of the others'. Where there are no more jobs
// than threads each does its own, and nobody looks for more.
#include "model/cycle/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/base.h"

#define SPINS 4000 // some 100 us

// The core's other thread, and whoever writes what is waited for, go on meanwhile.
static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

typedef struct share {                  // in a cache line of its own
    _Alignas(64) _Atomic uint32_t next; // job to be taken
    uint32_t end;
} share;

struct crew {
    int n;
    int spins; // 0 when there are more threads than cores: who spins then keeps another from working
    pthread_t *threads;
    pthread_mutex_t lock;
    pthread_cond_t more, all;
    _Atomic uint32_t round; // counts up when there is work
    _Atomic int busy;       // threads that have not finished the round
    share *shares;
    void (*job)(void *arg, int worker, uint32_t i);
    void *arg;
    uint32_t few; // jobs of the round, if there are no more than threads; else 0
    bool stop;
    struct hand {
        crew *crew;
        int worker;
    } * hands;
};

static void work(crew *c, int worker) {
    if (c->few) {
        if ((uint32_t)worker < c->few) c->job(c->arg, worker, (uint32_t)worker);
        return;
    }
    for (int k = 0; k < c->n; k++) {
        share *s = &c->shares[(worker + k) % c->n];
        if (atomic_load_explicit(&s->next, memory_order_relaxed) >= s->end) continue;
        for (uint32_t i; (i = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed)) < s->end;)
            c->job(c->arg, worker, i);
    }
}

static void *hand_main(void *arg) {
    struct hand *h = arg;
    crew *c = h->crew;
    uint32_t seen = 0;
    for (;;) {
        for (int n = 0; n < c->spins && atomic_load_explicit(&c->round, memory_order_acquire) == seen; n++)
            relax();
        if (atomic_load_explicit(&c->round, memory_order_acquire) == seen) {
            pthread_mutex_lock(&c->lock);
            while (atomic_load(&c->round) == seen) pthread_cond_wait(&c->more, &c->lock);
            pthread_mutex_unlock(&c->lock);
        }
        seen++;
        if (c->stop) return NULL;
        work(c, h->worker);
        if (atomic_fetch_sub_explicit(&c->busy, 1, memory_order_acq_rel) == 1) {
            pthread_mutex_lock(&c->lock);
            pthread_cond_signal(&c->all);
            pthread_mutex_unlock(&c->lock);
        }
    }
}

static void start_round(crew *c) {
    atomic_store(&c->busy, c->n - 1);
    pthread_mutex_lock(&c->lock);
    atomic_fetch_add_explicit(&c->round, 1, memory_order_release);
    pthread_cond_broadcast(&c->more);
    pthread_mutex_unlock(&c->lock);
}

crew *cyc_crew_new(int threads) {
    crew *c = orr_calloc(1, sizeof *c);
    c->n = 1;
    c->spins = threads <= orr_host_threads() ? SPINS : 0;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->more, NULL);
    pthread_cond_init(&c->all, NULL);
    c->threads = orr_calloc((size_t)threads, sizeof *c->threads);
    c->hands = orr_calloc((size_t)threads, sizeof *c->hands);
    c->shares = orr_apart((size_t)threads, sizeof *c->shares);
    while (c->n < threads) {
        c->hands[c->n] = (struct hand){c, c->n};
        if (pthread_create(&c->threads[c->n], NULL, hand_main, &c->hands[c->n])) break; // fewer will do
        c->n++;
    }
    return c;
}

int cyc_crew_size(const crew *c) { return c->n; }

void cyc_crew_run(crew *c, uint32_t n, void (*job)(void *arg, int worker, uint32_t i), void *arg) {
    if (c->n == 1 || n < 2) {
        for (uint32_t i = 0; i < n; i++) job(arg, 0, i);
        return;
    }
    c->job = job;
    c->arg = arg;
    c->few = n <= (uint32_t)c->n ? n : 0;
    for (int k = 0; k < c->n && !c->few; k++) {
        atomic_store_explicit(&c->shares[k].next, n * (uint32_t)k / (uint32_t)c->n, memory_order_relaxed);
        c->shares[k].end = n * ((uint32_t)k + 1) / (uint32_t)c->n;
    }
    start_round(c);
    work(c, 0);
    for (int k = 0; k < c->spins && atomic_load_explicit(&c->busy, memory_order_acquire); k++) relax();
    if (atomic_load_explicit(&c->busy, memory_order_acquire)) {
        pthread_mutex_lock(&c->lock);
        while (atomic_load(&c->busy)) pthread_cond_wait(&c->all, &c->lock);
        pthread_mutex_unlock(&c->lock);
    }
}

void cyc_crew_free(crew *c) {
    if (c->n > 1) {
        c->stop = true;
        start_round(c);
    }
    for (int n = 1; n < c->n; n++) pthread_join(c->threads[n], NULL);
    pthread_cond_destroy(&c->all);
    pthread_cond_destroy(&c->more);
    pthread_mutex_destroy(&c->lock);
    free(c->threads);
    free(c->hands);
    free(c->shares);
    free(c);
}
