// An SM's port to the network: what leaves it, in which order and when, and what it has of the way back.
//
// A packet takes its bytes' time at the port. Stores wait in a buffer of `xbar.stores` lines in front of it,
// where later stores to the same line join them; a port that is far behind, or a slice that is, holds up L1.
#include "model/cycle/lsu.h"

#include <stdlib.h>
#include <string.h>

// The words of the access at hand that lie in the request's line, for order.c.
static void note_order(sm *s, orr_request *r) {
    const orr_access *a = &s->head_access;
    uint32_t k = 0;
    for (uint32_t m = s->head_lanes; m; m &= m - 1, k++) {
        uint64_t addr = a->addr[orr_ffs(m)];
        if (addr / ORR_LINE != r->line) continue;
        *ORR_PUSH(&s->needs) = (orr_need){addr / 4, s->head_needs ? s->head_needs[k] : 0, s->head_warp,
                                          s->head_order, warp_of(s, s->head_warp)->block};
        if (!r->norder++) r->order = (uint32_t)s->needs.n;
    }
}

// It goes on when its address is translated. That nobody has asked for is found out between two windows.
static void translate(sm *s, orr_request *r) {
    uint64_t ready = orr_tlb_ready(s->c->tlb, r->line);
    if (ready == ORR_TLB_NEW)
        r->cold = s->cold = true;
    else if (r->time < ready + s->c->request_ticks)
        r->time = ready + s->c->request_ticks;
}

typedef struct cold { // a request that begins a walk, or waits for one
    orr_request *r;
    uint32_t order;
} cold;

static int by_time(const void *a, const void *b) {
    const cold *x = a, *y = b;
    if (x->r->time != y->r->time) return x->r->time < y->r->time ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

void cyc_port_walk(cycle *c) {
    ORR_VEC(cold) all = {0};
    for (uint32_t n = 0; n < c->nsms; n++) {
        sm *s = &c->sms[n];
        for (size_t i = 0; s->cold && i < s->out.n; i++)
            if (s->out.at[i].cold) *ORR_PUSH(&all) = (cold){&s->out.at[i], (uint32_t)all.n};
        s->cold = false;
    }
    if (all.n > 1) qsort(all.at, all.n, sizeof *all.at, by_time);
    for (size_t i = 0; i < all.n; i++) {
        orr_request *r = all.at[i].r;
        uint64_t ready = orr_tlb_walk(c->tlb, r->line, r->time - c->request_ticks) + c->request_ticks;
        if (r->time < ready) r->time = ready;
        r->cold = false;
    }
    free(all.at);
}

static bool in_part(uint8_t sectors, const uint64_t bytes[2]) { // is one of the sectors not stored whole?
    for (int k = 0; k < 4; k++)
        if (sectors >> k & 1 && (uint32_t)(bytes[k / 2] >> k % 2 * 32) != UINT32_MAX) return true;
    return false;
}

// Whether it is a store of part of a sector of which only so many can be on their way (xbar.parts); these do
// not wait here for a slice that is behind.
bool cyc_port_counts(const sm *s, uint8_t sectors, const uint64_t bytes[2]) {
    return s->c->gpu->xbar_parts && !s->c->outside && in_part(sectors, bytes);
}

// Stores that wait at the port are joined by those that follow to the same line (xbar.join).
static uint32_t *store_place(sm *s, uint64_t line) { return &s->stores[line * 0x9e3779b97f4a7c15u >> 56]; }

static void leave_now(orr_request *r, uint64_t now) { // it does not wait for others to join it any more
    if (!r->open || r->time <= now) return;
    r->time = r->time - r->open > now ? r->time - r->open : now;
    r->open = 0;
}

// A load goes by: of the stores that wait to be joined those leave that were an instruction's only line
// (xbar.load_closes).
static void close_single(sm *s, uint64_t now) {
    for (size_t i = s->single - 1; i < s->out.n; i++) {
        orr_request *r = &s->out.at[i];
        if (!r->single) continue;
        uint32_t *place = store_place(s, r->line);
        if (*place == i + 1) *place = 0; // nobody joins it any more
        leave_now(r, now);
    }
    s->single = 0;
}

// The slice that a store comes to first: that of its line in the own half.
static uint32_t slice_of_store(const cycle *c, const orr_request *r) {
    return r->partition * c->store_halves + (c->store_halves > 1 ? orr_half_of_sm(r->sm, c->gpcs) : 0);
}

// A packet of `bytes` leaves at `when` at the earliest; requests to a slice that is far behind wait at the
// SM's port, and with them all that come after. How far behind is an estimate of the window before, so none
// waits longer than a window.
void cyc_port_send(sm *s, orr_request r, uint64_t when, uint32_t bytes) {
    cycle *c = s->c;
    if (s->head_order) note_order(s, &r);
    if (s->head_strong && r.live) r.order = 1; // it waits for no stores
    uint64_t t = when * ORR_TICKS;
    if (t < s->send_free) t = s->send_free;
    r.sm = s->id;
    r.partition = (uint32_t)orr_memsys_partition_of(c->mem, r.line);
    uint64_t behind = c->mem_free[r.partition];
    if (c->all_ticks[0][0] && r.kind == ORR_REQ_WRITE) {
        uint64_t passes = c->cluster_free[slice_of_store(c, &r) * c->ngpcs * MAX_CLUSTERS + s->cluster];
        if (behind < passes) behind = passes;
    }
    bool part = r.kind == ORR_REQ_WRITE && cyc_port_counts(s, r.sectors, r.bytes);
    if (behind > t + c->backlog_ticks && !part) {
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
    if (r.from == ORR_FROM_GLOBAL) translate(s, &r);
    s->sent = r.time;
    if (r.kind >= ORR_REQ_ATOMIC) s->atomic_line = r.line + 1;
    r.behind = r.kind == ORR_REQ_READ && s->atomic_line == r.line + 1;
    if (r.behind) s->atomic_line = 0;
    if (r.told) {
        s->parts_out++;
    } else if (part || ((r.kind == ORR_REQ_WRITE || r.kind == ORR_REQ_REDUCE) && counts_stores(c))) {
        r.told = true;
        uint32_t epoch = cyc_fence_epoch(s);
        r.token = STORED | epoch | (part ? 2u : 0);
        s->parts_out += part;
        s->storing[epoch]++;
    }
    if (r.kind != ORR_REQ_READ && c->far_ticks && c->gpu->l2_copies) { // it is done where it belongs
        if (behind > s->sent && r.kind == ORR_REQ_WRITE) s->sent = behind;
        if (orr_memsys_side_of(c->mem, r.line) != (int)orr_half_of_sm(s->id, c->gpcs))
            s->sent += c->far_ticks;
    }
    if (r.kind == ORR_REQ_READ && s->single) close_single(s, when * ORR_TICKS + c->request_ticks);
    *ORR_PUSH(&s->out) = r;
    // a port that is behind holds up L1
    uint64_t held = s->send_free / ORR_TICKS;
    if (held > when + c->send_ahead && s->lsu_free < held - c->l1_latency - c->send_ahead / 2 &&
        held > c->l1_latency + c->send_ahead)
        s->lsu_free = held - c->l1_latency - c->send_ahead / 2;
}

#define OPEN_LINES 8 // H200: up to so many lines it was measured how long they stay

static bool join_store(sm *s, const orr_request *r, uint64_t t, uint64_t open) {
    uint32_t at = *store_place(s, r->line);
    if (!at || at > s->out.n) return false;
    orr_request *before = &s->out.at[at - 1];
    if (before->line != r->line || before->kind != ORR_REQ_WRITE || before->order) return false;
    if (before->time < t + s->c->request_ticks) return false; // it has left
    uint64_t until = t + open + s->c->request_ticks;
    if (open && before->time < until) {
        before->open += (uint32_t)(until - before->time);
        before->time = until;
    }
    uint32_t more = 32 * (uint32_t)orr_popc(r->sectors & ~before->sectors);
    before->sectors |= r->sectors;
    before->bytes[0] |= r->bytes[0];
    before->bytes[1] |= r->bytes[1];
    if (r->live) cyc_step_join(s, r->live, before->live);
    s->send_free += more * s->c->request_byte;
    s->n.sent_bytes += more;
    return true;
}

// A fence does not wait for others to come: what is open leaves.
void cyc_port_close(sm *s) {
    uint64_t now = s->now * ORR_TICKS + s->c->request_ticks;
    for (size_t i = 0; i < s->out.n; i++) leave_now(&s->out.at[i], now);
}

// The oldest of the lines that wait makes way for another one: it leaves as soon as the port allows. When?
static uint64_t make_way(sm *s, uint64_t t) {
    uint64_t left = s->left[s->next_left].time, line = s->left[s->next_left].line;
    uint32_t *place = store_place(s, line), at = *place;
    orr_request *r = at && at <= s->out.n ? &s->out.at[at - 1] : NULL;
    uint64_t from = left + s->c->request_ticks, now = t + s->c->request_ticks;
    if (!r || r->line != line || !r->open || r->time - r->open != from || r->time < now) return left;
    *place = 0; // nobody joins it any more
    r->time = from > now ? from : now;
    r->open = 0;
    return r->time - s->c->request_ticks;
}

// Stores of part of a sector that find xbar.parts of them on their way wait, in as many places as there are
// for lines in front of the port (xbar.stores), and are joined there by others to their lines; when L2 has
// done one, the oldest leaves.
static struct held_store *held_of(sm *s, uint64_t line) {
    for (uint32_t n = s->held_n; n--;) {
        struct held_store *h = &s->held[(s->held_first + n) % 256];
        if (h->r.line == line) return h;
    }
    return NULL;
}

static bool parts_full(const sm *s) { return s->parts_out >= (uint32_t)s->c->gpu->xbar_parts; }

bool cyc_port_room(sm *s, uint64_t line) {
    if (!parts_full(s)) return true;
    if (!s->c->gpu->xbar_join || s->head_order || s->head_strong) return false;
    return s->held_n < (uint32_t)s->c->gpu->xbar_stores || held_of(s, line);
}

void cyc_port_release(sm *s) {
    const struct held_store *h = &s->held[s->held_first];
    s->held_first = (s->held_first + 1) % 256;
    s->held_n--;
    cyc_port_send(s, h->r, s->now, h->packet);
}

static bool hold_store(sm *s, const orr_request *r, uint32_t packet) {
    struct held_store *h = s->held_n ? held_of(s, r->line) : NULL;
    if (h) {
        h->packet += 32 * (uint32_t)orr_popc(r->sectors & ~h->r.sectors);
        h->r.sectors |= r->sectors;
        h->r.bytes[0] |= r->bytes[0];
        h->r.bytes[1] |= r->bytes[1];
        if (r->live) cyc_step_join(s, r->live, h->r.live);
        return true;
    }
    if (!parts_full(s) || !cyc_port_counts(s, r->sectors, r->bytes)) return false;
    h = &s->held[(s->held_first + s->held_n++) % 256];
    *h = (struct held_store){.r = *r, .packet = packet};
    uint32_t epoch = cyc_fence_epoch(s);
    h->r.told = true;
    h->r.token = STORED | epoch | 2u;
    s->storing[epoch]++; // a fence waits for it
    return true;
}

// There is room for xbar.stores lines that wait. One after the other they go in, join one that is there, or
// wait for the oldest to leave; and L1 waits with them. `lines`: of the instruction. True: an earlier one to
// its line has not left, and is not joined.
bool cyc_port_store(sm *s, const orr_request *r, uint64_t when, uint32_t packet, uint32_t lines) {
    if (hold_store(s, r, packet)) return false;
    uint32_t room = (uint32_t)s->c->gpu->xbar_stores;
    uint64_t t = when * ORR_TICKS;
    uint64_t stays = s->c->open_ticks + (lines < OPEN_LINES ? lines : OPEN_LINES) * s->c->open_line_ticks;
    if (room && t < s->store_in) t = s->store_in;
    if (join_store(s, r, t, stays)) return false;
    struct leaving *before = &s->sending[r->line * 0x9e3779b97f4a7c15u >> 56];
    uint64_t out = (uint64_t)s->c->gpu->l1_store_out * ORR_TICKS;
    bool behind = before->line == r->line && before->time + out > when * ORR_TICKS;
    if (room) {
        uint64_t left = make_way(s, t);
        if (t < left) t = left;
    }
    cyc_port_send(s, *r, (t + ORR_TICKS - 1) / ORR_TICKS, packet);
    *store_place(s, r->line) = (uint32_t)s->out.n;
    if (lines == 1 && s->c->gpu->xbar_load_closes) {
        s->out.at[s->out.n - 1].single = true;
        if (!s->single) s->single = (uint32_t)s->out.n;
    }
    uint64_t left = s->send_free - packet * s->c->request_byte, open = t + stays;
    bool whole = (r->bytes[0] & r->bytes[1]) == UINT64_MAX;
    if (left < open && !whole) { // it stays for those that come soon after
        s->out.at[s->out.n - 1].time += open - left;
        s->out.at[s->out.n - 1].open = (uint32_t)(open - left);
    }
    *before = (struct leaving){left, r->line};
    if (!room) return behind;
    s->store_in = t;
    s->left[s->next_left] = *before;
    s->next_left = (s->next_left + 1) % room;
    uint64_t held = t / ORR_TICKS;
    if (held > s->c->l1_latency && s->lsu_free < held - s->c->l1_latency)
        s->lsu_free = held - s->c->l1_latency;
    return behind;
}

void cyc_port_handed_over(sm *s, uint64_t until) {
    size_t n = 0;
    memset(s->stores, 0, sizeof s->stores);
    for (size_t i = 0; i < s->out.n; i++) {
        if (!cyc_port_waits(&s->out.at[i], until)) continue;
        s->out.at[n++] = s->out.at[i];
        *store_place(s, s->out.at[n - 1].line) = (uint32_t)n;
    }
    s->out.n = n;
    s->single = n && s->c->gpu->xbar_load_closes;
}

// A slice's data take so long to a GPC: some slices are near, others further (l2.spread), evenly.
static uint64_t way_back(const cycle *c, uint32_t partition, uint32_t gpc) {
    if (!c->spread) return c->reply_ticks;
    uint64_t place = (partition * 64 + gpc + 1) * 0x9e3779b97f4a7c15u >> 32;
    return c->reply_ticks - c->spread / 2 + place % c->spread;
}

void cyc_port_answer(cycle *c, uint32_t partition, const orr_reply *r) {
    uint64_t way = r->sectors ? way_back(c, partition, orr_gpc_of_sm(r->sm, c->gpcs)) : c->reply_ticks;
    if (r->sectors) way += c->sms[r->sm].way;
    cyc_sm_arrive(&c->sms[r->sm], r->time + way, r->token, r->sectors);
}

void cyc_timed_free(timed_list *t) {
    free(t->all.at);
    free(t->scratch.at);
}

static const orr_timed *sorted(timed_list *t) {
    if (t->scratch.cap < t->all.n) {
        t->scratch.cap = t->all.cap;
        t->scratch.at = orr_realloc(t->scratch.at, t->scratch.cap * sizeof *t->scratch.at);
    }
    return orr_sort_timed(t->all.at, t->scratch.at, t->all.n);
}

// The SMs of a GPC share a port from the network (xbar.gpc_reply): what comes to them passes it in the order
// of its time. Loads that met on their way to L2 have one answer, which is dealt out behind the port.
void cyc_port_gpc(cycle *c, uint32_t gpc, gpc_port *port, const orr_replies *replies, uint32_t partitions) {
    port->answers.all.n = 0;
    for (uint32_t p = 0; p < partitions; p++)
        for (size_t i = 0; i < replies[p].n; i++)
            if (orr_gpc_of_sm(replies[p].at[i].sm, c->gpcs) == gpc)
                *ORR_PUSH(&port->answers.all) = (orr_timed){replies[p].at[i].time, (uint32_t)i, p};
    const orr_timed *at = sorted(&port->answers);
    for (size_t i = 0; i < port->answers.all.n; i++) {
        orr_reply r = replies[at[i].slice].at[at[i].index];
        if (r.sectors) {
            if (r.time < port->free) r.time = port->free;
            if (!r.joined) port->free = r.time + c->gpc_ticks[orr_popc(r.sectors)];
        }
        cyc_port_answer(c, at[i].slice, &r);
    }
}

// What the SMs store passes on to the slices, those of a cluster of TPCs one after the other
// (xbar.cluster_stores). Each slice takes stores of the clusters in turn, its share of xbar.all_stores, so
// that an SM of a small cluster has more than one of a large cluster, and one whose lines are on busy slices
// less than others. Some clusters have more of it than others (xbar.cluster_spread). What does not pass
// before `until` waits.
//
// Whose turn it is: each cluster has a tag, the share of the slice that it has had; the one with the least
// of those that have something there is next. Who had nothing there does not catch up.
static uint64_t slice_time(const cycle *c, const orr_request *r) {
    return r->kind == ORR_REQ_WRITE ? c->all_ticks[in_part(r->sectors, r->bytes)][orr_popc(r->sectors)] : 0;
}

// What is not a store waits behind those of its cluster that its slice has not taken yet.
static bool may_follow(const orr_request *r) {
    return r->kind != ORR_REQ_WRITE && !r->order && r->partition != UINT32_MAX;
}

static const orr_timed *gather_keys(cycle *c, store_port *port, uint64_t until) {
    port->keys.all.n = 0;
    for (uint32_t n = 0; n < c->nsms; n++) {
        const sm *s = &c->sms[n];
        for (size_t i = 0; i < s->out.n; i++) {
            const orr_request *r = &s->out.at[i];
            if (!cyc_port_passes(c, r, until)) continue;
            *ORR_PUSH(&port->keys.all) = (orr_timed){r->time, (uint32_t)i, n};
            port->slices[slice_of_store(c, r)].stored = true;
            port->stored = true;
        }
    }
    for (uint32_t n = 0; n < c->nsms && (port->stored || port->waiting); n++) {
        const sm *s = &c->sms[n];
        for (size_t i = 0; i < s->out.n; i++) {
            const orr_request *r = &s->out.at[i];
            if (!may_follow(r)) continue;
            const slice_port *slice = &port->slices[slice_of_store(c, r)];
            if (slice->stored || slice->waiting)
                *ORR_PUSH(&port->keys.all) = (orr_timed){r->time, (uint32_t)i, n};
        }
    }
    return sorted(&port->keys);
}

static void collect_stores(cycle *c, store_port *port, uint64_t until) {
    const orr_timed *key = gather_keys(c, port, until);
    for (size_t i = 0; i < port->keys.all.n; i++) {
        sm *s = &c->sms[key[i].slice];
        orr_request r = s->out.at[key[i].index];
        slice_port *slice = &port->slices[slice_of_store(c, &r)];
        cluster_line *l = &slice->of[s->cluster];
        if (r.kind == ORR_REQ_WRITE) {
            uint64_t *own = &port->free[s->cluster];
            if (r.time < *own) r.time = *own;
            *own = r.time + c->cluster_ticks[in_part(r.sectors, r.bytes)][orr_popc(r.sectors)] *
                                c->cluster_share[s->cluster] / SHARE;
        } else {
            if (!l->at.n) continue;
            if (r.time < l->at.at[l->at.n - 1].time) r.time = l->at.at[l->at.n - 1].time;
            s->out.at[key[i].index].partition = UINT32_MAX; // it is here
        }
        *ORR_PUSH(&l->at) = r;
        l->ticks += slice_time(c, &r);
        slice->waiting++;
        port->waiting++;
    }
}

static uint64_t ready_at(const cluster_line *l) {
    return l->next == l->at.n ? UINT64_MAX : l->at.at[l->next].time;
}

// What one slice takes.
static void take_stores(cycle *c, store_port *port, slice_port *slice, uint64_t until, requests *to) {
    uint32_t *some = port->some;
    uint32_t n = c->ngpcs * MAX_CLUSTERS, nsome = 0;
    for (uint32_t k = 0; k < n; k++)
        if (slice->of[k].at.n) some[nsome++] = k;
    for (;;) {
        uint64_t soonest = UINT64_MAX;
        for (uint32_t i = 0; i < nsome; i++) {
            uint64_t at = ready_at(&slice->of[some[i]]);
            if (at < soonest) soonest = at;
        }
        uint64_t t = soonest > slice->free ? soonest : slice->free;
        if (soonest == UINT64_MAX || t >= until) break;
        cluster_line *l = NULL;
        uint32_t k = 0;
        for (uint32_t i = 0; i < nsome; i++) {
            cluster_line *o = &slice->of[some[i]];
            if (ready_at(o) > t) continue;
            if (o->tag < slice->tag) o->tag = slice->tag;
            if (!l || o->tag < l->tag) l = o, k = some[i];
        }
        if (!l) break; // the soonest is one of them
        orr_request *r = &l->at.at[l->next++];
        uint64_t ticks = slice_time(c, r);
        if (r->kind == ORR_REQ_WRITE && in_part(r->sectors, r->bytes)) slice->ticks = ticks;
        r->time = t;
        slice->free = t + ticks;
        l->ticks -= ticks;
        slice->tag = l->tag;
        l->tag += ticks * c->cluster_share[k];
        slice->waiting--;
        port->waiting--;
        *ORR_PUSH(&to[r->partition]) = *r;
    }
    for (uint32_t i = 0; i < nsome; i++) {
        cluster_line *l = &slice->of[some[i]];
        size_t left = l->at.n - l->next;
        if (l->next) memmove(l->at.at, l->at.at + l->next, left * sizeof *l->at.at);
        l->at.n = left;
        l->next = 0;
    }
}

// A slice that is behind, as one that waits for memory, takes stores of part of a sector when it has room:
// what it has not done of those that it took before counts as taken in this window. So clusters have their
// turns at its pace, whatever that is.
static void after_others(const cycle *c, slice_port *slice, uint32_t p, uint64_t until) {
    uint64_t has =
        slice->ticks * orr_memsys_stores_at(c->mem, (int)(p / c->store_halves), p % c->store_halves);
    if (!has || until == UINT64_MAX) return; // the end of a kernel
    uint64_t window = c->window * ORR_TICKS, from = until - window + (has < window ? has : window);
    if (slice->free < from) slice->free = from;
}

// When another store of each cluster would pass the slice: behind what waits of its own, and as much of each
// other one's, if that has as much. By how much of the slice they wait for, the least first.
static void tell_clusters(const cycle *c, store_port *port, const slice_port *slice, uint64_t *free) {
    uint32_t *some = port->some, n = c->ngpcs * MAX_CLUSTERS, nsome = 0;
    for (uint32_t k = 0; k < n; k++) {
        free[k] = slice->free;
        uint64_t ticks = slice->of[k].ticks;
        if (!ticks) continue;
        uint32_t i = nsome++;
        for (; i && slice->of[some[i - 1]].ticks > ticks; i--) some[i] = some[i - 1];
        some[i] = k;
    }
    uint64_t before = 0;
    for (uint32_t i = 0; i < nsome; i++) {
        uint64_t ticks = slice->of[some[i]].ticks;
        free[some[i]] += before + (nsome - i) * ticks;
        before += ticks;
    }
}

void cyc_port_stores(cycle *c, store_port *port, uint64_t until, requests *to) {
    port->stored = false;
    collect_stores(c, port, until);
    uint32_t n = c->ngpcs * MAX_CLUSTERS, slices = (uint32_t)orr_memsys_partitions(c->mem) * c->store_halves;
    for (uint32_t p = 0; p < slices; p++) {
        slice_port *slice = &port->slices[p];
        bool waited = slice->waiting > 0;
        slice->stored = false;
        if (waited) {
            after_others(c, slice, p, until);
            take_stores(c, port, slice, until, to);
        }
        if (!waited && !slice->told) continue;
        slice->told = slice->waiting > 0;
        tell_clusters(c, port, slice, &c->cluster_free[p * n]);
    }
}

uint64_t cyc_port_stores_next(const cycle *c, const store_port *port) {
    uint32_t n = c->ngpcs * MAX_CLUSTERS, slices = (uint32_t)orr_memsys_partitions(c->mem) * c->store_halves;
    uint64_t first = UINT64_MAX;
    for (uint32_t p = 0; p < slices; p++) {
        const slice_port *slice = &port->slices[p];
        if (!slice->waiting) continue;
        uint64_t soonest = UINT64_MAX;
        for (uint32_t k = 0; k < n; k++) {
            uint64_t at = ready_at(&slice->of[k]);
            if (at < soonest) soonest = at;
        }
        if (soonest < slice->free) soonest = slice->free;
        if (soonest < first) first = soonest;
    }
    return first;
}

store_port *cyc_port_stores_new(const cycle *c) {
    uint32_t n = c->ngpcs * MAX_CLUSTERS, slices = (uint32_t)orr_memsys_partitions(c->mem) * c->store_halves;
    store_port *port = orr_calloc(1, sizeof *port);
    port->slices = orr_calloc(slices, sizeof *port->slices);
    for (uint32_t p = 0; p < slices; p++) port->slices[p].of = orr_calloc(n, sizeof *port->slices[p].of);
    port->free = orr_calloc(n, sizeof *port->free);
    port->some = orr_calloc(n, sizeof *port->some);
    return port;
}

void cyc_port_stores_free(const cycle *c, store_port *port) {
    if (!port) return;
    uint32_t n = c->ngpcs * MAX_CLUSTERS, slices = (uint32_t)orr_memsys_partitions(c->mem) * c->store_halves;
    for (uint32_t p = 0; p < slices; p++) {
        for (uint32_t k = 0; k < n; k++) free(port->slices[p].of[k].at.at);
        free(port->slices[p].of);
    }
    cyc_timed_free(&port->keys);
    free(port->slices);
    free(port->free);
    free(port->some);
    free(port);
}
