// The tensor memory accelerator of an SM (TMA): bulk copies between memory and shared memory.
//
// Copies are moved one after the other, `tma.bytes` a cycle; one is there `tma.latency` behind its last byte.
// The bytes do not pass through L1, nor do they take the crossbar's or L2's time from others here: the rate
// is what an SM was measured to get while all SMs copy.
//
// Invariant: `busy` never goes back within a launch. The component knows nothing of its neighbours; who waits
// for a copy is the mbarrier's to know.
#ifndef ORR_CORE_TMA_H
#define ORR_CORE_TMA_H

#include "core/core.h"

typedef struct tma_spec {
    double bytes; // a cycle
    uint64_t latency;
} tma_spec;

typedef struct tma_unit {
    const tma_spec *spec;
    uint64_t busy; // until then it moves what it has been asked for
} tma_unit;

static inline void tma_spec_read(tma_spec *s, const orr_gpu *g) {
    *s = (tma_spec){.bytes = g->tma_bytes, .latency = (uint64_t)g->tma_latency};
}
static inline void tma_init(tma_unit *t, const tma_spec *s) { *t = (tma_unit){.spec = s}; }
static inline void tma_reset(tma_unit *t) { tma_init(t, t->spec); }
static inline void tma_free(tma_unit *t) { (void)t; }

// A copy of so many bytes is asked for in cycle `now`. Returns when all of it is there.
static inline uint64_t tma_copy(tma_unit *t, uint64_t now, double bytes) {
    if (t->busy < now) t->busy = now;
    t->busy += (uint64_t)(bytes / t->spec->bytes);
    return t->busy + t->spec->latency;
}

#endif
