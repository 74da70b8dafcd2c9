// Memory instructions (the paper's II-D.1 and II-E.3): the load/store unit, shared memory, L1, constants.
//
// The unit works off one instruction after the other; lsu.queue of them can wait for it. How long one takes
// follows from its addresses: sectors and lines from the coalescer, passes from shared memory's banks. When
// its data are there is known when it is issued: L1's tags say what has to be fetched, and what is behind
// them (memory/quick.h) says when that comes. So a register has its time at once and nobody has to be woken.
#include "model/abstract/abstract.h"

#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"

#define LOCAL_LINES (1ull << 56) // local memory has line numbers of its own, far from all others

typedef struct access { // one memory instruction at work
    const orr_tinst *i;
    uint64_t from; // cycle: the unit began with it
    uint32_t cost;
    uint16_t each; // shared memory: cycles of a pass
    uint8_t space;
} access;

static int kind_of(const orr_tinst *i) {
    return i->flags & ORR_TF_ATOMIC ? ORR_L1_ATOMIC : i->flags & ORR_TF_STORE ? ORR_L1_STORE : ORR_L1_LOAD;
}

// ---- what it touches
// --------------------------------------------------------------------------------------------
static uint8_t space_of(uint8_t space, uint64_t at) {
    if (space != ORR_SPACE_GENERIC) return space;
    if (at - ORR_SHARED_WINDOW < ORR_WINDOW_BYTES) return ORR_SPACE_SHARED;
    if (at - ORR_LOCAL_WINDOW < ORR_WINDOW_BYTES) return ORR_SPACE_LOCAL;
    if (at - ORR_PARAM_WINDOW < ORR_WINDOW_BYTES) return ORR_SPACE_CONST;
    return ORR_SPACE_GLOBAL;
}

static uint32_t l1_cycles(const machine *m, const orr_coalesced *x) {
    const cycle *c = m->c;
    uint32_t on[64] = {0}, most = 1, banks = c->lsu_banks;
    if (x->sectors > banks || x->lines > 1)
        for (uint32_t n = 0; n < x->lines; n++)
            for (uint32_t k = x->line[n].sectors; k; k &= k - 1) {
                uint32_t b = ++on[(x->line[n].line * 4 + (uint32_t)orr_ffs(k)) % banks];
                if (b > most) most = b;
            }
    uint32_t way = (x->sectors * ORR_SECTOR + c->l1_cycle_bytes - 1) / c->l1_cycle_bytes;
    return most > way ? most : way;
}

// The same where L1's banks are those of shared memory (l1.words), as cycle/lsu.c has it.
static uint32_t l1_word_cycles(const machine *m, const orr_tinst *i, bool local) {
    const orr_coalesced *x = &m->lines;
    uint32_t banks = m->c->lsu_banks, tags = (x->lines + banks - 1) / banks, least = 1, most;
    if (i->flags & ORR_TF_STORE) least = (uint32_t)m->gpu->l1_store;
    uint32_t packed = ((uint32_t)orr_popc(m->access.mask) * i->bytes + 127) / 128;
    if (local || x->lines <= packed)
        most = local ? x->lines : packed;
    else
        most = orr_bank_conflicts(&m->access, i->bytes,
                                  i->flags & ORR_TF_LOAD ? ORR_BANKS_LOAD : ORR_BANKS_STORE)
                   .passes;
    if (most < tags) most = tags;
    return most > least ? most : least;
}

// An atomic that compares and swaps; one that only says whether it did (CAST) swaps for one lane of a word.
enum { SWAP_NOT, SWAP, SWAP_OR_NOT };
static int swap_of(const machine *m, const orr_tinst *i) {
    if (m->gpu->shared_swap <= 1 || !(i->flags & ORR_TF_ATOMIC)) return SWAP_NOT;
    const char *name = strstr(m->code->program->names[i->name], ".CAS");
    return !name ? SWAP_NOT : name[4] == 'T' ? SWAP_OR_NOT : SWAP;
}

// Sectors of each line that a store writes whole, and lanes in it.
static void look_at_lanes(machine *k, const orr_access *a, uint32_t bytes, bool local) {
    const orr_coalesced *x = &k->lines;
    for (uint32_t n = 0; n < x->lines; n++) {
        if (local) {
            k->whole[n] = x->line[n].sectors;
            k->lanes[n] = 1;
            continue;
        }
        uint64_t first = x->line[n].line * ORR_LINE;
        uint32_t lanes = 0;
        unsigned __int128 set = 0;
        for (uint32_t m = a->mask; m; m &= m - 1) {
            uint64_t from = a->addr[orr_ffs(m)] - first, to = from + bytes;
            lanes += from < ORR_LINE;
            if (from >= ORR_LINE && to - 1 >= ORR_LINE) continue; // not in this line
            if (from >= ORR_LINE) from = 0;
            if (to > ORR_LINE) to = ORR_LINE;
            unsigned __int128 ones =
                to - from >= 128 ? ~(unsigned __int128)0 : ((unsigned __int128)1 << (to - from)) - 1;
            set |= ones << from;
        }
        k->lanes[n] = (uint8_t)(lanes ? lanes : 1);
        k->whole[n] = 0;
        for (uint32_t s = 0; s < 4; s++)
            k->whole[n] |= (uint8_t)(((uint32_t)(set >> 32 * s) == UINT32_MAX) << s);
    }
}

// How often a slice goes through its sectors for an atomic (l2.atomic_words), as cycle/lsu.c has it.
static void count_passes(machine *m, const orr_tinst *i) {
    const orr_access *a = &m->access;
    bool swaps = strstr(m->code->program->names[i->name], ".CAS") != NULL;
    for (uint32_t n = 0; n < m->lines.lines; n++) {
        uint8_t lanes[32] = {0}, most[4] = {0};
        uint32_t passes = 0;
        for (uint32_t k = a->mask; k; k &= k - 1) {
            uint64_t addr = a->addr[orr_ffs(k)];
            if (addr / ORR_LINE != m->lines.line[n].line) continue;
            uint8_t of = ++lanes[addr % ORR_LINE / 4], *sector = &most[addr % ORR_LINE / ORR_SECTOR];
            if (of > *sector) *sector = of;
        }
        for (int k = 0; k < 4; k++) passes += most[k] > 4 ? most[k] + most[k] / 4u : most[k];
        if (swaps) passes = m->lanes[n] - m->lanes[n] / 3u;
        m->lanes[n] = (uint8_t)(passes ? passes : 1);
    }
}

// The whole work: lanes to addresses, addresses to lines or passes. False: the trace is damaged.
static bool decode(acore *s, const awarp *w, orr_trace *t, access *k) {
    machine *m = s->m;
    orr_access *a = &m->access;
    const orr_tinst *i = k->i;
    orr_coalesced *x = &m->lines;
    if (!orr_trace_access(t, a)) return false;
    x->lines = x->sectors = 0;
    k->cost = 1;
    k->space = ORR_SPACE_CONST; // no lane: as one that is there
    if (!a->mask) return true;
    uint64_t at = a->addr[orr_ffs(a->mask)];
    k->space = space_of(i->space, at);
    uint64_t more = i->offset;
    if (i->space == ORR_SPACE_GENERIC && k->space == ORR_SPACE_SHARED) more -= ORR_SHARED_WINDOW;
    if (i->space == ORR_SPACE_GENERIC && k->space == ORR_SPACE_LOCAL) more -= ORR_LOCAL_WINDOW;
    if (more)
        for (uint32_t n = a->mask; n; n &= n - 1) a->addr[orr_ffs(n)] += more;
    int kind = kind_of(i);
    if (k->space == ORR_SPACE_CONST) return true;
    if (k->space == ORR_SPACE_SHARED) {
        int swap = swap_of(m, i);
        orr_banked b = orr_bank_conflicts(a, i->bytes,
                                          swap == SWAP_OR_NOT     ? ORR_BANKS_STORE
                                          : kind == ORR_L1_ATOMIC ? ORR_BANKS_ATOMIC
                                          : kind == ORR_L1_STORE  ? ORR_BANKS_STORE
                                                                  : ORR_BANKS_LOAD);
        k->each = (uint16_t)(m->c->pass_cycles * (swap ? (uint32_t)m->gpu->shared_swap : 1));
        k->cost = (b.passes ? b.passes : 1) * k->each;
        return true;
    }
    bool local = k->space == ORR_SPACE_LOCAL;
    if (local)
        orr_coalesce_local(a, i->bytes, x);
    else
        orr_coalesce(a, i->bytes,
                     kind == ORR_L1_ATOMIC ? ORR_WHOLE_WARP : (enum orr_coalescing)m->c->coalesce, x);
    k->cost = m->gpu->l1_words ? l1_word_cycles(m, i, local) : l1_cycles(m, x);
    if (kind != ORR_L1_LOAD) look_at_lanes(m, a, i->bytes, local);
    if (kind == ORR_L1_ATOMIC && m->gpu->l2_atomic_words && !local) count_passes(m, i);
    if (i->flags & ORR_TF_ASYNC) k->cost += ((uint32_t)orr_popc(a->mask) * i->bytes + 127) / 128;
    if (local && w) {
        uint64_t mine = ((uint64_t)s->id * 4096 + (uint64_t)w->sched * MAX_WARPS +
                         (uint64_t)(w - s->sched[w->sched].warps))
                        << 18;
        for (uint32_t n = 0; n < x->lines; n++) x->line[n].line += LOCAL_LINES + mine;
    }
    return true;
}

// ---- the same again
// ---------------------------------------------------------------------------------------------
static bool is_like(machine *m, const amemo *e, orr_trace *t, access *k) {
    const uint8_t *p = t->at;
    size_t left = (size_t)(t->end - p);
    if (!e->n || e->mask != t->mask || left < e->n || *p != e->bytes[0]) return false;
    uint64_t at;
    memcpy(&at, p + e->base, 8);
    if ((at & 127) != e->low) return false;
    if (e->base > 1 && memcmp(p + 1, e->bytes + 1, 4) != 0) return false;
    uint32_t from = e->base + 8u, n = e->n - from; // what follows the address: a stride has one or two bytes
    if (n && p[from] != e->bytes[from]) return false;
    if (n > 1 && memcmp(p + from, e->bytes + from, n) != 0) return false;
    if (space_of(k->i->space, at) != e->space) return false;
    t->at += e->n;
    k->cost = e->cost;
    k->each = e->each;
    k->space = e->space;
    orr_coalesced *x = &m->lines;
    x->lines = e->nlines;
    x->sectors = e->sectors;
    if (e->space == ORR_SPACE_SHARED || m->perfect) return true;
    for (uint32_t n = 0; n < x->lines; n++) {
        x->line[n] = (orr_line_access){at / ORR_LINE + (uint64_t)(int64_t)e->at[n].line, e->at[n].sectors};
        m->whole[n] = e->at[n].whole;
        m->lanes[n] = e->at[n].lanes;
    }
    return true;
}

static bool remembered(machine *m, const amemos *e, orr_trace *t, access *k) {
    for (uint32_t n = 0; n < MEMOS; n++)
        if (is_like(m, &e->memo[n], t, k)) return true;
    return false;
}

// Patterns move with their address as long as its last 7 bits stay: banks, sectors and lines repeat after
// 128.
static void remember(const machine *m, amemos *all, const uint8_t *p, size_t n, uint32_t mask,
                     const access *k) {
    const orr_coalesced *x = &m->lines;
    if (n > MEMO_BYTES || !(*p & 7) || x->lines > MEMO_LINES) return;
    if (!m->gpu->l1_words && (m->c->lsu_banks > 4 || 4 % m->c->lsu_banks)) return;
    if (k->space != ORR_SPACE_SHARED && k->space != ORR_SPACE_GLOBAL) return;
    amemo *e = &all->memo[all->next++ % MEMOS];
    e->n = 0;
    uint64_t at;
    e->base = *p & 8 ? 5 : 1;
    memcpy(&at, p + e->base, 8);
    e->mask = mask;
    e->low = at & 127;
    e->space = k->space;
    e->each = k->each;
    e->nlines = (uint16_t)x->lines;
    e->sectors = (uint16_t)x->sectors;
    e->cost = (uint16_t)(k->cost < UINT16_MAX ? k->cost : UINT16_MAX);
    for (uint32_t i = 0; i < x->lines; i++) {
        int64_t line = (int64_t)(x->line[i].line - at / ORR_LINE);
        if (line != (int32_t)line) return;
        e->at[i].line = (int32_t)line;
        e->at[i].sectors = x->line[i].sectors;
        e->at[i].whole = m->whole[i];
        e->at[i].lanes = m->lanes[i];
    }
    memcpy(e->bytes, p, n);
    e->n = (uint8_t)n;
}

// ---- the network
// --------------------------------------------------------------------------------------------------
static orr_quick_reply send(acore *s, orr_request *r, uint64_t when, uint32_t bytes, uint8_t whole) {
    machine *m = s->m;
    const cycle *c = m->c;
    uint64_t t = when * ORR_TICKS;
    if (t < s->send_free) t = s->send_free;
    s->send_free = t + bytes * c->request_byte;
    s->n.sent_bytes += bytes;
    r->time = t + c->request_ticks;
    r->sm = s->id;
    if (c->far_ticks && !m->gpu->l2_copies &&
        orr_quick_side_of(m->memory, r->line) != (int)(s->id * (uint32_t)m->gpu->l2_partitions / m->ncores))
        r->time += c->far_ticks;
    orr_quick_reply a = orr_quick_ask(m->memory, r, whole);
    // A slice that is far behind holds up the SM's port, and that L1.
    uint64_t ahead = r->time + c->backlog_ticks;
    if (a.taken > ahead && s->send_free < t + (a.taken - ahead)) s->send_free = t + (a.taken - ahead);
    uint64_t held = s->send_free / ORR_TICKS, back = c->l1_latency + c->send_ahead / 2;
    if (held > when + c->send_ahead && held > back && s->lsu_free < held - back) s->lsu_free = held - back;
    return a;
}

// ---- lines on their way: a heap of their times
// ----------------------------------------------------------------
static void push_miss(acore *s, uint64_t t) {
    uint32_t i = s->nmisses++;
    for (; i && s->misses[(i - 1) / 2] > t; i = (i - 1) / 2) s->misses[i] = s->misses[(i - 1) / 2];
    s->misses[i] = t;
}

static void pop_miss(acore *s) {
    uint64_t last = s->misses[--s->nmisses];
    uint32_t i = 0, n = s->nmisses;
    for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && s->misses[child + 1] < s->misses[child]) child++;
        if (s->misses[child] >= last) break;
        s->misses[i] = s->misses[child];
    }
    s->misses[i] = last;
}

// There is room for another line on its way; until then the unit stands still.
static void make_room(acore *s, access *k) {
    while (s->nmisses && s->misses[0] <= k->from) pop_miss(s);
    if (s->nmisses < (uint32_t)s->m->gpu->l1_misses) return;
    k->from = s->misses[0];
    pop_miss(s);
}

// ---- one line
// -----------------------------------------------------------------------------------------------------
static uint8_t from_of(const access *k) {
    return k->space == ORR_SPACE_LOCAL ? ORR_FROM_LOCAL : ORR_FROM_GLOBAL;
}

// Asks for sectors; returns the cycle in which they can be used.
static uint64_t ask(acore *s, access *k, uint64_t line, uint8_t sectors, uint64_t when, uint8_t kind,
                    uint8_t ops) {
    machine *m = s->m;
    const cycle *c = m->c;
    orr_request r = {.line = line, .sectors = sectors, .kind = kind, .from = from_of(k), .ops = ops};
    uint32_t n = (uint32_t)orr_popc(sectors), bytes = 8 + 32 * n;
    uint32_t out = kind != ORR_REQ_READ   ? bytes + (uint32_t)m->gpu->xbar_mask
                   : m->gpu->xbar_sectors ? 32 * n
                                          : (uint32_t)m->gpu->xbar_ask;
    uint64_t t = send(s, &r, when, out, 0).done + c->reply_ticks;
    t = orr_ledger_take(&m->receive[s->id], t, bytes * c->reply_byte, m->from * ORR_TICKS);
    if (m->tpc_sms)
        t = orr_ledger_take(&m->shared[s->id / m->tpc_sms], t, bytes * m->tpc_byte, m->from * ORR_TICKS);
    s->n.received_bytes += bytes;
    // l2.latency has the passing of one sector in it; further ones take their time
    uint64_t ready = (t + (bytes - 40) * c->reply_byte + ORR_TICKS - 1) / ORR_TICKS;
    push_miss(s, ready);
    return ready;
}

static void write_line(acore *s, const access *k, uint64_t line, uint8_t sectors, uint8_t whole,
                       uint64_t when) {
    const machine *m = s->m;
    orr_request r = {.line = line, .sectors = sectors, .kind = ORR_REQ_WRITE};
    uint32_t bytes = 8 + 32 * (uint32_t)orr_popc(sectors);
    r.from = line >= LOCAL_LINES ? ORR_FROM_LOCAL : from_of(k);
    if (sectors & (uint8_t)~whole) bytes += (uint32_t)m->gpu->xbar_mask; // which bytes
    uint32_t at = (uint32_t)(line * 0x9e3779b97f4a7c15u >> 58);
    if (m->gpu->xbar_join && s->stores[at].line == line + 1 && s->stores[at].leaves >= when * ORR_TICKS) {
        r.sectors = sectors & (uint8_t)~s->stores[at].sectors;
        s->stores[at].sectors |= sectors;
        if (!r.sectors) return;
        bytes = 32 * (uint32_t)orr_popc(r.sectors);
    }
    uint64_t leaves = when * ORR_TICKS > s->send_free ? when * ORR_TICKS : s->send_free;
    send(s, &r, when, bytes, whole);
    if (!m->gpu->xbar_join) return;
    s->stores[at].line = line + 1;
    s->stores[at].leaves = leaves;
    s->stores[at].sectors = sectors;
}

static void evicted(acore *s, const access *k, const orr_cache_line *victim, uint64_t when) {
    if (victim->used && victim->dirty) write_line(s, k, victim->tag, victim->dirty, victim->dirty, when);
}

static uint8_t whole_of(const orr_gpu *g, uint8_t sectors) { // fetched together
    if (g->l1_sector >= 128) return 0xf;
    if (g->l1_sector >= 64) return (uint8_t)((sectors & 3 ? 3 : 0) | (sectors & 12 ? 12 : 0));
    return sectors;
}

static void count(acore *s, const access *k, int kind, uint8_t all, uint8_t hit, uint8_t pending) {
    int local = k->space == ORR_SPACE_LOCAL;
    uint64_t n = (uint64_t)orr_popc(all), h = (uint64_t)orr_popc(hit), p = (uint64_t)orr_popc(pending);
    s->n.l1_sectors[local][kind] += n;
    s->n.l1_hit[local][kind] += h;
    s->n.l1_pending[local][kind] += p;
    s->n.l1_miss[local][kind] += n - h - p;
}

// What has come by cycle t is there.
static void settle(acore *s, uint32_t at, uint64_t t) {
    orr_cache_line *l = &s->l1.line[at];
    if (l->pending && s->l1_when[at] <= t) {
        l->valid |= l->pending;
        l->pending = 0;
    }
}

static uint64_t fetch_line(acore *s, access *k, uint32_t at, uint8_t need, uint64_t when) {
    orr_cache_line *l = &s->l1.line[at];
    uint64_t t = ask(s, k, l->tag, need, when, ORR_REQ_READ, 0);
    l->pending |= need;
    if (s->l1_when[at] < t) s->l1_when[at] = t;
    return t;
}

static uint64_t load_line(acore *s, access *k, uint64_t line, uint8_t sectors, uint64_t lag) {
    const machine *m = s->m;
    const orr_gpu *g = m->gpu;
    bool local = k->space == ORR_SPACE_LOCAL;
    if ((k->i->flags & ORR_TF_BYPASS) || (!local && !g->l1_global)) {
        make_room(s, k);
        count(s, k, ORR_L1_LOAD, sectors, 0, 0);
        return ask(s, k, line, sectors, k->from + m->c->l1_latency + lag, ORR_REQ_READ, 0);
    }
    uint32_t at = orr_cache_find(&s->l1, line);
    uint8_t hit = 0, pending = 0, have = 0;
    if (at != ORR_NO_LINE) {
        settle(s, at, k->from);
        have = s->l1.line[at].valid | s->l1.line[at].pending;
        hit = sectors & s->l1.line[at].valid;
        pending = sectors & (uint8_t)~hit & s->l1.line[at].pending;
    }
    uint8_t need = sectors & (uint8_t) ~(hit | pending);
    count(s, k, ORR_L1_LOAD, sectors, hit, pending);
    uint64_t ready = pending ? s->l1_when[at] : 0;
    if (need) {
        make_room(s, k);
        uint64_t when = k->from + m->c->l1_latency + lag;
        if (at == ORR_NO_LINE) {
            orr_cache_line victim;
            at = orr_cache_take(&s->l1, line, &victim, NULL);
            s->l1_when[at] = 0;
            evicted(s, k, &victim, when);
        }
        uint64_t t = fetch_line(s, k, at, whole_of(g, need) & (uint8_t)~have, when);
        if (t > ready) ready = t;
    }
    orr_cache_touch(&s->l1, at);
    return ready;
}

static void store_line(acore *s, access *k, uint64_t line, uint8_t sectors, uint8_t whole, uint64_t when) {
    const orr_gpu *g = s->m->gpu;
    bool local = k->space == ORR_SPACE_LOCAL;
    int policy = g->l1_write;
    if (policy == ORR_WRITE_LOCAL) policy = local ? ORR_WRITE_BACK : ORR_WRITE_EVICT;
    if (!local && !g->l1_global && policy == ORR_WRITE_THROUGH) policy = ORR_WRITE_EVICT;
    uint32_t at = orr_cache_find(&s->l1, line);
    if (at != ORR_NO_LINE) settle(s, at, k->from);
    count(s, k, ORR_L1_STORE, sectors, at == ORR_NO_LINE ? 0 : sectors & s->l1.line[at].valid, 0);
    if (policy == ORR_WRITE_EVICT) {
        if (at != ORR_NO_LINE && !s->l1.line[at].pending) orr_cache_drop(&s->l1, at);
    } else {
        if (at == ORR_NO_LINE && (g->l1_write_allocate || policy == ORR_WRITE_BACK)) {
            orr_cache_line victim;
            at = orr_cache_take(&s->l1, line, &victim, NULL);
            s->l1_when[at] = 0;
            evicted(s, k, &victim, when);
        }
        if (at != ORR_NO_LINE) {
            orr_cache_line *l = &s->l1.line[at];
            uint8_t part = sectors & (uint8_t) ~(l->valid | l->pending | whole);
            l->valid |= whole & sectors;
            if (part && g->l1_write_miss == ORR_L1_FETCH)
                fetch_line(s, k, at, part, when);
            else if (part && policy == ORR_WRITE_BACK)
                l->valid |= part;
            if (policy == ORR_WRITE_BACK) l->dirty |= sectors;
            orr_cache_touch(&s->l1, at);
        }
        if (policy == ORR_WRITE_BACK && at != ORR_NO_LINE) return;
    }
    write_line(s, k, line, sectors, whole, when);
}

static uint64_t atomic_line(acore *s, access *k, uint64_t line, uint8_t sectors, uint8_t lanes,
                            uint64_t lag) {
    bool answered = k->i->flags & ORR_TF_LOAD;
    if (answered) make_room(s, k);
    uint32_t at = orr_cache_find(&s->l1, line); // what L1 has of it is old now
    if (at != ORR_NO_LINE) s->l1.line[at].valid &= (uint8_t)~sectors;
    count(s, k, ORR_L1_ATOMIC, sectors, 0, 0);
    uint64_t when = k->from + s->m->c->l1_latency + lag;
    if (answered) return ask(s, k, line, sectors, when, ORR_REQ_ATOMIC, lanes);
    orr_request r = {.line = line, .sectors = sectors, .kind = ORR_REQ_REDUCE, .ops = lanes};
    send(s, &r, when, 8 + 32 * (uint32_t)orr_popc(sectors) + (uint32_t)s->m->gpu->xbar_mask, 0);
    return 0;
}

// ---- constants
// ----------------------------------------------------------------------------------------------------
static uint64_t constants(acore *s, const orr_access *a) {
    const machine *m = s->m;
    uint64_t latency = m->c->const_latency, seen = UINT64_MAX;
    for (uint32_t k = a->mask; k; k &= k - 1) {
        uint64_t line = a->addr[orr_ffs(k)] / 64;
        if (line == seen) continue;
        seen = line;
        s->n.const_requests++;
        if (m->gpu->icache_perfect || !m->gpu->const_size) continue;
        uint32_t at = orr_cache_find(&s->constants, line);
        if (at != ORR_NO_LINE) {
            orr_cache_touch(&s->constants, at);
            continue;
        }
        orr_cache_line victim;
        s->n.const_miss++;
        orr_cache_take(&s->constants, line, &victim, NULL);
        uint64_t more = m->c->const2_latency;
        at = m->gpu->const_l15_size ? orr_cache_find(&s->constants2, line) : ORR_NO_LINE;
        if (at != ORR_NO_LINE) {
            orr_cache_touch(&s->constants2, at);
        } else {
            s->n.const_miss2++;
            more = m->c->l2_latency;
            if (m->gpu->const_l15_size) orr_cache_take(&s->constants2, line, &victim, NULL);
        }
        if (more > latency) latency = more;
    }
    return latency;
}

// ---- an instruction
// ----------------------------------------------------------------------------------------------- Global and
// local memory; returns when its data are there.
static uint64_t lines(acore *s, awarp *w, access *k) {
    machine *m = s->m;
    const orr_coalesced *x = &m->lines;
    int kind = kind_of(k->i);
    uint64_t ready = 0;
    s->n.l1_requests[k->space == ORR_SPACE_LOCAL][kind]++;
    s->n.l1_tags += x->lines;
    if (m->perfect) {
        s->n.l1_sectors[k->space == ORR_SPACE_LOCAL][kind] += x->sectors;
        s->n.l1_hit[k->space == ORR_SPACE_LOCAL][kind] += x->sectors;
        return k->from + k->cost - 1 + m->c->l1_latency;
    }
    for (uint32_t n = 0; n < x->lines; n++) {
        orr_line_access l = x->line[n];
        uint64_t lag = (uint64_t)n * k->cost / x->lines, t = 0;
        if (kind == ORR_L1_ATOMIC)
            t = atomic_line(s, k, l.line, l.sectors, m->lanes[n], lag);
        else if (kind == ORR_L1_STORE)
            store_line(s, k, l.line, l.sectors, m->whole[n], k->from + m->c->l1_latency + lag);
        else
            t = load_line(s, k, l.line, l.sectors, lag);
        if (t > ready) ready = t;
    }
    if (!(k->i->flags & ORR_TF_LOAD)) {
        uint64_t far = m->gpu->l2_copies ? m->c->far_ticks : 0; // perhaps
        uint64_t heard = (s->send_free + m->c->request_ticks + m->c->reply_ticks + far) / ORR_TICKS;
        if (w->stored < heard) w->stored = heard;
    }
    uint64_t floor = k->from + k->cost - 1 + m->c->l1_latency;
    return ready > floor ? ready : floor;
}

static void set_ready(const acore *s, awarp *w, const ainst *i, uint64_t ready) {
    const uint16_t *r = i->nwait + i->nset <= NEAR_REGS ? i->near : s->m->code->regs + i->regs;
    r += i->nwait;
    for (uint32_t d = 0; d < i->nset; d++) w->reg[r[d]] = ready;
    if (i->wbar < 6 && w->bar[i->wbar] < ready) w->bar[i->wbar] = ready;
    if (w->landed < ready) w->landed = ready;
}

void abt_memory(acore *s, awarp *w, uint32_t inst, const ainst *i, uint64_t late) {
    machine *m = s->m;
    acode *code = m->code;
    access k = {.i = &code->program->insts[inst]};
    orr_trace at = w->trace;
    if (!code->in_order) {
        at.at = w->base + w->access[k.i->access];
        at.mask = w->mask;
    }
    amemos *memo = &code->memo[code->memo_of[inst] - 1];
    if (!remembered(m, memo, &at, &k)) {
        const uint8_t *from = at.at;
        if (!decode(s, w, &at, &k)) {
            s->damaged = true;
            return;
        }
        remember(m, memo, from, (size_t)(at.at - from), at.mask, &k);
    }
    if (code->in_order) w->trace = at;

    uint64_t t = s->now + late;
    k.from = t > s->lsu_free ? t : s->lsu_free;
    s->lsu_free = k.from + k.cost;
    uint64_t ready;
    if (k.space == ORR_SPACE_SHARED) {
        int kind = kind_of(k.i);
        s->n.shared_requests[kind]++;
        s->n.shared_passes[kind] += k.cost / k.each;
        ready = k.from + k.cost - k.each + m->c->shared_latency;
    } else if (k.space == ORR_SPACE_CONST) {
        ready = k.from + (m->access.mask ? constants(s, &m->access) : m->c->const_latency);
    } else {
        uint64_t from = k.from;
        ready = lines(s, w, &k);
        if (k.from > from && s->lsu_free < k.from + 1) s->lsu_free = k.from + 1; // it stood still
    }
    uint32_t size = m->lsu_queue;
    s->starts[s->nstarts++ % size] = k.from;
    s->lsu_room = s->starts[s->nstarts % size];
    if (i->rbar < 6 && w->bar[i->rbar] < k.from + 1) w->bar[i->rbar] = k.from + 1;
    if (!(k.i->flags & ORR_TF_LOAD)) return;
    set_ready(s, w, i, ready);
    if (k.i->flags & ORR_TF_ASYNC) {
        uint64_t *g = &w->group_ready[w->group % MAX_GROUPS];
        if (*g < ready) *g = ready;
    }
}

static bool cost_of(machine *m, uint32_t inst, orr_trace *t, uint64_t *h) {
    access k = {.i = &m->code->program->insts[inst]};
    amemos *memo = &m->code->memo[m->code->memo_of[inst] - 1];
    if (!remembered(m, memo, t, &k)) {
        const uint8_t *from = t->at;
        if (!decode(&m->cores[0], NULL, t, &k)) return false;
        remember(m, memo, from, (size_t)(t->at - from), t->mask, &k);
        const orr_access *a = &m->access;
        if (k.space == ORR_SPACE_CONST) // its cache looks at the addresses
            for (uint32_t n = a->mask; n; n &= n - 1)
                *h = (*h ^ a->addr[orr_ffs(n)] / 64) * 0x9e3779b97f4a7c15ull;
    }
    *h = (*h ^ ((uint64_t)k.cost << 8 | k.space)) * 0x9e3779b97f4a7c15ull;
    *h ^= *h >> 29;
    return true;
}

bool abt_memory_cost(machine *m, uint32_t block, orr_trace *t, uint64_t *h) {
    const orr_tblock *b = &m->code->program->blocks[block];
    const ainst *i = &m->code->insts[b->first];
    if (m->code->in_order) {
        for (uint32_t n = 0; n < b->count; n++)
            if (i[n].kind == ORR_TK_MEM && !cost_of(m, b->first + n, t, h)) return false;
        return true;
    }
    for (uint32_t k = 0; k < b->naccess; k++) {
        m->access_at[k] = t->at;
        if (!orr_trace_skip(t)) return false;
    }
    for (uint32_t n = 0; n < b->count; n++) {
        if (i[n].kind != ORR_TK_MEM) continue;
        orr_trace at = *t;
        at.at = m->access_at[m->code->program->insts[b->first + n].access];
        if (!cost_of(m, b->first + n, &at, h)) return false;
    }
    return true;
}

void abt_memory_start(acore *s, uint64_t l1_bytes) {
    const orr_gpu *g = s->m->gpu;
    if (l1_bytes < ORR_LINE) l1_bytes = ORR_LINE;
    s->lsu_free = s->lsu_room = s->send_free = 0;
    s->nstarts = s->nmisses = 0;
    memset(s->stores, 0, sizeof s->stores);
    memset(s->starts, 0, s->m->lsu_queue * sizeof *s->starts);
    if (s->m->perfect) return;
    if (s->l1_bytes != l1_bytes) {
        uint64_t sets = g->l1_ways ? (uint64_t)g->l1_size / ORR_LINE / (uint64_t)g->l1_ways : 1;
        uint64_t ways = l1_bytes / ORR_LINE / (sets ? sets : 1);
        if (s->l1_bytes) orr_cache_free(&s->l1);
        orr_cache_init(&s->l1, l1_bytes, ORR_LINE, (uint32_t)(ways ? ways : 1), g->l1_hashed, false);
        free(s->l1_when);
        s->l1_when = orr_calloc((size_t)s->l1.sets * s->l1.ways, sizeof *s->l1_when);
        s->l1_bytes = l1_bytes;
    } else if (g->l1_flush) {
        orr_cache_flush(&s->l1);
    } else {
        memset(s->l1_when, 0, (size_t)s->l1.sets * s->l1.ways * sizeof *s->l1_when);
    }
}
