// L2 and DRAM by latency and bandwidth (quick.h).
//
// A slice's port in, its port out, its atomics, a channel's bus and its activations are ledgers. L2's tags
// are those of memsys.h, and a line that is on its way has the time when it will be there. A bank has the row
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

typedef struct bank {
    uint64_t row, before; // + 1; open, and the one before
    uint64_t opened, column, activate, used;
} bank;

typedef struct channel {
    orr_ledger bus, activations;
    bank *bank;
} channel;

typedef struct slice {
    orr_cache cache;
    uint64_t *when; // by line: what is on its way is there
    orr_ledger in, out, atomics;
    orr_l2_answered
        answered[ORR_L2_ANSWERED]; // loads that others of the same line are answered with (l2.merge)
    uint32_t next_answered;
} slice;

struct orr_quick {
    orr_l2_config l2;
    orr_dram_config dram;
    orr_spread spread;
    slice *slice;
    channel *channel;
    uint32_t nslices, nchannels, units, parts;
    uint16_t *slice_of, *channel_of; // unit
    uint8_t *side_of;
    uint8_t *place_of; // of a slice among those that share a channel
    uint32_t sharing;
    uint64_t
        base; // when the launch began: time goes on from launch to launch, so that nothing has to be cleared
    uint64_t since, column; // column: with what refresh takes
    uint32_t behind_slice;  // channels that a slice uses
    uint64_t l2_bytes;
    uint32_t sms;
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
    q->sms = (uint32_t)g->sm_count;
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
    for (uint32_t s = 0; s < q->nslices; s++) {
        orr_cache_init(&q->slice[s].cache, bytes, ORR_LINE, (uint32_t)g->l2_ways, g->l2_hashed, false);
        q->slice[s].when =
            orr_calloc((size_t)q->slice[s].cache.sets * q->slice[s].cache.ways, sizeof(uint64_t));
    }
    for (uint32_t c = 0; c < q->nchannels; c++) q->channel[c].bank = orr_calloc(q->dram.banks, sizeof(bank));
    return q;
}

void orr_quick_free(orr_quick *q) {
    if (!q) return;
    for (uint32_t s = 0; s < q->nslices; s++) {
        orr_cache_free(&q->slice[s].cache);
        free(q->slice[s].when);
    }
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
        at = orr_ledger_take(&ch->activations, at, c->rrd, q->since);
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
    uint64_t data = orr_ledger_take(&ch->bus, ready + (write ? c->wl : c->cl), n * q->column, q->since);
    uint64_t end = max(data + n * c->column, data + (n - 1) * c->same_group + c->column);
    return end + (write ? 0 : q->l2.behind);
}

// ---- L2
// -------------------------------------------------------------------------------------------------------
static uint32_t unit_of(const orr_quick *q, uint64_t line, uint64_t *tag) {
    uint32_t shift = q->l2.chunk_shift;
    uint32_t unit = orr_spread_unit(&q->spread, line >> shift, tag);
    // Several channels behind a slice: their chunks follow each other.
    uint32_t per = q->behind_slice;
    if (per > 1) *tag = *tag * per + unit % per;
    *tag = *tag << shift | (line & ((1ull << shift) - 1));
    return unit;
}

int orr_quick_side_of(const orr_quick *q, uint64_t line) {
    uint64_t tag;
    return q->side_of[unit_of(q, line, &tag)];
}

static uint8_t together(const orr_l2_config *c, uint8_t sectors) {
    if (c->sector_shift == 0) return sectors;
    if (c->sector_shift == 2) return sectors ? 15 : 0;
    return (uint8_t)((sectors & 3 ? 3 : 0) | (sectors & 12 ? 12 : 0));
}

static uint32_t take_line(orr_quick *q, uint32_t unit, slice *s, uint64_t tag, uint64_t t) {
    orr_cache_line victim;
    uint32_t at = orr_cache_take(&s->cache, tag, &victim, NULL);
    s->when[at] = 0;
    if (!victim.used) return at;
    q->stats.evicted++;
    if (victim.dirty) {
        q->stats.written_back += (uint64_t)orr_popc(victim.dirty);
        dram(q, unit, victim.tag, victim.dirty, true, t);
    }
    return at;
}

// Sectors `want` of line `at` are asked for at t.
static void fetch(orr_quick *q, uint32_t unit, uint32_t at, uint8_t want, uint64_t t) {
    slice *s = &q->slice[q->slice_of[unit]];
    orr_cache_line *l = &s->cache.line[at];
    uint64_t there = dram(q, unit, l->tag, want, false, t);
    l->pending |= want;
    s->when[at] = max(s->when[at], there);
}

// What has come by t is there.
static void settle(slice *s, uint32_t at, uint64_t t) {
    orr_cache_line *l = &s->cache.line[at];
    if (!l->pending || s->when[at] > t) return;
    l->valid |= l->pending;
    l->pending = 0;
}

static bool join(const orr_quick *q, slice *s, uint8_t sectors, uint64_t tag, uint64_t time,
                 orr_quick_reply *reply) {
    for (int k = 0; k < ORR_L2_ANSWERED; k++) {
        orr_l2_answered *a = &s->answered[k];
        if (a->line != tag || !a->n || sectors & ~a->sectors || a->n >= q->l2.merge ||
            time > a->taken + 4 * q->l2.lookup)
            continue;
        a->n++;
        *reply = (orr_quick_reply){time, a->reply};
        return true;
    }
    return false;
}

static void store(orr_quick *q, uint32_t unit, const orr_request *r, uint64_t tag, uint8_t whole,
                  uint64_t t) {
    slice *s = &q->slice[q->slice_of[unit]];
    uint32_t at = orr_cache_find(&s->cache, tag);
    if (at != ORR_NO_LINE)
        settle(s, at, t);
    else
        at = take_line(q, unit, s, tag, t);
    orr_cache_line *l = &s->cache.line[at];
    uint8_t here = l->valid, part = r->sectors & (uint8_t) ~(whole | here);
    uint8_t want = q->l2.fetch ? part & (uint8_t)~l->pending : 0;
    orr_cache_touch(&s->cache, at);
    q->stats.write_present[r->from] += (uint64_t)orr_popc(r->sectors & (here | l->dirty));
    // Sectors written in part are whole when they have been written twice: which bytes is not kept.
    uint8_t twice = part & l->dirty;
    l->dirty |= r->sectors;
    l->valid |= (whole & r->sectors) | (q->l2.fetch ? 0 : twice);
    if (want) {
        fetch(q, unit, at, want, t);
        q->stats.fetched_for_write += (uint64_t)orr_popc(want);
    }
    q->stats.write[r->from] += (uint64_t)orr_popc(r->sectors);
    q->stats.write_hit[r->from] += (uint64_t)orr_popc(r->sectors & (uint8_t)~want);
}

// Sectors leave by a slice's port from t on; the time of the last.
static uint64_t leave(orr_quick *q, slice *s, uint64_t n, uint64_t t) {
    t = orr_ledger_take(&s->out, t, n * q->l2.sector, q->since);
    return n ? t + (n - 1) * q->l2.sector : t;
}

// A load or an atomic at the slice of its line; returns when its last sector leaves.
static uint64_t load(orr_quick *q, uint32_t unit, const orr_request *r, uint64_t tag, uint64_t t) {
    slice *s = &q->slice[q->slice_of[unit]];
    uint64_t n = (uint64_t)orr_popc(r->sectors);
    uint32_t at = orr_cache_find(&s->cache, tag);
    if (at != ORR_NO_LINE)
        settle(s, at, t);
    else
        at = take_line(q, unit, s, tag, t);
    orr_cache_line *l = &s->cache.line[at];
    uint8_t here = l->valid, coming = l->pending & (uint8_t)~here;
    uint8_t lack = r->sectors & (uint8_t)~here, missing = lack & (uint8_t)~coming;
    orr_cache_touch(&s->cache, at);
    if (missing) fetch(q, unit, at, together(&q->l2, missing) & (uint8_t) ~(here | coming), t);
    if (lack) t = max(t, s->when[at]);
    if (r->kind == ORR_REQ_READ) {
        q->stats.read[r->from] += n;
        q->stats.read_hit[r->from] += (uint64_t)orr_popc(r->sectors & here);
        q->stats.read_pending[r->from] += (uint64_t)orr_popc(lack & coming);
        return leave(q, s, n, t);
    }
    q->stats.atomic += n;
    q->stats.atomic_hit += (uint64_t)orr_popc(r->sectors & here);
    l->dirty |= r->sectors;
    uint64_t ops = (r->ops ? r->ops : 1) * q->l2.atomic;
    t = orr_ledger_take(&s->atomics, t, ops, q->since) + ops;
    return r->kind == ORR_REQ_REDUCE ? t : leave(q, s, n, t + q->l2.atomic_more);
}

// A load of a line of the other half: from this half's copy, or from there and kept.
static uint64_t load_copy(orr_quick *q, uint32_t unit, slice *near, const orr_request *r, uint64_t tag,
                          uint64_t t) {
    uint64_t n = (uint64_t)orr_popc(r->sectors), mine = tag | ORR_L2_FAR;
    uint32_t at = orr_cache_find(&near->cache, mine);
    if (at != ORR_NO_LINE) {
        settle(near, at, t);
    } else {
        uint32_t own = (uint32_t)(near - q->slice) * q->behind_slice; // of what it has to write back
        at = take_line(q, own < q->units ? own : unit, near, mine, t);
    }
    orr_cache_line *l = &near->cache.line[at];
    uint8_t missing = r->sectors & (uint8_t) ~(l->valid | l->pending);
    orr_cache_touch(&near->cache, at);
    if (missing) {
        orr_request far = *r;
        far.sectors = missing;
        uint64_t takes = max(q->l2.lookup, (uint64_t)orr_popc(missing) * q->l2.sector);
        uint64_t there = orr_ledger_take(&q->slice[q->slice_of[unit]].in, t + q->l2.far, takes, q->since);
        there = load(q, unit, &far, tag, there) + q->l2.far;
        l->pending |= missing;
        near->when[at] = max(near->when[at], there);
    } else {
        q->stats.read[r->from] += n;
        q->stats.read_hit[r->from] += n;
    }
    if (r->sectors & (uint8_t)~l->valid) t = max(t, near->when[at]);
    return leave(q, near, n, t);
}

// A line is written: the other half's copy is old.
static void drop_copy(orr_quick *q, uint32_t home, uint64_t tag) {
    slice *twin = &q->slice[(home + q->nslices / 2) % q->nslices];
    uint32_t at = orr_cache_find(&twin->cache, tag | ORR_L2_FAR);
    if (at != ORR_NO_LINE) twin->cache.line[at].valid = 0;
}

// A store or an atomic: done at the line's own slice, `far`: in the other half.
static uint64_t change(orr_quick *q, uint32_t unit, const orr_request *r, uint64_t tag, uint8_t whole,
                       bool far, uint64_t t) {
    uint32_t home = q->slice_of[unit];
    uint64_t takes = max(q->l2.lookup, (uint64_t)orr_popc(r->sectors) * q->l2.write_sector);
    if (far) t = orr_ledger_take(&q->slice[home].in, t + q->l2.far, takes, q->since);
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
    bool far = q->l2.copies && (uint32_t)((uint64_t)r->sm * 2 / q->sms) != q->side_of[unit];
    bool read = r->kind == ORR_REQ_READ;
    uint64_t here = far ? tag | ORR_L2_FAR : tag;
    slice *s = &q->slice[far ? (home + q->nslices / 2) % q->nslices : home];
    orr_quick_reply reply;
    if (q->l2.merge <= 1 || !read || !join(q, s, r->sectors, here, time, &reply)) {
        uint64_t takes =
            far && !read ? 0 : n * (r->kind == ORR_REQ_WRITE ? q->l2.write_sector : q->l2.sector);
        takes = max(q->l2.lookup, takes);
        reply.taken = orr_ledger_take(&s->in, time, takes, q->since);
        q->stats.slice_busy += takes;
        q->stats.requests++;
        if (!read)
            reply.done = change(q, unit, r, tag, whole, far, reply.taken);
        else
            reply.done =
                far ? load_copy(q, unit, s, r, tag, reply.taken) : load(q, unit, r, tag, reply.taken);
        if (read && q->l2.merge > 1)
            s->answered[s->next_answered++ % ORR_L2_ANSWERED] = (orr_l2_answered){
                .line = here, .taken = reply.taken, .reply = reply.done, .n = 1, .sectors = r->sectors};
    }
    reply.taken -= q->base;
    reply.done -= q->base;
    if (reply.done > q->stats.last) q->stats.last = reply.done;
    return reply;
}

// ---- from outside
// -----------------------------------------------------------------------------------------------
void orr_quick_since(orr_quick *q, uint64_t time) { q->since = q->base + time; }

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
        slice *s = &q->slice[q->slice_of[unit]];
        uint32_t at = orr_cache_find(&s->cache, tag);
        orr_cache_line victim;
        if (at == ORR_NO_LINE) at = orr_cache_take(&s->cache, tag, &victim, NULL);
        orr_cache_touch(&s->cache, at);
        s->cache.line[at].valid |= sectors;
        s->cache.line[at].dirty &= (uint8_t)~sectors;
    }
}

void orr_quick_flush(orr_quick *q) {
    for (uint32_t s = 0; s < q->nslices; s++) orr_cache_flush(&q->slice[s].cache);
}

void orr_quick_restart(orr_quick *q) {
    // What was on its way has come when the next launch looks.
    uint64_t past = q->stats.last + (q->l2.before + q->l2.behind) + 4 * ORR_LEDGER_N * ORR_LEDGER_STRETCH;
    q->base = ((q->base + past) / ORR_LEDGER_STRETCH + 1) * ORR_LEDGER_STRETCH;
    q->since = q->base;
    q->stats = (orr_memsys_stats){0};
}

const orr_memsys_stats *orr_quick_stats(const orr_quick *q) { return &q->stats; }
