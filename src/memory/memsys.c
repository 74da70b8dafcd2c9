// The memory system as the models see it (memsys.h): which partition a line belongs to, the order of
// requests, copies from the host, sums.
//
// A partition is a group of slices and channels that share nothing with others (interleave.h).
//
// Where L2 has two halves that keep copies (l2.replicate), a partition is one of each half. They are a known
// time apart (half of l2.far_latency), so neither can disturb the other sooner: they run in turn for as long
// as that from the next thing that happens, then what they sent each other is handed over.
#include "memory/l2.h"
#include "memory/memory.h"

#include <stdlib.h>
#include <string.h>

typedef orr_timed key; // of a request that has to be put in order

typedef struct place { // of a line
    uint32_t part, half, slice;
    uint64_t tag;
} place;

typedef struct partition {
    orr_l2 l2[2];               // of each half; only the first, where there are no copies
    orr_l2_crossings to[2][2];  // what is on its way to a half from the other, but stores; stores
    size_t taken[2][2];         // so many of them have come
    uint64_t next[2];           // when a half has something to do next, or earlier
    ORR_VEC(orr_request) later; // requests that were sent ahead of their time, as they came
    ORR_VEC(key) keys;
    ORR_VEC(key) scratch;
    ORR_VEC(place) places; // of the requests of a window
} partition;

struct orr_memsys {
    orr_l2_spec l2;
    orr_dram_spec dram;
    orr_interleave map;
    orr_topology topology;
    partition *part;
    uint32_t parts;
    uint32_t halves; // 2: with copies
    uint64_t l2_bytes;
};

// Halves that keep copies of each other's lines must be equal: a group of one goes with a group of the other.
static bool has_halves(const orr_interleave *map) {
    return map->groups % 2 == 0 && map->slices % map->groups == 0 && map->channels % map->groups == 0;
}

orr_memsys *orr_memsys_new(const orr_gpu *g, orr_err *e) {
    orr_memsys *m = orr_calloc(1, sizeof *m);
    orr_dram_spec_read(&m->dram, g);
    orr_l2_spec_read(&m->l2, g, &m->dram);
    m->halves = m->l2.halves.copies ? 2 : 1;
    bool ok = orr_interleave_init(&m->map, g, e);
    if (ok && m->halves > 1 && !has_halves(&m->map))
        ok = orr_fail(
            e, ORR_BAD_INPUT,
            "%s: l2.replicate needs two equal halves: l2.slices and dram.channels must be even, and have "
            "a large common divisor",
            g->path);
    if (!ok) {
        orr_interleave_free(&m->map);
        free(m);
        return NULL;
    }
    m->l2_bytes = (uint64_t)g->l2_size;
    m->topology = orr_topology_of(g);
    m->parts = m->map.groups / m->halves;
    m->part = orr_calloc(m->parts, sizeof *m->part);
    for (uint32_t n = 0; n < m->map.units; n++) {
        const orr_memory_unit *u = &m->map.unit[n];
        if (n && u->group == u[-1].group) continue; // the first unit of each group
        partition *p = &m->part[u->group % m->parts];
        orr_l2_extent x = {.slices = u->slices, .channels = u->channels, .first_channel = u->channel};
        orr_l2_init(&p->l2[u->group / m->parts], &m->l2, g, &m->dram, x);
    }
    return m;
}

#define EACH_L2(m, l)                                                                                        \
    for (uint32_t i_ = 0; i_ < (m)->parts; i_++)                                                             \
        for (orr_l2 *l = (m)->part[i_].l2; l < (m)->part[i_].l2 + (m)->halves; l++)

void orr_memsys_free(orr_memsys *m) {
    if (!m) return;
    EACH_L2(m, l) orr_l2_free(l);
    for (uint32_t i = 0; i < m->parts; i++) {
        partition *p = &m->part[i];
        for (int k = 0; k < 4; k++) free(p->to[k / 2][k % 2].at);
        free(p->later.at);
        free(p->keys.at);
        free(p->scratch.at);
        free(p->places.at);
    }
    free(m->part);
    orr_interleave_free(&m->map);
    free(m);
}

// ---- where --------------------------------------------------------------------------------------

static uint32_t part_of(const orr_memsys *m, const orr_memory_unit *u) {
    return u->group < m->parts ? u->group : u->group - m->parts; // the second half's
}
static const orr_memory_unit *unit_of(const orr_memsys *m, uint64_t line) {
    return &m->map.unit[orr_interleave_unit(&m->map, line)];
}

static place place_of(const orr_memsys *m, uint64_t line) {
    place p;
    const orr_memory_unit *u = &m->map.unit[orr_interleave_line(&m->map, line, &p.tag)];
    p.part = part_of(m, u);
    p.half = m->halves > 1 ? u->side : 0;
    p.slice = u->place;
    return p;
}

void orr_memsys_serve(orr_memsys *m, orr_serve *serve, void *arg) {
    m->l2.serve = serve;
    m->l2.serve_arg = arg;
}
int orr_memsys_partitions(const orr_memsys *m) { return (int)m->parts; }
int orr_memsys_partition_of(const orr_memsys *m, uint64_t line) { return (int)part_of(m, unit_of(m, line)); }
int orr_memsys_side_of(const orr_memsys *m, uint64_t line) { return unit_of(m, line)->side; }
uint32_t orr_memsys_slice_of(const orr_memsys *m, uint64_t line) { return unit_of(m, line)->first; }

// ---- order --------------------------------------------------------------------------------------

static bool after(const key *a, const key *b) { return a->time > b->time; }

enum { BUCKETS = 256, FEW = 48, MANY_OF_ONE = 24 };

// By stretches of time that follow each other, and within each one by one; those of one time stay as they
// are. False: too many are in one stretch.
static bool sort_by_buckets(const key *at, key *other, size_t n) {
    uint64_t first = at[0].time, last = first;
    for (size_t i = 1; i < n; i++) {
        first = at[i].time < first ? at[i].time : first;
        last = at[i].time > last ? at[i].time : last;
    }
    uint32_t shift = 0, in[BUCKETS] = {0}, most = 0;
    while ((last - first) >> shift >= BUCKETS) shift++;
    for (size_t i = 0; i < n; i++) in[(at[i].time - first) >> shift]++;
    for (uint32_t b = 0, sum = 0; b < BUCKETS; b++) {
        uint32_t here = in[b];
        most = here > most ? here : most;
        in[b] = sum;
        sum += here;
    }
    if (most > MANY_OF_ONE) return false;
    for (size_t i = 0; i < n; i++) other[in[(at[i].time - first) >> shift]++] = at[i];
    for (size_t i = 1; i < n; i++) {
        key one = other[i];
        size_t to = i;
        for (; to && after(&other[to - 1], &one); to--) other[to] = other[to - 1];
        other[to] = one;
    }
    return true;
}

static bool in_order(const key *at, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (after(&at[i - 1], &at[i])) return false;
    return true;
}

// Runs that are in order already (each SM's are) are merged pairwise.
static key *merge_runs(key *at, key *other, size_t n) {
    for (;;) {
        size_t from = 0, runs = 0;
        while (from < n) {
            size_t a = from, b = from + 1;
            while (b < n && !after(&at[b - 1], &at[b])) b++;
            size_t mid = b, end = b < n ? b + 1 : n;
            while (end < n && !after(&at[end - 1], &at[end])) end++;
            if (!from && mid == n) return at;
            for (size_t to = from; to < end; to++)
                other[to] = b == end || (a < mid && !after(&at[a], &at[b])) ? at[a++] : at[b++];
            from = end;
            runs++;
        }
        key *swap = at;
        at = other;
        other = swap;
        if (runs <= 1) return at;
    }
}

orr_timed *orr_sort_timed(orr_timed *at, orr_timed *other, size_t n) {
    if (n >= FEW && !in_order(at, n) && sort_by_buckets(at, other, n)) return other;
    return merge_runs(at, other, n);
}

static void reserve_keys(partition *p, size_t n) {
    if (n <= p->keys.cap) return;
    p->keys.cap = p->scratch.cap = n + n / 2 + 64;
    p->keys.at = orr_realloc(p->keys.at, p->keys.cap * sizeof(key));
    p->scratch.at = orr_realloc(p->scratch.at, p->scratch.cap * sizeof(key));
    p->places.at = orr_realloc(p->places.at, p->keys.cap * sizeof *p->places.at);
}

// A request goes to its slice; of two halves the SM's own one takes it.
static place slice_for(const orr_memsys *m, const orr_request *q) {
    place to = place_of(m, q->line);
    if (m->halves > 1) {
        uint32_t own = orr_half_of_sm(q->sm, m->topology);
        if (own != to.half) to.tag |= ORR_L2_FAR;
        to.half = own;
    }
    return to;
}

static void add(partition *p, const orr_request *q, const place *to) {
    orr_l2_request r = {.time = q->time,
                        .line = to->tag,
                        .bytes = {q->bytes[0], q->bytes[1]},
                        .sm = q->sm,
                        .token = q->token,
                        .sectors = q->sectors,
                        .kind = q->kind,
                        .from = q->from,
                        .ops = q->ops,
                        .quarter_ops = q->quarter_ops,
                        .float_sum = q->float_sum,
                        .same_packet = q->same_packet,
                        .after_atomic = q->after_atomic,
                        .wants_ack = q->wants_ack,
                        .live = q->live};
    orr_l2_push(&p->l2[to->half], to->slice, &r);
}

// The next thing that comes to a half from the other: of those but stores, or of the stores. NULL: there is
// none.
static const orr_l2_crossing *next_to(const partition *p, uint32_t half, int *kind) {
    const orr_l2_crossing *first = NULL;
    for (int k = 0; k < 2; k++) {
        size_t n = p->taken[half][k];
        if (n == p->to[half][k].n) continue;
        const orr_l2_crossing *a = &p->to[half][k].at[n];
        if (first && first->r.time <= a->r.time) continue;
        first = a;
        *kind = k;
    }
    return first;
}

// Delivers what has crossed to a half from the other before `until`.
static void deliver(partition *p, uint32_t half, uint64_t until) {
    const orr_l2_crossing *a;
    int kind = 0;
    while ((a = next_to(p, half, &kind)) && a->r.time < until) {
        orr_cache_prefetch_line(&p->l2[half].slice[a->slice].cache, a->r.line);
        orr_l2_push(&p->l2[half], a->slice, &a->r);
        p->taken[half][kind]++;
        p->next[half] = 0;
    }
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

// What a half has sent to the other. Stores wait for their way there (l2.far_sector), others go by them;
// where a partition has several slices those of one may be later than those of the next.
static void exchange(partition *p, uint32_t half) {
    orr_l2 *from = &p->l2[half], *to = &p->l2[!half];
    if (!from->crossing.n && !from->returns.n) return;
    for (int k = 0; k < 2; k++) { // those that have come leave the list, when they are half of it
        orr_l2_crossings *list = &p->to[!half][k];
        size_t gone = p->taken[!half][k];
        if (2 * gone < list->n || !gone) continue;
        list->n -= gone;
        memmove(list->at, list->at + gone, list->n * sizeof *list->at);
        p->taken[!half][k] = 0;
    }
    for (size_t i = 0; i < from->crossing.n; i++) {
        const orr_l2_crossing *a = &from->crossing.at[i];
        orr_l2_crossings *list = &p->to[!half][a->r.kind == ORR_REQ_WRITE];
        size_t at = list->n, first = p->taken[!half][a->r.kind == ORR_REQ_WRITE];
        (void)ORR_PUSH(list);
        for (; at > first && list->at[at - 1].r.time > a->r.time; at--) list->at[at] = list->at[at - 1];
        list->at[at] = *a;
        orr_cache_prefetch(&to->slice[a->slice].cache, a->r.line);
    }
    for (size_t i = 0; i < from->returns.n; i++) {
        p->next[!half] = least(p->next[!half], from->returns.at[i].time);
        orr_l2_return(to, &from->returns.at[i]);
    }
    from->crossing.n = from->returns.n = 0;
}

// When the first thing crosses to a half that has not come there.
static uint64_t next_crossing(const partition *p) {
    uint64_t t = UINT64_MAX;
    int kind = 0;
    for (uint32_t k = 0; k < 2; k++) {
        const orr_l2_crossing *a = next_to(p, k, &kind);
        if (a) t = least(t, a->r.time);
    }
    return t;
}

static uint64_t next_of(const orr_memsys *m, const partition *p) {
    uint64_t t = orr_l2_next(&p->l2[0]);
    return m->halves == 1 ? t : least(t, least(orr_l2_next(&p->l2[1]), next_crossing(p)));
}

// Requests of a window: the first `held` are those that came before and wait (partition.later).
typedef struct window {
    const orr_request *r;
    size_t held;
    key *keys; // in order of time,
    size_t n;
} window;

static const orr_request *request_of(const partition *p, const window *w, size_t at) {
    uint32_t i = w->keys[at].index;
    return i < w->held ? &p->later.at[i] : &w->r[i - w->held];
}

// Where they go. What they will look at is asked for at once: the tags of a large L2, and much else, are
// seldom in the host's caches.
static void find_places(const orr_memsys *m, partition *p, const window *w) {
    for (size_t at = 0; at < w->n; at++) {
        const orr_request *q = request_of(p, w, at);
        place *to = &p->places.at[at];
        *to = slice_for(m, q);
        orr_l2_expect(&p->l2[to->half], to->slice, to->tag, q->sm);
    }
    for (size_t at = 0; at < w->n; at++) {
        const place *to = &p->places.at[at];
        orr_cache_prefetch_line(&p->l2[to->half].slice[to->slice].cache, to->tag);
    }
}

// Both halves up to `until`. One that has nothing to do before the other can disturb it is left alone.
static void run_halves(orr_memsys *m, partition *p, const window *w, uint64_t until, orr_replies *out) {
    const key *keys = w->keys;
    size_t at = 0, k = w->n;
    for (uint32_t h = 0; h < 2; h++) p->next[h] = orr_l2_next(&p->l2[h]);
    for (;;) {
        uint64_t next = least(least(p->next[0], p->next[1]), next_crossing(p));
        if (at < k) next = least(next, keys[at].time);
        if (next >= until) break;
        uint64_t to = until - next > m->l2.halves.latency ? next + m->l2.halves.latency : until;
        for (; at < k && keys[at].time < to; at++) {
            const orr_request *q = request_of(p, w, at);
            deliver(p, 0, q->time + 1);
            deliver(p, 1, q->time + 1);
            add(p, q, &p->places.at[at]);
            p->next[p->places.at[at].half] = 0;
        }
        for (uint32_t h = 0; h < 2; h++) deliver(p, h, to);
        for (uint32_t h = 0; h < 2; h++)
            if (p->next[h] < to) p->next[h] = orr_l2_run(&p->l2[h], to, out);
        for (uint32_t h = 0; h < 2; h++) exchange(p, h);
    }
    for (uint32_t h = 0; h < 2; h++) p->l2[h].until = until;
}

void orr_memsys_run(orr_memsys *m, int part, const orr_request *r, size_t n, uint64_t until,
                    orr_replies *out) {
    partition *p = &m->part[part];
    size_t held = p->later.n, k = 0;
    for (uint32_t h = 0; h < m->halves; h++) orr_l2_prefetch(&p->l2[h]);
    reserve_keys(p, held + n);
    key *keys = p->keys.at;
    for (size_t i = 0; i < held; i++)
        if (p->later.at[i].time < until) keys[k++] = (key){p->later.at[i].time, (uint32_t)i, 0};
    for (size_t i = 0; i < n; i++)
        if (r[i].time < until) keys[k++] = (key){r[i].time, (uint32_t)(held + i), 0};
    keys = orr_sort_timed(keys, p->scratch.at, k);
    window w = {.r = r, .held = held, .keys = keys, .n = k};
    find_places(m, p, &w);
    if (m->halves > 1)
        run_halves(m, p, &w, until, out);
    else
        for (size_t i = 0; i < k; i++) add(p, request_of(p, &w, i), &p->places.at[i]);
    if (k < held + n) {
        size_t left = 0;
        for (size_t i = 0; i < held; i++)
            if (p->later.at[i].time >= until) p->later.at[left++] = p->later.at[i];
        p->later.n = left;
        for (size_t i = 0; i < n; i++)
            if (r[i].time >= until) *ORR_PUSH(&p->later) = r[i];
    } else {
        p->later.n = 0;
    }
    if (m->halves == 1) orr_l2_run(&p->l2[0], until, out);
}

uint64_t orr_memsys_next(const orr_memsys *m, int part) {
    const partition *p = &m->part[part];
    uint64_t t = next_of(m, p);
    for (size_t i = 0; i < p->later.n; i++)
        if (p->later.at[i].time < t) t = p->later.at[i].time;
    return t;
}

// ---- from outside -------------------------------------------------------------------------------

void orr_memsys_copy(orr_memsys *m, uint64_t addr, uint64_t bytes) {
    if (!bytes) return;
    uint64_t last = addr + bytes - 1 < addr ? UINT64_MAX : addr + bytes - 1; // hostile sizes
    if (last - addr >= m->l2_bytes) addr = last - m->l2_bytes + 1;
    uint64_t first = addr / ORR_LINE, end = last / ORR_LINE;
    enum {
        BATCH = 32
    }; // a copy that fills a large L2 waits for the host's memory most of the time, or it looks ahead
    struct {
        orr_l2 *l2;
        uint64_t tag;
        uint32_t slice;
    } at[BATCH];
    for (uint64_t line = first; line <= end;) {
        uint32_t n = end - line < BATCH ? (uint32_t)(end - line) + 1 : BATCH;
        for (uint32_t i = 0; i < n; i++) {
            place p = place_of(m, line + i);
            at[i].slice = p.slice;
            at[i].tag = p.tag;
            at[i].l2 = &m->part[p.part].l2[p.half];
            orr_cache_prefetch(&at[i].l2->slice[p.slice].cache, p.tag);
        }
        for (uint32_t i = 0; i < n; i++)
            orr_cache_prefetch_line(&at[i].l2->slice[at[i].slice].cache, at[i].tag);
        for (uint32_t i = 0; i < n; i++, line++) {
            uint8_t sectors = 15;
            if (line == first) sectors &= (uint8_t)(15 << addr % ORR_LINE / ORR_SECTOR);
            if (line == end) sectors &= (uint8_t)(15 >> (3 - last % ORR_LINE / ORR_SECTOR));
            orr_l2_preload(at[i].l2, at[i].slice, at[i].tag, sectors);
        }
    }
}

void orr_memsys_warm(orr_memsys *m, int sm, const orr_touched *t) {
    place p = place_of(m, t->line);
    orr_l2 *l2 = m->part[p.part].l2;
    if (t->write)
        orr_l2_warm_store(&l2[p.half], p.slice, p.tag, t);
    else
        orr_l2_warm(&l2[p.half], p.slice, p.tag, t->sectors);
    bool far = sm >= 0 && orr_half_of_sm((uint32_t)sm, m->topology) != p.half;
    if (m->halves > 1 && (t->write || sm < 0 || far))
        orr_l2_warm_copy(&l2[p.half], &l2[!p.half], p.slice, p.tag, t, far);
}

void orr_memsys_flush(orr_memsys *m) {
    EACH_L2(m, l)
    for (uint32_t k = 0; k < l->slices; k++) orr_cache_flush(&l->slice[k].cache);
}

void orr_memsys_restart(orr_memsys *m) {
    EACH_L2(m, l) orr_l2_reset(l);
    for (uint32_t i = 0; i < m->parts; i++) {
        partition *p = &m->part[i];
        p->later.n = 0;
        for (int k = 0; k < 4; k++) p->to[k / 2][k % 2].n = p->taken[k / 2][k % 2] = 0;
    }
}

void orr_memsys_stats_sum(const orr_memsys *m, orr_memsys_stats *sum) {
    *sum = (orr_memsys_stats){0};
    EACH_L2(m, p) {
        const orr_memsys_stats *s = &p->stats;
        for (int k = 0; k < ORR_FROMS; k++) {
            sum->read[k] += s->read[k];
            sum->read_hit[k] += s->read_hit[k];
            sum->read_pending[k] += s->read_pending[k];
            sum->read_widened[k] += s->read_widened[k];
            sum->write[k] += s->write[k];
            sum->write_hit[k] += s->write_hit[k];
            sum->write_present[k] += s->write_present[k];
        }
        sum->atomics.n += s->atomics.n;
        sum->atomics.hit += s->atomics.hit;
        for (int k = 0; k < 2; k++) sum->atomics.reduced[k] += s->atomics.reduced[k];
        sum->requests += s->requests;
        sum->evicted += s->evicted;
        sum->written_back += s->written_back;
        sum->fetched_for_write += s->fetched_for_write;
        for (int k = 0; k < 2; k++)
            for (int why = 0; why < ORR_FAILS; why++)
                sum->failed[k][why] += s->failed[k][why] / p->spec->cycle;
        sum->far.read += s->far.read;
        sum->far.write += s->far.write;
        sum->far.atomic += s->far.atomic;
        sum->far.read_hit += s->far.read_hit;
        sum->far.atomic_hit += s->far.atomic_hit;
        sum->far.requests += s->far.requests;
        sum->notified += s->notified;
        sum->merged += s->merged;
        for (uint32_t k = 0; k < p->slices; k++) {
            uint64_t n = p->slice[k].input.lookups;
            if (n > sum->busiest_slice) sum->busiest_slice = n;
            if (n < sum->idlest_slice || !sum->slices) sum->idlest_slice = n;
            sum->slices++;
            const orr_l2_port *port = &p->slice[k].port;
            sum->slice_busy += port->busy;
            if (port->busy > sum->slice_busiest) sum->slice_busiest = port->busy;
            const orr_l2_atomics *a = &p->slice[k].atomics;
            sum->atomics.busy += a->busy;
            if (a->busy > sum->atomics.busiest) sum->atomics.busiest = a->busy;
            if (a->busy_until > sum->atomics.last) sum->atomics.last = a->busy_until;
            for (uint32_t w = 0; w < 2 * p->words; w++)
                sum->clients[w % 2] += (uint64_t)orr_popc64(p->slice[k].users[w % 2][w / 2]);
        }
        if (s->last > sum->last) sum->last = s->last;
        for (uint32_t k = 0; k < p->channels; k++) {
            const orr_dram *d = &p->channel[k];
            sum->dram_read += d->n.reads;
            sum->dram_write += d->n.writes;
            sum->row_hit += d->n.row_hit;
            sum->row_miss += d->n.row_miss;
            sum->dram_busy += d->n.busy;
        }
    }
}

void orr_memsys_sectors(const orr_memsys *m, int part, uint64_t *l2, uint64_t *dram) {
    const orr_l2 *end = m->part[part].l2 + m->halves;
    for (const orr_l2 *p = m->part[part].l2; p < end; p++) {
        const orr_memsys_stats *s = &p->stats;
        for (int k = 0; k < ORR_FROMS; k++) *l2 += s->read[k] + s->write[k];
        *l2 += s->atomics.n + s->far.read + s->far.write + s->far.atomic + s->notified;
        for (uint32_t k = 0; k < p->channels; k++) *dram += p->channel[k].n.reads + p->channel[k].n.writes;
    }
}

uint64_t orr_memsys_barriers(const orr_memsys *m) {
    uint64_t longest = 0;
    EACH_L2(m, p) {
        for (uint32_t k = 0; k < p->slices; k++) {
            uint64_t near = 0, far = 0;
            for (uint32_t w = 0; w < p->words; w++) {
                near += (uint64_t)orr_popc64(p->slice[k].users[0][w]);
                far += (uint64_t)orr_popc64(p->slice[k].users[1][w]);
            }
            uint64_t takes = orr_l2_barrier_time(p->spec, near, far);
            if (takes > longest) longest = takes;
        }
    }
    return longest;
}

uint64_t orr_memsys_free_at(const orr_memsys *m, int part) {
    uint64_t most = 0;
    const orr_l2 *end = m->part[part].l2 + m->halves;
    for (const orr_l2 *p = m->part[part].l2; p < end; p++)
        for (uint32_t k = 0; k < p->slices; k++) {
            const orr_l2_slice *s = &p->slice[k];
            for (int i = ORR_L2_PORT; i <= ORR_L2_FAR_PORT; i++) {
                const orr_l2_lane *in = &s->lane[i];
                uint64_t t = in->free, n = in->n, parts = in->partial_stores;
                if (n && in->at[in->head].time > t) t = in->at[in->head].time;
                if (in->blocked && p->until > t) t = p->until;
                if (i == ORR_L2_PORT) { // these share its port
                    n += s->lane[ORR_L2_BYPASS].n + s->lane[ORR_L2_FAR_LOADS].n;
                    parts += s->lane[ORR_L2_BYPASS].partial_stores;
                }
                if (!parts)
                    t += n * in->service_time; // else they wait on the way, and so does who is behind them
                if (t > most) most = t;
            }
        }
    return most;
}

// Of a lane that stores of part of a sector pass, those that wait for memory; not those that wait for their
// line's turn, which keep nobody else waiting.
static uint32_t held_up(const orr_l2_slice *s, uint32_t lane) {
    return s->lane[lane + 2].blocked ? s->lane[lane].partial_stores + s->lane[lane + 2].n : 0;
}

uint32_t orr_memsys_stores_at(const orr_memsys *m, int part, uint32_t half) {
    const orr_l2 *own = &m->part[part].l2[half], *other = m->halves > 1 ? &m->part[part].l2[1 - half] : NULL;
    uint32_t n = 0;
    for (uint32_t k = 0; k < own->slices; k++) {
        n += held_up(&own->slice[k], ORR_L2_PORT);
        if (other) n += held_up(&other->slice[k], ORR_L2_FAR_PORT);
    }
    return n;
}
