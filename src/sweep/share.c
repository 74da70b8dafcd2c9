// What the processes of a study tell each other: small files in a folder that all of them see, each made or
// rewritten by one process only. A file system that makes a file for one of several who ask at once (O_EXCL)
// is all that is needed: no server, no messages, no locks that a dead process could hold.
//
//   RUN.NAME     a process of this run has taken NAME: a point's digest, or the streams of an execution
//   DIGEST.done  the point is in some process's database, for this run and for later ones
//   K.alive      rewritten every other second while process K lives
//
// A run is what one mpirun, srun or job array started: what a killed run had taken counts for nothing in the
// next.
#include "sweep/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BEAT_SECONDS 2

typedef struct heard { // of another process
    char word[32];     // what its file said last
    double when;       // that changed
} heard;

struct orr_share {
    char *folder, *run; // run: "" when nobody said what it is called
    size_t me;
    ORR_VEC(heard) others;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stop;
    bool beats, stopped;
};

static char *path_of(const orr_share *s, const char *before, const char *name, const char *after) {
    orr_text t = {0};
    orr_text_add(&t, "%s/%s%s%s", s->folder, before, name, after);
    return t.s;
}

// 1: made; 0: it was there; -1: cannot be made.
static int make(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return errno == EEXIST ? 0 : -1;
    close(fd);
    return 1;
}

// ---- being alive ------------------------------------------------------------------------------------
static void say(const orr_share *s, uint64_t n) {
    char name[32], word[32];
    snprintf(name, sizeof name, "%zu", s->me);
    int len = snprintf(word, sizeof word, "%ld.%llu", (long)getpid(), (unsigned long long)n);
    char *path = path_of(s, "", name, ".alive");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    ssize_t got = fd >= 0 ? write(fd, word, (size_t)len) : 0; // a full disk is told where results are written
    (void)got;
    if (fd >= 0) close(fd);
    free(path);
}

static void *beat(void *arg) {
    orr_share *s = arg;
    struct timespec next;
    clock_gettime(CLOCK_REALTIME, &next);
    pthread_mutex_lock(&s->lock);
    for (uint64_t n = 1; !s->stopped; n++) {
        say(s, n);
        next.tv_sec += BEAT_SECONDS;
        while (!s->stopped && pthread_cond_timedwait(&s->stop, &s->lock, &next) == 0) {}
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

double orr_share_silence(orr_share *s, size_t k) {
    while (s->others.n <= k) *ORR_PUSH(&s->others) = (heard){.when = orr_seconds()};
    heard *h = &s->others.at[k];
    char name[32], word[32] = "";
    snprintf(name, sizeof name, "%zu", k);
    char *path = path_of(s, "", name, ".alive");
    int fd = open(path, O_RDONLY | O_CLOEXEC); // opening asks a file server; a look at the time would not
    ssize_t n = fd >= 0 ? read(fd, word, sizeof word - 1) : 0;
    if (fd >= 0) close(fd);
    free(path);
    if (n > 0 && strncmp(word, h->word, sizeof word) != 0) {
        memcpy(h->word, word, sizeof word);
        h->when = orr_seconds();
    }
    return orr_seconds() - h->when;
}

double orr_share_patience(void) {
    const char *v = getenv("ORRERY_PATIENCE");
    double seconds = v ? strtod(v, NULL) : 0;
    return seconds >= 0.1 && seconds <= 86400 ? seconds : 60;
}

// ---- taking and having done ---------------------------------------------------------------------------
bool orr_share_runs(const orr_share *s) { return *s->run; }

bool orr_share_first(const orr_share *s, const char *name) {
    char *path = path_of(s, s->run, ".", name);
    int made = make(path);
    free(path);
    return made != 0; // where nothing can be made, better twice than never
}

bool orr_share_take(const orr_share *s, uint64_t digest) {
    char name[20];
    snprintf(name, sizeof name, "%016llx", (unsigned long long)digest);
    char *done = path_of(s, "", name, ".done");
    bool there = access(done, F_OK) == 0;
    free(done);
    return !there && (!*s->run || orr_share_first(s, name));
}

void orr_share_done(const orr_share *s, uint64_t digest) {
    char name[20];
    snprintf(name, sizeof name, "%016llx", (unsigned long long)digest);
    char *done = path_of(s, "", name, ".done");
    make(done);
    free(done);
}

size_t orr_share_points(const orr_share *s) {
    size_t n = 0;
    DIR *d = opendir(s->folder);
    for (struct dirent *f; d && (f = readdir(d));) {
        size_t len = strlen(f->d_name);
        n += len > 5 && !strcmp(f->d_name + len - 5, ".done");
    }
    if (d) closedir(d);
    return n;
}

const char *orr_share_file(const orr_share *s, orr_arena *a, const char *name) {
    return orr_arena_printf(a, "%s/%s.%s", s->folder, s->run, name);
}

// ---- from beginning to end ------------------------------------------------------------------------------
static char *folder_of(const char *file) {
    orr_text t = {0};
    orr_text_add(&t, "%s.share", file);
    return t.s;
}

orr_share *orr_share_open(const char *file, const char *run, size_t me, orr_err *e) {
    orr_share *s = orr_calloc(1, sizeof *s);
    orr_text name = {0};
    orr_text_add(&name, "%.60s", run ? run : "");
    for (char *c = name.s; *c; c++)
        if (!strchr("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", *c)) *c = '_';
    s->folder = folder_of(file);
    s->run = name.s;
    s->me = me;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->stop, NULL);
    struct stat is;
    if (mkdir(s->folder, 0777) != 0 &&
        (errno != EEXIST || stat(s->folder, &is) != 0 || !S_ISDIR(is.st_mode))) {
        orr_fail(e, ORR_BAD_INPUT, "%s: the folder that processes share cannot be made: %s", s->folder,
                 strerror(errno));
        orr_share_close(s);
        return NULL;
    }
    s->beats = pthread_create(&s->thread, NULL, beat, s) == 0;
    return s;
}

void orr_share_close(orr_share *s) {
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    s->stopped = true;
    pthread_cond_signal(&s->stop);
    pthread_mutex_unlock(&s->lock);
    if (s->beats) pthread_join(s->thread, NULL);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->stop);
    free(s->others.at);
    free(s->folder);
    free(s->run);
    free(s);
}

void orr_share_remove(const char *file) {
    char *folder = folder_of(file);
    DIR *d = opendir(folder);
    for (struct dirent *f; d && (f = readdir(d));) {
        if (*f->d_name == '.') continue;
        orr_text t = {0};
        orr_text_add(&t, "%s/%s", folder, f->d_name);
        unlink(t.s);
        free(t.s);
    }
    if (d) closedir(d);
    rmdir(folder);
    free(folder);
}
