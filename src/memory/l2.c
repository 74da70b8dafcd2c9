// A partition of L2 (l2.h): loads, fills, the order of events, beginning and end.
//
// What happens has a time, and is done in order of time: a request is taken from a slice's input
// (l2_input.c), a channel does something (dram.c), sectors come back (l2_mshr.c), an atomic is done
// (l2_atomic.c). Which of those at the same time is first is fixed, so that the outcome depends on the
// requests only, not on how time was cut into calls.
#include "memory/l2.h"
#include "memory/memory.h"

#include <stdlib.h>
#include <string.h>

#define NONE  UINT32_MAX
#define NEVER UINT64_MAX

static uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }

// ---- answers -----------------------------------------------------------------------------------------

void orr_l2_note_time(orr_l2 *p, uint64_t t) {
    if (t > p->stats.last) p->stats.last = t;
}

// The sectors leave by the slice's port; the time of the last.
uint64_t orr_l2_send(orr_l2 *p, orr_l2_slice *s, uint64_t t, uint8_t sectors) {
    uint64_t n = (uint64_t)orr_popc(sectors);
    t = max(t, s->port.reply_free);
    s->port.reply_free = t + n * p->spec->sector;
    if (n) t += (n - 1) * p->spec->sector;
    orr_l2_note_time(p, t);
    return t;
}

// The sectors go to the other half, loaded ones that it has asked for and stored ones that it has to have, by
// one way (l2.far_sector); the time of the last.
uint64_t orr_l2_cross(const orr_l2 *p, orr_l2_slice *s, uint64_t t, uint8_t sectors) {
    if (!p->spec->halves.sector || !sectors) return t;
    t = max(t, s->port.cross_free);
    s->port.cross_free = t + (uint64_t)orr_popc(sectors) * p->spec->halves.sector;
    return s->port.cross_free - p->spec->halves.sector;
}

static void reply(orr_l2 *p, orr_l2_slice *s, uint64_t t, const orr_l2_waiter *w, orr_replies *out) {
    bool meets = w->kind == ORR_REQ_READ && p->spec->merge.max_loads > 1;
    if (w->kind == ORR_REQ_READ) orr_l2_serve(p, w->sm, w->live);
    t = meets ? orr_l2_merge_reply(p, s, w, t) : orr_l2_send(p, s, t, w->sectors);
    if (w->far) t += p->spec->halves.latency; // an atomic from the other half
    *ORR_PUSH(out) = (orr_reply){
        .time = t, .sm = w->sm, .token = w->token, .sectors = w->sectors, .hit = w->hit, .merged = w->merged};
    orr_l2_note_time(p, t);
}

// All sectors of a load or an atomic are here.
static void complete(orr_l2 *p, uint32_t slice, uint64_t t, const orr_l2_waiter *w, orr_replies *out) {
    orr_l2_slice *s = &p->slice[slice];
    if (w->kind == ORR_REQ_READ && w->far) {
        orr_l2_serve(p, w->sm, w->live);
        t = orr_l2_cross(p, s, orr_l2_send(p, s, t, w->sectors), w->sectors) + p->spec->halves.latency;
        *ORR_PUSH(&p->returns) =
            (orr_l2_event){.time = t, .at = w->token, .sectors = w->sectors, .from_far = true};
        return;
    }
    if (w->kind == ORR_REQ_READ) {
        reply(p, s, t, w, out);
        return;
    }
    orr_l2_atomic(p, slice, t, w, out);
}

// ---- loads -------------------------------------------------------------------------------------------

// Of the sectors that a load or an atomic asks for, so many are here, and so many of the others on their way.
static void count_lookup(orr_l2 *p, const orr_l2_request *r, uint64_t hits, uint64_t pending) {
    uint64_t n = (uint64_t)orr_popc(r->sectors);
    if (r->kind == ORR_REQ_REDUCE) {
        p->stats.atomics.reduced[0] += n;
        p->stats.atomics.reduced[1] += hits + (r->far ? pending : 0);
    }
    if (r->far) {
        p->stats.far.requests++;
        *(r->kind == ORR_REQ_READ ? &p->stats.far.read : &p->stats.far.atomic) += n;
        *(r->kind == ORR_REQ_READ ? &p->stats.far.read_hit : &p->stats.far.atomic_hit) += hits + pending;
    } else if (r->kind == ORR_REQ_READ) {
        p->stats.read[r->from] += n;
        p->stats.read_hit[r->from] += hits;
        p->stats.read_pending[r->from] += pending;
    } else {
        p->stats.atomics.n += n;
        p->stats.atomics.hit += hits;
    }
}

// A load or an atomic. False: the slice is blocked, and nothing was done.
bool orr_l2_load(orr_l2 *p, uint32_t slice, const orr_l2_request *r, uint64_t t, orr_replies *out) {
    orr_cache *c = &p->slice[slice].cache;
    bool behind = p->spec->atomic.load_gap &&
                  r->after_atomic; // of a far line: it takes the atomic's way, and asks for itself
    uint32_t i = behind && r->line & ORR_L2_FAR ? ORR_NO_LINE : orr_cache_find(c, r->line);
    uint8_t here = 0, coming = 0, bytes = 0;
    if (i != ORR_NO_LINE) {
        here = c->line[i].valid;
        coming = c->line[i].pending & ~here;
        bytes = c->line[i].dirty & ~here; // sectors of which some bytes are here
    }
    uint8_t lack = r->sectors & ~here, missing = lack & ~coming;
    if (orr_l2_merges_full(p, &p->slice[slice], i, lack & coming)) return false;
    if (r->kind != ORR_REQ_READ && !orr_l2_limit_dirty(p, slice, r->line, i, t)) return false;
    uint32_t miss = i == ORR_NO_LINE ? NONE : c->line[i].user;
    if (missing) {
        bool copy = r->line & ORR_L2_FAR;
        if (!copy && orr_l2_mshrs_full(p, &p->slice[slice], i)) return false;
        if (i == ORR_NO_LINE && !(behind && copy) &&
            (i = orr_l2_allocate(p, slice, r->line, t)) == ORR_NO_LINE && !copy)
            return false;
        bool narrow =
            r->far && r->kind != ORR_REQ_READ; // an atomic of the other half brings its sectors alone
        uint8_t all = narrow ? missing : orr_l2_widened(missing, p->spec->sector_shift) & ~here & ~coming;
        miss = orr_l2_fetch(p, slice, i,
                            (orr_l2_miss){.line = r->line, .sectors = all, .after_atomic = behind}, t);
        if (copy && r->live) { // it is served where the line belongs
            orr_l2_request *asks = &p->crossing.at[p->crossing.n - 1].r;
            asks->sm = r->sm;
            asks->live = r->live;
        }
        if (!r->far && r->kind == ORR_REQ_READ)
            p->stats.read_widened[r->from] += (uint64_t)orr_popc(all & ~missing);
        p->stats.fetched_for_write += (uint64_t)orr_popc(missing & bytes);
    }
    bool late = false;
    if (i != ORR_NO_LINE) { // a request for no sector has no line, nor has a copy that is not kept
        orr_cache_touch(c, i);
        if (r->kind != ORR_REQ_READ) {
            late = orr_l2_invalidate_copy(p, slice, &c->line[i], r->far, t);
            if (p->spec->halves.acknowledge) c->line[i].flags &= (uint8_t)~ORR_LINE_FAR_STORED;
        } else if (r->far)
            c->line[i].flags |= ORR_LINE_COPIED;
    }

    count_lookup(p, r, (uint64_t)orr_popc(r->sectors & here), (uint64_t)orr_popc(lack & coming));
    if (!r->far && r->kind == ORR_REQ_READ && p->spec->merge.max_loads > 1 && !behind)
        orr_l2_merge_open(p, &p->slice[slice], r);
    if (r->kind != ORR_REQ_READ && i != ORR_NO_LINE) c->line[i].dirty |= r->sectors;
    orr_l2_waiter w = {.sm = r->sm,
                       .token = r->token,
                       .next = NONE,
                       .sectors = r->sectors,
                       .kind = r->kind,
                       .ops = r->ops,
                       .quarter_ops = r->quarter_ops,
                       .float_sum = r->float_sum,
                       .wants_ack = r->wants_ack,
                       .same_packet = r->same_packet,
                       .live = r->live,
                       .line = r->line,
                       .needs = lack,
                       .hit = !lack,
                       .invalidates = late,
                       .far = r->far};
    if (lack) {
        orr_l2_mshr_wait(p, &p->mshrs.at[miss], &w);
    } else {
        complete(p, slice, t, &w, out);
    }
    return true;
}

// ---- fills -------------------------------------------------------------------------------------------

static void unblock(orr_l2 *p, orr_l2_slice *s, int why, uint64_t t) {
    for (orr_l2_lane *in = s->lane; in < s->lane + ORR_L2_LANES; in++) {
        if (in->blocked != why) continue;
        if (t > in->blocked_since)
            p->stats.failed[in->at[in->head].kind == ORR_REQ_WRITE][in->fail] += t - in->blocked_since;
        in->blocked = ORR_L2_FREE;
        in->free = max(in->free, t);
    }
}

static void fill(orr_l2 *p, const orr_l2_event *e, orr_replies *out) {
    orr_l2_mshr *miss = &p->mshrs.at[e->at];
    orr_l2_slice *s = &p->slice[miss->slice];
    orr_cache_line *l = miss->line == ORR_NO_LINE ? NULL : &s->cache.line[miss->line];
    if (l) {
        l->pending &= ~e->sectors;
        l->valid |= e->sectors;
        if (miss->write_back && p->spec->partial.max_completed && e->sectors == 15)
            l->flags |= ORR_LINE_COMPLETED;
        else if (miss->write_back)
            orr_l2_write_back(p, miss->slice, l, e->sectors & l->dirty, e->time);
    }
    uint32_t left = NONE, last = NONE, next;
    for (uint32_t w = miss->head; w != NONE; w = next) {
        orr_l2_waiter *at = &p->waiters.at[w];
        next = at->next;
        at->needs &= ~e->sectors;
        if (at->needs) {
            if (left == NONE)
                left = w;
            else
                p->waiters.at[last].next = w;
            last = w;
            at->next = NONE;
        } else {
            orr_l2_waiter copy = *at;
            orr_l2_free_waiter(p, w);
            complete(p, miss->slice, e->time, &copy, out);
        }
    }
    miss->head = left;
    miss->tail = last;
    unblock(p, s, ORR_L2_BLOCKED_LINES, e->time);
    unblock(p, s, ORR_L2_BLOCKED_LOADS, e->time);
    if (--miss->outstanding) return;
    if (l) l->user = NONE;
    s->input.mshrs -= !miss->copy;
    s->input.completing -= miss->write_back;
    miss->line = ORR_NO_LINE;
    miss->head = p->free_mshr;
    p->free_mshr = e->at;
}

// ---- events, a heap ----------------------------------------------------------------------------------

static bool before(const orr_l2_event *a, const orr_l2_event *b) {
    if (a->time != b->time) return a->time < b->time;
    if (a->from_far != b->from_far) return b->from_far;
    return (int32_t)(a->seq - b->seq) < 0;
}

void orr_l2_event_push(orr_l2 *p, orr_l2_event e) {
    e.seq = p->seq++;
    (void)ORR_PUSH(&p->events);
    size_t i = p->events.n - 1;
    orr_l2_event *at = p->events.at;
    for (; i && before(&e, &at[(i - 1) / 2]); i = (i - 1) / 2) at[i] = at[(i - 1) / 2];
    at[i] = e;
}

static orr_l2_event event_pop(orr_l2 *p) {
    orr_l2_event *at = p->events.at, first = at[0], last = at[--p->events.n];
    size_t n = p->events.n, i = 0;
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(&at[child + 1], &at[child])) child++;
        if (!before(&at[child], &last)) break;
        at[i] = at[child];
    }
    if (n) at[i] = last;
    return first;
}

static void do_event(orr_l2 *p, orr_replies *out) {
    orr_l2_event e = event_pop(p);
    orr_l2_slice *s = &p->slice[e.slice];
    switch (e.kind) {
    case ORR_L2_EV_FILL: fill(p, &e, out); break;
    default: {
        orr_l2_waiter w = p->waiters.at[e.at];
        orr_l2_free_waiter(p, e.at);
        reply(p, s, e.time, &w, out);
    }
    }
}

// The host's caches seldom have a line that comes.
static void prefetch_fill(const orr_l2 *p, uint32_t mshr) {
    const orr_l2_mshr *miss = &p->mshrs.at[mshr];
    if (miss->line != ORR_NO_LINE) __builtin_prefetch(&p->slice[miss->slice].cache.line[miss->line], 1);
    if (miss->head != NONE) __builtin_prefetch(&p->waiters.at[miss->head], 1);
}

void orr_l2_prefetch(const orr_l2 *p) {
    for (size_t i = 0; i < p->events.n; i++)
        if (p->events.at[i].kind == ORR_L2_EV_FILL) prefetch_fill(p, p->events.at[i].at);
}

void orr_l2_return(orr_l2 *p, const orr_l2_event *e) {
    prefetch_fill(p, e->at);
    orr_l2_event_push(p, *e);
}

// ---- the loop ----------------------------------------------------------------------------------------

static uint64_t next_event(const orr_l2 *p) { return p->events.n ? p->events.at[0].time : NEVER; }

static uint64_t next_input(const orr_l2 *p, uint32_t *slice, uint32_t *lane) {
    uint64_t t = NEVER;
    for (uint32_t i = 0; i < p->slices; i++) {
        const orr_l2_slice *s = &p->slice[i];
        for (uint32_t m = s->input.busy_lanes; m; m &= m - 1) {
            uint32_t k = (uint32_t)orr_ffs(m);
            uint64_t at = orr_l2_ready_at(p, s, k);
            if (at >= t) continue;
            t = at;
            *slice = i;
            *lane = k;
        }
    }
    return t;
}

static uint64_t next_of_dram(const orr_l2 *p, uint32_t *channel) {
    const uint64_t *next = p->dram_next;
    uint32_t first = 0;
    for (uint32_t i = 1; i < p->channels; i++) first = next[i] < next[first] ? i : first;
    *channel = first;
    return next[first];
}

uint64_t orr_l2_next(const orr_l2 *p) {
    uint32_t i = 0, lane = 0;
    uint64_t event = next_event(p), in = next_input(p, &i, &lane), dram = next_of_dram(p, &i);
    uint64_t t = event < in ? event : in;
    return t < dram ? t : dram;
}

static void step_dram(orr_l2 *p, uint32_t channel) {
    orr_dram_done done;
    bool read = orr_dram_step(&p->channel[channel], &done);
    p->dram_next[channel] = orr_dram_next(&p->channel[channel]);
    if (!read) return;
    prefetch_fill(p, done.user);
    orr_l2_event_push(
        p, (orr_l2_event){.time = done.time + p->spec->from_dram, .at = done.user, .sectors = done.sectors});
}

uint64_t orr_l2_run(orr_l2 *p, uint64_t until, orr_replies *out) {
    uint32_t slice = 0, lane = 0, channel = 0;
    uint64_t in = next_input(p, &slice, &lane), dram = next_of_dram(p, &channel);
    for (;;) { // at one time: events first, then requests, then DRAM
        uint64_t event = next_event(p), t = event <= in ? event : in;
        if (dram < t) {
            if (dram >= until) break;
            step_dram(p, channel);
            if (p->write_blocked && !orr_dram_full(&p->channel[channel])) {
                for (uint32_t i = 0; i < p->slices; i++)
                    unblock(p, &p->slice[i], ORR_L2_BLOCKED_WRITES, dram);
                p->write_blocked = false;
                in = next_input(p, &slice, &lane);
            }
            dram = next_of_dram(p, &channel);
            continue;
        }
        if (t >= until) break;
        p->now = max(p->now, t); // who waited for others, as at a full queue, goes on now
        if (event <= in) {
            do_event(p, out);
        } else {
            orr_l2_take_input(p, slice, lane, p->now, out);
            dram = next_of_dram(p, &channel);
        }
        in = next_input(p, &slice, &lane);
    }
    p->until = until;
    uint64_t event = next_event(p), next = event < in ? event : in;
    return next < dram ? next : dram;
}

// ---- without time ------------------------------------------------------------------------------------

uint32_t orr_l2_line_for(orr_cache *c, uint64_t tag) {
    orr_cache_line victim;
    uint32_t i = orr_cache_find(c, tag);
    if (i == ORR_NO_LINE) i = orr_cache_take_idle(c, tag, &victim, NULL);
    if (i != ORR_NO_LINE) orr_cache_touch(c, i);
    return i;
}

void orr_l2_preload(orr_l2 *p, uint32_t slice, uint64_t tag, uint8_t sectors) {
    orr_cache *c = &p->slice[slice].cache;
    uint32_t i = orr_l2_line_for(c, tag);
    if (i == ORR_NO_LINE) return;
    c->line[i].valid |= sectors;
    c->line[i].dirty &= ~sectors;
}

// What a sampled simulation executed and did not simulate: loads bring as much as L1 or L2 would have asked
// for. Sectors that are on their way are left alone.
void orr_l2_warm(orr_l2 *p, uint32_t slice, uint64_t tag, uint8_t sectors) {
    orr_cache *c = &p->slice[slice].cache;
    uint32_t i = orr_l2_line_for(c, tag);
    if (i == ORR_NO_LINE) return;
    c->line[i].valid |= orr_l2_widened(sectors, p->spec->load_shift) & (uint8_t)~c->line[i].pending;
}

// ---- beginning and end -------------------------------------------------------------------------------

void orr_l2_reset(orr_l2 *p) {
    for (uint32_t i = 0; i < p->channels; i++) {
        orr_dram_reset(&p->channel[i]);
        p->dram_next[i] = NEVER;
    }
    for (uint32_t i = 0; i < p->mshrs.n; i++) {
        const orr_l2_mshr *miss = &p->mshrs.at[i];
        if (miss->line == ORR_NO_LINE) continue; // a free one
        orr_cache_line *l = &p->slice[miss->slice].cache.line[miss->line];
        if (l->user != i) continue;
        l->valid |= l->pending;
        l->pending = 0;
        l->user = NONE;
    }
    for (uint32_t i = 0; i < p->slices; i++) {
        orr_l2_slice *s = &p->slice[i];
        for (int k = 0; k < ORR_L2_LANES; k++)
            s->lane[k] =
                (orr_l2_lane){.at = s->lane[k].at, .cap = s->lane[k].cap, .service_time = p->spec->cycle};
        s->input = (orr_l2_input){0};
        s->port = (orr_l2_port){0};
        memset(&s->atomics, 0, sizeof s->atomics);
        orr_l2_merges_reset(&s->merges);
        memset(s->stores, 0, sizeof s->stores);
        for (int k = 0; k < 2; k++) memset(s->users[k], 0, p->words * sizeof *s->users[k]);
    }
    p->crossing.n = p->returns.n = 0;
    p->waiters.n = p->mshrs.n = p->events.n = 0;
    p->free_waiter = p->free_mshr = NONE;
    p->seq = 0;
    p->until = p->now = 0;
    p->write_blocked = false;
    p->stats = (orr_memsys_stats){0};
}

void orr_l2_init(orr_l2 *p, const orr_l2_spec *c, const orr_gpu *g, const orr_dram_spec *d, orr_l2_extent x) {
    uint32_t slices = x.slices, channels = x.channels;
    *p = (orr_l2){.spec = c, .slices = slices, .channels = channels, .free_waiter = NONE, .free_mshr = NONE};
    p->slice = orr_pages(slices, sizeof *p->slice);
    p->channel = orr_calloc(channels, sizeof *p->channel);
    p->dram_next = orr_calloc(channels, sizeof *p->dram_next);
    uint64_t bytes = (uint64_t)g->l2_size / (uint64_t)g->l2_slices;
    p->words = (uint32_t)(g->sm_count + 63) / 64;
    for (uint32_t i = 0; i < 2 * slices; i++)
        p->slice[i / 2].users[i % 2] = orr_calloc(p->words, sizeof *p->slice->users[0]);
    for (uint32_t i = 0; i < slices; i++)
        orr_cache_init(&p->slice[i].cache, bytes, ORR_LINE, (uint32_t)g->l2_ways, g->l2_hashed,
                       !c->write_fetch);
    for (uint32_t i = 0; i < channels; i++) orr_dram_init(&p->channel[i], d, x.first_channel + i);
    orr_l2_reset(p);
}

void orr_l2_free(orr_l2 *p) {
    for (uint32_t i = 0; i < p->slices; i++) {
        orr_cache_free(&p->slice[i].cache);
        for (int k = 0; k < ORR_L2_LANES; k++) free(p->slice[i].lane[k].at);
        free(p->slice[i].users[0]);
        free(p->slice[i].users[1]);
    }
    for (uint32_t i = 0; i < p->channels; i++) orr_dram_free(&p->channel[i]);
    orr_pages_free(p->slice);
    free(p->channel);
    free(p->dram_next);
    free(p->crossing.at);
    free(p->returns.at);
    free(p->waiters.at);
    free(p->mshrs.at);
    free(p->events.at);
}
