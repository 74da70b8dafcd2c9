// A map from numbers to numbers: open addressing, at most half full.
#include "capture/capture.h"

#include <stdlib.h>

static size_t place(const orr_numbers *m, uint64_t key) {
    size_t i = (size_t)((key * 0x9e3779b97f4a7c15ull) >> 20) & (m->cap - 1);
    while (m->at[i].used && m->at[i].key != key) i = (i + 1) & (m->cap - 1);
    return i;
}

uint64_t *orr_numbers_get(const orr_numbers *m, uint64_t key) {
    if (!m->cap) return NULL;
    size_t i = place(m, key);
    return m->at[i].used ? &m->at[i].value : NULL;
}

void orr_numbers_put(orr_numbers *m, uint64_t key, uint64_t value) {
    if (2 * m->n >= m->cap) {
        orr_numbers old = *m;
        m->cap = old.cap ? 2 * old.cap : 1024;
        m->n = 0;
        m->at = orr_calloc(m->cap, sizeof *m->at);
        for (size_t i = 0; i < old.cap; i++)
            if (old.at[i].used) orr_numbers_put(m, old.at[i].key, old.at[i].value);
        free(old.at);
    }
    size_t i = place(m, key);
    m->n += !m->at[i].used;
    m->at[i] = (struct orr_number){key, value, true};
}

uint64_t orr_piece_hash(const void *data, size_t n) {
    const uint8_t *p = data;
    size_t i = 0;
    while (i < n && !p[i]) i++;
    if (i == n) return 0;
    uint64_t h = orr_hash64(data, n, n);
    return h ? h : 1;
}
