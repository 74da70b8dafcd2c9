// Memory for what a simulated machine has of everything: large in all, in pieces, and looked at anywhere.
//
// With pages of 4 KB most looks at it would miss the host's TLB too. Pieces are cut from chunks that the host
// is asked to keep in large pages. A chunk is aligned to its size, begins with a head that counts its pieces,
// and goes back when the last of them does; a piece that would be much of a chunk has one of its own.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/base.h"

#if defined(__SANITIZE_ADDRESS__)
#define CHECKED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHECKED 1
#endif
#endif

#ifdef CHECKED // each piece is watched

void *orr_pages(size_t n, size_t size) { return orr_apart(n, size); }
void orr_pages_free(void *p) { free(p); }

#else

#define CHUNK ((size_t)8 << 20)
#define LINE  64

typedef struct chunk {
    size_t bytes, used;
    size_t pieces;
} chunk;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static chunk *current; // that pieces are cut from; NULL: none

// NULL: the system does not give it.
static chunk *new_chunk(size_t bytes) {
    bytes = (bytes + CHUNK - 1) / CHUNK * CHUNK;
    if (bytes > SIZE_MAX - CHUNK) return NULL;
    uint8_t *all = mmap(NULL, bytes + CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return NULL;
    size_t before = (CHUNK - (uintptr_t)all % CHUNK) % CHUNK;
    if (before) munmap(all, before);
    if (CHUNK - before) munmap(all + before + bytes, CHUNK - before);
    chunk *c = (chunk *)(void *)(all + before);
#ifdef MADV_HUGEPAGE
    madvise(c, bytes, MADV_HUGEPAGE);
#endif
    c->bytes = bytes;
    c->used = LINE;
    return c;
}

void *orr_pages(size_t n, size_t size) {
    if (size && n > (SIZE_MAX / 2) / size) return orr_calloc(n, size); // says what is wrong
    size_t bytes = (n * size + LINE) / LINE * LINE;
    bool own = bytes > CHUNK / 4;
    pthread_mutex_lock(&lock);
    chunk *c = current;
    if (own)
        c = new_chunk(bytes + LINE);
    else if (!c || c->bytes - c->used < bytes)
        c = current = new_chunk(CHUNK);
    void *p = NULL;
    if (c) {
        p = (uint8_t *)c + c->used;
        c->used += bytes;
        c->pieces++;
    }
    pthread_mutex_unlock(&lock);
    if (!p) orr_no_memory(bytes);
    return p;
}

void orr_pages_free(void *p) {
    if (!p) return;
    chunk *c = (chunk *)((uintptr_t)p & ~(uintptr_t)(CHUNK - 1));
    pthread_mutex_lock(&lock);
    if (!--c->pieces) {
        if (c == current) current = NULL;
        munmap(c, c->bytes);
    }
    pthread_mutex_unlock(&lock);
}

#endif
