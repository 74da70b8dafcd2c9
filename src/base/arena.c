// An arena is a list of zeroed chunks. The first one is carved up; what does not fit starts a new one,
// and what is large gets a chunk of its own behind the first, so that the first is not wasted.
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

typedef struct orr_chunk {
    struct orr_chunk *next;
    size_t used, cap;
    _Alignas(16) char bytes[];
} chunk;

#define FIRST_CHUNK   4096u
#define LARGEST_CHUNK (1u << 20)

static chunk *new_chunk(orr_arena *a, size_t cap) {
    chunk *c = orr_calloc(1, sizeof *c + cap);
    c->cap = cap;
    a->total += sizeof *c + cap;
    return c;
}

void *orr_arena_alloc(orr_arena *a, size_t n) {
    if (n > SIZE_MAX - 4096) orr_malloc(SIZE_MAX); // ends the process
    n = (n + 15) & ~(size_t)15;
    if (n == 0) n = 16; // distinct objects have distinct addresses
    chunk *c = a->chunk;
    if (c && n <= c->cap - c->used) {
        void *p = c->bytes + c->used;
        c->used += n;
        return p;
    }
    if (c && n > LARGEST_CHUNK / 4) {
        chunk *big = new_chunk(a, n);
        big->used = n;
        big->next = c->next;
        c->next = big;
        return big->bytes;
    }
    size_t cap = c ? c->cap * 2 : FIRST_CHUNK;
    if (cap > LARGEST_CHUNK) cap = LARGEST_CHUNK;
    if (cap < n) cap = n;
    chunk *fresh = new_chunk(a, cap);
    fresh->used = n;
    fresh->next = c;
    a->chunk = fresh;
    return fresh->bytes;
}

char *orr_arena_strndup(orr_arena *a, const char *s, size_t n) {
    char *p = orr_arena_alloc(a, n + 1);
    if (n) memcpy(p, s, n);
    return p; // already ends in 0
}

char *orr_arena_strdup(orr_arena *a, const char *s) { return orr_arena_strndup(a, s, strlen(s)); }

char *orr_arena_printf(orr_arena *a, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = orr_arena_alloc(a, n < 0 ? 1 : (size_t)n + 1);
    if (n > 0) vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

void orr_arena_free(orr_arena *a) {
    for (chunk *c = a->chunk, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    *a = (orr_arena){0};
}
