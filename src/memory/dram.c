// One channel of DRAM (dram.h).
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
// so many at a time (dram.write_batch), and when there are no reads, or sooner (dram.write_start). When the
// bus turns, what waits for rows that are open is served first, and rows for the other kind are opened
// meanwhile. fcfs: one request at a time; the row of the next is not looked at before.
//
// Addresses: a row's bytes lie in runs of 256, and consecutive runs of the channel in consecutive banks,
// whose lowest bits are the bank group: RRRR...CCC.BBGG.CCC.SSSSS, as GPGPU-Sim's mappings have it. Each row
// number rotates the banks by another hash of it, so that streams a power of two apart do not meet in one
// bank.
//
// A row nobody asks for is closed after dram.idle. The time that is lost to refresh (and to what else makes a
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
#define ALONE       (1ull << 63) // and a number: a row as good as any that no other request is for
#define SERVED_MAX  64
#define RUN         256 // bytes
#define REFRESH_NS  (3900.0 / 16)
#define TURN_CLOCKS 2 // between the data of a read and of a write; as GPGPU-Sim's tRTW has it

static uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t min(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

void orr_dram_spec_read(orr_dram_spec *c, const orr_gpu *g) {
    *c = (orr_dram_spec){0};
    c->policy.fcfs = g->dram_policy == ORR_DRAM_FCFS;
    c->policy.write_queue = g->dram_write_queue && !c->policy.fcfs;
    c->policy.limit = (uint32_t)g->dram_queue * 2;
    c->policy.queue = c->policy.fcfs ? 1 : (uint32_t)g->dram_queue;
    c->policy.high = c->policy.queue - c->policy.queue / 8;
    c->policy.low = g->dram_write_batch ? (uint32_t)less(c->policy.high, (uint64_t)g->dram_write_batch)
                                        : c->policy.queue / 4;
    c->policy.start = (uint32_t)min((uint64_t)g->dram_write_start, c->policy.high);
    c->policy.early_start =
        g->dram_write_early ? (uint32_t)min((uint64_t)g->dram_write_early, c->policy.high) : c->policy.high;
    c->policy.early_low = g->dram_write_batch
                              ? (uint32_t)less(c->policy.early_start, (uint64_t)g->dram_write_batch)
                              : c->policy.early_start / 4;
    c->map.banks = (uint32_t)g->dram_banks;
    c->map.groups = (uint32_t)(g->dram_bank_groups < g->dram_banks ? g->dram_bank_groups : g->dram_banks);

    for (uint32_t b = 0; b < c->map.banks; b++) c->map.group_of[b] = (uint8_t)(b % c->map.groups);

    uint32_t run = RUN < g->dram_row ? RUN : ORR_LINE;
    c->map.run_shift = run / ORR_LINE == 2;
    c->map.turn_shift = g->dram_channels > g->l2_slices ? 45 : 44;
    c->map.bank_div = orr_divider_of(c->map.banks);
    c->map.row_div = orr_divider_of(g->dram_row > run ? (uint32_t)(g->dram_row / run) : 1);

    double clock = (double)ORR_TICKS * g->clock_sm / g->clock_dram,
           ns = (double)ORR_TICKS * g->clock_sm / 1000;
    double sector = ORR_SECTOR * ns * g->dram_channels / g->dram_bandwidth;
    double ccd = g->dram_tccd * clock;
    c->map.atom = ccd < 1.5 * sector ? 1 : ccd < 3 * sector ? 2 : 4;
    c->timing.sector = max(1, (uint64_t)llround(sector));
    c->timing.column = max(1, (uint64_t)llround(sector * c->map.atom));
    c->timing.same_group = c->map.groups > 1 ? max(c->timing.column, (uint64_t)llround(g->dram_tccdl * clock))
                                             : c->timing.column;
    struct {
        uint64_t *to;
        int clocks;
    } const t[] = {{&c->timing.rrd, g->dram_trrd},
                   {&c->timing.rcd, g->dram_trcd},
                   {&c->timing.ras, g->dram_tras},
                   {&c->timing.rp, g->dram_trp},
                   {&c->timing.rc, g->dram_trc},
                   {&c->timing.cl, g->dram_tcl},
                   {&c->timing.wl, g->dram_twl},
                   {&c->timing.wr, g->dram_twr},
                   {&c->timing.wtr, g->dram_twtr},
                   {&c->timing.rtp, g->dram_trtp},
                   {&c->timing.rrd_write, g->dram_trrd_write ? g->dram_trrd_write : g->dram_trrd},
                   {&c->timing.rtw, TURN_CLOCKS}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) *t[i].to = (uint64_t)llround(t[i].clocks * clock);
    c->policy.idle = (uint64_t)llround(g->dram_idle * ns);
    c->refresh.bank_takes = (uint64_t)llround(g->dram_trfc * clock);
    c->refresh.bank_every = max(1, (uint64_t)llround(g->dram_trefi * ns));
    c->refresh.channels = (uint32_t)g->dram_channels;
    c->refresh.groups = (uint32_t)g->dram_refresh_groups;
    c->refresh.group_offset = (uint64_t)llround(g->dram_refresh_spread * ns / g->dram_refresh_groups);
    c->refresh.start = (uint64_t)llround(g->dram_refresh_start * ns);
    c->refresh.all_every = max(1, (uint64_t)llround(REFRESH_NS * ns));
    c->refresh.all_takes = (uint64_t)llround(REFRESH_NS * ns * (1 - g->dram_efficiency / 100));
}

// ---- lists and rings --------------------------------------------------------------------------

static void append(orr_dram *d, orr_dram_list *l, uint32_t e) {
    d->entries.at[e].next = NONE;
    if (l->head == NONE)
        l->head = e;
    else
        d->entries.at[l->tail].next = e;
    l->tail = e;
}

// What waits for `row` in `from` goes to `to`, which is empty.
static void pick_row(orr_dram *d, orr_dram_list *from, orr_dram_list *to, uint64_t row) {
    uint32_t e = from->head;
    *from = *to = (orr_dram_list){NONE, NONE};
    while (e != NONE) {
        uint32_t next = d->entries.at[e].next;
        append(d, d->entries.at[e].row == row ? to : from, e);
        e = next;
    }
}

// Both by age into `to`.
static void merge(orr_dram *d, orr_dram_list *from, orr_dram_list *to) {
    uint32_t a = from->head, b = to->head;
    *from = *to = (orr_dram_list){NONE, NONE};
    while (a != NONE || b != NONE) {
        uint32_t *older = b == NONE || (a != NONE && d->entries.at[a].seq < d->entries.at[b].seq) ? &a : &b;
        uint32_t e = *older;
        *older = d->entries.at[e].next;
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
    const orr_dram_spec *c = d->spec;
    *due = d->s.refresh_at;
    if (t < *due || !c->refresh.all_takes) return t;
    *due += (t - *due) / c->refresh.all_every *
            c->refresh.all_every; // those before passed while nothing was to be done
    t = max(t, max(*due, less(d->s.bus_free, c->timing.cl)) + c->refresh.all_takes);
    *due += c->refresh.all_every;
    return t;
}

// When the bus can take the data of a column access, as seen from its command.
static uint64_t bus_at(const orr_dram *d, bool write) {
    const orr_dram_spec *c = d->spec;
    if (write) return less(d->s.bus_free + (d->s.wrote_last ? 0 : c->timing.rtw), c->timing.wl);
    return max(less(d->s.bus_free, c->timing.cl), d->s.read_after_write);
}
static uint64_t column_at(const orr_dram *d, uint32_t b) {
    return max(d->column[b].at, d->group_at[d->spec->map.group_of[b]]);
}

// While the kind that was served has open rows, the other one waits.
static bool may_serve(const orr_dram *d, uint32_t b) {
    return d->s.mode == d->s.opening || (int)(d->column[b].first & 1) == d->s.mode;
}

static void consider_column(orr_dram *d, uint32_t b) { // bank b has a first request for its row
    if (!may_serve(d, b)) return;
    uint64_t due, t = max(column_at(d, b), bus_at(d, d->column[b].first & 1));
    t = after_refresh(d, max(t, d->s.now), &due);
    if (t >= d->s.next_column) return;
    d->s.next_column = t;
    d->s.next_refresh = due;
}

static void find_column(orr_dram *d) {
    uint64_t first = NEVER, bus[2] = {bus_at(d, false), bus_at(d, true)},
             soonest = max(d->s.now, min(bus[0], bus[1]));
    EACH_BANK(d, d->hit_banks, b) {
        if (!may_serve(d, b)) continue;
        first = min(first, max(column_at(d, b), bus[d->column[b].first & 1]));
        if (first <= soonest) goto found;
    }
found:
    d->s.next_column = first == NEVER ? NEVER : after_refresh(d, max(first, d->s.now), &d->s.next_refresh);
}

static void find_activate(orr_dram *d) {
    uint64_t first = NEVER, soonest = max(d->s.activate_at, d->s.now);
    EACH_BANK(d, d->activate_banks, b) {
        first = min(first, d->activate[b].at);
        if (first <= soonest) goto found;
    }
found:
    d->s.next_activate = first == NEVER ? NEVER : max(first, soonest);
}

static void find_arrival(orr_dram *d) {
    d->s.next_arrival = NEVER;
    for (int k = 0; k < 2; k++) {
        const orr_dram_ring *r = &d->ring[k];
        if (r->n && d->s.queued[k] < d->spec->policy.queue)
            d->s.next_arrival = min(d->s.next_arrival, max(r->at[r->head].time, d->s.now));
    }
}

// ---- what --------------------------------------------------------------------------------------

static void close_row(orr_dram *d, uint32_t b, uint64_t t) {
    orr_dram_bank *bank = &d->bank[b];
    d->activate[b].at =
        max(max(t, bank->close_at) + d->spec->timing.rp, bank->activated + d->spec->timing.rc);
    bank->row = CLOSED;
}

// The lists of bank b have changed: its turns are for their first requests.
static void set_turns(orr_dram *d, uint32_t b) {
    const orr_dram_bank *bank = &d->bank[b];
    uint32_t hit = bank->row_hits.head, rest = bank->other_rows[d->s.opening].head;
    if (hit != NONE) d->column[b].first = d->entries.at[hit].seq * 2 + d->entries.at[hit].write;
    if (rest != NONE) d->activate[b].first = d->entries.at[rest].seq * 2 + d->entries.at[rest].write;
}

// Nothing waits for the open row of bank b: another will be opened.
static void prepare(orr_dram *d, uint32_t b) {
    if (d->bank[b].row != CLOSED) close_row(d, b, d->s.now);
    if (d->spec->refresh.bank_takes)
        d->activate[b].at =
            orr_dram_after_refresh(d->spec, d->refresh_ahead, b, max(d->activate[b].at, d->s.now));
    set(d->activate_banks, b);
    d->s.next_activate = min(d->s.next_activate, max(max(d->activate[b].at, d->s.activate_at), d->s.now));
}

// Which of the two lists of other rows a request belongs to.
static int kind_of(const orr_dram *d, uint32_t e) {
    return d->spec->policy.write_queue && d->entries.at[e].write;
}

static void enter(orr_dram *d, const orr_dram_request *r, int k) {
    const orr_dram_spec *c = d->spec;
    uint64_t row;
    // What has a row of its own comes at another time than the rest of its line, and so seldom meets it in a
    // bank.
    uint32_t b = orr_dram_bank_of(&c->map, r->own_row ? r->line + r->sectors * 977ull : r->line, &row);
    if (r->own_row) row = ALONE + d->s.seq;
    orr_dram_bank *bank = &d->bank[b];

    uint32_t e = d->s.free;
    if (e == NONE) {
        e = (uint32_t)d->entries.n;
        (void)ORR_PUSH(&d->entries);
    } else {
        d->s.free = d->entries.at[e].next;
    }
    d->entries.at[e] = (orr_dram_entry){d->s.seq++, row, r->user, NONE, r->sectors, r->write};
    d->s.queued[k]++;

    bool idle =
        bank->row_hits.head == NONE && bank->other_rows[0].head == NONE && bank->other_rows[1].head == NONE;
    if (idle && bank->row != CLOSED && d->s.now >= bank->used + c->policy.idle)
        close_row(d, b, bank->used + c->policy.idle);
    if (idle && bank->row != CLOSED && c->refresh.bank_takes) { // a refresh has closed it
        uint64_t since = orr_dram_since_refresh(c, d->refresh_ahead, b, d->s.now);
        if (since < d->s.now - bank->used) close_row(d, b, d->s.now - since);
    }
    bool others = bank->row_hits.head != NONE && kind_of(d, bank->row_hits.head) != k;
    if (k == d->s.opening && bank->row == row && !others) {
        append(d, &bank->row_hits, e);
        if (bank->row_hits.head != e) return;
        set_turns(d, b);
        set(d->hit_banks, b);
        consider_column(d, b);
    } else {
        append(d, &bank->other_rows[k], e);
        if (k != d->s.opening || bank->other_rows[k].head != e) return;
        set_turns(d, b);
        if (bank->row_hits.head == NONE) prepare(d, b);
    }
}

// Bank b has served what its row was opened for: it goes on with the kind that rows are opened for.
static void reopen(orr_dram *d, uint32_t b) {
    orr_dram_bank *bank = &d->bank[b];
    orr_dram_list *rest = &bank->other_rows[d->s.opening];
    if (rest->head == NONE) return;
    if (bank->row != CLOSED) pick_row(d, rest, &bank->row_hits, bank->row);
    set_turns(d, b);
    if (bank->row_hits.head != NONE)
        set(d->hit_banks, b);
    else
        prepare(d, b);
}

// Rows are opened for requests of kind k from now on. What waits for a row that is open is served before.
static void change_mode(orr_dram *d, int k) {
    memset(d->activate_banks, 0, d->words * sizeof *d->activate_banks);
    d->s.next_activate = NEVER;
    d->s.opening = k;
    bool served = true;
    for (uint32_t b = 0; b < d->spec->map.banks; b++) {
        if (d->bank[b].row_hits.head == NONE)
            reopen(d, b);
        else
            served = false;
    }
    if (served) d->s.mode = k;
    find_column(d);
}

// The last request of the kind that was served may have been: the other one's turn has come.
static void end_turn(orr_dram *d) {
    EACH_BANK(d, d->hit_banks, b) {
        if (may_serve(d, b)) return;
    }
    d->s.mode = d->s.opening;
}

// Reads or writes? With dram.write_start a batch of writes is not given up when a read comes: of so many that
// wait while no read does, or of dram.write_early while few reads do, less than an eighth of the queue, until
// nearly all are written, those as well whose bank is being refreshed. Fewer wait for others to come, but not
// longer than dram.idle, and are given up for a read.
static void choose_mode(orr_dram *d) {
    const orr_dram_spec *c = d->spec;
    if (!c->policy.write_queue) return;
    if (d->s.mode != d->s.opening) { // chosen already, and the bus is about to turn
        d->s.next_turn = NEVER;
        return;
    }
    uint32_t reads = d->s.queued[0], writes = d->s.queued[1];
    bool write;
    if (c->policy.start) {
        bool many = reads && reads >= c->policy.queue / 8, late = d->s.now >= d->s.wrote_at + c->policy.idle;
        uint32_t least = many ? c->policy.high : reads ? c->policy.early_start : c->policy.start;
        if (!d->s.batch && writes >= least) {
            d->s.batch = true;
            d->s.left = many    ? c->policy.low
                        : reads ? c->policy.early_low
                                : (uint32_t)less(writes, c->policy.start);
        }
        if (writes <= d->s.left) d->s.batch = false;
        write = d->s.batch || (late && writes && !reads);
        d->s.next_turn = writes && !reads && !write ? max(d->s.now, d->s.wrote_at + c->policy.idle) : NEVER;
    } else {
        if (writes >= c->policy.high) d->s.batch = true;
        if (writes <= c->policy.low) d->s.batch = false;
        write = writes && (d->s.batch || !reads);
    }
    if (write != d->s.mode && (d->s.queued[write] || c->policy.start)) change_mode(d, write);
}

static void arrive(orr_dram *d) {
    for (int k = 0; k < 2; k++) {
        orr_dram_ring *r = &d->ring[k];
        while (r->n && d->s.queued[k] < d->spec->policy.queue && r->at[r->head].time <= d->s.now) {
            enter(d, &r->at[r->head], k);
            if (k) d->s.wrote_at = d->s.now;
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
    EACH_BANK(d, d->activate_banks, b) {
        if (d->activate[b].at <= d->s.now && d->activate[b].first < oldest) {
            oldest = d->activate[b].first;
            chosen = b;
        }
    }
    if (chosen == NONE) { // nobody's turn has come: there is nothing to do but to look again
        find_activate(d);
        return;
    }
    orr_dram_bank *bank = &d->bank[chosen];
    const orr_dram_entry *entry = &d->entries.at[bank->other_rows[d->s.opening].head];
    bank->row = entry->row;
    bank->activated = bank->used = d->s.now;
    d->column[chosen].at = d->s.now + d->spec->timing.rcd;
    bank->close_at = d->s.now + d->spec->timing.ras;
    bank->served = 0;
    bank->just_opened = true;
    d->s.activate_at = d->s.now + (entry->write ? d->spec->timing.rrd_write : d->spec->timing.rrd);
    pick_row(d, &bank->other_rows[d->s.opening], &bank->row_hits, bank->row);
    set_turns(d, chosen);
    clear(d->activate_banks, chosen);
    set(d->hit_banks, chosen);
    consider_column(d, chosen);
    find_activate(d);
}

static bool serve(orr_dram *d, orr_dram_done *done) {
    const orr_dram_spec *c = d->spec;
    uint32_t b = NONE;
    uint64_t oldest = NEVER, bus[2] = {bus_at(d, false), bus_at(d, true)};
    EACH_BANK(d, d->hit_banks, i) {
        uint64_t first = d->column[i].first;
        if (first < oldest && may_serve(d, i) && max(column_at(d, i), bus[first & 1]) <= d->s.now) {
            oldest = first;
            b = i;
        }
    }
    orr_dram_bank *bank = &d->bank[b];
    uint32_t e = bank->row_hits.head, n = orr_dram_columns(&c->map, d->entries.at[e].sectors);
    orr_dram_entry *entry = &d->entries.at[e];
    bank->row_hits.head = entry->next;
    d->s.refresh_at = d->s.next_refresh;

    uint64_t data = d->s.now + (entry->write ? c->timing.wl : c->timing.cl);
    d->s.bus_free = data + n * c->timing.column;
    uint64_t end = max(d->s.bus_free, data + (n - 1) * c->timing.same_group + c->timing.column);
    d->group_at[c->map.group_of[b]] = d->s.now + n * c->timing.same_group;
    d->s.wrote_last = entry->write;
    bank->used = d->s.now;
    if (entry->write) {
        d->s.read_after_write = end + c->timing.wtr;
        bank->close_at = max(bank->close_at, end + c->timing.wr);
        d->n.writes += (uint64_t)orr_popc(entry->sectors);
    } else {
        bank->close_at = max(bank->close_at, end - c->timing.column - c->timing.cl + c->timing.rtp);
        d->n.reads += (uint64_t)orr_popc(entry->sectors);
        *done = (orr_dram_done){end, entry->user, entry->sectors};
    }
    d->n.busy += n * c->timing.column;
    d->n.row_hit += n - bank->just_opened;
    d->n.row_miss += bank->just_opened;
    bank->just_opened = false;
    d->s.queued[entry->write && c->policy.write_queue]--;
    entry->next = d->s.free;
    d->s.free = e;

    bool turning = d->s.mode != d->s.opening;
    orr_dram_list *rest = &bank->other_rows[d->s.opening];
    if (!turning && rest->head != NONE && ++bank->served >= SERVED_MAX && bank->row_hits.head != NONE)
        merge(d, &bank->row_hits, rest);
    set_turns(d, b);
    if (bank->row_hits.head == NONE) {
        clear(d->hit_banks, b);
        if (turning)
            reopen(d, b);
        else if (rest->head != NONE)
            prepare(d, b);
    }
    if (turning) end_turn(d);
    bool read = !entry->write;
    choose_mode(d);
    find_column(d);
    find_arrival(d);
    return read;
}

bool orr_dram_step(orr_dram *d, orr_dram_done *done) {
    d->s.now = orr_dram_next(d);
    if (d->s.next_arrival <= d->s.now)
        arrive(d);
    else if (d->s.next_turn <= d->s.now)
        choose_mode(d);
    else if (d->s.next_activate <= d->s.now)
        activate(d);
    else
        return serve(d, done);
    return false;
}

void orr_dram_push(orr_dram *d, const orr_dram_request *r) {
    int k = r->write && d->spec->policy.write_queue;
    *ring_add(&d->ring[k]) = *r;
    if (d->ring[k].n == 1) find_arrival(d);
}

// ---- beginning and end -------------------------------------------------------------------------

void orr_dram_reset(orr_dram *d) {
    const orr_dram_spec *c = d->spec;
    d->entries.n = 0;
    for (uint32_t b = 0; b < c->map.banks; b++)
        d->bank[b] = (orr_dram_bank){
            .row = CLOSED, .row_hits = {NONE, NONE}, .other_rows = {{NONE, NONE}, {NONE, NONE}}};
    memset(d->column, 0, c->map.banks * sizeof *d->column);
    memset(d->activate, 0, c->map.banks * sizeof *d->activate);
    memset(d->hit_banks, 0, d->words * sizeof *d->hit_banks);
    memset(d->activate_banks, 0, d->words * sizeof *d->activate_banks);
    memset(d->group_at, 0, c->map.groups * sizeof *d->group_at);
    for (int k = 0; k < 2; k++) d->ring[k].head = d->ring[k].n = 0;
    d->s = (orr_dram_state){.free = NONE,
                            .refresh_at = c->refresh.all_every - c->refresh.all_takes,
                            .next_arrival = NEVER,
                            .next_activate = NEVER,
                            .next_column = NEVER,
                            .next_turn = NEVER};
    d->n = (orr_dram_counters){0};
}

void orr_dram_init(orr_dram *d, const orr_dram_spec *c, uint32_t number) {
    *d = (orr_dram){.spec = c, .words = (c->map.banks + 63) / 64};
    d->bank = orr_calloc(c->map.banks, sizeof *d->bank);
    d->column = orr_calloc(c->map.banks, sizeof *d->column);
    d->activate = orr_calloc(c->map.banks, sizeof *d->activate);
    d->hit_banks = orr_calloc(d->words, sizeof *d->hit_banks);
    d->activate_banks = orr_calloc(d->words, sizeof *d->activate_banks);
    d->group_at = orr_calloc(c->map.groups, sizeof *d->group_at);
    d->refresh_ahead = orr_dram_refresh_ahead(c, number);
    orr_dram_reset(d);
}

void orr_dram_free(orr_dram *d) {
    free(d->bank);
    free(d->column);
    free(d->activate);
    free(d->hit_banks);
    free(d->activate_banks);
    free(d->group_at);
    free(d->entries.at);
    free(d->ring[0].at);
    free(d->ring[1].at);
}
