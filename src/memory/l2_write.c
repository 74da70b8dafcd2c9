// Stores of an L2 slice: whole and partial sectors, limits on dirty lines, write-backs.
//
// A store leaves whole sectors valid and dirty. A sector that is stored to in part has its bytes marked
// (write-validate) and is fetched only when it is read; or, with l2.write = fetch, it is fetched at once. A
// dirty sector that is evicted is written to DRAM, once, whole or not.
//
// Of each set so many lines can be partial (l2.partial_ways), as byte masks are kept for them. When one more
// is stored to in part, the sectors of the one used least recently are read from DRAM, so many lines at a
// time (l2.completions), and what has come is written back: single sectors at once, a whole line when so many
// others have been completed (l2.completed_ways). And so many can be dirty (l2.dirty_ways): before one more
// is, another is written back, and stays.
#include "memory/l2.h"
#include "memory/memory.h"

static uint32_t bytes_of(const uint64_t bytes[2], int sector) {
    return (uint32_t)(bytes[sector / 2] >> sector % 2 * 32);
}

static uint8_t whole_sectors(const uint64_t bytes[2], uint8_t sectors) {
    uint8_t whole = 0;
    for (int k = 0; k < 4; k++)
        if (bytes_of(bytes, k) == UINT32_MAX) whole |= (uint8_t)(1 << k);
    return whole & sectors;
}

uint8_t orr_l2_whole_sectors(const orr_l2_request *r) { // of a store, those that it writes whole
    return whole_sectors(r->bytes, r->sectors);
}

static uint8_t partial_sectors(const orr_cache_line *l) { return l->dirty & ~l->valid & ~l->pending; }
static bool is_partial(const orr_cache_line *l) { return partial_sectors(l) != 0; }
static bool is_dirty(const orr_cache_line *l) { return l->dirty && !l->pending && !partial_sectors(l); }
// Or will be when its sectors have come: an atomic waits for them.
static bool will_be_dirty(const orr_cache_line *l) { return l->dirty && !partial_sectors(l); }
static bool is_whole(const orr_cache_line *l) { return l->flags & ORR_LINE_COMPLETED && is_dirty(l); }

// The line that has to make room in the set of `tag`, of a slice's share of `lines`; ORR_NO_LINE: there is.
static uint32_t over_limit(orr_l2_slice *s, uint64_t tag, uint32_t lines,
                           bool (*is)(const orr_cache_line *)) {
    uint64_t set = orr_cache_set_of(&s->cache, tag), sets = s->cache.sets;
    uint64_t share = (set + 1) * lines / sets - set * lines / sets;
    uint32_t n, i = orr_cache_oldest_of(&s->cache, tag, is, &n);
    return n && n >= share ? i : ORR_NO_LINE;
}

// A line is written back, and stays.
void orr_l2_write_back(orr_l2 *p, uint32_t slice, orr_cache_line *l, uint8_t sectors, uint64_t t) {
    orr_l2_write_dram(p, slice, l->tag, sectors, t);
    l->dirty &= (uint8_t)~sectors;
    l->flags &= (uint8_t)~ORR_LINE_COMPLETED;
}

// Room for one more dirty line. False: the slice is blocked.
bool orr_l2_limit_dirty(orr_l2 *p, uint32_t slice, uint64_t tag, uint32_t at, uint64_t t) {
    orr_l2_slice *s = &p->slice[slice];
    if (!p->spec->max_dirty || (at != ORR_NO_LINE && s->cache.line[at].dirty)) return true;
    uint32_t i, n; // more than one, where lines that were on their way have become dirty
    while (over_limit(s, tag, p->spec->max_dirty, will_be_dirty) != ORR_NO_LINE &&
           (i = orr_cache_oldest_of(&s->cache, tag, is_dirty, &n)) != ORR_NO_LINE) {
        orr_cache_line *l = &s->cache.line[i];
        if (!orr_l2_can_write(p, slice, l->tag)) return false;
        orr_l2_write_back(p, slice, l, l->dirty, t);
    }
    return true;
}

// Room for one more that is there in part. False: the slice is blocked.
static bool limit_partial(orr_l2 *p, uint32_t slice, uint64_t tag, uint64_t t) {
    orr_l2_slice *s = &p->slice[slice];
    uint32_t i = over_limit(s, tag, p->spec->partial.max_partial, is_partial);
    if (i == ORR_NO_LINE) return true;
    orr_cache_line *l = &s->cache.line[i];
    if (p->spec->partial.max_completing && s->input.completing >= p->spec->partial.max_completing) {
        orr_l2_block(p, s, ORR_L2_BLOCKED_LINES, ORR_FAIL_MSHR);
        return false;
    }
    if (orr_l2_mshrs_full(p, s, i) || !orr_l2_can_write(p, slice, l->tag)) return false;
    uint32_t old = p->spec->partial.max_completed
                       ? over_limit(s, tag, p->spec->partial.max_completed, is_whole)
                       : ORR_NO_LINE;
    if (old != ORR_NO_LINE) orr_l2_write_back(p, slice, &s->cache.line[old], s->cache.line[old].dirty, t);
    s->input.completing++;
    uint8_t want = partial_sectors(l);
    uint32_t m =
        orr_l2_fetch(p, slice, i, (orr_l2_miss){.line = l->tag, .sectors = want, .completion = true}, t);
    p->mshrs.at[m].write_back = true;
    uint64_t n = (uint64_t)orr_popc(want);
    p->stats.fetched_for_write += n;
    s->input.completion_time = l->flags & ORR_LINE_REWRITTEN ? n * p->spec->partial.rewritten : 0;
    return true;
}

// The bytes of sectors that are there in part; those that become whole are valid.
static void write_part(orr_cache *c, uint32_t i, uint8_t part, const uint64_t bytes[2]) {
    orr_cache_line *l = &c->line[i];
    for (int k = 0; k < 4; k++) {
        if (!(part >> k & 1)) continue;
        l->flags |= ORR_LINE_PARTIAL;
        c->partial[i][k / 2] |= (uint64_t)bytes_of(bytes, k) << k % 2 * 32;
        if (bytes_of(c->partial[i], k) == UINT32_MAX) l->valid |= (uint8_t)(1 << k);
    }
}

// A store. False: the slice is blocked, and nothing was done.
bool orr_l2_store(orr_l2 *p, uint32_t slice, const orr_l2_request *r, uint64_t t) {
    orr_cache *c = &p->slice[slice].cache;
    uint32_t i = orr_cache_find(c, r->line);
    uint8_t here = i == ORR_NO_LINE ? 0 : c->line[i].valid,
            coming = i == ORR_NO_LINE ? 0 : c->line[i].pending;
    uint8_t whole = orr_l2_whole_sectors(r);
    uint8_t part = r->sectors & ~whole & ~here, want = 0;
    if (p->spec->write_fetch) want = part & ~coming;
    if (want && orr_l2_mshrs_full(p, &p->slice[slice], i)) return false;
    bool one_more =
        part & ~coming && p->spec->partial.max_partial && (i == ORR_NO_LINE || !partial_sectors(&c->line[i]));
    if (one_more && !limit_partial(p, slice, r->line, t)) return false;
    if (!orr_l2_limit_dirty(p, slice, r->line, i, t)) return false;
    if (i == ORR_NO_LINE && (i = orr_l2_allocate(p, slice, r->line, t)) == ORR_NO_LINE) return false;

    orr_cache_touch(c, i);
    orr_cache_line *l = &c->line[i];
    if (one_more) l->flags &= (uint8_t) ~(ORR_LINE_REWRITTEN | ORR_LINE_SCATTERED);
    if (partial_sectors(l) & part) l->flags |= ORR_LINE_REWRITTEN;
    if (partial_sectors(l) && part & ~partial_sectors(l)) l->flags |= ORR_LINE_SCATTERED;
    // A half that stores to a line of its own tells the other one if that has read it, or stored to it, since
    // this one last did (H200: two SMs that store to 32 lines in turn, lts sectors of ltcfabric).
    if (!r->far && l->flags & (ORR_LINE_COPIED | ORR_LINE_FAR_STORED)) p->stats.notified++;
    // One of the other half goes into the copy that it passes, or leaves one (l2.invalidate_replicas).
    bool kept = r->far && p->spec->halves.acknowledge;
    p->slice[slice].input.ack_invalidates = !kept && orr_l2_invalidate_copy(p, slice, l, r->far, t);
    l->flags = r->far ? l->flags | ORR_LINE_FAR_STORED : l->flags & (uint8_t)~ORR_LINE_FAR_STORED;
    if (kept && whole) l->flags |= ORR_LINE_COPIED;
    p->stats.write_present[r->from] += (uint64_t)orr_popc(r->sectors & (here | l->dirty));
    l->dirty |= r->sectors;
    l->valid |= whole;
    if (want) {
        orr_l2_fetch(p, slice, i, (orr_l2_miss){.line = r->line, .sectors = want}, t);
        p->stats.fetched_for_write += (uint64_t)orr_popc(want);
    }
    if (part && !p->spec->write_fetch) write_part(c, i, part, r->bytes);
    if (r->far) {
        p->stats.far.write += (uint64_t)orr_popc(r->sectors);
        return true;
    }
    p->stats.write[r->from] += (uint64_t)orr_popc(r->sectors);
    p->stats.write_hit[r->from] += (uint64_t)orr_popc(r->sectors & ~want);
    return true;
}

// A store that was executed and not simulated. Sectors that it writes in part stay so, within the limits of
// partial and dirty lines: what is over them is taken to have been completed and written back.
void orr_l2_warm_store(orr_l2 *p, uint32_t slice, uint64_t tag, const orr_touched *t) {
    orr_l2_slice *s = &p->slice[slice];
    orr_cache *c = &s->cache;
    uint32_t i = orr_l2_line_for(c, tag);
    if (i == ORR_NO_LINE) return;
    orr_cache_line *l = &c->line[i];
    uint8_t sectors = t->sectors & (uint8_t)~l->pending;
    uint8_t whole = p->spec->write_fetch ? sectors : whole_sectors(t->bytes, sectors),
            part = sectors & (uint8_t) ~(whole | l->valid);
    uint32_t old = ORR_NO_LINE;
    if (part && p->spec->partial.max_partial && !is_partial(l)) {
        old = over_limit(s, tag, p->spec->partial.max_partial, is_partial);
        if (old != ORR_NO_LINE) c->line[old].valid |= partial_sectors(&c->line[old]);
    } else if (sectors && p->spec->max_dirty && !l->dirty) {
        old = over_limit(s, tag, p->spec->max_dirty, is_dirty);
    }
    if (old != ORR_NO_LINE) c->line[old].dirty = 0;
    l->dirty |= sectors;
    l->valid |= whole;
    if (part) write_part(c, i, part, t->bytes);
}
