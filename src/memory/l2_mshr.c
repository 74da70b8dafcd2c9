// Misses of an L2 slice: which line makes room, what is asked for at DRAM or at the other half, who waits for
// it.
//
// Sectors that are missing are asked for once: a line on its way has an MSHR, with a list of those who wait
// for its sectors. A slice that has l2.mshrs of them, or all lines of the set on their way, or too much to
// write waiting at DRAM, is blocked: it takes nothing more until that changes.
#include "memory/l2.h"
#include "memory/memory.h"

#define NONE UINT32_MAX

// ---- DRAM --------------------------------------------------------------------------------------------

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

// Asks for sectors of a line, or writes them: of `side` sectors that lie side by side with one request. How
// many requests that makes.
static uint32_t ask_dram(orr_l2 *p, uint32_t slice, orr_dram_request r, uint64_t tag, uint32_t side) {
    orr_dram *d = channel_of(p, slice, tag, &r.line);
    uint32_t all = r.sectors, n = 0;
    r.time += p->spec->to_dram;
    for (uint32_t k = 0; k < 4; k += side) {
        r.sectors = (uint8_t)(all & ((1u << side) - 1) << k);
        if (!r.sectors) continue;
        orr_dram_push(d, &r);
        n++;
    }
    p->dram_next[d - p->channel] = orr_dram_next(d);
    return n;
}

// A line that is not written as a whole is written by halves, each in a row that is opened for it
// (l2.partial_alone).
void orr_l2_write_dram(orr_l2 *p, uint32_t slice, uint64_t tag, uint8_t sectors, uint64_t t) {
    bool alone = p->spec->partial.own_row && sectors != 15;
    orr_dram_request r = {.time = t, .user = NONE, .sectors = sectors, .write = true, .own_row = alone};
    p->stats.written_back += (uint64_t)orr_popc(sectors);
    if (sectors) ask_dram(p, slice, r, tag, alone ? 2 : 4);
}

// A copy that is on its way gives up its place in the set of `tag`; who waits for it gets it all the same.
static bool displace_copy(orr_l2 *p, orr_l2_slice *s, uint64_t tag) {
    uint32_t first = orr_cache_set_of(&s->cache, tag) * s->cache.ways;
    for (uint32_t i = first; p->spec->halves.copies && i < first + s->cache.ways; i++) {
        orr_cache_line *l = &s->cache.line[i];
        if (!l->pending || !(l->tag & ORR_L2_FAR)) continue;
        p->mshrs.at[l->user].line = ORR_NO_LINE;
        l->pending = 0;
        l->user = NONE;
        orr_cache_drop(&s->cache, i);
        return true;
    }
    return false;
}

// Whether the channel of a line of the slice has room; false: the slice is blocked.
bool orr_l2_can_write(orr_l2 *p, uint32_t slice, uint64_t tag) {
    uint64_t line;
    if (!orr_dram_full(channel_of(p, slice, tag, &line))) return true;
    orr_l2_slice *s = &p->slice[slice];
    orr_l2_block(p, s, ORR_L2_BLOCKED_WRITES, ORR_FAIL_QUEUE);
    p->write_blocked = true;
    return false;
}

// A line for `tag`; the one that was there is evicted. ORR_NO_LINE when the slice is blocked, or for a copy
// that finds no place.
uint32_t orr_l2_allocate(orr_l2 *p, uint32_t slice, uint64_t tag, uint64_t t) {
    orr_l2_slice *s = &p->slice[slice];
    bool copy = tag & ORR_L2_FAR;
    if (!copy && !orr_l2_can_write(p, slice, tag)) return ORR_NO_LINE;
    orr_cache_line victim;
    uint32_t i = orr_cache_take_idle(&s->cache, tag, &victim, NULL);
    if (i == ORR_NO_LINE && copy) return i;
    if (i == ORR_NO_LINE && displace_copy(p, s, tag)) i = orr_cache_take_idle(&s->cache, tag, &victim, NULL);
    if (i == ORR_NO_LINE) {
        orr_l2_block(p, s, ORR_L2_BLOCKED_LINES, ORR_FAIL_LINE);
        return i;
    }
    if (victim.flags) p->stats.evicted++;
    orr_l2_write_dram(p, slice, victim.tag, victim.dirty, t);
    return i;
}

// ---- MSHRs -------------------------------------------------------------------------------------------

uint32_t orr_l2_new_waiter(orr_l2 *p) {
    uint32_t w = p->free_waiter;
    if (w == NONE) {
        w = (uint32_t)p->waiters.n;
        (void)ORR_PUSH(&p->waiters);
    } else {
        p->free_waiter = p->waiters.at[w].next;
    }
    return w;
}

void orr_l2_free_waiter(orr_l2 *p, uint32_t w) {
    p->waiters.at[w].next = p->free_waiter;
    p->free_waiter = w;
}

static uint32_t new_mshr(orr_l2 *p) {
    uint32_t m = p->free_mshr;
    if (m == NONE) {
        m = (uint32_t)p->mshrs.n;
        (void)ORR_PUSH(&p->mshrs);
    } else {
        p->free_mshr = p->mshrs.at[m].head;
    }
    return m;
}

// Asks for sectors of line i that are neither there nor on their way: DRAM, or the other half. Sectors that
// complete a line are read in a row that is opened for them (l2.partial_alone), each in its own where they
// came one by one. Returns the MSHR; i may be ORR_NO_LINE for a copy that is not kept.
uint32_t orr_l2_fetch(orr_l2 *p, uint32_t slice, uint32_t i, orr_l2_miss want, uint64_t t) {
    orr_l2_slice *s = &p->slice[slice];
    orr_cache_line *l = i == ORR_NO_LINE ? NULL : &s->cache.line[i];
    uint32_t m = l ? l->user : NONE;
    bool copy = want.line & ORR_L2_FAR;
    if (m == NONE) {
        m = new_mshr(p);
        p->mshrs.at[m] = (orr_l2_mshr){.line = i, .slice = slice, .copy = copy, .head = NONE, .tail = NONE};
        s->input.mshrs += !copy;
        if (l) l->user = m;
    }
    if (l) l->pending |= want.sectors;
    if (copy) {
        p->mshrs.at[m].outstanding++;
        orr_l2_request r = {.line = want.line,
                            .sectors = want.sectors,
                            .kind = ORR_REQ_READ,
                            .after_atomic = want.after_atomic,
                            .token = m};
        orr_l2_forward(p, slice, &r, t);
    } else {
        bool alone = want.completion && p->spec->partial.own_row;
        orr_dram_request r = {.time = t, .user = m, .sectors = want.sectors, .own_row = alone};
        p->mshrs.at[m].outstanding +=
            ask_dram(p, slice, r, want.line, alone && l && l->flags & ORR_LINE_SCATTERED ? 1 : 4);
    }
    return m;
}

// Whether a miss of line i has to wait for an MSHR; if so, the slice is blocked.
bool orr_l2_mshrs_full(const orr_l2 *p, orr_l2_slice *s, uint32_t i) {
    if ((i != ORR_NO_LINE && s->cache.line[i].user != NONE) || s->input.mshrs < p->spec->mshrs) return false;
    orr_l2_block(p, s, ORR_L2_BLOCKED_LINES, ORR_FAIL_MSHR);
    return true;
}

// Whether as many requests as can (l2.mshr_merges) wait for one of these sectors of line i, which are on
// their way; if so, the slice is blocked.
bool orr_l2_merges_full(const orr_l2 *p, orr_l2_slice *s, uint32_t i, uint8_t sectors) {
    if (!p->spec->mshr_merges || !sectors || s->cache.line[i].user == NONE) return false;
    uint32_t waiting[4] = {0};
    for (uint32_t w = p->mshrs.at[s->cache.line[i].user].head; w != NONE; w = p->waiters.at[w].next)
        for (uint32_t m = p->waiters.at[w].needs & sectors; m; m &= m - 1)
            if (++waiting[orr_ffs(m)] >= p->spec->mshr_merges) {
                orr_l2_block(p, s, ORR_L2_BLOCKED_LINES, ORR_FAIL_MERGE);
                return true;
            }
    return false;
}

void orr_l2_mshr_wait(orr_l2 *p, orr_l2_mshr *miss, const orr_l2_waiter *w) {
    uint32_t at = orr_l2_new_waiter(p);
    p->waiters.at[at] = *w;
    p->waiters.at[at].next = NONE;
    if (miss->head == NONE)
        miss->head = at;
    else
        p->waiters.at[miss->tail].next = at;
    miss->tail = at;
}
