// L2 by latency and bandwidth, and the DRAM channels behind it (fast_memory.h).
//
// A slice's ports, its data, the way to the other half and its atomic units are reservations. L2's tags are
// in short too (tags.h), and a line whose fill is on its way has the time at which it will be there. DRAM is
// in fast_dram.h.
//
// Where L2 has two halves that keep copies of each other's lines (l2.replicate), an SM asks its own; what
// that does not have it gets from the other, half of l2.far_latency away, and keeps.
//
// How long a store takes a port, how many lines of a set may be dirty or there in part, and what happens to
// the one that has to make room, are l2_input.c's and l2_write.c's rules. Which bytes of a sector have been
// stored is not kept: how many words of the line's partial sectors, and whether a sector was stored to again.
#include "memory/fast_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory/fast_dram.h"
#include "memory/l2.h"
#include "memory/memory.h"
#include "memory/tags.h"

typedef struct stored { // a line that was stored to, + 1, and how often
    uint64_t line, n;
} stored;

typedef struct slice {
    orr_reservations in;
    orr_reservations masked[2]; // stores of part of a sector, of this half and of the other (l2.side_switch)
    orr_reservations cross;     // sectors for the other half (l2.far_sector)
    orr_reservations atomics;   // the unit that does them
    uint64_t atomics_end;       // no atomic is worked on from then on
    uint64_t piece;             // of the last atomic, + 1 (l2.atomic_row)
    stored stored[ORR_L2_FAST_STORES];
    orr_reservations stored_at[ORR_L2_FAST_STORES]; // when, of those that were more than once
    orr_l2_merge
        merge[ORR_L2_FAST_MERGES]; // loads that others of the same line and GPC are answered with (l2.merge)
} slice;

// Where the last chunks went: finding it out takes a hash of the whole number.
#define CHUNKS 1024u
#define BEFORE (1u << 23) // bits: so many lines and copies are told apart, 512 MB of them
typedef struct chunk {
    uint64_t number, tag; // number + 1; tag of its first line
    uint32_t unit;
} chunk;

struct orr_fast_memory {
    orr_l2_spec l2;
    orr_fast_dram_spec dram;
    slice *slice;
    orr_tags *tags; // [slice]
    orr_fast_dram *channel;
    orr_interleave map;
    uint8_t *half_of; // SM
    uint16_t *gpc_of;
    // ticks of a slice's port, by sectors: of a load, of a store for the other half, of an atomic; of any
    // other request at least
    uint64_t takes[5], pass_takes[5], least;
    uint64_t
        base; // when the launch began: time goes on from launch to launch, so that nothing has to be cleared
    uint32_t behind_slice; // channels that a slice uses, as a rule
    uint64_t l2_bytes;
    uint64_t lowest, highest; // of lines in a slice
    uint64_t *before;         // bits: lines that have been in L2
    bool crowded;             // some would have stayed in a larger one, and that would have mattered
    orr_memsys_stats stats;
    chunk chunks[CHUNKS];
};

static uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }

orr_fast_memory *orr_fast_new(const orr_gpu *g, orr_err *e) {
    orr_fast_memory *q = orr_calloc(1, sizeof *q);
    if (!orr_interleave_init(&q->map, g, e)) {
        free(q);
        return NULL;
    }
    q->l2_bytes = (uint64_t)g->l2_size;
    orr_fast_dram_spec_read(&q->dram, g);
    orr_l2_spec_read(&q->l2, g, &q->dram.dram);
    q->behind_slice = q->map.units / q->map.slices;
    q->slice = orr_calloc(q->map.slices, sizeof *q->slice);
    q->channel = orr_calloc(q->map.channels, sizeof *q->channel);
    q->half_of = orr_calloc((size_t)g->sm_count, sizeof *q->half_of);
    q->gpc_of = orr_calloc((size_t)g->sm_count, sizeof *q->gpc_of);
    for (uint32_t n = 0; n < (uint32_t)g->sm_count; n++) {
        q->half_of[n] = (uint8_t)orr_half_of_sm(n, q->l2.topology);
        q->gpc_of[n] = (uint16_t)orr_gpc_of_sm(n, q->l2.topology);
    }
    // As l2.c has it: l2.tag_interval is for answers with data, others are taken in a cycle.
    uint64_t cycle = q->l2.tag_interval < q->l2.cycle ? q->l2.tag_interval : q->l2.cycle;
    q->least = cycle;
    for (uint64_t n = 0; n < 5; n++) {
        q->takes[n] = max(q->l2.tag_interval, n * q->l2.sector);
        q->pass_takes[n] = max(cycle, n * q->l2.sector);
    }
    uint64_t bytes = (uint64_t)g->l2_size / (uint64_t)g->l2_slices;
    q->tags = orr_calloc(q->map.slices, sizeof *q->tags);
    orr_tags_init(q->tags, q->map.slices, bytes / ORR_LINE, (uint32_t)g->l2_ways, g->l2_hashed);
    // Lines of a chunk share a set, a quarter of its ways at most: it is one line of the host's cache.
    uint32_t together = 0;
    while (together < q->l2.chunk_shift && 8u << together <= q->tags[0].ways) together++;
    for (uint32_t n = 0; n < q->map.slices; n++) orr_tags_group(&q->tags[n], together);
    q->lowest = UINT64_MAX;
    q->before = orr_calloc(BEFORE / 64, sizeof *q->before);
    for (uint32_t c = 0; c < q->map.channels; c++) orr_fast_dram_init(&q->channel[c], &q->dram, c);
    return q;
}

void orr_fast_free(orr_fast_memory *q) {
    if (!q) return;
    orr_tags_free(q->tags);
    free(q->tags);
    free(q->before);
    for (uint32_t c = 0; c < q->map.channels; c++) orr_fast_dram_free(&q->channel[c]);
    free(q->slice);
    free(q->channel);
    orr_interleave_free(&q->map);
    free(q->half_of);
    free(q->gpc_of);
    free(q);
}

// Books `cost` ticks at or after t; when it begins.
static uint64_t book(orr_reservations *r, uint64_t t, uint64_t cost) {
    return orr_reserve(r, t, cost, ORR_FAST_SLOT) - cost;
}

// ---- DRAM --------------------------------------------------------------------------------------

// The slice of the other half that keeps copies of a unit's lines.
static inline uint32_t other_slice(const orr_fast_memory *q, const orr_memory_unit *u) {
    uint32_t other = u->slice + q->map.slices / 2;
    return other < q->map.slices ? other : other - q->map.slices;
}

// A unit of that slice, for what copies make it write back: whose lines these are is not known, so as often
// the one as the other.
static inline uint32_t other_unit(const orr_fast_memory *q, uint32_t at) {
    uint32_t other = other_slice(q, &q->map.unit[at]) * q->behind_slice + at % q->behind_slice;
    return other < q->map.units ? other : at;
}

// The channel of a line of a unit's slice, and the line's number there.
static orr_fast_dram *channel_of(orr_fast_memory *q, uint32_t at, uint64_t tag, uint64_t *line) {
    uint32_t shift = q->l2.chunk_shift;
    const orr_memory_unit *u = &q->map.unit[at];
    uint64_t chunk = tag >> shift;
    if (u->channels > 1) chunk /= u->channels;
    chunk = chunk * u->slices + u->place;
    *line = chunk << shift | (tag & ((1ull << shift) - 1));
    return &q->channel[u->channel];
}

static uint64_t read_dram(orr_fast_memory *q, uint32_t at, uint64_t tag, uint8_t sectors, uint64_t t) {
    uint64_t line;
    orr_fast_dram *d = channel_of(q, at, tag, &line);
    q->stats.dram_read += orr_sectors_in(sectors);
    return orr_fast_dram_read(d, &q->dram, line, sectors, t + q->l2.to_dram, q->base) + q->l2.from_dram;
}

// A line that has made room for line `tag` is written. Where it was in memory is not kept: lines that come
// one after the other take the place of such, so it is taken to be as far from the last one, in another row.
#define ELSEWHERE (1ull << 27)
static void write_dram(orr_fast_memory *q, uint32_t at, uint64_t tag, uint8_t sectors, uint64_t t) {
    uint64_t line;
    orr_fast_dram *d = channel_of(q, at, tag + ELSEWHERE, &line);
    q->stats.dram_write += orr_sectors_in(sectors);
    bool halves = q->l2.partial.own_row && sectors != 15; // as l2_mshr.c: each in a row of its own
    for (uint8_t half = 3; half < 16; half = halves ? half << 2 : 16) {
        uint8_t some = halves ? sectors & half : sectors;
        if (some)
            orr_fast_dram_write(d, &q->dram, halves ? line + half * ELSEWHERE : line, some,
                                t + q->l2.to_dram);
    }
}

// ---- L2 ----------------------------------------------------------------------------------------

static void find_unit(orr_fast_memory *q, uint64_t number, chunk *c) {
    uint64_t round;
    c->number = number + 1;
    c->unit = orr_interleave_chunk(&q->map, number, &round);
    c->tag = orr_chunk_of_slice(&q->map, c->unit, round) << q->l2.chunk_shift;
}

static inline uint32_t unit_of(orr_fast_memory *q, uint64_t line, uint64_t *tag) {
    uint64_t number = line >> q->l2.chunk_shift, within = line & ((1ull << q->l2.chunk_shift) - 1);
    chunk *c = &q->chunks[number % CHUNKS];
    if (c->number != number + 1) find_unit(q, number, c);
    *tag = c->tag | within;
    return c->unit;
}

// A load that meets another of its line and GPC, on its way or not long answered (l2.c), has its answer.
static inline orr_l2_merge *merge_at(slice *s, uint64_t tag, uint32_t gpc) {
    return &s->merge[(tag * 0x9e3779b97f4a7c15u >> 58 ^ gpc) % ORR_L2_FAST_MERGES];
}
orr_fast_place orr_fast_find(orr_fast_memory *q, uint64_t line, uint32_t sm, bool loads) {
    orr_fast_place p;
    p.unit = (uint16_t)unit_of(q, line, &p.tag);
    const orr_memory_unit *u = &q->map.unit[p.unit];
    p.gpc = q->gpc_of[sm];
    p.sm = (uint16_t)sm;
    p.far = q->l2.halves.copies && q->half_of[sm] != u->side;
    // What it will touch: its set, that of its copy, for loads whom they may meet, for stores those before.
    orr_tags_prefetch(&q->tags[u->slice], p.tag);
    if (!loads) __builtin_prefetch(&q->slice[u->slice].stored[p.tag % ORR_L2_FAST_STORES], 1);
    if (!loads) orr_tags_prefetch_merged(&q->tags[u->slice], p.tag);
    if (p.far || (q->l2.halves.copies && !loads))
        orr_tags_prefetch(&q->tags[other_slice(q, u)], p.tag | ORR_L2_FAR);
    if (loads && q->l2.merge.max_loads > 1) {
        uint64_t here = p.far ? p.tag | ORR_L2_FAR : p.tag;
        __builtin_prefetch(merge_at(&q->slice[p.far ? other_slice(q, u) : u->slice], here, p.gpc), 1);
    }
    return p;
}

int orr_fast_side_of(const orr_fast_memory *q, const orr_fast_place *p) { return q->map.unit[p->unit].side; }

typedef struct line { // of a slice
    orr_tag at;
    uint32_t way;
} line;

// Times of lines are cycles, 32 bits of them; how many of them are left at t, 0: it is there.
static inline uint64_t left(const line *l, uint64_t t) {
    uint32_t now = (uint32_t)(t / ORR_TICKS), n = l->at.set->latest - now;
    if (!(l->at.set->coming >> l->way & 1) || n >= 1u << 24) return 0;
    n = l->at.when[l->way] - now;
    return n < 1u << 24 ? n : 0;
}
static inline uint64_t comes(const line *l, uint64_t t) {
    uint64_t n = left(l, t);
    return n ? (t / ORR_TICKS + n) * ORR_TICKS : t;
}
// More of it comes, at `there`.
static inline void expect(const line *l, uint8_t sectors, uint64_t t, uint64_t there) {
    uint32_t when = (uint32_t)((there + ORR_TICKS - 1) / ORR_TICKS);
    if (comes(l, t) < there) l->at.when[l->way] = when;
    if ((uint32_t)(when - l->at.set->latest) < 1u << 31) l->at.set->latest = when;
    l->at.set->coming |= (uint16_t)(1u << l->way);
    l->at.set->sectors[l->way] |= sectors;
}

// A line is put in the place of another, which had `dirty` sectors.
static inline void put(orr_fast_memory *q, uint32_t slice, uint64_t tag, uint8_t dirty) {
    uint64_t line = tag & ~ORR_L2_FAR;
    uint32_t at = (uint32_t)((line * q->map.slices + slice) << 1 | tag >> 62) % BEFORE;
    if (line < q->lowest) q->lowest = line;
    if (line > q->highest) q->highest = line;
    q->crowded |= dirty || q->before[at / 64] >> at % 64 & 1;
    q->before[at / 64] |= 1ull << at % 64;
}

// The oldest line of a set makes room for another: its way.
static uint32_t replace(orr_fast_memory *q, uint32_t at, uint32_t slice, orr_tag_set *set, uint64_t tag,
                        uint64_t t) {
    uint32_t way = (uint32_t)(set->order >> 4 * (q->tags[slice].ways - 1)) & 15;
    uint8_t dirty = set->sectors[way] >> 4;
    bool old = set->tag[way] != 0;
    put(q, slice, tag, old ? dirty : 0);
    set->sectors[way] = 0;
    set->coming &= (uint16_t) ~(1u << way);
    if (old && dirty) write_dram(q, at, tag, dirty, t);
    return way;
}

// The line of a tag in a slice. Its members are stored one by one: the host would read a copy of the whole
// only when all stores before have left its buffer.
__attribute__((always_inline)) static inline void line_of(orr_fast_memory *q, uint32_t at, uint32_t slice,
                                                          uint64_t tag, uint64_t t, line *l) {
    orr_tag x = orr_tags_of(&q->tags[slice], tag);
    uint32_t way = orr_tags_find(&x);
    if (way == ORR_NO_WAY) {
        way = replace(q, at, slice, x.set, tag, t);
        x.set->tag[way] = x.tag;
    }
    orr_tags_touch(&x, way);
    l->at.set = x.set;
    l->at.when = x.when;
    l->at.merged = x.merged;
    l->at.tag = x.tag;
    l->way = way;
}

static inline bool join(const orr_fast_memory *q, orr_l2_merge *e, uint64_t tag, uint32_t gpc,
                        uint8_t sectors, uint64_t time) {
    if (e->line != tag || e->gpc != gpc || e->sectors != sectors || !e->loads ||
        e->loads >= q->l2.merge.max_loads || time > e->reply + q->l2.merge.window)
        return false;
    e->loads++;
    return true;
}

// ---- lines that are dirty or there in part: l2_write.c's rules ----------------------------------

#define NIBBLES 0x0f0f0f0f0f0f0f0full
// Of the ways of a set, bit 4 of a byte each: those with dirty sectors that are all there, or with sectors of
// which some bytes are there.
static void dirty_ways(const orr_tag_set *set, bool in_part, uint64_t out[2]) {
    for (int k = 0; k < 2; k++) {
        uint64_t x;
        memcpy(&x, set->sectors + 8 * k, 8);
        uint64_t dirty = x >> 4 & NIBBLES, part = dirty & ~x;
        uint64_t has_part = (part + NIBBLES) & 0x1010101010101010ull;
        out[k] = in_part ? has_part : (dirty + NIBBLES) & 0x1010101010101010ull & ~has_part;
    }
}

// The way that has to make room in a set that may have its share of `lines` such; ORR_NO_WAY: there is room.
static uint32_t over_limit(const orr_tags *tags, const orr_tag_set *set, uint32_t lines, bool in_part) {
    uint64_t at = (uint64_t)(set - tags->set),
             share = (at + 1) * lines / tags->sets - at * lines / tags->sets;
    uint64_t ways[2];
    dirty_ways(set, in_part, ways);
    if ((uint64_t)orr_popc64(ways[0]) + (uint64_t)orr_popc64(ways[1]) < (share ? share : 1))
        return ORR_NO_WAY;
    for (uint32_t k = tags->ways; k-- > 0;) {
        uint32_t way = (uint32_t)(set->order >> 4 * k) & 15;
        if (ways[way / 8] >> (way % 8 * 8 + 4) & 1) return way;
    }
    return ORR_NO_WAY;
}

// What is kept of the partial sectors of a line: words that were stored, and how they came.
#define WORDS  63
#define SPREAD 128 // sectors came one by one

// Room for one more dirty line: another is written back, and stays.
static void limit_dirty(orr_fast_memory *q, uint32_t at, const line *l, uint64_t tag, uint64_t t) {
    if (!q->l2.max_dirty || l->at.set->sectors[l->way] >> 4) return;
    uint32_t way = over_limit(&q->tags[q->map.unit[at].slice], l->at.set, q->l2.max_dirty, false);
    if (way == ORR_NO_WAY) return;
    write_dram(q, at, tag, l->at.set->sectors[way] >> 4, t);
    l->at.set->sectors[way] &= 15;
}

// Room for one more line that is there in part: the bytes that another lacks are read, and it is written
// back.
static void limit_partial(orr_fast_memory *q, uint32_t at, const line *l, uint64_t tag, uint64_t t) {
    if (!q->l2.partial.max_partial) return;
    uint32_t way = over_limit(&q->tags[q->map.unit[at].slice], l->at.set, q->l2.partial.max_partial, true);
    if (way == ORR_NO_WAY) return;
    uint8_t *sectors = &l->at.set->sectors[way], part = *sectors >> 4 & (uint8_t) ~*sectors & 15;
    uint64_t elsewhere = tag;
    for (uint8_t left = part, some; left; left &= (uint8_t)~some) {
        some = q->l2.partial.own_row && l->at.merged[way] & SPREAD ? left & -left : left;
        elsewhere += ELSEWHERE;
        read_dram(q, at, elsewhere, some, t);
        write_dram(q, at, elsewhere, some, t);
    }
    *sectors |= part;
    *sectors &= (uint8_t) ~(part << 4);
}

// Words of part of sectors `part` are stored. Those that are whole now:
static uint8_t add_words(const line *l, uint8_t part, uint8_t were, uint32_t words) {
    uint8_t *kept = &l->at.merged[l->way];
    if (!were) *kept = 0;
    if (were && part & (uint8_t)~were) *kept |= SPREAD;
    uint32_t all = (*kept & WORDS) + words, n = orr_sectors_in(were | part);
    *kept = (uint8_t)((*kept & ~WORDS) | (all < WORDS ? all : WORDS));
    return all >= n * (ORR_SECTOR / 4) ? were | part : 0;
}

// A store at its line's slice, at t.
static void store(orr_fast_memory *q, const orr_fast_place *p, const orr_request *r, uint8_t whole,
                  uint64_t t) {
    uint32_t at = p->unit;
    uint64_t tag = p->tag;
    line l;
    line_of(q, at, q->map.unit[at].slice, tag, t, &l);
    uint8_t *sectors = &l.at.set->sectors[l.way], here = *sectors & 15, were = *sectors >> 4 & (uint8_t)~here,
            part = r->sectors & (uint8_t) ~(whole | here);
    if (part && !were && !q->l2.write_fetch) limit_partial(q, at, &l, tag, t);
    limit_dirty(q, at, &l, tag, t);
    uint8_t full = part && !q->l2.write_fetch ? add_words(&l, part, were, r->ops) : 0;
    *sectors |= (uint8_t)(r->sectors << 4 | (whole & r->sectors) | full);
    if (part && q->l2.write_fetch) expect(&l, part, t, read_dram(q, at, tag, part, t));
    q->stats.write[r->from] += orr_sectors_in(r->sectors);
}

// Sectors leave by a slice's port from t on; the time of the last. The port is as wide as the one that a
// load has come by, which was taken for as long as its sectors need: it does not wait twice.
static inline uint64_t leave(const orr_fast_memory *q, uint64_t n, uint64_t t) {
    return n ? t + (n - 1) * q->l2.sector : t;
}

// Sectors of a line at its own slice, for a load or an atomic: when they are there.
__attribute__((always_inline)) static inline void want(orr_fast_memory *q, uint32_t at, uint64_t tag,
                                                       uint8_t sectors, uint64_t *t, line *l) {
    line_of(q, at, q->map.unit[at].slice, tag, *t, l);
    uint8_t here = orr_tags_valid(&l->at, l->way), lack = sectors & (uint8_t)~here;
    if (lack) {
        lack = orr_l2_widened(lack, q->l2.sector_shift) & (uint8_t)~here;
        uint64_t there = read_dram(q, at, tag, lack, *t);
        expect(l, lack, *t, there);
    }
    *t = comes(l, *t);
}

// Behind the atomics that a slice has to do at t.
static inline uint64_t after_atomics(slice *s, uint64_t t) {
    if (t >= s->atomics_end) return t;
    return book(&s->atomics, t, 1);
}

// A load at the slice of its line; returns when its last sector leaves.
__attribute__((always_inline)) static inline uint64_t load(orr_fast_memory *q, uint32_t at, uint64_t tag,
                                                           uint8_t sectors, uint64_t t) {
    if (q->l2.atomic.load_gap) t = after_atomics(&q->slice[q->map.unit[at].slice], t); // as l2_input.c
    line l;
    want(q, at, tag, sectors, &t, &l);
    return leave(q, orr_sectors_in(sectors), t);
}

// *late: its line had to be fetched.
static uint64_t atomic(orr_fast_memory *q, uint32_t at, const orr_request *r, uint64_t tag, bool *late,
                       uint64_t t) {
    uint64_t asked = t;
    line l;
    want(q, at, tag, r->sectors, &t, &l);
    *late = t > asked;
    uint64_t n = orr_sectors_in(r->sectors), ops = (r->ops ? r->ops : 1) * q->l2.atomic.op;
    slice *s = &q->slice[q->map.unit[at].slice];
    q->stats.atomics.n += n;
    limit_dirty(q, at, &l, tag, t);
    l.at.set->sectors[l.way] |= (uint8_t)(r->sectors << 4);
    if (q->l2.atomic.row_sector) { // the sectors of another piece are read first, while the work goes on
        uint64_t piece = (tag >> q->l2.chunk_shift >> 2) + 1;
        if (s->piece != piece) ops = max(ops, n * q->l2.atomic.row_sector);
        s->piece = piece;
    }
    t = book(&s->atomics, t, ops) + ops;
    s->atomics_end = max(s->atomics_end, t);
    return r->kind == ORR_REQ_REDUCE ? t : leave(q, n, t + q->l2.atomic.latency);
}

// Sectors go to the other half (l2.far_sector); when the last of them leaves.
static uint64_t cross(const orr_fast_memory *q, slice *s, uint8_t sectors, uint64_t t) {
    uint64_t n = orr_sectors_in(sectors), each = q->l2.halves.sector;
    return each && n ? book(&s->cross, t, n * each) + (n - 1) * each : t;
}

// A load of a line of the other half: from this half's copy, or from there and kept.
__attribute__((noinline)) static uint64_t load_copy(orr_fast_memory *q, uint32_t at, uint64_t tag,
                                                    uint8_t sectors, uint64_t t) {
    const orr_memory_unit *u = &q->map.unit[at];
    line l;
    line_of(q, other_unit(q, at), other_slice(q, u), tag | ORR_L2_FAR, t, &l);
    uint8_t missing = sectors & (uint8_t)~orr_tags_valid(&l.at, l.way);
    if (missing) {
        uint64_t takes = q->takes[orr_sectors_in(missing)];
        uint64_t there = book(&q->slice[u->slice].in, t + q->l2.halves.latency, takes);
        there = cross(q, &q->slice[u->slice], missing, load(q, at, tag, missing, there));
        expect(&l, missing, t, there + q->l2.halves.latency);
    }
    return leave(q, orr_sectors_in(sectors), comes(&l, t));
}

// A line is written: the other half's copy is old. A store of the other half leaves the sectors that it
// writes whole there (l2.invalidate_replicas).
static void change_copy(orr_fast_memory *q, uint32_t at, uint64_t tag, uint8_t kept, uint64_t t) {
    uint32_t other = other_slice(q, &q->map.unit[at]);
    if (kept) {
        line l;
        line_of(q, other_unit(q, at), other, tag | ORR_L2_FAR, t, &l);
        l.at.set->sectors[l.way] |= kept;
        return;
    }
    orr_tag copy = orr_tags_of(&q->tags[other], tag | ORR_L2_FAR);
    uint32_t way = orr_tags_find(&copy);
    if (way != ORR_NO_WAY) copy.set->sectors[way] = 0;
}

orr_fast_reply orr_fast_load(orr_fast_memory *q, const orr_fast_place *p, uint8_t sectors, int from,
                             uint64_t time) {
    const orr_memory_unit *u = &q->map.unit[p->unit];
    slice *s = &q->slice[p->far ? other_slice(q, u) : u->slice];
    uint64_t here = p->far ? p->tag | ORR_L2_FAR : p->tag, n = orr_sectors_in(sectors);
    orr_fast_reply reply = {.taken = time + q->base};
    bool meets = q->l2.merge.max_loads > 1;
    orr_l2_merge *e = merge_at(s, here, p->gpc);
    if (meets && join(q, e, here, p->gpc, sectors, reply.taken)) {
        reply.done = max(e->sent, reply.taken);
    } else {
        reply.taken = book(&s->in, reply.taken, q->takes[n]);
        q->stats.requests++;
        q->stats.read[from] += n;
        reply.done = p->far ? load_copy(q, p->unit, p->tag, sectors, reply.taken)
                            : load(q, p->unit, p->tag, sectors, reply.taken);
        if (meets)
            *e = (orr_l2_merge){.line = here,
                                .reply = reply.done,
                                .sent = reply.done,
                                .gpc = p->gpc,
                                .loads = 1,
                                .sectors = sectors};
    }
    reply.taken -= q->base;
    reply.done -= q->base;
    if (reply.done > q->stats.last) q->stats.last = reply.done;
    return reply;
}

// When a store to a line can be taken that has been stored to before: l2.same_line_store after the last. With
// l2.side_switch it can at once; where both halves store to the line one half's go before the other's, which
// wait, and where one does they share a port: so they are one after the other, whoever stores.
static uint64_t after_stores(const orr_fast_memory *q, slice *s, uint64_t tag, uint64_t t, uint64_t own) {
    stored *last = &s->stored[tag % ORR_L2_FAST_STORES];
    if (last->line != tag + 1) {
        if (last->n > 1) // one that many store to stays
            last->n -= last->n / 8 + 1;
        else
            *last = (stored){.line = tag + 1};
        return t;
    }
    orr_reservations *times = &s->stored_at[tag % ORR_L2_FAST_STORES];
    if (!last->n++) memset(times, 0, sizeof *times); // of another line
    uint64_t apart = q->l2.store.side_switch ? own : q->l2.store.same_line;
    return apart ? book(times, t, apart) : t;
}

// A store at its line's own slice: when it is taken, and in *done when it is in L2.
static uint64_t take_store(orr_fast_memory *q, const orr_fast_place *p, const orr_request *r, uint8_t whole,
                           uint64_t t, uint64_t *done) {
    slice *s = &q->slice[q->map.unit[p->unit].slice];
    uint64_t n = orr_sectors_in(r->sectors), part = orr_sectors_in(r->sectors & (uint8_t)~whole);
    bool masked = part && q->l2.store.side_switch;
    uint64_t own = orr_l2_store_time(&q->l2, n - part, part, q->l2.store.sector);
    uint64_t then = after_stores(q, s, p->tag, t, own);
    if (masked) { // what is no such store passes in between
        if (!p->far) then = book(&s->in, then, q->least);
        t = book(&s->masked[p->far], then, own);
    } else { // while it waits at the input, all that is behind it does
        t = book(&s->in, then, max(max(own, q->least), then > t ? q->l2.store.same_line : 0));
    }
    store(q, p, r, whole, t);
    *done = t;
    return t;
}

// A store or an atomic passes the slice of its SM's half, on its way to the other: when it is there.
static uint64_t pass(orr_fast_memory *q, slice *s, const orr_request *r, uint8_t whole, uint64_t t,
                     uint64_t *taken) {
    uint64_t n = orr_sectors_in(r->sectors), part = orr_sectors_in(r->sectors & (uint8_t)~whole);
    bool stores = r->kind == ORR_REQ_WRITE, masked = stores && part && q->l2.store.side_switch;
    t = book(&s->in, t, !stores || masked ? q->least : q->pass_takes[n]);
    if (masked) t = book(&s->masked[0], t, orr_l2_store_time(&q->l2, n - part, part, q->l2.sector));
    *taken = t;
    return (stores ? cross(q, s, r->sectors, t) : t) + q->l2.halves.latency;
}

// Done at the line's own slice, though an SM of the other half has asked its own.
orr_fast_reply orr_fast_change(orr_fast_memory *q, const orr_fast_place *p, const orr_request *r,
                               uint8_t whole) {
    const orr_memory_unit *u = &q->map.unit[p->unit];
    slice *home = &q->slice[u->slice];
    bool stores = r->kind == ORR_REQ_WRITE, late = false;
    uint64_t t = r->time + q->base, taken = 0, done;
    q->stats.requests++;
    if (p->far) t = pass(q, &q->slice[other_slice(q, u)], r, whole, t, &taken);
    if (q->l2.halves.copies)
        change_copy(q, p->unit, p->tag, stores && p->far && q->l2.halves.acknowledge ? whole & r->sectors : 0,
                    t);
    if (stores) {
        t = take_store(q, p, r, whole, t, &done);
    } else {
        t = book(&home->in, t, q->pass_takes[orr_sectors_in(r->sectors)]);
        done = atomic(q, p->unit, r, p->tag, &late, t);
    }
    orr_fast_reply reply = {.taken = (p->far ? taken : t) - q->base};
    if (p->far && r->kind == ORR_REQ_ATOMIC) done += q->l2.halves.latency;
    reply.done = done - q->base;
    // as l2.c: nobody waits for a reduction whose line was not there
    if (reply.done > q->stats.last && !(late && r->kind == ORR_REQ_REDUCE)) q->stats.last = reply.done;
    return reply;
}

uint64_t orr_fast_fence(orr_fast_memory *q, const orr_fast_place *p, uint64_t time) {
    const orr_memory_unit *u = &q->map.unit[p->unit];
    slice *home = &q->slice[u->slice];
    uint64_t far = p->far ? q->l2.halves.latency : 0, t = time + q->base;
    if (p->far) t = book(&q->slice[other_slice(q, u)].in, t, max(1, 2 * q->l2.fence_interval)) + far;
    t = book(&home->in, t, max(1, q->l2.fence_interval));
    return after_atomics(home, t) + far - q->base;
}

// ---- from outside ------------------------------------------------------------------------------

// The line of a tag in a slice, without time: who makes room for it is gone.
static line without_time(orr_fast_memory *q, uint32_t slice, uint64_t tag) {
    const orr_tags *tags = &q->tags[slice];
    line l = {.at = orr_tags_of(tags, tag)};
    l.way = orr_tags_find(&l.at);
    if (l.way == ORR_NO_WAY) {
        l.way = orr_tags_oldest(tags, &l.at);
        put(q, slice, tag, l.at.set->tag[l.way] ? l.at.set->sectors[l.way] >> 4 : 0);
        orr_tags_put(&l.at, l.way, l.at.tag);
    }
    orr_tags_touch(&l.at, l.way);
    return l;
}

void orr_fast_warm(orr_fast_memory *q, uint32_t sm, const orr_touched *t) {
    uint64_t tag;
    uint32_t unit = unit_of(q, t->line, &tag);
    const orr_memory_unit *u = &q->map.unit[unit];
    bool far = q->l2.halves.copies && q->half_of[sm] != u->side;
    line l = without_time(q, u->slice, tag);
    uint8_t *sectors = &l.at.set->sectors[l.way];
    if (t->write && q->l2.max_dirty && !(*sectors >> 4)) { // limit_dirty, without the time
        uint32_t way = over_limit(&q->tags[u->slice], l.at.set, q->l2.max_dirty, false);
        if (way != ORR_NO_WAY) l.at.set->sectors[way] &= 15;
    }
    *sectors |= (uint8_t)(t->sectors | (t->write ? t->sectors << 4 : 0));
    if (far && !t->write) {
        line copy = without_time(q, other_slice(q, u), tag | ORR_L2_FAR);
        copy.at.set->sectors[copy.way] |= t->sectors;
    } else if (q->l2.halves.copies && t->write) {
        orr_tag copy = orr_tags_of(&q->tags[other_slice(q, u)], tag | ORR_L2_FAR);
        uint32_t way = orr_tags_find(&copy);
        if (way != ORR_NO_WAY) copy.set->sectors[way] = 0;
    }
}

void orr_fast_copy(orr_fast_memory *q, uint64_t addr, uint64_t bytes) {
    if (!bytes) return;
    uint64_t last = addr + bytes - 1 < addr ? UINT64_MAX : addr + bytes - 1; // hostile sizes
    if (last - addr >= q->l2_bytes) {
        addr = last - q->l2_bytes + 1;
        q->crowded = true;
    }
    for (uint64_t at = addr / ORR_LINE; at <= last / ORR_LINE; at++) {
        uint8_t sectors = 15;
        if (at == addr / ORR_LINE) sectors &= (uint8_t)(15 << addr % ORR_LINE / ORR_SECTOR);
        if (at == last / ORR_LINE) sectors &= (uint8_t)(15 >> (3 - last % ORR_LINE / ORR_SECTOR));
        uint64_t tag;
        uint32_t unit = unit_of(q, at, &tag);
        line l = without_time(q, q->map.unit[unit].slice, tag);
        uint8_t *here = &l.at.set->sectors[l.way];
        *here = (*here | sectors) & (uint8_t) ~(sectors << 4);
    }
}

void orr_fast_flush(orr_fast_memory *q) {
    for (uint32_t s = 0; s < q->map.slices; s++) orr_tags_flush(&q->tags[s]);
    memset(q->before, 0, BEFORE / 8);
}

void orr_fast_restart(orr_fast_memory *q) {
    // What was on its way has come when the next launch looks.
    uint64_t past = q->stats.last + (q->l2.to_dram + q->l2.from_dram), stretch = 1ull << ORR_FAST_SLOT;
    q->base = ((q->base + past) / stretch + 4 * ORR_RESERVATION_SLOTS) * stretch;
    q->stats = (orr_memsys_stats){0};
}

uint64_t orr_fast_barriers(const orr_fast_memory *q, uint64_t sms) {
    uint64_t each = q->stats.requests / q->map.slices + 1, n = sms < each ? sms : each;
    return q->l2.halves.copies ? orr_l2_barrier_time(&q->l2, n / 2, n - n / 2)
                               : orr_l2_barrier_time(&q->l2, n, 0);
}

const orr_memsys_stats *orr_fast_stats(const orr_fast_memory *q) { return &q->stats; }

bool orr_fast_roomy(const orr_fast_memory *q) {
    return !q->crowded && (q->lowest > q->highest || q->highest - q->lowest < orr_tags_reach(&q->tags[0]));
}
