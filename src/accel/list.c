// kernelslist.g: copies and kernels in the order the host made them, one a line; or one trace by itself.
#include "accel/reader.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct orr_accel_file {
    input list; // when it is a list
    bool single, done;
    char *path; // of the list or of the only trace
    char *name; // of the trace that is open
    reader *reader;
    code *codes; // kernels of all traces: results refer to them
    memo *memo;
    orr_map warned;
    orr_notes notes;
    uint32_t launches;
    int threads;
    bool noted; // a line that is no command has been mentioned
};

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static bool is_trace(const char *p) { return ends_with(p, ".traceg") || ends_with(p, ".traceg.xz"); }
static bool is_raw(const char *p) { return ends_with(p, ".trace") || ends_with(p, ".trace.xz"); }

// A line of a list: a copy, or a kernel's trace.
static bool is_command(const char *s, size_t n) {
    if (n > 6 && memcmp(s, "Memcpy", 6) == 0) return memchr(s, ',', n) != NULL;
    if (n <= 6 || memcmp(s, "kernel", 6) != 0 || memchr(s, ' ', n)) return false;
    char name[300];
    snprintf(name, sizeof name, "%.*s", n < 299 ? (int)n : 299, s);
    return is_trace(name) || is_raw(name);
}

// By its name, or by its content, whatever it is called: the first line that is neither blank nor a comment.
bool orr_accel_probe(const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0) return false;
    if (is_trace(path) || is_raw(path) || strncmp(base, "kernelslist", 11) == 0) return true;
    text[got] = 0;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\r\n");
        if (n && *p != '#') return strncmp(p, "-kernel name", 12) == 0 || is_command(p, n);
        p += n + strspn(p + n, "\r\n");
    }
    return false;
}

static bool refuse_raw(const char *name, orr_err *e) {
    return orr_fail(e, ORR_BAD_INPUT,
                    "%s: a raw trace, with all warps mixed; group it first with Accel-Sim's "
                    "post-traces-processing, which "
                    "makes kernelslist.g and .traceg files",
                    name);
}

orr_accel_file *orr_accel_open(const char *path, orr_err *e) {
    if (is_raw(path)) {
        refuse_raw(path, e);
        return NULL;
    }
    orr_accel_file *f = orr_calloc(1, sizeof *f);
    f->memo = memo_new();
    f->path = strdup(path);
    f->list.fd = -1;
    char first[2] = "";
    FILE *look = fopen(path, "rb");
    if (look && fread(first, 1, 1, look) != 1) first[0] = 0;
    if (look) fclose(look);
    f->single = is_trace(path) || first[0] == '-';
    if (f->single || input_open(&f->list, f->path, e)) return f;
    orr_accel_close(f);
    return NULL;
}

void orr_accel_notes(orr_accel_file *f, orr_notes to) { f->notes = to; }
void orr_accel_threads(orr_accel_file *f, int threads) { f->threads = threads; }

void orr_accel_close(orr_accel_file *f) {
    if (!f) return;
    reader_close(f->reader);
    input_close(&f->list);
    while (f->codes) {
        code *c = f->codes;
        f->codes = c->next;
        code_free(c);
    }
    memo_free(f->memo);
    orr_map_free(&f->warned);
    free(f->path);
    free(f->name);
    free(f);
}

static bool open_kernel(orr_accel_file *f, orr_accel_item *item, orr_err *e) {
    input in;
    if (!input_open(&in, f->name, e)) return false;
    in.threads = f->threads;
    f->reader = reader_open(&in, &f->codes, f->memo, f->notes, &f->warned, e);
    if (!f->reader) return false;
    f->reader->source.info.index = f->launches++;
    const trace_head *h = &f->reader->head;
    *item = (orr_accel_item){.kind = ORR_ACCEL_KERNEL,
                             .source = &f->reader->source,
                             .file = f->name,
                             .id = h->id,
                             .binary = h->binary,
                             .version = h->version,
                             .stream = h->stream,
                             .lineinfo = h->lineinfo};
    return true;
}

// A name in the list is relative to the list.
static void name_beside(orr_accel_file *f, const char *s, size_t n) {
    const char *slash = strrchr(f->path, '/');
    orr_text t = {0};
    orr_text_addn(&t, f->path, s[0] == '/' || !slash ? 0 : (size_t)(slash - f->path) + 1);
    orr_text_addn(&t, s, n);
    free(f->name);
    f->name = t.s;
}

static bool copy_line(orr_accel_file *f, const char *s, size_t n, orr_accel_item *item, orr_err *e) {
    char text[80], *end;
    if (n < sizeof text) {
        memcpy(text, s, n);
        text[n] = 0;
        const char *addr = strchr(text, ',') + 1;
        uint64_t a = strtoull(addr, &end, 16);
        if (end != addr && *end == ',' && end[1] >= '0' && end[1] <= '9') {
            const char *bytes = end + 1;
            uint64_t b = strtoull(bytes, &end, 10);
            if (*end == 0 && b <= 1ull << 48 && a + b >= a) {
                *item = (orr_accel_item){.kind = ORR_ACCEL_COPY, .addr = a, .bytes = b};
                return true;
            }
        }
    }
    return orr_fail(e, ORR_BAD_INPUT, "%s:%llu: expected MemcpyHtoD,0xADDRESS,BYTES, found \"%.*s\"", f->path,
                    (unsigned long long)f->list.line - 1, n > 60 ? 60 : (int)n, s);
}

bool orr_accel_next(orr_accel_file *f, orr_accel_item *item, orr_err *e) {
    *item = (orr_accel_item){.kind = ORR_ACCEL_END};
    reader_close(f->reader);
    f->reader = NULL;
    if (f->single) {
        if (f->done) return true;
        f->done = true;
        f->name = strdup(f->path);
        return open_kernel(f, item, e);
    }
    for (;;) {
        const char *s;
        size_t n;
        int got = input_line(&f->list, &s, &n, e);
        if (got <= 0) return got == 0;
        if (n > 11 && memcmp(s, "MemcpyHtoD,", 11) == 0) return copy_line(f, s, n, item, e);
        if (n >= 6 && memcmp(s, "kernel", 6) == 0) {
            if (memchr(s, 0, n)) return orr_fail(e, ORR_BAD_INPUT, "%s: this is no list of kernels", f->path);
            name_beside(f, s, n);
            if (is_raw(f->name)) return refuse_raw(f->name, e);
            return open_kernel(f, item, e);
        }
        if (!f->noted)
            orr_note(&f->notes, "%s:%llu: lines that are neither MemcpyHtoD nor a kernel are left out",
                     f->path, (unsigned long long)f->list.line - 1);
        f->noted = true;
    }
}
