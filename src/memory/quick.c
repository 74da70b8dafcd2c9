// L2 and DRAM by latency and bandwidth (quick.h).
//
// A slice's port, its atomics, a channel's bus and its activations are ledgers (ledger.h). L2's tags are in
// short too (tags.h), and a line that is on its way has the time when it will be there. A bank has the row
// that was opened last: another one costs an activation, and the bank is not free for the next before tRC.
// What fr-fcfs does with a queue, serving an open row first, is had by looking back: a request that came
// before its bank changed rows still finds the old one open. Writes to DRAM take their share of the bus.
// Refresh and the like (dram.efficiency) make every use of the bus longer.
//
// Where L2 has two halves that keep copies of each other's lines (l2.copies, l2.c), an SM asks its own; what
// that does not have it gets from the other, half of l2.far_latency away, and keeps.
#include "memory/quick.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory/l2.h"
#include "memory/ledger.h"
#include "memory/memory.h"
#include "memory/tags.h"

typedef struct bank {
    uint64_t row, before; // + 1; open, and the one before
    uint64_t opened, column, activate, used;
} bank;

typedef struct channel {
    orr_ledger bus, activations;
    bank *bank;
} channel;

#define ANSWERED 16u
typedef struct slice {
    orr_ledger in, atomics[2];          // atomics: by a line's lowest bit (l2.atomic_units)
    orr_l2_answered answered[ANSWERED]; // loads that others of the same line are answered with (l2.merge)
} slice;

// Where the last chunks went: finding it out takes a hash of the whole number.
#define CHUNKS 1024u
typedef struct chunk {
    uint64_t number, tag; // number + 1; tag of its first line
    uint32_t unit;
} chunk;

struct orr_quick {
    chunk chunks[CHUNKS];
    orr_l2_config l2;
    orr_dram_config dram;
    orr_spread spread;
    slice *slice;
    orr_tags *tags; // [slice]
    channel *channel;
    uint32_t nslices, nchannels, units, parts;
    uint16_t *slice_of, *channel_of; // unit
    uint8_t *side_of;
    uint8_t *place_of; // of a slice among those that share a channel
    uint32_t sharing;
    uint64_t
        base; // when the launch began: time goes on from launch to launch, so that nothing has to be cleared
    uint64_t column;       // with what refresh takes
    uint32_t behind_slice; // channels that a slice uses
    uint64_t l2_bytes;
    uint32_t tpc; // SMs of one
    orr_memsys_stats stats;
};

orr_quick *orr_quick_new(const orr_gpu *g, orr_err *e) {
    if (g->l2_size / g->l2_slices < ORR_LINE) {
        orr_fail(e, ORR_BAD_INPUT, "%s: l2.size / l2.slices is less than a line of %d bytes", g->path,
                 ORR_LINE);
        return NULL;
    }
    orr_quick *q = orr_calloc(1, sizeof *q);
    q->nslices = (uint32_t)g->l2_slices;
    q->nchannels = (uint32_t)g->dram_channels;
    q->l2_bytes = (uint64_t)g->l2_size;
    q->tpc = orr_gpc_sms(g);
    orr_dram_configure(&q->dram, g);
    orr_l2_configure(&q->l2, g, &q->dram);
    q->column = (uint64_t)((double)q->dram.column * 100 / g->dram_efficiency);
    // Slices and channels that go together, as memsys.c has them.
    uint32_t common = q->nslices, rest = q->nchannels;
    while (rest) {
        uint32_t more = common % rest;
        common = rest;
        rest = more;
    }
    q->parts = common;
    q->units = q->nslices / common * q->nchannels;
    if (q->units > 4096) {
        q->parts = q->nslices < q->nchannels ? q->nslices : q->nchannels;
        q->units = q->nslices < q->nchannels ? q->nchannels : q->nslices;
    }
    orr_spread_init(&q->spread, q->units, g->l2_hash);
    q->behind_slice = q->units / q->nslices;
    q->slice = orr_calloc(q->nslices, sizeof *q->slice);
    q->channel = orr_calloc(q->nchannels, sizeof *q->channel);
    q->slice_of = orr_calloc(q->units, sizeof *q->slice_of);
    q->channel_of = orr_calloc(q->units, sizeof *q->channel_of);
    q->place_of = orr_calloc(q->nslices, sizeof *q->place_of);
    q->side_of = orr_calloc(q->units, sizeof *q->side_of);
    uint32_t unit = 0;
    for (uint64_t p = 0; p < q->parts; p++) {
        uint64_t s0 = p * q->nslices / q->parts, s1 = (p + 1) * q->nslices / q->parts;
        uint64_t c0 = p * q->nchannels / q->parts, c1 = (p + 1) * q->nchannels / q->parts;
        for (uint64_t s = s0; s < s1; s++)
            for (uint64_t c = c0; c < c1 && unit < q->units; c++, unit++) {
                q->slice_of[unit] = (uint16_t)s;
                q->channel_of[unit] = (uint16_t)c;
                q->side_of[unit] = (uint8_t)(p * (uint64_t)g->l2_partitions / q->parts);
                q->place_of[s] = (uint8_t)(s - s0);
            }
        if (s1 - s0 > q->sharing) q->sharing = (uint32_t)(s1 - s0);
    }
    uint64_t bytes = (uint64_t)g->l2_size / (uint64_t)g->l2_slices;
    q->tags = orr_calloc(q->nslices, sizeof *q->tags);
    orr_tags_init(q->tags, q->nslices, bytes / ORR_LINE, (uint32_t)g->l2_ways, g->l2_hashed);
    for (uint32_t c = 0; c < q->nchannels; c++) q->channel[c].bank = orr_calloc(q->dram.banks, sizeof(bank));
    return q;
}

void orr_quick_free(orr_quick *q) {
    if (!q) return;
    orr_tags_free(q->tags);
    free(q->tags);
    for (uint32_t c = 0; c < q->nchannels; c++) free(q->channel[c].bank);
    free(q->slice);
    free(q->channel);
    free(q->slice_of);
    free(q->channel_of);
    free(q->place_of);
    free(q->side_of);
    free(q);
}

static uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }

// Books `cost` ticks at or after t; when it begins.
static uint64_t book(orr_ledger *l, uint64_t t, uint64_t cost) {
    return orr_ledger_take(l, t, cost, ORR_QUICK_STRETCH) - cost;
}

// ---- DRAM
// -----------------------------------------------------------------------------------------------------
static uint32_t columns(const orr_dram_config *c, uint8_t sectors) {
    if (c->atom == 4) return 1;
    if (c->atom == 2) return (uint32_t)((sectors & 3) != 0) + ((sectors & 12) != 0);
    return (uint32_t)orr_popc(sectors);
}

// A line of a channel: bank and row as dram.c has them.
static bank *bank_of(orr_quick *q, channel *ch, uint64_t line, uint64_t *row) {
    const orr_dram_config *c = &q->dram;
    uint64_t run = (line & ((1ull << ORR_CHUNK_BITS) - 1)) >> c->run_shift;
    uint64_t column = orr_divide(c->bank_div, run);
    *row = orr_divide(c->row_div, column);
    uint64_t turned = run - column * c->banks + (*row * 0x9e3779b97f4a7c15ull >> 44);
    return &ch->bank[turned - orr_divide(c->bank_div, turned) * c->banks];
}

static uint64_t dram(orr_quick *q, uint32_t unit, uint64_t tag, uint8_t sectors, bool write, uint64_t t) {
    const orr_dram_config *c = &q->dram;
    uint32_t shift = q->l2.chunk_shift;
    uint32_t s = q->slice_of[unit];
    channel *ch = &q->channel[q->channel_of[unit]];
    uint64_t chunk = (tag >> shift) / q->behind_slice * q->sharing + q->place_of[s];
    uint64_t row, line = chunk << shift | (tag & ((1ull << shift) - 1));
    uint32_t n = columns(c, sectors);
    (write ? &q->stats.dram_write : &q->stats.dram_read)[0] += (uint64_t)orr_popc(sectors);
    q->stats.dram_busy += n * c->column;
    t += q->l2.before;
    bank *b = bank_of(q, ch, line, &row);
    bool hit = b->row == row + 1 && t < b->used + c->idle;
    hit |= b->before == row + 1 && t < b->opened;
    if (!hit && !write) {
        uint64_t at = max(t + (b->row && t < b->used + c->idle ? c->rp : 0), b->activate);
        at = book(&ch->activations, at, c->rrd);
        b->before = b->row;
        b->row = row + 1;
        b->opened = at;
        b->column = at + c->rcd;
        b->activate = at + c->rc;
    }
    q->stats.row_hit += n - !hit;
    q->stats.row_miss += !hit;
    uint64_t ready = b->row == row + 1 ? max(t, b->column) : t;
    b->used = max(b->used, ready);
    uint64_t data = book(&ch->bus, ready + (write ? c->wl : c->cl), n * q->column);
    uint64_t end = max(data + n * c->column, data + (n - 1) * c->same_group + c->column);
    return end + (write ? 0 : q->l2.behind);
}

// ---- L2
// -------------------------------------------------------------------------------------------------------
static void find_unit(orr_quick *q, uint64_t number, chunk *c) {
    uint64_t tag;
    c->number = number + 1;
    c->unit = orr_spread_unit(&q->spread, number, &tag);
    // Several channels behind a slice: their chunks follow each other.
    uint32_t per = q->behind_slice;
    if (per > 1) tag = tag * per + c->unit % per;
    c->tag = tag << q->l2.chunk_shift;
}

static inline uint32_t unit_of(orr_quick *q, uint64_t line, uint64_t *tag) {
    uint64_t number = line >> q->l2.chunk_shift;
    chunk *c = &q->chunks[number % CHUNKS];
    if (c->number != number + 1) find_unit(q, number, c);
    *tag = c->tag | (line & ((1ull << q->l2.chunk_shift) - 1));
    return c->unit;
}

void orr_quick_prefetch(orr_quick *q, uint64_t line, uint32_t sm) {
    uint64_t tag;
    uint32_t unit = unit_of(q, line, &tag), home = q->slice_of[unit];
    orr_tags_prefetch(&q->tags[home], tag);
    if (q->l2.copies && orr_half_of_sm(sm, q->tpc) != q->side_of[unit])
        orr_tags_prefetch(&q->tags[(home + q->nslices / 2) % q->nslices], tag | ORR_L2_FAR);
}

int orr_quick_side_of(orr_quick *q, uint64_t line) {
    uint64_t tag;
    return q->side_of[unit_of(q, line, &tag)];
}

static uint8_t together(const orr_l2_config *c, uint8_t sectors) {
    if (c->sector_shift == 0) return sectors;
    if (c->sector_shift == 2) return sectors ? 15 : 0;
    return (uint8_t)((sectors & 3 ? 3 : 0) | (sectors & 12 ? 12 : 0));
}

typedef struct line { // of a slice
    orr_tag at;
    uint32_t way;
} line;

// Times of lines are cycles, 32 bits of them; how many of them are left at t, 0: it is there.
static uint64_t left(const line *l, uint64_t t) {
    uint32_t now = (uint32_t)(t / ORR_TICKS), n = l->at.set->latest - now;
    if (!(l->at.set->coming >> l->way & 1) || n >= 1u << 24) return 0;
    n = l->at.when[l->way] - now;
    return n < 1u << 24 ? n : 0;
}
static uint64_t comes(const line *l, uint64_t t) {
    uint64_t n = left(l, t);
    return n ? (t / ORR_TICKS + n) * ORR_TICKS : t;
}
// More of it comes, at `there`.
static void expect(const line *l, uint8_t sectors, uint64_t t, uint64_t there) {
    uint32_t when = (uint32_t)((there + ORR_TICKS - 1) / ORR_TICKS);
    if (comes(l, t) < there) l->at.when[l->way] = when;
    if ((uint32_t)(when - l->at.set->latest) < 1u << 31) l->at.set->latest = when;
    l->at.set->coming |= (uint16_t)(1u << l->way);
    l->at.set->sectors[l->way] |= sectors;
}

// The line of a tag, which takes the place of another when it is not there. Where that one was in memory is
// not kept: writing it back takes its time at the channel of the new one.
static line line_of(orr_quick *q, uint32_t unit, slice *s, uint64_t tag, uint64_t t) {
    const orr_tags *tags = &q->tags[s - q->slice];
    line l = {.at = orr_tags_of(tags, tag)};
    l.way = orr_tags_find(&l.at);
    if (l.way == ORR_NO_WAY) {
        l.way = orr_tags_oldest(tags, &l.at);
        bool old = l.at.set->tag[l.way] != 0;
        uint8_t dirty = orr_tags_dirty(&l.at, l.way);
        orr_tags_put(&l.at, l.way, l.at.tag);
        q->stats.evicted += old;
        if (old && dirty) {
            q->stats.written_back += (uint64_t)orr_popc(dirty);
            dram(q, unit, tag, dirty, true, t);
        }
    }
    orr_tags_touch(&l.at, l.way);
    return l;
}

// Sectors `want` of a line are asked for at t.
static void fetch(orr_quick *q, uint32_t unit, const line *l, uint64_t tag, uint8_t want, uint64_t t) {
    expect(l, want, t, dram(q, unit, tag, want, false, t));
}

static bool join(const orr_quick *q, slice *s, uint8_t sectors, uint64_t tag, uint64_t time,
                 orr_quick_reply *reply) {
    orr_l2_answered *a = &s->answered[tag % ANSWERED];
    if (a->line != tag || !a->n || sectors & ~a->sectors || a->n >= q->l2.merge ||
        time > a->taken + 4 * q->l2.lookup)
        return false;
    a->n++;
    *reply = (orr_quick_reply){time, a->reply};
    return true;
}

static void store(orr_quick *q, uint32_t unit, const orr_request *r, uint64_t tag, uint8_t whole,
                  uint64_t t) {
    slice *s = &q->slice[q->slice_of[unit]];
    line l = line_of(q, unit, s, tag, t);
    uint8_t *sectors = &l.at.set->sectors[l.way], dirty = *sectors >> 4;
    uint8_t here = *sectors & 15, part = r->sectors & (uint8_t) ~(whole | here),
            want = q->l2.fetch ? part : 0;
    q->stats.write_present[r->from] += (uint64_t)orr_popc(r->sectors & (here | dirty));
    // Sectors written in part are whole when they have been written twice: which bytes is not kept.
    uint8_t twice = part & dirty;
    *sectors |= (uint8_t)(r->sectors << 4 | (whole & r->sectors) | (q->l2.fetch ? 0 : twice));
    if (want) {
        fetch(q, unit, &l, tag, want, t);
        q->stats.fetched_for_write += (uint64_t)orr_popc(want);
    }
    q->stats.write[r->from] += (uint64_t)orr_popc(r->sectors);
    q->stats.write_hit[r->from] += (uint64_t)orr_popc(r->sectors & (uint8_t)~want);
}

// Sectors leave by a slice's port from t on; the time of the last. The port is as wide as the one that a
// load has come by, which was taken for as long as its sectors need: it does not wait twice.
static uint64_t leave(const orr_quick *q, uint64_t n, uint64_t t) {
    return n ? t + (n - 1) * q->l2.sector : t;
}

// A load or an atomic at the slice of its line; returns when its last sector leaves.
static uint64_t load(orr_quick *q, uint32_t unit, const orr_request *r, uint64_t tag, uint64_t t) {
    slice *s = &q->slice[q->slice_of[unit]];
    uint64_t n = (uint64_t)orr_popc(r->sectors);
    line l = line_of(q, unit, s, tag, t);
    uint8_t here = orr_tags_valid(&l.at, l.way), lack = r->sectors & (uint8_t)~here;
    bool coming = left(&l, t) != 0;
    if (lack) fetch(q, unit, &l, tag, together(&q->l2, lack) & (uint8_t)~here, t);
    t = comes(&l, t);
    if (r->kind == ORR_REQ_READ) {
        q->stats.read[r->from] += n;
        (coming ? q->stats.read_pending : q->stats.read_hit)[r->from] +=
            (uint64_t)orr_popc(r->sectors & here);
        return leave(q, n, t);
    }
    q->stats.atomic += n;
    q->stats.atomic_hit += (uint64_t)orr_popc(r->sectors & here);
    l.at.set->sectors[l.way] |= (uint8_t)(r->sectors << 4);
    uint64_t ops = (r->ops ? r->ops : 1) * q->l2.atomic;
    t = book(&s->atomics[r->line & q->l2.atomic_units], t, ops) + ops;
    return r->kind == ORR_REQ_REDUCE ? t : leave(q, n, t + q->l2.atomic_more);
}

// A load of a line of the other half: from this half's copy, or from there and kept.
static uint64_t load_copy(orr_quick *q, uint32_t unit, slice *near, const orr_request *r, uint64_t tag,
                          uint64_t t) {
    uint64_t n = (uint64_t)orr_popc(r->sectors), mine = tag | ORR_L2_FAR;
    uint32_t own = (uint32_t)(near - q->slice) * q->behind_slice; // of what it has to write back
    line l = line_of(q, own < q->units ? own : unit, near, mine, t);
    uint8_t missing = r->sectors & (uint8_t)~orr_tags_valid(&l.at, l.way);
    if (missing) {
        orr_request far = *r;
        far.sectors = missing;
        uint64_t takes = max(q->l2.lookup, (uint64_t)orr_popc(missing) * q->l2.sector);
        uint64_t there = book(&q->slice[q->slice_of[unit]].in, t + q->l2.far, takes);
        there = load(q, unit, &far, tag, there) + q->l2.far;
        expect(&l, missing, t, there);
    } else {
        q->stats.read[r->from] += n;
        q->stats.read_hit[r->from] += n;
    }
    t = comes(&l, t);
    return leave(q, n, t);
}

// A line is written: the other half's copy is old.
static void drop_copy(orr_quick *q, uint32_t home, uint64_t tag) {
    orr_tag at = orr_tags_of(&q->tags[(home + q->nslices / 2) % q->nslices], tag | ORR_L2_FAR);
    uint32_t way = orr_tags_find(&at);
    if (way != ORR_NO_WAY) at.set->sectors[way] = 0;
}

// A store or an atomic: done at the line's own slice, `far`: in the other half.
static uint64_t change(orr_quick *q, uint32_t unit, const orr_request *r, uint64_t tag, uint8_t whole,
                       bool far, uint64_t t) {
    uint32_t home = q->slice_of[unit];
    uint64_t takes = max(q->l2.lookup, (uint64_t)orr_popc(r->sectors) * q->l2.write_sector);
    if (far) t = book(&q->slice[home].in, t + q->l2.far, takes);
    if (q->l2.copies) drop_copy(q, home, tag);
    if (r->kind != ORR_REQ_WRITE)
        t = load(q, unit, r, tag, t);
    else
        store(q, unit, r, tag, whole, t);
    return far && r->kind == ORR_REQ_ATOMIC ? t + q->l2.far : t;
}

orr_quick_reply orr_quick_ask(orr_quick *q, const orr_request *r, uint8_t whole) {
    uint64_t tag, n = (uint64_t)orr_popc(r->sectors), time = r->time + q->base;
    uint32_t unit = unit_of(q, r->line, &tag), home = q->slice_of[unit];
    bool far = q->l2.copies && orr_half_of_sm(r->sm, q->tpc) != q->side_of[unit];
    bool read = r->kind == ORR_REQ_READ;
    uint64_t here = far ? tag | ORR_L2_FAR : tag;
    slice *s = &q->slice[far ? (home + q->nslices / 2) % q->nslices : home];
    orr_quick_reply reply;
    if (q->l2.merge <= 1 || !read || !join(q, s, r->sectors, here, time, &reply)) {
        uint64_t takes =
            far && !read ? 0 : n * (r->kind == ORR_REQ_WRITE ? q->l2.write_sector : q->l2.sector);
        takes = max(q->l2.lookup, takes);
        reply.taken = book(&s->in, time, takes);
        q->stats.slice_busy += takes;
        q->stats.requests++;
        if (!read)
            reply.done = change(q, unit, r, tag, whole, far, reply.taken);
        else
            reply.done =
                far ? load_copy(q, unit, s, r, tag, reply.taken) : load(q, unit, r, tag, reply.taken);
        if (read && q->l2.merge > 1)
            s->answered[here % ANSWERED] = (orr_l2_answered){
                .line = here, .taken = reply.taken, .reply = reply.done, .n = 1, .sectors = r->sectors};
    }
    reply.taken -= q->base;
    reply.done -= q->base;
    if (reply.done > q->stats.last) q->stats.last = reply.done;
    return reply;
}

// ---- from outside
// -----------------------------------------------------------------------------------------------
void orr_quick_copy(orr_quick *q, uint64_t addr, uint64_t bytes) {
    if (!bytes) return;
    uint64_t last = addr + bytes - 1 < addr ? UINT64_MAX : addr + bytes - 1; // hostile sizes
    if (last - addr >= q->l2_bytes) addr = last - q->l2_bytes + 1;
    for (uint64_t line = addr / ORR_LINE; line <= last / ORR_LINE; line++) {
        uint8_t sectors = 15;
        if (line == addr / ORR_LINE) sectors &= (uint8_t)(15 << addr % ORR_LINE / ORR_SECTOR);
        if (line == last / ORR_LINE) sectors &= (uint8_t)(15 >> (3 - last % ORR_LINE / ORR_SECTOR));
        uint64_t tag;
        uint32_t unit = unit_of(q, line, &tag);
        const orr_tags *tags = &q->tags[q->slice_of[unit]];
        orr_tag at = orr_tags_of(tags, tag);
        uint32_t way = orr_tags_find(&at);
        if (way == ORR_NO_WAY) {
            way = orr_tags_oldest(tags, &at);
            orr_tags_put(&at, way, at.tag);
        }
        orr_tags_touch(&at, way);
        at.set->sectors[way] = (at.set->sectors[way] | sectors) & (uint8_t) ~(sectors << 4);
    }
}

void orr_quick_flush(orr_quick *q) {
    for (uint32_t s = 0; s < q->nslices; s++) orr_tags_flush(&q->tags[s]);
}

void orr_quick_restart(orr_quick *q) {
    // What was on its way has come when the next launch looks.
    uint64_t past = q->stats.last + (q->l2.before + q->l2.behind), stretch = 1ull << ORR_QUICK_STRETCH;
    q->base = ((q->base + past) / stretch + 4 * ORR_LEDGER_N) * stretch;
    q->stats = (orr_memsys_stats){0};
}

const orr_memsys_stats *orr_quick_stats(const orr_quick *q) { return &q->stats; }
