// The L1 data cache (l1.h). An access's lines are looked up in order (l1_lookup); those that hit are done,
// those that miss open an MSHR or wait for one (l1_miss), and an access that finds no MSHR stops there and
// goes on later. A fill answers the loads that wait for it (l1_fill); loads whose lines are all there are
// read out of the banks one after the other, warps in turn (l1_read_out). What an access costs is l1_cost.c,
// atomics l1_atomic.c.
#include "core/l1.h"

#include <stdlib.h>
#include <string.h>

// ---- from the description -----------------------------------------------------------------------
static l1_policy read_policy(const orr_gpu *g) {
    return (l1_policy){.size = (uint64_t)g->l1_size,
                       .ways = (uint32_t)g->l1_ways,
                       .tag_ways = (uint32_t)g->l1_tag_ways,
                       .sector = (uint64_t)g->l1_sector,
                       .hashed = g->l1_hashed,
                       .flush = g->l1_flush,
                       .write = g->l1_write,
                       .write_miss = g->l1_write_miss,
                       .write_allocate = g->l1_write_allocate,
                       .set_hash = g->l1_set_hash};
}

void l1_spec_read(l1_spec *s, const orr_gpu *g) {
    *s = (l1_spec){.policy = read_policy(g),
                   .latency = whole_cycles(g->l1_latency),
                   .mshrs = (uint32_t)g->l1_mshrs,
                   .merges = (uint32_t)g->l1_mshr_merges,
                   .miss_interval = (uint32_t)g->l1_miss_interval,
                   .miss_first = (uint32_t)g->l1_miss_first,
                   .fill_interval = (uint32_t)g->l1_fill_interval,
                   .cost = orr_l1_spec_of(g),
                   .atomic_words = g->l2_atomic_words,
                   .atomic = orr_atomic_spec_of(g),
                   .l2_latency = whole_cycles(g->l2_latency)};
}

void l1_init(l1_cache *c, const l1_spec *s, const core_launch *launch, sm_port *port, data_pipe *pipe,
             uint32_t nwarps) {
    *c = (l1_cache){.spec = s, .launch = launch, .port = port, .pipe = pipe, .clock = port->clock};
    c->warp = orr_pages(nwarps, sizeof *c->warp);
    c->partial_lines = orr_pages(PART_LINES, sizeof *c->partial_lines);
}

void l1_free(l1_cache *c) {
    if (c->bytes) orr_cache_free(&c->tags);
    orr_pages_free(c->warp);
    orr_pages_free(c->partial_lines);
    free(c->filled.at);
    free(c->loads.at);
    free(c->mshrs.at);
    free(c->waiters.at);
}

static void make_tags(l1_cache *c, uint64_t bytes) {
    const l1_policy *p = &c->spec->policy;
    if (p->tag_ways) {
        // Tags for all of it; data for what shared memory leaves (H200: micro/l1 and rings of lines by
        // footprint, docs/archive/h200/l1.md).
        if (c->bytes) {
            orr_cache_flush(&c->tags);
        } else {
            orr_cache_init(&c->tags, p->size, ORR_LINE, p->tag_ways, true, false);
            orr_cache_fold(&c->tags, p->set_hash.at, p->set_hash.n);
        }
        orr_cache_limit(&c->tags, (uint32_t)(bytes / ORR_LINE));
    } else {
        // The sets stay, the ways follow what shared memory leaves.
        uint64_t sets = p->ways ? p->size / ORR_LINE / p->ways : 1;
        uint64_t ways = bytes / ORR_LINE / (sets ? sets : 1);
        if (c->bytes) orr_cache_free(&c->tags);
        orr_cache_init(&c->tags, bytes, ORR_LINE, (uint32_t)(ways ? ways : 1), p->hashed, false);
    }
}

void l1_reset(l1_cache *c) {
    uint64_t bytes = c->launch->l1_bytes;
    if (bytes < ORR_LINE) bytes = ORR_LINE; // all of it is shared memory: what passes through has a place
    if (c->bytes != bytes) {
        make_tags(c, bytes);
        c->filled.n = 0;
    } else if (c->spec->policy.flush) {
        orr_cache_flush(&c->tags);
        c->filled.n = 0;
    }
    c->loads.n = c->mshrs.n = c->waiters.n = 0;
    if (c->has_partial_lines) memset(c->partial_lines, 0, PART_LINES * sizeof *c->partial_lines);
    *c = (l1_cache){.spec = c->spec,
                    .launch = c->launch,
                    .port = c->port,
                    .pipe = c->pipe,
                    .clock = c->clock,
                    .client = c->client,
                    .warp = c->warp,
                    .tags = c->tags,
                    .bytes = bytes,
                    .filled = c->filled,
                    .loads = c->loads,
                    .mshrs = c->mshrs,
                    .waiters = c->waiters,
                    .partial_lines = c->partial_lines,
                    .free_load = NOBODY,
                    .free_mshr = NOBODY,
                    .free_waiter = NOBODY,
                    .out = {.first = NOBODY, .last = NOBODY}};
}

// ---- pools: what was given back is taken again before they grow ---------------------------------
static uint32_t take_load(l1_cache *c) {
    uint32_t i = c->free_load;
    if (i == NOBODY) return (uint32_t)(ORR_PUSH(&c->loads) - c->loads.at);
    c->free_load = c->loads.at[i].next;
    return i;
}

static uint32_t take_mshr(l1_cache *c) {
    uint32_t i = c->free_mshr;
    if (i == NOBODY) return (uint32_t)(ORR_PUSH(&c->mshrs) - c->mshrs.at);
    c->free_mshr = c->mshrs.at[i].older;
    return i;
}

static uint32_t take_waiter(l1_cache *c) {
    uint32_t i = c->free_waiter;
    if (i == NOBODY) return (uint32_t)(ORR_PUSH(&c->waiters) - c->waiters.at);
    c->free_waiter = c->waiters.at[i].next;
    return i;
}

static void give_mshr(l1_cache *c, uint32_t i) {
    c->mshrs.at[i].older = c->free_mshr;
    c->free_mshr = i;
}

static void give_waiter(l1_cache *c, uint32_t i) {
    c->waiters.at[i].next = c->free_waiter;
    c->free_waiter = i;
}

// ---- loads --------------------------------------------------------------------------------------
uint32_t l1_expect(l1_cache *c, uint32_t warp, uint32_t inst) {
    uint32_t f = take_load(c);
    c->loads.at[f] = (l1_load){.issued = c->clock->now, .inst = inst, .warp = warp, .group = NO_GROUP};
    return f;
}

static void done(l1_cache *c, uint32_t f, uint64_t ready) {
    l1_load load = c->loads.at[f];
    if (load.live) perform_deliver(c->port->ops, load.live);
    c->n.loads++;
    c->n.load_latency += ready - load.issued;
    c->loads.at[f].next = c->free_load;
    c->free_load = f;
    c->client.load_done(c->client.self, &load, ready);
}

// Loads whose lines are there are read out one after the other, the warps in turn: of warps that wait for
// many loads each, all have their first ones before one has its last (H200: micro/walk, 8 warps with 16
// loads each: a load's data come as much later than those of the one before as eight take).
static void read_at(l1_cache *c, uint64_t when) {
    c->out.busy = true;
    events_add_at(c->clock, when, EVENT_READ_OUT, 0);
}

static void queue_warp(l1_cache *c, uint32_t w) {
    if (c->out.first == NOBODY)
        c->out.first = w;
    else
        c->warp[c->out.last].next = w;
    c->out.last = w;
    c->warp[w].next = NOBODY;
}

static void queue_load(l1_cache *c, uint32_t f) {
    l1_load *x = &c->loads.at[f];
    l1_warp *w = &c->warp[x->warp];
    x->next = NOBODY;
    if (w->first == NOBODY) {
        w->first = f;
        queue_warp(c, x->warp);
    } else {
        c->loads.at[w->last].next = f;
    }
    w->last = f;
}

static uint32_t next_load(l1_cache *c) {
    uint32_t id = c->out.first, f = c->warp[id].first;
    c->out.first = c->warp[id].next;
    c->warp[id].first = c->loads.at[f].next;
    if (c->warp[id].first != NOBODY) queue_warp(c, id);
    return f;
}

// Passes of accesses that need no line, from now on: they are spread evenly over the time until the last of
// them.
static uint64_t other_passes(l1_readout *o, uint64_t now) {
    if (now > o->seen) {
        uint64_t span = o->until > o->seen ? o->until - o->seen : 0, past = now - o->seen;
        o->work = past < span ? o->work - o->work * past / span : 0;
        o->seen = now;
    }
    return o->work;
}

// A load is read out while others leave the banks alone: what needs no line goes first (H200: loads that hit
// take as long while seven warps' loads are read out, but for what they wait before they begin).
void l1_read_out(l1_cache *c) {
    l1_readout *o = &c->out;
    uint64_t t = c->clock->now;
    if (o->free > t) { // others have been at the banks meanwhile
        read_at(c, o->free);
        return;
    }
    uint32_t f = next_load(c);
    uint64_t passes = c->loads.at[f].passes, work = other_passes(o, t), theirs = 0;
    uint64_t span = o->until > t ? o->until - t : 0;
    if (work && span) {
        uint64_t together = work < span ? passes * span / (span - work) : span;
        theirs = together < span ? work * together / span : work;
    }
    o->free = t + passes + theirs;
    o->work = work - theirs;
    o->seen = o->free;
    o->busy = false;
    if (c->pipe->free > t && c->pipe->shared) c->pipe->read_beside += (uint32_t)passes;
    if (o->first != NOBODY) read_at(c, o->free);
    done(c, f, o->free - 1);
}

void l1_lines_there(l1_cache *c, uint32_t f) {
    queue_load(c, f);
    if (!c->out.busy) read_at(c, latest(c->clock->now, c->out.free));
}

void l1_finish(l1_cache *c, uint32_t f, uint64_t ready) {
    l1_load *x = &c->loads.at[f];
    ready = latest(ready, x->earliest);
    if (!x->passes) {
        done(c, f, ready);
        return;
    }
    x->earliest = ready;
    if (ready > c->clock->now)
        events_add_at(c->clock, ready, EVENT_LINES_THERE, f);
    else
        l1_lines_there(c, f);
}

// ---- misses -------------------------------------------------------------------------------------
static void wait_for(l1_cache *c, uint32_t m, uint32_t f, uint8_t sectors) {
    if (f == NOBODY) return;
    uint32_t n = take_waiter(c);
    l1_mshr *x = &c->mshrs.at[m];
    c->waiters.at[n] = (l1_waiter){f, NOBODY, (uint32_t)orr_popc(sectors)};
    if (x->waiters == NOBODY)
        x->waiters = n;
    else
        c->waiters.at[x->last].next = n;
    x->last = n;
    x->nwaiters++;
    c->loads.at[f].open++;
}

uint32_t l1_miss(l1_cache *c, uint64_t line, uint8_t sectors, uint32_t load, uint32_t fills) {
    uint32_t m = take_mshr(c);
    c->mshrs.at[m] =
        (l1_mshr){.line = line, .waiters = NOBODY, .older = NOBODY, .sectors = sectors, .fills = fills};
    c->open_mshrs++;
    wait_for(c, m, load, sectors);
    return m;
}

static uint8_t from_of(bool local) { return local ? ORR_FROM_LOCAL : ORR_FROM_GLOBAL; }

static void ask(l1_cache *c, const l1_access *a, uint64_t line, uint8_t sectors, uint32_t mshr,
                uint64_t when) {
    orr_request r = {.line = line,
                     .sectors = sectors,
                     .token = event_token(EVENT_FILL, mshr),
                     .kind = ORR_REQ_READ,
                     .from = from_of(a->local)};
    if (a->live && a->load != NOBODY) r.live = perform_load(c->port->ops, a->live, line);
    pipe_hold(c->pipe, port_ask(c->port, &r, when));
}

// The next request for some of these sectors of a line: all of them together, or one by one (xbar.sectors),
// each with an MSHR of its own. Loads that are performed as they are timed are answered as a whole.
static uint8_t next_request(const l1_cache *c, const l1_access *a, uint8_t sectors) {
    return c->port->spec->ask_sectors && !a->live ? sectors & -sectors : sectors;
}

// A miss of a line that has a place in the cache.
static void ask_some_into(l1_cache *c, const l1_access *a, uint32_t load, uint32_t place, uint8_t sectors,
                          uint64_t when) {
    orr_cache_line *l = &c->tags.line[place];
    uint32_t m = l1_miss(c, l->tag, sectors, load, place);
    c->mshrs.at[m].older = l->user;
    l->user = m;
    l->pending |= sectors;
    ask(c, a, l->tag, sectors, m, when);
}

static void ask_into(l1_cache *c, const l1_access *a, uint32_t load, uint32_t place, uint8_t sectors,
                     uint64_t when) {
    for (uint8_t some; sectors; sectors &= (uint8_t)~some) {
        some = next_request(c, a, sectors);
        ask_some_into(c, a, load, place, some, when);
    }
}

static void place_fill(l1_cache *c, const l1_mshr *m, uint32_t index) {
    orr_cache_line *l = &c->tags.line[m->fills];
    if (l->tag != m->line) return;
    uint32_t *link = &l->user;
    while (*link != NOBODY && *link != index) link = &c->mshrs.at[*link].older;
    if (*link == NOBODY) return; // the line was evicted and taken again in between
    *link = m->older;
    l->pending &= (uint8_t)~m->sectors;
    l->valid |= m->sectors;
}

void l1_fill(l1_cache *c, uint32_t mshr, uint64_t ready) {
    l1_mshr m = c->mshrs.at[mshr];
    if (m.fills != ORR_NO_LINE) place_fill(c, &m, mshr);
    give_mshr(c, mshr);
    c->open_mshrs--;
    for (uint32_t n = m.waiters; n != NOBODY;) {
        l1_waiter x = c->waiters.at[n];
        give_waiter(c, n);
        l1_load *f = &c->loads.at[x.load];
        if (f->live) __builtin_prefetch(f->live);
        if (c->spec->fill_interval) { // one sector after the other, of whichever load
            c->filled_until = latest(c->filled_until, ready) + (uint64_t)x.sectors * c->spec->fill_interval;
            ready = c->filled_until - c->spec->fill_interval;
        }
        if (!--f->open)
            l1_finish(c, x.load, ready);
        else if (f->earliest < ready)
            f->earliest = ready;
        n = x.next;
    }
}

void l1_prefetch_fills(const l1_cache *c) {
    const event *at = c->clock->heap.at, *end = at + c->clock->heap.n, *e;
    for (e = at; e < end; e++)
        if (event_kind(e->token) == EVENT_FILL) __builtin_prefetch(&c->mshrs.at[event_payload(e->token)]);
    for (e = at; e < end; e++) {
        if (event_kind(e->token) != EVENT_FILL) continue;
        const l1_mshr *m = &c->mshrs.at[event_payload(e->token)];
        if (m->fills != ORR_NO_LINE) __builtin_prefetch(&c->tags.line[m->fills], 1);
        if (m->waiters != NOBODY) __builtin_prefetch(&c->waiters.at[m->waiters], 1);
    }
    for (e = at; e < end; e++) {
        if (event_kind(e->token) != EVENT_FILL) continue;
        uint32_t w = c->mshrs.at[event_payload(e->token)].waiters;
        if (w != NOBODY) __builtin_prefetch(&c->loads.at[c->waiters.at[w].load], 1);
    }
}

uint32_t l1_waiting_inst(const l1_cache *c, uint32_t mshr) {
    if (mshr >= c->mshrs.n) return UINT32_MAX;
    uint32_t waiter = c->mshrs.at[mshr].waiters;
    if (waiter >= c->waiters.n) return UINT32_MAX;
    uint32_t load = c->waiters.at[waiter].load;
    return load < c->loads.n ? c->loads.at[load].inst : UINT32_MAX;
}

// ---- lines that come and go ---------------------------------------------------------------------
static void write_back(l1_cache *c, const orr_cache_line *victim, uint64_t when) {
    if (!victim->flags) return;
    c->n.evicted++;
    if (!victim->dirty) return;
    orr_request r = {.line = victim->tag, .sectors = victim->dirty, .kind = ORR_REQ_WRITE};
    r.from = from_of(victim->tag >= ORR_LOCAL_LINES);
    for (int n = 0; n < 4; n++)
        if (victim->dirty >> n & 1) r.bytes[n / 2] |= 0xffffffffull << (n % 2 * 32);
    pipe_hold(c->pipe, port_send(c->port, &r, when, port_store_packet(c->port, r.sectors, r.bytes)));
}

// L1 knows which bytes of a sector have been written: a load of no others finds them (H200: micro/l1, probe,
// a word after it was stored: 68 cycles, as after a load), and when all are there the sector is.
static l1_part *part_of(l1_cache *c, uint64_t line) {
    return &c->partial_lines[line * 0x9e3779b97f4a7c15u >> 55];
}

static uint32_t take_line(l1_cache *c, uint64_t line, uint64_t when) {
    orr_cache_line victim;
    uint32_t at = orr_cache_take(&c->tags, line, &victim, NULL);
    if (c->has_partial_lines) part_of(c, line)->line = 0;
    write_back(c, &victim, when);
    if (line < ORR_LOCAL_LINES && c->filled.n < c->tags.sets * c->tags.ways) *ORR_PUSH(&c->filled) = at;
    return at;
}

static void drop_line(l1_cache *c, uint32_t at) {
    const orr_cache_line *l = &c->tags.line[at];
    if (!l->flags || l->tag >= ORR_LOCAL_LINES || l->dirty) return;
    if (orr_cache_find(&c->tags, l->tag) == at) orr_cache_drop(&c->tags, at); // not from before a flush
}

// H200: a fence for the GPU or an acquire by any warp, and nothing that the SM has loaded hits any more, by
// LDG.CONSTANT neither; local memory stays (micro/drop). What is pending goes to the registers alone.
void l1_drop(l1_cache *c) {
    uint32_t all = c->tags.sets * c->tags.ways;
    if (c->filled.n < all)
        for (size_t n = 0; n < c->filled.n; n++) drop_line(c, c->filled.at[n]);
    else
        for (uint32_t n = 0; n < all; n++) drop_line(c, n);
    c->filled.n = 0;
}

// ---- bytes of a line ----------------------------------------------------------------------------
// The bytes of its next line that the access touches.
static void bytes_of(const l1_access *a, uint64_t line, uint64_t out[2]) {
    if (a->noted)
        memcpy(out, a->written[a->next_line], sizeof a->written[0]);
    else if (a->local)
        orr_local_bytes(&a->lanes, a->i->bytes, a->next_line, out);
    else
        orr_access_bytes(&a->lanes, a->i->bytes, line, out);
}

// The bytes of all lines of a store, where no lane's are in two lines and no line comes twice. Lines are in
// the order in which lanes come to them.
static void note_bytes(l1_access *a) {
    const orr_coalesced *x = &a->lines;
    uint32_t bytes = a->i->bytes, near = 0;
    if (a->local || x->requests > 1 || x->lines > MAX_TURNS || !bytes || bytes > 64) return;
    memset(a->written, 0, x->lines * sizeof a->written[0]);
    for (uint32_t m = a->lanes.mask; m; m &= m - 1) {
        uint64_t at = a->lanes.addr[orr_ffs(m)], line = at / ORR_LINE;
        uint32_t from = (uint32_t)(at % ORR_LINE), within = from % 64;
        if (within + bytes > 64) return;
        for (uint32_t n = 0; x->line[near].line != line; n++) {
            if (n == x->lines) return;
            near = near + 1 < x->lines ? near + 1 : 0;
        }
        a->written[near][from / 64] |= (UINT64_MAX >> (64 - bytes)) << within;
    }
    a->noted = true;
}

static uint8_t full_sectors(const uint64_t bytes[2]) {
    uint8_t full = 0;
    for (int n = 0; n < 4; n++)
        full |= (uint8_t)(((bytes[n / 2] >> (n % 2 * 32)) & 0xffffffffu) == 0xffffffffu) << n;
    return full;
}

// Of these sectors those that stores have written as far as the access at hand wants them.
static uint8_t written_enough(l1_cache *c, const l1_access *a, uint64_t line, uint8_t sectors) {
    if (!c->has_partial_lines) return 0;
    const l1_part *p = part_of(c, line);
    if (p->line != line + 1) return 0;
    uint64_t wants[2];
    bytes_of(a, line, wants);
    uint8_t enough = 0;
    for (int n = 0; n < 4; n++) {
        uint64_t missing = (wants[n / 2] & ~p->bytes[n / 2]) >> (n % 2 * 32) & 0xffffffffu;
        enough |= (uint8_t)(sectors >> n & !missing) << n;
    }
    return enough;
}

enum { NOT_LOOKED = ORR_NO_LINE - 1 };

// ---- a line of a load ---------------------------------------------------------------------------
void l1_count(l1_cache *c, const l1_access *a, uint32_t all, uint32_t hit, uint32_t pending) {
    int kind = l1_kind(a->i);
    c->n.sectors[a->local][kind] += all;
    c->n.hits[a->local][kind] += hit;
    c->n.pending[a->local][kind] += pending;
    c->n.misses[a->local][kind] += all - hit - pending;
}

static uint8_t fetched_with(const l1_cache *c, uint8_t sectors) {
    uint64_t together = c->spec->policy.sector;
    if (together >= 128) return 0xf;
    if (together >= 64) return (uint8_t)((sectors & 3 ? 3 : 0) | (sectors & 12 ? 12 : 0));
    return sectors;
}

// May another load wait for these pending sectors of the line?
static bool can_merge(const l1_cache *c, const orr_cache_line *l, uint8_t pending) {
    for (uint32_t m = pending ? l->user : NOBODY; m != NOBODY; m = c->mshrs.at[m].older)
        if ((c->mshrs.at[m].sectors & pending) && c->mshrs.at[m].nwaiters >= c->spec->merges) return false;
    return true;
}

static bool load_past(l1_cache *c, l1_access *a, uint64_t line, uint8_t sectors, uint32_t counted,
                      uint64_t when) {
    if (c->open_mshrs >= c->spec->mshrs) return false;
    l1_count(c, a, counted, 0, 0);
    a->missed++;
    a->waits |= 1ull << (a->next_line & 63);
    for (uint8_t some; sectors; sectors &= (uint8_t)~some) {
        some = next_request(c, a, sectors);
        ask(c, a, line, some, l1_miss(c, line, some, a->load, ORR_NO_LINE), when);
    }
    return true;
}

// `at`: its place, where that is known.
static bool load_line(l1_cache *c, l1_access *a, uint64_t line, uint8_t sectors, uint64_t when, uint32_t at) {
    const orr_coalesced *x = &a->lines;
    uint32_t all = a->next_line < x->again ? (uint32_t)orr_popc(sectors) : a->next_line < x->more;
    if ((a->i->flags & ORR_TF_BYPASS) || (!a->local && !c->spec->cost.global))
        return load_past(c, a, line, sectors, all, when);
    if (at == NOT_LOOKED) at = orr_cache_find(&c->tags, line);
    uint32_t was = at;
    orr_cache_line *l = at == ORR_NO_LINE ? NULL : &c->tags.line[at];
    uint8_t hit = l ? sectors & l->valid : 0, pending = l ? sectors & ~hit & l->pending : 0;
    uint8_t need = sectors & (uint8_t) ~(hit | pending);
    if (need && l && c->spec->policy.write_miss != ORR_L1_LAZY) {
        hit |= written_enough(c, a, line, need);
        need &= (uint8_t)~hit;
    }
    if (need && c->open_mshrs >= c->spec->mshrs) return false;
    if (pending && !can_merge(c, l, pending)) return false;
    l1_count(c, a, all, (uint32_t)orr_popc(hit), (uint32_t)orr_popc(pending));
    if (need | pending) a->waits |= 1ull << (a->next_line & 63);
    if (pending)
        for (uint32_t m = l->user; m != NOBODY; m = c->mshrs.at[m].older)
            if (c->mshrs.at[m].sectors & pending) wait_for(c, m, a->load, c->mshrs.at[m].sectors & pending);
    if (need) {
        need = fetched_with(c, need);
        if (l)
            need &= (uint8_t) ~(l->valid | l->pending);
        else
            at = take_line(c, line, when);
        a->missed++;
        ask_into(c, a, a->load, at, need, when);
    } else if (a->live) {
        perform_hit(c->port->ops, a->live, line);
    }
    if (was != ORR_NO_LINE) orr_cache_touch(&c->tags, was);
    return true;
}

// ---- a line of a store --------------------------------------------------------------------------
static int write_policy(const l1_spec *s, bool local) {
    int write = s->policy.write;
    if (write == ORR_WRITE_LOCAL) write = local ? ORR_WRITE_BACK : ORR_WRITE_EVICT;
    return !local && !s->cost.global && write == ORR_WRITE_THROUGH ? ORR_WRITE_EVICT : write;
}

// The store's bytes in a line that the cache has.
static void write_line(l1_cache *c, const l1_access *a, uint32_t at, uint8_t sectors, const uint64_t bytes[2],
                       uint64_t when) {
    orr_cache_line *l = &c->tags.line[at];
    bool back = write_policy(c->spec, a->local) == ORR_WRITE_BACK;
    uint8_t part = sectors & (uint8_t) ~(l->valid | l->pending | full_sectors(bytes));
    l->valid |= full_sectors(bytes);
    if (part && c->spec->policy.write_miss == ORR_L1_FETCH) {
        ask_into(c, a, NOBODY, at, part, when);
    } else if (part && c->spec->policy.write_miss != ORR_L1_LAZY &&
               (back || (a->local && part_of(c, l->tag)->line != l->tag + 1))) {
        l->valid |= part; // bytes marked valid: local memory is read where it was written
    } else if (part) {
        l1_part *p = part_of(c, l->tag);
        c->has_partial_lines = true;
        if (p->line != l->tag + 1) *p = (l1_part){.line = l->tag + 1};
        p->bytes[0] |= bytes[0];
        p->bytes[1] |= bytes[1];
        l->valid |= full_sectors(p->bytes) & (uint8_t)~l->pending;
    }
    if (back) l->dirty |= sectors;
}

static void store_line(l1_cache *c, const l1_access *a, uint64_t line, uint8_t sectors,
                       const uint64_t bytes[2], uint64_t when) {
    const l1_policy *p = &c->spec->policy;
    int policy = write_policy(c->spec, a->local);
    uint32_t at = orr_cache_find(&c->tags, line), was = at;
    // A store hits where its line is, whichever sectors of it are there (H200: of four warps that each store
    // another sector of a line three hit; hardware/h200/workloads.csv, sssp_clear, hgemm_tensor).
    uint8_t hit = at == ORR_NO_LINE ? 0 : sectors;
    l1_count(c, a, (uint32_t)orr_popc(sectors), (uint32_t)orr_popc(hit), 0);
    if (policy == ORR_WRITE_EVICT) {
        if (at != ORR_NO_LINE && !c->tags.line[at].pending) orr_cache_drop(&c->tags, at);
    } else {
        if (at == ORR_NO_LINE && (p->write_allocate || policy == ORR_WRITE_BACK))
            at = take_line(c, line, when);
        if (at != ORR_NO_LINE) write_line(c, a, at, sectors, bytes, when);
        if (was != ORR_NO_LINE) orr_cache_touch(&c->tags, was);
        if (policy == ORR_WRITE_BACK && at != ORR_NO_LINE) return;
    }
    orr_request r = {.line = line, .sectors = sectors, .kind = ORR_REQ_WRITE, .from = from_of(a->local)};
    memcpy(r.bytes, bytes, sizeof r.bytes);
    if (a->live) r.live = perform_store(c->port->ops, a->live, line);
    pipe_hold(c->pipe, port_store(c->port, &r, when, a->lines.lines));
}

// ---- an access ----------------------------------------------------------------------------------
// The passes of what is at hand, which what is read out waits for.
static void use_banks(l1_cache *c, const l1_access *a) {
    if (!a->passes_now) return;
    l1_readout *o = &c->out;
    uint64_t start = c->pipe->start;
    o->work = other_passes(o, c->clock->now) + a->passes_now;
    if (o->until < start + a->passes_now) o->until = start + a->passes_now;
    if (o->free > start) o->free += a->passes_now;
}

static bool lookup_line(l1_cache *c, l1_access *a, uint64_t when, uint32_t at) {
    orr_line_access l = a->lines.line[a->next_line];
    if (c->launch->perfect) {
        l1_count(c, a, (uint32_t)orr_popc(l.sectors), (uint32_t)orr_popc(l.sectors), 0);
        return true;
    }
    if (a->i->flags & ORR_TF_ATOMIC) return l1_atomic_line(c, a, l.line, l.sectors, when);
    if (!(a->i->flags & ORR_TF_STORE)) return load_line(c, a, l.line, l.sectors, when, at);
    uint64_t bytes[2];
    bytes_of(a, l.line, bytes);
    if (!port_has_room(c->port, l.line, l.sectors, bytes)) return false; // until L2 has done one
    store_line(c, a, l.line, l.sectors, bytes, when);
    return true;
}

// Of the access's next lines those that are there with all that it loads of them, up to the first that is
// not. Nothing else happens with these, and a load to many lines has many of them. *at: the place of that
// one.
static void pass_hits(l1_cache *c, l1_access *a, uint32_t *at) {
    const orr_coalesced *x = &a->lines;
    uint32_t first = a->next_line, n = first, sectors = 0;
    if (a->i->flags & (ORR_TF_ATOMIC | ORR_TF_STORE | ORR_TF_BYPASS) || a->live || c->launch->perfect ||
        (!a->local && !c->spec->cost.global) || c->tags.bucket)
        return;
    uint32_t end = x->again < x->lines ? x->again : x->lines;
    const orr_cache tags = c->tags; // of which nothing changes meanwhile
    for (; n < end && orr_cache_hit(&tags, x->line[n].line, x->line[n].sectors, at); n++)
        sectors += (uint32_t)orr_popc(x->line[n].sectors);
    if (n > first) l1_count(c, a, sectors, sectors, 0);
    if (n == end) *at = NOT_LOOKED;
    a->next_line = n;
}

void l1_prefetch_lines(const l1_cache *c, const orr_coalesced *x) {
    for (uint32_t n = 0; n < x->lines; n++) orr_cache_prefetch_set(&c->tags, x->line[n].line);
}

bool l1_lookup(l1_cache *c, l1_access *a) {
    const l1_spec *s = c->spec;
    uint64_t when = c->pipe->start + c->pipe->delay + s->latency;
    if (!a->next_line) { // not one that is tried again
        a->noted = false;
        if (a->i->flags & ORR_TF_STORE) note_bytes(a);
    }
    for (uint32_t lines = a->lines.lines; a->next_line < lines; a->next_line++) {
        uint32_t at = NOT_LOOKED;
        pass_hits(c, a, &at);
        if (a->next_line == lines) break;
        uint64_t missed = a->missed * s->miss_interval, later = a->next_line * a->cost / lines;
        if (!lookup_line(c, a, when + latest(later, missed), at)) return false;
    }
    l1_read_later(c, a);
    use_banks(c, a);
    uint64_t misses = a->missed ? s->miss_first + a->missed * s->miss_interval : 0;
    if (s->cost.words && a->i->flags & ORR_TF_ASYNC) misses = l1_copy_misses(c, a);
    if (misses > a->cost) c->pipe->free += misses - a->cost;
    if (a->load == NOBODY && !c->launch->perfect) port_warp_stored(c->port, a->warp);
    return true;
}
