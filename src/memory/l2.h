// Private to memory/: a partition of the memory system, L2 slices and what is behind them.
#ifndef ORR_MEMORY_L2_H
#define ORR_MEMORY_L2_H

#include "memory/cache.h"
#include "memory/dram.h"
#include "memory/memsys.h"

typedef struct orr_l2_config { // the same for all slices; times in ticks
    bool fetch;                // a store in part of a sector fetches it (l2.write)
    uint32_t misses;           // lines on their way, per slice
    uint32_t chunk_shift;      // lines of a chunk, log2
    uint32_t sector_shift;     // sectors that are fetched together, log2
    uint64_t cycle;            // of L2
    uint64_t sector;           // a sector through a port
    uint64_t atomic;           // an atomic operation of a lane
    uint64_t before, behind;   // on the way to DRAM and back, besides what DRAM itself takes
} orr_l2_config;

typedef struct orr_l2_waiter { // a request that waits for sectors, or an atomic that is being done
    uint32_t sm, token;
    uint32_t next; // of the same miss; of the free ones
    uint8_t sectors, kind, ops;
    uint8_t needs; // sectors that are not here yet
    uint8_t hit;
} orr_l2_waiter;

typedef struct orr_l2_miss { // a line on its way
    uint32_t line;           // in the slice's cache
    uint32_t slice;
    uint32_t head, tail; // waiters, in order; of the free ones: next
} orr_l2_miss;

typedef struct orr_l2_event { // sectors have come, or an atomic is done
    uint64_t time;
    uint32_t seq;   // of those at one time
    uint32_t at;    // miss, or waiter
    uint16_t slice; // of the atomic
    uint8_t sectors;
    bool atomic;
} orr_l2_event;

typedef struct orr_l2_slice {
    orr_cache cache; // tags: lines of this slice, counted densely
    orr_request *in; // waiting at the port, in order: a ring
    uint32_t in_head, in_n, in_cap;
    uint8_t blocked; // the first of them: BLOCKED_*
    uint32_t misses; // lines on their way
    uint64_t in_free, out_free, atomic_free;
    uint64_t taken; // when it last took a request
    uint64_t pace;  // between two that waited, on average: how fast a queue gets shorter
} orr_l2_slice;

typedef struct orr_l2 { // a partition
    const orr_l2_config *c;
    orr_l2_slice *slice;
    orr_dram *channel;
    uint32_t slices, channels; // each slice uses all of them
    ORR_VEC(orr_l2_waiter) waiters;
    ORR_VEC(orr_l2_miss) misses;
    uint32_t free_waiter, free_miss;
    ORR_VEC(orr_l2_event) events; // a heap, the next first
    uint32_t seq;
    uint64_t until; // of the last call
    bool stuck;     // a slice is BLOCKED_WRITES
    orr_memsys_stats stats;
} orr_l2;

void orr_l2_configure(orr_l2_config *c, const orr_gpu *g, const orr_dram_config *d);
void orr_l2_init(orr_l2 *p, const orr_l2_config *c, const orr_gpu *g, const orr_dram_config *d,
                 uint32_t slices, uint32_t channels);
void orr_l2_free(orr_l2 *p);
void orr_l2_reset(orr_l2 *p); // time 0, statistics 0; what was on its way has come
void orr_l2_add(orr_l2 *p, uint32_t slice, const orr_request *r, uint64_t tag); // in order of time
uint64_t orr_l2_next(const orr_l2 *p); // UINT64_MAX: nothing is to be done
void orr_l2_run(orr_l2 *p, uint64_t until, orr_replies *out);
void orr_l2_warm(orr_l2 *p, uint32_t slice, uint64_t tag, uint8_t sectors,
                 bool write);                                               // the same, perhaps dirty
void orr_l2_fill(orr_l2 *p, uint32_t slice, uint64_t tag, uint8_t sectors); // there now, without time

#endif
