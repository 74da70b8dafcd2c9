// Addresses that a thread block has asked for: a set (open addressing; 0 is a free place), private to
// explain/. Zero-initialise; free `at`.
#ifndef ORR_EXPLAIN_SEEN_H
#define ORR_EXPLAIN_SEEN_H

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

typedef struct seen {
    uint64_t *at;
    size_t n, cap; // cap: a power of two, more than twice n
} seen;

static inline size_t seen_place(const seen *s, uint64_t addr) {
    size_t k = (size_t)(addr * 0x9e3779b97f4a7c15ull >> 20) & (s->cap - 1);
    while (s->at[k] && s->at[k] != addr) k = (k + 1) & (s->cap - 1);
    return k;
}

static inline void seen_grow(seen *s) {
    seen old = *s;
    s->cap = old.cap ? old.cap * 2 : 1024;
    s->at = orr_calloc(s->cap, sizeof *s->at);
    for (size_t k = 0; k < old.cap; k++)
        if (old.at[k]) s->at[seen_place(s, old.at[k])] = old.at[k];
    free(old.at);
}

// Was it there? It is now.
static inline bool seen_before(seen *s, uint64_t addr) {
    addr++; // never 0
    if (s->n * 2 >= s->cap) seen_grow(s);
    size_t k = seen_place(s, addr);
    if (s->at[k]) return true;
    s->at[k] = addr;
    s->n++;
    return false;
}

static inline void seen_forget(seen *s) {
    if (s->n) memset(s->at, 0, s->cap * sizeof *s->at);
    s->n = 0;
}

#endif
