// Time that is taken, of the abstract model: cycles of a scheduler, of a unit, of L1, a bit each. An
// instruction takes `interval` of them side by side. Who asks first, the warp that goes before others, gets
// those it wants, and the next one those that are left.
#ifndef ORR_ABSTRACT_SLOTS_H
#define ORR_ABSTRACT_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#define SLOT_WORDS 32u
typedef struct slot_word {
    uint64_t word, whose; // the word of time that it stands for
} slot_word;
typedef struct slots {
    uint64_t full, to; // words from `full` to `to` are full
    slot_word at[SLOT_WORDS];
} slots;

// n instructions one after the other from cycle t on; when the last of them is issued. abt_slots_search
// (core.c) is for when not all that they want is free.
uint64_t abt_slots_search(slots *q, uint64_t t, uint32_t n, uint32_t interval);
static inline uint64_t slots_take(slots *q, uint64_t t, uint32_t n, uint32_t interval) {
    slot_word *w = &q->at[(t >> 6) % SLOT_WORDS];
    uint32_t at = t & 63, bits = n * interval;
    if (at + bits >= 64) return abt_slots_search(q, t, n, interval);
    if (w->whose != t >> 6) { // nobody has been there yet, unless it is one of the full ones
        if ((t >> 6) - q->full < q->to - q->full) return abt_slots_search(q, t, n, interval);
        *w = (slot_word){.whose = t >> 6};
    }
    uint64_t mine = ((1ull << bits) - 1) << at;
    if (!(w->word & mine)) {
        w->word |= mine;
        return t + bits - interval;
    }
    if (n == 1 && interval <= 2) { // the first that is free
        uint64_t left = ~(w->word | ((1ull << at) - 1)), run = interval == 1 ? left : left & left >> 1;
        if (run) {
            uint32_t first = (uint32_t)__builtin_ctzll(run);
            w->word |= (uint64_t)(2 * interval - 1) << first;
            return (t & ~63ull) + first;
        }
    }
    return abt_slots_search(q, t, n, interval);
}

#endif
