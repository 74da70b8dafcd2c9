// Writing a capture: as it goes, a file a launch (capture.h).
#include "capture/capture.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef ORRERY_HAVE_ZSTD
#include <zstd.h>
#endif

#define GONE 0xffffffffffffffffull // no piece has this hash: the region it was in has been freed

struct orr_capture_writer {
    char *folder;
    orr_out out;
    orr_numbers now;    // contents of each piece, by its address
    orr_numbers stored; // contents that some file has
    bool inputs_only;
    uint64_t bytes;
};

static bool is_empty(const char *folder) {
    DIR *d = opendir(folder);
    bool empty = d != NULL;
    for (struct dirent *x; d && (x = readdir(d));)
        if (strcmp(x->d_name, ".") != 0 && strcmp(x->d_name, "..") != 0) empty = false;
    if (d) closedir(d);
    return empty;
}

static bool write_whole(orr_capture_writer *w, const char *name, const void *data, size_t n, orr_err *e) {
    char path[4200];
    orr_out o;
    snprintf(path, sizeof path, "%s/%s", w->folder, name);
    if (!orr_out_open(&o, path, e)) return false;
    fwrite(data, 1, n, o.f);
    w->bytes += n;
    return orr_out_commit(&o, e);
}

bool orr_capture_about(orr_capture_writer *w, const char *about, orr_err *e) {
    orr_text text = {0};
    orr_text_add(&text, "%s%s", ORR_CAPTURE_HEADER, about);
    bool ok = write_whole(w, "capture.txt", text.s, text.n, e);
    free(text.s);
    return ok;
}

orr_capture_writer *orr_capture_create(const char *folder, const char *about, orr_err *e) {
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        orr_fail(e, ORR_BAD_INPUT, "%s: %s", folder, strerror(errno));
        return NULL;
    }
    if (!is_empty(folder)) {
        orr_fail(e, ORR_BAD_INPUT, "%s: is no empty folder; name a new one", folder);
        return NULL;
    }
    orr_capture_writer *w = orr_calloc(1, sizeof *w);
    w->folder = strdup(folder);
    if (w->folder && orr_capture_about(w, about, e)) return w;
    orr_capture_close(w);
    return NULL;
}

bool orr_capture_module(orr_capture_writer *w, uint64_t hash, const void *code, size_t n, orr_err *e) {
    char name[64];
    snprintf(name, sizeof name, "%016" PRIx64 ".cubin", hash);
    return write_whole(w, name, code, n, e);
}

bool orr_capture_begin(orr_capture_writer *w, uint32_t index, orr_err *e) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%07u.launch", w->folder, index);
    return orr_out_open(&w->out, path, e);
}

static void put(orr_capture_writer *w, orr_chunk c, const void *data) {
    const void *from = data;
    c.stored = data ? c.raw : 0;
#ifdef ORRERY_HAVE_ZSTD
    static _Thread_local char packed[ORR_PIECE];
    if (data && c.raw > 64 && c.raw <= sizeof packed) {
        size_t n = ZSTD_compress(packed, sizeof packed, data, c.raw, 1);
        if (!ZSTD_isError(n) && n < c.raw) {
            c.stored = (uint32_t)n;
            from = packed;
        }
    }
#endif
    fwrite(&c, sizeof c, 1, w->out.f);
    if (c.stored) fwrite(from, 1, c.stored, w->out.f);
    w->bytes += sizeof c + c.stored;
}

void orr_capture_put(orr_capture_writer *w, uint32_t tag, const void *data, size_t n) {
    orr_chunk c = {.tag = tag, .raw = (uint32_t)n, .stored = (uint32_t)n, .hash = orr_piece_hash(data, n)};
    fwrite(&c, sizeof c, 1, w->out.f); // as it is, so that it can be looked at
    if (n) fwrite(data, 1, n, w->out.f);
    w->bytes += sizeof c + n;
}

void orr_capture_piece(orr_capture_writer *w, uint32_t tag, uint64_t addr, const void *data, size_t n) {
    orr_chunk c = {.tag = tag, .raw = (uint32_t)n, .addr = addr, .hash = orr_piece_hash(data, n)};
    const uint64_t *was = orr_numbers_get(&w->now, addr);
    if (was && *was == c.hash) return;
    orr_numbers_put(&w->now, addr, c.hash);
    bool known = !c.hash || orr_numbers_get(&w->stored, c.hash) || (w->inputs_only && tag == CHUNK_AFTER);
    if (!known) orr_numbers_put(&w->stored, c.hash, 1);
    put(w, c, known ? NULL : data);
}

void orr_capture_inputs_only(orr_capture_writer *w, bool on) { w->inputs_only = on; }

bool orr_capture_end(orr_capture_writer *w, orr_err *e) {
    orr_capture_put(w, CHUNK_END, NULL, 0);
    return orr_out_commit(&w->out, e);
}

void orr_capture_forget(orr_capture_writer *w, uint64_t addr, uint64_t bytes) {
    for (uint64_t at = addr; at - addr < bytes; at = (at | (ORR_PIECE - 1)) + 1) {
        uint64_t *was = orr_numbers_get(&w->now, at);
        if (was) *was = GONE;
    }
}

// A line at a time, so that it is there when the program is killed.
bool orr_capture_time(orr_capture_writer *w, uint32_t index, const char *kernel, double us, orr_err *e) {
    char path[4200];
    snprintf(path, sizeof path, "%s/times.csv", w->folder);
    FILE *f = fopen(path, "a");
    if (f && ftell(f) == 0) fputs("index,kernel,microseconds\n", f);
    if (f) fprintf(f, "%u,%s,%.3f\n", index, kernel, us);
    if (f && fclose(f) == 0) return true;
    return orr_fail(e, ORR_BAD_INPUT, "%s: %s", path, strerror(errno));
}

uint64_t orr_capture_bytes(const orr_capture_writer *w) { return w->bytes; }

void orr_capture_close(orr_capture_writer *w) {
    if (!w) return;
    free(w->now.at);
    free(w->stored.at);
    free(w->folder);
    free(w);
}
