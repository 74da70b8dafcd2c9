// L1: lines and sectors, what is asked for, who waits for it.
//
// A miss asks for the sectors of one line that are not there and not on their way. Whoever needs sectors that
// are on their way waits for the same answer. L1 is a streaming cache: a miss reserves no data, its line may
// be gone when the answer comes, and the answer goes to the registers all the same (accel-sim.txt, II-B).
#include "model/cycle/lsu.h"

#include <string.h>

#define ALL_BYTES UINT64_MAX

// ---- pools: what was given back is taken again before they grow
static uint32_t take_flight(sm *s) {
    uint32_t i = s->free_flight;
    if (i != NOBODY)
        s->free_flight = s->flights.at[i].next;
    else
        i = (uint32_t)(ORR_PUSH(&s->flights) - s->flights.at);
    return i;
}

static uint32_t take_miss(sm *s) {
    uint32_t i = s->free_miss;
    if (i != NOBODY)
        s->free_miss = s->misses.at[i].older;
    else
        i = (uint32_t)(ORR_PUSH(&s->misses) - s->misses.at);
    return i;
}

static uint32_t take_node(sm *s) {
    uint32_t i = s->free_node;
    if (i != NOBODY)
        s->free_node = s->nodes.at[i].next;
    else
        i = (uint32_t)(ORR_PUSH(&s->nodes) - s->nodes.at);
    return i;
}

static void give_flight(sm *s, uint32_t i) {
    s->flights.at[i].next = s->free_flight;
    s->free_flight = i;
}

static void give_miss(sm *s, uint32_t i) {
    s->misses.at[i].older = s->free_miss;
    s->free_miss = i;
}

static void give_node(sm *s, uint32_t i) {
    s->nodes.at[i].next = s->free_node;
    s->free_node = i;
}

// ---- flights and misses
uint32_t cyc_l1_flight(sm *s, const warp *w, uint32_t inst) {
    uint32_t f = take_flight(s);
    s->flights.at[f] = (flight){.issued = s->now, .inst = inst, .warp = warp_id(w), .group = NO_GROUP};
    return f;
}

static void landed(sm *s, uint32_t f, uint64_t ready) {
    const flight *x = &s->flights.at[f];
    s->n.loads++;
    s->n.load_latency += ready - x->issued;
    uint32_t inst = x->inst, w = x->warp;
    uint8_t group = x->group, copies = x->copies;
    orr_step_access *live = x->live;
    give_flight(s, f);
    if (live) cyc_step_deliver(s, live);
    if (group != NO_GROUP) cyc_copies_landed(s, warp_of(s, w), copies, ready);
    cyc_warp_complete(s, warp_of(s, w), inst, ready, group);
}

// Loads whose lines have come are read out one after the other, the warps in turn: of warps that wait for
// many loads each, all have their first ones before one has its last (H200: micro/walk, 8 warps with 16 loads
// each: a load's data come as much later than those of the one before as eight take).
static void read_at(sm *s, uint64_t when) {
    s->reading = true;
    cyc_sm_arrive(s, when * ORR_TICKS, READS, 0);
}

static void queue_warp(sm *s, uint32_t w) {
    if (s->turn_first == NOBODY)
        s->turn_first = w;
    else
        warp_of(s, s->turn_last)->next_turn = w;
    s->turn_last = w;
    warp_of(s, w)->next_turn = NOBODY;
}

static void queue_flight(sm *s, uint32_t f) {
    flight *x = &s->flights.at[f];
    warp *w = warp_of(s, x->warp);
    x->next = NOBODY;
    if (w->come_first == NOBODY) {
        w->come_first = f;
        queue_warp(s, x->warp);
    } else {
        s->flights.at[w->come_last].next = f;
    }
    w->come_last = f;
}

static uint32_t next_flight(sm *s) {
    uint32_t id = s->turn_first, f = warp_of(s, id)->come_first;
    s->turn_first = warp_of(s, id)->next_turn;
    warp_of(s, id)->come_first = s->flights.at[f].next;
    if (warp_of(s, id)->come_first != NOBODY) queue_warp(s, id);
    return f;
}

// Passes of accesses that need no line, from now on: they are spread evenly over the time until the last of
// them.
static uint64_t banks_work(sm *s) {
    if (s->now > s->banks_seen) {
        uint64_t span = s->banks_until > s->banks_seen ? s->banks_until - s->banks_seen : 0;
        uint64_t past = s->now - s->banks_seen;
        s->banks_work = past < span ? s->banks_work - s->banks_work * past / span : 0;
        s->banks_seen = s->now;
    }
    return s->banks_work;
}

// A load is read out while others leave the banks alone: what needs no line goes first (H200: loads that hit
// take as long while seven warps' loads are read out, but for what they wait before they begin).
void cyc_l1_read(sm *s) {
    if (s->out_free > s->now) { // others have been at the banks meanwhile
        read_at(s, s->out_free);
        return;
    }
    uint32_t f = next_flight(s);
    uint64_t passes = s->flights.at[f].passes, t = s->now, work = banks_work(s), theirs = 0;
    uint64_t span = s->banks_until > t ? s->banks_until - t : 0;
    if (work && span) {
        uint64_t together = work < span ? passes * span / (span - work) : span;
        theirs = together < span ? work * together / span : work;
    }
    s->out_free = t + passes + theirs;
    s->banks_work = work - theirs;
    s->banks_seen = s->out_free;
    s->reading = false;
    if (s->lsu_free > t && s->lsu_shared) s->read_out += (uint32_t)passes;
    if (s->turn_first != NOBODY) read_at(s, s->out_free);
    landed(s, f, s->out_free - 1);
}

void cyc_l1_come(sm *s, uint32_t f) {
    queue_flight(s, f);
    if (!s->reading) read_at(s, s->now > s->out_free ? s->now : s->out_free);
}

void cyc_l1_land(sm *s, uint32_t f, uint64_t ready) {
    flight *x = &s->flights.at[f];
    if (ready < x->floor) ready = x->floor;
    if (x->group != NO_GROUP)
        ready += (uint64_t)s->c->gpu->shared_copy; // an asynchronous copy: on to shared memory
    if (!x->passes) {
        landed(s, f, ready);
        return;
    }
    x->floor = ready;
    if (ready > s->now)
        cyc_sm_arrive(s, ready * ORR_TICKS, LANDS | f, 0);
    else
        cyc_l1_come(s, f);
}

static void wait_for(sm *s, uint32_t m, uint32_t f) {
    if (f == NOBODY) return;
    uint32_t n = take_node(s);
    miss *x = &s->misses.at[m];
    s->nodes.at[n] = (node){f, NOBODY};
    if (x->waiters == NOBODY)
        x->waiters = n;
    else
        s->nodes.at[x->last].next = n;
    x->last = n;
    x->nwaiters++;
    s->flights.at[f].open++;
}

uint32_t cyc_l1_miss(sm *s, uint64_t line, uint8_t sectors, uint32_t f, uint32_t fills) {
    uint32_t m = take_miss(s);
    s->misses.at[m] =
        (miss){.line = line, .waiters = NOBODY, .older = NOBODY, .sectors = sectors, .fills = fills};
    s->open_misses++;
    wait_for(s, m, f);
    return m;
}

static void write_back(sm *s, const orr_cache_line *victim, uint64_t when) {
    if (!victim->used) return;
    s->n.l1_evicted++;
    if (!victim->dirty) return;
    orr_request r = {.line = victim->tag, .sectors = victim->dirty, .kind = ORR_REQ_WRITE};
    r.from = victim->tag >= ORR_LOCAL_LINES ? ORR_FROM_LOCAL : ORR_FROM_GLOBAL;
    for (int n = 0; n < 4; n++)
        if (victim->dirty >> n & 1) r.bytes[n / 2] |= 0xffffffffull << (n % 2 * 32);
    cyc_port_send(s, r, when, (uint32_t)s->c->gpu->xbar_head + 32 * (uint32_t)orr_popc(victim->dirty));
}

// ---- lines that come and go
// L1 knows which bytes of a sector have been written: a load of no others finds them (H200: micro/l1, probe,
// a word after it was stored: 68 cycles, as after a load), and when all are there the sector is.
static partly *partly_at(sm *s, uint64_t line) { return &s->written[line * 0x9e3779b97f4a7c15u >> 55]; }

static uint32_t take_line(sm *s, uint64_t line, uint64_t when) {
    orr_cache_line victim;
    uint32_t at = orr_cache_take(&s->l1, line, &victim, NULL);
    partly_at(s, line)->line = 0;
    write_back(s, &victim, when);
    if (line < ORR_LOCAL_LINES && s->l1_taken.n < s->l1.sets * s->l1.ways) *ORR_PUSH(&s->l1_taken) = at;
    return at;
}

static void drop_line(sm *s, uint32_t at) {
    const orr_cache_line *l = &s->l1.line[at];
    if (!l->used || l->tag >= ORR_LOCAL_LINES || l->dirty) return;
    if (orr_cache_find(&s->l1, l->tag) == at) orr_cache_drop(&s->l1, at); // not from before a flush
}

// H200: a fence for the GPU or an acquire by any warp, and nothing that the SM has loaded hits any more, by
// LDG.CONSTANT neither; local memory stays (micro/drop). What is on its way goes to the registers alone.
void cyc_l1_drop(sm *s) {
    uint32_t all = s->l1.sets * s->l1.ways;
    if (s->l1_taken.n < all)
        for (size_t n = 0; n < s->l1_taken.n; n++) drop_line(s, s->l1_taken.at[n]);
    else
        for (uint32_t n = 0; n < all; n++) drop_line(s, n);
    s->l1_taken.n = 0;
}

// ---- one line
void cyc_l1_count(sm *s, bool local, int kind, uint32_t all, uint32_t hit, uint32_t pending) {
    s->n.l1_sectors[local][kind] += all;
    s->n.l1_hit[local][kind] += hit;
    s->n.l1_pending[local][kind] += pending;
    s->n.l1_miss[local][kind] += all - hit - pending;
}

static uint8_t from_of(bool local) { return local ? ORR_FROM_LOCAL : ORR_FROM_GLOBAL; }

static void ask(sm *s, uint64_t line, uint8_t sectors, uint32_t token, const work *k, uint64_t when) {
    orr_request r = {
        .line = line, .sectors = sectors, .token = token, .kind = ORR_REQ_READ, .from = from_of(k->local)};
    if (counts_stores(s->c)) cyc_fence_been(s, line);
    if (k->live && k->flight != NOBODY) r.live = cyc_step_load(s, k->live, line);
    cyc_port_send(s, r, when,
                  s->c->gpu->xbar_sectors ? 32 * (uint32_t)orr_popc(sectors) : (uint32_t)s->c->gpu->xbar_ask);
}

// ---- bytes of a line
static void set_range(uint64_t bytes[2], uint64_t from, uint64_t to) { // of 128
    for (int h = 0; h < 2; h++) {
        uint64_t lo = (uint64_t)h * 64, a = from > lo ? from - lo : 0, b = to > lo ? to - lo : 0;
        if (a >= 64 || b == 0) continue;
        if (b > 64) b = 64;
        if (a < b) bytes[h] |= (b - a == 64 ? ALL_BYTES : ((1ull << (b - a)) - 1)) << a;
    }
}

static void written(const orr_access *a, uint32_t bytes, uint64_t line, uint64_t out[2]) {
    out[0] = out[1] = 0;
    uint64_t first = line * ORR_LINE;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t from = a->addr[orr_ffs(m)] - first, to = from + bytes;
        if (from >= ORR_LINE && to - 1 >= ORR_LINE) continue; // wraps: not in this line
        if (from >= ORR_LINE) from = 0;
        set_range(out, from, to > ORR_LINE ? ORR_LINE : to);
    }
}

static uint8_t full_sectors(const uint64_t bytes[2]) {
    uint8_t full = 0;
    for (int n = 0; n < 4; n++)
        full |= (uint8_t)(((bytes[n / 2] >> (n % 2 * 32)) & 0xffffffffu) == 0xffffffffu) << n;
    return full;
}

// Of these sectors those that stores have written as far as the access at hand wants them.
static uint8_t written_enough(sm *s, const work *k, uint64_t line, uint8_t sectors) {
    const partly *p = partly_at(s, line);
    if (p->line != line + 1) return 0;
    uint64_t wants[2] = {0, 0};
    if (k->local)
        orr_local_bytes(&s->head_access, k->i->bytes, s->head_line, wants);
    else
        written(&s->head_access, k->i->bytes, line, wants);
    uint8_t enough = 0;
    for (int n = 0; n < 4; n++) {
        uint64_t missing = (wants[n / 2] & ~p->bytes[n / 2]) >> (n % 2 * 32) & 0xffffffffu;
        enough |= (uint8_t)(sectors >> n & !missing) << n;
    }
    return enough;
}

// False: no miss can be taken on now.
static bool load_line(sm *s, const work *k, uint64_t line, uint8_t sectors, uint64_t when) {
    cycle *c = s->c;
    uint32_t limit = (uint32_t)c->gpu->l1_misses;
    uint32_t all = s->head_line < s->head.again ? (uint32_t)orr_popc(sectors) : s->head_line < s->head.more;
    if ((k->i->flags & ORR_TF_BYPASS) || (!k->local && !c->gpu->l1_global)) {
        if (s->open_misses >= limit) return false;
        cyc_l1_count(s, k->local, ORR_L1_LOAD, all, 0, 0);
        s->head_missed++;
        s->head_waits |= 1ull << (s->head_line & 63);
        ask(s, line, sectors, cyc_l1_miss(s, line, sectors, k->flight, ORR_NO_LINE), k, when);
        return true;
    }
    uint32_t at = orr_cache_find(&s->l1, line), was = at;
    orr_cache_line *l = at == ORR_NO_LINE ? NULL : &s->l1.line[at];
    uint8_t hit = l ? sectors & l->valid : 0;
    uint8_t pending = l ? sectors & ~hit & l->pending : 0;
    uint8_t need = sectors & (uint8_t) ~(hit | pending);
    if (need && l) {
        hit |= written_enough(s, k, line, need);
        need &= (uint8_t)~hit;
    }
    if (need && s->open_misses >= limit) return false;
    for (uint32_t m = pending ? l->user : NOBODY; m != NOBODY; m = s->misses.at[m].older)
        if ((s->misses.at[m].sectors & pending) && s->misses.at[m].nwaiters >= c->gpu->l1_merges)
            return false;
    cyc_l1_count(s, k->local, ORR_L1_LOAD, all, (uint32_t)orr_popc(hit), (uint32_t)orr_popc(pending));
    if (need | pending) s->head_waits |= 1ull << (s->head_line & 63);
    if (pending)
        for (uint32_t m = l->user; m != NOBODY; m = s->misses.at[m].older)
            if (s->misses.at[m].sectors & pending) wait_for(s, m, k->flight);
    if (need) {
        if (l) {
            need = orr_l1_fetched(c->gpu, need) & (uint8_t) ~(l->valid | l->pending);
        } else {
            at = take_line(s, line, when);
            l = &s->l1.line[at];
            need = orr_l1_fetched(c->gpu, need);
        }
        uint32_t m = cyc_l1_miss(s, line, need, k->flight, at);
        s->misses.at[m].older = l->user;
        l->user = m;
        l->pending |= need;
        s->head_missed++;
        ask(s, line, need, m, k, when);
    }
    if (k->live && !need) cyc_step_hit(s, k->live, line);
    if (was != ORR_NO_LINE) orr_cache_touch(&s->l1, was);
    return true;
}

// A line that is stored to again while what was stored before waits to leave for L2: of L1's it has only what
// is stored now (H200: two stores to 32 rows of local memory, then a load of what was stored first, or long
// ago: 21 rows miss when the second comes behind the first at once, 7 when it comes 28 cycles later, none
// after 56; docs/h200/l1.md, Local memory in place).
static void lose_line(sm *s, orr_cache_line *l, const uint64_t bytes[2]) {
    l->valid = full_sectors(bytes);
    *partly_at(s, l->tag) = (partly){.line = l->tag + 1, .bytes = {bytes[0], bytes[1]}};
}

static void store_line(sm *s, const work *k, uint64_t line, uint8_t sectors, const uint64_t bytes[2],
                       uint64_t when) {
    cycle *c = s->c;
    int policy = c->gpu->l1_write;
    if (policy == ORR_WRITE_LOCAL) policy = k->local ? ORR_WRITE_BACK : ORR_WRITE_EVICT;
    if (!k->local && !c->gpu->l1_global && policy == ORR_WRITE_THROUGH) policy = ORR_WRITE_EVICT;
    uint32_t at = orr_cache_find(&s->l1, line), was = at;
    uint8_t hit = at == ORR_NO_LINE ? 0 : sectors & s->l1.line[at].valid;
    cyc_l1_count(s, k->local, ORR_L1_STORE, (uint32_t)orr_popc(sectors), (uint32_t)orr_popc(hit), 0);
    if (policy == ORR_WRITE_EVICT) {
        if (at != ORR_NO_LINE && !s->l1.line[at].pending) orr_cache_drop(&s->l1, at);
    } else {
        if (at == ORR_NO_LINE && (c->gpu->l1_write_allocate || policy == ORR_WRITE_BACK)) {
            at = take_line(s, line, when);
        }
        if (at != ORR_NO_LINE) {
            orr_cache_line *l = &s->l1.line[at];
            uint8_t part = sectors & (uint8_t) ~(l->valid | l->pending | full_sectors(bytes));
            l->valid |= full_sectors(bytes);
            if (part && c->gpu->l1_write_miss == ORR_L1_FETCH) {
                uint32_t m = cyc_l1_miss(s, line, part, NOBODY, at);
                s->misses.at[m].older = l->user;
                l->user = m;
                l->pending |= part;
                ask(s, line, part, m, k, when);
            } else if (part &&
                       (policy == ORR_WRITE_BACK || (k->local && partly_at(s, line)->line != line + 1))) {
                l->valid |= part; // bytes marked valid: local memory is read where it was written
            } else if (part) {
                partly *p = partly_at(s, line);
                if (p->line != line + 1) *p = (partly){.line = line + 1};
                p->bytes[0] |= bytes[0];
                p->bytes[1] |= bytes[1];
                l->valid |= full_sectors(p->bytes) & (uint8_t)~l->pending;
            }
            if (policy == ORR_WRITE_BACK) l->dirty |= sectors;
            if (was != ORR_NO_LINE) orr_cache_touch(&s->l1, was);
        }
        if (policy == ORR_WRITE_BACK && at != ORR_NO_LINE) return;
    }
    orr_request r = {.line = line, .sectors = sectors, .kind = ORR_REQ_WRITE, .from = from_of(k->local)};
    memcpy(r.bytes, bytes, sizeof r.bytes);
    if (k->live) r.live = cyc_step_store(s, k->live, line);
    uint32_t packet = (uint32_t)c->gpu->xbar_head + 32 * (uint32_t)orr_popc(sectors);
    if (sectors & (uint8_t)~full_sectors(bytes)) packet += (uint32_t)c->gpu->xbar_mask; // which bytes
    if (!c->gpu->xbar_join || s->head_order || s->head_strong)
        cyc_port_send(s, r, when, packet);
    else if (cyc_port_store(s, &r, when, packet, s->head.lines) && k->local && at != ORR_NO_LINE &&
             c->gpu->l1_store_out)
        lose_line(s, &s->l1.line[at], bytes);
}

// ---- an instruction at the head of the queue
static orr_l1_access access_of(const sm *s, const orr_tinst *i, bool local) {
    return (orr_l1_access){.lanes = &s->head_access,
                           .lines = &s->head,
                           .bytes = i->bytes,
                           .loads = i->flags & ORR_TF_LOAD,
                           .stores = i->flags & ORR_TF_STORE,
                           .local = local,
                           .copies = i->flags & ORR_TF_ASYNC,
                           .bypasses = i->flags & ORR_TF_BYPASS};
}

// How long L1 is busy with a copy whose lines have to be asked for. Past L1 nothing is read out when they
// come: half of what lines of loads take (copy_beside: loads of shared memory take 2.8, 5.0 and 30 cycles
// longer for each copy of 4, 8, 32 lines, the last of which have to wait for the port). Through it, one more.
static uint32_t copy_misses(const sm *s, const orr_tinst *i) {
    orr_l1_access a = access_of(s, i, false);
    if (orr_copies_past_l1(&s->c->l1, &a)) return orr_copied_lines(&s->head) * s->c->miss_interval / 2;
    return s->head_missed ? s->head_cost + 1 : 0;
}

uint32_t cyc_l1_cost(sm *s, const orr_tinst *i, bool local, uint32_t *lag) {
    orr_l1_access a = access_of(s, i, local);
    orr_l1_cost cost = orr_l1_cost_of(&s->c->l1, &a, s->head_turn);
    s->n.l1_conflicts += cost.conflicts;
    s->head_tags = cost.lookups;
    s->head_passes = cost.passes;
    s->head_apart = cost.apart;
    s->head_conflicts = s->c->l1.words && cost.conflicts;
    *lag = cost.lag;
    return cost.cycles;
}

// Passes over the banks for those of the head's lines that are in `lines`.
static uint32_t passes_of(sm *s, uint64_t lines, uint32_t bytes) {
    const orr_coalesced *x = &s->head;
    orr_access part = s->head_access;
    for (uint32_t m = s->head_access.mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)orr_ffs(m);
        uint64_t first = part.addr[lane] / ORR_LINE, last = (part.addr[lane] + bytes - 1) / ORR_LINE;
        bool wanted = false;
        for (uint64_t k = lines; k && !wanted; k &= k - 1) {
            uint64_t line = x->line[__builtin_ctzll(k)].line;
            wanted = line == first || line == last;
        }
        if (!wanted) part.mask &= ~(1u << lane);
    }
    return part.mask ? orr_bank_conflicts(&part, bytes, ORR_BANKS_LOAD).passes : 0;
}

// Lines that a load waits for are read out when the last one is there, those together that were looked up
// together: two words on different banks go in one pass only then. Lines are looked up, and misses sent,
// while others are read out.
static void read_later(sm *s, const work *k) {
    if (!s->c->gpu->l1_folded || k->flight == NOBODY || !s->head_waits || k->i->flags & ORR_TF_ASYNC) return;
    uint32_t lines = s->head.lines, later = 0, now = 0, turns = s->head_tags;
    uint64_t all = lines < 64 ? (1ull << lines) - 1 : UINT64_MAX;
    if (!s->head_apart && (k->local || s->head_waits == all)) { // side by side
        later = s->head_passes;
    } else {
        uint64_t together[64]; // lines that it waits for, by their lookups
        turns = 0;
        for (uint32_t n = 0; n < lines; n++) {
            while (turns <= s->head_turn[n]) together[turns++] = 0;
            together[s->head_turn[n]] |= s->head_waits & 1ull << n;
        }
        for (uint32_t turn = 0; turn < turns; turn++)
            if (together[turn]) later += passes_of(s, together[turn], k->i->bytes);
        if (s->head_waits != all) now = passes_of(s, all & ~s->head_waits, k->i->bytes);
    }
    uint32_t busy = now > turns ? now : turns;
    // H200: bytes and halves that miss or wait take L1 two cycles, words one (micro/waits)
    if (k->i->bytes < 4 && busy < (uint32_t)s->c->gpu->l1_narrow) busy = (uint32_t)s->c->gpu->l1_narrow;
    s->flights.at[k->flight].passes = (uint16_t)later;
    s->head_now = now;
    s->n.l1_busy += (uint64_t)now + later - s->head_passes;
    if (busy > s->head_cost)
        s->lsu_free += busy - s->head_cost;
    else if (s->lsu_free >= s->lsu_busy_from + s->head_cost) // not one that looks again
        s->lsu_free -= s->head_cost - busy;
    s->head_cost = busy;
}

// The passes of what is at hand, which what is read out waits for. A store's passes and those of what is read
// out come in turn (l1.store_turn): both take twice as long.
static void use_banks(sm *s, bool store) {
    if (!s->head_now) return;
    uint64_t start = s->lsu_busy_from;
    if (store && s->c->gpu->l1_store_turn && (s->turn_first != NOBODY || s->out_free > start)) {
        s->lsu_free += s->head_now;
        if (s->out_free > start) s->out_free += s->head_now;
        return;
    }
    s->banks_work = banks_work(s) + s->head_now;
    if (s->banks_until < start + s->head_now) s->banks_until = start + s->head_now;
    if (s->out_free > start) s->out_free += s->head_now;
}

// Goes on with the head's lines, from `now` on. False: L1 is full.
bool cyc_l1_lines(sm *s, const work *k) {
    cycle *c = s->c;
    orr_coalesced *x = &s->head;
    uint64_t when = s->lsu_busy_from + s->lsu_late + c->l1_latency;
    for (; s->head_line < x->lines; s->head_line++) {
        orr_line_access l = x->line[s->head_line];
        uint64_t t = when + s->head_line * s->head_cost / x->lines,
                 missed = s->head_missed * c->miss_interval;
        if (t < when + missed) t = when + missed;
        if (c->perfect) {
            cyc_l1_count(s, k->local, kind_of(k->i), (uint32_t)orr_popc(l.sectors),
                         (uint32_t)orr_popc(l.sectors), 0);
        } else if (k->i->flags & ORR_TF_ATOMIC) {
            if (!cyc_atomic_line(s, k, l.line, l.sectors, t)) return false;
        } else if (k->i->flags & ORR_TF_STORE) {
            uint64_t bytes[2] = {0, 0};
            if (k->local)
                orr_local_bytes(&s->head_access, k->i->bytes, s->head_line, bytes);
            else
                written(&s->head_access, k->i->bytes, l.line, bytes);
            // until L2 has done one
            if (cyc_port_counts(s, l.sectors, bytes) && !cyc_port_room(s, l.line)) return false;
            store_line(s, k, l.line, l.sectors, bytes, t);
        } else if (!load_line(s, k, l.line, l.sectors, t)) {
            return false;
        }
    }
    read_later(s, k);
    use_banks(s, k->i->flags & ORR_TF_STORE);
    uint64_t misses = s->head_missed ? c->miss_first + s->head_missed * c->miss_interval : 0;
    if (c->gpu->l1_words && k->i->flags & ORR_TF_ASYNC) misses = copy_misses(s, k->i);
    if (misses > s->head_cost) s->lsu_free += misses - s->head_cost;
    if (k->flight == NOBODY && !c->perfect) {
        warp *w = warp_of(s, k->warp);
        uint64_t heard = (s->sent + c->reply_ticks) / ORR_TICKS;
        if (w->stored < heard) w->stored = heard;
    }
    return true;
}

// ---- answers
static void filled(sm *s, const miss *m, uint32_t index, uint8_t sectors) {
    orr_cache_line *l = &s->l1.line[m->fills];
    if (l->tag != m->line) return;
    uint32_t *link = &l->user;
    while (*link != NOBODY && *link != index) link = &s->misses.at[*link].older;
    if (*link == NOBODY) return; // the line went and came back in between
    *link = m->older;
    l->pending &= (uint8_t)~sectors;
    l->valid |= sectors;
}

void cyc_l1_answer(sm *s, uint32_t token, uint64_t ready) {
    miss m = s->misses.at[token];
    if (m.fills != ORR_NO_LINE) filled(s, &m, token, m.sectors);
    give_miss(s, token);
    s->open_misses--;
    for (uint32_t n = m.waiters; n != NOBODY;) {
        node x = s->nodes.at[n];
        give_node(s, n);
        if (!--s->flights.at[x.flight].open)
            cyc_l1_land(s, x.flight, ready);
        else if (s->flights.at[x.flight].floor < ready)
            s->flights.at[x.flight].floor = ready;
        n = x.next;
    }
}

void cyc_l1_start(sm *s, uint64_t l1_bytes, bool flush) {
    memset(s->written, 0, sizeof s->written);
    memset(s->sending, 0, sizeof s->sending);
    const orr_gpu *g = s->c->gpu;
    if (l1_bytes < ORR_LINE)
        l1_bytes = ORR_LINE; // all of it is shared memory: what passes through has a place
    if (s->l1_bytes != l1_bytes) {
        if (s->l1_bytes) orr_cache_free(&s->l1);
        if (g->l1_tag_ways) {
            // Tags for all of it; data for what shared memory leaves (H200: micro/l1 and rings of lines by
            // footprint, docs/h200/l1.md).
            uint64_t data = l1_bytes - (l1_bytes > (uint64_t)g->l1_reserved ? (uint64_t)g->l1_reserved : 0);
            orr_cache_init(&s->l1, (uint64_t)g->l1_size, ORR_LINE, (uint32_t)g->l1_tag_ways, true, false);
            if (g->l1_folded) orr_cache_fold(&s->l1);
            orr_cache_share(&s->l1, (uint32_t)(data / ORR_LINE));
            orr_cache_protect(&s->l1, (uint32_t)g->l1_protected);
        } else {
            // The sets stay, the ways follow what shared memory leaves.
            uint64_t sets = g->l1_ways ? (uint64_t)g->l1_size / ORR_LINE / (uint64_t)g->l1_ways : 1;
            uint64_t ways = l1_bytes / ORR_LINE / (sets ? sets : 1);
            orr_cache_init(&s->l1, l1_bytes, ORR_LINE, (uint32_t)(ways ? ways : 1), g->l1_hashed, false);
        }
        s->l1_bytes = l1_bytes;
        s->l1_taken.n = 0;
    } else if (flush) {
        orr_cache_flush(&s->l1);
        s->l1_taken.n = 0;
    }
}
