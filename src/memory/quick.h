// The memory system behind the SMs in short: latencies and bandwidths of the crossbar's slices, L2 and DRAM,
// with L2's tags as they are. A request is answered at once.
//
// For models that cannot afford memsys.h, which knows queues, blocked slices and the order in which DRAM
// serves. Addresses go to the same slices, channels, banks and rows. Requests need not come in order of time,
// as long as they are not much further apart than a window of the model.
#ifndef ORR_QUICK_H
#define ORR_QUICK_H

#include "memory/memsys.h"

#define ORR_QUICK_STRETCH 17 // of its ledgers: 32 cycles in ticks, log2

typedef struct orr_quick orr_quick;
typedef struct orr_quick_reply {
    uint64_t taken; // ticks: when the slice took it
    uint64_t done;  // when its last sector has left the slice's port; stores: when it is in L2
} orr_quick_reply;

static inline uint32_t orr_sectors_in(uint8_t four) { // bits set: counting them is slow on many hosts
    return (uint32_t)(0x4332322132212110u >> 4 * (four & 15)) & 15;
}

orr_quick *orr_quick_new(const orr_gpu *g, orr_err *e);
void orr_quick_free(orr_quick *q);
// Where a line is, as an SM sees it that loads it, or changes it. The host fetches what is known of it: ask a
// little later.
typedef struct orr_quick_place {
    uint64_t tag;
    uint16_t unit, gpc, sm;
    bool far;
} orr_quick_place;
orr_quick_place orr_quick_find(orr_quick *q, uint64_t line, uint32_t sm, bool loads);
int orr_quick_side_of(const orr_quick *q, const orr_quick_place *p);
orr_quick_reply orr_quick_load(orr_quick *q, const orr_quick_place *p, uint8_t sectors, int from,
                               uint64_t time);
// Stores and atomics: `time`, `line`, `sectors`, `kind`, `from` and `ops` of the request count, as for
// memsys.h. `whole`: sectors of a store that are written whole.
orr_quick_reply orr_quick_change(orr_quick *q, const orr_quick_place *p, const orr_request *r, uint8_t whole);
void orr_quick_copy(orr_quick *q, uint64_t addr, uint64_t bytes);
void orr_quick_flush(orr_quick *q);
void orr_quick_restart(orr_quick *q); // time is 0 again; L2 stays
const orr_memsys_stats *orr_quick_stats(const orr_quick *q);
// Since it was made, no line that had to leave L2 for another was wanted again, and none had to be written
// back: with a larger L2 all times would be the same.
bool orr_quick_roomy(const orr_quick *q);

#endif
