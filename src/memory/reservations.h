// Reservations of a resource over time, made in any order: a port, a bus, a unit that serves one request at a
// time.
//
// A resource that serves requests in order of time is represented by the time at which it is next free. That
// is wrong when those who use it are not simulated in order of time: who comes first in the program, not in
// time, would be served first. Here time is cut into slots, and a slot has as much room as it has units of
// time. A request takes the first room there is at or after its own time, whoever made a reservation before;
// within a slot it is first come, first served.
//
// Invariants. A slot's entry is used again ORR_RESERVATION_SLOTS slots later. Nothing is cleared for that: an
// entry says which slot it is for, and one of another slot is as good as empty. Slots from `full` to before
// `to` have no room left, so that a resource may be behind by more than its entries. A zeroed struct has no
// reservations.
#ifndef ORR_RESERVATIONS_H
#define ORR_RESERVATIONS_H

#include "base/base.h"

#define ORR_RESERVATION_SLOTS 256u
#define ORR_RESERVATION_BITS  18 // of an entry for what is taken; the others say which slot

typedef struct orr_reservations {
    uint64_t full, to;
    uint32_t at[ORR_RESERVATION_SLOTS];
} orr_reservations;

// The whole search; orr_reserve is for callers.
__attribute__((noinline, unused)) static uint64_t orr_reserve_search(orr_reservations *r, uint64_t t,
                                                                     uint64_t cost, unsigned shift) {
    const uint32_t all = 1u << shift, mine = (1u << ORR_RESERVATION_BITS) - 1;
    uint64_t slot = t >> shift, end = t;
    uint32_t begin = (uint32_t)t & (all - 1);
    while (cost) {
        if (slot - r->full < r->to - r->full) {
            slot = r->to;
            begin = 0;
        }
        uint32_t *e = &r->at[slot % ORR_RESERVATION_SLOTS], who = (uint32_t)slot << ORR_RESERVATION_BITS;
        uint32_t used = (*e & ~mine) == who ? *e & mine : 0;
        if (begin < used) begin = used;
        if (begin < all) {
            uint32_t part = all - begin < cost ? all - begin : (uint32_t)cost;
            used += part;
            *e = who | used;
            cost -= part;
            end = (slot << shift) + begin + part;
        }
        if (used >= all) { // of two stretches of full slots the later one is kept
            if (slot + 1 == r->full)
                r->full = slot;
            else if (slot >= r->to) {
                if (slot != r->to) r->full = slot;
                r->to = slot + 1;
            }
        }
        slot++;
        begin = 0;
    }
    return end;
}

// Reserves `cost` at or after t, both in units of which a slot has 2^shift (shift < ORR_RESERVATION_BITS);
// returns when the last of it is over.
static inline uint64_t orr_reserve(orr_reservations *r, uint64_t t, uint64_t cost, unsigned shift) {
    const uint32_t all = 1u << shift, mine = (1u << ORR_RESERVATION_BITS) - 1;
    uint64_t slot = t >> shift;
    uint32_t *e = &r->at[slot % ORR_RESERVATION_SLOTS], who = (uint32_t)slot << ORR_RESERVATION_BITS,
             begin = (uint32_t)t & (all - 1);
    uint32_t used = (*e & ~mine) == who ? *e & mine : 0;
    if (begin < used) begin = used;
    if (slot - r->full >= r->to - r->full && cost && cost < all - begin) { // all of it is free there
        *e = who | (used + (uint32_t)cost);
        return (slot << shift) + begin + cost;
    }
    return orr_reserve_search(r, t, cost, shift);
}

#endif
