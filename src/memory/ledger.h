// What a resource has been asked for, over time: so many units of time in each stretch of it.
//
// A resource that serves in order is usually the time it is next free. That is wrong when those who use it
// are not simulated in order of time: who comes first in the program, not in time, would be first. A ledger
// does not mind: a request takes the first room there is at or after its time, whoever was booked before.
// Within a stretch (32 cycles of the SMs) it is first come, first served.
#ifndef ORR_LEDGER_H
#define ORR_LEDGER_H

#include "base/base.h"

#define ORR_LEDGER_SHIFT   17 // ticks (memsys.h) of a stretch, log2
#define ORR_LEDGER_STRETCH (1ull << ORR_LEDGER_SHIFT)
#define ORR_LEDGER_N       128u

typedef struct orr_ledger {
    uint64_t low;    // the first stretch that is kept
    uint64_t full;   // those from `low` to this are full
    uint64_t beyond; // what lies behind what is kept: simply the time it is next free
    uint32_t used[ORR_LEDGER_N];
} orr_ledger;

// Books `cost` ticks at or after t, for requests that are never earlier than `floor`. Returns when it begins.
static inline uint64_t orr_ledger_take(orr_ledger *l, uint64_t t, uint64_t cost, uint64_t floor) {
    uint64_t first = floor >> ORR_LEDGER_SHIFT, b = t >> ORR_LEDGER_SHIFT;
    if (l->low < first) {
        uint64_t n = first - l->low < ORR_LEDGER_N ? first - l->low : ORR_LEDGER_N;
        for (uint64_t k = 0; k < n; k++) l->used[(l->low + k) % ORR_LEDGER_N] = 0;
        l->low = first;
        if (l->full < first) l->full = first;
    }
    bool front = b <= l->full;
    if (front) b = l->full;
    uint64_t end = l->low + ORR_LEDGER_N;
    while (b < end && l->used[b % ORR_LEDGER_N] >= ORR_LEDGER_STRETCH) b++;
    if (front) l->full = b;
    if (b >= end) {
        uint64_t at = end << ORR_LEDGER_SHIFT;
        if (t > at) at = t;
        if (l->beyond > at) at = l->beyond;
        l->beyond = at + cost;
        return at;
    }
    uint64_t begin = (b << ORR_LEDGER_SHIFT) + l->used[b % ORR_LEDGER_N];
    if (begin < t) begin = t;
    while (cost && b < end) {
        uint32_t *used = &l->used[b++ % ORR_LEDGER_N];
        uint64_t room = ORR_LEDGER_STRETCH - *used, part = cost < room ? cost : room;
        *used += (uint32_t)part;
        cost -= part;
    }
    return begin;
}

#endif
