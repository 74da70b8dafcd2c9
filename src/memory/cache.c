// Tags of a sectored cache (cache.h). Lines of a set form a list from newest to oldest; lines that hold
// nothing are at its old end, so that they are taken first.
#include "memory/cache.h"

#include <stdlib.h>
#include <string.h>

static uint32_t set_of(const orr_cache *c, uint64_t tag) {
    if (c->sets == 1) return 0;
    if (c->hashed) tag ^= tag >> 7 ^ tag >> 15 ^ tag >> 23;
    return (uint32_t)(tag % c->sets);
}

void orr_cache_flush(orr_cache *c) {
    uint32_t lines = c->sets * c->ways;
    memset(c->bucket, 0xff, (size_t)c->buckets * sizeof *c->bucket);
    for (uint32_t i = 0; i < lines; i++) {
        uint32_t way = i % c->ways;
        c->line[i] = (orr_cache_line){.chain = ORR_NO_LINE,
                                      .newer = way ? i - 1 : ORR_NO_LINE,
                                      .older = way + 1 < c->ways ? i + 1 : ORR_NO_LINE,
                                      .user = ORR_NO_LINE};
    }
    for (uint32_t s = 0; s < c->sets; s++) {
        c->set[s].newest = s * c->ways;
        c->set[s].oldest = (s + 1) * c->ways - 1;
    }
}

void orr_cache_init(orr_cache *c, uint64_t bytes, uint32_t line_bytes, uint32_t ways, bool hashed,
                    bool partial) {
    uint64_t lines = bytes / line_bytes;
    if (!lines) lines = 1;
    if (lines > UINT32_MAX / 4) lines = UINT32_MAX / 4;
    if (!ways || ways > lines) ways = (uint32_t)lines;
    c->ways = ways;
    c->sets = (uint32_t)(lines / ways);
    c->hashed = hashed;
    uint32_t total = c->sets * c->ways;
    for (c->buckets = 1; c->buckets < total; c->buckets *= 2) continue;
    c->line = orr_malloc((size_t)total * sizeof *c->line);
    c->bucket = orr_malloc((size_t)c->buckets * sizeof *c->bucket);
    c->set = orr_malloc((size_t)c->sets * sizeof *c->set);
    c->partial = partial ? orr_calloc(total, sizeof *c->partial) : NULL;
    orr_cache_flush(c);
}

void orr_cache_free(orr_cache *c) {
    free(c->line);
    free(c->bucket);
    free(c->set);
    free(c->partial);
    memset(c, 0, sizeof *c);
}

static void unlink_use(orr_cache *c, uint32_t s, uint32_t i) {
    orr_cache_line *l = &c->line[i];
    if (l->newer != ORR_NO_LINE)
        c->line[l->newer].older = l->older;
    else
        c->set[s].newest = l->older;
    if (l->older != ORR_NO_LINE)
        c->line[l->older].newer = l->newer;
    else
        c->set[s].oldest = l->newer;
}

static void make_newest(orr_cache *c, uint32_t s, uint32_t i) {
    orr_cache_line *l = &c->line[i];
    l->newer = ORR_NO_LINE;
    l->older = c->set[s].newest;
    if (l->older != ORR_NO_LINE)
        c->line[l->older].newer = i;
    else
        c->set[s].oldest = i;
    c->set[s].newest = i;
}

void orr_cache_touch(orr_cache *c, uint32_t i) {
    if (c->line[i].newer == ORR_NO_LINE) return;
    uint32_t s = i / c->ways;
    unlink_use(c, s, i);
    make_newest(c, s, i);
}

static void unlink_bucket(orr_cache *c, uint32_t i) {
    uint32_t *at = &c->bucket[orr_cache_bucket(c, c->line[i].tag)];
    while (*at != i) at = &c->line[*at].chain;
    *at = c->line[i].chain;
}

// Line i of set s is for `tag` from now on.
static uint32_t take(orr_cache *c, uint64_t tag, uint32_t s, uint32_t i, orr_cache_line *victim,
                     uint64_t victim_bytes[2]) {
    orr_cache_line *l = &c->line[i];
    *victim = *l;
    if (l->used) unlink_bucket(c, i);
    if (c->partial) {
        if (victim_bytes) memcpy(victim_bytes, c->partial[i], sizeof c->partial[i]);
        memset(c->partial[i], 0, sizeof c->partial[i]);
    }
    if (l->newer != ORR_NO_LINE) {
        unlink_use(c, s, i);
        make_newest(c, s, i);
    }
    uint32_t *head = &c->bucket[orr_cache_bucket(c, tag)];
    l->tag = tag;
    l->chain = *head;
    *head = i;
    l->used = 1;
    l->valid = l->dirty = l->pending = 0;
    l->user = ORR_NO_LINE;
    return i;
}

uint32_t orr_cache_take(orr_cache *c, uint64_t tag, orr_cache_line *victim, uint64_t victim_bytes[2]) {
    uint32_t s = set_of(c, tag);
    return take(c, tag, s, c->set[s].oldest, victim, victim_bytes);
}

uint32_t orr_cache_take_idle(orr_cache *c, uint64_t tag, orr_cache_line *victim, uint64_t victim_bytes[2]) {
    uint32_t s = set_of(c, tag), i = c->set[s].oldest;
    while (i != ORR_NO_LINE && c->line[i].pending) i = c->line[i].newer;
    return i == ORR_NO_LINE ? i : take(c, tag, s, i, victim, victim_bytes);
}

void orr_cache_drop(orr_cache *c, uint32_t i) {
    orr_cache_line *l = &c->line[i];
    if (!l->used) return;
    uint32_t s = i / c->ways;
    unlink_bucket(c, i);
    l->used = l->valid = l->dirty = l->pending = 0;
    unlink_use(c, s, i);
    l->newer = c->set[s].oldest;
    l->older = ORR_NO_LINE;
    if (l->newer != ORR_NO_LINE)
        c->line[l->newer].older = i;
    else
        c->set[s].newest = i;
    c->set[s].oldest = i;
}
