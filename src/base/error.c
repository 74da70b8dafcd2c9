// Errors, and memory that cannot be had.
#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool orr_vfail(orr_err *e, int status, const char *fmt, va_list ap) {
    if (!e || e->status) return false; // the first error wins: what follows is usually its echo
    e->status = status;
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    for (char *c = e->text; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127) *c = '?'; // one line, and harmless to a terminal
    return false;
}

bool orr_fail(orr_err *e, int status, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    orr_vfail(e, status, fmt, ap);
    va_end(ap);
    return false;
}

// _exit, not exit: this may be any thread, and the others are still using what exit would tear down.
_Noreturn void orr_no_memory(size_t n) {
    fprintf(stderr, "orrery: out of memory (%zu more bytes were needed)\n", n);
    orr_out_abort_all();
    _exit(ORR_BAD_INPUT);
}

void *orr_malloc(size_t n) {
    void *p = malloc(n ? n : 1);
    if (!p) orr_no_memory(n);
    return p;
}

void *orr_calloc(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (!p) orr_no_memory(n > SIZE_MAX / (size ? size : 1) ? SIZE_MAX : n * size);
    return p;
}

void *orr_apart(size_t n, size_t size) {
    if (size && n > (SIZE_MAX - 63) / size) orr_no_memory(SIZE_MAX);
    size_t bytes = n && size ? (n * size + 63) / 64 * 64 : 64;
    void *p = aligned_alloc(64, bytes);
    if (!p) orr_no_memory(bytes);
    return memset(p, 0, bytes);
}

void *orr_realloc(void *p, size_t n) {
    p = realloc(p, n ? n : 1);
    if (!p) orr_no_memory(n);
    return p;
}

void *orr_aligned_alloc(size_t align, size_t n) {
    void *p = NULL;
    if (align < sizeof(void *)) align = sizeof(void *);
    if (posix_memalign(&p, align, n ? n : 1)) orr_no_memory(n);
    return p;
}

void orr_vec_grow(void **at, size_t *cap, size_t size) {
    size_t cap2 = *cap ? *cap * 2 : 8;
    if (cap2 > SIZE_MAX / 2 / size) orr_no_memory(SIZE_MAX);
    *at = orr_realloc(*at, cap2 * size);
    *cap = cap2;
}
