// A DRAM channel by latency and bandwidth (fast_dram.h).
//
// A bank has the row that was opened last: another one costs an activation, and the bank is not free for the
// next before tRC. What fr-fcfs does with a queue, serving an open row first, is had by looking back: a
// request that came before its bank changed rows still finds the old one open. A bank that is being refreshed
// has no row open and opens none.
//
// Writes wait in a queue of their own and are written in batches, for which reads stand still: the bus turns
// round twice, rows of reads are closed, and so few writes do not keep all bank groups busy. Nobody waits for
// a write, so all that matters is how much longer everything else takes. That is measured, not derived.
#include "memory/fast_dram.h"

#include <stdlib.h>

#include "memory/memory.h"
#include "memory/memsys.h"

static uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }

// ---- what a channel makes of streams and of random lines ----------------------------------------

#define TRIAL      1024 // reads or writes of a trial
#define LONG_TRIAL 2048 // and where they take turns

// Where the n-th line of a trial is: lines one after the other, or anywhere. Writes are to other rows.
static uint64_t line_of_trial(uint32_t n, bool scattered, bool write) {
    uint64_t line = scattered ? (n * 0x9e3779b97f4a7c15ull >> 40) : n;
    return line + (write ? 1u << 26 : 0);
}

// Reads, writes or both, one after the other, as fast as the channel takes them: ticks of one, or of both, in
// the second half of a trial.
static uint64_t steady(const orr_dram_spec *c, bool reads, bool writes, bool scattered) {
    orr_dram d;
    orr_dram_init(&d, c, 0);
    uint32_t all = reads && writes ? LONG_TRIAL : TRIAL, asked = 0, done = 0, ahead = 2 * c->policy.queue;
    uint64_t half = 0;
    uint8_t sectors = scattered ? 3 : 15;
    while ((reads ? done : asked) < all) {
        for (; (reads ? asked - done < ahead : asked < all) && !orr_dram_full(&d); asked++) {
            orr_dram_request r = {.time = d.s.now, .sectors = sectors};
            r.line = line_of_trial(asked, scattered, false);
            if (reads) orr_dram_push(&d, &r);
            r.write = true;
            r.line = line_of_trial(asked, scattered, true);
            if (writes) orr_dram_push(&d, &r);
        }
        if ((reads ? done : asked) <= all / 2) half = d.s.bus_free;
        if (orr_dram_next(&d) == UINT64_MAX) break;
        orr_dram_done one;
        done += orr_dram_step(&d, &one);
    }
    uint64_t ticks = d.s.bus_free - half;
    orr_dram_free(&d);
    return ticks / (all / 2);
}

void orr_fast_dram_spec_read(orr_fast_dram_spec *c, const orr_gpu *g) {
    orr_dram_spec_read(&c->dram, g);
    const orr_dram_map *map = &c->dram.map;
    const orr_dram_policy *policy = &c->dram.policy;
    uint64_t line = orr_dram_columns(map, 15);
    uint64_t read = steady(&c->dram, true, false, false), write = steady(&c->dram, false, true, false);
    c->read_column = max(c->dram.timing.column, read / line);
    c->write_column = max(c->dram.timing.column, write / line);
    c->read_row = max(c->dram.timing.rrd, steady(&c->dram, true, false, true));
    c->write_row = max(c->dram.timing.rrd_write, steady(&c->dram, false, true, true));
    c->batch = policy->write_queue && policy->high > policy->low ? policy->high - policy->low : 1;
    uint64_t both = steady(&c->dram, true, true, false), alone = read + write;
    c->turn = both > alone ? (both - alone) * c->batch : 0;
}

// ---- a channel ----------------------------------------------------------------------------------

void orr_fast_dram_init(orr_fast_dram *d, const orr_fast_dram_spec *c, uint32_t number) {
    *d = (orr_fast_dram){.bank = orr_apart(c->dram.map.banks, sizeof *d->bank),
                         .refresh_ahead = orr_dram_refresh_ahead(&c->dram, number)};
}

void orr_fast_dram_free(orr_fast_dram *d) { free(d->bank); }

// Books `cost` ticks at or after t; when it begins.
static uint64_t book(orr_reservations *r, uint64_t t, uint64_t cost) {
    return orr_reserve(r, t, cost, ORR_FAST_SLOT) - cost;
}

// The row is open at t, or was when the request came.
static bool finds_open(const orr_fast_dram *d, const orr_fast_dram_spec *c, uint32_t b, uint64_t row,
                       uint64_t t, uint64_t since) {
    const orr_fast_bank *bank = &d->bank[b];
    bool open = bank->row == row + 1 && t < bank->used + c->dram.policy.idle;
    if (open && c->dram.refresh.bank_takes && t > bank->used) // a refresh has closed it
        open = orr_dram_since_refresh(&c->dram, d->refresh_ahead, b, t - since) >= t - bank->used;
    return open || (bank->before == row + 1 && t < bank->opened);
}

uint64_t orr_fast_dram_read(orr_fast_dram *d, const orr_fast_dram_spec *c, uint64_t line, uint8_t sectors,
                            uint64_t t, uint64_t since) {
    const orr_dram_spec *s = &c->dram;
    d->read = true;
    uint64_t row;
    uint32_t n = orr_dram_columns(&s->map, sectors), b = orr_dram_bank_of(&s->map, line, &row);
    orr_fast_bank *bank = &d->bank[b];
    if (!finds_open(d, c, b, row, t, since)) {
        bool closes = bank->row && t < bank->used + s->policy.idle;
        uint64_t open = max(t + (closes ? s->timing.rp : 0), bank->activate);
        if (s->refresh.bank_takes)
            open = since + orr_dram_after_refresh(s, d->refresh_ahead, b, open - since);
        open = book(&d->activations, open, c->read_row);
        bank->before = bank->row;
        bank->row = row + 1;
        bank->opened = open;
        bank->column = open + s->timing.rcd;
        bank->activate = open + s->timing.rc;
    }
    uint64_t ready = bank->row == row + 1 ? max(t, bank->column) : t;
    bank->used = max(bank->used, ready);
    uint64_t data = book(&d->bus, ready + s->timing.cl, n * c->read_column);
    return max(data + n * s->timing.column, data + (n - 1) * s->timing.same_group + s->timing.column);
}

void orr_fast_dram_write(orr_fast_dram *d, const orr_fast_dram_spec *c, uint64_t line, uint8_t sectors,
                         uint64_t t) {
    const orr_dram_spec *s = &c->dram;
    uint64_t row, cost = orr_dram_columns(&s->map, sectors) * c->write_column;
    orr_fast_bank *bank = &d->bank[orr_dram_bank_of(&s->map, line, &row)];
    if (bank->written != row + 1) cost = max(cost, c->write_row);
    bank->written = row + 1;
    d->owed += cost;
    if (++d->waiting < c->batch) return;
    book(&d->bus, t + s->timing.wl, d->owed + (d->read ? c->turn : 0));
    d->owed = 0;
    d->waiting = 0;
    d->read = false;
}
