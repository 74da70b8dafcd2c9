// Accesses that other threads may observe while a kernel runs (volatile, STRONG.GPU, atomic): the words that
// such a request touches, and what it must not overtake. The port notes them beside the request; the model
// decides between two windows what of it has happened (model/cycle/order.c).
#ifndef ORR_CORE_OBSERVED_H
#define ORR_CORE_OBSERVED_H

#include "isa/isa.h"
#include "stream/stream.h"

// What an access has to do with other warps. ORDER_SPINS: nothing else is done until it succeeds.
enum {
    ORDER_WAITS = ORR_ORDER_WAITS,
    ORDER_WRITES = ORR_ORDER_WRITES,
    ORDER_SPINS = 8,
    ORDER_COUNTS = 16,
    ORDER_ROUND = 32, // a poll that is tried again round by round
    ORDER_WARPS = 256
};

typedef struct observed_word {
    uint64_t word;
    uint32_t need;  // writes to it that must have happened
    uint16_t warp;  // of the SM, less than ORDER_WARPS
    uint8_t kind;   // ORDER_*
    uint32_t block; // its thread block: the slot on the SM
} observed_word;

typedef struct observed_access { // the memory instruction at hand
    uint8_t kind;                // ORDER_*; 0: nobody observes it
    uint32_t lanes;              // that the stream has of it; one may do it for all (orr_tinst_lanes)
    uint16_t warp;
    uint32_t block;
    const uint32_t *needs; // of its lanes, in their order; NULL: it does not wait
    const orr_access *access;
} observed_access;

#endif
