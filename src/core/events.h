// An SM's clock: the cycle it is in, and what is due later. Answers of the memory and what components do in
// a cycle to come are events in a heap, in order of time; those of the same tick come as they were added.
//
// An event carries a token of 32 bits. A request to the memory carries the token of its answer, so that an
// answer finds its component by the kind in it.
//
// Invariants: `now` never goes back; no event is handed out before its time.
#ifndef ORR_CORE_EVENTS_H
#define ORR_CORE_EVENTS_H

#include "core/core.h"
#include "memory/memsys.h"

enum event_kind {            // what a token's payload is
    EVENT_FILL,              // sectors of a line have come: the MSHR
    EVENT_LINES_THERE,       // all lines of a load are in L1: the load
    EVENT_READ_OUT,          // L1 reads out the next load whose lines are there
    EVENT_FENCE_ROUND,       // a round of fences begins
    EVENT_SLICE_ACK,         // a slice has answered a fence
    EVENT_STORE_ACK,         // L2 has done a store: its epoch, and STORE_OF_PART
    EVENT_TMA,               // of bulk copies, as the payload says (tma.h)
    EVENT_REDUCTION_ACK = 8, // L2 has done a reduction: the warp and its age, 31 bits
};
#define STORE_OF_PART 2u // of a sector

static inline uint32_t event_token(enum event_kind kind, uint32_t payload) {
    return (uint32_t)kind << 28 | payload;
}
static inline enum event_kind event_kind(uint32_t token) {
    return token >> 31 ? EVENT_REDUCTION_ACK : (enum event_kind)(token >> 28);
}
static inline uint32_t event_payload(uint32_t token) {
    return token & (token >> 31 ? 0x7fffffffu : 0x0fffffffu);
}

typedef struct event {
    uint64_t time; // ticks
    uint32_t order, token;
    uint8_t sectors;
} event;

typedef struct event_queue {
    uint64_t now; // cycle
    ORR_VEC(event) heap;
    uint32_t order; // of the next event
} event_queue;

void events_reset(event_queue *q);
void events_free(event_queue *q);
void events_add(event_queue *q, uint64_t ticks, uint32_t token, uint8_t sectors);
static inline void events_add_at(event_queue *q, uint64_t cycle, enum event_kind kind, uint32_t payload) {
    events_add(q, cycle * ORR_TICKS, event_token(kind, payload), 0);
}
event events_take(event_queue *q); // the first one; there is one
// The cycle in which the first one is due, NEVER: there is none.
static inline uint64_t events_next(const event_queue *q) {
    return q->heap.n ? (q->heap.at[0].time + ORR_TICKS - 1) / ORR_TICKS : NEVER;
}

#endif
