// Tags of a sectored cache of any shape: what is in it, least recently used first out. No time in here.
//
// A line is found through a hash table, so that a cache of 4 sets of 256 ways costs no more to look into than
// one of 16 ways; each set is a list in order of use. Sectors have valid, dirty and pending bits; `bytes`
// masks of partly written sectors are kept by those caches that need them.
#ifndef ORR_CACHE_H
#define ORR_CACHE_H

#include "base/base.h"

#define ORR_NO_LINE UINT32_MAX

typedef struct orr_cache_line {
    uint64_t tag;          // line number (address / line size)
    uint32_t chain;        // next in its hash bucket
    uint32_t newer, older; // in its set, by use
    uint8_t valid, dirty;  // sectors
    uint8_t pending;       // sectors that have been asked for
    uint8_t used;          // holds a line
    uint32_t user;         // what the owner keeps with it (L1: its newest miss)
} orr_cache_line;

typedef struct orr_cache {
    orr_cache_line *line; // sets x ways
    uint32_t *bucket;
    struct {
        uint32_t newest, oldest;
    } * set;
    uint32_t sets, ways, buckets;
    bool hashed;            // set index: bits folded, not plain
    uint64_t (*partial)[2]; // bytes valid of partly written sectors, 128 bits a line; NULL: not kept
} orr_cache;

// `ways` 0: fully associative. Sizes are rounded down to whole sets; at least one line.
void orr_cache_init(orr_cache *c, uint64_t bytes, uint32_t line_bytes, uint32_t ways, bool hashed,
                    bool partial);
void orr_cache_free(orr_cache *c);
void orr_cache_flush(orr_cache *c); // everything out; what was dirty is forgotten

static inline uint32_t orr_cache_bucket(const orr_cache *c, uint64_t tag) {
    return (uint32_t)((tag * 0x9e3779b97f4a7c15ull) >> 32) & (c->buckets - 1);
}
// Which line holds `tag`, or ORR_NO_LINE. Does not count as use.
static inline uint32_t orr_cache_find(const orr_cache *c, uint64_t tag) {
    uint32_t i = c->bucket[orr_cache_bucket(c, tag)];
    while (i != ORR_NO_LINE && c->line[i].tag != tag) i = c->line[i].chain;
    return i;
}
void orr_cache_touch(orr_cache *c, uint32_t line); // used now
// The line for `tag`, which is not in the cache: takes the least recently used of its set. When that held
// something, *victim is a copy of it as it was (used != 0), with its partial mask in victim_bytes if kept.
// The new line has no sector.
uint32_t orr_cache_take(orr_cache *c, uint64_t tag, orr_cache_line *victim, uint64_t victim_bytes[2]);
// The same, but lines with pending sectors stay; ORR_NO_LINE when all of the set are such.
uint32_t orr_cache_take_idle(orr_cache *c, uint64_t tag, orr_cache_line *victim, uint64_t victim_bytes[2]);
void orr_cache_drop(orr_cache *c, uint32_t line); // forget it; the slot is the first to be taken

#endif
