// L2 and DRAM by latency and bandwidth (fast_memory.h).
//
// A slice's port, its atomic units, a channel's bus and its activations are reservations. L2's tags are in
// short too (tags.h), and a line whose fill is on its way has the time at which it will be there. A bank has
// the row that was opened last: another one costs an activation, and the bank is not free for the next before
// tRC. What fr-fcfs does with a queue, serving an open row first, is had by looking back: a request that came
// before its bank changed rows still finds the old one open. Writes to DRAM take their share of the bus.
// Refresh and the like (dram.efficiency) make every use of the bus longer.
//
// Where L2 has two halves that keep copies of each other's lines (l2.replicate), an SM asks its own; what
// that does not have it gets from the other, half of l2.far_latency away, and keeps.
#include "memory/fast_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory/l2.h"
#include "memory/reservations.h"
#include "memory/memory.h"
#include "memory/tags.h"

typedef struct bank {
    _Alignas(64) uint64_t row; // + 1
    uint64_t before;           // open, and the one before
    uint64_t opened, column, activate, used;
} bank;

typedef struct channel {
    orr_reservations bus, activations;
    bank *bank;
} channel;

typedef struct stored { // a line that was stored to, + 1, how often, and when, if that is more than once
    uint64_t line, n;
    orr_reservations times;
} stored;

typedef struct slice {
    orr_reservations in, atomics[2]; // atomics: by a line's lowest bits (l2.atomic_units)
    stored stored[ORR_L2_FAST_STORES];
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
    orr_dram_spec dram;
    slice *slice;
    orr_tags *tags; // [slice]
    channel *channel;
    orr_interleave map;
    uint8_t *half_of; // SM
    uint16_t *gpc_of;
    // ticks of a slice's port, by sectors: of a load, of a store, of one for the other half, of an atomic
    uint64_t takes[5], write_takes[5], pass_takes[5], atomic_takes[5], atomic_pass;
    uint64_t
        base; // when the launch began: time goes on from launch to launch, so that nothing has to be cleared
    uint64_t column;       // with what refresh takes
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
    orr_dram_spec_read(&q->dram, g);
    orr_l2_spec_read(&q->l2, g, &q->dram);
    q->column = (uint64_t)((double)q->dram.timing.column * 100 / g->dram_efficiency);
    q->behind_slice = q->map.units / q->map.slices;
    q->slice = orr_calloc(q->map.slices, sizeof *q->slice);
    q->channel = orr_calloc(q->map.channels, sizeof *q->channel);
    q->half_of = orr_calloc((size_t)g->sm_count, sizeof *q->half_of);
    q->gpc_of = orr_calloc((size_t)g->sm_count, sizeof *q->gpc_of);
    for (uint32_t n = 0; n < (uint32_t)g->sm_count; n++) {
        q->half_of[n] = (uint8_t)orr_half_of_sm(n, q->l2.topology);
        q->gpc_of[n] = (uint16_t)orr_gpc_of_sm(n, q->l2.topology);
    }
    // As l2.c has it: l2.tag_interval is for answers with data, others are taken in a cycle; atomics by two
    // units.
    uint64_t cycle = q->l2.lookup < q->l2.cycle ? q->l2.lookup : q->l2.cycle;
    uint64_t atomic = q->l2.atomic.unit_mask ? q->l2.cycle / 2 : cycle;
    q->atomic_pass = atomic;
    for (uint64_t n = 0; n < 5; n++) {
        q->takes[n] = max(q->l2.lookup, n * q->l2.sector);
        q->write_takes[n] = max(cycle, n * q->l2.store.sector);
        q->pass_takes[n] = max(cycle, n * q->l2.sector);
        q->atomic_takes[n] = max(atomic, n * q->l2.sector);
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
    for (uint32_t c = 0; c < q->map.channels; c++)
        q->channel[c].bank = orr_apart(q->dram.map.banks, sizeof(bank));
    return q;
}

void orr_fast_free(orr_fast_memory *q) {
    if (!q) return;
    orr_tags_free(q->tags);
    free(q->tags);
    free(q->before);
    for (uint32_t c = 0; c < q->map.channels; c++) free(q->channel[c].bank);
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

static uint64_t dram(orr_fast_memory *q, uint32_t at, uint64_t tag, uint8_t sectors, bool write, uint64_t t) {
    const orr_dram_spec *c = &q->dram;
    uint32_t shift = q->l2.chunk_shift;
    const orr_memory_unit *u = &q->map.unit[at];
    channel *ch = &q->channel[u->channel];
    uint64_t chunk = tag >> shift;
    if (u->channels > 1) chunk /= u->channels;
    chunk = chunk * u->slices + u->place;
    uint64_t row, line = chunk << shift | (tag & ((1ull << shift) - 1));
    uint32_t n = orr_dram_columns(&c->map, sectors);
    (write ? &q->stats.dram_write : &q->stats.dram_read)[0] += orr_sectors_in(sectors);
    t += q->l2.to_dram;
    bank *b = &ch->bank[orr_dram_bank_of(&c->map, line, false, &row)]; // refresh is not simulated
    bool hit = b->row == row + 1 && t < b->used + c->policy.idle;
    hit |= b->before == row + 1 && t < b->opened;
    if (!hit && !write) {
        uint64_t open = max(t + (b->row && t < b->used + c->policy.idle ? c->timing.rp : 0), b->activate);
        open = book(&ch->activations, open, c->timing.rrd);
        b->before = b->row;
        b->row = row + 1;
        b->opened = open;
        b->column = open + c->timing.rcd;
        b->activate = open + c->timing.rc;
    }
    uint64_t ready = b->row == row + 1 ? max(t, b->column) : t;
    b->used = max(b->used, ready);
    uint64_t data = book(&ch->bus, ready + (write ? c->timing.wl : c->timing.cl), n * q->column);
    uint64_t end = max(data + n * c->timing.column, data + (n - 1) * c->timing.same_group + c->timing.column);
    return end + (write ? 0 : q->l2.from_dram);
}

// ---- L2 ----------------------------------------------------------------------------------------

static void find_unit(orr_fast_memory *q, uint64_t number, chunk *c) {
    uint64_t round;
    c->number = number + 1;
    c->unit = orr_spread_unit(&q->map.spread, number, &round);
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
    // What it will touch: its set, that of its copy, and for loads whom they may meet.
    orr_tags_prefetch(&q->tags[u->slice], p.tag);
    if (p.far || (q->l2.halves.copies && !loads))
        orr_tags_prefetch(&q->tags[other_slice(q, u)], p.tag | ORR_L2_FAR);
    if (loads && q->l2.merge.loads > 1) {
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

// A line that is not there takes the place of another: the way. Where that one was in memory is not kept:
// writing it back takes its time at the channel of the new one.
static uint32_t replace(orr_fast_memory *q, uint32_t at, uint32_t slice, orr_tag_set *set, uint32_t ways,
                        uint16_t name, uint64_t tag, uint64_t t) {
    uint32_t way = (uint32_t)(set->order >> 4 * (ways - 1)) & 15;
    uint8_t dirty = set->sectors[way] >> 4;
    bool old = set->tag[way] != 0;
    put(q, slice, tag, old ? dirty : 0);
    set->tag[way] = name;
    set->sectors[way] = 0;
    set->coming &= (uint16_t) ~(1u << way);
    if (old && dirty) dram(q, at, tag, dirty, true, t);
    return way;
}

// The line of a tag in a slice.
__attribute__((always_inline)) static inline line line_of(orr_fast_memory *q, uint32_t at, uint32_t slice,
                                                          uint64_t tag, uint64_t t) {
    const orr_tags *tags = &q->tags[slice];
    line l = {.at = orr_tags_of(tags, tag)};
    l.way = orr_tags_find(&l.at);
    if (l.way == ORR_NO_WAY) l.way = replace(q, at, slice, l.at.set, tags->ways, l.at.tag, tag, t);
    orr_tags_touch(&l.at, l.way);
    return l;
}

static inline bool join(const orr_fast_memory *q, orr_l2_merge *e, uint64_t tag, uint32_t gpc,
                        uint8_t sectors, uint64_t time) {
    if (e->line != tag || e->gpc != gpc || e->sectors != sectors || !e->n || e->n >= q->l2.merge.loads ||
        time > e->reply + q->l2.merge.time)
        return false;
    e->n++;
    return true;
}

static void store(orr_fast_memory *q, uint32_t at, const orr_request *r, uint64_t tag, uint8_t whole,
                  uint64_t t) {
    line l = line_of(q, at, q->map.unit[at].slice, tag, t);
    uint8_t *sectors = &l.at.set->sectors[l.way], dirty = *sectors >> 4;
    uint8_t here = *sectors & 15, part = r->sectors & (uint8_t) ~(whole | here),
            want = q->l2.fetch ? part : 0;
    // Sectors written in part are whole when they have been written twice: which bytes is not kept.
    uint8_t twice = part & dirty;
    *sectors |= (uint8_t)(r->sectors << 4 | (whole & r->sectors) | (q->l2.fetch ? 0 : twice));
    if (want) expect(&l, want, t, dram(q, at, tag, want, false, t));
    q->stats.write[r->from] += orr_sectors_in(r->sectors);
}

// Sectors leave by a slice's port from t on; the time of the last. The port is as wide as the one that a
// load has come by, which was taken for as long as its sectors need: it does not wait twice.
static inline uint64_t leave(const orr_fast_memory *q, uint64_t n, uint64_t t) {
    return n ? t + (n - 1) * q->l2.sector : t;
}

// Sectors of a line at its own slice, for a load or an atomic: when they are there.
__attribute__((always_inline)) static inline line want(orr_fast_memory *q, uint32_t at, uint64_t tag,
                                                       uint8_t sectors, uint64_t *t) {
    line l = line_of(q, at, q->map.unit[at].slice, tag, *t);
    uint8_t here = orr_tags_valid(&l.at, l.way), lack = sectors & (uint8_t)~here;
    if (lack) {
        lack = orr_l2_widened(lack, q->l2.sector_shift) & (uint8_t)~here;
        expect(&l, lack, *t, dram(q, at, tag, lack, false, *t));
    }
    *t = comes(&l, *t);
    return l;
}

// A load at the slice of its line; returns when its last sector leaves.
__attribute__((always_inline)) static inline uint64_t load(orr_fast_memory *q, uint32_t at, uint64_t tag,
                                                           uint8_t sectors, uint64_t t) {
    want(q, at, tag, sectors, &t);
    return leave(q, orr_sectors_in(sectors), t);
}

// *late: its line had to be fetched.
static uint64_t atomic(orr_fast_memory *q, uint32_t at, const orr_request *r, uint64_t tag, bool *late,
                       uint64_t t) {
    uint64_t asked = t;
    line l = want(q, at, tag, r->sectors, &t);
    *late = t > asked;
    uint64_t n = orr_sectors_in(r->sectors), ops = (r->ops ? r->ops : 1) * q->l2.atomic.op;
    q->stats.atomic += n;
    l.at.set->sectors[l.way] |= (uint8_t)(r->sectors << 4);
    t = book(&q->slice[q->map.unit[at].slice].atomics[orr_l2_atomic_unit(&q->l2, r->line)], t, ops) + ops;
    return r->kind == ORR_REQ_REDUCE ? t : leave(q, n, t + q->l2.atomic.latency);
}

// A load of a line of the other half: from this half's copy, or from there and kept.
__attribute__((noinline)) static uint64_t load_copy(orr_fast_memory *q, uint32_t at, uint64_t tag,
                                                    uint8_t sectors, uint64_t t) {
    const orr_memory_unit *u = &q->map.unit[at];
    uint32_t own = other_slice(q, u) * q->behind_slice; // of what it has to write back
    line l = line_of(q, own < q->map.units ? own : at, other_slice(q, u), tag | ORR_L2_FAR, t);
    uint8_t missing = sectors & (uint8_t)~orr_tags_valid(&l.at, l.way);
    if (missing) {
        uint64_t takes = q->takes[orr_sectors_in(missing)];
        uint64_t there = book(&q->slice[u->slice].in, t + q->l2.halves.latency, takes);
        there = load(q, at, tag, missing, there) + q->l2.halves.latency;
        expect(&l, missing, t, there);
    }
    return leave(q, orr_sectors_in(sectors), comes(&l, t));
}

// A line is written: the other half's copy is old.
static void drop_copy(orr_fast_memory *q, uint32_t at, uint64_t tag) {
    orr_tag copy = orr_tags_of(&q->tags[other_slice(q, &q->map.unit[at])], tag | ORR_L2_FAR);
    uint32_t way = orr_tags_find(&copy);
    if (way != ORR_NO_WAY) copy.set->sectors[way] = 0;
}

orr_fast_reply orr_fast_load(orr_fast_memory *q, const orr_fast_place *p, uint8_t sectors, int from,
                             uint64_t time) {
    const orr_memory_unit *u = &q->map.unit[p->unit];
    slice *s = &q->slice[p->far ? other_slice(q, u) : u->slice];
    uint64_t here = p->far ? p->tag | ORR_L2_FAR : p->tag, n = orr_sectors_in(sectors);
    orr_fast_reply reply = {.taken = time + q->base};
    bool meets = q->l2.merge.loads > 1;
    orr_l2_merge *e = merge_at(s, here, p->gpc);
    if (meets && join(q, e, here, p->gpc, sectors, reply.taken)) {
        if (!orr_l2_same_packet(&q->l2, e, p->sm))
            e->sent = book(&s->in, max(e->reply, reply.taken), n * q->l2.sector);
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
                                .n = 1,
                                .sectors = sectors,
                                .to_n = 1,
                                .to = {p->sm}};
    }
    reply.taken -= q->base;
    reply.done -= q->base;
    if (reply.done > q->stats.last) q->stats.last = reply.done;
    return reply;
}

// Books a store at its line's own slice, l2.same_line_store after others to the same line.
static uint64_t book_store(const orr_fast_memory *q, slice *s, uint64_t tag, uint64_t t, uint64_t own) {
    stored *last = &s->stored[tag % ORR_L2_FAST_STORES];
    if (last->line != tag + 1) {
        last->line = tag + 1;
        last->n = 0;
    } else if (!last->n++) {
        memset(&last->times, 0, sizeof last->times); // of another line
    }
    uint64_t then = last->n ? book(&last->times, t, q->l2.store.again) : t;
    // while it waits at the input, all that is behind it does
    return book(&s->in, then, then > t ? max(own, q->l2.store.again) : own);
}

// Done at the line's own slice, though an SM of the other half has asked its own.
orr_fast_reply orr_fast_change(orr_fast_memory *q, const orr_fast_place *p, const orr_request *r,
                               uint8_t whole) {
    const orr_memory_unit *u = &q->map.unit[p->unit];
    slice *s = &q->slice[p->far ? other_slice(q, u) : u->slice];
    bool stores = r->kind == ORR_REQ_WRITE, late = false;
    uint32_t n = orr_sectors_in(r->sectors);
    uint64_t t = r->time + q->base, own = q->atomic_takes[n];
    if (stores) { // a sector of which not all is written is read, too (l2.partial_write)
        uint32_t part = orr_sectors_in(r->sectors & (uint8_t)~whole);
        own = max(q->write_takes[n], (n - part) * q->l2.store.sector + part * q->l2.store.partial);
    }
    q->stats.requests++;
    bool apart = stores && q->l2.store.again;
    if (apart && !p->far)
        t = book_store(q, s, p->tag, t, own);
    else
        t = book(&s->in, t, !p->far ? own : stores ? q->pass_takes[n] : q->atomic_pass);
    orr_fast_reply reply = {.taken = t - q->base};
    slice *home = &q->slice[u->slice];
    if (p->far)
        t = apart ? book_store(q, home, p->tag, t + q->l2.halves.latency, own)
                  : book(&home->in, t + q->l2.halves.latency, own);
    if (q->l2.halves.copies) drop_copy(q, p->unit, p->tag);
    if (stores)
        store(q, p->unit, r, p->tag, whole, t);
    else
        t = atomic(q, p->unit, r, p->tag, &late, t);
    if (p->far && r->kind == ORR_REQ_ATOMIC) t += q->l2.halves.latency;
    reply.done = t - q->base;
    // as l2.c: nobody waits for a reduction whose line was not there
    if (reply.done > q->stats.last && !(late && r->kind == ORR_REQ_REDUCE)) q->stats.last = reply.done;
    return reply;
}

// ---- from outside ------------------------------------------------------------------------------

void orr_fast_copy(orr_fast_memory *q, uint64_t addr, uint64_t bytes) {
    if (!bytes) return;
    uint64_t last = addr + bytes - 1 < addr ? UINT64_MAX : addr + bytes - 1; // hostile sizes
    if (last - addr >= q->l2_bytes) {
        addr = last - q->l2_bytes + 1;
        q->crowded = true;
    }
    for (uint64_t line = addr / ORR_LINE; line <= last / ORR_LINE; line++) {
        uint8_t sectors = 15;
        if (line == addr / ORR_LINE) sectors &= (uint8_t)(15 << addr % ORR_LINE / ORR_SECTOR);
        if (line == last / ORR_LINE) sectors &= (uint8_t)(15 >> (3 - last % ORR_LINE / ORR_SECTOR));
        uint64_t tag;
        uint32_t unit = unit_of(q, line, &tag);
        const orr_tags *tags = &q->tags[q->map.unit[unit].slice];
        orr_tag at = orr_tags_of(tags, tag);
        uint32_t way = orr_tags_find(&at);
        if (way == ORR_NO_WAY) {
            way = orr_tags_oldest(tags, &at);
            put(q, q->map.unit[unit].slice, tag, at.set->tag[way] ? at.set->sectors[way] >> 4 : 0);
            orr_tags_put(&at, way, at.tag);
        }
        orr_tags_touch(&at, way);
        at.set->sectors[way] = (at.set->sectors[way] | sectors) & (uint8_t) ~(sectors << 4);
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

const orr_memsys_stats *orr_fast_stats(const orr_fast_memory *q) { return &q->stats; }

bool orr_fast_roomy(const orr_fast_memory *q) {
    return !q->crowded && (q->lowest > q->highest || q->highest - q->lowest < orr_tags_reach(&q->tags[0]));
}
