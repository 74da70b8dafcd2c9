// The tensor memory accelerator (tma.h).
#include "core/tma.h"

#include <stdlib.h>

#define BURST 8 // requests of a turn

void tma_spec_read(tma_spec *s, const orr_gpu *g) {
    *s = (tma_spec){.interval = g->tma_interval,
                    .latency = whole_cycles(g->tma_latency),
                    .store_latency = whole_cycles(g->tma_store_latency),
                    .map_miss = whole_cycles(g->tma_map_miss),
                    .requests = (uint32_t)g->tma_requests,
                    .perfect = g->memory == ORR_MEMORY_PERFECT,
                    .l2_latency = whole_cycles(g->l2_latency)};
}

void tma_init(tma_unit *t, const tma_spec *s, sm_port *port, data_pipe *pipe) {
    *t = (tma_unit){.spec = s, .port = port, .pipe = pipe, .clock = port->clock, .free_copy = NOBODY};
}

void tma_reset(tma_unit *t) {
    t->copies.n = t->queue.n = 0;
    tma_maps_reset(&t->maps);
    *t = (tma_unit){.spec = t->spec,
                    .port = t->port,
                    .pipe = t->pipe,
                    .clock = t->clock,
                    .client = t->client,
                    .copies = t->copies,
                    .queue = t->queue,
                    .free_copy = NOBODY};
}

void tma_free(tma_unit *t) {
    tma_maps_reset(&t->maps);
    free(t->copies.at);
    free(t->queue.at);
}

// ---- what a stream has of them ------------------------------------------------------------------
bool tma_copy_of(const orr_tinst *i, const orr_access *a, uint32_t which, tma_copy *c) {
    static const uint8_t kinds[] = {[ORR_BULK_LOAD] = TMA_LOAD,        [ORR_BULK_STORE] = TMA_STORE,
                                    [ORR_BULK_PEER] = TMA_LOAD,        [ORR_BULK_REDUCE] = TMA_REDUCE,
                                    [ORR_BULK_REDUCE_PEER] = TMA_LOAD, [ORR_BULK_PREFETCH] = TMA_PREFETCH};
    const uint32_t all = (1u << ORR_BULK_LANES) - 1, n = which * ORR_BULK_LANES;
    if (!a->fields || n + ORR_BULK_LANES > ORR_WARP || (a->mask >> n & all) != all) return false;
    bool peer = i->bytes == ORR_BULK_PEER || i->bytes == ORR_BULK_REDUCE_PEER;
    *c = (tma_copy){.kind = i->bytes < sizeof kinds ? kinds[i->bytes] : TMA_PREFETCH,
                    .mbar = a->addr[n],
                    .bytes = a->version[n],
                    .begin = a->addr[n + 1],
                    .row = peer ? 0 : a->version[n + 1],
                    .map = a->addr[n + 2 + ORR_BULK_DIMS],
                    .to = a->version[n + 2 + ORR_BULK_DIMS]};
    for (uint32_t d = 0; d < ORR_BULK_DIMS; d++) {
        c->stride[d] = a->addr[n + 2 + d];
        c->count[d] = a->version[n + 2 + d];
    }
    return true;
}

// ---- copies -------------------------------------------------------------------------------------
static void finish(tma_unit *t, uint32_t at, uint64_t when) {
    tma_copy copy = t->copies.at[at];
    t->copies.at[at].next = t->free_copy;
    t->copies.at[at].load = 0;
    t->free_copy = at;
    t->client.done(t->client.self, &copy, when);
}

uint64_t tma_first_open(const tma_unit *t) {
    uint64_t first = NEVER;
    for (size_t n = 0; n < t->copies.n; n++)
        if (t->copies.at[n].load && t->copies.at[n].load < first) first = t->copies.at[n].load;
    return first;
}

uint64_t tma_maps_ready(tma_maps *m, uint64_t miss, uint64_t map, uint64_t now) {
    uint64_t ready = (uintptr_t)orr_map_getn(&m->ready, (const char *)&map, sizeof map);
    if (ready) return ready - 1;
    ready = (m->prefetched && m->prefetched < now ? m->prefetched : now) + miss;
    orr_map_putn(&m->ready, (const char *)&map, sizeof map, (void *)(uintptr_t)(ready + 1));
    return ready;
}

void tma_maps_reset(tma_maps *m) {
    orr_map_free(&m->ready);
    m->prefetched = 0;
}

static void turn_at(tma_unit *t, uint64_t when) {
    t->turning = true;
    events_add_at(t->clock, latest(when, t->clock->now), EVENT_TMA, TMA_TURN);
}

void tma_issue(tma_unit *t, const tma_copy *copy, uint64_t now) {
    uint32_t at = t->free_copy;
    if (at == NOBODY)
        at = (uint32_t)(ORR_PUSH(&t->copies) - t->copies.at);
    else
        t->free_copy = t->copies.at[at].next;
    tma_copy *c = &t->copies.at[at];
    *c = *copy;
    c->ready = now;
    c->load = c->kind == TMA_LOAD ? ++t->loads : 0;
    if (c->map) c->ready = latest(now, tma_maps_ready(&t->maps, t->spec->map_miss, c->map, now));
    t->n.copies++;
    t->n.bytes += c->bytes;
    if (!c->row || t->spec->perfect) { // all of it is outside the tensor
        c->sent = true;
        finish(t, at, c->ready + t->spec->l2_latency + t->spec->latency);
        return;
    }
    *ORR_PUSH(&t->queue) = at;
    if (!t->turning && t->open < t->spec->requests) turn_at(t, latest(c->ready, (uint64_t)t->next));
}

// ---- requests -----------------------------------------------------------------------------------
tma_line tma_next_line(tma_copy *c) {
    uint64_t at = c->begin + c->offset;
    for (int d = 0; d < TMA_DIMS; d++) at += c->row_at[d] * c->stride[d];
    uint32_t from = (uint32_t)(at % ORR_LINE), most = ORR_LINE - from;
    uint32_t left = c->row - c->offset, n = left < most ? left : most;
    tma_line x = {.line = at / ORR_LINE};
    for (uint32_t b = from; b < from + n; b += 16) {
        x.sectors |= (uint8_t)(1u << b / 32);
        x.bytes[b / 64] |= 0xffffull << b % 64;
    }
    c->offset += n;
    if (c->offset < c->row) return x;
    c->offset = 0;
    int d = 0;
    while (d < TMA_DIMS && ++c->row_at[d] >= c->count[d]) c->row_at[d++] = 0;
    c->sent = d == TMA_DIMS;
    return x;
}

static void send_line(tma_unit *t, uint32_t copy, uint64_t when) {
    tma_copy *c = &t->copies.at[copy];
    sm_port *p = t->port;
    tma_line x = tma_next_line(c);
    orr_request r = {.kind = ORR_REQ_READ, .from = ORR_FROM_GLOBAL, .line = x.line, .sectors = x.sectors};
    uint32_t n = (uint32_t)orr_popc(r.sectors);
    t->n.sectors += n;
    t->n.kind[c->kind % TMA_KINDS] += n;
    if (c->kind == TMA_LOAD || c->kind == TMA_PREFETCH) {
        r.token = event_token(EVENT_TMA, TMA_ANSWER | copy);
        c->open++;
        t->open++;
        port_ask(p, &r, when);
        return;
    }
    pipe_beside(t->pipe, 1);
    r.kind = c->kind == TMA_STORE ? ORR_REQ_WRITE : ORR_REQ_REDUCE;
    r.bytes[0] = x.bytes[0];
    r.bytes[1] = x.bytes[1];
    if (c->kind == TMA_REDUCE) r.ops = (uint8_t)(n + n / 2);
    uint32_t packet = port_store_packet(p, r.sectors, x.bytes);
    port_send(p, &r, when, c->kind == TMA_REDUCE ? packet + packet / 4 : packet);
}

// A burst of the copy at hand. Loads leave one every `interval` cycles; stores as the port takes them.
void tma_turn(tma_unit *t) {
    uint64_t now = t->clock->now;
    t->turning = false;
    if (t->first == t->queue.n) return;
    uint32_t at = t->queue.at[t->first];
    if (t->copies.at[at].ready > now) {
        turn_at(t, t->copies.at[at].ready);
        return;
    }
    if (t->next < (double)now) t->next = (double)now;
    for (int n = 0; n < BURST && !t->copies.at[at].sent && t->open < t->spec->requests; n++) {
        send_line(t, at, (uint64_t)t->next);
        t->next += t->spec->interval;
    }
    tma_copy *c = &t->copies.at[at];
    bool out = c->kind == TMA_STORE || c->kind == TMA_REDUCE;
    uint64_t left = t->port->send_free / ORR_TICKS;
    if (out && t->next < (double)left) t->next = (double)left;
    if (c->sent) {
        if (++t->first == t->queue.n) t->first = t->queue.n = 0;
        if (out) finish(t, at, (uint64_t)t->next + t->spec->store_latency);
    }
    if (t->first != t->queue.n && t->open < t->spec->requests) turn_at(t, (uint64_t)t->next);
}

void tma_answer(tma_unit *t, uint32_t copy, uint64_t ready) {
    tma_copy *c = &t->copies.at[copy];
    bool full = t->open-- == t->spec->requests;
    if (c->kind == TMA_LOAD) pipe_beside(t->pipe, 1);
    if (c->ready < ready) c->ready = ready;
    if (!--c->open && c->sent) finish(t, copy, c->ready + t->spec->latency);
    if (full && !t->turning && t->first != t->queue.n) turn_at(t, (uint64_t)t->next);
}
