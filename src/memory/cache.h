// Tags of a sectored cache of any shape, which evicts what was used least recently. Nothing here knows time.
//
// A cache may have room for fewer lines than it has tags (orr_cache_limit): then a new line evicts the oldest
// of its set when the set is full, else the oldest of another set. Other sets take turns at that, in an order
// in which neighbours do not follow each other, so that accesses to ascending addresses do not run along with
// it.
//
// Sectors have valid, dirty and pending bits; `partial` masks of partly written sectors are kept by those
// caches that need them. The lines of a set of up to ORR_CACHE_FEW ways are looked through as they are. A set
// of up to ORR_CACHE_PACKED ways has a compact head: sixteen bits of each tag, and the ways in order of use,
// next to each other, so that most lookups touch one host cache line and the line itself. Wider sets find
// their lines through a hash table and keep them in a list. Memory is not touched before it is needed,
// however large the cache is.
#ifndef ORR_CACHE_H
#define ORR_CACHE_H

#include "base/base.h"

#include <string.h>

#define ORR_NO_LINE      UINT32_MAX
#define ORR_CACHE_PACKED 32
#define ORR_CACHE_FEW    4

typedef struct orr_cache_line {
    uint64_t tag;         // line number (address / line size)
    uint32_t user;        // what the owner keeps with it (L1: its newest miss)
    uint8_t valid, dirty; // sectors
    uint8_t pending;      // sectors that have been asked for
    uint8_t flags;        // holds a line; ORR_LINE_PARTIAL is set by who writes to its `partial`
} orr_cache_line;
#define ORR_LINE_PARTIAL    2
#define ORR_LINE_COPIED     4  // set by who keeps a copy elsewhere
#define ORR_LINE_FAR_STORED 8  // L2: the other half has stored to it since this one has
#define ORR_LINE_REWRITTEN  16 // L2: a sector that is there in part was stored to again
#define ORR_LINE_SCATTERED  64 // L2: its sectors that are there in part came one by one
#define ORR_LINE_COMPLETED  32 // L2: it was there in part, has been completed, and is to be written back

typedef struct orr_cache {
    orr_cache_line *line; // sets x ways
    uint32_t sets, ways;
    uint32_t set_mask;    // sets - 1 when that is a mask, else 0
    bool hashed;          // set index: bits folded, not plain
    const uint16_t *fold; // what each bit of a line's number adds to its set's; NULL: not so (orr_cache_fold)
    // Few ways: for each set the ways by use, two bits each, the newest lowest (all 0: in any order), and
    // from bit 8 on which of them hold a line. A set's lines are one host cache line, so that is all a hit
    // touches.
    uint16_t *few;
    // Packed: for each set the ways' signatures (0: empty, and a few more of those), then the ways by use,
    // newest first (all 0: in any order), and how many of these are protected.
    uint8_t *head;
    uint32_t stride, order_at; // of a set's head, which is in as few host cache lines as it can be; where in
                               // it the order begins
    // Lists
    uint32_t *bucket; // first line + 1
    uint32_t buckets;
    struct orr_cache_link {
        uint32_t chain;        // next in its bucket, + 1
        uint32_t newer, older; // in its set
    } * link;
    struct orr_cache_set {
        uint32_t newest, oldest; // + 1
        uint32_t n;              // in the list; the others have never been used
    } * set;
    uint32_t max_lines,
        lines_held;      // lines that it has room for (0: all), that it holds (only counted where there is a
                         // limit)
    uint32_t hand, step; // the set that gives up a line next, and how far behind it the one after that is
    uint64_t (*partial)[2]; // bytes valid of partly written sectors, 128 bits a line; NULL: not kept
} orr_cache;

// `ways` 0: fully associative. Sizes are rounded down to whole sets; at least one line.
void orr_cache_init(orr_cache *c, uint64_t bytes, uint32_t line_bytes, uint32_t ways, bool hashed,
                    bool partial);
// For each of the lowest n bits of a line's number, the bits of its set that it turns over; what is above is
// taken as if it came again from bit 0 on. Nothing changes where a set would not exist. Before the first use.
void orr_cache_fold(orr_cache *c, const int64_t *turns, int n);
// Room for no more than `lines` of them at a time, whatever set they are in. Before the first use, or while
// it is empty; sets of up to ORR_CACHE_PACKED ways only.
void orr_cache_limit(orr_cache *c, uint32_t lines);
void orr_cache_free(orr_cache *c);
void orr_cache_flush(orr_cache *c); // everything out; what was dirty is forgotten

static inline uint32_t orr_cache_set_of(const orr_cache *c, uint64_t tag) {
    if (c->sets == 1) return 0;
    if (c->fold)
        return c->fold[tag & 255] ^ c->fold[256 + (tag >> 8 & 255)] ^ c->fold[512 + (tag >> 16 & 255)];
    if (c->hashed) tag ^= tag >> 7 ^ tag >> 15 ^ tag >> 23;
    return (uint32_t)(c->set_mask ? tag & c->set_mask : tag % c->sets);
}
static inline uint64_t orr_cache_mix(uint64_t tag) { return (tag * 0x9e3779b97f4a7c15ull) >> 32; }

// In a packed set: which way may hold a tag with that signature, from way `w` on; c->ways: none.
static inline uint32_t orr_cache_like(const orr_cache *c, uint32_t set, uint16_t sought, uint32_t w) {
    const uint8_t *at = c->head + (size_t)set * c->stride;
    const uint64_t all = sought * 0x0001000100010001ull;
    for (; w < c->ways; w = (w | 3) + 1) { // four at a time
        uint64_t four;
        memcpy(&four, at + 2 * (size_t)(w & ~3u), 8);
        four ^= all;
        if (!((four - 0x0001000100010001ull) & ~four & 0x8000800080008000ull)) continue; // none of them is 0
        for (uint32_t end = (w | 3) + 1; w < end && w < c->ways; w++) {
            uint16_t one;
            memcpy(&one, at + 2 * (size_t)w, 2);
            if (one == sought) return w;
        }
        w--;
    }
    return c->ways;
}
static inline uint16_t orr_cache_signature(uint64_t mix) { return (uint16_t)(mix | 1); }

// In a set of a cache without lists: which way holds `tag`; c->ways: none.
static inline uint32_t orr_cache_way(const orr_cache *c, uint32_t set, uint64_t tag) {
    const orr_cache_line *first = c->line + (size_t)set * c->ways;
    if (c->few) { // behind the last set there are as many more
        uint32_t which = 0;
        for (uint32_t w = 0; w < ORR_CACHE_FEW; w++) which |= (uint32_t)(first[w].tag == tag) << w;
        which &= (uint32_t)c->few[set] >> 8;
        return which ? (uint32_t)__builtin_ctz(which) : c->ways;
    }
    uint16_t sought = orr_cache_signature(orr_cache_mix(tag));
    uint32_t w = 0;
    while ((w = orr_cache_like(c, set, sought, w)) < c->ways && first[w].tag != tag) w++;
    return w;
}

// Which line holds `tag`, or ORR_NO_LINE. Does not count as use.
static inline uint32_t orr_cache_find(const orr_cache *c, uint64_t tag) {
    if (!c->bucket) {
        uint32_t set = orr_cache_set_of(c, tag), w = orr_cache_way(c, set, tag);
        return w < c->ways ? set * c->ways + w : ORR_NO_LINE;
    }
    uint32_t i = c->bucket[orr_cache_mix(tag) & (c->buckets - 1)];
    while (i && c->line[i - 1].tag != tag) i = c->link[i - 1].chain;
    return i - 1; // 0 - 1 is ORR_NO_LINE
}

// The order of a set of few ways; before its first use it is any.
static inline uint32_t orr_cache_few_order(const orr_cache *c, uint32_t set) {
    uint32_t order = c->few[set] & 255;
    return order ? order : 0xe4; // 3 2 1 0
}
// The bit at which `way` is in such an order.
static inline uint32_t orr_cache_few_place(uint32_t order, uint32_t way) {
    uint32_t x = order ^ way * 0x55;
    return ~(x | x >> 1) & 0x55 & (0 - (~(x | x >> 1) & 0x55));
}
// The ways of a packed set by use. Its first use puts them in any order.
static inline uint8_t *orr_cache_order(const orr_cache *c, uint32_t set) {
    uint8_t *order = c->head + (size_t)set * c->stride + c->order_at;
    if (c->ways > 1 && order[0] == order[1])
        for (uint32_t w = 0; w < c->ways; w++) order[w] = (uint8_t)w;
    return order;
}
// A way to the front of the order. Eight places at a time: the order begins at a multiple of eight bytes.
void orr_cache_forward_far(uint8_t *order, uint32_t way);
static inline void orr_cache_forward(const orr_cache *c, uint32_t set, uint32_t way) {
    if (c->few) {
        uint32_t order = orr_cache_few_order(c, set), upto = orr_cache_few_place(order, way) * 4 - 1;
        order = (order & ~upto) | (order << 2 & upto) | way;
        c->few[set] = (uint16_t)((c->few[set] & 0xff00) | order);
        return;
    }
    uint8_t *at = orr_cache_order(c, set);
    uint64_t eight;
    memcpy(&eight, at, 8);
    uint64_t x = eight ^ way * 0x0101010101010101ull;
    x = (x - 0x0101010101010101ull) & ~x & 0x8080808080808080ull; // the lowest bit: the first byte that is 0
    if (!x) {
        orr_cache_forward_far(at, way);
        return;
    }
    uint64_t upto = x ^ (x - 1); // up to that byte
    eight = (eight & ~upto) | (eight << 8 & upto) | way;
    memcpy(at, &eight, 8);
}

void orr_cache_touch(orr_cache *c, uint32_t line); // used now
// Of a cache without lists: whether the line is there with all of these sectors; if so it is used now. *at:
// where it is, ORR_NO_LINE: it is not.
static inline bool orr_cache_hit(const orr_cache *c, uint64_t tag, uint8_t sectors, uint32_t *at) {
    uint32_t set = orr_cache_set_of(c, tag), w = orr_cache_way(c, set, tag);
    *at = w < c->ways ? set * c->ways + w : ORR_NO_LINE;
    if (w == c->ways || sectors & ~c->line[*at].valid) return false;
    orr_cache_forward(c, set, w);
    return true;
}
// The tag will be looked for: the host fetches its set (orr_cache_prefetch), and when that has come, its
// line.
void orr_cache_prefetch_line(const orr_cache *c, uint64_t tag);
static inline void orr_cache_prefetch(const orr_cache *c, uint64_t tag) {
    if (c->few)
        __builtin_prefetch(&c->line[orr_cache_set_of(c, tag) * c->ways], 1);
    else if (c->head)
        __builtin_prefetch(c->head + (size_t)orr_cache_set_of(c, tag) * c->stride);
    else
        __builtin_prefetch(&c->bucket[orr_cache_mix(tag) & (c->buckets - 1)]);
}

// As orr_cache_prefetch, and the lines of the set too: for caches whose sets have few of them.
static inline void orr_cache_prefetch_set(const orr_cache *c, uint64_t tag) {
    orr_cache_prefetch(c, tag);
    if (c->head) __builtin_prefetch(&c->line[orr_cache_set_of(c, tag) * c->ways], 1);
}

// The least recently used line of those in the set of `tag` for which `is` holds; ORR_NO_LINE: there is none.
// *n is set to how many there are.
uint32_t orr_cache_oldest_of(const orr_cache *c, uint64_t tag, bool (*is)(const orr_cache_line *),
                             uint32_t *n);
// The line for `tag`, which is not in the cache: takes the least recently used of its set. When that held
// something, or another line had to make room, *victim is a copy of it as it was (flags != 0), with its
// partial mask in victim_bytes if kept. The new line has no sector.
uint32_t orr_cache_take(orr_cache *c, uint64_t tag, orr_cache_line *victim, uint64_t victim_bytes[2]);
// As orr_cache_take, but lines with pending sectors stay; ORR_NO_LINE when all of the set are such.
uint32_t orr_cache_take_idle(orr_cache *c, uint64_t tag, orr_cache_line *victim, uint64_t victim_bytes[2]);
void orr_cache_drop(orr_cache *c, uint32_t line); // forget it; the slot is the first to be taken

#endif
