// Loads that meet in front of a slice of L2 (l2.h).
//
// The slice looks a load up and answers after l2.merge_time. Until then, or until the line has come from
// memory, others of the same GPC and the same sectors of the line are answered with it, up to l2.merge of
// them, and the slice does not see them. A line is open for one set of sectors at a time: a load of others
// closes it and meets nobody itself.
//
// Lookups have no time of their own in this model, so that an answer leaves at once and who comes within
// l2.merge_time behind it has met it.
#include "memory/l2.h"
#include "memory/memory.h"

#include <string.h>

#define NEVER UINT64_MAX

static uint16_t gpc_of(const orr_l2 *p, uint32_t sm) {
    return (uint16_t)orr_gpc_of_sm(sm, p->spec->topology);
}

// The highest bits, into which ORR_L2_FAR goes, too.
static uint64_t mixed(uint64_t line) { return line * 0x9e3779b97f4a7c15u >> 55; }

static orr_l2_merge *merge_at(orr_l2_slice *s, uint64_t line, uint16_t gpc) {
    uint64_t at = (mixed(line) ^ gpc) % ORR_L2_MERGES;
    s->merges.loads |= 1ull << at / ORR_L2_MERGE_PART;
    return &s->merges.load[at];
}

static orr_l2_merge_line *line_at(orr_l2_slice *s, uint64_t line) {
    uint64_t at = mixed(line) % ORR_L2_MERGE_LINES;
    s->merges.lines |= 1ull << at / (ORR_L2_MERGE_LINES / 64);
    return &s->merges.line[at];
}

// A short launch touches few of them.
void orr_l2_merges_reset(orr_l2_merges *m) {
    for (; m->loads; m->loads &= m->loads - 1)
        memset(&m->load[(uint32_t)__builtin_ctzll(m->loads) * ORR_L2_MERGE_PART], 0,
               ORR_L2_MERGE_PART * sizeof *m->load);
    for (uint32_t part = ORR_L2_MERGE_LINES / 64; m->lines; m->lines &= m->lines - 1)
        memset(&m->line[(uint32_t)__builtin_ctzll(m->lines) * part], 0, part * sizeof *m->line);
    m->opened = 0;
}

// A load is on its way to the slice: what it will look at is seldom in the host's caches.
void orr_l2_merge_prefetch(const orr_l2 *p, const orr_l2_slice *s, uint64_t line, uint32_t sm) {
    const orr_l2_merge *e = &s->merges.load[(mixed(line) ^ gpc_of(p, sm)) % ORR_L2_MERGES];
    __builtin_prefetch(e, 1);
    __builtin_prefetch(&s->merges.line[mixed(line) % ORR_L2_MERGE_LINES], 1);
}

// A load that the slice looks up: others may meet it, unless it closes the line.
void orr_l2_merge_open(orr_l2 *p, orr_l2_slice *s, const orr_l2_request *r) {
    uint16_t gpc = gpc_of(p, r->sm);
    orr_l2_merge_line *o = line_at(s, r->line);
    bool other = o->epoch && o->line == r->line && r->time <= o->open_until;
    if (other && o->sectors != r->sectors) {
        o->epoch = 0;
        return;
    }
    if (!other) {
        if (!++s->merges.opened) s->merges.opened = 1;
        *o = (orr_l2_merge_line){.line = r->line, .epoch = s->merges.opened, .sectors = r->sectors};
    }
    o->open_until = NEVER;
    *merge_at(s, r->line, gpc) = (orr_l2_merge){
        .line = r->line, .reply = NEVER, .epoch = o->epoch, .gpc = gpc, .loads = 1, .sectors = r->sectors};
}

// A load's sectors are there at t: when they leave.
uint64_t orr_l2_merge_reply(orr_l2 *p, orr_l2_slice *s, const orr_l2_waiter *w, uint64_t t) {
    uint16_t gpc = gpc_of(p, w->sm);
    orr_l2_merge *e = merge_at(s, w->line, gpc);
    bool met = e->loads && e->line == w->line && e->gpc == gpc;
    if (w->merged) return met && e->sent > t ? e->sent : t;
    t = orr_l2_send(p, s, t, w->sectors);
    if (met) e->sent = t;
    if (met && e->reply == NEVER) e->reply = t;
    orr_l2_merge_line *o = line_at(s, w->line);
    if (o->line == w->line) o->open_until = t + p->spec->merge.window;
    return t;
}

// A store of this half's SMs waits in front of the slice while loads of its line are on their way, and all
// that comes behind it waits with it. Until when; UINT64_MAX: until something comes from memory or from the
// other half. H200: a warp loads a line, stores to another sector of it and loads the line beside it, which
// L2 has, as the line is or was not: the last one takes 327 cycles where the line is there (302 without the
// first load, far lines of which there is a copy 334 and 309), 463 where it comes from the other half, 573
// from memory, 756 from memory behind the other half, which is when that line comes.
uint64_t orr_l2_store_waits(const orr_l2 *p, orr_l2_slice *s, const orr_l2_request *r, uint64_t t) {
    uint32_t i = orr_cache_find(&s->cache, r->line);
    const orr_cache_line *l = i == ORR_NO_LINE ? NULL : &s->cache.line[i];
    if (l && l->pending && p->mshrs.at[l->user].head != UINT32_MAX) return NEVER; // who waits for it?
    const orr_l2_merge_line *o = line_at(s, r->line);
    return o->line == r->line && o->open_until != NEVER && o->open_until > t ? o->open_until : t;
}

// A load that has met another of its line. False: it has not.
bool orr_l2_merge_join(orr_l2 *p, uint32_t slice, const orr_l2_request *r, uint64_t t, orr_replies *out) {
    if (r->kind != ORR_REQ_READ || r->far) return false;
    orr_l2_slice *s = &p->slice[slice];
    uint16_t gpc = gpc_of(p, r->sm);
    orr_l2_merge *e = merge_at(s, r->line, gpc);
    if (!e->loads || e->line != r->line || e->gpc != gpc || r->sectors != e->sectors ||
        e->loads >= p->spec->merge.max_loads)
        return false;
    const orr_l2_merge_line *o = line_at(s, r->line);
    if (o->epoch != e->epoch || o->line != r->line) return false;
    uint64_t reply = e->reply;
    if (reply == NEVER) { // it waits for the same sectors
        uint32_t i = orr_cache_find(&s->cache, r->line);
        if (i == ORR_NO_LINE) return false; // a copy that is not kept
        const orr_cache_line *l = &s->cache.line[i];
        uint8_t needs = r->sectors & ~l->valid;
        if (needs & ~l->pending) return false;
        if (needs) {
            orr_l2_waiter w = {.sm = r->sm,
                               .token = r->token,
                               .sectors = r->sectors,
                               .kind = r->kind,
                               .line = r->line,
                               .needs = needs,
                               .merged = true,
                               .live = r->live};
            orr_l2_mshr_wait(p, &p->mshrs.at[l->user], &w);
        }
        reply = needs ? NEVER : t;
    } else if (r->time > reply + p->spec->merge.window) {
        return false;
    }
    e->loads++;
    p->stats.merged += (uint64_t)orr_popc(r->sectors);
    if (reply == NEVER) return true;
    orr_l2_serve(p, r->sm, r->live);
    *ORR_PUSH(out) = (orr_reply){.time = e->sent > t ? e->sent : t,
                                 .sm = r->sm,
                                 .token = r->token,
                                 .sectors = r->sectors,
                                 .hit = true,
                                 .merged = true};
    return true;
}
