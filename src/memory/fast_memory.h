// L2 and DRAM by latency and bandwidth: the memory hierarchy of the faster models.
//
// A request is answered at once, with the time at which it is done; nothing is queued and no event waits for
// its turn. Tags of L2, slices, channels, banks and rows are those of the cycle model's memory system
// (memsys.h); what is left out is what needs queues: blocked slices, stores that wait for loads of their
// line. Contention is had by reservations (reservations.h), so that requests need not come in order of time,
// as long as they are not much further apart than a window of the model.
//
// What it knows of its neighbours: the caller adds the way to the slice and back (l2.latency) and says which
// SM asks.
#ifndef ORR_FAST_MEMORY_H
#define ORR_FAST_MEMORY_H

#include "memory/fast_dram.h"
#include "memory/memory.h"
#include "memory/memsys.h"

typedef struct orr_fast_memory orr_fast_memory;
typedef struct orr_fast_reply {
    uint64_t taken; // ticks: when the slice took it
    uint64_t done;  // when its last sector has left the slice's port; stores: when it is in L2
} orr_fast_reply;

static inline uint32_t orr_sectors_in(uint8_t four) { // bits set: counting them is slow on many hosts
    return (uint32_t)(0x4332322132212110u >> 4 * (four & 15)) & 15;
}

orr_fast_memory *orr_fast_new(const orr_gpu *g, orr_err *e);
void orr_fast_free(orr_fast_memory *q);
// Where a line is, as an SM sees it that loads it, or changes it. The host fetches what is known of it: ask a
// little later.
typedef struct orr_fast_place {
    uint64_t tag;
    uint16_t unit, gpc, sm;
    bool far;
} orr_fast_place;
orr_fast_place orr_fast_find(orr_fast_memory *q, uint64_t line, uint32_t sm, bool loads);
int orr_fast_side_of(const orr_fast_memory *q, const orr_fast_place *p);
orr_fast_reply orr_fast_load(orr_fast_memory *q, const orr_fast_place *p, uint8_t sectors, int from,
                             uint64_t time);
// Stores and atomics: `time`, `line`, `sectors`, `kind`, `from` and `ops` of the request count, as for
// memsys.h; `ops` of a store are the words that it writes of sectors that it does not write whole. `whole`:
// sectors of a store that are written whole.
orr_fast_reply orr_fast_change(orr_fast_memory *q, const orr_fast_place *p, const orr_request *r,
                               uint8_t whole);
// A fence asks the slice of a line, at `time`: when that has done the atomics before it.
uint64_t orr_fast_fence(orr_fast_memory *q, const orr_fast_place *p, uint64_t time);
void orr_fast_copy(orr_fast_memory *q, uint64_t addr, uint64_t bytes);
// An access of an SM that nobody simulated: its sectors are in L2 afterwards, no time passes.
void orr_fast_warm(orr_fast_memory *q, uint32_t sm, const orr_touched *t);
void orr_fast_flush(orr_fast_memory *q);
void orr_fast_restart(orr_fast_memory *q); // time is 0 again; L2 stays
// A kernel's end: what the barriers of `sms` SMs take at a slice that all of them have asked. Which have is
// not kept: where there are fewer requests than SMs and slices, as many as that makes.
uint64_t orr_fast_barriers(const orr_fast_memory *q, uint64_t sms);
const orr_memsys_stats *orr_fast_stats(const orr_fast_memory *q);
// Since it was made, no evicted line was asked for again and none had to be written back: with a larger L2
// all times would be the same.
bool orr_fast_roomy(const orr_fast_memory *q);

#endif
