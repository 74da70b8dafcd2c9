// Tags of a cache for models that are in a hurry: a set is one host cache line, so that a lookup is one miss
// of the host at most, where simulated caches are large.
//
// A line has sectors that are there or on their way and the cycle from which all of them are there; which of
// them were there before is not kept. Least recently used first out. A cache of more than ORR_TAGS_WAYS ways
// is one of ORR_TAGS_WAYS ways whose sets are found by a hash.
//
// Sixteen bits are a line's tag. Where sets are found by a hash they are what that leaves: the hash is a
// number times the golden ratio, of which N neighbours are never closer together than 0.38 / N of the whole
// (their gaps take three values; Knuth, The Art of Computer Programming, volume 3, section 6.4), so lines
// that are not further apart than orr_tags_reach are told apart, whatever the number of sets. Elsewhere one
// lookup in four thousand takes another line for its own.
#ifndef ORR_TAGS_H
#define ORR_TAGS_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/base.h"

#define ORR_TAGS_WAYS 16
#define ORR_NO_WAY    UINT32_MAX

typedef struct orr_tag_set {
    _Alignas(64) uint16_t tag[ORR_TAGS_WAYS]; // 0: empty
    uint8_t sectors[ORR_TAGS_WAYS];           // valid, and in the upper half dirty
    uint64_t order;                           // ways by use, four bits each, the newest lowest
    uint32_t latest;                          // when the last of what is on its way is there
    uint16_t coming;                          // ways whose sectors are on their way, or were
} orr_tag_set;

typedef struct orr_tags {
    orr_tag_set *set;
    uint32_t *when;  // [set][way], where `coming` says so,
    uint8_t *merged; // requests that wait for them
    uint32_t sets, ways;
    uint32_t mask;     // where sets are a power of two
    uint32_t together; // so many lines in a row are in one set, log2
    uint32_t cell;     // bits of the hash that tags do without
    bool hashed;
} orr_tags;
#define ORR_TAGS_FAR (1ull << 62) // in a line's number: apart from the one without it

// So many lines in a row share a set, log2.
static inline void orr_tags_group(orr_tags *c, uint32_t together) {
    uint32_t bits = 14 - together;
    for (uint32_t sets = c->sets; sets > 1; sets /= 2) bits++;
    c->together = together;
    c->cell = bits < 32 ? 32 - bits : 0;
}
// Lines that lie in as many as these are told apart; 0: perhaps not.
static inline uint64_t orr_tags_reach(const orr_tags *c) {
    return c->hashed ? (3ull << (32 - c->cell) >> 3) << c->together : 0;
}

static inline void orr_tags_flush(orr_tags *c) {
    for (uint32_t n = 0; n < c->sets; n++) c->set[n] = (orr_tag_set){.order = 0xfedcba9876543210u};
}
// `n` caches of the same shape, side by side: memory is asked for once, in pages as large as the host has.
static inline void orr_tags_init(orr_tags *all, uint32_t n, uint64_t lines, uint32_t ways, bool hashed) {
    if (!lines) lines = 1;
    if (lines > UINT32_MAX / 16) lines = UINT32_MAX / 16;
    if (!ways || ways > lines) ways = (uint32_t)lines;
    if (ways > ORR_TAGS_WAYS) {
        ways = ORR_TAGS_WAYS;
        hashed = true;
    }
    orr_tags c = {.ways = ways, .sets = (uint32_t)(lines / ways), .hashed = hashed};
    if (!(c.sets & (c.sets - 1))) c.mask = c.sets - 1;
    orr_tags_group(&c, 0);
    size_t sets = (size_t)c.sets * n, page = 2u << 20, places = sets * ORR_TAGS_WAYS;
    size_t bytes = (sets * sizeof *c.set + places * (sizeof *c.when + 1) + page - 1) / page * page;
    c.set = sets <= SIZE_MAX / 256 ? aligned_alloc(page, bytes) : NULL;
    if (!c.set) c.set = orr_malloc(bytes); // says what is wrong
#ifdef MADV_HUGEPAGE
    madvise(c.set, bytes, MADV_HUGEPAGE);
#endif
    c.when = (uint32_t *)(void *)(c.set + sets);
    c.merged = (uint8_t *)(c.when + places);
    memset(c.when, 0, places * (sizeof *c.when + 1));
    for (uint32_t k = 0; k < n; k++) {
        all[k] = c;
        all[k].set += (size_t)k * c.sets;
        all[k].when += (size_t)k * c.sets * ORR_TAGS_WAYS;
        all[k].merged += (size_t)k * c.sets * ORR_TAGS_WAYS;
        orr_tags_flush(&all[k]);
    }
}
static inline void orr_tags_free(orr_tags *all) { // of those made together
    free(all->set);
}

// A line's place: its set, and what it is called there.
typedef struct orr_tag {
    orr_tag_set *set;
    uint32_t *when;
    uint8_t *merged;
    uint16_t tag;
} orr_tag;
static inline uint64_t orr_tags_hash(const orr_tags *c, uint64_t line) {
    return ((line & ~ORR_TAGS_FAR) >> c->together) * 0x9e3779b97f4a7c15ull >> 32;
}
static inline uint32_t orr_tags_index(const orr_tags *c, uint64_t line) {
    if (c->hashed) return (uint32_t)(orr_tags_hash(c, line) * c->sets >> 32);
    line >>= c->together;
    return (uint32_t)(c->mask ? line & c->mask : line % c->sets);
}
static inline orr_tag orr_tags_of(const orr_tags *c, uint64_t line) {
    uint64_t hash = orr_tags_hash(c, line), within = line & ((1u << c->together) - 1), tag;
    uint32_t at = orr_tags_index(c, line);
    if (c->hashed)
        tag = (hash >> c->cell) << (c->together + 2) | within << 2 | line >> 61 | 1;
    else
        tag = line * 0x9e3779b97f4a7c15ull >> 16 | 1;
    size_t first = (size_t)at * ORR_TAGS_WAYS;
    return (orr_tag){&c->set[at], &c->when[first], &c->merged[first], (uint16_t)tag};
}
static inline void orr_tags_prefetch(const orr_tags *c, uint64_t line) {
    __builtin_prefetch(&c->set[orr_tags_index(c, line)], 1);
}
// What is kept of a set's lines beside it.
static inline void orr_tags_prefetch_merged(const orr_tags *c, uint64_t line) {
    __builtin_prefetch(&c->merged[(size_t)orr_tags_index(c, line) * ORR_TAGS_WAYS], 1);
}
// Which way has it.
typedef uint16_t orr_tags_eight __attribute__((vector_size(16), may_alias));
typedef uint64_t orr_tags_two __attribute__((vector_size(16)));
static inline uint32_t orr_tags_find(const orr_tag *t) {
    const orr_tags_eight *at = (const orr_tags_eight *)(const void *)t->set->tag;
    orr_tags_eight which = (orr_tags_eight)(at[0] == t->tag) & (orr_tags_eight){1, 2, 3, 4, 5, 6, 7, 8};
    which |= (orr_tags_eight)(at[1] == t->tag) & (orr_tags_eight){9, 10, 11, 12, 13, 14, 15, 16};
    orr_tags_two two = (orr_tags_two)which;
    uint64_t one = two[0] | two[1];
    one |= one >> 32;
    one |= one >> 16;
    return (uint32_t)(one & 31) - 1;
}
// Way w is used now.
static inline void orr_tags_touch(const orr_tag *t, uint32_t w) {
    uint64_t order = t->set->order, x = order ^ w * 0x1111111111111111u;
    if ((order & 15) == w) return;
    uint64_t here = (x - 0x1111111111111111u) & ~x & 0x8888888888888888u;
    uint64_t newer = (1ull << ((uint32_t)__builtin_ctzll(here) & ~3u)) - 1;
    t->set->order = (order & ~(newer << 4 | 15)) | (order & newer) << 4 | w;
}
// The one that goes next.
static inline uint32_t orr_tags_oldest(const orr_tags *c, const orr_tag *t) {
    return (uint32_t)(t->set->order >> 4 * (c->ways - 1)) & 15;
}
static inline void orr_tags_put(const orr_tag *t, uint32_t w, uint16_t tag) {
    t->set->tag[w] = tag;
    t->set->sectors[w] = 0;
    t->set->coming &= (uint16_t) ~(1u << w);
}
static inline uint8_t orr_tags_valid(const orr_tag *t, uint32_t w) { return t->set->sectors[w] & 15; }
static inline uint8_t orr_tags_dirty(const orr_tag *t, uint32_t w) { return t->set->sectors[w] >> 4; }
// What is there of clean lines that are not of local memory is gone; where the line is stays taken.
static inline void orr_tags_drop(orr_tags *c) {
    for (uint32_t n = 0; n < c->sets; n++)
        for (uint32_t w = 0; w < c->ways; w++)
            if (!(c->set[n].sectors[w] >> 4)) c->set[n].sectors[w] = 0;
}
// Time begins again: whatever was on its way is there.
static inline void orr_tags_settle(orr_tags *c) {
    for (uint32_t n = 0; n < c->sets; n++) c->set[n].coming = c->set[n].latest = 0;
}

#endif
