// One channel of DRAM: a queue, banks with open rows, one data bus.
//
// Three kinds of things happen, each at a time that is known in advance and kept as `next_*`: a request
// becomes visible, a bank opens a row, a request is served. Nothing ticks.
//
// A request is a line with up to four sectors, all in one row. Serving it takes its column accesses at once:
// the bus is claimed for as long as they need, the bank group for as long as tCCDL spreads them, so that
// requests of other groups fill the gaps. A column access moves 32 bytes, or 64 or 128 where tCCD lasts that
// long (the two 32-bit chips of a channel of Fermi); the bus moves exactly dram.bandwidth.
//
// fr-fcfs (Rixner et al., "Memory access scheduling", ISCA 2000): served next is the oldest request whose row
// is open and whose bank can take a column command, decided when the bus can take its data. A bank none of
// whose requests wants the open row closes it and opens the row of its oldest, while others are served. After
// SERVED_MAX requests on a row for which others had to wait the row is closed all the same. Writes wait in a
// queue of their own when dram.write_queue is set; they are written in batches from 7/8 full down to 1/4, or
// so many at a time (dram.write_batch), and when there are no reads, or sooner (dram.write_start). fcfs: one
// request at a time; the row of the next is not looked at before.
//
// Addresses: a row's bytes lie in runs of 256, and consecutive runs of the channel in consecutive banks,
// whose lowest bits are the bank group: RRRR...CCC.BBGG.CCC.SSSSS, as GPGPU-Sim's mappings have it. Each row
// number rotates the banks by another hash of it, so that streams a power of two apart do not meet in one
// bank.
//
// A row nobody asks for is closed after IDLE_NS. The time that is lost to refresh (and to what else makes a
// plain stream slower than the bus) is 1 - dram.efficiency of each sixteenth of JEDEC's 3.9 us between
// refreshes, in which no column access starts: in many small pieces. With dram.trfc each bank is refreshed by
// itself besides, once in dram.trefi, all banks in turn: its row is closed, and it opens none meanwhile. A
// stream goes on with the other banks; but of 32 lines that a warp waits for one is likely to be late. Two
// runs side by side are refreshed together, and channels in groups that are not at the same bank at the same
// time (dram.refresh_groups): of lines that lie close together some are late about as often as on an H200.
#include "memory/dram.h"
#include "memory/memory.h"
#include "memory/memsys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE        UINT32_MAX
#define CLOSED      UINT64_MAX
#define NEVER       UINT64_MAX
#define SERVED_MAX  64
#define RUN         256 // bytes
#define IDLE_NS     500
#define REFRESH_NS  (3900.0 / 16)
#define TURN_CLOCKS 2 // between the data of a read and of a write; as GPGPU-Sim's tRTW has it

static uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t min(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

void orr_dram_configure(orr_dram_config *c, const orr_gpu *g) {
    *c = (orr_dram_config){0};
    c->fcfs = g->dram_policy == ORR_DRAM_FCFS;
    c->write_queue = g->dram_write_queue && !c->fcfs;
    c->limit = (uint32_t)g->dram_queue * 2;
    c->queue = c->fcfs ? 1 : (uint32_t)g->dram_queue;
    c->high = c->queue - c->queue / 8;
    c->low = g->dram_write_batch ? (uint32_t)less(c->high, (uint64_t)g->dram_write_batch) : c->queue / 4;
    c->start = (uint32_t)min((uint64_t)g->dram_write_start, c->high);
    c->early = g->dram_write_early ? (uint32_t)min((uint64_t)g->dram_write_early, c->high) : c->high;
    c->early_low =
        g->dram_write_batch ? (uint32_t)less(c->early, (uint64_t)g->dram_write_batch) : c->early / 4;
    c->banks = (uint32_t)g->dram_banks;
    c->groups = (uint32_t)(g->dram_bank_groups < g->dram_banks ? g->dram_bank_groups : g->dram_banks);

    for (uint32_t b = 0; b < c->banks; b++) c->group_of[b] = (uint8_t)(b % c->groups);

    uint32_t run = RUN < g->dram_row ? RUN : ORR_LINE;
    c->run_shift = run / ORR_LINE == 2;
    c->bank_div = orr_divider_of(c->banks);
    c->row_div = orr_divider_of(g->dram_row > run ? (uint32_t)(g->dram_row / run) : 1);

    double clock = (double)ORR_TICKS * g->clock_sm / g->clock_dram,
           ns = (double)ORR_TICKS * g->clock_sm / 1000;
    double sector = ORR_SECTOR * ns * g->dram_channels / g->dram_bandwidth;
    double ccd = g->dram_tccd * clock;
    c->atom = ccd < 1.5 * sector ? 1 : ccd < 3 * sector ? 2 : 4;
    c->sector = max(1, (uint64_t)llround(sector));
    c->column = max(1, (uint64_t)llround(sector * c->atom));
    c->same_group = c->groups > 1 ? max(c->column, (uint64_t)llround(g->dram_tccdl * clock)) : c->column;
    struct {
        uint64_t *to;
        int clocks;
    } const t[] = {
        {&c->rrd, g->dram_trrd}, {&c->rrd_write, g->dram_trrd_write ? g->dram_trrd_write : g->dram_trrd},
        {&c->rcd, g->dram_trcd}, {&c->ras, g->dram_tras},
        {&c->rp, g->dram_trp},   {&c->rc, g->dram_trc},
        {&c->cl, g->dram_tcl},   {&c->wl, g->dram_twl},
        {&c->wr, g->dram_twr},   {&c->wtr, g->dram_twtr},
        {&c->rtp, g->dram_trtp}, {&c->rtw, TURN_CLOCKS}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) *t[i].to = (uint64_t)llround(t[i].clocks * clock);
    c->idle = (uint64_t)llround(IDLE_NS * ns);
    c->bank_takes = (uint64_t)llround(g->dram_trfc * clock);
    c->bank_every = max(1, (uint64_t)llround(g->dram_trefi * ns));
    c->channels = (uint32_t)g->dram_channels;
    c->refresh_groups = (uint32_t)g->dram_refresh_groups;
    c->refresh_later = (uint64_t)llround(g->dram_refresh_spread * ns / g->dram_refresh_groups);
    c->refresh_start = (uint64_t)llround(g->dram_refresh_start * ns);
    c->paired = g->dram_refresh_groups > 1 && c->banks % 2 == 0;
    c->refresh_every = max(1, (uint64_t)llround(REFRESH_NS * ns));
    c->refresh_takes = (uint64_t)llround(REFRESH_NS * ns * (1 - g->dram_efficiency / 100));
}

// ---- lists and rings --------------------------------------------------------------------------

static void append(orr_dram *d, orr_dram_list *l, uint32_t e) {
    d->entry[e].next = NONE;
    if (l->head == NONE)
        l->head = e;
    else
        d->entry[l->tail].next = e;
    l->tail = e;
}

// What waits for `row` in `from` goes to `to`, which is empty.
static void pick_row(orr_dram *d, orr_dram_list *from, orr_dram_list *to, uint64_t row) {
    uint32_t e = from->head;
    *from = *to = (orr_dram_list){NONE, NONE};
    while (e != NONE) {
        uint32_t next = d->entry[e].next;
        append(d, d->entry[e].row == row ? to : from, e);
        e = next;
    }
}

// Both by age into `to`.
static void merge(orr_dram *d, orr_dram_list *from, orr_dram_list *to) {
    uint32_t a = from->head, b = to->head;
    *from = *to = (orr_dram_list){NONE, NONE};
    while (a != NONE || b != NONE) {
        uint32_t *older = b == NONE || (a != NONE && d->entry[a].seq < d->entry[b].seq) ? &a : &b;
        uint32_t e = *older;
        *older = d->entry[e].next;
        append(d, to, e);
    }
}

static orr_dram_request *ring_add(orr_dram_ring *r) {
    if (r->n == r->cap) {
        uint32_t cap = r->cap ? 2 * r->cap : 64;
        orr_dram_request *at = orr_malloc((size_t)cap * sizeof *at);
        for (uint32_t i = 0; i < r->n; i++) at[i] = r->at[(r->head + i) & (r->cap - 1)];
        free(r->at);
        *r = (orr_dram_ring){at, 0, r->n, cap};
    }
    return &r->at[(r->head + r->n++) & (r->cap - 1)];
}

static void set(uint64_t *bits, uint32_t i) { bits[i / 64] |= 1ull << i % 64; }
static void clear(uint64_t *bits, uint32_t i) { bits[i / 64] &= ~(1ull << i % 64); }
#define EACH_BANK(d, bits, b)                                                                                \
    for (uint32_t w_ = 0, b; w_ < (d)->words; w_++)                                                          \
        for (uint64_t m_ = (bits)[w_]; m_ && (b = w_ * 64 + (uint32_t)__builtin_ctzll(m_), true);            \
             m_ &= m_ - 1)

// ---- when --------------------------------------------------------------------------------------

// When a column access that could start at t may, for refresh: it starts as soon as it is due and the bus
// idle, and *due becomes the next one.
static uint64_t after_refresh(const orr_dram *d, uint64_t t, uint64_t *due) {
    const orr_dram_config *c = d->c;
    *due = d->refresh_at;
    if (t < *due || !c->refresh_takes) return t;
    *due +=
        (t - *due) / c->refresh_every * c->refresh_every; // those before passed while nothing was to be done
    t = max(t, max(*due, less(d->bus_free, c->cl)) + c->refresh_takes);
    *due += c->refresh_every;
    return t;
}

// When the bus can take the data of a column access, as seen from its command.
static uint64_t bus_at(const orr_dram *d, bool write) {
    const orr_dram_config *c = d->c;
    if (write) return less(d->bus_free + (d->wrote_last ? 0 : c->rtw), c->wl);
    return max(less(d->bus_free, c->cl), d->read_after_write);
}
static uint64_t column_at(const orr_dram *d, uint32_t b) {
    return max(d->column[b].at, d->group_at[d->c->group_of[b]]);
}

static void consider_column(orr_dram *d, uint32_t b) { // bank b has a first request for its row
    uint64_t due, t = max(column_at(d, b), bus_at(d, d->column[b].first & 1));
    t = after_refresh(d, max(t, d->now), &due);
    if (t >= d->next_column) return;
    d->next_column = t;
    d->next_refresh = due;
}

static void find_column(orr_dram *d) {
    uint64_t first = NEVER, bus[2] = {bus_at(d, false), bus_at(d, true)},
             soonest = max(d->now, min(bus[0], bus[1]));
    EACH_BANK(d, d->hits, b) {
        first = min(first, max(column_at(d, b), bus[d->column[b].first & 1]));
        if (first <= soonest) goto found;
    }
found:
    d->next_column = first == NEVER ? NEVER : after_refresh(d, max(first, d->now), &d->next_refresh);
}

static void find_activate(orr_dram *d) {
    uint64_t first = NEVER, soonest = max(d->activate_at, d->now);
    EACH_BANK(d, d->wants, b) {
        first = min(first, d->activate[b].at);
        if (first <= soonest) goto found;
    }
found:
    d->next_activate = first == NEVER ? NEVER : max(first, soonest);
}

static void find_arrival(orr_dram *d) {
    d->next_arrival = NEVER;
    for (int k = 0; k < 2; k++) {
        const orr_dram_ring *r = &d->ring[k];
        if (r->n && d->queued[k] < d->c->queue)
            d->next_arrival = min(d->next_arrival, max(r->at[r->head].time, d->now));
    }
}

// ---- what --------------------------------------------------------------------------------------

static void close_row(orr_dram *d, uint32_t b, uint64_t t) {
    orr_dram_bank *bank = &d->bank[b];
    d->activate[b].at = max(max(t, bank->close_at) + d->c->rp, bank->activated + d->c->rc);
    bank->row = CLOSED;
}

// The lists of bank b have changed: its turns are for their first requests.
static void set_turns(orr_dram *d, uint32_t b) {
    const orr_dram_bank *bank = &d->bank[b];
    uint32_t hit = bank->hit.head, rest = bank->rest[d->mode].head;
    if (hit != NONE) d->column[b].first = d->entry[hit].seq * 2 + d->entry[hit].write;
    if (rest != NONE) d->activate[b].first = d->entry[rest].seq * 2 + d->entry[rest].write;
}

// How long ago the last refresh of bank b began, at t: banks are refreshed in turn, or pairs of them.
static uint64_t since_refresh(const orr_dram *d, uint32_t b, uint64_t t) {
    const orr_dram_config *c = d->c;
    if (c->paired) b &= ~1u;
    return (t + d->refresh_ahead + b * c->bank_every / c->banks) % c->bank_every;
}

// When bank b may be opened that could be at t.
static uint64_t after_bank(const orr_dram *d, uint32_t b, uint64_t t) {
    const orr_dram_config *c = d->c;
    uint64_t since = since_refresh(d, b, t);
    return since < c->bank_takes ? t + c->bank_takes - since : t;
}

// Nothing waits for the open row of bank b: another will be opened.
static void prepare(orr_dram *d, uint32_t b) {
    if (d->bank[b].row != CLOSED) close_row(d, b, d->now);
    if (d->c->bank_takes) d->activate[b].at = after_bank(d, b, max(d->activate[b].at, d->now));
    set(d->wants, b);
    d->next_activate = min(d->next_activate, max(max(d->activate[b].at, d->activate_at), d->now));
}

static void enter(orr_dram *d, const orr_dram_request *r, int k) {
    const orr_dram_config *c = d->c;
    uint64_t row;
    uint32_t b = orr_dram_bank_of(c, r->line, c->paired, &row);
    orr_dram_bank *bank = &d->bank[b];

    uint32_t e = d->free;
    if (e == NONE) {
        e = (uint32_t)d->entries.n;
        (void)ORR_PUSH(&d->entries);
        d->entry = d->entries.at;
    } else {
        d->free = d->entry[e].next;
    }
    d->entry[e] = (orr_dram_entry){d->seq++, row, r->user, NONE, r->sectors, r->write};
    d->queued[k]++;

    bool idle = bank->hit.head == NONE && bank->rest[0].head == NONE && bank->rest[1].head == NONE;
    if (idle && bank->row != CLOSED && d->now >= bank->used + c->idle) close_row(d, b, bank->used + c->idle);
    if (idle && bank->row != CLOSED && c->bank_takes) { // a refresh has closed it
        uint64_t since = since_refresh(d, b, d->now);
        if (since < d->now - bank->used) close_row(d, b, d->now - since);
    }
    if (k == d->mode && bank->row == row) {
        append(d, &bank->hit, e);
        if (bank->hit.head != e) return;
        set_turns(d, b);
        set(d->hits, b);
        consider_column(d, b);
    } else {
        append(d, &bank->rest[k], e);
        if (k != d->mode || bank->rest[k].head != e) return;
        set_turns(d, b);
        if (bank->hit.head == NONE) prepare(d, b);
    }
}

// Serve requests of kind k from now on.
static void change_mode(orr_dram *d, int k) {
    memset(d->hits, 0, d->words * sizeof *d->hits);
    memset(d->wants, 0, d->words * sizeof *d->wants);
    d->next_activate = NEVER;
    int was = d->mode;
    d->mode = k;
    for (uint32_t b = 0; b < d->c->banks; b++) {
        orr_dram_bank *bank = &d->bank[b];
        if (bank->hit.head != NONE) merge(d, &bank->hit, &bank->rest[was]);
        if (bank->rest[k].head == NONE) continue;
        if (bank->row != CLOSED) pick_row(d, &bank->rest[k], &bank->hit, bank->row);
        set_turns(d, b);
        if (bank->hit.head != NONE)
            set(d->hits, b);
        else
            prepare(d, b);
    }
    find_column(d);
}

// Reads or writes? With dram.write_start a batch of writes is not given up when a read comes: of so many that
// wait while no read does, or of dram.write_early while few reads do, less than an eighth of the queue, until
// nearly all are written, those as well whose bank is being refreshed. Fewer wait for others to come, but not
// longer than IDLE_NS, and are given up for a read.
static void choose_mode(orr_dram *d) {
    const orr_dram_config *c = d->c;
    if (!c->write_queue) return;
    uint32_t reads = d->queued[0], writes = d->queued[1];
    bool write;
    if (c->start) {
        bool many = reads && reads >= c->queue / 8, late = d->now >= d->wrote_at + c->idle;
        uint32_t least = many ? c->high : reads ? c->early : c->start;
        if (!d->batch && writes >= least) {
            d->batch = true;
            d->left = many ? c->low : reads ? c->early_low : (uint32_t)less(writes, c->start);
        }
        if (writes <= d->left) d->batch = false;
        write = d->batch || (late && writes && !reads);
        d->next_turn = writes && !reads && !write ? max(d->now, d->wrote_at + c->idle) : NEVER;
    } else {
        if (writes >= c->high) d->batch = true;
        if (writes <= c->low) d->batch = false;
        write = writes && (d->batch || !reads);
    }
    if (write != d->mode && (d->queued[write] || c->start)) change_mode(d, write);
}

static void arrive(orr_dram *d) {
    for (int k = 0; k < 2; k++) {
        orr_dram_ring *r = &d->ring[k];
        while (r->n && d->queued[k] < d->c->queue && r->at[r->head].time <= d->now) {
            enter(d, &r->at[r->head], k);
            if (k) d->wrote_at = d->now;
            r->head = (r->head + 1) & (r->cap - 1);
            r->n--;
        }
    }
    choose_mode(d);
    find_arrival(d);
}

static void activate(orr_dram *d) {
    uint32_t chosen = NONE;
    uint64_t oldest = NEVER;
    EACH_BANK(d, d->wants, b) {
        if (d->activate[b].at <= d->now && d->activate[b].first < oldest) {
            oldest = d->activate[b].first;
            chosen = b;
        }
    }
    if (chosen == NONE) { // nobody's turn has come: there is nothing to do but to look again
        find_activate(d);
        return;
    }
    orr_dram_bank *bank = &d->bank[chosen];
    bank->row = d->entry[bank->rest[d->mode].head].row;
    bank->activated = bank->used = d->now;
    d->column[chosen].at = d->now + d->c->rcd;
    bank->close_at = d->now + d->c->ras;
    bank->served = 0;
    bank->fresh = true;
    d->activate_at = d->now + (d->entry[bank->rest[d->mode].head].write ? d->c->rrd_write : d->c->rrd);
    pick_row(d, &bank->rest[d->mode], &bank->hit, bank->row);
    set_turns(d, chosen);
    clear(d->wants, chosen);
    set(d->hits, chosen);
    consider_column(d, chosen);
    find_activate(d);
}

static bool serve(orr_dram *d, orr_dram_done *done) {
    const orr_dram_config *c = d->c;
    uint32_t b = NONE;
    uint64_t oldest = NEVER, bus[2] = {bus_at(d, false), bus_at(d, true)};
    EACH_BANK(d, d->hits, i) {
        uint64_t first = d->column[i].first;
        if (first < oldest && max(column_at(d, i), bus[first & 1]) <= d->now) {
            oldest = first;
            b = i;
        }
    }
    orr_dram_bank *bank = &d->bank[b];
    uint32_t e = bank->hit.head, n = orr_dram_columns(c, d->entry[e].sectors);
    orr_dram_entry *entry = &d->entry[e];
    bank->hit.head = entry->next;
    d->refresh_at = d->next_refresh;

    uint64_t data = d->now + (entry->write ? c->wl : c->cl);
    d->bus_free = data + n * c->column;
    uint64_t end = max(d->bus_free, data + (n - 1) * c->same_group + c->column);
    d->group_at[c->group_of[b]] = d->now + n * c->same_group;
    d->wrote_last = entry->write;
    bank->used = d->now;
    if (entry->write) {
        d->read_after_write = end + c->wtr;
        bank->close_at = max(bank->close_at, end + c->wr);
        d->writes += (uint64_t)orr_popc(entry->sectors);
    } else {
        bank->close_at = max(bank->close_at, end - c->column - c->cl + c->rtp);
        d->reads += (uint64_t)orr_popc(entry->sectors);
        *done = (orr_dram_done){end, entry->user, entry->sectors};
    }
    d->busy += n * c->column;
    d->row_hit += n - bank->fresh;
    d->row_miss += bank->fresh;
    bank->fresh = false;
    d->queued[entry->write && c->write_queue]--;
    entry->next = d->free;
    d->free = e;

    orr_dram_list *rest = &bank->rest[d->mode];
    if (rest->head != NONE && ++bank->served >= SERVED_MAX && bank->hit.head != NONE)
        merge(d, &bank->hit, rest);
    set_turns(d, b);
    if (bank->hit.head == NONE) {
        clear(d->hits, b);
        if (rest->head != NONE) prepare(d, b);
    }
    bool read = !entry->write;
    choose_mode(d);
    find_column(d);
    find_arrival(d);
    return read;
}

bool orr_dram_step(orr_dram *d, orr_dram_done *done) {
    d->now = orr_dram_next(d);
    if (d->next_arrival <= d->now)
        arrive(d);
    else if (d->next_turn <= d->now)
        choose_mode(d);
    else if (d->next_activate <= d->now)
        activate(d);
    else
        return serve(d, done);
    return false;
}

void orr_dram_push(orr_dram *d, uint64_t time, uint64_t line, uint8_t sectors, bool write, uint32_t user) {
    int k = write && d->c->write_queue;
    *ring_add(&d->ring[k]) = (orr_dram_request){time, line, user, sectors, write};
    if (d->ring[k].n == 1) find_arrival(d);
}

// ---- beginning and end -------------------------------------------------------------------------

void orr_dram_reset(orr_dram *d) {
    const orr_dram_config *c = d->c;
    d->entries.n = 0;
    d->free = NONE;
    for (uint32_t b = 0; b < c->banks; b++)
        d->bank[b] =
            (orr_dram_bank){.row = CLOSED, .hit = {NONE, NONE}, .rest = {{NONE, NONE}, {NONE, NONE}}};
    memset(d->column, 0, c->banks * sizeof *d->column);
    memset(d->activate, 0, c->banks * sizeof *d->activate);
    memset(d->hits, 0, d->words * sizeof *d->hits);
    memset(d->wants, 0, d->words * sizeof *d->wants);
    memset(d->group_at, 0, c->groups * sizeof *d->group_at);
    for (int k = 0; k < 2; k++) d->ring[k].head = d->ring[k].n = d->queued[k] = 0;
    d->mode = 0;
    d->left = 0;
    d->batch = d->wrote_last = false;
    d->now = d->seq = d->activate_at = d->bus_free = d->read_after_write = 0;
    d->refresh_at = c->refresh_every - c->refresh_takes;
    d->next_arrival = d->next_activate = d->next_column = d->next_turn = NEVER;
    d->wrote_at = 0;
    d->reads = d->writes = d->row_hit = d->row_miss = d->busy = 0;
}

void orr_dram_init(orr_dram *d, const orr_dram_config *c, uint32_t number) {
    *d = (orr_dram){.c = c, .words = (c->banks + 63) / 64};
    d->bank = orr_calloc(c->banks, sizeof *d->bank);
    d->column = orr_calloc(c->banks, sizeof *d->column);
    d->activate = orr_calloc(c->banks, sizeof *d->activate);
    d->hits = orr_calloc(d->words, sizeof *d->hits);
    d->wants = orr_calloc(d->words, sizeof *d->wants);
    d->group_at = orr_calloc(c->groups, sizeof *d->group_at);
    uint64_t later = (uint64_t)number * c->refresh_groups / c->channels * c->refresh_later;
    d->refresh_ahead = c->refresh_start + c->bank_every - later % c->bank_every;
    orr_dram_reset(d);
}

void orr_dram_free(orr_dram *d) {
    free(d->bank);
    free(d->column);
    free(d->activate);
    free(d->hits);
    free(d->wants);
    free(d->group_at);
    free(d->entries.at);
    free(d->ring[0].at);
    free(d->ring[1].at);
}
