// A slice's lines: how they come from DRAM or from the other half, make room for each other, are stored to
// and leave.
//
// Sectors that are missing are asked for once. A slice that has l2.misses lines on their way, or all lines of
// the set on their way, or too much to write waiting at DRAM, is blocked: it takes nothing more until that
// changes.
//
// Stores leave whole sectors valid and dirty. A sector that is stored to in part has its bytes marked
// (write-validate) and is fetched only when it is read; or, with l2.write = fetch, it is fetched at once. A
// dirty sector that leaves is written to DRAM, once, whole or not.
//
// Where L2 has two halves (l2.copies), each is a partition's and keeps copies of what it has read of the
// other's lines (their tags have ORR_L2_FAR). What is not there is asked for at the other half's slice as if
// that were DRAM; stores and atomics are passed on to it. A line of which the other half has a copy is
// marked, and when it is written the copy is dropped. A copy that is on its way gives its place to a line of
// the half's own.
#include "memory/l2.h"
#include "memory/memory.h"

#define NONE UINT32_MAX

// ---- DRAM -----------------------------------------------------------------------------------------

// The channel of a line of a slice, and the line's number there.
static orr_dram *channel_of(const orr_l2 *p, uint32_t slice, uint64_t tag, uint64_t *line) {
    uint32_t shift = p->spec->chunk_shift;
    uint64_t chunk = tag >> shift, within = tag & ((1ull << shift) - 1), c = 0;
    if (p->channels > 1) {
        c = chunk % p->channels;
        chunk /= p->channels;
    }
    if (p->slices > 1) chunk = chunk * p->slices + slice;
    *line = chunk << shift | within;
    return &p->channel[c];
}

static void ask(orr_l2 *p, uint32_t slice, uint64_t tag, uint8_t sectors, bool write, uint64_t t,
                uint32_t user) {
    uint64_t line;
    orr_dram *d = channel_of(p, slice, tag, &line);
    orr_dram_push(d, t + p->spec->to_dram, line, sectors, write, user);
}

// A copy that is on its way gives up its place in the set of `tag`; who waits for it gets it all the same.
static bool give_up_copy(orr_l2 *p, orr_l2_slice *s, uint64_t tag) {
    uint32_t first = orr_cache_set_of(&s->cache, tag) * s->cache.ways;
    for (uint32_t i = first; p->spec->halves.copies && i < first + s->cache.ways; i++) {
        orr_cache_line *l = &s->cache.line[i];
        if (!l->pending || !(l->tag & ORR_L2_FAR)) continue;
        p->misses.at[l->user].line = ORR_NO_LINE;
        l->pending = 0;
        l->user = NONE;
        orr_cache_drop(&s->cache, i);
        return true;
    }
    return false;
}

// Whether the channel of a line of the slice has room; false: the slice is blocked.
static bool can_write(orr_l2 *p, uint32_t slice, uint64_t tag) {
    uint64_t line;
    if (!orr_dram_full(channel_of(p, slice, tag, &line))) return true;
    orr_l2_slice *s = &p->slice[slice];
    s->in[s->now].blocked = ORR_L2_BLOCKED_WRITES;
    p->stuck = true;
    return false;
}

// A line for `tag`; what was there before leaves. ORR_NO_LINE when the slice is blocked, or for a copy that
// finds no place.
uint32_t orr_l2_make_room(orr_l2 *p, uint32_t slice, uint64_t tag, uint64_t t) {
    orr_l2_slice *s = &p->slice[slice];
    bool copy = tag & ORR_L2_FAR;
    if (!copy && !can_write(p, slice, tag)) return ORR_NO_LINE;
    orr_cache_line victim;
    uint32_t i = orr_cache_take_idle(&s->cache, tag, &victim, NULL);
    if (i == ORR_NO_LINE && copy) return i;
    if (i == ORR_NO_LINE && give_up_copy(p, s, tag)) i = orr_cache_take_idle(&s->cache, tag, &victim, NULL);
    if (i == ORR_NO_LINE) {
        s->in[s->now].blocked = ORR_L2_BLOCKED_LINES;
        return i;
    }
    if (victim.used) p->stats.evicted++;
    if (victim.dirty) {
        p->stats.written_back += (uint64_t)orr_popc(victim.dirty);
        ask(p, slice, victim.tag, victim.dirty, true, t, NONE);
    }
    return i;
}

// ---- the bytes of a store --------------------------------------------------------------------------

static uint32_t bytes_of(const uint64_t bytes[2], int sector) {
    return (uint32_t)(bytes[sector / 2] >> sector % 2 * 32);
}

uint8_t orr_l2_whole_sectors(const orr_request *r) { // of a store, those that it writes whole
    uint8_t whole = 0;
    for (int k = 0; k < 4; k++)
        if (bytes_of(r->bytes, k) == UINT32_MAX) whole |= (uint8_t)(1 << k);
    return whole & r->sectors;
}

// ---- the other half -------------------------------------------------------------------------------

// A store or an atomic that the other half has to do; or what it has to know.
void orr_l2_pass_on(orr_l2 *p, uint32_t slice, const orr_request *r, uint64_t t) {
    orr_l2_ahead *a = ORR_PUSH(&p->ahead);
    *a = (orr_l2_ahead){*r, slice};
    a->r.line ^= ORR_L2_FAR;
    a->r.time = t + p->spec->halves.latency;
    a->r.far = true;
}

// A line of this half is written: the other half's copy is old. True: who has done that (`far`: the other
// half) hears of it when the other half has said that it has none any more (l2.copy_told).
bool orr_l2_drop_copy(orr_l2 *p, uint32_t slice, orr_cache_line *l, bool far, uint64_t t) {
    bool told = p->spec->halves.acknowledge && !far && l->used & (ORR_LINE_COPIED | ORR_LINE_PASSED);
    if (l->used & ORR_LINE_COPIED) {
        orr_request r = {.line = l->tag, .kind = ORR_L2_DROP};
        orr_l2_pass_on(p, slice, &r, t);
    }
    l->used &= (uint8_t)~ORR_LINE_COPIED;
    return told;
}

// And there:
void orr_l2_drop(orr_l2 *p, uint32_t slice, uint64_t tag) {
    orr_cache *c = &p->slice[slice].cache;
    uint32_t i = orr_cache_find(c, tag);
    if (i != ORR_NO_LINE) c->line[i].valid = 0;
}

// Asks for `want`, sectors of line i that are neither there nor on their way: DRAM, or the other half.
// The miss; i may be ORR_NO_LINE for a copy that is not kept.
uint32_t orr_l2_fetch(orr_l2 *p, uint32_t slice, uint32_t i, uint64_t tag, uint8_t want, bool behind,
                      uint64_t t) {
    orr_l2_slice *s = &p->slice[slice];
    orr_cache_line *l = i == ORR_NO_LINE ? NULL : &s->cache.line[i];
    uint32_t m = l ? l->user : NONE;
    bool copy = tag & ORR_L2_FAR;
    if (m == NONE) {
        m = orr_l2_new_miss(p);
        p->misses.at[m] = (orr_l2_miss){.line = i, .slice = slice, .copy = copy, .head = NONE, .tail = NONE};
        s->misses += !copy;
        if (l) l->user = m;
    }
    p->misses.at[m].open++;
    if (l) l->pending |= want;
    if (copy) {
        orr_request r = {.line = tag, .sectors = want, .kind = ORR_REQ_READ, .behind = behind, .token = m};
        orr_l2_pass_on(p, slice, &r, t);
    } else {
        ask(p, slice, tag, want, false, t, m);
    }
    return m;
}

bool orr_l2_blocked_by_misses(const orr_l2 *p, orr_l2_slice *s, uint32_t i) {
    if ((i != ORR_NO_LINE && s->cache.line[i].user != NONE) || s->misses < p->spec->mshrs) return false;
    s->in[s->now].blocked = ORR_L2_BLOCKED_LINES;
    return true;
}

// ---- sectors that are there in part, dirty lines ---------------------------------------------------
// Of each set so many lines can be there in part (l2.partial_lines), as byte masks are kept for them. When
// one more is stored to in part, the sectors of the one used least recently are read from DRAM: so many at a
// time (l2.completing), and when they have come the line is written back whole, at once or when so many
// others have been completed (l2.completed_lines). And so many can be dirty (l2.dirty_lines): before one more
// is, another is written back, and stays.

static uint8_t in_part(const orr_cache_line *l) { return l->dirty & ~l->valid & ~l->pending; }
static bool is_in_part(const orr_cache_line *l) { return in_part(l) != 0; }
static bool is_dirty(const orr_cache_line *l) { return l->dirty && !l->pending && !in_part(l); }
static bool is_whole(const orr_cache_line *l) { return l->used & ORR_LINE_WHOLE && is_dirty(l); }

// The line that has to make room in the set of `tag`, of a slice's share of `lines`; ORR_NO_LINE: there is.
static uint32_t one_too_many(orr_l2_slice *s, uint64_t tag, uint32_t lines,
                             bool (*is)(const orr_cache_line *)) {
    uint64_t set = orr_cache_set_of(&s->cache, tag), sets = s->cache.sets;
    uint64_t share = (set + 1) * lines / sets - set * lines / sets;
    uint32_t n, i = orr_cache_oldest_of(&s->cache, tag, is, &n);
    return n && n >= share ? i : ORR_NO_LINE;
}

// A line is written back, and stays.
void orr_l2_clean(orr_l2 *p, uint32_t slice, orr_cache_line *l, uint8_t sectors, uint64_t t) {
    p->stats.written_back += (uint64_t)orr_popc(sectors);
    if (sectors) ask(p, slice, l->tag, sectors, true, t, NONE);
    l->dirty &= (uint8_t)~sectors;
    l->used &= (uint8_t)~ORR_LINE_WHOLE;
}

// Room for one more dirty line. False: the slice is blocked.
bool orr_l2_room_for_dirty(orr_l2 *p, uint32_t slice, uint64_t tag, uint32_t at, uint64_t t) {
    orr_l2_slice *s = &p->slice[slice];
    if (!p->spec->dirty || (at != ORR_NO_LINE && s->cache.line[at].dirty)) return true;
    uint32_t i = one_too_many(s, tag, p->spec->dirty, is_dirty);
    if (i == ORR_NO_LINE) return true;
    orr_cache_line *l = &s->cache.line[i];
    if (!can_write(p, slice, l->tag)) return false;
    orr_l2_clean(p, slice, l, l->dirty, t);
    return true;
}

// Room for one more that is there in part. False: the slice is blocked.
static bool room_for_part(orr_l2 *p, uint32_t slice, uint64_t tag, uint64_t t) {
    orr_l2_slice *s = &p->slice[slice];
    uint32_t i = one_too_many(s, tag, p->spec->partial.lines, is_in_part);
    if (i == ORR_NO_LINE) return true;
    orr_cache_line *l = &s->cache.line[i];
    if (p->spec->partial.completing && s->completing >= p->spec->partial.completing) {
        s->in[s->now].blocked = ORR_L2_BLOCKED_LINES;
        return false;
    }
    if (orr_l2_blocked_by_misses(p, s, i) || !can_write(p, slice, l->tag)) return false;
    uint32_t old =
        p->spec->partial.completed ? one_too_many(s, tag, p->spec->partial.completed, is_whole) : ORR_NO_LINE;
    if (old != ORR_NO_LINE) orr_l2_clean(p, slice, &s->cache.line[old], s->cache.line[old].dirty, t);
    s->completing++;
    uint8_t want = in_part(l);
    uint32_t m = orr_l2_fetch(p, slice, i, l->tag, want, false, t);
    p->misses.at[m].clean = true;
    uint64_t n = (uint64_t)orr_popc(want);
    p->stats.fetched_for_write += n;
    s->part_time = l->used & ORR_LINE_SPREAD ? n * p->spec->partial.fill : 0;
    if (l->used & ORR_LINE_AGAIN) s->part_time += n * p->spec->partial.again;
    return true;
}

// A store. False: the slice is blocked, and nothing was done.
bool orr_l2_store(orr_l2 *p, uint32_t slice, const orr_request *r, uint64_t t) {
    orr_cache *c = &p->slice[slice].cache;
    uint32_t i = orr_cache_find(c, r->line);
    uint8_t here = i == ORR_NO_LINE ? 0 : c->line[i].valid,
            coming = i == ORR_NO_LINE ? 0 : c->line[i].pending;
    uint8_t whole = orr_l2_whole_sectors(r);
    uint8_t part = r->sectors & ~whole & ~here, want = 0;
    if (p->spec->fetch) want = part & ~coming;
    if (want && orr_l2_blocked_by_misses(p, &p->slice[slice], i)) return false;
    bool one_more = part & ~coming && p->spec->partial.lines && (i == ORR_NO_LINE || !in_part(&c->line[i]));
    if (one_more && !room_for_part(p, slice, r->line, t)) return false;
    if (!orr_l2_room_for_dirty(p, slice, r->line, i, t)) return false;
    bool made = i == ORR_NO_LINE;
    if (made && (i = orr_l2_make_room(p, slice, r->line, t)) == ORR_NO_LINE) return false;
    p->slice[slice].made = made;

    orr_cache_touch(c, i);
    orr_cache_line *l = &c->line[i];
    if (one_more) l->used &= (uint8_t) ~(ORR_LINE_AGAIN | ORR_LINE_SPREAD);
    if (in_part(l) & part) l->used |= ORR_LINE_AGAIN;
    if (in_part(l) && part & ~in_part(l)) l->used |= ORR_LINE_SPREAD;
    // A half that stores to a line of its own tells the other one if that has read it, or stored to it, since
    // this one last did (H200: two SMs that store to 32 lines in turn, lts sectors of ltcfabric).
    if (!r->far && l->used & (ORR_LINE_COPIED | ORR_LINE_PASSED)) p->stats.told++;
    // One of the other half goes into the copy that it passes, or leaves one (l2.copy_told).
    bool kept = r->far && p->spec->halves.acknowledge;
    p->slice[slice].told = !kept && orr_l2_drop_copy(p, slice, l, r->far, t);
    l->used = r->far ? l->used | ORR_LINE_PASSED : l->used & (uint8_t)~ORR_LINE_PASSED;
    if (kept && whole) l->used |= ORR_LINE_COPIED;
    p->stats.write_present[r->from] += (uint64_t)orr_popc(r->sectors & (here | l->dirty));
    l->dirty |= r->sectors;
    l->valid |= whole;
    if (want) {
        orr_l2_fetch(p, slice, i, r->line, want, false, t);
        p->stats.fetched_for_write += (uint64_t)orr_popc(want);
    }
    if (part && !p->spec->fetch)
        for (int k = 0; k < 4; k++) {
            if (!(part >> k & 1)) continue;
            l->used |= ORR_LINE_PARTIAL;
            c->partial[i][k / 2] |= (uint64_t)bytes_of(r->bytes, k) << k % 2 * 32;
            if (bytes_of(c->partial[i], k) == UINT32_MAX) l->valid |= (uint8_t)(1 << k);
        }
    if (r->far) {
        p->stats.far_write += (uint64_t)orr_popc(r->sectors);
        return true;
    }
    p->stats.write[r->from] += (uint64_t)orr_popc(r->sectors);
    p->stats.write_hit[r->from] += (uint64_t)orr_popc(r->sectors & ~want);
    return true;
}

// An atomic of the other half goes by: a load behind it has to find what it did, not a copy from before, be
// it there or on its way.
void orr_l2_forget_copy(orr_l2 *p, uint32_t slice, uint64_t tag) {
    orr_cache *c = &p->slice[slice].cache;
    uint32_t i = orr_cache_find(c, tag);
    if (i == ORR_NO_LINE) return;
    orr_cache_line *l = &c->line[i];
    l->valid = 0;
    if (!l->pending) return;
    p->misses.at[l->user].line = ORR_NO_LINE; // who waits for it gets it
    l->pending = 0;
    l->user = NONE;
}

// A store to a line of the other half leaves the sectors that it writes whole where it passes (l2.copy_told).
void orr_l2_leave_copy(orr_l2 *p, uint32_t slice, const orr_request *r, uint64_t t) {
    orr_cache *c = &p->slice[slice].cache;
    uint8_t whole = p->spec->halves.acknowledge ? orr_l2_whole_sectors(r) : 0;
    if (!whole) return;
    uint32_t i = orr_cache_find(c, r->line);
    if (i == ORR_NO_LINE && (i = orr_l2_make_room(p, slice, r->line, t)) == ORR_NO_LINE) return;
    orr_cache_touch(c, i);
    c->line[i].valid |= whole & (uint8_t)~c->line[i].pending;
}
