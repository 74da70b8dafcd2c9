// A DRAM channel by latency and bandwidth, for the faster models: what dram.h does with queues, in any order
// of time.
//
// A request is answered at once, with the time at which it is over. Banks, rows and refresh are those of
// dram.h; what its queue makes of them, reads that are served before others because their row is open, writes
// that wait and are written in batches, is in four costs that are found once, by sending streams and random
// lines through one channel of dram.h (orr_fast_dram_spec_read): what a column access and what a row takes
// where nothing but reads comes, and how much longer reads take for each write among them.
//
// Invariants: `bus` and `activations` are reservations (reservations.h), so requests need not come in order
// of time. Times are ticks; `since` is when the launch began, by which refresh is counted.
#ifndef ORR_FAST_DRAM_H
#define ORR_FAST_DRAM_H

#include "memory/dram.h"
#include "memory/reservations.h"

#define ORR_FAST_SLOT 17 // of reservations of memory: 32 cycles in ticks, log2

typedef struct orr_fast_dram_spec {
    orr_dram_spec dram;
    uint64_t read_column, read_row;   // a column access of a stream of reads; a row that is opened to be read
    uint64_t write_column, write_row; // the same of writes
    uint32_t batch;                   // writes that are made together,
    uint64_t turn;                    // and what it costs that reads are made before and after them
} orr_fast_dram_spec;

typedef struct orr_fast_bank {
    _Alignas(64) uint64_t row; // + 1
    uint64_t before;           // open, and the one before
    uint64_t opened, column, activate, used;
    uint64_t written; // the row that was written last, + 1
} orr_fast_bank;

typedef struct orr_fast_dram {
    orr_reservations bus, activations;
    orr_fast_bank *bank;
    uint64_t refresh_ahead;
    uint64_t owed;    // ticks of the bus that writes will take which wait,
    uint32_t waiting; // and how many they are
    bool read;        // since the last batch of them
} orr_fast_dram;

void orr_fast_dram_spec_read(orr_fast_dram_spec *c, const orr_gpu *g);
void orr_fast_dram_init(orr_fast_dram *d, const orr_fast_dram_spec *c, uint32_t number);
void orr_fast_dram_free(orr_fast_dram *d);
// Sectors of a line of the channel, asked for at t: when the last of them is there.
uint64_t orr_fast_dram_read(orr_fast_dram *d, const orr_fast_dram_spec *c, uint64_t line, uint8_t sectors,
                            uint64_t t, uint64_t since);
void orr_fast_dram_write(orr_fast_dram *d, const orr_fast_dram_spec *c, uint64_t line, uint8_t sectors,
                         uint64_t t);

#endif
