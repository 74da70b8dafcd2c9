// The load/store unit of an SM: one queue in front of L1 and shared memory, which share their storage and its
// port.
//
// An instruction is worked off when it is issued, at the time the unit will be free for it, as long as L1 can
// take its misses. When it cannot, the instruction stays at the head of the queue, half done, and the ones
// behind it wait until an answer makes room. The queue has `lsu.queue` places; a warp whose instruction finds
// no place cannot issue it.
//
// A miss asks for the sectors of one line that are not there and not on their way. Whoever needs sectors that
// are on their way waits for the same answer. L1 is a streaming cache: a miss reserves no data, its line may
// be gone when the answer comes, and the answer goes to the registers all the same (accel-sim.txt, II-B).
#include "model/cycle/order.h"

#include <string.h>

#include "exec/exec.h"

#define LOCAL_LINES (1ull << 56) // local memory has line numbers of its own, far from all others
#define ALL_BYTES   UINT64_MAX

// ---- pools: what was given back is taken again before they grow
// --------------------------------------------------
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

// The words of the access at hand that lie in the request's line, for order.c.
static void note_order(sm *s, orr_request *r) {
    const orr_access *a = &s->head_access;
    uint32_t k = 0;
    for (uint32_t m = a->mask; m; m &= m - 1, k++) {
        uint64_t addr = a->addr[orr_ffs(m)];
        if (addr / ORR_LINE != r->line) continue;
        *ORR_PUSH(&s->needs) = (orr_need){addr / 4, s->head_needs ? s->head_needs[k] : 0, s->head_warp,
                                          s->head_order, warp_of(s, s->head_warp)->block};
        if (!r->norder++) r->order = (uint32_t)s->needs.n;
    }
}

// ---- the network
// ------------------------------------------------------------------------------------------------ A packet
// of `bytes` leaves at `when` at the earliest; requests to a slice that is far behind wait at the SM's port,
// and with them all that come after. How far behind is an estimate of the window before, so none waits longer
// than a window.
static void send(sm *s, orr_request r, uint64_t when, uint32_t bytes) {
    cycle *c = s->c;
    if (s->head_order) note_order(s, &r);
    uint64_t t = when * ORR_TICKS;
    if (t < s->send_free) t = s->send_free;
    r.partition = (uint32_t)orr_memsys_partition_of(c->mem, r.line);
    uint64_t behind = c->mem_free[r.partition];
    if (behind > t + c->backlog_ticks) {
        uint64_t most = t + c->window * ORR_TICKS;
        t = behind - c->backlog_ticks;
        if (t > most) t = most;
    }
    s->send_free = t + bytes * c->request_byte;
    s->n.sent_bytes += bytes;
    r.time = t + c->request_ticks;
    if (c->far_ticks && !c->gpu->l2_copies &&
        orr_memsys_side_of(c->mem, r.line) != (int)(s->id * (uint32_t)c->gpu->l2_partitions / c->nsms))
        r.time += c->far_ticks;
    r.sm = s->id;
    s->sent = r.time;
    if (r.kind != ORR_REQ_READ && c->far_ticks && c->gpu->l2_copies) { // it is done where it belongs
        if (behind > s->sent && r.kind == ORR_REQ_WRITE) s->sent = behind;
        if (orr_memsys_side_of(c->mem, r.line) != (int)orr_half_of_sm(s->id, c->gpcs))
            s->sent += c->far_ticks;
    }
    *ORR_PUSH(&s->out) = r;
    // a port that is behind holds up L1
    uint64_t held = s->send_free / ORR_TICKS;
    if (held > when + c->send_ahead && s->lsu_free < held - c->l1_latency - c->send_ahead / 2 &&
        held > c->l1_latency + c->send_ahead)
        s->lsu_free = held - c->l1_latency - c->send_ahead / 2;
}

// Stores that wait at the port are joined by those that follow to the same line (xbar.join).
static uint32_t *store_place(sm *s, uint64_t line) { return &s->stores[line * 0x9e3779b97f4a7c15u >> 56]; }

static bool join_store(sm *s, const orr_request *r, uint64_t t) {
    uint32_t at = *store_place(s, r->line);
    if (!at || at > s->out.n) return false;
    orr_request *before = &s->out.at[at - 1];
    if (before->line != r->line || before->kind != ORR_REQ_WRITE || before->order) return false;
    if (before->time < t + s->c->request_ticks) return false; // it has left
    uint32_t more = 32 * (uint32_t)orr_popc(r->sectors & ~before->sectors);
    before->sectors |= r->sectors;
    before->bytes[0] |= r->bytes[0];
    before->bytes[1] |= r->bytes[1];
    s->send_free += more * s->c->request_byte;
    s->n.sent_bytes += more;
    return true;
}

// There is room for xbar.stores lines that wait. One after the other they go in, join one that is there, or
// wait for the oldest to leave; and L1 waits with them.
static void send_store(sm *s, const orr_request *r, uint64_t when, uint32_t packet) {
    uint32_t room = (uint32_t)s->c->gpu->xbar_stores;
    uint64_t t = when * ORR_TICKS;
    if (room && t < s->store_in) t = s->store_in;
    if (join_store(s, r, t)) return;
    if (room && t < s->left[s->next_left]) t = s->left[s->next_left];
    send(s, *r, (t + ORR_TICKS - 1) / ORR_TICKS, packet);
    *store_place(s, r->line) = (uint32_t)s->out.n;
    if (!room) return;
    s->store_in = t;
    s->left[s->next_left] = s->send_free - packet * s->c->request_byte;
    s->next_left = (s->next_left + 1) % room;
    uint64_t held = t / ORR_TICKS;
    if (held > s->c->l1_latency && s->lsu_free < held - s->c->l1_latency)
        s->lsu_free = held - s->c->l1_latency;
}

void cyc_lsu_handed_over(sm *s, uint64_t until) {
    size_t n = 0;
    memset(s->stores, 0, sizeof s->stores);
    for (size_t i = 0; i < s->out.n; i++) {
        if (!cyc_lsu_waits(&s->out.at[i], until)) continue;
        s->out.at[n++] = s->out.at[i];
        *store_place(s, s->out.at[n - 1].line) = (uint32_t)n;
    }
    s->out.n = n;
}

static void write_back(sm *s, const orr_cache_line *victim, uint64_t when) {
    if (!victim->used) return;
    s->n.l1_evicted++;
    if (!victim->dirty) return;
    orr_request r = {.line = victim->tag, .sectors = victim->dirty, .kind = ORR_REQ_WRITE};
    r.from = victim->tag >= LOCAL_LINES ? ORR_FROM_LOCAL : ORR_FROM_GLOBAL;
    for (int n = 0; n < 4; n++)
        if (victim->dirty >> n & 1) r.bytes[n / 2] |= 0xffffffffull << (n % 2 * 32);
    send(s, r, when, 8 + 32 * (uint32_t)orr_popc(victim->dirty));
}

// ---- flights and misses
// -----------------------------------------------------------------------------------------
static uint32_t new_flight(sm *s, const warp *w, uint32_t inst) {
    uint32_t f = take_flight(s);
    s->flights.at[f] = (flight){.issued = s->now, .inst = inst, .warp = warp_id(w), .group = NO_GROUP};
    return f;
}

static void land(sm *s, uint32_t f, uint64_t ready) {
    flight *x = &s->flights.at[f];
    if (ready < x->floor) ready = x->floor;
    s->n.loads++;
    s->n.load_latency += ready - x->issued;
    uint32_t inst = x->inst, w = x->warp;
    uint8_t group = x->group;
    give_flight(s, f);
    cyc_warp_complete(s, warp_of(s, w), inst, ready, group);
}

static void wait_for(sm *s, uint32_t m, uint32_t f) {
    if (f == NOBODY) return;
    uint32_t n = take_node(s);
    s->nodes.at[n] = (node){f, s->misses.at[m].waiters};
    s->misses.at[m].waiters = n;
    s->misses.at[m].nwaiters++;
    s->flights.at[f].open++;
}

static uint32_t new_miss(sm *s, uint64_t line, uint8_t sectors, uint32_t f, uint32_t fills) {
    uint32_t m = take_miss(s);
    s->misses.at[m] =
        (miss){.line = line, .waiters = NOBODY, .older = NOBODY, .sectors = sectors, .fills = fills};
    s->open_misses++;
    wait_for(s, m, f);
    return m;
}

// ---- one line
// ------------------------------------------------------------------------------------------------------
typedef struct work { // an instruction at L1
    const orr_tinst *i;
    uint32_t inst, warp;
    uint32_t flight; // NOBODY: nobody waits
    bool local;
} work;

static int kind_of(const orr_tinst *i) {
    return i->flags & ORR_TF_ATOMIC ? ORR_L1_ATOMIC : i->flags & ORR_TF_STORE ? ORR_L1_STORE : ORR_L1_LOAD;
}

static void count(sm *s, bool local, int kind, uint32_t all, uint32_t hit, uint32_t pending) {
    s->n.l1_sectors[local][kind] += all;
    s->n.l1_hit[local][kind] += hit;
    s->n.l1_pending[local][kind] += pending;
    s->n.l1_miss[local][kind] += all - hit - pending;
}

static uint8_t whole(const cycle *c, uint8_t sectors) { // fetched together
    if (c->gpu->l1_sector >= 128) return 0xf;
    if (c->gpu->l1_sector >= 64) return (uint8_t)((sectors & 3 ? 3 : 0) | (sectors & 12 ? 12 : 0));
    return sectors;
}

static uint8_t from_of(bool local) { return local ? ORR_FROM_LOCAL : ORR_FROM_GLOBAL; }

static void ask(sm *s, uint64_t line, uint8_t sectors, uint32_t token, const work *k, uint64_t when) {
    orr_request r = {
        .line = line, .sectors = sectors, .token = token, .kind = ORR_REQ_READ, .from = from_of(k->local)};
    send(s, r, when,
         s->c->gpu->xbar_sectors ? 32 * (uint32_t)orr_popc(sectors) : (uint32_t)s->c->gpu->xbar_ask);
}

// ---- bytes of a line
// --------------------------------------------------------------------------
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

// L1 knows which bytes of a sector have been written: a load of no others finds them (H200: micro/l1, probe,
// a word after it was stored: 68 cycles, as after a load), and when all are there the sector is.
static partly *partly_at(sm *s, uint64_t line) { return &s->written[line * 0x9e3779b97f4a7c15u >> 57]; }

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
    uint32_t all = (uint32_t)orr_popc(sectors);
    if ((k->i->flags & ORR_TF_BYPASS) || (!k->local && !c->gpu->l1_global)) {
        if (s->open_misses >= limit) return false;
        count(s, k->local, ORR_L1_LOAD, all, 0, 0);
        ask(s, line, sectors, new_miss(s, line, sectors, k->flight, ORR_NO_LINE), k, when);
        return true;
    }
    uint32_t at = orr_cache_find(&s->l1, line);
    orr_cache_line *l = at == ORR_NO_LINE ? NULL : &s->l1.line[at];
    uint8_t hit = l ? sectors & l->valid : 0;
    uint8_t pending = l ? sectors & ~hit & l->pending : 0;
    uint8_t need = sectors & (uint8_t) ~(hit | pending);
    if (need && l && !k->local) {
        hit |= written_enough(s, k, line, need);
        need &= (uint8_t)~hit;
    }
    if (need && s->open_misses >= limit) return false;
    for (uint32_t m = pending ? l->user : NOBODY; m != NOBODY; m = s->misses.at[m].older)
        if ((s->misses.at[m].sectors & pending) && s->misses.at[m].nwaiters >= c->gpu->l1_merges)
            return false;
    count(s, k->local, ORR_L1_LOAD, all, (uint32_t)orr_popc(hit), (uint32_t)orr_popc(pending));
    if (pending)
        for (uint32_t m = l->user; m != NOBODY; m = s->misses.at[m].older)
            if (s->misses.at[m].sectors & pending) wait_for(s, m, k->flight);
    if (need) {
        if (l) {
            need = whole(c, need) & (uint8_t) ~(l->valid | l->pending);
        } else {
            orr_cache_line victim;
            at = orr_cache_take(&s->l1, line, &victim, NULL);
            l = &s->l1.line[at];
            partly_at(s, line)->line = 0;
            write_back(s, &victim, when);
            need = whole(c, need);
        }
        uint32_t m = new_miss(s, line, need, k->flight, at);
        s->misses.at[m].older = l->user;
        l->user = m;
        l->pending |= need;
        s->head_missed++;
        ask(s, line, need, m, k, when);
    }
    orr_cache_touch(&s->l1, at);
    return true;
}

static void store_line(sm *s, const work *k, uint64_t line, uint8_t sectors, const uint64_t bytes[2],
                       uint64_t when) {
    cycle *c = s->c;
    int policy = c->gpu->l1_write;
    if (policy == ORR_WRITE_LOCAL) policy = k->local ? ORR_WRITE_BACK : ORR_WRITE_EVICT;
    if (!k->local && !c->gpu->l1_global && policy == ORR_WRITE_THROUGH) policy = ORR_WRITE_EVICT;
    uint32_t at = orr_cache_find(&s->l1, line);
    uint8_t hit = at == ORR_NO_LINE ? 0 : sectors & s->l1.line[at].valid;
    count(s, k->local, ORR_L1_STORE, (uint32_t)orr_popc(sectors), (uint32_t)orr_popc(hit), 0);
    if (policy == ORR_WRITE_EVICT) {
        if (at != ORR_NO_LINE && !s->l1.line[at].pending) orr_cache_drop(&s->l1, at);
    } else {
        if (at == ORR_NO_LINE && (c->gpu->l1_write_allocate || policy == ORR_WRITE_BACK)) {
            orr_cache_line victim;
            at = orr_cache_take(&s->l1, line, &victim, NULL);
            partly_at(s, line)->line = 0;
            write_back(s, &victim, when);
        }
        if (at != ORR_NO_LINE) {
            orr_cache_line *l = &s->l1.line[at];
            uint8_t part = sectors & (uint8_t) ~(l->valid | l->pending | full_sectors(bytes));
            l->valid |= full_sectors(bytes);
            if (part && c->gpu->l1_write_miss == ORR_L1_FETCH) {
                uint32_t m = new_miss(s, line, part, NOBODY, at);
                s->misses.at[m].older = l->user;
                l->user = m;
                l->pending |= part;
                ask(s, line, part, m, k, when);
            } else if (part && policy == ORR_WRITE_BACK) {
                l->valid |= part; // bytes marked valid: local memory is read where it was written
            } else if (part) {
                partly *p = partly_at(s, line);
                if (p->line != line + 1) *p = (partly){.line = line + 1};
                p->bytes[0] |= bytes[0];
                p->bytes[1] |= bytes[1];
                l->valid |= full_sectors(p->bytes) & (uint8_t)~l->pending;
            }
            if (policy == ORR_WRITE_BACK) l->dirty |= sectors;
            orr_cache_touch(&s->l1, at);
        }
        if (policy == ORR_WRITE_BACK && at != ORR_NO_LINE) return;
    }
    orr_request r = {.line = line, .sectors = sectors, .kind = ORR_REQ_WRITE, .from = from_of(k->local)};
    memcpy(r.bytes, bytes, sizeof r.bytes);
    uint32_t packet = 8 + 32 * (uint32_t)orr_popc(sectors);
    if (sectors & (uint8_t)~full_sectors(bytes)) packet += (uint32_t)c->gpu->xbar_mask; // which bytes
    if (!c->gpu->xbar_join || s->head_order)
        send(s, r, when, packet);
    else
        send_store(s, &r, when, packet);
}

// An atomic that compares and swaps. One that only says whether it did (CAST, of loops around it) swaps for
// one lane of a word, and the others are told no at once: they do not wait for each other.
enum { SWAP_UNKNOWN, SWAP_NOT, SWAP, SWAP_OR_NOT };
static int swap_of(const sm *s, uint32_t inst, const orr_tinst *i) {
    uint8_t *known = &s->worker->memo[inst].swap;
    if (*known == SWAP_UNKNOWN) {
        const char *name = strstr(s->c->program->names[i->name], ".CAS");
        *known = !name ? SWAP_NOT : name[4] == 'T' ? SWAP_OR_NOT : SWAP;
    }
    return *known;
}

// A sum of floating-point numbers takes the slice longer than others.
static bool float_sum(const sm *s, uint32_t inst, const orr_tinst *i) {
    uint8_t *known = &s->worker->memo[inst].sum;
    if (!*known) {
        const char *name = s->c->program->names[i->name];
        *known = strstr(name, ".ADD") && (strstr(name, ".F32") || strstr(name, ".F64") ||
                                          strstr(name, ".F16") || strstr(name, ".BF16"))
                     ? 2
                     : 1;
    }
    return *known == 2;
}

static uint32_t lanes_in(const orr_access *a, uint64_t line) {
    uint32_t n = 0;
    for (uint32_t m = a->mask; m; m &= m - 1) n += a->addr[orr_ffs(m)] / ORR_LINE == line;
    return n ? n : 1;
}

static void atomic_request(sm *s, const work *k, uint64_t line, uint8_t sectors, uint32_t quarters, bool slow,
                           uint64_t when) {
    bool answered = k->i->flags & ORR_TF_LOAD;
    count(s, k->local, ORR_L1_ATOMIC, (uint32_t)orr_popc(sectors), 0, 0);
    orr_request r = {.line = line, .sectors = sectors, .slow = slow};
    r.ops = (uint8_t)(quarters / 4 > 255 ? 255 : quarters / 4);
    r.quarters = quarters % 4;
    r.kind = answered ? ORR_REQ_ATOMIC : ORR_REQ_REDUCE;
    if (answered) r.token = new_miss(s, line, sectors, k->flight, ORR_NO_LINE);
    if (!answered && s->c->tells) {
        warp *w = warp_of(s, k->warp);
        r.told = true;
        r.token = told_token(w);
        w->reducing++;
    }
    send(s, r, when, 8 + 32 * (uint32_t)orr_popc(sectors) + (uint32_t)s->c->gpu->xbar_mask);
}

// Where lanes on different words of a sector are done together (l2.atomic_words), those on one word are sent
// one after the other, each in a request of its own: with 32 lanes on a word the profiler counts 32 sectors,
// and as many lookups in L2. A slice takes a cycle for a sector, a quarter more for one of which not all is
// wanted; for a compare and swap one for four lanes at least, which have two operands each; for a sum of
// doubles two (H200: micro/contention).
typedef struct atomic_pass {
    uint32_t bytes[4]; // of each sector
    uint32_t lanes[4];
    uint8_t sectors;
} atomic_pass;

static uint32_t split_atomic(const orr_access *a, uint32_t width, uint64_t line, atomic_pass *pass) {
    uint8_t seen[32] = {0};
    uint32_t n = 0;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t addr = a->addr[orr_ffs(m)];
        if (addr / ORR_LINE != line) continue;
        uint32_t rank = seen[addr % ORR_LINE / 4]++, k = (uint32_t)(addr % ORR_LINE / ORR_SECTOR);
        if (rank == n) pass[n++] = (atomic_pass){{0}, {0}, 0};
        pass[rank].bytes[k] += width;
        pass[rank].lanes[k]++;
        pass[rank].sectors |= (uint8_t)(1 << k);
    }
    return n;
}

static bool atomic_line(sm *s, const work *k, uint64_t line, uint8_t sectors, uint64_t when) {
    const cycle *c = s->c;
    bool answered = k->i->flags & ORR_TF_LOAD;
    atomic_pass pass[32];
    uint32_t n = c->gpu->l2_atomic_words ? split_atomic(&s->head_access, k->i->bytes, line, pass) : 0;
    if (answered && s->open_misses && s->open_misses + n > (uint32_t)c->gpu->l1_misses) return false;
    uint32_t at = orr_cache_find(&s->l1, line); // what L1 has of it is old now
    if (at != ORR_NO_LINE) s->l1.line[at].valid &= (uint8_t)~sectors;
    if (!n) {
        atomic_request(s, k, line, sectors, 4 * lanes_in(&s->head_access, line), false, when);
        return true;
    }
    bool swap = swap_of(s, k->inst, k->i) != SWAP_NOT, sum = float_sum(s, k->inst, k->i);
    for (uint32_t p = 0; p < n; p++) {
        uint32_t quarters = 0;
        for (int q = 0; q < 4; q++) {
            if (!(pass[p].sectors >> q & 1)) continue;
            uint32_t takes = pass[p].bytes[q] < ORR_SECTOR ? 5 : 4;
            if (swap && pass[p].lanes[q] * k->i->bytes / 4 > takes)
                takes = pass[p].lanes[q] * k->i->bytes / 4;
            if (sum && k->i->bytes == 8) takes = 8;
            quarters += takes;
        }
        atomic_request(s, k, line, pass[p].sectors, quarters, sum, when);
    }
    return true;
}

// ---- an instruction at the head of the queue
// ------------------------------------------------------------------------- How long L1 is busy with it
// where its banks are those of shared memory (l1.words): the words on the busiest bank, and l1.banks lines
// looked up a cycle.
static uint32_t l1_word_cycles(sm *s, const orr_coalesced *x, const orr_tinst *i, bool local) {
    uint32_t banks = s->c->lsu_banks, tags = (x->lines + banks - 1) / banks, least = 1, most;
    if (i->flags & ORR_TF_STORE) least = (uint32_t)s->c->gpu->l1_store;
    uint32_t lanes = (uint32_t)orr_popc(s->head_access.mask), packed = (lanes * i->bytes + 127) / 128;
    if (local || x->lines <= packed)
        most = local ? x->lines : packed; // side by side
    else
        most = orr_bank_conflicts(&s->head_access, i->bytes,
                                  i->flags & ORR_TF_LOAD ? ORR_BANKS_LOAD : ORR_BANKS_STORE)
                   .passes;
    if (most > packed) s->n.l1_conflicts += most - packed;
    if (most < tags) most = tags;
    return most > least ? most : least;
}

// The same with banks of sectors: the most sectors that fall on one, and what the way to the registers takes.
static uint32_t l1_cycles(sm *s, const orr_coalesced *x) {
    const cycle *c = s->c;
    uint32_t on[64] = {0}, most = 1, banks = c->lsu_banks;
    if (x->sectors > banks || x->lines > 1) {
        for (uint32_t n = 0; n < x->lines; n++)
            for (uint32_t m = x->line[n].sectors; m; m &= m - 1) {
                uint32_t b = ++on[(x->line[n].line * 4 + (uint32_t)orr_ffs(m)) % banks];
                if (b > most) most = b;
            }
        s->n.l1_conflicts += most - (x->sectors + banks - 1) / banks;
    }
    uint32_t way = (x->sectors * ORR_SECTOR + c->l1_cycle_bytes - 1) / c->l1_cycle_bytes;
    return most > way ? most : way;
}

// Goes on with the head's lines, from `now` on. False: L1 is full.
static bool head_lines(sm *s, const work *k) {
    cycle *c = s->c;
    orr_coalesced *x = &s->head;
    uint64_t when = s->lsu_busy_from + c->l1_latency;
    for (; s->head_line < x->lines; s->head_line++) {
        orr_line_access l = x->line[s->head_line];
        if (k->local) l.line += LOCAL_LINES + s->head_local;
        uint64_t t = when + s->head_line * s->head_cost / x->lines,
                 missed = s->head_missed * c->miss_interval;
        if (t < when + missed) t = when + missed;
        if (c->perfect) {
            count(s, k->local, kind_of(k->i), (uint32_t)orr_popc(l.sectors), (uint32_t)orr_popc(l.sectors),
                  0);
        } else if (k->i->flags & ORR_TF_ATOMIC) {
            if (!atomic_line(s, k, l.line, l.sectors, t)) return false;
        } else if (k->i->flags & ORR_TF_STORE) {
            uint64_t bytes[2] = {0, 0};
            if (k->local)
                for (int n = 0; n < 4; n++)
                    bytes[n / 2] |= l.sectors >> n & 1 ? 0xffffffffull << (n % 2 * 32) : 0;
            else
                written(&s->head_access, k->i->bytes, l.line, bytes);
            store_line(s, k, l.line, l.sectors, bytes, t);
        } else if (!load_line(s, k, l.line, l.sectors, t)) {
            return false;
        }
    }
    if (s->head_missed * c->miss_interval > s->head_cost)
        s->lsu_free += s->head_missed * c->miss_interval - s->head_cost;
    if (k->flight == NOBODY && !c->perfect) {
        warp *w = warp_of(s, k->warp);
        uint64_t heard = (s->sent + c->reply_ticks) / ORR_TICKS;
        if (w->stored < heard) w->stored = heard;
    }
    return true;
}

static void begin(sm *s, uint64_t t, uint32_t cost) {
    uint64_t start = t > s->lsu_free ? t : s->lsu_free;
    s->lsu_busy_from = start;
    s->lsu_free = start + cost;
    s->head_cost = cost;
}

// The space a generic access goes to, by the first lane; its addresses are made those of that space.
static uint8_t resolve(orr_access *a, uint8_t space) {
    if (space != ORR_SPACE_GENERIC || !a->mask) return space;
    uint64_t at = a->addr[orr_ffs(a->mask)], window;
    if (at - ORR_SHARED_WINDOW < ORR_WINDOW_BYTES) {
        space = ORR_SPACE_SHARED;
        window = ORR_SHARED_WINDOW;
    } else if (at - ORR_LOCAL_WINDOW < ORR_WINDOW_BYTES) {
        space = ORR_SPACE_LOCAL;
        window = ORR_LOCAL_WINDOW;
    } else if (at - ORR_PARAM_WINDOW < ORR_WINDOW_BYTES) {
        return ORR_SPACE_CONST;
    } else {
        return ORR_SPACE_GLOBAL;
    }
    for (uint32_t m = a->mask; m; m &= m - 1) a->addr[orr_ffs(m)] -= window;
    return space;
}

// Passes through the banks. Warps that run the same code tend to have the same pattern: then the bytes of the
// trace say so.
static orr_banked banks(sm *s, uint32_t inst, const orr_tinst *i, const queued *q, orr_access *a,
                        bool decoded) {
    struct bank_memo *m = &s->worker->memo[inst];
    size_t left = (size_t)(q->trace.end - q->trace.at);
    if (m->n && m->mask == q->trace.mask && m->n <= left && memcmp(m->bytes, q->trace.at, m->n) == 0)
        return m->banked;
    orr_trace t = q->trace;
    if (!decoded && !orr_trace_access(&t, a)) {
        s->damaged = true;
        return (orr_banked){0, 0, 0};
    }
    int kind = kind_of(i);
    bool once = kind == ORR_L1_ATOMIC && s->c->gpu->shared_swap > 1 && swap_of(s, inst, i) == SWAP_OR_NOT;
    orr_banked r = orr_bank_conflicts(a, i->bytes,
                                      once                    ? ORR_BANKS_STORE
                                      : kind == ORR_L1_ATOMIC ? ORR_BANKS_ATOMIC
                                      : kind == ORR_L1_STORE  ? ORR_BANKS_STORE
                                                              : ORR_BANKS_LOAD);
    size_t n = (size_t)(t.at - q->trace.at);
    m->n = 0;
    if (!decoded && n <= sizeof m->bytes) {
        m->n = (uint8_t)n;
        m->mask = q->trace.mask;
        m->banked = r;
        memcpy(m->bytes, q->trace.at, n);
    }
    return r;
}

// What a store writes comes from its sub-core's queue again for each pass, in two cycles: with conflicts a
// sub-core alone is half as fast as two (H200: micro/scheduler, queue_shared: 64 cycles for 32 passes of one
// warp, 128 for those of four).
static void shared(sm *s, const queued *q, const orr_tinst *i, orr_banked b, uint64_t t) {
    cycle *c = s->c;
    int kind = kind_of(i);
    uint32_t passes = b.passes ? b.passes : 1;
    s->n.shared_requests[kind] += b.passes != 0;
    s->n.shared_passes[kind] += b.passes;
    s->n.shared_conflicts[kind] += b.conflicts;
    uint32_t each = c->pass_cycles;
    if (kind == ORR_L1_ATOMIC && c->gpu->shared_swap > 1 && swap_of(s, q->inst, i) >= SWAP)
        each *= (uint32_t)c->gpu->shared_swap;
    passes *= each;
    s->n.shared_busy += passes;
    begin(s, t, passes);
    if (q->flight == NOBODY) {
        warp *w = warp_of(s, q->warp);
        w->passed = s->lsu_free;
        if (!c->gpu->lsu_own_queues || !b.conflicts) return;
        uint64_t *way = &s->lsu_way[w->sched / c->lsu_scheds];
        s->lsu_left = *way > s->lsu_busy_from ? *way : s->lsu_busy_from;
        *way = s->lsu_left + 2 * passes;
        if (w->passed < *way) w->passed = *way;
        return;
    }
    if (kind == ORR_L1_ATOMIC) passes += (uint32_t)c->gpu->shared_atomic * (each / c->pass_cycles);
    s->flights.at[q->flight].floor = s->lsu_busy_from + passes - each + c->shared_latency;
    land(s, q->flight, 0);
}

// How many different words the lanes want.
static uint32_t words_of(const orr_access *a, uint32_t bytes) {
    uint64_t words[32];
    uint32_t n = 0;
    bytes = bytes > 4 ? bytes : 4;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t word = a->addr[orr_ffs(m)] / bytes;
        uint32_t k = 0;
        while (k < n && words[k] != word) k++;
        if (k == n) words[n++] = word;
    }
    return n ? n : 1;
}

// Works the instruction off at `t`; false: it is now the half-done head.
static bool work_off(sm *s, queued *q, uint64_t t) {
    cycle *c = s->c;
    const orr_tinst *i = &c->program->insts[q->inst];
    work k = {i, q->inst, q->warp, q->flight, false};
    if (i->space == ORR_SPACE_SHARED) {
        shared(s, q, i, banks(s, q->inst, i, q, &s->head_access, false), t);
        return true;
    }
    orr_access *a = &s->head_access;
    orr_trace trace = q->trace;
    if (!orr_trace_access(&trace, a)) {
        s->damaged = true;
        return true;
    }
    uint8_t space = resolve(a, i->space);
    if (i->offset)
        for (uint32_t m = a->mask; m; m &= m - 1) a->addr[orr_ffs(m)] += i->offset;
    if (space == ORR_SPACE_SHARED) {
        shared(s, q, i, banks(s, q->inst, i, q, a, true), t);
        return true;
    }
    if (!a->mask || space == ORR_SPACE_CONST) {
        uint32_t words = words_of(a, i->bytes), each = (uint32_t)c->gpu->const_interval;
        s->n.const_requests += words;
        begin(s, t, 1);
        if (s->lsu_busy_from < s->const_free) s->lsu_busy_from = s->const_free; // it waits in the queue
        uint32_t missed = 0;
        uint64_t latency =
            a->mask ? cyc_constants_load(&s->constants, c, a, &s->n, &missed) : c->const_latency;
        s->const_free = s->lsu_busy_from + words * each + missed * c->const_miss / ORR_TICKS;
        if (q->flight == NOBODY) return true;
        uint32_t more = (uint32_t)c->gpu->const_word_latency; // a word, and the next one behind it
        if (more < each) more = each;
        s->flights.at[q->flight].floor = s->const_free - words * each -
                                         (missed ? c->const_miss / ORR_TICKS : 0) + (words - 1) * more +
                                         latency;
        land(s, q->flight, 0);
        return true;
    }
    k.local = s->head_is_local = space == ORR_SPACE_LOCAL;
    s->head_order = c->order && !k.local && !c->perfect ? cyc_order_kind(c->order, i->inst) : 0;
    s->head_warp = (uint16_t)q->warp;
    if (s->head_order & ORDER_WAITS) {
        warp *w = warp_of(s, q->warp);
        s->head_needs = s->blocks[w->block].buf->needs + w->need;
        w->need += (uint32_t)orr_popc(a->mask);
    } else {
        s->head_needs = NULL;
    }
    if (k.local) {
        orr_coalesce_local(a, i->bytes, &s->head);
        s->head_local = ((uint64_t)s->id * 4096 + q->warp) << 18;
    } else {
        enum orr_coalescing how =
            i->flags & ORR_TF_ATOMIC ? ORR_WHOLE_WARP : (enum orr_coalescing)c->coalesce;
        orr_coalesce(a, i->bytes, how, &s->head);
    }
    uint32_t cost = c->gpu->l1_words ? l1_word_cycles(s, &s->head, i, k.local) : l1_cycles(s, &s->head);
    if (i->flags & ORR_TF_ASYNC) { // and into shared memory
        uint32_t more = ((uint32_t)orr_popc(a->mask) * i->bytes + 127) / 128;
        cost += more;
    }
    s->n.l1_requests[k.local][kind_of(i)]++;
    s->n.l1_tags += s->head.lines;
    s->n.l1_busy += cost;
    begin(s, t, cost);
    s->head_line = s->head_missed = 0;
    if (k.flight != NOBODY) {
        s->flights.at[k.flight].floor = s->lsu_busy_from + cost - 1 + c->l1_latency;
        s->flights.at[k.flight].open++; // until all lines have been looked up
    }
    if (!head_lines(s, &k)) return false;
    s->head_order = 0;
    if (k.flight != NOBODY && !--s->flights.at[k.flight].open) land(s, k.flight, 0);
    return true;
}

// When queue `of` has room: the instruction that has the oldest of its places has begun.
static uint64_t room_of(const sm *s, uint32_t of) {
    uint32_t size = s->c->lsu_places;
    return s->starts[of * size + s->nstarts[of] % size];
}

static void started(sm *s, uint32_t place) {
    uint32_t of = place / s->c->lsu_places;
    s->starts[place] = s->lsu_left > s->lsu_busy_from ? s->lsu_left : s->lsu_busy_from;
    s->lsu_left = 0;
    uint64_t room = room_of(s, of);
    if (room < s->lsu_room[of])
        for (uint32_t n = 0; n < s->c->nsched; n++)
            if (s->sched[n].wake > s->now) s->sched[n].wake = s->now; // somebody may issue now
    s->lsu_room[of] = room;
}

// When the registers of the instruction that has begun have been read: others may write them then, and not
// before does its warp end.
static uint64_t read_at(const sm *s, const orr_tinst *i) {
    const orr_gpu *g = s->c->gpu;
    bool stores = i->flags & (ORR_TF_STORE | ORR_TF_ATOMIC);
    bool near = i->space == ORR_SPACE_SHARED || i->space == ORR_SPACE_LOCAL || i->space == ORR_SPACE_CONST;
    int64_t cycles = stores ? g->lsu_read_store : g->lsu_read_load;
    if (stores && i->bytes > 4) cycles += (i->bytes / 4 - 1) * g->lsu_read_word;
    if (near) cycles -= g->lsu_read_word; // an address is one word there, not two
    return s->lsu_busy_from + (uint64_t)(cycles > 1 ? cycles : 1);
}

void cyc_lsu_issue(sm *s, warp *w, const orr_tinst *i, uint32_t inst, const orr_trace *access,
                   uint64_t late) {
    uint32_t of = w->sched / s->c->lsu_scheds, size = s->c->lsu_places;
    uint32_t place = of * size + s->nstarts[of]++ % size;
    queued q = {.trace = *access, .warp = warp_id(w), .inst = inst, .place = place, .flight = NOBODY};
    bool answered = (i->flags & ORR_TF_LOAD) != 0;
    if (answered) {
        q.flight = new_flight(s, w, inst);
        if (i->flags & ORR_TF_ASYNC) {
            s->flights.at[q.flight].group = (uint8_t)(w->group % MAX_GROUPS);
            w->group_open[w->group % MAX_GROUPS]++;
        }
        bool near = i->space == ORR_SPACE_SHARED || i->space == ORR_SPACE_CONST;
        cyc_warp_expect(s, w, i, near ? ORR_STALL_SHORT : ORR_STALL_LONG);
    }
    s->starts[place] = NEVER;
    s->lsu_room[of] = room_of(s, of);
    bool waits = s->queue_n != 0;
    if (!waits && !work_off(s, &q, s->now + late)) waits = s->head_busy = true;
    if (waits) {
        if (!s->queue_n) s->full_since = s->now;
        s->queue[(s->queue_first + s->queue_n++) % s->c->lsu_all] = q;
        cyc_warp_will_read(s, w, i);
    } else {
        started(s, place);
        uint64_t read = read_at(s, i);
        cyc_warp_reads(s, w, i, read);
        if (!answered) w->leaves = read + (uint64_t)s->c->gpu->lsu_drain;
    }
}

// ---- answers
// -----------------------------------------------------------------------------------------------------------
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

static void go_on(sm *s) {
    uint64_t since = s->now;
    while (s->queue_n && !s->damaged) {
        queued *q = &s->queue[s->queue_first];
        uint32_t place = q->place;
        if (s->head_busy) {
            const orr_tinst *i = &s->c->program->insts[q->inst];
            work k = {i, q->inst, q->warp, q->flight, s->head_is_local};
            if (s->lsu_busy_from < since) s->lsu_busy_from = since;
            if (s->lsu_free < since + 1) s->lsu_free = since + 1;
            if (k.flight != NOBODY) { // it looks again
                flight *f = &s->flights.at[k.flight];
                if (f->floor < s->lsu_busy_from + s->c->l1_latency)
                    f->floor = s->lsu_busy_from + s->c->l1_latency;
            }
            if (!head_lines(s, &k)) return;
            s->head_order = 0;
            if (k.flight != NOBODY && !--s->flights.at[k.flight].open) land(s, k.flight, 0);
        } else if (!work_off(s, q, since)) {
            s->head_busy = true;
            return;
        }
        s->head_busy = false;
        uint32_t w = q->warp, inst = q->inst;
        s->queue_first = (s->queue_first + 1) % s->c->lsu_all;
        s->queue_n--;
        started(s, place);
        const orr_tinst *i = &s->c->program->insts[inst];
        cyc_warp_has_read(s, warp_of(s, w), i, read_at(s, i));
    }
}

void cyc_lsu_answer(sm *s, const arrival *a) {
    if (a->token & TOLD) {
        cyc_warp_told(s, a->token, (a->time + ORR_TICKS - 1) / ORR_TICKS);
        return;
    }
    uint64_t t = a->time > s->receive_free ? a->time : s->receive_free;
    uint32_t bytes = 8 + 32 * (uint32_t)orr_popc(a->sectors);
    s->receive_free = t + bytes * s->reply_byte;
    s->n.received_bytes += bytes;
    // l2.latency has the passing of one sector in it; further ones take their time
    uint64_t ready = (s->receive_free - 40 * s->reply_byte + ORR_TICKS - 1) / ORR_TICKS;
    miss m = s->misses.at[a->token];
    if (m.fills != ORR_NO_LINE) filled(s, &m, a->token, m.sectors);
    give_miss(s, a->token);
    s->open_misses--;
    for (uint32_t n = m.waiters; n != NOBODY;) {
        node x = s->nodes.at[n];
        give_node(s, n);
        if (!--s->flights.at[x.flight].open)
            land(s, x.flight, ready);
        else if (s->flights.at[x.flight].floor < ready)
            s->flights.at[x.flight].floor = ready;
        n = x.next;
    }
    if (s->queue_n) {
        s->n.l1_full += s->now - s->full_since;
        s->full_since = s->now;
        go_on(s);
    }
}

// The SMs of a TPC share a port from the network (xbar.tpc_reply): each has what the others left of it in the
// window before, at least an equal share, and not more than its own port takes.
void cyc_lsu_share(cycle *c) {
    double own = c->gpu->xbar_reply, tpc = c->gpu->xbar_tpc_reply;
    uint32_t each =
        c->gpu->tpc_count > 0 ? (c->nsms + (uint32_t)c->gpu->tpc_count - 1) / (uint32_t)c->gpu->tpc_count : 1;
    if (tpc <= 0 || each < 2) return;
    double cycles = (double)c->window * (c->gpu->clock_l2 > 0 ? c->gpu->clock_l2 / c->gpu->clock_sm : 1);
    for (uint32_t first = 0; first < c->nsms; first += each) {
        uint32_t end = first + each < c->nsms ? first + each : c->nsms;
        uint64_t all = 0;
        for (uint32_t n = first; n < end; n++) all += c->sms[n].n.received_bytes - c->sms[n].received;
        for (uint32_t n = first; n < end; n++) {
            sm *s = &c->sms[n];
            uint64_t mine = s->n.received_bytes - s->received;
            double rate = tpc - (double)(all - mine) / cycles;
            if (rate < tpc / each) rate = tpc / each;
            s->reply_byte = rate < own ? (uint64_t)((double)c->reply_byte * own / rate) : c->reply_byte;
        }
        for (uint32_t n = first; n < end; n++) c->sms[n].received = c->sms[n].n.received_bytes;
    }
}

void cyc_lsu_start(sm *s, uint64_t l1_bytes, bool flush) {
    memset(s->written, 0, sizeof s->written);
    const orr_gpu *g = s->c->gpu;
    s->reply_byte = s->c->reply_byte;
    s->received = 0;
    if (l1_bytes < ORR_LINE)
        l1_bytes = ORR_LINE; // all of it is shared memory: what passes through has a place
    if (s->l1_bytes != l1_bytes) {
        // The sets stay, the ways follow what shared memory leaves.
        uint64_t sets = g->l1_ways ? (uint64_t)g->l1_size / ORR_LINE / (uint64_t)g->l1_ways : 1;
        uint64_t ways = l1_bytes / ORR_LINE / (sets ? sets : 1);
        if (s->l1_bytes) orr_cache_free(&s->l1);
        orr_cache_init(&s->l1, l1_bytes, ORR_LINE, (uint32_t)(ways ? ways : 1), g->l1_hashed, false);
        s->l1_bytes = l1_bytes;
    } else if (flush) {
        orr_cache_flush(&s->l1);
    }
}
