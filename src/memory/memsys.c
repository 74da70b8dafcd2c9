// The memory system as the models see it (memsys.h): which partition a line belongs to, the order of
// requests, copies from the host, sums.
//
// Addresses are dealt out (hash.h) to pairs of a slice and a channel behind it. A partition is the least
// number of slices and channels that go with each other: a channel with its slices or a slice with its
// channels, if one count is a multiple of the other. With 160 slices and 128 channels it is five slices and
// four channels, where each slice uses each channel, and all slices and all channels are used evenly. (With
// thousands of such pairs the channels are left with different numbers of slices, or the other way round.)
//
// Where L2 has two halves that keep copies (l2.copies), a partition is one of each half. They are a known
// time apart (half of l2.far_latency), so neither can disturb the other sooner: they run in turn for as long
// as that from the next thing that happens, then what they sent each other is handed over.
#include "memory/l2.h"
#include "memory/memory.h"

#include <stdlib.h>
#include <string.h>

#define UNITS_MAX 4096 // as many as hash.h can deal out to

typedef orr_timed key; // of a request that has to be put in order

typedef struct partition {
    orr_l2 l2[2];               // of each half; only the first, where there are no copies
    uint32_t first[2];          // of its units: channel by channel for each slice
    orr_l2_aheads to[2][2];     // what is on its way to a half from the other, but stores; stores
    size_t taken[2][2];         // so many of them have come
    ORR_VEC(orr_request) later; // requests that were sent ahead of their time, as they came
    ORR_VEC(key) keys;
    ORR_VEC(key) scratch;
} partition;

struct orr_memsys {
    orr_l2_config l2;
    orr_dram_config dram;
    orr_spread spread;
    partition *part;
    uint32_t parts, units;
    uint32_t halves;   // 2: with copies
    uint32_t tpc;      // SMs of one
    uint16_t *part_of; // unit
    uint8_t *side_of;  // unit
    uint64_t l2_bytes;
    orr_tlb tlb;
};

orr_memsys *orr_memsys_new(const orr_gpu *g, orr_err *e) {
    uint32_t slices = (uint32_t)g->l2_slices, channels = (uint32_t)g->dram_channels;
    if (g->l2_size / g->l2_slices < ORR_LINE) {
        orr_fail(e, ORR_BAD_INPUT, "%s: l2.size / l2.slices is less than a line of %d bytes", g->path,
                 ORR_LINE);
        return NULL;
    }
    orr_memsys *m = orr_calloc(1, sizeof *m);
    uint32_t common = slices, rest = channels; // their greatest common divisor
    while (rest) {
        uint32_t more = common % rest;
        common = rest;
        rest = more;
    }
    m->parts = common;
    m->units = slices / common * channels; // the least common multiple
    if (m->units > UNITS_MAX) {
        m->parts = slices < channels ? slices : channels;
        m->units = slices < channels ? channels : slices;
    }
    m->l2_bytes = (uint64_t)g->l2_size;
    orr_dram_configure(&m->dram, g);
    orr_l2_configure(&m->l2, g, &m->dram);
    orr_spread_init(&m->spread, m->units, g->l2_hash);
    m->tpc = orr_gpc_sms(g);
    orr_tlb_init(&m->tlb, g);
    m->halves = m->l2.copies ? 2 : 1;
    if (m->parts % m->halves || (m->halves > 1 && (slices % m->parts || channels % m->parts))) {
        orr_fail(e, ORR_BAD_INPUT,
                 "%s: l2.copies needs two equal halves: l2.slices and dram.channels must be even, and have a "
                 "large common divisor",
                 g->path);
        orr_tlb_free(&m->tlb);
        free(m);
        return NULL;
    }
    m->part = orr_calloc(m->parts, sizeof *m->part);
    m->part_of = orr_calloc(m->units, sizeof *m->part_of);
    m->side_of = orr_calloc(m->units, sizeof *m->side_of);
    uint32_t unit = 0, all = m->parts;
    m->parts = all / m->halves;
    for (uint64_t i = 0; i < all; i++) {
        partition *p = &m->part[i % m->parts];
        uint32_t half = (uint32_t)(i / m->parts);
        p->first[half] = unit;
        uint32_t n_slices = (uint32_t)((i + 1) * slices / all - i * slices / all);
        uint32_t n_channels = (uint32_t)((i + 1) * channels / all - i * channels / all);
        orr_l2_init(&p->l2[half], &m->l2, g, &m->dram, n_slices, n_channels, (uint32_t)(i * channels / all));
        for (uint32_t end = unit + n_slices * n_channels; unit < end; unit++) {
            m->part_of[unit] = (uint16_t)(i % m->parts);
            m->side_of[unit] = (uint8_t)(i * (uint64_t)g->l2_partitions / all);
        }
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
    }
    free(m->part);
    free(m->part_of);
    free(m->side_of);
    orr_tlb_free(&m->tlb);
    free(m);
}

// ---- SMs ----------------------------------------------------------------------------------------

// When a grid of fewer blocks than SMs comes to an SM: the first TPCs of the first GPC, then the TPCs of all
// GPCs in turn, and one SM of each TPC before the others.
static uint64_t turn_of(const orr_gpu *g, uint32_t sm, uint32_t nsms, uint32_t each) {
    uint32_t gpcs = orr_gpc_sms(g), gpc = orr_gpc_of_sm(sm, gpcs), before = 0;
    if (sm < (uint32_t)g->launch_first) return sm % each * nsms + sm;
    for (uint32_t n = (uint32_t)g->launch_first; n < sm; n += each) before += orr_gpc_of_sm(n, gpcs) == gpc;
    return (uint64_t)(each + sm % each) * nsms * nsms + (uint64_t)before * nsms + gpc;
}

typedef struct turn {
    uint64_t when;
    uint32_t sm;
} turn;

static int by_turn(const void *a, const void *b) {
    const turn *x = a, *y = b;
    return (x->when > y->when) - (x->when < y->when);
}

uint32_t *orr_dealing_order(const orr_gpu *g, uint32_t nsms, uint64_t blocks) {
    uint32_t *order = orr_malloc(nsms * sizeof *order), k = 0;
    uint32_t each = g->tpc_count > 0 ? (nsms + (uint32_t)g->tpc_count - 1) / (uint32_t)g->tpc_count : 1;
    if (!each) each = 1;
    if (g->launch_order == ORR_LAUNCH_GPC && blocks && blocks < nsms) {
        turn *turns = orr_malloc(nsms * sizeof *turns);
        uint8_t *has = orr_calloc(nsms, 1);
        for (uint32_t n = 0; n < nsms; n++) turns[n] = (turn){turn_of(g, n, nsms, each), n};
        qsort(turns, nsms, sizeof *turns, by_turn);
        for (uint32_t n = 0; n < blocks; n++) has[turns[n].sm] = 1;
        for (uint32_t n = 0; n < nsms; n++) // they are numbered GPC by GPC all the same
            if (has[n]) order[k++] = n;
        for (uint32_t n = (uint32_t)blocks; n < nsms; n++) order[k++] = turns[n].sm;
        free(turns);
        free(has);
        return order;
    }
    if (g->launch_order != ORR_LAUNCH_SPREAD) each = 1;
    for (uint32_t first = 0; first < each; first++)
        for (uint32_t n = first; n < nsms; n += each) order[k++] = n;
    return order;
}

uint32_t *orr_sm_numbers(const orr_gpu *g, uint32_t nsms) {
    uint32_t *number = orr_malloc(nsms * sizeof *number), gpcs = orr_gpc_sms(g), first = 0;
    uint32_t each = g->tpc_count > 0 ? (nsms + (uint32_t)g->tpc_count - 1) / (uint32_t)g->tpc_count : 1;
    uint64_t all = nsms;
    if (!each) each = 1;
    if (g->launch_order == ORR_LAUNCH_GPC) first = (uint32_t)g->launch_first;
    turn *turns = orr_malloc(nsms * sizeof *turns);
    for (uint32_t n = 0; n < nsms; n++) {
        uint32_t gpc = orr_gpc_of_sm(n, gpcs), before = 0;
        for (uint32_t k = first; k + each <= n; k += each) before += orr_gpc_of_sm(k, gpcs) == gpc;
        turns[n] = (turn){n < first ? all * all * all + n : (before * all + gpc) * all + n, n};
        if (!first) turns[n].when = n; // nobody has looked
    }
    qsort(turns, nsms, sizeof *turns, by_turn);
    for (uint32_t n = 0; n < nsms; n++) number[turns[n].sm] = n;
    free(turns);
    return number;
}

// The GPU looks at one GPC after the other for SMs that have room, and finds launch.run of them (H200: of
// 9,400 blocks of three loads the next one is in the same GPC in 63 % of cases, the next but one in 37, 19,
// 9 %, on the other SM of the TPC in 13 %). Here it is always so many, and never the other SM of a TPC.
uint32_t *orr_later_order(const orr_gpu *g, uint32_t nsms) {
    uint32_t run = g->launch_order == ORR_LAUNCH_GPC ? (uint32_t)g->launch_run : 0;
    if (!run) return orr_dealing_order(g, nsms, 0);
    uint32_t *order = orr_malloc(nsms * sizeof *order), k = 0, gpcs = orr_gpc_sms(g);
    uint32_t each = 0;
    while (each < nsms && orr_gpc_of_sm(each, gpcs) == 0) each++;
    uint32_t rounds = (each + run - 1) / run; // of a GPC's SMs, one in so many each time
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t n = 0, first = 0; n < nsms; n++) {
            if (orr_gpc_of_sm(n, gpcs) != orr_gpc_of_sm(first, gpcs)) first = n;
            if ((n - first) % rounds == round) order[k++] = n;
        }
    return order;
}

// All SMs have the same number first; with launch.again those of launch.first have their turns at a pace of
// their own, ahead of the others. What is left is dealt like a small grid.
uint32_t *orr_first_wave(const orr_gpu *g, uint32_t nsms, uint64_t blocks, uint32_t each, size_t *n) {
    uint64_t room = (uint64_t)nsms * each;
    *n = (size_t)(!blocks || blocks > room ? room : blocks);
    uint32_t *wave = orr_malloc((*n + 1) * sizeof *wave), rounds = (uint32_t)(*n / nsms);
    size_t at = 0, even = (size_t)rounds * nsms;
    uint32_t first = (uint32_t)g->launch_first, again = (uint32_t)g->launch_again;
    uint32_t *order = orr_dealing_order(g, nsms, even ? nsms : blocks);
    if (g->launch_order == ORR_LAUNCH_GPC && first && first < nsms && again) {
        uint32_t had = 0, since = again, next = first;
        for (; at < even; at++) {
            if (since >= again && had < rounds) { // a turn of the first ones
                for (uint32_t k = 0; k < first; k++) wave[at++] = order[k];
                had++;
                since = 0;
                if (at == even) break;
            }
            if (had == rounds) since = 0;
            wave[at] = order[next];
            since++;
            if (++next == nsms) next = first;
        }
    } else {
        for (; at < even; at++) wave[at] = order[at % nsms];
    }
    if (even && at < *n) {
        free(order);
        order = orr_dealing_order(g, nsms, *n - even);
    }
    for (size_t k = 0; at < *n; k++) wave[at++] = order[k];
    free(order);
    return wave;
}

// ---- where --------------------------------------------------------------------------------------

static uint32_t unit_of(const orr_memsys *m, uint64_t line) {
    uint64_t group;
    return orr_spread_unit(&m->spread, line >> m->l2.chunk_shift, &group);
}

// Where a line is, in partition p: the half that it belongs to, the slice, the line's number there.
static uint32_t slice_of(const orr_memsys *m, const partition *p, uint64_t line, uint32_t *half,
                         uint64_t *tag) {
    uint64_t group;
    uint32_t shift = m->l2.chunk_shift;
    uint32_t unit = orr_spread_unit(&m->spread, line >> shift, &group);
    *half = m->halves > 1 ? m->side_of[unit] : 0;
    uint32_t channels = p->l2[*half].channels;
    unit -= p->first[*half];
    uint32_t slice = channels == 1 ? unit : unit / channels;
    group = group * channels + (unit - slice * channels);
    *tag = group << shift | (line & ((1ull << shift) - 1));
    return slice;
}

void orr_memsys_serve(orr_memsys *m, orr_serve *serve, void *arg) {
    m->l2.serve = serve;
    m->l2.serve_arg = arg;
}
int orr_memsys_partitions(const orr_memsys *m) { return (int)m->parts; }
int orr_memsys_partition_of(const orr_memsys *m, uint64_t line) { return m->part_of[unit_of(m, line)]; }
int orr_memsys_side_of(const orr_memsys *m, uint64_t line) { return m->side_of[unit_of(m, line)]; }
uint32_t orr_memsys_slice_of(const orr_memsys *m, uint64_t line) {
    uint32_t unit = unit_of(m, line), half = m->halves > 1 ? m->side_of[unit] : 0;
    const partition *p = &m->part[m->part_of[unit]];
    return unit - (unit - p->first[half]) % p->l2[half].channels; // its slice's first
}

// ---- order --------------------------------------------------------------------------------------

static bool after(const key *a, const key *b) { return a->time > b->time; }

// Runs that are in order already (each SM's are) are merged pairwise.
orr_timed *orr_sort_timed(orr_timed *at, orr_timed *other, size_t n) {
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

static void reserve_keys(partition *p, size_t n) {
    if (n <= p->keys.cap) return;
    p->keys.cap = p->scratch.cap = n + n / 2 + 64;
    p->keys.at = orr_realloc(p->keys.at, p->keys.cap * sizeof(key));
    p->scratch.at = orr_realloc(p->scratch.at, p->scratch.cap * sizeof(key));
}

// A request goes to its slice; of two halves the SM's own one takes it.
static void add(const orr_memsys *m, partition *p, const orr_request *q, key *k) {
    uint64_t tag;
    uint32_t half, slice = slice_of(m, p, q->line, &half, &tag);
    if (m->halves > 1) {
        uint32_t own = orr_half_of_sm(q->sm, m->tpc);
        if (own != half) tag |= ORR_L2_FAR;
        half = own;
    }
    orr_l2_add(&p->l2[half], slice, q, tag);
    *k = (key){tag, half, slice};
}

// The next thing that comes to a half from the other: of those but stores, or of the stores. NULL: there is
// none.
static const orr_l2_ahead *next_to(const partition *p, uint32_t half, int *kind) {
    const orr_l2_ahead *first = NULL;
    for (int k = 0; k < 2; k++) {
        size_t n = p->taken[half][k];
        if (n == p->to[half][k].n) continue;
        const orr_l2_ahead *a = &p->to[half][k].at[n];
        if (first && first->r.time <= a->r.time) continue;
        first = a;
        *kind = k;
    }
    return first;
}

// What has come to a half from the other, before `until`.
static void come(partition *p, uint32_t half, uint64_t until) {
    const orr_l2_ahead *a;
    int kind = 0;
    while ((a = next_to(p, half, &kind)) && a->r.time < until) {
        orr_l2_add(&p->l2[half], a->slice, &a->r, a->r.line);
        p->taken[half][kind]++;
    }
}

// What a half has sent to the other. Stores wait for their way there (l2.far_sector), others go by them;
// where a partition has several slices those of one may be later than those of the next.
static void cross(partition *p, uint32_t half) {
    orr_l2 *from = &p->l2[half], *to = &p->l2[!half];
    for (int k = 0; k < 2; k++) { // those that have come leave the list, when they are half of it
        orr_l2_aheads *list = &p->to[!half][k];
        size_t gone = p->taken[!half][k];
        if (2 * gone < list->n || !gone) continue;
        list->n -= gone;
        memmove(list->at, list->at + gone, list->n * sizeof *list->at);
        p->taken[!half][k] = 0;
    }
    for (size_t i = 0; i < from->ahead.n; i++) {
        const orr_l2_ahead *a = &from->ahead.at[i];
        orr_l2_aheads *list = &p->to[!half][a->r.kind == ORR_REQ_WRITE];
        size_t at = list->n, first = p->taken[!half][a->r.kind == ORR_REQ_WRITE];
        (void)ORR_PUSH(list);
        for (; at > first && list->at[at - 1].r.time > a->r.time; at--) list->at[at] = list->at[at - 1];
        list->at[at] = *a;
    }
    for (size_t i = 0; i < from->back.n; i++) orr_l2_come_back(to, &from->back.at[i]);
    from->ahead.n = from->back.n = 0;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t next_of(const orr_memsys *m, const partition *p) {
    uint64_t t = orr_l2_next(&p->l2[0]);
    if (m->halves == 1) return t;
    t = least(t, orr_l2_next(&p->l2[1]));
    int kind = 0;
    for (uint32_t k = 0; k < 2; k++) {
        const orr_l2_ahead *a = next_to(p, k, &kind);
        if (a) t = least(t, a->r.time);
    }
    return t;
}

// Both halves up to `until`, with k requests in order.
static void run_halves(orr_memsys *m, partition *p, const orr_request *r, size_t held, key *keys, size_t k,
                       uint64_t until, orr_replies *out) {
    size_t at = 0;
    for (;;) {
        uint64_t next = next_of(m, p);
        if (at < k) next = least(next, keys[at].time);
        if (next >= until) break;
        uint64_t to = until - next > m->l2.far ? next + m->l2.far : until;
        size_t first = at;
        for (; at < k && keys[at].time < to; at++) {
            uint32_t i = keys[at].index;
            const orr_request *q = i < held ? &p->later.at[i] : &r[i - held];
            come(p, 0, q->time + 1);
            come(p, 1, q->time + 1);
            add(m, p, q, &keys[at]);
        }
        for (; first < at; first++)
            orr_cache_prefetch_line(&p->l2[keys[first].index].slice[keys[first].slice].cache,
                                    keys[first].time);
        for (uint32_t h = 0; h < 2; h++) come(p, h, to);
        for (uint32_t h = 0; h < 2; h++) orr_l2_run(&p->l2[h], to, out);
        for (uint32_t h = 0; h < 2; h++) cross(p, h);
    }
    for (uint32_t h = 0; h < 2; h++) p->l2[h].until = until;
}

void orr_memsys_run(orr_memsys *m, int part, const orr_request *r, size_t n, uint64_t until,
                    orr_replies *out) {
    partition *p = &m->part[part];
    size_t held = p->later.n, k = 0;
    reserve_keys(p, held + n);
    key *keys = p->keys.at;
    for (size_t i = 0; i < held; i++)
        if (p->later.at[i].time < until) keys[k++] = (key){p->later.at[i].time, (uint32_t)i, 0};
    for (size_t i = 0; i < n; i++)
        if (r[i].time < until) keys[k++] = (key){r[i].time, (uint32_t)(held + i), 0};
    keys = orr_sort_timed(keys, p->scratch.at, k);
    if (m->halves > 1) {
        run_halves(m, p, r, held, keys, k, until, out);
    } else {
        for (size_t i = 0; i < k; i++) {
            uint32_t at = keys[i].index;
            add(m, p, at < held ? &p->later.at[at] : &r[at - held], &keys[i]);
        }
        // The tags of a large L2 are seldom in the host's caches.
        for (size_t i = 0; i < k; i++)
            orr_cache_prefetch_line(&p->l2[0].slice[keys[i].slice].cache, keys[i].time);
    }
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
            partition *p = &m->part[m->part_of[unit_of(m, line + i)]];
            uint32_t half;
            at[i].slice = slice_of(m, p, line + i, &half, &at[i].tag);
            at[i].l2 = &p->l2[half];
            orr_cache_prefetch(&at[i].l2->slice[at[i].slice].cache, at[i].tag);
        }
        for (uint32_t i = 0; i < n; i++)
            orr_cache_prefetch_line(&at[i].l2->slice[at[i].slice].cache, at[i].tag);
        for (uint32_t i = 0; i < n; i++, line++) {
            uint8_t sectors = 15;
            if (line == first) sectors &= (uint8_t)(15 << addr % ORR_LINE / ORR_SECTOR);
            if (line == end) sectors &= (uint8_t)(15 >> (3 - last % ORR_LINE / ORR_SECTOR));
            orr_l2_fill(at[i].l2, at[i].slice, at[i].tag, sectors);
        }
    }
}

void orr_memsys_warm(orr_memsys *m, int sm, uint64_t line, uint8_t sectors, bool write) {
    partition *p = &m->part[m->part_of[unit_of(m, line)]];
    uint64_t tag;
    uint32_t half, slice = slice_of(m, p, line, &half, &tag);
    orr_l2_warm(&p->l2[half], slice, tag, sectors, write);
    bool far = sm >= 0 && orr_half_of_sm((uint32_t)sm, m->tpc) != half;
    if (m->halves > 1 && (write || sm < 0 || far))
        orr_l2_warm_copy(&p->l2[half], &p->l2[!half], slice, tag, sectors, write, far);
}

void orr_memsys_flush(orr_memsys *m) {
    EACH_L2(m, l)
    for (uint32_t k = 0; k < l->slices; k++) orr_cache_flush(&l->slice[k].cache);
}

orr_tlb *orr_memsys_tlb(orr_memsys *m) { return &m->tlb; }

void orr_memsys_restart(orr_memsys *m) {
    orr_tlb_restart(&m->tlb);
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
            sum->read_along[k] += s->read_along[k];
            sum->write[k] += s->write[k];
            sum->write_hit[k] += s->write_hit[k];
            sum->write_present[k] += s->write_present[k];
        }
        sum->atomic += s->atomic;
        sum->atomic_hit += s->atomic_hit;
        sum->requests += s->requests;
        sum->evicted += s->evicted;
        sum->written_back += s->written_back;
        sum->fetched_for_write += s->fetched_for_write;
        sum->slice_busy += s->slice_busy;
        sum->far_read += s->far_read;
        sum->far_write += s->far_write;
        sum->far_atomic += s->far_atomic;
        sum->far_hit += s->far_hit;
        sum->far_requests += s->far_requests;
        sum->told += s->told;
        sum->joined += s->joined;
        for (uint32_t k = 0; k < p->slices; k++) {
            uint64_t n = p->slice[k].looked_up;
            if (n > sum->fullest) sum->fullest = n;
            if (n < sum->emptiest || !sum->slices) sum->emptiest = n;
            sum->slices++;
            for (uint32_t w = 0; w < 2 * p->words; w++)
                sum->asked[w % 2] += (uint64_t)orr_popc64(p->slice[k].asked[w % 2][w / 2]);
        }
        if (s->last > sum->last) sum->last = s->last;
        for (uint32_t k = 0; k < p->channels; k++) {
            const orr_dram *d = &p->channel[k];
            sum->dram_read += d->reads;
            sum->dram_write += d->writes;
            sum->row_hit += d->row_hit;
            sum->row_miss += d->row_miss;
            sum->dram_busy += d->busy;
        }
    }
}

uint64_t orr_memsys_barriers(const orr_memsys *m) {
    uint64_t longest = 0;
    EACH_L2(m, p) {
        for (uint32_t k = 0; k < p->slices; k++) {
            uint64_t near = 0, far = 0;
            for (uint32_t w = 0; w < p->words; w++) {
                near += (uint64_t)orr_popc64(p->slice[k].asked[0][w]);
                far += (uint64_t)orr_popc64(p->slice[k].asked[1][w]);
            }
            uint64_t takes = (near + 3 * far) * p->c->fence;
            if (far && takes < p->c->far) takes = p->c->far;
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
            for (int i = ORR_L2_ALL; i <= ORR_L2_OTHER; i++) {
                const orr_l2_lane *in = &s->in[i];
                uint64_t t = in->free, n = in->n, parts = in->parts;
                if (n && in->at[in->head].time > t) t = in->at[in->head].time;
                if (in->blocked && p->until > t) t = p->until;
                if (i == ORR_L2_ALL) { // these share its port
                    n += s->in[ORR_L2_ASIDE].n + s->in[ORR_L2_ASKED].n;
                    parts += s->in[ORR_L2_ASIDE].parts;
                }
                if (!parts) t += n * in->pace; // else they wait on the way, and so does who is behind them
                if (t > most) most = t;
            }
        }
    return most;
}

// Of a lane that stores of part of a sector pass, those that wait for memory or for the slice's data; not
// those that wait for their line's turn, which keep nobody else waiting.
static uint32_t held_up(const orr_l2 *p, const orr_l2_slice *s, uint32_t lane) {
    bool held = s->in[lane + 2].blocked || s->fill_free > p->until;
    return held ? s->in[lane].parts + s->in[lane + 2].n : 0;
}

uint32_t orr_memsys_stores_at(const orr_memsys *m, int part, uint32_t half) {
    const orr_l2 *own = &m->part[part].l2[half], *other = m->halves > 1 ? &m->part[part].l2[1 - half] : NULL;
    uint32_t n = 0;
    for (uint32_t k = 0; k < own->slices; k++) {
        n += held_up(own, &own->slice[k], ORR_L2_ALL);
        if (other) n += held_up(other, &other->slice[k], ORR_L2_OTHER);
    }
    return n;
}
