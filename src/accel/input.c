// The text of a trace in large pieces: from a plain file, an .xz file (decompressed as it is read) or memory.
//
// A piece is copied into one buffer with what was left of the piece before in front of it, so that a line is
// never cut, and a 0 after it, at which every number and word ends. A file is read, not mapped: a mapped file
// that somebody shortens ends the process, and its pages count as ours.
//
// On request a thread reads or decompresses the next piece while this one is parsed (struct ahead).
#include "accel/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef ORRERY_HAVE_LZMA
#include <lzma.h>
#endif

enum { PIECE = 1 << 20, PACKED = 256 << 10, SLACK = 64 };

struct lzma {
#ifdef ORRERY_HAVE_LZMA
    lzma_stream s;
    bool eof, done;
    uint8_t packed[PACKED];
#else
    int none;
#endif
};

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static void start(input *in, const char *name, size_t piece) {
    *in = (input){.name = name, .line = 1, .fd = -1, .cap = piece + INPUT_ROOM};
    in->buf = orr_calloc(1, in->cap + SLACK);
    in->at = in->end = in->buf;
}

#ifdef ORRERY_HAVE_LZMA
// xz -9 needs 65 MiB to decompress; more than this is no trace anybody wrote.
#define XZ_MEMORY (512ull << 20)

// The check sum over the text is left out: where liblzma has no fast CRC-64 it costs four times what
// decompressing does. A damaged file still does not pass: its blocks differ from what the index says.
static bool xz_start(input *in, orr_err *e) {
    in->xz = orr_calloc(1, sizeof *in->xz);
    if (lzma_stream_decoder(&in->xz->s, XZ_MEMORY, LZMA_CONCATENATED | LZMA_IGNORE_CHECK) != LZMA_OK)
        return orr_fail(e, ORR_BAD_INPUT, "%s: cannot decompress: liblzma does not start", in->name);
    return true;
}

static ssize_t xz_read(input *in, char *to, size_t n, orr_err *e) {
    struct lzma *x = in->xz;
    x->s.next_out = (uint8_t *)to;
    x->s.avail_out = n;
    while (x->s.avail_out && !x->done) {
        if (!x->s.avail_in && !x->eof) {
            ssize_t got = read(in->fd, x->packed, sizeof x->packed);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) {
                orr_fail(e, ORR_BAD_INPUT, "%s: cannot read: %s", in->name, strerror(errno));
                return -1;
            }
            x->eof = got == 0;
            x->s.next_in = x->packed;
            x->s.avail_in = (size_t)got;
        }
        lzma_ret r = lzma_code(&x->s, x->eof ? LZMA_FINISH : LZMA_RUN);
        if (r == LZMA_STREAM_END) {
            x->done = true;
        } else if (r != LZMA_OK) {
            const char *why = r == LZMA_BUF_ERROR        ? "the file is cut off"
                              : r == LZMA_FORMAT_ERROR   ? "this is not an .xz file"
                              : r == LZMA_MEMLIMIT_ERROR ? "it needs more than 512 MiB to decompress"
                                                         : "the file is damaged";
            orr_fail(e, ORR_BAD_INPUT, "%s:%llu: cannot decompress: %s", in->name,
                     (unsigned long long)in->line, why);
            return -1;
        }
    }
    return (ssize_t)(n - x->s.avail_out);
}

static void xz_end(input *in) {
    if (in->xz) lzma_end(&in->xz->s);
    free(in->xz);
}
#else
static bool xz_start(input *in, orr_err *e) {
    return orr_fail(
        e, ORR_BAD_INPUT,
        "%s: this build has no liblzma and cannot read .xz (Debian: liblzma-dev); decompress it with "
        "`xz -d` and name the plain file",
        in->name);
}
static ssize_t xz_read(input *in, char *to, size_t n, orr_err *e) {
    (void)in, (void)to, (void)n, (void)e;
    return -1;
}
static void xz_end(input *in) { (void)in; }
#endif

bool input_open(input *in, const char *path, orr_err *e) {
    start(in, path, PIECE);
    in->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0) {
        orr_fail(e, ORR_BAD_INPUT, "%s: cannot open: %s", path, strerror(errno));
    } else if (!ends_with(path, ".xz") || xz_start(in, e)) {
        return true;
    }
    input_close(in);
    return false;
}

void input_text(input *in, const char *text, size_t n, const char *name) {
    start(in, name, n < PIECE ? n : PIECE);
    in->text = text;
    in->left = n;
}

static void ahead_end(input *in);

void input_close(input *in) {
    ahead_end(in);
    xz_end(in);
    if (in->fd >= 0) close(in->fd);
    free(in->buf);
    *in = (input){.fd = -1};
}

static ssize_t get(input *in, char *to, size_t n, orr_err *e) {
    if (in->xz) return xz_read(in, to, n, e);
    if (in->fd < 0) {
        if (n > in->left) n = in->left;
        memcpy(to, in->text, n);
        in->text += n;
        in->left -= n;
        return (ssize_t)n;
    }
    for (;;) {
        ssize_t got = read(in->fd, to, n);
        if (got >= 0) return got;
        if (errno == EINTR) continue;
        orr_fail(e, ORR_BAD_INPUT, "%s: cannot read: %s", in->name, strerror(errno));
        return -1;
    }
}

static bool fill(input *in, size_t n, orr_err *e) { // the buffer, behind n bytes
    while (n < in->cap && !in->last) {
        ssize_t got = get(in, in->buf + n, in->cap - n, e);
        if (got < 0) return false;
        in->last = got == 0;
        n += (size_t)got;
    }
    in->end = in->buf + n;
    memset(in->buf + n, 0, SLACK);
    return true;
}

// ---- ahead ------------------------------------------------------------------------------------
// The thread fills a buffer of its own, leaving INPUT_ROOM in front for what is left of the piece before.
// When it is asked for, the two buffers change places.
struct ahead {
    input next; // the same file; `end` is the next piece's
    bool full, stop;
    orr_err err;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static void *ahead_main(void *arg) {
    struct ahead *a = arg;
    pthread_mutex_lock(&a->lock);
    while (!a->stop) {
        if (a->full) {
            pthread_cond_wait(&a->changed, &a->lock);
            continue;
        }
        pthread_mutex_unlock(&a->lock);
        fill(&a->next, INPUT_ROOM, &a->err);
        pthread_mutex_lock(&a->lock);
        a->full = true;
        pthread_cond_signal(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static void ahead_start(input *in) {
    struct ahead *a = orr_calloc(1, sizeof *a);
    a->next = *in;
    a->next.buf = orr_calloc(1, in->cap + SLACK);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    in->ahead = a;
    if (pthread_create(&a->thread, NULL, ahead_main, a) == 0) return;
    a->stop = true; // nobody to join
    ahead_end(in);
}

static void ahead_end(input *in) {
    struct ahead *a = in->ahead;
    if (!a) return;
    if (!a->stop) {
        pthread_mutex_lock(&a->lock);
        a->stop = true;
        pthread_cond_signal(&a->changed);
        pthread_mutex_unlock(&a->lock);
        pthread_join(a->thread, NULL);
    }
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a->next.buf);
    free(a);
    in->ahead = NULL;
}

static bool ahead_more(input *in, orr_err *e) {
    struct ahead *a = in->ahead;
    size_t left = (size_t)(in->end - in->at);
    if (left > INPUT_ROOM) return true; // a line longer than any: nobody will find its end
    pthread_mutex_lock(&a->lock);
    while (!a->full) pthread_cond_wait(&a->changed, &a->lock);
    bool ok = !a->err.status;
    if (ok) {
        char *was = in->buf;
        in->buf = a->next.buf;
        in->end = a->next.end;
        in->last = a->next.last;
        memcpy(in->buf + INPUT_ROOM - left, in->at, left);
        in->at = in->buf + INPUT_ROOM - left;
        a->next.buf = was;
        a->next.line = in->line;
        a->full = in->last; // nothing comes after the last
        pthread_cond_signal(&a->changed);
    } else {
        orr_fail(e, a->err.status, "%s", a->err.text);
    }
    pthread_mutex_unlock(&a->lock);
    return ok;
}

bool input_more(input *in, orr_err *e) {
    in->moves++;
    bool first = in->end == in->buf;
    if (in->threads > 1 && !first && !in->last && !in->ahead) ahead_start(in);
    if (in->ahead && !in->last) return ahead_more(in, e);
    size_t n = (size_t)(in->end - in->at);
    memmove(in->buf, in->at, n);
    in->at = in->buf;
    return fill(in, n, e);
}

int input_line(input *in, const char **text, size_t *n, orr_err *e) {
    for (;;) {
        const char *end = in->at < in->end ? memchr(in->at, '\n', (size_t)(in->end - in->at)) : NULL;
        if (!end && !in->last) {
            if (!input_more(in, e)) return -1;
            end = in->at < in->end ? memchr(in->at, '\n', (size_t)(in->end - in->at)) : NULL;
            if (!end && !in->last) {
                orr_fail(e, ORR_BAD_INPUT, "%s:%llu: a line of more than %zu bytes; this is no trace",
                         in->name, (unsigned long long)in->line, in->cap);
                return -1;
            }
        }
        if (!end && in->at == in->end) return 0;
        const char *from = in->at, *to = end ? end : in->end;
        in->at = end ? end + 1 : in->end;
        while (from < to && is_blank(*from)) from++;
        while (to > from && is_blank(to[-1])) to--;
        in->line++; // of the line after; messages about this one take one off
        if (from == to) continue;
        *text = from;
        *n = (size_t)(to - from);
        return 1;
    }
}
