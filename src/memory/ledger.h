// What a resource has been asked for, over time: so much of each stretch of it is taken.
//
// A resource that serves in order is usually the time it is next free. That is wrong when those who use it
// are not simulated in order of time: who comes first in the program, not in time, would be first. A ledger
// does not mind: a request takes the first room there is at or after its time, whoever was booked before.
// Within a stretch it is first come, first served.
//
// A stretch's entry is used again ORR_LEDGER_N stretches later. Nothing is cleared for that: an entry says
// whose it is, and one of another stretch is as good as empty.
#ifndef ORR_LEDGER_H
#define ORR_LEDGER_H

#include "base/base.h"

#define ORR_LEDGER_N    64u
#define ORR_LEDGER_USED 18 // bits of an entry for what is taken; the others are for the stretch

typedef struct orr_ledger {
    uint64_t full, to; // stretches from `full` to `to` are full
    uint32_t at[ORR_LEDGER_N];
} orr_ledger;

// The whole search; orr_ledger_take is for callers.
__attribute__((noinline, unused)) static uint64_t orr_ledger_search(orr_ledger *l, uint64_t t, uint64_t cost,
                                                                    unsigned shift) {
    const uint32_t all = 1u << shift, mine = (1u << ORR_LEDGER_USED) - 1;
    uint64_t b = t >> shift, end = t;
    uint32_t begin = (uint32_t)t & (all - 1);
    while (cost) {
        if (b - l->full < l->to - l->full) {
            b = l->to;
            begin = 0;
        }
        uint32_t *e = &l->at[b % ORR_LEDGER_N], who = (uint32_t)b << ORR_LEDGER_USED;
        uint32_t used = (*e & ~mine) == who ? *e & mine : 0;
        if (begin < used) begin = used;
        if (begin < all) {
            uint32_t part = all - begin < cost ? all - begin : (uint32_t)cost;
            used += part;
            *e = who | used;
            cost -= part;
            end = (b << shift) + begin + part;
        }
        if (used >= all) {
            if (b != l->to) l->full = b;
            l->to = b + 1;
        }
        b++;
        begin = 0;
    }
    return end;
}

// Takes `cost` at or after t, both in units of which a stretch has 2^shift (shift < ORR_LEDGER_USED); returns
// when the last of it is over.
static inline uint64_t orr_ledger_take(orr_ledger *l, uint64_t t, uint64_t cost, unsigned shift) {
    const uint32_t all = 1u << shift, mine = (1u << ORR_LEDGER_USED) - 1;
    uint64_t b = t >> shift;
    uint32_t *e = &l->at[b % ORR_LEDGER_N], who = (uint32_t)b << ORR_LEDGER_USED,
             begin = (uint32_t)t & (all - 1);
    uint32_t used = (*e & ~mine) == who ? *e & mine : 0;
    if (begin < used) begin = used;
    if (b - l->full >= l->to - l->full && cost && cost < all - begin) { // all of it is free there
        *e = who | (used + (uint32_t)cost);
        return (b << shift) + begin + cost;
    }
    return orr_ledger_search(l, t, cost, shift);
}

#endif
