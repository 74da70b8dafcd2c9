// Private to exec/: the mbarrier object, 64 bits of shared memory.
//
// The layout is the machine's. It shows in what ptxas makes of mbarrier.init (a plain exchange with the
// object that the code has put together), of mbarrier.pending_count, and of test_wait with a parity:
//   bits  1 to 20   2^20 less the arrivals expected in a phase
//   bits 21 to 42   bytes of asynchronous copies still expected, signed
//   bits 43 to 62   2^20 less the arrivals pending in this phase
//   bit  63         the phase's parity
// A phase is complete when no arrival is pending and no bytes are expected.
#ifndef ORR_MBAR_H
#define ORR_MBAR_H

#include "exec/block.h"

enum { MBAR_MAX = (1 << 20) - 1, MBAR_EXPECTED = 1, MBAR_TX = 21, MBAR_PENDING = 43, MBAR_PHASE = 63 };
typedef struct mbar {
    uint32_t expected, pending;
    int32_t tx;
    uint32_t phase;
} mbar;

static inline uint32_t mbar_at(uint64_t v, int at) { return (0u - (uint32_t)(v >> at)) & MBAR_MAX; }
static inline uint64_t mbar_field(uint32_t n, int at) { return (uint64_t)((0u - n) & MBAR_MAX) << at; }
static inline mbar mbar_open(uint64_t v) {
    int32_t tx = (int32_t)((uint32_t)(v >> MBAR_TX) << 10) >> 10; // 22 bits
    return (mbar){mbar_at(v, MBAR_EXPECTED), mbar_at(v, MBAR_PENDING), tx, (uint32_t)(v >> MBAR_PHASE)};
}
static inline uint64_t mbar_close(mbar b) {
    return mbar_field(b.expected, MBAR_EXPECTED) | (uint64_t)((uint32_t)b.tx & 0x3fffff) << MBAR_TX |
           mbar_field(b.pending, MBAR_PENDING) | (uint64_t)b.phase << MBAR_PHASE;
}

// Arrivals, bytes more that are expected (or, below 0, that have come), whether the arrivals are dropped from
// the phases to come. What is wrong, or NULL.
static inline const char *mbar_step(mbar *b, uint32_t arrivals, int64_t tx, bool drop) {
    if (!b->expected) return "the mbarrier is not initialised";
    if (arrivals > b->pending) return "more arrivals at the mbarrier than it expects in this phase";
    if (b->tx + tx > MBAR_MAX || b->tx + tx < -MBAR_MAX) return "the mbarrier's tx-count is out of range";
    if (drop && arrivals > b->expected) return "more arrivals dropped from the mbarrier than it expects";
    b->tx += (int32_t)tx;
    b->pending -= arrivals;
    if (drop) b->expected -= arrivals;
    if (!b->pending && !b->tx) {
        b->phase ^= 1;
        b->pending = b->expected;
    }
    return NULL;
}

#endif
