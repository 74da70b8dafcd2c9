// A string map: open addressing with linear probing, at most three quarters full. Nothing is ever
// removed, so a probe ends at the first empty slot.
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

typedef struct orr_map_slot {
    const char *key; // NULL: empty
    size_t n;
    uint64_t hash;
    void *value;
} slot;

// The slot that holds the key, or the empty one where it belongs. The map is not full.
static slot *find(slot *slots, size_t cap, const char *key, size_t n, uint64_t hash) {
    for (size_t i = hash & (cap - 1);; i = (i + 1) & (cap - 1)) {
        slot *s = &slots[i];
        if (!s->key) return s;
        if (s->hash == hash && s->n == n && memcmp(s->key, key, n) == 0) return s;
    }
}

static void grow(orr_map *m) {
    size_t cap = m->cap ? m->cap * 2 : 16;
    slot *slots = orr_calloc(cap, sizeof *slots);
    for (size_t i = 0; i < m->cap; i++) {
        const slot *old = &m->slot[i];
        if (old->key) *find(slots, cap, old->key, old->n, old->hash) = *old;
    }
    free(m->slot);
    m->slot = slots;
    m->cap = cap;
}

void *orr_map_getn(const orr_map *m, const char *key, size_t n) {
    return m->cap ? find(m->slot, m->cap, key, n, orr_hash64(key, n, 0))->value : NULL;
}

void *orr_map_get(const orr_map *m, const char *key) { return orr_map_getn(m, key, strlen(key)); }

bool orr_map_putn(orr_map *m, const char *key, size_t n, void *value) {
    if ((m->n + 1) * 4 > m->cap * 3) grow(m);
    uint64_t hash = orr_hash64(key, n, 0);
    slot *s = find(m->slot, m->cap, key, n, hash);
    bool fresh = !s->key;
    if (fresh) {
        *s = (slot){.key = orr_arena_strndup(&m->keys, key, n), .n = n, .hash = hash};
        m->n++;
    }
    s->value = value;
    return fresh;
}

bool orr_map_put(orr_map *m, const char *key, void *value) {
    return orr_map_putn(m, key, strlen(key), value);
}

void orr_map_free(orr_map *m) {
    free(m->slot);
    orr_arena_free(&m->keys);
    *m = (orr_map){0};
}
