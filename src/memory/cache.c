// Tags of a sectored cache (cache.h): order of use, in a row of bytes for sets with few ways and in a list
// for others. What holds nothing is always at the old end, and so is taken first.
#include "memory/cache.h"
#include "memory/interleave.h"

#include <stdlib.h>
#include <string.h>

void orr_cache_flush(orr_cache *c) {
    if (c->few) {
        memset(c->few, 0, c->sets * sizeof *c->few);
    } else if (c->head) {
        memset(c->head, 0, (size_t)c->sets * c->stride);
    } else {
        memset(c->bucket, 0, (size_t)c->buckets * sizeof *c->bucket);
        memset(c->set, 0, (size_t)c->sets * sizeof *c->set);
    }
    c->lines_held = c->hand = 0;
}

void orr_cache_init(orr_cache *c, uint64_t bytes, uint32_t line_bytes, uint32_t ways, bool hashed,
                    bool partial) {
    uint64_t lines = bytes / line_bytes;
    if (!lines) lines = 1;
    if (lines > UINT32_MAX / 16) lines = UINT32_MAX / 16;
    if (!ways || ways > lines) ways = (uint32_t)lines;
    *c = (orr_cache){.ways = ways, .sets = (uint32_t)(lines / ways), .hashed = hashed};
    if (!(c->sets & (c->sets - 1))) c->set_mask = c->sets - 1;
    uint32_t total = c->sets * c->ways;
    c->line = orr_pages(ways <= ORR_CACHE_FEW ? total + ORR_CACHE_FEW : total, sizeof *c->line);
    c->partial = partial ? orr_pages(total, sizeof *c->partial) : NULL;
    if (ways <= ORR_CACHE_FEW) {
        c->few = orr_pages(c->sets, sizeof *c->few);
    } else if (ways <= ORR_CACHE_PACKED) {
        c->order_at = 2 * ((ways + 3) & ~3u);
        c->stride = 16; // in one host cache line, if it fits
        while (c->stride < 64 && c->stride < c->order_at + ways) c->stride *= 2;
        if (c->stride < c->order_at + ways) c->stride = (c->order_at + ways + 63) & ~63u;
        c->head = orr_pages(c->sets, c->stride);
    } else {
        // Twice as many as lines: what is not there is seldom looked for among others.
        for (c->buckets = 2; c->buckets < 2 * (uint64_t)total; c->buckets *= 2) continue;
        c->bucket = orr_calloc(c->buckets, sizeof *c->bucket);
        c->link = orr_calloc(total, sizeof *c->link);
        c->set = orr_calloc(c->sets, sizeof *c->set);
    }
}

void orr_cache_fold(orr_cache *c, const int64_t *turns, int n) {
    bool fits = n > 0 && c->set_mask;
    for (int i = 0; i < n; i++) fits = fits && (uint64_t)turns[i] <= c->set_mask;
    if (!fits) return;
    uint16_t *table = orr_calloc(3 * 256, sizeof *table); // of each byte of the number
    for (uint32_t i = 0; i < 3 * 256; i++)
        for (uint32_t b = 0; b < 8; b++)
            if (i >> b & 1) table[i] ^= (uint16_t)turns[(i / 256 * 8 + b) % (uint32_t)n];
    c->fold = table;
}

void orr_cache_limit(orr_cache *c, uint32_t lines) {
    c->max_lines = 0;
    if (c->bucket || lines >= c->sets * c->ways) return;
    c->max_lines = lines ? lines : 1;
    c->step = c->sets * 2 / 7 + 1;
    while (orr_gcd(c->step, c->sets) != 1) c->step++; // so that it comes to all of them
}

void orr_cache_free(orr_cache *c) {
    orr_pages_free(c->line);
    orr_pages_free(c->few);
    orr_pages_free(c->head);
    free(c->bucket);
    free(c->link);
    free(c->set);
    orr_pages_free(c->partial);
    free((void *)c->fold);
    memset(c, 0, sizeof *c);
}

// ---- sets of few ways, and packed ones --------------------------------------------------------

static uint16_t *signatures(const orr_cache *c, uint32_t set) {
    return (uint16_t *)(void *)(c->head + (size_t)set * c->stride);
}

void orr_cache_forward_far(uint8_t *order, uint32_t way) {
    uint64_t eight, in = way;
    for (uint32_t at = 0;; at += 8) {
        memcpy(&eight, order + at, 8);
        uint64_t x = eight ^ way * 0x0101010101010101ull;
        x = (x - 0x0101010101010101ull) & ~x & 0x8080808080808080ull;
        uint64_t upto = x ? x ^ (x - 1) : UINT64_MAX, out = eight >> 56;
        eight = (eight & ~upto) | (eight << 8 & upto) | in;
        memcpy(order + at, &eight, 8);
        if (x) return;
        in = out;
    }
}

static void to_back(const orr_cache *c, uint32_t set, uint32_t way) {
    uint32_t k = 0, ways = c->ways;
    if (c->few) {
        uint32_t order = orr_cache_few_order(c, set), newer = orr_cache_few_place(order, way) - 1;
        uint32_t all = (1u << 2 * ways) - 1;
        order = (order & (newer | ~all)) | (order >> 2 & ~newer & all >> 2) | way << 2 * (ways - 1);
        c->few[set] = (uint16_t)((c->few[set] & 0xff00) | order);
        return;
    }
    uint8_t *order = orr_cache_order(c, set);
    while (order[k] != way) k++;
    memmove(order + k, order + k + 1, ways - 1 - k);
    order[ways - 1] = (uint8_t)way;
}

// The way that is number k by use, the newest being 0; whether a way holds a line.
static uint32_t by_use(const orr_cache *c, uint32_t set, uint32_t k) {
    return c->few ? orr_cache_few_order(c, set) >> 2 * k & 3 : orr_cache_order(c, set)[k];
}
static bool is_held(const orr_cache *c, uint32_t set, uint32_t way) {
    return c->few ? c->few[set] >> (8 + way) & 1 : signatures(c, set)[way] != 0;
}
static void hold(const orr_cache *c, uint32_t set, uint32_t way, uint64_t tag) {
    if (c->few)
        c->few[set] |= (uint16_t)(256u << way);
    else
        signatures(c, set)[way] = orr_cache_signature(orr_cache_mix(tag));
}
static void let_go(const orr_cache *c, uint32_t set, uint32_t way) {
    if (c->few)
        c->few[set] &= (uint16_t) ~(256u << way);
    else
        signatures(c, set)[way] = 0;
}

// ---- lists ------------------------------------------------------------------------------------
// Everything in them is counted from 1; 0 is none.

static void unlink_use(orr_cache *c, struct orr_cache_set *s, uint32_t i) {
    const struct orr_cache_link *l = &c->link[i - 1];
    if (l->newer)
        c->link[l->newer - 1].older = l->older;
    else
        s->newest = l->older;
    if (l->older)
        c->link[l->older - 1].newer = l->newer;
    else
        s->oldest = l->newer;
}

static void make_newest(orr_cache *c, struct orr_cache_set *s, uint32_t i) {
    struct orr_cache_link *l = &c->link[i - 1];
    l->newer = 0;
    l->older = s->newest;
    if (l->older)
        c->link[l->older - 1].newer = i;
    else
        s->oldest = i;
    s->newest = i;
}

static void make_oldest(orr_cache *c, struct orr_cache_set *s, uint32_t i) {
    struct orr_cache_link *l = &c->link[i - 1];
    l->older = 0;
    l->newer = s->oldest;
    if (l->newer)
        c->link[l->newer - 1].older = i;
    else
        s->newest = i;
    s->oldest = i;
}

static uint32_t *bucket_of(const orr_cache *c, uint64_t tag) {
    return &c->bucket[orr_cache_mix(tag) & (c->buckets - 1)];
}

static void unlink_bucket(orr_cache *c, uint32_t i) {
    uint32_t *at = bucket_of(c, c->line[i - 1].tag);
    while (*at != i) at = &c->link[*at - 1].chain;
    *at = c->link[i - 1].chain;
}

// ---- both -------------------------------------------------------------------------------------

void orr_cache_touch(orr_cache *c, uint32_t i) {
    uint32_t s = i / c->ways;
    if (!c->bucket) {
        orr_cache_forward(c, s, i - s * c->ways);
    } else if (c->link[i].newer) {
        unlink_use(c, &c->set[s], i + 1);
        make_newest(c, &c->set[s], i + 1);
    }
}

// The slot that is to be taken from set s and whether it holds a line.
static uint32_t oldest(const orr_cache *c, uint32_t s, bool idle, bool *holds) {
    if (!c->bucket) {
        for (uint32_t k = c->ways; k-- > 0;) {
            uint32_t way = by_use(c, s, k), i = s * c->ways + way;
            *holds = is_held(c, s, way);
            if (!*holds || !idle || !c->line[i].pending) return i;
        }
        return ORR_NO_LINE;
    }
    const struct orr_cache_set *set = &c->set[s];
    *holds = set->oldest && c->line[set->oldest - 1].flags;
    if (set->n < c->ways && (!set->oldest || *holds)) { // one that was never used
        *holds = false;
        return s * c->ways + set->n;
    }
    uint32_t i = set->oldest;
    while (idle && i && c->line[i - 1].flags && c->line[i - 1].pending) i = c->link[i - 1].newer;
    return i - 1;
}

// The oldest line of the next set that has one.
static uint32_t next_in_turn(orr_cache *c) {
    for (;;) {
        uint32_t s = c->hand;
        c->hand = (s + c->step) % c->sets;
        for (uint32_t k = c->ways; k-- > 0;) {
            uint32_t way = by_use(c, s, k);
            if (is_held(c, s, way)) return s * c->ways + way;
        }
    }
}

static uint32_t take(orr_cache *c, uint64_t tag, bool idle, orr_cache_line *victim,
                     uint64_t victim_bytes[2]) {
    uint32_t s = orr_cache_set_of(c, tag);
    bool holds;
    uint32_t i = oldest(c, s, idle, &holds);
    if (i == ORR_NO_LINE) return i;
    orr_cache_line *l = &c->line[i];
    if (holds)
        *victim = *l;
    else
        *victim = (orr_cache_line){.user = ORR_NO_LINE};
    if (c->max_lines && !holds) {
        if (c->lines_held == c->max_lines) {
            uint32_t other = next_in_turn(c);
            *victim = c->line[other];
            orr_cache_drop(c, other);
        }
        c->lines_held++;
    }
    if (c->partial && victim_bytes) memset(victim_bytes, 0, sizeof *c->partial);
    if (c->partial && l->flags & ORR_LINE_PARTIAL) { // perhaps from before a flush
        if (holds && victim_bytes) memcpy(victim_bytes, c->partial[i], sizeof *c->partial);
        memset(c->partial[i], 0, sizeof *c->partial);
    }
    if (!c->bucket) {
        uint32_t way = i - s * c->ways;
        hold(c, s, way, tag);
        orr_cache_forward(c, s, way);
    } else {
        struct orr_cache_set *set = &c->set[s];
        if (i == s * c->ways + set->n) // its first use
            set->n++;
        else
            unlink_use(c, set, i + 1);
        make_newest(c, set, i + 1);
        if (holds) unlink_bucket(c, i + 1);
        uint32_t *first = bucket_of(c, tag);
        c->link[i].chain = *first;
        *first = i + 1;
    }
    *l = (orr_cache_line){.tag = tag, .user = ORR_NO_LINE, .flags = 1};
    return i;
}

void orr_cache_prefetch_line(const orr_cache *c, uint64_t tag) {
    if (c->bucket) return;
    uint32_t s = orr_cache_set_of(c, tag);
    uint32_t way =
        c->few ? orr_cache_way(c, s, tag) : orr_cache_like(c, s, orr_cache_signature(orr_cache_mix(tag)), 0);
    if (way == c->ways) way = by_use(c, s, c->ways - 1);
    __builtin_prefetch(&c->line[s * c->ways + way], 1);
    if (c->partial) __builtin_prefetch(&c->partial[s * c->ways + way], 1);
}

uint32_t orr_cache_oldest_of(const orr_cache *c, uint64_t tag, bool (*is)(const orr_cache_line *),
                             uint32_t *n) {
    uint32_t s = orr_cache_set_of(c, tag), found = ORR_NO_LINE;
    *n = 0;
    if (!c->bucket) { // both ways the newest first
        for (uint32_t k = 0; k < c->ways; k++) {
            uint32_t way = by_use(c, s, k), i = s * c->ways + way;
            if (is_held(c, s, way) && is(&c->line[i])) found = i, ++*n;
        }
        return found;
    }
    for (uint32_t at = c->set[s].newest; at; at = c->link[at - 1].older)
        if (c->line[at - 1].flags && is(&c->line[at - 1])) found = at - 1, ++*n;
    return found;
}

uint32_t orr_cache_take(orr_cache *c, uint64_t tag, orr_cache_line *victim, uint64_t victim_bytes[2]) {
    return take(c, tag, false, victim, victim_bytes);
}

uint32_t orr_cache_take_idle(orr_cache *c, uint64_t tag, orr_cache_line *victim, uint64_t victim_bytes[2]) {
    return take(c, tag, true, victim, victim_bytes);
}

void orr_cache_drop(orr_cache *c, uint32_t i) {
    orr_cache_line *l = &c->line[i];
    if (!l->flags) return;
    uint32_t s = i / c->ways;
    if (c->max_lines) c->lines_held--;
    if (!c->bucket) {
        uint32_t way = i - s * c->ways;
        let_go(c, s, way);
        to_back(c, s, way);
    } else {
        struct orr_cache_set *set = &c->set[s];
        unlink_bucket(c, i + 1);
        unlink_use(c, set, i + 1);
        make_oldest(c, set, i + 1);
    }
    if (c->partial && l->flags & ORR_LINE_PARTIAL) memset(c->partial[i], 0, sizeof *c->partial);
    *l = (orr_cache_line){.user = ORR_NO_LINE};
}
