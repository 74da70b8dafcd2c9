// One channel of DRAM: a queue that chooses, banks with open rows, one data bus.
//
// The spec is the same for all channels and is read once from the description. A channel's state begins with
// orr_dram_reset; it is handed requests in order of time (orr_dram_push) and does one thing at a time
// (orr_dram_step), each at a time that is known before (orr_dram_next). It knows nothing of L2: `user` is the
// asker's, and comes back when a read has been served. Writes are not answered; orr_dram_full says when they
// have to wait.
//
// Invariants: an entry of the queue is in exactly one list: of its bank, those that wait for the open row
// (hit) or reads or writes that wait for others (rest), or of free entries. `hits` has a bit for each bank
// with something in `hit`, `wants` for each bank that is to be activated. next_* are never later than what
// they are for. Requests in `hit` are of the kind that is served, or, once rows are opened for the other kind
// (mode and opening differ), of either, each bank's of one.
#ifndef ORR_MEMORY_DRAM_H
#define ORR_MEMORY_DRAM_H

#include "gpu/gpu.h"
#include "memory/interleave.h"

// ---- spec: times are in ticks (memsys.h) --------------------------------------------------------

typedef struct orr_dram_policy {
    bool fcfs, write_queue;
    uint32_t queue;                  // requests to choose from; of writes too when they have their own
    uint32_t limit;                  // writes that may wait, here and outside
    uint32_t high, low;              // writes that start, and that end, a batch of them
    uint32_t start;                  // those that start one when no read waits; 0: any, until a read comes
    uint32_t early_start, early_low; // `start` and `low` where few reads wait
    uint64_t idle; // writes that are too few for a batch wait so long; a row that nobody uses is closed
} orr_dram_policy;

typedef struct orr_dram_map {
    uint32_t banks, groups;
    orr_divider bank_div, row_div; // run of a channel -> bank; what is left -> row
    uint32_t run_shift;            // lines of a run, log2
    uint32_t turn_shift;           // which bits of a row's hash rotate its banks; 44, pseudo channels 45
    uint32_t atom;                 // sectors a column access moves: 1, 2, 4
    uint8_t group_of[1024];        // bank
} orr_dram_map;

typedef struct orr_dram_timing {
    uint64_t sector, column; // time on the bus: of a sector, of a column access
    uint64_t same_group;     // column to column in one bank group
    uint64_t rrd, rrd_write, rcd, ras, rp, rc, cl, wl, wr, wtr, rtp, rtw;
} orr_dram_timing;

typedef struct orr_dram_refresh {
    uint64_t all_every, all_takes;   // of the whole channel
    uint64_t bank_every, bank_takes; // of a bank
    uint32_t channels, groups;       // channels in groups, each `later` than the one before
    uint64_t group_offset;
    uint64_t start; // how far into bank_every time 0 is
} orr_dram_refresh;

typedef struct orr_dram_spec {
    orr_dram_policy policy;
    orr_dram_map map;
    orr_dram_timing timing;
    orr_dram_refresh refresh;
} orr_dram_spec;

void orr_dram_spec_read(orr_dram_spec *c, const orr_gpu *g);

// The bank of a line of a channel, and its row there. A row's bytes lie in runs (256 bytes), consecutive runs
// in consecutive banks, and each row number rotates the banks by another hash of it.
static inline uint32_t orr_dram_bank_of(const orr_dram_map *c, uint64_t line, uint64_t *row) {
    uint64_t run = (line & ((1ull << ORR_CHUNK_BITS) - 1)) >> c->run_shift;
    uint64_t column = orr_divide(c->bank_div, run);
    *row = orr_divide(c->row_div, column);
    uint64_t turn = *row * 0x9e3779b97f4a7c15ull >> c->turn_shift;
    uint64_t turned = run - column * c->banks + turn;
    return (uint32_t)(turned - orr_divide(c->bank_div, turned) * c->banks);
}
// Column accesses that sectors of a line need.
static inline uint32_t orr_dram_columns(const orr_dram_map *c, uint8_t sectors) {
    if (c->atom == 4) return 1;
    if (c->atom == 2) return (uint32_t)((sectors & 3) != 0) + ((sectors & 12) != 0);
    return (uint32_t)(0x4332322132212110u >> 4 * (sectors & 15)) & 15; // bits set
}

// Refresh of single banks (dram.trfc), in turn. How far time 0 of a channel is
// into a round of it:
static inline uint64_t orr_dram_refresh_ahead(const orr_dram_spec *c, uint32_t number) {
    uint64_t later = (uint64_t)number * c->refresh.groups / c->refresh.channels * c->refresh.group_offset;
    return c->refresh.start + c->refresh.bank_every - later % c->refresh.bank_every;
}
// How long ago the last refresh of bank b began, at t;
static inline uint64_t orr_dram_since_refresh(const orr_dram_spec *c, uint64_t ahead, uint32_t b,
                                              uint64_t t) {
    return (t + ahead + b * c->refresh.bank_every / c->map.banks) % c->refresh.bank_every;
}
// and when it may be opened that could be at t.
static inline uint64_t orr_dram_after_refresh(const orr_dram_spec *c, uint64_t ahead, uint32_t b,
                                              uint64_t t) {
    uint64_t since = orr_dram_since_refresh(c, ahead, b, t);
    return since < c->refresh.bank_takes ? t + c->refresh.bank_takes - since : t;
}

// ---- state --------------------------------------------------------------------------------------

typedef struct orr_dram_request { // waiting outside, or on its way
    uint64_t time;                // when it can be seen
    uint64_t line;                // of the channel
    uint32_t user;
    uint8_t sectors;
    bool write;
    bool own_row; // its row is opened for it, and no other is served from it
} orr_dram_request;

typedef struct orr_dram_ring { // first in, first out
    orr_dram_request *at;
    uint32_t head, n, cap; // cap: a power of two
} orr_dram_ring;

typedef struct orr_dram_entry { // in the queue
    uint64_t seq;               // order of arrival
    uint64_t row;
    uint32_t user;
    uint32_t next; // in its list
    uint8_t sectors;
    bool write;
} orr_dram_entry;

typedef struct orr_dram_list {
    uint32_t head, tail; // entries; UINT32_MAX: none
} orr_dram_list;

typedef struct orr_dram_bank {
    uint64_t row;                // open; UINT64_MAX: none
    uint64_t activated;          // when it was last
    uint64_t close_at;           // earliest
    uint64_t used;               // last
    uint32_t served;             // since it was opened, while others waited
    bool just_opened;            // opened, nothing served yet
    orr_dram_list row_hits;      // wait for the open row
    orr_dram_list other_rows[2]; // reads and writes that wait for other rows
} orr_dram_bank;

typedef struct orr_dram_turn { // what a bank can do next
    uint64_t at;               // earliest
    uint64_t first;            // the request it is for: seq x 2, + 1 for a write
} orr_dram_turn;

typedef struct orr_dram_counters { // since the last reset
    uint64_t reads, writes;        // sectors
    uint64_t row_hit, row_miss;    // column accesses that found their row open, or not
    uint64_t busy;                 // ticks of the bus
} orr_dram_counters;

typedef struct orr_dram_state { // all that is not in an array
    uint32_t free;              // list of free entries
    uint32_t queued[2];         // reads and writes in the queue
    int mode;                   // what is served: 0: reads, 1: writes
    int opening;                // what rows are opened for; the other kind is served out where it differs
    bool batch;                 // writes until `left`, whatever comes
    uint32_t left;              // writes that the batch may leave
    uint64_t wrote_at;          // when a write came last
    uint64_t now, seq;
    uint64_t activate_at;      // tRRD
    uint64_t bus_free;         // end of the last data
    uint64_t read_after_write; // earliest column
    uint64_t refresh_at;
    bool wrote_last;
    uint64_t next_arrival, next_activate, next_column;
    uint64_t next_turn;    // when too few writes for a batch are written all the same
    uint64_t next_refresh; // refresh_at, once next_column has been
} orr_dram_state;

typedef struct orr_dram {
    const orr_dram_spec *spec;
    uint64_t refresh_ahead; // of time 0, when the first bank is refreshed
    uint32_t words;         // of a set of banks
    orr_dram_bank *bank;
    orr_dram_turn *column, *activate;     // of each bank: for an open row, for a closed one
    uint64_t *hit_banks, *activate_banks; // bits of banks
    uint64_t *group_at;                   // earliest next column of a group
    ORR_VEC(orr_dram_entry) entries;      // as many as there were at once
    orr_dram_ring ring[2];                // reads and writes outside
    orr_dram_state s;
    orr_dram_counters n;
} orr_dram;

typedef struct orr_dram_done {
    uint64_t time; // its last byte
    uint32_t user;
    uint8_t sectors;
} orr_dram_done;

void orr_dram_init(orr_dram *d, const orr_dram_spec *c, uint32_t number); // number: among all channels
void orr_dram_free(orr_dram *d);
void orr_dram_reset(orr_dram *d); // time 0, nothing under way, rows closed
// Must be called in order of time.
void orr_dram_push(orr_dram *d, const orr_dram_request *r);
// When something happens next; UINT64_MAX: never.
static inline uint64_t orr_dram_next(const orr_dram *d) {
    const orr_dram_state *s = &d->s;
    uint64_t t = s->next_arrival < s->next_activate ? s->next_arrival : s->next_activate;
    if (s->next_column < t) t = s->next_column;
    return s->next_turn < t ? s->next_turn : t;
}
bool orr_dram_step(orr_dram *d, orr_dram_done *done); // do that; true: a read was served
// No room for another write that the L2 would have to wait for.
static inline bool orr_dram_full(const orr_dram *d) {
    int k = d->spec->policy.write_queue;
    return d->s.queued[k] + d->ring[k].n >= d->spec->policy.limit;
}

#endif
